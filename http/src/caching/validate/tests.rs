use super::*;
use std::time::{Duration, SystemTime};

use crate::caching::vary::variant_text;

/// The fields in `text`, separated by `|`.
fn fields(text: &str) -> HeaderMap {
    let mut all = HeaderMap::new();
    for line in text.split('|').map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        all.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    all
}

struct StoredRow {
    request: HeaderMap,
    fields: HeaderMap,
    variant: String,
    received: SystemTime,
}

fn kept(rows: &[(&str, &str)]) -> Vec<StoredRow> {
    // Each row of the table is a response that is newer than the previous one.
    let row = |(second, (request, answer)): (u64, &(&str, &str))| {
        let (request, fields) = (fields(request), fields(answer));
        let variant = variant_text(&fields, &request).unwrap_or_else(|| "*".to_owned());
        let received = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        StoredRow { request, fields, variant, received }
    };
    (0..).zip(rows).map(row).collect()
}

fn stored(kept: &[StoredRow]) -> Vec<StoredVariant<'_>> {
    kept.iter()
        .map(|StoredRow { request, fields, variant, received }| StoredVariant {
            fields,
            variant,
            request,
            received: *received,
        })
        .collect()
}

const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

/// The conditions for `rows` as request fields: `If-None-Match`, `If-Modified-Since`.
fn question(rows: &[&str], own: Option<usize>, personal: bool) -> (String, String) {
    let rows: Vec<_> = rows.iter().map(|row| ("", *row)).collect();
    let kept = kept(&rows);
    let question = ConditionalRequest::for_stored(&stored(&kept), own, personal);
    let mut request = HeaderMap::new();
    question.add_to(&mut request);
    assert_eq!(question.is_empty(), request.is_empty());
    let text = |name| request.get(name).map_or("", |value: &HeaderValue| value.to_str().unwrap());
    (text(IF_NONE_MATCH).to_owned(), text(IF_MODIFIED_SINCE).to_owned())
}

#[test]
fn if_modified_since_is_sent_only_if_the_date_is_conclusive() {
    let date = format!("Last-Modified: {OLD}");
    let both = format!("ETag: \"a\" | {date}");
    let varying = format!("{date} | Vary: Accept-Language");
    let cookie = format!("{date} | Set-Cookie: a=b");
    let varying_tag = format!("{both} | Vary: Accept-Language");
    for (answer, personal, tag, since) in [
        (&both[..], false, "\"a\"", OLD),
        (&both, true, "\"a\"", OLD),
        (&varying_tag, true, "\"a\"", OLD),
        (&date, false, "", OLD),
        (&date, true, "", ""),
        (&varying, false, "", ""),
        (&format!("{date} | Vary: accept-Encoding"), false, "", OLD),
        (&format!("{date} | Vary: Accept-Encoding, Cookie"), false, "", ""),
        (&cookie, false, "", ""),
        ("Content-Type: text/plain", false, "", ""),
        ("ETag: unquoted", false, "unquoted", ""),
        ("ETag: W/\"a\"", false, "W/\"a\"", ""),
    ] {
        let got = question(&[answer], Some(0), personal);
        assert_eq!(got, (tag.to_owned(), since.to_owned()), "{answer} {personal}");
    }
}

#[test]
fn all_etags_of_a_url_are_sent_together() {
    let dated = format!("ETag: \"b\" | Last-Modified: {NEW}");
    let only_dated = format!("Last-Modified: {NEW}");
    for (rows, own, tags, since) in [
        (&["ETag: \"a\"", "ETag: \"b\""][..], Some(1), "\"b\", \"a\"", ""),
        (&["ETag: \"a\"", "ETag: \"b\""], None, "\"a\", \"b\"", ""),
        (&["ETag: \"a\"", &dated], Some(1), "\"b\", \"a\"", NEW),
        // Without a selected response, a date could refer to the wrong response.
        (&["ETag: \"a\"", &dated], None, "\"a\", \"b\"", ""),
        (&[&only_dated], None, "", ""),
        (&["ETag: \"a\"", "ETag: W/\"a\"", "ETag: \"a\""], None, "\"a\", W/\"a\"", ""),
        // An invalid tag cannot be part of a list. It is sent alone if it belongs to the selected
        // response.
        (&["ETag: a, b", "ETag: \"b\"", "ETag: \"c\"d\""], None, "\"b\"", ""),
        (&["ETag: a, b", "ETag: \"b\""], Some(0), "a, b", ""),
        (&["ETag: a, b", "ETag: \"b\""], Some(1), "\"b\"", ""),
        // An origin that gets a tag ignores the date. So the tags of other responses are not sent
        // with the date.
        (&["ETag: \"a\"", &only_dated], Some(1), "", NEW),
        (&["ETag: \"a,b\""], Some(0), "\"a,b\"", ""),
    ] {
        let got = question(rows, own, false);
        assert_eq!(got, (tags.to_owned(), since.to_owned()), "{rows:?} {own:?}");
    }
}

