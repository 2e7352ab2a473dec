//! Tests verbs against a socket that sends raw bytes.

use std::{
    io::Write as _,
    os::unix::net::UnixListener,
    path::Path,
    process::{Command, Stdio},
};

use crate::base::exit::ExitStatus;
use crate::cli::control::tests::{asked, daemon, ok};
use crate::cli::tests::{Ran, wwwoffle};

const STATUS: &str = r#"{"version":"0.1.0","mode":"offline","pid":7,"spool":"/s",
    "listen":["127.0.0.1:8080","[::1]:8080"],"since":"2026-11-20T12:00:00.5Z",
    "queue":{"waiting":1,"failed":2,"active":0},
    "downloads":[{"url":"http://a/","bytes":1500,"total":3000},
        {"url":"http://b/","bytes":1500,"total":null,"rate":0,"resumed":2,"waiting":{"attempts":3,
        "since":"2026-11-20T12:00:00Z","next":"2026-11-20T12:00:04Z","error":"reset"}}],
    "connections":4,"outward_refused":5,"failing_parents":[{"parent":"p.example:3128",
        "reason":"it is down","since":"2026-11-20T12:00:00Z","until":"2026-11-20T12:01:00Z"}],"runs":2,"purge":12,
    "last_online":"2026-11-20T11:00:00Z","last_offline":"2026-11-20T11:30:00.25Z"}"#;

const ORDERED: &str = r#"{"queue":[
    {"key":"ab","url":"http://a/","method":"GET","kind":"page","page":null,"turn":2,
        "queued":"2026-11-20T12:00:00Z","state":"waiting","attempts":0,"not_before":null,"error":null},
    {"key":"cd","url":"http://b/","method":"GET","kind":"page","page":null,"turn":1,"priority":"first",
        "queued":"2026-11-20T12:00:00Z","state":"waiting","attempts":0,"not_before":null,"error":null}]}"#;

/// Runs the verb against a daemon that responds once with `body`; also returns the request.
fn answered(line: &[&str], body: &str) -> (Ran, String) {
    let spool = tempfile::tempdir().unwrap();
    let daemon = daemon(spool.path(), ok(body), 1000);
    let line = [&["--spool", spool.path().to_str().unwrap()], line].concat();
    let ran = wwwoffle(&line, "", Path::new("/nowhere"));
    (ran, daemon.join().unwrap())
}

#[test]
fn each_command_sends_its_call_and_prints_the_result() {
    let queue = r#"{"queue":[{"key":"ab","url":"http://a/","method":"GET","kind":"page",
        "page":null,"queued":"2026-11-20T12:00:00Z","state":"failed","attempts":5,
        "not_before":null,"error":"refused"}]}"#;
    let table: [(&[&str], &str, &str, &str, &str); 10] = [
        (
            &["offline"],
            r#"{"mode":"offline","was":"online"}"#,
            "POST /api/mode ",
            r#"{"mode":"offline"}"#,
            "offline (was online)\n",
        ),
        (
            &["online"],
            r#"{"mode":"online","was":"online"}"#,
            "POST /api/mode ",
            r#"{"mode":"online"}"#,
            "online (as before)\n",
        ),
        (
            &["fetch"],
            r#"{"started":3}"#,
            "POST /api/fetch ",
            r#"{"wait":false}"#,
            "fetching 3 requests\n",
        ),
        (
            &["queue"],
            queue,
            "GET /api/queue ",
            "",
            "failed   2026-11-20T12:00:00Z  GET  http://a/: refused\n",
        ),
        (
            &["queue"],
            ORDERED,
            "GET /api/queue ",
            "",
            "waiting  2026-11-20T12:00:00Z  GET  http://b/; first\n\
             waiting  2026-11-20T12:00:00Z  GET  http://a/\n",
        ),
        (
            &["queue", "--first", "http://a/", "b"],
            r#"{"prioritized":3,"missing":[]}"#,
            "POST /api/queue/priority ",
            r#"{"priority":"first","urls":["http://a/","b"]}"#,
            "3 requests to be fetched first\n",
        ),
        (&["queue", "--json"], r#"{"queue":[]}"#, "GET /api/queue ", "", "{\"queue\":[]}\n"),
        (
            &["status"],
            STATUS,
            "GET /api/status ",
            "",
            "mode         offline\n\
             last online  2026-11-20T11:00:00Z\n\
             last offline 2026-11-20T11:30:00Z\n\
             queue        1 waiting, 0 under way, 2 failed\n\
             fetches      2 recursive: `wwwoffle runs` lists them\n\
             purge        is running, 12 entries examined\n\
             download     1.5 kB of 3.0 kB http://a/\n\
             download     1.5 kB, resumed 2 times http://b/\n\
             \x20            interrupted at 2026-11-20T12:00:00Z: reset; attempt 3 to resume at \
             2026-11-20T12:00:04Z\n\
             listening    127.0.0.1:8080, [::1]:8080\n\
             connections  4\n\
             refused      5 connections outward, while offline\n\
             parent proxy p.example:3128 is avoided until 2026-11-20T12:01:00Z: it is down\n\
             spool        /s\n\
             daemon       0.1.0, pid 7, since 2026-11-20T12:00:00Z\n",
        ),
        (
            &["get", "--refresh", "http://a/", "b"],
            "{\"event\":\"done\",\"url\":\"http://a/\",\"status\":200,\"bytes\":5}\n\
             {\"event\":\"end\",\"fetched\":1,\"failed\":0,\"waiting\":0}\n",
            "POST /api/get ",
            r#"{"urls":["http://a/","b"],"refresh":true}"#,
            "done      200     5 B  http://a/\n1 stored, 0 failed, 0 waiting\n",
        ),
        (
            &["rm", "http://a/"],
            r#"{"deleted":["http://a/"],"missing":[]}"#,
            "POST /api/entries/delete ",
            r#"{"urls":["http://a/"]}"#,
            "removed http://a/\n",
        ),
    ];
    for (line, body, head, asked_body, out) in table {
        let (ran, asked) = answered(line, body);
        assert_eq!((ran.status, ran.err.as_str()), (ExitStatus::Done, ""), "{line:?}");
        assert_eq!(ran.out, out, "{line:?}");
        assert!(asked.starts_with(head) && asked.ends_with(asked_body), "{line:?}: {asked}");
    }
}

