//! A disk in memory that fails, stops or loses power at a chosen call.
//!
//! It records the present and the synced state of each file and directory. After a power failure
//! each unsynced name is the old or the new one, at random and independently. Each unsynced block
//! is old, new or zeros. Every file system guarantees more than this, so a test that passes here
//! passes on all file systems.

// The path is explicit because the fuzz targets include this file too.
#[path = "torn.rs"]
mod torn;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use torn::{Chance, torn};
use wwwoffle_spool::Timestamp;
use wwwoffle_spool::fs::{DirectoryNames, Disk, DiskFile, Lock, OpenedFile};

/// The errors of Linux for too many open files, and for an unreadable sector.
const EMFILE: i32 = 24;
const EIO: i32 = 5;

/// The fault at the chosen call. Calls are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    Never,
    /// The chosen call fails. Later calls work.
    Fail(u64, ErrorKind),
    /// The chosen call fails, because the process has too many open files. Later calls work.
    OutOfFiles(u64),
    /// No file and no directory can be created: the disk is full.
    Full,
    /// The disk is full until the chosen call. This call and all later calls fail.
    FullAndStop(u64),
    /// A full disk that cannot overwrite either, because each change takes another block. A removal
    /// makes room for one file.
    FullOfCopies,
    /// The chosen call and all later calls fail, as if the process had ended.
    Stop(u64),
}

#[derive(Debug, Clone)]
pub struct SimDisk(Arc<Mutex<Machine>>);

#[derive(Debug)]
struct Machine {
    nodes: Vec<Node>,
    fault: Fault,
    calls: u64,
    /// The number of files that still fit on a disk that is full of copies.
    room: u64,
    seconds: i64,
    locked: bool,
    /// The files that cannot be read.
    unreadable: Vec<usize>,
    /// The directory in and below which no name can be created.
    refusing: Option<PathBuf>,
    meanwhile: Meanwhile,
}

/// Simulated concurrent steps: before the next file creation, between two opens of the same path,
/// and before the next sync of a file.
#[derive(Default)]
struct Meanwhile {
    before_create: Option<Step>,
    between_opens: Option<Between>,
    before_sync: Option<Step>,
}

/// A concurrent step.
type Step = Box<dyn FnOnce() + Send>;

/// A concurrent step that runs before a path is opened, after the given number of opens.
type Between = (PathBuf, usize, Step);

impl Meanwhile {
    /// Returns the step that is due before this path is opened, if any.
    fn before_open(&mut self, path: &Path) -> Option<Step> {
        let (_, times, _) = self.between_opens.as_mut().filter(|(of, ..)| of == path)?;
        if *times > 0 {
            *times -= 1;
            return None;
        }
        self.between_opens.take().map(|(.., done)| done)
    }
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Meanwhile").field(&self.before_create.is_some()).finish()
    }
}

#[derive(Debug, Clone)]
enum Node {
    /// The contents are shared by the copies of the disk: tests make one copy for each call.
    File {
        now: Arc<Vec<u8>>,
        synced: Arc<Vec<u8>>,
    },
    Directory {
        now: BTreeMap<OsString, usize>,
        synced: BTreeMap<OsString, usize>,
    },
}

impl Node {
    fn empty_file() -> Node {
        Node::File { now: Arc::default(), synced: Arc::default() }
    }
}

impl SimDisk {
    /// An empty disk with the directory `/`.
    pub fn new() -> SimDisk {
        let root = Node::Directory { now: BTreeMap::new(), synced: BTreeMap::new() };
        let machine = Machine {
            nodes: vec![root],
            fault: Fault::Never,
            calls: 0,
            room: 0,
            seconds: 1_700_000_000,
            locked: false,
            unreadable: Vec::new(),
            refusing: None,
            meanwhile: Meanwhile::default(),
        };
        SimDisk(Arc::new(Mutex::new(machine)))
    }

