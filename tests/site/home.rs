//! The home page and the control page: their content, who sees it, and their buttons.

use std::sync::Arc;

use crate::harness::form::{Form, form, forms, unescape};
use crate::harness::{Answer, Daemon, Gate, Origin, eventually};
use crate::security::owners;
use crate::site::own_pages::without_our_script;

/// An image of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// A site with a page, and with these bytes as its icon.
fn site(title: &str, kind: &str, icon: &[u8]) -> Origin {
    let origin = Origin::start();
    origin.say("/page", Answer::html(format!("<title>{title}</title><p>Something to read.")));
    origin.say("/favicon.ico", Answer::new(200, kind, icon));
    origin
}

/// The home page. Waits until it contains `text`.
#[track_caller]
fn home_with(daemon: &Daemon, text: &str) -> String {
    let mut home = String::new();
    eventually("the stored pages are on the page", || {
        let page = daemon.page("/").whole();
        assert_eq!(page.status, 200);
        assert!(page.body.len() < 100_000, "{}", page.body.len());
        home = unescape(&page.text());
        home.contains(text)
    });
    home
}

#[test]
fn the_home_page_explains_the_setup_and_later_lists_stored_pages() {
    let (daemon, origin) = (Daemon::start(), site("Green tea", "image/png", PNG));
    let first = home_with(&daemon, "Set up the browser");
    assert!(first.contains("/proxy.pac") && !first.contains("Recently saved"), "{first}");
    assert_eq!(daemon.get(&origin.url("/favicon.ico")).status, 200);
    assert_eq!(daemon.get(&origin.url("/page")).status, 200);
    let later = home_with(&daemon, "Green tea");
    assert!(!later.contains("/proxy.pac") && later.contains("just now"), "{later}");
    assert!(later.contains("<img src=\"data:image/png;base64,iVBORw0KGgo"), "{later}");
    assert!(later.contains("free") && later.contains("<svg class=\"space\""), "{later}");
    assert!(home_with_help(&daemon).contains("/proxy.pac"));
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/page")).status, 200);
    let figures = home_with(&daemon, "Saved copies used today</span> <b>1</b>");
    for figure in [
        "Entries</span> <b>2</b>",
        "Sites</span> <b>1</b>",
        "Waiting</span> <b>0</b>",
        "Saved today</span> <b>2</b>",
        "1 of 3 requests in the last 14 days were answered from the spool.",
        "<svg class=\"chart\"",
    ] {
        assert!(figures.contains(figure), "{figure} in {figures}");
    }
    let address = daemon.page("/search/?q=http%3A%2F%2Fa.example%2Fx");
    let leads_to = (address.status, address.field("Location"));
    assert_eq!(leads_to, (303, "/info/?http://a.example/x"));
    let bare = |words: &str| daemon.page(&format!("/search/?q={words}")).whole();
    let there = origin.url("/page");
    let kept = bare(there.trim_start_matches("http://"));
    assert_eq!((kept.status, kept.field("Location")), (303, &*format!("/info/?{there}")));
    let words = bare("nothing.example%2Fx");
    assert!(words.status == 200 && words.text().contains("No saved page matches these words."));
    // The last word may be the beginning of one. While a person types, the titles alone are shown.
    let begun = bare("gre").shown();
    assert!(begun.contains("value=\"gre*\"") && begun.contains("Green"), "{begun}");
    let typing = bare("gre&live=link").shown();
    let (_, titles) = typing.split_once("<ul data-live=\"titles\">").unwrap();
    assert!(titles.contains("<mark>Green</mark> tea") && titles.contains(&there), "{titles}");
    assert!(titles.contains("<img src=\"data:image/png"), "{titles}");
    let only_not = bare("-milk").shown();
    assert!(only_not.contains("Enter at least one word"), "{only_not}");
    // The page loads nothing from other sites.
    let policy = daemon.page("/").field("Content-Security-Policy").to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("img-src data:"), "{policy}");
}

