//! Transfers a body to the spool and to its readers, and resumes it if it breaks off.

mod held;
mod rest;

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;
use wwwoffle_spool::{Place, Writer};

use self::rest::Resumption;
use super::begin::AttemptEnd::{self, Changed, Done};
use super::file::ResponseFile;
use super::gather::{GatheredBytes, size_of};
use super::part::SavedSegment;
use super::resume::{self, BodyValidator};
use super::run::{DownloadContext, OriginClient};
use super::unread::LastRead;
use super::{AnswerHead, Download, DownloadEnd, DownloadJob, LeavingAction, outdated, unread};
use crate::base::error_chain::error_chain;
use crate::base::owner::ResponseOwner;
use crate::net::upstream::{AnswerBody, Failure};
use crate::proxy::keep::NotKept;
use crate::storage::feed::{BodyEnd, Feed};
use crate::storage::store::timestamp;
use wwwoffle_http::head;

/// Maximum wait for the end of a body after all bytes of its declared length have arrived. The last
/// bytes are held back during this wait.
const END_WITHIN: Duration = Duration::from_secs(1);

/// The time for which a download with readers continues when the daemon stops. It is shorter than
/// the time that the daemon waits, so that the bytes can still be saved.
const STOP_WITHIN: Duration = Duration::from_secs(8);

/// A transfer of a body.
pub(super) struct BodyTransfer<'a, A> {
    ground: &'a DownloadContext<'a, A>,
    job: &'a DownloadJob,
    download: &'a Arc<Download>,
    total: Option<u64>,
    /// The position in the body at which the current response must end; `None` if it is unknown.
    end: Option<u64>,
    storing: BodyStorage,
    resuming: ResumeAttempts,
    unread: UnreadTransfer,
    /// The places for the response to a POST that also answers GET: the place of the POST and that
    /// of the GET.
    answers: Option<(Place, Place)>,
    received: Timestamp,
    /// Whether the response is shared. It then replaces the older personal copies of the requesting
    /// owner.
    supersedes: bool,
    /// The deadline of the transfer after the daemon has begun to stop.
    stops: OnceLock<Instant>,
}

/// The storage of a body in the spool.
struct BodyStorage {
    file: ResponseFile,
    /// The head, until it is published.
    head: Option<AnswerHead>,
    /// The last bytes of the body, which are not written yet. The readers get them after the page
    /// is stored.
    last: Vec<Bytes>,
    disk_error: Option<wwwoffle_spool::Error>,
    /// Whether the body exceeds the storage limit. The transfer then continues for its readers
    /// only.
    is_too_large: bool,
}

#[derive(Default)]
struct ResumeAttempts {
    /// The validators of the body, if it may be resumed.
    mark: Option<BodyValidator>,
    /// Consecutive attempts without progress.
    attempts: usize,
    /// Bytes that had arrived when the body last broke off.
    had: u64,
}

/// The state of a transfer without readers.
#[derive(Default)]
struct UnreadTransfer {
    /// Whether the transfer continues without readers.
    goes_on: bool,
    /// Whether the transfer has no connection, because it waits between two attempts.
    is_pausing: bool,
    /// When the last reader left, if there are no readers.
    left: Option<LastRead>,
}

impl<'a, A: OriginClient> BodyTransfer<'a, A> {
    /// A transfer of a response that arrived at `received`. Once a shared response is stored, it
    /// replaces the older personal copies of the requesting owner.
    pub(super) fn new(
        ground: &'a DownloadContext<'a, A>,
        job: &'a DownloadJob,
        download: &'a Arc<Download>,
        mark: Option<BodyValidator>,
        file: ResponseFile,
        (head, received): (AnswerHead, SystemTime),
    ) -> Self {
        let (total, supersedes) = (head.length, head.whose == ResponseOwner::Everyone);
        let (head, last) = (Some(head), Vec::new());
        Self {
            ground,
            job,
            download,
            total,
            end: total,
            storing: BodyStorage { file, head, last, disk_error: None, is_too_large: false },
            resuming: ResumeAttempts { mark, ..ResumeAttempts::default() },
            unread: UnreadTransfer::default(),
            answers: None,
            received: timestamp(received),
            supersedes,
            stops: OnceLock::new(),
        }
    }

    /// Sets the `places` of a response to a POST that also answers GET. After the response is
    /// stored at the first place, it is copied to the second.
    pub(super) fn answering(self, places: Option<(Place, Place)>) -> Self {
        Self { answers: places, ..self }
    }

