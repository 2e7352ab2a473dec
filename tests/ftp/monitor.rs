//! Files of FTP servers that are monitored.

use crate::fetch::monitor::{age, monitored};
use crate::harness::ftp::FtpServer;
use crate::harness::{Daemon, eventually};

/// Starts the daemon as if the last schedule was long ago, and waits until the file was examined.
fn run_schedule(daemon: &mut Daemon, server: &FtpServer) {
    let examined = server.count("MDTM");
    daemon.down();
    age(daemon);
    daemon.up();
    daemon.ok(&["online"]);
    eventually("the file is examined", || server.count("MDTM") > examined);
    daemon.settle();
    daemon.ok(&["offline"]);
}

#[test]
#[ignore = "slow"]
fn a_monitored_file_is_fetched_on_schedule_and_its_changes_are_reported() {
    let (mut daemon, server) = (Daemon::start(), FtpServer::start());
    let url = server.url("/pub/news.txt");
    server.file("pub/news.txt", "one\nold\nthree\n");
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    let said = daemon.ok(&["monitor", "add", "--daily", "--versions", "3", &url]);
    assert!(said.contains(&url), "{said}");
    // The file is as before, so it is not transferred.
    run_schedule(&mut daemon, &server);
    assert_eq!(server.count("RETR"), 1);
    assert!(!daemon.page("/monitor/feed").text().contains("<entry>"));
    // It has another content of the same length, and so another time.
    server.file("pub/news.txt", "one\nnew\nthree\n");
    server.with(|state| state.modified = "20250102030405".to_owned());
    let last = monitored(&daemon)[0]["last"].clone();
    run_schedule(&mut daemon, &server);
    assert_eq!(server.count("RETR"), 2);
    assert_ne!(monitored(&daemon)[0]["last"], last);
    assert_eq!(daemon.get(&url).text(), "one\nnew\nthree\n");
    // The older version is listed once the batch with the new one is written.
    let compare = || daemon.run(&["monitor", "diff", "--json", &url]);
    eventually("the versions are compared", || compare().status == 0);
    let told = compare().json();
    assert_eq!(told["versions"].as_array().unwrap().len(), 2, "{told:#}");
    assert_eq!(told["diff"], "  one\n- old\n+ new\n  three\n");
    let feed = daemon.page("/monitor/feed").text();
    assert_eq!(feed.matches("<entry>").count(), 1, "{feed}");
    // Browsers do not open FTP URLs, so the page leads to the gateway.
    let page = daemon.page(&format!("/monitor/diff/?{url}")).text();
    let link = format!("/ftp/{}/pub/news.txt\"", server.addr);
    assert!(page.contains(&link), "{page}");
    // The server is busy at the next time: the copies stay, and the request waits.
    server.reply("RETR", "450 busy\r\n");
    server.with(|state| state.modified = "20250202030405".to_owned());
    run_schedule(&mut daemon, &server);
    assert_eq!(daemon.get(&url).text(), "one\nnew\nthree\n");
    assert_eq!(daemon.queued(), [url]);
}

#[test]
fn a_monitored_directory_is_followed() {
    let (mut daemon, server) = (Daemon::start(), FtpServer::start());
    daemon.ok(&["offline"]);
    server.file("pub/new/file", "a new file");
    server.file("other/file", "not wanted");
    let url = server.url("/pub/");
    daemon.ok(&["monitor", "add", "--depth", "2", "--within", "directory", &url]);
    daemon.down();
    age(&daemon);
    daemon.up();
    daemon.ok(&["online"]);
    eventually("the file is fetched", || server.count("RETR") == 1);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&server.url("/pub/new/file")).text(), "a new file");
    assert_eq!(daemon.get(&server.url("/other/file")).status, 504);
}
