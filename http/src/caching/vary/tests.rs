use super::*;
use http::header::{AUTHORIZATION, COOKIE};
use std::time::Duration;
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The fields in `Name: value; Name: value`.
fn fields(text: &str) -> HeaderMap {
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        let name = HeaderName::from_bytes(name.trim().as_bytes()).unwrap();
        // Trimmed as a request parser does; inner spaces remain.
        let value = value.trim_matches(' ');
        (name, HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    let mut all = HeaderMap::new();
    // In these tables a weight has no space after its semicolon, so `; ` separates only fields.
    for (name, value) in text.split("; ").filter(|line| !line.is_empty()).map(field) {
        all.append(name, value);
    }
    all
}

fn varying(text: &str) -> HeaderMap {
    let lines: Vec<_> = text.split(';').map(|line| format!("Vary: {line}")).collect();
    if text == "-" { HeaderMap::new() } else { fields(&lines.join("; ")) }
}

#[test]
fn the_text_of_a_variant_has_its_selecting_fields() {
    let mut wrong = Vec::new();
    for (number, row) in (1..).zip(include_str!("texts.txt").lines()) {
        let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
            continue;
        };
        let (vary, request) = given.split_once('|').unwrap();
        let (vary, request) = (varying(vary.trim()), fields(request.trim_start()));
        let got = variant_text(&vary, &request).unwrap_or_else(|| "none".to_owned());
        if got != want.trim() {
            wrong.push(format!("texts.txt:{number}: {} got {got}", row.trim()));
        }
        assert!(got.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{got:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_text_of_a_variant_is_limited() {
    let names: Vec<_> = (0..MAX_NAMES).map(|n| format!("x-{n:062}")).collect();
    let vary = |names: &[String]| {
        HeaderMap::from_iter([(VARY, HeaderValue::from_str(&names.join(",")).unwrap())])
    };
    let value = HeaderValue::from_bytes(&[b'\xe9'; 5_000]).unwrap();
    let request = names.iter().map(|name| (name.parse().unwrap(), value.clone())).collect();
    let text = variant_text(&vary(&names), &request).unwrap();
    assert!(text.len() <= MAX_TEXT, "{}", text.len());
    let more: Vec<_> = (0..=MAX_NAMES).map(|n| format!("x-{n}")).collect();
    assert_eq!(Vary::of(&vary(&more)), Vary::ByMore);
    assert_eq!(Vary::of(&vary(&["x".repeat(MAX_NAME + 1)])), Vary::ByMore);
}

/// A stored response: its request, its fields with a `Date`, and its variant text.
struct StoredExchange {
    request: HeaderMap,
    fields: HeaderMap,
    variant: String,
}

impl StoredExchange {
    fn new(request: &str, answer: &str, second: u64) -> Self {
        let (request, mut fields) = (fields(request), fields(answer));
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        fields.insert(DATE, httpdate::fmt_http_date(date).parse().unwrap());
        let variant = variant_text(&fields, &request).unwrap_or_else(|| UNREPEATABLE.to_owned());
        Self { request, fields, variant }
    }

    fn stored(&self) -> StoredVariant<'_> {
        let received = SystemTime::UNIX_EPOCH;
        let Self { request, fields, variant } = self;
        StoredVariant { fields, variant, request, received }
    }
}

const BY_LANGUAGE: &str = "Vary: Accept-Language; Content-Language: ";

#[test]
fn the_newest_best_match_is_chosen() {
    let language = |language: &str| format!("{BY_LANGUAGE}{language}");
    let german = StoredExchange::new("Accept-Language: de", &language("de"), 10);
    let older = StoredExchange::new("Accept-Language: de", &language("de"), 5);
    let english = StoredExchange::new("Accept-Language: en, fr", &language("en"), 20);
    let austrian = StoredExchange::new("Accept-Language: de-AT, de;q=0.5", &language("de"), 30);
    let unvaried = StoredExchange::new("", "Content-Language: it", 40);
    let unrepeatable = StoredExchange::new("Accept-Language: de", "Vary: *", 50);
    let by_two = StoredExchange::new("Foo: 1; Bar: 2", "Vary: Foo, Bar", 7);
    let all = [&german, &older, &english, &austrian, &unvaried, &unrepeatable, &by_two];
    for (kept, request, want, near) in [
        (&all[..3], "Accept-Language: DE", Some(0), 0),
        (&all[1..2], "Accept-Language: de;q=1.0", Some(0), 0),
        // An exact fit takes precedence over a newer response in the same language.
        (&all[..4], "Accept-Language: de", Some(0), 0),
        // Without an exact fit: the preferred language, then the newest.
        (&all[..4], "Accept-Language: fr;q=0.5, de;q=1.0", Some(3), 3),
        (&all[..4], "Accept-Language: fr, de", None, 3),
        (&all[..4], "Accept-Language: fr, en;q=0.1, de;q=0.2", None, 3),
        (&all[..4], "Accept-Language: fr, en;q=0.2, de;q=0.1", None, 2),
        (&all[..4], "Accept-Language: fr", None, 3),
        (&all[..4], "", None, 3),
        // A response without `Vary` fits every request, but a response with `Vary` takes
        // precedence.
        (&all[..5], "Accept-Language: fr", Some(4), 4),
        (&all[..5], "Accept-Language: de", Some(0), 0),
        // A response with `Vary: *` is never reused online, but offline it is better than none.
        (&all[5..6], "Accept-Language: de", None, 0),
        (&all[6..], "Foo: 1; Bar: 2", Some(0), 0),
        (&all[6..], "Foo: 1; Bar: 3", None, 0),
        (&all[6..], "Foo: 1", None, 0),
        (&[][..], "", None, usize::MAX),
    ] {
        let stored: Vec<_> = kept.iter().map(|kept| kept.stored()).collect();
        let request = fields(request);
        assert_eq!(select(&stored, &request), want, "{request:?}");
        assert_eq!(nearest(&stored, &request), Some(near).filter(|near| *near < usize::MAX));
        for (index, stored) in stored.iter().enumerate().filter(|_| want.is_none()) {
            assert!(!fits(stored, &request), "{index} {request:?}");
        }
    }
}

#[test]
fn a_page_without_vary_is_selected_for_every_request() {
    let german = StoredExchange::new("Accept-Language: de", "Vary: Accept-Language", 1);
    let newer = StoredExchange::new("Accept-Language: de", "Content-Type: text/html", 2);
    let stored = [german.stored(), newer.stored()];
    // Both were stored for a request with the same fields as this one, so the newer one is selected.
    assert_eq!(select(&stored, &fields("Accept-Language: de")), Some(1));
    assert_eq!(nearest(&stored, &fields("Accept-Language: de")), Some(1));
    // The newer response has no `Vary`, so it also fits every other request.
    assert_eq!(select(&stored, &fields("Accept-Language: en")), Some(1));
    let german = StoredExchange::new("Accept-Language: de", "Vary: Accept-Language", 1);
    let default = StoredExchange::new("", "Content-Type: text/html", 2);
    let stored = [german.stored(), default.stored()];
    assert_eq!(select(&stored, &fields("Accept-Language: de")), Some(0));
}

#[test]
fn the_variant_with_the_fewest_differences_is_nearest() {
    let one = StoredExchange::new("Foo: 1; Bar: 2", "Vary: Foo, Bar, Accept-Language", 1);
    let two = StoredExchange::new("Foo: 3; Bar: 2", "Vary: Foo, Bar", 2);
    let stored = [one.stored(), two.stored()];
    assert_eq!(nearest(&stored, &fields("Foo: 1; Bar: 4; Accept-Language: de")), Some(0));
    assert_eq!(nearest(&stored, &fields("Foo: 3; Bar: 4")), Some(1));
    assert_eq!(nearest(&stored, &fields("Foo: 5; Bar: 2")), Some(1));
}

#[test]
fn a_newer_vary_is_compared_with_the_recorded_request() {
    // A `304` extended `Vary`: the recorded request decides.
    let mut kept = StoredExchange::new("Foo: 1; Bar: 2", "Vary: Foo", 1);
    kept.fields.insert(VARY, HeaderValue::from_static("Foo, Bar"));
    assert!(fits(&kept.stored(), &fields("Foo: 1; Bar: 2")));
    assert!(!fits(&kept.stored(), &fields("Foo: 1; Bar: 3")));
    // Secret fields are not recorded, so equality is unknown.
    for name in [COOKIE, AUTHORIZATION] {
        kept.fields.insert(VARY, HeaderValue::from_name(name));
        assert!(!fits(&kept.stored(), &fields("Foo: 1")));
    }
}

#[test]
fn secrets_are_compared_although_they_are_not_recorded() {
    let mut kept = StoredExchange::new("Cookie: id=1", "Vary: Cookie", 1);
    kept.request.remove(COOKIE);
    assert!(fits(&kept.stored(), &fields("Cookie: id=1")));
    assert!(!fits(&kept.stored(), &fields("Cookie: id=2")));
    assert!(!fits(&kept.stored(), &fields("")));
}

#[test]
fn rules_change_the_fields_that_select_a_response() {
    let config = "[offline-options]\nnear-headers = [\"X-Time\", \"Cookie\"]\n\
                  match-headers = [\"SOAPAction\"]\n";
    let config = wwwoffle_config::Config::parse(config, std::path::Path::new("w.conf")).unwrap();
    let options = &config.offline_options;
    let url = CanonicalUrl::parse("http://a.test/", &LocalHost::default()).unwrap();
    let url = wwwoffle_config::UrlParts::of(&url);
    let rules = VaryRules {
        ignored: options.near_headers.of(&url).clone(),
        added: options.match_headers.of(&url).clone(),
    };
    for (vary, want) in [
        ("-", "soapaction"),
        ("X-Time", "soapaction"),
        ("x-time, Accept-Encoding; SoapAction", "accept-encoding, soapaction"),
        ("Cookie", "cookie, soapaction"),
        ("*", "*"),
    ] {
        let mut answer = varying(vary);
        rules.amend(&mut answer);
        assert_eq!(answer.get_all(VARY).iter().collect::<Vec<_>>(), [want], "{vary}");
    }
    let mut answer = varying("X-Time, x-time");
    VaryRules::default().amend(&mut answer);
    assert_eq!(answer.get(VARY).unwrap(), "X-Time, x-time");
    VaryRules { added: HeaderNames::default(), ..rules.clone() }.amend(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    let request = fields("SOAPAction: a; X-Time: 1");
    let received = SystemTime::UNIX_EPOCH;
    let stored = StoredVariant { fields: &answer, variant: "", request: &request, received };
    for (asked, want) in [("SOAPAction: a; X-Time: 2", true), ("SOAPAction: b", false), ("", false)]
    {
        assert_eq!(rules.accept(&stored, &fields(asked)), want, "{asked}");
    }
}
