//! Streams of a daemon without a fetch worker: the tests do its work.

use http_body_util::BodyExt;
use wwwoffle_config::Config;
use wwwoffle_spool::{NewEntry, Outgoing, RequestKind, Timestamp};
use wwwoffle_url::LocalHost;

use super::super::line_report::LOOK_EVERY;
use super::*;
use crate::daemon::testing::TestDaemon;
use wwwoffle_api::BudgetOf;

const URL: &str = "http://h.example/p";

fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

fn context(root: &tempfile::TempDir, mode: Mode) -> Arc<SiteContext> {
    daemon_of("", root, mode)
}

fn daemon_of(config: &str, root: &tempfile::TempDir, mode: Mode) -> Arc<SiteContext> {
    let config = Config::parse(config, std::path::Path::new("test.conf")).unwrap();
    TestDaemon::new(root, config, mode).site()
}

fn keep(context: &SiteContext, url: &str, head: &str) {
    let (head, request) = (head.as_bytes().to_vec(), b"GET /p HTTP/1.1\r\n\r\n".to_vec());
    let new = NewEntry {
        asked: Timestamp::UNIX_EPOCH,
        when: Timestamp::UNIX_EPOCH,
        head,
        request,
        connection: None,
    };
    let mut writer = context.storage.store.spool().begin(&place(url), new).unwrap();
    writer.write(b"body").unwrap();
    writer.finish(None).unwrap();
}

async fn next(body: &mut Body) -> Option<Vec<Event>> {
    let lines = body.frame().await?.unwrap().into_data().unwrap();
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Some(lines.map(|line| serde_json::from_slice(line).unwrap()).collect())
}

async fn all(mut body: Body) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(more) = next(&mut body).await {
        events.extend(more);
    }
    // The number of overall progress events depends on timing.
    events.retain(|event| !matches!(event, Event::Whole(_)));
    events
}

fn get_one(context: &Arc<SiteContext>, url: &str) -> Body {
    get(context, Requester::local(), vec![url.to_owned()], WantedRequest::Page)
}

fn end(fetched: u64, failed: u64, waiting: u64) -> Event {
    Event::End { fetched, failed, dead: 0, waiting }
}

fn done(url: &str, status: u16) -> Event {
    Event::Done { url: url.to_owned(), status, bytes: 4 }
}

#[tokio::test]
async fn offline_requests_are_queued_and_the_stream_ends() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Offline);
    let urls = ["http://h.example/b", "http://h.example/a", "HTTP://H.example/a#x"];
    let body =
        get(&context, Requester::local(), urls.map(str::to_owned).to_vec(), WantedRequest::Page);
    let queued = |url: &str| Event::Queued { url: url.to_owned() };
    let want = [queued("http://h.example/a"), queued("http://h.example/b"), end(0, 0, 2)];
    assert_eq!(all(body).await, want);
    assert_eq!(all(fetch(&context, None)).await, [end(0, 0, 2)]);
}

#[tokio::test]
async fn a_stored_url_is_done_at_once_and_its_redirect_followed() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Online);
    keep(&context, URL, "HTTP/1.1 302 Found\r\nLocation: /q\r\n\r\n");
    keep(&context, "http://h.example/q", "HTTP/1.1 302 Found\r\nLocation: /p\r\n\r\n");
    let (p, q) = (URL.to_owned(), "http://h.example/q".to_owned());
    let redirect = |url: &String, to: &String| {
        let (url, location) = (url.clone(), Some(to.clone()));
        Event::Redirect { url, status: 302, location }
    };
    let want = [redirect(&p, &q), done(&p, 302), redirect(&q, &p), done(&q, 302), end(2, 0, 0)];
    assert_eq!(all(get_one(&context, URL)).await, want);
}

