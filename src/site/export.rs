//! What was chosen in a list, or all of it, as a download: an archive that other programs read.
//!
//! WARC is sent as it is written. WACZ has its parts' lengths in front, so it is written to a file below `tmp/` of the
//! spool first, which has lost its name before its first byte is sent: whenever the client leaves, or the program
//! ends, nothing stays.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use wwwoffle_archive::{ExportOptions, to_wacz, to_warc};
use wwwoffle_index::{Error as IndexError, SubResources};
use wwwoffle_spool::fs::{Disk, DiskFile, OpenedFile, SystemDisk};
use wwwoffle_spool::purge::space;
use wwwoffle_spool::{BATCH_INTERVAL, Error, Key, Place, Reader, Spool};
use wwwoffle_url::CanonicalUrl;

use super::caller::Caller;
use super::lists::NotDone;
use super::local::sent;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::net::upstream::BoxError;
use crate::page::form::SubmittedForm;
use crate::proxy::body::{self, Body};
use crate::site::exchange::title;
use crate::storage::lists;
use crate::storage::purge::room::min_free_at;
use crate::storage::store::timestamp;

/// So many exports are under way at once: each keeps a thread busy for as long as its client takes.
pub(crate) const AT_ONCE: usize = 2;

/// Bytes that are sent at once, and how many times as much waits for the client.
pub(super) const PIECE: usize = 64 << 10;
pub(super) const AHEAD: usize = 4;

/// The bodies of what goes into an archive that is written to a file first have so many bytes at most.
const LARGEST_FILE: u64 = 4 << 30;

/// How long an export waits for what was just stored to be in the index.
const CURRENT_WITHIN: Duration = Duration::from_secs(2);

/// The index is asked for the sub-resources of so many entries at once.
const PAGES_AT_ONCE: usize = 200;

/// How often it is looked whether what has just come has its name.
const TRIES: u32 = 8;

/// What an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// WARC, a gzip member for each record.
    Warc,
    /// WACZ, with an index and the titles of pages.
    Wacz,
}

