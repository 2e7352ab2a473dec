//! The only bridge from async code to the spool, whose calls block. It also contains the hot set.

mod calls;
mod hot;
mod parts;
mod stored_copy;

mod waiting;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use jiff::Timestamp;
use tracing::warn;
use wwwoffle_spool::{
    ChangeListener, Error, NewEntry, NewSegment, Outgoing, Place, Removal, SegmentWriter, Spool,
    Tail, Update, Writer,
};

use self::hot::HotSet;
pub use self::hot::{CachedLookup, OPEN_FILE};
pub use self::stored_copy::{EntryIdentity, StoredCopy, StoredSegments};
use super::body::length;
use crate::base::blocking::blocking;
use crate::net::connection;

/// Bytes of a body copied at once.
const COPIED_AT_ONCE: usize = 128 * 1024;

/// The default size of the hot set, in bytes.
const HELD: usize = 64 * 1024 * 1024;

/// A request that cannot be queued.
#[derive(Debug)]
pub struct Unqueued {
    /// The request.
    pub request: Outgoing,
    /// The reason: the request is too long or invalid, or the share of its owner in the queue is
    /// used up.
    pub error: Error,
}

/// The spool, for async code. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    spool: Spool,
    /// The lock that is held while the state is read and changed.
    changing_state: Arc<Mutex<()>>,
    hot: Arc<HotSet>,
    /// The start of the hot set's clock.
    since: Instant,
    /// Whether the disk was full when the last response was written.
    was_full: Arc<AtomicBool>,
}

impl Store {
    /// Wraps an open spool, with a hot set of the default size.
    #[must_use]
    pub fn new(spool: Spool) -> Self {
        let set = Arc::new(HotSet::new(HELD));
        let listener: Arc<dyn ChangeListener> = set.clone();
        if !spool.watch(listener) {
            // The spool has too many listeners already. Without reports of changes, the hot set
            // cannot be used.
            set.resize(0);
        }
        Self {
            spool,
            changing_state: Arc::default(),
            hot: set,
            since: Instant::now(),
            was_full: Arc::default(),
        }
    }

    /// Records whether the disk was full when a response was written.
    pub fn set_full(&self, was_full: bool) {
        self.was_full.store(was_full, Ordering::Relaxed);
    }

    /// Whether the disk was full when the last response was written.
    #[must_use]
    pub fn had_no_room(&self) -> bool {
        self.was_full.load(Ordering::Relaxed)
    }

    /// The spool itself, for calls that do not touch the disk.
    #[must_use]
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The newest entry under the key of `place`, if any: see [`entries`](Self::entries).
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn stored_copy(&self, place: &Place) -> Result<Option<StoredCopy>, Error> {
        Ok(self.entries(place).await?.into_iter().next())
    }

