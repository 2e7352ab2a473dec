//! A truncated, changed or foreign file is never served, and does not block the place.

#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
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
use std::time::Duration;

use proptest::prelude::*;
use support::{body, entry, head, open, place, store};
use wwwoffle_spool::{Body, Durability, Lookup, NewEntry, Reader, Spool, Timestamp, Update};

const URL: &str = "http://example.org/";

struct Stored {
    root: tempfile::TempDir,
    spool: Spool,
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A spool with one entry.
fn stored(len: usize) -> Stored {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    store(&spool, URL, &support::bytes(len)).unwrap();
    let path = root.path().join(place(URL).relative_path());
    let bytes = fs::read(&path).unwrap();
    Stored { root, spool, path, bytes }
}

impl Stored {
    /// Whether the entry is served with these bytes as its file.
    fn is_served(&self, bytes: &[u8]) -> bool {
        fs::write(&self.path, bytes).unwrap();
        let Lookup::SetAside(damage) = self.spool.entry(&place(URL)).unwrap() else { return true };
        assert!(!self.path.exists());
        let moved = damage.moved_to.unwrap();
        assert_eq!(fs::read(&moved).unwrap(), bytes);
        let note = fs::read_to_string(format!("{}.reason", moved.display())).unwrap();
        assert!(note.contains(&damage.reason), "{note}");
        assert!(matches!(self.spool.entry(&place(URL)).unwrap(), Lookup::Missing));
        false
    }
}

#[test]
#[ignore = "slow"]
fn any_changed_byte_of_a_small_entry_is_noticed() {
    let stored = stored(300);
    for index in 0..stored.bytes.len() {
        for bit in [0, 5] {
            let mut bytes = stored.bytes.clone();
            bytes[index] ^= 1 << bit;
            assert!(!stored.is_served(&bytes), "byte {index}, bit {bit}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn any_cut_and_any_addition_is_noticed() {
    let stored = stored(300);
    for len in 0..stored.bytes.len() {
        assert!(!stored.is_served(&stored.bytes[..len]), "cut at {len}");
    }
    assert!(!stored.is_served(&[stored.bytes.as_slice(), b"\n"].concat()));
    assert!(!stored.is_served(&stored.bytes.repeat(2)));
    assert!(stored.is_served(&stored.bytes));
}

#[test]
#[ignore = "slow"]
fn damage_to_a_large_entry_is_noticed() {
    let stored = stored(400_000);
    let beginning = &support::bytes(400_000)[..100];
    let first = stored.bytes.windows(100).position(|window| window == beginning).unwrap();
    for index in (0..1_500).chain([stored.bytes.len() - 600, stored.bytes.len() - 1]) {
        let mut bytes = stored.bytes.clone();
        bytes[index] ^= 4;
        fs::write(&stored.path, &bytes).unwrap();
        match stored.spool.entry(&place(URL)).unwrap() {
            Lookup::SetAside(_) => assert!(!stored.path.exists()),
            Lookup::Missing => panic!("byte {index}"),
            Lookup::Found(found) => {
                assert!(index >= first, "byte {index} is of the head");
                assert_eq!(body(&found), None, "byte {index}");
                let damage = stored.spool.set_aside(&found).unwrap().unwrap();
                assert!(damage.moved_to.unwrap().exists());
                assert!(matches!(stored.spool.entry(&place(URL)).unwrap(), Lookup::Missing));
            }
        }
    }
    for len in [0, 100, 1_000, 131_072, 200_000, stored.bytes.len() - 1] {
        assert!(!stored.is_served(&stored.bytes[..len]), "cut at {len}");
    }
}

#[test]
fn a_replaced_entry_is_not_moved_aside() {
    let stored = stored(400_000);
    let Lookup::Found(old) = stored.spool.entry(&place(URL)).unwrap() else { panic!() };
    store(&stored.spool, URL, &support::bytes(500_000)).unwrap();
    assert_eq!(stored.spool.set_aside(&old).unwrap(), None);
    let Lookup::Found(new) = stored.spool.entry(&place(URL)).unwrap() else { panic!() };
    assert_eq!(new.body_len(), 500_000);
    assert_eq!(body(&old).unwrap().len(), 400_000, "what is open stays readable");
}

#[test]
fn an_entry_of_another_name_is_not_served() {
    let stored = stored(300);
    let other = place("http://example.org/other");
    let path = stored.root.path().join(other.relative_path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::rename(&stored.path, &path).unwrap();
    let reader = Reader::open(stored.root.path()).unwrap();
    let Lookup::SetAside(damage) = reader.entry(&other).unwrap() else { panic!() };
    assert_eq!((damage.moved_to, path.exists()), (None, true), "a reader moves nothing");
    assert!(matches!(stored.spool.entry(&other).unwrap(), Lookup::SetAside(_)));
    assert!(matches!(stored.spool.entry(&other).unwrap(), Lookup::Missing));
}

#[test]
fn links_and_fifos_are_not_opened() {
    let stored = stored(300);
    let elsewhere = stored.root.path().join("elsewhere");
    fs::write(&elsewhere, &stored.bytes).unwrap();
    let make: [&dyn Fn(); 4] = [
        &|| symlink(&elsewhere, &stored.path).unwrap(),
        &|| symlink("/nowhere", &stored.path).unwrap(),
        &|| fs::create_dir(&stored.path).unwrap(),
        &|| {
            let fifo = std::process::Command::new("mkfifo").arg(&stored.path).status().unwrap();
            assert!(fifo.success());
        },
    ];
    for (number, make) in make.iter().enumerate() {
        let _ = fs::remove_file(&stored.path);
        make();
        let Lookup::SetAside(damage) = stored.spool.entry(&place(URL)).unwrap() else {
            panic!("{number} was served")
        };
        assert!(fs::symlink_metadata(damage.moved_to.unwrap()).is_ok());
        store(&stored.spool, URL, b"again").unwrap();
        assert!(stored.spool.entry(&place(URL)).unwrap().found().is_some());
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), stored.bytes);
}

#[test]
fn only_complete_and_newest_files_are_recovered_from_tmp() {
    let (old, new) = (stored(300_000), stored(300_001));
    let mut damaged = new.bytes.clone();
    damaged[200_000] ^= 1;
    let cut = &new.bytes[..290_000];
    // The content of tmp/, the file in place, and the length of the body found afterwards.
    let cases: [(&[&[u8]], Option<&[u8]>, Option<usize>); 9] = [
        (&[&new.bytes], None, Some(300_001)),
        (&[&new.bytes], Some(&old.bytes), Some(300_001)),
        (&[&old.bytes], Some(&new.bytes), Some(300_001)),
        (&[&old.bytes, &new.bytes], None, Some(300_001)),
        (&[&new.bytes, &old.bytes], None, Some(300_001)),
        (&[&damaged], Some(&old.bytes), Some(300_000)),
        (&[cut], Some(&old.bytes), Some(300_000)),
        (&[cut, &damaged, b"", b"unfinished"], None, None),
        (&[&new.bytes], Some(b"rubbish"), Some(300_001)),
    ];
    for (number, (tmp, in_place, found)) in cases.into_iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        drop(open(root.path(), Durability::Batch));
        for (index, bytes) in tmp.iter().enumerate() {
            fs::write(root.path().join(format!("tmp/{index:08}.warc")), bytes).unwrap();
        }
        let path = root.path().join(place(URL).relative_path());
        if let Some(bytes) = in_place {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        let spool = open(root.path(), Durability::Batch);
        let entry = spool.entry(&place(URL)).unwrap().found();
        assert_eq!(entry.as_ref().and_then(body).map(|body| body.len()), found, "case {number}");
        assert_eq!(support::files(&root.path().join("tmp")), Vec::<PathBuf>::new());
    }
}

#[test]
fn an_update_applies_to_its_entry_only() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    store(&spool, URL, &support::bytes(300_000)).unwrap();
    let path = root.path().join(place(URL).relative_path());
    let beside = path.with_extension("update.warc");
    let find = || spool.entry(&place(URL)).unwrap().found().unwrap();
    let since = find().received();
    spool.update(&find(), &Update::Invalid { since }).unwrap().unwrap();
    assert_eq!(find().invalid_since(), Some(since));
    let learnt = fs::read(&beside).unwrap();

    // The content of a damaged update is unknown, so the entry counts as invalid.
    let half = &learnt[..learnt.len() / 2];
    for damaged in [half, b"", b"rubbish"] {
        fs::write(&beside, damaged).unwrap();
        assert_eq!(find().invalid_since(), Some(find().stored()));
        assert_eq!(body(&find()).unwrap().len(), 300_000);
    }
    // This request is later than any time in the lost update.
    let asked = find().stored() + Duration::from_secs(1);
    let responded = asked;
    let update = Update::Confirmed { head: head(200), asked, responded };
    spool.update(&find(), &update).unwrap().unwrap();
    assert_eq!(find().invalid_since(), None);

    // A new response of the same length at the same place is another entry.
    store(&spool, URL, &support::bytes(300_000)).unwrap();
    assert!(!beside.exists());
    fs::write(&beside, &learnt).unwrap();
    assert_eq!(find().invalid_since(), None);
    let reader = Reader::open(root.path()).unwrap();
    assert_eq!(reader.entries(&place(URL)).unwrap().found[0].invalid_since(), None);
    assert!(spool.remove(&place(URL)).unwrap());
    assert_eq!(support::files(&root.path().join("http")), Vec::<PathBuf>::new());
}

#[test]
fn a_damaged_variant_does_not_affect_others() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let variants = ["", "de", "en"].map(|text| place(URL).with_variant(text));
    for place in &variants {
        support::store_at(&spool, place, b"body").unwrap();
    }
    let german = root.path().join(variants[1].relative_path());
    let english = root.path().join(variants[2].relative_path());
    // The file of one variant is foreign under the name of another variant.
    fs::copy(&english, &german).unwrap();
    let reader = Reader::open(root.path()).unwrap();
    let entries = reader.entries(&variants[0]).unwrap();
    assert_eq!((entries.found.len(), entries.set_aside.len()), (2, 1));
    assert!(german.exists(), "a reader changes nothing");
    let entries = spool.entries(&variants[0]).unwrap();
    assert_eq!((entries.found.len(), entries.set_aside.len()), (2, 1));
    assert!(!german.exists());
    // A damaged single entry is reported, and moved aside to make room for the next variant.
    let single = root.path().join(variants[0].relative_path());
    fs::write(&single, b"rubbish").unwrap();
    support::store_at(&spool, &variants[1], b"body").unwrap();
    assert!(spool.failures()[0].is_damaged());
    let entries = spool.entries(&variants[0]).unwrap();
    assert_eq!((entries.found.len(), entries.set_aside.len()), (3, 0));
}

#[test]
fn an_entry_that_readers_would_refuse_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let try_head = |head: &[u8]| spool.begin(&place(URL), entry(head)).err();
    for head in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-encoding: chunked\r\n\r\n",
    ] {
        assert!(try_head(head.as_bytes()).unwrap().is_invalid(), "{head:?}");
    }
    let long = |len| format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(len - 24)).into_bytes();
    assert!(try_head(&long(wwwoffle_spool::MAX_HEAD)).is_none());
    assert!(try_head(&long(wwwoffle_spool::MAX_HEAD + 1)).unwrap().is_too_large());
    let url = format!("http://example.org/{}", "x".repeat(wwwoffle_spool::MAX_URL));
    assert!(spool.begin(&place(&url), entry(&head(200))).unwrap_err().is_too_large());
    for request in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nCOOKIE : a\r\n\r\n"] {
        let new = NewEntry { request: request.into(), ..entry(&head(200)) };
        assert!(spool.begin(&place(URL), new).unwrap_err().is_invalid(), "{request:?}");
    }
    let connection = Some(vec![b'x'; wwwoffle_spool::MAX_CONNECTION + 1]);
    let new = NewEntry { connection, ..entry(&head(200)) };
    assert!(spool.begin(&place(URL), new).unwrap_err().is_too_large());
    assert_eq!(support::files(&root.path().join("tmp")), Vec::<PathBuf>::new());
}

