//! File names: the role that a name suggests, and the right name of an entry. Nothing here reads
//! the disk.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_url::Key;

use crate::entry::place::{self, EXTENSION, Place, VARIANTS};
use crate::tree::versions::version_path;

/// The ending of update files.
const OVERLAY: &str = ".update.warc";

/// The type of a file in a directory of entries, derived from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// The name of an entry or an older version.
    Entry,
    /// The name of an update file.
    Overlay,
    /// A name with the ending of an entry, but without a valid stem.
    AsEntry,
    /// A foreign name.
    Other,
}

/// The type of a file with this name.
pub(super) fn named(name: &str) -> NameKind {
    if name.ends_with(OVERLAY) {
        return NameKind::Overlay;
    }
    match name.strip_suffix(EXTENSION) {
        Some(stem) if is_stem(stem) => NameKind::Entry,
        Some(_) => NameKind::AsEntry,
        None => NameKind::Other,
    }
}

/// Whether a stem is a key, or a key and a time.
fn is_stem(stem: &str) -> bool {
    let (key, time) = stem.split_once('.').unwrap_or((stem, ""));
    let is_time = |time: &str| time.len() == 22 && time.bytes().all(|b| b.is_ascii_alphanumeric());
    key.parse::<Key>().is_ok() && (!stem.contains('.') || is_time(time))
}

/// Whether the name contains a time, like the names of older versions.
fn is_version(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    is_stem(stem) && stem.contains('.')
}

/// Whether a directory of this name belongs to the spool. At `depth` 1 it is in the directory of a
/// scheme.
pub(super) fn is_directory(name: &str, depth: usize) -> bool {
    match depth {
        1 => name.starts_with('=') || place::host_of(name).is_some(),
        2 => is_group(name),
        3 => name.strip_suffix(VARIANTS).is_some_and(|key| key.parse::<Key>().is_ok()),
        _ => false,
    }
}

/// Whether a name is a key with the ending of an entry.
pub(super) fn is_key_file(name: &str) -> bool {
    name.strip_suffix(EXTENSION).is_some_and(|key| key.parse::<Key>().is_ok())
}

/// Whether a name is two hex digits, as that of a directory of keys.
pub(super) fn is_group(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The right path of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameVerdict {
    /// Its present path.
    Right,
    /// This path, because the entry is an older version.
    Version(PathBuf),
    /// The path of the entry of its place: among the variants, if its key has a directory of them.
    Entry,
}

/// Decides where the entry at `path` belongs. Paths are below the root.
pub(super) fn of_entry(path: &Path, place: &Place, stored: Timestamp) -> NameVerdict {
    let version = version_path(place, stored);
    let is_single = place.variant_text().is_empty() && path == place.single_path();
    if is_single || path == place.variant_path() || path == version {
        NameVerdict::Right
    } else if is_version(path) {
        NameVerdict::Version(version)
    } else {
        NameVerdict::Entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::overlay::entry_path;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn file_names_are_classified() {
        let key = Key::from_bytes([0x9f; 32]).to_string();
        for (name, want) in [
            (format!("{key}.warc"), NameKind::Entry),
            (format!("{key}.20261120T131326123456Z.warc"), NameKind::Entry),
            (format!("{key}.update.warc"), NameKind::Overlay),
            (format!("{key}.20261120T131326123456Z.update.warc"), NameKind::Overlay),
            (format!("{key}.warc.bak"), NameKind::Other),
            (format!("{key}..warc"), NameKind::AsEntry),
            (format!("{key}.x.warc"), NameKind::AsEntry),
            (format!("{}.warc", &key[1..]), NameKind::AsEntry),
            (format!("{}.warc", key.to_uppercase()), NameKind::AsEntry),
            ("notes.update.warc".to_owned(), NameKind::Overlay),
            (".warc".to_owned(), NameKind::AsEntry),
            ("README".to_owned(), NameKind::Other),
        ] {
            assert_eq!(named(&name), want, "{name}");
        }
    }

    #[test]
    fn an_update_file_is_next_to_its_entry() {
        for (overlay, entry) in
            [("a/9f.update.warc", "a/9f.warc"), ("9f.2026Z.update.warc", "9f.2026Z.warc")]
        {
            assert_eq!(entry_path(Path::new(overlay)), Path::new(entry));
            assert_eq!(crate::entry::overlay::overlay_path(Path::new(entry)), Path::new(overlay));
        }
    }

    #[test]
    fn our_directories_are_recognized() {
        let key = Key::from_bytes([0x9f; 32]).to_string();
        for (name, depth, want) in [
            ("www.example.org", 1, true),
            ("Example", 1, false),
            ("9f", 2, true),
            ("9F", 2, false),
            ("9", 2, false),
            (&format!("{key}.variants"), 3, true),
            (&format!("{key}.variants"), 4, false),
            ("x.variants", 3, false),
            (&key, 3, false),
        ] {
            assert_eq!(is_directory(name, depth), want, "{name} {depth}");
        }
    }

    #[test]
    fn the_expected_path_of_an_entry_is_known() {
        let url = CanonicalUrl::parse("http://a/b", &LocalHost::default()).unwrap();
        let (plain, german) = (Place::of(&url), Place::of(&url).with_variant("de"));
        let stored: Timestamp = "2026-11-20T13:13:26.123456Z".parse().unwrap();
        let (version, other) = (version_path(&plain, stored), version_path(&german, stored));
        for (path, place, want) in [
            (plain.single_path(), &plain, NameVerdict::Right),
            (plain.variant_path(), &plain, NameVerdict::Right),
            (version.clone(), &plain, NameVerdict::Right),
            (german.variant_path(), &german, NameVerdict::Right),
            (other.clone(), &german, NameVerdict::Right),
            (german.single_path(), &german, NameVerdict::Entry),
            (plain.single_path(), &german, NameVerdict::Entry),
            (version.clone(), &german, NameVerdict::Version(other)),
            (PathBuf::from("http/a/00/notes.warc"), &plain, NameVerdict::Entry),
            (PathBuf::from("https").join(version.file_name().unwrap()), &plain, {
                NameVerdict::Version(version)
            }),
        ] {
            assert_eq!(of_entry(&path, place, stored), want, "{path:?} {place:?}");
        }
    }
}
