//! Whether a stored response may be used, and how a request is handled: the steps from fields to
//! decision, compared with a small model of the rules and with invariants.

use std::time::{Duration, SystemTime};

use hyper::header::{
    AGE, CACHE_CONTROL, DATE, EXPIRES, HeaderName, HeaderValue, LAST_MODIFIED, PRAGMA,
};
use hyper::{HeaderMap, StatusCode};
use wwwoffle::base::mode::Mode;
use wwwoffle::proxy::decide::{
    CopyState, Decision, DecisionInput, DecisionRefusal, MethodKind, OnlineUse, Queueing, decide,
};
use wwwoffle::proxy::intent::Intent;
use wwwoffle::proxy::rules::StoragePolicy;
use wwwoffle_http::caching::control::RequestControl;
use wwwoffle_http::caching::freshness::{ExchangeTimes, Heuristics};
use wwwoffle_http::caching::reuse::{
    Overrides, Policy, Recheck, Reuse, StoredResponse, Unreachable, Verdict, decide_reuse,
};
use wwwoffle_http::caching::storing::RequestFacts;

use super::input::Input;

/// The reference time of the cases, in seconds since 1970.
const MIDNIGHT: u64 = 1_795_132_800;

const STATUSES: [u16; 16] =
    [200, 200, 200, 200, 203, 204, 206, 301, 302, 304, 307, 404, 410, 500, 503, 299];

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let case = Case::of(&mut input);
    let verdict = case.verdict();
    case.is_as_the_model_says(&verdict);
    case.forbids_what_is_forbidden(&verdict);
    let control = RequestControl::of(&case.request);
    let asked = DecisionInput {
        reload: control.is_reload(),
        only_if_cached: control.only_if_cached,
        ..asked(&mut input)
    };
    let copy =
        input.pick(&[CopyState::Whole, CopyState::Whole, CopyState::Uncoded, CopyState::Nothing]);
    for mode in [Mode::Online, Mode::Autodial, Mode::Offline] {
        let decision = decide(mode, copy, verdict.reuse.into(), asked);
        is_sound(mode, copy, verdict.reuse.into(), asked, decision);
        if mode == Mode::Online && asked.standing == StoragePolicy::Usual && !asked.form_answer {
            case.is_used_only_if_it_may(&verdict, copy, asked, decision);
        }
    }
}

/// A response, the request for which it might be used, and the time.
struct Case {
    status: StatusCode,
    answer: Answer,
    fields: HeaderMap,
    directives: RequestDirectives,
    request: HeaderMap,
    policy: Policy,
    exchange: ExchangeTimes,
    now: SystemTime,
    requested: RequestFacts,
    is_invalid: bool,
}

/// The values from which the fields of the response are written.
#[derive(Debug, Default)]
struct Answer {
    max_age: Option<u16>,
    s_maxage: Option<u16>,
    expires: Option<i64>,
    date: Option<i64>,
    age: Option<u16>,
    words: u16,
    while_revalidate: Option<u16>,
    if_error: Option<u16>,
}

const WORDS: [&str; 10] = [
    "no-store",
    "no-cache",
    "private",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "immutable",
    "no-transform",
    "x-unknown=\"a, no-store\"",
];

impl Answer {
    fn says(&self, word: &str) -> bool {
        WORDS.iter().zip(0..).any(|(known, bit)| *known == word && self.words >> bit & 1 == 1)
    }
}

/// The values from which the fields of the request are written.
#[derive(Debug, Default)]
struct RequestDirectives {
    max_age: Option<u16>,
    max_stale: Option<Option<u16>>,
    min_fresh: Option<u16>,
    words: u8,
}

impl RequestDirectives {
    fn no_store(&self) -> bool {
        self.words & 4 != 0
    }
}

fn at(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(MIDNIGHT.saturating_add_signed(seconds))
}

fn date(seconds: i64) -> HeaderValue {
    HeaderValue::from_str(&httpdate::fmt_http_date(at(seconds))).expect("a date is visible")
}

fn offset(number: u16) -> i64 {
    i64::from(number) - (1 << 15)
}

impl Case {
    fn of(input: &mut Input<'_>) -> Self {
        let status = StatusCode::from_u16(input.pick(&STATUSES)).expect("each is one");
        let answer = Answer {
            max_age: input.maybe(),
            s_maxage: input.maybe(),
            expires: input.maybe().map(offset),
            date: input.maybe().map(offset),
            age: input.maybe(),
            words: input.number(),
            while_revalidate: input.maybe(),
            if_error: input.maybe(),
        };
        let modified = input.maybe().map(offset);
        let directives = RequestDirectives {
            max_age: input.maybe(),
            max_stale: input.flag().then(|| input.maybe()),
            min_fresh: input.maybe(),
            words: input.byte(),
        };
        let delay = i64::from(input.byte());
        let exchange = ExchangeTimes { sent: at(-delay), received: at(0) };
        Self {
            status,
            fields: fields_of(&answer, modified, input.byte()),
            answer,
            request: request_of(&directives),
            directives,
            policy: policy(input),
            exchange,
            now: at(i64::from(input.number()) - 100),
            requested: RequestFacts { no_store: input.flag(), credentials: input.flag() },
            is_invalid: input.byte() % 8 == 1,
        }
    }

