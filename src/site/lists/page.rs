//! The local pages below `/index/`: lists of stored, queued and monitored pages.

use crate::page::links;
use jiff::Timestamp;
use serde::Serialize;
use wwwoffle_index::Sort;
use wwwoffle_spool::{Place, RemovalSummary};
use wwwoffle_url::{CanonicalUrl, LocalHost, SCHEMES, url_encode_form_args};

mod action;
mod address;
pub(in crate::site) mod calendar;
mod restored;
pub mod room;
pub mod tree;
pub mod whole;
mod words;

pub use self::action::{ActionResult, CompletedAction};
pub use self::address::{
    BACK, CHOSEN, DONE, ListAddress, ListFilter, OTHERS, REMOVED, Trail, split_report, with,
};
pub use self::restored::RestoredCounts;

pub(in crate::site) use self::action::result_view;
use self::action::undoable;
use self::address::encode_path;
use self::words::{breadcrumbs, cut, heading, kinds, sorts};
use super::cards::{Library, SiteCard};
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, count, tr};
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::collections::choose;
use crate::site::collections::page as collections;
use crate::site::home::page::letter;
use wwwoffle_api::{
    Collection, EntryItem, HostItem, IndexItem, IndexPage, ListItems, SessionItem, SiteItem,
};

/// Path below which the lists are.
pub const ROOT: &str = "/index/";

/// Maximum number of rows on a page, chosen so that a small machine renders it quickly. Pages with
/// long titles and URLs have fewer rows ([`room`]).
pub const ROWS: usize = 50;

/// Maximum length of a URL that can be selected in a list, in bytes. For an entry with a longer
/// URL, only the page about the URL has buttons.
pub(in crate::site) const LONGEST_CHOSEN: usize = 1_000;

/// Maximum number of deletions that can be undone at the root of the lists, latest first; the
/// others can be undone on the list where they were made.
const SHOWN_REMOVALS: usize = 10;

/// The largest number of entries of a host of all nodes that are counted.
pub const MAX_COUNTED: usize = 200;

/// Result of a list request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListResult {
    /// The list does not exist or the index is not available; the reason in words.
    Refused(Text),
    /// A page of the list.
    Found(IndexPage),
}

#[derive(Serialize)]
struct EntryRow {
    /// The day, if it differs from that of the previous row.
    day: Option<String>,
    url: ShownUrl,
    title: Option<String>,
    /// Value of the form field that selects the entry; `None` if it cannot be selected.
    value: Option<String>,
    stored: ShownTime,
    size: String,
    /// Content type; `None` if the response has none.
    kind: Option<String>,
    status: Option<u16>,
    /// Whether the status reports a failure; a redirect does not.
    failed: bool,
    /// For a page: number of missing sub-resources, if known.
    missing: Option<u64>,
    notes: Vec<Text>,
    /// Address of the page with its details.
    info: String,
}

/// Returns the message for a list that is not available. The reason is in English, as in the log.
#[must_use]
pub fn list_unavailable(why: &str) -> Text {
    tr("This cannot be determined now: {why}").with("why", shown::text(why))
}

