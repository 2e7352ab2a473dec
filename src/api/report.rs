//! What a run is told to have come to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::text::{Text, say};

/// The most failures, and links that lead nowhere, that are told one by one.
pub(crate) const MAX_TOLD: usize = 1_000;

/// The most URLs that are told of those left out for one reason.
pub(crate) const MAX_EXAMPLES: usize = 10;

/// The longest reason of a failure that is told, in bytes.
pub(crate) const MAX_REASON: usize = 300;

/// How much of a URL is told, in bytes: others may be very long, and there may be many of them.
pub(crate) const MAX_TOLD_URL: usize = 2048;

/// Why a link is not followed, or a part not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// It is a link more than was asked for.
    Depth,
    /// It is outside of what was asked for.
    Scope,
    /// It is one of endless many.
    Endless,
    /// So many pages were asked for, and are there.
    Pages,
    /// So many bytes were asked for, and are there.
    Bytes,
    /// So much time was asked for, and is over.
    Time,
    /// The site asks programs not to get it.
    Robots,
    /// The page asks programs not to follow the link.
    NoFollow,
    /// The configuration says that it is not got, or not kept.
    Rule,
    /// It is of a class of parts that was not asked for.
    Class,
    /// More is known of than can be remembered.
    Memory,
    /// A page cannot be read to its end: what else it refers to is not known.
    Unread,
    /// It is no URL that can be fetched, or a very long one.
    Url,
}

impl LeftOut {
    /// The reason, in words for a person.
    #[must_use]
    pub const fn text(self) -> Text {
        match self {
            Self::Depth => say("they are further away than was asked for"),
            Self::Scope => say("they are outside of what was asked for"),
            Self::Endless => say("there is no end of pages like them"),
            Self::Pages => say("as many pages as were asked for are there"),
            Self::Bytes => say("as many bytes as were asked for are there"),
            Self::Time => say("the time that was given is over"),
            Self::Robots => say("the site asks programs not to get them (robots.txt)"),
            Self::NoFollow => say("the page asks programs not to follow the link (nofollow)"),
            Self::Rule => say("the configuration says so"),
            Self::Class => say("parts of this class were not asked for"),
            Self::Memory => say("there are more than can be remembered"),
            Self::Url => say("their URLs cannot be fetched, or are very long"),
            Self::Unread => say("a page cannot be read to its end, and may refer to more"),
        }
    }
}

/// How many of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Counts {
    /// Pages that were considered and taken.
    pub pages: u64,
    /// Parts of pages that were taken.
    pub parts: u64,
    /// Of both, those that were brought.
    pub fetched: u64,
    /// Those that were as they were.
    pub unchanged: u64,
    /// Those that nobody was asked about.
    pub kept: u64,
    /// Those that were not to be had.
    pub failed: u64,
    /// The bytes of the bodies that were brought.
    pub bytes: u64,
}

/// Those that were left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    /// How many links; one URL may count more than once.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<String>,
}

/// A URL that was not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Which, without credentials.
    pub url: String,
    /// The page that refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Why, in words for a person.
    pub reason: String,
    /// Whether there is nothing where the link leads: the origin says so, or there is none.
    #[serde(default)]
    pub dead: bool,
}

/// What a run brought, so far or in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Report {
    /// How many of what.
    pub counts: Counts,
    /// What was left out, by reason.
    pub left_out: BTreeMap<LeftOut, Left>,
    /// The URLs that were not to be had: the first thousand.
    pub failed: Vec<Failed>,
}

impl Report {
    /// Counts what was left out; `url` is one of them, or the page that refers to them.
    pub(crate) fn leave_out(&mut self, why: LeftOut, count: u64, url: &str) {
        let left = self.left_out.entry(why).or_default();
        left.count = left.count.saturating_add(count);
        let url = beginning(url, MAX_TOLD_URL);
        if left.examples.len() < MAX_EXAMPLES && !left.examples.iter().any(|known| known == url) {
            left.examples.push(url.to_owned());
        }
    }

    /// Takes back that `url` was left out.
    pub(crate) fn take_back(&mut self, why: LeftOut, url: &str) {
        let Some(left) = self.left_out.get_mut(&why) else { return };
        left.count = left.count.saturating_sub(1);
        left.examples.retain(|known| known != beginning(url, MAX_TOLD_URL));
        if left.count == 0 {
            self.left_out.remove(&why);
        }
    }

    /// How many links of pages lead nowhere, of those that are told one by one.
    #[must_use]
    pub fn dead_links(&self) -> u64 {
        let dead = self.failed.iter().filter(|failed| failed.dead && failed.from.is_some());
        u64::try_from(dead.count()).unwrap_or(u64::MAX)
    }

    /// Tells of what was not to be had; the last that was heard of a URL counts.
    pub(crate) fn tell(&mut self, mut failed: Failed) {
        for (text, most) in [(&mut failed.reason, MAX_REASON), (&mut failed.url, MAX_TOLD_URL)] {
            text.truncate(beginning(text, most).len());
        }
        if let Some(from) = &mut failed.from {
            from.truncate(beginning(from, MAX_TOLD_URL).len());
        }
        self.failed.retain(|known| known.url != failed.url);
        if self.failed.len() < MAX_TOLD {
            self.failed.push(failed);
        }
    }
}

/// At most so many bytes of the beginning of a text.
fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rfind(|&end| text.is_char_boundary(end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
