//! Round trips of each coding, and input that must not be taken for a complete body.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn bare(body: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn br(body: &[u8]) -> Vec<u8> {
    let parameters = ::brotli::enc::BrotliEncoderParams { quality: 4, ..Default::default() };
    let mut coded = Vec::new();
    ::brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters).unwrap();
    coded
}

fn zstd(body: &[u8]) -> Vec<u8> {
    ::zstd::stream::encode_all(body, 1).unwrap()
}

fn coded(coding: Coding, body: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => gzip(body),
        Coding::Deflate => zlib(body),
        Coding::Brotli => br(body),
        Coding::Zstd => zstd(body),
    }
}

const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

/// Decodes the pieces of a body into buffers of `room` bytes.
fn decode<'a>(
    codings: &[Coding],
    pieces: impl IntoIterator<Item = &'a [u8]>,
    room: usize,
) -> Result<Vec<u8>, Fault> {
    let (mut decoder, mut body) = (Decoder::new(codings), Vec::new());
    let (mut output, mut pieces) = (vec![0; room], pieces.into_iter());
    let (mut input, mut is_last) = (&[][..], false);
    loop {
        match decoder.decode(&mut input, is_last, &mut output)? {
            Output::Bytes(length) => body.extend_from_slice(&output[..length]),
            Output::Busy => {}
            Output::End => return Ok(body),
            Output::Hungry => match pieces.next() {
                Some(piece) => input = piece,
                None => is_last = true,
            },
        }
    }
}

fn whole(coding: Coding, body: &[u8]) -> Result<Vec<u8>, Fault> {
    decode(&[coding], [body], 1000)
}

fn text() -> Vec<u8> {
    (0..6_000_u32)
        .flat_map(|number| format!("line {} ", number * 7919 % 1009).into_bytes())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn coded_bodies_round_trip_in_any_pieces(
        noise in proptest::collection::vec(any::<u8>(), 0..3000),
        runs in proptest::collection::vec((any::<u8>(), 0..20_000_usize), 0..4),
        layers in proptest::collection::vec(0..ALL.len(), 0..=MAX_LAYERS),
        piece in 1..5000_usize,
        room in 1..70_000_usize,
    ) {
        let mut body = noise;
        for (byte, count) in runs {
            body.resize(body.len() + count, byte);
        }
        let mut codings = Vec::new();
        let mut sent = body.clone();
        for layer in layers {
            sent = coded(ALL[layer], &sent);
            codings.insert(0, ALL[layer]);
        }
        let got = decode(&codings, sent.chunks(piece), room);
        prop_assert!(got.as_ref() == Ok(&body), "{codings:?} {} bytes: {:?}", body.len(), got.map(|got| got.len()));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic_or_hang(
        noise in proptest::collection::vec(any::<u8>(), 0..2000),
        damaged in (0..ALL.len(), 0..4000_usize, any::<u8>()),
        room in 1..5000_usize,
    ) {
        for coding in ALL {
            let _either: Result<_, _> = decode(&[coding], noise.chunks(7), room);
        }
        let mut sent = coded(ALL[damaged.0], &text());
        let at = damaged.1 % sent.len();
        sent[at] ^= damaged.2;
        let _either: Result<_, _> = decode(&[ALL[damaged.0]], sent.chunks(999), room);
    }
}

#[test]
fn a_truncated_body_is_never_complete() {
    let body = text();
    for coding in ALL {
        let sent = coded(coding, &body);
        for cut in (1..40).chain((40..sent.len()).step_by(997)).chain(sent.len() - 12..sent.len()) {
            let got = whole(coding, &sent[..cut]);
            assert_eq!(got, Err(Fault::Truncated(coding)), "{coding} cut at {cut}");
        }
        assert_eq!(whole(coding, &[]), Ok(Vec::new()), "{coding}: nothing coded is nothing");
        assert!(whole(coding, &coded(coding, b"")).unwrap().is_empty(), "{coding}");
    }
}

#[test]
fn the_sums_are_checked() {
    let body = text();
    for (coding, end) in [(Coding::Gzip, 8), (Coding::Deflate, 4)] {
        for back in 1..=end {
            let mut sent = coded(coding, &body);
            let at = sent.len() - back;
            sent[at] ^= 1;
            assert_eq!(whole(coding, &sent), Err(Fault::Damaged(coding)), "{coding} -{back}");
        }
    }
}

#[test]
fn an_invalid_coded_body_is_damaged() {
    for coding in ALL {
        let page = b"<!doctype html><title>plain</title>, sent as if it were coded".repeat(20);
        assert!(
            matches!(whole(coding, &page), Err(Fault::Damaged(_) | Fault::Truncated(_))),
            "{coding}"
        );
    }
}

#[test]
fn members_and_frames_are_joined_and_trailing_garbage_is_dropped() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let both = [coded(coding, b"one, "), coded(coding, b""), coded(coding, b"two")].concat();
        assert_eq!(whole(coding, &both).unwrap(), b"one, two", "{coding}");
        let cut = &both[..both.len() - 2];
        assert_eq!(whole(coding, cut), Err(Fault::Truncated(coding)), "{coding}");
    }
    for coding in ALL {
        for rubbish in [&b"\0"[..], b"\n", b"\0\0\0\0\0\0\0\0", b"rubbish behind it", b"\x1f\x1f"] {
            let sent = [coded(coding, b"a page"), rubbish.to_vec()].concat();
            for piece in [1, 1000] {
                let got = decode(&[coding], sent.chunks(piece), 100);
                assert_eq!(got.as_deref(), Ok(&b"a page"[..]), "{coding} {rubbish:?}");
            }
        }
    }
    // A skippable frame before a data frame (RFC 8878 §3.1.2).
    let skipped = [b"\x5a\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(b"said")].concat();
    assert_eq!(whole(Coding::Zstd, &skipped).unwrap(), b"said");
}

