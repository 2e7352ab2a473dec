//! `kill -9` while the index is written. Afterwards the index is intact or is rebuilt, and contains
//! all entries.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "the child learns from its environment what it is")]
#![allow(clippy::print_stdout, reason = "by which the child says what it has done")]

mod support;

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use support::{index, open, place, store, urls};
use wwwoffle_index::{FILE, Filter, ReindexScope, Sort};

/// The number of times that the child is killed.
const ROUNDS: usize = 20;

/// The environment variable with the directory for the child.
const ROOT: &str = "WWWOFFLE_INDEX_TEST_ROOT";

/// The name of the test, which starts itself once more as the child.
const THIS_TEST: &str = "a_killed_index_is_sound_or_rebuilt";

/// The environment variable with the number of the round.
const ROUND: &str = "WWWOFFLE_INDEX_TEST_ROUND";

/// The child: stores and indexes pages, sometimes rebuilds the index, and prints each page that is
/// on disk.
fn child(root: &Path) {
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let spool = open(root);
    let index = index(&spool);
    for number in 0.. {
        let url = format!("http://h{}.example/{round}/{number}", number % 5);
        store(&spool, &url, &format!("title T{number}\nwords of {round} and {number}"));
        if number % 3 == 0 {
            store(&spool, "http://h0.example/again", &format!("title Again\n{round} {number}"));
        }
        if number % 4 == 3 {
            spool.flush().unwrap();
            index.wait_until_current(false).unwrap();
        }
        if number % 16 == 15 && round % 2 == 1 {
            index.reindex(ReindexScope::All).unwrap();
        }
        println!("stored {url}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
#[ignore = "slow"]
fn a_killed_index_is_sound_or_rebuilt() {
    if let Some(root) = std::env::var_os(ROOT) {
        return child(Path::new(&root));
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut stored = Vec::new();
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS_TEST, "--nocapture", "--include-ignored"])
            .env(ROOT, root)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The child is killed at a different point each time: during a commit, while reading pages,
        // during a rebuild.
        let last = 5 + 7 * round % 43;
        let told = lines.by_ref().map_while(Result::ok);
        let told =
            told.filter_map(|line| line.split_once("stored ").map(|(_, url)| url.to_owned()));
        stored.extend(told.take(last));
        child.kill().unwrap();
        child.wait().unwrap();
        // Reads the last output of the child too. With durability `batch`, nothing is lost if only
        // the program ends.
        let rest = lines.map_while(Result::ok);
        stored.extend(
            rest.filter_map(|line| line.split_once("stored ").map(|(_, url)| url.to_owned())),
        );
        is_sound(&root.join(FILE));
    }
    let spool = open(root);
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    let mut listed = urls(&index, &Filter::default(), Sort::Name);
    listed.sort();
    let missing: Vec<_> = stored.iter().filter(|url| listed.binary_search(url).is_err()).collect();
    assert!(missing.is_empty() && stored.len() > 10 * ROUNDS, "{missing:?}");
    assert!(spool.entry(&place(&stored[0])).unwrap().found().is_some());
    index.reindex(ReindexScope::All).unwrap();
    let mut anew = urls(&index, &Filter::default(), Sort::Name);
    anew.sort();
    assert_eq!(listed, anew);
    assert!(index.faults().is_empty());
}

/// Checks that a file is an intact database.
#[track_caller]
fn is_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let told: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(told, "ok");
}
