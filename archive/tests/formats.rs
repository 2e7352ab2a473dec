//! Formats other than WARC: WACZ, HAR, a spool of WWWOFFLE 2.9, mirrors of HTTrack and wget.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use support::{Bench, classic, gzip, page, place, response, sha256, time};
use wwwoffle_archive::{ImportControl, ImportReport, PlainPlacement, import};
use wwwoffle_spool::{Place, RequestKind, Secrets};
use wwwoffle_url::{CanonicalUrl, LocalHost, make_hash};

const DATE: &str = "2024-05-01T10:00:00Z";

fn reasons(report: &ImportReport) -> Vec<&str> {
    report.refusals.iter().map(|refused| refused.reason.as_str()).collect()
}

fn wacz(archive: &[u8], digest: &str) -> Vec<u8> {
    let package = json!({
        "profile": "data-package",
        "resources": [{"name": "data.warc.gz", "path": "archive/data.warc.gz", "hash": digest}],
    });
    support::zip(&[
        ("archive/data.warc.gz", archive, b""),
        ("pages/pages.jsonl", b"{}\n", b""),
        ("datapackage.json", package.to_string().as_bytes(), b""),
    ])
}

#[test]
fn a_wacz_is_imported_if_its_digests_match() {
    let archive = gzip(&response("http://a.example/", DATE, &page("hello")));
    let bench = Bench::new();
    let good = bench.write("a.wacz", &wacz(&archive, &sha256(&archive)));
    assert_eq!(bench.import(&good).kept, 1);
    assert_eq!(bench.body("http://a.example/"), b"hello");
    let bench = Bench::new();
    let bad = bench.write("a.wacz", &wacz(&archive, &sha256(b"other")));
    assert_eq!(reasons(&bench.import(&bad)), ["its digest differs from datapackage.json"]);
    assert!(bench.entry("http://a.example/").is_none());
}

/// A damaged WARC file does not affect the others.
#[test]
fn a_refused_archive_in_a_wacz_does_not_affect_others() {
    let url = |number: usize| format!("http://a.example/{number}");
    let archives = [0, 1, 2].map(|number| gzip(&response(&url(number), DATE, &page("hello"))));
    let names = [0, 1, 2].map(|number| format!("archive/{number}.warc.gz"));
    let resources: Vec<Value> = (names.iter().zip(&archives).enumerate())
        .map(|(number, (name, archive))| {
            let hash = if number == 1 { sha256(b"other") } else { sha256(archive) };
            json!({"path": name, "hash": hash})
        })
        .collect();
    let package = json!({ "resources": resources }).to_string();
    let mut members: Vec<(&str, &[u8], &[u8])> =
        vec![("datapackage.json", package.as_bytes(), b"")];
    members.extend(names.iter().zip(&archives).map(|(name, one)| (&**name, &**one, &b""[..])));
    let bench = Bench::new();
    let report = bench.import(&bench.write("a.wacz", &support::zip(&members)));
    assert_eq!((report.kept, report.refused), (2, 1), "{report:?}");
    assert!(bench.entry(&url(1)).is_none());
}

#[test]
fn an_invalid_file_in_a_wacz_does_not_affect_others() {
    let good = gzip(&response("http://a.example/", DATE, &page("hello")));
    // Bad files: a dictionary of 4 GiB, an invalid dictionary, a file that is not an archive, and
    // an empty file.
    let bad: [&[u8]; 4] = [
        b"\x5d\x2a\x4d\x18\xff\xff\xff\xff...",
        b"\x5d\x2a\x4d\x18\x04\0\0\0\x28\xb5",
        b"no archive",
        b"",
    ];
    for content in bad {
        let resources = [("archive/0.warc.zst", content), ("archive/1.warc.gz", &good)]
            .map(|(name, one)| json!({"path": name, "hash": sha256(one)}));
        let package = json!({ "resources": resources }).to_string();
        let bench = Bench::new();
        let path = bench.write(
            "a.wacz",
            &support::zip(&[
                ("datapackage.json", package.as_bytes(), b""),
                ("archive/0.warc.zst", content, b""),
                ("archive/1.warc.gz", &good, b""),
            ]),
        );
        let report = bench.import(&path);
        assert_eq!(
            (report.kept, report.refused),
            (1, u64::from(!content.is_empty())),
            "{report:?}"
        );
        for refused in &report.refusals {
            assert!(["archive/0.warc.zst", "a record"].contains(&&*refused.name), "{refused:?}");
        }
    }
}

