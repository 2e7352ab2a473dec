//! URLs as browsers read them: a table for each state, and crate `url` as an oracle for random
//! text.

use proptest::prelude::*;
use wwwoffle_url::{BrowserUrl, ResolutionRules, resolve};

/// Each row: base, reference, and the serialized URL or the reason for failure.
const ROWS: &[(&str, &str, &str)] = &[
    // Scheme states.
    ("", "HTTP://EXAMPLE.org", "http://example.org/"),
    ("", "http:example.org", "http://example.org/"),
    ("http://h/a/b", "http:c", "http://h/a/c"),
    ("http://h/a/b", "https:c", "https://c/"),
    ("http://h/a/b", r"http:\\c/d", "http://c/d"),
    ("", "a.b-c+1:x", "a.b-c+1:x"),
    ("", "1:x", "! the URL is relative, and there is no base"),
    ("mailto:a@b", "x", "! the URL is relative, but its base has no path"),
    ("mailto:a@b", "", "! the URL is relative, but its base has no path"),
    ("mailto:a@b?c#d", "#x", "mailto:a@b?c#x"),
    // Blanks, tabs and line breaks.
    ("", " \u{1}ht\ttp://h/\n \r", "http://h/"),
    // Relative and relative slash states.
    ("http://u:p@h:8/a/b?q#f", "", "http://u:p@h:8/a/b?q"),
    ("http://u:p@h:8/a/b?q#f", "?", "http://u:p@h:8/a/b?"),
    ("http://u:p@h:8/a/b?q#f", "#", "http://u:p@h:8/a/b?q#"),
    ("http://u:p@h:8/a/b?q#f", "/c", "http://u:p@h:8/c"),
    ("http://u:p@h:8/a/b?q#f", "//c", "http://c/"),
    ("http://h/a", r"\/\c", "http://c/"),
    ("x://h/a", r"\/c", r"x://h/\/c"),
    ("x://h", "c", "x://h/c"),
    ("x://h", "?c", "x://h?c"),
    ("x:/a/b", "../../c", "x:/c"),
    ("x:/a/b", "..//c", "x:/.//c"),
    ("x:/.//c", "", "x:/.//c"),
    // Authority, host and port states.
    ("", "http://a:b:c@d@h/", "http://a:b%3Ac%40d@h/"),
    ("", "http://:@h/", "http://h/"),
    ("", "http://:p@h/", "http://:p@h/"),
    ("", "http://u@/x", "! the host is missing"),
    ("", "http://:80/", "! the host is missing"),
    ("", "http://", "! the host is missing"),
    ("", "x://", "x://"),
    ("", "x://:80", "! the host is missing"),
    ("", "http://h:080/", "http://h/"),
    ("", "http://h:00443", "http://h:443/"),
    ("", "http://h:/", "http://h/"),
    ("", "http://h:65536/", "! the port is above 65535"),
    ("", "http://h:8a/", "! the port is not a number"),
    ("", "http://[::1]:81/", "http://[::1]:81/"),
    ("", "http://[::1/", "! the host is invalid: the host has an unmatched bracket"),
    ("", r"http://h\@x/", "http://h/@x/"),
    ("", "x://A%41\u{e9}/", "x://A%41%C3%A9/"),
    ("", "http://a%zz/", "! the host is invalid: the host is not a valid domain name"),
    // Path states.
    ("", "http://h/a/./%2E/b/.%2e/c", "http://h/a/c"),
    ("", "http://h/a/%2e%2E", "http://h/"),
    ("", "http://h/a%2fb%5c%00", "http://h/a%2fb%5c%00"),
    ("", "http://h/%%4g \"<>`{}^|\u{7f}", "http://h/%%4g%20%22%3C%3E%60%7B%7D%5E|%7F"),
    (
        "",
        "http://h?a b'\"<>`\u{e9}#c d'\"<>`{}",
        "http://h/?a%20b%27%22%3C%3E`%C3%A9#c%20d'%22%3C%3E%60{}",
    ),
    ("", "x://h?'", "x://h?'"),
    ("", "x:a b ", "x:a b"),
    ("", "x:a  #f", "x:a %20#f"),
    ("", "x:a/../b", "x:a/../b"),
    // File states.
    ("", "file:", "file:///"),
    ("", "file:a", "file:///a"),
    ("", "file://localhost/a", "file:///a"),
    ("", "file://H/a", "file://h/a"),
    ("", "file:///C|/a/../..", "file:///C:/"),
    ("", "file://C:/a", "file:///C:/a"),
    ("", r"file:\\h\a", "file://h/a"),
    ("file:///C:/a/b", "/x", "file:///C:/x"),
    ("file:///C:/a/b", "D|/x", "file:///D:/x"),
    ("file:///C:/a/b", "/D:?q", "file:///D:?q"),
    ("file:///C:/a/b", "..", "file:///C:/"),
    ("file:///C:", "..", "file:///C:/"),
    ("file://h/a/b", "c", "file://h/a/c"),
    ("file://h/a/b", "file:c", "file://h/a/c"),
    ("file://h/a/b?q", "#f", "file://h/a/b?q#f"),
    ("file://h/a", "C:/x", "c:/x"),
    ("http://h/", "file:x", "file:///x"),
];

