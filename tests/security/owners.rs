//! A cookie, a login or a field of the origin makes a response private. Other users never get it:
//! online or offline, from the spool or during the download.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::harness::client::{Client, Response, request};
use crate::harness::daemon::{AS_PERSON, run};
use crate::harness::form::Form;
use crate::harness::wire::Fields;
use crate::harness::{Answer, Daemon, Gate, Origin, eventually};

pub(crate) const USERS: [&str; 2] = ["ada", "bob"];

/// A daemon that requires a login and has two users.
#[track_caller]
pub(crate) fn daemon() -> Daemon {
    Daemon::configured(&users())
}

/// The configuration of a proxy with both users.
#[track_caller]
pub(crate) fn users() -> String {
    let place = Daemon::prepare(None);
    let lines: Vec<_> = USERS
        .iter()
        .map(|user| {
            let mut command = place.bare_command();
            command.args(["passwd", user]);
            let ran = run(command, Some(format!("secret of {user}\n").as_bytes()));
            assert_eq!(ran.status, 0, "{ran:?}");
            let line = ran.out.trim().to_owned();
            line.strip_prefix("users = [").unwrap().strip_suffix(']').unwrap().to_owned()
        })
        .collect();
    format!("[allowed-connect-users]\nusers = [{}]\n", lines.join(", "))
}

pub(crate) fn login(field: &str, user: &str) -> String {
    let pair = BASE64_STANDARD.encode(format!("{user}:secret of {user}"));
    format!("{field}: Basic {pair}\r\n")
}

/// The fields of a request with which `user` opens a page. The origin gets the name too, so that
/// its response can contain it.
pub(crate) fn of(user: &str, fields: &str) -> String {
    format!("{AS_PERSON}{}X-Who: {user}\r\n{fields}", login("Proxy-Authorization", user))
}

#[track_caller]
pub(crate) fn get(daemon: &Daemon, user: &str, url: &str, fields: &str) -> Response {
    daemon.client().get_with(url, &of(user, fields)).whole()
}

/// One of our pages, as `user` sees it.
#[track_caller]
pub(crate) fn page(daemon: &Daemon, user: &str, path: &str) -> Response {
    let login = login("Proxy-Authorization", user);
    daemon.client().get_with(&daemon.own(path), &login).whole()
}

/// Submits a form from one of our pages as `user`.
#[track_caller]
pub(crate) fn submit(daemon: &Daemon, user: &str, form: &Form) -> Response {
    submit_with(daemon, user, "", form)
}

/// Like [`submit`], with the additional header fields `fields`.
#[track_caller]
pub(crate) fn submit_with(daemon: &Daemon, user: &str, fields: &str, form: &Form) -> Response {
    let login = login("Proxy-Authorization", user);
    let (body, host) = (form.body(), daemon.addr());
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{login}{fields}\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        form.action,
        body.len()
    ));
    client.receive("POST").whole()
}

/// The user of a request, as sent to the origin.
pub(crate) fn who(fields: &Fields) -> String {
    fields.get("X-Who").unwrap_or("nobody").to_owned()
}

/// An origin whose responses for `path` name their user and have the additional fields `added`.
fn telling(path: &'static str, added: &'static [(&'static str, &'static str)]) -> Origin {
    let origin = Origin::start();
    origin.on(path, move |request| {
        let answer = Answer::html(format!("for {}", who(&request.seen.fields)));
        let answer = added.iter().fold(answer, |answer, (name, value)| answer.field(name, value));
        request.answer(&answer)
    });
    origin
}

