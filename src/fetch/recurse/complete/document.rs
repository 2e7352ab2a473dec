//! Reads the references of a stored body. The functions block.

use std::time::Instant;

use hyper::{HeaderMap, StatusCode};
use wwwoffle_spool::{Body, Entry, Error};

use super::super::read::ReferenceReader;
use crate::base::text::{Text, tr};
use wwwoffle_html::references::{References, Viewport};
use wwwoffle_http::caching::coding::{CodingTerms, Delivery};
use wwwoffle_http::decoding::{Decoder, Output};

/// The number of bytes of a body that are read, or decoded, at once.
const PIECE: usize = 64 * 1024;

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
    let undone = match CodingTerms::of_a_reader().deliver(status, fields) {
        Delivery::Decoded { undone, .. } => undone,
        _ => Vec::new(),
    };
    let reading = ReferenceReader::new(entry.url(), fields, want);
    let mut sink =
        DocumentSink { reading, decoder: Decoder::new(&undone), made: vec![0; PIECE], room };
    match sink.all(entry.body()) {
        Ok(()) => {}
        Err(Stop::Disk(error)) => return Err(error),
        Err(Stop::Cut(why)) => return Ok(Read::Cut(why)),
    }
    Ok(match sink.reading.finish() {
        Ok(Some(found)) => Read::References(found),
        Ok(None) => Read::Nothing,
        Err(_) => Read::Cut(NO_URL),
    })
}

const NO_URL: Text = tr("browsers would not accept its URL");
const DAMAGED: Text = tr("its body cannot be decoded");
const TOO_LONG: Text = tr("it is too large to read completely");
const LATE: Text = tr("reading it took too long");

/// Decodes a body and collects its references.
struct DocumentSink<'a, 'b> {
    reading: ReferenceReader<'a>,
    decoder: Decoder,
    made: Vec<u8>,
    room: &'b mut ReadBudget,
}

impl DocumentSink<'_, '_> {
    fn all(&mut self, body: &Body) -> Result<(), Stop> {
        match body {
            Body::Whole(whole) => {
                for piece in whole.chunks(PIECE) {
                    if self.take(piece, false)? {
                        return Ok(());
                    }
                }
            }
            Body::File(file) => {
                let (mut buffer, mut offset) = (vec![0; PIECE], 0_u64);
                loop {
                    let read = match file.read_at(offset, &mut buffer) {
                        Ok(read) => read,
                        // The compressed file of the entry is damaged, but the disk has not failed.
                        Err(error) if error.is_damaged() => return Err(Stop::Cut(DAMAGED)),
                        Err(error) => return Err(Stop::Disk(error)),
                    };
                    let piece = buffer.get(..read).unwrap_or_default();
                    if piece.is_empty() {
                        break;
                    }
                    if self.take(piece, false)? {
                        return Ok(());
                    }
                    offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
                }
            }
        }
        self.take(&[], true).map(drop)
    }

    /// Takes a piece of the stored body. Returns whether the remaining pieces are not needed.
    fn take(&mut self, mut piece: &[u8], is_last: bool) -> Result<bool, Stop> {
        loop {
            let made = match self.decoder.decode(&mut piece, is_last, &mut self.made) {
                Ok(Output::Bytes(length)) => self.made.get(..length).unwrap_or_default(),
                Ok(Output::Busy) => &[],
                Ok(Output::Hungry | Output::End) => return Ok(self.reading.is_done()),
                Err(_) => return Err(Stop::Cut(DAMAGED)),
            };
            let length = u64::try_from(made.len()).unwrap_or(u64::MAX);
            self.room.bytes = self.room.bytes.checked_sub(length).ok_or(Stop::Cut(TOO_LONG))?;
            if Instant::now() >= self.room.until {
                return Err(Stop::Cut(LATE));
            }
            self.reading.write(made).map_err(|_| Stop::Cut(NO_URL))?;
            if self.reading.is_done() {
                return Ok(true);
            }
        }
    }
}
