//! The content of a page, extracted by the caller: this crate does not know HTML.

use std::fmt;

use wwwoffle_spool::{Entry, Key};

/// The longest title, in bytes.
pub const MAX_TITLE: usize = 1 << 10;

/// The longest searchable text, in bytes; the rest is dropped.
pub const MAX_TEXT: usize = 1 << 20;

/// How many references of a page are stored.
pub const MAX_REFERENCES: usize = 500;

/// Extracts the content of entries.
pub trait Describe: fmt::Debug + Send + Sync {
    /// The content and references of a stored response; `None` if it cannot be read. For style
    /// sheets, scripts and redirects only the references count.
    ///
    /// Runs on a thread that other work waits for, so time and memory must be bounded whatever the
    /// entry contains.
    fn describe(&self, entry: &Entry) -> Option<Description>;
}

/// The content and references of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Its title.
    pub title: Option<String>,
    /// Its declared language, such as `en-GB`.
    pub language: Option<String>,
    /// Its visible text.
    pub text: String,
    /// Its references, sub-resources first.
    pub references: Vec<Reference>,
    /// The page may need more than these references.
    pub is_cut: bool,
}

/// A reference of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The key of the canonical URL, without credentials.
    pub key: Key,
    /// It is a sub-resource; otherwise it is a link.
    pub is_part: bool,
    /// Browsers can do without this sub-resource or choose another, for example another image size
    /// or an implied icon. It is protected like others, but does not count as missing.
    pub is_spare: bool,
}

impl Description {
    /// Cuts everything to the limits.
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

    /// Whether there is searchable text.
    pub(crate) fn has_words(&self) -> bool {
        self.title.is_some() || !self.text.is_empty()
    }
}

/// Whether a text may be a language tag (RFC 5646).
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
