//! Writes a ZIP file of uncompressed members, as WACZ requires.

use std::io::{self, Seek, SeekFrom, Write};

use sha2::{Digest as _, Sha256};

/// Version 4.5 of the format, the first with ZIP64.
const VERSION: u16 = 45;

/// The flag that names are UTF-8.
const FLAGS: u16 = 1 << 11;

/// The modification time of all members: 1 January 1980, midnight. The contents of the members have
/// the real times.
const TIME: u32 = 0x0021_0000;

/// A ZIP file being written.
pub(crate) struct ZipWriter<W> {
    out: W,
    offset: u64,
    members: Vec<MemberEntry>,
}

/// A member being written.
pub(crate) struct MemberWriter<'a, W> {
    zip: &'a mut ZipWriter<W>,
    member: MemberEntry,
    crc: crc32fast::Hasher,
    sha256: Sha256,
}

struct MemberEntry {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
}

/// Length and digest of a finished member.
pub(crate) struct MemberSummary {
    pub(crate) size: u64,
    pub(crate) sha256: [u8; 32],
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, offset: 0, members: Vec::new() }
    }

    /// Begins a member.
    pub(crate) fn begin(&mut self, name: &str) -> io::Result<MemberWriter<'_, W>> {
        let member = MemberEntry { name: name.to_owned(), crc: 0, size: 0, offset: self.offset };
        self.out.write_all(&member.local())?;
        let (crc, sha256) = (crc32fast::Hasher::new(), Sha256::new());
        Ok(MemberWriter { zip: self, member, crc, sha256 })
    }

    /// Adds a member from memory.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> io::Result<MemberSummary> {
        let mut adding = self.begin(name)?;
        adding.write_all(content)?;
        adding.finish()
    }

    /// Writes the central directory.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let mut directory = Vec::new();
        for member in &self.members {
            directory.extend(member.central());
        }
        let (count, length) = (wide(self.members.len()), wide(directory.len()));
        let mut tail = b"PK\x06\x06".to_vec();
        tail.extend(44_u64.to_le_bytes());
        tail.extend([VERSION.to_le_bytes(); 2].concat());
        tail.extend([0; 8]);
        for number in [count, count, length, self.offset] {
            tail.extend(number.to_le_bytes());
        }
        tail.extend(b"PK\x06\x07\0\0\0\0");
        tail.extend((self.offset + length).to_le_bytes());
        tail.extend(1_u32.to_le_bytes());
        tail.extend(b"PK\x05\x06\0\0\0\0");
        tail.extend([short(count).to_le_bytes(); 2].concat());
        tail.extend(four(length).to_le_bytes());
        tail.extend(four(self.offset).to_le_bytes());
        tail.extend([0; 2]);
        self.out.write_all(&directory)?;
        self.out.write_all(&tail)?;
        Ok(self.out)
    }
}

impl<W: Write + Seek> MemberWriter<'_, W> {
    /// Fills in checksum and length in the local header.
    pub(crate) fn finish(mut self) -> io::Result<MemberSummary> {
        self.member.crc = self.crc.finalize();
        let header = self.member.local();
        let end = self.member.offset + wide(header.len()) + self.member.size;
        self.zip.out.seek(SeekFrom::Start(self.member.offset))?;
        self.zip.out.write_all(&header)?;
        self.zip.out.seek(SeekFrom::Start(end))?;
        self.zip.offset = end;
        let size = self.member.size;
        self.zip.members.push(self.member);
        Ok(MemberSummary { size, sha256: self.sha256.finalize().into() })
    }
}

impl<W: Write + Seek> Write for MemberWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.zip.out.write_all(bytes)?;
        self.crc.update(bytes);
        self.sha256.update(bytes);
        self.member.size += wide(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.out.flush()
    }
}

impl MemberEntry {
    /// The local header. Its length does not depend on the numbers in it, because the sizes are
    /// ZIP64 values of fixed width.
    fn local(&self) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        self.common(&mut bytes, 20);
        bytes.extend(self.name.as_bytes());
        bytes.extend([1_u16.to_le_bytes(), 16_u16.to_le_bytes()].concat());
        bytes.extend([self.size.to_le_bytes(); 2].concat());
        bytes
    }

    fn central(&self) -> Vec<u8> {
        let mut bytes = b"PK\x01\x02".to_vec();
        bytes.extend(VERSION.to_le_bytes());
        self.common(&mut bytes, 28);
        // The entry has no comment, the archive has one disk, and there are no attributes.
        bytes.extend([0; 2 + 2 + 2 + 4]);
        bytes.extend(u32::MAX.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend([1_u16.to_le_bytes(), 24_u16.to_le_bytes()].concat());
        for number in [self.size, self.size, self.offset] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    fn common(&self, bytes: &mut Vec<u8>, extra: u16) {
        for number in [VERSION, FLAGS, 0] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [TIME, self.crc, u32::MAX, u32::MAX] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(short(wide(self.name.len())).to_le_bytes());
        bytes.extend(extra.to_le_bytes());
    }
}

fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

fn four(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn short(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
