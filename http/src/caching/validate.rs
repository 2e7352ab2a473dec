//! Conditional requests for stored responses, and which stored response a `304` confirms (RFC 9110
//! §8.8 and §13, RFC 9111 §3.2 and §4.3).
//!
//! If several responses to one URL are stored, the request names all their entity tags, even if
//! none of them was stored for an equal request. The tag in the `304` then selects one response.
//!
//! Two rules are more lenient than the standard, because of faulty origins. If the request asked
//! about a single response, a `304` with an unknown or missing validator confirms that response
//! (RFC 9110 §13.1.2). A response whose tag matches a strong tag of the `304` only weakly is served
//! but not updated.

use http::header::{
    AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, SET_COOKIE, TRAILER,
};
use http::{HeaderMap, StatusCode};

use super::vary::{StoredVariant, Vary, fits};
use crate::fields::list;

/// The most entity tags in one `If-None-Match`.
const MAX_TAGS: usize = 16;

/// The maximum length of an `If-None-Match` field in bytes, because many origins reject heads above
/// 8 KiB.
const MAX_TAGS_LENGTH: usize = 2 * 1024;

/// The conditions of a request that revalidates stored responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionalRequest {
    tags: Vec<HeaderValue>,
    since: Option<HeaderValue>,
    /// The indexes of the stored responses that the conditions name.
    about: Vec<usize>,
}

/// The stored responses that a `304` confirms, by their indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotModifiedMatch {
    /// The response to serve.
    pub serve: usize,
    /// The responses that get the fields of the `304`.
    pub update: Vec<usize>,
}

impl ConditionalRequest {
    /// The conditions for `stored`. `own` is the response selected for the request. `personal`: the
    /// request carries a cookie or credentials.
    ///
    /// An entity tag identifies one representation of a resource, but a date does not. A date
    /// therefore proves nothing if the response varies or is personal. The coding does not matter,
    /// because the same codings are requested each time.
    #[must_use]
    pub fn for_stored(stored: &[StoredVariant<'_>], own: Option<usize>, personal: bool) -> Self {
        let mut question = Self::default();
        if let Some((index, own)) = own.and_then(|own| Some((own, stored.get(own)?))) {
            let tag = own.fields.get(ETAG);
            let date = own.fields.get(LAST_MODIFIED);
            let is_same_for_all = !personal
                && Vary::of(own.fields) == Vary::By(Vec::new())
                && !own.fields.contains_key(SET_COOKIE);
            question.since = date.filter(|_| tag.is_some() || is_same_for_all).cloned();
            if tag.is_some() || question.since.is_some() {
                question.tags.extend(tag.cloned());
                question.about.push(index);
            }
            if tag.is_none() && question.since.is_some() || tag.is_some_and(|tag| !is_tag(tag)) {
                // No tags of other responses are added. With a tag, the origin would ignore the
                // date of the selected response. An invalid tag cannot be part of a list.
                return question;
            }
        }
        let mut length: usize = question.tags.iter().map(HeaderValue::len).sum();
        for (index, other) in stored.iter().enumerate().filter(|(index, _)| own != Some(*index)) {
            let Some(tag) = other.fields.get(ETAG).filter(|tag| is_tag(tag)) else { continue };
            let is_new = !question.tags.contains(tag);
            let longer = length.saturating_add(tag.len()).saturating_add(2);
            if is_new && (question.tags.len() == MAX_TAGS || longer > MAX_TAGS_LENGTH) {
                break;
            }
            if is_new {
                question.tags.push(tag.clone());
                length = longer;
            }
            question.about.push(index);
        }
        question
    }

    /// The same conditions with a date only: the date of the selected response. If it has no usable
    /// date, there are no conditions.
    #[must_use]
    pub fn by_date(self) -> Self {
        match self.since {
            // If there is a date, `about` begins with the selected response.
            Some(since) => Self {
                tags: Vec::new(),
                since: Some(since),
                about: self.about.into_iter().take(1).collect(),
            },
            None => Self::default(),
        }
    }

    /// Whether there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.about.is_empty()
    }

    /// Adds the conditions to `request` (RFC 9111 §4.3.1).
    pub fn add_to(&self, request: &mut HeaderMap) {
        let tags: Vec<_> = self.tags.iter().map(HeaderValue::as_bytes).collect();
        if !tags.is_empty()
            && let Ok(tags) = HeaderValue::from_bytes(&tags.join(&b", "[..]))
        {
            request.insert(IF_NONE_MATCH, tags);
        }
        if let Some(since) = &self.since {
            request.insert(IF_MODIFIED_SINCE, since.clone());
        }
    }

