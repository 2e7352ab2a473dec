//! Serves an older version under the URL of its page: Memento (RFC 7089).
//!
//! A request with `Accept-Datetime` gets the version of that date: the last version up to the date,
//! or else the first one (§4.5.3). If such a request is for a sub-resource of a page, it gets the
//! version closest to the date. The stored copy counts as a version. There is no redirect to an
//! address of the version, because the URL of the page also selects its versions (§4.1.2, pattern
//! 1.2). The origin is not asked, and nothing is stored: a version is not a response to a request
//! without a date. If we display a version at an address of our own ([`crate::site`]), the date in
//! that address selects the versions of its sub-resources.
//!
//! An origin that selects versions itself, like an archive, gets the request: its responses vary
//! with the field.

use std::sync::Arc;

use hyper::header::{
    CACHE_CONTROL, CONTENT_LOCATION, HeaderName, HeaderValue, IF_MODIFIED_SINCE, LINK, REFERER,
    VARY,
};
use hyper::{HeaderMap, Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_spool::{Error, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::ask::ProxyRequest;
use super::body::Body;
use super::choose::CopyLookup;
use super::decide::MethodKind;
use super::intent::Intent;
use super::rules::StoragePolicy;
use super::status::{CacheStatus, HitReason};
use super::{reply, serve_copy};
use crate::proxy::context::ProxyContext;
use crate::storage::store::StoredCopy;
use crate::storage::versions::entered_time::{closest, nearest};
use crate::storage::versions::memento::{http_date, links, version_path};
use crate::storage::versions::read;
use wwwoffle_http::caching::conditional::Conditions;
use wwwoffle_http::fields::has_member;

const ACCEPT_DATETIME: HeaderName = HeaderName::from_static("accept-datetime");
const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// Maximum number of versions that are read until a readable one is found.
const MAX_READ: usize = 8;

/// The reason why no version is selected.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotChosen {
    /// `Accept-Datetime` is not a date: the response is 400 (§4.5.3).
    #[error("expected a date, as in Accept-Datetime: Fri, 20 Nov 2026 14:25:15 GMT")]
    Malformed,
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] Error),
}

/// Selects the version of the date that a request names. `None` if the request names no date, if it
/// is not a GET or HEAD of a page that is stored, if no version can be served, or if the origin
/// selects versions itself.
pub(super) async fn choose(
    context: &ProxyContext,
    ask: &ProxyRequest,
    found: &CopyLookup,
) -> Result<Option<Arc<StoredCopy>>, NotChosen> {
    let is_read = matches!(ask.asked.method, MethodKind::Get | MethodKind::Head);
    let is_dated = ask.head.fields.contains_key(&ACCEPT_DATETIME) || ask.copy.shown_at.is_some();
    if !is_dated
        || !is_read
        || ask.asked.standing != StoragePolicy::Usual
        || ask.head.upgrade.is_some()
    {
        return Ok(None);
    }
    // The copy of another URL has no versions of the requested page.
    let Some(near) = found.fallback_copy().filter(|_| ask.copy.near.is_none()) else {
        return Ok(None);
    };
    if negotiates_time(&near.fields) {
        return Ok(None);
    }
    let at = match ask.copy.shown_at {
        Some(shown_at) => shown_at,
        None => moment(&ask.head.fields).ok_or(NotChosen::Malformed)?,
    };
    let variant = near.entry.place().variant_text();
    // The person's own and the shared versions of the same variant. A segment is not a version.
    let is_such = |copy: &&Arc<StoredCopy>| {
        copy.part.is_none() && copy.entry.place().variant_text() == variant
    };
    let present: Vec<_> = found.all().iter().filter(is_such).map(Arc::clone).collect();
    let places: Vec<Place> = present.iter().map(|copy| copy.entry.place().clone()).collect();
    let all = move |spool: &wwwoffle_spool::Spool| {
        places.iter().map(|place| spool.versions(place)).collect::<Result<Vec<_>, _>>()
    };
    let mut states: Vec<VersionCandidate> =
        present.iter().map(|copy| VersionCandidate::Present(Arc::clone(copy))).collect();
    for older in context.storage.store.run(all).await?.into_iter().flatten() {
        let is_present = present
            .iter()
            .any(|copy| copy.entry.stored() == older.stored && *copy.entry.place() == older.place);
        if !is_present {
            states.push(VersionCandidate::Older(older.place, older.stored, older.when));
        }
    }
    let came: Vec<Timestamp> = states.iter().map(VersionCandidate::received).collect();
    // Sub-resources are stored after their page, so the right version may be a little later than
    // the date.
    let is_part = ask.asked.intent == Intent::Part;
    let order = if is_part { closest(&came, at) } else { nearest(&came, at) };
    for number in order.into_iter().take(MAX_READ) {
        let Some(state) = states.get(number) else { continue };
        if let Some(copy) = state.read(context).await?.filter(|copy| is_theirs(ask, copy)) {
            return Ok(Some(copy));
        }
    }
    Ok(None)
}

/// A candidate for the version of a date.
enum VersionCandidate {
    Present(Arc<StoredCopy>),
    /// An older version, with the times when it was stored and when it arrived.
    Older(Place, Timestamp, Timestamp),
}

impl VersionCandidate {
    fn received(&self) -> Timestamp {
        match self {
            Self::Present(copy) => copy.entry.received(),
            Self::Older(_, _, came) => *came,
        }
    }

    async fn read(&self, context: &ProxyContext) -> Result<Option<Arc<StoredCopy>>, Error> {
        match self {
            Self::Present(copy) => Ok(Some(Arc::clone(copy))),
            Self::Older(place, stored, _) => read(&context.storage, place, *stored).await,
        }
    }
}

