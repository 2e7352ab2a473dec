//! Keeping an answer.

use std::io::{self, Read};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{Entry, NewEntry, Place, Verified, Writer};
use wwwoffle_url::CanonicalUrl;

use super::own::known;
use super::{Import, Private};
use crate::error::{Error, Result};
use crate::head::AnswerHead;
use crate::item::{Body, Exchange};
use crate::merge::{self, New, Verdict};
use crate::refusal::{Reason, Trouble, judge};

/// Bytes of a body that are read at once.
pub(super) const PIECE: usize = 64 << 10;

/// Where a body goes.
enum Sink {
    Spool(Box<Writer>),
    /// It is only looked at.
    Nowhere(Sha256),
}

/// What two answers of one place have alike if they are the same. An answer that leads elsewhere has no body
/// to speak of.
#[derive(PartialEq, Eq)]
struct Likeness {
    status: u16,
    location: Option<Vec<u8>>,
    digest: [u8; 32],
}

impl Likeness {
    fn new(head: &AnswerHead, digest: [u8; 32]) -> Self {
        let location = head.fields.first("location").map(<[u8]>::to_vec);
        Self { status: head.status, location, digest }
    }

    fn of(entry: &Entry) -> Self {
        let head = AnswerHead::parse(entry.head());
        let head = head.unwrap_or_else(|_| AnswerHead::made(entry.status(), ""));
        Self::new(&head, *entry.digest())
    }
}

impl Sink {
    fn digest(&self) -> [u8; 32] {
        match self {
            Self::Spool(writer) => writer.digest(),
            Self::Nowhere(hasher) => hasher.clone().finalize().into(),
        }
    }
}

