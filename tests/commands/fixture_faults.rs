//! Recordings that cannot be used, and exchanges that cannot be recorded.

use std::path::Path;

use super::fixtures::{Studio, report};
use crate::harness::tools::{program, tool};
use crate::harness::{After, Answer, Gate, Origin};

/// Replaces text in a member of the ZIP. Text and replacement have the same length.
fn patch(file: &Path, text: &str, by: &str) {
    assert_eq!(text.len(), by.len());
    let bytes = std::fs::read(file).unwrap();
    let at = bytes.windows(text.len()).position(|bytes| bytes == text.as_bytes());
    let at = at.unwrap_or_else(|| panic!("{text} is not in the file"));
    let mut patched = bytes;
    patched[at..at + text.len()].copy_from_slice(by.as_bytes());
    std::fs::write(file, patched).unwrap();
}

/// Changes the settings in the recording by a Python expression about `s`, and corrects all
/// digests.
fn change_settings(file: &Path, change: &str) {
    let script = format!(
        "import hashlib, json, sys, zipfile\n\
         z = zipfile.ZipFile(sys.argv[1]); m = {{n: z.read(n) for n in z.namelist()}}\n\
         s = json.loads(m['wwwoffle/fixture.json']); {change}\n\
         t = json.dumps(s).encode(); m['wwwoffle/fixture.json'] = t\n\
         p = json.loads(m['datapackage.json'])\n\
         for r in p['resources']:\n\
         \x20   if r['path'] == 'wwwoffle/fixture.json':\n\
         \x20       r['hash'], r['bytes'] = 'sha256:' + hashlib.sha256(t).hexdigest(), len(t)\n\
         m['datapackage.json'] = json.dumps(p).encode()\n\
         w = zipfile.ZipFile(sys.argv[1], 'w')\n\
         for n in m: w.writestr(n, m[n])\n\
         w.close()\n"
    );
    let mut command = std::process::Command::new("python3");
    let ran = crate::harness::daemon::run(
        {
            command.args(["-c", &script]).arg(file);
            command
        },
        None,
    );
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
#[ignore = "needs curl and python3"]
fn a_damaged_recording_is_refused_with_its_reason() {
    let _tools = [program(&["curl"]), program(&["python3"])];
    let studio = Studio::set();
    studio.site.origin.say("/", Answer::html("page"));
    studio.record(&format!("curl -sS {}", studio.site.url("/")));
    let (file, sound) = (studio.file(), std::fs::read(studio.file()).unwrap());
    let write = |bytes: &[u8]| std::fs::write(&file, bytes).unwrap();
    let refused = |why: &str| {
        let ran = studio.replay(&[], "echo ran");
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{why}: {ran:?}");
        assert!(ran.err.contains(why) && ran.err.contains("site.wacz"), "{why}: {ran:?}");
    };
    write(&sound[..sound.len() / 2]);
    refused("it is a damaged ZIP file");
    write(b"");
    refused("it is a damaged ZIP file");
    write(&sound);
    patch(&file, "\"ignore_body\": false", "\"ignore_body\":  true");
    refused("cannot be replayed");
    let at = sound.windows(3).position(|bytes| bytes == [0x1f, 0x8b, 8]).unwrap();
    let mut bytes = sound.clone();
    bytes[at + 40] ^= 0x55;
    write(&bytes);
    refused("cannot be replayed");
    for (change, why) in [
        ("s['version'] = 2", "it was written by a newer wwwoffle, in version 2 of the format"),
        ("s['authority'] = 'x'", "holds no private key"),
        ("s['rules'] = 7", "its wwwoffle/fixture.json is invalid"),
    ] {
        write(&sound);
        change_settings(&file, change);
        refused(why);
    }
    // The authority of another fixture, and one for all hosts.
    for (names, why) in [
        (
            ["-addext", "nameConstraints=critical,permitted;DNS:other.test"],
            "it is not for the recorded host \"127.0.0.1\"",
        ),
        (["-days", "9"], "it is not limited to the recorded hosts"),
    ] {
        write(&sound);
        let key = studio.place.home().join("key.pem");
        let certificate = studio.place.home().join("cert.pem");
        let mut openssl = std::process::Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        openssl.args(["-nodes", "-subj", "/CN=other", names[0], names[1], "-keyout"]).arg(&key);
        let made = crate::harness::daemon::run(
            {
                openssl.arg("-out").arg(&certificate);
                openssl
            },
            None,
        );
        assert_eq!(made.status, 0, "{made:?}");
        let (key, certificate) = (key.to_str().unwrap(), certificate.to_str().unwrap());
        let read = format!("s['authority'] = open('{key}').read() + open('{certificate}').read()");
        change_settings(&file, &read);
        refused(why);
    }
    std::fs::remove_file(&file).unwrap();
    refused("it is missing, or not a file");
}

/// A crawl of another program, which refers to a body of an earlier crawl.
#[test]
#[ignore = "needs curl and python3"]
fn a_response_whose_body_is_elsewhere_is_skipped_and_reported() {
    let _tools = [program(&["curl"]), program(&["python3"])];
    let studio = Studio::set();
    studio.site.origin.say("/", Answer::html("page"));
    let get = format!("curl -sS {}", studio.site.url("/"));
    studio.record(&get);
    let script = "import gzip, json, sys, zipfile\n\
        z = zipfile.ZipFile(sys.argv[1]); m = {n: z.read(n) for n in z.namelist()}\n\
        del m['wwwoffle/fixture.json']\n\
        p = json.loads(m['datapackage.json'])\n\
        p['resources'] = [r for r in p['resources'] if r['path'] in m]\n\
        m['datapackage.json'] = json.dumps(p).encode()\n\
        head = b'HTTP/1.1 200 OK\\r\\n\\r\\n'\n\
        fields = ['WARC/1.1', 'WARC-Type: revisit', 'WARC-Target-URI: https://a.example/',\n\
        \x20   'WARC-Date: 2024-05-01T10:00:00Z', 'WARC-Payload-Digest: sha1:' + 'A' * 32,\n\
        \x20   'Content-Type: application/http; msgtype=response', f'Content-Length: {len(head)}']\n\
        record = '\\r\\n'.join(fields).encode() + b'\\r\\n\\r\\n' + head + b'\\r\\n\\r\\n'\n\
        m['archive/a.warc.gz'] = gzip.compress(record)\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as w:\n\
        \x20   for n in m: w.writestr(n, m[n])\n";
    let file = studio.file();
    let made = tool("python3", &["-c", script, file.to_str().unwrap()], "");
    assert_eq!(made.status, 0, "{made:?}");
    let ran = studio.replay(&["--fail-missing"], &get);
    assert_eq!((ran.status, ran.out.as_str()), (0, "page"), "{ran:?}");
    assert!(ran.err.contains("site.wacz: 1 response skipped"), "{ran:?}");
}

#[test]
#[ignore = "needs curl"]
fn nothing_recorded_before_is_lost() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/", Answer::html("page"));
    let get = format!("curl -sS {}", studio.site.url("/"));
    studio.record(&get);
    let before = std::fs::read(studio.file()).unwrap();
    let same = || std::fs::read(studio.file()).unwrap() == before;
    // Without --replace, an existing file is refused before the command runs.
    let again = studio.run(&["--record", "site.wacz", "--", "echo", "ran"]);
    assert_eq!((again.status, again.out.as_str()), (1, ""), "{again:?}");
    assert!(again.err.contains("exists: --replace records it again"), "{again:?}");
    // A run without a request, and one that is killed, leave the file as it was.
    studio.record("true");
    assert!(same());
    let killed = "kill -KILL $PPID; sleep 0.2";
    let line = ["--record", "site.wacz", "--replace", "--", "sh", "-c"];
    let ran = studio.run(&[&line[..], &[&format!("{get}; {killed}")]].concat());
    assert_eq!(ran.status, -1, "{ran:?}");
    assert!(same());
    assert_eq!(studio.replay(&["--fail-missing"], &get).out, "page");
    assert!(same(), "a replay writes nothing");
    for (name, why) in [("x.warc", "must end with .wacz"), ("no/x.wacz", "directory is missing")] {
        let ran = studio.run(&["--record", name, "--", "echo", "ran"]);
        assert!(ran.status != 0 && ran.out.is_empty() && ran.err.contains(why), "{ran:?}");
    }
    let ran = studio.run(&["--record", "/proc/x.wacz", "--", "echo", "ran"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("the recording cannot be written"), "{ran:?}");
    let ran = studio.run(&["--", "true"]);
    assert_eq!(ran.status, 2, "{ran:?}");
}

#[test]
#[ignore = "needs curl"]
fn what_cannot_be_recorded_is_told() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    let site = &studio.site.origin;
    site.say("/large", Answer::html("x".repeat(100_000)));
    site.say("/small", Answer::html("small"));
    site.on("/broken", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning")?;
        Ok(After::Close)
    });
    let url = studio.site.url("");
    let upgrade = "-H 'Connection: Upgrade' -H 'Upgrade: websocket'";
    let script = format!(
        "curl -sS {url}/large | wc -c; curl -sS {url}/small; curl -s {url}/broken; \
         curl -s http://127.0.0.1:1/; curl -s --http1.1 {upgrade} {url}/small; true"
    );
    let line = ["--record", "site.wacz", "--max-body", "99k", "--report", "report.json"];
    let ran = studio.run(&[&line[..], &["--", "sh", "-c", &script]].concat());
    // Of a response that breaks off, a client over HTTP/2 may show nothing (RFC 9113 §5.4.2).
    assert!(ran.out.starts_with("100000\nsmall"), "{ran:?}");
    let told = report(&studio);
    assert_eq!((&told["recorded"], &told["not_recorded_count"]), (&1.into(), &4.into()), "{told}");
    for (at, why) in ["larger than --max-body", "broke off", "refused", "opened no WebSocket"]
        .into_iter()
        .enumerate()
    {
        let reason = told["not_recorded"][at]["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{why}: {told}");
        assert!(ran.err.contains(why), "{why}: {ran:?}");
    }
    let again = studio.replay(&["--fail-missing"], &format!("curl -s {url}/small"));
    assert_eq!((again.status, again.out.as_str()), (0, "small"), "{again:?}");
}

