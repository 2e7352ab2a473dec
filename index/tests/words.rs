//! Search: pages are found by their words, ranked and highlighted, and their references are known.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::as_conversions, reason = "a test")]

mod support;

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Lines, index, open, place, store, store_at, url_of};
use wwwoffle_index::{ContentClass, Describe, Description, Filter, Hits, Index, Query, Viewer};
use wwwoffle_spool::Entry;

/// The hits of a search. One that was cut short, because the machine is busy, says so and is
/// repeated.
fn hits(index: &Index, query: &str, filter: &Filter) -> Hits {
    let search = || index.search(&Query::parse(query), filter, None, 10, &|_| true).unwrap();
    let whole = std::iter::repeat_with(search).take(1_000).find(|hits| !hits.is_partial);
    whole.expect("a search takes less than its limit at some time")
}

fn found(index: &Index, query: &str) -> Vec<String> {
    let items = hits(index, query, &Filter::default()).items;
    items.into_iter().map(|item| item.place.url().replace("http://a.example/", "")).collect()
}

#[test]
fn pages_are_found_by_their_text() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for (name, page) in [
        ("tea", "title Green tea\nA leaf and hot water."),
        ("cake", "title Cake\nServed with tea, or with black coffee. Tea is better."),
        ("coffee", "title Café\nBlack, with a piece of chocolate; not the black forest kind."),
        ("tokyo", "title 東京都\n日本の首都です。Tower 333."),
        ("seoul", "title 한국\n서울에서 만나요"),
        ("thai", "title ไทย\nภาษาไทยไม่มีช่องว่าง"),
        ("hindi", "title हिन्दी\nयह एक वाक्य है"),
    ] {
        store(&spool, &format!("http://a.example/{name}"), page);
    }
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    for (query, want) in [
        ("tea", &["tea", "cake"][..]),
        ("TEA -coffee", &["tea"]),
        // A page with an excluded word in its text is not found, even if its title contains the
        // searched word.
        ("green -water", &[]),
        ("black coffee", &["cake"]),
        ("\"black coffee\"", &["cake"]),
        ("\"coffee black\"", &[]),
        ("cafe", &["coffee"]),
        ("choc*", &["coffee"]),
        ("choc", &[]),
        ("water OR forest", &["tea", "coffee"]),
        ("東京", &["tokyo"]),
        ("東京都", &["tokyo"]),
        ("京都", &["tokyo"]),
        ("首都 tower", &["tokyo"]),
        ("首", &["tokyo"]),
        ("大阪", &[]),
        ("서울", &["seoul"]),
        ("ภาษา", &["thai"]),
        ("हिन्दी", &["hindi"]),
        ("-tea", &[]),
        ("", &[]),
    ] {
        let mut told = found(&index, query);
        if query.contains("OR") {
            told.sort_by_key(|name| want.iter().position(|want| want == name));
        }
        assert_eq!(told, want, "{query}");
    }
    // Removed pages, and changed pages by their former words, are not found.
    store(&spool, "http://a.example/cake", "title Cake\nServed with milk.");
    spool.remove(&place("http://a.example/tokyo")).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(found(&index, "tea"), ["tea"]);
    assert_eq!(found(&index, "milk"), ["cake"]);
    assert!(found(&index, "東京").is_empty());
}

