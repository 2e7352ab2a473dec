//! The changes between two versions of a page, marked in the page as it looks.
//!
//! The result is the newer version with `<ins>` around added words and pictures, and with the
//! removed ones in `<del>` at their former places. Nothing else of the page changes, so it is as
//! dangerous as the page itself: the caller isolates it.
//!
//! Pure and bounded: at most `MAX_WORDS` words of each version are compared, for at most `TIME`.
//! Words beyond are shown without marks. If a page is cut there, the words at the other side's end
//! may still be in it, so they have no marks either.

mod pieces;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use lol_html::html_content::{ContentType, Element, TextChunk, TextType};
use lol_html::{HandlerResult, HtmlRewriter, MemorySettings, Settings, doc_text, element, end};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use wwwoffle_html::references::entity;

use self::pieces::pieces;
use super::text::{INLINE, MAX_PARSER};

/// The largest number of words and pictures of each version that are compared.
const MAX_WORDS: usize = 40_000;

/// Time limit for finding the smallest difference. After that, a good approximation is used.
const TIME: Duration = Duration::from_millis(500);

/// The smallest number of equal words after which the words before them are compared for certain,
/// although a page is cut.
const ANCHOR: usize = 5;

/// Elements in which marks cannot be shown, or would be shown as text.
const UNMARKED: [&str; 9] =
    ["svg", "math", "select", "datalist", "iframe", "object", "video", "audio", "canvas"];

const ADDED: (&str, &str) = ("<ins class=\"wwwoffle-added\">", "</ins>");
const REMOVED: (&str, &str) = ("<del class=\"wwwoffle-removed\">", "</del>");

/// The sign behind which changes may have no marks, because a page is cut.
const STOP: &str = "<ins class=\"wwwoffle-stop\">⋯</ins> ";

/// The number of changed words and pictures, and whether not all of the page was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkCounts {
    /// The number of those that only the newer version has.
    pub added: usize,
    /// The number of those that only the older version has.
    pub removed: usize,
    /// Whether a version has more words than are compared.
    pub is_cut: bool,
    /// Whether the end of the newer version is not shown.
    pub lacks_end: bool,
}

/// The HTML of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionHtml {
    /// The HTML, or its beginning.
    pub html: String,
    /// Whether there is more.
    pub is_cut: bool,
}

/// A word or a picture of a page.
#[derive(Clone, Debug)]
struct PageWord {
    /// The text without character references, or the source of the picture.
    text: String,
    is_picture: bool,
    /// Whether a new line begins here.
    begins_line: bool,
}

/// The marks of the newer version.
#[derive(Debug, Default)]
struct ChangeMarks {
    old: Vec<PageWord>,
    /// Whether each word of the newer version is added.
    added: Vec<bool>,
    /// The words of `old` that were removed before a word of the newer version, by the number of
    /// this word.
    removed: HashMap<usize, Vec<Range<usize>>>,
    /// If a page is cut: the word of the newer version before which the certain marks end.
    stop: Option<usize>,
    counts: MarkCounts,
}

/// Marks the changes from `old` to `new`. `note` makes the HTML that is shown at the top. `None` if
/// a version cannot be parsed within the bounds.
#[must_use]
pub fn mark(
    old: &VersionHtml,
    new: &VersionHtml,
    note: impl FnOnce(MarkCounts) -> String,
) -> Option<String> {
    let (before, old_is_cut) = words(&old.html)?;
    let (now, new_is_cut) = words(&new.html)?;
    let is_cut = [old.is_cut || old_is_cut, new.is_cut || new_is_cut];
    let mut marks = ChangeMarks::of(before, &now, is_cut);
    drop(now);
    marks.counts.is_cut = is_cut.contains(&true);
    marks.counts.lacks_end = new.is_cut;
    let note = note(marks.counts);
    let writer = MarkWriter { marks, note: Some(note), ..MarkWriter::default() };
    let mut marked = Vec::with_capacity(new.html.len());
    pass(&new.html, Walk::Write(writer), |piece| marked.extend_from_slice(piece))?;
    String::from_utf8(marked).ok()
}

/// Returns the first [`MAX_WORDS`] words and pictures of a page, and whether there are more.
fn words(html: &str) -> Option<(Vec<PageWord>, bool)> {
    match pass(html, Walk::Read(Vec::new(), false), |_| {})? {
        Walk::Read(words, is_cut) => Some((words, is_cut)),
        Walk::Write(_) => None,
    }
}

