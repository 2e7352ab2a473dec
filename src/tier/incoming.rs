//! An object on its way from the store into the spool.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Frame;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use wwwoffle_spool::{Place, Writer};

use super::catalogue::FoundRow;
use super::error::TierError;
use super::object::{MAX_START, ObjectStart};
use super::shared;
use crate::net::upstream::AnswerBody;
use crate::storage::body::length;
use crate::storage::feed::Feed;
use crate::storage::store::Store;

/// The time for the next bytes of an object.
const NEXT_WITHIN: Duration = Duration::from_secs(5);

/// The reason why an object is not used.
pub(super) enum PullError {
    /// An engine failed.
    Engine(TierError),
    /// The object is wrong: it is never served.
    Wrong(&'static str),
}

impl From<TierError> for PullError {
    fn from(error: TierError) -> Self {
        Self::Engine(error)
    }
}

impl From<wwwoffle_spool::Error> for PullError {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self::Engine(error.into())
    }
}

/// The reasons why an object must be added again.
pub(super) const MISSING: &str = "it is missing in the object store";
pub(super) const DIGEST: &str = "its bytes do not match its digest";

/// The reason why an object of another time is not used.
pub(super) const TIME: &str = "its time is not the one in its row";

/// An object on its way in.
pub(super) struct IncomingObject<'a> {
    body: AnswerBody,
    hasher: Sha256,
    arrived: u64,
    row: &'a FoundRow,
}

impl<'a> IncomingObject<'a> {
    /// The object in a response of the store, before its first byte.
    pub(super) fn new(body: AnswerBody, row: &'a FoundRow) -> Self {
        Self { body, hasher: Sha256::new(), arrived: 0, row }
    }

    /// The next bytes. `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, PullError> {
        loop {
            let frame = timeout(NEXT_WITHIN, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| TierError::Timeout)? else { return Ok(None) };
            let frame = frame.map_err(|failure| TierError::of_failure(&failure))?;
            let Ok(data) = Frame::into_data(frame) else { continue };
            self.hasher.update(&data);
            self.arrived += u64::try_from(data.len()).unwrap_or(u64::MAX);
            if self.arrived > self.row.object_size {
                return Err(PullError::Wrong("it is longer than its row says"));
            }
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// Reads up to the body. Returns the first bytes of what follows.
    pub(super) async fn start(&mut self, place: &Place) -> Result<(ObjectStart, Bytes), PullError> {
        let mut bytes = Vec::new();
        let start = loop {
            if let Some(start) = ObjectStart::parse(&bytes).map_err(PullError::Wrong)? {
                break start;
            }
            if bytes.len() > MAX_START {
                return Err(PullError::Wrong("its heads are too long"));
            }
            let Some(data) = self.next().await? else {
                return Err(PullError::Wrong("it is cut short"));
            };
            bytes.extend_from_slice(&data);
        };
        if start.url != place.url() || start.variant != self.row.varies {
            return Err(PullError::Wrong("it is the entry of another URL"));
        }
        if start.body_len > self.row.object_size {
            return Err(PullError::Wrong("it is longer than its row says"));
        }
        shared::check_heads(&start.new.head, &start.new.request, &start.variant)
            .map_err(|_| PullError::Wrong("its heads say that it may not be shared"))?;
        let rest = Bytes::from(bytes).slice(start.offset..);
        Ok((start, rest))
    }

    /// Writes the body, and verifies the whole object. Returns the last piece, which the readers of
    /// `feed` lack.
    pub(super) async fn copy(
        mut self,
        store: &Store,
        mut writer: Writer,
        mut data: Bytes,
        (body_len, feed): (u64, &Feed),
    ) -> Result<(Writer, Vec<Bytes>), PullError> {
        let (mut left, mut last) = (body_len, Vec::new());
        loop {
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(data.len());
            if take > 0 {
                let stretch = vec![data.slice(..take)];
                left -= stretch.iter().map(length).sum::<u64>();
                let written;
                (writer, written) = match store.write(writer, Writer::write, stretch).await {
                    Ok(done) => done,
                    Err((error, _)) => return Err(error.into()),
                };
                let before = std::mem::replace(&mut last, written);
                if !before.is_empty() {
                    feed.written(before);
                }
            }
            match self.next().await? {
                Some(next) => data = next,
                None => break,
            }
        }
        let digest: [u8; 32] = self.hasher.finalize().into();
        if left > 0 || digest != self.row.object {
            return Err(PullError::Wrong(DIGEST));
        }
        Ok((writer, last))
    }
}
