//! Resumes a body that broke off, and checks whether the later bytes belong to the same body.
//!
//! Two representations are never mixed. A body is continued only if its origin sent a strong
//! validator with it and sends the same validator with the later bytes (RFC 9110 §13.1.5, §14.2,
//! §15.3.7). The later bytes must have the same content coding and total length, and start at the
//! first missing byte. In any other case the body is requested again from the start, or the
//! download ends.

use std::time::{Duration, SystemTime};

use hyper::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use hyper::{HeaderMap, Request, StatusCode};

use wwwoffle_spool::MAX_VALIDATOR;

use crate::net::upstream::{Failure, NewConnection};
use wwwoffle_http::caching::range::ContentRange;
use wwwoffle_http::caching::range::if_range::{self, single};
use wwwoffle_http::fields::has_member;

/// The longest pause between two attempts.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The properties of a response that identify its body when the missing bytes are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BodyValidator {
    validator: HeaderValue,
    /// The name of the body's segments: the validator and the coding. The coding is included
    /// because some origins use one tag for all codings of a page.
    name: String,
    /// The entity tag, which the later response must repeat unchanged.
    tag: Option<HeaderValue>,
    date: Option<HeaderValue>,
    coding: Vec<HeaderValue>,
    /// The length of the whole body in bytes, if it is known.
    length: Option<u64>,
}

/// The relation of a response to the requested missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestMatch {
    /// The missing bytes, or a part of them. Both fields are `None` for a whole body of unknown
    /// length.
    Joins {
        /// The end of the received range, exclusive.
        end: Option<u64>,
        /// The length of the whole body.
        length: Option<u64>,
    },
    /// Another whole body.
    Afresh,
    /// Unusable, and a retry would not help: the whole body must be requested without a range.
    Unfit,
    /// A temporary failure of the origin.
    Trouble,
    /// The rest is not available.
    Nothing,
}

impl BodyValidator {
    /// The validator of a response with these fields. `None` if missing bytes of its body cannot be
    /// requested: it is not a complete `200`, refuses ranges, or has no usable strong validator.
    pub(super) fn of(status: StatusCode, fields: &HeaderMap) -> Option<Self> {
        if status != StatusCode::OK
            || fields.contains_key(CONTENT_RANGE)
            || has_member(fields, &ACCEPT_RANGES, "none")
        {
            return None;
        }
        // RFC 9110 §13.1.5: a weak tag is not sufficient, and a date only if there is no tag.
        let name = if_range::mark(fields).filter(|name| name.len() <= MAX_VALIDATOR)?;
        Some(Self {
            validator: HeaderValue::from_str(if_range::validator(fields)?).ok()?,
            name,
            tag: one(fields, &ETAG).cloned(),
            date: one(fields, &LAST_MODIFIED).cloned(),
            coding: all(fields, &CONTENT_ENCODING),
            length: one(fields, &CONTENT_LENGTH).and_then(number),
        })
    }

