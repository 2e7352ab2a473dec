//! The steps of a cache hit, each measured separately: `cargo bench --manifest-path
//! benches/serving/Cargo.toml`.
//!
//! In the order of a request: its target is parsed, the entry is opened and read, its head is
//! parsed, the decision is made, and the new head is written. `benches/url` measures the canonical
//! URL alone.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hyper::Request;
use hyper::http::request::Parts;
use tempfile::TempDir;
use wwwoffle::base::mode::Mode;
use wwwoffle::proxy::decide::{CopyState, DecisionInput, MethodKind, OnlineUse, Queueing, decide};
use wwwoffle::proxy::intent::Intent;
use wwwoffle::proxy::rules::StoragePolicy;
use wwwoffle::proxy::site::Door;
use wwwoffle::proxy::status::{CacheStatus, HitReason};
use wwwoffle::proxy::target;
use wwwoffle_bench_serving::{Shape, fill};
use wwwoffle_http::head;
use wwwoffle_spool::{Body, Entry, Options, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The body sizes in bytes: one for a single read, and one that takes several reads.
const SIZES: [usize; 2] = [10_000, 1_000_000];

fn request() -> Parts {
    let request =
        Request::builder().uri("http://site0.test/p/0000000").header("Host", "site0.test");
    request.body(()).unwrap().into_parts().0
}

fn spool(size: usize) -> (TempDir, Spool, Place) {
    let home = TempDir::new().unwrap();
    let shape = Shape { smallest: size, largest: size, hosts: 1, days: 1 };
    fill(home.path(), 1, &shape).unwrap();
    let (spool, _) = Spool::open(home.path(), &Options::default()).unwrap();
    let url = CanonicalUrl::parse("http://site0.test/p/0000000", &LocalHost::default()).unwrap();
    (home, spool, Place::of(&url))
}

/// Opens an entry and reads its body to the end.
fn read(spool: &Spool, place: &Place, buffer: &mut [u8]) -> u64 {
    let entry: Entry = spool.entry(place).unwrap().found().unwrap();
    if let Body::File(file) = entry.body() {
        let mut at = 0;
        while at < file.len() {
            at += u64::try_from(file.read_at(at, buffer).unwrap()).unwrap();
        }
    }
    entry.body_len()
}

fn entries(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open and read an entry");
    for size in SIZES {
        let (_home, spool, place) = spool(size);
        let mut buffer = vec![0; 64 << 10];
        group.throughput(Throughput::Bytes(u64::try_from(size).unwrap()));
        group.bench_function(format!("{size} bytes"), |bencher| {
            bencher.iter(|| read(&spool, &place, &mut buffer));
        });
    }
    group.finish();
}

fn heads(criterion: &mut Criterion) {
    let (parts, local) = (request(), LocalHost::default());
    criterion.bench_function("read a target", |bencher| {
        bencher.iter(|| target::read(black_box(&parts), &local, &Door::Plain).unwrap());
    });
    let (_home, spool, place) = spool(SIZES[0]);
    let entry = spool.entry(&place).unwrap().found().unwrap();
    criterion.bench_function("read a kept head", |bencher| {
        bencher.iter(|| head::read_response(black_box(entry.head())).unwrap());
    });
    let (status, fields) = head::read_response(entry.head()).unwrap();
    criterion.bench_function("write a head", |bencher| {
        bencher.iter(|| head::write_response(black_box(status), black_box(&fields)));
    });
    let why = CacheStatus::Hit(HitReason::Reused { ttl: 86_400, by: None });
    criterion
        .bench_function("write Cache-Status", |bencher| bencher.iter(|| black_box(why).value()));
}

fn decision(criterion: &mut Criterion) {
    let asked = DecisionInput {
        method: MethodKind::Get,
        intent: Intent::Person,
        reload: false,
        only_if_cached: false,
        upgrade: false,
        noise: false,
        event_stream: false,
        standing: StoragePolicy::Usual,
        queueing: Queueing::Usual,
        recursive: false,
        dated: false,
        form_answer: false,
    };
    criterion.bench_function("decide", |bencher| {
        bencher.iter(|| decide(Mode::Online, CopyState::Whole, OnlineUse::Fresh, black_box(asked)));
    });
}

criterion_group!(parts, heads, entries, decision);
criterion_main!(parts);
