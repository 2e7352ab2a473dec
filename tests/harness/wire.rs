//! HTTP/1.1 as bytes: heads, fields and the three kinds of framing.

use std::io::{self, Read};

/// Bytes per read from a socket.
const CHUNK: usize = 256 * 1024;

/// The maximum length of a head in bytes. A longer head counts as broken.
const HEAD_LIMIT: usize = 1024 * 1024;

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After this many bytes, by `Content-Length`.
    Length(u64),
    /// After the last chunk and the trailers.
    Chunked,
    /// When the connection is closed.
    Close,
}

/// The reason why a message could not be read to its end.
#[derive(Debug)]
#[expect(dead_code, reason = "the causes are only for messages of failing tests")]
pub(crate) enum Broken {
    /// No bytes arrived within the timeout of the socket.
    Timeout,
    /// The connection was closed in the middle of the message.
    Eof,
    /// The connection was reset.
    Reset(io::Error),
    /// The bytes are not HTTP/1.1.
    Syntax(String),
}

/// Field names and values in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// Parses the lines of a head after the first one.
    pub(crate) fn parse(lines: &str) -> Result<Self, Broken> {
        let field = |line: &str| match line.split_once(':') {
            Some((name, value)) if !name.is_empty() && !name.contains([' ', '\t']) => {
                Ok((name.to_owned(), value.trim().to_owned()))
            }
            _ => Err(Broken::Syntax(format!("not a field line: {line:?}"))),
        };
        let lines = lines.split("\r\n").filter(|line| !line.is_empty());
        lines.map(field).collect::<Result<_, _>>().map(Self)
    }

    /// All values of `name`, in order.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let same = |(found, _): &&(String, String)| found.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The framing of the body that these fields declare, or else `otherwise`.
    pub(crate) fn framing(&self, otherwise: Framing) -> Framing {
        if self
            .get("Transfer-Encoding")
            .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
        {
            return Framing::Chunked;
        }
        match self.get("Content-Length").and_then(|length| length.parse().ok()) {
            Some(length) => Framing::Length(length),
            None => otherwise,
        }
    }
}

/// A buffered reader that finds the end of a message.
pub(crate) struct Reader<R> {
    from: R,
    buffer: Vec<u8>,
    at: usize,
    /// The buffer for reads. It is never cleared, because clearing it for each read takes most of
    /// the time in a build without optimisation.
    chunk: Box<[u8]>,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), at: 0, chunk: vec![0; CHUNK].into() }
    }

    /// The received bytes that are not consumed yet.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Receives further bytes and returns their number, which is 0 at the end of the connection.
    pub(crate) fn fill(&mut self) -> Result<usize, Broken> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
        let got = loop {
            match self.from.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.extend_from_slice(&self.chunk[..got.as_ref().map_or(0, |got| *got)]);
        got.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Broken::Timeout,
            _ => Broken::Reset(error),
        })
    }

    fn need(&mut self) -> Result<(), Broken> {
        if self.fill()? == 0 { Err(Broken::Eof) } else { Ok(()) }
    }

    /// Takes the available bytes, at least one. Returns no bytes at the end.
    pub(crate) fn some(&mut self) -> Result<Vec<u8>, Broken> {
        if self.waiting().is_empty() {
            self.fill()?;
        }
        let taken = self.waiting().to_vec();
        self.at = self.buffer.len();
        Ok(taken)
    }

    /// Takes exactly `count` bytes.
    pub(crate) fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Broken> {
        while self.waiting().len() < count {
            self.need()?;
        }
        let taken = self.waiting()[..count].to_vec();
        self.at += count;
        Ok(taken)
    }

    /// Takes all bytes up to and including `end`. Returns `None` if the connection ended before the
    /// first byte.
    pub(crate) fn until(&mut self, end: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
        let mut looked = 0;
        loop {
            let waiting = self.waiting();
            let found = waiting[looked..].windows(end.len()).position(|window| window == end);
            if let Some(found) = found {
                let taken = waiting[..looked + found + end.len()].to_vec();
                self.at += taken.len();
                return Ok(Some(taken));
            }
            if waiting.len() > HEAD_LIMIT {
                return Err(Broken::Syntax("a line or head above 1 MiB".into()));
            }
            looked = waiting.len().saturating_sub(end.len() - 1);
            let nothing = waiting.is_empty();
            if self.fill()? == 0 {
                return if nothing { Ok(None) } else { Err(Broken::Eof) };
            }
        }
    }

    /// Passes a body to `take`, piece by piece. Returns its trailers.
    pub(crate) fn body(
        &mut self,
        framing: Framing,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Fields, Broken> {
        match framing {
            Framing::Length(length) => self.counted(length, &mut take)?,
            Framing::Chunked => return self.chunked(&mut take),
            Framing::Close => loop {
                take(self.waiting());
                self.at = self.buffer.len();
                if self.fill()? == 0 {
                    break;
                }
            },
        }
        Ok(Fields::default())
    }

    fn counted(&mut self, mut left: u64, take: &mut impl FnMut(&[u8])) -> Result<(), Broken> {
        while left > 0 {
            if self.waiting().is_empty() {
                self.need()?;
            }
            let some = self.waiting().len().min(usize::try_from(left).unwrap_or(usize::MAX));
            take(&self.waiting()[..some]);
            self.at += some;
            left -= some as u64;
        }
        Ok(())
    }

    fn chunked(&mut self, take: &mut impl FnMut(&[u8])) -> Result<Fields, Broken> {
        loop {
            let line = self.until(b"\r\n")?.ok_or(Broken::Eof)?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let size = line.trim().split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16)
                .map_err(|_| Broken::Syntax(format!("not a chunk size: {line:?}")))?;
            if size == 0 {
                break;
            }
            self.counted(size, take)?;
            if self.exactly(2)? != b"\r\n" {
                return Err(Broken::Syntax("a chunk does not end where it said".into()));
            }
        }
        let mut trailers = String::new();
        loop {
            let line = self.until(b"\r\n")?.ok_or(Broken::Eof)?;
            if line == b"\r\n" {
                return Fields::parse(&trailers);
            }
            trailers.push_str(&String::from_utf8_lossy(&line));
        }
    }
}
