//! Parsing and key of 10,000 real URLs, compared with ada-url's parsing and the SHA-256 of its
//! result.
//!
//! The URLs come from the documents of installed software: at most 60 of one host, and all that
//! have arguments or escapes. URLs that either side fails to parse are left out for both.
//!
//! `cargo bench --manifest-path benches/url/Cargo.toml`. One iteration is the whole list.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sha2::{Digest, Sha256};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// One URL per line.
const LIST: &str = include_str!("real.txt");

fn canonical(criterion: &mut Criterion) {
    let local = LocalHost::default();
    let both = |url: &&str| {
        CanonicalUrl::parse(url, &local).is_ok() && ada_url::Url::parse(*url, None).is_ok()
    };
    let list: Vec<&str> = LIST.lines().filter(both).collect();
    let count = list.len();
    let bytes: usize = list.iter().map(|url| url.len()).sum();
    println!("{count} URLs, {} bytes on average", bytes / count);

    let mut group = criterion.benchmark_group("parse and key");
    group.throughput(Throughput::Elements(count.try_into().unwrap_or(u64::MAX)));
    group.bench_function("wwwoffle-url", |bencher| {
        bencher.iter(|| {
            for url in &list {
                let url = CanonicalUrl::parse(black_box(url), &local).expect("it did above");
                black_box(url.key());
            }
        });
    });
    group.bench_function("ada-url and sha2", |bencher| {
        bencher.iter(|| {
            for url in &list {
                let url = ada_url::Url::parse(black_box(url), None).expect("it did above");
                black_box(Sha256::digest(url.href()));
            }
        });
    });
    group.bench_function("wwwoffle-url, parse alone", |bencher| {
        bencher.iter(|| {
            for url in &list {
                black_box(CanonicalUrl::parse(black_box(url), &local).expect("it did above"));
            }
        });
    });
    group.bench_function("ada-url, parse alone", |bencher| {
        bencher.iter(|| {
            for url in &list {
                black_box(ada_url::Url::parse(black_box(url), None).expect("it did above"));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, canonical);
criterion_main!(benches);
