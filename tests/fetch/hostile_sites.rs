//! Sites that try to make a recursive fetch endless or harmful. Each fetch is limited, and its
//! report says so.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::harness::{After, Answer, Daemon, Exchange, Origin, heavy};

/// One attempt per request, so that a failure is reported at once.
const IMPATIENT: &str = "[fetch-options]\nattempts = 1\n";

/// Fetches `url` and the pages up to `depth` links away. Returns the report and the exit status.
fn get(daemon: &Daemon, depth: &str, url: &str) -> (Value, i32) {
    let ran = daemon.run(&["get", "-r", depth, url]);
    let list = daemon.run(&["runs", "--json"]).json();
    let run = &list["runs"][0];
    assert!(run["ended"].is_string(), "{ran:?} {list}");
    assert!(daemon.queue().iter().all(|item| item["state"] != "waiting"), "{:?}", daemon.queue());
    (run["report"].clone(), ran.status)
}

fn reasons(report: &Value) -> Vec<&str> {
    let failed = report["failed"].as_array().unwrap();
    failed.iter().map(|failed| failed["reason"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "slow"]
fn endless_redirects_are_given_up() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/chain/0>c</a><img src=/chain/100>"));
    origin.on("*", |exchange| {
        let number = exchange.seen.target.strip_prefix("/chain/").and_then(|n| n.parse().ok());
        let next = number.unwrap_or(0_usize) + 1;
        exchange.answer(&Answer::redirect(302, &format!("/chain/{next}")))
    });
    let (report, status) = get(&daemon, "1", &origin.url("/"));
    assert_eq!(status, 1, "{report}");
    assert_eq!(reasons(&report), ["more than 20 redirects in a row"; 2], "{report}");
    let asked = origin.seen().iter().filter(|seen| seen.target.starts_with("/chain/")).count();
    assert_eq!(asked, 2 * 21);
}

#[test]
#[ignore = "slow"]
fn circular_links_and_redirects_are_fetched_once() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let refresh =
        |to: &str| Answer::html(format!("<meta http-equiv=refresh content='0;url={to}'>"));
    origin.say("/", Answer::html("<a href=/me>m</a><a href=/page-1>p</a><a href=/to-1>r</a>"));
    origin.say("/me", Answer::redirect(301, "/me"));
    origin.say("/page-1", refresh("/page-2"));
    origin.say("/page-2", Answer::html("x").field("Refresh", "0; URL='/page-3'"));
    origin.say("/page-3", refresh("/page-1"));
    origin.say("/to-1", Answer::redirect(302, "/to-2"));
    origin.say("/to-2", Answer::redirect(307, "/to-1"));
    let (report, status) = get(&daemon, "9", &origin.url("/"));
    assert_eq!((status, report["counts"]["failed"].as_u64()), (0, Some(0)), "{report}");
    for path in ["/me", "/page-1", "/page-2", "/page-3", "/to-1", "/to-2"] {
        assert_eq!(origin.count(path), 1, "{path}");
    }
}

#[test]
#[ignore = "slow"]
fn very_long_urls_do_not_block_a_fetch() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let long = "x".repeat(1 << 20);
    let (shorter, short, link) = ("y".repeat(100 << 10), "z".repeat(40 << 10), "l".repeat(3_000));
    origin.say(
        "/",
        Answer::html(format!(
            "<a href=/{long}>l</a><img src=/{long}><img src=/{shorter}><img src=/{short}>\
             <a href=/{link}>s</a><a href=/to-long>t</a><a href=/good>g</a>"
        )),
    );
    origin.say("/to-long", Answer::redirect(302, &format!("/{shorter}")));
    origin.say("/good", Answer::html("good"));
    let (report, status) = get(&daemon, "1", &origin.url("/"));
    assert_eq!((status, origin.count("/good")), (1, 1), "{report}");
    assert_eq!(report["left-out"]["endless"]["count"], 1, "{report}");
    assert_eq!(report["left-out"]["url"]["count"], 3, "twice the longest, and the next: {report}");
    assert!(reasons(&report).iter().all(|reason| reason.contains("above the limit")), "{report}");
    assert!(report.to_string().len() < 64 << 10, "the report about them is short");
    // All requests. None may have a URL that is too long or truncated.
    let mut asked: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    asked.sort();
    assert_eq!(asked, ["/", "/good", "/robots.txt", "/to-long"]);
}

/// Sends a page of `length` bytes whose last link leads to `/last`.
fn long_page(exchange: &mut Exchange<'_>, length: usize) -> io::Result<After> {
    let last = b"<a href=/last>last</a>";
    let filling =
        b"<p class=x>Nothing is said here, at some length, &amp; again.</p>\n".repeat(1_000);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let whole = length / filling.len() * filling.len() + last.len();
    exchange.send(format!("{head}Content-Length: {whole}\r\n\r\n"))?;
    for _ in 0..length / filling.len() {
        exchange.send(&filling)?;
    }
    exchange.send(last)?;
    Ok(After::Keep)
}

#[test]
#[ignore = "slow"]
fn a_page_of_200_mib_is_read_to_its_end_in_little_memory() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.on("/", |exchange| long_page(exchange, 200 << 20));
    origin.say("/last", Answer::html("last"));
    let before = daemon.peak_kib();
    let (report, status) = get(&daemon, "1", &origin.url("/"));
    assert_eq!((status, origin.count("/last")), (0, 1), "{report}");
    assert!(report["counts"]["bytes"].as_u64() > Some(200_000_000), "{report}");
    let more = daemon.peak_kib() - before;
    assert!(more < 48 << 10, "{more} KiB more than before");
}

/// Compresses with gzip at its highest level.
fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
#[ignore = "slow"]
fn compression_bombs_are_stored_undecoded_and_reported() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let links = b"<a href=/before>b</a>".as_slice();
    let bomb = gzip(&[links, &vec![b' '; 64 << 20], b"<a href=/after>a</a>"].concat());
    let nested = gzip(&gzip(&vec![b' '; 64 << 20]));
    let coded = |coding: &str, body: Vec<u8>| Answer::html(body).field("Content-Encoding", coding);
    origin.say("/", Answer::html("<a href=/bomb>b</a><a href=/nested>n</a><a href=/good>g</a>"));
    origin.say("/bomb", coded("gzip", bomb));
    origin.say("/nested", coded("gzip, gzip", nested));
    for path in ["/good", "/before", "/after"] {
        origin.say(path, Answer::html("good"));
    }
    let before = daemon.peak_kib();
    let (report, status) = get(&daemon, "2", &origin.url("/"));
    assert_eq!(status, 0, "{report}");
    let told = &report["left-out"]["unread"];
    assert_eq!(told["count"], 2, "{report}");
    let mut pages: Vec<_> = told["examples"].as_array().unwrap().clone();
    pages.sort_by_key(Value::to_string);
    assert_eq!(pages, [json!(origin.url("/bomb")), json!(origin.url("/nested"))], "{report}");
    assert_eq!((origin.count("/good"), origin.count("/after")), (1, 0), "{report}");
    let more = daemon.peak_kib() - before;
    assert!(more < 48 << 10, "{more} KiB more than before");
}