#[test]
fn a_zip_whose_members_overlap_is_refused() {
    let archive = gzip(&response("http://a.example/", DATE, &page(&"hello".repeat(999))));
    let mut bytes = wacz(&archive, &sha256(&archive));
    let at = bytes.len() - 22;
    let start = u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap());
    let directory = bytes[usize::try_from(start).unwrap()..at].repeat(9);
    bytes.truncate(usize::try_from(start).unwrap());
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([27_u16; 2].map(u16::to_le_bytes).concat());
    let length = u32::try_from(directory.len()).unwrap();
    bytes.extend([length, start].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    let bench = Bench::new();
    let path = bench.write("a.wacz", &bytes);
    let spool = &bench.spool;
    let done = import(spool, &path, &support::options(), &PlainPlacement, &mut |_| {
        ImportControl::Continue
    });
    assert!(done.unwrap_err().to_string().contains("its members overlap"));
}

fn har(entries: &[Value]) -> Vec<u8> {
    let log = json!({"version": "1.2", "creator": {"name": "x"}, "pages": [], "entries": entries});
    json!({ "log": log }).to_string().into_bytes()
}

fn entry(url: &str, content: &Value) -> Value {
    json!({
        "startedDateTime": "2024-05-01T12:00:00.500+02:00",
        "time": 500.0,
        "request": {
            "method": "GET", "url": url, "httpVersion": "h2", "cookies": [],
            "headers": [{"name": ":authority", "value": "a.example"}, {"name": "accept", "value": "*/*"}],
        },
        "response": {
            "status": 200, "statusText": "", "httpVersion": "h2", "redirectURL": "",
            "headers": [
                {"name": "content-type", "value": "text/html; charset=iso-8859-1"},
                {"name": "content-encoding", "value": "br"},
                {"name": "cache-control", "value": "max-age=60, public"},
                {"name": "content-length", "value": "5"},
            ],
            "content": content,
        },
    })
}

#[test]
fn a_har_is_imported_as_decoded_by_the_browser() {
    let image: Vec<u8> = (0..=255).collect();
    let coded = json!({"size": 256, "mimeType": "image/png", "text": STANDARD.encode(&image), "encoding": "base64"});
    let cut = json!({"size": 300, "mimeType": "image/png", "text": STANDARD.encode(&image), "encoding": "base64"});
    let text = json!({"size": 3, "mimeType": "text/html", "text": "\u{e9}"});
    let missing = json!({"size": 3, "mimeType": "text/html"});
    let mut posted = entry("https://a.example/form", &text);
    posted["request"]["method"] = "POST".into();
    let mut unsent = posted.clone();
    posted["request"]["postData"] = json!({"mimeType": "text/plain", "text": "a=b"});
    unsent["request"]["url"] = "https://a.example/unsent".into();
    let mut failed = entry("https://a.example/failed", &text);
    failed["response"]["status"] = 0.into();
    let mut personal = entry("https://a.example/personal", &text);
    personal["request"]["cookies"] = json!([{"name": "a", "value": "b"}]);
    // The HAR lists no cookie, but browsers leave cookies out.
    let mut untold = entry("https://a.example/untold", &text);
    untold["response"]["headers"] = json!([]);
    let mut moved = entry("https://a.example/moved", &missing);
    moved["response"]["status"] = 301.into();
    let entries = [
        entry("https://a.example/a.png", &coded),
        entry("https://a.example/text", &text),
        posted,
        personal,
        untold,
        moved,
        entry("data:text/plain,x", &text),
        entry("https://a.example/cut", &cut),
        entry("https://a.example/missing", &missing),
        unsent,
        failed,
        json!({"request": {}}),
    ];
    for bytes in [har(&entries), gzip(&har(&entries))] {
        let bench = Bench::new();
        let report = bench.import(&bench.write("a.har", &bytes));
        assert_eq!((report.kept, report.passed, report.refused), (6, 1, 5), "{report:?}");
        assert_eq!(bench.body("https://a.example/a.png"), image);
        let kept = bench.entry("https://a.example/text").unwrap();
        assert_eq!(support::body(&kept), "\u{e9}".as_bytes());
        assert_eq!(kept.received(), time("2024-05-01T10:00:01Z"));
        let head = String::from_utf8_lossy(kept.head()).into_owned();
        assert!(head.contains("Content-Type: text/html; charset=utf-8\r\n"), "{head}");
        assert!(head.contains("Content-Length: 2\r\n") && !head.contains("encoding"), "{head}");
        assert_eq!(kept.request(), b"GET /text HTTP/1.1\r\naccept: */*\r\n\r\n");
        for url in ["https://a.example/personal", "https://a.example/untold"] {
            assert!(bench.own(url).is_some() && bench.entry(url).is_none(), "{url}");
        }
        let whys =
            ["its body is incomplete", "its body was not saved", "answers a form", "no response"];
        for (reason, why) in reasons(&report).iter().zip(whys) {
            assert!(reason.contains(why), "{reason}");
        }
        let cut = bench.write("cut.har", &bytes[..bytes.len() - 9]);
        let report = bench.import(&cut);
        assert!(report.kept + report.same >= 1 && report.refused >= 1, "{report:?}");
    }
}

