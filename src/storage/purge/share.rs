//! Shares identical bodies, and removes unused shared bodies: the last step of each purge.

use tracing::warn;
use wwwoffle_spool::Spool;

use super::policy::PurgePolicy;
use crate::base::error_chain::error_chain;
use wwwoffle_api::{PurgeReport, PurgeShared};

/// Logs the failure to share bodies, if any.
pub(super) fn log(report: &PurgeReport) {
    if let Some(failure) = report.shared.as_ref().and_then(|shared| shared.failure.as_deref()) {
        warn!(failure, "not all identical bodies could be shared");
    }
}

/// Shares bodies and reports the result. A failure is part of the result, because the removals of
/// this purge stay valid.
pub(super) fn share_bodies(
    spool: &Spool,
    policy: &PurgePolicy,
    go_on: &dyn Fn() -> bool,
) -> PurgeShared {
    let done = spool.share(policy.share_above(), go_on);
    PurgeShared {
        entries: done.made.count,
        saved: done.made.bytes,
        removed: done.removed.count,
        removed_bytes: done.removed.bytes,
        bodies: done.bodies.count,
        bodies_bytes: done.bodies.bytes,
        all_entries: done.saved.count,
        all_saved: done.saved.bytes,
        failure: done.failure.as_ref().map(|failure| error_chain(failure)),
    }
}
