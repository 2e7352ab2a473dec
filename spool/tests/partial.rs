//! Segments: they are found, joined, replaced and completed, and never served as complete.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;
use std::ops::Range;

use support::{entry, head, open, place};
use wwwoffle_spool::{
    Durability, Lookup, MAX_SEGMENTS, MAX_VALIDATOR, NewSegment, Partial, Place, Reader, Spool,
    StoredEntry, VerifiedReader,
};

const URL: &str = "http://example.org/film";
const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

/// A new segment at this offset.
fn segment(start: usize, complete_length: Option<usize>) -> NewSegment {
    NewSegment {
        entry: entry(&head(206)),
        validator: b"\"v1\"".to_vec(),
        complete_length: complete_length.map(|length| length as u64),
        start: start as u64,
    }
}

/// Stores a range of a body.
fn keep(spool: &Spool, body: &[u8], range: Range<usize>) {
    let mut writer =
        spool.begin_segment(&place(URL), segment(range.start, Some(body.len()))).unwrap();
    for piece in body[range].chunks(70_000) {
        writer.write(piece).unwrap();
    }
    writer.finish().unwrap();
}

/// Everything that is stored from an offset on, read in pieces of `step` bytes.
fn read(mut from: VerifiedReader, mut offset: u64, step: usize) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; step]);
    loop {
        match from.read_at(offset, &mut piece).unwrap() {
            0 => return all,
            read => {
                all.extend_from_slice(&piece[..read]);
                offset += read as u64;
            }
        }
    }
}

fn partial(spool: &Spool) -> Partial {
    spool.partial(&place(URL)).unwrap().unwrap()
}

#[test]
#[ignore = "slow"]
fn segments_are_stored_joined_and_completed() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let body = support::bytes(5 << 20);
        assert!(spool.partial(&place(URL)).unwrap().is_none());
        keep(&spool, &body, 3_000_000..5_000_000);
        keep(&spool, &body, 10..200_000);
        keep(&spool, &body, 150_000..1_500_000);
        let kept = partial(&spool);
        assert_eq!(kept.ranges(), [10..1_500_000, 3_000_000..5_000_000]);
        assert_eq!(kept.missing(&(0..20)), vec![0..10]);
        assert_eq!(kept.missing(&(1_000..4_000_000)), vec![1_500_000..3_000_000]);
        assert_eq!((kept.prefix(), kept.is_complete()), (0, false));
        assert_eq!(kept.complete_length(), Some(5 << 20));
        assert_eq!((kept.validator(), kept.status()), (&b"\"v1\""[..], 206));
        assert_eq!((kept.head(), kept.request()), (head(206).as_slice(), support::REQUEST));
        assert_eq!(read(kept.verified(), 10, 9_999), body[10..1_500_000]);
        assert_eq!(read(kept.verified(), 3_500_000, 1 << 20), body[3_500_000..5_000_000]);
        assert_eq!(read(kept.verified(), 0, 10), b"");
        assert_eq!(read(kept.verified(), 2_000_000, 10), b"");
        assert!(spool.complete(&partial(&spool), head(200)).unwrap().is_none());
        keep(&spool, &body, 0..11);
        keep(&spool, &body, 1_400_000..3_000_000);
        keep(&spool, &body, 4_000_000..5 << 20);
        drop(spool);

        let spool = open(root.path(), durability);
        assert!(partial(&spool).is_complete());
        assert!(matches!(spool.entry(&place(URL)).unwrap(), Lookup::Missing));
        let StoredEntry { body_len, .. } =
            spool.complete(&partial(&spool), head(200)).unwrap().unwrap();
        assert_eq!(body_len, 5 << 20);
        let found = spool.entry(&place(URL)).unwrap().found().unwrap();
        assert_eq!((found.status(), support::body(&found)), (200, Some(body.clone())));
        assert_eq!(read(found.verified(), 4_000_000, 77_777), body[4_000_000..]);
    }
}