/// Whether a copy may answer this client. A personal copy always may; the fields of a shared copy
/// decide.
fn is_theirs(ask: &ProxyRequest, copy: &StoredCopy) -> bool {
    let shared = ask.start.config.caching.shared;
    copy.entry.place().owner().is_some() || ask.places.accepts_public(&copy.fields, shared)
}

/// Whether a response comes from an origin that selects among versions itself.
fn negotiates_time(fields: &HeaderMap) -> bool {
    fields.contains_key(&MEMENTO_DATETIME) || has_member(fields, &VARY, "accept-datetime")
}

fn moment(fields: &HeaderMap) -> Option<Timestamp> {
    let mut values = fields.get_all(&ACCEPT_DATETIME).iter();
    let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    httpdate::parse_http_date(value.trim()).ok().and_then(|time| time.try_into().ok())
}

/// The date of the version to which the requested sub-resource belongs. The date comes from
/// `Referer`, if that is the address at which we display a version. Such a `Referer` is removed
/// from the request, because the origin must not see it. `None` if there is no such address or no
/// valid date in it.
pub(super) fn displayed_version(fields: &mut HeaderMap, local: &LocalHost) -> Option<Timestamp> {
    let referer = fields.get(REFERER)?.to_str().ok()?;
    // A quick test before parsing: most requests have a `Referer`.
    if !referer.contains("/history/") {
        return None;
    }
    let page = CanonicalUrl::parse(referer, local).ok()?;
    let is_version = matches!(page.path(), "/history/version/" | "/history/marked/");
    if !page.is_local() || !is_version {
        return None;
    }
    let arguments = page.arguments().unwrap_or_default();
    let came = arguments.rsplit('&').find_map(|one| one.strip_prefix("came="));
    let came = came.and_then(|came| came.parse().ok());
    fields.remove(REFERER);
    came
}

/// Serves a version, with its date.
pub(super) fn serve(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
) -> Response<Body> {
    let mut asked = ask.head.fields.clone();
    // The date condition must not be evaluated: a version is older than the client's copy of the
    // current page.
    asked.remove(IF_MODIFIED_SINCE);
    let (fields, conditions) = (serve_copy::unconfirmed_fields(ask, copy), Conditions::of(&asked));
    let response = serve_copy::build_response(context, ask, copy, fields, &conditions);
    let mut response = reply::with_status(response, CacheStatus::Hit(HitReason::Memento));
    let entry = &copy.entry;
    let (url, stored, came) = (entry.url(), entry.stored(), entry.received());
    let origin = context.pages.origin.as_str();
    let not_modified = response.status() == StatusCode::NOT_MODIFIED;
    let fields = response.headers_mut();
    fields.append(VARY, HeaderValue::from_static("accept-datetime"));
    let mut set = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            fields.insert(name, value);
        }
    };
    set(MEMENTO_DATETIME, http_date(came));
    if ask.copy.shown_at.is_some() {
        // The browser did not request the date itself, so it must not cache the version as the
        // current page.
        set(CACHE_CONTROL, "no-store".to_owned());
    }
    if !not_modified {
        set(CONTENT_LOCATION, format!("{origin}{}", version_path(url, (stored, came))));
    }
    if let Ok(value) = HeaderValue::from_str(&links(origin, url, (stored, came))) {
        fields.append(LINK, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(rows: &[(&'static str, &str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in rows {
            fields.append(*name, value.parse().unwrap());
        }
        fields
    }

    #[test]
    fn a_requested_time_is_one_http_date() {
        let date = "Fri, 20 Nov 2026 14:25:15 GMT";
        let want = "2026-11-20T14:25:15Z".parse().ok();
        assert_eq!(moment(&fields(&[("accept-datetime", date)])), want);
        for rows in [
            &[("accept-datetime", "")][..],
            &[("accept-datetime", "2026-11-20T14:25:15Z")],
            &[("accept-datetime", "Fri, 20 Nov 2026 14:25:15 CET")],
            &[("accept-datetime", date), ("accept-datetime", date)],
            &[],
        ] {
            assert_eq!(moment(&fields(rows)), None, "{rows:?}");
        }
    }

    #[test]
    fn sub_resources_of_a_shown_version_are_recognized_by_referer() {
        let (local, want) = (LocalHost::default(), "2026-11-20T14:25:15.5Z".parse().ok());
        let version = "http://localhost:8080/history/version/?url=http://a/\
                       &came=2026-11-20T14:25:15.5Z&at=2026-12-20T00:00:00Z";
        for (referer, at, left) in [
            (version, want, false),
            (&version.replace("15.5Z", "15.5"), None, false),
            ("http://localhost:8080/history/version/?url=http://a/", None, false),
            ("http://localhost:8080/history/?http://a/", None, true),
            (&version.replace("localhost", "evil.example"), None, true),
            ("http://a/?/history/version/", None, true),
        ] {
            let mut fields = fields(&[("referer", referer)]);
            assert_eq!(displayed_version(&mut fields, &local), at, "{referer}");
            assert_eq!(fields.contains_key(REFERER), left, "{referer}");
        }
    }

    #[test]
    fn web_archives_select_versions_themselves() {
        for (rows, want) in [
            (&[("vary", "accept-datetime")][..], true),
            (&[("vary", "Accept-Encoding, Accept-Datetime")], true),
            (&[("memento-datetime", "Fri, 20 Nov 2026 14:25:15 GMT")], true),
            (&[("vary", "accept")], false),
            (&[], false),
        ] {
            assert_eq!(negotiates_time(&fields(rows)), want, "{rows:?}");
        }
    }
}
