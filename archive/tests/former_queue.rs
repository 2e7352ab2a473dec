//! Requests on the queue of a spool of WWWOFFLE 2.9.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use support::{Bench, classic};
use wwwoffle_archive::ImportOptions;
use wwwoffle_url::LocalHost;

const FORM: &str = "http://q.example/f?!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11";

/// The options of a program whose port is not that of 2.9.
fn options() -> ImportOptions {
    let local = LocalHost::new(&["localhost"], 8085, None).unwrap();
    ImportOptions { local, ..support::options() }
}

/// Imports one request. Returns its body on the queue, or the reason why it is refused.
fn imported(url: &str, request: &str) -> Result<String, String> {
    let bench = Bench::new();
    classic(&bench, "outgoing", 'O', url, "", request.as_bytes());
    let report = bench.import_with(&bench.path("old"), &options());
    let queue = bench.spool.queue();
    match queue.list().first() {
        Some(summary) => {
            let queued = queue.get(&summary.place.key()).unwrap().unwrap();
            Ok(String::from_utf8(queued.body).unwrap())
        }
        None => Err(report.refusals[0].reason.clone()),
    }
}

#[test]
fn the_body_of_a_queued_form_is_complete_and_decoded() {
    for (fields, body, want) in [
        ("Content-Length: 3", "a=b", Ok("a=b")),
        ("Content-Length: 6", "a=b", Err("its body is shorter than its Content-Length")),
        ("Content-Length: 6", "", Err("its body is shorter than its Content-Length")),
        ("Transfer-Encoding: chunked", "3\r\na=b\r\n0\r\n\r\n", Ok("a=b")),
        ("Content-Length: 99\r\nTransfer-Encoding: Chunked", "3\r\na=b\r\n0\r\n\r\n", Ok("a=b")),
        ("Transfer-Encoding: chunked", "a=b", Ok("a=b")),
        ("Transfer-Encoding: chunked", "3\r\na=", Err("its chunked body is incomplete")),
        ("Content-Length: abc", "a=b", Err("its Content-Length is invalid")),
        ("Content-Length: -3", "a=b", Err("its Content-Length is invalid")),
        ("Content-Length: 3\r\nContent-Length: 2", "a=b", Err("its Content-Length is invalid")),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip",
            "3\r\na=b\r\n0\r\n\r\n",
            Err("its body has an unknown transfer coding"),
        ),
        ("Transfer-Encoding: gzip", "x", Err("its body has an unknown transfer coding")),
    ] {
        let request = format!("POST http://q.example/f HTTP/1.1\r\n{fields}\r\n\r\n{body}");
        let want = want.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(imported(FORM, &request), want, "{fields}: {body:?}");
    }
}

#[test]
fn stored_pages_of_the_old_proxy_are_refused() {
    let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nx";
    for (host, is_refused) in
        [("localhost:8080", true), ("0.0.0.0:8080", true), ("localhost:8081", false)]
    {
        let bench = Bench::new();
        classic(&bench, "http/x", 'D', &format!("http://{host}/index/"), "", answer);
        let report = bench.import_with(&bench.path("old"), &options());
        let reasons: Vec<_> = report.refusals.iter().map(|refusal| &*refusal.reason).collect();
        let want: &[&str] = if is_refused { &["it is a page of the old proxy"] } else { &[] };
        assert_eq!(reasons, want, "{host}");
    }
}

#[test]
#[ignore = "slow"]
fn an_unfetchable_url_is_refused() {
    let recursive = |url: &str| format!("http://old:8080/refresh-recurse/?url={url};depth=1");
    let form = "it asks for the stored response to a form, which no origin knows";
    let ws = "its URL is not a web address";
    let own = "it is a page of the old proxy";
    // The caller of this crate reads the arguments of recursive fetches.
    let taken = "it is a recursive fetch";
    for (url, want) in [
        (recursive(&FORM.replace('?', "%3F")), form),
        (FORM.to_owned(), form),
        (recursive("ws://q.example/x"), ws),
        ("ws://q.example/x".to_owned(), ws),
        ("http://old:8080/refresh/?ws://q.example/x".to_owned(), ws),
        ("http://localhost:8080/refresh-options/?x".to_owned(), own),
        ("http://127.0.0.1:8080/control/".to_owned(), own),
        ("http://[::1]:8080/refresh/?x=1".to_owned(), own),
        ("http://LocalHost.:8080/control/".to_owned(), own),
        ("http://wwwoffle.localhost:8080/control/".to_owned(), own),
        ("http://0.0.0.0:8080/control/".to_owned(), own),
        ("http://[::]:8080/control/".to_owned(), own),
        ("http://[::ffff:127.0.0.1]:8080/control/".to_owned(), own),
        ("https://localhost:8443/control/".to_owned(), own),
        (recursive("http://localhost:8080/"), own),
        ("http://localhost:8080/refresh/?http://q.example/".to_owned(), taken),
        ("http://localhost:8080/refresh-request/?url=http%3A%2F%2Fq.example%2F".to_owned(), taken),
        (recursive("http://q.example/"), taken),
    ] {
        let got = imported(&url, &format!("GET {url} HTTP/1.0\r\n\r\n"));
        assert_eq!(got, Err(want.to_owned()), "{url}");
    }
    for url in [
        "http://localhost:8081/",
        "http://mylocalhost:8080/",
        "http://localhost.example:8080/",
        "http://q.example:8080/refresh/?x=1",
    ] {
        let got = imported(url, &format!("GET {url} HTTP/1.0\r\n\r\n"));
        assert_eq!(got, Ok(String::new()), "{url}");
    }
}
