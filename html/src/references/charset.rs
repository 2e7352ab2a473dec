//! Determines the encoding of a document: Encoding Standard and HTML §13.2.3.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use super::BodyKind;

/// The number of bytes that are searched for a declaration (HTML §13.2.3.2).
pub const PRESCAN: usize = 1024;

/// The encoding of a document that begins with `head`: its first [`PRESCAN`] bytes, or all of it if
/// it is shorter. The encoding comes from its byte order mark, its `Content-Type`, or its own
/// declaration. Without any of these, it is windows-1252 for HTML whose beginning is not UTF-8, and
/// UTF-8 for everything else.
///
/// To guess the encoding of a document without a declaration, browsers examine more than its head.
/// Most such documents are UTF-8 today.
pub fn choose(kind: BodyKind, content_type: Option<&str>, head: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return encoding;
    }
    // RFC 8259 §8.1: JSON is always UTF-8.
    if kind == BodyKind::Manifest {
        return UTF_8;
    }
    if let Some(encoding) = content_type.and_then(of_content_type) {
        return encoding;
    }
    let declared = match kind {
        BodyKind::Html => meta(head).or_else(|| xml(head)),
        BodyKind::Css => at_charset(head),
        BodyKind::Xhtml | BodyKind::Feed | BodyKind::Sitemap | BodyKind::Svg => xml(head),
        BodyKind::Script | BodyKind::Manifest | BodyKind::None => None,
    };
    declared.unwrap_or_else(|| match kind {
        BodyKind::Html if !is_utf8(head) => WINDOWS_1252,
        _ => UTF_8,
    })
}

/// Whether the head is UTF-8. In a head of at least [`PRESCAN`] bytes, the last character may be
/// incomplete.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= PRESCAN,
    }
}

/// The `charset` of a `Content-Type`, if known.
fn of_content_type(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1);
    let charset = parameters
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(charset.1.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The encoding in the bytes `@charset "…";` at the very beginning (CSS Syntax §3.2). Text in this
/// form cannot be UTF-16.
fn at_charset(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.strip_prefix(b"@charset \"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    rest.get(end + 1).filter(|byte| **byte == b';')?;
    label(rest.get(..end)?)
}

/// The encoding that an XML declaration shows: UTF-16 if the declaration is written in UTF-16,
/// otherwise the encoding that it names. `None` if there is neither.
fn xml(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, b'?', 0, ..] => return Some(UTF_16LE),
        [0, b'<', 0, b'?', ..] => return Some(UTF_16BE),
        _ => {}
    }
    let rest = head.strip_prefix(b"<?xml")?;
    let rest = rest.get(..rest.iter().position(|byte| *byte == b'>')?)?;
    let at = rest.windows(8).position(|word| word == b"encoding")?;
    let value = rest.get(at + 8..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first().filter(|(quote, _)| b"\"'".contains(quote))?;
    label(value.get(..value.iter().position(|byte| byte == quote)?)?)
}

/// The encoding in a `meta` element (HTML §13.2.3.2, *prescan a byte stream to determine its
/// encoding*).
fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head.get(..PRESCAN).unwrap_or(head);
    loop {
        let start = rest.iter().position(|byte| *byte == b'<')?;
        rest = rest.get(start..)?;
        if rest.starts_with(b"<!--") {
            // The two dashes that open the comment may also close it.
            let end = rest.get(2..)?.windows(3).position(|mark| mark == b"-->")?;
            rest = rest.get(end + 5..)?;
        } else if is_meta(rest) {
            let mut attributes = Attributes { rest: rest.get(5..)? };
            if let Some(encoding) = of_meta(&mut attributes) {
                return Some(encoding);
            }
            rest = attributes.rest;
        } else if matches!(rest, [_, b'!' | b'?', ..])
            || matches!(rest, [_, b'/', next, ..] if !next.is_ascii_alphabetic())
        {
            rest = rest.get(rest.iter().position(|byte| *byte == b'>')?..)?;
        } else if matches!(rest, [_, next, ..] if next.is_ascii_alphabetic() || *next == b'/') {
            let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'>')?;
            let mut attributes = Attributes { rest: rest.get(end..)? };
            while attributes.next().is_some() {}
            rest = attributes.rest;
        } else {
            rest = rest.get(1..)?;
        }
    }
}

fn is_meta(text: &[u8]) -> bool {
    let Some((name, [after, ..])) = text.split_at_checked(5) else { return false };
    name.eq_ignore_ascii_case(b"<meta") && (after.is_ascii_whitespace() || *after == b'/')
}

fn of_meta(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let (mut is_pragma, mut needs_pragma, mut charset) = (false, None, None);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    while let Some((name, value)) = attributes.next() {
        if seen.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => is_pragma = value.eq_ignore_ascii_case(b"content-type"),
            b"content" if charset.is_none() => {
                charset = in_content(&value);
                needs_pragma = charset.is_some().then_some(true);
            }
            b"charset" => (charset, needs_pragma) = (label(&value), Some(false)),
            _ => {}
        }
        seen.push(name);
    }
    if needs_pragma? && !is_pragma {
        return None;
    }
    charset
}

/// The encoding in the `content` of a `meta` element (*extracting a character encoding from a meta
/// element*).
fn in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let at = rest.windows(7).position(|word| word.eq_ignore_ascii_case(b"charset"))?;
        rest = rest.get(at + 7..)?.trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = match value.split_first() {
            Some((quote @ (b'"' | b'\''), value)) => {
                value.get(..value.iter().position(|byte| byte == quote)?)?
            }
            _ => value.split(|byte| byte.is_ascii_whitespace() || *byte == b';').next()?,
        };
        return label(value);
    }
}

