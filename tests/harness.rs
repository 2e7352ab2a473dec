//! The base of the tests: an origin, a client and the daemon, each with real sockets.

pub(crate) mod absolute;
pub(crate) mod chromium;
pub(crate) mod client;
pub(crate) mod daemon;
pub(crate) mod engines;
pub(crate) mod faults;
pub(crate) mod film;
pub(crate) mod firefox;
pub(crate) mod form;
pub(crate) mod forward;
pub(crate) mod frames;
pub(crate) mod ftp;
pub(crate) mod har;
pub(crate) mod http2;
pub(crate) mod http2_front;
pub(crate) mod maze;
pub(crate) mod old_spool;
pub(crate) mod origin;
pub(crate) mod secure;
pub(crate) mod site;
pub(crate) mod socks;
pub(crate) mod then;
pub(crate) mod tls;
pub(crate) mod tools;
pub(crate) mod websocket;
pub(crate) mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use absolute::Absolute;
pub(crate) use chromium::Chromium;
pub(crate) use client::{Client, Response, Tls};
pub(crate) use daemon::Daemon;
pub(crate) use firefox::Firefox;
pub(crate) use forward::Forward;
pub(crate) use origin::{After, Answer, Exchange, Origin};
pub(crate) use secure::{Stage, Trust};
pub(crate) use tls::{Authority, Identity, Manners, Speaks, TlsOrigin};

/// The maximum wait in a test. A longer wait counts as a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The interval at which a condition is polled.
const LOOK: Duration = Duration::from_millis(10);

/// Fails a test that cannot run on this machine. It must not count as passed.
///
/// Such a test is marked `#[ignore = "needs …"]`, so it runs only with `--include-ignored`.
#[track_caller]
pub(crate) fn cannot_run(why: &str) -> ! {
    panic!(
        "this test cannot run here: {why}; install it as .ci/run does, or leave the test out with --skip"
    );
}

/// Waits until `done` returns true. Fails with `what` after [`PATIENCE`].
#[track_caller]
pub(crate) fn eventually(what: &str, done: impl FnMut() -> bool) {
    eventually_within(PATIENCE, what, done);
}

/// Waits until `done` returns true. Fails with `what` after `limit`.
#[track_caller]
pub(crate) fn eventually_within(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(LOOK);
    }
}

/// All files below a directory. A directory below it may be removed meanwhile.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    files_in(std::fs::read_dir(root).unwrap())
}

fn files_in(directory: std::fs::ReadDir) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in directory.map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => match std::fs::read_dir(entry.path()) {
                Ok(directory) => found.extend(files_in(directory)),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
            },
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// Returns a lock for a test that needs the whole machine: many connections, much data, many
/// processes.
pub(crate) fn heavy() -> MutexGuard<'static, ()> {
    static HEAVY: Mutex<()> = Mutex::new(());
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A gate with which a test decides when its origin continues.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn new() -> std::sync::Arc<Self> {
        std::sync::Arc::default()
    }

    /// Opens the gate for all threads that wait now or later.
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.open.lock().unwrap()
    }

    /// Waits until the gate is open. Gives up after [`PATIENCE`], so that no thread waits
    /// forever.
    pub(crate) fn wait(&self) {
        let shut = self.open.lock().unwrap();
        drop(self.changed.wait_timeout_while(shut, PATIENCE, |open| !*open).unwrap());
    }
}
