//! A browser as a program that runs: started, spoken with through its pipe, ended with all it started.
//!
//! A browser of the Chromium family reads commands from its descriptor 3 and writes to 4. No port is
//! opened, on which others could command it. Its pipes are ours alone: when the daemon ends in whatever
//! way, they are closed, and the browser ends. The daemon locks the profile directory while it uses it,
//! so that the next start can remove the profiles of a daemon that was killed.

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
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;

use super::pipe::framed;
use crate::base::process_group::Group;
use crate::base::small_file;

/// The most memory that each process of a browser may have for its data, in bytes. The address space
/// is not limited: Chromium reserves terabytes of it and uses next to nothing.
const MAX_MEMORY: u64 = 2 << 30;

/// The descriptors of the browser's end of the pipes: it reads from the first, and writes to the second.
const PIPES: (i32, i32) = (3, 4);

/// How the names of profile directories begin.
const PROFILE: &str = "wwwoffle-browser-";

/// How long a browser may take to end by itself, and then to be gone when it was killed.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// Where it finds programs that it needs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The longest path of a directory in which the browser can make a socket of a name of its own, in
/// bytes; with a longer one it uses the directory of all programs.
const MAX_TMPDIR: usize = 60;

/// What every browser is told besides the proxy: nobody sees it, and it does nothing unasked.
const UNSEEN: [&str; 18] = [
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=512",
];

/// The directory of a browser, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Profile {
    path: PathBuf,
    /// Tells [`remove_leftovers`] that the directory is in use.
    _lock: OwnedFd,
}

impl Profile {
    /// Makes one that only we may enter.
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
        // What is left is removed at the next start of the daemon.
        let _gone = small_file::remove_tree(&self.path);
    }
}

/// Locks a directory that is ours, if nobody else has locked it.
fn lock(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    if rustix::fs::fstat(&opened)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Removes the profiles of daemons that were killed. Those of a running daemon are locked.
pub(crate) fn remove_leftovers() {
    let directory = std::env::temp_dir();
    for name in small_file::names(&directory) {
        let path = directory.join(&name);
        if name.starts_with(PROFILE) && lock(&path).is_ok() {
            // Another start may have been faster.
            let _gone = small_file::remove_tree(&path);
        }
    }
}

/// A browser that runs. Dropped, it is killed with all it has started.
#[derive(Debug)]
pub(super) struct Process {
    group: Group,
    to: pipe::Sender,
    from: pipe::Receiver,
    /// What it says to people.
    pub(super) said: Option<ChildStderr>,
    profile: Profile,
}

impl Process {
    /// Starts it.
    pub(super) fn start(
        program: &Path,
        profile: Profile,
        arguments: &[OsString],
    ) -> io::Result<Self> {
        let (to_browser, from_browser) = (io::pipe()?, io::pipe()?);
        let to = pipe::Sender::from_owned_fd(to_browser.1.into())?;
        let from = pipe::Receiver::from_owned_fd(from_browser.0.into())?;
        let mut command = Command::new(program);
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
        let mut group = Group::start(&mut command)?;
        limit_memory(group.child.id())?;
        let said = group.child.stderr.take();
        Ok(Self { group, to, from, said, profile })
    }

    /// Sends a message.
    pub(super) async fn send(&mut self, message: &serde_json::Value) -> io::Result<()> {
        self.to.write_all(&framed(message)).await
    }

    /// Reads what has come. Dropping it loses nothing.
    pub(super) async fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.from.read(piece).await
    }

    /// Ends it: asked to at first, then whether it wants to or not.
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
        // Only a panic in it can be told of, and there is none.
        let _removed = tokio::task::spawn_blocking(move || drop(profile)).await;
    }
}

/// Limits the memory of a program that has just been started, and of all it starts from now on.
fn limit_memory(id: Option<u32>) -> io::Result<()> {
    // Without an id it has ended already. Without a pid the limit would be our own.
    let Some(pid) = id.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else {
        return Ok(());
    };
    let limit = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    rustix::process::prlimit(Some(pid), Resource::Data, limit)?;
    Ok(())
}
