//! The command line: the output and the exit status of every verb.

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::daemon::{Ran, run};
use crate::harness::{Answer, Daemon, Origin, daemon, eventually, site};

#[test]
fn commands_that_need_a_daemon_say_how_to_start_one() {
    let place = Daemon::prepare(None);
    let verbs: [&[&str]; 8] = [
        &["online"],
        &["offline"],
        &["autodial"],
        &["fetch"],
        &["fetch", "--wait"],
        &["status"],
        &["get", "http://127.0.0.1:1/"],
        &["stop"],
    ];
    for verb in verbs {
        let ran = place.run(verb);
        assert_eq!(ran.status, 69, "{verb:?}: {ran:?}");
        assert!(ran.err.contains("serve"), "{verb:?} does not say how to start one: {ran:?}");
        assert_eq!(ran.err.trim_end().lines().count(), 1, "{verb:?}: {ran:?}");
    }
}

#[test]
#[ignore = "slow"]
fn a_command_works_as_soon_as_the_port_accepts_connections() {
    for start in 0..20 {
        let place = Daemon::prepare(None);
        // If another test binds port 0, the system assigns a port outside this range. So this port
        // stays free.
        let free = (20_000..30_000).find_map(|port| TcpListener::bind(("127.0.69.1", port)).ok());
        let port = free.unwrap().local_addr().unwrap();
        let mut serve = place.command(&["serve", "--listen", &port.to_string()]);
        let mut child = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the port accepts a connection", || TcpStream::connect(port).is_ok());
        let socket = UnixStream::connect(place.spool().join("control"));
        let status = place.run(&["status"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(socket.is_ok(), "start {start}: {socket:?}");
        assert_eq!(status.status, 0, "start {start}: {status:?}");
    }
}

#[test]
fn bad_usage_is_status_2() {
    let place = Daemon::prepare(None);
    let rows: [&[&str]; 6] = [
        &["no-such-verb"],
        &["get"],
        &["cat"],
        &["serve", "--listen", "nowhere"],
        &["online", "--no-such-option"],
        &["rm"],
    ];
    for row in rows {
        let ran = place.run(row);
        assert_eq!(ran.status, 2, "{row:?}: {ran:?}");
        assert_ne!(ran.err, "", "{row:?}");
    }
}

#[test]
fn help_and_version_are_written_to_standard_output() {
    let place = Daemon::prepare(None);
    let help = place.run(&["--help"]);
    assert_eq!(help.status, 0, "{help:?}");
    let verbs = [
        "serve", "online", "offline", "autodial", "fetch", "status", "get", "queue", "cat", "ls",
        "rm", "hash", "url", "stop",
    ];
    for verb in verbs {
        assert!(help.out.contains(verb), "{verb}");
        let ran = place.run(&[verb, "--help"]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{verb}");
    }
    let version = place.run(&["--version"]);
    assert_eq!(version.out.trim(), concat!("wwwoffle ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_modes_are_switched_and_shown() {
    let mut daemon = Daemon::start();
    assert!(daemon.ready.contains("mode online"), "{}", daemon.ready);
    for mode in ["offline", "autodial", "online"] {
        daemon.ok(&[mode]);
        let status: Value = serde_json::from_str(&daemon.ok(&["status", "--json"])).unwrap();
        assert_eq!(status["mode"], mode);
        assert!(daemon.ok(&["status"]).contains(mode));
        daemon.restart();
        assert_eq!(daemon.status()["mode"], mode, "it survives a restart");
    }
}

#[test]
fn status_shows_the_last_changes_of_the_mode_and_the_running_fetches() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let changes = |daemon: &Daemon| {
        let status = daemon.status();
        (status["last_online"].clone(), status["last_offline"].clone())
    };
    let (online, never) = changes(&daemon);
    assert!(online.is_string() && never.is_null(), "{online} {never}");
    daemon.ok(&["offline"]);
    let (before, offline) = changes(&daemon);
    assert!(before == online && offline.is_string(), "{before} {offline}");
    assert!(daemon.ok(&["status"]).contains("\nlast offline 2"));

    daemon.restart();
    assert_eq!(changes(&daemon), (online, offline.clone()), "a restart is not a change");

    let run = json!({"urls": [origin.url("/page/1.html")]});
    daemon.api("POST", "/api/runs", &run.to_string());
    assert_eq!(daemon.status()["runs"], 1);
    assert!(daemon.ok(&["status"]).contains("\nfetches      1 recursive"));
    daemon.ok(&["online"]);
    let (online, before) = changes(&daemon);
    assert!(online.as_str() > offline.as_str() && before == offline, "{online} {before}");
    eventually("the fetch ends", || daemon.status()["runs"] == 0);
}

#[test]
fn status_has_its_documented_shape() {
    let daemon = Daemon::start();
    let status: Value = serde_json::from_str(&daemon.ok(&["status", "--json"])).unwrap();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["listen"], json!([daemon.addr().to_string()]));
    assert_eq!(status["spool"], daemon.spool().to_str().unwrap());
    assert_eq!(status["queue"], json!({"waiting": 0, "failed": 0, "active": 0, "asking": 0}));
    assert_eq!(status["downloads"], json!([]));
    for number in ["pid", "connections", "outward_refused"] {
        assert!(status[number].is_u64(), "{number}: {status}");
    }
    assert!(status["since"].as_str().is_some_and(|since| since.contains('T')), "{status}");
}

#[test]
#[ignore = "slow"]
fn get_stores_a_page_and_cat_prints_it() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    for path in ["/page/1.html", "/image/30.png", "/gzip/2.html"] {
        let (url, want) = (origin.url(path), site::answer(path).unwrap());
        let got = daemon.run(&["get", &url]);
        assert_eq!(got.status, 0, "{got:?}");
        assert!((got.out.clone() + &got.err).contains(&url), "progress names it: {got:?}");
        assert!(!got.out.contains('\u{1b}') && !got.out.contains('\r'), "plain lines: {got:?}");
        for running in [true, false] {
            if !running {
                daemon.down();
            }
            let body = daemon::output(
                daemon.command(&["cat", "--raw", &url]),
                None,
                crate::harness::PATIENCE,
            );
            assert!(body.status.success() && body.stdout == want.body, "{path}, daemon: {running}");
            let all = daemon.run(&["cat", "--headers", &url]);
            assert!(all.out.starts_with("HTTP/1.1 200"), "{all:?}");
            assert!(all.out.contains("\r\n\r\n") || all.out.contains("\n\n"), "{all:?}");
        }
        daemon.up();
    }
    let missing = daemon.run(&["cat", &origin.url("/never")]);
    assert_eq!((missing.status, missing.out.as_str()), (1, ""), "{missing:?}");
    assert!(missing.err.contains("/never"), "{missing:?}");
}

#[test]
fn cat_fetches_a_missing_page_or_queues_it() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let want = |path: &str| String::from_utf8_lossy(&site::answer(path).unwrap().body).into_owned();
    let url = origin.url("/page/1.html");
    for times in 1..=2 {
        let ran = daemon.run(&["cat", "--fetch", &url]);
        assert_eq!((ran.status, ran.out), (0, want("/page/1.html")), "{}", ran.err);
        assert_eq!(ran.err.contains("done      200"), times == 1, "{}", ran.err);
        assert_eq!(origin.count("/page/1.html"), 1, "the stored copy is printed the second time");
    }
    daemon.ok(&["offline"]);
    let later = origin.url("/page/2.html");
    let ran = daemon.run(&["cat", "--fetch", "--headers", &later]);
    assert_eq!((ran.status, ran.out.as_str()), (10, ""), "{ran:?}");
    assert!(ran.err.contains("queued"), "{ran:?}");
    assert_eq!(daemon.queued(), std::slice::from_ref(&later));
    daemon.ok(&["online"]);
    let ran = daemon.run(&["cat", "--fetch", "--headers", &later]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.starts_with("HTTP/1.1 200") && ran.out.ends_with(&want("/page/2.html")));
    let nobody = daemon.run(&["cat", "--fetch", "http://127.0.0.1:1/"]);
    assert_eq!((nobody.status, nobody.out.as_str()), (1, ""), "{nobody:?}");
    assert_ne!(nobody.err, "");
}

#[test]
fn get_sends_a_form_or_a_file_once_now_or_when_online() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/in", |exchange| {
        let body = String::from_utf8_lossy(exchange.body()?).into_owned();
        let seen = &exchange.seen;
        let kind = seen.fields.get("Content-Type").unwrap_or_default();
        let text = format!("{} {kind} {body}", seen.method);
        exchange.answer(&Answer::html(text))
    });
    let url = origin.url("/in");
    let file = daemon.home().join("notes.txt");
    std::fs::write(&file, "notes").unwrap();
    let (file, at_file) = (file.to_str().unwrap(), format!("@{}", file.display()));
    let rows: [(&[&str], &str, &str); 5] = [
        (&["--data", "a=1&b=2"], "", "POST application/x-www-form-urlencoded a=1&b=2"),
        (&["--data", "-1", "--type", "text/plain"], "", "POST text/plain -1"),
        (&["--data", &at_file], "", "POST application/x-www-form-urlencoded notes"),
        (&["--data", "@-"], "typed", "POST application/x-www-form-urlencoded typed"),
        (&["--upload", file, "--type", "text/markdown"], "", "PUT text/markdown notes"),
    ];
    let send = |typed: &[&str], input: &str| {
        let line = [&["get"], typed, &[url.as_str()]].concat();
        run(daemon.command(&line), Some(input.as_bytes()))
    };
    let stored = || {
        let listed = daemon.run(&["ls", "--json"]).lines();
        let urls = listed.iter().map(|item| item["url"].as_str().unwrap().to_owned());
        urls.map(|url| daemon.ok(&["cat", &url])).collect::<Vec<_>>()
    };
    for (typed, input, want) in &rows {
        let ran = send(typed, input);
        assert_eq!(ran.status, 0, "{typed:?}: {ran:?}");
        assert!(stored().iter().any(|answer| answer == want), "{typed:?}: {:?}", stored());
    }
    assert_eq!(origin.count("/in"), rows.len());
    daemon.ok(&["offline"]);
    let later = send(&["--upload", "-"], "later");
    assert_eq!(later.status, 10, "{later:?}");
    assert_eq!(daemon.queue()[0]["method"], "PUT");
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(origin.count("/in"), rows.len() + 1);
    let want = "PUT application/octet-stream later";
    assert!(stored().iter().any(|answer| answer == want), "{:?}", stored());

    let rejected: [&[&str]; 4] = [
        &["--data", "x", "--upload", file],
        &["--data", "x", "-r", "1"],
        &["--data", "x", "--images"],
        &["--type", "text/plain"],
    ];
    for typed in rejected {
        assert_eq!(send(typed, "").status, 2, "{typed:?}");
    }
    assert_eq!(send(&["--upload", "-"], &"x".repeat(256 * 1024 + 1)).status, 1, "too large");
    assert_eq!(send(&["--data", "x", "--type", "a\nb"], "").status, 1, "an invalid type");
    assert_eq!(send(&["--upload", "/nowhere"], "").status, 2);
    assert_eq!(origin.count("/in"), rows.len() + 1);
}

