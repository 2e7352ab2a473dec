//! A browser process: started, controlled through its pipe, and ended with all its children.
//!
//! A browser of the Chromium family reads commands from descriptor 3 and writes answers to
//! descriptor 4. It opens no port through which other programs could control it. When the daemon
//! ends for any reason, the pipes close and the browser ends. The daemon locks the profile
//! directory of a running browser. A profile directory without a lock was left by a killed daemon,
//! so the next start removes it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::ChildStderr;
use tokio::time::timeout;

use super::pipe::framed;
use super::program::BrowserProgram;
use crate::base::process_group::ProcessGroup;
use crate::base::small_file;

/// The largest data segment of each process of a browser, in bytes. The address space is not
/// limited: Chromium reserves terabytes of it and uses little.
const MAX_MEMORY: u64 = 2 << 30;

/// The descriptors of the browser's ends of the pipes: it reads from the first and writes to the
/// second.
const PIPES: (i32, i32) = (3, 4);

/// The prefix of the names of profile directories.
const PROFILE: &str = "wwwoffle-browser-";

/// The time that a browser gets to exit, and then to disappear after it was killed.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// The search path for the programs that the browser starts.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The longest path of a directory in which the browser can create its socket, in bytes. If the
/// path is longer, the browser uses the common temporary directory.
const MAX_TMPDIR: usize = 60;

/// The arguments of every browser, in addition to those of the module `chromium`: no window, and no
/// requests of its own.
const UNSEEN: [&str; 12] = [
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disable-extensions",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=512",
];

/// The directory of a browser. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Profile {
    path: PathBuf,
    /// The lock shows [`remove_leftovers`] that the directory is in use.
    _lock: OwnedFd,
}

impl Profile {
    /// Creates and locks a directory that only this user may enter.
    pub(super) fn make() -> io::Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("{PROFILE}{}", hex::encode(name)));
        small_file::create_new_directory(&path)?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // If this fails, the next start of the daemon removes the directory.
        let _gone = small_file::remove_tree(&self.path);
    }
}

/// Locks a directory. Fails if it belongs to another user, or another process has locked it.
fn lock(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    if rustix::fs::fstat(&opened)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Removes the profiles of killed daemons. The profiles of a running daemon are locked, and stay.
pub(crate) fn remove_leftovers() {
    let directory = std::env::temp_dir();
    for name in small_file::names(&directory) {
        let path = directory.join(&name);
        if name.starts_with(PROFILE) && lock(&path).is_ok() {
            // Another daemon may have removed the directory at the same time.
            let _gone = small_file::remove_tree(&path);
        }
    }
}

/// A running browser. Dropping this value kills the browser with all its children.
#[derive(Debug)]
pub(super) struct Process {
    group: ProcessGroup,
    to: pipe::Sender,
    from: pipe::Receiver,
    /// The standard error of the browser.
    pub(super) said: Option<ChildStderr>,
    profile: Profile,
}

impl Process {
    /// Starts a browser.
    pub(super) fn start(
        program: &Path,
        profile: Profile,
        arguments: &[OsString],
    ) -> io::Result<Self> {
        let (to_browser, from_browser) = (io::pipe()?, io::pipe()?);
        let to = pipe::Sender::from_owned_fd(to_browser.1.into())?;
        let from = pipe::Receiver::from_owned_fd(from_browser.0.into())?;
        let program = BrowserProgram::open(program)?;
        let mut command = program.command();
        command.args(UNSEEN).args(arguments);
        command.env_clear().env("PATH", PATH).env("HOME", profile.path());
        command.current_dir("/");
        if profile.path().as_os_str().len() <= MAX_TMPDIR {
            command.env("TMPDIR", profile.path());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mappings = vec![
            FdMapping { parent_fd: to_browser.0.into(), child_fd: PIPES.0 },
            FdMapping { parent_fd: from_browser.1.into(), child_fd: PIPES.1 },
        ];
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let mut group = ProcessGroup::start(&mut command)?;
        limit_memory(group.child.id())?;
        let said = group.child.stderr.take();
        Ok(Self { group, to, from, said, profile })
    }

    /// Sends a message.
    pub(super) async fn send(&mut self, message: &serde_json::Value) -> io::Result<()> {
        self.to.write_all(&framed(message)).await
    }

    /// Reads available bytes. Dropping the future loses nothing.
    pub(super) async fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.from.read(piece).await
    }

    /// Asks the browser to close, then kills its remaining processes and removes its profile.
    pub(super) async fn end(mut self) {
        let close = serde_json::json!({"id": 0, "method": "Browser.close"});
        let by_itself = async {
            if self.send(&close).await.is_ok() {
                let mut piece = [0; 4096];
                while let Ok(1..) = self.read(&mut piece).await {}
            }
        };
        let _in_time = timeout(GRACE, by_itself).await;
        self.group.end(GRACE).await;
        let profile = self.profile;
        // The task could only fail by a panic, and dropping a profile does not panic.
        let _removed = tokio::task::spawn_blocking(move || drop(profile)).await;
    }
}

/// Limits the memory of a program that was just started, and of its later children.
fn limit_memory(id: Option<u32>) -> io::Result<()> {
    // A process without an id has ended. Without a pid, `prlimit` would limit this process.
    let Some(pid) = id.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else {
        return Ok(());
    };
    let limit = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    rustix::process::prlimit(Some(pid), Resource::Data, limit)?;
    Ok(())
}
