//! The spelling of the URL in a request. All spellings of one canonical URL have the same key. An
//! origin may treat them differently, so each spelling has separate entries.

use hyper::Uri;
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

    /// The spelling of a URL that a person has typed, or that a page links to.
    #[must_use]
    pub fn of_url(text: &str, canonical: &CanonicalUrl) -> Self {
        let bare = text.split('#').next().unwrap_or_default();
        let uri = bare.parse::<Uri>().ok().filter(|uri| uri.authority().is_some());
        let target = uri.as_ref().and_then(Uri::path_and_query);
        target.map_or_else(Self::default, |target| Self::of(target.as_str(), canonical))
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

    /// The preference for a response with this variant text, the smallest first: a response to this
    /// spelling, then to the canonical one, then to others.
    #[must_use]
    pub fn preference(&self, variant: &str) -> u8 {
        match () {
            () if self.is_of(variant) => 0,
            () if Self::default().is_of(variant) => 1,
            () => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use wwwoffle_url::LocalHost;

    use super::*;

    #[test]
    fn a_url_is_read_as_its_request_spells_it() {
        for (text, target) in [
            ("http://h.example/?f=2&amp;t=9#x", "/?f=2&amp;t=9"),
            ("http://h.example/?f=2&t=9", "/?f=2&t=9"),
            ("http://h.example", "/"),
            ("HTTP://H.example/%7ea", "/%7ea"),
        ] {
            let url = CanonicalUrl::parse(text, &LocalHost::default()).unwrap();
            assert_eq!(Spelling::of_url(text, &url), Spelling::of(target, &url), "{text}");
        }
        let url = CanonicalUrl::parse("h.example/ü", &LocalHost::default()).unwrap();
        assert!(Spelling::of_url("h.example/ü", &url).is_canonical());
    }

    #[test]
    fn the_same_spelling_is_preferred_then_the_canonical_one() {
        let url = CanonicalUrl::parse("http://h.example/?f=2&t=9", &LocalHost::default()).unwrap();
        let [one, other] = ["/?f=2&amp;t=9", "/?f=2&amp;t=9&"].map(|text| Spelling::of(text, &url));
        let canonical = Spelling::default();
        let preferences = |spelling: &Spelling| {
            [&one, &canonical, &other].map(|of| spelling.preference(&of.variant("a:b")))
        };
        assert_eq!(preferences(&one), [0, 1, 2]);
        assert_eq!(preferences(&canonical), [2, 0, 2]);
    }

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
