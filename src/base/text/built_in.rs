//! The languages that come with the program.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::Catalogue;

/// All languages except English, in which every text is written.
pub(crate) static BUILT_IN: [BuiltIn; 7] = [
    BuiltIn::new("de", include_str!("../texts/de.po")),
    BuiltIn::new("es", include_str!("../texts/es.po")),
    BuiltIn::new("fr", include_str!("../texts/fr.po")),
    BuiltIn::new("it", include_str!("../texts/it.po")),
    BuiltIn::new("nl", include_str!("../texts/nl.po")),
    BuiltIn::new("pl", include_str!("../texts/pl.po")),
    BuiltIn::new("ru", include_str!("../texts/ru.po")),
];

/// A language that comes with the program. Most are never used, so each is parsed when it is first
/// needed, and cached.
pub(crate) struct BuiltIn {
    tag: &'static str,
    text: &'static str,
    catalogue: OnceLock<Arc<Catalogue>>,
}

impl BuiltIn {
    const fn new(tag: &'static str, text: &'static str) -> Self {
        Self { tag, text, catalogue: OnceLock::new() }
    }

    /// The tag of the language, in lower case.
    pub(crate) const fn tag(&self) -> &'static str {
        self.tag
    }

    /// The text of the PO file.
    #[cfg(test)]
    pub(super) const fn text(&self) -> &'static str {
        self.text
    }

    /// The catalogue of the language. Invalid translations would be shown in English; a test
    /// ensures that there are none.
    pub(crate) fn catalogue(&self) -> &Arc<Catalogue> {
        self.catalogue.get_or_init(|| {
            let parsed = Catalogue::parse(self.tag, self.text);
            debug_assert!(
                parsed.as_ref().is_ok_and(|(_, faults)| faults.is_empty()),
                "{}: {parsed:?}",
                self.tag
            );
            Arc::new(parsed.map_or_else(|_| Catalogue::english(), |(catalogue, _)| catalogue))
        })
    }
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BuiltIn").field(&self.tag).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_catalogues_parse_once() {
        for language in &BUILT_IN {
            let catalogue = language.catalogue();
            assert_eq!(catalogue.tag(), language.tag());
            assert_ne!(catalogue.plain("Search"), "Search", "{language:?}");
            assert!(Arc::ptr_eq(catalogue, language.catalogue()));
        }
    }
}