#[test]
#[ignore = "slow"]
fn har_import_refuses_incomplete_bodies() {
    let kind = |value: &str| json!({"name": "Content-Type", "value": value});
    let latin = [kind("text/html; charset=windows-1252")];
    let (utf8, plain) = ([kind("text/html; charset=UTF-8")], [kind("text/html")]);
    let packed = [kind("text/html"), json!({"name": "content-encoding", "value": "br"})];
    let empty = [kind("text/html"), json!({"name": "Content-Length", "value": "0"})];
    let text = |size: i64, text: &str| json!({"size": size, "text": text});
    let coded = |content: Value| {
        let mut content = content;
        content["encoding"] = "base64".into();
        content
    };
    let none = json!({"size": 0, "mimeType": "text/html"});
    for (fields, sent, content, want) in [
        // The browser has discarded content that it could not show.
        (&plain[..], -1, coded(text(881, "")), None),
        (&utf8, -1, text(5, ""), None),
        (&utf8, -1, text(5, "h\u{e9}"), None),
        (&utf8, -1, text(3, "h\u{e9}"), Some("h\u{e9}")),
        (&utf8, -1, text(6, "h\u{e9}"), Some("h\u{e9}")),
        (&utf8, -1, text(3, "h\u{fffd}x"), Some("h\u{fffd}x")),
        (&latin, -1, text(2, "h\u{e9}"), Some("h\u{e9}")),
        (&latin, -1, text(900, "h\u{e9}"), None),
        (&plain, -1, text(8, "h\u{e9}x"), Some("h\u{e9}x")),
        (&plain, -1, text(2, "h\u{e9}x"), None),
        (&plain, -1, text(0, "h\u{e9}x"), Some("h\u{e9}x")),
        // mitmproxy gives the transferred length as `size`, and the difference as `compression`.
        (&packed, 30, json!({"size": 30, "compression": -27, "text": "abc"}), Some("abc")),
        (&packed, 30, coded(json!({"size": 30, "compression": -27, "text": "YWJj"})), Some("abc")),
        (&packed, 30, coded(json!({"size": 30, "compression": -26, "text": "YWJj"})), None),
        (&plain, 0, none.clone(), Some("")),
        (&empty, -1, none.clone(), Some("")),
        (&packed, 0, none.clone(), None),
        (&plain, -1, none.clone(), None),
        (&plain, 20, none.clone(), None),
        (&plain, -1, text(0, ""), Some("")),
    ] {
        let mut one = entry("https://a.example/", &content);
        let fields = [fields, &[json!({"name": "Cache-Control", "value": "public"})]].concat();
        one["response"]["headers"] = fields.into();
        one["response"]["bodySize"] = sent.into();
        let bench = Bench::new();
        let report = bench.import(&bench.write("a.har", &har(&[one.clone()])));
        let kept = bench.entry("https://a.example/").map(|kept| support::body(&kept));
        assert_eq!(kept.as_deref(), want.map(str::as_bytes), "{one}: {report:?}");
        assert_eq!(report.refused, u64::from(want.is_none()), "{one}: {report:?}");
    }
}

fn set_time(path: &Path, second: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
}

