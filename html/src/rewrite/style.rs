//! Style sheets in the gateway and in saved pages: replaces every URL and leaves all other bytes
//! unchanged.

use cssparser::{Parser, ParserInput, Token};
use encoding_rs::{Decoder, UTF_8};
use wwwoffle_url::BrowserUrl;

use super::target::{Readdress, ReferenceContext, ReferenceTarget, ReferenceUse};
use crate::references::css::{IMAGE_SETS, NestedResult, Pieces, URL_FUNCTIONS, is_one, string_in};
use crate::references::{BodyKind, charset};

/// The maximum nesting of blocks and functions that is parsed. Deeper blocks are removed.
const MAX_DEPTH: u32 = 64;

/// The replacement for a forbidden target: browsers load nothing for it.
const NOTHING: &str = "about:invalid";

/// A rewriter for a separate style sheet that arrives in pieces of any length. The output is UTF-8.
///
/// ```
/// # use wwwoffle_html::rewrite::{Readdress, Sheet, gateway::Gateway};
/// # use wwwoffle_url::{BrowserUrl, LocalHost};
/// let gateway = Gateway { local: LocalHost::default(), is_ours: false, onward: String::new() };
/// let url = BrowserUrl::parse("http://a.example/css/main.css", None)?;
/// let mut sheet = Sheet::new(Readdress::Gateway(gateway), url, Some("text/css"));
/// let mut sent = sheet.write(b"a { background: url(../i.png) }");
/// sent.extend(sheet.finish());
/// assert_eq!(sent, b"a { background: url(\"/http/a.example/i.png\") }");
/// # Ok::<(), wwwoffle_url::BrowserError>(())
/// ```
#[derive(Debug)]
pub struct Sheet {
    readdress: Readdress,
    url: BrowserUrl,
    content_type: Option<String>,
    /// The first bytes, until the encoding is known.
    head: Vec<u8>,
    decoder: Option<Decoder>,
    pieces: Pieces,
}

impl Sheet {
    /// A rewriter for a sheet at `url` with this `Content-Type`.
    #[must_use]
    pub fn new(readdress: Readdress, url: BrowserUrl, content_type: Option<&str>) -> Self {
        let content_type = content_type.map(str::to_owned);
        let pieces = Pieces::default();
        Self { readdress, url, content_type, head: Vec::new(), decoder: None, pieces }
    }

    /// Returns the output for the next piece. The output may be empty.
    #[must_use]
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.decoder.is_some() {
            return self.decode(piece, false);
        }
        self.head.extend_from_slice(piece);
        if self.head.len() < charset::PRESCAN { Vec::new() } else { self.begin(false) }
    }

    /// Returns the rest of the output.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let mut sent =
            if self.decoder.is_some() { self.decode(&[], true) } else { self.begin(true) };
        let within = context(&self.readdress, &self.url);
        self.pieces.finish(|text, _| {
            sent.extend(replace_references(text, &within).into_bytes());
        });
        sent
    }

    fn begin(&mut self, is_last: bool) -> Vec<u8> {
        let head = std::mem::take(&mut self.head);
        let encoding = charset::choose(BodyKind::Css, self.content_type.as_deref(), &head);
        self.decoder = Some(encoding.new_decoder());
        self.decode(&head, is_last)
    }

    fn decode(&mut self, bytes: &[u8], is_last: bool) -> Vec<u8> {
        let decoder = self.decoder.get_or_insert_with(|| UTF_8.new_decoder());
        let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        let mut text = String::with_capacity(room);
        let _ = decoder.decode_to_string(bytes, &mut text, is_last);
        let within = context(&self.readdress, &self.url);
        let mut sent = Vec::new();
        self.pieces
            .write(&text, |piece, _| sent.extend(replace_references(piece, &within).into_bytes()));
        sent
    }
}

/// The context of references in a separate sheet. In the gateway a bare fragment becomes an address,
/// as any other reference; in a file it refers to the document that uses the sheet.
fn context<'a>(readdress: &'a Readdress, base: &'a BrowserUrl) -> ReferenceContext<'a> {
    let has_base = matches!(readdress, Readdress::Gateway(_));
    ReferenceContext { readdress, base, has_base }
}

/// Replaces the references in the text of a sheet or a `style` attribute.
pub(super) fn replace_references(text: &str, within: &ReferenceContext<'_>) -> String {
    let mut edits = Edits { within, changed: Vec::new() };
    {
        let mut input = ParserInput::new(text);
        let mut parser = Parser::new(&mut input);
        walk(&mut parser, &mut edits, StyleContext::Other, 0);
    }
    let (mut written, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to, instead) in edits.changed {
        written.push_str(text.get(at..from).unwrap_or_default());
        written.push_str(&instead);
        at = to;
    }
    written.push_str(text.get(at..).unwrap_or_default());
    written
}

