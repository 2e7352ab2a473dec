//! `mv`, `write` and `rm` have the same effect with a daemon and without one.

use serde_json::{Value, json};

use crate::harness::daemon::{self, Ran};
use crate::harness::{Daemon, Origin};

/// Runs a verb with `stdin` as its input.
#[track_caller]
fn fed(daemon: &Daemon, arguments: &[&str], stdin: &[u8]) -> Ran {
    daemon::run(daemon.command(arguments), Some(stdin))
}

/// The result of an API call.
#[track_caller]
fn called(daemon: &Daemon, path: &str, body: &str) -> Value {
    serde_json::from_slice(&daemon.api("POST", path, body).body).unwrap()
}

/// Runs `check` twice: with `daemon` running, and with it stopped.
fn both_ways(daemon: &mut Daemon, check: impl Fn(&Daemon, &str)) {
    check(daemon, "with");
    daemon.down();
    check(daemon, "without");
    let sound = daemon.run(&["fsck", "--deep"]);
    assert_eq!(sound.status, 0, "{sound:?}");
}

#[test]
#[ignore = "slow"]
fn a_page_is_written_read_moved_and_removed() {
    let mut daemon = Daemon::start();
    daemon.ok(&["offline"]);
    both_ways(&mut daemon, |daemon, way| {
        let url = format!("http://made.example/{way}/a.css");
        let wrote = fed(daemon, &["write", &url], b"body { }\n");
        assert_eq!((wrote.status, wrote.err.as_str()), (0, ""), "{wrote:?}");
        assert_eq!(wrote.out, format!("wrote 9 B {url}\n"));
        assert_eq!(daemon.ok(&["cat", &url]), "body { }\n");
        let head = daemon.ok(&["cat", "--headers", &url]);
        assert!(head.contains("text/css"), "{head}");

        // The input contains the response head too. The body is too large to be in memory at once.
        let body = vec![b'x'; 3 << 20];
        let whole = [&b"HTTP/1.1 203 Made\nContent-Type: text/x-made\nX-Made: here\n\n"[..], &body];
        let long = format!("http://made.example/{way}/long");
        let wrote = fed(daemon, &["write", "--headers", &long], &whole.concat());
        assert_eq!(wrote.status, 0, "{wrote:?}");
        let read = daemon.ok(&["cat", "--headers", &long]);
        assert!(read.starts_with("HTTP/1.1 203 ") && read.contains("X-Made: here\r\n"));
        assert_eq!(read.len() - read.find("\r\n\r\n").unwrap() - 4, body.len());

        let other = format!("https://other.example/{way}.css");
        assert_eq!(daemon.ok(&["mv", &url, &other]), format!("moved {url} to {other}\n"));
        assert_eq!(daemon.ok(&["cat", &other]), "body { }\n");
        assert_eq!(daemon.run(&["cat", &url]).status, 1);
        let taken = daemon.run(&["mv", &other, &long]);
        assert_eq!((taken.status, taken.out.as_str()), (1, ""), "{taken:?}");
        assert!(taken.err.contains("--force"), "{taken:?}");
        daemon.ok(&["mv", "--force", &other, &long]);
        assert_eq!(daemon.ok(&["cat", &long]), "body { }\n");
        let gone = daemon.run(&["mv", &other, &long]);
        assert_eq!(gone.status, 1, "{gone:?}");
        assert!(gone.err.contains("not in the spool"), "{gone:?}");

        assert_eq!(daemon.ok(&["rm", &long]), format!("removed {long}\n"));
        assert_eq!(daemon.run(&["rm", &long]).status, 1);
    });
}

#[test]
#[ignore = "slow"]
fn all_entries_below_a_url_are_moved() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    for number in 0..5 {
        let _answer = daemon.get(&origin.url(&format!("/page/{number}.html")));
    }
    let beside = origin.url("/image/1.png");
    let _answer = daemon.get(&beside);
    let (old, new) = (origin.url("/page"), "http://copy.example/of");
    assert_eq!(daemon.run(&["mv", "-r", &old, &format!("{old}/below")]).status, 1);
    let moved = daemon.ok(&["mv", "-r", &old, new]);
    assert_eq!(moved.lines().count(), 5, "{moved}");
    daemon.down();
    for number in 0..5 {
        let page = daemon.ok(&["cat", &format!("{new}/{number}.html")]);
        assert!(!page.is_empty());
        assert_eq!(daemon.run(&["cat", &format!("{old}/{number}.html")]).status, 1);
    }
    daemon.ok(&["cat", "--raw", &beside]);
    assert_eq!(daemon.ok(&["mv", "-r", new, &old]).lines().count(), 5);
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/page/3.html")).status, 200);
}

