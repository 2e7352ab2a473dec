//! Tests for retried requests. No worker runs: the tests take requests from the queue in its place.

use std::sync::mpsc::sync_channel;

use futures_util::FutureExt;
use wwwoffle_config::Config;
use wwwoffle_spool::RequestKind;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::schedule::ScheduleLimits;
use super::*;
use crate::base::mode::Mode;
use crate::daemon::testing::TestDaemon;

/// Creates a context in online mode. No task fetches its queue.
fn context(root: &tempfile::TempDir) -> Arc<FetchContext> {
    let context = TestDaemon::new(root, Config::default(), Mode::Online).fetch();
    context.fetcher.watch(context.storage.store.spool().queue());
    context
}

fn form(not_before: Option<Timestamp>) -> Outgoing {
    let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
    let (place, head) = (Place::of(&url), b"POST / HTTP/1.1\r\n\r\n".to_vec());
    let mut form = Outgoing::new(place, head, RequestKind::Post, Timestamp::UNIX_EPOCH);
    form.summary.fetching.not_before = not_before;
    form
}

/// Takes the next request, as the worker does.
fn next(context: &FetchContext) -> Option<Key> {
    let limits = ScheduleLimits { per_host: 1, at_once: 1 };
    lock(&context.fetcher.schedule).next(limits, timestamp(clock::now()))
}

#[test]
fn a_form_retried_while_active_is_not_sent_twice() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let root = tempfile::tempdir().unwrap();
        let context = context(&root);
        let (queue, form) =
            (context.storage.store.spool().queue(), form(Some(Timestamp::UNIX_EPOCH)));
        let key = form.summary.place.key();
        queue.add(&form).unwrap();
        // Occupies the only blocking thread, so that `retry` waits for the spool.
        let (free, freed) = sync_channel::<()>(1);
        let held = tokio::task::spawn_blocking(move || freed.recv());
        let mut retrying = Box::pin(retry(&context, None, |_| true));
        assert!(retrying.as_mut().now_or_never().is_none(), "it is chosen, and has not begun yet");
        assert_eq!(next(&context), Some(key));
        assert!(queue.update(&one::on_its_way(&form)).unwrap());
        drop(free);
        assert_eq!(retrying.await.unwrap(), 0);
        assert!(held.await.unwrap().is_err());
        let state = queue.summary(&key).unwrap().fetching.state;
        assert!(matches!(state, RequestState::Failed { .. }), "it waits once more: {state:?}");

        // After the first attempt has ended, the form can be sent again.
        lock(&context.fetcher.schedule).record_end(&key);
        assert_eq!(retry(&context, Some(&[key]), |_| true).await.unwrap(), 1);
        assert_eq!(next(&context), Some(key));
    });
}
