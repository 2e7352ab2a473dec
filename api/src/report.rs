//! The report of a recursive fetch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The maximum number of failures and dead links that are listed one by one.
pub const MAX_TOLD: usize = 1_000;

/// The maximum number of example URLs for one reason.
pub const MAX_EXAMPLES: usize = 10;

/// The maximum length of the reason of a failure, in bytes.
pub const MAX_REASON: usize = 300;

/// The maximum length of a URL in a report, in bytes. A report may have many URLs, and some are
/// very long.
pub const MAX_TOLD_URL: usize = 2048;

/// The reason why a link is not followed, or a sub-resource not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// The page is beyond the requested depth.
    Depth,
    /// The page is outside the requested scope.
    Scope,
    /// The page seems to be one of an endless number of pages.
    Endless,
    /// The limit of pages is reached.
    Pages,
    /// The limit of bytes is reached.
    Bytes,
    /// The limit of time is reached.
    Time,
    /// The `robots.txt` of the site forbids the page.
    Robots,
    /// The page excludes the link by `nofollow`.
    NoFollow,
    /// The configuration excludes the URL from being fetched or stored.
    Rule,
    /// The data saver leaves the sub-resource out.
    Saver,
    /// The class of the sub-resource was not requested.
    Class,
    /// The memory limit for known URLs is reached.
    Memory,
    /// A page cannot be read to its end, so its further references are unknown.
    Unread,
    /// The reference is not a URL that can be fetched, or is too long.
    Url,
}

/// The counts of a recursive fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct FetchCounts {
    /// Pages that belong to the fetch.
    pub pages: u64,
    /// Sub-resources that belong to the fetch.
    pub parts: u64,
    /// Pages and sub-resources that were transferred.
    pub fetched: u64,
    /// Pages and sub-resources that were revalidated and are unchanged.
    pub unchanged: u64,
    /// Pages and sub-resources that were already stored and not requested.
    pub kept: u64,
    /// Pages and sub-resources that could not be fetched, not counting dead links.
    pub failed: u64,
    /// Dead links in pages: a fault of the site, not a failure of the fetch.
    pub dead: u64,
    /// The bytes of the bodies transferred.
    pub bytes: u64,
}

/// The links left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOutLinks {
    /// The number of links; one URL may count more than once.
    pub count: u64,
    /// Examples: URLs of some of the links, or of pages that refer to some of them.
    pub examples: Vec<String>,
}

/// A URL that could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedUrl {
    /// The URL, without credentials.
    pub url: String,
    /// The page that refers to the URL; absent if there is no such page or it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The reason, in words for the user.
    pub reason: String,
    /// Whether the link is dead: the origin says that the page does not exist, or the origin does
    /// not exist.
    #[serde(default)]
    pub dead: bool,
}

/// The result of a recursive fetch, so far or at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Report {
    /// The counts.
    pub counts: FetchCounts,
    /// The links left out, by reason.
    pub left_out: BTreeMap<LeftOut, LeftOutLinks>,
    /// The first thousand URLs that could not be fetched.
    pub failed: Vec<FailedUrl>,
}

impl Report {
    /// Counts `count` links as left out. `url` is one of them, or the page that refers to them.
    pub fn leave_out(&mut self, why: LeftOut, count: u64, url: &str) {
        let left = self.left_out.entry(why).or_default();
        left.count = left.count.saturating_add(count);
        let url = beginning(url, MAX_TOLD_URL);
        if left.examples.len() < MAX_EXAMPLES && !left.examples.iter().any(|known| known == url) {
            left.examples.push(url.to_owned());
        }
    }

    /// Undoes [`Report::leave_out`] for one `url`.
    pub fn take_back(&mut self, why: LeftOut, url: &str) {
        let Some(left) = self.left_out.get_mut(&why) else { return };
        left.count = left.count.saturating_sub(1);
        left.examples.retain(|known| known != beginning(url, MAX_TOLD_URL));
        if left.count == 0 {
            self.left_out.remove(&why);
        }
    }

    /// Adds a failure, which replaces an earlier failure of the same URL. If [`MAX_TOLD`] failures
    /// are listed, a further one is dropped.
    pub fn add(&mut self, mut failed: FailedUrl) {
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

/// At most `most` bytes of the beginning of a text.
fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rfind(|&end| text.is_char_boundary(end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
