//! Logins at FTP servers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::harness::ftp::FtpServer;
use crate::harness::{Daemon, Response};

fn server() -> FtpServer {
    let server = FtpServer::start();
    server.file("x", "secret text");
    server.with(|state| state.login = Some(("ada".to_owned(), "p:@ ss".to_owned())));
    server
}

/// Sends a URL that has a login. `Host` must not have it.
#[track_caller]
fn get(daemon: &Daemon, url: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!("GET {url} HTTP/1.1\r\nHost: h.example\r\n\r\n"));
    client.receive("GET").whole()
}

#[test]
fn the_login_comes_from_the_url_the_request_or_the_configuration() {
    let (mut daemon, server) = (Daemon::start(), server());
    let with = |login: &str| format!("ftp://{login}@{}/x", server.addr);
    let refused = daemon.get(&server.url("/x"));
    assert_eq!(refused.status, 401);
    assert!(refused.field("WWW-Authenticate").starts_with("Basic realm=\"FTP "), "{refused:?}");
    assert_eq!(get(&daemon, &with("ada:p%3A%40%20ss")).text(), "secret text");
    assert_eq!(get(&daemon, &with("ada:wrong")).status, 401);
    assert_eq!(get(&daemon, &with("ada%0d%0aDELE:x")).status, 400);
    let login = BASE64_STANDARD.encode("ada:p:@ ss");
    let fields = format!("Authorization: Basic {login}\r\n");
    assert_eq!(daemon.client().get_with(&server.url("/x"), &fields).text(), "secret text");
    // What a login may read is not for others.
    daemon.ok(&["offline"]);
    assert_ne!(daemon.get(&server.url("/x")).status, 200);
    assert_eq!(get(&daemon, &with("ada:p%3A%40%20ss")).text(), "secret text");
    daemon.down();
    assert!(!daemon.whole_log().contains("p:@ ss") && server.count("DELE") == 0);

    let config = "[[ftp-options.for]]\nurl = \"ftp://127.0.0.1/*\"\nauth-username = \"ada\"\n\
                  auth-password = \"p:@ ss\"\n";
    let configured = Daemon::configured(config);
    assert_eq!(configured.get(&server.url("/x")).text(), "secret text");
}

#[test]
fn an_anonymous_login_has_the_configured_name() {
    let server = FtpServer::start();
    server.file("x", "x");
    let config = "[ftp-options]\nanon-username = \"ftp\"\nanon-password = \"me@example.org\"\n";
    Daemon::configured(config).get(&server.url("/x"));
    assert_eq!((server.count("USER ftp"), server.count("PASS me@example.org")), (1, 1));
    Daemon::start().get(&server.url("/x"));
    assert_eq!((server.count("USER anonymous"), server.count("PASS wwwoffle@")), (1, 1));
}

#[test]
fn a_required_encryption_is_not_given_up() {
    let server = FtpServer::start();
    server.file("x", "x");
    server.reply("AUTH", "502 unknown\r\n");
    let required = Daemon::configured("[ftp-options]\ntls = \"required\"\n");
    assert_eq!(required.get(&server.url("/x")).status, 502);
    assert_eq!(server.count("USER"), 0);
    // The server names TLS and then fails: a password is not sent, an anonymous login goes on.
    server.with(|state| {
        state.features.push("AUTH TLS".to_owned());
        state.replies.clear();
    });
    let daemon = Daemon::start();
    assert_eq!(get(&daemon, &format!("ftp://ada:s@{}/x", server.addr)).status, 502);
    assert_eq!(server.count("USER"), 0);
    assert_eq!(daemon.get(&server.url("/x")).status, 200);
}
