//! The stored versions of a page. They are read by Memento (RFC 7089) under the page's own URL, on
//! our pages, by the command line and by programs. They are also restored and removed.

use serde_json::{Value, json};
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::client::Response;
use crate::harness::daemon::AS_PERSON;
use crate::harness::form::{encode, form, forms};
use crate::harness::{Answer, Daemon, Origin};
use crate::security::owners::{get, users};

/// The months of the stored responses. Each response arrived on the first day of its month and
/// contains the number of the month.
pub(crate) const MONTHS: [u8; 3] = [1, 2, 3];

pub(crate) fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

fn came(month: u8) -> Timestamp {
    format!("2026-{month:02}-01T12:00:00Z").parse().unwrap()
}

fn date(text: &str) -> String {
    let time: Timestamp = text.parse().unwrap();
    httpdate::fmt_http_date(time.into())
}

/// Stores a response for each month of [`MONTHS`], as a daemon would have done at that time.
pub(crate) fn history(daemon: &Daemon, place: &Place, fields: &str, body: impl Fn(u8) -> Vec<u8>) {
    heads(daemon, place, body, |month| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nLast-Modified: {}\r\nETag: \"{month}\"\r\n\
             {fields}\r\n",
            httpdate::fmt_http_date(came(month).into())
        )
    });
}

/// Like [`history`], with other response heads.
fn heads(
    daemon: &Daemon,
    place: &Place,
    body: impl Fn(u8) -> Vec<u8>,
    head: impl Fn(u8) -> String,
) {
    let options = Options {
        durability: Durability::Each,
        versions: Versions::from_rule(|_| 9),
        ..Options::default()
    };
    let (spool, _) = Spool::open(daemon.spool(), &options).unwrap();
    for month in MONTHS {
        let head = head(month);
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
        let (asked, when, head) = (came(month), came(month), head.into_bytes());
        let new = NewEntry { asked, when, head, request, connection: None };
        let mut writer = spool.begin(place, new).unwrap();
        writer.write(&body(month)).unwrap();
        writer.finish(None).unwrap();
    }
}

pub(crate) fn text(month: u8) -> Vec<u8> {
    format!("<title>T</title><p>one<p>month {month}<p>three").into_bytes()
}

/// Requests the version of a page at `time` through the proxy.
fn at(daemon: &Daemon, url: &str, time: &str, fields: &str) -> Response {
    let fields = format!("Accept-Datetime: {}\r\n{fields}", date(time));
    daemon.client().get_with(url, &fields).whole()
}

fn listed(daemon: &Daemon, url: &str) -> Vec<Value> {
    let told = daemon.run(&["history", "--json", url]).json();
    told["versions"].as_array().unwrap().clone()
}

#[test]
fn a_request_with_a_time_gets_the_version_of_that_time() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let url = origin.url("/page");
    history(&daemon, &place(&url), "Set-Cookie: a=b\r\nCache-Control: max-age=99999999\r\n", text);
    daemon.up();
    for mode in ["online", "autodial", "offline"] {
        daemon.ok(&[mode]);
        for (time, month) in [
            ("2026-02-15T00:00:00Z", 2),
            ("2026-02-01T12:00:00Z", 2),
            ("2026-02-01T11:59:59Z", 1),
            ("2026-03-01T12:00:00Z", 3),
            ("2030-01-01T00:00:00Z", 3),
            ("1999-01-01T00:00:00Z", 1),
        ] {
            // The request is sent twice, since the second response may come from memory.
            for _ in 0..2 {
                let answer = at(&daemon, &url, time, "");
                assert_eq!((answer.status, &answer.body), (200, &text(month)), "{mode} {time}");
                let came = date(&came(month).to_string());
                assert_eq!(answer.field("Memento-Datetime"), came);
                assert!(answer.field("Cache-Status").contains("hit; detail=memento"));
                assert!(answer.fields.all("Vary").contains(&"accept-datetime"));
                assert_eq!(answer.field("Set-Cookie"), "");
                let link = answer.fields.all("Link").join(", ");
                for want in [
                    format!("<{url}>; rel=\"original timegate\""),
                    "/history/timemap/?".to_owned(),
                    format!("rel=\"memento\"; datetime=\"{came}\""),
                ] {
                    assert!(link.contains(&want), "{want} in {link}");
                }
                // The current page is requested in between.
                let now = daemon.get(&url);
                assert_eq!((now.body, now.fields.get("Memento-Datetime")), (text(3), None));
            }
        }
    }
    assert_eq!(origin.count("/page"), 0, "the origin was asked for an old version");
    assert!(daemon.queue().is_empty());
}

