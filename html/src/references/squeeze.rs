//! Runs of characters too long to be part of any URL, shortened before a parser holds them.
//!
//! Pages bring whole images along as `data:` URLs of many megabytes. Nothing is looked for in them, but
//! a parser holds a tag until its end. What is left out of a run is neither blank nor a character that
//! ends anything in HTML, XML, CSS or a script, so that everything else is read as before.

use wwwoffle_url::MAX_LEN;

use super::boundary;

/// Bytes of a run that are kept: more than any URL has.
const MAX_RUN: usize = MAX_LEN + 1;

/// Stands where something was left out, so that no URL is taken for whole that is not. It is no character
/// of any text (Unicode §23.7).
pub(super) const CUT: char = '\u{ffff}';

/// How long the run under way is; beyond the bound, its rest is left out.
#[derive(Debug, Default)]
pub(super) struct Squeeze {
    run: usize,
}

impl Squeeze {
    /// Hands on what is kept of a piece.
    pub(super) fn pass(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.run > MAX_RUN {
                let Some(end) = rest.bytes().position(ends_run) else { return };
                (self.run, rest) = (0, rest.get(end..).unwrap_or_default());
            }
            let Some(end) = self.end_of_room(rest) else { return take(rest) };
            // A character that does not fit as a whole is left out as a whole.
            let (kept, beyond) = rest.split_at(boundary(rest, end));
            take(kept);
            take(CUT.encode_utf8(&mut [0; 4]));
            (self.run, rest) = (MAX_RUN + 1, beyond);
        }
    }

    /// Where a run becomes too long; else what it comes to is noted.
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