#[test]
fn ls_lists_the_entries_of_a_url() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (url, other) = (origin.url("/page/1.html"), origin.url("/page/2.html"));
    daemon.ok(&["get", &url, &other]);
    let listed = daemon.ok(&["ls", &url]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.contains(&url), "{listed}");
    let spelled = url.replace("/page/", "/%70age/./");
    assert_eq!(daemon.run(&["ls", "--json", &spelled]).lines()[0]["url"], url);
    let missing = daemon.run(&["ls", &origin.url("/page/3.html")]);
    assert_eq!((missing.status, missing.out.as_str()), (1, ""), "{missing:?}");
    assert!(missing.err.contains("not in the spool"), "{missing:?}");
    assert_eq!(daemon.run(&["ls", "http://[/x"]).status, 1, "not a URL");
    assert!(daemon.ok(&["ls", &origin.url("")]).lines().count() > 1, "the host");
}

#[test]
fn get_refreshes_only_on_request() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let fresh = |text: &str| Answer::html(text).field("Cache-Control", "max-age=3600");
    origin.say("/news", fresh("old"));
    let url = origin.url("/news");
    daemon.ok(&["get", &url]);
    origin.say("/news", fresh("new"));
    daemon.ok(&["get", &url]);
    assert_eq!(daemon.ok(&["cat", &url]), "old");
    daemon.ok(&["get", "--refresh", &url]);
    assert_eq!(daemon.ok(&["cat", &url]), "new");
}

