//! The usage of users and clients: counted by day, limited by quotas, and shown to those who may
//! see it.

use serde_json::Value;

use crate::harness::daemon::AS_PERSON;
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::security::owners;

const FRESH: (&str, &str) = ("Cache-Control", "max-age=600");

fn page(body: &str) -> Answer {
    Answer::html(body).field(FRESH.0, FRESH.1)
}

/// The only file of the directory `usage`, which is that of today.
fn file(daemon: &Daemon) -> Option<std::path::PathBuf> {
    let mut names = std::fs::read_dir(daemon.spool().join("usage")).ok()?;
    Some(names.next()?.unwrap().path())
}

#[track_caller]
fn report(daemon: &Daemon) -> Value {
    serde_json::from_str(&daemon.ok(&["usage", "--json"])).unwrap()
}

/// The counts of an owner today.
#[track_caller]
fn line(daemon: &Daemon, owner: &str) -> Value {
    let report = report(daemon);
    let lines = report["usage"].as_array().unwrap();
    lines.iter().find(|line| line["owner"] == owner).cloned().unwrap_or_default()
}

#[test]
fn usage_is_counted_by_user_and_outlives_a_kill() {
    let origin = Origin::start();
    origin.say("/p", page(&"x".repeat(1_000)));
    let mut daemon = Daemon::configured(&format!("{}[usage]\ncount = true\n", owners::users()));
    owners::get(&daemon, "ada", &origin.url("/p"), "");
    daemon.settle();
    owners::get(&daemon, "ada", &origin.url("/p"), "");
    owners::get(&daemon, "bob", &origin.url("/p"), "");
    eventually("the counts are written", || {
        let text = file(&daemon).and_then(|file| std::fs::read_to_string(file).ok());
        text.is_some_and(|text| text.contains("host user:bob +0 given=1000 requests=1 spool=1"))
    });
    daemon.kill9();
    daemon.up();
    let ada = line(&daemon, "user:ada");
    let of = |name: &str| ada[name].as_u64().unwrap();
    assert_eq!((of("requests"), of("from_spool"), of("origin_requests")), (2, 1, 1), "{ada}");
    assert_eq!((of("sent"), of("fetched"), of("queued")), (2_000, 1_000, 0), "{ada}");
    // A later request is added to the counts before the kill.
    owners::get(&daemon, "ada", &origin.url("/p"), "");
    eventually("it is counted", || line(&daemon, "user:ada")["sent"] == 3_000);

    let csv = daemon.ok(&["usage", "--csv"]);
    assert!(csv.starts_with("day,owner,requests,"), "{csv}");
    assert!(csv.contains(",\"user:bob\",1,1,1000,0,0,0\r\n"), "{csv}");
    let told = daemon.ok(&["usage"]);
    assert!(told.contains("user:ada  3 requests, 2 from the spool, sent 3.0 kB"), "{told}");
}

#[test]
fn users_see_their_own_usage_and_the_administrator_that_of_everyone() {
    let origin = Origin::start();
    origin.say("/p", page("<p>read by somebody</p>"));
    let text = format!("{}[usage]\ncount = true\n", owners::users());
    let mut daemon = Daemon::configured(&text);
    for user in owners::USERS {
        owners::get(&daemon, user, &origin.url("/p"), "");
    }
    for path in ["/usage/", "/usage/usage.csv", "/api/usage"] {
        let told = owners::page(&daemon, "bob", path).text();
        assert!(told.contains(",1,") || told.contains("<td>1</td>") || told.contains("user:bob"));
        assert!(!told.contains("ada"), "{path}: {told}");
    }
    // A user is not the administrator.
    assert_eq!(owners::page(&daemon, "bob", "/usage/all").status, 303);
    assert!(!owners::page(&daemon, "bob", "/usage/all.csv").text().contains("ada"));
    daemon.set_password("only me");
    assert_eq!(owners::page(&daemon, "bob", "/usage/all").status, 401);
    assert_eq!(owners::page(&daemon, "bob", "/usage/all.csv").status, 401);
    let all = daemon.page("/usage/all").text();
    assert!(all.contains("<bdi>user:ada</bdi>") && all.contains("<bdi>user:bob</bdi>"), "{all}");
    let told = owners::page(&daemon, "bob", "/api/usage?days=0");
    assert_eq!(told.status, 400, "{}", told.text());
}

