//! Search in the entries of all nodes.

use jiff::Timestamp;
use tokio::sync::SemaphorePermit;
use tracing::debug;
use wwwoffle_api::{EntryOwner, IndexContent, IndexItem, IndexMarks, SearchHit, ShownSnippet};
use wwwoffle_index::{ContentClass, HostItem, ItemTimes, essence};
use wwwoffle_spool::Place;
use wwwoffle_url::{CanonicalUrl, LocalHost, registrable_domain};

use super::Tier;
use super::catalogue::{MARKS, TierHit, TierHost, TierHostsQuery, TierQuery};
use crate::base::error_chain::error_chain;

/// The largest number of searches at once.
pub(super) const MAX_SEARCHES: usize = 2;

impl Tier {
    /// Searches in the entries of all nodes; without words, lists the newest ones. Returns the
    /// hits, and whether there are more. `None` if the tier cannot be searched now.
    pub async fn search(&self, wanted: &TierQuery) -> Option<(Vec<SearchHit>, bool)> {
        let _turn = self.search_turn()?;
        let one_more = TierQuery { limit: wanted.limit + 1, ..wanted.clone() };
        let found = self.catalogue.search(&one_more).await;
        let found = found.inspect_err(|error| {
            debug!(error = error_chain(error), "the archive tier cannot be searched");
        });
        let found = found.ok()?;
        let has_more = found.len() > wanted.limit;
        let hits = found.into_iter().take(wanted.limit).filter_map(shown);
        Some((hits.collect(), has_more))
    }

    /// Lists the hosts with entries of all nodes, by name. Their schemes are empty. Returns the
    /// hosts, and whether there are more. `None` if the tier cannot be searched now.
    pub async fn hosts(&self, wanted: &TierHostsQuery) -> Option<(Vec<HostItem>, bool)> {
        let _turn = self.search_turn()?;
        let one_more = TierHostsQuery { limit: wanted.limit + 1, ..wanted.clone() };
        let found = self.catalogue.hosts(&one_more).await;
        let found = found.inspect_err(|error| {
            debug!(error = error_chain(error), "the hosts of the archive tier cannot be listed");
        });
        let mut found = found.ok()?;
        let has_more = found.len() > wanted.limit;
        found.truncate(wanted.limit);
        Some((found.into_iter().map(listed).collect(), has_more))
    }

    /// The permit for a search. `None` if the tier cannot be searched now.
    fn search_turn(&self) -> Option<SemaphorePermit<'_>> {
        let may_search = self.may_maintain() && self.catalogue.is_connected();
        may_search.then(|| self.turns.searching.try_acquire().ok())?
    }
}

/// A host as the local index has it.
fn listed(host: TierHost) -> HostItem {
    let TierHost { host, entries, bytes } = host;
    let name = host.rsplit_once(':').map_or(&*host, |(name, _)| name);
    let site = registrable_domain(name).to_owned();
    HostItem { scheme: String::new(), site, host, entries, bytes }
}

/// A hit as the local index has it. Rows of other nodes are not trusted to be well-formed.
fn shown(hit: TierHit) -> Option<SearchHit> {
    let url = CanonicalUrl::parse(&hit.url, &LocalHost::default()).ok()?;
    let stored = Timestamp::from_microsecond(hit.stored).ok()?;
    let content_type = essence(Some(hit.media.as_bytes()));
    let class = ContentClass::of(&content_type);
    let content = IndexContent {
        content_type,
        class: class.as_str().to_owned(),
        page: class.is_page(),
        status: hit.status,
        bytes: hit.size,
        file_bytes: hit.object_size,
        digest: String::new(),
    };
    let item = IndexItem {
        url: url.as_str().to_owned(),
        key: Place::of(&url).key().to_string(),
        whose: EntryOwner { owner: None, login: None },
        site: registrable_domain(url.host()).to_owned(),
        title: hit.title,
        language: None,
        content,
        times: ItemTimes { answered: stored, stored, checked: stored, used: stored },
        versions: 0,
        words: "indexed".to_owned(),
        missing: None,
        marks: IndexMarks::default(),
    };
    Some(SearchHit { item, snippet: snippet(&hit.excerpt), title_marks: Vec::new() })
}

/// The text of an excerpt, and its marks.
fn snippet(excerpt: &str) -> ShownSnippet {
    let (mut text, mut marks, mut start) = (String::new(), Vec::new(), None);
    for one in excerpt.chars() {
        if one == MARKS.0 {
            start = Some(text.len());
        } else if one == MARKS.1 {
            marks.extend(start.take().map(|start| (start, text.len())));
        } else {
            text.push(if one.is_control() { ' ' } else { one });
        }
    }
    ShownSnippet { text, marks, cut_before: false, cut_after: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_has_its_marks() {
        let found = snippet("some \u{2}tea\u{3} and\nmore \u{2}teas\u{3}");
        assert_eq!(found.text, "some tea and more teas");
        assert_eq!(found.marks, [(5, 8), (18, 22)]);
        assert_eq!(snippet("\u{3}a\u{2}\u{2}b").marks, []);
    }

    #[test]
    fn a_row_of_another_node_is_checked() {
        let hit = |url: &str, stored| TierHit {
            url: url.to_owned(),
            title: None,
            media: "text/html; charset=utf-8".to_owned(),
            status: 200,
            size: 4,
            object_size: 400,
            stored,
            excerpt: String::new(),
        };
        let page = shown(hit("http://www.h.example/a", 0)).unwrap().item;
        assert_eq!((page.site.as_str(), page.content.class.as_str()), ("h.example", "page"));
        assert!(page.content.page);
        assert!(shown(hit("no url", 0)).is_none());
        assert!(shown(hit("http://h.example/", i64::MAX)).is_none());
    }
}
