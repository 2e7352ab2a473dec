//! URIs by the grammar: valid and invalid texts, and the two pairs of inverse functions.

use proptest::prelude::*;
use wwwoffle_url::{
    AuthorityFields, FragmentFields, Grammar, HostField, HostKind, Pair, PathFields, Uri, UriFields,
};

/// Each row: a text, whether it is a URI reference by the strict grammar, and whether it is one by
/// the relaxed grammar.
const ROWS: &[(&str, bool, bool)] = &[
    ("", true, true),
    ("a", true, true),
    ("./a:b", true, true),
    ("a/b:c", true, true),
    ("a:b", true, true),
    (":a", false, false),
    ("1:a", false, false),
    ("a b:c", false, false),
    ("\u{e9}", false, true),
    ("//h", true, true),
    ("///a", true, true),
    ("//", true, true),
    ("ftp://ftp.is.co.za/rfc/rfc1808.txt", true, true),
    ("ldap://[2001:db8::7]/c=GB?objectClass?one", true, true),
    ("mailto:John.Doe@example.com", true, true),
    ("news:comp.infosystems.www.servers.unix", true, true),
    ("tel:+1-816-555-1212", true, true),
    ("telnet://192.0.2.16:80/", true, true),
    ("urn:oasis:names:specification:docbook:dtd:xml:4.1.2", true, true),
    ("http://a@b@c/", false, false),
    ("http://a:b:c@h:/", true, true),
    ("http://h:8a/", false, false),
    ("http://h:99999999/", true, true),
    ("http://a b@h/", false, true),
    ("http://h h/", false, false),
    ("http://\u{e9}/", false, false),
    ("http://%C3%A9!$&'()*+,;=/", true, true),
    ("http://%C3%A/", false, false),
    ("http://h/%", false, false),
    ("http://h/%4", false, false),
    ("http://h/%4g", false, false),
    ("http://h/%\u{e9}", false, false),
    ("http://h/[", false, false),
    ("http://h/?[]", false, false),
    ("http://h/?/?:@", true, true),
    ("http://h/#a#b", false, false),
    ("http://h/\"<>\\^`{|}\u{0}\n", false, true),
    ("http://[::1]:80", true, true),
    ("http://[::1]80", false, false),
    ("http://[::1", false, false),
    ("http://::1]", false, false),
    ("http://[]", false, false),
    ("http://x[::1]", false, false),
    ("http://[::1]]", false, false),
    ("http://[::1%25en0]", false, false),
];

#[test]
fn rows_are_accepted_or_refused() {
    for &(text, strict, relaxed) in ROWS {
        for (grammar, want) in [(Grammar::Strict, strict), (Grammar::Relaxed, relaxed)] {
            let parsed = Uri::parse_reference(text, grammar);
            assert_eq!(parsed.is_ok(), want, "{text:?} {grammar:?} {parsed:?}");
            if let Ok(uri) = parsed {
                assert_eq!(uri.form(), text);
                assert_eq!(Uri::parse(text, grammar).is_ok(), uri.scheme().is_some(), "{text:?}");
            }
        }
    }
}

#[test]
fn a_refusal_names_the_component_and_its_position() {
    let rows = [
        ("a/b", "the URI has no scheme"),
        ("1a:b", "\"1a\" is not a scheme"),
        ("http://h/a b", "the path has the forbidden character ' ' at byte 2"),
        ("http://u u@h/", "the user information has the forbidden character ' ' at byte 1"),
        ("http://h:x/", "the port has the forbidden character 'x' at byte 0"),
        ("http://h/?%zz", "the query has the forbidden character '%' at byte 0"),
        ("http://[1::2::3]/", "\"[1::2::3]\" is not an address"),
    ];
    for (text, want) in rows {
        assert_eq!(Uri::parse(text, Grammar::Strict).map_err(|e| e.to_string()), Err(want.into()));
    }
}

