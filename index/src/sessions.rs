//! Online sessions. Each session lasts until the next one begins.
//!
//! Offline nothing is fetched, so everything that was stored between two beginnings was fetched in
//! the first of these sessions. The caller stores the times in the spool's state ([`Sessions`]).
//! This module only stores the requests queued at the start of each session, which users can look
//! at later. A rebuild copies them from the old index.

use std::fmt;
use std::str::FromStr;

use rusqlite::Connection;
use wwwoffle_spool::Timestamp;

use crate::error::Result;
use crate::filter::Viewer;

/// The maximum number of sessions that are stored, including the current one.
pub const MAX_SESSIONS: usize = 8;

/// The maximum number of requests of a session that are stored.
const MAX_ASKED: usize = 20_000;

/// The times at which the last sessions began.
///
/// As text: times separated by spaces, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sessions(Vec<Timestamp>);

/// A text that is not a list of times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected times separated by spaces, the latest first, not {0:?}")]
pub struct ParseSessionsError(String);

impl Sessions {
    /// Begins a session.
    pub fn begin(&mut self, now: Timestamp) {
        // If the clock was set back, later times are removed, so that no session ends before it
        // begins.
        self.0.retain(|began| *began < now);
        self.0.insert(0, now);
        self.0.truncate(MAX_SESSIONS);
    }

    /// Adds sessions of another program, the latest first. Only those before all known sessions are
    /// added.
    pub fn add_earlier(&mut self, earlier: &[Timestamp]) {
        for began in earlier {
            if self.0.last().is_none_or(|first| began < first) {
                self.0.push(*began);
            }
        }
        self.0.truncate(MAX_SESSIONS);
    }

    /// The start and the end of the session `back` sessions ago; 0 is the current session, which
    /// has no end. `None` if there is no such session.
    #[must_use]
    pub fn back(&self, back: usize) -> Option<(Timestamp, Option<Timestamp>)> {
        let began = *self.0.get(back)?;
        let ended = back.checked_sub(1).and_then(|next| self.0.get(next));
        Some((began, ended.copied()))
    }

    /// When each session began, the latest first.
    #[must_use]
    pub fn start_times(&self) -> &[Timestamp] {
        &self.0
    }
}

/// Copies the requests of all sessions from one index to another.
pub(crate) fn copy_requests(from: &Connection, to: &Connection) -> Result<()> {
    let mut find =
        from.prepare("SELECT session, number, url, owner, queued FROM asked LIMIT ?1")?;
    let most = i64::try_from(MAX_SESSIONS * MAX_ASKED).unwrap_or(i64::MAX);
    let mut rows = find.query([most])?;
    let mut add = to.prepare("INSERT OR IGNORE INTO asked VALUES (?1, ?2, ?3, ?4, ?5)")?;
    while let Some(row) = rows.next()? {
        let [session, number, queued]: [i64; 3] = [row.get(0)?, row.get(1)?, row.get(4)?];
        let [url, owner]: [String; 2] = [row.get(2)?, row.get(3)?];
        add.execute((session, number, url, owner, queued))?;
    }
    Ok(())
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, began) in self.0.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            write!(f, "{blank}{began}")?;
        }
        Ok(())
    }
}

impl FromStr for Sessions {
    type Err = ParseSessionsError;

    fn from_str(text: &str) -> Result<Sessions, ParseSessionsError> {
        let bad = || ParseSessionsError(text.chars().take(80).collect());
        let times: Vec<Timestamp> = text
            .split_ascii_whitespace()
            .take(MAX_SESSIONS)
            .map(|time| time.parse().map_err(|_| bad()))
            .collect::<Result<_, _>>()?;
        let is_sorted = times.windows(2).all(|pair| matches!(pair, [one, other] if one > other));
        if is_sorted { Ok(Sessions(times)) } else { Err(bad()) }
    }
}

/// A request that was queued when a session began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// The canonical URL, without credentials.
    pub url: String,
    /// Its owner.
    pub owner: String,
    /// When it was queued.
    pub queued: Timestamp,
}

/// Stores the requests queued at the start of a session, and discards old sessions.
pub(crate) fn record_session_requests(
    connection: &Connection,
    session: Timestamp,
    asked: &[SessionRequest],
) -> Result<()> {
    let session = session.as_microsecond();
    connection.execute("DELETE FROM asked WHERE session = ?1", [session])?;
    let mut add = connection.prepare_cached("INSERT INTO asked VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (number, asked) in (0_i64..).zip(asked.iter().take(MAX_ASKED)) {
        add.execute((session, number, &asked.url, &asked.owner, asked.queued.as_microsecond()))?;
    }
    connection.execute(
        "DELETE FROM asked WHERE session NOT IN \
         (SELECT DISTINCT session FROM asked ORDER BY session DESC LIMIT ?1)",
        [i64::try_from(MAX_SESSIONS).unwrap_or(i64::MAX)],
    )?;
    Ok(())
}

/// The requests queued when this session began.
pub(crate) fn session_requests(
    connection: &Connection,
    viewer: &Viewer,
    session: Timestamp,
) -> Result<Vec<SessionRequest>> {
    let mut find = connection.prepare_cached(
        "SELECT url, owner, queued FROM asked WHERE session = ?1 ORDER BY number",
    )?;
    let mut rows = find.query([session.as_microsecond()])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (url, owner, queued): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let is_theirs = match viewer {
            Viewer::Operator => true,
            Viewer::Person(name) => *name == owner,
        };
        if is_theirs {
            let queued = Timestamp::from_microsecond(queued).unwrap_or(Timestamp::UNIX_EPOCH);
            all.push(SessionRequest { url, owner, queued });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_the_next_begins() {
        let time = |second| Timestamp::from_second(second).unwrap();
        let mut sessions = Sessions::default();
        assert_eq!(sessions.back(0), None);
        for second in 1..20 {
            sessions.begin(time(second));
        }
        assert_eq!(sessions.start_times().len(), MAX_SESSIONS);
        assert_eq!(sessions.back(0), Some((time(19), None)));
        assert_eq!(sessions.back(1), Some((time(18), Some(time(19)))));
        assert_eq!(sessions.to_string().parse(), Ok(sessions.clone()));
        sessions.begin(time(5));
        sessions.add_earlier(&[time(7), time(4), time(4), time(2)]);
        assert_eq!(sessions.start_times(), [5, 4, 2].map(time));
        sessions.add_earlier(&(1..9).map(|back| time(-back)).collect::<Vec<_>>());
        assert_eq!(sessions.start_times().len(), MAX_SESSIONS);
        assert_eq!("".parse(), Ok(Sessions::default()));
        for bad in ["x", "2026-01-01T00:00:00Z 2026-01-02T00:00:00Z"] {
            assert!(bad.parse::<Sessions>().is_err());
        }
    }
}
