//! The object store: S3 over our own connections. `rusty_s3` signs the requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{HeaderMap, Method, Request, StatusCode};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use tokio::time::timeout;
use wwwoffle_url::canonicalise_host;

use super::breaker::Breaker;
use super::error::{TierError, quoted};
use super::settings::{EngineKeys, SettingsFault, TierSettings};
use super::upload::Upload;
use crate::net::context::NetContext;
use crate::net::upstream::{Answer, AnswerBody, Origin, Outbound, Reach, Scheme};

/// The time for which a signed request is valid. It bounds the difference of the clocks, too.
const SIGNED_FOR: Duration = Duration::from_secs(15 * 60);

/// The time for the removal of an object.
const DELETE_WITHIN: Duration = Duration::from_secs(10);

/// The time for one object, or one list, of a check.
const CHECK_WITHIN: Duration = Duration::from_secs(10);

/// The largest number of names in a list (Amazon S3 API, `ListObjectsV2`).
const MAX_KEYS: i64 = 1_000;

/// The longest list of names that is read, in bytes.
const MAX_LIST: usize = 4 << 20;

/// The largest error of a store that is read, in bytes.
const MAX_ERROR: usize = 16 << 10;

/// The store, for requests.
pub(super) struct ObjectStore {
    net: Arc<NetContext>,
    bucket: Bucket,
    credentials: Credentials,
    origin: Origin,
    host: HeaderValue,
    prefix: String,
    breaker: Arc<Breaker>,
}

impl ObjectStore {
    pub(super) fn new(
        net: Arc<NetContext>,
        settings: &TierSettings,
        keys: &EngineKeys,
        breaker: Arc<Breaker>,
    ) -> Result<Self, SettingsFault> {
        let endpoint = settings.endpoint.parse().map_err(|_| SettingsFault::Endpoint)?;
        let style = if settings.path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let (name, region) = (settings.bucket.clone(), settings.region.clone());
        let bucket = Bucket::new(endpoint, style, name, region);
        let bucket = bucket.map_err(|_| SettingsFault::Endpoint)?;
        let base = bucket.base_url();
        let host = base.host_str().ok_or(SettingsFault::Endpoint)?;
        let host = canonicalise_host(host.as_bytes()).map_err(|_| SettingsFault::Endpoint)?;
        let scheme = Scheme::of(base.scheme()).ok_or(SettingsFault::Endpoint)?;
        let port = base.port_or_known_default().ok_or(SettingsFault::Endpoint)?;
        let authority = base.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let field = HeaderValue::from_str(&authority).map_err(|_| SettingsFault::Endpoint)?;
        Ok(Self {
            net,
            credentials: Credentials::new(keys.access.as_str(), keys.secret.as_str()),
            origin: Origin { scheme, host, port, via: None, reach: Reach::All },
            host: field,
            prefix: settings.prefix.clone(),
            bucket,
            breaker,
        })
    }

    /// The host to which requests go, as in a canonical URL.
    pub(super) fn host(&self) -> &str {
        &self.origin.host
    }

    pub(super) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// The name of the object with this digest.
    pub(super) fn name(&self, digest: &[u8; 32]) -> String {
        let digits = hex::encode(digest);
        let first = digits.get(..2).unwrap_or_default();
        format!("{}{first}/{digits}.warc", self.prefix)
    }

