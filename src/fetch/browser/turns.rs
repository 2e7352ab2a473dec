//! Limits the number of browsers that run at once, by the current configuration.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// The permissions to run a browser, called turns. Each running browser holds one.
#[derive(Debug, Default)]
pub(in crate::fetch) struct BrowserTurns {
    taken: Mutex<usize>,
    news: Notify,
}

/// The turn of one browser. Dropping it frees the turn.
#[derive(Debug)]
pub(super) struct BrowserTurn<'a>(&'a BrowserTurns);

impl BrowserTurns {
    /// Waits until fewer than `most` turns are in use, and takes a turn. Dropping the future takes
    /// no turn.
    pub(super) async fn take(&self, most: impl Fn() -> usize) -> BrowserTurn<'_> {
        loop {
            let news = self.news.notified();
            if self.change(|taken| {
                let is_free = *taken < most();
                *taken += usize::from(is_free);
                is_free
            }) {
                return BrowserTurn(self);
            }
            news.await;
        }
    }

    fn change<T>(&self, how: impl FnOnce(&mut usize) -> T) -> T {
        how(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for BrowserTurn<'_> {
    fn drop(&mut self) {
        self.0.change(|taken| *taken = taken.saturating_sub(1));
        self.0.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn the_number_of_concurrent_browsers_is_limited() {
        let turns = BrowserTurns::default();
        let one = turns.take(|| 1).await;
        let mut waits = Box::pin(turns.take(|| 1));
        assert!(waits.as_mut().now_or_never().is_none());
        let two = turns.take(|| 2).await;
        drop(one);
        assert!(waits.as_mut().now_or_never().is_none(), "one is taken still");
        drop(two);
        let _turn = waits.await;
    }
}
