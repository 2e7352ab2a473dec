//! `/configuration/SECTION/OPTION`: one option, its rules, and the forms that change it.

use crate::page::links;
use wwwoffle_config::edit::{RuleState, elements, unquoted};

use super::control::{LONGEST_VALUE, OptionControl, escape_invisible};
use super::diff::DiffLine;
use super::part::{MOST_RULES, OptionSetting, place};
use super::{SectionOption, short};
use crate::base::shown;
use crate::page::{RenderedPage, Shell, View, view};

/// Maximum number of array elements shown, each with its button.
const MOST_ELEMENTS: usize = 200;

/// Maximum length of all shown elements together, in bytes.
const LONGEST_LIST: usize = 32 * 1024;

/// Action of a form: the value of its field `do`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionAction {
    /// Sets the option to a value.
    Set,
    /// Removes the option, so that its default applies.
    Unset,
    /// Adds an array element.
    Add,
    /// Removes an array element.
    Remove,
    /// Adds a rule.
    AddRule,
    /// Changes the URLs of a rule and the value of the option in that rule.
    SetRule,
    /// Removes the option from a rule.
    UnsetRule,
}

impl OptionAction {
    /// Parses the name of an action.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "set" => Self::Set,
            "unset" => Self::Unset,
            "add" => Self::Add,
            "remove" => Self::Remove,
            "add-rule" => Self::AddRule,
            "set-rule" => Self::SetRule,
            "unset-rule" => Self::UnsetRule,
            _ => return None,
        })
    }
}

/// Rejected input, shown again in its form.
#[derive(Clone, Debug)]
pub struct RejectedInput {
    /// The requested action.
    pub act: OptionAction,
    /// The value or element.
    pub value: String,
    /// URL-SPECIFICATIONs of the rule, one per line.
    pub urls: String,
    /// Index of the rule, counted from 0.
    pub index: Option<usize>,
    /// Error messages.
    pub faults: Vec<String>,
}

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct OptionPage<'a> {
    /// The option.
    pub item: SectionOption,
    /// The setting of the option in the file.
    pub setting: &'a OptionSetting,
    /// The value in force. `None` if the text of the file is in force, or if the value is a secret.
    /// The text is not in force if it is faulty or was just changed.
    pub in_force: Option<&'a str>,
    /// The lines of the file that set the option, with the comment above them.
    pub lines: &'a [DiffLine],
    /// All rules of the section.
    pub rules: &'a [RuleState],
    /// Stamp that identifies the text of the file.
    pub stamp: &'a str,
    /// URL or URL-SPECIFICATION with which the form for a new rule is filled in.
    pub url: Option<&'a str>,
    /// The rejected input.
    pub refused: Option<&'a RejectedInput>,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, status: u16, content: &OptionPage<'_>) -> RenderedPage {
    let option = content.item.option;
    let control = OptionControl::of(option);
    let current = content.setting.value.as_deref();
    let value = current.unwrap_or(option.default);
    let (elements, more_elements) = match control {
        OptionControl::List if !option.is_secret => shown_elements(value),
        _ => (Vec::new(), 0),
    };
    let rules = rules(content, &control);
    let of_act = |act: OptionAction| content.refused.filter(|refused| refused.act == act);
    let typed = of_act(OptionAction::Set)
        .map_or_else(|| control.typed(value), |refused| escape_invisible(&refused.value));
    let faults =
        |act: OptionAction| of_act(act).map(|refused| refused.faults.clone()).unwrap_or_default();
    let list = option.kind.starts_with("URL-SPECIFICATIONs");
    let spec = content.url.map(fit_url).unwrap_or_default();
    let add = match of_act(OptionAction::Add) {
        Some(refused) if !option.is_secret && refused.value.len() <= LONGEST_LIST => {
            escape_invisible(&refused.value)
        }
        _ if list => spec.clone(),
        _ => String::new(),
    };
    let of_new = of_act(OptionAction::AddRule);
    let new_value =
        of_new.map_or_else(|| control.typed(option.default), |new| escape_invisible(&new.value));
    let view = view! {
        option: description(content),
        // The setting of the option in the file.
        setting: view! {
            value: current
                .map(|value| if option.is_secret { String::new() } else { limited(value) }),
            place: place(content.setting),
            other_file: matches!(&content.setting.place, Some((_, Some(_)))),
            in_force: content.in_force.map(short),
            lines: content.lines,
            // Number of elements, if the option is an array that is set.
            entries: (control == OptionControl::List && current.is_some())
                .then_some(elements.len() + more_elements),
        },
        control: control.view(&typed),
        // Error messages for each form.
        faults: view! {
            set: faults(OptionAction::Set),
            add: faults(OptionAction::Add),
            add_rule: faults(OptionAction::AddRule),
            other: [
                faults(OptionAction::Unset),
                faults(OptionAction::Remove),
                faults(OptionAction::UnsetRule),
            ]
            .concat(),
        },
        // The elements of an array, and the text in the form that adds one.
        elements: view! { shown: elements, more: more_elements, add },
        // The rules that set the option, among all rules of the section.
        rules: view! {
            more: rules.len().saturating_sub(MOST_RULES),
            shown: rules.into_iter().take(MOST_RULES).collect::<Vec<_>>(),
            in_section: content.rules.len(),
        },
        new_rule: view! {
            urls: of_new.map_or(spec, |new| fit_lines(&new.urls)),
            control: control.view(&new_value),
        },
        stamp: content.stamp,
    };
    shell.page("configuration-option.html", status, &view)
}

