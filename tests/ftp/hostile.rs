//! FTP servers that break the protocol or attack us.

use std::net::TcpListener;

use crate::harness::Daemon;
use crate::harness::ftp::FtpServer;

#[test]
fn a_broken_conversation_is_a_clear_error() {
    let daemon = Daemon::configured("[options]\nsocket-timeout = \"2s\"\nhead-timeout = \"2s\"\n");
    let cases: [(&str, &[u8], u16); 5] = [
        ("not FTP", b"HTTP/1.1 200 OK\r\n\r\n", 502),
        ("a refusal", b"421 too many users\r\n", 503),
        ("an endless reply", &b"220-x\r\n".repeat(100_000), 502),
        ("an endless line", &b"220 x".repeat(100_000), 502),
        ("silence", b"", 504),
    ];
    for (what, greeting, want) in cases {
        let server = FtpServer::start();
        server.with(|state| state.greeting = Some(greeting.to_vec()));
        let seen = daemon.browse(&server.url("/x"));
        assert_eq!(seen.status, want, "{what}: {}", seen.text());
    }
}

#[test]
fn a_reply_out_of_place_is_a_clear_error() {
    for (command, reply, want) in [
        ("PASS", "530 no\r\n", 401),
        ("USER", "999 what\r\n", 502),
        ("EPSV", "229 (|||99999|)\r\n", 502),
        ("EPSV", "229 here\r\n", 502),
        ("RETR", "450 busy\r\n", 503),
        ("RETR", "550 secret\r\n", 404),
        ("SIZE", "213 99999999999999999999999\r\n", 502),
        ("TYPE", "\r\n\r\n\r\n", 502),
    ] {
        let (daemon, server) = (Daemon::start(), FtpServer::start());
        server.file("x", "x");
        server.reply(command, reply);
        let seen = daemon.get(&server.url("/x"));
        assert_eq!(seen.status, want, "{command} {reply:?}: {}", seen.text());
    }
}

/// A server that names the address of another machine or the port of another service does not make
/// us connect there.
#[test]
fn a_data_connection_goes_to_the_server_itself() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    server.file("x", "x");
    // The server of the tests names 192.0.2.1 in PASV.
    server.with(|state| state.features.clear());
    assert_eq!(daemon.get(&server.url("/x")).text(), "x");
    assert_eq!((server.count("PASV"), server.count("EPSV")), (1, 0));
    let mail = TcpListener::bind("127.0.0.1:0").unwrap();
    mail.set_nonblocking(true).unwrap();
    let port = mail.local_addr().unwrap().port();
    server.reply("PASV", &format!("227 (127,0,0,1,0,{})\r\n", 25));
    assert_eq!(daemon.get(&server.url("/y")).status, 502);
    // A port of the same machine is reached, but nothing is sent there.
    server.reply("PASV", &format!("227 (127,0,0,1,{},{})\r\n", port / 256, port % 256));
    server.reply("RETR", "550 no\r\n");
    assert_eq!(daemon.get(&server.url("/y")).status, 404);
}

#[test]
fn a_file_that_the_server_does_not_complete_is_not_stored() {
    let daemon =
        Daemon::configured("[fetch-options]\nresume-attempts = 1\nresume-delay = \"1ms\"\n");
    let server = FtpServer::start();
    server.file("x", "0123456789");
    // Less than the announced length.
    server.reply("SIZE", "213 20\r\n");
    assert!(daemon.client().get(&server.url("/x")).whole.is_err());
    // No length, and each attempt breaks off.
    server.reply("SIZE", "502 what?\r\n");
    server.with(|state| state.cut_after = vec![4; 20]);
    assert!(daemon.client().get(&server.url("/x")).whole.is_err());
    daemon.ok(&["offline"]);
    assert_ne!(daemon.get(&server.url("/x")).status, 200);
}

#[test]
fn a_hostile_listing_is_a_harmless_page() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    let long = "x".repeat(100_000);
    let listing = format!(
        "type=file; ../../etc/passwd\r\ntype=cdir; /pub\r\ntype=dir; ..\r\ntype=dir; .\r\n\
         type=file;size=-1; javascript:alert(1)\r\nnot a fact\r\ntype=file; \r\n\0\x07\r\n\
         <script>alert(1)</script>\r\ntype=file; {long}\r\ntype=OS.unix=slink:/x; link\r\n\
         type=file; last"
    );
    server.file("pub/x", "x");
    server.with(|state| state.listing = Some(listing.into_bytes()));
    let page = daemon.get(&server.url("/pub/")).text();
    for (text, want) in [
        ("<script", false),
        ("href=\"..\"", false),
        ("href=\"../..", false),
        ("href=\"/", false),
        ("href=\"javascript:", false),
        ("href=\"javascript%3Aalert%281%29\"", true),
        ("href=\"link\"", true),
        ("href=\"last\"", true),
        ("⟨U+0007⟩", true),
    ] {
        assert_eq!(page.contains(text), want, "{text}: {page}");
    }
    assert!(page.len() < 30_000, "{}", page.len());
}

