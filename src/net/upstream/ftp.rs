//! FTP (RFC 959, RFC 1738 §3.2): a request becomes a conversation with an FTP server, and its
//! result becomes a response of HTTP.
//!
//! ```text
//! GET  file       SIZE, MDTM, RETR    200, 206 (REST), 304
//! GET  directory  CWD, MLSD or LIST   200 with a page that lists it
//! PUT  file       STOR                201, 204; only if the configuration allows it
//! ```
//!
//! The path of the URL is relative to the directory of the login. Each request has a connection and
//! a login of its own; the number of connections to a server is limited as for HTTP.

mod listing;
mod session;
mod transfer;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http_body_util::BodyExt;
use hyper::body::Frame;
use hyper::header::{
    ACCEPT_RANGES, ALLOW, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    HeaderValue, LAST_MODIFIED, LOCATION, RANGE, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use wwwoffle_config::{Config, FtpTls, UrlParts};
use wwwoffle_http::caching::conditional::{self, Conditions};
use wwwoffle_http::caching::range::{RangeSelection, Ranges, Span, if_range};
use wwwoffle_url::{CanonicalUrl, LocalHost};

pub use self::listing::{Listing, ListingFormat};
use self::session::{FtpRefusal, FtpSession, Reply, text_of};
use self::transfer::{FtpTransfer, MAX_PIECES, TransferForm};
use super::answer::{Answer, AnswerBody};
use super::message::OutgoingMessage;
use super::pool::Permit;
use super::{Failure, Origin, Upstream};
use crate::base::basic::Login;
use crate::base::file_type::content_type;
use crate::base::shown;

/// The type of the pages that list directories.
const LISTING_TYPE: &str = "text/html; charset=utf-8";

/// A request for an FTP server.
struct FtpRequest<'a> {
    origin: &'a Origin,
    head: &'a Request<()>,
    config: &'a Config,
    login: Login,
    /// Whether the login has a secret.
    is_secret: bool,
    tls: FtpTls,
    may_upload: bool,
    path: FtpPath,
}

/// The path of a file or directory, relative to the directory of the login.
#[derive(Debug, PartialEq, Eq)]
struct FtpPath {
    /// One character for each byte.
    name: String,
    is_directory: bool,
}

impl FtpPath {
    /// Parses the path and query of a URL. `;type=d` at its end also means a directory (RFC 1738
    /// §3.2.2); the other types are ignored, because all files are sent as they are.
    fn parse(path: &str) -> Result<Self, Failure> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (path, kind) = match path.len().checked_sub(";type=i".len()) {
            Some(at) if path.is_char_boundary(at) => match path.split_at(at) {
                (name, kind) if kind.to_ascii_lowercase().starts_with(";type=") => (name, kind),
                _ => (path, ""),
            },
            _ => (path, ""),
        };
        let is_directory = path.is_empty() || path.ends_with('/') || kind.ends_with(['d', 'D']);
        let name: Vec<u8> = percent_decode_str(path.trim_end_matches('/')).collect();
        if name.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
            return Err(Failure::Unsendable("its path contains a line break or a null byte"));
        }
        // A path of slashes alone is the root.
        let name = if name.is_empty() && path.starts_with('/') { vec![b'/'] } else { name };
        Ok(Self { name: text_of(&name), is_directory })
    }
}

/// A response, before its body is sent.
type FtpAnswer = Response<FtpBody>;

/// A body that is not sent yet.
enum FtpBody {
    Empty,
    Text(String),
    Transfer(Box<FtpTransfer>),
}

impl From<FtpTransfer> for FtpBody {
    fn from(transfer: FtpTransfer) -> Self {
        Self::Transfer(Box::new(transfer))
    }
}

