//! `/configuration/preset`: what a preset would change, and the button that applies it.

use wwwoffle_config::OptionChange;
use wwwoffle_config::edit::{OptionState, Overview};

use super::part::OptionSetting;
use super::{option_link, short};
use crate::base::shown;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::configuration::preset::{ConfigPreset, purpose};

/// Path of the page and of its form.
pub(in crate::site) const PATH: &str = "/configuration/preset";

/// The changes that a preset would make.
#[derive(Clone, Copy, Debug)]
pub(in crate::site::configuration) struct PresetPage<'a> {
    /// The preset.
    pub(in crate::site::configuration) preset: ConfigPreset,
    /// The options that would change.
    pub(in crate::site::configuration) options: &'a [OptionChange],
    /// Their present settings.
    pub(in crate::site::configuration) settings: &'a [OptionSetting],
    /// The options of the file with the preset.
    pub(in crate::site::configuration) then: &'a Overview,
    /// Why the changes were refused.
    pub(in crate::site::configuration) faults: &'a [String],
    /// The options that are set in included files, each with its file. They prevent the change.
    pub(in crate::site::configuration) included: &'a [(String, String)],
    /// Whether a control password must be set first.
    pub(in crate::site::configuration) lacks_password: bool,
    /// Whether the person who looks at the page can apply the preset here.
    pub(in crate::site::configuration) has_button: bool,
    /// Stamp that identifies the text of the file.
    pub(in crate::site::configuration) stamp: &'a str,
}

/// Returns the cards that lead to the presets.
pub(super) fn cards() -> Vec<View> {
    let card = |preset: ConfigPreset| {
        view! {
            label: preset.label(),
            explanation: preset.explanation(),
            path: format!("{PATH}?{}", preset.name()),
        }
    };
    ConfigPreset::ALL.into_iter().map(card).collect()
}

/// Renders the page.
pub(in crate::site::configuration) fn page(
    shell: &Shell,
    status: u16,
    content: &PresetPage<'_>,
) -> RenderedPage {
    let row = |(change, setting): (&OptionChange, &OptionSetting)| {
        let OptionChange { section, key, effect } = change;
        let state = state(content.then, change);
        let default = state.map_or("", |state| state.option.default);
        let value = |set: Option<&str>| {
            view! { text: short(set.unwrap_or(default)), is_default: set.is_none() }
        };
        view! {
            option: option_link(section, key, *effect),
            purpose: purpose(section, key),
            now: value(setting.value.as_deref()),
            then: value(state.and_then(|state| state.value.as_deref())),
        }
    };
    let included = |(option, file): &(String, String)| {
        view! { option: shown::text(option), file: shown::text(file) }
    };
    let rows = content.options.iter().zip(content.settings).map(row);
    let view = view! {
        name: content.preset.name(),
        label: content.preset.label(),
        explanation: content.preset.explanation(),
        path: PATH,
        rows: rows.collect::<Vec<_>>(),
        faults: content.faults,
        included: content.included.iter().map(included).collect::<Vec<_>>(),
        lacks_password: content.lacks_password,
        has_button: content.has_button,
        stamp: content.stamp,
        commands: commands(content),
    };
    shell.page("configuration-preset.html", status, &view)
}

fn state<'a>(overview: &'a Overview, change: &OptionChange) -> Option<&'a OptionState> {
    let mut options = overview.options.iter();
    options.find(|one| one.section == change.section && one.option.key == change.key)
}

/// Returns the commands that make the same changes, in an order in which each one is accepted: who
/// may use the proxy is decided before it opens, and after it closes.
fn commands(content: &PresetPage<'_>) -> Vec<String> {
    let mut options: Vec<_> = content.options.iter().collect();
    let opens = content.preset != ConfigPreset::Machine;
    options.sort_by_key(|one| (one.key == "listen") == opens);
    let command = |change: &&OptionChange| {
        let OptionChange { section, key, .. } = change;
        match state(content.then, change).and_then(|state| state.value.as_deref()) {
            Some(value) => {
                let quoted = value.replace('\'', "'\\''");
                format!("wwwoffle config set {section}.{key} '{quoted}'")
            }
            None => format!("wwwoffle config unset {section}.{key}"),
        }
    };
    options.iter().map(command).map(|command| shown::text(&command)).collect()
}
