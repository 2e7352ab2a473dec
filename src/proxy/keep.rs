//! Which responses are stored, with a reason for each refusal.

use hyper::header::CONTENT_LOCATION;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_config::{Config, NoStore, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost, Resolution, ResolutionRules, resolve};

use wwwoffle_http::caching::control::{RequestControl, ResponseControl};
use wwwoffle_http::caching::freshness::{Basis, ExchangeTimes, Freshness, Heuristics};
use wwwoffle_http::caching::storing::{RequestFacts, is_no_store, may_reuse};
use wwwoffle_http::head::has_credentials;
use wwwoffle_http::media_type::content_essence;

/// The reason why a response is forwarded and not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// The response has only a range of the body (`206`).
    Partial,
    /// The response applies to this request only: `304`, `401`, `407`, `412`, `429` and similar.
    AboutTheRequest,
    /// The origin, or a proxy before it, failed (`5xx`).
    OriginError,
    /// The response is an error and would replace a good stored copy.
    WouldReplaceGood,
    /// The response is a stream without an end, such as an event stream.
    Endless,
    /// The response exceeds the storage limit (`max-body`).
    TooLarge,
    /// The request or the response has `no-store`, and `no-store = respect` is set.
    NoStore,
    /// The response is not a success, and `keep-cache-if-not-found` preserves the stored page.
    NoPage,
}

impl NotKept {
    /// The keyword for `Cache-Status` and the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            NotKept::Partial => "partial",
            NotKept::AboutTheRequest => "about-the-request",
            NotKept::OriginError => "origin-error",
            NotKept::WouldReplaceGood => "good-copy-kept",
            NotKept::Endless => "endless",
            NotKept::TooLarge => "too-large",
            NotKept::NoStore => "no-store",
            NotKept::NoPage => "keep-cache-if-not-found",
        }
    }
}

/// The rules for storing the responses to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageRules {
    /// Whether we are a shared cache, and the heuristics for lifetimes.
    pub cache: (bool, Heuristics),
    /// The properties of the request on which storing depends.
    pub requested: RequestFacts,
    /// Whether errors of the origin are stored if they are fresh. True for requests of clients,
    /// false for the queue.
    pub errors: bool,
    /// The option `no-store`.
    pub no_store: NoStore,
    /// The option `keep-cache-if-not-found`.
    pub keeps_pages: bool,
}

impl StorageRules {
    /// The configured rules for a URL, for a request with these fields.
    #[must_use]
    pub fn of(config: &Config, url: &UrlParts<'_>, request: &HeaderMap) -> Self {
        let caching = &config.caching;
        let heuristics = Heuristics {
            share: caching.heuristics.of(url).number(),
            limit: *caching.heuristics_limit.of(url),
        };
        let requested = RequestFacts {
            no_store: RequestControl::of(request).no_store,
            credentials: has_credentials(request),
        };
        Self {
            cache: (caching.shared, heuristics),
            requested,
            errors: true,
            no_store: *caching.no_store.of(url),
            keeps_pages: *config.online_options.keep_cache_if_not_found.of(url),
        }
    }

    /// Whether the response to a POST may also answer a later GET for `url` (RFC 9110 §9.3.3). The
    /// response must declare its lifetime, and declare that it is the content of `url`.
    #[must_use]
    pub fn answers_get(
        &self,
        url: &str,
        status: StatusCode,
        fields: &HeaderMap,
        exchange: ExchangeTimes,
    ) -> bool {
        let fresh = Freshness::of(status, fields, exchange, self.cache, exchange.received);
        let is_explicit = fresh.basis == Basis::Explicit;
        status.is_success()
            && is_explicit
            && self.is_fresh(status, fields, exchange)
            && is_content_of(url, fields)
    }

    /// Whether a response that has just arrived may be reused without revalidation.
    fn is_fresh(&self, status: StatusCode, fields: &HeaderMap, exchange: ExchangeTimes) -> bool {
        let (shared, _) = self.cache;
        let control = ResponseControl::of(fields);
        let fresh = Freshness::of(status, fields, exchange, self.cache, exchange.received);
        fresh.is_fresh() && may_reuse(status, &control, self.requested, &fresh, shared).is_ok()
    }
}

