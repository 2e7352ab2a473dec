//! What was counted outlives the program: it is read when that starts, and written now and then.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::interval;
use tracing::warn;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::daemon::Daemon;

/// How often what was counted is booked: no count is on the day before or after its own by more.
const BOOK_EVERY: Duration = Duration::from_secs(60);

/// It is written once in so many times. What was counted since is lost with a program that is killed.
const WRITE_ONCE_IN: u32 = 5;

/// How long it may take to write when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Reads what was counted before, and has what is counted booked and written until the daemon stops.
pub async fn begin(daemon: &Arc<Daemon>) {
    match daemon.storage.store.run(wwwoffle_spool::Spool::statistics).await {
        Ok((kept, damage)) => {
            if let Some(damage) = damage {
                warn!(%damage, "what was counted was set aside; counting begins anew");
            }
            daemon.storage.statistics.books(clock::now()).go_on(kept);
        }
        // Writing would put less in the place of what cannot be read now.
        Err(error) => {
            return warn!(
                error = error_chain(&error),
                "what was counted cannot be read, and is not written"
            );
        }
    }
    daemon.storage.statistics.begin_writing();
    daemon.base.tasks.spawn(work(Arc::clone(daemon)));
}

async fn work(daemon: Arc<Daemon>) {
    let (mut tick, mut left) = (interval(BOOK_EVERY), WRITE_ONCE_IN);
    tick.tick().await;
    loop {
        tokio::select! {
            () = daemon.base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        drop(daemon.storage.statistics.books(clock::now()));
        left -= 1;
        if left == 0 {
            left = WRITE_ONCE_IN;
            write(&daemon).await;
        }
    }
}

/// Writes what was counted until the daemon's last request.
pub async fn stop(daemon: &Daemon) {
    let _written_or_late = tokio::time::timeout(STOP_WITHIN, write(daemon)).await;
}

async fn write(daemon: &Daemon) {
    if !daemon.storage.statistics.may_write() {
        return;
    }
    let Some(news) = daemon.storage.statistics.books(clock::now()).to_write() else { return };
    if let Err(error) = daemon.storage.store.run(move |spool| spool.set_statistics(&news)).await {
        daemon.storage.statistics.books(clock::now()).not_written();
        warn!(error = error_chain(&error), "what was counted cannot be written now");
    }
}
