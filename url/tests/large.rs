//! The longest allowed texts, designed to be slow. If any step were quadratic, this test would take
//! hours.

use wwwoffle_url::{
    CanonicalUrl, LocalHost, LocalScope, MAX_LEN, OldRecord, canonicalise_host, canonicalise_name,
    fix_html_link_url, link_url, split_form_args, trim_args, url_decode_form_args,
    url_decode_generic, url_encode_form_args, url_encode_password, url_encode_path,
    url_recode_form_args,
};

/// A beginning, and a text that is repeated up to the limit.
const TEXTS: &[(&str, &str)] = &[
    ("http://a/", "a"),
    ("http://a", "/.."),
    ("http://a", "/a/.."),
    ("http://a/", "%2e%2e/"),
    ("http://a/", "\\..\\."),
    ("http://a", "/"),
    ("http://a/", "%"),
    ("http://a/", "%2"),
    ("http://a/?", "&amp;"),
    ("http://a/?&", "amp;"),
    ("http://a/?", "&am"),
    ("http://", "@"),
    ("http://", ":"),
    ("http://", ":@"),
    ("http://", "."),
    ("http://", "a."),
    ("http://", "1."),
    ("http://", "0"),
    ("http://0x", "f"),
    ("http://a:", "0"),
    ("http://", "xn--"),
    ("http://", "xn--a."),
    ("http://xn--", "a"),
    ("http://", "\u{fc}"),
    ("http://", "%C3%BC"),
    ("http://", "["),
    ("http://[", "::"),
    ("http://[", "0:"),
    ("", "a"),
    ("", "%"),
    ("", "/a/.."),
    ("", "&amp;"),
    ("", ":"),
    ("", "/"),
    ("", "#"),
    ("", "\t"),
    ("", " "),
    ("", "&#"),
    ("", "&#1"),
    ("", "&#x1"),
    ("", ";"),
    ("", "\0"),
];

#[test]
#[ignore = "slow"]
fn time_is_linear() {
    let local = LocalHost::default();
    let around = LocalScope::default();
    let base = CanonicalUrl::parse("http://a/b/c", &local).unwrap();
    for (start, repeated) in TEXTS {
        let times = (MAX_LEN - start.len()) / repeated.len();
        let text = [start, repeated.repeat(times).as_str()].concat().into_bytes();
        if let Ok(url) = CanonicalUrl::parse_bytes(&text, &local) {
            assert!(url.as_str().len() <= MAX_LEN);
            let _ = url.key();
        }
        let _ = link_url(&base, &text, &local);
        let _ = canonicalise_host(&text);
        if !start.is_empty() {
            let _ = OldRecord::split_url(&text, &around).is_ok();
            continue;
        }
        let _ = canonicalise_name(&text);
        let _ = (fix_html_link_url(&text), split_form_args(&text).count(), trim_args(&text));
        let _ = (url_decode_generic(&text), url_decode_form_args(&text));
        let _ = (url_recode_form_args(&text), url_encode_form_args(&text));
        let _ = (url_encode_path(&text), url_encode_password(&text));
    }
}

#[test]
fn a_text_above_the_limit_is_refused() {
    let local = LocalHost::default();
    let text = |length: usize| {
        let mut text = b"http://a/".to_vec();
        text.resize(length, b'a');
        text
    };
    assert!(CanonicalUrl::parse_bytes(&text(MAX_LEN), &local).is_ok());
    assert!(CanonicalUrl::parse_bytes(&text(MAX_LEN + 1), &local).unwrap_err().is_too_long());
    // A canonical form that is longer than the limit is refused, because it could not be parsed
    // again.
    let grows = [b"http://a/".as_slice(), &vec![b' '; MAX_LEN / 2], b"a"].concat();
    assert!(CanonicalUrl::parse_bytes(&grows, &local).unwrap_err().is_too_long());
}