    /// Stops storing, because the disk has failed.
    fn stop_after(&mut self, error: wwwoffle_spool::Error) {
        let (url, reason) = (self.download.url(), error_chain(&error));
        warn!(url, error = reason, "the page cannot be stored");
        if error.is_full() {
            self.ground.store.set_full(true);
        }
        self.storing.disk_error = Some(error);
        self.feed().spill();
    }

    /// Transfers the body until it ends, or is no longer wanted. If the file is not begun, a body
    /// that arrives at once is stored with one call to the spool, and the head says whether that
    /// succeeded.
    ///
    /// Dropping the future discards the bytes.
    pub(super) async fn receive(
        mut self,
        mut body: Result<AnswerBody, Failure>,
        status: StatusCode,
    ) -> AttemptEnd {
        loop {
            let moved = match &mut body {
                Ok(body) => self.pump(body).await,
                Err(_) => Ok(None),
            };
            let failure = match (moved, body) {
                (_, Err(failure)) | (Err(failure), _) => failure,
                (Ok(trailers), Ok(_)) => return Done(self.finish(trailers, status).await),
            };
            body = match self.request_rest(failure).await {
                Resumption::Joined(rest) => Ok(rest),
                Resumption::Changed(answer) => return Changed(answer),
                Resumption::Lost(failure) => return Done(self.give_up(failure).await),
            };
        }
    }

    /// Transfers the segment of an earlier attempt, and then `rest`, the bytes before byte `end`.
    pub(super) async fn continue_segment(
        mut self,
        part: SavedSegment,
        rest: AnswerBody,
        end: Option<u64>,
    ) -> AttemptEnd {
        self.end = Some(part.bytes);
        let refilled = self.copy_segment(&part).await;
        self.end = end;
        self.resuming.had = self.feed().length();
        self.receive(refilled.map(|()| rest), StatusCode::OK).await
    }

    /// Copies the segment to the new file and to the readers.
    async fn copy_segment(&mut self, part: &SavedSegment) -> Result<(), Failure> {
        let mut body = part.body(self.ground.store);
        loop {
            match self.run_until_ended(body.frame()).await? {
                Some(Ok(frame)) => {
                    self.deliver(frame.into_data().into_iter().collect(), false).await?;
                }
                None if self.feed().length() == part.bytes => return Ok(()),
                None => return Err(Failure::CutShort("the stored segment has ended".into())),
                // The damaged segment has already been moved to `damaged/`.
                Some(Err(error)) => return Err(Failure::CutShort(error)),
            }
        }
    }

