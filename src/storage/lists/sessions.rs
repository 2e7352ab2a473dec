//! The times online, which divide the lists into sessions, and the last changes of the mode.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Notify;
use tracing::warn;
use wwwoffle_archive::{FormerRequest, ImportReport};
use wwwoffle_index::{SessionRequest, Sessions};
use wwwoffle_spool::{Error, Spool};

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::ModeChanges;
use crate::storage::context::StorageContext;
use crate::storage::store::timestamp;

/// The owner of requests of the person at this machine.
const LOCAL: &str = "local";

/// The key under which the state stores the sessions.
pub(crate) const KEY: &str = "online-sessions";

/// The key under which the state stores the last changes of the mode.
const CHANGES: &str = "mode-changes";

/// The known online sessions.
#[derive(Debug, Default)]
pub struct Online {
    /// The sessions from the state; `None` until they are read.
    pub sessions: Option<Sessions>,
    /// Whether connections to origins were possible at the last check.
    had_way_out: bool,
    /// The changes of the mode as stored last.
    stored: ModeChanges,
    /// The queue at the last change of the mode, if the new mode allowed connections.
    asked: Option<Vec<SessionRequest>>,
    /// Notified when the mode changes.
    notify: Arc<Notify>,
}

impl Online {
    /// Records a change of the mode. `asked`: the queue at that time.
    pub(crate) fn changed(&mut self, asked: Option<Vec<SessionRequest>>) {
        self.asked = asked;
        self.notify.notify_one();
    }

    /// Returns the notifier for changes of the mode.
    pub(crate) fn mode_changes(&self) -> Arc<Notify> {
        Arc::clone(&self.notify)
    }
}

/// Whether a session begins now: when connections become possible, or, with `by_day`, when they are
/// first possible on a day.
fn is_new_session(was_online: bool, by_day: bool, last: Option<Timestamp>, now: Timestamp) -> bool {
    let day = |time: Timestamp| time.to_zoned(TimeZone::system()).date();
    match last {
        None => true,
        Some(last) if by_day => day(last) < day(now),
        Some(_) => !was_online,
    }
}

/// The beginning of a session that is noticed now. If connections have just become possible, it is
/// the time of the first possible connection, because entries that were fetched before this check
/// belong to the session too.
fn session_start(was_online: bool, dials_since: Timestamp, now: Timestamp) -> Timestamp {
    if was_online { now } else { dials_since.min(now) }
}

/// Checks whether a session begins, and records it.
pub async fn record_session(context: &StorageContext) {
    if !context.base.config().index_options.create_history_indexes {
        return;
    }
    let is_online = context.base.mode.now().may_dial();
    let by_day = context.base.config().index_options.cycle_indexes_daily;
    let mut sessions = sessions(context).await;
    let (now, dials_since) = (timestamp(clock::now()), timestamp(context.base.mode.online_since()));
    let (began, asked) = {
        let mut online = context.lock_online();
        let was_online = std::mem::replace(&mut online.had_way_out, is_online);
        let last = sessions.start_times().first().copied();
        let begins = is_online && is_new_session(was_online, by_day, last, now);
        let began = begins.then(|| session_start(was_online, dials_since, now));
        (began, online.asked.take().filter(|_| begins))
    };
    let Some(began) = began else { return };
    sessions.begin(began);
    if let Err(error) = context.store.remember(KEY, sessions.to_string()).await {
        warn!(error = error_chain(&error), "the start of this session cannot be stored");
    }
    let asked = asked.unwrap_or_else(|| waiting_requests(context.store.spool()));
    context.index.record_session_requests(began, asked);
    context.lock_online().sessions = Some(sessions);
}

/// Continues with the changes of the mode that the previous daemon stored.
pub async fn resume_mode_changes(context: &StorageContext) {
    let text = context.store.remembered(CHANGES).await.unwrap_or_else(|error| {
        warn!(error = error_chain(&error), "the last changes of the mode are unknown");
        None
    });
    let mut words = text.as_deref().unwrap_or_default().split(' ').map(|word| {
        // A missing time is written as `-`.
        word.parse::<Timestamp>().ok().map(Into::into)
    });
    let (online, offline) = (words.next().flatten(), words.next().flatten());
    context.base.mode.resume(ModeChanges { online, offline });
}

