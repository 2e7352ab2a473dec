//! After a change, or in its place: what it was, and how it is taken back.

use serde::Serialize;
use wwwoffle_config::OptionChange;

use super::Named;
use super::diff::{Line, diff};
use crate::base::shown;
use crate::page::{Page, Shell, Templates};

/// What the last change was.
#[derive(Clone, Copy, Debug)]
pub struct LastChange<'a> {
    /// The text before, without secrets; `None` when there was no file.
    pub old: Option<&'a str>,
    /// The text now, likewise.
    pub new: &'a str,
    /// The options that mean something else now.
    pub options: &'a [OptionChange],
    /// Those that need a restart, also of changes before.
    pub restart: &'a [OptionChange],
    /// The version that has the text before.
    pub version: Option<u64>,
    /// What tells the text now from others.
    pub stamp: &'a str,
    /// The file.
    pub file: &'a str,
    /// Whether nothing was to be done.
    pub was_so: bool,
    /// The general token.
    pub token: &'a str,
}

#[derive(Serialize)]
struct View<'a> {
    options: Vec<Named>,
    restart: Vec<Named>,
    lines: Vec<Line>,
    version: Option<u64>,
    stamp: &'a str,
    file: String,
    was_so: bool,
    made: bool,
    token: &'a str,
}

/// Makes the page.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, change: &LastChange<'_>) -> Page {
    let view = View {
        options: Named::all(change.options),
        restart: Named::all(change.restart),
        lines: diff(change.old.unwrap_or_default(), change.new),
        version: change.version,
        stamp: change.stamp,
        file: shown::text(change.file),
        was_so: change.was_so,
        made: change.old.is_none(),
        token: change.token,
    };
    templates.page("configuration-changed.html", 200, shell, &view)
}

/// A change that was not made, because the file is not what it was meant for.
#[derive(Clone, Copy, Debug)]
pub struct Conflict<'a> {
    /// The text that the change was meant for, if it is known, without secrets.
    pub known: Option<&'a str>,
    /// The text as it is, likewise.
    pub current: &'a str,
    /// What it would be with the change, likewise.
    pub wanted: Option<&'a str>,
    /// The file.
    pub file: &'a str,
    /// Where the form goes.
    pub path: &'a str,
    /// Where it can be looked at as it is.
    pub look: &'a str,
    /// The fields to send again, for the text as it is; `None` when they may mean something else.
    pub fields: Option<&'a [(String, String)]>,
    /// The general token.
    pub token: &'a str,
}

#[derive(Serialize)]
struct ConflictView<'a> {
    meanwhile: Option<Vec<Line>>,
    current: Vec<Line>,
    wanted: Option<Vec<Line>>,
    readable: bool,
    file: String,
    path: &'a str,
    look: &'a str,
    fields: Option<&'a [(String, String)]>,
    token: &'a str,
}

/// Makes the page, with status 409.
#[must_use]
pub fn conflict(templates: &Templates, shell: &Shell, conflict: &Conflict<'_>) -> Page {
    let view = ConflictView {
        meanwhile: conflict.known.map(|known| diff(known, conflict.current)),
        current: if conflict.known.is_none() { diff("", conflict.current) } else { Vec::new() },
        wanted: conflict.wanted.map(|wanted| diff(conflict.current, wanted)),
        readable: !conflict.current.is_empty(),
        file: shown::text(conflict.file),
        path: conflict.path,
        look: conflict.look,
        fields: conflict.fields,
        token: conflict.token,
    };
    templates.page("configuration-conflict.html", 409, shell, &view)
}
