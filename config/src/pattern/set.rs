//! Lists of URL-SPECIFICATIONs, in which the first that matches decides.

use super::{index::Index, parts::UrlParts, spec::UrlSpec};
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

    /// Where it was written.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }
}

/// A list of specifications, in the order they were written.
///
/// The first that matches a URL decides: the URL is meant, or with a `!` is not. One that none
/// matches is not meant. What a match costs depends on how many specifications share what the URL has,
/// not on how many there are.
#[derive(Clone, Default)]
pub struct UrlSpecSet {
    listed: Vec<ListedSpec>,
    index: Index,
}

impl UrlSpecSet {
    /// The specification that decides about `url`, whether it negates or not.
    #[must_use]
    pub fn decide(&self, url: &CanonicalUrl) -> Option<&ListedSpec> {
        self.decide_parts(&UrlParts::of(url))
    }

    /// The specification by which `url` is meant, if it is.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> Option<&ListedSpec> {
        self.decide(url).filter(|listed| !listed.spec.negated())
    }

    /// The same for a URL already taken apart.
    #[must_use]
    pub fn matches_parts(&self, url: &UrlParts<'_>) -> Option<&ListedSpec> {
        self.decide_parts(url).filter(|listed| !listed.spec.negated())
    }

    /// Whether there is no specification in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// How many specifications there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn get(&self, number: usize) -> Option<&ListedSpec> {
        self.listed.get(number)
    }

    /// The numbers of the specifications that could match, in order.
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

    /// Adds the specifications of `other` after those already there.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for listed in &other.listed {
            self.add(listed.spec.clone(), listed.location.clone());
        }
    }

    pub(crate) fn add(&mut self, spec: UrlSpec, location: Location) {
        self.index.add(self.listed.len(), &spec);
        self.listed.push(ListedSpec { spec, location });
    }

    /// The specification that decides about a URL already taken apart.
    #[must_use]
    pub fn decide_parts(&self, url: &UrlParts<'_>) -> Option<&ListedSpec> {
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

/// As they are written; the index follows from that.
impl PartialEq for UrlSpecSet {
    fn eq(&self, other: &Self) -> bool {
        self.listed == other.listed
    }
}

impl Eq for UrlSpecSet {}

/// What was written, without the index.
impl fmt::Debug for UrlSpecSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.listed.iter().map(|listed| listed.spec.to_string())).finish()
    }
}