impl Upstream {
    /// Sends a request to an FTP server, and returns the result as a response of HTTP. Dropping the
    /// future, or the body, ends the session.
    pub(super) async fn ask_ftp(
        self: &Arc<Self>,
        origin: &Origin,
        message: &mut OutgoingMessage,
    ) -> Result<Answer, Failure> {
        let head = message.head().clone();
        let limits = self.limits.get();
        let permit = self.pool.permit(origin, limits.head_timeout);
        let permit = self.contention.wait(origin, message.line_position(), permit).await?;
        let config = self.dialer.config();
        let request = FtpRequest::new(origin, &head, &config)?;
        let activity = message.activity().clone();
        let conversation = async {
            match *head.method() {
                Method::GET | Method::HEAD => request.fetch(self, permit).await,
                Method::PUT if request.may_upload => request.upload(self, message).await,
                _ => Ok(request.refuse_method()),
            }
        };
        let conversation = async {
            match conversation.await {
                Ok(answer) => Ok(answer),
                Err(FtpRefusal::Reply(reply)) => Ok(request.answer_reply(&reply)),
                Err(FtpRefusal::Failed(failure)) => Err(failure),
            }
        };
        let conversation = Box::pin(self.dialer.run_if_allowed(origin, conversation));
        let answer = activity.watch(limits.head_timeout, conversation).await??;
        let (parts, body) = answer.into_parts();
        let (pieces, frames) = mpsc::channel(MAX_PIECES);
        match body {
            FtpBody::Empty => {}
            // The channel is empty, so this cannot fail.
            FtpBody::Text(text) => drop(pieces.try_send(Ok(Frame::data(text.into())))),
            FtpBody::Transfer(transfer) => self.tasks.spawn(transfer.run(pieces)),
        }
        Ok(Response::from_parts(parts, AnswerBody::piped(frames, limits.socket_timeout)))
    }
}

impl<'a> FtpRequest<'a> {
    fn new(origin: &'a Origin, head: &'a Request<()>, config: &'a Config) -> Result<Self, Failure> {
        let target = head.uri().path_and_query().map_or("/", |path| path.as_str());
        let url = format!("ftp://{origin}{target}");
        let url = CanonicalUrl::parse(&url, &LocalHost::default())
            .map_err(|_| Failure::Unsendable("its URL is invalid"))?;
        let (options, parts) = (&config.ftp_options, UrlParts::of(&url));
        let given = head.headers().get(AUTHORIZATION).and_then(Login::parse);
        let configured = || {
            let user = options.auth_username.of(&parts).as_str()?;
            let password = options.auth_password.of(&parts).reveal().unwrap_or_default();
            Some(Login { user: user.into(), password: password.into() })
        };
        let own = given.or_else(configured);
        let is_secret = own.is_some();
        let anonymous = || {
            let text = |option: &wwwoffle_config::UserName| option.as_str().unwrap_or("").into();
            Login { user: text(&options.anon_username), password: text(&options.anon_password) }
        };
        Ok(Self {
            origin,
            head,
            config,
            login: own.unwrap_or_else(anonymous),
            is_secret,
            tls: *options.tls.of(&parts),
            may_upload: *options.upload.of(&parts),
            path: FtpPath::parse(target)?,
        })
    }

    async fn open(&self, upstream: &Arc<Upstream>) -> Result<FtpSession, FtpRefusal> {
        let secrecy = (self.tls, self.is_secret);
        FtpSession::open(upstream, self.origin, &self.login, secrecy).await
    }

    async fn fetch(
        &self,
        upstream: &Arc<Upstream>,
        permit: Permit,
    ) -> Result<FtpAnswer, FtpRefusal> {
        let session = self.open(upstream).await?;
        let (secured, source) = (session.secured(), session.source());
        let mut answer = if self.path.is_directory {
            self.list(session, permit).await
        } else {
            self.retrieve(session, permit).await
        }?;
        // What a login shows is not public, wherever its server is.
        if let Some(source) = source.filter(|_| !self.is_secret) {
            answer.extensions_mut().insert(source);
        }
        if let Some(secured) = secured {
            answer.extensions_mut().insert(secured);
        }
        Ok(answer)
    }

