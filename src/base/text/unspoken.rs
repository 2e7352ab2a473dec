//! Checks that all words in templates are translatable texts.

#![expect(clippy::disallowed_methods, reason = "it reads the sources, which no daemon does")]

use std::fs;
use std::path::Path;

use super::scan::{files, literal};

/// Words that are not translated, because they are the same in all languages.
const SAME: &[&str] = &["wwwoffle", "http://www.example.org/"];

/// Literals that look like words but are only compared, not shown.
const COMPARED: &[&str] = &["URL-SPECIFICATIONs"];

/// Attributes whose value a person reads or hears.
const READ: &[&str] = &["aria-label", "aria-description", "placeholder", "title", "alt"];

/// Words outside translatable texts: in the markup, in the attributes of `READ`, and in
/// expressions.
fn unspoken(template: &str) -> Vec<String> {
    let (markup, expressions) = split(template);
    let mut found = Vec::new();
    let mut rest = markup.as_str();
    while let Some((words, tag)) = rest.split_once('<') {
        found.extend(words_of(words));
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        for name in READ {
            let start = format!(" {name}=\"");
            let value = tag.split_once(&start).and_then(|(_, value)| value.split_once('"'));
            found.extend(value.and_then(|(value, _)| words_of(value)));
        }
        rest = after;
    }
    found.extend(words_of(rest));
    found.extend(expressions.iter().flat_map(|expression| shown_literals(expression)));
    found
}

/// Splits a template into its markup and the content of its `{{ }}` and `{% %}`.
fn split(template: &str) -> (String, Vec<String>) {
    let (mut markup, mut expressions, mut rest) = (String::new(), Vec::new(), template);
    while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|open| rest.find(open)).min() {
        let (before, inner) = rest.split_at(at);
        let (close, is_code) = match inner.get(..2) {
            Some("{{") => ("}}", true),
            Some("{%") => ("%}", true),
            _ => ("#}", false),
        };
        let (inner, after) = inner[2..].split_once(close).expect("it is closed");
        markup.extend([before, " "]);
        if is_code {
            expressions.push(inner.to_owned());
        }
        rest = after;
    }
    markup.push_str(rest);
    (markup, expressions)
}

/// The text, if it contains words that must be translated.
fn words_of(text: &str) -> Option<String> {
    let plain = text.replace("&nbsp;", " ");
    let plain = SAME.iter().fold(plain, |plain, same| plain.replace(same, ""));
    plain.chars().any(char::is_alphabetic).then(|| text.trim().to_owned())
}

/// The literals of an expression that look like words for a person but are not translatable texts.
/// Such a literal has several words, begins with a capital letter, or is the result of an inline
/// `if`.
fn shown_literals(expression: &str) -> Vec<String> {
    let (mut calls, mut found, mut before) = (Vec::new(), Vec::new(), String::new());
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '(' => {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
                let from = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
                calls.push(before[from..].to_owned());
            }
            ')' => drop(calls.pop()),
            '"' => {
                let (text, after) = literal(rest);
                let is_told = calls.last().is_some_and(|call| matches!(call.as_str(), "t" | "n"));
                let has_capital = text.chars().next().is_some_and(char::is_uppercase);
                let is_given =
                    before.trim_end().ends_with(" else") || after.trim_start().starts_with("if ");
                let is_word = text.chars().any(char::is_alphabetic)
                    && (is_given || has_capital || text.contains(' '));
                if is_word && !is_told && !COMPARED.contains(&text.as_str()) {
                    found.push(text);
                }
                rest = after;
            }
            _ => {}
        }
        before.push(c);
    }
    found
}

#[test]
fn templates_have_no_words_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in files(&root, "html") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = unspoken(&fs::read_to_string(path).unwrap());
        wrong.extend(found.into_iter().map(|words| format!("{name}: {words:?}")));
    }
    assert!(wrong.is_empty(), "these are not in a t() or n():\n{}", wrong.join("\n"));
}

#[test]
fn untranslated_words_are_found_in_templates() {
    for (template, want) in [
        ("<p>{{ t(\"Words\", a=b) }}, {{ n(1, \"{n} a\", \"{n} b\") }}: wwwoffle</p>", vec![]),
        ("<p class=\"Loud words\">{# A comment #}{{ page.text }} → &nbsp;12 %</p>", vec![]),
        ("{% if page.state == \"old\" %}–{% else %}Words{% endif %}", vec!["– Words"]),
        ("<input placeholder=\"{{ t(\"a\") }} b\" value=\"c\" aria-label=\"d\">", vec!["d", "b"]),
        ("{{ lines(page.lines, \"The lines\") }}{{ hidden(\"set\") }}", vec!["The lines"]),
        ("{{ t(\"All {a}\", a=strong(\"Two words\")) }}", vec!["Two words"]),
        ("{{ \"is\" if page.one else \"are\" }}{{ x if y else \"?\" }}", vec!["is", "are"]),
        ("{{ page.kind is startingwith(\"URL-SPECIFICATIONs\") }}", vec![]),
    ] {
        assert_eq!(unspoken(template), want, "{template}");
    }
}
