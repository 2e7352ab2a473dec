//! What goes, what stays, and why: pure.
//!
//! # How old is old
//!
//! The *share* of an entry is its age as a part of the age that it may reach. At one it goes. To bring the spool
//! below a size, or to free room on the disk, entries go at a smaller share, the same for all of them: one age
//! profile, scaled, as WWWOFFLE has it. It is scaled down as little as it takes. The size is ours alone; the
//! room is not: where no scale makes enough of it, something else fills the disk, and nothing goes for it.
//!
//! # Parts
//!
//! Whatever a page needs lives as long as the youngest page that needs it, and as long as it would by its own age;
//! so does what is needed by what a page needs. A part that no page is known to need may be one of any page
//! of its site, or, where its site has none, of all pages: so it lives as long as the youngest of these. And one that
//! some pages are known to need may be one, besides, of those of its site of which not all is known.
//!
//! # What stays whatever is needed
//!
//! What is pinned, with its parts; what has no age; and what was used or stored within the last hour, since it
//! may be looked at just now.

mod planner;
mod scale;
mod shared;
mod way;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

pub use crate::tree::Sum;

pub use self::planner::{Needs, Planner};
pub use self::way::age;
use self::way::{Expiry, ExpiryMark, as_long_as, way};
use crate::entry::holder::Held;

/// What was used or stored within this time stays.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// The share at which an entry goes by its age alone.
const ONE: u32 = 1 << 20;

/// How long an entry may stay, by its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// For ever.
    Never,
    /// Until it has reached this age.
    At(Duration),
    /// It would no longer be got or kept at all.
    Excluded(Excluded),
}

/// Why something would no longer be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// It is never got.
    NeverGot,
    /// It is got and never kept.
    NeverKept,
}

/// What an entry is to others, as far as its type tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What a person opens.
    Page,
    /// What pages are put together of.
    Part,
}

/// An entry as it is weighed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What others name it by: the [`name`] of its URL.
    pub name: u64,
    /// What belongs together with its host, as `example.co.uk`.
    pub site: String,
    /// How many bytes would be free without it.
    pub size: u64,
    /// When it was finished.
    pub stored: Timestamp,
    /// When it was used last, as far as that is known.
    pub used: Timestamp,
    /// How long it may stay.
    pub limit: Limit,
    /// A person has said that it stays.
    pub is_pinned: bool,
    /// What it is to others.
    pub role: Role,
    /// It may need what nobody tells the planner of: then that may be any part of its site.
    pub is_open: bool,
    /// The bodies that it shares: each is free when the last goes that does.
    pub bodies: Vec<Held>,
}

/// What there is room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Ages count from when an entry was stored, and not from when it was used.
    pub by_stored: bool,
    /// How many bytes may be kept.
    pub max_size: Option<u64>,
    /// How many bytes of the disk are to be free, and how many are.
    pub min_free: Option<(u64, u64)>,
}

impl Limits {
    /// Whether it matters how many bytes there are.
    #[must_use]
    pub fn is_for_room(&self) -> bool {
        self.max_size.is_some() || self.min_free.is_some()
    }
}

/// Why an entry goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It has reached its age.
    Old,
    /// Ages are scaled, and it has reached its own.
    Room,
    /// It is never got.
    NeverGot,
    /// It is never kept.
    NeverKept,
}

/// Why an entry stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Because {
    /// It has not reached its age.
    Young,
    /// It was used or stored within the last hour.
    Recent,
    /// It has no age.
    NoAge,
    /// It is pinned.
    Pinned,
    /// A page needs it that stays.
    Needed,
    /// A page may need it that stays: nobody knows.
    PerhapsNeeded,
}

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It is removed.
    Goes(Why),
    /// It is kept.
    Stays(Because),
}

/// What others name an entry by: the first eight bytes of the SHA-256 of its canonical URL, as a number. Two URLs
/// with one name keep what the other's pages need, and nothing goes for it.
#[must_use]
pub fn name(url: &str) -> u64 {
    Sha256::digest(url).first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// The longest ways of pages of one site, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Site {
    /// Of all of them.
    youngest: ExpiryMark,
    /// Of what may need what nobody knows.
    open: ExpiryMark,
}

/// Who needs what has a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct NeedMark {
    way: ExpiryMark,
    /// A page is known to.
    is_known: bool,
}

/// The way of an entry for the sake of others, and whether it is known that they need it. `sites` are its own and
/// all.
fn life(
    own: ExpiryMark,
    is_part: bool,
    need: NeedMark,
    (site, overall): (Site, Site),
) -> (Expiry, bool) {
    let Some(own) = own.way() else { return (Expiry::Never(Because::Recent), true) };
    let perhaps = match (is_part, need.is_known) {
        (false, _) => ExpiryMark::NONE,
        (true, false) => site.youngest.or(overall.youngest),
        (true, true) if site.youngest == ExpiryMark::NONE => overall.open,
        (true, true) => site.open,
    };
    let is_known = !is_part || (need.is_known && need.way <= perhaps);
    (as_long_as(own, need.way.min(perhaps)), is_known)
}

