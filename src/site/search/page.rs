//! The local page `/search/`, and the description that lets browsers add it as a search engine.

use jiff::tz::TimeZone;
use serde::Serialize;
use wwwoffle_index::ContentClass;
use wwwoffle_url::url_encode_form_args;

use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::form::SelectOption;
use crate::page::links::{self, SEARCH};
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::collections::choose;
use crate::site::home::page::letter;
use crate::site::lists::page::room::{count_fitting, link_size, row_links_size, take_links};
use crate::site::lists::page::{ActionResult, CHOSEN, LONGEST_CHOSEN, is_choosable, result_view};
use wwwoffle_api::{EntryItem, SavedSearch, SearchHit, SearchPage};

/// Content type of the description (`OpenSearch` 1.1, draft 6).
const OPEN_SEARCH: &str = "application/opensearchdescription+xml";

/// Maximum size of all hits on a page after escaping, in bytes. With the rest the page stays below
/// 100 kB.
const ROOM: usize = 50_000;
/// Maximum size of all hits on the queue after escaping, in bytes.
const ROOM_FOR_QUEUE: usize = 30_000;

/// Maximum size of all links to requests on the queue without their texts, in bytes; further URLs
/// are shown without a link.
const MOST_LINKS: usize = 12_000;

/// Size of a hit without its variable texts, in bytes.
const HIT: usize = 760;
/// Size of a request without its variable texts, in bytes.
const REQUEST: usize = 350;

/// Maximum length of the arguments of a search that can be added to a collection, in bytes.
const LONGEST_ARGUMENTS: usize = 6_000;

/// Size of the markup around a highlighted piece, in bytes.
const MARK: usize = 13;

/// The typed query, to fill in the form again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words.
    pub words: String,
    /// The host of the results; empty for all.
    pub host: String,
    /// The class of the results; `None` for all.
    pub kind: Option<ContentClass>,
    /// Only pages saved on this day or later; empty for all.
    pub since: String,
    /// Only pages saved on this day or earlier; empty for all.
    pub until: String,
    /// The id of the collection of the results; empty for all.
    pub collection: String,
    /// The collections that the viewer can choose: their ids and names.
    pub collections: Vec<(String, String)>,
    /// Whether the entries of all nodes are searched. `None` if there are no other nodes.
    pub is_everywhere: Option<bool>,
}

impl SearchQuery {
    /// The search, without the collection.
    #[must_use]
    pub fn saved(&self) -> SavedSearch {
        SavedSearch {
            words: self.words.clone(),
            host: self.host.clone(),
            class: self.kind.map(ContentClass::as_str).unwrap_or_default().to_owned(),
            since: self.since.clone(),
            until: self.until.clone(),
        }
    }
}

/// Returns the arguments of the search page for a search.
#[must_use]
pub fn arguments_of(search: &SavedSearch) -> String {
    let pairs = ["q", "host", "type", "since", "until"].into_iter();
    let pairs = pairs.map(|name| (name, search.value(name).unwrap_or_default()));
    let pairs = pairs.filter(|(_, value)| !value.is_empty());
    let pair =
        |(name, value): (&str, &str)| format!("{name}={}", url_encode_form_args(value.as_bytes()));
    pairs.map(pair).collect::<Vec<_>>().join("&")
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResult {
    /// No query was given.
    Nothing,
    /// The index is not available or the query is invalid; the reason in words.
    Refused(Text),
    /// The words are the address of a page: this URL.
    Address(String),
    /// The hits with their icons, and the arguments of the next page if there is one.
    Found(SearchPage, Vec<Option<String>>, Option<String>),
}

/// The state of the page beside the query and its result.
#[derive(Clone, Debug, Default)]
pub struct SearchState {
    /// Address of this page, to which forms return. `None` if it is too long, or if the hits are those
    /// of other nodes; then no hit can be selected.
    pub back: Option<String>,
    /// Address of the page with the actions on everything found.
    pub whole: Option<String>,
    /// Whether all hits that can be selected are selected.
    pub is_all_chosen: bool,
    /// Whether our script asked, because a person is typing.
    pub is_live: bool,
    /// The result of the last action on hits.
    pub result: Option<ActionResult>,
}

/// A piece of a text, and whether it is highlighted as a match.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct TextPiece {
    text: String,
    marked: bool,
}

/// Returns the number of hits that fit on a page, at least 1; `None` if all of them fit.
#[must_use]
pub fn hits_that_fit(hits: &[SearchHit]) -> Option<usize> {
    let fits = count_fitting(ROOM, hits.iter().map(cost));
    (fits < hits.len()).then_some(fits)
}

