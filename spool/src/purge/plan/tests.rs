//! The rules as a table, and what holds whatever is kept.

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

fn candidate(site: &str, role: Role, age: Duration) -> Candidate {
    Candidate {
        site: site.to_owned(),
        size: 100,
        stored: ago(age),
        used: ago(age),
        limit: Limit::At(days(28)),
        is_pinned: false,
        role,
        bodies: Vec::new(),
    }
}

/// `page a 30d [limit=7d|never|dont-get|dont-cache] [stored=90d] [size=5] [pinned] [#3]`, `part a 30d of=1,2`.
fn parse(text: &str) -> Candidate {
    let mut words = text.split_whitespace();
    let (kind, site) = (words.next().unwrap(), words.next().unwrap());
    let time = |text: &str| {
        let (number, unit) = text.split_at(text.len() - 1);
        let number: u64 = number.parse().unwrap();
        if unit == "d" { days(number) } else { Duration::from_secs(number * 60) }
    };
    let age = time(words.next().unwrap());
    let role = if kind == "page" { Role::Page(None) } else { Role::Part };
    let mut one = candidate(site, role, age);
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("limit", "never") => one.limit = Limit::Never,
            ("limit", "dont-get") => one.limit = Limit::Excluded(Excluded::NeverGot),
            ("limit", "dont-cache") => one.limit = Limit::Excluded(Excluded::NeverKept),
            ("limit", age) => one.limit = Limit::At(time(age)),
            ("stored", age) => one.stored = ago(time(age)),
            ("size", bytes) => one.size = bytes.parse().unwrap(),
            ("pinned", _) => one.is_pinned = true,
            ("body", name) => {
                one.bodies.push(Held { name: name.parse().unwrap(), size: 1_000 });
            }
            ("of", pages) => {
                let pages = pages.split(',').filter(|page| !page.is_empty());
                one.role = Role::PartOf(pages.map(|page| page.parse().unwrap()).collect());
            }
            (number, _) => one.role = Role::Page(Some(number[1..].parse().unwrap())),
        }
    }
    one
}

