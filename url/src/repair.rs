//! Repair of links that are copied from the source text of HTML pages.

/// Undoes the HTML escaping of a link (`FixHTMLLinkURL`): `&amp;`, in any letter case, becomes `&`.
/// A numeric reference becomes its character. From U+0080 up, the character is percent-escaped as
/// UTF-8.
///
/// Call this function on a link from the source text of a page, before the link is resolved. It
/// makes one pass: the result of a reference is not decoded again. Other entities stay unchanged.
///
/// The function corrects these bugs of 2.9: `&#X26;` is recognised too; signs and blanks are not
/// part of a number; a number that is not a character (0, a surrogate, above U+10FFFF) becomes
/// U+FFFD, as in every browser; and a reference needs digits.
///
/// ```
/// let link = wwwoffle_url::fix_html_link_url(b"/p?a=1&AMP;b=&#233;&#x26;c&lt;");
/// assert_eq!(link, b"/p?a=1&b=%C3%A9&c&lt;");
/// ```
#[must_use]
pub fn fix_html_link_url(link: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(link.len());
    let mut rest = link;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'&' {
            out.push(*byte);
        } else if let Some((character, after)) = take_reference(after) {
            rest = after;
            push_character(&mut out, character);
        } else {
            out.push(b'&');
        }
    }
    out
}

/// Parses the rest of a reference after its `&`. Returns the character and the text after the
/// reference; `None` if this is not a reference. Digits contain no `&`, so no byte is read more
/// than twice.
fn take_reference(text: &[u8]) -> Option<(char, &[u8])> {
    if let Some((name, rest)) = text.split_at_checked(b"amp;".len())
        && name.eq_ignore_ascii_case(b"amp;")
    {
        return Some(('&', rest));
    }
    let (radix, digits) = match text {
        [b'#', b'x' | b'X', digits @ ..] => (16, digits),
        [b'#', digits @ ..] => (10, digits),
        _ => return None,
    };
    let mut number: Option<u32> = None;
    let mut rest = digits;
    while let [byte, after @ ..] = rest {
        let Some(digit) = char::from(*byte).to_digit(radix) else { break };
        number = Some(number.unwrap_or(0).saturating_mul(radix).saturating_add(digit));
        rest = after;
    }
    let [b';', rest @ ..] = rest else { return None };
    let character = char::from_u32(number?).filter(|character| *character != '\0');
    Some((character.unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

fn push_character(out: &mut Vec<u8>, character: char) {
    let mut bytes = [0; 4];
    for &byte in character.encode_utf8(&mut bytes).as_bytes() {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            crate::encode::push_escaped(out, byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_2_9_are_corrected() {
        let rows = [
            ("&#10;x", "\nx"),
            ("&#0;x", "%EF%BF%BDx"),
            ("&#xD800;", "%EF%BF%BD"),
            ("&#x110000;", "%EF%BF%BD"),
            ("&#99999999999999999999;", "%EF%BF%BD"),
            ("&#X26;", "&"),
            ("&#;x", "&#;x"),
            ("&#x;x", "&#x;x"),
            ("&# 38;", "&# 38;"),
            ("&#-5;", "&#-5;"),
            ("&#+38;", "&#+38;"),
            ("&#38", "&#38"),
            ("&amp;amp;", "&amp;"),
            ("&#38;amp;", "&amp;"),
            ("&amp", "&amp"),
            ("&&amp;", "&&"),
        ];
        for (given, expected) in rows {
            let found = String::from_utf8(fix_html_link_url(given.as_bytes())).unwrap();
            assert_eq!(found, expected, "{given}");
        }
    }
}
