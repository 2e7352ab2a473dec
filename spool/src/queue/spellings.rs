//! Requests for other spellings of one URL.
//!
//! A canonical URL may have several spellings, and origins may distinguish them. The spellings have
//! the same key, so the queue has one request for all of them. This request lists the other
//! spellings, and is sent once for each spelling. It leaves the queue when the responses to all
//! spellings are stored.

use crate::entry::warc::{escape, unescape};
use crate::queue::outgoing::{Outgoing, OutgoingSummary, RequestKind, RequestLine};

/// The largest number of other spellings of a request. Further ones are not recorded.
pub(crate) const MAX_SPELLINGS: usize = 8;

/// The longest request target of another spelling, in bytes.
pub(crate) const MAX_TARGET: usize = 4 << 10;

/// The request target of a head (RFC 9112 §3.2); empty if it has none.
fn target(head: &[u8]) -> &str {
    let word = head.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    std::str::from_utf8(word).unwrap_or_default()
}

/// The request target of a head, if it differs from that of the canonical `url`.
pub(crate) fn other_target(head: &[u8], url: &str) -> Option<String> {
    let target = target(head);
    (canonical_target(url) != target).then(|| target.to_owned())
}

/// Path and arguments of a canonical URL.
fn canonical_target(url: &str) -> &str {
    url.match_indices('/').nth(2).map_or("/", |(start, _)| &url[start..])
}

/// The text of targets for a header field; empty if there are none.
pub(crate) fn to_text(targets: &[String]) -> String {
    let words = targets.iter().map(|target| escape(target, MAX_TARGET));
    words.collect::<Vec<_>>().join(" ")
}

/// Parses the text of [`to_text`].
pub(crate) fn from_text(text: &str) -> Vec<String> {
    text.split(' ').map(unescape).filter(|target| is_allowed(target)).take(MAX_SPELLINGS).collect()
}

/// Whether a target can be recorded.
fn is_allowed(target: &str) -> bool {
    let is_printable = |byte: u8| byte > b' ' && byte != 0x7f;
    target.starts_with('/') && target.len() <= MAX_TARGET && target.bytes().all(is_printable)
}

impl OutgoingSummary {
    /// The target in the head of the request.
    #[must_use]
    pub fn target(&self) -> &str {
        self.line.target.as_deref().unwrap_or_else(|| canonical_target(self.place.url()))
    }

    /// Whether the request asks only for the canonical spelling of its URL.
    #[must_use]
    pub fn has_canonical_target(&self) -> bool {
        self.line.target.is_none() && self.line.spellings.is_empty()
    }

    /// Whether the request asks only for the spelling with this target.
    #[must_use]
    pub fn has_only_target(&self, target: &str) -> bool {
        self.line.spellings.is_empty() && self.target() == target
    }

    /// The targets of all spellings that are still to be fetched.
    fn targets(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.target()).chain(self.line.spellings.iter().map(String::as_str))
    }

    /// Whether `self` asks for a spelling that `known` does not ask for and can record. False if
    /// the two requests were made at different locations, because a request from elsewhere must not
    /// determine what a request of this machine sends.
    pub(crate) fn has_spelling_besides(&self, known: &Self) -> bool {
        let is_new = |target| is_allowed(target) && known.targets().all(|other| other != target);
        self.asked_from == known.asked_from
            && known.line.spellings.len() < MAX_SPELLINGS
            && self.targets().any(is_new)
    }
}

/// Returns the reason why `known` cannot record the spelling that a person has requested with
/// `new`. `None` if `known` can record or already has the spelling, if the two were made at
/// different locations, or if `new` does not need its own spelling, like the request of a run.
pub(crate) fn refusal(new: &OutgoingSummary, known: &OutgoingSummary) -> Option<&'static str> {
    let is_by_person =
        matches!(new.kind, RequestKind::Page | RequestKind::Part | RequestKind::Refresh);
    let is_known = known.targets().any(|target| target == new.target());
    if !is_by_person || is_known || !new.runs.is_empty() || new.asked_from != known.asked_from {
        None
    } else if !is_allowed(new.target()) {
        Some("this one is too long to be added")
    } else {
        let is_full = known.line.spellings.len() >= MAX_SPELLINGS;
        is_full.then_some("there are too many of them")
    }
}