fn cost(found: &SearchHit) -> usize {
    let url = hit_url(found);
    let title = found.item.title.as_deref().map_or(0, written);
    let marks = MARK * (found.title_marks.len() + found.snippet.marks.len());
    let value = if found.item.url.len() <= LONGEST_CHOSEN { link_size(&url) } else { 0 };
    HIT + value
        + row_links_size(&url)
        + written(&url.text)
        + title
        + written(&found.snippet.text)
        + marks
}

/// Renders the page.
#[must_use]
pub fn page(
    shell: &Shell,
    typed: &SearchQuery,
    outcome: SearchResult,
    state: &SearchState,
) -> RenderedPage {
    let kind = |value, label, kind| SelectOption { value, label, chosen: typed.kind == kind };
    let mut address = None;
    let (refused, found) = match outcome {
        SearchResult::Nothing => (None, None),
        SearchResult::Address(url) => {
            address = Some(view! { info: links::info(&url), url: ShownUrl::new(&url) });
            (None, None)
        }
        SearchResult::Refused(why) => (Some(why), None),
        SearchResult::Found(found, icons, next) => (None, Some((found, icons, next))),
    };
    let icons = found.as_ref().map(|(_, icons, _)| icons.clone()).unwrap_or_default();
    let (found, next) = found.map(|(found, _, next)| (found, next)).unzip();
    let found = found.as_ref();
    let hits = found.map(|found| found.hits.as_slice()).unwrap_or_default();
    let is_choosable = |hit: &SearchHit| is_choosable(&hit.item, &shell.reader);
    let can_choose = state.back.is_some() && hits.iter().any(is_choosable);
    let mut view = view! {
        words: shown::text(&typed.words),
        host: shown::text(&typed.host),
        kinds: [
            kind("", tr("all types"), None),
            kind("page", tr("pages"), Some(ContentClass::Page)),
            kind("text", tr("plain text"), Some(ContentClass::Text)),
            kind("document", tr("documents"), Some(ContentClass::Document)),
        ],
        since: shown::text(&typed.since),
        until: shown::text(&typed.until),
        collections: collections(typed),
        // Whether one of the fields is used that are folded otherwise.
        is_narrowed: [&typed.since, &typed.until, &typed.collection].iter().any(|it| !it.is_empty()),
        // Address of the page that adds the search to a collection.
        collect: found.and_then(|_| collect_address(typed)),
        // Empty without other nodes.
        scopes: typed.is_everywhere.map(scopes).unwrap_or_default(),
        asked: address.is_some() || refused.is_some() || found.is_some(),
        // The page that the words name.
        address,
        refused,
        hits: hits.iter().enumerate().map(|(at, hit)| {
            let value = (can_choose && is_choosable(hit)).then(|| hit_url(hit).href).flatten();
            hit_view(hit, icons.get(at).and_then(Option::as_deref), value.as_deref(), &shell.zone)
        }).collect::<Vec<_>>(),
        selection: view! {
            possible: can_choose,
            is_all: state.is_all_chosen,
            // Address of this page with the opposite selection.
            opposite: state.back.as_deref().map(|back| {
                if state.is_all_chosen { back.to_owned() } else { format!("{back}&{CHOSEN}=1") }
            }),
        },
        back: state.back.as_deref().unwrap_or(SEARCH),
        whole: state.whole.as_deref().filter(|_| can_choose),
        queue: found.map(|found| queue(&found.queue, &shell.zone)).unwrap_or_default(),
        // Arguments of the next page.
        next: next.flatten(),
        is_live: state.is_live,
        partial: found.is_some_and(|found| found.partial),
        incomplete: found.is_some_and(|found| found.incomplete),
    };
    view.extend(result_view(state.result, shell));
    shell.page("search.html", 200, &view)
}

/// Returns the address of the page that adds a search to a collection; `None` for a long search,
/// which no collection takes.
fn collect_address(typed: &SearchQuery) -> Option<String> {
    let arguments = arguments_of(&without_credentials(typed));
    (arguments.len() <= LONGEST_ARGUMENTS).then(|| choose::of_search(&arguments))
}

/// Returns the search without passwords, because addresses of pages are visible.
fn without_credentials(typed: &SearchQuery) -> SavedSearch {
    let shown = |text: &str| shown::without_any_credentials(text);
    let SavedSearch { words, host, class, since, until } = typed.saved();
    SavedSearch {
        words: shown(&words),
        host: shown(&host),
        class,
        since: shown(&since),
        until: shown(&until),
    }
}

