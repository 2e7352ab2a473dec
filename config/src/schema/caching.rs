//! Reuse of stored responses while online.

use crate::{
    source::rule::UrlRules,
    values::{
        amounts::{Percent, SizeLimit, VersionCount},
        words::NoStore,
    },
};
use std::time::Duration;

section! {
    /// When a stored response is used again while online: without asking its origin, or when the origin cannot be reached. Offline, every stored response is served.
    "caching" => Caching {
        /// Whether the proxy behaves as a shared cache (RFC 9111): it obeys s-maxage and proxy-revalidate, and does not reuse private responses.
        "shared" => shared: bool = "false", Live, Ordinary;
        /// How long a page without a lifetime is fresh, if it says when it was last modified: this share of the time between the modification and the download. 0% means never.
        "heuristics" => heuristics: UrlRules<Percent> = r#""10%""#, Live, Ordinary;
        /// The longest time that a page without a lifetime is fresh.
        "heuristics-limit" => heuristics_limit: UrlRules<Duration> = r#""1d""#, Live, Ordinary;
        /// What happens to a response that must not be stored (Cache-Control: no-store).
        "no-store" => no_store: UrlRules<NoStore> = r#""keep""#, Live, Ordinary;
        /// Whether a stored page is served when its origin cannot be reached, although the page forbids that (no-cache, must-revalidate).
        "serve-unreachable" => serve_unreachable: UrlRules<bool> = "false", Live, Ordinary;
        /// How many older versions of a page are stored when a new one arrives. For a monitored page, the number in its form counts if it is higher.
        "keep-versions" => keep_versions: UrlRules<VersionCount> = "3", Live, Ordinary;
        /// The longest response that becomes an older version; "none" means no limit. Versions of monitored pages have no limit.
        "versions-below" => versions_below: UrlRules<SizeLimit> = r#""1 MB""#, Live, Ordinary;
    }
}
