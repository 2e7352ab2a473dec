//! Media types by file extension, for mirrors without response heads.

/// Extensions and their media types.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "application/xhtml+xml"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("rss", "application/rss+xml"),
    ("atom", "application/atom+xml"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("md", "text/markdown"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("pdf", "application/pdf"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("wasm", "application/wasm"),
];

/// The media type of a file with this name and beginning.
pub(crate) fn of(name: &str, beginning: &[u8]) -> &'static str {
    // In `style.css?v=1.2` the extension is before the `?`. wget writes the extension of a page at
    // the end of the whole name, as in `page?id=1.html`.
    let path = name.split('?').next().unwrap_or(name);
    for name in [name, path] {
        let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
        if let Some((_, kind)) = TYPES.iter().find(|(one, _)| *one == end) {
            return kind;
        }
    }
    let beginning = String::from_utf8_lossy(beginning).trim_start().to_ascii_lowercase();
    if beginning.starts_with("<!doctype html") || beginning.starts_with("<html") {
        return "text/html";
    }
    "application/octet-stream"
}

/// The usual extension of a media type; `None` if [`TYPES`] does not contain the media type.
pub(crate) fn end_of(kind: &str) -> Option<&'static str> {
    TYPES.iter().find(|(_, one)| *one == kind).map(|(end, _)| *end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_follows_from_extension_or_content() {
        for (name, beginning, want) in [
            ("index.html", "", "text/html"),
            ("a.PNG", "", "image/png"),
            ("style.css?v=1.2", "", "text/css"),
            ("page?id=1.html", "", "text/html"),
            ("page", " <!DOCTYPE html>", "text/html"),
            ("page", "hello", "application/octet-stream"),
        ] {
            assert_eq!(of(name, beginning.as_bytes()), want, "{name}");
        }
    }
}
