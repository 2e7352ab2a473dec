//! What is meant for one person or one network stays at its node.

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, daemon, files};

#[test]
#[ignore = "needs postgresql and s3rver"]
fn pages_for_one_person_or_one_network_stay() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    engines.also_near("near.example");
    let say = |path: &str, field: &str, value: &str| {
        origin.say(&format!("http://{path}"), Answer::html("SECRET").field(field, value));
    };
    say("h.example/no-store", "Cache-Control", "no-store");
    say("h.example/asked-no-store", "X", "x");
    say("h.example/private", "Cache-Control", "private=\"Set-Cookie\"");
    say("h.example/page?access_token=1", "X", "x");
    say("h.example/next?to=%2Fa%3Fpassword%3D1", "X", "x");
    say("h.example/referer", "Vary", "Referer");
    say("h.example/class", "Vary", "X-Class");
    say("near.example/page", "X", "x");
    say("never.example/page", "X", "x");
    say("wiki.corp/page", "X", "x");
    say("printer.local./page", "X", "x");
    origin.say("http://h.example/open", Answer::html("for all"));
    origin.say("http://h.example/last", Answer::html("for all"));
    let rules = "[dont-cache]\nurls = [\"*://never.example/*\"]\n";
    let mut a = engines.node("a", origin.addr, rules);
    a.up();
    let more = "Referer: http://p.example/SECRET\r\nX-Class: SECRET\r\n";
    for path in [
        "h.example/no-store",
        "h.example/private",
        "h.example/page?access_token=1",
        "h.example/next?to=%2Fa%3Fpassword%3D1",
        "h.example/referer",
        "h.example/class",
        "never.example/page",
        "wiki.corp/page",
        "printer.local./page",
        "h.example/open",
    ] {
        assert_eq!(a.client().get_with(&format!("http://{path}"), more).whole().status, 200);
    }
    let no_store = "Cache-Control: no-store\r\n";
    a.client().get_with("http://h.example/asked-no-store", no_store).whole();
    // Entries are looked at in their order, so all others were when this one is there.
    a.get("http://h.example/last");
    pushed(&a, &engines, 2);
    let urls = engines.sql("SELECT url FROM wwwoffle.entries");
    assert!(urls.contains("http://h.example/open\n") && urls.contains("(2 rows)"), "{urls}");
    let all: Vec<u8> =
        engines.objects().iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!all.is_empty() && !String::from_utf8_lossy(&all).contains("SECRET"));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn only_what_came_from_a_public_address_is_added() {
    let (engines, origin) = (Engines::start(), Origin::start());
    // Without consent, what came through a parent proxy is not added.
    origin.say("http://h.example/page", Answer::html("perhaps of this network"));
    let mut a = engines.node("a", origin.addr, "");
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    let strict = config.replace("share-proxied = true\n", "");
    assert_ne!(strict, config);
    std::fs::write(a.config_file(), strict).unwrap();
    a.up();
    assert_eq!(a.get("http://h.example/page").status, 200);
    a.settle();
    assert!(has_record(&a, "received-from: parent-proxy"));
    // The page about the entry shows no TLS that there was not.
    let info = a.ok(&["info", "http://h.example/page"]);
    assert!(!info.to_ascii_lowercase().contains("tls"), "{info}");
    connected(&a);
    pushed(&a, &engines, 0);
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 0);
}

/// Whether a stored file has this line.
fn has_record(node: &Daemon, line: &str) -> bool {
    files(node.spool()).into_iter().any(|path| {
        // A file may be removed after it was listed.
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&format!("{line}\r\n"))
    })
}

#[test]
fn without_a_tier_nothing_about_the_source_is_recorded() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/page", Answer::html("of this network"));
    assert_eq!(daemon.get(&origin.url("/page")).status, 200);
    daemon.settle();
    assert!(!has_record(&daemon, "received-from: public-address"));
    daemon.ok(&["rm", &origin.url("/page")]);
    assert!(!daemon.spool().join("tier").exists(), "no removal is recorded either");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn what_did_not_come_from_its_origin_is_not_added() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut a = engines.node("a", origin.addr, "");
    let warc = |path: &str, field: &str| {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{field}\r\nimported");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{:032x}>\r\n\
             WARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Target-URI: http://h.example/{path}\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            path.len(),
            block.len()
        )
    };
    let archive = a.home().join("all.warc");
    let private = warc("private", "Cache-Control: private\r\n");
    // With --everyone the import removes the cookie, so that nothing in the entry is private.
    let session = warc("session", "Set-Cookie: id=SECRET\r\n");
    std::fs::write(&archive, [warc("public", ""), private, session].concat()).unwrap();
    a.ok(&["import", "--everyone", archive.to_str().unwrap()]);
    let written = a.command(&["write", "http://h.example/written"]);
    assert_eq!(daemon::run(written, Some(b"written here")).status, 0);
    origin.say("http://h.example/open", Answer::html("for all"));
    a.up();
    a.get("http://h.example/open");
    pushed(&a, &engines, 1);
    let urls = engines.sql("SELECT url FROM wwwoffle.entries");
    assert!(urls.contains("http://h.example/open\n") && urls.contains("(1 row)"), "{urls}");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn only_the_owner_of_the_machine_learns_the_addresses_of_engines() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.set_password("control");
    engines.kill_postgres();
    a.tells("the catalogue of the archive tier cannot be used");
    let address = engines.database.port().to_string();
    let full = a.status()["tier"]["fault"].to_string();
    let reader = a.client().get(&format!("http://{}/api/status", a.addr())).whole();
    assert_eq!(reader.status, 200, "{}", reader.text());
    let status: serde_json::Value = serde_json::from_slice(&reader.body).unwrap();
    assert_eq!(status["tier"]["fault"], "an engine does not answer");
    assert!(!reader.text().contains(&format!(":{address}")), "{}", reader.text());
    assert!(full.contains("catalogue: "), "{full}");
}
