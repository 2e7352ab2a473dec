//! Selected entries of a list are exported and monitored. Each address of 2.9 leads to a list.

use std::io::Read as _;

use crate::harness::form::{Form, form};
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::index::index_pages::list;
use crate::index::whole_list::{WHOLE, link};
use crate::security::owners;

fn chosen(html: &str, action: &str, urls: &[&str]) -> Form {
    let form = form(html, action).without("url");
    urls.iter().fold(form, |form, url| form.and("url", url))
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
#[ignore = "slow"]
fn selected_entries_are_exported() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let large = "0123456789abcdef".repeat(100_000);
    for (path, body) in
        [("/one", "<title>One</title>"), ("/two", "<title>Two</title>"), ("/large", &large)]
    {
        origin.say(path, Answer::html(body));
        daemon.get(&origin.url(path));
    }
    let text = list(&daemon, "/index/all", "One");
    let (one, large_url) = (origin.url("/one"), origin.url("/large"));
    let export = |format: &str, urls: &[&str]| {
        daemon.submit(&chosen(&text, &format!("/control/export-multiple/{format}"), urls))
    };
    let warc = export("warc", &[&one, &large_url]);
    assert_eq!((warc.status, warc.field("Content-Type")), (200, "application/gzip"));
    let name = warc.field("Content-Disposition");
    assert!(name.starts_with("attachment; filename=\"wwwoffle-2"), "{name}");
    assert!(name.ends_with(".warc.gz\""), "{name}");
    let records = unpacked(&warc.body);
    assert!(records.contains("<title>One</title>") && records.contains(&large));
    assert!(!records.contains("<title>Two</title>"));
    assert_eq!(records.matches("WARC-Type: response").count(), 2);
    // The archive can be imported.
    let file = daemon.spool().with_file_name("chosen.warc.gz");
    std::fs::write(&file, &warc.body).unwrap();
    let told = daemon.ok(&["import", file.to_str().unwrap()]);
    assert!(!told.is_empty());
    let wacz = export("wacz", &[&one]);
    assert_eq!((wacz.status, wacz.field("Content-Type")), (200, "application/wacz"));
    assert!(
        wacz.body.starts_with(b"PK\x03\x04")
            && wacz.field("Content-Disposition").ends_with(".wacz\"")
    );
    assert_eq!(wacz.field("Content-Length"), wacz.body.len().to_string());
    eventually("nothing is left", || {
        std::fs::read_dir(daemon.spool().join("tmp")).unwrap().next().is_none()
    });
    // There is no archive if no entry is stored, and none without the token.
    assert_eq!(export("warc", &[]).status, 422);
    assert_eq!(export("wacz", &[&origin.url("/never")]).status, 422);
    let bare = chosen(&text, "/control/export-multiple/warc", &[&one]).without("token");
    assert_eq!(daemon.submit(&bare).status, 403);
    // Each export gives back its slot: four exports in a row succeed.
    for _ in 0..4 {
        assert_eq!(export("warc", &[&one]).status, 200);
    }
}

#[test]
fn exports_of_lists_have_the_sub_resources_of_their_pages() {
    let (origin, other) = (Origin::start(), Origin::start());
    let daemon = Daemon::start();
    let page = format!("<title>One</title><link rel=stylesheet href={}>", other.url("/style.css"));
    origin.say("/one", Answer::html(page));
    origin.say("/two", Answer::html("<title>Two</title>"));
    other.say("/style.css", Answer::new(200, "text/css", "@import url(/more.css);"));
    other.say("/more.css", Answer::new(200, "text/css", "b { color: green }"));
    other.say("/unused", Answer::html("<title>Unused</title>"));
    for url in [origin.url("/one"), origin.url("/two"), other.url("/style.css")] {
        daemon.get(&url);
    }
    daemon.get(&other.url("/more.css"));
    daemon.get(&other.url("/unused"));
    let text = list(&daemon, &format!("/index/http/{}", origin.addr), "Two");
    let urls = |body: &[u8]| {
        let text = unpacked(body);
        let records = text.split("WARC-Type: response").skip(1);
        let urls = records.filter_map(|record| {
            record.split_once("WARC-Target-URI: ")?.1.lines().next().map(str::to_owned)
        });
        let mut urls: Vec<_> = urls.collect();
        urls.sort_unstable();
        urls
    };
    let of = |urls: &[String]| {
        let mut urls = urls.to_vec();
        urls.sort_unstable();
        urls
    };
    let (one, two) = (origin.url("/one"), origin.url("/two"));
    let styles = [other.url("/style.css"), other.url("/more.css")];
    let sent = chosen(&text, "/control/export-multiple/warc", &[&one]);
    let want = of(&[&[one.clone()][..], &styles].concat());
    assert_eq!(urls(&daemon.submit(&sent).body), want);
    let text = daemon.page(&link(&text, WHOLE)).text();
    assert!(text.contains("Entries that are saved only for other people are left out"), "{text}");
    let all = daemon.submit(&form(&text, "/control/export-list/warc"));
    assert_eq!((all.status, all.field("Content-Type")), (200, "application/gzip"));
    assert_eq!(urls(&all.body), of(&[&[one, two][..], &styles].concat()));
    let wacz = daemon.submit(&form(&text, "/control/export-list/wacz"));
    assert_eq!((wacz.status, wacz.field("Content-Type")), (200, "application/wacz"));
    let bare = form(&text, "/control/export-list/warc").without("token");
    assert_eq!(daemon.submit(&bare).status, 403);
    let hosts = form(&text, "/control/export-list/warc").with("list", "/index/hosts");
    assert_eq!(daemon.submit(&hosts).status, 422);
}