#[test]
fn a_conditional_request_is_limited() {
    let short: Vec<_> = (0..100).map(|n| format!("ETag: \"{n}\"")).collect();
    let long: Vec<_> = (0..100).map(|n| format!("ETag: \"{n}{}\"", "x".repeat(300))).collect();
    for rows in [short, long] {
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        let (tags, _) = question(&rows, Some(50), false);
        assert!(tags.starts_with("\"50"), "its own is among them");
        assert!(tags.len() <= MAX_TAGS_LENGTH && tags.split(", ").count() <= MAX_TAGS, "{tags}");
    }
}

#[test]
fn a_304_applies_to_the_copies_it_names() {
    const DE: &str = "Accept-Language: de";
    const EN: &str = "Accept-Language: en";
    let by = |tag: &str| format!("ETag: {tag} | Vary: Accept-Language");
    let (a, b, wa, wb) = (by("\"a\""), by("\"b\""), by("W/\"a\""), by("W/\"b\""));
    let dated = |tag: &str, date: &str| format!("{} | Last-Modified: {date}", by(tag));
    let (dated_a, dated_b) = (dated("\"a\"", OLD), dated("\"b\"", NEW));
    let same_b = dated("\"b\"", OLD);
    let date = format!("Last-Modified: {OLD}");
    let new_date = format!("Last-Modified: {NEW}");
    let all = |serve, update: &[usize]| Some(NotModifiedMatch { serve, update: update.to_vec() });
    for (rows, request, newer, want) in [
        // With a strong tag, a response that has this tag is served, even if the request selects
        // another one. Of the responses with the tag, those that the request could select are
        // updated.
        (&[(DE, &a[..]), (EN, &b)][..], DE, "ETag: \"a\"", all(0, &[0])),
        (&[(DE, &a), (EN, &b)], DE, "ETag: \"b\"", all(1, &[])),
        (&[(DE, &a), (EN, &b)], "", "ETag: \"b\"", all(1, &[])),
        (&[(DE, &a), (DE, &a), (EN, &a)], DE, "ETag: \"a\"", all(1, &[1, 0])),
        // None of the stored responses matches.
        (&[(DE, &a), (EN, &b)], DE, "ETag: \"c\"", None),
        (&[(DE, &a), (EN, &b)], DE, "Date: x", None),
        (&[(DE, &a), (EN, &b)], DE, "ETag: W/\"c\"", None),
        // A weak tag names the newest response that matches weakly.
        (&[(DE, &wa), (DE, &wa), (EN, &wb)], DE, "ETag: W/\"a\"", all(1, &[1])),
        (&[(DE, &a), (EN, &b)], DE, "ETag: W/\"a\"", all(0, &[0])),
        (&[(DE, &wa), (EN, &wb)], DE, "ETag: W/\"b\"", all(1, &[])),
        // A stored response that matches a strong tag only weakly is served but not updated.
        (&[(DE, &wa), (EN, &wb)], DE, "ETag: \"a\"", all(0, &[])),
        // Without a tag, the date decides.
        (&[(DE, &dated_a), (EN, &dated_b)], DE, &date, all(0, &[0])),
        (&[(DE, &dated_a), (EN, &dated_b)], DE, &new_date, all(1, &[])),
        // If several responses have the same date, only the selected one is certain.
        (&[(DE, &dated_a), (EN, &same_b)], EN, &date, all(1, &[1])),
        (&[(DE, &dated_a), (EN, &same_b)], "Accept-Language: fr", &date, None),
        // If the request asked about one response, the `304` can only mean that response.
        (&[(DE, &a)], DE, "Date: x", all(0, &[0])),
        (&[(DE, &a)], DE, "ETag: \"b\"", all(0, &[0])),
        (&[(DE, &a)], EN, "Date: x", all(0, &[])),
        (&[("", &date)], "", "Date: x", all(0, &[0])),
        (&[("", &date)], "", "ETag: \"b\"", all(0, &[0])),
        (&[], "", "ETag: \"b\"", None),
    ] {
        let (kept, request, newer) = (kept(rows), fields(request), fields(newer));
        let stored = stored(&kept);
        let own = crate::caching::vary::select(&stored, &request);
        let got = ConditionalRequest::for_stored(&stored, own, false)
            .match_not_modified(&stored, &request, &newer);
        assert_eq!(got, want, "{rows:?} {request:?} {newer:?}");
    }
}

