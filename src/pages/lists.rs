//! The local pages below `/index/`: everything that is kept, waits or is monitored, in lists.

use jiff::Timestamp;
use serde::Serialize;
use wwwoffle_index::{Class, Sort};
use wwwoffle_spool::Place;
use wwwoffle_url::{CanonicalUrl, LocalHost, url_encode_form_args};

use super::{
    Page, Shell, Templates, info,
    shown::{self, ShownTime, ShownUrl},
};
use crate::api::{EntryItem, IndexAsked, IndexHost, IndexItem, IndexPage, IndexSite, Listed};

/// Where they are.
pub const ROOT: &str = "/index/";

/// Entries on a page: with the longest titles and URLs it stays one that a small machine shows at once.
pub const ROWS: usize = 50;

/// Bytes of the longest URL that can be chosen in a list; longer ones are handled one by one.
const LONGEST_CHOSEN: usize = 1_000;

/// Characters of a title that are shown.
const SHOWN_TITLE: usize = 120;

/// What a list is of, and how it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The path of the page below [`ROOT`]: `https/www.example.org`.
    pub path: String,
    /// In what order it is.
    pub sort: Option<Sort>,
    /// Of this sort alone.
    pub kind: Option<Class>,
    /// With this in its URL or title.
    pub text: String,
    /// Pages alone, without their parts.
    pub pages_only: bool,
    /// Also what the configuration keeps out of lists.
    pub all: bool,
    /// Who looks at it, as entries tell for whom they are kept.
    pub owner: String,
}

impl Shown {
    /// The address of the list from `after` on, without our origin.
    #[must_use]
    pub fn address(&self, after: Option<&str>) -> String {
        let pairs = [
            ("sort", self.sort.map(Sort::name).unwrap_or_default()),
            ("type", self.kind.map(Class::name).unwrap_or_default()),
            ("text", &self.text),
            ("pages", if self.pages_only { "1" } else { "" }),
            ("all", if self.all { "1" } else { "" }),
            ("after", after.unwrap_or_default()),
        ];
        let coded = |text: &str| url_encode_form_args(text.as_bytes());
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name}={}", coded(value))).collect();
        let begin = format!("{ROOT}{}", encode_path(&self.path));
        if pairs.is_empty() { begin } else { format!("{begin}?{}", pairs.join("&")) }
    }
}

/// A path of ours has host names in it, which are not ours.
fn encode_path(path: &str) -> String {
    path.split('/')
        .map(|part| url_encode_form_args(part.as_bytes()).replace('+', "%20"))
        .collect::<Vec<_>>()
        .join("/")
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is no such list, or the index cannot tell now: in words.
    Refused(String),
    /// Some of the list.
    Found(IndexPage),
}

#[derive(Serialize)]
struct View<'a> {
    heading: String,
    token: &'a str,
    crumbs: Vec<Link>,
    /// The path of this list, for the form that orders it; `None` where there is nothing to be ordered.
    form: Option<String>,
    /// The address of this very page, to come back to.
    back: String,
    sorts: Vec<Choice>,
    kinds: Vec<Choice>,
    text: String,
    pages_only: bool,
    refused: Option<String>,
    entries: Vec<EntryRow>,
    can_choose: bool,
    hosts: Vec<HostRow>,
    requests: Vec<RequestRow>,
    next: Option<String>,
    empty: bool,
}

#[derive(Serialize)]
struct Link {
    label: String,
    path: String,
}

#[derive(Serialize)]
struct Choice {
    value: &'static str,
    label: &'static str,
    chosen: bool,
}

#[derive(Serialize)]
struct EntryRow {
    /// The day, where it is another than that of the row before.
    day: Option<String>,
    url: ShownUrl,
    title: Option<String>,
    /// What a form says it is.
    value: Option<String>,
    stored: ShownTime,
    size: String,
    kind: String,
    status: Option<u16>,
    notes: Vec<String>,
    info: String,
}

#[derive(Serialize)]
struct HostRow {
    name: String,
    path: String,
    entries: u64,
    size: String,
}

#[derive(Serialize)]
struct RequestRow {
    url: ShownUrl,
    queued: ShownTime,
}

