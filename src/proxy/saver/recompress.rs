//! Recompresses pictures for the client: `recompress-above`. The stored copy stays unchanged.
//!
//! The amended response has a tag of its own, which names the quality. A client that sends this tag
//! has the amended picture, so the tag counts as that of the original.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::{Body as HttpBody, Frame};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, RANGE, VARY,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::debug;
use wwwoffle_config::{Config, SizeLimit, UrlParts};
use wwwoffle_url::CanonicalUrl;

use super::super::amend::OriginResponseMark;
use super::super::ask::ClientHead;
use super::super::body::{self, Body, WholeBody};
use super::super::modify::OF_THE_BODY;
use super::SaverKind;
use super::picture::{PictureFormat, recompress};
use crate::net::upstream::BoxError;
use crate::proxy::context::ProxyContext;
use wwwoffle_http::caching::control::{RequestControl, ResponseControl};
use wwwoffle_http::media_type::content_essence;

/// Maximum length of a picture in bytes. A longer one is sent unchanged.
const MAX_PICTURE: u64 = 16 * 1024 * 1024;

/// Maximum number of bytes of all pictures that are held in memory, until their clients have them.
const MAX_HELD: usize = 64 * 1024 * 1024;

/// Maximum number of pictures that are recompressed at the same time. The decoder of one takes up to
/// 160 MB.
const AT_ONCE: usize = 2;

/// The longest wait for memory, for the bytes of a picture, and for a turn. After each of them, the
/// picture is sent unchanged.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The room for pictures that are being recompressed.
#[derive(Debug)]
pub struct RecompressionRoom {
    /// The bytes of the pictures.
    bytes: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Default for RecompressionRoom {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { bytes: semaphore(MAX_HELD), turns: semaphore(AT_ONCE) }
    }
}

/// The recompression of the picture in one response.
#[derive(Clone, Debug)]
pub(in crate::proxy) struct Recompression {
    /// The length above which the picture is recompressed.
    above: u64,
    quality: u8,
    host: String,
    /// Whether the client has sent a tag of an amended picture.
    has_own_tag: bool,
}

impl Recompression {
    /// The recompression for a request of a page for a picture. Replaces the tags of amended
    /// pictures in its fields by those of the originals. `None` if no rule applies. A client that
    /// reloads the page without its own cache (`no-cache`) gets the originals.
    pub(in crate::proxy) fn of(
        config: &Config,
        url: &CanonicalUrl,
        head: &mut ClientHead,
    ) -> Option<Self> {
        let (options, parts) = (&config.data_saver, UrlParts::of(url));
        let SizeLimit::At(above) = *options.recompress_above.of(&parts) else { return None };
        let control = RequestControl::of(&head.fields);
        let applies = head.method == Method::GET
            && head.audience.saver_kind() == Some(SaverKind::Picture)
            && !head.fields.contains_key(RANGE)
            && !control.no_transform
            && !control.no_cache;
        if !applies {
            return None;
        }
        let quality = options.picture_quality.of(&parts).number();
        let has_own_tag = restore_tags(&mut head.fields, &suffix(quality));
        Some(Self { above: above.bytes(), quality, host: url.host().to_owned(), has_own_tag })
    }

    /// Recompresses the picture of a response. The response stays as it is if it has no such
    /// picture, or nothing is gained.
    ///
    /// If the future is dropped, the picture is discarded. A running recompression goes on to its
    /// end.
    pub(in crate::proxy) async fn apply(
        self,
        context: &Arc<ProxyContext>,
        mut response: Response<Body>,
    ) -> Response<Body> {
        if response.status() == StatusCode::NOT_MODIFIED && self.has_own_tag {
            mark(response.headers_mut(), self.quality);
        }
        let Some((format, length)) = self.picture(&response) else { return response };
        let room = &context.traffic.recompressions;
        let held = Arc::clone(&room.bytes).acquire_many_owned(length);
        let Ok(Ok(held)) = timeout(MAX_WAIT, held).await else { return response };
        let (mut parts, original) = response.into_parts();
        let picture = match read(original, length).await {
            Ok(picture) => picture,
            Err(original) => return Response::from_parts(parts, original),
        };
        let turn = timeout(MAX_WAIT, Arc::clone(&room.turns).acquire_owned());
        let Ok(Ok(turn)) = turn.await else {
            return Response::from_parts(parts, held_body(picture, held));
        };
        let (bytes, quality) = (picture.clone(), self.quality);
        // If the client leaves, the recompression goes on, with its memory and its turn.
        let run = move || {
            let new = recompress(&bytes, format, quality);
            drop(turn);
            (new, held)
        };
        // A decoder that panics counts as one that refuses the picture.
        let Ok((new, held)) = spawn_blocking(run).await else {
            return Response::from_parts(parts, body::from_bytes(picture));
        };
        let Some(new) = new else {
            return Response::from_parts(parts, held_body(picture, held));
        };
        let saved = picture.len().saturating_sub(new.len());
        debug!(host = self.host, saved, "a picture is recompressed");
        let account = context.storage.statistics.account(&self.host);
        account.count_unsent(u64::try_from(saved).unwrap_or_default());
        amend(&mut parts.headers, self.quality);
        parts.extensions.remove::<WholeBody>();
        Response::from_parts(parts, held_body(new.into(), held))
    }

