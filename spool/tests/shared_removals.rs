//! Which removals are recorded for an archive tier.

#![allow(clippy::unwrap_used, reason = "tests")]

use wwwoffle_spool::{NewEntry, Options, Place, RemovalRule, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

fn store(spool: &Spool, url: &str) -> Place {
    let place = Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
    let when = "2026-01-01T00:00:00Z".parse().unwrap();
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let request = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let new = NewEntry { asked: when, when, head, request, connection: None };
    spool.begin(&place, new).unwrap().finish(None).unwrap();
    place
}

#[test]
fn only_removals_that_the_rule_covers_are_recorded() {
    let root = tempfile::tempdir().unwrap();
    let removals = RemovalRule::from_rule(|entry| entry.url().contains("shared"));
    let options = Options { removals, ..Options::default() };
    let (spool, _) = Spool::open(root.path(), &options).unwrap();
    let own = store(&spool, "http://intranet.example/");
    assert!(spool.remove(&own).unwrap());
    assert!(!root.path().join("tier").exists(), "nothing is recorded");
    let shared = store(&spool, "http://shared.example/");
    assert!(spool.remove(&shared).unwrap());
    let found = spool.shared_removals(9).unwrap();
    assert_eq!(found.iter().map(|one| one.key).collect::<Vec<_>>(), [shared.key()]);
    spool.forget_shared_removal(&found[0]).unwrap();
    assert_eq!(spool.shared_removals(9).unwrap(), []);
}

#[test]
fn an_undone_removal_is_withdrawn() {
    let root = tempfile::tempdir().unwrap();
    let removals = RemovalRule::from_rule(|_| true);
    let (spool, _) = Spool::open(root.path(), &Options { removals, ..Options::default() }).unwrap();
    let place = store(&spool, "http://shared.example/");
    let removal = spool.removal("ada");
    assert!(spool.remove_for_now(&place, &removal).unwrap());
    assert!(spool.shared_removal(place.key()).unwrap().is_some());
    spool.undo_removal(&removal, &mut |_| {}).unwrap().unwrap();
    assert!(spool.is_there(&place).unwrap());
    assert_eq!(spool.shared_removal(place.key()).unwrap(), None);
}

#[test]
fn without_a_rule_nothing_of_the_tier_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
    let place = store(&spool, "http://h.example/");
    spool.remove(&place).unwrap();
    assert!(!root.path().join("tier").exists());
}