/// Returns the collections that can be chosen.
fn collections(typed: &SearchQuery) -> Vec<View> {
    let chosen = typed.collection.to_lowercase();
    let is_chosen = |id: &str, name: &str| chosen == id || chosen == name.to_lowercase();
    let one = |(id, name): &(String, String)| {
        view! { id, name: shown::text(name), chosen: is_chosen(id, name) }
    };
    typed.collections.iter().map(one).collect()
}

/// Where to search.
fn scopes(is_everywhere: bool) -> Vec<SelectOption> {
    vec![
        SelectOption { value: "here", label: tr("this node"), chosen: !is_everywhere },
        SelectOption { value: "all", label: tr("all nodes"), chosen: is_everywhere },
    ]
}

fn hit_url(found: &SearchHit) -> ShownUrl {
    ShownUrl::new(&found.item.url).of_login(found.item.whose.login.as_deref())
}

/// Returns the values of a hit. `value` is that of the form field that selects it.
fn hit_view(found: &SearchHit, icon: Option<&str>, value: Option<&str>, zone: &TimeZone) -> View {
    let item = &found.item;
    let title = item.title.as_deref().unwrap_or_default();
    // A hit without a title shows its URL only.
    let title = if title.trim().is_empty() { "" } else { title };
    let title = pieces(title, &found.title_marks);
    let host = item.url.split('/').nth(2).unwrap_or_default();
    view! {
        url: hit_url(found),
        value,
        icon,
        letter: letter(host),
        title,
        pieces: pieces(&found.snippet.text, &found.snippet.marks),
        cut_before: found.snippet.cut_before,
        cut_after: found.snippet.cut_after,
        stored: ShownTime::new(item.times.stored, zone),
        size: shown::bytes(item.content.bytes),
        status: (item.content.status != 200).then_some(item.content.status),
    }
}

/// Returns the hits on the queue that fit on the page.
fn queue(requests: &[EntryItem], zone: &TimeZone) -> Vec<View> {
    let cost = |request: &EntryItem| REQUEST + written(&ShownUrl::new(&request.url).text);
    let fits = count_fitting(ROOM_FOR_QUEUE, requests.iter().map(cost));
    let mut room = MOST_LINKS;
    let row = |request: &EntryItem| {
        let mut url = ShownUrl::new(&request.url);
        take_links(&mut room, &mut url);
        view! { url, queued: ShownTime::new(request.stored, zone) }
    };
    requests.iter().take(fits).map(row).collect()
}

/// Splits a text at its highlights. Invalid highlights are ignored.
fn pieces(text: &str, marks: &[(usize, usize)]) -> Vec<TextPiece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    let mut push = |text: &str, marked| {
        if !text.is_empty() {
            pieces.push(TextPiece { text: shown::text(text), marked });
        }
    };
    for (start, end) in marks {
        let (Some(before), Some(marked)) = (text.get(at..*start), text.get(*start..*end)) else {
            continue;
        };
        push(before, false);
        push(marked, true);
        at = *end;
    }
    push(text.get(at..).unwrap_or_default(), false);
    pieces
}

