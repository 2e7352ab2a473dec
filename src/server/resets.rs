//! Counts the streams that an HTTP/2 client resets.
//!
//! Neither hyper nor h2 reports resets. A dropped request does not show one either: this program
//! may have ended the request itself, and a client may reset a stream that is already answered. So
//! the frames are counted as they arrive.

use super::streams::Streams;

/// The length of the connection preface in bytes (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// The length of a frame header, in bytes (RFC 9113 §4.1).
const HEAD: usize = 9;

/// The type of the frame that resets a stream (RFC 9113 §6.4).
const RST_STREAM: u8 = 3;

/// The counter of resets in the bytes of a client, from the start of its connection.
#[derive(Debug)]
pub(super) struct ResetCounter {
    streams: Streams,
    frames: FrameScanner,
}

impl ResetCounter {
    /// Counts the resets of these streams.
    pub(super) fn new(streams: Streams) -> Self {
        Self { streams, frames: FrameScanner { skip: PREFACE, head: Vec::with_capacity(HEAD) } }
    }

    /// Scans the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let resets = self.frames.resets(bytes);
        if resets > 0 {
            self.streams.reset(resets);
        }
    }
}

#[derive(Debug)]
struct FrameScanner {
    /// The number of bytes to skip before the next frame header.
    skip: usize,
    /// The received part of the next frame header.
    head: Vec<u8>,
}

impl FrameScanner {
    /// Returns the number of `RST_STREAM` frames whose header has its last byte in `bytes`.
    fn resets(&mut self, mut bytes: &[u8]) -> usize {
        let mut resets = 0;
        while !bytes.is_empty() {
            let wanted = if self.skip > 0 { self.skip } else { HEAD - self.head.len() };
            let (now, later) = bytes.split_at(wanted.min(bytes.len()));
            bytes = later;
            if self.skip > 0 {
                self.skip -= now.len();
                continue;
            }
            self.head.extend_from_slice(now);
            if let [high, middle, low, kind, _, _, _, _, _] = *self.head.as_slice() {
                let length = u32::from_be_bytes([0, high, middle, low]);
                self.skip = usize::try_from(length).unwrap_or(usize::MAX);
                resets += usize::from(kind == RST_STREAM);
                self.head.clear();
            }
        }
        resets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, 0, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn resets_are_found_in_any_pieces() {
        // A payload that looks like a frame does not count.
        let inner = frame(RST_STREAM, &[0; 4]);
        let all = [
            vec![RST_STREAM; PREFACE],
            frame(4, &[]),
            frame(0, &inner),
            frame(RST_STREAM, &[0, 0, 0, 8]),
            frame(1, &[RST_STREAM; 30]),
            frame(RST_STREAM, &[0, 0, 0, 8]),
        ]
        .concat();
        for size in 1..=all.len() {
            let mut frames = FrameScanner { skip: PREFACE, head: Vec::new() };
            let resets: usize = all.chunks(size).map(|bytes| frames.resets(bytes)).sum();
            assert_eq!(resets, 2, "in pieces of {size} bytes");
        }
    }
}