#[test]
fn a_segment_is_never_served_as_complete() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let body = support::bytes(400_000);
    keep(&spool, &body, 0..300_000);
    let cut = place("http://example.org/cut");
    let mut writer = spool.begin_resumable(&cut, entry(&head(200)), b"\"v\"", None).unwrap();
    writer.write(&body[..1_000]).unwrap();
    assert!(writer.finish_short().unwrap());
    let files = support::files(&root.path().join("partial"));
    assert_eq!(files.len(), 2);
    for file in &files {
        let is_of = |place: &Place| file.to_str().unwrap().contains(&place.key().to_string());
        let place = [cut.clone(), self::place(URL)].into_iter().find(is_of).unwrap();
        assert!(matches!(spool.entry(&place).unwrap(), Lookup::Missing));
        let as_entry = root.path().join(place.relative_path());
        fs::create_dir_all(as_entry.parent().unwrap()).unwrap();
        fs::copy(file, &as_entry).unwrap();
        assert_eq!(spool.list(None, None).unwrap().count(), 0);
        let reader = Reader::open(root.path()).unwrap();
        assert!(matches!(reader.entry(&place).unwrap(), Lookup::SetAside(_)));
        assert!(matches!(spool.entry(&place).unwrap(), Lookup::SetAside(_)));
    }
    assert_eq!(spool.partials().unwrap().count(), 2);
}

#[test]
#[ignore = "slow"]
fn a_broken_transfer_becomes_a_segment_without_copying() {
    for len in [1_000, 3_000_000] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        let body = support::bytes(len * 2);
        let new = entry(&head(200));
        let mut writer =
            spool.begin_resumable(&place(URL), new, b"\"v1\"", Some(len as u64 * 2)).unwrap();
        let tail = writer.tail().unwrap();
        writer.write(&body[..len]).unwrap();
        assert!(writer.finish_short().unwrap());
        assert_eq!(support::files(&root.path().join("tmp")), Vec::<std::path::PathBuf>::new());
        let kept = partial(&spool);
        assert_eq!((kept.prefix(), kept.status(), kept.is_complete()), (len as u64, 200, false));
        assert_eq!(tail.available(), len as u64);
        keep(&spool, &body, len..2 * len);
        assert!(spool.complete(&partial(&spool), head(200)).unwrap().is_some());
        let found = spool.entry(&place(URL)).unwrap().found().unwrap();
        assert_eq!(support::body(&found), Some(body));
    }
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let empty = spool.begin_resumable(&place(URL), entry(&head(200)), b"\"v\"", None).unwrap();
    assert!(!empty.finish_short().unwrap());
    let mut plain = spool.begin(&place(URL), entry(&head(200))).unwrap();
    plain.write(b"some").unwrap();
    assert!(!plain.finish_short().unwrap());
    let mut whole = spool.begin_resumable(&place(URL), entry(&head(200)), b"\"v\"", None).unwrap();
    whole.write(b"some").unwrap();
    whole.finish(None).unwrap();
    assert!(spool.partial(&place(URL)).unwrap().is_none());
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert_eq!(support::body(&found), Some(b"some".to_vec()));
}

#[test]
#[ignore = "slow"]
fn segments_of_a_newer_body_replace_older_ones() {
    let other = |validator: &[u8], complete_length| NewSegment {
        validator: validator.to_vec(),
        complete_length,
        ..segment(5_000, None)
    };
    // Each row has the newer segment, and the expected number of ranges.
    for (new, ranges) in [
        (other(b"\"v2\"", Some(200_000)), 1),
        (other(b"\"v2\"", None), 1),
        (other(b"\"v1\"", Some(200_001)), 1),
        (other(b"\"v1\"", Some(200_000)), 2),
        (other(b"\"v1\"", None), 2),
    ] {
        for newer_first in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let mut spool = open(root.path(), Durability::Batch);
            let body = support::bytes(200_000);
            keep(&spool, &body, 0..1_000);
            let before = killed_copy(root.path());
            let mut writer = spool.begin_segment(&place(URL), new.clone()).unwrap();
            writer.write(b"more").unwrap();
            writer.finish().unwrap();
            if newer_first {
                // A crash undid the removal: the newer segment still counts.
                for file in support::files(before.path()) {
                    let to = root.path().join(file.strip_prefix(before.path()).unwrap());
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::copy(file, to).unwrap();
                }
                drop(spool);
                spool = open(root.path(), Durability::Batch);
            }
            let kept = partial(&spool);
            assert_eq!(kept.ranges().len(), ranges, "{new:?}");
            assert_eq!(kept.validator(), new.validator);
            assert!(kept.contains(&(5_000..5_004)));
            assert_eq!(support::files(&root.path().join("partial")).len(), ranges);
        }
    }
}

