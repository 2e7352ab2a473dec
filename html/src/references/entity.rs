//! Decodes character references once (HTML §13.2.5.72 and following).

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 32;

/// Names that are valid without a final `;`.
#[rustfmt::skip]
const WITHOUT_SEMICOLON: [&str; 106] = [
    "AElig", "AMP", "Aacute", "Acirc", "Agrave", "Aring", "Atilde", "Auml", "COPY", "Ccedil", "ETH",
    "Eacute", "Ecirc", "Egrave", "Euml", "GT", "Iacute", "Icirc", "Igrave", "Iuml", "LT", "Ntilde",
    "Oacute", "Ocirc", "Ograve", "Oslash", "Otilde", "Ouml", "QUOT", "REG", "THORN", "Uacute", "Ucirc",
    "Ugrave", "Uuml", "Yacute", "aacute", "acirc", "acute", "aelig", "agrave", "amp", "aring", "atilde",
    "auml", "brvbar", "ccedil", "cedil", "cent", "copy", "curren", "deg", "divide", "eacute", "ecirc",
    "egrave", "eth", "euml", "frac12", "frac14", "frac34", "gt", "iacute", "icirc", "iexcl", "igrave",
    "iquest", "iuml", "laquo", "lt", "macr", "micro", "middot", "nbsp", "not", "ntilde", "oacute",
    "ocirc", "ograve", "ordf", "ordm", "oslash", "otilde", "ouml", "para", "plusmn", "pound", "quot",
    "raquo", "reg", "sect", "shy", "sup1", "sup2", "sup3", "szlig", "thorn", "times", "uacute", "ucirc",
    "ugrave", "uml", "uuml", "yacute", "yen", "yuml",
];

/// The position of a text. In an attribute, `&copy=1` is not a character reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    /// The value of an attribute.
    Attribute,
    /// Text between tags.
    Text,
}

/// Replaces the character references of a text.
#[must_use]
pub fn decode(text: &str, place: TextPosition) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return Cow::Borrowed(text) };
    let (before, mut rest) = text.split_at(first);
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(before);
    while let Some(after) = rest.strip_prefix('&') {
        let left = match after.strip_prefix('#') {
            Some(number) => numeric(number, &mut decoded),
            None => named(after, place, &mut decoded),
        };
        let left = left.unwrap_or_else(|| {
            decoded.push('&');
            after
        });
        let (plain, next) = left.split_at(left.find('&').unwrap_or(left.len()));
        decoded.push_str(plain);
        rest = next;
    }
    Cow::Owned(decoded)
}

/// Decodes a number and returns the text after it; `None` without digits.
fn numeric<'a>(text: &'a str, decoded: &mut String) -> Option<&'a str> {
    let (digits, radix) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let number = digits
        .chars()
        .try_fold(0_u32, |sum, digit| sum.checked_mul(radix)?.checked_add(digit.to_digit(radix)?));
    decoded.push(character(number.unwrap_or(u32::MAX)));
    Some(rest.strip_prefix(';').unwrap_or(rest))
}

/// The character for a number. Some numbers have another meaning or are invalid (HTML §13.2.5.84).
fn character(number: u32) -> char {
    if let Ok(byte @ 0x80..=0x9f) = u8::try_from(number) {
        let bytes = [byte];
        let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
        return text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    match char::from_u32(number) {
        None | Some('\0') => char::REPLACEMENT_CHARACTER,
        Some(c) => c,
    }
}

fn named<'a>(text: &'a str, place: TextPosition, decoded: &mut String) -> Option<&'a str> {
    let end = text.bytes().take(MAX_NAME).take_while(u8::is_ascii_alphanumeric).count();
    let (name, rest) = text.split_at_checked(end)?;
    if let Some(rest) = rest.strip_prefix(';')
        && let Some(meant) = resolve_html5_entity(name)
    {
        decoded.push_str(meant);
        return Some(rest);
    }
    let known = |name: &&str| text.starts_with(*name);
    let name = WITHOUT_SEMICOLON.into_iter().filter(known).max_by_key(|name| name.len())?;
    let rest = text.strip_prefix(name)?;
    let goes_on = |c: char| c == '=' || c.is_ascii_alphanumeric();
    if place == TextPosition::Attribute && rest.starts_with(goes_on) {
        return None;
    }
    decoded.push_str(resolve_html5_entity(name)?);
    Some(rest.strip_prefix(';').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once() {
        let rows = [
            ("a", "a", "a"),
            ("?a=1&amp;b=2", "?a=1&b=2", "?a=1&b=2"),
            ("&amp;amp;", "&amp;", "&amp;"),
            ("?a&b&c=d", "?a&b&c=d", "?a&b&c=d"),
            ("?x&copy=1&reg", "?x&copy=1\u{ae}", "?x\u{a9}=1\u{ae}"),
            ("&notit;", "&notit;", "\u{ac}it;"),
            ("&notin;", "\u{2209}", "\u{2209}"),
            ("&amp", "&", "&"),
            ("&ampx", "&ampx", "&x"),
            ("&#38;&#x26;&#X2f", "&&/", "&&/"),
            (
                "&#x80;&#0;&#xd800;&#99999999999;",
                "\u{20ac}\u{fffd}\u{fffd}\u{fffd}",
                "\u{20ac}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("&#;&#x;&#xg;&", "&#;&#x;&#xg;&", "&#;&#x;&#xg;&"),
            ("&é;&CounterClockwiseContourIntegral;", "&é;\u{2233}", "&é;\u{2233}"),
        ];
        for (text, attribute, elsewhere) in rows {
            assert_eq!(decode(text, TextPosition::Attribute), attribute, "{text}");
            assert_eq!(decode(text, TextPosition::Text), elsewhere, "{text}");
        }
        for name in WITHOUT_SEMICOLON {
            assert!(resolve_html5_entity(name).is_some(), "{name}");
        }
    }
}
