//! The canonical form: a table, and properties of every text.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use wwwoffle_url::{CanonicalUrl, LocalHost};

fn local() -> LocalHost {
    LocalHost::new(&["localhost", "127.0.0.1", "proxy.lan"], 8080, Some(8443)).unwrap()
}

/// Decodes `\xHH`.
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, piece) in text.split("\\x").enumerate() {
        let (code, rest) = if i == 0 { ("", piece) } else { piece.split_at(2) };
        out.extend(u8::from_str_radix(code, 16).ok());
        out.extend(rest.bytes());
    }
    out
}

#[test]
fn table() {
    let mut faults = Vec::new();
    for line in include_str!("canonical.txt").lines() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        let (given, expected) = line.split_once("=> ").unwrap();
        let given = bytes(given.strip_suffix(' ').unwrap_or(given));
        let found = match CanonicalUrl::parse_bytes(&given, &local()) {
            Ok(url) => url.to_string(),
            Err(error) => format!("! {error}"),
        };
        let fits = match expected.strip_prefix("! ") {
            Some(word) => found.starts_with("! ") && found.contains(word),
            None => found == expected,
        };
        if !fits {
            faults.push(format!("{line}\n    found {found}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_url_of_a_form_response_is_recognized() {
    for (url, want) in [
        ("http://a/?!POST:00ff", true),
        ("http://a/?!b=c!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11", true),
        ("http://a/?!PUT:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11", true),
        ("http://a/?!PATCH:00ff", true),
        ("http://a/?!DELETE:00ff", true),
        ("http://a/?b=POST:c", false),
        ("http://a/?!POST:c!d", false),
        ("http://a/!POST:x", false),
        ("http://a/", false),
    ] {
        let parsed = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        assert_eq!(parsed.is_form_answer(), want, "{url}");
    }
}
