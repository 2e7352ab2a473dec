//! Hooks: programs that run after an event.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{Answer, Daemon, Origin, eventually};

/// Writes an executable shell script of `lines` to `path`.
fn program(path: &Path, lines: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A daemon that runs a shell script of `lines` for every hook. `OUT` in `lines` stands for the
/// file `out` in the home directory. `more` is added to the section `[options]`.
fn hooked(lines: &str, more: &str) -> Daemon {
    let mut daemon = Daemon::prepare(Some(""));
    let (hook, out) = (daemon.home().join("hook"), daemon.home().join("out"));
    program(&hook, &lines.replace("OUT", &out.display().to_string()));
    let path = hook.display();
    let names = ["run-online", "run-offline", "run-autodial", "run-fetch", "run-changed"];
    let lines: String = names.iter().map(|name| format!("{name} = \"{path}\"\n")).collect();
    std::fs::write(daemon.config_file(), format!("[options]\n{lines}{more}\n")).unwrap();
    daemon.up();
    daemon
}

#[test]
fn hooks_receive_their_event_and_their_output_is_logged() {
    let origin = Origin::start();
    origin.say("/page", Answer::html("x"));
    let daemon = hooked(
        "echo \"$* $WWWOFFLE_MODE $# $(env | grep -c HOME)\" >> OUT; echo said; read x; echo \"got $x\" >&2",
        "",
    );
    let out = daemon.home().join("out");
    let has = |line: &str| eventually(line, || read(&out).lines().any(|one| one == line));
    daemon.ok(&["offline"]);
    has("offline offline 1 0");
    daemon.ok(&["autodial"]);
    has("autodial autodial 1 0");
    daemon.ok(&["online"]);
    has("online online 1 0");
    daemon.ok(&["get", &origin.url("/page")]);
    has("fetch start online 2 0");
    has("fetch stop online 2 0");
    let lines = read(&out);
    let (start, stop) = (lines.find("fetch start").unwrap(), lines.find("fetch stop").unwrap());
    assert!(start < stop, "{lines}");
    daemon.ok(&["config", "set", "fetch-options.attempts", "4"]);
    has("changed online 1 0");
    eventually("its output is logged", || {
        let log = daemon.log();
        log.contains("\"said\"") && log.contains("\"got \"")
    });
}

#[test]
#[ignore = "slow"]
fn a_slow_hook_is_killed_with_its_children_without_blocking_others() {
    let daemon = hooked("sleep 600 & echo $! >> OUT; wait", "run-timeout = \"1s\"");
    let out = daemon.home().join("out");
    daemon.ok(&["offline"]);
    // Hooks of different kinds run at the same time.
    daemon.ok(&["online"]);
    eventually("both have begun", || read(&out).lines().count() == 2);
    eventually("it is reported", || daemon.log().matches("a program timed out").count() == 2);
    for pid in read(&out).lines() {
        let status = format!("/proc/{pid}/stat");
        eventually("its child processes are gone", || {
            let status = read(Path::new(&status));
            status.is_empty() || status.contains(") Z ")
        });
    }
}

#[test]
fn a_failing_or_missing_hook_is_logged_and_harmless() {
    let daemon = hooked("exit 3", "");
    daemon.ok(&["offline"]);
    eventually("the failure is reported", || daemon.log().contains("a program failed"));
    std::fs::remove_file(daemon.home().join("hook")).unwrap();
    daemon.ok(&["online"]);
    eventually("it is reported", || daemon.log().contains("a program cannot be run"));
    assert_eq!(daemon.status()["mode"], "online");
}