#[test]
#[ignore = "slow"]
fn responses_to_requests_with_credentials_are_personal() {
    for secret in [
        "Cookie: id=1\r\n",
        "Authorization: Bearer x\r\n",
        "Authorization: Basic dTpw\r\n",
        "Private-Token: x\r\n",
        "X-CSRF-Token: x\r\n",
    ] {
        let (daemon, origin) = (daemon(), telling("/p", &[]));
        let url = origin.url("/p");
        assert_eq!(get(&daemon, "ada", &url, secret).text(), "for ada");
        daemon.ok(&["offline"]);
        assert_eq!(get(&daemon, "ada", &url, secret).text(), "for ada", "{secret}");
        for fields in [secret, ""] {
            let other = get(&daemon, "bob", &url, fields);
            assert_eq!(other.status, 504, "{secret}: {}", other.text());
        }
        daemon.ok(&["online"]);
        eventually("bob's request is fetched", || daemon.queued().is_empty());
        daemon.ok(&["offline"]);
        assert_eq!(get(&daemon, "ada", &url, secret).text(), "for ada", "{secret}");
        assert_eq!(get(&daemon, "bob", &url, secret).text(), "for bob", "{secret}");
    }
}

#[test]
fn credentials_in_the_url_are_a_login() {
    let (daemon, origin) = (daemon(), telling("/p", &[]));
    let known = |user: &str| {
        let (mut client, addr) = (daemon.client(), origin.addr);
        let fields = of(user, "");
        client.send(format!("GET http://u:p@{addr}/p HTTP/1.1\r\nHost: {addr}\r\n{fields}\r\n"));
        client.receive("GET").whole()
    };
    assert_eq!(known("ada").text(), "for ada");
    daemon.ok(&["offline"]);
    assert_eq!(known("ada").text(), "for ada");
    assert_eq!(get(&daemon, "ada", &origin.url("/p"), "").status, 401, "the login is missing");
    assert_eq!(known("bob").status, 504);
}

#[test]
#[ignore = "slow"]
fn private_responses_and_those_with_cookies_are_personal() {
    for added in [
        &[("Set-Cookie", "id=1")][..],
        &[("Cache-Control", "private, max-age=60")],
        &[("Cache-Control", "public, private")],
    ] {
        let (daemon, origin) = (daemon(), telling("/p", added));
        let url = origin.url("/p");
        assert_eq!(get(&daemon, "ada", &url, "").text(), "for ada");
        daemon.ok(&["offline"]);
        assert_eq!(get(&daemon, "ada", &url, "").text(), "for ada", "{added:?}");
        assert_eq!(get(&daemon, "bob", &url, "").status, 504, "{added:?}");
    }
}

#[test]
#[ignore = "slow"]
fn responses_without_credentials_or_marked_public_are_shared() {
    for (added, fields) in [
        (&[][..], ""),
        (&[("Cache-Control", "public")], "Cookie: id=1\r\n"),
        (&[("Cache-Control", "max-age=60, public")], "Authorization: Bearer x\r\n"),
        (&[("Cache-Control", "public"), ("Set-Cookie", "id=1")], ""),
    ] {
        let (daemon, origin) = (daemon(), telling("/p", added));
        let url = origin.url("/p");
        assert_eq!(get(&daemon, "ada", &url, fields).text(), "for ada");
        daemon.ok(&["offline"]);
        for user in USERS {
            for fields in [fields, ""] {
                let page = get(&daemon, user, &url, fields);
                assert_eq!(page.text(), "for ada", "{user} {added:?} {fields}");
                assert!(!page.fields.has("Set-Cookie"), "{user} {added:?}");
            }
        }
    }
}

#[test]
fn a_request_with_a_login_does_not_get_the_anonymous_response() {
    let (daemon, origin) = (daemon(), telling("/p", &[]));
    let url = origin.url("/p");
    get(&daemon, "ada", &url, "");
    daemon.ok(&["offline"]);
    assert_eq!(get(&daemon, "ada", &url, "Authorization: Bearer x\r\n").status, 504);
    assert_eq!(get(&daemon, "bob", &url, "Cookie: id=1\r\n").text(), "for ada", "it is for all");
}

#[test]
fn a_newer_public_response_replaces_a_personal_one() {
    let (daemon, origin) = (daemon(), telling("/p", &[("Set-Cookie", "id=1")]));
    let url = origin.url("/p");
    get(&daemon, "ada", &url, "");
    origin.say("/p", Answer::html("the new one"));
    assert_eq!(get(&daemon, "ada", &url, "").text(), "the new one");
    daemon.settle();
    daemon.ok(&["offline"]);
    for user in USERS {
        assert_eq!(get(&daemon, user, &url, "").text(), "the new one", "{user}");
    }
}

