//! Blocked URLs: specifications and browser rule lists, in one order.

#[cfg(feature = "easylist")]
mod easylist;
pub(crate) mod request;

use crate::{
    blocklist::request::BlockQuery,
    disk::location::Location,
    pattern::{
        parts::UrlParts,
        set::{ListedSpec, UrlSpecSet},
    },
    source::{
        RawValue, ValueSource,
        explain::UrlValue,
        list::{list_file, list_name},
        value::{LISTS_OF_RULES, Value, elements},
    },
};
#[cfg(feature = "easylist")]
use easylist::{EasyList, EasyLists};
use std::fmt;
use wwwoffle_url::CanonicalUrl;

/// The key of an element that names a list of rules.
const EASYLIST: &str = "easylist";

const EXPECTED: &str = "URL-SPECIFICATIONs, such as \"*://*.example.org/*\", and lists, \
                        { file = \"list.txt\" }, { hosts = \"hosts.txt\" } or { easylist = \"easylist.txt\" }";

/// Blocked URLs: URL-SPECIFICATIONs and lists of rules, in the order of the file.
///
/// ```
/// use std::path::Path;
/// use wwwoffle_config::{BlockQuery, Config, UrlParts};
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
///
/// let text = "[dont-get]\nurls = [\"!*://ads.example/about\", \"*://ads.example/*\"]";
/// let config = Config::parse(text, Path::new("wwwoffle.conf"))?;
/// let blocks = |url| {
///     let url = CanonicalUrl::parse(url, &LocalHost::default())?;
///     let parts = UrlParts::of(&url);
///     let blocked = config.dont_get.urls.blocks(&BlockQuery::of(&parts));
///     Ok::<_, wwwoffle_url::ParseError>(blocked.map(|by| by.location().to_string()))
/// };
/// assert_eq!(blocks("http://ads.example/banner")?, Some("wwwoffle.conf:2".to_owned()));
/// assert_eq!(blocks("http://ads.example/about")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BlockList(Vec<BlockPart>);

/// Consecutive entries that are matched together.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BlockPart {
    Specs(UrlSpecSet),
    #[cfg(feature = "easylist")]
    Rules(EasyLists),
}

/// The specification or rule that decided about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockVerdict<'a> {
    /// A specification of the configuration, or of a list that the configuration names.
    Spec(&'a ListedSpec),
    /// A rule of a browser list.
    Rule(ListRule),
}

/// A rule of a browser list, as written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRule {
    pub(crate) location: Location,
    pub(crate) text: String,
    pub(crate) blocks: bool,
}

impl BlockVerdict<'_> {
    /// The file and line of the specification or rule.
    #[must_use]
    pub fn location(&self) -> &Location {
        match self {
            Self::Spec(listed) => listed.location(),
            Self::Rule(rule) => &rule.location,
        }
    }

    /// Whether the request is blocked rather than excepted.
    #[must_use]
    pub fn blocks(&self) -> bool {
        match self {
            Self::Spec(listed) => !listed.spec().negated(),
            Self::Rule(rule) => rule.blocks,
        }
    }
}

/// Writes the specification or rule as in its file.
impl fmt::Display for BlockVerdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(listed) => listed.spec().fmt(f),
            Self::Rule(rule) => rule.text.fmt(f),
        }
    }
}

/// A remark about a list. It is not a fault, but the user should see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListNote {
    pub(crate) location: Location,
    pub(crate) message: String,
}

impl fmt::Display for ListNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl BlockList {
    /// Returns the entry that decides about a request, whether it blocks or excepts. `None` if no
    /// entry applies.
    #[must_use]
    pub fn decide(&self, asked: &BlockQuery<'_>) -> Option<BlockVerdict<'_>> {
        self.0.iter().find_map(|part| match part {
            BlockPart::Specs(specs) => specs.decide(asked.url).map(BlockVerdict::Spec),
            #[cfg(feature = "easylist")]
            BlockPart::Rules(rules) => rules.decide(asked).map(BlockVerdict::Rule),
        })
    }

    /// Returns the entry that blocks a request. `None` if the request is not blocked.
    #[must_use]
    pub fn blocks(&self, asked: &BlockQuery<'_>) -> Option<BlockVerdict<'_>> {
        self.decide(asked).filter(BlockVerdict::blocks)
    }

    /// Like [`blocks`](Self::blocks), for a URL whose page and purpose are unknown.
    #[must_use]
    pub fn matches_parts(&self, url: &UrlParts<'_>) -> Option<BlockVerdict<'_>> {
        self.blocks(&BlockQuery::of(url))
    }

    /// Like [`matches_parts`](Self::matches_parts), for a URL that is not split yet.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> Option<BlockVerdict<'_>> {
        self.matches_parts(&UrlParts::of(url))
    }

    /// Whether the list has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The remarks about the rule lists among the entries.
    pub fn notes(&self) -> impl Iterator<Item = &ListNote> {
        self.0.iter().flat_map(|part| match part {
            BlockPart::Specs(_) => [].iter(),
            #[cfg(feature = "easylist")]
            BlockPart::Rules(rules) => rules.notes().iter(),
        })
    }
}

/// Shows only the specifications if there are no rule lists, and otherwise every part.
impl fmt::Debug for BlockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [BlockPart::Specs(specs)] => specs.fmt(f),
            parts => f.debug_list().entries(parts).finish(),
        }
    }
}

