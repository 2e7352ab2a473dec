//! The items of an archive, in the form in which every reader returns them.

use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use wwwoffle_spool::Schedule;
use wwwoffle_url::{CanonicalUrl, LocalHost, SCHEMES};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::{RequestHead, ResponseHead};
use crate::refusal::{ReadFault, Reason};
use crate::report::FormerRequest;

/// One item of an archive.
pub(crate) struct ArchiveItem<'a> {
    /// The name in reports: the URL, or the name in the archive.
    pub(crate) name: String,
    pub(crate) what: ItemContent<'a>,
}

/// The contents of an item.
pub(crate) enum ItemContent<'a> {
    /// A response to a request.
    Exchange(Box<ArchivedExchange<'a>>),
    /// A queued request.
    QueuedRequest(Box<QueuedRequest>),
    /// A monitored request.
    Monitored {
        request: Box<QueuedRequest>,
        schedule: Schedule,
        /// When it was last queued; `None` if it is due.
        last_run: Option<Timestamp>,
    },
    /// A request that was sent long ago.
    FormerRequest(FormerRequest),
    /// An item that cannot be imported.
    Refused(Reason),
    /// A record that contains no page. It is skipped.
    Passed,
}

/// A response with its request.
pub(crate) struct ArchivedExchange<'a> {
    pub(crate) url: CanonicalUrl,
    /// When the response arrived.
    pub(crate) when: Timestamp,
    pub(crate) head: ResponseHead,
    /// The request. If the archive has none, a plain GET is assumed.
    pub(crate) request: Option<RequestHead>,
    /// Whether the response is personal.
    pub(crate) is_private: bool,
    pub(crate) body: ArchivedBody<'a>,
}

/// The body of a response, decoded from its transfer coding.
pub(crate) enum ArchivedBody<'a> {
    /// A stream that can be read once. An error may appear as late as at its end.
    Here(Box<dyn Read + 'a>),
    /// The body of a response that was imported before.
    Elsewhere(EarlierBody),
}

/// A reference to a body.
pub(crate) struct EarlierBody {
    /// The URLs to which the body may have been the response, the most likely first.
    pub(crate) urls: Vec<CanonicalUrl>,
    pub(crate) digest: Option<Digest>,
    /// Whether the archive contains the body.
    pub(crate) is_known: bool,
}

/// A request of an archive that waits to be sent.
pub(crate) struct QueuedRequest {
    pub(crate) url: CanonicalUrl,
    pub(crate) head: RequestHead,
    pub(crate) body: Vec<u8>,
    pub(crate) when: Timestamp,
    /// The URL of the page to which the request belongs.
    pub(crate) page: Option<String>,
    /// The decoded arguments of the recursive fetch that begins with the request, under the names
    /// that WWWOFFLE 2.9 used for them. `None` if the request starts no recursive fetch.
    pub(crate) recursion: Option<Vec<(String, String)>>,
}

/// A reader that returns the items of an archive in sequence, in bounded memory.
pub(crate) trait Source {
    /// The next item; `None` at the end. After an error there are no further items.
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>>;

    /// When the online sessions of the archive began, the latest first.
    fn sessions(&self) -> Vec<Timestamp> {
        Vec::new()
    }
}

impl<'a> ArchiveItem<'a> {
    pub(crate) fn refused(name: impl Into<String>, reason: impl Into<Reason>) -> Self {
        Self { name: name.into(), what: ItemContent::Refused(reason.into()) }
    }

    /// The refusal of an item that could not be read. A failure of the disk ends the archive.
    pub(crate) fn of_fault(
        name: impl Into<String>,
        fault: ReadFault,
        path: &Path,
    ) -> Result<Option<Self>> {
        match fault {
            ReadFault::Disk(error) => Err(Error::disk("read", path, error)),
            ReadFault::Archive(reason) => Ok(Some(Self::refused(name, reason))),
        }
    }

    pub(crate) fn passed(name: impl Into<String>) -> Self {
        Self { name: name.into(), what: ItemContent::Passed }
    }

    pub(crate) fn exchange(exchange: ArchivedExchange<'a>) -> Self {
        Self { name: exchange.url.to_string(), what: ItemContent::Exchange(Box::new(exchange)) }
    }
}

/// Parses a web URL.
pub(crate) fn url(text: &str, local: &LocalHost) -> Result<CanonicalUrl, Reason> {
    let url = CanonicalUrl::parse(text, local)
        .map_err(|error| Reason::from(format!("its URL is invalid: {error}")))?;
    if !SCHEMES.contains(&url.protocol()) || url.host().is_empty() {
        return Err("its URL is not a web address".into());
    }
    if url.is_local() {
        return Err("it is a page of the proxy".into());
    }
    Ok(url)
}
