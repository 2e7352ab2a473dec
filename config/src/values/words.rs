//! Values that are one of a few words.

use crate::source::value::Value;

/// Generates a type of a few words: the enum, its words, and their parser.
macro_rules! words {
    (
        $(#[$meta:meta])* $Name:ident, $kind:literal, $meaning:literal, $expected:literal:
        $( $(#[$doc:meta])* $Word:ident = $word:literal, )+
    ) => {
        wwwoffle_url::named! {
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $Name { $( $(#[$doc])* $Word = $word, )+ }
        }

        impl Value for $Name {
            const KIND: &'static str = $kind;
            const MEANING: &'static str = $meaning;
            const EXPECTED: &'static str = $expected;
            const JSON: &'static str = concat!(r#"{"enum": "#, stringify!([$($word),+]), "}");

            fn parse(text: &str) -> Result<Self, &'static str> {
                match text {
                    $( $word => Ok(Self::$Word), )+
                    _ => Err(""),
                }
            }
        }
    };
}

words! {
    /// The time at which stored data is synced, so that it survives a power cut.
    Durability, "durability",
    "`\"each\"`: each page, before it counts as stored. `\"batch\"`: many pages together, within a
second; a power cut can lose them. `\"none\"`: when the operating system does it.",
    "\"each\", \"batch\" or \"none\"":
    /// Each entry is synced before it counts as stored.
    Each = "each",
    /// Many entries together, within a second.
    Batch = "batch",
    /// Data is synced when the operating system decides to.
    None = "none",
}

words! {
    /// The amount of logging.
    LogLevel, "level",
    "`\"error\"` (an administrator must act), `\"warn\"` (a fault was worked around), `\"info\"`
(changes of state), `\"debug\"` (each decision and its reason) or `\"trace\"` (the phases of
each request).",
    "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"":
    /// Faults on which an administrator must act.
    Error = "error",
    /// Faults that were worked around.
    Warn = "warn",
    /// Changes of state.
    Info = "info",
    /// Each decision and its reason.
    Debug = "debug",
    /// The phases of each request.
    Trace = "trace",
}

words! {
    /// The form of a line of the access log.
    AccessLogFormat, "access log format",
    "`\"combined\"`: the combined format of web servers, and after it the outcome of the request and
its time in seconds. `\"json\"`: a JSON object in each line.",
    "\"combined\" or \"json\"":
    /// The combined format of web servers, with the outcome and the time.
    Combined = "combined",
    /// A JSON object in each line.
    Json = "json",
}

words! {
    /// The treatment of a response that must not be stored.
    NoStore, "no-store",
    "`\"keep\"`: it is stored, but only for offline use. `\"respect\"`: it is not stored.",
    "\"keep\" or \"respect\"":
    /// The response is stored, but only for offline use.
    Keep = "keep",
    /// The response is passed on and not stored.
    Respect = "respect",
}

words! {
    /// The encryption of connections to FTP servers.
    FtpTls, "FTP encryption",
    "`\"never\"`: without TLS. `\"offered\"`: with TLS if the server offers it. If TLS then fails, a
password is not sent, and an anonymous login continues without TLS. `\"required\"`: with TLS, or not
at all.",
    "\"never\", \"offered\" or \"required\"":
    /// Never encrypted.
    Never = "never",
    /// Encrypted if the server offers it.
    Offered = "offered",
    /// Encrypted, or refused.
    Required = "required",
}