impl Import<'_> {
    /// Keeps an answer, or says why not.
    pub(super) fn keep(&mut self, mut exchange: Exchange<'_>) -> Result<Result<(), Reason>> {
        let owner = self.owner(&mut exchange);
        let request = match &exchange.request {
            Some(request) => request.bytes(),
            None => plain_request(&exchange.url),
        };
        let head = exchange.head.bytes();
        let place = self.placing.place(&exchange.url, owner.as_deref(), &request, &head);
        let when = exchange.when.min(self.options.now);
        let kept = self.at(&place)?;
        let new = New { status: exchange.head.status, when };
        let known = kept.as_ref().map(known);
        let is_newest = match merge::judge(new, known, self.options.replace) {
            Verdict::Newest if self.would_hide(new, &place)? => return Ok(Ok(())),
            Verdict::Newest => true,
            Verdict::Older if self.spool.versions_kept(&place) > 0 => false,
            Verdict::Older => {
                self.outdated(when, kept.as_ref());
                return Ok(Ok(()));
            }
            Verdict::Worse => {
                self.report.worse += 1;
                return Ok(Ok(()));
            }
            Verdict::Unfit(reason) => return Ok(Err(reason)),
        };
        let neighbours = match &kept {
            Some(kept) if is_newest => vec![Likeness::of(kept)],
            Some(kept) => self.neighbours(&place, kept, when)?,
            None => Vec::new(),
        };
        let mut sink = match self
            .sink(&place, NewEntry { asked: when, when, head, request, connection: None })?
        {
            Ok(sink) => sink,
            Err(reason) => return Ok(Err(reason)),
        };
        let length = self.body(exchange.body, place.owner(), &mut sink)?;
        let kept_before = self.report.kept;
        match length {
            Ok(length) => {
                let like = Likeness::new(&exchange.head, sink.digest());
                let is_same = neighbours.contains(&like);
                self.finish(sink, length, is_newest, is_same, when)?;
            }
            Err(reason) => return Ok(Err(reason)),
        }
        if self.report.kept > kept_before {
            self.supersede(new, &place)?;
        }
        if is_newest {
            self.answers(&exchange.url, when)?;
        }
        Ok(Ok(()))
    }

    /// Copies the body of an answer that is for `owner`; or says what is wrong with it.
    fn body(
        &mut self,
        body: Body<'_>,
        owner: Option<&str>,
        sink: &mut Sink,
    ) -> Result<Result<u64, Reason>> {
        match body {
            Body::Here(body) => self.copy(body, sink),
            Body::Elsewhere(refers) => match self.find(&refers, owner)? {
                Ok(Some(entry)) => self.copy(EntryBody::of(&entry), sink),
                Err(reason) => Ok(Err(reason)),
                // Dry, the archive itself has not been taken.
                Ok(None) if self.options.dry_run && refers.is_known => Ok(Ok(0)),
                Ok(None) => Ok(Err("the body that it refers to is not here".into())),
            },
        }
    }

    /// Whose an answer is to be. What is everyone's has no cookies.
    fn owner(&self, exchange: &mut Exchange<'_>) -> Option<String> {
        match &self.options.private {
            _ if !exchange.is_private => None,
            Private::Owner(owner) => Some(owner.clone()),
            Private::Everyone => {
                for name in ["set-cookie", "set-cookie2"] {
                    exchange.head.fields.remove(name);
                }
                None
            }
        }
    }

    fn sink(&self, place: &Place, new: NewEntry) -> Result<Result<Sink, Reason>> {
        if self.options.dry_run {
            return Ok(Ok(Sink::Nowhere(Sha256::new())));
        }
        match self.spool.begin(place, new) {
            Ok(writer) => Ok(Ok(Sink::Spool(Box::new(writer)))),
            Err(error) if error.is_invalid() || error.is_too_large() => {
                Ok(Err(error.to_string().into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn finish(
        &mut self,
        sink: Sink,
        length: u64,
        is_newest: bool,
        is_same: bool,
        when: Timestamp,
    ) -> Result<()> {
        if is_same {
            self.report.same += 1;
        } else if is_newest {
            if let Sink::Spool(writer) = sink {
                writer.finish(None)?;
            }
            self.report.kept += 1;
            self.report.bytes += length;
        } else {
            let is_kept = match sink {
                Sink::Spool(writer) => writer.finish_older(when)?.is_some(),
                Sink::Nowhere(_) => true,
            };
            self.report.older += u64::from(is_kept);
            self.report.outdated += u64::from(!is_kept);
            self.report.bytes += if is_kept { length } else { 0 };
        }
        Ok(())
    }

    /// It is older than what is kept, and older versions are not.
    fn outdated(&mut self, when: Timestamp, kept: Option<&Entry>) {
        // What was kept of the same moment is this one, most likely, of an import before.
        let is_same = kept.is_some_and(|kept| kept.when() == when);
        self.report.same += u64::from(is_same);
        self.report.outdated += u64::from(!is_same);
    }

    /// The versions that came just before and just after.
    fn neighbours(&self, place: &Place, kept: &Entry, when: Timestamp) -> Result<Vec<Likeness>> {
        let mut versions = self.spool.versions(place)?;
        versions.sort_by_key(|version| version.when);
        let behind = versions.partition_point(|version| version.when <= when);
        let near = [behind.checked_sub(1), Some(behind)].into_iter().flatten();
        let mut likes = Vec::new();
        for version in near.filter_map(|index| versions.get(index)) {
            let found = self.spool.version(place, version.stored)?.found();
            likes.extend(found.as_ref().map(Likeness::of));
        }
        if behind == versions.len() {
            likes.push(Likeness::of(kept));
        }
        Ok(likes)
    }

    /// Copies a body to its end; or says what is wrong with it.
    fn copy(&self, mut body: impl Read, sink: &mut Sink) -> Result<Result<u64, Reason>> {
        let (mut length, mut piece) = (0_u64, vec![0; PIECE]);
        loop {
            let read = match body.read(&mut piece) {
                Ok(0) => return Ok(Ok(length)),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => match judge(error) {
                    Trouble::Archive(reason) => return Ok(Err(reason)),
                    Trouble::Disk(error) => {
                        return Err(Error::disk("read", self.spool.root(), error));
                    }
                },
            };
            length = length.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            if length > self.options.max_body {
                let most = self.options.max_body;
                return Ok(Err(format!("its body is longer than {most} bytes").into()));
            }
            let bytes = piece.get(..read).unwrap_or_default();
            match sink {
                Sink::Spool(writer) => writer.write(bytes)?,
                Sink::Nowhere(hasher) => hasher.update(bytes),
            }
        }
    }
}

/// A kept body, read from its beginning to its end.
pub(crate) struct EntryBody {
    body: Verified,
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

/// What was asked, where the archive does not tell.
fn plain_request(url: &CanonicalUrl) -> Vec<u8> {
    let (target, host) = (url.path_and_arguments(), url.host_port());
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}