    /// The format and the length of the picture in a response. `None` if it is not recompressed.
    fn picture(&self, response: &Response<Body>) -> Option<(PictureFormat, u32)> {
        let fields = response.headers();
        let may_change = response.extensions().get::<OriginResponseMark>().is_some()
            && response.status() == StatusCode::OK
            && !fields.contains_key(CONTENT_ENCODING)
            && !ResponseControl::of(fields).no_transform;
        let text = |name| fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let declared = || text(CONTENT_LENGTH)?.parse().ok();
        let length = response.body().size_hint().exact().or_else(declared)?;
        let is_meant = may_change && length > self.above && length <= MAX_PICTURE;
        let format = PictureFormat::of_type(&content_essence(fields)).filter(|_| is_meant)?;
        Some((format, u32::try_from(length).ok()?))
    }
}

/// A picture in memory, until its client has it.
struct HeldPicture {
    bytes: Bytes,
    #[expect(dead_code, reason = "it is there to be dropped")]
    held: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldPicture {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that holds its memory until it is dropped.
fn held_body(bytes: Bytes, held: OwnedSemaphorePermit) -> Body {
    body::from_bytes(Bytes::from_owner(HeldPicture { bytes, held }))
}

/// Reads the body of a picture.
///
/// # Errors
///
/// The whole body, if it does not arrive in time, does not have this length, breaks off or has
/// trailers.
async fn read(mut body: Body, length: u32) -> Result<Bytes, Body> {
    let until = Instant::now() + MAX_WAIT;
    let mut frames: Vec<Result<Frame<Bytes>, BoxError>> = Vec::new();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (mut left, mut is_plain) = (length, true);
    while is_plain {
        let frame = match timeout_at(until, body.frame()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(_) => {
                is_plain = false;
                break;
            }
        };
        let data = frame.as_ref().ok().and_then(Frame::data_ref);
        let rest = data.and_then(|data| left.checked_sub(data.len()));
        is_plain = rest.is_some();
        left = rest.unwrap_or(left);
        frames.push(frame);
    }
    if !is_plain || left > 0 {
        let body = stream::iter(frames).chain(BodyStream::new(body));
        return Err(StreamBody::new(body).boxed_unsync());
    }
    let mut picture = BytesMut::with_capacity(length);
    for frame in frames.into_iter().flatten() {
        picture.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
    }
    Ok(picture.freeze())
}

/// Adapts the fields of a response to the amended picture.
fn amend(fields: &mut HeaderMap, quality: u8) {
    let tag = fields.get(ETAG).cloned();
    for name in OF_THE_BODY {
        fields.remove(name);
    }
    fields.extend(tag.map(|tag| (ETAG, tag)));
    mark(fields, quality);
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("image/jpeg"));
}

/// Gives a response the tag of the amended picture, and the fields of the request that decide
/// whether it is amended: a person who opens the picture itself gets the original.
fn mark(fields: &mut HeaderMap, quality: u8) {
    fields.append(VARY, HeaderValue::from_static("Accept, Sec-Fetch-Dest"));
    let Some(tag) = fields.get(ETAG).and_then(|tag| tag.to_str().ok()) else { return };
    let amended = tag.strip_suffix('"').map(|start| format!("{start}{}", suffix(quality)));
    if let Some(amended) = amended.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        fields.insert(ETAG, amended);
    }
}

/// The end of the tags of amended pictures.
fn suffix(quality: u8) -> String {
    format!("-wwwoffle-{quality}\"")
}

/// Removes `suffix` from the tags of `If-None-Match`. Returns whether any had it.
fn restore_tags(fields: &mut HeaderMap, suffix: &str) -> bool {
    let restored = |value: &HeaderValue| {
        let text = value.to_str().ok().filter(|text| text.contains(suffix))?;
        HeaderValue::from_str(&text.replace(suffix, "\"")).ok()
    };
    let values: Vec<_> = fields.get_all(IF_NONE_MATCH).iter().cloned().collect();
    if !values.iter().any(|value| restored(value).is_some()) {
        return false;
    }
    fields.remove(IF_NONE_MATCH);
    for value in values {
        fields.append(IF_NONE_MATCH, restored(&value).unwrap_or(value));
    }
    true
}
