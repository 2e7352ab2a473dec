//! Rewrites a page that arrives in pieces, with `lol_html`.

use std::sync::{Arc, Mutex};

use encoding_rs::{Decoder, Encoding, UTF_8};
use lol_html::errors::RewritingError;
use lol_html::html_content::{BailOut, ContentType, DocumentEnd, Element, TextChunk, TextType};
use lol_html::send::{HtmlRewriter, SendHandlerTypes, Settings};
use lol_html::{AsciiCompatibleEncoding, HandlerResult, MemorySettings, element, end, text};
use wwwoffle_url::BrowserUrl;

use super::mend::CharRepair;
use super::tag_policy::{TagChange, TagPolicy};
use super::xhtml::EmptyElements;
use super::{Changes, MAX_NOSCRIPT, MAX_PARSER_MEMORY, PageKnowledge, Removal, inward, saved};
use crate::parser::{MAX_NAMES, MAX_UNREAD, Restart, STEP, Sink, lock};
use crate::references::css::Pieces;
use crate::references::element::Tag;
use crate::references::{BodyKind, charset, entity};

/// The maximum nesting of `noscript` elements that is parsed.
const MAX_NESTING: u32 = 2;

/// A rewriter for one page that arrives in pieces of any length.
///
/// ```
/// # use std::sync::Arc;
/// # use wwwoffle_html::rewrite::{Changes, Removal, PageKnowledge, Rewriter, UrlStatus};
/// # use wwwoffle_url::BrowserUrl;
/// # struct Nothing;
/// # impl PageKnowledge for Nothing {
/// #     fn is_blocked(&self, _: &str) -> bool { false }
/// #     fn status_of(&self, _: &str) -> UrlStatus { UrlStatus::Absent }
/// # }
/// let changes = Changes { cuts: [Removal::Scripts].into(), ..Changes::default() };
/// let url = BrowserUrl::parse("http://a.example/", None)?;
/// let mut page = Rewriter::new(changes.into(), Arc::new(Nothing), url, Some("text/html"));
/// let mut sent = page.write(b"<p>a<scr");
/// sent.extend(page.write(b"ipt>b()</script>"));
/// sent.extend(page.finish());
/// assert_eq!(sent, b"<p>a");
/// # Ok::<(), wwwoffle_url::BrowserError>(())
/// ```
#[derive(Debug)]
pub struct Rewriter {
    content_type: Option<String>,
    stage: PageStage,
}

enum PageStage {
    /// The encoding is not known yet.
    Head(Vec<u8>, Box<TagPolicy>),
    Page(Box<OpenPage>),
    /// The page is passed on without parsing.
    Through(CharRepair),
    /// The rest of the page is not sent, because an unparsed page must not be sent in the gateway.
    Ended,
}

/// A page that is being parsed.
struct OpenPage {
    mending: CharRepair,
    /// For a page of XHTML: adds the end tags that a parser of HTML needs.
    xhtml: Option<EmptyElements>,
    /// The decoder of a page whose references are replaced and whose encoding is not
    /// ASCII-compatible. The page is then sent as UTF-8. `None` for other pages.
    decoder: Option<Decoder>,
    parser: Parser,
}

impl std::fmt::Debug for PageStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PageStage::Head(..) => "Head",
            PageStage::Page(_) => "Page",
            PageStage::Through(_) => "Through",
            PageStage::Ended => "Ended",
        })
    }
}

impl Rewriter {
    /// A rewriter for a page at `url` with this `Content-Type`.
    #[must_use]
    pub fn new(
        changes: Arc<Changes>,
        known: Arc<dyn PageKnowledge>,
        url: BrowserUrl,
        content_type: Option<&str>,
    ) -> Self {
        let content_type = content_type.map(str::to_owned);
        Self {
            content_type,
            stage: PageStage::Head(Vec::new(), Box::new(TagPolicy::new(changes, known, url))),
        }
    }

