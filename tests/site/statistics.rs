//! Statistics: over the API, as metrics for Prometheus, and after a restart.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::harness::client::Response;
use crate::harness::daemon::run;
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::security::owners;

/// Parses the text format of Prometheus as strictly as `promtool check metrics`. Each name has its
/// help and type before its values and appears once, and counters end in `_total`. Returns the
/// values.
#[track_caller]
fn read(text: &str) -> HashMap<String, u64> {
    let (mut numbers, mut kinds) = (HashMap::new(), HashMap::<&str, &str>::new());
    let (mut help, mut now) = (None, None);
    assert!(text.ends_with('\n'), "the last line is not terminated");
    let is_name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(plain)
    };
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("# HELP ") {
            let (name, words) = line.split_once(' ').expect(line);
            assert!(is_name(name) && !words.is_empty(), "{line}");
            help = Some(name);
        } else if let Some(line) = line.strip_prefix("# TYPE ") {
            let (name, kind) = line.split_once(' ').expect(line);
            assert_eq!(help, Some(name), "{line}");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert_eq!(kinds.insert(name, kind), None, "{name} appears twice");
            now = Some(name);
        } else {
            let (named, number) = line.rsplit_once(' ').expect(line);
            let (name, labels) = named.split_once('{').unwrap_or((named, ""));
            assert_eq!(now, Some(name), "{line}");
            if named.len() > name.len() {
                let labels = labels.strip_suffix('}').expect(line);
                let (label, value) = labels.split_once('=').expect(line);
                let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).expect(line);
                assert!(is_name(label) && !value.contains(['"', '\\', '\n']), "{line}");
            }
            let number: u64 = number.parse().expect(line);
            assert_eq!(numbers.insert(named.to_owned(), number), None, "{named} appears twice");
        }
    }
    numbers
}

#[track_caller]
fn metrics(daemon: &Daemon) -> HashMap<String, u64> {
    let answer = daemon.page("/metrics").whole();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    read(&answer.text())
}

#[track_caller]
fn statistics(daemon: &Daemon) -> Value {
    let answer = daemon.api("GET", "/api/statistics", "").whole();
    assert_eq!(answer.status, 200);
    serde_json::from_slice(&answer.body).unwrap()
}

fn requests(numbers: &HashMap<String, u64>, outcome: &str) -> u64 {
    numbers[&format!("wwwoffle_requests_total{{outcome=\"{outcome}\"}}")]
}

#[test]
#[ignore = "slow"]
fn requests_and_bytes_are_counted_and_outlive_the_program() {
    let origin = Origin::start();
    let fresh = Answer::html("x".repeat(1_000)).field("Cache-Control", "max-age=600");
    origin.on("/fresh", move |exchange| exchange.answer(&fresh));
    let private = Answer::html("y".repeat(50));
    origin.on("/private", move |exchange| exchange.answer(&private));
    let mut daemon = Daemon::configured("[dont-cache]\nurls = [\"*://*/private\"]\n");
    daemon.ok(&["online"]);
    let before = metrics(&daemon);
    assert_eq!(requests(&before, "hit"), 0);
    let mut client = daemon.client();
    assert_eq!(client.get(&origin.url("/fresh")).status, 200);
    daemon.settle();
    // The responses to repeated requests come from memory, without hyper.
    for _ in 0..3 {
        assert_eq!(client.get(&origin.url("/fresh")).body.len(), 1_000);
    }
    assert_eq!(client.get(&origin.url("/private")).status, 200);
    daemon.ok(&["offline"]);
    assert_eq!(client.get(&origin.url("/fresh")).status, 200);
    assert_eq!(client.get(&origin.url("/absent")).status, 504);
    let mut now = HashMap::new();
    eventually("all is counted", || {
        now = metrics(&daemon);
        now["wwwoffle_given_bytes_total"] >= 5_050
    });
    for (outcome, want) in [("hit", 4), ("stored", 1), ("passed", 1), ("failed", 0)] {
        assert_eq!(requests(&now, outcome), want, "{outcome}: {now:?}");
    }
    assert_eq!(requests(&now, "queued") + requests(&now, "refused"), 1, "{now:?}");
    assert_eq!(now["wwwoffle_fetched_bytes_total"], 1_050);
    assert_eq!(now["wwwoffle_saved_bytes_total"], 4_000);
    assert_eq!(now["wwwoffle_mode{mode=\"offline\"}"], 1);
    assert_eq!(now["wwwoffle_mode{mode=\"online\"}"], 0);
    assert!(now["wwwoffle_client_connections"] >= 1);
    eventually("the index counts the entries", || {
        metrics(&daemon).get("wwwoffle_spool_entries") == Some(&1)
    });
    let told = statistics(&daemon);
    let today = &told["days"][0];
    assert_eq!(
        (today["requests"]["hit"].as_u64(), today["saved"].as_u64()),
        (Some(4), Some(4_000))
    );
    let host = &told["hosts"][0];
    assert_eq!((host["host"].as_str(), host["fetched"].as_u64()), (Some("127.0.0.1"), Some(1_050)));

    daemon.down();
    let file = daemon.spool().join("statistics");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("wwwoffle-statistics 1\nday "), "{text}");
    assert!(text.contains("host 127.0.0.1 +0 "), "{text}");
    daemon.up();
    eventually("the earlier counters are restored", || {
        statistics(&daemon)["days"][0]["requests"]["hit"] == 4
    });
    // Counters start at zero with the daemon; daily totals continue.
    assert_eq!(requests(&metrics(&daemon), "hit"), 0);
    daemon.down();
    std::fs::write(&file, "wwwoffle-statistics 1\nday 2026-11-22 hit=many\n").unwrap();
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.client().get(&origin.url("/fresh")).status, 200);
    eventually("a damaged file is moved aside, and counting starts at zero", || {
        !file.exists() && statistics(&daemon)["days"][0]["requests"]["hit"] == 1
    });
}