    fn verdict(&self) -> Verdict {
        let stored = StoredResponse {
            status: self.status,
            fields: &self.fields,
            exchange: self.exchange,
            requested: self.requested,
            is_invalid: self.is_invalid,
        };
        decide_reuse(&stored, &RequestControl::of(&self.request), &self.policy, self.now)
    }

    /// The age and the lifetime in seconds, exactly by RFC 9111 §4.2. The lifetime is `None` if it
    /// is not explicit.
    fn model(&self) -> (i64, Option<i64>) {
        let seconds = |later: SystemTime, earlier| {
            later.duration_since(earlier).map_or(0, |time| time.as_secs().cast_signed())
        };
        let ExchangeTimes { sent: asked, received } = self.exchange;
        let apparent = self.answer.date.map_or(0, |date| seconds(received, at(date)));
        let corrected = i64::from(self.answer.age.unwrap_or(0)) + seconds(received, asked);
        let age = apparent.max(corrected) + seconds(self.now, received);
        let lifetime = match self.answer {
            Answer { s_maxage: Some(time), .. } if self.policy.shared => Some(i64::from(time)),
            Answer { max_age: Some(time), .. } => Some(i64::from(time)),
            Answer { expires: Some(expires), date, .. } => {
                Some((expires - date.unwrap_or(0)).max(0))
            }
            _ => None,
        };
        (age, lifetime)
    }

    /// Checks that the verdict is that of the standard, for a plain 200 with an explicit lifetime
    /// and without overriding options.
    fn is_as_the_model_says(&self, verdict: &Verdict) {
        let (age, lifetime) = self.model();
        let is_set_back = at(0) > self.now + Duration::from_secs(60);
        if let Some(lifetime) = lifetime {
            assert_eq!(verdict.freshness.ttl(), lifetime - age);
            assert_eq!(verdict.freshness.is_fresh(), lifetime > age && !is_set_back);
        }
        let (Some(lifetime), 200, true) =
            (lifetime, self.status.as_u16(), self.policy.overrides == Overrides::default())
        else {
            return;
        };
        let (answer, shared) = (&self.answer, self.policy.shared);
        let requires_fresh = self.directives.max_age.is_some_and(|most| age > i64::from(most))
            || self.directives.min_fresh.is_some_and(|least| lifetime - age < i64::from(least));
        let is_usable = !self.is_withheld() && !self.is_invalid && !answer.says("no-cache");
        // RFC 9111 §5.4: `Pragma` counts if there is no `Cache-Control`.
        let is_pragma = self.directives.words & 2 != 0 && !self.request.contains_key(CACHE_CONTROL);
        let asks_anew = self.directives.words & 1 != 0 || is_pragma || self.directives.no_store();
        let reload = asks_anew || self.directives.max_age == Some(0);
        let is_fresh = lifetime > age && !is_set_back;
        let is_hit = is_usable && !reload && is_fresh && !requires_fresh;
        assert_eq!(verdict.reuse == Reuse::Fresh, is_hit, "{answer:?} {:?}", self.directives);
        if verdict.reuse == Reuse::StaleTaken {
            let most = self.directives.max_stale.expect("nobody else takes it");
            assert!(most.is_none_or(|most| age - lifetime <= i64::from(most)));
        }
        if verdict.reuse == Reuse::Refreshing {
            let most = answer.while_revalidate.expect("only then");
            assert!(age - lifetime <= i64::from(most));
        }
        if matches!(verdict.reuse, Reuse::StaleTaken | Reuse::Refreshing) {
            assert!(!is_fresh && is_usable && !reload && !answer.says("must-revalidate"));
            assert!(!(shared && (answer.says("proxy-revalidate") || answer.s_maxage.is_some())));
        }
    }

    /// Whether the response must never be reused (RFC 9111 §3), whatever the options are.
    fn is_withheld(&self) -> bool {
        let (answer, shared) = (&self.answer, self.policy.shared);
        // With `must-understand`, `no-store` is ignored if the status is understood.
        let no_store = answer.says("no-store") && !answer.says("must-understand");
        let may_share =
            answer.says("public") || answer.says("must-revalidate") || answer.s_maxage.is_some();
        no_store
            || self.requested.no_store
            || (answer.says("must-understand") && self.status.as_u16() == 299)
            || (shared && answer.says("private"))
            || (shared && self.requested.credentials && !may_share)
            || matches!(self.status.as_u16(), 206 | 304)
    }

