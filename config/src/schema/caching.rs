//! Which answers are used again while online.

use crate::{
    source::rule::UrlRules,
    values::{
        amounts::{Percent, VersionCount},
        words::NoStore,
    },
};
use std::time::Duration;

section! {
    /// What is used again while online, without asking its origin or when that cannot be asked. Offline, all that is kept is served.
    "caching" => Caching {
        /// Whether it behaves as a cache that many people share (RFC 9111): s-maxage and proxy-revalidate are obeyed, and what is private is not used again.
        "shared" => shared: bool = "false", Live, Ordinary;
        /// For how long a page is fresh that does not say so itself but when it was last modified: this share of the time between that and its coming. 0% for not at all.
        "heuristics" => heuristics: UrlRules<Percent> = r#""10%""#, Live, Ordinary;
        /// The longest time that such a page is fresh.
        "heuristics-limit" => heuristics_limit: UrlRules<Duration> = r#""1d""#, Live, Ordinary;
        /// What becomes of a page that must not be stored (Cache-Control: no-store).
        "no-store" => no_store: UrlRules<NoStore> = r#""keep""#, Live, Ordinary;
        /// Whether a kept page is served when its origin cannot be reached, though the page forbids that (no-cache, must-revalidate).
        "serve-unreachable" => serve_unreachable: UrlRules<bool> = "false", Live, Ordinary;
        /// How many older versions of a page are kept when another one has come. A monitored page keeps as many as its form says, if those are more.
        "keep-versions" => keep_versions: UrlRules<VersionCount> = "0", Live, Ordinary;
    }
}
