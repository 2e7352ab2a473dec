//! TLS for the catalogue, with the authorities that this program trusts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;
use wwwoffle_config::CatalogueDatabase;

use crate::net::upstream::{Origin, server_name};

/// The mode of TLS for a database. There is no fallback to a connection without TLS.
pub(super) fn mode(database: &CatalogueDatabase) -> SslMode {
    if database.tls { SslMode::Require } else { SslMode::Disable }
}

/// Makes the TLS of one connection.
pub(super) struct DatabaseConnector {
    host: String,
    config: Arc<ClientConfig>,
}

impl DatabaseConnector {
    pub(super) fn new(origin: &Origin, config: Arc<ClientConfig>) -> Self {
        Self { host: origin.host.clone(), config }
    }
}

impl TlsConnect<TcpStream> for DatabaseConnector {
    type Stream = DatabaseStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<DatabaseStream>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        Box::pin(async move {
            let name = server_name(&self.host)
                .ok_or_else(|| io::Error::other("its host cannot occur in a certificate"))?;
            let stream = TlsConnector::from(self.config).connect(name, stream).await?;
            Ok(DatabaseStream(Box::new(stream)))
        })
    }
}

/// A connection with TLS.
pub(super) struct DatabaseStream(Box<RustlsStream<TcpStream>>);

impl TlsStream for DatabaseStream {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate is verified, so the binding adds little.
        ChannelBinding::none()
    }
}

impl AsyncRead for DatabaseStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for DatabaseStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
