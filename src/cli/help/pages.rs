//! The manual pages and the completions below `packaging/` are up to date.
//!
//! They are written from the definition of the command line and from `docs/options.md`. They are
//! files of the repository, so a packager needs no generator, and the program does not contain one.
#![expect(
    clippy::disallowed_methods,
    reason = "these documents are not of the program's own files"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::{GROUPS, args};
use crate::base::exit::ExitStatus;

/// The files below `packaging/`, by path.
type Documents = BTreeMap<String, String>;

#[test]
fn manual_pages_and_completions_are_up_to_date() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging");
    let wanted = documents();
    if std::env::var_os("UPDATE").is_some() {
        for folder in ["man", "completions"] {
            let _is_missing = fs::remove_dir_all(packaging.join(folder));
            fs::create_dir_all(packaging.join(folder)).unwrap();
        }
        for (path, text) in &wanted {
            fs::write(packaging.join(path), text).unwrap();
        }
    }
    let mut found = Documents::new();
    for folder in ["man", "completions"] {
        for entry in fs::read_dir(packaging.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let text = fs::read_to_string(packaging.join(folder).join(&name)).unwrap();
            found.insert(format!("{folder}/{name}"), text);
        }
    }
    let differing: Vec<_> = wanted.keys().chain(found.keys()).collect();
    let differs = |path: &&String| wanted.get(*path) != found.get(*path);
    let differing: Vec<_> = differing.into_iter().filter(differs).collect();
    assert!(
        differing.is_empty(),
        "packaging/ differs in {differing:?}: `UPDATE=1 cargo test -p wwwoffle --lib help::pages`"
    );
}

fn documents() -> Documents {
    let mut command = args::command();
    let mut documents = Documents::new();
    for (shell, name) in
        [(Shell::Bash, "wwwoffle.bash"), (Shell::Zsh, "_wwwoffle"), (Shell::Fish, "wwwoffle.fish")]
    {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "wwwoffle", &mut script);
        let script = String::from_utf8(script).unwrap();
        let lines: Vec<&str> = script.lines().map(str::trim_end).collect();
        documents.insert(format!("completions/{name}"), lines.join("\n") + "\n");
    }
    command.build();
    documents.insert("man/wwwoffle.1".into(), program_page(&command));
    documents.insert("man/wwwoffle.conf.5".into(), options_page());
    verb_pages(&command, &mut documents);
    for (path, text) in &mut documents {
        if path.starts_with("man/") {
            *text = portable(text);
        }
    }
    documents
}

/// Removes the definitions that each section of `clap_mangen` repeats, and writes characters above
/// ASCII as every version of groff reads them.
fn portable(page: &str) -> String {
    let begins = [".ie \\n(.g .ds Aq", ".el .ds Aq"];
    let (head, rest) = page.split_at(page.find(".TH ").unwrap());
    let lines = rest.lines().filter(|line| !begins.iter().any(|begin| line.starts_with(begin)));
    let mut portable = head.to_owned();
    for letter in lines.flat_map(|line| line.trim_end().chars().chain(['\n'])) {
        if letter.is_ascii() {
            portable.push(letter);
        } else {
            let _written = write!(portable, "\\[u{:04X}]", u32::from(letter));
        }
    }
    portable
}

/// Adds a page for each verb of `command`, and for each verb of these.
fn verb_pages(command: &Command, documents: &mut Documents) {
    for verb in command.get_subcommands() {
        let man = Man::new(verb.clone()).source("wwwoffle").manual("wwwoffle manual");
        let path = format!("man/{}", man.get_filename());
        let mut page = Vec::new();
        man.render(&mut page).unwrap();
        let see_also = Roff::new()
            .control("SH", ["SEE ALSO"])
            .text([bold("wwwoffle"), roman("(1), "), bold("wwwoffle.conf"), roman("(5)")])
            .to_roff();
        documents.insert(path, String::from_utf8(page).unwrap() + &see_also);
        verb_pages(verb, documents);
    }
}

