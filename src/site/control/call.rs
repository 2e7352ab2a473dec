//! The calls that control the daemon: `/api/mode`, `/api/flush`, `/api/stop`.

use hyper::StatusCode;

use crate::base::error_chain::error_chain;
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use wwwoffle_api::{FlushResponse, ModeChange, ModeRequest, StopResponse};

/// Changes the mode.
pub(in crate::site) async fn mode(
    caller: &Caller,
    wanted: ModeRequest,
) -> Result<ModeChange, CallFault> {
    let mode = wanted.mode;
    match caller.context.storage.switch(mode).await {
        Ok(was) => Ok(ModeChange { mode, was }),
        Err(error) => Err(CallFault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!(
                "the mode is {mode} now, but the next start will not know: {}",
                error_chain(&error)
            ),
        )),
    }
}

/// Gives every stored page its file name on the disk, for other programs that read the spool while
/// the daemon is running.
pub(in crate::site) async fn flush(caller: &Caller) -> Result<FlushResponse, CallFault> {
    match caller.context.storage.store.run(wwwoffle_spool::Spool::flush).await {
        Ok(()) => Ok(FlushResponse { flushed: true }),
        Err(error) => Err(CallFault::new(StatusCode::INTERNAL_SERVER_ERROR, error_chain(&error))),
    }
}

/// Stops the daemon. The response is still sent: a connection ends only after its last response.
pub(in crate::site) fn stop(caller: &Caller) -> StopResponse {
    caller.context.base.tasks.stop();
    StopResponse { stopping: true }
}
