//! `/configuration/SECTION`: the options of a section, and its rules.

use crate::page::links;
use wwwoffle_config::edit::RuleState;
use wwwoffle_config::schema::{SECTIONS, Section};

use super::short;
use crate::base::shown;
use crate::page::{RenderedPage, Shell, View, view};

/// Maximum number of rules shown.
pub(super) const MOST_RULES: usize = 100;

/// Maximum number of URL-SPECIFICATIONs of a rule shown in a list.
const MOST_URLS: usize = 10;

/// The setting of an option in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionSetting {
    /// The value, in the syntax of the file. For a secret, it only says that the option is set.
    pub value: Option<String>,
    /// Where the option is set: the line, and the file if it is an included file. `None` if the
    /// option is not set.
    pub place: Option<(usize, Option<String>)>,
}

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct SectionPage<'a> {
    /// The section.
    pub section: &'static Section,
    /// The options, in the order of the section.
    pub settings: &'a [OptionSetting],
    /// The rules, in the order of the file.
    pub rules: &'a [RuleState],
    /// The URL whose options the user is editing. Links to other configuration pages pass it on.
    pub url: Option<&'a str>,
}

/// Returns where an option is set: a line of the main file or of an included file. `None` if it is
/// not set.
pub(super) fn place(setting: &OptionSetting) -> Option<View> {
    let (line, file) = setting.place.as_ref()?;
    Some(view! { line, file: file.as_deref().map(shown::text) })
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, part: &SectionPage<'_>) -> RenderedPage {
    let section = part.section;
    let none = OptionSetting::default();
    let settings = part.settings.iter().chain(std::iter::repeat(&none));
    let options = section.options.iter().zip(settings).map(|(option, setting)| {
        view! {
            key: option.key,
            path: links::configuration(&[section.name, option.key], part.url),
            sentence: option.sentence.trim(),
            value: setting.value.as_deref().map(short),
            default: short(option.default),
            is_secret: option.is_secret,
            place: place(setting),
            effect: option.effect.as_str(),
        }
    });
    let shown_url = |url: &String| shown::text(url);
    let rule_option = |(key, value): &(String, String)| {
        let known = section.options.iter().find(|option| option.key == key);
        let path = known.map(|option| links::configuration(&[section.name, option.key], None));
        view! { key: shown::text(key), value: short(value), path }
    };
    let rules = part.rules.iter().take(MOST_RULES).map(|state| {
        let rule = &state.rule;
        view! {
            number: state.index + 1,
            line: state.line,
            urls: rule.urls.iter().take(MOST_URLS).map(shown_url).collect::<Vec<_>>(),
            more_urls: rule.urls.len().saturating_sub(MOST_URLS),
            options: rule.options.iter().map(rule_option).collect::<Vec<_>>(),
        }
    });
    let at = SECTIONS.iter().position(|known| known.name == section.name).unwrap_or_default();
    let way = |at: Option<usize>| {
        let name = SECTIONS.get(at?)?.name;
        Some(view! { name, path: links::configuration(&[name], part.url) })
    };
    let view = view! {
        name: section.name,
        sentence: section.sentence.trim(),
        options: options.collect::<Vec<_>>(),
        rules: rules.collect::<Vec<_>>(),
        more_rules: part.rules.len().saturating_sub(MOST_RULES),
        before: way(at.checked_sub(1)),
        after: way(at.checked_add(1)),
        index: links::configuration(&[], part.url),
    };
    shell.page("configuration-section.html", 200, &view)
}
