//! The bytes of an object on their way to the store, at a bounded rate.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};
use wwwoffle_config::{Config, SizeLimit};
use wwwoffle_spool::Entry;

use super::object::ObjectFrame;
use crate::base::blocking::blocking;
use crate::base::tasks::Tasks;
use crate::net::upstream::{BoxError, RequestBody};

/// The number of bytes of a body that are read at once.
pub(super) const PIECE: usize = 128 << 10;

/// The smallest piece, in bytes: a low rate gets smaller pieces, so that no pause is longer than the
/// time after which a request without progress fails.
const MIN_PIECE: usize = 1 << 10;

/// The body of an object to send, with its length.
pub(super) struct Upload {
    pub(super) length: u64,
    pub(super) body: RequestBody,
}

/// The pace of sending. The pieces of all objects take turns.
#[derive(Debug, Default)]
pub(super) struct UploadPace(Mutex<Option<Instant>>);

impl UploadPace {
    /// Waits until a piece of this length may be sent.
    async fn wait(&self, config: &Config, length: usize) {
        let SizeLimit::At(rate) = config.tier.rate else { return };
        let takes = Duration::from_micros(
            u64::try_from(length).unwrap_or(u64::MAX).saturating_mul(1_000_000)
                / rate.bytes().max(1),
        );
        let mut next = self.0.lock().await;
        let begin = next.unwrap_or_else(Instant::now).max(Instant::now());
        *next = Some(begin + takes);
        drop(next);
        sleep_until(begin).await;
    }
}

/// The length of the pieces: what may be sent in a quarter of a second.
fn piece_of(config: &Config) -> usize {
    let SizeLimit::At(rate) = config.tier.rate else { return PIECE };
    usize::try_from(rate.bytes() / 4).unwrap_or(PIECE).clamp(MIN_PIECE, PIECE)
}

/// The bytes of an object, read from the spool as they are sent.
pub(super) fn body(
    tasks: &Tasks,
    pace: &Arc<UploadPace>,
    config: &Arc<Config>,
    entry: &Entry,
    frame: &ObjectFrame,
) -> RequestBody {
    let (entry, start, end) = (entry.clone(), Bytes::from(frame.start.clone()), frame.end);
    let (send, receive) = mpsc::channel::<Result<Bytes, BoxError>>(2);
    let piece = piece_of(config);
    tasks.spawn(async move {
        // Fails if the connection was closed; the failure is reported there.
        let _sent = send_pieces(&send, entry, (start, end), piece).await;
    });
    let state = (receive, Arc::clone(pace), Arc::clone(config));
    let pieces = stream::unfold(state, |(mut receive, pace, config)| async {
        let piece = receive.recv().await?;
        if let Ok(piece) = &piece {
            pace.wait(&config, piece.len()).await;
        }
        Some((piece.map(Frame::data), (receive, pace, config)))
    });
    StreamBody::new(pieces).boxed_unsync()
}

async fn send_pieces(
    send: &mpsc::Sender<Result<Bytes, BoxError>>,
    entry: Entry,
    (mut start, end): (Bytes, &'static [u8]),
    piece: usize,
) -> Result<(), mpsc::error::SendError<Result<Bytes, BoxError>>> {
    while !start.is_empty() {
        send.send(Ok(start.split_to(piece.min(start.len())))).await?;
    }
    let (body_len, entry, mut offset) = (entry.body_len(), Arc::new(entry), 0);
    while offset < body_len {
        match read_piece(&entry, offset, piece).await {
            Ok(piece) if !piece.is_empty() => {
                offset += u64::try_from(piece.len()).unwrap_or(u64::MAX);
                send.send(Ok(piece)).await?;
            }
            Ok(_) => return send.send(Err("the stored body is shorter".into())).await,
            Err(error) => return send.send(Err(error.into())).await,
        }
    }
    send.send(Ok(Bytes::from_static(end))).await
}

/// Reads a verified piece of the body.
async fn read_piece(
    entry: &Arc<Entry>,
    offset: u64,
    length: usize,
) -> Result<Bytes, wwwoffle_spool::Error> {
    let entry = Arc::clone(entry);
    blocking(move || {
        let mut piece = vec![0; length];
        let read = entry.verified().read_at(offset, &mut piece)?;
        piece.truncate(read);
        Ok(Bytes::from(piece))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_low_rate_has_short_pauses() {
        for (rate, want) in [("\"none\"", PIECE), ("\"1kB\"", MIN_PIECE), ("\"100kB\"", 25_000)] {
            let text = format!("[tier]\nrate = {rate}\n");
            let config = Config::parse(&text, Path::new("w.conf")).unwrap();
            assert_eq!(piece_of(&config), want, "{rate}");
        }
    }
}
