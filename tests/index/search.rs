//! Lists and search: on the command line, over the API and as a page, with a daemon and without
//! one. Each person sees only permitted entries.

use serde_json::Value;

use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::security::owners;

/// A site with a few pages, an image and a missing page.
fn origin() -> Origin {
    let origin = Origin::start();
    let page = |path: &'static str, html: &'static str| {
        origin.on(path, move |exchange| exchange.answer(&Answer::html(html)));
    };
    page(
        "/tea.html",
        "<html lang=en><title>Green tea</title><img src=/leaf.png><a href=/cake.html>cake</a>\
         <p>A leaf and <b>hot</b> water.",
    );
    page("/cake.html", "<title>Cake</title><p>Served with tea &amp; milk.<img src=/leaf.png>");
    page("/tokyo.html", "<meta charset=utf-8><title>東京都</title><p>日本の首都です。");
    origin.on("/leaf.png", |exchange| exchange.answer(&Answer::new(200, "image/png", "png")));
    origin
        .on("/gone.html", |exchange| exchange.answer(&Answer::new(404, "text/html", "<p>No tea")));
    origin
}

const PATHS: [&str; 5] = ["tea.html", "cake.html", "tokyo.html", "leaf.png", "gone.html"];

fn browsed(origin: &Origin) -> Daemon {
    let daemon = Daemon::configured("");
    daemon.ok(&["online"]);
    for path in PATHS {
        let status = if path == "gone.html" { 404 } else { 200 };
        assert_eq!(daemon.get(&origin.url(&format!("/{path}"))).status, status, "{path}");
    }
    daemon
}

/// The rows that the API returns for these arguments.
#[track_caller]
fn index(daemon: &Daemon, arguments: &str) -> Vec<Value> {
    let mut page = Value::Null;
    eventually("the index can be read", || {
        let answer = daemon.api("GET", &format!("/api/index?{arguments}"), "").whole();
        assert!([200, 503].contains(&answer.status), "{arguments}: {}", answer.text());
        page = serde_json::from_slice(&answer.body).unwrap();
        answer.status == 200
    });
    let (_, listed) = page.as_object().unwrap().iter().find(|(name, _)| *name != "next").unwrap();
    listed.as_array().unwrap().clone()
}

