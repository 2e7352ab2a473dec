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
//! A part of a page lives as long as the youngest page that needs it, and as long as it would by its own age.
//! Where it is not known which pages need it, these are all pages of its site; or of all sites, where its own
//! has none.
//!
//! # What stays whatever is needed
//!
//! What is pinned, with its parts; what has no age; and what was used or stored within the last hour, since it
//! may be looked at just now.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use self::shared::Shared;
use crate::bodies::Held;

/// What was used or stored within this time stays.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// A clock that says an earlier time had not been set (that of a machine without a battery begins in 1970 or
/// 1980): 1990-01-01.
const CLOCK_IS_SET: Timestamp = Timestamp::constant(631_152_000, 0);

/// The share at which an entry goes by its age alone.
const ONE: u64 = 1 << 20;

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

/// What an entry is to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// What a person opens; its number, if that is known, is what parts name it by.
    Page(Option<u64>),
    /// A part of these pages.
    PartOf(Vec<u64>),
    /// A part of nobody knows which pages.
    Part,
}

/// An entry as it is weighed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
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

/// How far an entry is on its way. The smaller stays longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// It never goes.
    Never(Because),
    /// At a share.
    Share(u64),
    /// It goes in any case.
    Now(Why),
}

/// Sums of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// How many bytes they take.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Gathers candidates for a plan: some forty bytes of memory for each.
#[derive(Debug)]
pub struct Planner {
    limits: Limits,
    now: Timestamp,
    weighed: Vec<Weighed>,
    sites: HashMap<String, u32>,
    /// Of each site the way of its youngest page.
    youngest: Vec<Option<Way>>,
    /// Of all pages.
    overall: Option<Way>,
    pages: HashMap<u64, Way>,
    /// The pages of parts, one after the other.
    needed: Vec<u64>,
    /// The bodies that are shared.
    shared: Shared,
}

#[derive(Debug)]
struct Weighed {
    size: u64,
    own: Way,
    role: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Page,
    /// From where on its pages are in the list of them, and how many.
    PartOf(u32, u32),
    /// Its site.
    Part(u32),
}

/// What goes and what stays.
#[derive(Debug, Clone)]
pub struct Plan {
    limits: Limits,
    now: Timestamp,
    /// From this share on they go.
    share: u64,
    sites: HashMap<String, Way>,
    overall: Option<Way>,
    pages: HashMap<u64, Way>,
    /// What becomes of how many.
    pub fates: Vec<(Fate, Sum)>,
    /// How many bytes should have gone besides, and cannot.
    pub missing: u64,
    /// The bodies that several entries share.
    pub shared: Sum,
}

impl Planner {
    /// Begins a plan for `now`.
    #[must_use]
    pub fn new(limits: Limits, now: Timestamp) -> Planner {
        let (sites, pages) = (HashMap::new(), HashMap::new());
        let (weighed, youngest, needed) = (Vec::new(), Vec::new(), Vec::new());
        let (overall, shared) = (None, Shared::default());
        Planner { limits, now, weighed, sites, youngest, overall, pages, needed, shared }
    }

    /// Weighs an entry.
    pub fn add(&mut self, candidate: &Candidate) {
        let own = way(candidate, &self.limits, self.now);
        let role = match &candidate.role {
            Role::Page(number) => {
                self.add_page(&candidate.site, *number, own);
                Kind::Page
            }
            Role::PartOf(pages) => {
                let from = u32::try_from(self.needed.len()).unwrap_or(u32::MAX);
                self.needed.extend(pages);
                Kind::PartOf(from, u32::try_from(pages.len()).unwrap_or(u32::MAX))
            }
            Role::Part => Kind::Part(self.site(&candidate.site)),
        };
        let number = self.weighed.len();
        self.shared.add(number, &candidate.bodies);
        self.weighed.push(Weighed { size: candidate.size, own, role });
    }

