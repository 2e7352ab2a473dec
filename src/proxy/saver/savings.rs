//! The count of what the data saver saves.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use lru::LruCache;
use tokio::task::yield_now;
use wwwoffle_config::SizeLimit;

use crate::base::clock;
use crate::net::upstream::{AnswerBody, LeftOutFile};
use crate::proxy::context::ProxyContext;
use crate::proxy::last::LastKey;

/// Maximum number of files that are remembered as counted. A file that is forgotten counts again.
const MAX_COUNTED: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();

/// The time of a visit, in which a file counts once: without the data saver, the browser would show
/// it from its own cache when the page is opened again.
const VISIT: Duration = Duration::from_secs(30 * 60);

/// Maximum number of bytes that are taken of a body that is left out.
const MAX_ARRIVED: u64 = 256 * 1024;

/// Maximum number of bytes that count as saved for one file.
const MAX_SAVED: u64 = 16_000_000_000;

/// The number of times that the connection may run before nothing more is expected of it.
const MAX_PAUSES: u32 = 4;

/// The files that were counted in the last visits, with the time. Each person counts apart.
#[derive(Debug)]
pub struct CountedFiles(Mutex<LruCache<LastKey, SystemTime>>);

impl Default for CountedFiles {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_COUNTED)))
    }
}

impl CountedFiles {
    /// Whether the file counts `now`. Then it does not count again during the visit.
    fn takes(&self, file: LastKey, now: SystemTime) -> bool {
        // A panic leaves valid data: each change is one call.
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |then: &SystemTime| match now.duration_since(*then) {
            Ok(passed) => passed >= VISIT,
            // The clock was set back.
            Err(_) => true,
        };
        let is_new = counted.peek(&file).is_none_or(is_over);
        if is_new {
            counted.put(file, now);
        }
        is_new
    }
}

/// Counts what is saved of `file`, once in each visit.
pub(crate) fn count(context: &ProxyContext, host: &str, key: LastKey, file: &LeftOutFile) {
    let longest = match context.base.config().options.max_body {
        SizeLimit::At(size) => size.bytes(),
        SizeLimit::None => MAX_SAVED,
    };
    let saved = saved_of(file, longest);
    if context.traffic.left_out.takes(key, clock::now()) {
        context.storage.statistics.account(host).count_unfetched(saved);
    }
}

/// The number of bytes that are saved of `file`. An origin may declare any length, so at most
/// `longest` bytes count, and never more than [`MAX_SAVED`].
fn saved_of(file: &LeftOutFile, longest: u64) -> u64 {
    let length = file.length.unwrap_or_default().min(longest).min(MAX_SAVED);
    length.saturating_sub(file.arrived)
}

/// Takes what has arrived of a body, without waiting for more. Returns the number of bytes.
pub(in crate::proxy) async fn take_arrived(body: &mut AnswerBody) -> u64 {
    let (mut arrived, mut pauses) = (0_u64, 0);
    while arrived < MAX_ARRIVED && pauses < MAX_PAUSES {
        match body.frame().now_or_never() {
            Some(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                arrived = arrived.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
                pauses = 0;
            }
            Some(_) => break,
            // The task of the connection passes on what it has read when it runs.
            None => {
                pauses += 1;
                yield_now().await;
            }
        }
    }
    arrived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::owner::Owner;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn an_origin_cannot_declare_more_than_would_be_stored() {
        for (length, arrived, longest, want) in [
            (Some(500), 100, 1_000, 400),
            (Some(u64::MAX), 100, 1_000, 900),
            (Some(u64::MAX), 0, u64::MAX, MAX_SAVED),
            (Some(500), 600, 1_000, 0),
            (None, 0, 1_000, 0),
        ] {
            let (status, fields) = (hyper::StatusCode::OK, hyper::HeaderMap::new());
            let file = LeftOutFile { length, arrived, status, fields };
            assert_eq!(saved_of(&file, longest), want, "{length:?} {arrived} {longest}");
        }
    }

    #[test]
    fn a_file_counts_once_in_a_visit_of_each_person() {
        let key = |path: &str, owner: Owner| {
            let url =
                CanonicalUrl::parse(&format!("http://h.example{path}"), &LocalHost::default());
            LastKey::new(url.unwrap().key(), owner)
        };
        let (local, user) = (|| Owner::Local, || Owner::User("ada".into()));
        let files = CountedFiles::default();
        let at = |minutes: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(minutes * 60);
        for (path, owner, minute, want) in [
            ("/a", local(), 60, true),
            ("/a", local(), 89, false),
            ("/b", local(), 89, true),
            ("/a", user(), 89, true),
            ("/a", local(), 90, true),
            ("/a", local(), 91, false),
            // The clock was set back.
            ("/a", local(), 10, true),
        ] {
            assert_eq!(files.takes(key(path, owner), at(minute)), want, "{path} {minute}");
        }
    }
}
