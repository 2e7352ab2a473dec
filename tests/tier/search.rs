//! Search in the pages of all nodes.

use serde_json::Value;

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin};

fn search(node: &Daemon, arguments: &str) -> Value {
    let response = node.api("GET", &format!("/api/search?scope=all&{arguments}"), "");
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice(&response.body).unwrap()
}

fn urls(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["url"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn pages_of_other_nodes_are_found_by_their_words() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page = |path: &str, language: &str, title: &str, text: &str| {
        let html = format!(
            "<html lang=\"{language}\"><head><title>{title}</title></head><body><p>{text}</p></body></html>"
        );
        origin.say(&format!("http://{path}"), Answer::html(html));
    };
    page("h.example/houses", "de", "Häuser", "Viele alte Häuser stehen am Hafen.");
    page("h.example/running", "en", "Sport", "She was running home.");
    page("other.example/tea", "en", "Green tea", "How tea is made.");
    page("h.example/private", "en", "Secret tea", "tea for one person");
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    for path in ["h.example/houses", "h.example/running", "other.example/tea"] {
        assert_eq!(a.get(&format!("http://{path}")).status, 200);
    }
    a.client().get_with("http://h.example/private", "Cookie: a=b\r\n").whole();
    pushed(&a, &engines, 3);
    b.up();
    connected(&b);
    // The forms of a word in its language, and words as they are written.
    for (words, want) in [
        ("q=Haus", &["http://h.example/houses"][..]),
        ("q=run", &["http://h.example/running"]),
        ("q=%22green+tea%22", &["http://other.example/tea"]),
        ("q=tea&host=h.example", &[]),
        ("q=tea+-green", &[]),
        ("q=sport+OR+green&type=page", &["http://h.example/running", "http://other.example/tea"]),
        ("q=tea&type=image", &[]),
    ] {
        let found = search(&b, words);
        let mut urls = urls(&found);
        urls.sort_unstable();
        assert_eq!(urls, want, "{words}: {found}");
    }
    let found = search(&b, "q=Haus");
    let hit = &found["hits"][0];
    assert_eq!((&hit["title"], &hit["status"]), (&Value::from("Häuser"), &Value::from(200)));
    let (text, marks) = (hit["snippet"]["text"].as_str().unwrap(), &hit["snippet"]["marks"]);
    let at = |index: usize| usize::try_from(marks[0][index].as_u64().unwrap()).unwrap();
    assert_eq!(&text[at(0)..at(1)], "Häuser");
    // Only the pages of this node.
    let here = b.api("GET", "/api/search?q=Haus", "");
    assert!(here.text().contains("\"hits\":[]"), "{}", here.text());
    // Without words: the newest pages, page by page.
    let first = search(&b, "limit=2");
    assert_eq!(urls(&first), ["http://other.example/tea", "http://h.example/running"]);
    let rest = search(&b, &format!("limit=2&after={}", first["next"].as_str().unwrap()));
    assert_eq!((urls(&rest), rest.get("next")), (vec!["http://h.example/houses"], None));
    // The page offers both, and its hits can be read.
    b.ok(&["offline"]);
    let shown = b.page("/search/?q=Haus&scope=all").text();
    assert!(shown.contains("<option value=\"all\" selected=\"selected\">"), "{shown}");
    assert!(shown.contains("http://h.example/houses") && shown.contains("<mark>"), "{shown}");
    assert!(b.get("http://h.example/houses").text().contains("Hafen"));
    // A replaced page is found by its new words only.
    page("h.example/running", "en", "Sport", "She was swimming.");
    let reload = "Cache-Control: no-cache\r\n";
    a.client().get_with("http://h.example/running", reload).whole();
    crate::harness::eventually("the new words are found", || {
        urls(&search(&b, "q=swim")) == ["http://h.example/running"]
    });
    assert!(urls(&search(&b, "q=run")).is_empty());
    a.ok(&["rm", "http://h.example/running"]);
    crate::harness::eventually("a deleted page is not found", || {
        urls(&search(&b, "q=swim")).is_empty()
    });
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn hostile_words_and_missing_engines_get_an_answer() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("<p>tea</p>"));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    for words in
        ["%27%3B+DROP+TABLE+x%3B", "%22%22%22", "%26%7C%21%28", "-tea", "%00tea", "%EF%BF%BF"]
    {
        search(&a, &format!("q={words}"));
    }
    for bad in ["q=tea&after=x", "q=tea&after=99999999", "q=tea&type=wrong", "limit=x"] {
        assert_eq!(a.api("GET", &format!("/api/search?scope=all&{bad}"), "").status, 400, "{bad}");
    }
    engines.kill_postgres();
    a.tells("the catalogue of the archive tier cannot be used");
    assert_eq!(a.api("GET", "/api/search?scope=all&q=tea", "").status, 503);
    let shown = a.page("/search/?q=tea&scope=all").shown();
    assert!(shown.contains("The archive tier cannot be searched now"), "{shown}");
    crate::harness::eventually("this node is searched alone", || {
        a.page("/search/?q=tea").text().contains("http://h.example/page")
    });
}

#[test]
fn without_a_tier_there_are_no_other_nodes() {
    let daemon = Daemon::start();
    assert_eq!(daemon.api("GET", "/api/search?scope=all&q=tea", "").status, 400);
    assert!(!daemon.page("/search/").text().contains("name=\"scope\""));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn the_hosts_of_all_nodes_are_listed_a_page_at_a_time() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    for path in ["c.example/1", "a.example/1", "a.example/2", "b.example:8080/1"] {
        let url = format!("http://{path}");
        origin.say(&url, Answer::html("page"));
        assert_eq!(a.get(&url).status, 200);
    }
    pushed(&a, &engines, 4);
    b.up();
    connected(&b);
    let list = |arguments: &str| {
        let path = format!("/api/index?what=hosts&scope=all&{arguments}");
        let response = b.api("GET", &path, "");
        assert_eq!(response.status, 200, "{}", response.text());
        let found: Value = serde_json::from_slice(&response.body).unwrap();
        let hosts = found["hosts"].as_array().unwrap().iter();
        let hosts: Vec<_> = hosts
            .map(|host| (host["host"].as_str().unwrap().to_owned(), host["entries"].as_u64()))
            .collect();
        (hosts, found["next"].clone())
    };
    let host = |name: &str, entries| (name.to_owned(), Some(entries));
    let (first, next) = list("limit=2");
    assert_eq!(first, [host("a.example", 2), host("b.example:8080", 1)]);
    assert_eq!(next, "b.example:8080");
    assert_eq!(list("limit=2&after=b.example:8080"), (vec![host("c.example", 1)], Value::Null));
    let page = b.page("/index/hosts?scope=all").text();
    assert!(page.contains("Hosts of all nodes") && page.contains("2 entries"), "{page}");
    let link = "/search/?scope=all&amp;host=b.example:8080";
    assert!(page.contains(link), "{page}");
    let entries = b.page("/search/?scope=all&host=b.example%3A8080").text();
    assert!(entries.contains("http://b.example:8080/1"), "{entries}");
    assert_eq!(b.api("GET", "/api/index?what=sites&scope=all", "").status, 400);
}
