//! Common TLS clients on HTTPS sites through the proxy: pages are stored online and available
//! offline.

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::harness::daemon::run;
use crate::harness::secure::script;
use crate::harness::tools::{plain, python_with, tool};
use crate::harness::{Answer, Daemon, Forward, Speaks, Stage, Trust, heavy, site};

/// The HTTP version that a client gets if it offers HTTP/2 first.
const BEST: &str = "2";

/// Size of the download whose memory is measured, in bytes.
const LARGE: u64 = 200 * 1024 * 1024;

/// The protocols of the sites.
const ORIGINS: [Speaks; 2] = [Speaks::Http1, Speaks::Http2];

/// Limit of the daemon's peak memory, in KiB.
const MEMORY: u64 = 16 * 1024;

/// A Python program that downloads a page with the standard library only.
const PYTHON: &str = "import ssl, sys, urllib.request as u\n\
    context = ssl.create_default_context(cafile=sys.argv[1])\n\
    proxy = u.ProxyHandler({'https': sys.argv[2]})\n\
    opener = u.build_opener(proxy, u.HTTPSHandler(context=context))\n\
    sys.stdout.buffer.write(opener.open(sys.argv[3], timeout=30).read())\n";

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The kinds of clients.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The system's curl.
    Curl,
    /// A libcurl 8, with the HTTP version that it offers.
    Curl8(&'static str),
    /// Python's `urllib` with its `ssl`.
    Python,
}

impl Kind {
    /// Downloads the URLs in order. Returns the digests of the bodies.
    #[track_caller]
    fn digests(self, stage: &Stage, urls: &[&str]) -> Vec<String> {
        let (proxy, trust) = (stage.proxy(), stage.trust.file());
        let Self::Curl8(version) = self else {
            let one = |url: &&str| {
                let mut command = match self {
                    Self::Curl => Command::new("curl"),
                    _ => Command::new("python3"),
                };
                match self {
                    Self::Curl => command
                        .args(["-sS", "--fail", "--noproxy", "", "-x", &proxy])
                        .args(["--cacert", trust, url]),
                    _ => command.args(["-c", PYTHON, trust, &proxy, url]),
                };
                let output = crate::harness::daemon::output(plain(command), None, LIMIT);
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{self:?} {url}: {said}");
                digest(&output.stdout)
            };
            return urls.iter().map(one).collect();
        };
        let mut python = python_with("pycurl");
        python.arg(script("curl8.py")).args([&proxy, trust, version]).args(urls);
        let ran = run(python, None);
        assert_eq!(ran.status, 0, "{self:?}: {ran:?}");
        let rows: Vec<Vec<&str>> =
            ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
        let spoken = if version == "2" { BEST } else { version };
        for row in &rows {
            assert_eq!(row[..2], ["200", spoken], "{self:?}: {}", ran.out);
        }
        // The `Connection` field of the site is not passed on, so the client keeps its connection.
        assert_eq!(rows.last().unwrap()[2], "1", "more than one connection: {}", ran.out);
        rows.iter().map(|row| row[4].to_owned()).collect()
    }
}

/// Time limit for one call of a client.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
#[ignore = "needs curl and python3 with pycurl"]
fn pages_are_stored_and_served_offline_to_every_client() {
    let kinds = [Kind::Curl, Kind::Curl8("1.1"), Kind::Curl8("2"), Kind::Python];
    for (kind, speaks) in kinds.into_iter().flat_map(|kind| ORIGINS.map(|speaks| (kind, speaks))) {
        let mut stage = Stage::speaking(speaks);
        let text = "<!DOCTYPE html><title>Secure</title><p>kept over TLS";
        stage.site.origin.say("/text", Answer::html(text).chunked());
        stage.site.origin.say("/end", Answer::html(text).until_close());
        let paths = ["/text", "/end", "/image/46.png", "/page/1.html", "/big/3000001"];
        let mut want = vec![digest(text.as_bytes()); 2];
        want.extend(paths[2..4].iter().map(|path| digest(&site::answer(path).unwrap().body)));
        let big = crate::harness::Client::connect(stage.site.origin.addr)
            .get_path("127.0.0.1", paths[4], "")
            .whole();
        want.push(digest(&big.body));
        for mode in ["online", "offline"] {
            for host in ["127.0.0.1", "localhost"] {
                let urls: Vec<String> =
                    paths.iter().map(|path| stage.site.url_at(host, path)).collect();
                let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
                assert_eq!(kind.digests(&stage, &urls), want, "{kind:?} {speaks:?} {mode} {host}");
            }
            stage.go_offline();
        }
    }
}

