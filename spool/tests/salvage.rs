//! After a crash, interrupted long downloads can be continued, as far as they are undamaged.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::single_range_in_vec_init,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{entry, head, open, place};
use wwwoffle_spool::{Durability, NewEntry, NewSegment, Recovery, Spool, Writer};

const URL: &str = "http://example.org/film";
const MIB: usize = 1 << 20;

/// A spool with a download in progress, and the bytes received.
struct ActiveDownload {
    root: tempfile::TempDir,
    spool: Spool,
    writer: Writer,
    body: Vec<u8>,
}

fn under_way(durability: Durability, len: usize) -> ActiveDownload {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), durability);
    let body = support::bytes(len);
    let new = entry(&head(200));
    let mut writer = spool.begin_resumable(&place(URL), new, b"\"v\"", Some(100 << 20)).unwrap();
    for piece in body.chunks(100_000) {
        writer.write(piece).unwrap();
    }
    ActiveDownload { root, spool, writer, body }
}

/// The state that the next process finds if this one is killed now.
fn killed(root: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in support::files(root) {
        let to = copy.path().join(file.strip_prefix(root).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
    copy
}

fn one(root: &Path, below: &str, extension: &str) -> PathBuf {
    let files = support::files(&root.join(below));
    let mut found = files.into_iter().filter(|file| file.extension().unwrap() == extension);
    let (first, second) = (found.next().unwrap(), found.next());
    assert_eq!(second, None);
    first
}

/// The number of bytes stored from the beginning. They must be those received.
fn prefix(spool: &Spool, body: &[u8]) -> usize {
    let Some(partial) = spool.partial(&place(URL)).unwrap() else { return 0 };
    assert_eq!((partial.validator(), partial.complete_length()), (&b"\"v\""[..], Some(100 << 20)));
    assert_eq!((partial.head(), partial.request()), (head(200).as_slice(), support::REQUEST));
    let len = partial.prefix() as usize;
    let (mut from, mut all, mut piece) = (partial.verified(), Vec::new(), vec![0; MIB]);
    while all.len() < len {
        let read = from.read_at(all.len() as u64, &mut piece).unwrap();
        all.extend_from_slice(&piece[..read]);
    }
    assert_eq!(all, body[..len]);
    len
}

#[test]
#[ignore = "slow"]
fn a_killed_download_is_resumed() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let it = under_way(durability, 7 * MIB);
        let root = killed(it.root.path());
        let (spool, recovery) = Spool::open(root.path(), &support::options(durability)).unwrap();
        assert_eq!((recovery.set_apart, recovery.removed), (1, 0));
        assert_eq!(support::files(&root.path().join("tmp")), Vec::<PathBuf>::new());
        let listed: Vec<_> = spool.partials().unwrap().map(Result::unwrap).collect();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].place, place(URL));
        assert!(listed[0].file_len > 6 << 20);
        // The spool is opened again before any lookup.
        drop(spool);
        let spool = open(root.path(), durability);
        let kept = prefix(&spool, &it.body);
        assert!(kept >= 5 * MIB, "{kept}");
        let files = support::files(&root.path().join("partial"));
        assert!(files.iter().all(|file| file.extension().unwrap() == "warc"), "{files:?}");
        assert_eq!(prefix(&spool, &it.body), kept);
    }
}

#[test]
fn a_killed_segment_keeps_its_start() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let new = NewSegment {
        entry: NewEntry { connection: Some(support::CONNECTION.to_vec()), ..entry(&head(206)) },
        validator: b"\"v\"".to_vec(),
        complete_length: None,
        start: 1_000,
    };
    let mut writer = spool.begin_segment(&place(URL), new).unwrap();
    let body = support::bytes(3 * MIB);
    writer.write(&body).unwrap();
    let root = killed(root.path());
    let spool = open(root.path(), Durability::Batch);
    let partial = spool.partial(&place(URL)).unwrap().unwrap();
    assert_eq!(partial.ranges(), [1_000..1_000 + (3 << 20)]);
    assert_eq!(partial.connection(), Some(support::CONNECTION));
    writer.finish().unwrap();
}