fn chain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {}", chain(source)));
    format!("{error}{}", source.unwrap_or_default())
}

fn parse(base: &str, text: &str) -> String {
    let base = BrowserUrl::parse(base, None).ok();
    match BrowserUrl::parse(text, base.as_ref()) {
        Ok(url) => url.as_str().to_owned(),
        Err(error) => format!("! {}", chain(&error)),
    }
}

#[test]
fn each_parser_state_follows_the_standard() {
    let mut wrong = Vec::new();
    for (base, text, want) in ROWS {
        let got = parse(base, text);
        if got != *want {
            wrong.push(format!("{base:?} {text:?}\n  want {want}\n  got  {got}"));
        }
        // Parsing a serialized URL must return the same URL.
        if !got.starts_with('!') && parse("", &got) != got {
            wrong.push(format!("{got} is not stable: {}", parse("", &got)));
        }
    }
    assert!(wrong.is_empty(), "{} rows\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_url_is_split_into_its_components() {
    let url: BrowserUrl =
        "https://us:er@Example.com:8042/over/there?name=ferret#nose".parse().unwrap();
    assert_eq!(url.to_string(), "https://us:er@example.com:8042/over/there?name=ferret#nose");
    assert_eq!(
        format!("{url:?}"),
        "BrowserUrl(\"https://us:\u{2026}@example.com:8042/over/there?name=ferret#nose\")"
    );
    assert_eq!((url.scheme(), url.username(), url.password()), ("https", "us", Some("er")));
    assert_eq!(
        (url.host(), url.port(), url.path()),
        (Some("example.com"), Some(8042), "/over/there")
    );
    assert_eq!((url.query(), url.fragment()), (Some("name=ferret"), Some("nose")));
    let url: BrowserUrl = "mailto:a@b?#".parse().unwrap();
    assert_eq!((url.host(), url.username(), url.password()), (None, "", None));
    assert_eq!((url.path(), url.query(), url.fragment()), ("a@b", Some(""), Some("")));
    assert!(url.has_opaque_path());
}

type Parsed<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, Option<u16>);
type Rest<'a> = (&'a str, Option<&'a str>, Option<&'a str>, bool);

fn ours(url: &BrowserUrl) -> (Parsed<'_>, Rest<'_>) {
    let password = url.password().unwrap_or_default();
    // The oracle does not distinguish an empty host from a missing one.
    let host = url.host().filter(|host| !host.is_empty());
    (
        (url.scheme(), url.username(), password, host, url.port()),
        (url.path(), url.query(), url.fragment(), url.has_opaque_path()),
    )
}

fn theirs(url: &url::Url) -> (Parsed<'_>, Rest<'_>) {
    let password = url.password().unwrap_or_default();
    let host = url.host_str().filter(|host| !host.is_empty());
    (
        (url.scheme(), url.username(), password, host, url.port()),
        (url.path(), url.query(), url.fragment(), url.cannot_be_a_base()),
    )
}

/// Whether crate `url` 2.5.8 differs from the current standard for this text, while our parser
/// follows it.
fn oracle_is_wrong(
    base: &BrowserUrl,
    text: &str,
    ours: Option<&str>,
    theirs: Option<&str>,
) -> bool {
    let text = text.replace(['\t', '\n', '\r'], "");
    let text = text.trim_matches(|c: char| c <= ' ');
    // *Path percent-encode set*: it includes `^` since 2024.
    let caret =
        ours.map(|url| url.replace("%5E", "^")) == theirs.map(|url| url.replace("%5E", "^"));
    // *Relative slash state*: all slashes of `///h` are skipped, not only two.
    let slashes = theirs.is_none() && text.replace('\\', "/").contains("///");
    // *Relative state*: a backslash does not count as a slash if the base is not special.
    let backslash = (text.starts_with('\\') || text.starts_with("/\\"))
        && !matches!(base.scheme(), "http" | "https" | "ws" | "wss" | "ftp" | "file");
    let url = ours.and_then(|url| BrowserUrl::parse(url, None).ok());
    let file = url.as_ref().is_some_and(|url| {
        // *Path start state*: only one slash of `file:////` belongs to the path, and no slash is
        // dropped. *Path state*: since 2021 a drive letter does not remove the host.
        let drive = url.path().as_bytes().get(2) == Some(&b':');
        url.scheme() == "file" && (url.path().starts_with("//") || drive)
    });
    // *Opaque path state*: a blank before `?` or `#` is escaped since 2025.
    let blank = url.is_some_and(|url| url.has_opaque_path() && url.path().ends_with("%20"));
    // *Port state*: a backslash does not end a port if the scheme is not special.
    let port = ours.is_none() && theirs.is_some_and(|url| url.contains('\\'));
    // *Authority state*: an empty text after the last `@` is a missing host under every scheme.
    let at =
        ours.is_none() && text.split(['?', '#']).next().is_some_and(|text| text.ends_with('@'));
    caret || slashes || backslash || file || blank || port || at
}

