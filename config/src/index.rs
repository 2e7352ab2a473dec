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

use crate::{parts::UrlParts, spec::UrlSpec};
use std::{
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

/// What kind of thing a key is of. A run of bytes is told apart by its length.
const HOST: u64 = 1;
const HOST_END: u64 = 2;
const THREE: u64 = 3 << 32;
const FOUR: u64 = 4 << 32;

/// Numbers of specifications by what they require.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By key, each in ascending order.
    numbers: HashMap<u64, Vec<usize>, BuildHasherDefault<AsIs>>,
    /// A bit for each key there may be.
    bits: Vec<u64>,
    /// Lengths of ends of hosts that do not begin with a dot: each has to be tried on a host.
    lengths: BTreeSet<usize>,
    /// Whether some are filed under bytes of path or arguments, and three in a row.
    by_bytes: bool,
    by_three: bool,
    /// Those that require nothing that has a key.
    always: Vec<usize>,
}

impl Index {
    /// Files a specification; numbers come in ascending order.
    pub(crate) fn add(&mut self, number: usize, spec: &UrlSpec) {
        let host = host_key(spec.host_pattern());
        let key = match host {
            Some(key) if self.filed(key.0) < MANY => Some(key),
            _ => self.rarest(spec).or(host),
        };
        let Some((key, kind)) = key else { return self.always.push(number) };
        match kind {
            Kind::Host => {}
            Kind::HostEnd(length) => self.lengths.extend(length),
            Kind::Bytes(three) => {
                self.by_bytes = true;
                self.by_three |= three;
            }
        }
        self.numbers.entry(key).or_default().push(number);
        if self.numbers.len() * BITS_PER_KEY > self.bits.len() * 64 {
            self.grow();
        } else {
            self.set(key);
        }
    }

    /// Gives `consider` the lists of all specifications that could match a URL.
    pub(crate) fn candidates<'a>(
        &'a self,
        url: &UrlParts<'_>,
        mut consider: impl FnMut(&'a [usize]),
    ) {
        if !self.bits.is_empty() {
            self.by_host(url.host, &mut consider);
            if self.by_bytes {
                self.by_bytes(url.path, &mut consider);
                self.by_bytes(url.arguments.unwrap_or_default(), &mut consider);
            }
        }
        if !self.always.is_empty() {
            consider(&self.always);
        }
    }

    /// From the end of the host, so that the key of each end is there when its first byte is.
    fn by_host<'a>(&'a self, host: &str, consider: &mut impl FnMut(&'a [usize])) {
        let mut key = HOST_END;
        for (length, byte) in (1..).zip(host.bytes().rev()) {
            key = with_byte(key, byte);
            if byte == b'.' || self.lengths.contains(&length) {
                self.look_up(spread(key), consider);
            }
        }
        self.look_up(spread(whole(key)), consider);
    }

    fn by_bytes<'a>(&'a self, text: &str, consider: &mut impl FnMut(&'a [usize])) {
        let mut last = 0_u32;
        for (count, byte) in (1_usize..).zip(text.bytes()) {
            last = last << 8 | u32::from(byte.to_ascii_lowercase());
            if count >= 4 {
                self.look_up(spread(FOUR | u64::from(last)), consider);
            }
            if count >= 3 && self.by_three {
                self.look_up(spread(THREE | u64::from(last & 0x00ff_ffff)), consider);
            }
        }
    }

    fn look_up<'a>(&'a self, key: u64, consider: &mut impl FnMut(&'a [usize])) {
        let (word, bit) = self.bit_of(key);
        if self.bits.get(word).is_some_and(|word| word & bit != 0)
            && let Some(numbers) = self.numbers.get(&key)
        {
            consider(numbers);
        }
    }

    /// The key of three or four bytes that the fewest are filed under.
    fn rarest(&self, spec: &UrlSpec) -> Option<(u64, Kind)> {
        let keys = spec.required().flat_map(|piece| {
            // Three bytes are many a time the end of a name, so four come before them.
            let wide = piece.as_bytes().windows(4).map(|run| (key_of(FOUR, run), false));
            let all = if piece.len() == 3 { piece.as_bytes() } else { b"" };
            wide.chain(all.windows(3).map(|run| (key_of(THREE, run), true)))
        });
        let rarest = keys.min_by_key(|(key, three)| (self.filed(*key), *three));
        rarest.map(|(key, three)| (key, Kind::Bytes(three)))
    }

    fn filed(&self, key: u64) -> usize {
        self.numbers.get(&key).map_or(0, Vec::len)
    }

    /// The word of the table and the bit in it for a key.
    fn bit_of(&self, key: u64) -> (usize, u64) {
        // The number of bits is a power of two; the upper bits of a key are spread best.
        let bits = u32::try_from(self.bits.len()).unwrap_or(u32::MAX).trailing_zeros() + 6;
        let bit = key >> (64 - bits);
        (usize::try_from(bit >> 6).unwrap_or(0), 1 << (bit & 63))
    }

    fn set(&mut self, key: u64) {
        let (word, bit) = self.bit_of(key);
        if let Some(word) = self.bits.get_mut(word) {
            *word |= bit;
        }
    }

    fn grow(&mut self) {
        let words = (self.bits.len() * 2).max(1 << (MIN_BITS - 6));
        self.bits = vec![0; words];
        let keys: Vec<u64> = self.numbers.keys().copied().collect();
        for key in keys {
            self.set(key);
        }
    }
}

/// What a key is of, and what has to be known to look it up.
#[derive(Clone, Copy)]
enum Kind {
    Host,
    /// The length of an end that does not begin with a dot.
    HostEnd(Option<usize>),
    /// Whether it is of three bytes.
    Bytes(bool),
}

/// The key of what a pattern requires of a host: all of it, or its end.
fn host_key(pattern: &str) -> Option<(u64, Kind)> {
    let end = pattern.rsplit('*').next().filter(|end| !end.is_empty())?;
    let key = end.bytes().rev().fold(HOST_END, with_byte);
    if end.len() == pattern.len() {
        return Some((spread(whole(key)), Kind::Host));
    }
    let length = (!end.starts_with('.')).then_some(end.len());
    Some((spread(key), Kind::HostEnd(length)))
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
struct AsIs(u64);

impl Hasher for AsIs {
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