    /// Writes an object. An object of this name has the same content, so it may be replaced.
    pub(super) async fn put(&self, digest: &[u8; 32], upload: Upload) -> Result<(), TierError> {
        let name = self.name(digest);
        let action = self.bucket.put_object(Some(&self.credentials), &name);
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_LENGTH, HeaderValue::from(upload.length));
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/warc"));
        let url = action.sign(SIGNED_FOR);
        let answer = self.send(Method::PUT, &url, fields, Outbound::Stored(upload.body)).await?;
        let status = answer.status();
        let text = read_error(answer.into_body()).await;
        if status.is_success() { Ok(()) } else { Err(fault(status, &text)) }
    }

    /// Begins to read an object. `None` if it does not exist.
    pub(super) async fn get(&self, digest: &[u8; 32]) -> Result<Option<AnswerBody>, TierError> {
        let name = self.name(digest);
        let action = self.bucket.get_object(Some(&self.credentials), &name);
        let url = action.sign(SIGNED_FOR);
        let answer = self.send(Method::GET, &url, HeaderMap::new(), Outbound::Empty).await?;
        let status = answer.status();
        if status == StatusCode::OK {
            return Ok(Some(answer.into_body()));
        }
        let text = read_error(answer.into_body()).await;
        if status == StatusCode::NOT_FOUND && code(&text) != "NoSuchBucket" {
            return Ok(None);
        }
        Err(fault(status, &text))
    }

    /// Removes an object, if it exists.
    pub(super) async fn delete(&self, digest: &[u8; 32]) -> Result<(), TierError> {
        let name = self.name(digest);
        let url = self.bucket.delete_object(Some(&self.credentials), &name).sign(SIGNED_FOR);
        let deleted = async {
            let sent = self.send(Method::DELETE, &url, HeaderMap::new(), Outbound::Empty);
            let (parts, body) = sent.await?.into_parts();
            Ok((parts.status, read_error(body).await))
        };
        let deleted = timeout(DELETE_WITHIN, deleted).await;
        let (status, text) = deleted.unwrap_or(Err(TierError::Timeout))?;
        let is_gone =
            status.is_success() || status == StatusCode::NOT_FOUND && code(&text) != "NoSuchBucket";
        if is_gone { Ok(()) } else { Err(fault(status, &text)) }
    }

    /// The length of an object. `None` if it does not exist.
    pub(super) async fn size(&self, digest: &[u8; 32]) -> Result<Option<u64>, TierError> {
        let name = self.name(digest);
        let url = self.bucket.head_object(Some(&self.credentials), &name).sign(SIGNED_FOR);
        let sent = self.send(Method::HEAD, &url, HeaderMap::new(), Outbound::Empty);
        let answer = timeout(CHECK_WITHIN, sent).await.unwrap_or(Err(TierError::Timeout))?;
        match answer.status() {
            StatusCode::OK => {
                let length = answer.headers().get(CONTENT_LENGTH);
                Ok(length.and_then(|value| value.to_str().ok()?.parse().ok()))
            }
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(fault(status, "")),
        }
    }

    /// Lists at most `most` objects whose names come after `from`. Returns their digests, and the
    /// name after which the list continues; empty at the end. Other names are skipped.
    pub(super) async fn list_after(
        &self,
        from: &str,
        most: i64,
    ) -> Result<(Vec<[u8; 32]>, String), TierError> {
        // The list is a GET of the bucket.
        let mut action = self.bucket.get_object(Some(&self.credentials), "");
        let query = action.query_mut();
        query.insert("list-type", "2");
        query.insert("max-keys", most.min(MAX_KEYS).to_string());
        query.insert("prefix", self.prefix.clone());
        if !from.is_empty() {
            query.insert("start-after", from.to_owned());
        }
        let url = action.sign(SIGNED_FOR);
        let listed = async {
            let sent = self.send(Method::GET, &url, HeaderMap::new(), Outbound::Empty);
            let (parts, body) = sent.await?.into_parts();
            Ok((parts.status, read_text(body, MAX_LIST).await))
        };
        let listed = timeout(CHECK_WITHIN, listed).await;
        let (status, text) = listed.unwrap_or(Err(TierError::Timeout))?;
        if !status.is_success() {
            return Err(fault(status, &text));
        }
        let names = elements(&text, "Key");
        let is_cut = elements(&text, "IsTruncated") == ["true"];
        let next = names.last().filter(|_| is_cut).map_or(String::new(), |name| (*name).to_owned());
        Ok((names.into_iter().filter_map(|name| self.digest_of(name)).collect(), next))
    }

    /// The digest in the name of an object.
    fn digest_of(&self, name: &str) -> Option<[u8; 32]> {
        let digits = name.rsplit('/').next()?.strip_suffix(".warc")?;
        let digest = hex::decode(digits).ok()?.try_into().ok()?;
        (self.name(&digest) == name).then_some(digest)
    }

    async fn send(
        &self,
        method: Method,
        url: &impl AsRef<str>,
        mut fields: HeaderMap,
        body: Outbound,
    ) -> Result<Answer, TierError> {
        let unsendable = || TierError::Engine("the URL of the object is invalid".to_owned());
        // The origin form: everything after the host.
        let path = url.as_ref().splitn(4, '/').nth(3).ok_or_else(unsendable)?;
        let mut head = Request::new(());
        *head.method_mut() = method;
        *head.uri_mut() = format!("/{path}").parse().map_err(|_| unsendable())?;
        fields.insert(HOST, self.host.clone());
        *head.headers_mut() = fields;
        let sent = self.net.upstream.send(&self.origin, head, body, None).await;
        sent.map_err(|failure| TierError::of_failure(&failure))
    }
}

/// Reads at most the first [`MAX_ERROR`] bytes of an error. An unreadable error is empty.
async fn read_error(body: AnswerBody) -> String {
    read_text(body, MAX_ERROR).await
}

/// The contents of the XML elements of this name, which have no attributes.
fn elements<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(&open).skip(1);
    parts.filter_map(|rest| rest.split_once(&close).map(|(value, _)| value)).collect()
}

/// Reads at most the first `most` bytes of a body. An unreadable body is empty.
async fn read_text(mut body: AnswerBody, most: usize) -> String {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let data = frame.into_data().unwrap_or_else(|_| Bytes::new());
        let room = most.saturating_sub(text.len());
        text.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        if room == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The code in an XML error of S3. Empty if there is none.
fn code(text: &str) -> &str {
    let rest = text.split_once("<Code>").map_or("", |(_, rest)| rest);
    rest.split_once("</Code>").map_or("", |(code, _)| code)
}

fn fault(status: StatusCode, text: &str) -> TierError {
    let code = code(text);
    let shown = quoted(if code.is_empty() { status.as_str() } else { code });
    match (status, code) {
        (_, "NoSuchBucket") => TierError::Missing("the bucket does not exist".to_owned()),
        (_, "RequestTimeTooSkewed") => {
            TierError::Engine(format!("{shown}: the clock of this node or of the store is wrong"))
        }
        (StatusCode::PAYLOAD_TOO_LARGE, _) | (_, "EntityTooLarge" | "InvalidArgument") => {
            TierError::Refused(shown)
        }
        (StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _) => TierError::Credentials(shown),
        _ => TierError::Engine(shown),
    }
}
