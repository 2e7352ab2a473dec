//! The one bridge from async code to the spool, whose every call blocks.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tracing::warn;
use wwwoffle_spool::{
    Added, Entry, Error, Lookup, NewEntry, Outgoing, Place, Spool, Tail, Update, Writer,
};
use wwwoffle_url::Key;

use crate::mode::Mode;
use crate::proxy::download::ReadAt;
use crate::proxy::head;

/// The spool, for async code. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    spool: Spool,
}

/// A kept answer with its head read.
#[derive(Debug)]
pub struct Kept {
    /// The entry itself.
    pub entry: Entry,
    /// Its status.
    pub status: StatusCode,
    /// Its fields, as the origin sent them less those of one hop.
    pub fields: HeaderMap,
}

impl Kept {
    /// Reads the head of an entry.
    fn read(entry: Entry) -> Option<Self> {
        let Ok((status, fields)) = head::read_answer(entry.head()) else {
            warn!(url = entry.url(), "a kept page has a head that cannot be read");
            return None;
        };
        Some(Self { entry, status, fields })
    }
}

impl Store {
    /// Wraps an open spool.
    #[must_use]
    pub fn new(spool: Spool) -> Self {
        Self { spool }
    }

    /// The spool itself, for calls that do not touch the disk.
    #[must_use]
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// What is kept at `place`, if it is whole. What is damaged is set aside, told in the log, and
    /// counts as missing.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn kept(&self, place: &Place) -> Result<Option<Kept>, Error> {
        let (spool, place) = (self.spool.clone(), place.clone());
        let entry = match blocking(move || spool.entry(&place)).await? {
            Lookup::Found(entry) => entry,
            Lookup::Missing => return Ok(None),
            Lookup::SetAside(damage) => {
                warn!(%damage, "a kept page was set aside and will be fetched again");
                return Ok(None);
            }
        };
        Ok(Kept::read(entry))
    }

    /// All that is kept under the key of `place`, whatever it varies with, the one stored last first.
    /// What is damaged is set aside, told in the log, and counts as missing.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn entries(&self, place: &Place) -> Result<Vec<Kept>, Error> {
        let (spool, place) = (self.spool.clone(), place.clone());
        let entries = blocking(move || spool.entries(&place)).await?;
        for damage in entries.set_aside {
            warn!(%damage, "a kept page was set aside and will be fetched again");
        }
        Ok(entries.found.into_iter().filter_map(Kept::read).collect())
    }

    /// Writes down what became of `kept`, and gives it back as it is then; `None` when it is no longer
    /// the one that is kept, and then nothing is done.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full, or the new head cannot be stored; then it is as it was.
    pub async fn update(&self, kept: Arc<Kept>, update: Update) -> Result<Option<Kept>, Error> {
        let spool = self.spool.clone();
        let updated = blocking(move || spool.update(&kept.entry, &update)).await?;
        Ok(updated.and_then(Kept::read))
    }

    /// Puts a kept entry aside whose body turned out to be damaged while it was read.
    pub async fn set_aside(&self, entry: Arc<Kept>) {
        let spool = self.spool.clone();
        match blocking(move || spool.set_aside(&entry.entry)).await {
            Ok(Some(damage)) => warn!(%damage, "a kept page was set aside"),
            Ok(None) => {}
            Err(error) => warn!(%error, "a damaged page cannot be set aside"),
        }
    }

    /// Begins a new entry and a second hand on it that reads along.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full, or the entry cannot be kept at all.
    pub async fn begin(&self, place: &Place, new: NewEntry) -> Result<(Writer, Tail), Error> {
        let (spool, place) = (self.spool.clone(), place.clone());
        blocking(move || {
            let mut writer = spool.begin(&place, new)?;
            let tail = writer.tail()?;
            Ok((writer, tail))
        })
        .await
    }

    /// Adds `stretch` to the body of an unfinished entry.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full; the entry is then given up.
    pub async fn write(
        &self,
        mut writer: Writer,
        stretch: Vec<Bytes>,
    ) -> Result<(Writer, Vec<Bytes>), (Error, Vec<Bytes>)> {
        let write = move || {
            for chunk in &stretch {
                if let Err(error) = writer.write(chunk) {
                    return Err((error, stretch));
                }
            }
            Ok((writer, stretch))
        };
        // A panic in the spool leaves an unfinished file, which is dropped like any other.
        spawn_blocking(write).await.unwrap_or_else(|panicked| {
            std::panic::resume_unwind(panicked.into_panic());
        })
    }

    /// Completes an entry: it is found from now on.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full.
    pub async fn finish(&self, writer: Writer, trailers: Option<Vec<u8>>) -> Result<(), Error> {
        blocking(move || writer.finish(trailers.as_deref()).map(drop)).await
    }

    /// Removes what is kept at `place`; `false` when there was nothing.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn remove(&self, place: &Place) -> Result<bool, Error> {
        let (spool, place) = (self.spool.clone(), place.clone());
        blocking(move || spool.remove(&place)).await
    }

    /// Records a request to be fetched, unless it is recorded already.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full, or the queue is.
    pub async fn enqueue(&self, outgoing: Outgoing) -> Result<Added, Error> {
        let spool = self.spool.clone();
        blocking(move || spool.queue().add(&outgoing)).await
    }

    /// A queued request, whole.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn queued(&self, key: Key) -> Result<Option<Outgoing>, Error> {
        let spool = self.spool.clone();
        blocking(move || spool.queue().get(&key)).await
    }

    /// Writes a queued request anew; `false` when it has been taken off the queue meanwhile.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full; the old record stays.
    pub async fn requeue(&self, outgoing: Outgoing) -> Result<bool, Error> {
        let spool = self.spool.clone();
        blocking(move || spool.queue().update(&outgoing)).await
    }

    /// Takes a request out of the queue; `false` when it was not there.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn dequeue(&self, key: Key) -> Result<bool, Error> {
        let spool = self.spool.clone();
        blocking(move || spool.queue().remove(&key)).await
    }

    /// Remembers the mode for the next start.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full; then the next start has the mode of before.
    pub async fn save_mode(&self, mode: Mode) -> Result<(), Error> {
        let spool = self.spool.clone();
        blocking(move || {
            let (mut state, damage) = spool.state()?;
            if let Some(damage) = damage {
                warn!(%damage, "the remembered mode was set aside");
            }
            state.set_mode(mode.as_str())?;
            spool.set_state(&state)
        })
        .await
    }

    /// Runs any call of the spool off the runtime's own threads.
    ///
    /// # Errors
    ///
    /// What the call returns.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Spool) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let spool = self.spool.clone();
        blocking(move || call(&spool)).await
    }
}

impl ReadAt for Tail {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Tail::read_at(self, offset, buffer).map_err(io::Error::other)
    }
}

async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match spawn_blocking(call).await {
        Ok(done) => done,
        // Only a panic ends a blocking call early: it goes on where the caller waits.
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// `time` as the spool has it; what is beyond its range is the epoch.
#[must_use]
pub fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}
