//! Events that must never occur: a secret in the log, a key that other users may read, a response
//! from an unverified origin.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::owners;
use crate::harness::daemon::{AS_PERSON, run};
use crate::harness::form::encode;
use crate::harness::{Answer, Authority, Client, Daemon, Origin, Tls, TlsOrigin, Trust, files};

/// Secrets that must not be in a log, each from another part of a request.
const SECRETS: [&str; 10] = [
    "url-hunter2",
    "cookie-hunter2",
    "set-cookie-hunter2",
    "bearer-hunter2",
    "form-hunter2",
    "proxy-hunter2",
    "location-hunter2",
    "verb-hunter2",
    "key-hunter2",
    // `name:basic-hunter2` in the Base64 of `Authorization: Basic`.
    "bmFtZTpiYXNpYy1odW50ZXIy",
];

/// Every confidential field that a client may send.
fn secret_fields(host: &str) -> String {
    format!(
        "{AS_PERSON}Cookie: session=cookie-hunter2\r\nAuthorization: Bearer bearer-hunter2\r\n\
         Proxy-Authorization: Basic bmFtZTpiYXNpYy1odW50ZXIy\r\nX-Origin: {host}\r\n\
         Proxy-Connection: proxy-hunter2\r\nX-Api-Key: key-hunter2\r\n"
    )
}

/// Sends a form with a password on an open connection. Returns the status of the response.
fn log_in(client: &mut Client, target: &str, host: &str) -> u16 {
    let body = "user=me&password=form-hunter2";
    client.send(format!(
        "POST {target} HTTP/1.1\r\nHost: {host}\r\n{}Content-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        secret_fields(host),
        body.len()
    ));
    client.receive("POST").status
}

/// Makes an origin send responses that contain secrets.
fn script(origin: &Origin) {
    let keyed = Answer::html("kept").field("Set-Cookie", "session=set-cookie-hunter2; Secure");
    origin.say("/kept", keyed.clone());
    origin.say("/login", keyed);
    let to = "https://me:location-hunter2@127.0.0.1:1/next";
    origin.say("/away", Answer::redirect(302, to));
    origin.say("/401", Answer::new(401, "text/plain", "who?"));
}

/// A session with every kind of request, in every mode, successful and failing.
fn visit(daemon: &Daemon, site: &TlsOrigin, bad: &TlsOrigin, plain: &Origin) {
    let trust = Trust::of(daemon);
    let hosts = [site.addr.to_string(), bad.addr.to_string()];
    for mode in ["online", "offline", "autodial", "online"] {
        daemon.ok(&[mode]);
        for host in &hosts {
            let tls = Tls { authority: &trust.der, alpn: &[] };
            let open = || Client::connect_tls(daemon.addr(), host, "127.0.0.1", tls).unwrap();
            for path in ["/kept", "/away", "/401", "/missing?q", "/kept"] {
                open().get_path(host, path, &secret_fields(host));
            }
            log_in(&mut open(), "/login", host);
            // A request for the host of another connection, a malformed request, and a truncated
            // one.
            open().get_path("i.example", "/kept", &secret_fields(host));
            let mut broken = open();
            broken.send(format!("GET /kept HTTP/1.1\r\n{}: x\r\n\r\n", secret_fields(host)));
            let _ = broken.try_receive("GET");
            let _ = open().try_send(format!("GET /kept HTTP/1.1\r\n{}", secret_fields(host)));
        }
        let plain_host = plain.addr.to_string();
        let urls = [format!("http://{plain_host}"), format!("https://{}", hosts[0])];
        for url in &urls {
            for path in ["/kept", "/away", "/missing"] {
                let url = format!("{url}{path}").replacen("://", "://me:url-hunter2@", 1);
                let mut client = daemon.client();
                client.send(format!(
                    "GET {url} HTTP/1.1\r\nHost: {plain_host}\r\n{}\r\n",
                    secret_fields(&plain_host)
                ));
                let _ = client.try_receive("GET");
            }
            log_in(&mut daemon.client(), &format!("{url}/login"), &plain_host);
        }
        let verb = format!("https://me:verb-hunter2@{}/kept", hosts[0]);
        for arguments in [["get", &verb], ["cat", &verb], ["get", "https://me:verb-hunter2@[/"]] {
            daemon.run(&arguments);
        }
        // Clients that do not trust our authority. Their rejections are logged too.
        let nobody = Tls { authority: &[], alpn: &[] };
        let named = format!("localhost:{}", site.addr.port());
        assert!(Client::connect_tls(daemon.addr(), &named, "localhost", nobody).is_err());
        daemon.client().send(format!(
            "CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n{1}\r\n",
            hosts[0],
            secret_fields(&hosts[0])
        ));
    }
    daemon.run(&["fetch", "--wait"]);
    daemon.run(&["queue"]);
    daemon.settle();
}

