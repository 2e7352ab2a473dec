//! The times and later changes of an entry, as fields of its first record.

use jiff::Timestamp;

use crate::entry::warc::{Header, Reason, time_text};

/// The fields for times and for later changes of an entry.
pub(crate) const ASKED: &str = "Wwwoffle-Asked";
const RESPONDED: &str = "Wwwoffle-Responded";
const UPDATED: &str = "Wwwoffle-Updated";
const INVALID: &str = "Wwwoffle-Invalid";

/// The time of the request, the time of the last confirmation by the origin, and later changes of
/// the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryState {
    pub(crate) asked: Timestamp,
    /// When the origin last confirmed the entry. `None` if it never did: the time of the entry's
    /// own response then counts.
    pub(crate) responded: Option<Timestamp>,
    /// The time of the last update. It orders the states of one entry: `None` is the oldest.
    pub(crate) updated: Option<Timestamp>,
    pub(crate) invalid: Option<Timestamp>,
}

impl EntryState {
    /// The state of a new entry.
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

    /// Parses the fields. `when` is the time of the response. It is also used as the time of the
    /// request if that field is missing, as in old entries.
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
