//! Which stored responses are reused online: RFC 9111, and the options that override it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::harness::{Answer, Daemon, Gate, Origin, Response, eventually};

/// The HTTP date `seconds` from now, or in the past if `seconds` is negative.
pub(crate) fn date(seconds: i64) -> String {
    let now = SystemTime::now();
    let by = Duration::from_secs(seconds.unsigned_abs());
    httpdate::fmt_http_date(if seconds < 0 { now - by } else { now + by })
}

/// Makes the origin send different responses for `path`. `answer` gets the number of the request,
/// counted from 1.
pub(crate) fn counted(
    origin: &Origin,
    path: &str,
    answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
) {
    let asked = AtomicUsize::new(0);
    origin.on(path, move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        exchange.answer(&answer(number))
    });
}

/// A page with these fields whose body is the number of the request.
pub(crate) fn page(number: usize, fields: &[(&str, String)]) -> Answer {
    let answer = Answer::html(format!("answer {number}"));
    fields.iter().fold(answer, |answer, (name, value)| answer.field(name, value))
}

pub(crate) fn status(response: &Response) -> &str {
    response.field("Cache-Status").strip_prefix("wwwoffle; ").unwrap()
}

/// Whether a response is a cache hit with nearly all of its lifetime left. `lifetime` is in
/// seconds. The test may have taken up to a minute.
pub(crate) fn is_hit(response: &Response, lifetime: u64) -> bool {
    let left = status(response).strip_prefix("hit; ttl=");
    left.and_then(|left| left.parse::<u64>().ok())
        .is_some_and(|left| left <= lifetime && left + 60 > lifetime)
}

pub(crate) fn ask(daemon: &Daemon, method: &str, url: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!("{method} {url} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", host(url)));
    client.receive(method)
}

pub(crate) fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

/// The name of the case, the fields of the first response, the fields of the second request, and
/// the expected `Cache-Status` of the second response.
type Row = (&'static str, Vec<(&'static str, String)>, &'static str, &'static str);

