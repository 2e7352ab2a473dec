//! Faults outside the program. Each gives one clear message or page, and no stored copy is lost.

use std::net::TcpListener;

use crate::harness::daemon::Ran;
use crate::harness::{Answer, Client, Daemon, Origin, daemon};

/// Checks that a start was refused with `status` and one line that contains all of `words`.
#[track_caller]
fn refused(ran: &Ran, status: i32, words: &[&str]) {
    assert_eq!(ran.status, status, "{ran:?}");
    assert_eq!(ran.err.trim_end().lines().count(), 1, "not one message: {ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "{word:?} is missing: {ran:?}");
    }
    assert_eq!(ran.out, "", "it was ready");
}

fn serve(place: &Daemon) -> Ran {
    place.run(&["serve", "--listen", "127.0.0.1:0"])
}

#[test]
fn a_spool_that_cannot_be_created_is_reported() {
    let place = Daemon::prepare(None);
    let file = place.home().join("a-file");
    std::fs::write(&file, "not a directory").unwrap();
    let spool = file.join("spool");
    let place = place.with_spool(&spool);
    refused(&serve(&place), 73, &[file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), b"not a directory");
}

#[test]
fn a_directory_with_other_files_is_not_emptied() {
    let place = Daemon::prepare(None);
    std::fs::create_dir_all(place.spool().join("http")).unwrap();
    let precious = place.spool().join("precious.txt");
    std::fs::write(&precious, "mine").unwrap();
    std::fs::write(place.spool().join("http/notes.txt"), "mine too").unwrap();
    refused(&serve(&place), 73, &[place.spool().to_str().unwrap()]);
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
    assert_eq!(std::fs::read(place.spool().join("http/notes.txt")).unwrap(), b"mine too");
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let place = Daemon::prepare(None);
    refused(&place.run(&["serve", "--listen", &addr]), 75, &[&addr]);
}

#[test]
fn a_second_daemon_on_the_spool_is_refused() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.get(&origin.url("/page/1.html"));
    let pid = daemon.status()["pid"].to_string();
    refused(&serve(&daemon), 75, &[&pid, daemon.spool().to_str().unwrap()]);
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
}

#[test]
fn a_malformed_line_is_shown_with_its_place() {
    let rows = [
        ("[options]\nlog-level = \"info\"\nsocket-timeout = soon\n", 3, "socket-timeout"),
        ("[startup]\nlisten = [\"127.0.0.1:80a\"]\n", 2, "listen"),
        ("[options]\nno-such-option = 1\n", 2, "no-such-option"),
        ("[no-such-section]\nx = 1\n", 1, "no-such-section"),
        ("[fetch-options]\nper-host = \"six\"\n", 2, "per-host"),
        ("[offline-options]\nnoise = [\"not a specification\"]\n", 2, "noise"),
        ("[options\n", 1, ""),
    ];
    for (text, line, word) in rows {
        let place = Daemon::prepare(Some(text));
        let ran = serve(&place);
        refused(&ran, 64, &[&format!("wwwoffle.conf:{line}:"), word]);
    }
}

#[test]
fn all_faults_of_a_file_are_reported_at_once() {
    let place =
        Daemon::prepare(Some("[options]\nidle-timeout = 1\n[fetch-options]\nat-once = -1\n"));
    let ran = serve(&place);
    assert_eq!(ran.status, 64, "{ran:?}");
    assert!(
        ran.err.contains("wwwoffle.conf:2:") && ran.err.contains("wwwoffle.conf:4:"),
        "{ran:?}"
    );
}

#[test]
fn a_missing_configuration_is_reported() {
    let place = Daemon::prepare(None);
    let mut command = place.bare_command();
    command.args(["--config", "missing.conf", "serve", "--listen", "127.0.0.1:0"]);
    refused(&daemon::run(command, None), 64, &["missing.conf"]);
}

#[test]
fn an_unknown_host_gets_a_page_that_names_it() {
    let daemon = Daemon::configured("[options]\ndns-timeout = \"10s\"\n");
    let page = daemon.browse("http://nobody.invalid/path?q=1");
    assert!([502, 504].contains(&page.status), "{:?}", page.head);
    assert!(page.field("Content-Type").to_ascii_lowercase().contains("charset="));
    assert!(page.text().contains("nobody.invalid"), "{}", page.text());
    assert!(page.field("Cache-Control").contains("no-store"), "{:?}", page.fields);
    assert_eq!(daemon.ok(&["ls"]), "", "an error page was stored");
}

