//! The changes of pages as an Atom feed (RFC 4287).

use std::fmt::Write as _;

use jiff::Timestamp;
use quick_xml::escape::escape;
use sha2::{Digest, Sha256};

use crate::base::shown;

/// The largest number of changes in the feed.
pub const MAX_ENTRIES: usize = 50;

/// A change of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionChange {
    /// The page, without credentials.
    pub url: String,
    /// The key and variant of the page. They distinguish its versions from those of other pages.
    pub name: String,
    /// When the newer version was stored.
    pub stored: Timestamp,
    /// When the older version was stored.
    pub before: Timestamp,
    /// The title of the page, if known.
    pub title: Option<String>,
    /// The address of the page that shows the difference.
    pub link: String,
}

/// Writes the feed, newest changes first. `name` distinguishes the feed from other feeds, and
/// `link` is the address of the feed. If nothing has changed, the feed has the date `now`.
#[must_use]
pub fn write(mut changes: Vec<VersionChange>, name: &str, link: &str, now: Timestamp) -> String {
    changes.sort_by(|one, other| (other.stored, &other.url).cmp(&(one.stored, &one.url)));
    changes.truncate(MAX_ENTRIES);
    let updated = changes.first().map_or(now, |change| change.stored);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>Monitored pages that have changed</title>\n\
         <id>{}</id>\n<updated>{updated:.0}</updated>\n\
         <author><name>wwwoffle</name></author>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>\n",
        uuid(&["feed", name]),
        escape(link),
    );
    for change in &changes {
        let stored = change.stored.to_string();
        // Characters that XML cannot represent are made visible, as on pages.
        let title = change.title.as_deref().map_or_else(|| shown::text(&change.url), shown::text);
        let url = shown::text(&change.url);
        // Writing to a string does not fail.
        let _written = write!(
            xml,
            "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{:.0}</updated>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
             <summary>{} has changed since {:.0}</summary>\n</entry>\n",
            escape(&title),
            uuid(&["change", &change.name, &stored]),
            change.stored,
            escape(&change.link),
            escape(&url),
            change.before,
        );
    }
    xml.push_str("</feed>\n");
    xml
}

/// An identifier that is always the same for the same parts (RFC 9562, version 8).
fn uuid(parts: &[&str]) -> String {
    let bytes = Sha256::digest(parts.join("\n")).first_chunk::<16>().copied().unwrap_or_default();
    // RFC 9562 §5.8: the version is 8, the variant 0b10.
    let (version, variant) = (0xf << 76, 0b11 << 62);
    let number = u128::from_be_bytes(bytes) & !(version | variant) | (8 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    fn change(title: &str, second: i64) -> VersionChange {
        VersionChange {
            url: format!("http://h.example/?a&b={title}"),
            name: title.to_owned(),
            stored: Timestamp::from_second(second).unwrap(),
            before: Timestamp::from_second(second - 60).unwrap(),
            title: Some(title.to_owned()),
            link: "http://localhost:8080/monitor/diff/?url=http%3A%2F%2Fh&to=x".to_owned(),
        }
    }

    /// Parses a whole document and counts the elements of each name.
    fn count(xml: &str, name: &str) -> usize {
        let (mut reader, mut count) = (Reader::from_str(xml), 0);
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return count,
                Event::Start(start) => count += usize::from(start.name().as_ref() == name),
                _ => {}
            }
        }
    }

    #[test]
    fn hostile_titles_are_text() {
        let hostile = crate::page::testing::hostile();
        let changes: Vec<_> = hostile.iter().zip(1..).map(|(text, at)| change(text, at)).collect();
        let xml = write(changes, "local", "http://localhost:8080/monitor/feed", Timestamp::MAX);
        assert_eq!(count(&xml, "entry"), hostile.len());
        assert_eq!(count(&xml, "script") + count(&xml, "img"), 0);
        let hidden = |c: char| c.is_control() && c != '\n';
        assert!(!xml.contains(hidden) && !xml.contains("hunter2"), "{xml}");
    }

    #[test]
    fn a_feed_is_limited_and_its_ids_are_stable() {
        let many: Vec<_> = (1..200).map(|second| change("t", second)).collect();
        let write = |changes| write(changes, "local", "http://l/", Timestamp::UNIX_EPOCH);
        let xml = write(many.clone());
        assert_eq!(count(&xml, "entry"), MAX_ENTRIES);
        assert_eq!(xml, write(many));
        assert!(xml.contains("<updated>1970-01-01T00:03:19Z</updated>"), "{xml}");
        let ids = |xml: &str| -> std::collections::BTreeSet<String> {
            xml.split("<id>").skip(1).map(|rest| rest[..45].to_owned()).collect()
        };
        assert_eq!(ids(&xml).len(), MAX_ENTRIES + 1);
        assert_eq!(count(&write(Vec::new()), "entry"), 0);
        assert_ne!(uuid(&["feed", "local"]), uuid(&["feed", "user:ada"]));
        assert_eq!(&uuid(&["a"])[23..24], "8");
    }
}
