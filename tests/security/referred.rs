//! Addresses that act on a GET. If another site leads a browser there, the user gets a form to
//! confirm.
//!
//! Browsers send the `Sec-Fetch-*` fields only to trustworthy addresses: addresses of this machine,
//! and secure ones. Requests to a plain HTTP address of a proxy in the network lack these fields.
//! Then only the `Referer` shows which site the request came from.

use serde_json::Value;

use crate::harness::client::Response;
use crate::harness::{Daemon, Origin};

/// The option with the names of the proxy. `ship.test` is its name in the network.
const NAMED: &str =
    "[local-host]\nnames = [\"localhost\", \"127.0.0.1\", \"::1\", \"ship.test\"]\n";

/// Fields of a request to a proxy in the network (`OURS` stands for its address), and whether the
/// request is carried out.
const AT_SHIP: [(&str, bool); 11] = [
    ("", false),
    ("Referer: http://site.test/page\r\n", false),
    ("Referer: https://site.test/OURS/\r\n", false),
    // Another port and another host that start with our address.
    ("Referer: OURS1/\r\n", false),
    ("Referer: OURS.site.test/\r\n", false),
    ("Referer: OURS@site.test/\r\n", false),
    ("Referer: OURS\r\n", true),
    ("Referer: OURS/index/?a=b\r\n", true),
    // If the browser sends the site, the site decides.
    (
        "Referer: OURS/index/\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
        false,
    ),
    ("Referer: http://site.test/\r\nSec-Fetch-Site: same-origin\r\n", true),
    ("Sec-Fetch-Site: none\r\n", true),
];

/// The same for a proxy on this machine. Every current browser sends `Sec-Fetch-Site` to it.
const AT_HOME: [(&str, bool); 4] = [
    ("", true),
    ("Referer: OURS/index/\r\n", true),
    (
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
        false,
    ),
    (
        "Referer: OURS/index/\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
        false,
    ),
];

/// Each host name of the proxy, with further fields and whether the request is carried out.
fn rows(daemon: &Daemon) -> Vec<(String, String, bool)> {
    let port = daemon.addr().port();
    let at = |name: &str, rows: &[(&str, bool)]| -> Vec<_> {
        let host = format!("{name}:{port}");
        let fields = |text: &str| text.replace("OURS", &format!("http://{host}"));
        rows.iter().map(|(text, done)| (host.clone(), fields(text), *done)).collect()
    };
    [at("ship.test", &AT_SHIP), at("127.0.0.1", &AT_HOME)].concat()
}

fn ask(daemon: &Daemon, host: &str, path: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"));
    client.receive("GET").whole()
}

fn api(daemon: &Daemon, path: &str) -> Value {
    serde_json::from_slice(&daemon.api("GET", path, "").body).unwrap()
}

#[test]
fn other_sites_cannot_start_a_refresh() {
    let (daemon, origin) = (Daemon::configured(NAMED), Origin::start());
    daemon.ok(&["offline"]);
    for (number, (host, fields, is_done)) in rows(&daemon).iter().enumerate() {
        let url = origin.url(&format!("/{number}"));
        let got = ask(&daemon, host, &format!("/refresh/?{url}"), fields);
        if *is_done {
            assert_eq!((got.status, got.field("Location")), (303, url.as_str()), "{host} {fields}");
        } else {
            assert_eq!(got.status, 200, "{host} {fields}");
            assert!(got.shown().contains(&url), "the form is for it: {host} {fields}");
        }
        assert_eq!(daemon.queued().contains(&url), *is_done, "{host} {fields}");
    }
}

#[test]
fn other_sites_cannot_start_a_recursive_fetch() {
    let (daemon, origin) = (Daemon::configured(NAMED), Origin::start());
    daemon.ok(&["offline"]);
    for (number, (host, fields, is_done)) in rows(&daemon).iter().enumerate() {
        let url = origin.url(&format!("/{number}"));
        let path = format!("/refresh-recurse/?url={url};depth=1;method=host");
        let got = ask(&daemon, host, &path, fields);
        if *is_done {
            let to = (got.status, got.field("Location"));
            assert_eq!(to, (303, "/fetches/"), "{host} {fields}: {}", got.shown());
        } else {
            assert_eq!(got.status, 200, "{host} {fields}");
            assert!(got.shown().contains(&url), "the form is for it: {host} {fields}");
        }
        let runs = api(&daemon, "/api/runs");
        let begun = runs["runs"].as_array().unwrap().iter().any(|run| run["start"] == url);
        assert_eq!(begun, *is_done, "{host} {fields}");
    }
}

#[test]
fn other_sites_cannot_start_a_purge_plan() {
    let daemon = Daemon::configured(NAMED);
    let has_plan = || api(&daemon, "/api/purge")["plan"] != Value::Null;
    let (done, not): (Vec<_>, Vec<_>) = rows(&daemon).into_iter().partition(|(.., done)| *done);
    for (host, fields, _) in not {
        let got = ask(&daemon, &host, "/purge/", &fields);
        assert!(got.shown().contains("See what a purge would remove"), "{host} {fields}");
        assert!(!has_plan(), "{host} {fields}");
    }
    // A plan is reused for a while, so the first of these requests makes it. That request uses the
    // name in the network.
    let (host, fields, _) = &done[0];
    assert_eq!(ask(&daemon, host, "/purge/", fields).status, 200);
    assert!(has_plan(), "{host} {fields}");
}
