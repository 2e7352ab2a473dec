//! Reads a ZIP file (APPNOTE 6.3, with ZIP64), member by member.
//!
//! The crate `zip` loads the whole directory, so an archive would decide how much memory we use.
//! The crate also gives no access to the extra field of the local header, in which HTTrack stores
//! the response head. `docs/decisions.md` has the figures.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use crate::expand;
use crate::files::FileReader;
use crate::refusal::Reason;

/// The maximum distance of the end record from the end of the file: the 22 bytes of the record and
/// the longest comment.
const END_WITHIN: u64 = 22 + (64 << 10);

const END: [u8; 4] = *b"PK\x05\x06";
const LARGE_LOCATOR: [u8; 4] = *b"PK\x06\x07";
const LARGE_END: [u8; 4] = *b"PK\x06\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";

/// The flag of a member whose lengths are written after it.
const STREAMED: u16 = 1 << 3;

/// The longest name of such a member, in bytes.
const MAX_NAME: u64 = 1 << 10;

/// The most members that are read without a directory.
const MAX_LOCAL: usize = 10_000;

/// The id of the ZIP64 extra field.
const LARGE: u16 = 1;

/// The central directory, read sequentially.
pub(crate) struct Directory {
    file: FileReader,
    entries: BufReader<FileReader>,
    left: u64,
    /// The length of the file minus the packed lengths of the members read so far, in bytes.
    unclaimed: u64,
}

/// A member of a ZIP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZipMember {
    pub(crate) name: String,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    packed: u64,
    pub(crate) size: u64,
    offset: u64,
}

/// The decompressed contents of a member.
pub(crate) struct MemberContent {
    input: Box<dyn Read>,
    crc: crc32fast::Hasher,
    expected: (u64, u32),
    read: u64,
}

/// Bytes, from the front of which little-endian numbers are taken.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or("it is a damaged ZIP file")?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn two(&mut self) -> Result<u16, Reason> {
        self.take().map(u16::from_le_bytes)
    }

    fn four(&mut self) -> Result<u32, Reason> {
        self.take().map(u32::from_le_bytes)
    }

    fn eight(&mut self) -> Result<u64, Reason> {
        self.take().map(u64::from_le_bytes)
    }
}

fn damaged() -> io::Error {
    Reason::from("it is a damaged ZIP file").into()
}

impl Directory {
    /// Finds the central directory.
    pub(crate) fn open(file: &FileReader) -> io::Result<Self> {
        let from = file.len().saturating_sub(END_WITHIN);
        let end = file.part(from, END_WITHIN).small(END_WITHIN)?.unwrap_or_default();
        let at = end.windows(4).rposition(|bytes| bytes == END).ok_or_else(damaged)?;
        let mut numbers = Numbers(end.get(at + 4..).unwrap_or_default());
        let _disks = numbers.four()?;
        let (_here, count) = (numbers.two()?, numbers.two()?);
        let (length, offset) = (numbers.four()?, numbers.four()?);
        let mut where_it_is = (u64::from(count), u64::from(length), u64::from(offset));
        let before = at.checked_sub(20).and_then(|start| end.get(start..at));
        if let Some(locator) = before.and_then(|bytes| bytes.strip_prefix(&LARGE_LOCATOR)) {
            where_it_is = large_end(file, locator)?;
        }
        let (left, length, offset) = where_it_is;
        if offset.checked_add(length).is_none_or(|end| end > file.len()) {
            return Err(damaged());
        }
        let entries = file.part(offset, length).buffered();
        Ok(Self { file: file.clone(), entries, left, unclaimed: file.len() })
    }

    /// Reads the next member; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<ZipMember>> {
        if self.left == 0 || self.entries.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.left -= 1;
        let mut fixed = [0; 46];
        self.entries.read_exact(&mut fixed)?;
        let mut numbers = Numbers(fixed.strip_prefix(&ENTRY).ok_or_else(damaged)?);
        let _versions = numbers.four()?;
        let (flags, method) = (numbers.two()?, numbers.two()?);
        let (_time, crc) = (numbers.four()?, numbers.four()?);
        let (packed, size) = (numbers.four()?, numbers.four()?);
        let lengths = (numbers.two()?, numbers.two()?, numbers.two()?);
        let (_disk_and_attributes, offset) = (numbers.eight()?, numbers.four()?);
        let mut piece = |length: u16| {
            let mut bytes = vec![0; usize::from(length)];
            self.entries.read_exact(&mut bytes).map(|()| bytes)
        };
        let (name, extra, _comment) = (piece(lengths.0)?, piece(lengths.1)?, piece(lengths.2)?);
        let mut member = ZipMember {
            name: String::from_utf8_lossy(&name).into_owned(),
            method,
            is_encrypted: flags & 1 != 0,
            crc,
            packed: packed.into(),
            size: size.into(),
            offset: offset.into(),
        };
        member.enlarge(&extra)?;
        // Without this check, a short file with many overlapping members would be read many times.
        let unclaimed = self.unclaimed.checked_sub(member.packed);
        self.unclaimed = unclaimed.ok_or_else(|| Reason::from("its members overlap"))?;
        Ok(Some(member))
    }

    /// The contents of a member, and the extra field of its local header.
    pub(crate) fn content(&self, member: &ZipMember) -> io::Result<(MemberContent, Vec<u8>)> {
        let (data, extra) = self.data(member)?;
        let input: Box<dyn Read> = match member.method {
            0 => Box::new(data.buffered()),
            8 => expand::deflate(data),
            _ => return Err(Reason::from("its compression method is not supported").into()),
        };
        let crc = crc32fast::Hasher::new();
        Ok((MemberContent { input, crc, expected: (member.size, member.crc), read: 0 }, extra))
    }

    /// The range of a member; `None` if it is compressed.
    pub(crate) fn stored(&self, member: &ZipMember) -> io::Result<Option<FileReader>> {
        Ok(if member.method == 0 { Some(self.data(member)?.0) } else { None })
    }

    fn data(&self, member: &ZipMember) -> io::Result<(FileReader, Vec<u8>)> {
        if member.is_encrypted {
            return Err(Reason::from("it is encrypted").into());
        }
        let mut input = self.file.part(0, self.file.len());
        input.seek(SeekFrom::Start(member.offset))?;
        let mut fixed = [0; 30];
        input.read_exact(&mut fixed)?;
        let lengths = fixed.strip_prefix(&LOCAL).and_then(|bytes| bytes.last_chunk());
        let [a, b, c, d] = *lengths.ok_or_else(damaged)?;
        let (name, extra) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let start = member.offset.saturating_add(30 + u64::from(name));
        let extra_bytes = self.file.part(start, extra.into()).small(extra.into())?;
        let start = start.saturating_add(extra.into());
        if start.checked_add(member.packed).is_none_or(|end| end > self.file.len()) {
            return Err(damaged());
        }
        Ok((self.file.part(start, member.packed), extra_bytes.unwrap_or_default()))
    }
}

