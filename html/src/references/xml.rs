//! XML, parsed event by event with quick-xml.
//!
//! quick-xml parses only complete text. So a piece is buffered and parsed up to the last complete
//! event; the rest waits for the next piece. Entities that a document defines are not expanded,
//! which excludes entity bombs.

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::{BytesStart, Event};

use super::element::{Tag, is_of_interest};
use super::entity::{TextPosition, decode};
use super::feed::FeedCollector;
use super::gather::Collector;
use super::page::{PageCollector, TextForm};
use super::{Class, MAX_HELD, Truncation};

/// The smallest piece that is parsed, in bytes.
const PIECE: usize = 64 * 1024;

/// A parser for XML that arrives in pieces of any length.
#[derive(Debug)]
pub(super) struct Xml {
    held: String,
    /// The buffer length at which parsing is tried again. Without this limit, an incomplete event
    /// would be parsed again with every new piece.
    due: usize,
    vocabulary: Vocabulary,
    is_done: bool,
}

/// The meaning of the elements.
#[derive(Debug)]
pub(super) enum Vocabulary {
    /// XHTML or SVG.
    Page(Box<PageCollector>),
    /// RSS, Atom, sitemaps.
    Feed(Box<FeedCollector>),
}

impl Xml {
    pub(super) fn new(vocabulary: Vocabulary) -> Self {
        Self { held: String::new(), due: PIECE, vocabulary, is_done: false }
    }

    pub(super) fn write(&mut self, text: &str) {
        if self.is_done {
            return;
        }
        self.held.push_str(text);
        if self.held.len() >= self.due {
            self.read(false);
            if self.held.len() > MAX_HELD {
                self.end(Truncation::Memory);
            }
            self.due = PIECE.max(2 * self.held.len()).min(MAX_HELD + 1);
        }
        self.is_done |= self.vocabulary.gather().is_full();
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Ends the document. `is_page` adds the implied icon.
    pub(super) fn finish(mut self, is_page: bool) -> Collector {
        if !self.is_done {
            self.read(true);
        }
        match self.vocabulary {
            Vocabulary::Page(page) => page.finish(is_page),
            Vocabulary::Feed(feed) => feed.finish(),
        }
    }

    fn end(&mut self, cut: Truncation) {
        self.vocabulary.gather().cut(cut);
        self.is_done = true;
        self.held = String::new();
    }

    /// Handles the complete events.
    fn read(&mut self, is_last: bool) {
        let held = std::mem::take(&mut self.held);
        let mut reader = Reader::from_str(&held);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        let mut read = 0;
        let fault = loop {
            let event = reader.read_event();
            let position = usize::try_from(reader.buffer_position()).unwrap_or(held.len());
            match event {
                Ok(Event::Eof) => break None,
                Ok(_) if position - read > MAX_HELD => break Some(Truncation::Memory),
                // The text may continue in the next piece.
                Ok(Event::Text(_)) if position >= held.len() && !is_last => break None,
                Ok(event) => self.vocabulary.event(event),
                Err(Error::Syntax(_)) if !is_last => break None,
                Err(_) => break Some(Truncation::Malformed),
            }
            read = position;
        };
        held.get(read..).unwrap_or_default().clone_into(&mut self.held);
        if let Some(cut) = fault {
            self.end(cut);
        }
    }
}

impl Vocabulary {
    fn gather(&mut self) -> &mut Collector {
        match self {
            Self::Page(page) => &mut page.gather,
            Self::Feed(feed) => &mut feed.gather,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(start) => self.open(&start, false),
            Event::Empty(start) => self.open(&start, true),
            Event::End(end) => self.close(end.local_name().as_ref()),
            Event::Text(text) => self.text(&text),
            Event::CData(text) => self.text(&text),
            Event::GeneralRef(name) => {
                self.text(&decode(&format!("&{};", &*name), TextPosition::Text));
            }
            Event::PI(instruction) if instruction.target() == "xml-stylesheet" => {
                let mut attributes = instruction.attributes();
                let href = attributes
                    .with_checks(false)
                    .flatten()
                    .find(|attribute| attribute.key.as_ref() == "href");
                if let Some(href) = href {
                    let href = decode(&href.value, TextPosition::Attribute).into_owned();
                    self.gather().add(&href, Class::Stylesheet);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, start: &BytesStart<'_>, is_empty: bool) {
        let tag = tag(start);
        match self {
            Self::Page(page) => {
                page.open(&tag);
            }
            Self::Feed(feed) => feed.open(prefix(start.name().as_ref()), &tag),
        }
        if is_empty {
            self.close(&tag.name);
        }
    }

    fn close(&mut self, name: &str) {
        let name = name.to_ascii_lowercase();
        match self {
            Self::Page(page) => page.close(&name),
            Self::Feed(feed) => feed.close(&name),
        }
    }

    fn text(&mut self, text: &str) {
        match self {
            Self::Page(page) => page.text(text, TextForm::Plain),
            Self::Feed(feed) => feed.text(text),
        }
    }
}

/// The part of a name before the colon.
fn prefix(name: &str) -> &str {
    name.split_once(':').map_or("", |(prefix, _)| prefix)
}

fn tag(start: &BytesStart<'_>) -> Tag {
    let mut tag = Tag { name: start.local_name().as_ref().to_ascii_lowercase(), ..Tag::default() };
    for attribute in start.attributes().with_checks(false).flatten() {
        let name: &str = attribute.key.as_ref();
        let local = attribute.key.local_name().as_ref().to_ascii_lowercase();
        if prefix(name) == "xmlns" || !is_of_interest(&local) {
            continue;
        }
        let is_linking = local == "href" && !prefix(name).is_empty();
        let name = if is_linking { "xlink:href".to_owned() } else { local };
        tag.attributes.push((name, decode(&attribute.value, TextPosition::Attribute).into_owned()));
    }
    tag
}
