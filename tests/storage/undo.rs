//! Entries deleted in a list disappear at once, and an undo restores them.

use wwwoffle_spool::Timestamp;

use crate::harness::form::{Form, form, forms, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually, then};
use crate::index::index_pages::list;
use crate::security::{logins, owners};

/// Waits until the page at `path` no longer contains `hasnt`.
#[track_caller]
fn without(daemon: &Daemon, path: &str, hasnt: &str) {
    eventually(&format!("{path} has no {hasnt:?}"), || !daemon.page(path).text().contains(hasnt));
}

fn chosen(html: &str, urls: &[String]) -> Form {
    let form = form(html, "/control/delete-multiple/url").without("url");
    urls.iter().fold(form, |form, url| form.and("url", url))
}

#[test]
#[ignore = "slow"]
fn deleted_entries_are_restored_at_the_same_list_position() {
    let origin = Origin::start();
    let mut daemon = Daemon::start();
    let page = |number: usize| origin.url(&format!("/{number:02}.html"));
    for number in 0..60 {
        let title = format!("<title>Page {number:02}</title>");
        origin.say(&format!("/{number:02}.html"), Answer::html(title));
        assert_eq!(daemon.get(&page(number)).status, 200);
    }
    let first = list(&daemon, "/index/all?sort=name&text=.html", "Page 49");
    let next = unescape(&first).rsplit_once("\" rel=\"next\"").unwrap().0.to_owned();
    let next = next.rsplit_once("/index/").unwrap().1.to_owned();
    let second = format!("/index/{next}");
    let text = list(&daemon, &second, "Page 55");

    // The entries are missing at once for readers. In lists they are missing once the index is up
    // to date.
    let gone = [page(53), page(55), page(56)];
    let done = daemon.submit(&chosen(&text, &gone));
    assert_eq!(done.status, 303);
    let told = done.field("Location").to_owned();
    assert!(told.starts_with(&format!("{second}&removed=")), "{told} after {second}");
    daemon.ok(&["offline"]);
    for url in &gone {
        assert_ne!(daemon.get(url).status, 200, "{url}");
    }
    for title in ["Page 53", "Page 55", "Page 56"] {
        without(&daemon, &told, title);
    }
    let text = list(&daemon, &told, "Page 54");
    assert!(text.contains("3 entries were deleted"), "{text}");
    list(&daemon, "/index/", "3 entries were deleted");
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);

    // The daemon may be restarted before the undo.
    daemon.restart();
    let text = list(&daemon, &told, "3 entries were deleted");
    let undo = form(&text, "/control/undo");
    assert_eq!(daemon.submit(&undo.clone().without("token")).status, 403);
    assert_ne!(daemon.get(&gone[0]).status, 200);
    let done = daemon.submit(&undo);
    assert_eq!(done.status, 303);
    let back = done.field("Location").to_owned();
    assert!(back.starts_with(&second) && !back.contains("removed"), "{back}");
    for url in &gone {
        assert_eq!(daemon.get(url).status, 200, "{url}");
    }
    let text = list(&daemon, &back, "Page 55");
    assert!(text.contains("3 entries were restored."), "{text}");
    // A second undo has no effect.
    let again = daemon.submit(&undo);
    assert_eq!(again.status, 303);
    let again = daemon.page(again.field("Location")).text();
    assert!(
        again.contains("the entries are saved already") && !again.contains("were restored."),
        "{again}"
    );
    assert!(!daemon.page(&told).text().contains("were deleted"));
    assert!(!daemon.page("/index/").text().contains("were deleted"));
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}

#[test]
fn a_restored_entry_keeps_its_time_of_last_use() {
    let now = Timestamp::now();
    let (read, mut daemon) =
        ("http://a.test/read", Daemon::prepare(Some("[purge]\nage = \"1d\"\n")));
    for name in ["read", "unread"] {
        let (url, body) = (format!("http://a.test/{name}"), format!("<title>Of {name}</title>"));
        let then = now - jiff::SignedDuration::from_hours(72);
        then::keep(daemon.spool(), then, &url, "text/html", body.as_bytes());
    }
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(read).status, 200);
    let text = list(&daemon, "/index/all", "Of read");
    let told = daemon.submit(&chosen(&text, &[read.to_owned()])).field("Location").to_owned();
    let text = list(&daemon, &told, "1 entry was deleted");
    assert_eq!(daemon.submit(&form(&text, "/control/undo")).status, 303);
    daemon.ok(&["purge"]);
    assert_eq!(daemon.get(read).status, 200, "it was read today");
    assert_ne!(daemon.get("http://a.test/unread").status, 200);
}

#[test]
fn an_undo_does_not_overwrite_a_newer_entry() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let url = origin.url("/page");
    origin.say("/page", Answer::html("<title>First</title>"));
    daemon.get(&url);
    let text = list(&daemon, "/index/all", "First");
    let told =
        daemon.submit(&chosen(&text, std::slice::from_ref(&url))).field("Location").to_owned();
    origin.say("/page", Answer::html("<title>Second</title>"));
    assert!(daemon.get(&url).text().contains("Second"));
    let text = list(&daemon, &told, "1 entry was deleted");
    let back = daemon.submit(&form(&text, "/control/undo")).field("Location").to_owned();
    assert!(list(&daemon, &back, "Second").contains("a newer copy exists"));
    daemon.ok(&["offline"]);
    assert!(daemon.get(&url).text().contains("Second"));
    let versions = unescape(&daemon.page(&format!("/history/?{url}")).text());
    assert!(versions.matches("/history/version/").count() >= 2, "{versions}");
}

