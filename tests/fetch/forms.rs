//! Which requests are queued, and the forms on which a person decides about them.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::faults::Fault;
use crate::harness::form::{form, forms};
use crate::harness::{After, Answer, Daemon, Gate, Origin, eventually};

/// The fields of a browser's request for a sub-resource.
fn part(kind: &str, page: &str) -> String {
    format!("Accept: */*\r\nSec-Fetch-Dest: {kind}\r\nReferer: {page}\r\n")
}

#[test]
fn a_missing_sub_resource_is_queued_and_gets_no_message_page() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let page = origin.url("/page/1.html");
    for (kind, path) in [("image", "/image/1.png"), ("script", "/x.js"), ("style", "/style/1.css")]
    {
        let answer = daemon.client().get_with(&origin.url(path), &part(kind, &page)).whole();
        assert_eq!((answer.status, answer.body.len()), (504, 0), "{kind}");
    }
    // Older browsers only send `Accept`.
    let fields = format!("Accept: image/avif,image/webp,*/*;q=0.8\r\nReferer: {page}\r\n");
    let answer = daemon.client().get_with(&origin.url("/image/2.png"), &fields).whole();
    assert_eq!((answer.status, answer.body.len()), (504, 0));
    let queue = daemon.queue();
    assert_eq!(queue.len(), 4, "{queue:?}");
    for entry in queue {
        assert_eq!((&entry["kind"], &entry["page"]), (&Value::from("part"), &Value::from(&*page)));
    }
}

#[test]
fn a_missing_page_is_queued_and_its_message_can_cancel_it() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    for fields in ["Sec-Fetch-Dest: document\r\nAccept: */*\r\n", "Accept: text/html, */*\r\n"] {
        let url = origin.url(&format!("/page/{}.html", fields.len()));
        let page = daemon.client().get_with(&url, fields).whole();
        assert_eq!(page.status, 504);
        assert!(page.field("Content-Type").to_ascii_lowercase().contains("charset=utf-8"));
        assert!(page.field("Cache-Control").contains("no-store"), "{:?}", page.fields);
        let text = page.text();
        assert!(page.shown().contains("/queue/"), "no link to the queue:\n{text}");
        assert!(!text.contains("<script"), "usable without scripts");
        let entry = &daemon.queue()[0];
        assert_eq!(entry["kind"], "page");
        let undo = form(&text, "/control/delete/");
        assert_eq!(undo.method, "POST");

        // The page was served under the origin's name, so the browser sends that name as the origin
        // of the form.
        let from_there = origin.sends();
        let refused = daemon.submit_as(&undo.clone().without("token"), &from_there);
        assert_eq!((refused.status, daemon.queue().len()), (403, 1), "not without the token");
        let refused = daemon.submit_as(&undo.clone().with("token", "guessed"), &from_there);
        assert_eq!((refused.status, daemon.queue().len()), (403, 1), "not with another token");
        let done = daemon.submit_as(&undo, &from_there);
        assert_eq!((done.status, daemon.queue().len()), (303, 0), "{}", done.text());
        let told = done.field("Location").to_owned();
        let shown = daemon.page(&told).shown();
        assert!(shown.contains("Removed from the queue") && shown.contains(&url), "{shown}");
        let again = daemon.submit_as(&undo, &from_there);
        assert_eq!((again.status, again.field("Location")), (303, "/undone/"), "a second press");
        assert!(daemon.page("/undone/").shown().contains("Not on the queue"));
        // Reloading the page has no effect. It leads to the queue instead of an outdated message.
        daemon.browse(&url);
        let reloaded = daemon.page(&told);
        assert_eq!((reloaded.status, reloaded.field("Location")), (303, "/queue/"));
        assert_eq!(daemon.queued(), [url]);
        daemon.submit_as(&undo, &from_there);
    }
}

