//! The records of one entry from `/info/warc`, as another program reads them. They are complete
//! however the entry is stored, available to those who may see the entry, and without secrets.

use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::archives::exchange::script;
use crate::harness::client::Response;
use crate::harness::form::encode;
use crate::harness::tools::{plain, python_with};
use crate::harness::{Answer, Daemon, Origin, site};
use crate::security::owners;

/// Text that compresses well but does not repeat.
fn text(length: usize) -> Vec<u8> {
    let line = |line: usize| format!("<p>Line {line}: some words of a page</p>\n").into_bytes();
    (0..).flat_map(line).take(length).collect()
}

fn path(url: &str) -> String {
    format!("/info/warc?{}", encode(url))
}

/// The response and the request, as warcio reads them. The archive has no other records and
/// contains no secrets.
#[track_caller]
fn records(daemon: &Daemon, answer: &Response) -> [Value; 2] {
    assert_eq!((answer.status, answer.field("Content-Type")), (200, "application/warc"));
    let mut text = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(&*answer.body);
    std::io::Read::read_to_end(&mut reader, &mut text).unwrap();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    // The last two are `u:hunter2` and `ada:secret of ada` in Base64.
    for secret in ["hunter2", "dTpodW50ZXIy", "YWRhOnNlY3JldCBvZiBhZGE"] {
        assert!(!text.contains(&secret.to_ascii_lowercase()), "{secret} in {text}");
    }
    let file = daemon.home().join("one.warc.gz");
    std::fs::write(&file, &answer.body).unwrap();
    let python = plain(Command::new("python3"));
    let ran = script(python, "records.py", &[file.to_str().unwrap().to_owned()], "");
    assert_eq!(ran.status, 0, "{ran:?}");
    let mut all = ran.lines();
    all.retain(|record| record["type"] != "warcinfo");
    let all: [Value; 2] = all.try_into().expect("a response and a request");
    for record in &all {
        assert_eq!(record["problems"], Value::Array(Vec::new()), "{record}");
        for secret in
            ["cookie", "set-cookie", "set-cookie2", "authorization", "proxy-authorization"]
        {
            let fields = record["fields"].as_array().unwrap();
            assert!(!fields.contains(&secret.into()), "{secret} in {record}");
        }
    }
    assert_eq!((&all[0]["type"], &all[0]["sound"]), (&"response".into(), &true.into()), "{all:?}");
    assert_eq!(all[1]["type"], "request", "{all:?}");
    all
}

#[track_caller]
fn has(records: &[Value; 2], url: &str, body: &[u8]) {
    let [answer, request] = records;
    assert_eq!((&answer["url"], &request["url"]), (&url.into(), &url.into()));
    assert_eq!((&answer["status"], &answer["length"]), (&"200".into(), &body.len().into()));
    assert_eq!(answer["sha256"], hex::encode(Sha256::digest(body)).as_str(), "{url}");
    let fields = answer["fields"].as_array().unwrap();
    assert!(fields.contains(&"x-mark".into()), "the other fields are missing: {answer}");
}

fn marked(kind: &'static str, body: Vec<u8>) -> Answer {
    Answer::new(200, kind, body).field("X-Mark", "1")
}

