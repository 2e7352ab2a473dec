//! Answers that are ready, and what they follow from.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::{BufMut, Bytes, BytesMut};
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, DATE, HeaderName, PROXY_AUTHORIZATION,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::base::owner::Owner;
use crate::proxy::body::WholeBody;
use crate::proxy::repeat::Grounds;
use crate::proxy::site::Door;
use crate::proxy::visitor::Visitor;
use crate::server::context::ServerContext;
use crate::storage::statistics::Given;

/// So many parts have a lock of their own.
const PARTS: usize = 16;

/// What each counts for besides its bytes.
const OVERHEAD: usize = 512;

/// Whose requests the same bytes are the same request of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Whence {
    owner: Owner,
    door: String,
}

impl Whence {
    /// That of a connection.
    #[must_use]
    pub fn of(visitor: &Visitor) -> Self {
        let door = match &visitor.door {
            Door::Plain => "plain".to_owned(),
            Door::Secured => "secured".to_owned(),
            Door::Site(site) => site.url().as_str().to_owned(),
        };
        Self { owner: visitor.owner(), door }
    }
}

/// An answer as it goes out.
#[derive(Debug)]
pub struct Ready {
    whence: Whence,
    request: Bytes,
    grounds: Grounds,
    pub(super) head: Bytes,
    pub(super) body: Bytes,
    given: Option<Given>,
}

impl Ready {
    /// Makes one of an answer that hyper is about to send, if it can be sent again.
    fn of<B>(
        whence: Whence,
        request: Bytes,
        given: Option<&Given>,
        answer: &mut Response<B>,
    ) -> Option<Self> {
        let grounds = answer.extensions_mut().remove::<Grounds>()?;
        let WholeBody(body) = answer.extensions_mut().remove()?;
        if !may_be_repeated(&request) {
            return None;
        }
        let head = head(answer.status(), answer.headers(), &body)?;
        Some(Self { whence, request, grounds, head, body, given: given.cloned() })
    }

    /// Counts it once more.
    pub(super) fn count(&self) {
        if let Some(given) = &self.given {
            given.again(self.body.len());
        }
    }

    fn held(&self) -> usize {
        OVERHEAD + self.request.len() + self.head.len() + self.body.len()
    }
}

/// Whether the bytes of a request are all that its answer depends on, of what its client says: they tell
/// nothing of who it is, and what they say of the connection is that it goes on.
pub(super) fn may_be_repeated(request: &[u8]) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut read = httparse::Request::new(&mut fields);
    let is_whole = matches!(read.parse(request), Ok(httparse::Status::Complete(length)) if length == request.len());
    let is_plain = |field: &httparse::Header<'_>| {
        let is = |name: &HeaderName| field.name.eq_ignore_ascii_case(name.as_str());
        let secret = [COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION, UPGRADE, TRANSFER_ENCODING];
        !secret.iter().any(is)
            && (!is(&CONTENT_LENGTH))
            && (!is(&CONNECTION) || field.value.eq_ignore_ascii_case(b"keep-alive"))
    };
    is_whole
        && matches!(read.method, Some("GET" | "HEAD"))
        && read.version == Some(1)
        && read.headers.iter().all(is_plain)
}

/// A head as hyper writes it. `None` where hyper would add to it, or end the connection.
pub(super) fn head(status: StatusCode, fields: &HeaderMap, body: &[u8]) -> Option<Bytes> {
    let is_left_to_hyper = [CONNECTION, TRANSFER_ENCODING, UPGRADE];
    let is_framed = body.is_empty()
        || fields.get(CONTENT_LENGTH).is_some_and(|length| *length == body.len().to_string());
    if !fields.contains_key(DATE)
        || !is_framed
        || is_left_to_hyper.iter().any(|name| fields.contains_key(name))
    {
        return None;
    }
    let mut head = BytesMut::with_capacity(64 * (fields.len() + 1));
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(status.as_str().as_bytes());
    head.put_slice(b" ");
    head.put_slice(status.canonical_reason()?.as_bytes());
    head.put_slice(b"\r\n");
    for (name, value) in fields {
        put_name(&mut head, name);
        head.put_slice(b": ");
        head.put_slice(value.as_bytes());
        head.put_slice(b"\r\n");
    }
    head.put_slice(b"\r\n");
    Some(head.freeze())
}

/// A name of a field, each word of it with a capital.
fn put_name(to: &mut BytesMut, name: &HeaderName) {
    let mut begins = true;
    for byte in name.as_str().bytes() {
        to.put_u8(if begins { byte.to_ascii_uppercase() } else { byte });
        begins = byte == b'-';
    }
}

/// The answers that are ready, of all connections. They are bounded in bytes; the oldest go first, many at
/// once.
#[derive(Debug)]
pub struct Repeats {
    parts: [Mutex<Part>; PARTS],
    hasher: RandomState,
    /// The most bytes of a part.
    most: AtomicUsize,
}

#[derive(Debug, Default)]
struct Part {
    ready: HashMap<u64, Arc<Ready>>,
    held: usize,
}

impl Repeats {
    /// None; at most `bytes` in all.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let most = AtomicUsize::new(bytes / PARTS);
        Self { parts: Default::default(), hasher: RandomState::new(), most }
    }

    /// The answer to a request of these bytes, if it is one at `now`.
    #[must_use]
    pub fn get(
        &self,
        context: &ServerContext,
        whence: &Whence,
        request: &[u8],
        now: SystemTime,
    ) -> Option<Arc<Ready>> {
        let hash = self.hasher.hash_one((whence, request));
        let ready = Arc::clone(self.part(hash).ready.get(&hash)?);
        let is_it = ready.request == request && ready.whence == *whence;
        (is_it && ready.grounds.hold(&context.proxy, now)).then_some(ready)
    }

    /// Remembers an answer that is about to be sent, if it can be sent again.
    pub fn remember<B>(
        &self,
        whence: &Whence,
        request: Bytes,
        given: Option<&Given>,
        answer: &mut Response<B>,
    ) {
        let Some(ready) = Ready::of(whence.clone(), request, given, answer) else { return };
        let most = self.most.load(Ordering::Relaxed);
        if ready.held() > most {
            return;
        }
        let hash = self.hasher.hash_one((whence, &*ready.request));
        let mut part = self.part(hash);
        // What is left of an earlier second is of no use.
        let gone = (part.held + ready.held() > most).then(|| std::mem::take(&mut *part));
        part.held += ready.held();
        let was = part.ready.insert(hash, Arc::new(ready));
        part.held = part.held.saturating_sub(was.as_ref().map_or(0, |was| was.held()));
        drop(part);
        drop((was, gone));
    }

    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        let [byte, ..] = hash.to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        let part =
            (usize::from(byte) % PARTS).checked_sub(1).and_then(|at| rest.get(at)).unwrap_or(first);
        // Whatever panicked, an answer is an answer.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
