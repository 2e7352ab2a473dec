//! The JSON types of `/api/index`, `/api/search` and `/api/reindex`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_index::{HostItem, Item, ItemTimes, SessionRequest, SiteItem, Snippet, StoredContent};

use super::{EntryItem, EntryOwner};

/// An entry in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexItem {
    /// The canonical URL, without credentials.
    pub url: String,
    /// The key of the URL, in hex.
    pub key: String,
    /// The owner and the login.
    #[serde(flatten)]
    pub whose: EntryOwner,
    /// The site of the host: `example.co.uk`.
    pub site: String,
    /// The title of the page; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The language that the page declares; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub language: Option<String>,
    /// The stored content.
    #[serde(flatten)]
    pub content: IndexContent,
    /// The times of the entry.
    #[serde(flatten)]
    pub times: ItemTimes,
    /// The number of older versions.
    pub versions: u32,
    /// Whether the words of the entry can be searched: `indexed`, `not-yet` or `none`.
    pub words: String,
    /// For a page: the number of missing sub-resources, if the index knows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<u32>,
    /// The marks of the URL.
    #[serde(flatten)]
    pub marks: IndexMarks,
}

/// The stored content of an entry. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexContent {
    /// The content type, without parameters; empty if it has none.
    pub content_type: String,
    /// The class of the entry, such as `page` or `image`.
    pub class: String,
    /// Whether the entry is a page that a person opens, not a sub-resource.
    pub page: bool,
    /// The status code.
    pub status: u16,
    /// The length of the body.
    pub bytes: u64,
    /// The length of the file.
    pub file_bytes: u64,
    /// The SHA-256 of the body, in hex.
    pub digest: String,
}

/// The marks of the URL of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexMarks {
    /// Whether a request for the URL is queued.
    #[serde(default)]
    pub queued: bool,
    /// Whether the URL is fetched on a schedule.
    #[serde(default)]
    pub monitored: bool,
    /// Whether the URL is protected from purging.
    #[serde(default)]
    pub pinned: bool,
}

/// A request that was queued when an online session began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionItem {
    /// The requested URL.
    pub url: String,
    /// When the request was queued.
    pub queued: Timestamp,
}

/// The items of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListItems {
    /// Entries.
    Entries(Vec<IndexItem>),
    /// Hosts.
    Hosts(Vec<HostItem>),
    /// Sites.
    Sites(Vec<SiteItem>),
    /// Queued requests, or monitored pages.
    Requests(Vec<EntryItem>),
    /// Requests that were queued when an online session began.
    Asked(Vec<SessionItem>),
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPage {
    /// The items.
    #[serde(flatten)]
    pub listed: ListItems,
    /// The value of the argument `after` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// One page of search results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPage {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The queued requests whose URL contains the words.
    pub queue: Vec<EntryItem>,
    /// The value of the argument `after` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// Whether there are more hits than were ranked.
    pub partial: bool,
    /// Whether pages are still being indexed, so that more may be found later.
    pub incomplete: bool,
}

/// A page in the search results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The entry of the hit.
    #[serde(flatten)]
    pub item: IndexItem,
    /// An excerpt of the page's text.
    pub snippet: ShownSnippet,
    /// The byte ranges of the search terms in the title.
    pub title_marks: Vec<(usize, usize)>,
}

/// An excerpt of a page's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownSnippet {
    /// The text.
    pub text: String,
    /// The byte ranges of the search terms in the excerpt.
    pub marks: Vec<(usize, usize)>,
    /// Whether the page's text continues before the excerpt.
    pub cut_before: bool,
    /// Whether the page's text continues after the excerpt.
    pub cut_after: bool,
}

/// The body of `POST /api/reindex`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexRequest {
    /// Whether to add only changes that other programs made in the spool.
    #[serde(default)]
    pub changed: bool,
}

/// A line of the response to `POST /api/reindex`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReindexEvent {
    /// The number of entries indexed so far.
    Walked(u64),
    /// The index is complete.
    Done,
    /// Indexing failed, for this reason.
    Failed(String),
}

impl From<Item> for IndexItem {
    fn from(item: Item) -> Self {
        Self {
            url: item.place.url().to_owned(),
            key: item.place.key().to_string(),
            whose: (&item.place).into(),
            site: item.site,
            title: item.title,
            language: item.language,
            content: item.content.into(),
            times: item.times,
            versions: item.versions,
            words: item.words.as_str().to_owned(),
            missing: None,
            marks: IndexMarks::default(),
        }
    }
}

impl From<StoredContent> for IndexContent {
    fn from(content: StoredContent) -> Self {
        Self {
            page: content.class.is_page(),
            content_type: content.content_type,
            class: content.class.as_str().to_owned(),
            status: content.status,
            bytes: content.body_len,
            file_bytes: content.file_len,
            digest: hex::encode(content.digest),
        }
    }
}

impl From<SessionRequest> for SessionItem {
    fn from(asked: SessionRequest) -> Self {
        Self { url: asked.url, queued: asked.queued }
    }
}

impl From<Snippet> for ShownSnippet {
    fn from(snippet: Snippet) -> Self {
        let marks = snippet.marks.into_iter().map(|mark| (mark.start, mark.end)).collect();
        let (cut_before, cut_after) = (snippet.is_cut_before, snippet.is_cut_after);
        Self { text: snippet.text, marks, cut_before, cut_after }
    }
}

#[cfg(test)]
mod tests;