#[test]
fn get_reports_failures() {
    let daemon = Daemon::configured("[fetch-options]\nattempts = 2\nretry-delay = \"100ms\"\n");
    let mut origin = Origin::start();
    let good = origin.url("/page/1.html");
    daemon.ok(&["get", &good]);
    origin.stop();
    let bad = origin.url("/page/2.html");
    let ran = daemon.run(&["get", &bad]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!((ran.out.clone() + &ran.err).contains(&bad), "{ran:?}");
    assert!((ran.out.clone() + &ran.err).contains("refused"), "{ran:?}");
    let ran = daemon.run(&["get", "http://[bad"]);
    assert!([1, 2].contains(&ran.status), "{ran:?}");
}

#[test]
fn get_of_an_unfetchable_url_fails_at_once() {
    let daemon = Daemon::start();
    let own = daemon.own("/index/");
    for (url, want) in [
        ("nosuch.invalid", "is unknown"),
        ("https://a.nosuch.invalid/x", "is unknown"),
        ("ht!tp://a.example/", "this proxy does not fetch the protocol \"ht!tp\""),
        ("ws://a.example/", "the protocol \"ws\""),
        (&own, "it is a page of this proxy itself"),
    ] {
        let ran = daemon.run(&["get", url]);
        assert_eq!(ran.status, 1, "{url}: {ran:?}");
        assert!((ran.out.clone() + &ran.err).contains(want), "{url}: {ran:?}");
        assert!(!ran.out.contains("retry"), "{url}: {ran:?}");
    }
}

#[test]
fn an_option_of_2_9_is_answered_with_its_new_name() {
    let place = Daemon::prepare(None);
    for (typed, want) in [("-online", "`wwwoffle online`"), ("-fetch", "`wwwoffle fetch --wait`")] {
        let mut command = place.bare_command();
        command.arg(typed);
        let ran = run(command, None);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(want), "{ran:?}");
    }
}

