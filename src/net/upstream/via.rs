//! The parent proxy between this proxy and an origin.

use std::fmt;
use std::io;

use hyper::header::{HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Failure, Origin, Scheme};

/// The maximum size of the response head of a parent proxy to CONNECT, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// The maximum number of fields of a parent's response to CONNECT.
const MAX_FIELDS: usize = 128;

/// A parent proxy and our login to it. For HTTPS, the parent opens connections (CONNECT). For all
/// other schemes, it receives the whole request. The parent looks up the names of origins.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Via {
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// `Proxy-Authorization`, if required.
    pub login: Option<HeaderValue>,
    /// Our name in `Via`, by which a loop is detected.
    pub pseudonym: String,
}

/// Shows the parent without the login.
impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Via({self})")
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The reason why a parent proxy did not connect.
#[derive(Debug, thiserror::Error)]
pub enum ParentFault {
    /// The parent cannot be reached.
    #[error("there is no connection to it")]
    Connect(#[source] Box<Failure>),
    /// The parent requires a login, or refuses the configured one.
    #[error(
        "it refuses the user and password of [proxy] auth-username and auth-password, or wants them"
    )]
    Login,
    /// The parent answers CONNECT with an error status.
    #[error("it refuses to connect, with status {0}")]
    Status(u16),
    /// The response of the parent to CONNECT is not HTTP.
    #[error("its response is not HTTP")]
    NotHttp,
    /// The connection to the parent ended.
    #[error("the connection to it ended")]
    CutShort(#[source] io::Error),
    /// The parent does not answer in time.
    #[error("it does not respond to CONNECT in time")]
    Silent,
}

impl Via {
    /// Returns the failure for a `fault` of this parent. If the reason is the offline mode, returns
    /// [`Failure::Offline`].
    pub(super) fn failed(&self, fault: ParentFault) -> Failure {
        match fault {
            ParentFault::Connect(failure) if matches!(*failure, Failure::Offline) => {
                Failure::Offline
            }
            fault => Failure::Parent { authority: self.to_string(), fault },
        }
    }

    /// The parent as a host to connect to.
    pub(super) fn as_origin(&self) -> Origin {
        // The address comes from the configuration, not from a client, so all addresses are
        // allowed.
        let (host, reach) = (self.host.clone(), super::Reach::All);
        Origin { scheme: Scheme::Http, host, port: self.port, via: None, reach }
    }

    /// Makes the parent proxy open a connection to `origin` (RFC 9110 §9.3.6).
    pub(super) async fn open(
        &self,
        stream: &mut TcpStream,
        origin: &Origin,
    ) -> Result<(), ParentFault> {
        let mut head = format!("CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n").into_bytes();
        head.extend_from_slice(format!("Via: 1.1 {}\r\n", self.pseudonym).as_bytes());
        if let Some(login) = &self.login {
            head.extend_from_slice(b"Proxy-Authorization: ");
            head.extend_from_slice(login.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        stream.write_all(&head).await.map_err(ParentFault::CutShort)?;
        match status(&read_head(stream).await?) {
            Some(200..=299) => Ok(()),
            Some(407) => Err(ParentFault::Login),
            Some(other) => Err(ParentFault::Status(other)),
            None => Err(ParentFault::NotHttp),
        }
    }

    /// Converts a request for `origin` into a request for a parent proxy (RFC 9112 §3.2.2): with an
    /// absolute URL and the login.
    pub(super) fn address(
        &self,
        origin: &Origin,
        request: &mut Request<()>,
    ) -> Result<(), Failure> {
        let host = request.headers().get(hyper::header::HOST);
        let host =
            host.map_or_else(|| origin.to_string().into_bytes(), |host| host.as_bytes().into());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let whole = Uri::builder()
            .scheme(origin.scheme.as_str())
            .authority(&*host)
            .path_and_query(path)
            .build();
        *request.uri_mut() =
            whole.map_err(|_| Failure::Unsendable("its host or path has no form for a proxy"))?;
        if let Some(login) = &self.login {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        Ok(())
    }
}

/// Reads up to the empty line and no byte more, because the following bytes come from the origin.
async fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>, ParentFault> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD {
            return Err(ParentFault::NotHttp);
        }
        head.push(stream.read_u8().await.map_err(ParentFault::CutShort)?);
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    answer.parse(head).ok().filter(httparse::Status::is_complete)?;
    answer.code
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn the_response_to_connect_is_read_exactly_to_its_end() {
        for (answer, want) in [
            ("HTTP/1.1 200 OK\r\nX: y\r\n\r\nSSH-2.0", "open"),
            ("HTTP/1.0 407 No\r\n\r\n", "Login"),
            ("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", "Status(403)"),
            ("SSH-2.0-x\r\n\r\n", "NotHttp"),
            ("HTTP/1.1 200 OK\r\n", "CutShort"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(answer.as_bytes()).await.unwrap();
            server.shutdown().await.unwrap();
            let login = Some(HeaderValue::from_static("Basic dTpw"));
            let via = Via { host: "p.test".into(), port: 1, login, pseudonym: "w-1".into() };
            let origin = Origin::here(Scheme::Https, "o.test", 443);
            let got = match via.open(&mut client, &origin).await {
                Ok(()) => "open".to_owned(),
                Err(fault) => format!("{fault:?}"),
            };
            assert!(got.starts_with(want), "{answer}: {got}");
            if want == "open" {
                let mut rest = String::new();
                client.read_to_string(&mut rest).await.unwrap();
                assert_eq!(rest, "SSH-2.0");
            }
            drop(client);
            let mut asked = String::new();
            server.read_to_string(&mut asked).await.unwrap_or_default();
            assert!(
                asked.is_empty()
                    || asked.starts_with(
                        "CONNECT o.test:443 HTTP/1.1\r\nHost: o.test:443\r\nVia: 1.1 w-1\r\n\
                 Proxy-Authorization: Basic dTpw\r\n\r\n"
                    )
            );
            assert!(!format!("{via:?}").contains("dTpw"));
        }
    }
}
