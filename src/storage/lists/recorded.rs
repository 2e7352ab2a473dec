//! The reason that holds back a request, as far as its file shows.

use jiff::Timestamp;
use wwwoffle_spool::{OutgoingSummary, RequestState};

use wwwoffle_api::Hold;

/// Returns the reason that holds back a request, as far as its file shows. `None` if the request
/// may be sent or was given up. For readers of the spool without a daemon.
#[must_use]
pub fn as_recorded(request: &OutgoingSummary, now: Timestamp) -> Option<Hold> {
    match &request.fetching.state {
        RequestState::Failed { .. } => None,
        RequestState::Asking { bytes } => Some(Hold::Asks { bytes: *bytes }),
        RequestState::Waiting => {
            let until = request.fetching.not_before.filter(|until| *until > now)?;
            Some(Hold::Retry { until })
        }
    }
}
