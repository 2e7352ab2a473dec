//! Handling of requests, online and offline.

use crate::{
    pattern::set::UrlSpecSet,
    source::rule::UrlRules,
    values::{
        amounts::{Percent, RevalidationAge, Size},
        arguments::ArgumentNames,
        header_names::HeaderNames,
    },
};

section! {
    /// Handling of requests while online. The defaults follow HTTP's own rules (RFC 9111); an option here overrides them.
    "online-options" => OnlineOptions {
        /// Whether Pragma: no-cache in a request is obeyed.
        "pragma-no-cache" => pragma_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether Cache-Control: no-cache in a request is obeyed.
        "cache-control-no-cache" => cache_control_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether Cache-Control: max-age=0 in a request is obeyed.
        "cache-control-max-age-0" => cache_control_max_age_0: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with a cookie is always sent to the origin.
        "cookies-force-refresh" => cookies_force_refresh: UrlRules<bool> = "false", Live, Ordinary;
        /// The age at which a stored page is revalidated. With an age or never, a page is also revalidated at its own expiry time, and if it says no-cache, unless request-expired or request-no-cache is false. An error is requested again as usual, and so is a temporary redirect unless request-redirection is false.
        "request-changed" => request_changed: UrlRules<RevalidationAge> = r#""standard""#, Live, Ordinary;
        /// Whether a stored page is revalidated at most once in an online session, with the exceptions of request-changed.
        "request-changed-once" => request_changed_once: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a stored page is revalidated when its own expiry time has passed.
        "request-expired" => request_expired: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a stored page with no-cache is revalidated.
        "request-no-cache" => request_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a stored temporary redirect is requested again; by default when HTTP's own rules say so.
        "request-redirection" => request_redirection: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether requests to an origin are conditional, so that it sends only changed pages (If-Modified-Since, If-None-Match).
        "request-conditional" => request_conditional: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a conditional request also contains the tag (`ETag`) of the stored page.
        "validate-with-etag" => validate_with_etag: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether the received part of a page is saved when its browser leaves and downloads end with their browsers (finish-downloads). The next request for the page resumes it.
        "intr-download-keep" => intr_download_keep: UrlRules<bool> = "false", Live, Ordinary;
        /// With intr-download-keep: a page smaller than this is downloaded to its end when its browser leaves.
        "intr-download-size" => intr_download_size: UrlRules<Size> = r#""1 kB""#, Live, Ordinary;
        /// With intr-download-keep: a page of which more than this share has arrived is downloaded to its end when its browser leaves.
        "intr-download-percent" => intr_download_percent: UrlRules<Percent> = r#""80%""#, Live, Ordinary;
        /// Whether the received part of a page is saved when its origin or the link fails. The next request for the page resumes it.
        "timeout-download-keep" => timeout_download_keep: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a stored page stays when its origin now answers with a redirect. When the origin answers with an error, the page stays in any case.
        "keep-cache-if-not-found" => keep_cache_if_not_found: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether origins may send compressed bodies.
        "request-compressed-data" => request_compressed_data: UrlRules<bool> = "true", Live, Ordinary;
    }
}

section! {
    /// Handling of requests while offline.
    "offline-options" => OfflineOptions {
        /// URLs that browsers request on their own, in addition to the shipped list: they are neither queued nor listed. A pattern with ! makes an exception from the shipped list.
        "noise" => noise: UrlSpecSet = "[]", Live, Ordinary;
        /// Whether the shipped list of URLs that browsers request on their own is used.
        "shipped-noise" => shipped_noise: bool = "true", Live, Ordinary;
        /// Whether a request with Pragma: no-cache for a stored page is queued.
        "pragma-no-cache" => pragma_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with Cache-Control: no-cache for a stored page is queued.
        "cache-control-no-cache" => cache_control_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with Cache-Control: max-age=0 for a stored page is queued.
        "cache-control-max-age-0" => cache_control_max_age_0: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a page asks for confirmation before a request is queued.
        "confirm-requests" => confirm_requests: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether requests for missing pages are refused instead of queued.
        "dont-request" => dont_request: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a missing page is answered with a page stored under a URL that names the same page: without campaign and click identifiers, or with http in place of https or the reverse.
        "near-answers" => near_answers: UrlRules<bool> = "true", Live, Ordinary;
        /// Names of URL arguments that do not select content, in addition to the shipped list of campaign and click identifiers.
        "near-arguments" => near_arguments: UrlRules<ArgumentNames> = "[]", Live, Ordinary;
        /// Names of JSON members and form fields in the body of a POST that do not select content, such as time stamps: requests that differ only there have one stored response, and one place in the queue. A name with dots is a path from the top of the JSON.
        "near-fields" => near_fields: UrlRules<ArgumentNames> = "[]", Live, Ordinary;
        /// Whether the body of a POST selects no content: all requests to the URL have one stored response, and one place in the queue. The forms of web pages do not: each is sent.
        "near-body" => near_body: UrlRules<bool> = "false", Live, Ordinary;
        /// Names of header fields of requests that do not select content, such as time stamps, although responses name them in Vary. Cookies and credentials always count.
        "near-headers" => near_headers: UrlRules<HeaderNames> = "[]", Live, Ordinary;
        /// Names of header fields of requests that select content, although responses do not name them in Vary: a stored response is used only for requests with the same values.
        "match-headers" => match_headers: UrlRules<HeaderNames> = "[]", Live, Ordinary;
    }
}
