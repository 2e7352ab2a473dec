//! Online there is an origin: a slow or expensive tier does not take its place.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Origin, eventually};

const PAGE: &str = "http://h.example/page";

/// The time for something that happens at once on an idle machine.
const SOON: Duration = Duration::from_secs(60);

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_pull_that_stalls_ends_when_the_origin_has_answered() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say(PAGE, Answer::html("x".repeat(200_000)));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get(PAGE);
    pushed(&a, &engines, 1);
    let object = std::fs::read(&engines.objects()[0]).unwrap();
    a.down();
    engines.kill_store();
    // A store that begins the object, and then sends nothing more.
    let stalled = TcpListener::bind(engines.objects).unwrap();
    let (ended, ends) = mpsc::channel();
    std::thread::spawn(move || {
        for peer in stalled.incoming() {
            let mut peer = peer.unwrap();
            let mut head = [0; 16 << 10];
            let read = peer.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let target = head.split(' ').nth(1).unwrap_or_default();
            if !head.starts_with("GET ") || !target.contains(".warc") {
                // The check of the store may ask, too.
                let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                peer.write_all(busy.as_bytes()).unwrap();
                continue;
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", object.len());
            peer.write_all(answer.as_bytes()).unwrap();
            peer.write_all(&object[..object.len() / 2]).unwrap();
            // It ends when the node closes the connection.
            let _rest = peer.read_to_end(&mut Vec::new());
            // The test may have ended.
            let _sent = ended.send(());
        }
    });
    b.up();
    connected(&b);
    origin.say(PAGE, Answer::html("from the origin"));
    assert_eq!(b.get(PAGE).text(), "from the origin");
    ends.recv_timeout(SOON).expect("the node gives the object up");
    assert_eq!(b.status()["tier"]["pulled"], 0);
    b.ok(&["offline"]);
    assert_eq!(b.get(PAGE).text(), "from the origin", "nothing of the object is stored");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn nothing_is_read_over_a_metered_connection_unless_the_engines_are_near() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    for (path, text) in [("page", "from A"), ("other", "from A")] {
        origin.say(&format!("http://h.example/{path}"), Answer::html(text));
    }
    let mut a = engines.node("a", origin.addr, "");
    // A node of the same machine that has no engine in [local-net].
    engines.name_store("localhost");
    let metered = "[fetch-options]\nmetered = true\n";
    let mut b = engines.node("b", origin.addr, metered);
    a.up();
    a.get(PAGE);
    a.get("http://h.example/other");
    pushed(&a, &engines, 2);
    origin.say(PAGE, Answer::html("from the origin"));
    b.up();
    connected(&b);
    assert_eq!(b.get(PAGE).text(), "from the origin");
    assert_eq!(b.status()["tier"]["pulled"], 0);
    let config = std::fs::read_to_string(b.config_file()).unwrap();
    std::fs::write(b.config_file(), config.replace(metered, "")).unwrap();
    b.ok(&["config", "reload"]);
    assert_eq!(b.get("http://h.example/other").text(), "from A");
    assert_eq!(b.status()["tier"]["pulled"], 1);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn an_entry_that_the_store_refuses_does_not_hold_the_others_up() {
    let (engines, origin) = (Engines::start(), Origin::start());
    for number in 0..20 {
        origin.say(&format!("http://h.example/{number}"), Answer::html(number.to_string()));
    }
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get("http://h.example/0");
    pushed(&a, &engines, 1);
    a.kill9();
    // The object cannot be written again: a file stands where the store needs a directory.
    engines.sql("DELETE FROM wwwoffle.entries");
    let directory = engines.objects()[0].parent().unwrap().to_owned();
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::write(&directory, "in the way").unwrap();
    a.up();
    for number in 1..20 {
        a.get(&format!("http://h.example/{number}"));
    }
    let rows = || engines.count("SELECT count(*) FROM wwwoffle.entries");
    // Another object may belong into the same directory.
    eventually("the others are added", || rows() >= 18);
    std::fs::remove_file(&directory).unwrap();
    a.restart();
    eventually("it is added after all", || rows() == 20);
}
