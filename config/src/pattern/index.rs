//! Which specifications of a list could match a URL, found without trying all.
//!
//! Each specification is filed under one thing that a URL must have for it to match: the host, an end
//! of the host, or a few bytes in a row of path or arguments. Of all that it requires, it is filed
//! under what the fewest others are filed under so far, so that `/ads/` in fifty thousand of them does
//! no harm as long as each requires something else too. A URL is then looked up by all that it has. One
//! pass over its bytes does that, and nearly all of them end at a bit of a table that fits the cache.
//!
//! What is found only could match: two different things may share a key, and each specification found
//! is compared as a whole in any case.

use crate::pattern::{parts::UrlParts, spec::UrlSpec};
use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    hash::{BuildHasherDefault, Hasher},
};

/// How many specifications may share a host before they are told apart by what else they require.
const MANY: usize = 8;

/// How many bits of the table there are for each key.
const BITS_PER_KEY: usize = 16;

/// The smallest table, as a power of two bits.
const MIN_BITS: u32 = 12;

/// An odd number without pattern, by which keys are spread (the golden ratio, times 2^64).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What kind of thing a key is of. Runs of eight bytes fill a key, the shorter ones have a mark.
const HOST: u64 = 1;
const HOST_END: u64 = 2;
const THREE: u64 = 3 << 32;
const FOUR: u64 = 4 << 32;
const EIGHT: u64 = 0;

/// Numbers of specifications by what they require.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By key, each in ascending order.
    filed: HashMap<u64, Vec<IndexedSpec>, BuildHasherDefault<IdentityHasher>>,
    /// Two bits of a word for each key that there is.
    bits: Vec<u64>,
    /// Lengths of ends of hosts that do not begin with a dot: each has to be tried on a host.
    lengths: BTreeSet<usize>,
    /// Whether some are filed under bytes of path or arguments: eight, four or three in a row.
    by_eight: bool,
    by_four: bool,
    by_three: bool,
    /// Those that require nothing that has a key.
    always: Vec<IndexedSpec>,
}

/// A specification in the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedSpec {
    pub(crate) number: usize,
    /// A bit for every four bytes in a row that it requires, many of them sharing one.
    runs: u128,
}

/// The runs of four bytes that a URL has, made when first asked for.
struct Runs<'u> {
    url: &'u UrlParts<'u>,
    made: OnceCell<u128>,
}

impl Runs<'_> {
    /// Whether the URL may have all that a specification requires.
    fn have(&self, filed: &IndexedSpec) -> bool {
        let runs =
            self.made.get_or_init(|| runs(self.url.path) | self.url.arguments.map_or(0, runs));
        filed.runs & !runs == 0
    }
}

/// A bit for every four bytes in a row of `text`, in upper or lower case.
fn runs(text: &str) -> u128 {
    let runs = text.as_bytes().windows(4).map(|run| key_of(FOUR, run) >> 57);
    runs.fold(0, |bits, run| bits | 1 << run)
}

impl Index {
    /// Files a specification; numbers come in ascending order.
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

    /// Gives `consider` all specifications that could match a URL, in several runs of ascending
    /// numbers. It says whether to go on with the rest of a run.
    pub(crate) fn candidates(&self, url: &UrlParts<'_>, mut consider: impl FnMut(usize) -> bool) {
        let runs = Runs { url, made: OnceCell::new() };
        let mut consider = |filed: &[IndexedSpec]| {
            let mut may = filed.iter().filter(|filed| filed.runs == 0 || runs.have(filed));
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

    /// From the end of the host, so that the key of each end is there when its first byte is.
    fn by_host(&self, host: &str, consider: &mut impl FnMut(&[IndexedSpec])) {
        let mut key = HOST_END;
        for (length, byte) in (1..).zip(host.bytes().rev()) {
            key = with_byte(key, byte);
            if byte == b'.' || self.lengths.contains(&length) {
                self.look_up(spread(key), consider);
            }
        }
        self.look_up(spread(whole(key)), consider);
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

    /// The key of some bytes in a row that the fewest are filed under, and of those one of the most.
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
        // A wider run is worth more than a few others beside it.
        let rarest = keys.min_by_key(|(key, kind)| {
            let count = self.count(*key);
            (count / MANY, rank(*kind), count)
        });
        rarest.map(|(key, kind)| (key, KeyKind::Bytes(kind)))
    }

    fn count(&self, key: u64) -> usize {
        self.filed.get(&key).map_or(0, Vec::len)
    }

    /// The word of the table and the two bits in it for a key.
    fn bits_of(&self, key: u64) -> (usize, u64) {
        // The number of words is a power of two; the upper bits of a key are spread best.
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

/// What a key is of, and what has to be known to look it up.
#[derive(Clone, Copy)]
enum KeyKind {
    Host,
    /// The length of an end that does not begin with a dot.
    HostEnd(Option<usize>),
    /// How many bytes, by the mark of their keys.
    Bytes(u64),
}

/// The key of what a pattern requires of a host: all of it, or its end.
fn host_key(pattern: &str) -> Option<(u64, KeyKind)> {
    let end = pattern.rsplit('*').next().filter(|end| !end.is_empty())?;
    let key = end.bytes().rev().fold(HOST_END, with_byte);
    if end.len() == pattern.len() {
        return Some((spread(whole(key)), KeyKind::Host));
    }
    let length = (!end.starts_with('.')).then_some(end.len());
    Some((spread(key), KeyKind::HostEnd(length)))
}

fn with_byte(key: u64, byte: u8) -> u64 {
    (key ^ u64::from(byte)).wrapping_mul(SPREAD).rotate_left(29)
}

/// The key of a whole host, by that of all its bytes as an end.
fn whole(key: u64) -> u64 {
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

/// Keys are spread already.
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
