//! WARC files: what their records say of exchanges.

pub(crate) mod join;
pub(crate) mod payload;
pub(crate) mod record;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_spool::MAX_REQUEST_BODY;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use std::io::Read as _;

use self::join::{Method, Request, Requests, of_digest, of_id};
use self::payload::{Digests, Payload};
use self::record::{Found, Header, Records};
use crate::error::{Error, Result};
use crate::expand::{self, Stream};
use crate::files::FileReader;
use crate::head::{self, AnswerHead, RequestHead};
use crate::item::{Body, Exchange, Item, Refers, Source, Waiting, What, url};
use crate::refusal::{Reason, Trouble, judge};

/// So many bytes of the URLs of bodies that others refer to are remembered.
const MAX_REFERRED: usize = 32 << 20;

/// A field of the requests of a bundle: why it waits.
pub(crate) const KIND: &str = "Wwwoffle-Kind";

/// A field of the requests of a bundle: the URL of the page that it is part of.
pub(crate) const PAGE: &str = "Wwwoffle-Page";

/// A field of ours: for whom alone it was kept.
const OWNER: &str = "Wwwoffle-Owner";

/// A field of ours: it is a part of an answer.
const PART: &str = "Wwwoffle-Part";

/// The records of one file.
pub(crate) struct Warc {
    path: PathBuf,
    /// What it is called where it is told that something is wrong with all of it.
    called: String,
    local: LocalHost,
    records: Records<Stream>,
    requests: Requests,
    /// The URLs of the bodies that are referred to, by what refers to them.
    referred: HashMap<u128, String>,
    referred_bytes: usize,
    /// What was looked at already.
    ahead: Option<std::io::Result<Found>>,
    is_done: bool,
}

impl Warc {
    /// Begins to read. `path` is what errors name.
    pub(crate) fn open(file: &FileReader, path: &Path, local: &LocalHost) -> Result<Self> {
        let opened = Self::within(file, path, "the archive", local)?;
        opened.map_err(|reason| Error::unknown(path, reason))
    }

    /// The same with a file that is part of another, in which it is called so; or why it is none.
    pub(crate) fn within(
        file: &FileReader,
        path: &Path,
        called: &str,
        local: &LocalHost,
    ) -> Result<Result<Self, Reason>> {
        let disk = |error| Error::disk("read", path, error);
        let open = || match expand::open(file) {
            Ok(stream) => Ok(Ok(stream)),
            Err(error) => match judge(error) {
                Trouble::Disk(error) => Err(disk(error)),
                Trouble::Archive(reason) => Ok(Err(reason)),
            },
        };
        let first = match open()? {
            Ok(first) => first,
            Err(reason) => return Ok(Err(reason)),
        };
        let requests = Requests::read(first).map_err(disk)?;
        let again = match open()? {
            Ok(again) => again,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(Ok(Self {
            path: path.to_owned(),
            called: called.to_owned(),
            local: local.clone(),
            records: Records::new(again),
            requests,
            referred: HashMap::new(),
            referred_bytes: 0,
            ahead: None,
            is_done: false,
        }))
    }

    /// Whether there is anything more. A damaged end is something.
    pub(crate) fn has_more(&mut self) -> bool {
        if self.ahead.is_none() && !self.is_done {
            self.ahead = Some(self.records.next());
        }
        !self.is_done && !matches!(self.ahead, Some(Ok(Found::End)))
    }

    /// Notes where a body is that others refer to.
    fn note(&mut self, header: &Header) {
        for name in self.requests.referred(header) {
            let url = header.target();
            self.referred_bytes += url.len() + 64;
            if self.referred_bytes <= MAX_REFERRED {
                self.referred.insert(name, url.to_owned());
            }
        }
    }

    fn record(&mut self, header: &Header) -> Result<What<'_>, Trouble> {
        match header.kind() {
            "response" => self.response(header),
            "resource" => self.resource(header),
            "revisit" => self.revisit(header),
            "request" if header.get(KIND).is_some() => self.waiting(header),
            "continuation" => Err(refuse("it is a piece of a record in several pieces")),
            _ => Ok(What::Passed),
        }
    }