#[test]
#[ignore = "slow"]
fn an_error_does_not_hide_a_good_response() {
    for good in [&[][..], &[("Set-Cookie", "id=1")]] {
        let (daemon, origin) = (daemon(), telling("/p", good));
        let url = origin.url("/p");
        get(&daemon, "ada", &url, "");
        for bad in [&[][..], &[("Set-Cookie", "id=2")]] {
            let gone = Answer::new(404, "text/html", "gone");
            let gone = bad.iter().fold(gone, |gone, (name, value)| gone.field(name, value));
            origin.say("/p", gone);
            assert_eq!(get(&daemon, "ada", &url, "").status, 404);
        }
        daemon.settle();
        daemon.ok(&["offline"]);
        assert_eq!(get(&daemon, "ada", &url, "").text(), "for ada", "{good:?}");
    }
}

/// A proxy with both users that logs its decisions.
#[track_caller]
fn telling_daemon() -> Daemon {
    Daemon::configured(&format!("[options]\nlog-level = \"debug\"\n{}", users()))
}

/// The number of requests for `url` that the proxy has read and begun to answer.
fn begun(daemon: &Daemon, url: &str) -> usize {
    let log = daemon.log();
    log.lines().filter(|line| line.contains("decided") && line.contains(url)).count()
}

/// Sends requests of two users before either gets a response, and returns the responses. With
/// `joined`, the second request must join the first download; otherwise both must reach the origin.
fn at_once(
    answer: impl Fn(&Fields) -> Answer + Send + Sync + 'static,
    fields: &str,
    joined: bool,
) -> (Origin, [Response; 2]) {
    let (daemon, origin, gate) = (telling_daemon(), Origin::start(), Gate::new());
    let (opened, early) = (Arc::clone(&gate), Arc::new(AtomicUsize::new(0)));
    let before = Arc::clone(&early);
    origin.on("/p", move |request| {
        before.fetch_add(usize::from(!opened.is_open()), Ordering::SeqCst);
        opened.wait();
        request.answer(&answer(&request.seen.fields))
    });
    let url = origin.url("/p");
    let mut clients = USERS.map(|_| daemon.client());
    clients[0].ask(&url, &of("ada", fields));
    let early = || early.load(Ordering::SeqCst);
    eventually("the first is asked", || early() == 1);
    clients[1].ask(&url, &of("bob", fields));
    if joined {
        // A request that joins a download does not reach the origin. Only the log shows that the
        // proxy handles it.
        eventually("both have begun", || begun(&daemon, &url) >= 2);
    } else {
        eventually("the second is asked", || early() == 2);
    }
    gate.open();
    let responses = clients.each_mut().map(|client: &mut Client| client.receive("GET").whole());
    assert_eq!(early(), if joined { 1 } else { 2 }, "asked before the first response");
    (origin, responses)
}

#[test]
#[ignore = "slow"]
fn people_with_cookies_or_logins_do_not_share_a_download() {
    for secret in ["Cookie: id=1\r\n", "Authorization: Basic dTpw\r\n", "X-Api-Key: x\r\n"] {
        let (origin, [one, other]) =
            at_once(|fields| Answer::html(format!("for {}", who(fields))), secret, false);
        assert_eq!((one.text(), other.text()), ("for ada".into(), "for bob".into()), "{secret}");
        assert_eq!(origin.count("/p"), 2);
    }
}

#[test]
#[ignore = "slow"]
fn a_download_that_turns_out_to_be_one_persons_is_not_shared() {
    for (name, value) in [("Set-Cookie", "id=1"), ("Cache-Control", "private")] {
        let answer =
            move |fields: &Fields| Answer::html(format!("for {}", who(fields))).field(name, value);
        let (origin, [one, other]) = at_once(answer, "", true);
        assert_eq!((one.text(), other.text()), ("for ada".into(), "for bob".into()), "{name}");
        assert_eq!(origin.count("/p"), 2);
    }
}