    /// A disk with the same content and no faults, as after a restart of the process.
    pub fn restarted(&self) -> SimDisk {
        let machine = self.machine();
        let (nodes, seconds) = (machine.nodes.clone(), machine.seconds);
        let meanwhile = Meanwhile::default();
        let (fault, calls, room) = (Fault::Never, 0, 0);
        let (locked, unreadable, refusing) = (false, Vec::new(), None);
        let machine =
            Machine { nodes, fault, calls, room, seconds, locked, unreadable, refusing, meanwhile };
        SimDisk(Arc::new(Mutex::new(machine)))
    }

    /// One of the possible disks after a power cut.
    pub fn after_power_cut(&self, seed: u64) -> SimDisk {
        let disk = self.restarted();
        let mut chance = Chance(seed.wrapping_mul(2).wrapping_add(1));
        for node in &mut disk.machine().nodes {
            match node {
                Node::File { now, synced } => {
                    *now = torn(synced, now, &mut chance);
                    synced.clone_from(now);
                }
                Node::Directory { now, synced } => {
                    let names: Vec<_> = now.keys().chain(synced.keys()).cloned().collect();
                    for name in names {
                        if now.get(&name) != synced.get(&name) && chance.of(2) == 0 {
                            match synced.get(&name) {
                                Some(&node) => now.insert(name, node),
                                None => now.remove(&name),
                            };
                        }
                    }
                    synced.clone_from(now);
                }
            }
        }
        disk
    }

    /// Sets the fault, and counts calls from 0 again.
    pub fn set_fault(&self, fault: Fault) {
        let mut machine = self.machine();
        machine.fault = fault;
        machine.calls = 0;
        machine.room = 0;
    }

    /// Makes a file unreadable, whatever its name, as if its sectors were bad.
    pub fn set_unreadable(&self, path: &Path) {
        let mut machine = self.machine();
        let node = machine.find(path).unwrap();
        machine.unreadable.push(node);
    }

    /// Lets no name be created in this directory or below it, as if it belonged to another user.
    pub fn refuse_names(&self, directory: Option<&Path>) {
        self.machine().refusing = directory.map(Path::to_owned);
    }

    /// Moves the clock.
    pub fn move_clock(&self, seconds: i64) {
        self.machine().seconds += seconds;
    }

    /// Does a concurrent step once, before the next file is created.
    pub fn set_meanwhile(&self, done: impl FnOnce() + Send + 'static) {
        self.machine().meanwhile.before_create = Some(Box::new(done));
    }

    /// Does a concurrent step once, before the next sync of a file.
    pub fn set_before_sync(&self, done: impl FnOnce() + Send + 'static) {
        self.machine().meanwhile.before_sync = Some(Box::new(done));
    }

    /// Does a concurrent step once, after a path was opened `times` times.
    pub fn set_between_opens(
        &self,
        path: &Path,
        times: usize,
        done: impl FnOnce() + Send + 'static,
    ) {
        self.machine().meanwhile.between_opens = Some((path.to_owned(), times, Box::new(done)));
    }

    /// The number of calls since [`SimDisk::set_fault`].
    pub fn calls(&self) -> u64 {
        self.machine().calls
    }

    /// The content of a file.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let machine = self.machine();
        match &machine.nodes[machine.find(path).ok()?] {
            Node::File { now, .. } => Some(now.to_vec()),
            Node::Directory { .. } => None,
        }
    }

    /// The paths of all files below a directory.
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        let machine = self.machine();
        let mut files = Vec::new();
        if let Ok(node) = machine.find(path) {
            machine.collect(node, path, &mut files);
        }
        files
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap()
    }

    /// Counts a call, and fails it if it is the chosen one.
    fn call(&self) -> io::Result<MutexGuard<'_, Machine>> {
        let mut machine = self.machine();
        let number = machine.calls;
        machine.calls += 1;
        match machine.fault {
            Fault::Fail(at, kind) if at == number => Err(kind.into()),
            Fault::OutOfFiles(at) if at == number => Err(io::Error::from_raw_os_error(EMFILE)),
            Fault::Stop(at) | Fault::FullAndStop(at) if at <= number => {
                Err(io::Error::other("the process has stopped"))
            }
            _ => Ok(machine),
        }
    }
}

