//! Equal bodies are stored once. The savings are reported, and readers see no difference.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::daemon::output;
use crate::harness::tools::python_with;
use crate::harness::{Answer, Daemon, Origin, eventually, heavy, site};

/// Time limit for one command.
const LIMIT: Duration = Duration::from_secs(120);

fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

/// Stores bodies while no other program has the spool open.
fn keep(spool: &Path, all: &[(String, Vec<u8>)]) {
    let options = Options { durability: Durability::None, ..Options::default() };
    let (spool, _) = Spool::open(spool, &options).unwrap();
    let when = Timestamp::now();
    for (url, body) in all {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {length}\r\nETag: \"x\"\r\n\r\n"
        );
        let (head, request) = (head.into_bytes(), b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec());
        let new = NewEntry { asked: when, when, head, request, connection: None };
        let mut writer = spool.begin(&place(url), new).unwrap();
        writer.write(body).unwrap();
        writer.finish(None).unwrap();
    }
    spool.flush().unwrap();
}

/// The URLs and bodies of one image on several sites, and of a different image.
fn pictures(len: usize) -> Vec<(String, Vec<u8>)> {
    let picture = site::noise(7, len);
    let mut all: Vec<_> = ["a", "b", "c"]
        .map(|host| (format!("http://{host}.example/p.png"), picture.clone()))
        .into();
    all.push(("http://d.example/other.png".to_owned(), site::noise(8, len)));
    all
}

