//! Any bytes as an encoded body.
//!
//! Decoding ends, stays within its output bound, and gives the same result however the body is
//! split into pieces.

use wwwoffle_http::decoding::{Coding, Decoder, FREE, Fault, MAX_LAYERS, MAX_RATIO, Output};

/// The maximum length of a checked output, in bytes. Longer outputs are slow and show nothing new.
const ENOUGH: usize = 4 << 20;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let [layers, room, data @ ..] = data else { return };
    let all = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];
    let count = 1 + usize::from(layers >> 6) % MAX_LAYERS;
    let codings: Vec<_> =
        (0..count).map(|layer| all[usize::from(layers >> (2 * layer)) & 3]).collect();
    let whole = decode(&codings, data, data.len().max(1), 1 << 16);
    let pieces = decode(&codings, data, 1 + usize::from(room & 15), 1 + usize::from(*room));
    if let (Some(whole), Some(pieces)) = (whole, pieces) {
        assert_eq!(whole.is_ok(), pieces.is_ok(), "{codings:?}");
        if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
            assert!(whole == pieces, "{codings:?}");
        }
    }
}

/// Decodes `data` in pieces of `piece` bytes, with `room` bytes for each output. `None` if the
/// output is longer than [`ENOUGH`].
fn decode(
    codings: &[Coding],
    data: &[u8],
    piece: usize,
    room: usize,
) -> Option<Result<Vec<u8>, Fault>> {
    let (mut decoder, mut body) = (Decoder::new(codings), Vec::new());
    let (mut pieces, mut input, mut is_last) = (data.chunks(piece), &[][..], false);
    let mut output = vec![0; room];
    loop {
        match decoder.decode(&mut input, is_last, &mut output) {
            Ok(Output::Bytes(length)) => body.extend_from_slice(&output[..length]),
            Ok(Output::Busy) => {}
            Ok(Output::Hungry) => match pieces.next() {
                Some(next) => input = next,
                None => is_last = true,
            },
            Ok(Output::End) => return Some(Ok(body)),
            Err(fault) => return Some(Err(fault)),
        }
        let bound = FREE + MAX_RATIO * u64::try_from(data.len()).unwrap_or(u64::MAX);
        assert!(u64::try_from(body.len()).is_ok_and(|length| length <= bound));
        if body.len() > ENOUGH {
            return None;
        }
    }
}