/// The output of `openssl s_client` with these arguments.
#[track_caller]
fn s_client(daemon: &Daemon, trust: &Trust, target: &str, arguments: &[&str]) -> String {
    let there = Forward::to(daemon.addr(), target);
    let there = there.addr.to_string();
    let fixed = ["s_client", "-connect", &there, "-CAfile", trust.file(), "-verify_return_error"];
    let seen = tool("openssl", &[&fixed[..], arguments].concat(), "");
    seen.out + &seen.err
}

#[test]
#[ignore = "needs openssl"]
fn openssl_gets_a_certificate_for_the_requested_name() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    let (name, other) = ("www.example.org", "other.example.net");
    let (idna, address) = ("xn--bcher-kva.example", "192.0.2.7");
    let rows: [(&str, &[&str], &str); 12] = [
        ("www.example.org:443", &["-servername", name, "-verify_hostname", name], ""),
        ("www.example.org:443", &["-noservername", "-verify_hostname", name], ""),
        ("www.example.org:443", &["-servername", name, "-verify_hostname", other], "hostname"),
        // The client verifies the name that it sent in the handshake, whatever the target of the
        // connection is.
        ("www.example.org:443", &["-servername", other, "-verify_hostname", other], ""),
        ("www.example.org:443", &["-servername", other, "-verify_hostname", name], "hostname"),
        ("XN--Bcher-kva.example:443", &["-noservername", "-verify_hostname", idna], ""),
        ("xn--bcher-kva.example:443", &["-servername", idna, "-verify_hostname", idna], ""),
        ("192.0.2.7:443", &["-noservername", "-verify_ip", address], ""),
        ("192.0.2.7:443", &["-noservername", "-verify_ip", "192.0.2.8"], "IP address mismatch"),
        ("192.0.2.7:443", &["-noservername", "-verify_hostname", name], "hostname"),
        ("[2001:db8::7]:443", &["-noservername", "-verify_ip", "2001:db8::7"], ""),
        ("[2001:db8:0::7]:443", &["-noservername", "-verify_ip", "2001:db8::8"], "IP address"),
    ];
    for version in ["-tls1_2", "-tls1_3"] {
        for (target, arguments, fault) in rows {
            let said = s_client(&daemon, &trust, target, &[&[version], arguments].concat());
            let right = said.contains("Verify return code: 0 (ok)") && !said.contains("error");
            assert_eq!(right, fault.is_empty(), "{version} {target} {arguments:?}: {said}");
            assert!(said.contains(fault), "{version} {target} {arguments:?}: {said}");
        }
    }
    for version in ["-tls1", "-tls1_1"] {
        let old = ["-cipher", "DEFAULT@SECLEVEL=0", "-servername", name];
        let said =
            s_client(&daemon, &trust, "www.example.org:443", &[&[version][..], &old].concat());
        assert!(!said.contains("BEGIN CERTIFICATE"), "{version}: {said}");
    }
}

#[test]
#[ignore = "needs curl"]
fn a_large_download_is_forwarded_in_little_memory() {
    let _alone = heavy();
    for (speaks, option) in ORIGINS.into_iter().zip(["--http1.1", "--http2"]) {
        let stage = Stage::speaking(speaks);
        let path = format!("/big/{LARGE}");
        let before = stage.daemon.peak_kib();
        for mode in ["online", "offline"] {
            stage.daemon.ok(&[mode]);
            let (file, proxy) = (stage.daemon.home().join("download"), stage.proxy());
            let mut curl = plain(Command::new("curl"));
            curl.args(["-sS", "--fail", "--noproxy", "", "-x", &proxy, option, "--cacert"]);
            curl.arg(stage.trust.file()).arg("-o").arg(&file).arg(stage.site.url(&path));
            let ran = run(curl, None);
            assert_eq!(ran.status, 0, "{option} {mode}: {ran:?}");
            let (mut check, mut bytes) = (site::Check::new(), vec![0; 1 << 16]);
            let mut file = std::fs::File::open(&file).unwrap();
            while let read @ 1.. = file.read(&mut bytes).unwrap() {
                check.take(&bytes[..read]);
            }
            assert_eq!((check.seen, check.wrong), (LARGE, None), "{option} {mode}");
            let peak = stage.daemon.peak_kib();
            eprintln!("200 MiB {option} {mode}: {peak} KiB at most, {before} KiB before");
            assert!(peak < MEMORY, "{option} {mode}: {peak} KiB");
            stage.daemon.settle();
        }
        assert_eq!(stage.site.origin.count(&path), 1, "{option}");
    }
}
