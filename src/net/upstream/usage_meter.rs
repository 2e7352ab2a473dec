//! Counts the bytes that are fetched for an owner, and slows them down to the owner's rate.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::{Sleep, sleep};

use super::Failure;
use crate::base::statistics::usage::UsageAccount;

/// The count and the rate of one body or tunnel.
#[derive(Debug)]
pub(crate) struct UsageMeter {
    account: Arc<UsageAccount>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl UsageMeter {
    pub(crate) fn new(account: Arc<UsageAccount>) -> Self {
        Self { account, pause: None }
    }

    /// Waits until the rate permits to read further bytes.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }

    /// Counts bytes that have arrived.
    ///
    /// # Errors
    ///
    /// [`Failure::OverQuota`] if the quota is used up.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let rest = self.account.pace(bytes, Instant::now());
        self.pause = (!rest.is_zero()).then(|| Box::pin(sleep(rest)));
        if self.account.count_fetched(bytes) { Ok(()) } else { Err(Failure::OverQuota) }
    }
}
