//! A URL that is missing offline is queued, survives crashes, and is fetched when the connection is
//! back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::faults::Fault;
use crate::harness::{After, Answer, Daemon, Gate, Origin, eventually};

/// Three attempts with short pauses.
const IMPATIENT: &str = "[fetch-options]\nattempts = 3\nretry-delay = \"100ms\"\n";

#[test]
#[ignore = "slow"]
fn fifty_missing_pages_are_queued_and_fetched_despite_restarts() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let urls: BTreeSet<_> = (0..50).map(|n| origin.url(&format!("/page/{n}.html"))).collect();
    for (number, url) in urls.iter().enumerate() {
        let page = daemon.browse(url);
        assert_eq!(page.status, 504, "{url}");
        assert!(page.field("Content-Type").starts_with("text/html"), "{url}");
        assert!(page.shown().contains(url.as_str()), "the page names {url}");
        match number {
            20 => daemon.restart(),
            30 | 49 => {
                daemon.kill9();
                daemon.up();
            }
            _ => {}
        }
    }
    assert_eq!(daemon.queued(), urls.iter().cloned().collect::<Vec<_>>());
    assert_eq!(origin.seen().len(), 0, "the origin was asked while offline");

    daemon.ok(&["online"]);
    let fetched = daemon.run(&["fetch", "--wait"]);
    assert_eq!(fetched.status, 0, "{fetched:?}");
    assert_eq!(daemon.queue().len(), 0);
    daemon.ok(&["offline"]);
    origin.stop();
    for number in 0..50 {
        let path = format!("/page/{number}.html");
        let page = daemon.get(&origin.url(&path));
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body == crate::harness::site::answer(&path).unwrap().body, "{path}");
        assert_eq!(origin.count(&path), 1, "{path} was fetched once");
    }
}

#[test]
fn going_online_starts_fetching() {
    for mode in ["online", "autodial"] {
        let (daemon, origin) = (Daemon::start(), Origin::start());
        daemon.ok(&["offline"]);
        daemon.browse(&origin.url("/page/1.html"));
        daemon.ok(&[mode]);
        eventually("the queue is empty", || daemon.queue().is_empty());
        assert_eq!(origin.count("/page/1.html"), 1, "{mode}");
    }
}

#[test]
fn the_queue_is_fetched_after_a_crash() {
    let (mut daemon, mut origin) = (Daemon::configured(IMPATIENT), Origin::start());
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/page/2.html"));
    origin.stop();
    daemon.ok(&["online"]);
    daemon.kill9();
    origin.restart();
    daemon.up();
    assert!(daemon.ready.contains("mode online"), "{:?}", daemon.ready);
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!(origin.count("/page/2.html"), 1);
}

#[test]
fn a_crash_in_mid_fetch_loses_no_request() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    origin.on("/held", move |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo")?;
        held.wait();
        exchange.send("dy")?;
        Ok(After::Keep)
    });
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/held"));
    daemon.ok(&["online"]);
    eventually("the fetch has begun", || origin.count("/held") == 1);
    daemon.kill9();
    gate.open();
    daemon.up();
    eventually("the queue is empty", || daemon.queue().is_empty());
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/held")).text(), "body");
}

#[test]
#[ignore = "slow"]
fn each_host_gets_six_concurrent_requests() {
    let daemon = Daemon::start();
    let origins = [Origin::start(), Origin::start_at("127.0.0.2")];
    let gate = Gate::new();
    daemon.ok(&["offline"]);
    for origin in &origins {
        for number in 0..20 {
            let (path, held) = (format!("/slow/{number}"), Arc::clone(&gate));
            origin.on(&path, move |exchange| {
                held.wait();
                exchange.answer(&Answer::html("slow"))
            });
            daemon.browse(&origin.url(&path));
        }
    }
    daemon.ok(&["online"]);
    eventually("each host has six", || origins.iter().all(|origin| origin.active() == 6));
    gate.open();
    let fetched = daemon.run(&["fetch", "--wait"]);
    assert_eq!(fetched.status, 0, "{fetched:?}");
    for origin in &origins {
        assert_eq!((origin.most_at_once(), origin.seen().len()), (6, 20));
    }
}

