//! The page `/search/`.

pub(super) mod call;
#[cfg(feature = "tier")]
pub(super) mod everywhere;
pub mod page;

use crate::page::form::SubmittedForm;
use crate::page::links;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Response;
use wwwoffle_index::Error;
use wwwoffle_url::{CanonicalUrl, url_encode_form_args};

use self::call::{query_index, query_of};
use self::page::{SearchQuery, SearchResult, SearchState, arguments_of};
use super::caller::Caller;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::base::text::tr;
use crate::proxy::body::Body;
use crate::site::collections::access;
use crate::site::home::icons::IconFinder;
use crate::site::lists::action_result;
use crate::site::lists::page::{CHOSEN, list_unavailable, whole};
use crate::storage::lists::found::{self, ListSource};
use crate::storage::lists::query::ListQuery;
use crate::storage::lookup::look_up;
use wwwoffle_api::{Collection, SearchPage};

/// Number of hits on a page.
const HITS: usize = 10;

/// Maximum number of collections that can be chosen.
const CHOICES: usize = 100;

/// Maximum size of all icons on a page together, in bytes as they are written into it.
const MOST_ICONS: usize = 20_000;

/// Maximum length of the address of a search whose hits can be selected, in bytes.
const LONGEST_ADDRESS: usize = 2_000;

/// Time after which the remaining hits are shown without icons.
const PATIENCE: Duration = Duration::from_millis(200);

/// Responds with the description with which browsers add us as a search engine.
pub(super) fn describe(caller: &Caller) -> Response<Body> {
    caller.page(page::description(&caller.shell))
}

/// Shows the form, and the hits if there is a query. A typed address leads to the page about it, or
/// to a link if our script asks with `live=link`, because the person may still be typing.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    #[cfg(feature = "tier")]
    if let Ok(form) = SubmittedForm::of_former_arguments(arguments)
        && everywhere::is_wanted(&form)
        && everywhere::is_possible(caller)
    {
        let (typed, outcome) = everywhere::show(caller, &form, HITS).await;
        return caller.page(page::page(&caller.shell, &typed, outcome, &SearchState::default()));
    }
    let is_live = SubmittedForm::of_former_arguments(arguments)
        .is_ok_and(|form| form.value("live") == Some("link"));
    let lead_to = |url: &str, words: &str| {
        if !is_live {
            return caller.see_other(&links::info(url));
        }
        let typed = SearchQuery { words: words.to_owned(), ..empty_query(caller) };
        let result = SearchResult::Address(url.to_owned());
        let state = SearchState { is_live, ..SearchState::default() };
        caller.page(page::page(&caller.shell, &typed, result, &state))
    };
    let form = SubmittedForm::of_former_arguments(arguments);
    let value = |name: &str| {
        form.as_ref().ok().and_then(|form| form.value(name)).unwrap_or_default().trim().to_owned()
    };
    let (after, is_all_chosen) = (value("after"), value(CHOSEN));
    // If they cannot be read, their own page says why.
    let collections = access::visible(caller).await.unwrap_or_default();
    let typed = SearchQuery {
        words: value("q"),
        host: value("host"),
        since: value("since"),
        until: value("until"),
        collection: value("collection"),
        collections: choices(collections, &value("collection")),
        ..empty_query(caller)
    };
    let (typed, outcome) = match query_of(form) {
        Ok(wanted) if is_address(&wanted.words) => {
            return lead_to(wanted.words.trim(), &wanted.words);
        }
        Err(why) => (typed, SearchResult::Refused(why)),
        Ok(wanted) => {
            if let Some(url) = find_stored_page(caller, wanted.words.trim()).await {
                return lead_to(&url, &wanted.words);
            }
            let mut typed = SearchQuery {
                words: wanted.words.clone(),
                host: wanted.filter.host.clone().unwrap_or_default(),
                kind: wanted.filter.class,
                ..typed
            };
            let outcome = if typed.words.trim().is_empty() {
                SearchResult::Nothing
            } else if wanted.query().is_empty() {
                // "-milk" alone would match nearly every entry.
                SearchResult::Refused(tr(
                    "Enter at least one word to search for, not only words to leave out.",
                ))
            } else {
                run_search(caller, &mut typed, wanted).await
            };
            (typed, outcome)
        }
    };
    let state = SearchState {
        result: action_result(caller, arguments).await,
        is_all_chosen: is_all_chosen == "1",
        is_live,
        ..state_of(&typed, &after)
    };
    caller.page(page::page(&caller.shell, &typed, outcome, &state))
}