#[test]
fn literals_follow_the_rfc() {
    let rows = [
        ("1:2:3:4:5:6:7:8", Some(HostKind::Ipv6)),
        ("1:2:3:4:5:6:1.2.3.4", Some(HostKind::Ipv6)),
        ("::", Some(HostKind::Ipv6)),
        ("::1.2.3.4", Some(HostKind::Ipv6)),
        // The rule in *URI handling for REBOL 3* does not match this address.
        ("1:2::3", Some(HostKind::Ipv6)),
        ("1:2:3:4:5:6:7::", Some(HostKind::Ipv6)),
        ("1::3:4:5:6:7:8", Some(HostKind::Ipv6)),
        ("1::2:3:4:5:6:7:8", None),
        ("1:2:3:4:5:6:7", None),
        ("1:2:3:4:5:6:7:8:9", None),
        ("12345::", None),
        ("::1.2.3.256", None),
        ("::01.2.3.4", None),
        (":1", None),
        ("v1.a:b", Some(HostKind::IpFuture)),
        ("VfF.~!$&'()*+,;=:", Some(HostKind::IpFuture)),
        ("v.a", None),
        ("vg.a", None),
        ("v1.", None),
        ("v1.a@b", None),
    ];
    for (inside, want) in rows {
        let uri = Uri::parse(&format!("x://[{inside}]:1/"), Grammar::Strict);
        assert_eq!(uri.ok().and_then(|uri| uri.host_kind()), want, "{inside}");
    }
    let kind = |host| Uri::parse(&format!("x://{host}"), Grammar::Strict).unwrap().host_kind();
    assert_eq!(kind("1.2.3.255"), Some(HostKind::Ipv4));
    assert_eq!(kind("1.2.3.256"), Some(HostKind::Name));
    assert_eq!(kind("1.2.3.04"), Some(HostKind::Name));
    assert_eq!(kind(""), Some(HostKind::Name));
}

#[test]
fn absent_and_empty_components_differ() {
    let uri = |text| Uri::parse_reference(text, Grammar::Strict).unwrap();
    let empty = uri("x://@:?#");
    assert_eq!((empty.userinfo(), empty.host(), empty.port()), (Some(""), Some(""), Some("")));
    assert_eq!((empty.query(), empty.fragment()), (Some(""), Some("")));
    let absent = uri("x:");
    assert_eq!((absent.userinfo(), absent.host(), absent.port()), (None, None, None));
    assert_eq!((absent.query(), absent.fragment()), (None, None));
    let path = |text| (uri(text).is_rooted(), uri(text).segments().to_vec());
    assert_eq!(path("x:"), (false, vec![]));
    assert_eq!(path("x:/"), (true, vec![String::new()]));
    assert_eq!(path("x://h"), (false, vec![]));
    assert_eq!(path("a//"), (false, vec!["a".to_owned(), String::new(), String::new()]));
    let pairs = |text| uri(text).decode_fields().query;
    assert_eq!(pairs("?"), Some(vec![]));
    assert_eq!(
        pairs("?a&b=&&=c&d=e=f"),
        Some(vec![
            Pair::new("a", None),
            Pair::new("b", Some("")),
            Pair::new("", None),
            Pair::new("", Some("c")),
            Pair::new("d", Some("e=f")),
        ])
    );
}

