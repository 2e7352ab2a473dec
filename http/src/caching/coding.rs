//! Content codings: what a client takes, what origins are asked for, and what is done where the two
//! differ.
//!
//! Origins are asked for all codings that we can undo, whatever the client said, so that one kept copy
//! serves everyone: who takes its coding gets it as it is kept, others get it decoded on the way. A
//! request that forbids changes (`no-transform`), or that is for a range, goes out with those of them
//! that its client takes: a range is one of the coded body, and only the client knows of which. One
//! whose answer passes through goes out with what its client said.
//!
//! An answer that forbids changes is sent as it is to those who take its coding. For others it is
//! asked for anew with what they take, and what then comes replaces it. An answer in a coding that we
//! cannot undo was asked for by nobody: asking anew would bring the same, so all get it as it is.

use http::HeaderMap;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderName, HeaderValue, VARY,
};

use super::control::{AnswerControl, RequestControl};
use crate::decoding::{Coding, MAX_LAYERS};

/// What origins are asked for. In the order and without weights, as browsers write it: origins that
/// choose by weight are free to choose, those that compare text find what they know, and what they
/// choose can be undone whichever it is.
pub const OUR_CODINGS: &str = "gzip, deflate, br, zstd";

/// How many members of `Accept-Encoding` are read. There are not as many codings.
const MAX_MEMBERS: usize = 64;

/// How many members of `Content-Encoding` are read, empty ones and `identity` among them.
const MAX_CODINGS: usize = 16;

/// Fields with a digest of the body as it came (RFC 9530, RFC 3230, RFC 1864). That of the selected
/// representation is one of the coded body too (RFC 9530 §3).
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// Fields that offer dictionaries for codings that we do not ask for (RFC 9842 §2.2, §2.3).
const DICTIONARIES: [&str; 2] = ["available-dictionary", "dictionary-id"];

/// The codings that a client takes, by its `Accept-Encoding` (RFC 9110 §12.5.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// `None` when it does not say.
    members: Option<Vec<(String, bool)>>,
}

impl Accepted {
    /// Reads the field. What cannot be understood says nothing: then the client gets a body that is
    /// not coded, which everyone can read. Of two members with one name, a refusal counts.
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
            let is_taken = parameter.map_or(Some(true), weighs)?;
            Some((plain_name(name.trim()), is_taken))
        });
        Self { members: Some(members.collect()) }
    }

    /// Whether it takes the coding of this name. Silence would mean any coding by the letter; yet who
    /// is silent can often read none, and never has to: it counts as taking none.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        let name = plain_name(name);
        let members = self.members.as_deref().unwrap_or_default();
        let said = |wanted: &str| {
            let mut all = members.iter().filter(|(found, _)| found == wanted).peekable();
            all.peek().is_some().then(|| all.all(|(_, is_taken)| *is_taken))
        };
        said(&name).or_else(|| said("*")).unwrap_or(name == "identity")
    }

    /// The codings that we can undo and it takes, as a field.
    fn of_ours(&self) -> HeaderValue {
        let mut taken: Vec<_> = OUR_CODINGS.split(", ").filter(|name| self.takes(name)).collect();
        if !self.takes("identity") {
            taken.push("identity;q=0");
        } else if taken.is_empty() {
            taken.push("identity");
        }
        HeaderValue::from_str(&taken.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static("identity"))
    }

    /// The same of a coding of a body, where `identity` changes nothing.
    fn takes_layer(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("identity") || self.takes(name)
    }
}

/// A name in lower case, and of two names for one coding the usual one (RFC 9110 §8.4.1).
fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "x-gzip" => "gzip".to_owned(),
        "x-compress" => "compress".to_owned(),
        _ => name,
    }
}

/// Whether a weight is above zero; `None` when it is no weight (RFC 9110 §12.4.2).
fn weighs(parameter: &str) -> Option<bool> {
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

/// The members of a field that are text and not empty.
fn members<'a>(fields: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let text = fields.get_all(name).iter().map(|value| value.to_str().unwrap_or("\u{fffd}"));
    text.flat_map(|text| text.split(',')).map(str::trim).filter(|member| !member.is_empty())
}

/// The codings of a body, in the order they were applied; `None` when one of them cannot be undone.
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

/// Whether a body is marked as coded at all.
fn is_coded(answer: &HeaderMap) -> bool {
    members(answer, &CONTENT_ENCODING).any(|name| !name.eq_ignore_ascii_case("identity"))
}

/// Whether the type names the coding once more: a compressed file, whose server marks it as a coded
/// one besides. Decoded it would not be what its name says.
fn is_file_of(coding: Coding, answer: &HeaderMap) -> bool {
    let kind = answer.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let names: &[&str] = match coding {
        Coding::Gzip => &["application/gzip", "application/x-gzip", "application/x-gunzip"],
        Coding::Zstd => &["application/zstd", "application/x-zstd"],
        Coding::Brotli => &["application/brotli", "application/x-brotli"],
        Coding::Deflate => &[],
    };
    names.contains(&kind.as_str())
}

/// What a request lets be done about codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    accepted: Accepted,
    change: Change,
    is_file: bool,
    asks: Asks,
    /// Whether it gets its answer without any coding, where that may be changed: it is rewritten on its way.
    undoes_all: bool,
}

/// What an origin is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// All codings that we can undo.
    Ours,
    /// Those of them that the client takes: the answer is kept, and others have to read it too.
    OursThatItTakes,
    /// What the client said.
    ItsOwn,
}

/// Whether a body may be changed on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The request forbids it.
    Forbidden,
    /// Unless the answer forbids it.
    Allowed,
    /// There is no way: whoever asks is at its end.
    AtTheEnd,
}

