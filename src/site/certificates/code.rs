//! QR code for an address to be opened on a phone.

use qrcode::{Color, EcLevel, QrCode};
use serde::Serialize;

/// Width of the empty border that a reader needs, in modules (ISO/IEC 18004).
const QUIET: usize = 4;

/// Maximum length of the text in bytes. The modules of a longer text would be too fine for a phone
/// held in front of a screen.
const LONGEST: usize = 300;

/// The modules of a QR code, as the template draws them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QrImage {
    /// The encoded text.
    pub text: String,
    /// Width and height including the border, in modules.
    pub size: usize,
    /// The dark modules, as the data of an SVG path.
    pub path: String,
}

impl QrImage {
    /// Encodes `text`; `None` if it is too long.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
        let width = code.width();
        let colors = code.to_colors();
        let mut path = String::new();
        for (y, row) in colors.chunks(width).enumerate() {
            let mut x = 0;
            // One stroke for adjacent modules: seams between squares confuse readers.
            for run in row.chunk_by(|one, next| one == next) {
                if run.first() == Some(&Color::Dark) {
                    let (left, top, length) = (x + QUIET, y + QUIET, run.len());
                    path = format!("{path}M{left} {top}h{length}v1h-{length}z");
                }
                x += run.len();
            }
        }
        Some(Self { text: text.to_owned(), size: width + 2 * QUIET, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_has_its_border_and_its_marks() {
        let code = QrImage::of("http://192.168.1.2:8080/ca.crt").unwrap();
        // Version 3 has 29 modules. A finder pattern begins in the corner.
        assert_eq!(code.size, 29 + 2 * QUIET);
        assert!(code.path.starts_with("M4 4h7v1h-7z"), "{}", code.path);
        assert_eq!(QrImage::of(&"x".repeat(LONGEST + 1)), None);
        assert!(QrImage::of(&"x".repeat(LONGEST)).unwrap().path.len() < 40_000);
    }
}
