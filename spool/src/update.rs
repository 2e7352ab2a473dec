//! What becomes of an entry without a new body: the origin confirms it, or something was sent there
//! that may have changed it.

use jiff::Timestamp;

use crate::entry::{Entry, status_of};
use crate::error::{Error, Result};
use crate::layout::State;
use crate::writer::check_head;

/// What is to be written down about an entry, besides its body: see [`crate::Spool::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The origin has confirmed it, by a 304 (RFC 9111 §4.3.4) or a HEAD (§4.3.5). It is no longer
    /// invalid.
    Confirmed {
        /// The head of the response as it is now (§3.2), in the form of
        /// [`NewEntry::head`](crate::NewEntry::head); its status is that of the entry.
        head: Vec<u8>,
        /// When the request was sent that brought this about.
        asked: Timestamp,
        /// When the head of its answer came.
        responded: Timestamp,
    },
    /// Something was sent to the origin that may have changed what it would answer (§4.4). If it was
    /// invalid before, it stays so since then.
    Invalid {
        /// When that was answered.
        since: Timestamp,
    },
}

impl Update {
    /// Refuses what could not be read again.
    pub(crate) fn check(&self, entry: &Entry) -> Result<()> {
        let Update::Confirmed { head, .. } = self else { return Ok(()) };
        check_head(head)?;
        if status_of(head) != Some(entry.status()) {
            let why = "has not the status of the entry";
            return Err(Error::invalid("the head of the update", why, head));
        }
        Ok(())
    }

    /// Head and state of an entry when this has happened to it; `stamp` is later than all before.
    pub(crate) fn applied<'a>(&'a self, entry: &'a Entry, stamp: Timestamp) -> (&'a [u8], State) {
        let updated = Some(stamp);
        match self {
            Update::Confirmed { head, asked, responded } => {
                let (asked, responded) = (*asked, Some(*responded));
                (head, State { asked, responded, updated, invalid: None })
            }
            Update::Invalid { since } => {
                let invalid = Some(entry.invalid_since().map_or(*since, |first| first.min(*since)));
                (entry.head(), State { updated, invalid, ..*entry.state() })
            }
        }
    }
}
