//! `/configuration/`: the file, its earlier versions, and the sections.

use crate::page::links;
use jiff::Timestamp;
use wwwoffle_config::schema::{Effect, SECTIONS};
use wwwoffle_config::{Faults, OptionChange};

use super::{find, option_link, option_links, preset};
use crate::base::shown::{self, ShownTime};
use crate::page::{RenderedPage, Shell, view};

/// Maximum number of changed options named for each version; the others are counted.
const MOST_NAMED: usize = 5;

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurationIndex<'a> {
    /// Path of the file; empty if the daemon runs without one.
    pub file: &'a str,
    /// Whether the file exists.
    pub exists: bool,
    /// Stamp that identifies the text of the file.
    pub stamp: &'a str,
    /// Whether the text of the file is in force.
    pub in_force: bool,
    /// Faults in the file.
    pub faults: Option<&'a Faults>,
    /// Options that need a restart.
    pub restart: &'a [OptionChange],
    /// Earlier versions, oldest first: the number, the time when the version was replaced, and the
    /// changes that restoring it would make.
    pub versions: &'a [(u64, Timestamp, &'a [OptionChange])],
    /// Every option that the file sets, as (section, option); a rule has the option name `for`.
    pub set: &'a [(&'a str, &'a str)],
    /// Options that are set but have no effect yet.
    pub later: &'a [(&'static str, &'static str)],
    /// The URL whose options the user is editing. Links to other configuration pages pass it on.
    pub url: Option<&'a str>,
    /// The words by which the user looks for an option; empty if they do not.
    pub words: &'a str,
}

/// Maximum number of faults shown.
const MOST_FAULTS: usize = 20;

/// Returns the first faults of a file, made safe to show, and the number of the others.
pub(in crate::site) fn shown_faults(faults: &Faults) -> (Vec<String>, usize) {
    let all = faults.as_slice();
    let shown = all.iter().take(MOST_FAULTS).map(|fault| shown::text(&fault.to_string()));
    (shown.collect(), all.len().saturating_sub(MOST_FAULTS))
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, status: u16, index: &ConfigurationIndex<'_>) -> RenderedPage {
    let (faults, more_faults) = index.faults.map(shown_faults).unwrap_or_default();
    let versions = index.versions.iter().rev().map(|(number, until, changes)| {
        view! {
            number,
            until: ShownTime::new(*until, &shell.zone),
            changes: option_links(changes.get(..MOST_NAMED).unwrap_or(changes)),
            more: changes.len().saturating_sub(MOST_NAMED),
        }
    });
    let count = |section: &str, rules: bool| {
        let set = index.set.iter().filter(|(of, key)| *of == section && (*key == "for") == rules);
        set.count()
    };
    let sections = SECTIONS.iter().map(|section| {
        view! {
            name: section.name,
            path: links::configuration(&[section.name], index.url),
            sentence: section.sentence.trim(),
            total: section.options.len(),
            set: count(section.name, false),
            rules: count(section.name, true),
        }
    });
    let (found, more_found) = find::found(index.words);
    let later = index.later.iter().map(|(section, key)| option_link(section, key, Effect::Later));
    let view = view! {
        file: shown::text(index.file),
        exists: index.exists,
        stamp: index.stamp,
        short_stamp: index.stamp.chars().take(12).collect::<String>(),
        in_force: index.in_force,
        faults,
        more_faults,
        restart: option_links(index.restart),
        later: later.collect::<Vec<_>>(),
        versions: versions.collect::<Vec<_>>(),
        words: shown::text(index.words),
        found,
        more_found,
        first: find::first(index.set),
        presets: preset::cards(),
        sections: sections.collect::<Vec<_>>(),
        url: index.url.map(shown::text).unwrap_or_default(),
    };
    shell.page("configuration.html", status, &view)
}
