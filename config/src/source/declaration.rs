//! How an option is declared, before any file is read.

/// A group of options, `[name]` in the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// As the file writes it, without the brackets.
    pub name: &'static str,
    /// What its options are about.
    pub sentence: &'static str,
    /// In the order of the documents.
    pub options: &'static [OptionInfo],
}

/// What is known of one option before any file is read.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// As the file writes it.
    pub key: &'static str,
    /// Its type, in the words of `docs/options.md`.
    pub kind: &'static str,
    /// Whether its value is shown to nobody, as that of a password is.
    pub is_secret: bool,
    /// How a value of that type is written.
    pub meaning: &'static str,
    /// What a JSON schema says of its type.
    pub json: fn() -> String,
    /// Its default, as the file would write it.
    pub default: &'static str,
    /// Whether rules may set it for some URLs.
    pub rules: bool,
    /// When a new value comes into force.
    pub effect: Effect,
    /// Who may change it.
    pub protection: Protection,
    /// What it does.
    pub sentence: &'static str,
}

/// When a new value comes into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// When the daemon starts.
    Restart,
    /// With the first request after the file is read again.
    Live,
    /// In a later version: it is read and checked, and changes nothing yet.
    Later,
}

/// Who may change an option.
///
/// All but [`Ordinary`](Self::Ordinary) options are protected: they can be changed only through the
/// Unix socket of the daemon, with the control password, or in the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Whoever may change the configuration at all.
    Ordinary,
    /// Names a program that the daemon runs.
    Program,
    /// Names a file or directory that the daemon reads or writes.
    Path,
    /// Decides who may use or control the proxy, and what they reach through it.
    Access,
    /// Decides what browsers receive in the name of other sites.
    Trust,
}

impl Protection {
    /// Whether changing the option takes the Unix socket or the control password.
    #[must_use]
    pub fn is_protected(self) -> bool {
        self != Self::Ordinary
    }

    /// The word for it in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Program => "program",
            Self::Path => "path",
            Self::Access => "access",
            Self::Trust => "trust",
        }
    }
}