#[test]
fn a_refused_connection_gets_a_message_and_stored_pages_stay() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.say("/kept", Answer::html("kept").field("Cache-Control", "no-cache"));
    let kept = origin.url("/kept");
    daemon.get(&kept);
    daemon.settle();
    origin.stop();
    let page = daemon.browse(&origin.url("/page/1.html"));
    assert_eq!(page.status, 502, "{:?}", page.head);
    let text = page.shown();
    assert!(text.contains(&origin.addr.to_string()) && text.contains("refused"), "{text}");
    let image = daemon
        .client()
        .get_with(&origin.url("/image/1.png"), "Accept: image/*\r\nSec-Fetch-Dest: image\r\n");
    assert_eq!(image.status, 502);
    // The client demands revalidation (RFC 9111 §5.2.1.4).
    let reload = daemon.client().get_with(&kept, "Cache-Control: no-cache\r\n").whole();
    assert_eq!(reload.status, 504, "{:?}", reload.head);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&kept).text(), "kept");
}

#[test]
#[ignore = "slow"]
fn a_silent_origin_gets_a_message_page_after_the_timeout() {
    let config =
        "[options]\nsocket-timeout = \"1s\"\nhead-timeout = \"1s\"\nconnect-timeout = \"1s\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    let gate = crate::harness::Gate::new();
    let held = std::sync::Arc::clone(&gate);
    origin.on("/silent", move |exchange| {
        held.wait();
        exchange.answer(&Answer::html("late"))
    });
    let page = daemon.browse(&origin.url("/silent"));
    assert_eq!(page.status, 504, "{:?}", page.head);
    assert!(page.shown().contains(&origin.url("/silent")), "{}", page.text());
    gate.open();
}

#[test]
#[ignore = "slow"]
fn invalid_bytes_close_only_their_connection() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let long = format!("GET {} HTTP/1.1\r\n", origin.url(&"x".repeat(2_000_000)));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X-A: b\r\n".repeat(100_000));
    let rows: [&[u8]; 7] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        long.as_bytes(),
        many.as_bytes(),
    ];
    for row in rows {
        let mut client: Client = daemon.client();
        // The proxy may close the connection when it has read enough, before the last byte is sent.
        let _ = client.try_send(row);
        if let Ok(Some(head)) = client.head() {
            assert!((400..600).contains(&head.status), "{head:?}");
        }
    }
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    assert_eq!(origin.seen().len(), 1);
}

#[test]
#[ignore = "slow"]
fn a_damaged_entry_is_not_served_and_fetched_again() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let paths = ["/page/1.html", "/page/2.html", "/image/40.png", "/page/3.html"];
    let mut files = Vec::new();
    for path in paths {
        let before = crate::harness::files(daemon.spool());
        daemon.get(&origin.url(path));
        daemon.settle();
        daemon.down();
        daemon.up();
        let new = |file: &std::path::PathBuf| {
            !before.contains(file) && file.extension().is_some_and(|kind| kind == "warc")
        };
        files.push(crate::harness::files(daemon.spool()).into_iter().find(new).expect(path));
    }
    daemon.ok(&["offline"]);
    daemon.down();
    let damage: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| *bytes = b"not a record at all".to_vec(),
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x20;
        },
        Vec::clear,
    ];
    for (file, damage) in files.iter().zip(damage) {
        let mut bytes = std::fs::read(file).unwrap();
        damage(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    }
    daemon.up();
    for path in paths {
        let mut client = daemon.client();
        client.ask(&origin.url(path), "Accept: text/html\r\n");
        // Damage in a large body is found while the body is sent, so the response may be truncated
        // at any point.
        if let Ok(answer) = client.try_receive("GET") {
            assert!(answer.status == 504 || answer.whole.is_err(), "{path}: {:?}", answer.head);
        }
    }
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    for path in paths {
        let want = crate::harness::site::answer(path).unwrap().body;
        assert!(daemon.get(&origin.url(path)).body == want, "{path}");
    }
}
