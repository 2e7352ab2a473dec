//! Exports to archives and folders: secrets are removed, and damaged pages are left out.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use support::{Bench, gunzip, place, time};
use wwwoffle_archive::{
    DecodeBody, ExportOptions, FolderForm, FolderOptions, SinglePage, to_folder, to_single_page,
    to_wacz, to_warc,
};
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
    ExportOptions {
        software: "wwwoffle/0".to_owned(),
        now: time(DATE),
        versions: false,
        collection: None,
    }
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
    let decode: DecodeBody = |entry, out| {
        out.write_all(b"decoded")?;
        let is_bad = entry.url().ends_with("/b");
        if is_bad { Err(io::Error::other("no gzip")) } else { Ok(()) }
    };
    let folder = bench.path("pages");
    let unchanged = folder_options(FolderForm::Unchanged, decode);
    let exported = to_folder(&reader, &mut places(&all), &folder, &unchanged).unwrap();
    assert_eq!((exported.entries, exported.left_out), (3, 0));
    let read = |name: &str| std::fs::read_to_string(folder.join("a.example").join(name)).unwrap();
    assert_eq!(["a.html", "b.html", "c.html"].map(read), ["decoded", "no gzip", "decoded"]);
    // In a folder to browse it is left out, because it could have scripts.
    let folder = bench.path("browsable");
    let browsable = folder_options(FolderForm::Browsable, decode);
    let exported = to_folder(&reader, &mut places(&all), &folder, &browsable).unwrap();
    assert_eq!((exported.entries, exported.left_out), (2, 1));
    assert!(!folder.join("a.example/b.html").exists());
    assert_eq!(parts(&bench), 0);
}

fn folder_options(form: FolderForm, decode: DecodeBody) -> FolderOptions<'static> {
    FolderOptions { form, decode, titles: &|_| Some("a <title>".to_owned()), versions: false }
}

/// Bodies have no content coding here.
fn plain(entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
    match entry.body() {
        wwwoffle_spool::Body::Whole(bytes) => out.write_all(bytes),
        wwwoffle_spool::Body::File(_) => Err(io::Error::other("too long for this test")),
    }
}

