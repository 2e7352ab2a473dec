//! The public calls: a spool that is open, and one that is only read.
//!
//! [`Spool`] and [`Reader`] have no logic of their own. Each method calls the module below that
//! does the work.

mod entries;
mod notes;
pub(crate) mod options;
pub(crate) mod reader;
mod segments;
mod upkeep;

use std::path::Path;
use std::sync::Arc;

use crate::durability::{Root, open};
use crate::error::{Error, Result};
use crate::fs::Disk;
use crate::notes::shared::{self, RemovalRule};
use crate::queue::Queue;
use crate::queue::monitor::Monitors;
use crate::tree::Tree;
use crate::tree::recover::{Recovery, recover};
use crate::tree::session::Session;
use wwwoffle_url::Key;

pub use self::options::Options;
pub use self::reader::Reader;

/// An open spool, locked against other processes. Clones share one spool.
///
/// When the last clone and the last [`crate::Writer`] are dropped, every finished entry is written
/// and the lock is released.
#[derive(Debug, Clone)]
pub struct Spool(Arc<SpoolParts>);

#[derive(Debug)]
struct SpoolParts {
    session: Arc<Session>,
    /// The text of [`Spool::set_pushed`] that this opening has taken.
    pushed: Option<String>,
    removals: RemovalRule,
    queue: Queue,
    monitors: Monitors,
}

impl Spool {
    /// Opens the spool at `root`, creates it if it is missing, and reports what the previous run
    /// has left.
    ///
    /// # Errors
    ///
    /// [`Error::is_locked`] if another process has it open, [`Error::is_no_spool`] if `root` is
    /// something else, [`Error::is_denied`], [`Error::is_full`], or another failure of the disk.
    pub fn open(root: &Path, options: &Options) -> Result<(Spool, Recovery)> {
        Spool::open_with(Arc::new(options.disk), root, options)
    }

    /// Opens the spool on another disk. Tests use it to make disk calls fail.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::open`].
    pub fn open_with(
        disk: Arc<dyn Disk>,
        root: &Path,
        options: &Options,
    ) -> Result<(Spool, Recovery)> {
        let lock = open::lock_root_to_write(&*disk, root)?;
        let root = Root::new(disk, root.to_owned(), options.durability);
        if lock.is_some() {
            open::prepare(&root)?;
        }
        // Taken before anything changes.
        let pushed = if lock.is_some() { shared::take_pushed(&root)? } else { None };
        let tree = Arc::new(Tree::new(root, options.versions.clone()));
        let mut recovery = Recovery::default();
        // The monitored pages are read first: they determine how many versions are kept, including
        // those that a crash left in `tmp/`.
        let monitors = Monitors::open(Arc::clone(&tree), &mut recovery)?;
        if lock.is_some() {
            recover(&tree, &mut recovery)?;
        }
        let queue = Queue::open(Arc::clone(&tree), &mut recovery)?;
        recovery.was_not_closed = lock.is_some() && tree.root.open_recent();
        let session = Arc::new(Session::new(tree, options.batch_interval, lock)?);
        let removals = options.removals.clone();
        Ok((Spool(Arc::new(SpoolParts { session, pushed, removals, queue, monitors })), recovery))
    }

    fn session(&self) -> &Arc<Session> {
        &self.0.session
    }

    fn tree(&self) -> &Tree {
        &self.0.session.tree
    }

    fn disk_root(&self) -> &Root {
        &self.0.session.tree.root
    }

    /// Whether the spool is on a read-only file system. The files that a crash has left then stay,
    /// and every write fails.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.session().is_read_only()
    }

    /// The text of [`Spool::set_pushed`], if nothing opened the spool to write since then.
    #[must_use]
    pub fn pushed(&self) -> Option<&str> {
        self.0.pushed.as_deref()
    }

    /// Encrypts a secret that belongs to `key`. The encryption key is that of this spool.
    ///
    /// # Errors
    ///
    /// If the system provides no random numbers, or the encryption fails.
    pub fn seal(&self, key: &Key, secret: &[u8]) -> Result<Vec<u8>> {
        self.0.queue.vault.seal(key, secret)
    }

    /// Decrypts a secret that was encrypted by [`Spool::seal`]. `None` if it belongs to another key
    /// or spool.
    #[must_use]
    pub fn unseal(&self, key: &Key, sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.queue.vault.unseal(key, sealed)
    }

    /// The outgoing requests.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// The monitored pages.
    #[must_use]
    pub fn monitors(&self) -> &Monitors {
        &self.0.monitors
    }

    /// Waits until every finished entry is durable under its name. With [`crate::Durability::None`]
    /// nothing is synced.
    ///
    /// # Errors
    ///
    /// The first of the [`Spool::failures`]; the others are dropped. [`Error::is_full`] or
    /// [`Error::is_out_of_files`] if an entry still waits for its name.
    pub fn flush(&self) -> Result<()> {
        self.tree().write_batch();
        let failure = self.failures().into_iter().next();
        failure.or_else(|| self.tree().pending.shortage()).map_or(Ok(()), Err)
    }

    /// Returns the failures since the last call: finished entries that could not be stored, and
    /// damage found during other work. Under [`crate::Durability::Batch`] the disk may fail after
    /// [`crate::Writer::finish`] has returned.
    #[must_use]
    pub fn failures(&self) -> Vec<Error> {
        self.disk_root().take_failures()
    }

    /// The directory of the spool.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.disk_root().path
    }

    /// Creates an empty file for another part of the program, with the permissions of spool files.
    ///
    /// # Errors
    ///
    /// If the name is taken, or the disk fails or is full.
    pub fn make_file(&self, path: &Path) -> Result<()> {
        let made = self.disk_root().disk.create(path);
        made.map(drop).map_err(|error| Error::disk("create", path, error))
    }
}
