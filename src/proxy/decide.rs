//! The decision about a request: one function, one table, no side effects.
//!
//! `docs/decisions.md` has the table for readers; the test below is the same table.

use super::intent::Intent;
use super::rules::StoragePolicy;
use crate::base::mode::Mode;
use wwwoffle_http::caching::reuse::Reuse;

/// The properties of a request on which the decision depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent property of a request")]
pub struct DecisionInput {
    /// The kind of method: it determines whether responses are stored.
    pub method: MethodKind,
    /// The sender of the request: a person, a page or a program.
    pub intent: Intent,
    /// Whether the client wants a new copy (`Cache-Control: no-cache` or `max-age=0`, `Pragma:
    /// no-cache`), as far as the options honour this.
    pub reload: bool,
    /// Whether the client accepts only a stored copy (RFC 9111 §5.2.1.7).
    pub only_if_cached: bool,
    /// Whether the client asks for another protocol, so that the response is not a page.
    pub upgrade: bool,
    /// Whether the URL is on the list of URLs that browsers request without a person's action.
    pub noise: bool,
    /// Whether the client wants an event stream, which has no end and is useless later.
    pub event_stream: bool,
    /// The rule for storing the responses.
    pub standing: StoragePolicy,
    /// The rule for queueing the request.
    pub queueing: Queueing,
    /// Whether the URL may be fetched together with a page that refers to it: `get-recursive`.
    pub recursive: bool,
    /// Whether the request names a date for which a version is stored: `Accept-Datetime` (RFC
    /// 7089).
    pub dated: bool,
    /// Whether the URL names the stored response to a form, which origins do not know.
    pub form_answer: bool,
}

/// Methods, grouped by whether their responses are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// GET.
    Get,
    /// HEAD: answered from a stored GET.
    Head,
    /// A POST whose body is small enough to be part of the key.
    Post,
    /// A PUT, PATCH or DELETE that was read whole, because the mode is offline: it can be queued.
    Upload,
    /// All other methods, and a GET or HEAD with a body or for a WebSocket: forwarded, never
    /// stored.
    Other,
}

/// The rule for queueing requests offline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// Every request.
    #[default]
    Usual,
    /// Every request, after confirmation by a person: `confirm-requests`.
    Asking,
    /// No request: `dont-request`.
    Never,
}

/// The state of the stored copy for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// No copy.
    Nothing,
    /// A copy of a page behind a login, which the request does not open.
    Locked,
    /// A copy in a coding that the client does not accept and that cannot be decoded.
    Uncoded,
    /// A copy that can be served, as stored or decoded.
    Whole,
}

/// The permitted use of the copy if its origin can be reached, as [`wwwoffle_http::caching::reuse`]
/// decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnlineUse {
    /// It may be served without revalidation.
    Fresh,
    /// It may be served, and is revalidated in the background.
    Refreshing,
    /// It must be revalidated first.
    #[default]
    Stale,
    /// It may only be read offline, so online it is not used.
    Withheld,
}

impl From<Reuse> for OnlineUse {
    fn from(reuse: Reuse) -> Self {
        match reuse {
            Reuse::Fresh | Reuse::StaleTaken => OnlineUse::Fresh,
            Reuse::Refreshing => OnlineUse::Refreshing,
            Reuse::Validate(_) => OnlineUse::Stale,
            Reuse::Withheld(_) => OnlineUse::Withheld,
        }
    }
}

