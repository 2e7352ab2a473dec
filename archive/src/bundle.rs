//! Bundles: requests that travel to where there is a line, and come back with their answers.
//!
//! A bundle is a WARC whose `request` records that wait say why they do ([`KIND`]). Secrets never travel: a
//! request with a cookie or a login stays at home, and so does every form, in which people write passwords.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use wwwoffle_spool::{
    Key, MAX_QUEUE, Place, Reader, RequestKind, RequestState, Secrets, Timestamp,
};
use wwwoffle_url::LocalHost;

use crate::aside::Aside;
use crate::detect;
use crate::error::{Error, Result};
use crate::export::{ExportOptions, Exported, Warcs, each};
use crate::item::{Waiting, What};

/// The most memory that the requests of a bundle take, in bytes.
const MAX_REQUESTS: usize = 256 << 20;

/// The requests of a bundle.
#[derive(Default)]
pub struct Bundle {
    requests: Vec<Waiting>,
    /// Those that stay at home.
    kept_back: u64,
    /// What it has answers to already: those of an earlier run.
    had: HashSet<Key>,
}

/// What of a spool goes into a bundle.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// All: it was made for this bundle.
    All,
    /// What is everyone's, and was asked for, was in the bundle or has come since then: others have their
    /// pages there too.
    Since(Timestamp),
}

impl Bundle {
    /// What waits in a spool and may travel: pages and their parts, everyone's or of whoever sits at the
    /// machine, without secrets.
    ///
    /// # Errors
    ///
    /// When the spool cannot be read.
    pub fn of_queue(reader: &Reader, local: &LocalHost) -> Result<Self> {
        let mut bundle = Self::default();
        for summary in reader.queue()? {
            let waits = summary.state == RequestState::Waiting;
            let is_page = summary.method == "GET" && summary.kind != RequestKind::Post;
            let is_everyones = summary.place.owner().is_none();
            let url = crate::item::url(summary.place.url(), local).ok();
            // With credentials in its URL the key is another.
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
                    let (when, page) = (request.queued, request.page);
                    bundle.requests.push(Waiting {
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

    /// The requests of a bundle that are not answered in it.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown`] for what is no archive, or one with more requests than there is room for; or
    /// when the disk fails.
    pub fn read(path: &Path, local: &LocalHost) -> Result<Self> {
        let mut archive = detect::open(path, "https", local)?;
        let (mut bundle, mut known) = (Self::default(), HashSet::<Key>::new());
        let mut answered = HashSet::<Key>::new();
        let mut size = 0_usize;
        while let Some(item) = archive.source.next()? {
            match item.what {
                // A form does not travel, whoever has put it in.
                What::Waiting(waiting)
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
                What::Exchange(exchange) if answered.len() < MAX_QUEUE => {
                    answered.insert(Place::of(&exchange.url).key());
                }
                _ => {}
            }
        }
        bundle.requests.retain(|one| !answered.contains(&Place::of(&one.url).key()));
        bundle.had = answered;
        Ok(bundle)
    }

    /// How many requests it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How many requests stay at home, for they have secrets or are forms, or have failed.
    #[must_use]
    pub fn kept_back(&self) -> u64 {
        self.kept_back
    }

    /// Writes what `of` says of a spool, and the requests that it has no answer to. Returns how many those
    /// are.
    ///
    /// # Errors
    ///
    /// When the spool cannot be read, or the file not be written.
    pub fn fill(
        &self,
        reader: &Reader,
        path: &Path,
        options: &ExportOptions,
        of: Of,
    ) -> Result<(Exported, usize)> {
        let asked: HashSet<&str> = self.requests.iter().map(|one| one.url.as_str()).collect();
        let mut places = Vec::new();
        for summary in reader.list(None, None)? {
            let summary = summary?;
            let is_meant = match of {
                Of::All => true,
                Of::Since(begun) => {
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
        let open = |one: &&Waiting| !answered.contains(one.url.as_str());
        let unanswered: Vec<&Waiting> = self.requests.iter().filter(open).collect();
        let exported = write(reader, places, &unanswered, path, options)?;
        Ok((exported, unanswered.len()))
    }

    /// Writes the requests alone.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write(&self, reader: &Reader, path: &Path, options: &ExportOptions) -> Result<()> {
        let requests: Vec<&Waiting> = self.requests.iter().collect();
        write(reader, Vec::new(), &requests, path, options).map(|_| ())
    }
}

fn write(
    reader: &Reader,
    places: Vec<Place>,
    requests: &[&Waiting],
    path: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    let fail = |error| Error::disk("write", path, error);
    let mut out = io::BufWriter::new(Aside::begin(path).map_err(fail)?);
    let mut exported = Exported::default();
    {
        let mut warcs = Warcs::begin(&mut out, options).map_err(fail)?;
        for one in requests {
            warcs.waiting(one).map_err(fail)?;
        }
        let mut places = places.into_iter().map(Ok);
        each((reader, false), &mut places, &mut exported, &mut |entry| {
            warcs.add(entry).map(|_| ()).map_err(fail)
        })?;
    }
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.finish().map_err(fail)?;
    Ok(exported)
}
