//! Archives as other programs write them: the fields, kinds of records and spellings of each.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use serde_json::{Value, json};
use sha1::Digest as _;
use support::{Bench, gzip, record, sha256};
use wwwoffle_archive::Fixture;

const URL: &str = "https://www.example.org/";

/// A member for each record, as all of these programs write.
fn members(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| gzip(record)).collect()
}

/// Heritrix 3 writes records of name servers, of its own report on each URL, and the request after
/// the response.
#[test]
fn an_archive_of_heritrix_is_imported() {
    let bench = Bench::new();
    let (date, ip) = (("WARC-Date", "2024-05-01T10:00:00Z"), ("WARC-IP-Address", "192.0.2.7"));
    let id = |text: &'static str| ("WARC-Record-ID", text);
    let info = b"software: Heritrix/3.4.0\r\nformat: WARC File Format 1.0\r\nrobots: obey\r\n";
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\npage";
    let records = [
        record(
            "warcinfo",
            &[date, id("<urn:uuid:1>"), ("Content-Type", "application/warc-fields")],
            info,
        ),
        record(
            "response",
            &[
                ("WARC-Target-URI", "dns:www.example.org"),
                date,
                ip,
                id("<urn:uuid:2>"),
                ("Content-Type", "text/dns"),
            ],
            b"20240501100000\nwww.example.org.\t60\tIN\tA\t192.0.2.7\n",
        ),
        record(
            "response",
            &[
                ("WARC-Target-URI", URL),
                date,
                ("WARC-Payload-Digest", "sha1:3YNV2CZWPRTUFLQSHZFCTXOQNXGLQWLZ"),
                ip,
                id("<urn:uuid:3>"),
                ("Content-Type", "application/http; msgtype=response"),
            ],
            page,
        ),
        record(
            "request",
            &[
                ("WARC-Target-URI", URL),
                date,
                ("WARC-Concurrent-To", "<urn:uuid:3>"),
                id("<urn:uuid:4>"),
                ("Content-Type", "application/http; msgtype=request"),
            ],
            b"GET / HTTP/1.0\r\nUser-Agent: heritrix\r\nHost: www.example.org\r\n\r\n",
        ),
        record(
            "metadata",
            &[
                ("WARC-Target-URI", URL),
                date,
                ("WARC-Concurrent-To", "<urn:uuid:3>"),
                id("<urn:uuid:5>"),
                ("Content-Type", "application/warc-fields"),
            ],
            b"seed: \r\nfetchTimeMs: 42\r\noutlink: https://www.example.org/a L a/@href\r\n",
        ),
    ];
    let mut records = records.to_vec();
    // The digest of the payload "page" in base 32.
    let sha1 = base32(&sha1::Sha1::digest(b"page"));
    let text = String::from_utf8(records[2].clone()).unwrap();
    records[2] = text.replace("3YNV2CZWPRTUFLQSHZFCTXOQNXGLQWLZ", &sha1).into_bytes();
    let report = bench.import(&bench.write("heritrix.warc.gz", &members(&records)));
    assert_eq!((report.kept, report.refused, report.passed), (1, 0, 4), "{report:?}");
    assert_eq!(bench.body(URL), b"page");
}

fn base32(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let number = |five: &[u8]| usize::from(five.iter().fold(0, |sum, bit| sum << 1 | bit));
    bits.chunks(5).map(|five| char::from(letters[number(five)])).collect()
}

