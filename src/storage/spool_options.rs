//! The options of the spool from the configuration. The daemon uses them, and verbs that run
//! without a daemon.

use wwwoffle_config::{Config, Durability, SizeLimit, Startup, UrlParts};
use wwwoffle_spool::Options;
use wwwoffle_spool::fs::SystemDisk;
use wwwoffle_spool::{Durability as Promise, RemovalRule, VersionLimit, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The options of the whole spool, the function for the number of versions, and the removals that
/// are recorded.
#[must_use]
pub fn of(startup: &Startup, versions: Versions, removals: RemovalRule) -> Options {
    let durability = match startup.durability {
        Durability::Each => Promise::Each,
        Durability::Batch => Promise::Batch,
        Durability::None => Promise::None,
    };
    Options { durability, disk: disk(startup), versions, removals, ..Options::default() }
}

/// The disk, with the configured permissions of new directories and files.
#[must_use]
pub fn disk(startup: &Startup) -> SystemDisk {
    // Stored responses are never executable, whatever the configuration says.
    let files = startup.file_perm.bits() & 0o666;
    SystemDisk { directories: startup.dir_perm.bits(), files }
}

/// The configured older versions of a URL.
#[must_use]
pub fn versions_of(config: &Config, url: &str) -> VersionLimit {
    // An invalid URL has no versions. The own names of the proxy do not matter, because its own
    // pages are not stored.
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else {
        return VersionLimit::default();
    };
    let (caching, url) = (&config.caching, UrlParts::of(&url));
    let max_body = match caching.versions_below.of(&url) {
        SizeLimit::At(size) => Some(size.bytes()),
        SizeLimit::None => None,
    };
    VersionLimit { number: caching.keep_versions.of(&url).number(), max_body }
}