#[test]
#[ignore = "needs python3 with warcio"]
fn the_records_of_a_compressed_entry_are_complete() {
    python_with("warcio");
    let (origin, daemon) = (Origin::start(), Daemon::start());
    let (plain, secret) = (text(40_000), text((1 << 20) + 7));
    origin.say("/plain", marked("text/html", plain.clone()));
    let answer = marked("text/html", secret.clone()).field("Set-Cookie", "id=hunter2");
    origin.say("/secret", answer.field("Set-Cookie2", "id=hunter2"));
    let urls = ["/plain", "/secret"].map(|path| origin.url(path));
    assert_eq!(daemon.get(&urls[0]).status, 200);
    let fields = "Cookie: id=hunter2\r\nAuthorization: Basic dTpodW50ZXIy\r\n";
    assert_eq!(daemon.client().get_with(&urls[1], "Cookie: id=hunter2\r\n").whole().status, 200);
    // The response to a request with a login is another entry of the same URL.
    daemon.client().get_with(&urls[0], fields).whole();
    daemon.settle();
    for way in ["as received", "compressed", "expanded"] {
        match way {
            "compressed" => assert!(daemon.ok(&["gzip", &urls[0], &urls[1]]).contains("3 files")),
            "expanded" => assert!(daemon.ok(&["gunzip", &urls[0], &urls[1]]).contains("3 files")),
            _ => {}
        }
        for (url, body) in urls.iter().zip([&plain, &secret]) {
            let is_compressed = daemon.ok(&["info", url]).contains("bytes in the file instead of ");
            assert_eq!(is_compressed, way == "compressed", "{url}");
            let answer = daemon.page(&path(url)).whole();
            has(&records(&daemon, &answer), url, body);
        }
    }
}

#[test]
#[ignore = "needs python3 with warcio"]
fn the_records_of_a_shared_body_are_complete_for_each_entry() {
    python_with("warcio");
    let origin = Origin::start();
    let daemon = Daemon::configured("[purge]\nage = \"never\"\n");
    let picture = site::noise(7, 120_000);
    let urls = ["/a.png", "/b.png", "/c.png"].map(|path| {
        origin.say(path, marked("image/png", picture.clone()));
        origin.url(path)
    });
    for url in &urls {
        assert_eq!(daemon.get(url).status, 200);
    }
    daemon.settle();
    assert!(daemon.ok(&["purge"]).contains("3 entries use 1 shared file"));
    let check = |url: &str| {
        let info = daemon.run(&["info", "--json", url]).json();
        assert_eq!(info["kept"]["shared"], true, "{info}");
        let answer = daemon.page(&path(url)).whole();
        has(&records(&daemon, &answer), url, &picture);
    };
    for url in &urls {
        check(url);
    }
    // Two of the three entries that share the body are removed. The third is still complete.
    daemon.ok(&["rm", &urls[0], &urls[1]]);
    assert_eq!(daemon.page(&path(&urls[0])).status, 404);
    check(&urls[2]);
}

#[test]
#[ignore = "needs python3 with warcio"]
fn the_records_of_a_personal_entry_are_served_to_its_owner_only() {
    python_with("warcio");
    let origin = Origin::start();
    for path in ["/mine", "/login"] {
        origin.on(path, |request| {
            let body = format!("for {}", owners::who(&request.seen.fields)).into_bytes();
            let answer = marked("text/html", body).field("Cache-Control", "private");
            request.answer(&answer.field("Set-Cookie", "id=hunter2"))
        });
    }
    let daemon = owners::daemon();
    daemon.ok(&["online"]);
    let (mine, login) = (origin.url("/mine"), origin.url("/login"));
    let named = login.replace("http://", "http://u:hunter2@");
    owners::get(&daemon, "ada", &mine, "Cookie: id=hunter2\r\n");
    owners::get(&daemon, "ada", &login, "Authorization: Basic dTpodW50ZXIy\r\n");
    daemon.settle();
    daemon.ok(&["offline"]);
    let of = |user: &str, url: &str| owners::page(&daemon, user, &path(url));
    has(&records(&daemon, &of("ada", &mine)), &mine, b"for ada");
    has(&records(&daemon, &of("ada", &named)), &login, b"for ada");
    for url in [&mine, &named, &login] {
        let none = of("bob", url);
        assert_eq!(none.status, 404, "{url}");
        assert!(!none.text().contains("for ada"), "{}", none.text());
    }
    // Each user gets the copy that belongs to this user.
    daemon.ok(&["online"]);
    owners::get(&daemon, "bob", &mine, "Cookie: id=hunter2\r\n");
    daemon.settle();
    for (user, body) in [("ada", b"for ada"), ("bob", b"for bob")] {
        has(&records(&daemon, &of(user, &mine)), &mine, body);
    }
    // Without a login, no copy is available.
    assert_ne!(daemon.page(&path(&mine)).status, 200);
}
