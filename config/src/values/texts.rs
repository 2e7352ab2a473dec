//! Values that are texts with a special meaning.

use crate::source::value::{Value, or_none};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The longest text, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Markup that is inserted into a page, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// The markup as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Markup {
    const KIND: &'static str = "markup";
    const MEANING: &'static str = "HTML, or `\"\"` for nothing.";
    const EXPECTED: &'static str = "HTML, or \"\" for nothing";

    fn parse(text: &str) -> Result<Self, &'static str> {
        (text.len() <= MAX_TEXT).then(|| Self(text.to_owned())).ok_or("")
    }
}

/// A program to run, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program(Option<PathBuf>);

impl Program {
    /// The absolute path of the program. `None` without a program.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl Value for Program {
    const KIND: &'static str = "program";
    const MEANING: &'static str = "The absolute path of a program, or `\"\"` for none.";
    const EXPECTED: &'static str = "the absolute path of a program, or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        or_none(text, Path::new(text).is_absolute() && !text.contains('\0')).map(Self)
    }
}

/// The destination of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTo {
    /// Standard error.
    Stderr,
    /// The log of the system.
    Syslog,
    /// The journal of systemd.
    Journal,
    /// A file, by its absolute path.
    File(PathBuf),
}

impl Value for LogTo {
    const KIND: &'static str = "log";
    const MEANING: &'static str = "\
`\"stderr\"`: standard error. `\"syslog\"`: the log of the system. `\"journal\"`: the journal of
systemd, with separate fields for each event. The absolute path of a file: the log is appended to
it. If the file was renamed or removed, the next event starts a new one.";
    const EXPECTED: &'static str =
        "\"stderr\", \"syslog\", \"journal\" or the absolute path of a file";

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "stderr" => Ok(Self::Stderr),
            "syslog" => Ok(Self::Syslog),
            "journal" => Ok(Self::Journal),
            path if Path::new(path).is_absolute() && !path.contains('\0') => {
                Ok(Self::File(path.into()))
            }
            _ => Err(""),
        }
    }
}

/// The destination of the access log, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLogTo(Option<LogTo>);

impl AccessLogTo {
    /// The destination; `None` if requests are not logged.
    #[must_use]
    pub fn destination(&self) -> Option<&LogTo> {
        self.0.as_ref()
    }
}

impl Value for AccessLogTo {
    const KIND: &'static str = "access log";
    const MEANING: &'static str = "\
`\"\"` for none, `\"stderr\"`, `\"syslog\"`, `\"journal\"`, or the absolute path of a file, as for
`log-to`. The file is created for its owner and group, and may be renamed or truncated at any time.";
    const EXPECTED: &'static str =
        "\"\", \"stderr\", \"syslog\", \"journal\" or the absolute path of a file";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() { Ok(Self(None)) } else { LogTo::parse(text).map(|to| Self(Some(to))) }
    }
}

/// A language tag (RFC 5646 §2.1), or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanguageTag(String);

impl LanguageTag {
    /// The tag as written; empty without a tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for LanguageTag {
    const KIND: &'static str = "language";
    const MEANING: &'static str =
        "A language tag, such as `\"de\"` or `\"pt-br\"`, or `\"\"` for none.";
    const EXPECTED: &'static str = "a language tag, such as \"de\" or \"pt-br\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_part = |part: &str| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let is_tag = text.is_empty() || text.len() <= 35 && text.split('-').all(is_part);
        is_tag.then(|| Self(text.to_owned())).ok_or("")
    }
}

/// The name or number of a system user or group, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemAccount(Option<String>);

impl SystemAccount {
    /// The name, or the digits of the number. `None` without an account.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for SystemAccount {
    const KIND: &'static str = "account";
    const MEANING: &'static str = "\
The name or number of a system user or group, in quotes, or `\"\"` for none.";
    const EXPECTED: &'static str = "a user or group, such as \"proxy\" or \"13\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = text.len() <= 256 && text.bytes().all(is_letter) && !text.starts_with('-');
        or_none(text, is_name).map(Self)
    }
}

/// A user name at another server, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserName(Option<String>);

impl UserName {
    /// The user name. `None` without a user name.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for UserName {
    const KIND: &'static str = "user name";
    const MEANING: &'static str = "A name without a colon, or `\"\"` for none.";
    const EXPECTED: &'static str = "a name without a colon, or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        // A colon ends the name (RFC 7617 §2).
        let is_wrong = |c: char| c == ':' || c.is_control();
        or_none(text, text.len() <= 256 && !text.contains(is_wrong)).map(Self)
    }
}

/// A password for another server, which is never displayed; or none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Option<String>);

impl Secret {
    /// The password in clear text; `None` without a password. Never display, log or store it.
    #[must_use]
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Secret(…)" } else { "Secret(none)" })
    }
}

impl Value for Secret {
    const KIND: &'static str = "secret";
    const MEANING: &'static str =
        "A password, which is never displayed or logged, or `\"\"` for none.";
    const EXPECTED: &'static str = "a password, or \"\" for none";
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        or_none(text, text.len() <= 256 && !text.contains(char::is_control)).map(Self)
    }
}
