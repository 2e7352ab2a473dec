//! Forms and what is kept: each is for its origin, and is never answered by an older one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::caching::{counted, host, is_hit, page, status};
use crate::harness::{Answer, Daemon, Gate, Origin, Response, eventually};

/// Sends a small form with these fields.
fn post(daemon: &Daemon, url: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    let host = host(url);
    client.send(format!(
        "POST {url} HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Length: 3\r\n\r\na=b"
    ));
    client.receive("POST").whole()
}

#[test]
fn the_answer_to_a_form_answers_get_where_it_says_so() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/form", |exchange| {
        exchange.body()?;
        let method = exchange.seen.method.clone();
        let answer = Answer::html(method).field("Cache-Control", "max-age=600");
        exchange.answer(&answer.field("Content-Location", "/form"))
    });
    let url = origin.url("/form");
    assert_eq!(post(&daemon, &url, "").text(), "POST");
    daemon.settle();
    let got = daemon.get(&url).whole();
    assert_eq!(got.text(), "POST");
    assert!(is_hit(&got, 600), "{got:?}");
    assert_eq!(origin.count("/form"), 1);
}

/// RFC 9110 §13: what an unsafe request is conditional on keeps it from being done.
#[test]
fn the_conditions_of_a_form_are_for_its_origin() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/edit", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::html("done").field("ETag", "\"a\""))
    });
    let url = origin.url("/edit");
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (name, value) in
        [("If-Match", "\"a\""), ("If-None-Match", "\"b\""), ("If-Unmodified-Since", date)]
    {
        let answer = post(&daemon, &url, &format!("{name}: {value}\r\n"));
        assert_eq!((answer.status, answer.text().as_str()), (200, "done"), "{name}");
        let asked = origin.asked("/edit");
        assert_eq!(asked.last().unwrap().fields.get(name), Some(value), "{name}");
    }
}

#[test]
fn an_error_for_a_form_is_not_hidden_by_the_answer_to_an_older_one() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    counted(&origin, "/buy", |number| match number {
        1 => page(1, &[("Cache-Control", "max-age=0, stale-if-error=600".to_owned())]),
        _ => Answer::new(503, "text/plain", "no"),
    });
    let url = origin.url("/buy");
    assert_eq!(post(&daemon, &url, "").text(), "answer 1");
    daemon.settle();
    let answer = post(&daemon, &url, "");
    assert_eq!((answer.status, answer.text().as_str()), (503, "no"), "{}", status(&answer));
}

/// RFC 9111 §4.4: what was asked for before the form was sent, and came after that, is not what there is.
#[test]
fn what_is_under_way_while_a_form_is_answered_is_given_to_nobody_after_that() {
    for is_asked_between in [true, false] {
        let (daemon, origin) = (Daemon::start(), Origin::start());
        let gate = Gate::new();
        let (held, gets) = (Arc::clone(&gate), AtomicUsize::new(0));
        origin.on("/poll", move |exchange| {
            exchange.body()?;
            if exchange.seen.method == "POST" {
                return exchange.answer(&Answer::html("done"));
            }
            let number = gets.fetch_add(1, Ordering::SeqCst) + 1;
            if number == 1 {
                held.wait();
            }
            exchange.answer(&page(number, &[("Cache-Control", "max-age=600".to_owned())]))
        });
        let url = origin.url("/poll");
        let mut first = daemon.client();
        first.ask(&url, "");
        eventually("the origin is asked", || origin.count("/poll") == 1);
        assert_eq!(post(&daemon, &url, "").text(), "done");
        if is_asked_between {
            assert_eq!(daemon.get(&url).whole().text(), "answer 2", "the first is not joined");
        }
        gate.open();
        assert_eq!(first.receive("GET").whole().text(), "answer 1");
        assert_eq!(daemon.get(&url).whole().text(), "answer 2", "{is_asked_between}");
        daemon.settle();
        let got = daemon.get(&url).whole();
        assert_eq!(got.text(), "answer 2", "{is_asked_between}");
        assert!(is_hit(&got, 600), "{got:?}");
    }
}
