//! The proxy between this one and an origin, if there is one.

use std::fmt;
use std::io;

use hyper::header::{HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Failure, Origin, Scheme};

/// The longest answer of a parent proxy to CONNECT, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// The most fields such an answer may have.
const MAX_FIELDS: usize = 128;

/// A parent proxy, and who we are to it. It opens the connections for HTTPS (CONNECT), and is given
/// the requests of HTTP whole; it looks up the names of origins.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Via {
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// `Proxy-Authorization`, if it wants one.
    pub login: Option<HeaderValue>,
    /// Our own name, by which we know a request that comes back.
    pub pseudonym: String,
}

/// Without the login.
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

/// Why a parent proxy gives no way to an origin.
#[derive(Debug, thiserror::Error)]
pub enum ParentFault {
    /// There is no connection to it.
    #[error("there is no connection to it")]
    Connect(#[source] Box<Failure>),
    /// It wants a user and password, or others than it was given.
    #[error(
        "it refuses the user and password of [proxy] auth-username and auth-password, or wants them"
    )]
    Login,
    /// It answers CONNECT with something else than success.
    #[error("it refuses to connect, with status {0}")]
    Status(u16),
    /// It answers CONNECT with what is no HTTP.
    #[error("its answer is no HTTP")]
    NotHttp,
    /// The connection to it broke off.
    #[error("the connection to it ended")]
    CutShort(#[source] io::Error),
    /// It does not answer in time.
    #[error("it does not answer CONNECT in time")]
    Silent,
}

impl Via {
    /// What went wrong on the way, told of this proxy. That the mode is offline is told as it is.
    pub(super) fn failed(&self, fault: ParentFault) -> Failure {
        match fault {
            ParentFault::Connect(failure) if matches!(*failure, Failure::Offline) => {
                Failure::Offline
            }
            fault => Failure::Parent { authority: self.to_string(), fault },
        }
    }

    /// Where to connect to.
    pub(super) fn as_origin(&self) -> Origin {
        // It is the configuration that names it.
        let (host, reach) = (self.host.clone(), super::Reach::All);
        Origin { scheme: Scheme::Http, host, port: self.port, via: None, reach }
    }

    /// Has the parent proxy open a connection to `origin` (RFC 9110 §9.3.6).
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

    /// Makes the request for a parent proxy of one for `origin` (RFC 9112 §3.2.2): the whole URL,
    /// and who we are.
    pub(super) fn address(
        &self,
        origin: &Origin,
        request: &mut Request<()>,
    ) -> Result<(), Failure> {
        let host = request.headers().get(hyper::header::HOST);
        let host =
            host.map_or_else(|| origin.to_string().into_bytes(), |host| host.as_bytes().into());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let whole = Uri::builder().scheme("http").authority(&*host).path_and_query(path).build();
        *request.uri_mut() =
            whole.map_err(|_| Failure::Unsendable("its host or path has no form for a proxy"))?;
        if let Some(login) = &self.login {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        Ok(())
    }
}

/// Reads up to the empty line and not a byte further: what comes then is the origin's.
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
    async fn the_answer_to_connect_is_read_to_its_end_and_no_further() {
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
