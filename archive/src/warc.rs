//! Reads exchanges from the records of WARC files.

pub(crate) mod join;
pub(crate) mod payload;
pub(crate) mod record;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_spool::MAX_REQUEST_BODY;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use std::io::Read as _;

use self::join::{Method, RememberedRequest, Requests, of_digest, of_id};
use self::payload::{Digests, Payload};
use self::record::{NextRecord, Records, WarcHeader};
use crate::error::{Error, ItemFault, Result};
use crate::expand::{self, Stream};
use crate::files::FileReader;
use crate::head::{self, RequestHead, ResponseHead};
use crate::item::{
    ArchiveItem, ArchivedBody, ArchivedExchange, EarlierBody, ItemContent, QueuedRequest, Source,
    url,
};
use crate::refusal::{ReadFault, Reason, classify_error};

/// The maximum total length of remembered URLs of referenced bodies, in bytes.
const MAX_REFERRED: usize = 32 << 20;

/// The field that marks a queued request in a bundle. Its value is `page`, or `part` for a
/// sub-resource of a page.
pub(crate) const KIND: &str = "Wwwoffle-Kind";

/// The field of a queued request in a bundle that has the URL of the page to which the request
/// belongs.
pub(crate) const PAGE: &str = "Wwwoffle-Page";

/// Our field that marks personal responses.
const OWNER: &str = "Wwwoffle-Owner";

/// Our field that marks partial responses.
const PART: &str = "Wwwoffle-Part";

/// The reader of one file.
pub(crate) struct Warc {
    path: PathBuf,
    /// The name of the file in reports.
    called: String,
    local: LocalHost,
    records: Records<Stream>,
    requests: Requests,
    /// The URLs of referenced bodies, by the hash of the reference.
    referred: HashMap<u128, String>,
    referred_bytes: usize,
    /// A record that was read ahead.
    ahead: Option<std::io::Result<NextRecord>>,
    is_done: bool,
}

impl Warc {
    /// Opens a file. `path` is named in errors.
    pub(crate) fn open(file: &FileReader, path: &Path, local: &LocalHost) -> Result<Self> {
        let opened = Self::within(file, path, "the archive", local);
        opened.map_err(|fault| fault.into_unknown(path))
    }

    /// Opens a file with the name `called` that is inside another file.
    pub(crate) fn within(
        file: &FileReader,
        path: &Path,
        called: &str,
        local: &LocalHost,
    ) -> Result<Self, ItemFault> {
        let open = || expand::open(file).map_err(|error| ItemFault::of_read(path, error));
        let requests = Requests::read(open()?);
        let requests = requests.map_err(|error| Error::disk("read", path, error))?;
        Ok(Self {
            path: path.to_owned(),
            called: called.to_owned(),
            local: local.clone(),
            records: Records::new(open()?),
            requests,
            referred: HashMap::new(),
            referred_bytes: 0,
            ahead: None,
            is_done: false,
        })
    }

    /// Whether there is another record. A damaged rest counts as a record.
    pub(crate) fn has_more(&mut self) -> bool {
        if self.ahead.is_none() && !self.is_done {
            self.ahead = Some(self.records.next());
        }
        !self.is_done && !matches!(self.ahead, Some(Ok(NextRecord::End)))
    }

    /// Remembers the URL of a body, if other records refer to the body.
    fn note(&mut self, header: &WarcHeader) {
        for name in self.requests.referred(header) {
            let url = header.target();
            self.referred_bytes += url.len() + 64;
            if self.referred_bytes <= MAX_REFERRED {
                self.referred.insert(name, url.to_owned());
            }
        }
    }