    async fn retrieve(
        &self,
        mut session: FtpSession,
        permit: Permit,
    ) -> Result<FtpAnswer, FtpRefusal> {
        let name = &self.path.name;
        let size = session.size(name).await;
        let size = known(size)?;
        let modified = session.modified(name).await;
        let fields = self.file_fields(size.as_ref().ok().copied(), known(modified)?.ok());
        if Conditions::of(self.head.headers()).are_met_by(StatusCode::OK, &fields) {
            let mut fields = fields;
            conditional::not_modified(&mut fields);
            return Ok(answer(StatusCode::NOT_MODIFIED, fields, FtpBody::Empty));
        }
        if self.head.method() == Method::HEAD {
            return match size {
                Ok(_) => Ok(answer(StatusCode::OK, fields, FtpBody::Empty)),
                Err(reply) => self.as_directory(session, reply).await,
            };
        }
        let span = match (self.range(&fields, size.as_ref().ok().copied()), &size) {
            (RangeSelection::Nothing, Ok(size)) => {
                let range = field(&format!("bytes */{size}"));
                let fields = HeaderMap::from_iter([(CONTENT_RANGE, range)]);
                return Ok(answer(StatusCode::RANGE_NOT_SATISFIABLE, fields, FtpBody::Empty));
            }
            (RangeSelection::One(span), Ok(size)) => Some((span, *size)),
            _ => None,
        };
        let command = format!("RETR {name}");
        if let Some((span, size)) = span {
            let from = usize::try_from(span.start()).unwrap_or(usize::MAX);
            // A server without REST refuses here; then it sends the whole file.
            if let Ok(data) = known(session.receive(&command, from).await)? {
                let form = TransferForm::Range(span.len());
                let transfer = FtpTransfer { session, data, form, permit };
                let fields = partial_fields(fields, span, size);
                return Ok(answer(StatusCode::PARTIAL_CONTENT, fields, transfer.into()));
            }
        }
        match known(session.receive(&command, 0).await)? {
            Ok(data) => {
                let transfer = FtpTransfer { session, data, form: TransferForm::File, permit };
                Ok(answer(StatusCode::OK, fields, transfer.into()))
            }
            Err(reply) => self.as_directory(session, reply).await,
        }
    }

    /// Redirects to the directory of this name, or else returns the refusal of the file.
    async fn as_directory(
        &self,
        mut session: FtpSession,
        refusal: Reply,
    ) -> Result<FtpAnswer, FtpRefusal> {
        if !refusal.is_permanent() || known(session.enter(&self.path.name).await)?.is_err() {
            return Err(FtpRefusal::Reply(refusal));
        }
        let path = self.head.uri().to_string();
        // A reference that begins with two slashes would name a host (RFC 3986 §4.2).
        let dot = if path.starts_with("//") { "/." } else { "" };
        let fields = HeaderMap::from_iter([(LOCATION, field(&format!("{dot}{path}/")))]);
        Ok(answer(StatusCode::MOVED_PERMANENTLY, fields, FtpBody::Empty))
    }

    async fn list(&self, mut session: FtpSession, permit: Permit) -> Result<FtpAnswer, FtpRefusal> {
        let is_top = self.path.name.is_empty();
        if !is_top {
            session.enter(&self.path.name).await?;
        }
        let fields = HeaderMap::from_iter([(CONTENT_TYPE, field(LISTING_TYPE))]);
        if self.head.method() == Method::HEAD {
            return Ok(answer(StatusCode::OK, fields, FtpBody::Empty));
        }
        let (command, format) = if session.has("MLST") {
            ("MLSD", ListingFormat::Facts)
        } else {
            ("LIST", ListingFormat::Free)
        };
        let data = session.receive(command, 0).await?;
        let host = self.origin.to_string();
        let host = host.strip_suffix(":21").unwrap_or(&host);
        let url = format!("ftp://{host}{}", self.head.uri());
        let (listing, begin) = Listing::begin(format, &url, is_top);
        let form = TransferForm::Listing(listing, begin);
        let transfer = FtpTransfer { session, data, form, permit };
        Ok(answer(StatusCode::OK, fields, transfer.into()))
    }

    async fn upload(
        &self,
        upstream: &Arc<Upstream>,
        message: &mut OutgoingMessage,
    ) -> Result<FtpAnswer, FtpRefusal> {
        if self.path.is_directory {
            return Err(Failure::Unsendable("a directory cannot be sent").into());
        }
        let mut session = self.open(upstream).await?;
        let is_new = known(session.size(&self.path.name).await)?.is_err();
        let mut data = session.send(&self.path.name).await?;
        let mut body = message.for_http1()?.into_body();
        while let Some(frame) = body.frame().await {
            let piece = frame.map_err(Failure::RequestBody)?.into_data().unwrap_or_default();
            data.write_all(&piece).await.map_err(|error| Failure::CutShort(error.into()))?;
            message.activity().touch();
        }
        session.finish(data).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        Ok(answer(status, HeaderMap::new(), FtpBody::Empty))
    }

