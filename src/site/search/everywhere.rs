//! Search in the entries of all nodes of the archive tier: `scope=all`.

use wwwoffle_api::{IndexPage, ListItems, SearchHit, SearchPage};
use wwwoffle_index::ContentClass;

use super::page::{self, SearchQuery, SearchResult};
use crate::base::text::{Text, tr};
use crate::page::form::SubmittedForm;
use crate::site::caller::Caller;
use crate::site::lists::page::MAX_COUNTED;
use crate::storage::lists::found::ListType;
use crate::tier::{Tier, TierHostsQuery, TierQuery};

/// The largest number of hits on a page.
const MAX_HITS: usize = 50;

/// The largest number of hits before a page.
const MAX_OFFSET: usize = 500;

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::site) enum Unsearched {
    /// An argument is invalid.
    Bad(Text),
    /// The tier cannot be searched now.
    Unavailable,
}

impl Unsearched {
    pub(in crate::site) fn text(self) -> Text {
        match self {
            Self::Bad(why) => why,
            Self::Unavailable => {
                tr("The archive tier cannot be searched now, only the pages of this node.")
            }
        }
    }
}

/// Whether a form asks for the entries of all nodes.
pub(in crate::site) fn is_wanted(form: &SubmittedForm) -> bool {
    form.value("scope") == Some("all")
}

fn tier(caller: &Caller) -> Option<&Tier> {
    caller.context.proxy.traffic.tier.as_deref()
}

/// Whether there are other nodes.
pub(super) fn is_possible(caller: &Caller) -> bool {
    tier(caller).is_some()
}

/// The query of a form.
fn query(form: &SubmittedForm, limit: usize) -> Result<TierQuery, Text> {
    let value = |name: &str| form.value(name).map(str::trim).unwrap_or_default();
    let plain =
        |name: &str| value(name).chars().filter(|one| !one.is_control()).collect::<String>();
    let number = |name: &str, usual: usize| match value(name) {
        "" => Ok(usual),
        text => text.parse().map_err(|_| tr("the list position in the address is invalid")),
    };
    let offset = number("after", 0)?;
    if offset > MAX_OFFSET {
        return Err(tr("the list position in the address is invalid"));
    }
    Ok(TierQuery {
        words: plain("q"),
        host: plain("host").to_ascii_lowercase(),
        media: media(value("type"))?.to_owned(),
        limit: number("limit", limit)?.clamp(1, MAX_HITS),
        offset,
    })
}

/// The beginning of the content types of a class.
fn media(class: &str) -> Result<&'static str, Text> {
    const KNOWN: [(ContentClass, &str); 4] = [
        (ContentClass::Page, "text/html"),
        (ContentClass::Text, "text/plain"),
        (ContentClass::Image, "image/"),
        (ContentClass::Font, "font/"),
    ];
    if class.is_empty() {
        return Ok("");
    }
    let known = KNOWN.iter().find(|(known, _)| known.as_str() == class);
    known.map(|(_, media)| *media).ok_or_else(|| {
        let names: Vec<_> = KNOWN.iter().map(|(known, _)| known.as_str()).collect();
        let found = format!("{:?}", crate::base::shown::text(class));
        tr("use one of {known}, not {found}").with("known", names.join(", ")).with("found", found)
    })
}

/// Lists the hosts with entries of all nodes, by name.
pub(in crate::site) async fn hosts(
    caller: &Caller,
    form: &SubmittedForm,
    limit: usize,
) -> Result<IndexPage, Unsearched> {
    let after: String =
        form.value("after").unwrap_or_default().chars().filter(|one| !one.is_control()).collect();
    let found = match tier(caller) {
        Some(tier) => tier.hosts(&TierHostsQuery { after, limit, counted: MAX_COUNTED }).await,
        None => None,
    };
    let (mut hosts, has_more) = found.ok_or(Unsearched::Unavailable)?;
    let next = hosts.last().filter(|_| has_more).map(|last| last.host.clone());
    // The configuration hides these hosts from all lists.
    let config = caller.context.base.config();
    let is_listed = |host: &str| {
        let url = |scheme: &str| format!("{scheme}://{host}/");
        ["http", "https"].iter().any(|scheme| ListType::Any.lists_url(&config, &url(scheme)))
    };
    hosts.retain(|host| is_listed(&host.host));
    Ok(IndexPage { listed: ListItems::Hosts(hosts), next })
}

/// Searches for the words of a form; without words, lists the newest entries. `fits` returns how
/// many hits fit, if not all.
pub(super) async fn search(
    caller: &Caller,
    form: &SubmittedForm,
    limit: usize,
    fits: impl Fn(&[SearchHit]) -> Option<usize>,
) -> Result<SearchPage, Unsearched> {
    let wanted = query(form, limit).map_err(Unsearched::Bad)?;
    let found = match tier(caller) {
        Some(tier) => tier.search(&wanted).await,
        None => None,
    };
    let (mut hits, mut has_more) = found.ok_or(Unsearched::Unavailable)?;
    // Rows without a valid URL are no hits, but count as seen.
    let mut next = wanted.offset + wanted.limit;
    if let Some(fits) = fits(&hits) {
        has_more = true;
        hits.truncate(fits);
        next = wanted.offset + hits.len();
    }
    // The configuration hides these URLs from all lists.
    let config = caller.context.base.config();
    hits.retain(|hit| ListType::Any.lists_url(&config, &hit.item.url));
    let next = (has_more && next <= MAX_OFFSET).then(|| next.to_string());
    Ok(SearchPage { hits, queue: Vec::new(), next, partial: false, incomplete: false })
}

/// The query and the result of the page `/search/`.
pub(super) async fn show(
    caller: &Caller,
    form: &SubmittedForm,
    limit: usize,
) -> (SearchQuery, SearchResult) {
    let kind = form.value("type").and_then(|text| text.trim().parse().ok());
    let text = |name: &str| form.value(name).unwrap_or_default().to_owned();
    let typed = SearchQuery {
        words: text("q"),
        host: text("host"),
        kind,
        is_everywhere: Some(true),
        ..SearchQuery::default()
    };
    let result = match search(caller, form, limit, page::hits_that_fit).await {
        Ok(found) => {
            let next = found.next.as_deref().map(|next| super::arguments(&typed, next));
            // The icons of other nodes are not here.
            let icons = vec![None; found.hits.len()];
            SearchResult::Found(found, icons, next)
        }
        Err(why) => SearchResult::Refused(why.text()),
    };
    (typed, result)
}
