//! The cost of 50,000 specifications in `[dont-get]` per request: `taskset -c 1 cargo bench
//! --manifest-path benches/rules/Cargo.toml`.
//!
//! Four lists: specifications of hosts, of all kinds as in blocklists, of paths on any host, and of
//! paths on any host that all contain `/ads/`. Each is measured with pages that match and pages
//! that do not. The time includes everything that a request needs: splitting the URL, and the
//! decision.

use criterion::{Criterion, criterion_group, criterion_main};
use std::{hint::black_box, path::Path};
use wwwoffle_config::{BlockList, Config, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

const SPECS: usize = 50_000;

/// Pages that match no list.
const MISSES: &[&str] = &[
    "http://www.example.org/",
    "https://en.wikipedia.org/wiki/Offline_reader?action=history&limit=50",
    "https://static.example.com/assets/js/vendor.3f9d2c1b.min.js",
    "https://news.example.net/2026/11/20/politics/a-rather-long-title-of-an-article-that-goes-on/",
    "https://images.cdn.example.com/t/fit-in/1200x630/photos/2026/11/ab/cd/ef0123456789.jpg?quality=80",
];

/// A text derived from `number`, like the middle of a name.
fn name(number: usize) -> String {
    const SYLLABLES: &[&str] = &[
        "ban", "ner", "pix", "el", "tra", "ck", "zon", "met", "rik", "sto", "log", "vue", "qua",
        "dro", "fy", "mob",
    ];
    let mut number = number.wrapping_mul(2_654_435_761) % 1_048_576;
    let mut text = String::new();
    for _ in 0..5 {
        text += SYLLABLES[number % SYLLABLES.len()];
        number /= SYLLABLES.len();
    }
    text
}

fn of_host(number: usize) -> String {
    match number % 3 {
        0 => format!("*://{}.example/*", name(number)),
        1 => format!("*://*.{}.test/*", name(number)),
        _ => format!("*://{}.test/{}/*", name(number), number % 7),
    }
}

fn of_path(number: usize) -> String {
    match number % 4 {
        0 => format!("*://*/*/{}/*", name(number)),
        1 => format!("*://*/*{}*.gif", name(number)),
        2 => format!("~*://*/*/{}.js", name(number)),
        _ => format!("*://*/*?*{}=*", name(number)),
    }
}

fn of_ads(number: usize) -> String {
    format!("*://*/*/ads/{}*", name(number))
}

fn mixed(number: usize) -> String {
    if number % 3 == 0 { of_path(number) } else { of_host(number) }
}

fn list(spec: fn(usize) -> String) -> BlockList {
    let specs: Vec<String> = (0..SPECS).map(|number| format!("{:?},", spec(number))).collect();
    let text = format!("[dont-get]\nurls = [{}]", specs.concat());
    Config::parse(&text, Path::new("bench.conf")).expect("a list").dont_get.urls
}

/// A URL that a specification matches.
fn hit(spec: &str) -> String {
    let spec = spec.trim_start_matches('~').replace("*://*/", "http://www.example.org/");
    spec.replace("*://", "http://").replace("*.", "www.").replace('*', "x")
}

fn ask(criterion: &mut Criterion, name: &str, set: &BlockList, urls: &[String], hits: bool) {
    let urls: Vec<_> = urls
        .iter()
        .map(|url| CanonicalUrl::parse(url, &LocalHost::default()).expect("a URL"))
        .collect();
    for url in &urls {
        assert_eq!(set.matches(url).is_some(), hits, "{name}: {url}");
    }
    let mut next = urls.iter().cycle();
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            let url = next.next().expect("a cycle has no end");
            set.matches_parts(&UrlParts::of(black_box(url))).is_some()
        });
    });
}

fn lists(criterion: &mut Criterion) {
    let misses: Vec<String> = MISSES.iter().map(|url| (*url).to_owned()).collect();
    let kinds: [(&str, fn(usize) -> String); 4] =
        [("hosts", of_host), ("mixed", mixed), ("paths", of_path), ("ads", of_ads)];
    for (name, spec) in kinds {
        let set = list(spec);
        let hits: Vec<String> = (0..5).map(|number| hit(&spec(4_711 + 9_973 * number))).collect();
        ask(criterion, &format!("{name}/hit"), &set, &hits, true);
        ask(criterion, &format!("{name}/miss"), &set, &misses, false);
    }
}

criterion_group!(benches, lists);
criterion_main!(benches);
