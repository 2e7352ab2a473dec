//! The import of a spool of WWWOFFLE 2.9: requests for recursive fetches, and the dates of pages.

use std::time::{Duration, SystemTime};

use wwwoffle_url::{make_hash, url_encode_form_args};

use crate::harness::{Answer, Daemon, Origin, eventually};

/// Writes a file into a spool of 2.9, with the file that contains its URL.
fn write(place: &Daemon, directory: &str, letter: char, url: &str, content: &[u8]) {
    let directory = place.home().join("old").join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let hash = make_hash(url.as_bytes());
    std::fs::write(directory.join(format!("{letter}{hash}")), content).unwrap();
    std::fs::write(directory.join(format!("U{hash}")), url).unwrap();
}

fn set_time(place: &Daemon, file: &str, second: u64) {
    let file = std::fs::File::options().write(true).open(place.home().join(file)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
}

/// The URL and the request that 2.9 stores for a recursive fetch.
fn recursive(url: &str) -> (String, String) {
    let url = url_encode_form_args(url.as_bytes());
    let target = format!("http://localhost:8080/refresh-recurse/?url={url};depth=1;images=Y");
    let head = format!("GET {target} HTTP/1.0\r\nHost: localhost:8080\r\n\r\n");
    (target, head)
}

#[test]
fn recursive_requests_and_monitors_follow_links_as_before() {
    let origin = Origin::start();
    for name in ["/queued/", "/monitored/"] {
        let link = Answer::html(format!("<a href=\"{name}linked.html\">linked</a>"));
        origin.say(name, link);
        origin.say(&format!("{name}linked.html"), Answer::html("<a href=/far.html>far</a>"));
    }
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let (target, head) = recursive(&origin.url("/queued/"));
    write(&daemon, "outgoing", 'O', &target, head.as_bytes());
    let (target, head) = recursive(&origin.url("/monitored/"));
    write(&daemon, "monitor", 'O', &target, head.as_bytes());
    let mask = ["1".repeat(12), "1".repeat(31), "1".repeat(7), "1".repeat(24)].join("\n");
    let mask_file = format!("old/monitor/M{}", make_hash(target.as_bytes()));
    std::fs::write(daemon.home().join(mask_file), mask).unwrap();
    // The time of the last scheduled fetch is in the past.
    set_time(&daemon, &format!("old/monitor/O{}", make_hash(target.as_bytes())), 1_577_836_800);
    let old = daemon.home().join("old");
    let said = daemon.ok(&["import", old.to_str().unwrap()]);
    assert!(!said.contains("refused"), "{said}");
    assert_eq!(daemon.queued(), [origin.url("/queued/")]);
    assert!(daemon.ok(&["monitor", "list"]).contains(&origin.url("/monitored/")));

    daemon.ok(&["online"]);
    for name in ["/queued/", "/monitored/"] {
        let linked = format!("{name}linked.html");
        eventually(&format!("{linked} is fetched"), || origin.count(&linked) == 1);
    }
    daemon.settle();
    assert_eq!((origin.count("/queued/"), origin.count("/far.html")), (1, 0), "one link away");
}

#[test]
fn an_imported_page_counts_as_stored_when_it_was_captured() {
    let daemon = Daemon::start();
    let url = "http://a.example/page";
    let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Old</title>";
    write(&daemon, "http/a.example", 'D', url, answer);
    // 1 January 2020.
    let file = format!("old/http/a.example/D{}", make_hash(url.as_bytes()));
    set_time(&daemon, &file, 1_577_836_800);
    daemon.ok(&["import", daemon.home().join("old").to_str().unwrap()]);
    let within = |until: &str| daemon.ok(&["ls", "--since", "2019-12-01", "--until", until]);
    assert!(within("2020-02-01").contains(url));
    assert!(!within("2019-12-31").contains(url));
    assert_eq!(daemon.ok(&["ls", "--since", "2020-02-01"]), "");
}
