//! The layout of a text: lines, headers, comments.

use super::EditError;
use std::ops::Range;
use toml_edit::{Document, Item, Table};

/// The largest number of lines in a commented-out value.
const MAX_COMMENTED: usize = 200;

/// A text and its TOML document.
pub(super) struct Layout<'a> {
    pub(super) text: &'a str,
    document: Document<&'a str>,
    /// The offsets of the headers, `[…]` and `[[…]]`, in order.
    headers: Vec<usize>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str) -> Result<Self, EditError> {
        let document = Document::parse(text).map_err(|error| {
            let message = error.message().trim().replace('\n', ", ");
            let at = error.span().map_or(0, |span| span.start);
            EditError::NotToml(format!("line {}: {message}", line_number(text, at)))
        })?;
        let mut headers = Vec::new();
        collect_headers(text, document.as_table(), &mut headers);
        headers.sort_unstable();
        Ok(Self { text, document, headers })
    }

    pub(super) fn root(&self) -> &Table {
        self.document.as_table()
    }

    /// The end of the lines that belong to the header whose own end is `from`. It is the beginning
    /// of a line, before blank lines and before the comment of the next header.
    pub(super) fn end_of(&self, from: usize) -> usize {
        let next = self.headers.iter().find(|header| **header >= from);
        let body = line_end(self.text, from);
        let mut end = next.map_or(self.text.len(), |header| self.above(*header));
        while end > body {
            let before = line_start(self.text, end - 1);
            if !is_blank(self.text.get(before..end).unwrap_or_default()) {
                break;
            }
            end = before;
        }
        end.max(body)
    }

    /// The start of the comment directly above a header, or the start of the header's own line.
    pub(super) fn above(&self, header: usize) -> usize {
        let mut start = line_start(self.text, header);
        while start > 0 {
            let before = line_start(self.text, start - 1);
            let line = self.text.get(before..start).unwrap_or_default();
            if !line.trim_start().starts_with('#') {
                break;
            }
            start = before;
        }
        start
    }

    /// The start of the line after the commented-out option `key`. `None` if `within` does not
    /// contain this option as a comment.
    pub(super) fn after_commented(&self, key: &str, within: Range<usize>) -> Option<usize> {
        let mut at = within.start;
        while at < within.end {
            let end = line_end(self.text, at);
            if let Some(after) = self.commented(key, at, within.end) {
                return Some(after);
            }
            at = end;
        }
        None
    }

    /// The end of the commented-out value of `key` that begins with the line at `start`. `None` if
    /// no such value begins there.
    fn commented(&self, key: &str, start: usize, limit: usize) -> Option<usize> {
        let mut value = String::new();
        let mut at = start;
        for number in 0..MAX_COMMENTED {
            if at >= limit {
                return None;
            }
            let end = line_end(self.text, at);
            let line = self.text.get(at..end)?.trim_start().strip_prefix('#')?;
            let is_key = |line: &str| {
                let after = line.trim_start().strip_prefix(key)?;
                after.trim_start().starts_with('=').then_some(())
            };
            if number == 0 {
                is_key(line)?;
            }
            value.push_str(line);
            if Document::parse(value.trim_start()).is_ok_and(|read| read.contains_key(key)) {
                return Some(end);
            }
            at = end;
        }
        None
    }

    /// The line ending of this text.
    pub(super) fn newline(&self) -> &'static str {
        let first = self.text.find('\n');
        let is_cr = first.and_then(|at| self.text.get(..at)).is_some_and(|t| t.ends_with('\r'));
        if is_cr { "\r\n" } else { "\n" }
    }

    /// Inserts `lines`, each with its line ending, at the beginning of a line. If the last line of
    /// the text has no line ending, the new last line does not get one.
    pub(super) fn lines_at(&self, at: usize, lines: &str) -> super::Splice {
        let before = self.text.get(..at).unwrap_or_default();
        if is_without_text(before) || before.ends_with('\n') {
            return super::Splice::insert(at, lines.to_owned());
        }
        let newline = self.newline();
        let lines = lines.strip_suffix(newline).unwrap_or(lines);
        super::Splice::insert(at, format!("{newline}{lines}"))
    }

    /// Removes whole lines. Comments in `commented`, a range of these lines, are preserved.
    pub(super) fn without_lines(
        &self,
        lines: Range<usize>,
        commented: Range<usize>,
    ) -> super::Splice {
        let newline = self.newline();
        let indent = indent(self.text, lines.start);
        let commented = self.text.get(commented).unwrap_or_default();
        let kept = comment_lines(commented, indent, newline);
        let taken = self.text.get(lines.clone()).unwrap_or_default();
        if taken.ends_with('\n') {
            return super::Splice { at: lines, with: kept };
        }
        let kept = kept.strip_suffix(newline).unwrap_or(&kept).to_owned();
        // If the removed last line has no line ending, the line ending before it must be removed
        // too.
        let before = self.text.get(..lines.start).unwrap_or_default();
        let end = if !kept.is_empty() {
            0
        } else if before.ends_with("\r\n") {
            2
        } else {
            usize::from(before.ends_with('\n'))
        };
        super::Splice { at: lines.start - end..lines.end, with: kept }
    }
}

