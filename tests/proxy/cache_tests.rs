//! Runs the cache tests of the npm package `http-cache-tests` through our proxy.
//!
//! Their client cannot use a proxy, so it connects to a port that changes its requests into
//! absolute form. The results of all tests must agree with `cache_tests.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use crate::harness::tools::{plain, program};
use crate::harness::{Absolute, Daemon, cannot_run, daemon, heavy};

/// Time limit for all tests together. Many tests wait three seconds until a response is stale.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The configuration of a shared cache, since most of the tests are about shared caches. By
/// default, a response without any basis for a heuristic is never fresh, as the tests require.
/// `M-SEARCH`, which some tests use to invalidate, is not a registered method.
const CONFIG: &str = "[caching]\nshared = true\n[dont-get]\nallowed-methods = [\"M-SEARCH\"]\n";

/// The outcome of one test.
#[derive(Debug, Deserialize)]
struct Outcome {
    id: String,
    kind: Kind,
    passed: bool,
    why: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// The standards require this of a cache.
    Required,
    /// A good cache does this, but the standards do not require it.
    Optimal,
    /// Both results are allowed. The test only reports the result.
    Check,
}

/// The test suite's server, which is the origin.
struct Server {
    addr: SocketAddr,
    child: Child,
}

impl Server {
    fn start(node: &Path, package: &Path, home: &Path) -> Self {
        let mut command = plain(Command::new(node));
        command.arg("server/server.mjs").current_dir(package);
        command.env("npm_config_protocol", "http").env("npm_config_port", "0");
        command.env("npm_config_pidfile", home.join("pid"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // `Listening on http://[::]:40123/`
        let port = line.trim_end().trim_end_matches('/').rsplit(':').next();
        let port: u16 =
            port.and_then(|port| port.parse().ok()).expect("the server prints its port");
        Self { addr: ([127, 0, 0, 1], port).into(), child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs node and http-cache-tests"]
fn the_cache_tests_pass_except_for_the_listed_ones() {
    let node = program(&["node", "nodejs"]);
    let package = package();
    let _alone = heavy();
    let daemon = Daemon::configured(CONFIG);
    let server = Server::start(&node, &package, daemon.home());
    let door = Absolute::to(daemon.addr(), server.addr);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/cache-tests.mjs");
    let mut command = plain(Command::new(&node));
    command.arg(script).arg(&package).arg(format!("http://{}", door.addr));
    let ran = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    let outcomes: Vec<Outcome> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    tell(&outcomes);
    hold(&outcomes);
}

/// The directory of the package: `$HTTP_CACHE_TESTS`, which `.ci/run` sets.
fn package() -> PathBuf {
    let found = std::env::var_os("HTTP_CACHE_TESTS").map(PathBuf::from);
    found.filter(|package| package.join("package.json").is_file()).unwrap_or_else(|| {
        cannot_run("the npm package http-cache-tests is missing: set HTTP_CACHE_TESTS to it")
    })
}

fn tell(outcomes: &[Outcome]) {
    let mut counts: BTreeMap<Kind, [usize; 2]> = BTreeMap::new();
    for outcome in outcomes {
        let [passed, all] = counts.entry(outcome.kind).or_default();
        *passed += usize::from(outcome.passed);
        *all += 1;
        if !outcome.passed {
            eprintln!("{:?} {}: {}", outcome.kind, outcome.id, outcome.why);
        }
    }
    eprintln!("passed, of all: {counts:?}");
}

/// Compares with the list: tests in the list must fail, and all other tests must pass.
fn hold(outcomes: &[Outcome]) {
    let excused: BTreeSet<&str> = include_str!("cache_tests.txt")
        .lines()
        .filter(|row| !row.starts_with('#'))
        .filter_map(|row| row.split_whitespace().next())
        .collect();
    let judged = || outcomes.iter().filter(|outcome| outcome.kind != Kind::Check);
    let wrong: Vec<_> = judged()
        .filter(|outcome| outcome.passed == excused.contains(outcome.id.as_str()))
        .map(|outcome| {
            let what = if outcome.passed { "passed" } else { "failed: " };
            format!("{} {what}{}", outcome.id, outcome.why)
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ from the list:\n{}", wrong.len(), wrong.join("\n"));
    let known: BTreeSet<&str> = judged().map(|outcome| outcome.id.as_str()).collect();
    assert!(excused.is_subset(&known), "unknown tests: {:?}", excused.difference(&known));
    let required = judged().filter(|outcome| outcome.kind == Kind::Required);
    assert!(required.count() > 150, "all tests ran");
}
