//! The page after a change of the configuration, with a button to undo it, and the page for a
//! conflict.

use wwwoffle_config::OptionChange;

use super::diff::diff;
use super::option_links;
use crate::base::shown;
use crate::page::{RenderedPage, Shell, view};

/// The last change and its effects.
#[derive(Clone, Copy, Debug)]
pub struct LastChange<'a> {
    /// The previous text, without secrets; `None` if there was no file.
    pub old: Option<&'a str>,
    /// The current text, without secrets.
    pub new: &'a str,
    /// Options whose effective value changed.
    pub options: &'a [OptionChange],
    /// Options that need a restart, including those of earlier changes.
    pub restart: &'a [OptionChange],
    /// Number of the version that holds the previous text.
    pub version: Option<u64>,
    /// Stamp that identifies the current text.
    pub stamp: &'a str,
    /// Path of the file.
    pub file: &'a str,
    /// Whether the file already had the requested value, so that nothing changed.
    pub was_so: bool,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, change: &LastChange<'_>) -> RenderedPage {
    let view = view! {
        options: option_links(change.options),
        restart: option_links(change.restart),
        lines: diff(change.old.unwrap_or_default(), change.new),
        version: change.version,
        stamp: change.stamp,
        file: shown::text(change.file),
        was_so: change.was_so,
        made: change.old.is_none(),
    };
    shell.page("configuration-changed.html", 200, &view)
}

/// A change that was refused because the file has changed since its page was made.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurationConflict<'a> {
    /// The text for which the change was made, without secrets; `None` if it is unknown.
    pub known: Option<&'a str>,
    /// The current text of the file, without secrets.
    pub current: &'a str,
    /// The current text with the change applied, without secrets; `None` if the change does not fit
    /// the current text.
    pub wanted: Option<&'a str>,
    /// Path of the file.
    pub file: &'a str,
    /// Target of the form.
    pub path: &'a str,
    /// Address of the page that shows the current state.
    pub look: &'a str,
    /// Form fields for sending the change again, based on the current text. `None` if a page must
    /// not contain them, or if they could have another meaning in that text.
    pub fields: Option<&'a [(String, String)]>,
}

/// Renders the page, with status 409.
#[must_use]
pub fn conflict(shell: &Shell, conflict: &ConfigurationConflict<'_>) -> RenderedPage {
    let view = view! {
        meanwhile: conflict.known.map(|known| diff(known, conflict.current)),
        current: if conflict.known.is_none() { diff("", conflict.current) } else { Vec::new() },
        wanted: conflict.wanted.map(|wanted| diff(conflict.current, wanted)),
        readable: !conflict.current.is_empty(),
        file: shown::text(conflict.file),
        path: conflict.path,
        look: conflict.look,
        fields: conflict.fields,
    };
    shell.page("configuration-conflict.html", 409, &view)
}
