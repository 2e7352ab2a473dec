//! The rules that decide which entries are purged, which stay, and why. Nothing here reads the
//! disk.
//!
//! # How old is old
//!
//! The *share* of an entry is its age divided by its age limit. At share 1 it is purged. To bring
//! the spool below a size, or to free space on the disk, entries are purged at a smaller share.
//! This share is the same for all entries, like the scaled age profile of WWWOFFLE, and is not
//! smaller than needed. The limit for the size counts only our files; the limit for free space
//! counts the whole disk. If no share can free enough space, the disk is full of other files.
//! Purging would not help, so no entry is purged to free space.
//!
//! # Sub-resources
//!
//! A sub-resource lives as long as the youngest page that needs it, and at least as long as its own
//! age allows. This also holds for resources that sub-resources need. A sub-resource that no known
//! page needs may belong to any page of its site, or of all sites if its own site has no page. So
//! it lives as long as the youngest of these pages. A sub-resource that known pages need may also
//! belong to pages of its site whose references are not all known.
//!
//! # Entries that are never purged
//!
//! Pinned entries with their sub-resources; entries without an age limit; and entries with an age
//! limit that were used or stored within the last hour, because a person may be reading them.

mod expiry;
mod planner;
mod scale;
mod shared;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

pub use crate::tree::Sum;

pub use self::expiry::age;
use self::expiry::{Expiry, ExpiryMark, as_long_as, own_expiry};
pub use self::planner::{Needs, Planner};
use crate::entry::holder::SharedBody;

/// Entries with an age limit that were used or stored within this time are not purged.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// The share at which an entry is purged because of its age alone.
const ONE: u32 = 1 << 20;

/// The age limit of an entry, determined by its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryLimit {
    /// The entry has no age limit.
    Never,
    /// The entry is old at this age.
    At(Duration),
    /// The entry is always purged: a rule now excludes the URL from being fetched or stored.
    Excluded(Exclusion),
}

/// The reason why an entry would no longer be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// The URL is never fetched.
    NeverGot,
    /// The URL is fetched, but never stored.
    NeverKept,
}

/// The role of an entry, determined by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRole {
    /// A page that a person opens.
    Page,
    /// A sub-resource of pages.
    Part,
}

/// An entry for which a plan decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeCandidate {
    /// The [`name`] of its URL.
    pub name: u64,
    /// The registrable domain of its host, for example `example.co.uk`.
    pub site: String,
    /// The number of bytes that removing the entry would free.
    pub size: u64,
    /// When it was stored completely.
    pub stored: Timestamp,
    /// When it was last used, as far as known.
    pub used: Timestamp,
    /// Its age limit.
    pub limit: EntryLimit,
    /// Whether its URL is pinned.
    pub is_pinned: bool,
    /// Page or sub-resource.
    pub role: EntryRole,
    /// Whether some of its references are unknown. It may then need any sub-resource of its site.
    pub is_open: bool,
    /// The bodies it shares. Each is freed when the last entry that shares it is removed.
    pub bodies: Vec<SharedBody>,
}

/// The limits of a purge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeLimits {
    /// Whether ages count from storing, not from the last use.
    pub by_stored: bool,
    /// The largest size of the spool, in bytes.
    pub max_size: Option<u64>,
    /// The number of bytes of the disk that must be free, and the number that are free.
    pub min_free: Option<(u64, u64)>,
}

impl PurgeLimits {
    /// Whether there is a limit for the size or for the free space.
    #[must_use]
    pub fn is_for_room(&self) -> bool {
        self.max_size.is_some() || self.min_free.is_some()
    }
}

/// The reason why an entry is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PurgeReason {
    /// The entry has reached its age limit.
    Old,
    /// The entry has reached its scaled age limit.
    Room,
    /// The entry's URL is never fetched.
    NeverGot,
    /// The entry's URL is never stored.
    NeverKept,
}

/// The reason why an entry stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeepReason {
    /// The entry is younger than its age limit.
    Young,
    /// The entry was used or stored within the last hour.
    Recent,
    /// The entry has no age limit.
    NoAge,
    /// The entry is pinned.
    Pinned,
    /// A page that stays needs the entry.
    Needed,
    /// A page that stays may need the entry.
    PerhapsNeeded,
}

/// The decision of a plan about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// The entry is purged.
    Goes(PurgeReason),
    /// The entry stays.
    Stays(KeepReason),
}

/// The name by which other entries refer to this entry: the first eight bytes of the SHA-256 of its
/// canonical URL. If two URLs have the same name, the entries of both stay as long as a page needs
/// one of them.
#[must_use]
pub fn name(url: &str) -> u64 {
    Sha256::digest(url).first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// The longest expiries of the entries of one site, or of all sites.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SiteExpiry {
    /// The longest expiry of the pages of the site.
    youngest: ExpiryMark,
    /// The longest expiry of the entries whose references are not all known.
    open: ExpiryMark,
}

/// The need for the entries with one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct NeedMark {
    expiry: ExpiryMark,
    /// Whether a page is known to need these entries.
    is_known: bool,
}