/// Returns the description with which a browser adds us as a search engine. It contains the address
/// at which the browser reached us.
#[must_use]
pub fn description(shell: &Shell) -> RenderedPage {
    let origin = shell.origin.as_str();
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>wwwoffle</ShortName>\n\
         <Description>Pages saved by the offline proxy</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n\
         <Url type=\"text/html\" method=\"get\" template=\"{origin}{SEARCH}?q={{searchTerms}}\"/>\n\
         <Url type=\"application/json\" method=\"get\" template=\"{origin}/api/search?q={{searchTerms}}\"/>\n\
         </OpenSearchDescription>\n"
    );
    RenderedPage { status: 200, content_type: OPEN_SEARCH, body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{as_key, assert_harmless, hostile, shell, time};
    use wwwoffle_api::{EntryOwner, IndexContent, IndexItem, IndexMarks, ItemTimes, ShownSnippet};

    #[test]
    fn an_address_is_shown_as_a_link_to_the_page_about_it() {
        for url in hostile().iter().map(|text| as_key(text)).chain(["http://tea.example/"]) {
            let result = SearchResult::Address(url.to_owned());
            let page = page(&shell(), &SearchQuery::default(), result, &SearchState::default());
            assert_harmless(&page);
            assert!(page.body.contains(">Info on "), "{}", page.body);
        }
    }

    fn state() -> SearchState {
        let back = Some("/search/?q=tea".to_owned());
        SearchState { whole: back.clone(), back, ..SearchState::default() }
    }

    fn found(text: &str) -> SearchHit {
        SearchHit {
            item: IndexItem {
                url: text.to_owned(),
                key: String::new(),
                whose: EntryOwner::default(),
                site: String::new(),
                title: Some(text.to_owned()),
                language: None,
                content: IndexContent {
                    content_type: String::new(),
                    class: "page".into(),
                    page: true,
                    status: 404,
                    bytes: 1_500,
                    file_bytes: 2_000,
                    digest: String::new(),
                },
                times: ItemTimes {
                    answered: time(),
                    stored: time(),
                    checked: time(),
                    used: time(),
                },
                versions: 0,
                words: "indexed".into(),
                missing: None,
                marks: IndexMarks { queued: false, monitored: false, pinned: false },
            },
            snippet: ShownSnippet {
                text: text.to_owned(),
                marks: vec![(0, 1), (2, 5), (1, 9_999_999)],
                cut_before: true,
                cut_after: false,
            },
            title_marks: vec![(1, 2)],
        }
    }

    fn page_of(typed: &SearchQuery, outcome: SearchResult) -> RenderedPage {
        page(&shell(), typed, outcome, &state())
    }

    #[test]
    fn matching_words_are_marked() {
        let marked = |text: &str| TextPiece { text: text.to_owned(), marked: true };
        let plain = |text: &str| TextPiece { text: text.to_owned(), marked: false };
        assert_eq!(pieces("a tea b", &[(2, 5)]), [plain("a "), marked("tea"), plain(" b")]);
        assert_eq!(pieces("téa", &[(0, 2), (3, 99)]), [plain("téa")]);
        assert_eq!(pieces("", &[(0, 1)]), []);
    }

    #[test]
    fn every_text_in_a_page_is_escaped() {
        let none = SearchResult::Nothing;
        assert_harmless(&page_of(&SearchQuery::default(), none));
        for text in hostile() {
            let typed = SearchQuery {
                words: text.clone(),
                host: text.clone(),
                kind: Some(ContentClass::Page),
                since: text.clone(),
                until: text.clone(),
                collection: text.clone(),
                collections: vec![("00000000000000aa".into(), text.clone())],
                is_everywhere: Some(true),
            };
            assert_harmless(&page_of(
                &typed,
                SearchResult::Refused(tr("{fact}").with("fact", shown::text(&text))),
            ));
            let hits = SearchPage {
                hits: vec![found(&text)],
                queue: Vec::new(),
                next: None,
                partial: true,
                incomplete: true,
            };
            assert_harmless(&page_of(
                &typed,
                SearchResult::Found(hits, Vec::new(), Some("q=a&after=b".into())),
            ));
        }
    }

    #[test]
    fn the_number_of_hits_depends_on_their_size() {
        for (part, length, at_least) in
            [("a/b", 60, 10), ("a/b=c&", 900, 10), ("&", 8_100, 1), ("%3f", 8_100, 4)]
        {
            let url = format!("http://www.example.org/?{}", part.repeat(length / part.len()));
            let request = EntryItem {
                url: url.clone(),
                key: String::new(),
                status: None,
                content_type: None,
                bytes: 0,
                stored: time(),
                whose: EntryOwner::default(),
                held: None,
            };
            let mut hit = found("A title <of> a page");
            hit.item.url.clone_from(&url);
            let hits = vec![hit; 10];
            let fits = hits_that_fit(&hits).unwrap_or(10);
            assert!(fits >= at_least, "{fits} of {url:.60}");
            let found = SearchPage {
                hits: hits[..fits].to_vec(),
                queue: vec![request; 50],
                next: None,
                partial: true,
                incomplete: true,
            };
            let page = page_of(
                &SearchQuery::default(),
                SearchResult::Found(found, Vec::new(), Some("q=a&after=b".into())),
            );
            assert_harmless(&page);
            assert!(page.body.contains("On the queue"), "{url:.60}");
        }
        assert_eq!(hits_that_fit(&[]), None);
    }

    #[test]
    fn a_browser_finds_the_search_description() {
        let described = description(&shell());
        assert_eq!(described.content_type, OPEN_SEARCH);
        let template = "template=\"http://localhost:8080/search/?q={searchTerms}\"";
        assert!(described.body.contains(template), "{}", described.body);
        let page = page_of(&SearchQuery::default(), SearchResult::Nothing).body;
        assert!(page.contains("rel=\"search\"") && page.contains("/search/opensearch.xml"));
    }
}