impl Value for BlockList {
    const KIND: &'static str = "URL-SPECIFICATIONs and block lists";
    const MEANING: &'static str = include_str!("blocklist.md").trim_ascii_end();
    const EXPECTED: &'static str = "an array of URL-SPECIFICATIONs and lists, such as [\"*://*.example.org/*\", \
                                    { easylist = \"easylist.txt\" }]";
    const JSON: &'static str = LISTS_OF_RULES;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let mut reading = BlockListReader::default();
        elements(given, source, Self::EXPECTED, |one, source| reading.read_one(one, source))?;
        reading.end_rules(given, source)?;
        Some(Self(reading.parts))
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let decided = self.decide(&BlockQuery::of(url))?;
        let rule = match decided {
            BlockVerdict::Spec(listed) => Some(listed),
            BlockVerdict::Rule(_) => None,
        };
        Some(UrlValue::at(decided.location(), format!("{:?}", decided.to_string()), rule))
    }
}

/// A [`BlockList`] while it is being read.
#[derive(Default)]
struct BlockListReader {
    parts: Vec<BlockPart>,
    /// The rule lists since the last specification. They become one part.
    #[cfg(feature = "easylist")]
    rules: Vec<EasyList>,
}

impl BlockListReader {
    fn read_one(&mut self, given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<()> {
        if let Some(name) = list_name(given.value, EASYLIST) {
            return self.read_rules(name, given, source);
        }
        self.end_rules(given, source)?;
        if !matches!(self.parts.last(), Some(BlockPart::Specs(_))) {
            self.parts.push(BlockPart::Specs(UrlSpecSet::default()));
        }
        match self.parts.last_mut() {
            Some(BlockPart::Specs(specs)) => specs.read_one(given, source, EXPECTED),
            _ => None,
        }
    }

    #[cfg(feature = "easylist")]
    fn read_rules(
        &mut self,
        name: &str,
        given: &RawValue<'_>,
        source: &mut ValueSource<'_>,
    ) -> Option<()> {
        let (file, text) = list_file(name, given, source, EXPECTED)?;
        match EasyList::read(&text, &file) {
            Ok(list) => self.rules.push(list),
            Err((line, kind)) => source.refuse_line(&file, line, kind),
        }
        Some(())
    }

    #[cfg(not(feature = "easylist"))]
    #[expect(clippy::unused_self, reason = "the version with EasyList uses it")]
    fn read_rules(
        &mut self,
        name: &str,
        given: &RawValue<'_>,
        source: &mut ValueSource<'_>,
    ) -> Option<()> {
        list_file(name, given, source, EXPECTED)?;
        source.refuse(given, EXPECTED, "this wwwoffle was built without support for EasyList")
    }

    /// Joins the rule lists since the last specification into one part. If this fails, records the
    /// fault in `source` and returns `None`.
    #[cfg(feature = "easylist")]
    fn end_rules(&mut self, given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<()> {
        if self.rules.is_empty() {
            return Some(());
        }
        match EasyLists::of(std::mem::take(&mut self.rules)) {
            Ok(rules) => self.parts.push(BlockPart::Rules(rules)),
            Err(because) => return source.refuse(given, EXPECTED, &because),
        }
        Some(())
    }

    #[cfg(not(feature = "easylist"))]
    #[expect(clippy::unused_self, reason = "the version with EasyList uses it")]
    #[expect(clippy::unnecessary_wraps, reason = "the version with EasyList can fail")]
    fn end_rules(&mut self, _: &RawValue<'_>, _: &mut ValueSource<'_>) -> Option<()> {
        Some(())
    }
}
