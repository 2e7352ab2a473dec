//! Entries: lookups return the stored entry.

#![allow(clippy::as_conversions, clippy::indexing_slicing, reason = "a test")]

mod support;

use support::{entry, head, open, place};
use wwwoffle_spool::{
    Body, Durability, Lookup, MAX_OWNER, MAX_VARIANT, MAX_VARIANTS, NewEntry, Place, Timestamp,
    Update,
};

#[test]
#[ignore = "slow"]
fn an_entry_is_found_as_it_was_stored() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        for len in [0, 1, 100, 60_000, 64 << 10, 128 << 10, 3 << 20] {
            let root = tempfile::tempdir().unwrap();
            let spool = open(root.path(), durability);
            let place = place("http://www.example.org/");
            let body = support::bytes(len);
            let connection = (len % 3 == 0).then(|| support::CONNECTION.to_vec());
            let new = NewEntry { connection: connection.clone(), ..entry(&head(200)) };
            let mut writer = spool.begin(&place, new).unwrap();
            for piece in body.chunks(7_000) {
                writer.write(piece).unwrap();
            }
            let trailers = (len > 100).then_some(&b"X-Sum: 1\r\n"[..]);
            let stored = writer.finish(trailers).unwrap();
            for flushed in [false, true] {
                if flushed {
                    spool.flush().unwrap();
                }
                let Lookup::Found(found) = spool.entry(&place).unwrap() else { panic!() };
                assert_eq!(found.url(), place.url());
                assert_eq!(found.status(), 200);
                assert_eq!(found.head(), head(200));
                assert_eq!(found.request(), support::REQUEST);
                assert_eq!(found.trailers(), trailers);
                assert_eq!(found.connection(), connection.as_deref());
                assert_eq!(found.body_len(), len as u64);
                assert_eq!(*found.digest(), stored.digest);
                assert_eq!(matches!(found.body(), Body::Whole(_)), stored.file_len <= 128 << 10);
                assert_eq!(support::body(&found), Some(body.clone()));
            }
        }
    }
}

#[test]
fn owners_and_variants_have_separate_entries() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let all = place("http://www.example.org/");
        let own = all.clone().owned_by("user anna\n100 %");
        let put = |place: &Place, body: &[u8]| {
            let mut writer = spool.begin(place, entry(&head(200))).unwrap();
            writer.write(body).unwrap();
            writer.finish(None).unwrap();
        };
        put(&own, b"own");
        put(&all.clone().with_variant("de\r\n%"), b"german");
        put(&all.clone().with_variant("en"), b"english");
        put(&all.clone().with_variant("de\r\n%"), b"german again");
        for flushed in [false, true] {
            if flushed {
                spool.flush().unwrap();
            }
            let found = spool.entries(&all).unwrap().found;
            let told: Vec<_> = found
                .iter()
                .map(|entry| (entry.place().variant_text(), support::body(entry).unwrap()))
                .collect();
            let expected = [("de\r\n%", b"german again".to_vec()), ("en", b"english".to_vec())];
            assert_eq!(told, expected);
            let found = spool.entries(&own).unwrap().found;
            assert_eq!(support::body(&found[0]).unwrap(), b"own");
            assert_eq!(found[0].place(), &own);
            assert_eq!(found.len(), 1);
        }
        assert!(spool.remove_variant(&all.clone().with_variant("en")).unwrap());
        assert_eq!(spool.entries(&all).unwrap().found.len(), 1);
        assert!(spool.remove(&all).unwrap());
        assert_eq!(spool.entries(&all).unwrap().found.len(), 0);
        assert!(spool.entry(&own).unwrap().found().is_some());
    }
}

#[test]
fn an_entry_is_updated_in_all_but_its_body() {
    let time = |second: i64| Timestamp::from_second(1_700_000_000 + second).unwrap();
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        for len in [100, 200_000] {
            let root = tempfile::tempdir().unwrap();
            let spool = open(root.path(), durability);
            let place = place("http://www.example.org/");
            let new = NewEntry { asked: time(-3), ..entry(&head(200)) };
            let mut writer = spool.begin(&place, new).unwrap();
            writer.write(&support::bytes(len)).unwrap();
            writer.finish(Some(b"X-Sum: 1\r\n")).unwrap();
            let first = spool.entry(&place).unwrap().found().unwrap();
            assert_eq!((first.requested(), first.responded()), (time(-3), time(0)));
            assert_eq!(first.invalid_since(), None);
            let since = time(9);
            let invalid = spool.update(&first, &Update::Invalid { since }).unwrap().unwrap();
            assert_eq!((invalid.invalid_since(), invalid.checked()), (Some(since), time(0)));
            let head = b"HTTP/1.1 200 OK\r\nETag: \"b\"\r\n\r\n".to_vec();
            let update =
                Update::Confirmed { head: head.clone(), asked: time(10), responded: time(11) };
            // `first` was read before the previous update, but is still the same response.
            let updated = spool.update(&first, &update).unwrap().unwrap();
            for flushed in [false, true] {
                if flushed {
                    spool.flush().unwrap();
                }
                let found = spool.entry(&place).unwrap().found().unwrap();
                for entry in [&updated, &found] {
                    assert_eq!(entry.head(), head);
                    assert_eq!((entry.requested(), entry.responded()), (time(10), time(11)));
                    assert_eq!((entry.received(), entry.checked()), (time(0), time(11)));
                    assert_eq!((entry.stored(), entry.digest()), (first.stored(), first.digest()));
                    assert_eq!(entry.invalid_since(), None);
                    assert_eq!(entry.trailers(), Some(&b"X-Sum: 1\r\n"[..]));
                    assert_eq!(support::body(entry), Some(support::bytes(len)));
                }
            }
            support::store(&spool, place.url(), b"another").unwrap();
            assert!(spool.update(&first, &update).unwrap().is_none());
            assert_eq!(spool.entry(&place).unwrap().found().unwrap().body_len(), 7);
            spool.remove(&place).unwrap();
            assert!(spool.update(&first, &update).unwrap().is_none());
        }
    }
}

