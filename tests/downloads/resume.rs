//! Downloads over a connection that breaks.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::harness::film::{Cut, Film, Ranges};
use crate::harness::{
    After, Client, Daemon, Gate, Origin, eventually, eventually_within, files, heavy,
};

const MIB: u64 = 1 << 20;

/// The size of the file in bytes. `CUTS` is the number of times that a connection is cut while the
/// file is downloaded.
const LARGE: u64 = 300 * MIB;
const CUTS: u64 = 20;

/// The maximum number of bytes from the origin that are lost at a cut: the content of the socket
/// buffers on both sides.
const LOST_AT_A_CUT: u64 = 8 * MIB;

/// Memory limit in KiB for a download of any size.
const MEMORY: u64 = 136 * 1024;

/// Time limit for the large file on a slow machine.
const PATIENT: Duration = Duration::from_secs(180);

/// Downloads are resumed without a delay, so that no test waits.
const QUICK: &str = "[fetch-options]\nresume-delay = \"1ms\"\nretry-delay = \"1ms\"\n";

fn cuts() -> Vec<(u64, Cut)> {
    let each = LARGE / (CUTS + 1);
    (0..CUTS).map(|n| (each + n, if n % 2 == 0 { Cut::Close } else { Cut::Reset })).collect()
}

/// Reads a response to its end and returns the digest and length of its body.
#[track_caller]
fn digest(client: &mut Client) -> ([u8; 32], u64) {
    let (mut digest, mut length) = (Sha256::new(), 0);
    let answer = client.try_stream("GET", |piece| {
        digest.update(piece);
        length += piece.len() as u64;
    });
    answer.expect("a response").whole();
    (digest.finalize().into(), length)
}

/// Whether the directory of segments is empty.
fn has_no_parts(daemon: &Daemon) -> bool {
    let parts = daemon.spool().join("partial");
    !parts.exists() || files(&parts).is_empty()
}

#[test]
#[ignore = "slow"]
fn a_large_download_survives_twenty_broken_connections() {
    let _alone = heavy();
    let (daemon, mut origin) = (Daemon::configured(QUICK), Origin::start());
    let film = Film::at(&origin, "/film", LARGE, Ranges::Right, cuts());
    let (url, want) = (origin.url("/film"), (film.digest(1), LARGE));
    let mut client = daemon.client();
    client.ask(&url, "");
    assert_eq!(digest(&mut client), want, "the client got several bodies");
    assert_eq!(film.cuts_left(), 0);
    let most = LARGE + CUTS * LOST_AT_A_CUT;
    assert!((LARGE..=most).contains(&film.sent()), "{} sent of {LARGE}", film.sent());
    assert!(daemon.peak_kib() < MEMORY, "{} KiB", daemon.peak_kib());
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    client.ask(&url, "");
    assert_eq!(digest(&mut client), want, "it is stored completely");
    assert!(has_no_parts(&daemon));
}

#[test]
#[ignore = "slow"]
fn a_large_download_survives_restarts_of_the_daemon() {
    let _alone = heavy();
    let (mut daemon, mut origin) = (Daemon::configured(QUICK), Origin::start());
    let mut cuts = cuts();
    let gates: Vec<_> = [4, 9, 14]
        .map(|cut| {
            let gate = Gate::new();
            cuts[cut].1 = Cut::Hang(Arc::clone(&gate));
            gate
        })
        .into();
    let film = Film::at(&origin, "/film", LARGE, Ranges::Right, cuts);
    let (url, want) = (origin.url("/film"), (film.digest(1), LARGE));
    daemon.ok(&["offline"]);
    assert_eq!(daemon.browse(&url).status, 504, "it is queued");
    daemon.ok(&["online"]);
    for (n, gate) in (1..).zip(&gates) {
        eventually_within(PATIENT, "the connection hangs", || film.hung() == n);
        eventually("all sent bytes have arrived", || {
            daemon.status()["downloads"][0]["bytes"].as_u64() == Some(film.hangs_at())
        });
        if n == 2 {
            daemon.kill9();
        } else {
            daemon.down();
        }
        gate.open();
        daemon.up();
    }
    eventually_within(PATIENT, "it is complete", || {
        daemon.status()["queue"]["waiting"] == 0 && daemon.status()["queue"]["active"] == 0
    });
    assert_eq!((film.cuts_left(), &daemon.status()["queue"]["failed"]), (0, &0.into()));
    let most = LARGE + CUTS * LOST_AT_A_CUT;
    assert!((LARGE..=most).contains(&film.sent()), "{} sent of {LARGE}", film.sent());
    assert!(daemon.peak_kib() < MEMORY, "{} KiB", daemon.peak_kib());
    daemon.ok(&["offline"]);
    origin.stop();
    let mut client = daemon.client();
    client.ask(&url, "");
    assert_eq!(digest(&mut client), want, "it is stored completely");
    assert!(has_no_parts(&daemon));
}