#[test]
fn the_queue_page_lists_and_deletes() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let urls: Vec<_> = (1..4).map(|n| origin.url(&format!("/page/{n}.html"))).collect();
    for url in &urls {
        daemon.browse(url);
    }
    let queue = daemon.page("/queue/");
    for url in &urls {
        assert!(queue.shown().contains(url.as_str()), "{url} is listed");
    }
    let page = queue.text();
    let one = forms(&page).into_iter().find(|form| form.action.ends_with("/control/delete/req"));
    let done = daemon.submit(&one.expect("a button to delete one"));
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(daemon.queue().len(), 2);
    let all = form(&daemon.page("/control/delete/req-all").text(), "/control/delete/req-all");
    let done = daemon.submit(&all);
    assert_eq!((done.status, daemon.queue().len()), (303, 0), "{}", done.text());
    let moved = daemon.page("/index/outgoing");
    assert_eq!(moved.status, 303);
    assert!(moved.field("Location").ends_with("/queue/"), "{:?}", moved.fields);
}

#[test]
fn background_requests_of_browsers_are_not_queued() {
    let config = "[offline-options]\nnoise = [\"*://*/telemetry/*\"]\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    daemon.ok(&["offline"]);
    let urls = [
        "http://detectportal.firefox.com/success.txt?ipv4".to_owned(),
        "http://connectivitycheck.gstatic.com/generate_204".to_owned(),
        "http://www.msftconnecttest.com/connecttest.txt".to_owned(),
        "http://captive.apple.com/hotspot-detect.html".to_owned(),
        origin.url("/telemetry/ping"),
    ];
    for url in urls {
        for fields in ["Accept: */*\r\n", "Accept: text/html\r\n"] {
            let answer = daemon.client().get_with(&url, fields).whole();
            assert_ne!(answer.status, 200, "{url}");
        }
        assert_eq!(daemon.queued(), Vec::<String>::new(), "{url}");
    }
    daemon.browse(&origin.url("/page/1.html"));
    assert_eq!(daemon.queue().len(), 1, "a request by a person is still queued");
}

#[test]
fn the_shipped_noise_can_be_switched_off() {
    let daemon = Daemon::configured("[offline-options]\nshipped-noise = false\n");
    daemon.ok(&["offline"]);
    daemon.browse("http://detectportal.firefox.com/success.txt");
    assert_eq!(daemon.queue().len(), 1);
}

#[test]
fn reloading_a_stored_page_serves_it_and_queues_a_refresh() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/news");
    origin.say("/news", Answer::html("old news"));
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    for fields in ["Cache-Control: no-cache\r\nPragma: no-cache\r\n", "Pragma: no-cache\r\n"] {
        let page =
            daemon.client().get_with(&url, &format!("Accept: text/html\r\n{fields}")).whole();
        assert_eq!((page.status, page.text().as_str()), (200, "old news"));
    }
    let queue = daemon.queue();
    assert_eq!((queue.len(), &queue[0]["kind"]), (1, &Value::from("refresh")), "{queue:?}");
    origin.say("/news", Answer::html("new news"));
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "new news");
    assert_eq!(origin.count("/news"), 2);
}

/// The daemon goes offline during the download, and then a client reloads the page.
#[test]
fn a_reload_during_a_download_stays_queued() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let (shut, asked) = (Arc::clone(&gate), AtomicUsize::new(0));
    origin.on("/news", move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = Answer::html(format!("news {number}")).field("Cache-Control", "max-age=0");
        let bytes = answer.bytes("GET");
        let (head, body) = bytes.split_at(bytes.len() - "news 1".len());
        exchange.send(head)?;
        if number == 2 {
            shut.wait();
        }
        exchange.send(body)?;
        Ok(After::Keep)
    });
    let url = origin.url("/news");
    daemon.get(&url).whole();
    daemon.settle();
    let mut online = daemon.client();
    online.ask(&url, "");
    eventually("its head has arrived", || daemon.status()["downloads"][0]["total"] == 6);
    daemon.ok(&["offline"]);
    let reloaded = daemon.client().get_with(&url, "Cache-Control: no-cache\r\n").whole();
    assert_eq!(reloaded.text(), "news 1");
    assert_eq!(daemon.queued(), [&*url]);
    gate.open();
    assert_eq!(online.receive("GET").whole().text(), "news 2");
    daemon.settle();
    assert_eq!(daemon.queued(), [&*url]);
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "news 3");
    assert_eq!(origin.count("/news"), 3);
}