#[test]
fn a_search_is_filtered_and_paged_like_a_list() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for number in 0..25 {
        store(
            &spool,
            &format!("http://h{}.example/{number}", number % 2),
            "title T\nsame words here",
        );
    }
    let own = place("http://h0.example/own").owned_by("user:anna");
    store_at(&spool, &own, 200, "text/html", "same words here", 1);
    store_at(&spool, &place("http://h0.example/t"), 404, "text/plain", "same words here", 1);
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    let query = Query::parse("same words");
    let all = |filter: &Filter| {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let hits = index.search(&query, filter, after.as_ref(), 4, &|_| true).unwrap();
            assert!(!hits.is_partial && hits.items.len() <= 4);
            all.extend(hits.items.into_iter().map(|item| item.place));
            after = hits.next;
            if after.is_none() {
                break;
            }
        }
        let count = all.len();
        all.sort_by_key(wwwoffle_spool::Place::key);
        all.dedup();
        assert_eq!(all.len(), count, "each once");
        count
    };
    let none = Filter::default;
    assert_eq!(all(&none()), 27);
    assert_eq!(all(&Filter { viewer: Viewer::Person("user:anna".into()), ..none() }), 27);
    assert_eq!(all(&Filter { viewer: Viewer::Person("user:bob".into()), ..none() }), 26);
    assert_eq!(all(&Filter { host: Some("h1.example".into()), ..none() }), 12);
    assert_eq!(all(&Filter { class: Some(ContentClass::Text), ..none() }), 1);
    assert_eq!(all(&Filter { status: Some(400..=499), ..none() }), 1);
    let hidden =
        index.search(&query, &none(), None, 100, &|item| item.content.status == 404).unwrap();
    assert_eq!(hidden.items.len(), 1);
}

#[test]
fn referrers_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    store(
        &spool,
        "http://a.example/",
        "title A\npart http://a.example/i.png\nlink http://b.example/",
    );
    store(&spool, "http://b.example/", "title B\npart http://a.example/i.png");
    let own = place("http://c.example/").owned_by("user:anna");
    store_at(&spool, &own, 200, "text/html", "part http://a.example/i.png", 1);
    store_at(&spool, &place("http://a.example/i.png"), 200, "image/png", "png", 1);
    store_at(&spool, &place("http://d.example/same"), 200, "image/png", "png", 1);
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    let names = |items: Vec<wwwoffle_index::Item>| {
        let mut names: Vec<_> = items.iter().map(|item| item.place.url().to_owned()).collect();
        names.sort();
        names
    };
    let image = url_of("http://a.example/i.png");
    let referrers =
        |viewer: &Viewer, url: &str, parts| names(index.referrers(viewer, url, parts).unwrap());
    let all = ["http://a.example/", "http://b.example/", "http://c.example/"];
    assert_eq!(referrers(&Viewer::Operator, image.as_str(), true), all);
    assert_eq!(referrers(&Viewer::Person("user:bob".into()), image.as_str(), true), all[..2]);
    assert_eq!(referrers(&Viewer::Operator, "http://b.example/", false), all[..1]);
    assert!(referrers(&Viewer::Operator, "http://b.example/", true).is_empty());
    let references = index.references(&Viewer::Operator, &place("http://a.example/")).unwrap();
    assert_eq!(names(references), ["http://a.example/i.png", "http://b.example/"]);
    // Entries with an equal body.
    let item = index.at(&place("http://a.example/i.png")).unwrap().unwrap();
    let same = index.with_body(&item.content.digest, item.content.body_len).unwrap();
    assert_eq!(names(same), ["http://a.example/i.png", "http://d.example/same"]);
    assert!(index.with_body(&item.content.digest, 4).unwrap().is_empty());
    spool.remove(&place("http://b.example/")).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(referrers(&Viewer::Operator, image.as_str(), true).len(), 2);
}

/// A describer that panics on one page.
#[derive(Debug)]
struct Fragile;

impl Describe for Fragile {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        assert!(!entry.url().ends_with("/bad"), "nobody has thought of this one");
        Lines.describe(entry)
    }
}

#[test]
#[ignore = "slow"]
fn an_unreadable_page_does_not_affect_others() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for name in ["first", "bad", "last"] {
        store(&spool, &format!("http://a.example/{name}"), "title Tea\ngreen");
    }
    for _ in 0..2 {
        let index = Index::open(&spool, Some(Arc::new(Fragile))).unwrap();
        index.wait_until_current(true).unwrap();
        let mut found = found(&index, "green");
        found.sort();
        assert_eq!(found, ["first", "last"]);
        index.stop();
    }
}

/// A describer that reads a document when it is told to.
#[derive(Debug)]
struct Waiting(Mutex<Receiver<()>>);

impl Describe for Waiting {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        if entry.url().contains(".pdf") {
            self.0.lock().unwrap().recv().unwrap();
        }
        Lines.describe(entry)
    }
}

