//! Counts the streams that a client of HTTP/2 resets.
//!
//! Neither hyper nor h2 tells of them: a request that is dropped may as well have been ended by this
//! program, and one that was answered may be reset after that. So the frames are counted as they come.

use super::streams::Streams;

/// The length of the preface, in bytes (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// The length of the head of a frame, in bytes (RFC 9113 §4.1).
const HEAD: usize = 9;

/// The type of the frame that resets a stream (RFC 9113 §6.4).
const RST_STREAM: u8 = 3;

/// Reads along what a client sends, from the first byte of its connection.
#[derive(Debug)]
pub(super) struct ResetCounter {
    streams: Streams,
    frames: Frames,
}

impl ResetCounter {
    /// Counts the resets of these streams.
    pub(super) fn new(streams: Streams) -> Self {
        Self { streams, frames: Frames { skip: PREFACE, head: Vec::with_capacity(HEAD) } }
    }

    /// Reads the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let resets = self.frames.resets(bytes);
        if resets > 0 {
            self.streams.reset(resets);
        }
    }
}

/// The place in a sequence of frames.
#[derive(Debug)]
struct Frames {
    /// How many bytes come before the head of the next frame.
    skip: usize,
    /// The beginning of that head.
    head: Vec<u8>,
}

impl Frames {
    /// How many streams are reset by the frames that begin here.
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
    fn resets_are_found_however_the_bytes_are_cut() {
        // A payload that looks like a frame is none.
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
            let mut frames = Frames { skip: PREFACE, head: Vec::new() };
            let resets: usize = all.chunks(size).map(|bytes| frames.resets(bytes)).sum();
            assert_eq!(resets, 2, "in pieces of {size} bytes");
        }
    }
}
