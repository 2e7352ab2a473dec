//! The body of an entry: in memory, or in its open file.

use std::fmt;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::Entry;
use super::blocks::Blocks;
use super::gzip;
use super::verified::for_each_piece;
use super::warc::Reason;
use crate::error::{Damage, Error, Result};
use crate::fs::DiskFile;
use crate::fs::size::{at_most, wide};

/// Bytes shared by the fields of an entry and by its clones.
pub(crate) type SharedBytes = Arc<Vec<u8>>;

/// The body of an entry as received, without its transfer coding.
#[derive(Debug, Clone)]
pub enum Body {
    /// In memory, and verified.
    Whole(BodyBytes),
    /// On disk. Its length is verified, its content is not: see [`BodyFile::verifier`].
    File(BodyFile),
}

/// A body in memory, shared by its clones. It implements `AsRef<[u8]>`, so a buffer type can own it
/// without a copy.
#[derive(Clone)]
pub struct BodyBytes {
    pub(crate) bytes: SharedBytes,
    pub(crate) range: Range<usize>,
}

/// A body in an open file. It stays readable when the entry is replaced or removed.
#[derive(Debug, Clone)]
pub struct BodyFile {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: Arc<Path>,
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) digest: [u8; 32],
    /// The checksums of its blocks: read from the file when it was opened, or computed when first
    /// needed.
    pub(crate) blocks: Arc<OnceLock<Blocks>>,
    /// Whether the complete body was read since the file was opened, and matched its digest.
    pub(crate) verified: Arc<AtomicBool>,
}

/// The check of a body, whose bytes come in order, against its stored digest.
///
/// The code that sends a [`BodyFile`] passes every byte to the verifier, and sends the last piece
/// only after [`Verifier::finish`] has returned true. So a receiver never sees a damaged body as
/// complete.
#[derive(Debug)]
pub struct Verifier {
    hasher: Sha256,
    left: u64,
    digest: [u8; 32],
    verified: Arc<AtomicBool>,
}

impl Deref for BodyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for BodyBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for BodyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({} bytes)", self.len())
    }
}

impl BodyFile {
    /// The length of the body in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the body has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads at `offset` of the body, at most the length of `buffer`. Returns 0 at the end of the
    /// body.
    ///
    /// # Errors
    ///
    /// If the disk fails, the file is shorter than when it was opened, or its compressed form is
    /// damaged.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let Some(buffer) = at_most(buffer, self.len.saturating_sub(offset)) else { return Ok(0) };
        let read = self.file.read_at(buffer, self.start.saturating_add(offset));
        let failed = |error| match gzip::reason_of(&error) {
            Some(reason) => self.damaged(reason),
            None => Error::disk("read", &self.path, error),
        };
        match read.map_err(failed)? {
            0 => Err(Error::disk("read", &self.path, io::ErrorKind::UnexpectedEof.into())),
            read => Ok(read),
        }
    }

    /// Returns a new verifier for this body.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        let verified = Arc::clone(&self.verified);
        Verifier { hasher: Sha256::new(), left: self.len, digest: self.digest, verified }
    }

    /// Whether a [`Verifier`] of this body, or of a clone, has succeeded. Later changes of the file
    /// are not noticed: a caller that keeps the entry must check for them.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verified.load(Ordering::Acquire)
    }

    /// Reads like [`BodyFile::read_at`] if the bytes are in the page cache of the system. `None` at
    /// the end of the body, if the read would have to wait for the disk, or if that cannot be
    /// known.
    #[must_use]
    pub fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        let buffer = at_most(buffer, self.len.saturating_sub(offset))?;
        let read = self.file.read_cached(buffer, self.start.saturating_add(offset));
        read.filter(|read| *read > 0)
    }

    pub(crate) fn identity(&self) -> io::Result<u64> {
        self.file.identity()
    }

    pub(crate) fn damaged(&self, reason: Reason) -> Error {
        Error::damaged(Damage::new(self.path.to_path_buf(), reason))
    }
}

impl Verifier {
    /// Takes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.left = self.left.wrapping_sub(wide(bytes.len()));
        self.hasher.update(bytes);
    }

    /// Whether the bytes were exactly those of the body.
    #[must_use]
    pub fn finish(self) -> bool {
        let agrees = self.left == 0 && <[u8; 32]>::from(self.hasher.finalize()) == self.digest;
        if agrees {
            self.verified.store(true, Ordering::Release);
        }
        agrees
    }
}

/// Whether the body matches its digest, after reading it completely. A body in memory was verified
/// before.
pub(crate) fn is_whole(entry: &Entry) -> Result<bool> {
    match entry.body() {
        Body::Whole(_) => Ok(true),
        Body::File(file) => match is_file_whole(file) {
            Err(error) if error.is_damaged() => Ok(false),
            done => done,
        },
    }
}

fn is_file_whole(file: &BodyFile) -> Result<bool> {
    let mut verifier = file.verifier();
    for_each_piece(file, |piece| verifier.update(piece))?;
    Ok(verifier.finish())
}