#[test]
fn older_versions_are_offered_for_a_missing_page() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let url = origin.url("/page");
    history(&daemon, &place(&url), "", text);
    // The test acts as if the file of the current version were damaged. The files of older versions
    // have their date in the name.
    let is_current = |path: &std::path::PathBuf| {
        let is_entry = path.extension().is_some_and(|end| end == "warc");
        is_entry && !path.file_stem().unwrap().to_string_lossy().contains('.')
    };
    let files = crate::harness::files(&daemon.spool().join("http"));
    let current: Vec<_> = files.into_iter().filter(is_current).collect();
    assert_eq!(current.len(), 1, "{current:?}");
    std::fs::remove_file(&current[0]).unwrap();
    daemon.up();
    daemon.ok(&["offline"]);
    let missing = daemon.browse(&url);
    let list = format!("/history/?{url}");
    assert!(missing.status == 504 && missing.shown().contains(&list), "{}", missing.shown());
    let all = daemon.page(&list);
    let months = |text: &str| text.matches("/history/version/?").count();
    assert!(months(&all.shown()) >= 2, "{}", all.shown());
    let told = listed(&daemon, &url);
    assert!(told.iter().all(|one| one["present"] == false) && told.len() == 2, "{told:?}");
    assert_eq!(daemon.ok(&["cat", "--at", "2026-02-15", &url]).as_bytes(), text(2));
    let newest = told[0]["stored"].as_str().unwrap();
    let page = daemon.page(&format!("/history/version/?url={url}&at={newest}"));
    assert_eq!((page.status, page.text().contains("month 2")), (200, true), "{}", page.text());
    let restore = form(&all.text(), "/control/history/restore");
    assert_eq!(daemon.submit(&restore).status, 303);
    let back = daemon.browse(&url);
    assert!(back.status == 200 && back.text().contains("month"), "{}", back.text());
}

#[test]
fn an_older_version_is_never_served_as_the_current_page() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let url = origin.url("/page");
    history(&daemon, &place(&url), "", text);
    daemon.up();
    daemon.ok(&["offline"]);
    let may = "2026-01-15T00:00:00Z";
    // The client's copy is newer than the requested version. This must not lead to a 304.
    let since = format!("If-Modified-Since: {}\r\n", date("2026-03-01T12:00:00Z"));
    assert_eq!(at(&daemon, &url, may, &since).status, 200);
    assert_eq!(at(&daemon, &url, may, "If-None-Match: \"3\"\r\n").status, 200);
    let same = at(&daemon, &url, may, "If-None-Match: \"1\"\r\n");
    assert_eq!((same.status, same.field("ETag")), (304, "\"1\""));
    assert!(same.fields.all("Vary").contains(&"accept-datetime"));
    let part = at(&daemon, &url, may, "Range: bytes=0-6\r\n");
    assert_eq!((part.status, &*part.text()), (206, "<title>"));
    let mut client = daemon.client();
    client.send(crate::harness::client::request(
        "HEAD",
        &url,
        &format!("Accept-Datetime: {}\r\n", date(may)),
    ));
    let head = client.receive("HEAD");
    assert_eq!((head.status, head.field("ETag")), (200, "\"1\""));
    for wrong in ["yesterday", "2026-01-15T00:00:00Z", ""] {
        let fields = format!("Accept-Datetime: {wrong}\r\n");
        assert_eq!(daemon.client().get_with(&url, &fields).status, 400, "{wrong}");
    }
    assert_eq!(daemon.get(&url).body, text(3));
    assert_eq!(listed(&daemon, &url).len(), 3, "reading has stored an entry");
}

