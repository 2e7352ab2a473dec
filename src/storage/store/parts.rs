//! Incomplete entries.

use std::sync::Arc;

use tracing::warn;
use wwwoffle_spool::{Error, Partial, Place};

use super::Store;

impl Store {
    /// The segments at `place`; `None` if there are none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn partial(&self, place: &Place) -> Result<Option<Arc<Partial>>, Error> {
        let place = place.clone();
        Ok(self.run(move |spool| spool.partial(&place)).await?.map(Arc::new))
    }

    /// All incomplete entries under the key of `place`, of any variant.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn partials_of(&self, place: &Place) -> Result<Vec<Arc<Partial>>, Error> {
        let place = place.clone();
        let found = self.run(move |spool| spool.partials_of(&place)).await?;
        Ok(found.into_iter().map(Arc::new).collect())
    }

    /// Turns segments into a complete entry with this `head`. Returns false if bytes are missing or
    /// the body has changed.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub async fn complete(&self, partial: &Arc<Partial>, head: Vec<u8>) -> Result<bool, Error> {
        let partial = Arc::clone(partial);
        Ok(self.run(move |spool| spool.complete(&partial, head)).await?.is_some())
    }

    /// Removes the segments at `place`. Returns false if there were none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn remove_partial(&self, place: &Place) -> Result<bool, Error> {
        let place = place.clone();
        self.run(move |spool| spool.remove_partial(&place)).await
    }

    /// Moves damaged segments at `place` to `damaged/`, after a reader has reported damage.
    pub async fn repair_partial(&self, place: &Place) {
        let place = place.clone();
        match self.run(move |spool| spool.repair_partial(&place)).await {
            Ok(damages) => {
                for damage in damages {
                    warn!(%damage, "a damaged segment was moved to damaged/");
                }
            }
            Err(error) => warn!(%error, "damaged segments cannot be moved aside"),
        }
    }
}