    fn add_page(&mut self, site: &str, number: Option<u64>, own: Way) {
        let site = self.site(site);
        let younger =
            |known: &mut Option<Way>| *known = Some(known.map_or(own, |way| way.min(own)));
        younger(&mut self.overall);
        if let Some(known) = usize::try_from(site).ok().and_then(|at| self.youngest.get_mut(at)) {
            younger(known);
        }
        if let Some(number) = number {
            self.pages.entry(number).and_modify(|way| *way = own.min(*way)).or_insert(own);
        }
    }

    fn site(&mut self, name: &str) -> u32 {
        if let Some(known) = self.sites.get(name) {
            return *known;
        }
        let next = u32::try_from(self.youngest.len()).unwrap_or(u32::MAX);
        self.youngest.push(None);
        self.sites.insert(name.to_owned(), next);
        next
    }

    /// Makes the plan of what was weighed.
    #[must_use]
    pub fn plan(self) -> Plan {
        let ways: Vec<(Way, u64)> =
            self.weighed.iter().map(|one| (self.way_of(one), one.size)).collect();
        let bodies = self.shared.ways(&ways);
        let mut shared = Sum::default();
        for (_, size) in &bodies {
            shared.add(*size);
        }
        let all: Vec<_> = ways.iter().chain(&bodies).copied().collect();
        let total = all.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
        let (share, missing) = share_of(&all, &self.limits, total);
        let mut plan = Plan {
            limits: self.limits,
            now: self.now,
            share,
            sites: HashMap::new(),
            overall: self.overall,
            pages: HashMap::new(),
            fates: Vec::new(),
            missing,
            shared,
        };
        let mut fates: HashMap<Fate, Sum> = HashMap::new();
        for (one, (way, size)) in self.weighed.iter().zip(&ways) {
            let is_known = !matches!(one.role, Kind::Part(_));
            let fate = plan.judged(one.own, *way, is_known);
            fates.entry(fate).or_default().add(*size);
        }
        plan.fates = fates.into_iter().collect();
        plan.fates.sort_unstable_by_key(|(fate, _)| *fate);
        let youngest = self.youngest;
        plan.sites = self
            .sites
            .into_iter()
            .filter_map(|(site, at)| {
                let at = usize::try_from(at).ok()?;
                youngest.get(at).copied().flatten().map(|way| (site, way))
            })
            .collect();
        plan.pages = self.pages;
        plan
    }

    fn way_of(&self, one: &Weighed) -> Way {
        let pages = match one.role {
            Kind::Page => None,
            Kind::PartOf(from, count) => {
                let range = usize::try_from(from).ok().zip(usize::try_from(count).ok());
                let pages = range.and_then(|(from, count)| self.needed.get(from..from + count));
                youngest_of(pages.unwrap_or_default(), &self.pages)
            }
            Kind::Part(site) => {
                let known = usize::try_from(site).ok().and_then(|at| self.youngest.get(at));
                known.copied().flatten().or(self.overall)
            }
        };
        as_long_as(one.own, pages)
    }
}

fn youngest_of(numbers: &[u64], pages: &HashMap<u64, Way>) -> Option<Way> {
    numbers.iter().filter_map(|number| pages.get(number)).min().copied()
}

/// The way of what lives as long as others do. What is never got or kept is of no use to them either.
fn as_long_as(own: Way, pages: Option<Way>) -> Way {
    match (own, pages) {
        (Way::Share(_), Some(pages)) => own.min(pages),
        _ => own,
    }
}

/// How old an entry is, by its last use or by when it was stored.
#[must_use]
pub fn age(candidate: &Candidate, by_stored: bool, now: Timestamp) -> Duration {
    let stored = candidate.stored;
    let since = if by_stored { stored } else { stored.max(candidate.used) };
    // What is from the future is new, and so is what a clock dated that had not been set.
    let is_dated = (if by_stored { stored } else { candidate.used }) >= CLOCK_IS_SET;
    let age = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    if is_dated { age } else { Duration::ZERO }
}