#[test]
#[ignore = "slow; needs curl"]
fn a_body_of_two_gigabytes_passes_in_bounded_memory() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.on("/huge", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")?;
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..2_048 {
            exchange.send(&piece)?;
        }
        Ok(After::Close)
    });
    let url = studio.site.url("/huge");
    // The peak of the memory of the recorder, in KiB.
    let script = format!("curl -sS {url} | wc -c; grep VmHWM /proc/$PPID/status");
    let ran = studio.run(&["--record", "site.wacz", "--", "sh", "-c", &script]);
    assert!(ran.out.starts_with("2147483648\n"), "{ran:?}");
    assert!(ran.err.contains("larger than --max-body"), "{ran:?}");
    let peak: u64 = ran.out.split_ascii_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(peak < 400 << 10, "{peak} KiB");
}

#[test]
#[ignore = "needs curl"]
fn unusual_exchanges_do_not_spoil_a_recording() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.on("/odd", |exchange| {
        let text = exchange.seen.method.clone();
        let length = text.len();
        exchange.send(format!("HTTP/1.1 999 Odd\r\nContent-Length: {length}\r\n\r\n{text}"))?;
        Ok(After::Close)
    });
    studio.site.origin.on("/trailers", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")?;
        exchange.send("4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n")?;
        Ok(After::Close)
    });
    let url = studio.site.url("");
    let script = format!(
        "for method in GET patch M-SEARCH VERSION-CONTROL; do curl -sS -X $method {url}/odd; done"
    );
    let value = "$(head -c 66000 /dev/zero | tr '\\0' x)";
    let long = format!("curl -sS --http1.1 -H \"X-Long: {value}\" {url}/odd; ");
    let recorded = studio.record(&format!("{long} {script}; curl -sS {url}/trailers"));
    assert_eq!(recorded.out, "GETGETpatchM-SEARCHVERSION-CONTROLbody", "{recorded:?}");
    for why in ["a recording cannot hold it", "it has trailers"] {
        assert!(recorded.err.contains(why), "{why}: {recorded:?}");
    }
    let again = studio.replay(&["--fail-missing"], &script);
    assert_eq!(again.status, 0, "{again:?}");
    assert_eq!(again.out, "GETpatchM-SEARCHVERSION-CONTROL", "{again:?}");
    // What is added later does not spoil it either.
    let more = format!("{long} curl -sS -X patch {url}/odd?more");
    let added = studio.replay(&["--record-missing"], &more);
    assert_eq!(added.status, 0, "{added:?}");
    assert_eq!(studio.replay(&["--fail-missing"], &script).status, 0);
}

