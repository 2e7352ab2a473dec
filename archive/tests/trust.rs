//! Archives of other people must not publish personal data or send requests.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod support;

use support::{Bench, options, page, record, request, response};
use wwwoffle_archive::Bundle;

const DATE: &str = "2024-05-01T10:00:00Z";

/// An unreadable request may have had a cookie.
#[test]
fn a_response_to_an_unreadable_request_is_personal() {
    let url = "http://a.example/";
    let long = format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", "a".repeat(70 << 10));
    for bad in ["get / HTTP/1.1\r\nCookie: a=b\r\n\r\n", "GET / HTTP/1.1\r\n", &long] {
        let bench = Bench::new();
        let both = [response(url, DATE, &page("x")), request(url, DATE, bad.as_bytes())].concat();
        bench.import(&bench.write("a.warc", &both));
        assert!(bench.own(url).is_some() && bench.entry(url).is_none(), "{bad:.40}");
    }
}

/// The author of an archive must not be able to send a form in the name of the user.
#[test]
fn a_form_of_an_archive_is_not_queued() {
    let waiting = |path: &str, head: &str| {
        let url = format!("http://a.example/{path}");
        let fields = [
            ("WARC-Target-URI", &*url),
            ("WARC-Date", DATE),
            ("Content-Type", "application/http; msgtype=request"),
            ("Wwwoffle-Kind", "page"),
        ];
        record("request", &fields, head.as_bytes())
    };
    let get = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let post = "POST /b HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\na=b";
    let bench = Bench::new();
    let path = bench.write("a.warc", &[waiting("a", get), waiting("b", post)].concat());
    let report = bench.import(&path);
    assert_eq!((report.requests.queued, report.refused), (1, 1), "{report:?}");
    assert_eq!(report.refusals.first().unwrap().reason, "forms of an archive are not sent");
    assert_eq!(bench.spool.queue().list().len(), 1);
    let bundle = Bundle::read(&path, &options().local).unwrap();
    assert_eq!(bundle.len(), 1);
}
