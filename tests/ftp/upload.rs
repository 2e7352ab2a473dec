//! PUT to FTP servers.

use crate::harness::Daemon;
use crate::harness::client::request;
use crate::harness::ftp::FtpServer;

#[track_caller]
fn put(daemon: &Daemon, url: &str, body: &str) -> u16 {
    let mut client = daemon.client();
    client.send(request("PUT", url, &format!("Content-Length: {}\r\n", body.len())));
    client.send(body);
    client.receive("PUT").whole().status
}

#[test]
fn a_file_is_sent_only_where_the_configuration_allows_it() {
    let server = FtpServer::start();
    server.file("in/old", "before");
    let daemon = Daemon::start();
    assert_eq!(put(&daemon, &server.url("/in/new"), "text"), 405);
    assert_eq!(server.count("STOR"), 0);
    let config = "[[ftp-options.for]]\nurl = \"ftp://*/in/*\"\nupload = true\n";
    let daemon = Daemon::configured(config);
    assert_eq!(daemon.get(&server.url("/in/old")).text(), "before");
    assert_eq!(put(&daemon, &server.url("/in/new"), "text"), 201);
    assert_eq!(put(&daemon, &server.url("/in/old"), "after"), 204);
    assert_eq!(put(&daemon, &server.url("/out"), "text"), 405);
    assert_eq!(server.with(|state| state.files["in/new"].clone()), b"text");
    // The stored copy is not served in place of the new file.
    assert_eq!(daemon.get(&server.url("/in/old")).text(), "after");
    server.reply("STOR", "553 not here\r\n");
    assert_eq!(put(&daemon, &server.url("/in/new"), "text"), 403);
}
