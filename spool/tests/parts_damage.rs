//! A truncated, changed or foreign file below `partial/` is set aside and does not count. No byte
//! of a large body is returned that differs from the stored one.

#![allow(
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use support::{entry, head, open, place, store};
use wwwoffle_spool::{Durability, NewSegment, Spool};

const URL: &str = "http://example.org/film";
const MIB: usize = 1 << 20;

struct StoredSegment {
    root: tempfile::TempDir,
    spool: Spool,
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A spool with one segment that begins at 100.
fn kept(len: usize) -> StoredSegment {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let new = NewSegment {
        entry: entry(b"HTTP/1.1 206 Some\r\nContent-Range: bytes 99999999999999999999-/*\r\n\r\n"),
        validator: b"\"v\"".to_vec(),
        complete_length: Some(1 << 40),
        start: 100,
    };
    let mut writer = spool.begin_segment(&place(URL), new).unwrap();
    writer.write(&support::bytes(len)).unwrap();
    writer.finish().unwrap();
    let path = support::files(&root.path().join("partial")).pop().unwrap();
    let bytes = fs::read(&path).unwrap();
    StoredSegment { root, spool, path, bytes }
}

impl StoredSegment {
    /// Whether the segment is found if its file has these bytes.
    fn is_there(&self, bytes: &[u8]) -> bool {
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        fs::write(&self.path, bytes).unwrap();
        if self.spool.partial(&place(URL)).unwrap().is_some() {
            return true;
        }
        assert!(!self.path.exists());
        let aside = support::files(&self.root.path().join("damaged"));
        let is_it = |path: &PathBuf| fs::read(path).unwrap() == bytes;
        assert!(aside.iter().any(is_it), "it is not in damaged/");
        for path in aside {
            fs::remove_file(path).unwrap();
        }
        false
    }
}

#[test]
#[ignore = "slow"]
fn any_change_of_a_small_segment_is_noticed() {
    let kept = kept(300);
    assert!(kept.is_there(&kept.bytes));
    for index in 0..kept.bytes.len() {
        let mut bytes = kept.bytes.clone();
        bytes[index] ^= 1 << (index % 7);
        assert!(!kept.is_there(&bytes), "byte {index}");
    }
    for len in (0..kept.bytes.len()).step_by(7) {
        assert!(!kept.is_there(&kept.bytes[..len]), "cut at {len}");
    }
    assert!(!kept.is_there(&kept.bytes.repeat(2)));
}

#[test]
fn a_segment_under_a_wrong_name_is_not_used() {
    let kept = kept(300);
    let directory = kept.path.parent().unwrap().to_owned();
    let names = [
        "00000000000000000101.warc",
        "00000000000000000099.warc",
        "100.warc",
        "99999999999999999999.warc",
        "0000000000000000010x.warc",
        "00000000000000000100.WARC",
        "00000000000000000100",
        ".warc",
        "other",
    ];
    for name in names {
        fs::create_dir_all(&directory).unwrap();
        let _ = fs::remove_file(&kept.path);
        fs::write(directory.join(name), &kept.bytes).unwrap();
        assert!(kept.spool.partial(&place(URL)).unwrap().is_none(), "{name}");
        assert!(!directory.join(name).exists(), "{name}");
    }
    let other = place("http://example.org/other");
    let key = other.key().to_string();
    let there = kept.root.path().join("partial").join(&key[..2]).join(&key);
    fs::create_dir_all(&there).unwrap();
    fs::write(there.join("00000000000000000100.warc"), &kept.bytes).unwrap();
    assert!(kept.spool.partial(&other).unwrap().is_none());
    // A complete entry is not a segment.
    store(&kept.spool, URL, b"whole").unwrap();
    let whole = fs::read(kept.root.path().join(place(URL).relative_path())).unwrap();
    assert!(!kept.is_there(&whole));
}

#[test]
fn links_and_fifos_are_not_opened() {
    let kept = kept(300);
    let elsewhere = kept.root.path().join("elsewhere");
    fs::write(&elsewhere, &kept.bytes).unwrap();
    for name in ["00000000000000000100.warc", "x.unfinished", "x.checkpoint"] {
        let path = kept.path.with_file_name(name);
        let make: [&dyn Fn(); 4] = [
            &|| symlink(&elsewhere, &path).unwrap(),
            &|| symlink("/nowhere", &path).unwrap(),
            &|| fs::create_dir(&path).unwrap(),
            &|| {
                let fifo = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(fifo.success());
            },
        ];
        for (number, make) in make.iter().enumerate() {
            let _ = fs::remove_file(&kept.path);
            make();
            let found = kept.spool.partial(&place(URL)).unwrap();
            assert!(found.is_none(), "{name} {number} was served");
            assert!(fs::symlink_metadata(&path).is_err(), "{name} {number} stays");
        }
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), kept.bytes);
    // A file is in place of the directory.
    fs::remove_dir_all(kept.path.parent().unwrap()).unwrap();
    fs::write(kept.path.parent().unwrap(), b"").unwrap();
    assert!(kept.spool.partial(&place(URL)).unwrap().is_none());
    assert!(!kept.spool.remove(&place(URL)).unwrap());
    assert_eq!(kept.spool.partials().unwrap().count(), 0);
}

