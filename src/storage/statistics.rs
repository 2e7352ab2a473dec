//! Statistics that survive a restart: they are read at the start and written regularly.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::interval;
use tracing::warn;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::storage::context::StorageContext;

/// The interval at which counts are added to the current day. So requests of the last minute before
/// midnight may count for the next day.
const BOOK_EVERY: Duration = Duration::from_secs(60);

/// The number of additions between two writes. If the program is killed, counts since the last
/// write are lost.
const WRITE_ONCE_IN: u32 = 5;

/// Time limit for writing when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Reads the stored statistics. Then adds counts to the ledger and writes it at intervals, until
/// the daemon stops.
pub async fn begin(context: &Arc<StorageContext>) {
    match context.store.run(wwwoffle_spool::Spool::statistics).await {
        Ok((stored, damage)) => {
            if let Some(damage) = damage {
                warn!(%damage, "damaged statistics were moved to damaged/; counting starts at zero");
            }
            context.statistics.ledger(clock::now()).restore(stored);
        }
        // If the stored statistics cannot be read now, writing would replace them by smaller ones.
        Err(error) => {
            return warn!(
                error = error_chain(&error),
                "the statistics cannot be read, and are not overwritten"
            );
        }
    }
    context.statistics.begin_writing();
    context.base.tasks.spawn(save_statistics(Arc::clone(context)));
}

async fn save_statistics(context: Arc<StorageContext>) {
    let (mut tick, mut left) = (interval(BOOK_EVERY), WRITE_ONCE_IN);
    tick.tick().await;
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        drop(context.statistics.ledger(clock::now()));
        left -= 1;
        if left == 0 {
            left = WRITE_ONCE_IN;
            write(&context).await;
        }
    }
}

/// Writes all counts up to the daemon's last request.
pub async fn stop(context: &StorageContext) {
    let _written_or_late = tokio::time::timeout(STOP_WITHIN, write(context)).await;
}

async fn write(context: &StorageContext) {
    if !context.statistics.may_write() {
        return;
    }
    let Some(news) = context.statistics.ledger(clock::now()).to_write() else { return };
    if let Err(error) = context.store.run(move |spool| spool.set_statistics(&news)).await {
        context.statistics.ledger(clock::now()).not_written();
        warn!(error = error_chain(&error), "the statistics cannot be written");
    }
}
