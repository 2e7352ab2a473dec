//! The pages below `/index/`: lists of stored pages, with sorting, selection and several pages.

use crate::harness::chromium::Chromium;
use crate::harness::form::{form, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually, heavy};
use crate::security::owners;
use crate::site::browser::browser;

fn browsed(origin: &Origin, pages: usize) -> Daemon {
    let daemon = Daemon::start();
    for number in 0..pages {
        let path = format!("/{number:03}.html");
        let title = format!("<title>Page {number} &lt;script&gt;</title>");
        origin.say(&path, Answer::html(title));
        assert_eq!(daemon.get(&origin.url(&path)).status, 200);
    }
    daemon
}

/// The HTML of the list at `path`. Waits until it contains `has`.
#[track_caller]
pub(crate) fn list(daemon: &Daemon, path: &str, has: &str) -> String {
    let mut text = String::new();
    eventually(&format!("{path} has {has:?}"), || {
        text = daemon.page(path).text();
        text.contains(has)
    });
    text
}

fn host(origin: &Origin) -> String {
    origin.url("").trim_start_matches("http://").trim_end_matches('/').to_owned()
}

#[test]
fn every_list_of_urls_links_to_their_options() {
    let origin = Origin::start();
    let html = "<title>Tea</title><p>black tea<a href=/gone>gone</a>";
    origin.say("/tea", Answer::html(html).field("Cache-Control", "max-age=600"));
    let daemon = Daemon::start();
    let [stored, gone, queued] = ["/tea", "/gone", "/tea-later"].map(|path| origin.url(path));
    daemon.run(&["get", "-r", "1", &stored]);
    daemon.ok(&["monitor", "add", "--daily", &stored]);
    daemon.ok(&["offline"]);
    daemon.browse(&queued);
    for (path, urls) in [
        (format!("/index/http/{}", host(&origin)), vec![&stored]),
        ("/queue/".to_owned(), vec![&queued]),
        ("/monitor/".to_owned(), vec![&stored]),
        ("/search/?q=tea".to_owned(), vec![&stored, &queued]),
        ("/fetches/".to_owned(), vec![&stored, &gone]),
        (format!("/history/?{stored}"), vec![&stored]),
    ] {
        for url in urls {
            let text = list(&daemon, &path, &format!("/configuration/url?{url}\""));
            assert!(text.contains(">Configure</a>"), "{path}");
        }
    }
    daemon.ok(&["online"]);
    list(&daemon, "/index/lastout", &format!("/configuration/url?{queued}\""));
}

#[test]
#[ignore = "slow"]
fn links_lead_to_every_stored_entry() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 120);
    let host = host(&origin);
    let root = list(&daemon, "/index/", "lasttime");
    for link in ["/index/all?sort=stored", "/index/sites", "/index/http\"", "/index/lasttime"] {
        assert!(unescape(&root).contains(link), "{link} in {root}");
    }
    let hosts = unescape(&list(&daemon, "/index/http", "120 entries"));
    let path = format!("/index/http/{host}");
    assert!(hosts.contains(&path), "{path} in {hosts}");
    // The list has three pages of at most fifty entries. Each entry is on one of them.
    let (mut at, mut seen) = (format!("{path}?sort=name"), Vec::new());
    let mut ats: Vec<String> = Vec::new();
    for page in 0..3 {
        let text = unescape(&list(&daemon, &at, "Page"));
        let urls = text.split("name=\"url\" value=\"").skip(1);
        seen.extend(urls.map(|rest| rest.split('"').next().unwrap().to_owned()));
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let linked = |to: &str| {
            let (before, _) = text.rsplit_once(&format!("\" rel=\"{to}\">"))?;
            let link = before.rsplit_once("http://").unwrap().1.split_once('/').unwrap().1;
            Some(format!("/{link}"))
        };
        // The link to the previous page leads to the page from which the reader came.
        assert_eq!(linked("prev"), (page > 0).then(|| ats[page - 1].clone()), "page {page}");
        assert_eq!(linked("next").is_some(), page < 2, "page {page}");
        ats.push(at.clone());
        let Some(next) = linked("next") else { break };
        at = next;
    }
    let mut want: Vec<_> =
        (0..120).map(|number| origin.url(&format!("/{number:03}.html"))).collect();
    assert_eq!(seen, want);
    seen.dedup();
    want.clear();
    let found = list(&daemon, "/index/all?text=/007", "Page 7");
    assert!(found.contains("Page 7 &lt;script&gt;") && !found.contains("008.html"), "{found}");
    // The address of 2.9 for the list of a URL's host.
    let led = daemon.page(&format!("/index/url?{}", origin.url("/005.html")));
    assert_eq!((led.status, led.field("Location")), (303, path.as_str()));
    assert_eq!(daemon.page("/index").field("Location"), "/index/");
    assert_eq!(daemon.page("/index/gopher").status, 404);
}

