//! A spool with one of everything, and everything that can be read from it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{entry, head, outgoing, place, store, store_at};
use wwwoffle_spool::{
    Durability, Monitor, MonitorSummary, NewSegment, Options, OutgoingSummary, Place, ProgramState,
    Reader, RequestKind, RequestLine, RunId, Secrets, Spool, Timestamp, Update, Versions,
};

pub const SMALL: &str = "http://a.example/small";
pub const LARGE: &str = "http://a.example/large";
pub const VARIES: &str = "https://v.example/varies";
pub const CHANGED: &str = "http://c.example/changed";
pub const ONE: &str = "http://s.example/one";
pub const OTHER: &str = "https://t.example/other";
pub const PART: &str = "http://p.example/film";
pub const WAITS: &str = "http://q.example/waits";
pub const WATCHED: &str = "http://m.example/watched";

pub fn options() -> Options {
    Options { versions: Versions::from_rule(|_| 3), ..super::options(Durability::Each) }
}

/// The places of the entries of [`VARIES`]. The second has no variant text.
pub fn varying() -> [Place; 3] {
    ["accept-language: de", "", "accept-language: en"].map(|text| place(VARIES).with_variant(text))
}

/// A segment of [`PART`] that begins at `start`.
pub fn segment(start: u64) -> NewSegment {
    NewSegment {
        entry: entry(&head(206)),
        validator: b"\"v\"".to_vec(),
        complete_length: Some(1 << 40),
        start,
    }
}

/// Puts one of everything into a spool.
pub fn fill(spool: &Spool) {
    store(spool, SMALL, b"small").unwrap();
    store(spool, LARGE, &super::bytes(300_000)).unwrap();
    let large = spool.entry(&place(LARGE)).unwrap().found().unwrap();
    spool.update(&large, &Update::Invalid { since: large.received() }).unwrap().unwrap();
    for (number, place) in varying().iter().enumerate() {
        store_at(spool, place, &super::bytes(1_000 + number)).unwrap();
    }
    for len in [10, 200_000, 30] {
        store(spool, CHANGED, &super::bytes(len)).unwrap();
    }
    for url in [ONE, OTHER] {
        store(spool, url, &super::bytes(180_000)).unwrap();
    }
    spool.flush().unwrap();
    assert_eq!(spool.share(Some(0), &|| true).made.count, 2);
    for start in [0, 1 << 20] {
        let mut writer = spool.begin_segment(&place(PART), segment(start)).unwrap();
        writer.write(&super::bytes(150_000)).unwrap();
        writer.finish().unwrap();
    }
    let mut request = outgoing(WAITS, RequestKind::Post);
    request.head = b"POST / HTTP/1.1\r\nHost: q\r\n\r\n".to_vec();
    request.summary.line = RequestLine::new(&request.head, &request.summary.place);
    request.body = b"a=b".to_vec();
    request.secrets = Secrets::Open(b"Cookie: a=b\r\n".to_vec());
    spool.queue().add(&request).unwrap();
    let request = outgoing(WATCHED, RequestKind::Refresh);
    let schedule = "0 6 * * 1-5".parse().unwrap();
    spool
        .monitors()
        .set(&Monitor {
            request,
            schedule,
            last_run: None,
            versions: 2,
            report: None,
            reported: None,
        })
        .unwrap();
    spool.set_run(RunId::from_number(7), "a run\n").unwrap();
    let mut state = ProgramState::default();
    state.set_mode("offline").unwrap();
    spool.set_state(&state).unwrap();
    // An unfinished entry is discarded when dropped, so it is not in the spool.
    drop(spool.begin(&place("http://a.example/never"), entry(&head(200))).unwrap());
}

/// A full spool in its own temporary directory.
pub fn spool() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(root.path(), &options()).unwrap();
    fill(&spool);
    root
}

/// Another spool with the same content.
pub fn copy_of(root: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_directory(root, copy.path());
    copy
}

fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            fs::set_permissions(&to, fs::metadata(&path).unwrap().permissions()).unwrap();
            copy_directory(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// An entry as a reader sees it.
pub type ShownEntry = (PathBuf, Timestamp, u16, Vec<u8>, Vec<u8>, Vec<u8>, Option<Timestamp>);

/// Everything that can be read from a spool.
#[derive(Debug, PartialEq)]
pub struct SpoolContents {
    pub entries: Vec<ShownEntry>,
    pub queue: Vec<OutgoingSummary>,
    pub monitors: Vec<MonitorSummary>,
    /// The stored ranges of [`PART`].
    pub parts: Vec<std::ops::Range<u64>>,
}

/// Reads a spool.
pub fn seen(root: &Path) -> SpoolContents {
    let reader = Reader::open(root).unwrap();
    let mut entries = Vec::new();
    for summary in reader.list(None, None).unwrap() {
        let place = summary.unwrap().place;
        entries.extend(reader.entries(&place).unwrap().found.iter().filter_map(shown));
        for version in reader.versions(&place).unwrap() {
            let version = reader.version(&place, version.stored).unwrap().found();
            entries.extend(version.iter().filter_map(shown));
        }
    }
    entries.sort();
    entries.dedup();
    let parts = reader.partial(&place(PART)).unwrap();
    SpoolContents {
        entries,
        queue: reader.queue().unwrap(),
        monitors: reader.monitors().unwrap(),
        parts: parts.map(|parts| parts.ranges().to_vec()).unwrap_or_default(),
    }
}

/// The entry as a reader receives it. `None` if its body is damaged.
fn shown(entry: &wwwoffle_spool::Entry) -> Option<ShownEntry> {
    let body = super::body(entry)?;
    let request = entry.request().to_vec();
    let path = entry.place().relative_path();
    let (head, invalid) = (entry.head().to_vec(), entry.invalid_since());
    Some((path, entry.stored(), entry.status(), head, body, request, invalid))
}
