//! `If-Range` and other preconditions of range requests (RFC 9110 §13.1.5, §13.1.1, §13.1.4), and
//! strong validators (§8.8.2.2, §8.8.3.2).

use std::time::Duration;

use http::HeaderMap;
use http::header::{
    CONTENT_ENCODING, DATE, ETAG, HeaderName, HeaderValue, IF_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED,
};

/// The minimum difference between the date of a representation and the date of its response. With a
/// smaller difference, the date is not a strong validator (§8.8.2.2): the representation may change
/// twice within a second, and the two dates may come from different clocks.
const SETTLED: Duration = Duration::from_secs(60);

/// Whether the requested ranges apply to this response: `If-Range` is missing or matches the strong
/// validator of the response. Otherwise the whole response is sent.
#[must_use]
pub fn is_satisfied(request: &HeaderMap, answer: &HeaderMap) -> bool {
    if !request.contains_key(IF_RANGE) {
        return true;
    }
    let Some(given) = single(request, &IF_RANGE) else { return false };
    if is_tag(given) {
        // §8.8.3.2: both tags must be strong and identical.
        return !given.starts_with("W/") && strong_tag(answer) == Some(given);
    }
    strong_date(answer) == Some(given)
}

/// Whether a precondition fails, so that the client gets `412`. The precondition is `If-Match`, or
/// else `If-Unmodified-Since` (§13.2.2). Old clients send these fields to complete a partial
/// download.
#[must_use]
pub fn has_failed(request: &HeaderMap, answer: &HeaderMap) -> bool {
    if request.contains_key(IF_MATCH) {
        return !list(request, &IF_MATCH)
            .any(|given| given == "*" || strong_tag(answer) == Some(given));
    }
    let date = |fields, name| httpdate::parse_http_date(single(fields, name)?).ok();
    // If one of the two dates is missing or invalid, there is no condition.
    match (date(request, &IF_UNMODIFIED_SINCE), date(answer, &LAST_MODIFIED)) {
        (Some(since), Some(modified)) => modified > since,
        _ => false,
    }
}

/// The strong validator of a response that can be sent in `If-Range`: its entity tag or its date.
/// Two parts may be combined only if their strong validators are equal (RFC 9111 §3.4).
#[must_use]
pub fn validator(answer: &HeaderMap) -> Option<&str> {
    // A weak tag says that two responses with the same tag may differ in their bytes. Then an equal
    // date does not prove equal bytes either.
    if answer.contains_key(ETAG) { strong_tag(answer) } else { strong_date(answer) }
}

/// Identifies the bytes of a response: its strong validator and its content coding, because some
/// servers use one tag for all codings of a page. `None` without a strong validator.
#[must_use]
pub fn mark(answer: &HeaderMap) -> Option<String> {
    let mut mark = validator(answer)?.to_owned();
    for coding in list(answer, &CONTENT_ENCODING) {
        mark.push(' ');
        mark.push_str(&coding.to_ascii_lowercase());
    }
    Some(mark)
}