    fn record(&mut self, header: &WarcHeader) -> Result<ItemContent<'_>, ReadFault> {
        match header.record_type() {
            "response" => self.response(header),
            "resource" => self.resource(header),
            "revisit" => self.revisit(header),
            "request" if header.get(KIND).is_some() => self.waiting(header),
            "continuation" => Err("it is a segment of a segmented record".into()),
            _ => Ok(ItemContent::Passed),
        }
    }

    fn response(&mut self, header: &WarcHeader) -> Result<ItemContent<'_>, ReadFault> {
        if header.content_type() != "application/http" {
            return Ok(ItemContent::Passed);
        }
        let about = ExchangeFacts::of(header, &self.requests, &self.local)?;
        self.note(header);
        let digests = Digests::of(header)?;
        let mut block = self.records.block();
        let head_bytes = head::read(&mut block).map_err(classify_error)?;
        let mut head = ResponseHead::parse(&head_bytes)?;
        let body = Payload::of_answer(block, &head, &head_bytes, digests);
        if head.fields.has_word("transfer-encoding", "chunked") {
            head.fields.remove("content-length");
        }
        Ok(about.exchange(head, ArchivedBody::Here(Box::new(body))))
    }

    fn resource(&mut self, header: &WarcHeader) -> Result<ItemContent<'_>, ReadFault> {
        // Records of screenshots and extracted texts have other schemes.
        if !is_of_the_web(header.target()) {
            return Ok(ItemContent::Passed);
        }
        let about = ExchangeFacts::of(header, &self.requests, &self.local)?;
        self.note(header);
        let digests = Digests::of(header)?;
        let mut head = ResponseHead::synthetic(200, "OK");
        let kind = header.get("Content-Type").unwrap_or("application/octet-stream");
        head.fields.push("Content-Type", kind.as_bytes())?;
        head.fields.set("Content-Length", &header.length.to_string());
        let body = Payload::of_resource(self.records.block(), digests);
        Ok(about.exchange(head, ArchivedBody::Here(Box::new(body))))
    }

    fn revisit(&mut self, header: &WarcHeader) -> Result<ItemContent<'_>, ReadFault> {
        let about = ExchangeFacts::of(header, &self.requests, &self.local)?;
        let mut block = self.records.block();
        let head_bytes = head::read(&mut block).map_err(classify_error)?;
        let mut head = ResponseHead::parse(&head_bytes)?;
        if head.status == 304 {
            return Err("it only says that nothing has changed".into());
        }
        head.fields.remove("content-length");
        let digest = header.get("WARC-Payload-Digest");
        let by_id = header.get("WARC-Refers-To").and_then(|id| self.referred.get(&of_id(id)));
        let by_digest = digest.and_then(|digest| self.referred.get(&of_digest(digest)));
        let is_known = by_id.or(by_digest).is_some();
        let target = header.get("WARC-Refers-To-Target-URI").map(record::bare);
        let names = [by_id.map(String::as_str), target, by_digest.map(String::as_str)];
        let own = about.url.to_string();
        let mut urls: Vec<CanonicalUrl> = Vec::new();
        for name in names.into_iter().flatten().chain([own.as_str()]) {
            let url = url(name, &self.local).ok();
            urls.extend(url.filter(|url| !urls.contains(url)));
        }
        let digest = digest.map(crate::digest::Digest::parse).transpose()?.flatten();
        Ok(about.exchange(head, ArchivedBody::Elsewhere(EarlierBody { urls, digest, is_known })))
    }

    /// Reads a queued request of a bundle.
    fn waiting(&mut self, header: &WarcHeader) -> Result<ItemContent<'_>, ReadFault> {
        let target = url(header.target(), &self.local)?;
        let when = header.date()?;
        let mut block = self.records.block();
        let head = head::read(&mut block).map_err(classify_error)?;
        let head = RequestHead::parse(&head)?;
        let most = u64::try_from(MAX_REQUEST_BODY).unwrap_or(u64::MAX);
        let mut body = Vec::new();
        block.take(most.saturating_add(1)).read_to_end(&mut body).map_err(classify_error)?;
        if body.len() > MAX_REQUEST_BODY {
            return Err("its body is longer than 16 MiB".into());
        }
        let page = header.get(PAGE).map(str::to_owned);
        Ok(ItemContent::QueuedRequest(Box::new(QueuedRequest {
            url: target,
            head,
            body,
            when,
            page,
            recursion: None,
        })))
    }
}

impl Source for Warc {
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        if self.is_done {
            return Ok(None);
        }
        let path = self.path.clone();
        let ends = |error| match classify_error(error) {
            ReadFault::Disk(error) => Err(Error::disk("read", &path, error)),
            ReadFault::Archive(reason) => Ok(reason),
        };
        let found = self.ahead.take().unwrap_or_else(|| self.records.next());
        let header = match found {
            Ok(NextRecord::Record(header)) => header,
            Ok(NextRecord::End) => {
                self.is_done = true;
                return Ok(None);
            }
            Ok(NextRecord::Rubbish(reason)) => {
                return Ok(Some(ArchiveItem::refused("a record", reason)));
            }
            Err(error) => {
                self.is_done = true;
                let reason = format!("{}; the rest of the archive was not read", ends(error)?);
                return Ok(Some(ArchiveItem::refused(self.called.clone(), reason)));
            }
        };
        let name = match header.target() {
            "" => header.record_type().to_owned(),
            target => target.to_owned(),
        };
        match self.record(&header) {
            Ok(ItemContent::Passed) => Ok(Some(ArchiveItem::passed(name))),
            Ok(what) => Ok(Some(ArchiveItem { name, what })),
            Err(fault) => ArchiveItem::of_fault(name, fault, &path),
        }
    }
}

/// Properties of an exchange from its record header.
struct ExchangeFacts {
    url: CanonicalUrl,
    when: Timestamp,
    request: Option<RequestHead>,
    is_private: bool,
}

impl ExchangeFacts {
    fn of(header: &WarcHeader, requests: &Requests, local: &LocalHost) -> Result<Self, ReadFault> {
        if header.get("WARC-Truncated").is_some() || header.get(PART).is_some() {
            return Err("it was truncated when it was archived".into());
        }
        if header.get("WARC-Segment-Number").is_some() {
            return Err("it is a segmented record".into());
        }
        let url = url(header.target(), local)?;
        let when = header.date()?;
        let request = requests.of(header);
        let url = key(url, request)?;
        let is_private = header.get(OWNER).is_some()
            || url.user().is_some()
            || request.map_or(requests.are_more, |request| {
                request.is_private || request.method != Method::Get
            });
        let request = request.and_then(RememberedRequest::head);
        Ok(Self { url, when, request, is_private })
    }

    fn exchange(self, head: ResponseHead, body: ArchivedBody<'_>) -> ItemContent<'_> {
        let is_private = self.is_private || head.is_private();
        let Self { url, when, request, .. } = self;
        ItemContent::Exchange(Box::new(ArchivedExchange {
            url,
            when,
            head,
            request,
            is_private,
            body,
        }))
    }
}

/// The URL under which a response is stored, given its request.
fn key(url: CanonicalUrl, request: Option<&RememberedRequest>) -> Result<CanonicalUrl, Reason> {
    // In archives that we wrote, the URL already contains the digest of the form.
    let Some(request) = request.filter(|_| !url.is_form_answer()) else { return Ok(url) };
    match (request.method, request.body) {
        (Method::Get, _) => Ok(url),
        (Method::Post, Some(body)) => Ok(url.with_post(&body)),
        (Method::Post, None) => {
            Err("it answers a form whose contents are not in the archive".into())
        }
        (Method::Head, _) => Err("it answers a HEAD request".into()),
        (Method::Other, _) => Err("its request is neither a GET nor a POST".into()),
    }
}

fn is_of_the_web(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    ["http", "https", "ftp"].contains(&scheme.as_str())
}