#[test]
#[ignore = "needs curl"]
fn a_dropped_response_is_recorded_whole() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/", Answer::html("page".repeat(10_000)));
    let get = format!("curl -s {}", studio.site.url("/"));
    let line = ["--record", "site.wacz", "--drop", "100%", "--", "sh", "-c"];
    let ran = studio.run(&[&line[..], &[&format!("{get}; true")]].concat());
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("1 request recorded in site.wacz"), "{ran:?}");
    assert_eq!(studio.replay(&["--fail-missing"], &get).out, "page".repeat(10_000));
    // An event stream has no end, so it breaks off at once.
    let gate = Gate::new();
    let held = std::sync::Arc::clone(&gate);
    studio.site.origin.on("/events", move |exchange| {
        exchange.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
             9\r\ndata: 0\n\n\r\n",
        )?;
        held.wait();
        Ok(After::Close)
    });
    let get = format!("curl -s {}; echo $?", studio.site.url("/events"));
    let line = ["--record", "events.wacz", "--drop", "100%", "--", "sh", "-c", &get];
    let ran = studio.run(&line);
    assert!(ran.status == 0 && ran.out != "0\n" && !ran.out.contains("data"), "{ran:?}");
    let ran = studio.run(&["--replay", "events.wacz", "--", "sh", "-c", &get]);
    assert_eq!(ran.out, "data: 0\n\n0\n", "{ran:?}");
    let ran = studio.run(&["--replay", "events.wacz", "--drop", "100%", "--", "sh", "-c", &get]);
    assert!(ran.out != "0\n" && !ran.out.contains("data"), "{ran:?}");
    gate.open();
}

