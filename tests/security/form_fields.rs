//! Fields of a form that are not part of its key: a response that may depend on them is for its
//! sender only, even if it says `public`.

use super::owners::{daemon, login};
use crate::harness::client::authority;
use crate::harness::{Answer, Daemon, Origin, Response};

const USUAL: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// Sends a form as `user`, always with the same body.
fn post(daemon: &Daemon, user: &str, url: &str, fields: &str) -> Response {
    let (mut client, login) = (daemon.client(), login("Proxy-Authorization", user));
    client.send(format!(
        "POST {url} HTTP/1.1\r\nHost: {}\r\n{login}{fields}Content-Length: 3\r\n\r\nq=1",
        authority(url)
    ));
    let response = client.receive("POST").whole();
    daemon.settle();
    response
}

#[test]
#[ignore = "slow"]
fn request_fields_of_one_client_do_not_affect_others() {
    for (fields, is_shared) in [
        (USUAL.to_owned(), true),
        (format!("{USUAL}X-Forwarded-Host: evil.test\r\n"), false),
        (format!("{USUAL}X-HTTP-Method-Override: GET\r\n"), false),
        ("Content-Type: evil/type\r\n".to_owned(), false),
        ("Content-Type: text/plain\r\n".to_owned(), false),
    ] {
        let (daemon, origin) = (daemon(), Origin::start());
        origin.on("/search", |exchange| {
            exchange.body()?;
            let head = exchange.seen.head.clone();
            exchange.answer(&Answer::html(head).field("Cache-Control", "public, max-age=600"))
        });
        let url = origin.url("/search");
        let first = post(&daemon, "ada", &url, &fields);
        assert_eq!(first.status, 200, "{fields}");
        daemon.ok(&["offline"]);
        assert_eq!(post(&daemon, "ada", &url, &fields).text(), first.text(), "{fields}");
        let others = post(&daemon, "bob", &url, USUAL);
        assert_eq!(others.status == 200, is_shared, "{fields} {}", others.text());
    }
}