/// What goes and what stays.
#[derive(Debug, Clone)]
pub struct Plan {
    limits: Limits,
    now: Timestamp,
    /// From this share on they go.
    share: u32,
    sites: HashMap<String, Site>,
    overall: Site,
    /// Who needs what, by name, in order.
    needs: Vec<(u64, NeedMark)>,
    /// The names of what stays since the plan was made.
    kept: HashSet<u64>,
    /// What becomes of how many.
    pub fates: Vec<(Fate, Sum)>,
    /// How many bytes should have gone besides, and cannot.
    pub missing: u64,
    /// The bodies that several entries share.
    pub shared: Sum,
}

impl Plan {
    /// What becomes of an entry.
    #[must_use]
    pub fn fate(&self, candidate: &Candidate) -> Fate {
        let own = way(candidate, &self.limits, self.now);
        let sites = (self.sites.get(&candidate.site).copied().unwrap_or_default(), self.overall);
        let is_part = candidate.role == Role::Part;
        let (way, is_known) = life(own.into(), is_part, self.need(candidate.name), sites);
        self.judged(own, way, is_known)
    }

    fn need(&self, name: u64) -> NeedMark {
        if self.kept.contains(&name) {
            return NeedMark { way: Expiry::Never(Because::Recent).into(), is_known: true };
        }
        let at = self.needs.binary_search_by_key(&name, |(name, _)| *name);
        at.ok().and_then(|at| self.needs.get(at)).map(|(_, need)| *need).unwrap_or_default()
    }

    /// Has what has this name stay, since something that needs it came, or was pinned, after the plan was made.
    pub fn keep(&mut self, name: u64) {
        self.kept.insert(name);
    }

    /// Has parts stay that may be those of a page of this site, since it came, or was pinned, after the plan was
    /// made. `is_open`: not all that it needs is told by [`Plan::keep`].
    pub fn keep_site(&mut self, site: &str, is_open: bool) {
        let stays = ExpiryMark::from(Expiry::Never(Because::Recent));
        let known = self.sites.get(site).copied().unwrap_or_default();
        let before = if known.youngest == ExpiryMark::NONE { self.overall } else { known };
        let open = |before: ExpiryMark| if is_open { stays } else { before };
        self.sites.insert(site.to_owned(), Site { youngest: stays, open: open(before.open) });
        self.overall = Site { youngest: stays, open: open(self.overall.open) };
    }

    /// The fate of what is on its own way, and on another one for the sake of others.
    fn judged(&self, own: Expiry, way: Expiry, is_known: bool) -> Fate {
        let goes = |way: Expiry| match way {
            Expiry::Now(why) => Fate::Goes(why),
            Expiry::Share(share) if share >= ONE => Fate::Goes(Why::Old),
            Expiry::Share(share) if share >= self.share => Fate::Goes(Why::Room),
            Expiry::Share(_) => Fate::Stays(Because::Young),
            Expiry::Never(because) => Fate::Stays(because),
        };
        match (goes(own), goes(way)) {
            (Fate::Goes(_), Fate::Stays(_)) if is_known => Fate::Stays(Because::Needed),
            (Fate::Goes(_), Fate::Stays(_)) => Fate::Stays(Because::PerhapsNeeded),
            // It goes with its pages, for the reason of the one that stayed longest.
            (Fate::Goes(_), goes @ Fate::Goes(_)) => goes,
            (stays, _) => stays,
        }
    }

    /// What goes in all.
    #[must_use]
    pub fn going(&self) -> Sum {
        self.sum(|fate| matches!(fate, Fate::Goes(_)))
    }

    /// What stays in all.
    #[must_use]
    pub fn staying(&self) -> Sum {
        self.sum(|fate| matches!(fate, Fate::Stays(_)))
    }

    fn sum(&self, is_meant: impl Fn(Fate) -> bool) -> Sum {
        let meant = self.fates.iter().filter(|(fate, _)| is_meant(*fate));
        meant.fold(Sum::default(), |sum, (_, one)| Sum {
            count: sum.count + one.count,
            bytes: sum.bytes.saturating_add(one.bytes),
        })
    }

    /// What part of their age entries may reach, in thousandths: 1,000 unless there is too little room.
    #[must_use]
    pub fn scale(&self) -> u64 {
        u64::from(self.share) * 1_000 / u64::from(ONE)
    }

    /// For which moment it was made.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

#[cfg(test)]
mod tests;
