//! A disk that a test can make fail or wait.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use wwwoffle_spool::Timestamp;
use wwwoffle_spool::fs::{DirectoryNames, Disk, DiskFile, Lock, OpenedFile, SYSTEM_DISK};

/// The real disk, which a test can declare full: then no file can be created or written.
#[derive(Debug, Default)]
pub(super) struct Faulty {
    is_full: Arc<AtomicBool>,
    gate: Mutex<Option<(oneshot::Sender<()>, Receiver<()>)>>,
}

impl Faulty {
    pub(super) fn set_failing(&self, fails: bool) {
        self.is_full.store(fails, Ordering::SeqCst);
    }

    /// Makes the next rename wait. The first channel gets a message when the rename waits. Dropping
    /// the second channel lets the rename continue.
    pub(super) fn hold_writes(&self) -> (oneshot::Receiver<()>, SyncSender<()>) {
        let ((waits, signal), (free, freed)) = (oneshot::channel(), sync_channel(1));
        *self.gate.lock().unwrap() = Some((waits, freed));
        (signal, free)
    }
}

fn room(is_full: &AtomicBool) -> io::Result<()> {
    if is_full.load(Ordering::SeqCst) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn DiskFile>,
    is_full: Arc<AtomicBool>,
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        room(&self.is_full)?;
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn identity(&self) -> io::Result<u64> {
        self.file.identity()
    }
}

impl Disk for Faulty {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.create_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        SYSTEM_DISK.read_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        room(&self.is_full)?;
        let file = SYSTEM_DISK.create(path)?;
        Ok(Arc::new(FaultyFile { file, is_full: Arc::clone(&self.is_full) }))
    }

    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        SYSTEM_DISK.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let gate = self.gate.lock().unwrap().take();
        if let Some((waits, freed)) = gate {
            let _nobody_looks = waits.send(());
            let _free = freed.recv();
        }
        SYSTEM_DISK.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        SYSTEM_DISK.link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.remove_dir(path)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        SYSTEM_DISK.lock(path)
    }

    fn now(&self) -> Timestamp {
        SYSTEM_DISK.now()
    }
}
