//! Actions on whole lists, on a page that shows their size; and selecting all entries of a page.

use crate::harness::form::{Form, form, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::index::index_pages::list;
use crate::security::owners;

const ASKS: &str = "/control/delete/url-all";

/// The link of a list to the page with the actions on all of it.
pub(crate) const WHOLE: &str = "Export, pin or delete everything";

fn keep(daemon: &Daemon, origin: &Origin, paths: &[&str]) {
    for path in paths {
        let status = if path.contains("gone") { 404 } else { 200 };
        origin.say(
            path,
            Answer::new(status, "text/html", format!("<title>T{}</title>", path.replace('/', "-"))),
        );
        assert_eq!(daemon.get(&origin.url(path)).status, status, "{path}");
    }
}

/// The address of the first link with this text.
#[track_caller]
pub(crate) fn link(html: &str, words: &str) -> String {
    let html = unescape(html);
    let (before, _) = html.split_once(&format!(">{words}</a>")).expect(words);
    let (_, address) = before.rsplit_once("href=\"").unwrap();
    let (_, rest) = address.trim_end_matches('"').split_once("//").unwrap();
    format!("/{}", rest.split_once('/').unwrap().1)
}

fn of_host(origin: &Origin) -> String {
    format!("/index/http/{}", origin.addr)
}

/// The confirmation form, once the page contains `tells`.
#[track_caller]
fn asked(daemon: &Daemon, address: &str, tells: &str) -> Form {
    let mut text = String::new();
    eventually(&format!("{address} shows {tells:?}"), || {
        text = daemon.page(address).text();
        text.contains(tells)
    });
    form(&text, ASKS)
}

/// Sends the form. Returns the text of its list when the deletion is finished.
#[track_caller]
fn done(daemon: &Daemon, sent: &Form, tells: &str) -> String {
    let done = daemon.submit(sent);
    assert_eq!(done.status, 303, "{done:?}");
    let text = list(daemon, done.field("Location"), tells);
    eventually("it is finished", || {
        !daemon.page(done.field("Location")).text().contains("Deleting goes on")
    });
    text
}

#[test]
#[ignore = "slow"]
fn all_entries_of_a_host_are_deleted_and_restored() {
    let (origin, other) = (Origin::start(), Origin::start());
    let daemon = Daemon::start();
    let paths = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"];
    keep(&daemon, &origin, &paths);
    keep(&daemon, &other, &["/other"]);
    let text = list(&daemon, &of_host(&origin), "T-7");
    let address = link(&text, WHOLE);
    assert!(address.starts_with(ASKS), "{address}");
    let sent = asked(&daemon, &address, "7 entries, ");
    let page = daemon.page(&address).text();
    assert!(page.contains("<bdi>T-1</bdi>") && page.contains("an hour to restore"), "{page}");
    // The confirmation page changes nothing, and a page of another site cannot confirm.
    assert_eq!(daemon.submit(&sent.clone().without("token")).status, 403);
    assert_eq!(daemon.submit(&sent.clone().without("stored-before")).status, 422);
    list(&daemon, &of_host(&origin), "T-1");
    // Entries that are stored after the confirmation page was shown stay.
    keep(&daemon, &origin, &["/late"]);
    list(&daemon, &of_host(&origin), "T-late");
    let text = done(&daemon, &sent, "7 entries were deleted");
    daemon.ok(&["offline"]);
    for path in paths {
        assert_ne!(daemon.get(&origin.url(path)).status, 200, "{path}");
    }
    assert_eq!(daemon.get(&origin.url("/late")).status, 200);
    assert_eq!(daemon.get(&other.url("/other")).status, 200);
    let back = daemon.submit(&form(&text, "/control/undo"));
    list(&daemon, back.field("Location"), "7 entries were restored.");
    for path in paths {
        assert_eq!(daemon.get(&origin.url(path)).status, 200, "{path}");
    }
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
    // The address of 2.9 leads to the same confirmation page.
    asked(&daemon, &format!("{ASKS}?{}", origin.url("/1")), "8 entries, ");
}

#[test]
fn entries_outside_the_filter_are_not_deleted() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    keep(&daemon, &origin, &["/tea/1", "/tea/gone", "/cake/gone", "/cake/2"]);
    let text = list(&daemon, "/index/all", "T-cake-2");
    // The list of all stored entries may be exported and pinned, but not deleted.
    for all in ["/index/all", "/index/all?pages=1", "/index/", "/index/http", "//evil.example/"] {
        let led = daemon.page(&format!("{ASKS}?list={all}"));
        if all.starts_with("/index/all") {
            assert!(led.status == 200 && !led.text().contains(&format!("{ASKS}\"")), "{all}");
        } else {
            assert_eq!(led.status, 303, "{all}");
            assert!(led.field("Location").starts_with("/index/"), "{all}: {led:?}");
        }
        let sent = form(&text, "/control/pin-multiple").without("url").without("back");
        let sent = sent.and("list", all).and("stored-before", "2099-01-01T00:00:00Z");
        let sent = Form { action: ASKS.to_owned(), ..sent };
        assert_eq!(daemon.submit(&sent).status, 422, "{all}");
    }
    // A filter that has no input field is not lost either.
    let text = list(&daemon, "/index/all?status=4xx&text=tea", "T-tea-gone");
    assert!(!text.contains("T-tea-1"), "{text}");
    let ordered = forms_kept(&text);
    assert_eq!(ordered.value("status"), Some("4xx"));
    let sent = asked(&daemon, &link(&text, WHOLE), "1 entry, ");
    done(&daemon, &sent, "1 entry was deleted");
    daemon.ok(&["offline"]);
    for (path, status) in [("/tea/1", 200), ("/cake/gone", 404), ("/cake/2", 200)] {
        assert_eq!(daemon.get(&origin.url(path)).status, status, "{path}");
    }
    eventually("it is gone from lists", || {
        !daemon.page("/index/all?text=tea").text().contains("T-tea-gone")
    });
}

