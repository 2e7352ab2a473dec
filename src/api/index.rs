//! The shapes of `/api/index`, `/api/search` and `/api/reindex`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_index::{HostItem, Item, SessionRequest, SiteItem, Snippet};

use super::EntryItem;

/// An entry as the index knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each may be so by itself")]
pub struct IndexItem {
    /// The canonical URL, without credentials.
    pub url: String,
    /// Its key, in hex.
    pub key: String,
    /// For whom alone it is kept, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<String>,
    /// What belongs together with its host: `example.co.uk`.
    pub site: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The language that it says it is in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub language: Option<String>,
    /// Its type, without parameters; empty for none.
    pub content_type: String,
    /// What sort of thing it is: `page`, `image` …
    pub class: String,
    /// Whether it is what a person opens, and no part of something else.
    pub page: bool,
    /// The status code.
    pub status: u16,
    /// The length of the body.
    pub bytes: u64,
    /// The length of the file.
    pub file_bytes: u64,
    /// The SHA-256 of the body, in hex.
    pub digest: String,
    /// When the response came.
    pub answered: Timestamp,
    /// When it was finished.
    pub stored: Timestamp,
    /// When its origin confirmed it last.
    pub checked: Timestamp,
    /// When it was used last.
    pub used: Timestamp,
    /// How many older versions there are.
    pub versions: u32,
    /// `indexed`, `not-yet` or `none`: whether its words can be searched.
    pub words: String,
    /// Of a page: how many of its parts are not kept, where the index can tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<u32>,
    /// A request for it is on the queue.
    #[serde(default)]
    pub queued: bool,
    /// It is looked at on a schedule.
    #[serde(default)]
    pub monitored: bool,
    /// It stays whatever its age.
    #[serde(default)]
    pub pinned: bool,
}

/// A host and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexHost {
    /// `http`, for example.
    pub scheme: String,
    /// Its name, with its port if that is not the scheme's.
    pub host: String,
    /// What it belongs to.
    pub site: String,
    /// How many entries are kept.
    pub entries: u64,
    /// The lengths of their files together.
    pub bytes: u64,
}

/// A site and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSite {
    /// Its name.
    pub site: String,
    /// How many hosts it has.
    pub hosts: u64,
    /// How many entries are kept.
    pub entries: u64,
    /// The lengths of their files together.
    pub bytes: u64,
}

/// A request that was on the queue when a session began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexAsked {
    /// What was asked for.
    pub url: String,
    /// When.
    pub queued: Timestamp,
}

/// What a list has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listed {
    /// Entries.
    Entries(Vec<IndexItem>),
    /// Hosts.
    Hosts(Vec<IndexHost>),
    /// Sites.
    Sites(Vec<IndexSite>),
    /// Requests on the queue, or what is looked at on a schedule.
    Requests(Vec<EntryItem>),
    /// What was asked for in a time offline.
    Asked(Vec<IndexAsked>),
}

/// Some of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPage {
    /// What there is.
    #[serde(flatten)]
    pub listed: Listed,
    /// What `after` is for the next of it; nothing at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// What was found by its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPage {
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// Requests on the queue whose URL has the words.
    pub queue: Vec<EntryItem>,
    /// What `after` is for the next of it; nothing at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// There are more than were ranked.
    pub partial: bool,
    /// Pages are still being read, so that more may be found later.
    pub incomplete: bool,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Which.
    #[serde(flatten)]
    pub item: IndexItem,
    /// A piece of it.
    pub snippet: ShownSnippet,
    /// Where in the title the words are, in bytes.
    pub title_marks: Vec<(usize, usize)>,
}

/// A piece of a page's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownSnippet {
    /// The text.
    pub text: String,
    /// Where in it the words are, in bytes.
    pub marks: Vec<(usize, usize)>,
    /// Something comes before it.
    pub cut_before: bool,
    /// Something follows.
    pub cut_after: bool,
}

/// What is to be made anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexRequest {
    /// Only what others have changed in the spool.
    #[serde(default)]
    pub changed: bool,
}

/// A line of what that comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReindexEvent {
    /// So many entries until now.
    Walked(u64),
    /// It is done.
    Done,
    /// It could not be done.
    Failed(String),
}

impl From<Item> for IndexItem {
    fn from(item: Item) -> Self {
        Self {
            url: item.place.url().to_owned(),
            key: item.place.key().to_string(),
            owner: item.place.owner().map(str::to_owned),
            page: item.is_page(),
            site: item.site,
            title: item.title,
            language: item.language,
            content_type: item.content_type,
            class: item.class.name().to_owned(),
            status: item.status,
            bytes: item.body_len,
            file_bytes: item.file_len,
            digest: hex::encode(item.digest),
            answered: item.answered,
            stored: item.stored,
            checked: item.checked,
            used: item.used,
            versions: item.versions,
            words: item.words.name().to_owned(),
            queued: false,
            missing: None,
            monitored: false,
            pinned: false,
        }
    }
}

impl From<HostItem> for IndexHost {
    fn from(host: HostItem) -> Self {
        let HostItem { scheme, host, site, entries, bytes } = host;
        Self { scheme, host, site, entries, bytes }
    }
}

impl From<SiteItem> for IndexSite {
    fn from(site: SiteItem) -> Self {
        let SiteItem { site, hosts, entries, bytes } = site;
        Self { site, hosts, entries, bytes }
    }
}

impl From<SessionRequest> for IndexAsked {
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
