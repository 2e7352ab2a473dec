//! Shortens runs of characters that are too long for any URL, before a parser buffers them.
//!
//! Pages embed images as `data:` URLs of many megabytes. These contain no references, but a parser
//! buffers a tag until its end. The removed characters are neither spaces nor delimiters in HTML,
//! XML, CSS or scripts, so the rest is parsed as if they were present.

use wwwoffle_url::MAX_LEN;

use super::boundary;

/// The number of bytes of a run that stay: more than any URL has.
const MAX_RUN: usize = MAX_LEN + 1;

/// The mark for removed text, so that a shortened URL is not taken for a complete one: a
/// noncharacter (Unicode §23.7).
pub(super) const CUT: char = '\u{ffff}';

/// A filter that removes the part of each run beyond the maximum length.
#[derive(Debug, Default)]
pub(super) struct Squeeze {
    run: usize,
}

impl Squeeze {
    /// Calls `take` with the parts of `text` that stay.
    pub(super) fn shorten_text(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.run > MAX_RUN {
                let Some(end) = rest.bytes().position(ends_run) else { return };
                (self.run, rest) = (0, rest.get(end..).unwrap_or_default());
            }
            let Some(end) = self.end_of_room(rest) else { return take(rest) };
            // If only a part of a character fits, the whole character is removed.
            let (kept, beyond) = rest.split_at(boundary(rest, end));
            take(kept);
            take(CUT.encode_utf8(&mut [0; 4]));
            (self.run, rest) = (MAX_RUN + 1, beyond);
        }
    }

    /// Returns the position at which a run becomes too long, or `None` if no run does. Updates the
    /// length of the current run.
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
            squeeze.shorten_text(piece, |text| kept.push_str(text));
        }
        kept
    }

    #[test]
    fn only_runs_longer_than_a_url_are_shortened() {
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
