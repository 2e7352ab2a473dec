//! The category in the statistics for each way of answering a request.

use super::status::CacheStatus;
use crate::base::statistics::Outcome;

impl From<CacheStatus> for Outcome {
    fn from(status: CacheStatus) -> Self {
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
            S::LeftOut => Self::LeftOut,
            S::Failed | S::OwnFault(_) | S::MustAsk | S::Undecodable => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::decide::DecisionRefusal;
    use crate::proxy::rules::StoragePolicy;
    use crate::proxy::status::{Forward, HitReason, NotStored};
    use hyper::StatusCode;

    #[test]
    fn each_cache_status_is_one_outcome() {
        let forward = Forward::UriMiss;
        let status = StatusCode::OK;
        for (cache_status, want, saves) in [
            (CacheStatus::Hit(HitReason::Offline), Outcome::Hit, true),
            (CacheStatus::Validated { forward, by: None }, Outcome::Validated, true),
            (CacheStatus::Unreachable(None), Outcome::Stale, true),
            (CacheStatus::InsteadOf(StatusCode::BAD_GATEWAY), Outcome::Stale, true),
            (CacheStatus::Stored { forward, collapsed: false, by: None }, Outcome::Stored, false),
            (CacheStatus::Stored { forward, collapsed: true, by: None }, Outcome::Joined, true),
            (CacheStatus::Resumed { collapsed: false }, Outcome::Stored, false),
            (CacheStatus::StoredPart, Outcome::Stored, false),
            (
                CacheStatus::Passed {
                    forward,
                    status,
                    why: NotStored::Ruled(StoragePolicy::Usual),
                },
                Outcome::Passed,
                false,
            ),
            (CacheStatus::Queued, Outcome::Queued, false),
            (CacheStatus::Asking, Outcome::Refused, false),
            (CacheStatus::Refused(DecisionRefusal::NotKept), Outcome::Refused, false),
            (CacheStatus::Blocked, Outcome::Blocked, false),
            (CacheStatus::LeadsToBlocked, Outcome::Blocked, false),
            (CacheStatus::Moved, Outcome::Moved, false),
            (CacheStatus::Failed, Outcome::Failed, false),
            (CacheStatus::OwnFault("disk-full"), Outcome::Failed, false),
            (CacheStatus::MustAsk, Outcome::Failed, false),
        ] {
            assert_eq!(
                (Outcome::from(cache_status), want.saves()),
                (want, saves),
                "{cache_status}"
            );
        }
    }
}
