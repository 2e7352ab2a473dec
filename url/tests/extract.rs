//! URLs in running text. Each row has a text and the URLs in it.

use proptest::prelude::*;
use wwwoffle_url::{ExtractedUrl, MAX_ENCLOSED, extract};

const ROWS: &[(&str, &[&str])] = &[
    // The wrappers of the appendix.
    ("see \"http://test.com/\" there", &["http://test.com/"]),
    ("see <http://test.com/> there", &["http://test.com/"]),
    ("see\nhttp://test.com/\nthere", &["http://test.com/"]),
    ("[http://test.com/]", &["http://test.com/"]),
    ("{http://test.com}", &["http://test.com"]),
    ("(http://test.com)", &["http://test.com"]),
    ("'http://test.com'", &["http://test.com"]),
    ("`http://test.com`", &["http://test.com"]),
    // The prefix.
    ("URL:http://a/ URL: http://b/ url:\n http://c/", &["http://a/", "http://b/", "http://c/"]),
    (
        "<URL:http://a/> <URL: http://b/> \"URL: http://c/\"",
        &["http://a/", "http://b/", "http://c/"],
    ),
    ("URL:<http://a/> URL: \"http://b/\"", &["http://a/", "http://b/"]),
    ("(URL:gopher:x)", &["gopher:x"]),
    ("<URL:x:y>", &["x:y"]),
    ("curl:http://a/", &["http://a/"]),
    ("curl:x", &[]),
    ("URL: none", &[]),
    ("URL:", &[]),
    // Line breaks and white space.
    ("<http://a/b\n   c/d>", &["http://a/bc/d"]),
    ("<  http://a/b \t c  >", &["http://a/bc"]),
    ("\"http://a/b\r\n  c\"", &["http://a/bc"]),
    ("\"http://a/b is down\"", &["http://a/b"]),
    ("\"http://a/b \"", &["http://a/b"]),
    ("he said \"yes\" http://a/b. \"no\"", &["http://a/b"]),
    ("http://a/b\nc", &["http://a/b"]),
    // Punctuation and brackets.
    ("http://a/b. http://a/b, http://a/b; http://a/b: http://a/b! http://a/b?", &["http://a/b"; 6]),
    ("http://a/b... (see http://a/b).", &["http://a/b", "http://a/b"]),
    ("http://a/b_(c) (http://a/b_(c))", &["http://a/b_(c)", "http://a/b_(c)"]),
    ("http://[::1]/ [http://[::1]]", &["http://[::1]/", "http://[::1]"]),
    ("http://a/b?c=d&e;f!g'h#i/j?k", &["http://a/b?c=d&e;f!g'h#i/j?k"]),
    ("\"http://a/b.\"", &["http://a/b."]),
    (
        "http://a/b\u{2026} \u{201c}http://a/c\u{201d} \u{300c}http://a/d\u{300d}",
        &["http://a/b", "http://a/c", "http://a/d"],
    ),
    ("http://a/\u{e9}\u{65e5}", &["http://a/\u{e9}\u{65e5}"]),
    ("\u{65e5}\u{672c}http://a/", &["http://a/"]),
    // URLs, and words that contain a colon but are no URLs.
    ("note: this:that std::io a:b 12:30 C:/x", &[]),
    ("mailto:a@b.c, news:comp.x. <mailto:a@b.c>", &["mailto:a@b.c", "news:comp.x", "mailto:a@b.c"]),
    ("news: today", &[]),
    ("http:// http://. <http://", &[]),
    ("<http://> \"http:// \" <URL:x:/> URL:x:?", &[]),
    ("file:///etc/hosts", &["file:///etc/hosts"]),
    ("git+ssh://h/x", &["git+ssh://h/x"]),
    ("The end.http://h/", &["http://h/"]),
    ("1http://h/ -http://h/", &["http://h/"]),
    ("http://a/http://b/", &["http://a/http://b/"]),
    // Markup, for which this function is not intended.
    ("<a href=\"http://a/\">http://b/</a>", &["http://a/", "http://b/"]),
    ("<xs:element name=\"x\">", &[]),
    ("<http://a/ x=\"y\">", &["http://a/"]),
    ("<http://a/ <http://b/>", &["http://a/", "http://b/"]),
    ("", &[]),
];

#[test]
fn urls_are_found_in_running_text() {
    for (text, want) in ROWS {
        let found: Vec<ExtractedUrl> = extract(text).collect();
        let urls: Vec<&str> = found.iter().map(|found| found.url.as_str()).collect();
        assert_eq!(urls, *want, "{text:?}");
        for found in found {
            let there: String = text[found.span].split_whitespace().collect();
            assert_eq!(there, found.url, "{text:?}");
        }
    }
}

#[test]
fn a_hyphen_at_a_line_break_is_in_doubt() {
    let rows = [
        ("<http://a/b-\nc>", "http://a/b-c", Some("http://a/bc")),
        ("<http://a/b-\n  c-\r\nd-e>", "http://a/b-c-d-e", Some("http://a/bcd-e")),
        ("<http://a/b- c>", "http://a/b-c", None),
        ("<http://a/b-c>", "http://a/b-c", None),
        ("<http://a/b-\n>", "http://a/b-", None),
        ("\"http://a/b-\nc\"", "http://a/b-c", Some("http://a/bc")),
    ];
    for (text, url, unhyphenated) in rows {
        let found = extract(text).next().unwrap();
        assert_eq!((found.url.as_str(), found.unhyphenated.as_deref()), (url, unhyphenated));
    }
}

#[test]
fn a_far_bracket_is_no_delimiter() {
    let text = format!("<http://a/b{}>", "\n".repeat(MAX_ENCLOSED));
    let found = extract(&text).next().unwrap();
    assert_eq!((found.url.as_str(), found.span), ("http://a/b", 1..11));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_in_order_and_in_the_text(text in "(http|URL|x|:|//|<|>|\"|[a -~é\n]|\\PC){0,24}") {
        let mut end = 0;
        for found in extract(&text) {
            prop_assert!(end <= found.span.start && found.span.start < found.span.end);
            end = found.span.end;
            let there = &text[found.span];
            prop_assert_eq!(there.trim(), there);
            prop_assert_eq!(there.split_whitespace().collect::<String>(), found.url);
        }
    }
}