/// Returns a copy of the spool as a crash would leave it.
fn killed_copy(root: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in support::files(root) {
        let to = copy.path().join(file.strip_prefix(root).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
    copy
}

#[test]
fn a_complete_entry_and_a_removal_delete_the_segments() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let body = support::bytes(200_000);
        keep(&spool, &body, 0..1_000);
        keep(&spool, &body, 2_000..200_000);
        support::store(&spool, URL, &body).unwrap();
        // Under `Batch` the entry is not durable yet. If the segments were removed now, a power cut
        // could lose both.
        assert_eq!(spool.partial(&place(URL)).unwrap().is_some(), durability == Durability::Batch);
        spool.flush().unwrap();
        assert!(spool.partial(&place(URL)).unwrap().is_none());
        assert_eq!(support::files(&root.path().join("partial")).len(), 0);
        keep(&spool, &body, 0..1_000);
        assert!(spool.remove(&place(URL)).unwrap());
        assert!(spool.partial(&place(URL)).unwrap().is_none());
        assert!(!spool.remove(&place(URL)).unwrap());
        keep(&spool, &body, 0..1_000);
        assert!(spool.remove(&place(URL)).unwrap(), "parts alone");
        keep(&spool, &body, 0..1_000);
        let listed: Vec<_> = spool.partials().unwrap().map(Result::unwrap).collect();
        assert_eq!((listed.len(), listed[0].segments), (1, 1));
        assert!(spool.remove_partial(&listed[0].place).unwrap());
        assert!(!spool.remove_partial(&listed[0].place).unwrap());
        assert_eq!(fs::read_dir(root.path().join("partial")).unwrap().count(), 1);
    }
}

#[test]
fn an_error_response_keeps_the_segments() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let body = support::bytes(200_000);
        keep(&spool, &body, 0..1_000);
        for (status, remain) in [(503, true), (404, true), (302, true), (200, false)] {
            let mut writer = spool.begin(&place(URL), entry(&head(status))).unwrap();
            writer.write(b"busy").unwrap();
            writer.finish(None).unwrap();
            spool.flush().unwrap();
            assert_eq!(spool.partial(&place(URL)).unwrap().is_some(), remain, "{status}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_number_of_segments_is_limited() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let body = support::bytes(400_000);
    // Neighbours are joined, and no byte is lost.
    for number in 0..100 {
        keep(&spool, &body, number * 4_000..(number + 1) * 4_000);
        let files = support::files(&root.path().join("partial")).len();
        assert!(files <= MAX_SEGMENTS, "{files}");
    }
    assert!(partial(&spool).is_complete());
    assert_eq!(read(partial(&spool).verified(), 0, 50_000), body);
    spool.remove_partial(&place(URL)).unwrap();
    // If the segments do not touch, the oldest are removed.
    for number in 0..50 {
        keep(&spool, &body, number * 4_000..number * 4_000 + 1);
    }
    let kept = partial(&spool);
    assert_eq!(kept.ranges().len(), MAX_SEGMENTS);
    assert_eq!(kept.ranges()[0].start, 4_000 * (50 - MAX_SEGMENTS as u64));
}

#[test]
#[ignore = "slow"]
fn a_removal_deletes_all_segments() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    keep(&spool, &[7; 10], 0..1);
    let one = support::files(&root.path().join("partial")).remove(0);
    for number in 1..1_200 {
        fs::write(one.with_file_name(format!("{number:020}.warc")), "copied here").unwrap();
    }
    assert!(spool.remove(&place(URL)).unwrap());
    assert_eq!(support::files(&root.path().join("partial")).len(), 0);
}

#[test]
fn an_invalid_segment_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let begin = |new| spool.begin_segment(&place(URL), new);
    let long = NewSegment { validator: vec![b'a'; MAX_VALIDATOR + 1], ..segment(0, None) };
    assert!(begin(long).unwrap_err().is_too_large());
    let empty = NewSegment { validator: Vec::new(), ..segment(0, None) };
    assert!(begin(empty).unwrap_err().is_invalid());
    for (start, complete_length) in [(u64::MAX - 2, None), (98, Some(100)), (0, Some(2))] {
        let new = NewSegment { complete_length, start, ..segment(0, None) };
        let mut writer = begin(new).unwrap();
        writer.write(b"abc").unwrap();
        assert!(writer.finish().unwrap_err().is_invalid());
    }
    let mut long = begin(segment(0, Some(10))).unwrap();
    long.write(b"0123456789x").unwrap();
    assert!(long.finish_short().unwrap_err().is_invalid());
    begin(segment(0, Some(10))).unwrap().finish().unwrap();
    assert!(spool.partial(&place(URL)).unwrap().is_none());
    assert_eq!(support::files(&root.path().join("tmp")).len(), 0);
}

