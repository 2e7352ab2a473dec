//! The page that lists the files of an exported folder.

use std::fmt::Write as _;
use std::io;

use wwwoffle_spool::Entry;

use super::FolderForm;
use super::plan::relative_url;
use crate::export::Titles;
use crate::export::saved::{DocumentShape, escaped, saved_type};
use crate::export::warc::time;

/// The longest title in characters.
const MAX_TITLE: usize = 200;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n\
    <title>Pages saved by wwwoffle</title>\n\
    <style>body { font-family: sans-serif; margin: 1em } table { border-spacing: 1em .2em }\n\
    th, td { text-align: left; overflow-wrap: anywhere }</style>\n<h1>Saved pages</h1>\n";

const COLUMNS: &str = "<table>\n<tr><th>title<th>URL<th>received<th>bytes<th>type\n";

/// The rows of the list.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    pages: String,
    files: String,
}

impl FolderListing {
    /// Adds a row for a file.
    pub(super) fn add(&mut self, entry: &Entry, parts: &[String], titles: Titles<'_>) {
        let kind = saved_type(entry);
        let is_page = DocumentShape::of(&kind) == DocumentShape::Page;
        let title = titles(entry).filter(|_| is_page).unwrap_or_default();
        let title: String = title.chars().take(MAX_TITLE).collect();
        let (link, url) = (escaped(&relative_url(parts)), escaped(entry.url()));
        let (title, time, kind) = (escaped(&title), time(entry.received()), escaped(&kind));
        let length = entry.body_len();
        let rows = if is_page { &mut self.pages } else { &mut self.files };
        // Writing to a text cannot fail.
        let _ = writeln!(
            rows,
            "<tr><td>{title}<td><a href=\"{link}\">{url}</a><td>{time}<td>{length}<td>{kind}"
        );
    }

    /// Writes the page.
    pub(super) fn write(self, out: &mut dyn io::Write, form: FolderForm) -> io::Result<()> {
        out.write_all(HEAD.as_bytes())?;
        if form == FolderForm::Browsable {
            let note =
                "<p>Scripts were removed. Links to pages that were not saved lead to the web.\n";
            out.write_all(note.as_bytes())?;
        }
        writeln!(out, "{COLUMNS}{}</table>", self.pages)?;
        if !self.files.is_empty() {
            let begin = "<details>\n<summary>Other files</summary>\n";
            write!(out, "{begin}{COLUMNS}{}</table>\n</details>\n", self.files)?;
        }
        Ok(())
    }
}
