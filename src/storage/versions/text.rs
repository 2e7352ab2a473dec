//! The text of a page as a reader sees it, line by line, without markup, scripts and styles.
//!
//! Pure and bounded: a text longer than `MAX_TEXT` or `MAX_LINES` is truncated and marked as such.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use lol_html::errors::SelectorError;
use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{
    ElementContentHandlers, HandlerResult, HtmlRewriter, MemorySettings, Selector, Settings,
    doc_text, element, text,
};

use wwwoffle_html::references::{BodyKind, HEAD, charset, entity};
use wwwoffle_http::media_type::essence;

/// Maximum length of the text of one page, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// Maximum number of lines of one page.
pub const MAX_LINES: usize = 20_000;

/// Maximum length of a line in bytes. A longer line is split.
const MAX_LINE: usize = 4 << 10;

/// Maximum length of a title in bytes.
const MAX_TITLE: usize = 1 << 10;

/// Maximum memory of the parser in bytes.
pub(super) const MAX_PARSER: usize = 8 << 20;

/// Inline elements. All other elements begin a new line.
pub(super) const INLINE: [&str; 36] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del",
    "dfn", "em", "font", "i", "img", "input", "ins", "kbd", "label", "mark", "q", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionText {
    /// The title of the page, if it has one.
    pub title: Option<String>,
    /// The lines of the text.
    pub lines: Vec<String>,
    /// Whether the text was truncated.
    pub is_cut: bool,
}

/// The part of a page whose changes matter; by default the whole page.
#[derive(Clone, Debug, Default)]
pub struct PagePart {
    /// A selector of the elements whose text counts, in HTML.
    selector: Option<String>,
    /// The words, in lower case: a line counts if it contains one of them. Empty if all lines
    /// count.
    words: Vec<String>,
}

impl PagePart {
    /// The part with these elements and words.
    ///
    /// # Errors
    ///
    /// If `selector` is not a CSS selector that we know.
    pub fn new(selector: Option<&str>, words: Option<&str>) -> Result<Self, SelectorError> {
        let words = words.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
        if let Some(selector) = selector {
            selector.parse::<Selector>()?;
        }
        Ok(Self { selector: selector.map(str::to_owned), words })
    }

    /// Whether this is the whole page.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.selector.is_none() && self.words.is_empty()
    }

    fn has(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.words.is_empty() || self.words.iter().any(|word| line.contains(word))
    }
}

/// The text of a decoded body. `None` if the body is not readable text, but an image, for example.
#[must_use]
pub fn extract(content_type: Option<&str>, url: &str, body: &[u8]) -> Option<VersionText> {
    extract_part(content_type, url, body, &PagePart::default())
}

/// The text of a part of a decoded body; see [`extract`].
#[must_use]
pub fn extract_part(
    content_type: Option<&str>,
    url: &str,
    body: &[u8],
    part: &PagePart,
) -> Option<VersionText> {
    let head = body.get(..HEAD).unwrap_or(body);
    let kind = BodyKind::of(content_type, url, head);
    let is_html = matches!(kind, BodyKind::Html | BodyKind::Xhtml);
    if !is_html && !is_text(kind, content_type) {
        return None;
    }
    let (decoded, _, _) = charset::choose(kind, content_type, head).decode(body);
    let mut text =
        if is_html { of_html(&decoded, part.selector.as_deref()) } else { of_lines(&decoded) };
    text.lines.retain(|line| part.has(line));
    Some(text)
}

/// An HTML document as text with its markup. `None` if the decoded body is another kind of file.
#[must_use]
pub fn html(content_type: Option<&str>, url: &str, body: &[u8]) -> Option<String> {
    let head = body.get(..HEAD).unwrap_or(body);
    let kind = BodyKind::of(content_type, url, head);
    if !matches!(kind, BodyKind::Html | BodyKind::Xhtml) {
        return None;
    }
    let (decoded, _, _) = charset::choose(kind, content_type, head).decode(body);
    Some(decoded.into_owned())
}

/// A decoded body as text with its markup. `None` if the body is not readable text.
#[must_use]
pub fn source(content_type: Option<&str>, url: &str, body: &[u8]) -> Option<String> {
    let head = body.get(..HEAD).unwrap_or(body);
    let kind = BodyKind::of(content_type, url, head);
    // A body that contains NUL bytes is treated as binary, even if its type is a text type.
    if !is_text(kind, content_type) || body.contains(&0) {
        return None;
    }
    let (decoded, _, _) = charset::choose(kind, content_type, head).decode(body);
    Some(decoded.into_owned())
}