#[test]
fn the_size_limit_is_a_line_in_the_chart() {
    let daemon = Daemon::configured("[purge]\nmax-size = \"2 GB\"\n");
    let home = home_with(&daemon, "to which a purge reduces the spool: 2.0 GB");
    assert!(home.contains("<path class=\"most\" d=\"M"), "{home}");
    let unbounded = Daemon::configured("[purge]\nmax-size = \"none\"\n");
    let home = home_with(&unbounded, "<svg class=\"space\"");
    assert!(
        !home.contains("a purge reduces the spool") && !home.contains("class=\"most\""),
        "{home}"
    );
}

fn home_with_help(daemon: &Daemon) -> String {
    daemon.page("/?help=1").whole().shown()
}

#[test]
#[ignore = "slow"]
fn invalid_or_long_icons_are_not_shown_and_titles_are_escaped() {
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let mut long = PNG.to_vec();
    long.resize(5_000, 0);
    let title = "</a><script>alert(1)</script>\u{202e}evil";
    for (kind, icon) in
        [("image/png", &svg[..]), ("image/svg+xml", svg), ("image/png", &long), ("image/png", b"")]
    {
        let (daemon, origin) = (Daemon::start(), site(title, kind, icon));
        daemon.get(&origin.url("/favicon.ico"));
        daemon.get(&origin.url("/page"));
        home_with(&daemon, "evil");
        let page = daemon.page("/").whole();
        let text = without_our_script(&page.text());
        assert!(!text.contains("<img") && !text.contains("<script"), "{kind}: {text}");
        assert!(!text.contains('\u{202e}'), "{text}");
    }
    // An icon with a wrong media type is recognised by its bytes.
    let (daemon, origin) = (Daemon::start(), site("Tea", "text/html", PNG));
    daemon.get(&origin.url("/favicon.ico"));
    daemon.get(&origin.url("/page"));
    assert!(home_with(&daemon, "Tea").contains("<img src=\"data:image/png;base64,"));
}

