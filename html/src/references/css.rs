//! References of style sheets, parsed with cssparser.
//!
//! A sheet is split into pieces that end after a `}` outside strings and comments, because the text
//! after it can be parsed alone. Each piece is buffered, parsed and dropped, so a sheet may have
//! any length.

use cssparser::{CowRcStr, ParseError, Parser, ParserInput, Token};

use super::gather::Collector;
use super::{Class, MAX_HELD, Omission, Truncation, boundary, media, srcset};

/// The minimum size of a piece that is parsed, in bytes.
const PIECE: usize = 64 * 1024;

/// The maximum nesting of blocks and functions that is parsed.
const MAX_DEPTH: u32 = 64;

/// A parser for a style sheet that arrives in pieces of any length.
#[derive(Debug, Default)]
pub(super) struct Css {
    pieces: Pieces,
}

impl Css {
    pub(super) fn write(&mut self, text: &str, gather: &mut Collector) {
        self.pieces.write(text, |piece, is_cut| {
            if is_cut {
                gather.cut(Truncation::Memory);
            }
            read(piece, gather);
        });
    }

    pub(super) fn finish(self, gather: &mut Collector) {
        self.pieces.finish(|piece, _| read(piece, gather));
    }
}

/// A buffer that splits a sheet at the ends of rules.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    held: String,
    state: CssState,
}

impl Pieces {
    /// Calls `each` with every piece that can be parsed alone, in order. The flag is true if a
    /// piece was too long and had to be split at another position.
    pub(crate) fn write(&mut self, text: &str, mut each: impl FnMut(&str, bool)) {
        let mut start = 0;
        for (index, byte) in text.bytes().enumerate() {
            self.state = self.state.after(byte);
            if byte != b'}' || self.state != CssState::Plain {
                continue;
            }
            if self.held.len() + (index + 1 - start) >= PIECE {
                self.buffer_text(text.get(start..=index).unwrap_or_default(), &mut each);
                start = index + 1;
                self.flush(false, &mut each);
            }
        }
        self.buffer_text(text.get(start..).unwrap_or_default(), &mut each);
    }

    /// Buffers text of a piece. Text beyond the limit is split at a position that depends only on
    /// the sheet.
    fn buffer_text(&mut self, mut text: &str, each: &mut impl FnMut(&str, bool)) {
        while let Some(beyond) = (self.held.len() + text.len()).checked_sub(MAX_HELD + 1) {
            let fitting = boundary(text, text.len() - beyond - 1);
            let (now, later) = text.split_at(fitting);
            self.held.push_str(now);
            self.flush(true, each);
            text = later;
        }
        self.held.push_str(text);
    }

    /// Passes on the remaining text.
    pub(crate) fn finish(mut self, mut each: impl FnMut(&str, bool)) {
        self.flush(false, &mut each);
    }

    fn flush(&mut self, is_cut: bool, each: &mut impl FnMut(&str, bool)) {
        if !self.held.is_empty() {
            each(&self.held, is_cut);
        }
        self.held.clear();
    }
}

/// The lexical state at the end of the buffered text. It decides whether a `}` ends a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CssState {
    #[default]
    Plain,
    /// After a backslash: inside a string with this quote, or outside of strings.
    Escape(Option<u8>),
    Slash,
    Comment,
    CommentStar,
    String(u8),
}

impl CssState {
    fn after(self, byte: u8) -> Self {
        match self {
            Self::Comment | Self::CommentStar => match byte {
                b'*' => Self::CommentStar,
                b'/' if self == Self::CommentStar => Self::Plain,
                _ => Self::Comment,
            },
            // The end of a line also ends a string, even without a closing quote.
            Self::String(quote) if byte == quote || byte == b'\n' => Self::Plain,
            Self::String(quote) if byte == b'\\' => Self::Escape(Some(quote)),
            Self::Escape(Some(quote)) | Self::String(quote) => Self::String(quote),
            Self::Slash if byte == b'*' => Self::Comment,
            Self::Escape(None) => Self::Plain,
            Self::Plain | Self::Slash => match byte {
                b'\\' => Self::Escape(None),
                b'"' | b'\'' => Self::String(byte),
                b'/' => Self::Slash,
                _ => Self::Plain,
            },
        }
    }
}

/// Parses a complete sheet or the value of a `style` attribute.
pub(super) fn read(text: &str, gather: &mut Collector) {
    if text.is_empty() {
        return;
    }
    let mut input = ParserInput::new(text);
    let mut parser = Parser::new(&mut input);
    walk(&mut parser, gather, UrlContext::Other, 0);
}

/// The context of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrlContext {
    Other,
    /// In `@font-face`.
    Font,
    /// After `@import`.
    Import,
    /// After `@namespace`, where names look like URLs but are not references.
    Names,
}

/// The result of parsing a nested block.
pub(crate) type NestedResult<'i> = Result<(), ParseError<'i, ()>>;

