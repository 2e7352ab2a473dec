//! Three nodes, many entries, and engines that are killed: nothing is lost, and what it costs.
//!
//! `TIER_ENTRIES=20000 cargo test --test e2e -- --ignored --nocapture tier::figures` prints figures.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::shared::connected;
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually, eventually_within};

/// The time for a step.
const STEP: Duration = Duration::from_secs(30 * 60);

/// The number of clients at once.
const CLIENTS: usize = 4;

/// The length of a page, in bytes.
const PAGE: usize = 8 << 10;

fn entries() -> usize {
    std::env::var("TIER_ENTRIES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn url(number: usize) -> String {
    format!("http://h{}.example/page/{number}", number % 50)
}

/// The body of a page: its URL, and letters.
fn body(target: &str) -> Vec<u8> {
    let mut body = format!("{target} ").into_bytes();
    body.resize(PAGE, b'x');
    body
}

/// Gets pages with several clients. Calls `check` with each response and its time.
fn get_all(
    node: &Daemon,
    numbers: impl Iterator<Item = usize>,
    check: impl Fn(usize, u16, &[u8], Duration) + Sync,
) {
    let numbers = Mutex::new(numbers.collect::<Vec<_>>().into_iter());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = node.client();
                loop {
                    let next = numbers.lock().unwrap().next();
                    let Some(number) = next else { break };
                    let begun = Instant::now();
                    let response = client.get(&url(number)).whole();
                    check(number, response.status, &response.body, begun.elapsed());
                }
            });
        }
    });
}

/// Gets pages that must all be right. Returns the times, sorted.
fn get_right(node: &Daemon, count: usize) -> Vec<Duration> {
    let times = Mutex::new(Vec::new());
    get_all(node, 0..count, |number, status, bytes, time| {
        assert_eq!(status, 200, "{}", url(number));
        assert!(bytes == body(&url(number)), "{} is another page", url(number));
        times.lock().unwrap().push(time);
    });
    let mut times = times.into_inner().unwrap();
    times.sort();
    times
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn rate_of(count: usize, since: Instant) -> f64 {
    f64::from(u32::try_from(count).unwrap()) / since.elapsed().as_secs_f64()
}

fn is_pushed(node: &Daemon) -> bool {
    let tier = &node.status()["tier"];
    tier["backlog"] == 0 && tier["scanning"] == false && tier["connected"] == true
}

fn rows(engines: &Engines) -> usize {
    usize::try_from(engines.count("SELECT count(*) FROM wwwoffle.entries")).unwrap()
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn nothing_is_lost_while_engines_and_nodes_are_killed() {
    let _alone = crate::harness::heavy();
    let count = entries();
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.on("*", |exchange| {
        let page = Answer::new(200, "text/html", body(&exchange.seen.target));
        exchange.answer(&page.field("Cache-Control", "max-age=86400"))
    });
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    connected(&a);
    let begun = Instant::now();
    get_right(&a, count / 2);
    eventually_within(STEP, "the first half is in the tier", || is_pushed(&a));
    let rate = rate_of(count / 2, begun);
    println!("{} entries of {PAGE} bytes fetched and pushed: {rate:.0} entries/s", count / 2);
    // Both engines are killed under load, and come back.
    engines.kill_postgres();
    engines.kill_store();
    get_right(&a, count * 3 / 4);
    engines.start_store();
    engines.start_postgres();
    get_right(&a, count);
    // The node is killed with what is left in its outbox.
    a.kill9();
    a.up();
    let begun = Instant::now();
    eventually_within(STEP, "everything is in the tier", || {
        rows(&engines) == count && is_pushed(&a)
    });
    let rate = rate_of(count, begun);
    println!("compared with the catalogue after a crash, and the rest pushed: {rate:.0} entries/s");
    // What a read through the tier costs, beside one from the spool.
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    let begun = Instant::now();
    let far = get_right(&b, count);
    let rate = rate_of(count, begun);
    let near = get_right(&b, count);
    for percent in [50, 99] {
        let (far, near) = (percentile(&far, percent), percentile(&near, percent));
        println!("p{percent}: {far:?} from the tier, {near:?} from the spool");
    }
    println!("pulled: {rate:.0} entries/s with {CLIENTS} clients");
    // Engines that are killed while they are read: a page is right, or it is missing.
    c.up();
    c.ok(&["offline"]);
    connected(&c);
    get_all(&c, 0..count / 4, |_, _, _, _| {});
    engines.kill_store();
    engines.kill_postgres();
    let missing = Mutex::new(0);
    get_all(&c, 0..count / 2, |number, status, bytes, _| match status {
        200 => assert!(bytes == body(&url(number)), "{} is another page", url(number)),
        504 => *missing.lock().unwrap() += 1,
        other => panic!("{other} for {}", url(number)),
    });
    println!("{} of {} pages missing without engines", missing.into_inner().unwrap(), count / 2);
    engines.start_store();
    engines.start_postgres();
    connected(&c);
    eventually("the store is used again", || c.get(&url(count - 1)).status == 200);
    get_right(&c, count);
    assert_eq!(rows(&engines), count);
    assert!(engines.objects().len() >= count);
    println!("{}", engines.copy_figure());
}
