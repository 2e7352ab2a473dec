//! An index of the specifications in a list that could match a URL.
//!
//! Each specification is filed under one property that it requires of a URL: the host, the end of
//! the host, or a few consecutive bytes of path or arguments. Usually this property is the host. If
//! many specifications already share the host, the property is a run of bytes that few
//! specifications share. So fifty thousand specifications may contain `/ads/` if each also requires
//! another property. A URL is looked up by all of its properties. This takes one pass over its
//! bytes, and nearly all lookups end at a bit of a table that fits the cache of the processor.
//!
//! A specification found this way does not always match. Two different properties may share a key,
//! and the specification may require more than one property. So it is still compared as a whole.

use crate::pattern::{parts::UrlParts, spec::UrlSpec};
use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    hash::{BuildHasherDefault, Hasher},
};

/// The number of specifications that may share a host before another property is preferred.
const MANY: usize = 8;

/// The number of bits in the table for each key.
const BITS_PER_KEY: usize = 16;

/// The smallest number of bits in the table, as a power of two.
const MIN_BITS: u32 = 12;

/// An odd number without a pattern, which spreads keys (the golden ratio, times 2^64).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The kinds of properties that a key stands for. A run of eight bytes fills a key; the keys of
/// shorter runs contain their kind.
const HOST: u64 = 1;
const HOST_END: u64 = 2;
const THREE: u64 = 3 << 32;
const FOUR: u64 = 4 << 32;
const EIGHT: u64 = 0;

/// The numbers of specifications by the property they require.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecIndex {
    /// The specifications by key, each list in ascending order.
    filed: HashMap<u64, Vec<IndexedSpec>, BuildHasherDefault<IdentityHasher>>,
    /// A table that shows quickly that a key is missing. Each existing key sets two bits of one
    /// word.
    bits: Vec<u64>,
    /// The lengths of host ends that do not begin with a dot. A lookup tries each of these lengths.
    lengths: BTreeSet<usize>,
    /// Whether any specification is filed under eight bytes of path or arguments.
    by_eight: bool,
    /// Whether any specification is filed under four bytes of path or arguments.
    by_four: bool,
    /// Whether any specification is filed under three bytes of path or arguments.
    by_three: bool,
    /// The specifications without a property that has a key.
    always: Vec<IndexedSpec>,
}

/// A specification in the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedSpec {
    pub(crate) number: usize,
    /// A bit for each run of four bytes that the specification requires. Many runs share a bit.
    runs: u128,
}

/// The runs of four bytes in a URL, computed on first use.
struct ByteRuns<'u> {
    url: &'u UrlParts<'u>,
    made: OnceCell<u128>,
}

impl ByteRuns<'_> {
    /// Whether the URL may contain all runs that a specification requires.
    fn contains_runs(&self, filed: &IndexedSpec) -> bool {
        let runs =
            self.made.get_or_init(|| runs(self.url.path) | self.url.arguments.map_or(0, runs));
        filed.runs & !runs == 0
    }
}

/// A bit for each run of four bytes in `text`, ignoring case.
fn runs(text: &str) -> u128 {
    let runs = text.as_bytes().windows(4).map(|run| key_of(FOUR, run) >> 57);
    runs.fold(0, |bits, run| bits | 1 << run)
}

impl SpecIndex {
    /// Files a specification. Numbers must be added in ascending order.
    pub(crate) fn add(&mut self, number: usize, spec: &UrlSpec) {
        let runs = spec.required().fold(0, |bits, piece| bits | runs(piece));
        let filed = IndexedSpec { number, runs };
        let host = host_key(spec.host_pattern());
        let key = match host {
            Some(key) if self.count(key.0) < MANY => Some(key),
            _ => self.rarest(spec).or(host),
        };
        let Some((key, kind)) = key else { return self.always.push(filed) };
        match kind {
            KeyKind::Host => {}
            KeyKind::HostEnd(length) => self.lengths.extend(length),
            KeyKind::Bytes(EIGHT) => self.by_eight = true,
            KeyKind::Bytes(FOUR) => self.by_four = true,
            KeyKind::Bytes(_) => self.by_three = true,
        }
        self.filed.entry(key).or_default().push(filed);
        if self.filed.len() * BITS_PER_KEY > self.bits.len() * 64 {
            self.grow();
        } else {
            self.set(key);
        }
    }

    /// Calls `consider` with the number of each specification that could match the URL.
    ///
    /// The numbers come in several series, each in ascending order. `consider` returns whether to
    /// continue with the rest of the series.
    pub(crate) fn candidates(&self, url: &UrlParts<'_>, mut consider: impl FnMut(usize) -> bool) {
        let runs = ByteRuns { url, made: OnceCell::new() };
        let mut consider = |filed: &[IndexedSpec]| {
            let mut may = filed.iter().filter(|filed| filed.runs == 0 || runs.contains_runs(filed));
            may.all(|filed| consider(filed.number));
        };
        if !self.bits.is_empty() {
            self.by_host(url.host, &mut consider);
            if self.by_eight || self.by_four || self.by_three {
                self.by_bytes(url.path, &mut consider);
                self.by_bytes(url.arguments.unwrap_or_default(), &mut consider);
            }
        }
        if !self.always.is_empty() {
            consider(&self.always);
        }
    }

