//! Lists contain every entry of the spool, in every order, for every viewer who may see it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::as_conversions, reason = "a test")]

mod support;

use proptest::prelude::*;
use support::{index, list, open, place, store, store_at, urls};
use wwwoffle_index::{ContentClass, Cursor, Filter, HostSort, Index, Sort, Viewer};
use wwwoffle_spool::{Durability, Spool, Timestamp};

fn person(name: &str) -> Filter {
    Filter { viewer: Viewer::Person(name.to_owned()), ..Filter::default() }
}

/// Stores entries with various hosts, types, owners and variants.
fn fill(spool: &Spool) {
    let page = |url: &str, status, kind: &str, length: usize| {
        store_at(spool, &place(url), status, kind, &"x".repeat(length), 1_700_000_000);
    };
    page("http://b.example/2", 200, "text/html", 20);
    page("http://b.example/1", 404, "text/html; charset=utf-8", 10);
    page("https://a.example/", 200, "text/html", 30);
    page("http://a.example:81/", 200, "image/png", 300_000);
    page("http://www.a.example/x?y", 500, "text/plain", 5);
    page("ftp://c.co.uk/f", 200, "application/zip", 50);
    let own = |url: &str, owner: &str| place(url).owned_by(owner);
    store_at(
        spool,
        &own("http://b.example/1", "user:anna"),
        200,
        "text/html",
        "anna",
        1_700_000_000,
    );
    store_at(
        spool,
        &own("http://secret.example/", "user:anna"),
        200,
        "text/html",
        "s",
        1_700_000_000,
    );
    let varied = |text: &str| place("http://b.example/v").with_variant(text);
    store_at(spool, &varied("accept-language: de"), 200, "text/html", "de", 1_700_000_000);
    store_at(spool, &varied("accept-language: fr"), 200, "text/html", "fr", 1_700_000_000);
    spool.flush().unwrap();
}

fn filled() -> (tempfile::TempDir, Spool, Index) {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    fill(&spool);
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    (directory, spool, index)
}

#[test]
fn each_order_lists_every_entry_once() {
    let (_directory, _spool, index) = filled();
    let all = Filter::default();
    let sorted = |sort| urls(&index, &all, sort);
    assert_eq!(
        sorted(Sort::Name),
        [
            "https://a.example/",
            "http://a.example:81/",
            "http://b.example/1",
            "http://b.example/1",
            "http://b.example/2",
            "http://b.example/v",
            "http://b.example/v",
            "ftp://c.co.uk/f",
            "http://secret.example/",
            "http://www.a.example/x?y",
        ]
    );
    assert_eq!(
        sorted(Sort::Domain)[..3],
        ["https://a.example/", "http://a.example:81/", "http://www.a.example/x?y"]
    );
    assert_eq!(sorted(Sort::Domain)[9], "ftp://c.co.uk/f");
    assert_eq!(
        sorted(Sort::Size)[..3],
        ["http://a.example:81/", "ftp://c.co.uk/f", "https://a.example/"]
    );
    assert_eq!(sorted(Sort::Type)[..2], ["ftp://c.co.uk/f", "http://a.example:81/"]);
    // The entry that was stored last comes first.
    assert_eq!(sorted(Sort::Stored)[9], "http://b.example/2");
    assert_eq!(sorted(Sort::Day), sorted(Sort::Stored));
    assert_eq!(sorted(Sort::Random), sorted(Sort::Random));
    let name = {
        let mut name = sorted(Sort::Name);
        name.sort();
        name
    };
    for sort in Sort::ALL {
        let mut all = sorted(sort);
        all.sort();
        assert_eq!(all, name, "{sort}");
    }
}

#[test]
fn a_filter_excludes_other_entries() {
    let (_directory, _spool, index) = filled();
    let some = |filter: Filter| {
        let mut lists = Sort::ALL.map(|sort| {
            let mut found = urls(&index, &filter, sort);
            found.sort();
            found
        });
        lists.sort();
        assert_eq!(lists[0], lists[7], "{filter:?}");
        lists[0].clone()
    };
    let text = |text: &str| Some(text.to_owned());
    let none = Filter::default;
    let all = some(none());
    assert_eq!(all.len(), 10);
    assert_eq!(some(Filter { scheme: text("ftp"), ..none() }), ["ftp://c.co.uk/f"]);
    assert_eq!(some(Filter { host: text("a.example:81"), ..none() }), ["http://a.example:81/"]);
    assert_eq!(some(Filter { host: text("nowhere.example"), ..none() }), [""; 0]);
    assert_eq!(
        some(Filter { site: text("a.example"), ..none() }),
        ["http://a.example:81/", "http://www.a.example/x?y", "https://a.example/"]
    );
    assert_eq!(
        some(Filter { class: Some(ContentClass::Image), ..none() }),
        ["http://a.example:81/"]
    );
    assert_eq!(some(Filter { status: Some(400..=499), ..none() }), ["http://b.example/1"]);
    assert_eq!(some(Filter { text: text("X?Y"), ..none() }), ["http://www.a.example/x?y"]);
    assert_eq!(some(Filter { pages_only: true, ..none() }).len(), 8);
    assert_eq!(some(Filter { owner: text("user:anna"), ..none() }).len(), 2);
    assert_eq!(some(Filter { owner: text(""), ..none() }).len(), 8);
    let all = list(&index, &none(), Sort::Stored);
    let middle = all[4].times.stored;
    assert_eq!(some(Filter { since: Some(middle), ..none() }).len(), 5);
    assert_eq!(some(Filter { until: Some(middle), ..none() }).len(), 5);
}

