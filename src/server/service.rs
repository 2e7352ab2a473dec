//! The services that the server offers to the proxy.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio_rustls::server::TlsStream;
use tracing::debug;
use wwwoffle_url::CanonicalUrl;

use super::connection::{speak, speak_http1};
use super::context::ServerContext;
use super::front::secure;
use crate::base::mode::Mode;
use crate::proxy::body::Body;
use crate::proxy::client_connection::{
    ClientConnection, HttpVersion, PageClient, ProxyServer, ServerFuture,
};
use crate::site;

/// The server, as an interface for the proxy.
#[derive(Clone, Debug)]
pub(super) struct Service(pub(super) Arc<ServerContext>);

impl ProxyServer for Service {
    fn own_page(
        &self,
        mode: Mode,
        url: CanonicalUrl,
        page_client: PageClient,
        request: Request<Incoming>,
    ) -> ServerFuture<Response<Body>> {
        let own_site = Arc::clone(&self.0.site);
        Box::pin(async move { site::over_tcp(own_site, mode, &url, page_client, request).await })
    }

    fn speak(
        &self,
        stream: TlsStream<TokioIo<Upgraded>>,
        version: HttpVersion,
        connection: ClientConnection,
    ) -> ServerFuture<hyper::Result<()>> {
        let context = Arc::clone(&self.0);
        Box::pin(async move { speak(&context, stream, version, connection).await })
    }

    fn speak_plain(
        &self,
        stream: TokioIo<Upgraded>,
        first: Bytes,
        connection: ClientConnection,
    ) -> ServerFuture<hyper::Result<()>> {
        let context = Arc::clone(&self.0);
        Box::pin(async move { speak_http1(&context, stream, first, connection).await })
    }

    fn open_nested(
        &self,
        upgrade: OnUpgrade,
        connection: ClientConnection,
        host: String,
    ) -> ServerFuture<()> {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            match upgrade.await {
                Ok(client) => {
                    secure(&context, TokioIo::new(client), connection.nested(), &host).await;
                }
                Err(error) => debug!(%error, "the client left before its connection was ready"),
            }
        })
    }
}