#[test]
fn missing_pages_and_web_archives_ignore_the_requested_time() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (new, archive) = (origin.url("/new"), origin.url("/archive"));
    origin.say("/new", Answer::html("new"));
    origin.on("/archive", |exchange| {
        let asked = exchange.seen.fields.get("Accept-Datetime").unwrap_or("now").to_owned();
        let answer = Answer::html(asked).field("Vary", "Accept-Datetime");
        exchange.answer(&answer.field("Cache-Control", "max-age=1000"))
    });
    let answer = at(&daemon, &new, "2026-01-15T00:00:00Z", "");
    assert_eq!((answer.status, &*answer.text()), (200, "new"));
    assert_eq!(answer.fields.get("Memento-Datetime"), None);
    daemon.settle();
    // Now the page is stored, as its first version.
    let again = at(&daemon, &new, "2026-01-15T00:00:00Z", "");
    assert!(again.fields.get("Memento-Datetime").is_some() && origin.count("/new") == 1);
    daemon.get(&archive);
    daemon.settle();
    let dated = at(&daemon, &archive, "2026-01-15T00:00:00Z", "");
    assert_eq!(dated.text(), date("2026-01-15T00:00:00Z"));
    assert_eq!(daemon.get(&archive).text(), "now");
}

#[test]
fn pages_the_api_and_the_command_list_the_same_versions() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let url = origin.url("/page?a=b&c");
    history(&daemon, &place(&url), "Set-Cookie: a=hunter2\r\nRefresh: 0; url=/x\r\n", text);
    // The same command without a daemon.
    let told = daemon.run(&["history", "--json", &url]).json();
    daemon.up();
    assert_eq!(daemon.run(&["history", "--json", &url]).json(), told);
    let path = format!("/api/history?url={}", encode(&url));
    let api: Value = serde_json::from_slice(&daemon.api("GET", &path, "").body).unwrap();
    assert_eq!(api, told);
    let versions = told["versions"].as_array().unwrap();
    let months: Vec<_> = versions.iter().map(|one| one["received"].as_str().unwrap()).collect();
    assert_eq!(months, ["2026-03-01T12:00:00Z", "2026-02-01T12:00:00Z", "2026-01-01T12:00:00Z"]);
    assert_eq!((&versions[0]["present"], &versions[1]["present"]), (&json!(true), &json!(false)));
    let plain = daemon.ok(&["history", &url]);
    assert!(
        plain.contains("now 2026-03-01T12:00:00Z  200") && plain.contains("same length as before")
    );
    let cat = daemon.ok(&["cat", "--at", "2026-02-15", &url]);
    assert_eq!(cat.as_bytes(), text(2));
    assert_eq!(daemon.ok(&["cat", "--at", "2026-02-01T12:00:00Z", &url]).as_bytes(), text(2));
    assert_eq!(daemon.run(&["cat", "--at", "soon", &url]).status, 2);

    let page = daemon.page(&format!("/history/?{}", encode(&url)));
    let shown = page.shown();
    for want in ["the current copy", "1 line added, 1 line removed", "2026-02-01"] {
        assert!(shown.contains(want), "{want} in {shown}");
    }
    let diff = daemon.page(&format!(
        "/history/diff/?url={}&from={}&to={}",
        encode(&url),
        versions[2]["stored"].as_str().unwrap(),
        versions[0]["stored"].as_str().unwrap()
    ));
    assert!(diff.status == 200 && diff.shown().contains("month 1"), "{}", diff.shown());

    let map = daemon.page(&format!("/history/timemap/?{}", encode(&url)));
    assert_eq!((map.status, map.field("Content-Type")), (200, "application/link-format"));
    let map = map.text();
    assert_eq!(map.matches("memento\"; datetime=").count(), 3, "{map}");
    // Each address in the map shows the version in a sandbox.
    for (link, month) in map.split("/history/version/").skip(1).zip(MONTHS) {
        let path = format!("/history/version/{}", link.split('>').next().unwrap());
        let version = daemon.page(&path);
        assert_eq!(version.status, 200, "{path}");
        let base = format!("<base href=\"{}\">", url.replace('&', "&amp;"));
        assert_eq!(version.text(), format!("{base}{}", String::from_utf8(text(month)).unwrap()));
        assert_eq!(version.field("Memento-Datetime"), date(&came(month).to_string()));
        let policy = version.field("Content-Security-Policy");
        assert!(policy.starts_with("sandbox;") && policy.contains("script-src 'none'"), "{policy}");
        assert_eq!(version.field("Cross-Origin-Resource-Policy"), "same-origin");
        for gone in ["Set-Cookie", "Refresh"] {
            assert_eq!(version.field(gone), "", "{gone}");
        }
    }
    assert_eq!(origin.count("/page?a=b&c"), 0);
}

