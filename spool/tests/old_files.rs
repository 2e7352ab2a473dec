//! Files written before owners, variants, request times and updates were recorded.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests lay out the files themselves"
)]

mod support;

use std::fs;

use support::{open, place};
use wwwoffle_spool::{Durability, Place, RequestKind, Secrets, Update};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// Each file has the name that it had at the time.
const FILES: [(&str, &[u8]); 3] = [
    (
        "http/old.example/5b/5b85afdb0425240a2610724c81da14024c18158f5b2e4cd618c53688fbc11e8d.warc",
        include_bytes!("data/format-1/page.warc"),
    ),
    (
        "http/old.example/40/406d5655ec341987d04e5c82ea3ea98cb4211789818e2f31abdfb31e50531204.warc",
        include_bytes!("data/format-1/private.warc"),
    ),
    (
        "outgoing/ecd9e701d24c70580bf5bae14a6bfd2352c15a8a2daaa1201e9962ff21eff1f8.warc",
        include_bytes!("data/format-1/waiting.warc"),
    ),
];

#[test]
fn files_of_the_first_program_are_read_and_updated() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path(), Durability::Batch));
    for (name, bytes) in FILES {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let spool = open(root.path(), Durability::Batch);
    let page = place("http://old.example/page?a=b");
    let found = spool.entry(&page).unwrap().found().unwrap();
    assert_eq!(support::body(&found).unwrap(), b"<!doctype html>old");
    assert_eq!((found.requested(), found.responded()), (found.received(), found.received()));
    assert_eq!((found.checked(), found.invalid_since()), (found.received(), None));
    assert_eq!(found.place().owner(), None);
    assert_eq!(found.trailers(), Some(&b"X-Sum: 1\r\n"[..]));

    let url = CanonicalUrl::parse("http://me:secret@old.example/", &LocalHost::default()).unwrap();
    let private = Place::variant(&url, "authorization Bearer x");
    assert!(spool.entry(&private).unwrap().found().is_some());

    let since = found.stored();
    let updated = spool.update(&found, &Update::Invalid { since }).unwrap().unwrap();
    assert_eq!(updated.invalid_since(), Some(since));
    support::store_at(&spool, &page.clone().with_variant("accept-language: de"), b"neu").unwrap();
    spool.flush().unwrap();
    let bodies: Vec<_> = spool.entries(&page).unwrap().found.iter().map(support::body).collect();
    assert_eq!(bodies, [Some(b"neu".to_vec()), Some(b"<!doctype html>old".to_vec())]);

    let waiting = spool.queue().get(&place("http://old.example/waits").key()).unwrap().unwrap();
    assert_eq!((waiting.summary.kind, waiting.body.as_slice()), (RequestKind::Post, &b"a=b"[..]));
    assert!(matches!(waiting.secrets, Secrets::Unreadable(_)), "its key is not here");
}
