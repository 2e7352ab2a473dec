//! The steps of a stored miss, each measured separately: `cargo bench --manifest-path
//! benches/serving/Cargo.toml --bench miss`.
//!
//! In the order of a request: the lookup finds nothing, the entry is begun, its body is written, it
//! is finished, and the index reads it. `finish` includes its part of the syncs, because the call
//! that fills a batch writes the batch.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;
use wwwoffle::storage::lists::describe::Pages;
use wwwoffle_bench_serving::{Page, Shape, fill};
use wwwoffle_index::{Describe, Index};
use wwwoffle_spool::{Options, Spool, Writer};
use wwwoffle_url::LocalHost;

/// Pages of 10 kB on one host.
const SHAPE: Shape = Shape { smallest: 10_000, largest: 10_000, hosts: 1, days: 1 };

/// The number of pages that are stored before, so that the directories exist.
const STORED: u64 = 2_000;

/// The number of writers that are open at once. Each has its file open.
const AT_ONCE: BatchSize = BatchSize::NumIterations(64);

/// The number of pages that the index reads at a time.
const INDEXED: u64 = 100;

/// A spool, and pages that it does not have yet.
struct Stand {
    spool: Spool,
    next: u64,
    _home: TempDir,
}

impl Stand {
    fn new() -> Stand {
        let home = TempDir::new().unwrap();
        fill(home.path(), STORED, &SHAPE).unwrap();
        let (spool, _) = Spool::open(home.path(), &Options::default()).unwrap();
        Stand { spool, next: STORED, _home: home }
    }

    /// The next page.
    fn page(&mut self) -> Page {
        self.next += 1;
        SHAPE.page(self.next)
    }

    /// An entry with the body of the next page, not finished.
    fn written(&mut self) -> Writer {
        let page = self.page();
        let mut writer = self.spool.begin(&page.place(), page.entry()).unwrap();
        writer.write(page.body.as_bytes()).unwrap();
        writer
    }

    /// Stores some pages. Returns the time until the index has them and their words.
    fn index_some(&mut self, index: &Index) -> Duration {
        for _ in 0..INDEXED {
            self.written().finish(None).unwrap();
        }
        self.spool.flush().unwrap();
        let begun = Instant::now();
        index.wait_until_current(true).unwrap();
        begun.elapsed()
    }
}

fn steps(criterion: &mut Criterion) {
    let mut stand = Stand::new();
    let spool = stand.spool.clone();
    let mut group = criterion.benchmark_group("store a page of 10 kB");
    group.bench_function("look up", |bencher| {
        let place = || stand.page().place();
        bencher.iter_batched(place, |place| spool.entries_seen(&place).unwrap(), AT_ONCE);
    });
    group.bench_function("begin", |bencher| {
        let new = || {
            let page = stand.page();
            (page.place(), page.entry())
        };
        bencher.iter_batched(new, |(place, new)| spool.begin(&place, new).unwrap(), AT_ONCE);
    });
    group.bench_function("write", |bencher| {
        let begun = || {
            let page = stand.page();
            (spool.begin(&page.place(), page.entry()).unwrap(), page)
        };
        let write = |(mut writer, page): (Writer, Page)| {
            writer.write(page.body.as_bytes()).unwrap();
            (writer, page)
        };
        bencher.iter_batched(begun, write, AT_ONCE);
    });
    group.bench_function("finish", |bencher| {
        bencher.iter_batched(|| stand.written(), |writer| writer.finish(None).unwrap(), AT_ONCE);
    });
    group.finish();
}

fn index(criterion: &mut Criterion) {
    let mut stand = Stand::new();
    let pages = Pages { local: LocalHost::default(), documents: Default::default() };
    let reader: Arc<dyn Describe> = Arc::new(pages);
    let index = Index::open(&stand.spool, Some(reader)).unwrap();
    index.wait_until_current(true).unwrap();
    let mut group = criterion.benchmark_group("index");
    group.sample_size(10).throughput(Throughput::Elements(INDEXED));
    group.bench_function(format!("{INDEXED} pages of 10 kB"), |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| stand.index_some(&index)).sum());
    });
    group.finish();
    index.stop();
}

criterion_group!(parts, steps, index);
criterion_main!(parts);
