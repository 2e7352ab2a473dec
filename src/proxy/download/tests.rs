//! Tests of joining downloads, and of their ends.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::run::OriginClient;
use super::running::JOIN_WITHIN;
use super::world::DownloadTestBed;
use super::*;
use crate::base::owner::Owner;
use crate::net::upstream::{AnswerBody, Interim, Origin, Outbound};
use crate::proxy::choose;
use wwwoffle_http::caching::vary::VaryRules;

fn fields(rows: &[(&'static str, &'static str)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    rows.iter().map(field).collect()
}

fn places(owner: &Owner) -> Places {
    let mut url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
    Places::of(&mut url, &HeaderMap::new(), owner)
}

#[tokio::test]
async fn a_panic_ends_the_download_for_all_clients() {
    let downloads = Downloads::default();
    let (places, none) = (places(&Owner::Local), HeaderMap::new());
    let join = || downloads.join(&places, &none, Vec::new(), SystemTime::UNIX_EPOCH, false);
    let JoinOutcome::New(download) = join() else { panic!("it is new") };
    let mut reader = download.feed().read().unwrap();
    drop(DownloadGuard { downloads: &downloads, download: Arc::clone(&download) });
    assert!(matches!(download.head().await, HeadOutcome::Failed(_)));
    assert!(matches!(download.outcome().await.1, DownloadEnd::Failed(_)));
    assert!(reader.next().await.unwrap().is_err());
    assert!(matches!(join(), JoinOutcome::New(_)), "it is begun anew");
}

#[test]
fn a_response_serves_requests_with_equal_vary_fields() {
    let first = fields(&[("accept-language", "en"), ("accept", "*/*"), ("accept-encoding", "br")]);
    let places = places(&Owner::Local);
    let download = Downloads::default().unshared(&places, &first, SystemTime::UNIX_EPOCH);
    let german = fields(&[("accept-language", "de"), ("accept", "*/*")]);
    for (vary, serves_same, serves_german) in [
        ("", true, true),
        ("Accept", true, true),
        ("Accept-Language", true, false),
        ("ACCEPT-Encoding", true, true),
        ("accept-encoding, accept-language", true, false),
        ("accept, ACCEPT-LANGUAGE", true, false),
        ("*", false, false),
        ("Accept, *", false, false),
        ("not a name", false, false),
        // All requests to the origin have the same codings.
        ("Accept-Encoding", true, true),
    ] {
        let answer = fields(&[("vary", vary)]);
        assert_eq!(download.serves(&first, &answer), serves_same, "{vary}");
        assert_eq!(download.serves(&german, &answer), serves_german, "{vary}");
    }
}

#[test]
fn with_a_cookie_only_the_same_person_joins() {
    let downloads = Downloads::default();
    let (ada, bob) = ("user:ada".parse().unwrap(), "user:bob".parse().unwrap());
    let (none, cookie) = (HeaderMap::new(), fields(&[("cookie", "a=b")]));
    let join = |owner: &Owner, request: &HeaderMap| {
        let joined =
            downloads.join(&places(owner), request, Vec::new(), SystemTime::UNIX_EPOCH, false);
        matches!(joined, JoinOutcome::Running(_))
    };
    assert!(!join(&ada, &none), "it is new");
    assert!(join(&bob, &none) && join(&ada, &none), "nobody's request is everyone's");
    assert!(!join(&ada, &cookie) && join(&ada, &cookie));
    assert!(!join(&bob, &cookie), "even with the same cookie");
    assert!(!join(&ada, &fields(&[("cookie", "a=c")])));
}

fn begun(downloads: &Downloads) -> Arc<Download> {
    let (places, none) = (places(&Owner::Local), HeaderMap::new());
    match downloads.join(&places, &none, Vec::new(), SystemTime::UNIX_EPOCH, false) {
        JoinOutcome::New(download) | JoinOutcome::Running(download) => download,
    }
}

/// RFC 9111 §4.4: a form may change the page. So a response that was requested before the form was
/// sent may be outdated.
#[test]
fn a_download_started_before_a_form_response_is_not_joined() {
    let downloads = Downloads::default();
    let (first, when) = (begun(&downloads), SystemTime::UNIX_EPOCH);
    let mut other = CanonicalUrl::parse("http://h.example/o", &LocalHost::default()).unwrap();
    let other = Places::of(&mut other, &HeaderMap::new(), &Owner::Local);
    downloads.invalidate(&[other.public, other.own], when, None);
    let places = [places(&Owner::Local).public];
    downloads.invalidate(&places, when, Some(&first));
    assert!(Arc::ptr_eq(&begun(&downloads), &first), "it is of another page, or the form's own");
    downloads.invalidate(&places, when, None);
    let second = begun(&downloads);
    assert!(!Arc::ptr_eq(&second, &first) && second.outdated.get().is_none());
    // The successor of the first download may also have been requested before the form was sent.
    let next = downloads.register_successor(&first);
    assert!(next.outdated.get().is_some() && Arc::ptr_eq(&begun(&downloads), &second));
}

/// If an origin hangs, a person who stops the page and reloads it gets a new download.
#[tokio::test(start_paused = true)]
async fn a_download_is_joined_only_if_it_moves_and_by_no_reload() {
    let downloads = Downloads::default();
    let first = begun(&downloads);
    let (places, none) = (places(&Owner::Local), HeaderMap::new());
    let reload = || downloads.join(&places, &none, Vec::new(), SystemTime::UNIX_EPOCH, true);
    let JoinOutcome::New(second) = reload() else { panic!("a reload joins nothing older") };
    assert!(Arc::ptr_eq(&begun(&downloads), &second), "others join the newer one");
    assert!(Arc::ptr_eq(&begun(&downloads), &second));
    assert_eq!(downloads.list().len(), 2, "the first runs on");
    assert!(first.is_replaced.load(Ordering::Relaxed));

    // The client leaves before the head arrives.
    drop(second.feed().read());
    let third = begun(&downloads);
    assert!(!Arc::ptr_eq(&third, &second), "without a reader and a head");
    let waits = third.ended.subscribe();
    drop(third.feed().read());
    assert!(Arc::ptr_eq(&begun(&downloads), &third), "the queue waits for it");
    drop(waits);

    third.set_head(HeadOutcome::Passing(NotKept::Partial));
    let moment = Duration::from_millis(1);
    let nearly = JOIN_WITHIN.checked_sub(moment).unwrap();
    tokio::time::advance(nearly).await;
    assert!(Arc::ptr_eq(&begun(&downloads), &third));
    third.progress.set_bytes(1);
    tokio::time::advance(nearly).await;
    assert!(Arc::ptr_eq(&begun(&downloads), &third), "something came");
    tokio::time::advance(moment).await;
    let fourth = begun(&downloads);
    assert!(!Arc::ptr_eq(&fourth, &third), "it stands still");
    for download in [&first, &second, &third, &fourth] {
        downloads.leave(download);
    }
    assert!(downloads.list().is_empty());
}

/// A client that retries after a broken body must not get the next broken body.
#[tokio::test(start_paused = true)]
async fn client_of_a_successor_waits_until_it_is_stable() {
    let downloads = Downloads::default();
    let first = begun(&downloads);
    let (joined, _reader) = Arc::clone(&first).join().await.unwrap();
    assert!(Arc::ptr_eq(&joined, &first), "nothing has broken yet");
    let second = downloads.register_successor(&first);
    assert!(Arc::ptr_eq(&begun(&downloads), &second));

    let (found, ()) = tokio::join!(Arc::clone(&second).join(), async {
        second.progress.delay(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH, 1, String::new());
    });
    assert!(found.is_none(), "it has broken off too");
    second.progress.record_continuation(None);

    let began = Instant::now();
    let (found, _reader) = Arc::clone(&second).join().await.unwrap();
    assert!(Arc::ptr_eq(&found, &second) && began.elapsed() == HOLD, "it takes long, and holds");

    let (found, third) = tokio::join!(Arc::clone(&second).join(), async {
        let third = downloads.register_successor(&second);
        second.feed.finish(BodyEnd::Broken(Arc::new(Failure::Changed)));
        second.end_before(Arc::clone(&third));
        third.feed.finish(BodyEnd::Whole(None));
        third.end(DownloadEnd::Kept(StatusCode::OK));
        third
    });
    let (found, mut reader) = found.unwrap();
    assert!(Arc::ptr_eq(&found, &third) && reader.next().await.is_none(), "it is whole");
}

/// An origin that sends these responses in order.
struct Answers(Mutex<Vec<Result<Answer, Failure>>>);

impl OriginClient for Answers {
    async fn ask(
        &self,
        _: &Origin,
        _: Request<()>,
        _: Outbound,
        _: Option<mpsc::Sender<Interim>>,
    ) -> Result<Answer, Failure> {
        self.0.lock().unwrap().remove(0)
    }

    async fn yields(&self, _: &Origin, _: u64, _: impl Fn() -> bool + Send) -> bool {
        std::future::pending().await
    }
}

/// A response with this body, which has arrived completely.
async fn answer(status: u16, body: &'static str) -> Result<Answer, Failure> {
    let (sender, frames) = mpsc::channel(1);
    if !body.is_empty() {
        sender.send(Ok(Frame::data(Bytes::from_static(body.as_bytes())))).await.unwrap();
    }
    drop(sender);
    let mut answer = Response::new(AnswerBody::piped(frames, Duration::from_secs(60)));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer.headers_mut().insert(CONTENT_LENGTH, body.len().into());
    answer.headers_mut().insert(ETAG, HeaderValue::from_static("\"v1\""));
    Ok(answer)
}

fn world(answers: Vec<Result<Answer, Failure>>) -> Arc<DownloadTestBed<Answers>> {
    let leaving = LeavingRules {
        finishes: true,
        keeps: true,
        below: 0,
        above_percent: 60,
        keeps_broken: true,
    };
    DownloadTestBed::new(Answers(Mutex::new(answers)), leaving)
}

/// The response is stored before its last bytes are delivered. So a client that has received
/// everything finds the stored copy, and does not join the same download again: a copy that is not
/// fresh is revalidated (RFC 9111 §4).
#[tokio::test]
async fn finished_response_is_stored_and_not_joined_again() {
    for (status, body) in [(302, ""), (204, ""), (200, ""), (200, "hello")] {
        let world = world(vec![answer(status, body).await]);
        let JoinOutcome::New(download) = world.ask() else { panic!("it is new") };
        let mut reader = world.begin(&download);
        assert!(matches!(download.head().await, HeadOutcome::Keeping(_)), "{status} {body:?}");
        if !body.is_empty() {
            let all = reader.next().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(all, body);
        }
        assert!(matches!(world.ask(), JoinOutcome::New(_)), "{status} {body:?}: it is not joined");
        let copy = world.store.stored_copy(&world.places.public).await.unwrap();
        assert_eq!(copy.map(|copy| copy.status.as_u16()), Some(status), "{body:?}");
    }
}

/// [`DownloadTestBed::run_download`] checks that no client can join the download when its outcome
/// is known but not yet published.
#[tokio::test]
async fn a_failed_or_revalidated_download_is_not_joined() {
    let answers =
        vec![answer(200, "hello").await, answer(304, "").await, Err(Failure::HeadTimeout)];
    let world = world(answers);
    let new = || match world.ask() {
        JoinOutcome::New(download) => download,
        JoinOutcome::Running(_) => panic!("it is joined"),
    };
    let first = world.run_download(new(), Revalidation::default()).await;
    assert!(matches!(first, DownloadEnd::Kept(StatusCode::OK)));
    let found =
        choose::find(&world.store, &world.places, (false, &VaryRules::default()), HeaderMap::new)
            .await
            .unwrap();
    let confirmed = world.run_download(new(), found.plan_revalidation(|_| true, false)).await;
    assert!(matches!(confirmed, DownloadEnd::Kept(StatusCode::OK)), "{confirmed:?}");
    let failed = world.run_download(new(), Revalidation::default()).await;
    assert!(matches!(failed, DownloadEnd::Failed(_)));
    assert_eq!(world.asks.0.lock().unwrap().len(), 0, "each was asked for");
}

/// Over HTTP/2 the end may arrive a moment after the last byte of the declared length.
#[tokio::test]
async fn the_end_may_arrive_after_the_last_byte() {
    for (status, body) in [(200, "hello"), (200, ""), (204, "")] {
        let (sender, frames) = mpsc::channel(1);
        let mut answer = answer(status, body).await.unwrap();
        *answer.body_mut() = AnswerBody::piped(frames, Duration::from_secs(60));
        let world = world(vec![Ok(answer)]);
        let JoinOutcome::New(download) = world.ask() else { panic!("it is new") };
        let mut reader = world.begin(&download);
        let send = async move {
            if !body.is_empty() {
                sender.send(Ok(Frame::data(Bytes::from_static(body.as_bytes())))).await.unwrap();
            }
            tokio::task::yield_now().await;
        };
        let read = async {
            assert!(matches!(download.head().await, HeadOutcome::Keeping(_)), "{status} {body:?}");
            if !body.is_empty() {
                assert_eq!(reader.next().await.unwrap().unwrap().into_data().unwrap(), body);
            }
            assert!(
                matches!(world.ask(), JoinOutcome::New(_)),
                "{status} {body:?}: it is not joined"
            );
        };
        tokio::join!(read, send);
        let copy = world.store.stored_copy(&world.places.public).await.unwrap();
        assert_eq!(copy.map(|copy| copy.status.as_u16()), Some(status), "{body:?}");
    }
}

/// A browser that reloads closes its connection and sends a new request at once.
#[tokio::test]
async fn a_request_during_cancellation_reuses_the_received_bytes() {
    let (sender, frames) = mpsc::channel(1);
    let mut first = answer(200, "hello world").await.unwrap();
    *first.body_mut() = AnswerBody::piped(frames, Duration::from_secs(60));
    let mut rest = answer(206, " world").await.unwrap();
    rest.headers_mut().insert(CONTENT_RANGE, HeaderValue::from_static("bytes 5-10/11"));
    let leaving = LeavingRules {
        finishes: false,
        keeps: true,
        below: 0,
        above_percent: 60,
        keeps_broken: true,
    };
    let world = DownloadTestBed::new(Answers(Mutex::new(vec![Ok(first), Ok(rest)])), leaving);
    let JoinOutcome::New(download) = world.ask() else { panic!("it is new") };
    let mut reader = world.begin(&download);
    sender.send(Ok(Frame::data(Bytes::from_static(b"hello")))).await.unwrap();
    assert_eq!(reader.next().await.unwrap().unwrap().into_data().unwrap(), "hello");

    let (waits, free) = world.disk.hold_writes();
    drop(reader);
    waits.await.expect("what has come is kept aside");
    let JoinOutcome::Running(dying) = world.ask() else { panic!("nothing is kept aside yet") };
    let mut joining = Box::pin(dying.join());
    assert!(joining.as_mut().now_or_never().is_none(), "it is joined, and breaks off");
    drop(free);
    assert!(joining.await.is_none(), "it is joined after its end");

    let JoinOutcome::New(again) = world.ask() else { panic!("it has ended") };
    let mut reader = world.begin(&again);
    let mut all = Vec::new();
    while let Some(frame) = reader.next().await {
        all.extend_from_slice(&frame.unwrap().into_data().unwrap());
    }
    assert_eq!(all, b"hello world", "the rest alone was asked for");
}

/// The last bytes are written when the response is stored. If that fails, the readers get them
/// nevertheless, also readers that have not read anything yet.
#[tokio::test]
async fn readers_get_the_end_though_it_cannot_be_written() {
    for is_first in [true, false] {
        let (sender, frames) = mpsc::channel(1);
        let mut answer = answer(200, "hello world").await.unwrap();
        *answer.body_mut() = AnswerBody::piped(frames, Duration::from_secs(60));
        let world = world(vec![Ok(answer)]);
        let JoinOutcome::New(download) = world.ask() else { panic!("it is new") };
        let mut early = world.begin(&download);
        let late = download.feed().read().unwrap();
        assert!(matches!(download.head().await, HeadOutcome::Keeping(_)));
        let send = async |text: &'static str| {
            sender.send(Ok(Frame::data(Bytes::from_static(text.as_bytes())))).await.unwrap();
        };
        let mut read = Vec::new();
        if !is_first {
            send("hello").await;
            read.extend(early.next().await.unwrap().unwrap().into_data().unwrap());
        }
        world.disk.set_failing(true);
        send(if is_first { "hello world" } else { " world" }).await;
        drop(sender);
        let (_, outcome) = download.outcome().await;
        assert!(matches!(outcome, DownloadEnd::Unkeepable(_)), "{outcome:?}");
        for (mut reader, mut read) in [(early, read), (late, Vec::new())] {
            while let Some(frame) = reader.next().await {
                read.extend(frame.unwrap().into_data().unwrap());
            }
            assert_eq!(read, b"hello world");
        }
        assert!(world.store.stored_copy(&world.places.public).await.unwrap().is_none());
    }
}
