//! Lists of hosts: names, names with wildcards, addresses and networks.

use crate::{
    disk::location::Location,
    error::FaultKind,
    pattern::{
        host::{HostSpec, ParseHostSpecError},
        parts::UrlParts,
    },
    source::{
        RawValue, ValueSource,
        explain::UrlValue,
        list::{ListElement, element, entries},
        shortened,
        value::{STRINGS_AND_FILES, Value, elements},
    },
};
use std::{collections::HashMap, fmt, sync::Arc};

/// A list of patterns for hosts. The first that matches decides.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HostList {
    listed: Vec<(HostSpec, Location)>,
    /// For each host, the number of the first pattern that is exactly this host.
    exact: HashMap<Box<str>, usize>,
    /// The numbers of all other patterns, in order.
    others: Vec<usize>,
}

impl HostList {
    /// Whether the list includes a canonical host.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        self.decide(host).is_some_and(|(spec, _)| !spec.negated())
    }

    /// The pattern that decides about `host`, and its location. `None` if no pattern matches.
    #[must_use]
    pub fn decide(&self, host: &str) -> Option<(&HostSpec, &Location)> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let exact = self.exact.get(host).copied();
        let earlier = self.others.iter().copied();
        let earlier = earlier.take_while(|number| exact.is_none_or(|exact| *number < exact));
        let matches = |number: &usize| {
            self.listed.get(*number).is_some_and(|(listed, _)| listed.matches(host))
        };
        let number = earlier.into_iter().find(matches).or(exact)?;
        self.listed.get(number).map(|(spec, location)| (spec, location))
    }

    /// Every pattern with its location, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&HostSpec, &Location)> {
        self.listed.iter().map(|(spec, location)| (spec, location))
    }

    /// Whether the list has no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    fn add(&mut self, spec: HostSpec, location: Location) {
        let number = self.listed.len();
        match spec.exact() {
            Some(host) => {
                self.exact.entry(host.into()).or_insert(number);
            }
            None => self.others.push(number),
        }
        self.listed.push((spec, location));
    }

    fn read_one(&mut self, given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<()> {
        let expected = "hosts, such as \"*.lan\" or \"192.168.0.0/16\", and lists of them, \
                        { file = \"list.txt\" }";
        match element(given, source, expected)? {
            ListElement::Entry(text) => match text.parse() {
                Ok(spec) => self.add(spec, source.location(given.value)),
                Err(because) => {
                    let because: ParseHostSpecError = because;
                    return source.refuse(given, expected, &because.to_string());
                }
            },
            ListElement::Hosts(..) => {
                return source.refuse(
                    given,
                    expected,
                    "a hosts file is allowed only in lists of URLs",
                );
            }
            ListElement::List(file, text) => {
                for (line, entry) in entries(&text) {
                    match entry.parse() {
                        Ok(spec) => self.add(spec, Location { file: Arc::clone(&file), line }),
                        Err(because) => {
                            let found = shortened(entry).into_owned();
                            source.refuse_line(&file, line, FaultKind::BadHost { found, because });
                        }
                    }
                }
            }
        }
        Some(())
    }
}

/// Shows the patterns as written, without the index.
impl fmt::Debug for HostList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(spec, _)| spec.to_string())).finish()
    }
}

impl Value for HostList {
    const KIND: &'static str = "host patterns";
    const MEANING: &'static str = "\
An array of patterns for hosts. The first match decides. A pattern is a name, in which `*`
stands for any text (`\"*.lan\"`), an address (`\"192.168.1.1\"`, `\"fe80::1\"`) or a network
(`\"192.168.0.0/16\"`, `\"fd00::/8\"`). A `!` in front excludes the hosts that the pattern
matches. An entry `{ file = \"list.txt\" }` stands for the patterns in that file, one on each
line, with comments after `#`. A network matches only addresses: names are not looked up for it.";
    const EXPECTED: &'static str = "an array of hosts, such as [\"*.lan\", \"192.168.0.0/16\"]";
    const JSON: &'static str = STRINGS_AND_FILES;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let mut list = Self::default();
        elements(given, source, Self::EXPECTED, |one, source| list.read_one(one, source))?;
        Some(list)
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let (spec, location) = self.decide(url.host)?;
        Some(UrlValue::at(location, format!("{:?}", spec.to_string()), None))
    }
}
