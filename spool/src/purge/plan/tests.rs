//! The rules as a table, and properties of any plan.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

fn ago(time: Duration) -> Timestamp {
    now() - time
}

fn candidate(site: &str, role: EntryRole, age: Duration) -> PurgeCandidate {
    PurgeCandidate {
        name: 0,
        site: site.to_owned(),
        size: 100,
        stored: ago(age),
        used: ago(age),
        limit: EntryLimit::At(days(28)),
        is_pinned: false,
        role,
        is_open: role == EntryRole::Page,
        bodies: Vec::new(),
    }
}

/// A candidate, its number, and the numbers of the entries that need it.
#[derive(Debug, Clone)]
struct Row {
    candidate: PurgeCandidate,
    number: Option<usize>,
    of: Vec<usize>,
}

/// Parses a row such as `page a 30d [limit=7d|never|dont-get|dont-cache] [stored=90d] [size=5]
/// [pinned] [body=1] [#3]` or `part a 30d of=1,2`.
fn parse(text: &str) -> Row {
    let mut words = text.split_whitespace();
    let (kind, site) = (words.next().unwrap(), words.next().unwrap());
    let time = |text: &str| {
        let (number, unit) = text.split_at(text.len() - 1);
        let number: u64 = number.parse().unwrap();
        if unit == "d" { days(number) } else { Duration::from_secs(number * 60) }
    };
    let age = time(words.next().unwrap());
    let role = if kind == "page" { EntryRole::Page } else { EntryRole::Part };
    let (mut one, mut number, mut of) = (candidate(site, role, age), None, Vec::new());
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("limit", "never") => one.limit = EntryLimit::Never,
            ("limit", "dont-get") => one.limit = EntryLimit::Excluded(Exclusion::NeverGot),
            ("limit", "dont-cache") => one.limit = EntryLimit::Excluded(Exclusion::NeverKept),
            ("limit", age) => one.limit = EntryLimit::At(time(age)),
            ("stored", age) => one.stored = ago(time(age)),
            ("size", bytes) => one.size = bytes.parse().unwrap(),
            ("pinned", _) => one.is_pinned = true,
            ("body", name) => {
                one.bodies.push(SharedBody { name: name.parse().unwrap(), size: 1_000 });
            }
            ("of", by) => of = by.split(',').map(|one| one.parse().unwrap()).collect(),
            (word, _) => (number, one.is_open) = (Some(word[1..].parse().unwrap()), false),
        }
    }
    Row { candidate: one, number, of }
}

fn limits(text: &str) -> PurgeLimits {
    let mut limits = PurgeLimits::default();
    for word in text.split_whitespace() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("use-mtime", _) => limits.by_stored = true,
            ("max-size", size) => limits.max_size = Some(size.parse().unwrap()),
            ("min-free", both) => {
                let (least, free) = both.split_once('/').unwrap();
                limits.min_free = Some((least.parse().unwrap(), free.parse().unwrap()));
            }
            (other, _) => panic!("{other}"),
        }
    }
    limits
}

/// Makes a plan with one candidate for each row.
fn plan(rows: &mut [Row], limits: PurgeLimits) -> Plan {
    let mut planner = Planner::new(limits, now());
    for (at, row) in rows.iter_mut().enumerate() {
        row.candidate.name = name(&at.to_string());
        planner.add(&row.candidate);
    }
    let parts_of = |at: usize| -> Vec<u64> {
        let Some(number) = rows[at].number else { return Vec::new() };
        let parts = rows.iter().filter(|row| row.of.contains(&number));
        parts.map(|row| row.candidate.name).collect()
    };
    let mut needs = planner.needs();
    for at in 0..rows.len() {
        let parts = parts_of(at);
        if !parts.is_empty() {
            needs.add(at, parts);
        }
    }
    needs.propagate(|at| Ok::<_, Infallible>(parts_of(at))).unwrap();
    needs.plan()
}

#[test]
fn no_sub_resource_goes_if_a_page_is_unknown() {
    let all = [
        candidate("a", EntryRole::Page, days(90)),
        candidate("a", EntryRole::Part, days(90)),
        candidate("b", EntryRole::Part, days(90)),
    ];
    let mut planner = Planner::new(limits("max-size=0"), now());
    for one in &all {
        planner.add(one);
    }
    planner.keep_parts();
    let plan = planner.plan();
    let stays = Fate::Stays(KeepReason::PerhapsNeeded);
    assert_eq!(all.map(|one| plan.fate(&one)), [Fate::Goes(PurgeReason::Old), stays, stays]);
}

