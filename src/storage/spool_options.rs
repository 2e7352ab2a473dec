//! How the spool is opened, as the configuration says: by the daemon, and by verbs while there is none.

use wwwoffle_config::{Config, Durability, Startup, UrlParts};
use wwwoffle_spool::Options;
use wwwoffle_spool::fs::SharedDisk;
use wwwoffle_spool::{Durability as Promise, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// What is said of the spool as a whole, and of versions by a rule.
#[must_use]
pub fn of(startup: &Startup, versions: Versions) -> Options {
    let durability = match startup.durability {
        Durability::Each => Promise::Each,
        Durability::Batch => Promise::Batch,
        Durability::None => Promise::None,
    };
    Options { durability, shared: shared(startup), versions, ..Options::default() }
}

/// Who besides its owner may read the spool; `None`: nobody.
#[must_use]
pub fn shared(startup: &Startup) -> Option<SharedDisk> {
    // No stored response is a program, whatever the configuration says.
    let files = startup.file_perm.bits() & 0o666;
    let shared = SharedDisk { directories: startup.dir_perm.bits(), files };
    Some(shared).filter(|shared| shared.is_shared())
}

/// How many older versions a configuration says of a URL.
#[must_use]
pub fn versions_of(config: &Config, url: &str) -> usize {
    // What is no URL, or has its own rules as one of ours, has no versions.
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return 0 };
    config.caching.keep_versions.of(&UrlParts::of(&url)).number()
}