/// Stores a response with a head of its own.
fn keep_response(bench: &Bench, url: &str, head: &str, body: &[u8]) -> Place {
    let (place, request) = (place(url), b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec());
    let head = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
    let new = NewEntry { asked: time(DATE), when: time(DATE), head, request, connection: None };
    let mut writer = bench.spool.begin(&place, new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
    place
}

/// A small site with a style sheet, redirects, an SVG image with a script, and a hostile file.
fn site(bench: &Bench) -> Vec<Place> {
    let page = "<title>t</title><link rel=stylesheet href='s.css?v=1'><script src=j.js></script>\
        <a href=/moved#x>next</a><a href=//other.example/>out</a><img src=p.svg><img src=gone.png>\
        <a href=p.svg>svg</a><a href=evil.html>evil</a><a href='?#top'>here</a>\
        <iframe src=frame></iframe><img src=loop>\
        <object data=p.svg></object>";
    let html = "200 OK\r\nContent-Type: text/html";
    let all = [
        ("http://a.example/d/", html, page),
        ("http://a.example/d/s.css?v=1", "200 OK\r\nContent-Type: text/css", "a{b:url(p.png)}"),
        ("http://a.example/d/p.png", "200 OK\r\nContent-Type: image/png", "png"),
        ("http://a.example/d/j.js", "200 OK\r\nContent-Type: text/javascript", "alert()"),
        ("http://a.example/d/p.svg", "200 OK\r\nContent-Type: image/svg+xml", "<svg><script/>"),
        ("http://a.example/moved", "302 Found\r\nLocation: /d/next", ""),
        ("http://a.example/d/next", html, "next"),
        ("http://a.example/d/frame", html, "<script>x()</script><img src=p.png>"),
        ("http://a.example/d/loop", "302 Found\r\nLocation: loop2", ""),
        ("http://a.example/d/loop2", "302 Found\r\nLocation: loop", ""),
        ("http://a.example/d/evil.html", "200 OK\r\nContent-Type: application/x", "<script>"),
    ];
    let places = all.map(|(url, head, body)| keep_response(bench, url, head, body.as_bytes()));
    bench.spool.flush().unwrap();
    places.to_vec()
}

const META: &str = "<meta charset=\"UTF-8\"><meta http-equiv=\"Content-Security-Policy\" content=";

#[test]
fn pages_of_a_folder_lead_to_its_files() {
    let bench = Bench::new();
    let all = site(&bench);
    let reader = Reader::open(bench.spool.root()).unwrap();
    let folder = bench.path("site");
    let options = folder_options(FolderForm::Browsable, plain);
    let exported = to_folder(&reader, &mut places(&all), &folder, &options).unwrap();
    assert_eq!((exported.entries, exported.left_out), (8, 0));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let page = read("a.example/d/index.html");
    let (policy, page) = page.strip_prefix(META).unwrap().split_once('>').unwrap();
    assert!(policy.contains("script-src 'none'") && !policy.contains("http"), "{policy}");
    let up = "../../a.example/d";
    let svg = "data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Lz4=";
    let want = format!(
        "<title>t</title><link rel=stylesheet href=\"{up}/s.css@v=1.css\">\
         <a href=\"{up}/next.html#x\">next</a><a href=\"http://other.example/\">out</a>\
         <img src=\"{svg}\"><img><a href=\"{up}/p.svg.html\">svg</a>\
         <a href=\"{up}/evil.html.bin\">evil</a><a href=\"{up}/index.html#top\">here</a>\
         <iframe src=\"{up}/frame.html\"></iframe><img><object data=\"{svg}\"></object>"
    );
    assert_eq!(page, want);
    assert_eq!(read("a.example/d/s.css@v=1.css"), format!("a{{b:url(\"{up}/p.png\")}}"));
    assert!(!read("a.example/d/frame.html").contains("script>"));
    assert!(read("a.example/d/p.svg.html").ends_with(&format!("<img alt=\"\" src=\"{svg}\">\n")));
    let list = read("index.html");
    let row =
        "<tr><td>a &lt;title&gt;<td><a href=\"a.example/d/index.html\">http://a.example/d/</a>";
    assert!(list.contains(row), "{list}");
    let (pages, files) = list.split_once("<details>").unwrap();
    assert!(pages.contains("d/next.html") && files.contains("p.png"), "{list}");
}

#[test]
fn a_single_page_has_all_it_needs() {
    let bench = Bench::new();
    let all = site(&bench);
    let reader = Reader::open(bench.spool.root()).unwrap();
    let entry = |place: &Place| reader.entries(place).unwrap().found.remove(0);
    let path = bench.path("page.html");
    let page = SinglePage { entry: &entry(&all[0]), owner: None, decode: plain };
    let report = to_single_page(&reader, page, &path).unwrap().unwrap();
    assert_eq!((report.embedded, report.missing, report.left_out), (4, 2, 0));
    let page = std::fs::read_to_string(&path).unwrap();
    let (policy, page) = page.strip_prefix(META).unwrap().split_once('>').unwrap();
    assert!(policy.contains("default-src data:"), "{policy}");
    let png = "data:image/png;base64,cG5n";
    let base64 = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, text);
    let sheet = base64(&format!("a{{b:url(\"{png}\")}}"));
    let frame = base64(&format!("{META}{policy}><img src=\"{png}\">"));
    let want = format!(
        "<title>t</title><link rel=stylesheet href=\"data:text/css;charset=utf-8;base64,{sheet}\">\
         <a href=\"http://a.example/moved#x\">next</a><a href=\"http://other.example/\">out</a>\
         <img src=\"data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Lz4=\"><img>\
         <a href=\"http://a.example/d/p.svg\">svg</a><a href=\"http://a.example/d/evil.html\">evil</a>\
         <a href=\"#top\">here</a>\
         <iframe src=\"data:text/html;base64,{frame}\"></iframe><img>\
         <object data=\"data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Lz4=\"></object>"
    );
    assert_eq!(page, want);
    // Another file is not a page.
    let page = SinglePage { entry: &entry(&all[2]), owner: None, decode: plain };
    assert_eq!(to_single_page(&reader, page, &path).unwrap(), None);
    assert_eq!(parts(&bench), 0);
}