    /// Returns the output for the next piece. The output may be empty.
    #[must_use]
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        if let PageStage::Head(head, _) = &mut self.stage {
            head.extend_from_slice(piece);
            return if head.len() < charset::PRESCAN { Vec::new() } else { self.begin() };
        }
        self.step(piece)
    }

    /// Returns the rest of the output.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.finish_and_check().0
    }

    /// Returns the rest of the output, and whether the output is the whole page. It is not if the
    /// references of a page are replaced and the parser has given up before its end.
    #[must_use]
    pub fn finish_and_check(mut self) -> (Vec<u8>, bool) {
        let mut sent = self.begin();
        let open = match self.stage {
            PageStage::Page(open) => open,
            PageStage::Ended => return (sent, false),
            PageStage::Through(_) | PageStage::Head(..) => return (sent, true),
        };
        let OpenPage { decoder, mut parser, xhtml, .. } = *open;
        let last = decoder.map(|mut decoder| decoded(&mut decoder, &[], true));
        let mut is_whole = true;
        for piece in [xhtml.map(|xhtml| xhtml.finish().to_vec()), last].into_iter().flatten() {
            let (output, unread) = parser.write(&piece);
            sent.extend(output);
            is_whole &= unread.is_none();
        }
        let (output, has_ended_well) = parser.finish();
        sent.extend(output);
        (sent, is_whole && has_ended_well)
    }

    /// Determines the encoding from the head, and returns the rewritten head. Returns nothing if
    /// the encoding is already known.
    fn begin(&mut self) -> Vec<u8> {
        let stage = std::mem::replace(&mut self.stage, PageStage::Ended);
        let PageStage::Head(head, mut policy) = stage else {
            self.stage = stage;
            return Vec::new();
        };
        let is_inside = policy.reference_context().is_some();
        let is_xhtml = BodyKind::of(self.content_type.as_deref(), "", &head) == BodyKind::Xhtml;
        // If references are replaced, such a page is sent as HTML.
        let kind = if is_xhtml && !is_inside { BodyKind::Xhtml } else { BodyKind::Html };
        let encoding = charset::choose(kind, self.content_type.as_deref(), &head);
        let mending = CharRepair::of(&policy.changes().mends, encoding);
        policy.set_encoding(encoding);
        let ascii = AsciiCompatibleEncoding::new(encoding);
        let (decoder, mut sent) = match ascii {
            None if is_inside => (Some(encoding.new_decoder()), BOM.to_vec()),
            _ => (None, Vec::new()),
        };
        let read_as = if decoder.is_some() { UTF_8 } else { encoding };
        let head_elements = saved::head_elements(policy.changes(), &head, read_as);
        self.stage = match Parser::new(*policy, read_as, 0) {
            Some(parser) => {
                let xhtml = (is_xhtml && decoder.is_none()).then(Default::default);
                PageStage::Page(Box::new(OpenPage { mending, xhtml, decoder, parser }))
            }
            None if is_inside => PageStage::Ended,
            None => PageStage::Through(mending),
        };
        let (before, after) = head.split_at(saved::end_of_doctype(&head));
        if let Some(elements) = head_elements {
            sent.extend(self.step(before));
            sent.extend(elements.into_bytes());
            sent.extend(self.step(after));
        } else {
            sent.extend(self.step(&head));
        }
        sent
    }

    fn step(&mut self, piece: &[u8]) -> Vec<u8> {
        match &mut self.stage {
            PageStage::Ended => Vec::new(),
            PageStage::Through(CharRepair::Nothing) | PageStage::Head(..) => piece.to_vec(),
            PageStage::Through(mending) => mending.apply(piece),
            PageStage::Page(open) => {
                let mending = open.mending;
                let given = match &mut open.decoder {
                    Some(decoder) => Some(decoded(decoder, piece, false)),
                    None => (mending != CharRepair::Nothing).then(|| mending.apply(piece)),
                };
                let given = match &mut open.xhtml {
                    Some(xhtml) => Some(xhtml.write(given.as_deref().unwrap_or(piece))),
                    None => given,
                };
                let (mut sent, unread) = open.parser.write(given.as_deref().unwrap_or(piece));
                if let Some(unread) = unread {
                    self.stage = if open.parser.is_inside() {
                        PageStage::Ended
                    } else {
                        sent.extend(unread);
                        PageStage::Through(mending)
                    };
                }
                sent
            }
        }
    }
}

/// The UTF-8 byte order mark, which overrides `Content-Type` (Encoding Standard §6).
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

fn decoded(decoder: &mut Decoder, bytes: &[u8], is_last: bool) -> Vec<u8> {
    let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
    let mut text = String::with_capacity(room);
    let _ = decoder.decode_to_string(bytes, &mut text, is_last);
    text.into_bytes()
}

/// The parser of one document.
struct Parser {
    /// `None` once the parser has given up.
    rewriter: Option<HtmlRewriter<'static, Sink>>,
    shared: Arc<RewriteState>,
    encoding: AsciiCompatibleEncoding,
    nesting: u32,
}

/// State shared by the handlers of a parser and its replacement.
struct RewriteState {
    policy: Mutex<TagPolicy>,
    output: Mutex<PageOutput>,
    /// Text that is collected until it is complete.
    held: Mutex<String>,
    sheet: Mutex<Pieces>,
}

