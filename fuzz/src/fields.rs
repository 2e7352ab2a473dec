//! Untrusted header fields: the parsed value compared with simple statements about the text. The
//! first byte selects the check.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    ETAG, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, PRAGMA, TRANSFER_ENCODING,
};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use wwwoffle::base::basic::Login;
use wwwoffle::proxy::intent::intent;
use wwwoffle::proxy::rules::FilterContext;
use wwwoffle::proxy::site::{Door, HttpsSite};
use wwwoffle::proxy::target::{self, Resource, Target};
use wwwoffle_http::caching::coding::{AcceptedCodings, CodingTerms};
use wwwoffle_http::caching::conditional::{self, Conditions};
use wwwoffle_http::caching::control::{RequestControl, ResponseControl};
use wwwoffle_http::caching::language::Languages;
use wwwoffle_http::caching::validate::{ConditionalRequest, compare_head, merge_fields};
use wwwoffle_http::caching::vary::{
    MAX_TEXT, StoredVariant, UNREPEATABLE, Vary, fits, nearest, select, variant_text,
};
use wwwoffle_http::caching::{date, freshness, invalidate};
use wwwoffle_http::fields::{has_member, list, strip_one_hop};
use wwwoffle_http::head;
use wwwoffle_url::LocalHost;

use super::input::Input;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.byte();
    match kind {
        b'a' => cache_control(input),
        b'd' => dates(input),
        b'v' => variants(input),
        b'e' => codings(input),
        b'l' => languages(input),
        b'c' => conditions(input),
        b'q' => questions(input),
        b'b' => logins(input),
        b'h' => heads(input.rest()),
        b't' => targets(input),
        b'1' => one_hop(input),
        _ => everything(input),
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_132_800)
}

fn lines(name: &HeaderName, input: &mut Input<'_>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    while !input.is_empty() && fields.len() < 8 {
        if let Ok(value) = HeaderValue::from_bytes(input.line_of_bytes()) {
            fields.append(name, value);
        }
    }
    fields
}

/// Checks that a plainly visible directive is obeyed, in however many lines the field is split.
fn cache_control(mut input: Input<'_>) {
    let fields = lines(&CACHE_CONTROL, &mut input);
    let (answer, request) = (ResponseControl::of(&fields), RequestControl::of(&fields));
    let values: Vec<_> = fields.get_all(CACHE_CONTROL).iter().collect();
    let Ok(texts) = values.iter().map(|value| value.to_str()).collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let is_quoted = texts.iter().any(|text| text.contains(['"', '\\']));
    if !is_quoted {
        let has = |name: &str| {
            let mut members = texts.iter().flat_map(|text| text.split(','));
            members.any(|member| {
                member.split('=').next().unwrap_or_default().trim().eq_ignore_ascii_case(name)
            })
        };
        assert_eq!(answer.no_store, has("no-store"), "{texts:?}");
        assert_eq!(request.no_store, has("no-store"), "{texts:?}");
        assert_eq!(answer.must_revalidate, has("must-revalidate"), "{texts:?}");
        assert_eq!(request.only_if_cached, has("only-if-cached"), "{texts:?}");
        assert!(has("no-cache") <= request.is_reload(), "{texts:?}");
        let joined = HeaderValue::from_str(&texts.join(", ")).expect("they were visible");
        let one = HeaderMap::from_iter([(CACHE_CONTROL, joined)]);
        assert_eq!(ResponseControl::of(&one), answer, "{texts:?}");
        assert_eq!(RequestControl::of(&one), request, "{texts:?}");
    }
    let pragma = fields.into_iter().map(|(_, value)| (PRAGMA, value)).collect();
    let _ = RequestControl::of(&pragma);
}

/// Checks that the result equals that of another parser, if the other parser accepts the same form
/// of a date.
fn dates(mut input: Input<'_>) {
    let text = input.line();
    let found = date::parse(text, now());
    let theirs = httpdate::parse_http_date(text).ok();
    let is_fixed = text.len() == 29 && text.as_bytes().get(3) == Some(&b',');
    // The other parser uses another century for two digits, and other leap seconds.
    if let (Some(found), Some(theirs), true) = (found, theirs, is_fixed && !text.contains(":60")) {
        assert_eq!(found, theirs, "{text:?}");
    }
    if let Some(found) = found
        && found >= SystemTime::UNIX_EPOCH
    {
        let written = httpdate::fmt_http_date(found);
        assert_eq!(date::parse(&written, now()), Some(found), "{text:?}");
        assert_eq!(date::parse(text, now()), Some(found));
    }
}