#[test]
fn newer_fields_replace_older_ones() {
    let stored = "Content-Type: text/plain | Content-Length: 5 | Content-Encoding: gzip | \
                  Content-Range: x | Content-MD5: x | ETag: \"a\" | Set-Cookie: a=b | X-Old: 1 | \
                  Set-Cookie: c=d | Age: 60 | Cache-Control: max-age=1 | Cache-Control: private";
    for (newer, name, want) in [
        ("Content-Type: text/html", "content-type", &["text/html"][..]),
        ("Content-Length: 7", "content-length", &["5"]),
        ("Content-Encoding: br", "content-encoding", &["gzip"]),
        ("Content-Range: y", "content-range", &["x"]),
        ("Content-MD5: y", "content-md5", &["x"]),
        ("ETag: \"b\"", "etag", &["\"a\""]),
        ("Cache-Control: max-age=2", "cache-control", &["max-age=2"]),
        ("Set-Cookie: e=f", "set-cookie", &["e=f"]),
        ("X-New: 1", "set-cookie", &["a=b", "c=d"]),
        ("X-New: 1", "x-new", &["1"]),
        ("X-New: 1 | X-New: 2", "x-new", &["1", "2"]),
        ("X-New: 1", "x-old", &["1"]),
        // The newer message determines the age.
        ("X-New: 1", "age", &[]),
        ("Age: 2", "age", &["2"]),
    ] {
        let merged = merge_fields(&fields(stored), &fields(newer));
        let got: Vec<_> = merged.get_all(name).iter().collect();
        assert_eq!(got, want, "{newer}");
    }
}

#[test]
fn a_head_response_shows_whether_a_stored_copy_has_changed() {
    use HeadComparison::{Changed, Nothing, Unchanged};
    let both = format!("ETag: \"a\" | Last-Modified: {OLD}");
    let newer = format!("ETag: \"a\" | Last-Modified: {NEW}");
    let coded = format!("{both} | Content-Encoding: gzip");
    for (stored, status, answer, want) in [
        (&both, 200, "ETag: \"a\" | Content-Length: 5", Unchanged),
        (&both, 200, &both, Unchanged),
        (&both, 200, "Content-Length: 5", Unchanged),
        // A HEAD response with neither a validator nor a length cannot be compared.
        (&both, 200, "X-New: 1", Nothing),
        (&String::new(), 200, "X-New: 1", Nothing),
        (&String::new(), 200, "Content-Length: 5", Unchanged),
        (&both, 200, "Content-Length: 6", Changed),
        (&both, 200, "Content-Length: x", Changed),
        (&both, 200, "ETag: \"b\"", Changed),
        (&both, 200, "ETag: W/\"a\"", Changed),
        (&both, 200, &newer, Changed),
        (&coded, 200, "ETag: \"b\" | Content-Length: 9", Nothing),
        (&coded, 200, "ETag: \"a\" | Content-Encoding: GZIP", Unchanged),
        (&both, 404, "ETag: \"b\"", Nothing),
        (&both, 304, "ETag: \"b\"", Nothing),
        (&both, 206, "ETag: \"b\"", Nothing),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let got = compare_head(&fields(stored), 5, status, &fields(answer));
        assert_eq!(got, want, "{stored} {status} {answer}");
    }
}

#[test]
fn fields_keep_the_order_of_the_origin() {
    let merged = merge_fields(
        &fields("Date: 1 | X-A: 1 | ETag: \"a\" | X-B: 1"),
        &fields("Date: 2 | X-A: 2"),
    );
    let names: Vec<_> = merged.keys().map(HeaderName::as_str).collect();
    assert_eq!(names, ["date", "x-a", "etag", "x-b"]);
}
