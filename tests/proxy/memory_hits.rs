//! Responses from memory equal those from the spool, after every change of the stored copy, the
//! configuration or the mode, and for every client.

use std::path::{Path, PathBuf};

use crate::harness::{Answer, Client, Daemon, Origin, Response, eventually, files};
use crate::proxy::caching::{counted, host, page, status};
use crate::security::owners;

const FRESH: [(&str, &str); 1] = [("Cache-Control", "max-age=3600")];

/// An origin whose pages contain the number of the request and are fresh for an hour. Also returns
/// the URL of a page.
fn numbered(path: &str) -> (Origin, String) {
    let origin = Origin::start();
    let fields = FRESH.map(|(name, value)| (name, value.to_owned()));
    counted(&origin, path, move |number| page(number, &fields));
    let url = origin.url(path);
    (origin, url)
}

/// Sends requests until the stored response is two seconds old, and returns the last response. By
/// then the copy in memory has been compared with its file and served again.
#[track_caller]
fn warm(client: &mut Client, url: &str) -> Response {
    let mut last = client.get(url).whole();
    eventually("the page is two seconds old", || {
        for _ in 0..20 {
            last = client.get(url).whole();
            assert!(status(&last).starts_with("hit"), "{:?}", last.fields);
        }
        last.field("Age").parse::<u64>().is_ok_and(|age| age >= 2)
    });
    last
}

