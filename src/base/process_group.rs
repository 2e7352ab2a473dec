//! A program of others with all that it has started: they end together.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// The most of what a program writes on either output that is told, in bytes.
const MAX_OUTPUT: usize = 16 * 1024;

/// How often it is looked whether all of a group have ended.
const LOOK: Duration = Duration::from_millis(10);

/// A program with all it has started. Dropped, all of them are killed.
#[derive(Debug)]
pub(crate) struct Group {
    /// The program that was started.
    pub(crate) child: Child,
    leader: Option<Pid>,
}

impl Group {
    /// Starts the program as the first of a group of its own.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child, leader })
    }

    /// Waits for its end, and that of whatever else writes to its outputs.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(crate) async fn watch(&mut self) -> io::Result<(ExitStatus, [String; 2])> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let (out, err) = tokio::join!(text(out), text(err));
        // Until here its number is its own: nobody has been told that it has ended.
        let status = self.child.wait().await?;
        self.leader = None;
        Ok((status, [out, err]))
    }

    /// Kills all of them, and waits at most so long until they are gone. Dropped, they are killed.
    pub(crate) async fn end(&mut self, patience: Duration) {
        let Some(leader) = self.leader else { return };
        let until = Instant::now() + patience;
        // As long as the program is not waited for, the number of the group is theirs.
        let _ended = kill_process_group(leader, Signal::KILL);
        while Instant::now() < until && self.child.id().is_some() {
            // An error is that it has been waited for.
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

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // It may have ended just now.
            let _ended = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Reads to the end, and keeps the first [`MAX_OUTPUT`] bytes.
pub(crate) async fn text(from: Option<impl AsyncRead + Unpin>) -> String {
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
