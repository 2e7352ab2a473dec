//! Joining downloads, and what becomes of them.

use super::*;
use crate::proxy::owner::Owner;
use wwwoffle_url::{CanonicalUrl, LocalHost};

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
async fn a_download_whose_task_panics_ends_for_all() {
    let downloads = Downloads::default();
    let (places, none) = (places(&Owner::Local), HeaderMap::new());
    let join = || downloads.join(&places, &none, Vec::new(), SystemTime::UNIX_EPOCH);
    let Joined::New(download) = join() else { panic!("it is new") };
    let mut reader = download.feed().read().unwrap();
    drop(Watch { downloads: &downloads, download: Arc::clone(&download) });
    assert!(matches!(download.head().await, Headed::Failed(_)));
    assert!(matches!(download.outcome().await.1, Outcome::Failed(_)));
    assert!(reader.next().await.unwrap().is_err());
    assert!(matches!(join(), Joined::New(_)), "it is begun anew");
}

#[test]
fn an_answer_serves_those_who_ask_alike_in_what_it_varies_with() {
    let first = fields(&[("accept-language", "en"), ("accept", "*/*"), ("accept-encoding", "br")]);
    let places = places(&Owner::Local);
    let download = Downloads::default().alone(&places, &first, SystemTime::UNIX_EPOCH);
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
        // All are asked for with the same codings.
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
        let joined = downloads.join(&places(owner), request, Vec::new(), SystemTime::UNIX_EPOCH);
        matches!(joined, Joined::Running(_))
    };
    assert!(!join(&ada, &none), "it is new");
    assert!(join(&bob, &none) && join(&ada, &none), "nobody's request is everyone's");
    assert!(!join(&ada, &cookie) && join(&ada, &cookie));
    assert!(!join(&bob, &cookie), "even with the same cookie");
    assert!(!join(&ada, &fields(&[("cookie", "a=c")])));
}

fn begun(downloads: &Downloads) -> Arc<Download> {
    let (places, none) = (places(&Owner::Local), HeaderMap::new());
    match downloads.join(&places, &none, Vec::new(), SystemTime::UNIX_EPOCH) {
        Joined::New(download) | Joined::Running(download) => download,
    }
}

/// Whoever asks again because a body broke off must not be given the next one that does.
#[tokio::test(start_paused = true)]
async fn who_joins_the_next_after_a_break_waits_to_see_whether_it_holds() {
    let downloads = Downloads::default();
    let first = begun(&downloads);
    let (joined, _reader) = Arc::clone(&first).join().await.unwrap();
    assert!(Arc::ptr_eq(&joined, &first), "nothing has broken yet");
    let second = downloads.succeed(&first);
    assert!(Arc::ptr_eq(&begun(&downloads), &second));

    let (found, ()) = tokio::join!(Arc::clone(&second).join(), async {
        second.progress.waits(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH, 1, String::new());
    });
    assert!(found.is_none(), "it has broken off too");
    second.progress.goes_on(None);

    let began = Instant::now();
    let (found, _reader) = Arc::clone(&second).join().await.unwrap();
    assert!(Arc::ptr_eq(&found, &second) && began.elapsed() == HOLD, "it takes long, and holds");

    let (found, third) = tokio::join!(Arc::clone(&second).join(), async {
        let third = downloads.succeed(&second);
        second.feed.finish(End::Broken(Arc::new(Failure::Changed)));
        second.end_before(Arc::clone(&third));
        third.feed.finish(End::Whole(None));
        third.end(Outcome::Kept(StatusCode::OK));
        third
    });
    let (found, mut reader) = found.unwrap();
    assert!(Arc::ptr_eq(&found, &third) && reader.next().await.is_none(), "it is whole");
}
