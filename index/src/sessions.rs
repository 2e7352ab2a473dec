//! The times online: each is a session, from when it began until the next one does.
//!
//! What was stored in that time was fetched in it, for nothing is fetched offline. The times are kept by
//! the caller, in a line of the spool's state ([`Sessions`]); here only lies what was on the queue when
//! each began, which is for people to look back at, and begins anew with the index.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use rusqlite::Connection;
use wwwoffle_spool::Timestamp;

use crate::error::Result;
use crate::filter::Viewer;

/// As many sessions are remembered: this one and those before.
pub const MAX_SESSIONS: usize = 8;

/// As many requests are remembered of a session.
const MAX_ASKED: usize = 20_000;

/// When the last sessions began.
///
/// As text, times with blanks between, the last one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sessions(Vec<Timestamp>);

/// A text that tells no times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSessions(String);

impl fmt::Display for BadSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected times with blanks between, the last one first, not {:?}", self.0)
    }
}

impl std::error::Error for BadSessions {}

impl Sessions {
    /// A session begins.
    pub fn begin(&mut self, now: Timestamp) {
        // A clock that was set back leaves no session that ended before it began.
        self.0.retain(|began| *began < now);
        self.0.insert(0, now);
        self.0.truncate(MAX_SESSIONS);
    }

    /// From when until when the session was that is so many back, 0 being the last; `None` when there
    /// was none. The last has no end.
    #[must_use]
    pub fn back(&self, back: usize) -> Option<(Timestamp, Option<Timestamp>)> {
        let began = *self.0.get(back)?;
        let ended = back.checked_sub(1).and_then(|next| self.0.get(next));
        Some((began, ended.copied()))
    }

    /// When each began, the last one first.
    #[must_use]
    pub fn began(&self) -> &[Timestamp] {
        &self.0
    }
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for began in &self.0 {
            let blank = if text.is_empty() { "" } else { " " };
            write!(text, "{blank}{began}")?;
        }
        f.write_str(&text)
    }
}

impl FromStr for Sessions {
    type Err = BadSessions;

    fn from_str(text: &str) -> Result<Sessions, BadSessions> {
        let bad = || BadSessions(text.chars().take(80).collect());
        let times: Vec<Timestamp> = text
            .split_ascii_whitespace()
            .take(MAX_SESSIONS)
            .map(|time| time.parse().map_err(|_| bad()))
            .collect::<Result<_, _>>()?;
        let is_sorted = times.windows(2).all(|pair| matches!(pair, [one, other] if one > other));
        if is_sorted { Ok(Sessions(times)) } else { Err(bad()) }
    }
}

/// A request that was on the queue when a session began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The canonical URL, without credentials.
    pub url: String,
    /// Whose it was.
    pub owner: String,
    /// When it was asked for.
    pub queued: Timestamp,
}

/// Remembers what was on the queue when a session began, and forgets what was long ago.
pub(crate) fn keep_asked(
    connection: &Connection,
    session: Timestamp,
    asked: &[Asked],
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

/// What was on the queue when the session began that began then.
pub(crate) fn asked(
    connection: &Connection,
    viewer: &Viewer,
    session: Timestamp,
) -> Result<Vec<Asked>> {
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
            all.push(Asked { url, owner, queued });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_where_the_next_begins() {
        let time = |second| Timestamp::from_second(second).unwrap();
        let mut sessions = Sessions::default();
        assert_eq!(sessions.back(0), None);
        for second in 1..20 {
            sessions.begin(time(second));
        }
        assert_eq!(sessions.began().len(), MAX_SESSIONS);
        assert_eq!(sessions.back(0), Some((time(19), None)));
        assert_eq!(sessions.back(1), Some((time(18), Some(time(19)))));
        assert_eq!(sessions.to_string().parse(), Ok(sessions.clone()));
        sessions.begin(time(5));
        assert_eq!(sessions.began(), [time(5)]);
        assert_eq!("".parse(), Ok(Sessions::default()));
        for bad in ["x", "2026-01-01T00:00:00Z 2026-01-02T00:00:00Z"] {
            assert!(bad.parse::<Sessions>().is_err());
        }
    }
}
