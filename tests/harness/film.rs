//! A large file of an origin. Some responses with it are interrupted, as the test decides.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::origin::{After, Exchange};
use super::{Gate, Origin};

/// Bytes per write.
const PIECE: u64 = 64 * 1024;

/// The content repeats after this number of bytes, except for the stamp at the start of each
/// period. The number is not a power of two, so that bytes at a wrong offset differ.
const PERIOD: u64 = 1_000_003;

/// How a response ends early.
#[derive(Clone)]
pub(crate) enum Cut {
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// No further bytes come, and the connection stays open until the gate opens.
    Hang(Arc<Gate>),
    /// The connection is closed, and the file changes.
    Change,
}

/// How an origin handles a request for the rest of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// According to the standard.
    Right,
    /// Sends the whole file (200).
    Ignored,
    /// Sends a range that starts one byte too early (206).
    OneTooEarly,
    /// Sends the range of a changed file, ignoring `If-Range` (206).
    Unconditional,
}

/// The file, and the faults of the responses with it.
pub(crate) struct Film {
    pub(crate) size: u64,
    version: AtomicU64,
    ranges: Ranges,
    /// The faults of the next responses, in order: after how many bytes, and which fault.
    cuts: Mutex<VecDeque<(u64, Cut)>>,
    sent: AtomicU64,
    hung: AtomicU64,
    /// The offset in the file at which the latest response with [`Cut::Hang`] stopped.
    hangs_at: AtomicU64,
    chunked: bool,
}

impl Film {
    /// Makes `origin` serve a film of `size` bytes at `path`. `cuts` are the faults of its first
    /// responses, each with the number of bytes before it.
    pub(crate) fn at(
        origin: &Origin,
        path: &str,
        size: u64,
        ranges: Ranges,
        cuts: impl IntoIterator<Item = (u64, Cut)>,
    ) -> Arc<Self> {
        Self::framed(origin, path, size, ranges, cuts, false)
    }

    /// Like [`at`](Self::at). If `chunked`, responses with the whole file declare no length.
    pub(crate) fn framed(
        origin: &Origin,
        path: &str,
        size: u64,
        ranges: Ranges,
        cuts: impl IntoIterator<Item = (u64, Cut)>,
        chunked: bool,
    ) -> Arc<Self> {
        let (version, [sent, hung, hangs_at]) = (AtomicU64::new(1), Default::default());
        let cuts = Mutex::new(cuts.into_iter().collect());
        let film = Arc::new(Self { size, version, ranges, cuts, sent, hung, hangs_at, chunked });
        let shown = Arc::clone(&film);
        origin.on(path, move |exchange| shown.answer(exchange));
        film
    }

    /// The number of bytes of the body that were sent in all responses together.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// The number of faults for which there was no response yet.
    pub(crate) fn cuts_left(&self) -> usize {
        self.cuts.lock().unwrap().len()
    }

    /// The number of responses that have stopped with [`Cut::Hang`].
    pub(crate) fn hung(&self) -> u64 {
        self.hung.load(Ordering::SeqCst)
    }

    /// The offset in the file at which the latest response with [`Cut::Hang`] stopped.
    pub(crate) fn hangs_at(&self) -> u64 {
        self.hangs_at.load(Ordering::SeqCst)
    }

    /// The current version of the file.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// The whole file in this version.
    pub(crate) fn whole(&self, version: u64) -> Vec<u8> {
        let mut whole = Vec::new();
        while (whole.len() as u64) < self.size {
            whole.extend(piece(version, whole.len() as u64, self.size));
        }
        whole
    }

    /// The digest of the whole file in this version.
    pub(crate) fn digest(&self, version: u64) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut at = 0;
        while at < self.size {
            let piece = piece(version, at, self.size);
            at += piece.len() as u64;
            digest.update(&piece);
        }
        digest.finalize().into()
    }

    fn answer(&self, exchange: &mut Exchange<'_>) -> io::Result<After> {
        exchange.body()?;
        let mut version = self.version.load(Ordering::SeqCst);
        let fields = exchange.seen.fields.clone();
        let wanted = fields.get("Range").and_then(|range| range.strip_prefix("bytes="));
        let wanted = wanted.and_then(|range| range.strip_suffix('-')?.parse::<u64>().ok());
        let holds = fields.get("If-Range") == Some(&tag(version));
        let from = match (self.ranges, wanted) {
            (Ranges::Ignored, _) | (_, None) => None,
            (Ranges::Right, Some(from)) => Some(from).filter(|_| holds),
            (Ranges::OneTooEarly, Some(from)) => Some(from.saturating_sub(1)),
            (Ranges::Unconditional, Some(from)) => Some(from),
        };
        let (start, size) = (from.unwrap_or(0), self.size);
        let chunked = self.chunked && from.is_none();
        exchange.send(match from {
            None if chunked => format!(
                "HTTP/1.1 200 OK\r\nETag: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
                tag(version)
            ),
            None => format!(
                "HTTP/1.1 200 OK\r\nETag: {}\r\nContent-Length: {size}\r\n\r\n",
                tag(version)
            ),
            Some(_) => format!(
                "HTTP/1.1 206 Part\r\nETag: {}\r\nContent-Length: {}\r\n\
                 Content-Range: bytes {start}-{}/{size}\r\n\r\n",
                tag(version),
                size - start,
                size - 1
            ),
        })?;
        let cut = self.cuts.lock().unwrap().pop_front();
        let end = cut.as_ref().map_or(size, |(after, _)| size.min(start + after));
        let mut at = start;
        while at < end {
            let piece = piece(version, at, end.min(at + PIECE));
            if chunked {
                exchange.send(format!("{:x}\r\n", piece.len()))?;
            }
            exchange.send(&piece)?;
            if chunked {
                exchange.send("\r\n")?;
            }
            self.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
            at += piece.len() as u64;
        }
        match cut {
            None if chunked => {
                exchange.send("0\r\n\r\n")?;
                Ok(After::Keep)
            }
            None => Ok(After::Keep),
            Some((_, Cut::Close)) => Ok(After::Close),
            Some((_, Cut::Reset)) => exchange.reset(),
            Some((_, Cut::Hang(gate))) => {
                self.hangs_at.store(at, Ordering::SeqCst);
                self.hung.fetch_add(1, Ordering::SeqCst);
                gate.wait();
                Ok(After::Close)
            }
            Some((_, Cut::Change)) => {
                version += 1;
                self.version.store(version, Ordering::SeqCst);
                Ok(After::Close)
            }
        }
    }
}

fn tag(version: u64) -> String {
    format!("\"film-{version}\"")
}

/// The bytes of the file from `from` to `end`, or to the end of the period if that is nearer.
fn piece(version: u64, from: u64, end: u64) -> Vec<u8> {
    static PATTERN: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let pattern = PATTERN.get_or_init(|| {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..PERIOD).map(next).collect()
    });
    let (number, offset) = (from / PERIOD, (from % PERIOD) as usize);
    let end = (end.min((number + 1) * PERIOD) - number * PERIOD) as usize;
    let mut piece = pattern[offset..end].to_vec();
    let stamp = [version.to_le_bytes(), number.to_le_bytes()].concat();
    for (at, byte) in stamp.iter().enumerate().skip(offset) {
        if let Some(place) = piece.get_mut(at - offset) {
            *place = *byte;
        }
    }
    piece
}