fn names(items: &[Value]) -> Vec<String> {
    let name = |item: &Value| item["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    items.iter().map(name).collect()
}

/// Waits until the words of all pages are indexed.
#[track_caller]
fn read(daemon: &Daemon) {
    eventually("all browsed pages are indexed", || {
        let all = index(daemon, "");
        all.len() == PATHS.len() && all.iter().all(|item| item["words"] != "not-yet")
    });
}

#[test]
fn browsed_pages_are_listed_and_found() {
    let origin = origin();
    let daemon = browsed(&origin);
    read(&daemon);
    for (arguments, want) in [
        ("sort=name", &["cake.html", "gone.html", "leaf.png", "tea.html", "tokyo.html"][..]),
        ("sort=stored&limit=2", &["gone.html", "leaf.png"]),
        ("type=image", &["leaf.png"]),
        ("status=4xx", &["gone.html"]),
        ("pages=1&sort=stored", &["gone.html", "tokyo.html", "cake.html", "tea.html"]),
        ("text=GREEN", &["tea.html"]),
        ("what=session&type=image", &["leaf.png"]),
        ("what=session/1", &[]),
        ("what=https", &[]),
        ("host=nowhere.example", &[]),
    ] {
        assert_eq!(names(&index(&daemon, arguments)), want, "{arguments}");
    }
    let tea = &index(&daemon, "text=green")[0];
    assert_eq!((&tea["title"], &tea["language"]), (&"Green tea".into(), &"en".into()));
    let host = &index(&daemon, "what=hosts")[0];
    assert_eq!((host["entries"].as_u64(), host["scheme"].as_str()), (Some(5), Some("http")));
    assert_eq!(index(&daemon, "what=sites").len(), 1);
    for bad in ["sort=up", "what=gopher", "after=x", "status=x", "limit=0"] {
        assert_eq!(daemon.api("GET", &format!("/api/index?{bad}"), "").status, 400, "{bad}");
    }
    // Search by words: over the API, on the command line and as a page.
    let found = |words: &str| {
        let answer = daemon.api("GET", &format!("/api/search?q={words}"), "").whole();
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        names(page["hits"].as_array().unwrap())
    };
    assert_eq!(found("tea"), ["tea.html", "gone.html", "cake.html"]);
    assert_eq!(found("%E4%BA%AC%E9%83%BD"), ["tokyo.html"]);
    assert!(found("coffee").is_empty());
    let told = daemon.ok(&["search", "hot", "water"]);
    assert!(told.contains("/tea.html\n  Green tea\n  cake A leaf and hot water."), "{told}");
    assert_eq!(daemon.run(&["search", "coffee"]).status, 1);
    let page = daemon.page("/search/?q=hot+water").whole().text();
    assert!(page.contains("A leaf and <mark>hot</mark> <mark>water</mark>."), "{page}");
    let none = daemon.page("/search/?q=coffee").whole();
    assert!(none.text().contains("No saved page matches these words."));
    let description = daemon.page("/search/opensearch.xml").whole();
    assert_eq!(description.field("Content-Type"), "application/opensearchdescription+xml");
    assert!(description.text().contains("/search/?q={searchTerms}\""));
}

#[test]
fn a_list_continues_after_the_previous_page() {
    let origin = origin();
    let daemon = browsed(&origin);
    read(&daemon);
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let answer = daemon.api("GET", &format!("/api/index?limit=2&after={after}"), "").whole();
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        all.extend(names(page["entries"].as_array().unwrap()));
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(all, names(&index(&daemon, "")));
    let lines = daemon.run(&["ls", "--sort", "size", "--limit", "3", "--json"]).lines();
    assert_eq!(lines.len(), 3);
}

#[test]
#[ignore = "slow"]
fn a_search_without_a_daemon_has_the_same_results() {
    let origin = origin();
    let mut daemon = browsed(&origin);
    read(&daemon);
    let verbs: [&[&str]; 6] = [
        &["ls", "--sort", "name"],
        &["ls", "--type", "page", "--status", "200", "--sort", "domain"],
        &["ls", "hosts"],
        &["ls", "sites", "--json"],
        &["ls", "session"],
        &["search", "tea"],
    ];
    let with: Vec<_> = verbs.iter().map(|verb| daemon.ok(verb)).collect();
    assert!(with.iter().all(|told| !told.is_empty()), "{with:?}");
    daemon.down();
    let without: Vec<_> = verbs.iter().map(|verb| daemon.ok(verb)).collect();
    assert_eq!(with, without);
    // The index finds changes by other programs.
    let key = daemon.run(&["ls", "--json", "--text", "cake"]).lines()[0]["key"].clone();
    let file = format!("{}.warc", key.as_str().unwrap());
    let path = crate::harness::files(daemon.spool()).into_iter().find(|path| path.ends_with(&file));
    std::fs::remove_file(path.unwrap()).unwrap();
    assert_eq!(daemon.ok(&["reindex", "--changed"]), "done\n");
    assert_eq!(daemon.ok(&["ls", "--sort", "name"]).lines().count(), 4);
    std::fs::remove_file(daemon.spool().join("index.sqlite")).unwrap();
    assert_eq!(daemon.ok(&["reindex"]), "done\n");
    let told = daemon.ok(&["search", "tea"]);
    assert!(told.contains("/tea.html") && !told.contains("/cake.html"), "{told}");
}

#[test]
fn rebuilding_the_index_does_not_change_its_results() {
    let origin = origin();
    let daemon = browsed(&origin);
    read(&daemon);
    let before = names(&index(&daemon, "sort=random"));
    for arguments in [&["reindex"][..], &["reindex", "--changed"]] {
        assert!(daemon.ok(arguments).starts_with("done"));
        assert_eq!(names(&index(&daemon, "sort=random")), before);
    }
    // Over TCP, a call with an invalid token is refused.
    let token = "X-Wwwoffle-Token: x\r\n";
    let url = daemon.own("/api/reindex");
    let asked =
        format!("POST {url} HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 0\r\n\r\n");
    let mut client = daemon.client();
    client.send(asked);
    assert_eq!(client.receive("POST").status, 403);
}

#[test]
fn personal_entries_are_found_by_their_owner_only() {
    let origin = Origin::start();
    origin.on("/mail", |exchange| {
        exchange.answer(
            &Answer::html("<title>Letter</title>Dear Ada").field("Cache-Control", "private"),
        )
    });
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let url = origin.url("/mail");
    assert_eq!(owners::get(&daemon, "ada", &url, "").status, 200);
    eventually("it is in the index", || {
        index(&daemon, "").first().is_some_and(|item| item["words"] == "indexed")
    });
    let asked = |user: &str, path: &str| {
        let login = owners::login("Proxy-Authorization", user);
        daemon.client().get_with(&daemon.own(path), &login).whole().text()
    };
    for path in
        ["/api/index", "/api/index?sort=size", "/api/index?what=hosts", "/api/search?q=dear"]
    {
        let (ada, bob) = (asked("ada", path), asked("bob", path));
        let host = origin.addr.to_string();
        assert!(ada.contains(&host), "{path}: {ada}");
        assert!(!bob.contains(&host), "{path}: {bob}");
    }
    assert!(asked("ada", "/search/?q=dear").contains("<mark>Dear</mark>"));
    assert!(asked("bob", "/search/?q=dear").contains("No saved page matches these words."));
}

#[test]
fn excluded_urls_are_not_listed() {
    let origin = origin();
    let daemon = Daemon::configured(
        "[[index-options.for]]\nurl = \"*://*/tea.html\"\nlist-any = false\n\
         [[index-options.for]]\nurl = \"*://*/cake.html\"\nlist-latest = false\n",
    );
    daemon.ok(&["online"]);
    for path in ["tea.html", "cake.html", "tokyo.html"] {
        daemon.get(&origin.url(&format!("/{path}")));
    }
    eventually("three pages are in the index", || index(&daemon, "all=1").len() == 3);
    assert_eq!(names(&index(&daemon, "")), ["cake.html", "tokyo.html"]);
    assert_eq!(names(&index(&daemon, "what=session")), ["tokyo.html"]);
    assert_eq!(index(&daemon, "what=session&all=1").len(), 3);
}

#[test]
fn excluded_urls_are_not_counted_and_not_on_the_queue_and_monitor_pages() {
    let origin = origin();
    let daemon = Daemon::configured(
        "[[index-options.for]]\nurl = \"*://*/*tea.html\"\nlist-any = false\n\
         [[index-options.for]]\nurl = \"*://*/*cake.html\"\nlist-outgoing = false\n\
         [[index-options.for]]\nurl = \"*://*/*tokyo.html\"\nlist-monitor = false\n",
    );
    daemon.ok(&["online"]);
    for path in ["tea.html", "cake.html", "tokyo.html"] {
        daemon.get(&origin.url(&format!("/{path}")));
    }
    eventually("three pages are in the index", || index(&daemon, "all=1").len() == 3);
    let of_host = daemon.page(&format!("/index/http/{}", origin.addr)).text();
    assert!(of_host.contains("2 entries") && !of_host.contains("3 entries"), "{of_host}");
    daemon.ok(&["offline"]);
    let later = ["/later-tea.html", "/later-cake.html", "/later-tokyo.html"];
    for path in later {
        assert_eq!(daemon.browse(&origin.url(path)).status, 504, "{path}");
    }
    let told = |page: &str| {
        let text = daemon.page(page).text();
        let told: Vec<_> = later.iter().map(|path| text.contains(path)).collect();
        (text, told)
    };
    let (queue, on_it) = told("/queue/");
    assert_eq!(on_it, [false, false, true], "{queue}");
    assert!(queue.contains("1 request waiting"), "{queue}");
    assert_eq!(daemon.queue().len(), 3, "they are fetched anyway");
    for path in later {
        daemon.ok(&["monitor", "add", &origin.url(path)]);
    }
    let (monitor, on_it) = told("/monitor/");
    assert_eq!(on_it, [false, true, false], "{monitor}");
    assert_eq!(daemon.ok(&["monitor", "list"]).matches("/later-").count(), 3);
}

#[test]
fn a_session_ends_when_the_next_begins() {
    let origin = origin();
    let daemon = Daemon::configured("");
    let session = |back: usize| names(&index(&daemon, &format!("what=session/{back}&sort=name")));
    daemon.ok(&["online"]);
    let began = |count: usize| {
        eventually("the session is saved", || {
            let state = std::fs::read_to_string(daemon.spool().join("state")).unwrap();
            let line = state.lines().find(|line| line.starts_with("online-sessions"));
            line.is_some_and(|line| {
                line.split_once('=').unwrap().1.split_whitespace().count() == count
            })
        });
    };
    began(1);
    daemon.get(&origin.url("/tea.html"));
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/cake.html"));
    assert_eq!(daemon.queued().len(), 1);
    daemon.ok(&["online"]);
    began(2);
    daemon.settle();
    eventually("both are in the index", || !session(0).is_empty() && !session(1).is_empty());
    assert_eq!(session(1), ["tea.html"]);
    assert!(session(0).contains(&"cake.html".to_owned()));
    eventually("the requested URLs are known", || {
        names(&index(&daemon, "what=asked")) == ["cake.html"]
    });
}

#[test]
#[ignore = "slow"]
fn a_search_prints_at_most_limit_hits() {
    let place = Daemon::prepare(None);
    let site = place.home().join("mirror/a.example");
    std::fs::create_dir_all(&site).unwrap();
    for number in 0..70 {
        std::fs::write(site.join(format!("{number}.html")), "<title>Tea</title>green").unwrap();
    }
    place.ok(&["import", place.home().join("mirror").to_str().unwrap()]);
    for (limit, count) in [("1", 1), ("60", 60), ("1000", 70)] {
        let told = place.ok(&["search", "--json", "--limit", limit, "tea"]);
        assert_eq!(told.lines().count(), count, "--limit {limit}");
    }
}

#[test]
fn a_hit_shows_the_page_that_its_link_opens() {
    let (daemon, origin) = (Daemon::configured(""), Origin::start());
    for (path, title) in [
        ("/bank?a=1&amp;b=2", "Forged"),
        ("/bank?a=1&amp;amp;b=2", "Newer"),
        ("/bank?a=1&b=2", "Genuine"),
    ] {
        origin.say(path, Answer::html(format!("<title>{title} page</title>")));
    }
    daemon.ok(&["online"]);
    let (url, respelled) = (origin.url("/bank?a=1&b=2"), origin.url("/bank?a=1&amp;b=2"));
    let titles = || {
        let hits = daemon.run(&["search", "--json", "page"]).lines();
        let of = |hit: &Value| (hit["url"].clone(), hit["title"].clone());
        hits.iter().map(of).collect::<Vec<_>>()
    };
    let hit = |title: &str| [(Value::from(url.as_str()), Value::from(format!("{title} page")))];
    daemon.get(&respelled).whole();
    eventually("the only spelling is found", || titles() == hit("Forged"));
    daemon.get(&origin.url("/bank?a=1&amp;amp;b=2")).whole();
    eventually("the newest of two spellings is found", || titles() == hit("Newer"));
    assert_eq!(daemon.ok(&["cat", &url]), "<title>Newer page</title>");
    daemon.get(&url).whole();
    eventually("the canonical spelling is found instead", || titles() == hit("Genuine"));
    assert_eq!(daemon.ok(&["cat", &url]), "<title>Genuine page</title>");
    assert_eq!(daemon.run(&["ls", "--json"]).lines().len(), 3, "lists have all");
}