/// Returns the addresses of the page of a search that begins `after` a position.
fn state_of(typed: &SearchQuery, after: &str) -> SearchState {
    let address = |after: &str| format!("{}?{}", links::SEARCH, arguments(typed, after));
    let back = Some(address(after)).filter(|back| back.len() <= LONGEST_ADDRESS);
    let list = url_encode_form_args(address("").as_bytes());
    let whole = format!("{}?{}={list}", whole::PATH, whole::LIST);
    SearchState { whole: back.is_some().then_some(whole), back, ..SearchState::default() }
}

/// Returns the ids and names of the collections that can be chosen, always with the `chosen` one.
fn choices(all: Vec<Collection>, chosen: &str) -> Vec<(String, String)> {
    let is_shown = |(at, one): &(usize, Collection)| *at < CHOICES || one.id == chosen;
    let shown = all.into_iter().enumerate().filter(is_shown);
    shown.map(|(_, one)| (one.id, one.name)).collect()
}

/// A form without words. It offers the entries of all nodes if there are other nodes.
fn empty_query(caller: &Caller) -> SearchQuery {
    #[cfg(feature = "tier")]
    let is_everywhere = everywhere::is_possible(caller).then_some(false);
    #[cfg(not(feature = "tier"))]
    let (is_everywhere, _) = (None, caller);
    SearchQuery { is_everywhere, ..SearchQuery::default() }
}

/// Whether the words are just the address of a page.
fn is_address(words: &str) -> bool {
    let words = words.trim();
    let is_web = ["http://", "https://", "ftp://"].iter().any(|scheme| words.starts_with(scheme));
    is_web && !words.contains(char::is_whitespace)
}

/// Returns the URL of the stored page whose address without its scheme is `words`, such as
/// `www.example.org/tea`. `None` if no such page is stored.
async fn find_stored_page(caller: &Caller, words: &str) -> Option<String> {
    if !is_bare_address(words) {
        return None;
    }
    for scheme in ["https", "http"] {
        let url = CanonicalUrl::parse(&format!("{scheme}://{words}"), &caller.context.base.local);
        let Ok(url) = url else { continue };
        if url.is_local() {
            continue;
        }
        let places = Places::of_url(&url, &caller.owner);
        // The search that follows reports a failed spool.
        let found = look_up(&caller.context.storage.store, &places).await.ok()?;
        if found.choose(Mode::Offline).is_some() {
            return Some(url.without_credentials().as_str().to_owned());
        }
    }
    None
}

/// Whether `words` may be an address: they begin with an IPv4 address, or with a host of two or
/// more labels, the last of which contains a letter. `node.js` qualifies, too, but no page is
/// stored at that address.
fn is_bare_address(words: &str) -> bool {
    let host = words.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        !label.is_empty() && !label.starts_with('-') && label.chars().all(fits)
    };
    let labels: Vec<_> = host.trim_end_matches('.').split('.').collect();
    let has_letter = labels.last().is_some_and(|last| last.chars().any(char::is_alphabetic));
    let is_host = labels.len() > 1 && has_letter && labels.into_iter().all(is_label);
    let is_host = is_host || host.parse::<Ipv4Addr>().is_ok();
    is_host && is_port && !words.contains(char::is_whitespace)
}

/// Returns the words with the last one as the beginning of a word. `None` if that is the same, or if
/// the last one excludes pages.
fn with_begun_word(words: &str) -> Option<String> {
    let words = words.trim_end();
    let last = words.rsplit(char::is_whitespace).next()?;
    let is_word = !last.starts_with('-') && last != "OR" && !words.contains('"');
    (is_word && last.ends_with(char::is_alphanumeric)).then(|| format!("{words}*"))
}

