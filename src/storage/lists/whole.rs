//! Gathers all entries of a list that the user may delete or export, in bounded steps.

use std::collections::HashSet;

use wwwoffle_index::{Cursor, Error, Filter, MAX_PAGE, Sort};
use wwwoffle_spool::{Key, Place};

use super::found::ListSource;
use super::query::{ListQuery, Subject};

/// The largest number of entries deleted with a list.
pub const MOST: usize = 10_000;

/// The largest number of entries exported with a list, without their sub-resources.
pub const MOST_EXPORTED: usize = 100_000;

/// The number of entries named in the question.
pub const NAMED: usize = 10;

/// The gathered entries of a list.
#[derive(Debug, Default)]
pub struct GatheredEntries {
    /// The places of entries that are everyone's or the viewer's, each key once.
    pub places: Vec<Place>,
    /// The lengths of the files of the newest of each, together, in bytes.
    pub bytes: u64,
    /// The number of pinned entries among them.
    pub pinned: u64,
    /// The titles, or else the URLs, of the first ones.
    pub named: Vec<String>,
    /// There is more than that.
    pub is_cut: bool,
    /// The maximum number of places, if not [`MOST`].
    most: Option<usize>,
    seen: HashSet<Key>,
    next: Option<Cursor>,
}

impl GatheredEntries {
    /// Nothing yet. At most `most` places will be gathered.
    #[must_use]
    pub fn up_to(most: usize) -> Self {
        Self { most: Some(most), ..Self::default() }
    }

    /// Gathers more entries. Returns true at the end of the list. `owner` is the viewer.
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
        let keep = source.keeps(wanted, kind);
        let page = source.index.list(&filter, Sort::Name, self.next.as_ref(), MAX_PAGE, &keep)?;
        let pins = source.pins();
        for item in page.items {
            if item.place.owner().is_some_and(|of| of != owner)
                || !self.seen.insert(item.place.key())
            {
                continue;
            }
            if self.places.len() >= self.most.unwrap_or(MOST) {
                self.is_cut = true;
                return Ok(true);
            }
            self.bytes = self.bytes.saturating_add(item.file_len);
            self.pinned += u64::from(pins.contains(item.place.url()));
            if self.named.len() < NAMED {
                let title = item.title.filter(|title| !title.trim().is_empty());
                self.named.push(title.unwrap_or_else(|| item.place.url().to_owned()));
            }
            self.places.push(item.place);
        }
        self.next = page.next;
        Ok(self.next.is_none())
    }
}

/// Whether it is a list of entries, which can be exported.
#[must_use]
pub fn is_of_entries(wanted: &ListQuery) -> bool {
    matches!(wanted.subject, Subject::Entries | Subject::Session(_))
}

/// Whether it is a list of entries that something keeps others out of: of no less all is deleted at once.
#[must_use]
pub fn is_part(wanted: &ListQuery) -> bool {
    let Filter { scheme, host, site, class, status, text, since, until, owner, .. } =
        &wanted.filter;
    let names = [scheme, host, site, text, owner].into_iter().any(Option::is_some);
    let others = class.is_some() || status.is_some() || since.is_some() || until.is_some();
    match wanted.subject {
        Subject::Entries => names || others,
        Subject::Session(_) => true,
        _ => false,
    }
}
