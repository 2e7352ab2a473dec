//! One connection that speaks HTTP/1.1.

use std::sync::Arc;

use hyper::client::conn::http1::SendRequest;

use super::{RequestBody, Secured};

/// A connection of HTTP/1.1, and how it is secured if it is.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) sender: SendRequest<RequestBody>,
    pub(super) secured: Option<Arc<Secured>>,
}