#[test]
fn a_listing_of_many_lines_passes_in_little_memory() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    let lines: String = (0..200_000).map(|n| format!("type=file;size={n}; file-{n}\r\n")).collect();
    server.file("pub/x", "x");
    server.with(|state| state.listing = Some(lines.into_bytes()));
    let before = daemon.peak_kib();
    let page = daemon.get(&server.url("/pub/")).text();
    assert!(page.contains("file-199999") && page.ends_with("</html>\n"));
    let grown = daemon.peak_kib() - before;
    assert!(grown < 40_000, "{grown} KiB for a page of {} bytes", page.len());
}

#[test]
fn a_path_cannot_contain_a_second_command() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    for path in ["/x%0d%0aDELE%20y", "/x%0aDELE%20y/", "/x%00"] {
        assert_eq!(daemon.get(&server.url(path)).status, 400, "{path}");
    }
    assert_eq!(server.count("DELE"), 0);
    // Ports of other protocols are refused, as for HTTP.
    assert_eq!(daemon.get("ftp://127.0.0.1:25/x").status, 403);
}

/// No name of a file reaches a terminal or a page with its control characters.
#[test]
fn names_with_control_characters_are_fetched_and_shown_harmlessly() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    let names = [
        "\u{1b}]0;title\u{7}",
        "tab\tname",
        "back\u{8}space",
        "delete\u{7f}",
        "\u{9b}2J",
        "a\u{202e}b",
    ];
    for name in names {
        server.file(&format!("pub/{name}"), name);
    }
    let ran = daemon.run(&["get", "-r", "1", "--within", "directory", &server.url("/pub/")]);
    assert_eq!(ran.status, 0, "{ran:?}");
    daemon.ok(&["offline"]);
    let bad = |text: &str| {
        text.contains(|one: char| one.is_control() && one != '\n' || one == '\u{202e}')
    };
    assert!(!bad(&ran.out) && !bad(&ran.err), "{ran:?}");
    for name in names {
        let path: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let url = server.url(&format!("/pub/{path}"));
        let got = daemon.get(&url);
        assert_eq!((got.status, got.text().as_str()), (200, name), "{name:?}");
        for verb in ["info", "ls"] {
            let told = daemon.ok(&[verb, &url]);
            assert!(!bad(&told), "{verb} {name:?}: {told:?}");
        }
    }
    let host = server.addr;
    for page in ["/index/ftp/".to_owned() + &host.to_string(), format!("/ftp/{host}/pub/")] {
        let text = super::read(&daemon, &page).text();
        assert!(text.contains("pub/") && !bad(&text), "{page}: {text:?}");
    }
}

/// A million lines are a page like any other: it is shown, stored and read again in little memory,
/// and a fetch of its links is bounded. A limit of the configuration ends it with a clear error.
#[test]
#[ignore = "slow"]
fn a_listing_of_a_million_lines_is_bounded_everywhere() {
    let (daemon, server) = (Daemon::start(), FtpServer::start());
    let lines: String = (0..1_000_000).map(|n| format!("type=file;size=1; {n}\r\n")).collect();
    server.file("pub/x", "x");
    server.with(|state| state.listing = Some(lines.into_bytes()));
    let (url, before) = (server.url("/pub/"), daemon.peak_kib());
    let page = daemon.get(&url).whole();
    assert_eq!(page.text().matches("<tr>").count(), 1_000_001);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert!(daemon.get(&url).whole().body == page.body);
    daemon.ok(&["online"]);
    let get = ["get", "-r", "1", "--within", "directory", "--pages", "5", &url];
    let ran = daemon.run(&get);
    for part in ["4 dead links", "for the page limit", "these pages were not read completely"] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    let grown = daemon.peak_kib() - before;
    assert!(grown < 150_000, "{grown} KiB for a page of {} bytes", page.body.len());

    let small = Daemon::configured("[options]\nmax-body = \"1 MB\"\n");
    server.with(|state| state.listing = None);
    let kept = small.get(&url).text();
    small.settle();
    server.with(|state| state.listing = Some(b"type=file; x\r\n".repeat(1_000_000)));
    let ran = small.run(&["get", "--refresh", &url]);
    assert!(ran.status == 1 && ran.out.contains("max-body"), "{ran:?}");
    small.ok(&["offline"]);
    assert_eq!(small.get(&url).text(), kept, "the stored copy stays");
}
