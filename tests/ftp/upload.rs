//! PUT to FTP servers.

use crate::harness::Daemon;
use crate::harness::client::request;
use crate::harness::form::form;
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

#[test]
fn a_file_sent_offline_is_queued_after_confirmation_and_sent_once() {
    let server = FtpServer::start();
    let config = "[[ftp-options.for]]\nurl = \"ftp://*/in/*\"\nupload = true\n";
    let daemon = Daemon::configured(config);
    daemon.ok(&["offline"]);
    // Nobody could confirm the request of a program.
    assert_eq!(put(&daemon, &server.url("/in/new"), "text"), 504);
    let mut client = daemon.client();
    let fields = "Accept: text/html\r\nContent-Length: 4\r\n";
    client.send(request("PUT", &server.url("/in/new"), fields) + "text");
    let page = client.receive("PUT").whole();
    assert_eq!((page.status, daemon.queue().len()), (504, 0), "{}", page.text());
    assert!(daemon.submit(&form(&page.text(), "/refresh-request")).status < 400);
    // The command line is the person's own.
    let file = daemon.home().join("more");
    std::fs::write(&file, "more text").unwrap();
    daemon.run(&["get", "--upload", file.to_str().unwrap(), &server.url("/in/more")]);
    // The configuration sends nothing there.
    daemon.run(&["get", "--upload", file.to_str().unwrap(), &server.url("/out")]);
    assert_eq!((daemon.queue().len(), server.count("STOR")), (3, 0));

    daemon.ok(&["online"]);
    daemon.run(&["fetch", "--wait"]);
    let files = server.with(|state| state.files.clone());
    assert_eq!((&*files["in/new"], &*files["in/more"]), (&b"text"[..], &b"more text"[..]));
    assert_eq!((server.count("STOR"), daemon.queue().len()), (2, 0));
    assert!(!files.contains_key("out"));
}