#[test]
fn only_valid_blocks_of_a_large_segment_are_read() {
    let kept = kept(3 * MIB + 5);
    let body = support::bytes(3 * MIB + 5);
    let start = kept.bytes.windows(99).position(|window| window == &body[..99]).unwrap();
    let mut bytes = kept.bytes.clone();
    bytes[start + MIB + 7] ^= 1;
    fs::write(&kept.path, &bytes).unwrap();
    let partial = kept.spool.partial(&place(URL)).unwrap().unwrap();
    let (mut reader, mut piece) = (partial.verified(), vec![0; 100_000]);
    for (offset, is_sound) in [
        (0, true),
        (MIB - 1, true),
        (MIB, false),
        (2 * MIB - 1, false),
        (2 * MIB, true),
        (3 * MIB, true),
    ] {
        let read = reader.read_at(100 + offset as u64, &mut piece);
        match read {
            Ok(read) => assert!(is_sound && piece[..read] == body[offset..offset + read]),
            Err(error) => assert!(!is_sound && error.is_damaged(), "{error}"),
        }
    }
    let damages = kept.spool.repair_partial(&place(URL)).unwrap();
    assert!(damages[0].moved_to.as_ref().unwrap().exists());
    assert!(kept.spool.partial(&place(URL)).unwrap().is_none());
    assert_eq!(kept.spool.repair_partial(&place(URL)).unwrap(), []);
}

#[test]
fn only_valid_blocks_of_a_large_entry_are_read() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let body = support::bytes(3 * MIB + 5);
    store(&spool, URL, &body).unwrap();
    let path = root.path().join(place(URL).relative_path());
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.windows(99).position(|window| window == &body[..99]).unwrap();
    bytes[start + 2 * MIB] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    let (mut reader, mut piece) = (found.verified(), vec![0; 1_000]);
    assert_eq!(reader.read_at(MIB as u64 + 3, &mut piece).unwrap(), 1_000);
    assert_eq!(piece, body[MIB + 3..MIB + 1_003]);
    assert!(reader.read_at(2 * MIB as u64 + 500, &mut piece).unwrap_err().is_damaged());
    assert_eq!(reader.read_at(3 * MIB as u64, &mut piece).unwrap(), 5);
    assert_eq!(reader.read_at(3 * MIB as u64 + 5, &mut piece).unwrap(), 0);
    assert_eq!((reader.len(), reader.is_empty()), (3 * MIB as u64 + 5, false));
    spool.set_aside(&found).unwrap().unwrap();
}

#[test]
fn an_entry_without_block_checksums_is_verified_completely_first() {
    // The file as it was written before blocks had checksums: without its last record, and with the
    // matching length.
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let body = support::bytes(2 * MIB);
    let mut writer = spool.begin(&place(URL), entry(&head(200))).unwrap();
    writer.write(&body).unwrap();
    writer.finish(None).unwrap();
    let path = root.path().join(place(URL).relative_path());
    let bytes = support::without_last_record(&fs::read(&path).unwrap());
    fs::write(&path, &bytes).unwrap();
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    let mut piece = vec![0; 1_000];
    assert_eq!(found.verified().read_at(MIB as u64, &mut piece).unwrap(), 1_000);
    assert_eq!(piece, body[MIB..MIB + 1_000]);
    let start = bytes.windows(99).position(|window| window == &body[..99]).unwrap();
    let mut changed = bytes.clone();
    changed[start] ^= 1;
    fs::write(&path, &changed).unwrap();
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert!(found.verified().read_at(MIB as u64, &mut piece).unwrap_err().is_damaged());
}