/// Renders the page of a list.
#[must_use]
pub fn page(
    shell: &Shell,
    shown: &ListAddress,
    (outcome, result, count): (ListResult, Option<ActionResult>, Option<u64>),
) -> RenderedPage {
    let (refused, found) = match outcome {
        ListResult::Refused(why) => (Some(why), None),
        ListResult::Found(found) => (None, Some(found)),
    };
    let listed = found.as_ref().map(|found| &found.listed);
    let (mut rows, mut hosts, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    match listed {
        Some(ListItems::Entries(items)) => rows = entries(items, shown, shell),
        Some(ListItems::Hosts(items)) if shown.filter.is_everywhere => {
            hosts = items.iter().map(host_everywhere).collect();
        }
        Some(ListItems::Hosts(items)) => hosts = items.iter().map(host).collect(),
        Some(ListItems::Sites(items)) => hosts = items.iter().map(site).collect(),
        Some(ListItems::Requests(items)) => {
            let row = |one: &EntryItem| request(&one.url, one.stored, shell);
            requests = items.iter().map(row).collect();
        }
        Some(ListItems::Asked(items)) => {
            let row = |one: &SessionItem| request(&one.url, one.queued, shell);
            requests = items.iter().map(row).collect();
        }
        None => {}
    }
    let site = shown.path.strip_prefix("site/").filter(|site| !site.is_empty());
    let can_choose = rows.iter().any(|row| row.value.is_some());
    let next = found.as_ref().and_then(|found| found.next.as_deref());
    let mut view = view! {
        heading: heading(shown),
        crumbs: breadcrumbs(&shown.path),
        // Address of this page, to which forms return.
        back: shown.address(),
        // The form that sorts and filters the list, if it has one.
        form: matches!(listed, Some(ListItems::Entries(_))).then(|| filter_form(shown)),
        refused,
        empty: listed.is_some() && rows.is_empty() && hosts.is_empty() && requests.is_empty(),
        selection: view! {
            // Whether a row can be selected.
            possible: can_choose,
            // Whether all rows that can be selected are selected.
            is_all: shown.is_all_chosen,
            // Address of this page with the opposite selection.
            opposite: choose(shown),
        },
        // Forms for the start page of the host or site of the list.
        start: start_page(shown, listed).map(|url| view! {
            monitor: links::monitor(&url),
            fetch: links::fetch(&url),
        }),
        // Address of the tree of the site of the list.
        tree: site.map(tree::address),
        // Address of the calendar of the site of the list.
        calendar: site.map(calendar::address),
        // Address of the page that adds the site of the list to a collection.
        collect: site.map(choose::of_site),
        // The list as a whole, with all its pages.
        whole: view! {
            // Number of entries, if known.
            count,
            // Address of the page with the actions on the whole list.
            actions: (can_choose || (shown.is_part && !rows.is_empty())).then(|| whole::address(shown)),
        },
        // Address for reloading this page while a deletion of a whole list is running.
        again: shown.is_going_on.then(|| reload_address(shown, result.as_ref())),
        pager: pager(shown, next),
        entries: rows,
        hosts,
        requests,
    };
    view.extend(result_view(result, shell));
    shell.page("lists.html", if refused.is_some() { 404 } else { 200 }, &view)
}

/// Returns the URL of the start page of the host or site that is listed. That of a site is known
/// from its pages, which may have another host and scheme than the first row.
fn start_page(shown: &ListAddress, listed: Option<&ListItems>) -> Option<String> {
    let (word, name) = shown.path.split_once('/').filter(|(_, name)| !name.is_empty())?;
    let Some(ListItems::Entries(_)) = listed else { return None };
    if word == "site" {
        return shown.start.clone();
    }
    let scheme = SCHEMES.into_iter().find(|known| *known == word)?;
    Some(format!("{scheme}://{name}/"))
}

/// Returns the address of this page. If the last action was a deletion, the address names it, so
/// that it can still be undone.
fn reload_address(shown: &ListAddress, result: Option<&ActionResult>) -> String {
    match result {
        Some(ActionResult::Removed(resting)) => {
            with(&shown.address(), REMOVED, &resting.removal.to_string())
        }
        _ => shown.address(),
    }
}

/// Returns the address of this page with all selectable rows selected. If all are already selected,
/// selects none.
fn choose(shown: &ListAddress) -> String {
    let address = shown.address();
    let with = |between: char| format!("{address}{between}{CHOSEN}=1");
    match (shown.is_all_chosen, address.contains('?')) {
        (true, _) => address,
        (false, true) => with('&'),
        (false, false) => with('?'),
    }
}

/// Returns the form that sorts and filters a list.
fn filter_form(shown: &ListAddress) -> View {
    let others = shown.filter.others.iter();
    let others = others.map(|(name, value)| view! { name, value: shown::text(value) });
    view! {
        // Path of the list.
        path: format!("{ROOT}{}", encode_path(&shown.path)),
        sorts: sorts(shown.sort),
        kinds: kinds(shown.filter.kind),
        text: shown::text(&shown.filter.text),
        pages_only: shown.filter.pages_only,
        // Arguments that the form must keep.
        others: others.collect::<Vec<_>>(),
    }
}

/// Returns the addresses of the other pages of a list. `next` is the position of the next page.
fn pager(shown: &ListAddress, next: Option<&str>) -> View {
    let previous = shown.previous().map(|previous| previous.address());
    let first = shown.after.is_some().then(|| shown.first().address());
    view! {
        // Address of the first page, unless that is the previous page.
        first: first.filter(|first| previous.as_ref() != Some(first)),
        previous,
        next: next.map(|next| shown.following(next).address()),
    }
}

fn entries(items: &[IndexItem], shown: &ListAddress, shell: &Shell) -> Vec<EntryRow> {
    let time = |item: &IndexItem| match shown.sort {
        Some(Sort::Stored | Sort::Day) => Some(item.times.stored),
        Some(Sort::Used) => Some(item.times.used),
        _ => None,
    };
    let day = |item| time(item).map(|time| day_of(time, shell));
    let mut before = None;
    let mut rows = Vec::new();
    for item in items {
        let day = day(item);
        let is_new = day != before;
        rows.push(entry(item, day.clone().filter(|_| is_new), shown, shell));
        before = day;
    }
    rows
}

fn day_of(time: Timestamp, shell: &Shell) -> String {
    time.to_zoned(shell.zone.clone()).strftime("%Y-%m-%d").to_string()
}

fn entry(item: &IndexItem, day: Option<String>, shown: &ListAddress, shell: &Shell) -> EntryRow {
    let login = item.whose.login.as_deref();
    let url = ShownUrl::new(&item.url).of_login(login);
    let title = item.title.as_deref().map(cut);
    let mut notes = Vec::new();
    if item.marks.queued {
        notes.push(tr("queued"));
    }
    if item.marks.monitored {
        notes.push(tr("monitored"));
    }
    if item.marks.pinned {
        notes.push(tr("pinned"));
    }
    let versions = u64::from(item.versions);
    notes.extend(count(versions, "{n} older version", "{n} older versions").if_any());
    if let Some(owner) = &item.whose.owner {
        notes.push(shell.for_whom(owner));
    }
    EntryRow {
        day,
        title: title.filter(|title| !title.trim().is_empty()),
        value: url.href.clone().filter(|_| is_choosable(item, &shown.owner)),
        stored: ShownTime::new(item.times.stored, &shell.zone),
        size: shown::bytes(item.content.bytes),
        kind: Some(shown::text(&item.content.content_type)).filter(|kind| !kind.is_empty()),
        status: (item.content.status != 200).then_some(item.content.status),
        failed: item.content.status >= 400,
        missing: item.missing.map(u64::from),
        notes,
        info: links::info(&shown::with_login(&item.url, login)),
        url,
    }
}

/// Whether the caller `owner` can select an entry in a list.
pub(in crate::site) fn is_choosable(item: &IndexItem, owner: &str) -> bool {
    let of = item.whose.owner.as_deref();
    let is_theirs = of.is_none_or(|of| of == owner);
    is_theirs && item.url.len() <= LONGEST_CHOSEN && is_named_by_url(&item.url, of, &item.key)
}

/// Whether the URL alone identifies an entry of `owner`. That is false for entries for a token, such
/// as `Authorization: Bearer`.
pub(in crate::site) fn is_named_by_url(url: &str, owner: Option<&str>, key: &str) -> bool {
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return false };
    Place::of(&url).owned_by(owner.unwrap_or_default()).key().to_string() == key
}

