//! `kill -9` while the index is written: what is left is sound, or is made again, and nothing of the spool
//! is missing in it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "the child learns from its environment what it is")]
#![allow(clippy::print_stdout, reason = "by which the child says what it has done")]

mod support;

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use support::{index, open, place, store, urls};
use wwwoffle_index::{FILE, Filter, Reindex, Sort};

/// How often it is killed.
const ROUNDS: usize = 20;

/// Where the child works.
const ROOT: &str = "WWWOFFLE_INDEX_TEST_ROOT";

/// Which round it is.
const ROUND: &str = "WWWOFFLE_INDEX_TEST_ROUND";

/// The child: stores pages, has them indexed, makes the index anew now and then, and says each page that
/// is on the medium.
#[test]
#[ignore = "what the other test runs and kills"]
fn child() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let spool = open(Path::new(&root));
    let index = index(&spool);
    for number in 0.. {
        let url = format!("http://h{}.example/{round}/{number}", number % 5);
        store(&spool, &url, &format!("title T{number}\nwords of {round} and {number}"));
        if number % 3 == 0 {
            store(&spool, "http://h0.example/again", &format!("title Again\n{round} {number}"));
        }
        if number % 4 == 3 {
            spool.flush().unwrap();
            index.settle(false).unwrap();
        }
        if number % 16 == 15 && round % 2 == 1 {
            index.reindex(Reindex::All).unwrap();
        }
        println!("stored {url}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_kill_leaves_an_index_that_is_sound_or_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut stored = Vec::new();
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .env(ROOT, root)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // At another place each time: in a commit, while a page is read, while the index is made.
        let last = 5 + 7 * round % 43;
        let told = lines.by_ref().map_while(Result::ok);
        let told =
            told.filter_map(|line| line.split_once("stored ").map(|(_, url)| url.to_owned()));
        stored.extend(told.take(last));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it ended, too: under `batch` nothing is lost when only the program ends.
        let rest = lines.map_while(Result::ok);
        stored.extend(
            rest.filter_map(|line| line.split_once("stored ").map(|(_, url)| url.to_owned())),
        );
        is_sound(&root.join(FILE));
    }
    let spool = open(root);
    let index = index(&spool);
    index.settle(true).unwrap();
    let mut listed = urls(&index, &Filter::default(), Sort::Name);
    listed.sort();
    let missing: Vec<_> = stored.iter().filter(|url| listed.binary_search(url).is_err()).collect();
    assert!(missing.is_empty() && stored.len() > 10 * ROUNDS, "{missing:?}");
    assert!(spool.entry(&place(&stored[0])).unwrap().found().is_some());
    index.reindex(Reindex::All).unwrap();
    let mut anew = urls(&index, &Filter::default(), Sort::Name);
    anew.sort();
    assert_eq!(listed, anew);
    assert!(index.faults().is_empty());
}

/// Whether a file is a database without damage.
#[track_caller]
fn is_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let told: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(told, "ok");
}
