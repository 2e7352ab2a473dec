//! What happens to requests, online and offline.

use crate::{
    pattern::set::UrlSpecSet,
    source::rule::UrlRules,
    values::{
        amounts::{Percent, RevalidationAge, Size},
        arguments::ArgumentNames,
    },
};

section! {
    /// What happens to requests while online. By default all is as HTTP's own rules (RFC 9111) have it; what is set here differs from them on purpose.
    "online-options" => OnlineOptions {
        /// Whether Pragma: no-cache in a request is heeded.
        "pragma-no-cache" => pragma_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether Cache-Control: no-cache in a request is heeded.
        "cache-control-no-cache" => cache_control_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether Cache-Control: max-age=0 in a request is heeded.
        "cache-control-max-age-0" => cache_control_max_age_0: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with a cookie is always sent on.
        "cookies-force-refresh" => cookies_force_refresh: UrlRules<bool> = "false", Live, Ordinary;
        /// At which age a kept page is asked for again; with an age or never, a page that says itself when it expires, or that it is to be asked for, is asked for then too, unless request-expired or request-no-cache is false. An error is asked for as usual, and so is a redirection that is not permanent unless request-redirection is false.
        "request-changed" => request_changed: UrlRules<RevalidationAge> = r#""standard""#, Live, Ordinary;
        /// Whether a kept page is asked for again at most once while online, with the exceptions of request-changed.
        "request-changed-once" => request_changed_once: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a kept page is asked for again when its own dates say that it has expired.
        "request-expired" => request_expired: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a kept page that says no-cache is asked for again.
        "request-no-cache" => request_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a kept redirection that is not permanent is asked for again; by default when HTTP's own rules say so.
        "request-redirection" => request_redirection: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether an origin is asked only for what has changed (If-Modified-Since, If-None-Match).
        "request-conditional" => request_conditional: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether that goes by the tag (`ETag`) of the kept page too.
        "validate-with-etag" => validate_with_etag: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether what came of a page before its browser left is kept aside, where downloads end with their browsers (finish-downloads); the next request for the page begins with it.
        "intr-download-keep" => intr_download_keep: UrlRules<bool> = "false", Live, Ordinary;
        /// With intr-download-keep: a page that is smaller than this is fetched to its end when its browser leaves.
        "intr-download-size" => intr_download_size: UrlRules<Size> = r#""1 kB""#, Live, Ordinary;
        /// With intr-download-keep: a page of which more than this is there is fetched to its end when its browser leaves.
        "intr-download-percent" => intr_download_percent: UrlRules<Percent> = r#""80%""#, Live, Ordinary;
        /// Whether what came of a page before its origin or the line failed is kept aside; the next request for the page begins with it.
        "timeout-download-keep" => timeout_download_keep: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a kept page stays when its origin now answers with a redirection. When it answers with an error it stays in any case.
        "keep-cache-if-not-found" => keep_cache_if_not_found: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether origins may send compressed bodies.
        "request-compressed-data" => request_compressed_data: UrlRules<bool> = "true", Live, Ordinary;
    }
}

section! {
    /// What happens to requests while offline.
    "offline-options" => OfflineOptions {
        /// URLs that browsers ask for of their own accord, added to the shipped list: neither queued nor listed, and with ! excepted from it.
        "noise" => noise: UrlSpecSet = "[]", Live, Ordinary;
        /// Whether the shipped list of such URLs is used.
        "shipped-noise" => shipped_noise: bool = "true", Live, Ordinary;
        /// Whether a request with Pragma: no-cache for a page that is kept is queued.
        "pragma-no-cache" => pragma_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with Cache-Control: no-cache for a page that is kept is queued.
        "cache-control-no-cache" => cache_control_no_cache: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a request with Cache-Control: max-age=0 for a page that is kept is queued.
        "cache-control-max-age-0" => cache_control_max_age_0: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a page asks before a request is queued.
        "confirm-requests" => confirm_requests: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether requests for what is not kept are refused and not queued.
        "dont-request" => dont_request: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page that is not kept is answered by one that is kept under a URL that names the same: without marks of campaigns and clicks, or with http for https and back.
        "near-answers" => near_answers: UrlRules<bool> = "true", Live, Ordinary;
        /// Names of arguments that select no content, added to the shipped list of such marks.
        "near-arguments" => near_arguments: UrlRules<ArgumentNames> = "[]", Live, Ordinary;
    }
}