#[test]
#[ignore = "slow"]
fn temporary_failures_are_retried() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let faults = [Fault::ShortLength, Fault::ShortChunks, Fault::Reset, Fault::Silence];
    daemon.ok(&["offline"]);
    for fault in faults {
        let (path, tries) = (format!("/{fault:?}"), AtomicUsize::new(0));
        origin.on(&path, move |exchange| match tries.fetch_add(1, Ordering::SeqCst) {
            0 => fault.act(exchange),
            _ => exchange.answer(&Answer::html("at last")),
        });
        daemon.browse(&origin.url(&path));
    }
    let tries = AtomicUsize::new(0);
    origin.on("/busy", move |exchange| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => exchange.answer(&Answer::html("busy").with_status(503)),
        _ => exchange.answer(&Answer::html("at last")),
    });
    daemon.browse(&origin.url("/busy"));
    daemon.ok(&["online"]);
    let fetched = daemon.run(&["fetch", "--wait"]);
    assert_eq!(fetched.status, 0, "{fetched:?}");
    daemon.ok(&["offline"]);
    for path in faults.map(|fault| format!("/{fault:?}")).into_iter().chain(["/busy".to_owned()]) {
        assert_eq!(daemon.get(&origin.url(&path)).text(), "at last", "{path}");
    }
}

#[test]
fn a_permanent_failure_is_explained_and_can_be_retried() {
    let (daemon, mut origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let url = origin.url("/page/7.html");
    daemon.ok(&["offline"]);
    daemon.browse(&url);
    origin.stop();
    daemon.ok(&["online"]);
    let fetched = daemon.run(&["fetch", "--wait"]);
    assert_eq!(fetched.status, 1, "{fetched:?}");
    assert!((fetched.out.clone() + &fetched.err).contains(&url), "{fetched:?}");
    let queue = daemon.queue();
    assert_eq!((queue.len(), queue[0]["state"].as_str()), (1, Some("failed")), "{queue:?}");
    let reason = queue[0]["error"].as_str().unwrap_or_default();
    assert!(reason.contains("refused"), "{queue:?}");
    let page = daemon.page("/queue/").shown();
    assert!(page.contains(&url) && page.contains("refused"), "{page}");

    origin.restart();
    let retried = daemon.api("POST", "/api/queue/retry", "{\"all\":true}");
    assert_eq!((retried.status, retried.text().trim()), (200, "{\"retried\":1}"));
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!(daemon.get(&url).status, 200);
}

#[test]
fn redirects_are_followed_and_stored() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let statuses = [301, 302, 303, 307, 308];
    daemon.ok(&["offline"]);
    for status in statuses {
        origin.say(&format!("/from/{status}"), Answer::redirect(status, &format!("via/{status}")));
        let end = origin.url(&format!("/end/{status}"));
        origin.say(&format!("/from/via/{status}"), Answer::redirect(status, &end));
        origin.say(&format!("/end/{status}"), Answer::html(format!("end {status}")));
        daemon.browse(&origin.url(&format!("/from/{status}")));
    }
    daemon.ok(&["online"]);
    let fetched = daemon.run(&["fetch", "--wait"]);
    assert_eq!(fetched.status, 0, "{fetched:?}");
    daemon.ok(&["offline"]);
    origin.stop();
    for status in statuses {
        assert_eq!(daemon.get(&origin.url(&format!("/from/{status}"))).status, status);
        assert_eq!(daemon.get(&origin.url(&format!("/from/via/{status}"))).status, status);
        let end = daemon.get(&origin.url(&format!("/end/{status}")));
        assert_eq!(end.text(), format!("end {status}"));
    }
}

