//! Spellings of a URL that have the same key but may have different responses.

use std::sync::atomic::{AtomicU32, Ordering};

use wwwoffle_url::url_encode_form_args;

use crate::harness::client::request;
use crate::harness::origin::NAVIGATES;
use crate::harness::{Answer, Client, Daemon, Origin, Response, eventually};

/// A spelling, and another one with the same key.
const PAIRS: [[&str; 2]; 5] = [
    ["/view?f=2&t=9", "/view?f=2&amp;t=9"],
    ["/m;p", "/m%3Bp"],
    ["/q?x%20y", "/q?x+y"],
    ["/dots", "/admin/../dots"],
    ["/x/y", "/x\\y"],
];

/// Makes the origin respond with the spelling of the request, with one `ETag` for all spellings.
fn echo(origin: &Origin, path: &str) {
    let body = format!("<p>{path}");
    origin.on(path, move |exchange| {
        exchange.answer(&Answer::html(body.as_str()).field("ETag", "\"same\""))
    });
}

/// Requests exactly this spelling.
fn get(daemon: &Daemon, origin: &Origin, path: &str) -> Response {
    let mut client: Client = daemon.client();
    client.send(request("GET", &format!("{}{path}", origin.url("")), ""));
    let response = client.receive("GET").whole();
    daemon.settle();
    response
}

