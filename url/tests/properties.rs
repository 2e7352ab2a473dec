//! Properties of every text, checked on generated texts.
//!
//! The reference is crate `url`, which implements the WHATWG URL Standard, as browsers do. Two URLs
//! of that crate may have the same key only if [`meaning`] treats them as equal. The documentation
//! of [`meaning`] lists each such case.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use proptest::sample::select;
use wwwoffle_url::{
    CanonicalUrl, LocalHost, LocalScope, OldRecord, fix_html_link_url, link_url, split_form_args,
    url_decode_form_args, url_decode_generic, url_encode_form_args, url_encode_password,
    url_encode_path, url_recode_form_args,
};

/// Pieces of text that have a special meaning to a URL parser.
const PIECES: &[&str] = &[
    "http",
    "https",
    "ftp",
    "ws",
    "foo",
    "finger",
    "mailto",
    "://",
    ":",
    "/",
    "//",
    "\\",
    "@",
    "a",
    "B",
    "ex.org",
    "xn--",
    "xn--bcher-kva",
    "bücher",
    "☕",
    "1",
    "08",
    "127",
    "0x7f",
    "256",
    ".",
    "..",
    "%2e",
    "%2E",
    "%2f",
    "%2F",
    "%00",
    "%3f",
    "%23",
    "%5c",
    "%25",
    "%26",
    "%3b",
    "%2b",
    "%20",
    "%40",
    "%41",
    "%c3%a9",
    "%ff",
    "%0a",
    "%",
    "%4",
    "%zz",
    "?",
    "#",
    "&",
    "&amp;",
    "amp;",
    ";",
    "+",
    " ",
    "\t",
    "\r\n",
    "\0",
    "\u{7f}",
    "[::1]",
    "[1:0:0:2::]",
    "[::1.2.3.4]",
    "[",
    "]",
    ":80",
    ":443",
    ":0021",
    ":65536",
    "=",
    "|",
    "'",
    "\"",
    "<",
    "^",
    "`",
    "{",
    "~",
    "$",
    "!POST:",
    "_",
    "-",
    "é",
    "😀",
    "localhost:8080",
];

fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

/// A text like a URL, under a protocol that browsers know.
fn url() -> impl Strategy<Value = String> {
    let protocol = select(&["http:", "HTTP:/", "http://", "https://", "ftp://", "ws://"][..]);
    let host = select(&["", "a", "B.c", "u:p@a", "a:80", "[0::1]", "127.1"][..]);
    (protocol, host, text(14)).prop_map(|(protocol, host, rest)| [protocol, host, &rest].concat())
}

fn parse(text: &str) -> Option<CanonicalUrl> {
    CanonicalUrl::parse(text, &LocalHost::default()).ok()
}

/// The meaning of a URL of crate `url`, without the differences that we ignore:
///
/// - In a path an escape and its byte are equal, except that `%2F` and `%00` are distinct from
///   every other text. `%3F`, `%23`, `%5C` and `%25` are distinct too, because their bytes cannot
///   occur unescaped.
/// - In arguments an escape and its byte are equal if the byte is not a separator: `%26 %3D %3B %2B
///   %3F` are distinct from `& = ; + ?`. A space is `+`, `&amp;` is `&`, and empty arguments equal
///   missing ones.
/// - A `%` that does not begin an escape is `%25`.
/// - The fragment and an empty password are ignored.
fn meaning(url: &url::Url) -> (String, Vec<Byte>, Vec<Byte>, Vec<u8>, Vec<u8>) {
    let origin = format!("{}://{}:{:?}", url.scheme(), url.host_str().unwrap(), url.port());
    let path = bytes(url.path(), |byte| !matches!(byte, b'/' | 0));
    let separators = |byte| !matches!(byte, b'&' | b'=' | b';' | b'+' | b'?' | b' ');
    let mut args = Vec::new();
    for byte in bytes(url.query().unwrap_or_default(), separators) {
        let byte = if byte == Byte::Escaped(b' ') { Byte::Raw(b'+') } else { byte };
        let repaired = [b'&', b'a', b'm', b'p'].map(Byte::Raw);
        if byte == Byte::Raw(b';') && args.ends_with(&repaired) {
            args.truncate(args.len() - 3);
        } else {
            args.push(byte);
        }
    }
    let user = url_decode_generic(url.username().as_bytes());
    let password = url_decode_generic(url.password().unwrap_or_default().as_bytes());
    (origin, path, args, user, password)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Byte {
    Raw(u8),
    Escaped(u8),
}

/// Decodes each escape for whose byte `same` returns true.
fn bytes(text: &str, same: impl Fn(u8) -> bool) -> Vec<Byte> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let hex =
            after.get(..2).filter(|hex| *byte == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        if let Some(hex) = hex {
            let value = u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
            out.push(if same(value) { Byte::Raw(value) } else { Byte::Escaped(value) });
            rest = after.split_at(2).1;
        } else {
            out.push(Byte::Raw(*byte));
            rest = after;
        }
    }
    out
}