/// The action for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Serve the stored copy.
    Serve,
    /// Serve the version of the date that the request names.
    ServeVersion,
    /// Serve the stored copy, and queue the request to fetch a new one.
    ServeAndRefresh,
    /// Serve the stored copy, and revalidate it in the background.
    ServeAndRevalidate,
    /// Revalidate the stored copy, and store the response.
    Revalidate,
    /// Ask the origin, and store the response.
    Fetch,
    /// Ask the origin, and store nothing.
    Pass,
    /// Queue the request, and respond with the will-get page.
    QueuePage,
    /// Queue the request as a sub-resource of its page, and respond with an empty body.
    QueuePart,
    /// Ask the person whether to queue the request, or whether to send a stored form again.
    Confirm,
    /// Refuse the request.
    Refuse(DecisionRefusal),
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionRefusal {
    /// Offline, and the browser made the request without a person's action: not worth fetching
    /// later.
    Noise,
    /// Offline, and the response would be useless later: an event stream, the response to a form of
    /// a script or program, or to a request of [`MethodKind::Other`].
    OnlyOnline,
    /// `only-if-cached`, and no stored copy may be served without revalidation.
    NotKept,
    /// Offline, and responses of this URL are never stored.
    NeverKept,
    /// Offline, and requests for this URL must not be queued: `dont-request`.
    NotQueued,
    /// The quota of the user or client is used up. [`decide`] does not return this.
    OverQuota,
    /// Offline, and the request would need a person's confirmation, but no person has sent it.
    Unconfirmed,
    /// Offline, and the request is for a sub-resource that must not be fetched together with its
    /// page.
    LeftToBrowsers,
    /// The URL names the stored response to a form, and no stored response matches this request.
    FormAnswer,
    /// Offline, and the stored copy needs another login.
    Login,
}

/// Decides about a request. Pure: the same arguments give the same decision. `online` is used only
/// if a copy is stored.
#[must_use]
pub fn decide(mode: Mode, copy: CopyState, online: OnlineUse, asked: DecisionInput) -> Decision {
    if asked.form_answer {
        return of_form_answer(copy, asked);
    }
    match asked.standing {
        StoragePolicy::Usual => {}
        StoragePolicy::NeverKept if mode == Mode::Offline => {
            return Decision::Refuse(DecisionRefusal::NeverKept);
        }
        _ if asked.only_if_cached => return Decision::Refuse(DecisionRefusal::NotKept),
        StoragePolicy::NeverKept | StoragePolicy::Nearby => return Decision::Pass,
    }
    let is_there = !matches!(copy, CopyState::Nothing | CopyState::Locked);
    if asked.dated && asked.reads() && !asked.upgrade && is_there {
        return Decision::ServeVersion;
    }
    match mode {
        Mode::Online => decide_online(copy, online, asked),
        Mode::Autodial => match copy {
            CopyState::Whole if !asked.reload && asked.reads() => Decision::Serve,
            _ => decide_online(copy, online, asked),
        },
        Mode::Offline => decide_offline(copy, asked),
    }
}

/// Decides about the URL of a stored response to a form. In every mode only the spool can answer
/// it. A person who reloads this URL is asked whether to send the form again.
fn of_form_answer(copy: CopyState, asked: DecisionInput) -> Decision {
    let is_reload = asked.reload && !asked.only_if_cached && asked.intent == Intent::Person;
    match copy {
        CopyState::Whole | CopyState::Uncoded if asked.reads() && asked.dated => {
            Decision::ServeVersion
        }
        CopyState::Whole | CopyState::Uncoded if is_reload && asked.method == MethodKind::Get => {
            Decision::Confirm
        }
        CopyState::Whole | CopyState::Uncoded if asked.reads() => Decision::Serve,
        CopyState::Locked if asked.reads() => Decision::Refuse(DecisionRefusal::Login),
        _ => Decision::Refuse(DecisionRefusal::FormAnswer),
    }
}

impl DecisionInput {
    /// Whether the method is one that a stored copy may answer without asking the origin.
    fn reads(self) -> bool {
        matches!(self.method, MethodKind::Get | MethodKind::Head)
    }
}

