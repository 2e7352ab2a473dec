//! Escapes text in HTML.

use std::fmt;

use minijinja::{AutoEscape, Error, Output, State, Value};

/// Text escaped for HTML: between tags, or within a quoted attribute.
///
/// Escapes every character that could end the text or the attribute. The template engine also
/// escapes `/`, which is not necessary and makes lists of URLs a fifth longer.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, name)) = rest.char_indices().find_map(|(at, c)| Some((at, name(c)?))) {
            f.write_str(rest.get(..at).unwrap_or_default())?;
            f.write_str(name)?;
            // Each escaped character is one byte.
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        f.write_str(rest)
    }
}

/// The escape of a character, if it has one.
fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#x27;",
        _ => return None,
    })
}

/// Length in bytes of the escaped text.
#[must_use]
pub(crate) fn written(text: &str) -> usize {
    text.chars().map(|c| name(c).map_or(c.len_utf8(), str::len)).sum()
}

/// Writes a template value, escaped if the template produces HTML.
pub(crate) fn write(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() && *state.auto_escape() == AutoEscape::Html => {
            Ok(write!(out, "{}", Escaped(text))?)
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

#[cfg(test)]
mod tests {
    use minijinja::HtmlEscape;

    use super::*;
    use crate::page::testing::hostile;

    #[test]
    fn values_are_escaped_like_the_engine_except_for_slashes() {
        let mut all = hostile();
        all.push((0..=0x24f).filter_map(char::from_u32).collect());
        all.extend(["'", "''", "é'é", "/\"/", "&&amp;"].map(str::to_owned));
        for text in all {
            let escaped = Escaped(&text).to_string();
            let engine = HtmlEscape(&text).to_string();
            assert_eq!(escaped, engine.replace("&#x2f;", "/"), "{text:.40}");
            assert_eq!(written(&text), escaped.len(), "{text:.40}");
        }
    }
}
