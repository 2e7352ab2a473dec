//! Adds and removes elements of an option that is an array.

use super::entry::{self, EditTarget};
use super::layout::{
    Layout, comma, comment_lines, indent, is_blank, line_end, line_number, line_start,
};
use super::{EditError, EditResult, Splice};
use std::ops::Range;
use toml_edit::{Array, Value as Toml};

/// The default indentation of an element on its own line.
const INDENT: &str = "  ";

/// The elements of an array in a text.
struct Elements<'a> {
    layout: &'a Layout<'a>,
    spans: Vec<Range<usize>>,
    /// The whole array, with its brackets.
    all: Range<usize>,
}

/// Adds `item`, written in TOML, before the element with the number `before`, or at the end. Does
/// nothing if the array contains `item`. If the text does not set the option, the array is
/// `default`.
pub(super) fn add(
    text: &str,
    section: &str,
    key: &str,
    item: &str,
    before: Option<usize>,
    default: &str,
) -> Result<EditResult, EditError> {
    let layout = Layout::of(text)?;
    let Some((array, all)) = entry::array(&layout, section, key)? else {
        return edit_default(text, section, key, default, |alone| {
            add(alone, section, key, item, before, default)
        });
    };
    let was = text.get(all.clone()).unwrap_or_default().to_owned();
    if position(array, item).is_some() {
        let line = line_number(text, all.start);
        return Ok(EditResult {
            text: text.to_owned(),
            line,
            was: Some(was.clone()),
            now: Some(was),
        });
    }
    let elements = Elements::of(&layout, array, all);
    let splice = match before.and_then(|number| elements.spans.get(number)) {
        Some(next) => elements.insert_before(next, item),
        None => elements.added(item),
    };
    check_result(text, &splice, section, key, was)
}

/// Removes `item`, written in TOML. If the text does not set the option, the array is `default`.
/// Fails if the array does not contain `item`.
pub(super) fn remove(
    text: &str,
    section: &str,
    key: &str,
    item: &str,
    default: &str,
) -> Result<EditResult, EditError> {
    let layout = Layout::of(text)?;
    let Some((array, all)) = entry::array(&layout, section, key)? else {
        return edit_default(text, section, key, default, |alone| {
            remove(alone, section, key, item, default)
        });
    };
    let was = text.get(all.clone()).unwrap_or_default().to_owned();
    let Some(number) = position(array, item) else {
        let (option, item) = (key.to_owned(), item.to_owned());
        return Err(EditError::NoItem { option, item, found: was });
    };
    let splice = Elements::of(&layout, array, all).without(number);
    check_result(text, &splice, section, key, was)
}

/// Applies `edit` to the default of an option that is not set, and sets the option to the result.
fn edit_default(
    text: &str,
    section: &str,
    key: &str,
    default: &str,
    edit: impl FnOnce(&str) -> Result<EditResult, EditError>,
) -> Result<EditResult, EditError> {
    let alone = format!("[{section}]\n{key} = {default}\n");
    let edited = edit(&alone)?;
    match edited.now {
        Some(now) if edited.text != alone => {
            entry::set(text, &EditTarget::Section(section), key, &now)
        }
        _ => Ok(EditResult { text: text.to_owned(), line: 1, was: None, now: None }),
    }
}

/// Applies `splice`, and returns the new text after checking that it parses.
fn check_result(
    text: &str,
    splice: &Splice,
    section: &str,
    key: &str,
    was: String,
) -> Result<EditResult, EditError> {
    let new = splice.apply(text);
    let by_hand = || EditError::ByHand(format!("{key:?}"));
    let layout = Layout::of(&new).map_err(|_| by_hand())?;
    let (_, all) = entry::array(&layout, section, key)?.ok_or_else(by_hand)?;
    let now = new.get(all).map(str::to_owned);
    drop(layout);
    let after = splice.at.start + splice.with.len() - splice.with.trim_start().len();
    Ok(EditResult { line: line_number(&new, after), text: new, was: Some(was), now })
}

fn position(array: &Array, item: &str) -> Option<usize> {
    let wanted: Toml = item.parse().ok()?;
    array.iter().position(|element| same(element, &wanted))
}

