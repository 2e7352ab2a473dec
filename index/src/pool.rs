//! Read connections, separate from the writer.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::{IndexFault, Result};
use crate::schema;

/// The maximum number of queries that run at once. Further queries wait.
const MAX_READERS: usize = 4;

/// The time limit of a query. Queries with a limit of their own need at most a twentieth of this
/// time.
const MAX_QUERY_TIME: Duration = Duration::from_secs(5);

/// The number of SQLite steps between two checks of the time.
const STEPS: i32 = 20_000;

/// The pool of read connections.
#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    idle: Vec<Connection>,
    taken: usize,
    /// Whether there is a complete index at the path.
    is_open: bool,
    /// Whether the file is being replaced. During that time it must not be opened.
    is_replaced: bool,
}

/// A borrowed connection, which is returned on drop.
struct PooledConnection<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Pool {
    pub(crate) fn new(path: PathBuf) -> Pool {
        Pool { path, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Runs a query.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read_within(MAX_QUERY_TIME, ask)
    }

    /// Runs a query with another time limit.
    pub(crate) fn read_within<T>(
        &self,
        time: Duration,
        ask: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let mut taken = self.take()?;
        let connection = taken.connection.as_mut().ok_or(IndexFault::NotReady)?;
        let until = Instant::now() + time;
        connection.progress_handler(STEPS, Some(move || Instant::now() > until))?;
        let answer = ask(connection);
        if answer.is_err() {
            // The connection may be broken, so it is not returned to the pool.
            taken.connection = None;
        }
        answer
    }

    fn take(&self) -> Result<PooledConnection<'_>> {
        let mut state = lock(&self.state);
        while state.is_replaced || (state.idle.is_empty() && state.taken >= MAX_READERS) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_open {
            return Err(IndexFault::NotReady.into());
        }
        let idle = state.idle.pop();
        state.taken += 1;
        drop(state);
        let mut taken = PooledConnection { pool: self, connection: idle };
        if taken.connection.is_none() {
            taken.connection = Some(schema::open_reader(&self.path)?);
        }
        Ok(taken)
    }

    /// Runs `act` while the file is closed. `act` also returns whether the index exists afterwards.
    ///
    /// SQLite removes the log by its name when the last connection closes. The old file must
    /// therefore be closed before another file gets its name.
    pub(crate) fn replace<T>(&self, act: impl FnOnce() -> (T, bool)) -> T {
        let mut state = lock(&self.state);
        state.is_replaced = true;
        while state.taken > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.idle.clear();
        drop(state);
        let (done, is_open) = act();
        let mut state = lock(&self.state);
        (state.is_open, state.is_replaced) = (is_open, false);
        drop(state);
        self.changed.notify_all();
        done
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.pool.state);
        state.taken -= 1;
        if !state.is_replaced {
            state.idle.extend(self.connection.take());
        }
        let closed = self.connection.take();
        // The connections must be closed before waiting threads are notified.
        drop(closed);
        drop(state);
        self.pool.changed.notify_all();
    }
}

fn lock(state: &Mutex<PoolState>) -> MutexGuard<'_, PoolState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
