//! Interim answers (1xx) on a client's connection, for which hyper's server has no call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::{Buf, Bytes};
use hyper::{HeaderMap, StatusCode};

/// How many interim answers may wait on one connection; more are left out.
pub(crate) const MAX_WAITING_INTERIMS: usize = 16;

/// Sends interim answers on a connection whose final answer is still to come.
#[derive(Clone, Debug, Default)]
pub struct Interims(Arc<Mutex<InterimQueue>>);

#[derive(Debug, Default)]
struct InterimQueue {
    bytes: VecDeque<Bytes>,
    waker: Option<Waker>,
}

impl Interims {
    /// Queues one interim answer. It is written as soon as everything before it has been, which is
    /// at once as a rule, and in any case before the final answer.
    pub fn send(&self, status: StatusCode, fields: &HeaderMap) {
        let mut queue = self.lock();
        if queue.bytes.len() < MAX_WAITING_INTERIMS {
            queue.bytes.push_back(head(status, fields));
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
        }
    }

    /// The bytes to write next. If there are none, `waker` is woken when there are.
    #[must_use]
    pub fn next(&self, waker: &Waker) -> Option<Bytes> {
        let mut queue = self.lock();
        let front = queue.bytes.front().cloned();
        if front.is_none() {
            queue.waker = Some(waker.clone());
        }
        front
    }

    /// Removes the first `written` bytes of those to write next.
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
        // A queue of bytes is whole after any panic.
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
