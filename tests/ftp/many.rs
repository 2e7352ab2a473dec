//! A directory with many files: listed, fetched, paged and read with the server stopped.

use std::collections::BTreeSet;
use std::time::Duration;

use super::servers::Pyftpdlib;
use crate::harness::{Daemon, daemon, eventually, heavy};
use crate::index::paging::{linked, urls};

/// The number of files in the directory.
const FILES: usize = 10_000;

/// The number of pages that are fetched: the listing and files. To fetch all files takes minutes.
const FETCHED: usize = 1_000;

/// The limit for fetching them, on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// The bound of the growth of the daemon's memory, in KiB.
const MEMORY: u64 = 100_000;

#[test]
#[ignore = "slow, needs pyftpdlib"]
fn ten_thousand_files_in_one_directory_are_listed_fetched_and_read_offline() {
    let _alone = heavy();
    let server = Pyftpdlib::start();
    for number in 0..FILES {
        server.file(&format!("many/{number} é.txt"), number.to_string());
    }
    let daemon = Daemon::start();
    let (host, url, before) = (server.host(), server.url("/many/"), daemon.peak_kib());
    let list = daemon.get(&url).text();
    assert_eq!(list.matches("<tr>").count(), FILES + 1);
    let wanted = FETCHED.to_string();
    let get = ["get", "-r", "1", "--within", "directory", "--pages", &wanted, &url];
    let ran = daemon::output(daemon.command(&get), None, LIMIT);
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{ran:?}");
    // The other files are left out for no other reason.
    let rest = format!("left out: {}, for the page limit", FILES + 1 - FETCHED);
    assert!(out.contains(&rest) && !out.contains("without end"), "{out}");
    daemon.settle();
    daemon.ok(&["offline"]);
    drop(server);

    assert_eq!(daemon.get(&url).text(), list);
    let in_list = || daemon.run(&["ls", "--json", &format!("ftp/{host}")]).lines();
    let kept: BTreeSet<String> =
        in_list().iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kept.len(), FETCHED);
    for file in kept.iter().filter(|file| **file != url) {
        let number = file[url.len()..].strip_suffix("%20%C3%A9.txt").unwrap();
        assert_eq!(daemon.get(file).text(), number, "{file}");
    }
    // Each of them is on one page of the list of the host.
    let index = format!("/index/ftp/{host}?sort=name");
    eventually("the index has them", || {
        daemon.page(&index).text().contains(&format!("{FETCHED} entries"))
    });
    let (mut at, mut listed) = (index, Vec::new());
    loop {
        let text = daemon.page(&at).text();
        assert!(text.len() < 200_000, "{} bytes", text.len());
        listed.extend(urls(&text));
        let Some(next) = linked(&text, "next") else { break };
        at = next;
    }
    let gateway = kept.iter().map(|url| url.replacen("ftp://", "/ftp/", 1));
    assert_eq!(listed.len(), FETCHED);
    assert_eq!(BTreeSet::from_iter(listed), gateway.collect());
    let grown = daemon.peak_kib() - before;
    assert!(grown < MEMORY, "{grown} KiB");
}