#[test]
fn segments_of_variants_are_stored_separately() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let keep = |variant: &str| {
        let mut writer =
            spool.begin_segment(&place(URL).with_variant(variant), segment(0, None)).unwrap();
        writer.write(variant.as_bytes()).unwrap();
        writer.write(b"body").unwrap();
        writer.finish().unwrap();
    };
    let variants = || {
        let mut all: Vec<_> = spool.partials_of(&place(URL)).unwrap();
        all.sort_by_key(|partial| partial.place().variant_text().to_owned());
        all.iter().map(|partial| partial.place().variant_text().to_owned()).collect::<Vec<_>>()
    };
    for variant in ["", "accept-language: de", "accept-language: en"] {
        keep(variant);
    }
    assert_eq!(variants(), ["", "accept-language: de", "accept-language: en"]);
    let german = place(URL).with_variant("accept-language: de");
    let found = spool.partial(&german).unwrap().unwrap();
    assert_eq!(read(found.verified(), 0, 100), b"accept-language: debody");
    assert!(spool.partial(&place(URL).with_variant("other")).unwrap().is_none());
    assert!(spool.partials_of(&place("http://example.org/")).unwrap().is_empty());
    assert!(spool.partials_of(&place(URL).owned_by("anna")).unwrap().is_empty());
    assert_eq!(spool.partials().unwrap().count(), 3);
    assert!(spool.remove_variant(&german).unwrap());
    assert_eq!(variants(), ["", "accept-language: en"]);
    // The number of variants is limited. The variants that have not grown for the longest time are
    // removed.
    for number in 0..12 {
        keep(&format!("n: {number:02}"));
    }
    let left: Vec<_> = (4..12).map(|number| format!("n: {number:02}")).collect();
    assert_eq!(variants(), left);
    assert!(spool.remove(&place(URL)).unwrap());
    assert_eq!(variants(), Vec::<String>::new());
}

#[test]
fn an_interrupted_download_is_resumed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let body = support::bytes(3_000_000);
    let begin = || {
        let new = entry(&head(200));
        spool.begin_resumable(&place(URL), new, b"\"v1\"", Some(3_000_000)).unwrap()
    };
    let mut writer = begin();
    for end in [500_000, 1_200_000, 2_900_000] {
        let start = writer.written() as usize;
        writer.write(&body[start..end]).unwrap();
        assert!(writer.finish_short().unwrap());
        writer = begin();
        assert_eq!(writer.write_prefix(&partial(&spool)).unwrap(), end as u64);
    }
    writer.write(&body[2_900_000..]).unwrap();
    writer.finish(None).unwrap();
    spool.flush().unwrap();
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert_eq!(support::body(&found), Some(body));
    assert!(spool.partial(&place(URL)).unwrap().is_none());
}

#[test]
fn two_bodies_are_never_combined() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let body = support::bytes(1_000);
        keep(&spool, &body, 0..1_000);
        let old = partial(&spool);
        assert!(old.is_complete());
        // A segment of another body is stored while the head is prepared.
        let new = NewSegment { validator: b"\"v2\"".to_vec(), ..segment(0, Some(1_000)) };
        let mut writer = spool.begin_segment(&place(URL), new).unwrap();
        writer.write(&[b'2'; 1_000]).unwrap();
        writer.finish().unwrap();
        assert!(spool.complete(&old, head(200)).unwrap().is_none());
        assert!(matches!(spool.entry(&place(URL)).unwrap(), Lookup::Missing));
        assert_eq!(partial(&spool).validator(), b"\"v2\"");

        let begin = |place: &Place, validator: &[u8], length| {
            spool.begin_resumable(place, entry(&head(200)), validator, length).unwrap()
        };
        let other = place("http://example.org/other");
        for mut writer in [
            begin(&place(URL), b"\"v2\"", Some(2_000)),
            begin(&place(URL), b"\"v2\"", Some(999)),
            begin(&place(URL).with_variant("a: b"), b"\"v1\"", Some(1_000)),
            begin(&other, b"\"v1\"", Some(1_000)),
            spool.begin(&place(URL), entry(&head(200))).unwrap(),
        ] {
            assert!(writer.write_prefix(&old).unwrap_err().is_invalid());
            assert_eq!(writer.written(), 0);
        }
        let mut used = begin(&place(URL), b"\"v1\"", None);
        used.write(b"x").unwrap();
        assert!(used.write_prefix(&old).unwrap_err().is_invalid());
        assert_eq!(used.written(), 1);
        assert_eq!(begin(&place(URL), b"\"v1\"", None).write_prefix(&old).unwrap(), 1_000);
    }
}
