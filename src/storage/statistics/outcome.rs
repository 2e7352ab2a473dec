//! What became of a request, as it is counted.

use crate::proxy::status::CacheStatus;

/// What became of a request: one word for each way in which it can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What is kept was served, nobody was asked.
    Hit,
    /// What is kept was served after its origin had said that it still holds.
    Validated,
    /// What is kept was served because its origin could not be asked, or had nothing better than an error.
    Stale,
    /// The origin was asked and its answer is kept.
    Stored,
    /// The answer was on its way to somebody else, and was got once for both.
    Joined,
    /// The origin was asked and its answer is not kept.
    Passed,
    /// Nothing is kept; it was put on the queue.
    Queued,
    /// Nothing is kept; a person is asked first, or nothing was done.
    Refused,
    /// The configuration has it blocked.
    Blocked,
    /// The configuration has another URL for it.
    Moved,
    /// The origin could not be asked, and nothing can be served in its place.
    Failed,
    /// Bytes went both ways unread: `CONNECT`, where it is not answered here.
    Tunnelled,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 12] = [
        Self::Hit,
        Self::Validated,
        Self::Stale,
        Self::Stored,
        Self::Joined,
        Self::Passed,
        Self::Queued,
        Self::Refused,
        Self::Blocked,
        Self::Moved,
        Self::Failed,
        Self::Tunnelled,
    ];

    /// What `Cache-Status` says, in one word.
    #[must_use]
    pub fn of(status: CacheStatus) -> Self {
        use CacheStatus as S;
        match status {
            S::Hit(_) => Self::Hit,
            S::Validated { .. } => Self::Validated,
            S::Unreachable(_) | S::InsteadOf(_) => Self::Stale,
            S::Stored { collapsed: true, .. } | S::Resumed { collapsed: true } => Self::Joined,
            S::Stored { .. } | S::Resumed { .. } | S::StoredPart => Self::Stored,
            S::Passed { .. } => Self::Passed,
            S::Queued => Self::Queued,
            S::Refused(_) | S::Asking => Self::Refused,
            S::Blocked | S::LeadsToBlocked => Self::Blocked,
            S::Moved => Self::Moved,
            S::Failed | S::OwnFault(_) | S::MustAsk | S::Undecodable => Self::Failed,
        }
    }

    /// The word, as it is written to the spool and told to programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Validated => "validated",
            Self::Stale => "stale",
            Self::Stored => "stored",
            Self::Joined => "joined",
            Self::Passed => "passed",
            Self::Queued => "queued",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::Moved => "moved",
            Self::Failed => "failed",
            Self::Tunnelled => "tunnelled",
        }
    }

    /// Whether the body that the client gets did not have to be got for it.
    #[must_use]
    pub const fn saves(self) -> bool {
        matches!(self, Self::Hit | Self::Validated | Self::Stale | Self::Joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::decide::Refusal;
    use crate::proxy::rules::Standing;
    use crate::proxy::status::{Forward, NotStored, Why};
    use hyper::StatusCode;

    #[test]
    fn each_way_of_answering_is_one_outcome() {
        let forward = Forward::UriMiss;
        let status = StatusCode::OK;
        for (told, want, saves) in [
            (CacheStatus::Hit(Why::Offline), Outcome::Hit, true),
            (CacheStatus::Validated { forward, by: None }, Outcome::Validated, true),
            (CacheStatus::Unreachable(None), Outcome::Stale, true),
            (CacheStatus::InsteadOf(StatusCode::BAD_GATEWAY), Outcome::Stale, true),
            (CacheStatus::Stored { forward, collapsed: false, by: None }, Outcome::Stored, false),
            (CacheStatus::Stored { forward, collapsed: true, by: None }, Outcome::Joined, true),
            (CacheStatus::Resumed { collapsed: false }, Outcome::Stored, false),
            (CacheStatus::StoredPart, Outcome::Stored, false),
            (
                CacheStatus::Passed { forward, status, why: NotStored::Ruled(Standing::Usual) },
                Outcome::Passed,
                false,
            ),
            (CacheStatus::Queued, Outcome::Queued, false),
            (CacheStatus::Asking, Outcome::Refused, false),
            (CacheStatus::Refused(Refusal::NotKept), Outcome::Refused, false),
            (CacheStatus::Blocked, Outcome::Blocked, false),
            (CacheStatus::LeadsToBlocked, Outcome::Blocked, false),
            (CacheStatus::Moved, Outcome::Moved, false),
            (CacheStatus::Failed, Outcome::Failed, false),
            (CacheStatus::OwnFault("disk-full"), Outcome::Failed, false),
            (CacheStatus::MustAsk, Outcome::Failed, false),
        ] {
            assert_eq!((Outcome::of(told), want.saves()), (want, saves), "{told}");
        }
    }

    #[test]
    fn all_are_told_apart() {
        for outcome in Outcome::ALL {
            let same = Outcome::ALL.iter().filter(|other| other.as_str() == outcome.as_str());
            assert_eq!(same.count(), 1);
        }
    }
}