#[test]
fn failures_have_their_exit_status() {
    let end = |fetched, failed, waiting| {
        format!(
            "{{\"event\":\"end\",\"fetched\":{fetched},\"failed\":{failed},\"waiting\":{waiting}}}\n"
        )
    };
    let table: [(&[&str], &str, ExitStatus, &str); 6] = [
        (&["get", "a"], &end(0, 0, 1), ExitStatus::Queued, ""),
        (
            &["fetch", "--wait"],
            &end(3, 1, 1),
            ExitStatus::Failed,
            "wwwoffle: 1 request failed, for the reasons above; ",
        ),
        (&["fetch", "--wait"], "", ExitStatus::Failed, "wwwoffle: the daemon ended before "),
        (
            &["fetch", "--wait"],
            "{}",
            ExitStatus::Failed,
            "wwwoffle: the response of the daemon is invalid",
        ),
        (
            &["queue", "--last", "http://a/"],
            r#"{"prioritized":0,"missing":["http://a/"]}"#,
            ExitStatus::Failed,
            "wwwoffle: not on the queue: http://a/\n",
        ),
        (
            &["rm", "http://a/"],
            r#"{"deleted":[],"missing":["http://a/"]}"#,
            ExitStatus::Failed,
            "wwwoffle: not in the spool: http://a/\n",
        ),
    ];
    for (line, body, status, err) in table {
        let (ran, _) = answered(line, body);
        assert_eq!(ran.status, status, "{line:?} {body}");
        assert!(ran.err.starts_with(err) && ran.err.is_empty() == err.is_empty(), "{}", ran.err);
    }
}

/// The daemon closes its socket before it ends, and its parent may be slow to reap it.
#[test]
fn stop_waits_for_the_end_of_the_process() {
    let spool = tempfile::tempdir().unwrap();
    let mut process = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let (pid, stdin) = (process.id(), process.stdin.take());
    let listener = UnixListener::bind(spool.path().join("control")).unwrap();
    let daemon = std::thread::spawn(move || {
        let status = STATUS.replace("\"pid\":7", &format!("\"pid\":{pid}"));
        for body in [&status, r#"{"stopping":true}"#] {
            let mut client = listener.accept().unwrap().0;
            asked(&mut client);
            client.write_all(ok(body).as_bytes()).unwrap();
        }
        drop((listener, stdin));
    });
    let line = ["--spool", spool.path().to_str().unwrap(), "stop"];
    let ran = wwwoffle(&line, "", Path::new("/nowhere"));
    assert_eq!((ran.status, ran.out.as_str()), (ExitStatus::Done, "stopped\n"), "{}", ran.err);
    assert!(process.try_wait().unwrap().is_some(), "the process has ended");
    daemon.join().unwrap();
}
