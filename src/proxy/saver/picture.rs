//! Recompresses one picture. Blocks.

use std::io::Cursor;

use jpeg_encoder::{ColorType, Encoder};
use png::{BitDepth, Decoder, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Maximum number of pixels of a picture. A progressive JPEG takes 9 bytes of memory for each.
const MAX_PIXELS: usize = 16_000_000;

/// Maximum number of scans of a progressive JPEG. Each scan visits all pixels. Usual pictures have
/// about 10.
const MAX_SCANS: usize = 32;

/// The formats of pictures that can be recompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Jpeg,
    Png,
}

impl PictureFormat {
    /// The format of a media type. `None` if it is not one of these formats.
    pub(super) fn of_type(essence: &str) -> Option<Self> {
        match essence {
            "image/jpeg" => Some(Self::Jpeg),
            "image/png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// The pixels of a picture, and the metadata that decide how they are shown.
struct Pixels {
    width: u16,
    height: u16,
    colors: ColorType,
    samples: Vec<u8>,
    icc_profile: Option<Vec<u8>>,
    /// The Exif data, which have the orientation of a photo.
    exif: Option<Vec<u8>>,
}

/// Returns the picture as a JPEG of this quality. `None` if it cannot be decoded, has transparent
/// pixels or an animation, is too large, or would not get at least a quarter shorter.
pub(super) fn recompress(bytes: &[u8], format: PictureFormat, quality: u8) -> Option<Vec<u8>> {
    let pixels = match format {
        PictureFormat::Jpeg => read_jpeg(bytes),
        PictureFormat::Png => read_png(bytes),
    }?;
    let mut new = Vec::new();
    let mut encoder = Encoder::new(&mut new, quality.clamp(1, 100));
    encoder.set_optimized_huffman_tables(true);
    if let Some(profile) = pixels.icc_profile {
        encoder.add_icc_profile(&profile).ok()?;
    }
    if let Some(exif) = pixels.exif {
        encoder.add_exif_metadata(&exif).ok()?;
    }
    encoder.encode(&pixels.samples, pixels.width, pixels.height, pixels.colors).ok()?;
    (new.len() <= bytes.len() / 4 * 3).then_some(new)
}

/// The sides of a picture. `None` if it has too many pixels.
fn sides(width: usize, height: usize) -> Option<(u16, u16)> {
    let is_small = width.checked_mul(height).is_some_and(|pixels| pixels <= MAX_PIXELS);
    Some((u16::try_from(width).ok()?, u16::try_from(height).ok()?)).filter(|_| is_small)
}

fn read_jpeg(bytes: &[u8]) -> Option<Pixels> {
    // A damaged picture is refused, so that the browser decides what it shows of it.
    let options = DecoderOptions::default().set_strict_mode(true).jpeg_set_max_scans(MAX_SCANS);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    let info = decoder.info()?;
    let (width, height) = sides(info.width.into(), info.height.into())?;
    let (space, colors) = match decoder.input_colorspace()? {
        ColorSpace::Luma => (ColorSpace::Luma, ColorType::Luma),
        ColorSpace::YCbCr | ColorSpace::RGB => (ColorSpace::RGB, ColorType::Rgb),
        // The profile of a picture for printers is one for its own colors.
        _ => return None,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let samples = decoder.decode().ok()?;
    let (icc_profile, exif) = (decoder.icc_profile(), decoder.exif().cloned());
    Some(Pixels { width, height, colors, samples, icc_profile, exif })
}

fn read_png(bytes: &[u8]) -> Option<Pixels> {
    let limits = Limits { bytes: MAX_PIXELS * 4 };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let header = decoder.read_header_info().ok()?;
    let (width, height) = sides(header.width.try_into().ok()?, header.height.try_into().ok()?)?;
    let mut reader = decoder.read_info().ok()?;
    if reader.info().animation_control.is_some() {
        return None;
    }
    let mut samples = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut samples).ok()?;
    reader.finish().ok()?;
    if frame.bit_depth != BitDepth::Eight {
        return None;
    }
    let is_opaque =
        |size: usize| samples.chunks_exact(size).all(|pixel| pixel.last() == Some(&u8::MAX));
    let colors = match frame.color_type {
        png::ColorType::Grayscale => ColorType::Luma,
        png::ColorType::Rgb => ColorType::Rgb,
        // The encoder ignores the transparency.
        png::ColorType::Rgba if is_opaque(4) => ColorType::Rgba,
        png::ColorType::GrayscaleAlpha if is_opaque(2) => {
            samples = samples.into_iter().step_by(2).collect();
            ColorType::Luma
        }
        _ => return None,
    };
    let icc_profile = reader.info().icc_profile.as_ref().map(|profile| profile.to_vec());
    Some(Pixels { width, height, colors, samples, icc_profile, exif: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture with a soft pattern, as in photos.
    fn samples(side: u16, channels: usize) -> Vec<u8> {
        let mut noise = 1_u32;
        let mut all = Vec::new();
        for y in 0..u32::from(side) {
            for x in 0..u32::from(side) {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                for channel in 0..u32::try_from(channels).unwrap() {
                    let value = (x * (channel + 1) + y * 2) / 4 + (noise >> 29);
                    let is_alpha = matches!(channels, 2 | 4)
                        && usize::try_from(channel).unwrap() + 1 == channels;
                    all.push(if is_alpha { 255 } else { value.to_le_bytes()[0] });
                }
            }
        }
        all
    }

    fn png(side: u16, color: png::ColorType, samples: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, side.into(), side.into());
        encoder.set_color(color);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(samples).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn jpeg(side: u16, color: ColorType, samples: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 95);
        encoder.add_exif_metadata(b"MM\0*\0\0\0\x08\0\0").unwrap();
        encoder.add_icc_profile(b"a profile").unwrap();
        encoder.encode(samples, side, side, color).unwrap();
        bytes
    }

    #[test]
    fn opaque_pictures_become_shorter_jpegs() {
        use PictureFormat::{Jpeg, Png};
        for (name, format, bytes) in [
            ("rgb", Png, png(200, png::ColorType::Rgb, &samples(200, 3))),
            ("gray", Png, png(200, png::ColorType::Grayscale, &samples(200, 1))),
            ("rgba", Png, png(200, png::ColorType::Rgba, &samples(200, 4))),
            ("gray alpha", Png, png(200, png::ColorType::GrayscaleAlpha, &samples(200, 2))),
            ("jpeg", Jpeg, jpeg(200, ColorType::Rgb, &samples(200, 3))),
            ("gray jpeg", Jpeg, jpeg(200, ColorType::Luma, &samples(200, 1))),
        ] {
            let new = recompress(&bytes, format, 40).expect(name);
            assert!(new.len() <= bytes.len() / 4 * 3, "{name}");
            let shown = read_jpeg(&new).expect(name);
            assert_eq!((shown.width, shown.height), (200, 200), "{name}");
            if format == Jpeg {
                assert_eq!(shown.icc_profile.as_deref(), Some(&b"a profile"[..]), "{name}");
                assert!(shown.exif.is_some_and(|exif| exif.starts_with(b"MM")), "{name}");
            }
            // A second time nothing is gained.
            assert_eq!(recompress(&new, Jpeg, 40), None, "{name}");
        }
    }

    #[test]
    fn other_pictures_stay_as_they_are() {
        use PictureFormat::{Jpeg, Png};
        let mut clear = samples(200, 4);
        clear[3] = 254;
        let good = png(200, png::ColorType::Rgb, &samples(200, 3));
        let photo = jpeg(200, ColorType::Rgb, &samples(200, 3));
        let mut huge = good.clone();
        // The width and the height in the header, and its checksum.
        for at in [16, 20] {
            huge[at..at + 4].copy_from_slice(&100_000_u32.to_be_bytes());
        }
        let sum = crc32fast::hash(&huge[12..29]);
        huge[29..33].copy_from_slice(&sum.to_be_bytes());
        for (name, format, bytes) in [
            ("transparent", Png, png(200, png::ColorType::Rgba, &clear)),
            ("100,000 pixels wide", Png, huge),
            ("truncated", Png, good[..good.len() / 2].to_vec()),
            ("truncated", Jpeg, photo[..photo.len() / 2].to_vec()),
            ("another type", Jpeg, good),
            ("another type", Png, photo),
            ("no picture", Png, b"<svg/>".to_vec()),
            ("empty", Jpeg, Vec::new()),
        ] {
            assert_eq!(recompress(&bytes, format, 40), None, "{name} {format:?}");
        }
    }

    /// Bytes changed at random positions, with checksums that no longer match or without any.
    #[test]
    #[ignore = "slow"]
    fn damaged_pictures_cause_no_panic() {
        let mut random = 7_u32;
        let mut next = |below: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            usize::try_from(random >> 8).unwrap() % below
        };
        for (format, good) in [
            (PictureFormat::Png, png(40, png::ColorType::Rgb, &samples(40, 3))),
            (PictureFormat::Jpeg, jpeg(40, ColorType::Rgb, &samples(40, 3))),
        ] {
            for _ in 0..2_000 {
                let mut bytes = good.clone();
                for _ in 0..=next(4) {
                    let at = next(bytes.len());
                    bytes[at] = next(256).to_le_bytes()[0];
                }
                let _any = recompress(&bytes, format, 40);
            }
        }
    }
}
