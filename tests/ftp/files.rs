//! Files and directories of FTP servers: fetched, stored, served offline, followed and resumed.

use super::read;
use crate::harness::Daemon;
use crate::harness::ftp::{FtpServer, MODIFIED};

#[test]
fn a_file_is_stored_and_read_offline() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("pub/note.txt", "hello");
    let url = server.url("/pub/note.txt");
    let seen = daemon.get(&url);
    assert_eq!((seen.status, seen.text().as_str()), (200, "hello"));
    assert_eq!(seen.field("Content-Type"), "text/plain; charset=utf-8");
    assert_eq!(seen.field("Last-Modified"), MODIFIED.1);
    assert_eq!(seen.field("Content-Length"), "5");
    assert!(seen.field("ETag").starts_with('"'), "{:?}", seen.fields);
    // A reload asks for the time and the length, and not for the bytes.
    let again = daemon.client().get_with(&url, "Cache-Control: no-cache\r\n").whole();
    assert_eq!((again.status, again.text().as_str()), (200, "hello"));
    assert_eq!((server.count("MDTM"), server.count("RETR")), (2, 1));
    daemon.ok(&["offline"]);
    let connections = server.with(|state| state.connections);
    assert_eq!(daemon.get(&url).text(), "hello");
    assert_eq!(daemon.get(&server.url("/pub/other")).status, 504);
    assert_eq!(server.with(|state| state.connections), connections);
    assert_eq!(daemon.queued(), [server.url("/pub/other")]);
    server.file("pub/other", "queued");
    daemon.ok(&["online"]);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&server.url("/pub/other")).text(), "queued");
    assert!(daemon.ok(&["ls", "ftp"]).contains(&url));
}

#[test]
fn a_head_request_transfers_nothing() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("a/b", "12345");
    for (path, status) in [("/a/b", 200), ("/a/", 200), ("/a/x", 404)] {
        let mut client = daemon.client();
        client.send(crate::harness::client::request("HEAD", &server.url(path), ""));
        let seen = client.receive("HEAD").whole();
        assert_eq!(seen.status, status, "{path}");
        assert!(path != "/a/b" || seen.field("Content-Length") == "5", "{:?}", seen.fields);
    }
    assert_eq!(server.count("RETR") + server.count("MLSD"), 0);
}

#[test]
fn a_directory_is_a_page_with_relative_links() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    for name in ["a b.txt", "<i>&\"x", "c:d", "déjà", "q?#%41", "sub/deep", "\u{1b}[2J"] {
        server.file(&format!("pub/{name}"), "x");
    }
    for features in [vec!["EPSV", "MLST type*;"], vec![]] {
        server.with(|state| state.features = features.iter().map(|&it| it.to_owned()).collect());
        let page = daemon.client().get_with(&server.url("/pub/"), "Cache-Control: no-cache\r\n");
        let page = page.whole();
        assert_eq!((page.status, page.field("Content-Type")), (200, "text/html; charset=utf-8"));
        for link in [
            "href=\"../\">../<",
            "href=\"a%20b.txt\">a b.txt<",
            "href=\"%3Ci%3E%26%22x\">&lt;i&gt;&amp;&quot;x<",
            "href=\"c%3Ad\">c:d<",
            "href=\"d%C3%A9j%C3%A0\">déjà<",
            "href=\"q%3F%23%2541\">q?#%41<",
            "href=\"sub/\">sub/<",
            "href=\"%1B%5B2J\">⟨U+001B⟩[2J<",
            "2024-01-02",
        ] {
            assert!(page.text().contains(link), "{features:?}: {link}: {}", page.text());
        }
        assert!(!page.text().contains('\u{1b}'));
    }
    // Each link leads to its file.
    for path in
        ["/pub/a%20b.txt", "/pub/%3Ci%3E%26%22x", "/pub/q%3F%23%2541", "/pub/d%C3%A9j%C3%A0"]
    {
        assert_eq!(daemon.get(&server.url(path)).text(), "x", "{path}");
    }
    let top = daemon.get(&server.url("/")).text();
    assert!(top.contains("href=\"pub/\"") && !top.contains("../"), "{top}");
}

