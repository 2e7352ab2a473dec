//! Any text as `Range`, `Content-Range` and `If-Range`, with bodies of any length. Small bodies are
//! compared byte by byte.

use hyper::HeaderMap;
use hyper::header::{ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED};
use wwwoffle_http::caching::range::{
    BodyPiece, ContentRange, MAX_POSITION, MAX_RANGES, Multipart, RangeSelection, Ranges, Span,
    StoredRanges, if_range, parse_received,
};

use super::input::{Input, text};

/// The maximum length of a body that is compared byte by byte.
const SMALL: u64 = 4096;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (asked, content_range) = (input.line(), input.line());
    let length = length(&mut input);
    let held = StoredRanges::new((0..input.byte() % 8).filter_map(|_| {
        let (start, more) = (u64::from(input.number()), u64::from(input.number() & 0x3ff));
        Span::new(start, start + more)
    }));
    let ranges = Ranges::parse(asked);
    if let Some(ranges) = &ranges {
        if let Some(length) = length {
            fits(&ranges.satisfy(length), length.min(MAX_POSITION));
            if length <= SMALL {
                is_what_was_asked_for(asked, ranges, length);
            }
        }
        if let Some(there) = ranges.within(&held, length) {
            assert!(length.is_none_or(|length| there == ranges.satisfy(length)));
            assert!(spans(&there).iter().all(|span| held.covers(*span)));
            assert!(there != RangeSelection::Whole, "a part is not the whole");
        }
    }
    covers(&held, &mut input);
    if let Ok(range) = ContentRange::parse(content_range) {
        assert_eq!(ContentRange::parse(&range.to_string()), Ok(range));
    }
    if let Ok(received) = parse_received(ranges.as_ref(), Some(content_range), length) {
        assert!(received.complete.is_none_or(|complete| received.span.end() <= complete));
        assert!(length.is_none_or(|length| length == received.span.len()));
    }
    conditions(asked, content_range, text(input.rest()));
}

fn length(input: &mut Input<'_>) -> Option<u64> {
    match input.byte() % 4 {
        0 => None,
        1 => Some(u64::from(input.byte())),
        2 => Some(u64::from(input.number()) & 0xfff),
        _ => Some(u64::MAX >> (input.byte() % 64)),
    }
}

fn conditions(asked: &str, tag: &str, date: &str) {
    let [Ok(given), Ok(tag_value), Ok(date_value)] = [asked, tag, date].map(HeaderValue::from_str)
    else {
        return;
    };
    let request = HeaderMap::from_iter([(IF_RANGE, given)]);
    let answer = HeaderMap::from_iter([(ETAG, tag_value), (LAST_MODIFIED, date_value)]);
    if if_range::is_satisfied(&request, &answer) {
        assert!(!asked.trim_start().starts_with("W/"), "a weak tag proves no byte");
        let validator = if_range::validator(&answer);
        assert_eq!(validator, Some(tag.trim()));
    }
}

fn spans(satisfied: &RangeSelection) -> &[Span] {
    match satisfied {
        RangeSelection::One(span) => std::slice::from_ref(span),
        RangeSelection::Several(spans) => spans,
        RangeSelection::Whole | RangeSelection::Nothing => &[],
    }
}

fn fits(satisfied: &RangeSelection, length: u64) {
    let spans = spans(satisfied);
    assert!(spans.len() <= MAX_RANGES && spans.iter().all(|span| span.end() <= length));
    let sent = spans.iter().fold(0, |sum: u64, span| sum.saturating_add(span.len()));
    assert!(sent <= length, "no byte twice");
    let multipart = Multipart::new(spans, Some(length), Some(b"text/plain"), [7; 16]);
    let told = multipart.length();
    let stretches = multipart.into_stretches();
    let made = stretches.iter().fold(0, |sum: u64, one| sum.saturating_add(one.len()));
    assert_eq!(told, made);
    if spans.len() > 1 && length <= SMALL {
        is_read_back(&stretches, spans, length);
    }
}