#[test]
fn an_older_request_does_not_undo_an_invalidation() {
    let time = |second: i64| Timestamp::from_second(1_700_000_000 + second).unwrap();
    for len in [100, 200_000] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        let place = place("http://www.example.org/");
        support::store(&spool, place.url(), &support::bytes(len)).unwrap();
        let entry = spool.entry(&place).unwrap().found().unwrap();
        spool.update(&entry, &Update::Invalid { since: time(9) }).unwrap().unwrap();
        for (asked, invalid) in [(8, Some(time(9))), (9, Some(time(9))), (10, None)] {
            let (asked, responded) = (time(asked), time(12));
            let update = Update::Confirmed { head: head(200), asked, responded };
            let updated = spool.update(&entry, &update).unwrap().unwrap();
            assert_eq!((updated.requested(), updated.invalid_since()), (asked, invalid), "{len}");
        }
    }
}

#[test]
fn variants_of_other_spellings_are_removed_first() {
    for durability in [Durability::Each, Durability::Batch] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let all = place("http://www.example.org/");
        let store = |variant: &str| {
            let place = all.clone().with_variant(variant);
            spool.begin(&place, entry(&head(200))).unwrap().finish(None).unwrap();
        };
        let plain = ["", "accept-language:de"];
        plain.into_iter().for_each(store);
        for spelling in 0..MAX_VARIANTS + 4 {
            store(&Place::respelled(&spelling.to_string(), "accept-language:de"));
        }
        spool.flush().unwrap();
        let found = spool.entries(&all).unwrap().found;
        let told: Vec<_> = found.iter().map(|entry| entry.place().variant_text()).collect();
        assert_eq!(told.len(), MAX_VARIANTS);
        for variant in plain {
            assert!(told.contains(&variant), "{variant:?} is not in {told:?}");
        }
        let last = Place::respelled(&(MAX_VARIANTS + 3).to_string(), "accept-language:de");
        assert!(told.contains(&last.as_str()), "{told:?}");
    }
}

#[test]
fn the_oldest_variant_is_removed() {
    for durability in [Durability::Each, Durability::Batch] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let all = place("http://www.example.org/");
        let number = MAX_VARIANTS + 4;
        for variant in 0..number {
            let place = all.clone().with_variant(&format!("{variant}"));
            spool.begin(&place, entry(&head(200))).unwrap().finish(None).unwrap();
            if variant % 5 == 0 {
                spool.flush().unwrap();
            }
            // This entry is stored again in each round, so it is always the newest.
            let first = all.clone().with_variant("0");
            spool.begin(&first, entry(&head(200))).unwrap().finish(None).unwrap();
        }
        for flushed in [false, true] {
            if flushed {
                spool.flush().unwrap();
            }
            let mut told: Vec<usize> = spool
                .entries(&all)
                .unwrap()
                .found
                .iter()
                .map(|entry| entry.place().variant_text().parse().unwrap())
                .collect();
            assert_eq!(told.len(), MAX_VARIANTS);
            told.sort_unstable();
            assert_eq!(told[0], 0);
            assert_eq!(told[1], number + 1 - MAX_VARIANTS);
        }
        assert_eq!(spool.list(None, None).unwrap().count(), MAX_VARIANTS);
    }
}

#[test]
fn a_place_is_bounded() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let place = place("http://www.example.org/");
    let text = |len| "%".repeat(len);
    let begin = |owner, variant| {
        let place = place.clone().owned_by(&text(owner)).with_variant(&text(variant));
        spool.begin(&place, entry(&head(200)))
    };
    assert!(begin(MAX_OWNER + 1, 0).unwrap_err().is_too_large());
    assert!(begin(0, MAX_VARIANT + 1).unwrap_err().is_too_large());
    begin(MAX_OWNER, MAX_VARIANT).unwrap().finish(None).unwrap();
    let found = spool.entries(&place.owned_by(&text(MAX_OWNER))).unwrap().found;
    assert_eq!(found[0].place().variant_text().len(), MAX_VARIANT);
}

#[test]
fn an_update_that_could_not_be_read_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    support::store(&spool, "http://www.example.org/", b"body").unwrap();
    let found = spool.entry(&place("http://www.example.org/")).unwrap().found().unwrap();
    for wrong in [head(304), b"HTTP/1.1 200 OK\r\n".to_vec(), Vec::new()] {
        let update = Update::Confirmed {
            head: wrong,
            asked: found.requested(),
            responded: found.received(),
        };
        assert!(spool.update(&found, &update).unwrap_err().is_invalid());
    }
}
