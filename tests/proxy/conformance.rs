//! The conformance scripts in `../shared/conformance` beside the repository: hostile requests and
//! faulty origins (`h1_robustness.py`; the test `crash` runs `kill9.py`). Most clones lack that
//! directory, so the tests are ignored. `.ci/run` runs them if the directory exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::harness::tools::plain;
use crate::harness::{Daemon, daemon, heavy};

/// Time limit for all cases together. Most of the time is spent on cases that wait for a timeout.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The configuration, with a choice in the cases that the standards leave open.
const CONFIG: &str = "[caching]\nno-store = \"respect\"\n";

/// The outcome of one case.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    fails: Vec<String>,
}

/// A conformance script.
pub(crate) fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/conformance");
    let script = folder.join(name);
    assert!(script.is_file(), "../shared/conformance/{name} is missing");
    script
}

/// The command line quoted for a shell.
fn quoted(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| format!("'{}'", word.to_str().unwrap())).collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs ../shared/conformance"]
fn hostile_requests_and_faulty_origins_are_handled_as_listed() {
    let script = script("h1_robustness.py");
    let _alone = heavy();
    let daemon = Daemon::configured(CONFIG);
    let verdicts = daemon.home().join("verdicts.json");
    let mut command = plain(Command::new("python3"));
    command.arg(script).arg(daemon.addr().to_string()).arg("--json").arg(&verdicts);
    command.args(["--pid", &daemon.pid()]);
    command.arg("--offline-cmd").arg(quoted(&daemon.command(&["offline"])));
    command.arg("--online-cmd").arg(quoted(&daemon.command(&["online"])));
    let ran = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&ran.stdout);
    eprintln!("{said}{}", String::from_utf8_lossy(&ran.stderr));
    let told: Value = serde_json::from_slice(&std::fs::read(&verdicts).unwrap()).unwrap();
    assert_eq!(told["restarts"], 0, "the daemon stayed up");
    let cases: Vec<Case> = serde_json::from_value(told["cases"].clone()).unwrap();
    hold(&cases);
}

/// Compares with the list: cases in the list must fail, and all other cases must pass. A case with
/// `?` before its name may pass or fail.
fn hold(cases: &[Case]) {
    let listed: Vec<&str> = include_str!("conformance.txt")
        .lines()
        .filter(|row| !row.starts_with('#'))
        .filter_map(|row| row.split_whitespace().next())
        .collect();
    let sometimes: BTreeSet<&str> = listed.iter().filter_map(|id| id.strip_prefix('?')).collect();
    let excused: BTreeSet<&str> = listed.iter().map(|id| id.trim_start_matches('?')).collect();
    let wrong: Vec<_> = cases
        .iter()
        .filter(|case| !sometimes.contains(case.id.as_str()))
        .filter(|case| case.fails.is_empty() == excused.contains(case.id.as_str()))
        .map(|case| format!("{}: {}", case.id, case.fails.join("; ")))
        .collect();
    assert!(wrong.is_empty(), "{} differ from the list:\n{}", wrong.len(), wrong.join("\n"));
    let known: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert!(excused.is_subset(&known), "unknown cases: {:?}", excused.difference(&known));
    assert!(cases.len() > 260, "all cases ran: {}", cases.len());
}
