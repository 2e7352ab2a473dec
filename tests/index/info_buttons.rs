//! The buttons of the page about a URL: refresh, pin, delete and undo.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::form::{Form, encode, form, forms};
use crate::harness::{Answer, Daemon, Origin, eventually, files};
use crate::security::owners;
use crate::storage::history::{MONTHS, history, place, text};

const DELETE: &str = "/control/delete-multiple/url";
const REFRESH: &str = "/control/refresh-multiple";

/// The page about a URL.
fn about(daemon: &Daemon, url: &str) -> String {
    let page = daemon.page(&format!("/info/?{}", encode(url)));
    assert_eq!(page.status, 200, "{}", page.text());
    page.text()
}

/// The files of all stored responses, with their bytes.
fn kept(daemon: &Daemon) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = daemon.spool().join("http");
    let found = if root.exists() { files(&root) } else { Vec::new() };
    found.into_iter().map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect()
}

/// The body of each version, the newest first.
#[track_caller]
fn versions(daemon: &Daemon, url: &str) -> Vec<String> {
    let told = daemon.run(&["history", "--json", url]).json();
    let read = |version: &Value| {
        let at = version["stored"].as_str().unwrap();
        daemon.page(&format!("/history/version/?url={}&at={at}", encode(url))).text()
    };
    let all: Vec<_> = told["versions"].as_array().unwrap().iter().map(read).collect();
    assert_eq!(all.len(), MONTHS.len(), "{told}");
    for (month, text) in MONTHS.iter().rev().zip(&all) {
        says(text, &format!("month {month}"));
    }
    all
}

#[track_caller]
fn leads_to(daemon: &Daemon, form: &Form, want: &str) -> String {
    let done = daemon.submit(form);
    let to = done.field("Location").to_owned();
    assert!(done.status == 303 && to.starts_with(want), "{} {to} is not {want}", done.status);
    to
}

#[track_caller]
fn says(text: &str, words: &str) {
    assert!(text.contains(words), "{words:?} in:\n{text}");
}

#[test]
#[ignore = "slow"]
fn a_deleted_entry_is_restored_with_its_versions() {
    let url = "http://a.example/p?x=1&y=%20z";
    let mut daemon = Daemon::prepare(None);
    history(&daemon, &place(url), "", text);
    history(&daemon, &place("http://a.example/other"), "", text);
    daemon.up();
    daemon.ok(&["offline"]);
    let all = kept(&daemon);
    let all_versions = versions(&daemon, url);
    let page = about(&daemon, url);
    says(&page, "3 versions are saved");
    let delete = form(&page, DELETE);

    // Neither a GET nor a form without a valid token changes anything.
    assert_eq!(daemon.submit(&delete.clone().without("token")).status, 403);
    assert_eq!(daemon.submit(&delete.clone().with("token", "f00")).status, 403);
    assert_ne!(daemon.page(&format!("{DELETE}?url={}", encode(url))).status, 303);
    assert_eq!(kept(&daemon), all);

    let told = leads_to(&daemon, &delete, "/info/?removed=");
    // Loading the page again changes nothing, and the deleted entry has no button for deletion.
    for _ in 0..2 {
        let page = daemon.page(&told).text();
        says(&page, "1 entry was deleted");
        says(&page, "It is not saved");
        assert!(forms(&page).iter().all(|form| form.action != delete.action), "{page}");
    }
    // A form that was sent twice leads to the same undo.
    assert_eq!(leads_to(&daemon, &delete, "/info/?removed="), told);
    assert_ne!(daemon.get(url).status, 200);
    assert_eq!(daemon.get("http://a.example/other").status, 200);
    assert_eq!(kept(&daemon).len() + MONTHS.len(), all.len(), "{all:?}");
    // The pages of the lists report the deletion too.
    says(&daemon.page("/index/").text(), "1 entry was deleted");

    // The daemon may be restarted before the undo.
    daemon.restart();
    let undo = form(&daemon.page(&told).text(), "/control/undo");
    assert_eq!(daemon.submit(&undo.clone().without("token")).status, 403);
    let told = leads_to(&daemon, &undo, "/info/?back-again=1.0.0.0&url=http://a.example/");
    let page = daemon.page(&told).text();
    says(&page, "1 entry was restored.");
    says(&page, "3 versions are saved");
    assert_eq!(kept(&daemon), all);
    assert_eq!(versions(&daemon, url), all_versions);
    leads_to(&daemon, &undo, "/info/?back-again=0.0.0.0&url=");
    assert_eq!(kept(&daemon), all);
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}

