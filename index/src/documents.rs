//! The thread that reads one document, such as a PDF file.
//!
//! The programs that do this may take long, and the words of pages must not wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rusqlite::Connection;
use wwwoffle_spool::Entry;

use crate::describe::{Describe, Description};
use crate::error::{Error, IndexFault, Result};
use crate::item::Item;
use crate::work_queue::WorkQueue;

/// The state of the thread that reads one document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DocumentState {
    #[default]
    None,
    Running,
    /// The index thread has not been told yet.
    Read,
}

impl DocumentState {
    pub(crate) fn forget_read(&mut self) {
        if *self == Self::Read {
            *self = Self::None;
        }
    }
}

/// The thread that reads a document.
#[derive(Debug)]
pub(crate) struct DocumentThread {
    item: Item,
    thread: JoinHandle<Option<Description>>,
}

impl DocumentThread {
    /// Starts the thread. It reports its end to `work`.
    pub(crate) fn start(
        item: Item,
        entry: Entry,
        describe: Arc<dyn Describe>,
        work: &Arc<WorkQueue>,
    ) -> Result<Self> {
        let reporter = Arc::clone(work);
        let run = move || {
            let description = describe_safely(describe.as_ref(), &entry, &reporter);
            reporter.set_document(DocumentState::Read);
            description
        };
        work.set_document(DocumentState::Running);
        let thread = Builder::new().name("document".to_owned()).spawn(run).map_err(|error| {
            work.set_document(DocumentState::None);
            Error::disk("start the thread that reads", &item.place.relative_path(), error)
        })?;
        Ok(Self { item, thread })
    }

    /// Waits for the thread.
    pub(crate) fn wait(self) -> Option<Description> {
        self.thread.join().ok().flatten()
    }

    /// The id and description of the document. `None` if the entry has been replaced since.
    pub(crate) fn finish(
        self,
        connection: &Connection,
    ) -> Result<Option<(i64, Option<Description>)>> {
        let id = self.item.position.id;
        let mut find = connection.prepare_cached(
            "SELECT 1 FROM entries WHERE id = ?1 AND key = ?2 AND stored = ?3 AND text = 0",
        )?;
        let stored = self.item.times.stored.as_microsecond();
        let is_there = find.exists((id, self.item.place.key().as_bytes(), stored))?;
        let description = self.wait();
        Ok(is_there.then_some((id, description)))
    }
}

/// Describes an entry. Many libraries parse untrusted content: a panic in one of them only loses the
/// words of one entry.
pub(crate) fn describe_safely(
    describe: &dyn Describe,
    entry: &Entry,
    work: &WorkQueue,
) -> Option<Description> {
    let description = catch_unwind(AssertUnwindSafe(|| describe.describe(entry)));
    let description = description.unwrap_or_else(|_| {
        work.record_error(IndexFault::Unreadable(entry.url().to_owned()).into());
        None
    });
    description.map(Description::bounded)
}