/// Whether the difference between browsers and us is the known one: only browsers skip more than
/// two slashes before a host.
fn only_a_browser_finds_a_host(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    rest.chars().take_while(|c| matches!(c, '/' | '\\')).count() > 2
}

/// The settings of proptest. Failing cases are added to the tables by hand, so proptest writes no
/// files beside the source.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(4096), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn resources_of_browsers_never_share_a_key(text in url()) {
        let theirs = url::Url::parse(&text);
        match (parse(&text), theirs) {
            (Some(ours), Ok(theirs)) => {
                // If a browser parses our spelling, the meaning is that of the original text. So
                // two texts with the same key have the same meaning.
                let again = url::Url::parse(ours.as_str()).unwrap();
                let (origin, path, args, ..) = meaning(&again);
                let expected = meaning(&theirs);
                prop_assert_eq!((origin, path, args), (expected.0, expected.1, expected.2));
                prop_assert_eq!(ours.user().unwrap_or_default().to_vec(), expected.3);
                prop_assert_eq!(ours.password().unwrap_or_default().to_vec(), expected.4);
            }
            (ours, theirs) => prop_assert!(
                ours.is_none() && (theirs.is_err() || only_a_browser_finds_a_host(&text)),
                "{ours:?} {theirs:?}",
            ),
        }
    }

    #[test]
    fn equivalent_urls_have_one_key(one in url(), other in url()) {
        let both = (url::Url::parse(&one), url::Url::parse(&other));
        if let ((Ok(a), Ok(b)), (Some(one), Some(other))) = (both, (parse(&one), parse(&other))) {
            prop_assert_eq!(one.key() == other.key(), meaning(&a) == meaning(&b));
        }
    }

    #[test]
    fn canonicalizing_is_idempotent(text in prop_oneof![url(), text(16)]) {
        let around = LocalScope::default();
        if let Some(first) = parse(&text) {
            let file = OldRecord::split_url(text.as_bytes(), &around).unwrap().file();
            prop_assert_eq!(&parse(&file).unwrap(), &first);
            prop_assert_eq!(parse(first.as_str()).unwrap(), first.without_credentials());
            let post = first.with_post(&[7; 32]);
            prop_assert_eq!(post.form_target(), Some(first.as_str().to_owned()));
            prop_assert_eq!(parse(post.as_str()).unwrap(), post.without_credentials());
        }
    }

    #[test]
    fn credentials_are_complete_and_never_shown(
        user in prop::collection::vec(any::<u8>(), 0..8),
        password in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let plain = parse("http://a/b?c").unwrap();
        let url = plain.with_credentials(&user, Some(&password));
        prop_assert_eq!(url.user().unwrap_or_default().to_vec(), user.clone());
        prop_assert_eq!(url.password().unwrap_or_default().to_vec(), password.clone());
        prop_assert_eq!(format!("{url} {url:?}"), format!("{plain} {plain:?}"));
        let none = user.is_empty() && password.is_empty();
        prop_assert_eq!(url.key() == plain.key(), none);
        prop_assert_eq!(url.without_credentials(), plain);
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        base in url(),
    ) {
        let local = LocalHost::default();
        let around = LocalScope::default();
        let _ = CanonicalUrl::parse_bytes(&bytes, &local);
        let _ = OldRecord::split_url(&bytes, &around).is_ok();
        let _ = OldRecord::link_url(base.as_bytes(), &bytes, &around).is_ok();
        let _ = fix_html_link_url(&bytes);
        let _ = wwwoffle_url::canonicalise_host(&bytes);
        let _ = wwwoffle_url::canonicalise_name(&bytes);
    }

    #[test]
    fn links_resolve_as_in_a_browser(base in url(), link in text(10)) {
        let local = LocalHost::default();
        let Some(ours) = parse(&base) else { return Ok(()) };
        let theirs = url::Url::parse(ours.as_str()).unwrap().join(&link);
        let found = link_url(&ours, link.as_bytes(), &local).ok();
        if let (Some(found), Ok(theirs)) = (found, theirs) && theirs.has_host() && theirs.is_special() {
            let again = url::Url::parse(found.as_str()).unwrap();
            let ((origin, path, args, ..), expected) = (meaning(&again), meaning(&theirs));
            prop_assert_eq!((origin, path, args), (expected.0, expected.1, expected.2));
        }
    }

    #[test]
    fn coders_undo_each_other(bytes in prop::collection::vec(any::<u8>(), 0..48)) {
        let form = url_encode_form_args(&bytes);
        prop_assert_eq!(&url_decode_form_args(form.as_bytes()), &bytes);
        prop_assert_eq!(&url_recode_form_args(form.as_bytes()), &form);
        for encoded in [url_encode_path(&bytes), url_encode_password(&bytes)] {
            prop_assert_eq!(&url_decode_generic(encoded.as_bytes()), &bytes);
        }
        let recoded = url_recode_form_args(&bytes);
        prop_assert_eq!(&url_recode_form_args(recoded.as_bytes()), &recoded);
        let (before, after) =
            (url_decode_form_args(&bytes), url_decode_form_args(recoded.as_bytes()));
        prop_assert_eq!(before, after);
        let pieces: Vec<_> = split_form_args(&bytes).collect();
        prop_assert_eq!(pieces.iter().map(|piece| piece.len() + 1).sum::<usize>(), bytes.len() + 1);
    }
}