    /// The name under which a segment of the body is stored.
    pub(super) fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }

    /// Whether the validator is an entity tag. A date is the same for the responses to several
    /// persons.
    pub(super) fn is_tag(&self) -> bool {
        self.tag.is_some()
    }

    /// The length of the whole body in bytes, if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Makes the request ask for the rest of the body from byte `from` on, or for the whole body if
    /// `from` is 0. The request uses a new connection, because the old one broke off and its
    /// leftover bytes must not be appended to this body.
    pub(super) fn add_range(&self, request: &mut Request<()>, from: u64) {
        request.extensions_mut().insert(NewConnection);
        let fields = request.headers_mut();
        fields.remove(RANGE);
        fields.remove(IF_RANGE);
        if from > 0
            && let Ok(range) = HeaderValue::from_str(&format!("bytes={from}-"))
        {
            fields.insert(RANGE, range);
            fields.insert(IF_RANGE, self.validator.clone());
        }
    }

    /// Evaluates the response to a request for the rest of the body from byte `from` on.
    pub(super) fn judge(&self, status: StatusCode, fields: &HeaderMap, from: u64) -> RestMatch {
        match status.as_u16() {
            200 if from == 0 && Self::of(status, fields).is_some_and(|other| self.is(&other)) => {
                let length = one(fields, &CONTENT_LENGTH).and_then(number);
                RestMatch::Joins { end: length, length }
            }
            200 => RestMatch::Afresh,
            206 if self.has_same_fields(fields) && !is_multipart(fields) => {
                self.judge_range(fields, from)
            }
            206 | 412 | 416 => RestMatch::Unfit,
            408 | 421 | 425 | 429 | 500.. => RestMatch::Trouble,
            _ => RestMatch::Nothing,
        }
    }

    /// Records the length that the later response has declared, unless it is known already.
    pub(super) fn learn(&mut self, length: Option<u64>) {
        self.length = self.length.or(length);
    }

    fn is(&self, other: &Self) -> bool {
        let same_length = self.length.is_none_or(|length| other.length == Some(length));
        same_length
            && Self { length: None, ..self.clone() } == Self { length: None, ..other.clone() }
    }

    fn has_same_fields(&self, fields: &HeaderMap) -> bool {
        // RFC 9110 §15.3.7: a `206` may omit the date if it has a tag.
        let date = one(fields, &LAST_MODIFIED);
        one(fields, &ETAG) == self.tag.as_ref()
            && (date == self.date.as_ref() || (date.is_none() && self.tag.is_some()))
            && all(fields, &CONTENT_ENCODING) == self.coding
    }

    fn judge_range(&self, fields: &HeaderMap, from: u64) -> RestMatch {
        // Without the total length the end of the body would be unknown.
        let range = single(fields, &CONTENT_RANGE).map(ContentRange::parse);
        let Some(Ok(ContentRange::Part { span, complete: Some(length) })) = range else {
            return RestMatch::Unfit;
        };
        if span.start() != from || self.length.is_some_and(|known| known != length) {
            return RestMatch::Unfit;
        }
        RestMatch::Joins { end: Some(span.end()), length: Some(length) }
    }
}

/// The value of a field that must not repeat; `None` if it is missing or repeated.
fn one<'fields>(fields: &'fields HeaderMap, name: &HeaderName) -> Option<&'fields HeaderValue> {
    let mut values = fields.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

fn all(fields: &HeaderMap, name: &HeaderName) -> Vec<HeaderValue> {
    fields.get_all(name).iter().cloned().collect()
}