#[test]
fn a_post_is_queued_only_after_confirmation() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/order", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::html([b"ordered ", body.as_slice()].concat()))
    });
    daemon.ok(&["offline"]);
    let (url, body) = (origin.url("/order"), "what=tea&how=many+%26+soon");
    let post = format!(
        "POST {url} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        origin.addr,
        body.len()
    );
    let mut client = daemon.client();
    client.send(&post);
    let page = client.receive("POST").whole();
    assert_eq!(page.status, 504, "{}", page.text());
    assert_eq!(daemon.queue().len(), 0, "sent before it was confirmed");
    let confirm = form(&page.text(), "/refresh-request");
    assert_eq!(confirm.method, "POST");
    let from_there = origin.sends();
    let refused = daemon.submit_as(&confirm.clone().without("token"), &from_there);
    assert_eq!((refused.status, daemon.queue().len()), (403, 0));
    let done = daemon.submit_as(&confirm, &from_there);
    assert!(done.status < 400, "{} {}", done.status, done.text());
    let queue = daemon.queue();
    assert_eq!((queue.len(), &queue[0]["kind"]), (1, &Value::from("post")), "{queue:?}");

    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(origin.count("/order"), 1, "sent once");
    assert_eq!(origin.asked("/order")[0].method, "POST");
    daemon.ok(&["offline"]);
    let mut client = daemon.client();
    client.send(&post);
    let page = client.receive("POST").whole();
    assert_eq!(page.status, 504, "a form is never answered as if it had been sent again");
    let text = page.text();
    let kept = text.split("href=\"").find(|rest| rest.contains("?!POST:")).unwrap();
    let kept = kept.split('"').next().unwrap();
    assert_eq!(daemon.get(kept).text(), format!("ordered {body}"), "{kept}");
}

/// While a form is being sent, its queue entry is marked as failed, so that it is never sent twice.
#[test]
fn fetch_waits_for_a_form_that_is_being_sent() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    let held = Arc::clone(&gate);
    origin.on("/order", move |exchange| {
        exchange.body()?;
        held.wait();
        exchange.answer(&Answer::html("ordered"))
    });
    daemon.ok(&["offline"]);
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nContent-Length: 3\r\n\r\na=b",
        origin.url("/order"),
        origin.addr
    ));
    let confirm = form(&client.receive("POST").whole().text(), "/refresh-request");
    assert!(daemon.submit(&confirm).status < 400);
    daemon.ok(&["online"]);
    eventually("it is sent", || origin.count("/order") == 1);
    let mut fetching = daemon.command(&["fetch", "--wait", "--json"]);
    let mut fetching = fetching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(fetching.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    gate.open();
    let told: Vec<_> = std::iter::once(first).chain(lines).collect();
    assert!(fetching.wait().unwrap().success());
    let end: Value = serde_json::from_str(told.last().unwrap()).unwrap();
    let want = json!({"event": "end", "fetched": 1, "failed": 0, "dead": 0, "waiting": 0});
    assert_eq!(end, want, "{told:?}");
}

