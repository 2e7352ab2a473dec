//! A client's own conditions, evaluated against our response (RFC 9110 §13).
//!
//! Normally the origin does not get the client's conditions, because it would evaluate them against
//! the client's copy, and a `304` would leave us with nothing to store. We request the response
//! that we lack, and evaluate the conditions ourselves. The exceptions are ranges (see [`strip`])
//! and forms.

use http::header::{
    ETAG, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, StatusCode};

use crate::fields::list;

/// The conditions that compare the client's copy with the response. If the two are equal, the
/// client gets a `304`.
const OF_THE_CLIENT: [HeaderName; 2] = [IF_NONE_MATCH, IF_MODIFIED_SINCE];

/// The conditions that restrict which response the client accepts.
const OF_THE_ANSWER: [HeaderName; 3] = [IF_MATCH, IF_UNMODIFIED_SINCE, IF_RANGE];

/// Removes the conditions from a request, so that it requests the whole response.
///
/// If a range is requested, `If-Match`, `If-Unmodified-Since` and `If-Range` stay: a range of
/// another response would be useless to the client, and only the origin knows its current response.
pub fn strip(fields: &mut HeaderMap) {
    for name in OF_THE_CLIENT {
        fields.remove(name);
    }
    if !fields.contains_key(RANGE) {
        for name in OF_THE_ANSWER {
            fields.remove(name);
        }
    }
}

/// The client's description of its own copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    if_none_match: Vec<String>,
    if_modified_since: Option<String>,
}

impl Conditions {
    /// Parses the conditions of a GET or HEAD that compare the client's copy with ours. Those for
    /// ranges (`If-Range`) and for changes (`If-Match`) are irrelevant for a whole response.
    #[must_use]
    pub fn of(request: &HeaderMap) -> Self {
        let date = request.get(IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        Self {
            if_none_match: list(request, &IF_NONE_MATCH).map(str::to_owned).collect(),
            if_modified_since: date.map(str::to_owned),
        }
    }

    /// Whether the client's copy is equal to the response with this `status` and these fields, so
    /// that `304 (Not Modified)` is enough (RFC 9110 §13.2.2 steps 3 and 4).
    #[must_use]
    pub fn are_met_by(&self, status: StatusCode, answer: &HeaderMap) -> bool {
        if status != StatusCode::OK {
            // RFC 9110 §13.2.1: conditions apply only if the response without them is a success.
            return false;
        }
        let field =
            |name| answer.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        if !self.if_none_match.is_empty() {
            return self.if_none_match.iter().any(|given| {
                given == "*" || field(ETAG).is_some_and(|tag| weakly_equal(given, tag))
            });
        }
        let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
        match (
            self.if_modified_since.as_deref().and_then(date),
            field(LAST_MODIFIED).and_then(date),
        ) {
            (Some(since), Some(modified)) => modified <= since,
            _ => false,
        }
    }
}

/// Reduces the fields to those of a `304` (RFC 9110 §15.4.5): removes the fields that describe the
/// content itself.
pub fn not_modified(answer: &mut HeaderMap) {
    use http::header::{
        CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, TRAILER,
    };
    let has_tag = answer.contains_key(ETAG);
    for name in
        [CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, TRAILER]
    {
        answer.remove(name);
    }
    if has_tag {
        answer.remove(LAST_MODIFIED);
    }
}

/// Compares two entity tags weakly (RFC 9110 §8.8.3.2).
fn weakly_equal(one: &str, other: &str) -> bool {
    fn opaque(tag: &str) -> &str {
        tag.strip_prefix("W/").unwrap_or(tag)
    }
    opaque(one) == opaque(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).clone(), value.parse().unwrap())).collect()
    }

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

    #[test]
    fn conditions_are_judged_in_the_order_of_the_standard() {
        for (asked, answer, want) in [
            (vec![(&IF_NONE_MATCH, "\"a\"")], vec![(&ETAG, "\"a\"")], true),
            (vec![(&IF_NONE_MATCH, "W/\"a\"")], vec![(&ETAG, "\"a\"")], true),
            (vec![(&IF_NONE_MATCH, "\"b\", \"a\"")], vec![(&ETAG, "W/\"a\"")], true),
            (vec![(&IF_NONE_MATCH, "*")], vec![], true),
            (vec![(&IF_NONE_MATCH, "\"b\"")], vec![(&ETAG, "\"a\"")], false),
            (vec![(&IF_NONE_MATCH, "\"a\"")], vec![], false),
            (vec![(&IF_MODIFIED_SINCE, NEW)], vec![(&LAST_MODIFIED, OLD)], true),
            (vec![(&IF_MODIFIED_SINCE, OLD)], vec![(&LAST_MODIFIED, OLD)], true),
            (vec![(&IF_MODIFIED_SINCE, OLD)], vec![(&LAST_MODIFIED, NEW)], false),
            (vec![(&IF_MODIFIED_SINCE, "rubbish")], vec![(&LAST_MODIFIED, OLD)], false),
            // A different tag takes precedence over an equal date.
            (
                vec![(&IF_NONE_MATCH, "\"b\""), (&IF_MODIFIED_SINCE, NEW)],
                vec![(&ETAG, "\"a\""), (&LAST_MODIFIED, OLD)],
                false,
            ),
            (vec![], vec![(&ETAG, "\"a\"")], false),
        ] {
            let mut request = fields(&asked);
            let conditions = Conditions::of(&request);
            strip(&mut request);
            assert!(request.is_empty(), "{asked:?}");
            let met = conditions.are_met_by(StatusCode::OK, &fields(&answer));
            assert_eq!(met, want, "{asked:?} {answer:?}");
            assert!(!conditions.are_met_by(StatusCode::NOT_FOUND, &fields(&answer)));
        }
    }
}