#[test]
#[ignore = "slow"]
fn only_checkpointed_bytes_are_recovered() {
    let it = under_way(Durability::Batch, 7 * MIB);
    let sound = killed(it.root.path());
    let (data, check) = (one(sound.path(), "tmp", "warc"), one(sound.path(), "tmp", "check"));
    let (data, check) = (fs::read(data).unwrap(), fs::read(check).unwrap());
    let line = 39;
    let changed = |bytes: &[u8], index: usize| {
        let mut bytes = bytes.to_vec();
        bytes[index] ^= 1;
        bytes
    };
    // Each row has the content of the data file and of the checkpoint file, and the smallest and
    // greatest length that may be recovered, in MiB.
    let cases: [(&str, Vec<u8>, Vec<u8>, usize, usize); 12] = [
        ("all", data.clone(), check.clone(), 5, 7),
        ("the first piece is changed", changed(&data, MIB), check.clone(), 0, 0),
        ("the second is changed", changed(&data, 3 * MIB), check.clone(), 1, 3),
        ("the data is cut", data[..3 * MIB].to_vec(), check.clone(), 1, 3),
        ("the data is cut early", data[..MIB].to_vec(), check.clone(), 0, 0),
        ("there is no data", Vec::new(), check.clone(), 0, 0),
        ("the last line is cut", data.clone(), check[..check.len() - 1].to_vec(), 3, 5),
        (
            "the last line is zeros",
            data.clone(),
            {
                let mut check = check[..check.len() - line].to_vec();
                check.resize(check.len() + line, 0);
                check
            },
            3,
            5,
        ),
        (
            "a line is there twice",
            data.clone(),
            { [&check[..], &check[check.len() - line..]].concat() },
            5,
            7,
        ),
        ("a line is changed", data.clone(), changed(&check, check.len() - 2 * line + 5), 1, 3),
        ("the record is changed", data.clone(), changed(&check, 200), 0, 0),
        ("there are no checkpoints", data.clone(), Vec::new(), 0, 0),
    ];
    for (what, data, check, least, most) in cases {
        for is_moved in [false, true] {
            let root = killed(sound.path());
            let [at_data, at_check] = if is_moved {
                drop(open(root.path(), Durability::Batch));
                ["unfinished", "checkpoint"].map(|name| one(root.path(), "partial", name))
            } else {
                ["warc", "check"].map(|name| one(root.path(), "tmp", name))
            };
            fs::write(at_data, &data).unwrap();
            fs::write(at_check, &check).unwrap();
            let spool = open(root.path(), Durability::Batch);
            let kept = prefix(&spool, &it.body);
            assert!((least * MIB..=most * MIB).contains(&kept), "{what}: {kept}");
            assert_eq!(support::files(&root.path().join("tmp")), Vec::<PathBuf>::new(), "{what}");
            let mut left = support::files(root.path());
            left.retain(|file| file.starts_with(root.path().join("partial")));
            assert_eq!(left.len(), usize::from(kept > 0), "{what}: {left:?}");
            assert!(spool.entry(&place(URL)).unwrap().found().is_none());
        }
    }
}

#[test]
fn a_finished_download_leaves_no_checkpoints() {
    for how in 0..3 {
        let it = under_way(Durability::Batch, 3 * MIB);
        assert!(one(it.root.path(), "tmp", "check").exists());
        let writer = it.writer;
        match how {
            0 => drop(writer.finish(None).unwrap()),
            1 => assert!(writer.finish_short().unwrap()),
            _ => writer.discard(),
        }
        it.spool.flush().unwrap();
        assert_eq!(support::files(&it.root.path().join("tmp")), Vec::<PathBuf>::new(), "{how}");
        assert_eq!(it.spool.partial(&place(URL)).unwrap().is_some(), how == 1);
    }
}

#[test]
fn an_outdated_download_is_not_recovered() {
    let it = under_way(Durability::Batch, 3 * MIB);
    let check = one(it.root.path(), "tmp", "check");
    let before = killed(it.root.path());
    it.writer.finish(None).unwrap();
    let data = one(it.root.path(), "tmp", "warc");
    let finished = fs::read(&data).unwrap();
    support::store(&it.spool, URL, b"newer").unwrap();
    it.spool.flush().unwrap();
    drop(it.spool);
    // A crash undoes the last removal.
    fs::write(&data, finished).unwrap();
    fs::copy(one(before.path(), "tmp", "check"), check).unwrap();
    let options = support::options(Durability::Batch);
    let (spool, recovery) = Spool::open(it.root.path(), &options).unwrap();
    assert_eq!((recovery.set_apart, recovery.removed, recovery.failures.len()), (0, 1, 0));
    assert!(spool.partial(&place(URL)).unwrap().is_none());
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert_eq!(support::body(&found).as_deref(), Some(&b"newer"[..]));
}

/// A disk with a killed download, and the bytes received.
fn killed_on_a_disk() -> (SimDisk, Vec<u8>) {
    let disk = SimDisk::new();
    let spool = open_on(&disk).unwrap().0;
    let body = support::bytes(2 * MIB);
    let new = entry(&head(200));
    let mut writer = spool.begin_resumable(&place(URL), new, b"\"v\"", Some(100 << 20)).unwrap();
    writer.write(&body).unwrap();
    (disk.restarted(), body)
}

fn open_on(disk: &SimDisk) -> wwwoffle_spool::Result<(Spool, Recovery)> {
    let options = support::options(Durability::Batch);
    Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options)
}

#[test]
#[ignore = "slow"]
fn a_disk_error_during_opening_loses_no_download() {
    let (killed, body) = killed_on_a_disk();
    for call in 0.. {
        let disk = killed.restarted();
        disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
        if let Ok((spool, _)) = open_on(&disk) {
            let _ = spool.partial(&place(URL));
        }
        let calls = disk.calls();
        let spool = open_on(&disk.restarted()).unwrap().0;
        assert_eq!(prefix(&spool, &body), body.len(), "call {call}");
        if calls <= call {
            assert!(calls > 30, "{calls}");
            return;
        }
    }
}

#[test]
fn a_recovery_without_space_is_not_repeated() {
    let (disk, body) = killed_on_a_disk();
    let spool = open_on(&disk).unwrap().0;
    disk.set_fault(Fault::Fail(20, ErrorKind::StorageFull));
    assert!(spool.partial(&place(URL)).unwrap_err().is_full());
    disk.set_fault(Fault::Never);
    assert!(spool.partial(&place(URL)).unwrap().is_none());
    assert!(disk.calls() < 10, "{}", disk.calls());
    drop(spool);
    assert_eq!(prefix(&open_on(&disk.restarted()).unwrap().0, &body), body.len());
}
