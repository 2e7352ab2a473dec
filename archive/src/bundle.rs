//! Bundles: queued requests that are taken to a machine with a connection, and returned with their
//! responses.
//!
//! A bundle is a WARC in which a field marks the records of queued requests ([`KIND`]). It never
//! contains secrets: requests with a cookie or a login are left out, and so are all forms, because
//! they may contain passwords.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use wwwoffle_spool::{
    Key, MAX_QUEUE, Place, Reader, RequestKind, RequestState, Secrets, Timestamp,
};
use wwwoffle_url::LocalHost;

use crate::detect;
use crate::error::{Error, Result};
use crate::export::{ExportOptions, ExportReport, WarcWriter, for_each_entry};
use crate::item::{ItemContent, QueuedRequest};
use crate::pending::PendingFile;

/// The maximum memory for the requests of a bundle, in bytes.
const MAX_REQUESTS: usize = 256 << 20;

/// The requests of a bundle.
#[derive(Default)]
pub struct Bundle {
    requests: Vec<QueuedRequest>,
    /// The number of requests that were left out.
    kept_back: u64,
    /// The keys of the responses that the bundle already contains.
    had: HashSet<Key>,
}

/// The entries of a spool that go into a bundle.
#[derive(Clone, Copy, Debug)]
pub enum BundleScope {
    /// All entries, because the spool was made for this bundle.
    All,
    /// For a spool that also contains pages of other people: the shared entries that are responses
    /// to the requests, were already in the bundle, or were stored since this time.
    Since(Timestamp),
}

impl Bundle {
    /// The queued requests of a spool that may be taken to another machine: waiting requests for
    /// pages and sub-resources that have no secrets and no owner.
    ///
    /// # Errors
    ///
    /// If the queue cannot be read.
    pub fn of_queue(reader: &Reader, local: &LocalHost) -> Result<Self> {
        let mut bundle = Self::default();
        for summary in reader.queue()? {
            let waits = summary.fetching.state == RequestState::Waiting;
            let is_page = summary.line.method == "GET" && summary.kind != RequestKind::Post;
            let is_everyones = summary.place.owner().is_none();
            let url = crate::item::url(summary.place.url(), local).ok();
            // A request whose URL has credentials is left out: its key differs from that of the URL
            // without them.
            let url = url.filter(|url| Place::of(url).key() == summary.place.key());
            let request = match reader.request(&summary.place.key())? {
                Some(request) if waits && is_page && is_everyones => request,
                _ => {
                    bundle.kept_back += 1;
                    continue;
                }
            };
            let head = crate::head::RequestHead::parse(&request.head).ok();
            match (url, head) {
                (Some(url), Some(head)) if request.secrets == Secrets::None => {
                    let (when, page) = (request.summary.queued, request.summary.page);
                    bundle.requests.push(QueuedRequest {
                        url,
                        head,
                        body: Vec::new(),
                        when,
                        page,
                        recursion: None,
                    });
                }
                _ => bundle.kept_back += 1,
            }
        }
        Ok(bundle)
    }

    /// Reads the requests of a bundle for which the bundle has no response.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown`] if `path` is not an archive, or its requests are longer than 256 MiB
    /// in total. Otherwise a disk error.
    pub fn read(path: &Path, local: &LocalHost) -> Result<Self> {
        let mut archive = detect::open(path, "https", local)?;
        let (mut bundle, mut known) = (Self::default(), HashSet::<Key>::new());
        let mut answered = HashSet::<Key>::new();
        let mut size = 0_usize;
        while let Some(item) = archive.source.next()? {
            match item.what {
                // Forms are not accepted from a bundle.
                ItemContent::QueuedRequest(waiting)
                    if waiting.head.method == "GET"
                        && waiting.body.is_empty()
                        && bundle.requests.len() < MAX_QUEUE
                        && known.insert(Place::of(&waiting.url).key()) =>
                {
                    let page = waiting.page.as_deref().map_or(0, str::len);
                    size += waiting.head.size() + waiting.url.as_str().len() + page + 256;
                    if size > MAX_REQUESTS {
                        return Err(Error::unknown(path, "its requests are longer than 256 MiB"));
                    }
                    bundle.requests.push(*waiting);
                }
                ItemContent::Exchange(exchange) if answered.len() < MAX_QUEUE => {
                    answered.insert(Place::of(&exchange.url).key());
                }
                _ => {}
            }
        }
        bundle.requests.retain(|one| !answered.contains(&Place::of(&one.url).key()));
        bundle.had = answered;
        Ok(bundle)
    }

    /// The number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether the bundle has no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The number of requests that were left out: they have secrets or an owner, are forms, or are
    /// not waiting.
    #[must_use]
    pub fn kept_back(&self) -> u64 {
        self.kept_back
    }

    /// Writes the entries selected by `of`, and the requests to which no selected entry is the
    /// response. Also returns the number of these requests.
    ///
    /// # Errors
    ///
    /// If the spool cannot be read or the file cannot be written.
    pub fn fill(
        &self,
        reader: &Reader,
        path: &Path,
        options: &ExportOptions,
        of: BundleScope,
    ) -> Result<(ExportReport, usize)> {
        let asked: HashSet<&str> = self.requests.iter().map(|one| one.url.as_str()).collect();
        let mut places = Vec::new();
        for summary in reader.list(None, None)? {
            let summary = summary?;
            let is_meant = match of {
                BundleScope::All => true,
                BundleScope::Since(begun) => {
                    summary.place.owner().is_none()
                        && (summary.stored >= begun
                            || asked.contains(summary.place.url())
                            || self.had.contains(&summary.place.key()))
                }
            };
            if is_meant {
                places.push(summary.place);
            }
        }
        let answered: HashSet<String> = places.iter().map(|place| place.url().to_owned()).collect();
        let open = |one: &&QueuedRequest| !answered.contains(one.url.as_str());
        let unanswered: Vec<&QueuedRequest> = self.requests.iter().filter(open).collect();
        let exported = write(reader, places, &unanswered, path, options)?;
        Ok((exported, unanswered.len()))
    }

    /// Writes the requests only.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, reader: &Reader, path: &Path, options: &ExportOptions) -> Result<()> {
        let requests: Vec<&QueuedRequest> = self.requests.iter().collect();
        write(reader, Vec::new(), &requests, path, options).map(|_| ())
    }
}

fn write(
    reader: &Reader,
    places: Vec<Place>,
    requests: &[&QueuedRequest],
    path: &Path,
    options: &ExportOptions,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", path, error);
    let mut out = io::BufWriter::new(PendingFile::begin(path).map_err(fail)?);
    let mut exported = ExportReport::default();
    {
        let mut warcs = WarcWriter::begin(&mut out, options).map_err(fail)?;
        for one in requests {
            warcs.waiting(one).map_err(fail)?;
        }
        let mut places = places.into_iter().map(Ok);
        for_each_entry((reader, false), &mut places, &mut exported, &mut |entry| {
            warcs.add(entry).map(|_| ()).map_err(fail)
        })?;
    }
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.finish().map_err(fail)?;
    Ok(exported)
}
