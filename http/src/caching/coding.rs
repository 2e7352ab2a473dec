//! Content codings: which ones to request from origins, and how to deliver a response to a client.
//!
//! Origins are asked for all codings that we can decode, whatever the client accepts, so one stored
//! copy serves every client. A client that accepts the coding gets the stored bytes. Other clients
//! get a decoded body. For a request with `no-transform` or a range, origins are asked only for
//! those of our codings that the client accepts, because we must not decode the response:
//! `no-transform` forbids it, and a range counts bytes of the coded body. A request whose response
//! is not stored keeps the client's own `Accept-Encoding`.
//!
//! A response with `no-transform` is sent unchanged to clients that accept its coding. For any
//! other client, the resource is requested again with the codings that this client accepts, and the
//! new response replaces the stored one. A response in a coding that we cannot decode is sent
//! unchanged to all clients, because a second request would bring the same coding.

use http::HeaderMap;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG,
    HeaderName, HeaderValue, VARY,
};

use super::control::{RequestControl, ResponseControl};
use crate::decoding::{Coding, MAX_LAYERS};
use crate::media_type::content_essence;

/// The codings requested from origins, in the order browsers use, because some origins compare the
/// text of the field. There are no weights: we can decode whichever coding an origin chooses.
pub const OUR_CODINGS: &str = "gzip, deflate, br, zstd";

/// The maximum number of members of `Accept-Encoding` that are read. Fewer codings exist.
const MAX_MEMBERS: usize = 64;

/// The maximum number of members of `Content-Encoding` that are read, including empty ones and
/// `identity`.
const MAX_CODINGS: usize = 16;

/// Digest fields of the coded body (RFC 9530, RFC 3230, RFC 1864). The digest of the selected
/// representation covers the coding too (RFC 9530 §3).
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// Fields that offer dictionaries for codings we do not request (RFC 9842 §2.2, §2.3).
const DICTIONARIES: [&str; 2] = ["available-dictionary", "dictionary-id"];

/// The codings that a client accepts, from its `Accept-Encoding` (RFC 9110 §12.5.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCodings {
    /// The name of each coding, and whether the client accepts it. `None` if the field is missing.
    members: Option<Vec<(String, bool)>>,
}

impl AcceptedCodings {
    /// Parses the field. Unreadable members are ignored, as if they were missing. If a name is
    /// listed twice, a refusal takes precedence.
    #[must_use]
    pub fn of(request: &HeaderMap) -> Self {
        if !request.contains_key(ACCEPT_ENCODING) {
            return Self { members: None };
        }
        let members = members(request, &ACCEPT_ENCODING).take(MAX_MEMBERS).filter_map(|member| {
            let (name, parameter) = match member.split_once(';') {
                Some((name, parameter)) => (name, Some(parameter)),
                None => (member, None),
            };
            let is_taken = parameter.map_or(Some(true), has_positive_weight)?;
            Some((plain_name(name.trim()), is_taken))
        });
        Self { members: Some(members.collect()) }
    }

    /// Whether the client accepts the coding. By RFC 9110 §12.5.3, a missing field means any
    /// coding. But many clients that send no field cannot decode any coding, so a missing field
    /// counts as accepting none.
    #[must_use]
    pub fn accepts(&self, name: &str) -> bool {
        let name = plain_name(name);
        let members = self.members.as_deref().unwrap_or_default();
        let said = |wanted: &str| {
            let mut all = members.iter().filter(|(found, _)| found == wanted).peekable();
            all.peek().is_some().then(|| all.all(|(_, is_taken)| *is_taken))
        };
        said(&name).or_else(|| said("*")).unwrap_or(name == "identity")
    }

    /// The codings that we can decode and the client accepts, as a field value: `identity` if there
    /// are none. If the client refuses uncoded bodies, the value ends in `identity;q=0`.
    fn of_ours(&self) -> HeaderValue {
        let mut taken: Vec<_> = OUR_CODINGS.split(", ").filter(|name| self.accepts(name)).collect();
        if !self.accepts("identity") {
            taken.push("identity;q=0");
        } else if taken.is_empty() {
            taken.push("identity");
        }
        HeaderValue::from_str(&taken.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static("identity"))
    }

    /// Like [`Self::accepts`], but always true for `identity`, which does not change a body.
    fn accepts_layer(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("identity") || self.accepts(name)
    }
}

/// The name in lower case; an alias is replaced by the usual name (RFC 9110 §8.4.1).
fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "x-gzip" => "gzip".to_owned(),
        "x-compress" => "compress".to_owned(),
        _ => name,
    }
}

/// Whether a weight is above zero; `None` if the weight is invalid (RFC 9110 §12.4.2).
fn has_positive_weight(parameter: &str) -> Option<bool> {
    let (name, value) = parameter.split_once('=')?;
    let (whole, decimals) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    let is_weight = name.trim().eq_ignore_ascii_case("q")
        && decimals.len() <= 3
        && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let is_nothing = decimals.bytes().all(|byte| byte == b'0');
    match whole {
        "0" if is_weight => Some(!is_nothing),
        "1" if is_weight && is_nothing => Some(true),
        _ => None,
    }
}

