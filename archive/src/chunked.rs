//! Decodes the chunked transfer coding (RFC 9112 §7.1).
//!
//! Many tools write response blocks as transferred. Others write `Transfer-Encoding: chunked` above
//! a body without chunks. A body that does not begin with a chunk size is therefore read unchanged.
//! A body that begins with one must be chunked to its end.

use std::io::{self, BufRead, Read};

use crate::refusal::Reason;

/// The longest line with a chunk size and its extensions, in bytes.
const MAX_LINE: usize = 1 << 10;

/// The longest trailer section, in bytes.
const MAX_TRAILERS: usize = 64 << 10;

/// A reader of the decoded body.
#[derive(Debug)]
pub(crate) struct Chunked<R> {
    input: R,
    state: ChunkState,
}

#[derive(Debug)]
enum ChunkState {
    /// Nothing has been read.
    Begin,
    /// The body is not chunked. First the bytes in this buffer are returned, from this index on.
    Plain(Vec<u8>, usize),
    /// Inside a chunk, with this number of bytes remaining.
    Data(u64),
    /// After a chunk, before its line end.
    Between,
    End,
}

impl<R: BufRead> Chunked<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, state: ChunkState::Begin }
    }

    /// The underlying input.
    pub(crate) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        let is_line = read_line(&mut self.input, &mut line, MAX_LINE)?;
        self.state = match size(&line).filter(|_| is_line) {
            Some(size) => self.chunk(size)?,
            None => ChunkState::Plain(line, 0),
        };
        Ok(())
    }

    fn between(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        // Reads the line end of the previous chunk.
        if !read_line(&mut self.input, &mut line, 2)? || !line.trim_ascii().is_empty() {
            return Err(bad());
        }
        line.clear();
        if !read_line(&mut self.input, &mut line, MAX_LINE)? {
            return Err(bad());
        }
        let size = size(&line).ok_or_else(bad)?;
        self.state = self.chunk(size)?;
        Ok(())
    }

    fn chunk(&mut self, size: u64) -> io::Result<ChunkState> {
        if size > 0 {
            return Ok(ChunkState::Data(size));
        }
        let (mut line, mut left) = (Vec::new(), MAX_TRAILERS);
        loop {
            line.clear();
            let is_line = read_line(&mut self.input, &mut line, left)?;
            left = left.saturating_sub(line.len());
            // Some tools omit the empty line after the trailers.
            if line.trim_ascii().is_empty() {
                return Ok(ChunkState::End);
            }
            if !is_line {
                return Err(bad());
            }
        }
    }
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                ChunkState::Begin => self.begin()?,
                ChunkState::Between => self.between()?,
                ChunkState::End => return Ok(0),
                ChunkState::Plain(looked_at, from) => {
                    let mut rest = looked_at.get(*from..).unwrap_or_default();
                    if rest.is_empty() {
                        return self.input.read(buffer);
                    }
                    let count = rest.read(buffer)?;
                    *from += count;
                    return Ok(count);
                }
                ChunkState::Data(left) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
                    let Some(buffer) = buffer.get_mut(..most).filter(|to| !to.is_empty()) else {
                        return Ok(0);
                    };
                    let read = self.input.read(buffer)?;
                    if read == 0 {
                        return Err(bad());
                    }
                    *left = left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
                    if *left == 0 {
                        self.state = ChunkState::Between;
                    }
                    return Ok(read);
                }
            }
        }
    }
}

fn bad() -> io::Error {
    Reason::from("its chunked body is incomplete").into()
}

/// Reads a line with its line end, at most `most` bytes, and appends it to `line`. Returns false if
/// the line is longer, or the input ends before the line end.
pub(crate) fn read_line(
    input: &mut impl BufRead,
    line: &mut Vec<u8>,
    most: usize,
) -> io::Result<bool> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let read = Read::take(input, most).read_until(b'\n', line)?;
    Ok(read > 0 && line.ends_with(b"\n"))
}

/// Parses the size in the first line of a chunk. `None` if the line does not begin with a
/// hexadecimal number of at most 16 digits.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let is_number = (1..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(body: &str) -> Result<String, String> {
        // With a buffer of three bytes, every line is split.
        let mut chunked = Chunked::new(io::BufReader::with_capacity(3, body.as_bytes()));
        let mut out = String::new();
        chunked.read_to_string(&mut out).map(|_| out).map_err(|error| error.to_string())
    }

    #[test]
    fn chunked_bodies_are_joined_and_others_are_unchanged() {
        for (body, want) in [
            ("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"),
            ("3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", "abc"),
            ("3\nabc\n0\n\n", "abc"),
            ("0003 \r\nabc\r\n0\r\n", "abc"),
            ("0\r\n\r\n", ""),
            ("<html>\r\nhello", "<html>\r\nhello"),
            ("hello", "hello"),
            ("abc", "abc"),
            ("", ""),
        ] {
            assert_eq!(undone(body).as_deref(), Ok(want), "{body:?}");
        }
    }

    #[test]
    fn an_incomplete_chunked_body_is_refused() {
        for body in [
            "3\r\nab",
            "3\r\nabc",
            "3\r\nabc\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "3\r\nabc\r\nzz\r\n",
            "ffffffffffffffff\r\nabc",
            "3\r\nabc\r\n11111111111111111\r\n",
        ] {
            assert!(undone(body).is_err(), "{body:?}");
        }
        let endless = format!("0\r\n{}", "a: b\r\n".repeat(20_000));
        assert!(undone(&endless).is_err());
    }
}