fn host(host: &HostItem) -> View {
    let path = format!("{}/{}", host.scheme, host.host);
    view! {
        name: shown::text(&format!("{}://{}", host.scheme, host.host)),
        path: format!("{ROOT}{}", encode_path(&path)),
        entries: host.entries,
        is_cut: false,
        size: shown::bytes(host.bytes),
    }
}

/// A host of all nodes. Its entries are found by the search.
fn host_everywhere(host: &HostItem) -> View {
    let arguments = url_encode_form_args(host.host.as_bytes());
    view! {
        name: shown::text(&host.host),
        path: format!("/search/?scope=all&host={arguments}"),
        entries: host.entries,
        // Whether there may be more entries than were counted.
        is_cut: usize::try_from(host.entries).is_ok_and(|entries| entries >= MAX_COUNTED),
        size: shown::bytes(host.bytes),
    }
}

fn site(site: &SiteItem) -> View {
    view! {
        name: shown::text(&site.site),
        path: format!("{ROOT}site/{}", encode_path(&site.site)),
        entries: site.entries,
        is_cut: false,
        size: shown::bytes(site.bytes),
    }
}

fn site_card(card: &SiteCard, shell: &Shell) -> View {
    let (item, pages) = (&card.item, card.pages.as_ref());
    let title = pages.and_then(|pages| pages.title.as_deref()).map(cut);
    view! {
        name: shown::text(&item.site),
        path: format!("{ROOT}site/{}", encode_path(&item.site)),
        title: title.filter(|title| !title.trim().is_empty()),
        letter: letter(&item.site),
        icon: pages.and_then(|pages| pages.icon.as_deref()),
        entries: item.entries,
        pages: pages.and_then(|pages| pages.count),
        size: shown::bytes(item.bytes),
        stored: pages.map(|pages| ShownTime::new(pages.stored, &shell.zone)),
        // Number of missing sub-resources, if known.
        missing: pages.and_then(|pages| pages.missing),
    }
}

