//! The runs (recursive fetches) that need a request, and combining two requests for one URL.

use std::fmt;
use std::str::FromStr;

use crate::queue::outgoing::{
    Outgoing, OutgoingSummary, RequestKind, RequestState, RequesterLocation,
};
use crate::queue::spellings;

/// The largest number of runs that one request can belong to. Further runs are not recorded.
pub const MAX_MEMBERSHIPS: usize = 8;

/// The longest class of a sub-resource, in bytes.
pub const MAX_CLASS: usize = 32;

/// The id of a run. As 16 hex digits, it is the name of the run's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u64);

/// A run that needs a request, and how far the run continues from its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunMembership {
    /// The run.
    pub run: RunId,
    /// The number of links that the run follows from the response.
    pub depth: u16,
}

/// A text that is not a [`RunId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run is named by 16 hex digits")]
pub struct ParseRunIdError;

impl RunId {
    /// The id with this number.
    #[must_use]
    pub fn from_number(number: u64) -> RunId {
        RunId(number)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = ParseRunIdError;

    fn from_str(text: &str) -> Result<RunId, ParseRunIdError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(ParseRunIdError);
        }
        u64::from_str_radix(text, 16).map(RunId).map_err(|_| ParseRunIdError)
    }
}

impl RequestKind {
    /// The rank in the queue. The lowest rank is fetched first: pages that a person waits for,
    /// forms, sub-resources of such pages, revalidations, recursive fetches, monitored pages.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            RequestKind::Page => 0,
            RequestKind::Post => 1,
            RequestKind::Part => 2,
            RequestKind::Refresh => 3,
            RequestKind::Recursive => 4,
            RequestKind::Monitored => 5,
        }
    }

    /// Whether the origin is contacted even if a copy is stored.
    #[must_use]
    pub const fn always_revalidates(self) -> bool {
        matches!(self, RequestKind::Refresh | RequestKind::Monitored)
    }
}

/// The text of memberships for a header field; empty if there are none.
pub(crate) fn to_text(members: &[RunMembership]) -> String {
    let words = members.iter().map(|member| format!("{}/{}", member.run, member.depth));
    words.collect::<Vec<_>>().join(" ")
}

/// Parses the text of [`to_text`]. Unknown words, from a newer program, are skipped.
pub(crate) fn from_text(text: &str) -> Vec<RunMembership> {
    let member = |word: &str| {
        let (run, depth) = word.split_once('/')?;
        Some(RunMembership { run: run.parse().ok()?, depth: depth.parse().ok()? })
    };
    text.split_ascii_whitespace().filter_map(member).take(MAX_MEMBERSHIPS).collect()
}

/// Adds a membership. Of two for one run, the one with the greater depth stays. Returns false if
/// nothing has changed.
pub(crate) fn add(members: &mut Vec<RunMembership>, member: RunMembership) -> bool {
    if let Some(known) = members.iter_mut().find(|known| known.run == member.run) {
        let is_further = member.depth > known.depth;
        known.depth = known.depth.max(member.depth);
        return is_further;
    }
    let has_room = members.len() < MAX_MEMBERSHIPS;
    if has_room {
        members.push(member);
    }
    has_room
}

/// Whether `new` asks for more than `known`. False if one of the two is a form, because forms are
/// not combined.
pub(crate) fn requests_more(new: &OutgoingSummary, known: &OutgoingSummary) -> bool {
    if known.kind == RequestKind::Post || new.kind == RequestKind::Post {
        return false;
    }
    let mut members = known.runs.clone();
    new.kind.rank() < known.kind.rank()
        || (new.renew && !known.renew)
        || (new.class.is_none() && known.class.is_some())
        || has_wider_access(new.asked_from, known.asked_from)
        || new.has_spelling_besides(known)
        || new.runs.iter().any(|member| add(&mut members, *member))
}