#[test]
fn a_mistyped_list_name_is_answered_with_all_names() {
    let place = Daemon::start();
    let ran = place.run(&["ls", "bogus"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    let help = place.ok(&["ls", "--help"]);
    for name in ["lasttime", "prevtimeN", "lastout", "prevoutN", "monitor", "failed", "session/N"] {
        assert!(ran.err.contains(name), "{name}: {ran:?}");
        assert!(help.contains(name), "{name}: {help}");
        place.ok(&["ls", &name.replace('N', "1")]);
    }
}

#[test]
fn a_section_of_the_configuration_can_be_shown() {
    let place = Daemon::prepare(Some("[purge]\nage = \"9d\"\n"));
    let shown = place.ok(&["config", "get", "purge"]);
    assert!(shown.contains("purge.age = \"9d\""), "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("purge.")), "{shown}");
    assert_eq!(place.run(&["config", "get", "purgatory"]).status, 2);
}

#[test]
#[ignore = "slow"]
fn a_list_right_after_a_removal_is_current() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page/1.html");
    for _ in 0..3 {
        daemon.ok(&["get", &url]);
        assert!(daemon.ok(&["ls", "--text", "page/1"]).contains(&url));
        daemon.ok(&["rm", &url]);
        assert_eq!(daemon.ok(&["ls", "--text", "page/1"]), "");
    }
}

#[test]
fn requests_are_ordered_removed_and_retried_by_url() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let urls = ["http://a.example/1", "http://a.example/2", "http://a.example/3"];
    for url in urls {
        assert_eq!(daemon.run(&["get", url]).status, 10);
    }
    daemon.ok(&["queue", "--first", urls[2]]);
    let listed = |daemon: &Daemon| {
        let queue = daemon.run(&["queue", "--json"]).json()["queue"].clone();
        let urls =
            queue.as_array().unwrap().iter().map(|item| item["url"].as_str().unwrap().to_owned());
        urls.collect::<Vec<_>>()
    };
    assert_eq!(listed(&daemon), [urls[2], urls[0], urls[1]]);
    for (sort, want) in [("turn", [2, 0, 1]), ("age", [0, 1, 2]), ("url", [0, 1, 2])] {
        let lines = daemon.ok(&["queue", "--sort", sort]);
        let shown = lines.lines().map(|line| line.split("; ").next().unwrap());
        let shown = shown.map(|line| line.split_whitespace().nth(3).unwrap());
        assert_eq!(shown.collect::<Vec<_>>(), want.map(|at: usize| urls[at]), "{sort}");
    }

    let ran = daemon.run(&["queue", "--remove", urls[0], "http://a.example/none"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("1 request removed"), "{ran:?}");
    assert!(ran.err.contains("not on the queue: http://a.example/none"), "{ran:?}");
    assert_eq!(daemon.run(&["queue", "--remove"]).status, 2);
    assert!(daemon.ok(&["queue", "--remove", "--all"]).contains("2 requests removed"));
    assert!(listed(&daemon).is_empty());

    daemon.ok(&["online"]);
    assert_eq!(daemon.run(&["get", "nosuch.invalid"]).status, 1);
    for retry in [&["queue", "--retry"][..], &["queue", "--retry", "nosuch.invalid"]] {
        assert_eq!(daemon.ok(retry), "1 request to be retried\n");
        // The download fails again, before or during this command.
        let ran = daemon.run(&["fetch", "--wait"]);
        assert!([0, 1].contains(&ran.status), "{ran:?}");
    }
}

#[test]
fn get_offline_queues() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html");
    let ran = daemon.run(&["get", &url]);
    assert_eq!(ran.status, 10, "{ran:?}");
    assert_eq!(daemon.queued(), [url.as_str()]);
    let ran = daemon.run(&["queue", "--json"]);
    let queue = &ran.json()["queue"];
    assert_eq!((&queue[0]["url"], &queue[0]["method"]), (&json!(url), &json!("GET")), "{ran:?}");
    for key in ["key", "kind", "page", "queued", "state", "attempts", "not_before", "error"] {
        assert!(queue[0].get(key).is_some(), "{key}: {ran:?}");
    }
    assert!(daemon.ok(&["queue"]).contains(&url));
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(daemon.run(&["queue", "--json"]).json(), json!({"queue": []}));
    daemon.ok(&["fetch", "--wait"]);
    daemon.ok(&["fetch"]);
}

#[test]
#[ignore = "slow"]
fn ls_lists_and_rm_forgets() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let urls: Vec<_> = (0..3).map(|n| origin.url(&format!("/page/{n}.html"))).collect();
    for url in &urls {
        daemon.get(url);
    }
    daemon.get(&origin.url("/gone/1.html"));
    daemon.settle();
    let host = format!("http/{}", origin.addr);
    for running in [true, false] {
        if !running {
            daemon.down();
        }
        for what in [vec!["ls"], vec!["ls", "http"], vec!["ls", &host]] {
            let listed = daemon.ok(&what);
            for url in &urls {
                assert!(listed.contains(url), "{what:?}: {listed}");
            }
        }
        assert_eq!(daemon.ok(&["ls", "http/elsewhere.example"]), "");
        let lines = daemon.run(&["ls", "--json"]).lines();
        assert_eq!(lines.len(), 4, "{lines:?}");
        let gone = lines.iter().find(|line| line["url"] == origin.url("/gone/1.html")).unwrap();
        assert_eq!(gone["status"], 404, "{gone}");
        for key in ["key", "type", "bytes", "stored"] {
            assert!(!gone[key].is_null(), "{key}: {gone}");
        }
    }
    daemon.up();
    daemon.ok(&["rm", &urls[0], &urls[1]]);
    assert_eq!(daemon.run(&["ls", "--json"]).lines().len(), 2);
    assert_eq!(daemon.run(&["cat", &urls[0]]).status, 1);
    let again = daemon.run(&["rm", &urls[0]]);
    assert_eq!(again.status, 1, "{again:?}");
    assert!(again.err.contains(&urls[0]), "{again:?}");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&urls[1]).status, 504);
    assert_eq!(daemon.get(&urls[2]).status, 200);
    assert!(daemon.ok(&["ls", "outgoing"]).contains(&urls[1]) == (daemon.queue().len() == 1));
}

