//! The cost of the index on a large spool: building it, a page of a list, hosts, search, memory.
//!
//! ```text
//! cargo run --release --manifest-path benches/index/Cargo.toml -- --spool DIR --entries 1000000
//! cargo run --release --manifest-path benches/index/Cargo.toml -- --spool DIR --entries 100000 --words
//! cargo run --release --manifest-path benches/index/Cargo.toml -- --spool DIR --entries 1000000 --parts
//! ```
//!
//! A missing spool is created by the generator of `benches/serving`, with the same pages in every
//! run. With `--words` the words of the pages are indexed and searched as well, by a reader that
//! only removes tags. With `--parts` three of four pages count as sub-resources. Every fourth page
//! of a host needs those among the next eight pages of the host. This gives a purge plan its
//! dependencies.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use wwwoffle_bench_serving::{Shape, fill};
use wwwoffle_index::{
    ContentClass, Describe, Description, Filter, HostSort, Index, Query, Reference, ReindexScope,
    Sort, Viewer,
};
use wwwoffle_spool::purge::plan::{
    EntryLimit, EntryRole, Planner, PurgeCandidate, PurgeLimits, name,
};
use wwwoffle_spool::{Body, Entry, Options, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The number of entries on a page of the API.
const PAGE: usize = 100;

/// The number of references of a page with `--parts`.
const NEEDED: u64 = 8;

/// The time limit for reading the whole index.
const LOOK: Duration = Duration::from_secs(60);

/// The number of consecutive pages measured for each list.
const PAGES: usize = 50;

/// Measures the index of a spool.
#[derive(Parser)]
struct Arguments {
    /// The spool, which no other process may have open; created if missing.
    #[arg(long)]
    spool: PathBuf,
    /// Number of entries in a new spool.
    #[arg(long, default_value_t = 100_000)]
    entries: u64,
    /// Number of hosts in a new spool.
    #[arg(long, default_value_t = 100)]
    hosts: u64,
    /// Index the words of the pages too, and search for them.
    #[arg(long)]
    words: bool,
    /// Add the dependencies between entries, for a purge plan.
    #[arg(long, conflicts_with = "words")]
    parts: bool,
}

/// A reader that extracts the text outside of tags.
#[derive(Debug)]
struct Plain;

impl Describe for Plain {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        let Body::Whole(body) = entry.body() else { return None };
        let html = String::from_utf8_lossy(body);
        let title = html.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        let title = title.map(|(title, _)| title.to_owned());
        let mut text = String::with_capacity(html.len());
        for piece in html.split('<') {
            text.push_str(piece.split_once('>').map_or("", |(_, text)| text));
            text.push(' ');
        }
        Some(Description { title, text, ..Description::default() })
    }
}

/// A reader that reports the next entries of the same host as references of every fourth page, and
/// most of these as sub-resources.
#[derive(Debug)]
struct LinkingReader {
    hosts: u64,
}

/// The number at the end of a URL.
fn number_of(url: &str) -> u64 {
    url.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or_default()
}

fn is_part(number: u64, hosts: u64) -> bool {
    !(number / hosts).is_multiple_of(4)
}

impl Describe for LinkingReader {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        let number = number_of(entry.url());
        let mut told = Description::default();
        if is_part(number, self.hosts) {
            return Some(told);
        }
        for next in 1..=NEEDED {
            let next = number + next * self.hosts;
            let url = format!("http://site{}.test/p/{next:07}", next % self.hosts);
            let url = CanonicalUrl::parse(&url, &LocalHost::default()).expect("it is canonical");
            let is_part = is_part(next, self.hosts);
            told.references.push(Reference { key: url.key(), is_part, is_spare: false });
        }
        Some(told)
    }
}

fn main() {
    let Arguments { spool: root, entries, hosts, words, parts } = Arguments::parse();
    if !root.exists() {
        let begun = Instant::now();
        let shape = Shape { smallest: 2_000, largest: 2_000, hosts, days: 365 };
        fill(&root, entries, &shape).expect("the spool can be filled");
        println!("filled with {entries} entries in {:.0?}", begun.elapsed());
    }
    let (spool, _) = Spool::open(&root, &Options::default()).expect("the spool can be opened");
    let describe: Option<Arc<dyn Describe>> = match (words, parts) {
        (true, _) => Some(Arc::new(Plain)),
        (_, true) => Some(Arc::new(LinkingReader { hosts })),
        _ => None,
    };
    let begun = Instant::now();
    let index = Index::open(&spool, describe).expect("the index can be opened");
    index.wait_until_current(false).expect("it settles");
    println!("| opened and walked | {:.1?} |", begun.elapsed());
    let begun = Instant::now();
    index.reindex(ReindexScope::All).expect("it can be made");
    let took = begun.elapsed();
    println!("| rebuilt | {took:.1?}, {:.0} entries/s |", per_second(entries, took));
    let begun = Instant::now();
    index.reindex(ReindexScope::Changed).expect("it can be walked");
    println!("| checked for changes | {:.1?} |", begun.elapsed());
    if words {
        index.wait_until_current(true).expect("all is read");
        let took = begun.elapsed();
        println!("| words read | {took:.1?}, {:.0} pages/s |", per_second(entries, took));
    }
    if parts {
        index.wait_until_current(true).expect("all is read");
        println!("| sub-resources read | {:.1?} |", begun.elapsed());
    }
    let before = resident();
    purge_plan(&index, hosts);
    println!("| peak memory so far; resident before | {}; {before} |", memory());
    lists(&index);
    hosts_and_sites(&index);
    if words {
        search(&index);
    }
    println!("| peak memory | {} |", memory());
    index.stop();
    let size = std::fs::metadata(root.join("index.sqlite")).expect("it is there").len();
    println!("| size of the index | {} MB |", size / 1_000_000);
}

