//! `kill -9` at random moments, by the conformance script. Afterwards no body is wrong, truncated
//! or lost.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use crate::harness::{Daemon, daemon, heavy};

/// Time limit for 20 rounds.
const LIMIT: Duration = Duration::from_secs(25 * 60);

#[test]
#[ignore = "needs ../shared/conformance"]
fn kill_9_in_mid_download_leaves_a_sound_spool() {
    let script = crate::proxy::conformance::script("kill9.py");
    let _alone = heavy();
    let place = Daemon::prepare(None);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (program, spool) = (env!("CARGO_BIN_EXE_wwwoffle"), place.spool().to_str().unwrap());
    let serve = format!("exec {program} serve --spool {{spool}} --listen 127.0.0.1:{{port}}");
    // If the daemon started online and was then switched to offline, it would fetch requests of the
    // queue in between. So it starts in the right mode.
    let in_mode = |mode: &str| format!("{serve} --mode {mode}");
    let log = place.home().join("log");
    let mut command = Command::new("python3");
    command.arg(&script).args(["--name", "wwwoffle", "--strict", "-v"]);
    command.args(["--port", &port.to_string(), "--spool", spool]);
    command.args(["--start", &in_mode("online"), "--offline", &in_mode("offline")]);
    // 200 concurrent clients. There are more URLs than clients.
    command.args(["--rounds", "20", "--threads", "200", "--urls", "230"]);
    command.arg("--log").arg(&log);
    command.env("HOME", place.home()).env("XDG_DATA_HOME", place.home());
    let output = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&output.stdout);
    eprintln!("{said}");
    let log = std::fs::read_to_string(&log).unwrap_or_default();
    let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked")).collect();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(panics.is_empty(), "{panics:?}");
}