#[test]
fn hash_prints_key_and_path() {
    let place = Daemon::prepare(None);
    let ran = place.run(&[
        "hash",
        "HTTP://Example.ORG",
        "http://example.org:80/",
        "http://example.org/b",
    ]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert_eq!(lines[0], lines[1], "two spellings, one key");
    assert_ne!(lines[0], lines[2]);
    let key = lines[0].split_ascii_whitespace().next().unwrap();
    assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{ran:?}");
    let path = format!("http/example.org/{}/{key}.warc", &key[..2]);
    assert!(lines[0].contains(&path), "{path} in {ran:?}");
    assert_eq!(place.run(&["hash", "http://["]).status, 1);
}

#[test]
fn an_entry_is_at_the_path_that_hash_prints() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page/1.html");
    daemon.get(&url);
    daemon.settle();
    let out = daemon.ok(&["hash", &url]);
    let path = out.split_ascii_whitespace().nth(1).expect("a path after the key");
    let file = daemon.spool().join(path);
    eventually("the entry is at its place", || file.exists());
}

fn url_lines(options: &[&str], lines: &str) -> Ran {
    let place = Daemon::prepare(None);
    let mut command = place.bare_command();
    command.arg("url").args(options);
    daemon::run(command, Some(lines.as_bytes()))
}

