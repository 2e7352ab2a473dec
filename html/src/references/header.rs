//! `Link` fields (RFC 8288) that make browsers fetch sub-resources.

use super::element::{ElementContext, Tag};
use super::gather::Collector;
use super::link;

/// The relations that browsers honour in `Link` fields.
const HEEDED: [&str; 4] = ["preload", "modulepreload", "prefetch", "stylesheet"];

/// Parses the value of one field.
pub(super) fn read(field: &str, gather: &mut Collector) {
    let mut rest = field;
    while let Some((tag, after)) = next(rest) {
        rest = after;
        // With an anchor, the link describes another resource (RFC 8288 §3.2).
        if tag.get("anchor").is_some() {
            continue;
        }
        if HEEDED.iter().any(|word| tag.has_word("rel", word)) {
            link::link(&tag, &mut ElementContext::default(), gather);
        } else if tag.has_word("rel", "canonical")
            && let Some(reference) = tag.filled("href")
        {
            gather.set_canonical(reference);
        }
    }
}

/// The next link, as the equivalent `link` element, and the text after it. `None` at the end, or if
/// the next link is invalid.
fn next(text: &str) -> Option<(Tag, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    let (reference, mut rest) = text.strip_prefix('<')?.split_once('>')?;
    let mut attributes = vec![("href".to_owned(), reference.to_owned())];
    while let Some(after) = rest.trim_start().strip_prefix(';') {
        let after = after.trim_start();
        let end = after.find([';', ',', '=']).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => value(after.trim_start()),
            None => (String::new(), after),
        };
        attributes.push((name.trim().to_ascii_lowercase(), value));
        rest = after;
    }
    Some((Tag { name: "link".to_owned(), attributes }, rest))
}

/// Parses a token or a quoted string. Returns its text and the text after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return (token.trim_end().to_owned(), rest);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            '"' if !is_escaped => return (value, quoted.get(at + 1..).unwrap_or_default()),
            c => value.push(c),
        }
        is_escaped = false;
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use crate::references::{BodyKind, Finder, Viewport};

    #[test]
    fn fields_are_read_as_elements_are() {
        let rows = [
            ("</a.css>; rel=preload; as=style", "stylesheet /a.css"),
            (
                "<a.js>;rel=\"x modulepreload\" , <b.woff2>; as=\"font\"; rel=preload",
                "script /d/a.js font /d/b.woff2",
            ),
            (
                "<a,b;c.png>; REL=preload; As=image; title=\"x, <y>; \\\" z\", <c.js>;rel=preload;nopush;as=script",
                "image /d/a,b;c.png script /d/c.js",
            ),
            (
                "<a.png>; rel=preload; as=image; imagesrcset=\"b.png 1x, c.png 2x\"",
                "image /d/b.png",
            ),
            ("</x>; rel=canonical, <//h.example>; rel=preconnect, <y>; rel=next", ""),
            ("<a.css>; rel=stylesheet; anchor=\"#x\"", ""),
            ("a.css; rel=preload; as=style", ""),
            ("<a.css; rel=preload", ""),
            (",, <>; rel=preload; as=style,", ""),
            ("<a.css>; rel=\"preload; as=style", ""),
        ];
        for (field, want) in rows {
            let page = "http://a.example/d/p".parse().unwrap();
            let mut finder = Finder::new(BodyKind::Html, &page, None, &Viewport::default());
            finder.link_field(field);
            finder.write(b"<link rel=icon href=data:,>");
            let found = finder.finish();
            let links = found.links.iter().filter(|link| link.left_out.is_none());
            let links = links.map(|link| {
                let path = link.url.strip_prefix("http://a.example").unwrap_or(&link.url);
                format!("{} {path}", link.class)
            });
            assert_eq!(links.collect::<Vec<_>>().join(" "), want, "{field}");
        }
    }
}
