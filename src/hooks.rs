//! Programs of the user's that are run when something has happened.
//!
//! Each is started directly, never by a shell, in `/`, with nothing on its standard input and nothing in
//! its environment but `PATH`, `WWWOFFLE_MODE` and `WWWOFFLE_SPOOL`. What it writes goes into the
//! log. Nobody waits for it: of one kind one runs at a time, and the next begins when it has ended.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;
use tracing::{info, warn};
use wwwoffle_config::Options;

use crate::mode::Mode;
use crate::server::tasks::Tasks;

/// Where such a program finds others.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How many programs may wait for one of their kind to end; a further one is left out.
const MAX_WAITING: usize = 16;

/// The most of what a program writes on either output that is logged, in bytes.
const MAX_OUTPUT: usize = 16 * 1024;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The mode is another one.
    Mode(Mode),
    /// Fetching has begun.
    FetchStart,
    /// Fetching has ended.
    FetchStop,
    /// The configuration in force is another one.
    Changed,
}

/// The programs that run, by their kinds.
#[derive(Debug)]
pub struct Hooks {
    kinds: [Arc<Kind>; 5],
}

#[derive(Debug)]
struct Kind {
    /// Held while one runs. Whoever waits gets it in order.
    turn: Mutex<()>,
    waiting: Arc<Semaphore>,
}

impl Default for Hooks {
    fn default() -> Self {
        let kind = || {
            let waiting = Arc::new(Semaphore::new(MAX_WAITING));
            Arc::new(Kind { turn: Mutex::new(()), waiting })
        };
        Self { kinds: std::array::from_fn(|_| kind()) }
    }
}

/// A program and what it is told.
struct Run {
    program: PathBuf,
    arguments: Vec<&'static str>,
    mode: Mode,
    spool: PathBuf,
    patience: Duration,
}

impl Hooks {
    /// Runs what `options` name for `hook`, in a task of its own.
    pub fn run(&self, hook: Hook, options: &Options, mode: Mode, spool: PathBuf, tasks: &Tasks) {
        let (kind, program, arguments) = match hook {
            Hook::Mode(Mode::Online) => (0, &options.run_online, vec!["online"]),
            Hook::Mode(Mode::Offline) => (1, &options.run_offline, vec!["offline"]),
            Hook::Mode(Mode::Autodial) => (2, &options.run_autodial, vec!["autodial"]),
            Hook::FetchStart => (3, &options.run_fetch, vec!["fetch", "start"]),
            Hook::FetchStop => (3, &options.run_fetch, vec!["fetch", "stop"]),
            Hook::Changed => (4, &options.run_changed, vec!["changed"]),
        };
        let (Some(program), Some(kind)) = (program.path(), self.kinds.get(kind)) else { return };
        let (program, patience) = (program.to_owned(), options.run_timeout);
        let Ok(place) = Arc::clone(&kind.waiting).try_acquire_owned() else {
            return warn!(?program, "too many wait for this program already; it is not run again");
        };
        let run = Run { program, arguments, mode, spool, patience };
        let (kind, stop) = (Arc::clone(kind), tasks.clone());
        tasks.spawn(async move {
            tokio::select! {
                // The child is dropped with this, and killed.
                () = stop.stopping() => {}
                () = async {
                    let _turn = kind.turn.lock().await;
                    run.wait_for_its_end().await;
                } => {}
            }
            drop(place);
        });
    }
}

impl Run {
    async fn wait_for_its_end(self) {
        let program = self.program.display().to_string();
        let mut group = match self.start() {
            Ok(group) => group,
            Err(error) => return warn!(program, %error, "a program cannot be run"),
        };
        let ended = timeout(self.patience, group.watch()).await;
        let Ok(ended) = ended else {
            return warn!(program, after = ?self.patience, "a program took too long and was ended");
        };
        match ended {
            Ok((status, written)) => {
                for line in written.iter().flat_map(|text| text.lines()) {
                    info!(program, "{line:?}");
                }
                if !status.success() {
                    warn!(program, %status, "a program failed");
                }
            }
            Err(error) => warn!(program, %error, "a program cannot be waited for"),
        }
    }

    fn start(&self) -> io::Result<Group> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .env("PATH", PATH)
            .env("WWWOFFLE_MODE", self.mode.as_str())
            .env("WWWOFFLE_SPOOL", &self.spool)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Group { child, leader })
    }
}

/// A program with all it has started. Dropped, all of them are killed.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    /// Waits for its end, and that of whatever else writes to its outputs.
    async fn watch(&mut self) -> io::Result<(ExitStatus, [String; 2])> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let (out, err) = tokio::join!(text(out), text(err));
        // Until here its number is its own: nobody has been told that it has ended.
        let status = self.child.wait().await?;
        self.leader = None;
        Ok((status, [out, err]))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // It may have ended just now.
            let _ended = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Reads to the end, and keeps the first [`MAX_OUTPUT`] bytes.
async fn text(from: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut from) = from else { return String::new() };
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    // An output that cannot be read is one that has ended.
    while let Ok(got @ 1..) = from.read(&mut piece).await {
        let room = MAX_OUTPUT.saturating_sub(kept.len()).min(got);
        kept.extend_from_slice(piece.get(..room).unwrap_or_default());
    }
    String::from_utf8_lossy(&kept).into_owned()
}