#[derive(Default)]
struct PageOutput {
    sent: Vec<u8>,
    names: usize,
    /// Whether the parser has given up. Then it returns its unread bytes.
    gave_up: bool,
    unread: Vec<u8>,
}

impl Parser {
    /// Creates a parser. `None` if the encoding is not ASCII-compatible.
    fn new(policy: TagPolicy, encoding: &'static Encoding, nesting: u32) -> Option<Self> {
        let encoding = AsciiCompatibleEncoding::new(encoding)?;
        let shared = Arc::new(RewriteState {
            policy: Mutex::new(policy),
            output: Mutex::default(),
            held: Mutex::default(),
            sheet: Mutex::default(),
        });
        let rewriter = Some(rewriter(&shared, encoding, nesting));
        Some(Self { rewriter, shared, encoding, nesting })
    }

    fn is_inside(&self) -> bool {
        lock(&self.shared.policy).reference_context().is_some()
    }

    /// Returns the output for a piece and, if the parser cannot continue, the unread rest.
    fn write(&mut self, piece: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
        let mut steps = piece.chunks(STEP);
        let is_sound = steps.by_ref().all(|step| {
            let given = self.rewriter.as_mut().map(|rewriter| rewriter.write(step));
            given.is_some_and(|given| given.is_ok()) || self.restart_parser()
        });
        let mut output = lock(&self.shared.output);
        let sent = std::mem::take(&mut output.sent);
        let unread = (!is_sound).then(|| {
            let mut unread = std::mem::take(&mut output.unread);
            steps.for_each(|step| unread.extend_from_slice(step));
            unread
        });
        (sent, unread)
    }

    /// Starts a new parser at the position where the old one gave up. Returns false if that fails,
    /// because a single tag is too long.
    fn restart_parser(&mut self) -> bool {
        self.rewriter = None;
        let unread = {
            let mut output = lock(&self.shared.output);
            (output.names, output.gave_up) = (0, false);
            std::mem::take(&mut output.unread)
        };
        let mut replacement = rewriter(&self.shared, self.encoding, self.nesting);
        if unread.len() > MAX_UNREAD {
            lock(&self.shared.output).unread = unread;
            return false;
        }
        let is_sound = replacement.write(&unread).is_ok();
        if is_sound {
            self.rewriter = Some(replacement);
        }
        is_sound
    }

    /// Returns the rest of the output, and whether nothing was left out.
    fn finish(self) -> (Vec<u8>, bool) {
        let is_inside = self.is_inside();
        // Outside the gateway, the unread rest of the last tag is sent unchanged.
        let is_whole = self.rewriter.is_none_or(|rewriter| rewriter.end().is_ok());
        let mut output = lock(&self.shared.output);
        let mut sent = std::mem::take(&mut output.sent);
        if !is_whole && !is_inside {
            sent.extend_from_slice(&output.unread);
        }
        (sent, is_whole || !is_inside)
    }
}

fn rewriter(
    shared: &Arc<RewriteState>,
    encoding: AsciiCompatibleEncoding,
    nesting: u32,
) -> HtmlRewriter<'static, Sink> {
    let memory = MemorySettings::new()
        .with_max_allowed_memory_usage(MAX_PARSER_MEMORY)
        .with_graceful_bail_out_on_memory_limit_exceeded(true);
    let (shows_noscript, is_inside) = {
        let policy = lock(&shared.policy);
        (policy.cuts(Removal::Scripts), policy.reference_context().is_some())
    };
    let of = || Arc::clone(shared);
    let (elements, giving_up, to, at_end) = (of(), of(), of(), of());
    let mut settings = Settings::new_send()
        .with_memory_settings(memory)
        .with_strict(false)
        .with_graceful_bail_out_on_content_handler_error(true)
        .with_encoding(encoding)
        .append_element_content_handler(element!("*", move |element: &mut Element<
            '_,
            '_,
            SendHandlerTypes,
        >| open(element, &elements, nesting)))
        .append_bail_out_handler(move |_: &RewritingError, _: &mut BailOut<'_>| {
            lock(&giving_up.output).gave_up = true;
        });
    if shows_noscript {
        let shared = of();
        let show = move |chunk: &mut TextChunk<'_>| {
            show(chunk, &shared, nesting);
            Ok(())
        };
        settings = settings.append_element_content_handler(text!("noscript", show));
    }
    if is_inside {
        let shared = of();
        let lead = move |chunk: &mut TextChunk<'_>| {
            rewrite_sheet(chunk, &shared);
            Ok(())
        };
        settings = settings.append_element_content_handler(text!("style", lead));
    }
    if nesting == 0 {
        let append = move |end: &mut DocumentEnd<'_>| {
            let policy = lock(&at_end.policy);
            if let Some(bar) = &policy.changes().bar {
                end.append(&bar.html, ContentType::Html);
            }
            if let Some(onward) = policy.onward_link() {
                end.append(&onward, ContentType::Html);
            }
            Ok(())
        };
        settings = settings.append_document_content_handler(end!(append));
    }
    let sink: Sink = Box::new(move |bytes: &[u8]| {
        let mut output = lock(&to.output);
        let output = &mut *output;
        let into = if output.gave_up { &mut output.unread } else { &mut output.sent };
        into.extend_from_slice(bytes);
    });
    HtmlRewriter::new(settings, sink)
}

