//! Forms and stored copies. Each form reaches its origin and is never answered from an older
//! response.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest as _, Sha256};

use crate::harness::form::{encode, form};
use crate::harness::{Answer, Daemon, Gate, Origin, Response, eventually};
use crate::proxy::caching::{counted, host, is_hit, page, status};

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
fn a_form_response_serves_get_if_it_allows_it() {
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

/// RFC 9110 §13: if a precondition of an unsafe request fails, the request must not be carried out.
/// So only the origin may evaluate it.
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
fn a_form_error_is_not_hidden_by_an_older_form_response() {
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

/// RFC 9111 §4.4: the response to a GET is outdated if the GET was sent before a form and the
/// response arrives after the response to the form.
#[test]
fn a_download_outdated_by_a_form_is_not_shared() {
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
            assert_eq!(
                daemon.get(&url).whole().text(),
                "answer 2",
                "the first download was joined"
            );
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

/// A program that sends queries by POST, such as GraphQL or JSON-RPC, gets offline the response
/// that it got online.
#[test]
fn a_repeated_body_of_a_program_gets_the_stored_response_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let form = echo(&origin);
    let json = "Content-Type: application/json\r\nAccept: */*\r\n";
    assert_eq!(post(&daemon, &form, json).text(), "POST");
    daemon.settle();
    daemon.ok(&["offline"]);
    for fields in ["", json, "Accept: application/json\r\nCache-Control: no-cache\r\n"] {
        let got = post(&daemon, &form, fields);
        assert_eq!((got.status, got.text().as_str()), (200, "POST"), "{fields}");
        assert_eq!(status(&got), "hit; detail=offline-same-body");
    }
    let person = post(&daemon, &form, "Accept: text/html\r\n");
    assert_eq!((person.status, status(&person)), (504, "detail=confirm"));
    let mut client = daemon.client();
    for (method, url) in
        [("POST", form.clone()), ("PUT", form.clone()), ("POST", origin.url("/other"))]
    {
        let host = host(&url);
        // A request with another body, another method, or another URL gets no stored response.
        let body = if url == form && method == "POST" { "a=c" } else { "a=b" };
        client.send(format!(
            "{method} {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\n{body}"
        ));
        let refused = client.receive(method).whole();
        assert_eq!((refused.status, status(&refused)), (504, "detail=only-online"));
    }
    assert_eq!((daemon.queue().len(), origin.asked("/form").len()), (0, 1));
}

/// A query with a time stamp or a nonce has one stored response if a rule names these fields.
#[test]
fn fields_that_select_no_content_do_not_count_offline() {
    let origin = Origin::start();
    let daemon = Daemon::configured(&format!(
        "[[offline-options.for]]\nurl = \"{}\"\nnear-fields = [\"time\", \"variables.nonce\"]\n",
        origin.url("/graphql")
    ));
    for path in ["/graphql", "/other"] {
        origin.on(path, |exchange| {
            let body = exchange.body()?.to_vec();
            exchange.answer(&Answer::new(200, "application/json", body))
        });
    }
    let ask = |path: &str, id: u8, time: u8| {
        let body = format!(
            "{{\"query\":\"q\",\"time\":{time},\"variables\":{{\"id\":{id},\"nonce\":{time}}}}}"
        );
        let (url, length) = (origin.url(path), body.len());
        let mut client = daemon.client();
        client.send(format!(
            "POST {url} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}",
            host(&url)
        ));
        (body, client.receive("POST").whole())
    };
    for (path, id) in [("/graphql", 1), ("/graphql", 2), ("/other", 1)] {
        let (sent, got) = ask(path, id, 1);
        assert_eq!(got.text(), sent, "the origin gets the whole body");
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    for id in [1, 2] {
        let (_, got) = ask("/graphql", id, 9);
        assert_eq!((got.status, status(&got)), (200, "hit; detail=offline-same-body"));
        assert!(got.text().contains(&format!("\"id\":{id}")), "{got:?}");
    }
    assert_eq!(ask("/graphql", 3, 1).1.status, 504, "a field that counts");
    assert_eq!(ask("/other", 1, 9).1.status, 504, "a URL without the rule");
}

/// Rules say which header fields of a request count, and whether its body does.
#[test]
fn rules_say_which_header_fields_and_bodies_count_offline() {
    let origin = Origin::start();
    let rule = |path: &str, options: &str| {
        format!("[[offline-options.for]]\nurl = \"{}\"\n{options}\n", origin.url(path))
    };
    let daemon = Daemon::configured(&format!(
        "{}{}{}",
        rule("/timed", "near-fields = [\"nonce\"]\nnear-headers = [\"X-Time\"]"),
        rule("/any", "near-body = true"),
        rule("/soap", "match-headers = [\"SOAPAction\"]"),
    ));
    for path in ["/timed", "/any", "/soap", "/strict"] {
        counted(&origin, path, |number| {
            let headers = [("Vary", "X-Time".to_owned())];
            page(number, if number == 0 { &[] } else { &headers })
        });
    }
    let ask = |method: &str, path: &str, fields: &str, body: &str| {
        let (url, length) = (origin.url(path), body.len());
        let mut client = daemon.client();
        client.send(format!(
            "{method} {url} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             {fields}Content-Length: {length}\r\n\r\n{body}",
            host(&url)
        ));
        let got = client.receive(method).whole();
        (got.status, got.text())
    };
    // The method, the path, the header field and the body; and the number of the request whose
    // response it gets: online, and then offline.
    let rows = [
        ("POST", "/timed", "X-Time: 1\r\n", r#"{"query":"a","nonce":1}"#, 1, 2),
        ("POST", "/timed", "X-Time: 2\r\n", r#"{"query":"a","nonce":2}"#, 2, 2),
        ("POST", "/strict", "X-Time: 1\r\n", "{}", 1, 1),
        ("POST", "/strict", "X-Time: 2\r\n", "{}", 2, 2),
        ("POST", "/any", "", "{\"a\":1}", 1, 2),
        ("POST", "/any", "", "{\"a\":2}", 2, 2),
        ("POST", "/soap", "SOAPAction: a\r\n", "{}", 1, 1),
        ("POST", "/soap", "SOAPAction: b\r\n", "{}", 2, 2),
        ("GET", "/soap", "SOAPAction: a\r\n", "", 3, 3),
        ("GET", "/soap", "SOAPAction: b\r\n", "", 4, 4),
    ];
    for (method, path, fields, body, online, _) in rows {
        let want = (200, format!("answer {online}"));
        assert_eq!(ask(method, path, fields, body), want, "{method} {path} {fields}");
        daemon.settle();
    }
    daemon.ok(&["offline"]);
    for (method, path, fields, body, _, offline) in rows {
        let want = (200, format!("answer {offline}"));
        assert_eq!(ask(method, path, fields, body), want, "{method} {path} {fields}");
    }
    for (method, path, fields, body) in [
        ("POST", "/timed", "X-Time: 1\r\n", r#"{"query":"b","nonce":1}"#),
        ("POST", "/strict", "", r#"{"a":1}"#),
        ("POST", "/soap", "SOAPAction: c\r\n", "{}"),
        ("POST", "/soap", "", "{}"),
        ("GET", "/soap", "SOAPAction: c\r\n", ""),
    ] {
        assert_eq!(ask(method, path, fields, body).0, 504, "{method} {path} {fields}");
    }
    assert_eq!(ask("POST", "/timed", "X-Time: 9\r\n", r#"{"query":"a"}"#).1, "answer 2");
    assert_eq!(ask("POST", "/any", "", "anything").1, "answer 2");
    // Each form of a web page counts, so that none of several is taken for another.
    daemon.ok(&["online"]);
    let form = |body: &str| {
        let url = origin.url("/any");
        let mut client = daemon.client();
        client.send(format!(
            "POST {url} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            host(&url),
            body.len()
        ));
        let got = client.receive("POST").whole();
        daemon.settle();
        (got.status, got.text())
    };
    let online = ["a=1", "a=2"].map(form);
    assert_ne!(online[0], online[1]);
    daemon.ok(&["offline"]);
    assert_eq!(["a=1", "a=2"].map(form), online);
}

/// A program need not know the length of its body in advance.
#[test]
fn a_small_body_without_a_declared_length_is_stored_like_any_other() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let form = echo(&origin);
    let send = |pieces: &str| {
        let mut client = daemon.client();
        client.send(format!(
            "POST {form} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n{pieces}",
            host(&form)
        ));
        client.receive("POST").whole()
    };
    assert_eq!(send("1\r\na\r\n2\r\n=b\r\n0\r\n\r\n").text(), "POST");
    daemon.settle();
    daemon.ok(&["offline"]);
    for got in [send("3\r\na=b\r\n0\r\n\r\n"), post(&daemon, &form, "")] {
        assert_eq!((got.status, got.text().as_str()), (200, "POST"));
        assert_eq!(status(&got), "hit; detail=offline-same-body");
    }
    assert_eq!(send("3\r\na=c\r\n0\r\n\r\n").status, 504, "another body");
}

/// A body that is too large or arrives too slowly to be stored is streamed, from its first byte on.
#[test]
#[ignore = "slow"]
fn an_unstored_request_body_is_streamed_to_the_origin() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (start, whole) = (Gate::new(), "x".repeat(300_000));
    let (seen, expected) = (Arc::clone(&start), whole.len() + 5);
    origin.on("/upload", move |exchange| {
        seen.open();
        assert_eq!(exchange.body()?.len(), expected);
        exchange.answer(&Answer::html("done"))
    });
    let url = origin.url("/upload");
    let mut client = daemon.client();
    client.send(format!(
        "POST {url} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
        host(&url)
    ));
    // The client waits for the origin before it sends the rest.
    start.wait();
    client.send(format!("{:x}\r\n{whole}\r\n0\r\n\r\n", whole.len()));
    assert_eq!(client.receive("POST").whole().text(), "done");
}

/// The URL under which the response to [`post`] is stored.
fn answer_url(url: &str) -> String {
    format!("{url}?!POST:{}", hex::encode(Sha256::digest("a=b")))
}

/// An origin that responds with the name of the method. It requires the body of [`post`].
fn echo(origin: &Origin) -> String {
    origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        assert!(exchange.seen.method != "POST" || body == b"a=b", "{body:?}");
        let method = exchange.seen.method.clone();
        exchange.answer(&Answer::html(method).field("Cache-Control", "max-age=0"))
    });
    origin.url("/form")
}

/// The stored response to a form has a URL that its origin does not know.
#[test]
fn a_stored_form_response_is_served_in_every_mode_and_never_fetched() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let form = echo(&origin);
    let stored = answer_url(&form);
    assert_eq!(post(&daemon, &form, "").text(), "POST");
    daemon.settle();
    for mode in ["offline", "autodial", "online"] {
        daemon.ok(&[mode]);
        for fields in ["", "Cache-Control: no-cache\r\n", "Accept: text/html\r\n"] {
            let got = daemon.client().get_with(&stored, fields).whole();
            assert_eq!(got.text(), "POST", "{mode} {fields}");
            assert_eq!(status(&got), "hit; detail=form-answer", "{mode} {fields}");
        }
        let missing = format!("{form}?!POST:{}", "0".repeat(64));
        for url in [missing, format!("{form}?!POST:0000"), format!("{form}?!a=b!PUT:x.5f0e8a11")] {
            let got = daemon.browse(&url);
            assert_eq!(got.status, 404, "{mode} {url}");
            assert!(got.shown().contains("send the form again"), "{}", got.shown());
            assert_eq!(status(&got), "detail=form-answer", "{mode} {url}");
        }
        assert_eq!(post(&daemon, &stored, "").status, 404, "{mode}");
    }
    daemon.settle();
    assert_eq!((daemon.queue().len(), origin.asked("/form").len()), (0, 1));
}

/// A person who reloads gets a page that offers to send the form again. The stored response stays
/// until a new one arrives.
#[test]
#[ignore = "slow"]
fn a_reload_of_a_form_response_offers_to_send_the_form_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let form_url = echo(&origin);
    let stored = answer_url(&form_url);
    let fields = "Accept: text/html\r\nContent-Type: text/x-form\r\nCookie: old=1\r\n";
    assert_eq!(post(&daemon, &form_url, fields).text(), "POST");
    daemon.settle();
    let reload = "Accept: text/html\r\nCache-Control: max-age=0\r\nCookie: new=1\r\n";
    for (mode, times) in [("offline", 1), ("online", 2), ("autodial", 3)] {
        daemon.ok(&[mode]);
        let page = daemon.client().get_with(&stored, reload).whole();
        assert_eq!((page.status, status(&page)), (504, "detail=confirm"), "{mode}");
        assert!(page.text().contains("!POST:"), "{mode}: it links to the stored response");
        assert_eq!(daemon.browse(&stored).text(), "POST", "{mode}: it stays");
        assert_eq!((daemon.queue().len(), origin.asked("/form").len()), (0, times), "{mode}");
        let confirm = form(&page.text(), "/refresh-request");
        assert_eq!(daemon.submit_as(&confirm, &origin.sends()).status, 303, "{mode}");
        daemon.ok(&["online"]);
        daemon.ok(&["fetch", "--wait"]);
        let asked = origin.asked("/form");
        assert_eq!(asked.len(), times + 1, "{mode}: it is sent once");
        let sent = asked.last().unwrap();
        assert_eq!(sent.method, "POST", "{mode}");
        assert_eq!(sent.fields.get("Content-Type"), Some("text/x-form"), "{mode}");
        assert_eq!(sent.fields.get("Cookie"), Some("new=1"), "{mode}");
    }
    let info = daemon.page(&format!("/info/?{}", encode(&stored))).text();
    assert!(!info.contains("wwwoffle-form"), "{info}");
    let file = daemon.home().join("forms.warc.gz");
    daemon.ok(&["export", file.to_str().unwrap(), "--owner", "local"]);
    let (file, mut warc) = (std::fs::File::open(file).unwrap(), Vec::new());
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut warc).unwrap();
    let warc = String::from_utf8_lossy(&warc);
    assert!(warc.contains(&stored) && !warc.contains("wwwoffle-form"), "{warc}");
}

#[test]
fn a_reload_reports_that_an_unknown_form_cannot_be_sent_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/form");
    origin.on("/form", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::html("answer"))
    });
    // The body is longer than the limit up to which the body of a form is stored.
    let body = "x".repeat((32 << 10) + 1);
    let mut client = daemon.client();
    let length = body.len();
    client
        .send(format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"));
    assert_eq!(client.receive("POST").whole().text(), "answer");
    daemon.settle();
    let stored = daemon.run(&["ls", "--json"]).lines()[0]["url"].as_str().unwrap().to_owned();
    for mode in ["offline", "online"] {
        daemon.ok(&[mode]);
        let reload = "Accept: text/html\r\nCache-Control: max-age=0\r\n";
        let page = daemon.client().get_with(&stored, reload).whole();
        assert_eq!((page.status, status(&page)), (504, "detail=form-answer"), "{mode}");
        assert!(page.text().contains("The form cannot be sent again"), "{}", page.text());
        assert_eq!(daemon.browse(&stored).text(), "answer", "{mode}: the stored answer stays");
    }
    assert_eq!(origin.asked("/form").len(), 1);
}