/// Makes the page of a list; `token` is the general token.
#[must_use]
pub fn page(
    templates: &Templates,
    shell: &Shell,
    shown: &Shown,
    outcome: Outcome,
    token: &str,
) -> Page {
    let mut view = View {
        heading: heading(&shown.path),
        token,
        crumbs: crumbs(&shown.path),
        form: None,
        back: shown.address(None),
        sorts: Vec::new(),
        kinds: Vec::new(),
        text: shown::text(&shown.text),
        pages_only: shown.pages_only,
        refused: None,
        entries: Vec::new(),
        can_choose: false,
        hosts: Vec::new(),
        requests: Vec::new(),
        next: None,
        empty: false,
    };
    let mut status = 200;
    match outcome {
        Outcome::Refused(why) => {
            (view.refused, status) = (Some(shown::text(&why)), 404);
        }
        Outcome::Found(found) => {
            view.next = found.next.as_deref().map(|next| shown.address(Some(next)));
            fill(&mut view, shell, shown, found.listed);
        }
    }
    templates.page("lists.html", status, shell, &view)
}

fn fill(view: &mut View<'_>, shell: &Shell, shown: &Shown, listed: Listed) {
    match listed {
        Listed::Entries(items) => {
            view.form = Some(format!("{ROOT}{}", encode_path(&shown.path)));
            (view.sorts, view.kinds) = (sorts(shown.sort), kinds(shown.kind));
            view.entries = entries(&items, shown, shell);
            view.can_choose = view.entries.iter().any(|row| row.value.is_some());
            view.empty = items.is_empty();
        }
        Listed::Hosts(hosts) => {
            view.empty = hosts.is_empty();
            view.hosts = hosts.iter().map(host).collect();
        }
        Listed::Sites(sites) => {
            view.empty = sites.is_empty();
            view.hosts = sites.iter().map(site).collect();
        }
        Listed::Requests(requests) => {
            view.empty = requests.is_empty();
            let row = |one: &EntryItem| request(&one.url, one.stored, shell);
            view.requests = requests.iter().map(row).collect();
        }
        Listed::Asked(asked) => {
            view.empty = asked.is_empty();
            let row = |one: &IndexAsked| request(&one.url, one.queued, shell);
            view.requests = asked.iter().map(row).collect();
        }
    }
}