#[tokio::test(start_paused = true)]
async fn without_an_event_the_result_is_read_from_the_spool() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Online);
    let key = place(URL).key();

    // The request is removed from the queue.
    let body = get_one(&context, URL);
    let followed = all(body);
    let taken_off = async {
        until_queued(&context, &key).await;
        context.storage.store.dequeue(key).await.unwrap();
    };
    let (events, ()) = tokio::join!(followed, taken_off);
    let (url, error) = (URL.to_owned(), "it was removed from the queue".to_owned());
    assert_eq!(events, [Event::Failed { url, status: None, error }, end(0, 1, 0)]);

    // The request fails.
    let body = get_one(&context, URL);
    let followed = all(body);
    let given_up = async {
        until_queued(&context, &key).await;
        let mut outgoing = context.storage.store.queued(key).await.unwrap().unwrap();
        let reason = "refused".to_owned();
        outgoing.summary.fetching.state = RequestState::Failed { reason, status: Some(403) };
        context.storage.store.requeue(outgoing).await.unwrap();
    };
    let (events, ()) = tokio::join!(followed, given_up);
    let (url, error) = (URL.to_owned(), "refused".to_owned());
    assert_eq!(events, [Event::Failed { url, status: Some(403), error }, end(0, 1, 0)]);

    // The request is fetched.
    let body = get_one(&context, URL);
    let followed = all(body);
    let fetched = async {
        until_waiting(&context, &key).await;
        keep(&context, URL, "HTTP/1.1 200 OK\r\n\r\n");
        context.storage.store.dequeue(key).await.unwrap();
    };
    let (events, ()) = tokio::join!(followed, fetched);
    assert_eq!(events, [done(URL, 200), end(1, 0, 0)]);
}

async fn until_queued(context: &SiteContext, key: &Key) {
    while context.storage.store.spool().queue().summary(key).is_none() {
        tokio::task::yield_now().await;
    }
}

async fn until_waiting(context: &SiteContext, key: &Key) {
    let queue = context.storage.store.spool().queue();
    while queue.summary(key).is_none_or(|request| request.fetching.state != RequestState::Waiting) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn fetch_stream_ends_although_requests_were_added() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Online);
    assert_eq!(all(fetch(&context, None)).await, [end(0, 0, 0)]);
    let add = |url: &str| {
        let head = b"GET /p HTTP/1.1\r\n\r\n".to_vec();
        let kind = RequestKind::Part;
        context.storage.store.enqueue(Outgoing::new(place(url), head, kind, Timestamp::UNIX_EPOCH))
    };
    let more = "http://h.example/more";
    add(URL).await.unwrap();
    let body = fetch(&context, None);
    let worked_off = async {
        add(more).await.unwrap();
        for url in [URL, more] {
            keep(&context, url, "HTTP/1.1 200 OK\r\n\r\n");
            context.storage.store.dequeue(place(url).key()).await.unwrap();
        }
    };
    let (events, ()) = tokio::join!(all(body), worked_off);
    // The fetcher sent no events, so the stream learned from the queue that the first request has
    // ended. The second request was added and finished between two looks, so the stream did not
    // follow it.
    assert!(events.contains(&done(URL, 200)), "{events:?}");
    assert!(matches!(events.last(), Some(Event::End { failed: 0, waiting: 0, .. })), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn requests_held_by_the_budget_are_reported_without_waiting() {
    let root = tempfile::tempdir().unwrap();
    let context = daemon_of("[fetch-options]\nbudget-fetch = \"0 B\"\n", &root, Mode::Online);
    crate::fetch::begin(&context.fetch).await;
    let events = all(get_one(&context, URL)).await;
    let held = Hold::Budget { of: BudgetOf::Fetch, metered: false, until: None };
    let queued = Event::Queued { url: URL.to_owned() };
    assert_eq!(events, [queued, Event::Held { held, count: 1 }, end(0, 0, 1)]);
    context.base.tasks.stop();
}

#[tokio::test(start_paused = true)]
async fn overall_progress_is_reported_while_it_changes() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Online);
    let mut body = get_one(&context, URL);
    let reading = async {
        let mut wholes = Vec::new();
        while let Some(events) = next(&mut body).await {
            wholes.extend(events.into_iter().filter_map(|event| match event {
                Event::Whole(whole) => Some((whole.done, whole.left, whole.bytes)),
                _ => None,
            }));
        }
        wholes
    };
    let key = place(URL).key();
    let fetched = async {
        until_queued(&context, &key).await;
        tokio::time::sleep(LOOK_EVERY * 3).await;
        keep(&context, URL, "HTTP/1.1 200 OK\r\n\r\n");
        context.storage.store.dequeue(key).await.unwrap();
    };
    let (wholes, ()) = tokio::join!(reading, fetched);
    assert_eq!(wholes.first(), Some(&(0, 1, 0)), "{wholes:?}");
}

#[tokio::test]
async fn a_stop_ends_the_stream_without_its_end() {
    let root = tempfile::tempdir().unwrap();
    let context = context(&root, Mode::Online);
    let body = get_one(&context, URL);
    let stop = async {
        until_queued(&context, &place(URL).key()).await;
        context.base.tasks.stop();
    };
    let (events, ()) = tokio::join!(all(body), stop);
    assert_eq!(events, []);
}