/// The form that sorts a list.
#[track_caller]
fn forms_kept(html: &str) -> Form {
    let found = crate::harness::form::forms(html).into_iter();
    found.filter(|form| form.method == "GET").find(|form| form.action.contains("/index/")).unwrap()
}

#[test]
fn all_on_a_page_is_chosen_with_a_link() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    keep(&daemon, &origin, &["/1", "/2", "/3"]);
    let text = list(&daemon, "/index/all?sort=name", "T-3");
    let checked = |text: &str| text.matches("\" checked=\"checked\" aria-label").count();
    assert_eq!(checked(&text), 0);
    let chosen = daemon.page(&link(&text, "Select all on this page")).text();
    assert_eq!(checked(&chosen), 3, "{chosen}");
    // An action on the selected entries leads back to the list with nothing selected.
    assert_eq!(form(&chosen, "pin-multiple").value("back"), Some("/index/all?sort=name"));
    let text = daemon.page(&link(&chosen, "Select none")).text();
    assert_eq!(checked(&text), 0);
}

#[test]
#[ignore = "slow"]
fn entries_of_other_users_are_not_deleted() {
    let origin = Origin::start();
    origin.say("/mine", Answer::html("<title>Mine</title>").field("Cache-Control", "private"));
    origin.say("/ours", Answer::html("<title>Ours</title>"));
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let urls = ["/mine", "/ours"].map(|path| origin.url(path));
    for user in owners::USERS {
        for url in &urls {
            owners::get(&daemon, user, url, "");
        }
    }
    let login = owners::login("Proxy-Authorization", "ada");
    let shown = |path: &str| daemon.client().get_with(&daemon.own(path), &login).whole().text();
    let address = format!("{ASKS}?list={}", of_host(&origin));
    eventually("both are reported", || shown(&address).contains("2 entries, "));
    let sent = form(&shown(&address), ASKS);
    let fields = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", daemon.addr());
    let done = daemon.submit_as(&sent, &(login.clone() + &fields));
    assert_eq!(done.status, 303, "{done:?}");
    eventually("both are gone", || {
        shown(done.field("Location")).contains("2 entries were deleted")
    });
    daemon.ok(&["offline"]);
    assert_ne!(owners::get(&daemon, "ada", &urls[0], "").status, 200);
    assert_ne!(owners::get(&daemon, "bob", &urls[1], "").status, 200);
    assert_eq!(owners::get(&daemon, "bob", &urls[0], "").status, 200);
}

