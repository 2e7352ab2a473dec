//! Names of the files in an exported folder.
//!
//! URLs come from the network, so names consist of allowed characters only. A file cannot be outside
//! the folder, be hidden, or have the name of a device, also on FAT and NTFS.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::FolderForm;
use crate::export::saved::DocumentShape;
use crate::types;

/// The longest component of a path in bytes. File systems allow 255.
const MAX_PART: usize = 80;

/// The longest path in the folder, in bytes. Some systems allow 260 for the whole path.
const MAX_PATH: usize = 180;

/// The longest extension in bytes that a shortened name keeps.
const MAX_END: usize = 8;

/// The maximum number of nested folders. The names of deeper folders are joined into one.
const MAX_DEPTH: usize = 20;

/// Names that some systems reserve for devices, without the digits that may follow.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Extensions of files that browsers show, play or offer to save, and of which they run no scripts.
/// Systems open these files as data. Other files get none of their own extensions, because systems
/// know many for documents with scripts and for programs.
const INERT: [&str; 65] = [
    "7z", "aac", "apng", "avi", "avif", "bin", "bmp", "bz2", "csv", "doc", "docx", "eot", "epub",
    "flac", "gif", "gz", "heic", "ico", "jfif", "jpe", "jpeg", "jpg", "json", "jxl", "m4a", "m4v",
    "md", "mid", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "odp", "ods", "odt", "oga", "ogg",
    "ogv", "opus", "otf", "pdf", "png", "ppt", "pptx", "rar", "rtf", "tar", "tgz", "tif", "tiff",
    "ttf", "txt", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip",
    "zst",
];

/// The mark before what is added to a name. It is not `~`: FAT has a second name like `LONGFI~1.HTM`
/// for each file with a long name.
const MARK: char = '+';

/// The names in use. They are compared without case, for file systems that ignore case.
#[derive(Debug)]
pub(super) struct Names {
    files: HashSet<String>,
    folders: HashSet<String>,
}

impl Default for Names {
    fn default() -> Self {
        Self { files: HashSet::from(["index.html".to_owned()]), folders: HashSet::new() }
    }
}

impl Names {
    /// Returns the folders for a URL, and a file name that is not in use there. The extension tells
    /// browsers the media type `kind`.
    pub(super) fn of(&mut self, url: &str, kind: &str, form: FolderForm) -> Vec<String> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (path, arguments) = rest.split_once('?').unwrap_or((rest, ""));
        let (folders, name) = path.rsplit_once('/').unwrap_or((path, ""));
        let mut parts: Vec<String> = folders.split('/').map(safe).collect();
        let name = if name.is_empty() { "index" } else { name };
        let mut name = match arguments {
            "" => safe(name),
            arguments => safe(&format!("{name}@{arguments}")),
        };
        if parts.len() > MAX_DEPTH {
            let deep = parts.split_off(MAX_DEPTH).join("/");
            parts.push(short(&deep));
        }
        name = with_extension(name, kind, form);
        if parts.iter().map(|part| part.len() + 1).sum::<usize>() + name.len() > MAX_PATH {
            let (_, end) = name.rsplit_once('.').unwrap_or_default();
            let end = if end.len() > MAX_END { "bin" } else { end };
            let whole = format!("{}/{name}", parts.split_off(1).join("/"));
            name = format!("{}.{end}", short(&whole));
        }
        let mut folder = String::new();
        for part in &mut parts {
            while self.files.contains(&format!("{folder}{part}").to_lowercase()) {
                part.push(MARK);
            }
            folder = format!("{folder}{part}/");
            self.folders.insert(folder.trim_end_matches('/').to_lowercase());
        }
        parts.push(self.free(&folder, &name));
        parts
    }

    /// Returns a name that is not in use in the folder.
    fn free(&mut self, folder: &str, name: &str) -> String {
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let dot = if end.is_empty() { "" } else { "." };
        let mut free = name.to_owned();
        for number in 2_u32.. {
            let whole = format!("{folder}{free}").to_lowercase();
            if !self.folders.contains(&whole) && self.files.insert(whole) {
                break;
            }
            free = format!("{stem}{MARK}{number}{dot}{end}");
        }
        free
    }
}

