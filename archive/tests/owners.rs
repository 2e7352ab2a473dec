//! Personal and shared responses at one URL. The newer response is served.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use support::{Bench, response};
use wwwoffle_archive::{ImportOptions, ImportReport};

const URL: &str = "http://a.example/";

fn answer(bench: &Bench, month: u8, status: &str, fields: &str) -> ImportReport {
    answer_with(bench, month, status, fields, &support::options())
}

fn answer_with(
    bench: &Bench,
    month: u8,
    status: &str,
    fields: &str,
    options: &ImportOptions,
) -> ImportReport {
    let block = format!("HTTP/1.1 {status}\r\n{fields}\r\nmonth {month}");
    let record = response(URL, &format!("2024-{month:02}-01T10:00:00Z"), block.as_bytes());
    bench.import_with(&bench.write("a.warc", &record), options)
}

const OWN: &str = "Set-Cookie: a=b\r\n";

#[test]
fn an_older_personal_response_does_not_hide_a_public_one() {
    let bench = Bench::new();
    assert_eq!(answer(&bench, 5, "200 OK", "").kept, 1);
    let report = answer(&bench, 4, "200 OK", OWN);
    assert_eq!((report.kept, report.outdated), (0, 1), "{report:?}");
    let report = answer(&bench, 6, "404 Not Found", OWN);
    assert_eq!((report.kept, report.worse), (0, 1), "{report:?}");
    assert!(bench.own(URL).is_none());
    // The personal response is stored if replacing was requested, or if both responses have the
    // same time.
    let replacing = ImportOptions { replace: true, ..support::options() };
    assert_eq!(answer_with(&bench, 4, "200 OK", OWN, &replacing).kept, 1);
    bench.spool.remove(&support::place(URL).owned_by("local")).unwrap();
    assert_eq!(answer(&bench, 5, "200 OK", OWN).kept, 1);
    assert!(bench.own(URL).is_some() && bench.entry(URL).is_some());
}

#[test]
fn a_newer_public_response_replaces_a_personal_one() {
    let bench = Bench::new();
    assert_eq!(answer(&bench, 4, "200 OK", OWN).kept, 1);
    // An error, an older response or a dry run does not remove the personal response.
    assert_eq!(answer(&bench, 5, "404 Not Found", "").kept, 1);
    assert_eq!(answer(&bench, 3, "200 OK", "").kept, 1);
    let dry = ImportOptions { dry_run: true, ..support::options() };
    assert_eq!(answer_with(&bench, 6, "200 OK", "", &dry).kept, 1);
    assert!(bench.own(URL).is_some());
    assert_eq!(answer(&bench, 6, "200 OK", "").kept, 1);
    assert!(bench.own(URL).is_none());
    assert_eq!(bench.body(URL), b"month 6");
}
