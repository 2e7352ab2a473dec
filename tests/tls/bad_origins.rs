//! Origins that cannot prove their identity, or violate TLS. Each gets its message page, and
//! nothing is stored.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::harness::form::form;
use crate::harness::{After, Answer, Authority, Daemon, Identity, Manners, TlsOrigin, eventually};

/// Requests a page of a bad origin in every way. Each message page contains `words`, and nothing is
/// stored.
#[track_caller]
fn refused(daemon: &Daemon, url: &str, status: u16, words: &[&str]) {
    let page = daemon.browse(url);
    assert_eq!(page.status, status, "{}", page.text());
    let text = page.shown();
    for word in words.iter().chain(&[url, "What you can do"]) {
        assert!(text.contains(word), "{word:?} is missing:\n{text}");
    }
    assert_eq!(daemon.get(url).status, status);
    assert_ne!(daemon.run(&["get", url]).status, 0);
    assert_eq!(daemon.ok(&["ls"]), "", "an entry was stored");
}

#[test]
#[ignore = "slow"]
fn a_bad_certificate_gets_a_message_and_is_not_retried() {
    let (authority, stranger) = (Authority::new(), Authority::named("A stranger"));
    // An authority that the daemon does not trust. It has the same name as the trusted `authority`.
    let impostor = Authority::new();
    let names = ["127.0.0.1"];
    let unknown = ["The certificate of the host is not trusted", "extra-ca"];
    let rows: [(&str, Identity, &[&str]); 10] = [
        (
            "expired",
            authority.expired(&names),
            &["has expired", "it expired at 2020-02-03", "The clock of this machine says"],
        ),
        (
            "early",
            authority.early(&names),
            &["not valid yet", "only from 2095-06-07", "The clock of this machine says"],
        ),
        (
            "wrong name",
            authority.identity(&["www.example.org", "*.example.net", "192.0.2.1"]),
            &[
                "belongs to another host",
                "it is not for \"127.0.0.1\"",
                "\"www.example.org\"",
                "\"*.example.net\"",
                "\"192.0.2.1\"",
            ],
        ),
        (
            "stranger",
            stranger.identity(&names),
            &[unknown[0], unknown[1], "signed by \"CN=A stranger\"", "was not sent"],
        ),
        (
            "stranger with its chain",
            stranger.identity_with_root(&names),
            &[unknown[0], unknown[1], "leads to the authority \"CN=A stranger\"", "not trusted"],
        ),
        ("impostor", impostor.identity(&names), &["is not accepted", "its signature is wrong"]),
        (
            "self-signed",
            Identity::self_signed(&names, false),
            &[unknown[0], unknown[1], "uses a self-signed certificate", "it is self-signed"],
        ),
        (
            "self-signed authority",
            Identity::self_signed(&names, true),
            &[unknown[0], unknown[1], "the certificate of an authority, not that of a site"],
        ),
        (
            "incomplete",
            authority.indirect(&names, false),
            &[
                unknown[0],
                "sends an incomplete chain",
                "signed by \"CN=In between\"",
                "may be incomplete",
            ],
        ),
        ("expired stranger", stranger.expired(&names), &["has expired"]),
    ];
    let daemon = authority.daemon("[fetch-options]\nretry-delay = \"1h\"\n");
    for (name, identity, words) in rows {
        let fingerprint = wwwoffle::net::certificates::with_colons(&identity.sha256());
        let origin = TlsOrigin::start(identity);
        let url = origin.url("/p");
        let shown = [&*origin.addr.to_string(), &fingerprint, "Certificates that the host sent"];
        refused(&daemon, &url, 502, &[words, &shown].concat());
        assert!(origin.origin.seen().is_empty(), "{name}: a request was sent");
        assert_eq!(origin.handshakes(), 0, "{name}");
        let queue = daemon.queue();
        let entry = queue.iter().find(|entry| entry["url"] == *url);
        let entry = entry.unwrap_or_else(|| panic!("{name} is not listed: {queue:?}"));
        assert_eq!(entry["state"], "failed", "{name}: {entry}");
        let error = entry["error"].as_str().unwrap();
        assert!(error.contains("the certificate of") && error.contains("is refused"), "{error}");
    }
}

