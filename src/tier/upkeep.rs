//! Removes the objects of replaced entries.
//!
//! A reader may have found the former row just before it was replaced. So an object stays for
//! [`REPLACED_FOR`], and only then is it removed. A node claims a few objects at a time in the
//! catalogue, so that nodes do not remove the same ones. If it ends before they are removed, another
//! node claims them after the same time again.

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info};

use super::Tier;
use super::error::TierError;
use crate::base::error_chain::error_chain;

/// The interval at which replaced objects are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);

/// The time for which a replaced object stays, in seconds.
const REPLACED_FOR: i64 = 24 * 60 * 60;

/// The number of objects that are claimed at once.
const CLAIMED: i64 = 100;

impl Tier {
    /// Removes replaced objects until the daemon stops.
    pub(super) async fn maintain_until_stop(self: Arc<Self>) {
        tokio::select! {
            () = self.net.base.tasks.stopping() => {}
            () = self.maintain() => {}
        }
    }

    async fn maintain(&self) {
        loop {
            self.catalogue.wait_until_connected().await;
            if let Err(error) = self.remove_replaced().await {
                debug!(error = error_chain(&error), "replaced objects are removed later");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn remove_replaced(&self) -> Result<(), TierError> {
        let mut removed = 0_usize;
        loop {
            let claimed = self.catalogue.claim_replaced(REPLACED_FOR, CLAIMED).await?;
            if claimed.is_empty() {
                break;
            }
            for object in &claimed {
                self.objects.delete(object).await?;
            }
            self.catalogue.forget_replaced(&claimed).await?;
            removed += claimed.len();
        }
        if removed > 0 {
            info!(removed, "removed the objects of replaced entries from the archive tier");
        }
        Ok(())
    }
}
