//! Ten thousand mutations of an archive of each kind. An import must not panic, hang, or write a
//! file outside the spool.
//!
//! The mutations depend on a seed, so a failed run can be repeated. Every tenth archive is
//! imported; for the others the import is a dry run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use support::{Bench, gzip, options, page, record, request, response, sha256, zip};
use wwwoffle_archive::ImportOptions;
use wwwoffle_spool::Lookup;
use wwwoffle_url::make_hash;

const MUTATIONS: u64 = 10_000;

/// An import of a few hundred bytes takes milliseconds, so an import of this time is a hang.
const HANG: Duration = Duration::from_secs(20);

const DATE: &str = "2024-05-01T10:00:00Z";

/// Words that the readers know, and unexpected ones.
const WORDS: &[&[u8]] = &[
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b"WARC/1.1\r\n",
    b"Content-Length: 18446744073709551615\r\n",
    b"Content-Length: 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"ffffffffffffffff\r\n",
    b"../../../../outside",
    b"/etc/passwd",
    b"http://localhost:8080/",
    b"Set-Cookie: a=b\r\n",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xff\xff\xff\xff",
    b"[[[[[[[[",
    b"{\"log\":{\"entries\":[{",
    b"9999999999",
    b"-1",
];

/// A random number generator (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(40)).min(bytes.len());
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
                4 => bytes.truncate(at),
                _ => {
                    let word = WORDS[self.below(WORDS.len())];
                    bytes.splice(at..at, word.iter().copied());
                }
            }
        }
    }
}

/// Imports mutated archives. `names` are the files of one archive. In each round, one of them is
/// mutated.
fn run(seed: u64, archive: &Path, bench: &Bench, names: &[PathBuf]) {
    let sound: Vec<Vec<u8>> = names.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let before = everything(&bench.path(""));
    let dry = ImportOptions { dry_run: true, ..options() };
    let mut chance = Chance(seed);
    for number in 0..MUTATIONS {
        let which = chance.below(names.len());
        let mut bytes = sound[which].clone();
        chance.change(&mut bytes);
        std::fs::write(&names[which], &bytes).unwrap();
        let begun = Instant::now();
        let how = if number % 10 == 0 { options() } else { dry.clone() };
        // The import may also fail.
        let _ = bench.try_import(archive, &how);
        assert!(begun.elapsed() < HANG, "{number} hangs: {bytes:?}");
        std::fs::write(&names[which], &sound[which]).unwrap();
    }
    assert_eq!(everything(&bench.path("")), before, "something lies outside of the spool");
    for summary in bench.spool.list(None, None).unwrap() {
        let place = summary.unwrap().place;
        assert!(matches!(bench.spool.entry(&place).unwrap(), Lookup::Found(_)), "{place:?}");
    }
}

/// All files outside the spool.
fn everything(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
        if entry.file_name() == "spool" {
            continue;
        }
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(everything(&entry.path()));
        }
    }
    found.sort();
    found
}

fn warc() -> Vec<u8> {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let digest = sha256(b"hello");
    let revisit = [
        ("WARC-Target-URI", "http://b.example/"),
        ("WARC-Date", DATE),
        ("WARC-Payload-Digest", &digest),
        ("WARC-Refers-To-Target-URI", "http://a.example/"),
    ];
    [
        record("warcinfo", &[("WARC-Date", DATE)], b"software: x\r\n"),
        response("http://a.example/", DATE, &page("hello")),
        request("http://a.example/", DATE, b"GET / HTTP/1.1\r\nCookie: a=b\r\n\r\n"),
        response("http://a.example/chunked", DATE, chunked),
        record("revisit", &revisit, b"HTTP/1.1 200 OK\r\n\r\n"),
        record(
            "request",
            &[
                ("WARC-Target-URI", "http://q.example/"),
                ("WARC-Date", DATE),
                ("Wwwoffle-Kind", "page"),
            ],
            b"GET / HTTP/1.1\r\n\r\n",
        ),
    ]
    .concat()
}