/// The file of the only page in the spool.
#[track_caller]
fn file(daemon: &Daemon) -> PathBuf {
    let mut files = files(&daemon.spool().join("http"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.pop().unwrap()
}

fn copy(from: &Path, to: &Path) {
    let aside = to.with_extension("aside");
    std::fs::copy(from, &aside).unwrap();
    std::fs::rename(aside, to).unwrap();
}

#[test]
#[ignore = "slow"]
fn a_removed_or_replaced_file_is_noticed() {
    let daemon = Daemon::start();
    let (origin, url) = numbered("/page");
    let mut client = daemon.client();
    assert_eq!(client.get(&url).whole().text(), "answer 1");
    daemon.settle();
    assert_eq!(warm(&mut client, &url).text(), "answer 1");
    let (path, first) = (file(&daemon), daemon.home().join("first"));
    std::fs::copy(&path, &first).unwrap();

    std::fs::remove_file(&path).unwrap();
    eventually("the page is requested again", || client.get(&url).whole().text() == "answer 2");
    daemon.settle();
    assert_eq!(warm(&mut client, &url).text(), "answer 2");

    copy(&first, &path);
    eventually("the first page is back", || client.get(&url).whole().text() == "answer 1");
    assert_eq!(origin.count("/page"), 2);

    // The file is overwritten in place, which damages it.
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.iter_mut().rev().find(|byte| **byte == b'1').unwrap() = b'9';
    std::fs::write(&path, bytes).unwrap();
    eventually("the damage is noticed", || {
        let text = client.get(&url).whole().text();
        assert!(text == "answer 1" || text == "answer 3" || text == "answer 9", "{text}");
        text != "answer 1"
    });
}

#[test]
#[ignore = "slow"]
fn changes_by_the_daemon_apply_to_the_next_request() {
    let daemon = Daemon::start();
    let (origin, url) = numbered("/page");
    let (mut client, mut other) = (daemon.client(), daemon.client());
    assert_eq!(client.get(&url).whole().text(), "answer 1");
    daemon.settle();
    assert_eq!(warm(&mut client, &url).text(), "answer 1");

    // Another client reloads the page.
    let reload = other.get_with(&url, "Cache-Control: no-cache\r\n").whole();
    assert_eq!(reload.text(), "answer 2");
    assert_eq!(client.get(&url).whole().text(), "answer 2");
    daemon.settle();
    assert_eq!(warm(&mut client, &url).text(), "answer 2");

    // An unsafe request invalidates the page.
    let host = host(&url);
    other.send(format!("DELETE {url} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(other.receive("DELETE").whole().text(), "answer 3");
    assert_eq!(client.get(&url).whole().text(), "answer 4");
    daemon.settle();
    assert_eq!(warm(&mut client, &url).text(), "answer 4");

    // The page is deleted.
    daemon.ok(&["rm", &url]);
    assert_eq!(client.get(&url).whole().text(), "answer 5");
    assert_eq!(origin.count("/page"), 5);
}

#[test]
#[ignore = "slow"]
fn a_change_of_mode_or_configuration_counts_with_the_next_request() {
    let daemon = Daemon::configured("");
    let (_origin, url) = numbered("/page");
    let mut client = daemon.client();
    client.get(&url).whole();
    daemon.settle();
    assert!(status(&warm(&mut client, &url)).starts_with("hit; ttl="));
    daemon.ok(&["offline"]);
    assert_eq!(status(&client.get(&url).whole()), "hit; detail=offline");
    assert_eq!(status(&warm(&mut client, &url)), "hit; detail=offline");
    daemon.ok(&["autodial"]);
    assert_eq!(status(&client.get(&url).whole()), "hit; detail=autodial");
    warm(&mut client, &url);
    daemon.ok(&["online"]);
    assert!(status(&client.get(&url).whole()).starts_with("hit; ttl="));
    warm(&mut client, &url);
    daemon.ok(&["config", "add", "dont-get.urls", "*://*/page"]);
    assert_eq!(client.get(&url).status, 403);
}

#[test]
#[ignore = "slow"]
fn personal_responses_in_memory_are_not_shared() {
    let daemon = owners::daemon();
    let origin = Origin::start();
    origin.on("/page", |request| {
        let answer = Answer::html(format!("for {}", owners::who(&request.seen.fields)));
        request.answer(&answer.field("Cache-Control", "private, max-age=3600"))
    });
    let url = origin.url("/page");
    for user in owners::USERS {
        assert_eq!(owners::get(&daemon, user, &url, "").text(), format!("for {user}"));
    }
    daemon.settle();
    eventually("the pages are two seconds old", || {
        owners::USERS.iter().all(|user| {
            let answer = owners::get(&daemon, user, &url, "");
            assert_eq!(answer.text(), format!("for {user}"));
            answer.field("Age").parse::<u64>().is_ok_and(|age| age >= 2)
        })
    });
    assert_eq!(origin.count("/page"), 2);
    assert_eq!(daemon.client().get(&url).status, 407);
}

#[test]
#[ignore = "slow"]
fn responses_from_memory_keep_their_order_on_a_connection() {
    let daemon = Daemon::start();
    let (origin, url) = numbered("/page");
    origin.on("/other", |request| request.answer(&Answer::html("other")));
    let (mut client, other) = (daemon.client(), origin.url("/other"));
    client.get(&url).whole();
    daemon.settle();
    let date = warm(&mut client, &url).field("Date").to_owned();
    let host = host(&url);
    let one = format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let two = format!("GET {other} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for _ in 0..50 {
        // One request, several requests in one write, one request in two writes, and one after
        // another.
        client.send(&one);
        assert_eq!(client.receive("GET").whole().text(), "answer 1");
        client.send([&*one, &two, &one, &one].concat());
        for want in ["answer 1", "other", "answer 1", "answer 1"] {
            assert_eq!(client.receive("GET").whole().text(), want);
        }
        let (begin, end) = one.split_at(20);
        client.send(begin);
        client.send(end);
        assert_eq!(client.receive("GET").whole().text(), "answer 1");
        client.send(&two);
        client.send(&one);
        assert_eq!(client.receive("GET").whole().text(), "other");
        assert_eq!(client.receive("GET").whole().text(), "answer 1");
        client.send(one.replace("GET", "HEAD"));
        let head = client.receive("HEAD").whole();
        assert_eq!((head.field("Content-Length"), head.field("Date")), ("8", &*date));
        client.send(format!("\r\n{one}"));
        assert_eq!(client.receive("GET").whole().text(), "answer 1");
    }
    // An invalid request on the same connection is still refused.
    client.send(format!("{}Content-Length: 1\r\nContent-Length: 2\r\n\r\n", &one[..one.len() - 2]));
    assert_eq!(client.receive("GET").status, 400);
    assert_eq!(origin.count("/page"), 1);
}

#[test]
#[ignore = "slow"]
fn the_same_bytes_on_another_port_are_another_request() {
    let daemon = Daemon::start();
    let (origin, url) = numbered("/page");
    daemon.get(&url).whole();
    daemon.settle();
    warm(&mut daemon.client(), &url);
    // A request in origin form is forwarded too, unless it names one of our own addresses.
    let request = format!("GET /page HTTP/1.1\r\nHost: {}\r\n\r\n", host(&url));
    let mut client = daemon.client();
    for _ in 0..3 {
        client.send(&request);
        assert_eq!(client.receive("GET").whole().text(), "answer 1");
    }
    let request = format!("GET /page HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.addr());
    client.send(&request);
    assert_eq!(client.receive("GET").status, 404);
    assert_eq!(origin.count("/page"), 1);
}

/// A large body is not verified again for each response while its file is unchanged.
#[test]
#[ignore = "slow"]
fn damage_to_a_verified_large_page_is_noticed() {
    let daemon = Daemon::start();
    let origin = Origin::start();
    let body = vec![b'x'; 300 * 1024];
    let answer = Answer::html(body.clone()).field("Cache-Control", "max-age=3600");
    origin.on("/large", move |request| request.answer(&answer));
    let url = origin.url("/large");
    let mut client = daemon.client();
    client.get(&url).whole();
    daemon.settle();
    assert_eq!(warm(&mut client, &url).body, body);
    let path = file(&daemon);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] = b'y';
    std::fs::write(&path, bytes).unwrap();
    eventually("the page is fetched again", || {
        daemon.client().get(&url);
        origin.count("/large") == 2
    });
    daemon.settle();
    assert_eq!(daemon.get(&url).whole().body, body);
}