impl Terms {
    /// The terms of a request. `asks_ours` says that its answer, if it is kept, serves others too:
    /// a GET or HEAD. `is_file` says that the URL names a compressed file.
    #[must_use]
    pub fn of(request: &HeaderMap, asks_ours: bool, is_file: bool) -> Self {
        // RFC 9111 §5.2.1.6.
        let forbidden = RequestControl::of(request).no_transform;
        let change = if forbidden { Change::Forbidden } else { Change::Allowed };
        let asks = match asks_ours {
            true if forbidden => Asks::OursThatItTakes,
            true => Asks::Ours,
            false => Asks::ItsOwn,
        };
        Self { accepted: Accepted::of(request), change, is_file, asks, undoes_all: false }
    }

    /// The terms of who reads here and now, and takes no coding.
    #[must_use]
    pub fn of_a_reader() -> Self {
        let accepted = Accepted::default();
        let (change, asks) = (Change::AtTheEnd, Asks::ItsOwn);
        Self { accepted, change, is_file: false, asks, undoes_all: false }
    }

    /// Whether the origin is asked for all codings that we can undo.
    #[must_use]
    pub fn asks_ours(&self) -> bool {
        self.asks == Asks::Ours
    }

    /// The client gets its answer without any coding, where that may be changed.
    pub fn undo_all(&mut self) {
        self.undoes_all = true;
    }

    /// From here on the origin is asked for what the client takes.
    pub fn ask_as_the_client(&mut self) {
        if self.asks == Asks::Ours {
            self.asks = Asks::OursThatItTakes;
        }
    }

    /// Takes out of a client's request what would choose among codings that are not asked for: an
    /// answer that varies with it is one for all then.
    pub fn strip(&self, request: &mut HeaderMap) {
        if self.asks != Asks::ItsOwn {
            for name in DICTIONARIES {
                request.remove(name);
            }
        }
    }

    /// Writes into a request what its origin is asked for.
    pub fn ask(&self, request: &mut HeaderMap) {
        let value = match self.asks {
            Asks::Ours => HeaderValue::from_static(OUR_CODINGS),
            Asks::OursThatItTakes => self.accepted.of_ours(),
            Asks::ItsOwn => return,
        };
        request.insert(ACCEPT_ENCODING, value);
    }

    /// Whether the client takes an answer, or a part of one, in the coding that it has.
    #[must_use]
    pub fn takes_as_it_is(&self, answer: &HeaderMap) -> bool {
        members(answer, &CONTENT_ENCODING).all(|name| self.accepted.takes_layer(name))
    }

    /// What is done with an answer for this client.
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
            Change::Forbidden => false,
            // RFC 9111 §5.2.2.6.
            Change::Allowed => !AnswerControl::of(answer).no_transform,
            Change::AtTheEnd => true,
        };
        let is_taken = self.takes_as_it_is(answer);
        match codings {
            Some(all) if self.undoes_all && may_change => {
                Delivery::Decoded { undone: all.into_iter().rev().collect(), left: Vec::new() }
            }
            Some(_) if is_taken && may_change => Delivery::AsKept,
            _ if is_taken => Delivery::AsItIs,
            Some(mut left) if may_change => {
                let mut undone = Vec::new();
                while left.iter().any(|coding| !self.accepted.takes(coding.name()))
                    && let Some(last) = left.pop()
                {
                    undone.push(last);
                }
                Delivery::Decoded { undone, left }
            }
            // Nobody asked for it, so whoever asks anew gets the same.
            None => Delivery::AsItIs,
            Some(_) => Delivery::NotForIt,
        }
    }
}

/// What is done with the coding of an answer on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing, and never anything else.
    AsItIs,
    /// Nothing for this client; others get it decoded.
    AsKept,
    /// Some codings are undone, the last one first; those that are left it takes.
    Decoded {
        /// In the order they are undone.
        undone: Vec<Coding>,
        /// In the order they were applied.
        left: Vec<Coding>,
    },
    /// The client cannot read it, and nobody may change it: it is to be asked for as the client takes
    /// it.
    NotForIt,
}

impl Delivery {
    /// Whether there is nothing better for the client to get.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        *self != Self::NotForIt
    }

    /// Whether the body is another one than that which is kept: it has another length, no range
    /// of it can be asked for, and its tag is a weak one.
    #[must_use]
    pub fn is_decoded(&self) -> bool {
        matches!(self, Self::Decoded { .. })
    }

    /// Makes the fields of an answer those of what the client gets.
    ///
    /// A decoded body is another representation of the same content: its tag says the same by the
    /// weak comparison and not by the strong one (RFC 9110 §8.8.1), so that `If-None-Match` holds
    /// and `If-Range` does not.
    pub fn amend(&self, answer: &mut HeaderMap) {
        if matches!(self, Self::AsItIs | Self::NotForIt) {
            return;
        }
        vary_by_coding(answer);
        let Self::Decoded { left, .. } = self else { return };
        answer.remove(CONTENT_ENCODING);
        for coding in left {
            answer.append(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
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

    /// Takes out of trailers what does not hold for what the client gets.
    pub fn amend_trailers(&self, trailers: &mut HeaderMap) {
        if self.is_decoded() {
            for name in DIGESTS {
                trailers.remove(name);
            }
        }
    }
}

/// Adds `Accept-Encoding` to `Vary`, if it is not in it.
fn vary_by_coding(answer: &mut HeaderMap) {
    let is_said = members(answer, &VARY)
        .any(|name| name == "*" || name.eq_ignore_ascii_case(ACCEPT_ENCODING.as_str()));
    if !is_said {
        answer.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

#[cfg(test)]
mod tests;
