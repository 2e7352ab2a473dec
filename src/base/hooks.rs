//! Hooks: programs of the user that run after certain events.
//!
//! Each program is started directly, without a shell, in `/`. Only the program for mail gets an
//! input. The environment has only `PATH`, `WWWOFFLE_MODE` and `WWWOFFLE_SPOOL`. The output goes to
//! the log. The daemon does not wait for the end of the program. For each kind of event, only one
//! program runs at a time. The next program for an event of this kind starts when the running
//! program has ended.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;
use tracing::{info, warn};
use wwwoffle_config::Options;

use crate::base::mode::Mode;
use crate::base::process_group::ProcessGroup;
use crate::base::small_file::{IN_SPOOL, is_inside};
use crate::base::tasks::Tasks;

/// The `PATH` of a hook.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The maximum number of programs of one kind that run or wait. Further programs are skipped.
const MAX_WAITING: usize = 16;

/// An event with a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The mode has changed.
    Mode(Mode),
    /// Fetching has begun.
    FetchStart,
    /// Fetching has ended.
    FetchStop,
    /// The configuration in force has changed.
    Changed,
}

/// The running and waiting hooks, by kind.
#[derive(Debug)]
pub struct Hooks {
    spool: PathBuf,
    kinds: [Arc<HookQueue>; 5],
}

#[derive(Debug)]
struct HookQueue {
    /// The lock that is held while a program runs. Waiting programs get the lock in order.
    turn: Mutex<()>,
    waiting: Arc<Semaphore>,
}

impl Hooks {
    /// Creates the hooks. `spool` is the root of the spool; a program inside the spool is not run.
    #[must_use]
    pub fn new(spool: PathBuf) -> Self {
        let kind = || {
            let waiting = Arc::new(Semaphore::new(MAX_WAITING));
            Arc::new(HookQueue { turn: Mutex::new(()), waiting })
        };
        Self { spool, kinds: std::array::from_fn(|_| kind()) }
    }
}

impl Hooks {
    /// Passes a mail to the configured program, as `sendmail -t`. Returns whether the program has
    /// accepted it. Failures are logged.
    ///
    /// Dropping the future kills the program.
    pub async fn send_mail(&self, options: &Options, mode: Mode, message: String) -> bool {
        let Some(program) = options.run_mail.path() else {
            warn!("no mail is sent, because [options] run-mail names no program");
            return false;
        };
        let call = HookCall {
            program: program.to_owned(),
            arguments: vec!["-t"],
            input: message.into_bytes(),
            mode,
            spool: self.spool.clone(),
            patience: options.run_timeout,
        };
        call.wait_for_its_end().await
    }
}

/// A program and its arguments.
struct HookCall {
    program: PathBuf,
    arguments: Vec<&'static str>,
    /// The standard input.
    input: Vec<u8>,
    mode: Mode,
    spool: PathBuf,
    patience: Duration,
}

impl Hooks {
    /// Runs the program that `options` has for `hook`, if any, in a separate task.
    pub fn run(&self, hook: Hook, options: &Options, mode: Mode, tasks: &Tasks) {
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
            return warn!(
                ?program,
                "too many runs of this program are waiting; this one is skipped"
            );
        };
        let spool = self.spool.clone();
        let run = HookCall { program, arguments, input: Vec::new(), mode, spool, patience };
        let (kind, stop) = (Arc::clone(kind), tasks.clone());
        tasks.spawn(async move {
            tokio::select! {
                // When the daemon stops, the child process is dropped with this future, and killed.
                () = stop.stopping() => {}
                _has_succeeded = async {
                    let _turn = kind.turn.lock().await;
                    run.wait_for_its_end().await
                } => {}
            }
            drop(place);
        });
    }
}

impl HookCall {
    /// Runs the program. Returns whether it has succeeded. Failures are logged.
    async fn wait_for_its_end(self) -> bool {
        let program = self.program.display().to_string();
        let mut group = match self.start() {
            Ok(group) => group,
            Err(error) => {
                warn!(program, %error, "a program cannot be run");
                return false;
            }
        };
        let stdin = group.child.stdin.take();
        let ended = timeout(self.patience, async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // A program need not read its input. Its status says whether it has failed.
                    let _written = stdin.write_all(&self.input).await;
                }
            };
            tokio::join!(write, group.watch()).1
        });
        match ended.await {
            Ok(Ok((status, written))) => {
                for line in written.iter().flat_map(|text| text.lines()) {
                    info!(program, "{line:?}");
                }
                if !status.success() {
                    warn!(program, %status, "a program failed");
                }
                return status.success();
            }
            Ok(Err(error)) => warn!(program, %error, "waiting for a program failed"),
            Err(_) => {
                warn!(program, after = ?self.patience, "a program timed out and was killed");
            }
        }
        false
    }

    fn start(&self) -> io::Result<ProcessGroup> {
        if is_inside(&self.program, &self.spool) {
            return Err(io::Error::other(IN_SPOOL));
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().env("PATH", PATH);
        command.env("WWWOFFLE_MODE", self.mode.as_str()).env("WWWOFFLE_SPOOL", &self.spool);
        let input = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.current_dir("/").stdin(input);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        ProcessGroup::start(&mut command)
    }
}
