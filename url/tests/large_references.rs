//! Long texts, built from the patterns at which a parser looks back. The test takes some seconds.
//! If any step were quadratic, it would take hours.

use std::hint::black_box;

use wwwoffle_url::{
    BrowserUrl, Grammar, MAX_REFERENCE, Reference, ResolutionRules, Uri, extract, parse_host,
    pdf_canonical, pdf_identifier, resolve,
};

const PIECES: &[&str] = &[
    "a",
    "/",
    "//",
    "../",
    "a/../",
    "./",
    "%2e%2e/",
    "\\",
    ":",
    "@",
    ":@",
    "a:",
    "[",
    "]",
    "[:",
    "?",
    "#",
    "&",
    "=",
    "a=b&",
    ";",
    ".",
    "0.",
    "0x",
    "%",
    "%41",
    "%zz",
    "<",
    ">",
    "\"",
    "<http://",
    "\"http://",
    "<http://a-\n",
    "URL:",
    "URL: ",
    "http://",
    "http://(",
    "x://)",
    ")",
    "\n",
    " ",
    "\t",
    "-",
    "C:/",
    "C|",
    "\u{e9}",
    "\u{e9}.",
    "xn--a.",
    "\u{300}",
    "\u{1d165}\u{1d16e}",
    "\u{5d0}",
    "\u{0}",
    "a.http://",
];

const FRAMES: &[(&str, &str)] = &[
    ("", ""),
    ("http://h/", ""),
    ("http://", "/"),
    ("http://", "@h/"),
    ("x://", ""),
    ("x:", "?q"),
    ("file://", ""),
    ("file:///C:/", ""),
    ("mailto:", ""),
    ("http://[", "]/"),
    ("http://h:", "/"),
    ("//", ""),
    ("?", ""),
    ("#", ""),
    ("<URL:http://h/", ">"),
];

/// Runs all parsers on a text of `size` bytes; each must return.
fn answer(before: &str, piece: &str, after: &str, size: usize) {
    let room = size - before.len() - after.len();
    let text = format!("{before}{}{after}", piece.repeat(room / piece.len()));
    assert_eq!(Reference::parse(&text).to_string(), text);
    for rules in
        [ResolutionRules::DraftFielding, ResolutionRules::Rfc3986, ResolutionRules::Browser]
    {
        for base in ["http://u:p@h:81/a/b?q", "file:///C:/a", "x:/a"] {
            black_box(resolve(base, &text, rules).is_ok());
        }
        black_box(resolve(&text, "../../a", rules).is_ok());
    }
    if let Ok(uri) = Uri::parse_reference(&text, Grammar::Relaxed) {
        let fields = uri.decode_fields();
        assert_eq!(fields.encode().map(|uri| uri.decode_fields()), Ok(fields));
    }
    if let Ok(canonical) = pdf_canonical(&text, Some("http://h/")) {
        black_box(pdf_identifier(&canonical, None));
    }
    black_box(extract(&text).count());
    black_box((parse_host(&text, true).is_ok(), parse_host(&text, false).is_ok()));
}

#[test]
#[ignore = "slow"]
fn every_parser_handles_long_texts() {
    for piece in PIECES {
        for (before, after) in FRAMES {
            answer(before, piece, after, MAX_REFERENCE / 64);
        }
    }
}

#[test]
#[ignore = "slow"]
fn every_parser_handles_the_longest_texts() {
    for piece in ["a/../", "@", "<http://a-\n", "URL: ", "http://(", "a=b&", "\u{e9}."] {
        answer("http://", piece, "/", MAX_REFERENCE);
    }
}

#[test]
fn a_longer_text_is_refused() {
    let text = "a".repeat(MAX_REFERENCE + 1);
    assert!(BrowserUrl::parse(&text, None).is_err());
    assert!(Uri::parse_reference(&text, Grammar::Strict).is_err());
    assert!(pdf_canonical(&text, None).is_err());
    assert!(resolve("http://h/", &text, ResolutionRules::Rfc3986).is_err());
}
