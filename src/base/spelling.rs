//! How a request spells its URL. All spellings of one canonical URL have the same key. An origin
//! may treat them differently, so each spelling has separate entries.

use sha2::{Digest, Sha256};
use wwwoffle_spool::Place;
use wwwoffle_url::CanonicalUrl;

/// The spelling of a URL: empty for the canonical spelling, or else the SHA-256 of the request
/// target in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spelling(String);

impl Spelling {
    /// The spelling of a request with this target (RFC 9112 §3.2.1).
    #[must_use]
    pub fn of(target: &str, canonical: &CanonicalUrl) -> Self {
        if target == canonical.path_and_arguments() {
            return Self::default();
        }
        Self(hex::encode(Sha256::digest(target)))
    }

    /// Whether this is the canonical spelling.
    #[must_use]
    pub fn is_canonical(&self) -> bool {
        self.0.is_empty()
    }

    /// The variant text of a response to this spelling. `varies` is the variant text for its `Vary`
    /// field.
    #[must_use]
    pub fn variant(&self, varies: &str) -> String {
        if self.is_canonical() { varies.to_owned() } else { Place::respelled(&self.0, varies) }
    }

    /// Whether a response with this variant text belongs to this spelling.
    #[must_use]
    pub fn is_of(&self, variant: &str) -> bool {
        Place::spelling_of(variant).unwrap_or_default() == self.0
    }
}

#[cfg(test)]
mod tests {
    use wwwoffle_url::LocalHost;

    use super::*;

    proptest::proptest! {
        #[test]
        fn only_the_same_spelling_is_the_same(
            one in "/[a-c%3B;+&=.]{0,6}",
            other in "/[a-c%3B;+&=.]{0,6}",
            varies in "(a:b)?(&c:d)?",
        ) {
            let url = CanonicalUrl::parse("http://h.example/a;b", &LocalHost::default()).unwrap();
            let spellings = [&one, &other].map(|target| Spelling::of(target, &url));
            let is_same = spellings[0].is_of(&spellings[1].variant(&varies));
            proptest::prop_assert_eq!(is_same, one == other);
            let is_canonical = one == url.path_and_arguments();
            proptest::prop_assert_eq!(spellings[0].is_of(&varies), is_canonical);
            proptest::prop_assert!(Spelling::default().is_of(&varies));
        }
    }
}