    /// The fields that describe a file. Its tag is strong: a file that changes has another time or
    /// another length.
    fn file_fields(&self, size: Option<u64>, modified: Option<i64>) -> HeaderMap {
        let name = self.path.name.rsplit('/').next().unwrap_or_default();
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_TYPE, field(&content_type(self.config, name)));
        if let Some(size) = size {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(size));
            fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        let seconds = modified.and_then(|seconds| u64::try_from(seconds).ok());
        if let Some(seconds) = seconds {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            fields.insert(LAST_MODIFIED, field(&httpdate::fmt_http_date(time)));
        }
        if let Some((size, seconds)) = size.zip(seconds) {
            fields.insert(ETAG, field(&format!("\"{seconds:x}-{size:x}\"")));
        }
        fields
    }

    /// The requested bytes of a file with these `fields`.
    fn range(&self, fields: &HeaderMap, size: Option<u64>) -> RangeSelection {
        let asked = self.head.headers();
        let range = asked.get(RANGE).and_then(|range| Ranges::parse(range.to_str().ok()?));
        match range.zip(size) {
            Some((range, size)) if if_range::is_satisfied(asked, fields) => range.satisfy(size),
            _ => RangeSelection::Whole,
        }
    }

    /// The response to a method that FTP lacks, or that the configuration forbids.
    fn refuse_method(&self) -> FtpAnswer {
        let allowed = if self.may_upload { "GET, HEAD, PUT" } else { "GET, HEAD" };
        let fields = HeaderMap::from_iter([(ALLOW, field(allowed))]);
        answer(StatusCode::METHOD_NOT_ALLOWED, fields, FtpBody::Empty)
    }

    /// The response for a negative reply of the server. Its text is the body.
    fn answer_reply(&self, reply: &Reply) -> FtpAnswer {
        let is_upload = self.head.method() == Method::PUT;
        let status = match reply.code {
            530 | 332 | 331 => StatusCode::UNAUTHORIZED,
            550 | 551 | 553 if is_upload => StatusCode::FORBIDDEN,
            550 | 551 | 553 => StatusCode::NOT_FOUND,
            552 => StatusCode::INSUFFICIENT_STORAGE,
            400..=499 => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_GATEWAY,
        };
        let mut fields = HeaderMap::new();
        if status == StatusCode::UNAUTHORIZED {
            let realm = format!("Basic realm=\"FTP {}\"", self.origin);
            fields.insert(WWW_AUTHENTICATE, field(&realm));
        }
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        let text = FtpBody::Text(format!("{}\n", shown::line(&reply.text)));
        answer(
            status,
            fields,
            if self.head.method() == Method::HEAD { FtpBody::Empty } else { text },
        )
    }
}

/// Separates a negative reply from a failure that ends the request.
fn known<T>(result: Result<T, FtpRefusal>) -> Result<Result<T, Reply>, Failure> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(FtpRefusal::Reply(reply)) => Ok(Err(reply)),
        Err(FtpRefusal::Failed(failure)) => Err(failure),
    }
}

fn answer(status: StatusCode, fields: HeaderMap, body: FtpBody) -> FtpAnswer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = fields;
    answer
}

fn partial_fields(mut fields: HeaderMap, span: Span, size: u64) -> HeaderMap {
    let range = format!("bytes {}-{}/{size}", span.start(), span.last());
    fields.insert(CONTENT_RANGE, field(&range));
    fields.insert(CONTENT_LENGTH, HeaderValue::from(span.len()));
    fields
}

/// A field value of text that we made. Empty if it contains a byte that no field may contain.
fn field(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_login_and_keeps_its_bytes() {
        for (path, want) in [
            ("/", Some(("", true))),
            ("/a/b%20c", Some(("a/b c", false))),
            ("/a/", Some(("a", true))),
            ("/a?b", Some(("a?b", false))),
            ("/%2Fetc/motd", Some(("/etc/motd", false))),
            ("//", Some(("/", true))),
            ("/caf%E9", Some(("caf\u{e9}", false))),
            ("/caf%C3%A9", Some(("caf\u{c3}\u{a9}", false))),
            ("/a;type=i", Some(("a", false))),
            ("/a;TYPE=D", Some(("a", true))),
            ("/a;type=", Some(("a;type=", false))),
            ("/a%0d%0ab", None),
            ("/a%00", None),
        ] {
            let parsed = FtpPath::parse(path).ok();
            let parsed = parsed.as_ref().map(|path| (path.name.as_str(), path.is_directory));
            assert_eq!(parsed, want, "{path}");
        }
    }
}
