//! A page in pieces, by `lol_html`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use encoding_rs::{Encoding, UTF_8};
use lol_html::html_content::{ContentType, DocumentEnd, Element, TextChunk};
use lol_html::send::{HtmlRewriter, SendHandlerTypes, Settings};
use lol_html::{AsciiCompatibleEncoding, HandlerResult, MemorySettings, element, end, text};
use wwwoffle_url::BrowserUrl;

use super::judge::{Deed, Judge, Tag};
use super::mend::Mending;
use super::{Changes, Cut, Known, MAX_NOSCRIPT, MAX_PARSER_MEMORY};
use crate::links::{Kind, charset, entity};

/// How deep what stands for browsers without scripts is read in itself.
const MAX_NESTING: u32 = 2;

/// How much the parser gets at once, in bytes.
const STEP: usize = 16 * 1024;

/// Changes one page, that comes in pieces of any length.
///
/// ```
/// # use std::sync::Arc;
/// # use wwwoffle::rewrite::{Changes, Cut, Known, Rewriter, Standing};
/// # use wwwoffle_url::BrowserUrl;
/// # struct Nothing;
/// # impl Known for Nothing {
/// #     fn is_blocked(&self, _: &str) -> bool { false }
/// #     fn standing(&self, _: &str) -> Standing { Standing::Absent }
/// # }
/// let changes = Changes { cuts: [Cut::Scripts].into(), ..Changes::default() };
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
    stage: Stage,
}

enum Stage {
    /// Its encoding is not known yet.
    Head(Vec<u8>, Box<Judge>),
    Page(Mending, Box<Parser>),
    /// It goes on as it comes.
    Through(Mending),
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Head(..) => "Head",
            Stage::Page(..) => "Page",
            Stage::Through(_) => "Through",
        })
    }
}

impl Rewriter {
    /// Begins with a page at `url`, of this `Content-Type`.
    #[must_use]
    pub fn new(
        changes: Arc<Changes>,
        known: Arc<dyn Known>,
        url: BrowserUrl,
        content_type: Option<&str>,
    ) -> Self {
        let content_type = content_type.map(str::to_owned);
        Self {
            content_type,
            stage: Stage::Head(Vec::new(), Box::new(Judge::new(changes, known, url))),
        }
    }

    /// What is sent for the next piece. It may be nothing yet.
    #[must_use]
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        if let Stage::Head(head, _) = &mut self.stage {
            head.extend_from_slice(piece);
            return if head.len() < charset::PRESCAN { Vec::new() } else { self.begin() };
        }
        self.step(piece)
    }

    /// What is sent at the end.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let mut sent = self.begin();
        if let Stage::Page(_, parser) = self.stage {
            sent.extend(parser.finish());
        }
        sent
    }

    /// Reads the head, if that was not done yet.
    fn begin(&mut self) -> Vec<u8> {
        let stage = std::mem::replace(&mut self.stage, Stage::Through(Mending::Nothing));
        let Stage::Head(head, mut judge) = stage else {
            self.stage = stage;
            return Vec::new();
        };
        let encoding = charset::choose(Kind::Html, self.content_type.as_deref(), &head);
        let mending = Mending::of(&judge.changes().mends, encoding);
        judge.set_encoding(encoding);
        self.stage = match Parser::new(*judge, encoding, 0) {
            Some(parser) => Stage::Page(mending, Box::new(parser)),
            None => Stage::Through(mending),
        };
        self.step(&head)
    }

    fn step(&mut self, piece: &[u8]) -> Vec<u8> {
        match &mut self.stage {
            Stage::Through(Mending::Nothing) | Stage::Head(..) => piece.to_vec(),
            Stage::Through(mending) => mending.apply(piece),
            Stage::Page(mending, parser) => {
                let mending = *mending;
                let mended = (mending != Mending::Nothing).then(|| mending.apply(piece));
                let (sent, is_sound) = parser.write(mended.as_deref().unwrap_or(piece));
                if !is_sound {
                    self.stage = Stage::Through(mending);
                }
                sent
            }
        }
    }
}

/// The parser of one document.
struct Parser {
    rewriter: HtmlRewriter<'static, Sink>,
    sent: Sent,
}

type Sink = Box<dyn FnMut(&[u8]) + Send>;
type Sent = Arc<Mutex<Vec<u8>>>;

