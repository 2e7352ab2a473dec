//! The user's own files, below `/local/`.

use std::os::unix::fs::symlink;

use crate::harness::Daemon;

fn files() -> Daemon {
    let daemon = Daemon::configured("[mime-types]\ntypes = { \".log\" = \"text/x-log\" }\n");
    let local = daemon.spool().join("local");
    std::fs::create_dir_all(local.join("deep/er")).unwrap();
    std::fs::write(local.join("index.html"), "<script>parent</script>home").unwrap();
    std::fs::write(local.join("deep/a b.log"), "log").unwrap();
    std::fs::write(local.join("deep/large.bin"), vec![7; 1 << 20]).unwrap();
    std::fs::write(daemon.spool().join("beside"), "out").unwrap();
    symlink("../beside", local.join("out")).unwrap();
    symlink("/etc", local.join("etc")).unwrap();
    std::fs::write(local.join("run.cgi"), "#!/bin/sh\necho never\n").unwrap();
    daemon
}

#[test]
fn a_local_file_is_served_unchanged() {
    let daemon = files();
    let home = daemon.page("/local/");
    assert_eq!((home.status, home.text().as_str()), (200, "<script>parent</script>home"));
    assert_eq!(home.field("Content-Type"), "text/html");
    let policy = home.field("Content-Security-Policy");
    assert!(policy.starts_with("sandbox") && !policy.contains("same-origin"), "{policy}");
    assert_eq!(home.field("X-Content-Type-Options"), "nosniff");
    assert_eq!(home.fields.get("X-Frame-Options"), None, "they may embed each other in frames");
    let log = daemon.page("/local/deep/a%20b.log");
    assert_eq!((log.text().as_str(), log.field("Content-Type")), ("log", "text/x-log"));
    assert_eq!(daemon.page("/local/deep/large.bin").body, vec![7; 1 << 20]);
    assert_eq!(daemon.page("/local/run.cgi").text(), "#!/bin/sh\necho never\n");
    // With a matching tag, the browser need not download the file twice.
    let tag = format!("If-None-Match: {}\r\n", home.field("ETag"));
    let again = daemon.client().get_with(&daemon.own("/local/"), &tag).whole();
    assert_eq!((again.status, again.body.len()), (304, 0));
    for directory in ["/local", "/local/deep"] {
        let led = daemon.page(directory);
        let want = (303, format!("{directory}/"));
        assert_eq!((led.status, led.field("Location").to_owned()), want);
    }
}

#[test]
fn files_outside_the_local_directory_are_not_served() {
    let daemon = files();
    for path in [
        "/local/out",
        "/local/etc/passwd",
        "/local/deep/",
        "/local/none",
        "/local/index.html/x",
        "/local/%2e%2e/beside",
        "/local/..%2fbeside",
        "/local/deep/%2e%2e/%2e%2e/beside",
        "/local//etc/passwd",
        "/local/a%00b",
    ] {
        let answer = daemon.page(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    // Without the directory, no files are served.
    let bare = Daemon::start();
    assert_eq!(bare.page("/local/").status, 404);
}