/// Records the spellings of `known` and `new` in `request`, in which these two have been combined.
/// Leaves out the spellings of a request that was made at another location than `request`.
pub(crate) fn merge(request: &mut OutgoingSummary, known: &OutgoingSummary, new: &OutgoingSummary) {
    let mut others: Vec<String> = Vec::new();
    let sources = [known, new].into_iter().filter(|from| from.asked_from == request.asked_from);
    for target in sources.flat_map(OutgoingSummary::targets) {
        let is_new = target != request.target() && others.iter().all(|other| other != target);
        if is_new && is_allowed(target) && others.len() < MAX_SPELLINGS {
            others.push(target.to_owned());
        }
    }
    request.line.spellings = others;
}

impl Outgoing {
    /// The requests for the other spellings of the URL. They belong to no run, because a run
    /// follows the links in the response to one spelling only.
    #[must_use]
    pub fn respelled(&self) -> Vec<Outgoing> {
        let mut words = self.head.splitn(3, |&byte| byte == b' ');
        let (Some(method), Some(_), Some(rest)) = (words.next(), words.next(), words.next()) else {
            return Vec::new();
        };
        let request = |target: &String| {
            let head = [method, target.as_bytes(), rest].join(&b' ');
            let line = RequestLine::new(&head, &self.summary.place);
            let summary = OutgoingSummary { line, runs: Vec::new(), ..self.summary.clone() };
            Outgoing { summary, head, ..self.clone() }
        };
        self.summary.line.spellings.iter().map(request).collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::*;
    use crate::entry::place::Place;
    use crate::queue::membership;
    use crate::queue::outgoing::RequesterLocation;

    fn request(target: &str) -> Outgoing {
        let url = CanonicalUrl::parse("http://h.example/?f=2&t=9", &LocalHost::default()).unwrap();
        let head = format!("GET {target} HTTP/1.1\r\nHost: h.example\r\n\r\n");
        Outgoing::new(Place::of(&url), head.into(), RequestKind::Page, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn each_spelling_is_sent_once_in_the_order_of_the_requests() {
        let mut known = request("/?f=2&amp;t=9");
        for target in ["/?f=2&t=9", "/?f=2&amp;t=9", "/%3ff=2&t=9", "/?f=2&t=9"] {
            let new = request(target);
            if membership::requests_more(&new.summary, &known.summary) {
                membership::merge(&mut known, &new);
            }
        }
        assert_eq!(known.summary.line.spellings, ["/?f=2&t=9", "/%3ff=2&t=9"]);
        let sent: Vec<_> = known.respelled();
        let sent: Vec<_> = sent.iter().map(|request| target(&request.head)).collect();
        assert_eq!(sent, ["/?f=2&t=9", "/%3ff=2&t=9"]);
    }

    #[test]
    fn the_number_of_spellings_and_the_machines_that_add_them_are_bounded() {
        let mut known = request("/?f=2&t=9");
        for number in 0..20 {
            let new = request(&format!("/?f=2&t=9&{number}"));
            membership::merge(&mut known, &new);
        }
        assert_eq!(known.summary.line.spellings.len(), MAX_SPELLINGS);
        assert_eq!(refusal(&request("/?f=2&t=9&7").summary, &known.summary), None, "it is known");
        assert!(refusal(&request("/?f=2&t=9&8").summary, &known.summary).is_some());
        let long = request(&format!("/?{}", "a".repeat(MAX_TARGET)));
        assert!(refusal(&long.summary, &request("/").summary).is_some());
        let mut known = request("/?f=2&t=9");
        let mut new = request("/?f=2&amp;t=9");
        new.summary.asked_from = RequesterLocation::Elsewhere;
        assert!(!membership::requests_more(&new.summary, &known.summary));
        membership::merge(&mut known, &new);
        assert_eq!(known.summary.line.spellings, [""; 0]);
        membership::merge(&mut known, &request("/?f=2&%74=9"));
        membership::merge(&mut known, &new);
        assert_eq!(known.summary.line.spellings, ["/?f=2&%74=9"], "its own spellings stay");
    }

    proptest::proptest! {
        #[test]
        fn targets_round_trip(
            targets in proptest::collection::vec("/[!-~ü]{0,9}", 0..=MAX_SPELLINGS)
        ) {
            proptest::prop_assert_eq!(from_text(&to_text(&targets)), targets);
        }

        #[test]
        fn any_text_is_parsed_to_valid_targets(text in ".{0,99}") {
            let targets = from_text(&text);
            proptest::prop_assert!(targets.iter().all(|target| is_allowed(target)));
        }
    }
}
