//! Edits of a text: each case of `edits.txt` has a text, an edit and the result.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a case that is not written right fails the test"
)]

use wwwoffle_config::edit::{Edit, EditError, EditResult, apply};

#[derive(Debug, Default)]
struct Case {
    number: usize,
    given: String,
    edit: String,
    produces: String,
    refused: Option<String>,
    line: Option<usize>,
}

/// The text in the rows of a case. Blank rows at its end separate it from the next part.
fn text(rows: &[&str]) -> String {
    let rows = rows.iter().map(|row| row.strip_prefix("    ").unwrap_or(row).to_owned() + "\n");
    let text: String = rows.collect();
    let text = text.trim_end_matches('\n').to_owned() + "\n";
    text.strip_suffix("\\c\n").unwrap_or(&text).trim_start_matches('\n').to_owned()
}

fn cases() -> Vec<Case> {
    let rows: Vec<_> = (1..).zip(include_str!("edits.txt").lines()).collect();
    let parts = rows.split(|(_, row)| row.starts_with("--") || row.starts_with('#'));
    let cases = parts.filter(|part| part.iter().any(|(_, row)| row.starts_with("> ")));
    cases
        .map(|part| {
            let rows: Vec<_> = part.iter().map(|(_, row)| *row).collect();
            let edit = rows.iter().position(|row| row.starts_with("> ")).unwrap();
            let told = |mark: &str| rows.iter().find_map(|row| row.strip_prefix(mark));
            let end = rows.iter().position(|row| row.starts_with(['=', '!'])).unwrap_or(rows.len());
            Case {
                number: part[0].0,
                given: text(&rows[..edit]),
                edit: rows[edit][2..].to_owned(),
                produces: text(&rows[edit + 1..end]),
                refused: told("! ").map(str::to_owned),
                line: told("= ").map(|line| line.parse().unwrap()),
            }
        })
        .collect()
}

fn edit(typed: &str) -> Edit {
    let (verb, rest) = typed.split_once(' ').unwrap();
    let (before, rest) = match verb.strip_suffix("-at") {
        Some(_) => rest.split_once(' ').map(|(at, rest)| (at.parse().ok(), rest)).unwrap(),
        None => (None, rest),
    };
    let words: Vec<_> = rest.split(' ').map(str::to_owned).collect();
    let section = words[0].clone();
    let key = words[1].clone();
    let value = words[2..].join(" ");
    let urls = |words: &[String]| words.iter().filter(|w| w.contains("//")).cloned().collect();
    let rule = |words: &[String]| {
        let options = words.iter().filter_map(|word| word.split_once('='));
        let options = options.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        (urls(words), options)
    };
    let index = || section.parse().unwrap();
    match verb.trim_end_matches("-at") {
        "set" => Edit::Set { section, key, value },
        "unset" => Edit::Unset { section, key },
        "add" => Edit::Add { section, key, item: value, before },
        "remove" => Edit::Remove { section, key, item: value },
        "rule" => {
            let (url, options) = rule(&words[1..]);
            Edit::AddRule { section, url, options, before }
        }
        "unrule" => Edit::RemoveRule { index: index(), section: key, url: urls(&words[2..]) },
        "rerule" => {
            let colon = words.iter().position(|word| word == ":").unwrap();
            let (was, (url, options)) = (urls(&words[2..colon]), rule(&words[colon..]));
            Edit::ReplaceRule { index: index(), section: key, was, url, options }
        }
        _ => panic!("no edit: {typed}"),
    }
}

fn check(case: &Case, given: &str, produces: &str) -> Result<(), String> {
    let got: Result<EditResult, EditError> = apply(given, &edit(&case.edit));
    match (&case.refused, &got) {
        (Some(want), Err(error)) if error.to_string() == *want => Ok(()),
        (None, Ok(edited)) if edited.text == produces => {
            let line = edited.line;
            let is_there = case.line.is_none_or(|want| want == line);
            if is_there { Ok(()) } else { Err(format!("line {line}")) }
        }
        (_, Ok(edited)) => Err(format!("{}\n{:?}", edited.text, edited.text)),
        (_, Err(error)) => Err(format!("! {error}")),
    }
}

#[test]
#[ignore = "slow"]
fn each_edit_produces_its_text() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() > 50, "{}", cases.len());
    for case in &cases {
        // An edit keeps the line ending of the text. An empty text has none.
        let has_lines = case.given.contains('\n');
        let ways = [("", "\n"), ("\u{feff}", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")];
        for (mark, end) in ways.iter().filter(|(_, end)| *end == "\n" || has_lines) {
            let written = |text: &str| format!("{mark}{}", text.replace('\n', end));
            if let Err(got) = check(case, &written(&case.given), &written(&case.produces)) {
                let Case { number, edit, .. } = case;
                wrong.push(format!("edits.txt:{number}: {edit} ({mark:?} {end:?}) gives\n{got}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases differ\n{}", wrong.len(), wrong.join("\n"));
}
