//! Keeping an answer.

use std::io::{self, Read};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{Entry, NewEntry, Over, Place, Verified, Writer};
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

/// So often an answer is judged anew because another came to its place.
const TRIES: usize = 5;

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

/// Where an answer goes, beside what is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    /// Into its place.
    Newest,
    /// Among the older versions.
    Older,
    /// Nowhere, which is counted.
    Nowhere,
}

/// An answer whose body has come.
struct Come<'a> {
    new: New,
    place: &'a Place,
    like: Likeness,
    length: u64,
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
        let new = New { status: exchange.head.status, when };
        let kept = self.at(&place)?;
        match self.goes(new, &place, kept.as_ref())? {
            Ok(Goes::Newest | Goes::Older) => {}
            Ok(Goes::Nowhere) => return Ok(Ok(())),
            Err(reason) => return Ok(Err(reason)),
        }
        let mut sink = match self
            .sink(&place, NewEntry { asked: when, when, head, request, connection: None })?
        {
            Ok(sink) => sink,
            Err(reason) => return Ok(Err(reason)),
        };
        let length = match self.body(exchange.body, place.owner(), &mut sink)? {
            Ok(length) => length,
            Err(reason) => return Ok(Err(reason)),
        };
        let like = Likeness::new(&exchange.head, sink.digest());
        let come = Come { new, place: &place, like, length };
        match self.finish(sink, &come)? {
            Ok(true) => self.answers(&exchange.url, when)?,
            Ok(false) => {}
            Err(reason) => return Ok(Err(reason)),
        }
        Ok(Ok(()))
    }

    /// Where an answer goes, as things are now; or why it is kept nowhere at all.
    fn goes(
        &mut self,
        new: New,
        place: &Place,
        kept: Option<&Entry>,
    ) -> Result<Result<Goes, Reason>> {
        Ok(Ok(match merge::judge(new, kept.map(known), self.options.replace) {
            Verdict::Newest if self.would_hide(new, place)? => Goes::Nowhere,
            Verdict::Newest => Goes::Newest,
            Verdict::Older if self.spool.versions_kept(place) > 0 => Goes::Older,
            Verdict::Older => {
                self.outdated(new.when, kept);
                Goes::Nowhere
            }
            Verdict::Worse => {
                self.report.worse += 1;
                Goes::Nowhere
            }
            Verdict::Unfit(reason) => return Ok(Err(reason)),
        }))
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

    /// Puts an answer where it goes. While its body came another may have come to its place, so it is judged
    /// once more, and goes over that alone which it was judged beside. Tells whether it is the newest.
    fn finish(&mut self, mut sink: Sink, come: &Come<'_>) -> Result<Result<bool, Reason>> {
        for _ in 0..TRIES {
            let kept = self.at(come.place)?;
            let goes = match self.goes(come.new, come.place, kept.as_ref())? {
                Ok(Goes::Nowhere) => return Ok(Ok(false)),
                Ok(goes) => goes,
                Err(reason) => return Ok(Err(reason)),
            };
            let is_newest = goes == Goes::Newest;
            let neighbours = match &kept {
                Some(kept) if is_newest => vec![Likeness::of(kept)],
                Some(kept) => self.neighbours(come.place, kept, come.new.when)?,
                None => Vec::new(),
            };
            if neighbours.contains(&come.like) {
                self.report.same += 1;
                return Ok(Ok(is_newest));
            }
            if !is_newest {
                self.finish_older(sink, come)?;
                return Ok(Ok(false));
            }
            let Sink::Spool(mut writer) = sink else {
                self.kept(come);
                return Ok(Ok(true));
            };
            writer.set_stored(come.new.when, kept.as_ref());
            match writer.finish_over(kept.as_ref())? {
                Over::Stored(_) => return self.stored(come).map(Ok),
                Over::Overtaken(writer) => sink = Sink::Spool(writer),
            }
        }
        // Whoever comes to it so often has the newest.
        self.report.outdated += 1;
        Ok(Ok(false))
    }

    fn kept(&mut self, come: &Come<'_>) {
        self.report.kept += 1;
        self.report.bytes += come.length;
    }

    /// It is in its place. What is everyone's and what is one person's lie at different places, and that of
    /// the other may have changed meanwhile.
    fn stored(&mut self, come: &Come<'_>) -> Result<bool> {
        if self.would_hide(come.new, come.place)? {
            let own = self.at(come.place)?.filter(|own| Likeness::of(own) == come.like);
            if let Some(own) = own {
                self.spool.remove_seen(&own)?;
            }
            return Ok(false);
        }
        self.kept(come);
        self.supersede(come.new, come.place)?;
        Ok(true)
    }

    fn finish_older(&mut self, sink: Sink, come: &Come<'_>) -> Result<()> {
        let is_kept = match sink {
            Sink::Spool(writer) => writer.finish_older(come.new.when)?.is_some(),
            Sink::Nowhere(_) => true,
        };
        self.report.older += u64::from(is_kept);
        self.report.outdated += u64::from(!is_kept);
        self.report.bytes += if is_kept { come.length } else { 0 };
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
