//! Any text as a configuration, and any edit of it: the rest stays unchanged byte for byte, and the
//! edited text has the new value.

use std::path::Path;

use wwwoffle_config::Config;
use wwwoffle_config::edit::{Edit, Overview, apply, overview, without_secrets};

use super::input::{Input, text};

/// The path of the configuration. Its directory does not exist, so no file that a text names
/// exists.
const FILE: &str = "/nowhere/at/all/w.conf";

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let edit = edit(&mut input);
    let text = text(input.rest());
    if !text.contains("/dev/") && !text.contains("/proc/") {
        let _ = Config::parse(text, Path::new(FILE));
    }
    let _ = without_secrets(text);
    let before = overview(text);
    let Ok(edited) = apply(text, &edit) else { return };
    let before = before.expect("what is edited is TOML");
    let after = overview(&edited.text).unwrap_or_else(|error| panic!("{error}: {}", edited.text));
    is_one_stretch(text, &edited.text, &edit, &before);
    others_are_as_before(&edit, &before, &after);
    // Repeating the edit changes nothing.
    if let Edit::Set { section, key, .. } = &edit {
        let again = apply(&edited.text, &edit).expect("it could be done before");
        assert_eq!(again.text, edited.text, "{section} {key}");
    }
}

/// Reads a letter and one line each for section, key and value.
fn edit(input: &mut Input<'_>) -> Edit {
    let kind = input.byte();
    let before = input.maybe().map(usize::from);
    let index = usize::from(input.byte() % 4);
    let [section, key, value] = [input.line(), input.line(), input.line()].map(str::to_owned);
    let url = vec![key.clone()];
    let options = vec![(value.clone(), "5s".to_owned())];
    match kind {
        b'u' => Edit::Unset { section, key },
        b'a' => Edit::Add { section, key, item: value, before },
        b'r' => Edit::Remove { section, key, item: value },
        b'A' => Edit::AddRule { section, url, options, before },
        b'R' => Edit::RemoveRule { section, index, url },
        b'P' => Edit::ReplaceRule { section, index, was: vec![value], url, options },
        _ => Edit::Set { section, key, value },
    }
}

/// Checks that the text before and after one continuous range is unchanged, and that the range
/// contains no line of another section.
fn is_one_stretch(text: &str, edited: &str, edit: &Edit, before: &Overview) {
    let start = text.bytes().zip(edited.bytes()).take_while(|(one, other)| one == other).count();
    let most = text.len().min(edited.len()) - start;
    let pairs = text.bytes().rev().zip(edited.bytes().rev()).take(most);
    let end = text.len() - pairs.take_while(|(one, other)| one == other).count();
    let line = |at: usize| 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
    if start >= end
        || matches!(edit, Edit::AddRule { .. } | Edit::RemoveRule { .. } | Edit::ReplaceRule { .. })
    {
        return;
    }
    let (first, last) = (line(start), line(end - 1));
    for option in
        before.options.iter().filter(|option| !is_edited(edit, option.section, option.option.key))
    {
        let is_in = |at: usize| first < at && at < last;
        assert!(!option.line.is_some_and(is_in), "line {:?} was in it: {text}", option.line);
    }
}

fn is_edited(edit: &Edit, in_section: &str, option: &str) -> bool {
    match edit {
        Edit::Set { section, key, .. }
        | Edit::Unset { section, key }
        | Edit::Add { section, key, .. }
        | Edit::Remove { section, key, .. } => section == in_section && key == option,
        Edit::AddRule { .. } | Edit::RemoveRule { .. } | Edit::ReplaceRule { .. } => false,
    }
}

fn others_are_as_before(edit: &Edit, before: &Overview, after: &Overview) {
    for (one, other) in before.options.iter().zip(&after.options) {
        if !is_edited(edit, one.section, one.option.key) {
            assert_eq!(one.value, other.value, "{} {}", one.section, one.option.key);
        }
    }
    let (rules, now) = (before.rules.len(), after.rules.len());
    match edit {
        Edit::AddRule { .. } => assert_eq!(now, rules + 1),
        Edit::RemoveRule { .. } => assert_eq!(now + 1, rules),
        _ => assert_eq!(now, rules),
    }
    let changed = match edit {
        Edit::AddRule { section, .. } => Some(section),
        Edit::RemoveRule { section, .. } | Edit::ReplaceRule { section, .. } => Some(section),
        _ => None,
    };
    let others = |overview: &Overview| {
        let others =
            overview.rules.iter().filter(|rule| Some(rule.section) != changed.map(String::as_str));
        others.map(|rule| (rule.section, rule.rule.clone())).collect::<Vec<_>>()
    };
    assert_eq!(others(before), others(after));
}