#[test]
fn personal_entries_are_shown_to_their_owner_only() {
    let (_directory, _spool, index) = filled();
    for sort in Sort::ALL {
        assert_eq!(urls(&index, &person("user:anna"), sort).len(), 10, "{sort}");
        for other in ["user:bob", "local", "", "user:ann"] {
            let told = urls(&index, &person(other), sort);
            assert_eq!(told.len(), 8, "{sort} {other}");
            assert!(!told.contains(&"http://secret.example/".to_owned()));
        }
    }
    let hosts = |viewer: &Viewer| {
        let page = index.hosts(viewer, None, HostSort::Name, None, 100).unwrap();
        page.items.into_iter().map(|host| (host.host, host.entries)).collect::<Vec<_>>()
    };
    let of = |host: &str, entries| (host.to_owned(), entries);
    let anna = hosts(&Viewer::Person("user:anna".to_owned()));
    assert!(anna.contains(&of("secret.example", 1)) && anna.contains(&of("b.example", 5)));
    assert_eq!(anna, hosts(&Viewer::Operator));
    // The viewer must not learn that such a host exists.
    let bob = hosts(&Viewer::Person("user:bob".to_owned()));
    assert!(
        bob.iter().all(|(host, _)| host != "secret.example") && bob.contains(&of("b.example", 4))
    );
}

#[test]
fn hosts_and_sites_are_counted_as_they_change() {
    let (_directory, spool, index) = filled();
    let sites = || {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = index.sites(&Viewer::Operator, after.as_ref(), 2).unwrap();
            all.extend(page.items.into_iter().map(|site| (site.site, site.hosts, site.entries)));
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    };
    let site = |name: &str, hosts, entries| (name.to_owned(), hosts, entries);
    let all = [
        site("a.example", 3, 3),
        site("b.example", 1, 5),
        site("secret.example", 1, 1),
        site("c.co.uk", 1, 1),
    ];
    assert_eq!(sites(), all);
    spool.remove(&place("ftp://c.co.uk/f")).unwrap();
    store(&spool, "http://b.example/2", "longer than it was");
    store(&spool, "http://new.example/", "new");
    index.wait_until_current(false).unwrap();
    let now = [all[0].clone(), all[1].clone(), site("new.example", 1, 1), all[2].clone()];
    assert_eq!(sites(), now);
    let counted =
        index.hosts(&Viewer::Operator, Some("http"), HostSort::Domain, None, 100).unwrap();
    for host in counted.items {
        let filter =
            Filter { host: Some(host.host), scheme: Some("http".into()), ..Filter::default() };
        let items = list(&index, &filter, Sort::Size);
        let bytes: u64 = items.iter().map(|item| item.content.file_len).sum();
        assert_eq!((host.entries, host.bytes), (items.len() as u64, bytes));
    }
}

#[test]
fn recently_used_entries_are_first_and_survive_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::from_second(2_000_000_000).unwrap();
    {
        let spool = open(directory.path());
        fill(&spool);
        let index = index(&spool);
        index.wait_until_current(false).unwrap();
        index.record_use(&place("http://b.example/2"), now);
        index.stop();
        assert!(
            index
                .list(&Filter::default(), Sort::Used, None, 9, &|_| true)
                .unwrap_err()
                .is_not_ready()
        );
    }
    for lost in [false, true] {
        if lost {
            #[allow(clippy::disallowed_methods, reason = "the index is lost")]
            std::fs::remove_file(directory.path().join(wwwoffle_index::FILE)).unwrap();
        }
        let spool = open(directory.path());
        let index = index(&spool);
        index.wait_until_current(false).unwrap();
        let first = list(&index, &Filter::default(), Sort::Used).swap_remove(0);
        assert_eq!((first.place.url(), first.times.used), ("http://b.example/2", now), "{lost}");
        index.stop();
    }
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    let (_directory, _spool, index) = filled();
    let page = index.list(&Filter::default(), Sort::Size, None, 2, &|_| true).unwrap();
    let after: Cursor = page.next.unwrap();
    let wrong = index.list(&Filter::default(), Sort::Name, Some(&after), 2, &|_| true);
    assert!(wrong.unwrap_err().is_invalid());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3) })]
    /// Above the limit for sorting, the order is walked. Walking and sorting must give the same
    /// list.
    #[test]
    #[ignore = "slow"]
    fn walking_and_sorting_give_the_same_list(seed in 0_u64..1_000) {
        let directory = tempfile::tempdir().unwrap();
        let spool = support::open_as(directory.path(), Durability::None);
        for number in 0..200_u64 {
            let chance = (number + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let url = format!("http://h{}.example/{}", chance % 7, chance % 1_000);
            let kind = ["text/html", "image/png", "text/css"][(chance % 3) as usize];
            let body = "x".repeat((chance % 11) as usize);
            store_at(&spool, &place(&url), 200, kind, &body, 1_700_000_000);
        }
        let index = index(&spool);
        index.wait_until_current(true).unwrap();
        let since = Some(Timestamp::UNIX_EPOCH);
        for sort in Sort::ALL {
            // Every entry matches this date. With a date, most orders gather the matching entries
            // and sort them.
            let few = list(&index, &Filter { since, ..Filter::default() }, sort);
            let walked = list(&index, &Filter::default(), sort);
            let same = few.iter().zip(&walked).take_while(|(few, walked)| few == walked).count();
            prop_assert_eq!((same, few.len()), (walked.len(), walked.len()), "{}", sort);
        }
        index.stop();
    }
}
