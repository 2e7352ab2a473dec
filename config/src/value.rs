//! The types of values: how each is written, and what it becomes.

use crate::{
    explain::Found,
    lookup::{Environment, NoDirectory},
    parts::UrlParts,
    source::{Given, Source},
};
use std::{
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};
use toml_edit::Value as Toml;
use wwwoffle_url::LocalHost;

/// Largest count. Far above any use, and far below what makes a semaphore or a sum overflow.
const MAX_COUNT: usize = 1_000_000;

/// Longest time, in milliseconds: 52 weeks. Added to any date of this age, it overflows no clock.
const MAX_TIME_MS: u64 = 52 * 7 * 24 * 60 * 60 * 1_000;

/// What a JSON schema says of text, and of an array of it.
const STRING: &str = r#"{"type": "string"}"#;
pub(crate) const STRINGS: &str = r#"{"type": "array", "items": {"type": "string"}}"#;

/// What a JSON schema says of a list whose entries may be files of their own.
pub(crate) const STRINGS_AND_FILES: &str =
    r#"{"type": "array", "items": {"type": ["string", "object"]}}"#;

/// The same where a file may have rules for browsers too.
pub(crate) const LISTS_OF_RULES: &str = r#"{"type": "array", "items": {"type": ["string", "object"], "properties": {"file": {"type": "string"}, "hosts": {"type": "string"}, "easylist": {"type": "string"}}, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}}"#;

/// A type that an option may have.
pub(crate) trait Value: Sized {
    /// Its name, under which `docs/options.md` explains it.
    const KIND: &'static str;
    /// How it is written, for `docs/options.md`.
    const MEANING: &'static str;
    /// What a fault says was expected.
    const EXPECTED: &'static str;
    /// Whether a value is shown to nobody, not even in a fault.
    const IS_SECRET: bool = false;
    /// What a JSON schema says of it. What more the reader checks is not in it.
    fn json() -> String {
        STRING.to_owned()
    }
    /// Reads a value, or tells `source` why not.
    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self>;
    /// What of it decides about a URL, for types that are lists of what holds for some URLs.
    fn found(&self, _: &UrlParts<'_>) -> Option<Found> {
        None
    }
}

/// Reads each element of an array. All are read, so that all their faults are told.
pub(crate) fn elements<T>(
    given: &Given<'_>,
    source: &mut Source<'_>,
    expected: &'static str,
    mut one: impl FnMut(&Given<'_>, &mut Source<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(array) = given.value.as_array() else {
        return source.refuse(given, expected, "");
    };
    let option = given.option;
    let read: Vec<_> = array.iter().map(|value| one(&Given { option, value }, source)).collect();
    read.into_iter().collect()
}

impl Value for bool {
    const KIND: &'static str = "yes or no";
    const MEANING: &'static str = "`true` or `false`.";
    const EXPECTED: &'static str = "true or false";

    fn json() -> String {
        r#"{"type": "boolean"}"#.to_owned()
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        given.value.as_bool().or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

impl Value for NonZeroUsize {
    const KIND: &'static str = "count";
    const MEANING: &'static str = "A whole number from 1 to 1000000.";
    const EXPECTED: &'static str = "a number from 1 to 1000000";

    fn json() -> String {
        format!(r#"{{"type": "integer", "minimum": 1, "maximum": {MAX_COUNT}}}"#)
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let number = given.value.as_integer().and_then(|number| usize::try_from(number).ok());
        number
            .filter(|number| *number <= MAX_COUNT)
            .and_then(Self::new)
            .or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

impl Value for Duration {
    const KIND: &'static str = "time";
    const MEANING: &'static str = "\
A whole number above zero and its unit, in quotes: `ms` (milliseconds), `s` (seconds), `m` (minutes),
`h` (hours), `d` (days) or `w` (weeks), as in `\"30s\"`. At most 52 weeks.";
    const EXPECTED: &'static str = "a time, such as \"30s\" or \"2m\"";

    fn json() -> String {
        r#"{"type": "string", "pattern": "^ *[0-9]+ *(ms|s|m|h|d|w)$"}"#.to_owned()
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let Some(text) = given.value.as_str() else {
            let is_number = matches!(given.value, Toml::Integer(_) | Toml::Float(_));
            let because = if is_number { "the unit is missing" } else { "" };
            return source.refuse(given, Self::EXPECTED, because);
        };
        match time(text) {
            Ok(time) => Some(time),
            Err(because) => source.refuse(given, Self::EXPECTED, because),
        }
    }
}

/// A whole number and its unit, with or without a space between.
pub(crate) fn time(text: &str) -> Result<Duration, &'static str> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("it has to begin with a whole number");
    }
    let unit: u64 = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        "w" => 7 * 24 * 60 * 60 * 1_000,
        "" => return Err("the unit is missing"),
        _ => return Err("units are ms, s, m, h, d and w"),
    };
    // What overflows is too long in any case.
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err("it has to be above zero"),
        Some(time) if time <= MAX_TIME_MS => Ok(Duration::from_millis(time)),
        _ => Err("it has to be at most 52w"),
    }
}

/// Where the daemon listens: at least one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen(Vec<SocketAddr>);

impl Listen {
    /// Listens there instead. `None` without any address.
    #[must_use]
    pub fn new(addresses: Vec<SocketAddr>) -> Option<Self> {
        (!addresses.is_empty()).then_some(Self(addresses))
    }