/// Whether `Content-Location` declares a response to be the content of `url` (RFC 9110 §8.7).
fn is_content_of(url: &str, fields: &HeaderMap) -> bool {
    let named = fields.get(CONTENT_LOCATION).and_then(|value| value.to_str().ok());
    let canonical = |text: &str| CanonicalUrl::parse(text, &LocalHost::default()).ok();
    match named.map(|named| resolve(url, named, ResolutionRules::Browser)) {
        Some(Ok(Resolution::Url(named))) => {
            let named = canonical(&named).map(|named| named.without_credentials());
            named.is_some() && named == canonical(url)
        }
        Some(Ok(Resolution::CurrentDocument { .. })) => true,
        Some(Err(_)) | None => false,
    }
}

/// Decides whether a response to GET (or a storable POST) is stored. `stored_status` is the status
/// of the stored copy, if there is one.
///
/// # Errors
///
/// The reason why it is not stored.
pub fn may_keep(
    status: StatusCode,
    fields: &HeaderMap,
    stored_status: Option<StatusCode>,
    keeping: &StorageRules,
    exchange: ExchangeTimes,
) -> Result<(), NotKept> {
    match status.as_u16() {
        // With any other status `Content-Range` has no meaning (RFC 9110 §14.4).
        206 => return Err(NotKept::Partial),
        304 | 401 | 407 | 408 | 412 | 416 | 417 | 421 | 425 | 428 | 429 | 431 => {
            return Err(NotKept::AboutTheRequest);
        }
        500..
            if keeping.errors
                && !stored_status.is_some_and(is_good)
                && keeping.is_fresh(status, fields, exchange) => {}
        500.. => return Err(NotKept::OriginError),
        _ => {}
    }
    if stored_status.is_some_and(is_good) && !is_good(status) {
        return Err(NotKept::WouldReplaceGood);
    }
    if keeping.keeps_pages
        && stored_status.is_some_and(|old| old.is_success())
        && !status.is_success()
    {
        return Err(NotKept::NoPage);
    }
    let is_no_store = is_no_store(status, &ResponseControl::of(fields), keeping.requested);
    if is_no_store && keeping.no_store == NoStore::Respect {
        return Err(NotKept::NoStore);
    }
    if is_endless(fields) { Err(NotKept::Endless) } else { Ok(()) }
}

/// Whether a response is a stream without an end, by its type.
#[must_use]
pub fn is_endless(fields: &HeaderMap) -> bool {
    let kind = content_essence(fields);
    ["text/event-stream", "multipart/x-mixed-replace"].contains(&kind.as_str())
}

