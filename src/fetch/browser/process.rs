//! A browser as a program that runs: started, spoken with through its pipe, ended with all it started.
//!
//! A browser of the Chromium family reads commands from its descriptor 3 and writes to 4. No port is
//! opened, on which others could command it. Its pipe is ours alone: when the daemon ends in whatever
//! way, the pipe is closed, the browser ends by itself, and the shell that started it removes the
//! profile. Each of its processes may have [`MAX_MEMORY_KIB`] of its own; the space of addresses cannot
//! be limited, for it takes terabytes of that and uses next to nothing of it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::pipe::framed;
use crate::base::small_file;
use crate::cli::process_group::Group;

/// The most memory that each process of a browser may have for its data, in KiB.
const MAX_MEMORY_KIB: u32 = 2 << 20;

/// How long a browser may take to end by itself, and then to be gone when it was killed.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// Where it finds programs that it needs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The longest path of a directory in which the browser can make a socket of a name of its own, in
/// bytes; with a longer one it uses the directory of all programs.
const MAX_TMPDIR: usize = 60;

/// Runs the browser, which is told of nothing but its pipe, and clears away after it. Its first
/// argument is the profile, its second the limit.
const SCRIPT: &str = "profile=$1; ulimit -d \"$2\" || exit; shift 2; \
    \"$@\" 3<&0 4>&1 </dev/null >/dev/null; rm -rf -- \"$profile\"";

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

/// A directory of a browser's own; gone with this.
#[derive(Debug)]
pub(super) struct Profile(PathBuf);

impl Profile {
    /// Makes one that only we may enter.
    pub(super) fn make() -> io::Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("wwwoffle-browser-{}", hex::encode(name)));
        small_file::create_new_directory(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // The shell has removed it, or what is left is removed now.
        let _gone = small_file::remove_tree(&self.0);
    }
}

/// A browser that runs. Dropped, it is killed with all it has started.
#[derive(Debug)]
pub(super) struct Process {
    group: Group,
    to: ChildStdin,
    from: ChildStdout,
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
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).arg(profile.path()).arg(MAX_MEMORY_KIB.to_string());
        command.arg(program).args(UNSEEN).args(arguments);
        command.env_clear().env("PATH", PATH).env("HOME", profile.path());
        command.current_dir("/");
        if profile.path().as_os_str().len() <= MAX_TMPDIR {
            command.env("TMPDIR", profile.path());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::start(&mut command)?;
        let child = &mut group.child;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), said) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
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