/// The members of a list. A comma inside a tag splits the tag, which then never matches.
fn list<'fields>(
    fields: &'fields HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'fields str> {
    let lines = fields.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn strong_tag(answer: &HeaderMap) -> Option<&str> {
    single(answer, &ETAG).filter(|tag| !tag.starts_with("W/") && is_tag(tag))
}

fn strong_date(answer: &HeaderMap) -> Option<&str> {
    let read = |name| httpdate::parse_http_date(single(answer, &name)?).ok();
    let age = read(DATE)?.duration_since(read(LAST_MODIFIED)?).ok()?;
    (age >= SETTLED).then(|| single(answer, &LAST_MODIFIED)).flatten()
}

/// Whether the text is an entity tag `"…"` with or without `W/`, and has no quotes, spaces or
/// control bytes inside.
fn is_tag(text: &str) -> bool {
    let opaque = text.strip_prefix("W/").unwrap_or(text);
    let inside = opaque.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.is_some_and(|inside| {
        inside.bytes().all(|byte| byte == b'!' || (byte >= b'#' && byte != 0x7f))
    })
}

/// The value of a field that occurs exactly once, trimmed. `None` if the field is missing, occurs
/// more than once or is not ASCII.
#[must_use]
pub fn single<'fields>(fields: &'fields HeaderMap, name: &HeaderName) -> Option<&'fields str> {
    let mut all = fields.get_all(name).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    HeaderValue::to_str(only).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const SOON: &str = "Sun, 06 Nov 1994 08:50:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:50:37 GMT";

    fn fields(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in pairs {
            fields.append(name, value.parse().unwrap());
        }
        fields
    }

    #[test]
    fn only_an_equal_strong_validator_matches() {
        let tag = |tag| vec![(ETAG, tag)];
        let dates = |modified, date| vec![(LAST_MODIFIED, modified), (DATE, date)];
        for (asked, answer, want) in [
            (vec![], vec![], true),
            (vec!["\"a\""], tag("\"a\""), true),
            (vec![" \"a\" "], tag("\"a\""), true),
            (vec!["\"\""], tag("\"\""), true),
            (vec!["\"b\""], tag("\"a\""), false),
            (vec!["W/\"a\""], tag("W/\"a\""), false),
            (vec!["\"a\""], tag("W/\"a\""), false),
            (vec!["W/\"a\""], tag("\"a\""), false),
            (vec!["\"a\""], vec![], false),
            (vec!["\"a\"", "\"a\""], tag("\"a\""), false),
            (vec!["\"a\", \"b\""], tag("\"a\""), false),
            (vec!["a"], tag("a"), false),
            (vec!["*"], tag("\"a\""), false),
            (vec!["\"a\""], vec![(ETAG, "\"a\""), (ETAG, "\"b\"")], false),
            // A date must match byte by byte, and must be strong.
            (vec![OLD], dates(OLD, LATER), true),
            (vec![OLD], dates(OLD, SOON), false),
            (vec![OLD], dates(LATER, OLD), false),
            (vec![OLD], vec![(LAST_MODIFIED, OLD)], false),
            (vec![LATER], dates(OLD, LATER), false),
            (vec![OLD], dates(LATER, LATER), false),
            (vec!["Sunday, 06-Nov-94 08:49:37 GMT"], dates(OLD, LATER), false),
            (vec!["rubbish"], dates("rubbish", LATER), false),
            (vec![""], tag("\"\""), false),
        ] {
            let request: Vec<_> = asked.iter().map(|value| (IF_RANGE, *value)).collect();
            assert_eq!(
                is_satisfied(&fields(&request), &fields(&answer)),
                want,
                "{asked:?} {answer:?}"
            );
        }
    }

    #[test]
    fn failed_precondition_is_detected() {
        let dated = vec![(LAST_MODIFIED, OLD)];
        for (asked, answer, want) in [
            (vec![], vec![(ETAG, "\"a\"")], false),
            (vec![(IF_MATCH, "\"a\"")], vec![(ETAG, "\"a\"")], false),
            (vec![(IF_MATCH, "\"b\" , \"a\"")], vec![(ETAG, "\"a\"")], false),
            (vec![(IF_MATCH, "\"b\""), (IF_MATCH, "\"a\"")], vec![(ETAG, "\"a\"")], false),
            (vec![(IF_MATCH, "*")], vec![], false),
            (vec![(IF_MATCH, "\"b\"")], vec![(ETAG, "\"a\"")], true),
            (vec![(IF_MATCH, "W/\"a\"")], vec![(ETAG, "W/\"a\"")], true),
            (vec![(IF_MATCH, "\"a\"")], vec![], true),
            (vec![(IF_UNMODIFIED_SINCE, OLD)], dated.clone(), false),
            (vec![(IF_UNMODIFIED_SINCE, LATER)], dated.clone(), false),
            (vec![(IF_UNMODIFIED_SINCE, OLD)], vec![(LAST_MODIFIED, LATER)], true),
            (vec![(IF_UNMODIFIED_SINCE, "rubbish")], dated.clone(), false),
            (vec![(IF_UNMODIFIED_SINCE, OLD)], vec![], false),
            // A matching tag takes precedence over a date that does not match.
            (
                vec![(IF_MATCH, "\"a\""), (IF_UNMODIFIED_SINCE, OLD)],
                vec![(ETAG, "\"a\""), (LAST_MODIFIED, LATER)],
                false,
            ),
        ] {
            assert_eq!(has_failed(&fields(&asked), &fields(&answer)), want, "{asked:?} {answer:?}");
        }
    }

    #[test]
    fn an_etag_precedes_a_date_and_weak_validators_are_ignored() {
        for (answer, want) in [
            (vec![(ETAG, "\"a\"")], Some("\"a\"")),
            (vec![(ETAG, "\"a\""), (LAST_MODIFIED, OLD), (DATE, LATER)], Some("\"a\"")),
            (vec![(ETAG, "W/\"a\""), (LAST_MODIFIED, OLD), (DATE, LATER)], None),
            (vec![(ETAG, "a"), (LAST_MODIFIED, OLD), (DATE, LATER)], None),
            (vec![(ETAG, "\"a b\"")], None),
            (vec![(ETAG, "\"a\"b\"")], None),
            (vec![(ETAG, "\"")], None),
            (vec![(LAST_MODIFIED, OLD), (DATE, LATER)], Some(OLD)),
            (vec![(LAST_MODIFIED, OLD), (DATE, SOON)], None),
            (vec![(LAST_MODIFIED, OLD)], None),
            (vec![], None),
        ] {
            assert_eq!(validator(&fields(&answer)), want, "{answer:?}");
            assert_eq!(mark(&fields(&answer)).as_deref(), want, "{answer:?}");
        }
        let coded = fields(&[(ETAG, "\"a\""), (CONTENT_ENCODING, "GZIP, br")]);
        assert_eq!(mark(&coded).as_deref(), Some("\"a\" gzip br"));
    }
}