fn is_text(kind: BodyKind, content_type: Option<&str>) -> bool {
    let essence = essence(content_type.unwrap_or_default());
    kind != BodyKind::None
        || essence.starts_with("text/")
        || ["application/json", "application/xml"].contains(&essence.as_str())
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
}

fn of_lines(text: &str) -> VersionText {
    let mut gather = Gather::default();
    for line in text.lines() {
        gather.push(line);
        gather.end_line();
    }
    gather.finish()
}

fn of_html(html: &str, selector: Option<&str>) -> VersionText {
    let gather = Rc::new(RefCell::new(Gather::default()));
    let (starts, titles, texts) = (Rc::clone(&gather), Rc::clone(&gather), Rc::clone(&gather));
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MAX_PARSER);
    let take = move |chunk: &mut TextChunk<'_>| -> HandlerResult {
        // Scripts, styles and the contents of form fields are left out.
        if matches!(chunk.text_type(), TextType::Data | TextType::PlainText) {
            texts.borrow_mut().raw(chunk.as_str(), chunk.last_in_text_node());
        }
        Ok(())
    };
    let settings = Settings::new()
        .with_memory_settings(memory)
        .with_strict(false)
        .append_element_content_handler(element!("*", move |element: &mut Element<'_, '_>| {
            if INLINE.contains(&element.tag_name().as_str()) {
                return Ok(());
            }
            starts.borrow_mut().end_line();
            let ends = Rc::clone(&starts);
            if let Some(handlers) = element.end_tag_handlers() {
                handlers.push(Box::new(move |_| {
                    ends.borrow_mut().end_line();
                    Ok(())
                }));
            }
            Ok(())
        }))
        .append_element_content_handler(text!("title", move |chunk: &mut TextChunk<'_>| {
            titles.borrow_mut().title(chunk.as_str());
            Ok(())
        }));
    // The selector was parsed before.
    let settings = match selector.and_then(|selector| selector.parse::<Selector>().ok()) {
        Some(selector) => settings.append_element_content_handler((
            Cow::Owned(selector),
            ElementContentHandlers::default().text(take),
        )),
        None => settings.append_document_content_handler(doc_text!(take)),
    };
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    let is_read = rewriter.write(html.as_bytes()).and_then(|()| rewriter.end()).is_ok();
    let mut gather = std::mem::take(&mut *gather.borrow_mut());
    gather.is_cut |= !is_read;
    gather.finish()
}

