use std::sync::Arc;

use wwwoffle_url::url_encode_form_args;

use super::super::cards::SitePages;
use super::*;
use crate::page::Templates;
use crate::page::form::LONGEST_FORM;
use crate::page::testing::{as_key, assert_harmless, hostile, shell, time};
use wwwoffle_api::{EntryOwner, IndexContent, IndexMarks, ItemTimes};
use wwwoffle_index::StoredTotal;

fn whose(owner: Option<&str>) -> EntryOwner {
    EntryOwner { owner: owner.map(str::to_owned), login: None }
}

fn item(text: &str) -> IndexItem {
    IndexItem {
        url: text.to_owned(),
        key: String::new(),
        whose: whose(Some(text)),
        site: String::new(),
        title: Some(text.to_owned()),
        language: None,
        content: IndexContent {
            content_type: text.to_owned(),
            class: "page".into(),
            page: true,
            status: 404,
            bytes: 1_500,
            file_bytes: 2_000,
            digest: String::new(),
        },
        times: ItemTimes { answered: time(), stored: time(), checked: time(), used: time() },
        versions: 2,
        words: "indexed".into(),
        missing: Some(2),
        marks: IndexMarks { queued: true, monitored: true, pinned: true },
    }
}

fn stored_at(stored: Timestamp) -> ItemTimes {
    ItemTimes { answered: stored, stored, checked: stored, used: stored }
}

fn page_of(shown: &ListAddress, outcome: ListResult) -> RenderedPage {
    page(&shell(), shown, (outcome, None, Some(3)))
}

fn found(listed: ListItems, next: Option<&str>) -> ListResult {
    ListResult::Found(IndexPage { listed, next: next.map(str::to_owned) })
}

#[test]
fn every_text_in_a_list_is_escaped() {
    for text in hostile() {
        let path = format!("https/{}", as_key(&text));
        // Typed text is part of the address, and a host has neither user nor password. So both are
        // tested only with the texts that a key can have.
        let typed = as_key(&text).to_owned();
        let shown = ListAddress {
            path,
            filter: ListFilter { text: typed.clone(), ..ListFilter::default() },
            ..ListAddress::default()
        };
        let (host, site) = (typed.clone(), typed);
        let host =
            HostItem { scheme: "http".into(), host, site: site.clone(), entries: 1, bytes: 1 };
        let site = SiteItem { site, hosts: 1, entries: 1, bytes: 1 };
        let asked = SessionItem { url: text.clone(), queued: time() };
        for outcome in [
            ListResult::Refused(list_unavailable(&text)),
            found(ListItems::Entries(vec![item(&text)]), Some("x")),
            found(ListItems::Entries(Vec::new()), None),
            found(ListItems::Asked(vec![asked]), None),
        ] {
            assert_harmless(&page_of(&shown, outcome));
        }
        // A host is part of its own address, so its length is limited by that of an address.
        if text.len() < 1_000 {
            assert_harmless(&page_of(&shown, found(ListItems::Hosts(vec![host]), None)));
            assert_harmless(&page_of(&shown, found(ListItems::Sites(vec![site]), None)));
        }
    }
    assert_harmless(&root(&shell(), (&[time(), time()], &[]), &Library::default(), &[], None));
}

#[test]
fn the_longest_page_stays_within_the_template_steps() {
    let canonical = CanonicalUrl::parse("http://a.example/", &LocalHost::default()).unwrap();
    let key = Place::of(&canonical).key().to_string();
    // A row with every possible field, and each row on another day.
    let row = |number: i64| IndexItem {
        key: key.clone(),
        whose: EntryOwner::default(),
        times: stored_at(time() - jiff::SignedDuration::from_hours(24 * number)),
        ..item("http://a.example/")
    };
    let items: Vec<_> = (0..).map(row).take(ROWS).collect();
    let shown =
        ListAddress { sort: Some(Sort::Stored), is_all_chosen: true, ..ListAddress::default() };
    for (steps, want) in [(20_000, false), (5_000, true)] {
        let (templates, shown) = (Arc::new(Templates::with_step_limit(steps)), shown.clone());
        let outcome = found(ListItems::Entries(items.clone()), Some("x"));
        let shell = Shell { templates: Arc::clone(&templates), ..shell() };
        let page = page(&shell, &shown, (outcome, None, Some(3)));
        assert_harmless(&page);
        assert_eq!(templates.has_exceeded_steps(), want, "{steps} steps");
    }
}