#[test]
fn a_put_patch_or_delete_of_a_person_is_queued_after_confirmation_and_sent_once() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/notes?id=7", |exchange| {
        let body = String::from_utf8_lossy(exchange.body()?).into_owned();
        let method = exchange.seen.method.clone();
        exchange.answer(&Answer::html(format!("answer to {method} {body}")))
    });
    daemon.ok(&["offline"]);
    let url = origin.url("/notes?id=7");
    let send = |method: &str, fields: &str, body: &str| {
        let mut client = daemon.client();
        client.send(format!(
            "{method} {url} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n{body}",
            origin.addr
        ));
        client.receive(method).whole()
    };
    let put = ("PUT", "Accept: text/html\r\nContent-Length: 4\r\n", "text");
    let chunked = "Accept: text/html\r\nTransfer-Encoding: chunked\r\n";
    let requests = [
        put,
        ("PUT", chunked, "5\r\nlater\r\n0\r\n\r\n"),
        ("PATCH", put.1, "part"),
        ("DELETE", "Accept: text/html\r\n", ""),
    ];
    for (number, (method, fields, body)) in (1..).zip(requests) {
        let page = send(method, fields, body);
        assert_eq!(page.status, 504, "{}", page.text());
        let shown = page.shown();
        assert!(shown.contains(method) && shown.contains(&url), "{shown}");
        assert!(!shown.contains("?!"), "the person sees the address as sent: {shown}");
        assert_eq!(daemon.queue().len(), number - 1, "queued before it was confirmed");
        let confirm = form(&page.text(), "/refresh-request");
        assert!(daemon.submit(&confirm).status < 400);
        assert_eq!(daemon.queue().len(), number);
    }
    // Nobody could confirm the request of a script or program.
    for fields in ["Content-Length: 1\r\n", "Sec-Fetch-Dest: empty\r\nContent-Length: 1\r\n"] {
        assert_eq!(send("PUT", fields, "x").status, 504);
    }
    let large = 256 * 1024 + 1;
    let fields = format!("Accept: text/html\r\nContent-Length: {large}\r\n");
    assert_eq!(send("PUT", &fields, &"x".repeat(large)).status, 413);
    assert_eq!(daemon.queue().len(), 4);

    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    let asked = origin.asked("/notes?id=7");
    let mut methods: Vec<_> = asked.iter().map(|seen| seen.method.as_str()).collect();
    methods.sort_unstable();
    assert_eq!(methods, ["DELETE", "PATCH", "PUT", "PUT"]);

    daemon.ok(&["offline"]);
    let page = send(put.0, put.1, put.2).text();
    let kept = page.split("href=\"").find(|rest| rest.contains("?!id=7!PUT:")).unwrap();
    let kept = kept.split('"').next().unwrap();
    assert_eq!(daemon.get(kept).text(), "answer to PUT text");
    assert_eq!(daemon.run(&["cat", &url]).status, 1, "it is not the page of that address");
}

#[test]
fn a_script_gets_no_message_page_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let fields = "Accept: application/json\r\nSec-Fetch-Dest: empty\r\n";
    let answer = daemon.client().get_with(&origin.url("/data.json"), fields).whole();
    assert_eq!((answer.status, answer.body.len()), (504, 0));
    for method in ["PUT", "DELETE", "PATCH"] {
        let mut client = daemon.client();
        client.send(format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 2\r\n\r\n{{}}",
            origin.url("/data.json"),
            origin.addr
        ));
        assert_eq!(client.receive(method).whole().status, 504, "{method}");
    }
    let methods: Vec<_> = daemon.queue().iter().map(|entry| entry["method"].clone()).collect();
    assert!(methods.iter().all(|method| method == "GET"), "{methods:?}");
    assert_eq!(origin.seen().len(), 0);
}

/// Queues a form as a person does.
pub(super) fn queue_form(daemon: &Daemon, origin: &Origin, path: &str) {
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nContent-Length: 5\r\n\r\none=1",
        origin.url(path),
        origin.addr
    ));
    let page = client.receive("POST").whole();
    let done = daemon.submit(&form(&page.text(), "/refresh-request"));
    assert!(done.status < 400, "{} {}", done.status, done.text());
}

