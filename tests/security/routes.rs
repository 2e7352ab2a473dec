//! Every route of the daemon's own site, requested with one of its requirements missing.
//!
//! The routes are in `routes.txt`, which a test of the daemon compares with its own table.

use crate::harness::Daemon;
use crate::harness::client::Response;
use crate::security::logins::{CONTROL, control, login};

/// One route of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// GET, which also stands for HEAD, or POST.
    pub(crate) method: &'static str,
    /// The requirements of a request to this route.
    pub(crate) guard: &'static str,
    /// The path of the route, or an example if it has a variable part.
    pub(crate) path: &'static str,
}

/// The routes of the table.
pub(crate) fn routes() -> Vec<Route> {
    let lines = include_str!("routes.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("method, guard and path");
        Route { method: word(), guard: word(), path: word() }
    };
    lines.map(row).collect()
}

/// Sends a form, or an API call, with these fields and this token. Returns the response without its
/// body.
fn send(daemon: &Daemon, route: Route, method: &str, fields: &str, token: &str) -> Response {
    let (content_type, body, field) = if route.path.starts_with("/api/") {
        ("application/json", "{}".to_owned(), format!("X-Wwwoffle-Token: {token}\r\n"))
    } else {
        ("application/x-www-form-urlencoded", format!("token={token}"), String::new())
    };
    let field = if token.is_empty() { "" } else { &field };
    let mut client = daemon.client();
    client.send(format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: {content_type}\r\n{field}{fields}\
         Content-Length: {}\r\n\r\n{body}",
        route.path,
        daemon.addr(),
        body.len()
    ));
    // The head is enough: the body of `/api/events` does not end.
    client.receive("HEAD")
}

/// The token in the forms of a page.
fn token(daemon: &Daemon) -> String {
    let page = daemon.client().get(&daemon.own("/control/")).text();
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    rest.split('"').next().unwrap().to_owned()
}

/// The mode and the configuration, which a refused request must not change.
fn state(daemon: &Daemon) -> String {
    let status = daemon.api("GET", "/api/status", "").text();
    let mode = status.split("\"mode\":").nth(1).unwrap_or_default();
    let mode = mode.split(',').next().unwrap_or_default().to_owned();
    mode + &std::fs::read_to_string(daemon.config_file()).unwrap_or_default()
}

#[test]
fn a_change_needs_the_token_of_our_own_page() {
    let daemon = Daemon::configured("");
    let (before, token) = (state(&daemon), token(&daemon));
    let wrong = "0".repeat(token.len());
    let ours = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", daemon.addr());
    for route in routes().into_iter().filter(|route| route.method == "POST") {
        for (what, fields, token) in [
            ("no token", ours.as_str(), ""),
            ("a wrong token", &ours, &wrong),
            ("another site", "Sec-Fetch-Site: cross-site\r\n", &token),
            ("another port", "Sec-Fetch-Site: same-site\r\n", &token),
            ("another origin", "Origin: http://evil.example\r\n", &token),
            ("a sandbox", "Origin: null\r\n", &token),
        ] {
            let response = send(&daemon, route, "POST", fields, token);
            assert_eq!(response.status, 403, "{}: {what}", route.path);
        }
    }
    assert_eq!(state(&daemon), before);
}

#[test]
#[ignore = "slow"]
fn unlisted_methods_are_refused() {
    let daemon = Daemon::configured("");
    let (before, token) = (state(&daemon), token(&daemon));
    let all = routes();
    for route in &all {
        let has =
            |method: &str| all.iter().any(|one| one.path == route.path && one.method == method);
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let is_listed = has(if method == "HEAD" { "GET" } else { method });
            if !is_listed {
                let response = send(&daemon, *route, method, "", &token);
                let allowed = match (has("GET"), has("POST")) {
                    (true, true) => "GET, HEAD, POST",
                    (true, false) => "GET, HEAD",
                    _ => "POST",
                };
                let found = (response.status, response.field("Allow"));
                assert_eq!(found, (405, allowed), "{method} {}", route.path);
            }
        }
    }
    assert_eq!(state(&daemon), before, "by a link that has the token of a form");
}

#[test]
fn loading_a_form_changes_nothing() {
    let daemon = Daemon::configured("");
    let (before, all) = (state(&daemon), routes());
    for route in all.iter().filter(|route| route.method == "POST") {
        if all.iter().any(|one| one.path == route.path && one.method == "GET") {
            let status = send(&daemon, *route, "GET", "", "").status;
            assert!(matches!(status, 200 | 303 | 400 | 403), "{}: {status}", route.path);
        }
    }
    assert_eq!(state(&daemon), before);
}

#[test]
#[ignore = "slow"]
fn a_reader_cannot_change_anything_without_the_control_password() {
    let daemon = Daemon::configured(&control());
    let page = daemon
        .client()
        .get_with(&daemon.own("/control/"), &login("Authorization", "anyone", CONTROL));
    let page = page.text();
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    let token = rest.split('"').next().unwrap();
    for route in routes() {
        let status = send(&daemon, route, route.method, "", token).status;
        match (route.method, route.guard) {
            ("POST", _) | (_, "owner") => assert_eq!(status, 401, "{}", route.path),
            _ => assert_ne!(status, 401, "{}", route.path),
        }
    }
}
