//! Pseudo-random numbers and words, the same in every run.

/// The number of different words.
const VOCABULARY: f64 = 50_000.0;

/// The syllables of all words.
const SYLLABLES: [&str; 32] = [
    "ba", "ne", "pi", "el", "tra", "ck", "zon", "met", "ri", "sto", "log", "vu", "qua", "dro",
    "fy", "mo", "an", "ter", "in", "lu", "ka", "shi", "or", "den", "gra", "hil", "os", "wen", "ju",
    "pe", "cal", "thi",
];

/// Pseudo-random numbers from a seed (SplitMix64).
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Adds a word. Few words are frequent and most are rare: the word of rank *r* occurs about
    /// 1/*r* as often as the first one, as in natural text.
    pub(crate) fn word(&mut self, text: &mut String) {
        // An `f64` needs only 32 bits here.
        let even =
            f64::from(u32::try_from(self.next() >> 32).unwrap_or_default()) / 4_294_967_296.0;
        spell(VOCABULARY.powf(even), text);
    }

    /// Adds `count` words separated by spaces.
    pub(crate) fn words(&mut self, count: u64, text: &mut String) {
        for number in 0..count {
            if number > 0 {
                text.push(' ');
            }
            self.word(text);
        }
    }
}

/// Adds the word of this rank. Frequent words are short.
fn spell(rank: f64, text: &mut String) {
    // Truncated on purpose: a rank is a whole number below the size of the vocabulary.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    let mut rank = rank as usize;
    loop {
        text.push_str(SYLLABLES[rank % SYLLABLES.len()]);
        rank /= SYLLABLES.len();
        if rank == 0 {
            return;
        }
    }
}
