//! Connections for those who read, apart from the one who writes.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::schema;

/// As many read at once; others wait.
const MAX_READERS: usize = 4;

/// How long a query may take. What is bounded by its own numbers needs a twentieth of it at most.
const MAX_QUERY_TIME: Duration = Duration::from_secs(5);

/// The steps of the database between two looks at the time.
const STEPS: i32 = 20_000;

/// The connections of readers.
#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    taken: usize,
    /// There is a whole index at the path.
    is_open: bool,
    /// The file is being replaced: nobody may have it open.
    is_replaced: bool,
}

/// A connection of a reader, which goes back when it is dropped.
struct Taken<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Pool {
    pub(crate) fn new(path: PathBuf) -> Pool {
        Pool { path, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Asks the index something.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read_within(MAX_QUERY_TIME, ask)
    }

    /// The same where the answer may take longer.
    pub(crate) fn read_within<T>(
        &self,
        time: Duration,
        ask: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let mut taken = self.take()?;
        let Some(connection) = &mut taken.connection else { return Err(Error::not_ready()) };
        let until = Instant::now() + time;
        connection.progress_handler(STEPS, Some(move || Instant::now() > until))?;
        let answer = ask(connection);
        if answer.is_err() {
            // It may be the connection that is at fault.
            taken.connection = None;
        }
        answer
    }

    fn take(&self) -> Result<Taken<'_>> {
        let mut state = lock(&self.state);
        while state.is_replaced || (state.idle.is_empty() && state.taken >= MAX_READERS) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_open {
            return Err(Error::not_ready());
        }
        let idle = state.idle.pop();
        state.taken += 1;
        drop(state);
        let mut taken = Taken { pool: self, connection: idle };
        if taken.connection.is_none() {
            taken.connection = Some(schema::open_reader(&self.path)?);
        }
        Ok(taken)
    }

    /// Does something with the file while nobody has it open. From then on there is an index if it says
    /// so.
    ///
    /// Who closes a database last removes its log by name: so none may be open of the file before when
    /// another has that name.
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

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.pool.state);
        state.taken -= 1;
        if !state.is_replaced {
            state.idle.extend(self.connection.take());
        }
        let closed = self.connection.take();
        // Closed before anybody is told that it is.
        drop(closed);
        drop(state);
        self.pool.changed.notify_all();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