#[test]
fn circular_redirects_end() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/left", Answer::redirect(302, "/right"));
    origin.say("/right", Answer::redirect(302, "/left"));
    origin.on("/deeper", |exchange| {
        let depth: u32 = exchange.seen.target[7..].trim_start_matches('?').parse().unwrap_or(0);
        exchange.answer(&Answer::redirect(302, &format!("/deeper?{}", depth + 1)))
    });
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/left"));
    daemon.browse(&origin.url("/deeper"));
    daemon.ok(&["online"]);
    daemon.run(&["fetch", "--wait"]);
    assert!(origin.seen().len() < 100, "it stopped after {} requests", origin.seen().len());
}

#[test]
fn a_queued_request_seals_its_secrets_and_sends_them() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let fields =
        "Accept: text/html\r\nCookie: session=opensesame\r\nAuthorization: Bearer hushhush\r\n";
    let answer = daemon.client().get_with(&origin.url("/page/1.html"), fields).whole();
    assert_eq!(answer.status, 504);
    daemon.down();
    for file in crate::harness::files(daemon.spool()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        for secret in ["opensesame", "hushhush"] {
            assert!(!text.contains(secret), "{secret} is readable in {}", file.display());
        }
    }
    daemon.up();
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    let asked = &origin.asked("/page/1.html")[0];
    assert_eq!(asked.fields.get("Cookie"), Some("session=opensesame"), "{}", asked.head);
    assert_eq!(asked.fields.get("Authorization"), Some("Bearer hushhush"), "{}", asked.head);
}

/// The queue waits, because its budget is spent. A program requests the same pages, without the
/// cookie and the language of the browser. It does not follow redirects.
#[test]
fn a_visit_removes_a_queued_request_only_if_it_is_the_same() {
    let config = "[fetch-options]\nbudget-day = \"0 B\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    origin.say("/same", Answer::html("same"));
    origin.say("/cookie", Answer::html("of somebody"));
    origin.say("/language", Answer::html("gut").field("Vary", "Accept-Language"));
    origin.say("/moved", Answer::redirect(301, "/target"));
    origin.say("/target", Answer::html("target"));
    let browser = "Accept: text/html\r\nAccept-Language: de\r\n";
    daemon.ok(&["offline"]);
    for (path, fields) in
        [("/same", ""), ("/cookie", "Cookie: a=b\r\n"), ("/language", ""), ("/moved", "")]
    {
        let fields = format!("{browser}{fields}");
        assert_eq!(daemon.client().get_with(&origin.url(path), &fields).status, 504);
    }
    daemon.ok(&["online"]);
    for path in ["/same", "/cookie", "/language", "/moved"] {
        daemon.get(&origin.url(path));
    }
    eventually("the answered request is gone", || daemon.queue().len() == 3);
    daemon.ok(&["config", "set", "fetch-options.budget-day", "none"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!((origin.count("/same"), origin.count("/target")), (1, 1));
    for (path, name, value) in
        [("/cookie", "Cookie", "a=b"), ("/language", "Accept-Language", "de")]
    {
        assert_eq!(origin.asked(path)[1].fields.get(name), Some(value), "{path}");
    }
}

#[test]
fn a_repeated_request_is_queued_once() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    for _ in 0..3 {
        assert_eq!(daemon.browse(&origin.url("/page/1.html")).status, 504);
    }
    assert_eq!(daemon.queue().len(), 1);
}

#[test]
fn the_password_in_a_redirect_is_shown_nowhere() {
    let (daemon, origin) =
        (Daemon::configured("[options]\nlog-level = \"trace\"\n"), Origin::start());
    let to = format!("http://user:sesame@{}/secret", origin.addr);
    origin.say("/door", Answer::redirect(302, &to));
    origin.say("/secret", Answer::html("inside"));
    for _ in 0..2 {
        let ran = daemon.run(&["get", &origin.url("/door")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.out.contains("/secret"), "{ran:?}");
        assert!(!(ran.out + &ran.err).contains("sesame"));
    }
    let sent = &origin.asked("/secret")[0];
    assert_eq!(sent.fields.get("Authorization"), Some("Basic dXNlcjpzZXNhbWU="));
    assert!(!daemon.log().contains("sesame"), "{}", daemon.log());
}
