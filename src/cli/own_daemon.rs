//! A daemon in this process, for a verb that needs a daemon while none runs.

use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use crate::base::exit::ExitStatus;
use crate::daemon::run::{self, Start, StartFailure};
use wwwoffle_api::StopResponse;

/// A daemon in this process.
pub(super) struct OwnDaemon(JoinHandle<Result<(), StartFailure>>);

impl OwnDaemon {
    /// Starts the daemon, waits until it listens, and returns the line that names its addresses.
    pub(super) fn start(options: Start) -> VerbResult<(Self, String)> {
        let (ready, listens) = sync_channel(1);
        let daemon = thread::spawn(move || {
            run::run(options, |line| {
                // The receiver is alive: `recv` below waits for this line.
                let _heard = ready.send(line.to_owned());
            })
        });
        match listens.recv() {
            Ok(line) => Ok((Self(daemon), line)),
            // The daemon ended before it was ready.
            Err(_) => Err(end_result(daemon).err().unwrap_or_else(silent_end)),
        }
    }

    /// Stops the daemon, and waits until it has ended.
    pub(super) fn stop(self, control: &Control) -> VerbResult<()> {
        let asked: VerbResult<StopResponse> = control.post("/api/stop", &serde_json::json!({}));
        match asked {
            // A signal to this process may have stopped the daemon already.
            Ok(_) | Err(VerbFailure::Said(ExitStatus::NoDaemon, _)) => end_result(self.0),
            Err(failure) => Err(failure),
        }
    }
}

fn end_result(daemon: JoinHandle<Result<(), StartFailure>>) -> VerbResult<()> {
    match daemon.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(refusal)) => Err(VerbFailure::Said(refusal.status, refusal.message)),
        Err(_) => Err(silent_end()),
    }
}

fn silent_end() -> VerbFailure {
    VerbFailure::plain("the daemon ended without an error message")
}
