//! Compressed entries are served as before, a purge includes them, and an interruption loses
//! nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wwwoffle_spool::Timestamp;

use crate::harness::daemon::{output, run};
use crate::harness::tools::{plain, python_with};
use crate::harness::{Answer, Daemon, Origin, eventually, files, heavy, site, then};

/// Time limit for one command, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Text like that of a page: it differs for each number, and compresses well.
fn text(number: usize, length: usize) -> Vec<u8> {
    let line = |line: usize| format!("<p>Line {line} of page {number}: some words</p>\n");
    (0..).flat_map(|number| line(number).into_bytes()).take(length).collect()
}

fn raw(daemon: &Daemon, url: &str) -> Vec<u8> {
    let ran = output(daemon.command(&["cat", "--raw", url]), None, LIMIT);
    assert!(ran.status.success(), "{url}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

/// The number of compressed entry files, and the number of the other entry files.
fn counted(root: &Path) -> (usize, usize) {
    let entries = ["http", "https"].map(|scheme| root.join(scheme));
    let all: Vec<_> =
        entries.iter().filter(|scheme| scheme.exists()).flat_map(|scheme| files(scheme)).collect();
    let is_gzip = |path: &std::path::PathBuf| {
        std::fs::read(path).is_ok_and(|all| all.starts_with(b"\x1f\x8b"))
    };
    let packed = all.iter().filter(|path| is_gzip(path)).count();
    (packed, all.len() - packed)
}

#[track_caller]
fn is_sound(daemon: &Daemon) {
    let sound = daemon.run(&["fsck", "--deep"]);
    assert_eq!(sound.status, 0, "{sound:?}");
}

#[test]
#[ignore = "slow"]
fn compressed_entries_are_served_unchanged() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    let pages = [("/small", text(1, 30_000)), ("/large", text(2, (3 << 20) + 5))];
    for (path, body) in &pages {
        let answer = Answer::html(body.clone()).field("ETag", "\"one\"");
        origin.say(path, answer.field("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"));
        assert!(daemon.get(&origin.url(path)).body == *body);
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let urls = pages.each_ref().map(|(path, _)| origin.url(path));
    let check = |daemon: &Daemon| {
        let mut client = daemon.client();
        for (url, (_, body)) in urls.iter().zip(&pages) {
            let answer = client.get(url);
            assert!(answer.status == 200 && answer.body == *body, "{url}");
            for (first, last) in [(0, 9), (20_000, 20_010), (body.len() - 7, body.len() - 1)] {
                let part = client.get_with(url, &format!("Range: bytes={first}-{last}\r\n"));
                assert!(part.status == 206 && part.body == body[first..=last], "{url} {first}");
            }
            client.ask(url, "If-None-Match: \"one\"\r\n");
            assert_eq!(client.receive("GET").status, 304);
            let head = format!(
                "HEAD {url} HTTP/1.1\r\nHost: {}\r\n\r\n",
                crate::harness::client::authority(url)
            );
            client.send(head);
            let head = client.receive("HEAD");
            assert_eq!(
                (head.status, head.field("Content-Length")),
                (200, &*body.len().to_string())
            );
            assert!(raw(daemon, url) == *body);
        }
    };
    check(&daemon);
    for way in ["with", "without"] {
        let said = daemon.ok(&["gzip", &urls[0], &urls[1]]);
        assert!(said.starts_with("compressed 2 files, 3.1 MB to "), "{way}: {said}");
        assert_eq!(counted(daemon.spool()), (2, 0));
        let info = daemon.ok(&["info", &urls[1]]);
        assert!(info.contains("bytes in the file instead of "), "{info}");
        assert_eq!(daemon.ok(&["gzip", "--all"]), "compressed nothing\ncompressed already: 2\n");
        is_sound(&daemon);
        if way == "with" {
            check(&daemon);
            let listed = || daemon.run(&["ls", "--sort", "size", "--json"]).lines();
            eventually("it is in the index", || {
                let len = |one: &Value| one["file_bytes"].as_u64().unwrap();
                listed().len() == 2 && listed().iter().all(|one| len(one) < 200_000)
            });
            let page = daemon.page(&format!("/info/?{}", crate::harness::form::encode(&urls[1])));
            assert!(page.text().contains("compressed on the disk: "), "{}", page.text());
        } else {
            daemon.up();
            check(&daemon);
            daemon.down();
        }
        let host = urls[0].split('/').nth(2).unwrap();
        let said = daemon.ok(&["gunzip", "--host", host]);
        assert!(said.starts_with("expanded 2 files, "), "{said}");
        assert_eq!(counted(daemon.spool()), (0, 2));
        if way == "with" {
            check(&daemon);
            daemon.down();
        }
    }
    let missing = daemon.run(&["gzip", "http://nothing.example/"]);
    assert_eq!(missing.status, 1, "{missing:?}");
    assert!(missing.err.contains("not in the spool: http://nothing.example/"), "{missing:?}");
}

#[test]
fn the_api_compresses_the_chosen_entries() {
    let daemon = Daemon::start();
    let wrote = run(daemon.command(&["write", "http://a.example/"]), Some(&text(1, 30_000)));
    assert_eq!(wrote.status, 0, "{wrote:?}");
    let call = |body: Value| daemon.api("POST", "/api/entries/compress", &body.to_string());
    for (body, status) in [
        (json!({}), 400),
        (json!({"all": true, "host": "a.example"}), 400),
        (json!({"urls": ["http://["]}), 400),
        (json!({"all": true, "more": 1}), 400),
    ] {
        assert_eq!(call(body.clone()).status, status, "{body}");
    }
    // In this test, no control password is set, so the token is enough over TCP.
    let page = daemon.page("/").text();
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let (mut client, body) = (daemon.client(), r#"{"all":true}"#);
    client.send(format!(
        "POST /api/entries/compress HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         X-Wwwoffle-Token: {token}\r\nContent-Length: {}\r\n\r\n{body}",
        daemon.addr(),
        body.len()
    ));
    assert_eq!(client.receive("POST").whole().status, 403);
    let done: Value =
        serde_json::from_slice(&call(json!({"urls": ["http://a.example/"]})).body).unwrap();
    assert_eq!(
        (&done["done"]["rewritten"], counted(daemon.spool())),
        (&json!(1), (1, 0)),
        "{done}"
    );
    let expand = json!({"urls": ["http://a.example/", "http://b.example/"], "expand": true});
    let done: Value = serde_json::from_slice(&call(expand).body).unwrap();
    let missing = &done["done"]["missing"];
    assert_eq!((missing, counted(daemon.spool())), (&json!(["http://b.example/"]), (0, 1)));
}

/// Compresses after ten days, except for one host.
const RULES: &str = "[purge]\nage = \"never\"\ncompress-age = \"10d\"\n\
     [[purge.for]]\nurl = \"*://fast.test/*\"\ncompress-age = \"never\"\n";

#[test]
#[ignore = "slow"]
fn a_purge_compresses_old_entries() {
    for with_daemon in [true, false] {
        let mut daemon = Daemon::prepare(Some(RULES));
        let page = text(3, 50_000);
        for (url, content_type, days, body) in [
            ("http://a.test/old", "text/html", 11, &page),
            ("http://a.test/large", "text/html", 11, &text(4, 2 << 20)),
            ("http://a.test/new", "text/html", 9, &page),
            ("http://a.test/image", "image/bmp", 11, &page),
            ("http://a.test/noise", "text/html", 11, &site::noise(1, 50_000)),
            ("http://a.test/tiny", "text/html", 11, &text(5, 300)),
            ("http://fast.test/old", "text/html", 11, &page),
        ] {
            let then = Timestamp::now() - jiff::SignedDuration::from_hours(24 * days);
            then::keep(daemon.spool(), then, url, content_type, body);
        }
        if with_daemon {
            daemon.up();
            daemon.ok(&["offline"]);
        }
        let plan = || daemon.run(&["purge", "--dry-run", "--json"]).json();
        assert_eq!(plan()["compressible"]["entries"], 3, "{}", plan());
        let said = daemon.ok(&["purge", "--dry-run"]);
        assert!(said.contains("would be compressed if that saves enough: 3 entries, "), "{said}");
        assert_eq!(counted(daemon.spool()), (0, 7), "a plan compresses nothing");
        let done = daemon.run(&["purge", "--json"]).json();
        let compressed = &done["compressed"];
        assert_eq!(
            (&compressed["entries"], counted(daemon.spool())),
            (&json!(2), (2, 5)),
            "{done}"
        );
        let bytes = |name: &str| compressed[name].as_u64().unwrap();
        assert!(bytes("before") > 2 << 20 && bytes("after") < bytes("before") / 4, "{done}");
        assert_eq!(raw(&daemon, "http://a.test/large"), text(4, 2 << 20));
        // Entries that did not become smaller are tried again only after a change of the rules.
        assert_eq!(plan()["compressible"]["entries"], 0, "{}", plan());
        assert!(daemon.ok(&["purge"]).contains("compressed 0 entries"));
        daemon.ok(&["config", "set", "purge.compress-age", "8d"]);
        assert_eq!(plan()["compressible"]["entries"], 2, "{}", plan());
        if with_daemon {
            let page = daemon.page("/purge/");
            assert!(
                page.shown().contains("will be compressed with the next purge"),
                "{}",
                page.shown()
            );
        }
        assert!(daemon.ok(&["purge"]).contains("compressed 1 entry, "));
        is_sound(&daemon);
    }
}

#[test]
#[ignore = "slow"]
fn compressed_entries_are_exported_moved_and_have_versions() {
    let daemon = Daemon::configured("[caching]\nkeep-versions = 3\nversions-below = \"4 MB\"\n");
    daemon.ok(&["offline"]);
    let (small, large) = (text(1, 30_000), text(2, 2 << 20));
    let write = |url: &str, body: &[u8]| {
        let wrote = run(daemon.command(&["write", url]), Some(body));
        assert_eq!(wrote.status, 0, "{wrote:?}");
    };
    write("http://a.example/page", &large);
    daemon.ok(&["gzip", "--all"]);
    write("http://a.example/page", &small);
    write("http://a.example/large", &large);
    assert!(daemon.ok(&["gzip", "--all"]).contains("compressed 2 files, "));
    assert_eq!(counted(daemon.spool()), (3, 0), "one of them is an older version");
    let history = daemon.run(&["history", "--json", "http://a.example/page"]).json();
    let versions = history["versions"].as_array().unwrap();
    let older = versions.iter().find(|one| one["bytes"] == large.len()).unwrap();
    let stored = older["stored"].as_str().unwrap();
    daemon.ok(&["history", "--restore", stored, "http://a.example/page"]);
    assert!(raw(&daemon, "http://a.example/page") == large);
    daemon.ok(&["gzip", "--all"]);
    daemon.ok(&["mv", "http://a.example/large", "http://b.example/large"]);
    assert!(raw(&daemon, "http://b.example/large") == large);
    daemon.ok(&["gzip", "http://b.example/large"]);
    is_sound(&daemon);
    let archive = daemon.home().join("out.warc.gz");
    daemon.ok(&["export", archive.to_str().unwrap()]);
    let other = Daemon::prepare(None);
    other.ok(&["import", archive.to_str().unwrap()]);
    assert!(raw(&other, "http://b.example/large") == large);
    assert!(raw(&other, "http://a.example/page") == large);
}

#[test]
#[ignore = "slow"]
fn kill_9_during_compression_loses_nothing() {
    const PAGES: usize = 1_200;
    const ROUNDS: usize = 20;
    let _alone = heavy();
    let daemon = Daemon::prepare(None);
    let then = Timestamp::now() - jiff::SignedDuration::from_hours(48);
    let length = |number: usize| if number.is_multiple_of(100) { 700_000 } else { 20_000 + number };
    let url = |number: usize| format!("http://a.test/{number}");
    let pages = (0..PAGES).map(|number| (url(number), text(number, length(number))));
    then::keep_all(daemon.spool(), then, pages);
    let mut killed = 0;
    for round in 0..ROUNDS {
        let (verb, is_packing) = if round % 4 == 3 { ("gunzip", false) } else { ("gzip", true) };
        let done = || {
            let (packed, plain) = counted(daemon.spool());
            if is_packing { packed } else { plain }
        };
        let before = done();
        let mut command = daemon.command(&[verb, "--all"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let more = 5 + 4 * round;
        eventually("more is rewritten", || {
            done() >= before + more || child.try_wait().unwrap().is_some()
        });
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        is_sound(&daemon);
    }
    assert!(killed >= ROUNDS / 2, "only {killed} were killed before their end");
    daemon.ok(&["gzip", "--all"]);
    assert_eq!(counted(daemon.spool()), (PAGES, 0));
    for number in (0..PAGES).step_by(23) {
        assert!(raw(&daemon, &url(number)) == text(number, length(number)), "{number}");
    }
    is_sound(&daemon);
    assert!(!daemon.spool().join("damaged").read_dir().unwrap().any(|_| true));
    assert!(!daemon.spool().join("tmp").read_dir().unwrap().any(|_| true));
}

#[test]
#[ignore = "needs python3 with pywb"]
fn other_tools_replay_a_compressed_spool() {
    let python = python_with("pywb");
    let daemon = Daemon::prepare(None);
    let then = Timestamp::now() - jiff::SignedDuration::from_hours(48);
    let pages: Vec<_> = [(1, 20_000), (2, 300_000), (3, 2 << 20)]
        .map(|(number, length)| (format!("http://a.test/{number}"), text(number, length)))
        .into();
    then::keep_all(daemon.spool(), then, pages.clone().into_iter());
    daemon.ok(&["gzip", "--all"]);
    assert_eq!(counted(daemon.spool()), (3, 0));
    let rows: String = pages
        .iter()
        .map(|(url, body)| format!("{url}\t{}\n", hex::encode(Sha256::digest(body))))
        .collect();
    let mut command = plain(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives/replay.py"));
    command.args(files(&daemon.spool().join("http")));
    let ran = run(command, Some(rows.as_bytes()));
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
}

#[test]
fn a_damaged_compressed_body_is_damage_and_no_failing_disk() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let style = b"/* Much of the same. */\n".repeat(20_000);
    origin.say("/style.css", Answer::new(200, "text/css", style));
    let page = r#"<link rel="stylesheet" href="/style.css"><p>Page</p>"#;
    origin.say("/page", Answer::html(page));
    let [style, page] = ["/style.css", "/page"].map(|path| origin.url(path));
    for url in [&style, &page] {
        assert_eq!(daemon.get(url).status, 200);
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    daemon.ok(&["gzip", &style]);
    let told = daemon.ok(&["hash", style.as_str()]);
    let file = daemon.spool().join(told.trim().split_once(' ').unwrap().1);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let about = daemon.run(&["info", &page]);
    assert!(about.status == 0 && !about.err.contains("failed"), "{about:?}");
    let printed = daemon.run(&["cat", &style]);
    assert!(printed.status != 0 && printed.err.contains("the body is damaged"), "{printed:?}");
}