/// A configuration with a control password, and the field that contains it.
fn control() -> (String, String) {
    let place = Daemon::prepare(None);
    let mut command = place.bare_command();
    command.arg("passwd");
    let ran = run(command, Some(b"only me\n"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let login = BASE64_STANDARD.encode("whoever:only me");
    (format!("[startup]\n{}", ran.out), format!("Authorization: Basic {login}\r\n"))
}

#[track_caller]
fn page(daemon: &Daemon, path: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
    client.receive("GET").whole()
}

#[test]
#[ignore = "slow"]
fn statistics_are_shown_to_the_owner_of_the_machine_only() {
    let origin = Origin::start();
    origin.say("/p", Answer::html("<p>read by somebody</p>"));
    let (control, password) = control();
    // If there is a control password, only those who know it may see the sites, even on the machine
    // itself.
    let daemon = Daemon::configured(&control);
    daemon.get(&origin.url("/p"));
    let told = page(&daemon, "/statistics/", "").text();
    assert!(told.contains("fetched and saved") && !told.contains("127.0.0.1</bdi>"), "{told}");
    for path in ["/metrics", "/statistics/hosts"] {
        let refused = page(&daemon, path, "");
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.field("WWW-Authenticate").starts_with("Basic realm=\"control\""));
        assert!(refused.text().contains("This page needs the control password"), "{path}");
        // If no button was pressed, the page does not mention buttons.
        assert!(!refused.text().contains("Press the button"), "{}", refused.text());
        let wrong =
            page(&daemon, path, &crate::security::logins::login("Authorization", "me", "guess"));
        assert!(wrong.status == 401, "{path}: {wrong:?}");
        assert!(wrong.text().contains("The control password is wrong"), "{}", wrong.text());
        assert_eq!(page(&daemon, path, &password).status, 200, "{path}");
    }
    let told = page(&daemon, "/statistics/hosts", &password).text();
    assert!(told.contains("<bdi>127.0.0.1</bdi>"), "{told}");
    // With several users, none of them sees the sites of the others.
    let daemon = owners::daemon();
    owners::get(&daemon, "ada", &origin.url("/p"), "");
    let bob = owners::login("Authorization", "bob");
    let told = page(&daemon, "/statistics/", &bob).text();
    assert!(told.contains("fetched and saved") && !told.contains("127.0.0.1</bdi>"), "{told}");
    assert_eq!(page(&daemon, "/statistics/hosts", &bob).status, 303);
    assert_eq!(page(&daemon, "/metrics", &bob).status, 403);
    let told = page(&daemon, "/api/statistics", &bob).text();
    assert!(!told.contains("127.0.0.1"), "{told}");
    assert!(statistics(&daemon)["hosts"][0]["host"] == "127.0.0.1", "on the socket");
}

#[test]
fn the_statistics_page_shows_the_counts() {
    let origin = Origin::start();
    origin.say("/p", Answer::html("<p>kept</p>"));
    let daemon = Daemon::configured("");
    let told = daemon.page("/statistics/").text();
    assert!(told.contains("Nothing was counted yet"), "{told}");
    let mut client = daemon.client();
    client.get(&origin.url("/p"));
    daemon.settle();
    daemon.ok(&["offline"]);
    client.get(&origin.url("/p"));
    let told = daemon.page("/statistics/").text();
    for want in ["served from the spool", "<svg", "Traffic by day", "<bdi>127.0.0.1</bdi>"] {
        assert!(told.contains(want), "{want} in {told}");
    }
    assert_eq!(daemon.page("/statistics").status, 303);
}
