//! Compressed streams undone in bounded memory, and not beyond measure.
//!
//! A stream is known by its first bytes. What it expands to is given out as it comes; of each [`STRETCH`]
//! that comes out, a [`RATIO`]th at least has to have gone in. Nothing that people keep is compressed
//! further; what is, was made to fill a disk.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use zstd::stream::read::Decoder;

use crate::files::{BUFFER, FileReader};
use crate::refusal::Reason;

/// Bytes that may come out without a look at what went in.
const STRETCH: u64 = 64 << 20;

/// How many times longer what comes out may be than what went in.
const RATIO: u64 = 500;

/// The largest window of Zstandard, as a power of two: what its own program takes unasked.
const MAX_WINDOW_LOG: u32 = 27;

/// The longest dictionary, in bytes, compressed or not.
const MAX_DICTIONARY: u64 = 16 << 20;

/// The magic numbers that a stream begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// A frame that a reader of Zstandard skips, in which an archive has its dictionary.
const DICTIONARY: &[u8] = &[0x5d, 0x2a, 0x4d, 0x18];

/// Bytes as they come out.
pub(crate) type Stream = Box<dyn BufRead>;

/// Undoes what a file is compressed with, if it is.
pub(crate) fn open(file: &FileReader) -> io::Result<Stream> {
    let mut input = file.buffered();
    let begin = input.fill_buf()?.get(..4).unwrap_or_default().to_vec();
    if begin.starts_with(GZIP) {
        return Ok(gzip(input));
    }
    let count = Counted::new(input);
    let counter = Rc::clone(&count.count);
    let input = BufReader::with_capacity(BUFFER, count);
    if begin == ZSTD {
        return Ok(expanding(zstd(input, &[])?, counter));
    }
    if begin == DICTIONARY {
        return with_dictionary(input, counter);
    }
    Ok(Box::new(file.buffered()))
}

/// Undoes gzip, member by member.
pub(crate) fn gzip(input: impl BufRead + 'static) -> Stream {
    let count = Counted::new(input);
    let counter = Rc::clone(&count.count);
    let input = BufReader::with_capacity(BUFFER, count);
    expanding(MultiGzDecoder::new(input), counter)
}

/// Undoes the compression of a member of a ZIP.
pub(crate) fn deflate(input: FileReader) -> Stream {
    let count = Counted::new(input);
    let counter = Rc::clone(&count.count);
    let input = BufReader::with_capacity(BUFFER, count);
    expanding(DeflateDecoder::new(input), counter)
}

fn zstd<R: BufRead>(input: R, dictionary: &[u8]) -> io::Result<Decoder<'static, R>> {
    let mut decoder = Decoder::with_dictionary(input, dictionary)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    Ok(decoder)
}

/// An archive whose first frame is the dictionary of all others.
fn with_dictionary(
    mut input: BufReader<Counted<BufReader<FileReader>>>,
    counter: Rc<Cell<u64>>,
) -> io::Result<Stream> {
    let mut begin = [0; 8];
    input.read_exact(&mut begin)?;
    let [.., a, b, c, d] = begin;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let too_long = || io::Error::from(Reason::from("its dictionary is longer than 16 MiB"));
    if length > MAX_DICTIONARY {
        return Err(too_long());
    }
    let mut dictionary = Vec::new();
    (&mut input).take(length).read_to_end(&mut dictionary)?;
    if dictionary.starts_with(ZSTD) {
        let compressed = std::mem::take(&mut dictionary);
        let decoder = zstd(compressed.as_slice(), &[])?;
        decoder.take(MAX_DICTIONARY + 1).read_to_end(&mut dictionary)?;
        if u64::try_from(dictionary.len()).unwrap_or(u64::MAX) > MAX_DICTIONARY {
            return Err(too_long());
        }
    }
    Ok(expanding(zstd(input, &dictionary)?, counter))
}

fn expanding(inner: impl Read + 'static, went_in: Rc<Cell<u64>>) -> Stream {
    let expanding = Expanding { inner, went_in, since: 0, came_out: 0 };
    Box::new(BufReader::with_capacity(BUFFER, expanding))
}

/// Counts what is read.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    fn new(inner: R) -> Self {
        Self { inner, count: Rc::default() }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let more = u64::try_from(read).unwrap_or(u64::MAX);
        self.count.set(self.count.get().saturating_add(more));
        Ok(read)
    }
}

/// Ends a stream that grows beyond measure.
struct Expanding<R> {
    inner: R,
    went_in: Rc<Cell<u64>>,
    /// What had gone in when the stretch began.
    since: u64,
    /// What has come out of it.
    came_out: u64,
}

impl<R: Read> Read for Expanding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.came_out >= STRETCH {
            let in_stretch = self.went_in.get().saturating_sub(self.since);
            if in_stretch.saturating_mul(RATIO) < self.came_out {
                return Err(Reason::from("it expands to more than 500 times its size").into());
            }
            (self.since, self.came_out) = (self.went_in.get(), 0);
        }
        let read = self.inner.read(buffer)?;
        self.came_out = self.came_out.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
