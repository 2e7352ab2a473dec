//! Repairs characters that old programs wrote incorrectly. The repair works byte by byte, before
//! the page is parsed.

use std::collections::BTreeSet;

use encoding_rs::{Encoding, KOI8_R, WINDOWS_1251, WINDOWS_1252, WINDOWS_1254, WINDOWS_1258};

use super::Repair;

/// The repair of a page's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharRepair {
    Nothing,
    MsChars,
    Cyrillic,
}

/// The bytes of windows-1252 punctuation. In ISO-8859 encodings these bytes are control characters.
const MS: std::ops::RangeInclusive<u8> = 0x80..=0x9f;

/// The bytes of KOI8-R box drawing characters, which are punctuation in windows-1251.
const FRAMES: std::ops::RangeInclusive<u8> = 0x80..=0xbf;

/// The two letters among the box drawing characters of KOI8-R: ё and Ё.
const LETTERS: [u8; 2] = [0xa3, 0xb3];

impl CharRepair {
    /// The repair for a page in this encoding.
    pub(super) fn of(mends: &BTreeSet<Repair>, encoding: &'static Encoding) -> Self {
        let has_ms_chars = [WINDOWS_1252, WINDOWS_1254, WINDOWS_1258].contains(&encoding)
            || encoding.name().starts_with("ISO-8859-");
        if has_ms_chars && mends.contains(&Repair::MsChars) {
            Self::MsChars
        } else if encoding == KOI8_R && mends.contains(&Repair::Cyrillic) {
            Self::Cyrillic
        } else {
            Self::Nothing
        }
    }

    /// Returns the repaired bytes.
    pub(super) fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut mended = Vec::with_capacity(bytes.len());
        for byte in bytes {
            match self {
                Self::MsChars if MS.contains(byte) => mended.extend_from_slice(ascii(*byte)),
                Self::Cyrillic if FRAMES.contains(byte) && !LETTERS.contains(byte) => {
                    let one = [*byte];
                    let (text, _) = WINDOWS_1251.decode_without_bom_handling(&one);
                    let number = text.chars().next().map_or(0xfffd, u32::from);
                    mended.extend_from_slice(format!("&#{number};").as_bytes());
                }
                _ => mended.push(*byte),
            }
        }
        mended
    }
}

/// The ASCII replacement of a windows-1252 byte. Quotation marks become character references
/// because they may be in an attribute.
fn ascii(byte: u8) -> &'static [u8] {
    match byte {
        0x80 => b"EUR",
        0x82 => b",",
        0x83 => b"f",
        0x84 => b",,",
        0x85 => b"...",
        0x86 => b"+",
        0x87 => b"++",
        0x88 => b"^",
        0x89 => b"0/00",
        0x8a => b"S",
        0x8b => b"&lt;",
        0x8c => b"OE",
        0x8e => b"Z",
        0x91 => b"`",
        0x92 => b"&#39;",
        0x93 | 0x94 => b"&quot;",
        0x95 => b"*",
        0x96 => b"-",
        0x97 => b"--",
        0x98 => b"~",
        0x99 => b"(TM)",
        0x9a => b"s",
        0x9b => b"&gt;",
        0x9c => b"oe",
        0x9e => b"z",
        0x9f => b"Y",
        // The bytes 81, 8D, 8F, 90 and 9D are undefined in windows-1252 too.
        _ => b"?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{KOI8_U, UTF_8};

    #[test]
    fn the_character_repair_depends_on_the_encoding() {
        let both: BTreeSet<_> = [Repair::MsChars, Repair::Cyrillic].into();
        let iso = Encoding::for_label(b"iso-8859-2").unwrap();
        for (encoding, want) in [
            (WINDOWS_1252, CharRepair::MsChars),
            (iso, CharRepair::MsChars),
            // In this encoding, these bytes are letters.
            (WINDOWS_1251, CharRepair::Nothing),
            (KOI8_R, CharRepair::Cyrillic),
            (KOI8_U, CharRepair::Nothing),
            (UTF_8, CharRepair::Nothing),
        ] {
            assert_eq!(CharRepair::of(&both, encoding), want, "{}", encoding.name());
            assert_eq!(CharRepair::of(&BTreeSet::new(), encoding), CharRepair::Nothing);
        }
    }

    #[test]
    fn wrong_characters_are_repaired_and_others_stay() {
        for (mending, bytes, want) in [
            (
                CharRepair::MsChars,
                &b"\x93a\x94 \x96 caf\xe9\x85\x81"[..],
                &b"&quot;a&quot; - caf\xe9...?"[..],
            ),
            // \xab is a quotation mark in windows-1251 and a box drawing character in KOI8-R. \xa3
            // is a letter in KOI8-R.
            (CharRepair::Cyrillic, b"\xab\xc4\xa3\xbb\x97", b"&#171;\xc4\xa3&#187;&#8212;"),
            (CharRepair::Nothing, b"\x93\xab", b"\x93\xab"),
        ] {
            assert_eq!(mending.apply(bytes), want, "{mending:?} {}", bytes.escape_ascii());
        }
    }
}