/// The way of an entry by itself.
fn way(candidate: &Candidate, limits: &Limits, now: Timestamp) -> Way {
    if candidate.is_pinned {
        return Way::Never(Because::Pinned);
    }
    let age = age(candidate, limits.by_stored, now);
    match candidate.limit {
        Limit::Excluded(Excluded::NeverGot) => Way::Now(Why::NeverGot),
        Limit::Excluded(Excluded::NeverKept) => Way::Now(Why::NeverKept),
        Limit::Never => Way::Never(Because::NoAge),
        Limit::At(_) if age < GRACE => Way::Never(Because::Recent),
        Limit::At(limit) => {
            let (age, limit) = (u128::from(age.as_secs()), u128::from(limit.as_secs().max(1)));
            Way::Share(u64::try_from(age * u128::from(ONE) / limit).unwrap_or(u64::MAX))
        }
    }
}

/// The share at which entries go, and how many bytes are missing then.
fn share_of(ways: &[(Way, u64)], limits: &Limits, total: u64) -> (u64, u64) {
    let above = limits.max_size.map_or(0, |most| total.saturating_sub(most));
    let below = limits.min_free.map_or(0, |(least, free)| least.saturating_sub(free));
    let (for_size, _) = scale(ways, above);
    let for_room = match scale(ways, below) {
        (share, 0) => share,
        // Whatever went, it would not be enough.
        _ => ONE,
    };
    let share = for_size.min(for_room);
    let goes = |way: &Way| match way {
        Way::Now(_) => true,
        Way::Share(own) => *own >= share,
        Way::Never(_) => false,
    };
    let going = ways.iter().filter(|(way, _)| goes(way));
    let freed = going.fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    (share, above.max(below).saturating_sub(freed))
}

/// The largest share, at most one, at which so many bytes go, and how many are missing at any.
fn scale(ways: &[(Way, u64)], to_free: u64) -> (u64, u64) {
    let (mut freed, mut shares) = (0_u64, Vec::new());
    for (way, size) in ways {
        match way {
            Way::Now(_) => freed = freed.saturating_add(*size),
            Way::Share(share) if *share >= ONE => freed = freed.saturating_add(*size),
            Way::Share(share) => shares.push((*share, *size)),
            Way::Never(_) => {}
        }
    }
    if freed >= to_free {
        return (ONE, 0);
    }
    shares.sort_unstable_by(|one, other| other.cmp(one));
    let mut at = ONE;
    for (share, size) in shares {
        if freed >= to_free && share < at {
            break;
        }
        at = share;
        freed = freed.saturating_add(size);
    }
    let missing = to_free.saturating_sub(freed);
    // Then everything goes that may.
    (if missing > 0 { 0 } else { at }, missing)
}

impl Plan {
    /// What becomes of an entry.
    #[must_use]
    pub fn fate(&self, candidate: &Candidate) -> Fate {
        let own = way(candidate, &self.limits, self.now);
        let (pages, is_known) = match &candidate.role {
            Role::Page(_) => (None, true),
            Role::PartOf(pages) => (youngest_of(pages, &self.pages), true),
            Role::Part => (self.sites.get(&candidate.site).copied().or(self.overall), false),
        };
        self.judged(own, as_long_as(own, pages), is_known)
    }

    /// Has the parts of a site stay, since a page of it was pinned after the plan was made.
    pub fn keep_site(&mut self, site: &str) {
        self.sites.insert(site.to_owned(), Way::Never(Because::Pinned));
    }

    /// The fate of what is on its own way, and on another one for the sake of others.
    fn judged(&self, own: Way, way: Way, is_known: bool) -> Fate {
        let goes = |way: Way| match way {
            Way::Now(why) => Fate::Goes(why),
            Way::Share(share) if share >= ONE => Fate::Goes(Why::Old),
            Way::Share(share) if share >= self.share => Fate::Goes(Why::Room),
            Way::Share(_) => Fate::Stays(Because::Young),
            Way::Never(because) => Fate::Stays(because),
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
        self.share.saturating_mul(1_000) / ONE
    }

    /// For which moment it was made.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

mod shared;
#[cfg(test)]
mod tests;