fn file(seed: u64, name: &str, bytes: &[u8]) {
    let bench = Bench::new();
    let path = bench.write(name, bytes);
    assert!(bench.import(&path).kept > 0);
    run(seed, &path, &bench, std::slice::from_ref(&path));
}

#[test]
#[ignore = "slow"]
fn warc_plain() {
    file(1, "a.warc", &warc());
}

#[test]
#[ignore = "slow"]
fn warc_compressed() {
    file(2, "a.warc.gz", &gzip(&warc()));
    file(3, "a.warc.zst", &zstd::encode_all(warc().as_slice(), 3).unwrap());
}

#[test]
#[ignore = "slow"]
fn wacz() {
    let archive = warc();
    let package = format!(
        "{{\"resources\":[{{\"path\":\"archive/a.warc\",\"hash\":\"{}\"}}]}}",
        sha256(&archive)
    );
    let members: [(&str, &[u8], &[u8]); 2] =
        [("archive/a.warc", &archive, b""), ("datapackage.json", package.as_bytes(), b"")];
    file(4, "a.wacz", &zip(&members));
}

#[test]
#[ignore = "slow"]
fn har() {
    let entry = r#"{"startedDateTime":"2024-05-01T10:00:00Z","time":5,"request":{"method":"GET","url":"http://a.example/","headers":[],"cookies":[]},"response":{"status":200,"statusText":"OK","headers":[{"name":"A","value":"b\nc"}],"content":{"size":5,"mimeType":"text/html","text":"aGVsbG8=","encoding":"base64"}}}"#;
    let bytes = format!(r#"{{"log":{{"version":"1.2","entries":[{entry},{entry}]}}}}"#);
    file(5, "a.har", bytes.as_bytes());
}

#[test]
#[ignore = "slow"]
fn a_spool_of_2_9() {
    let bench = Bench::new();
    let mut names = Vec::new();
    for (directory, letter, url, content) in [
        (
            "http/a.example",
            'D',
            "http://a.example/",
            &b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..],
        ),
        ("outgoing", 'O', "http://b.example/", b"GET http://b.example/ HTTP/1.0\r\n\r\n"),
        ("monitor", 'O', "http://c.example/", b"GET http://c.example/ HTTP/1.0\r\n\r\n"),
    ] {
        let hash = make_hash(url.as_bytes());
        names.push(bench.write(&format!("old/{directory}/{letter}{hash}"), content));
        names.push(bench.write(&format!("old/{directory}/U{hash}"), url.as_bytes()));
    }
    let hash = make_hash(b"http://c.example/");
    let mask = ["1".repeat(12), "1".repeat(31), "1".repeat(7), "1".repeat(24)].join("\n");
    names.push(bench.write(&format!("old/monitor/M{hash}"), mask.as_bytes()));
    let root = bench.path("old");
    assert!(bench.import(&root).kept > 0);
    run(6, &root, &bench, &names);
}

#[test]
#[ignore = "slow"]
fn mirrors() {
    let bench = Bench::new();
    let told = b"X-In-Cache: 1\r\nX-StatusCode: 200\r\nContent-Type: text/html\r\n";
    let saved = b"X-In-Cache: 0\r\nX-StatusCode: 200\r\nX-Save: a.example/b\r\n";
    let members: [(&str, &[u8], &[u8]); 2] =
        [("http://a.example/", b"hello", told), ("http://a.example/b", b"", saved)];
    let cache = bench.write("mirror/hts-cache/new.zip", &zip(&members));
    bench.write("mirror/a.example/b", b"x");
    assert!(bench.import(&bench.path("mirror")).kept > 0);
    run(7, &bench.path("mirror"), &bench, &[cache]);
    let bench = Bench::new();
    let line = b"12:00\t1/1\t-\t200\tok\ttext/html\t\thttp://a.example/b\ta.example/b\t-\n";
    let list = bench.write("mirror/hts-cache/new.txt", line);
    bench.write("mirror/a.example/b", b"x");
    assert!(bench.import(&bench.path("mirror")).kept > 0);
    run(8, &bench.path("mirror"), &bench, &[list]);
}