/// Whether two values mean the same. A number equals a text with the same digits.
fn same(a: &Toml, b: &Toml) -> bool {
    let plain = |value: &Toml| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.clone().decorated("", "").to_string(),
    };
    match (a.as_inline_table(), b.as_inline_table()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => plain(a) == plain(b),
    }
}

impl<'a> Elements<'a> {
    fn of(layout: &'a Layout<'a>, array: &Array, all: Range<usize>) -> Self {
        Self { layout, spans: array.iter().filter_map(Toml::span).collect(), all }
    }

    fn text(&self, range: Range<usize>) -> &'a str {
        self.layout.text.get(range).unwrap_or_default()
    }

    /// The offset of the closing bracket.
    fn close(&self) -> usize {
        self.all.end.saturating_sub(1)
    }

    /// Whether only white space precedes `at` on its line, and the beginning of this line is inside
    /// the array.
    fn starts_line(&self, at: usize) -> bool {
        let start = line_start(self.layout.text, at);
        start > self.all.start && is_blank(self.text(start..at))
    }

    fn added(&self, item: &str) -> Splice {
        let (text, newline) = (self.layout.text, self.layout.newline());
        let Some(last) = self.spans.last() else {
            let close = self.close();
            if !self.starts_line(close) {
                return Splice::insert(self.all.start + 1, item.to_owned());
            }
            let indent = format!("{}{INDENT}", indent(text, close));
            let line = line_start(text, close);
            return Splice::insert(line, format!("{indent}{item},{newline}"));
        };
        let comma = comma(text, last.end, self.close());
        let is_one_line = !self.text(last.end..self.close()).contains('\n');
        match comma {
            None if is_one_line => Splice::insert(last.end, format!(", {item}")),
            Some(comma) if is_one_line => Splice::insert(comma + 1, format!(" {item},")),
            Some(comma) => {
                let line = line_end(text, comma);
                Splice::insert(line, format!("{}{item},{newline}", self.indent_of(last)))
            }
            None => {
                let at = last.end..line_end(text, last.end);
                let rest = self.text(at.clone());
                let indent = self.indent_of(last);
                Splice { at, with: format!(",{rest}{indent}{item}{newline}") }
            }
        }
    }

    fn indent_of(&self, element: &Range<usize>) -> String {
        let own = indent(self.layout.text, element.start);
        if self.starts_line(element.start) { own.to_owned() } else { format!("{own}{INDENT}") }
    }

    fn insert_before(&self, next: &Range<usize>, item: &str) -> Splice {
        let (text, newline) = (self.layout.text, self.layout.newline());
        if !self.starts_line(next.start) {
            return Splice::insert(next.start, format!("{item}, "));
        }
        let indent = indent(text, next.start);
        Splice::insert(line_start(text, next.start), format!("{indent}{item},{newline}"))
    }

    fn without(&self, number: usize) -> Splice {
        let text = self.layout.text;
        let Some(element) = self.spans.get(number) else { return Splice::insert(0, String::new()) };
        let next = self.spans.get(number + 1).map_or(self.close(), |next| next.start);
        let comma = comma(text, element.end, next);
        let end = comma.map_or(element.end, |comma| comma + 1);
        let lines = line_start(text, element.start)..line_end(text, end);
        let is_alone = self.starts_line(element.start) && lines.end < self.all.end;
        let tail = self.text(end..lines.end).trim();
        if is_alone && (tail.is_empty() || tail.starts_with('#')) {
            return self.layout.without_lines(lines.clone(), element.start..lines.end);
        }
        let before = number.checked_sub(1).and_then(|before| self.spans.get(before));
        let after = self.text(end..next);
        let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
        let at = match (before, comma) {
            (Some(before), None) => before.end..element.end,
            // The space before the last element is removed together with the element, so that no
            // gap remains.
            (Some(before), Some(_)) if number + 1 == self.spans.len() => {
                let from = super::layout::comma(text, before.end, element.start);
                from.map_or(element.start, |from| from + 1)..end
            }
            (None, None) => element.clone(),
            (_, Some(_)) => element.start..end + spaces,
        };
        self.with_comments(at)
    }

    /// Removes the range `at`, and preserves the comments in it.
    fn with_comments(&self, at: Range<usize>) -> Splice {
        let newline = self.layout.newline();
        let with = comment_lines(self.text(at.clone()), " ", newline);
        Splice { at, with }
    }
}
