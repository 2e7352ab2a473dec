//! Combining requests for one URL, and requests that follow from another: no order of crashes loses
//! one.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that looks at the files themselves"
)]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex};

use support::sim::{Fault, SimDisk};
use support::{open, options, outgoing, place, store};
use wwwoffle_spool::{
    AddOutcome, Durability, FinishOutcome, Lookup, MAX_OPTIONS, Outgoing, Priority, QueueChange,
    RequestKind, RequestLine, RequestState, RequesterLocation, Result, RunId, RunMembership,
    Secrets, Spool, Timestamp,
};

const URL: &str = "http://a/page";

fn member(run: u64, depth: u16) -> RunMembership {
    RunMembership { run: RunId::from_number(run), depth }
}

fn recursive(depth: u16) -> Outgoing {
    let mut request = outgoing(URL, RequestKind::Recursive);
    request.summary.runs = vec![member(7, depth)];
    request
}

#[test]
fn a_request_of_a_recursive_fetch_round_trips() {
    let root = tempfile::tempdir().unwrap();
    let mut request = recursive(3);
    request.summary.runs.push(member(8, 0));
    request.summary.class = Some("stylesheet".to_owned());
    request.nesting = 2;
    request.summary.renew = true;
    request.options = Some("a=b; c=\u{e4}\r\n".to_owned());
    request.any_length = true;
    request.summary.fetching.state = RequestState::Asking { bytes: Some(1 << 40) };
    assert_eq!(
        open(root.path(), Durability::Batch).queue().add(&request).unwrap(),
        AddOutcome::New
    );
    let spool = open(root.path(), Durability::Batch);
    assert_eq!(spool.queue().get(&request.summary.place.key()).unwrap().as_ref(), Some(&request));
    assert_eq!(spool.queue().list(), [request.summary]);
    let bad = |change: fn(&mut Outgoing)| {
        let mut request = outgoing("http://a/bad", RequestKind::Page);
        change(&mut request);
        spool.queue().add(&request).unwrap_err()
    };
    assert!(bad(|request| request.summary.class = Some("A b".to_owned())).is_invalid());
    assert!(bad(|request| request.options = Some("x".repeat(MAX_OPTIONS + 1))).is_too_large());
}

/// Otherwise a recursive fetch would keep a file open for each of its requests.
#[test]
fn requests_do_not_wait_for_an_entry_that_cannot_be_named() {
    let disk = SimDisk::new();
    let options = options(Durability::Batch);
    let spool = Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options).unwrap().0;
    store(&spool, URL, b"old").unwrap();
    spool.flush().unwrap();
    disk.refuse_names(Some(Path::new("/spool/http")));
    for number in 0..1_000 {
        // Each call may write a batch.
        let store_page = || store(&spool, URL, format!("{number}").as_bytes()).unwrap();
        let request = outgoing(&format!("http://a/{number}"), RequestKind::Page);
        store_page();
        spool.queue().add_next(&request).unwrap();
        store_page();
        assert!(matches!(spool.queue().finish(&request).unwrap(), FinishOutcome::Gone));
        assert!(disk.files(Path::new("/spool/tmp")).len() < 300, "after {number}");
    }
    assert!(!spool.failures().is_empty());
}