    /// All entries under the key of `place`, of every variant, the newest first. A damaged entry is
    /// moved to `damaged/`, logged, and counts as missing.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn entries(&self, place: &Place) -> Result<Vec<StoredCopy>, Error> {
        let place = place.clone();
        let entries = self.run(move |spool| spool.entries(&place)).await?;
        for damage in entries.set_aside {
            warn!(%damage, "a damaged page was moved to damaged/ and will be fetched again");
        }
        Ok(entries.found.into_iter().filter_map(StoredCopy::read).collect())
    }

    /// Stores an update of `copy` and returns the new state. Returns `None` and changes nothing if
    /// another entry has replaced `copy`, or `copy` is incomplete. So a stale incomplete entry is
    /// revalidated at each request.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, or the new head cannot be stored. The entry is then unchanged.
    pub async fn update(
        &self,
        copy: Arc<StoredCopy>,
        update: Update,
    ) -> Result<Option<StoredCopy>, Error> {
        if copy.part.is_some() {
            return Ok(None);
        }
        let updated = self.run(move |spool| spool.update(&copy.entry, &update)).await?;
        Ok(updated.and_then(StoredCopy::read))
    }

    /// Moves a stored copy to `damaged/`, after a reader found that its body is damaged.
    pub async fn set_aside(&self, entry: Arc<StoredCopy>) {
        match self.run(move |spool| spool.set_aside(&entry.entry)).await {
            Ok(Some(damage)) => warn!(%damage, "a damaged page was moved to damaged/"),
            Ok(None) => {}
            Err(error) => warn!(%error, "a damaged page cannot be moved aside"),
        }
    }

    /// Begins a new entry with a body of `length`, if known, and returns a reader that follows the
    /// writer. With a strong `validator`, the received part of the body can be stored as a segment
    /// if the transfer is interrupted.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, or the entry can never be stored.
    pub async fn begin(
        &self,
        place: &Place,
        new: NewEntry,
        validator: Option<Vec<u8>>,
        length: Option<u64>,
    ) -> Result<(Writer, Tail), Error> {
        let (store, place) = (self.clone(), place.clone());
        blocking(move || {
            store.spool.check_room(length.unwrap_or_default())?;
            store.with_files(|| {
                let (spool, new) = (&store.spool, new.clone());
                let mut writer = match &validator {
                    Some(validator) => spool.begin_resumable(&place, new, validator, length)?,
                    None => spool.begin(&place, new)?,
                };
                let tail = writer.tail()?;
                Ok((writer, tail))
            })
        })
        .await
    }

    /// Begins a segment, and returns a reader that follows the writer from the beginning of the
    /// segment.
    ///
    /// # Errors
    ///
    /// Those of [`Store::begin`].
    pub async fn begin_segment(
        &self,
        place: &Place,
        new: NewSegment,
    ) -> Result<(SegmentWriter, Tail), Error> {
        let place = place.clone();
        self.run(move |spool| {
            let mut writer = spool.begin_segment(&place, new)?;
            let tail = writer.tail()?;
            Ok((writer, tail))
        })
        .await
    }

    /// Appends `stretch` to the body of an unfinished entry or segment, with the `append` of its
    /// writer. Returns the writer and `stretch`.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The entry is then discarded.
    pub async fn write<W: Send + 'static>(
        &self,
        mut writer: W,
        append: fn(&mut W, &[u8]) -> Result<(), Error>,
        stretch: Vec<Bytes>,
    ) -> Result<(W, Vec<Bytes>), (Error, Vec<Bytes>)> {
        let write = move || {
            for chunk in &stretch {
                if let Err(error) = append(&mut writer, chunk) {
                    return Err((error, stretch));
                }
            }
            Ok((writer, stretch))
        };
        // After a panic in the spool, the unfinished file is discarded like any other.
        blocking(write).await
    }

    /// Appends `last`, the end of the body, and completes the entry. From now on, lookups find it.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub async fn finish(
        &self,
        mut writer: Writer,
        last: Vec<Bytes>,
        trailers: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        blocking(move || {
            writer.collect_rest();
            last.iter().try_for_each(|chunk| writer.write(chunk))?;
            writer.finish(trailers.as_deref()).map(drop)
        })
        .await
    }

    /// Stores an entry with its whole body.
    ///
    /// # Errors
    ///
    /// Those of [`Store::begin`].
    pub async fn store_whole(
        &self,
        place: Place,
        new: NewEntry,
        body: Vec<Bytes>,
        trailers: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let store = self.clone();
        blocking(move || {
            store.spool.check_room(body.iter().map(length).sum())?;
            store.with_files(|| {
                let mut writer = store.spool.begin(&place, new.clone())?;
                body.iter().try_for_each(|chunk| writer.write(chunk))?;
                writer.finish(trailers.as_deref()).map(drop)
            })
        })
        .await
    }

    /// Stores the beginning of an interrupted response for [`Store::partial`]. Returns false if it
    /// cannot be used.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub async fn finish_short(&self, writer: Writer) -> Result<bool, Error> {
        blocking(move || writer.finish_short()).await
    }

    /// Copies the entry at `from` to `to`. A missing or damaged entry is not copied.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub async fn copy(&self, from: &Place, to: &Place) -> Result<(), Error> {
        let (from, to) = (from.clone(), to.clone());
        self.run(move |spool| {
            let Some(entry) = spool.entry(&from)?.found() else { return Ok(()) };
            let mut new = NewEntry::copy_of(&entry);
            // What one person received does not go to the archive tier.
            new.connection = new.connection.as_deref().and_then(connection::without_source);
            let mut writer = spool.begin(&to, new)?;
            let (mut body, mut piece) = (entry.verified(), vec![0; COPIED_AT_ONCE]);
            loop {
                match body.read_at(writer.written(), &mut piece) {
                    Ok(0) => break,
                    Ok(read) => writer.write(piece.get(..read).unwrap_or_default())?,
                    Err(error) if error.is_damaged() => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            writer.finish(entry.trailers()).map(drop)
        })
        .await
    }

    /// Removes the entries at `place`. Returns false if there were none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn remove(&self, place: &Place) -> Result<bool, Error> {
        let place = place.clone();
        self.run(move |spool| spool.remove(&place)).await
    }

    /// Removes an entry in such a way that it can be restored for some time. Returns false if there
    /// was none.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The entry is then unchanged.
    pub async fn remove_for_now(&self, place: &Place, removal: Removal) -> Result<bool, Error> {
        let place = place.clone();
        self.run(move |spool| spool.remove_for_now(&place, &removal)).await
    }

    /// Removes the entries under the key of `place` that `is_meant` selects, of every variant.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn remove_if(
        &self,
        place: &Place,
        is_meant: impl Fn(&StoredCopy) -> bool,
    ) -> Result<(), Error> {
        let known = self.hot.get(place.key(), self.since.elapsed());
        if known.is_some_and(|known| known.all().is_empty()) {
            return Ok(());
        }
        for copy in self.entries(place).await?.into_iter().filter(is_meant) {
            self.run(move |spool| spool.remove_variant(copy.entry.place())).await?;
        }
        Ok(())
    }

    /// Runs any call of the spool outside the runtime's own threads.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Spool) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let spool = self.spool.clone();
        blocking(move || call(&spool)).await
    }
}

/// Reads bytes that were already written, at any offset.
pub trait ReadAt: Send + Sync + 'static {
    /// Fills `buffer` with the bytes from `offset`, as far as they exist. Returns their number.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for Tail {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Tail::read_at(self, offset, buffer).map_err(io::Error::other)
    }
}

/// Converts `time` for the spool. A time outside its range becomes the epoch.
#[must_use]
pub fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}
