//! Complete responses, and the conditions under which they are valid.

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
use crate::base::statistics::ResponseCounter;
use crate::proxy::body::WholeBody;
use crate::proxy::client_connection::ClientConnection;
use crate::proxy::repeat::ReplayConditions;
use crate::proxy::site::Door;
use crate::server::context::ServerContext;

/// The number of shards of the map, each with its own lock.
const PARTS: usize = 16;

/// The estimated memory of an entry in bytes, in addition to its request and response.
const OVERHEAD: usize = 512;

/// The connection properties of a request. The same bytes with the same properties are the same
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplayScope {
    owner: Owner,
    door: String,
}

impl ReplayScope {
    /// The properties of `connection`.
    #[must_use]
    pub fn of(connection: &ClientConnection) -> Self {
        let door = match &connection.door {
            Door::Plain => "plain".to_owned(),
            Door::Secured => "secured".to_owned(),
            Door::Redirected(to) => format!("redirected {to}"),
            Door::Site(site) => site.url().as_str().to_owned(),
        };
        Self { owner: connection.owner(), door }
    }
}

/// A response as sent to the client.
#[derive(Debug)]
pub struct Ready {
    scope: ReplayScope,
    request: Bytes,
    conditions: ReplayConditions,
    pub(super) head: Bytes,
    pub(super) body: Bytes,
    given: Option<ResponseCounter>,
}

impl Ready {
    /// Builds a repeatable response from a response that hyper is about to send. `None` if it
    /// cannot be repeated.
    fn of<B>(
        scope: ReplayScope,
        request: Bytes,
        given: Option<&ResponseCounter>,
        answer: &mut Response<B>,
    ) -> Option<Self> {
        let conditions = answer.extensions_mut().remove::<ReplayConditions>()?;
        let WholeBody(body) = answer.extensions_mut().remove()?;
        if !may_be_repeated(&request) {
            return None;
        }
        let head = head(answer.status(), answer.headers(), &body)?;
        Some(Self { scope, request, conditions, head, body, given: given.cloned() })
    }

    /// Counts the response in the statistics. Called each time the response is sent.
    pub(super) fn count(&self) {
        if let Some(given) = &self.given {
            given.count_repeat(self.body.len());
        }
    }

    fn held_bytes(&self) -> usize {
        OVERHEAD + self.request.len() + self.head.len() + self.body.len()
    }
}

/// Whether the request does not identify the client, has no body and leaves the connection open.
/// Apart from [`ReplayScope`], the response to such a request depends on no property of the client.
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

/// A response head as hyper writes it. `None` if hyper would add fields to it or close the
/// connection.
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

/// Writes a field name with a capital letter at the start of each word.
fn put_name(to: &mut BytesMut, name: &HeaderName) {
    let mut begins = true;
    for byte in name.as_str().bytes() {
        to.put_u8(if begins { byte.to_ascii_uppercase() } else { byte });
        begins = byte == b'-';
    }
}

/// The complete responses of all connections, limited in bytes. If a shard reaches its limit, it is
/// emptied.
#[derive(Debug)]
pub struct ReplayCache {
    parts: [Mutex<RepeatShard>; PARTS],
    hasher: RandomState,
    /// The maximum number of bytes in a shard.
    most: AtomicUsize,
}

#[derive(Debug, Default)]
struct RepeatShard {
    ready: HashMap<u64, Arc<Ready>>,
    held: usize,
}

impl ReplayCache {
    /// An empty map for at most `bytes` in total.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let most = AtomicUsize::new(bytes / PARTS);
        Self { parts: Default::default(), hasher: RandomState::new(), most }
    }

    /// The response to a request with these bytes, if it is valid at `now`.
    #[must_use]
    pub fn get(
        &self,
        context: &ServerContext,
        scope: &ReplayScope,
        request: &[u8],
        now: SystemTime,
    ) -> Option<Arc<Ready>> {
        let hash = self.hasher.hash_one((scope, request));
        let ready = Arc::clone(self.part(hash).ready.get(&hash)?);
        let is_it = ready.request == request && ready.scope == *scope;
        (is_it && ready.conditions.hold(&context.proxy, now)).then_some(ready)
    }

    /// Stores a response that is about to be sent, if it can be repeated.
    pub fn remember<B>(
        &self,
        scope: &ReplayScope,
        request: Bytes,
        given: Option<&ResponseCounter>,
        answer: &mut Response<B>,
    ) {
        let Some(ready) = Ready::of(scope.clone(), request, given, answer) else { return };
        let most = self.most.load(Ordering::Relaxed);
        if ready.held_bytes() > most {
            return;
        }
        let hash = self.hasher.hash_one((scope, &*ready.request));
        let mut part = self.part(hash);
        // A full shard is emptied: most of its responses are from an earlier second, and so
        // useless.
        let gone = (part.held + ready.held_bytes() > most).then(|| std::mem::take(&mut *part));
        part.held += ready.held_bytes();
        let was = part.ready.insert(hash, Arc::new(ready));
        part.held = part.held.saturating_sub(was.as_ref().map_or(0, |was| was.held_bytes()));
        drop(part);
        drop((was, gone));
    }

    fn part(&self, hash: u64) -> MutexGuard<'_, RepeatShard> {
        let [byte, ..] = hash.to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        let part =
            (usize::from(byte) % PARTS).checked_sub(1).and_then(|at| rest.get(at)).unwrap_or(first);
        // A panic leaves a valid map.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
