//! Gathers all entries of a list that the user wants to delete or export, in bounded steps.

use std::collections::HashSet;

use wwwoffle_index::{Cursor, Error, Filter, MAX_PAGE, Sort};
use wwwoffle_spool::{Key, Place};

use super::found::ListSource;
use super::query::{ListQuery, Subject};

/// The largest number of entries deleted with a list.
pub const MOST: usize = 10_000;

/// The largest number of entries exported with a list, without their sub-resources.
pub const MOST_EXPORTED: usize = 100_000;

/// The number of entries named in the confirmation dialog.
pub const NAMED: usize = 10;

/// The gathered entries of a list.
#[derive(Debug, Default)]
pub struct GatheredEntries {
    /// The places of the shared entries and of the viewer's entries, each key once.
    pub places: Vec<Place>,
    /// The total length of the files of the newest entry under each key, in bytes.
    pub bytes: u64,
    /// How many of these entries are pinned.
    pub pinned: u64,
    /// The titles of the first entries, at most [`NAMED`]. An entry without a title is named by its
    /// URL.
    pub named: Vec<String>,
    /// Whether the list has more entries than were gathered.
    pub is_cut: bool,
    /// The maximum number of places, if not [`MOST`].
    most: Option<usize>,
    seen: HashSet<Key>,
    next: Option<Cursor>,
}

impl GatheredEntries {
    /// An empty set. At most `most` places will be gathered.
    #[must_use]
    pub fn with_limit(most: usize) -> Self {
        Self { most: Some(most), ..Self::default() }
    }

    /// Gathers more entries. Returns true if nothing is left to gather, because the list has ended
    /// or the limit is reached. `owner` is the viewer.
    ///
    /// # Errors
    ///
    /// Those of the index.
    pub fn step(
        &mut self,
        source: &ListSource<'_>,
        wanted: &ListQuery,
        owner: &str,
    ) -> Result<bool, Error> {
        let Some((filter, kind)) = source.filtered(wanted) else { return Ok(true) };
        let keep = source.listing_filter(wanted, kind);
        let after = self.next.as_ref();
        let (items, next) = if wanted.words.is_empty() {
            let page = source.index.list(&filter, Sort::Name, after, MAX_PAGE, &keep)?;
            (page.items, page.next)
        } else {
            let hits = source.index.search(&wanted.query(), &filter, after, MAX_PAGE, &keep)?;
            self.is_cut |= hits.is_partial;
            (hits.items, hits.next)
        };
        let pins = source.pins();
        for item in items {
            if item.place.owner().is_some_and(|of| of != owner)
                || !self.seen.insert(item.place.key())
            {
                continue;
            }
            if self.places.len() >= self.most.unwrap_or(MOST) {
                self.is_cut = true;
                return Ok(true);
            }
            self.bytes = self.bytes.saturating_add(item.content.file_len);
            self.pinned += u64::from(pins.contains(item.place.url()));
            if self.named.len() < NAMED {
                let title = item.title.filter(|title| !title.trim().is_empty());
                self.named.push(title.unwrap_or_else(|| item.place.url().to_owned()));
            }
            self.places.push(item.place);
        }
        self.next = next;
        Ok(self.next.is_none())
    }
}

/// Whether `wanted` is a list of entries. Only such a list can be exported.
#[must_use]
pub fn is_of_entries(wanted: &ListQuery) -> bool {
    matches!(wanted.subject, Subject::Entries | Subject::Session(_))
}

/// Whether the list has only a part of the entries: a session, or entries that match a filter or a
/// search. Only such a list may be deleted as a whole.
#[must_use]
pub fn is_part(wanted: &ListQuery) -> bool {
    let Filter { scheme, host, site, class, status, text, since, until, owner, .. } =
        &wanted.filter;
    let names = [scheme, host, site, text, owner].into_iter().any(Option::is_some);
    let others = class.is_some() || status.is_some() || since.is_some() || until.is_some();
    match wanted.subject {
        Subject::Entries => {
            names || others || wanted.collection.is_some() || !wanted.query().is_empty()
        }
        Subject::Session(_) => true,
        _ => false,
    }
}
