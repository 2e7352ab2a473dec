//! The record of a request for the access log.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use hyper::header::{HeaderValue, REFERER, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::body::Body;
use super::client_connection::ClientConnection;
use super::site::Door;
use super::status::CacheStatus;
use crate::base::clock;
use crate::base::log::access::{AccessLine, AccessLog};
use crate::base::statistics::Outcome;
use crate::net::upstream::BoxError;

/// The status of a request whose client left before the response, as nginx logs it.
const CLIENT_LEFT: u16 = 499;

/// A request whose line is written when the record is dropped: after the last byte of the response,
/// or at the end of the tunnel.
#[derive(Debug)]
pub(super) struct AccessRecord {
    log: AccessLog,
    request: LoggedRequest,
    /// The canonical URL of a resource.
    url: OnceLock<String>,
    user: OnceLock<String>,
    status: OnceLock<StatusCode>,
    outcome: OnceLock<Outcome>,
    bytes: AtomicU64,
}

/// What is known about a request from its head.
#[derive(Debug)]
struct LoggedRequest {
    at: SystemTime,
    began: Instant,
    client: std::net::IpAddr,
    method: Method,
    target: String,
    version: Version,
    referer: Option<HeaderValue>,
    agent: Option<HeaderValue>,
}

impl AccessRecord {
    pub(super) fn begin<B>(
        log: &AccessLog,
        connection: &ClientConnection,
        request: &Request<B>,
    ) -> Arc<Self> {
        let field = |name| request.headers().get(name).cloned();
        let record = Self {
            log: log.clone(),
            request: LoggedRequest {
                at: clock::now(),
                began: Instant::now(),
                client: connection.peer.ip().to_canonical(),
                method: request.method().clone(),
                target: target_of(connection, request.uri()),
                version: request.version(),
                referer: field(REFERER),
                agent: field(USER_AGENT),
            },
            url: OnceLock::new(),
            user: OnceLock::new(),
            status: OnceLock::new(),
            outcome: OnceLock::new(),
            bytes: AtomicU64::new(0),
        };
        if let Some(user) = &connection.user {
            record.set_user(&user.name);
        }
        Arc::new(record)
    }

    pub(super) fn set_user(&self, name: &str) {
        let _is_first = self.user.set(name.to_owned());
    }

    pub(super) fn set_url(&self, url: &str) {
        let _is_first = self.url.set(url.to_owned());
    }

    pub(super) fn set_outcome(&self, outcome: Outcome) {
        let _is_first = self.outcome.set(outcome);
    }

    pub(super) fn count_sent_bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes the status, unless one is known already.
    pub(super) fn set_status(&self, status: StatusCode) {
        let _is_first = self.status.set(status);
    }

    /// Notes the response, and counts its body as it is sent.
    pub(super) fn follow(self: Arc<Self>, response: Response<Body>) -> Response<Body> {
        self.set_status(response.status());
        if let Some(status) = response.extensions().get::<CacheStatus>() {
            self.set_outcome(Outcome::from(*status));
        }
        response.map(|body| LoggedBody { body, record: self }.boxed_unsync())
    }
}

/// The target of a request as logged until its canonical URL is known. Inside an intercepted
/// connection, a target is only a path, and the connection names the host.
fn target_of(connection: &ClientConnection, uri: &Uri) -> String {
    match &connection.door {
        Door::Site(site) if uri.authority().is_none() && uri.path().starts_with('/') => {
            format!("https://{}{uri}", site.url().host_port())
        }
        _ => uri.to_string(),
    }
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        let LoggedRequest { at, began, client, method, target, version, referer, agent } =
            &self.request;
        let (method, version) = (method.as_str(), format!("{version:?}"));
        self.log.write(&AccessLine {
            at: *at,
            took: began.elapsed(),
            client: *client,
            user: self.user.get().map(String::as_str),
            method,
            url: self.url.get().unwrap_or(target),
            version: &version,
            status: self.status.get().map_or(CLIENT_LEFT, StatusCode::as_u16),
            bytes: self.bytes.load(Ordering::Relaxed),
            outcome: self.outcome.get().copied(),
            referer: referer.as_ref().map(HeaderValue::as_bytes),
            agent: agent.as_ref().map(HeaderValue::as_bytes),
        });
    }
}

/// A body whose bytes are counted for the access log.
struct LoggedBody {
    body: Body,
    record: Arc<AccessRecord>,
}

impl hyper::body::Body for LoggedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.record.count_sent_bytes(frame.data_ref().map_or(0, Bytes::len));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
