//! Decodes a document to text and passes it to the parser of its kind.

use std::fmt;

use encoding_rs::{CoderResult, Decoder};
use wwwoffle_url::BrowserUrl;

use super::charset::{self, PRESCAN};
use super::css::Css;
use super::feed::FeedCollector;
use super::gather::Collector;
use super::header;
use super::html::Html;
use super::manifest::Manifest;
use super::page::PageCollector;
use super::script::Script;
use super::squeeze::Squeeze;
use super::xml::{Vocabulary, Xml};
use super::{BodyKind, Class, References, Viewport, link};

/// The amount of text that is decoded at once, in bytes.
const DECODED: usize = 16 * 1024;

/// A parser that finds the references of a document.
///
/// # Examples
///
/// ```
/// use wwwoffle_html::references::{Class, Finder, BodyKind, Viewport};
///
/// let page = "http://a.example/dir/page".parse()?;
/// let mut finder = Finder::new(BodyKind::Html, &page, Some("text/html"), &Viewport::default());
/// finder.write(b"<title>A page</title><img src=a.p");
/// finder.write(b"ng><a href='?x=1&amp;y=2#z'>");
/// let found = finder.finish();
/// assert_eq!(found.title.as_deref(), Some("A page"));
/// let links: Vec<_> =
///     found.links.iter().map(|link| (link.url.as_str(), link.class, link.left_out.is_none())).collect();
/// assert_eq!(
///     links,
///     [
///         ("http://a.example/dir/a.png", Class::Image, true),
///         ("http://a.example/dir/page?x=1&y=2", Class::Page, true),
///         ("http://a.example/favicon.ico", Class::Icon, false),
///     ]
/// );
/// # Ok::<(), wwwoffle_url::BrowserError>(())
/// ```
pub struct Finder {
    kind: BodyKind,
    content_type: Option<String>,
    state: FinderState,
}

enum FinderState {
    /// The beginning of the document, until the encoding is known.
    Head(Vec<u8>, Box<Collector>),
    DecodedDocument(Box<DecodedDocument>),
}

/// A document whose encoding is known.
struct DecodedDocument {
    decoder: Decoder,
    squeeze: Squeeze,
    reader: DocumentReader,
    decoded: String,
}

enum DocumentReader {
    Html(Box<Html>),
    Xml(Xml),
    Css(Css, Collector),
    Script(Script, Collector),
    Manifest(Manifest, Collector),
    Nothing(Collector),
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Finder {
    /// A finder for a document of this kind, loaded from `url` (after redirects) with this
    /// `Content-Type`.
    #[must_use]
    pub fn new(
        kind: BodyKind,
        url: &BrowserUrl,
        content_type: Option<&str>,
        want: &Viewport,
    ) -> Self {
        let gather = Box::new(Collector::new(url, want));
        let content_type = content_type.map(str::to_owned);
        Self { kind, content_type, state: FinderState::Head(Vec::new(), gather) }
    }

    /// Parses a `Link` field of the response. Must be called before the first
    /// [`write`](Self::write).
    pub fn link_field(&mut self, value: &str) {
        if let FinderState::Head(_, gather) = &mut self.state {
            header::read(value, gather);
        }
    }

    /// Parses a `Refresh` field of the response, which browsers follow like that of a `meta`
    /// element. Must be called before the first [`write`](Self::write).
    pub fn refresh_field(&mut self, value: &str) {
        if let (FinderState::Head(_, gather), Some(to)) = (&mut self.state, link::refresh(value)) {
            gather.add(to, Class::Refresh);
        }
    }

    /// Parses a piece of the document, whose content coding must already be decoded. The time is
    /// linear in the length of the piece. Memory grows only with the number of links.
    pub fn write(&mut self, piece: &[u8]) {
        if self.kind == BodyKind::None {
            return;
        }
        match &mut self.state {
            FinderState::Head(head, gather) => {
                let missing = PRESCAN.saturating_sub(head.len());
                let (now, later) = piece.split_at(missing.min(piece.len()));
                head.extend_from_slice(now);
                if head.len() >= PRESCAN {
                    let (head, gather) = (std::mem::take(head), std::mem::take(gather));
                    let mut text = self.begin(&head, *gather);
                    text.write(later, false);
                    self.state = FinderState::DecodedDocument(Box::new(text));
                }
            }
            FinderState::DecodedDocument(text) => text.write(piece, false),
        }
    }

    /// Creates the parser once the encoding is known, and parses `head`.
    fn begin(&self, head: &[u8], mut gather: Collector) -> DecodedDocument {
        let encoding = charset::choose(self.kind, self.content_type.as_deref(), head);
        gather.set_encoding(encoding);
        let mut text = DecodedDocument {
            decoder: encoding.new_decoder_with_bom_removal(),
            squeeze: Squeeze::default(),
            reader: DocumentReader::new(self.kind, gather),
            decoded: String::with_capacity(DECODED),
        };
        text.write(head, false);
        text
    }

    /// Whether the rest of the document cannot change the result.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.state {
            FinderState::Head(..) => self.kind == BodyKind::None,
            FinderState::DecodedDocument(text) => text.reader.is_done(),
        }
    }

    /// Ends the document and returns its references.
    #[must_use]
    pub fn finish(mut self) -> References {
        if self.kind == BodyKind::None {
            return References::default();
        }
        let gather = match &mut self.state {
            FinderState::Head(head, gather) => {
                let (head, gather) = (std::mem::take(head), std::mem::take(gather));
                self.begin(&head, *gather).finish(self.kind)
            }
            FinderState::DecodedDocument(_) => {
                let nothing = FinderState::Head(Vec::new(), Box::default());
                let FinderState::DecodedDocument(text) =
                    std::mem::replace(&mut self.state, nothing)
                else {
                    return References::default();
                };
                text.finish(self.kind)
            }
        };
        gather.found
    }
}

