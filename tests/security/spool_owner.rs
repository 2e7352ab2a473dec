//! Verbs without a daemon, run by a user who does not own the spool. Root changes to the owner of
//! the spool. Any other user gets an error that names the owner. Needs root.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::harness::daemon::run;
use crate::harness::tools::need_root;
use crate::harness::{Daemon, Origin, files};

/// A user and a group that do not exist on this machine, given by number.
const NOBODY: (u32, u32) = (65_431, 65_432);

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A directory that other users may enter, with a configuration that only root may read.
fn place() -> Daemon {
    let (user, group) = NOBODY;
    let lines = format!("[startup]\nrun-uid = \"{user}\"\nrun-gid = \"{group}\"\n");
    let place = Daemon::prepare(Some(&lines));
    allow(place.home(), 0o755);
    allow(place.config_file(), 0o600);
    place
}

/// Checks that the daemon's user owns all files and directories of a spool.
#[track_caller]
fn is_nobodys(place: &Daemon, what: &str) {
    let all = files(place.spool());
    assert!(all.len() > 3, "{what}: {all:?}");
    for path in all.iter().flat_map(|file| file.ancestors()) {
        if path.starts_with(place.spool()) {
            let about = std::fs::symlink_metadata(path).unwrap();
            assert_eq!((about.uid(), about.gid()), NOBODY, "{what}: {}", path.display());
        }
    }
}

fn archive(place: &Daemon, name: &str, mode: u32) -> String {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    let text = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{name}\r\n\
         WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{head}\r\n\r\n",
        head.len()
    );
    let path = place.home().join(name);
    std::fs::write(&path, text).unwrap();
    allow(&path, mode);
    path.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs root"]
fn files_written_by_root_are_usable_by_the_daemon() {
    need_root();
    let (origin, mut place) = (Origin::start(), place());
    place.up();
    for number in 0..4 {
        assert_eq!(place.get(&origin.url(&format!("/page/{number}.html"))).status, 200);
    }
    place.settle();
    place.down();
    let (url, file) = (|path: &str| origin.url(path), archive(&place, "open.warc", 0o644));
    for typed in [
        // The purge comes before the import, since imported entries are as old as their capture and
        // would be removed.
        &["purge"][..],
        &["import", &file],
        &["write", &url("/written.html")],
        &["mv", &url("/page/0.html"), &url("/moved.html")],
        &["rm", &url("/page/1.html")],
        &["pin", &url("/page/2.html")],
        &["reindex"],
        &["search", "page"],
        &["ls", "--sort", "name"],
        &["ca", "renew"],
        &["fsck", "--repair"],
    ] {
        let mut command = place.command(typed);
        command.env("HOME", place.home());
        let ran = run(command, Some(b"<p>Written."));
        assert!([0, 11].contains(&ran.status), "{typed:?}: {ran:?}");
        is_nobodys(&place, &format!("{typed:?}"));
    }
    place.up();
    place.ok(&["offline"]);
    for path in ["/written.html", "/moved.html", "/page/2.html", "/page/3.html"] {
        assert_eq!(place.get(&url(path)).status, 200, "{path}");
    }
    assert_eq!(place.get("http://a.example/open.warc").whole().text(), "hello");
    assert_eq!(place.get(&url("/page/1.html")).status, 504);
    is_nobodys(&place, "in the end");
}

#[test]
#[ignore = "needs root"]
fn a_file_unreadable_for_the_spool_owner_is_reported() {
    need_root();
    // The spool does not exist yet. It is created for the daemon's user.
    let place = place();
    let (open, shut) = (archive(&place, "open.warc", 0o644), archive(&place, "shut.warc", 0o600));
    let ran = place.run(&["import", &shut, &open]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains(": 1 stored"), "{ran:?}");
    let want = "it was read as user 65431 of group 65432, the owner of the spool";
    assert!(ran.err.contains("ermission denied") && ran.err.contains(want), "{ran:?}");
    is_nobodys(&place, "a spool that an import has made");
}

#[test]
#[ignore = "needs root"]
fn other_users_are_refused_with_the_name_of_the_spool_owner() {
    need_root();
    let (user, _) = NOBODY;
    let place = place();
    let file = archive(&place, "open.warc", 0o644);
    assert_eq!(place.run(&["import", &file]).status, 0);
    allow(place.config_file(), 0o644);
    // The most dangerous case: the other user may write to the spool.
    allow(place.spool(), 0o777);
    allow(&place.spool().join("tmp"), 0o777);
    let program = place.home().join("wwwoffle");
    std::fs::copy(env!("CARGO_BIN_EXE_wwwoffle"), &program).unwrap();
    let before = files(place.spool());
    for typed in [
        // The purge comes before the import, since imported entries are as old as their capture and
        // would be removed.
        &["purge"][..],
        &["import", &file],
        &["write", "http://a.example/written"],
        &["rm", "http://a.example/open.warc"],
        &["purge"],
        &["fsck", "--repair"],
        &["search", "hello"],
    ] {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65433", "--regid", "65433", "--clear-groups"]).arg(&program);
        command.arg("--config").arg(place.config_file()).arg("--spool").arg(place.spool());
        command.args(typed).env("HOME", place.home());
        let ran = run(command, Some(b""));
        assert_eq!(ran.status, 73, "{typed:?}: {ran:?}");
        let want = format!("belongs to user {user} of group");
        assert!(ran.err.contains(&want), "{typed:?}: {ran:?}");
        assert!(ran.err.contains("`sudo -u '#65431' wwwoffle …`"), "{typed:?}: {ran:?}");
        assert_eq!(files(place.spool()), before, "{typed:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn reading_commands_do_not_create_a_missing_spool() {
    need_root();
    let place = place();
    for typed in [&["purge"][..], &["search", "x"], &["fsck", "--repair"], &["rm", "http://a/"]] {
        assert_eq!(place.run(typed).status, 73, "{typed:?}");
        assert!(!place.spool().exists(), "{typed:?}");
    }
}
