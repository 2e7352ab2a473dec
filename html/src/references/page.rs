//! The state of a page during parsing: open elements, and text that contains references.

use super::element::{self, ElementContext, Tag};
use super::entity::{self, TextPosition};
use super::gather::Collector;
use super::manifest::ImportMap;
use super::script::Script;
use super::{MAX_HELD, MAX_INNER, MAX_NESTING, MAX_TITLE, Truncation, boundary, css::Css, html};

/// The maximum number of bytes of an undecoded title that are read.
const MAX_RAW_TITLE: usize = 4 * MAX_TITLE;

/// The maximum amount of text with character references that is buffered before decoding, in bytes.
const MAX_ENCODED: usize = 1 << 20;

/// The receiver of elements and text from the HTML or XML parser.
#[derive(Debug, Default)]
pub(super) struct PageCollector {
    pub(super) gather: Collector,
    around: ElementContext,
    inside: TextElement,
    /// Undecoded text, because a character reference may be split between pieces.
    encoded: String,
    names: ImportMap,
    /// The number of open `svg` elements. Their titles are not page titles.
    pictures: u32,
    /// The nesting level of this document.
    depth: u32,
}

/// The element whose text is being read.
#[derive(Debug, Default)]
enum TextElement {
    #[default]
    Nothing,
    Title(String),
    Style(Css),
    Script(Box<Script>),
    /// `<script type="importmap">`.
    Names(String),
    Noscript(String),
}

/// The form of a text: with or without character references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextForm {
    Plain,
    Encoded,
}

impl PageCollector {
    pub(super) fn new(gather: Collector) -> Self {
        Self { gather, ..Self::default() }
    }

    /// Creates the state of an inner document, with the context of this one.
    fn inner(&mut self, gather: Collector) -> Self {
        let (names, depth) = (self.names.clone(), self.depth + 1);
        let around =
            ElementContext { templates: self.around.templates, ..ElementContext::default() };
        Self { gather, around, names, depth, ..Self::default() }
    }

    /// Handles a start tag. Returns whether [`close`](Self::close) must be called at its end.
    pub(super) fn open(&mut self, tag: &Tag) -> bool {
        element::read(tag, &mut self.around, &mut self.gather);
        match tag.name.as_str() {
            "template" => self.around.templates = self.around.templates.saturating_add(1),
            "svg" => self.pictures = self.pictures.saturating_add(1),
            "iframe" => {
                if let Some(document) = tag.filled("srcdoc") {
                    let base = self.gather.save_base();
                    self.nested(document);
                    self.gather.restore_base(base);
                }
                return false;
            }
            "title" | "style" | "script" | "noscript" => {
                self.end_element_text();
                self.inside = self.text_of(tag);
            }
            _ => return false,
        }
        true
    }

    fn text_of(&self, tag: &Tag) -> TextElement {
        let is_first = self.depth == 0 && self.gather.found.title.is_none();
        match tag.name.as_str() {
            "title" if is_first && self.pictures == 0 => TextElement::Title(String::new()),
            "style" => TextElement::Style(Css::default()),
            "noscript" => TextElement::Noscript(String::new()),
            "script" => match tag.get("type").unwrap_or_default().to_ascii_lowercase().as_str() {
                "importmap" => TextElement::Names(String::new()),
                ""
                | "module"
                | "text/javascript"
                | "application/javascript"
                | "text/ecmascript"
                | "application/ecmascript"
                | "application/x-javascript" => {
                    TextElement::Script(Box::new(Script::new(self.names.clone())))
                }
                _ => TextElement::Nothing,
            },
            _ => TextElement::Nothing,
        }
    }

    /// Handles text of the last opened element.
    pub(super) fn text(&mut self, text: &str, spelling: TextForm) {
        if matches!(self.inside, TextElement::Nothing) {
            return;
        }
        if spelling == TextForm::Plain {
            self.decode();
            self.plain(text);
        } else {
            buffer_text(&mut self.encoded, text, MAX_ENCODED, &mut self.gather);
        }
    }

    fn decode(&mut self) {
        if !self.encoded.is_empty() {
            let encoded = std::mem::take(&mut self.encoded);
            self.plain(&entity::decode(&encoded, TextPosition::Text));
        }
    }

    fn plain(&mut self, text: &str) {
        match &mut self.inside {
            TextElement::Nothing => {}
            TextElement::Style(css) => css.write(text, &mut self.gather),
            TextElement::Script(script) => script.write(text, &mut self.gather),
            TextElement::Title(held) => {
                held.push_str(clipped(text, MAX_RAW_TITLE.saturating_sub(held.len())));
            }
            TextElement::Names(held) | TextElement::Noscript(held) => {
                buffer_text(held, text, MAX_HELD, &mut self.gather);
            }
        }
    }

    /// Handles the end of an element.
    pub(super) fn close(&mut self, name: &str) {
        match name {
            "template" => self.around.templates = self.around.templates.saturating_sub(1),
            "svg" => self.pictures = self.pictures.saturating_sub(1),
            "title" | "style" | "script" | "noscript" => self.end_element_text(),
            _ => {}
        }
    }

    /// Handles the end of an element's text.
    fn end_element_text(&mut self) {
        self.decode();
        match std::mem::take(&mut self.inside) {
            TextElement::Nothing => {}
            TextElement::Title(text) => self.gather.found.title = title(&text),
            TextElement::Style(css) => css.finish(&mut self.gather),
            TextElement::Script(script) => script.finish(&mut self.gather),
            TextElement::Names(text) => self.names = ImportMap::read(&text, &mut self.gather),
            TextElement::Noscript(text) => self.nested(&text),
        }
    }

    /// Parses HTML inside the document.
    fn nested(&mut self, text: &str) {
        // Text without any of these characters contains no attributes, functions or at-rules, so no
        // references.
        if !text.contains(['=', '(', '@']) {
            return;
        }
        if self.depth >= MAX_NESTING || self.gather.inner >= MAX_INNER {
            self.gather.cut(Truncation::Nesting);
            return;
        }
        self.gather.inner += 1;
        let gather = std::mem::take(&mut self.gather);
        let inner = self.inner(gather);
        self.gather = html::read(text, inner);
    }

    /// Discards the open elements. The parser was replaced in the middle of the document, so their
    /// ends will not be reported.
    pub(super) fn forget_open(&mut self) {
        (self.around.templates, self.pictures) = (0, 0);
    }

    /// Ends the document. `is_page` adds the implied icon, except in an inner document.
    pub(super) fn finish(mut self, is_page: bool) -> Collector {
        self.end_element_text();
        if is_page && self.depth == 0 && !self.around.has_icon {
            self.gather.add_implied();
        }
        self.gather
    }
}

/// Appends text up to a maximum length. The rest is dropped, and the document counts as cut.
fn buffer_text(held: &mut String, text: &str, room: usize, gather: &mut Collector) {
    let fitting = clipped(text, room.saturating_sub(held.len()));
    held.push_str(fitting);
    if fitting.len() < text.len() {
        gather.cut(Truncation::Memory);
    }
}

fn clipped(text: &str, room: usize) -> &str {
    text.get(..boundary(text, room)).unwrap_or_default()
}

/// The title with white space collapsed; `None` if it is empty.
pub(super) fn title(text: &str) -> Option<String> {
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    title.truncate(boundary(&title, MAX_TITLE));
    title.truncate(title.trim_end().len());
    Some(title).filter(|title| !title.is_empty())
}
