use super::*;

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
}

fn fields(rows: &[(&str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
    };
    rows.iter().map(field).collect()
}

#[test]
fn a_person_is_a_user_or_else_a_machine() {
    let ada: Arc<str> = "ada".into();
    for (peer, user, want) in [
        ("127.0.0.1", None, "local"),
        ("127.0.0.2", None, "local"),
        ("::1", None, "local"),
        ("::ffff:127.0.0.1", None, "local"),
        ("192.0.2.1", None, "client:192.0.2.1"),
        ("::ffff:192.0.2.1", None, "client:192.0.2.1"),
        ("2001:db8::1", None, "client:2001:db8::1"),
        ("192.0.2.1", Some(&ada), "user:ada"),
        ("127.0.0.1", Some(&ada), "user:ada"),
    ] {
        let owner = Owner::of(peer.parse().unwrap(), user);
        assert_eq!(owner.to_string(), want);
        assert_eq!(want.parse(), Ok(owner), "{want}");
    }
}

#[test]
fn an_owner_has_only_one_text() {
    for text in [
        "",
        "Local",
        "local:",
        "user:",
        "user",
        "client:",
        "client:127.0.0.1",
        "client:::ffff:192.0.2.1",
        "client:2001:DB8::1",
        "client:192.0.2.1:80",
        "everyone",
    ] {
        assert!(text.parse::<Owner>().is_err(), "{text:?}");
    }
    assert_ne!("user:local".parse::<Owner>(), Ok(Owner::Local));
    assert_ne!("user:client:192.0.2.1".parse::<Owner>(), "client:192.0.2.1".parse());
}

#[test]
fn a_response_is_personal_or_public() {
    for (row, want) in include_str!("../owner.txt").lines().filter_map(|row| {
        row.split_once("->").filter(|_| !row.starts_with('#')).map(|(a, b)| (a, b.trim()))
    }) {
        let (request, answer) = row.split_once('|').unwrap();
        let read = |text: &str| {
            let rows: Vec<_> =
                text.split(';').filter_map(|field| field.trim().split_once(": ")).collect();
            fields(&rows)
        };
        let shared = request.contains("(shared)");
        let asked = Identification::of(&read(request), false);
        let got = ResponseOwner::of_answer(asked, &read(answer), shared);
        assert_eq!(format!("{got:?}"), want, "{row}");
    }
}

#[test]
fn a_form_response_is_public_only_if_its_key_has_the_body() {
    let public = fields(&[("cache-control", "public")]);
    let usual = ("content-type", "application/x-www-form-urlencoded");
    for (rows, want) in [
        (&[usual][..], ResponseOwner::Everyone),
        (
            &[("content-type", "Application/X-WWW-Form-Urlencoded; Charset=UTF-8")],
            ResponseOwner::Everyone,
        ),
        (
            &[("content-type", "application/x-www-form-urlencoded; charset=utf-16")],
            ResponseOwner::Own,
        ),
        (&[("content-type", "text/plain")], ResponseOwner::Own),
        (&[("content-type", "multipart/form-data; boundary=a")], ResponseOwner::Own),
        (&[], ResponseOwner::Own),
        (&[usual, ("content-encoding", "gzip")], ResponseOwner::Own),
        (&[usual, ("x-forwarded-host", "evil.test")], ResponseOwner::Own),
        (&[usual, ("x_http_method_override", "DELETE")], ResponseOwner::Own),
    ] {
        let asked = Identification::of(&fields(rows), true);
        assert_eq!(ResponseOwner::of_answer(asked, &public, true), want, "{rows:?}");
    }
}

#[test]
fn each_owner_has_a_distinct_place() {
    let owners = ["local", "user:ada", "user:bob", "user:local", "client:192.0.2.1"];
    let mut seen = std::collections::HashSet::new();
    let none = HeaderMap::new();
    for owner in owners {
        let owner: Owner = owner.parse().unwrap();
        let places = Places::of(&mut url("http://h.example/"), &none, &owner);
        assert!(seen.insert(places.own.key()), "{owner}");
        assert_eq!(places.public, Place::of(&url("http://h.example/")));
        assert_eq!(places.own.url(), "http://h.example/");
        assert!(owner.may_see(&places.own) && owner.may_see(&places.public));
        assert_eq!(Owner::of_queued(&places.queued), Some(owner.clone()));
        let queued = Places::of_queued(&places.queued, &LocalHost::default());
        assert_eq!(queued, Some(places.clone()));
        for other in owners {
            let other: Owner = other.parse().unwrap();
            assert_eq!(other.may_see(&places.own), other == owner, "{other} {owner}");
        }
    }
    assert!(!seen.contains(&Place::of(&url("http://h.example/")).key()));
}

#[test]
fn equal_credentials_have_one_key() {
    let places = |text: &str, authorization: Option<&str>| {
        let rows: Vec<_> =
            authorization.map(|value| ("authorization", value)).into_iter().collect();
        Places::of(&mut url(text), &fields(&rows), &Owner::Local)
    };
    let key = |text: &str, authorization: Option<&str>| {
        let places = places(text, authorization);
        (places.own.key(), places.login, places.queued.key())
    };
    let basic = key("http://h.example/", Some("Basic dTpw"));
    assert_eq!(basic, key("http://u:p@h.example/", None));
    assert_eq!(basic, key("http://h.example/", Some("basic  dTpw")));
    assert_eq!(basic, key("http://u@h.example/", None), "the password is part of no key");
    assert_ne!(basic, key("http://h.example/", None));
    assert_ne!(basic, key("http://h.example/", Some("Bearer dTpw")));
    assert_eq!(basic.1.as_deref(), Some("u"));
    // A user name without password may be a secret.
    assert_eq!(key("http://h.example/", Some("Basic dTo=")).1.as_deref(), Some("-"));
    for nonce in ["1", "2"] {
        let digest = format!("Digest username=\"u\", realm=\"r\", nonce=\"{nonce}\"");
        assert_eq!(key("http://h.example/", Some(&digest)), key("http://u@h.example/", None));
    }
    for (text, authorization, want) in [
        ("http://h.example/", None, false),
        ("http://u:p@h.example/", None, true),
        ("http://h.example/", Some("Bearer x"), true),
    ] {
        let places = places(text, authorization);
        assert_eq!(places.credentials, want, "{text} {authorization:?}");
        let queued = Places::of_queued(&places.queued, &LocalHost::default());
        assert_eq!(queued.unwrap().credentials, want, "{text} {authorization:?}");
        assert_eq!(places.public, Place::of(&url("http://h.example/")));
    }
}

#[test]
fn each_credential_in_another_field_has_its_own_key() {
    let places = |rows: &[(&'static str, &'static str)]| {
        let places = Places::of(&mut url("http://h.example/"), &fields(rows), &Owner::Local);
        ((places.own.key(), places.login), places.credentials)
    };
    let (key, basic) = (("x-api-key", "a"), ("authorization", "Basic dTpw"));
    let mut seen = std::collections::HashSet::new();
    for rows in [
        &[key][..],
        &[("x-api-key", "b")],
        &[("private-token", "a")],
        &[key, ("private-token", "a")],
        &[key, basic],
        &[key, ("authorization", "Basic djpw")],
        &[key, ("authorization", "Bearer x")],
        &[basic],
    ] {
        let (key, credentials) = places(rows);
        assert!(credentials && seen.insert(key), "{rows:?}");
    }
    assert_eq!(places(&[key, ("private-token", "a")]), places(&[("private-token", "a"), key]));
    assert_eq!(places(&[("x-csrf-token", "a")]), places(&[]));
}

#[test]
fn a_request_with_a_login_does_not_accept_anonymous_responses() {
    let none = HeaderMap::new();
    let stranger = Places::of(&mut url("http://h.example/"), &none, &Owner::Local);
    let known = Places::of(&mut url("http://u:p@h.example/"), &none, &Owner::Local);
    let plain = fields(&[("cache-control", "max-age=60")]);
    let marked = fields(&[("cache-control", "Public, max-age=60")]);
    let both = fields(&[("cache-control", "public, private")]);
    let checked = fields(&[("cache-control", "max-age=60, must-revalidate")]);
    for shared in [false, true] {
        assert!(stranger.accepts_public(&plain, shared));
        assert!(stranger.accepts_public(&marked, shared));
        assert!(!known.accepts_public(&plain, shared) && known.accepts_public(&marked, shared));
        assert!(!known.accepts_public(&both, shared));
        assert_eq!(known.accepts_public(&checked, shared), shared);
    }
}