/// Sends two requests for each row, and compares the `Cache-Status` of the second response. An
/// expected text that ends with `…` is compared as a prefix.
#[track_caller]
fn each(daemon: &Daemon, origin: &Origin, rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for (number, (name, fields, request, want)) in rows.into_iter().enumerate() {
        let path = format!("/row/{number}");
        counted(origin, &path, move |number| page(number, &fields));
        let url = origin.url(&path);
        assert_eq!(daemon.get(&url).whole().text(), "answer 1", "{name}");
        daemon.settle();
        let second = daemon.client().get_with(&url, request);
        let got = status(&second).to_owned();
        let is_right = match want.strip_suffix('…') {
            Some(want) => got.starts_with(want),
            None => got == want,
        };
        let asked = origin.count(&path);
        if !is_right || asked != 2 - usize::from(got.starts_with("hit")) {
            wrong.push(format!("{name}: got {got:?}, asked {asked} times, body {}", second.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn control(value: &str) -> Vec<(&'static str, String)> {
    vec![("Cache-Control", value.to_owned())]
}

#[test]
#[ignore = "slow"]
fn fresh_responses_are_served_and_stale_ones_revalidated() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let etag =
        |value: &str| vec![("Cache-Control", value.to_owned()), ("ETag", "\"a\"".to_owned())];
    each(
        &daemon,
        &origin,
        vec![
            ("max-age", control("max-age=3600"), "", "hit; ttl=…"),
            ("no lifetime", vec![], "", "fwd=stale; stored"),
            ("max-age over", control("max-age=0"), "", "fwd=stale; stored"),
            ("Expires", vec![("Expires", date(3600))], "", "hit; ttl=…"),
            ("Expires over", vec![("Expires", date(-5))], "", "fwd=stale; stored"),
            ("Expires 0", vec![("Expires", "0".to_owned())], "", "fwd=stale; stored"),
            ("guessed", vec![("Last-Modified", date(-100_000))], "", "hit; ttl=…"),
            ("s-maxage is not ours", control("s-maxage=3600"), "", "fwd=stale; stored"),
            ("private is ours", control("private, max-age=3600"), "", "hit; ttl=…"),
            ("no-cache", etag("no-cache, max-age=60"), "", "fwd=stale; fwd-status=304"),
            ("no-store", control("no-store, max-age=60"), "", "fwd=uri-miss; stored"),
            (
                "already old",
                [control("max-age=60"), vec![("Age", "60".into())]].concat(),
                "",
                "fwd=stale…",
            ),
            (
                "an invalid age",
                [control("max-age=60"), vec![("Age", "x".into())]].concat(),
                "",
                "hit; ttl=…",
            ),
            (
                "reload",
                etag("max-age=60"),
                "Cache-Control: no-cache\r\n",
                "fwd=request; fwd-status=304",
            ),
            (
                "max-age=0",
                control("max-age=60"),
                "Cache-Control: max-age=0\r\n",
                "fwd=request; stored",
            ),
            ("Pragma", control("max-age=60"), "Pragma: no-cache\r\n", "fwd=request; stored"),
            (
                "min-fresh",
                control("max-age=60"),
                "Cache-Control: min-fresh=90\r\n",
                "fwd=request; stored",
            ),
            ("max-stale", control("max-age=0"), "Cache-Control: max-stale\r\n", "hit; ttl=…"),
            (
                "must-revalidate",
                control("max-age=0, must-revalidate"),
                "Cache-Control: max-stale\r\n",
                "fwd=stale; stored",
            ),
        ],
    );
}

#[test]
fn a_shared_cache_uses_its_own_lifetimes() {
    let (daemon, origin) =
        (Daemon::configured("[caching]\nshared = true\nheuristics = \"0%\""), Origin::start());
    each(
        &daemon,
        &origin,
        vec![
            ("s-maxage", control("s-maxage=3600, max-age=0"), "", "hit; ttl=…"),
            ("s-maxage over", control("s-maxage=0, max-age=3600"), "", "fwd=stale; stored"),
            ("private", control("private, max-age=3600"), "", "fwd=uri-miss; stored"),
            ("nothing is guessed", vec![("Last-Modified", date(-100_000))], "", "fwd=stale; fwd…"),
            (
                "not ours",
                vec![("CDN-Cache-Control", "max-age=60".to_owned())],
                "",
                "fwd=stale; stored",
            ),
        ],
    );
}

#[test]
fn a_fresh_page_has_its_age_and_serves_head_and_conditions() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let fields = [("Cache-Control", "max-age=3600, no-cache=\"x-once\""), ("ETag", "\"a\"")];
    let fields = fields.map(|(name, value)| (name, value.to_owned()));
    counted(&origin, "/fresh", move |number| {
        page(number, &fields).field("Age", "100").field("X-Once", "1").field("X-Always", "2")
    });
    let url = origin.url("/fresh");
    let first = daemon.get(&url).whole();
    assert_eq!(first.field("X-Once"), "1");
    daemon.settle();
    let second = daemon.get(&url).whole();
    assert_eq!(second.text(), "answer 1");
    assert!(second.field("Age").parse::<u64>().unwrap() >= 100, "{second:?}");
    assert_eq!(second.field("Date"), first.field("Date"));
    assert_eq!((second.field("X-Once"), second.field("X-Always")), ("", "2"));
    let head = ask(&daemon, "HEAD", &url, "");
    assert_eq!((head.status, head.field("Content-Length")), (200, "8"));
    assert!(is_hit(&head, 3500), "{head:?}");
    let unchanged = daemon.client().get_with(&url, "If-None-Match: \"a\"\r\n");
    assert_eq!(unchanged.status, 304);
    assert!(status(&unchanged).starts_with("hit"), "{unchanged:?}");
    assert_eq!(origin.count("/fresh"), 1, "the origin was asked");
    // Offline the page is served unchanged.
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).whole().field("X-Once"), "1");
}

#[test]
fn a_head_request_for_a_stale_copy_is_forwarded() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    counted(&origin, "/stale", |number| page(number, &[]));
    let url = origin.url("/stale");
    daemon.get(&url).whole();
    daemon.settle();
    let head = ask(&daemon, "HEAD", &url, "");
    assert_eq!(status(&head), "fwd=stale; fwd-status=200");
    let put = ask(&daemon, "PUT", &url, "Content-Length: 0\r\n");
    assert_eq!(status(&put), "fwd=method; fwd-status=200");
    assert_eq!(origin.count("/stale"), 3);
}

