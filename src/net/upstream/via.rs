//! The parent proxy between this proxy and an origin.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::Arc;

use hyper::header::{HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wwwoffle_config::ParentProtocol;

use super::{Failure, Origin, Scheme, socks};
use crate::base::basic::Login;

/// The maximum size of the response head of a parent proxy to CONNECT, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// The maximum number of fields of a parent's response to CONNECT.
const MAX_FIELDS: usize = 128;

/// A parent proxy and our login to it. For HTTPS, an HTTP parent opens connections (CONNECT). For
/// all other schemes, it receives the whole request. A SOCKS parent opens connections for every
/// scheme. The parent looks up the names of origins.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Via {
    /// The protocol that the parent speaks.
    pub protocol: ParentProtocol,
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The user and password, if required.
    pub login: Option<Login>,
    /// Our name in `Via`, by which a loop is detected.
    pub pseudonym: String,
    /// The other ways to the origin.
    pub route: ParentRoute,
}

/// All ways to an origin, in the order in which they are tried. Empty if the parent proxy is the
/// only one. It is no part of the identity of a parent: a connection is the same whatever would
/// have been tried after it.
#[derive(Clone, Debug, Default)]
pub struct ParentRoute(Option<Arc<[Option<Arc<Via>>]>>);

impl PartialEq for ParentRoute {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ParentRoute {}

impl Hash for ParentRoute {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl ParentRoute {
    /// The first parent of the `ways`, which knows the others; `None` is a direct connection.
    #[must_use]
    pub fn first(mut ways: Vec<Option<Arc<Via>>>) -> Option<Arc<Via>> {
        if ways.len() < 2 {
            return ways.pop().flatten();
        }
        let first = ways.first().cloned().flatten()?;
        let route = Self(Some(ways.into()));
        Some(Arc::new(Via { route, ..Via::clone(&first) }))
    }
}

/// Shows the parent without the login.
impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Via({self})")
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.protocol == ParentProtocol::Socks5 {
            f.write_str("socks5://")?;
        }
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
    /// The response to a request that the parent received whole is a `407`. It may be that of the
    /// origin, which has processed the request then.
    #[error(
        "the response is 407: the parent refuses the user and password of [proxy] auth-username \
         and auth-password, or wants them"
    )]
    LoginInResponse,
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
    /// The response of the parent is not SOCKS 5.
    #[error("its response is not SOCKS 5")]
    NotSocks,
    /// The SOCKS parent refuses to connect (RFC 1928 §6).
    #[error("it refuses to connect: {0}")]
    Socks(&'static str),
    /// The name or the login does not fit into a message of SOCKS.
    #[error("{0} is too long for SOCKS 5")]
    TooLong(&'static str),
}

impl ParentFault {
    /// Whether another parent may be tried for the same request: no byte of the request was sent,
    /// and the parent has not answered for the origin.
    pub(super) fn may_try_next(&self) -> bool {
        match self {
            Self::Connect(failure) => !matches!(**failure, Failure::Offline),
            Self::Login | Self::NotHttp | Self::NotSocks | Self::CutShort(_) | Self::Silent => true,
            Self::LoginInResponse | Self::Status(_) | Self::Socks(_) | Self::TooLong(_) => false,
        }
    }

    /// Whether the fault is certainly that of the parent. A parent that is silent or hangs up after
    /// CONNECT may wait for the origin, which a client chooses.
    pub(super) fn is_of_parent(&self) -> bool {
        self.may_try_next() && !matches!(self, Self::CutShort(_) | Self::Silent)
    }
}

impl Via {
    /// All ways to the origin, in order. `None` is a direct connection.
    #[must_use]
    pub fn ways(self: &Arc<Self>) -> Vec<Option<Arc<Self>>> {
        match &self.route.0 {
            Some(ways) => ways.to_vec(),
            None => vec![Some(Arc::clone(self))],
        }
    }

    /// Whether the parent receives whole requests of `scheme`, and opens no connection.
    pub(super) fn takes_requests(&self, scheme: Scheme) -> bool {
        self.protocol == ParentProtocol::Http && scheme != Scheme::Https
    }

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

    /// Makes the parent proxy open a connection to `origin`.
    pub(super) async fn open(
        &self,
        stream: &mut TcpStream,
        origin: &Origin,
    ) -> Result<(), ParentFault> {
        match self.protocol {
            ParentProtocol::Http => self.connect(stream, origin).await,
            ParentProtocol::Socks5 => socks::open(stream, origin, self.login.as_ref()).await,
        }
    }

    /// `Proxy-Authorization`, if required.
    fn login_field(&self) -> Option<HeaderValue> {
        self.login.as_ref().and_then(|login| login.to_field().ok())
    }

    /// Opens a connection with CONNECT (RFC 9110 §9.3.6).
    async fn connect(&self, stream: &mut TcpStream, origin: &Origin) -> Result<(), ParentFault> {
        let mut head = format!("CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n").into_bytes();
        head.extend_from_slice(format!("Via: 1.1 {}\r\n", self.pseudonym).as_bytes());
        if let Some(login) = self.login_field() {
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
        // An earlier parent may have got another login.
        match self.login_field() {
            Some(login) => drop(request.headers_mut().insert(PROXY_AUTHORIZATION, login)),
            None => drop(request.headers_mut().remove(PROXY_AUTHORIZATION)),
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
            let login = Some(Login { user: b"u".to_vec(), password: b"p".to_vec() });
            let via = Via {
                protocol: ParentProtocol::Http,
                host: "p.test".into(),
                port: 1,
                login,
                pseudonym: "w-1".into(),
                route: ParentRoute::default(),
            };
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
