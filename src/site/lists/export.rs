//! Downloads of selected entries or of a whole list, as an archive that other programs read.
//!
//! WARC is sent while it is written. WACZ begins with the lengths of its members, so it is first
//! written to a file below `tmp/` of the spool. The file is unlinked before its first byte is sent,
//! so it disappears when the client disconnects or the program ends.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;
use wwwoffle_archive::{ExportOptions, to_wacz, to_warc};
use wwwoffle_index::{Error as IndexError, SubResources};
use wwwoffle_spool::fs::{Disk, DiskFile, OpenedFile, SYSTEM_DISK};
use wwwoffle_spool::purge::space;
use wwwoffle_spool::{BATCH_INTERVAL, Error, Key, Place, Reader, Spool};

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::BoxError;
use crate::page::form::SubmittedForm;
use crate::proxy::body::{self, Body};
use crate::site::caller::Caller;
use crate::site::entries::exchange::title;
use crate::site::forms::FormError;
use crate::site::lists::nothing;
use crate::site::local_files::sent;
use crate::storage::lists;
use crate::storage::purge::room::min_free_at;
use crate::storage::store::timestamp;

/// Maximum number of concurrent exports: each blocks a thread for as long as its client reads.
pub(crate) const AT_ONCE: usize = 2;

/// Number of bytes sent at once.
pub(in crate::site) const PIECE: usize = 64 << 10;
/// Number of pieces of [`PIECE`] bytes that are buffered for the client.
pub(in crate::site) const AHEAD: usize = 4;

/// Maximum total size of the bodies in an archive that is first written to a file, in bytes.
const LARGEST_FILE: u64 = 4 << 30;

/// Maximum time that an export waits until the index contains the last changes of the spool.
const CURRENT_WITHIN: Duration = Duration::from_secs(2);

/// Number of entries for which the index is queried for sub-resources at once.
const PAGES_AT_ONCE: usize = 200;

/// Maximum number of checks whether a recently stored entry already has its file name.
const TRIES: u32 = 8;

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum ExportFormat {
    /// WARC, with one gzip member for each record.
    Warc,
    /// WACZ, with an index and the titles of pages.
    Wacz,
}

impl ExportFormat {
    fn end(self) -> &'static str {
        match self {
            Self::Warc => "warc.gz",
            Self::Wacz => "wacz",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Warc => "application/gzip",
            Self::Wacz => "application/wacz",
        }
    }
}

/// How entries are exported.
pub(in crate::site) struct ExportWish {
    pub(in crate::site) format: ExportFormat,
    /// Whether older versions are included.
    pub(in crate::site) versions: bool,
    /// The definition of the exported collection, which a WACZ contains.
    pub(in crate::site) collection: Option<String>,
}

/// The entries to export.
#[derive(Default)]
struct ExportSelection {
    places: Vec<Place>,
    /// Total size of the bodies, in bytes.
    bytes: u64,
    /// Keys whose entries were already looked up.
    seen: HashSet<Key>,
}

/// Sends the entries of the URLs in the fields `url`, with their sub-resources. Includes the
/// entries of the caller and public entries.
pub(in crate::site) async fn send(
    caller: &Caller,
    format: ExportFormat,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let mut places = Vec::new();
    for (_, text) in form.fields().filter(|(name, _)| *name == "url") {
        let of = caller.places_of(text)?;
        places.extend([of.own, of.public]);
    }
    let versions = form.value("versions").is_some();
    send_places(caller, ExportWish { format, versions, collection: None }, places, form).await
}

/// Sends the entries of these places, which `form` selects, and their sub-resources.
pub(in crate::site) async fn send_places(
    caller: &Caller,
    wish: ExportWish,
    places: Vec<Place>,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let (context, ExportWish { format, versions, collection }) = (&caller.context, wish);
    let turn = Arc::clone(&context.limits.exports).try_acquire_owned().map_err(|_| {
        let why = "two exports are under way already: try again when one has ended";
        FormError::Busy(why.to_owned())
    })?;
    let find_all = |mut chosen: ExportSelection, places: Vec<Place>| {
        context.storage.store.run(move |spool| find(spool, &mut chosen, &places).map(|()| chosen))
    };
    let chosen = find_all(ExportSelection::default(), places).await?;
    if chosen.places.is_empty() {
        return Err(nothing(form));
    }
    let more = sub_resources(caller, chosen.places.clone()).await?;
    let chosen = find_all(chosen, more).await?;
    let options = ExportOptions {
        software: concat!("wwwoffle/", env!("CARGO_PKG_VERSION")).to_owned(),
        now: timestamp(clock::now()),
        versions,
        collection,
    };
    let day = options.now.to_zoned(caller.shell.zone.clone()).strftime("%Y-%m-%d");
    let name = format!("attachment; filename=\"wwwoffle-{day}.{}\"", format.end());
    let mut response = caller.other(StatusCode::OK, Some(format.content_type()), body::empty());
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    match format {
        ExportFormat::Warc => {
            let (sender, receiver) = mpsc::channel(AHEAD);
            let store = context.storage.store.clone();
            context.base.tasks.spawn(async move {
                let work = move |spool: &Spool| {
                    let _turn = turn;
                    stream_to(spool, chosen, &options, &sender);
                    Ok(())
                };
                // The client sees the failure, because its archive is truncated.
                let _done = store.run(work).await;
            });
            *response.body_mut() = received(receiver);
        }
        ExportFormat::Wacz => {
            let spare = min_free_at(&context.base.config(), context.storage.store.spool().root());
            let write = move |spool: &Spool| {
                let _turn = turn;
                Ok(in_file(spool, chosen, &options, spare))
            };
            let (file, length) = context.storage.store.run(write).await??;
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
            *response.body_mut() = sent(context.storage.store.clone(), file, length);
        }
    }
    Ok(response)
}