#[test]
fn a_directory_without_a_slash_is_redirected() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("pub/sub/x", "x");
    let seen = daemon.get(&server.url("/pub/sub"));
    assert_eq!((seen.status, seen.field("Location")), (301, "/pub/sub/"));
    let missing = daemon.get(&server.url("/pub/none"));
    assert_eq!((missing.status, missing.text().as_str()), (404, "550 no such file\n"));
}

#[test]
fn a_recursive_fetch_follows_a_tree() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    for name in ["t/one", "t/d/two", "t/d/e/three", "outside"] {
        server.file(name, name);
    }
    daemon.ok(&["get", "-r", "5", "--within", "directory", &server.url("/t/")]);
    daemon.ok(&["offline"]);
    for (path, status) in [("/t/one", 200), ("/t/d/e/three", 200), ("/outside", 504)] {
        assert_eq!(daemon.get(&server.url(path)).status, status, "{path}");
    }
    assert_eq!(server.count("SIZE robots.txt") + server.count("SIZE favicon.ico"), 0);
}

#[test]
fn an_interrupted_download_resumes_where_it_broke_off() {
    let daemon = Daemon::configured("[fetch-options]\nresume-delay = \"1ms\"\n");
    let server = FtpServer::start();
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
    server.file("big.bin", content.clone());
    server.with(|state| state.cut_after = vec![500_000]);
    let seen = daemon.get(&server.url("/big.bin"));
    assert!(seen.status == 200 && seen.body == content);
    assert_eq!((server.count("REST"), server.count("RETR")), (1, 2));
    daemon.ok(&["offline"]);
    assert!(daemon.get(&server.url("/big.bin")).body == content);
}

#[test]
fn a_range_is_transferred_alone() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("f", "0123456789");
    for (range, status, body, place) in [
        ("bytes=3-5", 206, "345", "bytes 3-5/10"),
        ("bytes=-2", 206, "89", "bytes 8-9/10"),
        ("bytes=12-", 416, "", "bytes */10"),
    ] {
        let seen = daemon.client().get_with(&server.url("/f"), &format!("Range: {range}\r\n"));
        let seen = seen.whole();
        assert_eq!((seen.status, seen.text().as_str()), (status, body), "{range}");
        assert_eq!(seen.field("Content-Range"), place, "{range}");
    }
    // A server without REST sends the whole file.
    server.reply("REST", "502 what?\r\n");
    let seen = daemon.client().get_with(&server.url("/f"), "Range: bytes=4-6\r\n").whole();
    assert!([(200, "0123456789"), (206, "456")].contains(&(seen.status, seen.text().as_str())));
}

#[test]
fn a_browser_reads_ftp_in_the_gateway() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("pub/page.html", "<a href=other>other</a>");
    let at = |path: &str| format!("/ftp/{}{path}", server.addr);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let listing = read(&daemon, &at("/pub/"));
        assert_eq!(listing.status, 200, "{mode}: {}", listing.text());
        assert!(listing.text().contains(&format!("href=\"{}\"", at("/pub/page.html"))), "{mode}");
        let page = read(&daemon, &at("/pub/page.html"));
        assert!(page.text().contains(&at("/pub/other")), "{mode}: {}", page.text());
        // Its images and styles come over FTP, too.
        let policy = page.field("Content-Security-Policy");
        for kind in ["img-src", "style-src"] {
            let sources = policy.split("; ").find(|part| part.starts_with(kind)).unwrap();
            assert!(sources.contains("/ftp/"), "{mode}: {policy}");
        }
    }
    // Browsers do not open FTP URLs, so our own pages lead to the gateway.
    let list = daemon.page(&format!("/index/ftp/{}", server.addr)).text();
    assert!(list.contains(&format!("href=\"{}\"", at("/pub/page.html"))), "{list}");
    // A browser with the proxy gets the page, too, and no redirect to the URL.
    let proxied = daemon.browse(&daemon.own(&at("/pub/page.html")));
    assert_eq!(proxied.status, 200);
}

#[test]
fn a_parent_proxy_gets_the_whole_request() {
    let (parent, server) = (Daemon::start(), FtpServer::start());
    server.file("x", "by the parent");
    let proxy = format!("[proxy]\nproxy = \"{}\"\n", parent.addr());
    let daemon = Daemon::configured(&proxy);
    assert_eq!(daemon.get(&server.url("/x")).text(), "by the parent");
    assert!(parent.ok(&["ls", "ftp"]).contains(&server.url("/x")));
}
