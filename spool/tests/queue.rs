//! The outgoing queue: accepted requests are not lost, and reveal no secrets.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]

mod support;

use std::fs;
use std::time::Duration;

use support::{open, outgoing, place};
use wwwoffle_spool::{
    AddOutcome, Durability, MAX_REQUEST_BODY, MAX_SECRETS, Outgoing, Reader, RequestKind,
    RequestState, RequesterLocation, Secrets, Spool, Timestamp,
};

#[test]
fn a_request_round_trips() {
    let root = tempfile::tempdir().unwrap();
    let mut request = outgoing("http://example.org/form", RequestKind::Post);
    request.body = support::bytes(100_000);
    request.secrets = Secrets::Open(b"Cookie: session=geheim\r\n".to_vec());
    request.summary.page = Some("http://example.org/a%20b".to_owned());
    request.summary.hops = 3;
    {
        let spool = open(root.path(), Durability::Batch);
        let queue = spool.queue();
        assert_eq!(queue.add(&request).unwrap(), AddOutcome::New);
        assert_eq!(queue.add(&request).unwrap(), AddOutcome::Already);
        assert_eq!(queue.get(&request.summary.place.key()).unwrap().as_ref(), Some(&request));
        request.summary.fetching.attempts = 2;
        request.summary.fetching.not_before = Some(Timestamp::from_second(1_800_000_000).unwrap());
        request.summary.fetching.last_error = Some("no\r\nanswer".to_owned());
        request.summary.fetching.state =
            RequestState::Failed { reason: "gone".to_owned(), status: Some(410) };
        assert!(queue.update(&request).unwrap());
    }
    let spool = open(root.path(), Durability::Batch);
    let queue = spool.queue();
    assert_eq!(queue.get(&request.summary.place.key()).unwrap().as_ref(), Some(&request));
    assert_eq!(queue.list(), [request.summary.clone()]);
    assert_eq!(queue.summary(&request.summary.place.key()), Some(request.summary.clone()));
    assert_eq!(Reader::open(root.path()).unwrap().queue().unwrap(), [request.summary.clone()]);
    assert!(queue.remove(&request.summary.place.key()).unwrap());
    assert!(!queue.remove(&request.summary.place.key()).unwrap());
    assert!(queue.is_empty());
    assert_eq!(queue.get(&request.summary.place.key()).unwrap(), None);
    assert!(!queue.update(&request).unwrap(), "what was deleted stays deleted");
}

#[test]
fn the_requester_is_written_only_if_the_owner_does_not_imply_it() {
    use RequesterLocation::{Elsewhere, Here};
    let root = tempfile::tempdir().unwrap();
    for (number, (owner, asked_from, field)) in [
        (None, Here, None),
        (None, Elsewhere, Some("elsewhere")),
        (Some("user:ada"), Here, Some("here")),
        (Some("user:ada"), Elsewhere, None),
        (Some("client:192.0.2.1"), Elsewhere, None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut request = outgoing(&format!("http://example.org/{number}"), RequestKind::Page);
        if let Some(owner) = owner {
            request.summary.place = request.summary.place.owned_by(owner);
        }
        let told = Outgoing::new(
            request.summary.place.clone(),
            request.head,
            request.summary.kind,
            request.summary.queued,
        );
        assert_eq!(told.summary.asked_from == asked_from, field.is_none(), "{owner:?}");
        let mut request = told;
        request.summary.asked_from = asked_from;
        let key = request.summary.place.key();
        open(root.path(), Durability::Each).queue().add(&request).unwrap();
        let path = root.path().join(format!("outgoing/{key}.warc"));
        let text = String::from_utf8(fs::read(path).unwrap()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Wwwoffle-Asked-From: "));
        assert_eq!(line, field, "{owner:?} {asked_from:?}");
        let spool = open(root.path(), Durability::Each);
        assert_eq!(spool.queue().get(&key).unwrap().unwrap(), request);
        assert_eq!(spool.queue().summary(&key).unwrap().asked_from, asked_from);
    }
}

#[test]
fn the_oldest_request_is_first() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    for second in [5, 3, 9, 1] {
        let mut request = outgoing(&format!("http://example.org/{second}"), RequestKind::Page);
        request.summary.queued = Timestamp::from_second(second).unwrap();
        spool.queue().add(&request).unwrap();
    }
    let order = |list: Vec<wwwoffle_spool::OutgoingSummary>| -> Vec<i64> {
        list.iter().map(|request| request.queued.as_second()).collect()
    };
    assert_eq!(order(spool.queue().list()), [1, 3, 5, 9]);
    drop(spool);
    assert_eq!(order(open(root.path(), Durability::Batch).queue().list()), [1, 3, 5, 9]);
}

#[test]
fn conditional_removal_respects_newer_requests() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let (queue, request) = (spool.queue(), outgoing("http://a/1", RequestKind::Page));
    let key = request.summary.place.key();
    assert!(!queue.remove_if(&key, |_| true).unwrap(), "there is none");
    queue.add(&request).unwrap();
    // The page is requested again in the meantime.
    let later = request.summary.queued + Duration::from_secs(1);
    let mut renewed = request.clone();
    (renewed.summary.queued, renewed.summary.renew) = (later, true);
    assert_eq!(queue.add(&renewed).unwrap(), AddOutcome::Stronger);
    assert!(!queue.remove_if(&key, |known| known.queued <= request.summary.queued).unwrap());
    assert_eq!(queue.list(), [renewed.summary]);
    assert!(queue.remove_if(&key, |known| known.queued <= later).unwrap());
    assert!(queue.is_empty() && queue.get(&key).unwrap().is_none());
}