#[test]
#[ignore = "slow"]
fn each_page_about_a_url_shows_the_copy_of_its_spelling() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in PAIRS.as_flattened() {
        echo(&origin, path);
    }
    for [one, other] in PAIRS {
        // In each order, the spelling that is requested last has the newest copy.
        for order in [[one, other], [other, one]] {
            for path in order {
                let mut client: Client = daemon.client();
                let fields = "Cache-Control: no-cache\r\n";
                client.send(request("GET", &format!("{}{path}", origin.url("")), fields));
                client.receive("GET").whole();
                daemon.settle();
            }
            for path in order {
                let (url, want) = (format!("{}{path}", origin.url("")), format!("<p>{path}"));
                assert!(daemon.ok(&["cat", &url]).ends_with(&want), "cat {url}");
                let encoded = url_encode_form_args(url.as_bytes());
                for page in ["/info/source", "/history/version"] {
                    let shown = daemon.client().get(&daemon.own(&format!("{page}?url={encoded}")));
                    assert!(shown.text().contains(&want), "{page} {url}: {}", shown.text());
                }
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn each_spelling_has_its_own_entry() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    for path in PAIRS.as_flattened() {
        echo(&origin, path);
    }
    for [one, other] in PAIRS {
        for path in [one, other, one, other] {
            assert_eq!(get(&daemon, &origin, path).text(), format!("<p>{path}"));
        }
        for path in [one, other] {
            let asked = origin.asked(path);
            assert!(asked[0].fields.get("If-None-Match").is_none(), "{path} shows the other");
        }
    }
    origin.stop();
    daemon.ok(&["offline"]);
    for restarted in [false, true] {
        if restarted {
            daemon.restart();
        }
        for path in PAIRS.as_flattened() {
            let response = get(&daemon, &origin, path);
            assert_eq!(response.text(), format!("<p>{path}"));
            assert_eq!(response.field("Cache-Status"), "wwwoffle; hit; detail=offline", "{path}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn another_spelling_is_served_offline_if_none_matches() {
    for [one, other] in PAIRS {
        for [stored, asked] in [[one, other], [other, one]] {
            let (daemon, mut origin) = (Daemon::start(), Origin::start());
            echo(&origin, stored);
            get(&daemon, &origin, stored);
            origin.stop();
            daemon.ok(&["offline"]);
            let response = get(&daemon, &origin, asked);
            assert_eq!(response.text(), format!("<p>{stored}"));
            let status = response.field("Cache-Status");
            assert_eq!(status, "wwwoffle; hit; detail=near-spelling", "{asked}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn each_spelling_that_is_requested_offline_is_fetched() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    for path in PAIRS.as_flattened() {
        echo(&origin, path);
    }
    daemon.ok(&["offline"]);
    for path in PAIRS.as_flattened() {
        for _ in 0..2 {
            assert_eq!(get(&daemon, &origin, path).status, 504, "{path}");
        }
    }
    daemon.restart();
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert!(daemon.queue().is_empty());
    daemon.ok(&["offline"]);
    for path in PAIRS.as_flattened() {
        assert_eq!(origin.asked(path).len(), 1, "{path}");
        let response = get(&daemon, &origin, path);
        assert_eq!(response.text(), format!("<p>{path}"));
        assert_eq!(response.field("Cache-Status"), "wwwoffle; hit; detail=offline", "{path}");
    }
}

/// The queue waits, because its budget is spent. A client requests one of the spellings.
#[test]
fn a_visit_to_one_spelling_leaves_the_other_on_the_queue() {
    let config = "[fetch-options]\nbudget-day = \"0 B\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    // In the last cases the queue has only one spelling, and the client requests the other.
    for (pair, queued, visited) in
        [(PAIRS[0], 2, 0), (PAIRS[1], 2, 1), (PAIRS[2], 1, 1), (PAIRS[3], 1, 1)]
    {
        daemon.ok(&["offline"]);
        for path in pair {
            echo(&origin, path);
        }
        for path in &pair[..queued] {
            assert_eq!(get(&daemon, &origin, path).status, 504, "{path}");
        }
        daemon.ok(&["online"]);
        get(&daemon, &origin, pair[visited]);
    }
    assert_eq!(daemon.queue().len(), 4);
    daemon.ok(&["config", "set", "fetch-options.budget-day", "none"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
    daemon.ok(&["offline"]);
    for path in PAIRS[..4].as_flattened() {
        assert_eq!(get(&daemon, &origin, path).text(), format!("<p>{path}"));
    }
}

/// Requests `path` offline, and then fetches the queue.
fn fetch_later(daemon: &Daemon, origin: &Origin, path: &str) {
    daemon.ok(&["offline"]);
    assert_eq!(get(daemon, origin, path).status, 504, "{path}");
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    daemon.ok(&["offline"]);
}

#[test]
#[ignore = "slow"]
fn a_redirect_to_another_spelling_is_followed() {
    let daemon = Daemon::start();
    for [one, other] in &PAIRS[..3] {
        for [from, to] in [[one, other], [other, one]] {
            for is_queued in [true, false] {
                let origin = Origin::start();
                origin.say(from, Answer::redirect(302, to));
                echo(&origin, to);
                if is_queued {
                    fetch_later(&daemon, &origin, from);
                } else {
                    daemon.ok(&["online"]);
                    daemon.ok(&["get", &origin.url(from)]);
                    daemon.ok(&["offline"]);
                }
                for path in [from, to] {
                    assert_eq!(origin.asked(path).len(), 1, "{path}");
                }
                assert!(daemon.queue().is_empty());
                assert_eq!(get(&daemon, &origin, from).status, 302, "{from}");
                let response = get(&daemon, &origin, to);
                assert_eq!(response.text(), format!("<p>{to}"));
                let status = response.field("Cache-Status");
                assert_eq!(status, "wwwoffle; hit; detail=offline", "{to}");
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_redirect_is_not_served_for_its_target_spelling() {
    let daemon = Daemon::start();
    for [one, other] in &PAIRS[..3] {
        for [from, to] in [[one, other], [other, one]] {
            let origin = Origin::start();
            origin.say(from, Answer::redirect(302, to));
            echo(&origin, to);
            daemon.ok(&["online"]);
            assert_eq!(get(&daemon, &origin, from).status, 302, "{from}");
            fetch_later(&daemon, &origin, to);
            assert_eq!(origin.asked(from).len(), 1, "{from}");
            let third = to.replacen('/', "/./", 1);
            for path in [*to, &third] {
                assert_eq!(get(&daemon, &origin, path).text(), format!("<p>{to}"), "{path}");
            }
        }
    }
}

#[test]
fn redirects_among_spellings_end() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let [one, other] = PAIRS[0];
    origin.say(one, Answer::redirect(302, other));
    origin.say(other, Answer::redirect(302, one));
    let asked = AtomicU32::new(1);
    origin.on("/deep", move |exchange| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let bits = (0..8).map(|bit| if number >> bit & 1 == 1 { "%61" } else { "a" });
        let location = format!("/deep?b{}", bits.collect::<String>());
        exchange.answer(&Answer::redirect(302, &location))
    });
    daemon.ok(&["get", &origin.url(one)]);
    assert_eq!(origin.seen().len(), 2);
    let ran = daemon.run(&["get", &origin.url("/deep?baaaaaaaa")]);
    assert!(ran.out.contains("more than 20 redirects in a row"), "{ran:?}");
    assert!(origin.seen().len() < 30, "{} requests", origin.seen().len());
}

#[test]
#[ignore = "slow"]
fn a_recursive_fetch_follows_a_redirect_to_another_spelling() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let [one, other] = PAIRS[0];
    let link = one.replace('&', "&amp;");
    origin.say("/start", Answer::html(format!("<a href=\"{link}\">a</a>")));
    origin.say(one, Answer::redirect(302, other));
    origin.say(other, Answer::html("<a href=/next>next</a>"));
    origin.say("/next", Answer::html("next"));
    daemon.ok(&["get", "-r", "2", &origin.url("/start")]);
    for path in [one, other, "/next"] {
        assert_eq!(origin.asked(path).len(), 1, "{path}");
    }
}

#[test]
#[ignore = "slow"]
fn a_spelling_that_cannot_be_queued_is_refused() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let spelled = |number| format!("/{}page?a", "./".repeat(number));
    let long = format!("/{}page?a", "./".repeat(2_100));
    for number in 0..9 {
        let response = get(&daemon, &origin, &spelled(number + 1));
        assert_eq!(response.field("Cache-Status"), "wwwoffle; detail=queued", "{number}");
    }
    for path in [&spelled(10), &long] {
        let response = get(&daemon, &origin, path);
        assert_eq!(response.status, 504, "{path}");
        assert_eq!(response.field("Cache-Status"), "wwwoffle; detail=queue-spelling", "{path}");
        let mut client: Client = daemon.client();
        client.send(request("GET", &origin.url(path), NAVIGATES));
        let page = client.receive("GET").whole();
        assert!(page.text().contains("Not added to the queue"), "{}", page.text());
        let ran = daemon.run(&["get", "--json", &origin.url(&spelled(1)), &origin.url(path)]);
        let failed = ran.lines().into_iter().find(|event| event["event"] == "failed").unwrap();
        assert!(failed["error"].to_string().contains("not queued"), "{ran:?}");
        let end = ran.lines().pop().unwrap();
        assert_eq!((&end["failed"], &end["waiting"]), (&1.into(), &1.into()), "{ran:?}");
        assert_eq!(ran.status, 1, "{ran:?}");
    }
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(origin.seen().len(), 9);
}

#[test]
fn a_command_shows_the_monitored_spelling() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in PAIRS[0] {
        let [canonical, other] = PAIRS[0];
        for shown in
            [daemon.ok(&["monitor", "add", &origin.url(path)]), daemon.ok(&["monitor", "list"])]
        {
            assert_eq!(shown.lines().count(), 1, "{shown}");
            assert!(shown.contains(&origin.url(canonical)), "{shown}");
            let is_shown = shown.contains(&format!("requested as {other}"));
            assert_eq!(is_shown, path == other, "{shown}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_failing_spelling_does_not_block_another() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for [refused, good] in PAIRS {
        origin.on(refused, |exchange| exchange.answer(&Answer::html("no").with_status(401)));
        echo(&origin, good);
        daemon.ok(&["offline"]);
        for path in [refused, good] {
            assert_eq!(get(&daemon, &origin, path).status, 504, "{path}");
        }
        daemon.ok(&["online"]);
        daemon.run(&["fetch", "--wait"]);
        daemon.ok(&["offline"]);
        assert_eq!(get(&daemon, &origin, good).text(), format!("<p>{good}"));
        assert_eq!(daemon.queue().len(), 1, "{refused} has failed");
        daemon.ok(&["queue", "--remove", &origin.url(refused)]);
    }
}

#[test]
#[ignore = "slow"]
fn one_command_fetches_all_spellings() {
    for refresh in [false, true] {
        let (daemon, origin) = (Daemon::start(), Origin::start());
        let urls: Vec<_> = PAIRS.as_flattened().iter().map(|path| origin.url(path)).collect();
        PAIRS.as_flattened().iter().for_each(|path| echo(&origin, path));
        let mut command = vec!["get"];
        command.extend(refresh.then_some("--refresh"));
        command.extend(urls.iter().map(String::as_str));
        daemon.ok(&command);
        for path in PAIRS.as_flattened() {
            assert_eq!(origin.asked(path).len(), 1, "{path}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_page_is_fetched_if_only_another_spelling_is_stored() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in PAIRS.as_flattened() {
        echo(&origin, path);
        daemon.ok(&["get", &origin.url(path)]);
        daemon.ok(&["get", &origin.url(path)]);
        assert_eq!(origin.asked(path).len(), 1, "{path}");
    }
}

#[test]
fn a_change_concerns_all_spellings() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let [one, other] = PAIRS[0];
    for path in [one, other] {
        origin.on(path, move |exchange| {
            exchange.answer(&Answer::html("<p>a").field("Cache-Control", "max-age=600"))
        });
        get(&daemon, &origin, path);
        get(&daemon, &origin, path);
        assert_eq!(origin.asked(path).len(), 1, "{path} is fresh");
    }
    let mut client: Client = daemon.client();
    client.send(request("POST", &origin.url(one), "Content-Length: 3\r\n") + "abc");
    client.receive("POST").whole();
    daemon.settle();
    let before = origin.asked(other).len();
    get(&daemon, &origin, other);
    assert_eq!(origin.asked(other).len(), before + 1);
}

#[test]
#[ignore = "slow"]
fn an_archive_keeps_spellings_apart() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    for path in PAIRS.as_flattened() {
        echo(&origin, path);
        get(&daemon, &origin, path);
    }
    for name in ["all.warc.gz", "all.wacz"] {
        let archive = daemon.home().join(name).to_str().unwrap().to_owned();
        daemon.ok(&["export", &archive]);
        let other = Daemon::start();
        other.ok(&["offline"]);
        other.ok(&["import", &archive]);
        for path in PAIRS.as_flattened() {
            let response = get(&other, &origin, path);
            assert_eq!(response.text(), format!("<p>{path}"), "{name}");
            assert_eq!(response.field("Cache-Status"), "wwwoffle; hit; detail=offline", "{path}");
        }
    }
    origin.stop();
}

/// Spellings of the host have one key without variants, so the origin must not be able to
/// distinguish them.
#[test]
fn the_origin_gets_the_canonical_host() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/home", |exchange| {
        let host = exchange.seen.fields.all("Host").join(",");
        exchange.answer(&Answer::html(host).field("Cache-Control", "max-age=600"))
    });
    let (url, host) = (origin.url("/home"), origin.addr.to_string());
    let port = origin.addr.port();
    for spelled in [format!("127.0.0.1:0{port}"), format!("0x7f.0.0.1:{port}")] {
        for target in [format!("http://{spelled}/home"), "/home".to_owned()] {
            let mut client = daemon.client();
            client.send(format!(
                "GET {target} HTTP/1.1\r\nHost: {spelled}\r\nCache-Control: no-cache\r\n\r\n"
            ));
            assert_eq!(client.receive("GET").whole().text(), host, "{target} {spelled}");
            daemon.settle();
        }
        assert_eq!(daemon.get(&url).whole().text(), host, "{spelled}");
    }
}
