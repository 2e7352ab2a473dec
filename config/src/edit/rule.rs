//! Adds, removes and replaces rules, `[[section.for]]`.

use super::entry::{self, EditTarget};
use super::given::of_rule;
use super::layout::{Layout, comments, line_number, line_start};
use super::{EditError, EditResult, Rule, check_bare_key, known_section, quoted, secret};
use toml_edit::{Item, Table};

/// The key of a rule's URL-SPECIFICATIONs.
const URL: &str = "url";

pub(super) fn add(
    text: &str,
    section: &str,
    rule: &Rule,
    before: Option<usize>,
) -> Result<EditResult, EditError> {
    known_section(section)?;
    let layout = Layout::of(text)?;
    let newline = layout.newline();
    let block = block(section, rule, newline)?;
    let headers = headers(&layout, section)?;
    let own = layout.root().get(section).and_then(Item::as_table).filter(|own| !own.is_implicit());
    let next = before.and_then(|number| headers.get(number));
    let splice = if let Some((start, _)) = next {
        let at = layout.above(*start);
        layout.lines_at(at, &format!("{block}{newline}"))
    } else if let Some(end) = headers.last().map(|(_, end)| *end).or_else(|| Some(own?.span()?.end))
    {
        layout.lines_at(layout.end_of(end), &format!("{newline}{block}"))
    } else {
        entry::append_lines(&layout, &block)
    };
    let index = before.map_or(headers.len(), |number| number.min(headers.len()));
    let new = splice.apply(text);
    let by_hand = || EditError::ByHand(format!("[{section}]"));
    let layout = Layout::of(&new).map_err(|_| by_hand())?;
    let header = find_rule(&layout, section, index, &rule.urls).map_err(|_| by_hand())?;
    let line = line_number(&new, header.0);
    drop(layout);
    Ok(EditResult { text: new, line, was: None, now: Some(block) })
}

pub(super) fn remove(
    text: &str,
    section: &str,
    index: usize,
    urls: &[String],
) -> Result<EditResult, EditError> {
    let layout = Layout::of(text)?;
    let (start, end) = find_rule(&layout, section, index, urls)?;
    let lines = line_start(text, start)..layout.end_of(end);
    let was = text.get(lines.clone()).unwrap_or_default().to_owned();
    // The blank line above the rule is removed with it, unless comments of the rule stay there.
    let before = line_start(text, lines.start.saturating_sub(1));
    let gap = text.get(before..lines.start).unwrap_or_default();
    let is_parted = gap.ends_with('\n') && gap.trim().is_empty() && comments(&was).is_empty();
    let from = if is_parted { before } else { lines.start };
    let splice = layout.without_lines(from..lines.end, lines);
    let line = line_number(text, start);
    let new = splice.apply(text);
    Layout::of(&new).map_err(|_| EditError::ByHand(format!("[[{section}.for]]")))?;
    Ok(EditResult { text: new, line, was: Some(was), now: None })
}

pub(super) fn replace(
    text: &str,
    section: &str,
    index: usize,
    urls: &[String],
    rule: &Rule,
) -> Result<EditResult, EditError> {
    let layout = Layout::of(text)?;
    let (start, end) = find_rule(&layout, section, index, urls)?;
    let was = text.get(start..layout.end_of(end)).map(str::to_owned);
    let target = EditTarget::Rule(section, index);
    let mut text = text.to_owned();
    if urls != rule.urls {
        text = entry::set(&text, &target, URL, &array(&rule.urls))?.text;
    }
    for key in options(rules(&layout, section)?.get(index)) {
        if !rule.options.iter().any(|(kept, _)| *kept == key) {
            text = entry::unset(&text, &target, &key)?.text;
        }
    }
    for (key, value) in &rule.options {
        // The placeholder of a secret is not a new value.
        if secret::is_shown_of(key, value) {
            continue;
        }
        text = entry::set(&text, &target, key, &of_rule(section, key, value))?.text;
    }
    let layout = Layout::of(&text)?;
    let (start, end) = find_rule(&layout, section, index, &rule.urls)?;
    let now = text.get(start..layout.end_of(end)).map(str::to_owned);
    let line = line_number(&text, start);
    drop(layout);
    Ok(EditResult { text, line, was, now })
}