    fn response(&mut self, header: &Header) -> Result<What<'_>, Trouble> {
        if header.content_type() != "application/http" {
            return Ok(What::Passed);
        }
        let about = About::of(header, &self.requests, &self.local)?;
        self.note(header);
        let digests = Digests::of(header).map_err(Trouble::Archive)?;
        let mut block = self.records.block();
        let head_bytes = head::read(&mut block).map_err(judge)?;
        let mut head = AnswerHead::parse(&head_bytes).map_err(Trouble::Archive)?;
        let body = Payload::of_answer(block, &head, &head_bytes, digests);
        if head.fields.has_word("transfer-encoding", "chunked") {
            head.fields.remove("content-length");
        }
        Ok(about.exchange(head, Body::Here(Box::new(body))))
    }

    fn resource(&mut self, header: &Header) -> Result<What<'_>, Trouble> {
        // Screenshots and extracted texts have other schemes.
        if !is_of_the_web(header.target()) {
            return Ok(What::Passed);
        }
        let about = About::of(header, &self.requests, &self.local)?;
        self.note(header);
        let digests = Digests::of(header).map_err(Trouble::Archive)?;
        let mut head = AnswerHead::made(200, "OK");
        let kind = header.get("Content-Type").unwrap_or("application/octet-stream");
        head.fields.push("Content-Type", kind.as_bytes()).map_err(Trouble::Archive)?;
        head.fields.set("Content-Length", &header.length.to_string());
        let body = Payload::of_resource(self.records.block(), digests);
        Ok(about.exchange(head, Body::Here(Box::new(body))))
    }

    fn revisit(&mut self, header: &Header) -> Result<What<'_>, Trouble> {
        let about = About::of(header, &self.requests, &self.local)?;
        let mut block = self.records.block();
        let head_bytes = head::read(&mut block).map_err(judge)?;
        let mut head = AnswerHead::parse(&head_bytes).map_err(Trouble::Archive)?;
        if head.status == 304 {
            return Err(refuse("it says only that nothing has changed"));
        }
        head.fields.remove("content-length");
        let digest = header.get("WARC-Payload-Digest");
        let by_id = header.get("WARC-Refers-To").and_then(|id| self.referred.get(&of_id(id)));
        let by_digest = digest.and_then(|digest| self.referred.get(&of_digest(digest)));
        let is_known = by_id.or(by_digest).is_some();
        let told = header.get("WARC-Refers-To-Target-URI").map(record::bare);
        let names = [by_id.map(String::as_str), told, by_digest.map(String::as_str)];
        let own = about.url.to_string();
        let mut urls: Vec<CanonicalUrl> = Vec::new();
        for name in names.into_iter().flatten().chain([own.as_str()]) {
            let url = url(name, &self.local).ok();
            urls.extend(url.filter(|url| !urls.contains(url)));
        }
        let digest = match digest.map(crate::digest::Digest::parse) {
            Some(parsed) => parsed.map_err(Trouble::Archive)?,
            None => None,
        };
        Ok(about.exchange(head, Body::Elsewhere(Refers { urls, digest, is_known })))
    }

    /// A request of a bundle.
    fn waiting(&mut self, header: &Header) -> Result<What<'_>, Trouble> {
        let target = url(header.target(), &self.local).map_err(Trouble::Archive)?;
        let when = header.date().map_err(Trouble::Archive)?;
        let mut block = self.records.block();
        let head = head::read(&mut block).map_err(judge)?;
        let head = RequestHead::parse(&head).map_err(Trouble::Archive)?;
        let most = u64::try_from(MAX_REQUEST_BODY).unwrap_or(u64::MAX);
        let mut body = Vec::new();
        block.take(most.saturating_add(1)).read_to_end(&mut body).map_err(judge)?;
        if body.len() > MAX_REQUEST_BODY {
            return Err(refuse("its body is longer than 16 MiB"));
        }
        let page = header.get(PAGE).map(str::to_owned);
        Ok(What::Waiting(Box::new(Waiting {
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
    fn next(&mut self) -> Result<Option<Item<'_>>> {
        if self.is_done {
            return Ok(None);
        }
        let path = self.path.clone();
        let ends = |error| match judge(error) {
            Trouble::Disk(error) => Err(Error::disk("read", &path, error)),
            Trouble::Archive(reason) => Ok(reason),
        };
        let found = self.ahead.take().unwrap_or_else(|| self.records.next());
        let header = match found {
            Ok(Found::Record(header)) => header,
            Ok(Found::End) => {
                self.is_done = true;
                return Ok(None);
            }
            Ok(Found::Rubbish(reason)) => return Ok(Some(Item::refused("a record", reason))),
            Err(error) => {
                self.is_done = true;
                let reason = format!("{}; nothing behind that is read", ends(error)?);
                return Ok(Some(Item::refused(self.called.clone(), reason)));
            }
        };
        let name = match header.target() {
            "" => header.kind().to_owned(),
            target => target.to_owned(),
        };
        match self.record(&header) {
            Ok(What::Passed) => Ok(Some(Item::passed(name))),
            Ok(what) => Ok(Some(Item { name, what })),
            Err(Trouble::Disk(error)) => Err(Error::disk("read", &path, error)),
            Err(Trouble::Archive(reason)) => Ok(Some(Item::refused(name, reason))),
        }
    }
}

/// What the header of a record says of an exchange.
struct About {
    url: CanonicalUrl,
    when: Timestamp,
    request: Option<RequestHead>,
    is_private: bool,
}

impl About {
    fn of(header: &Header, requests: &Requests, local: &LocalHost) -> Result<Self, Trouble> {
        if header.get("WARC-Truncated").is_some() || header.get(PART).is_some() {
            return Err(refuse("it was cut off when it was archived"));
        }
        if header.get("WARC-Segment-Number").is_some() {
            return Err(refuse("it is a record in several pieces"));
        }
        let url = url(header.target(), local).map_err(Trouble::Archive)?;
        let when = header.date().map_err(Trouble::Archive)?;
        let request = requests.of(header);
        let url = key(url, request).map_err(Trouble::Archive)?;
        let is_private = header.get(OWNER).is_some()
            || url.user().is_some()
            || request.map_or(requests.are_more, |request| {
                request.is_private || request.method != Method::Get
            });
        let request = request.and_then(Request::head);
        Ok(Self { url, when, request, is_private })
    }

    fn exchange(self, head: AnswerHead, body: Body<'_>) -> What<'_> {
        let is_private = self.is_private || head.is_private();
        let Self { url, when, request, .. } = self;
        What::Exchange(Box::new(Exchange { url, when, head, request, is_private, body }))
    }
}

/// The URL that an answer is kept under, by how it was asked for.
fn key(url: CanonicalUrl, request: Option<&Request>) -> Result<CanonicalUrl, Reason> {
    // Ours say so themselves.
    let Some(request) = request.filter(|_| !url.is_form_answer()) else { return Ok(url) };
    match (request.method, request.body) {
        (Method::Get, _) => Ok(url),
        (Method::Post, Some(body)) => Ok(url.with_post(&body)),
        (Method::Post, None) => {
            Err("it answers a form, and the archive has not what was sent".into())
        }
        (Method::Head, _) => Err("only its head was asked for".into()),
        (Method::Other, _) => Err("it answers a request that is no GET".into()),
    }
}

fn is_of_the_web(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    ["http", "https", "ftp"].contains(&scheme.as_str())
}

fn refuse(reason: &'static str) -> Trouble {
    Trouble::Archive(reason.into())
}
