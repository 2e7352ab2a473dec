//! Calls whose request body is streamed.

use std::io;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::client::conn::http1;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::{
    Control, VerbFailure, VerbResult, broken, check_status, collect, drive, invalid_response, run,
};
use crate::base::control_path::ControlPath;
use crate::base::exit::ExitStatus;

/// A function that returns the next piece of the body, or `None` at the end. It may block.
pub(crate) type UploadSource<'a> = &'a mut dyn FnMut() -> VerbResult<Option<Bytes>>;

impl Control {
    /// Whether a daemon accepts connections.
    pub(crate) fn is_there(&self) -> bool {
        run(async { self.connect().await.map(drop) }).is_ok()
    }

    /// Sends a request whose body consists of the pieces from `next`.
    pub(crate) fn upload<Answer: DeserializeOwned>(
        &self,
        path: &str,
        next: UploadSource<'_>,
    ) -> VerbResult<Answer> {
        let (feed, hear) = mpsc::channel::<io::Result<Bytes>>(1);
        let pieces = stream::unfold(hear, |mut hear| async move {
            let piece = hear.recv().await?;
            Some((piece.map(Frame::data), hear))
        });
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .body(StreamBody::new(Box::pin(pieces)))
            .map_err(|error| {
                VerbFailure::caused(ExitStatus::Failed, "the request to the daemon failed", &error)
            })?;
        let answer = run(async {
            let path = ControlPath::of(&self.spool).map_err(|error| self.unreachable(&error))?;
            let socket = UnixStream::connect(path.as_path())
                .await
                .map_err(|error| self.unreachable(&error))?;
            let (mut sender, connection) =
                http1::handshake(TokioIo::new(socket)).await.map_err(|error| broken(&error))?;
            let connection = async { connection.await.map_err(|error| broken(&error)) };
            let answer = async {
                let response = sender.send_request(request).await;
                let response = check_status(response.map_err(|error| broken(&error))?).await?;
                collect(response.into_body()).await
            };
            drive(connection, async {
                tokio::pin!(answer);
                tokio::select! {
                    // A daemon that refuses the request responds before it has read the whole body.
                    biased;
                    answer = &mut answer => return answer,
                    given = feed_all(feed, next) => given?,
                }
                answer.await
            })
            .await
        })?;
        serde_json::from_slice(&answer).map_err(|error| invalid_response(&error))
    }
}

/// Sends all pieces. If reading fails, the body is aborted, so that the daemon does not take it for
/// complete.
async fn feed_all(feed: mpsc::Sender<io::Result<Bytes>>, next: UploadSource<'_>) -> VerbResult<()> {
    loop {
        match next() {
            Ok(Some(piece)) => {
                if feed.send(Ok(piece)).await.is_err() {
                    return Ok(());
                }
                // Lets the connection send this piece now, because the next read may block for a
                // long time.
                tokio::task::yield_now().await;
            }
            Ok(None) => return Ok(()),
            Err(failure) => {
                let _gone_or_not = feed.send(Err(io::ErrorKind::UnexpectedEof.into())).await;
                return Err(failure);
            }
        }
    }
}