#[test]
fn a_stored_page_is_served_despite_a_bad_certificate() {
    let authority = Authority::new();
    let good = TlsOrigin::start(authority.identity(&["127.0.0.1"]));
    // The page is stale at once, so that its origin is contacted. With `no-cache`, the stored copy
    // would not be served.
    let answer = Answer::html("as it was").field("Cache-Control", "max-age=0");
    good.origin.say("/p", answer);
    let url = good.url("/p");
    let mut daemon = authority.daemon("");
    daemon.get(&url);
    daemon.settle();
    // The same origin. Its authority is no longer trusted.
    Authority::new().write(daemon.home());
    daemon.restart();
    let page = daemon.get(&url);
    assert_eq!((page.status, &*page.text()), (200, "as it was"));
    assert_eq!(good.origin.count("/p"), 1);
}

/// The URL of a port that responds to a `ClientHello` with these bytes and closes.
fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/p", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // The ClientHello is read, so that the connection ends without a reset.
            let _ = stream.read(&mut [0; 16 * 1024]);
            let _ = stream.write_all(bytes);
        }
    });
    url
}

#[test]
fn plain_http_on_a_tls_port_is_reported() {
    let daemon = Daemon::configured("[fetch-options]\nattempts = 1\n");
    let plain = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    refused(&daemon, &plain, 502, &["does not speak HTTPS here", "should begin with http"]);
}

#[test]
fn an_oversized_handshake_is_distinguished_from_another_protocol() {
    let daemon = Daemon::configured("[fetch-options]\nattempts = 1\n");
    // A record with a handshake message that declares 128 KiB.
    let large = answering(&[0x16, 3, 3, 0, 4, 2, 2, 0, 0]);
    refused(&daemon, &large, 502, &["handshake of the host is too large", "64 KiB"]);
    // A record with a complete message that no client expects.
    let broken = answering(&[0x16, 3, 3, 0, 4, 2, 0, 0, 0]);
    refused(&daemon, &broken, 502, &["No secure connection", "violates TLS"]);
}

#[test]
#[ignore = "slow"]
fn a_silent_or_closing_tls_port_is_given_up() {
    let daemon =
        Daemon::configured("[options]\nconnect-timeout = \"1s\"\n[fetch-options]\nattempts = 1\n");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/p", silent.local_addr().unwrap());
    refused(&daemon, &url, 504, &["No secure connection in time", "the TLS handshake"]);

    let rude = answering(b"");
    refused(&daemon, &rude, 502, &["The connection was closed"]);
}

#[test]
fn tls_alerts_of_an_origin_are_reported() {
    let authority = Authority::new();
    for old in [false, true] {
        let manners = Manners { wants_client: true, old, ..Manners::default() };
        let origin = TlsOrigin::with_manners(authority.identity(&["127.0.0.1"]), manners);
        let daemon = authority.daemon("[fetch-options]\nattempts = 1\n");
        let words: &[&str] = if old {
            // TLS 1.2 has no alert for this case.
            &["No secure connection", "the origin refused"]
        } else {
            &["No secure connection", "it requires a certificate of the client"]
        };
        refused(&daemon, &origin.url("/p"), 502, words);
    }
    // The response to the ClientHello is the alert for an unknown name.
    let picky = answering(&[0x15, 3, 3, 0, 2, 2, 112]);
    let daemon = Daemon::configured("[fetch-options]\nattempts = 1\n");
    refused(&daemon, &picky, 502, &["No secure connection", "it has no site of this name"]);
}

#[test]
#[ignore = "slow"]
fn a_missing_close_notify_truncates_a_body_without_length() {
    let authority = Authority::new();
    for hangs_up in [false, true] {
        let manners = Manners { hangs_up, ..Manners::default() };
        let origin = TlsOrigin::with_manners(authority.identity(&["127.0.0.1"]), manners);
        let daemon = authority.daemon("");
        let body = "x".repeat(50_000);
        origin.origin.say("/length", Answer::html(&*body).field("Connection", "close"));
        origin.origin.say("/chunked", Answer::html(&*body).chunked());
        origin.origin.say("/open", Answer::html(&*body).until_close());
        origin.origin.on("/broken", |exchange| {
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")?;
            Ok(After::Close)
        });
        for (path, whole) in
            [("/length", true), ("/chunked", true), ("/open", !hangs_up), ("/broken", false)]
        {
            let mut client = daemon.client();
            client.ask(&origin.url(path), "");
            // A response that is truncated at once may have no head at all.
            let answer = client.try_receive("GET").and_then(|answer| answer.whole);
            assert_eq!(answer.is_ok(), whole, "{path} {hangs_up}: {answer:?}");
            daemon.settle();
            let url = origin.url(path);
            let is_kept = daemon.ok(&["ls"]).contains(&url);
            assert_eq!(is_kept, whole, "{path} {hangs_up}");
            if whole {
                assert_eq!(daemon.ok(&["cat", &url]), body, "{path}");
            }
        }
    }
}

