//! URL-SPECIFICATIONs against URLs: by table, and against a matcher that tries every possibility.

use proptest::prelude::*;
use std::path::Path;
use wwwoffle_config::{Config, ParseSpecError, UrlParts, UrlSpec, UrlSpecSet};
use wwwoffle_url::{CanonicalUrl, LocalHost};

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &LocalHost::default()).expect(text)
}

/// A list of specifications, parsed from a configuration.
fn set(specs: &[String]) -> UrlSpecSet {
    let text = format!("[offline-options]\nshipped-noise = false\nnoise = {specs:?}");
    Config::parse(&text, Path::new("test.conf")).expect("a list").offline_options.noise
}

#[test]
fn patterns_match_as_the_table_says() {
    let (mut rule, mut wrong) = ("", Vec::new());
    for (number, row) in (1..).zip(include_str!("specs.txt").lines()) {
        rule = row.strip_prefix("# ").unwrap_or(rule);
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let columns: Vec<_> = row.split_whitespace().collect();
        let [spec, given, want @ ("yes" | "no")] = columns[..] else { panic!("no row: {row}") };
        let spec = UrlSpec::parse(spec).expect(spec);
        let again = UrlSpec::parse(&spec.to_string());
        if spec.matches(&url(given)) != (want == "yes") || again != Ok(spec) {
            wrong.push(format!("specs.txt:{number}: {rule}\n  {row}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_invalid_pattern_is_refused_with_the_reason() {
    for (text, want) in [
        ("", ParseSpecError::NoProtocol),
        ("www.example.org", ParseSpecError::NoProtocol),
        ("://h/", ParseSpecError::Protocol),
        ("1http://h/", ParseSpecError::Protocol),
        ("ht*tp://h/", ParseSpecError::Protocol),
        ("~!http://h/", ParseSpecError::Protocol),
        ("http:///a", ParseSpecError::NoHost),
        ("http://:80/", ParseSpecError::NoHost),
        ("http://h%/", ParseSpecError::Host),
        ("http://a,b*/", ParseSpecError::Host),
        ("http://b*ü/", ParseSpecError::Host),
        ("http://h:0/", ParseSpecError::Port),
        ("http://h:65536/", ParseSpecError::Port),
        ("http://h:+1/", ParseSpecError::Port),
        ("http://h:*/", ParseSpecError::Port),
        ("http://me@h/", ParseSpecError::User),
        ("http://h/a b", ParseSpecError::Space),
        ("http://h/a\u{7}", ParseSpecError::Space),
        ("http://h/#a", ParseSpecError::Fragment),
        (&format!("http://h/{}", "a".repeat(1 << 16)), ParseSpecError::Length),
    ] {
        assert_eq!(UrlSpec::parse(text), Err(want), "{text:?}");
    }
}

#[test]
fn the_first_that_matches_decides() {
    let specs = [
        "!*://www.example.org/keep/*",
        "*://*.example.org/*",
        "*://plain.test/*",
        "!*://*/*.css",
        "*://*test/*",
        "*://ad*.example.com/*",
    ];
    let set = set(&specs.map(str::to_owned));
    for (given, decided, meant) in [
        ("http://www.example.org/", Some(1), true),
        ("http://www.example.org/keep/a", Some(0), false),
        ("http://plain.test/a.css", Some(2), true),
        ("http://other.test/a.css", Some(3), false),
        ("http://other.test/", Some(4), true),
        ("http://test/", Some(4), true),
        ("http://ads.example.com/", Some(5), true),
        ("http://www.example.com/", None, false),
        ("http://example.org/", None, false),
    ] {
        let url = url(given);
        let listed = set.decide(&UrlParts::of(&url)).map(|listed| listed.spec().to_string());
        assert_eq!(listed.as_deref(), decided.map(|number: usize| specs[number]), "{given}");
        assert_eq!(set.matches(&url).is_some(), meant, "{given}");
    }
}

/// Tries every way to match a star.
fn wild(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', after)), _) if wild(after, text) => true,
        (Some((b'*', _)), Some((_, rest))) => wild(pattern, rest),
        (Some((a, after)), Some((b, rest))) => a == b && wild(after, rest),
        _ => false,
    }
}

/// Whether `spec` matches `url`. A reference that applies the rules directly, part by part.
fn naive(spec: &str, url: &CanonicalUrl) -> bool {
    let spec = spec.trim_start_matches('!');
    let ignore_case = spec.starts_with('~');
    let fold = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let wild = |pattern: &str, text: &str| wild(fold(pattern).as_bytes(), fold(text).as_bytes());
    let (protocol, rest) = spec.trim_start_matches('~').split_once("://").expect("a protocol");
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(at);
    let (host, port) = authority.split_once(':').map_or((authority, None), |(h, p)| (h, Some(p)));
    let (path, arguments) = rest.split_once('?').map_or((rest, None), |(p, a)| (p, Some(a)));
    let port_is = |port: &str| match port {
        "" => url.port().is_none(),
        port => url.port_or_default().is_some_and(|of_url| of_url.to_string() == port),
    };
    (protocol == "*" || protocol == url.protocol())
        && wild(host, url.host())
        && port.is_none_or(port_is)
        && (path.is_empty()
            || wild(path, url.path())
            || (path.starts_with("/*/") && wild(&path[2..], url.path())))
        && match (arguments, url.arguments()) {
            (None, _) | (Some(""), None) => true,
            (Some(""), Some(_)) | (Some(_), None) => false,
            (Some(pattern), Some(arguments)) => wild(pattern, arguments),
        }
}

const SPEC: &str =
    r"!?~?(\*|http)://[ab*]{1,3}(\.[ab*]{1,2})?(:(81|80)?)?((/[abA*]{0,2}){1,3})?(\?[ab=*]{0,3})?";
const URL: &str = r"https?://[ab]{1,3}(\.[ab]{1,2})?(:81)?(/[abA]{0,2}){1,3}(\?[ab=]{0,3})?";

/// Patterns and URLs long enough for the index to use different keys, and similar enough to match
/// sometimes.
const LONGER_SPEC: &str =
    r"!?~?\*://(\*|a\.test|\*\.test|\*test|a\*|a\*test)(/[abA*]{0,6}){0,2}(\?[ab*]{0,6})?";
const LONGER_URL: &str = r"http://(a|b|ab)\.test(/[abA]{0,9}){1,2}(\?[ab]{0,9})?";

proptest! {
    #[test]
    fn a_pattern_agrees_with_the_naive_one(spec in SPEC, text in URL) {
        let url = url(&text);
        let parsed = UrlSpec::parse(&spec).unwrap();
        prop_assert_eq!(parsed.matches(&url), naive(&spec, &url));
        prop_assert_eq!(parsed.negated(), spec.starts_with('!'));
    }

    #[test]
    #[ignore = "slow"]
    fn a_list_agrees_with_trying_each(specs in prop::collection::vec(SPEC, 0..12), text in URL) {
        let url = url(&text);
        let set = set(&specs);
        let want = specs.iter().position(|spec| naive(spec, &url));
        let want = want.map(|number| UrlSpec::parse(&specs[number]).unwrap());
        prop_assert_eq!(set.decide(&UrlParts::of(&url)).map(|listed| listed.spec().clone()), want);
    }

    #[test]
    #[ignore = "slow"]
    fn a_long_list_agrees_with_trying_each(
        specs in prop::collection::vec(LONGER_SPEC, 0..80),
        text in LONGER_URL,
    ) {
        let url = url(&text);
        let set = set(&specs);
        let want = specs.iter().position(|spec| naive(spec, &url));
        let want = want.map(|number| UrlSpec::parse(&specs[number]).unwrap());
        prop_assert_eq!(set.decide(&UrlParts::of(&url)).map(|listed| listed.spec().clone()), want);
    }

    #[test]
    fn a_displayed_pattern_round_trips(text in r"!?~?(\*|ftp)://[*a-zA-Z.]{1,9}(:[0-9]{0,3})?[/?].{0,20}") {
        if let Ok(spec) = UrlSpec::parse(&text) {
            prop_assert_eq!(UrlSpec::parse(&spec.to_string()), Ok(spec));
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in r".{0,40}") {
        let _ = UrlSpec::parse(&text);
    }
}
