//! The modes of the proxy.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

wwwoffle_url::named! {
    /// The mode of the proxy, which decides how a request for a page is handled.
    ///
    /// A request reads the mode once, at its start. A later switch does not affect it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Mode {
        /// Pages are fetched from their origins; stored copies are revalidated.
        #[default]
        Online = "online",
        /// No connection to an origin is opened. Stored copies are served, and requests for missing
        /// pages are queued.
        Offline = "offline",
        /// Stored copies are served at once, and only missing pages are fetched.
        Autodial = "autodial",
    }
}

impl Mode {
    /// Whether a connection to an origin may be opened in this mode.
    #[must_use]
    pub const fn may_dial(self) -> bool {
        !matches!(self, Mode::Offline)
    }
}

wwwoffle_url::named! {
    /// The mode chosen by the user. The choices are in the order of the buttons.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ModeSetting {
        /// Always [`Mode::Online`].
        #[default]
        Online = "online",
        /// Always [`Mode::Autodial`].
        Autodial = "autodial",
        /// Always [`Mode::Offline`].
        Offline = "offline",
        /// [`Mode::Online`] or [`Mode::Offline`], depending on whether the link works.
        Auto = "auto",
    }
}

impl ModeSetting {
    /// The mode of this choice; `None` for [`ModeSetting::Auto`].
    #[must_use]
    pub const fn mode(self) -> Option<Mode> {
        match self {
            Self::Online => Some(Mode::Online),
            Self::Offline => Some(Mode::Offline),
            Self::Autodial => Some(Mode::Autodial),
            Self::Auto => None,
        }
    }
}

impl From<Mode> for ModeSetting {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Online => Self::Online,
            Mode::Offline => Self::Offline,
            Mode::Autodial => Self::Autodial,
        }
    }
}

/// The error for a word that is not the name of a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the mode \"online\", \"offline\", \"autodial\" or \"auto\", not {0:?}")]
pub struct NotAMode(String);

impl FromStr for ModeSetting {
    type Err = NotAMode;

    fn from_str(word: &str) -> Result<Self, NotAMode> {
        let mut all = Self::ALL.into_iter();
        all.find(|choice| choice.as_str() == word).ok_or_else(|| NotAMode(word.to_owned()))
    }
}