/// Adds an extension to a name if the name does not tell its media type. In a folder to browse, a
/// file that was not rewritten has an extension of [`INERT`]. Without any, the browser would guess
/// the type.
fn with_extension(mut name: String, kind: &str, form: FolderForm) -> String {
    let shape = DocumentShape::of(kind);
    // Saved pages are HTML, and an SVG image is embedded in a page that shows it.
    let is_html =
        form == FolderForm::Browsable && matches!(shape, DocumentShape::Page | DocumentShape::Svg);
    let kind = if is_html { "text/html" } else { kind };
    let is_told = types::of(&name, b"") == kind;
    if let Some(end) = types::end_of(kind).filter(|_| !is_told) {
        name = format!("{name}.{end}");
    }
    if form == FolderForm::Browsable && shape == DocumentShape::Other {
        let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
        if end.is_none_or(|end| !INERT.contains(&end.as_str())) {
            let is_text = kind.starts_with("text/") || kind.ends_with("xml");
            name.push_str(if is_text { ".txt" } else { ".bin" });
        }
    }
    name
}

/// Converts a path component of a URL to a plain name.
fn safe(part: &str) -> String {
    let mut name = String::new();
    for (index, byte) in part.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_~+,=@".contains(&byte);
        let next = part.as_bytes().get(index + 1);
        let is_dot = byte == b'.' && index > 0 && next.is_some();
        let is_alias = byte == b'~' && next.is_some_and(u8::is_ascii_digit);
        if (is_plain || is_dot) && !is_alias {
            name.push(char::from(byte));
        } else {
            name = format!("{name}%{}", hex::encode([byte]));
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    if name.len() > MAX_PART { short(&name) } else { no_device(name) }
}

/// Changes a name that some systems reserve for a device.
fn no_device(name: String) -> String {
    let stem = name.split(['.', MARK]).next().unwrap_or_default().to_ascii_lowercase();
    let stem = stem.trim_end_matches(|character: char| character.is_ascii_digit());
    if DEVICES.contains(&stem) { format!("_{name}") } else { name }
}

/// The beginning of a long name, with a digest that keeps it unique.
fn short(name: &str) -> String {
    let begin: String = name.chars().filter(|one| *one != '/').take(MAX_PART - 33).collect();
    let digest = hex::encode(Sha256::digest(name));
    no_device(format!("{begin}{MARK}{}", digest.get(..32).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::path::{Component, PathBuf};

    use super::*;

    #[test]
    fn urls_become_names() {
        let mut names = Names::default();
        for (url, kind, want) in [
            ("http://a.example/", "text/html", "a.example/index.html"),
            ("http://a.example/b/", "text/html", "a.example/b/index.html"),
            ("http://a.example/b", "text/html", "a.example/b.html"),
            ("http://a.example/c.png", "image/png", "a.example/c.png"),
            ("http://a.example/c.png?x=1&y", "image/png", "a.example/c.png@x=1%26y.png"),
            ("http://a.example/n%2520x?q=a%26b", "text/html", "a.example/n%252520x@q=a%2526b.html"),
            ("http://a.example/n%2520x", "text/html", "a.example/n%252520x.html"),
            ("http://a.example/C.PNG", "image/png", "a.example/C+2.PNG"),
            ("http://a.example/c.png/d", "text/plain", "a.example/c.png+/d.txt"),
            ("http://a.example/odd", "application/odd", "a.example/odd"),
            ("http://a.example/odd/x", "application/odd", "a.example/odd+/x"),
            ("http://a.example:8080/con", "text/css", "a.example%3a8080/_con.css"),
            ("http://a.example/../../etc", "unk", "a.example/%2e%2e/%2e%2e/etc"),
            ("http://a.example/.htaccess", "unk", "a.example/%2ehtaccess"),
            ("http://a.example//x%00y", "unk", "a.example/%/x%2500y"),
            ("http://index.html/x", "unk", "index.html+/x"),
            ("http://a.example/LONGFI~1.HTM", "text/html", "a.example/LONGFI%7e1.HTM"),
            ("http://a.example/~ada/", "text/html", "a.example/~ada/index.html"),
            ("http://a.example/com1.x.y", "unk", "a.example/_com1.x.y"),
        ] {
            assert_eq!(names.of(url, kind, FolderForm::Unchanged).join("/"), want, "{url}");
        }
    }

    #[test]
    fn only_rewritten_files_have_names_of_documents() {
        let mut names = Names::default();
        for (url, kind, want) in [
            ("http://a.example/", "text/html", "a.example/index.html"),
            ("http://a.example/page.xhtml", "application/xhtml+xml", "a.example/page.xhtml.html"),
            ("http://a.example/page.htm", "text/html", "a.example/page.htm"),
            ("http://a.example/a.svg", "image/svg+xml", "a.example/a.svg.html"),
            ("http://a.example/evil.html", "application/octet-stream", "a.example/evil.html.bin"),
            ("http://a.example/evil.xhtm", "application/octet-stream", "a.example/evil.xhtm.bin"),
            ("http://a.example/evil.HTA", "text/plain", "a.example/evil.HTA.txt"),
            ("http://a.example/code.js", "text/javascript", "a.example/code.js.txt"),
            ("http://a.example/s.css", "text/css", "a.example/s.css"),
            ("http://a.example/setup.exe", "application/x", "a.example/setup.exe.bin"),
            ("http://a.example/film.MKV", "video/x-matroska", "a.example/film.MKV"),
            ("http://a.example/evil.svg", "image/png", "a.example/evil.svg.png"),
            ("http://a.example/feed", "application/xml", "a.example/feed.xml.txt"),
            ("http://a.example/feed.RSS", "application/octet-stream", "a.example/feed.RSS.bin"),
            ("http://a.example/unknown", "application/octet-stream", "a.example/unknown.bin"),
            ("http://a.example/setup.doc", "application/msword", "a.example/setup.doc"),
        ] {
            assert_eq!(names.of(url, kind, FolderForm::Browsable).join("/"), want, "{url}");
        }
    }

    /// The folders below the twentieth are joined, so that parts of names become a name.
    #[test]
    fn a_shortened_name_is_no_device() {
        let deep = format!("http://a.example/{}co/n.txt/{}/x", "a/".repeat(19), "b/".repeat(50));
        let parts = Names::default().of(&deep, "text/html", FolderForm::Browsable);
        assert!(parts.iter().all(|part| !part.starts_with("con.")), "{parts:?}");
        assert!(short("co/n.txt").starts_with("_con.txt+"));
        assert!(short("nu/l").starts_with("_nul+"));
    }

    #[test]
    fn export_names_are_safe_and_unique() {
        let (mut names, mut given) = (Names::default(), HashSet::new());
        let long = "x".repeat(5_000);
        let deep = "a/".repeat(3_000);
        for part in ["..", ".", "", "/", "\\", "a\nb", "%2e%2e", "é", "CON", &long, &deep] {
            for url in [format!("http://{part}/{part}"), format!("http://h/{part}?{part}")] {
                for _ in 0..2 {
                    let parts = names.of(&url, "text/html", FolderForm::Browsable);
                    let path: PathBuf = parts.iter().collect();
                    let plain = |one: Component<'_>| matches!(one, Component::Normal(_));
                    assert!(path.components().all(plain), "{path:?}");
                    assert_eq!(path.components().count(), parts.len(), "{path:?}");
                    assert!(parts.iter().all(|part| part.len() < 200 && !part.starts_with('.')));
                    assert!(parts.len() <= MAX_DEPTH + 2);
                    assert!(path.to_string_lossy().len() < 240, "{path:?}");
                    assert!(given.insert(path.to_string_lossy().to_lowercase()), "{path:?}");
                }
            }
        }
    }
}
