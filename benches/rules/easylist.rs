//! The cost of a rule list in EasyList format: `cargo bench --manifest-path
//! benches/rules/Cargo.toml --bench easylist`.
//!
//! The list is generated: 70,000 lines with the usual mix of hosts (most of them), paths, element
//! hiding, exceptions, rules for some sites or kinds, and a few regular expressions. Lines before
//! the table give the load time, the memory, and the time of one decision with one, two and four
//! threads.

use criterion::{Criterion, criterion_group, criterion_main};
use std::{fmt::Write, fs, hint::black_box, thread, time::Instant};
use wwwoffle_config::{BlockQuery, Config, PageRelation, RequestPurpose, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

const LINES: usize = 70_000;

/// The number of requests per thread in the test with several threads.
const REQUESTS: usize = 100_000;

/// Requests that no rule blocks.
const MISSES: &[(&str, RequestPurpose)] = &[
    ("https://www.example.org/", RequestPurpose::Page),
    ("https://static.example.com/assets/js/vendor.3f9d2c1b.min.js", RequestPurpose::Script),
    (
        "https://news.example.net/2026/11/20/politics/a-rather-long-title-of-an-article-that-goes-on/",
        RequestPurpose::Page,
    ),
    (
        "https://images.cdn.example.com/t/fit-in/1200x630/photos/2026/ab/ef0123456789.jpg?quality=80",
        RequestPurpose::Image,
    ),
    (
        "https://api.example.com/v2/items?offset=40&limit=20&sort=date&fields=id,title,date",
        RequestPurpose::Data,
    ),
];

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

/// The line with this number. The last two digits determine its kind.
fn line(number: usize) -> String {
    let name = name(number);
    match number % 100 {
        0 => format!("! {name}"),
        1..=34 => format!("||{name}.test^"),
        35..=54 => format!("||{name}.test^$third-party"),
        55..=74 => format!("site{}.test##.{name}", number % 977),
        75..=79 => format!("/{name}/ads/*"),
        80..=83 => format!("-{name}-ad."),
        84..=86 => format!("||cdn.test/{name}/*$script,domain=a{}.test|b.test", number % 89),
        87..=90 => format!("@@||{name}.test/{}^$script,image", number % 7),
        91..=94 => format!("/{name}.js$script,third-party"),
        95..=96 => format!("||{name}.test/*/banner^$image,script"),
        97..=98 => format!("_{name}_*.gif$image"),
        _ if number % 300 == 99 => format!("/{name}[0-9]{{2,4}}\\.(gif|png)/$image"),
        _ => format!("&{name}="),
    }
}

fn list() -> String {
    let mut text = "[Adblock Plus 2.0]\n! Title: made for a measurement\n".to_owned();
    for number in 0..LINES {
        writeln!(text, "{}", line(number)).expect("text takes text");
    }
    text
}

/// The resident memory of the process, in MiB.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |line: &str| line.split_whitespace().nth(1)?.parse::<f64>().ok();
    status.lines().find(|line| line.starts_with("VmRSS")).and_then(of).unwrap_or(0.0) / 1_024.0
}

fn load() -> Config {
    let dir = std::env::temp_dir().join(format!("wwwoffle-bench-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a directory");
    fs::write(dir.join("easy.txt"), list()).expect("a list");
    fs::write(dir.join("w.conf"), "[dont-get]\nurls = [{ easylist = \"easy.txt\" }]")
        .expect("a file");
    let (before, start) = (resident(), Instant::now());
    let config = Config::load(&dir.join("w.conf")).expect("no fault");
    let took = start.elapsed();
    println!(
        "{} lines, {} bytes: loaded in {took:?}, {:.1} MiB more",
        LINES,
        list().len(),
        resident() - before
    );
    config.dont_get.urls.notes().for_each(|note| println!("{note}"));
    fs::remove_dir_all(&dir).expect("it was made here");
    config
}

fn hits() -> Vec<(String, RequestPurpose)> {
    let host = |number: usize| {
        (format!("https://www.{}.test/a/b.js", name(number)), RequestPurpose::Script)
    };
    vec![
        host(4_701),
        host(33_340),
        (format!("https://www.example.org/{}/ads/x.gif", name(20_076)), RequestPurpose::Image),
        (format!("https://www.example.org/x-{}-ad.gif", name(50_081)), RequestPurpose::Image),
        (format!("https://www.example.org/a?x=1&{}=2", name(60_199)), RequestPurpose::Data),
    ]
}

fn ask(
    config: &Config,
    urls: &[(CanonicalUrl, RequestPurpose)],
    page: &CanonicalUrl,
    number: usize,
) -> bool {
    let (url, purpose) = &urls[number % urls.len()];
    let parts = UrlParts::of(black_box(url));
    let asked = BlockQuery {
        page: Some(page),
        site: Some(PageRelation::Cross),
        purpose: *purpose,
        ..BlockQuery::of(&parts)
    };
    config.dont_get.urls.blocks(&asked).is_some()
}

fn easylist(criterion: &mut Criterion) {
    let config = load();
    let parse = |url: &str| CanonicalUrl::parse(url, &LocalHost::default()).expect("a URL");
    let page = parse("https://www.page.test/");
    let misses: Vec<_> = MISSES.iter().map(|(url, purpose)| (parse(url), *purpose)).collect();
    let hits: Vec<_> = hits().iter().map(|(url, purpose)| (parse(url), *purpose)).collect();
    for (name, urls, want) in [("easylist/hit", &hits, true), ("easylist/miss", &misses, false)] {
        for number in 0..urls.len() {
            assert_eq!(ask(&config, urls, &page, number), want, "{:?}", urls[number]);
        }
        let mut next = 0;
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                next += 1;
                ask(&config, urls, &page, next)
            });
        });
    }
    for threads in [1, 2, 4] {
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    (0..REQUESTS).filter(|number| ask(&config, &misses, &page, *number)).count()
                });
            }
        });
        let each = start.elapsed() / u32::try_from(REQUESTS).expect("a small number") / threads;
        println!("{threads} threads at once: a request each {each:?}");
    }
}

criterion_group!(benches, easylist);
criterion_main!(benches);
