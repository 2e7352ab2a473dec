//! The body of a running download, read by any number of clients while it is written to the spool.
//!
//! The writer appends; each reader has its own position and its own speed. Written bytes are read
//! back from the disk, so a slow reader costs no memory. The last bytes stay in a window of memory,
//! so that fast readers do not read the disk. If the disk fails, all further bytes pass through the
//! window. The window is bounded, so the writer is then limited to the speed of the slowest reader
//! (back-pressure).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::body::Frame;
use hyper::{HeaderMap, StatusCode};
use tokio::sync::{Notify, watch};

use crate::base::blocking::blocking;
use crate::base::presence::Presence;
use crate::net::upstream::Failure;
use crate::storage::body::{BodyError, length};
use crate::storage::store::ReadAt;
use wwwoffle_http::caching::freshness::ExchangeTimes;

/// Bytes per read from the disk.
const READ_SIZE: usize = 128 * 1024;

/// Maximum bytes of the window after the disk has failed.
const MAX_WINDOW: u64 = 1024 * 1024;

/// The end of a body.
#[derive(Clone, Debug)]
pub enum BodyEnd {
    /// The body is complete, with these trailers.
    Whole(Option<Arc<HeaderMap>>),
    /// The body broke off.
    Broken(Arc<Failure>),
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feed({} bytes, {} readers)", self.length(), self.readers())
    }
}

/// The shared state of one body.
#[derive(Default)]
pub struct Feed {
    state: Mutex<FeedState>,
    /// The number of changes, so that a reader misses none between a check and a wait.
    changes: watch::Sender<u64>,
    /// Notified when a reader has advanced.
    moved: Notify,
}

#[derive(Default)]
struct FeedState {
    disk: Option<Arc<dyn ReadAt>>,
    /// Bytes that can be read from `disk`.
    on_disk: u64,
    /// The last bytes of the body, from `window_start` on.
    window: VecDeque<Bytes>,
    window_start: u64,
    readers: HashMap<u64, ReaderState>,
    next_reader: u64,
    /// Whether new readers are refused, because the body will break off.
    closed: bool,
    end: Option<BodyEnd>,
}

/// The feed's record of one reader.
struct ReaderState {
    /// The number of bytes that the reader has received.
    position: u64,
    /// Whether the reader's client may have left.
    presence: Presence,
}

impl FeedState {
    /// Whether the feed had readers, and the client of each remaining reader may have left.
    fn is_left(&self) -> bool {
        self.next_reader > 0 && self.readers.values().all(|reader| reader.presence.is_uncertain())
    }

    fn window_end(&self) -> u64 {
        self.window_start + self.window.iter().map(length).sum::<u64>()
    }

    /// Drops from the window the bytes that every reader has received.
    fn trim(&mut self) {
        let slowest = self.readers.values().map(|reader| reader.position).min();
        let slowest = slowest.unwrap_or(u64::MAX);
        while let Some(front) = self.window.front()
            && self.window_start + length(front) <= slowest
        {
            self.window_start += length(front);
            self.window.pop_front();
        }
    }
}

impl Feed {
    /// An empty body, before its first byte.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Sets the file to which the body is written.
    pub fn set_disk(&self, disk: Arc<dyn ReadAt>) {
        self.lock().disk = Some(disk);
    }

    /// Records that these bytes have been appended to the file. They become the window.
    pub fn written(&self, stretch: Vec<Bytes>) {
        let mut state = self.lock();
        state.window_start = state.on_disk;
        state.on_disk += stretch.iter().map(length).sum::<u64>();
        state.window = stretch.into();
        drop(state);
        self.changed();
    }

    /// Records that the disk has failed: all further bytes are in the window only.
    pub fn spill(&self) {
        let mut state = self.lock();
        state.window.clear();
        state.window_start = state.on_disk;
    }

    /// Appends to the window after [`Feed::spill`], and waits for the slowest reader if the window
    /// is full. Returns `false` if there are no readers: then the feed is closed, and later bytes
    /// are discarded.
    pub async fn push(&self, chunk: Bytes) -> bool {
        loop {
            let moved = self.moved.notified();
            {
                let mut state = self.lock();
                if state.readers.is_empty() {
                    state.closed = true;
                    return false;
                }
                state.trim();
                if state.window_end() - state.window_start < MAX_WINDOW {
                    state.window.push_back(chunk);
                    break;
                }
            }
            moved.await;
        }
        self.changed();
        true
    }

    /// Records the end of the body.
    pub fn finish(&self, end: BodyEnd) {
        let mut state = self.lock();
        state.closed |= matches!(end, BodyEnd::Broken(_));
        state.end.get_or_insert(end);
        drop(state);
        self.changed();
    }

    /// Refuses new readers, because the body will break off.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Closes the feed if it has no readers. Returns whether it is closed now.
    pub fn close_unread(&self) -> bool {
        let mut state = self.lock();
        state.closed |= state.readers.is_empty();
        state.closed
    }

