//! Verbs for a daemon on another machine: `--daemon`. In these tests it is on this machine, with a
//! spool that the verbs do not know.

use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::harness::daemon::{Ran, run};
use crate::harness::{Answer, Daemon, Origin};

const PASSWORD: &str = "only me";

/// A daemon with a control password, and the place of a person on another machine with the files
/// for the password and the authority.
struct Ship {
    daemon: Daemon,
    person: Daemon,
    password: PathBuf,
    authority: PathBuf,
}

impl Ship {
    fn sail() -> Self {
        let mut daemon = Daemon::configured("");
        daemon.set_password(PASSWORD);
        let person = Daemon::prepare(None);
        let (password, authority) = (person.home().join("password"), person.home().join("ca.pem"));
        write(&password, format!("{PASSWORD}\n")).unwrap();
        set_permissions(&password, Permissions::from_mode(0o600)).unwrap();
        write(&authority, daemon.ok(&["ca", "export"])).unwrap();
        Self { daemon, person, password, authority }
    }

    /// Runs a verb as the person, with these options before it.
    fn run_with(&self, options: &[&str], verb: &[&str], input: &str) -> Ran {
        let mut command = self.person.bare_command();
        command.args(options).args(verb);
        run(command, Some(input.as_bytes()))
    }

    /// Runs a verb over HTTPS with the password. It must succeed.
    #[track_caller]
    fn ok(&self, verb: &[&str]) -> String {
        let url = format!("https://localhost:{}", self.daemon.addr().port());
        let (password, authority) = (self.password.to_str(), self.authority.to_str());
        let options =
            ["--daemon", &url, "--password-file", password.unwrap(), "--ca", authority.unwrap()];
        let ran = self.run_with(&options, verb, "text\n");
        assert_eq!(ran.status, 0, "{verb:?}: {ran:?}\n{}", self.daemon.log());
        ran.out
    }

    fn http(&self) -> String {
        format!("http://{}", self.daemon.addr())
    }
}

#[test]
fn verbs_work_over_https_with_the_control_password() {
    let (ship, origin) = (Ship::sail(), Origin::start());
    origin.say("/page", Answer::html("<title>Harbour</title>lighthouse"));
    let url = origin.url("/page");
    assert!(ship.ok(&["offline"]).starts_with("offline (was online)"));
    assert!(ship.ok(&["status"]).contains("mode         offline\n"));
    ship.ok(&["online"]);
    ship.ok(&["get", &url]);
    assert!(ship.ok(&["ls"]).contains(&url));
    assert!(ship.ok(&["ls", "--json"]).contains("\"url\""));
    assert!(ship.ok(&["search", "lighthouse"]).contains("Harbour"));
    assert!(ship.ok(&["info", &url]).contains("status      200\n"));
    assert!(ship.ok(&["history", &url]).contains("now "));
    assert_eq!(ship.ok(&["pin", &url]), format!("{url}\n"));
    ship.ok(&["unpin", &url]);
    ship.ok(&["config", "set", "options.log-level", "warn"]);
    assert!(ship.ok(&["config", "get", "options.log-level"]).contains("warn"));
    ship.ok(&["write", "http://written.example/"]);
    assert!(ship.ok(&["rm", "http://written.example/"]).contains("removed"));
    assert!(ship.ok(&["queue"]).is_empty());
    ship.ok(&["purge", "--dry-run"]);
    // Nothing was made on the machine of the person.
    assert!(
        !ship.person.home().join("data").exists() && !ship.person.home().join("config").exists()
    );
}

#[test]
fn without_the_password_only_reading_works() {
    let ship = Ship::sail();
    let http = ship.http();
    let ran = ship.run_with(&["--daemon", &http], &["status"], "");
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = ship.run_with(&["--daemon", &http], &["offline"], "");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("password"), "{ran:?}");
    write(&ship.password, "wrong\n").unwrap();
    let password = ship.password.to_str().unwrap();
    let ran = ship.run_with(&["--daemon", &http, "--password-file", password], &["offline"], "");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ship.daemon.status()["mode"], "online");
}

#[test]
fn a_password_file_that_others_can_read_is_refused() {
    let ship = Ship::sail();
    let (http, password) = (ship.http(), ship.password.to_str().unwrap());
    for mode in [0o644, 0o640, 0o604] {
        set_permissions(&ship.password, Permissions::from_mode(mode)).unwrap();
        let ran =
            ship.run_with(&["--daemon", &http, "--password-file", password], &["offline"], "");
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(&format!("run `chmod 600 {password}`")), "{ran:?}");
    }
    assert_eq!(ship.daemon.status()["mode"], "online");
}

#[test]
fn a_certificate_that_nobody_here_trusts_is_refused() {
    let ship = Ship::sail();
    let url = format!("https://localhost:{}", ship.daemon.addr().port());
    let ran = ship.run_with(&["--daemon", &url], &["status"], "");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("name the file with --ca FILE"), "{ran:?}");
}

#[test]
fn verbs_for_the_spool_itself_are_refused() {
    let ship = Ship::sail();
    let http = ship.http();
    for verb in [
        &["fsck"][..],
        &["cat", "http://a/"],
        &["serve"],
        &["ca", "show"],
        &["config", "path"],
        &["ls", "http://a.example/page"],
        &["stop"],
    ] {
        let ran = ship.run_with(&["--daemon", &http], verb, "");
        assert_eq!(ran.status, 2, "{verb:?}: {ran:?}");
        assert!(ran.err.contains("works only on the machine of the spool"), "{ran:?}");
    }
    for url in ["ftp://a/", "localhost:8080", "http://a/x"] {
        let ran = ship.run_with(&["--daemon", url], &["status"], "");
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains("--daemon takes https://HOST:PORT"), "{ran:?}");
    }
}

#[test]
fn a_daemon_that_is_not_there_changes_nothing_here() {
    let ship = Ship::sail();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    for verb in [&["status"][..], &["config", "set", "options.log-level", "warn"], &["rm", "a"]] {
        let ran = ship.run_with(&["--daemon", &url], verb, "");
        assert_eq!(ran.status, 1, "{verb:?}: {ran:?}");
        assert!(ran.err.contains(&format!("cannot reach the daemon at {url}")), "{ran:?}");
    }
    assert!(
        !ship.person.home().join("data").exists() && !ship.person.home().join("config").exists()
    );
}
