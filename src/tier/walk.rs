//! Finds the entries that may not be pushed yet: after a crash, and at the first start.

use tokio::sync::mpsc;
use wwwoffle_spool::{Error, Place, Spool};

use super::shared;

/// Sends the places of all entries that may be shared. Blocks. Ends early if nobody receives.
///
/// # Errors
///
/// If the disk fails.
pub(super) fn find_all(spool: &Spool, found: &mpsc::Sender<Place>) -> Result<(), Error> {
    // Finished entries that wait for their batch have no name yet.
    spool.flush()?;
    for host in spool.walk().hosts()? {
        for directory in host?.keys()? {
            for entry in directory.entries()? {
                let place = entry.summary.place.with_variant("");
                if shared::url_of(&place).is_some() && found.blocking_send(place).is_err() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