#[test]
fn fields_that_would_be_read_back_otherwise_are_refused() {
    let segments = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let path = |rooted, texts: &[&str]| PathFields { rooted, segments: segments(texts) };
    let host = |host| AuthorityFields { userinfo: None, host, port: None };
    let name = || Some(host(HostField::Name(b"h".to_vec())));
    let rows = [
        (UriFields { path: path(true, &[]), ..<_>::default() }, "a slash begins a segment"),
        (
            UriFields { path: path(false, &["", "a"]), ..<_>::default() },
            "the first segment is empty",
        ),
        (
            UriFields { path: path(true, &["", "a"]), ..<_>::default() },
            "two slashes begin an authority",
        ),
        (
            UriFields { authority: name(), path: path(false, &["a"]), ..<_>::default() },
            "no slash is between it and the authority",
        ),
        (UriFields { scheme: Some("1".to_owned()), ..<_>::default() }, "is not a scheme"),
        (
            UriFields {
                authority: Some(host(HostField::Literal("h".to_owned()))),
                ..<_>::default()
            },
            "is not an address",
        ),
        (
            UriFields { query: Some(vec![Pair::new("", None)]), ..<_>::default() },
            "the query would be parsed differently",
        ),
    ];
    for (fields, want) in rows {
        let error = fields.encode().unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    // A name that looks like an address stays a name. A colon that would end a scheme is escaped.
    let fields =
        UriFields { authority: Some(host(HostField::Name(b"[::1]".to_vec()))), ..<_>::default() };
    assert_eq!(fields.encode().unwrap().form(), "//%5B%3A%3A1%5D");
    let fields = UriFields { path: path(false, &["a:b", "c:d"]), ..<_>::default() };
    assert_eq!(fields.encode().unwrap().form(), "a%3Ab/c:d");
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..4),
        "[ -~]{0,4}".prop_map(String::into_bytes)
    ]
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let pair = (bytes(), proptest::option::of(bytes()));
    proptest::collection::vec(pair.prop_map(|(name, value)| Pair { name, value }), 0..4)
}

fn host() -> impl Strategy<Value = HostField> {
    prop_oneof![
        bytes().prop_map(HostField::Name),
        "\\[[0-9a-f:.v]{0,6}\\]".prop_map(HostField::Literal),
        Just(HostField::Literal("[::1]".to_owned())),
    ]
}

fn fields() -> impl Strategy<Value = UriFields> {
    use proptest::option::of;
    let authority = (
        of(proptest::collection::vec(bytes(), 0..3)),
        host(),
        of("[0-9]{0,3}".prop_map(String::from)),
    )
        .prop_map(|(userinfo, host, port)| AuthorityFields { userinfo, host, port });
    let path = (any::<bool>(), proptest::collection::vec(bytes(), 0..4))
        .prop_map(|(rooted, segments)| PathFields { rooted, segments });
    let fragment = (bytes(), of(pairs())).prop_map(|(text, query)| FragmentFields { text, query });
    (of("[a-z][a-z0-9+.-]{0,2}"), of(authority), path, of(pairs()), of(fragment)).prop_map(
        |(scheme, authority, path, query, fragment)| UriFields {
            scheme,
            authority,
            path,
            query,
            fragment,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encoded_fields_round_trip(fields in fields()) {
        if let Ok(uri) = fields.encode() {
            prop_assert_eq!(&uri.decode_fields(), &fields);
            prop_assert_eq!(Uri::parse_reference(&uri.form(), Grammar::Strict), Ok(uri));
        }
    }

    #[test]
    fn forming_is_the_inverse_of_parsing(text in "([a-z]{0,2}:)?(//)?[a-z0-9:@/?#\\[\\]&=%.é ]{0,24}|\\PC*") {
        let strict = Uri::parse_reference(&text, Grammar::Strict);
        let relaxed = Uri::parse_reference(&text, Grammar::Relaxed);
        if let Ok(uri) = &relaxed {
            prop_assert_eq!(uri.form(), text.as_str());
            // The decoded fields can be encoded, and decoding the result returns the same fields.
            let fields = uri.decode_fields();
            let encoded = fields.encode();
            prop_assert!(encoded.is_ok(), "{:?} {:?}", text, encoded);
            prop_assert_eq!(encoded.map(|uri| uri.decode_fields()), Ok(fields));
        }
        if let Ok(uri) = strict {
            prop_assert_eq!(Ok(uri), relaxed);
        }
    }
}