#[test]
fn changes_are_marked_in_the_page_itself() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let (url, plain) = (origin.url("/page"), origin.url("/plain"));
    history(&daemon, &place(&url), "Content-Security-Policy: style-src 'none'\r\n", text);
    heads(&daemon, &place(&plain), text, |_| {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_owned()
    });
    daemon.up();
    let path = |url: &str, from: usize, to: usize| {
        let versions = listed(&daemon, url);
        let at = |number: usize| versions[number]["stored"].as_str().unwrap().to_owned();
        let path = format!("/history/marked/?url={}&from={}&to={}", encode(url), at(from), at(to));
        // The form of the history does not know the time of the sub-resources.
        let page = daemon.page(&path);
        assert_eq!(page.status, 303, "{path}");
        page.field("Location").to_owned()
    };
    let page = daemon.page(&path(&url, 2, 0));
    assert_eq!((page.status, page.field("Content-Type")), (200, "text/html; charset=utf-8"));
    let policy = page.field("Content-Security-Policy");
    assert!(policy.starts_with("sandbox;") && policy.contains("script-src 'none'"), "{policy}");
    assert_eq!(page.field("X-Frame-Options"), "DENY");
    let text = page.text();
    for want in [
        &format!("<base href=\"{url}\">"),
        "<p>month <del class=\"wwwoffle-removed\">1</del> <ins class=\"wwwoffle-added\">3</ins><p>three",
        "1 word added, 1 word removed",
    ] {
        assert!(text.contains(want), "{want} in {text}");
    }
    // From the list of versions, and backwards.
    let list = daemon.page(&format!("/history/?{}", encode(&url))).text();
    assert!(list.contains("/history/marked/?url=") && list.contains("&amp;from="), "{list}");
    // Without the newest one.
    let skipped = daemon.page(&format!("/history/?url={}&skip=1", encode(&url))).text();
    assert!(skipped.contains("value=\"0\">Newer versions<"), "{skipped}");
    assert!(list.contains("the current copy") && !skipped.contains("the current copy"));
    let text = daemon.page(&path(&url, 0, 1)).text();
    assert!(text.contains("3</del> <ins class=\"wwwoffle-added\">2</ins>"), "{text}");
    let page = daemon.page(&path(&plain, 1, 0));
    assert!(page.shown().contains("is not a web page"), "{}", page.shown());
    for (from, status, want) in
        [("2026-01-01T00:00:00Z", 404, "no version of that time"), ("x", 400, "expected a time")]
    {
        let page = daemon.page(&format!("/history/marked/?url={}&from={from}", encode(&url)));
        assert_eq!(page.status, status, "{from}");
        assert!(page.shown().contains(want), "{}", page.shown());
    }
}

/// Changed responses are kept as versions without any configuration, except long ones.
#[test]
fn some_older_versions_are_stored_by_default() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page");
    for body in
        ["1".to_owned(), "2".repeat(1_000_001), "3".into(), "4".into(), "5".into(), "6".into()]
    {
        origin.say("/page", Answer::html(body));
        daemon.ok(&["get", "--refresh", &url]);
        daemon.settle();
    }
    let bytes: Vec<_> = listed(&daemon, &url).iter().map(|one| one["bytes"].clone()).collect();
    assert_eq!(bytes, [1, 1, 1, 1]);
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page");
    for length in [1_000_001, 1] {
        origin.say("/page", Answer::html("x".repeat(length)));
        daemon.ok(&["get", "--refresh", &url]);
        daemon.settle();
    }
    assert_eq!(listed(&daemon, &url).len(), 1, "the long one is gone");
}