#[test]
#[ignore = "slow"]
fn personal_entries_are_exported_to_their_owner_only() {
    let origin = Origin::start();
    let answer = Answer::html("<title>Letter</title>Dear Ada");
    origin.say("/mail", answer.field("Cache-Control", "private"));
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let url = origin.url("/mail");
    owners::get(&daemon, "ada", &url, "");
    let login = |user: &str| owners::login("Proxy-Authorization", user);
    let shown = |user: &str, path: &str| {
        daemon.client().get_with(&daemon.own(path), &login(user)).whole().text()
    };
    eventually("ada's list has it", || shown("ada", "/index/all").contains("Letter"));
    let sent = chosen(&shown("ada", "/index/all"), "/control/export-multiple/warc", &[&url]);
    let export = |user: &str| {
        let (body, host) = (sent.body(), daemon.addr());
        let mut client = daemon.client();
        client.send(format!(
            "POST {} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            sent.action,
            login(user),
            body.len()
        ));
        client.receive("POST").whole()
    };
    assert!(unpacked(&export("ada").body).contains("Dear Ada"));
    let other = export("bob");
    assert_eq!(other.status, 422);
    assert!(!other.text().contains("Dear Ada"));
}

#[test]
fn selected_pages_are_monitored_daily() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    for path in ["/one", "/two"] {
        origin.say(path, Answer::html("<title>Page</title>"));
        daemon.get(&origin.url(path));
    }
    let (one, two) = (origin.url("/one"), origin.url("/two"));
    daemon.ok(&["monitor", "add", "--cron", "30 6 * * 1", &one]);
    let text = list(&daemon, "/index/all?sort=name", "Page");
    let form_answer = format!("{one}?!POST:{}", "0".repeat(64));
    let chosen = chosen(&text, "/control/monitor-multiple", &[&one, &form_answer, &two]);
    let done = daemon.submit(&chosen);
    assert_eq!(done.status, 303);
    assert!(done.field("Location").starts_with("/index/all?sort=name"), "{done:?}");
    let page = daemon.page("/monitor/").text();
    // The schedule of an already monitored page stays.
    assert!(page.contains("30 6 * * 1") && page.contains("0 0 * * *"), "{page}");
    assert!(list(&daemon, "/index/all", "monitored").matches("monitored").count() >= 2);
}

#[test]
fn a_list_marks_complete_pages() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let picture =
        |name: &str| format!("<title>{name}</title><img src=/{name}.png srcset=\"/x.png 2x\">");
    for name in ["whole", "torn"] {
        origin.say(&format!("/{name}"), Answer::html(picture(name)));
        daemon.get(&origin.url(&format!("/{name}")));
    }
    origin.say("/whole.png", Answer::new(200, "image/png", "png"));
    daemon.get(&origin.url("/whole.png"));
    // A default icon, and an image for other screens, do not count as missing.
    list(&daemon, "/index/all?sort=name", "1 file missing");
    let text = list(&daemon, "/index/all?sort=name", ">complete</span>");
    let torn = text.split("class=\"row entry\"").find(|row| row.contains("torn</bdi></b>"));
    assert!(torn.is_some_and(|row| row.contains("1 file missing")), "{text}");
    assert_eq!(text.matches(">complete</span>").count(), 1, "{text}");
}

#[test]
#[ignore = "slow"]
fn each_list_address_of_2_9_redirects_to_a_list() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    origin.say("/page", Answer::html("<title>Page</title>"));
    daemon.get(&origin.url("/page"));
    let host = origin.addr.to_string();
    let of_host = format!("/index/http/{host}");
    list(&daemon, &of_host, "Page");
    let sorts = ["none", "mtime", "atime", "dated", "alpha", "domain", "type", "random"];
    let mut paths = [
        "/index/",
        "/index/http",
        "/index/https/",
        "/index/ftp",
        "/index/finger",
        "/index/lasttime",
        "/index/lastout",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend([of_host.clone(), format!("{of_host}/")]);
    paths.extend(
        (1..=7).flat_map(|back| ["time", "out"].map(|of| format!("/index/prev{of}{back}"))),
    );
    for path in &paths {
        for sort in sorts {
            for flags in ["", ";delete;refresh;monitor;all;config;info"] {
                let address = format!("{path}?sort={sort}{flags}");
                assert_eq!(daemon.page(&address).status, 200, "{address}");
            }
        }
        assert_eq!(daemon.page(&format!("{path}?delete&info")).status, 200, "{path}");
    }
    for sort in sorts {
        let address = format!("{of_host}?sort={sort};delete;refresh");
        assert!(daemon.page(&address).text().contains("<bdi>Page</bdi>"), "{address}");
    }
    for (path, to) in [
        ("/index/outgoing?sort=none".to_owned(), "/queue/".to_owned()),
        ("/index/monitor?sort=alpha;delete".to_owned(), "/monitor/".to_owned()),
        (format!("/index/url?{}", origin.url("/page")), of_host),
        ("/index".to_owned(), "/index/".to_owned()),
    ] {
        let led = daemon.page(&path);
        assert_eq!((led.status, led.field("Location")), (303, &*to), "{path}");
    }
    for path in ["/index/gopher", "/index/prevtimex", "/index/http/a/b?sort=nonsense"] {
        assert_eq!(daemon.page(path).status, 404, "{path}");
    }
}