#[test]
fn selected_sites_of_the_library_are_acted_on_together() {
    let (one, two, three) = (Origin::start(), Origin::start(), Origin::start());
    let daemon = Daemon::start();
    keep(&daemon, &one, &["/1", "/2"]);
    keep(&daemon, &two, &["/3"]);
    keep(&daemon, &three, &["/4"]);
    list(&daemon, "/index/all", "T-4");
    let text = daemon.page("/index/").text();
    let chosen = form(&text, ASKS);
    assert_eq!(chosen.method, "GET", "{text}");
    let chosen = chosen.without("list");
    assert!(text.contains("name=\"list\" value=\"/index/site/127.0.0.1\""), "{text}");
    assert_eq!(daemon.page(&format!("{ASKS}?")).status, 303, "nothing is selected");
    // The sites of the test have one name, so two hosts take their place.
    let sent = chosen.and("list", &of_host(&one)).and("list", &of_host(&two));
    let page = daemon.page(&format!("{ASKS}?{}", sent.body())).text();
    assert!(page.contains("3 entries, ") && page.contains("Pin 3 entries"), "{page}");
    let pinned = daemon.submit(&form(&page, "/control/pin-list"));
    assert_eq!(pinned.status, 303, "{pinned:?}");
    let library = daemon.page(pinned.field("Location")).text();
    assert!(library.contains("3 entries are pinned"), "{library}");
    let exported = daemon.submit(&form(&page, "/control/export-list/warc"));
    assert_eq!(exported.field("Content-Type"), "application/gzip");
    let page = daemon.page(&format!("{ASKS}?{}", sent.body())).text();
    assert!(page.contains("3 of them are pinned and are deleted too."), "{page}");
    let gone = daemon.submit(&form(&page, ASKS));
    assert_eq!(gone.status, 303);
    list(&daemon, "/index/", "3 entries were deleted");
    assert!(!daemon.page("/index/all").text().contains("T-1"));
    list(&daemon, "/index/all", "T-4");
}

#[test]
fn everything_that_a_search_finds_is_acted_on_together() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    for path in ["/green", "/black", "/milk"] {
        let words = if path == "/milk" { "cow" } else { "leaves <b>" };
        let page = format!("<title>T{}</title><p>{words}", path.replace('/', "-"));
        origin.say(path, Answer::html(page));
        daemon.get(&origin.url(path));
    }
    list(&daemon, "/search/?q=leaves&chosen=1", "T-green");
    let text = list(&daemon, "/search/?q=leaves&chosen=1", "T-black");
    // The selection of this page, with its result on the page.
    let urls = [origin.url("/green"), origin.url("/black")];
    for url in &urls {
        let box_of = format!("name=\"url\" value=\"{url}\" checked=\"checked\"");
        assert!(text.contains(&box_of), "{box_of} in {text}");
    }
    let delete = form(&text, "/control/delete-multiple/url").without("url").and("url", &urls[0]);
    let gone = daemon.submit(&delete);
    assert_eq!(gone.status, 303);
    assert!(gone.field("Location").starts_with("/search/?q=leaves&"), "{gone:?}");
    let text = list(&daemon, gone.field("Location"), "1 entry was deleted");
    let back = daemon.submit(&form(&text, "/control/undo"));
    let text = list(&daemon, back.field("Location"), "1 entry was restored.");
    // All that the search finds, when it finds the restored page again.
    list(&daemon, "/search/?q=leaves", "T-green");
    let page = daemon.page(&link(&text, "Export, pin or delete everything found")).text();
    assert!(unescape(&page).contains("Pages found for leaves"), "{page}");
    assert!(page.contains("2 entries, "), "{page}");
    let pinned = daemon.submit(&form(&page, "/control/pin-list"));
    assert_eq!(pinned.field("Location"), "/search/?q=leaves&done=pinned.2");
    let text = list(&daemon, pinned.field("Location"), "2 entries are pinned");
    assert!(text.contains("T-green"), "{text}");
    let page = daemon.page(&format!("{ASKS}?list=%2Fsearch%2F%3Fq%3Dleaves")).text();
    let gone = daemon.submit(&form(&page, ASKS));
    list(&daemon, gone.field("Location"), "2 entries were deleted");
    list(&daemon, "/index/all", "T-milk");
    assert!(!daemon.page("/index/all").text().contains("T-green"));
    // A search for nothing, or for what is not there, is no list.
    for none in ["/search/", "/search/?q=", "/search/?q=-milk", "/search/?host=a"] {
        let led = daemon.page(&format!("{ASKS}?list={}", crate::harness::form::encode(none)));
        assert_eq!(led.status, 303, "{none}");
    }
}
