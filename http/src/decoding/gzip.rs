//! gzip (RFC 1952): a sequence of members, each with header, checksum and length.

use crc32fast::Hasher;

use super::inflate::Inflate;
use super::{Coding, DecodeStep, Fault, LayerDecoder};

/// The largest member header in bytes. The extra field has at most 64 KiB; name and comment are
/// unlimited in the format.
const MAX_HEADER: usize = 128 * 1024;

/// The first bytes of a member (RFC 1952 §2.3.1).
const MAGIC: [u8; 2] = [0x1f, 0x8b];

const HEADER_SUM: u8 = 0x02;
const EXTRA: u8 = 0x04;
const NAME: u8 = 0x08;
const COMMENT: u8 = 0x10;
const RESERVED: u8 = 0xe0;

/// The coding `gzip`.
pub(super) struct Gzip {
    state: GzipState,
    /// The deflate decoder. It is reset for each member, so that its memory is reused.
    inflate: Inflate,
    /// Whether a member is complete. Then the bytes after it may be anything.
    has_member: bool,
}

enum GzipState {
    HeaderParser(HeaderParser),
    Data(MemberData),
    Trailer {
        got: usize,
        want: [u8; 8],
    },
    /// The data has ended. Later bytes are dropped, as in browsers and gzip(1).
    Ended,
}

/// Checksum and length of the member that is being decoded.
struct MemberData {
    sum: Hasher,
    /// The number of decoded bytes, modulo 2³² as in the trailer.
    length: u32,
}

impl Gzip {
    pub(super) fn new() -> Self {
        let inflate = Inflate::new(Coding::Gzip, false);
        Self { state: GzipState::HeaderParser(HeaderParser::new()), inflate, has_member: false }
    }

    fn header(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let GzipState::HeaderParser(header) = &mut self.state else { return Ok(0) };
        for (taken, byte) in (1..).zip(input) {
            match header.take(*byte) {
                Ok(false) => {}
                Ok(true) => {
                    self.inflate.reset_decoder();
                    self.state = GzipState::Data(MemberData { sum: Hasher::new(), length: 0 });
                    return Ok(taken);
                }
                Err(NotAMember) if self.has_member && header.is_magic_missing() => {
                    self.state = GzipState::Ended;
                    return Ok(taken);
                }
                Err(NotAMember) => return Err(Fault::Damaged(Coding::Gzip)),
            }
        }
        Ok(input.len())
    }

    fn trailer(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let GzipState::Trailer { got, want } = &mut self.state else { return Ok(0) };
        let mut taken = 0;
        for (byte, wanted) in input.iter().zip(want.iter().skip(*got)) {
            if byte != wanted {
                return Err(Fault::Damaged(Coding::Gzip));
            }
            taken += 1;
        }
        *got += taken;
        if *got == want.len() {
            self.has_member = true;
            self.state = GzipState::HeaderParser(HeaderParser::new());
        }
        Ok(taken)
    }
}

impl LayerDecoder for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault> {
        match &mut self.state {
            GzipState::HeaderParser(_) => Ok(DecodeStep { taken: self.header(input)?, made: 0 }),
            GzipState::Data(member) => {
                let (step, is_end) = self.inflate.step(input, output)?;
                let made = output.get(..step.made).unwrap_or_default();
                member.sum.update(made);
                let length = u32::try_from(step.made).unwrap_or(u32::MAX);
                member.length = member.length.wrapping_add(length);
                if is_end {
                    let (sum, length) = (member.sum.clone().finalize(), member.length);
                    let want = u64::from(sum) | u64::from(length) << 32;
                    self.state = GzipState::Trailer { got: 0, want: want.to_le_bytes() };
                }
                Ok(step)
            }
            GzipState::Trailer { .. } => Ok(DecodeStep { taken: self.trailer(input)?, made: 0 }),
            GzipState::Ended => Ok(DecodeStep { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        match &self.state {
            GzipState::HeaderParser(header) => {
                header.taken == 0 || self.has_member && header.is_magic_missing()
            }
            GzipState::Ended => true,
            GzipState::Data(_) | GzipState::Trailer { .. } => false,
        }
    }
}

/// The bytes are not a member header.
struct NotAMember;

/// The header of a member, parsed byte by byte.
struct HeaderParser {
    taken: usize,
    flags: u8,
    part: HeaderPart,
}

/// The next part of a header.
#[derive(Clone, Copy)]
enum HeaderPart {
    /// The first ten bytes.
    Fixed,
    /// The length of the extra field: its low byte, then its high byte.
    ExtraLow,
    ExtraHigh(u8),
    Extra(u16),
    Name,
    Comment,
    /// Remaining bytes of the header checksum, which is not verified: deflate and the trailer
    /// detect damage.
    Sum(u8),
    End,
}

impl HeaderParser {
    fn new() -> Self {
        Self { taken: 0, flags: 0, part: HeaderPart::Fixed }
    }

    /// Whether the magic number has not been read completely.
    fn is_magic_missing(&self) -> bool {
        self.taken < MAGIC.len()
    }

    /// Reads the next byte; `true` if it was the last one of the header.
    fn take(&mut self, byte: u8) -> Result<bool, NotAMember> {
        if self.taken >= MAX_HEADER {
            return Err(NotAMember);
        }
        self.part = match self.part {
            HeaderPart::Fixed => match self.taken {
                0 | 1 if MAGIC.get(self.taken) != Some(&byte) => return Err(NotAMember),
                // Deflate is the only defined method.
                2 if byte != 8 => return Err(NotAMember),
                3 if byte & RESERVED != 0 => return Err(NotAMember),
                3 => {
                    self.flags = byte;
                    HeaderPart::Fixed
                }
                9 => self.after(EXTRA),
                _ => HeaderPart::Fixed,
            },
            HeaderPart::ExtraLow => HeaderPart::ExtraHigh(byte),
            HeaderPart::ExtraHigh(low) => match u16::from_le_bytes([low, byte]) {
                0 => self.after(NAME),
                length => HeaderPart::Extra(length),
            },
            HeaderPart::Extra(1) => self.after(NAME),
            HeaderPart::Extra(left) => HeaderPart::Extra(left - 1),
            HeaderPart::Name if byte == 0 => self.after(COMMENT),
            HeaderPart::Comment if byte == 0 => self.after(HEADER_SUM),
            HeaderPart::Sum(1) => HeaderPart::End,
            HeaderPart::Sum(left) => HeaderPart::Sum(left.saturating_sub(1)),
            part @ (HeaderPart::Name | HeaderPart::Comment | HeaderPart::End) => part,
        };
        self.taken += 1;
        Ok(matches!(self.part, HeaderPart::End))
    }

    /// The next existing part, from `first` on, in the order of RFC 1952 §2.3.
    fn after(&self, first: u8) -> HeaderPart {
        let order = [
            (EXTRA, HeaderPart::ExtraLow),
            (NAME, HeaderPart::Name),
            (COMMENT, HeaderPart::Comment),
            (HEADER_SUM, HeaderPart::Sum(2)),
        ];
        let rest = order.into_iter().skip_while(|(flag, _)| *flag != first);
        rest.filter(|(flag, _)| self.flags & flag != 0)
            .map(|(_, part)| part)
            .next()
            .unwrap_or(HeaderPart::End)
    }
}