fn agrees(base: &str, text: &str) -> Result<(), TestCaseError> {
    let (our_base, their_base) = (BrowserUrl::parse(base, None), url::Url::parse(base));
    prop_assert_eq!(our_base.is_err(), their_base.is_err(), "{:?}", base);
    let (Ok(base), Ok(their_base)) = (our_base, their_base) else { return Ok(()) };
    let (our, their) = (BrowserUrl::parse(text, Some(&base)), their_base.join(text));
    let same = match (&our, &their) {
        (Ok(our), Ok(their)) => our.as_str() == their.as_str() && ours(our) == theirs(their),
        (Err(_), Err(_)) => true,
        _ => false,
    };
    let strings =
        (our.as_ref().ok().map(BrowserUrl::as_str), their.as_ref().ok().map(url::Url::as_str));
    prop_assert!(
        same || oracle_is_wrong(&base, text, strings.0, strings.1),
        "{base:?} {text:?}\n  ours   {our:?}\n  theirs {their:?}"
    );
    if let Ok(url) = our {
        // Parsing a serialized URL returns the same URL.
        prop_assert_eq!(BrowserUrl::parse(url.as_str(), None), Ok(url));
    }
    Ok(())
}

const PIECES: &[&str] = &[
    "http",
    "https",
    "ftp",
    "file",
    "ws",
    "x",
    "mailto",
    ":",
    ":",
    "/",
    "/",
    "//",
    "\\",
    "?",
    "#",
    "@",
    ".",
    "..",
    "%2e",
    "%2E",
    "%",
    "%41",
    "%00",
    "%zz",
    " ",
    "\t",
    "\n",
    "a",
    "B",
    "é",
    "ß",
    "日本",
    "c:",
    "C|",
    "localhost",
    "example.org",
    "xn--",
    "xn--bcher-kva",
    "1",
    "0x7f",
    "08",
    "256",
    "1.2.3.4",
    "[::1]",
    "[1:2::3.4.5.6]",
    "[",
    "]",
    "80",
    "443",
    "65536",
    ";",
    "&",
    "=",
    "'",
    "\"",
    "<",
    "`",
    "{",
    "|",
    "^",
    "_",
    "-",
    "~",
    "\u{ad}",
    "\u{200d}",
    "\u{3002}",
    "\u{0}",
    "\u{7f}",
    "*",
    "!",
    "$",
];

fn soup(pieces: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..pieces)
        .prop_map(|pieces| pieces.concat())
}

fn base() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("http://u:p@h:81/a/b/c?q#f".to_owned()),
        Just("file:///C:/a/b?q".to_owned()),
        Just("file://h/a".to_owned()),
        Just("x://h/a/b".to_owned()),
        Just("x:/a".to_owned()),
        Just("x:".to_owned()),
        Just("mailto:a@b?c".to_owned()),
        soup(8).prop_map(|soup| format!("http://{soup}")),
        soup(8),
    ]
}

/// A host between well-formed parts, so that the text always reaches the host parser.
fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        soup(6),
        "[0-9a-fA-F:.]{1,20}".prop_map(|inside| format!("[{inside}]")),
        "[0-9xXa-f.]{1,16}",
        "(0x[0-9a-f]{0,9}|0[0-7]{0,12}|[0-9]{1,11})(\\.(0x[0-9a-f]{0,3}|[0-9]{1,4})){0,4}\\.?",
        "(xn--[a-z0-9-]{0,8}|[a-z\u{e9}\u{df}\u{5d0}\u{6f1}0-9-]{0,4})(\\.[\u{100}-\u{17f}A-Z]{0,3}){0,2}",
        "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn references_agree_with_the_oracle(base in base(), text in soup(12)) {
        agrees(&base, &text)?;
    }

    #[test]
    fn hosts_agree_with_the_oracle(scheme in "(http|ws|file|x)", host in host(), tail in "(|/|:8|:|@h/|\\?)") {
        agrees("http://h/", &format!("{scheme}://{host}{tail}"))?;
    }

    #[test]
    #[ignore = "slow"]
    fn any_text_has_a_result(base in any::<String>(), text in any::<String>()) {
        agrees(&base, &text)?;
        agrees("http://h/a/b", &text)?;
        for rules in [ResolutionRules::DraftFielding, ResolutionRules::Rfc3986, ResolutionRules::Browser] {
            let _ = resolve(&base, &text, rules);
        }
    }
}
