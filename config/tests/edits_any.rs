//! Properties of every edit of every text: nothing else changes, and every edit can be undone.
#![expect(clippy::indexing_slicing, reason = "a section that is not there fails the test")]

use proptest::prelude::*;
use wwwoffle_config::edit::{Edit, Rule, apply, overview};

/// Lines that may be in a section, each option at most once.
const LINES: &[&str] = &[
    "log-level = \"info\"",
    "  dns-timeout   =  '1m'   # why not",
    "#connect-timeout = \"30s\"",
    "# socket-timeout = \"2m\" # out",
    "",
    "# words, \"and\" #more",
    "connections-per-host = 4",
];

const PORTS: &[&str] = &[
    "ports = [443]",
    "ports = [ 443, \"1-2\" ] # c",
    "ports = [\n  443, # a\n  # b\n  \"8000-9000\",\n]",
    "ports = [\n\t443,\n\t'1-2' ]",
    "#ports = [\"443\"]",
    "",
];

const RULES: &[&str] = &[
    "",
    "[[https.for]]\nurl = [\"*://a.test/*\"]\nintercept = false # c",
    "# one\n[[https.for]]\nurl = [\"*://a.test/*\"]\n\n# two\n[[https.for]]\nurl = \"*://b.test/*\"\n",
];

prop_compose! {
    /// A text of sections in some order, with one kind of line ending.
    fn text()(
        lines in proptest::sample::subsequence(LINES, 0..LINES.len()).prop_shuffle(),
        ports in proptest::sample::select(PORTS),
        rules in proptest::sample::select(RULES),
        parts in Just(vec![0, 1, 2]).prop_shuffle(),
        (has_options, is_crlf, has_mark, has_end) in any::<(bool, bool, bool, bool)>(),
    ) -> String {
        let options = if has_options { format!("[options]\n{}\n", lines.join("\n")) } else { String::new() };
        let sections = [options, format!("# t\n[tunnel] # u\n{ports}\n"), format!("{rules}\n")];
        let mut text: String = parts.iter().map(|part| sections[*part].clone()).collect();
        if !has_end {
            text.truncate(text.trim_end_matches('\n').len());
        }
        if is_crlf {
            text = text.replace('\n', "\r\n");
        }
        if has_mark { format!("\u{feff}{text}") } else { text }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let options = || proptest::sample::select(&["log-level", "dns-timeout", "connect-timeout"][..]);
    let ports = || proptest::sample::select(&["443", "22", "1-2", "8000-9000"][..]);
    let value = |key: &str| if key == "log-level" { "warn" } else { "5s" }.to_owned();
    prop_oneof![
        options().prop_map(move |key| Edit::Set {
            section: "options".into(),
            key: key.into(),
            value: value(key)
        }),
        options().prop_map(|key| Edit::Unset { section: "options".into(), key: key.into() }),
        (ports(), proptest::option::of(0..3_usize)).prop_map(|(item, before)| Edit::Add {
            section: "tunnel".into(),
            key: "ports".into(),
            item: item.into(),
            before
        }),
        ports().prop_map(|item| Edit::Remove {
            section: "tunnel".into(),
            key: "ports".into(),
            item: item.into()
        }),
        proptest::option::of(0..3_usize).prop_map(|before| Edit::AddRule {
            section: "https".into(),
            url: vec!["*://c.test/*".into()],
            options: vec![("intercept".into(), "true".into())],
            before
        }),
        Just(Edit::RemoveRule {
            section: "https".into(),
            index: 0,
            url: vec!["*://a.test/*".into()]
        }),
    ]
}

/// The length of the common beginning of two texts, and of the common end of the rest.
fn same(a: &str, b: &str) -> (usize, usize) {
    let start = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let most = a.len().min(b.len()) - start;
    let pairs = a.bytes().rev().zip(b.bytes().rev()).take(most);
    (start, pairs.take_while(|(a, b)| a == b).count())
}

/// The comments of a text in order, commented-out lines included.
fn comments(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.split_once('#'));
    lines.map(|(_, comment)| comment.trim_end().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    #[ignore = "slow"]
    fn an_edit_keeps_all_comments_and_changes_one_range(text in text(), edit in edit()) {
        let Ok(edited) = apply(&text, &edit) else { return Ok(()) };
        prop_assert_eq!(comments(&edited.text), comments(&text), "{}", edited.text);
        let (start, end) = same(&text, &edited.text);
        let gone = text.len() - start - end;
        // The removed text is at most one option or rule, and none in these texts is longer than
        // 100 bytes.
        prop_assert!(gone <= 100, "{gone} bytes of\n{text}\nfor\n{}", edited.text);
        prop_assert_eq!(text.contains("\r\n"), edited.text.contains("\r\n"));
        if text.contains("\r\n") {
            let lone = edited.text.replace("\r\n", "");
            prop_assert!(!lone.contains('\n'), "{:?}", edited.text);
        }
        prop_assert!(overview(&edited.text).is_ok());
    }

    #[test]
    fn setting_and_unsetting_an_option_restores_the_text(text in text()) {
        let (section, key) = ("options".to_owned(), "head-timeout".to_owned());
        // A section that becomes empty and has no comment is removed with its last option.
        let Some((_, below)) = text.split_once("[options]") else { return Ok(()) };
        if below.trim_start().is_empty() || below.trim_start().starts_with('[') {
            return Ok(());
        }
        let set = Edit::Set { section: section.clone(), key: key.clone(), value: "7s".into() };
        let edited = apply(&text, &set).unwrap();
        let told = overview(&edited.text).unwrap();
        let option = told.options.iter().find(|option| option.option.key == key).unwrap();
        prop_assert_eq!(option.value.as_deref(), Some("\"7s\""));
        prop_assert_eq!(option.line, Some(edited.line));
        let unset = apply(&edited.text, &Edit::Unset { section, key }).unwrap();
        prop_assert_eq!(unset.text, text);
    }

    #[test]
    fn removing_an_appended_rule_restores_the_text(text in text()) {
        let count = overview(&text).unwrap().rules.len();
        if count == 0 {
            return Ok(());
        }
        let (url, section) = (vec!["*://c.test/*".to_owned()], "https".to_owned());
        let rule = Rule { urls: url.clone(), options: Vec::new() };
        let add = Edit::AddRule {
            section: section.clone(), url: url.clone(), options: Vec::new(), before: None
        };
        let added = apply(&text, &add).unwrap();
        let told = overview(&added.text).unwrap();
        prop_assert_eq!(told.rules.len(), count + 1);
        prop_assert_eq!(&told.rules[count].rule, &rule);
        let remove = Edit::RemoveRule { section, index: count, url };
        prop_assert_eq!(apply(&added.text, &remove).unwrap().text, text);
    }
}
