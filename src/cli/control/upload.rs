//! Calls whose request body is streamed.

use std::io;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Method;
use hyper::body::{Frame, Incoming};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::{
    Control, DaemonAddress, EachLine, VerbResult, broken, check_status, collect, drive,
    invalid_response, lines, request, run,
};
use crate::net::upstream::BoxError;

/// A function that returns the next piece of the body, or `None` at the end. It may block.
pub(crate) type UploadSource<'a> = &'a mut dyn FnMut() -> VerbResult<Option<Bytes>>;

impl Control {
    /// Whether a daemon accepts connections. One on another machine is assumed to do so.
    pub(crate) fn is_there(&self) -> bool {
        if matches!(self.to, DaemonAddress::Elsewhere(_)) {
            return true;
        }
        run(async { self.connect().await.map(drop) }).is_ok()
    }

    /// Sends a request whose body consists of the pieces from `next`.
    pub(crate) fn upload<Answer: DeserializeOwned>(
        &self,
        path: &str,
        next: UploadSource<'_>,
    ) -> VerbResult<Answer> {
        let answer = self.send_pieces(path, next, collect)?;
        serde_json::from_slice(&answer).map_err(|error| invalid_response(&error))
    }

    /// Like [`Control::upload`], for a response line by line.
    pub(crate) fn upload_for_lines(
        &self,
        path: &str,
        next: UploadSource<'_>,
        each_line: EachLine<'_>,
    ) -> VerbResult<()> {
        self.send_pieces(path, next, async |body| lines(body, each_line).await)
    }

    fn send_pieces<T>(
        &self,
        path: &str,
        next: UploadSource<'_>,
        read: impl AsyncFnOnce(Incoming) -> VerbResult<T>,
    ) -> VerbResult<T> {
        let (feed, hear) = mpsc::channel::<io::Result<Bytes>>(1);
        let pieces = stream::unfold(hear, |mut hear| async move {
            let piece = hear.recv().await?;
            Some((piece.map(Frame::data).map_err(BoxError::from), hear))
        });
        let body = StreamBody::new(pieces).boxed_unsync();
        let mut request = request(Method::POST, path, "application/octet-stream", body)?;
        run(async {
            self.sign(&mut request).await?;
            let (mut sender, connection) = self.connect().await?;
            let answer = async {
                let response = sender.send_request(request).await;
                let response = check_status(response.map_err(|error| broken(&error))?).await?;
                read(response.into_body()).await
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
        })
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
