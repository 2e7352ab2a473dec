//! Applies the configuration to the entries that could be removed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wwwoffle_config::{AgeLimit, Config, SizeLimit, UrlParts};
use wwwoffle_spool::purge::plan::{
    EntryLimit, EntryRole, Exclusion, PurgeCandidate, PurgeLimits, name,
};
use wwwoffle_spool::purge::{SizedEntry, Space};
use wwwoffle_spool::{Timestamp, Uses};
use wwwoffle_url::{CanonicalUrl, LocalHost, registrable_domain};

use super::room;

/// The prefixes of media types that sub-resources have. An entry without a type may be a
/// sub-resource too.
const PARTS: [&str; 9] = [
    "image/",
    "font/",
    "audio/",
    "video/",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/font",
];

/// The configuration and the pins, as seen by one purge.
#[derive(Clone, Debug)]
pub struct PurgePolicy {
    config: Arc<Config>,
    pins: BTreeSet<String>,
    pub(super) uses: Uses,
    local: LocalHost,
}

impl PurgePolicy {
    /// Creates the policy for the current configuration, pins and uses.
    #[must_use]
    pub fn new(config: Arc<Config>, pins: BTreeSet<String>, uses: Uses, local: LocalHost) -> Self {
        Self { config, pins, uses, local }
    }

    /// The configuration that this policy applies.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The limits of the spool's size and of free space. `space` is that of the disk, if known.
    #[must_use]
    pub fn limits(&self, space: Option<Space>) -> PurgeLimits {
        let min_free = room::min_free(&self.config, space);
        PurgeLimits {
            by_stored: self.config.purge.use_mtime,
            max_size: room::max_size(&self.config, space),
            min_free: min_free.zip(space.map(|space| space.free)),
        }
    }

    /// Bodies with at least this number of bytes are shared; `None` if bodies are not shared.
    #[must_use]
    pub fn share_above(&self) -> Option<u64> {
        match self.config.purge.share_above {
            SizeLimit::At(size) => Some(size.bytes()),
            SizeLimit::None => None,
        }
    }

    /// Sets the current pins. Returns the URLs that were not pinned before.
    #[must_use]
    pub fn pin(&mut self, pins: BTreeSet<String>) -> Vec<CanonicalUrl> {
        let new = pins.difference(&self.pins);
        let urls = new.filter_map(|url| CanonicalUrl::parse(url, &self.local).ok()).collect();
        self.pins = pins;
        urls
    }

    /// Converts an entry to a candidate of the plan.
    #[must_use]
    pub fn candidate(&self, found: &SizedEntry) -> PurgeCandidate {
        let summary = &found.summary;
        let content_type = summary.content_type.as_deref().unwrap_or_default();
        let times = (summary.stored, summary.checked, self.uses.of(&summary.place.key()));
        let role = role(summary.status, content_type);
        let bodies = found.bodies.clone();
        PurgeCandidate {
            bodies,
            ..self.make_candidate(summary.place.url(), (role, true), found.size, times)
        }
    }

    /// Converts an entry of the index to a candidate of the plan.
    #[must_use]
    pub fn indexed(&self, found: &wwwoffle_index::Candidate) -> PurgeCandidate {
        let times = (found.stored, found.checked, found.used);
        let role = role(found.status, found.content_type.as_bytes());
        self.make_candidate(&found.url, (role, !found.is_told), found.size, times)
    }

    /// Builds a candidate. Its last use is the recorded use or the last revalidation, whichever is
    /// later.
    fn make_candidate(
        &self,
        url: &str,
        (role, is_open): (EntryRole, bool),
        size: u64,
        (stored, checked, used): (Timestamp, Timestamp, Option<Timestamp>),
    ) -> PurgeCandidate {
        let parsed = CanonicalUrl::parse(url, &self.local);
        let (limit, host) = match &parsed {
            Ok(url) => (self.limit(url), url.host()),
            // An invalid URL, to which no rule can apply, has no age limit.
            Err(_) => (EntryLimit::Never, ""),
        };
        PurgeCandidate {
            name: name(url),
            site: registrable_domain(host).to_owned(),
            size,
            stored,
            used: used.map_or(checked, |used| used.max(checked)),
            limit,
            is_pinned: self.pins.contains(url),
            role,
            is_open,
            bodies: Vec::new(),
        }
    }