#[test]
#[ignore = "slow"]
fn a_cookie_of_a_304_is_sent_to_one_client() {
    let (daemon, origin, gate) = (telling_daemon(), Origin::start(), Gate::new());
    let kept = Answer::html("kept").field("ETag", "\"1\"");
    origin.say("/p", kept.clone());
    let url = origin.url("/p");
    get(&daemon, "ada", &url, "");
    daemon.settle();
    let opened = Arc::clone(&gate);
    origin.on("/p", move |request| {
        opened.wait();
        assert_eq!(request.seen.fields.get("If-None-Match"), Some("\"1\""));
        let cookie = format!("id={}", who(&request.seen.fields));
        request
            .answer(&Answer::new(304, "", "").field("ETag", "\"1\"").field("Set-Cookie", &cookie))
    });
    let mut clients = USERS.map(|_| daemon.client());
    clients[0].ask(&url, &of("ada", ""));
    eventually("the first is asked", || origin.count("/p") == 2);
    clients[1].ask(&url, &of("bob", ""));
    eventually("both have begun", || begun(&daemon, &url) >= 3);
    assert_eq!(origin.count("/p"), 2, "the second waits for the response to the first");
    gate.open();
    for (user, client) in USERS.iter().zip(&mut clients) {
        let page = client.receive("GET").whole();
        assert_eq!(
            (page.text().as_str(), page.field("Set-Cookie")),
            ("kept", &*format!("id={user}"))
        );
    }
}

#[test]
#[ignore = "slow"]
fn queued_personal_requests_and_their_redirects_stay_personal() {
    let (daemon, origin) = (daemon(), telling("/p", &[("Set-Cookie", "id=1")]));
    origin.say("/to", Answer::redirect(302, "/p"));
    let url = origin.url("/to");
    daemon.ok(&["offline"]);
    for user in USERS {
        assert_eq!(get(&daemon, user, &url, "Cookie: a=b\r\n").status, 504);
    }
    assert_eq!(daemon.queued().len(), 2, "each of them sent a request");
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    eventually("all is fetched", || daemon.queued().is_empty());
    daemon.ok(&["offline"]);
    for user in USERS {
        assert_eq!(get(&daemon, user, &url, "Cookie: a=b\r\n").status, 302);
        let page = get(&daemon, user, &origin.url("/p"), "Cookie: a=b\r\n");
        assert_eq!(page.text(), format!("for {user}"));
    }
}

#[test]
fn a_public_url_queued_by_several_users_is_fetched_once() {
    let (daemon, origin) = (daemon(), telling("/p", &[]));
    daemon.ok(&["offline"]);
    for user in USERS {
        assert_eq!(get(&daemon, user, &origin.url("/p"), "").status, 504);
    }
    daemon.ok(&["online"]);
    eventually("all is fetched", || daemon.queued().is_empty());
    assert_eq!(origin.count("/p"), 1);
}

#[test]
fn lists_show_a_users_own_entries_and_commands_show_all() {
    let (daemon, origin) = (daemon(), telling("/p", &[("Set-Cookie", "id=1")]));
    origin.say("/all", Answer::html("for all"));
    get(&daemon, "ada", &origin.url("/p"), "");
    get(&daemon, "ada", &origin.url("/all"), "");
    daemon.settle();
    daemon.ok(&["offline"]);
    get(&daemon, "bob", &origin.url("/later"), "");
    let read = |user: &str, path: &str| {
        let mut client = daemon.client();
        let fields = login("Authorization", user);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
        client.receive("GET").whole().text()
    };
    let info = format!("/api/info?url={}", origin.url("/p"));
    for (user, own, queued) in [("ada", true, false), ("bob", false, true)] {
        let entries = read(user, "/api/entries");
        assert!(entries.contains("/all\""), "{entries}");
        assert_eq!(entries.contains("/p\""), own, "{user}: {entries}");
        assert_eq!(read(user, &info).contains("\"owner\":\"user:ada\""), own, "{user}");
        let page = read(user, &format!("/info/?{}", origin.url("/p")));
        assert_eq!(page.contains(">for you<"), own, "{user}: {page}");
        assert!(!page.contains("user:ada"), "{user}: {page}");
        for path in ["/api/queue", "/queue/", "/api/entries?what=outgoing"] {
            assert_eq!(read(user, path).contains("later"), queued, "{user} {path}");
        }
    }
    let other = read("bob", &format!("{info}&owner=user:ada"));
    assert!(other.contains("control password"), "{other}");
    let all = daemon.ok(&["ls", "--json"]);
    assert!(all.contains("/p\"") && all.contains("\"owner\":\"user:ada\""), "{all}");
    let url = origin.url("/p");
    assert_eq!(daemon.run(&["cat", &url]).status, 1, "this machine has no private response");
    assert_eq!(daemon.ok(&["cat", "--owner", "user:ada", &url]), "for ada");
    assert_eq!(daemon.ok(&["cat", "--owner", "user:bob", &origin.url("/all")]), "for all");
    assert_eq!(daemon.run(&["rm", &url]).status, 1);
    daemon.ok(&["rm", "--owner", "user:ada", &url]);
    assert_eq!(daemon.run(&["cat", "--owner", "user:ada", &url]).status, 1);
}

