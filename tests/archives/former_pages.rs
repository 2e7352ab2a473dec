//! A large spool of WWWOFFLE 2.9 with pages of every kind: each is served as 2.9 stored it.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::harness::old_spool::{OldPage, OldSpool, Way, form, recursive};
use crate::harness::site::{gzip, noise};
use crate::harness::{Client, Daemon, Response, Trust, eventually};

const WAYS: [Way; 3] = [Way::Browsed, Way::Fetched, Way::Purged];

/// Hosts as 2.9 spells them.
const HOSTS: [&str; 4] =
    ["www.example.org", "www.example.org:8000", "192.0.2.7", "[2001:db8:0:0:0:0:0:7]:81"];

/// Paths and arguments as 2.9 spells them.
const PATHS: [&str; 20] = [
    "/",
    "/index.html",
    "/a/b/c.html",
    "/a%20b.html",
    "/caf%C3%A9",
    "/latin-%E9",
    "/~user/",
    "/semi;colon=1",
    "/(round)",
    "/two//slashes",
    "/plus+sign",
    "/percent%25",
    "/colon:at%40",
    "/q?a=b&c=d",
    "/q?a=b;c=d",
    "/q?x=a+b",
    "/q?x=%C3%BC",
    "/q?url=http://h/",
    "/q?word",
    "/q?a=/1?2",
];

/// Paths and arguments as 2.9 spells them, and as browsers do.
const SPELLINGS: [(&str, &str); 7] = [
    ("/colon:at%40", "/colon:at@"),
    ("/q?url=http://h/", "/q?url=http%3A%2F%2Fh%2F"),
    ("/~user/", "/%7Euser/"),
    ("/caf%C3%A9", "/caf%c3%a9"),
    ("/(round)", "/%28round%29"),
    ("/q?x=%C3%BC", "/q?x=%c3%bc"),
    ("/q?x=a+b", "/q?x=a%20b"),
];

const HTML: &str =
    "<!DOCTYPE html><html><head><title>T</title></head><body><a href='x'>x</a></body>";

/// Every page of the spool that can be read again.
fn pages() -> Vec<OldPage> {
    let mut pages = Vec::new();
    for (number, host) in HOSTS.iter().enumerate() {
        for (at, path) in PATHS.iter().enumerate() {
            let url = format!("http://{host}{path}");
            let way = WAYS[(number + at) % 3];
            pages.push(OldPage { way, ..OldPage::new(&url, format!("{HTML}{url}")) });
        }
    }
    for length in [500, 3_000] {
        let long = "l".repeat(length);
        pages.push(OldPage::new(format!("http://long.example/{long}"), "long path"));
        pages.push(OldPage::new(format!("http://long.example/?{long}"), "long arguments"));
    }
    for way in WAYS {
        for (kind, body) in bodies() {
            let url = format!("http://{way:?}.kinds.example/{}", pages.len()).to_lowercase();
            let fields = vec![("Date", DATE.to_owned()), ("Content-Type", kind.to_owned())];
            pages.push(OldPage { fields, way, ..OldPage::new(url, body) });
        }
        pages.extend(statuses(way));
        pages.extend(fields(way));
        for (scheme, path) in [("https", "/"), ("https", "/a?b=c"), ("ftp", "/pub/"), ("ftp", "/x")]
        {
            let url = format!("{scheme}://{way:?}.{scheme}.example{path}").to_lowercase();
            pages.push(OldPage { way, ..OldPage::new(&url, format!("{HTML}{url}")) });
        }
    }
    // 2.9 compresses only bodies without a coding.
    for way in [Way::Browsed, Way::Fetched] {
        let url = format!("http://{way:?}.kinds.example/a.tar.gz").to_lowercase();
        let page = OldPage { way, ..OldPage::new(url, gzip(&noise(9, 5_000))) };
        pages.push(page.field("Content-Encoding", "x-gzip"));
    }
    // 2.9 did not request chunks, and the origin sent them.
    let page = OldPage::new("http://browsed.kinds.example/chunks", "in a chunk");
    pages.push(page.field("Transfer-Encoding", "chunked"));
    // The origin sent these bodies compressed. 2.9 stored them decoded, with their compressed length.
    for (name, body) in [("short", "<p>"), ("long", &*"<p>".repeat(1_000))] {
        let sent = gzip(body.as_bytes()).len();
        let page = OldPage::new(format!("http://fetched.kinds.example/{name}"), body);
        let page = page.field("Content-Length", sent.to_string()).field("Vary", "Accept-Encoding");
        pages.push(OldPage { way: Way::Fetched, ..page });
    }
    pages.push(OldPage::new("finger://finger.example/ada", "Login: ada"));
    pages.push(OldPage::new("finger://finger.example/", "nobody"));
    for (at, page) in pages.iter_mut().enumerate() {
        page.time += at as u64 * 60;
    }
    pages
}

