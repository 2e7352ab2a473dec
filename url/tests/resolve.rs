//! References against their bases: every measured row of `data/resolve.jsonl`, under all four rule
//! sets.
//!
//! Intended differences are in `data/resolve-differences.txt`, each with its reason.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "rows that cannot be read must fail the test"
)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use wwwoffle_url::{Reference, ResolutionRules, ResolveError, resolve};

const ROWS: &str = include_str!("data/resolve.jsonl");
const DIFFERENCES: &str = include_str!("data/resolve-differences.txt");
const COLUMNS: [(ResolutionRules, &str); 4] = [
    (ResolutionRules::DraftFielding, "draft-fielding-02"),
    (ResolutionRules::Rfc3986, "rfc3986"),
    (ResolutionRules::DraftAbarth, "abarth-01"),
    (ResolutionRules::Browser, "whatwg"),
];

/// Our result in the notation of the file. A failure is `null`.
fn answer(base: &str, reference: &str, rules: ResolutionRules) -> Value {
    resolve(base, reference, rules).map_or(Value::Null, |found| found.to_string().into())
}

/// Column, base and reference of each difference, with our result.
fn differences() -> BTreeMap<[&'static str; 3], Value> {
    let rows = DIFFERENCES.lines().filter(|row| !row.starts_with('#'));
    let fields = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let known = fields.map(|fields| match fields[..] {
        [column, base, reference, ours, _reason] => {
            ([column, base, reference], serde_json::from_str(ours).unwrap())
        }
        _ => panic!("a difference has five fields: {fields:?}"),
    });
    known.collect()
}

/// Compares all rows of `text`. Returns the faults, including listed differences that did not
/// occur.
fn compare(text: &str) -> Vec<String> {
    let differences = differences();
    let mut unused: Vec<_> = differences.keys().collect();
    let mut wrong = Vec::new();
    for (number, row) in (1..).zip(text.lines()) {
        let row: Value = serde_json::from_str(row).unwrap();
        let (base, reference) = (row["base"].as_str().unwrap(), row["ref"].as_str().unwrap());
        for (rules, column) in COLUMNS {
            let (want, got) = (&row[column], answer(base, reference, rules));
            let key = [column, base, reference];
            unused.retain(|known| **known != key);
            match differences.get(&key) {
                Some(_) if got == *want => {
                    wrong.push(format!("{number}: {key:?} agrees now: strike it off the list"));
                }
                Some(ours) if got == *ours => {}
                None if got == *want => {}
                _ => wrong.push(format!("{number}: {key:?}\n  want {want}\n  got  {got}")),
            }
        }
    }
    wrong.extend(unused.iter().map(|key| format!("{key:?} is in no row: strike it off the list")));
    wrong
}

#[test]
fn every_measured_row_is_resolved() {
    let wrong = compare(ROWS);
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares the checked-in copy with its original, if the original exists.
#[test]
fn the_copy_of_the_rows_is_current() {
    let original = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors/resolve.jsonl");
    #[expect(clippy::disallowed_methods, reason = "a test may look at files outside the crate")]
    let Ok(text) = std::fs::read_to_string(original) else {
        println!("{original} is not there: nothing was compared");
        return;
    };
    assert!(text == ROWS, "tests/data/resolve.jsonl is no copy of {original}");
}

#[test]
fn an_unresolvable_reference_is_explained() {
    let long = "a".repeat(wwwoffle_url::MAX_REFERENCE + 1);
    let rows = [
        (
            "a/b",
            "c",
            ResolutionRules::Rfc3986,
            "the reference is relative, and the base has no scheme",
        ),
        (
            "",
            "c",
            ResolutionRules::DraftFielding,
            "the reference is relative, and the base has no scheme",
        ),
        (
            "mailto:a",
            "c",
            ResolutionRules::DraftAbarth,
            "the reference is relative, and the base is not hierarchical",
        ),
        (
            "",
            "c",
            ResolutionRules::DraftAbarth,
            "the reference is relative, and the base is not hierarchical",
        ),
        (
            "http://h/",
            &long,
            ResolutionRules::Rfc3986,
            "the text is 1048577 bytes long, above the limit of 1048576",
        ),
        ("a/b", "c", ResolutionRules::Browser, "a browser would refuse the base"),
        ("http://h/", "//x:y/", ResolutionRules::Browser, "a browser would refuse the reference"),
    ];
    for (base, reference, rules, want) in rows {
        let got = resolve(base, reference, rules).map_err(|error: ResolveError| error.to_string());
        assert_eq!(got.unwrap_err(), want);
    }
    // A reference that needs no base is resolved without one. draft-fielding-url-syntax-02 §5.2
    // requires this for an unknown base.
    for (rules, _) in COLUMNS {
        assert_eq!(resolve("", "x:y", rules).unwrap().url(), Some("x:y"));
    }
}

#[test]
fn a_path_never_becomes_an_authority() {
    let rows = [("y:/", "x:/a/..//b"), ("x:/a", ".//b"), ("x:/a/b", "..//b"), ("x:/a", "/.//b")];
    for (base, reference) in rows {
        for rules in [ResolutionRules::Rfc3986, ResolutionRules::Browser] {
            let resolved = resolve(base, reference, rules).unwrap();
            assert_eq!(resolved.url(), Some("x:/.//b"), "{base} {reference} {rules:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn splitting_and_joining_are_inverse(text in "[a:/?#@. ]{0,16}|\\PC*") {
        let reference = Reference::parse(&text);
        prop_assert_eq!(reference.to_string(), text.as_str());
    }

    #[test]
    fn a_resolved_url_is_its_own(base in "x:(//h)?[a/.]{0,8}", text in "[a:/?#.]{0,12}") {
        let resolved = resolve(&base, &text, ResolutionRules::Rfc3986).unwrap();
        let url = resolved.url().unwrap();
        // A path that was not copied from the base has no dot segments. So the URL resolves to
        // itself against any base.
        if Reference::parse(url).path != Reference::parse(&base).path {
            let again = resolve("y://z", url, ResolutionRules::Rfc3986).unwrap();
            prop_assert_eq!(again.url(), Some(url));
        }
    }
}
