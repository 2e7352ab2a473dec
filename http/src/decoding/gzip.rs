//! gzip (RFC 1952): members one behind the other, each with its header, its sum and its length.

use crc32fast::Hasher;

use super::inflate::Inflate;
use super::{Coding, Fault, Step, Undo};

/// The largest header of a member, in bytes: the extra field has at most 64 KiB, name and comment no
/// bound of their own.
const MAX_HEADER: usize = 128 * 1024;

/// What a member begins with (RFC 1952 §2.3.1).
const MAGIC: [u8; 2] = [0x1f, 0x8b];

const HEADER_SUM: u8 = 0x02;
const EXTRA: u8 = 0x04;
const NAME: u8 = 0x08;
const COMMENT: u8 = 0x10;
const RESERVED: u8 = 0xe0;

/// The coding `gzip`.
pub(super) struct Gzip {
    state: State,
    /// Made anew for each member, in the same memory.
    inflate: Inflate,
    /// Whether a whole member has come: what follows it need not be one.
    has_member: bool,
}

enum State {
    Header(Header),
    Data(Member),
    Trailer {
        got: usize,
        want: [u8; 8],
    },
    /// What follows is dropped, as browsers and gzip(1) do.
    Ended,
}

/// The data of a member being inflated.
struct Member {
    sum: Hasher,
    /// Modulo 2³², as the trailer has it.
    length: u32,
}

impl Gzip {
    pub(super) fn new() -> Self {
        let inflate = Inflate::new(Coding::Gzip, false);
        Self { state: State::Header(Header::new()), inflate, has_member: false }
    }

    fn header(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let State::Header(header) = &mut self.state else { return Ok(0) };
        for (taken, byte) in (1..).zip(input) {
            match header.take(*byte) {
                Ok(false) => {}
                Ok(true) => {
                    self.inflate.again();
                    self.state = State::Data(Member { sum: Hasher::new(), length: 0 });
                    return Ok(taken);
                }
                Err(NoMember) if self.has_member && header.is_magic_missing() => {
                    self.state = State::Ended;
                    return Ok(taken);
                }
                Err(NoMember) => return Err(Fault::Damaged(Coding::Gzip)),
            }
        }
        Ok(input.len())
    }

    fn trailer(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let State::Trailer { got, want } = &mut self.state else { return Ok(0) };
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
            self.state = State::Header(Header::new());
        }
        Ok(taken)
    }
}

impl Undo for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        match &mut self.state {
            State::Header(_) => Ok(Step { taken: self.header(input)?, made: 0 }),
            State::Data(member) => {
                let (step, is_end) = self.inflate.step(input, output)?;
                let made = output.get(..step.made).unwrap_or_default();
                member.sum.update(made);
                let length = u32::try_from(step.made).unwrap_or(u32::MAX);
                member.length = member.length.wrapping_add(length);
                if is_end {
                    let (sum, length) = (member.sum.clone().finalize(), member.length);
                    let want = u64::from(sum) | u64::from(length) << 32;
                    self.state = State::Trailer { got: 0, want: want.to_le_bytes() };
                }
                Ok(step)
            }
            State::Trailer { .. } => Ok(Step { taken: self.trailer(input)?, made: 0 }),
            State::Ended => Ok(Step { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        match &self.state {
            State::Header(header) => {
                header.taken == 0 || self.has_member && header.is_magic_missing()
            }
            State::Ended => true,
            State::Data(_) | State::Trailer { .. } => false,
        }
    }
}

/// The bytes are no header of a member.
struct NoMember;

/// The header of a member, byte by byte.
struct Header {
    taken: usize,
    flags: u8,
    part: Part,
}

/// Which part of a header comes next.
#[derive(Clone, Copy)]
enum Part {
    /// The first ten bytes.
    Fixed,
    /// The length of the extra field: its low byte, then its high byte.
    ExtraLow,
    ExtraHigh(u8),
    Extra(u16),
    Name,
    Comment,
    /// So many bytes of the header's own sum, which deflate's own check makes superfluous.
    Sum(u8),
    End,
}

impl Header {
    fn new() -> Self {
        Self { taken: 0, flags: 0, part: Part::Fixed }
    }

    /// Whether no member has begun.
    fn is_magic_missing(&self) -> bool {
        self.taken < MAGIC.len()
    }

    /// Takes the next byte; `true` when it was the last.
    fn take(&mut self, byte: u8) -> Result<bool, NoMember> {
        if self.taken >= MAX_HEADER {
            return Err(NoMember);
        }
        self.part = match self.part {
            Part::Fixed => match self.taken {
                0 | 1 if MAGIC.get(self.taken) != Some(&byte) => return Err(NoMember),
                // Deflate is the only method there is.
                2 if byte != 8 => return Err(NoMember),
                3 if byte & RESERVED != 0 => return Err(NoMember),
                3 => {
                    self.flags = byte;
                    Part::Fixed
                }
                9 => self.after(EXTRA),
                _ => Part::Fixed,
            },
            Part::ExtraLow => Part::ExtraHigh(byte),
            Part::ExtraHigh(low) => match u16::from_le_bytes([low, byte]) {
                0 => self.after(NAME),
                length => Part::Extra(length),
            },
            Part::Extra(1) => self.after(NAME),
            Part::Extra(left) => Part::Extra(left - 1),
            Part::Name if byte == 0 => self.after(COMMENT),
            Part::Comment if byte == 0 => self.after(HEADER_SUM),
            Part::Sum(1) => Part::End,
            Part::Sum(left) => Part::Sum(left.saturating_sub(1)),
            part @ (Part::Name | Part::Comment | Part::End) => part,
        };
        self.taken += 1;
        Ok(matches!(self.part, Part::End))
    }

    /// The first part that is there, from `first` on; the order is that of RFC 1952 §2.3.
    fn after(&self, first: u8) -> Part {
        let order = [
            (EXTRA, Part::ExtraLow),
            (NAME, Part::Name),
            (COMMENT, Part::Comment),
            (HEADER_SUM, Part::Sum(2)),
        ];
        let rest = order.into_iter().skip_while(|(flag, _)| *flag != first);
        rest.filter(|(flag, _)| self.flags & flag != 0)
            .map(|(_, part)| part)
            .next()
            .unwrap_or(Part::End)
    }
}