/// Stores the changes of the mode, if there are new ones.
pub async fn store_mode_changes(context: &StorageContext) {
    let changes = context.base.mode.changes();
    if std::mem::replace(&mut context.lock_online().stored, changes) == changes {
        return;
    }
    let word =
        |time: Option<_>| time.map_or_else(|| "-".to_owned(), |at| timestamp(at).to_string());
    let text = format!("{} {}", word(changes.online), word(changes.offline));
    match context.store.remember(CHANGES, text).await {
        Err(error) if !error.is_read_only() => {
            warn!(error = error_chain(&error), "the last change of the mode cannot be stored");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Returns the times at which the last sessions began.
pub async fn sessions(context: &StorageContext) -> Sessions {
    let known = context.lock_online().sessions.clone();
    if let Some(known) = known {
        return known;
    }
    let text = context.store.remembered(KEY).await.unwrap_or_else(|error| {
        warn!(error = error_chain(&error), "the starts of the last sessions are unknown");
        None
    });
    // If the stored text is invalid, the list of sessions starts empty.
    let sessions: Sessions = text.and_then(|text| text.parse().ok()).unwrap_or_default();
    context.lock_online().sessions.get_or_insert(sessions).clone()
}

/// Adds the sessions of an imported archive, if they were before all known ones, and the requests
/// that waited in them. Counts these requests in the report.
pub async fn add_earlier_sessions(context: &StorageContext, report: &mut ImportReport) {
    report.requests.listed = 0;
    if report.sessions.is_empty() {
        return;
    }
    let mut sessions = sessions(context).await;
    sessions.add_earlier(&report.sessions);
    for (began, asked) in former_requests(&sessions, report) {
        context.index.record_session_requests(began, asked);
    }
    if let Err(error) = context.store.remember(KEY, sessions.to_string()).await {
        warn!(error = error_chain(&error), "the imported sessions cannot be stored");
    }
    context.lock_online().sessions = Some(sessions);
}

/// Like [`add_earlier_sessions`], in a spool without a daemon. Returns the requests of each
/// session, which the caller records in the index, and counts them in the report.
///
/// # Errors
///
/// If the disk fails or is full.
pub fn add_earlier_to_spool(
    spool: &Spool,
    report: &mut ImportReport,
) -> Result<Vec<(Timestamp, Vec<SessionRequest>)>, Error> {
    report.requests.listed = 0;
    if report.sessions.is_empty() {
        return Ok(Vec::new());
    }
    let (mut state, _) = spool.state()?;
    let known = state.value(KEY).and_then(|text| text.parse::<Sessions>().ok());
    let mut sessions = known.unwrap_or_default();
    sessions.add_earlier(&report.sessions);
    state.set_value(KEY, &sessions.to_string())?;
    spool.set_state(&state)?;
    Ok(former_requests(&sessions, report))
}

/// Takes the requests that waited in the sessions of an archive out of its report, the oldest first,
/// and counts them there. A fetch belongs to the session in which it began. Requests of unknown
/// sessions are discarded.
fn former_requests(
    sessions: &Sessions,
    report: &mut ImportReport,
) -> Vec<(Timestamp, Vec<SessionRequest>)> {
    let mut known = BTreeMap::<Timestamp, Vec<SessionRequest>>::new();
    report.requests.listed = 0;
    for FormerRequest { fetch, url, queued } in std::mem::take(&mut report.former_requests) {
        let began = report.sessions.iter().find(|began| **began <= fetch);
        if let Some(began) = began.filter(|began| sessions.start_times().contains(began)) {
            // The spool of 2.9 belongs to the person at this machine.
            let owner = LOCAL.to_owned();
            known.entry(*began).or_default().push(SessionRequest { url, owner, queued });
            report.requests.listed += 1;
        }
    }
    for asked in known.values_mut() {
        asked.sort_by_key(|asked| asked.queued);
    }
    known.into_iter().collect()
}

/// The requests of the queue, oldest first.
pub(crate) fn waiting_requests(spool: &Spool) -> Vec<SessionRequest> {
    let mut asked = Vec::new();
    spool.queue().visit(|request| {
        asked.push(SessionRequest {
            url: request.place.url().to_owned(),
            // In the queue, a request without an owner belongs to this machine.
            owner: request.place.owner().unwrap_or(LOCAL).to_owned(),
            queued: request.queued,
        });
    });
    asked.sort_by_key(|asked| asked.queued);
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_begins_when_online_or_with_a_day() {
        let time = |second: i64| Some(Timestamp::from_second(1_700_000_000 + second).unwrap());
        let day = 86_400;
        for (was_online, by_day, last, now, want) in [
            (false, false, None, 0, true),
            (false, false, time(0), 60, true),
            (true, false, time(0), 9 * day, false),
            (false, true, time(0), 60, false),
            (true, true, time(0), 2 * day, true),
        ] {
            let now = time(now).unwrap();
            assert_eq!(
                is_new_session(was_online, by_day, last, now),
                want,
                "{was_online} {by_day} {now}"
            );
        }
    }

    #[test]
    fn only_requests_of_known_sessions_are_counted() {
        let time = |second: i64| Timestamp::from_second(second).unwrap();
        let request = |fetch: i64| FormerRequest {
            fetch: time(fetch),
            url: format!("http://h.example/{fetch}"),
            queued: time(fetch),
        };
        let mut report = ImportReport {
            sessions: vec![time(30), time(20), time(10)],
            former_requests: [35, 25, 15, 12, 5].map(request).into(),
            ..ImportReport::default()
        };
        report.requests.listed = 5;
        let mut sessions = Sessions::default();
        sessions.begin(time(20));
        sessions.add_earlier(&report.sessions);
        let found = former_requests(&sessions, &mut report);
        let counts: Vec<_> = found.iter().map(|(began, asked)| (*began, asked.len())).collect();
        assert_eq!(counts, [(time(10), 2), (time(20), 1)]);
        assert_eq!(report.requests.listed, 3);
        assert!(report.former_requests.is_empty());
    }

    #[test]
    fn entries_fetched_just_before_a_session_belong_to_it() {
        let time = |second: i64| Timestamp::from_second(second).unwrap();
        for (was_online, dials_since, now, want) in [
            (false, 100, 103, 100),
            // The first connection of a day.
            (true, 100, 90_000, 90_000),
            // The clock was set back.
            (false, 100, 50, 50),
        ] {
            let began = session_start(was_online, time(dials_since), time(now));
            assert_eq!(began, time(want), "{was_online} {dials_since} {now}");
        }
    }
}