fn decide_online(copy: CopyState, online: OnlineUse, asked: DecisionInput) -> Decision {
    if asked.only_if_cached {
        // RFC 9111 §5.2.1.7: a stale copy would need revalidation, which `only-if-cached` forbids.
        return match (copy, online) {
            (CopyState::Whole | CopyState::Uncoded, OnlineUse::Fresh | OnlineUse::Refreshing)
                if asked.reads() =>
            {
                Decision::Serve
            }
            _ => Decision::Refuse(DecisionRefusal::NotKept),
        };
    }
    match (asked.method, copy, online) {
        _ if asked.upgrade => Decision::Pass,
        (MethodKind::Get | MethodKind::Head, CopyState::Whole, OnlineUse::Fresh) => Decision::Serve,
        (MethodKind::Get, CopyState::Whole, OnlineUse::Refreshing) => Decision::ServeAndRevalidate,
        (MethodKind::Get, CopyState::Whole, OnlineUse::Stale) => Decision::Revalidate,
        (MethodKind::Get | MethodKind::Post, ..) => Decision::Fetch,
        (MethodKind::Head | MethodKind::Upload | MethodKind::Other, ..) => Decision::Pass,
    }
}

fn decide_offline(copy: CopyState, asked: DecisionInput) -> Decision {
    match (asked.method, copy) {
        (MethodKind::Get | MethodKind::Head, CopyState::Whole | CopyState::Uncoded) => {
            match (asked.intent, asked.queueing) {
                _ if !asked.reload || asked.noise || asked.event_stream => Decision::Serve,
                (Intent::Part, _) | (Intent::Program, Queueing::Asking) => Decision::Serve,
                (Intent::Person, Queueing::Asking) => Decision::Confirm,
                (_, Queueing::Usual | Queueing::Never) => Decision::ServeAndRefresh,
            }
        }
        // A script or a program that requests data by POST gets the response to the same body. A
        // form that a person sends again never gets a stored response.
        (MethodKind::Post, CopyState::Whole | CopyState::Uncoded)
            if asked.intent != Intent::Person =>
        {
            Decision::Serve
        }
        _ if asked.noise => Decision::Refuse(DecisionRefusal::Noise),
        (MethodKind::Get | MethodKind::Head, CopyState::Locked) => {
            Decision::Refuse(DecisionRefusal::Login)
        }
        _ if asked.only_if_cached => Decision::Refuse(DecisionRefusal::NotKept),
        _ if asked.queueing == Queueing::Never => Decision::Refuse(DecisionRefusal::NotQueued),
        (MethodKind::Get | MethodKind::Head, CopyState::Nothing) => match asked.intent {
            _ if asked.event_stream => Decision::Refuse(DecisionRefusal::OnlyOnline),
            Intent::Part if !asked.recursive => Decision::Refuse(DecisionRefusal::LeftToBrowsers),
            Intent::Person if asked.queueing == Queueing::Asking => Decision::Confirm,
            _ if asked.queueing == Queueing::Asking => {
                Decision::Refuse(DecisionRefusal::Unconfirmed)
            }
            Intent::Person | Intent::Program => Decision::QueuePage,
            Intent::Part => Decision::QueuePart,
        },
        (MethodKind::Post | MethodKind::Upload, _) if asked.intent == Intent::Person => {
            Decision::Confirm
        }
        (MethodKind::Post | MethodKind::Upload | MethodKind::Other, _) => {
            Decision::Refuse(DecisionRefusal::OnlyOnline)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mode::ModeSetting;

    /// Parses a row of the table: the mode, the stored copy, the method, the sender, and then
    /// properties of the request.
    fn parse(row: &str) -> (Mode, CopyState, OnlineUse, DecisionInput) {
        let words: Vec<_> = row.split_whitespace().collect();
        let has = |word: &str| words.contains(&word);
        let mode = words[0].parse::<ModeSetting>().unwrap().mode().unwrap();
        let (copy, online) = match words[1] {
            "nothing" => (CopyState::Nothing, OnlineUse::Stale),
            "uncoded" => (CopyState::Uncoded, OnlineUse::Stale),
            "locked" => (CopyState::Locked, OnlineUse::Stale),
            "fresh" => (CopyState::Whole, OnlineUse::Fresh),
            "refreshing" => (CopyState::Whole, OnlineUse::Refreshing),
            "stale" => (CopyState::Whole, OnlineUse::Stale),
            "withheld" => (CopyState::Whole, OnlineUse::Withheld),
            other => panic!("{other}"),
        };
        let method = match words[2] {
            "GET" => MethodKind::Get,
            "HEAD" => MethodKind::Head,
            "POST" => MethodKind::Post,
            "PUT" | "PATCH" | "DELETE" if mode == Mode::Offline => MethodKind::Upload,
            _ => MethodKind::Other,
        };
        let intent = match words[3] {
            "person" => Intent::Person,
            "part" => Intent::Part,
            _ => Intent::Program,
        };
        let asked = DecisionInput {
            method,
            intent,
            reload: has("reload"),
            only_if_cached: has("only-if-cached"),
            upgrade: has("upgrade"),
            noise: has("noise"),
            event_stream: has("event-stream"),
            standing: match () {
                () if has("dont-cache") => StoragePolicy::NeverKept,
                () if has("local-net") => StoragePolicy::Nearby,
                () => StoragePolicy::Usual,
            },
            queueing: match () {
                () if has("dont-request") => Queueing::Never,
                () if has("confirm-requests") => Queueing::Asking,
                () => Queueing::Usual,
            },
            recursive: !has("get-recursive=false"),
            dated: has("dated"),
            form_answer: has("form-answer"),
        };
        (mode, copy, online, asked)
    }

    #[test]
    fn decision_follows_the_table() {
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("decide.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            // `kept` in a row stands for each of these states of a stored copy.
            let any = &["fresh", "refreshing", "stale", "withheld"][..];
            let each = if given.contains(" kept ") { any } else { &[""] };
            for state in each {
                let (mode, copy, online, asked) =
                    parse(&given.replacen(" kept ", &format!(" {state} "), 1));
                let got = format!("{:?}", decide(mode, copy, online, asked));
                if got != want.trim() {
                    wrong.push(format!("decide.txt:{number}: {} {state} got {got}", row.trim()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn offline_never_fetches_and_never_refuses_a_stored_page() {
        for copy in [CopyState::Nothing, CopyState::Uncoded, CopyState::Whole] {
            for bits in 0..32_u8 {
                for method in [
                    MethodKind::Get,
                    MethodKind::Head,
                    MethodKind::Post,
                    MethodKind::Upload,
                    MethodKind::Other,
                ] {
                    for intent in [Intent::Person, Intent::Part, Intent::Program] {
                        let asked = DecisionInput {
                            method,
                            intent,
                            reload: bits & 1 != 0,
                            only_if_cached: bits & 2 != 0,
                            upgrade: bits & 4 != 0,
                            noise: bits & 8 != 0,
                            event_stream: bits & 8 != 0,
                            standing: StoragePolicy::Usual,
                            queueing: [Queueing::Usual, Queueing::Never][usize::from(bits >> 4)],
                            recursive: true,
                            dated: false,
                            form_answer: bits & 4 != 0,
                        };
                        let decision = decide(Mode::Offline, copy, OnlineUse::Withheld, asked);
                        assert!(
                            !matches!(
                                decision,
                                Decision::Fetch
                                    | Decision::Pass
                                    | Decision::Revalidate
                                    | Decision::ServeAndRevalidate
                            ),
                            "{asked:?}"
                        );
                        if copy != CopyState::Nothing && asked.reads() {
                            let is_served =
                                matches!(decision, Decision::Serve | Decision::ServeAndRefresh);
                            let is_form = asked.form_answer && decision == Decision::Confirm;
                            assert!(is_served || is_form, "{asked:?}");
                        }
                    }
                }
            }
        }
    }
}