/// The TOML of a rule, with its header.
fn block(section: &str, rule: &Rule, newline: &str) -> Result<String, EditError> {
    let mut block = format!("[[{section}.for]]{newline}{URL} = {}{newline}", array(&rule.urls));
    for (key, value) in &rule.options {
        check_bare_key(key)?;
        for part in [key, " = ", &of_rule(section, key, value), newline] {
            block.push_str(part);
        }
    }
    Ok(block)
}

fn array(urls: &[String]) -> String {
    let quoted: Vec<_> = urls.iter().map(|url| quoted(url)).collect();
    format!("[{}]", quoted.join(", "))
}

fn rules<'a>(layout: &'a Layout<'_>, section: &str) -> Result<Vec<&'a Table>, EditError> {
    let own = layout.root().get(section).and_then(Item::as_table_like);
    match own.and_then(|own| own.get("for")) {
        None => Ok(Vec::new()),
        Some(Item::ArrayOfTables(rules)) => Ok(rules.iter().collect()),
        Some(_) => Err(EditError::ByHand(format!("\"for\" in [{section}]"))),
    }
}

/// The rules of a section, each with the offset of its header.
pub(super) fn rules_of(
    layout: &Layout<'_>,
    section: &str,
) -> Result<Vec<(usize, Rule)>, EditError> {
    let rules = rules(layout, section)?;
    let read = rules.iter().filter_map(|table| {
        let written = |item: &Item| Some(layout.text.get(item.span()?)?.to_owned());
        let options = table.iter().filter(|(key, _)| *key != URL);
        let options = options.filter_map(|(key, item)| Some((key.to_owned(), written(item)?)));
        Some((table.span()?.start, Rule { urls: rule_urls(table), options: options.collect() }))
    });
    Ok(read.collect())
}

/// The start and end of each rule's header.
fn headers(layout: &Layout<'_>, section: &str) -> Result<Vec<(usize, usize)>, EditError> {
    let rules = rules(layout, section)?;
    Ok(rules.iter().filter_map(|rule| rule.span()).map(|span| (span.start, span.end)).collect())
}

/// Finds the rule with this number, and checks that it is for these URLs. Returns the start and end
/// of its header.
fn find_rule(
    layout: &Layout<'_>,
    section: &str,
    index: usize,
    urls: &[String],
) -> Result<(usize, usize), EditError> {
    let rules = rules(layout, section)?;
    let header = headers(layout, section)?.get(index).copied();
    let (Some(rule), Some(header)) = (rules.get(index), header) else {
        let (section, count) = (section.to_owned(), rules.len());
        return Err(EditError::NoRule { section, index, count });
    };
    let found = rule_urls(rule);
    if found == urls {
        return Ok(header);
    }
    let (section, expected) = (section.to_owned(), urls.to_vec());
    Err(EditError::OtherRule { section, index, expected, found })
}

/// The URL-SPECIFICATIONs of a rule. A single one need not be in an array.
fn rule_urls(rule: &Table) -> Vec<String> {
    match rule.get(URL).and_then(Item::as_value) {
        Some(value) => match value.as_array() {
            Some(array) => array.iter().map(plain).collect(),
            None => vec![plain(value)],
        },
        None => Vec::new(),
    }
}

fn plain(value: &toml_edit::Value) -> String {
    value.as_str().map_or_else(|| value.to_string().trim().to_owned(), str::to_owned)
}

/// The names of the options that a rule sets.
fn options(rule: Option<&&Table>) -> Vec<String> {
    let keys = rule.into_iter().flat_map(|rule| rule.iter());
    keys.map(|(key, _)| key.to_owned()).filter(|key| key != URL).collect()
}
