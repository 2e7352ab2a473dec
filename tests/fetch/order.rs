//! The order of the queue, and how a person sees and changes it: on the command line, over the API
//! and on the page.

use serde_json::Value;

use crate::harness::form::{Form, form, forms, unescape};
use crate::harness::{Daemon, Origin, eventually};
use crate::security::owners;

/// One request at a time, so that the order can be observed.
const ONE_BY_ONE: &str = "[fetch-options]\nper-host = 1\nat-once = 1\nattempts = 1\n";

fn path(number: usize) -> String {
    format!("/page/{number}.html")
}

/// An offline daemon with `count` queued pages.
fn queued(config: &str, origin: &Origin, count: usize) -> Daemon {
    let daemon = Daemon::configured(config);
    daemon.ok(&["offline"]);
    let urls: Vec<_> = (1..=count).map(|number| origin.url(&path(number))).collect();
    let mut line = vec!["get"];
    line.extend(urls.iter().map(String::as_str));
    assert_eq!(daemon.run(&line).status, 10);
    assert_eq!(daemon.queue().len(), count);
    daemon
}

/// The numbers of the pages in the order in which they would be fetched.
fn order(daemon: &Daemon) -> Vec<usize> {
    let mut queue = daemon.queue();
    queue.sort_by_key(|item| item["turn"].as_u64());
    queue.iter().map(|item| number(item["url"].as_str().unwrap())).collect()
}

fn number(url: &str) -> usize {
    url.rsplit('/').next().unwrap().trim_end_matches(".html").parse().unwrap()
}

