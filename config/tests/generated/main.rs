//! The documents generated from the schema are up to date.

mod documents;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wwwoffle_config::{Config, FormerOption, Successor, describe, schema::SECTIONS};

/// Checks that the file `name` contains the document `want`. If `UPDATE` is set, writes the file
/// first.
#[expect(clippy::disallowed_methods, reason = "these documents are not of the program's own files")]
fn is_as_written(name: &str, want: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, want).expect("the document can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let line = found.lines().zip(want.lines()).take_while(|(found, want)| found == want).count();
    assert!(
        found == want,
        "{name} is not what config/src/schema.rs says, first in line {}; \
         `UPDATE=1 cargo test -p wwwoffle-config` writes it anew",
        line + 1
    );
}

#[test]
fn the_option_reference_matches_the_schema() {
    is_as_written("docs/options.md", &documents::options_markdown());
}

#[test]
fn the_migration_page_matches_the_table() {
    is_as_written("docs/guide/from-2.9.md", &documents::former_markdown());
}

/// The page "From WWWOFFLE 2.9" with its table of features.
const FORMER: &str = include_str!("from-2.9.md");

#[test]
fn each_feature_of_2_9_has_a_place_or_a_reason() {
    let rows = FORMER.lines().filter_map(|line| line.strip_prefix("| B")?.strip_suffix(" |"));
    let mut count = 0;
    for row in rows {
        let columns: Vec<_> = row.split(" | ").collect();
        let [number, feature, now, state] = columns[..] else { panic!("{row}") };
        count += 1;
        assert_eq!(number, count.to_string(), "{row}");
        assert!(!feature.is_empty(), "{row}");
        let reason = state.strip_prefix("*differs, because* ");
        assert!(state == "*works*" || reason.is_some_and(|reason| reason.len() > 20), "{row}");
        // Other tests look up the commands, addresses and targets of links.
        let evidence = ["`wwwoffle ", "`/", "`[", "]("];
        assert!(evidence.iter().any(|evidence| now.contains(evidence)), "{row}");
        for code in now.split('`').skip(1).step_by(2) {
            let Some((section, key)) =
                code.strip_prefix('[').and_then(|name| name.split_once("] "))
            else {
                continue;
            };
            let known = SECTIONS.iter().find(|known| known.name == section);
            let known = known.unwrap_or_else(|| panic!("there is no [{section}]: {row}"));
            assert!(known.options.iter().any(|option| option.key == key), "no {key}: {row}");
        }
    }
    assert!(count >= 132, "{count} features");
}

#[test]
fn every_option_of_2_9_is_in_the_table() {
    let mut section = "";
    let mut options = BTreeSet::new();
    let included = include_str!("../classic/dontget.conf");
    let text = include_str!("../classic/template.conf").replace("dontget.conf\n", included);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with(|c: char| c.is_ascii_uppercase()) && !line.contains('=') {
            section = line;
        } else if !section.is_empty() && !line.is_empty() && !"#{}[]".contains(&line[..1]) {
            let item = line.rsplit_once("> ").map_or(line, |(_, item)| item);
            let key = item.split(['=', ' ']).next().unwrap();
            let is_named = FormerOption::find(section, key).is_some();
            let is_entry = FormerOption::find(section, "").is_some();
            assert!(is_named || is_entry, "[{section}] {line}");
            options.insert((section, if is_named { key } else { "" }));
        }
    }
    for former in FormerOption::all() {
        let option = (former.section, former.key);
        assert!(options.contains(&option), "{option:?} is not an option of 2.9");
    }
    assert_eq!(options.len(), FormerOption::all().count());
}

#[test]
fn former_options_have_existing_replacements() {
    for former in FormerOption::all() {
        let name = format!("[{}] {}", former.section, former.key);
        let (section, key) = match former.now {
            Successor::Same { section, key } => (section, key),
            Successor::Gone { reason, instead } => {
                assert!(reason.ends_with('.'), "{name}");
                let Some(instead) = instead else { continue };
                instead
            }
        };
        let known = SECTIONS.iter().find(|known| known.name == section);
        let known = known.unwrap_or_else(|| panic!("{name} is in [{section}]"));
        assert!(known.options.iter().any(|option| option.key == key), "{name} is {key}");
        let found = FormerOption::find(&former.section.to_uppercase(), former.key).expect(&name);
        assert_eq!((found.section, found.key), (former.section, former.key));
    }
}

#[test]
fn the_example_matches_the_schema() {
    is_as_written("wwwoffle.conf.example", &documents::example());
}

#[test]
fn the_example_is_the_default_with_and_without_its_comments() {
    let file = Path::new("wwwoffle.conf.example");
    let example = documents::example();
    assert_eq!(Config::parse(&example, file).unwrap(), Config::default());
    let options: String = example
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| line.strip_prefix('#').unwrap_or(line).to_owned() + "\n")
        .collect();
    let count: usize = SECTIONS.iter().map(|section| section.options.len()).sum();
    assert_eq!(options.lines().filter(|line| line.contains(" = ")).count(), count);
    assert_eq!(Config::parse(&options, file).unwrap(), Config::default());
}

#[test]
fn the_schema_for_programs_has_every_option() {
    let schema: serde_json::Value = serde_json::from_str(&describe::json_schema()).unwrap();
    let typed = |option: &serde_json::Value| {
        option["type"].is_string() || option["type"].is_array() || option["enum"].is_array()
    };
    for section in SECTIONS {
        let properties = &schema["properties"][section.name]["properties"];
        for option in section.options {
            let name = format!("[{}] {}", section.name, option.key);
            let told = &properties[option.key];
            assert!(typed(told), "{name}");
            assert_eq!(told["description"], option.sentence.trim(), "{name}");
            assert_eq!(told["x-rules"], option.rules, "{name}");
            let of_rule = &properties["for"]["items"]["properties"][option.key];
            assert_eq!(typed(of_rule), option.rules, "{name}");
        }
    }
}

#[test]
fn sentences_are_sentences_and_names_are_names() {
    for section in SECTIONS {
        assert!(section.sentence.ends_with('.'), "{}", section.name);
        for option in section.options {
            let name = format!("[{}] {}", section.name, option.key);
            assert!(option.sentence.ends_with('.') && option.meaning.ends_with('.'), "{name}");
            assert!(
                option.key.bytes().all(|byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
                }),
                "{name}"
            );
        }
    }
}
