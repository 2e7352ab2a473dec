//! A program and all processes that it has started. They end together.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// The maximum number of bytes of each output that is reported.
const MAX_OUTPUT: usize = 16 * 1024;

/// Interval between checks whether all processes of a group have ended.
const LOOK: Duration = Duration::from_millis(10);

/// A program and all processes that it has started. Dropping it kills all of them.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    /// The program that was started.
    pub(crate) child: Child,
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// Starts the program as the leader of a new process group.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child, leader })
    }

    /// Waits until the program and every other process that writes to its outputs have ended.
    /// Returns the status of the program, its standard output and its standard error.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(crate) async fn watch(&mut self) -> io::Result<(ExitStatus, [String; 2])> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let (out, err) = tokio::join!(text(out), text(err));
        // This reaps the process. Until then, its process ID cannot be reused, and `leader` is
        // valid.
        let status = self.child.wait().await?;
        self.leader = None;
        Ok((status, [out, err]))
    }

    /// Kills all processes, and waits at most `patience` until they are gone. Dropping the future
    /// only ends the wait.
    pub(crate) async fn end(&mut self, patience: Duration) {
        let Some(leader) = self.leader else { return };
        let until = Instant::now() + patience;
        // Until the program is reaped, the ID of its process group cannot be reused.
        let _ended = kill_process_group(leader, Signal::KILL);
        while Instant::now() < until && self.child.id().is_some() {
            // An error means that the program is already reaped.
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            sleep(LOOK).await;
        }
        self.leader = None;
        while Instant::now() < until && test_kill_process_group(leader).is_ok() {
            sleep(LOOK).await;
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // The program may have ended between the check and this call.
            let _ended = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Reads to the end, and returns the first [`MAX_OUTPUT`] bytes.
pub(crate) async fn text(from: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut from) = from else { return String::new() };
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    // A read error counts as the end of the output.
    while let Ok(got @ 1..) = from.read(&mut piece).await {
        let room = MAX_OUTPUT.saturating_sub(kept.len()).min(got);
        kept.extend_from_slice(piece.get(..room).unwrap_or_default());
    }
    String::from_utf8_lossy(&kept).into_owned()
}
