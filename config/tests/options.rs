//! Every option by table: its text and the parsed value.

use std::{collections::BTreeSet, path::Path};
use wwwoffle_config::{Config, schema::SECTIONS};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The rows of `options.txt`: section, option, text and parsed value.
fn rows() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let row = |line: &'static str| {
        let (given, becomes) = line.split_once(" ->")?;
        let (option, value) = given.split_once(" = ")?;
        let (section, key) = option.split_once('.')?;
        Some((section, key, value.trim(), becomes.trim()))
    };
    let lines = include_str!("options.txt").lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| row(line).unwrap_or_else(|| panic!("no row: {line}")))
        .collect()
}

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("test.conf")).unwrap_or_else(|faults| panic!("{text}: {faults}"))
}

/// The part of a section in which `config` differs from the default, on one line.
fn difference(config: &Config, default: &str, section: &str) -> String {
    let field = |all: &str| {
        let begin = format!("\n    {}: ", section_field(section));
        let from = all.find(&begin).expect("a field for each section");
        let rest = &all[from + 1..];
        let end = rest.find("\n    },").unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    let (new, default) = (field(&format!("{config:#?}")), field(default));
    let default: BTreeSet<String> = options(&default).into_iter().collect();
    let new = options(&new).into_iter().filter(|option| !default.contains(option));
    let text = new.collect::<Vec<_>>().join(" ");
    // Removes the spaces and commas that result from joining lines.
    let pairs = [("( ", "("), (", )", ")"), ("[ ", "["), (", ]", "]"), (", }", " }")];
    let text = pairs.iter().fold(text, |text, (from, to)| text.replace(from, to));
    text.trim_end_matches(',').to_owned()
}

/// The options of a section with their values, each on one line.
fn options(section: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for line in section.lines().skip(1) {
        let deeper = line.strip_prefix("        ").unwrap_or("}").starts_with([' ', '}', ']', ')']);
        let word = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match options.last_mut() {
            Some(last) if deeper => last.extend([" ", &word]),
            _ => options.push(word),
        }
    }
    options
}

/// The name of a section's field in `Config`.
fn section_field(section: &str) -> String {
    section.replace('-', "_").replace("allowed_connect", "allowed")
}

#[test]
#[ignore = "slow"]
fn each_option_is_parsed_as_the_table_says() {
    let (mut wrong, default) = (Vec::new(), format!("{:#?}", Config::default()));
    for (section, key, value, want) in rows() {
        let config = parse(&format!("[{section}]\n{key} = {value}\n"));
        let place = config.origin_of(section, key).map(ToString::to_string);
        assert_eq!(place.as_deref(), Some("test.conf:2"), "{section}.{key}");
        let got = difference(&config, &default, section);
        if got != want {
            wrong.push(format!("{section}.{key} = {value} -> {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_option_is_in_the_table() {
    let rows: BTreeSet<_> = rows().into_iter().map(|(section, key, ..)| (section, key)).collect();
    for section in SECTIONS {
        for option in section.options {
            assert!(rows.contains(&(section.name, option.key)), "{}.{}", section.name, option.key);
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_rule_may_set_only_the_options_of_the_schema() {
    let url = CanonicalUrl::parse("http://a.test/", &LocalHost::default()).unwrap();
    for section in SECTIONS {
        for option in section.options {
            let (section, key) = (section.name, option.key);
            let (_, _, value, _) = *rows()
                .iter()
                .find(|row| (row.0, row.1) == (section, key))
                .expect("each option is in the table");
            let text = format!("[[{section}.for]]\nurl = \"*://a.test/*\"\n{key} = {value}\n");
            let read = Config::parse(&text, Path::new("test.conf"));
            assert_eq!(read.is_ok(), option.rules, "{section}.{key}");
            let Ok(config) = read else { continue };
            let told = config.explain(&url);
            let told = told.iter().find(|told| (told.section, told.key) == (section, key)).unwrap();
            let place = told.location.as_ref().unwrap().to_string();
            assert_eq!(place, "test.conf:3", "{section}.{key}");
            assert_eq!(told.rule.as_ref().unwrap().location().to_string(), "test.conf:2");
            assert_eq!(config.origin_of(section, key), None);
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_value_of_another_type_is_refused_for_each_option() {
    for section in SECTIONS {
        for option in section.options {
            let text = format!("[{}]\n{} = 1979-05-27\n", section.name, option.key);
            let faults = Config::parse(&text, Path::new("test.conf")).unwrap_err().to_string();
            let begins = format!("test.conf:2: \"{}\" takes ", option.key);
            assert!(faults.starts_with(&begins) && !faults.contains('\n'), "{faults}");
            assert_eq!(option.is_secret, !faults.contains("1979"), "{faults}");
        }
    }
}
