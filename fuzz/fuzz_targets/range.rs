//! Any text as `Range`, `Content-Range` and `If-Range`, against bodies of any length.
//!
//! `cargo +nightly fuzz run range`

#![no_main]

#[path = "../../src/caching/range/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the daemon uses all of it")]
mod range;

use hyper::HeaderMap;
use hyper::header::{ETAG, HeaderValue, IF_RANGE};
use libfuzzer_sys::fuzz_target;
use range::{
    ContentRange, Held, MAX_POSITION, MAX_RANGES, Multipart, Ranges, Satisfied, Span, if_range,
    received,
};

fuzz_target!(|input: (&str, &str, Option<u64>, Vec<(u32, u16)>)| {
    let (asked, content_range, length, held) = input;
    let ranges = Ranges::parse(asked);
    if let (Some(ranges), Some(length)) = (&ranges, length) {
        fits(&ranges.satisfy(length), length.min(MAX_POSITION));
        let span = |(start, more): (u32, u16)| {
            Span::new(u64::from(start), u64::from(start) + u64::from(more))
        };
        let held = Held::new(held.into_iter().filter_map(span));
        if let Some(there) = ranges.within(&held, Some(length)) {
            assert_eq!(there, ranges.satisfy(length));
            assert!(spans(&there).iter().all(|span| held.covers(*span)));
        }
    }
    if let Ok(range) = ContentRange::parse(content_range) {
        assert_eq!(ContentRange::parse(&range.to_string()), Ok(range));
    }
    if let Ok(received) = received(ranges.as_ref(), Some(content_range), length) {
        assert!(received.complete.is_none_or(|complete| received.span.end() <= complete));
        assert!(length.is_none_or(|length| length == received.span.len()));
    }
    if let (Ok(given), Ok(tag)) =
        (HeaderValue::from_str(asked), HeaderValue::from_str(content_range))
    {
        let request = HeaderMap::from_iter([(IF_RANGE, given)]);
        let answer = HeaderMap::from_iter([(ETAG, tag)]);
        if if_range::holds(&request, &answer) {
            assert_eq!(if_range::validator(&answer), Some(content_range.trim()));
        }
    }
});

fn spans(satisfied: &Satisfied) -> &[Span] {
    match satisfied {
        Satisfied::One(span) => std::slice::from_ref(span),
        Satisfied::Several(spans) => spans,
        Satisfied::Whole | Satisfied::Nothing => &[],
    }
}

fn fits(satisfied: &Satisfied, length: u64) {
    let spans = spans(satisfied);
    assert!(spans.len() <= MAX_RANGES && spans.iter().all(|span| span.end() <= length));
    let sent = spans.iter().fold(0, |sum: u64, span| sum.saturating_add(span.len()));
    assert!(sent <= length, "no byte twice");
    let multipart = Multipart::new(spans, Some(length), None, [0; 16]);
    let told = multipart.length();
    let made =
        multipart.into_stretches().iter().fold(0, |sum: u64, one| sum.saturating_add(one.len()));
    assert_eq!(told, made);
}