#[test]
fn nothing_is_counted_without_configuration() {
    let origin = Origin::start();
    origin.say("/p", page("p"));
    let mut daemon = Daemon::start();
    daemon.get(&origin.url("/p"));
    assert!(daemon.page("/usage/").text().contains("Usage is not counted"));
    let told = daemon.run(&["usage"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""));
    assert!(told.err.contains("`wwwoffle config set usage.count true`"), "{told:?}");
    daemon.down();
    assert_eq!(file(&daemon), None);
}

#[test]
fn a_used_up_quota_of_requests_leaves_stored_pages_readable() {
    let origin = Origin::start();
    origin.say("/stale", Answer::html("kept").field("Cache-Control", "max-age=0"));
    origin.say("/b", page("b"));
    let quotas = "[usage]\nquotas = [\"*: 2 requests per day\"]\n";
    let daemon = Daemon::configured(&format!("{}{quotas}", owners::users()));
    let get = |user, path: &str| owners::get(&daemon, user, &origin.url(path), "");
    assert_eq!(get("ada", "/stale").status, 200);
    let near = owners::page(&daemon, "ada", "/").text();
    assert!(!near.contains("of your quota"), "{near}");
    assert_eq!(get("ada", "/b").status, 200);
    daemon.settle();
    // Both requests are used up: a stored copy is served without revalidation.
    let kept = get("ada", "/stale");
    assert_eq!((kept.status, kept.text().as_str()), (200, "kept"));
    assert!(kept.field("Cache-Status").contains("quotas"), "{:?}", kept.head);
    assert_eq!(origin.count("/stale"), 1);
    let refused = get("ada", "/c");
    assert_eq!(refused.status, 429);
    assert!(refused.field("Retry-After").parse::<u64>().unwrap() <= 90_000);
    assert!(refused.text().contains("Your quota is used up"), "{}", refused.text());
    assert!(refused.text().contains("/usage/\""), "{}", refused.text());
    let told = owners::page(&daemon, "ada", "/").text();
    assert!(told.contains("Your quota of 2 requests per day is used up."), "{told}");
    // Each user has the whole quota. A tunnel needs it too.
    assert_eq!(get("bob", "/b").status, 200);
    let login = owners::login("Proxy-Authorization", "ada");
    let mut client = daemon.client();
    client.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n{login}\r\n", origin.addr));
    assert_eq!(client.head().unwrap().unwrap().status, 200, "it may be intercepted");
    client.send("GET /t HTTP/1.1\r\nHost: there\r\n\r\n");
    assert!(client.try_receive("GET").is_err());
    assert_eq!(origin.count("/t"), 0);
    let quota = &report(&daemon)["quotas"];
    let ada = quota.as_array().unwrap().iter().find(|one| one["owner"] == "user:ada").unwrap();
    assert_eq!((ada["used"].as_u64(), ada["most"].as_u64()), (Some(2), Some(2)), "{ada}");
}

#[test]
fn a_quota_is_announced_before_it_is_reached() {
    let origin = Origin::start();
    let daemon = Daemon::configured("[usage]\nquotas = [\"*: 5 requests per month\"]\n");
    for number in 0..4 {
        let path = format!("/{number}");
        origin.say(&path, page("p"));
        assert!(!daemon.page("/queue/").text().contains("of your quota"));
        assert_eq!(daemon.get(&origin.url(&path)).status, 200);
    }
    let told = daemon.page("/queue/").text();
    let want = "You have used 4 requests of your quota of 5 requests per month.";
    assert!(told.contains(want), "{told}");
    // A page of a site has the same notice in its bar.
    daemon.ok(&["config", "set", "modify-html.enable-modify-html", "true"]);
    daemon.ok(&["config", "set", "modify-html.add-cache-info", "true"]);
    let kept = daemon.client().get_with(&origin.url("/0"), AS_PERSON).whole();
    assert!(kept.text().contains(want), "{}", kept.text());
}

