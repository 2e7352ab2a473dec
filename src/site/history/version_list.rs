//! The list of stored versions of one page.

use wwwoffle_spool::{Entry, Place, Summary};

use crate::base::shown;
use crate::base::text::{Text, tr};
use crate::site::info::entry_info::{content_type, text};
use wwwoffle_api::{History, Version};
use wwwoffle_http::head::capture_in;

/// Returns the history of a URL: the entry, if there is one, and the older versions, newest first.
#[must_use]
pub fn of(url: &str, entry: Option<&Entry>, older: &[Summary]) -> History {
    let present = entry.map(|entry| Version {
        stored: entry.stored(),
        received: entry.received(),
        present: true,
        status: entry.status(),
        bytes: entry.body_len(),
        content_type: content_type(entry),
        capture: capture_in(entry.request()),
    });
    // Versions may exist without a current entry.
    let place = entry.map(Entry::place).or(older.first().map(|newest| &newest.place));
    let older = older.iter().map(|one| Version {
        stored: one.stored,
        received: one.when,
        present: false,
        status: one.status,
        bytes: one.body_len,
        content_type: one.content_type.as_deref().map(text),
        capture: None,
    });
    History {
        url: place.map_or(url, Place::url).to_owned(),
        owner: place.and_then(Place::owner).map(str::to_owned),
        versions: present.into_iter().chain(older).collect(),
    }
}

/// Describes the differences between the heads of two versions.
#[must_use]
pub fn changes(before: &Version, version: &Version) -> Vec<Text> {
    let mut changes = Vec::new();
    if before.status != version.status {
        changes.push(tr("previously status {status}").with("status", before.status.to_string()));
    }
    if before.content_type != version.content_type {
        changes.push(match before.content_type.as_deref() {
            Some(was) => tr("previously type {type}").with("type", shown::text(was)),
            None => tr("previously without a type"),
        });
    }
    match (before.bytes, version.bytes) {
        (was, is) if was < is => {
            changes.push(tr("{size} larger").with("size", shown::bytes(is - was)));
        }
        (was, is) if was > is => {
            changes.push(tr("{size} smaller").with("size", shown::bytes(was - is)));
        }
        _ => changes.push(tr("same length as before")),
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(status: u16, bytes: u64, content_type: Option<&str>) -> Version {
        let (stored, content_type) = (jiff::Timestamp::UNIX_EPOCH, content_type.map(str::to_owned));
        Version {
            stored,
            received: stored,
            present: false,
            status,
            bytes,
            content_type,
            capture: None,
        }
    }

    #[test]
    fn differences_are_described() {
        let html = Some("text/html");
        for (before, now, want) in [
            (version(200, 10, html), version(200, 10, html), "same length as before"),
            (version(200, 10, html), version(200, 1_510, html), "1.5 kB larger"),
            (version(404, 10, html), version(200, 3, html), "previously status 404, 7 B smaller"),
            (
                version(200, 1, None),
                version(200, 1, html),
                "previously without a type, same length as before",
            ),
            (
                version(200, 1, Some("a\u{202e}b")),
                version(200, 1, html),
                "previously type a⟨U+202E⟩b, same length as before",
            ),
        ] {
            let changes: Vec<_> = changes(&before, &now).iter().map(ToString::to_string).collect();
            assert_eq!(changes.join(", "), want);
        }
    }
}