#[test]
fn a_conditional_change_sees_the_current_request() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let (queue, request) = (spool.queue(), outgoing("http://a/1", RequestKind::Page));
    let key = request.summary.place.key();
    let rests = |mut known: Outgoing| {
        known.summary.fetching.attempts += 1;
        Some(known)
    };
    assert!(!queue.change_if(&key, rests).unwrap(), "there is none");
    queue.add(&request).unwrap();
    queue.prioritize(&[key], wwwoffle_spool::Priority::First).unwrap();
    assert!(!queue.change_if(&key, |_| None).unwrap(), "it is not meant");
    for attempts in 1..3 {
        assert!(queue.change_if(&key, rests).unwrap());
        let known = queue.get(&key).unwrap().unwrap();
        assert_eq!(
            (known.summary.fetching.attempts, known.summary.priority),
            (attempts, wwwoffle_spool::Priority::First)
        );
    }
    drop(spool);
    let spool = open(root.path(), Durability::Batch);
    assert_eq!(
        spool.queue().get(&key).unwrap().unwrap().summary.fetching.attempts,
        2,
        "it is on the medium"
    );
    assert!(spool.queue().remove(&key).unwrap() && !spool.queue().change_if(&key, rests).unwrap());
}

#[test]
fn secrets_are_nowhere_in_clear() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let mut request = outgoing("http://me:geheim@example.org/", RequestKind::Page);
    request.secrets = Secrets::Open(b"Authorization: Basic geheim\r\n".to_vec());
    spool.queue().add(&request).unwrap();
    for path in support::files(root.path()) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"geheim"), "{path:?}");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{path:?}");
    }
    for field in ["Cookie", "authorization", "PROXY-AUTHORIZATION"] {
        request.head = format!("GET / HTTP/1.1\r\n{field}: a\r\n\r\n").into_bytes();
        request.summary.place = place("http://example.org/other");
        assert!(spool.queue().add(&request).unwrap_err().is_invalid(), "{field}");
    }
}

#[test]
fn a_secret_without_its_key_is_unreadable_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let mut request = outgoing("http://example.org/", RequestKind::Page);
    request.secrets = Secrets::Open(b"Cookie: a=b".to_vec());
    open(root.path(), Durability::Batch).queue().add(&request).unwrap();
    let secret = root.path().join("secret");
    let key = fs::read(&secret).unwrap();
    fs::remove_file(&secret).unwrap();
    {
        let spool = open(root.path(), Durability::Batch);
        let mut found = spool.queue().get(&request.summary.place.key()).unwrap().unwrap();
        assert!(matches!(found.secrets, Secrets::Unreadable(_)));
        found.summary.fetching.attempts = 1;
        assert!(spool.queue().update(&found).unwrap());
    }
    fs::write(&secret, &key).unwrap();
    let spool = open(root.path(), Durability::Batch);
    let found = spool.queue().get(&request.summary.place.key()).unwrap().unwrap();
    assert_eq!((found.secrets, found.summary.fetching.attempts), (request.secrets, 1));
    drop(spool);
    fs::write(&secret, &key[1..]).unwrap();
    let (spool, recovery) = Spool::open(root.path(), &support::options(Durability::Batch)).unwrap();
    assert_eq!(recovery.damaged.len(), 1);
    assert_eq!(spool.queue().len(), 1);
}

#[test]
fn oversized_requests_are_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let mut request = outgoing("http://example.org/", RequestKind::Post);
    request.body = vec![0; MAX_REQUEST_BODY + 1];
    assert!(spool.queue().add(&request).unwrap_err().is_too_large());
    request.body.pop();
    request.secrets = Secrets::Open(vec![0; MAX_SECRETS]);
    spool.queue().add(&request).unwrap();
    assert_eq!(spool.queue().get(&request.summary.place.key()).unwrap(), Some(request));
}

#[test]
fn a_missing_queue_is_an_error_and_not_an_empty_one() {
    let root = tempfile::tempdir().unwrap();
    open(root.path(), Durability::Batch)
        .queue()
        .add(&outgoing("http://example.org/", RequestKind::Page))
        .unwrap();
    let reader = Reader::open(root.path()).unwrap();
    assert_eq!(reader.queue().unwrap().len(), 1);
    fs::remove_dir_all(root.path().join("outgoing")).unwrap();
    let error = reader.queue().unwrap_err();
    assert!(error.to_string().contains("outgoing"), "{error}");
}

#[test]
fn damaged_requests_are_moved_aside() {
    let root = tempfile::tempdir().unwrap();
    let request = outgoing("http://example.org/", RequestKind::Page);
    let key = request.summary.place.key();
    let path = root.path().join(format!("outgoing/{key}.warc"));
    for opened_again in [false, true] {
        let mut spool = open(root.path(), Durability::Batch);
        spool.queue().add(&request).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 8;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        if opened_again {
            drop(spool);
            let (again, recovery) =
                Spool::open(root.path(), &support::options(Durability::Batch)).unwrap();
            assert_eq!(recovery.damaged.len(), 1);
            assert!(recovery.damaged[0].moved_to.as_ref().unwrap().exists());
            spool = again;
        } else {
            assert!(spool.queue().get(&key).unwrap_err().is_damaged());
        }
        assert!(spool.queue().is_empty());
        assert!(!path.exists());
    }
}
