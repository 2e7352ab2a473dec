//! Each page of a list is short, even if its URLs are long, and every entry is on exactly one page.

use crate::harness::form::{Form, form, forms, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::index::index_pages::list;

/// The path of the link with the relation `to`. `None` if there is no such link.
pub(crate) fn linked(text: &str, to: &str) -> Option<String> {
    let (before, _) = text.rsplit_once(&format!("\" rel=\"{to}\">"))?;
    let link = before.rsplit_once("href=\"").unwrap().1.split_once("//").unwrap().1;
    Some(format!("/{}", link.split_once('/').unwrap().1))
}

/// The URLs on a page, in order.
pub(crate) fn urls(text: &str) -> Vec<String> {
    let links = text.split("<a class=\"url\" href=\"").skip(1);
    links.map(|rest| unescape(rest.split('"').next().unwrap())).collect()
}

/// Stores these paths. Waits until the list of their host has all of them.
fn kept(origin: &Origin, paths: &[String]) -> Daemon {
    let daemon = Daemon::start();
    for path in paths {
        origin.say(path, Answer::html("<title>Page</title>"));
        assert_eq!(daemon.get(&origin.url(path)).status, 200, "{path:.40}");
    }
    list(&daemon, &of_host(origin), &format!("{} entries", paths.len()));
    daemon
}

fn of_host(origin: &Origin) -> String {
    format!("/index/http/{}?sort=name", origin.addr)
}

#[test]
#[ignore = "slow"]
fn list_pages_of_long_urls_are_short_and_complete() {
    let origin = Origin::start();
    // Half of the names have the same prefix, which is longer than the compared part. So the name
    // alone does not determine their order.
    let long = |number: usize| format!("{}/{number:02}", "/long".repeat(1_560));
    let early = |number: usize| format!("/{number:02}{}", "/a-b".repeat(1_950));
    let paths: Vec<_> = (0..12).map(early).chain((12..24).map(long)).collect();
    let daemon = kept(&origin, &paths);
    let (mut at, mut seen) = (of_host(&origin), Vec::new());
    let mut before: Option<(String, Vec<String>)> = None;
    loop {
        let text = daemon.page(&at).text();
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let on_it = urls(&text);
        assert!(on_it.len() < 10 && !on_it.is_empty(), "{}", on_it.len());
        seen.extend(on_it.clone());
        // The link to the previous page leads to the page that the loop visited before. That page
        // has not changed.
        let previous = linked(&text, "prev");
        assert_eq!(previous, before.as_ref().map(|(at, _)| at.clone()));
        if let (Some(previous), Some((_, on_that))) = (previous, before) {
            assert_eq!(urls(&daemon.page(&previous).text()), on_that);
        }
        before = Some((at.clone(), on_it));
        let Some(next) = linked(&text, "next") else { break };
        at = next;
    }
    let all: Vec<_> = paths.iter().map(|path| origin.url(path)).collect();
    assert_eq!(seen[..12], all[..12]);
    seen.sort();
    assert_eq!(seen, all, "each of them exactly once");
    // The links to the information about an entry are not truncated.
    let text = daemon.page(&of_host(&origin)).text();
    let info = text.split("href=\"").find(|rest| unescape(rest).contains("/info/?")).unwrap();
    let info = unescape(info.split('"').next().unwrap());
    let about = daemon.page(&format!("/{}", info.splitn(4, '/').nth(3).unwrap()));
    assert!(about.status == 200 && unescape(&about.text()).contains(&all[0]), "{about:?}");
}

#[test]
#[ignore = "slow"]
fn search_pages_are_short_and_have_every_hit() {
    let origin = Origin::start();
    let paths: Vec<_> =
        (0..12).map(|number| format!("/{number:02}{}", "/a-b".repeat(1_950))).collect();
    let daemon = kept(&origin, &paths);
    eventually("all can be found", || {
        let found = daemon.api("GET", "/api/search?q=page&limit=50", "").whole();
        found.text().matches("\"snippet\"").count() == paths.len()
    });
    let (mut at, mut seen) = ("/search/?q=page".to_owned(), Vec::new());
    loop {
        let text = daemon.page(&at).text();
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let on_it = urls(&text);
        assert!((1..10).contains(&on_it.len()), "{}", on_it.len());
        seen.extend(on_it);
        let more = text.split("href=\"").find(|rest| rest.contains("\">More</a>"));
        let Some(more) = more else { break };
        let address = unescape(more.split('"').next().unwrap());
        at = format!("/{}", address.splitn(4, '/').nth(3).unwrap());
    }
    seen.sort();
    assert_eq!(seen, paths.iter().map(|path| origin.url(path)).collect::<Vec<_>>());
}

#[test]
#[ignore = "slow"]
fn actions_on_a_page_of_long_urls_apply_to_the_selection() {
    let origin = Origin::start();
    // The URLs have the maximum length for a selection, and three times that length in encoded
    // form.
    let paths: Vec<_> = (0..50).map(|number| format!("/{number:02}{}", "/~".repeat(480))).collect();
    let daemon = kept(&origin, &paths);
    let all: Vec<_> = paths.iter().map(|path| origin.url(path)).collect();
    let at = format!("{}&chosen=1", of_host(&origin));
    let text = daemon.page(&at).text();
    let on_it = urls(&text);
    assert!(text.len() < 100_000 && (8..50).contains(&on_it.len()), "{} bytes", text.len());
    assert_eq!(on_it, all[..on_it.len()]);
    assert_eq!(text.matches(" checked=\"checked\"").count(), on_it.len());
    let is_deletion = |form: &&Form| form.action.contains("/control/delete-multiple/url");
    let found = forms(&text);
    // The button below the entries, which deletes the selected entries.
    let deletes = found.iter().rfind(is_deletion).unwrap();
    let chosen = deletes.fields.iter().filter(|(name, _)| name == "url").map(|(_, url)| url);
    assert_eq!(chosen.cloned().collect::<Vec<_>>(), on_it);
    assert_eq!(daemon.submit(deletes).status, 303);
    let left = format!("{} entries", 50 - on_it.len());
    let text = list(&daemon, &of_host(&origin), &left);
    let rest = urls(&text);
    assert_eq!(rest, all[on_it.len()..][..rest.len()]);
    // A script may send the whole list at once.
    let sent = form(&text, "/control/pin-multiple").without("url");
    let sent = all.iter().fold(sent, |sent, url| sent.and("url", url));
    assert!(sent.body().len() > 100_000, "{}", sent.body().len());
    let done = daemon.submit(&sent);
    assert_eq!(done.status, 303, "{}", done.shown());
    eventually("all are pinned", || daemon.ok(&["pin"]).lines().count() >= 50);
}

#[test]
#[ignore = "slow"]
fn requested_urls_are_listed_page_by_page() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let path = |number: usize| match number {
        0..10 => format!("/{number:03}{}", "/long".repeat(1_560)),
        _ => format!("/{number:03}"),
    };
    let mut want: Vec<_> = (0..120).map(|number| origin.url(&path(number))).collect();
    for (number, url) in want.iter().enumerate() {
        origin.say(&path(number), Answer::html("<title>Page</title>"));
        daemon.browse(url);
    }
    daemon.ok(&["online"]);
    list(&daemon, "/index/lastout", "class=\"url\"");
    let (mut at, mut seen, mut pages) = ("/index/lastout".to_owned(), Vec::new(), 0);
    loop {
        let text = daemon.page(&at).text();
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let on_it = urls(&text);
        assert!((1..=50).contains(&on_it.len()), "{}", on_it.len());
        seen.extend(on_it);
        pages += 1;
        let Some(next) = linked(&text, "next") else { break };
        at = next;
    }
    assert!(pages > 3, "{pages}");
    seen.sort();
    want.sort();
    assert_eq!(seen, want);
    // The command line reads page after page, up to its limit.
    assert_eq!(daemon.ok(&["ls", "asked/0"]).lines().count(), 120);
    assert_eq!(daemon.ok(&["ls", "asked/0", "--limit", "7"]).lines().count(), 7);
}
