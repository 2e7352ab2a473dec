//! Interim responses (1xx) on a client's connection, which hyper's server does not support.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::{Buf, Bytes};
use hyper::{HeaderMap, StatusCode};

/// Maximum number of interim responses that wait on a connection; more are dropped.
pub(crate) const MAX_WAITING_INTERIMS: usize = 16;

/// The interim responses to send on a connection before the final response.
#[derive(Clone, Debug, Default)]
pub struct Interims(Arc<Mutex<InterimQueue>>);

#[derive(Debug, Default)]
struct InterimQueue {
    bytes: VecDeque<Bytes>,
    waker: Option<Waker>,
}

impl Interims {
    /// Queues one interim response, or drops it if too many wait. It is written after all earlier
    /// bytes, usually at once, and always before the final response.
    pub fn send(&self, status: StatusCode, fields: &HeaderMap) {
        let mut queue = self.lock();
        if queue.bytes.len() < MAX_WAITING_INTERIMS {
            queue.bytes.push_back(head(status, fields));
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
        }
    }

    /// The bytes to write next. If there are none, `waker` is woken when bytes are queued.
    #[must_use]
    pub fn next(&self, waker: &Waker) -> Option<Bytes> {
        let mut queue = self.lock();
        let front = queue.bytes.front().cloned();
        if front.is_none() {
            queue.waker = Some(waker.clone());
        }
        front
    }

    /// Removes the first `written` bytes from those to write next.
    pub fn advance(&self, written: usize) {
        let mut queue = self.lock();
        if let Some(front) = queue.bytes.front_mut() {
            front.advance(written.min(front.len()));
            if front.is_empty() {
                queue.bytes.pop_front();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, InterimQueue> {
        // A panic cannot leave the queue inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn head(status: StatusCode, fields: &HeaderMap) -> Bytes {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in fields {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}
