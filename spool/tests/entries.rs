//! Entries: what is stored is what is found.

#![allow(clippy::as_conversions, reason = "lengths of test data")]

mod support;

use support::{entry, head, open, place};
use wwwoffle_spool::{Body, Durability, Lookup, NewEntry};

#[test]
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