#[test]
fn names_in_a_certificate_are_shown_as_text() {
    let authority = Authority::new();
    let hostile = "<script>alert(1)</script>";
    let origin = TlsOrigin::start(authority.identity(&[hostile]));
    let daemon = authority.daemon("");
    let page = daemon.browse(&origin.url("/p"));
    assert_eq!(page.status, 502);
    assert!(!page.text().contains("<script"), "{}", page.text());
    assert!(page.shown().contains(hostile), "{}", page.shown());
}

#[test]
fn a_self_signed_certificate_can_be_trusted() {
    let here = ["127.0.0.1"];
    let own = Identity::self_signed(&here, true);
    let elsewhere = Identity::self_signed(&["www.example.org"], true);
    let expired = Identity::expired_self_signed(&here);
    let other = Identity::self_signed(&here, true);
    let mut daemon = Daemon::prepare(Some("[https]\nextra-ca = [\"own.pem\"]\n"));
    let trusted = [&own, &elsewhere, &expired].map(Identity::pem).concat();
    std::fs::write(daemon.home().join("own.pem"), trusted).unwrap();
    daemon.up();
    for (identity, status, words) in [
        (own, 200, ""),
        (elsewhere, 502, "belongs to another host"),
        (expired, 502, "has expired"),
        (other, 502, "the certificate of an authority, not that of a site"),
    ] {
        let origin = TlsOrigin::start(identity);
        let page = daemon.browse(&origin.url("/page/1.html"));
        assert_eq!(page.status, status, "{words:?}: {}", page.shown());
        assert!(page.shown().contains(words), "{words:?} is missing:\n{}", page.shown());
    }
}

#[test]
fn allowing_a_certificate_is_the_first_advice() {
    let origin = TlsOrigin::start(Identity::self_signed(&["127.0.0.1"], true));
    let daemon = Authority::new().daemon("");
    let page = daemon.browse(&origin.url("/p"));
    let text = page.text();
    let first = text.split_once("What you can do").unwrap().1.split("</li>").next().unwrap();
    assert!(first.contains("/certificate?") && first.contains("Allow this certificate"), "{first}");
}

#[test]
fn an_invalid_authorities_file_is_reported_with_its_line() {
    let place = Daemon::prepare(Some("[https]\nextra-ca = [\n\"missing.pem\",\n]\n"));
    let ran = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.status, 64, "{ran:?}");
    assert!(ran.err.contains("wwwoffle.conf:3:"), "{ran:?}");
    assert!(ran.err.contains("missing.pem: there is no such file"), "{ran:?}");
}

#[test]
fn offline_no_handshake_is_begun() {
    let authority = Authority::new();
    let origin = TlsOrigin::start(authority.identity(&["127.0.0.1"]));
    let daemon = authority.daemon("");
    daemon.get(&origin.url("/page/1.html"));
    daemon.settle();
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/page/2.html"));
    daemon.get(&origin.url("/page/1.html"));
    assert_eq!(origin.handshakes(), 1);
    eventually("idle connections are closed", || origin.origin.active() == 0);
}

#[test]
fn an_allowed_certificate_is_valid_for_its_host_only() {
    let names = ["127.0.0.1", "localhost"];
    let identity = Identity::self_signed(&names, true);
    let (sha256, other) = (identity.sha256(), "00".repeat(32));
    let origin = TlsOrigin::start(identity);
    origin.origin.say("/p", Answer::html("it is me").field("Cache-Control", "no-store"));
    let (allowed, url) = (origin.addr, origin.url("/p"));
    let config = |sha256: &str| {
        format!(
            "[https]\nallowed-certificates = [{{ host = \"{allowed}\", sha256 = \"{sha256}\" }}]\n"
        )
    };
    let daemon = Daemon::configured(&config(&sha256));
    assert_eq!(daemon.get(&url).text(), "it is me");
    // The same certificate is not allowed under another name of this origin.
    assert_eq!(daemon.get(&origin.url_at("localhost", "/p")).status, 502);

    let daemon = Daemon::configured(&config(&other));
    refused(&daemon, &url, 502, &["it is self-signed, and", "not the one that is allowed there"]);
}