fn collect_headers(text: &str, table: &Table, into: &mut Vec<usize>) {
    let is_header =
        |span: &Range<usize>| text.get(span.clone()).is_some_and(|header| header.starts_with('['));
    into.extend(table.span().filter(is_header).map(|span| span.start));
    for (_, item) in table {
        match item {
            Item::Table(table) => collect_headers(text, table, into),
            Item::ArrayOfTables(tables) => {
                tables.iter().for_each(|table| collect_headers(text, table, into));
            }
            _ => {}
        }
    }
}

/// Whether the text is empty or only a byte order mark.
pub(super) fn is_without_text(text: &str) -> bool {
    text.is_empty() || text == "\u{feff}"
}

pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The number of the line that contains a byte, counted from 1.
pub(super) fn line_number(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The start of the line that contains a byte. A byte order mark belongs to no line.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    before.rfind('\n').map_or(mark.min(at), |end| end + 1)
}

/// The start of the line after the one that contains a byte, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let after = text.get(at..).unwrap_or_default();
    after.find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The indentation of the line that contains a byte.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let length = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    line.get(..length).unwrap_or_default()
}

/// The comments in a piece of TOML that does not begin inside a string.
pub(super) fn comments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['#', '"', '\'']) {
        let from = rest.get(at..).unwrap_or_default();
        rest = if from.starts_with('#') {
            let (comment, after) = from.split_once('\n').unwrap_or((from, ""));
            found.push(comment.trim_end());
            after
        } else {
            after_string(from)
        };
    }
    found
}

/// The comments in a piece of TOML, each on its own line.
pub(super) fn comment_lines(text: &str, indent: &str, newline: &str) -> String {
    let lines: Vec<_> =
        comments(text).into_iter().flat_map(|comment| [indent, comment, newline]).collect();
    lines.concat()
}

/// The rest of `text` after the string at its beginning (TOML, section String).
fn after_string(text: &str) -> &str {
    let quote = [r#"""""#, "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote));
    let Some(quote) = quote else { return "" };
    let has_escapes = quote.starts_with('"');
    let mut rest = text.get(quote.len()..).unwrap_or_default();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            // A multi-line string may end with up to two more quotes. No other quotes can follow
            // it.
            return if quote.len() == 3 { after.trim_start_matches(['"', '\'']) } else { after };
        }
        let mut characters = rest.chars();
        let Some(character) = characters.next() else { return "" };
        if character == '\\' && has_escapes {
            characters.next();
        }
        rest = characters.as_str();
    }
}

/// The offset of the first comma between `from` and `limit` that is outside comments. `None` if
/// there is none.
pub(super) fn comma(text: &str, from: usize, limit: usize) -> Option<usize> {
    let mut in_comment = false;
    let piece = text.get(from..limit)?;
    let found = piece.bytes().position(|byte| {
        in_comment = (in_comment || byte == b'#') && byte != b'\n';
        byte == b',' && !in_comment
    });
    found.map(|at| from + at)
}