/// Returns the sub-resources of entries, public ones and those of the caller.
async fn sub_resources(caller: &Caller, places: Vec<Place>) -> Result<Vec<Place>, IndexError> {
    let owner = caller.owner.to_string();
    lists::call_index(&caller.context.storage, move |index| {
        // An archive without the sub-resources that are not indexed in time is better than no
        // archive.
        let _late = index.wait_until_current_within(true, CURRENT_WITHIN);
        let mut found = SubResources::of_owner(Some(owner));
        for some in places.chunks(PAGES_AT_ONCE) {
            index.gather_sub_resources(&mut found, some)?;
        }
        Ok(found.items.into_iter().map(|item| item.place).collect())
    })
    .await
}

/// Adds the entries stored at `places`, each key once. The archive is written from the files, so
/// this waits for a short time if a recently stored entry has no file name yet.
fn find(spool: &Spool, chosen: &mut ExportSelection, places: &[Place]) -> Result<(), Error> {
    let reader = Reader::open(spool.root())?;
    for place in places {
        if !chosen.seen.insert(place.key()) {
            continue;
        }
        for entry in spool.entries(place)?.found {
            chosen.bytes = chosen.bytes.saturating_add(entry.body_len());
            let place = entry.place().clone();
            let has_name = || {
                let found = reader.entries(&place)?.found;
                Ok::<_, Error>(found.iter().any(|found| *found.place() == place))
            };
            let mut tries = 0;
            while tries < TRIES && !has_name()? {
                tries += 1;
                std::thread::sleep(BATCH_INTERVAL / 2);
            }
            chosen.places.push(place);
        }
    }
    Ok(())
}

/// Writer that passes the written bytes to a receiver, and waits while its buffer is full.
pub(in crate::site) struct ChannelWriter(pub(in crate::site) mpsc::Sender<Result<Bytes, BoxError>>);

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stream_to(
    spool: &Spool,
    chosen: ExportSelection,
    options: &ExportOptions,
    sender: &mpsc::Sender<Result<Bytes, BoxError>>,
) {
    let write = || -> Result<(), BoxError> {
        let reader = Reader::open(spool.root())?;
        let mut out = io::BufWriter::with_capacity(PIECE, ChannelWriter(sender.clone()));
        to_warc(&reader, &mut chosen.places.into_iter().map(Ok), &mut out, options)?;
        Ok(out.flush()?)
    };
    if let Err(error) = write() {
        // The client may have disconnected.
        let _left = sender.blocking_send(Err(error));
    }
}

/// Returns the received pieces as a body.
pub(in crate::site) fn received(receiver: mpsc::Receiver<Result<Bytes, BoxError>>) -> Body {
    let frames = stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(Frame::data), receiver))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Writes a WACZ into a file. Returns the file, already unlinked, and its length.
fn in_file(
    spool: &Spool,
    chosen: ExportSelection,
    options: &ExportOptions,
    spare: u64,
) -> Result<(Arc<dyn DiskFile>, u64), FormError> {
    let free = space(spool.root()).map_or(u64::MAX, |space| space.free);
    let mut bytes = chosen.bytes;
    for place in chosen.places.iter().filter(|_| options.versions) {
        let versions = spool.versions(place)?;
        bytes = versions.iter().fold(bytes, |bytes, older| bytes.saturating_add(older.body_len));
    }
    if bytes > LARGEST_FILE || bytes.saturating_add(spare) > free {
        let why = "there is too little room for the archive: WARC needs none";
        return Err(FormError::NoRoom(why.to_owned()));
    }
    let number = options.now.as_nanosecond();
    let path = spool.root().join("tmp").join(format!("export-{number}.wacz"));
    let reader = Reader::open(spool.root())?;
    let mut places = chosen.places.into_iter().map(Ok);
    let written = to_wacz(&reader, &mut places, &path, options, &title);
    let bad = |why: &str| FormError::Bad(format!("the archive cannot be written: {why}"));
    written.map_err(|error| bad(&error_chain(&error)))?;
    let opened = SYSTEM_DISK.open(&path);
    let removed = SYSTEM_DISK.remove_file(&path);
    match opened.and_then(|opened| removed.map(|()| opened)) {
        Ok(OpenedFile::File(file, length)) => Ok((file, length)),
        Ok(OpenedFile::NotAFile) => Err(bad("it is not the file that was written")),
        Err(error) => Err(bad(&error.to_string())),
    }
}
