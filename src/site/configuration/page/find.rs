//! Options that people change first, and options found by words.

use wwwoffle_config::schema::SECTIONS;

use crate::base::text::{Text, tr};
use crate::page::{View, links, view};

/// The options that people change first, each with its purpose.
const FIRST: [(&str, &str, Text); 10] = [
    ("startup", "listen", tr("Let other devices reach the proxy")),
    ("allowed-connect-hosts", "hosts", tr("Devices that may use the proxy")),
    ("https", "intercept", tr("Save HTTPS pages")),
    ("purge", "max-size", tr("Maximum size of everything saved")),
    ("purge", "age", tr("How long pages stay saved")),
    ("caching", "keep-versions", tr("Number of older versions of a page")),
    ("dont-get", "urls", tr("Addresses to block")),
    ("data-saver", "pictures-above", tr("Leave out large pictures")),
    ("fetch-options", "windows", tr("Times at which the queue is fetched")),
    ("pages", "language", tr("Language of these pages")),
];

/// Maximum number of found options that are shown; the others are counted.
const SHOWN: usize = 60;

/// Maximum number of characters of the words that are searched for.
pub(in crate::site::configuration) const LONGEST_WORDS: usize = 200;

/// Returns the options that people change first. `set` names the options that the file sets.
pub(super) fn first(set: &[(&str, &str)]) -> Vec<View> {
    let row = |(section, key, label): &(&'static str, &'static str, Text)| {
        debug_assert!(
            SECTIONS.iter().any(|known| {
                known.name == *section && known.options.iter().any(|option| option.key == *key)
            }),
            "[{section}] {key}"
        );
        view! {
            label,
            name: format!("{section}.{key}"),
            path: links::configuration(&[section, key], None),
            is_set: set.contains(&(section, key)),
        }
    };
    FIRST.iter().map(row).collect()
}

/// Returns the options whose name or description contains all words of `text`, and the number of
/// those that are not shown.
pub(super) fn found(text: &str) -> (Vec<View>, usize) {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return (Vec::new(), 0);
    }
    let all = SECTIONS.iter().flat_map(|section| {
        section.options.iter().map(move |option| (section.name, option.key, option.sentence))
    });
    let is_found = |(section, key, sentence): &(&str, &str, &str)| {
        let text = format!("{section}.{key} {sentence}").to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut found: Vec<_> = all.filter(is_found).collect();
    // Options whose names have the words come first.
    found.sort_by_key(|(_, key, _)| !words.iter().all(|word| key.contains(word)));
    let more = found.len().saturating_sub(SHOWN);
    let rows = found.into_iter().take(SHOWN).map(|(section, key, sentence)| {
        view! {
            name: format!("{section}.{key}"),
            path: links::configuration(&[section, key], None),
            sentence: sentence.trim(),
        }
    });
    (rows.collect(), more)
}

#[cfg(test)]
mod tests {
    use super::{first, found};

    fn names(text: &str) -> Vec<String> {
        found(text).0.iter().map(|row| row["name"].to_string()).collect()
    }

    #[test]
    fn options_are_found_by_name_and_description() {
        assert_eq!(names("keep-versions")[0], "caching.keep-versions");
        assert_eq!(names("MAX size purge")[0], "purge.max-size");
        assert!(names("language").contains(&"pages.language".to_owned()));
        for none in ["", "  ", "qqqq", "language qqqq", "<script>"] {
            assert!(names(none).is_empty(), "{none}");
        }
        let (rows, more) = found("e");
        assert!(rows.len() == super::SHOWN && more > 0);
    }

    #[test]
    fn ten_options_come_first() {
        let rows = first(&[("pages", "language")]);
        let set = rows.iter().filter(|row| row["is_set"].is_true());
        assert_eq!((rows.len(), set.count()), (10, 1));
    }
}
