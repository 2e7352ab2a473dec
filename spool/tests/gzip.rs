//! A compressed entry reads as before, in every way.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use proptest::prelude::*;
use support::{body, entry, head, open, place, store};
use wwwoffle_spool::{
    Body, CheckOptions, Durability, Entry, Lookup, Reader, RestoreOutcome, RewriteOutcome, Spool,
    Summary, Timestamp, Update,
};

const URL: &str = "http://example.org/";

/// Text like that of a page: it compresses well.
fn text(len: usize) -> Vec<u8> {
    let line = |number: u32| format!("<p>Line {number} of the page, {}</p>\n", number % 7);
    let mut text: Vec<u8> = (0..).map(line).flat_map(String::into_bytes).take(len).collect();
    text.truncate(len);
    text
}

/// The content that other programs read from a compressed file.
fn zcat(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

fn file(root: &Path, url: &str) -> Vec<u8> {
    fs::read(root.join(place(url).relative_path())).unwrap()
}

fn found(spool: &Spool, url: &str) -> Entry {
    match spool.entry(&place(url)).unwrap() {
        Lookup::Found(entry) => entry,
        other => panic!("{other:?}"),
    }
}

/// The content of an entry, without its disk usage.
fn told(entry: &Entry) -> (Summary, Vec<u8>) {
    let summary = Summary { file_len: 0, plain_len: None, ..entry.summary() };
    let parts = [entry.head(), entry.request()].into_iter();
    let parts = parts.chain(entry.trailers()).chain(entry.connection());
    (summary, parts.collect::<Vec<_>>().concat())
}

fn verified(entry: &Entry, from: u64, len: usize) -> Vec<u8> {
    let (mut reader, mut all, mut buffer) = (entry.verified(), Vec::new(), vec![0; 30_000]);
    while all.len() < len {
        let most = buffer.len().min(len - all.len());
        match reader.read_at(from + all.len() as u64, &mut buffer[..most]).unwrap() {
            0 => break,
            read => all.extend_from_slice(&buffer[..read]),
        }
    }
    all
}

fn is_sound(root: &Path) -> bool {
    let reader = Reader::open(root).unwrap();
    let mut said = Vec::new();
    let sums =
        reader.check(&CheckOptions::new(true), &mut |found| said.push(found.to_string())).unwrap();
    assert!(sums.is_sound() && said.is_empty(), "{said:?}");
    true
}

#[test]
#[ignore = "slow"]
fn a_compressed_entry_reads_unchanged() {
    for len in [20_000, 131_072, 400_000, (3 << 20) + 77, 5 << 20] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Each);
        let content = text(len);
        let new = support::entry(&head(200));
        let mut writer = spool.begin(&place(URL), new).unwrap();
        writer.write(&content).unwrap();
        writer.finish(Some(b"X-Sum: 1\r\n")).unwrap();
        let plain = file(root.path(), URL);
        let before = told(&found(&spool, URL));
        let listed: Vec<_> = spool.list(None, None).unwrap().map(Result::unwrap).collect();

        let RewriteOutcome::Done { before: was, after } = spool.compress(&place(URL)).unwrap()
        else {
            panic!("{len}")
        };
        let packed = file(root.path(), URL);
        assert_eq!((was, after), (plain.len() as u64, packed.len() as u64));
        assert!(packed.len() < plain.len() / 4 && packed.starts_with(&[0x1f, 0x8b]), "{len}");
        assert!(zcat(&packed) == plain, "{len}: others read the same");
        let members = packed.windows(3).filter(|window| *window == [0x1f, 0x8b, 8]).count();
        assert!(members >= 3, "a member for each record, and {members} are there");

        let entry = found(&spool, URL);
        assert!(told(&entry) == before, "{len}");
        assert!(body(&entry).unwrap() == content, "{len}");
        assert_eq!((entry.file_len(), entry.plain_len()), (after, Some(was)));
        assert!(verified(&entry, 0, len) == content);
        assert_eq!(matches!(entry.body(), Body::Whole(_)), plain.len() <= 128 << 10);
        let again: Vec<_> = spool.list(None, None).unwrap().map(Result::unwrap).collect();
        assert_eq!((again[0].file_len, again[0].plain_len), (after, Some(was)));
        let as_before = Summary { file_len: was, plain_len: None, ..again[0].clone() };
        assert_eq!(vec![as_before], listed);
        assert_eq!(spool.compress(&place(URL)).unwrap(), RewriteOutcome::Already);
        assert!(is_sound(root.path()));

        let done = RewriteOutcome::Done { before: after, after: was };
        assert_eq!(spool.expand(&place(URL)).unwrap(), done);
        assert!(file(root.path(), URL) == plain, "{len}: byte for byte");
        assert_eq!(spool.expand(&place(URL)).unwrap(), RewriteOutcome::Already);
        assert!(is_sound(root.path()));
    }
}

