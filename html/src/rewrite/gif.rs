//! Stops the animation of a GIF: the output ends after its first picture (`GIF89a`, appendix B).

/// The last byte of an image.
const TRAILER: u8 = 0x3b;

/// The parser state. The numbers count remaining bytes, except in `Header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GifState {
    /// `GIF87a` or `GIF89a`, with the number of bytes read.
    Header(usize),
    /// The logical screen descriptor of seven bytes; its fifth byte gives the number of colours.
    Screen(usize),
    /// A colour table.
    Colours { left: usize, then: AfterColours },
    /// Before the first byte of a block, which determines its type.
    Block,
    /// The label of an extension.
    Label,
    /// The length of a sub-block of a picture or an extension.
    Length { of_picture: bool },
    /// A sub-block.
    Data { left: u8, of_picture: bool },
    /// The image descriptor of nine bytes; its last byte gives the number of colours.
    Picture(usize),
    /// The LZW minimum code size.
    CodeSize,
    /// The end: all further bytes are dropped.
    End,
    /// Not a GIF: all bytes are passed on.
    Foreign,
}

/// The state after a colour table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterColours {
    Block,
    CodeSize,
}

const SCREEN: usize = 7;
const PICTURE: usize = 9;

/// A filter that truncates a GIF after its first picture. Other data and truncated images are
/// unchanged.
///
/// ```
/// # use wwwoffle_html::rewrite::FirstFrame;
/// let mut still = FirstFrame::default();
/// assert_eq!(still.write(b"no image"), b"no image");
/// ```
#[derive(Debug)]
pub struct FirstFrame {
    at: GifState,
}

impl Default for FirstFrame {
    fn default() -> Self {
        Self { at: GifState::Header(0) }
    }
}

impl FirstFrame {
    /// Returns the output for the next piece.
    #[must_use]
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut sent = Vec::with_capacity(piece.len());
        for byte in piece {
            if self.at == GifState::End {
                break;
            }
            sent.push(*byte);
            self.at = next(self.at, *byte);
            if matches!(self.at, GifState::End) && *byte != TRAILER {
                sent.push(TRAILER);
            }
        }
        sent
    }
}

fn next(at: GifState, byte: u8) -> GifState {
    match at {
        GifState::Header(had) => header(had, byte),
        GifState::Screen(left) if left == SCREEN - 4 => match colours(byte, AfterColours::Block) {
            // The background index and the aspect ratio follow before the colours.
            Some(GifState::Colours { left, then }) => GifState::Colours { left: left + 2, then },
            _ => GifState::Screen(left - 1),
        },
        GifState::Screen(1) => GifState::Block,
        GifState::Screen(left) => GifState::Screen(left - 1),
        GifState::Colours { left: 1, then } => after(then),
        GifState::Colours { left, then } => GifState::Colours { left: left - 1, then },
        GifState::Block => match byte {
            0x2c => GifState::Picture(PICTURE),
            0x21 => GifState::Label,
            TRAILER => GifState::End,
            _ => GifState::Foreign,
        },
        GifState::Label => GifState::Length { of_picture: false },
        GifState::Length { of_picture: true } if byte == 0 => GifState::End,
        GifState::Length { of_picture: false } if byte == 0 => GifState::Block,
        GifState::Length { of_picture } => GifState::Data { left: byte, of_picture },
        GifState::Data { left: 1, of_picture } => GifState::Length { of_picture },
        GifState::Data { left, of_picture } => GifState::Data { left: left - 1, of_picture },
        GifState::Picture(1) => colours(byte, AfterColours::CodeSize).unwrap_or(GifState::CodeSize),
        GifState::Picture(left) => GifState::Picture(left - 1),
        GifState::CodeSize => GifState::Length { of_picture: true },
        GifState::End | GifState::Foreign => at,
    }
}

fn header(had: usize, byte: u8) -> GifState {
    let is_it = match had {
        0 => byte == b'G',
        1 => byte == b'I',
        2 => byte == b'F',
        3 => byte == b'8',
        4 => matches!(byte, b'7' | b'9'),
        _ => byte == b'a',
    };
    match had {
        _ if !is_it => GifState::Foreign,
        5 => GifState::Screen(SCREEN),
        _ => GifState::Header(had + 1),
    }
}

/// The colour table that a byte of flags announces: 2 to 256 colours of three bytes. `None` if the
/// byte announces no table.
fn colours(flags: u8, then: AfterColours) -> Option<GifState> {
    (flags & 0x80 != 0).then(|| GifState::Colours { left: 3 << ((flags & 0x07) + 1), then })
}

fn after(then: AfterColours) -> GifState {
    match then {
        AfterColours::Block => GifState::Block,
        AfterColours::CodeSize => GifState::CodeSize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN_WITH_COLOURS: &[u8] = b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\xff\xff";
    const LOOP: &[u8] = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0";
    const CONTROL: &[u8] = b"\x21\xf9\x04\0\x0a\0\0\0";
    const PICTURE: &[u8] = b"\x2c\0\0\0\0\x02\0\x02\0\0\x02\x03\x84\x51\x05\0";
    /// A picture with its own colours.
    const OTHER: &[u8] = b"\x2c\0\0\0\0\x02\0\x02\0\x80abcdef\x02\x03\x84\x51\x05\0";

    #[test]
    fn an_animation_is_truncated_after_its_first_frame() {
        let end: &[u8] = &[TRAILER];
        let plain: &[u8] = b"GIF87a\x02\0\x02\0\0\0\0";
        for (image, want) in [
            (
                [SCREEN_WITH_COLOURS, LOOP, CONTROL, PICTURE, CONTROL, OTHER, end].concat(),
                [SCREEN_WITH_COLOURS, LOOP, CONTROL, PICTURE, end].concat(),
            ),
            ([plain, OTHER, PICTURE, end].concat(), [plain, OTHER, end].concat()),
            ([plain, PICTURE, end].concat(), [plain, PICTURE, end].concat()),
            ([plain, end, b"rest"].concat(), [plain, end].concat()),
            // Truncated, invalid, and not a GIF.
            ([plain, b"\x2c\0"].concat(), [plain, b"\x2c\0"].concat()),
            ([plain, b"\0", PICTURE, PICTURE].concat(), [plain, b"\0", PICTURE, PICTURE].concat()),
            (b"GIF88a".to_vec(), b"GIF88a".to_vec()),
            (b"\x89PNG\r\n".to_vec(), b"\x89PNG\r\n".to_vec()),
            (Vec::new(), Vec::new()),
        ] {
            for size in [1, 3, image.len().max(1)] {
                let mut still = FirstFrame::default();
                let sent: Vec<u8> =
                    image.chunks(size).flat_map(|piece| still.write(piece)).collect();
                assert_eq!(sent, want, "{} in pieces of {size}", image.escape_ascii());
            }
        }
    }
}
