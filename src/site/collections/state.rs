//! What is stored of the members of a collection: sizes, completeness, titles and icons.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use wwwoffle_index::{Completeness, Error, Item, SubResources};
use wwwoffle_spool::Place;

use crate::base::owner::Owner;
use crate::site::caller::Caller;
use crate::site::home::icons::IconFinder;
use crate::site::lists::cards::site_pages;
use crate::site::search::call::query_index;
use crate::storage::collections::members::{found, places_of_page};
use crate::storage::lists::found::ListSource;
use crate::storage::lists::query::ListQuery;
use wwwoffle_api::{Collection, Member, MemberItem};

/// Number of members on a page.
pub const SHOWN: usize = 50;

/// Number of pages of a search that are counted.
pub const COUNTED: usize = 100;

/// Time limit for the members on the page, and again for the totals. The rest is not counted.
const PATIENCE: Duration = Duration::from_millis(400);

/// Maximum size of all icons on a page together, in bytes as they are written into it.
const MOST_ICONS: usize = 20_000;

/// The state of the members of a collection.
#[derive(Clone, Debug, Default)]
pub struct CollectionState {
    /// The members on the page. Those that were not looked up in time are missing.
    pub members: Vec<MemberState>,
    /// Number of members that are pages.
    pub pages: u64,
    /// How many of these are saved.
    pub saved: u64,
    /// How many files are missing of the saved ones.
    pub missing: u64,
    /// Whether it is not known for each page whether files are missing.
    pub is_unknown: bool,
    /// Total size of the files of all members and of the sub-resources of pages, in bytes.
    pub bytes: u64,
    /// Whether all members were counted in time.
    pub is_all: bool,
}

/// The state of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberState {
    /// The title of the page, or of the start page of a site.
    pub title: Option<String>,
    /// The icon as a `data:` URL.
    pub icon: Option<String>,
    /// Number of entries of a site, or of pages that a search finds.
    pub entries: u64,
    /// Size of the files of the entries, in bytes.
    pub bytes: u64,
    /// Time when the page, or the newest page of a site, was stored; `None` if nothing is.
    pub stored: Option<Timestamp>,
    /// Number of missing sub-resources; `None` if it is not known.
    pub missing: Option<u64>,
}

/// Returns the state of a collection for the caller, with that of the members after the first
/// `from`. `None` if the index is not available.
pub(super) async fn of(
    caller: &Caller,
    collection: &Collection,
    from: usize,
) -> Option<CollectionState> {
    let (members, owner) = (collection.members.clone(), caller.owner.clone());
    let context = Arc::clone(&caller.context);
    let look = move |source: &ListSource<'_>, _: &ListQuery| {
        let until = Instant::now() + PATIENCE;
        let icons = IconFinder::new(source, &owner, &context.base.local).until(until);
        let mut view =
            StateLookup { source, owner: &owner, icons, known: HashMap::new(), room: MOST_ICONS };
        let mut state = CollectionState::default();
        for item in members.iter().skip(from).take(SHOWN) {
            if Instant::now() >= until {
                break;
            }
            state.members.push(view.member(&item.member)?);
        }
        totals(&view, &members, &mut state)?;
        Ok(state)
    };
    match query_index(caller, ListQuery::of_everything(), look).await {
        Ok(state) => Some(state),
        Err(error) => {
            let error = crate::base::error_chain::error_chain(&error);
            tracing::debug!(error, "the members of a collection are shown without their state");
            None
        }
    }
}

/// Adds the titles of stored pages to members without a title, as far as they are found in time. They
/// are those of the copies of everyone, because a collection may be shared.
pub(super) async fn add_titles(caller: &Caller, members: &mut [MemberItem]) {
    let found = members.to_vec();
    let look = move |source: &ListSource<'_>, _: &ListQuery| {
        let (mut found, until) = (found, Instant::now() + PATIENCE);
        for item in &mut found {
            let Member::Page { url } = &item.member else { continue };
            if item.title.is_none() && Instant::now() < until {
                // The last place is that of everyone.
                let public = places_of_page(url, &Owner::Local).pop();
                item.title = newest(source, public)?.and_then(|page| page.title);
            }
        }
        Ok(found)
    };
    // Without titles, the members are shown with their addresses.
    if let Ok(found) = query_index(caller, ListQuery::of_everything(), look).await {
        for (member, found) in members.iter_mut().zip(found) {
            member.title = found.title;
        }
    }
}

/// Returns the newest entry of a page: the copy of the owner, or else that of everyone.
fn page(source: &ListSource<'_>, owner: &Owner, url: &str) -> Result<Option<Item>, Error> {
    newest(source, places_of_page(url, owner))
}

/// Returns the newest entry of the first place that has one.
fn newest(
    source: &ListSource<'_>,
    places: impl IntoIterator<Item = Place>,
) -> Result<Option<Item>, Error> {
    for place in places {
        // An unreadable entry counts as missing.
        let Ok(entries) = source.spool.entries(&place) else { continue };
        for entry in entries.found {
            if let Some(item) = source.index.at(entry.place())? {
                return Ok(Some(item));
            }
        }
    }
    Ok(None)
}