fn request(url: &str, queued: Timestamp, shell: &Shell) -> View {
    view! { url: ShownUrl::new(url), queued: ShownTime::new(queued, &shell.zone) }
}

/// Maximum number of collections in the library; the list of collections has all.
const SHOWN_COLLECTIONS: usize = 12;

/// Renders the library, the root of the lists. `sessions` holds the start times of the last online
/// sessions, latest first; `resting` holds the deletions that can be undone; `result` is that of the
/// last action on selected sites.
#[must_use]
pub fn root(
    shell: &Shell,
    (sessions, resting): (&[Timestamp], &[RemovalSummary]),
    library: &Library,
    all: &[Collection],
    result: Option<ActionResult>,
) -> RenderedPage {
    let session = |(back, began): (usize, &Timestamp)| {
        view! {
            began: ShownTime::new(*began, &shell.zone),
            kept: if back == 0 { "lasttime".to_owned() } else { format!("prevtime{back}") },
            asked: if back == 0 { "lastout".to_owned() } else { format!("prevout{back}") },
        }
    };
    let online = sessions.iter().enumerate().map(session).collect::<Vec<_>>();
    let removed = resting.iter().take(SHOWN_REMOVALS).map(|it| undoable(it, shell));
    let removed = removed.collect::<Vec<_>>();
    let sites = library.sites.iter().map(|card| site_card(card, shell)).collect::<Vec<_>>();
    let shown = all.iter().take(SHOWN_COLLECTIONS);
    let mut view = view! {
        collections: shown.map(|one| collections::card(one, shell)).collect::<Vec<_>>(),
        has_more_collections: all.len() > SHOWN_COLLECTIONS,
        removed,
        online,
        schemes: SCHEMES,
        is_ready: library.is_ready,
        refused: library.refused.clone(),
        is_first: !library.is_later,
        entries: library.total.entries,
        size: shown::bytes(library.total.bytes),
        sites,
        next: library.next.as_ref().map(|next| format!("{ROOT}?after={}", encode_path(next))),
    };
    view.extend(result_view(result, shell));
    shell.page("lists-root.html", 200, &view)
}

#[cfg(test)]
mod tests;
