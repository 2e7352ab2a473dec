//! Statistics that survive a restart: they are read at the start and written regularly.

use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use tokio::time::interval;
use tracing::warn;
use wwwoffle_spool::{Error, Spool, Statistics as StoredUsage};

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::statistics::day;
use crate::storage::context::StorageContext;

/// The interval at which counts are added to the current day. So requests of the last minute before
/// midnight may count for the next day.
const BOOK_EVERY: Duration = Duration::from_secs(60);

/// The number of additions between two writes. If the program is killed, counts since the last
/// write are lost.
const WRITE_ONCE_IN: u32 = 5;

/// The interval at which changed counts of usage are written. If the program is killed, those since
/// the last write are lost.
const WRITE_USAGE_EVERY: Duration = Duration::from_secs(5);

/// Time limit for writing when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Reads the stored statistics. Then adds counts to the ledger and writes it at intervals, until
/// the daemon stops.
pub async fn begin(context: &Arc<StorageContext>) {
    begin_day(context, day(clock::now())).await;
    context.base.tasks.spawn(save_usage(Arc::clone(context)));
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
    let both = async { tokio::join!(write(context), write_usage(context)) };
    let _written_or_late = tokio::time::timeout(STOP_WITHIN, both).await;
}

/// Writes the usage at intervals, and begins a new day at midnight.
async fn save_usage(context: Arc<StorageContext>) {
    let (mut tick, mut has_failed) = (interval(WRITE_USAGE_EVERY), false);
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        let written = write_usage(&context).await;
        if let Err(error) = &written
            && !has_failed
        {
            warn!(error = error_chain(error), "the usage cannot be written");
        }
        has_failed = written.is_err();
        let (today, usage) = (day(clock::now()), &context.statistics.usage);
        if usage.day() != Some(today) || !usage.is_restored() {
            begin_day(&context, today).await;
        }
    }
}

async fn write_usage(context: &StorageContext) -> Result<(), Error> {
    if !context.statistics.usage.has_changed() {
        return Ok(());
    }
    let statistics = Arc::clone(&context.statistics);
    let write = move |spool: &Spool| {
        statistics.usage.write_changes(|day, counts| spool.set_usage(day, counts))
    };
    context.store.run(write).await
}

/// Begins to count a day, with the stored counts of its month, and removes old days.
async fn begin_day(context: &StorageContext, today: Date) {
    let keep_days = context.base.config().usage.keep_days.get();
    let month = context.store.run(move |spool| read_month(spool, today, keep_days)).await;
    let month = month.inspect_err(|error| {
        // The next attempts fail for the same reason.
        if context.statistics.usage.day() != Some(today) {
            warn!(error = error_chain(error), "the usage cannot be read, and is not overwritten");
        }
    });
    let statistics = Arc::clone(&context.statistics);
    let begin = move |spool: &Spool| {
        let write = |ended, counts: &StoredUsage| spool.set_usage(ended, counts);
        statistics.usage.begin_day(today, month.ok().as_deref(), write)
    };
    if let Err(error) = context.store.run(begin).await {
        warn!(error = error_chain(&error), "the usage of a day cannot be written");
    }
}

/// Reads the days of the month up to `today`, and removes those before the last `keep_days` days.
fn read_month(
    spool: &Spool,
    today: Date,
    keep_days: usize,
) -> Result<Vec<(Date, StoredUsage)>, Error> {
    let age = |day: Date| usize::try_from(today.duration_since(day).as_hours() / 24);
    let mut month = Vec::new();
    for day in spool.usage_days()? {
        if (day.year(), day.month()) == (today.year(), today.month()) {
            let (usage, damage) = spool.usage(day)?;
            if let Some(damage) = damage {
                warn!(%damage, "damaged usage was moved to damaged/; its day counts as zero");
            }
            month.extend((day <= today).then_some((day, usage)));
        } else if age(day).is_ok_and(|age| age >= keep_days)
            && let Err(error) = spool.remove_usage(day)
        {
            warn!(error = error_chain(&error), "old usage cannot be removed");
        }
    }
    Ok(month)
}

async fn write(context: &StorageContext) {
    let statistics = Arc::clone(&context.statistics);
    let write = move |spool: &Spool| {
        statistics.write_changes(clock::now(), |changed| spool.set_statistics(changed))
    };
    if let Err(error) = context.store.run(write).await {
        warn!(error = error_chain(&error), "the statistics cannot be written");
    }
}
