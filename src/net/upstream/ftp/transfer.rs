//! The body of a response from an FTP server, sent from a task that owns the connections.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Frame;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::Failure;
use super::super::pool::Permit;
use super::listing::Listing;
use super::session::{DataStream, FtpRefusal, FtpSession};

/// The size of a piece of a body, in bytes.
const PIECE: usize = 64 * 1024;

/// The number of pieces that wait for their reader.
pub(super) const MAX_PIECES: usize = 4;

/// The time within which a server must reply to QUIT.
const QUIT_WITHIN: Duration = Duration::from_secs(1);

/// A sender of pieces.
pub(super) type PieceSender = mpsc::Sender<Result<Frame<Bytes>, Failure>>;

/// The form of a body.
#[derive(Debug)]
pub(super) enum TransferForm {
    /// The bytes as they come.
    File,
    /// At most this number of bytes.
    Range(u64),
    /// A page made of a listing, and its start.
    Listing(Listing, String),
}

/// A transfer on its way in.
pub(super) struct FtpTransfer {
    pub(super) session: FtpSession,
    pub(super) data: DataStream,
    pub(super) form: TransferForm,
    pub(super) permit: Permit,
}

impl FtpTransfer {
    /// Sends the body to `pieces`. The end of the data connection is the end of the body only if
    /// the server confirms it.
    pub(super) async fn run(self, pieces: PieceSender) {
        let Self { mut session, data, form, permit } = self;
        let sent = tokio::select! {
            biased;
            // The reader has left, or its patience with the server has ended.
            () = pieces.closed() => return,
            sent = send_body(&mut session, data, form, &pieces) => sent,
        };
        match sent {
            Ok(()) => {
                drop(pieces);
                // The transfer is complete, so this reply is only for the records of the server.
                let _unheard = timeout(QUIT_WITHIN, session.quit()).await;
            }
            Err(failure) => drop(pieces.send(Err(failure)).await),
        }
        drop(permit);
    }
}

async fn send_body(
    session: &mut FtpSession,
    mut data: DataStream,
    mut form: TransferForm,
    pieces: &PieceSender,
) -> Result<(), Failure> {
    if let TransferForm::Listing(_, begin) = &mut form {
        send(pieces, std::mem::take(begin).into()).await;
    }
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        match data.read_buf(&mut piece).await {
            Ok(0) => break,
            Ok(_) => {}
            // Many servers end TLS without a notice. Their reply says whether the data is whole.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(Failure::CutShort(error.into())),
        }
        match &mut form {
            TransferForm::File => send(pieces, piece.into()).await,
            TransferForm::Range(left) => {
                piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left = left.saturating_sub(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                send(pieces, piece.into()).await;
                if *left == 0 {
                    // The server would send the rest of the file, so the connection is closed.
                    return Ok(());
                }
            }
            TransferForm::Listing(listing, _) => send(pieces, listing.add(&piece).into()).await,
        }
    }
    session.finish(data).await.map_err(|refusal| match refusal {
        FtpRefusal::Failed(failure) => failure,
        FtpRefusal::Reply(reply) => Failure::CutShort(reply.text.into()),
    })?;
    if let TransferForm::Listing(listing, _) = &mut form {
        send(pieces, listing.finish().into()).await;
    }
    Ok(())
}

async fn send(pieces: &PieceSender, piece: Bytes) {
    if !piece.is_empty() {
        // If the reader has left, the transfer ends at `closed`.
        let _left = pieces.send(Ok(Frame::data(piece))).await;
    }
}
