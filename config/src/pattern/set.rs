//! Lists of URL-SPECIFICATIONs in which the first match decides.

use super::{index::SpecIndex, parts::UrlParts, spec::UrlSpec};
use crate::disk::location::Location;
use std::fmt;
use wwwoffle_url::CanonicalUrl;

/// One specification of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSpec {
    spec: UrlSpec,
    location: Location,
}

impl ListedSpec {
    /// The pattern.
    #[must_use]
    pub fn spec(&self) -> &UrlSpec {
        &self.spec
    }

    /// The file and line of the specification.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }
}

/// A list of specifications, in the order of the file.
///
/// The first specification that matches a URL decides: without a `!` the URL is in the set, with a
/// `!` it is not. A URL without a match is not in the set. The cost of a lookup depends on the
/// number of specifications that share a property of the URL, not on the length of the list.
#[derive(Clone, Default)]
pub struct UrlSpecSet {
    listed: Vec<ListedSpec>,
    index: SpecIndex,
}

impl UrlSpecSet {
    /// Returns the specification that includes `url`, if one does.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> Option<&ListedSpec> {
        self.matches_parts(&UrlParts::of(url))
    }

    /// Like [`matches`](Self::matches), for a URL that is already split.
    #[must_use]
    pub fn matches_parts(&self, url: &UrlParts<'_>) -> Option<&ListedSpec> {
        self.decide(url).filter(|listed| !listed.spec.negated())
    }

    /// Whether the list has no specifications.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The number of specifications.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn get(&self, number: usize) -> Option<&ListedSpec> {
        self.listed.get(number)
    }

    /// The numbers of the specifications that could match, in ascending order.
    pub(crate) fn candidates(&self, url: &UrlParts<'_>) -> Vec<usize> {
        let mut all = Vec::new();
        self.index.candidates(url, |number| {
            all.push(number);
            true
        });
        all.sort_unstable();
        all
    }

    /// Every specification, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ListedSpec> {
        self.listed.iter()
    }

    /// Appends the specifications of `other`.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for listed in &other.listed {
            self.add(listed.spec.clone(), listed.location.clone());
        }
    }

    pub(crate) fn add(&mut self, spec: UrlSpec, location: Location) {
        self.index.add(self.listed.len(), &spec);
        self.listed.push(ListedSpec { spec, location });
    }

    /// Returns the specification that decides about `url`, with or without a `!`. `None` if no
    /// specification matches.
    #[must_use]
    pub fn decide(&self, url: &UrlParts<'_>) -> Option<&ListedSpec> {
        let mut decided: Option<(usize, &ListedSpec)> = None;
        self.index.candidates(url, |number| {
            if decided.is_some_and(|(best, _)| best <= number) {
                return false;
            }
            let listed = self.listed.get(number);
            match listed.filter(|listed| listed.spec.matches_parts(url)) {
                Some(listed) => {
                    decided = Some((number, listed));
                    false
                }
                None => true,
            }
        });
        decided.map(|(_, listed)| listed)
    }
}

/// Compares the specifications as written. The index follows from them.
impl PartialEq for UrlSpecSet {
    fn eq(&self, other: &Self) -> bool {
        self.listed == other.listed
    }
}

impl Eq for UrlSpecSet {}

/// Shows the specifications without the index.
impl fmt::Debug for UrlSpecSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.listed.iter().map(|listed| listed.spec.to_string())).finish()
    }
}
