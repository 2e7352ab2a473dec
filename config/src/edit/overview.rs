//! The settings of a text, with their lines.

use super::layout::{Layout, line_number};
use super::rule::rules_of;
use super::{EditError, Rule, secret};
use crate::schema::{OptionInfo, SECTIONS};
use toml_edit::Item;

/// Every option of the schema, and every rule of a configuration's text.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The options, in the order of `docs/options.md`.
    pub options: Vec<OptionState>,
    /// The rules by section, in the order of the text.
    pub rules: Vec<RuleState>,
}

/// An option, and its value if it has one.
#[derive(Clone, Debug)]
pub struct OptionState {
    /// The section.
    pub section: &'static str,
    /// The declaration.
    pub option: &'static OptionInfo,
    /// The value as written. `None` if the text does not set the option. A secret is replaced by a
    /// placeholder.
    pub value: Option<String>,
    /// The line of the value, counted from 1. `None` if the text does not set the option.
    pub line: Option<usize>,
}

/// A rule and its position.
#[derive(Clone, Debug)]
pub struct RuleState {
    /// The section.
    pub section: &'static str,
    /// The number in the section, counted from 0.
    pub index: usize,
    /// The line of the rule's header.
    pub line: usize,
    /// The content.
    pub rule: Rule,
}

/// Lists the settings of a text, even if some are faulty.
///
/// # Errors
///
/// [`EditError::NotToml`] if `text` is not TOML.
pub fn overview(text: &str) -> Result<Overview, EditError> {
    let layout = Layout::of(text)?;
    let mut state = Overview { options: Vec::new(), rules: Vec::new() };
    for section in SECTIONS {
        let table = layout.root().get(section.name).and_then(Item::as_table_like);
        for option in section.options {
            let span = table.and_then(|table| table.get(option.key)?.as_value()?.span());
            let value = span.clone().and_then(|span| text.get(span).map(str::to_owned));
            state.options.push(OptionState {
                section: section.name,
                option,
                value: value.map(|value| secret::shown(option.key, value)),
                line: span.map(|span| line_number(text, span.start)),
            });
        }
        let rules = rules_of(&layout, section.name).unwrap_or_default();
        state.rules.extend((0..).zip(rules).map(|(index, (start, rule))| RuleState {
            section: section.name,
            index,
            line: line_number(text, start),
            rule: secret::shown_rule(rule),
        }));
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::overview;

    #[test]
    fn set_options_are_listed_with_their_line() {
        let text =
            "[options]\n# c\nlog-level = 'warn' # d\n\n[[https.for]]\nurl = 'u'\nrefuse = [1,\n2]";
        let found = overview(text).unwrap();
        let set: Vec<_> = found.options.iter().filter(|option| option.value.is_some()).collect();
        assert_eq!(set.len(), 1);
        assert_eq!((set[0].option.key, set[0].line), ("log-level", Some(3)));
        assert_eq!(set[0].value.as_deref(), Some("'warn'"));
        let [rule] = found.rules.as_slice() else { panic!("there is one rule") };
        assert_eq!((rule.section, rule.index, rule.line), ("https", 0, 5));
        assert_eq!(rule.rule.urls, ["u"]);
        assert_eq!(rule.rule.options, [("refuse".to_owned(), "[1,\n2]".to_owned())]);
        assert!(overview("[").is_err());
    }
}