#[test]
fn a_missing_older_version_is_reported() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page/1.html");
    daemon.get(&url);
    daemon.settle();
    for path in ["/monitor/diff/", "/history/diff/"] {
        let page = daemon.page(&format!("{path}?{}", encode(&url)));
        assert_eq!(page.status, 404, "{path}");
        assert!(page.shown().contains("no version of that time is saved"), "{}", page.shown());
    }
    let none = encode("http://nobody.example/");
    for (path, status, want) in [
        (format!("/history/?{none}"), 200, "It is not saved"),
        (format!("/history/diff/?{none}"), 404, "not saved"),
        (format!("/history/version/?{none}"), 404, "not saved"),
        (format!("/history/timemap/?{none}"), 404, "not saved"),
        ("/history/".to_owned(), 200, "Versions of a page"),
        ("/history/diff/".to_owned(), 400, "expected a URL"),
        ("/history/version/?url=http://a/&at=x".to_owned(), 400, "expected a time"),
        ("/history/?http://a:99999/".to_owned(), 400, "Enter the address of a page"),
    ] {
        let page = daemon.page(&path);
        assert_eq!(page.status, status, "{path}");
        assert!(page.shown().contains(want), "{path}: {}", page.shown());
    }
    let ran = daemon.run(&["history", "http://nobody.example/"]);
    assert!(ran.status == 1 && ran.out.contains("it is not stored"), "{ran:?}");
}

#[test]
fn a_version_is_restored_and_removed_only_by_our_own_buttons() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let url = origin.url("/page");
    history(&daemon, &place(&url), "", text);
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).body, text(3));
    let list = || daemon.page(&format!("/history/?{}", encode(&url))).text();
    let buttons = |part: &str| -> Vec<_> {
        forms(&list()).into_iter().filter(|form| form.action.contains(part)).collect()
    };
    let restore = buttons("/control/history/restore");
    assert_eq!(restore.len(), 2, "the current version has none");
    let oldest = restore[1].clone();
    assert_eq!(daemon.submit(&oldest.clone().without("token")).status, 403);
    assert_eq!(daemon.submit(&oldest.clone().without("at")).status, 400);
    let gone = daemon.submit(&oldest.clone().with("at", "2000-01-01T00:00:00Z"));
    assert_eq!((gone.status, daemon.get(&url).body), (400, text(3)));
    let done = daemon.submit(&oldest);
    assert_eq!(done.status, 303, "{}", done.text());
    assert!(done.field("Location").starts_with("/history/?"));
    assert_eq!(daemon.get(&url).body, text(1), "at once, although the other one was in memory");
    let months = |versions: &[Value]| -> Vec<String> {
        versions.iter().map(|one| one["received"].as_str().unwrap()[5..7].to_owned()).collect()
    };
    assert_eq!(months(&listed(&daemon, &url)), ["01", "03", "02"]);
    // The version of that time is still found, whatever the current version is.
    assert_eq!(at(&daemon, &url, "2026-03-15T00:00:00Z", "").body, text(3));

    let remove = buttons("/control/history/delete");
    assert_eq!(daemon.submit(&remove[0]).status, 303);
    assert_eq!(months(&listed(&daemon, &url)), ["01", "02"]);
    let stored = listed(&daemon, &url)[1]["stored"].as_str().unwrap().to_owned();
    let told = daemon.run(&["history", "--restore", &stored, "--json", &url]).json();
    assert_eq!(months(told["versions"].as_array().unwrap()), ["02", "01"]);
    assert_eq!(daemon.get(&url).body, text(2));
    let gone = daemon.run(&["history", "--remove", &stored, &url]);
    assert!(gone.status == 1 && gone.err.contains("no such version"), "{gone:?}");
    let body = json!({"url": url, "stored": "2000-01-01T00:00:00Z"}).to_string();
    assert_eq!(daemon.api("POST", "/api/history/restore", &body).status, 404);
    daemon.kill9();
    daemon.up();
    assert_eq!(daemon.get(&url).body, text(2));
    assert_eq!(months(&listed(&daemon, &url)), ["02", "01"]);
}

