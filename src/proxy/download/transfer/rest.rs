//! Requests the rest of a body that broke off.

use tokio::time::sleep;
use tracing::debug;

use super::BodyTransfer;
use crate::base::clock;
use crate::net::upstream::{Answer, AnswerBody, Failure, Outbound};
use crate::proxy::download::resume::{self, RestMatch};
use crate::proxy::download::run::OriginClient;
use wwwoffle_http::caching::conditional;

/// The result of an attempt to resume a body.
pub(super) enum Resumption {
    Joined(AnswerBody),
    Changed(Option<Box<Answer>>),
    Lost(Failure),
}

impl<A: OriginClient> BodyTransfer<'_, A> {
    /// Requests the missing bytes repeatedly, until they arrive or the attempts are used up.
    pub(super) async fn request_rest(&mut self, mut failure: Failure) -> Resumption {
        let Some(mark) = self.resuming.mark.clone().filter(|_| resume::may_go_on(&failure)) else {
            return Resumption::Lost(failure);
        };
        // The client gets the head before the wait for the rest.
        self.begin().await;
        let (from, url) = (self.feed().length(), self.download.url());
        if from > self.resuming.had {
            (self.resuming.attempts, self.resuming.had) = (0, from);
        }
        while self.resuming.attempts < self.ground.patience.attempts {
            self.resuming.attempts += 1;
            debug!(
                url,
                from,
                attempt = self.resuming.attempts,
                error = failure.chain(),
                "it broke off"
            );
            if let Err(ended) = self.pause(&failure).await {
                return Resumption::Lost(ended);
            }
            let mut request = self.job.head.clone();
            // The client's earlier copies are irrelevant: only the missing bytes of this body are
            // requested.
            conditional::strip(request.headers_mut());
            request.extensions_mut().insert(self.download.line.clone());
            mark.add_range(&mut request, from);
            let ask = self.ground.asks.ask(&self.job.origin, request, Outbound::Empty, None);
            let answer = match self.run_until_ended(ask).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(passing)) if !matches!(passing, Failure::Offline) && passing.may_pass() => {
                    failure = passing;
                    continue;
                }
                Ok(Err(lost)) | Err(lost) => return Resumption::Lost(lost),
            };
            let status = answer.status();
            match mark.judge(status, answer.headers(), from) {
                RestMatch::Joins { end, length } => {
                    self.join(end, length);
                    return Resumption::Joined(answer.into_body());
                }
                RestMatch::Afresh => return Resumption::Changed(Some(Box::new(answer))),
                RestMatch::Unfit => return Resumption::Changed(None),
                RestMatch::Trouble => failure = Failure::NotResumed(status),
                RestMatch::Nothing => return Resumption::Lost(Failure::NotResumed(status)),
            }
        }
        Resumption::Lost(failure)
    }

    fn join(&mut self, end: Option<u64>, length: Option<u64>) {
        if let Some(mark) = &mut self.resuming.mark {
            mark.learn(length);
        }
        self.total = self.total.or(length);
        self.end = end;
        self.download.progress.record_continuation(self.total);
    }

    /// Waits before the next attempt. Fails if the download must end, or if the mode becomes
    /// offline.
    async fn pause(&mut self, failure: &Failure) -> Result<(), Failure> {
        let pause = resume::pause(self.ground.patience.pause, self.resuming.attempts);
        let now = clock::now();
        let next = resume::time_after(now, pause);
        self.download.progress.delay(next, now, self.resuming.attempts, failure.chain());
        let mut mode = self.ground.mode.watch();
        let offline = async move {
            // Cannot fail: the daemon holds the sender of the mode.
            let _offline = mode.wait_for(|mode| !mode.may_dial()).await;
        };
        let waited = async {
            tokio::select! {
                biased;
                () = offline => Err(Failure::Offline),
                () = sleep(pause) => Ok(()),
            }
        };
        self.unread.is_pausing = true;
        let waited = self.run_until_ended(waited).await;
        self.unread.is_pausing = false;
        waited?
    }
}