#[test]
#[ignore = "needs curl"]
fn the_status_tells_of_every_failure() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/", Answer::html("page"));
    let get = format!("curl -s {}", studio.site.url("/"));
    studio.record(&get);
    let untrusting = format!("env -u SSL_CERT_FILE -u CURL_CA_BUNDLE {get}; true");
    for (script, failed, shown) in [
        ("true", true, "no request arrived"),
        (&untrusting, true, "the certificate is not trusted"),
        (&get, false, "failures=\"0\""),
    ] {
        let options = ["--fail-missing", "--report", "report.xml"];
        let ran = studio.replay(&options, script);
        assert_eq!(ran.status, i32::from(failed), "{script}: {ran:?}");
        let xml = std::fs::read_to_string(studio.place.home().join("report.xml")).unwrap();
        assert!(xml.contains(shown), "{script}: {xml}");
    }
    studio.replay(&["--report", "report.xml"], &format!("{get}; exit 7"));
    let xml = std::fs::read_to_string(studio.place.home().join("report.xml")).unwrap();
    assert!(xml.contains("exit status 7"), "{xml}");
    // Nobody reads standard error, so the messages are lost, but not the status and the recording.
    std::fs::remove_file(studio.file()).unwrap();
    let script = format!("{get}; exit 7");
    let mut command = studio.command(&["--record", "site.wacz", "--", "sh", "-c", &script]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stdout(std::process::Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(7));
    assert_eq!(studio.replay(&["--fail-missing"], &get).out, "page");
    // A report that cannot be written does not hide the status of the command.
    let ran = studio.replay(&["--report", "no/report.json"], &script);
    assert_eq!(ran.status, 7, "{ran:?}");
    assert!(ran.err.contains("no/report.json cannot be written"), "{ran:?}");
}

