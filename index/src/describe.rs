//! The content of a page, extracted by the caller: this crate does not know HTML.

use std::fmt;

use wwwoffle_spool::{Entry, Key};

/// The maximum length of a title, in bytes.
pub const MAX_TITLE: usize = 1 << 10;

/// The maximum length of the searchable text, in bytes. The rest is dropped.
pub const MAX_TEXT: usize = 1 << 20;

/// The maximum number of references of a page that are stored.
pub const MAX_REFERENCES: usize = 500;

/// Extracts the content of entries.
pub trait Describe: fmt::Debug + Send + Sync {
    /// The content and references of a stored response; `None` if it cannot be read. For style
    /// sheets, scripts and redirects only the references are used.
    ///
    /// Runs on a thread for which other work waits, so time and memory must be bounded for every
    /// possible entry. Documents have a thread of their own, which reads one at a time.
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
    /// Whether the page may need more resources than these references.
    pub is_cut: bool,
}

/// A reference of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The key of the canonical URL without its credentials.
    pub key: Key,
    /// Whether the reference is a sub-resource. Otherwise it is a link.
    pub is_part: bool,
    /// Whether browsers can show the page without this sub-resource or use another one, for example
    /// another image size or an implied icon. Such a sub-resource is kept from purging like others,
    /// but does not count as missing.
    pub is_spare: bool,
}

impl Description {
    /// Truncates all content to the limits.
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

    /// Whether the page has searchable text.
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