#[test]
#[ignore = "slow"]
fn no_secret_is_in_the_log_at_any_level() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let site = TlsOrigin::start(authority.identity(&["127.0.0.1"]));
    let bad = TlsOrigin::start(stranger.identity(&["127.0.0.1"]));
    let plain = Origin::start();
    script(&site.origin);
    script(&plain);
    let place = tempfile::tempdir().unwrap();
    let keys = place.path().join("keys");
    let mut daemon = authority
        .place("[options]\nlog-level = \"trace\"\n[fetch-options]\nretry-delay = \"10ms\"\n")
        .with_variable("SSLKEYLOGFILE", keys.to_str().unwrap())
        .with_variable("RUST_LOG", "trace");
    daemon.up();
    visit(&daemon, &site, &bad, &plain);
    daemon.restart();
    assert_eq!(daemon.get(&plain.url("/kept")).status, 200);
    daemon.down();

    assert!(!keys.exists(), "TLS secrets were written");
    let log = daemon.whole_log();
    assert!(log.contains(&site.addr.to_string()) && log.contains("DEBUG"));
    for secret in SECRETS {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
    let ours = std::fs::read_to_string(daemon.spool().join("ca/authority.pem")).unwrap();
    let key = ours.split("-----BEGIN CERTIFICATE").next().unwrap();
    let key: Vec<&str> = key.lines().filter(|line| !line.starts_with('-')).collect();
    assert!(key.concat().len() > 100, "it is a key");
    for file in files(daemon.home()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        if file != daemon.spool().join("ca/authority.pem") {
            assert!(!key.iter().any(|line| text.contains(line)), "the key is in {file:?}");
        }
        // The origin's response is stored unchanged. Secrets of the client are not stored.
        for secret in [
            "url-hunter2",
            "verb-hunter2",
            "key-hunter2",
            "proxy-hunter2",
            "bearer-hunter2",
            "bmFtZTpiYXNpYy1odW50ZXIy",
            "=cookie-hunter2",
        ] {
            assert!(!text.contains(secret), "{secret} unencrypted: {file:?}\n{text}");
        }
    }
    assert!(!key.iter().any(|line| log.contains(line)), "the key is in the log");
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn secrets_are_unreadable_for_others_with_any_umask() {
    let mut daemon = Daemon::prepare(None).with_setup("umask 000");
    daemon.up();
    daemon.ok(&["ca", "renew"]);
    daemon.restart();
    daemon.ok(&["ca", "export"]);
    daemon.down();
    let spool = daemon.spool();
    assert_eq!(mode(spool), 0o700);
    assert_eq!(mode(&spool.join("ca")), 0o700);
    let keys = files(&spool.join("ca"));
    assert!(keys.len() >= 2, "the one in use, and the one before: {keys:?}");
    for file in keys {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    // Other users cannot enter the directory, so the files inside may be readable for them. No file
    // is writable for them.
    for file in files(spool) {
        assert_eq!(mode(&file) & 0o022, 0, "{file:?} can be written by others");
    }
}

#[test]
fn tokens_and_referer_queries_are_hidden_from_others() {
    let (mut daemon, origin) = (owners::daemon(), Origin::start());
    for (path, vary) in [("/p", "Accept"), ("/varying", "Referer, Private-Token")] {
        let answer = Answer::html("p").field("Cache-Control", "public");
        origin.say(path, answer.field("Vary", vary));
        let (url, referer) = (origin.url(path), "Referer: https://h.example/reset?referer-hunter2");
        let fields = format!("Private-Token: token-hunter2\r\n{referer}\r\n");
        assert_eq!(owners::get(&daemon, "ada", &url, &fields).text(), "p");
        daemon.settle();
        for path in ["/api/info?url=", "/info/?", "/info/warc?"] {
            let response = owners::page(&daemon, "bob", &format!("{path}{}", encode(&url)));
            assert_eq!(response.status, 200, "{path}");
            let mut text = response.text();
            let mut warc = flate2::read::MultiGzDecoder::new(&*response.body);
            let _ = std::io::Read::read_to_string(&mut warc, &mut text);
            assert!(!text.contains("hunter2"), "{path}: {text}");
        }
    }
    daemon.ok(&["offline"]);
    let fields = "X-Api-Key: token-hunter2\r\n";
    assert_eq!(owners::get(&daemon, "ada", &origin.url("/later"), fields).status, 504);
    assert_eq!(daemon.queued().len(), 1);
    daemon.down();
    for file in files(daemon.home()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{}", file.display());
    }
}

#[test]
fn no_option_disables_origin_verification() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("wwwoffle.conf.example");
    let example = std::fs::read_to_string(example).unwrap();
    let (mut config, mut turned) = (String::new(), Vec::new());
    for line in example.lines() {
        let line = match line.strip_prefix('#').and_then(|line| line.split_once(" = ")) {
            Some((name, "true")) => format!("{name} = false"),
            Some((name, "false")) => format!("{name} = true"),
            _ => line.to_owned(),
        };
        if !line.starts_with('#') && line.contains(" = ") {
            turned.push(line.clone());
        }
        config += &format!("{line}\n");
    }
    assert!(turned.len() >= 4, "{turned:?}");
    let bad = TlsOrigin::start(Authority::new().identity(&["127.0.0.1"]));
    for config in [config.as_str(), ""] {
        let mut daemon = Daemon::prepare(Some(config));
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            daemon = daemon.with_variable(name, "/dev/null");
        }
        daemon = daemon.with_variable("NODE_TLS_REJECT_UNAUTHORIZED", "0");
        daemon.up();
        let page = daemon.browse(&bad.url("/page/1.html"));
        assert_eq!(page.status, 502, "{turned:?}: {}", page.shown());
        assert_ne!(daemon.run(&["get", &bad.url("/page/1.html")]).status, 0);
        assert_eq!((bad.handshakes(), bad.origin.seen().len()), (0, 0), "{turned:?}");
    }
    for words in [&["--insecure"][..], &["-k"], &["--no-check-certificate"], &["--no-verify"]] {
        let daemon = Daemon::prepare(None);
        let ran = run(daemon.command(&[&["get"], words, &[&bad.url("/")]].concat()), None);
        assert_eq!(ran.status, 2, "{words:?}: {ran:?}");
    }
}
