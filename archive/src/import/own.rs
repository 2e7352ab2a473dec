//! Beside what everyone has: what is one person's stands before that, so it must not be older or worse.

use wwwoffle_spool::{Entry, Place};

use super::{Import, Private};
use crate::error::Result;
use crate::merge::{self, Kept, New, Verdict};

impl Import<'_> {
    /// Whether an answer for one person would stand before a newer or better one that everyone has. It is
    /// counted then.
    pub(super) fn would_hide(&mut self, new: New, place: &Place) -> Result<bool> {
        if place.owner().is_none() {
            return Ok(false);
        }
        let Some(kept) = self.at(&place.clone().owned_by(""))? else { return Ok(false) };
        match merge::judge(new, Some(known(&kept)), self.options.replace) {
            Verdict::Older if kept.checked() > new.when => self.report.outdated += 1,
            Verdict::Worse => self.report.worse += 1,
            Verdict::Older | Verdict::Newest | Verdict::Unfit(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Removes the older answer of whom the import is for, as everyone has a newer one since: offline that
    /// person would see the older one for ever. Fetching does the same.
    pub(super) fn supersede(&self, new: New, place: &Place) -> Result<()> {
        let Private::Owner(owner) = &self.options.private else { return Ok(()) };
        if place.owner().is_some() || self.options.dry_run {
            return Ok(());
        }
        let own = place.clone().owned_by(owner);
        let Some(kept) = self.at(&own)? else { return Ok(()) };
        if merge::judge(new, Some(known(&kept)), false) == Verdict::Newest {
            self.spool.remove_seen(&kept)?;
        }
        Ok(())
    }

    /// What is kept at a place, of this variant.
    pub(super) fn at(&self, place: &Place) -> Result<Option<Entry>> {
        let found = self.spool.entries(place)?.found;
        Ok(found.into_iter().find(|entry| entry.place() == place))
    }
}

/// What is compared of a kept answer.
pub(super) fn known(entry: &Entry) -> Kept {
    Kept { status: entry.status(), checked: entry.checked() }
}
