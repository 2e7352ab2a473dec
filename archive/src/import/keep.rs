//! Stores a response.

use std::io::{self, Read};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{Entry, NewEntry, Place, ReplaceOutcome, VerifiedReader, Writer};
use wwwoffle_url::CanonicalUrl;

use super::own::stored_response;
use super::{Import, PersonalOwner};
use crate::error::{ItemFault, Result};
use crate::head::ResponseHead;
use crate::item::{ArchivedBody, ArchivedExchange};
use crate::merge::{self, ArchivedResponse, MergeVerdict};
use crate::refusal::Reason;

/// How many bytes of a body are read at once.
pub(super) const PIECE: usize = 64 << 10;

/// The number of attempts to store a response. An attempt fails if another response was stored at
/// the same place since the comparison.
const TRIES: usize = 5;

/// The destination of a body. It also computes the digest.
enum BodySink {
    Spool(Box<Writer>),
    /// The body is not stored.
    Nowhere(Sha256),
}

/// The properties by which two responses at one place are compared. The location is included,
/// because redirects often have no body.
#[derive(PartialEq, Eq)]
struct Fingerprint {
    status: u16,
    location: Option<Vec<u8>>,
    digest: [u8; 32],
}

impl Fingerprint {
    fn new(head: &ResponseHead, digest: [u8; 32]) -> Self {
        let location = head.fields.first("location").map(<[u8]>::to_vec);
        Self { status: head.status, location, digest }
    }

    fn of(entry: &Entry) -> Self {
        let head = ResponseHead::parse(entry.head());
        let head = head.unwrap_or_else(|_| ResponseHead::synthetic(entry.status(), ""));
        Self::new(&head, *entry.digest())
    }
}

impl BodySink {
    fn digest(&self) -> [u8; 32] {
        match self {
            Self::Spool(writer) => writer.digest(),
            Self::Nowhere(hasher) => hasher.clone().finalize().into(),
        }
    }
}

/// The destination of a response, relative to the stored ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// As the newest response of its place.
    Newest,
    /// As an older version.
    Older,
    /// Nowhere. The response is only counted.
    Nowhere,
}

/// A response whose body is complete.
struct CompleteResponse<'a> {
    new: ArchivedResponse,
    place: &'a Place,
    like: Fingerprint,
    length: u64,
}

