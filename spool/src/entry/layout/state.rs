//! What became of an entry since its request was sent, as it stands in the header of its first record.

use jiff::Timestamp;

use crate::entry::warc::{Header, Reason, time_text};

/// The fields of times, and of what became of an entry since it was stored.
pub(crate) const ASKED: &str = "Wwwoffle-Asked";
const RESPONDED: &str = "Wwwoffle-Responded";
const UPDATED: &str = "Wwwoffle-Updated";
const INVALID: &str = "Wwwoffle-Invalid";

/// When the origin was asked, when it answered last, and what became of the entry since it was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryState {
    pub(crate) asked: Timestamp,
    /// `None`: when the entry's own response came.
    pub(crate) responded: Option<Timestamp>,
    /// Of two states of one entry the later is the newer; `None` is older than any.
    pub(crate) updated: Option<Timestamp>,
    pub(crate) invalid: Option<Timestamp>,
}

impl EntryState {
    /// That of an entry that was stored and not updated.
    pub(crate) fn new(asked: Timestamp) -> EntryState {
        EntryState { asked, responded: None, updated: None, invalid: None }
    }

    pub(crate) fn write(&self, mut field: impl FnMut(&str, &str)) {
        field(ASKED, &time_text(self.asked));
        let times = [(RESPONDED, self.responded), (UPDATED, self.updated), (INVALID, self.invalid)];
        for (name, time) in times {
            if let Some(time) = time {
                field(name, &time_text(time));
            }
        }
    }

    /// `when` is when the response came: an entry made before it was recorded was asked for then.
    pub(crate) fn read(header: &Header<'_>, when: Timestamp) -> Result<EntryState, Reason> {
        let time = |name| header.get(name).map(|_| header.time(name)).transpose();
        Ok(EntryState {
            asked: time(ASKED)?.unwrap_or(when),
            responded: time(RESPONDED)?,
            updated: time(UPDATED)?,
            invalid: time(INVALID)?,
        })
    }
}