/// Some clients open a tunnel for `http:` too.
#[test]
#[ignore = "needs curl"]
fn plain_http_in_a_tunnel_is_recorded_and_replayed() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    let mut site = Origin::start();
    site.say("/one", Answer::html("one"));
    site.say("/two", Answer::html("two"));
    let url = site.url("");
    let script = format!("curl -sSf --proxytunnel {url}/one {url}/two");
    let recorded = studio.record(&script);
    assert!(recorded.err.contains("2 requests recorded"), "{recorded:?}");
    site.stop();
    let again = studio.replay(&["--fail-missing"], &script);
    assert_eq!((again.status, again.out.as_str()), (0, "onetwo"), "{again:?}");
    let other = studio.replay(&["--fail-missing"], &format!("curl -sS --proxytunnel {url}/three"));
    assert!(other.status == 1 && other.err.contains("GET http://"), "{other:?}");
    // What is not HTTP is reported, and no connection is opened.
    let host = url.trim_start_matches("http://");
    let raw = format!("printf not-http | curl -sS -x $http_proxy --proxytunnel telnet://{host}");
    let ran = studio.replay(&["--fail-missing"], &raw);
    assert!(ran.err.contains("no recorded response: CONNECT"), "{ran:?}");
}

/// A recording that breaks off does not replace a complete one.
#[test]
#[ignore = "needs curl"]
fn a_failed_recording_leaves_the_earlier_one() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    for path in ["/one", "/two"] {
        studio.site.origin.say(path, Answer::html(path));
    }
    let url = studio.site.url("");
    let whole = format!("curl -sSf {url}/one {url}/two");
    studio.record(&whole);
    for (end, status) in [("exit 3", 3), ("kill -TERM $PPID; exec sleep 1000", 143)] {
        let script = format!("curl -sSf {url}/one; {end}");
        let line = ["--record", "site.wacz", "--replace", "--", "sh", "-c", &script];
        let ran = studio.run(&line);
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(ran.err.contains("site.partial.wacz"), "{ran:?}");
        assert_eq!(studio.replay(&["--fail-missing"], &whole).status, 0);
        let partial = studio.place.home().join("site.partial.wacz");
        assert!(std::fs::remove_file(partial).is_ok());
    }
}

/// A request that could not be recorded is no success, whether the recording is new or completed.
#[test]
#[ignore = "needs curl"]
fn a_request_that_is_not_recorded_counts_as_missing() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/one", Answer::html("one"));
    studio.site.origin.say("/long", Answer::html("x".repeat(9_000)));
    let url = studio.site.url("");
    studio.record(&format!("curl -sSf {url}/one"));
    let more = ["--fail-missing", "--record-missing", "--max-body", "1K", "--report", "r.xml"];
    let ran = studio.replay(&more, &format!("curl -sSf {url}/one {url}/long"));
    assert_eq!(ran.status, 1, "{ran:?}");
    let report = std::fs::read_to_string(studio.place.home().join("r.xml")).unwrap();
    assert!(report.contains("failures=\"1\"") && report.contains("not recorded"), "{report}");
}
