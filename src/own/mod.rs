//! placeholder
pub mod tickets;
use crate::{daemon::Daemon, mode::Mode, proxy::body::Body};
use hyper::{Request, Response, body::Incoming};
use std::sync::Arc;
use wwwoffle_url::CanonicalUrl;
/// x
pub async fn over_tcp(
    daemon: Arc<Daemon>,
    mode: Mode,
    _url: &CanonicalUrl,
    _request: Request<Incoming>,
) -> Response<Body> {
    crate::proxy::reply::message(&daemon, mode, &crate::pages::message::Message::Internal)
}
