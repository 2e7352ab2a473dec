//! Sets and unsets options of a section, or of one of its rules.

use super::layout::{
    self, Layout, comment_lines, indent, is_blank, line_end, line_number, line_start,
};
use super::{EditError, EditResult, Splice, check_bare_key, known_section};
use std::ops::Range;
use toml_edit::{Array, Item, Table, TableLike};

/// The section or rule that contains an option.
pub(super) enum EditTarget<'a> {
    /// A section.
    Section(&'a str),
    /// A rule: its section, and its number in this section, counted from 0.
    Rule(&'a str, usize),
}

/// An option and its position in the text.
pub(super) struct OptionEntry<'a> {
    pub(super) item: &'a Item,
    /// The range of the value.
    pub(super) value: Range<usize>,
    /// The range of the option's name, without the section's name that may precede it.
    key: Range<usize>,
}

/// The notation of a section.
enum SectionForm<'a> {
    /// The section is below a header, which ends at this offset.
    Headed(&'a Table, usize),
    /// The option is written as `section.key = value`.
    Dotted(&'a Table),
    /// The section is written as `section = { … }`.
    Inline(&'a dyn TableLike, Range<usize>),
    /// The section does not exist in the text.
    Missing,
}

impl<'a> SectionForm<'a> {
    fn of(layout: &'a Layout<'_>, target: &EditTarget<'_>) -> Result<Self, EditError> {
        let (EditTarget::Section(name) | EditTarget::Rule(name, _)) = target;
        let Some(section) = layout.root().get(name) else { return Ok(Self::Missing) };
        if let EditTarget::Rule(_, index) = target {
            let rules = section.get("for").and_then(Item::as_array_of_tables);
            let rule = rules.and_then(|rules| rules.get(*index));
            let found = rule.and_then(|rule| Some(Self::Headed(rule, rule.span()?.end)));
            return found.ok_or_else(|| EditError::ByHand(format!("[[{name}.for]]")));
        }
        match (section, section.span()) {
            (Item::Table(table), _) if table.is_dotted() => Ok(Self::Dotted(table)),
            (Item::Table(table), _) if table.is_implicit() => Ok(Self::Missing),
            (Item::Table(table), Some(span)) => Ok(Self::Headed(table, span.end)),
            (Item::Value(value), Some(span)) if value.is_inline_table() => {
                let table = section.as_table_like();
                table.map(|table| Self::Inline(table, span)).ok_or_else(|| manual_edit_error(name))
            }
            _ => Err(manual_edit_error(name)),
        }
    }

    fn table(&self) -> Option<&'a dyn TableLike> {
        match self {
            Self::Headed(table, _) | Self::Dotted(table) => Some(*table),
            Self::Inline(table, _) => Some(*table),
            Self::Missing => None,
        }
    }

    /// Extends a change of an option so that comments in the removed text move to lines above the
    /// option.
    fn replaced(
        &self,
        text: &str,
        entry: &OptionEntry<'_>,
        splice: &Splice,
        newline: &str,
    ) -> Splice {
        // Other options may precede this option on its line, including an option that began on a
        // line above.
        let first = match self {
            Self::Inline(_, span) => span.start,
            _ => entry.key.start,
        };
        let start = line_start(text, first);
        let gone = text.get(splice.at.clone()).unwrap_or_default();
        let kept = comment_lines(gone, indent(text, start), newline);
        if kept.is_empty() {
            return splice.clone();
        }
        let before = text.get(start..splice.at.start).unwrap_or_default();
        Splice { at: start..splice.at.end, with: format!("{kept}{before}{}", splice.with) }
    }

    fn entry(&self, key: &str) -> Result<Option<OptionEntry<'a>>, EditError> {
        let found = self.table().and_then(|table| Some((table.key(key)?, table.get(key)?)));
        let Some((name, item)) = found.filter(|(_, item)| !item.is_none()) else {
            return Ok(None);
        };
        match (name.span(), item.span()) {
            (Some(key), Some(value)) if item.is_value() => {
                Ok(Some(OptionEntry { item, value, key }))
            }
            _ => Err(manual_edit_error(key)),
        }
    }
}

fn manual_edit_error(name: &str) -> EditError {
    EditError::ByHand(format!("{name:?}"))
}