/// The encoding with this label. `None` if the label is unknown. The label was read as ASCII, so
/// the document is not UTF-16, and UTF-16 is replaced by UTF-8. `x-user-defined` is replaced by
/// windows-1252.
fn label(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label)?;
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return Some(UTF_8);
    }
    Some(if encoding == X_USER_DEFINED { WINDOWS_1252 } else { encoding })
}

/// The attributes of a tag, in lower case (*get an attribute*).
struct Attributes<'a> {
    rest: &'a [u8],
}

impl Attributes<'_> {
    fn next(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let skip = |text: &[u8], byte: fn(&u8) -> bool| text.iter().take_while(|b| byte(b)).count();
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
        self.rest = self.rest.get(skip(self.rest, blank)..)?;
        if matches!(self.rest, [] | [b'>', ..]) {
            return None;
        }
        let in_name = |byte: &u8| !byte.is_ascii_whitespace() && !b"/>=".contains(byte);
        // A name may begin with `=`.
        let length = 1 + skip(self.rest.get(1..)?, in_name);
        let (name, rest) = self.rest.split_at_checked(length)?;
        let name = name.to_ascii_lowercase();
        self.rest = rest.trim_ascii_start();
        let Some(value) = self.rest.strip_prefix(b"=") else { return Some((name, Vec::new())) };
        let value = value.trim_ascii_start();
        let (value, rest) = if let Some((quote @ (b'"' | b'\''), value)) = value.split_first() {
            let end = value.iter().position(|byte| byte == quote).unwrap_or(value.len());
            (value.get(..end)?, value.get(end + 1..).unwrap_or_default())
        } else {
            let in_value = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b'>';
            value.split_at_checked(skip(value, in_value))?
        };
        self.rest = rest;
        Some((name, value.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_precedes_the_type_and_the_document() {
        let html = Some("text/html");
        let koi = Some("text/html; charset=\"KOI8-R\"");
        let rows: &[(BodyKind, Option<&str>, &[u8], &str)] = &[
            (BodyKind::Html, koi, b"\xef\xbb\xbf<meta charset=latin1>", "UTF-8"),
            (BodyKind::Html, koi, b"\xff\xfe<\0", "UTF-16LE"),
            (BodyKind::Html, koi, b"<meta charset=latin1>", "KOI8-R"),
            (
                BodyKind::Html,
                Some("text/html;charset=none"),
                b"<meta charset=latin1>",
                "windows-1252",
            ),
            (BodyKind::Html, html, b"<meta charset=utf-16>", "UTF-8"),
            (
                BodyKind::Html,
                html,
                b"<META content='text/html; charset=sjis' http-equiv=Content-Type>",
                "Shift_JIS",
            ),
            (BodyKind::Html, html, b"<meta content='text/html; charset=sjis'>", "UTF-8"),
            (
                BodyKind::Html,
                html,
                b"<!-- <meta charset=koi8-r> --><meta/charset=x-user-defined>",
                "windows-1252",
            ),
            (BodyKind::Html, html, b"<!--><meta charset=koi8-r>", "KOI8-R"),
            (
                BodyKind::Html,
                html,
                b"<a title='<meta charset=koi8-r>'></a><meta\tcharset = gbk>",
                "GBK",
            ),
            (
                BodyKind::Html,
                html,
                b"<!doctype x '<meta'><? y ?></ z><metal charset=gbk><meta charset=big5",
                "Big5",
            ),
            (BodyKind::Html, html, b"<meta charset=nonsense><meta charset=big5>", "Big5"),
            (BodyKind::Html, html, b"<?xml version='1.0' encoding = 'euc-jp'?>", "EUC-JP"),
            (BodyKind::Html, html, b"caf\xe9", "windows-1252"),
            (BodyKind::Html, html, "café".as_bytes(), "UTF-8"),
            (BodyKind::Css, None, b"@charset \"latin1\"; a{}", "windows-1252"),
            (BodyKind::Css, None, b"@charset 'latin1'; a{}", "UTF-8"),
            (BodyKind::Css, None, b"\xe9", "UTF-8"),
            (
                BodyKind::Feed,
                None,
                b"<?xml version=\"1.0\" encoding=\"windows-1251\"?>",
                "windows-1251",
            ),
            (BodyKind::Feed, None, b"<\0?\0x\0", "UTF-16LE"),
            (BodyKind::Manifest, Some("application/json; charset=latin1"), b"{}", "UTF-8"),
        ];
        for (kind, content_type, head, expected) in rows {
            let chosen = choose(*kind, *content_type, head).name();
            assert_eq!(chosen, *expected, "{kind:?} {content_type:?} {}", head.escape_ascii());
        }
    }

    #[test]
    fn a_declaration_counts_within_the_first_kilobyte() {
        for (blanks, expected) in [(PRESCAN - 21, "KOI8-R"), (PRESCAN, "UTF-8")] {
            let mut page = " ".repeat(blanks).into_bytes();
            page.extend_from_slice(b"<meta charset=koi8-r>");
            assert_eq!(choose(BodyKind::Html, None, &page).name(), expected);
        }
        let mut cut = vec![b'x'; PRESCAN - 1];
        cut.push(0xc3);
        assert_eq!(choose(BodyKind::Html, None, &cut).name(), "UTF-8");
    }
}
