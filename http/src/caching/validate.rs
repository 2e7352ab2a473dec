//! Asking an origin whether what is stored still holds, and what its answer means for which stored
//! answer (RFC 9110 §8.8 and §13, RFC 9111 §3.2 and §4.3).
//!
//! Where several answers to one URL are stored, the origin is told the entity tags of all of them:
//! also when none of them was for this request, its own may be among them. The tag in a `304` then
//! tells which one.
//!
//! Two things are laxer than the standard, for origins that are. A `304` that names no validator, or
//! one we never heard of, is about the stored answer we asked about where that was a single one:
//! there is nothing else it could be about (RFC 9110 §13.1.2). And an answer whose tag is only weakly
//! the same as that of the `304` is served, but not changed.

use http::header::{
    AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, SET_COOKIE, TRAILER,
};
use http::{HeaderMap, StatusCode};

use super::vary::{Stored, Vary, fits};
use crate::fields::list;

/// The most entity tags in one `If-None-Match`.
const MAX_TAGS: usize = 16;

/// The longest `If-None-Match`, in bytes: many origins refuse heads of 8 KiB.
const MAX_TAGS_LENGTH: usize = 2 * 1024;

/// What an origin is asked about stored answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    tags: Vec<HeaderValue>,
    since: Option<HeaderValue>,
    /// The answers that the question is about.
    about: Vec<usize>,
}

/// The stored answers that a `304` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The one that answers this request.
    pub serve: usize,
    /// Those that get the fields of the `304`.
    pub update: Vec<usize>,
}