fn missing(source: &ListSource<'_>, item: &Item) -> Result<Option<u64>, Error> {
    let known = source.index.completeness(source.viewer, std::slice::from_ref(item))?;
    Ok(known.into_iter().flatten().next().map(|parts| match parts {
        Completeness::All => 0,
        Completeness::Missing(count) => u64::from(count),
    }))
}

/// The lookup of the members of one page.
struct StateLookup<'a> {
    source: &'a ListSource<'a>,
    owner: &'a Owner,
    icons: IconFinder<'a>,
    /// The icons that were looked up, by host.
    known: HashMap<String, Option<String>>,
    /// The remaining bytes for icons.
    room: usize,
}

impl StateLookup<'_> {
    fn member(&mut self, member: &Member) -> Result<MemberState, Error> {
        match member {
            Member::Page { url } => {
                let Some(item) = page(self.source, self.owner, url)? else {
                    return Ok(MemberState::default());
                };
                Ok(MemberState {
                    icon: self.icon(url),
                    entries: 1,
                    bytes: item.content.file_len,
                    stored: Some(item.times.stored),
                    missing: missing(self.source, &item)?,
                    title: item.title,
                })
            }
            Member::Site { site } => {
                let total = self.source.index.total_of_site(self.source.viewer, site)?;
                let pages = site_pages(self.source, &self.icons, site, &mut self.room)?;
                let (title, icon, stored, missing) = match pages {
                    Some(it) => (it.title, it.icon, Some(it.stored), it.missing),
                    None => Default::default(),
                };
                let (entries, bytes) = (total.entries, total.bytes);
                Ok(MemberState { title, icon, entries, bytes, stored, missing })
            }
            Member::Search(search) => {
                let items = found(self.source, search, COUNTED)?;
                Ok(MemberState {
                    entries: u64::try_from(items.len()).unwrap_or(u64::MAX),
                    bytes: items.iter().map(|item| item.content.file_len).sum(),
                    stored: items.iter().map(|item| item.times.stored).max(),
                    ..MemberState::default()
                })
            }
        }
    }

    fn icon(&mut self, url: &str) -> Option<String> {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        if let Some(known) = self.known.get(&host) {
            let icon = known.clone()?;
            self.room = self.room.checked_sub(icon.len())?;
            return Some(icon);
        }
        let icon = self.icons.of(url).filter(|icon| icon.len() <= self.room);
        self.room -= icon.as_ref().map_or(0, String::len);
        self.known.insert(host, icon.clone());
        icon
    }
}

/// Adds the totals of a collection, until [`PATIENCE`] has passed.
fn totals(
    view: &StateLookup<'_>,
    members: &[MemberItem],
    state: &mut CollectionState,
) -> Result<(), Error> {
    let (source, until) = (view.source, Instant::now() + PATIENCE);
    let sites = members.iter().filter_map(|item| match &item.member {
        Member::Site { site } => Some(site.as_str()),
        _ => None,
    });
    // The entries of these are counted with their site.
    let sites: HashSet<&str> = sites.collect();
    let mut parts = SubResources::of_owner(Some(view.owner.to_string()));
    let mut counted: HashSet<Place> = HashSet::new();
    for item in members {
        if Instant::now() >= until {
            let pages = members.iter().filter(|it| matches!(it.member, Member::Page { .. }));
            state.pages = u64::try_from(pages.count()).unwrap_or(u64::MAX);
            finish(state, &parts, &sites, false);
            return Ok(());
        }
        let mut items = Vec::new();
        match &item.member {
            Member::Page { url } => {
                state.pages += 1;
                items.extend(page(source, view.owner, url)?);
                state.saved += u64::from(!items.is_empty());
                for item in &items {
                    match missing(source, item)? {
                        Some(count) => state.missing += count,
                        None => state.is_unknown = true,
                    }
                }
            }
            Member::Site { site } => {
                state.bytes += source.index.total_of_site(source.viewer, site)?.bytes;
            }
            Member::Search(search) => items = found(source, search, COUNTED)?,
        }
        for item in items {
            if sites.contains(item.site.as_str()) || !counted.insert(item.place.clone()) {
                continue;
            }
            state.bytes += item.content.file_len;
            source.index.gather_sub_resources(&mut parts, std::slice::from_ref(&item.place))?;
        }
    }
    finish(state, &parts, &sites, true);
    Ok(())
}

fn finish(state: &mut CollectionState, parts: &SubResources, sites: &HashSet<&str>, is_all: bool) {
    let others = parts.items.iter().filter(|item| !sites.contains(item.site.as_str()));
    state.bytes += others.map(|item| item.content.file_len).sum::<u64>();
    state.is_all = is_all && !parts.is_cut;
}