/// Returns the array that is the value of an option, and its range in the text. `None` if the
/// option is not set.
pub(super) fn array<'a>(
    layout: &'a Layout<'_>,
    section: &str,
    key: &str,
) -> Result<Option<(&'a Array, Range<usize>)>, EditError> {
    let entry = SectionForm::of(layout, &EditTarget::Section(section))?.entry(key)?;
    let Some(entry) = entry else { return Ok(None) };
    let array = entry.item.as_array().ok_or_else(|| EditError::NotAnArray(key.to_owned()))?;
    Ok(Some((array, entry.value)))
}

/// Sets an option to `value`, written in TOML.
pub(super) fn set(
    text: &str,
    target: &EditTarget<'_>,
    key: &str,
    value: &str,
) -> Result<EditResult, EditError> {
    check_bare_key(key)?;
    let layout = Layout::of(text)?;
    let home = SectionForm::of(&layout, target)?;
    let entry = home.entry(key)?;
    let splice = match &entry {
        Some(entry) => {
            let at = entry.value.clone();
            home.replaced(text, entry, &Splice { at, with: value.to_owned() }, layout.newline())
        }
        None => insert_option(&layout, &home, target, key, value)?,
    };
    let was = entry.and_then(|entry| text.get(entry.value).map(str::to_owned));
    check_result(&splice.apply(text), was, target, key, value)
}

/// Inserts a line for an option that is not set: after the commented-out line of the option, or at
/// the end of the section or rule.
fn insert_option(
    layout: &Layout<'_>,
    home: &SectionForm<'_>,
    target: &EditTarget<'_>,
    key: &str,
    value: &str,
) -> Result<Splice, EditError> {
    let (EditTarget::Section(section) | EditTarget::Rule(section, _)) = target;
    let (text, newline) = (layout.text, layout.newline());
    let line = |indent: &str, name: &str| format!("{indent}{name} = {value}{newline}");
    Ok(match home {
        SectionForm::Headed(table, header) => {
            let end = layout.end_of(*header);
            let commented = layout.after_commented(key, line_end(text, *header)..end);
            let at = commented.filter(|at| !is_inside(*table, *at)).unwrap_or(end);
            let indent = first_indent(text, *table).unwrap_or_else(|| indent(text, *header));
            layout.lines_at(at, &line(indent, key))
        }
        SectionForm::Dotted(table) => {
            let last = last_value(*table).ok_or_else(|| manual_edit_error(section))?;
            let at = line_end(text, last);
            let name = format!("{section}.{key}");
            layout.lines_at(at, &line("", &name))
        }
        SectionForm::Inline(table, span) => match last_value(*table) {
            Some(last) => Splice::insert(last, format!(", {key} = {value}")),
            None => Splice { at: span.clone(), with: format!("{{ {key} = {value} }}") },
        },
        SectionForm::Missing => {
            known_section(section)?;
            append_lines(layout, &format!("[{section}]{newline}{}", line("", key)))
        }
    })
}

/// Appends lines to the text, with a blank line before them.
pub(super) fn append_lines(layout: &Layout<'_>, lines: &str) -> Splice {
    let (text, newline) = (layout.text, layout.newline());
    let last = text.get(line_start(text, text.len().saturating_sub(1))..).unwrap_or_default();
    let gap = if layout::is_without_text(text) || (is_blank(last) && last.ends_with('\n')) {
        String::new()
    } else if text.ends_with('\n') {
        newline.to_owned()
    } else {
        newline.repeat(2)
    };
    Splice::insert(text.len(), gap + lines)
}

/// Whether an offset is in the middle of a value.
fn is_inside(table: &dyn TableLike, at: usize) -> bool {
    let spans = table.iter().filter_map(|(_, item)| item.as_value()?.span());
    spans.into_iter().any(|span| span.start < at && at < span.end)
}

fn first_indent<'a>(text: &'a str, table: &dyn TableLike) -> Option<&'a str> {
    let (first, _) = table.iter().find(|(_, item)| item.is_value())?;
    Some(indent(text, table.key(first)?.span()?.start))
}

/// The end of the last value; `None` if the table has no values.
fn last_value(table: &dyn TableLike) -> Option<usize> {
    table.iter().filter_map(|(_, item)| Some(item.span()?.end)).max()
}