impl Question {
    /// What to ask about `stored`, of which `own` is the request's own. `personal` says that the
    /// request carries a cookie or credentials.
    ///
    /// An entity tag names one representation among all of a resource; a date does not, so where
    /// the answer varies or is personal a date proves nothing. The coding does not count: origins are
    /// asked for the same ones each time.
    #[must_use]
    pub fn about(stored: &[Stored<'_>], own: Option<usize>, personal: bool) -> Self {
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
                // With a tag, or one more, the origin would not look at what its own is asked with.
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

    /// The same, by dates alone: of the request's own answer, if it has one that can be asked with.
    #[must_use]
    pub fn by_date(self) -> Self {
        match self.since {
            // Its own answer is the first.
            Some(since) => Self {
                tags: Vec::new(),
                since: Some(since),
                about: self.about.into_iter().take(1).collect(),
            },
            None => Self::default(),
        }
    }

    /// Whether there is nothing to ask with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.about.is_empty()
    }

    /// Makes `request` the question (RFC 9111 §4.3.1).
    pub fn ask(&self, request: &mut HeaderMap) {
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

    /// Which answers the `304` with the fields `newer` is about (RFC 9111 §4.3.3, §4.3.4). `None`
    /// when it is about none of ours: then only a request without conditions gets an answer.
    ///
    /// `stored` is what the question was made from, and `request` what was asked.
    #[must_use]
    pub fn answered(
        &self,
        stored: &[Stored<'_>],
        request: &HeaderMap,
        newer: &HeaderMap,
    ) -> Option<Holding> {
        let asked = self.about.iter().filter_map(|&index| Some((index, stored.get(index)?)));
        let having = |is_same: &dyn Fn(&HeaderMap) -> bool| -> Vec<usize> {
            let same = asked.clone().filter(|(_, stored)| is_same(stored.fields));
            same.map(|(index, _)| index).collect()
        };
        let is_own = |index: &usize| stored.get(*index).is_some_and(|s| fits(s, request));
        let tag = newer.get(ETAG);
        if let Some(tag) = tag.filter(|tag| is_strong(tag)) {
            let all = having(&|fields| fields.get(ETAG) == Some(tag));
            if let Some(serve) = best(stored, request, &all) {
                // Each that has this tag and could have been chosen for the request.
                let update = all.into_iter().filter(is_own).collect();
                return Some(Holding { serve, update });
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
        let serve = best(stored, request, &similar).or_else(only)?;
        if tag.is_none() && similar.len() > 1 && !is_own(&serve) {
            // A date names no one among several.
            return None;
        }
        let is_told = only().is_some() || !tag.is_some_and(is_strong);
        let may_update = is_told && is_own(&serve);
        Some(Holding { serve, update: may_update.then_some(serve).into_iter().collect() })
    }
}

/// The newest of those that could have been chosen for the request, or else the newest.
fn best(stored: &[Stored<'_>], request: &HeaderMap, of: &[usize]) -> Option<usize> {
    of.iter()
        .filter_map(|&index| Some((index, stored.get(index)?)))
        .max_by_key(|(_, stored)| (fits(stored, request), stored.date()))
        .map(|(index, _)| index)
}

/// Fields that a stored answer keeps, whatever a newer head says (RFC 9111 §3.2): they belong to the
/// stored body, and a `304` has none. So does the entity tag: one that differs is not the body's.
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

/// The fields of a stored answer after a `304` or a HEAD with the fields `newer` (RFC 9111 §3.2);
/// those of one hop are gone already.
#[must_use]
pub fn merged(stored: &HeaderMap, newer: &HeaderMap) -> HeaderMap {
    let mut fields = stored.clone();
    // It is the age of the older message. What has none was made just now (RFC 9111 §4.2.3).
    fields.remove(AGE);
    for name in newer.keys().filter(|name| !KEPT.contains(name)) {
        let mut values = newer.get_all(name).iter().cloned();
        // In its old place: the rest stays in the order of the origin.
        if let Some(first) = values.next() {
            fields.insert(name.clone(), first);
        }
        for value in values {
            fields.append(name.clone(), value);
        }
    }
    fields
}

/// What the answer to a HEAD says of a stored answer to GET (RFC 9111 §4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSays {
    /// Nothing.
    Nothing,
    /// It still holds, and has these fields now.
    Unchanged,
    /// It has changed: the stored one is stale.
    Changed,
}

/// Compares a stored answer, whose body has `length` bytes, with the answer to a HEAD. That the HEAD
/// would have chosen it is for the caller to see.
#[must_use]
pub fn head_says(
    stored: &HeaderMap,
    length: u64,
    status: StatusCode,
    answer: &HeaderMap,
) -> HeadSays {
    if status != StatusCode::OK {
        return HeadSays::Nothing;
    }
    let codings = |fields| list(fields, &CONTENT_ENCODING).map(str::to_ascii_lowercase);
    let told_any =
        [CONTENT_LENGTH, ETAG, LAST_MODIFIED].iter().any(|name| answer.contains_key(name));
    if !told_any || !codings(stored).eq(codings(answer)) {
        // Nothing to compare, or another representation: neither tag nor length can be compared.
        return HeadSays::Nothing;
    }
    let told = answer.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let is_as_long = told.is_none_or(|told| told.parse() == Ok(length));
    let is_same =
        |name: &HeaderName| answer.get(name).is_none_or(|told| stored.get(name) == Some(told));
    if is_as_long && is_same(&ETAG) && is_same(&LAST_MODIFIED) {
        HeadSays::Unchanged
    } else {
        HeadSays::Changed
    }
}

/// Whether `value` is an entity tag as RFC 9110 §8.8.3 writes it. Only such can stand in a list.
fn is_tag(value: &HeaderValue) -> bool {
    let opaque = opaque(value);
    let inner = opaque.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner.is_some_and(|inner| inner.iter().all(|byte| *byte > b' ' && !matches!(byte, b'"' | 0x7f)))
}

fn is_strong(value: &HeaderValue) -> bool {
    is_tag(value) && !value.as_bytes().starts_with(b"W/")
}

/// The weak comparison (RFC 9110 §8.8.3.2).
fn weakly_equal(one: &HeaderValue, other: &HeaderValue) -> bool {
    opaque(one) == opaque(other)
}

fn opaque(tag: &HeaderValue) -> &[u8] {
    tag.as_bytes().strip_prefix(b"W/").unwrap_or(tag.as_bytes())
}

#[cfg(test)]
mod tests;
