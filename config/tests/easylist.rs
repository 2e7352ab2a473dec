//! Browser rule lists in `[dont-get]`.
#![cfg(feature = "easylist")]
#![expect(clippy::disallowed_methods, reason = "the tests write the lists that are read")]

use proptest::prelude::*;
use std::{fs, path::Path};
use tempfile::TempDir;
use wwwoffle_config::{
    BlockQuery, BlockVerdict, Config, Faults, PageRelation, RequestPurpose, UrlParts,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

const LIST: &str = "\
[Adblock Plus 2.0]
! Title: a list
||ads.test^
||track.test^$third-party
/banner/*
@@||shop.test/banner/own^
-pixel.$image
||cdn.test^$script,domain=news.test|blog.test
/promo[0-9]+\\./
example.test##.ad
@@||ads.test/about^
||odd.test^$no-such-option
";

/// A directory with lists, and a configuration with these entries.
fn written(urls: &str, lists: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let config = format!("[dont-get]\nurls = [{urls}]\n");
    fs::write(dir.path().join("w.conf"), config).expect("it is written");
    for (name, text) in lists {
        fs::write(dir.path().join(name), text).expect("it is written");
    }
    dir
}

fn load(dir: &TempDir) -> Result<Config, Faults> {
    Config::load(&dir.path().join("w.conf"))
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &LocalHost::default()).expect("a URL")
}

/// The deciding entry, as `file:line rule`.
fn decided(config: &Config, asked: &BlockQuery<'_>) -> Option<String> {
    config.dont_get.urls.decide(asked).map(|by| {
        let name =
            by.location().file().file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{name}:{} {by}{}", by.location().line(), if by.blocks() { "" } else { " excepts" })
    })
}

#[test]
fn a_rule_decides_with_its_file_and_line() {
    let dir = written("{ easylist = \"easy.txt\" }", &[("easy.txt", LIST)]);
    let config = load(&dir).unwrap();
    let page = Some("http://www.page.test/");
    for (asked, page, purpose, want) in [
        ("http://ads.test/x", None, RequestPurpose::Other, Some("easy.txt:3 ||ads.test^")),
        ("https://www.ads.test:8443/", page, RequestPurpose::Image, Some("easy.txt:3 ||ads.test^")),
        (
            "http://ads.test/about",
            None,
            RequestPurpose::Page,
            Some("easy.txt:11 @@||ads.test/about^ excepts"),
        ),
        ("http://bads.test/", None, RequestPurpose::Other, None),
        (
            "http://track.test/",
            page,
            RequestPurpose::Script,
            Some("easy.txt:4 ||track.test^$third-party"),
        ),
        ("http://track.test/", Some("http://www.track.test/"), RequestPurpose::Script, None),
        ("http://track.test/", None, RequestPurpose::Page, None),
        (
            "http://a.test/x/Banner/y.gif?z",
            None,
            RequestPurpose::Image,
            Some("easy.txt:5 /banner/*"),
        ),
        (
            "http://shop.test/banner/own/",
            None,
            RequestPurpose::Image,
            Some("easy.txt:6 @@||shop.test/banner/own^ excepts"),
        ),
        (
            "http://a.test/a-pixel.gif",
            page,
            RequestPurpose::Image,
            Some("easy.txt:7 -pixel.$image"),
        ),
        ("http://a.test/a-pixel.gif", page, RequestPurpose::Data, None),
        (
            "http://cdn.test/a.js",
            Some("https://www.news.test/x"),
            RequestPurpose::Script,
            Some("easy.txt:8 ||cdn.test^$script,domain=news.test|blog.test"),
        ),
        ("http://cdn.test/a.js", page, RequestPurpose::Script, None),
        (
            "http://a.test/promo12.gif",
            None,
            RequestPurpose::Other,
            Some("easy.txt:9 /promo[0-9]+\\./"),
        ),
        ("http://example.test/", None, RequestPurpose::Page, None),
        ("http://odd.test/", None, RequestPurpose::Page, None),
        ("ftp://ads.test/x", None, RequestPurpose::Other, None),
    ] {
        let (parsed, page) = (url(asked), page.map(url));
        let parts = UrlParts::of(&parsed);
        let request = BlockQuery { page: page.as_ref(), purpose, ..BlockQuery::of(&parts) };
        assert_eq!(decided(&config, &request).as_deref(), want, "{asked}");
    }
}

#[test]
fn sec_fetch_site_precedes_host_names() {
    let dir = written("{ easylist = \"easy.txt\" }", &[("easy.txt", LIST)]);
    let config = load(&dir).unwrap();
    let (parsed, page) = (url("http://track.test/"), url("http://page.test/"));
    let parts = UrlParts::of(&parsed);
    for (site, page, want) in [
        (Some(PageRelation::Cross), None, true),
        (Some(PageRelation::Near), Some(&page), false),
        (Some(PageRelation::Same), None, false),
        (None, Some(&page), true),
    ] {
        let asked = BlockQuery { page, site, ..BlockQuery::of(&parts) };
        assert_eq!(config.dont_get.urls.blocks(&asked).is_some(), want, "{site:?}");
    }
}

#[test]
fn the_first_entry_that_matches_decides() {
    let hosts = "0.0.0.0 ads.test shop.test\n";
    let lists =
        [("easy.txt", LIST), ("hosts", hosts), ("more.txt", "@@||ads.test/ok^\n||more.test^\n")];
    let easy = "{ easylist = \"easy.txt\" }";
    let more = "{ easylist = \"more.txt\" }";
    for (urls, asked, want) in [
        (
            format!("\"!*://ads.test/a\", {easy}"),
            "http://ads.test/a",
            "w.conf:2 !*://ads.test/a excepts",
        ),
        (format!("{easy}, \"!*://ads.test/a\""), "http://ads.test/a", "easy.txt:3 ||ads.test^"),
        (
            format!("{easy}, {{ hosts = \"hosts\" }}"),
            "http://shop.test/",
            "hosts:1 *://shop.test/*",
        ),
        // An exception decides only if it cancels a rule of its own list.
        (
            format!("{easy}, {{ hosts = \"hosts\" }}"),
            "http://ads.test/about",
            "easy.txt:11 @@||ads.test/about^ excepts",
        ),
        (
            format!("{more}, {{ hosts = \"hosts\" }}"),
            "http://ads.test/ok",
            "hosts:1 *://ads.test/*",
        ),
        // Consecutive lists count as one list, also for exceptions.
        (format!("{easy}, {more}"), "http://ads.test/ok", "more.txt:1 @@||ads.test/ok^ excepts"),
        (format!("{easy}, {more}"), "http://more.test/", "more.txt:2 ||more.test^"),
        (
            format!("{easy}, \"*://a.test/*\", {more}"),
            "http://ads.test/ok",
            "easy.txt:3 ||ads.test^",
        ),
    ] {
        let dir = written(&urls, &lists);
        let config = load(&dir).unwrap();
        let parsed = url(asked);
        let parts = UrlParts::of(&parsed);
        assert_eq!(
            decided(&config, &BlockQuery::of(&parts)).as_deref(),
            Some(want),
            "{urls} {asked}"
        );
    }
}

#[test]
fn unreadable_rules_are_noted_and_an_unreadable_file_is_a_fault() {
    let entry = "{ easylist = \"easy.txt\" }";
    let dir = written(entry, &[("easy.txt", LIST)]);
    let file = dir.path().join("easy.txt");
    let notes = |config: &Config| -> Vec<String> {
        config.dont_get.urls.notes().map(ToString::to_string).collect()
    };
    let want = format!(
        "{}:12: 1 of 10 rules cannot be parsed and are ignored; the first is \
         \"||odd.test^$no-such-option\"",
        file.display()
    );
    assert_eq!(notes(&load(&dir).unwrap()), [want]);

    fs::write(&file, "[Adblock Plus 2.0]\n! nothing yet\n").unwrap();
    assert_eq!(notes(&load(&dir).unwrap()), [""; 0]);

    fs::write(&file, "<!doctype html>\n<html lang=\"en\">\n<body>\nfound nothing\n").unwrap();
    let told = load(&dir).unwrap_err().to_string();
    let want = format!(
        "{}:1: this is not a list in the format of EasyList: 4 of 4 lines are not rules, the first is \
         \"<!doctype html>\"; for a list in the format of /etc/hosts write {{ hosts = \"…\" }}",
        file.display()
    );
    assert_eq!(told, want);

    fs::write(&file, b"||a.test^\n\xff\xfe").unwrap();
    let told = load(&dir).unwrap_err().to_string();
    assert!(told.contains("not UTF-8: the first invalid byte is in line 2"), "{told}");
    fs::remove_file(&file).unwrap();
    let told = load(&dir).unwrap_err().to_string();
    assert!(told.contains("there is no such file") && told.contains("easylist"), "{told}");
}

#[test]
fn only_dont_get_accepts_filter_rules() {
    for text in [
        "[dont-cache]\nurls = [{ easylist = \"e\" }]",
        "[[dont-get.for]]\nurl = [{ easylist = \"e\" }]\nreplacement = \"/x\"",
        "[dont-get]\nurls = [{ easylist = \"\" }]",
        "[dont-get]\nurls = [{ easylist = \"e\", file = \"f\" }]",
        "[dont-get]\nurls = [{ easylist = 1 }]",
    ] {
        assert!(Config::parse(text, Path::new("w.conf")).is_err(), "{text}");
    }
}

#[test]
fn the_matching_rule_of_a_url_is_reported() {
    let dir = written("{ easylist = \"easy.txt\" }", &[("easy.txt", LIST)]);
    let config = load(&dir).unwrap();
    let told = config.explain(&url("http://ads.test/x"));
    let urls = told.iter().find(|told| (told.section, told.key) == ("dont-get", "urls")).unwrap();
    assert_eq!(urls.value, "\"||ads.test^\"");
    assert_eq!(urls.location.as_ref().unwrap().line(), 3);
    let same = load(&dir).unwrap();
    assert_eq!(config, same);
    fs::write(dir.path().join("easy.txt"), "||ads.test^\n").unwrap();
    assert_ne!(config, load(&dir).unwrap());
}

#[test]
fn concurrent_lookups_agree() {
    let dir = written("{ easylist = \"easy.txt\" }", &[("easy.txt", LIST)]);
    let config = load(&dir).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..500 {
                    let parsed = url(&format!("http://ads.test/promo{number}"));
                    let parts = UrlParts::of(&parsed);
                    let by = config.dont_get.urls.matches_parts(&parts);
                    assert!(matches!(by, Some(BlockVerdict::Rule(_))));
                }
            });
        }
    });
}

/// Pieces of rules, and pieces that belong in no rule.
fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "||",
        "|",
        "@@",
        "^",
        "*",
        "/",
        "//",
        "$",
        ",",
        "=",
        "~",
        "##",
        "#@#",
        "$$",
        "domain=",
        "a.test",
        "third-party",
        "script",
        "important",
        "badfilter",
        "redirect=x",
        "removeparam=x",
        "csp=",
        "to=",
        "match-case",
        "document",
        "method=get",
        "tag=x",
        "all",
        "http://",
        "ws://",
        "http*://",
        "[",
        "]",
        "(",
        ")",
        "{2}",
        "\\",
        "\\d",
        "+",
        "?",
        ".",
        " ",
        "\u{e4}",
        "\u{130}",
        "xn--",
        ":",
        "%",
        "\u{0}",
        "ads",
        "-",
    ]);
    let piece = prop_oneof![8 => known.prop_map(str::to_owned), 1 => ".{0,4}"];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No list makes the engine panic, neither in parsing nor in deciding.
    #[test]
    #[ignore = "slow"]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec(pieces(), 0..12),
        path in "[ -~]{0,24}",
        host in prop::sample::select(vec!["a.test", "www.a.test", "ads.a.test", "10.0.0.1", "[::1]", "a"]),
    ) {
        // Most lines are rules, so that few lists are refused.
        let text = format!("{}\n{}", lines.join("\n"), "||b.test^\n".repeat(12));
        let dir = written("{ easylist = \"easy.txt\" }", &[("easy.txt", &text)]);
        let config = load(&dir).unwrap();
        let Ok(parsed) = CanonicalUrl::parse(&format!("http://{host}/{path}"), &LocalHost::default()) else {
            return Ok(());
        };
        let (parts, page) = (UrlParts::of(&parsed), url("http://www.a.test/"));
        for purpose in [RequestPurpose::Page, RequestPurpose::Script, RequestPurpose::Other] {
            let asked = BlockQuery { page: Some(&page), purpose, ..BlockQuery::of(&parts) };
            if let Some(by) = config.dont_get.urls.decide(&asked) {
                // The deciding entry is a line of the list.
                let line = text.lines().nth(by.location().line() - 1).unwrap();
                prop_assert_eq!(line.trim(), by.to_string());
            }
        }
        // After a panic the engine would no longer decide.
        let last = url("http://b.test/");
        let decided = config.dont_get.urls.decide(&BlockQuery::of(&UrlParts::of(&last)));
        prop_assert!(decided.is_some(), "{}", text);
    }
}