impl Format {
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

/// What is exported.
#[derive(Default)]
struct Chosen {
    places: Vec<Place>,
    /// The bodies together.
    bytes: u64,
    /// The keys whose entries were looked up.
    seen: HashSet<Key>,
}

/// Sends what the fields `url` name, as far as it is the caller's or everyone's, and the sub-resources of that.
pub(super) async fn send(
    caller: &Caller,
    format: Format,
    form: &SubmittedForm,
) -> Result<Response<Body>, NotDone> {
    let (context, mut places) = (&caller.context, Vec::new());
    for (_, text) in form.fields().filter(|(name, _)| *name == "url") {
        let mut url = CanonicalUrl::parse(text, &context.base.local)?;
        let of = Places::of(&mut url, &HeaderMap::new(), &caller.owner);
        places.extend([of.own, of.public]);
    }
    send_places(caller, format, places, form.value("versions").is_some()).await
}

/// Sends the entries of these places, and their sub-resources.
pub(super) async fn send_places(
    caller: &Caller,
    format: Format,
    places: Vec<Place>,
    versions: bool,
) -> Result<Response<Body>, NotDone> {
    let context = &caller.context;
    let turn =
        Arc::clone(&context.limits.exports).try_acquire_owned().map_err(|_| NotDone::Busy)?;
    let find_all = |mut chosen: Chosen, places: Vec<Place>| {
        context.storage.store.run(move |spool| find(spool, &mut chosen, &places).map(|()| chosen))
    };
    let chosen = find_all(Chosen::default(), places).await?;
    if chosen.places.is_empty() {
        return Err(NotDone::Nothing);
    }
    let more = sub_resources(caller, chosen.places.clone()).await;
    let chosen =
        find_all(chosen, more.map_err(|error| NotDone::Index(error_chain(&error)))?).await?;
    let options = ExportOptions {
        software: concat!("wwwoffle/", env!("CARGO_PKG_VERSION")).to_owned(),
        now: timestamp(clock::now()),
        versions,
    };
    let day = options.now.to_zoned(caller.shell.zone.clone()).strftime("%Y-%m-%d");
    let name = format!("attachment; filename=\"wwwoffle-{day}.{}\"", format.end());
    let mut response = caller.other(StatusCode::OK, Some(format.content_type()), body::empty());
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    match format {
        Format::Warc => {
            let (sender, receiver) = mpsc::channel(AHEAD);
            let store = context.storage.store.clone();
            context.base.tasks.spawn(async move {
                let work = move |spool: &Spool| {
                    let _turn = turn;
                    stream_to(spool, chosen, &options, &sender);
                    Ok(())
                };
                // What went wrong is told to the client, who has an archive that breaks off.
                let _done = store.run(work).await;
            });
            *response.body_mut() = received(receiver);
        }
        Format::Wacz => {
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

/// The sub-resources of entries, for everyone or the caller.
async fn sub_resources(caller: &Caller, places: Vec<Place>) -> Result<Vec<Place>, IndexError> {
    let owner = caller.owner.to_string();
    lists::ask(&caller.context.storage, move |index| {
        // Without what is not read by then, an archive is better than none.
        let _late = index.settle_within(true, CURRENT_WITHIN);
        let mut found = SubResources::of_owner(Some(owner));
        for some in places.chunks(PAGES_AT_ONCE) {
            index.gather_sub_resources(&mut found, some)?;
        }
        Ok(found.items.into_iter().map(|item| item.place).collect())
    })
    .await
}

/// Adds what is stored at places, each key once. What has just come gets its name first.
fn find(spool: &Spool, chosen: &mut Chosen, places: &[Place]) -> Result<(), Error> {
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

/// Hands what is written to whoever receives it, and waits for them.
pub(super) struct Sending(pub(super) mpsc::Sender<Result<Bytes, BoxError>>);

impl Write for Sending {
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
    chosen: Chosen,
    options: &ExportOptions,
    sender: &mpsc::Sender<Result<Bytes, BoxError>>,
) {
    let write = || -> Result<(), BoxError> {
        let reader = Reader::open(spool.root())?;
        let mut out = io::BufWriter::with_capacity(PIECE, Sending(sender.clone()));
        to_warc(&reader, &mut chosen.places.into_iter().map(Ok), &mut out, options)?;
        Ok(out.flush()?)
    };
    if let Err(error) = write() {
        // Nobody may be there any more.
        let _left = sender.blocking_send(Err(error));
    }
}

/// What is handed over so, as a body.
pub(super) fn received(receiver: mpsc::Receiver<Result<Bytes, BoxError>>) -> Body {
    let frames = stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(Frame::data), receiver))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Writes a WACZ into a file that has no name any more when it is returned, with its length.
fn in_file(
    spool: &Spool,
    chosen: Chosen,
    options: &ExportOptions,
    spare: u64,
) -> Result<(Arc<dyn DiskFile>, u64), NotDone> {
    let free = space(spool.root()).map_or(u64::MAX, |space| space.free);
    if chosen.bytes > LARGEST_FILE || chosen.bytes.saturating_add(spare) > free {
        return Err(NotDone::NoRoom);
    }
    let number = options.now.as_nanosecond();
    let path = spool.root().join("tmp").join(format!("export-{number}.wacz"));
    let reader = Reader::open(spool.root())?;
    let mut places = chosen.places.into_iter().map(Ok);
    let written = to_wacz(&reader, &mut places, &path, options, &title);
    written.map_err(|error| NotDone::Export(error_chain(&error)))?;
    let opened = SystemDisk.open(&path);
    let removed = SystemDisk.remove_file(&path);
    match opened.and_then(|opened| removed.map(|()| opened)) {
        Ok(OpenedFile::File(file, length)) => Ok((file, length)),
        Ok(OpenedFile::NotAFile) => {
            Err(NotDone::Export("it is not the file that was written".to_owned()))
        }
        Err(error) => Err(NotDone::Export(error.to_string())),
    }
}