const DATE: &str = "Fri, 11 Jan 2008 00:00:00 GMT";

/// Media types and bodies.
fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let mut bodies = Vec::new();
    for length in [0, 1, 700, 150_000] {
        bodies.push(("application/octet-stream", noise(length as u64, length)));
        bodies.push(("image/gif", [b"GIF89a", &noise(1, length)[..]].concat()));
        bodies.push(("text/html; charset=iso-8859-1", b"<p>caf\xe9\r\n".repeat(length / 10)));
        bodies.push(("text/html;charset=UTF-8", "<p>café\n".repeat(length / 10).into_bytes()));
        bodies.push(("text/css", "p { margin: 0 }\n".repeat(length / 16).into_bytes()));
        bodies.push(("application/x-javascript", "f();\n".repeat(length / 5).into_bytes()));
        bodies.push(("application/xhtml+xml", "<p/>".repeat(length / 4).into_bytes()));
        bodies.push(("text/plain", b"\0\xff\r\n\r\nHTTP/1.0 200 OK\r\n\r\n".repeat(length / 20)));
    }
    bodies
}

/// Responses with each status that is more than an answer to one request.
fn statuses(way: Way) -> Vec<OldPage> {
    let statuses = [
        (200, ""),
        (200, "FTP Proxy OK"),
        (203, "Non-Authoritative Information"),
        (300, "Multiple Choices"),
        (301, "Moved Permanently"),
        (302, "Found"),
        (303, "See Other"),
        (307, "Temporary Redirect"),
        (400, "Bad Request"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (406, "Not Acceptable"),
        (410, "Gone"),
        (414, "Too Long"),
    ];
    let page = |(at, status): (usize, (u16, &'static str))| {
        let url = format!("http://{way:?}.status.example/{at}").to_lowercase();
        let page = OldPage { status, way, ..OldPage::new(url, format!("{HTML}{}", status.0)) };
        match status.0 {
            301..=303 | 307 => page.field("Location", "http://elsewhere.example/?a=b"),
            _ => page,
        }
    };
    statuses.into_iter().enumerate().map(page).collect()
}

/// Responses with fields that forbid to store or to reuse them, which 2.9 ignored, and others.
fn fields(way: Way) -> Vec<OldPage> {
    let fields: [&[(&'static str, &str)]; 14] = [
        &[("Cache-Control", "no-store, must-revalidate"), ("Pragma", "no-cache")],
        &[("Cache-Control", "private,max-age=0"), ("Expires", "0")],
        &[("Set-Cookie", "a=b; path=/"), ("Set-Cookie", "c=d")],
        &[("Vary", "*")],
        &[("Vary", "User-Agent,Accept-Language,Cookie")],
        &[("ETag", "\"x\""), ("Last-Modified", "Mon, 01 Jan 2001 00:00:00 GMT")],
        &[("ETag", "W/\"x\""), ("Accept-Ranges", "bytes")],
        &[("Date", "Fri, 32 Foo 2008"), ("Expires", "Thu, 01 Jan 1970 00:00:00 GMT")],
        &[("Content-Language", "de,fr"), ("Content-Location", "other.html")],
        &[("Content-Disposition", "attachment; filename=\"caf\u{e9}.txt\"")],
        &[("X-Empty", ""), ("X-Long", "long"), ("Link", "<a>; rel=next,<b>; rel=prev")],
        &[("Refresh", "5; URL=http://elsewhere.example/"), ("P3P", "CP=\"NOI\"")],
        &[("Warning", "110 old"), ("Age", "7"), ("Via", "1.0 other")],
        &[("WWW-Authenticate", "Basic realm=\"x\""), ("Allow", "GET")],
    ];
    let page = |(at, fields): (usize, &&[(&'static str, &str)])| {
        let url = format!("http://{way:?}.fields.example/{at}").to_lowercase();
        let page = OldPage { way, ..OldPage::new(url, HTML) };
        fields.iter().fold(page, |page, (name, value)| page.field(name, *value))
    };
    fields.iter().enumerate().map(page).collect()
}

/// Pages behind a login, with the login.
fn logins() -> Vec<(OldPage, (&'static str, &'static str))> {
    let mut pages = Vec::new();
    for (login, pair) in [
        ("ada:secret", ("ada", "secret")),
        ("ada%40home:p%3A%40%20ss", ("ada@home", "p:@ ss")),
        ("d%C3%A9j%C3%A0:vu", ("déjà", "vu")),
    ] {
        for (scheme, path) in [("http", "/"), ("http", "/a?b=c"), ("ftp", "/private")] {
            let url = format!("{scheme}://{login}@{scheme}.login.example{path}");
            pages.push((OldPage::new(&url, format!("for {}: {path}", pair.0)), pair));
        }
    }
    pages
}

/// Responses to forms.
fn answers() -> Vec<OldPage> {
    let mut pages = Vec::new();
    for (method, url) in [
        ("POST", "http://forms.example/send"),
        ("POST", "http://forms.example/send?a=b&c=d"),
        ("PUT", "http://forms.example/file"),
        ("POST", "https://forms.example/send"),
    ] {
        for body in ["q=1", "q=2"] {
            pages.push(OldPage::new(form(method, url, body), format!("{method} {body}")));
        }
    }
    pages
}

/// The part of a URL before the login, and the part after it.
pub(super) fn without_login(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let host = rest.find('/').unwrap();
    let start = rest[..host].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[start..])
}

/// Reads a page as a browser or a program does, also one of HTTPS.
fn read(daemon: &Daemon, trust: &Trust, url: &str, fields: &str) -> Response {
    let fields =
        format!("Accept-Encoding: gzip\r\nUser-Agent: t\r\nAccept-Language: en\r\n{fields}");
    let Some(rest) = url.strip_prefix("https://") else {
        return daemon.client().get_with(url, &fields).whole();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let target = format!("{host}:443");
    let mut client = Client::connect_tls(daemon.addr(), &target, host, trust.tls()).unwrap();
    client.get_path(host, path, &fields).whole()
}

/// The differences between a stored page and the response for it.
fn differences(page: &OldPage, got: &Response) -> Vec<String> {
    let mut found = Vec::new();
    if got.status != page.status.0 {
        found.push(format!("status {}, stored {}", got.status, page.status.0));
    }
    if got.body != page.body {
        found.push(format!("{} bytes, stored {}", got.body.len(), page.body.len()));
    }
    // A stored response sets no cookie again, and the codings are those of the transfer.
    let is_left_out =
        |name: &str| ["Content-Length", "Set-Cookie", "Transfer-Encoding"].contains(&name);
    for (name, _) in page.fields.iter().filter(|(name, _)| !is_left_out(name)) {
        let is_same = |(other, _): &&(&str, String)| other == name;
        // The client reads each byte as a character.
        let latin = |(_, value): &(&str, String)| value.bytes().map(char::from).collect();
        let want: Vec<String> = page.fields.iter().filter(is_same).map(latin).collect();
        let got = got.fields.all(name);
        // These three describe the way, so the proxy adds to them.
        let is_kept = match *name {
            "Age" | "Via" | "Warning" => !got.is_empty(),
            _ => got == want,
        };
        if !is_kept {
            found.push(format!("{name} {got:?}, stored {want:?}"));
        }
    }
    found.into_iter().map(|one| format!("{:?} {}: {one}", page.way, page.url)).collect()
}

#[test]
#[ignore = "slow"]
fn every_page_of_a_large_spool_is_served_as_it_was_stored() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    let old = OldSpool::new(daemon.home().join("old"));
    let (pages, logins, answers) = (pages(), logins(), answers());
    let all = pages.iter().chain(logins.iter().map(|(page, _)| page)).chain(&answers);
    all.clone().for_each(|page| drop(old.store(page)));
    let told = daemon.run(&["import", "--json", old.root.to_str().unwrap()]).json();
    assert_eq!(
        (&told["kept"], &told["refused"]),
        (&all.clone().count().into(), &0.into()),
        "{told:#}"
    );

    let mut wrong = Vec::new();
    for page in pages.iter().chain(&answers) {
        wrong.extend(differences(page, &read(&daemon, &trust, &page.url, "")));
    }
    for (old, new) in SPELLINGS {
        let page = pages.iter().find(|page| page.url == format!("http://{}{old}", HOSTS[0]));
        let url = format!("http://{}{new}", HOSTS[0]);
        wrong.extend(differences(page.unwrap(), &read(&daemon, &trust, &url, "")));
    }
    for (page, (user, password)) in &logins {
        let url = without_login(&page.url);
        let asked = read(&daemon, &trust, &url, "");
        if asked.status != 401 || !asked.field("WWW-Authenticate").starts_with("Basic realm=") {
            wrong.push(format!("{url}: {} without the login", asked.status));
        }
        let login = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let fields = format!("Authorization: Basic {login}\r\n");
        wrong.extend(differences(page, &read(&daemon, &trust, &url, &fields)));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(daemon.queued().is_empty(), "{:?}", daemon.queued());

    // Every page is in the lists.
    let listed = |list: &str| -> BTreeSet<String> {
        let lines = daemon.run(&["ls", "--json", list]).lines();
        lines.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect()
    };
    let wanted = |begin: &str| -> BTreeSet<String> {
        let urls = all.clone().map(|page| without_login(&page.url).replace(IPV6.0, IPV6.1));
        urls.filter(|url| url.starts_with(begin)).collect()
    };
    for (list, begin) in [
        ("http", "http:"),
        ("https", "https:"),
        ("ftp", "ftp:"),
        ("finger", "finger:"),
        ("http/www.example.org", "http://www.example.org/"),
        ("http/www.example.org:8000", "http://www.example.org:8000/"),
    ] {
        assert_eq!(listed(list), wanted(begin), "{list}");
    }
    let index = daemon.page("/index/ftp/browsed.ftp.example").text();
    assert!(index.contains("href=\"/ftp/browsed.ftp.example/pub/\""), "{index}");
}

/// The address in [`HOSTS`] as 2.9 and as this program spell it.
const IPV6: (&str, &str) = ("[2001:db8:0:0:0:0:0:7]", "[2001:db8::7]");

/// A time in 2008, in seconds.
pub(super) const BEGIN: u64 = 1_200_000_000;

#[test]
fn the_response_that_2_9_stored_last_is_the_current_one() {
    let daemon = Daemon::configured("[caching]\nkeep-versions = 5\n");
    daemon.ok(&["offline"]);
    let old = OldSpool::new(daemon.home().join("old"));
    let page = |url: &str, body: &str, time| OldPage { time, ..OldPage::new(url, body) };
    // A reload in the same session: the list still has the first response.
    let twice = "http://a.example/twice";
    let first = page(twice, "first", BEGIN);
    old.store(&first);
    old.list("lasttime", BEGIN - 10, &first);
    old.store(&page(twice, "second", BEGIN + 60));
    // The origin failed, so a message is in place of the page.
    let failed = page("http://a.example/failed", "before", BEGIN);
    old.store(&failed);
    old.back_up(&failed, "Remote Host Error");
    // The download broke off.
    let broken = page("http://a.example/broken", "half", BEGIN).field("Content-Length", "2000");
    old.store(&OldPage { way: Way::Fetched, ..broken });
    let told = daemon.run(&["import", "--json", old.root.to_str().unwrap()]).json();
    let counts = ["kept", "older", "same", "refused"].map(|name| told[name].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 0, 2], "{told:#}");
    for (url, body) in [(twice, "second"), (&failed.url, "before")] {
        assert_eq!(daemon.get(url).text(), body);
    }
    let versions = daemon.run(&["history", "--json", twice]).json()["versions"].clone();
    assert_eq!(versions.as_array().unwrap().len(), 2, "{versions}");
    let reasons: Vec<_> = told["refusals"].as_array().unwrap().iter().collect();
    assert!(reasons.iter().any(|one| one["reason"] == "it is incomplete"), "{told:#}");
    assert!(reasons.iter().any(|one| one["reason"] == "it is a message page of WWWOFFLE"));
}

#[test]
fn damaged_files_are_refused_and_the_rest_is_imported() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let old = OldSpool::new(daemon.home().join("old"));
    let page = |name: &str| OldPage::new(format!("http://a.example/{name}"), name);
    old.store(&page("good"));
    for (name, content) in [
        ("empty", &b""[..]),
        ("begun", b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n"),
        // 2.9 takes the first line of such a response for the status line.
        ("http-0.9", b"<HTML> 200 \r\n\r\n<p>"),
        ("no-gzip", b"HTTP/1.0 200 OK\r\nPragma: wwwoffle-compressed\r\n\r\nplain"),
    ] {
        std::fs::write(old.store(&page(name)), content).unwrap();
    }
    let lost = old.store(&page("lost"));
    std::fs::remove_file(OldSpool::url_file(&lost)).unwrap();
    std::fs::write(OldSpool::url_file(&old.store(&page("other"))), "http://a.example/x").unwrap();
    std::fs::create_dir(lost.with_file_name("DABCDEFGHIJKLMNOPQRSTUV")).unwrap();
    let told = daemon.run(&["import", "--json", old.root.to_str().unwrap()]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = told.json();
    assert_eq!((&told["kept"], &told["refused"]), (&1.into(), &7.into()), "{told:#}");
    assert_eq!(daemon.get("http://a.example/good").text(), "good");
    assert_eq!(daemon.get("http://a.example/empty").status, 504);
}

#[test]
fn the_lists_of_the_last_sessions_are_imported() {
    import_sessions(true);
}

#[test]
fn the_lists_of_the_last_sessions_are_imported_without_a_daemon() {
    import_sessions(false);
}

fn import_sessions(is_running: bool) {
    let mut daemon = Daemon::start();
    let old = OldSpool::new(daemon.home().join("old"));
    let page = |name: &str, time| {
        let page = OldPage { time, ..OldPage::new(format!("http://a.example/{name}"), name) };
        old.store(&page);
        page
    };
    page("before", BEGIN);
    old.list("prevtime1", BEGIN + 100, &page("first", BEGIN + 110));
    old.list("prevtime1", BEGIN + 100, &page("second", BEGIN + 120));
    old.list("lasttime", BEGIN + 200, &page("third", BEGIN + 210));
    old.fetch("prevout2", BEGIN + 105, "http://a.example/asked/first", BEGIN + 50);
    let tree = recursive("http://a.example/asked/tree", "depth=1");
    old.fetch("prevout1", BEGIN + 150, &tree, BEGIN + 140);
    old.fetch("lastout", BEGIN + 205, "http://a.example/asked/third", BEGIN + 190);
    old.fetch("lastout", BEGIN + 205, "http://a.example/asked/second", BEGIN + 180);
    eventually("the daemon has begun a session", || {
        let state = std::fs::read_to_string(daemon.spool().join("state")).unwrap_or_default();
        state.contains("online-sessions")
    });
    if !is_running {
        daemon.down();
    }
    let told = daemon.ok(&["import", old.root.to_str().unwrap()]);
    assert!(told.contains("4 requests in the lists of earlier sessions"), "{told}");
    let listed = |list: &str| daemon.ok(&["ls", "--sort", "name", list]);
    // The daemon has begun a session itself, so each list is one further back.
    for (list, names) in
        [("lasttime", &[][..]), ("prevtime1", &["third"]), ("prevtime2", &["first", "second"])]
    {
        let listed = listed(list);
        assert_eq!(listed.lines().count(), names.len(), "{list}: {listed}");
        for name in names {
            assert!(listed.contains(&format!("http://a.example/{name}")), "{list}: {listed}");
        }
    }
    for (list, names) in
        [("lastout", &[][..]), ("prevout1", &["second", "third"]), ("prevout2", &["first", "tree"])]
    {
        // The index is written in the background.
        let mut told = String::new();
        eventually(&format!("{list} has its requests"), || {
            told = daemon.ok(&["ls", list]);
            told.lines().count() == names.len()
        });
        let urls = names.iter().map(|name| told.find(&format!("http://a.example/asked/{name}")));
        let places: Vec<_> = urls.map(|place| place.expect(list)).collect();
        assert!(places.is_sorted(), "the oldest first: {told}");
    }
}
