//! Schemes that log in a connection instead of a request (NTLM, Negotiate): no other person's
//! request uses that connection, and its responses are for the person who logged in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex;

use super::owners::{get, of, users};
use crate::harness::client::request;
use crate::harness::{Answer, Daemon, Origin};

/// A daemon with two users and one connection to each origin, so that the steps of a login follow
/// each other on it.
#[track_caller]
fn daemon() -> Daemon {
    Daemon::configured(&format!("[options]\nconnections-per-host = 1\n{}", users()))
}

/// An origin that logs a connection in by the token `me-NAME`, and then treats each request on this
/// connection as one of that person. Its responses have the `Cache-Control` `control`.
fn origin(scheme: &'static str, control: &'static str) -> Origin {
    let (origin, known) = (Origin::start(), Mutex::new(HashMap::<SocketAddr, String>::new()));
    origin.on("/pay", move |exchange| {
        let connection = exchange.stream().peer_addr()?;
        let mut known = known.lock().unwrap();
        let login = exchange.seen.fields.get("Authorization").unwrap_or_default();
        if let Some((_, name)) = login.split_once(" me-") {
            known.insert(connection, name.to_owned());
        }
        let answer = match known.get(&connection) {
            Some(name) => Answer::html(format!("pay of {name}")),
            None => Answer::new(401, "text/html", "login").field("WWW-Authenticate", scheme),
        };
        exchange.answer(&answer.field("Cache-Control", control))
    });
    origin
}

#[test]
#[ignore = "slow"]
fn an_authenticated_connection_is_not_shared() {
    for (scheme, control) in
        [("NTLM", "max-age=600"), ("Negotiate", "public, max-age=600"), ("ntlm", "no-store")]
    {
        let (daemon, origin) = (daemon(), origin(scheme, control));
        let url = origin.url("/pay");
        let status = |user, fields: &str| get(&daemon, user, &url, fields).status;
        assert_eq!(status("ada", ""), 401);
        assert_eq!(status("ada", &format!("Authorization: {scheme} step\r\n")), 401);
        let login = format!("Authorization: {scheme} me-ada\r\n");
        assert_eq!(get(&daemon, "ada", &url, &login).text(), "pay of ada");
        assert_eq!(origin.connections(), 1, "a login has several steps on one connection");
        assert_eq!(status("bob", ""), 401, "{scheme}");
        daemon.settle();
        daemon.ok(&["offline"]);
        let bobs = get(&daemon, "bob", &url, "");
        assert!(!bobs.text().contains("pay of"), "{scheme}: {}", bobs.text());
    }
}

#[test]
fn responses_over_an_authenticated_connection_are_personal() {
    let (daemon, origin) = (daemon(), origin("NTLM", "public, max-age=600"));
    let url = origin.url("/pay");
    let login = "Authorization: NTLM me-ada\r\n";
    assert_eq!(get(&daemon, "ada", &url, login).text(), "pay of ada");
    assert_eq!(get(&daemon, "ada", &url, "").text(), "pay of ada", "without a login");
    assert_eq!(origin.connections(), 1);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(get(&daemon, "ada", &url, "").text(), "pay of ada");
    assert_eq!(get(&daemon, "bob", &url, "").status, 504);
}

/// A `304` or the response to a HEAD says that one person may go on using a copy. For others the
/// origin may say otherwise.
#[test]
#[ignore = "slow"]
fn a_confirmation_to_a_login_does_not_refresh_the_copy_of_everyone() {
    let (daemon, origin) = (daemon(), origin("NTLM", "no-store"));
    origin.on("/page", |exchange| {
        let is_head = exchange.seen.method == "HEAD";
        let (answer, control) = if exchange.seen.fields.has("If-None-Match") {
            (Answer::new(304, "", ""), "max-age=600")
        } else {
            let control = if is_head { "max-age=600" } else { "public, max-age=0" };
            (Answer::html("page"), control)
        };
        exchange.answer(&answer.field("ETag", "\"1\"").field("Cache-Control", control))
    });
    let url = origin.url("/page");
    let lifetime = |daemon: &Daemon| {
        daemon.ok(&["offline"]);
        let page = get(daemon, "bob", &url, "");
        daemon.ok(&["online"]);
        assert_eq!(page.text(), "page");
        page.field("Cache-Control").to_owned()
    };
    assert_eq!(get(&daemon, "bob", &url, "").text(), "page");
    daemon.settle();
    assert_eq!(lifetime(&daemon), "public, max-age=0");
    for (method, login) in [
        ("GET", "Basic eA=="),
        ("GET", "Bearer eA=="),
        ("HEAD", "Basic eA=="),
        ("HEAD", "Bearer eA=="),
    ] {
        let mut client = daemon.client();
        client.send(request(method, &url, &of("ada", &format!("Authorization: {login}\r\n"))));
        assert_eq!(client.receive(method).status, 200);
        daemon.settle();
        assert_eq!(lifetime(&daemon), "public, max-age=0", "{method}, {login}");
    }
    let login = "Authorization: NTLM me-ada\r\n";
    assert_eq!(get(&daemon, "ada", &origin.url("/pay"), login).text(), "pay of ada");
    assert_eq!(get(&daemon, "ada", &url, "").text(), "page");
    daemon.settle();
    assert_eq!(lifetime(&daemon), "public, max-age=0", "a login of the connection");
    let seen = origin.asked("/page");
    assert!(seen.last().unwrap().fields.has("If-None-Match"), "it was revalidated");
    // Each switch to offline has closed a connection.
    assert_eq!((seen.len(), origin.connections()), (6, 6), "no further one after the login");
    // A request without a login refreshes the copy.
    assert_eq!(get(&daemon, "bob", &url, "").text(), "page");
    daemon.settle();
    assert_eq!(lifetime(&daemon), "max-age=600");
}