#[test]
fn any_status_with_a_lifetime_is_reused_and_errors_are_not_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for code in [203, 204, 299, 302, 307, 400, 404, 410, 499, 500, 503, 599] {
        let path = format!("/code/{code}");
        counted(&origin, &path, move |number| {
            let body = if code == 204 { String::new() } else { format!("answer {number}") };
            Answer::new(code, "text/plain", body).field("Cache-Control", "max-age=3600")
        });
        let url = origin.url(&path);
        assert_eq!(daemon.get(&url).status, code);
        daemon.settle();
        let again = daemon.get(&url).whole();
        assert_eq!((again.status, origin.count(&path)), (code, 1), "{again:?}");
        assert!(status(&again).starts_with("hit"), "{again:?}");
    }
    counted(&origin, "/code/unknown", |_| {
        Answer::new(599, "text/plain", "").field("Cache-Control", "max-age=60, must-understand")
    });
    for asked in 1..=2 {
        daemon.get(&origin.url("/code/unknown"));
        assert_eq!(origin.count("/code/unknown"), asked);
    }
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/code/499")).status, 499);
    let queued = daemon.get(&origin.url("/code/503"));
    assert_eq!(status(&queued), "detail=queued");
}

#[test]
fn stale_while_revalidate_serves_and_revalidates_in_background() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let (held, asked) = (Arc::clone(&gate), AtomicUsize::new(0));
    origin.on("/swr", move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        if number > 1 {
            held.wait();
        }
        let age = if number == 1 { "max-age=0, stale-while-revalidate=600" } else { "max-age=600" };
        exchange.answer(&page(number, &[("Cache-Control", age.to_owned())]))
    });
    let url = origin.url("/swr");
    daemon.get(&url).whole();
    daemon.settle();
    // No request waits for the origin, which gets only one request for all three.
    for _ in 0..3 {
        let stale = daemon.get(&url).whole();
        assert_eq!(stale.text(), "answer 1");
        assert!(status(&stale).ends_with("; detail=stale-while-revalidate"), "{stale:?}");
    }
    eventually("the origin is asked", || origin.count("/swr") == 2);
    gate.open();
    daemon.settle();
    let fresh = daemon.get(&url).whole();
    assert_eq!(fresh.text(), "answer 2");
    assert!(is_hit(&fresh, 600), "{fresh:?}");
    assert_eq!(origin.count("/swr"), 2);
}

#[test]
fn stale_if_error_of_the_response_or_request_is_honoured() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let failing = |path: &str, value: &'static str| {
        counted(&origin, path, move |number| match number {
            1 => page(1, &[("Cache-Control", value.to_owned())]),
            _ => Answer::new(503, "text/plain", "no"),
        });
        let url = origin.url(path);
        daemon.get(&url).whole();
        daemon.settle();
        url
    };
    let url = failing("/sie", "max-age=0, stale-if-error=600");
    let stale = daemon.get(&url).whole();
    assert_eq!((stale.status, stale.text().as_str()), (200, "answer 1"));
    assert_eq!(status(&stale), "fwd=stale; fwd-status=503; detail=stale-if-error");
    let url = failing("/plain", "max-age=0");
    let error = daemon.get(&url).whole();
    assert_eq!((error.status, error.text().as_str()), (503, "no"));
    assert_eq!(status(&error), "fwd=stale; fwd-status=503; detail=origin-error");
    let asked = daemon.client().get_with(&url, "Cache-Control: stale-if-error=600\r\n");
    assert_eq!(asked.text(), "answer 1");
    let url = failing("/must", "max-age=0, stale-if-error=600, must-revalidate");
    assert_eq!(daemon.get(&url).status, 503);
    // The error has not replaced a stored copy.
    daemon.ok(&["offline"]);
    for path in ["/sie", "/plain", "/must"] {
        assert_eq!(daemon.get(&origin.url(path)).whole().text(), "answer 1");
    }
}