/// The last position, at most `most`, at which the text can be split.
fn boundary(text: &str, most: usize) -> usize {
    let most = most.min(text.len());
    (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
}

/// The text gathered so far.
#[derive(Debug, Default)]
struct Gather {
    title: String,
    lines: Vec<String>,
    line: String,
    /// Text with character references, which may be split between pieces.
    raw: String,
    bytes: usize,
    is_cut: bool,
}

impl Gather {
    fn title(&mut self, piece: &str) {
        let room = MAX_TITLE.saturating_sub(self.title.len());
        self.title.push_str(piece.get(..boundary(piece, room)).unwrap_or_default());
    }

    fn raw(&mut self, piece: &str, is_last: bool) {
        self.raw.push_str(piece);
        if is_last || self.raw.len() > MAX_LINE {
            let raw = std::mem::take(&mut self.raw);
            self.push(&entity::decode(&raw, entity::TextPosition::Text));
        }
    }

    /// Appends text to the line. Adjacent white space becomes one blank.
    fn push(&mut self, text: &str) {
        let is_blank = |c: char| c.is_ascii_whitespace() || c == '\u{a0}';
        for (index, word) in text.split(is_blank).enumerate() {
            if index > 0 && !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
            let mut rest = word;
            while !rest.is_empty() {
                let room = MAX_LINE.saturating_sub(self.line.len());
                let (fits, beyond) = rest.split_at(boundary(rest, room));
                self.line.push_str(fits);
                rest = beyond;
                if !rest.is_empty() {
                    self.end_line();
                }
            }
            if self.is_full() {
                return;
            }
        }
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.bytes + self.line.len() > MAX_TEXT || self.lines.len() >= MAX_LINES;
        self.is_cut |= is_full;
        is_full
    }

    fn end_line(&mut self) {
        if self.is_full() {
            self.line.clear();
            return;
        }
        let line = self.line.trim_end();
        if !line.is_empty() {
            self.bytes += line.len();
            self.lines.push(line.to_owned());
        }
        self.line.clear();
    }

    fn finish(mut self) -> VersionText {
        let raw = std::mem::take(&mut self.raw);
        self.push(&entity::decode(&raw, entity::TextPosition::Text));
        self.end_line();
        let title = entity::decode(&self.title, entity::TextPosition::Text);
        let title = title.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let title = Some(title).filter(|title| !title.is_empty());
        VersionText { title, lines: self.lines, is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content_type: &str, body: &[u8]) -> Vec<String> {
        extract(Some(content_type), "http://h.example/", body).unwrap().lines
    }

    #[test]
    fn only_the_chosen_part_of_a_page_is_read() {
        let html = "text/html; charset=utf-8";
        let body = "<p>Rain<ul id=n><li>one <b>Two</b><li>three</ul><div class=p>4</div><p>two";
        for (selector, words, want) in [
            (None, None, &["Rain", "one Two", "three", "4", "two"][..]),
            (Some("#n"), None, &["one Two", "three"]),
            (Some("#n li, #n b"), None, &["one Two", "three"]),
            (Some("#n, div.p"), None, &["one Two", "three", "4"]),
            (None, Some("TWO  rain"), &["Rain", "one Two", "two"]),
            (Some("#n"), Some("two"), &["one Two"]),
            (Some("table"), None, &[]),
        ] {
            let part = PagePart::new(selector, words).unwrap();
            let text = extract_part(Some(html), "http://h.example/", body.as_bytes(), &part);
            assert_eq!(text.unwrap().lines, want, "{selector:?} {words:?}");
            assert_eq!(part.is_whole(), selector.is_none() && words.is_none());
        }
        // Plain text has no elements.
        let part = PagePart::new(Some("p"), Some("b")).unwrap();
        let text = extract_part(Some("text/plain"), "http://h.example/", b"a\nb\n", &part);
        assert_eq!(text.unwrap().lines, ["b"]);
        for invalid in ["", "a[", "p + p", "::before"] {
            assert!(PagePart::new(Some(invalid), None).is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn a_page_is_read_as_a_person_reads_it() {
        let html = "text/html; charset=utf-8";
        for (body, want) in [
            ("one two\n three", &["one two three"][..]),
            ("<p>one<p>two", &["one", "two"]),
            ("<p>one</p>two", &["one", "two"]),
            ("<b>one</b>two <i>three</i>", &["onetwo three"]),
            ("a<br>b<hr>c", &["a", "b", "c"]),
            ("<ul><li>a<li>b</ul>c", &["a", "b", "c"]),
            ("<title>no</title><style>p{}</style><script>x()</script>yes", &["yes"]),
            ("a <!-- no --> b", &["a b"]),
            ("<textarea>no</textarea>yes", &["yes"]),
            ("R&eacute;sum&#xe9; &lt;b&gt; A&nbsp;B &amp;lt;", &["Résumé <b> A B &lt;"]),
            ("<table><tr><td>1<td>2</table>", &["1", "2"]),
            ("", &[]),
        ] {
            assert_eq!(lines(html, body.as_bytes()), want, "{body}");
        }
        let text = extract(Some(html), "http://h/", b"<title> A &amp;\n B </title>x").unwrap();
        assert_eq!(text.title.as_deref(), Some("A & B"));
    }

    #[test]
    fn the_encoding_of_a_text_is_detected() {
        for (content_type, body) in [
            ("text/html; charset=iso-8859-1", &b"<p>gr\xfc\xdfe"[..]),
            ("text/html", b"<meta charset=windows-1252><p>gr\xfc\xdfe"),
            ("text/html", "<p>gr\u{fc}\u{df}e".as_bytes()),
            ("text/plain; charset=utf-16le", b"g\0r\0\xfc\0\xdf\0e\0"),
        ] {
            assert_eq!(lines(content_type, body), ["grüße"], "{content_type}");
        }
    }

    #[test]
    fn binary_bodies_have_no_text() {
        for content_type in
            ["image/png", "application/octet-stream", "video/mp4", "application/pdf"]
        {
            assert_eq!(extract(Some(content_type), "http://h/", b"\x89PNG"), None);
        }
        assert_eq!(lines("application/json", b"{\n \"a\": 1\n}"), ["{", "\"a\": 1", "}"]);
    }

    #[test]
    #[ignore = "slow"]
    fn the_text_of_a_version_is_limited() {
        for body in [
            "x".repeat(3 * MAX_TEXT),
            "<p>y".repeat(2 * MAX_LINES),
            "z ".repeat(MAX_TEXT),
            "<div>".repeat(300_000),
            "&amp;".repeat(MAX_TEXT),
            "<".repeat(MAX_TEXT),
        ] {
            let text = extract(Some("text/html"), "http://h/", body.as_bytes()).unwrap();
            let bytes: usize = text.lines.iter().map(String::len).sum();
            assert!(bytes <= MAX_TEXT + MAX_LINE && text.lines.len() <= MAX_LINES);
            assert!(text.lines.iter().all(|line| line.len() <= MAX_LINE));
        }
    }
}