#[test]
fn a_gzip_header_may_have_all_its_fields() {
    let bare = bare(b"body", 6);
    let end = gzip(b"body")[gzip(b"body").len() - 8..].to_vec();
    for flags in 0..32_u8 {
        let mut sent = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 3];
        if flags & 4 != 0 {
            sent.extend_from_slice(b"\x05\0extra");
        }
        for flag in [8, 16] {
            if flags & flag != 0 {
                sent.extend_from_slice(b"some words\0");
            }
        }
        if flags & 2 != 0 {
            sent.extend_from_slice(b"\x12\x34");
        }
        sent.extend_from_slice(&bare);
        sent.extend_from_slice(&end);
        for piece in [1, 3, 1000] {
            let got = decode(&[Coding::Gzip], sent.chunks(piece), 100);
            assert_eq!(got.as_deref(), Ok(&b"body"[..]), "flags {flags} in pieces of {piece}");
        }
    }
    let endless = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &vec![b'x'; 1 << 18]].concat();
    assert_eq!(whole(Coding::Gzip, &endless), Err(Fault::Damaged(Coding::Gzip)));
    assert_eq!(whole(Coding::Gzip, &[0x1f, 0x8b, 8, 0x80]), Err(Fault::Damaged(Coding::Gzip)));
}

#[test]
fn deflate_is_read_with_its_frame_and_without() {
    // Level 0 makes stored blocks, whose first byte may look like a zlib header.
    for body in [text(), Vec::new(), b"x".to_vec()] {
        for level in [0, 1, 6, 9] {
            let sent = bare(&body, level);
            for piece in [1, 2, 5000] {
                let got = decode(&[Coding::Deflate], sent.chunks(piece), 1000);
                assert!(got.as_ref() == Ok(&body), "level {level}, {} bytes", body.len());
            }
        }
        assert!(whole(Coding::Deflate, &zlib(&body)).as_ref() == Ok(&body));
    }
    // A stored block with unused bits set, so that its first byte looks like a zlib header.
    assert_eq!(whole(Coding::Deflate, b"\x08\x01\0\xfe\xffx\x03\0").as_deref(), Ok(&b"x"[..]));
}

#[test]
fn windows_beyond_those_of_the_web_are_refused() {
    let frame = |log: u32| {
        let mut encoder = ::zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(&text()).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(whole(Coding::Zstd, &frame(23)).unwrap(), text());
    assert_eq!(whole(Coding::Zstd, &frame(24)), Err(Fault::Damaged(Coding::Zstd)));
    let window = |size, large| {
        let parameters = ::brotli::enc::BrotliEncoderParams {
            quality: 4,
            lgwin: size,
            large_window: large,
            ..Default::default()
        };
        let mut coded = Vec::new();
        ::brotli::BrotliCompress(&mut &text()[..], &mut coded, &parameters).unwrap();
        coded
    };
    assert_eq!(whole(Coding::Brotli, &window(24, false)).unwrap(), text());
    assert_eq!(whole(Coding::Brotli, &window(28, true)), Err(Fault::Damaged(Coding::Brotli)));
}

/// Decodes and discards the output; returns its length before the end or the fault.
fn length(codings: &[Coding], sent: &[u8]) -> (u64, Result<(), Fault>) {
    let (mut decoder, mut output, mut input) = (Decoder::new(codings), vec![0; 1 << 16], sent);
    let mut length = 0;
    loop {
        match decoder.decode(&mut input, true, &mut output) {
            Ok(Output::Bytes(made)) => length += count(made),
            Ok(Output::Busy) => {}
            Ok(Output::Hungry | Output::End) => return (length, Ok(())),
            Err(fault) => return (length, Err(fault)),
        }
    }
}

#[test]
#[ignore = "slow"]
fn endless_zeros_are_a_compression_bomb_and_dull_pages_are_not() {
    let zeros = vec![0; 100 << 20];
    let dull = b"2026-11-20T22:31:57Z daemon[1]: nothing has happened\n".repeat(400_000);
    let line = |number: u32| {
        format!("2026-11-20T22:31:57.{:06}Z nothing has happened\n", number % 1_000_000)
    };
    let log: Vec<u8> =
        (0..400_000_u32).flat_map(|number| line(number * 7919).into_bytes()).collect();
    assert_eq!(length(&[Coding::Gzip], &gzip(&dull)), (count(dull.len()), Ok(())));
    for coding in ALL {
        assert_eq!(length(&[coding], &coded(coding, &log)), (count(log.len()), Ok(())), "{coding}");
        let small = vec![0; 1 << 20];
        assert_eq!(length(&[coding], &coded(coding, &small)), (1 << 20, Ok(())), "{coding}");
        let (made, end) = length(&[coding], &coded(coding, &zeros));
        assert_eq!(end, Err(Fault::Expands), "{coding}");
        assert!((FREE..8 * FREE).contains(&made), "{coding}: {made}");
    }
    // The bomb is in the middle layer, whose length only the decoder knows.
    let members = gzip(&[]).repeat(3_500_000);
    let (made, end) = length(&[Coding::Brotli, Coding::Gzip], &br(&members));
    assert_eq!((made, end), (0, Err(Fault::Expands)));
    let (made, end) = length(&[Coding::Gzip, Coding::Gzip], &gzip(&gzip(&zeros)));
    assert_eq!(end, Err(Fault::Expands));
    assert!(made < 8 * FREE, "{made}");
}
