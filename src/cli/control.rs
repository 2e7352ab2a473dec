//! A client for the API, over the Unix socket in the spool, or at the port of another machine.

mod remote;
mod upload;

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::{Method, Request, Response, body::Incoming, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

pub(crate) use self::remote::RemoteDaemon;
pub(super) use self::remote::{password_of, private_text};
use super::config;
use super::failure::{VerbFailure, VerbResult};
use crate::base::control_path::ControlPath;
use crate::base::exit::ExitStatus;
use crate::storage::body::{self, Body};
use wwwoffle_api::ConfigError;

/// Time limit for the head of a response. Calls that may take long send the head first and their
/// result later.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for the head of the response to one request, if it is not [`HEAD_TIMEOUT`].
#[derive(Clone, Copy, Debug)]
struct HeadPatience(Duration);

/// Maximum length of a response read as a whole, in bytes: a queue of about 100,000 requests.
const LONGEST_ANSWER: usize = 256 << 20;

/// Maximum length of a line of a stream, in bytes: a URL of 1 MiB, escaped, and a few short fields.
const LONGEST_LINE: usize = 8 << 20;

/// The type of a request body that is one JSON value.
const JSON: &str = "application/json";

/// A client of a daemon.
#[derive(Debug)]
pub(crate) struct Control {
    to: DaemonAddress,
}

#[derive(Debug)]
enum DaemonAddress {
    /// The daemon that has this spool open.
    Spool(PathBuf),
    Elsewhere(RemoteDaemon),
}

/// A connection to a daemon, in bytes.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

type ApiStream = Box<dyn ByteStream>;

/// A function that is called with each line of a stream.
type EachLine<'a> = &'a mut dyn FnMut(&[u8]) -> VerbResult<()>;

impl Control {
    /// Creates a client of the daemon on the spool at `spool`, whether the daemon runs or not.
    pub(crate) fn new(spool: &Path) -> Self {
        Self { to: DaemonAddress::Spool(spool.to_owned()) }
    }

    /// Creates a client of a daemon on another machine, whether it can be reached or not.
    pub(crate) fn remote(daemon: RemoteDaemon) -> Self {
        Self { to: DaemonAddress::Elsewhere(daemon) }
    }

    /// Sends a request that changes nothing.
    pub(crate) fn get<Answer: DeserializeOwned>(&self, path: &str) -> VerbResult<Answer> {
        self.request_complete(request(Method::GET, path, JSON, body::empty())?)
    }

    /// Sends a request that changes something.
    pub(crate) fn post<Answer: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> VerbResult<Answer> {
        self.request_complete(request(Method::POST, path, JSON, json(body)?)?)
    }

    /// Like [`Control::post`], for a call that sends its head only after it is done.
    pub(crate) fn post_patiently<Answer: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> VerbResult<Answer> {
        let mut request = request(Method::POST, path, JSON, json(body)?)?;
        request.extensions_mut().insert(HeadPatience(patience));
        self.request_complete(request)
    }

    /// Sends a request that changes something, and passes on the response line by line as it
    /// arrives.
    pub(crate) fn post_stream(
        &self,
        path: &str,
        body: &impl Serialize,
        each_line: EachLine<'_>,
    ) -> VerbResult<()> {
        let request = request(Method::POST, path, JSON, json(body)?)?;
        self.exchange(request, async |body| lines(body, each_line).await)
    }

    /// Sends a request that changes something, and returns the last event in the response.
    pub(crate) fn post_for_last<Event: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> VerbResult<Option<Event>> {
        let mut last = None;
        self.post_stream(path, body, &mut |line| {
            if !line.is_empty() {
                last =
                    Some(serde_json::from_slice(line).map_err(|error| invalid_response(&error))?);
            }
            Ok(())
        })?;
        Ok(last)
    }

    fn request_complete<Answer: DeserializeOwned>(
        &self,
        request: Request<Body>,
    ) -> VerbResult<Answer> {
        let answer = self.exchange(request, collect)?;
        serde_json::from_slice(&answer).map_err(|error| invalid_response(&error))
    }

    /// Sends a request, and reads the body of its response with `read`.
    fn exchange<T>(
        &self,
        mut request: Request<Body>,
        read: impl AsyncFnOnce(Incoming) -> VerbResult<T>,
    ) -> VerbResult<T> {
        run(async {
            self.sign(&mut request).await?;
            let patience = request.extensions().get::<HeadPatience>();
            let patience = patience.map_or(HEAD_TIMEOUT, |patience| patience.0);
            let (mut sender, connection) = self.connect().await?;
            let talk = async {
                let response = head(sender.send_request(request), patience).await?;
                read(check_status(response).await?.into_body()).await
            };
            drive(connection, talk).await
        })
    }

    /// Adds to a request what a daemon on another machine needs: a login, and for a change the
    /// token, which is in the page `/`.
    async fn sign(&self, request: &mut Request<Body>) -> VerbResult<()> {
        let DaemonAddress::Elsewhere(daemon) = &self.to else { return Ok(()) };
        if *request.method() == Method::POST && daemon.token.get().is_none() {
            let mut home = self::request(Method::GET, "/", JSON, body::empty())?;
            daemon.sign(&mut home)?;
            let (mut sender, connection) = self.connect().await?;
            let talk = async {
                let response = head(sender.send_request(home), HEAD_TIMEOUT).await?;
                collect(check_status(response).await?.into_body()).await
            };
            daemon.note_token(&drive(connection, talk).await?)?;
        }
        daemon.sign(request)
    }

    async fn connect(&self) -> VerbResult<(http1::SendRequest<Body>, ApiConnection)> {
        let stream = match &self.to {
            DaemonAddress::Spool(spool) => connect_to_socket(spool).await?,
            DaemonAddress::Elsewhere(daemon) => daemon.connect().await?,
        };
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))
    }
}

