//! Offline, and the very page is not kept: another URL that names the same one may be.
//!
//! Which URLs these are is in [`wwwoffle_http::caching::noise`]. Only a success stands in for another: a
//! redirect would lead back to what was asked for, and an error says nothing of this URL. A person's own
//! answers are found for that person alone, as everywhere.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{CONTENT_LOCATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LINK};
use jiff::Timestamp;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::Error;
use wwwoffle_url::{BrowserUrl, CanonicalUrl};

use super::ask::Ask;
use super::choose;
use super::decide::MethodKind;
use super::intent::Intent;
use super::rules::Standing;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::proxy::context::ProxyContext;
use crate::storage::kept_pieces::beginning;
use crate::storage::store::Kept;
use wwwoffle_html::references::{Finder, Kind, Want};
use wwwoffle_http::caching::noise::{Nearness, differ_in_noise, index_spellings, near_urls};

/// How many entries of the host are looked at for one that has noise of its own. More cost a person too
/// long, who waits for a page that most likely is not there.
const MAX_LOOKED_AT: usize = 1_000;

/// How many of them are looked up, if there are several.
const MAX_NOISY: usize = 3;

/// How much of a page is read for its canonical link, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// What the page of a connection that anybody could have changed may do under the name of a secure
/// site: everything but to be of that site.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-top-navigation-by-user-activation",
);

/// What is kept of a URL that may stand in for the one of `ask`, and what is between them.
///
/// # Errors
///
/// When the disk fails.
pub(super) async fn find(
    context: &ProxyContext,
    ask: &Ask,
) -> Result<Option<(Nearness, Kept)>, Error> {
    let may = ask.mode == Mode::Offline
        && ask.asked.standing == Standing::Usual
        && matches!(ask.asked.method, MethodKind::Get | MethodKind::Head)
        && !ask.places.credentials
        && *ask.config.offline_options.near_answers.of(&UrlParts::of(&ask.bare));
    if !may {
        return Ok(None);
    }
    let added = ask.config.offline_options.near_arguments.of(&UrlParts::of(&ask.bare));
    for (near, url) in near_urls(&ask.bare, &context.base.local, added) {
        if let Some(kept) = at(context, ask, near, url).await? {
            return Ok(Some((near, kept)));
        }
    }
    for url in index_pages(context, ask).await? {
        if let Some(kept) = at(context, ask, Nearness::Index, url).await? {
            let kept = Arc::new(kept);
            if says_it_is(context, &kept, &ask.bare).await {
                return Ok(Some((Nearness::Index, Arc::unwrap_or_clone(kept))));
            }
        }
    }
    for url in noisy(context, ask).await? {
        if let Some(kept) = at(context, ask, Nearness::Arguments, url).await? {
            return Ok(Some((Nearness::Arguments, kept)));
        }
    }
    Ok(None)
}

/// What is kept of one URL that may stand in.
async fn at(
    context: &ProxyContext,
    ask: &Ask,
    near: Nearness,
    mut url: CanonicalUrl,
) -> Result<Option<Kept>, Error> {
    if near == Nearness::Scheme && is_secure(ask) && ask.asked.intent != Intent::Person {
        // A script or a style has no page of its own that could be kept apart.
        return Ok(None);
    }
    let places = Places::of(&mut url, &HeaderMap::new(), &ask.owner);
    let selecting = || ask.wire(&context.base.pseudonym).into_parts().0.headers;
    let found =
        choose::find(&context.storage.store, &places, ask.config.caching.shared, selecting).await?;
    let kept = found.near().filter(|kept| kept.status.is_success());
    Ok(kept.map(|kept| guarded(ask, near, Kept::clone(kept))))
}

/// The spellings of a directory or its index for which something is stored. The spool itself is asked:
/// the store would remember each that is missing.
async fn index_pages(context: &ProxyContext, ask: &Ask) -> Result<Vec<CanonicalUrl>, Error> {
    let urls = index_spellings(&ask.bare, &context.base.local);
    if urls.is_empty() {
        return Ok(urls);
    }
    let owner = ask.owner.clone();
    let stored = context.storage.store.run(move |spool| {
        let mut stored = Vec::new();
        for mut url in urls {
            let Places { own, public, .. } = Places::of(&mut url, &HeaderMap::new(), &owner);
            let is_there = |place| spool.entries(place).map(|entries| !entries.found.is_empty());
            if is_there(&own)? || is_there(&public)? {
                stored.push(url);
            }
        }
        Ok(stored)
    });
    stored.await
}

/// Whether a stored response says that it is the one of `url` too: by `Content-Location` (RFC 9110 §8.7),
/// or by a canonical link in its head or in the beginning of its page (RFC 6596).
async fn says_it_is(context: &ProxyContext, kept: &Arc<Kept>, url: &CanonicalUrl) -> bool {
    let Ok(base) = BrowserUrl::parse(kept.entry.url(), None) else { return false };
    let is_it = |text: &str| {
        CanonicalUrl::parse(text, &context.base.local)
            .is_ok_and(|named| named.as_str() == url.as_str())
    };
    let field = |name| kept.fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let location =
        field(CONTENT_LOCATION).and_then(|text| BrowserUrl::parse(text, Some(&base)).ok());
    if location.is_some_and(|location| is_it(location.as_str())) {
        return true;
    }
    let mut finder = Finder::new(Kind::Html, &base, field(CONTENT_TYPE), &Want::default());
    for link in kept.fields.get_all(LINK) {
        link.to_str().into_iter().for_each(|link| finder.link_field(link));
    }
    if field(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"))
        && let Ok(page) = beginning(&context.storage.store, kept, MAX_HEAD).await
    {
        finder.write(&page);
    }
    finder.finish().canonical.is_some_and(|canonical| is_it(&canonical))
}

/// The kept URLs of the same host that differ from the one of `ask` in their own noise, the newest first:
/// their key tells nothing of that, so the entries of the host are looked at.
async fn noisy(context: &ProxyContext, ask: &Ask) -> Result<Vec<CanonicalUrl>, Error> {
    let asked = ask.bare.as_str().to_owned();
    let added = ask.config.offline_options.near_arguments.of(&UrlParts::of(&ask.bare)).clone();
    let found = context.storage.store.run(move |spool| {
        let Some((scheme, rest)) = asked.split_once("://") else { return Ok(Vec::new()) };
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let mut found = Vec::new();
        // What cannot be read cannot stand in.
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

/// Of what was found, by when it came, the newest URLs, each once.
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

fn is_secure(ask: &Ask) -> bool {
    ask.bare.protocol() == "https"
}

/// Keeps what came by plain HTTP apart from the secure site it stands in for: it could have been
/// changed on its way, and must not get at what the browser has of that site.
fn guarded(ask: &Ask, near: Nearness, mut kept: Kept) -> Kept {
    if near == Nearness::Scheme && is_secure(ask) {
        kept.fields.append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    kept
}
