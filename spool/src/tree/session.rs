//! An open tree: locked against other processes, and written in batches.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::fs::Lock;
use crate::tree::{Tree, pending};

/// An open tree with its lock. Every writer refers to it, so the lock is held until the last writer
/// is dropped.
///
/// Dropping the session writes every finished entry, then releases the lock.
pub(crate) struct Session {
    pub(crate) tree: Arc<Tree>,
    background: Option<JoinHandle<()>>,
    /// Released last: no other process may write before everything is written. `None` on a
    /// read-only file system.
    lock: Option<Lock>,
}

impl Session {
    /// Starts the thread that writes batches, each at most `interval` after its first entry was
    /// finished.
    pub(crate) fn new(tree: Arc<Tree>, interval: Duration, lock: Option<Lock>) -> Result<Session> {
        let background = match tree.root.durability {
            Durability::Batch if lock.is_some() => Some(spawn(&tree, interval)?),
            _ => None,
        };
        Ok(Session { tree, background, lock })
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }
}

fn spawn(tree: &Arc<Tree>, interval: Duration) -> Result<JoinHandle<()>> {
    let own = Arc::clone(tree);
    std::thread::Builder::new()
        .name("spool-batch".to_owned())
        .spawn(move || pending::run(&own, interval))
        .map_err(|error| Error::disk("start the thread that writes to", &tree.root.path, error))
}

impl Drop for Session {
    fn drop(&mut self) {
        self.tree.pending.stop();
        if let Some(background) = self.background.take() {
            // The thread does not panic. If it did, the remaining entries would be written here.
            let _ = background.join();
        }
        self.tree.write_batch();
        self.tree.root.close_recent();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("root", &self.tree.root.path).finish_non_exhaustive()
    }
}