    /// The addresses, in the order given.
    #[must_use]
    pub fn as_slice(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl Value for Listen {
    const KIND: &'static str = "addresses";
    const MEANING: &'static str = "\
An array of addresses with a port, at least one; an IPv6 address is in brackets: `\"127.0.0.1:8080\"`,
`\"[::1]:8080\"`. Port 0 is a free port that the system chooses.";
    const EXPECTED: &'static str =
        "an array of addresses with ports, such as [\"127.0.0.1:8080\", \"[::1]:8080\"]";

    fn json() -> String {
        STRINGS.to_owned()
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let addresses = elements(given, source, Self::EXPECTED, |one, source| {
            let address = one.value.as_str().and_then(|text| text.parse().ok());
            let expected = "addresses with ports, such as \"127.0.0.1:8080\" or \"[::1]:8080\"";
            address.or_else(|| source.refuse(one, expected, ""))
        })?;
        Self::new(addresses).or_else(|| source.refuse(given, "at least one address", ""))
    }
}

/// The directory of the spool, given or left to the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolDir(Option<PathBuf>);

impl SpoolDir {
    /// This directory.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(Some(path.to_owned()))
    }

    /// The directory: the one given, or `wwwoffle` in the data directory of `environment`.
    ///
    /// # Errors
    ///
    /// [`NoDirectory`] when neither names one.
    pub fn resolve(&self, environment: &Environment) -> Result<PathBuf, NoDirectory> {
        self.0.clone().map_or_else(|| environment.default_spool(), Ok)
    }
}

impl Value for SpoolDir {
    const KIND: &'static str = "directory";
    const MEANING: &'static str = "An absolute path, or `\"\"` for the default.";
    const EXPECTED: &'static str = "an absolute path, or \"\" for the default";

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        match given.value.as_str() {
            Some("") => Some(Self(None)),
            Some(text) if Path::new(text).is_absolute() => Some(Self::at(Path::new(text))),
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
    }
}

/// Names and addresses of this proxy: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNames(Vec<String>);

impl HostNames {
    /// The names, in the order given. The first is used in links.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// These names at these ports.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the names were read as names")]
    pub fn at(&self, http_port: u16, tls_port: Option<u16>) -> LocalHost {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        LocalHost::new(&names, http_port, tls_port)
            .expect("each of the names was read as one, and there is at least one")
    }
}

impl Value for HostNames {
    const KIND: &'static str = "hosts";
    const MEANING: &'static str = "An array of names and addresses without a port, at least one.";
    const EXPECTED: &'static str = "an array of host names and addresses, such as [\"localhost\"]";

