//! Tables of cases, and properties checked against a model that examines every byte of a small
//! body.

use proptest::prelude::*;

use super::*;

fn shown(satisfied: &RangeSelection) -> String {
    let one = |span: &Span| format!("{}-{}", span.start(), span.last());
    match satisfied {
        RangeSelection::Whole => "whole".to_owned(),
        RangeSelection::One(span) => one(span),
        RangeSelection::Several(spans) => spans.iter().map(one).collect::<Vec<_>>().join(" "),
        RangeSelection::Nothing => "nothing".to_owned(),
    }
}

/// Tests all rows of a table; each is `given -> want`.
fn table(name: &str, text: &str, answer: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for (number, row) in (1..).zip(text.lines()) {
        let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
            continue;
        };
        let got = answer(given.trim());
        if got != want.trim() {
            wrong.push(format!("{name}:{number}: {} got {got}", row.trim()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn range_field_selects_the_expected_spans() {
    table("requested.txt", include_str!("requested.txt"), |given| {
        let (field, length) = given.rsplit_once(' ').unwrap();
        let ranges = Ranges::parse(field.trim_end());
        ranges
            .map_or("ignored".to_owned(), |ranges| shown(&ranges.satisfy(length.parse().unwrap())))
    });
}

#[test]
fn content_range_is_checked_against_request_and_length() {
    table("content.txt", include_str!("content.txt"), |given| {
        let mut columns = given.split('|').map(str::trim).map(|text| (text != "-").then_some(text));
        let mut next = || columns.next().unwrap();
        let asked = next().map(|field| Ranges::parse(field).unwrap());
        let (content_range, length) = (next(), next().map(|length| length.parse().unwrap()));
        match parse_received(asked.as_ref(), content_range, length) {
            Ok(ReceivedRange { span, complete, doubtful }) => {
                let range = ContentRange::Part { span, complete }.to_string();
                format!("{}{}", &range["bytes ".len()..], if doubtful { " doubtful" } else { "" })
            }
            Err(misfit) => misfit.to_string(),
        }
    });
}

#[test]
fn a_field_has_a_bound_of_ranges() {
    let field = |count: usize| {
        let ranges: Vec<_> = (0..count).map(|at| format!("{0}-{0}", at * 1000)).collect();
        format!("bytes={}", ranges.join(","))
    };
    let ranges = Ranges::parse(&field(MAX_RANGES)).unwrap();
    let RangeSelection::Several(spans) = ranges.satisfy(1 << 40) else {
        panic!("they are far apart")
    };
    assert_eq!(spans.len(), MAX_RANGES);
    assert_eq!(Ranges::parse(&field(MAX_RANGES + 1)), None);
    assert_eq!(Ranges::parse(&format!("bytes=0-1{}", ",".repeat(MAX_RANGES))), None);
}

#[test]
fn only_the_available_ranges_of_a_partial_body_are_sent() {
    let held = StoredRanges::new([Span::new(5, 10).unwrap(), Span::new(400, 1000).unwrap()]);
    for (field, length, want) in [
        ("bytes=5-9", Some(1000), Some("5-9")),
        ("bytes=5-9", None, Some("5-9")),
        ("bytes=6-7", None, Some("6-7")),
        ("bytes=5-10", Some(1000), None),
        ("bytes=4-9", None, None),
        ("bytes=500-", Some(1000), Some("500-999")),
        ("bytes=500-", None, None),
        ("bytes=-600", Some(1000), Some("400-999")),
        ("bytes=-601", Some(1000), None),
        ("bytes=-5", None, None),
        ("bytes=5-6,500-501", Some(1000), Some("5-6 500-501")),
        ("bytes=5-6,500-501", None, None),
        ("bytes=5-6,300-301", Some(1000), None),
        ("bytes=0-", Some(1000), None),
        ("bytes=2000-", Some(1000), Some("nothing")),
        ("bytes=2000-", None, None),
        ("bytes=5-99999999999999999999", None, None),
    ] {
        let got = Ranges::parse(field).unwrap().within(&held, length);
        assert_eq!(got.as_ref().map(shown).as_deref(), want, "{field} of {length:?}");
    }
}

#[test]
fn a_multipart_body_has_the_declared_length() {
    let spans = [Span::new(0, 2).unwrap(), Span::new(7, 9).unwrap()];
    let multipart = Multipart::new(&spans, Some(10), Some(b"text/plain"), [0xab; 16]);
    let boundary = format!("wwwoffle-{}", "ab".repeat(16));
    assert_eq!(multipart.content_type(), format!("multipart/byteranges; boundary={boundary}"));
    let length = multipart.length();
    let mut sent = Vec::new();
    for stretch in multipart.into_stretches() {
        match stretch {
            BodyPiece::Text(text) => sent.extend_from_slice(&text),
            BodyPiece::Content(span) => sent.extend(&b"0123456789"[bytes_of(span)]),
        }
    }
    let want = format!(
        "--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n\
         --{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-8/10\r\n\r\n78\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(String::from_utf8(sent).unwrap(), want);
    assert_eq!(usize::try_from(length), Ok(want.len()));
}

fn bytes_of(span: Span) -> std::ops::Range<usize> {
    usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap()
}

/// A `Range` field and the bytes that it requests.
fn asked(length: u64) -> impl Strategy<Value = (String, Vec<bool>)> {
    let one = prop_oneof![
        (0..700_u64, 0..700_u64).prop_map(|(first, more)| (Some(first), Some(first + more))),
        (0..700_u64).prop_map(|first| (Some(first), None)),
        (0..700_u64).prop_map(|suffix| (None, Some(suffix))),
    ];
    proptest::collection::vec(one, 1..8).prop_map(move |ranges| {
        let text = |number: Option<u64>| number.map(|number| number.to_string());
        let fields: Vec<_> = ranges
            .iter()
            .map(|&(first, last)| {
                format!("{}-{}", text(first).unwrap_or_default(), text(last).unwrap_or_default())
            })
            .collect();
        let wanted = (0..length).map(|at| {
            ranges.iter().any(|range| match *range {
                (Some(first), last) => first <= at && last.is_none_or(|last| at <= last),
                (None, last) => length - at <= last.unwrap(),
            })
        });
        (format!("bytes={}", fields.join(",")), wanted.collect())
    })
}

fn spans(most: u64) -> impl Strategy<Value = Vec<Span>> {
    let span = (0..most, 1..most).prop_map(|(start, more)| Span::new(start, start + more).unwrap());
    proptest::collection::vec(span, 0..8)
}

proptest! {
    #[test]
    fn every_requested_byte_is_sent_once(
        (length, (field, wanted)) in (0..600_u64).prop_flat_map(|length| (Just(length), asked(length)))
    ) {
        let satisfied = Ranges::parse(&field).unwrap().satisfy(length);
        let spans = match &satisfied {
            RangeSelection::Whole => return Ok(()),
            RangeSelection::One(span) => vec![*span],
            RangeSelection::Several(spans) => spans.clone(),
            RangeSelection::Nothing => vec![],
        };
        let times = |at| spans.iter().filter(|span| span.start() <= at && at < span.end()).count();
        for (at, wanted) in (0_u64..).zip(&wanted) {
            prop_assert!(times(at) <= 1, "{field} of {length}: byte {at} twice");
            prop_assert!(times(at) == 1 || !wanted, "{field} of {length}: byte {at} lacks");
        }
        prop_assert!(spans.iter().all(|span| span.end() <= length));
        prop_assert_eq!(satisfied == RangeSelection::Nothing, !wanted.contains(&true));
        if let RangeSelection::Several(spans) = satisfied {
            prop_assert!(spans.len() > 1);
            prop_assert!(spans.iter().map(|span| span.len()).sum::<u64>() < length);
        }
    }

    #[test]
    fn stored_spans_cover_the_request(held in spans(50), wanted in (0..50_u64, 1..50_u64)) {
        let wanted = Span::new(wanted.0, wanted.0 + wanted.1).unwrap();
        let is_in = |spans: &[Span], at| spans.iter().any(|span| span.start() <= at && at < span.end());
        let (model, held) = (held.clone(), StoredRanges::new(held));
        for at in 0..100 {
            prop_assert_eq!(is_in(&model, at), is_in(held.spans(), at));
        }
        prop_assert!(held.spans().windows(2).all(|pair| pair[0].end() < pair[1].start()));
        let is_stored = (wanted.start()..wanted.end()).all(|at| is_in(&model, at));
        prop_assert_eq!(held.covers(wanted), is_stored);
    }

    #[test]
    fn a_content_range_round_trips(
        start in 0..1_u64 << 40, more in 1..1_u64 << 40, behind in proptest::option::of(0..1_u64 << 40)
    ) {
        let span = Span::new(start, start + more).unwrap();
        let range = ContentRange::Part { span, complete: behind.map(|behind| span.end() + behind) };
        prop_assert_eq!(ContentRange::parse(&range.to_string()), Ok(range));
        let none = ContentRange::Unsatisfied { complete: more };
        prop_assert_eq!(ContentRange::parse(&none.to_string()), Ok(none));
    }

    #[test]
    fn no_content_range_causes_a_panic(
        field in "(bytes=)?[0-9,* \\-]{0,40}", range in "(bytes )?[0-9*/ \\-]{0,60}",
        length in proptest::option::of(any::<u64>())
    ) {
        let asked = Ranges::parse(&field);
        if let (Some(asked), Some(length)) = (&asked, length) {
            let _ = asked.satisfy(length);
        }
        if let Ok(received) = parse_received(asked.as_ref(), Some(&range), length) {
            prop_assert!(received.complete.is_none_or(|complete| received.span.end() <= complete));
        }
    }
}