#[test]
fn a_stale_page_is_served_for_an_unreachable_origin_if_allowed() {
    let text = "[[caching.for]]\nurl = \"*://*/served/*\"\nserve-unreachable = true";
    let (daemon, mut origin) = (Daemon::configured(text), Origin::start());
    let rows = [
        ("/a", "max-age=0", 200, "fwd=stale; detail=origin-unreachable"),
        ("/b", "", 200, "fwd=stale; detail=origin-unreachable"),
        ("/c", "proxy-revalidate, max-age=0", 200, "fwd=stale; detail=origin-unreachable"),
        ("/d", "must-revalidate, max-age=0", 504, "fwd=stale; detail=must-revalidate"),
        ("/e", "no-cache", 504, "fwd=stale; detail=must-revalidate"),
        ("/f", "no-store", 502, "fwd=uri-miss; detail=origin-failed"),
        ("/served/d", "must-revalidate, max-age=0", 200, "fwd=stale; detail=serve-unreachable"),
        ("/served/e", "no-cache", 200, "fwd=stale; detail=serve-unreachable"),
        ("/served/f", "no-store", 502, "fwd=uri-miss; detail=origin-failed"),
    ];
    for (path, value, ..) in rows {
        counted(&origin, path, move |number| page(number, &control(value)));
        daemon.get(&origin.url(path)).whole();
    }
    daemon.settle();
    origin.stop();
    for (path, _, code, want) in rows {
        let got = daemon.get(&origin.url(path));
        assert_eq!((got.status, status(&got)), (code, want), "{path}");
    }
    let told = daemon.browse(&origin.url("/e"));
    assert_eq!(told.status, 504);
    assert!(
        told.text().contains("Saved, but the site must confirm the copy first"),
        "{}",
        told.text()
    );
    daemon.ok(&["offline"]);
    for (path, ..) in rows {
        assert_eq!(daemon.get(&origin.url(path)).whole().text(), "answer 1", "{path}");
    }
}

#[test]
fn only_if_cached_is_answered_from_fresh_copies() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    counted(&origin, "/fresh", |number| page(number, &control("max-age=60")));
    counted(&origin, "/stale", |number| page(number, &control("max-age=0")));
    for path in ["/fresh", "/stale"] {
        daemon.get(&origin.url(path)).whole();
    }
    daemon.settle();
    for (path, directives, code) in [
        ("/fresh", "only-if-cached", 200),
        ("/stale", "only-if-cached", 504),
        ("/stale", "only-if-cached, max-stale", 200),
        ("/missing", "only-if-cached", 504),
    ] {
        let fields = format!("Cache-Control: {directives}\r\n");
        let got = daemon.client().get_with(&origin.url(path), &fields);
        assert_eq!(got.status, code, "{path} {directives}");
        assert_eq!(origin.count(path), usize::from(path != "/missing"));
    }
}

#[test]
fn no_store_responses_are_stored_for_offline_as_configured() {
    let text = "[[caching.for]]\nurl = \"*://*/respect/*\"\nno-store = \"respect\"";
    let (daemon, origin) = (Daemon::configured(text), Origin::start());
    for path in ["/respect/a", "/keep/a"] {
        counted(&origin, path, |number| page(number, &control("no-store")));
    }
    for path in ["/respect/b", "/keep/b"] {
        counted(&origin, path, |number| page(number, &control("max-age=600")));
    }
    let no_store = "Cache-Control: no-store\r\n";
    for (path, fields, want) in [
        ("/respect/a", "", "fwd=uri-miss; fwd-status=200; detail=no-store"),
        ("/respect/b", no_store, "fwd=uri-miss; fwd-status=200; detail=no-store"),
        ("/keep/a", "", "fwd=uri-miss; stored"),
        ("/keep/b", no_store, "fwd=uri-miss; stored"),
    ] {
        for asked in 1..=2 {
            let got = daemon.client().get_with(&origin.url(path), fields).whole();
            assert_eq!((status(&got), origin.count(path)), (want, asked), "{path}");
            daemon.settle();
        }
    }
    // The response to a request with `no-store` is not given to other clients either.
    assert_eq!(daemon.get(&origin.url("/keep/b")).whole().text(), "answer 3");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/keep/a")).whole().text(), "answer 2");
    assert_eq!(status(&daemon.get(&origin.url("/respect/a"))), "detail=queued");
}