impl DecodedDocument {
    fn write(&mut self, mut piece: &[u8], is_last: bool) {
        if self.reader.is_done() {
            return;
        }
        loop {
            self.decoded.clear();
            let (result, read, _) =
                self.decoder.decode_to_string(piece, &mut self.decoded, is_last);
            self.squeeze.shorten_text(&self.decoded, |text| self.reader.write(text));
            piece = piece.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty || self.reader.is_done() {
                return;
            }
        }
    }

    fn finish(mut self, kind: BodyKind) -> Collector {
        self.write(&[], true);
        self.reader.finish(kind)
    }
}

impl DocumentReader {
    fn new(kind: BodyKind, gather: Collector) -> Self {
        match kind {
            BodyKind::Html => Self::Html(Box::new(Html::new(PageCollector::new(gather)))),
            BodyKind::Xhtml | BodyKind::Svg => {
                Self::Xml(Xml::new(Vocabulary::Page(Box::new(PageCollector::new(gather)))))
            }
            BodyKind::Feed | BodyKind::Sitemap => {
                Self::Xml(Xml::new(Vocabulary::Feed(Box::new(FeedCollector::new(gather)))))
            }
            BodyKind::Css => Self::Css(Css::default(), gather),
            BodyKind::Script => Self::Script(Script::default(), gather),
            BodyKind::Manifest => Self::Manifest(Manifest::default(), gather),
            BodyKind::None => Self::Nothing(gather),
        }
    }

    fn write(&mut self, text: &str) {
        match self {
            Self::Html(html) => html.write(text),
            Self::Xml(xml) => xml.write(text),
            Self::Css(css, gather) => css.write(text, gather),
            Self::Script(script, gather) => script.write(text, gather),
            Self::Manifest(manifest, gather) => manifest.write(text, gather),
            Self::Nothing(_) => {}
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Html(html) => html.is_done(),
            Self::Xml(xml) => xml.is_done(),
            Self::Css(_, gather) | Self::Script(_, gather) | Self::Manifest(_, gather) => {
                gather.is_full()
            }
            Self::Nothing(_) => true,
        }
    }

    fn finish(self, kind: BodyKind) -> Collector {
        match self {
            Self::Html(html) => html.finish(true),
            Self::Xml(xml) => xml.finish(kind == BodyKind::Xhtml),
            Self::Css(css, mut gather) => {
                css.finish(&mut gather);
                gather
            }
            Self::Script(script, mut gather) => {
                script.finish(&mut gather);
                gather
            }
            Self::Manifest(manifest, mut gather) => {
                manifest.finish(&mut gather);
                gather
            }
            Self::Nothing(gather) => gather,
        }
    }
}