#[test]
#[ignore = "slow"]
fn users_cannot_see_versions_of_others() {
    let mut daemon = Daemon::prepare(Some(&users()));
    let origin = Origin::start();
    let url = origin.url("/mine");
    let ada = place(&url).owned_by("user:ada");
    history(&daemon, &ada, "Cache-Control: private\r\n", text);
    daemon.up();
    daemon.ok(&["offline"]);
    let dated = format!("Accept-Datetime: {}\r\n", date("2026-01-15T00:00:00Z"));
    assert_eq!(get(&daemon, "ada", &url, &dated).body, text(1));
    let other = get(&daemon, "bob", &url, &dated);
    assert!(other.status == 504 && !other.text().contains("month 1"), "{}", other.text());
    let own = |user: &str, path: &str| {
        let mut client = daemon.client();
        let login = crate::security::owners::login("Authorization", user);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{login}\r\n", daemon.addr()));
        client.receive("GET").whole()
    };
    let list = format!("/history/?{}", encode(&url));
    assert!(own("ada", &list).shown().contains("the current copy"));
    assert!(own("bob", &list).shown().contains("It is not saved"));
    let stored = daemon.run(&["history", "--json", "--owner", "user:ada", &url]).json();
    let stored = stored["versions"][2]["stored"].as_str().unwrap().to_owned();
    let version = format!("/history/version/?url={}&at={stored}", encode(&url));
    assert_eq!((own("ada", &version).status, own("bob", &version).status), (200, 404));
    let timemap = format!("/history/timemap/?{}", encode(&url));
    assert_eq!((own("ada", &timemap).status, own("bob", &timemap).status), (200, 404));
    // Bob cannot restore the versions of ada either.
    let button = form(&own("ada", &list).text(), "/control/history/restore");
    let fields = |user: &str| {
        let login = crate::security::owners::login("Authorization", user);
        format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n{login}", daemon.addr())
    };
    assert_eq!(daemon.submit_as(&button, &fields("bob")).status, 400);
    assert_eq!(get(&daemon, "ada", &url, "").body, text(3));
    assert_eq!(daemon.submit_as(&button, &fields("ada")).status, 303);
    assert_ne!(get(&daemon, "ada", &url, "").body, text(3));
}

#[test]
fn sub_resources_of_an_old_page_are_of_its_time() {
    let (mut daemon, origin) = (Daemon::prepare(None), Origin::start());
    let (page, style) = (origin.url("/page"), origin.url("/style.css"));
    for url in [&page, &style] {
        history(&daemon, &place(url), "Cache-Control: max-age=99999999\r\n", text);
    }
    daemon.up();
    let list = daemon.page(&format!("/history/?{}", encode(&page))).shown();
    let version = list.split("/history/version/").nth(2).unwrap().split('"').next().unwrap();
    let version = format!("/history/version/{version}");
    let shown = daemon.page(&version);
    assert_eq!((shown.status, shown.field("Referrer-Policy")), (200, "unsafe-url"));
    assert!(shown.text().contains("month 2"), "{}", shown.text());
    let referer = format!("Referer: {}\r\n", daemon.own(&version));
    let part = format!("{referer}Sec-Fetch-Dest: style\r\n");
    let answer = daemon.client().get_with(&style, &part).whole();
    assert_eq!((&answer.body, answer.field("Cache-Control")), (&text(2), "no-store"));
    // A sub-resource arrives after its page. So the version nearest in time is used, not the last
    // one before the page.
    let dated = at(&daemon, &style, "2026-02-28T00:00:00Z", "Sec-Fetch-Dest: style\r\n");
    assert_eq!((dated.body.clone(), dated.field("Cache-Control")), (text(3), "max-age=99999999"));
    // A followed link leads back to the current page, and the origin does not see the referrer.
    let followed = daemon.client().get_with(&style, &format!("{AS_PERSON}{referer}")).whole();
    assert_eq!(followed.fields.get("Memento-Datetime"), None);
    let missing = origin.url("/page/1.html");
    daemon.client().get_with(&missing, &part).whole();
    assert_eq!(origin.asked("/page/1.html")[0].fields.get("Referer"), None);
}

#[test]
fn an_older_redirect_keeps_its_target() {
    let mut daemon = Daemon::prepare(None);
    let url = "http://a.example/dir/page";
    heads(&daemon, &place(url), text, |month| {
        let to = ["http://b.example/", "next?a=b", "//[nowhere"][usize::from(month) - 1];
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Type: text/html\r\n\r\n")
    });
    daemon.up();
    let list = daemon.page(&format!("/history/?{}", encode(url))).shown();
    let links: Vec<&str> = list.split("/history/version/").skip(1).collect();
    let mut seen = Vec::new();
    for link in links {
        let version = format!("/history/version/{}", link.split('"').next().unwrap());
        let shown = daemon.page(&version.replace("&amp;", "&"));
        assert_eq!(shown.status, 302, "{version}");
        let to = shown.fields.get("Location").map(str::to_owned);
        if !seen.contains(&to) {
            seen.push(to);
        }
    }
    let want = [None, Some("http://a.example/dir/next?a=b"), Some("http://b.example/")];
    assert_eq!(seen, want.map(|to| to.map(str::to_owned)));
}