impl Machine {
    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut node = 0;
        for name in path.iter().skip(1) {
            node = *self.directory(node)?.get(name).ok_or(ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn directory(&self, node: usize) -> io::Result<&BTreeMap<OsString, usize>> {
        match &self.nodes[node] {
            Node::Directory { now, .. } => Ok(now),
            Node::File { .. } => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the names in the directory of a path, and the last name of the path.
    fn parent<'a>(
        &mut self,
        path: &'a Path,
    ) -> io::Result<(&mut BTreeMap<OsString, usize>, &'a OsStr)> {
        let node = self.find(path.parent().unwrap())?;
        match &mut self.nodes[node] {
            Node::Directory { now, .. } => Ok((now, path.file_name().unwrap())),
            Node::File { .. } => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn check_refusal(&self, path: &Path) -> io::Result<()> {
        let is_refused = self.refusing.as_ref().is_some_and(|refusing| path.starts_with(refusing));
        if is_refused { Err(ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }

    fn make(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        self.check_refusal(path)?;
        let number = self.nodes.len();
        let is_full = match self.fault {
            Fault::Full | Fault::FullAndStop(_) => true,
            Fault::FullOfCopies => self.room == 0,
            Fault::Never | Fault::Fail(..) | Fault::OutOfFiles(_) | Fault::Stop(_) => false,
        };
        let (names, name) = self.parent(path)?;
        if names.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if is_full {
            return Err(ErrorKind::StorageFull.into());
        }
        names.insert(name.to_owned(), number);
        self.nodes.push(node);
        self.room = self.room.saturating_sub(1);
        Ok(number)
    }

    fn collect(&self, node: usize, path: &Path, files: &mut Vec<PathBuf>) {
        match &self.nodes[node] {
            Node::File { .. } => files.push(path.to_owned()),
            Node::Directory { now, .. } => {
                for (name, &node) in now {
                    self.collect(node, &path.join(name), files);
                }
            }
        }
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let empty = Node::Directory { now: BTreeMap::new(), synced: BTreeMap::new() };
        self.call()?.make(path, empty).map(|_| ())
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        let machine = self.call()?;
        let names: Vec<_> = machine.directory(machine.find(path)?)?.keys().cloned().collect();
        Ok(Box::new(names.into_iter().map(Ok)))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let empty = Node::empty_file();
        let meanwhile = self.machine().meanwhile.before_create.take();
        if let Some(done) = meanwhile {
            done();
        }
        let node = self.call()?.make(path, empty)?;
        Ok(Arc::new(SimFile { disk: self.clone(), node }))
    }

    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        let between = self.machine().meanwhile.before_open(path);
        if let Some(done) = between {
            done();
        }
        let machine = self.call()?;
        let node = machine.find(path)?;
        match &machine.nodes[node] {
            Node::File { now, .. } => {
                let file = SimFile { disk: self.clone(), node };
                Ok(OpenedFile::File(Arc::new(file), now.len() as u64))
            }
            Node::Directory { .. } => Ok(OpenedFile::NotAFile),
        }
    }

    fn open_to_change(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.open(path)? {
            OpenedFile::File(file, _) => Ok(file),
            OpenedFile::NotAFile => Err(ErrorKind::Unsupported.into()),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.call()?;
        let node = machine.find(from)?;
        machine.check_refusal(to)?;
        // Both paths must be valid before anything is changed.
        let (names, name) = machine.parent(to)?;
        if names.get(name) == Some(&node) {
            // POSIX: if both names are of one file, neither changes.
            return Ok(());
        }
        let (names, name) = machine.parent(from)?;
        names.remove(name);
        let (names, name) = machine.parent(to)?;
        names.insert(name.to_owned(), node);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.call()?;
        let node = machine.find(from)?;
        let (names, name) = machine.parent(to)?;
        if names.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        names.insert(name.to_owned(), node);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.call()?;
        let node = machine.find(path)?;
        if !machine.directory(node)?.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let (names, name) = machine.parent(path)?;
        names.remove(name);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.call()?;
        let (names, name) = machine.parent(path)?;
        names.remove(name).ok_or(ErrorKind::NotFound)?;
        machine.room += 1;
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.call()?;
        let node = machine.find(path)?;
        match &mut machine.nodes[node] {
            Node::Directory { now, synced } => {
                synced.clone_from(now);
                Ok(())
            }
            Node::File { .. } => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn sync_all(&self, _root: &Path) -> io::Result<()> {
        for node in &mut self.call()?.nodes {
            match node {
                Node::File { now, synced } => synced.clone_from(now),
                Node::Directory { now, synced } => synced.clone_from(now),
            }
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let mut machine = self.call()?;
        if machine.locked {
            return Ok(None);
        }
        if machine.find(path).is_err() {
            machine.make(path, Node::empty_file())?;
        }
        machine.locked = true;
        Ok(Some(Box::new(SimLock(self.clone()))))
    }

    fn now(&self) -> Timestamp {
        let mut machine = self.machine();
        machine.seconds += 1;
        Timestamp::from_second(machine.seconds).unwrap()
    }
}

struct SimLock(SimDisk);

impl Drop for SimLock {
    fn drop(&mut self) {
        self.0.machine().locked = false;
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    node: usize,
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let machine = self.disk.call()?;
        if machine.unreadable.contains(&self.node) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let Node::File { now, .. } = &machine.nodes[self.node] else { unreachable!() };
        let rest = now.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let failed = self.disk.call().err();
        let mut machine = self.disk.machine();
        let stop = match machine.fault {
            Fault::Stop(at) | Fault::FullAndStop(at) => Some(at),
            _ => None,
        };
        let gone = stop.is_some_and(|at| at + 1 < machine.calls);
        let is_full = machine.fault == Fault::FullOfCopies;
        let Node::File { now, .. } = &mut machine.nodes[self.node] else { unreachable!() };
        // A failing write may have done half of its work. A process that has ended writes nothing.
        let done = match failed {
            None => bytes.len(),
            Some(_) if gone => 0,
            Some(_) => bytes.len() / 2,
        };
        let start = offset as usize;
        if is_full && start < now.len() {
            return Err(ErrorKind::StorageFull.into());
        }
        if done == 0 {
            return failed.map_or(Ok(()), Err);
        }
        let now = Arc::make_mut(now);
        // `resize` is slow in unoptimised tests.
        now.extend_from_slice(&vec![0; start.saturating_sub(now.len())]);
        let (over, behind) = bytes[..done].split_at(done.min(now.len() - start));
        now[start..start + over.len()].copy_from_slice(over);
        now.extend_from_slice(behind);
        failed.map_or(Ok(()), Err)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut machine = self.disk.call()?;
        let Node::File { now, .. } = &mut machine.nodes[self.node] else { unreachable!() };
        Arc::make_mut(now).truncate(len as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let step = self.disk.machine().meanwhile.before_sync.take();
        if let Some(done) = step {
            done();
        }
        let mut machine = self.disk.call()?;
        for (number, node) in machine.nodes.iter_mut().enumerate() {
            match node {
                Node::File { now, synced } if number == self.node => synced.clone_from(now),
                Node::File { .. } => {}
                // No standard promises this, but a journal also writes the file's name, which may
                // then come back after an unsynced removal.
                Node::Directory { now, synced } => {
                    let names = now.iter().filter(|(_, node)| **node == self.node);
                    synced.extend(names.map(|(name, node)| (name.clone(), *node)));
                }
            }
        }
        Ok(())
    }

    fn identity(&self) -> io::Result<u64> {
        Ok(self.node as u64)
    }
}
