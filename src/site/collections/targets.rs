//! The pages that are fetched for the members of a collection.

use std::collections::HashSet;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use wwwoffle_index::Error;
use wwwoffle_spool::RequestKind;
use wwwoffle_url::CanonicalUrl;

use super::access::CollectionFault;
use crate::base::error_chain::error_chain;
use crate::fetch;
use crate::fetch::recurse;
use crate::site::caller::Caller;
use crate::site::lists::cards::start_page;
use crate::site::search::call::query_index_for;
use crate::storage::collections::members::{PATIENCE, found};
use crate::storage::lists::found::ListSource;
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::viewer;
use wwwoffle_api::fetch_spec::{FetchSpec, RecursiveRequest};
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{Collection, CollectionFetch, Member};

/// The number of pages that are requested at once.
pub(super) const AT_ONCE: usize = 16;

/// The largest number of pages that are fetched for a collection.
pub(in crate::site) const MAX_TARGETS: usize = 1_000;

/// The number of pages of a search that are fetched: the best ones.
const OF_SEARCH: usize = 50;

/// The depth of the links that are followed from the start page of a site.
const SITE_DEPTH: u16 = 1;

/// A page to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::site) struct FetchTarget {
    pub(in crate::site) url: String,
    /// The depth of the links that are followed, within the site.
    pub(in crate::site) depth: u16,
}

/// Returns the pages to fetch, each once: pages, the start pages of sites, and the pages that
/// searches find now.
pub(in crate::site) async fn of(
    caller: &Caller,
    collection: &Collection,
) -> Result<Vec<FetchTarget>, Error> {
    let (collection, local) = (collection.clone(), caller.context.base.local.clone());
    // An administrator sees the entries of others, but does not request them.
    let viewer = viewer(Some(&caller.owner));
    let look = move |source: &ListSource<'_>, _: &ListQuery| all(source, &collection);
    let targets = query_index_for(caller, viewer, ListQuery::of_everything(), look).await?;
    let mut seen = HashSet::new();
    let is_new = |target: &FetchTarget| {
        let url = CanonicalUrl::parse(&target.url, &local);
        url.is_ok_and(|url| !url.is_form_answer()) && seen.insert(target.url.clone())
    };
    Ok(targets.into_iter().filter(is_new).take(MAX_TARGETS).collect())
}

fn all(source: &ListSource<'_>, collection: &Collection) -> Result<Vec<FetchTarget>, Error> {
    let (mut targets, until) = (Vec::new(), Instant::now() + PATIENCE);
    for item in &collection.members {
        match &item.member {
            Member::Page { url } => targets.push(FetchTarget { url: url.clone(), depth: 0 }),
            Member::Site { site } => {
                let start = start_page(source, site)?;
                let url = start.unwrap_or_else(|| format!("https://{site}/"));
                targets.push(FetchTarget { url, depth: SITE_DEPTH });
            }
            Member::Search(_) if Instant::now() >= until => {}
            Member::Search(search) => {
                let items = found(source, search, OF_SEARCH)?.into_iter();
                let url = |item: wwwoffle_index::Item| item.place.url().to_owned();
                targets.extend(items.map(|item| FetchTarget { url: url(item), depth: 0 }));
            }
        }
        if targets.len() > MAX_TARGETS {
            break;
        }
    }
    Ok(targets)
}

/// Requests the pages of a collection again.
pub(in crate::site) async fn fetch(
    caller: &Caller,
    collection: &Collection,
) -> Result<CollectionFetch, CollectionFault> {
    let targets = of(caller, collection).await?;
    // Requests that are queued at the same time become durable together.
    let results = stream::iter(targets).map(|target| request(caller, target));
    let results: Vec<_> = results.buffer_unordered(AT_ONCE).collect().await;
    let mut done = CollectionFetch::default();
    for result in results {
        match result {
            Ok(()) => done.queued += 1,
            Err(error) => {
                done.refused += 1;
                done.reason.get_or_insert(error);
            }
        }
    }
    Ok(done)
}

/// Requests one page. The error is the reason in words.
async fn request(caller: &Caller, target: FetchTarget) -> Result<(), String> {
    let (context, requester) = (&caller.context.fetch, caller.requester());
    let FetchTarget { url, depth } = target;
    if depth == 0 {
        let wanted = fetch::request_page(context, &requester, &url, true).await;
        return wanted.map(drop).map_err(|error| error_chain(&error));
    }
    let asked = RecursiveRequest { url, spec: spec(depth) };
    let begun = recurse::begin(context, &requester, &asked, RequestKind::Recursive).await;
    begun.map(drop).map_err(|error| error_chain(&error))
}

fn spec(depth: u16) -> FetchSpec {
    FetchSpec { depth, scope: Scope::Site, force: true, ..FetchSpec::default() }
}