#[test]
#[ignore = "slow"]
fn an_allowed_certificate_is_accepted_despite_other_faults() {
    let authority = Authority::new();
    let wrong = ["www.example.org"];
    let identities = [
        authority.expired(&["127.0.0.1"]),
        authority.early(&["127.0.0.1"]),
        authority.identity(&wrong),
        authority.indirect(&wrong, false),
        Identity::self_signed(&wrong, false),
    ];
    for identity in identities {
        for old in [false, true] {
            let (sha256, identity) = (identity.sha256(), identity.again());
            let manners = Manners { old, ..Manners::default() };
            let origin = TlsOrigin::with_manners(identity, manners);
            let host = origin.addr;
            let daemon = Daemon::configured(&format!(
                "[https]\nallowed-certificates = [{{ host = \"{host}\", sha256 = \"{sha256}\" }}]\n"
            ));
            assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200, "{old}");
        }
    }
}

#[test]
fn a_certificate_without_its_key_is_refused_though_it_is_allowed() {
    let (mine, thief) = (
        Identity::self_signed(&["127.0.0.1"], false),
        Identity::self_signed(&["127.0.0.1"], false),
    );
    let sha256 = mine.sha256();
    for old in [false, true] {
        let manners = Manners { old, ..Manners::default() };
        let origin = TlsOrigin::with_manners(mine.shown_by(&thief), manners);
        let daemon = Daemon::configured(&format!(
            "[https]\nallowed-certificates = [{{ host = \"{}\", sha256 = \"{sha256}\" }}]\n",
            origin.addr
        ));
        refused(&daemon, &origin.url("/p"), 502, &["its signature is wrong"]);
        assert!(origin.origin.seen().is_empty());
    }
}

/// Checks that a page is refused for exactly these reasons.
#[track_caller]
fn refused_only(daemon: &Daemon, url: &str, words: &[&str]) {
    let page = daemon.browse(url);
    assert_eq!(page.status, 502);
    for word in words {
        assert!(page.shown().contains(word), "{word:?} is missing:\n{}", page.shown());
    }
}

/// Our page that allows a certificate, as linked from the message page for `url`.
fn way_to_allow(daemon: &Daemon, url: &str) -> String {
    let text = daemon.browse(url).shown();
    let start = text.find("/certificate?").unwrap_or_else(|| panic!("a link: {text}"));
    text[start..].split('"').next().unwrap().to_owned()
}

#[test]
fn a_person_allows_a_certificate_and_another_is_refused() {
    let names = ["127.0.0.1"];
    let (first, second) =
        (Identity::self_signed(&names, false), Identity::self_signed(&names, false));
    let sha256 = first.sha256();
    let mut origin = TlsOrigin::start(first);
    origin.origin.say("/p?a=1&b=2", Answer::html("it is me").field("Cache-Control", "no-store"));
    let url = origin.url("/p?a=1&b=2");
    let mut daemon = Daemon::configured("# mine\n[https] # all of it\nshipped-tunnel = true\n");
    daemon.set_password("only me");

    let way = way_to_allow(&daemon, &url);
    let page = daemon.page(&way);
    assert!(page.shown().contains("it is self-signed"), "{}", page.shown());
    let form = form(&page.text(), "/control/certificate/allow");
    assert_eq!(form.value("sha256"), Some(&*sha256));
    let done = daemon.submit(&form);
    assert_eq!(done.status, 303, "{}", done.text());
    let after = daemon.page(done.field("location")).shown();
    assert!(after.contains("is allowed for this host") && after.contains(&url), "{after}");
    assert_eq!(daemon.get(&url).text(), "it is me");

    let file = std::fs::read_to_string(daemon.config_file()).unwrap();
    assert!(file.starts_with("# mine\n[https] # all of it\nshipped-tunnel = true\n"), "{file}");
    let host = origin.addr;
    let entry = format!("{{ host = \"{host}\", sha256 = \"{sha256}\" }}");
    assert_eq!(file.matches(&entry).count(), 1, "{file}");

    origin.stop();
    let _changed = TlsOrigin::at(second, host);
    // A new URL, since the earlier page is stored.
    let url = origin.url("/other");
    refused_only(&daemon, &url, &["not the one that is allowed there"]);
    let page = daemon.page(&way_to_allow(&daemon, &url)).shown();
    assert!(page.contains("You allowed another certificate for this host"), "{page}");
    // The earlier form is for the earlier certificate.
    assert_eq!(daemon.submit(&form).status, 400);
}