#[test]
fn form_contents_are_not_stored_with_the_response() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/form", Answer::html("thank you"));
    let body = "password=hunter2";
    let fields = format!("{AS_PERSON}Content-Length: {}\r\n", body.len());
    let mut client = daemon.client();
    client.send(request("POST", &origin.url("/form"), &fields) + body);
    assert_eq!(client.receive("POST").whole().text(), "thank you");
    daemon.settle();
    assert!(daemon.ok(&["ls"]).contains("/form?!POST:"));
    daemon.down();
    for file in crate::harness::files(daemon.spool()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{}", file.display());
    }
}

#[test]
#[ignore = "slow"]
fn only_a_fresh_personal_response_sets_its_cookie_again() {
    let (daemon, origin) = (daemon(), Origin::start());
    let answer = |control| {
        Answer::html("<p>page").field("Cache-Control", control).field("Set-Cookie", "id=1")
    };
    origin.say("/own", answer("max-age=600"));
    origin.say("/stale", answer("max-age=0, stale-while-revalidate=600"));
    origin.say("/public", answer("public, max-age=600"));
    for path in ["/own", "/stale", "/public"] {
        assert_eq!(
            get(&daemon, "ada", &origin.url(path), "").fields.get("Set-Cookie"),
            Some("id=1")
        );
        daemon.settle();
    }
    for (path, user, want) in [
        ("/own", "ada", Some("id=1")),
        ("/stale", "ada", None),
        ("/public", "ada", None),
        ("/public", "bob", None),
    ] {
        let page = get(&daemon, user, &origin.url(path), "");
        assert!(page.field("Cache-Status").contains("hit"), "{path} {}", page.shown());
        assert_eq!(page.fields.get("Set-Cookie"), want, "{path} {user}");
        daemon.settle();
    }
    daemon.ok(&["offline"]);
    for path in ["/own", "/stale", "/public"] {
        let page = get(&daemon, "ada", &origin.url(path), "");
        assert_eq!((page.status, page.fields.get("Set-Cookie")), (200, None), "{path}");
    }
}

#[test]
fn a_range_fetched_with_a_cookie_is_personal() {
    let (daemon, origin) = (daemon(), Origin::start());
    origin.on("/film", |request| {
        let who = who(&request.seen.fields);
        let part = Answer::new(206, "video/mp4", format!("for {who}"))
            .field("Content-Range", "bytes 0-6/1000")
            .field("ETag", &format!("\"{who}\""))
            .field("Cache-Control", "max-age=600");
        request.answer(&part)
    });
    let url = origin.url("/film");
    let fields = "Cookie: id=1\r\nRange: bytes=0-6\r\n";
    for user in USERS {
        assert_eq!(get(&daemon, user, &url, fields).text(), format!("for {user}"));
        daemon.settle();
    }
    daemon.ok(&["offline"]);
    for user in USERS {
        let part = get(&daemon, user, &url, fields);
        assert_eq!((part.status, part.text()), (206, format!("for {user}")));
    }
}