#[test]
#[ignore = "slow"]
fn hosts_are_moved_as_2_9_names_them() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.get(&origin.url("/page/1.html"));
    daemon.get(&origin.url("/page/2.html"));
    let moved = daemon.ok(&["mv", &format!("http/{}", origin.addr), "https/copy.example/"]);
    assert_eq!(moved.lines().count(), 2, "{moved}");
    daemon.ok(&["cat", "https://copy.example/page/1.html"]);
    assert_eq!(daemon.run(&["mv", "http/a.example", "http://b.example/"]).status, 1);
}

#[test]
fn bookmarks_are_pinned_from_their_file() {
    let daemon = Daemon::start();
    let file = daemon.home().join("bookmarks.html");
    let text = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"http://b.example/2\">b</A>\n\
        <DT><A HREF=\"javascript:alert()\">script</A>\n<DT><A HREF=\"http://a.example/1\">a</A>\n\
        <DT><A HREF=\"finger://256.1.1.1/\">no address</A>\n</DL>";
    std::fs::write(&file, text).unwrap();
    let ran = daemon.run(&["pin", "--from", file.to_str().unwrap(), "http://c.example/"]);
    let pinned = "http://a.example/1\nhttp://b.example/2\nhttp://c.example/\n";
    assert_eq!((ran.status, ran.out.as_str()), (0, pinned), "{ran:?}");
    assert!(ran.err.contains("left out: invalid URL finger://256.1.1.1/: "), "{ran:?}");
    // An invalid argument changes nothing.
    let refused = daemon.run(&["pin", "http://d.example/", "http://a:99999/"]);
    assert_eq!((refused.status, refused.out.as_str()), (1, ""), "{refused:?}");
    assert_eq!(daemon.ok(&["pin"]), pinned);
    for text in ["none", "http://a:99999/"] {
        std::fs::write(&file, text).unwrap();
        let none = daemon.run(&["pin", "--from", file.to_str().unwrap()]);
        assert!(none.status == 1 && none.err.contains("no URL was found"), "{none:?}");
    }
}

#[test]
fn an_invalid_response_is_not_written() {
    let mut daemon = Daemon::start();
    both_ways(&mut daemon, |daemon, _| {
        let url = "http://made.example/";
        for (arguments, stdin, why) in [
            (&["write", "--headers", url][..], &b"no head\n\n"[..], "expected a response head"),
            (&["write", "--headers", url], b"HTTP/1.1 200 OK\r\n", "expected a response head"),
            (&["write", "--headers", url], b"HTTP/1.1 200 OK\nContent-Length: 9\n\nx", "1 bytes"),
            (&["write", "http://["], b"x", "invalid URL"),
        ] {
            let ran = fed(daemon, arguments, stdin);
            assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{ran:?}");
            assert!(ran.err.contains(why), "{ran:?}");
        }
        assert_eq!(daemon.run(&["cat", url]).status, 1);
    });
}

#[test]
fn the_api_moves_and_writes_entries() {
    let daemon = Daemon::start();
    let path = "/api/entries/write?url=http%3A%2F%2Fmade.example%2F&owner=user%3Aada";
    let written = called(&daemon, path, "HTTP/1.1 200 OK\r\n\r\nhers");
    assert_eq!(written, json!({"url": "http://made.example/", "bytes": 4}));
    let body = json!({
        "from": "http://made.example/", "to": "http://b.example/", "owner": "user:ada",
    });
    let moved = called(&daemon, "/api/entries/move", &body.to_string());
    let want = json!({
        "moved": [{"from": "http://made.example/", "to": "http://b.example/"}],
        "taken": [], "failed": [], "more": false,
    });
    assert_eq!(moved, want);
    assert_eq!(daemon.ok(&["cat", "--owner", "user:ada", "http://b.example/"]), "hers");
    assert_eq!(daemon.run(&["cat", "http://b.example/"]).status, 1, "it belongs to her");
    for (path, body, status) in [
        ("/api/entries/write", "HTTP/1.1 200 OK\r\n\r\n", 400),
        ("/api/entries/write?url=http://a/", "what", 400),
        ("/api/entries/move", r#"{"from":"http://a/","to":"http://["}"#, 400),
        ("/api/entries/move", r#"{"from":"http://a/"}"#, 400),
        ("/api/entries/move", r#"{"from":"http://a/","to":"http://a/b/","below":true}"#, 400),
    ] {
        assert_eq!(daemon.api("POST", path, body).status, status, "{path} {body}");
    }
}
