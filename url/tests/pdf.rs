//! The canonical URL string of the PDF Reference.

use proptest::prelude::*;
use serde_json::Value;
use wwwoffle_url::{MAX_REFERENCE, PdfError, pdf_canonical, pdf_identifier};

#[test]
fn each_parsing_step_is_applied() {
    let rows = [
        // 2: the leftmost `#` and the text after it are removed.
        ("http://h/a#b#c", "http://h/a"),
        // 3 and 4: scheme and host.
        ("HtTp://User:PW@HOST/Path?Query", "http://User:PW@host/Path?Query"),
        ("http://\u{c9}X/", "http://\u{c9}x/"),
        // 5: `localhost` is removed only in a file URL.
        ("file://LocalHost/a", "file:///a"),
        ("file:///a", "file:///a"),
        ("file:/a/../b", "file:/b"),
        ("http://localhost/a", "http://localhost/a"),
        // 6: only the default port of the scheme is removed.
        ("http://h:80/", "http://h/"),
        ("http://h:0080/", "http://h/"),
        ("ftp://h:21/", "ftp://h/"),
        ("https://h:443/", "https://h/"),
        ("http://h:21/", "http://h:21/"),
        ("gopher://h:80/", "gopher://h:80/"),
        ("http://h:/", "http://h:/"),
        ("http://h:+80/", "http://h:+80/"),
        ("http://[::80]/", "http://[::80]/"),
        ("http://h:80:80/", "http://h:80:80/"),
        ("http://[::1]:80/", "http://[::1]/"),
        // 7: dot segments are removed only in the path, as RFC 1808 splits it.
        ("http://h/a/./b/../c/..", "http://h/a/"),
        ("http://h/../a", "http://h/../a"),
        ("http://h/a;b/../c?d/../e", "http://h/a;b/../c?d/../e"),
        // Escapes stay unchanged, and no escape is added.
        ("http://h/%7e%2e%2E/ \u{e9}%", "http://h/%7e%2e%2E/ \u{e9}%"),
        ("http://h", "http://h"),
        ("http://h?a:b/../c", "http://h?a:b/../c"),
        ("x:/a/..//b", "x:/.//b"),
        ("mailto:A@B/../c", "mailto:A@B/../c"),
    ];
    for (url, want) in rows {
        assert_eq!(pdf_canonical(url, None).as_deref(), Ok(want), "{url}");
        assert_eq!(pdf_canonical(want, None).as_deref(), Ok(want), "{want} is not stable");
    }
}

/// Step 1, compared with the measured column. The relative URL may be resolved before or inside the
/// function.
#[test]
fn relative_urls_are_resolved_as_rfc_1808_says() {
    let mut wrong = Vec::new();
    for row in include_str!("data/resolve.jsonl").lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let text = |column: &str| row[column].as_str().unwrap();
        let (base, reference) = (text("base"), text("ref"));
        let got = pdf_canonical(reference, Some(base));
        let mut want = pdf_canonical(text("rfc1808"), None);
        if base == "http://www.example.com" && reference.starts_with(['g', '.', ';']) {
            // By the wording of the RFC, the path would become part of the host. We add a slash.
            assert_ne!(got, want, "{reference} agrees now");
            want = pdf_canonical(reference, Some("http://www.example.com/"));
        }
        if got != want {
            wrong.push(format!("{base} {reference}\n  want {want:?}\n  got  {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows\n{}", wrong.len(), wrong.join("\n"));
}

/// Regression test for a fault that the fuzz target found: parameters became part of the host, in
/// lower case.
#[test]
fn parameters_never_become_a_host() {
    assert_eq!(pdf_canonical(";C", Some("k://h")).as_deref(), Ok("k://h/;C"));
    assert_eq!(pdf_canonical(";C", Some("k:")).as_deref(), Ok("k:;C"));
}

#[test]
fn a_url_without_canonical_form_is_explained() {
    assert_eq!(pdf_canonical("a", None), Err(PdfError::Relative));
    assert_eq!(pdf_canonical("a", Some("/b")), Err(PdfError::Relative));
    let long = "a".repeat(MAX_REFERENCE + 1);
    assert_eq!(pdf_canonical(&long, None), Err(PdfError::TooLong(MAX_REFERENCE + 1)));
    assert_eq!(pdf_canonical("a", Some(&long)), Err(PdfError::TooLong(MAX_REFERENCE + 1)));
}

#[test]
fn the_identifier_is_md5() {
    assert_eq!(pdf_identifier("", None), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(pdf_identifier("ab", Some(b"c")), "900150983cd24fb0d6963f7d28e17f72");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_string_is_idempotent(url in "(http:|FILE:|x:)?(//)?(H|@|:80|:|\\[|\\]|/|\\.|;|\\?|#|localhost){0,12}") {
        if let Ok(canonical) = pdf_canonical(&url, Some("ftp://h/a/b;c?d")) {
            prop_assert_eq!(pdf_canonical(&canonical, None), Ok(canonical));
        }
    }
}