#[test]
fn pages_do_not_wait_for_documents() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    let pdf = |name: &str, text: &str, second| {
        let place = place(&format!("http://a.example/{name}.pdf"));
        store_at(&spool, &place, 200, "application/pdf", text, second);
    };
    pdf("one", "tea one", 1);
    pdf("two", "tea two", 2);
    let (go, wait) = std::sync::mpsc::sync_channel(3);
    let index = Index::open(&spool, Some(Arc::new(Waiting(Mutex::new(wait))))).unwrap();
    index.wait_until_current(false).unwrap();
    // Both the page and a new version of a document come while a document is being read.
    store(&spool, "http://a.example/page", "title Tea");
    pdf("two", "tea three", 3);
    let begun = std::time::Instant::now();
    while found(&index, "tea") != ["page"] {
        assert!(begun.elapsed() < Duration::from_secs(60));
        index.wait_until_current_within(true, Duration::from_millis(50)).unwrap();
    }
    assert!(index.progress().has_unread);
    // The second document is read twice if its old version was being read.
    (0..3).for_each(|_| go.send(()).unwrap());
    index.wait_until_current(true).unwrap();
    assert!(!index.progress().has_unread);
    for (words, want) in [("tea one", "one.pdf"), ("tea three", "two.pdf")] {
        assert_eq!(found(&index, words), [want]);
    }
    assert!(found(&index, "two").is_empty());
    index.stop();
}

/// Pages of a documentation site: long pages about a subject, and many short pages that mention it.
fn documentation() -> Vec<(String, String)> {
    let of = |path: &str, title: &str, text: String| {
        (format!("https://doc.example.org/{path}"), format!("title {title}\n{text}"))
    };
    let long =
        |words: &str| format!("{words} {}", "methods of this and that other thing ".repeat(3_000));
    let mut pages = vec![
        of("std/vec/struct.Vec.html", "Vec in std::vec - Docs", long("Vec push pop")),
        of("std/string/struct.String.html", "String in std::string - Docs", long("String push")),
        of("std/map/struct.HashMap.html", "HashMap in std::map - Docs", long("HashMap entry")),
        of("std/result/enum.Result.html", "Result in std::result - Docs", long("Result")),
        of("std/primitive.char.html", "char - Docs", long("char String")),
        of("std/vec/index.html", "std::vec - Docs", "Vec".to_owned()),
    ];
    for number in 0..60 {
        for (name, word) in
            [("vec", "Vec"), ("string", "String"), ("char", "char"), ("result", "Result")]
        {
            let text = format!(
                "{word} {word} push entry HashMap\nlink https://doc.example.org/std/result/enum.Result.html"
            );
            pages.push(of(
                &format!("std/{name}/fn.f{number}.html"),
                &format!("f{number} in std::{name} - Docs"),
                text,
            ));
        }
        let title = format!("Lesson {number}: Vec, String and char - Docs");
        pages.push(of(&format!("book/lesson-{number}/"), &title, "Vec String char".to_owned()));
    }
    for language in ["de", "es", "fr", "ja"] {
        pages.push(of(
            &format!("book/{language}/error/result.html"),
            "Result - Docs",
            "Result".to_owned(),
        ));
    }
    pages
}

#[test]
#[ignore = "slow"]
fn a_page_about_a_term_ranks_before_pages_that_mention_it() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for (url, page) in documentation() {
        store(&spool, &url, &page);
    }
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    for (query, want) in [
        ("Vec", "std/vec/struct.Vec.html"),
        ("vec", "std/vec/struct.Vec.html"),
        ("Vec push", "std/vec/struct.Vec.html"),
        ("String", "std/string/struct.String.html"),
        ("HashMap entry", "std/map/struct.HashMap.html"),
        ("Result", "std/result/enum.Result.html"),
        ("char", "std/primitive.char.html"),
        ("std::vec", "std/vec/index.html"),
    ] {
        let found = hits(&index, query, &Filter::default()).items;
        let found: Vec<_> = found.iter().map(|item| item.place.url()).take(3).collect();
        assert!(found.contains(&&*format!("https://doc.example.org/{want}")), "{query}: {found:?}");
    }
}
