//! Fills values into a text, as HTML.

use super::catalogue::Direction;
use crate::base::escape::Escaped;

/// A value that was filled into a text.
pub(super) enum PlaceholderValue {
    /// Text, to be escaped.
    Plain(String),
    /// HTML.
    Markup(String),
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkupPiece<'a> {
    Words(&'a str),
    /// `{name}`.
    Value(&'a str),
    /// `[label](name)`.
    Link {
        /// The visible label.
        label: &'a str,
        /// The name of the value that is the target.
        to: &'a str,
    },
    /// `` `word` ``.
    Code(&'a str),
}

/// Converts a text to HTML. `value` returns the value of each name.
///
/// In right-to-left text, each value except a plain number is isolated (U+2068). Otherwise the
/// first number of `3 kB. 2 kB` would be displayed last.
///
/// # Errors
///
/// Those of `value`.
pub(super) fn fill<E>(
    text: &str,
    direction: Direction,
    value: impl Fn(&str) -> Result<PlaceholderValue, E> + Copy,
) -> Result<String, E> {
    let mut html = String::with_capacity(text.len() + 32);
    for piece in pieces(text) {
        match piece {
            MarkupPiece::Words(words) => push_words(&mut html, words),
            MarkupPiece::Value(name) => match (value(name)?, direction) {
                (PlaceholderValue::Plain(plain), Direction::Rtl) if !is_number(&plain) => {
                    push(&mut html, PlaceholderValue::Plain(format!("\u{2068}{plain}\u{2069}")));
                }
                (value, _) => push(&mut html, value),
            },
            MarkupPiece::Code(word) => {
                html.push_str("<code>");
                push_words(&mut html, word);
                html.push_str("</code>");
            }
            MarkupPiece::Link { label, to } => {
                html.push_str("<a href=\"");
                push(&mut html, value(to)?);
                html.push_str("\">");
                html.push_str(&fill(label, direction, value)?);
                html.push_str("</a>");
            }
        }
    }
    Ok(html)
}

fn push(html: &mut String, value: PlaceholderValue) {
    match value {
        PlaceholderValue::Plain(plain) => html.push_str(&Escaped(&plain).to_string()),
        PlaceholderValue::Markup(markup) => html.push_str(&markup),
    }
}

/// Appends words of a text to the HTML. Characters that would be markup, or would end an attribute,
/// are escaped.
fn push_words(html: &mut String, words: &str) {
    for c in words.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
}

/// Splits a text into its parts. Incomplete markup counts as words.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = MarkupPiece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((piece, after)) = special(rest) {
            rest = after;
            return Some(piece);
        }
        let skip = rest.chars().next().map_or(0, char::len_utf8);
        let is_next = |&(at, _): &(usize, char)| {
            at >= skip && special(rest.get(at..).unwrap_or("")).is_some()
        };
        let end = rest.char_indices().find(is_next).map_or(rest.len(), |(at, _)| at);
        let (words, after) = rest.split_at(end);
        rest = after;
        Some(MarkupPiece::Words(words))
    })
}

fn special(text: &str) -> Option<(MarkupPiece<'_>, &str)> {
    if let Some(rest) = text.strip_prefix('{') {
        let (name, after) = rest.split_once('}')?;
        return is_name(name).then_some((MarkupPiece::Value(name), after));
    }
    if let Some(rest) = text.strip_prefix('`') {
        let (word, after) = rest.split_once('`')?;
        return Some((MarkupPiece::Code(word), after));
    }
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (to, after) = rest.split_once(')')?;
    (is_name(to) && !label.contains('[')).then_some((MarkupPiece::Link { label, to }, after))
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        filled_in(Direction::Ltr, text)
    }

    fn filled_in(direction: Direction, text: &str) -> String {
        let value = |name: &str| match name {
            "bad" => Ok(PlaceholderValue::Plain("<\"&'{n}`x`[a](b)".to_owned())),
            "time" => Ok(PlaceholderValue::Markup("<time>now</time>".to_owned())),
            "size" => Ok(PlaceholderValue::Plain("3 kB".to_owned())),
            "n" => Ok(PlaceholderValue::Plain("12".to_owned())),
            "to" => Ok(PlaceholderValue::Plain("http://a/?b&c".to_owned())),
            name => Err(format!("no {name}")),
        };
        fill(text, direction, value).unwrap_or_else(|error| format!("! {error}"))
    }

    #[test]
    fn a_text_is_filled_with_its_values() {
        for (text, want) in [
            ("", ""),
            ("Plain words, [local-host] names", "Plain words, [local-host] names"),
            ("a < b & \"c\" isn't", "a &lt; b &amp; &quot;c&quot; isn't"),
            ("kept {time}.", "kept <time>now</time>."),
            ("{bad}", "&lt;&quot;&amp;&#x27;{n}`x`[a](b)"),
            ("`wwwoffle <queue>`!", "<code>wwwoffle &lt;queue&gt;</code>!"),
            (
                "see [the {time}](to).",
                "see <a href=\"http://a/?b&amp;c\">the <time>now</time></a>.",
            ),
            ("[options] of [x](to)", "[options] of <a href=\"http://a/?b&amp;c\">x</a>"),
            ("{ } {Big} {a b} ` [x] (to) [x]()", "{ } {Big} {a b} ` [x] (to) [x]()"),
            ("{none}", "! no none"),
            ("ünï{time}çødé", "ünï<time>now</time>çødé"),
        ] {
            assert_eq!(filled(text), want, "{text}");
        }
    }

    #[test]
    fn values_are_isolated_in_right_to_left_text() {
        let text = "{n}: [{size}](to), {time}";
        let link = "<a href=\"http://a/?b&amp;c\">";
        for (direction, size) in
            [(Direction::Ltr, "3 kB"), (Direction::Rtl, "\u{2068}3 kB\u{2069}")]
        {
            let want = format!("12: {link}{size}</a>, <time>now</time>");
            assert_eq!(filled_in(direction, text), want);
        }
    }

    proptest::proptest! {
        #[test]
        fn markup_pieces_preserve_the_text(text in "[a-z{}\\[\\]()` ü]{0,40}") {
            let again: String = pieces(&text)
                .map(|piece| match piece {
                    MarkupPiece::Words(words) => words.to_owned(),
                    MarkupPiece::Value(name) => format!("{{{name}}}"),
                    MarkupPiece::Code(word) => format!("`{word}`"),
                    MarkupPiece::Link { label, to } => format!("[{label}]({to})"),
                })
                .collect();
            proptest::prop_assert_eq!(again, text);
        }
    }
}
