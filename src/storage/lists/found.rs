//! Executes lists and searches. The calls block; the daemon and the command line use them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use wwwoffle_config::{Config, UrlParts, UrlRules};
use wwwoffle_index::{
    Completeness, Cursor, Error, Filter, HostSort, Index, Item, MAX_PAGE, Query, Sessions, Sort,
    Viewer, marks, snippet,
};
use wwwoffle_spool::{OutgoingSummary, Place, RequestState, Spool};
use wwwoffle_url::{CanonicalUrl, Key, LocalHost};

use super::describe::text_of;
use super::query::{ListQuery, Subject};
use super::recorded::as_recorded;
use wwwoffle_api::{EntryItem, IndexItem, IndexPage, ListItems, SearchHit, SearchPage};

/// The maximum number of queued requests in search results.
const MAX_QUEUED: usize = 50;

/// Maximum number of hits on a page of search results. For each hit, a piece of the stored page is
/// read again.
const MAX_HITS: usize = 50;

/// The data sources of lists.
#[derive(Clone, Copy, Debug)]
pub struct ListSource<'a> {
    /// The index.
    pub index: &'a Index,
    /// The spool.
    pub spool: &'a Spool,
    /// The configuration, which hides some URLs from lists.
    pub config: &'a Config,
    /// The times at which the last sessions began.
    pub sessions: &'a Sessions,
    /// The viewer of the list.
    pub viewer: &'a Viewer,
    /// The current time.
    pub now: Timestamp,
}

/// A kind of list. The configuration can exclude URLs from each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    /// A list of entries that is not of the following kinds.
    Any,
    /// The entries of a host.
    Host,
    /// A list of an online session.
    Latest,
    /// The queue.
    Outgoing,
    /// Monitored pages.
    Monitored,
}

impl ListType {
    /// The rules of the configuration for lists of this kind. A URL is listed only if all of them
    /// allow it.
    fn rules(self, config: &Config) -> impl Iterator<Item = &UrlRules<bool>> {
        let options = &config.index_options;
        let of_kind = match self {
            ListType::Any => None,
            ListType::Host => Some(&options.list_host),
            ListType::Latest => Some(&options.list_latest),
            ListType::Outgoing => Some(&options.list_outgoing),
            ListType::Monitored => Some(&options.list_monitor),
        };
        of_kind.into_iter().chain([&options.list_any])
    }

    /// Whether the configuration allows every URL in lists of this kind.
    fn lists_everything(self, config: &Config) -> bool {
        self.rules(config)
            .all(|ruled| *ruled.plain() && ruled.rules().all(|(is_listed, _)| *is_listed))
    }

    /// Whether the configuration allows this URL in lists of this kind.
    pub(crate) fn lists_url(self, config: &Config, url: &str) -> bool {
        if self.lists_everything(config) {
            return true;
        }
        let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return true };
        let url = UrlParts::of(&url);
        self.rules(config).all(|ruled| *ruled.of(&url))
    }
}

/// A page of a list.
///
/// # Errors
///
/// Those of the index.
pub fn list(source: &ListSource<'_>, wanted: &ListQuery) -> Result<IndexPage, Error> {
    let limit = wanted.limit.min(MAX_PAGE);
    let (after, viewer) = (wanted.after.as_ref(), source.viewer);
    Ok(match &wanted.subject {
        Subject::Entries | Subject::Session(_) => match source.filtered(wanted) {
            Some((filter, kind)) => source.entries(wanted, &filter, kind)?,
            None => IndexPage { listed: ListItems::Entries(Vec::new()), next: None },
        },
        Subject::Asked(back) => source.requests(*back, wanted, limit)?,
        Subject::Hosts(scheme) => {
            let scheme = scheme.as_deref();
            let sort = if wanted.sort == Sort::Domain { HostSort::Domain } else { HostSort::Name };
            let page = source.index.hosts(viewer, scheme, sort, after, limit)?;
            let listed = ListItems::Hosts(page.items);
            IndexPage { listed, next: cursor_text(page.next) }
        }
        Subject::Sites => {
            let page = source.index.sites(viewer, after, limit)?;
            let listed = ListItems::Sites(page.items);
            IndexPage { listed, next: cursor_text(page.next) }
        }
        Subject::Outgoing => source.outgoing(wanted, limit, |_| true)?,
        Subject::Failed => source.outgoing(wanted, limit, |request| {
            matches!(request.fetching.state, RequestState::Failed { .. })
        })?,
        Subject::Monitored => source.monitored(wanted, limit)?,
    })
}