/// The pairs of escapes that a faulty decoder would most likely make equal.
#[test]
fn different_escapes_have_different_keys() {
    for (one, other) in [
        ("http://a/b%2Fc", "http://a/b/c"),
        ("http://a/b%2F..%2Fc", "http://a/c"),
        ("http://a/b%00", "http://a/b"),
        ("http://a/b%00c", "http://a/b"),
        ("http://a/b%3Fc", "http://a/b?c"),
        ("http://a/b%23c", "http://a/b#c"),
        ("http://a/b%5Cc", "http://a/b\\c"),
        ("http://a/b%252F", "http://a/b%2F"),
        ("http://a/b%0Ac", "http://a/b\nc"),
        ("http://a/?b%26c", "http://a/?b&c"),
        ("http://a/?b%3Dc", "http://a/?b=c"),
        ("http://a/?b%3Bc", "http://a/?b;c"),
        ("http://a/?b%2Bc", "http://a/?b+c"),
        ("http://a/?b%23c", "http://a/?b#c"),
        ("http://a/?b;c", "http://a/?b&c"),
        ("http://u:p@a/", "http://u%3Ap@a/"),
        ("http://u%00:p@a/", "http://u:p@a/"),
        ("http://u@a/", "http://a/"),
        ("http://a./", "http://a/"),
    ] {
        assert_ne!(parse(one).unwrap().key(), parse(other).unwrap().key(), "{one} {other}");
    }
}