    /// Looks up the host and its ends. Starts at the last byte and goes backwards, so that the key
    /// of each end is complete at the first byte of that end.
    fn by_host(&self, host: &str, consider: &mut impl FnMut(&[IndexedSpec])) {
        let mut key = HOST_END;
        for (length, byte) in (1..).zip(host.bytes().rev()) {
            key = with_byte(key, byte);
            if byte == b'.' || self.lengths.contains(&length) {
                self.look_up(spread(key), consider);
            }
        }
        self.look_up(spread(whole_host(key)), consider);
    }

    fn by_bytes(&self, text: &str, consider: &mut impl FnMut(&[IndexedSpec])) {
        let mut last = 0_u64;
        for (count, byte) in (1_usize..).zip(text.bytes()) {
            last = last << 8 | u64::from(byte.to_ascii_lowercase());
            if self.by_eight && count >= 8 {
                self.look_up(spread(last), consider);
            }
            if self.by_four && count >= 4 {
                self.look_up(spread(FOUR | last & 0xffff_ffff), consider);
            }
            if self.by_three && count >= 3 {
                self.look_up(spread(THREE | last & 0x00ff_ffff), consider);
            }
        }
    }

    fn look_up(&self, key: u64, consider: &mut impl FnMut(&[IndexedSpec])) {
        let (word, mask) = self.bits_of(key);
        if self.bits.get(word).is_some_and(|word| word & mask == mask)
            && let Some(filed) = self.filed.get(&key)
        {
            consider(filed);
        }
    }

    /// The best key of consecutive bytes: one that few specifications share, and a long one if
    /// there are several. `None` if the specification does not require three consecutive bytes.
    fn rarest(&self, spec: &UrlSpec) -> Option<(u64, KeyKind)> {
        let keys = spec.required().map(str::as_bytes).flat_map(|piece| {
            let (length, kind) = match piece.len() {
                8.. => (8, EIGHT),
                4.. => (4, FOUR),
                _ => (3, THREE),
            };
            piece.windows(length).map(move |run| (key_of(kind, run), kind))
        });
        let rank = |kind| [EIGHT, FOUR, THREE].iter().position(|known| *known == kind);
        // A longer run is preferred even if a few more specifications share it.
        let rarest = keys.min_by_key(|(key, kind)| {
            let count = self.count(*key);
            (count / MANY, rank(*kind), count)
        });
        rarest.map(|(key, kind)| (key, KeyKind::Bytes(kind)))
    }

    fn count(&self, key: u64) -> usize {
        self.filed.get(&key).map_or(0, Vec::len)
    }

    /// The word of the table for a key, and the two bits in it.
    fn bits_of(&self, key: u64) -> (usize, u64) {
        // The number of words is a power of two, and the upper bits of a key are spread best.
        let words = u32::try_from(self.bits.len()).unwrap_or(u32::MAX).trailing_zeros();
        let word = key >> (64 - words);
        (usize::try_from(word).unwrap_or(0), 1 << (key & 63) | 1 << (key >> 6 & 63))
    }

    fn set(&mut self, key: u64) {
        let (word, mask) = self.bits_of(key);
        if let Some(word) = self.bits.get_mut(word) {
            *word |= mask;
        }
    }

    fn grow(&mut self) {
        let words = (self.bits.len() * 2).max(1 << (MIN_BITS - 6));
        self.bits = vec![0; words];
        let keys: Vec<u64> = self.filed.keys().copied().collect();
        for key in keys {
            self.set(key);
        }
    }
}

/// The kind of a key, with the data needed to look it up.
#[derive(Clone, Copy)]
enum KeyKind {
    Host,
    /// The end of a host, with its length in bytes unless the end begins with a dot.
    HostEnd(Option<usize>),
    /// The mark for the number of bytes: `EIGHT`, `FOUR` or `THREE`.
    Bytes(u64),
}

/// The key of the host that a pattern requires: all of it, or its end. `None` if the pattern ends
/// with `*`.
fn host_key(pattern: &str) -> Option<(u64, KeyKind)> {
    let end = pattern.rsplit('*').next().filter(|end| !end.is_empty())?;
    let key = end.bytes().rev().fold(HOST_END, with_byte);
    if end.len() == pattern.len() {
        return Some((spread(whole_host(key)), KeyKind::Host));
    }
    let length = (!end.starts_with('.')).then_some(end.len());
    Some((spread(key), KeyKind::HostEnd(length)))
}

fn with_byte(key: u64, byte: u8) -> u64 {
    (key ^ u64::from(byte)).wrapping_mul(SPREAD).rotate_left(29)
}

/// The key of a whole host, derived from its key as an end.
fn whole_host(key: u64) -> u64 {
    key ^ HOST
}

fn key_of(kind: u64, run: &[u8]) -> u64 {
    let bytes = run.iter().map(u8::to_ascii_lowercase);
    spread(bytes.fold(0, |key, byte| key << 8 | u64::from(byte)) | kind)
}

fn spread(key: u64) -> u64 {
    let key = key.wrapping_mul(SPREAD);
    (key ^ key >> 32).wrapping_mul(SPREAD)
}

/// A hasher that returns the key unchanged, because keys are already spread.
#[derive(Clone, Copy, Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |key, byte| with_byte(key, *byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