#[test]
fn former_options_override_the_standard_and_are_reported() {
    let text = "
        [[online-options.for]]
        url = \"*://*/never/*\"
        request-changed = \"never\"
        [[online-options.for]]
        url = \"*://*/young/*\"
        request-changed = \"1h\"
        [[online-options.for]]
        url = \"*://*/old/*\"
        request-changed = \"0min\"
        [[online-options.for]]
        url = \"*://*/once/*\"
        request-changed-once = true
        [[online-options.for]]
        url = \"*://*/expired/*\"
        request-expired = false
        [[online-options.for]]
        url = \"*://*/no-cache/*\"
        request-no-cache = false
        [[online-options.for]]
        url = \"*://*/moved/*\"
        request-redirection = false
        [[online-options.for]]
        url = \"*://*/unconditional/*\"
        request-conditional = false
        [[online-options.for]]
        url = \"*://*/unheeded/*\"
        cache-control-no-cache = false
    ";
    let (daemon, origin) = (Daemon::configured(text), Origin::start());
    let tagged = || vec![("Cache-Control", "max-age=0".to_owned()), ("ETag", "\"a\"".to_owned())];
    for (path, code, fields, request, want) in [
        ("/never/a", 200, vec![], "", "hit; ttl=…request-changed"),
        ("/never/b", 200, vec![], "Cache-Control: no-cache\r\n", "fwd=request; stored…"),
        ("/young/a", 200, vec![], "", "hit; ttl=…request-changed"),
        ("/young/b", 200, control("max-age=0"), "", "fwd=stale; stored…"),
        ("/old/a", 200, control("max-age=600"), "", "fwd=stale; stored; detail=request-changed…"),
        ("/once/a", 200, vec![], "", "hit; ttl=…request-changed-once"),
        ("/expired/a", 200, control("max-age=0"), "", "hit; ttl=…request-expired"),
        ("/no-cache/a", 200, control("no-cache, max-age=600"), "", "hit; ttl=…request-no-cache"),
        ("/moved/a", 302, vec![], "", "hit; ttl=…request-redirection"),
        ("/moved/b", 200, vec![], "", "fwd=stale; stored…"),
        ("/unconditional/a", 200, tagged(), "", "fwd=stale; stored; detail=request-conditional…"),
        (
            "/unheeded/a",
            200,
            control("max-age=600"),
            "Cache-Control: no-cache\r\n",
            "hit; ttl=…cache-control-no-cache",
        ),
    ] {
        counted(&origin, path, move |number| {
            let mut answer = page(number, &fields);
            answer.status = code;
            answer
        });
        let url = origin.url(path);
        daemon.get(&url).whole();
        daemon.settle();
        let got = daemon.client().get_with(&url, request);
        let (begin, end) = want.split_once('…').unwrap();
        let told = status(&got);
        assert!(told.starts_with(begin) && told.ends_with(end), "{path}: {told}");
    }
    // In a new online session the page is requested again once.
    let url = origin.url("/once/a");
    daemon.ok(&["offline"]);
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&url).whole().text(), "answer 2");
    daemon.settle();
    assert_eq!(daemon.get(&url).whole().text(), "answer 2");
}

#[test]
fn a_redirect_does_not_replace_a_stored_page_if_so_configured() {
    let text = "[[online-options.for]]\nurl = \"*://*/stays/*\"\nkeep-cache-if-not-found = true";
    let (daemon, origin) = (Daemon::configured(text), Origin::start());
    for path in ["/stays/a", "/goes/a"] {
        counted(&origin, path, |number| match number {
            1 => page(1, &[]),
            _ => Answer::redirect(302, "/login"),
        });
        daemon.get(&origin.url(path)).whole();
        daemon.settle();
        assert_eq!(daemon.get(&origin.url(path)).status, 302);
        daemon.settle();
    }
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/stays/a")).whole().text(), "answer 1");
    assert_eq!(daemon.get(&origin.url("/goes/a")).status, 302);
}