    /// Finds the responses that a `304` with the fields `newer` confirms (RFC 9111 §4.3.3, §4.3.4).
    /// `None` if it confirms no stored response. The request must then be repeated without
    /// conditions.
    ///
    /// `stored` must be the responses from which the conditions were made, and `request` the
    /// request that was sent.
    #[must_use]
    pub fn match_not_modified(
        &self,
        stored: &[StoredVariant<'_>],
        request: &HeaderMap,
        newer: &HeaderMap,
    ) -> Option<NotModifiedMatch> {
        let asked = self.about.iter().filter_map(|&index| Some((index, stored.get(index)?)));
        let having = |is_same: &dyn Fn(&HeaderMap) -> bool| -> Vec<usize> {
            let same = asked.clone().filter(|(_, stored)| is_same(stored.fields));
            same.map(|(index, _)| index).collect()
        };
        let is_own = |index: &usize| stored.get(*index).is_some_and(|s| fits(s, request));
        let tag = newer.get(ETAG);
        if let Some(tag) = tag.filter(|tag| is_strong(tag)) {
            let all = having(&|fields| fields.get(ETAG) == Some(tag));
            if let Some(serve) = newest_match(stored, request, &all) {
                // Updates every response with this tag that the request could have selected.
                let update = all.into_iter().filter(is_own).collect();
                return Some(NotModifiedMatch { serve, update });
            }
        }
        let similar = match (tag, newer.get(LAST_MODIFIED)) {
            (Some(tag), _) => {
                having(&|fields| fields.get(ETAG).is_some_and(|own| weakly_equal(own, tag)))
            }
            (None, Some(date)) => having(&|fields| fields.get(LAST_MODIFIED) == Some(date)),
            (None, None) => Vec::new(),
        };
        let only = || match self.about.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let serve = newest_match(stored, request, &similar).or_else(only)?;
        if tag.is_none() && similar.len() > 1 && !is_own(&serve) {
            // A date does not identify one response among several.
            return None;
        }
        let is_told = only().is_some() || !tag.is_some_and(is_strong);
        let may_update = is_told && is_own(&serve);
        Some(NotModifiedMatch { serve, update: may_update.then_some(serve).into_iter().collect() })
    }
}

/// The newest of the responses `of` that the request could have selected, or else the newest of all
/// responses `of`.
fn newest_match(stored: &[StoredVariant<'_>], request: &HeaderMap, of: &[usize]) -> Option<usize> {
    of.iter()
        .filter_map(|&index| Some((index, stored.get(index)?)))
        .max_by_key(|(_, stored)| (fits(stored, request), stored.date()))
        .map(|(index, _)| index)
}

/// Fields of a stored response that a newer head does not replace (RFC 9111 §3.2). They describe
/// the stored body, and a `304` has no body. The entity tag is not replaced either, since another
/// tag belongs to another body.
const KEPT: [HeaderName; 9] = [
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    ETAG,
    TRAILER,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
];

/// The fields of a stored response updated from a `304` or a HEAD (RFC 9111 §3.2). Hop-by-hop
/// fields must already be removed.
#[must_use]
pub fn merge_fields(stored: &HeaderMap, newer: &HeaderMap) -> HeaderMap {
    let mut fields = stored.clone();
    // The stored `Age` belongs to the older message. A message without `Age` was generated when it
    // was sent (RFC 9111 §4.2.3).
    fields.remove(AGE);
    for name in newer.keys().filter(|name| !KEPT.contains(name)) {
        let mut values = newer.get_all(name).iter().cloned();
        // The field keeps its position, which preserves the origin's order.
        if let Some(first) = values.next() {
            fields.insert(name.clone(), first);
        }
        for value in values {
            fields.append(name.clone(), value);
        }
    }
    fields
}

/// The result of comparing a stored response to a GET with the response to a HEAD (RFC 9111
/// §4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadComparison {
    /// The two responses cannot be compared.
    Nothing,
    /// The stored response is still valid, and gets the fields of the response to the HEAD.
    Unchanged,
    /// The resource has changed: the stored response is stale.
    Changed,
}

/// Compares a stored response, whose body has `length` bytes, with the response to a HEAD. The
/// caller must check that the HEAD request would have selected the stored response.
#[must_use]
pub fn compare_head(
    stored: &HeaderMap,
    length: u64,
    status: StatusCode,
    answer: &HeaderMap,
) -> HeadComparison {
    if status != StatusCode::OK {
        return HeadComparison::Nothing;
    }
    let codings = |fields| list(fields, &CONTENT_ENCODING).map(str::to_ascii_lowercase);
    let told_any =
        [CONTENT_LENGTH, ETAG, LAST_MODIFIED].iter().any(|name| answer.contains_key(name));
    if !told_any || !codings(stored).eq(codings(answer)) {
        // The response to the HEAD has no validator and no length, or the codings differ. In
        // another coding, tag and length differ anyway.
        return HeadComparison::Nothing;
    }
    let told = answer.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let is_as_long = told.is_none_or(|told| told.parse() == Ok(length));
    let is_same =
        |name: &HeaderName| answer.get(name).is_none_or(|told| stored.get(name) == Some(told));
    if is_as_long && is_same(&ETAG) && is_same(&LAST_MODIFIED) {
        HeadComparison::Unchanged
    } else {
        HeadComparison::Changed
    }
}

/// Whether `value` is an entity tag (RFC 9110 §8.8.3). Only entity tags may be part of a list.
fn is_tag(value: &HeaderValue) -> bool {
    let opaque = opaque(value);
    let inner = opaque.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner.is_some_and(|inner| inner.iter().all(|byte| *byte > b' ' && !matches!(byte, b'"' | 0x7f)))
}

fn is_strong(value: &HeaderValue) -> bool {
    is_tag(value) && !value.as_bytes().starts_with(b"W/")
}

/// Whether two entity tags are equal in a weak comparison (RFC 9110 §8.8.3.2).
fn weakly_equal(one: &HeaderValue, other: &HeaderValue) -> bool {
    opaque(one) == opaque(other)
}

fn opaque(tag: &HeaderValue) -> &[u8] {
    tag.as_bytes().strip_prefix(b"W/").unwrap_or(tag.as_bytes())
}

#[cfg(test)]
mod tests;