async fn connect_to_socket(spool: &Path) -> VerbResult<ApiStream> {
    let path = ControlPath::of(spool).map_err(|error| unreachable(spool, &error))?;
    let stream = UnixStream::connect(path.as_path()).await;
    Ok(Box::new(stream.map_err(|error| unreachable(spool, &error))?))
}

fn unreachable(spool: &Path, error: &io::Error) -> VerbFailure {
    let spool = spool.display();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => VerbFailure::Said(
            ExitStatus::NoDaemon,
            format!(
                "no daemon is running on the spool {spool}: start one with `wwwoffle serve`, \
                     or name another spool with --spool DIR"
            ),
        ),
        io::ErrorKind::PermissionDenied => VerbFailure::Said(
            ExitStatus::BadSpool,
            format!(
                "the spool {spool} belongs to another user, and only that user may control its \
                     daemon"
            ),
        ),
        // For example, a daemon that is too busy to accept the connection.
        _ => VerbFailure::failed(
            format_args!("cannot reach the daemon on the spool {spool}; try again"),
            error,
        ),
    }
}

type ApiConnection = http1::Connection<TokioIo<ApiStream>, Body>;

fn run<Answer>(talk: impl Future<Output = VerbResult<Answer>>) -> VerbResult<Answer> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| VerbFailure::failed("cannot start", &error))?
        .block_on(talk)
}

/// Drives the connection while `talk` runs. Either may end first: the daemon may close while the
/// last bytes are still unread, and `talk` may stop early.
async fn drive<Answer>(
    connection: impl Future,
    talk: impl Future<Output = VerbResult<Answer>>,
) -> VerbResult<Answer> {
    tokio::pin!(talk);
    tokio::select! {
        biased;
        answer = &mut talk => answer,
        // If the connection failed, `talk` sees the error and reports it.
        _ = connection => talk.await,
    }
}

fn json(value: &impl Serialize) -> VerbResult<Body> {
    let text = serde_json::to_vec(value).map_err(|error| request_failed(&error))?;
    Ok(body::from_bytes(text))
}

fn request(
    method: Method,
    path: &str,
    content_type: &str,
    body: Body,
) -> VerbResult<Request<Body>> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, content_type)
        .body(body)
        .map_err(|error| request_failed(&error))
}

fn request_failed(error: &dyn Error) -> VerbFailure {
    VerbFailure::failed("the request to the daemon failed", error)
}

async fn head(
    response: impl Future<Output = hyper::Result<Response<Incoming>>>,
    patience: Duration,
) -> VerbResult<Response<Incoming>> {
    match tokio::time::timeout(patience, response).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(broken(&error)),
        Err(_) => Err(VerbFailure::plain(format_args!(
            "the daemon did not respond within {} s: see its log",
            patience.as_secs()
        ))),
    }
}

/// Turns an error response into a failure.
async fn check_status(response: Response<Incoming>) -> VerbResult<Response<Incoming>> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let answer = collect(response.into_body()).await?;
    Err(match serde_json::from_slice::<ConfigError>(&answer) {
        // Every error response has this form; most have no configuration faults.
        Ok(refusal) => config::change_failure(&refusal),
        Err(_) => VerbFailure::plain(format_args!("the daemon responded with status {status}")),
    })
}

async fn collect(mut body: Incoming) -> VerbResult<Vec<u8>> {
    let mut answer = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() {
            if answer.len() + data.len() > LONGEST_ANSWER {
                return Err(too_long(LONGEST_ANSWER));
            }
            answer.extend_from_slice(&data);
        }
    }
    Ok(answer)
}

async fn lines(mut body: Incoming, each_line: EachLine<'_>) -> VerbResult<()> {
    let mut unfinished: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() else { continue };
        let mut pieces = data.split(|&byte| byte == b'\n');
        // `split` yields at least one piece. Each piece except the last ends a line.
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            unfinished.extend_from_slice(piece);
            each_line(&unfinished)?;
            unfinished.clear();
        }
        unfinished.extend_from_slice(last);
        if unfinished.len() > LONGEST_LINE {
            return Err(too_long(LONGEST_LINE));
        }
    }
    if unfinished.is_empty() { Ok(()) } else { each_line(&unfinished) }
}

/// Returns the failure for a response that does not follow the API.
pub(crate) fn invalid_response(error: &serde_json::Error) -> VerbFailure {
    VerbFailure::failed(
        "the response of the daemon is invalid; it may be another version: restart it",
        error,
    )
}

fn broken(error: &hyper::Error) -> VerbFailure {
    VerbFailure::failed("the daemon closed the connection early: see its log", error)
}

fn too_long(limit: usize) -> VerbFailure {
    VerbFailure::plain(format_args!("the response of the daemon is longer than {limit} bytes"))
}

#[cfg(test)]
pub(super) mod tests;