    /// Whether new readers are refused.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Bytes that have arrived.
    pub fn length(&self) -> u64 {
        let state = self.lock();
        state.on_disk.max(state.window_end())
    }

    /// Number of readers.
    pub fn readers(&self) -> usize {
        self.lock().readers.len()
    }

    /// Whether the feed had readers, and each of them may have left.
    pub fn is_left(&self) -> bool {
        self.lock().is_left()
    }

    /// Closes the feed if [`Self::is_left`]. Returns whether it is closed now.
    pub fn close_left(&self) -> bool {
        let mut state = self.lock();
        state.closed |= state.is_left();
        state.closed
    }

    /// Resolves when there are no readers.
    pub async fn wait_until_unread(&self) {
        loop {
            let moved = self.moved.notified();
            if self.readers() == 0 {
                return;
            }
            moved.await;
        }
    }

    /// Adds a reader that starts at the first byte. `None` if the feed is closed. Also `None` if
    /// the disk has failed and the window has lost bytes that follow those on the disk.
    pub fn read(self: &Arc<Self>) -> Option<FeedReader> {
        let mut state = self.lock();
        if state.closed || state.window_start > state.on_disk {
            return None;
        }
        let id = state.next_reader;
        state.next_reader += 1;
        state.readers.insert(id, ReaderState { position: 0, presence: Presence::default() });
        drop(state);
        let changes = self.changes.subscribe();
        Some(FeedReader { feed: Arc::clone(self), id, position: Some(0), changes })
    }