#[allow(clippy::cast_precision_loss, reason = "told to a few digits")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Prints the median, the 95th percentile and the maximum.
fn told(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let last = times[times.len() - 1];
    println!("| {what} | median {:.1?}, p95 {:.1?}, longest {last:.1?} |", at(50), at(95));
}

fn lists(index: &Index) {
    let none = Filter::default;
    let day = |text: &str| text.parse::<Timestamp>().ok();
    let filters = [
        ("", none()),
        (", of a host", Filter { host: Some("site7.test".into()), ..none() }),
        (", status 4xx", Filter { status: Some(400..=499), ..none() }),
        (", images", Filter { class: Some(ContentClass::Image), ..none() }),
        (", of everyone", Filter { owner: Some(String::new()), pages_only: true, ..none() }),
        (", a text in one of 10,000", Filter { text: Some("/p/0007".into()), ..none() }),
        (", since last year", Filter { since: day("2025-12-31T00:00:00Z"), ..none() }),
        (", of somebody", Filter { viewer: Viewer::Person("user:ada".into()), ..none() }),
    ];
    for (what, filter) in filters {
        let mut times = Vec::new();
        for sort in Sort::ALL {
            let mut after = None;
            for _ in 0..PAGES {
                let begun = Instant::now();
                let page = index.list(&filter, sort, after.as_ref(), PAGE, &|_| true);
                times.push(begun.elapsed());
                after = page.expect("a page").next;
                if after.is_none() {
                    break;
                }
            }
        }
        told(&format!("a page of {PAGE}, in all {} orders{what}", Sort::ALL.len()), times);
    }
}

fn hosts_and_sites(index: &Index) {
    let (mut hosts, mut sites) = (Vec::new(), Vec::new());
    for _ in 0..PAGES {
        for sort in [HostSort::Name, HostSort::Domain] {
            let begun = Instant::now();
            index.hosts(&Viewer::Operator, None, sort, None, PAGE).expect("hosts");
            hosts.push(begun.elapsed());
        }
        let begun = Instant::now();
        index.sites(&Viewer::Operator, None, PAGE).expect("sites");
        sites.push(begun.elapsed());
    }
    told("a page of hosts", hosts);
    told("a page of sites", sites);
}

/// Words of the generator, from words in every page to rare ones.
const QUERIES: [&str; 16] = [
    "ba",
    "ne",
    "pi el",
    "tra",
    "ba ne pi",
    "\"ba ne\"",
    "ba OR ne",
    "ba -ne",
    "nene",
    "pine",
    "zonpi",
    "metne",
    "lo*",
    "sto*",
    "quadrofy",
    "0004711",
];

fn search(index: &Index) {
    let viewers = [Viewer::Operator, Viewer::Person("user:ada".into())];
    let mut times = Vec::new();
    for query in QUERIES {
        let mut these = Vec::new();
        let mut partial = false;
        for viewer in &viewers {
            for _ in 0..5 {
                let filter = Filter { viewer: viewer.clone(), ..Filter::default() };
                let begun = Instant::now();
                let hits = index.search(&Query::parse(query), &filter, None, 10, &|_| true);
                these.push(begun.elapsed());
                partial |= hits.expect("an answer").is_partial;
            }
        }
        let part = if partial { ", a part ranked" } else { "" };
        told(&format!("search for `{query}`{part}"), these.clone());
        times.extend(these);
    }
    told("search, all of these", times);
}

/// Makes a purge plan from the index, like a daemon. The age limit is the same for all entries, so
/// no rules are evaluated.
fn purge_plan(index: &Index, hosts: u64) {
    let now: Timestamp = "2026-11-02T00:00:00Z".parse().expect("a time");
    let begun = Instant::now();
    assert!(index.catch_up(LOOK), "the index knows all");
    let caught_up = begun.elapsed();
    let plan = index.with_snapshot(LOOK, |moment| {
        let limits = PurgeLimits { max_size: Some(1 << 30), ..PurgeLimits::default() };
        let (mut planner, mut numbers) = (Planner::new(limits, now), Vec::new());
        moment.candidates(&mut |one| {
            let url =
                CanonicalUrl::parse(&one.url, &LocalHost::default()).expect("it is canonical");
            let role =
                if is_part(number_of(&one.url), hosts) { EntryRole::Part } else { EntryRole::Page };
            planner.add(&PurgeCandidate {
                bodies: Vec::new(),
                name: name(&one.url),
                site: url.host().to_owned(),
                size: one.size,
                // All entries were stored just now, so their ages count from the date of the
                // response.
                stored: one.checked,
                used: one.checked,
                limit: EntryLimit::At(Duration::from_secs(200 * 86_400)),
                is_pinned: false,
                role,
                is_open: !one.is_told,
            });
            numbers.push(one.number);
            ControlFlow::Continue(())
        })?;
        let (mut needs, mut at) = (planner.needs(), 0);
        moment.parts(&mut |number, parts| {
            while numbers[at] < number {
                at += 1;
            }
            needs.add(at, parts);
            ControlFlow::Continue(())
        })?;
        needs.propagate(|entry| moment.parts_of(numbers[entry]))?;
        Ok(needs.plan())
    });
    let (plan, took) = (plan.expect("a plan"), begun.elapsed());
    let (goes, stays) = (plan.removed_sum().count, plan.remaining_sum().count);
    println!(
        "| purge plan: {goes} go, {stays} stay | {took:.1?}, {caught_up:.1?} of it to see that the index knows all |"
    );
}

fn memory() -> String {
    told_of_us("VmHWM:")
}

fn resident() -> String {
    told_of_us("VmRSS:")
}

fn told_of_us(what: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    line.unwrap_or("unknown").trim().to_owned()
}
