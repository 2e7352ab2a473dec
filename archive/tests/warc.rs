//! Imports of WARC files: stored responses, their owners, and refusals.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use support::{Bench, gzip, options, page, place, record, request, response, sha256, time};
use wwwoffle_archive::{ImportControl, ImportReport, PersonalOwner, PlainPlacement, import};

const DATE: &str = "2024-05-01T10:00:00Z";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n";

/// The reasons in a report.
fn reasons(report: &ImportReport) -> Vec<&str> {
    report.refusals.iter().map(|refused| refused.reason.as_str()).collect()
}

#[test]
fn a_response_is_imported_with_its_request_from_any_compression() {
    let info = record("warcinfo", &[("WARC-Date", DATE)], b"software: x\r\n");
    let answer = response("http://a.example/", DATE, &page("<p>hello"));
    let asked = request("http://a.example/", DATE, GET);
    let plain = [info.clone(), answer.clone(), asked.clone()].concat();
    let members = [gzip(&info), gzip(&answer), gzip(&asked)].concat();
    let frames: Vec<_> = [&info, &answer, &asked]
        .iter()
        .flat_map(|one| zstd::encode_all(one.as_slice(), 3).unwrap())
        .collect();
    for (name, bytes) in [
        ("a.warc", plain.clone()),
        ("a.warc.gz", members),
        ("whole.warc.gz", gzip(&plain)),
        ("a.warc.zst", frames),
        ("named otherwise", plain),
    ] {
        let bench = Bench::new();
        let report = bench.import(&bench.write(name, &bytes));
        assert_eq!((report.kept, report.passed, report.refused), (1, 2, 0), "{name}: {report:?}");
        let entry = bench.entry("http://a.example/").unwrap();
        assert_eq!(support::body(&entry), b"<p>hello");
        assert_eq!((entry.status(), entry.received()), (200, time(DATE)));
        assert_eq!(entry.request(), GET);
        assert!(entry.head().starts_with(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"));
    }
}

#[test]
fn an_archive_may_start_with_a_dictionary() {
    let page = page("a page that says much the same as every other page of this site");
    let answer = response("http://a.example/", DATE, &page);
    let dictionary = answer.clone();
    let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, &dictionary).unwrap();
    std::io::Write::write_all(&mut encoder, &answer).unwrap();
    let frame = encoder.finish().unwrap();
    for stored in [dictionary.clone(), zstd::encode_all(dictionary.as_slice(), 3).unwrap()] {
        let mut bytes = vec![0x5d, 0x2a, 0x4d, 0x18];
        bytes.extend(u32::try_from(stored.len()).unwrap().to_le_bytes());
        bytes.extend([stored, frame.clone()].concat());
        let bench = Bench::new();
        let report = bench.import(&bench.write("a.warc.zst", &bytes));
        assert_eq!((report.kept, report.refused), (1, 0), "{report:?}");
    }
}

#[test]
fn transfer_codings_are_removed_and_content_codings_stay() {
    let coded = gzip(b"<p>hello");
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut block = head.as_bytes().to_vec();
    for piece in coded.chunks(7) {
        block.extend(format!("{:x}\r\n", piece.len()).bytes());
        block.extend(piece);
        block.extend(b"\r\n");
    }
    block.extend(b"0\r\n\r\n");
    let bench = Bench::new();
    // Some tools declare `chunked` for a body that is not chunked.
    let claimed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>plain".to_vec();
    let both = [
        response("http://a.example/", DATE, &block),
        response("http://a.example/plain", DATE, &claimed),
    ];
    let report = bench.import(&bench.write("a.warc", &both.concat()));
    assert_eq!((report.kept, report.refused), (2, 0), "{report:?}");
    assert_eq!(bench.body("http://a.example/"), coded);
    assert_eq!(bench.body("http://a.example/plain"), b"<p>plain");
    let head = bench.entry("http://a.example/").unwrap().head().to_vec();
    assert_eq!(head, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
}

#[test]
fn digests_match_the_chunked_or_the_decoded_body() {
    let block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let of = |payload: &str, whole: &str| {
        let fields = [
            ("WARC-Target-URI", "http://a.example/"),
            ("WARC-Date", DATE),
            ("Content-Type", "application/http"),
            ("WARC-Payload-Digest", payload),
            ("WARC-Block-Digest", whole),
        ];
        record("response", &fields, block)
    };
    let wrong = sha256(b"wrong");
    for (payload, whole, want) in [
        (sha256(b"abc"), sha256(block), None),
        (sha256(b"3\r\nabc\r\n0\r\n\r\n"), sha256(block), None),
        ("sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5".to_owned(), sha256(block), None),
        ("md5:whatever".to_owned(), sha256(block), None),
        (wrong.clone(), sha256(block), Some("its WARC-Payload-Digest does not match")),
        (sha256(b"abc"), wrong, Some("its WARC-Block-Digest does not match")),
        ("sha256:x".to_owned(), sha256(block), Some("has an invalid digest")),
    ] {
        let bench = Bench::new();
        let report = bench.import(&bench.write("a.warc", &of(&payload, &whole)));
        assert_eq!(reasons(&report).first().copied(), want, "{payload} {whole}");
        assert_eq!(bench.entry("http://a.example/").is_some(), want.is_none());
    }
}

#[test]
#[ignore = "slow"]
fn an_invalid_record_is_reported_and_does_not_affect_others() {
    let good = response("http://a.example/good", DATE, &page("good"));
    let url = "http://a.example/";
    let of = |url: &str, date: &str, block: &[u8]| response(url, date, block);
    let field = |name: &str, value: &str| {
        let fields = [("WARC-Target-URI", url), ("WARC-Date", DATE), (name, value)];
        let fields = [fields.as_slice(), &[("Content-Type", "application/http")]].concat();
        record("response", &fields, &page("x"))
    };
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (of("mailto:a@b", DATE, &page("x")), "its URL is invalid"),
        (of("gopher://a.example/", DATE, &page("x")), "its URL is not a web address"),
        (of("http://", DATE, &page("x")), "its URL is invalid"),
        (of("http://localhost:8080/", DATE, &page("x")), "it is a page of the proxy"),
        (of(url, "yesterday", &page("x")), "has an invalid date"),
        (of(url, "1950-01-01T00:00:00Z", &page("x")), "has a date before 1970"),
        (of(url, DATE, b"hello"), "its head is incomplete"),
        (of(url, DATE, b"hello\r\n\r\n"), "does not begin with a status line"),
        (of(url, DATE, b"HTTP/1.1 206 x\r\n\r\na"), "it is a partial response"),
        (of(url, DATE, b"HTTP/1.1 304 x\r\n\r\n"), "it only says that nothing has changed"),
        (of(url, DATE, b"HTTP/1.1 503 x\r\n\r\n"), "the origin failed"),
        (of(url, DATE, b"HTTP/1.1 401 x\r\n\r\n"), "applies to that request only"),
        (
            of(url, DATE, b"HTTP/1.1 200 x\r\nContent-Length: 5\r\n\r\nab"),
            "differs from Content-Length",
        ),
        (
            of(url, DATE, b"HTTP/1.1 200 x\r\nContent-Length: 1\r\n\r\nab"),
            "differs from Content-Length",
        ),
        (
            of(url, DATE, b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"),
            "chunked body is incomplete",
        ),
        (field("WARC-Truncated", "length"), "truncated when it was archived"),
        (field("WARC-Segment-Number", "1"), "segmented record"),
        (
            record("continuation", &[("WARC-Target-URI", url)], b"x"),
            "segment of a segmented record",
        ),
        (b"rubbish\r\n\r\n".to_vec(), "there are invalid bytes between two records"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n".to_vec(), "a record has no length"),
    ];
    for (bad, why) in cases {
        let bench = Bench::new();
        let path = bench.write("a.warc", &[good.clone(), bad, good.clone()].concat());
        let report = bench.import(&path);
        assert_eq!((report.kept, report.same, report.refused), (1, 1, 1), "{why}: {report:?}");
        assert!(reasons(&report)[0].contains(why), "{why}: {report:?}");
        assert!(bench.entry(url).is_none());
        assert_eq!(bench.body("http://a.example/good"), b"good");
    }
}

#[test]
#[ignore = "slow"]
fn a_possibly_personal_response_is_stored_as_personal() {
    let url = "http://a.example/";
    let answers = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\nx").into_bytes();
    let asks = |fields: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes();
    for (answer, asked, is_own) in [
        (answers(""), asks(""), false),
        (answers("Set-Cookie: a=b\r\n"), asks(""), true),
        (answers("Cache-Control: private\r\n"), asks(""), true),
        (answers(""), asks("Cookie: a=b\r\n"), true),
        (answers("Cache-Control: public\r\n"), asks("Authorization: Basic eDp5\r\n"), true),
    ] {
        // The request may be far behind its response.
        let between: Vec<u8> = (0..100)
            .flat_map(|number| response(&format!("{url}{number}"), DATE, &page("between")))
            .collect();
        let pieces = [response(url, DATE, &answer), between, request(url, DATE, &asked)];
        let bench = Bench::new();
        let path = bench.write("a.warc", &pieces.concat());
        let report = bench.import(&path);
        assert_eq!((report.kept, report.refused), (101, 0), "{report:?}");
        assert_eq!((bench.own(url).is_some(), bench.entry(url).is_some()), (is_own, !is_own));
        if let Some(own) = bench.own(url) {
            let request = String::from_utf8_lossy(own.request()).to_lowercase();
            assert!(!request.contains("cookie") && !request.contains("authorization"));
        }
        // The response is shared if requested, but then the cookie is removed.
        let bench = Bench::new();
        let everyone =
            wwwoffle_archive::ImportOptions { private: PersonalOwner::Everyone, ..options() };
        bench.import_with(&bench.write("a.warc", &pieces.concat()), &everyone);
        let head = bench.entry(url).unwrap().head().to_vec();
        assert!(!String::from_utf8_lossy(&head).contains("Set-Cookie"));
    }
}

#[test]
fn a_form_response_is_stored_under_the_sent_body() {
    let url = "http://a.example/form";
    let form = b"POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na=b";
    let bench = Bench::new();
    let pieces = [
        request(url, DATE, form),
        response(url, DATE, &page("sent")),
        request("http://a.example/b", DATE, b"POST /b HTTP/1.1\r\nHost: a\r\n\r\n"),
        response("http://a.example/b", DATE, &page("no body")),
        request("http://a.example/c", DATE, b"HEAD /c HTTP/1.1\r\nHost: a\r\n\r\n"),
        response("http://a.example/c", DATE, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
    ];
    let report = bench.import(&bench.write("a.warc", &pieces.concat()));
    let key = wwwoffle_url::CanonicalUrl::parse(url, &wwwoffle_url::LocalHost::default()).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(b"a=b").into();
    let place = wwwoffle_spool::Place::of(&key.with_post(&digest)).owned_by("local");
    let kept = bench.spool.entry(&place).unwrap().found().unwrap();
    assert_eq!(support::body(&kept), b"sent");
    // The form may contain a password.
    assert!(!kept.request().ends_with(b"a=b"));
    assert_eq!(
        reasons(&report),
        ["it answers a form whose contents are not in the archive", "it answers a HEAD request"]
    );
}

/// Knowing the digest of a personal body must not be enough to publish it.
#[test]
fn a_revisit_does_not_publish_a_personal_body() {
    let bench = Bench::new();
    let (first, later) = ("http://a.example/", "http://b.example/copy");
    let private = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 5\r\n\r\nhello";
    bench.import(&bench.write("a.warc", &response(first, DATE, private)));
    assert!(bench.own(first).is_some() && bench.entry(first).is_none());
    let digest = sha256(b"hello");
    let revisit = |cookie: &str| {
        let fields = [
            ("WARC-Target-URI", later),
            ("WARC-Date", DATE),
            ("Content-Type", "application/http; msgtype=response"),
            ("WARC-Payload-Digest", &*digest),
            ("WARC-Refers-To-Target-URI", first),
        ];
        let head = format!("HTTP/1.1 200 OK\r\n{cookie}Content-Length: 5\r\n\r\n");
        record("revisit", &fields, head.as_bytes())
    };
    let report = bench.import(&bench.write("b.warc", &revisit("")));
    assert_eq!(reasons(&report), ["the body that it refers to is not stored"], "{report:?}");
    // The response of the owner finds the body.
    let report = bench.import(&bench.write("c.warc", &revisit("Set-Cookie: a=c\r\n")));
    assert_eq!((report.kept, report.refused), (1, 0), "{report:?}");
    assert_eq!(support::body(&bench.own(later).unwrap()), b"hello");
}

#[test]
fn a_revisit_has_the_body_that_it_refers_to() {
    let (first, later) = ("http://a.example/", "http://b.example/copy");
    let digest = sha256(b"hello");
    let revisit = |digest: &str, more: &[(&str, &str)]| {
        let fields = [
            ("WARC-Target-URI", later),
            ("WARC-Date", DATE),
            ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
            ("Content-Type", "application/http; msgtype=response"),
            ("WARC-Payload-Digest", digest),
        ];
        let head = b"HTTP/1.1 200 OK\r\nX-Later: 1\r\nContent-Length: 5\r\n\r\n";
        record("revisit", &[fields.as_slice(), more].concat(), head)
    };
    let answer = {
        let fields = [
            ("WARC-Target-URI", first),
            ("WARC-Date", DATE),
            ("WARC-Record-ID", "<urn:x:1>"),
            ("Content-Type", "application/http"),
            ("WARC-Payload-Digest", &digest),
        ];
        record("response", &fields, &page("hello"))
    };
    // The body is found by record id, by URL, or by digest only.
    for more in
        [&[("WARC-Refers-To", "<urn:x:1>")][..], &[("WARC-Refers-To-Target-URI", first)], &[]]
    {
        let bench = Bench::new();
        let both = [answer.clone(), revisit(&digest, more)].concat();
        let report = bench.import(&bench.write("a.warc", &both));
        assert_eq!((report.kept, report.refused), (2, 0), "{more:?} {report:?}");
        let kept = bench.entry(later).unwrap();
        assert_eq!(support::body(&kept), b"hello");
        assert!(String::from_utf8_lossy(kept.head()).contains("X-Later: 1"));
        // The body is also found in the spool, where another archive stored it.
        let alone =
            bench.write("b.warc", &revisit(&digest, &[("WARC-Refers-To-Target-URI", first)]));
        assert!(bench.spool.remove(&place(later)).unwrap());
        assert_eq!(bench.import(&alone).kept, 1);
    }
    for (digest, more) in
        [(sha256(b"other"), &[("WARC-Refers-To", "<urn:x:1>")][..]), (digest.clone(), &[])]
    {
        let bench = Bench::new();
        let record = revisit(&digest, more);
        let bytes = if more.is_empty() { record } else { [answer.clone(), record].concat() };
        let report = bench.import(&bench.write("a.warc", &bytes));
        assert_eq!(reasons(&report), ["the body that it refers to is not stored"], "{report:?}");
    }
}

#[test]
fn a_resource_record_is_stored() {
    let of = |url: &str| {
        let fields = [("WARC-Target-URI", url), ("WARC-Date", DATE), ("Content-Type", "image/png")];
        record("resource", &fields, b"\x89PNG")
    };
    let bench = Bench::new();
    let both = [of("<ftp://a.example/a.png>"), of("urn:thumbnail:x")].concat();
    let report = bench.import(&bench.write("a.warc", &both));
    assert_eq!((report.kept, report.passed, report.refused), (1, 1, 0), "{report:?}");
    let kept = bench.entry("ftp://a.example/a.png").unwrap();
    assert_eq!(
        kept.head(),
        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n"
    );
}

#[test]
fn the_newest_response_wins_and_the_others_become_versions() {
    let url = "http://a.example/";
    let day = |day: u8| format!("2024-05-{day:02}T10:00:00Z");
    let archive = |days: &[(u8, &str)]| -> Vec<u8> {
        days.iter().flat_map(|(at, body)| response(url, &day(*at), &page(body))).collect()
    };
    let bench = Bench::new();
    let report = bench.import(&bench.write("a.warc", &archive(&[(5, "five"), (1, "one")])));
    assert_eq!((report.kept, report.older), (1, 1), "{report:?}");
    let more = bench.write("b.warc", &archive(&[(3, "three"), (7, "seven"), (6, "six")]));
    let report = bench.import(&more);
    assert_eq!((report.kept, report.older), (1, 2), "{report:?}");
    assert_eq!(bench.body(url), b"seven");
    let mut older = bench.older(url);
    older.sort();
    assert_eq!(older, [b"five".to_vec(), b"six".to_vec(), b"three".to_vec()]);
    // A second import changes nothing.
    let again = bench.import(&more);
    assert_eq!((again.kept, again.older, again.same), (0, 0, 3), "{again:?}");
    assert_eq!(bench.older(url).len(), 3);
    // The response is older than the stored one, but replacing was requested.
    let replace = wwwoffle_archive::ImportOptions { replace: true, ..options() };
    bench.import_with(&bench.write("c.warc", &archive(&[(2, "two")])), &replace);
    assert_eq!(bench.body(url), b"two");
}

/// Redirects have empty or equal bodies, but different locations.
#[test]
fn redirects_to_different_locations_are_different() {
    let url = "http://a.example/";
    let moved = |status: u16, to: &str| {
        format!("HTTP/1.1 {status} x\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    };
    let bench = Bench::new();
    let mut day = 0;
    let mut import = |block: &[u8]| {
        day += 1;
        let date = format!("2024-05-0{day}T10:00:00Z");
        let report = bench.import(&bench.write("a.warc", &response(url, &date, block)));
        (report.kept, report.same)
    };
    assert_eq!(import(&moved(301, "/a")), (1, 0));
    assert_eq!(import(&moved(301, "/a")), (0, 1));
    assert_eq!(import(&moved(301, "/b")), (1, 0));
    assert_eq!(import(&moved(302, "/b")), (1, 0));
    let entry = bench.entry(url).unwrap();
    assert_eq!(entry.status(), 302);
    assert!(String::from_utf8_lossy(entry.head()).contains("Location: /b\r\n"));
}

#[test]
fn older_responses_are_skipped_without_history() {
    let url = "http://a.example/";
    let bench = Bench::keeping(0);
    bench.import(&bench.write("a.warc", &response(url, DATE, &page("new"))));
    let older = response(url, "2023-01-01T00:00:00Z", &page("old"));
    let report = bench.import(&bench.write("b.warc", &older));
    assert_eq!((report.outdated, report.kept), (1, 0), "{report:?}");
    assert_eq!((bench.body(url), bench.older(url).len()), (b"new".to_vec(), 0));
}

#[test]
fn a_dry_run_reports_the_same_and_stores_nothing() {
    let pieces = [
        response("http://a.example/", DATE, &page("a")),
        response("http://b.example/", DATE, b"HTTP/1.1 500 x\r\n\r\n"),
    ];
    let bench = Bench::new();
    let path = bench.write("a.warc", &pieces.concat());
    let dry = wwwoffle_archive::ImportOptions { dry_run: true, ..options() };
    let told = bench.import_with(&path, &dry);
    assert!(bench.entry("http://a.example/").is_none());
    assert_eq!(told, bench.import(&path));
}

#[test]
#[ignore = "slow"]
fn a_stopped_import_resumes() {
    let url = |number: u32| format!("http://a.example/{number}");
    let archive = |from: u32| -> Vec<u8> {
        (from..from + 1_200).flat_map(|one| response(&url(one), DATE, &page("x"))).collect()
    };
    let bench = Bench::new();
    let path = bench.write("a.warc.gz", &gzip(&archive(0)));
    let stop = |at: u64| {
        import(&bench.spool, &path, &options(), &PlainPlacement, &mut |report| {
            if report.seen() >= at { ImportControl::Stop } else { ImportControl::Continue }
        })
    };
    assert!(stop(700).unwrap_err().is_stopped());
    assert!(bench.entry(&url(699)).is_some() && bench.entry(&url(700)).is_none());
    // The import can also be stopped while it skips finished items.
    assert!(stop(0).unwrap_err().is_stopped());
    assert!(bench.entry(&url(700)).is_none());
    // Items of the first run are not examined again.
    bench.spool.remove(&place(&url(3))).unwrap();
    let report = bench.import(&path);
    assert_eq!((report.kept, report.same), (1_200, 0), "{report:?}");
    assert!(bench.entry(&url(3)).is_none() && bench.entry(&url(1_199)).is_some());
    // A different archive starts from its beginning.
    assert!(stop(700).unwrap_err().is_stopped());
    bench.write("a.warc.gz", &gzip(&archive(1)));
    let report = bench.import(&path);
    assert_eq!((report.kept, report.same), (1, 1_199), "{report:?}");
}

#[test]
#[ignore = "slow"]
fn a_compression_bomb_is_refused() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let size = 200_usize << 20;
    let start = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nWARC-Date: {DATE}\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n",
        head.len() + size
    );
    let bytes = [start.as_bytes(), head, &vec![0; size], b"\r\n\r\n"].concat();
    let bench = Bench::new();
    for (name, bytes) in
        [("a.warc.gz", gzip(&bytes)), ("a.warc.zst", zstd::encode_all(&bytes[..], 1).unwrap())]
    {
        let report = bench.import(&bench.write(name, &bytes));
        assert!(reasons(&report)[0].contains("500 times"), "{report:?}");
        assert!(bench.entry("http://a.example/").is_none());
    }
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let bench = Bench::new();
    let path = bench.write("a.warc", &response("http://a.example/", DATE, &page("12345")));
    let short = wwwoffle_archive::ImportOptions { max_body: 4, ..options() };
    let report = bench.import_with(&path, &short);
    assert_eq!(reasons(&report), ["its body is longer than 4 bytes"]);
}

#[test]
fn a_file_that_is_not_an_archive_is_reported() {
    let bench = Bench::new();
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("text", b"hello"),
        ("zip", &support::zip(&[("a", b"b", b"")])),
        ("gz", &gzip(b"hello")),
        ("zst", &[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff]),
        ("pk", b"PK\x03\x04"),
    ] {
        let path = bench.write(name, bytes);
        let error = import(&bench.spool, &path, &options(), &PlainPlacement, &mut |_| {
            ImportControl::Continue
        });
        assert!(error.unwrap_err().is_unknown(), "{name}");
    }
}
