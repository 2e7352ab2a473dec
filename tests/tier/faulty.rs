//! Wrong settings and faulty engines: a clear message, and nothing wrong is served.

use std::os::unix::fs::PermissionsExt;

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

/// A page in the tier, and a second node without it, offline.
fn one_page() -> (Engines, Origin, Daemon) {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("from A"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    b.up();
    b.ok(&["offline"]);
    eventually("B is connected", || b.status()["tier"]["connected"] == true);
    (engines, origin, b)
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn an_object_with_another_digest_is_never_served() {
    let (engines, _origin, mut b) = one_page();
    let objects = engines.objects();
    let bytes = std::fs::read(&objects[0]).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    std::fs::write(&objects[0], text.replace("from A", "from X")).unwrap();
    assert_eq!(b.get("http://h.example/page").status, 504);
    b.tells("an object of the archive tier is not used: its bytes do not match its digest");
    // Nothing of it is in the spool. After a restart, the right object is served.
    std::fs::write(&objects[0], text).unwrap();
    b.restart();
    connected(&b);
    assert_eq!(b.get("http://h.example/page").text(), "from A");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_row_without_its_object_counts_as_missing() {
    let (engines, _origin, b) = one_page();
    for path in engines.objects() {
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(b.get("http://h.example/page").status, 504);
    b.tells("an object of the archive tier is not used: it is missing in the object store");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn an_object_of_another_url_is_never_served() {
    let (engines, _origin, b) = one_page();
    let other = "sha256('http://h.example/other')";
    let copied = engines.sql(&format!(
        "INSERT INTO wwwoffle.entries SELECT {other}, variant, 'http://h.example/other', varies, stored, \
         status, media, title, size, object, object_size, node FROM wwwoffle.entries"
    ));
    assert!(copied.contains("INSERT 0 1"), "{copied}");
    assert_eq!(b.get("http://h.example/other").status, 504);
    b.tells("an object of the archive tier is not used: it is the entry of another URL");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn wrong_settings_get_a_clear_message() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("from the origin"));
    let good = engines.node("a", origin.addr, "");
    let config = std::fs::read_to_string(good.config_file()).unwrap();
    let cases = [
        (
            config.replace("s3://pages", "s3://none"),
            "the bucket does not exist; create it, or correct [tier]",
        ),
        (config.replace("/archive?", "/none?"), "does not exist"),
        (config.replace("wwwoffle@", "nobody@"), "it refuses the credentials: "),
    ];
    for (config, message) in cases {
        std::fs::write(good.config_file(), &config).unwrap();
        let mut node = engines.node("x", origin.addr, "");
        std::fs::write(node.config_file(), &config).unwrap();
        node.up();
        assert_eq!(node.get("http://h.example/page").text(), "from the origin");
        node.tells(message);
        node.down();
        let log = node.whole_log();
        assert!(!log.contains("of-the-test"), "a password in {log}");
    }
    let mut node = engines.node("x", origin.addr, "").with_variable("AWS_ACCESS_KEY_ID", "WRONG");
    node.up();
    node.get("http://h.example/page");
    node.tells("the object store of the archive tier cannot be used");
    node.tells("it refuses the credentials: ");
    assert_eq!(node.status()["tier"]["backlog"], 1, "the entry waits");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_foreign_or_newer_schema_is_left_alone() {
    let (engines, origin) = (Engines::start(), Origin::start());
    engines.sql("CREATE SCHEMA wwwoffle; CREATE TABLE wwwoffle.theirs (x integer)");
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.tells("belongs to another program; use another database");
    assert!(engines.sql("SELECT count(*) FROM wwwoffle.theirs").contains("(1 row)"));
    engines.sql("DROP SCHEMA wwwoffle CASCADE");
    a.tells("the catalogue of the archive tier answers again");
    engines.sql("UPDATE wwwoffle.meta SET version = 99");
    a.restart();
    a.tells("the catalogue has version 99 of the schema, and this program knows only");
    assert_eq!(engines.count("SELECT version FROM wwwoffle.meta"), 99);
}

#[test]
#[ignore = "slow"]
fn faulty_settings_stop_the_start_and_show_no_secret() {
    let tier = "[tier]\nobjects = \"s3://pages\"\n";
    let half = Daemon::prepare(Some(tier)).run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        half.status != 0 && half.err.contains("[tier] needs both `objects` and `catalogue`"),
        "{half:?}"
    );
    let tier = format!("{tier}catalogue = \"postgresql://w@127.0.0.1:1/a\"\n");
    let bare = Daemon::prepare(Some(&tier)).with_variable("AWS_ACCESS_KEY_ID", "");
    let none = bare.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(none.err.contains("the keys of the object store are missing"), "{none:?}");
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("keys");
    std::fs::write(&path, "access-key = SECRET\nsecret-key = SECRET\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let tier = format!("{tier}credentials = \"{}\"\n", path.display());
    let mut daemon = Daemon::prepare(Some(&tier));
    let open = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        open.err.contains("other users may read") && open.err.contains("chmod 600"),
        "{open:?}"
    );
    assert!(!open.err.contains("SECRET"), "{open:?}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    daemon.up();
    daemon.tells("the catalogue of the archive tier cannot be used");
    let shown =
        [daemon.ok(&["config", "get"]), daemon.ok(&["status", "--json"]), daemon.log()].concat();
    assert!(!shown.contains("SECRET"), "{shown}");
    let password = Daemon::prepare(Some("[tier]\ncatalogue = \"postgresql://w:SECRET@h/a\"\n"));
    let refused = password.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        refused.err.contains("the password belongs in the file of `credentials`"),
        "{refused:?}"
    );
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_wrong_object_is_added_again_by_a_node_that_has_its_entry() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("from A"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    let object = engines.objects()[0].clone();
    let right = std::fs::read(&object).unwrap();
    std::fs::write(&object, String::from_utf8(right.clone()).unwrap().replace("from A", "from X"))
        .unwrap();
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    assert_eq!(b.get("http://h.example/page").status, 504);
    let listed = || engines.count("SELECT count(*) FROM wwwoffle.missing");
    eventually("it is listed", || listed() == 1);
    a.kill9();
    a.up();
    eventually("it is right again", || std::fs::read(&object).unwrap() == right);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn hosts_that_are_not_looked_up_do_not_count_as_answers() {
    let (engines, _origin, b) = one_page();
    engines.freeze_postgres("STOP");
    // Between two lookups of the known host, an unknown one is answered from memory.
    for number in 0..4 {
        assert_eq!(b.get("http://h.example/page").status, 504);
        assert_eq!(b.get(&format!("http://unknown-{number}.example/")).status, 504);
        assert_eq!(b.get(&format!("http://other-{number}.example/")).status, 504);
    }
    b.tells("the catalogue of the archive tier cannot be used");
    assert!(!b.log().contains("answers again"), "{}", b.log());
    engines.freeze_postgres("CONT");
}