/// The non-empty members of a list field. A line that is not text counts as an unknown member.
fn members<'a>(fields: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let text = fields.get_all(name).iter().map(|value| value.to_str().unwrap_or("\u{fffd}"));
    text.flat_map(|text| text.split(',')).map(str::trim).filter(|member| !member.is_empty())
}

/// The codings of a body, in the order in which they were applied. `None` if one of them cannot be
/// decoded or there are too many.
fn codings(answer: &HeaderMap) -> Option<Vec<Coding>> {
    let mut named = members(answer, &CONTENT_ENCODING);
    let mut codings = Vec::new();
    for name in named.by_ref().take(MAX_CODINGS) {
        if !name.eq_ignore_ascii_case("identity") {
            codings.push(Coding::parse(name)?);
        }
    }
    (named.next().is_none() && codings.len() <= MAX_LAYERS).then_some(codings)
}

/// Whether a body has any coding.
fn is_coded(answer: &HeaderMap) -> bool {
    members(answer, &CONTENT_ENCODING).any(|name| !name.eq_ignore_ascii_case("identity"))
}

/// Whether the media type already names the coding. Then the body is a compressed file that its
/// server also marks as coded, and decoding would make the content differ from its file name.
fn is_file_of(coding: Coding, answer: &HeaderMap) -> bool {
    let kind = content_essence(answer);
    let names: &[&str] = match coding {
        Coding::Gzip => &["application/gzip", "application/x-gzip", "application/x-gunzip"],
        Coding::Zstd => &["application/zstd", "application/x-zstd"],
        Coding::Brotli => &["application/brotli", "application/x-brotli"],
        Coding::Deflate => &[],
    };
    names.contains(&kind.as_str())
}

/// The handling of content codings for one request and its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingTerms {
    accepted: AcceptedCodings,
    change: BodyChange,
    is_file: bool,
    asks: RequestedCodings,
    /// Whether the body will be rewritten. Then the client gets an uncoded body wherever changes
    /// are allowed.
    undoes_all: bool,
}

/// The codings that are requested from the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestedCodings {
    /// All codings that we can decode.
    Ours,
    /// Those of our codings that the client accepts. The response is stored and must be readable
    /// for other clients too.
    OursThatItTakes,
    /// The client's own `Accept-Encoding`, unchanged.
    ItsOwn,
}

/// The rule for decoding a body before it is sent to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyChange {
    /// The request forbids decoding.
    Forbidden,
    /// Decoding is allowed, unless the response forbids it.
    Allowed,
    /// Decoding is always allowed, because our own program reads the body.
    AtTheEnd,
}

impl CodingTerms {
    /// The handling for a request. `asks_ours` is true for a GET or HEAD whose stored response
    /// serves other clients too. `is_file` is true if the URL names a compressed file.
    #[must_use]
    pub fn of(request: &HeaderMap, asks_ours: bool, is_file: bool) -> Self {
        // RFC 9111 §5.2.1.6.
        let forbidden = RequestControl::of(request).no_transform;
        let change = if forbidden { BodyChange::Forbidden } else { BodyChange::Allowed };
        let asks = match asks_ours {
            true if forbidden => RequestedCodings::OursThatItTakes,
            true => RequestedCodings::Ours,
            false => RequestedCodings::ItsOwn,
        };
        Self { accepted: AcceptedCodings::of(request), change, is_file, asks, undoes_all: false }
    }

    /// The handling for a body that this program reads itself. No coding is accepted, so `deliver`
    /// decodes the body if it can.
    #[must_use]
    pub fn of_a_reader() -> Self {
        let accepted = AcceptedCodings::default();
        let (change, asks) = (BodyChange::AtTheEnd, RequestedCodings::ItsOwn);
        Self { accepted, change, is_file: false, asks, undoes_all: false }
    }

    /// Whether the origin is asked for all codings that we can decode.
    #[must_use]
    pub fn requests_all_codings(&self) -> bool {
        self.asks == RequestedCodings::Ours
    }

    /// Makes `deliver` choose an uncoded body wherever changes are allowed.
    pub fn undo_all(&mut self) {
        self.undoes_all = true;
    }

    /// Limits the codings requested from the origin to those that the client accepts.
    pub fn use_client_codings(&mut self) {
        if self.asks == RequestedCodings::Ours {
            self.asks = RequestedCodings::OursThatItTakes;
        }
    }

    /// Removes the fields that select codings we do not request, so that one response serves all
    /// clients. Does nothing if the client's own `Accept-Encoding` is sent.
    pub fn strip(&self, request: &mut HeaderMap) {
        if self.asks != RequestedCodings::ItsOwn {
            for name in DICTIONARIES {
                request.remove(name);
            }
        }
    }