/// The page of the program, with the verbs by task.
fn program_page(command: &Command) -> String {
    let man = Man::new(command.clone()).source("wwwoffle").manual("wwwoffle manual");
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    let mut verbs = Roff::new();
    verbs.control("SH", ["VERBS"]);
    for group in &GROUPS {
        verbs.control("SS", [group.task]);
        for verb in group.commands(command) {
            let about = verb.get_about().unwrap().to_string();
            let name = verb.get_display_name().unwrap();
            verbs.control("TP", []).text([bold(name), roman("(1)")]).text([roman(about)]);
        }
    }
    page.extend(verbs.to_roff().into_bytes());
    man.render_options_section(&mut page).unwrap();
    let mut ending = Roff::new();
    ending.control("SH", ["EXIT STATUS"]);
    for status in ExitStatus::ALL {
        let code = status.code().to_string();
        ending.control("TP", []).text([bold(code)]).text([roman(status.to_string())]);
    }
    let text = String::from_utf8(page).unwrap() + &ending.to_roff();
    text + &from_markdown(include_str!("program.md")).to_roff()
}

/// The page of the configuration file: `docs/options.md`.
fn options_page() -> String {
    let head = Roff::new()
        .control("TH", ["wwwoffle.conf", "5", "", "wwwoffle", "wwwoffle manual"])
        .control("SH", ["NAME"])
        .text([roman("wwwoffle.conf - configuration of the offline web proxy wwwoffle")])
        .control("SH", ["DESCRIPTION"])
        .to_roff();
    let options = include_str!("../../../docs/options.md");
    head + &from_markdown(options).to_roff()
        + &Roff::new()
            .control("SH", ["SEE ALSO"])
            .text([bold("wwwoffle"), roman("(1), "), bold("wwwoffle-config"), roman("(1)")])
            .to_roff()
}

/// Converts the Markdown that our documentation uses. The title is left out.
fn from_markdown(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut is_code = false;
    let mut is_paragraph = false;
    for line in text.lines() {
        if line.starts_with("```") {
            roff.control(if is_code { "EE" } else { "EX" }, []);
            is_code = !is_code;
        } else if is_code {
            roff.text([roman(line)]);
        } else if let Some(heading) = line.strip_prefix("## ") {
            roff.control("SH", [heading.to_uppercase().as_str()]);
        } else if let Some(heading) = line.strip_prefix("### ") {
            roff.control("SS", [heading]);
        } else if let Some((first, second)) = row(line) {
            roff.control("TP", []).text(inline(first)).text(inline(second));
        } else if let Some(item) = list_item(line) {
            roff.control("IP", ["\\(bu", "2"]).text(inline(item));
        } else if is_hidden(line) {
            is_paragraph = false;
            continue;
        } else {
            if !is_paragraph {
                roff.control("PP", []);
            }
            roff.text(inline(line.trim_start()));
        }
        is_paragraph = !is_code;
    }
    roff
}

fn is_hidden(line: &str) -> bool {
    line.is_empty() || line.starts_with("# ") || line.starts_with("<!--") || line.starts_with('|')
}

/// The two cells of a row of a table. Its head and the line below have none.
fn row(line: &str) -> Option<(&str, &str)> {
    let row = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    let heads = ["kind", "part", "pattern", "variable", "path"];
    (!heads.contains(&row.0)).then_some(row)
}

fn list_item(line: &str) -> Option<&str> {
    let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.strip_prefix("- ").or_else(|| numbered.strip_prefix(". "))
}

/// Converts links to their text, and code to bold letters.
fn inline(text: &str) -> Vec<Inline> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (begin, label) = before.rsplit_once('[').unwrap();
        plain += begin;
        plain += label;
        rest = after.split_once(')').unwrap().1;
    }
    plain += rest;
    let pieces = plain.split('`').enumerate();
    pieces.map(|(count, piece)| if count % 2 == 1 { bold(piece) } else { roman(piece) }).collect()
}
