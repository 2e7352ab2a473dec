//! Directory listings of FTP servers as HTML.
//!
//! A listing becomes a page line by line, in bounded memory, so its length does not matter. All
//! names are foreign: a link contains only escaped bytes, and the text shows control characters.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use suppaftp::list::ListParser;

use super::session::{bytes_of, text_of};
use crate::base::clock;
use crate::base::escape::Escaped;
use crate::base::shown;

/// The maximum length of a line, in bytes. The rest of a longer line is ignored.
const MAX_LINE: usize = 4096;

/// All bytes that are escaped in a link: all but the unreserved ones (RFC 3986 §2.3). An escaped
/// name is one segment of a path, whatever it contains.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The format of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingFormat {
    /// MLSD (RFC 3659 §7).
    Facts,
    /// LIST (RFC 959), which no standard describes: like `ls -l`, or like `dir`.
    Free,
}

/// A file or directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct ListedFile {
    name: Vec<u8>,
    is_directory: bool,
    size: Option<u64>,
    /// The time of the last change, as shown.
    modified: String,
}

/// A listing on its way to a page.
#[derive(Debug)]
pub struct Listing {
    format: ListingFormat,
    line: Vec<u8>,
}

impl Listing {
    /// The listing of a directory, and the start of its page.
    #[must_use]
    pub fn begin(format: ListingFormat, url: &str, is_top: bool) -> (Self, String) {
        let url = shown::full_text(url);
        let url = Escaped(&url);
        let mut page = format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{url}</title>\n\
             <style>h1 {{ font-size: 1.4em }} h1, a {{ overflow-wrap: anywhere }} \
             td {{ padding-right: 1em; vertical-align: top }} .n {{ text-align: right }}</style>\n\
             </head>\n<body>\n<h1>{url}</h1>\n<table>\n"
        );
        if !is_top {
            page.push_str("<tr><td><a href=\"../\">../</a></td></tr>\n");
        }
        (Self { format, line: Vec::new() }, page)
    }

    /// Adds bytes of the listing. Returns the rows of the lines that are complete.
    #[must_use]
    pub fn add(&mut self, bytes: &[u8]) -> String {
        let mut rows = String::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        self.extend(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.end_line(&mut rows);
            self.extend(piece);
        }
        rows
    }

    /// The end of the page.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let mut rows = String::new();
        self.end_line(&mut rows);
        rows.push_str("</table>\n</body>\n</html>\n");
        rows
    }

    fn extend(&mut self, piece: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len()).min(piece.len());
        self.line.extend_from_slice(piece.get(..room).unwrap_or_default());
    }

    fn end_line(&mut self, rows: &mut String) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            return;
        }
        match parse(self.format, line) {
            ListedLine::File(file) => write_row(rows, &file),
            ListedLine::Other => {
                let text = shown::line(&decoded(line));
                // Writing to a `String` cannot fail.
                let _ok = writeln!(rows, "<tr><td colspan=\"3\">{}</td></tr>", Escaped(&text));
            }
            ListedLine::Nothing => {}
        }
    }
}

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
enum ListedLine {
    File(ListedFile),
    /// A line in an unknown format, which is shown as text.
    Other,
    /// The directory itself, its parent, or a total.
    Nothing,
}

fn parse(format: ListingFormat, line: &[u8]) -> ListedLine {
    let file = match format {
        ListingFormat::Facts => parse_facts(line),
        ListingFormat::Free if line.starts_with(b"total ") => return ListedLine::Nothing,
        ListingFormat::Free => parse_free(&text_of(line)),
    };
    match file {
        Some(file) if matches!(file.name.as_slice(), b"" | b"." | b"..") => ListedLine::Nothing,
        // No name of a file contains a slash, so this is a trick or another format.
        Some(file) if file.name.contains(&b'/') => ListedLine::Other,
        Some(file) => ListedLine::File(file),
        None => ListedLine::Other,
    }
}

/// Parses `Type=file;Size=1;Modify=20260102030405; name` (RFC 3659 §7.2).
fn parse_facts(line: &[u8]) -> Option<ListedFile> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let (facts, name) = line.split_at(space);
    let mut file = ListedFile { name: name.get(1..)?.to_vec(), ..ListedFile::default() };
    for fact in std::str::from_utf8(facts).ok()?.split_terminator(';') {
        let (fact, value) = fact.split_once('=')?;
        match fact.to_ascii_lowercase().as_str() {
            "type" => match value.to_ascii_lowercase().as_str() {
                // The directory itself and its parent, whose names are whole paths.
                "cdir" | "pdir" => file.name.clear(),
                kind => file.is_directory = kind == "dir",
            },
            "size" => file.size = value.parse().ok(),
            "modify" => file.modified = shown_time(value),
            _ => {}
        }
    }
    // The size of a directory is not that of its files.
    file.size = file.size.filter(|_| !file.is_directory);
    Some(file)
}

/// Shows `YYYYMMDDHHMMSS[.sss]` (RFC 3659 §2.3) without the seconds. Empty if it is invalid.
fn shown_time(value: &str) -> String {
    let digits = value.get(..14).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(digits) = digits else { return String::new() };
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{} {}:{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12))
}

fn parse_free(line: &str) -> Option<ListedFile> {
    let listed = ListParser::parse_posix(line).or_else(|_| ListParser::parse_dos(line)).ok()?;
    let modified = clock::rfc3339(listed.modified());
    Some(ListedFile {
        name: bytes_of(listed.name())?,
        is_directory: listed.is_directory(),
        size: listed.is_file().then(|| u64::try_from(listed.size()).ok()).flatten(),
        modified: modified.get(..16).unwrap_or_default().replace('T', " "),
    })
}

fn write_row(rows: &mut String, file: &ListedFile) {
    let slash = if file.is_directory { "/" } else { "" };
    let text = shown::line(&decoded(&file.name));
    let size = file.size.map(|size| size.to_string()).unwrap_or_default();
    // Writing to a `String` cannot fail.
    let _ok = writeln!(
        rows,
        "<tr><td><a href=\"{}{slash}\">{}{slash}</a></td><td class=\"n\">{size}</td><td>{}</td></tr>",
        percent_encode(&file.name, NAME),
        Escaped(&text),
        file.modified
    );
}

/// The text of a name: UTF-8 as RFC 2640 says, or Latin-1 on old servers.
fn decoded(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| text_of(bytes))
}

#[cfg(test)]
mod tests;