#[test]
fn a_typical_page_is_small() {
    let mut usual = item("http://www.example.org/a/usual/path/of/a/page.html?with=argument");
    usual.title = Some("A title as pages have them, of some length".to_owned());
    usual.content.content_type = "text/html".to_owned();
    usual.whose.owner = None;
    let shown = ListAddress { sort: Some(Sort::Stored), ..ListAddress::default() };
    let page = page_of(&shown, found(ListItems::Entries(vec![usual; ROWS]), Some("x")));
    assert!(page.body.len() < 100_000, "{} bytes", page.body.len());
}

#[test]
fn deletions_can_be_undone() {
    let body_with = |result| {
        let outcome = found(ListItems::Entries(Vec::new()), None);
        let shown =
            ListAddress { path: "all".into(), sort: Some(Sort::Size), ..ListAddress::default() };
        let page = page(&shell(), &shown, (outcome, Some(result), None));
        assert_harmless(&page);
        page.body
    };
    let removal = "1700000000000000-00112233445566778899aabbccddeeff";
    let resting = RemovalSummary { removal: removal.parse().unwrap(), entries: 3, bytes: 10 };
    let body = body_with(ActionResult::Removed(resting));
    for want in [
        "3 entries were deleted",
        "action=\"http://localhost:8080/control/undo\"",
        "name=\"token\" value=\"f00\"",
        &format!("name=\"removal\" value=\"{removal}\""),
        "name=\"back\" value=\"/index/all?sort=size\"",
        ">Undo</button>",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    let back = |entries, overtaken, there, left| {
        body_with(ActionResult::Restored(RestoredCounts { entries, overtaken, there, left }))
    };
    let others = ["was already saved", "a newer copy", "was not restored:", "Nothing was restored"];
    let body = back(2, 0, 0, 0);
    assert!(body.contains("2 entries were restored."), "{body}");
    assert!(others.iter().all(|other| !body.contains(other)), "{body}");
    assert!(back(1, 1, 0, 0).contains("1 entry was not restored, because a newer copy exists"));
    for (number, body) in
        [back(0, 0, 1, 0), back(0, 1, 0, 0), back(0, 0, 0, 1), back(0, 0, 0, 0)].iter().enumerate()
    {
        let result = others.map(|other| body.contains(other));
        let want = [0, 1, 2, 3].map(|other| other == number);
        assert!(result == want && !body.contains("were restored."), "{body}");
    }
    // Only the latest deletions are shown, at most ten.
    let many: Vec<_> = (0..12).map(|entries| RemovalSummary { entries, ..resting }).collect();
    let last = root(&shell(), (&[], &many), &Library::default(), &[], None).body;
    assert_eq!(last.matches(">Undo</button>").count(), 10);
    assert!(last.contains(">9 entries") && !last.contains(">10 entries"), "{last}");
    let root = root(&shell(), (&[], &[resting]), &Library::default(), &[], None);
    assert_harmless(&root);
    assert!(root.body.contains("3 entries were deleted") && root.body.contains("f00"));
}

#[test]
fn days_are_shown_at_their_first_row() {
    let at =
        |text: &str| IndexItem { times: stored_at(text.parse().unwrap()), ..item("http://a/") };
    let items = ["2026-11-20T12:00:00Z", "2026-11-20T11:00:00Z", "2026-11-19T12:00:00Z"].map(at);
    let days = |sort| {
        let shown = ListAddress { sort, ..ListAddress::default() };
        let rows = entries(&items, &shown, &shell());
        rows.into_iter().map(|row| row.day.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(days(Some(Sort::Stored)), ["2026-11-20", "", "2026-11-19"]);
    assert_eq!(days(Some(Sort::Name)), ["", "", ""]);
}

#[test]
fn each_list_has_a_name() {
    for (path, want, above) in [
        ("http", "Hosts (http)", 1),
        ("https/a.example", "Saved from https://a.example", 2),
        ("site/a.example", "Saved from a.example", 2),
        ("prevtime1", "Saved 1 online session before the last", 1),
        ("prevtime3", "Saved 3 online sessions before the last", 1),
        ("prevout21", "Requested 21 offline sessions before the last", 1),
        ("prevtimex", "Library", 1),
        ("lastout", "Requested in the last offline session", 1),
        ("all", "Everything saved", 1),
        ("nothing", "Library", 1),
    ] {
        let list = ListAddress { path: path.to_owned(), ..ListAddress::default() };
        assert_eq!(
            (&*heading(&list).to_string(), breadcrumbs(path).len()),
            (want, above),
            "{path}"
        );
    }
}

#[test]
fn a_form_has_space_for_every_selectable_row() {
    let url = url_encode_form_args("=".repeat(LONGEST_CHOSEN).as_bytes());
    let others = 32 * 1024;
    assert!(ROWS * ("url=&".len() + url.len()) + others <= LONGEST_FORM);
}

#[test]
fn only_entries_named_by_their_url_can_be_selected() {
    let url = CanonicalUrl::parse("http://a.example/x", &LocalHost::default()).unwrap();
    let key = |owner: &str| Place::of(&url).owned_by(owner).key().to_string();
    for (owner, key, want) in [
        (None, key(""), true),
        (Some("user:ada"), key("user:ada"), true),
        (Some("user:bob"), key("user:bob"), false),
        // An entry for a login, and a response to a form.
        (None, url.key().variant("x").to_string(), false),
    ] {
        let item = IndexItem { whose: whose(owner), key, ..item("http://a.example/x") };
        assert_eq!(is_choosable(&item, "user:ada"), want, "{owner:?} {}", item.key);
    }
}

#[test]
#[ignore = "slow"]
fn the_number_of_rows_depends_on_their_size() {
    // A position in a list by name, with a long trail of previous pages.
    let cursor = |number: u32| {
        let (host, path) = (hex::encode("w".repeat(60)), hex::encode("p".repeat(120)));
        format!("n.0.0.{number:x}.{host}.68747470.{path}")
    };
    let begin =
        ListAddress { path: "all".into(), sort: Some(Sort::Name), ..ListAddress::default() };
    let shown = (0..9).fold(begin, |shown, number| shown.following(&cursor(number)));
    let shown = ListAddress { is_part: true, is_all_chosen: true, is_going_on: true, ..shown };
    let usual = "http://www.example.org/a/usual/path/of/a/page.html?with=argument".to_owned();
    let long = |part: &str, length: usize| {
        format!("http://www.example.org/?{}", part.repeat(length / part.len()))
    };
    let titles = ["A title as pages have them, of some length", &"東京都<&'\"".repeat(60)];
    for (url, title, at_least) in [
        (usual.clone(), titles[0], ROWS),
        (usual, titles[1], 20),
        (long("a/b=", 150), titles[0], 35),
        (long("a/b=c&", 960), titles[0], 10),
        (long("&", 960), titles[0], 4),
        (long("%3f", 960), titles[1], 8),
        (long("a/b=c&", 8_100), titles[0], 1),
        (long("&", 8_100), titles[1], 1),
        (long("x", 100_000), titles[1], 20),
    ] {
        let canonical = CanonicalUrl::parse(&url, &LocalHost::default()).unwrap();
        let mut one = item(canonical.as_str());
        one.whose.owner = None;
        one.key = Place::of(&canonical).key().to_string();
        one.title = Some(title.to_owned());
        one.content.content_type = "application/xhtml+xml".to_owned();
        let items = vec![one; ROWS];
        let rows = room::rows_that_fit(&ListItems::Entries(items.clone())).unwrap_or(ROWS);
        assert!(rows >= at_least, "{rows} rows of {url:.80}");
        let page =
            page_of(&shown, found(ListItems::Entries(items[..rows].to_vec()), Some(&cursor(99))));
        assert_harmless(&page);
        // The remaining room is less than twice the size of a row.
        let (bytes, one) = (page.body.len(), page.body.len() / (rows + 1));
        assert!(rows == ROWS || bytes + 2 * one > 60_000, "{bytes} in {rows} rows of {url:.80}");
        let asked = EntryItem {
            url: url.clone(),
            key: String::new(),
            status: None,
            content_type: None,
            bytes: 0,
            stored: time(),
            whose: EntryOwner::default(),
            held: None,
        };
        let asked = vec![asked; ROWS];
        let rows = room::rows_that_fit(&ListItems::Requests(asked.clone())).unwrap_or(ROWS);
        assert!(rows >= at_least, "{rows} requests for {url:.80}");
        assert_harmless(&page_of(&shown, found(ListItems::Requests(asked[..rows].to_vec()), None)));
    }
    assert_eq!(room::rows_that_fit(&ListItems::Entries(Vec::new())), None);
}

fn card(site: &str, pages: Option<SitePages>) -> SiteCard {
    let item = SiteItem { site: site.to_owned(), hosts: 1, entries: 12, bytes: 3_000 };
    SiteCard { item, pages }
}

fn site_pages(title: &str) -> SitePages {
    let (icon, title) = (Some("data:image/png;base64,AAAA".to_owned()), Some(title.to_owned()));
    SitePages { count: Some(2), stored: time(), title, icon, missing: Some(0) }
}

#[test]
fn the_library_shows_each_site_as_a_card() {
    let later = SitePages { count: None, icon: None, missing: None, ..site_pages(" ") };
    let missing = SitePages { missing: Some(3), ..site_pages("Cakes") };
    let library = Library {
        is_ready: true,
        refused: None,
        total: StoredTotal { entries: 36, bytes: 9_000 },
        sites: vec![
            card("tea.example", Some(site_pages("All teas"))),
            card("www.cake.example", Some(missing)),
            card("big.example", Some(later)),
            card("late.example", None),
        ],
        next: Some("h1/x y".to_owned()),
        is_later: false,
    };
    let page = root(&shell(), (&[], &[]), &library, &[], None);
    assert_harmless(&page);
    let body = page.body;
    for want in [
        "36 entries, 9.0 kB.",
        "<a id=\"s1\" href=\"http://localhost:8080/index/site/tea.example\"><bdi>tea.example</bdi></a>",
        "<bdi>All teas</bdi>",
        "<img src=\"data:image/png;base64,AAAA\"",
        "2 pages, 3.0 kB",
        ">complete</span>",
        ">3 files missing</span>",
        "aria-hidden=\"true\">b</span>",
        "12 entries, 3.0 kB",
        "href=\"http://localhost:8080/index/?after=h1/x%20y\" rel=\"next\"",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    assert_eq!(body.matches("saved <time").count(), 3, "{body}");
    let empty = Library { is_ready: true, ..Library::default() };
    let empty = root(&shell(), (&[], &[]), &empty, &[], None).body;
    assert!(empty.contains("Nothing is saved yet.") && empty.contains("/?help=1#help"), "{empty}");
    let unready = root(&shell(), (&[], &[]), &Library::default(), &[], None).body;
    assert!(unready.contains("The index is being built."), "{unready}");
    let refused = Some(list_unavailable("the disk failed"));
    let refused =
        root(&shell(), (&[], &[]), &Library { refused, ..Library::default() }, &[], None).body;
    assert!(refused.contains("This cannot be determined now: the disk failed"), "{refused}");
    assert!(!refused.contains("The index is being built."), "{refused}");
}

#[test]
fn hostile_sites_are_text() {
    for text in hostile() {
        let sites = vec![card(as_key(&text), Some(site_pages(&text))); 24];
        // The position is one of the index, which contains the name of a host.
        let next = Some(as_key(&text).to_owned());
        let library = Library { is_ready: true, sites, next, ..Library::default() };
        assert_harmless(&root(&shell(), (&[], &[]), &library, &[], None));
    }
}

#[test]
fn a_site_or_host_can_be_kept_up_to_date() {
    for (path, url, want) in [
        ("site/tea.example", "http://a.tea.example/x", Some("https://www.tea.example/")),
        ("http/tea.example", "http://tea.example/x", Some("http://tea.example/")),
        ("site/", "http://tea.example/x", None),
        ("all", "http://tea.example/x", None),
    ] {
        let start = Some("https://www.tea.example/".to_owned());
        let shown = ListAddress { path: path.into(), start, ..ListAddress::default() };
        let outcome = found(ListItems::Entries(vec![item(url)]), None);
        let page = page(&shell(), &shown, (outcome, None, None));
        assert_harmless(&page);
        for form in ["monitor-options", "refresh-options"] {
            let address = format!("http://localhost:8080/{form}/?");
            let link = want.map(|url| format!("{address}{url}\">"));
            let has = page.body.contains(link.as_deref().unwrap_or(&address));
            assert_eq!(has, want.is_some(), "{path}: {}", page.body);
        }
    }
}