/// The context of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StyleContext {
    Other,
    /// After `@import`: a bare string is a URL.
    Import,
    /// After `@namespace`: names, not URLs.
    Names,
    /// In `image-set()`: a bare string is a URL.
    Images,
}

struct Edits<'a> {
    within: &'a ReferenceContext<'a>,
    /// The start, the end and the text of each replacement, in order.
    changed: Vec<(usize, usize, String)>,
}

impl Edits<'_> {
    /// Handles a reference at a byte range, written as `url()` or as a string.
    fn refer(
        &mut self,
        range: (usize, usize),
        reference: &str,
        context: StyleContext,
        is_string: bool,
    ) {
        let is_import = context == StyleContext::Import;
        let of = if is_import { ReferenceUse::Sheet } else { ReferenceUse::Part };
        self.replace(range, self.within.target(reference, of), is_string);
    }

    /// Handles a string that is not used as a URL in its place.
    fn check_string(&mut self, range: (usize, usize), text: &str) {
        self.replace(range, self.within.target_of_string(text), true);
    }

    fn replace(&mut self, (from, to): (usize, usize), target: ReferenceTarget, is_string: bool) {
        let place = match target {
            ReferenceTarget::Same => return,
            ReferenceTarget::To(place) => place,
            ReferenceTarget::Nowhere => NOTHING.to_owned(),
        };
        // A URL as browsers write it contains no quotation mark, but its query may contain a
        // backslash.
        let place = place.replace('\\', "\\\\");
        let place = if is_string { format!("\"{place}\"") } else { format!("url(\"{place}\")") };
        self.changed.push((from, to, place));
    }
}

fn walk(parser: &mut Parser<'_, '_>, edits: &mut Edits<'_>, outer: StyleContext, depth: u32) {
    let mut context = outer;
    loop {
        let from = parser.position().byte_index();
        // The token is copied so that the parser can continue.
        let token = parser.next_including_whitespace_and_comments().cloned();
        let Ok(token) = token else { return };
        let to = parser.position().byte_index();
        match token {
            Token::AtKeyword(name) if is_one(&name, &["import"]) => context = StyleContext::Import,
            Token::AtKeyword(name) if is_one(&name, &["namespace"]) => {
                context = StyleContext::Names;
            }
            Token::AtKeyword(_) => context = StyleContext::Other,
            Token::Semicolon => context = outer,
            Token::UnquotedUrl(_) | Token::QuotedString(_) if context == StyleContext::Names => {}
            Token::UnquotedUrl(url) => {
                edits.refer((from, to), &url, context, false);
                context = after_url(context, outer);
            }
            Token::QuotedString(text) => {
                if matches!(context, StyleContext::Import | StyleContext::Images) {
                    edits.refer((from, to), &text, context, true);
                } else {
                    edits.check_string((from, to), &text);
                }
                context = after_url(context, outer);
            }
            Token::Function(name) if is_one(&name, &URL_FUNCTIONS) => {
                let url = string_in(parser);
                let whole = (from, parser.position().byte_index());
                if let Some(url) = url.filter(|_| context != StyleContext::Names) {
                    edits.refer(whole, &url, context, false);
                }
                context = after_url(context, outer);
            }
            Token::Function(name) if is_one(&name, &IMAGE_SETS) => {
                nested(parser, edits, (StyleContext::Images, to), depth);
            }
            // Inside any other function, a bare string is not a URL, for example in
            // `type("image/png")` of an image set.
            Token::Function(_) => nested(parser, edits, (StyleContext::Other, to), depth),
            Token::ParenthesisBlock | Token::SquareBracketBlock => {
                nested(parser, edits, (context, to), depth);
            }
            Token::CurlyBracketBlock => {
                nested(parser, edits, (StyleContext::Other, to), depth);
                context = outer;
            }
            _ => {}
        }
    }
}

/// The context after a URL. An `@import` names one sheet; conditions follow.
fn after_url(context: StyleContext, outer: StyleContext) -> StyleContext {
    if context == StyleContext::Import { outer } else { context }
}