#[test]
fn url_handles_each_line_and_continues_after_an_error() {
    let lines = [
        r#"{"fn": "URLDecodeGeneric", "in": "a%20b"}"#,
        "not json",
        r#"{"fn": "NoSuchFunction", "in": "x"}"#,
        r#"{"fn": "canonical", "in": "http://[bad"}"#,
        r#"{"fn": "canonical", "in": "HTTP://Example.ORG:80"}"#,
        r#"{"fn": "reference", "in": {"base": "http://a/b/c/d;p?q", "ref": "../g", "rules": "rfc3986"}}"#,
        r#"{"fn": "URLDecodeGeneric", "in": "last"}"#,
    ];
    let ran = url_lines(&[], &(lines.join("\n") + "\n"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let out = ran.lines();
    assert_eq!(out.len(), lines.len(), "{ran:?}");
    assert_eq!(out[0], json!({"out": "a b"}));
    for line in &out[1..4] {
        assert!(line["error"].is_string(), "{line}");
    }
    assert_eq!(out[4]["out"]["canonical"], "http://example.org/");
    assert_eq!(out[4]["out"]["key"].as_str().map(str::len), Some(64));
    let path = out[4]["out"]["spool_path"].as_str().unwrap_or_default();
    assert!(path.starts_with("http/example.org/"), "{path}");
    assert!(out[5].get("error").is_none(), "{}", out[5]);
    assert_eq!(out[6], json!({"out": "last"}));
}

#[test]
fn url_recognizes_local_hosts() {
    let ask = r#"{"fn": "SplitURL", "in": "http://proxy.lan:8081/x"}"#;
    let plain = url_lines(&[], ask).lines();
    assert_eq!(plain[0]["out"]["local"], false, "{plain:?}");
    let options = ["--localhost", "localhost,proxy.lan", "--http-port", "8081"];
    let named = url_lines(&options, ask).lines();
    assert_eq!(named[0]["out"]["local"], true, "{named:?}");
    let config =
        "[startup]\nlisten = [\"127.0.0.1:8081\"]\n[local-host]\nnames = [\"proxy.lan\"]\n";
    let place = Daemon::prepare(Some(config));
    let asked = [ask, r#"{"fn": "SplitURL", "in": "/index/"}"#].join("\n");
    let configured = daemon::run(place.command(&["url"]), Some(asked.as_bytes())).lines();
    assert_eq!(configured[0]["out"]["local"], true, "{configured:?}");
    assert_eq!(configured[1]["out"]["name"], "http://proxy.lan:8081/index/");
}

#[test]
fn stop_ends_the_daemon_and_frees_the_spool() {
    let mut daemon = Daemon::start();
    daemon.ok(&["stop"]);
    assert!(daemon.ended().success());
    assert_eq!(daemon.run(&["status"]).status, 69);
    daemon.up();
    assert!(daemon.down().success(), "SIGTERM is a clean end, too");
    daemon.up();
    daemon.signal("INT");
    assert!(daemon.ended().success());
    daemon.up();
    daemon.signal("HUP");
    daemon.ok(&["status"]);
}

#[test]
fn only_the_owner_may_use_the_spool_and_its_socket() {
    use std::os::unix::fs::PermissionsExt;
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.get(&origin.url("/page/1.html"));
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(daemon.spool()), 0o700);
    assert_eq!(mode(&daemon.spool().join("control")) & 0o077, 0);
}