    fn next_event(&self, position: u64) -> FeedEvent {
        let state = self.lock();
        if position >= state.window_start {
            let mut start = state.window_start;
            for chunk in &state.window {
                let end = start + length(chunk);
                if position < end {
                    let skip = usize::try_from(position - start).unwrap_or(usize::MAX);
                    return FeedEvent::Chunk(chunk.slice(skip..));
                }
                start = end;
            }
        }
        if position < state.on_disk
            && let Some(disk) = &state.disk
        {
            let left = usize::try_from(state.on_disk - position).unwrap_or(usize::MAX);
            return FeedEvent::Disk(Arc::clone(disk), left.min(READ_SIZE));
        }
        state.end.clone().map_or(FeedEvent::Wait, FeedEvent::End)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, FeedState> {
        // A panic cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response that is being stored, and whose body can be read already.
#[derive(Debug)]
pub struct ArrivingResponse {
    /// The status.
    pub status: StatusCode,
    /// The fields.
    pub fields: HeaderMap,
    /// When it was requested from its origin and received.
    pub times: ExchangeTimes,
    /// The length of the body, in bytes.
    pub length: u64,
    /// The body. It ends before its last byte if the response cannot be stored whole.
    pub body: FeedReader,
}

/// A reader of a body, with its own position.
#[derive(Debug)]
pub struct FeedReader {
    feed: Arc<Feed>,
    id: u64,
    /// The position of the next byte to deliver. `None` after the end was delivered.
    position: Option<u64>,
    changes: watch::Receiver<u64>,
}

/// The next event at the position of a reader.
enum FeedEvent {
    Chunk(Bytes),
    Disk(Arc<dyn ReadAt>, usize),
    End(BodyEnd),
    Wait,
}

impl FeedReader {
    /// The same reader, which now also shows whether its client may have left.
    #[must_use]
    pub fn for_client(self, presence: &Presence) -> Self {
        if let Some(reader) = self.feed.lock().readers.get_mut(&self.id) {
            reader.presence = presence.clone();
        }
        self
    }

    /// The next piece of the body, or its trailers; `None` at its end. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> Option<Result<Frame<Bytes>, BodyError>> {
        loop {
            let position = self.position?;
            self.changes.mark_unchanged();
            let chunk = match self.feed.next_event(position) {
                FeedEvent::Chunk(chunk) => Ok(chunk),
                FeedEvent::Disk(disk, size) => read_disk(disk, position, size).await,
                FeedEvent::End(BodyEnd::Whole(None)) => return None,
                FeedEvent::End(BodyEnd::Whole(Some(trailers))) => {
                    self.position = None;
                    return Some(Ok(Frame::trailers(HeaderMap::clone(&trailers))));
                }
                FeedEvent::End(BodyEnd::Broken(failure)) => Err(BodyError::Broken(failure)),
                FeedEvent::Wait => {
                    // Cannot fail: the sender is in the feed, which this reader holds.
                    let _open = self.changes.changed().await;
                    continue;
                }
            };
            let chunk = chunk.inspect_err(|_| self.position = None);
            return Some(chunk.map(|chunk| {
                self.advance(position + length(&chunk));
                Frame::data(chunk)
            }));
        }
    }

    fn advance(&mut self, to: u64) {
        self.position = Some(to);
        if let Some(reader) = self.feed.lock().readers.get_mut(&self.id) {
            reader.position = to;
        }
        self.feed.moved.notify_waiters();
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        self.feed.lock().readers.remove(&self.id);
        self.feed.moved.notify_waiters();
    }
}

async fn read_disk(disk: Arc<dyn ReadAt>, offset: u64, size: usize) -> Result<Bytes, BodyError> {
    let read = move || {
        let mut buffer = vec![0; size];
        let length = disk.read_at(offset, &mut buffer)?;
        buffer.truncate(length);
        if buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Bytes::from(buffer))
    };
    blocking(read).await.map_err(|error| BodyError::Disk(Arc::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory.
    #[derive(Default)]
    struct Memory(Mutex<Vec<u8>>);

    impl ReadAt for Memory {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.lock().unwrap();
            let from = usize::try_from(offset).unwrap().min(bytes.len());
            let length = buffer.len().min(bytes.len() - from);
            buffer[..length].copy_from_slice(&bytes[from..from + length]);
            Ok(length)
        }
    }

    fn write(feed: &Feed, disk: &Memory, chunk: &'static [u8]) {
        disk.0.lock().unwrap().extend_from_slice(chunk);
        feed.written(vec![Bytes::from_static(chunk)]);
    }

    async fn rest(reader: &mut FeedReader) -> Result<Vec<u8>, BodyError> {
        let mut body = Vec::new();
        while let Some(frame) = reader.next().await {
            if let Ok(data) = frame?.into_data() {
                body.extend_from_slice(&data);
            }
        }
        Ok(body)
    }

    #[tokio::test]
    async fn early_and_late_readers_read_the_same() {
        let disk = Arc::new(Memory::default());
        let feed = Feed::new();
        feed.set_disk(disk.clone());
        let mut early = feed.read().unwrap();
        write(&feed, &disk, b"one ");
        let first = early.next().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first, "one ");
        write(&feed, &disk, b"two ");
        write(&feed, &disk, b"three");
        let mut late = feed.read().unwrap();
        feed.finish(BodyEnd::Whole(None));
        assert_eq!(rest(&mut early).await.unwrap(), b"two three");
        assert_eq!(rest(&mut late).await.unwrap(), b"one two three");
        assert_eq!(feed.length(), 13);
    }

    #[tokio::test]
    async fn a_feed_with_missing_bytes_cannot_be_joined() {
        let disk = Arc::new(Memory::default());
        let feed = Feed::new();
        feed.set_disk(disk.clone());
        let mut reader = feed.read().unwrap();
        write(&feed, &disk, b"on the disk, ");
        feed.spill();
        assert!(feed.push(Bytes::from_static(b"in memory, ")).await);
        assert!(feed.read().is_some(), "nothing is gone yet");
        for _ in 0..2 {
            reader.next().await.unwrap().unwrap();
        }
        assert!(feed.push(Bytes::from_static(b"and gone")).await);
        assert!(feed.read().is_none());
        feed.finish(BodyEnd::Whole(None));
        assert_eq!(rest(&mut reader).await.unwrap(), b"and gone");
    }

    #[tokio::test]
    async fn trailers_are_delivered_once_at_the_end() {
        let feed = Feed::new();
        let mut reader = feed.read().unwrap();
        let trailers = [(hyper::header::ETAG, "\"t\"".parse().unwrap())].into_iter().collect();
        feed.finish(BodyEnd::Whole(Some(Arc::new(trailers))));
        assert!(reader.next().await.unwrap().unwrap().is_trailers());
        assert!(reader.next().await.is_none());
    }

    #[tokio::test]
    async fn readers_of_a_broken_body_get_its_bytes_and_then_an_error() {
        let disk = Arc::new(Memory::default());
        let feed = Feed::new();
        feed.set_disk(disk.clone());
        write(&feed, &disk, b"half");
        let mut reader = feed.read().unwrap();
        feed.finish(BodyEnd::Broken(Arc::new(Failure::Stalled)));
        assert!(reader.next().await.unwrap().unwrap().is_data());
        assert!(matches!(reader.next().await, Some(Err(BodyError::Broken(_)))));
    }

    #[tokio::test]
    async fn after_a_disk_error_the_writer_waits_for_its_readers() {
        let disk = Arc::new(Memory::default());
        let feed = Feed::new();
        feed.set_disk(disk.clone());
        write(&feed, &disk, b"disk ");
        let mut reader = feed.read().unwrap();
        feed.spill();
        let chunk = Bytes::from(vec![b'x'; 400_000]);
        for _ in 0..3 {
            assert!(feed.push(chunk.clone()).await);
        }
        let writer = Arc::clone(&feed);
        let last = chunk.clone();
        let push = async move {
            let taken = writer.push(last).await;
            writer.finish(BodyEnd::Whole(None));
            taken
        };
        let (taken, body) = tokio::join!(push, rest(&mut reader));
        assert!(taken);
        assert_eq!(body.unwrap().len(), 5 + 4 * 400_000);
        drop(reader);
        assert!(!feed.push(chunk).await, "nobody reads");
        feed.wait_until_unread().await;
    }
}