fn open(
    element: &mut Element<'_, '_, SendHandlerTypes>,
    shared: &RewriteState,
    nesting: u32,
) -> HandlerResult {
    let attributes = element.attributes().iter().map(|attribute| {
        let value =
            entity::decode(&attribute.value(), entity::TextPosition::Attribute).into_owned();
        (attribute.name(), value)
    });
    let tag = Tag { name: element.tag_name(), attributes: attributes.collect() };
    {
        let mut output = lock(&shared.output);
        output.names = output.names.saturating_add(tag.name.len() + 1);
        if output.names > MAX_NAMES {
            return Err(Box::new(Restart));
        }
    }
    let deeds = lock(&shared.policy).open(&tag);
    for deed in deeds {
        match deed {
            TagChange::Remove => element.remove(),
            TagChange::Unwrap | TagChange::Show => element.remove_and_keep_content(),
            TagChange::Drop(name) => element.remove_attribute(&name),
            TagChange::Set(name, value) => {
                element.set_attribute(name, &value.replace('&', "&amp;"))?;
            }
            TagChange::Mark(mark) => {
                element.prepend(&mark.begin, ContentType::Html);
                element.append(&mark.end, ContentType::Html);
            }
            TagChange::Document(name, text) => {
                let inner = inner(&lock(&shared.policy).clone(), &text, nesting);
                element.set_attribute(name, &inner.replace('&', "&amp;"))?;
            }
        }
    }
    Ok(())
}

/// Rewrites an inner document. Returns an empty text if it is nested too deep.
fn inner(policy: &TagPolicy, text: &str, nesting: u32) -> String {
    let nesting = Some(nesting + 1).filter(|nesting| *nesting <= MAX_NESTING);
    let sent =
        nesting.and_then(|nesting| Parser::new(policy.clone(), UTF_8, nesting)).map(|parser| {
            let mut parser = parser;
            let (mut sent, unread) = parser.write(text.as_bytes());
            if unread.is_none() {
                sent.extend(parser.finish().0);
            }
            String::from_utf8_lossy(&sent).into_owned()
        });
    sent.unwrap_or_default()
}

/// Shows the contents of a `noscript` element. To a browser with scripts they are text; here they
/// are an inner document.
fn show(chunk: &mut TextChunk<'_>, shared: &RewriteState, nesting: u32) {
    let Some(text) = complete_text(chunk, shared) else { return chunk.remove() };
    let policy = lock(&shared.policy).clone();
    chunk.replace(&inner(&policy, &text, nesting), ContentType::Html);
}

/// Returns the complete text with its last chunk; `None` before that. Text beyond the limit is
/// dropped.
fn complete_text(chunk: &TextChunk<'_>, shared: &RewriteState) -> Option<String> {
    let mut held = lock(&shared.held);
    if held.len().saturating_add(chunk.as_str().len()) <= MAX_NOSCRIPT {
        held.push_str(chunk.as_str());
    }
    chunk.last_in_text_node().then(|| std::mem::take(&mut *held))
}

/// Rewrites a style sheet in a page whose references are replaced.
fn rewrite_sheet(chunk: &mut TextChunk<'_>, shared: &RewriteState) {
    let policy = lock(&shared.policy);
    let Some(within) = policy.reference_context() else { return };
    if chunk.text_type() == TextType::Data {
        // In SVG, the content of a `style` element is parsed as ordinary text.
        let Some(text) = complete_text(chunk, shared) else { return chunk.remove() };
        let text = entity::decode(&text, entity::TextPosition::Text);
        return chunk.replace(&inward::sheet(&text, &within), ContentType::Text);
    }
    let (mut led, mut sheet) = (String::new(), lock(&shared.sheet));
    sheet.write(chunk.as_str(), |piece, _| led.push_str(&inward::sheet(piece, &within)));
    if chunk.last_in_text_node() {
        let last = std::mem::take(&mut *sheet);
        last.finish(|piece, _| led.push_str(&inward::sheet(piece, &within)));
    }
    chunk.replace(&led, ContentType::Html);
}
