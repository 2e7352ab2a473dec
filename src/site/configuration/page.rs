//! The pages `/configuration/…`: sections, options, the values for one URL, and changes.
//!
//! A secret never reaches these pages; they only show that it is set. All text from the file is
//! foreign text.

pub mod changed;
pub mod control;
pub mod diff;
pub(super) mod find;
pub mod index;
pub mod item;
pub mod part;
pub(super) mod preset;
pub mod specification;
pub mod url;

use wwwoffle_config::OptionChange;
use wwwoffle_config::schema::{Effect, OptionInfo, Section};

use crate::base::shown;
use crate::page::{View, links, view};

/// Maximum number of characters of a value in a list; the page of an option shows more.
const SHOWN_VALUE: usize = 120;

/// Returns the name of an option, with the address of its page.
fn option_link(section: &str, key: &str, effect: Effect) -> View {
    // The rules of a section are shown on the page of the section.
    let is_rules = key == "for";
    let names: &[&str] = if is_rules { &[section] } else { &[section, key] };
    view! {
        // Name of the option, or of the section if the link leads to its rules.
        name: names.join("."),
        is_rules,
        path: links::configuration(names, None),
        effect: effect.as_str(),
    }
}

fn option_links(changes: &[OptionChange]) -> Vec<View> {
    changes.iter().map(|one| option_link(one.section, one.key, one.effect)).collect()
}

/// A section and one of its options.
#[derive(Clone, Copy, Debug)]
pub struct SectionOption {
    /// The section.
    pub section: &'static Section,
    /// The option.
    pub option: &'static OptionInfo,
}

/// Returns a value of the file for a list: one line, of bounded length.
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