#[test]
fn a_form_response_cannot_be_refreshed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let form = echo(&origin);
    let stored = answer_url(&form);
    assert_eq!(post(&daemon, &form, "").text(), "POST");
    daemon.settle();
    assert!(daemon.ok(&["get", &stored]).contains(&stored), "it is stored");
    for command in [&["get", "--refresh"][..], &["get", "-r", "1"], &["monitor", "add"]] {
        let refused = daemon.run(&[command, &[stored.as_str()]].concat());
        let told = [refused.out, refused.err].concat();
        assert_ne!(refused.status, 0, "{command:?}");
        assert!(told.contains("sending the form again"), "{command:?}: {told}");
    }
    let about = daemon.page(&format!("/info/?{}", encode(&stored)));
    assert!(!about.text().contains("id=\"anew\""), "{}", about.text());
    let anew = daemon.page(&format!("/refresh/?{}", encode(&stored)));
    assert!(anew.shown().contains("send the form again"), "{}", anew.shown());
    assert_eq!((daemon.queue().len(), origin.asked("/form").len()), (0, 1));
    assert_eq!(daemon.get(&stored).whole().text(), "POST");
}

#[test]
#[ignore = "slow"]
fn a_link_to_a_form_response_is_not_fetched() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let stored = answer_url(&echo(&origin));
    let page = format!("<img src=\"{stored}\"><a href=\"{stored}\">answer</a>");
    origin.on("/page", move |exchange| exchange.answer(&Answer::html(page.clone())));
    origin.say("/moved", Answer::redirect(302, &stored));
    daemon.ok(&["get", "-r", "1", &origin.url("/page")]);
    assert_ne!(daemon.run(&["get", &origin.url("/moved")]).status, 0);
    assert_eq!(origin.asked("/form").len(), 0);
}

#[test]
fn the_queue_fetches_the_response_that_match_headers_select() {
    let origin = Origin::start();
    let daemon = Daemon::configured(&format!(
        "[[offline-options.for]]\nurl = \"{}\"\nmatch-headers = [\"X-Version\"]\n",
        origin.url("/data")
    ));
    // The origin has one tag for all versions.
    origin.on("/data", |exchange| {
        let fields = &exchange.seen.fields;
        let answer = if fields.get("If-None-Match").is_some() {
            Answer::new(304, "text/html", "")
        } else {
            Answer::html(format!("version {}", fields.get("X-Version").unwrap_or_default()))
        };
        exchange.answer(&answer.field("ETag", "\"a\""))
    });
    let ask = |version: u32| {
        let field = format!("X-Version: {version}\r\n");
        let got = daemon.client().get_with(&origin.url("/data"), &field).whole();
        (got.status, got.text())
    };
    assert_eq!(ask(1), (200, "version 1".to_owned()));
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(ask(2).0, 504);
    daemon.ok(&["online"]);
    eventually("the queue is empty", || daemon.status()["queue"]["waiting"] == 0);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(ask(2), (200, "version 2".to_owned()));
    assert_eq!(ask(1), (200, "version 1".to_owned()));
}
