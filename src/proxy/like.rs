//! Stored pages that resemble a missing one, for a person to choose from.
//!
//! [`wwwoffle_http::caching::like`] defines the resemblance. Only successes count, and a person's
//! own copies are visible to that person only, as everywhere.
//!
//! A message page appears under the name of its site, whose scripts may read it. So it lists only
//! pages of the very same host and scheme ([`of_host`]), which the site could learn by requesting
//! them. Our page under [`crate::page::ways::MISSING`] lists the others ([`all`]), because no site
//! can read it.

use wwwoffle_config::UrlParts;
use wwwoffle_spool::Error;
use wwwoffle_url::CanonicalUrl;

use super::near::newest;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, Places};
use crate::page::ways::SimilarPage;
use crate::proxy::context::ProxyContext;
use crate::storage::lookup::look_up;
use crate::storage::versions;
use wwwoffle_http::caching::like::{guess_urls, likeness};

/// Maximum number of pages in the list.
const MAX_LIKE: usize = 8;

/// Maximum number of entries of a host that are compared, for pages that no guess finds.
const MAX_LOOKED_AT: usize = 1_000;

/// Stored pages of the same host and scheme that resemble `url`.
///
/// # Errors
///
/// If the disk fails.
pub(super) async fn of_host(
    context: &ProxyContext,
    owner: &Owner,
    url: &CanonicalUrl,
) -> Result<Vec<SimilarPage>, Error> {
    let places = [(url.protocol().to_owned(), url.host_port().to_owned())];
    let listed = listed(context, owner, url, places.into()).await?;
    let guesses = guessed(context, url).into_iter().chain(listed);
    let of_host = guesses
        .filter(|guess| guess.protocol() == url.protocol() && guess.host_port() == url.host_port());
    stored(context, owner, url, of_host).await
}

/// Stored pages of the same host, with and without `www.`, that resemble `url`.
///
/// # Errors
///
/// If the disk fails.
pub(crate) async fn all(
    context: &ProxyContext,
    owner: &Owner,
    url: &CanonicalUrl,
) -> Result<Vec<SimilarPage>, Error> {
    let host = url.host_port().to_owned();
    let other = match host.strip_prefix("www.") {
        Some(bare) => bare.to_owned(),
        None => format!("www.{host}"),
    };
    let hosts = ["https", "http"]
        .into_iter()
        .flat_map(|scheme| [&host, &other].map(|host| (scheme.to_owned(), host.clone())));
    let listed = listed(context, owner, url, hosts.collect()).await?;
    stored(context, owner, url, guessed(context, url).into_iter().chain(listed)).await
}

/// The pages among `guesses` that are stored and resemble `url`, without duplicates. At most
/// [`MAX_LIKE`].
async fn stored(
    context: &ProxyContext,
    owner: &Owner,
    url: &CanonicalUrl,
    guesses: impl Iterator<Item = CanonicalUrl> + Send,
) -> Result<Vec<SimilarPage>, Error> {
    let mut found: Vec<SimilarPage> = Vec::new();
    for guess in guesses {
        if found.len() >= MAX_LIKE {
            break;
        }
        let like = at(context, owner, url, &guess).await?;
        found.extend(like.filter(|like| found.iter().all(|known| known.url != like.url)));
    }
    Ok(found)
}

/// Whether older versions of a missing page are stored: the client's own, or shared ones.
///
/// # Errors
///
/// If the disk fails.
pub(crate) async fn has_versions(context: &ProxyContext, places: &Places) -> Result<bool, Error> {
    let found = versions::of(&context.storage, places).await?;
    Ok(found.is_some_and(|found| found.left_over.is_some() || !found.older.is_empty()))
}

fn guessed(context: &ProxyContext, url: &CanonicalUrl) -> Vec<CanonicalUrl> {
    let config = context.base.config();
    guess_urls(
        url,
        &context.base.local,
        config.offline_options.near_arguments.of(&UrlParts::of(url)),
    )
}

/// The stored copy of `url`, if that URL resembles `asked`.
async fn at(
    context: &ProxyContext,
    owner: &Owner,
    asked: &CanonicalUrl,
    url: &CanonicalUrl,
) -> Result<Option<SimilarPage>, Error> {
    let config = context.base.config();
    let added = config.offline_options.near_arguments.of(&UrlParts::of(asked));
    let Some(likeness) = likeness(asked.as_str(), url.as_str(), added) else { return Ok(None) };
    if config.dont_get.urls.matches(url).is_some() {
        // The URL is blocked, so its copy would not be displayed.
        return Ok(None);
    }
    let places = Places::of_url(url, owner);
    let copy = look_up(&context.storage.store, &places).await?.choose(Mode::Offline);
    Ok(copy.filter(|copy| copy.status.is_success()).map(|copy| SimilarPage {
        likeness,
        url: places.public.url().to_owned(),
        version: (copy.entry.stored(), copy.entry.received()),
    }))
}

/// The URLs that resemble `url` among the entries of the given hosts, the newest first. Each host
/// is given with its scheme.
async fn listed(
    context: &ProxyContext,
    owner: &Owner,
    url: &CanonicalUrl,
    hosts: Vec<(String, String)>,
) -> Result<Vec<CanonicalUrl>, Error> {
    let config = context.base.config();
    let added = config.offline_options.near_arguments.of(&UrlParts::of(url)).clone();
    let (asked, owner) = (url.as_str().to_owned(), owner.clone());
    let found = context.storage.store.run(move |spool| {
        let mut found = Vec::new();
        for (scheme, host) in &hosts {
            // Unreadable entries are skipped.
            for summary in spool.list(Some(scheme), Some(host))?.take(MAX_LOOKED_AT).flatten() {
                let url = summary.place.url();
                let is_shown = (200..300).contains(&summary.status)
                    && owner.may_see(&summary.place)
                    && likeness(&asked, url, &added).is_some();
                if is_shown {
                    found.push((summary.when, url.to_owned()));
                }
            }
        }
        Ok(found)
    });
    Ok(newest(context, found.await?, MAX_LIKE))
}