    fn forbids_what_is_forbidden(&self, verdict: &Verdict) {
        if self.is_withheld() {
            assert!(matches!(verdict.reuse, Reuse::Withheld(_)), "{:?}", verdict.reuse);
            assert_eq!(verdict.unreachable, Unreachable::Forbidden);
        }
        if self.is_invalid {
            assert!(matches!(verdict.reuse, Reuse::Withheld(_) | Reuse::Validate(_)));
        }
        if verdict.instead_of_error {
            assert_ne!(verdict.unreachable, Unreachable::Forbidden);
        }
        if !self.policy.serve_unreachable {
            assert_ne!(verdict.unreachable, Unreachable::ServeOverruled);
        }
        if self.answer.says("must-revalidate") && !verdict.freshness.is_fresh() {
            assert_ne!(verdict.unreachable, Unreachable::Serve);
        }
    }

    fn is_used_only_if_it_may(
        &self,
        verdict: &Verdict,
        copy: CopyState,
        asked: DecisionInput,
        decision: Decision,
    ) {
        let is_used = matches!(decision, Decision::Serve | Decision::ServeAndRevalidate);
        if self.is_withheld() {
            assert!(!is_used && decision != Decision::Revalidate, "{decision:?}");
        }
        if is_used {
            assert!(matches!(verdict.reuse, Reuse::Fresh | Reuse::StaleTaken | Reuse::Refreshing));
            assert!(copy != CopyState::Nothing && !asked.reload, "{decision:?}");
        }
        let is_get = asked.method == MethodKind::Get && !asked.upgrade && !asked.dated;
        let is_plain = is_get && copy == CopyState::Whole;
        if is_plain && verdict.reuse == Reuse::Fresh {
            assert_eq!(decision, Decision::Serve);
        }
    }
}

/// Writes the fields. `how` selects the number of `Cache-Control` lines, their order and their
/// case.
fn fields_of(answer: &Answer, modified: Option<i64>, how: u8) -> HeaderMap {
    let mut said = Vec::new();
    for (name, time) in [
        ("max-age", answer.max_age),
        ("s-maxage", answer.s_maxage),
        ("stale-while-revalidate", answer.while_revalidate),
        ("stale-if-error", answer.if_error),
    ] {
        said.extend(time.map(|time| format!("{name}={time}")));
    }
    said.extend(WORDS.iter().filter(|word| answer.says(word)).map(|word| (*word).to_owned()));
    if how & 1 == 1 {
        said.reverse();
    }
    if how & 2 == 2 {
        said.iter_mut().for_each(|word| word.make_ascii_uppercase());
    }
    let mut fields = HeaderMap::new();
    let lines = if how & 4 == 4 {
        said
    } else {
        vec![said.join([",", ", ", " , "][usize::from(how >> 3) % 3])]
    };
    for line in lines {
        fields.append(CACHE_CONTROL, line.parse().expect("it is visible"));
    }
    let mut put = |name: HeaderName, value: Option<HeaderValue>| {
        value.map(|value| fields.insert(name, value));
    };
    put(EXPIRES, answer.expires.map(date));
    put(DATE, answer.date.map(date));
    put(LAST_MODIFIED, modified.map(date));
    put(AGE, answer.age.map(HeaderValue::from));
    fields
}

fn request_of(directives: &RequestDirectives) -> HeaderMap {
    let mut said = Vec::new();
    said.extend(directives.max_age.map(|time| format!("max-age={time}")));
    said.extend(directives.max_stale.map(|most| {
        most.map_or_else(|| "max-stale".to_owned(), |most| format!("max-stale={most}"))
    }));
    said.extend(directives.min_fresh.map(|least| format!("min-fresh={least}")));
    for (bit, word) in
        [(1, "no-cache"), (4, "no-store"), (8, "only-if-cached"), (16, "no-transform")]
    {
        said.extend((directives.words & bit != 0).then(|| word.to_owned()));
    }
    let mut fields = HeaderMap::new();
    if !said.is_empty() {
        fields.insert(CACHE_CONTROL, said.join(", ").parse().expect("it is visible"));
    }
    if directives.words & 2 != 0 && said.is_empty() {
        fields.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    }
    fields
}

