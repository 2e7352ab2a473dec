//! The access log: a line for each request, with user, outcome, bytes and time.

use std::fs::{read_to_string, write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::client::request;
use crate::harness::tools::{need_root, program, tool};
use crate::harness::{Answer, Client, Daemon, Gate, Origin, PATIENCE, Trust, eventually};
use crate::security::logins::{PASSWORD, login, users};

/// A daemon that logs requests in this form, and the file.
fn logging(format: &str, config: &str) -> (Daemon, PathBuf) {
    let mut daemon = Daemon::prepare(Some(""));
    let log = daemon.home().join("access.log");
    let to = log.display();
    let options = format!("access-log = \"{to}\"\naccess-log-format = \"{format}\"\n");
    write(daemon.config_file(), format!("[startup]\n{options}{config}")).unwrap();
    daemon.up();
    (daemon, log)
}

/// Stops the daemon, and returns the lines of its access log.
fn lines(daemon: &mut Daemon, log: &Path) -> Vec<String> {
    daemon.down();
    read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn each_request_is_logged_with_its_user_outcome_and_bytes() {
    let origin = Origin::start();
    let fresh = || Answer::html("12345").field("Cache-Control", "max-age=3600");
    origin.say("/page", fresh());
    let (mut daemon, log) = logging("json", &users());
    let (url, ada) = (origin.url("/page"), login("Proxy-Authorization", "ada", PASSWORD));
    let mut client = daemon.client();
    assert_eq!(client.get(&url).whole().status, 407);
    for _ in 0..3 {
        let fields = format!("{ada}User-Agent: test\r\nReferer: http://from.example/\r\n");
        assert_eq!(daemon.client().get_with(&url, &fields).whole().status, 200);
    }
    client = daemon.client();
    client.send(request("HEAD", &url, &ada));
    client.receive("HEAD").whole();
    daemon.page("/");
    let lines = lines(&mut daemon, &log);
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |line: &Value| {
        let of = |name: &str| line[name].to_string().trim_matches('"').to_owned();
        ["user", "method", "status", "bytes", "outcome"].map(of).join(" ")
    };
    let got: Vec<String> = lines.iter().map(told).collect();
    let want = ["null GET 407", "ada GET 200 5 stored", "ada GET 200 5 hit", "ada GET 200 5 hit"];
    for (got, want) in got.iter().zip(want) {
        assert!(got.starts_with(want), "{got} is not {want}");
    }
    assert_eq!(got[4], "ada HEAD 200 0 hit");
    assert!(got[5].starts_with("null GET 401 "), "an own page: {}", got[5]);
    assert_eq!(got.len(), 6);
    assert_eq!((&lines[1]["url"], &lines[1]["client"]), (&url.into(), &"127.0.0.1".into()));
    assert_eq!(lines[1]["referer"], "http://from.example/");
    assert_eq!((&lines[1]["agent"], &lines[1]["version"]), (&"test".into(), &"HTTP/1.1".into()));
}

#[test]
fn neither_passwords_nor_control_characters_are_logged() {
    let origin = Origin::start();
    origin.say("/?access_token=hidden&x=1", Answer::html("a"));
    for format in ["combined", "json"] {
        let (mut daemon, log) = logging(format, "");
        let url = origin.url("/?access_token=hidden&x=1").replace("://", "://ada:hidden@");
        let fields = b"User-Agent: a\"\x9b31m\r\nReferer: http://b:hidden@c/\r\n";
        let head = format!("GET {url} HTTP/1.1\r\nHost: {}\r\n", origin.addr);
        let mut client = daemon.client();
        client.send([head.as_bytes(), fields, b"Authorization: Basic aGlkZGVu\r\n\r\n"].concat());
        client.receive("GET").whole();
        let lines = lines(&mut daemon, &log);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(!line.contains("hidden") && !line.contains("aGlkZGVu"), "{line}");
        assert!(line.contains("/?access_token=***&x=1") && line.contains("http://c/"), "{line}");
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
    }
}

#[test]
fn a_request_inside_https_and_a_tunnel_are_logged_at_their_end() {
    let (mut daemon, log) = logging("combined", "[https]\ntunnel = [\"*://tunnel.example/*\"]\n");
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    let mut client =
        Client::connect_tls(daemon.addr(), "h.example:443", "h.example", trust.tls()).unwrap();
    client.get_path("h.example", "/a?b", "").whole();
    drop(client);
    let mut client = daemon.client();
    client.send("CONNECT tunnel.example:443 HTTP/1.1\r\nHost: tunnel.example:443\r\n\r\n");
    client.head().unwrap().unwrap();
    drop(client);
    eventually("three lines", || read_to_string(&log).unwrap().lines().count() == 3);
    let mut lines = lines(&mut daemon, &log);
    lines.sort_by_key(|line| line.split('"').nth(1).unwrap().to_owned());
    assert!(lines[0].contains("\"CONNECT h.example:443 HTTP/1.1\" 200 0 "), "{lines:?}");
    assert!(lines[1].contains("\"CONNECT tunnel.example:443 HTTP/1.1\" 5"), "{lines:?}");
    let inside = "\"GET https://h.example/a?b HTTP/1.1\" 504 ";
    assert!(lines[2].contains(inside) && lines[2].contains(" QUEUED "), "{lines:?}");
}

#[test]
fn the_line_of_a_refused_request_and_of_the_gateway_has_the_whole_url() {
    let origin = Origin::start();
    let (mut daemon, log) = logging("combined", "");
    daemon.page(&format!("/http/{}/page/0.html", origin.addr));
    let trust = Trust::of(&daemon);
    let mut client =
        Client::connect_tls(daemon.addr(), "h.example:443", "h.example", trust.tls()).unwrap();
    assert_eq!(client.get_path("other.example", "/x", "").whole().status, 421);
    drop(client);
    eventually("three lines", || read_to_string(&log).unwrap().lines().count() == 3);
    let text = lines(&mut daemon, &log).join("\n");
    let in_gateway = format!("\"GET {} HTTP/1.1\" 200 ", origin.url("/page/0.html"));
    assert!(text.contains(&in_gateway), "{text}");
    assert!(text.contains("\"GET https://h.example/x HTTP/1.1\" 421 "), "{text}");
}

#[test]
fn the_bytes_of_a_tunnel_are_counted() {
    let origin = Origin::start();
    let target = origin.addr.to_string();
    let config = format!("[tunnel]\nports = [\"{}\"]\n", origin.addr.port());
    let (daemon, log) = logging("combined", &config);
    let mut client = daemon.client();
    client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    assert_eq!(client.head().unwrap().unwrap().status, 200);
    client.send(format!("GET /big/100000 HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    client.receive("GET").whole();
    drop(client);
    let is_logged = || {
        let text = read_to_string(&log).unwrap();
        let rest = text.split_once(&format!("\"CONNECT {target} HTTP/1.1\" 200 "));
        let bytes = rest.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        bytes.is_some_and(|bytes: u64| bytes > 100_000) && text.contains(" TUNNELLED ")
    };
    eventually("the line of the tunnel", is_logged);
}

#[test]
fn a_client_that_leaves_is_logged_with_499() {
    let origin = Origin::start();
    let gate = Gate::new();
    let hold = std::sync::Arc::clone(&gate);
    origin.on("/slow", move |exchange| {
        hold.wait();
        exchange.answer(&Answer::html("late"))
    });
    let (daemon, log) = logging("combined", "");
    let mut client = daemon.client();
    client.ask(&origin.url("/slow"), "");
    eventually("the origin is asked", || origin.count("/slow") == 1);
    client.reset();
    eventually("the line", || read_to_string(&log).unwrap().contains("/slow HTTP/1.1\" 499 0 "));
    gate.open();
}

#[test]
fn a_full_disk_is_reported_once_and_delays_nothing() {
    let origin = Origin::start();
    let mut daemon = Daemon::configured("[startup]\naccess-log = \"/dev/full\"\n");
    for _ in 0..20 {
        assert_eq!(daemon.get(&origin.url("/page/0.html")).whole().status, 200);
    }
    daemon.tells("the access log cannot be written");
    daemon.down();
    assert_eq!(daemon.whole_log().matches("the access log cannot be written").count(), 1);
}

#[test]
fn a_log_that_cannot_be_opened_refuses_the_start() {
    let daemon = Daemon::prepare(Some("[startup]\naccess-log = \"/missing/access.log\"\n"));
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 64, "{refused:?}");
    assert!(refused.err.contains("access-log = \"/missing/access.log\""), "{refused:?}");
}

/// Gives the daemon a `/dev/log` and a journal: a socket of the test.
const SYSTEM_LOG: &str = "exec unshare --map-root-user --mount sh -c '
    touch \"$HOME/null\" && mount --bind /dev/null \"$HOME/null\" && mount -t tmpfs tmpfs /dev &&
    touch /dev/null && mount --bind \"$HOME/null\" /dev/null && mount -t tmpfs tmpfs /run &&
    mkdir -p /run/systemd/journal && ln -s \"$HOME/socket\" /dev/log &&
    ln -s \"$HOME/socket\" /run/systemd/journal/socket && exec \"$0\" \"$@\"' \"$0\" \"$@\"";

#[test]
#[ignore = "needs unshare"]
fn requests_are_logged_to_syslog_and_to_the_journal() {
    program(&["unshare"]);
    let origin = Origin::start();
    origin.say("/page", Answer::html("12345"));
    for (to, begin, end) in [
        ("syslog", "<30>", ""),
        ("journal", "MESSAGE={", "\nPRIORITY=6\nSYSLOG_IDENTIFIER=wwwoffle\n"),
    ] {
        let options = format!("[startup]\naccess-log = \"{to}\"\naccess-log-format = \"json\"\n");
        let mut daemon = Daemon::prepare(Some(&options)).with_setup(SYSTEM_LOG);
        let log = UnixDatagram::bind(daemon.home().join("socket")).unwrap();
        log.set_read_timeout(Some(PATIENCE)).unwrap();
        daemon.up();
        assert_eq!(daemon.get(&origin.url("/page")).whole().status, 200);
        let mut bytes = [0; 4096];
        let length = log.recv(&mut bytes).unwrap();
        let text = std::str::from_utf8(&bytes[..length]).unwrap();
        assert!(text.starts_with(begin), "{text}");
        let (line, rest) = text.split_at(text.find('}').unwrap() + 1);
        let line: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
        assert_eq!(
            (&line["bytes"], &line["url"]),
            (&5.into(), &origin.url("/page").into()),
            "{to}"
        );
        assert_eq!(rest, end, "{to}");
    }
}

#[test]
#[ignore = "needs root"]
fn root_follows_no_link_that_another_user_could_make() {
    need_root();
    let daemon = Daemon::prepare(Some(""));
    let (folder, target) = (daemon.home().join("log"), daemon.home().join("target"));
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&target, folder.join("link")).unwrap();
    std::os::unix::fs::chown(&folder, Some(54_321), None).unwrap();
    let to = folder.join("link");
    write(daemon.config_file(), format!("[startup]\naccess-log = \"{}\"\n", to.display())).unwrap();
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 64, "{refused:?}");
    assert!(!target.exists());
}

#[test]
#[ignore = "needs logrotate"]
fn logrotate_rotates_by_renaming_and_by_copying() {
    let logrotate = program(&["logrotate"]);
    for how in ["nocopytruncate", "copytruncate"] {
        let (mut daemon, log) = logging("combined", "");
        daemon.page("/");
        eventually("a line", || read_to_string(&log).unwrap().lines().count() == 1);
        let (rules, state) = (daemon.home().join("rules"), daemon.home().join("state"));
        write(&rules, format!("{log:?} {{\n  rotate 2\n  nocreate\n  {how}\n}}\n")).unwrap();
        let (rules, state) = (rules.to_str().unwrap(), state.to_str().unwrap());
        let ran = tool(logrotate.to_str().unwrap(), &["-f", "-s", state, rules], "");
        assert_eq!(ran.status, 0, "{ran:?}");
        daemon.page("/statistics/");
        let rotated = read_to_string(log.with_extension("log.1")).unwrap();
        let lines = lines(&mut daemon, &log);
        assert!(rotated.contains("\"GET / HTTP/1.1\"") && rotated.lines().count() == 1, "{how}");
        let [line] = &lines[..] else { panic!("{how}: {lines:?}") };
        assert!(line.contains("\"GET /statistics/ HTTP/1.1\""), "{how}: {line}");
    }
}

#[test]
#[ignore = "needs goaccess"]
fn goaccess_reads_every_line() {
    let goaccess = program(&["goaccess"]);
    let origin = Origin::start();
    let fresh = Answer::html("12345").field("Cache-Control", "max-age=3600");
    origin.say("/page", fresh);
    let (mut daemon, log) = logging("combined", "");
    for _ in 0..3 {
        let fields = "User-Agent: Mozilla/5.0 \"quoted\" Firefox/140.0\r\n";
        daemon.client().get_with(&origin.url("/page"), fields).whole();
    }
    daemon.get(&origin.url("/404.html")).whole();
    daemon.page("/");
    let home = daemon.home().to_owned();
    assert_eq!(lines(&mut daemon, &log).len(), 5);
    // The format of the guide, and the one that goaccess knows by name.
    let guide = include_str!("../../docs/guide/access-log.md");
    let ours = guide.split_once("--log-format='").unwrap().1.split_once('\'').unwrap().0;
    for format in [ours, "COMBINED"] {
        let report = home.join("report.json");
        let ran = tool(
            goaccess.to_str().unwrap(),
            &[
                log.to_str().unwrap(),
                "--no-global-config",
                &format!("--log-format={format}"),
                "--date-format=%d/%b/%Y",
                "--time-format=%T",
                "-o",
                report.to_str().unwrap(),
            ],
            "",
        );
        assert_eq!(ran.status, 0, "{ran:?}");
        let report: Value = serde_json::from_str(&read_to_string(&report).unwrap()).unwrap();
        let general = &report["general"];
        assert_eq!(general["valid_requests"], 5, "{format}: {general}");
        assert_eq!(general["failed_requests"], 0, "{format}: {general}");
        if format == ours {
            let hits = report["cache_status"]["data"].as_array().unwrap();
            let hit = hits.iter().find(|row| row["data"] == "HIT").unwrap();
            assert_eq!(hit["hits"]["count"], 2, "{hits:?}");
        }
    }
}