/// The best pages for a search, and the queued requests whose URLs match.
///
/// # Errors
///
/// Those of the index.
pub fn search(source: &ListSource<'_>, wanted: &ListQuery) -> Result<SearchPage, Error> {
    let (query, limit) = (wanted.query(), wanted.limit.min(MAX_HITS));
    let is_listed = |item: &Item| wanted.all || source.is_listed(ListType::Any, item.place.url());
    let keep = |item: &Item| is_listed(item) && !source.is_covered(&item.place);
    let after = wanted.after.as_ref();
    let hits = source.index.search(&query, &source.filter(wanted), after, limit, &keep)?;
    let pins = source.pins();
    let queue = if after.is_none() { source.queued(&query, wanted) } else { Vec::new() };
    Ok(SearchPage {
        hits: hits.items.into_iter().map(|item| source.search_hit(item, &query, &pins)).collect(),
        queue,
        next: cursor_text(hits.next),
        partial: hits.is_partial,
        incomplete: source.index.progress().has_unread,
    })
}

/// The number of entries of the whole list that `page` belongs to, if known.
#[must_use]
pub fn count(source: &ListSource<'_>, wanted: &ListQuery, page: &IndexPage) -> Option<u64> {
    let ListItems::Entries(items) = &page.listed else { return None };
    let (filter, kind) = source.filtered(wanted)?;
    // If the entries cannot be counted, the list is shown without the number.
    let all = source.index.count(&filter).ok().flatten()?;
    if wanted.all || kind.lists_everything(source.config) {
        return Some(all);
    }
    // If the configuration hides entries, the number is known only if this page is the whole list.
    let is_whole = wanted.after.is_none() && page.next.is_none();
    is_whole.then(|| u64::try_from(items.len()).unwrap_or(u64::MAX))
}