#[test]
#[ignore = "slow"]
fn with_the_control_password_a_button_acts_for_whom_its_page_is() {
    let origin = Origin::start();
    let daemon = Daemon::configured(&format!("{}{}", logins::control(), owners::users()));
    daemon.ok(&["online"]);
    let (url, cookie) = (origin.url("/mine2"), "Cookie: id=1\r\n");
    for (title, fields) in [("For all", ""), ("For ada", cookie)] {
        origin.say("/mine2", Answer::html(format!("<title>{title}</title>")));
        assert!(owners::get(&daemon, "ada", &url, fields).text().contains(title));
    }
    let shown = |user: &str, path: &str| owners::page(&daemon, user, path).text();
    eventually("ada's list has both", || {
        let text = shown("ada", "/index/all");
        text.contains("For all") && text.contains("For ada")
    });
    daemon.ok(&["offline"]);
    let password = logins::login("Authorization", "whoever", logins::CONTROL);
    let delete = chosen(&shown("ada", "/index/all"), std::slice::from_ref(&url));
    assert_eq!(owners::submit_with(&daemon, "ada", "", &delete).status, 401);
    let done = owners::submit_with(&daemon, "ada", &password, &delete);
    assert_eq!(done.status, 303, "{}", done.text());
    // The entries of ada are deleted, and she sees a message about it.
    for (user, fields) in [("ada", cookie), ("ada", ""), ("bob", "")] {
        assert_ne!(owners::get(&daemon, user, &url, fields).status, 200, "{user} {fields}");
    }
    let told = shown("ada", done.field("Location"));
    assert!(told.contains("2 entries were deleted"), "{told}");
    // The control password alone gives no access to another user's entries, whatever token is sent.
    let undo = form(&told, "/control/undo");
    let token_of = |user: &str| {
        let all = forms(&shown(user, "/control/"));
        all.iter().find_map(|form| form.value("token").map(str::to_owned)).unwrap()
    };
    let (ada, bob) = (undo.value("token").unwrap().to_owned(), token_of("bob"));
    let forged = format!("{}{}", &bob[..64], &ada[64..]);
    assert_eq!(
        owners::submit_with(&daemon, "bob", &password, &undo.clone().with("token", &forged)).status,
        403
    );
    let of_bob = owners::submit_with(&daemon, "bob", &password, &undo.clone().with("token", &bob));
    assert_eq!(of_bob.status, 303);
    assert!(shown("bob", of_bob.field("Location")).contains("Nothing was restored"));
    assert_ne!(owners::get(&daemon, "bob", &url, "").status, 200);
    assert_eq!(owners::submit_with(&daemon, "ada", &password, &undo).status, 303);
    assert!(owners::get(&daemon, "ada", &url, cookie).text().contains("For ada"));
    assert!(owners::get(&daemon, "bob", &url, "").text().contains("For all"));
}

#[test]
fn an_invalid_url_in_the_selection_prevents_the_deletion() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let urls = ["/one", "/two"].map(|path| origin.url(path));
    for path in ["/one", "/two"] {
        origin.say(path, Answer::html("<title>Page</title>"));
        daemon.get(&origin.url(path));
    }
    let text = list(&daemon, "/index/all", "Page");
    let [one, two] = urls.clone();
    let bad = daemon.submit(&chosen(&text, &[one, "http://[".to_owned(), two]));
    assert_eq!(bad.status, 400);
    daemon.ok(&["offline"]);
    for url in urls {
        assert_eq!(daemon.get(&url).status, 200, "{url}");
    }
}

#[test]
#[ignore = "slow"]
fn users_cannot_undo_deletions_of_others() {
    let origin = Origin::start();
    for path in ["/mine", "/ours"] {
        let answer = Answer::html(format!("<title>Of {}</title>", &path[1..]));
        let is_mine = path == "/mine";
        origin.say(path, if is_mine { answer.field("Cache-Control", "private") } else { answer });
    }
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let urls = ["/mine", "/ours"].map(|path| origin.url(path));
    for url in &urls {
        owners::get(&daemon, "ada", url, "");
    }
    let shown = |user: &str, path: &str| owners::page(&daemon, user, path).text();
    let sent = |user: &str, form: &Form| owners::submit(&daemon, user, form);
    eventually("ada's list has both", || {
        let text = shown("ada", "/index/all");
        text.contains("Of mine") && text.contains("Of ours")
    });
    let done = sent("ada", &chosen(&shown("ada", "/index/all"), &urls));
    assert_eq!(done.status, 303);
    let told = done.field("Location").to_owned();
    assert!(shown("ada", &told).contains("2 entries were deleted"), "{}", shown("ada", &told));
    // Another user who knows the address sees no message there and cannot undo.
    assert!(!shown("bob", &told).contains("deleted"));
    let undo = form(&shown("ada", &told), "/control/undo");
    assert_eq!(sent("bob", &undo).status, 303);
    daemon.ok(&["offline"]);
    for user in ["ada", "bob"] {
        assert_ne!(owners::get(&daemon, user, &urls[1], "").status, 200, "{user}");
    }
    assert_eq!(sent("ada", &undo).status, 303);
    assert_eq!(owners::get(&daemon, "ada", &urls[0], "").status, 200);
    assert_ne!(owners::get(&daemon, "bob", &urls[0], "").status, 200);
    assert_eq!(owners::get(&daemon, "bob", &urls[1], "").status, 200);
    assert!(forms(&shown("ada", &told)).iter().all(|form| !form.action.contains("undo")));
}