#[test]
fn a_spool_of_2_9_is_imported_with_queue_and_monitors() {
    let bench = Bench::new();
    let root = bench.path("old");
    for directory in ["outgoing", "lasttime", "monitor"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    let add = |directory: &str, letter, url: &str, end: &str, content: &[u8]| {
        classic(&bench, directory, letter, url, end, content);
    };
    let head = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n";
    let plain = |body: &str| format!("{head}\r\n{body}").into_bytes();
    let url = "http://www.example.org/";
    add("http/www.example.org", 'D', url, "", &plain("now"));
    add("http/www.example.org", 'D', url, "~", &plain("before"));
    let hash = make_hash(url.as_bytes());
    set_time(&root.join(format!("http/www.example.org/D{hash}")), 1_700_000_000);
    set_time(&root.join(format!("http/www.example.org/D{hash}~")), 1_600_000_000);
    let coded = gzip(b"<p>long ago");
    let fields =
        "Content-Encoding: x-gzip\r\nPragma: wwwoffle-compressed\r\nContent-Length: 11\r\n";
    let compressed = [format!("{head}{fields}\r\n").as_bytes(), &coded].concat();
    add("http/www.example.org", 'D', "http://www.example.org/old", "", &compressed);
    // 2.9 has decoded this body. Its head has the transferred length.
    let decoded = format!("{head}Content-Length: 3\r\n\r\n<p>decoded");
    add("https/a.example:444", 'D', "https://a.example:444/x?y", "", decoded.as_bytes());
    add("ftp/f.example", 'D', "ftp://me:secret@f.example/f", "", &plain("mine"));
    add(
        "http/a.example",
        'D',
        "http://a.example/cut",
        "",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    );
    let answer = "http://a.example/f?!b=c!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11";
    add("http/a.example", 'D', answer, "", &plain("answer"));
    add(
        "http/a.example",
        'D',
        "http://a.example/m",
        "",
        b"HTTP/1.0 404 WWWOFFLE Host Not Got\r\n\r\nx",
    );
    bench.write(&format!("old/http/a.example/D{}", make_hash(b"none")), &plain("x"));
    bench.write("old/http/a.example/Dnonsense", b"x");
    let session = "http://www.example.org/session";
    add("http/www.example.org", 'D', session, "", &plain("session"));
    std::fs::create_dir_all(root.join("prevtime1")).unwrap();
    for letter in ['D', 'U'] {
        let name = format!("{letter}{}", make_hash(session.as_bytes()));
        let file = root.join("http/www.example.org").join(&name);
        std::fs::hard_link(file, root.join("prevtime1").join(&name)).unwrap();
    }
    let queued = "http://me:pass@q.example/x";
    let asked = "GET http://q.example/x HTTP/1.0\r\nCookie: a=b\r\nIf-None-Match: \"x\"\r\nAccept: */*\r\n\r\n";
    add("outgoing", 'O', queued, "", asked.as_bytes());
    add(
        "outgoing",
        'O',
        "http://q.example/form",
        "",
        b"POST http://q.example/form HTTP/1.0\r\nContent-Length: 3\r\n\r\na=b",
    );
    add(
        "outgoing",
        'O',
        "http://q.example/other?!x=1!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11",
        "",
        b"POST http://q.example/other?x=1 HTTP/1.0\r\nContent-Length: 3\r\n\r\nc=d",
    );
    let watched = "http://w.example/";
    add("monitor", 'O', watched, "", b"GET http://w.example/ HTTP/1.0\r\n\r\n");
    let mask = format!("{}\n{}\n1000000\n{}1\n", "1".repeat(12), "1".repeat(31), "0".repeat(23));
    bench.write(&format!("old/monitor/M{}", make_hash(watched.as_bytes())), mask.as_bytes());

    let report = bench.import(&root);
    assert_eq!(
        (report.kept, report.requests.queued, report.requests.monitored),
        (7, 3, 1),
        "{report:#?}"
    );
    assert_eq!((report.same, report.refused), (0, 3), "{report:#?}");
    assert_eq!((bench.body(url), bench.older(url)), (b"now".to_vec(), vec![b"before".to_vec()]));
    let entry = bench.entry(url).unwrap();
    assert_eq!(entry.received().as_second(), 1_700_000_000);
    assert_eq!(entry.stored(), entry.received(), "the capture counts, not the import");
    let old = bench.entry("http://www.example.org/old").unwrap();
    assert_eq!(support::body(&old), b"<p>long ago");
    assert_eq!(old.head(), b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
    assert_eq!(bench.body("https://a.example:444/x?y"), b"<p>decoded");
    assert_eq!(bench.body(session), b"session");
    let form = bench.own(answer).unwrap();
    assert_eq!((form.url(), support::body(&form)), (answer, b"answer".to_vec()));
    assert_eq!(form.request(), b"POST /f?b=c HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(bench.entry(answer).is_none(), "the contents of a form are personal");
    let mine = bench.own("ftp://me:secret@f.example/f").unwrap();
    assert_eq!(support::body(&mine), b"mine");
    assert!(!mine.url().contains("secret") && bench.entry("ftp://f.example/f").is_none());
    let url = CanonicalUrl::parse(queued, &LocalHost::default()).unwrap();
    let of_login = Place::queued_for_login(&url.without_credentials(), "me");
    let waiting = bench.spool.queue().get(&of_login.key()).unwrap().unwrap();
    assert_eq!(waiting.head, b"GET /x HTTP/1.1\r\nAccept: */*\r\n\r\n");
    let secrets = b"Cookie: a=b\r\nAuthorization: Basic bWU6cGFzcw==\r\n".to_vec();
    assert_eq!(waiting.secrets, Secrets::Open(secrets));
    let forms = bench.spool.queue().list();
    let forms = forms.iter().filter(|request| request.kind == RequestKind::Post);
    let forms = forms.map(|form| bench.spool.queue().get(&form.place.key()).unwrap().unwrap());
    let mut forms: Vec<_> =
        forms.map(|form| (form.summary.place.url().to_owned(), form.body)).collect();
    forms.sort();
    let form = |url: &str, body: &[u8]| {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        (url.with_post(&Sha256::digest(body).into()).to_string(), body.to_vec())
    };
    let want = [form("http://q.example/form", b"a=b"), form("http://q.example/other?x=1", b"c=d")];
    assert_eq!(forms, want);
    let monitored = bench.spool.monitors().summary(&place(watched).key()).unwrap();
    assert_eq!(monitored.schedule, "0 23 * * 0 and".parse().unwrap());
    // In the second import, everything is already stored.
    let again = bench.import(&root);
    assert_eq!(
        (again.kept, again.requests.queued, again.requests.monitored),
        (0, 0, 0),
        "{again:#?}"
    );
}

#[test]
fn a_spool_of_2_9_with_only_a_queue_or_monitors_is_detected() {
    let url = "http://q.example/x";
    let mask = ["1".repeat(12), "1".repeat(31), "1".repeat(7), "1".repeat(24)].join("\n");
    for (directory, want) in [("outgoing", (1, 0)), ("monitor", (0, 1))] {
        let bench = Bench::new();
        classic(&bench, directory, 'O', url, "", b"GET http://q.example/x HTTP/1.0\r\n\r\n");
        bench.write(&format!("old/{directory}/M{}", make_hash(url.as_bytes())), mask.as_bytes());
        let report = bench.import(&bench.path("old"));
        assert_eq!((report.requests.queued, report.requests.monitored), want, "{report:?}");
    }
}

#[test]
fn entries_of_the_last_sessions_are_imported_last_in_order() {
    let bench = Bench::new();
    let url = |name: &str| format!("http://a.example/{name}");
    let answer = b"HTTP/1.0 200 OK\r\n\r\nx";
    for (second, directory, name) in [
        (400, "lasttime", "last"),
        (200, "prevtime2", "first"),
        (300, "prevtime1", "second"),
        (100, "http/a.example", "other"),
    ] {
        for directory in [directory, "http/a.example"] {
            classic(&bench, directory, 'D', &url(name), "", answer);
            let file = format!("{directory}/D{}", make_hash(url(name).as_bytes()));
            set_time(&bench.path("old").join(file), second);
        }
    }
    assert_eq!(bench.import(&bench.path("old")).kept, 4);
    let mut kept = ["last", "other", "second", "first"]
        .map(|name| (bench.entry(&url(name)).unwrap().stored(), name));
    kept.sort();
    assert_eq!(kept.map(|(_, name)| name), ["other", "first", "second", "last"]);
}

#[test]
fn an_httrack_mirror_is_imported_by_its_cache() {
    let told = |more: &str| {
        format!("X-In-Cache: 1\r\nX-StatusCode: 200\r\nX-StatusMessage: OK\r\nContent-Type: text/html\r\n{more}")
            .into_bytes()
    };
    let saved = |name: &str| {
        format!(
            "X-In-Cache: 0\r\nX-StatusCode: 200\r\nX-StatusMessage: OK\r\nX-Size: 4\r\n\
                 Content-Type: image/png\r\nX-Save: {name}\r\n"
        )
        .into_bytes()
    };
    let moved = b"X-In-Cache: 1\r\nX-StatusCode: 302\r\nX-StatusMessage: Found\r\nLocation: /b\r\n";
    let cache = support::zip(&[
        ("http://a.example/", b"<p>page", &told("X-Charset: utf-8\r\n")),
        ("http://a.example/a.png", b"", &saved("a.example/a.png")),
        ("http://a.example/moved", b"", moved),
        ("http://a.example/out", b"", &saved("../secret")),
        ("http://a.example/root", b"", &saved("/etc/passwd")),
        ("http://a.example/link", b"", &saved("a.example/link")),
        ("http://a.example/gone", b"", &saved("a.example/gone")),
    ]);
    let bench = Bench::new();
    bench.write("mirror/hts-cache/new.zip", &cache);
    bench.write("mirror/a.example/a.png", b"\x89PNG");
    bench.write("secret", b"abcd");
    std::os::unix::fs::symlink(bench.path("secret"), bench.path("mirror/a.example/link")).unwrap();
    let report = bench.import(&bench.path("mirror"));
    assert_eq!((report.kept, report.refused), (3, 4), "{report:#?}");
    assert_eq!(bench.body("http://a.example/"), b"<p>page");
    assert_eq!(bench.body("http://a.example/a.png"), b"\x89PNG");
    let head = bench.entry("http://a.example/").unwrap().head().to_vec();
    assert!(String::from_utf8_lossy(&head).contains("text/html; charset=utf-8"));
    assert_eq!(bench.entry("http://a.example/moved").unwrap().status(), 302);
}

#[test]
fn an_old_httrack_mirror_is_imported_by_its_list() {
    let bench = Bench::new();
    let list = "date\tsize\tflags\tstatuscode\tstatus\tMIME\tEtag|Date\tURL\tlocalfile\t(from URL)\n\
        12:00:00\t4/4\t---M--\t200\tadded ('OK')\ttext/html\t\thttp://a.example/x?y=z\ta.example/x6a.html\t(from )\n\
        12:00:00\t0/0\t---M--\t404\terror ('Not Found')\ttext/html\t\thttp://a.example/n\t\t(from )\n";
    bench.write("mirror/hts-cache/new.txt", list.as_bytes());
    bench.write("mirror/a.example/x6a.html", b"<p>x");
    let report = bench.import(&bench.path("mirror"));
    assert_eq!((report.kept, report.passed, report.refused), (1, 1, 1), "{report:#?}");
    assert_eq!(bench.body("http://a.example/x?y=z"), b"<p>x");
}

#[test]
fn a_wget_mirror_is_imported_by_its_file_names() {
    let bench = Bench::new();
    for (path, body) in [
        ("a.example/index.html", "home"),
        ("a.example/dir/index.html", "dir"),
        ("a.example/page?id=1&x=y", "<!doctype html>page"),
        ("a.example/style.css?v=2", "css"),
        ("a.example:8080/a", "port"),
        ("robots.txt", "beside the hosts"),
    ] {
        bench.write(&format!("mirror/{path}"), body.as_bytes());
    }
    std::os::unix::fs::symlink("/etc", bench.path("mirror/a.example/etc")).unwrap();
    let report = bench.import(&bench.path("mirror"));
    assert_eq!((report.kept, report.refused), (5, 1), "{report:#?}");
    assert_eq!(bench.body("https://a.example/"), b"home");
    assert_eq!(bench.body("https://a.example/dir/"), b"dir");
    assert_eq!(bench.body("https://a.example:8080/a"), b"port");
    for (url, kind) in [
        ("https://a.example/page?id=1&x=y", "text/html"),
        ("https://a.example/style.css?v=2", "text/css"),
    ] {
        let head = bench.entry(url).unwrap().head().to_vec();
        assert!(String::from_utf8_lossy(&head).contains(kind), "{url}");
    }
}
