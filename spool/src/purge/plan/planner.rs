//! Gathering the candidates of a plan, and their needs.
//!
//! A need connects two entries: a page or sub-resource, and a resource to which it refers. The
//! first is identified by its number, which is its position among the candidates. The second is
//! identified by its name, which may be ambiguous. Each entry takes about forty bytes. Needs take
//! no memory: for each name, only the longest expiry of the entries that need it is recorded.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use jiff::Timestamp;

use super::expiry::{Expiry, ExpiryMark, as_long_as, own_expiry};
use super::scale::find_scaling;
use super::shared::SharedUses;
use super::{
    EntryRole, Fate, KeepReason, NeedMark, Plan, PurgeCandidate, PurgeLimits, SiteExpiry, Sum,
    combined_expiry,
};

/// The candidates of a plan, to which no needs were added yet.
#[derive(Debug)]
pub struct Planner {
    limits: PurgeLimits,
    now: Timestamp,
    entries: Vec<PlannedEntry>,
    /// The number of each site.
    sites: HashMap<String, u32>,
    site_expiries: Vec<SiteExpiry>,
    /// All sites together.
    overall: SiteExpiry,
    shared: SharedUses,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
struct PlannedEntry {
    size: u64,
    name: u64,
    own: ExpiryMark,
    /// The longest expiry of the entries that need this entry.
    need: ExpiryMark,
    site: u32,
    is_part: bool,
    /// Whether some references of the entry are unknown.
    is_open: bool,
    /// Whether the entry needs other entries.
    has_parts: bool,
    /// Whether a page is known to need the entry, directly or through other sub-resources.
    is_known: bool,
}

/// The candidates of a plan, which are complete, and the needs added so far.
#[derive(Debug)]
pub struct Needs {
    planner: Planner,
    /// The first half of each name, with the number of its entry, sorted.
    names: Vec<(u32, u32)>,
}

impl Planner {
    /// Begins a plan for the time `now`.
    #[must_use]
    pub fn new(limits: PurgeLimits, now: Timestamp) -> Planner {
        let (entries, sites, site_expiries) = (Vec::new(), HashMap::new(), Vec::new());
        let (overall, shared) = (SiteExpiry::default(), SharedUses::default());
        Planner { limits, now, entries, sites, site_expiries, overall, shared }
    }

    /// Adds a candidate.
    pub fn add(&mut self, candidate: &PurgeCandidate) {
        let own = ExpiryMark::from(own_expiry(candidate, &self.limits, self.now));
        let site = self.site(&candidate.site);
        let is_part = candidate.role == EntryRole::Part;
        if !is_part {
            self.overall.youngest = self.overall.youngest.min(own);
            if let Some(site) =
                usize::try_from(site).ok().and_then(|at| self.site_expiries.get_mut(at))
            {
                site.youngest = site.youngest.min(own);
            }
        }
        self.shared.add(self.entries.len(), &candidate.bodies);
        self.entries.push(PlannedEntry {
            size: candidate.size,
            name: candidate.name,
            own,
            need: ExpiryMark::NONE,
            site,
            is_part,
            is_open: candidate.is_open,
            has_parts: false,
            is_known: false,
        });
    }

    /// Lets all sub-resources stay, because a page that could not be read may need them. Must be
    /// called after the last candidate was added.
    pub fn keep_parts(&mut self) {
        let stays = ExpiryMark::from(Expiry::Never(KeepReason::Recent));
        let all = SiteExpiry { youngest: stays, open: stays };
        self.overall = all;
        self.site_expiries.fill(all);
    }

    fn site(&mut self, name: &str) -> u32 {
        if let Some(known) = self.sites.get(name) {
            return *known;
        }
        let next = u32::try_from(self.site_expiries.len()).unwrap_or(u32::MAX);
        self.site_expiries.push(SiteExpiry::default());
        self.sites.insert(name.to_owned(), next);
        next
    }

    /// Ends the list of candidates. After this call, needs can be added.
    #[must_use]
    pub fn needs(self) -> Needs {
        let numbered = (0_u32..).zip(&self.entries);
        let mut names: Vec<_> =
            numbered.map(|(number, one)| (first_half(one.name), number)).collect();
        names.sort_unstable();
        Needs { planner: self, names }
    }