/// Each row has the waiting request, the new one, the outcome of adding it, and the resulting
/// request. A request is given as a kind, the depths of its runs, and whether it is a sub-resource.
#[test]
fn of_several_depths_the_greater_one_wins() {
    use RequestKind::{Monitored, Page, Part, Recursive, Refresh};
    let make = |kind, depths: &[(u64, u16)], is_part| {
        let mut request = outgoing(URL, kind);
        request.summary.runs = depths.iter().map(|&(run, depth)| member(run, depth)).collect();
        request.summary.class = Option::from("image".to_owned()).filter(|_| is_part);
        request
    };
    for (number, (known, new, added, want)) in [
        (
            make(Page, &[], false),
            make(Page, &[], false),
            AddOutcome::Already,
            (Page, vec![], false),
        ),
        (make(Page, &[], false), make(Part, &[], true), AddOutcome::Already, (Page, vec![], false)),
        (
            make(Part, &[], true),
            make(Page, &[], false),
            AddOutcome::Stronger,
            (Page, vec![], false),
        ),
        (
            make(Recursive, &[(1, 2)], false),
            make(Recursive, &[(1, 1)], true),
            AddOutcome::Already,
            (Recursive, vec![member(1, 2)], false),
        ),
        (
            make(Recursive, &[(1, 2)], true),
            make(Recursive, &[(1, 3), (2, 0)], false),
            AddOutcome::Stronger,
            (Recursive, vec![member(1, 3), member(2, 0)], false),
        ),
        (
            make(Monitored, &[], false),
            make(Recursive, &[(1, 3)], false),
            AddOutcome::Stronger,
            (Recursive, vec![member(1, 3)], false),
        ),
        (
            make(Part, &[], true),
            make(Refresh, &[], false),
            AddOutcome::Stronger,
            (Part, vec![], false),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        spool.queue().add(&known).unwrap();
        assert_eq!(spool.queue().add(&new).unwrap(), added, "row {number}");
        let got = spool.queue().get(&known.summary.place.key()).unwrap().unwrap();
        assert_eq!(
            (got.summary.kind, got.summary.runs.clone(), got.summary.class.is_some()),
            want,
            "row {number}"
        );
        assert_eq!(got.summary.renew, known.summary.renew || new.summary.renew, "row {number}");
        assert_eq!(spool.queue().list(), [got.summary], "row {number}");
    }
}

#[test]
fn the_stronger_request_is_sent_as_its_requester_would() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let queue = spool.queue();
    queue.add(&recursive(3)).unwrap();
    let mut page = outgoing(URL, RequestKind::Page);
    page.head = b"GET /page HTTP/1.1\r\nHost: a\r\nUser-Agent: Firefox\r\n\r\n".to_vec();
    page.secrets = Secrets::Open(b"Cookie: a=b\r\n".to_vec());
    assert_eq!(queue.add(&page).unwrap(), AddOutcome::Stronger);
    let got = queue.get(&page.summary.place.key()).unwrap().unwrap();
    assert_eq!((&got.head, &got.secrets), (&page.head, &page.secrets));
    assert_eq!(got.summary.runs, [member(7, 3)]);
    // A form is never combined.
    let form = outgoing(URL, RequestKind::Post);
    assert_eq!(queue.add(&form).unwrap(), AddOutcome::Already);
}

#[test]
fn a_remote_request_does_not_gain_local_rights() {
    use RequestKind::{Page, Part};
    use RequesterLocation::{Elsewhere, Here};
    let make = |kind, asked_from, path: &str| {
        let mut request = outgoing(URL, kind);
        request.summary.place = request.summary.place.owned_by("user:ada");
        request.head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
        request.secrets = Secrets::Open(path.as_bytes().to_vec());
        request.summary.asked_from = asked_from;
        request
    };
    for (known, new, added, kind, sent) in [
        ((Page, Here), (Page, Elsewhere), AddOutcome::Already, Page, "/known"),
        ((Part, Here), (Page, Elsewhere), AddOutcome::Stronger, Page, "/known"),
        ((Page, Elsewhere), (Part, Here), AddOutcome::Stronger, Page, "/new"),
        ((Part, Elsewhere), (Page, Elsewhere), AddOutcome::Stronger, Page, "/new"),
        ((Part, Here), (Page, Here), AddOutcome::Stronger, Page, "/new"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        let is_here = known.1 == Here || new.1 == Here;
        let (known, new) = (make(known.0, known.1, "/known"), make(new.0, new.1, "/new"));
        spool.queue().add(&known).unwrap();
        assert_eq!(spool.queue().add(&new).unwrap(), added, "{known:?} {new:?}");
        let got = spool.queue().get(&known.summary.place.key()).unwrap().unwrap();
        let by = if sent == "/new" { &new } else { &known };
        assert_eq!((&got.head, &got.secrets), (&by.head, &by.secrets), "{known:?} {new:?}");
        assert_eq!(
            (got.summary.kind, got.summary.asked_from == Here),
            (kind, is_here),
            "{known:?} {new:?}"
        );
    }
}

#[test]
fn a_request_added_during_its_fetch_is_not_lost() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let queue = spool.queue();
    queue.add(&recursive(1)).unwrap();
    let seen = queue.get(&recursive(0).summary.place.key()).unwrap().unwrap();
    queue.add(&recursive(4)).unwrap();
    // The fetch records its result, and undoes no later change.
    let mut failed = seen.clone();
    failed.summary.fetching.attempts = 1;
    assert!(queue.update(&failed).unwrap());
    let FinishOutcome::Wanted(now) = queue.finish(&seen).unwrap() else { panic!("it is gone") };
    assert_eq!((now.summary.fetching.attempts, &*now.summary.runs), (1, &[member(7, 4)][..]));
    assert_eq!(queue.finish(&now).unwrap(), FinishOutcome::Gone);
    assert_eq!((queue.len(), queue.get(&seen.summary.place.key()).unwrap()), (0, None));
    assert!(!queue.update(&failed).unwrap());
    // The request may be added again at once.
    assert_eq!(queue.add_next(&recursive(2)).unwrap(), AddOutcome::New);
    spool.flush().unwrap();
    drop(spool);
    assert_eq!(open(root.path(), Durability::Batch).queue().list(), [recursive(2).summary]);
}

