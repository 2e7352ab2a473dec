//! Reads the references of a stored body. The functions block.

use std::time::Instant;

use hyper::{HeaderMap, StatusCode};
use wwwoffle_spool::{Entry, Error};

use super::super::read::ReferenceReader;
use crate::base::text::{Text, tr};
use crate::storage::body_pieces::{PieceError, read_pieces};
use wwwoffle_html::references::{References, Viewport};

/// The result of reading a document.
#[derive(Debug)]
pub(super) enum Read {
    /// The references of the body.
    References(References),
    /// Documents of this type have no references.
    Nothing,
    /// The body was not read to its end, for this reason.
    Cut(Text),
}

/// The reason why reading ends early.
enum Stop {
    Disk(Error),
    Cut(Text),
}

impl From<PieceError> for Stop {
    fn from(error: PieceError) -> Self {
        match error {
            PieceError::Spool(error) if !error.is_damaged() => Self::Disk(error),
            // The entry is damaged, but the disk has not failed.
            PieceError::Spool(_) | PieceError::Coding => Self::Cut(DAMAGED),
        }
    }
}

/// The remaining number of decoded bytes, and the time limit, for the documents of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadBudget {
    pub(super) bytes: u64,
    pub(super) until: Instant,
}

/// Reads the body of `entry`, whose head contains `status` and `fields`. The decoded bytes are
/// subtracted from `room`.
///
/// # Errors
///
/// If the disk fails.
pub(super) fn read(
    entry: &Entry,
    status: StatusCode,
    fields: &HeaderMap,
    want: &Viewport,
    room: &mut ReadBudget,
) -> Result<Read, Error> {
    let mut reading = ReferenceReader::new(entry.url(), fields, want);
    let read = read_pieces(entry, status, fields, |piece| -> Result<bool, Stop> {
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        room.bytes = room.bytes.checked_sub(length).ok_or(Stop::Cut(TOO_LONG))?;
        if Instant::now() >= room.until {
            return Err(Stop::Cut(LATE));
        }
        reading.write(piece).map_err(|_| Stop::Cut(NO_URL))?;
        Ok(!reading.is_done())
    });
    match read {
        Ok(()) => {}
        Err(Stop::Disk(error)) => return Err(error),
        Err(Stop::Cut(why)) => return Ok(Read::Cut(why)),
    }
    Ok(match reading.finish() {
        Ok(Some(found)) => Read::References(found),
        Ok(None) => Read::Nothing,
        Err(_) => Read::Cut(NO_URL),
    })
}

const NO_URL: Text = tr("browsers would not accept its URL");
const DAMAGED: Text = tr("its body cannot be decoded");
const TOO_LONG: Text = tr("it is too large to read completely");
const LATE: Text = tr("reading it took too long");