#[test]
fn an_entry_of_maximum_size_round_trips() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let slashes = "x".repeat(wwwoffle_spool::MAX_URL - "http://example.org/".len());
    let place = place(&format!("http://example.org/{slashes}"));
    let field = "x".repeat(wwwoffle_spool::MAX_HEAD - 24);
    let head = format!("HTTP/1.1 200 OK\r\nX: {field}\r\n\r\n").into_bytes();
    let mut request = b"POST / HTTP/1.1\r\n\r\n".to_vec();
    request.resize(wwwoffle_spool::MAX_KEPT_REQUEST, b'x');
    let trailers = vec![b'x'; wwwoffle_spool::MAX_TRAILERS];
    let connection = vec![b'x'; wwwoffle_spool::MAX_CONNECTION];
    for len in [0, 1 << 20] {
        let new = NewEntry {
            request: request.clone(),
            connection: Some(connection.clone()),
            ..entry(&head)
        };
        let mut writer = spool.begin(&place, new).unwrap();
        writer.write(&support::bytes(len)).unwrap();
        writer.finish(Some(&trailers)).unwrap();
        let found = spool.entry(&place).unwrap().found().unwrap();
        assert!(matches!(found.body(), Body::File(_)));
        assert_eq!((found.head(), found.request()), (head.as_slice(), request.as_slice()));
        assert_eq!(found.trailers(), Some(trailers.as_slice()));
        assert_eq!(found.connection(), Some(connection.as_slice()));
        assert_eq!(body(&found).unwrap(), support::bytes(len));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[ignore = "slow"]
    fn every_exchange_round_trips(
        status in 100_u16..1000,
        fields in proptest::collection::vec("[a-z]{1,9}: [ -~]{0,40}", 0..9),
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9_000), 0..9),
        request_body in proptest::collection::vec(any::<u8>(), 0..300),
        trailers in proptest::option::of("([A-Z]{1,5}: [a-z]{1,9}\r\n){0,3}"),
        connection in proptest::option::of("([a-z]{1,5}: [ -~]{1,99}\r\n){0,3}"),
        seconds in 0_i64..4_000_000_000,
    ) {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        let head = format!("HTTP/1.1 {status} \r\n{fields}\r\n").into_bytes();
        let request = [support::REQUEST, &request_body].concat();
        let when = Timestamp::from_second(seconds).unwrap();
        let connection = connection.map(String::into_bytes);
        let new = NewEntry {
            asked: when,
            when,
            head: head.clone(),
            request: request.clone(),
            connection: connection.clone(),
        };
        let mut writer = spool.begin(&place(URL), new).unwrap();
        for piece in &pieces {
            writer.write(piece).unwrap();
        }
        writer.finish(trailers.as_deref().map(str::as_bytes)).unwrap();
        let found = spool.entry(&place(URL)).unwrap().found().unwrap();
        prop_assert_eq!(found.status(), status);
        prop_assert_eq!(found.received(), when);
        prop_assert_eq!(found.head(), head);
        prop_assert_eq!(found.request(), request);
        prop_assert_eq!(found.trailers(), trailers.as_deref().map(str::as_bytes));
        prop_assert_eq!(found.connection(), connection.as_deref());
        prop_assert_eq!(body(&found), Some(pieces.concat()));
    }
}