impl ListSource<'_> {
    /// A page of the requests that were queued when a session began, in the order of the queue at
    /// that time.
    fn requests(&self, back: usize, wanted: &ListQuery, limit: usize) -> Result<IndexPage, Error> {
        let Some((began, _)) = self.sessions.back(back) else {
            return Ok(IndexPage { listed: ListItems::Asked(Vec::new()), next: None });
        };
        let after = wanted.after.as_ref().map(|after| after.as_place(began)).transpose()?;
        let asked = self.index.session_requests(self.viewer, began)?;
        // Hidden entries do not change the positions of the others.
        let mut shown = (0_u64..)
            .zip(asked)
            .skip_while(|(place, _)| after.is_some_and(|after| *place < after))
            .filter(|(_, asked)| wanted.all || self.is_listed(ListType::Latest, &asked.url));
        let some = shown.by_ref().take(limit).map(|(_, asked)| asked.into()).collect();
        let next = shown.next().map(|(place, _)| Cursor::of_place(began, place));
        Ok(IndexPage { listed: ListItems::Asked(some), next: cursor_text(next) })
    }

    /// The filter for a list of entries, and the kind of the list. `None` if the requested session
    /// does not exist.
    pub(super) fn filtered(&self, wanted: &ListQuery) -> Option<(Filter, ListType)> {
        let mut filter = self.filter(wanted);
        let Subject::Session(back) = &wanted.subject else {
            let kind = if wanted.filter.host.is_some() { ListType::Host } else { ListType::Any };
            return Some((filter, kind));
        };
        let (began, ended) = self.sessions.back(*back)?;
        filter.since = Some(filter.since.map_or(began, |since| since.max(began)));
        filter.until = filter.until.into_iter().chain(ended).min();
        Some((filter, ListType::Latest))
    }

    /// Returns a predicate that tells whether the configuration allows an entry in the list.
    pub(super) fn listing_filter(
        &self,
        wanted: &ListQuery,
        kind: ListType,
    ) -> impl Fn(&Item) -> bool {
        let all = wanted.all;
        move |item| all || self.is_listed(kind, item.place.url())
    }

    fn filter(&self, wanted: &ListQuery) -> Filter {
        Filter { viewer: self.viewer.clone(), ..wanted.filter.clone() }
    }

    fn entries(
        &self,
        wanted: &ListQuery,
        filter: &Filter,
        kind: ListType,
    ) -> Result<IndexPage, Error> {
        let keep = self.listing_filter(wanted, kind);
        let after = wanted.after.as_ref();
        let page = self.index.list(filter, wanted.sort, after, wanted.limit, &keep)?;
        let parts = self.index.completeness(self.viewer, &page.items)?;
        let pins = self.pins();
        let shown = |(item, parts)| {
            let missing = match parts {
                Some(Completeness::All) => Some(0),
                Some(Completeness::Missing(count)) => Some(count),
                None => None,
            };
            IndexItem { missing, ..self.shown(item, &pins) }
        };
        let items = page.items.into_iter().zip(parts).map(shown).collect();
        Ok(IndexPage { listed: ListItems::Entries(items), next: cursor_text(page.next) })
    }

    /// Pinned URLs. If they cannot be read, the list is shown without them.
    pub(super) fn pins(&self) -> BTreeSet<String> {
        self.spool.pins().unwrap_or_default()
    }

    /// Converts an entry to a list item, which shows whether its URL is pinned, monitored or
    /// queued.
    fn shown(&self, item: Item, pins: &BTreeSet<String>) -> IndexItem {
        let url = CanonicalUrl::parse(item.place.url(), &LocalHost::default());
        let key = url.map_or(item.place.key(), |url| Place::of(&url).key());
        let mut shown = IndexItem::from(item);
        shown.marks.pinned = pins.contains(&shown.url);
        let queued = self.spool.queue().summary(&key);
        shown.marks.queued = queued.is_some_and(|request| self.may_see(&request.place));
        let monitored = self.spool.monitors().summary(&key);
        shown.marks.monitored = monitored.is_some_and(|monitor| self.may_see(&monitor.place));
        shown
    }

    /// Whether the viewer may see requests and schedules of a place. A place without an owner
    /// belongs to this machine.
    fn may_see(&self, place: &Place) -> bool {
        self.viewer.may_see(Some(place.owner().unwrap_or("local")))
    }

    /// Whether the configuration allows this URL in lists of this kind.
    fn is_listed(&self, kind: ListType, url: &str) -> bool {
        kind.lists_url(self.config, url)
    }

    /// Whether a list of queued requests or monitored pages shows the one at `place`.
    fn is_shown(&self, wanted: &ListQuery, kind: ListType, place: &Place, time: Timestamp) -> bool {
        self.may_see(place)
            && is_wanted(&wanted.filter, place.url(), time)
            && (wanted.all || self.is_listed(kind, place.url()))
    }

    /// A page of the queue, the oldest request first.
    fn outgoing(
        &self,
        wanted: &ListQuery,
        limit: usize,
        is_meant: impl Fn(&OutgoingSummary) -> bool,
    ) -> Result<IndexPage, Error> {
        let mut page = First::new(wanted.after.as_ref(), limit)?;
        self.spool.queue().visit(|request| {
            let place = &request.place;
            if is_meant(request) && self.is_shown(wanted, ListType::Outgoing, place, request.queued)
            {
                page.add(request.queued, place.key(), || {
                    EntryItem::of_waiting(request, as_recorded(request, self.now))
                });
            }
        });
        Ok(page.finish())
    }

    /// A page of the monitored pages, in the order in which they were added.
    fn monitored(&self, wanted: &ListQuery, limit: usize) -> Result<IndexPage, Error> {
        let mut page = First::new(wanted.after.as_ref(), limit)?;
        self.spool.monitors().visit(|monitor| {
            let place = &monitor.place;
            if self.is_shown(wanted, ListType::Monitored, place, monitor.set) {
                page.add(monitor.set, place.key(), || EntryItem {
                    url: place.url().to_owned(),
                    key: place.key().to_string(),
                    status: None,
                    content_type: None,
                    bytes: 0,
                    stored: monitor.set,
                    whose: place.into(),
                    held: None,
                });
            }
        });
        Ok(page.finish())
    }

    /// Whether a hit for `place` would open an entry for another spelling of the URL. A hit links
    /// to the canonical spelling. Without an entry for it, the link opens the newest entry.
    fn is_covered(&self, place: &Place) -> bool {
        let spelling = Place::spelling_of(place.variant_text());
        if spelling.is_none() {
            return false;
        }
        // If the entries cannot be read, the hit is shown, but without a snippet.
        let entries = self.spool.entries(place).map(|entries| entries.found).unwrap_or_default();
        let spellings =
            entries.iter().map(|entry| Place::spelling_of(entry.place().variant_text()));
        // Of several minima, this returns the first, which is the newest.
        spellings.min_by_key(Option::is_some).is_some_and(|opened| opened != spelling)
    }

    /// A hit with a snippet of the page. The page is read again, so that the snippet shows the
    /// stored text.
    fn search_hit(&self, item: Item, query: &Query, pins: &BTreeSet<String>) -> SearchHit {
        let entries = self.spool.entries(&item.place).map(|entries| entries.found);
        let entry = entries
            .ok()
            .and_then(|entries| entries.into_iter().find(|entry| *entry.place() == item.place));
        let text = entry.and_then(|entry| text_of(&entry)).unwrap_or_default();
        let title_marks = marks(item.title.as_deref().unwrap_or_default(), query);
        SearchHit {
            item: self.shown(item, pins),
            snippet: snippet(&text, query).into(),
            title_marks: title_marks.into_iter().map(|mark| (mark.start, mark.end)).collect(),
        }
    }

    fn queued(&self, query: &Query, wanted: &ListQuery) -> Vec<EntryItem> {
        let mut found = Vec::new();
        if query.is_empty() {
            return found;
        }
        self.spool.queue().visit(|request| {
            let place = &request.place;
            if found.len() < MAX_QUEUED
                && self.is_shown(wanted, ListType::Outgoing, place, request.queued)
                && query.is_in(place.url())
            {
                found.push(EntryItem::of_waiting(request, as_recorded(request, self.now)));
            }
        });
        found.sort_by_key(|item| item.stored);
        found
    }
}