    fn combined_expiry(&self, one: &PlannedEntry) -> (Expiry, bool) {
        let site = usize::try_from(one.site).ok().and_then(|at| self.site_expiries.get(at));
        let need = NeedMark { expiry: one.need, is_known: one.is_known };
        let sites = (site.copied().unwrap_or_default(), self.overall);
        combined_expiry(one.own, one.is_part, need, sites)
    }

    /// Makes the plan. There are no needs but those that [`Needs`] has noted.
    #[must_use]
    pub fn plan(mut self) -> Plan {
        let expiry_of =
            |number: usize| self.entries.get(number).map(|one| self.combined_expiry(one).0);
        let bodies = self.shared.expiries(expiry_of);
        let expiries = self.entries.iter().map(|one| (self.combined_expiry(one).0, one.size));
        let scaling = find_scaling(&expiries.chain(bodies.iter().copied()), &self.limits);
        let mut shared = Sum::default();
        for (_, size) in &bodies {
            shared.add(*size);
        }
        let mut plan = Plan {
            limits: self.limits,
            now: self.now,
            share: scaling.share,
            sites: HashMap::new(),
            overall: self.overall,
            needs: Vec::new(),
            kept: HashSet::new(),
            fates: Vec::new(),
            missing: scaling.missing,
            shared,
        };
        let mut fates: HashMap<Fate, Sum> = HashMap::new();
        for one in &self.entries {
            let (expiry, is_known) = self.combined_expiry(one);
            let own = one.own.expiry().unwrap_or(expiry);
            fates.entry(plan.decide_fate(own, expiry, is_known)).or_default().add(one.size);
        }
        plan.fates = fates.into_iter().collect();
        plan.fates.sort_unstable_by_key(|(fate, _)| *fate);
        // Reuses the memory of the candidates, which may be large.
        let entries = std::mem::take(&mut self.entries).into_iter();
        plan.needs = entries
            .filter(|one| one.need != ExpiryMark::NONE || one.is_known)
            .map(|one| (one.name, NeedMark { expiry: one.need, is_known: one.is_known }))
            .collect();
        plan.needs.sort_unstable();
        plan.needs.dedup();
        let site_expiries = self.site_expiries;
        let of = |at: u32| usize::try_from(at).ok().and_then(|at| site_expiries.get(at)).copied();
        plan.sites =
            self.sites.into_iter().filter_map(|(name, at)| Some((name, of(at)?))).collect();
        plan
    }
}

impl Needs {
    /// Records that the entry with this number needs the entries with these names.
    pub fn add(&mut self, entry: usize, parts: impl IntoIterator<Item = u64>) {
        let Some(one) = self.planner.entries.get_mut(entry) else { return };
        one.has_parts = true;
        if one.is_part {
            // The needs of a sub-resource count only if pages need it, so [`Needs::propagate`] adds
            // them.
            return;
        }
        let (own, name) = (one.own, one.name);
        for part in parts.into_iter().filter(|part| *part != name) {
            self.need(part, own, true, &mut |_, _| {});
        }
    }

    /// Records that a name is needed until `expiry`. `on_change` receives each entry whose need has
    /// changed.
    fn need(
        &mut self,
        name: u64,
        expiry: ExpiryMark,
        is_known: bool,
        on_change: &mut dyn FnMut(u32, &PlannedEntry),
    ) {
        let half = first_half(name);
        let from = self.names.partition_point(|(known, _)| *known < half);
        for (known, number) in self.names.get(from..).unwrap_or_default() {
            if *known != half {
                break;
            }
            let at = usize::try_from(*number).ok();
            let Some(one) = at.and_then(|at| self.planner.entries.get_mut(at)) else { break };
            let is_new = expiry < one.need || (is_known && !one.is_known);
            // When possible needs are recorded (`is_known` is false), the expiries of pages are
            // final, because other expiries were derived from them. So a possible need extends the
            // lives of sub-resources only.
            let is_meant = is_known || one.is_part;
            if one.name == name && is_new && is_meant {
                // The longer of the two expiries, or the only one.
                one.need = one.need.min(expiry);
                one.is_known |= is_known;
                on_change(*number, one);
            }
        }
    }