/// Whether the name of a function or rule is one of these words.
pub(crate) fn is_one(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// The functions whose string is a URL.
pub(crate) const URL_FUNCTIONS: [&str; 2] = ["url", "src"];

/// The functions that list images.
pub(crate) const IMAGE_SETS: [&str; 2] = ["image-set", "-webkit-image-set"];

/// The string at the beginning of a function.
pub(crate) fn string_in<'i>(parser: &mut Parser<'i, '_>) -> Option<CowRcStr<'i>> {
    let mut string = None;
    // Fails if the function has more than the string.
    let _: NestedResult<'i> = parser.parse_nested_block(|inner| {
        string = inner.expect_string_cloned().ok();
        Ok(())
    });
    string
}

fn walk(parser: &mut Parser<'_, '_>, gather: &mut Collector, outer: UrlContext, depth: u32) {
    let mut context = outer;
    while !gather.is_full() {
        // The token is copied so that the parser can continue.
        let Ok(token) = parser.next().cloned() else { return };
        match token {
            Token::UnquotedUrl(url) => {
                url_in(&url, context, gather);
                context = after_url(context, outer);
            }
            Token::QuotedString(text) => {
                if context == UrlContext::Import {
                    gather.add(&text, Class::Stylesheet);
                }
                context = after_url(context, outer);
            }
            Token::AtKeyword(name) if is_one(&name, &["import"]) => context = UrlContext::Import,
            Token::AtKeyword(name) if is_one(&name, &["font-face"]) => context = UrlContext::Font,
            Token::AtKeyword(name) if is_one(&name, &["namespace"]) => context = UrlContext::Names,
            Token::AtKeyword(_) => context = UrlContext::Other,
            Token::Semicolon => context = outer,
            Token::Function(name) if is_one(&name, &URL_FUNCTIONS) => {
                if let Some(url) = string_in(parser) {
                    url_in(&url, context, gather);
                }
                context = after_url(context, outer);
            }
            Token::Function(name) if is_one(&name, &IMAGE_SETS) => {
                let _: NestedResult<'_> = parser.parse_nested_block(|inner| {
                    image_set(inner, gather);
                    Ok(())
                });
            }
            Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock => {
                nested(parser, gather, context, depth);
            }
            Token::CurlyBracketBlock => {
                nested(parser, gather, context, depth);
                context = outer;
            }
            _ => {}
        }
    }
}

/// The context after a URL. An `@import` names one sheet; conditions follow.
fn after_url(context: UrlContext, outer: UrlContext) -> UrlContext {
    if context == UrlContext::Import { outer } else { context }
}

fn nested(parser: &mut Parser<'_, '_>, gather: &mut Collector, context: UrlContext, depth: u32) {
    if depth >= MAX_DEPTH {
        gather.cut(Truncation::Nesting);
        return;
    }
    let _: NestedResult<'_> = parser.parse_nested_block(|inner| {
        walk(inner, gather, context, depth + 1);
        Ok(())
    });
}

fn url_in(url: &str, context: UrlContext, gather: &mut Collector) {
    let class = match context {
        UrlContext::Other => Class::Image,
        UrlContext::Font => Class::Font,
        UrlContext::Import => Class::Stylesheet,
        UrlContext::Names => return,
    };
    gather.add(url, class);
}

/// Reports the options of `image-set()`. A browser chooses the image for its screen (CSS Images 4
/// §2.4).
fn image_set(parser: &mut Parser<'_, '_>, gather: &mut Collector) {
    let mut options: Vec<(String, f64, bool)> = Vec::new();
    while let Ok(token) = parser.next() {
        let (mut url, mut density, mut kind) = (None, None, None);
        match token {
            Token::UnquotedUrl(text) | Token::QuotedString(text) => url = Some(text.to_string()),
            Token::Dimension { value, unit, .. } => {
                density = media::resolution(&format!("{value}{unit}"));
            }
            Token::Function(name) => {
                let is_type = name.eq_ignore_ascii_case("type");
                let text = string_in(parser).map(|text| text.to_string());
                if is_type { kind = text } else { url = text }
            }
            _ => {}
        }
        if let Some(url) = url {
            options.push((url, 1.0, true));
        } else if let Some((_, at, shown)) = options.last_mut() {
            *at = density.unwrap_or(*at);
            *shown &= kind.is_none_or(|kind| super::element::is_shown_image(&kind));
        }
    }
    take_option(&options, gather);
}

fn take_option(options: &[(String, f64, bool)], gather: &mut Collector) {
    let shown = options.iter().enumerate().filter(|(_, (_, _, shown))| *shown);
    let mut by_density: Vec<(f64, usize)> =
        shown.map(|(at, (_, density, _))| (*density, at)).collect();
    by_density.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    by_density.dedup_by(|(one, _), (other, _)| one.total_cmp(other).is_eq());
    let screen = f64::from(gather.want.density_percent) / 100.0;
    let taken = srcset::nearest(&by_density, screen);
    let all = gather.want.all_candidates;
    for (at, (url, _, shown)) in options.iter().enumerate() {
        let left_out = match () {
            () if all || taken == Some(at) => None,
            () if !shown => Some(Omission::Unsupported),
            () => Some(Omission::NotTaken),
        };
        gather.add_marked(url, Class::Image, false, left_out);
    }
}
