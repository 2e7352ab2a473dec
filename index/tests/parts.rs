//! Whether pages are reported as complete with all their sub-resources.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::{index, open, place, store, store_at};
use wwwoffle_index::{Completeness, Filter, Index, ReindexScope, Sort, Viewer};
use wwwoffle_spool::Place;
use wwwoffle_url::{CanonicalUrl, LocalHost};

fn person(name: &str) -> Viewer {
    Viewer::Person(name.to_owned())
}

/// The completeness of a page for a viewer.
fn of(index: &Index, viewer: &Viewer, url: &str) -> Option<Completeness> {
    index.wait_until_current(true).unwrap();
    let filter = Filter { viewer: viewer.clone(), ..Filter::default() };
    let items = index.list(&filter, Sort::Name, None, 100, &|_| true).unwrap().items;
    let all = index.completeness(viewer, &items).unwrap();
    assert_eq!(all.len(), items.len());
    let at = items.iter().position(|item| item.place.url() == url).unwrap();
    all.into_iter().nth(at).unwrap()
}

#[test]
fn a_page_is_complete_with_its_nested_sub_resources() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    let ada = person("ada");
    let page = "http://a.example/page";
    store(
        &spool,
        page,
        "part http://a.example/style\npart http://b.example/image\nspare http://a.example/icon\nlink http://a.example/x",
    );
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(2)));
    let style = |body: &str| {
        store_at(&spool, &place("http://a.example/style"), 200, "text/css", body, 1_700_000_000);
    };
    style("part http://a.example/font");
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(2)));
    let image = |url: &str| store_at(&spool, &place(url), 200, "image/png", "png", 1_700_000_000);
    image("http://b.example/image");
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(1)));
    assert_eq!(of(&index, &ada, "http://b.example/image"), None);
    image("http://a.example/font");
    for viewer in [&ada, &person("bob"), &Viewer::Operator] {
        assert_eq!(of(&index, viewer, page), Some(Completeness::All));
    }
    // The style sheet needs the page, which needs the style sheet.
    style(&format!("part {page}\npart http://a.example/font"));
    assert_eq!(of(&index, &ada, page), Some(Completeness::All));
    spool.remove(&place("http://a.example/font")).unwrap();
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(1)));
}

#[test]
fn a_personal_sub_resource_counts_for_its_owner_only() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    let (ada, bob) = (person("ada"), person("bob"));
    let page = "http://a.example/page";
    store(&spool, page, "part http://a.example/style\npart http://a.example/image");
    let own = |url: &str, owner: &str, kind: &str, body: &str| {
        store_at(&spool, &place(url).owned_by(owner), 200, kind, body, 1_700_000_000);
    };
    // Personal entries of other URLs make no difference.
    own("http://a.example/other", "ada", "image/png", "png");
    for viewer in [&ada, &bob, &Viewer::Operator] {
        assert_eq!(of(&index, viewer, page), Some(Completeness::Missing(2)), "{viewer:?}");
    }
    // Ada's copies, with their sub-resources, count for her but not for others.
    own("http://a.example/image", "ada", "image/png", "png");
    own("http://a.example/style", "ada", "text/css", "part http://a.example/font");
    for (viewer, want) in [(&ada, 1), (&bob, 2)] {
        assert_eq!(of(&index, viewer, page), Some(Completeness::Missing(want)), "{viewer:?}");
    }
    // The operator gets no result if it would be valid only for some users.
    assert_eq!(of(&index, &Viewer::Operator, page), None);
    own("http://a.example/font", "bob", "font/woff2", "font");
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(1)));
    own("http://a.example/font", "ada", "font/woff2", "font");
    assert_eq!(of(&index, &ada, page), Some(Completeness::All));
    assert_eq!(of(&index, &bob, page), Some(Completeness::Missing(2)));
    // A personal page is evaluated as its owner sees it.
    let hers = "http://a.example/hers";
    own(hers, "ada", "text/html", "part http://a.example/style\npart http://a.example/no");
    for viewer in [&ada, &Viewer::Operator] {
        assert_eq!(of(&index, viewer, hers), Some(Completeness::Missing(1)), "{viewer:?}");
    }
    // The removed copy is also missing in a rebuilt index.
    spool.remove(&place("http://a.example/image").owned_by("ada")).unwrap();
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(1)));
    index.reindex(ReindexScope::All).unwrap();
    assert_eq!(of(&index, &ada, page), Some(Completeness::Missing(1)));
    assert_eq!(of(&index, &bob, page), Some(Completeness::Missing(2)));
}

#[test]
fn a_sub_resource_may_be_stored_for_a_login() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    let page = "http://a.example/page";
    store(&spool, page, "part http://a.example/image");
    let url = "http://ada:secret@a.example/image";
    let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
    let place = Place::of(&url).owned_by("ada");
    assert!(!place.follows_from_url());
    store_at(&spool, &place, 200, "image/png", "png", 1_700_000_000);
    assert_eq!(of(&index, &person("ada"), page), None);
    assert_eq!(of(&index, &person("bob"), page), Some(Completeness::Missing(1)));
}

#[test]
fn completeness_is_unknown_beyond_the_lookup_budget() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    let parts = |from: usize, to: usize| {
        let lines = (from..to).map(|number| format!("part http://a.example/{number}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    store(&spool, "http://a.example/few", &parts(0, 200));
    store(&spool, "http://a.example/many", &parts(0, 600));
    assert_eq!(
        of(&index, &Viewer::Operator, "http://a.example/few"),
        Some(Completeness::Missing(200))
    );
    assert_eq!(of(&index, &Viewer::Operator, "http://a.example/many"), None);
}

#[test]
fn entries_of_a_host_or_site_are_counted_for_the_viewer() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let index = index(&spool);
    for url in ["http://a.example.org/1", "https://a.example.org/2", "http://b.example.org/3"] {
        store(&spool, url, "text");
    }
    let own = place("http://a.example.org/own").owned_by("ada");
    store_at(&spool, &own, 200, "text/html", "own", 1_700_000_000);
    index.wait_until_current(true).unwrap();
    let count = |viewer: &Viewer, scheme: Option<&str>, host: Option<&str>, site: Option<&str>| {
        let [scheme, host, site] = [scheme, host, site].map(|text| text.map(str::to_owned));
        let filter = Filter { viewer: viewer.clone(), scheme, host, site, ..Filter::default() };
        index.count(&filter).unwrap()
    };
    let host = Some("a.example.org");
    for (viewer, want) in [(person("ada"), [2, 3, 4]), (person("bob"), [1, 2, 3])] {
        let counted = [
            count(&viewer, Some("http"), host, None),
            count(&viewer, None, host, None),
            count(&viewer, None, None, Some("example.org")),
        ];
        assert_eq!(counted.map(Option::unwrap), want);
    }
    // To count other lists, every entry would have to be examined.
    assert_eq!(count(&Viewer::Operator, None, None, None), None);
    let filter =
        Filter { host: Some("a.example.org".into()), pages_only: true, ..Filter::default() };
    assert_eq!(index.count(&filter).unwrap(), None);
}