#[test]
fn other_sites_and_users_cannot_allow_a_certificate() {
    let origin = TlsOrigin::start(Identity::self_signed(&["127.0.0.1"], false));
    let url = origin.url("/p");
    let mut daemon = Daemon::configured("[options]\n");
    daemon.set_password("only me");
    let before = std::fs::read_to_string(daemon.config_file()).unwrap();
    let page = daemon.page(&way_to_allow(&daemon, &url));
    let form = form(&page.text(), "/control/certificate/allow");
    let ours = daemon.own("");
    let ours = ours.trim_end_matches('/');
    for (what, status, fields) in [
        ("a foreign origin", 403, "Origin: https://evil.example\r\n".to_owned()),
        ("a cross-site request", 403, format!("Origin: {ours}\r\nSec-Fetch-Site: cross-site\r\n")),
        ("a sandbox", 403, "Origin: null\r\n".to_owned()),
    ] {
        assert_eq!(daemon.submit_as(&form, &fields).status, status, "{what}");
    }
    let other = "00".repeat(32);
    for (what, status, form) in [
        ("no token", 403, form.clone().without("token")),
        ("a wrong token", 403, form.clone().without("token").with("token", &other)),
        (
            "a fingerprint that was not seen",
            400,
            form.clone().without("sha256").with("sha256", &other),
        ),
        ("no fingerprint", 400, form.clone().without("sha256")),
        ("a host that was not seen", 400, form.clone().without("site").with("site", "a.example")),
        ("no host", 400, form.clone().without("site")),
    ] {
        assert_eq!(daemon.submit(&form).status, status, "{what}");
    }
    assert_eq!(daemon.page(&format!("/control/certificate/allow?{}", form.body())).status, 405);
    let mut client = daemon.client();
    let body = form.body();
    client.send(format!(
        "POST /control/certificate/allow HTTP/1.1\r\nHost: evil.example\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_ne!(client.receive("POST").status, 303);
    assert_eq!(std::fs::read_to_string(daemon.config_file()).unwrap(), before);
    assert_eq!(daemon.browse(&url).status, 502);
    // The page leads back only to pages of its own host.
    let site = origin.addr;
    let elsewhere = daemon.page(&format!("/certificate?site={site}&url=https://evil.example/"));
    assert!(!elsewhere.text().contains("evil.example"), "{}", elsewhere.text());
    for path in ["/certificate", "/certificate?site=", "/certificate?site=a/b"] {
        assert_eq!(daemon.page(path).status, 400, "{path}");
    }
    let unknown = daemon.page("/certificate?site=unknown.example").shown();
    assert!(unknown.contains("No certificate of this host was refused"), "{unknown}");
    // As in 2.9, the address leads to the certificates of a host whose pages are stored.
    let list = daemon.page("/certificate?site=unknown.example").text();
    assert!(list.contains("/index/url?https://unknown.example"), "{list}");
}

#[test]
fn without_a_control_password_the_page_shows_the_allow_command() {
    let origin = TlsOrigin::start(Identity::self_signed(&["127.0.0.1"], false));
    let url = origin.url("/page/1.html");
    let daemon = Daemon::start();
    let page = daemon.page(&way_to_allow(&daemon, &url)).shown();
    assert!(!page.contains("<form method=\"post\" action=\"/control/certificate"), "{page}");
    let start = page.find("wwwoffle config add").unwrap_or_else(|| panic!("a command: {page}"));
    let (command, _) = page[start..].split_once("'</code>").unwrap();
    let (verb, entry) = command.split_once(" '").unwrap();
    let arguments: Vec<_> = verb.split(' ').skip(1).chain([entry]).collect();
    daemon.ok(&arguments);
    assert_eq!(daemon.get(&url).status, 200);
}
