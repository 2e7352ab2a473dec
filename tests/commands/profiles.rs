//! Bookmarks and history in the profile of a browser, as lists of URLs to fetch.

use crate::harness::Daemon;

#[test]
fn the_pages_of_a_profile_are_queued() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let profile = daemon.home().join("profile");
    std::fs::create_dir(&profile).unwrap();
    let places = profile.join("places.sqlite");
    // The browser is running: it holds the database.
    let firefox = rusqlite::Connection::open(&places).unwrap();
    firefox
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE;
             CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, visit_count INTEGER,
                 hidden INTEGER, last_visit_date INTEGER);
             CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER,
                 dateAdded INTEGER);
             INSERT INTO moz_places VALUES (1, 'http://often.example/', 9, 0, 1700000000000000),
                 (2, 'http://seldom.example/', 1, 0, 1700000000000000),
                 (3, 'http://marked.example/', 0, 0, NULL), (4, 'file:///etc/passwd', 9, 0, 1);
             INSERT INTO moz_bookmarks VALUES (1, 1, 3, 1700000000000000);",
        )
        .unwrap();
    let (directory, file) = (profile.to_str().unwrap(), places.to_str().unwrap());
    let queued = |arguments: &[&str], want: &[&str]| {
        // Queued while offline.
        let ran = daemon.run(&[&["get"], arguments].concat());
        assert_eq!(ran.status, 10, "{ran:?}");
        let mut queued = daemon.queued();
        queued.sort();
        assert_eq!(queued, want, "{arguments:?}");
        daemon.api("POST", "/api/queue/delete", "{\"all\":true}");
    };
    queued(&["--from", directory], &["http://marked.example/"]);
    let both = ["http://often.example/", "http://seldom.example/"];
    queued(&["--from", file, "--history", "--since", "2023-01-01"], &both);
    queued(&["--from", file, "--history", "--most", "1"], &both[..1]);
    for (arguments, why) in [
        (&["--from", daemon.home().to_str().unwrap()][..], "no bookmarks and no history"),
        (&["--from", "/dev/null", "--history"], "is not the profile of a browser"),
        (&["--history", "http://a.example/"], "--from"),
    ] {
        let ran = daemon.run(&[&["get"], arguments].concat());
        assert!(ran.status != 0 && ran.err.contains(why), "{arguments:?}: {ran:?}");
    }
}
