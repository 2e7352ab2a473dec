//! Exports to archives and folders: secrets are removed, and damaged pages are left out.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use std::io::{self, Write};

use support::{Bench, gunzip, place, time};
use wwwoffle_archive::{ExportOptions, to_folder, to_wacz, to_warc};
use wwwoffle_spool::{Entry, NewEntry, Place, Reader};

const DATE: &str = "2024-05-01T10:00:00Z";

fn keep(bench: &Bench, place: &Place, fields: &str, body: &[u8]) {
    let new = NewEntry {
        asked: time(DATE),
        when: time(DATE),
        head: format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").into_bytes(),
        request: b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(),
        connection: None,
    };
    let mut writer = bench.spool.begin(place, new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
}

fn export_options() -> ExportOptions {
    ExportOptions { software: "wwwoffle/0".to_owned(), now: time(DATE), versions: false }
}

fn places(places: &[Place]) -> impl Iterator<Item = wwwoffle_spool::Result<Place>> {
    places.iter().cloned().map(Ok)
}

/// The origin marks a response as `public` although it sets a session cookie.
#[test]
fn the_cookie_of_a_public_response_is_not_exported() {
    let bench = Bench::new();
    let (everyones, own) =
        (place("http://a.example/"), place("http://a.example/own").owned_by("local"));
    let fields = "Cache-Control: public\r\nSet-Cookie: secret=1; Path=/\r\nX-After: 1\r\n";
    for one in [&everyones, &own] {
        keep(&bench, one, fields, b"hello");
    }
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let warc = |one: &Place| {
        let mut out = Vec::new();
        let exported =
            to_warc(&reader, &mut places(std::slice::from_ref(one)), &mut out, &export_options());
        assert_eq!(exported.unwrap().entries, 1);
        String::from_utf8(gunzip(&out)).unwrap()
    };
    let text = warc(&everyones);
    assert!(!text.contains("secret=1"), "{text}");
    assert!(text.contains("public\r\nX-After: 1\r\n\r\nhello"), "{text}");
    // An export for the owner contains everything.
    assert!(warc(&own).contains("Set-Cookie: secret=1; Path=/\r\n"));
    let path = bench.path("out.wacz");
    to_wacz(&reader, &mut places(&[everyones]), &path, &export_options(), &|_| None).unwrap();
    assert_eq!(bench.import(&path).same, 1);
    let other = Bench::new();
    assert_eq!(other.import(&path).kept, 1);
    let head = other.entry("http://a.example/").unwrap().head().to_vec();
    assert!(!String::from_utf8_lossy(&head).contains("secret=1"));
}

fn parts(bench: &Bench) -> usize {
    let names = bench.path(".").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
}

#[test]
fn an_undecodable_page_is_exported_as_stored() {
    let bench = Bench::new();
    let all = ["http://a.example/a", "http://a.example/b", "http://a.example/c"].map(place);
    for one in &all {
        keep(&bench, one, "", b"no gzip");
    }
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let decoded = |entry: &Entry, out: &mut dyn Write| {
        out.write_all(b"decoded")?;
        let is_bad = entry.url().ends_with("/b");
        if is_bad { Err(io::Error::other("no gzip")) } else { Ok(()) }
    };
    let folder = bench.path("pages");
    let exported = to_folder(&reader, &mut places(&all), &folder, &decoded, false).unwrap();
    assert_eq!((exported.entries, exported.left_out), (3, 0));
    let read = |name: &str| std::fs::read_to_string(folder.join("a.example").join(name)).unwrap();
    assert_eq!(["a.html", "b.html", "c.html"].map(read), ["decoded", "no gzip", "decoded"]);
    assert_eq!(parts(&bench), 0);
}

#[test]
fn a_failed_folder_export_leaves_no_files() {
    let bench = Bench::new();
    let (page, gone) = (place("http://a.example/deep/page"), place("http://a.example/gone"));
    keep(&bench, &page, "", b"hello");
    let head = b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec();
    let (asked, when) = (time(DATE), time(DATE));
    let request = b"GET /gone HTTP/1.1\r\n\r\n".to_vec();
    let new = NewEntry { asked, when, head, request, connection: None };
    bench.spool.begin(&gone, new).unwrap().finish(None).unwrap();
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let decoded = |_: &Entry, out: &mut dyn Write| out.write_all(b"hello");
    let fails = wwwoffle_spool::Reader::open(&bench.path("none")).unwrap_err();
    let mut broken = [Ok(page.clone()), Err(fails)].into_iter();
    let folder = bench.path("pages");
    to_folder(&reader, &mut broken, &folder, &decoded, false).unwrap_err();
    assert!(!folder.exists() && parts(&bench) == 0);
    // The files of an earlier export that was killed make no difference.
    std::fs::create_dir(bench.path(".pages.0.part")).unwrap();
    let exported =
        to_folder(&reader, &mut places(&[page, gone]), &folder, &decoded, false).unwrap();
    assert_eq!((exported.entries, exported.bytes), (1, 5));
    assert!(folder.join("a.example/deep/page.html").exists());
}