/// Checks that a multipart body, read by the rules of MIME, has the expected parts.
fn is_read_back(stretches: &[BodyPiece], spans: &[Span], length: u64) {
    let body: Vec<u8> = (0..length).map(byte_at).collect();
    let of = |span: &Span| {
        let [start, end] =
            [span.start(), span.end()].map(|at| usize::try_from(at).expect("it is small"));
        &body[start..end]
    };
    let mut bytes = Vec::new();
    for stretch in stretches {
        match stretch {
            BodyPiece::Text(text) => bytes.extend_from_slice(text),
            BodyPiece::Content(span) => bytes.extend_from_slice(of(span)),
        }
    }
    let mut rest = bytes.as_slice();
    for span in spans {
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n").expect("a part has a head");
        let head = str::from_utf8(&rest[..end]).expect("it is text");
        let told = head.lines().find_map(|line| line.strip_prefix("Content-Range: "));
        let told = ContentRange::parse(told.expect("a part says which it is"));
        assert_eq!(told, Ok(ContentRange::Part { span: *span, complete: Some(length) }));
        rest = rest[end + 4..].strip_prefix(of(span)).expect("its bytes are these");
        assert!(rest.starts_with(b"\r\n--"));
    }
    assert!(rest.ends_with(b"--\r\n") && rest.len() < 64);
}

/// The byte at an offset of the body. Neighbouring bytes differ.
fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(31) >> 1).to_le_bytes()[0]
}

/// Parses the field again without its limits, and compares the ranges byte by byte.
fn is_what_was_asked_for(field: &str, ranges: &Ranges, length: u64) {
    let set = field.split_once('=').expect("it was read").1;
    let number = |text: &str| text.parse::<u128>().unwrap_or(u128::MAX);
    let wide = u128::from(length);
    let mut wanted = vec![false; usize::try_from(length).expect("it is small")];
    let mut count = 0;
    for member in set.split(',').map(str::trim).filter(|member| !member.is_empty()) {
        let (first, last) = member.split_once('-').expect("it was read");
        let (start, end) = match (first, last) {
            ("", last) => (wide.saturating_sub(number(last)), wide),
            (first, "") => (number(first), wide),
            (first, last) => (number(first), number(last).saturating_add(1).min(wide)),
        };
        count += 1;
        for (byte, at) in wanted.iter_mut().zip(0..) {
            *byte |= start <= at && at < end;
        }
    }
    assert_eq!(ranges.is_one(), count == 1);
    let satisfied = ranges.satisfy(length);
    let is_wanted = wanted.contains(&true);
    match &satisfied {
        RangeSelection::Whole => {}
        RangeSelection::Nothing => assert!(!is_wanted, "{field:?} of {length}"),
        one_or_more => {
            assert!(is_wanted);
            for (byte, at) in wanted.iter().zip(0..) {
                let times = spans(one_or_more)
                    .iter()
                    .filter(|span| span.start() <= at && at < span.end())
                    .count();
                assert!(times <= 1 && (!byte || times == 1), "byte {at} of {field:?}");
            }
        }
    }
    if count == 1 && is_wanted {
        let sent = wanted.iter().filter(|byte| **byte).count();
        assert_eq!(spans(&satisfied).iter().map(|span| span.len()).sum::<u64>(), sent as u64);
    }
}

/// Checks that a range is covered if each of its bytes is stored.
fn covers(held: &StoredRanges, input: &mut Input<'_>) {
    let (start, more) = (u64::from(input.number()), u64::from(input.number() & 0xfff));
    let Some(wanted) = Span::new(start, start + more) else { return };
    let count =
        |at: u64| held.spans().iter().filter(|span| span.start() <= at && at < span.end()).count();
    let counts: Vec<_> = (wanted.start()..wanted.end()).map(count).collect();
    assert!(counts.iter().all(|count| *count <= 1), "the stored ranges overlap");
    assert_eq!(held.covers(wanted), counts.iter().all(|count| *count == 1));
}