impl ChangeMarks {
    /// `is_cut` says whether the older and the newer version have more words.
    fn of(old: Vec<PageWord>, new: &[PageWord], [old_is_cut, new_is_cut]: [bool; 2]) -> Self {
        let keys = |words: &[PageWord]| -> Vec<(bool, String)> {
            words.iter().map(|word| (word.is_picture, word.text.clone())).collect()
        };
        let deadline = Instant::now() + TIME;
        let (before, now) = (keys(&old), keys(new));
        let ops = capture_diff_slices_deadline(Algorithm::Patience, &before, &now, Some(deadline));
        let mut marks = Self { old, added: vec![false; new.len()], ..Self::default() };
        // Behind the last equal words, a word without a partner may have it beyond the cut.
        let is_anchor = |op: &DiffOp| matches!(op, DiffOp::Equal { len, .. } if *len >= ANCHOR);
        let anchor = ops.iter().rposition(is_anchor);
        if old_is_cut || new_is_cut {
            let last = anchor.and_then(|at| ops.get(at));
            marks.stop = Some(last.map_or(0, |op| op.new_range().end));
        }
        let certain = anchor.unwrap_or_default();
        for (number, op) in ops.into_iter().enumerate() {
            let (_, old, new) = op.as_tag_tuple();
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            let is_certain = number < certain;
            if !old.is_empty() && (is_certain || !new_is_cut) {
                marks.remove(old.start, old.len(), new.start);
            }
            if !new.is_empty() && (is_certain || !old_is_cut) {
                marks.add(new.start, new.len());
            }
        }
        marks
    }

    fn add(&mut self, at: usize, length: usize) {
        self.counts.added += length;
        self.added.iter_mut().skip(at).take(length).for_each(|added| *added = true);
    }

    fn remove(&mut self, at: usize, length: usize, before: usize) {
        self.counts.removed += length;
        self.removed.entry(before).or_default().push(at..at + length);
    }

    /// Returns the removed words before the word `number`, marked, and the sign where the marks end.
    /// Each is returned once.
    fn take_removed(&mut self, number: usize) -> Option<String> {
        let stop = self.stop.take_if(|stop| *stop == number).map(|_| STOP);
        let Some(ranges) = self.removed.remove(&number) else { return stop.map(str::to_owned) };
        let mut html = REMOVED.0.to_owned();
        for (index, word) in
            ranges.into_iter().filter_map(|it| self.old.get(it)).flatten().enumerate()
        {
            if index > 0 {
                html.push_str(if word.begins_line { "<br>" } else { " " });
            }
            if word.is_picture {
                html.push_str("<img alt=\"\" src=\"");
            }
            escape(&word.text, &mut html);
            if word.is_picture {
                html.push_str("\">");
            }
        }
        html.push_str(REMOVED.1);
        html.push(' ');
        html.push_str(stop.unwrap_or_default());
        Some(html)
    }
}

fn escape(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
}

/// What a pass over a page does with its words.
#[derive(Debug)]
enum Walk {
    /// Collects them, and notes whether there are too many.
    Read(Vec<PageWord>, bool),
    /// Marks them.
    Write(MarkWriter),
}

/// A pass that marks the words.
#[derive(Debug, Default)]
struct MarkWriter {
    marks: ChangeMarks,
    /// The number of the next word.
    next: usize,
    /// The HTML for the top of the page, until it is written.
    note: Option<String>,
}

/// The state of a pass over a page.
#[derive(Debug)]
struct PassState {
    walk: Walk,
    /// The number of open elements of [`UNMARKED`].
    unmarked: usize,
    begins_line: bool,
    /// The text of a text node, which may arrive in pieces.
    raw: String,
}

/// Passes over a page. `None` if it cannot be parsed.
fn pass(html: &str, walk: Walk, sink: impl FnMut(&[u8])) -> Option<Walk> {
    let state = PassState { walk, unmarked: 0, begins_line: true, raw: String::new() };
    let state = Rc::new(RefCell::new(state));
    let (elements, texts, ends) = (Rc::clone(&state), Rc::clone(&state), Rc::clone(&state));
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MAX_PARSER);
    let settings = Settings::new()
        .with_memory_settings(memory)
        .with_strict(false)
        .append_element_content_handler(element!("*", move |element: &mut Element<'_, '_>| {
            begin_element(&elements, element);
            Ok(())
        }))
        .append_document_content_handler(doc_text!(
            move |chunk: &mut TextChunk<'_>| -> HandlerResult {
                texts.borrow_mut().read_text(chunk);
                Ok(())
            }
        ))
        .append_document_content_handler(end!(move |end| {
            if let Walk::Write(writer) = &mut ends.borrow_mut().walk {
                let note = writer.note.take().unwrap_or_default();
                let removed = writer.marks.take_removed(writer.next).unwrap_or_default();
                end.append(&format!("{note}{removed}"), ContentType::Html);
            }
            Ok(())
        }));
    let mut sink = sink;
    let mut rewriter = HtmlRewriter::new(settings, |piece: &[u8]| sink(piece));
    rewriter.write(html.as_bytes()).and_then(|()| rewriter.end()).ok()?;
    Rc::into_inner(state).map(|state| state.into_inner().walk)
}

