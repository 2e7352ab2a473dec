//! Shortens runs of characters that are too long for any URL before a parser buffers them.
//!
//! Pages embed images as `data:` URLs of many megabytes. They contain no references, but a parser
//! buffers a tag until its end. The removed characters are neither spaces nor delimiters in HTML,
//! XML, CSS or scripts, so everything else is parsed as before.

use wwwoffle_url::MAX_LEN;

use super::boundary;

/// How many bytes of a run are kept: more than any URL has.
const MAX_RUN: usize = MAX_LEN + 1;

/// Marks removed text, so that a shortened URL is not taken for a complete one. It is a
/// noncharacter (Unicode §23.7).
pub(super) const CUT: char = '\u{ffff}';

/// The length of the current run; beyond the bound its rest is removed.
#[derive(Debug, Default)]
pub(super) struct Squeeze {
    run: usize,
}

impl Squeeze {
    /// Passes on the retained text of a piece.
    pub(super) fn pass(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.run > MAX_RUN {
                let Some(end) = rest.bytes().position(ends_run) else { return };
                (self.run, rest) = (0, rest.get(end..).unwrap_or_default());
            }
            let Some(end) = self.end_of_room(rest) else { return take(rest) };
            // A character that does not fit completely is removed completely.
            let (kept, beyond) = rest.split_at(boundary(rest, end));
            take(kept);
            take(CUT.encode_utf8(&mut [0; 4]));
            (self.run, rest) = (MAX_RUN + 1, beyond);
        }
    }

    /// The position at which the run becomes too long; otherwise its length is recorded.
    fn end_of_room(&mut self, text: &str) -> Option<usize> {
        for (index, byte) in text.bytes().enumerate() {
            self.run = if ends_run(byte) { 0 } else { self.run + 1 };
            if self.run > MAX_RUN {
                return Some(index);
            }
        }
        None
    }
}

fn ends_run(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}'
    ) || matches!(byte, b';' | b',' | b'=' | b'\\' | b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(pieces: &[&str]) -> String {
        let (mut squeeze, mut kept) = (Squeeze::default(), String::new());
        for piece in pieces {
            squeeze.pass(piece, |text| kept.push_str(text));
        }
        kept
    }

    #[test]
    fn only_what_is_longer_than_a_url_is_shortened() {
        let (fits, long) = ("a".repeat(MAX_RUN), "é".repeat(MAX_RUN));
        assert_eq!(squeezed(&["<a b=", &fits, ">"]).len(), MAX_RUN + 6);
        let whole = format!("<a b='{fits}' c='{long}' d>{fits} {fits}");
        let kept = squeezed(&[&whole]);
        assert_eq!(
            kept,
            format!("<a b='{fits}' c='{}{CUT}' d>{fits} {fits}", "é".repeat(MAX_RUN / 2))
        );
        let pieces: Vec<&str> = whole.split_inclusive('é').collect();
        assert_eq!(squeezed(&pieces), kept);
    }
}
