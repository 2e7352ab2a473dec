//! What to do with a request: one function, one table, no side effects.
//!
//! The table is printed for people in `docs/decisions.md`; the test below is the same table.

use super::intent::Intent;
use super::rules::Standing;
use crate::base::mode::Mode;
use wwwoffle_http::caching::reuse::Reuse;

/// What is asked, as far as the decision needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent property of a request")]
pub struct Asked {
    /// The method, by what may be kept of it.
    pub method: MethodKind,
    /// Who asks.
    pub intent: Intent,
    /// The client wants a new copy: `Cache-Control: no-cache` or `max-age=0`, `Pragma: no-cache`.
    pub reload: bool,
    /// The client wants nothing that has to be fetched (RFC 9111 §5.2.1.7).
    pub only_if_cached: bool,
    /// The answer will be no page: another protocol was asked for.
    pub upgrade: bool,
    /// On the list of what browsers send by themselves.
    pub noise: bool,
    /// The client wants an event stream, which has no end: of no use later.
    pub event_stream: bool,
    /// Whether answers are kept at all.
    pub standing: Standing,
    /// What of it is queued.
    pub queueing: Queueing,
    /// It may be got because another page refers to it.
    pub recursive: bool,
    /// It names a moment of which an answer is kept: `Accept-Datetime` (RFC 7089).
    pub dated: bool,
    /// Its URL names the stored answer to a form, which no origin knows.
    pub form_answer: bool,
}

/// Methods by what may be kept of their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// GET.
    Get,
    /// HEAD: answered from a kept GET.
    Head,
    /// POST with a body small enough to be its own key.
    Post,
    /// All others, and a GET or HEAD with a body or for a WebSocket: passed on, never kept.
    Other,
}

/// What is queued offline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// What somebody wants.
    #[default]
    Usual,
    /// The same, once a person has said so: `confirm-requests`.
    Asking,
    /// Only what is kept already: `dont-request`.
    Never,
}

/// What the spool has for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// An answer, but in a coding this client does not take and that cannot be undone for it.
    Uncoded,
    /// An answer that can be served, as it is or decoded.
    Whole,
}

/// What may be done with it while its origin can be asked: [`wwwoffle_http::caching::reuse`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Online {
    /// It answers without asking.
    Fresh,
    /// It answers, and is asked for anew meanwhile.
    Refreshing,
    /// The origin has to be asked first whether it holds.
    #[default]
    Stale,
    /// It is there to be read offline, and is not used.
    Withheld,
}