#[test]
#[ignore = "slow"]
fn two_bodies_are_never_mixed() {
    let daemon = Daemon::configured(QUICK);
    for (name, ranges, cut) in [
        ("/changed", Ranges::Right, Cut::Change),
        ("/no-ranges", Ranges::Ignored, Cut::Close),
        ("/wrong-start", Ranges::OneTooEarly, Cut::Close),
        ("/no-conditions", Ranges::Unconditional, Cut::Change),
    ] {
        let mut origin = Origin::start();
        let film = Film::at(&origin, name, 4 * MIB, ranges, [(MIB, cut)]);
        let url = origin.url(name);
        let mut client = daemon.client();
        client.ask(&url, "");
        let broken = client.try_receive("GET").unwrap();
        assert!(broken.whole.is_err(), "{name}: it looks complete");
        assert!(
            film.whole(1).starts_with(&broken.body),
            "{name}: the bytes belong to several bodies"
        );
        let now = film.whole(film.version());
        assert!(daemon.get(&url).body == now, "{name}: the next one is whole");
        daemon.settle();
        daemon.ok(&["offline"]);
        origin.stop();
        assert!(daemon.get(&url).body == now, "{name}: the stored copy is complete");
        assert!(has_no_parts(&daemon), "{name}");
        daemon.ok(&["online"]);
    }
}

#[test]
fn a_body_of_unknown_length_is_resumed() {
    let (daemon, origin) = (Daemon::configured(QUICK), Origin::start());
    let cuts = [(MIB, Cut::Close), (MIB, Cut::Close)];
    let film = Film::framed(&origin, "/chunks", 4 * MIB, Ranges::Right, cuts, true);
    let answer = daemon.get(&origin.url("/chunks"));
    assert!(answer.body == film.whole(1));
    assert_eq!(answer.field("Content-Length"), "", "it was unknown at that time");
    assert_eq!(film.sent(), 4 * MIB, "no bytes are lost when a connection is closed");
    daemon.settle();
    daemon.ok(&["offline"]);
    assert!(daemon.get(&origin.url("/chunks")).body == film.whole(1));
}

#[test]
#[ignore = "slow"]
fn a_paused_download_is_listed_and_kept_when_going_offline() {
    let (daemon, origin) =
        (Daemon::configured("[fetch-options]\nresume-delay = \"1h\"\n"), Origin::start());
    let film = Film::at(&origin, "/film", 4 * MIB, Ranges::Right, [(MIB, Cut::Close)]);
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "");
    eventually("it waits", || daemon.status()["downloads"][0]["waiting"]["attempts"] == 1);
    let shown = &daemon.status()["downloads"][0];
    assert_eq!((&shown["bytes"], &shown["total"]), (&MIB.into(), &(4 * MIB).into()));
    assert_eq!((&shown["rate"], &shown["resumed"]), (&0.into(), &0.into()));
    assert!(daemon.ok(&["status"]).contains("interrupted at "));
    assert!(daemon.page("/").shown().contains("attempt 1 to resume at "));
    daemon.ok(&["offline"]);
    let broken = client.try_receive("GET").unwrap();
    assert!(broken.whole.is_err() && broken.body.len() as u64 == MIB);
    let page = daemon.browse(&url);
    assert_eq!(page.status, 504);
    assert!(page.shown().contains("Only 1.0 MB of 4.1 MB is saved"), "{}", page.shown());
    assert!(daemon.get(&url).status == 504, "a segment was sent as a response");
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(film.sent(), 4 * MIB, "stored bytes were sent again");
    let asked = origin.asked("/film");
    assert_eq!(asked[1].fields.get("Range"), Some(&*format!("bytes={MIB}-")));
    daemon.ok(&["offline"]);
    assert!(daemon.get(&url).body == film.whole(1));
    assert!(has_no_parts(&daemon));
}