#[test]
fn an_abandoned_run_keeps_requests_of_others() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let queue = spool.queue();
    let mut both = recursive(1);
    both.summary.runs.push(member(8, 1));
    queue.add(&both).unwrap();
    let mut only = outgoing("http://a/only", RequestKind::Recursive);
    only.summary.runs = vec![member(7, 0)];
    queue.add_next(&only).unwrap();
    let mut page = outgoing("http://a/person", RequestKind::Page);
    page.summary.runs = vec![member(7, 0)];
    queue.add(&page).unwrap();
    assert_eq!(queue.forget_run(RunId::from_number(7)).unwrap(), 1);
    let members: Vec<_> = queue.list().into_iter().map(|request| request.runs).collect();
    assert_eq!(queue.len(), 2);
    assert!(members.contains(&vec![member(8, 1)]) && members.contains(&vec![]));
}

#[test]
fn observer_receives_every_queue_change() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let queue = spool.queue();
    queue.add(&outgoing("http://a/old", RequestKind::Page)).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    queue.observe(Box::new(move |change| {
        sink.lock().unwrap().push(match change {
            QueueChange::Is(request) => {
                format!("{} {}", request.place.url(), request.fetching.attempts)
            }
            QueueChange::Gone(_) => "gone".to_owned(),
        });
    }));
    let mut next = outgoing("http://a/next", RequestKind::Part);
    next.summary.page = Some("http://a/old".to_owned());
    queue.add_next(&next).unwrap();
    assert_eq!(queue.parts_of("http://a/old"), 1);
    next.summary.fetching.attempts = 3;
    queue.update(&next).unwrap();
    assert_eq!(queue.parts_of("http://a/old"), 1);
    queue.finish(&next).unwrap();
    assert_eq!(queue.parts_of("http://a/old"), 0);
    let told = told.lock().unwrap().clone();
    assert_eq!(told, ["http://a/old 0", "http://a/next 0", "http://a/next 3", "gone"]);
}

/// Fetches one request, which leads to two more, and fetches one of these.
fn run(disk: &SimDisk) -> Result<()> {
    let (spool, _) = Spool::open_with(Arc::new(disk.clone()), root(), &options(Durability::Batch))?;
    let queue = spool.queue();
    support::store(&spool, URL, b"page")?;
    queue.add_next(&outgoing("http://a/1", RequestKind::Part))?;
    queue.add_next(&outgoing("http://a/2", RequestKind::Part))?;
    queue.finish(&outgoing(URL, RequestKind::Page))?;
    spool.flush()?;
    support::store(&spool, "http://a/1", b"part")?;
    queue.finish(&outgoing("http://a/1", RequestKind::Part))?;
    spool.flush()
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

#[test]
fn a_crash_loses_no_request_or_response() {
    let base = SimDisk::new();
    {
        let options = options(Durability::Each);
        let (spool, _) = Spool::open_with(Arc::new(base.clone()), root(), &options).unwrap();
        spool.queue().add(&outgoing(URL, RequestKind::Page)).unwrap();
    }
    let base = base.restarted();
    let faults: [fn(u64) -> Fault; 2] = [Fault::Stop, |call| Fault::Fail(call, ErrorKind::Other)];
    for fault in faults {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(fault(call));
            let done = run(&disk).is_ok();
            let calls = disk.calls();
            for seed in 0..6 {
                let after = match seed {
                    0 => disk.restarted(),
                    seed => disk.after_power_cut(call * 6 + seed),
                };
                check(&after, &format!("call {call}, seed {seed}"));
            }
            if done && calls <= call {
                break;
            }
        }
    }
}

fn check(disk: &SimDisk, what: &str) {
    disk.set_fault(Fault::Never);
    let options = options(Durability::Batch);
    let (spool, recovery) = Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap();
    assert!(recovery.damaged.is_empty(), "{what}: {recovery:?}");
    let waits = |url: &str| spool.queue().get(&place(url).key()).unwrap().is_some();
    let is_kept = |url: &str| matches!(spool.entry(&place(url)).unwrap(), Lookup::Found(_));
    let is_safe = |url: &str| waits(url) || is_kept(url);
    assert!(is_safe(URL), "{what}: the page is lost");
    if !waits(URL) {
        assert!(is_safe("http://a/1") && is_safe("http://a/2"), "{what}: a part is lost");
    }
    assert_eq!(spool.queue().list().len(), disk.files(&root().join("outgoing")).len(), "{what}");
}