fn entries(items: &[IndexItem], shown: &Shown, shell: &Shell) -> Vec<EntryRow> {
    let time = |item: &IndexItem| match shown.sort {
        Some(Sort::Stored | Sort::Day) => Some(item.stored),
        Some(Sort::Used) => Some(item.used),
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

fn entry(item: &IndexItem, day: Option<String>, shown: &Shown, shell: &Shell) -> EntryRow {
    let url = ShownUrl::new(&item.url);
    let title = item.title.as_deref().map(|title| {
        let title = shown::text(title);
        match title.char_indices().nth(SHOWN_TITLE) {
            Some((end, _)) => format!("{} …", title.get(..end).unwrap_or_default()),
            None => title,
        }
    });
    let mut notes = Vec::new();
    if item.queued {
        notes.push("queued".to_owned());
    }
    if item.monitored {
        notes.push("monitored".to_owned());
    }
    match item.versions {
        0 => {}
        1 => notes.push("1 older version".to_owned()),
        more => notes.push(format!("{more} older versions")),
    }
    if let Some(owner) = &item.owner {
        notes.push(format!("for {}", shown::text(owner)));
    }
    EntryRow {
        day,
        title: title.filter(|title| !title.trim().is_empty()),
        value: url.href.clone().filter(|_| is_named_by_url(item, &shown.owner)),
        stored: ShownTime::new(item.stored, &shell.zone),
        size: shown::bytes(item.bytes),
        kind: if item.content_type.is_empty() {
            item.class.clone()
        } else {
            shown::text(&item.content_type)
        },
        status: (item.status != 200).then_some(item.status),
        notes,
        info: info::path_of(&item.url),
        url,
    }
}

/// Whether the URL alone says which entry is meant, to who looks at it: not of what is kept for others, for a login
/// or as the answer to a form.
fn is_named_by_url(item: &IndexItem, owner: &str) -> bool {
    let is_theirs = item.owner.as_deref().is_none_or(|of| of == owner);
    let Ok(url) = CanonicalUrl::parse(&item.url, &LocalHost::default()) else { return false };
    let place = Place::of(&url).owned_by(item.owner.as_deref().unwrap_or_default());
    is_theirs && item.url.len() <= LONGEST_CHOSEN && place.key().to_string() == item.key
}

fn host(host: &IndexHost) -> HostRow {
    let path = format!("{}/{}", host.scheme, host.host);
    HostRow {
        name: shown::text(&format!("{}://{}", host.scheme, host.host)),
        path: format!("{ROOT}{}", encode_path(&path)),
        entries: host.entries,
        size: shown::bytes(host.bytes),
    }
}

fn site(site: &IndexSite) -> HostRow {
    HostRow {
        name: shown::text(&site.site),
        path: format!("{ROOT}site/{}", encode_path(&site.site)),
        entries: site.entries,
        size: shown::bytes(site.bytes),
    }
}

fn request(url: &str, queued: Timestamp, shell: &Shell) -> RequestRow {
    RequestRow { url: ShownUrl::new(url), queued: ShownTime::new(queued, &shell.zone) }
}

/// What a list is called.
fn heading(path: &str) -> String {
    let (word, rest) = path.trim_end_matches('/').split_once('/').unwrap_or((path, ""));
    match (word.trim_end_matches('/'), rest) {
        ("all", "") => "All that is kept".to_owned(),
        ("sites", "") => "Sites".to_owned(),
        ("hosts", "") => "Hosts".to_owned(),
        ("failed", "") => "Requests that failed".to_owned(),
        ("lasttime", "") => "Kept the last time online".to_owned(),
        ("lastout", "") => "Asked for the last time offline".to_owned(),
        ("site", site) => format!("Kept of {}", shown::text(site)),
        (scheme, "") if SCHEMES.contains(&scheme) => format!("Hosts by {scheme}"),
        (scheme, host) if SCHEMES.contains(&scheme) => {
            shown::text(&format!("Kept of {scheme}://{host}"))
        }
        (word, _) => match (word.strip_prefix("prevtime"), word.strip_prefix("prevout")) {
            (Some(back), _) => format!("Kept {} times online before", shown::text(back)),
            (_, Some(back)) => format!("Asked for {} times offline before", shown::text(back)),
            _ => "Lists".to_owned(),
        },
    }
}

/// The schemes that have a list of hosts.
pub const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// The lists above this one.
fn crumbs(path: &str) -> Vec<Link> {
    let mut crumbs = vec![Link { label: "Lists".to_owned(), path: ROOT.to_owned() }];
    let above = match path.split_once('/') {
        Some(("site", rest)) if !rest.is_empty() => Some(("Sites", "sites")),
        Some((scheme, rest)) if !rest.is_empty() => {
            SCHEMES.iter().find(|known| **known == scheme).map(|scheme| (*scheme, *scheme))
        }
        _ => None,
    };
    crumbs.extend(
        above.map(|(label, path)| Link { label: label.to_owned(), path: format!("{ROOT}{path}") }),
    );
    crumbs
}

fn sorts(chosen: Option<Sort>) -> Vec<Choice> {
    let label = |sort| match sort {
        Sort::Name => "by name",
        Sort::Stored => "kept last first",
        Sort::Used => "used last first",
        Sort::Day => "by day",
        Sort::Domain => "by domain",
        Sort::Type => "by type",
        Sort::Size => "largest first",
        Sort::Random => "at random",
    };
    let choice = |sort: Sort| Choice {
        value: sort.name(),
        label: label(sort),
        chosen: chosen == Some(sort),
    };
    Sort::ALL.into_iter().map(choice).collect()
}

fn kinds(chosen: Option<Class>) -> Vec<Choice> {
    let rows = [
        ("anything", None),
        ("pages", Some(Class::Page)),
        ("plain texts", Some(Class::Text)),
        ("documents", Some(Class::Document)),
        ("images", Some(Class::Image)),
        ("sound and video", Some(Class::Media)),
        ("packed files", Some(Class::Archive)),
        ("styles", Some(Class::Style)),
        ("scripts", Some(Class::Script)),
        ("fonts", Some(Class::Font)),
        ("data", Some(Class::Data)),
    ];
    let choice = |(label, kind): (&'static str, Option<Class>)| Choice {
        value: kind.map(Class::name).unwrap_or_default(),
        label,
        chosen: chosen == kind,
    };
    rows.into_iter().map(choice).collect()
}

#[derive(Serialize)]
struct Root {
    online: Vec<Session>,
    schemes: [&'static str; 4],
}

#[derive(Serialize)]
struct Session {
    began: ShownTime,
    kept: String,
    asked: String,
}

/// Makes the page of all lists; `sessions` is when the last times online began, the last one first.
#[must_use]
pub fn root(templates: &Templates, shell: &Shell, sessions: &[Timestamp]) -> Page {
    let session = |(back, began): (usize, &Timestamp)| Session {
        began: ShownTime::new(*began, &shell.zone),
        kept: if back == 0 { "lasttime".to_owned() } else { format!("prevtime{back}") },
        asked: if back == 0 { "lastout".to_owned() } else { format!("prevout{back}") },
    };
    let online = sessions.iter().enumerate().map(session).collect();
    templates.page("lists-root.html", 200, shell, &Root { online, schemes: SCHEMES })
}

#[cfg(test)]
mod tests;
