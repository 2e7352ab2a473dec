//! Finds another stored URL of the same page, if the requested URL is not stored and the mode is
//! offline.
//!
//! [`wwwoffle_http::caching::noise`] defines which URLs are equivalent. Only a success may replace
//! the requested page: a redirect would lead back to the requested URL, and an error of another URL
//! does not apply to it. A person's own copies are visible to that person only.

use std::sync::Arc;

use hyper::header::{CONTENT_LOCATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LINK};
use jiff::Timestamp;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::Error;
use wwwoffle_url::{BrowserUrl, CanonicalUrl};

use super::ask::ProxyRequest;
use super::choose;
use super::decide::MethodKind;
use super::intent::Intent;
use super::rules::{StoragePolicy, vary_rules};
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::proxy::context::ProxyContext;
use crate::storage::body_pieces::read_beginning;
use crate::storage::store::StoredCopy;
use wwwoffle_html::references::{BodyKind, Finder, Viewport};
use wwwoffle_http::caching::noise::{Nearness, differ_in_noise, index_spellings, near_urls};

/// Maximum number of entries of the host that are searched for a URL that differs only in tracking
/// parameters. A longer search would delay a person who waits for a page that is probably not
/// stored.
const MAX_LOOKED_AT: usize = 1_000;

/// Maximum number of URLs with other tracking parameters that are looked up.
const MAX_NOISY: usize = 3;

/// Bytes at the start of a page that are searched for its canonical link.
const MAX_HEAD: usize = 64 << 10;

/// The rights of a page that came over an insecure connection and is shown under the name of a
/// secure site. It may run scripts, send forms and open windows, but has an origin of its own,
/// which is not the origin of that site.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-top-navigation-by-user-activation",
);

/// Finds a stored copy of another URL that may replace the response to `ask`, and how the URLs
/// differ.
///
/// # Errors
///
/// If the disk fails.
pub(super) async fn find(
    context: &ProxyContext,
    ask: &ProxyRequest,
) -> Result<Option<(Nearness, StoredCopy)>, Error> {
    let may = ask.start.mode == Mode::Offline
        && ask.asked.standing == StoragePolicy::Usual
        && matches!(ask.asked.method, MethodKind::Get | MethodKind::Head)
        && !ask.places.credentials
        && *ask.start.config.offline_options.near_answers.of(&UrlParts::of(&ask.bare));
    if !may {
        return Ok(None);
    }
    let added = ask.start.config.offline_options.near_arguments.of(&UrlParts::of(&ask.bare));
    for (near, url) in near_urls(&ask.bare, &context.base.local, added) {
        if let Some(copy) = at(context, ask, near, &url).await? {
            return Ok(Some((near, copy)));
        }
    }
    for url in index_pages(context, ask).await? {
        if let Some(copy) = at(context, ask, Nearness::Index, &url).await? {
            let copy = Arc::new(copy);
            if declares_url(context, &copy, &ask.bare).await {
                return Ok(Some((Nearness::Index, Arc::unwrap_or_clone(copy))));
            }
        }
    }
    for url in find_noisy_urls(context, ask).await? {
        if let Some(copy) = at(context, ask, Nearness::Arguments, &url).await? {
            return Ok(Some((Nearness::Arguments, copy)));
        }
    }
    Ok(None)
}

/// The stored copy of `url`, if it may replace the response to `ask`.
async fn at(
    context: &ProxyContext,
    ask: &ProxyRequest,
    near: Nearness,
    url: &CanonicalUrl,
) -> Result<Option<StoredCopy>, Error> {
    if near == Nearness::Scheme && is_secure(ask) && ask.asked.intent != Intent::Person {
        // A script or a style sheet cannot be isolated, because it runs in the page that loads it.
        return Ok(None);
    }
    let places = Places::of_url(url, &ask.owner);
    let selecting = || ask.origin_request(&context.base.pseudonym).into_parts().0.headers;
    let config = &ask.start.config;
    let how = (config.caching.shared, &vary_rules(config, &UrlParts::of(&ask.bare)));
    let found = choose::find(&context.storage.store, &places, how, selecting).await?;
    let copy = found.fallback_copy().filter(|copy| copy.status.is_success());
    Ok(copy.map(|copy| guarded(ask, near, StoredCopy::clone(copy))))
}