/// Whether the filter matches a URL without an entry.
fn is_wanted(filter: &Filter, url: &str, time: Timestamp) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|want| want == is);
    is(&filter.scheme, scheme)
        && is(&filter.host, host)
        && filter.since.is_none_or(|since| since <= time)
        && filter.until.is_none_or(|until| time < until)
        && filter.text.as_ref().is_none_or(|text| url.to_lowercase().contains(&text.to_lowercase()))
}

fn cursor_text(cursor: Option<Cursor>) -> Option<String> {
    cursor.map(|cursor| cursor.to_string())
}

/// Gathers the first items behind a position, the oldest first.
struct First {
    after: Option<(Timestamp, Key)>,
    limit: usize,
    found: BTreeMap<(Timestamp, Key), EntryItem>,
}

impl First {
    fn new(after: Option<&Cursor>, limit: usize) -> Result<Self, Error> {
        let after = after.map(Cursor::as_moment).transpose()?;
        Ok(Self { after, limit, found: BTreeMap::new() })
    }

    fn add(&mut self, time: Timestamp, key: Key, item: impl FnOnce() -> EntryItem) {
        let at = (time, key);
        let is_beyond = self.found.len() > self.limit
            && self.found.last_key_value().is_some_and(|(last, _)| at > *last);
        if self.after.is_some_and(|after| at <= after) || is_beyond {
            return;
        }
        self.found.insert(at, item());
        // One item more than the limit shows that the list continues.
        if self.found.len() > self.limit + 1 {
            self.found.pop_last();
        }
    }

    fn finish(mut self) -> IndexPage {
        let has_more = self.found.len() > self.limit;
        while self.found.len() > self.limit {
            self.found.pop_last();
        }
        let last = self.found.last_key_value().map(|((time, key), _)| (*time, *key));
        let next = last.filter(|_| has_more).map(|(time, key)| Cursor::of_moment(time, key));
        let items = self.found.into_values().collect();
        IndexPage { listed: ListItems::Requests(items), next: cursor_text(next) }
    }
}
