//! The first bytes of a client, after CONNECT or on our own port: TLS or another protocol.

use std::io;
use std::time::Duration;

use rustls::server::{Accepted, Acceptor};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};

use super::leaf::{HTTP_1_1, HTTP_2};

/// If a client is silent for this time, it is assumed to wait for the origin to speak first, as in
/// mail and SSH.
const SILENT_FOR: Duration = Duration::from_secs(3);

/// The time within which the rest of a `ClientHello` must follow its first byte.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// The longest `ClientHello` that is parsed, in bytes. A `ClientHello` with post-quantum keys has
/// about 2,000 bytes.
const MAX_HELLO: usize = 64 * 1024;

/// The first bytes of a TLS record with a handshake (RFC 8446 §5.1).
const HANDSHAKE_RECORD: [u8; 2] = [22, 3];

/// The first bytes of a client.
#[derive(Debug)]
pub struct Opening {
    /// All bytes read so far, which must be passed on.
    pub bytes: Vec<u8>,
    /// The `ClientHello`, if the client speaks TLS.
    pub hello: Option<Accepted>,
}

/// Reads until the protocol is known, or the client sends nothing for too long. Dropping the future
/// loses the bytes read.
///
/// # Errors
///
/// The error of the connection.
pub async fn read(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Opening> {
    let (mut bytes, mut acceptor) = (Vec::new(), Acceptor::default());
    let mut until = Instant::now() + SILENT_FOR;
    loop {
        let before = bytes.len();
        match timeout_at(until, client.read_buf(&mut bytes)).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0)) | Err(_) => return Ok(Opening { bytes, hello: None }),
            Ok(Err(error)) => return Err(error),
        }
        if before == 0 {
            until = Instant::now() + HELLO_WITHIN;
        }
        let is_tls = bytes.iter().zip(HANDSHAKE_RECORD).all(|(found, want)| *found == want);
        if !is_tls || bytes.len() > MAX_HELLO {
            return Ok(Opening { bytes, hello: None });
        }
        let mut fresh = bytes.get(before..).unwrap_or_default();
        while !fresh.is_empty() {
            if acceptor.read_tls(&mut fresh).is_err() {
                return Ok(Opening { bytes, hello: None });
            }
            match acceptor.accept() {
                // The acceptor would consume bytes after the `ClientHello`, so it is only used if
                // there are none.
                Ok(Some(hello)) if fresh.is_empty() => {
                    return Ok(Opening { bytes, hello: Some(hello) });
                }
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return Ok(Opening { bytes, hello: None }),
            }
        }
    }
}

/// The requested server name, if any (RFC 6066 §3).
#[must_use]
pub fn name(hello: &Accepted) -> Option<String> {
    hello.client_hello().server_name().map(str::to_ascii_lowercase)
}

/// Whether the client may speak HTTP inside TLS: it offers HTTP, or offers no protocol.
#[must_use]
pub fn speaks_http(hello: &Accepted) -> bool {
    let is_http = |protocol: &[u8]| [HTTP_1_1, HTTP_2].contains(&protocol);
    hello.client_hello().alpn().is_none_or(|mut offered| offered.any(is_http))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::provider::provider;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::sync::Arc;
    use tokio::io::{AsyncWriteExt, duplex};

    fn client_hello(name: &'static str, alpn: &[&[u8]]) -> Vec<u8> {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let mut client = ClientConnection::new(Arc::new(config), name.try_into().unwrap()).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    async fn opening(pieces: &[&[u8]]) -> Opening {
        let (mut ours, mut theirs) = duplex(1 << 20);
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        let write = async move {
            for piece in pieces {
                theirs.write_all(&piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            theirs
        };
        let (opening, _theirs) = tokio::join!(read(&mut ours), write);
        opening.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_hello_is_read_in_any_number_of_pieces() {
        let hello = client_hello("WWW.example.org", &[b"h2", b"http/1.1"]);
        for size in [1, 2, 5, 100, 10_000] {
            let opening = opening(&hello.chunks(size).collect::<Vec<_>>()).await;
            let accepted = opening.hello.unwrap();
            assert_eq!(name(&accepted).as_deref(), Some("www.example.org"), "{size}");
            assert!(speaks_http(&accepted));
            assert_eq!(opening.bytes, hello);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn names_and_protocols_are_as_offered() {
        let address = opening(&[&client_hello("127.0.0.1", &[])]).await.hello.unwrap();
        assert_eq!((name(&address), speaks_http(&address)), (None, true));
        for (offered, want) in [
            (&[&b"h2"[..]][..], true),
            (&[b"http/1.1"], true),
            (&[b"acme-tls/1", b"h2"], true),
            (&[b"acme-tls/1"], false),
        ] {
            let hello = opening(&[&client_hello("h.example", offered)]).await.hello.unwrap();
            assert_eq!(speaks_http(&hello), want, "{offered:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_other_than_a_hello_are_returned_unchanged() {
        let mut broken = client_hello("h.example", &[]);
        broken[5] = 99;
        for bytes in [&b"SSH-2.0-x\r\n"[..], b"GET / HTTP/1.1\r\n\r\n", b"\x16\x04", &broken] {
            let opening = opening(&[bytes]).await;
            assert!(opening.hello.is_none());
            assert_eq!(opening.bytes, bytes);
        }
        // Silence and half a `ClientHello`: in both cases a timeout ends the wait.
        for bytes in [&b""[..], &client_hello("h.example", &[])[..50]] {
            let opening = opening(&[bytes]).await;
            assert!(opening.hello.is_none());
            assert_eq!(opening.bytes, bytes);
        }
    }
}
