//! The tree of a host, and lists of the entries of a set.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::as_conversions, reason = "a test")]

mod support;

use std::sync::Arc;

use support::{index, list, open, place, store_at, urls};
use wwwoffle_index::{EntrySet, Filter, FolderName, Index, Sort, Viewer};
use wwwoffle_spool::Spool;

fn filled(entries: &[(&str, &str, &str)]) -> (tempfile::TempDir, Spool, Index) {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for (url, owner, kind) in entries {
        let place = place(url).owned_by(owner);
        store_at(&spool, &place, 200, kind, "x", 1_700_000_000);
    }
    spool.flush().unwrap();
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    (directory, spool, index)
}

const HTML: &str = "text/html";

#[test]
fn a_folder_has_folders_and_pages_that_the_viewer_may_see() {
    let long = format!("http://a.example/{}/deep/x", "l".repeat(150));
    let (_directory, _spool, index) = filled(&[
        ("http://a.example/", "", HTML),
        ("http://a.example/tea/", "", HTML),
        ("http://a.example/tea/green/sencha", "", HTML),
        ("http://a.example/tea/green/gyokuro", "", HTML),
        ("http://a.example/tea-house", "", HTML),
        ("http://a.example/tea0", "", HTML),
        ("http://a.example/?q=/x/y", "", HTML),
        ("http://a.example/images/leaf.png", "", "image/png"),
        ("http://a.example/mine/", "user:anna", HTML),
        ("https://a.example/other", "", HTML),
        (&long, "", HTML),
    ]);
    let below = |viewer: &Viewer, path: &str, limit: usize| {
        let folder = index.folder(viewer, ("http", "a.example"), path, limit).unwrap();
        let names = folder.names.into_iter().map(|name| match name {
            FolderName::Folder(path) => path,
            FolderName::Page(item) => item.place.url().replace("http://a.example", ""),
        });
        let mut names: Vec<_> = names.filter(|name| name.len() < 100).collect();
        names.sort();
        (names, folder.is_cut)
    };
    let bob = Viewer::Person("user:bob".to_owned());
    let all = ["/", "/?q=/x/y", "/tea-house", "/tea/", "/tea0"].map(str::to_owned).to_vec();
    assert_eq!(below(&bob, "/", 100), (all, false));
    assert!(below(&Viewer::Person("user:anna".into()), "/", 100).0.contains(&"/mine/".into()));
    let tea = ["/tea/", "/tea/green/"].map(str::to_owned).to_vec();
    assert_eq!(below(&bob, "/tea/", 100), (tea, false));
    assert_eq!(below(&bob, "/none/", 100), (vec![], false));
    assert_eq!(below(&bob, &format!("/{}/", "l".repeat(150)), 100), (vec![], false));
    let (some, is_cut) = below(&bob, "/", 2);
    assert!(some.len() <= 2 && is_cut, "{some:?}");
    let hosts = |viewer: &Viewer| index.hosts_of_site(viewer, "a.example", 10).unwrap();
    let host = |scheme: &str| (scheme.to_owned(), "a.example".to_owned());
    assert_eq!(hosts(&bob), [host("http"), host("https")]);
    assert_eq!(index.hosts_of_site(&bob, "none.example", 10).unwrap(), []);
    assert_eq!(index.total_of_site(&bob, "a.example").unwrap().entries, 10);
    assert_eq!(index.total_of_site(&Viewer::Operator, "a.example").unwrap().entries, 11);
}

#[test]
fn a_list_of_a_set_has_its_entries_in_each_order() {
    let (_directory, _spool, index) = filled(&[
        ("http://a.example/1", "", HTML),
        ("http://a.example/1", "user:anna", HTML),
        ("http://a.example/2", "", HTML),
        ("http://www.b.example/1", "", HTML),
        ("https://b.example/2", "", HTML),
        ("http://c.example/1", "", HTML),
        ("http://c.example/2", "", HTML),
    ]);
    let mut set = EntrySet::default();
    set.add_url("http://a.example/1");
    set.add_url("http://nowhere.example/");
    set.add_site("b.example");
    let all = list(&index, &Filter::default(), Sort::Name);
    set.add_item(all.iter().find(|item| item.place.url() == "http://c.example/2").unwrap());
    let among = Some(Arc::new(set));
    for sort in Sort::ALL {
        let mut found = urls(&index, &Filter { among: among.clone(), ..Filter::default() }, sort);
        found.sort();
        let want = [
            "http://a.example/1",
            "http://a.example/1",
            "http://c.example/2",
            "http://www.b.example/1",
            "https://b.example/2",
        ];
        assert_eq!(found, want, "{sort}");
        let viewer = Viewer::Person("user:bob".to_owned());
        let of_bob = Filter { viewer, among: among.clone(), ..Filter::default() };
        assert_eq!(urls(&index, &of_bob, sort).len(), 4, "{sort}");
        let none = Filter { among: Some(Arc::default()), ..Filter::default() };
        assert!(urls(&index, &none, sort).is_empty(), "{sort}");
    }
}

#[test]
fn the_times_of_a_site_are_those_of_the_pages_that_the_viewer_may_see() {
    // A large site is read by time, a small one by host.
    for many in [3, 2_001] {
        let urls: Vec<_> = (0..many).map(|n| format!("http://a.example/{n}")).collect();
        let mut entries: Vec<_> = urls.iter().map(|url| (url.as_str(), "", HTML)).collect();
        entries.extend([
            ("http://a.example/leaf.png", "", "image/png"),
            ("http://a.example/mine", "user:anna", HTML),
            ("http://b.example/", "", HTML),
        ]);
        let (_directory, _spool, index) = filled(&entries);
        let anna = Viewer::Person("user:anna".to_owned());
        let bob = Viewer::Person("user:bob".to_owned());
        for (viewer, want) in [(bob, many), (anna, many + 1), (Viewer::Operator, many + 1)] {
            let found = index.stored_times(&viewer, "a.example").unwrap();
            // A busy machine may not find all in time.
            assert!(found.times.len() == want || found.is_cut, "{}", found.times.len());
            assert!(found.times.len() <= want, "{}", found.times.len());
        }
        assert!(index.stored_times(&Viewer::Operator, "none.example").unwrap().times.is_empty());
    }
}