    fn json() -> String {
        STRINGS.to_owned()
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let names = elements(given, source, Self::EXPECTED, |one, source| {
            let is_name = |name: &&str| LocalHost::new(&[name], 80, None).is_ok();
            let name = one.value.as_str().filter(is_name).map(str::to_owned);
            let expected = "names and addresses without a port, such as \"localhost\" or \"::1\"";
            name.or_else(|| source.refuse(one, expected, ""))
        })?;
        if names.is_empty() {
            return source.refuse(given, "at least one name", "");
        }
        Some(Self(names))
    }
}

/// A type of a few words: the enum, its words, and how they are read.
macro_rules! words {
    (
        $(#[$meta:meta])* $Name:ident, $kind:literal, $meaning:literal, $expected:literal:
        $( $(#[$doc:meta])* $Word:ident = $word:literal, )+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name { $( $(#[$doc])* $Word, )+ }

        impl $Name {
            /// As the file writes it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Word => $word, )+ }
            }
        }

        impl Value for $Name {
            const KIND: &'static str = $kind;
            const MEANING: &'static str = $meaning;
            const EXPECTED: &'static str = $expected;

            fn json() -> String {
                format!(r#"{{"enum": {:?}}}"#, [$($word),+])
            }

            fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
                match given.value.as_str() {
                    $( Some($word) => Some(Self::$Word), )+
                    _ => source.refuse(given, Self::EXPECTED, ""),
                }
            }
        }
    };
}

words! {
    /// When what was written is made safe against a power cut.
    Durability, "durability",
    "`\"each\"`: each page before it counts as kept. `\"batch\"`: many together, within a second, which
a power cut can cost. `\"none\"`: when the system gets to it.",
    "\"each\", \"batch\" or \"none\"":
    /// Each entry, before it counts as kept.
    Each = "each",
    /// Many entries together, within a second.
    Batch = "batch",
    /// When the system gets to it.
    None = "none",
}

words! {
    /// How much is logged.
    LogLevel, "level",
    "`\"error\"` (someone must act), `\"warn\"` (something failed and was served around), `\"info\"`
(changes of state), `\"debug\"` (each decision and its reason) or `\"trace\"` (the phases of each
request).",
    "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"":
    /// Someone must act.
    Error = "error",
    /// Something failed and was served around.
    Warn = "warn",
    /// Changes of state.
    Info = "info",
    /// Each decision and its reason.
    Debug = "debug",
    /// The phases of each request.
    Trace = "trace",
}

words! {
    /// Where the log goes.
    LogTo, "log",
    "`\"stderr\"`: standard error. `\"syslog\"`: the log of the system. `\"journal\"`: the journal of systemd,
with each field of an event apart.",
    "\"stderr\", \"syslog\" or \"journal\"":
    /// To standard error.
    Stderr = "stderr",
    /// To the log of the system.
    Syslog = "syslog",
    /// To the journal of systemd.
    Journal = "journal",
}

words! {
    /// What becomes of an answer that must not be stored.
    NoStore, "no-store",
    "`\"keep\"`: it is kept to be read offline, and never used again online. `\"respect\"`: it is not kept.",
    "\"keep\" or \"respect\"":
    /// It is kept, to be read offline alone.
    Keep = "keep",
    /// It is passed on and not kept.
    Respect = "respect",
}

#[cfg(test)]
mod tests {
    use super::time;
    use std::time::Duration;

    #[test]
    fn times_are_read() {
        for (text, want) in [
            ("250ms", Ok(250)),
            ("30s", Ok(30_000)),
            ("30 s", Ok(30_000)),
            (" 2m ", Ok(120_000)),
            ("1h", Ok(3_600_000)),
            ("2d", Ok(172_800_000)),
            ("52w", Ok(31_449_600_000)),
            ("53w", Err("it has to be at most 52w")),
            ("99999999999999999999s", Err("it has to be at most 52w")),
            ("18446744073709551615w", Err("it has to be at most 52w")),
            ("0s", Err("it has to be above zero")),
            ("30", Err("the unit is missing")),
            ("", Err("it has to begin with a whole number")),
            ("-1s", Err("it has to begin with a whole number")),
            ("1.5h", Err("units are ms, s, m, h, d and w")),
            ("1y", Err("units are ms, s, m, h, d and w")),
            ("1M", Err("units are ms, s, m, h, d and w")),
        ] {
            assert_eq!(time(text), want.map(Duration::from_millis), "{text}");
        }
    }
}