#[test]
fn a_single_page_has_personal_sub_resources_only_for_their_owner() {
    let bench = Bench::new();
    let url = "http://a.example/";
    let page =
        keep_response(&bench, url, "200 OK\r\nContent-Type: text/html", b"<img src=own.png>");
    keep(&bench, &place("http://a.example/own.png").owned_by("user:ada"), "", b"secret");
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let entry = reader.entries(&page).unwrap().found.remove(0);
    for (owner, embedded) in [(None, 0), (Some("user:bob"), 0), (Some("user:ada"), 1)] {
        let path = bench.path("page.html");
        let page = SinglePage { entry: &entry, owner: owner.map(str::to_owned), decode: plain };
        let report = to_single_page(&reader, page, &path).unwrap().unwrap();
        assert_eq!(report.embedded, embedded, "{owner:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap().contains("base64"), embedded == 1);
    }
}

#[test]
fn frames_and_sheets_that_contain_themselves_end() {
    let bench = Bench::new();
    let html = "200 OK\r\nContent-Type: text/html";
    let page = b"<iframe src=/></iframe><style>@import '/s.css'</style>";
    let page = keep_response(&bench, "http://a.example/", html, page);
    let sheet = b"@import 's.css';a{b:c}";
    keep_response(&bench, "http://a.example/s.css", "200 OK\r\nContent-Type: text/css", sheet);
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let entry = reader.entries(&page).unwrap().found.remove(0);
    let page = SinglePage { entry: &entry, owner: None, decode: plain };
    let report = to_single_page(&reader, page, &bench.path("page.html")).unwrap().unwrap();
    assert!(report.left_out > 0 && report.embedded < 100, "{report:?}");
}

/// A frame is not embedded below the fourth level. That says nothing about its other uses.
#[test]
fn a_frame_that_is_too_deep_elsewhere_is_embedded() {
    let bench = Bench::new();
    let html = "200 OK\r\nContent-Type: text/html";
    let mut pages = Vec::new();
    for (name, body) in [
        ("", "<iframe src=1></iframe><iframe src=x></iframe>"),
        ("1", "<iframe src=2></iframe>"),
        ("2", "<iframe src=3></iframe>"),
        ("3", "<iframe src=4></iframe>"),
        ("4", "<iframe src=x></iframe>"),
        ("x", "x"),
    ] {
        let url = format!("http://a.example/{name}");
        pages.push(keep_response(&bench, &url, html, body.as_bytes()));
    }
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let entry = reader.entries(&pages[0]).unwrap().found.remove(0);
    let (path, owner) = (bench.path("page.html"), None);
    let page = SinglePage { entry: &entry, owner, decode: plain };
    let report = to_single_page(&reader, page, &path).unwrap().unwrap();
    assert_eq!((report.embedded, report.left_out), (5, 1));
    let page = std::fs::read_to_string(&path).unwrap();
    assert_eq!(page.matches("<iframe src=\"data:text/html;base64,").count(), 2, "{page}");
}

#[test]
fn a_page_with_a_tag_that_is_too_long_is_left_out() {
    let bench = Bench::new();
    let page = place("http://a.example/");
    keep(&bench, &page, "", b"");
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let decode: DecodeBody = |_, out| {
        out.write_all(b"<p title='")?;
        (0..20).try_for_each(|_| out.write_all(&vec![b'x'; 1 << 20]))?;
        out.write_all(b"'>text")
    };
    let options = folder_options(FolderForm::Browsable, decode);
    let entry = reader.entries(&page).unwrap().found.remove(0);
    let exported = to_folder(&reader, &mut places(&[page]), &bench.path("site"), &options).unwrap();
    assert_eq!((exported.entries, exported.left_out), (0, 1));
    let path = bench.path("page.html");
    let page = SinglePage { entry: &entry, owner: None, decode };
    to_single_page(&reader, page, &path).unwrap_err();
    assert!(!path.exists());
    assert_eq!(parts(&bench), 0);
}

/// The number of SVG images that were decoded.
static DECODED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn an_image_that_does_not_fit_is_decoded_once_for_a_page() {
    let bench = Bench::new();
    let html = "200 OK\r\nContent-Type: text/html";
    let page = "<img src=a.svg>".repeat(100);
    let page = keep_response(&bench, "http://a.example/", html, page.as_bytes());
    let svg = "200 OK\r\nContent-Type: image/svg+xml";
    let image = keep_response(&bench, "http://a.example/a.svg", svg, b"long");
    bench.spool.flush().unwrap();
    let decode: DecodeBody = |entry, out| {
        if entry.body_len() != 4 {
            return plain(entry, out);
        }
        DECODED.fetch_add(1, Ordering::Relaxed);
        (0..17).try_for_each(|_| out.write_all(&vec![b'x'; 1 << 20]))
    };
    let reader = Reader::open(bench.spool.root()).unwrap();
    let options = folder_options(FolderForm::Browsable, decode);
    let folder = bench.path("site");
    to_folder(&reader, &mut places(&[page.clone(), image]), &folder, &options).unwrap();
    // Once more for the file of the image.
    assert_eq!(DECODED.swap(0, Ordering::Relaxed), 2);
    let entry = reader.entries(&page).unwrap().found.remove(0);
    let page = SinglePage { entry: &entry, owner: None, decode };
    let report = to_single_page(&reader, page, &bench.path("page.html")).unwrap().unwrap();
    assert_eq!((report.left_out, DECODED.load(Ordering::Relaxed)), (1, 1));
}

/// In a file, browsers take a file named `.css` for a style sheet, and in quirks mode any file.
#[test]
fn style_sheets_of_any_type_are_rewritten_or_not_loaded() {
    let bench = Bench::new();
    let page = "<link rel=stylesheet href=s.css?1><link rel=stylesheet href=notes>";
    let sheet = b"a{b:url(//evil.example/)}";
    let all = [
        ("http://a.example/", "200 OK\r\nContent-Type: text/html", page.as_bytes()),
        ("http://a.example/s.css?1", "200 OK\r\nContent-Type: application/x", sheet),
        ("http://a.example/notes", "200 OK\r\nContent-Type: text/plain", sheet),
    ];
    let all = all.map(|(url, head, body)| keep_response(&bench, url, head, body));
    bench.spool.flush().unwrap();
    let reader = Reader::open(bench.spool.root()).unwrap();
    let folder = bench.path("site");
    let options = folder_options(FolderForm::Browsable, plain);
    to_folder(&reader, &mut places(&all), &folder, &options).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join("a.example").join(name)).unwrap();
    let page = read("index.html");
    let want = "<link rel=stylesheet href=\"../a.example/s.css@1.css\"><link rel=stylesheet>";
    assert!(page.ends_with(want), "{page}");
    assert_eq!(read("s.css@1.css"), "a{b:url(\"about:invalid\")}");
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
    let options = folder_options(FolderForm::Unchanged, |_, out| out.write_all(b"hello"));
    let fails = wwwoffle_spool::Reader::open(&bench.path("none")).unwrap_err();
    let mut broken = [Ok(page.clone()), Err(fails)].into_iter();
    let folder = bench.path("pages");
    to_folder(&reader, &mut broken, &folder, &options).unwrap_err();
    assert!(!folder.exists() && parts(&bench) == 0);
    // The files of an earlier export that was killed make no difference.
    std::fs::create_dir(bench.path(".pages.0.part")).unwrap();
    let exported = to_folder(&reader, &mut places(&[page, gone]), &folder, &options).unwrap();
    assert_eq!((exported.entries, exported.bytes), (1, 5));
    assert!(folder.join("a.example/deep/page.html").exists());
}
