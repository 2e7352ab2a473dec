//! Online, offline or autodial: the one switch of the program.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::clock;

/// What the proxy may do about a page, chosen by the user.
///
/// A request takes the mode once, at its start, and keeps it: a switch in the middle never splits
/// one request between two modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Pages come from their origins, checked there when they are kept already.
    #[default]
    Online,
    /// No socket is opened outward; what is kept is served, what is missing is queued.
    Offline,
    /// What is kept is served at once, only the rest is fetched.
    Autodial,
}

impl Mode {
    /// The word used on the command line, in the API and in the state file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Online => "online",
            Mode::Offline => "offline",
            Mode::Autodial => "autodial",
        }
    }

    /// Whether a connection to an origin may be opened in this mode.
    #[must_use]
    pub const fn may_dial(self) -> bool {
        !matches!(self, Mode::Offline)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mode is \"online\", \"offline\" or \"autodial\", not {0:?}")]
pub struct NotAMode(String);

impl FromStr for Mode {
    type Err = NotAMode;

    fn from_str(word: &str) -> Result<Self, NotAMode> {
        [Mode::Online, Mode::Offline, Mode::Autodial]
            .into_iter()
            .find(|mode| mode.as_str() == word)
            .ok_or_else(|| NotAMode(word.to_owned()))
    }
}

/// The mode in force, and the news of its changes.
#[derive(Clone, Debug)]
pub struct ModeSwitch {
    mode: watch::Sender<Mode>,
    /// When connections to origins became possible, after a time when they were not.
    dials_since: Arc<Mutex<SystemTime>>,
}

impl ModeSwitch {
    /// A switch that stands at `mode` from now on.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode: watch::Sender::new(mode), dials_since: Arc::new(Mutex::new(clock::now())) }
    }

    /// The mode now.
    #[must_use]
    pub fn now(&self) -> Mode {
        *self.mode.borrow()
    }

    /// Changes the mode and returns what it was. Whoever watches is told only of a real change.
    #[expect(clippy::must_use_candidate, reason = "it is called to change the mode")]
    pub fn set(&self, mode: Mode) -> Mode {
        let mut was = mode;
        self.mode.send_if_modified(|current| {
            was = std::mem::replace(current, mode);
            if mode.may_dial() && !was.may_dial() {
                // Before anybody can begin a request under the new mode.
                *self.dials_since.lock().unwrap_or_else(PoisonError::into_inner) = clock::now();
            }
            was != mode
        });
        was
    }

    /// Since when connections to origins are possible: the last change from offline to another mode,
    /// or the start. While offline, the one before.
    #[must_use]
    pub fn dials_since(&self) -> SystemTime {
        *self.dials_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the changes from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Mode> {
        self.mode.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_modes_both_ways() {
        for mode in [Mode::Online, Mode::Offline, Mode::Autodial] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        let error = "Online ".parse::<Mode>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a mode is \"online\", \"offline\" or \"autodial\", not \"Online \""
        );
    }

    #[test]
    fn setting_tells_what_was_and_wakes_only_on_change() {
        let switch = ModeSwitch::new(Mode::Online);
        let mut seen = switch.watch();
        assert_eq!(switch.set(Mode::Online), Mode::Online);
        assert!(!seen.has_changed().unwrap());
        assert_eq!(switch.set(Mode::Offline), Mode::Online);
        assert!(seen.has_changed().unwrap());
        assert_eq!(*seen.borrow_and_update(), Mode::Offline);
        assert_eq!(switch.now(), Mode::Offline);
    }

    #[test]
    fn the_line_is_up_since_the_last_change_from_offline() {
        let switch = ModeSwitch::new(Mode::Online);
        for (mode, is_new) in [
            (Mode::Autodial, false),
            (Mode::Offline, false),
            (Mode::Offline, false),
            (Mode::Autodial, true),
            (Mode::Online, false),
            (Mode::Offline, false),
            (Mode::Online, true),
        ] {
            let long_ago = SystemTime::UNIX_EPOCH;
            *switch.dials_since.lock().unwrap() = long_ago;
            switch.set(mode);
            assert_eq!(switch.dials_since() > long_ago, is_new, "{mode}");
        }
    }
}
