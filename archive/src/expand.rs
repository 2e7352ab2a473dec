//! Decompresses streams in limited memory, with a limit on their expansion.
//!
//! The first bytes determine the format. Output is streamed. Each [`STRETCH`] of output must come
//! from at least 1/[`RATIO`] as many bytes of input. Real content does not compress further; a
//! stream that does is meant to fill the disk.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use zstd::stream::read::Decoder;

use crate::files::{BUFFER, FileReader};
use crate::refusal::Reason;

/// The number of output bytes after which the expansion is checked.
const STRETCH: u64 = 64 << 20;

/// The largest ratio of output to input.
const RATIO: u64 = 500;

/// The largest Zstandard window as a power of two: the default of the zstd program.
const MAX_WINDOW_LOG: u32 = 27;

/// The longest dictionary, compressed or not, in bytes.
const MAX_DICTIONARY: u64 = 16 << 20;

/// The magic number of gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The magic number of a skippable Zstandard frame, in which an archive stores its dictionary.
const DICTIONARY: &[u8] = &[0x5d, 0x2a, 0x4d, 0x18];

/// A decompressed stream.
pub(crate) type Stream = Box<dyn BufRead>;

/// Decompresses a file if necessary.
pub(crate) fn open(file: &FileReader) -> io::Result<Stream> {
    let mut input = file.buffered();
    let begin = input.fill_buf()?.get(..4).unwrap_or_default().to_vec();
    if begin.starts_with(GZIP) {
        return Ok(gzip(input));
    }
    let (input, counter) = counted(input);
    if begin == ZSTD {
        return Ok(expanding(zstd(input, &[])?, counter));
    }
    if begin == DICTIONARY {
        return with_dictionary(input, counter);
    }
    Ok(Box::new(file.buffered()))
}

/// Decompresses gzip, member by member.
pub(crate) fn gzip(input: impl BufRead + 'static) -> Stream {
    let (input, counter) = counted(input);
    expanding(MultiGzDecoder::new(input), counter)
}

/// Decompresses a member of a ZIP file.
pub(crate) fn deflate(input: FileReader) -> Stream {
    let (input, counter) = counted(input);
    expanding(DeflateDecoder::new(input), counter)
}

fn zstd<R: BufRead>(input: R, dictionary: &[u8]) -> io::Result<Decoder<'static, R>> {
    let mut decoder = Decoder::with_dictionary(input, dictionary)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    Ok(decoder)
}

/// Opens an archive whose first frame is the dictionary of all other frames.
fn with_dictionary(
    mut input: BufReader<CountedReader<BufReader<FileReader>>>,
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
    let expanding = ExpansionGuard { inner, went_in, since: 0, came_out: 0 };
    Box::new(BufReader::with_capacity(BUFFER, expanding))
}

/// A reader that counts the bytes read.
#[derive(Debug)]
struct CountedReader<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

/// Adds a counter of the bytes read.
fn counted<R: Read>(inner: R) -> (BufReader<CountedReader<R>>, Rc<Cell<u64>>) {
    let counter = Rc::new(Cell::new(0));
    let reader = CountedReader { inner, count: Rc::clone(&counter) };
    (BufReader::with_capacity(BUFFER, reader), counter)
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let more = u64::try_from(read).unwrap_or(u64::MAX);
        self.count.set(self.count.get().saturating_add(more));
        Ok(read)
    }
}

/// A reader that fails if the stream expands too much.
struct ExpansionGuard<R> {
    inner: R,
    went_in: Rc<Cell<u64>>,
    /// The number of input bytes at the beginning of the stretch.
    since: u64,
    /// The number of output bytes of the stretch so far.
    came_out: u64,
}

impl<R: Read> Read for ExpansionGuard<R> {
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