/// Parses a number of digits only: no sign, no space.
fn number(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Whether the content is several ranges, with delimiters between them.
fn is_multipart(fields: &HeaderMap) -> bool {
    let kind = single(fields, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    kind.starts_with("multipart/byteranges")
}

/// Whether a body that ended with `failure` may be resumed: the connection to its origin broke, and
/// the bytes so far are sound.
pub(super) fn may_go_on(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::CutShort(_)
            | Failure::Alert(_)
            | Failure::Silent
            | Failure::Stalled
            | Failure::GivenUp(_)
            // Over HTTP/2 a body that ends too early violates the protocol.
            | Failure::BreaksHttp2(_)
    )
}

/// Whether the bytes of a body that ended with `failure` are worth saving: nothing indicates that
/// they differ from the bytes that the origin sent.
pub(super) fn is_worth_saving(failure: &Failure) -> bool {
    !matches!(
        failure,
        Failure::Malformed(_)
            | Failure::Wrong(_)
            | Failure::Changed
            | Failure::Ours
            | Failure::RequestBody(_)
            | Failure::Unsendable(_)
    )
}

/// The pause before the `attempt`th consecutive attempt without progress. The pause doubles with
/// each attempt, up to [`MAX_PAUSE`].
pub(super) fn pause(first: Duration, attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(MAX_PAUSE)
}

/// The time that is `pause` later than `now`.
pub(super) fn time_after(now: SystemTime, pause: Duration) -> SystemTime {
    now.checked_add(pause).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
            fields.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        fields
    }

    const OLD: &str = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";

    #[test]
    fn only_a_strong_validator_marks_a_body() {
        let young = format!("{OLD}\nDate: Sun, 06 Nov 1994 08:50:36 GMT");
        let old = format!("{OLD}\nDate: Sun, 06 Nov 1994 08:50:37 GMT");
        for (status, given, want) in [
            (200, "ETag: \"a\"", Some("\"a\"")),
            (200, "ETag: W/\"a\"", None),
            (200, "ETag: \"a\"\nETag: \"b\"", None),
            (200, "ETag: bare", None),
            (200, "", None),
            (200, OLD, None),
            (200, &young, None),
            (200, &old, Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            (200, &format!("{old}\nETag: W/\"a\""), None),
            (200, &format!("{young}\nETag: \"a\""), Some("\"a\"")),
            (200, "Last-Modified: long ago\nDate: Sun, 06 Nov 1994 08:50:37 GMT", None),
            (200, "ETag: \"a\"\nAccept-Ranges: none", None),
            (200, "ETag: \"a\"\nContent-Range: bytes 0-1/2", None),
            (203, "ETag: \"a\"", None),
            (206, "ETag: \"a\"", None),
            (404, "ETag: \"a\"", None),
        ] {
            let mark = BodyValidator::of(StatusCode::from_u16(status).unwrap(), &fields(given));
            let got = mark.map(|mark| mark.validator.to_str().unwrap().to_owned());
            assert_eq!(got.as_deref(), want, "{status} {given}");
        }
    }

    #[test]
    fn a_resumption_requests_the_first_missing_byte() {
        let mark = BodyValidator::of(StatusCode::OK, &fields("ETag: \"a\"")).unwrap();
        let mut request = Request::new(());
        *request.headers_mut() = fields("Accept: */*\nRange: bytes=5-6\nIf-Range: \"old\"");
        mark.add_range(&mut request, 7);
        assert!(request.extensions().get::<NewConnection>().is_some());
        assert_eq!(*request.headers(), fields("Accept: */*\nRange: bytes=7-\nIf-Range: \"a\""));
        mark.add_range(&mut request, 0);
        assert_eq!(
            *request.headers(),
            fields("Accept: */*"),
            "all of it is asked for without a condition"
        );
    }

    /// Rows: the fields of the first response, the status and the fields of the next one, the first
    /// requested byte, the expected result.
    #[test]
    fn only_the_rest_of_the_same_body_is_appended() {
        let first = "ETag: \"a\"\nContent-Length: 10";
        let joins = |end, length| RestMatch::Joins { end: Some(end), length: Some(length) };
        let tagged = |range: &str| format!("ETag: \"a\"\nContent-Range: {range}");
        for (first, status, rest, from, want) in [
            (first, 206, &*tagged("bytes 4-9/10"), 4, joins(10, 10)),
            (first, 206, &tagged("Bytes 4-9/10"), 4, joins(10, 10)),
            (first, 206, &tagged("bytes 4-6/10"), 4, joins(7, 10)),
            (first, 206, &tagged("bytes 0-9/10"), 0, joins(10, 10)),
            ("ETag: \"a\"", 206, &tagged("bytes 4-9/10"), 4, joins(10, 10)),
            // Another start, another length, or an invalid range.
            (first, 206, &tagged("bytes 3-9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 5-9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-10/11"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-9/*"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-10/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-3/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes +4-9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes -9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes */10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("items 4-9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-9/10\nContent-Range: bytes 4-9/10"), 4, RestMatch::Unfit),
            (first, 206, &tagged("bytes 4-99999999999999999999/10"), 4, RestMatch::Unfit),
            (first, 206, "ETag: \"a\"", 4, RestMatch::Unfit),
            // Another validator, or none, as from an origin that ignores `If-Range`.
            (first, 206, "ETag: \"b\"\nContent-Range: bytes 4-9/10", 4, RestMatch::Unfit),
            (first, 206, "ETag: W/\"a\"\nContent-Range: bytes 4-9/10", 4, RestMatch::Unfit),
            (first, 206, "Content-Range: bytes 4-9/10", 4, RestMatch::Unfit),
            // The delimiters of a multipart body are not content.
            (
                first,
                206,
                "ETag: \"a\"\nContent-Type: Multipart/byteranges; boundary=b\nContent-Range: bytes 4-9/10",
                4,
                RestMatch::Unfit,
            ),
            // Another coding.
            (
                first,
                206,
                "ETag: \"a\"\nContent-Encoding: gzip\nContent-Range: bytes 4-9/10",
                4,
                RestMatch::Unfit,
            ),
            (
                "ETag: \"a\"\nContent-Encoding: gzip",
                206,
                &tagged("bytes 4-9/10"),
                4,
                RestMatch::Unfit,
            ),
            // A whole body fits only if no byte has arrived before.
            (first, 200, first, 0, joins(10, 10)),
            (first, 200, "ETag: \"a\"\nContent-Length: 11", 0, RestMatch::Afresh),
            (first, 200, "ETag: \"b\"\nContent-Length: 10", 0, RestMatch::Afresh),
            ("ETag: \"a\"", 200, "ETag: \"a\"", 0, RestMatch::Joins { end: None, length: None }),
            (first, 200, first, 4, RestMatch::Afresh),
            (first, 200, "", 4, RestMatch::Afresh),
            // These responses do not have the body of the resource.
            (first, 416, "Content-Range: bytes */3", 4, RestMatch::Unfit),
            (first, 503, "", 4, RestMatch::Trouble),
            (first, 429, "", 4, RestMatch::Trouble),
            (first, 302, "Location: /", 4, RestMatch::Nothing),
            (first, 304, "", 4, RestMatch::Nothing),
            (first, 403, "", 4, RestMatch::Nothing),
            (first, 404, "", 4, RestMatch::Nothing),
        ] {
            let mark = BodyValidator::of(StatusCode::OK, &fields(first)).unwrap();
            let got = mark.judge(StatusCode::from_u16(status).unwrap(), &fields(rest), from);
            assert_eq!(got, want, "{first:?} then {status} {rest:?} from {from}");
        }
    }

    #[test]
    fn a_dated_body_is_joined_by_its_date_and_no_new_tag() {
        let first = format!("{OLD}\nDate: Mon, 07 Nov 1994 08:49:37 GMT");
        let mark = BodyValidator::of(StatusCode::OK, &fields(&first)).unwrap();
        let judge = |more: &str| {
            let rest = fields(&format!("{more}\nContent-Range: bytes 4-9/10"));
            mark.judge(StatusCode::PARTIAL_CONTENT, &rest, 4)
        };
        assert!(matches!(judge(OLD), RestMatch::Joins { .. }));
        assert_eq!(judge(""), RestMatch::Unfit);
        assert_eq!(judge(&format!("{OLD}\nETag: \"a\"")), RestMatch::Unfit);
        assert_eq!(judge("Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"), RestMatch::Unfit);
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let pauses: Vec<_> =
            (1..=8).map(|attempt| pause(Duration::from_secs(1), attempt).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(Duration::from_secs(1), usize::MAX), MAX_PAUSE);
    }

    #[test]
    fn only_transport_failures_are_resumed() {
        assert!(may_go_on(&Failure::Stalled) && may_go_on(&Failure::CutShort("reset".into())));
        assert!(!may_go_on(&Failure::Wrong("it is longer than announced")));
        assert!(!may_go_on(&Failure::Abandoned) && !may_go_on(&Failure::Ours));
    }
}
