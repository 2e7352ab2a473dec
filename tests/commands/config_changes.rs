//! Changes of the configuration with a running daemon, and without one.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::client::{Client, Response};
use crate::harness::{Daemon, eventually};

const TEXT: &str = "\
# mine
[options]
# as it was
log-level = \"info\" # enough

[offline-options]
noise = [
  \"*://noise.test/*\", # first
]
";

fn read(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.home().join("wwwoffle.conf")).unwrap()
}

/// Saves the file like an editor that overwrites it.
fn save(daemon: &Daemon, text: &str) {
    fs::write(daemon.home().join("wwwoffle.conf"), text).unwrap();
}

/// Requests the start page of `host`. Returns whether the request counts as noise, which is not
/// queued.
#[track_caller]
fn is_noise(daemon: &Daemon, host: &str) -> bool {
    let url = format!("http://{host}/");
    daemon.get(&url);
    let queued = daemon.queued().contains(&url);
    daemon.api("POST", "/api/queue/delete", r#"{"all":true}"#);
    !queued
}

/// An offline daemon with [`TEXT`].
fn offline() -> Daemon {
    let daemon = Daemon::configured(TEXT);
    daemon.ok(&["offline"]);
    daemon
}

/// Sends a request with the additional header fields `fields` over the control socket.
fn call(daemon: &Daemon, method: &str, path: &str, fields: &str, body: &str) -> Response {
    let mut client = Client::unix(&daemon.spool().join("control"));
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         {fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    client.receive(method).whole()
}

fn json(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}

#[test]
fn an_edit_is_in_force_for_the_next_request_and_is_undone() {
    let daemon = offline();
    assert!(is_noise(&daemon, "noise.test") && !is_noise(&daemon, "more.test"));
    let said = daemon.ok(&["config", "add", "offline-options.noise", "*://more.test/*"]);
    assert!(said.contains("wwwoffle.conf:9: offline-options.noise = ["), "{said}");
    assert!(is_noise(&daemon, "more.test"));
    let want = TEXT.replace("# first\n", "# first\n  \"*://more.test/*\",\n");
    assert_eq!(read(&daemon), want);
    let versions = daemon.ok(&["config", "versions"]);
    assert_eq!(versions.lines().count(), 1, "{versions}");
    let said = daemon.ok(&["config", "undo"]);
    assert!(said.contains("changed: offline-options.noise"), "{said}");
    assert!(!is_noise(&daemon, "more.test"));
    assert_eq!(read(&daemon), TEXT);
    daemon.ok(&["config", "undo"]);
    assert!(is_noise(&daemon, "more.test"));
}

#[test]
#[ignore = "slow"]
fn a_saved_file_and_sighup_reload_the_configuration() {
    let daemon = offline();
    save(&daemon, &TEXT.replace("noise.test", "other.test"));
    eventually("the change is noticed", || daemon.log().contains("offline-options.noise"));
    assert!(is_noise(&daemon, "other.test") && !is_noise(&daemon, "noise.test"));
    save(&daemon, &TEXT.replace("noise.test", "third.test"));
    daemon.signal("HUP");
    eventually("SIGHUP is obeyed", || is_noise(&daemon, "third.test"));
    daemon.tells("SIGHUP");
    save(&daemon, TEXT);
    let said = daemon.ok(&["config", "reload"]);
    assert!(said.contains("changed: offline-options.noise"), "{said}");
    assert!(is_noise(&daemon, "noise.test"));
}

#[test]
#[ignore = "slow"]
fn a_changed_list_file_is_reloaded() {
    let text = "[offline-options]\nnoise = [{ file = \"list.txt\" }]\n";
    let place = Daemon::prepare(Some(text));
    let list = place.home().join("list.txt");
    fs::write(&list, "*://noise.test/*\n").unwrap();
    let mut daemon = place;
    daemon.up();
    daemon.ok(&["offline"]);
    assert!(is_noise(&daemon, "noise.test"));
    fs::write(&list, "*://other.test/*\n").unwrap();
    eventually("the list is read again", || is_noise(&daemon, "other.test"));
    assert!(!is_noise(&daemon, "noise.test"));
}

#[test]
#[ignore = "slow"]
fn a_faulty_file_is_reported_once_and_not_applied() {
    let daemon = offline();
    save(&daemon, &TEXT.replace("\"info\"", "\"loud\"").replace("noise =", "nois ="));
    eventually("the faults are reported", || daemon.log().contains("takes \"error\""));
    assert!(is_noise(&daemon, "noise.test"));
    let reload = daemon.run(&["config", "reload"]);
    assert_eq!(reload.status, 64, "{reload:?}");
    assert!(reload.err.contains("log-level") && reload.err.contains("the nearest is \"noise\""));
    assert_eq!(daemon.log().matches("takes \"error\"").count(), 1, "{}", daemon.log());
    // `config set` is refused too, because the file still has another fault.
    let set = daemon.run(&["config", "set", "options.log-level", "warn"]);
    assert_eq!(set.status, 64, "{set:?}");
    save(&daemon, &TEXT.replace("noise.test", "other.test"));
    eventually("the repaired configuration is noticed", || is_noise(&daemon, "other.test"));
}

#[test]
fn a_conflicting_change_is_refused_with_both_versions() {
    let daemon = offline();
    let state = call(&daemon, "GET", "/api/config", "", "");
    let stamp = json(&state)["stamp"].as_str().unwrap().to_owned();
    assert!(state.text().contains(&stamp));
    let theirs = TEXT.replace("# mine", "# theirs");
    save(&daemon, &theirs);
    let edit = r#"{"set":{"section":"options","key":"dns-timeout","value":"5s"}}"#;
    let fields = format!("If-Match: \"{stamp}\"\r\n");
    let refused = call(&daemon, "POST", "/api/config", &fields, edit);
    assert_eq!(refused.status, 412, "{}", refused.text());
    let told = json(&refused);
    assert_eq!(told["current"], theirs);
    assert!(told["wanted"].as_str().unwrap().contains("dns-timeout = \"5s\""), "{told}");
    assert_eq!(read(&daemon), theirs);
    let done = call(&daemon, "POST", "/api/config", "", edit);
    assert_eq!(done.status, 200, "{}", done.text());
    let change = json(&done);
    assert_eq!((&change["line"], &change["now"]), (&5.into(), &"\"5s\"".into()));
    let bad = call(&daemon, "POST", "/api/config", "If-Match: \"x\"\r\n", edit);
    assert_eq!(bad.status, 400, "{}", bad.text());
    let edit = r#"{"set":{"section":"options","key":"dns-timeout","value":"soon"}}"#;
    let faulty = call(&daemon, "POST", "/api/config", "", edit);
    assert_eq!(faulty.status, 422, "{}", faulty.text());
    assert_eq!(json(&faulty)["faults"][0]["line"], 5);
}

#[test]
fn options_that_control_the_machine_cannot_be_set_over_the_port() {
    let daemon = offline();
    let secret = daemon.home().join("secret.txt");
    fs::write(&secret, "a line that is for nobody\n").unwrap();
    let item = format!("{{ file = {secret:?} }}");
    let set = |section: &str, key: &str, value: &str| {
        serde_json::json!({"set": {"section": section, "key": key, "value": value}}).to_string()
    };
    let page = daemon.page("/").text();
    let token =
        page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let fields = format!("X-Wwwoffle-Token: {}\r\n", token.unwrap());
    let post = |body: &str| {
        let mut client = daemon.client();
        client.send(format!(
            "POST /api/config HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             {fields}Content-Length: {}\r\n\r\n{body}",
            daemon.addr(),
            body.len()
        ));
        client.receive("POST").whole()
    };
    for edit in [
        set("options", "run-online", "/bin/true"),
        set("offline-options", "noise", &format!("[{item}]")),
        set("options", "include", secret.to_str().unwrap()),
        serde_json::json!({"add": {"section": "offline-options", "key": "noise", "item": item}})
            .to_string(),
    ] {
        let refused = post(&edit);
        assert!((400..500).contains(&refused.status), "{edit}: {}", refused.text());
        assert!(!refused.text().contains("for nobody"), "{edit}: {}", refused.text());
        assert_eq!(read(&daemon), TEXT, "{edit}");
    }
    let refused = post(&set("options", "run-online", "/bin/true"));
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("control password"), "{}", refused.text());
    // Over the control socket, this option may be set.
    daemon.ok(&["config", "set", "options.run-online", "/bin/true"]);
    // Over the network, everyone who may change settings may also set options that grant no further
    // rights.
    let allowed = post(&set("options", "dns-timeout", "5s"));
    assert_eq!(allowed.status, 200, "{}", allowed.text());
}

#[test]
fn a_new_log_level_applies_at_once() {
    let daemon = offline();
    daemon.get("http://a.test/");
    assert!(!daemon.log().contains("DEBUG"), "{}", daemon.log());
    daemon.ok(&["config", "set", "options.log-level", "debug"]);
    eventually("more is logged", || {
        daemon.get("http://b.test/");
        daemon.log().contains("DEBUG")
    });
}

#[test]
fn a_new_origin_timeout_applies_at_once() {
    // An origin that accepts connections and sends nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let daemon = Daemon::configured(TEXT);
    // The timeout at the start is one minute, longer than that of this client.
    daemon.ok(&["config", "set", "options.head-timeout", "100ms"]);
    let answer = daemon.get(&format!("http://{}/", silent.local_addr().unwrap()));
    assert_eq!(answer.status, 504, "{}", answer.text());
}

#[test]
fn a_change_that_needs_a_restart_is_reported() {
    let daemon = Daemon::configured(TEXT);
    let said = daemon.ok(&["config", "set", "startup.durability", "each"]);
    assert!(
        said.contains("restart the daemon to apply: startup.durability\n`wwwoffle stop`"),
        "{said}"
    );
    let said = daemon.ok(&["config", "unset", "startup.durability"]);
    assert!(!said.contains("restart the daemon"), "{said}");
}

#[test]
fn without_a_daemon_the_file_is_changed() {
    let place = Daemon::prepare(None);
    let path = place.home().join("config/wwwoffle/wwwoffle.conf");
    assert_eq!(place.ok(&["config", "path"]).trim_end(), path.to_str().unwrap());
    assert!(place.ok(&["config", "check"]).contains("the defaults apply"));
    assert_eq!(place.ok(&["config", "get", "options.log-level"]), "\"info\"\n");
    place.ok(&["config", "set", "options.log-level", "warn"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[options]\nlog-level = \"warn\"\n");
    assert_eq!(place.ok(&["config", "get", "options.log-level"]), "\"warn\"\n");
    assert_eq!(place.ok(&["config", "show"]), "[options]\nlog-level = \"warn\"\n");
    let said = place.ok(&["config", "set", "options.log-level", "warn"]);
    assert!(said.contains("is unchanged"), "{said}");
    let all = place.ok(&["config", "get"]);
    assert!(all.contains("wwwoffle.conf:2") && all.contains("# default"), "{all}");
    let refused = place.run(&["config", "set", "options.log-level", "loud"]);
    assert_eq!(refused.status, 64, "{refused:?}");
    for wrong in [&["config", "set", "log-level", "warn"][..], &["config", "get", "a.b"]] {
        assert_ne!(place.run(wrong).status, 0, "{wrong:?}");
    }
    let reload = place.run(&["config", "reload"]);
    assert_eq!(reload.status, 69, "{reload:?}");
}

#[test]
fn changes_over_the_port_need_the_token() {
    let daemon = Daemon::configured(TEXT);
    let body = r#"{"unset":{"section":"options","key":"log-level"}}"#;
    let send = |method: &str, path: &str, host: &str, fields: &str| {
        let mut client = daemon.client();
        client.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             {fields}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        client.receive(method).whole().status
    };
    let own = daemon.addr().to_string();
    let page = daemon.page("/").text();
    let token =
        page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = format!("X-Wwwoffle-Token: {}\r\n", token.unwrap());
    for path in ["/api/config", "/api/config/undo", "/api/config/reload"] {
        assert_eq!(send("POST", path, &own, ""), 403, "{path}");
        let forged = format!("{token}Origin: http://evil.test\r\n");
        assert_eq!(send("POST", path, &own, &forged), 403, "{path}");
    }
    assert_eq!(send("PUT", "/api/config", &own, &token), 405);
    assert_eq!(read(&daemon), TEXT);
    assert_eq!(send("POST", "/api/config", &own, &token), 200);
    assert_ne!(read(&daemon), TEXT);
}

/// A generator of pseudo-random numbers, which are the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

const WRITERS_TEXT: &str = "\
# one
[tunnel]
ports = [ # two
  443, # three
  8080, # four
]
[fetch-options]
#attempts = 5
# five
per-host = 6 # six
at-once = 32 # seven
";

/// Sets `option` 500 times, as one of two concurrent writers, and kills some of the commands
/// half-way. A reported success must last, because the other writer does not change this option.
fn write_and_kill(place: &Daemon, option: &str, seed: u64) {
    let mut chance = Chance(seed);
    let mut may_be: Vec<u64> = Vec::new();
    for number in 0..500 {
        let value = 1 + chance.below(1_000);
        let text = value.to_string();
        let mut command = place.command(&["config", "set", option, &text]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        if chance.below(3) == 0 {
            // The kill comes at some point in the few milliseconds that a change takes. The test
            // does not depend on the exact time: at no point may data be lost.
            std::thread::sleep(Duration::from_micros(chance.below(20_000)));
            child.kill().unwrap();
        }
        if child.wait().unwrap().success() {
            may_be = vec![value];
        } else {
            may_be.push(value);
        }
        if number % 50 == 49 {
            let now: u64 = place.ok(&["config", "get", option]).trim().parse().unwrap();
            assert!(may_be.contains(&now) || may_be.len() == number + 1, "{option} is {now}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_thousand_edits_by_two_killed_writers_lose_nothing() {
    let place = Daemon::prepare(Some(WRITERS_TEXT));
    let (path, over) = (place.home().join("wwwoffle.conf"), Arc::new(AtomicBool::new(false)));
    let is_whole = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        for comment in ["# one", "# two", "# three", "# four", "#attempts = 5", "# five", "# six"] {
            assert!(text.contains(comment), "{comment} in\n{text}");
        }
        assert!(text.ends_with("# seven\n"), "{text}");
        assert_eq!(text.lines().count(), WRITERS_TEXT.lines().count(), "{text}");
    };
    std::thread::scope(|scope| {
        let (looking, file) = (Arc::clone(&over), path.clone());
        scope.spawn(move || {
            while !looking.load(Ordering::Relaxed) {
                is_whole(&file);
            }
        });
        let place = &place;
        let one = scope.spawn(move || write_and_kill(place, "fetch-options.per-host", 1));
        let two = scope.spawn(move || write_and_kill(place, "fetch-options.at-once", 2));
        let ended = (one.join(), two.join());
        over.store(true, Ordering::Relaxed);
        assert!(ended.0.is_ok() && ended.1.is_ok());
    });
    is_whole(&path);
    assert!(place.ok(&["config", "check"]).contains("no errors"));
    let kept = place.ok(&["config", "versions"]).lines().count();
    assert_eq!(kept, 10);
}

#[test]
fn a_configuration_of_2_9_is_converted_and_usable() {
    let daemon = Daemon::configured("");
    let (old, new) = (daemon.home().join("old.conf"), daemon.home().join("new.conf"));
    fs::write(&old, "Options\n{\n# as ever\n log-level = important\n lock-files = yes\n}\n")
        .unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let mistaken = daemon.run(&["config", "check", old]);
    assert_eq!(mistaken.status, 64);
    assert!(mistaken.err.contains("`wwwoffle config import "), "{}", mistaken.err);
    let shown = daemon.ok(&["config", "import", old]);
    assert!(
        shown.ends_with(
            "[options]\n# as ever\nlog-level = \"info\"\n# 2.9: lock-files = yes\n\
        # left out: one download is shared by all clients that request it\n"
        ),
        "{shown}"
    );

    let written = daemon.run(&["config", "import", old, "--output", new]);
    assert_eq!(written.status, 0);
    let said = written.err;
    assert!(said.contains("old.conf:5: \"lock-files = yes\" is left out"), "{said}");
    assert_eq!(fs::read_to_string(new).unwrap(), shown);
    daemon.ok(&["config", "check", new]);

    let again = daemon.run(&["config", "import", old, "--output", new]);
    assert_eq!(again.status, 64);
    assert!(again.err.contains("new.conf: already exists: name another file"), "{}", again.err);
}
