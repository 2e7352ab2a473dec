//! Tests the client against a socket that sends raw bytes.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    thread::JoinHandle,
};

use super::Control;
use crate::base::exit::ExitStatus;
use crate::cli::failure::{VerbFailure, VerbResult};
use wwwoffle_api::{ModeChange, ModeRequest, ModeSetting};

/// Serves one connection on the socket of `spool` in a thread: reads one request, sends `answer` in
/// pieces of `piece` bytes, and closes. The thread returns the request.
pub(in crate::cli) fn daemon(spool: &Path, answer: String, piece: usize) -> JoinHandle<String> {
    let listener = UnixListener::bind(spool.join("control")).unwrap();
    std::thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let asked = asked(&mut client);
        for piece in answer.as_bytes().chunks(piece) {
            // The client may stop reading early.
            if client.write_all(piece).is_err() {
                break;
            }
        }
        asked
    })
}

/// Reads one request: its head, and its body if it has one.
pub(in crate::cli) fn asked(client: &mut UnixStream) -> String {
    let (mut asked, mut buffer) = (Vec::new(), [0; 1024]);
    while !asked.ends_with(b"}") && !asked.ends_with(b"\r\n\r\n") {
        let length = client.read(&mut buffer).unwrap();
        assert!(length > 0, "the request ends early");
        asked.extend_from_slice(&buffer[..length]);
    }
    String::from_utf8(asked).unwrap()
}

pub(in crate::cli) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn change(spool: &Path) -> VerbResult<ModeChange> {
    Control::new(spool).post("/api/mode", &ModeRequest { mode: ModeSetting::Online })
}

#[test]
fn a_call_is_sent_and_its_response_parsed() {
    let spool = tempfile::tempdir().unwrap();
    let daemon = daemon(spool.path(), ok(r#"{"mode":"online","was":"offline"}"#), 7);
    let answer = change(spool.path()).unwrap();
    assert_eq!(answer, ModeChange { mode: ModeSetting::Online, was: ModeSetting::Offline });
    let asked = daemon.join().unwrap().to_ascii_lowercase();
    assert!(asked.starts_with("post /api/mode http/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nhost: localhost\r\n"), "{asked}");
    assert!(asked.ends_with("\r\n\r\n{\"mode\":\"online\"}"), "{asked}");
}

#[test]
fn lines_are_complete_in_any_pieces() {
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  5\r\none\nt\r\n6\r\nwo\n\nth\r\n3\r\nree\r\n0\r\n\r\n";
    for piece in [1, 3, 1000] {
        let spool = tempfile::tempdir().unwrap();
        let daemon = daemon(spool.path(), stream.to_owned(), piece);
        let mut lines = Vec::new();
        let body = serde_json::json!({});
        Control::new(spool.path())
            .post_stream("/api/fetch", &body, &mut |line| {
                lines.push(String::from_utf8(line.to_vec()).unwrap());
                Ok(())
            })
            .unwrap();
        assert_eq!(lines, ["one", "two", "", "three"]);
        daemon.join().unwrap();
    }
}

#[test]
fn a_reader_that_stops_ends_the_stream() {
    let spool = tempfile::tempdir().unwrap();
    let daemon = daemon(spool.path(), ok("one\ntwo\n"), 1000);
    let stopped =
        Control::new(spool.path()).post_stream("/api/fetch", &serde_json::json!({}), &mut |_| {
            Err(VerbFailure::NobodyReads)
        });
    assert_eq!(stopped, Err(VerbFailure::NobodyReads));
    daemon.join().unwrap();
}

#[test]
fn failures_are_reported() {
    let refusal = r#"{"error":"the mode is \u001b[1moffline"}"#;
    let table = [
        (
            format!("HTTP/1.1 409 Conflict\r\nContent-Length: {}\r\n\r\n{refusal}", refusal.len()),
            "the mode is ⟨U+001B⟩[1moffline",
        ),
        (
            "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno".to_owned(),
            "the daemon responded with status 500 Internal Server Error",
        ),
        (ok("{}"), "the response of the daemon is invalid; it may be another version: restart it"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_owned(),
            "the daemon closed the connection early",
        ),
        ("nonsense\r\n\r\n".to_owned(), "the daemon closed the connection early"),
        (String::new(), "the daemon closed the connection early"),
    ];
    for (answer, want) in table {
        let spool = tempfile::tempdir().unwrap();
        let daemon = daemon(spool.path(), answer, 1000);
        let Err(VerbFailure::Said(status, message)) = change(spool.path()) else {
            panic!("it went wrong: {want}");
        };
        assert_eq!(status, ExitStatus::Failed);
        assert!(message.starts_with(want), "{message}");
        daemon.join().unwrap();
    }
}

#[test]
fn without_a_daemon_the_message_says_how_to_start_one() {
    let spool = tempfile::tempdir().unwrap();
    let missing = spool.path().join("d".repeat(150));
    drop(UnixListener::bind(spool.path().join("control")).unwrap());
    for spool in [spool.path(), Path::new("/nowhere"), &missing] {
        let want = format!(
            "no daemon is running on the spool {}: start one with `wwwoffle serve`, \
             or name another spool with --spool DIR",
            spool.display()
        );
        assert_eq!(change(spool), Err(VerbFailure::Said(ExitStatus::NoDaemon, want)));
    }
}