/// Browsertrix and ArchiveWeb.page write what the browser saw: fields of their own, records with
/// texts and screenshots, and reports on pages. The names of hidden fields tell what was removed.
#[test]
fn an_archive_of_browsertrix_is_imported() {
    let bench = Bench::new();
    let date = ("WARC-Date", "2024-05-01T10:00:00.123Z");
    let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n\
        x-orig-content-encoding: br\r\nx-orig-transfer-encoding: chunked\r\n\
        x-orig-content-length: 3\r\n\r\n<p>page";
    let (payload, block) = (sha256(b"<p>page"), sha256(page));
    let of_page = [
        ("WARC-Record-ID", "<urn:uuid:1>"),
        ("WARC-Page-ID", "dd01ae21-5bd4-4ff4-8d6e-2b9c8bd6d3a5"),
        ("WARC-Resource-Type", "document"),
        ("WARC-JSON-Metadata", "{\"ipType\":\"Public\",\"cert\":{\"issuer\":\"A\",\"ctc\":\"1\"}}"),
        ("WARC-Target-URI", URL),
        date,
        ("WARC-Payload-Digest", payload.as_str()),
        ("WARC-Block-Digest", block.as_str()),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    let request = [
        ("WARC-Record-ID", "<urn:uuid:2>"),
        ("WARC-Concurrent-To", "<urn:uuid:1>"),
        ("WARC-Target-URI", URL),
        date,
        ("Content-Type", "application/http; msgtype=request"),
    ];
    let resource = |target, kind| {
        let fields = [("WARC-Target-URI", target), date, ("Content-Type", kind)];
        record("resource", &fields, b"something")
    };
    let picture = "https://www.example.org/picture.png";
    let archive = members(&[
        record("response", &of_page, page),
        record("request", &request, b"GET / HTTP/1.1\r\nsec-fetch-dest: document\r\n\r\n"),
        resource("urn:pageinfo:https://www.example.org/", "application/json"),
        resource("urn:text:https://www.example.org/", "text/plain"),
        resource("urn:view:https://www.example.org/", "image/png"),
        resource("urn:thumbnail:https://www.example.org/", "image/jpeg"),
        resource(picture, "image/png"),
    ]);
    let report = bench.import(&bench.write("rec.warc.gz", &archive));
    assert_eq!((report.kept, report.refused, report.passed), (2, 0, 5), "{report:?}");
    assert_eq!(bench.body(URL), b"<p>page");
    assert_eq!(bench.body(picture), b"something");
}

/// A record of an exchange, as ArchiveWeb.page writes it: with the page to which it belongs.
fn of_page(kind: &str, id: &str, url: &str, more: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let role = if kind == "request" { "request" } else { "response" };
    let (id, role) = (format!("<urn:uuid:{id}>"), format!("application/http; msgtype={role}"));
    let mut fields = vec![
        ("WARC-Page-ID", "1e9g9sdk4cnxd5s2y0ikbp"),
        ("WARC-Record-ID", id.as_str()),
        ("WARC-Target-URI", url),
        ("WARC-Date", "2024-05-01T10:00:00.123Z"),
        ("Content-Type", role.as_str()),
    ];
    fields.extend(more);
    record(kind, &fields, block)
}

/// A WACZ with its list of digests.
fn wacz(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let resources = files.iter().map(|(path, bytes)| {
        let name = path.rsplit('/').next();
        json!({"name": name, "path": path, "hash": sha256(bytes), "bytes": bytes.len()})
    });
    let package = json!({
        "profile": "data-package",
        "resources": resources.collect::<Vec<_>>(),
        "wacz_version": "1.1.1",
        "software": "Webrecorder ArchiveWeb.page 0.15.1, using warcio.js 2.4.4",
        "created": "2024-05-01T10:05:00.000Z",
        "title": "My Web Archive",
        "modified": "2024-05-01T10:05:00.000Z",
    });
    let package = package.to_string().into_bytes();
    let digest = json!({"path": "datapackage.json", "hash": sha256(&package)}).to_string();
    let mut members: Vec<(&str, &[u8], &[u8])> =
        files.iter().map(|(path, bytes)| (*path, bytes.as_slice(), b"".as_slice())).collect();
    members.push(("datapackage.json", &package, b""));
    members.push(("datapackage-digest.json", digest.as_bytes(), b""));
    support::zip(&members)
}

/// ArchiveWeb.page writes one WARC, a list of pages, and an index. A body that it has already is a
/// `revisit`.
#[test]
fn an_archive_of_archiveweb_page_is_imported_and_replayed() {
    let (style, again) = ("https://www.example.org/style.css", "https://www.example.org/again.css");
    let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>page";
    let css = b"HTTP/1.1 200 OK\r\ncontent-type: text/css\r\n\r\np{}";
    let metadata =
        ("WARC-JSON-Metadata", "{\"ipType\":\"Public\",\"adaptive_max_resolution\":\"0\"}");
    let (page_digest, css_digest) = (sha256(b"<p>page"), sha256(b"p{}"));
    let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
    let revisit = [
        ("WARC-Profile", profile),
        ("WARC-Refers-To-Target-URI", style),
        ("WARC-Refers-To-Date", "2024-05-01T10:00:00.123Z"),
        ("WARC-Payload-Digest", css_digest.as_str()),
    ];
    let request = |id: &str, of: &str, url: &str| {
        let of = format!("<urn:uuid:{of}>");
        let block = b"GET / HTTP/1.1\r\naccept: */*\r\n\r\n";
        of_page("request", id, url, &[("WARC-Concurrent-To", of.as_str())], block)
    };
    let info = b"software: Webrecorder ArchiveWeb.page 0.15.1\r\nformat: WARC File Format 1.1\r\n\
        isPartOf: My Web Archive\r\n";
    let text =
        [("WARC-Target-URI", "urn:text:https://www.example.org/"), ("Content-Type", "text/plain")];
    let archive = members(&[
        record("warcinfo", &[("Content-Type", "application/warc-fields")], info),
        of_page("response", "1", URL, &[metadata, ("WARC-Payload-Digest", &page_digest)], page),
        request("2", "1", URL),
        of_page("response", "3", style, &[metadata, ("WARC-Payload-Digest", &css_digest)], css),
        request("4", "3", style),
        of_page(
            "revisit",
            "5",
            again,
            &revisit,
            b"HTTP/1.1 200 OK\r\ncontent-type: text/css\r\n\r\n",
        ),
        request("6", "5", again),
        record("resource", &text, b"page"),
    ]);
    let pages = format!(
        "{}\n{}\n",
        json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": true}),
        json!({"id": "1e9g9sdk4cnxd5s2y0ikbp", "url": URL, "ts": "2024-05-01T10:00:00.123Z",
            "title": "Page", "text": "page", "size": 100})
    );
    let file = wacz(&[
        ("pages/pages.jsonl", pages.into_bytes()),
        ("archive/data.warc.gz", archive),
        ("indexes/index.cdx", b"org,example,www)/ 20240501100000 {}\n".to_vec()),
    ]);
    let bench = Bench::new();
    let path = bench.write("my-web-archive.wacz", &file);
    let report = bench.import(&path);
    assert_eq!((report.kept, report.refused), (3, 0), "{report:?}");
    for (url, body) in [(URL, "<p>page"), (style, "p{}"), (again, "p{}")] {
        assert_eq!(bench.body(url), body.as_bytes(), "{url}");
    }
    let fixture = Fixture::read(&path).unwrap();
    let read = fixture.exchanges.iter().map(|one| (one.url.as_str(), &one.response.body[..]));
    let want: [(&str, &[u8]); 3] = [(URL, b"<p>page"), (style, b"p{}"), (again, b"p{}")];
    assert_eq!((read.collect::<Vec<_>>().as_slice(), fixture.skipped), (want.as_slice(), 0));
}

/// Crawlers with several workers write several files, so a `revisit` may come before its response.
/// The body may also be in an earlier crawl.
#[test]
fn a_revisit_is_replayed_wherever_its_body_is() {
    let body = sha256(b"body");
    let revisit = |id: &str, url: &str, digest: &str| {
        let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
        let fields = [("WARC-Profile", profile), ("WARC-Payload-Digest", digest)];
        of_page("revisit", id, url, &fields, b"HTTP/1.1 200 OK\r\nx-number: 1\r\n\r\n")
    };
    let first = "https://www.example.org/first";
    let bench = Bench::new();
    let path = bench.write(
        "crawl.wacz",
        &wacz(&[
            (
                "archive/rec-1.warc.gz",
                members(&[
                    revisit("1", first, &body),
                    revisit("2", "https://www.example.org/gone", &sha256(b"elsewhere")),
                ]),
            ),
            (
                "archive/rec-2.warc.gz",
                members(&[of_page(
                    "response",
                    "3",
                    URL,
                    &[("WARC-Payload-Digest", &body)],
                    b"HTTP/1.1 200 OK\r\n\r\nbody",
                )]),
            ),
        ]),
    );
    let fixture = Fixture::read(&path).unwrap();
    let read = fixture.exchanges.iter().map(|one| (one.url.as_str(), &one.response.body[..]));
    let want: [(&str, &[u8]); 2] = [(first, b"body"), (URL, b"body")];
    assert_eq!((read.collect::<Vec<_>>().as_slice(), fixture.skipped), (want.as_slice(), 1));
}

/// An archive that ends in the middle: what came before is stored, and the report says so. It is
/// stored for one person, because the missing rest may have a request with a cookie.
#[test]
fn the_beginning_of_a_truncated_archive_is_imported() {
    let of = |url: &str, text: &str| {
        let block = format!("HTTP/1.1 200 OK\r\n\r\n{text}");
        support::response(url, "2024-05-01T10:00:00Z", block.as_bytes())
    };
    let last = "https://www.example.org/last";
    // Text that hardly compresses, so that the end of the file is in the last body.
    let long: String = (0..2_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .map(|byte| char::from(b'a' + byte % 26))
        .collect();
    let records = [of(URL, "first"), of(last, &long)];
    let (plain, compressed) = (records.concat(), members(&records));
    let whole_gzip = gzip(&plain);
    let name = "archive/data.warc.gz";
    let package = json!({"resources": [{"path": name, "hash": sha256(&compressed)}]}).to_string();
    // The directory follows, so that the WARC file ends in the middle as well.
    let wacz =
        support::zip(&[(name, &compressed, b""), ("datapackage.json", package.as_bytes(), b"")]);
    let end_of_archive = 30 + name.len() + compressed.len();
    for (name, whole) in [
        ("a.warc", &plain[..]),
        ("b.warc.gz", &compressed),
        ("c.warc.gz", &whole_gzip),
        ("d.wacz", &wacz[..end_of_archive]),
    ] {
        for missing in [30, 60, 500] {
            let bench = Bench::new();
            bench.import(&bench.write("before.warc", &of("https://www.example.org/before", "b")));
            let path = bench.write(name, &whole[..whole.len() - missing]);
            let report = bench.import(&path);
            let first = bench.own(URL).unwrap_or_else(|| panic!("{name} {missing}: {report:?}"));
            assert_eq!(support::body(&first), b"first", "{name} {missing}");
            let stored = |url| bench.entry(url).or_else(|| bench.own(url));
            assert!(stored(last).is_none(), "{name} {missing}: never a part of a body");
            let reasons = format!("{:?}", report.refusals);
            assert!(reasons.contains("in the middle"), "{name} {missing}: {reasons}");
            assert!(reasons.contains(last), "{name} {missing}: {reasons}");
            assert!(bench.entry("https://www.example.org/before").is_some(), "nothing is lost");
            // The whole archive later adds the rest.
            if name != "d.wacz" {
                let report = bench.import(&bench.write(name, whole));
                assert_eq!((report.refused, stored(last).is_some()), (0, true), "{report:?}");
            }
        }
    }
    // Nothing of the first record: the archive is refused.
    let bench = Bench::new();
    let path = bench.write("e.warc.gz", &compressed[..5]);
    let refused = bench.try_import(&path, &support::options());
    assert!(refused.unwrap_err().is_unknown());
}

#[test]
fn a_truncated_wacz_without_archives_is_refused() {
    let wacz = support::zip(&[("datapackage.json", b"{}", b"")]);
    let bench = Bench::new();
    let path = bench.write("a.wacz", &wacz[..wacz.len() - 30]);
    let refused = bench.try_import(&path, &support::options());
    assert!(refused.unwrap_err().to_string().contains("damaged ZIP"));
}

fn har(creator: &str, entries: &[Value]) -> Vec<u8> {
    let log = json!({
        "version": "1.2",
        "creator": {"name": creator, "version": "1"},
        "pages": [{"id": "page_1", "title": URL, "pageTimings": {},
            "startedDateTime": "2024-05-01T12:00:00.000+02:00"}],
        "entries": entries,
    });
    json!({"log": log}).to_string().into_bytes()
}

fn exchange(url: &str, fields: &[(&str, &str)], content: &Value) -> Value {
    let fields = fields.iter().map(|(name, value)| json!({"name": name, "value": value}));
    json!({
        "pageref": "page_1",
        "startedDateTime": "2024-05-01T12:00:00.123+02:00",
        "time": 5,
        "request": {"method": "GET", "url": url, "httpVersion": "HTTP/2", "cookies": [],
            "headers": [{"name": "Host", "value": "www.example.org"}], "queryString": [],
            "headersSize": 100, "bodySize": 0},
        "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2", "cookies": [],
            "headers": fields.collect::<Vec<_>>(), "content": content, "redirectURL": "",
            "headersSize": 100, "bodySize": 20},
        "cache": {},
        "timings": {"blocked": 0, "dns": 0, "ssl": 0, "connect": 0, "send": 0, "wait": 5, "receive": 0},
        "_securityState": "secure",
        "serverIPAddress": "192.0.2.7",
        "connection": "443",
    })
}

/// mitmproxy and Firefox save decoded bodies with the fields of the coded ones.
#[test]
fn har_files_of_firefox_and_mitmproxy_are_imported() {
    let picture = "https://www.example.org/picture.png";
    for creator in ["Firefox", "mitmproxy"] {
        let bench = Bench::new();
        let fields = [
            ("content-type", "text/html; charset=iso-8859-1"),
            ("content-encoding", "gzip"),
            ("content-length", "20"),
            ("cache-control", "public"),
        ];
        let image =
            [("content-type", "image/png"), ("content-length", "3"), ("cache-control", "public")];
        let entries = [
            exchange(
                URL,
                &fields,
                &json!({"mimeType": "text/html; charset=iso-8859-1", "size": 5,
                "compression": 0, "text": "caf\u{e9}!"}),
            ),
            exchange(
                picture,
                &image,
                &json!({"mimeType": "image/png", "size": 3,
                "text": "iVBO", "encoding": "base64"}),
            ),
        ];
        // Browsers also save the messages of WebSockets. The spool stores none.
        let mut socket = exchange("wss://www.example.org/chat", &[], &json!({"size": 0}));
        socket["response"]["status"] = json!(101);
        socket["_webSocketMessages"] =
            json!([{"type": "send", "time": 1_714_557_600.5, "opcode": 1, "data": "hello"}]);
        let with_socket = har(creator, &[entries[0].clone(), socket, entries[1].clone()]);
        let report = bench.import(&bench.write("a.har", &with_socket));
        let counts = (report.kept, report.refused, report.passed);
        assert_eq!(counts, (2, 0, 1), "{creator}: {report:?}");
        assert_eq!(bench.body(URL), "caf\u{e9}!".as_bytes(), "texts are stored as UTF-8");
        assert_eq!(bench.body(picture), [0x89, b'P', b'N']);
        // A file that ends in the middle is reported.
        let bench = Bench::new();
        let whole = har(creator, &entries);
        let cut = whole.len() * 9 / 10;
        let report = bench.import(&bench.write("a.har", &whole[..cut]));
        assert!(report.kept >= 1 && report.refused >= 1, "{creator}: {report:?}");
    }
}