impl From<Reuse> for Online {
    fn from(reuse: Reuse) -> Self {
        match reuse {
            Reuse::Fresh | Reuse::StaleTaken => Online::Fresh,
            Reuse::Refreshing => Online::Refreshing,
            Reuse::Validate(_) => Online::Stale,
            Reuse::Withheld(_) => Online::Withheld,
        }
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Serve what is kept.
    Serve,
    /// Serve what was kept at the moment that the request names.
    ServeVersion,
    /// Serve what is kept, and queue the request so that it is fetched anew.
    ServeAndRefresh,
    /// Serve what is kept, and ask the origin meanwhile whether it still holds.
    ServeAndRevalidate,
    /// Ask the origin whether what is kept still holds, keep the answer.
    Revalidate,
    /// Ask the origin, keep the answer.
    Fetch,
    /// Ask the origin, keep nothing.
    Pass,
    /// Queue the request, answer with the will-get page.
    QueuePage,
    /// Queue the request as a part of its page, answer with nothing.
    QueuePart,
    /// Ask the person whether to queue it.
    Confirm,
    /// Do nothing.
    Refuse(Refusal),
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Offline, and not worth fetching later.
    Noise,
    /// Offline, and of no use later: a changing method, an upgrade, a script's POST.
    OnlyOnline,
    /// `only-if-cached`, and it is not, or would have to be asked about.
    NotKept,
    /// Offline, and nothing of it is ever kept.
    NeverKept,
    /// Offline, and what is not kept is not to be queued.
    NotQueued,
    /// Offline, to be queued when a person says so, and no person asks.
    Unconfirmed,
    /// Offline, a part of a page, and not to be got because of that page.
    LeftToBrowsers,
    /// The URL names the stored answer to a form, and there is none that answers this request.
    FormAnswer,
}

/// Decides what is done with a request. Pure: the same arguments give the same decision. `online` counts
/// where something is kept.
#[must_use]
pub fn decide(mode: Mode, kept: Kept, online: Online, asked: Asked) -> Decision {
    if asked.form_answer {
        return of_form_answer(kept, asked);
    }
    match asked.standing {
        Standing::Usual => {}
        Standing::NeverKept if mode == Mode::Offline => {
            return Decision::Refuse(Refusal::NeverKept);
        }
        _ if asked.only_if_cached => return Decision::Refuse(Refusal::NotKept),
        Standing::NeverKept | Standing::Nearby => return Decision::Pass,
    }
    if asked.dated && asked.reads() && !asked.upgrade && kept != Kept::Nothing {
        return Decision::ServeVersion;
    }
    match mode {
        Mode::Online => with_a_line(kept, online, asked),
        Mode::Autodial => match kept {
            Kept::Whole if !asked.reload && asked.reads() => Decision::Serve,
            _ => with_a_line(kept, online, asked),
        },
        Mode::Offline => without_a_line(kept, asked),
    }
}

/// The same for the URL of a stored answer to a form: whatever the mode, nothing but the spool answers it.
/// A person who reloads it is asked whether to send the form again.
fn of_form_answer(kept: Kept, asked: Asked) -> Decision {
    let is_reload = asked.reload && !asked.only_if_cached && asked.intent == Intent::Person;
    match kept {
        Kept::Whole | Kept::Uncoded if asked.reads() && asked.dated => Decision::ServeVersion,
        Kept::Whole | Kept::Uncoded if is_reload && asked.method == MethodKind::Get => {
            Decision::Confirm
        }
        Kept::Whole | Kept::Uncoded if asked.reads() => Decision::Serve,
        _ => Decision::Refuse(Refusal::FormAnswer),
    }
}

impl Asked {
    /// Whether an answer kept earlier can be this request's answer without asking anybody.
    fn reads(self) -> bool {
        matches!(self.method, MethodKind::Get | MethodKind::Head)
    }
}

fn with_a_line(kept: Kept, online: Online, asked: Asked) -> Decision {
    if asked.only_if_cached {
        // RFC 9111 §5.2.1.7: what is stale would have to be asked about.
        return match (kept, online) {
            (Kept::Whole | Kept::Uncoded, Online::Fresh | Online::Refreshing) if asked.reads() => {
                Decision::Serve
            }
            _ => Decision::Refuse(Refusal::NotKept),
        };
    }
    match (asked.method, kept, online) {
        _ if asked.upgrade => Decision::Pass,
        (MethodKind::Get | MethodKind::Head, Kept::Whole, Online::Fresh) => Decision::Serve,
        (MethodKind::Get, Kept::Whole, Online::Refreshing) => Decision::ServeAndRevalidate,
        (MethodKind::Get, Kept::Whole, Online::Stale) => Decision::Revalidate,
        (MethodKind::Get | MethodKind::Post, ..) => Decision::Fetch,
        (MethodKind::Head | MethodKind::Other, ..) => Decision::Pass,
    }
}

fn without_a_line(kept: Kept, asked: Asked) -> Decision {
    match (asked.method, kept) {
        (MethodKind::Get | MethodKind::Head, Kept::Whole | Kept::Uncoded) => {
            match (asked.intent, asked.queueing) {
                _ if !asked.reload || asked.noise || asked.event_stream => Decision::Serve,
                (Intent::Part, _) | (Intent::Program, Queueing::Asking) => Decision::Serve,
                (Intent::Person, Queueing::Asking) => Decision::Confirm,
                (_, Queueing::Usual | Queueing::Never) => Decision::ServeAndRefresh,
            }
        }
        // A script or a program that asks for data by POST gets the response to the same body. A form
        // that a person sends again is never answered as if it had been sent.
        (MethodKind::Post, Kept::Whole | Kept::Uncoded) if asked.intent != Intent::Person => {
            Decision::Serve
        }
        _ if asked.noise => Decision::Refuse(Refusal::Noise),
        _ if asked.only_if_cached => Decision::Refuse(Refusal::NotKept),
        _ if asked.queueing == Queueing::Never => Decision::Refuse(Refusal::NotQueued),
        (MethodKind::Get | MethodKind::Head, Kept::Nothing) => match asked.intent {
            _ if asked.event_stream => Decision::Refuse(Refusal::OnlyOnline),
            Intent::Part if !asked.recursive => Decision::Refuse(Refusal::LeftToBrowsers),
            Intent::Person if asked.queueing == Queueing::Asking => Decision::Confirm,
            _ if asked.queueing == Queueing::Asking => Decision::Refuse(Refusal::Unconfirmed),
            Intent::Person | Intent::Program => Decision::QueuePage,
            Intent::Part => Decision::QueuePart,
        },
        (MethodKind::Post, _) if asked.intent == Intent::Person => Decision::Confirm,
        (MethodKind::Post | MethodKind::Other, _) => Decision::Refuse(Refusal::OnlyOnline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mode::Choice;

    /// A row of the table: mode, what is kept, what is asked.
    fn parse(row: &str) -> (Mode, Kept, Online, Asked) {
        let words: Vec<_> = row.split_whitespace().collect();
        let has = |word: &str| words.contains(&word);
        let mode = words[0].parse::<Choice>().unwrap().mode().unwrap();
        let (kept, online) = match words[1] {
            "nothing" => (Kept::Nothing, Online::Stale),
            "uncoded" => (Kept::Uncoded, Online::Stale),
            "fresh" => (Kept::Whole, Online::Fresh),
            "refreshing" => (Kept::Whole, Online::Refreshing),
            "stale" => (Kept::Whole, Online::Stale),
            "withheld" => (Kept::Whole, Online::Withheld),
            other => panic!("{other}"),
        };
        let method = match words[2] {
            "GET" => MethodKind::Get,
            "HEAD" => MethodKind::Head,
            "POST" => MethodKind::Post,
            _ => MethodKind::Other,
        };
        let intent = match words[3] {
            "person" => Intent::Person,
            "part" => Intent::Part,
            _ => Intent::Program,
        };
        let asked = Asked {
            method,
            intent,
            reload: has("reload"),
            only_if_cached: has("only-if-cached"),
            upgrade: has("upgrade"),
            noise: has("noise"),
            event_stream: has("event-stream"),
            standing: match () {
                () if has("dont-cache") => Standing::NeverKept,
                () if has("local-net") => Standing::Nearby,
                () => Standing::Usual,
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
        (mode, kept, online, asked)
    }

    #[test]
    fn the_table_holds() {
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("decide.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            // What is kept, in whatever state.
            let any = &["fresh", "refreshing", "stale", "withheld"][..];
            let each = if given.contains(" kept ") { any } else { &[""] };
            for state in each {
                let (mode, kept, online, asked) =
                    parse(&given.replacen(" kept ", &format!(" {state} "), 1));
                let got = format!("{:?}", decide(mode, kept, online, asked));
                if got != want.trim() {
                    wrong.push(format!("decide.txt:{number}: {} {state} got {got}", row.trim()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn offline_never_asks_an_origin_and_a_kept_page_is_never_refused() {
        for kept in [Kept::Nothing, Kept::Uncoded, Kept::Whole] {
            for bits in 0..32_u8 {
                for method in
                    [MethodKind::Get, MethodKind::Head, MethodKind::Post, MethodKind::Other]
                {
                    for intent in [Intent::Person, Intent::Part, Intent::Program] {
                        let asked = Asked {
                            method,
                            intent,
                            reload: bits & 1 != 0,
                            only_if_cached: bits & 2 != 0,
                            upgrade: bits & 4 != 0,
                            noise: bits & 8 != 0,
                            event_stream: bits & 8 != 0,
                            standing: Standing::Usual,
                            queueing: [Queueing::Usual, Queueing::Never][usize::from(bits >> 4)],
                            recursive: true,
                            dated: false,
                            form_answer: bits & 4 != 0,
                        };
                        let decision = decide(Mode::Offline, kept, Online::Withheld, asked);
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
                        if kept != Kept::Nothing && asked.reads() {
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