    fn feed(&self) -> &'a Feed {
        &self.download.feed
    }

    /// Transfers the current response to its end, and returns its trailers.
    async fn pump(&mut self, body: &mut AnswerBody) -> Result<Option<HeaderMap>, Failure> {
        loop {
            let Some(mut gathered) = self.gather(body, Duration::MAX).await? else { continue };
            // The end follows soon, for example in an empty frame (RFC 9113 §6.1). Before the end it
            // is unknown whether these bytes are the last.
            if gathered.end.is_none()
                && self.is_complete_with(&gathered.stretch)
                && let Some(GatheredBytes { stretch, end }) = self.gather(body, END_WITHIN).await?
            {
                gathered.stretch.extend(stretch);
                gathered.end = end;
            }
            let length = self.feed().length().saturating_add(size_of(&gathered.stretch));
            // A response may end before the requested range does (RFC 9110 §15.3.7.2). Then the
            // body is resumed.
            let whole = self.resuming.mark.as_ref().and_then(BodyValidator::length);
            let is_whole =
                matches!(gathered.end, Some(Ok(_))) && whole.is_none_or(|whole| whole == length);
            if !gathered.stretch.is_empty() {
                let new = size_of(&gathered.stretch);
                self.deliver(gathered.stretch, is_whole).await?;
                let is_read = is_whole || self.feed().readers() > 0;
                let counted = self.job.allowance.count_usage(new);
                self.job.allowance.check_progress(new, length, self.total, is_read)?;
                if !is_whole {
                    let rest = counted?;
                    self.run_until_ended(sleep(rest)).await?;
                }
                if !is_whole && let Some(failure) = self.exceeded_limit() {
                    return Err(failure);
                }
                if !is_whole
                    && let Some(rest) = unread::unread_delay(self.download, self.total, new)
                {
                    self.run_until_ended(sleep(rest)).await?;
                }
            }
            match gathered.end {
                None => {}
                Some(Err(failure)) => return Err(failure),
                Some(Ok(trailers)) if is_whole => return Ok(trailers),
                Some(Ok(_)) => {
                    return Err(Failure::CutShort("only a part of the rest was sent".into()));
                }
            }
        }
    }

    /// Whether `stretch` completes a body of known length.
    fn is_complete_with(&self, stretch: &[Bytes]) -> bool {
        let length = self.feed().length().saturating_add(size_of(stretch));
        self.end.is_some_and(|end| end == length)
    }

    /// Delivers bytes to the disk, or only to the readers if the disk has failed. The last bytes
    /// are held back until the page is stored, so that a client that has received everything finds
    /// the stored copy. [`Self::finish`] writes them.
    async fn deliver(&mut self, stretch: Vec<Bytes>, is_last: bool) -> Result<(), Failure> {
        let feed = self.feed();
        let size = size_of(&stretch);
        if self.end.is_some_and(|end| feed.length().saturating_add(size) > end) {
            return Err(Failure::Wrong("it is longer than announced"));
        }
        if !self.storing.file.is_none()
            && feed.length().saturating_add(size) > self.ground.patience.most
        {
            self.stop_storing()?;
        }
        if is_last && !self.storing.file.is_none() {
            self.storing.last = stretch;
            return Ok(());
        }
        let left = match self.writer().await {
            None => stretch,
            Some(writer) => match self.ground.store.write(writer, Writer::write, stretch).await {
                Ok((writer, stretch)) => {
                    self.storing.file = ResponseFile::Begun(writer);
                    feed.written(stretch);
                    Vec::new()
                }
                Err((error, stretch)) => {
                    self.stop_after(error);
                    stretch
                }
            },
        };
        for chunk in left {
            // A reader may pause for long. The download can be ended nevertheless.
            if !self.run_until_ended(feed.push(chunk)).await? {
                return Err(Failure::Abandoned);
            }
        }
        self.download.progress.set_bytes(feed.length());
        Ok(())
    }

    /// Stops storing the body, because it exceeds the limit. If there are no readers, the transfer
    /// ends.
    fn stop_storing(&mut self) -> Result<(), Failure> {
        let (url, most) = (self.download.url(), self.ground.patience.most);
        warn!(url, most, "the page is larger than the storage limit (max-body)");
        self.storing.file = ResponseFile::None;
        self.storing.is_too_large = true;
        self.feed().spill();
        if self.feed().close_unread() { Err(Failure::TooLarge { most }) } else { Ok(()) }
    }

    /// Waits for `work`, unless the download must end first.
    async fn run_until_ended<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = self.wait_until_abandoned() => {
                    if let Some(failure) = self.end_if_unread() {
                        return Err(failure);
                    }
                }
                () = self.wait_for_stop() => return Err(Failure::Stopping),
                failure = unread::wait_for_end(self.ground, self.download) => return Err(failure),
                () = self.wait_to_yield(), if !self.unread.is_pausing => {
                    return Err(Failure::Abandoned);
                }
                () = sleep(unread::LOOK_EVERY) => {
                    if let Some(failure) = self.exceeded_limit() {
                        return Err(failure);
                    }
                }
            }
        }
    }

    /// The reason to end the download, if it has no readers and has reached a limit. Unless the
    /// reason is a stall, clients can no longer join the download afterwards.
    fn exceeded_limit(&mut self) -> Option<Failure> {
        if self.feed().readers() > 0 {
            self.unread.left = None;
            return None;
        }
        let left = *self.unread.left.get_or_insert_with(|| LastRead::now(self.download));
        let (bounds, is_unbounded) =
            (&self.ground.patience.unread, self.job.allowance.is_unbounded);
        let failure = bounds.judge(self.download, left, self.total, is_unbounded)?;
        // A stalled body may be resumed in this download, so its feed stays open to clients.
        let may_end = matches!(failure, Failure::Stalled) || self.feed().close_unread();
        may_end.then_some(failure)
    }

    /// The reason to end the download, if it has no readers and must not continue. The download can
    /// then no longer be joined.
    fn end_if_unread(&mut self) -> Option<Failure> {
        let then = self.job.leaving_rules.action(self.feed().length(), self.total);
        // If the body is no longer being stored, there is no reason to continue without readers.
        let may_go_on = self.storing.disk_error.is_none() && !self.storing.is_too_large;
        if then == LeavingAction::GoOn && may_go_on && !self.ground.downloads.has_too_many_unread()
        {
            self.unread.goes_on = true;
            return None;
        }
        // A new reader may have joined by now.
        if !self.feed().close_unread() {
            return None;
        }
        let most = self.ground.patience.most;
        Some(if self.storing.is_too_large {
            Failure::TooLarge { most }
        } else {
            Failure::Abandoned
        })
    }

    /// Resolves when there are no readers. Never resolves if the transfer continues without them.
    async fn wait_until_abandoned(&self) {
        if self.unread.goes_on && self.storing.disk_error.is_none() && !self.storing.is_too_large {
            std::future::pending::<()>().await;
        }
        self.feed().wait_until_unread().await;
    }

    /// Resolves when all clients have left, and either another request needs the connection, or
    /// this download still waits for its connection.
    async fn wait_to_yield(&self) {
        tokio::select! {
            biased;
            () = unread::wait_to_yield(self.ground.asks, &self.job.origin, self.download) => {}
            () = unread::leaves_line(self.download) => {}
        }
    }

    /// Resolves when the daemon stops. If there are readers, resolves up to [`STOP_WITHIN`] later.
    async fn wait_for_stop(&self) {
        self.ground.tasks.stopping().await;
        let until = *self.stops.get_or_init(|| Instant::now() + STOP_WITHIN);
        if self.feed().readers() > 0 {
            sleep_until(until).await;
        }
    }

    async fn finish(mut self, trailers: Option<HeaderMap>, status: StatusCode) -> DownloadEnd {
        let lines = trailers.as_ref().map(head::write_lines);
        let file = std::mem::take(&mut self.storing.file);
        let is_storing = !file.is_none();
        let body = (file, self.storing.last.clone());
        let about = (&*self.job.places, self.received);
        let finished =
            outdated::store_response(self.ground.store, self.download, about, body, lines).await;
        if let Some((post, get)) = self.answers.as_ref().filter(|_| is_storing && finished.is_ok())
        {
            self.answer_get(post, get).await;
        }
        let url = self.download.url();
        let outcome = match (finished, self.storing.disk_error.take()) {
            (Ok(()), None) if self.storing.is_too_large => {
                DownloadEnd::NotKept(status, NotKept::TooLarge)
            }
            (Ok(()), None) => DownloadEnd::Kept(status),
            (Ok(()), Some(error)) => DownloadEnd::Unkeepable(Arc::new(error)),
            (Err(error), _) => {
                warn!(url, error = error_chain(&error), "the page cannot be stored");
                DownloadEnd::Unkeepable(Arc::new(error))
            }
        };
        if matches!(outcome, DownloadEnd::Kept(_)) && self.supersedes {
            let received = (self.received, self.job.head.headers());
            outdated::supersede(self.ground.store, &self.job.places, received).await;
        }
        // A client that has received everything must find the stored copy, and must not join this
        // download: a copy that is not fresh is revalidated.
        self.ground.downloads.leave(self.download);
        self.publish_head(!matches!(outcome, DownloadEnd::Unkeepable(_)));
        // The readers get the whole body, even if it could not be stored.
        if !self.storing.last.is_empty() {
            self.feed().written(std::mem::take(&mut self.storing.last));
        }
        self.feed().finish(BodyEnd::Whole(trailers.map(Arc::new)));
        outcome
    }

    /// Stores the response to a POST also for GET (RFC 9110 §9.3.3). A failure is only logged.
    async fn answer_get(&self, post: &Place, get: &Place) {
        if let Err(error) = self.ground.store.copy(post, get).await {
            let url = get.url();
            warn!(url, error = error_chain(&error), "the response to a form is not a page");
        }
    }

    /// Ends the transfer, and saves its bytes as a segment if the rules permit that.
    async fn give_up(mut self, failure: Failure) -> DownloadEnd {
        // The next steps take a moment. A client that joined now would get a body that breaks off.
        self.feed().close();
        let bytes = self.feed().length();
        let keeps = match failure {
            Failure::Abandoned => {
                self.job.leaving_rules.action(bytes, self.total) != LeavingAction::Drop
            }
            Failure::TooLong(_) | Failure::OverBudget | Failure::OverQuota => true,
            _ => self.job.leaving_rules.keeps_broken && resume::is_worth_saving(&failure),
        };
        // A longer segment of the same body stays.
        if let ResponseFile::Begun(writer) = std::mem::take(&mut self.storing.file)
            && keeps
            && let Err(error) = self.ground.store.finish_short(writer).await
        {
            let url = self.download.url();
            warn!(url, error = error_chain(&error), "the received bytes cannot be saved");
        }
        // Only after saving: a client that retries at once then resumes from the segment.
        self.ground.downloads.leave(self.download);
        let failure = Arc::new(failure);
        self.fail_head(&failure);
        self.feed().finish(BodyEnd::Broken(Arc::clone(&failure)));
        match self.storing.disk_error.take() {
            // There are no readers, so the storage failure is the relevant error.
            Some(error) if matches!(*failure, Failure::Abandoned) => {
                DownloadEnd::Unkeepable(Arc::new(error))
            }
            _ => DownloadEnd::Failed(failure),
        }
    }
}