    /// The rules by which bodies are compressed, as a text that changes when the rules change;
    /// `None` if no rule compresses.
    #[must_use]
    pub fn compress_rules(&self) -> Option<String> {
        let ages = &self.config.purge.compress_age;
        let mut all = ages.rules().map(|(age, _)| age).chain([ages.plain()]);
        let is_any = all.any(|age| *age != AgeLimit::Never);
        let types = &self.config.dont_compress.mime_type;
        let by_stored = self.config.purge.use_mtime;
        is_any.then(|| format!("{} {types:?} {by_stored}", ages.to_identity()))
    }

    /// The age at which the body of an entry is compressed; `None` if it is never compressed.
    #[must_use]
    pub fn compress_age(&self, found: &SizedEntry) -> Option<Duration> {
        let content_type = found.summary.content_type.as_deref().unwrap_or_default();
        let content_type = String::from_utf8_lossy(content_type);
        if self.config.dont_compress.mime_type.contains(&content_type) {
            return None;
        }
        let url = CanonicalUrl::parse(found.summary.place.url(), &self.local).ok()?;
        match self.config.purge.compress_age.of(&UrlParts::of(&url)) {
            AgeLimit::At(age) => Some(age.as_duration()),
            AgeLimit::Never => None,
        }
    }

    fn limit(&self, url: &CanonicalUrl) -> EntryLimit {
        let (config, parts) = (&self.config, UrlParts::of(url));
        if config.purge.del_dontget && config.dont_get.urls.matches(url).is_some() {
            return EntryLimit::Excluded(Exclusion::NeverGot);
        }
        let is_never_kept = || {
            config.local_net.hosts.contains(url.host())
                || config.dont_cache.urls.matches_parts(&parts).is_some()
        };
        if config.purge.del_dontcache && is_never_kept() {
            return EntryLimit::Excluded(Exclusion::NeverKept);
        }
        match config.purge.age.of(&parts) {
            AgeLimit::At(age) => EntryLimit::At(age.as_duration()),
            AgeLimit::Never => EntryLimit::Never,
        }
    }
}