/// No handler panics while it holds a lock; if one did, what is there would be sound all the same.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parser {
    /// `None` for an encoding in which tags are not ASCII.
    fn new(judge: Judge, encoding: &'static Encoding, nesting: u32) -> Option<Self> {
        let encoding = AsciiCompatibleEncoding::new(encoding)?;
        let memory = MemorySettings::new()
            .with_max_allowed_memory_usage(MAX_PARSER_MEMORY)
            .with_graceful_bail_out_on_memory_limit_exceeded(true);
        let bar = judge.changes().bar.as_ref().filter(|_| nesting == 0).map(|bar| bar.html.clone());
        let shows_noscript = judge.cuts(Cut::Scripts);
        let (judge, held) = (Arc::new(Mutex::new(judge)), Mutex::new(String::new()));
        let of_elements = Arc::clone(&judge);
        let mut settings = Settings::new_send()
            .with_memory_settings(memory)
            .with_strict(false)
            .with_encoding(encoding)
            .append_element_content_handler(element!("*", move |element: &mut Element<
                '_,
                '_,
                SendHandlerTypes,
            >| open(
                element,
                &of_elements
            )));
        if shows_noscript {
            let show = move |chunk: &mut TextChunk<'_>| {
                show(chunk, &judge, &held, nesting);
                Ok(())
            };
            settings = settings.append_element_content_handler(text!("noscript", show));
        }
        if let Some(bar) = bar {
            let append = move |end: &mut DocumentEnd<'_>| {
                end.append(&bar, ContentType::Html);
                Ok(())
            };
            settings = settings.append_document_content_handler(end!(append));
        }
        let sent = Sent::default();
        let to = Arc::clone(&sent);
        let sink: Sink = Box::new(move |bytes: &[u8]| lock(&to).extend_from_slice(bytes));
        Some(Self { rewriter: HtmlRewriter::new(settings, sink), sent })
    }

    /// What is sent for a piece, and whether the parser can go on. If not, all of the piece is there.
    fn write(&mut self, piece: &[u8]) -> (Vec<u8>, bool) {
        let mut steps = piece.chunks(STEP);
        let is_sound = steps.by_ref().all(|step| self.rewriter.write(step).is_ok());
        let mut sent = std::mem::take(&mut *lock(&self.sent));
        // Where it gave up it has sent what it was given.
        steps.for_each(|step| sent.extend_from_slice(step));
        (sent, is_sound)
    }

    fn finish(self) -> Vec<u8> {
        // What it cannot read of the last tag it sends as it is.
        let _ = self.rewriter.end();
        std::mem::take(&mut *lock(&self.sent))
    }
}

fn open(
    element: &mut Element<'_, '_, SendHandlerTypes>,
    judge: &Arc<Mutex<Judge>>,
) -> HandlerResult {
    let attributes = element.attributes().iter().map(|attribute| {
        let value = entity::decode(&attribute.value(), entity::Place::Attribute).into_owned();
        (attribute.name(), value)
    });
    let tag = Tag { name: element.tag_name(), attributes: attributes.collect() };
    let deeds = lock(judge).open(&tag);
    for deed in deeds {
        match deed {
            Deed::Remove => element.remove(),
            Deed::Unwrap | Deed::Show => element.remove_and_keep_content(),
            Deed::Drop(name) => element.remove_attribute(&name),
            Deed::Set(name, value) => {
                element.set_attribute(name, &value.replace('&', "&amp;"))?;
            }
            Deed::Mark(mark) => {
                element.prepend(&mark.begin, ContentType::Html);
                element.append(&mark.end, ContentType::Html);
            }
        }
    }
    Ok(())
}

/// What stands for browsers without scripts is text to those with them, and a document of its own here.
fn show(chunk: &mut TextChunk<'_>, judge: &Mutex<Judge>, held: &Mutex<String>, nesting: u32) {
    let mut held = lock(held);
    if held.len().saturating_add(chunk.as_str().len()) <= MAX_NOSCRIPT {
        held.push_str(chunk.as_str());
    }
    if !chunk.last_in_text_node() {
        return chunk.remove();
    }
    let text = std::mem::take(&mut *held);
    let judge = lock(judge).clone();
    let inner = Some(nesting + 1).filter(|nesting| *nesting <= MAX_NESTING);
    let shown = inner.and_then(|nesting| Parser::new(judge, UTF_8, nesting)).map(|mut parser| {
        let (mut shown, is_sound) = parser.write(text.as_bytes());
        if is_sound {
            shown.extend(parser.finish());
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    chunk.replace(&shown.unwrap_or_default(), ContentType::Html);
}
