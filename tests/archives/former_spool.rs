//! The import of a spool of WWWOFFLE 2.9: requests for recursive fetches, and the dates of pages.

use std::time::{Duration, SystemTime};

use wwwoffle_url::{make_hash, url_encode_form_args};

use crate::harness::{Answer, Daemon, Origin, eventually};

/// Writes a file into a spool of 2.9: `letter` and the hash of `url` are its name. Also writes the
/// `U` file, which contains the URL.
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

/// The URL and the request head that 2.9 stores for a recursive fetch of `url`.
fn recursive(url: &str) -> (String, String) {
    let url = url_encode_form_args(url.as_bytes());
    let target = format!("http://localhost:8080/refresh-recurse/?url={url};depth=1;images=Y");
    let head = format!("GET {target} HTTP/1.0\r\nHost: localhost:8080\r\n\r\n");
    (target, head)
}

#[test]
fn imported_recursive_requests_and_monitors_follow_links() {
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
    for letter in ['O', 'M'] {
        let file = format!("old/monitor/{letter}{}", make_hash(target.as_bytes()));
        set_time(&daemon, &file, 1_577_836_800);
    }
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
fn requests_to_pages_of_2_9_that_fetch_a_url_become_requests_for_that_url() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in ["/refreshed", "/requested"] {
        let answer = Answer::html("<p>x").field("Cache-Control", "max-age=600");
        origin.say(path, answer);
        daemon.get(&origin.url(path)).whole();
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    let old = "http://127.0.0.1:8080";
    let requested = url_encode_form_args(origin.url("/requested").as_bytes());
    for target in [
        format!("{old}/refresh/?{}", origin.url("/refreshed")),
        format!("{old}/refresh-request/?url={requested}"),
        format!("{old}/refresh-options/?url={requested}"),
    ] {
        let head = format!("GET {target} HTTP/1.0\r\nHost: 127.0.0.1:8080\r\n\r\n");
        write(&daemon, "outgoing", 'O', &target, head.as_bytes());
    }
    let old = daemon.home().join("old");
    let told = daemon.run(&["import", "--json", old.to_str().unwrap()]).json();
    assert_eq!((&told["queued"], &told["refused"]), (&2.into(), &1.into()), "{told}");
    let mut queued = daemon.queued();
    queued.sort();
    assert_eq!(queued, [origin.url("/refreshed"), origin.url("/requested")]);
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!((origin.count("/refreshed"), origin.count("/requested")), (2, 2), "fetched again");
}

#[test]
fn a_queued_form_of_a_spool_without_pages_is_sent_with_its_body() {
    let origin = Origin::start();
    let (sent, bodies) = std::sync::mpsc::channel();
    origin.on("/form", move |exchange| {
        let body = (exchange.seen.method.clone(), exchange.body()?.to_vec());
        // Sending fails if the test has ended: it reads only the first body.
        let _ = sent.send(body);
        exchange.answer(&Answer::html("thanks"))
    });
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let (url, body) = (origin.url("/form"), "name=Ada&text=a+%26+b");
    let head = format!(
        "POST {url} HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let target = format!("{url}?!POST:{}.5f0e8a11", make_hash(body.as_bytes()));
    write(&daemon, "outgoing", 'O', &target, format!("{head}{body}").as_bytes());
    let old = daemon.home().join("old");
    assert_eq!(std::fs::read_dir(&old).unwrap().count(), 1, "it has a queue and nothing else");
    let told = daemon.run(&["import", "--json", old.to_str().unwrap()]).json();
    assert_eq!((&told["queued"], &told["refused"]), (&1.into(), &0.into()), "{told}");
    assert_eq!(daemon.queue()[0]["method"], "POST");
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    let got = bodies.recv_timeout(crate::harness::PATIENCE).unwrap();
    assert_eq!(got, ("POST".to_owned(), body.as_bytes().to_vec()));
    assert_eq!(origin.count("/form"), 1, "it is sent once");
}

#[test]
fn an_imported_form_response_is_served_and_never_fetched() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = format!("{}?!POST:{}.5f0e8a11", origin.url("/form"), make_hash(b"a=b"));
    let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Thanks</title>";
    write(&daemon, "http/127.0.0.1", 'D', &url, answer);
    let told = daemon.ok(&["import", daemon.home().join("old").to_str().unwrap()]);
    assert!(!told.contains("refused"), "{told}");
    assert_eq!(daemon.run(&["ls", "--json"]).lines()[0]["url"], url);
    assert_eq!(daemon.ok(&["cat", &url]), "<title>Thanks</title>");
    for mode in ["offline", "autodial", "online"] {
        daemon.ok(&[mode]);
        let got = daemon.client().get_with(&url, "Cache-Control: no-cache\r\n").whole();
        assert_eq!(got.text(), "<title>Thanks</title>", "{mode}");
        let status = got.field("Cache-Status");
        assert!(status.ends_with("hit; detail=form-answer"), "{mode}: {status}");
        let reload = "Accept: text/html\r\nCache-Control: max-age=0\r\n";
        let page = daemon.client().get_with(&url, reload).whole().text();
        assert!(page.contains("The form cannot be sent again"), "{mode}: {page}");
    }
    daemon.settle();
    assert_eq!((daemon.queue().len(), origin.asked("/form").len()), (0, 0));
}

#[test]
fn an_imported_page_is_purged_by_the_age_of_its_capture() {
    let daemon = Daemon::configured("[purge]\nage = \"4w\"\n");
    let urls = ["http://a.example/old", "http://a.example/new"];
    for url in urls {
        let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Old</title>";
        write(&daemon, "http/a.example", 'D', url, answer);
    }
    let file = format!("old/http/a.example/D{}", make_hash(urls[0].as_bytes()));
    set_time(&daemon, &file, 1_577_836_800);
    daemon.ok(&["import", daemon.home().join("old").to_str().unwrap()]);
    assert_eq!(daemon.run(&["ls", "--json"]).lines().len(), 2);
    daemon.ok(&["purge"]);
    let left: Vec<_> = daemon.run(&["ls", "--json"]).lines();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["url"], urls[1]);
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

#[test]
fn imported_pages_of_ftp_and_finger_are_readable_in_every_mode() {
    let daemon = Daemon::start();
    for (scheme, path, kind, body) in [
        ("ftp", "/pub/", "text/html", "<a href=\"a.txt\">a</a>"),
        ("ftp", "/pub/a.txt", "text/plain", "a file"),
        ("finger", "/ada", "text/plain", "Login: ada"),
    ] {
        let url = format!("{scheme}://old.invalid{path}");
        let answer = format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}");
        write(&daemon, &format!("{scheme}/old.invalid"), 'D', &url, answer.as_bytes());
    }
    let old = daemon.home().join("old");
    daemon.ok(&["import", old.to_str().unwrap()]);
    for mode in ["offline", "autodial", "online"] {
        daemon.ok(&[mode]);
        for (url, body) in
            [("ftp://old.invalid/pub/a.txt", "a file"), ("finger://old.invalid/ada", "Login: ada")]
        {
            let page = daemon.get(url);
            assert_eq!((page.status, page.text().as_str()), (200, body), "{mode}: {url}");
            let (scheme, rest) = url.split_once("://").unwrap();
            let page = crate::ftp::read(&daemon, &format!("/{scheme}/{rest}"));
            assert_eq!((page.status, page.text().as_str()), (200, body), "{mode}: {url}");
        }
        let listing = crate::ftp::read(&daemon, "/ftp/old.invalid/pub/").text();
        assert!(listing.contains("href=\"/ftp/old.invalid/pub/a.txt\""), "{mode}: {listing}");
    }
}