#[test]
fn selected_entries_are_deleted_pinned_or_refreshed() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 3);
    let path = format!("/index/http/{}?sort=name", host(&origin));
    let text = list(&daemon, &path, "Page 2");
    let send = |action: &str, chosen: &[&str]| {
        let mut sent = form(&text, action).without("url");
        for path in chosen {
            sent = sent.and("url", &origin.url(path));
        }
        daemon.submit(&sent)
    };
    let none = send("/control/delete-multiple/url", &[]);
    assert!(
        none.status == 422 && none.shown().contains("Nothing was selected"),
        "{}",
        none.shown()
    );
    assert!(none.shown().contains(&format!("{path}\"")), "no link back: {}", none.shown());
    let done = send("/control/pin-multiple", &["/000.html"]);
    assert_eq!(done.status, 303);
    assert!(done.field("Location").starts_with("/index/http/"), "{done:?}");
    assert!(daemon.ok(&["pin"]).contains(&origin.url("/000.html")));
    daemon.ok(&["offline"]);
    let form_answer = format!("/000.html?!POST:{}", "0".repeat(64));
    assert_ne!(send("/control/refresh-multiple", &[&form_answer]).status, 303);
    let chosen = ["/000.html", &form_answer, "/001.html"];
    assert_eq!(send("/control/refresh-multiple", &chosen).status, 303);
    let mut queued = daemon.queued();
    queued.sort();
    assert_eq!(queued, [origin.url("/000.html"), origin.url("/001.html")]);
    assert_eq!(send("/control/delete-multiple/url", &["/001.html", "/002.html"]).status, 303);
    assert_eq!(daemon.get(&origin.url("/000.html")).status, 200);
    for gone in ["/001.html", "/002.html"] {
        assert_ne!(daemon.get(&origin.url(gone)).status, 200, "{gone}");
    }
    eventually("it is no longer listed", || !daemon.page(&path).text().contains("Page 2"));
    // A form without the token has no effect.
    let bare = form(&text, "/control/delete-multiple/url").without("token");
    assert_eq!(daemon.submit(&bare.with("url", &origin.url("/000.html"))).status, 403);
    assert_eq!(daemon.get(&origin.url("/000.html")).status, 200);
}

#[test]
fn users_see_only_their_own_and_public_entries() {
    let origin = Origin::start();
    origin.say("/mine", Answer::html("<title>Ada's</title>").field("Set-Cookie", "a=b"));
    let daemon = owners::daemon();
    owners::get(&daemon, "ada", &origin.url("/mine"), "");
    let all = |user: &str| {
        let login = owners::login("Proxy-Authorization", user);
        daemon.client().get_with(&daemon.own("/index/all"), &login).whole().text()
    };
    eventually("ada sees it", || all("ada").contains("Ada"));
    assert!(!all("bob").contains("/mine"), "{}", all("bob"));
}

#[test]
#[ignore = "needs chromium"]
fn a_person_finds_and_deletes_a_page_without_scripts() {
    let program = browser();
    let _alone = heavy();
    let origin = Origin::start();
    let daemon = browsed(&origin, 2);
    list(&daemon, "/index/all", "Page 1");
    for size in ["--window-size=360,800", "--window-size=1280,800"] {
        let mut browser = Chromium::start_with(&program, &daemon, &[size]);
        browser.open(&daemon.own("/index/all"));
        let wide = "document.documentElement.scrollWidth <= window.innerWidth";
        assert_eq!(browser.value(wide), serde_json::json!(true), "{size}: content is cut off");
    }
    let mut browser = Chromium::start(&program, &daemon);
    browser.open(&daemon.own("/index/all?sort=name"));
    browser.value("document.querySelector('input[name=url]').click(), 0");
    let text = browser.press("[...document.querySelectorAll('button')].at(-1)", "Everything saved");
    eventually("the list is without it", || {
        browser.open(&daemon.own("/index/all?sort=name"));
        let text = browser.until("true", "the list");
        !text.contains("Page 0") && text.contains("Page 1")
    });
    assert!(text.contains("Everything saved"));
}
