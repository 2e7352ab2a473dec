//! The body of a modified page: each piece is sent as soon as possible.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::storage::store::Store;
use wwwoffle_html::rewrite::{FirstFrame, Rewriter, Sheet};

/// The modified body of a page. The work runs where calls may block, because each link is looked up
/// in the spool. Dropping the body ends the work.
pub(super) fn page(store: Store, body: Body, page: Rewriter) -> Body {
    let changing = BodyRewrite { store, body, page: Some(page) };
    let frames = stream::unfold(Some(changing), |changing| async move {
        match changing?.next().await {
            Ok(next) => next.map(|(piece, changing)| (Ok(Frame::data(piece)), Some(changing))),
            Err(error) => Some((Err(error), None)),
        }
    });
    StreamBody::new(frames.fuse()).boxed_unsync()
}

struct BodyRewrite {
    store: Store,
    body: Body,
    /// The rewriter of the page. `None` after the end of the body.
    page: Option<Rewriter>,
}

impl BodyRewrite {
    /// The next piece to send, and the state after it. If the original body breaks off, the
    /// modified body does too.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, BoxError> {
        while let Some(mut page) = self.page.take() {
            // Trailers describe the original body and are discarded.
            let piece = match self.body.frame().await {
                None => None,
                Some(frame) => Some(frame?.into_data().unwrap_or_default()),
            };
            let write = move |_: &wwwoffle_spool::Spool| match piece {
                Some(piece) => {
                    let sent = page.write(&piece);
                    Ok((sent, Some(page)))
                }
                None => Ok((page.finish(), None)),
            };
            let (sent, page) = self.store.run(write).await?;
            self.page = page;
            if !sent.is_empty() {
                return Ok(Some((Bytes::from(sent), self)));
            }
        }
        Ok(None)
    }
}

/// The modified body of an image. After the first picture of an animation the original is still
/// read to its end, because stopping would end its download.
pub(super) fn image(body: Body, still: FirstFrame) -> Body {
    let frames = stream::unfold(Some((body, still)), |state| async move {
        let (mut body, mut still) = state?;
        loop {
            match body.frame().await? {
                Err(error) => return Some((Err(error), None)),
                Ok(frame) => {
                    let Ok(piece) = frame.into_data() else { continue };
                    let sent = still.write(&piece);
                    if !sent.is_empty() {
                        return Some((Ok(Frame::data(Bytes::from(sent))), Some((body, still))));
                    }
                }
            }
        }
    });
    StreamBody::new(frames.fuse()).boxed_unsync()
}

/// The modified body of a style sheet in the gateway.
pub(super) fn sheet(body: Body, sheet: Sheet) -> Body {
    let frames = stream::unfold(Some((body, sheet)), |state| async move {
        let (mut body, mut sheet) = state?;
        loop {
            let sent = match body.frame().await {
                Some(Err(error)) => return Some((Err(error), None)),
                Some(Ok(frame)) => {
                    let Ok(piece) = frame.into_data() else { continue };
                    sheet.write(&piece)
                }
                None => {
                    let sent = sheet.finish();
                    let frame = (Ok(Frame::data(Bytes::from(sent))), None);
                    return Some(frame);
                }
            };
            if !sent.is_empty() {
                return Some((Ok(Frame::data(Bytes::from(sent))), Some((body, sheet))));
            }
        }
    });
    StreamBody::new(frames.fuse()).boxed_unsync()
}