#[test]
fn plan_follows_the_table() {
    let (mut options, mut held, mut wrong) = ("", Vec::new(), Vec::new());
    for (number, row) in (1..).zip(include_str!("plan.txt").lines().chain([""])) {
        if row.starts_with('#') {
            continue;
        }
        if let Some(said) = row.strip_prefix("with ") {
            options = said;
        } else if let Some((given, want)) = row.split_once("->") {
            held.push((number, given, parse(given), want.trim()));
        } else {
            // A blank line ends a group of rows, for which one plan is made.
            let mut all: Vec<Row> = held.iter().map(|(.., one, _)| Row::clone(one)).collect();
            let plan = plan(&mut all, limits(options));
            for ((number, given, _, want), one) in held.drain(..).zip(all) {
                let got = match plan.fate(&one.candidate) {
                    Fate::Goes(why) => format!("goes {why:?}"),
                    Fate::Stays(because) => format!("stays {because:?}"),
                };
                if got != want {
                    wrong.push(format!("plan.txt:{number}: {given}got {got}"));
                }
            }
            options = "";
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_sums_of_a_plan_match_its_fates() {
    let mut all: Vec<_> =
        ["page a 40d size=7", "page a 1d size=5", "part b 40d size=3", "page c 1d pinned"]
            .map(parse)
            .into();
    let plan = plan(&mut all, PurgeLimits::default());
    assert_eq!(plan.removed_sum(), Sum { count: 1, bytes: 7 });
    assert_eq!(plan.remaining_sum(), Sum { count: 3, bytes: 108 });
    assert_eq!((plan.scale(), plan.missing), (1_000, 0));
    let of = |fate| plan.fates.iter().find(|(one, _)| *one == fate).map(|(_, sum)| sum.count);
    assert_eq!(of(Fate::Stays(KeepReason::PerhapsNeeded)), Some(1));
    let tight = super::tests::plan(&mut all, limits("max-size=4"));
    // The pinned entry alone exceeds the limit.
    assert_eq!((tight.remaining_sum().bytes, tight.missing), (103, 99));
}

fn any_limit() -> impl Strategy<Value = EntryLimit> {
    prop_oneof![
        1 => Just(EntryLimit::Never),
        1 => Just(EntryLimit::Excluded(Exclusion::NeverGot)),
        1 => Just(EntryLimit::Excluded(Exclusion::NeverKept)),
        12 => (0_u64..60).prop_map(|count| EntryLimit::At(days(count))),
    ]
}

/// Some rows have numbers, and some are needed by numbered rows. A number may be shared or unused.
fn any_row() -> impl Strategy<Value = Row> {
    let role = prop_oneof![Just(EntryRole::Page), Just(EntryRole::Part)];
    let number = proptest::option::of(0_usize..12);
    let of = proptest::collection::vec(0_usize..16, 0..4);
    let times = (0_u64..80 * 24 * 60, 0_u64..80 * 24 * 60);
    let rest = (any_limit(), 0_u64..1_000, prop::bool::weighted(0.1), 0_usize..4);
    (role, number, of, times, rest).prop_map(|(role, number, of, (stored, used), rest)| {
        let minutes = |count: u64| ago(Duration::from_secs(count * 60));
        let (limit, bytes, is_pinned, place) = rest;
        let sites = ["a.example", "b.example", "c.example", "d.example"];
        let site = sites[place].to_owned();
        let (stored, used, is_open) = (minutes(stored), minutes(used), number.is_none());
        let candidate = PurgeCandidate {
            name: 0,
            site,
            size: bytes,
            stored,
            used,
            limit,
            is_pinned,
            role,
            is_open,
            bodies: Vec::new(),
        };
        Row { candidate, number, of }
    })
}

fn any_limits() -> impl Strategy<Value = PurgeLimits> {
    let max_size = proptest::option::of(0_u64..20_000);
    let min_free = proptest::option::of((0_u64..20_000, 0_u64..20_000));
    (any::<bool>(), max_size, min_free).prop_map(|(by_stored, max_size, min_free)| PurgeLimits {
        by_stored,
        max_size,
        min_free,
    })
}

proptest! {
    #[test]
    fn pinned_entries_stay_and_sub_resources_outlive_their_pages(
        mut all in proptest::collection::vec(any_row(), 0..60),
        limits in any_limits(),
    ) {
        let plan = plan(&mut all, limits);
        let goes = |one: &Row| matches!(plan.fate(&one.candidate), Fate::Goes(_));
        for row in all.iter().filter(|row| goes(row)) {
            let one = &row.candidate;
            prop_assert!(!one.is_pinned && one.limit != EntryLimit::Never);
            if matches!(one.limit, EntryLimit::Excluded(_)) {
                continue;
            }
            let is_its = |other: &&Row| other.number.is_some_and(|number| row.of.contains(&number));
            // A sub-resource that no known page needs does not keep pages.
            let counts = |other: &&Row| {
                one.role == EntryRole::Part || other.candidate.role == EntryRole::Page
            };
            for other in all.iter().filter(is_its).filter(counts) {
                let is_itself = other.candidate.name == one.name;
                prop_assert!(is_itself || goes(other), "{row:?} goes before {other:?}");
            }
            let is_known = all.iter().filter(is_its).any(|other| other.candidate.name != one.name);
            let may_need = |page: &&Row| {
                let page = &page.candidate;
                page.role == EntryRole::Page && page.site == one.site && (page.is_open || !is_known)
            };
            if one.role == EntryRole::Part {
                prop_assert!(all.iter().filter(may_need).all(goes), "{row:?}");
            }
            let since = if limits.by_stored { one.stored } else { one.stored.max(one.used) };
            prop_assert!(now().duration_since(since) >= GRACE.try_into().unwrap());
        }
        // The sums of the plan agree with the fates of the entries.
        let bytes: u64 = all.iter().filter(|one| goes(one)).map(|one| one.candidate.size).sum();
        prop_assert_eq!(plan.removed_sum().bytes, bytes);
        let count = usize::try_from(plan.removed_sum().count + plan.remaining_sum().count);
        prop_assert_eq!(count, Ok(all.len()));
    }

    #[test]
    fn ages_are_scaled_only_as_far_as_necessary(
        mut all in proptest::collection::vec(any_row(), 0..60),
        limits in any_limits(),
    ) {
        let plan = plan(&mut all, limits);
        let total: u64 = all.iter().map(|one| one.candidate.size).sum();
        let above = limits.max_size.map_or(0, |most| total.saturating_sub(most));
        let below = limits.min_free.map_or(0, |(least, free)| least.saturating_sub(free));
        let gone = plan.removed_sum().bytes;
        prop_assert_eq!(plan.missing, above.max(below).saturating_sub(gone));
        let left = plan.fates.iter().any(|(fate, _)| *fate == Fate::Stays(KeepReason::Young));
        prop_assert!(gone >= above || !left, "something could still go");
        let alone = super::tests::plan(&mut all, PurgeLimits { max_size: None, ..limits });
        // If purging every entry does not free enough, no entry is purged to free space.
        prop_assert!(alone.missing == 0 || alone.share == ONE);
        let wanted = if alone.missing == 0 { above.max(below) } else { above };
        if plan.share < ONE {
            // A share that is larger by one would not free enough.
            let less = Plan { share: plan.share + 1, ..plan.clone() };
            let gone: u64 = all
                .iter()
                .filter(|one| matches!(less.fate(&one.candidate), Fate::Goes(_)))
                .map(|one| one.candidate.size)
                .sum();
            prop_assert!(gone < wanted);
        }
    }
}

#[test]
fn entries_stored_after_the_plan_keep_their_sub_resources() {
    let rows = [
        "page a 90d #1",
        "page b 1d #2",
        "part a 90d of=1",
        "part cdn 90d of=1",
        "part a 90d of=1",
    ];
    let mut rows = rows.map(parse);
    let mut plan = plan(&mut rows, PurgeLimits::default());
    let goes = |plan: &Plan, at: usize| matches!(plan.fate(&rows[at].candidate), Fate::Goes(_));
    assert!([0, 2, 3, 4].iter().all(|at| goes(&plan, *at)));
    let mut informed = plan.clone();
    informed.keep_site("a", false);
    informed.keep_entry(rows[3].candidate.name);
    assert!(goes(&informed, 2) && !goes(&informed, 3) && goes(&informed, 4), "all is known of it");
    plan.keep_site("a", true);
    assert!(goes(&plan, 0) && [2, 3, 4].iter().all(|at| !goes(&plan, *at)), "it may need anything");
}
