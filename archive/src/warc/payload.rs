//! Reads the body of a response record: decodes the transfer coding and verifies digests.

use std::io::{self, BufRead, Read};

use super::record::WarcHeader;
use crate::chunked::Chunked;
use crate::digest::{Digest, Hasher};
use crate::head::ResponseHead;
use crate::refusal::Reason;

/// A reader of a body. It fails at the end if length or digests do not match.
pub(crate) struct Payload<R> {
    chunked: Option<Chunked<HashingReader<R>>>,
    plain: Option<HashingReader<R>>,
    /// The digest of the body after its chunks are decoded.
    undone: Option<Hasher>,
    digests: Digests,
    /// The length that the head declares.
    length: Option<u64>,
    read: u64,
    is_done: bool,
}

/// A reader that computes digests of the bytes read.
struct HashingReader<R> {
    input: R,
    payload: Option<Hasher>,
    block: Option<Hasher>,
}

/// The digests in a record header.
pub(crate) struct Digests {
    pub(crate) payload: Option<Digest>,
    pub(crate) block: Option<Digest>,
}

impl Digests {
    pub(crate) fn of(header: &WarcHeader) -> Result<Self, Reason> {
        let digest = |name| header.get(name).map_or(Ok(None), Digest::parse);
        Ok(Self { payload: digest("WARC-Payload-Digest")?, block: digest("WARC-Block-Digest")? })
    }
}

impl<R: BufRead> Payload<R> {
    /// Reads the body after a response head. `head_bytes` is the head, which the block digest
    /// includes.
    pub(crate) fn of_answer(
        input: R,
        head: &ResponseHead,
        head_bytes: &[u8],
        digests: Digests,
    ) -> Self {
        let is_chunked = head.fields.has_word("transfer-encoding", "chunked");
        let length = head.fields.content_length().filter(|_| !is_chunked);
        Self::new(input, head_bytes, digests, is_chunked, length)
    }

    /// Reads the whole block.
    pub(crate) fn of_resource(input: R, digests: Digests) -> Self {
        Self::new(input, b"", digests, false, None)
    }

    fn new(
        input: R,
        before: &[u8],
        digests: Digests,
        is_chunked: bool,
        length: Option<u64>,
    ) -> Self {
        let hasher =
            |digest: &Option<Digest>| digest.as_ref().map(|digest| digest.algorithm.hasher());
        let mut content = HashingReader {
            input,
            payload: hasher(&digests.payload),
            block: hasher(&digests.block),
        };
        if let Some(hasher) = &mut content.block {
            hasher.update(before);
        }
        let undone = hasher(&digests.payload).filter(|_| is_chunked);
        let (chunked, plain) =
            if is_chunked { (Some(Chunked::new(content)), None) } else { (None, Some(content)) };
        Self { chunked, plain, undone, digests, length, read: 0, is_done: false }
    }

    /// Compares length and digests.
    fn finish(&mut self) -> Result<(), io::Error> {
        if self.length.is_some_and(|length| length != self.read) {
            return Err(Reason::from("the length of its body differs from Content-Length").into());
        }
        let mut piece = [0; 4 << 10];
        let hashed = match (&mut self.chunked, &mut self.plain) {
            (Some(chunked), _) => {
                // Bytes after the last chunk belong to the block.
                while chunked.input().read(&mut piece)? > 0 {}
                chunked.input()
            }
            (None, Some(hashed)) => hashed,
            (None, None) => return Ok(()),
        };
        let (payload, block) = (hashed.payload.take(), hashed.block.take());
        if let (Some(digest), Some(hasher)) = (&self.digests.block, block)
            && !digest.is(hasher)
        {
            return Err(Reason::from("its WARC-Block-Digest does not match").into());
        }
        // Some tools compute the digest of the chunked body, others of the decoded body.
        if let (Some(digest), Some(hasher)) = (&self.digests.payload, payload)
            && !digest.is(hasher)
            && !self.undone.take().is_some_and(|undone| digest.is(undone))
        {
            return Err(Reason::from("its WARC-Payload-Digest does not match").into());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Payload<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_done || buffer.is_empty() {
            return Ok(0);
        }
        let read = match (&mut self.chunked, &mut self.plain) {
            (Some(chunked), _) => chunked.read(buffer)?,
            (None, Some(plain)) => plain.read(buffer)?,
            (None, None) => 0,
        };
        if read == 0 {
            self.is_done = true;
            self.finish()?;
            return Ok(0);
        }
        if let (Some(undone), Some(bytes)) = (&mut self.undone, buffer.get(..read)) {
            undone.update(bytes);
        }
        self.read = self.read.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

impl<R: BufRead> BufRead for HashingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // The buffer still contains these bytes, because they have been read but not consumed.
        if let Ok(there) = self.input.fill_buf() {
            let passed = there.get(..count).unwrap_or(there);
            for hasher in [&mut self.payload, &mut self.block].into_iter().flatten() {
                hasher.update(passed);
            }
        }
        self.input.consume(count);
    }
}

impl<R: BufRead> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
