//! XHTML, prepared for a parser of HTML.
//!
//! In HTML, `<script/>` only opens an element, so a parser of HTML would read the rest of the page as
//! a script. So an empty element gets an end tag: `<script></script>` is the same in XML.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{Mark, Marks};

/// The longest name of an element that gets an end tag, in bytes. Names of HTML are shorter.
const MAX_NAME: usize = 64;

/// Elements that are empty in HTML too.
const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param",
    b"source", b"track", b"wbr",
];

/// Adds the end tags of empty elements to a page that arrives in pieces of any length. The encoding
/// must be compatible with ASCII.
#[derive(Debug, Default)]
pub(super) struct EmptyElements {
    state: State,
    name: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// After `<`.
    Open,
    /// In the name of a start tag.
    Name,
    /// After the name of a start tag.
    Tag,
    /// In the value of an attribute, up to this quote.
    Value(u8),
    /// After a `/` in a start tag.
    Slash,
    /// In an end tag or a declaration, up to `>`.
    Other,
    /// In a comment, CDATA section or processing instruction, up to these bytes. The number says how
    /// many of them were read.
    Until(&'static [u8], usize),
    /// After `<!`, `<!-` or `<![`.
    Bang(u8),
}

impl EmptyElements {
    /// Returns the next piece with the end tags.
    pub(super) fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut sent = Vec::with_capacity(piece.len() + piece.len() / 16);
        for &byte in piece {
            let was_slash = matches!(self.state, State::Slash);
            let is_empty = self.step(byte);
            let is_expanded =
                is_empty && self.name.len() < MAX_NAME && !VOID.contains(&self.name.as_slice());
            // A slash is held back until the next byte.
            if was_slash && !is_expanded {
                sent.push(b'/');
            }
            if is_expanded {
                sent.extend([b"></", self.name.as_slice(), b">"].concat());
            } else if !matches!(self.state, State::Slash) {
                sent.push(byte);
            }
        }
        sent
    }

    /// Returns the byte that is held back at the end of the page, if there is one.
    pub(super) fn finish(&self) -> &'static [u8] {
        if matches!(self.state, State::Slash) { b"/" } else { b"" }
    }

    /// Reads a byte. Returns whether it ends the tag of an empty element.
    fn step(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (State::Text, b'<') => State::Open,
            (State::Text, _) | (State::Bang(_) | State::Other | State::Name | State::Tag, b'>') => {
                State::Text
            }
            (State::Open, b'!') => State::Bang(b'!'),
            (State::Open, b'?') => State::Until(b"?>", 0),
            (State::Open, b'/') => State::Other,
            (State::Open, _) => {
                self.name.clear();
                self.name.push(byte);
                State::Name
            }
            (State::Bang(b'!'), b'-' | b'[') => State::Bang(byte),
            (State::Bang(b'-'), b'-') => State::Until(b"-->", 0),
            (State::Bang(b'['), _) => State::Until(b"]]>", 0),
            (State::Bang(_) | State::Other, _) => State::Other,
            (State::Until(end, read), _) => until(end, read, byte),
            (State::Name, byte) if !byte.is_ascii_whitespace() && !b"/>".contains(&byte) => {
                if self.name.len() < MAX_NAME {
                    self.name.push(byte);
                }
                State::Name
            }
            (State::Slash, b'>') => {
                self.state = State::Text;
                return true;
            }
            (State::Name | State::Tag | State::Slash, b'/') => State::Slash,
            (State::Tag | State::Slash, b'"' | b'\'') => State::Value(byte),
            (State::Value(quote), _) if byte != quote => State::Value(quote),
            (State::Name | State::Tag | State::Slash | State::Value(_), _) => State::Tag,
        };
        false
    }
}

/// The state after a byte of a part that goes up to `end`, of which `read` bytes were read.
fn until(end: &'static [u8], read: usize, byte: u8) -> State {
    let read = match end.get(read) {
        Some(next) if *next == byte => read + 1,
        // `--->` and `]]]>` end these parts too.
        _ if end.starts_with(&[byte]) => read.min(end.len() - 1).max(1),
        _ => 0,
    };
    if read == end.len() { State::Text } else { State::Until(end, read) }
}

impl Marks {
    /// The marks that may be inserted into a page that is read as XML. Others are left out: they
    /// would make the page unreadable.
    #[must_use]
    pub fn for_xml(self) -> Self {
        let keep = |mark: Mark| {
            let is_sound = is_well_formed(&format!("{}{}", mark.begin, mark.end));
            if is_sound { mark } else { Mark::default() }
        };
        Self { kept: keep(self.kept), queued: keep(self.queued), absent: keep(self.absent) }
    }
}

/// Whether `markup` is well-formed XML content without entities of its own.
fn is_well_formed(markup: &str) -> bool {
    let whole = format!("<x>{markup}</x>");
    let mut reader = Reader::from_str(&whole);
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return true,
            Ok(Event::GeneralRef(name)) => {
                let known = ["lt", "gt", "amp", "quot", "apos"];
                if !known.contains(&&*name) && !name.is_char_ref() {
                    return false;
                }
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_get_end_tags() {
        for (given, want) in [
            ("<script src='a/>'/>b", "<script src='a/>'></script>b"),
            ("<br/><hr /><img a=\"/\"/>", "<br/><hr /><img a=\"/\"/>"),
            ("<p/><svg:path d='x' />", "<p></p><svg:path d='x' ></svg:path>"),
            ("<p>a/></p>", "<p>a/></p>"),
            ("<!-- <p/> ---><p/>", "<!-- <p/> ---><p></p>"),
            ("<![CDATA[<p/>]]]><p/>", "<![CDATA[<p/>]]]><p></p>"),
            ("<?x <p/> ?><p/>", "<?x <p/> ?><p></p>"),
            ("<!DOCTYPE html><p/>", "<!DOCTYPE html><p></p>"),
            ("<a / b='/'><i/", "<a / b='/'><i/"),
        ] {
            for length in 1..=given.len() {
                let mut expand = EmptyElements::default();
                let pieces = given.as_bytes().chunks(length).map(|piece| expand.write(piece));
                let mut sent = pieces.collect::<Vec<_>>().concat();
                sent.extend(expand.finish());
                assert_eq!(String::from_utf8(sent).unwrap(), want, "{given} {length}");
            }
        }
    }

    #[test]
    fn a_mark_that_is_no_xml_is_left_out() {
        let mark = |begin: &str, end: &str| Mark { begin: begin.to_owned(), end: end.to_owned() };
        for (given, is_kept) in [
            (mark("", " &#10003;"), true),
            (mark("<b>", "</b>"), true),
            (mark("<b>", ""), false),
            (mark("", "&nbsp;"), false),
            (mark("<br>", ""), false),
            (mark("", "&"), false),
        ] {
            let kept = Marks { kept: given.clone(), ..Marks::default() }.for_xml().kept;
            assert_eq!(kept, if is_kept { given.clone() } else { Mark::default() }, "{given:?}");
        }
    }
}
