//! Holds the head of a small response until its body is stored, so that the head says whether that
//! succeeded. If the body is late, the file is created and the head published.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use wwwoffle_spool::Writer;

use super::BodyTransfer;
use crate::net::upstream::{AnswerBody, Failure};
use crate::proxy::download::file::ResponseFile;
use crate::proxy::download::gather::{GatheredBytes, gather};
use crate::proxy::download::run::OriginClient;
use crate::proxy::download::{AnswerHead, HeadOutcome};

/// Maximum time for which the head of a small response waits for the body.
const HELD_WITHIN: Duration = Duration::from_millis(50);

impl<A: OriginClient> BodyTransfer<'_, A> {
    /// Creates the file, and publishes the head.
    pub(in super::super) async fn begin(&mut self) {
        if let Some(writer) = self.writer().await {
            self.storing.file = ResponseFile::Begun(writer);
        }
    }

    /// Takes the writer, after the file is created and the head published. `None` if the disk has
    /// failed or the body is too large: the body then passes to its readers only.
    pub(super) async fn writer(&mut self) -> Option<Writer> {
        let writer = match std::mem::take(&mut self.storing.file) {
            ResponseFile::New(new) => match new.begin(self.ground.store).await {
                Ok((writer, tail)) => {
                    self.feed().set_disk(Arc::new(tail));
                    Some(writer)
                }
                Err(error) => {
                    self.stop_after(error);
                    None
                }
            },
            ResponseFile::Begun(writer) => Some(writer),
            ResponseFile::None => None,
        };
        self.publish_head(self.storing.disk_error.is_none());
        writer
    }

    pub(super) fn publish_head(&mut self, is_stored: bool) {
        if let Some(head) = self.storing.head.take() {
            let head = AnswerHead { is_stored, ..head };
            self.download.set_head(HeadOutcome::Keeping(Arc::new(head)));
        }
    }

    /// Reports a failure instead of the head, unless the head is published.
    pub(super) fn fail_head(&mut self, failure: &Arc<Failure>) {
        if self.storing.head.take().is_some() {
            self.download.set_head(HeadOutcome::Failed(Arc::clone(failure)));
        }
    }

    /// Gathers bytes of the body, or its end. `None` if nothing arrives within `within`. If nothing
    /// arrives within [`HELD_WITHIN`], a held head is published.
    pub(super) async fn gather(
        &mut self,
        body: &mut AnswerBody,
        within: Duration,
    ) -> Result<Option<GatheredBytes>, Failure> {
        // A dropped `gather` loses nothing: it waits only while it holds no bytes.
        if self.storing.head.is_some() {
            let soon = self.run_until_ended(timeout(HELD_WITHIN, gather(body))).await?;
            if let Ok(gathered) = soon {
                return Ok(Some(gathered));
            }
            self.begin().await;
        }
        Ok(self.run_until_ended(timeout(within, gather(body))).await?.ok())
    }
}