fn begin_element(state: &Rc<RefCell<PassState>>, element: &mut Element<'_, '_>) {
    let name = element.tag_name();
    let mut now = state.borrow_mut();
    if !INLINE.contains(&name.as_str()) {
        now.begins_line = true;
    }
    if UNMARKED.contains(&name.as_str()) {
        let ends = Rc::clone(state);
        if let Some(handlers) = element.end_tag_handlers() {
            now.unmarked += 1;
            handlers.push(Box::new(move |_| {
                let mut state = ends.borrow_mut();
                state.unmarked = state.unmarked.saturating_sub(1);
                Ok(())
            }));
        }
        return;
    }
    if name == "body"
        && let Walk::Write(writer) = &mut now.walk
        && let Some(note) = writer.note.take()
    {
        element.prepend(&note, ContentType::Html);
    }
    if name == "img"
        && now.unmarked == 0
        && let Some(source) = element.get_attribute("src")
    {
        let source = entity::decode(&source, entity::TextPosition::Attribute).into_owned();
        now.read_picture(source, element);
    }
}

impl PassState {
    fn read_text(&mut self, chunk: &mut TextChunk<'_>) {
        if chunk.text_type() != TextType::Data || self.unmarked > 0 {
            return;
        }
        self.raw.push_str(chunk.as_str());
        let is_last = chunk.last_in_text_node();
        if !is_last {
            if matches!(self.walk, Walk::Write(_)) {
                chunk.remove();
            }
            return;
        }
        let raw = std::mem::take(&mut self.raw);
        let mut out = String::new();
        let mut is_open = false;
        for piece in pieces(&raw) {
            let blank = piece.chars().all(|character| character.is_ascii_whitespace());
            if blank {
                // It is added if the words on both sides are.
                let goes_on = is_open && self.is_added();
                if is_open && !goes_on {
                    is_open = false;
                    out.push_str(ADDED.1);
                }
                out.push_str(piece);
            } else {
                let text = || entity::decode(piece, entity::TextPosition::Text).into_owned();
                is_open = self.read_word(piece, text, is_open, &mut out);
            }
        }
        if is_open {
            out.push_str(ADDED.1);
        }
        if matches!(self.walk, Walk::Write(_)) {
            chunk.replace(&out, ContentType::Html);
        }
    }

    /// Whether the next word is added.
    fn is_added(&self) -> bool {
        match &self.walk {
            Walk::Write(writer) => writer.is_added(),
            Walk::Read(..) => false,
        }
    }

    /// Reads a word, or writes it to `out`. Returns whether an `<ins>` is open behind it.
    fn read_word(
        &mut self,
        piece: &str,
        text: impl FnOnce() -> String,
        was_open: bool,
        out: &mut String,
    ) -> bool {
        let begins_line = std::mem::take(&mut self.begins_line);
        match &mut self.walk {
            Walk::Read(words, is_cut) if words.len() >= MAX_WORDS => {
                *is_cut = true;
                false
            }
            Walk::Read(words, _) => {
                words.push(PageWord { text: text(), is_picture: false, begins_line });
                false
            }
            Walk::Write(writer) => {
                let (note, removed, is_added) = writer.step();
                if was_open && (!is_added || removed.is_some()) {
                    out.push_str(ADDED.1);
                }
                out.push_str(&note);
                out.push_str(&removed.clone().unwrap_or_default());
                if is_added && (!was_open || removed.is_some()) {
                    out.push_str(ADDED.0);
                }
                out.push_str(piece);
                is_added
            }
        }
    }

    fn read_picture(&mut self, source: String, element: &mut Element<'_, '_>) {
        let begins_line = std::mem::take(&mut self.begins_line);
        match &mut self.walk {
            Walk::Read(words, is_cut) if words.len() >= MAX_WORDS => *is_cut = true,
            Walk::Read(words, _) => {
                words.push(PageWord { text: source, is_picture: true, begins_line });
            }
            Walk::Write(writer) => {
                let (note, removed, is_added) = writer.step();
                let begin = if is_added { ADDED.0 } else { "" };
                let before = format!("{note}{}{begin}", removed.unwrap_or_default());
                element.before(&before, ContentType::Html);
                if is_added {
                    element.after(ADDED.1, ContentType::Html);
                }
            }
        }
    }
}

impl MarkWriter {
    fn is_added(&self) -> bool {
        self.marks.added.get(self.next).copied().unwrap_or_default()
    }

    /// Goes to the next word. Returns the HTML that precedes it, the removed words before it, and
    /// whether it is added.
    fn step(&mut self) -> (String, Option<String>, bool) {
        let number = self.next;
        let is_added = self.is_added();
        // Beyond the compared words, those removed at their end are shown once.
        self.next = (number + 1).min(self.marks.added.len());
        let note = self.note.take().unwrap_or_default();
        (note, self.marks.take_removed(number), is_added)
    }
}

#[cfg(test)]
mod tests;