/// The expiry of an entry with regard to the entries that need it, and whether that need is known.
/// `site` is the entry's own site, and `overall` all sites together.
fn combined_expiry(
    own: ExpiryMark,
    is_part: bool,
    need: NeedMark,
    (site, overall): (SiteExpiry, SiteExpiry),
) -> (Expiry, bool) {
    let Some(own) = own.expiry() else { return (Expiry::Never(KeepReason::Recent), true) };
    let perhaps = match (is_part, need.is_known) {
        (false, _) => ExpiryMark::NONE,
        (true, false) => site.youngest.or(overall.youngest),
        (true, true) if site.youngest == ExpiryMark::NONE => overall.open,
        (true, true) => site.open,
    };
    let is_known = !is_part || (need.is_known && need.expiry <= perhaps);
    (as_long_as(own, need.expiry.min(perhaps)), is_known)
}

/// The rule that decides which entries are purged.
#[derive(Debug, Clone)]
pub struct Plan {
    limits: PurgeLimits,
    now: Timestamp,
    /// Entries with this share or a larger one are purged.
    share: u32,
    sites: HashMap<String, SiteExpiry>,
    overall: SiteExpiry,
    /// The needs by name, sorted.
    needs: Vec<(u64, NeedMark)>,
    /// The names added with [`Plan::keep_entry`].
    kept: HashSet<u64>,
    /// The number and size of the entries for each fate.
    pub fates: Vec<(Fate, Sum)>,
    /// The number of bytes that should be freed to meet the limits, but cannot be freed.
    pub missing: u64,
    /// The number and size of all shared bodies of the candidates.
    pub shared: Sum,
}

impl Plan {
    /// The fate of an entry.
    #[must_use]
    pub fn fate(&self, candidate: &PurgeCandidate) -> Fate {
        let own = own_expiry(candidate, &self.limits, self.now);
        let sites = (self.sites.get(&candidate.site).copied().unwrap_or_default(), self.overall);
        let is_part = candidate.role == EntryRole::Part;
        let (expiry, is_known) =
            combined_expiry(own.into(), is_part, self.need(candidate.name), sites);
        self.decide_fate(own, expiry, is_known)
    }

    fn need(&self, name: u64) -> NeedMark {
        if self.kept.contains(&name) {
            return NeedMark { expiry: Expiry::Never(KeepReason::Recent).into(), is_known: true };
        }
        let at = self.needs.binary_search_by_key(&name, |(name, _)| *name);
        at.ok().and_then(|at| self.needs.get(at)).map(|(_, need)| *need).unwrap_or_default()
    }

    /// Keeps the entries with this name, because an entry that needs them was stored or pinned
    /// after the plan was made.
    pub fn keep_entry(&mut self, name: u64) {
        self.kept.insert(name);
    }

    /// Keeps sub-resources that may belong to a page of this site which was stored or pinned after
    /// the plan was made. `is_open`: not all its references were passed to [`Plan::keep_entry`].
    pub fn keep_site(&mut self, site: &str, is_open: bool) {
        let stays = ExpiryMark::from(Expiry::Never(KeepReason::Recent));
        let known = self.sites.get(site).copied().unwrap_or_default();
        let before = if known.youngest == ExpiryMark::NONE { self.overall } else { known };
        let open = |before: ExpiryMark| if is_open { stays } else { before };
        self.sites.insert(site.to_owned(), SiteExpiry { youngest: stays, open: open(before.open) });
        self.overall = SiteExpiry { youngest: stays, open: open(self.overall.open) };
    }

    /// The fate of an entry, from its own expiry and the expiry that results from other entries.
    fn decide_fate(&self, own: Expiry, expiry: Expiry, is_known: bool) -> Fate {
        let goes = |expiry: Expiry| match expiry {
            Expiry::Now(why) => Fate::Goes(why),
            Expiry::Share(share) if share >= ONE => Fate::Goes(PurgeReason::Old),
            Expiry::Share(share) if share >= self.share => Fate::Goes(PurgeReason::Room),
            Expiry::Share(_) => Fate::Stays(KeepReason::Young),
            Expiry::Never(because) => Fate::Stays(because),
        };
        match (goes(own), goes(expiry)) {
            (Fate::Goes(_), Fate::Stays(_)) if is_known => Fate::Stays(KeepReason::Needed),
            (Fate::Goes(_), Fate::Stays(_)) => Fate::Stays(KeepReason::PerhapsNeeded),
            // `expiry` is that of the entry, or a longer one of the pages that need it. The reason
            // is the one for `expiry`.
            (Fate::Goes(_), goes @ Fate::Goes(_)) => goes,
            (stays, _) => stays,
        }
    }

    /// The number and size of the entries that are purged.
    #[must_use]
    pub fn removed_sum(&self) -> Sum {
        self.sum(|fate| matches!(fate, Fate::Goes(_)))
    }

    /// The number and size of the entries that stay.
    #[must_use]
    pub fn remaining_sum(&self) -> Sum {
        self.sum(|fate| matches!(fate, Fate::Stays(_)))
    }

    fn sum(&self, is_meant: impl Fn(Fate) -> bool) -> Sum {
        let meant = self.fates.iter().filter(|(fate, _)| is_meant(*fate));
        meant.fold(Sum::default(), |sum, (_, one)| Sum {
            count: sum.count + one.count,
            bytes: sum.bytes.saturating_add(one.bytes),
        })
    }

    /// The scale of age limits, in thousandths. It is 1,000 unless space is short.
    #[must_use]
    pub fn scale(&self) -> u64 {
        u64::from(self.share) * 1_000 / u64::from(ONE)
    }

    /// The time for which the plan was made.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

#[cfg(test)]
mod tests;