/// Parses a nested block. `from` is the start of the block, after its bracket.
fn nested(
    parser: &mut Parser<'_, '_>,
    edits: &mut Edits<'_>,
    (context, from): (StyleContext, usize),
    depth: u32,
) {
    let is_read = depth < MAX_DEPTH;
    let mut end = from;
    let _: NestedResult<'_> = parser.parse_nested_block(|inner| {
        if is_read {
            walk(inner, edits, context, depth + 1);
        } else {
            while inner.next_including_whitespace_and_comments().is_ok() {}
            end = inner.position().byte_index();
        }
        Ok(())
    });
    if end > from {
        edits.changed.push((from, end, String::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::MAX_HELD;
    use crate::rewrite::gateway::Gateway;
    use wwwoffle_url::LocalHost;

    fn sheet(pieces: &[&[u8]], content_type: &str) -> String {
        let gateway =
            Gateway { local: LocalHost::default(), is_ours: false, onward: String::new() };
        let url = BrowserUrl::parse("http://a.example/d/s.css?x", None).unwrap();
        let mut sheet = Sheet::new(Readdress::Gateway(gateway), url, Some(content_type));
        let mut sent: Vec<u8> = pieces.iter().flat_map(|piece| sheet.write(piece)).collect();
        sent.extend(sheet.finish());
        String::from_utf8(sent).unwrap()
    }

    #[test]
    fn references_are_rewritten_and_the_rest_is_unchanged() {
        let here = "/http/a.example/d/";
        for (text, want) in [
            ("", String::new()),
            ("a{b:url(i.png)}", format!("a{{b:url(\"{here}i.png\")}}")),
            (
                "a { b : url( 'i.png' ) c /* url(x) */ }",
                format!("a {{ b : url(\"{here}i.png\") c /* url(x) */ }}"),
            ),
            (
                "@import 'x.css' screen;b{content:'y'}",
                format!("@import \"{here}x.css\" screen;b{{content:'y'}}"),
            ),
            (
                "@import url(//b.example/x) print;",
                "@import url(\"/http/b.example/x\") print;".to_owned(),
            ),
            (
                "@namespace s url(http://www.w3.org/2000/svg);",
                "@namespace s url(http://www.w3.org/2000/svg);".to_owned(),
            ),
            (
                "@font-face{src:local('x'),url(f.woff)format('woff')}",
                format!("@font-face{{src:local('x'),url(\"{here}f.woff\")format('woff')}}"),
            ),
            (
                "a{b:image-set('a' 1x,url(b) type('image/png'))}",
                format!("a{{b:image-set(\"{here}a\" 1x,url(\"{here}b\") type('image/png'))}}"),
            ),
            (
                "@media x{@supports(a:b){i{j:URL(\"k\")}}}",
                format!("@media x{{@supports(a:b){{i{{j:url(\"{here}k\")}}}}}}"),
            ),
            (
                "a{--v:url(x);filter:url(#f)}",
                format!("a{{--v:url(\"{here}x\");filter:url(\"{here}s.css?x#f\")}}"),
            ),
            (
                "a{b:url(data:image/gif;base64,AA==)}",
                "a{b:url(data:image/gif;base64,AA==)}".to_owned(),
            ),
            ("a{b:url(javascript:x)}", "a{b:url(\"about:invalid\")}".to_owned()),
            ("a{b:url(http://localhost:8080/control/)}", "a{b:url(\"about:invalid\")}".to_owned()),
            (
                "a{b:url(\\68ttp://b.example/\\3c/style\\3e)}",
                "a{b:url(\"/http/b.example/%3C/style%3E\")}".to_owned(),
            ),
            ("a{b:url('?\\\\')}", "a{b:url(\"/http/a.example/d/s.css?\\\\\")}".to_owned()),
            ("a{b:url(i", format!("a{{b:url(\"{here}i\")")),
            ("} url(a) ) b", format!("}} url(\"{here}a\") ) b")),
        ] {
            for cut in [1, 3, 7, 1000] {
                let pieces: Vec<_> = text.as_bytes().chunks(cut).collect();
                assert_eq!(sheet(&pieces, "text/css"), want, "{text}");
            }
        }
    }

    #[test]
    fn the_output_is_utf_8() {
        assert_eq!(sheet(&[b"a{b:'\xe9'}"], "text/css; charset=iso-8859-1"), "a{b:'é'}");
        assert_eq!(sheet(&[b"\xff\xfea\0{\0}\0"], "text/css"), "a{}");
        assert_eq!(
            sheet(&[b"@charset \"koi8-r\";a{b:'\xc1'}"], "text/css"),
            "@charset \"koi8-r\";a{b:'а'}"
        );
    }

    #[test]
    #[ignore = "slow"]
    fn a_style_sheet_of_any_length_and_depth_is_rewritten() {
        let long = "a{b:url(i)}".repeat(100_000);
        let want = "a{b:url(\"/http/a.example/d/i\")}".repeat(100_000);
        assert_eq!(sheet(&[long.as_bytes()], "text/css"), want);
        let held = format!("/*{}*/a{{b:url(i)}}", "x".repeat(MAX_HELD * 2));
        assert!(
            sheet(&[held.as_bytes()], "text/css").ends_with("a{b:url(\"/http/a.example/d/i\")}")
        );
        let deep = format!("a:{}url(i){}", "(".repeat(1000), ")".repeat(1000));
        assert!(!sheet(&[deep.as_bytes()], "text/css").contains("url"));
    }
}
