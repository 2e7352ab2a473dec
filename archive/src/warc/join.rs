//! First pass over an archive: its requests, and the bodies to which other records refer.
//!
//! A request may be anywhere in an archive and determines the owner of its response. So a first
//! pass reads only the requests, and remembers only a few properties of each. If there are too many
//! requests, a response whose request is not remembered counts as personal.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};

use sha2::{Digest as _, Sha256};

use super::record::{NextRecord, Records, WarcHeader, bare};
use crate::head::{self, RequestHead};
use crate::refusal::{ReadFault, classify_error};

/// How many requests of an archive are remembered.
const MAX_REQUESTS: usize = 400_000;

/// How many bytes of request heads are remembered, without their secret fields.
const MAX_HEADS: usize = 24 << 20;

/// How many referenced bodies are remembered.
const MAX_REFERS: usize = 400_000;

/// The maximum length of a form body whose digest is computed, in bytes.
const MAX_FORM: u64 = 64 << 20;

/// The requests of an archive.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    known: Vec<RememberedRequest>,
    by: HashMap<u128, usize>,
    heads: usize,
    /// Whether the archive may contain requests that are not remembered.
    pub(crate) are_more: bool,
    /// The records to which revisits refer, by id and by digest.
    referred: HashSet<u128>,
}

/// The remembered properties of a request.
#[derive(Clone, Debug)]
pub(crate) struct RememberedRequest {
    pub(crate) method: Method,
    pub(crate) is_private: bool,
    /// The digest of a form body. Without it, the key of the response to the form is unknown.
    pub(crate) body: Option<[u8; 32]>,
    /// The head without secrets, unless the limit was reached.
    head: Option<Box<[u8]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    Other,
}

impl Requests {
    /// Reads all records. A fault of the archive is not returned, because the second pass reports
    /// it.
    pub(crate) fn read(input: impl BufRead) -> io::Result<Self> {
        let mut requests = Self::default();
        match requests.read_all(Records::new(input)).map_err(classify_error) {
            Ok(()) => Ok(requests),
            // The second pass also stops at the damage and reports it. Requests after the damage
            // are unknown.
            Err(ReadFault::Archive(_)) => Ok(Self { are_more: true, ..requests }),
            Err(ReadFault::Disk(error)) => Err(error),
        }
    }

    fn read_all<R: BufRead>(&mut self, mut records: Records<R>) -> io::Result<()> {
        loop {
            match records.next()? {
                NextRecord::End => return Ok(()),
                NextRecord::Rubbish(_) => {}
                NextRecord::Record(header) => match header.record_type() {
                    "request" => self.record_request(&header, &mut records)?,
                    "revisit" => self.refer(&header),
                    _ => {}
                },
            }
        }
    }

    fn record_request<R: BufRead>(
        &mut self,
        header: &WarcHeader,
        records: &mut Records<R>,
    ) -> io::Result<()> {
        if self.known.len() >= MAX_REQUESTS {
            self.are_more = true;
            return Ok(());
        }
        let mut block = records.block();
        let head = head::read(&mut block).ok();
        let Some(head) = head.and_then(|head| RequestHead::parse(&head).ok()) else {
            // Whether a request with an invalid head had secrets is unknown, so it counts as
            // personal.
            let (method, is_private) = (Method::Get, true);
            self.add(header, RememberedRequest { method, is_private, body: None, head: None });
            return Ok(());
        };
        let method = match head.method.as_str() {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            _ => Method::Other,
        };
        let mut hasher = Sha256::new();
        let mut form = block.take(MAX_FORM);
        let (mut length, mut piece) = (0_u64, [0; 8 << 10]);
        loop {
            let read = form.read(&mut piece)?;
            if read == 0 {
                break;
            }
            hasher.update(piece.get(..read).unwrap_or_default());
            length = length.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        }
        let is_whole = length > 0 && length < MAX_FORM;
        let body = (method == Method::Post && is_whole).then(|| hasher.finalize().into());
        let is_private = head.is_private();
        let head = head.bytes().into_boxed_slice();
        let has_room = self.heads + head.len() <= MAX_HEADS;
        self.heads += if has_room { head.len() } else { 0 };
        self.add(
            header,
            RememberedRequest { method, is_private, body, head: has_room.then_some(head) },
        );
        Ok(())
    }