fn limits(text: &str) -> Limits {
    let mut limits = Limits::default();
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

fn plan(candidates: &[Candidate], limits: Limits) -> Plan {
    let mut planner = Planner::new(limits, now());
    for one in candidates {
        planner.add(one);
    }
    planner.plan()
}

#[test]
fn the_table_holds() {
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
            // A blank line ends what is kept.
            let all: Vec<_> = held.iter().map(|(.., one, _)| one.clone()).collect();
            let plan = plan(&all, limits(options));
            for (number, given, one, want) in held.drain(..) {
                let got = match plan.fate(&one) {
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
fn sums_tell_what_the_fates_are() {
    let all: Vec<_> =
        ["page a 40d size=7", "page a 1d size=5", "part b 40d size=3", "page c 1d pinned"]
            .map(parse)
            .into();
    let plan = plan(&all, Limits::default());
    assert_eq!(plan.going(), Sum { count: 1, bytes: 7 });
    assert_eq!(plan.staying(), Sum { count: 3, bytes: 108 });
    assert_eq!((plan.scale(), plan.missing), (1_000, 0));
    let of = |fate| plan.fates.iter().find(|(one, _)| *one == fate).map(|(_, sum)| sum.count);
    assert_eq!(of(Fate::Stays(Because::PerhapsNeeded)), Some(1));
    let tight = super::tests::plan(&all, limits("max-size=4"));
    // The pinned one alone is more than may be kept.
    assert_eq!((tight.staying().bytes, tight.missing), (103, 99));
}

fn any_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        1 => Just(Limit::Never),
        1 => Just(Limit::Excluded(Excluded::NeverGot)),
        1 => Just(Limit::Excluded(Excluded::NeverKept)),
        12 => (0_u64..60).prop_map(|count| Limit::At(days(count))),
    ]
}

/// Pages have numbers from 0 on; parts name some of them, or none.
fn any_candidate() -> impl Strategy<Value = Candidate> {
    let role = prop_oneof![
        3 => (0_u64..12).prop_map(|number| Role::Page(Some(number))),
        1 => Just(Role::Page(None)),
        3 => proptest::collection::vec(0_u64..16, 0..4).prop_map(Role::PartOf),
        2 => Just(Role::Part),
    ];
    let times = (0_u64..80 * 24 * 60, 0_u64..80 * 24 * 60);
    let rest = (any_limit(), 0_u64..1_000, prop::bool::weighted(0.1), 0_usize..4);
    (role, times, rest).prop_map(|(role, (stored, used), (limit, size, is_pinned, site))| {
        let minutes = |count: u64| ago(Duration::from_secs(count * 60));
        let site = ["a.example", "b.example", "c.example", "d.example"][site].to_owned();
        let (stored, used) = (minutes(stored), minutes(used));
        let bodies = Vec::new();
        Candidate { site, size, stored, used, limit, is_pinned, role, bodies }
    })
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let max_size = proptest::option::of(0_u64..20_000);
    let min_free = proptest::option::of((0_u64..20_000, 0_u64..20_000));
    (any::<bool>(), max_size, min_free).prop_map(|(by_stored, max_size, min_free)| Limits {
        by_stored,
        max_size,
        min_free,
    })
}

proptest! {
    #[test]
    fn what_is_pinned_stays_and_parts_outlive_their_pages(
        all in proptest::collection::vec(any_candidate(), 0..60),
        limits in any_limits(),
    ) {
        let plan = plan(&all, limits);
        let goes = |one: &Candidate| matches!(plan.fate(one), Fate::Goes(_));
        let is_excluded = |one: &Candidate| matches!(one.limit, Limit::Excluded(_)) && !one.is_pinned;
        for one in all.iter().filter(|one| goes(one)) {
            prop_assert!(!one.is_pinned && one.limit != Limit::Never);
            if is_excluded(one) {
                continue;
            }
            let page_stays = |is_such: &dyn Fn(&Candidate) -> bool| {
                all.iter().any(|page| matches!(page.role, Role::Page(_)) && is_such(page) && !goes(page))
            };
            match &one.role {
                Role::PartOf(pages) => {
                    let is_its = |page: &Candidate| {
                        matches!(page.role, Role::Page(Some(number)) if pages.contains(&number))
                    };
                    prop_assert!(!page_stays(&is_its), "{one:?} goes before a page of its own");
                }
                Role::Part => {
                    prop_assert!(!page_stays(&|page| page.site == one.site), "{one:?}");
                }
                Role::Page(_) => {}
            }
            let since = if limits.by_stored { one.stored } else { one.stored.max(one.used) };
            prop_assert!(now().duration_since(since) >= GRACE.try_into().unwrap());
        }
        // The sums are those of the fates.
        let bytes: u64 = all.iter().filter(|one| goes(one)).map(|one| one.size).sum();
        prop_assert_eq!(plan.going().bytes, bytes);
        let count = usize::try_from(plan.going().count + plan.staying().count);
        prop_assert_eq!(count, Ok(all.len()));
    }

    #[test]
    fn ages_are_scaled_no_further_than_it_takes(
        all in proptest::collection::vec(any_candidate(), 0..60),
        limits in any_limits(),
    ) {
        let plan = plan(&all, limits);
        let total: u64 = all.iter().map(|one| one.size).sum();
        let above = limits.max_size.map_or(0, |most| total.saturating_sub(most));
        let below = limits.min_free.map_or(0, |(least, free)| least.saturating_sub(free));
        let gone = plan.going().bytes;
        prop_assert_eq!(plan.missing, above.max(below).saturating_sub(gone));
        let left = plan.fates.iter().any(|(fate, _)| *fate == Fate::Stays(Because::Young));
        prop_assert!(gone >= above || !left, "something could still go");
        let alone = super::tests::plan(&all, Limits { max_size: None, ..limits });
        // What is not enough in any case is not begun with.
        prop_assert!(alone.missing == 0 || alone.share == ONE);
        let wanted = if alone.missing == 0 { above.max(below) } else { above };
        if plan.share < ONE {
            // One step less, and it is not enough.
            let less = Plan { share: plan.share + 1, ..plan.clone() };
            let gone: u64 = all
                .iter()
                .filter(|one| matches!(less.fate(one), Fate::Goes(_)))
                .map(|one| one.size)
                .sum();
            prop_assert!(gone < wanted);
        }
    }
}