/// The stored URLs for which most servers send the same page as for the URL of `ask`: a directory
/// or its index page. Asks the spool directly, because the store would cache a lookup for each
/// missing URL.
async fn index_pages(
    context: &ProxyContext,
    ask: &ProxyRequest,
) -> Result<Vec<CanonicalUrl>, Error> {
    let urls = index_spellings(&ask.bare, &context.base.local);
    if urls.is_empty() {
        return Ok(urls);
    }
    let owner = ask.owner.clone();
    let stored = context.storage.store.run(move |spool| {
        let mut stored = Vec::new();
        for url in urls {
            let Places { own, public, .. } = Places::of_url(&url, &owner);
            let is_there = |place| spool.entries(place).map(|entries| !entries.found.is_empty());
            if is_there(&own)? || is_there(&public)? {
                stored.push(url);
            }
        }
        Ok(stored)
    });
    stored.await
}

/// Whether a stored response declares that it is also the response of `url`: by `Content-Location`
/// (RFC 9110 §8.7), or by a canonical link in its head or at the start of its page (RFC 6596).
async fn declares_url(context: &ProxyContext, copy: &Arc<StoredCopy>, url: &CanonicalUrl) -> bool {
    let Ok(base) = BrowserUrl::parse(copy.entry.url(), None) else { return false };
    let is_it = |text: &str| {
        CanonicalUrl::parse(text, &context.base.local)
            .is_ok_and(|named| named.as_str() == url.as_str())
    };
    let field = |name| copy.fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let location =
        field(CONTENT_LOCATION).and_then(|text| BrowserUrl::parse(text, Some(&base)).ok());
    if location.is_some_and(|location| is_it(location.as_str())) {
        return true;
    }
    let mut finder = Finder::new(BodyKind::Html, &base, field(CONTENT_TYPE), &Viewport::default());
    for link in copy.fields.get_all(LINK) {
        link.to_str().into_iter().for_each(|link| finder.link_field(link));
    }
    if field(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"))
        && let Ok(page) = read_beginning(&context.storage.store, copy, MAX_HEAD).await
    {
        finder.write(&page);
    }
    finder.finish().canonical.is_some_and(|canonical| is_it(&canonical))
}

/// The stored URLs of the same host that differ from the URL of `ask` only in tracking parameters,
/// the newest first. The key of an entry is a hash and does not show its URL, so the entries of the
/// host are searched.
async fn find_noisy_urls(
    context: &ProxyContext,
    ask: &ProxyRequest,
) -> Result<Vec<CanonicalUrl>, Error> {
    let asked = ask.bare.as_str().to_owned();
    let added =
        ask.start.config.offline_options.near_arguments.of(&UrlParts::of(&ask.bare)).clone();
    let found = context.storage.store.run(move |spool| {
        let Some((scheme, rest)) = asked.split_once("://") else { return Ok(Vec::new()) };
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let mut found = Vec::new();
        // Unreadable entries are skipped.
        for summary in spool.list(Some(scheme), Some(host))?.take(MAX_LOOKED_AT).flatten() {
            let url = summary.place.url();
            if (200..300).contains(&summary.status) && differ_in_noise(&asked, url, &added) {
                found.push((summary.when, url.to_owned()));
            }
        }
        Ok(found)
    });
    Ok(newest(context, found.await?, MAX_NOISY))
}

/// The newest `most` of the given URLs by their time of arrival, without duplicates.
pub(super) fn newest(
    context: &ProxyContext,
    mut found: Vec<(Timestamp, String)>,
    most: usize,
) -> Vec<CanonicalUrl> {
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.dedup_by(|one, other| one.1 == other.1);
    let read = |(_, url): (_, String)| CanonicalUrl::parse(&url, &context.base.local).ok();
    found.into_iter().filter_map(read).take(most).collect()
}

fn is_secure(ask: &ProxyRequest) -> bool {
    ask.bare.protocol() == "https"
}

/// Isolates a copy that came by plain HTTP from the secure site whose page it replaces. The copy
/// could have been changed on its way, so it must not access the browser's data of that site.
fn guarded(ask: &ProxyRequest, near: Nearness, mut copy: StoredCopy) -> StoredCopy {
    if near == Nearness::Scheme && is_secure(ask) {
        copy.fields.append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    copy
}