/// A download that waits for a retry may take long or never end, so other clients must not wait for
/// it.
#[test]
fn a_request_during_the_retry_delay_starts_its_own_fetch() {
    let daemon = Daemon::configured("[fetch-options]\nresume-delay = \"1h\"\n");
    let mut origin = Origin::start();
    let film = Film::at(&origin, "/film", 4 * MIB, Ranges::Right, [(MIB, Cut::Close)]);
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "");
    eventually("it waits", || daemon.status()["downloads"][0]["waiting"]["attempts"] == 1);
    assert!(daemon.get(&url).body == film.whole(1));
    daemon.ok(&["offline"]);
    origin.stop();
    assert!(client.try_receive("GET").unwrap().whole.is_err(), "the first one gets an error");
    assert!(daemon.get(&url).body == film.whole(1));
}

/// A client leaves after a tenth of the download. Then the download stops or continues, as the
/// configuration says.
#[test]
#[ignore = "slow"]
fn an_abandoned_download_stops_or_continues_as_configured() {
    const SIZE: u64 = 8 * MIB;
    let ends = "[options]\nfinish-downloads = false\n";
    let keeps = format!("{ends}[online-options]\nintr-download-keep = true\n");
    let (soon, small) = (
        format!("{keeps}intr-download-percent = \"5%\"\n"),
        format!("{keeps}intr-download-size = \"1 GB\"\n"),
    );
    let wide = format!("{QUICK}{keeps}");
    for (config, goes_on, keeps_part) in [
        (QUICK.to_owned(), true, false),
        (format!("{QUICK}{ends}"), false, false),
        (wide, false, true),
        (format!("{QUICK}{soon}"), true, false),
        (format!("{QUICK}{small}"), true, false),
    ] {
        let (daemon, origin) = (Daemon::configured(&config), Origin::start());
        let gate = Gate::new();
        let cuts = [(SIZE / 10, Cut::Hang(Arc::clone(&gate)))];
        let film = Film::at(&origin, "/film", SIZE, Ranges::Right, cuts);
        let url = origin.url("/film");
        let mut client = daemon.client();
        client.ask(&url, "");
        client.final_head().unwrap();
        client.reader.exactly((SIZE / 10) as usize).unwrap();
        drop(client);
        if !goes_on {
            eventually("it ends", || daemon.status()["downloads"][0].is_null());
        }
        gate.open();
        daemon.settle();
        assert_eq!(film.sent(), if goes_on { SIZE } else { SIZE / 10 }, "{config}");
        assert_eq!(!has_no_parts(&daemon), keeps_part, "{config}");
        let next = daemon.get(&url);
        assert!(next.body == film.whole(1), "{config}");
        let resumed = "wwwoffle; fwd=partial; fwd-status=206; stored; detail=resumed";
        assert_eq!(
            next.field("Cache-Status") == resumed,
            keeps_part,
            "{config}: {}",
            next.field("Cache-Status")
        );
    }
}

