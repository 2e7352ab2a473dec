//! The declaration of an option.

/// A group of options, `[name]` in the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name in the file, without the brackets.
    pub name: &'static str,
    /// The subject of the options.
    pub sentence: &'static str,
    /// The options in the order of the documentation.
    pub options: &'static [OptionInfo],
}

/// The declaration of one option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The name in the file.
    pub key: &'static str,
    /// The name of the option's type in `docs/options.md`.
    pub kind: &'static str,
    /// Whether the value is never displayed, for example because it is a password.
    pub is_secret: bool,
    /// The syntax of the option's type, for `docs/options.md`.
    pub meaning: &'static str,
    /// The JSON schema of the option's type.
    pub json: &'static str,
    /// The default in the notation of the file.
    pub default: &'static str,
    /// Whether rules may set the option for some URLs.
    pub rules: bool,
    /// The time at which a new value comes into force.
    pub effect: Effect,
    /// The protection of the option against changes.
    pub protection: Protection,
    /// The description of the option, in one sentence.
    pub sentence: &'static str,
}

wwwoffle_url::named! {
    /// The time at which a new value comes into force.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Effect {
        /// At the next start of the daemon.
        Restart = "restart",
        /// With the first request after the file is reloaded.
        Live = "live",
        /// In a later version. The value is parsed and checked, but has no effect yet.
        Later = "later",
    }
}

wwwoffle_url::named! {
    /// The protection of an option against changes.
    ///
    /// All but [`Ordinary`](Self::Ordinary) options are protected: they can be changed only through
    /// the Unix socket of the daemon, with the control password, or in the file itself.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Protection {
        /// Everyone with access to the configuration may change the option.
        Ordinary = "ordinary",
        /// The option names a program that the daemon runs.
        Program = "program",
        /// The option names a file or directory that the daemon reads or writes.
        Path = "path",
        /// The option decides who may use or control the proxy, or which hosts and ports they can
        /// reach through it.
        Access = "access",
        /// The option decides what browsers receive in the name of other sites.
        Trust = "trust",
    }
}

impl Protection {
    /// Whether a change of the option requires the Unix socket or the control password.
    #[must_use]
    pub fn is_protected(self) -> bool {
        self != Self::Ordinary
    }
}