/// The role of an entry, judged by its status and type: whether it may be a sub-resource of a page.
fn role(status: u16, content_type: &[u8]) -> EntryRole {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii().to_ascii_lowercase();
    let is_success = (200..300).contains(&status);
    let is_part =
        essence.is_empty() || PARTS.iter().any(|part| essence.starts_with(part.as_bytes()));
    if is_success && is_part { EntryRole::Part } else { EntryRole::Page }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_spool::{Place, Summary};

    fn summary(url: &str, status: u16, content_type: &str) -> Summary {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let (when, content_type) = (Timestamp::UNIX_EPOCH, Some(content_type.into()));
        Summary {
            place: Place::of(&url),
            status,
            content_type,
            body_len: 1,
            when,
            stored: when,
            checked: when,
            digest: [0; 32],
            file_len: 1,
            plain_len: None,
        }
    }

    fn found(url: &str, content_type: &str) -> SizedEntry {
        let summary = summary(url, 200, content_type);
        SizedEntry { summary, size: 4_096, written: None, bodies: Vec::new() }
    }

    #[test]
    fn url_and_type_decide_about_compression() {
        let policy = |text: &str| {
            let config = Config::parse(text, Path::new("w.conf")).unwrap();
            let (pins, uses) = (BTreeSet::new(), Uses::default());
            PurgePolicy::new(Arc::new(config), pins, uses, LocalHost::default())
        };
        let text = "[purge]\ncompress-age = \"2d\"\n\
             [[purge.for]]\nurl = \"*://fast.test/*\"\ncompress-age = \"never\"\n";
        let policy_of_text = policy(text);
        let two_days = Some(Duration::from_secs(2 * 86_400));
        for (url, content_type, want) in [
            ("http://a.test/", "text/html; charset=utf-8", two_days),
            ("http://a.test/", "", two_days),
            ("http://a.test/", "image/png", None),
            ("http://a.test/", "Application/ZIP", None),
            ("http://fast.test/", "text/html", None),
        ] {
            let got = policy_of_text.compress_age(&found(url, content_type));
            assert_eq!(got, want, "{url} {content_type}");
        }
        let rules = policy_of_text.compress_rules();
        assert!(rules.is_some() && rules == policy(text).compress_rules());
        assert_eq!(rules, policy(&format!("# A comment\n{text}")).compress_rules());
        assert_ne!(rules, policy(&text.replace("2d", "3d")).compress_rules());
        assert_ne!(rules, policy(&text.replace("fast", "slow")).compress_rules());
        let types = "[dont-compress]\nmime-type = [\"text/*\"]\n";
        assert_ne!(rules, policy(&format!("{text}{types}")).compress_rules());
        assert_eq!(policy("").compress_rules(), None);
        let only_never = "[[purge.for]]\nurl = \"*://a.test/*\"\ncompress-age = \"never\"\n";
        assert_eq!(policy(only_never).compress_rules(), None);
    }

    #[test]
    fn the_configuration_decides_the_limit_of_a_url() {
        let text = "[dont-get]\nurls = [\"*://ads.test/*\"]\n[dont-cache]\nurls = [\"*://live.test/*\"]\n\
             [local-net]\nhosts = [\"near.test\"]\n\
             [purge]\nage = \"2d\"\nmax-size = \"1 kB\"\nmin-free = \"2 kB\"\nuse-mtime = true\n\
             [[purge.for]]\nurl = \"*://keep.test/*\"\nage = \"never\"\n";
        let policy = |text: &str| {
            let config = Config::parse(text, Path::new("w.conf")).unwrap();
            let pins = ["http://a.test/pin".to_owned()].into();
            PurgePolicy::new(Arc::new(config), pins, Uses::default(), LocalHost::default())
        };
        let (plain, lax) = (
            policy(text),
            text.replace("[purge]", "[purge]\ndel-dontget = false\ndel-dontcache = false"),
        );
        let two_days = EntryLimit::At(Duration::from_secs(2 * 86_400));
        for (url, want, otherwise) in [
            ("http://a.test/", two_days, two_days),
            ("http://keep.test/x", EntryLimit::Never, EntryLimit::Never),
            ("http://ads.test/", EntryLimit::Excluded(Exclusion::NeverGot), two_days),
            ("http://live.test/", EntryLimit::Excluded(Exclusion::NeverKept), two_days),
            ("http://near.test/", EntryLimit::Excluded(Exclusion::NeverKept), two_days),
        ] {
            let found = found(url, "text/html");
            assert_eq!(plain.candidate(&found).limit, want, "{url}");
            assert_eq!(policy(&lax).candidate(&found).limit, otherwise, "{url}");
        }
        let pinned = found("http://a.test/pin", "text/html");
        assert!(plain.candidate(&pinned).is_pinned);
        let mut later = plain.clone();
        let pins = ["http://a.test/pin", "http://www.b.test/"].map(str::to_owned);
        let new: Vec<_> =
            later.pin(pins.into()).iter().map(|url| url.as_str().to_owned()).collect();
        assert_eq!(new, ["http://www.b.test/"]);
        assert!(later.pin(BTreeSet::new()).is_empty());
        assert!(!later.candidate(&pinned).is_pinned);
        let space = Space { total: 9_000, free: 500 };
        let limits = plain.limits(Some(space));
        assert_eq!((limits.by_stored, limits.max_size), (true, Some(1_000)));
        assert_eq!(limits.min_free, Some((2_000, 500)));
        let none = "[purge]\nmax-size = \"none\"\nmin-free = \"none\"\n";
        assert_eq!(policy(none).limits(Some(space)), PurgeLimits::default());
    }

    #[test]
    fn sub_resources_are_recognized_by_type() {
        for (status, content_type, want) in [
            (200, "text/html; charset=utf-8", false),
            (200, "application/pdf", false),
            (200, "text/plain", false),
            (200, "application/zip", false),
            (200, "Text/CSS", true),
            (200, " image/png ; x=y", true),
            (200, "font/woff2", true),
            (200, "application/javascript", true),
            (200, "video/mp4", true),
            (200, "", true),
            // A missing file is useless to every page.
            (404, "image/png", false),
            (301, "", false),
        ] {
            let is_part = role(status, content_type.as_bytes()) == EntryRole::Part;
            assert_eq!(is_part, want, "{status} {content_type}");
        }
    }
}