fn policy(input: &mut Input<'_>) -> Policy {
    let mut policy = Policy {
        shared: input.flag(),
        heuristics: Heuristics {
            share: input.byte() % 101,
            limit: Duration::from_secs(input.number().into()),
        },
        serve_unreachable: input.flag(),
        overrides: Overrides::default(),
    };
    if input.flag() {
        policy.overrides = Overrides {
            ask_again: match input.byte() % 3 {
                0 => Recheck::Standard,
                1 => Recheck::Never,
                _ => Recheck::After(Duration::from_secs(input.number().into())),
            },
            once_since: input.maybe().map(|number| at(offset(number))),
            expired: input.flag(),
            no_cache: input.flag(),
            redirection: input.flag(),
        };
    }
    policy
}

fn asked(input: &mut Input<'_>) -> DecisionInput {
    use MethodKind::{Get, Head, Other, Post, Upload};
    DecisionInput {
        method: input.pick(&[Get, Get, Get, Head, Post, Other, Upload]),
        intent: input.pick(&[Intent::Person, Intent::Part, Intent::Program]),
        reload: false,
        only_if_cached: false,
        upgrade: input.byte() % 8 == 1,
        noise: input.byte() % 8 == 1,
        event_stream: false,
        standing: input.pick(&[
            StoragePolicy::Usual,
            StoragePolicy::Usual,
            StoragePolicy::NeverKept,
            StoragePolicy::Nearby,
        ]),
        queueing: input.pick(&[Queueing::Usual, Queueing::Asking, Queueing::Never]),
        recursive: input.flag(),
        dated: input.byte() % 8 == 1,
        form_answer: input.byte() % 8 == 1,
    }
}

/// Checks the invariants of the decision table.
fn is_sound(
    mode: Mode,
    copy: CopyState,
    online: OnlineUse,
    asked: DecisionInput,
    decision: Decision,
) {
    use Decision as D;
    let told = || format!("{mode} {copy:?} {online:?} {asked:?} {decision:?}");
    let dials = matches!(decision, D::Fetch | D::Pass | D::Revalidate | D::ServeAndRevalidate);
    let serves =
        matches!(decision, D::Serve | D::ServeVersion | D::ServeAndRefresh | D::ServeAndRevalidate);
    let queues = matches!(decision, D::QueuePage | D::QueuePart | D::ServeAndRefresh);
    if asked.form_answer {
        let is_refused = decision == D::Refuse(DecisionRefusal::FormAnswer);
        let asks = decision == D::Confirm && copy != CopyState::Nothing && asked.reload;
        let is_served = matches!(decision, D::Serve | D::ServeVersion);
        assert!(is_refused || asks || is_served, "{}", told());
        assert!(!(serves && copy == CopyState::Nothing), "{}", told());
        return;
    }
    assert!(
        !(mode == Mode::Offline && dials && asked.standing != StoragePolicy::Nearby),
        "{}",
        told()
    );
    assert!(!(mode != Mode::Offline && queues), "{}", told());
    assert!(!(asked.only_if_cached && dials), "{}", told());
    assert!(!(serves && copy == CopyState::Nothing), "{}", told());
    assert!(!(decision == D::Revalidate && copy == CopyState::Nothing), "{}", told());
    assert!(!(asked.standing != StoragePolicy::Usual && (serves || queues)), "{}", told());
    assert!(!(asked.noise && queues && copy == CopyState::Nothing), "{}", told());
    assert!(
        !(asked.queueing == Queueing::Never && queues && copy == CopyState::Nothing),
        "{}",
        told()
    );
    assert!(!(asked.upgrade && mode != Mode::Offline && decision == D::Fetch), "{}", told());
    match asked.method {
        MethodKind::Get => {}
        MethodKind::Head => assert!(!matches!(decision, D::Fetch | D::Revalidate), "{}", told()),
        MethodKind::Post => {
            // A form is sent only when a person sends it: never automatically, and never answered
            // from a stored copy instead.
            assert!(!queues && decision != D::Revalidate, "{}", told());
            assert!(decision != D::ServeAndRevalidate, "{}", told());
            if serves {
                assert!(mode == Mode::Offline && asked.intent != Intent::Person, "{}", told());
            }
        }
        MethodKind::Upload | MethodKind::Other => {
            assert!(!serves && !queues, "{}", told());
            assert!(!matches!(decision, D::Fetch | D::Revalidate), "{}", told());
        }
    }
    let reads = matches!(asked.method, MethodKind::Get | MethodKind::Head);
    let is_of_then = asked.dated && reads && !asked.upgrade && copy != CopyState::Nothing;
    let may_be = is_of_then && asked.standing == StoragePolicy::Usual;
    assert_eq!(decision == D::ServeVersion, may_be, "{}", told());
    if mode == Mode::Offline
        && reads
        && copy != CopyState::Nothing
        && asked.standing == StoragePolicy::Usual
    {
        assert!(serves || decision == D::Confirm, "what is kept can be read: {}", told());
    }
    assert_eq!(decide(mode, copy, online, asked), decision, "the same, asked again");
}