/// The stored members of a ZIP file without a directory, by their local headers. The last one may
/// be incomplete. A member whose length is only written after it counts as the last one, and its
/// range ends with the file.
pub(crate) fn local_members(file: &FileReader) -> io::Result<Vec<(String, FileReader)>> {
    let (mut members, mut at) = (Vec::new(), 0_u64);
    while members.len() < MAX_LOCAL {
        let fixed = file.part(at, 30).small(30)?.unwrap_or_default();
        let Some(header) = fixed.strip_prefix(&LOCAL).filter(|rest| rest.len() == 26) else {
            break;
        };
        let mut numbers = Numbers(header);
        let (_version, flags, method) = (numbers.two()?, numbers.two()?, numbers.two()?);
        let (_time, crc) = (numbers.four()?, numbers.four()?);
        let (packed, size) = (numbers.four()?, numbers.four()?);
        let (name, extra) = (u64::from(numbers.two()?), u64::from(numbers.two()?));
        let name_bytes = file.part(at + 30, name).small(name)?.unwrap_or_default();
        let extra_bytes = file.part(at + 30 + name, extra).small(extra)?.unwrap_or_default();
        let mut member = ZipMember {
            name: String::from_utf8_lossy(&name_bytes).into_owned(),
            method,
            is_encrypted: flags & 1 != 0,
            crc,
            packed: packed.into(),
            size: size.into(),
            offset: at,
        };
        member.enlarge(&extra_bytes)?;
        let start = at + 30 + name + extra;
        let is_streamed = flags & STREAMED != 0 && member.packed == 0;
        let end = start.saturating_add(member.packed);
        let is_last = is_streamed || end > file.len();
        let length = if is_streamed { file.len() } else { member.packed };
        let is_short = name <= MAX_NAME;
        if method == 0 && !member.is_encrypted && is_short && start < file.len() {
            members.push((member.name, file.part(start, length)));
        }
        if is_last {
            break;
        }
        at = end;
    }
    Ok(members)
}

fn large_end(file: &FileReader, locator: &[u8]) -> io::Result<(u64, u64, u64)> {
    let mut numbers = Numbers(locator);
    let (_disk, offset) = (numbers.four()?, numbers.eight()?);
    let bytes = file.part(offset, 56).small(56)?.unwrap_or_default();
    let mut numbers = Numbers(bytes.strip_prefix(&LARGE_END).ok_or_else(damaged)?);
    let (_length, _versions, _disks) = (numbers.eight()?, numbers.four()?, numbers.eight()?);
    let (_here, count) = (numbers.eight()?, numbers.eight()?);
    Ok((count, numbers.eight()?, numbers.eight()?))
}

impl ZipMember {
    /// Replaces numbers that do not fit into 32 bits by the values of the ZIP64 field.
    fn enlarge(&mut self, mut extra: &[u8]) -> Result<(), Reason> {
        while extra.len() >= 4 {
            let mut numbers = Numbers(extra);
            let (id, length) = (numbers.two()?, usize::from(numbers.two()?));
            // The extra field that HTTrack writes is not a list of fields.
            let Some(field) = numbers.0.get(..length) else { return Ok(()) };
            if id == LARGE {
                let mut numbers = Numbers(field);
                for number in [&mut self.size, &mut self.packed, &mut self.offset] {
                    if *number == u64::from(u32::MAX) {
                        *number = numbers.eight()?;
                    }
                }
            }
            extra = numbers.0.get(length..).unwrap_or_default();
        }
        Ok(())
    }
}

impl Read for MemberContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.input.read(buffer)?;
        self.crc.update(buffer.get(..read).unwrap_or_default());
        self.read = self.read.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        let (size, crc) = self.expected;
        let is_wrong = self.read > size
            || (read == 0 && (self.read, self.crc.clone().finalize()) != (size, crc));
        if is_wrong {
            return Err(Reason::from("its checksum does not match").into());
        }
        Ok(read)
    }
}