#[test]
fn a_form_that_cannot_be_queued_can_be_confirmed_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nContent-Length: 5\r\n\r\none=1",
        origin.url("/order"),
        origin.addr
    ));
    let confirm = form(&client.receive("POST").whole().text(), "/refresh-request");
    // No entry can be written while the queue is not a directory.
    let (queue, aside) = (daemon.spool().join("outgoing"), daemon.spool().join("aside"));
    std::fs::rename(&queue, &aside).unwrap();
    std::fs::write(&queue, "").unwrap();
    for _ in 0..2 {
        let failed = daemon.submit(&confirm);
        assert!(failed.status >= 500, "{} {}", failed.status, failed.text());
        assert_eq!(daemon.queue().len(), 0);
    }
    std::fs::remove_file(&queue).unwrap();
    std::fs::rename(&aside, &queue).unwrap();
    let done = daemon.submit(&confirm);
    assert!(done.status < 400, "{} {}", done.status, done.text());
    assert_eq!(daemon.queue().len(), 1);
    assert_eq!(daemon.submit(&confirm).status, 410, "it is queued once");
    assert_eq!(daemon.queue().len(), 1);
}

#[test]
fn a_queued_form_is_never_sent_twice() {
    let (daemon, origin) =
        (Daemon::configured("[fetch-options]\nretry-delay = \"100ms\"\n"), Origin::start());
    daemon.ok(&["offline"]);
    let faults = [Fault::Silence, Fault::HalfHead, Fault::ShortLength, Fault::Noise];
    let mut paths = Vec::new();
    for fault in faults {
        let path = format!("/order/{fault:?}");
        origin.on(&path, move |exchange| fault.act(exchange));
        queue_form(&daemon, &origin, &path);
        paths.push(path);
    }
    // A gateway sends 503 if an origin that has got the form is slow.
    for status in [500, 503] {
        let path = format!("/order/{status}");
        let answer = Answer::html("trouble").with_status(status);
        origin.on(&path, move |exchange| exchange.answer(&answer));
        queue_form(&daemon, &origin, &path);
        paths.push(path);
    }
    daemon.ok(&["online"]);
    eventually("each was aborted", || {
        daemon.queue().iter().all(|entry| entry["state"] == "failed")
    });
    for path in paths {
        assert_eq!(origin.count(&path), 1, "{path}");
    }
    assert_eq!(daemon.queue().len(), 6, "and each is shown: {:?}", daemon.queue());
}

#[test]
fn a_form_interrupted_by_a_crash_is_not_sent_again() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    origin.on("/order", move |exchange| {
        exchange.body()?;
        held.wait();
        exchange.answer(&Answer::html("ordered"))
    });
    daemon.ok(&["offline"]);
    queue_form(&daemon, &origin, "/order");
    daemon.ok(&["online"]);
    eventually("it is in progress", || origin.count("/order") == 1);
    assert_eq!(daemon.queue()[0]["state"], "active");
    daemon.kill9();
    daemon.up();
    let queue = daemon.queue();
    assert_eq!((queue.len(), &queue[0]["state"]), (1, &Value::from("failed")), "{queue:?}");
    assert!(queue[0]["error"].as_str().unwrap().contains("not known"), "{queue:?}");
    gate.open();
    assert_eq!(origin.count("/order"), 1);
    daemon.api("POST", "/api/queue/retry", "{\"all\":true}");
    eventually("the user has sent it again", || daemon.queue().is_empty());
    assert_eq!(origin.count("/order"), 2);
}

#[test]
fn an_offline_refresh_of_a_stored_page_says_it_is_queued() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (kept, missing) = (origin.url("/page/1.html"), origin.url("/page/2.html"));
    daemon.get(&kept);
    daemon.settle();
    daemon.ok(&["offline"]);
    for _ in 0..2 {
        let page = daemon.page(&format!("/refresh/?{kept}"));
        assert_eq!(page.status, 202, "{}", page.shown());
        for want in ["This page will be fetched again", kept.as_str(), "/queue/"] {
            assert!(page.shown().contains(want), "{want}: {}", page.shown());
        }
        assert_eq!(daemon.queued(), std::slice::from_ref(&kept));
    }
    // A page that is not stored is queued, and the response leads to its message page.
    let led = daemon.page(&format!("/refresh/?{missing}"));
    assert_eq!((led.status, led.field("Location")), (303, missing.as_str()));
    assert!(daemon.browse(&missing).shown().contains("Already on the queue"));
}