    /// Sets `Accept-Encoding` to the requested codings, unless the client's own field is sent.
    pub fn write_accept_encoding(&self, request: &mut HeaderMap) {
        let value = match self.asks {
            RequestedCodings::Ours => HeaderValue::from_static(OUR_CODINGS),
            RequestedCodings::OursThatItTakes => self.accepted.of_ours(),
            RequestedCodings::ItsOwn => return,
        };
        request.insert(ACCEPT_ENCODING, value);
    }

    /// Whether the client accepts a response, or a part of one, in its current coding.
    #[must_use]
    pub fn accepts_unchanged(&self, answer: &HeaderMap) -> bool {
        members(answer, &CONTENT_ENCODING).all(|name| self.accepted.accepts_layer(name))
    }

    /// Decides how a response is delivered to this client.
    #[must_use]
    pub fn deliver(&self, status: StatusCode, answer: &HeaderMap) -> Delivery {
        let is_part = status == StatusCode::PARTIAL_CONTENT || answer.contains_key(CONTENT_RANGE);
        if !is_coded(answer) || is_part || self.is_file {
            return Delivery::AsItIs;
        }
        let codings = codings(answer);
        if let Some([coding]) = codings.as_deref()
            && is_file_of(*coding, answer)
        {
            return Delivery::AsItIs;
        }
        let may_change = match self.change {
            BodyChange::Forbidden => false,
            // RFC 9111 §5.2.2.6.
            BodyChange::Allowed => !ResponseControl::of(answer).no_transform,
            BodyChange::AtTheEnd => true,
        };
        let is_taken = self.accepts_unchanged(answer);
        match codings {
            Some(all) if self.undoes_all && may_change => {
                Delivery::Decoded { undone: all.into_iter().rev().collect(), left: Vec::new() }
            }
            Some(_) if is_taken && may_change => Delivery::AsKept,
            _ if is_taken => Delivery::AsItIs,
            Some(mut left) if may_change => {
                let mut undone = Vec::new();
                while left.iter().any(|coding| !self.accepted.accepts(coding.as_str()))
                    && let Some(last) = left.pop()
                {
                    undone.push(last);
                }
                Delivery::Decoded { undone, left }
            }
            // We did not request this coding, so a second request would bring the same coding.
            None => Delivery::AsItIs,
            Some(_) => Delivery::NotForIt,
        }
    }
}

/// The way in which a response is delivered to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Unchanged, for every client.
    AsItIs,
    /// Unchanged for this client; for other clients the body may be decoded.
    AsKept,
    /// The body is decoded from some or all of its codings, the last one first. The client accepts
    /// the remaining codings.
    Decoded {
        /// The codings to decode, in the order of decoding.
        undone: Vec<Coding>,
        /// The codings that stay, in the order in which they were applied.
        left: Vec<Coding>,
    },
    /// The client cannot decode the coding, and the body must not be changed. The resource must be
    /// requested again with the client's codings.
    NotForIt,
}

impl Delivery {
    /// Whether the client can read the delivered body.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        *self != Self::NotForIt
    }

    /// Whether the delivered body differs from the stored one. If so, its length is unknown, ranges
    /// are unavailable and its entity tag is weak.
    #[must_use]
    pub fn is_decoded(&self) -> bool {
        matches!(self, Self::Decoded { .. })
    }

    /// Adapts the fields of a response to the delivered body.
    ///
    /// A decoded body is another representation of the same content, so its entity tag becomes weak
    /// (RFC 9110 §8.8.1). `If-None-Match` matches a weak tag; `If-Range` does not.
    pub fn amend(&self, answer: &mut HeaderMap) {
        if matches!(self, Self::AsItIs | Self::NotForIt) {
            return;
        }
        vary_by_coding(answer);
        let Self::Decoded { left, .. } = self else { return };
        answer.remove(CONTENT_ENCODING);
        for coding in left {
            answer.append(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
        }
        for name in DIGESTS {
            answer.remove(name);
        }
        answer.remove(CONTENT_LENGTH);
        answer.insert(ACCEPT_RANGES, HeaderValue::from_static("none"));
        if let Some(tag) = answer.get(ETAG)
            && !tag.as_bytes().starts_with(b"W/")
        {
            match HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
                Ok(weak) => answer.insert(ETAG, weak),
                Err(_) => answer.remove(ETAG),
            };
        }
    }

    /// Removes the digests of the coded body from trailers if the delivered body is decoded.
    pub fn amend_trailers(&self, trailers: &mut HeaderMap) {
        if self.is_decoded() {
            for name in DIGESTS {
                trailers.remove(name);
            }
        }
    }
}

/// Adds `Accept-Encoding` to `Vary` unless it is listed.
fn vary_by_coding(answer: &mut HeaderMap) {
    let is_said = members(answer, &VARY)
        .any(|name| name == "*" || name.eq_ignore_ascii_case(ACCEPT_ENCODING.as_str()));
    if !is_said {
        answer.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

#[cfg(test)]
mod tests;