/// Whether `new` may have a corrected password: both requests are for the same login at an origin.
/// The last password counts, and a request that has failed is tried again with it.
pub(crate) fn may_correct_login(new: &OutgoingSummary, known: &OutgoingSummary) -> bool {
    new.place.login().is_some()
        && new.asked_from == known.asked_from
        && known.kind != RequestKind::Post
        && new.kind != RequestKind::Post
}

/// Whether a request made at `new` may reach hosts that a request made at `known` may not.
fn has_wider_access(new: RequesterLocation, known: RequesterLocation) -> bool {
    (new, known) == (RequesterLocation::Here, RequesterLocation::Elsewhere)
}

/// Combines `new` into `known`. The result has the stronger kind, which is the kind with the lower
/// rank, and is sent in the form of the request of that kind. If the two were made at different
/// machines, the form is that of the request made at this machine: a request from elsewhere must
/// not reach hosts that only this machine may reach. State and age stay those of `known`, unless
/// only `new` asks to revalidate: then the age is that of `new`.
pub(crate) fn merge(known: &mut Outgoing, new: &Outgoing) {
    let before = known.summary.clone();
    let (summary, other) = (&mut known.summary, &new.summary);
    let is_stronger = other.kind.rank() < summary.kind.rank();
    let is_sent_as_new = has_wider_access(other.asked_from, summary.asked_from)
        || (is_stronger && other.asked_from == summary.asked_from);
    if is_sent_as_new {
        known.head.clone_from(&new.head);
        known.body.clone_from(&new.body);
        known.secrets = new.secrets.clone();
        summary.line.clone_from(&other.line);
        summary.hops = other.hops;
        summary.asked_from = other.asked_from;
    }
    if is_stronger {
        summary.kind = other.kind;
        summary.page = other.page.clone().or_else(|| summary.page.take());
        known.options = new.options.clone().or_else(|| known.options.take());
        // A limit for the weaker kind may not hold for this one.
        if matches!(summary.fetching.state, RequestState::Asking { .. }) {
            summary.fetching.state = RequestState::Waiting;
        }
    }
    if other.class.is_none() {
        (summary.class, known.nesting) = (None, 0);
    }
    if other.renew && !summary.renew {
        (summary.renew, summary.queued) = (true, other.queued);
    }
    for member in &other.runs {
        add(&mut summary.runs, *member);
    }
    spellings::merge(summary, &before, other);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(run: u64, depth: u16) -> RunMembership {
        RunMembership { run: RunId::from_number(run), depth }
    }

    #[test]
    fn runs_have_names_that_are_read_back() {
        let run = RunId::from_number(0x1f);
        assert_eq!(run.to_string(), "000000000000001f");
        assert_eq!("000000000000001f".parse(), Ok(run));
        for text in ["", "1f", "000000000000001F", "+00000000000001f", "../000000000001f"] {
            assert_eq!(text.parse::<RunId>(), Err(ParseRunIdError), "{text:?}");
        }
    }

    #[test]
    fn memberships_round_trip() {
        let members = vec![member(1, 3), member(u64::MAX, u16::MAX)];
        let text = to_text(&members);
        assert_eq!(text, "0000000000000001/3 ffffffffffffffff/65535");
        assert_eq!(from_text(&text), members);
        assert_eq!(from_text("new-word 0000000000000001/3 x/y"), [member(1, 3)]);
    }

    #[test]
    fn the_greater_depth_of_a_run_stays_and_runs_are_limited() {
        let mut members = Vec::new();
        for (run, depth, changes) in [(1, 2, true), (1, 1, false), (1, 4, true), (2, 0, true)] {
            assert_eq!(add(&mut members, member(run, depth)), changes, "{run} {depth}");
        }
        assert_eq!(members, [member(1, 4), member(2, 0)]);
        for run in 3..20 {
            add(&mut members, member(run, 1));
        }
        assert_eq!(members.len(), MAX_MEMBERSHIPS);
    }
}