    /// Propagates the needs: an entry lives at least as long as the entries that need it, and so do
    /// the entries that it needs itself. `parts_of` returns the needs of an entry, and is called
    /// again for some entries.
    ///
    /// # Errors
    ///
    /// If `parts_of` fails.
    pub fn propagate<E>(
        &mut self,
        mut parts_of: impl FnMut(usize) -> Result<Vec<u64>, E>,
    ) -> Result<(), E> {
        // First from pages through sub-resources: every entry reached is known to be needed.
        let begin =
            |one: &PlannedEntry| if one.is_part { one.is_known } else { one.need < one.own };
        self.extend_lives(begin, true, &mut parts_of)?;
        self.note_sites();
        // Then from sub-resources that pages may need. The resources that these sub-resources need
        // are also only possibly needed.
        self.extend_lives(|one| one.is_part, false, &mut parts_of)
    }

    /// Extends the lives of the entries reached from those that `begins` selects. The longest-lived
    /// are visited first, so each entry is visited once.
    fn extend_lives<E>(
        &mut self,
        begins: impl Fn(&PlannedEntry) -> bool,
        is_known: bool,
        parts_of: &mut impl FnMut(usize) -> Result<Vec<u64>, E>,
    ) -> Result<(), E> {
        let mut ahead = BinaryHeap::new();
        for (number, one) in (0_u32..).zip(&self.planner.entries) {
            if one.has_parts && begins(one) {
                ahead.push(Reverse((self.extended_expiry(one, is_known), number)));
            }
        }
        while let Some(Reverse((expiry, number))) = ahead.pop() {
            let Ok(at) = usize::try_from(number) else { continue };
            let Some(one) = self.planner.entries.get(at) else { continue };
            if self.extended_expiry(one, is_known) != expiry {
                // The entry was visited earlier, with its final expiry.
                continue;
            }
            let name = one.name;
            let mut reached = Vec::new();
            for part in parts_of(at)?.into_iter().filter(|part| *part != name) {
                self.need(part, expiry, is_known, &mut |number, one| {
                    if one.has_parts {
                        reached.push(number);
                    }
                });
            }
            for number in reached {
                let at = usize::try_from(number).ok();
                if let Some(one) = at.and_then(|at| self.planner.entries.get(at)) {
                    ahead.push(Reverse((self.extended_expiry(one, is_known), number)));
                }
            }
        }
        Ok(())
    }

    /// The expiry of an entry. If `is_known`, only known needs count, otherwise possible needs too.
    fn extended_expiry(&self, one: &PlannedEntry, is_known: bool) -> ExpiryMark {
        if !is_known {
            return self.planner.combined_expiry(one).0.into();
        }
        let own = one.own.expiry();
        own.map_or(one.own, |own| as_long_as(own, one.need).into())
    }

    /// Records the longest expiries of each site.
    fn note_sites(&mut self) {
        for at in 0..self.planner.entries.len() {
            let Some(one) = self.planner.entries.get(at) else { continue };
            let expiry = ExpiryMark::from(self.planner.combined_expiry(one).0);
            let (site, is_part, is_open) = (one.site, one.is_part, one.is_open);
            let planner = &mut self.planner;
            let site = usize::try_from(site).ok().and_then(|at| planner.site_expiries.get_mut(at));
            for sums in [Some(&mut planner.overall), site].into_iter().flatten() {
                if !is_part {
                    sums.youngest = sums.youngest.min(expiry);
                }
                if is_open {
                    sums.open = sums.open.min(expiry);
                }
            }
        }
    }

    /// Makes the plan.
    #[must_use]
    pub fn plan(self) -> Plan {
        let Needs { planner, names } = self;
        drop(names);
        planner.plan()
    }
}

fn first_half(name: u64) -> u32 {
    u32::try_from(name >> 32).unwrap_or_default()
}
