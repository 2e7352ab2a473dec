//! The sites of the library, each with what its newest pages say about it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use wwwoffle_index::{Error, StoredTotal};

use crate::base::error_chain::error_chain;
use crate::base::text::Text;
use crate::site::caller::Caller;
use crate::site::home::icons::IconFinder;
use crate::site::lists::page::list_unavailable;
use crate::site::search::call::query_index;
use crate::storage::lists::found::{self, ListSource};
use crate::storage::lists::query::ListQuery;
use wwwoffle_api::{IndexItem, IndexPage, ListItems, SiteItem};

/// Number of sites on a page of the library.
const SITES: &str = "24";

/// Number of pages of a site that are examined, the newest first.
const PAGES: &str = "50";

/// Maximum size of all icons on a page together, in bytes as they are written into it.
const MOST_ICONS: usize = 40_000;

/// Time after which the remaining sites of a page are shown without details.
const PATIENCE: Duration = Duration::from_millis(200);

/// A page of the library.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Whether the index was available.
    pub is_ready: bool,
    /// The reason in words if the index failed otherwise.
    pub refused: Option<Text>,
    /// Number and size of all entries that the viewer may see.
    pub total: StoredTotal,
    /// The sites, by name.
    pub sites: Vec<SiteCard>,
    /// The position of the next page; `None` at the end.
    pub next: Option<String>,
    /// Whether this is not the first page.
    pub is_later: bool,
}

/// A site, with what its newest pages say about it.
#[derive(Clone, Debug)]
pub struct SiteCard {
    /// The site with its counts.
    pub item: SiteItem,
    /// What is known about its pages. `None` if no page was found in time.
    pub pages: Option<SitePages>,
}

/// The pages of a site.
#[derive(Clone, Debug)]
pub struct SitePages {
    /// Number of pages; `None` if there are more than were examined.
    pub count: Option<u64>,
    /// Time when a page was last stored.
    pub stored: Timestamp,
    /// Title of the page with the shortest URL.
    pub title: Option<String>,
    /// The icon as a `data:` URL.
    pub icon: Option<String>,
    /// Number of missing sub-resources of the examined pages; `None` if it is not known for each.
    pub missing: Option<u64>,
}

/// Returns the page of the library that begins `after` a position.
pub(super) async fn library(caller: &Caller, after: Option<&str>) -> Library {
    let query = |after: Option<&str>| {
        ListQuery::parse(|name| match name {
            "what" => Some("sites"),
            "limit" => Some(SITES),
            "after" => after,
            _ => None,
        })
    };
    // An invalid position leads to the first page.
    let Ok(wanted) = query(after).or_else(|_| query(None)) else { return Library::default() };
    let is_later = wanted.after.is_some();
    let context = Arc::clone(&caller.context);
    let owner = caller.owner.clone();
    let found = query_index(caller, wanted, move |source, wanted| {
        let icons = IconFinder::new(source, &owner, &context.base.local);
        let total = source.index.total(source.viewer)?;
        let page = found::list(source, wanted)?;
        let sites = match page.listed {
            ListItems::Sites(items) => {
                let until = Instant::now() + PATIENCE;
                cards(source, &icons.until(until), items, until)
            }
            _ => Vec::new(),
        };
        Ok(Library { is_ready: true, refused: None, total, sites, next: page.next, is_later })
    });
    found.await.unwrap_or_else(|error| Library {
        refused: (!error.is_not_ready()).then(|| list_unavailable(&error_chain(&error))),
        ..Library::default()
    })
}

/// Adds what their pages say to sites until a time, at which also the lookup of an icon ends. The icons have at most
/// [`MOST_ICONS`] bytes.
fn cards(
    source: &ListSource<'_>,
    icons: &IconFinder<'_>,
    sites: Vec<SiteItem>,
    until: Instant,
) -> Vec<SiteCard> {
    let mut room = MOST_ICONS;
    let card = |item: SiteItem| {
        let is_in_time = Instant::now() < until;
        // If the pages cannot be listed, the site is shown without details.
        let found =
            if is_in_time { site_pages(source, icons, &item.site, &mut room) } else { Ok(None) };
        SiteCard { item, pages: found.unwrap_or_default() }
    };
    sites.into_iter().map(card).collect()
}

/// Returns the URL of the start page of a site. `None` if no page of it is stored.
pub(in crate::site) fn start_page(
    source: &ListSource<'_>,
    site: &str,
) -> Result<Option<String>, Error> {
    let pages = newest_pages(source, site)?.listed;
    let ListItems::Entries(items) = pages else { return Ok(None) };
    Ok(shortest(&items).map(|start| start.url.clone()))
}

/// Returns the page with the shortest URL, which is most likely the start page of its site.
fn shortest(pages: &[IndexItem]) -> Option<&IndexItem> {
    pages.iter().min_by_key(|item| item.url.len())
}

fn newest_pages(source: &ListSource<'_>, site: &str) -> Result<IndexPage, Error> {
    let wanted = ListQuery::parse(|name| match name {
        "site" => Some(site),
        "pages" => Some("1"),
        "sort" => Some("stored"),
        "status" => Some("2xx"),
        "limit" => Some(PAGES),
        _ => None,
    });
    // The arguments above are valid for each site.
    let none = IndexPage { listed: ListItems::Entries(Vec::new()), next: None };
    wanted.map_or(Ok(none), |wanted| found::list(source, &wanted))
}

/// Returns what the newest pages of a site say about it. Once an icon exceeds the `room`, no icon
/// of a further site is looked up.
pub(in crate::site) fn site_pages(
    source: &ListSource<'_>,
    icons: &IconFinder<'_>,
    site: &str,
    room: &mut usize,
) -> Result<Option<SitePages>, Error> {
    let IndexPage { listed: ListItems::Entries(items), next } = newest_pages(source, site)? else {
        return Ok(None);
    };
    let (Some(newest), Some(start)) = (items.first(), shortest(&items)) else {
        return Ok(None);
    };
    let icon = if *room > 0 { icons.of(&start.url) } else { None };
    let left = icon.as_ref().map_or(Some(*room), |icon| room.checked_sub(icon.len()));
    let icon = icon.filter(|_| left.is_some());
    *room = left.unwrap_or_default();
    let missing = items.iter().map(|item| item.missing.map(u64::from)).sum::<Option<u64>>();
    Ok(Some(SitePages {
        count: u64::try_from(items.len()).ok().filter(|_| next.is_none()),
        stored: newest.times.stored,
        title: start.title.clone(),
        icon,
        missing: missing.filter(|_| next.is_none()),
    }))
}
