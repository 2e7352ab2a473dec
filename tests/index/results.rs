//! After an action on selected entries, the list shows the result at once.

use std::time::{Duration, Instant};

use crate::harness::form::{Form, form, unescape};
use crate::harness::{Answer, Daemon, Origin};
use crate::index::index_pages::list;

/// The limit for a response that does not wait for the index. The timeout of that wait is slightly
/// longer.
const IN_TIME: Duration = Duration::from_millis(900);

/// A daemon with stored pages of one host.
fn browsed(origin: &Origin, pages: usize) -> Daemon {
    let daemon = Daemon::start();
    for number in 0..pages {
        let path = format!("/{number:03}.html");
        origin.say(&path, Answer::html(format!("<title>Page {number}</title>")));
        assert_eq!(daemon.get(&origin.url(&path)).status, 200);
    }
    daemon
}

fn chosen(html: &str, action: &str, urls: &[&str]) -> Form {
    let form = form(html, action).without("url");
    urls.iter().fold(form, |form, url| form.and("url", url))
}

/// Sends a form and follows the redirect. Returns the page, and whether the first response took
/// less than [`IN_TIME`]. If it took longer, the index may be out of date, and the page proves
/// nothing.
#[track_caller]
fn followed(daemon: &Daemon, form: &Form) -> (String, bool) {
    let begun = Instant::now();
    let done = daemon.submit(form);
    let took = begun.elapsed();
    assert_eq!(done.status, 303, "{done:?}");
    let page = daemon.page(done.field("Location"));
    assert_eq!(page.status, 200, "{page:?}");
    (unescape(&page.text()), took < IN_TIME)
}

#[test]
#[ignore = "slow"]
fn the_list_after_an_action_is_up_to_date() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 3);
    let text = list(&daemon, "/index/all?sort=name", "Page 2");
    let url = origin.url("/001.html");
    let is_listed = |page: &str| page.contains(&format!("name=\"url\" value=\"{url}\""));
    let delete = chosen(&text, "/control/delete-multiple/url", &[&url]);
    for round in 0..12 {
        let (after, is_level) = followed(&daemon, &delete);
        assert!(!is_level || !is_listed(&after), "round {round}: it is deleted: {after}");
        let (after, is_level) = followed(&daemon, &form(&after, "/control/undo"));
        assert!(!is_level || is_listed(&after), "round {round}: it is restored: {after}");
    }
}

#[test]
fn the_result_of_an_action_is_shown() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 2);
    let text = list(&daemon, "/index/all?sort=name", "Page 1");
    daemon.ok(&["offline"]);
    let urls = [origin.url("/000.html"), origin.url("/001.html")];
    let both: Vec<&str> = urls.iter().map(String::as_str).collect();
    for (action, chosen_urls, told, note) in [
        ("pin", &both[..], "2 entries are pinned and will not be purged.", "pinned"),
        ("monitor", &both[..1], "1 page is <a", "monitored"),
        ("refresh", &both[1..], "1 page was put on <a", "queued"),
    ] {
        let sent = chosen(&text, &format!("/control/{action}-multiple"), chosen_urls);
        let done = daemon.submit(&sent);
        assert_eq!(done.status, 303);
        let page = daemon.page(done.field("Location")).text();
        assert!(page.contains(told) && page.contains("role=\"status\""), "{action}: {page}");
        // At its usual address, the list shows the notes of the entries, but not the message.
        let page = daemon.page("/index/all?sort=name").text();
        let noted = page.matches(&format!(", <bdi>{note}</bdi>")).count();
        assert_eq!(noted, chosen_urls.len(), "{action}: {page}");
        assert!(!page.contains(told), "{page}");
    }
    // An invalid result in the address is ignored.
    for odd in ["pinned", "pinned.x", "gone.3", ".", "%3Cb%3E.1"] {
        let page = daemon.page(&format!("/index/all?done={odd}"));
        assert_eq!(page.status, 200);
        assert!(!page.text().contains("role=\"status\""), "{odd}");
    }
}

#[test]
fn a_title_links_to_its_page_and_a_redirect_is_not_a_failure() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 1);
    origin.say("/moved", Answer::new(302, "text/html", "").field("Location", "/000.html"));
    origin.say("/gone", Answer::new(404, "text/html", "<title>Gone</title>"));
    for path in ["/moved", "/gone"] {
        daemon.get(&origin.url(path));
    }
    let page = unescape(&list(&daemon, "/index/all?sort=name", "Gone"));
    let title = format!(
        "<a class=\"url\" href=\"{}\" rel=\"noreferrer\"><b><bdi>Page 0",
        origin.url("/000.html")
    );
    assert!(page.contains(&title), "{title} in {page}");
    assert!(page.contains("<span>status 302</span>"), "{page}");
    assert!(page.contains("<span class=\"failed\">status 404</span>"), "{page}");
    let found = unescape(&list(&daemon, "/search/?q=Page", "Page</mark>"));
    let title =
        format!("<a class=\"url\" href=\"{}\" rel=\"noreferrer\"><b>", origin.url("/000.html"));
    assert!(found.contains(&title), "{found}");
    let led = daemon.page("/index/failed?sort=name");
    assert_eq!((led.status, led.field("Location")), (303, "/queue/?state=failed"));
}
