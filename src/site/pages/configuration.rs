//! The pages `/configuration/…`: sections, options, what holds for one URL, and what was changed.
//!
//! Nothing of a secret ever gets here but that it is set. All texts of the file are foreign text.

pub mod changed;
pub mod control;
pub mod diff;
pub mod index;
pub mod item;
pub mod part;
pub mod specification;
pub mod url;

use serde::Serialize;
use wwwoffle_config::OptionChange;
use wwwoffle_config::schema::{Effect, OptionInfo, Section};

use crate::base::shown;
use crate::page::links;

/// Characters of a value that are shown in a list; an option's own page shows more.
const SHOWN_VALUE: usize = 120;

/// An option by name, with the way to its page.
#[derive(Debug, Serialize)]
struct Named {
    /// Of the option, or of the section whose rules are meant.
    name: String,
    is_rules: bool,
    path: String,
    effect: &'static str,
}

impl Named {
    fn of(section: &str, key: &str, effect: Effect) -> Self {
        // The rules of a section are on the page of the section.
        let is_rules = key == "for";
        let names: &[&str] = if is_rules { &[section] } else { &[section, key] };
        Self {
            name: names.join("."),
            is_rules,
            path: links::configuration(names, None),
            effect: effect_word(effect),
        }
    }

    fn all(changes: &[OptionChange]) -> Vec<Self> {
        changes.iter().map(|change| Self::of(change.section, change.key, change.effect)).collect()
    }
}

/// A word for templates.
fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Restart => "restart",
        Effect::Live => "live",
        Effect::Later => "later",
    }
}

/// A section and one of its options.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The section.
    pub section: &'static Section,
    /// The option.
    pub option: &'static OptionInfo,
}

/// A value of the file in a list: one line, of bounded length.
fn short(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = shown::text(&line);
    if line.chars().nth(SHOWN_VALUE).is_none() {
        return line;
    }
    line.chars().take(SHOWN_VALUE).chain(" …".chars()).collect()
}

#[cfg(test)]
mod tests;