#[test]
fn a_no_store_response_is_not_combined_from_segments() {
    let config = "[fetch-options]\nresume-delay = \"1h\"\n[caching]\nno-store = \"respect\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    let film = Film::at(&origin, "/film", 4 * MIB, Ranges::Right, [(MIB, Cut::Close)]);
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "");
    eventually("it waits", || daemon.status()["downloads"][0]["waiting"]["attempts"] == 1);
    daemon.ok(&["offline"]);
    assert!(client.try_receive("GET").unwrap().whole.is_err());
    assert!(!has_no_parts(&daemon));
    daemon.ok(&["online"]);
    let whole = daemon.client().get_with(&url, "Cache-Control: no-store\r\n").whole();
    assert!(whole.body == film.whole(1));
    let status = whole.field("Cache-Status");
    assert_eq!(status, "wwwoffle; fwd=uri-miss; fwd-status=200; detail=no-store");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).status, 504);
}

/// Both persons use this machine. Their files have the same length and date, and no `ETag`.
#[test]
fn the_files_of_two_sessions_are_never_mixed() {
    let daemon = Daemon::configured("[fetch-options]\nresume-delay = \"1h\"\n");
    let origin = Origin::start();
    let bodies = ["a", "b"].map(|letter| letter.repeat(200_000));
    let [of_a, of_b] = bodies.clone();
    origin.on("/film", move |exchange| {
        let fields = exchange.seen.fields.clone();
        let is_of_a = fields.get("Cookie") == Some("session=a");
        let body = if is_of_a { &of_a } else { &of_b };
        let from = fields.get("Range").and_then(|range| {
            range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
        });
        let (status, range) = match from {
            Some(from) => (206, format!("Content-Range: bytes {from}-199999/200000\r\n")),
            None => (200, String::new()),
        };
        let (from, date) = (from.unwrap_or(0), httpdate::fmt_http_date(SystemTime::now()));
        exchange.send(format!(
            "HTTP/1.1 {status} Said\r\nDate: {date}\r\nContent-Length: {}\r\n{range}\
             Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
            body.len() - from
        ))?;
        // The connection of the first session breaks.
        exchange.send(&body[from..if is_of_a { 100_000 } else { body.len() }])?;
        Ok(if is_of_a { After::Close } else { After::Keep })
    });
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "Cookie: session=a\r\n");
    eventually("it waits", || daemon.status()["downloads"][0]["waiting"]["attempts"] == 1);
    daemon.ok(&["offline"]);
    assert!(client.try_receive("GET").unwrap().whole.is_err());
    daemon.ok(&["online"]);
    let whole = daemon.client().get_with(&url, "Cookie: session=b\r\n").whole();
    assert!(whole.body == bodies[1].as_bytes(), "the bytes belong to two sessions");
    assert_eq!(origin.asked("/film")[1].fields.get("Range"), None);
}

#[test]
fn the_queue_continues_an_abandoned_download() {
    let ends = format!("{QUICK}[options]\nfinish-downloads = false\n");
    let (daemon, origin) = (Daemon::configured(&ends), Origin::start());
    let gate = Gate::new();
    let cuts = [(MIB, Cut::Hang(Arc::clone(&gate)))];
    let film = Film::at(&origin, "/film", 2 * MIB, Ranges::Right, cuts);
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "");
    client.final_head().unwrap();
    let mut command = Client::unix(&daemon.spool().join("control"));
    let wanted = format!("{{\"urls\":[\"{url}\"]}}");
    command.send(format!(
        "POST /api/get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{wanted}",
        wanted.len()
    ));
    eventually("the queue waits for it too", || daemon.status()["queue"]["active"] == 1);
    drop(client);
    eventually("the queue sends its own request", || origin.count("/film") == 2);
    gate.open();
    daemon.settle();
    eventually("nothing waits", || {
        let queue = &daemon.status()["queue"];
        queue["waiting"] == 0 && queue["active"] == 0
    });
    assert_eq!(daemon.status()["queue"]["failed"], 0);
    daemon.ok(&["offline"]);
    assert!(daemon.get(&url).body == film.whole(1));
}
