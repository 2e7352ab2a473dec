//! HTML, parsed as a stream with `lol_html`, without a tree.
//!
//! The parser's memory is limited by [`MAX_PARSER_MEMORY`]. The parser remembers the open elements,
//! and their number grows where authors omit end tags. At the limit a new parser starts at the same
//! tag. Only the list of open elements is lost, which is rarely needed for references. If a single
//! tag is longer than the limit, parsing ends.

use std::sync::{Arc, Mutex};

use lol_html::errors::RewritingError;
use lol_html::html_content::{BailOut, Element, TextChunk, TextType};
use lol_html::send::{HtmlRewriter, SendHandlerTypes, Settings};
use lol_html::{MemorySettings, element, text};

use super::element::{Tag, is_of_interest};
use super::entity::{TextPosition, decode};
use super::gather::Collector;
use super::page::{PageCollector, TextForm};
use super::{MAX_PARSER_MEMORY, Truncation};
use crate::parser::{MAX_NAMES, MAX_UNREAD, Restart, STEP, Sink, lock};

/// A parser for HTML that arrives in pieces of any length.
pub(super) struct Html {
    shared: Arc<Mutex<ParserState>>,
    parser: Option<HtmlRewriter<'static, Sink>>,
}

/// The state that the parser's handlers share.
#[derive(Default)]
struct ParserState {
    page: PageCollector,
    names: usize,
    /// Whether the parser has given up. Then it returns its unread bytes.
    gave_up: bool,
    unread: Vec<u8>,
}

/// Parses a complete document.
pub(super) fn read(document: &str, page: PageCollector) -> Collector {
    let mut html = Html::new(page);
    html.write(document);
    html.finish(false)
}

impl Html {
    pub(super) fn new(page: PageCollector) -> Self {
        let shared = Arc::new(Mutex::new(ParserState { page, ..ParserState::default() }));
        let parser = Some(parser(&shared));
        Self { shared, parser }
    }

    pub(super) fn write(&mut self, text: &str) {
        for piece in text.as_bytes().chunks(STEP) {
            let Some(parser) = &mut self.parser else { return };
            if parser.write(piece).is_err() {
                self.restart_parser();
            }
            if lock(&self.shared).page.gather.is_full() {
                self.parser = None;
            }
        }
    }

    /// Starts a new parser at the position where the old one gave up.
    fn restart_parser(&mut self) {
        self.parser = None;
        let unread = {
            let mut shared = lock(&self.shared);
            (shared.names, shared.gave_up) = (0, false);
            shared.page.forget_open();
            std::mem::take(&mut shared.unread)
        };
        let mut replacement = parser(&self.shared);
        if unread.len() <= MAX_UNREAD && replacement.write(&unread).is_ok() {
            self.parser = Some(replacement);
        } else {
            let mut shared = lock(&self.shared);
            shared.page.gather.cut(Truncation::Memory);
            shared.unread = Vec::new();
        }
    }

    /// Ends the document. `is_page` adds the implied icon.
    pub(super) fn finish(mut self, is_page: bool) -> Collector {
        if let Some(parser) = self.parser.take()
            && parser.end().is_err()
        {
            // At most the last tag is unread.
            lock(&self.shared).page.gather.cut(Truncation::Memory);
        }
        let page = std::mem::take(&mut lock(&self.shared).page);
        page.finish(is_page)
    }

    pub(super) fn is_done(&self) -> bool {
        self.parser.is_none()
    }
}

fn parser(shared: &Arc<Mutex<ParserState>>) -> HtmlRewriter<'static, Sink> {
    let (elements, texts) = (Arc::clone(shared), Arc::clone(shared));
    let (giving_up, unread) = (Arc::clone(shared), Arc::clone(shared));
    let memory = MemorySettings::new()
        .with_max_allowed_memory_usage(MAX_PARSER_MEMORY)
        .with_graceful_bail_out_on_memory_limit_exceeded(true);
    let settings = Settings::new_send()
        .with_memory_settings(memory)
        .with_strict(false)
        .with_graceful_bail_out_on_content_handler_error(true)
        .append_element_content_handler(element!("*", move |element: &mut Element<
            '_,
            '_,
            SendHandlerTypes,
        >| { open(element, &elements) }))
        .append_element_content_handler(text!(
            "title, style, script, noscript",
            move |chunk: &mut TextChunk<'_>| {
                let spelling = match chunk.text_type() {
                    TextType::RCData | TextType::Data => TextForm::Encoded,
                    _ => TextForm::Plain,
                };
                lock(&texts).page.text(chunk.as_str(), spelling);
                Ok(())
            }
        ))
        .append_bail_out_handler(move |_: &RewritingError, _: &mut BailOut<'_>| {
            lock(&giving_up).gave_up = true;
        });
    let sink: Sink = Box::new(move |bytes: &[u8]| {
        let mut shared = lock(&unread);
        if shared.gave_up {
            shared.unread.extend_from_slice(bytes);
        }
    });
    HtmlRewriter::new(settings, sink)
}

fn open(
    element: &mut Element<'_, '_, SendHandlerTypes>,
    shared: &Arc<Mutex<ParserState>>,
) -> lol_html::HandlerResult {
    let tag = Tag { name: element.tag_name(), attributes: attributes(element) };
    let has_end = {
        let mut shared = lock(shared);
        shared.names = shared.names.saturating_add(tag.name.len() + 1);
        if shared.names > MAX_NAMES {
            return Err(Box::new(Restart));
        }
        shared.page.open(&tag)
    };
    if has_end {
        let (name, at_end) = (tag.name.clone(), Arc::clone(shared));
        if element.can_have_content() {
            element.on_end_tag(Box::new(move |_| {
                lock(&at_end).page.close(&name);
                Ok(())
            }))?;
        } else {
            lock(shared).page.close(&name);
        }
    }
    Ok(())
}

fn attributes(element: &Element<'_, '_, SendHandlerTypes>) -> Vec<(String, String)> {
    let all = element.attributes().iter().map(|attribute| (attribute.name(), attribute));
    all.filter(|(name, _)| is_of_interest(name))
        .map(|(name, attribute)| {
            (name, decode(&attribute.value(), TextPosition::Attribute).into_owned())
        })
        .collect()
}