impl Import<'_> {
    /// Stores a response. A response that is not stored because a stored one takes precedence is
    /// only counted.
    pub(super) fn store_response(
        &mut self,
        mut exchange: ArchivedExchange<'_>,
    ) -> Result<(), ItemFault> {
        let owner = self.owner(&mut exchange);
        let request = match &exchange.request {
            Some(request) => request.bytes(),
            None => plain_request(&exchange.url),
        };
        let head = exchange.head.bytes();
        let place = self.placing.place(&exchange.url, owner.as_deref(), &request, &head);
        let when = exchange.when.min(self.options.now);
        let new = ArchivedResponse { status: exchange.head.status, when };
        let kept = self.entry_at(&place)?;
        if self.destination(new, &place, kept.as_ref())? == Destination::Nowhere {
            return Ok(());
        }
        let request = match place.login() {
            Some(_) if !self.options.dry_run => self.placing.add_login(&exchange.url, request),
            _ => request,
        };
        let entry = NewEntry { asked: when, when, head, request, connection: None };
        let mut sink = self.sink(&place, entry)?;
        let length = self.body(exchange.body, place.owner(), &mut sink)?;
        let like = Fingerprint::new(&exchange.head, sink.digest());
        let come = CompleteResponse { new, place: &place, like, length };
        if self.finish(sink, &come)? {
            self.remove_answered(&exchange.url, when)?;
        }
        Ok(())
    }

    /// Determines where a response would be stored now, and counts it if it would not be stored.
    fn destination(
        &mut self,
        new: ArchivedResponse,
        place: &Place,
        kept: Option<&Entry>,
    ) -> Result<Destination, ItemFault> {
        Ok(match merge::decide(new, kept.map(stored_response), self.options.replace) {
            MergeVerdict::Newest if self.would_hide(new, place)? => Destination::Nowhere,
            MergeVerdict::Newest => Destination::Newest,
            MergeVerdict::Older if self.spool.versions_kept(place) > 0 => Destination::Older,
            MergeVerdict::Older => {
                self.count_outdated(new.when, kept);
                Destination::Nowhere
            }
            MergeVerdict::Worse => {
                self.report.worse += 1;
                Destination::Nowhere
            }
            MergeVerdict::Unfit(reason) => return Err(reason.into()),
        })
    }

    /// Copies the body of a response for `owner`, and returns its length.
    fn body(
        &mut self,
        body: ArchivedBody<'_>,
        owner: Option<&str>,
        sink: &mut BodySink,
    ) -> Result<u64, ItemFault> {
        match body {
            ArchivedBody::Here(body) => self.copy(body, sink),
            ArchivedBody::Elsewhere(refers) => match self.find_body(&refers, owner)? {
                Some(entry) => self.copy(EntryBody::of(&entry), sink),
                // In a dry run, the earlier items of the archive were not stored, so the body
                // cannot be found.
                None if self.options.dry_run && refers.is_known => Ok(0),
                None => Err(ItemFault::Refused("the body that it refers to is not stored".into())),
            },
        }
    }

    /// The owner of a response; `None` for everyone. Cookies are removed from a personal response
    /// that is stored for everyone.
    fn owner(&self, exchange: &mut ArchivedExchange<'_>) -> Option<String> {
        match &self.options.private {
            _ if !exchange.is_private => None,
            PersonalOwner::Owner(owner) => Some(owner.clone()),
            PersonalOwner::Everyone => {
                for name in ["set-cookie", "set-cookie2"] {
                    exchange.head.fields.remove(name);
                }
                None
            }
        }
    }

    fn sink(&self, place: &Place, new: NewEntry) -> Result<BodySink, ItemFault> {
        if self.options.dry_run {
            return Ok(BodySink::Nowhere(Sha256::new()));
        }
        let writer = self.spool.begin(place, new).map_err(ItemFault::of_spool)?;
        Ok(BodySink::Spool(Box::new(writer)))
    }

    /// Stores a complete response. While its body was copied, another response may have been stored
    /// at the same [`Place`]. So the response is compared again with the stored entry, and replaces
    /// only that entry. Returns whether the response is the newest at its place.
    fn finish(
        &mut self,
        mut sink: BodySink,
        come: &CompleteResponse<'_>,
    ) -> Result<bool, ItemFault> {
        for _ in 0..TRIES {
            let kept = self.entry_at(come.place)?;
            let is_newest = match self.destination(come.new, come.place, kept.as_ref())? {
                Destination::Newest => true,
                Destination::Older => false,
                Destination::Nowhere => return Ok(false),
            };
            let neighbours = match &kept {
                Some(kept) if is_newest => vec![Fingerprint::of(kept)],
                Some(kept) => self.neighbours(come.place, kept, come.new.when)?,
                None => Vec::new(),
            };
            if neighbours.contains(&come.like) {
                self.report.same += 1;
                return Ok(is_newest);
            }
            if !is_newest {
                self.finish_older(sink, come)?;
                return Ok(false);
            }
            let BodySink::Spool(mut writer) = sink else {
                self.count_stored(come);
                return Ok(true);
            };
            writer.set_stored(come.new.when, kept.as_ref());
            match writer.finish_over(kept.as_ref())? {
                ReplaceOutcome::Stored(_) => return Ok(self.after_stored(come)?),
                ReplaceOutcome::Overtaken(writer) => sink = BodySink::Spool(writer),
            }
        }
        // After [`TRIES`] changes, the stored response counts as newer.
        self.report.outdated += 1;
        Ok(false)
    }

    fn count_stored(&mut self, come: &CompleteResponse<'_>) {
        self.report.kept += 1;
        self.report.bytes += come.length;
    }

    /// Handles a response of another owner at the same URL, which may have been stored at the same
    /// time. If the new response is personal and hides a better shared one, removes the new
    /// response again. If the new response is shared, removes an older personal one. Returns
    /// whether the new response stays stored.
    fn after_stored(&mut self, come: &CompleteResponse<'_>) -> Result<bool> {
        if self.would_hide(come.new, come.place)? {
            let own = self.entry_at(come.place)?.filter(|own| Fingerprint::of(own) == come.like);
            if let Some(own) = own {
                self.spool.remove_seen(&own)?;
            }
            return Ok(false);
        }
        self.count_stored(come);
        self.supersede(come.new, come.place)?;
        Ok(true)
    }

    fn finish_older(&mut self, sink: BodySink, come: &CompleteResponse<'_>) -> Result<()> {
        let is_kept = match sink {
            BodySink::Spool(writer) => writer.finish_older(come.new.when)?.is_some(),
            BodySink::Nowhere(_) => self.spool.becomes_version(come.place, come.length),
        };
        self.report.older += u64::from(is_kept);
        self.report.outdated += u64::from(!is_kept);
        self.report.bytes += if is_kept { come.length } else { 0 };
        Ok(())
    }

    /// Counts a response that is older than the stored one. Such a response is not stored, because
    /// the spool stores no older versions.
    fn count_outdated(&mut self, when: Timestamp, kept: Option<&Entry>) {
        // If the stored entry has the same time, it is most likely this response from an earlier
        // import.
        let is_same = kept.is_some_and(|kept| kept.received() == when);
        self.report.same += u64::from(is_same);
        self.report.outdated += u64::from(!is_same);
    }

    /// The fingerprints of the responses just before and just after this time. `kept` is the newest
    /// response.
    fn neighbours(&self, place: &Place, kept: &Entry, when: Timestamp) -> Result<Vec<Fingerprint>> {
        let mut versions = self.spool.versions(place)?;
        versions.sort_by_key(|version| version.when);
        let behind = versions.partition_point(|version| version.when <= when);
        let near = [behind.checked_sub(1), Some(behind)].into_iter().flatten();
        let mut likes = Vec::new();
        for version in near.filter_map(|index| versions.get(index)) {
            let found = self.spool.version(place, version.stored)?.found();
            likes.extend(found.as_ref().map(Fingerprint::of));
        }
        if behind == versions.len() {
            likes.push(Fingerprint::of(kept));
        }
        Ok(likes)
    }

    /// Copies a body to its end, and returns its length.
    fn copy(&self, mut body: impl Read, sink: &mut BodySink) -> Result<u64, ItemFault> {
        let (mut length, mut piece) = (0_u64, vec![0; PIECE]);
        loop {
            let read = match body.read(&mut piece) {
                Ok(0) => return Ok(length),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ItemFault::of_read(self.spool.root(), error)),
            };
            length = length.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            if length > self.options.max_body {
                let most = self.options.max_body;
                let reason = format!("its body is longer than {most} bytes");
                return Err(ItemFault::Refused(reason.into()));
            }
            let bytes = piece.get(..read).unwrap_or_default();
            match sink {
                BodySink::Spool(writer) => writer.write(bytes)?,
                BodySink::Nowhere(hasher) => hasher.update(bytes),
            }
        }
    }
}

/// A stored body, verified and read sequentially.
pub(crate) struct EntryBody {
    body: VerifiedReader,
    offset: u64,
}

impl EntryBody {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self { body: entry.verified(), offset: 0 }
    }
}

impl Read for EntryBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read_at(self.offset, buffer);
        let read = read.map_err(|error| {
            io::Error::from(Reason::from(format!("its body cannot be read: {error}")))
        })?;
        self.offset = self.offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

/// The request that is assumed if the archive has none.
fn plain_request(url: &CanonicalUrl) -> Vec<u8> {
    let (target, host) = (url.path_and_arguments(), url.host_port());
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}