#[test]
#[ignore = "slow"]
fn any_range_of_a_large_compressed_body_is_readable() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let content = text((3 << 20) + 12_345);
    store(&spool, URL, &content).unwrap();
    spool.compress(&place(URL)).unwrap();
    let entry = found(&spool, URL);
    let Body::File(file) = entry.body() else { panic!() };
    let mut runner = proptest::test_runner::TestRunner::default();
    let mega = 1_u64 << 20;
    let ends = prop_oneof![
        0..content.len() as u64,
        (0..3_u64, -3_i64..3)
            .prop_map(move |(block, off)| (block * mega).saturating_add_signed(off)),
    ];
    runner
        .run(&(ends, 1..200_000_usize), |(from, len)| {
            let want = &content[from as usize..(from as usize + len).min(content.len())];
            prop_assert!(verified(&entry, from, len) == want);
            let mut one = vec![0; len];
            let read = file.read_at(from, &mut one).unwrap();
            prop_assert!(read > 0 && one[..read] == want[..read]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_incompressible_entry_stays_unchanged() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    for (number, content) in
        [text(500), support::bytes(50_000), support::bytes(2 << 20)].iter().enumerate()
    {
        let url = format!("{URL}{number}");
        store(&spool, &url, content).unwrap();
        let before = file(root.path(), &url);
        assert_eq!(spool.compress(&place(&url)).unwrap(), RewriteOutcome::NotWorth, "{number}");
        assert!(file(root.path(), &url) == before);
    }
    assert_eq!(spool.compress(&place(URL)).unwrap(), RewriteOutcome::Missing);
    assert_eq!(fs::read_dir(root.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn updates_of_a_compressed_entry_are_stored() {
    for len in [20_000, 400_000] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        let content = text(len);
        store(&spool, URL, &content).unwrap();
        assert!(matches!(spool.compress(&place(URL)).unwrap(), RewriteOutcome::Done { .. }));
        let since = Timestamp::from_second(1_800_000_000).unwrap();
        let old = found(&spool, URL);
        let updated = spool.update(&old, &Update::Invalid { since }).unwrap().unwrap();
        assert_eq!(updated.invalid_since(), Some(since));
        spool.flush().unwrap();
        let now = found(&spool, URL);
        assert!(now.invalid_since() == Some(since) && body(&now).unwrap() == content);
        // The update stays when the entry is rewritten in either direction.
        for _ in 0..2 {
            spool.compress(&place(URL)).unwrap();
            assert_eq!(found(&spool, URL).invalid_since(), Some(since));
            spool.expand(&place(URL)).unwrap();
            assert_eq!(found(&spool, URL).invalid_since(), Some(since));
        }
        assert!(is_sound(root.path()));
    }
}

#[test]
fn versions_are_compressed_and_expanded() {
    for len in [20_000, 400_000] {
        let root = tempfile::tempdir().unwrap();
        let options = wwwoffle_spool::Options {
            versions: wwwoffle_spool::Versions::from_rule(|_| 3),
            ..support::options(Durability::Each)
        };
        let (spool, _) = Spool::open(root.path(), &options).unwrap();
        let (first, second) = (text(len), text(len + 9));
        store(&spool, URL, &first).unwrap();
        spool.compress(&place(URL)).unwrap();
        store(&spool, URL, &second).unwrap();
        let versions = spool.versions(&place(URL)).unwrap();
        assert_eq!((versions.len(), versions[0].plain_len.is_some()), (1, true));
        let stored = versions[0].stored;
        let expanded = spool.expand_version(&place(URL), stored).unwrap();
        assert!(matches!(expanded, RewriteOutcome::Done { .. }));
        let packed = spool.compress_version(&place(URL), stored).unwrap();
        assert!(matches!(packed, RewriteOutcome::Done { .. }));
        let Lookup::Found(version) = spool.version(&place(URL), stored).unwrap() else { panic!() };
        assert!(body(&version).unwrap() == first);
        spool.compress(&place(URL)).unwrap();
        assert_eq!(spool.restore(&place(URL), stored).unwrap(), RestoreOutcome::Done);
        assert!(body(&found(&spool, URL)).unwrap() == first);
        let versions = spool.versions(&place(URL)).unwrap();
        assert_eq!((versions.len(), versions[0].plain_len.is_some()), (1, true));
        assert!(is_sound(root.path()));
        let other = Timestamp::from_second(1).unwrap();
        assert_eq!(spool.compress_version(&place(URL), other).unwrap(), RewriteOutcome::Missing);
    }
}

#[test]
fn a_compressed_entry_is_moved_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let (content, other) = (text(300_000), place("http://example.org/other"));
    store(&spool, URL, &content).unwrap();
    spool.compress(&place(URL)).unwrap();
    assert_eq!(
        spool.move_to(&place(URL), &other, false).unwrap(),
        wwwoffle_spool::MoveOutcome::Yes
    );
    spool.flush().unwrap();
    assert!(body(&found(&spool, other.url())).unwrap() == content);
    spool.compress(&other).unwrap();
    let sizes: Vec<_> = spool.candidates().unwrap().map(|found| found.unwrap().size).collect();
    let len = found(&spool, other.url()).file_len();
    assert_eq!(sizes, [len.div_ceil(4_096) * 4_096]);
    assert!(spool.remove(&other).unwrap());
    assert!(matches!(spool.entry(&other).unwrap(), Lookup::Missing));
}

#[test]
fn an_open_entry_stays_readable_during_a_rewrite() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let content = text(700_000);
    store(&spool, URL, &content).unwrap();
    let plain = found(&spool, URL);
    spool.compress(&place(URL)).unwrap();
    let packed = found(&spool, URL);
    spool.expand(&place(URL)).unwrap();
    assert!(body(&plain).unwrap() == content && body(&packed).unwrap() == content);
}

#[test]
fn an_unfinished_compression_is_not_an_entry() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    store(&spool, URL, &text(50_000)).unwrap();
    spool.compress(&place(URL)).unwrap();
    let packed = file(root.path(), URL);
    spool.remove(&place(URL)).unwrap();
    drop(spool);
    fs::write(root.path().join("tmp/00000007.rewrite"), &packed).unwrap();
    let spool = open(root.path(), Durability::Each);
    assert!(matches!(spool.entry(&place(URL)).unwrap(), Lookup::Missing), "it was removed");
    assert_eq!(fs::read_dir(root.path().join("tmp")).unwrap().count(), 0);
}

/// A spool with one compressed entry, the bytes of its file, and its body of `len` bytes.
fn packed(len: usize) -> (tempfile::TempDir, Spool, Vec<u8>, Vec<u8>) {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let content = text(len);
    store(&spool, URL, &content).unwrap();
    assert!(matches!(spool.compress(&place(URL)).unwrap(), RewriteOutcome::Done { .. }));
    let packed = file(root.path(), URL);
    (root, spool, packed, content)
}

/// Replaces the file of the entry, and checks that no wrong byte is read. Returns true if the
/// lookup set the file aside.
fn never_wrong(root: &Path, spool: &Spool, bytes: &[u8], content: &[u8], what: &str) -> bool {
    let path = root.join(place(URL).relative_path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    let reader = Reader::open(root).unwrap();
    let _ = reader.check(&CheckOptions::new(true), &mut |_| {}).unwrap();
    for listed in spool.list(None, None).unwrap() {
        assert_eq!(listed.unwrap().body_len, content.len() as u64, "{what}");
    }
    match spool.entry(&place(URL)).unwrap() {
        Lookup::SetAside(_) => true,
        Lookup::Missing => panic!("{what}"),
        Lookup::Found(entry) => {
            let read = body(&entry);
            assert!(read.is_none_or(|read| read == content), "{what}");
            let (mut reader, mut buffer) = (entry.verified(), vec![0; 10_000]);
            for from in [0, content.len() / 2, content.len().saturating_sub(5_000)] {
                match reader.read_at(from as u64, &mut buffer) {
                    Ok(read) => assert!(buffer[..read] == content[from..][..read], "{what}"),
                    Err(error) => assert!(error.is_damaged(), "{what}: {error}"),
                }
            }
            false
        }
    }
}

#[test]
#[ignore = "slow"]
fn any_changed_byte_is_noticed_or_harmless() {
    for (len, step) in [(9_000, 3), (400_000, 41)] {
        let (root, spool, packed, content) = packed(len);
        for index in (0..packed.len()).step_by(step).chain(0..200) {
            let mut bytes = packed.clone();
            bytes[index] ^= 1 << (index % 8);
            never_wrong(root.path(), &spool, &bytes, &content, &format!("{len}: byte {index}"));
        }
        for cut in (0..packed.len()).step_by(step * 7) {
            let what = format!("{len}: cut at {cut}");
            let is_aside = never_wrong(root.path(), &spool, &packed[..cut], &content, &what);
            assert!(is_aside, "{what}");
        }
        for more in [&b"x"[..], &packed, &[0x1f, 0x8b, 8, 0]] {
            let bytes = [&packed, more].concat();
            let is_aside = never_wrong(root.path(), &spool, &bytes, &content, "rubbish");
            assert!(is_aside, "{len}");
        }
    }
}

#[test]
fn a_file_compressed_by_another_program_is_refused() {
    let (root, spool, packed, _) = packed(9_000);
    let mut other = Vec::new();
    let level = flate2::Compression::default();
    flate2::bufread::GzEncoder::new(&zcat(&packed)[..], level).read_to_end(&mut other).unwrap();
    let path = root.path().join(place(URL).relative_path());
    fs::write(&path, other).unwrap();
    let Lookup::SetAside(damage) = spool.entry(&place(URL)).unwrap() else { panic!() };
    assert_eq!(damage.reason, "it was compressed by another program");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[ignore = "slow"]
    fn any_compressed_entry_round_trips(
        pieces in proptest::collection::vec((0..40_000_usize, any::<bool>()), 0..12),
        status in 200..600_u16,
        trailers in proptest::option::of("[A-Z]{1,9}: [a-z]{0,2000}\r\n"),
    ) {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::None);
        let content: Vec<u8> = pieces
            .iter()
            .flat_map(|&(len, is_text)| if is_text { text(len) } else { support::bytes(len) })
            .collect();
        let mut writer = spool.begin(&place(URL), entry(&head(status))).unwrap();
        writer.write(&content).unwrap();
        writer.finish(trailers.as_deref().map(str::as_bytes)).unwrap();
        let (plain, before) = (file(root.path(), URL), told(&found(&spool, URL)));
        let done = spool.compress(&place(URL)).unwrap();
        let packed = file(root.path(), URL);
        match done {
            RewriteOutcome::Done { .. } => prop_assert!(zcat(&packed) == plain),
            RewriteOutcome::NotWorth => prop_assert!(packed == plain),
            other => prop_assert!(false, "{other:?}"),
        }
        let now = found(&spool, URL);
        prop_assert!(told(&now) == before && body(&now).unwrap() == content);
        spool.expand(&place(URL)).unwrap();
        prop_assert!(file(root.path(), URL) == plain);
    }

    #[test]
    #[ignore = "slow"]
    fn invalid_bytes_after_the_magic_are_never_served(
        rubbish in proptest::collection::vec(any::<u8>(), 0..400),
        keep in 2..120_usize,
    ) {
        let (root, spool, packed, content) = packed(9_000);
        let bytes = [&packed[..keep], &rubbish].concat();
        never_wrong(root.path(), &spool, &bytes, &content, "rubbish");
    }
}