/// Checks that a variant matches its own request, and no request that differs in a field of its
/// `Vary`.
fn variants(mut input: Input<'_>) {
    let (answer, request, other) = (input.fields(), input.fields(), input.fields());
    let text = variant_text(&answer, &request);
    let variant = text.as_deref().unwrap_or(UNREPEATABLE);
    assert!(variant.len() <= MAX_TEXT && variant.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    let stored = |fields| StoredVariant { fields, variant, request: &request, received: now() };
    let one = stored(&answer);
    let by = Vary::of(&answer);
    match &by {
        Vary::By(names) => {
            assert!(fits(&one, &request), "{variant:?}");
            assert_eq!(select(&[one, one], &request), Some(0));
            let differs = |name: &HeaderName| {
                let others: Vec<_> = other.get_all(name).iter().collect();
                request.get_all(name).iter().collect::<Vec<_>>() != others
            };
            if !names.iter().any(differs) {
                assert_eq!(text, by.text(&other));
                assert!(fits(&one, &other));
            } else if by.text(&other) != text && !names.contains(&hyper::header::ACCEPT_LANGUAGE) {
                assert!(!fits(&one, &other), "{variant:?} {:?}", by.text(&other));
            }
            let is_absent =
                |name: &HeaderName| request.contains_key(name) != other.contains_key(name);
            if names.iter().any(is_absent) {
                assert_ne!(by.text(&other), text, "to have none is to differ");
            }
        }
        Vary::ByMore => assert!(!fits(&one, &request) && select(&[one], &request).is_none()),
    }
    assert_eq!(nearest(&[one], &other).is_some(), nearest(&[one], &request).is_some());
    let plain = HeaderMap::new();
    let several = [one, stored(&other), stored(&plain)];
    if let Some(index) = select(&several, &request) {
        assert!(index < several.len());
    }
}

/// Checks that a client gets only codings that it accepts, and that they are declared.
fn codings(mut input: Input<'_>) {
    let (is_file, is_shared) = (input.flag(), input.flag());
    let status = StatusCode::from_u16(input.pick(&[200, 206, 404])).expect("each is one");
    let (request, answer) = (input.fields(), input.fields());
    let accepted = AcceptedCodings::of(&request);
    let terms = CodingTerms::of(&request, is_shared, is_file);
    let delivery = terms.deliver(status, &answer);
    let mut amended = answer.clone();
    delivery.amend(&mut amended);
    if delivery.is_decoded() {
        assert!(
            list(&amended, &CONTENT_ENCODING).all(|name| accepted.accepts(name)),
            "{delivery:?}"
        );
        assert!(!amended.contains_key(CONTENT_LENGTH));
        assert!(amended.get(ETAG).is_none_or(|tag| tag.as_bytes().starts_with(b"W/")));
        assert!(
            !ResponseControl::of(&answer).no_transform && status != StatusCode::PARTIAL_CONTENT
        );
        assert!(!RequestControl::of(&request).no_transform);
    } else {
        assert_eq!(answer.get(CONTENT_ENCODING), amended.get(CONTENT_ENCODING));
        assert_eq!(answer.get(CONTENT_LENGTH), amended.get(CONTENT_LENGTH));
    }
    let mut asked = request.clone();
    terms.strip(&mut asked);
    terms.write_accept_encoding(&mut asked);
    if is_shared {
        assert_eq!(asked.get_all(ACCEPT_ENCODING).iter().count(), 1);
    }
    let reader = CodingTerms::of_a_reader().deliver(status, &answer);
    let _ = reader.is_readable();
}

/// Checks that the normalised spelling parses to the same languages.
fn languages(mut input: Input<'_>) {
    let (text, tag) = (input.line(), input.line());
    let Some(languages) = Languages::parse(text) else { return };
    let spelled = languages.text();
    assert_eq!(Languages::parse(&spelled).as_ref(), Some(&languages), "{spelled:?}");
    assert!(languages.weight_of(tag) <= 1_000);
    if let Some(favourite) = languages.favourite() {
        assert!(languages.weight_of(favourite) >= languages.weight_of(tag));
    }
}

/// Checks that `304` is only sent for a copy that the client has.
fn conditions(mut input: Input<'_>) {
    let (mut request, answer) = (input.fields(), input.fields());
    let conditions = Conditions::of(&request);
    let is_met = conditions.are_met_by(StatusCode::OK, &answer);
    assert!(!conditions.are_met_by(StatusCode::NOT_FOUND, &answer));
    if is_met {
        assert!(request.contains_key(IF_NONE_MATCH) || request.contains_key(IF_MODIFIED_SINCE));
        let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
        let tag = answer.get(ETAG).and_then(|tag| tag.to_str().ok()).map(opaque);
        let mut given = list(&request, &IF_NONE_MATCH).map(opaque);
        if list(&request, &IF_NONE_MATCH).next().is_some() {
            assert!(given.any(|given| given == "*" || Some(given) == tag));
        }
    }
    let mut short = answer.clone();
    conditional::not_modified(&mut short);
    assert_eq!(short.get(ETAG), answer.get(ETAG));
    conditional::strip(&mut request);
    assert_eq!(Conditions::of(&request), Conditions::default());
}

/// Checks that a `304` updates only the response that was asked about, and changes no field that
/// belongs to the body.
fn questions(mut input: Input<'_>) {
    let (personal, own) = (input.flag(), usize::from(input.byte() % 4));
    let request = input.fields();
    let answers = [input.fields(), input.fields(), input.fields()];
    let newer = input.fields();
    let texts: Vec<_> = answers.iter().map(|answer| variant_text(answer, &request)).collect();
    let stored: Vec<_> = answers
        .iter()
        .zip(&texts)
        .map(|(fields, text)| StoredVariant {
            fields,
            variant: text.as_deref().unwrap_or(UNREPEATABLE),
            request: &request,
            received: now(),
        })
        .collect();
    let question = ConditionalRequest::for_stored(&stored, (own < 3).then_some(own), personal);
    let mut asked = request.clone();
    conditional::strip(&mut asked);
    question.add_to(&mut asked);
    for tag in list(&asked, &IF_NONE_MATCH) {
        let is_in = |answer: &HeaderMap| answer.get(ETAG).is_some_and(|own| list_holds(own, tag));
        assert!(answers.iter().any(is_in), "{tag:?} is nobody's");
    }
    if question.is_empty() {
        assert!(!asked.contains_key(IF_NONE_MATCH) && !asked.contains_key(IF_MODIFIED_SINCE));
    }
    for question in [question.clone(), question.by_date()] {
        if let Some(holding) = question.match_not_modified(&stored, &request, &newer) {
            assert!(!question.is_empty() && holding.serve < stored.len());
            assert!(holding.update.iter().all(|index| fits(&stored[*index], &request)));
        }
    }
    let after = merge_fields(&answers[0], &newer);
    for name in [CONTENT_LENGTH, CONTENT_ENCODING, ETAG] {
        assert_eq!(after.get(&name), answers[0].get(&name));
    }
    let once_more = merge_fields(&after, &newer);
    assert_eq!(once_more, after, "news are no news twice");
    let _ = compare_head(&answers[0], 5, StatusCode::OK, &newer);
}

/// Whether the ETag `own` contains `tag`. An invalid ETag may contain commas, and then a list
/// contains only pieces of it.
fn list_holds(own: &HeaderValue, tag: &str) -> bool {
    own.to_str().is_ok_and(|own| own.contains(tag))
}

/// Checks that a login is parsed as written, and that taking it removes it.
fn logins(mut input: Input<'_>) {
    let raw = input.line_of_bytes();
    if let Ok(value) = HeaderValue::from_bytes(raw) {
        let _ = Login::parse(&value);
        let mut fields = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        let _ = Login::take(&mut fields, &AUTHORIZATION);
        assert!(fields.is_empty());
    }
    let (user, password) = (input.line_of_bytes(), input.rest());
    if user.contains(&b':') {
        return;
    }
    let pair = BASE64_STANDARD.encode([user, b":", password].concat());
    let value = HeaderValue::from_str(&format!("Basic {pair}")).expect("it is visible");
    let login = Login::parse(&value).expect("it is a login");
    assert_eq!((login.user.as_slice(), login.password.as_slice()), (user, password));
    assert_eq!(format!("{login:?}"), "Login(…)");
}

/// Checks that heads are read from the spool as they were written.
fn heads(bytes: &[u8]) {
    if let Ok((status, fields)) = head::read_response(bytes) {
        let written = head::write_response(status, &fields);
        let (status_again, fields_again) = head::read_response(&written).expect("it was written");
        assert_eq!((status_again, &fields_again), (status, &fields));
        let _ = freshness::current_age(
            &fields,
            freshness::ExchangeTimes { sent: now(), received: now() },
            now(),
        );
    }
    if let Ok(request) = head::read_request(bytes, b"") {
        let (open, secrets) =
            (head::write_request(&request), head::write_secrets(&request.headers));
        let again = head::read_request(&open, &secrets).expect("it was written");
        assert_eq!((&again.method, &again.uri), (&request.method, &request.uri));
        for name in request.headers.keys() {
            let all = |fields: &HeaderMap| fields.get_all(name).iter().cloned().collect::<Vec<_>>();
            assert_eq!(all(&again.headers), all(&request.headers));
        }
        let written = head::read_request(&open, b"").expect("it was written");
        for name in written.headers.keys() {
            assert!(!head::is_secret(name), "{name} in clear");
        }
    }
    if let Ok(fields) = head::read_lines(bytes) {
        assert_eq!(
            head::read_lines(&head::write_lines(&fields)).expect("they were written"),
            fields
        );
    }
}

/// Checks that the host to which a request is sent is the host in its key.
fn targets(mut input: Input<'_>) {
    let door = match input.byte() % 3 {
        0 => Door::Plain,
        1 => Door::Secured,
        _ => match HttpsSite::of(input.line(), 8443, &LocalHost::default()) {
            Ok(site) => Door::Site(site.into()),
            Err(_) => return,
        },
    };
    let version = input.pick(&[Version::HTTP_11, Version::HTTP_10, Version::HTTP_2]);
    let method = input.pick(&["GET", "CONNECT", "OPTIONS"]);
    let uri = input.line();
    let local = LocalHost::default();
    let Ok(request) = Request::builder().method(method).uri(uri).version(version).body(()) else {
        return;
    };
    let mut parts = request.into_parts().0;
    parts.headers = input.fields();
    match target::read(&parts, &local, &door) {
        Ok(Target::Resource(resource)) => {
            is_one_resource(&resource);
            if let Door::Site(site) = &door {
                assert!(site.has(&resource.url), "{resource:?}");
            }
        }
        Ok(Target::Own(url)) => assert!(url.is_local() && !matches!(door, Door::Site(_))),
        Ok(Target::Tunnel(origin)) => assert!(origin.port > 0 && !origin.host.contains('@')),
        Ok(Target::Everything) => assert_eq!(parts.method, Method::OPTIONS),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(resource) = target::of_url(uri, &local) {
        is_one_resource(&resource);
    }
}

fn is_one_resource(resource: &Resource) {
    assert!(!resource.url.is_local(), "{resource:?}");
    assert_eq!(resource.origin.host, resource.url.host());
    assert_eq!(Some(resource.origin.port), resource.url.port_or_default());
    let host = resource.host.to_str().expect("it was text");
    assert!(!host.contains(['@', '/', ' ']), "{resource:?}");
}

/// Checks that no hop-by-hop field is forwarded.
fn one_hop(mut input: Input<'_>) {
    let fields = input.fields();
    let mut passed = fields.clone();
    strip_one_hop(&mut passed);
    assert!(!passed.contains_key(CONNECTION) && !passed.contains_key(TRANSFER_ENCODING));
    for name in passed.keys() {
        let is_named = list(&fields, &CONNECTION).take(64).any(|named| name == named);
        assert!(!is_named, "{name}");
        assert_eq!(passed.get(name), fields.get(name));
    }
    let mut again = passed.clone();
    strip_one_hop(&mut again);
    assert_eq!(again, passed);
}

/// Calls all other readers of request and response fields.
fn everything(mut input: Input<'_>) {
    let (request, answer) = (input.fields(), input.fields());
    let local = LocalHost::default();
    let _ = intent(&Method::GET, &request);
    let _ = FilterContext::of(&request, &local);
    let _ = has_member(&request, &CONNECTION, "close");
    if let Ok(url) = wwwoffle_url::CanonicalUrl::parse("http://h.example/a", &local) {
        for url in
            invalidate::invalidated_urls(&Method::POST, &url, StatusCode::OK, &answer, &local)
        {
            assert_eq!(url.host(), "h.example", "a change makes only its own host's pages invalid");
        }
    }
}
