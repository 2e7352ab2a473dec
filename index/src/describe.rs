//! What a page says of itself, which is for the caller to read: this crate knows no HTML.

use std::fmt;

use wwwoffle_spool::{Entry, Key};

/// The longest title that is kept, in bytes.
pub const MAX_TITLE: usize = 1 << 10;

/// The longest text that is searched, in bytes; what follows is left out.
pub const MAX_TEXT: usize = 1 << 20;

/// As many references of a page are remembered.
pub const MAX_REFERENCES: usize = 500;

/// Reads what entries say.
pub trait Describe: fmt::Debug + Send + Sync {
    /// What a kept answer says and to what it refers; `None` when it is nothing that can be read. Of styles, scripts
    /// and redirections only the latter counts.
    ///
    /// It is called by a thread that other work waits for, so it has to be bounded in time and in memory,
    /// whatever the entry holds.
    fn describe(&self, entry: &Entry) -> Option<Description>;
}

/// What a page says, and to what it refers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Its title.
    pub title: Option<String>,
    /// The language that it says it is in, as `en-GB`.
    pub language: Option<String>,
    /// Its text, as a reader sees it.
    pub text: String,
    /// To what it refers, its parts first.
    pub references: Vec<Reference>,
    /// It may need what is not among these.
    pub is_cut: bool,
}

/// That a page refers to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The key of the canonical URL, without credentials.
    pub key: Key,
    /// The page is shown with it; else it is where the page leads.
    pub is_part: bool,
    /// Browsers may do without this part, or take another in its place: a picture in another size, an icon that nothing
    /// names. It is needed as others are, and not missed.
    pub is_spare: bool,
}

impl Description {
    /// The same with nothing longer than may be kept.
    pub(crate) fn bounded(mut self) -> Description {
        if let Some(title) = &mut self.title {
            cut(title, MAX_TITLE);
        }
        if self.language.as_ref().is_some_and(|language| !is_language(language)) {
            self.language = None;
        }
        cut(&mut self.text, MAX_TEXT);
        let left_out = self.references.get(MAX_REFERENCES..).unwrap_or_default();
        self.is_cut |= left_out.iter().any(|reference| reference.is_part);
        self.references.truncate(MAX_REFERENCES);
        self
    }

    /// Whether there is anything to be found by.
    pub(crate) fn has_words(&self) -> bool {
        self.title.is_some() || !self.text.is_empty()
    }
}

/// Whether a text may be the name of a language (RFC 5646).
fn is_language(text: &str) -> bool {
    (2..=35).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
    }
}