#[test]
#[ignore = "slow"]
fn the_priority_of_a_request_survives_a_crash() {
    let origin = Origin::start();
    let mut daemon = queued(ONE_BY_ONE, &origin, 5);
    assert_eq!(order(&daemon), [1, 2, 3, 4, 5]);
    let told = daemon.ok(&["queue", "--first", &origin.url(&path(4)), &origin.url(&path(5))]);
    assert_eq!(told, "2 requests to be fetched first\n");
    daemon.ok(&["queue", "--last", &origin.url(&path(1))]);
    daemon.ok(&["queue", "--usual", &origin.url(&path(4))]);
    let missing = daemon.run(&["queue", "--first", &origin.url("/absent")]);
    assert_eq!(missing.status, 1, "{missing:?}");
    daemon.kill9();
    daemon.up();
    assert_eq!(order(&daemon), [5, 2, 3, 4, 1]);
    let listed = daemon.ok(&["queue"]);
    let lines: Vec<_> = listed.lines().collect();
    assert!(lines[0].contains("5.html; first") && lines[4].contains("1.html; last"), "{listed}");

    daemon.ok(&["online"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
    let pages = origin.seen().into_iter().filter(|seen| seen.target.starts_with("/page/"));
    let seen: Vec<_> = pages.map(|seen| number(&seen.target)).collect();
    assert_eq!(seen, [5, 2, 3, 4, 1]);
}

#[test]
fn the_api_prioritizes_keys_and_urls_and_lists_missing_ones() {
    let origin = Origin::start();
    let daemon = queued("", &origin, 3);
    let key = daemon.queue()[2]["key"].clone();
    let (one, absent) = (origin.url(&path(1)), origin.url("/absent"));
    let call = |body: Value| {
        let answer = daemon.api("POST", "/api/queue/priority", &body.to_string()).whole();
        (answer.status, answer.text())
    };
    let (status, told) = call(serde_json::json!({
        "priority": "first", "keys": [key, key], "urls": [one, one, absent],
    }));
    assert_eq!(status, 200, "{told}");
    assert_eq!(told.trim(), format!("{{\"prioritized\":2,\"missing\":[\"{absent}\"]}}"));
    assert_eq!(order(&daemon), [1, 3, 2]);
    for bad in [
        serde_json::json!({"priority": "soon", "urls": []}),
        serde_json::json!({"priority": "last", "keys": ["x"]}),
        serde_json::json!({"priority": "last", "urls": ["http://"]}),
    ] {
        assert_eq!(call(bad.clone()).0, 400, "{bad}");
    }
    assert_eq!(order(&daemon), [1, 3, 2]);
}

/// The form for `action` on the page, with the requests of `keys` selected.
fn choose(page: &str, action: &str, keys: &[String]) -> Form {
    let chosen = form(page, action).without("chosen").without("key");
    keys.iter().fold(chosen, |form, key| form.and("chosen", key))
}

fn keys(daemon: &Daemon, numbers: &[usize]) -> Vec<String> {
    let queue = daemon.queue();
    let of = |wanted: &usize| {
        let is_it = |item: &&Value| number(item["url"].as_str().unwrap()) == *wanted;
        queue.iter().find(is_it).unwrap()["key"].as_str().unwrap().to_owned()
    };
    numbers.iter().map(of).collect()
}

#[test]
#[ignore = "slow"]
fn several_requests_are_prioritized_and_deleted_on_the_page() {
    let origin = Origin::start();
    let daemon = queued("", &origin, 60);
    let page = daemon.page("/queue/").whole();
    let text = page.text();
    assert!(page.body.len() < 100_000, "{}", page.body.len());
    assert_eq!(text.matches("name=\"chosen\"").count(), 50);
    assert!(page.shown().contains("1 to 50 of 60"), "{text}");
    assert!(page.shown().contains("60 requests waiting"), "{text}");
    let second = daemon.page("/queue/?page=2").whole().text();
    assert_eq!(second.matches("name=\"chosen\"").count(), 10);

    // The form on the second page moves requests to the front, and leads back to that page.
    let first = choose(&second, "/control/queue/first", &keys(&daemon, &[58, 57]));
    let done = daemon.submit(&first);
    assert_eq!((done.status, done.field("Location")), (303, "/queue/?page=2"));
    let last = choose(&text, "/control/queue/last", &keys(&daemon, &[1]));
    assert_eq!(daemon.submit(&last).status, 303);
    let order = order(&daemon);
    assert_eq!((&order[..3], order[59]), (&[57, 58, 2][..], 1));
    let page = daemon.page("/queue/").whole();
    let (shown, text) = (page.shown(), page.text());
    let at = |number: usize| shown.find(&format!("/page/{number}.html")).unwrap_or(usize::MAX);
    assert!(at(57) < at(58) && at(58) < at(2), "the page has that order");
    assert_eq!(at(1), usize::MAX);
    let usual = choose(&text, "/control/queue/usual", &keys(&daemon, &[57, 58, 1]));
    assert_eq!(daemon.submit(&usual).status, 303);
    assert_eq!(self::order(&daemon), (1..=60).collect::<Vec<_>>());

    // The address of WWWOFFLE 2.9 deletes requests that are given by URL and requests that are
    // selected.
    let delete = choose(&text, "/control/delete-multiple/req", &keys(&daemon, &[3, 4]));
    assert_eq!(daemon.submit(&delete.and("url", &origin.url(&path(5)))).status, 303);
    assert_eq!(daemon.queue().len(), 57);
    // A page number after the end shows the last page.
    assert!(daemon.page("/queue/?page=99").shown().contains("51 to 57 of 57"));
    assert!(daemon.page("/queue/?state=failed").shown().contains("has this state"));
}

#[test]
fn queue_forms_need_a_token_a_selection_and_a_post() {
    let origin = Origin::start();
    let daemon = queued("", &origin, 2);
    let page = daemon.page("/queue/").whole().text();
    let first = choose(&page, "/control/queue/first", &keys(&daemon, &[2]));
    for (form, status) in [
        (first.clone().without("token"), 403),
        (first.clone().with("token", "guessed"), 403),
        (first.clone().without("chosen"), 422),
        (first.clone().with("chosen", "no-key"), 400),
        (first.clone().without("chosen").with("url", "http://"), 400),
        // An unknown key is ignored.
        (first.clone().with("chosen", &"0".repeat(64)), 303),
    ] {
        assert_eq!(daemon.submit(&form).status, status, "{form:?}");
        assert_eq!(order(&daemon), [1, 2], "{form:?}");
    }
    for path in ["/control/queue/first", "/control/retry-multiple", "/control/delete-multiple/req"]
    {
        assert_ne!(daemon.page(path).status, 303, "{path}");
    }
    assert_eq!(order(&daemon), [1, 2]);
    for back in ["//evil.example/", "http://evil.example/queue/", "/queue/?page=2\r\nx: y", "/ca"] {
        let done = daemon.submit(&first.clone().with("back", back));
        assert!(done.field("Location").starts_with("/queue/"), "{:?}", done.fields);
        assert!(!done.field("Location").contains("evil"), "{:?}", done.fields);
    }
    assert_eq!(order(&daemon), [2, 1]);
}

#[test]
fn failed_requests_are_listed_and_retried_together() {
    let origin = Origin::start();
    let daemon = Daemon::configured(ONE_BY_ONE);
    let urls: Vec<_> = (1..=3).map(|number| origin.url(&format!("/oops/{number}"))).collect();
    for url in &urls {
        origin.say(
            &url[origin.url("").len()..],
            crate::harness::Answer::new(500, "text/html", "oops"),
        );
    }
    daemon.ok(&["offline"]);
    for url in &urls {
        daemon.browse(url);
    }
    daemon.browse(&origin.url(&path(1)));
    daemon.ok(&["online"]);
    let failed = || daemon.queue().iter().filter(|item| item["state"] == "failed").count();
    eventually("all have failed", || failed() == 3 && daemon.queue().len() == 3);
    daemon.ok(&["offline"]);
    let page = daemon.page("/queue/?state=failed").whole().text();
    let all: Vec<_> =
        daemon.queue().iter().map(|it| it["key"].as_str().unwrap().to_owned()).collect();
    // A request that is named twice is retried once.
    let retry = choose(&page, "/control/retry-multiple", &[&all[..2], &all[..1]].concat());
    let done = daemon.submit(&retry);
    assert_eq!((done.status, done.field("Location")), (303, "/queue/?state=failed"));
    assert_eq!(failed(), 1);
    // The button of a row applies only to this row, even if other rows are selected.
    let page = daemon.page("/queue/").whole().text();
    let one = forms(&page).into_iter().find(|form| form.action.ends_with("/control/delete/req"));
    let one = one.unwrap();
    let key = one.value("key").unwrap().to_owned();
    assert_eq!(daemon.submit(&one).status, 303);
    assert_eq!(daemon.queue().len(), 2);
    assert!(daemon.queue().iter().all(|item| item["key"] != *key));
}

/// One of our pages as `user` sees it.
fn read(daemon: &Daemon, user: &str, path: &str) -> String {
    let (mut client, fields) = (daemon.client(), owners::login("Authorization", user));
    client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
    client.receive("GET").whole().text()
}

#[test]
fn users_cannot_reorder_requests_of_others() {
    let (daemon, origin) = (owners::daemon(), Origin::start());
    daemon.ok(&["offline"]);
    for number in 1..=2 {
        owners::get(&daemon, "ada", &origin.url(&path(number)), "");
    }
    owners::get(&daemon, "bob", &origin.url(&path(3)), "");
    let body = serde_json::json!({
        "priority": "last",
        "urls": [origin.url(&path(1)), origin.url(&path(3))],
        "keys": keys(&daemon, &[2]),
    });
    let token = {
        let page = read(&daemon, "bob", "/queue/");
        let token = form(&page, "/control/queue/last").value("token").unwrap().to_owned();
        // The key and the token are removed from the text, since their characters may contain
        // `ada`.
        let shown = unescape(&page).replace(&token, "").replace(&keys(&daemon, &[3])[0], "");
        assert!(shown.contains("/page/3.html") && !shown.contains("/page/1.html"), "{shown}");
        assert!(shown.contains("1 request waiting") && !shown.contains("ada"), "{shown}");
        token
    };
    let mut client = daemon.client();
    let (body, host) = (body.to_string(), daemon.addr());
    client.send(format!(
        "POST /api/queue/priority HTTP/1.1\r\nHost: {host}\r\n{}Content-Type: application/json\r\n\
         X-Wwwoffle-Token: {token}\r\nContent-Length: {}\r\n\r\n{body}",
        owners::login("Authorization", "bob"),
        body.len()
    ));
    let told = client.receive("POST").whole().text();
    let missing = origin.url(&path(1));
    assert_eq!(told.trim(), format!("{{\"prioritized\":1,\"missing\":[\"{missing}\"]}}"));
    let said: Vec<_> = daemon.queue().iter().map(|item| item["priority"].clone()).collect();
    assert_eq!(said, [Value::Null, Value::Null, Value::from("last")]);
}
