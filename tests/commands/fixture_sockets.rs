//! A WebSocket under `wwwoffle run` is recorded message by message, and replayed in the same order.

use serde_json::Value;

use super::fixtures::{Studio, report};
use crate::harness::tools::{plain, python_with};
use crate::harness::{After, secure, websocket};

/// A shell command that opens a WebSocket through the proxy and sends these messages.
fn speak(studio: &Studio, path: &str, messages: &str) -> String {
    let (script, url) = (secure::script("websocket.py"), studio.site.url(path));
    format!("python3 {} {url} {messages}", script.display())
}

#[test]
#[ignore = "needs python3"]
fn a_websocket_is_replayed_message_by_message() {
    let _python = python_with("ssl");
    let mut studio = Studio::set();
    studio.site.origin.on("/socket", |exchange| {
        let asked = exchange.seen.fields.get("Sec-WebSocket-Extensions");
        assert_eq!(asked, None, "messages are recorded without compression");
        websocket::echo(exchange)
    });
    let both = format!(
        "set -e; {}; {}",
        speak(&studio, "/socket", "hello long '{\"id\":1,\"now\":5}'"),
        speak(&studio, "/socket", "second")
    );
    let recorded = studio.record(&both);
    assert!(recorded.err.contains("2 requests recorded in site.wacz"), "{recorded:?}");
    assert!(recorded.out.contains("2 70000 b'xxx"), "{recorded:?}");
    studio.site.stop();
    for _ in 0..3 {
        let again = studio.replay(&["--fail-missing"], &both);
        assert_eq!((again.status, &again.out), (0, &recorded.out), "{}", again.err);
    }
    // Pings are answered, wherever they come.
    let line = speak(&studio, "/socket", "ping hello ping");
    let again = studio.replay(&["--fail-missing"], &line);
    assert!(again.out.contains("pong\n1 5 b'hello'\npong\n"), "{again:?}");

    // A message that differs is reported, unless the difference does not count.
    let other = speak(&studio, "/socket", "hello long '{\"now\":6,\"id\":1}'");
    let ran = studio.replay(&["--fail-missing", "--report", "report.json"], &other);
    assert!(ran.status != 0 && ran.out.contains("b'\\x03\\xf3this message was not"), "{ran:?}");
    let told = report(&studio);
    let missing = &told["missing"][0];
    assert_eq!(missing["method"], "WEBSOCKET", "{told}");
    assert_eq!(missing["url"], studio.site.url("/socket"), "{told}");
    let why = &missing["nearest"]["differences"][0];
    assert_eq!(why, "JSON field \"now\" is \"6\", recorded \"5\"", "{told}");
    let ran = studio.replay(&["--fail-missing", "--ignore-field", "now"], &other);
    assert_eq!(ran.status, 0, "{ran:?}");
    // A GET for the same URL is another request.
    let get = format!("curl -sS {}", studio.site.url("/socket"));
    let ran = studio.replay(&["--fail-missing"], &get);
    assert!(ran.status == 1 && ran.err.contains("no recorded response: GET"), "{ran:?}");
    let none = studio.replay(&["--fail-missing"], &speak(&studio, "/other", "hello"));
    assert!(none.err.contains("no recorded response: WEBSOCKET"), "{none:?}");
}

#[test]
#[ignore = "needs python3"]
fn messages_are_in_the_archive_as_browsers_save_them() {
    let _python = python_with("ssl");
    let studio = Studio::set();
    studio.site.origin.on("/socket", websocket::echo);
    studio.record(&speak(&studio, "/socket", "hello long"));
    let unzip = "import sys, zipfile, gzip; \
                 sys.stdout.buffer.write(gzip.decompress(zipfile.ZipFile(sys.argv[1]).read(\
                 'archive/data.warc.gz')))";
    let mut command = plain(std::process::Command::new("python3"));
    command.args(["-c", unzip]).arg(studio.file());
    let warc = command.output().unwrap().stdout;
    let text = String::from_utf8_lossy(&warc);
    let (_, record) = text.split_once("WARC-Type: metadata\r\n").unwrap();
    let (header, body) = record.split_once("\r\n\r\n").unwrap();
    assert!(header.contains("application/vnd.wwwoffle.websocket-messages+json"), "{header}");
    let messages: Value = serde_json::from_str(body.split_once("\r\n\r\n").unwrap().0).unwrap();
    let rows: Vec<_> = messages.as_array().unwrap().iter().collect();
    let kinds: Vec<_> = rows.iter().map(|row| (row["type"].as_str(), &row["opcode"])).collect();
    let want =
        [("send", 1), ("receive", 1), ("send", 2), ("receive", 2), ("send", 8), ("receive", 8)];
    let want = want.map(|(kind, opcode)| (Some(kind), Value::from(opcode)));
    assert_eq!(kinds, want.iter().map(|(kind, opcode)| (*kind, opcode)).collect::<Vec<_>>());
    assert_eq!(rows[0]["data"], "hello");
    assert!(rows[0]["time"].as_f64().unwrap() > 1.7e9, "{}", rows[0]);
    assert!(!text.contains("Sec-WebSocket-Key") && !text.contains("sec-websocket-key"));
}

#[test]
#[ignore = "needs python3"]
fn a_websocket_that_cannot_be_recorded_passes_and_is_reported() {
    let _python = python_with("ssl");
    let studio = Studio::set();
    studio.site.origin.on("/socket", websocket::echo);
    let line = speak(&studio, "/socket", "hello long");
    let arguments = ["--record", "site.wacz", "--max-body", "50K", "--report", "report.json"];
    let ran = studio.run(&[&arguments[..], &["--", "sh", "-c", &line]].concat());
    assert!(ran.status == 0 && ran.out.contains("2 70000"), "{ran:?}");
    let told = report(&studio);
    let reason = told["not_recorded"][0]["reason"].as_str().unwrap_or_default();
    assert_eq!(reason, "a message is longer than --max-body", "{told}");
}

#[test]
#[ignore = "needs python3"]
fn a_connection_that_the_server_breaks_off_ends_so_again() {
    let _python = python_with("ssl");
    let mut studio = Studio::set();
    studio.site.origin.on("/socket", |exchange| {
        websocket::accept(exchange)?;
        exchange.send(b"\x81\x02hi")?;
        Ok(After::Close)
    });
    let line = format!("{} || echo ended", speak(&studio, "/socket", "hello second"));
    let recorded = studio.record(&line);
    assert!(recorded.out.contains("1 2 b'hi'\nended\n"), "{recorded:?}");
    studio.site.stop();
    let again = studio.replay(&["--fail-missing"], &line);
    assert!(again.out.contains("1 2 b'hi'\nended\n"), "{again:?}");
}