#[test]
fn the_home_page_shows_users_their_own_entries() {
    let (daemon, origin) = (owners::daemon(), site("Secret tea", "image/png", PNG));
    let read = |user: &str| {
        let (mut client, fields) = (daemon.client(), owners::login("Authorization", user));
        client.send(format!("GET / HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
        unescape(&client.receive("GET").whole().text())
    };
    let private = "Cookie: id=1\r\n";
    assert_eq!(owners::get(&daemon, "ada", &origin.url("/page"), private).status, 200);
    assert_eq!(owners::get(&daemon, "ada", &origin.url("/favicon.ico"), private).status, 200);
    eventually("ada's page is listed", || read("ada").contains("Secret tea"));
    assert!(read("ada").contains("<img src=\"data:image/png"));
    daemon.ok(&["offline"]);
    owners::get(&daemon, "ada", &origin.url("/later"), "");
    let (ada, bob) = (read("ada"), read("bob"));
    assert!(ada.contains("1 request waiting"), "{ada}");
    assert!(bob.contains("Nothing waiting.") && bob.contains("0 entries saved"), "{bob}");
    assert!(!bob.contains("Secret tea") && !bob.contains("<img"), "{bob}");
}

#[test]
fn the_home_page_shows_the_last_fetch_and_failures() {
    let origin = Origin::start();
    let mut daemon = Daemon::configured("[fetch-options]\nattempts = 1\n");
    origin.say("/oops", Answer::new(500, "text/html", "oops"));
    daemon.ok(&["offline"]);
    assert!(!daemon.page("/").shown().contains("Last fetch"));
    origin.say("/plain", Answer::html("nothing else"));
    for path in ["/plain", "/oops"] {
        daemon.browse(&origin.url(path));
    }
    daemon.ok(&["online"]);
    eventually("all is settled", || daemon.queue().iter().all(|item| item["state"] == "failed"));
    let told = "1 fetched, 1 failed.";
    eventually("it is reported", || daemon.page("/").shown().contains(told));
    let home = daemon.page("/").shown();
    assert!(home.contains("1 request failed.") && home.contains("/queue/?state=failed\""));
    daemon.restart();
    // The result of the last fetch is saved, so it survives a restart.
    eventually("it is reported after a restart, too", || daemon.page("/").shown().contains(told));
}

#[test]
fn a_faulty_configuration_is_reported_and_reloaded_by_a_button() {
    let daemon = Daemon::configured("[options]\nlog-level = \"info\"\n");
    assert!(!daemon.page("/").shown().contains("has errors"));
    std::fs::write(daemon.config_file(), "[options]\nlog-level = 7\n").unwrap();
    let home = daemon.page("/").shown();
    assert!(home.contains("has errors") && home.contains("/configuration/\""), "{home}");
    let reload = form(&daemon.page("/control/").text(), "/control/reload");
    let done = daemon.submit(&reload);
    assert_eq!((done.status, done.field("Location")), (303, "/configuration/"));
    assert!(daemon.page("/configuration/").shown().contains("log-level"));
    std::fs::write(daemon.config_file(), "[options]\nlog-level = \"debug\"\n").unwrap();
    assert_eq!(daemon.submit(&reload).status, 303);
    assert!(!daemon.page("/").shown().contains("has errors"));
    assert!(daemon.ok(&["config", "get", "options.log-level"]).contains("debug"));
}

#[test]
fn the_control_page_has_all_buttons_and_links_ask_first() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/page/1.html"));
    assert_eq!(daemon.page("/control").field("Location"), "/control/");
    for (path, to) in [("/control/status", "/"), ("/control/edit", "/configuration/")] {
        assert_eq!(daemon.page(path).field("Location"), to, "{path}");
    }
    let control = daemon.page("/control/").whole();
    assert_eq!(control.status, 200);
    for mode in ["online", "offline", "autodial", "auto"] {
        assert_eq!(form(&control.text(), &format!("/control/{mode}")).method, "POST");
    }
    // A link to the address of a button, as in old bookmarks, leads to a page with the button and
    // does not press it.
    for path in ["/control/online", "/control/fetch", "/control/config", "/control/hold"] {
        let asks = daemon.page(path).whole();
        assert_eq!((asks.status, asks.text().matches("<form").count()), (200, 1), "{path}");
        assert_eq!(daemon.status()["mode"], "offline", "{path}");
    }
    let online = form(&daemon.page("/control/online").text(), "/control/online");
    assert_eq!(daemon.submit(&online.clone().without("token")).status, 403);
    assert_eq!(daemon.submit(&online.clone().with("token", "x")).status, 403);
    assert_eq!(daemon.status()["mode"], "offline");
    assert_eq!(daemon.submit(&online).status, 303);
    assert_eq!(daemon.status()["mode"], "online");
    for path in ["/control/retry", "/control/pin"] {
        assert_eq!(daemon.page(path).status, 405, "{path}");
    }
}

#[test]
fn fetching_is_paused_and_resumed() {
    let (daemon, origin) = (Daemon::configured("[fetch-options]\nat-once = 1\n"), Origin::start());
    let gate = Gate::new();
    let shut = Arc::clone(&gate);
    origin.on("/slow", move |exchange| {
        shut.wait();
        exchange.answer(&Answer::html("slow"))
    });
    daemon.ok(&["offline"]);
    for path in ["/slow", "/page/1.html", "/page/2.html"] {
        daemon.browse(&origin.url(path));
    }
    daemon.ok(&["online"]);
    eventually("the first is in progress", || origin.count("/slow") == 1);
    let hold = |page: &str| -> Option<Form> {
        let text = daemon.page(page).text();
        forms(&text).into_iter().find(|form| form.action.ends_with("/control/hold"))
    };
    assert!(hold("/").is_some() && hold("/control/").is_some());
    assert_eq!(daemon.submit(&hold("/").unwrap()).status, 303);
    eventually("the others wait", || {
        daemon.page("/queue/").shown().contains("until the next fetch of the queue")
    });
    gate.open();
    assert_eq!(origin.count("/page/1.html"), 0);
    let fetch = form(&daemon.page("/control/").text(), "/control/fetch");
    assert_eq!(daemon.submit(&fetch).status, 303);
    eventually("all is fetched", || daemon.queue().is_empty());
}