    /// Remembers a request under each of its identifiers.
    fn add(&mut self, header: &WarcHeader, request: RememberedRequest) {
        let index = self.known.len();
        self.known.push(request);
        for id in header.all("WARC-Record-ID").chain(header.all("WARC-Concurrent-To")).take(8) {
            self.by.insert(of_id(id), index);
        }
        if let Some(date) = header.get("WARC-Date") {
            self.by.entry(of_moment(header.target(), date)).or_insert(index);
        }
    }

    fn refer(&mut self, header: &WarcHeader) {
        if self.referred.len() < MAX_REFERS {
            self.referred.extend(header.get("WARC-Refers-To").map(of_id));
            self.referred.extend(header.get("WARC-Payload-Digest").map(of_digest));
        }
    }

    /// The request for which a record is the response, if it is remembered.
    pub(crate) fn of(&self, header: &WarcHeader) -> Option<&RememberedRequest> {
        let ids = header.all("WARC-Concurrent-To").chain(header.all("WARC-Record-ID"));
        let moment = header.get("WARC-Date").map(|date| of_moment(header.target(), date));
        let mut names = ids.take(8).map(of_id).chain(moment);
        names.find_map(|name| self.known.get(*self.by.get(&name)?))
    }

    /// The hashes of the references that other records make to this record.
    pub(crate) fn referred(&self, header: &WarcHeader) -> Vec<u128> {
        names(header).filter(|name| self.referred.contains(name)).collect()
    }
}

impl RememberedRequest {
    /// The request head without secrets, if it is remembered.
    pub(crate) fn head(&self) -> Option<RequestHead> {
        RequestHead::parse(self.head.as_deref()?).ok()
    }
}

/// The hashes of all references that could name this record.
fn names(header: &WarcHeader) -> impl Iterator<Item = u128> {
    let id = header.get("WARC-Record-ID").map(of_id);
    id.into_iter().chain(header.get("WARC-Payload-Digest").map(of_digest))
}

pub(crate) fn of_id(id: &str) -> u128 {
    short(&[b"id ", bare(id).as_bytes()])
}

pub(crate) fn of_digest(digest: &str) -> u128 {
    short(&[b"digest ", digest.trim().as_bytes()])
}

fn of_moment(url: &str, date: &str) -> u128 {
    short(&[b"moment ", url.as_bytes(), b" ", date.as_bytes()])
}

/// The hash of a reference, in 16 bytes. Accidental collisions do not occur in practice. Deliberate
/// collisions only affect the archive that contains them.
fn short(pieces: &[&[u8]]) -> u128 {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    digest.first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests have sixty megabytes of cookies in all, which must not be stored in memory.
    #[test]
    #[ignore = "slow"]
    fn remembered_requests_have_no_secrets() {
        let head = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nCookie: {}\r\nTE: trailers\r\n\r\n",
            "a".repeat(60 << 10)
        );
        let record = format!(
            "WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:x:1>\r\nContent-Length: {}\r\n\r\n\
             {head}\r\n\r\n",
            head.len()
        );
        let requests = Requests::read(record.repeat(1_000).as_bytes()).unwrap();
        let kept = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!((requests.known.len(), requests.heads), (1_000, 1_000 * kept.len()));
        for request in &requests.known {
            assert!(request.is_private);
            assert_eq!(request.head.as_deref(), Some(&kept[..]));
            assert_eq!(request.head().unwrap().bytes(), kept);
        }
    }
}
