//! Finds the entries that may not be pushed yet: after a crash, and at the first start.

use tokio::sync::mpsc;
use tracing::warn;
use wwwoffle_spool::{Error, HostDirectory, Place, Spool};

use super::shared;
use crate::base::error_chain::error_chain;

/// Sends the places of all entries that may be shared. Blocks. Ends early if nobody receives.
/// Returns whether all entries were found: an unreadable directory is logged, and left out.
///
/// # Errors
///
/// If the directory of the spool cannot be read.
pub(super) fn find_all(spool: &Spool, found: &mpsc::Sender<Place>) -> Result<bool, Error> {
    // Finished entries that wait for their batch have no name yet.
    let mut is_complete = spool.flush().inspect_err(log).is_ok();
    for host in spool.walk().hosts()? {
        let walked = host.and_then(|host| find_in_host(&host, found));
        match walked {
            Ok(EntrySearchEnd::Complete) => {}
            Ok(EntrySearchEnd::Partial) => is_complete = false,
            Ok(EntrySearchEnd::Stopped) => return Ok(false),
            Err(error) => {
                log(&error);
                is_complete = false;
            }
        }
    }
    Ok(is_complete)
}

/// The end of the walk through one host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntrySearchEnd {
    Complete,
    /// A directory could not be read.
    Partial,
    /// Nobody receives.
    Stopped,
}

fn find_in_host(
    host: &HostDirectory,
    found: &mpsc::Sender<Place>,
) -> Result<EntrySearchEnd, Error> {
    let mut end = EntrySearchEnd::Complete;
    for directory in host.keys()? {
        let entries = match directory.entries() {
            Ok(entries) => entries,
            Err(error) => {
                log(&error);
                end = EntrySearchEnd::Partial;
                continue;
            }
        };
        for entry in entries {
            let place = entry.summary.place.with_variant("");
            if shared::url_of(&place).is_some() && found.blocking_send(place).is_err() {
                return Ok(EntrySearchEnd::Stopped);
            }
        }
    }
    Ok(end)
}

fn log(error: &Error) {
    warn!(error = error_chain(error), "some entries for the archive tier cannot be listed");
}