#[test]
#[ignore = "slow"]
fn users_cannot_delete_or_restore_entries_of_others() {
    let origin = Origin::start();
    origin.say("/mine", Answer::html("a letter").field("Cache-Control", "private"));
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let url = origin.url("/mine");
    owners::get(&daemon, "ada", &url, "");
    daemon.settle();
    daemon.ok(&["offline"]);
    let path = format!("/info/?{}", encode(&url));
    eventually("it is on the disk", || kept(&daemon).len() == 1);
    let all = kept(&daemon);
    let seen = |user: &str, path: &str| owners::page(&daemon, user, path).text();
    let delete = form(&seen("ada", &path), DELETE);
    let none = seen("bob", &path);
    says(&none, "It is not saved");
    assert!(forms(&none).iter().all(|form| form.action != delete.action), "{none}");
    // If bob sends ada's form, it can only delete his own copy, which does not exist.
    let done = owners::submit(&daemon, "bob", &delete);
    assert!(done.status == 303 && !done.field("Location").contains("removed="), "{}", done.text());
    assert_eq!(kept(&daemon), all);

    let done = owners::submit(&daemon, "ada", &delete);
    let told = done.field("Location").to_owned();
    assert!(done.status == 303 && told.starts_with("/info/?removed="), "{told}");
    assert!(kept(&daemon).is_empty());
    says(&seen("ada", &told), "1 entry was deleted");
    assert!(!seen("bob", &told).contains("deleted"));
    let undo = form(&seen("ada", &told), "/control/undo");
    assert_eq!(owners::submit(&daemon, "bob", &undo).status, 303);
    assert!(kept(&daemon).is_empty());
    assert_eq!(owners::submit(&daemon, "ada", &undo).status, 303);
    assert_eq!(kept(&daemon), all);
    says(&owners::get(&daemon, "ada", &url, "").text(), "a letter");
    assert_ne!(owners::get(&daemon, "bob", &url, "").status, 200);
}

#[test]
fn an_entry_is_refreshed_and_pinned_on_its_information_page() {
    let origin = Origin::start();
    origin.say("/p", Answer::html("first"));
    let daemon = Daemon::start();
    let url = origin.url("/p");
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    let page = about(&daemon, &url);
    assert!(!page.contains("On the queue"), "{page}");
    let refresh = form(&page, REFRESH);
    assert_eq!(daemon.submit(&refresh.clone().without("token")).status, 403);
    assert!(daemon.queued().is_empty());
    let told = leads_to(&daemon, &refresh, "/info/?done=queued.1&url=http://");
    for _ in 0..2 {
        says(&daemon.page(&told).text(), "1 page was put on");
        says(&daemon.page(&told).text(), "On the queue");
        assert_eq!(daemon.queued(), [url.as_str()]);
    }
    origin.say("/p", Answer::html("second"));
    daemon.ok(&["online"]);
    eventually("it is fetched", || origin.count("/p") == 2 && daemon.queued().is_empty());
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "second");

    let pin = form(&about(&daemon, &url), "/control/pin");
    assert_eq!(daemon.submit(&pin.clone().without("token")).status, 403);
    let told = leads_to(&daemon, &pin, "/info/?http://");
    let page = daemon.page(&told).text();
    says(&page, "It is pinned");
    leads_to(&daemon, &form(&page, "/control/unpin"), "/info/?http://");
    assert!(!about(&daemon, &url).contains("It is pinned"));
}
