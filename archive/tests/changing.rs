//! A file that changes during an import is refused and not stored.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod support;

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use support::{Bench, gzip, options, page, response};
use wwwoffle_archive::{ImportControl, ImportReport, Placement, import};
use wwwoffle_spool::Place;
use wwwoffle_url::CanonicalUrl;

/// The length of a file in bytes. It is longer than one buffer, so that the rest is read later.
const LENGTH: usize = 400_000;

/// A placement that runs an action when the import asks for a place, which is before the body is
/// read.
struct ActionDuringImport<F: FnOnce()>(RefCell<Option<F>>);

impl<F: FnOnce()> Placement for ActionDuringImport<F> {
    fn place(&self, url: &CanonicalUrl, owner: Option<&str>, _: &[u8], _: &[u8]) -> Place {
        if let Some(happens) = self.0.borrow_mut().take() {
            happens();
        }
        Place::of(url).owned_by(owner.unwrap_or_default())
    }
}

#[track_caller]
fn import_while(bench: &Bench, path: &Path, happens: impl FnOnce()) -> ImportReport {
    let placing = ActionDuringImport(RefCell::new(Some(happens)));
    import(&bench.spool, path, &options(), &placing, &mut |_| ImportControl::Continue).unwrap()
}

#[track_caller]
fn is_refused(report: &ImportReport, why: &str) {
    assert_eq!((report.kept, report.refused), (1, 1), "{report:?}");
    assert!(report.refusals[0].reason.contains(why), "{report:?}");
}

#[test]
fn a_changing_mirror_file_is_reported_and_not_stored() {
    type Change = fn(&Path);
    let changes: [(Change, &str); 4] = [
        (|path| shorten(path, 1_000), "was truncated"),
        (|path| shorten(path, 0), "was truncated"),
        // Another program is still writing the file.
        (|path| append(path, b"more"), "was changed"),
        (|path| std::fs::write(path, vec![b'y'; LENGTH]).unwrap(), "was changed"),
    ];
    for (change, why) in changes {
        let bench = Bench::new();
        let path = bench.write("mirror/a.example/1.txt", &vec![b'x'; LENGTH]);
        bench.write("mirror/a.example/2.txt", b"after");
        // The clock of the file system may be too coarse to show the change, so the old time is far
        // in the past.
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 30);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let report = import_while(&bench, &bench.path("mirror"), || change(&path));
        is_refused(&report, why);
        assert!(bench.entry("https://a.example/1.txt").is_none());
        assert_eq!(bench.body("https://a.example/2.txt"), b"after");
        // If the file does not change again, it is imported.
        assert_eq!(bench.import(&bench.path("mirror")).kept, 1);
    }
}

#[test]
fn a_changing_httrack_file_is_reported_and_not_stored() {
    let bench = Bench::new();
    let told = |saved: &str| {
        format!(
            "X-StatusCode: 200\r\nX-In-Cache: 0\r\nX-Save: {saved}\r\nContent-Type: image/png\r\n"
        )
    };
    let (first, second) = (told("a.example/1.png"), told("a.example/2.png"));
    let cache = support::zip(&[
        ("http://a.example/1.png", b"", first.as_bytes()),
        ("http://a.example/2.png", b"", second.as_bytes()),
    ]);
    bench.write("mirror/hts-cache/new.zip", &cache);
    let path = bench.write("mirror/a.example/1.png", &vec![b'x'; LENGTH]);
    bench.write("mirror/a.example/2.png", b"after");
    let report = import_while(&bench, &bench.path("mirror"), || shorten(&path, 9));
    is_refused(&report, "was truncated");
    assert!(bench.entry("http://a.example/1.png").is_none());
    assert_eq!(bench.body("http://a.example/2.png"), b"after");
}

#[test]
fn a_shrinking_archive_is_reported() {
    let pages: Vec<u8> = ["first", "second"]
        .iter()
        .flat_map(|name| {
            let body = format!("{name}{}", "x".repeat(LENGTH));
            response(&format!("http://a.example/{name}"), "2024-05-01T10:00:00Z", &page(&body))
        })
        .collect();
    for (name, bytes) in [("a.warc", pages.clone()), ("a.warc.gz", gzip(&pages))] {
        let bench = Bench::new();
        let path = bench.write(name, &bytes);
        let report = import_while(&bench, &path, || shorten(&path, 10));
        let is_told = report.refusals.iter().any(|one| one.reason.contains("was truncated"));
        // A short compressed file may have been read completely before it changed.
        assert!(is_told || (name == "a.warc.gz" && report.kept == 2), "{name}: {report:?}");
        assert!(name != "a.warc" || report.kept == 0, "{report:?}");
    }
}

fn shorten(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn append(path: &Path, bytes: &[u8]) {
    File::options().append(true).open(path).unwrap().write_all(bytes).unwrap();
}
