//! The state of the program between two runs: the file `state`.
//!
//! ```text
//! wwwoffle-state 1
//! mode = offline
//! ```
//!
//! Each line is a key and a value, which a person may edit while the program is stopped. Unknown
//! keys are kept, because a newer program may have written them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::durability::Root;
use crate::entry::warc::Reason;
use crate::error::{Damage, Error, Result};
use crate::fs::Disk;
use crate::fs::whole::read_whole;

pub(crate) const FILE: &str = "state";
const FIRST_LINE: &str = "wwwoffle-state 1";

/// The longest file of the state, in bytes.
pub const MAX_STATE: usize = 64 << 10;

/// The key of the mode.
const MODE: &str = "mode";

/// The state of the program, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramState {
    values: BTreeMap<String, String>,
}

impl ProgramState {
    /// The mode, if it was ever set.
    #[must_use]
    pub fn mode(&self) -> Option<&str> {
        self.value(MODE)
    }

    /// Whether nothing was ever stored, as in a new spool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Sets the mode.
    ///
    /// # Errors
    ///
    /// Those of [`ProgramState::set_value`].
    pub fn set_mode(&mut self, word: &str) -> Result<()> {
        self.set_value(MODE, word)
    }

    /// The value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Sets the value of a key. The key consists of `a`–`z`, `0`–`9` and `-`. The value is one line
    /// of text without spaces around it.
    ///
    /// # Errors
    ///
    /// [`Error::is_invalid`] for any other key or value.
    pub fn set_value(&mut self, key: &str, value: &str) -> Result<()> {
        if !is_key(key) {
            return Err(Error::invalid(
                "the key",
                "must consist of a-z, 0-9 and -",
                key.as_bytes(),
            ));
        }
        if value.contains(char::is_control) || value.trim() != value {
            return Err(Error::invalid(
                "the value",
                "must be one line without spaces around it",
                value.as_bytes(),
            ));
        }
        self.values.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn parse(text: &[u8]) -> Result<ProgramState, Reason> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?;
        // Every line ends with a line feed, so truncation is detected.
        let text = text.strip_suffix('\n').ok_or("its last line is truncated")?;
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err("its first line is not the expected name and version");
        }
        let mut state = ProgramState::default();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once('=').ok_or("it has a line without =")?;
            let set = state.set_value(key.trim(), value.trim());
            set.map_err(|_| "it has an invalid key or value")?;
        }
        Ok(state)
    }

    fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for (key, value) in &self.values {
            text.push_str(key);
            text.push_str(" = ");
            text.push_str(value);
            text.push('\n');
        }
        text
    }
}

fn is_key(key: &str) -> bool {
    let plain = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !key.is_empty() && key.bytes().all(plain)
}

/// Checks that a text is a valid state.
pub(crate) fn reason(text: &[u8]) -> Result<(), Reason> {
    ProgramState::parse(text).map(drop)
}

/// Reads the state. An invalid file is set aside, and the default is returned.
pub(crate) fn read(root: &Root) -> Result<(ProgramState, Option<Damage>)> {
    let path = root.join(FILE);
    let Some(bytes) = read_whole(&*root.disk, &path, MAX_STATE)? else {
        return Ok((ProgramState::default(), None));
    };
    Ok(match bytes.and_then(|bytes| ProgramState::parse(&bytes)) {
        Ok(state) => (state, None),
        Err(reason) => (ProgramState::default(), Some(root.move_aside(&path, reason))),
    })
}

/// Reads the state without changing anything. A damaged file counts as missing.
pub(crate) fn peek(disk: &dyn Disk, root: &Path) -> Result<ProgramState> {
    let path = root.join(FILE);
    let bytes = read_whole(disk, &path, MAX_STATE)?.and_then(Result::ok);
    Ok(bytes.and_then(|bytes| ProgramState::parse(&bytes).ok()).unwrap_or_default())
}

/// Writes the state, durably.
pub(crate) fn write(root: &Root, state: &ProgramState) -> Result<()> {
    let text = state.to_text();
    Error::check_length("the state", text.len(), MAX_STATE)?;
    root.replace_state(&root.join(FILE), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_round_trips() {
        let mut state = ProgramState::default();
        state.set_mode("offline").unwrap();
        state.set_value("from-the-future", "a = b").unwrap();
        state.set_value("empty", "").unwrap();
        assert_eq!(ProgramState::parse(state.to_text().as_bytes()), Ok(state));
    }

    #[test]
    fn an_invalid_state_is_refused() {
        let parse = |text: &str| ProgramState::parse(text.as_bytes());
        assert!(parse("wwwoffle-state 1\n\nmode=online\n").is_ok());
        for text in [
            "",
            "\n",
            "wwwoffle-state 2\n",
            "wwwoffle-state 1\nmode = onl",
            "wwwoffle-state 1\nmode\n",
            "wwwoffle-state 1\nMode = x\n",
            "wwwoffle-state 1\nmode = \0\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_with_a_line_break_is_refused() {
        let mut state = ProgramState::default();
        for (key, value) in [("mode", "a\nb"), ("mode", " a"), ("", "a"), ("a b", "a")] {
            assert!(state.set_value(key, value).unwrap_err().is_invalid());
        }
        assert_eq!(state, ProgramState::default());
    }
}