/// Removes an option and preserves its comments.
pub(super) fn unset(
    text: &str,
    target: &EditTarget<'_>,
    key: &str,
) -> Result<EditResult, EditError> {
    let layout = Layout::of(text)?;
    let home = SectionForm::of(&layout, target)?;
    let Some(entry) = home.entry(key)? else {
        return Ok(EditResult { text: text.to_owned(), line: 1, was: None, now: None });
    };
    let was = text.get(entry.value.clone()).map(str::to_owned);
    let splice = if let SectionForm::Inline(table, span) = &home {
        let splice = remove_from_inline(text, *table, &entry, span);
        home.replaced(text, &entry, &splice, layout.newline())
    } else {
        let lines = line_start(text, entry.key.start)..line_end(text, entry.value.end);
        let commented = entry.value.start..lines.end;
        layout.without_lines(lines, commented)
    };
    let line = line_number(text, entry.key.start);
    let mut edited = EditResult { text: splice.apply(text), line, was, now: None };
    if let EditTarget::Section(section) = target
        && let Some(text) = without_empty(&edited.text, section)
    {
        edited.text = text;
    }
    let layout = Layout::of(&edited.text).map_err(|_| manual_edit_error(key))?;
    match SectionForm::of(&layout, target)?.entry(key)? {
        None => {}
        Some(_) => return Err(manual_edit_error(key)),
    }
    Ok(edited)
}

/// The text without the header of a section, if the header has no options below it and no comment.
/// Rules of the section stay, because each has its own header. `None` if the header must stay.
fn without_empty(text: &str, section: &str) -> Option<String> {
    let layout = Layout::of(text).ok()?;
    let table = layout.root().get(section)?.as_table()?;
    let has_rules_alone = table.iter().all(|(_, item)| item.is_array_of_tables());
    if table.is_implicit() || table.is_dotted() || !has_rules_alone {
        return None;
    }
    let header = table.span()?;
    let above = text.get(..line_start(text, header.start))?;
    let (rest, below) =
        text.get(header.start..)?.split_once('\n').unwrap_or((text.get(header.start..)?, ""));
    let next = below
        .find(|c: char| !c.is_whitespace())
        .map_or("", |at| below.get(line_start(below, at)..).unwrap_or_default());
    let is_alone = next.trim_start().starts_with('[') || next.is_empty();
    // A comment above the header may be about the section.
    let is_commented = rest.contains('#')
        || above
            .lines()
            .next_back()
            .is_some_and(|line| line.trim_start_matches('\u{feff}').trim_start().starts_with('#'));
    if !is_alone || is_commented {
        return None;
    }
    let kept = if next.is_empty() { above.trim_end() } else { above };
    let end = above.get(kept.len()..)?.find('\n').map_or(0, |at| at + 1);
    Some([above.get(..kept.len() + end)?, next].concat())
}

/// Removes `key = value` and its comma from an inline table.
fn remove_from_inline(
    text: &str,
    table: &dyn TableLike,
    entry: &OptionEntry<'_>,
    span: &Range<usize>,
) -> Splice {
    let ends = table.iter().filter_map(|(_, item)| Some(item.span()?.end));
    let before = ends.filter(|end| *end <= entry.key.start).max();
    let comma = layout::comma(text, entry.value.end, span.end);
    let at = match (before, comma) {
        (Some(before), _) => before..entry.value.end,
        (None, Some(comma)) => {
            let after = text.get(comma + 1..).unwrap_or_default();
            let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
            entry.key.start..comma + 1 + spaces
        }
        (None, None) => entry.key.start..entry.value.end,
    };
    Splice { at, with: String::new() }
}

/// Returns the result, after checking that the option has the given value in the new text.
fn check_result(
    new: &str,
    was: Option<String>,
    target: &EditTarget<'_>,
    key: &str,
    value: &str,
) -> Result<EditResult, EditError> {
    let layout = Layout::of(new).map_err(|_| manual_edit_error(key))?;
    let entry =
        SectionForm::of(&layout, target)?.entry(key)?.ok_or_else(|| manual_edit_error(key))?;
    let now = new.get(entry.value.clone()).filter(|now| *now == value);
    let now = Some(now.ok_or_else(|| manual_edit_error(key))?.to_owned());
    let line = line_number(new, entry.key.start);
    Ok(EditResult { text: new.to_owned(), line, was, now })
}
