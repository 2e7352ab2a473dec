//! The queue and the monitored pages of a spool of WWWOFFLE 2.9.

use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use wwwoffle_spool::Timestamp;

use super::former_pages::{BEGIN, without_login};
use crate::harness::ftp::FtpServer;
use crate::harness::old_spool::{OldSpool, form, recursive};
use crate::harness::{Answer, Daemon, Origin, eventually};

/// A schedule of 2.9: every day at these hours.
fn daily(hours: &str) -> String {
    format!("{}\n{}\n{}\n{hours}\n", "1".repeat(12), "1".repeat(31), "1".repeat(7))
}

#[test]
fn queued_requests_are_sent_as_2_9_would_send_them() {
    let upload = "[[ftp-options.for]]\nurl = \"ftp://*/in/*\"\nupload = true\n";
    let (daemon, origin, ftp) = (Daemon::configured(upload), Origin::start(), FtpServer::start());
    ftp.file("queued", "of a server");
    let page =
        "<a href=in.html>1</a><a href=/out.html>2</a><img src=/i.gif><script src=/s.js></script>";
    origin.say("/dir/", Answer::html(page));
    let (sent, bodies) = std::sync::mpsc::channel();
    origin.on("/up", move |exchange| {
        let body = (exchange.seen.method.clone(), exchange.body()?.to_vec());
        drop(sent.send(body));
        exchange.answer(&Answer::html("thanks"))
    });
    daemon.ok(&["offline"]);
    let old = OldSpool::new(daemon.home().join("old"));
    let queue = |url: &str, fields: &str| {
        old.queue(url, &format!("GET {} HTTP/1.0\r\n{fields}\r\n", without_login(url)));
    };
    let limit = wwwoffle_url::url_encode_form_args(origin.url("/dir/").as_bytes());
    let options = format!("depth=1;limit={limit};force=Y;stylesheets=Y;images=Y");
    queue(&recursive(&origin.url("/dir/"), &options), "");
    let pragma = "no-cache,wwwoffle-stylesheets=2,wwwoffle-images=1,wwwoffle-location=8";
    queue(&origin.url("/part.css"), &format!("Pragma: {pragma}\r\nUser-Agent: Old/1.0\r\n"));
    queue(&origin.url("/of-2.9"), "Pragma: wwwoffle\r\nTE: chunked\r\nConnection: close\r\n");
    let login = origin.url("/login").replace("://", "://ada:p%3A%40@");
    let basic = format!("Basic {}", BASE64_STANDARD.encode("ada:p:@"));
    queue(&login, &format!("Authorization: {basic}\r\n"));
    queue(&ftp.url("/queued"), "");
    let (up, body) = (origin.url("/up"), "sent by PUT");
    let length = body.len();
    for up in [&up, &ftp.url("/in/up")] {
        let put = format!("PUT {up} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
        old.queue(&form("PUT", up, body), &put);
    }

    let told = daemon.run(&["import", "--json", old.root.to_str().unwrap()]).json();
    assert_eq!((&told["queued"], &told["refused"]), (&7.into(), &0.into()), "{told:#}");
    assert!(daemon.queue().iter().any(|request| request["method"] == "PUT"));
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    let got = bodies.recv_timeout(crate::harness::PATIENCE).unwrap();
    assert_eq!(got, ("PUT".to_owned(), body.as_bytes().to_vec()));
    assert_eq!(ftp.with(|state| state.files["in/up"].clone()), body.as_bytes());
    assert_eq!(ftp.count("STOR"), 1);
    for (path, times) in [
        ("/dir/", 1),
        ("/dir/in.html", 1),
        ("/i.gif", 1),
        ("/out.html", 0),
        ("/s.js", 0),
        ("/up", 1),
    ] {
        assert_eq!(origin.count(path), times, "{path}");
    }
    for (path, name, want) in [
        ("/part.css", "Pragma", Some("no-cache")),
        ("/part.css", "User-Agent", Some("Old/1.0")),
        ("/of-2.9", "Pragma", None),
        ("/login", "Authorization", Some(&*basic)),
    ] {
        let asked = origin.asked(path);
        assert_eq!(asked.len(), 1, "{path}");
        assert_eq!(asked[0].fields.get(name), want, "{path}");
    }
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&ftp.url("/queued")).text(), "of a server");
}

#[test]
fn monitored_pages_continue_their_schedule() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let old = OldSpool::new(daemon.home().join("old"));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    // 2.9 writes the time of the last fetch to the file with the schedule.
    old.monitor(&origin.url("/checked"), Some(&daily(&"1".repeat(24))), BEGIN, now);
    old.monitor(&origin.url("/due"), Some(&daily(&"1".repeat(24))), BEGIN, BEGIN + 7_200);
    // Without a schedule, 2.9 fetches a page at once and then each midnight.
    old.monitor(&origin.url("/lost"), None, BEGIN, 0);
    old.monitor(&origin.url("/short"), Some("7\n"), BEGIN, now);
    let followed = recursive(&origin.url("/followed"), "depth=2;limit=;images=Y");
    old.monitor(&followed, Some(&daily(&format!("1{}", "0".repeat(23)))), BEGIN, now);
    let told = daemon.run(&["import", "--json", old.root.to_str().unwrap()]).json();
    assert_eq!((&told["monitored"], &told["refused"]), (&5.into(), &0.into()), "{told:#}");
    let list = daemon.run(&["monitor", "list", "--json"]).json();
    let about = |path: &str| -> Value {
        let items = list["monitor"].as_array().unwrap();
        items.iter().find(|item| item["url"] == origin.url(path)).unwrap().clone()
    };
    let time =
        |second: u64| json!(Timestamp::from_second(second.cast_signed()).unwrap().to_string());
    for (path, schedule, last) in [
        ("/checked", "0 * * * *", time(now)),
        ("/due", "0 * * * *", time(BEGIN + 7_200)),
        ("/lost", "0 0 * * *", Value::Null),
        ("/short", "0 0 * * *", Value::Null),
        ("/followed", "0 0 * * *", time(now)),
    ] {
        let about = about(path);
        assert_eq!((&about["schedule"], &about["last"]), (&json!(schedule), &last), "{path}");
    }
    daemon.ok(&["online"]);
    for path in ["/due", "/lost", "/short"] {
        eventually(&format!("{path} is fetched"), || origin.count(path) == 1);
    }
    daemon.settle();
    assert_eq!(origin.count("/checked") + origin.count("/followed"), 0);
}