/// Whether the status is a success or a redirect. Responses with such a status are useful offline.
pub(super) fn is_good(status: StatusCode) -> bool {
    status.is_success() || status.is_redirection()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use hyper::header::HeaderName;

    use super::*;
    use hyper::header::{CONTENT_RANGE, CONTENT_TYPE};

    #[test]
    fn each_unstored_response_has_a_reason() {
        for (status, kind, stored_status, want) in [
            (200, "text/html", None, Ok(())),
            (204, "", None, Ok(())),
            (301, "", Some(200), Ok(())),
            (404, "text/html", None, Ok(())),
            (404, "text/html", Some(404), Ok(())),
            (200, "text/html", Some(404), Ok(())),
            (404, "text/html", Some(200), Err(NotKept::WouldReplaceGood)),
            (410, "", Some(301), Err(NotKept::WouldReplaceGood)),
            (206, "video/mp4", None, Err(NotKept::Partial)),
            (304, "", None, Err(NotKept::AboutTheRequest)),
            (401, "", None, Err(NotKept::AboutTheRequest)),
            (429, "", Some(200), Err(NotKept::AboutTheRequest)),
            (500, "", None, Err(NotKept::OriginError)),
            (503, "", Some(200), Err(NotKept::OriginError)),
            (200, "Text/Event-Stream; charset=utf-8", None, Err(NotKept::Endless)),
        ] {
            let mut fields = HeaderMap::new();
            if !kind.is_empty() {
                fields.insert(CONTENT_TYPE, kind.parse().unwrap());
            }
            let stored_status = stored_status.map(|status| StatusCode::from_u16(status).unwrap());
            let status = StatusCode::from_u16(status).unwrap();
            let got = may_keep(status, &fields, stored_status, &keeping(""), exchange());
            assert_eq!(got, want, "{status} {kind:?} over {stored_status:?}");
        }
    }

    #[test]
    fn only_the_status_identifies_a_partial_response() {
        let fields = HeaderMap::from_iter([(CONTENT_RANGE, "bytes 0-1/2".parse().unwrap())]);
        assert_eq!(may_keep(StatusCode::OK, &fields, None, &keeping(""), exchange()), Ok(()));
        let partial = may_keep(
            StatusCode::PARTIAL_CONTENT,
            &HeaderMap::new(),
            None,
            &keeping(""),
            exchange(),
        );
        assert_eq!(partial, Err(NotKept::Partial));
    }

    fn exchange() -> ExchangeTimes {
        ExchangeTimes { sent: SystemTime::UNIX_EPOCH, received: SystemTime::UNIX_EPOCH }
    }

    fn keeping(text: &str) -> StorageRules {
        let config = Config::parse(text, std::path::Path::new("w.conf")).unwrap();
        let url = CanonicalUrl::parse("http://h.example/a", &LocalHost::default()).unwrap();
        StorageRules::of(&config, &UrlParts::of(&url), &HeaderMap::new())
    }

    fn fields(rows: &[(&'static str, &str)]) -> HeaderMap {
        rows.iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn fresh_errors_and_no_store_responses_are_stored_as_configured() {
        let none = keeping("");
        let queue = StorageRules { errors: false, ..none };
        let respect = keeping("[caching]\nno-store = \"respect\"");
        let asked = RequestFacts { no_store: true, ..RequestFacts::default() };
        let keeps = keeping("[online-options]\nkeep-cache-if-not-found = true");
        let error = Err(NotKept::OriginError);
        for (status, control, stored_status, keeping, want) in [
            (503, "max-age=60", None, none, Ok(())),
            (599, "max-age=60", Some(404), none, Ok(())),
            (503, "max-age=60", Some(200), none, error),
            (503, "max-age=0", None, none, error),
            (503, "max-age=60, no-store", None, none, error),
            (599, "max-age=60, must-understand", None, none, error),
            (503, "max-age=60", None, queue, error),
            (200, "no-store", None, none, Ok(())),
            (200, "no-store", None, respect, Err(NotKept::NoStore)),
            (200, "no-store, must-understand", None, respect, Ok(())),
            (200, "", None, StorageRules { requested: asked, ..respect }, Err(NotKept::NoStore)),
            (200, "", None, StorageRules { requested: asked, ..none }, Ok(())),
            (302, "", Some(200), none, Ok(())),
            (302, "", Some(200), keeps, Err(NotKept::NoPage)),
            (302, "", Some(301), keeps, Ok(())),
            (203, "", Some(200), keeps, Ok(())),
        ] {
            let stored_status = stored_status.map(|status| StatusCode::from_u16(status).unwrap());
            let status = StatusCode::from_u16(status).unwrap();
            let fields = fields(&[("cache-control", control)]);
            let got = may_keep(status, &fields, stored_status, &keeping, exchange());
            assert_eq!(got, want, "{status} {control} over {stored_status:?} {keeping:?}");
        }
    }

    #[test]
    fn a_form_response_is_a_page_if_it_allows_it() {
        let url = "http://h.example/a";
        for (status, control, location, want) in [
            (200, "max-age=60", Some("http://h.example/a"), true),
            (200, "max-age=60", Some("/a"), true),
            (200, "max-age=60", Some(""), true),
            (201, "max-age=60", Some("a"), true),
            (200, "max-age=60", Some("/b"), false),
            (200, "max-age=60", Some("/a?b"), false),
            (200, "max-age=60", Some("https://h.example/a"), false),
            (200, "max-age=60", None, false),
            (200, "max-age=0", Some("/a"), false),
            (200, "max-age=60, no-store", Some("/a"), false),
            (200, "", Some("/a"), false),
            (400, "max-age=60", Some("/a"), false),
        ] {
            let mut fields = fields(&[("cache-control", control)]);
            if let Some(location) = location {
                fields.insert(CONTENT_LOCATION, location.parse().unwrap());
            }
            let status = StatusCode::from_u16(status).unwrap();
            let got = keeping("").answers_get(url, status, &fields, exchange());
            assert_eq!(got, want, "{status} {control} {location:?}");
        }
    }
}