/// Searches. If no page has the words, a page may have one that begins like the last of them: a
/// person is typing it. The words of such a search are put into `typed`.
async fn run_search(caller: &Caller, typed: &mut SearchQuery, wanted: ListQuery) -> SearchResult {
    let wanted = ListQuery { limit: HITS, ..wanted };
    let (owner, context) = (caller.owner.clone(), Arc::clone(&caller.context));
    let find = query_index(caller, wanted, move |source, wanted| {
        let mut found = hits_that_fit(source, wanted)?;
        let mut words = None;
        if found.hits.is_empty() && wanted.after.is_none() {
            words = with_begun_word(&wanted.words);
        }
        if let Some(words) = &words {
            let begun = ListQuery { words: words.clone(), ..wanted.clone() };
            found = SearchPage { queue: found.queue, ..hits_that_fit(source, &begun)? };
        }
        let words = words.filter(|_| !found.hits.is_empty());
        let finder = IconFinder::new(source, &owner, &context.base.local);
        let finder = finder.until(Instant::now() + PATIENCE);
        let icons = icons(&finder, &found);
        Ok((found, icons, words))
    });
    match find.await {
        Ok((found, icons, words)) => {
            typed.words = words.unwrap_or_else(|| typed.words.clone());
            let next = found.next.as_deref().map(|next| arguments(typed, next));
            SearchResult::Found(found, icons, next)
        }
        Err(error) => SearchResult::Refused(list_unavailable(&error_chain(&error))),
    }
}

/// Returns as many hits as fit on one page. The rest is on the next page.
fn hits_that_fit(source: &ListSource<'_>, wanted: &ListQuery) -> Result<SearchPage, Error> {
    let found = found::search(source, wanted)?;
    match page::hits_that_fit(&found.hits) {
        Some(limit) => found::search(source, &ListQuery { limit, ..wanted.clone() }),
        None => Ok(found),
    }
}

/// Returns the icons of the hits, at most [`MOST_ICONS`] bytes.
fn icons(finder: &IconFinder<'_>, found: &SearchPage) -> Vec<Option<String>> {
    let mut room = MOST_ICONS;
    let mut icon = |url: &str| {
        let icon = finder.of(url)?;
        room = room.checked_sub(icon.len())?;
        Some(icon)
    };
    found.hits.iter().map(|hit| icon(&hit.item.url)).collect()
}

/// Returns the arguments of the next page.
fn arguments(typed: &SearchQuery, after: &str) -> String {
    let mut arguments = arguments_of(&typed.saved());
    let scope = if typed.is_everywhere == Some(true) { "all" } else { "" };
    for (name, value) in
        [("scope", scope), ("collection", typed.collection.as_str()), ("after", after)]
    {
        if !value.is_empty() {
            arguments = format!("{arguments}&{name}={}", url_encode_form_args(value.as_bytes()));
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_may_be_a_beginning() {
        for (words, want) in [
            ("gre", Some("gre*")),
            ("tea gre ", Some("tea gre*")),
            ("gre*", None),
            ("tea -gre", None),
            ("tea OR", None),
            ("\"black te", None),
            ("", None),
        ] {
            assert_eq!(with_begun_word(words).as_deref(), want, "{words}");
        }
    }

    #[test]
    fn a_bare_address_is_recognized() {
        for (words, want) in [
            ("www.tea.example", true),
            ("www.tea.example/a?b#c", true),
            ("tea.example:8080/", true),
            ("tee-haus.example.", true),
            ("bücher.example/", true),
            ("node.js", true),
            ("tea", false),
            ("3.14", false),
            ("127.0.0.1:8080/", true),
            ("tea.example and more", false),
            ("-tea.example", false),
            ("\"tea.example\"", false),
            ("user:pw@tea.example", false),
            ("tea..example", false),
            (".example", false),
            ("/a.html", false),
            ("", false),
        ] {
            assert_eq!(is_bare_address(words), want, "{words}");
        }
    }
}