/// Returns the description of the option, independent of its setting.
fn description(content: &OptionPage<'_>) -> View {
    let SectionOption { section, option } = content.item;
    view! {
        section: section.name,
        section_path: links::configuration(&[section.name], content.url),
        key: option.key,
        path: links::configuration(&[section.name, option.key], None),
        sentence: option.sentence.trim(),
        kind: option.kind,
        meaning: meaning(option.meaning),
        is_secret: option.is_secret,
        rules_apply: option.rules,
        effect: option.effect.as_str(),
        default: escape_invisible(option.default),
    }
}

/// Returns the rules that set the option.
fn rules(content: &OptionPage<'_>, control: &OptionControl) -> Vec<View> {
    let key = content.item.option.key;
    let mut views = Vec::new();
    let mut room = LONGEST_LIST;
    for RuleState { index, line, rule, .. } in content.rules {
        let Some((_, value)) = rule.options.iter().find(|(of, _)| of == key) else { continue };
        let refused = content.refused.filter(|refused| {
            refused.act == OptionAction::SetRule && refused.index == Some(*index)
        });
        let urls = match refused {
            Some(refused) => fit_lines(&refused.urls),
            None => fit_lines(&rule.urls.join("\n")),
        };
        let typed = refused
            .map_or_else(|| control.typed(value), |refused| escape_invisible(&refused.value));
        let too_long = urls.len() + typed.len() > room.min(LONGEST_VALUE);
        if !too_long {
            room -= urls.len() + typed.len();
        }
        let others = rule.options.iter().filter(|(of, _)| of != key);
        views.push(view! {
            index,
            number: index + 1,
            line,
            urls: if too_long { String::new() } else { urls },
            too_long,
            control: control.view(if too_long { "" } else { &typed }),
            others: others.map(|(key, _)| shown::text(key)).take(MOST_ELEMENTS).collect::<Vec<_>>(),
            faults: refused.map(|refused| refused.faults.clone()).unwrap_or_default(),
        });
    }
    views
}

/// Returns the first elements of an array and the number of the others.
fn shown_elements(value: &str) -> (Vec<View>, usize) {
    let all = elements(value).unwrap_or_default();
    let mut room = LONGEST_LIST;
    let fits = |toml: &&String| {
        let left = room.checked_sub(2 * toml.len());
        room = left.unwrap_or_default();
        left.is_some()
    };
    let element = |toml: &String| {
        view! {
            text: shown::text(&unquoted(toml).unwrap_or_else(|| toml.clone())),
            toml: escape_invisible(toml),
        }
    };
    let shown: Vec<_> = all.iter().take(MOST_ELEMENTS).take_while(fits).map(element).collect();
    let more = all.len() - shown.len();
    (shown, more)
}

/// Returns `value` on one line, shortened if it is too long for a page.
fn limited(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LONGEST_VALUE { short(&line) } else { shown::full_text(&line) }
}

/// Returns a URL or URL-SPECIFICATION for a form; empty if it is too long.
fn fit_url(url: &str) -> String {
    let line = shown::full_text(url);
    if line.len() > LONGEST_VALUE { String::new() } else { line }
}

/// Returns the URLs of a rule for a form; empty if they are too long for a page.
fn fit_lines(urls: &str) -> String {
    if urls.len() > LONGEST_LIST {
        return String::new();
    }
    urls.lines().map(shown::line).collect::<Vec<_>>().join("\n")
}

/// Returns the first paragraph of the description of a type: words, with code between them. The
/// tables are omitted, because the documentation contains them.
fn meaning(meaning: &str) -> Vec<View> {
    let text = meaning.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    // A sentence that introduces a table is useless without it.
    let text = match text.rsplit_once(". ") {
        Some((before, _)) if text.ends_with(':') => format!("{before}."),
        _ => text,
    };
    let text = without_links(&text);
    let pieces = text.split('`').enumerate();
    pieces.map(|(number, text)| view! { text, is_code: number % 2 == 1 }).collect()
}

/// Replaces links `[words](address)` by their words: the addresses lead into the documentation.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let content = link.split_once("](").and_then(|(words, address)| {
            let (_, after) = address.split_once(')')?;
            (!words.contains(['[', '`'])).then_some((words, after))
        });
        if let Some((words, after)) = content {
            plain.push_str(words);
            rest = after;
        } else {
            plain.push('[');
            rest = link;
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_documents_are_plain_words() {
        for (text, want) in [
            (
                "An array of [URL-SPECIFICATIONs](#type-url), of which",
                "An array of URL-SPECIFICATIONs, of which",
            ),
            ("[a](#a) and [b](#b)", "a and b"),
            ("`[0-9]` [c](#c)", "`[0-9]` c"),
            ("`x[1]` and [d", "`x[1]` and [d"),
            ("none", "none"),
        ] {
            assert_eq!(without_links(text), want);
        }
    }
}