#[test]
fn a_download_ends_at_the_quota_of_bytes_and_continues_when_there_is_more() {
    let origin = Origin::start();
    let body = vec![b'x'; 2_000_000];
    origin.on("/film", move |exchange| {
        let whole = Answer::new(200, "video/mp4", body.clone()).field("ETag", "\"f\"");
        exchange.answer(&whole)
    });
    let daemon = Daemon::configured("[usage]\nquotas = [\"127.0.0.1: 100 kB per day\"]\n");
    let broken = daemon.client().get_with(&origin.url("/film"), "");
    assert!(broken.status == 200 && broken.whole.is_err(), "{:?}", broken.head);
    let got = u64::try_from(broken.body.len()).unwrap();
    assert!((100_000..2_000_000).contains(&got), "{got}");
    assert_eq!(daemon.get(&origin.url("/other")).status, 429);
    eventually("what has arrived is counted", || {
        line(&daemon, "local")["fetched"].as_u64().is_some_and(|fetched| fetched >= 100_000)
    });
    // The received part is kept: with a larger quota, only the rest is fetched.
    daemon.ok(&["config", "set", "usage.quotas", "[\"127.0.0.1: 100 MB per day\"]"]);
    let whole = daemon.client().get_with(&origin.url("/film"), "").whole();
    assert_eq!(whole.body.len(), 2_000_000);
    let asked = origin.asked("/film");
    assert!(asked.last().unwrap().fields.get("Range").is_some(), "{:?}", asked.last());
}

#[test]
fn queued_requests_have_a_quota_and_wait_until_it_is_renewed() {
    let origin = Origin::start();
    origin.say("/0", page("0"));
    let quotas = "[usage]\nquotas = [\"*: 2 queued per day\"]\n";
    let daemon = Daemon::configured(&format!("{}{quotas}", owners::users()));
    daemon.ok(&["offline"]);
    let get = |user, path: &str| owners::get(&daemon, user, &origin.url(path), "").status;
    assert_eq!([get("ada", "/0"), get("ada", "/1"), get("ada", "/2")], [504, 504, 429]);
    // The same request again is not another entry, and each user has a quota.
    assert_eq!([get("ada", "/1"), get("bob", "/2")], [504, 504]);
    assert_eq!(line(&daemon, "user:ada")["queued"], 2);
    // A quota of requests holds the queue back, with the reason.
    daemon.ok(&["config", "set", "usage.quotas", "[\"ada: 0 requests per day\"]"]);
    daemon.ok(&["online"]);
    eventually("bob's request is fetched", || origin.count("/2") == 1);
    let queue = daemon.ok(&["queue"]);
    assert!(queue.contains("a quota is used up"), "{queue}");
    assert_eq!(origin.count("/0"), 0);
    daemon.ok(&["config", "set", "usage.quotas", "[]"]);
    eventually("ada's requests are fetched", || origin.count("/0") == 1);
}

#[test]
fn a_damaged_file_of_usage_is_set_aside() {
    let origin = Origin::start();
    origin.say("/p", page("p"));
    let mut daemon = Daemon::configured("[usage]\ncount = true\n");
    daemon.get(&origin.url("/p"));
    daemon.down();
    let path = file(&daemon).unwrap();
    let text = std::fs::read(&path).unwrap();
    for damaged in [&text[..text.len() / 2], b"\0\0\0\0", b""] {
        std::fs::write(&path, damaged).unwrap();
        daemon.up();
        let told = "damaged usage was moved to damaged/; its day counts as zero";
        eventually("the damage is reported", || daemon.log().matches(told).count() >= 1);
        daemon.get(&origin.url("/p"));
        assert_eq!(line(&daemon, "local")["requests"], 1);
        daemon.down();
        assert!(std::fs::read_to_string(&path).unwrap().contains("host local "));
    }
    let checked = daemon.run(&["fsck"]);
    assert!(!checked.out.contains("/usage"), "the check knows the directory: {checked:?}");
}

/// The download of a client with a rate ends after one that began later.
#[test]
fn a_rate_slows_down_one_user_only() {
    let origin = Origin::start();
    for path in ["/slow", "/fast"] {
        origin.say(path, Answer::new(200, "video/mp4", vec![b'x'; 3_000_000]));
    }
    let quotas = "[usage]\nquotas = [\"ada: 50 kB per second\"]\n";
    let daemon = Daemon::configured(&format!("{}{quotas}", owners::users()));
    let mut slow = daemon.client();
    slow.ask(&origin.url("/slow"), &owners::of("ada", ""));
    assert_eq!(slow.final_head().unwrap().1.status, 200);
    assert_eq!(owners::get(&daemon, "bob", &origin.url("/fast"), "").body.len(), 3_000_000);
    let status: Value = serde_json::from_str(&daemon.ok(&["status", "--json"])).unwrap();
    let urls: Vec<_> =
        status["downloads"].as_array().unwrap().iter().map(|one| one["url"].clone()).collect();
    assert_eq!(urls, [Value::from(origin.url("/slow"))]);
}
