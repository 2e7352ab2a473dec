//! Personal responses take precedence over shared ones. So a stored personal response must not be
//! older or worse than the shared one.

use wwwoffle_spool::{Entry, Place};

use super::{Import, PersonalOwner};
use crate::error::Result;
use crate::merge::{self, ArchivedResponse, CurrentResponse, MergeVerdict};

impl Import<'_> {
    /// Whether a personal response would hide a newer or better shared response. If so, counts the
    /// personal response as not stored.
    pub(super) fn would_hide(&mut self, new: ArchivedResponse, place: &Place) -> Result<bool> {
        if place.owner().is_none() {
            return Ok(false);
        }
        let Some(kept) = self.entry_at(&place.clone().owned_by(""))? else { return Ok(false) };
        match merge::decide(new, Some(stored_response(&kept)), self.options.replace) {
            MergeVerdict::Older if kept.checked() > new.when => self.report.outdated += 1,
            MergeVerdict::Worse => self.report.worse += 1,
            MergeVerdict::Older | MergeVerdict::Newest | MergeVerdict::Unfit(_) => {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes the personal response of the owner for whom the import is done, if a newer shared
    /// response was stored. Offline, that owner would otherwise never see the newer response. A
    /// fetch does the same.
    pub(super) fn supersede(&self, new: ArchivedResponse, place: &Place) -> Result<()> {
        let PersonalOwner::Owner(owner) = &self.options.private else { return Ok(()) };
        if place.owner().is_some() || self.options.dry_run {
            return Ok(());
        }
        let own = place.clone().owned_by(owner);
        let Some(kept) = self.entry_at(&own)? else { return Ok(()) };
        if merge::decide(new, Some(stored_response(&kept)), false) == MergeVerdict::Newest {
            self.spool.remove_seen(&kept)?;
        }
        Ok(())
    }

    /// The entry stored at a place, of this variant, if any.
    pub(super) fn entry_at(&self, place: &Place) -> Result<Option<Entry>> {
        let found = self.spool.entries(place)?.found;
        Ok(found.into_iter().find(|entry| entry.place() == place))
    }
}

/// The properties of a stored response for the comparison.
pub(super) fn stored_response(entry: &Entry) -> CurrentResponse {
    CurrentResponse { status: entry.status(), checked: entry.checked() }
}
