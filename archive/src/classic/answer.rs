//! A `D` file: a response as 2.9 stored it.
//!
//! The body rarely has a coding, because 2.9 decodes those that it has requested. The length in the
//! head is that of the transferred body. A purge may have compressed the body; a word in the
//! `Pragma` field says so.

use std::io::Read;

use jiff::Timestamp;
use wwwoffle_url::CanonicalUrl;

use crate::chunked::Chunked;
use crate::expand;
use crate::files::SourceFile;
use crate::head::{self, RequestHead, ResponseHead};
use crate::item::{ArchivedBody, ArchivedExchange};
use crate::refusal::{ReadFault, classify_error};

/// The word that a purge adds to the `Pragma` field of a compressed response.
const COMPRESSED: &str = "wwwoffle-compressed";

/// The length of the longest text that gzip may make longer, in bytes.
const SHORT: u64 = 1 << 10;

/// The number of bytes that gzip adds to a body, at most.
const OVERHEAD: u64 = 32;

/// Parses the head and prepares the body. The response to a `form` is personal.
pub(super) fn read(
    url: CanonicalUrl,
    form: Option<RequestHead>,
    file: &SourceFile,
) -> Result<ArchivedExchange<'static>, ReadFault> {
    let mut input = file.reader.buffered();
    let bytes = head::read(&mut input).map_err(classify_error)?;
    let mut head = ResponseHead::parse(&bytes)?;
    if head.reason().starts_with("WWWOFFLE") {
        return Err("it is a message page of WWWOFFLE".into());
    }
    let start = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let length = file.reader.len().saturating_sub(start);
    let content = file.reader.part(start, length);
    let declared = head.fields.content_length();
    let body: Box<dyn Read> = if head.fields.has_word("pragma", COMPRESSED) {
        head.fields.remove_words("pragma", |word| word == COMPRESSED);
        head.fields.remove_words("content-encoding", |word| ["x-gzip", "gzip"].contains(&word));
        head.fields.remove("content-length");
        Box::new(expand::gzip(content.buffered()))
    } else if head.fields.has_word("transfer-encoding", "chunked") {
        head.fields.remove("content-length");
        Box::new(Chunked::new(content.buffered()))
    } else {
        let is_coded = head.fields.has("content-encoding");
        let missing = declared.map_or(0, |declared| declared.saturating_sub(length));
        // Compression by the origin has made a short body longer.
        let was_compressed = length <= SHORT
            && missing <= OVERHEAD
            && head.fields.has_word("vary", "accept-encoding");
        if missing > 0 && !is_coded && !was_compressed {
            return Err("it is incomplete".into());
        }
        head.fields.set("Content-Length", &length.to_string());
        Box::new(content.buffered())
    };
    let is_private = form.is_some() || url.user().is_some() || head.is_private();
    let when = when(&head, file.modified);
    let body = ArchivedBody::Here(body);
    Ok(ArchivedExchange { url, when, head, request: form, is_private, body })
}

/// When the response arrived: the modification time of the file, or the `Date` of the response if
/// that is earlier, because the file may have been copied.
fn when(head: &ResponseHead, modified: Option<Timestamp>) -> Timestamp {
    let date = head.fields.first("date").and_then(|value| std::str::from_utf8(value).ok());
    let date = date.and_then(|text| httpdate::parse_http_date(text.trim()).ok());
    let date = date.and_then(|date| Timestamp::try_from(date).ok());
    let date = date.filter(|date| *date >= Timestamp::UNIX_EPOCH);
    match (date, modified) {
        (Some(date), Some(modified)) => date.min(modified),
        (date, modified) => date.or(modified).unwrap_or(Timestamp::UNIX_EPOCH),
    }
}
