//! Regular maintenance of the spool: checks the latest entries after a crash, deletes segments,
//! damaged files and deleted entries that have expired, and restores the reserve for a full disk.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};
use wwwoffle_spool::purge::space;
use wwwoffle_spool::{MAX_REMOVED_BYTES, Spool};

use crate::base::error_chain::error_chain;
use crate::storage::context::StorageContext;
use crate::storage::purge::room::min_free_at;

/// The interval at which expired segments and damaged files are deleted.
const TRIM_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// The interval at which deleted entries are removed after their time for undo, and at which the
/// reserve for a full disk is restored.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// The free disk space, in bytes, below which deleted entries are removed at once. The
/// configuration may set a higher limit.
const NEEDED: u64 = 256 << 20;

/// Maintains the spool until the daemon stops. Until `rest` has passed, expired segments and
/// damaged files are not deleted, because the clock may still be wrong.
pub(crate) async fn maintain_spool(context: Arc<StorageContext>, rest: Duration) {
    check_recent(&context).await;
    let mut tick = tokio::time::interval_at(Instant::now() + rest, TRIM_EVERY);
    let mut forget = tokio::time::interval(FORGET_EVERY);
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => trim(&context).await,
            _ = forget.tick() => {
                forget_removed(&context).await;
                let keep = |spool: &Spool| { keep_reserve(spool); Ok(()) };
                let _never_fails = context.store.run(keep).await;
            }
        }
    }
}

/// Restores the reserve that lets the mode and other small files be written on a full disk.
pub(crate) fn keep_reserve(spool: &Spool) {
    match spool.keep_reserve() {
        Ok(()) => {}
        Err(error) if error.is_full() => {
            debug!("no disk space is left for the reserve for a full disk");
        }
        Err(error) => {
            warn!(error = error_chain(&error), "cannot create the reserve for a full disk");
        }
    }
}

/// Checks the latest entries if the previous daemon was not shut down cleanly.
async fn check_recent(context: &Arc<StorageContext>) {
    let asked = Arc::clone(context);
    let goes_on = move || !asked.base.tasks.is_stopping();
    match context.store.run(move |spool| Ok(spool.check_recent(&goes_on))).await {
        Ok(checked) => {
            for damage in &checked.damaged {
                warn!(%damage, "a recently stored page is damaged; it was moved to damaged/ and will be fetched again");
            }
            for error in &checked.failures {
                warn!(error = error_chain(error), "cannot check a recently stored page");
            }
            if checked.files + checked.failed > 0 {
                let failed = checked.failed;
                let damaged = checked.damaged.len();
                info!(files = checked.files, damaged, failed, "checked the recently stored pages");
            }
        }
        Err(error) => warn!(error = error_chain(&error), "cannot check the recently stored pages"),
    }
}

/// Removes deleted entries whose time for undo has passed, and the oldest ones above
/// [`MAX_REMOVED_BYTES`]. If the disk needs the space, removes all deleted entries.
async fn forget_removed(context: &Arc<StorageContext>) {
    let needed = NEEDED.max(min_free_at(&context.base.config(), context.store.spool().root()));
    let forget = move |spool: &Spool| {
        let is_short = space(spool.root()).is_ok_and(|space| space.free < needed);
        spool.forget_removed(if is_short { 0 } else { MAX_REMOVED_BYTES })
    };
    match context.store.run(forget).await {
        Ok(0) => {}
        Ok(bytes) => debug!(bytes, "the oldest removals can no longer be undone"),
        Err(error) => {
            warn!(error = error_chain(&error), "cannot delete the files of earlier removals");
        }
    }
}

async fn trim(context: &Arc<StorageContext>) {
    let trimmed = match context.store.run(wwwoffle_spool::Spool::trim).await {
        Ok(trimmed) => trimmed,
        Err(error) => {
            warn!(error = error_chain(&error), "cannot delete expired files");
            return;
        }
    };
    let wwwoffle_spool::TrimReport { partial, damaged, bytes, damaged_over } = trimmed;
    if partial + damaged > 0 {
        info!(
            partial,
            damaged, bytes, "deleted segments and damaged files that were too many or too old"
        );
    }
    if damaged_over > 0 {
        warn!(
            bytes = damaged_over,
            "damaged/ is above its bound, and its recent files stay: examine them, and delete those that are useless"
        );
    }
}
