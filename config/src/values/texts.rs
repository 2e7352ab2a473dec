//! Values that are texts with a special meaning.

use crate::source::{RawValue, ValueSource, value::Value};
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        match given.value.as_str() {
            Some(text) if text.len() <= MAX_TEXT => Some(Self(text.to_owned())),
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        match given.value.as_str() {
            Some("") => Some(Self(None)),
            Some(text) if Path::new(text).is_absolute() && !text.contains('\0') => {
                Some(Self(Some(text.into())))
            }
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let is_part = |part: &str| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        match given.value.as_str() {
            Some("") => Some(Self::default()),
            Some(tag) if tag.len() <= 35 && tag.split('-').all(is_part) => {
                Some(Self(tag.to_owned()))
            }
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let is_name = |name: &str| {
            name.len() <= 256
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        match given.value.as_str() {
            Some("") => Some(Self(None)),
            Some(name) if is_name(name) && !name.starts_with('-') => {
                Some(Self(Some(name.to_owned())))
            }
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        // A colon ends the name (RFC 7617 §2).
        let is_name =
            |name: &&str| name.len() <= 256 && !name.contains(|c: char| c == ':' || c.is_control());
        match given.value.as_str().filter(is_name) {
            Some("") => Some(Self(None)),
            Some(name) => Some(Self(Some(name.to_owned()))),
            None => source.refuse(given, Self::EXPECTED, ""),
        }
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let is_password =
            |text: &&str| text.len() <= 256 && !text.contains(|c: char| c.is_control());
        match given.value.as_str().filter(is_password) {
            Some("") => Some(Self(None)),
            Some(text) => Some(Self(Some(text.to_owned()))),
            None => source.refuse_secret(given, Self::EXPECTED, ""),
        }
    }
}