/// While a batch that removes the request of a page is synced, a request that follows from the page
/// is fetched. Until that response is durable, the request must be.
#[test]
fn a_request_fetched_during_the_sync_of_its_addition_is_kept() {
    let disk = SimDisk::new();
    let options = options(Durability::Batch);
    let open =
        |disk: &SimDisk| Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap().0;
    let spool = open(&disk);
    let (page, next) =
        (outgoing(URL, RequestKind::Page), outgoing("http://a/next", RequestKind::Recursive));
    spool.queue().add(&page).unwrap();
    support::store(&spool, URL, b"page").unwrap();
    spool.queue().add_next(&next).unwrap();
    spool.queue().finish(&page).unwrap();
    let (same, its) = (spool.clone(), next.clone());
    disk.set_before_sync(move || {
        support::store(&same, "http://a/next", b"next").unwrap();
        same.queue().finish(&its).unwrap();
    });
    spool.flush().unwrap();
    assert!(spool.queue().is_empty());
    for seed in 0..32 {
        let after = open(&disk.after_power_cut(seed));
        let is_stored = after.entry(&place("http://a/next")).unwrap().found().is_some();
        assert!(is_stored || !after.queue().is_empty(), "seed {seed}: both are lost");
    }
    spool.flush().unwrap();
    let after = open(&disk.restarted());
    assert!(after.queue().is_empty());
    assert!(after.entry(&place("http://a/next")).unwrap().found().is_some());
    assert!(disk.files(&root().join("outgoing")).is_empty());
    assert!(disk.files(&root().join("tmp")).is_empty());
}

#[test]
fn the_time_of_the_newer_request_counts() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    spool.queue().add(&recursive(1)).unwrap();
    let mut refresh = outgoing(URL, RequestKind::Refresh);
    refresh.summary.queued = Timestamp::from_second(1_800_000_000).unwrap();
    spool.queue().add(&refresh).unwrap();
    let got = spool.queue().get(&refresh.summary.place.key()).unwrap().unwrap();
    assert_eq!(
        (got.summary.queued, got.summary.kind),
        (refresh.summary.queued, RequestKind::Refresh)
    );
}

/// A request with all fields, each as long as allowed, and with as many spellings as allowed.
#[test]
#[ignore = "slow"]
fn the_fullest_request_is_read_again_with_all_spellings() {
    let root = tempfile::tempdir().unwrap();
    let request = |number: usize| {
        let mut request = outgoing("http://example.org/", RequestKind::Page);
        let target = format!("/?{}{number:05}", "%".repeat((4 << 10) - 7));
        request.head = format!("GET {target} HTTP/1.1\r\nHost: example.org\r\n\r\n").into_bytes();
        let mut place = request.summary.place.owned_by(&"\u{1}".repeat(1 << 10));
        place = place.with_variant(&"%".repeat(4 << 10));
        request.summary.line = RequestLine::new(&request.head, &place);
        request.summary.place = place;
        request.summary.asked_from = RequesterLocation::Here;
        request.summary.priority = Priority::First;
        request.summary.page = Some("%".repeat(wwwoffle_spool::MAX_URL));
        request.summary.runs =
            (1..=8).map(|run| RunMembership { run: RunId::from_number(run), depth: 9 }).collect();
        request.summary.class = Some("a".repeat(wwwoffle_spool::MAX_CLASS));
        request.summary.renew = true;
        request.summary.fetching.attempts = 9;
        request.summary.fetching.not_before = Some(Timestamp::UNIX_EPOCH);
        request.summary.fetching.last_error = Some("%".repeat(wwwoffle_spool::MAX_REASON));
        request.summary.fetching.state = RequestState::Asking { bytes: Some(u64::MAX) };
        request.nesting = 9;
        request.options = Some("%".repeat(wwwoffle_spool::MAX_OPTIONS));
        request.any_length = true;
        request.secrets = Secrets::Open(vec![b'x'; wwwoffle_spool::MAX_SECRETS]);
        request.body = vec![b'x'; wwwoffle_spool::MAX_REQUEST_BODY];
        request
    };
    let key = request(0).summary.place.key();
    {
        let spool = open(root.path(), Durability::Each);
        for number in [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            spool.queue().add(&request(number)).unwrap();
        }
    }
    let spool = open(root.path(), Durability::Each);
    let now = spool.queue().get(&key).unwrap().unwrap();
    let others = now.respelled();
    let heads: Vec<_> = [&now].into_iter().chain(&others).map(|now| now.head.clone()).collect();
    let want: Vec<_> = (0..=8).map(|number| request(number).head).collect();
    assert!(heads == want, "{} were sent", heads.len());
}