fn raw(daemon: &Daemon, url: &str) -> Vec<u8> {
    let ran = output(daemon.command(&["cat", "--raw", url]), None, LIMIT);
    assert!(ran.status.success(), "{url}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

fn bodies(daemon: &Daemon) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let groups = std::fs::read_dir(daemon.spool().join("bodies")).into_iter().flatten();
    for group in groups.flatten() {
        // A running purge may have removed the directory or its files.
        let files = std::fs::read_dir(group.path()).into_iter().flatten();
        found.extend(files.flatten().map(|file| file.path()));
    }
    found
}

fn shared(report: &Value) -> [u64; 4] {
    ["entries", "saved", "all_entries", "all_saved"]
        .map(|name| report["shared"][name].as_u64().unwrap_or(u64::MAX))
}

#[test]
#[ignore = "slow"]
fn shared_bodies_are_reported_and_served_unchanged() {
    for (with_daemon, len) in [(true, 100_000), (false, 300_000)] {
        let mut daemon = Daemon::prepare(Some("[purge]\nage = \"never\"\n"));
        let all = pictures(len);
        keep(daemon.spool(), &all);
        if with_daemon {
            daemon.up();
            daemon.ok(&["offline"]);
        }
        let saved = 2 * len as u64;
        let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
        assert_eq!(plan["shared"], Value::Null, "a plan changes nothing");
        let told = daemon.run(&["purge", "--json"]).json();
        assert_eq!(shared(&told), [3, saved, 3, saved], "{told}");
        assert_eq!((&told["shared"]["bodies"], bodies(&daemon).len()), (&1.into(), 1), "{told}");
        let said = daemon.ok(&["purge"]);
        let size = if with_daemon { "200 kB" } else { "600 kB" };
        assert!(said.contains("3 entries use 1 shared file ("), "{said}");
        assert!(said.contains(&format!("which saves {size}")), "{said}");
        for (url, body) in &all {
            assert!(raw(&daemon, url) == *body, "{url}");
            let info = daemon.run(&["info", "--json", url]).json();
            let is_shared = !url.contains("//d.");
            assert_eq!(info["kept"]["shared"] == true, is_shared, "{info}");
            assert_eq!(info["kept"]["bytes"], len as u64);
        }
        assert!(
            daemon
                .ok(&["info", &all[0].0])
                .contains("stored once for all entries with the same body")
        );
        if with_daemon {
            read_through(&daemon, &all);
            eventually("the index knows how many share it", || {
                let path = format!("/info/?{}", all[1].0);
                daemon.page(&path).text().contains("3 entries have this content")
            });
            let page = daemon.page("/purge/").text();
            assert!(
                page.contains("3 entries use 1 shared file") && page.contains("saves 200 kB"),
                "{page}"
            );
            let status: Value = serde_json::from_str(&daemon.page("/api/purge").text()).unwrap();
            assert_eq!(status["last"]["shared"]["all_entries"], 3);
        }
        whatever_is_removed(&daemon, &all);
    }
}

/// Reads each body completely, in ranges, and with HEAD only.
fn read_through(daemon: &Daemon, all: &[(String, Vec<u8>)]) {
    let mut client = daemon.client();
    for (url, body) in all {
        let response = daemon.get(url).whole();
        assert!(response.status == 200 && response.body == *body, "{url}");
        for (from, to) in [(0, 0), (1, 70_000), (body.len() - 10, body.len() - 1)] {
            let range = format!("bytes={from}-{to}");
            let response = crate::downloads::ranges::range(&mut client, url, &range);
            assert_eq!(
                (response.status, &response.body[..]),
                (206, &body[from..=to]),
                "{url} {range}"
            );
        }
        let length = body.len().to_string();
        client.send(format!("HEAD {url} HTTP/1.1\r\nHost: h\r\n\r\n"));
        let response = client.receive("HEAD");
        assert_eq!((response.status, response.field("Content-Length")), (200, &*length), "{url}");
    }
}

/// Removes and renames entries, and imports an export of the others elsewhere. Each remaining entry
/// stays complete, and the shared body is removed with the last of them.
fn whatever_is_removed(daemon: &Daemon, all: &[(String, Vec<u8>)]) {
    let [first, second, third, _] = [0, 1, 2, 3].map(|number| all[number].0.as_str());
    daemon.ok(&["rm", first]);
    daemon.ok(&["mv", second, "http://m.example/moved.png"]);
    let told = daemon.run(&["purge", "--json"]).json();
    assert_eq!(told["shared"]["removed"], 0, "{told}");
    for url in ["http://m.example/moved.png", third] {
        assert!(raw(daemon, url) == all[0].1, "{url}");
    }
    let archive = daemon.home().join("out.warc.gz");
    daemon.ok(&["export", archive.to_str().unwrap()]);
    let other = Daemon::prepare(None);
    other.ok(&["import", archive.to_str().unwrap()]);
    for url in ["http://m.example/moved.png", third] {
        assert!(raw(&other, url) == all[0].1, "{url}, elsewhere");
    }
    let checked = daemon.run(&["fsck", "--deep"]);
    assert_eq!((checked.status, checked.err.as_str()), (0, ""), "{checked:?}");
    daemon.ok(&["rm", "http://m.example/moved.png"]);
    daemon.ok(&["rm", third]);
    let told = daemon.run(&["purge", "--json"]).json();
    assert_eq!((&told["shared"]["removed"], bodies(daemon).len()), (&1.into(), 0), "{told}");
}

#[test]
fn disabled_sharing_keeps_shared_bodies_readable() {
    let daemon = Daemon::prepare(Some("[purge]\nage = \"never\"\nshare-above = \"none\"\n"));
    let all = pictures(100_000);
    keep(daemon.spool(), &all);
    let told = daemon.run(&["purge", "--json"]).json();
    assert_eq!((shared(&told), bodies(&daemon).len()), ([0, 0, 0, 0], 0), "{told}");
    let set = |text: &str| {
        std::fs::write(daemon.config_file(), format!("[purge]\nage = \"never\"\n{text}")).unwrap();
    };
    set("share-above = \"100001 B\"\n");
    assert_eq!(shared(&daemon.run(&["purge", "--json"]).json())[0], 0);
    set("");
    assert_eq!(shared(&daemon.run(&["purge", "--json"]).json())[0], 3);
    set("share-above = \"none\"\n");
    let told = daemon.run(&["purge", "--json"]).json();
    assert_eq!(shared(&told), [0, 0, 3, 200_000], "{told}");
    for (url, body) in &all {
        assert!(raw(&daemon, url) == *body, "{url}");
    }
}

#[test]
fn shared_entries_are_revalidated_and_replaced() {
    let (mut daemon, origin) = (
        Daemon::prepare(Some("[caching]\nkeep-versions = 0\n[purge]\nage = \"never\"\n")),
        Origin::start(),
    );
    let body = site::noise(9, 150_000);
    let all: Vec<_> =
        ["/one", "/two", "/three"].map(|path| (origin.url(path), body.clone())).into();
    keep(daemon.spool(), &all);
    daemon.up();
    assert_eq!(shared(&daemon.run(&["purge", "--json"]).json())[0], 3);
    // The response has no freshness lifetime, so it is revalidated.
    let confirmed =
        Answer::new(304, "image/png", Vec::new()).field("ETag", "\"x\"").field("X-New", "yes");
    origin.say("/one", confirmed);
    let other = site::noise(10, 80_000);
    origin.say("/two", Answer::new(200, "image/png", other.clone()));
    let response = daemon.get(&all[0].0).whole();
    assert!(response.status == 200 && response.body == body);
    assert!(daemon.get(&all[1].0).whole().body == other);
    daemon.settle();
    daemon.ok(&["offline"]);
    let response = daemon.get(&all[0].0).whole();
    assert!(response.field("X-New") == "yes" && response.body == body, "{:?}", response.status);
    assert!(daemon.get(&all[1].0).whole().body == other);
    assert!(daemon.get(&all[2].0).whole().body == body);
    // Waits until the new file has its final name.
    eventually("two share it still", || {
        shared(&daemon.run(&["purge", "--json"]).json())[2..] == [2, 150_000]
    });
    let checked = daemon.run(&["fsck", "--deep"]);
    assert_eq!((checked.status, checked.err.as_str()), (0, ""), "{checked:?}");
}

#[test]
#[ignore = "needs python3 with pywb"]
fn another_program_replays_a_spool_with_shared_bodies() {
    let python = python_with("pywb");
    let daemon = Daemon::prepare(Some("[purge]\nage = \"never\"\n"));
    let all = pictures(100_000);
    keep(daemon.spool(), &all);
    assert_eq!(shared(&daemon.run(&["purge", "--json"]).json())[0], 3);
    let rows: String = all
        .iter()
        .map(|(url, body)| format!("{url}\t{}\n", hex::encode(Sha256::digest(body))))
        .collect();
    let entries = all.iter().map(|(url, _)| daemon.spool().join(place(url).relative_path()));
    let files: Vec<String> =
        entries.chain(bodies(&daemon)).map(|file| file.to_str().unwrap().to_owned()).collect();
    assert_eq!(files.len(), 5);
    let ran = crate::archives::exchange::script(python, "replay.py", &files, &rows);
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
}

#[test]
#[ignore = "slow"]
fn kill_9_during_sharing_loses_no_body() {
    const ROUNDS: usize = 20;
    let _alone = heavy();
    let daemon = Daemon::prepare(Some("[purge]\nage = \"never\"\n"));
    let all: Vec<(String, Vec<u8>)> = (0..120)
        .map(|number| {
            let body = site::noise(number / 3, 65_000 + 2_500 * (number as usize / 3));
            (format!("http://h{}.example/{number}", number % 5), body)
        })
        .collect();
    keep(daemon.spool(), &all);
    let (mut killed, mut seed) = (0, 12_345_u64);
    for round in 0..ROUNDS {
        let mut command = daemon.command(&["purge"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let before = bodies(&daemon).len();
        // A random moment after the first body: after this number of polls.
        let mut turns = seed >> 60;
        while child.try_wait().unwrap().is_none() {
            let has_begun = bodies(&daemon).len() != before;
            if has_begun || round % 4 == 3 {
                if turns == 0 {
                    break;
                }
                turns -= 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let checked = daemon.run(&["fsck", "--deep"]);
        assert_eq!(checked.status, 0, "round {round}: {checked:?}");
        // Half of the entries are replaced, so some shared bodies are no longer needed.
        let some: Vec<_> = all.iter().skip(round % 2).step_by(2).cloned().collect();
        keep(daemon.spool(), &some);
    }
    assert!(killed >= ROUNDS / 2, "only {killed} were killed before their end");
    let told = daemon.run(&["purge", "--json"]).json();
    assert_eq!(shared(&told)[2], 120, "{told}");
    let (spool, recovery) = Spool::open(daemon.spool(), &Options::default()).unwrap();
    assert!(recovery.damaged.is_empty(), "{recovery:?}");
    for (url, body) in &all {
        let entry = spool.entry(&place(url)).unwrap().found().unwrap();
        let (mut verified, mut read) = (entry.verified(), vec![0; body.len()]);
        let mut at = 0;
        while at < body.len() {
            at += verified.read_at(at as u64, &mut read[at..]).unwrap();
        }
        assert!(read == *body && entry.shares_body(), "{url}");
    }
    assert!(!daemon.spool().join("damaged").read_dir().unwrap().any(|_| true));
}
