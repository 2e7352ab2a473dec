//! The daemon's identity and its log: `run-uid`, `run-gid`, `dir-perm`, `file-perm`, `log-to`.
//! Most tests need root, as these options do.

use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::tools::need_root;
use crate::harness::{Daemon, Origin, cannot_run, daemon, files};

/// A user and a group that do not exist on this machine, given by number.
pub(crate) const NOBODY: (u32, u32) = (65_431, 65_432);

/// A daemon with a directory that other users may enter.
pub(crate) fn prepare(config: &str) -> Daemon {
    let daemon = Daemon::prepare(Some(config));
    std::fs::set_permissions(daemon.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    daemon
}

fn as_nobody() -> Daemon {
    let (user, group) = NOBODY;
    prepare(&format!("[startup]\nrun-uid = \"{user}\"\nrun-gid = \"{group}\"\n"))
}

/// A free port that only root may listen on.
fn low_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (600..1_000).rev().find(is_free).expect("one of 400 ports is free")
}

/// A line of `/proc/PID/status`.
fn status(daemon: &Daemon, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_ascii_whitespace().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs root"]
fn root_opens_the_ports_and_another_user_serves() {
    need_root();
    let origin = Origin::start();
    let mut daemon = as_nobody();
    daemon.up_at(&format!("127.0.0.1:{}", low_port()));
    let (user, group) = NOBODY;
    // The real, effective, saved and file system user. If all are changed, the process cannot
    // return to root.
    assert_eq!(
        status(&daemon, "Uid:"),
        [user.to_string(), user.to_string(), user.to_string(), user.to_string()]
    );
    assert_eq!(
        status(&daemon, "Gid:"),
        [group.to_string(), group.to_string(), group.to_string(), group.to_string()]
    );
    assert_eq!(status(&daemon, "Groups:"), [group.to_string()]);
    assert_eq!(status(&daemon, "CapEff:"), ["0000000000000000"]);
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    daemon.ok(&["offline"]);
    daemon.down();
    let found = files(daemon.spool());
    assert!(found.len() > 3, "{found:?}");
    for file in &found {
        let about = std::fs::metadata(file).unwrap();
        assert_eq!((about.uid(), about.gid()), NOBODY, "{}", file.display());
    }
    daemon.up();
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
}

#[test]
#[ignore = "needs root"]
fn unusable_run_uid_is_refused_with_advice() {
    need_root();
    for (lines, want) in [
        ("run-uid = \"no-such-user\"", "there is no user \"no-such-user\" on this system"),
        ("run-gid = \"no-such-group\"", "there is no group \"no-such-group\" on this system"),
        ("run-uid = \"65431\"", "say which with run-gid"),
    ] {
        let daemon = prepare(&format!("[startup]\n{lines}\n"));
        let ran = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(ran.status, 64, "{lines}: {ran:?}");
        assert!(ran.err.contains(want), "{lines}: {}", ran.err);
        assert!(!daemon.spool().exists(), "files were created");
    }
}

#[test]
#[ignore = "needs root"]
fn only_root_may_change_the_user() {
    need_root();
    let daemon = as_nobody();
    // The new user may be unable to enter the directory of the program, so the program is copied.
    let program = daemon.home().join("wwwoffle");
    std::fs::copy(env!("CARGO_BIN_EXE_wwwoffle"), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65433", "--regid", "65433", "--clear-groups"]).arg(&program);
    command.arg("--config").arg(daemon.config_file()).arg("--spool").arg(daemon.spool());
    command.args(["serve", "--listen", "127.0.0.1:0"]).env("HOME", daemon.home());
    let ran = daemon::run(command, None);
    assert_eq!(ran.status, 64, "{ran:?}");
    assert!(ran.err.contains("only root may become user 65431 of group 65432"), "{}", ran.err);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_spool_has_the_configured_permissions() {
    let origin = Origin::start();
    let config = "[startup]\ndir-perm = \"0750\"\nfile-perm = \"0750\"\n";
    let mut daemon = Daemon::prepare(Some(config)).with_setup("umask 077");
    daemon.up();
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    daemon.settle();
    daemon.down();
    assert_eq!(mode(daemon.spool()), 0o750);
    let kept: Vec<_> = files(&daemon.spool().join("http"));
    assert_eq!(kept.len(), 1);
    for kept in &kept {
        assert_eq!(mode(kept), 0o640);
        let above = kept.ancestors().skip(1).take_while(|above| above.starts_with(daemon.spool()));
        above.for_each(|directory| assert_eq!(mode(directory), 0o750, "{}", directory.display()));
    }
    for key in [daemon.spool().join("secret"), daemon.spool().join("ca/authority.pem")] {
        assert_eq!(mode(&key), 0o600, "{}", key.display());
    }
}

#[test]
fn by_default_only_the_owner_reads_the_spool() {
    let origin = Origin::start();
    let mut daemon = Daemon::prepare(None).with_setup("umask 000");
    daemon.up();
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    daemon.down();
    assert_eq!(mode(daemon.spool()), 0o700);
    for file in files(daemon.spool()) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

/// Starts a daemon that sees these sockets in place of the system's logs, and stops it when it is
/// ready. Returns its exit status and its standard error.
fn run_with_logs(daemon: &Daemon, syslog: &Path, journal: &Path) -> (Option<i32>, String) {
    // The daemon runs in a separate mount namespace, so that the real /dev and /run do not change.
    let script = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal && \
        ln -s \"$1\" /run/systemd/journal/socket && \
        mount -t tmpfs tmpfs /dev && ln -s \"$0\" /dev/log && shift && exec \"$@\"";
    let inner = daemon.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(syslog).arg(journal);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env("HOME", daemon.home()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    if !ready.is_empty() {
        // Each program of the chain has replaced itself by the next one with `exec`. So this
        // process is the daemon.
        let stop = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(stop.unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn need_mount() {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /run"]);
    let may = command.output().is_ok_and(|output| output.status.success());
    if !may {
        cannot_run("mounting is not permitted here");
    }
}

/// All messages that a socket has received.
fn heard(socket: &UnixDatagram) -> Vec<String> {
    socket.set_nonblocking(true).unwrap();
    let mut bytes = vec![0; 64 * 1024];
    let mut heard = Vec::new();
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) => heard.push(String::from_utf8_lossy(&bytes[..length]).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return heard,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_log_goes_to_a_file_that_may_be_renamed() {
    let mut daemon = prepare("[options]\nlog-level = \"debug\"\n");
    let (log, old) = (daemon.home().join("log"), daemon.home().join("log.1"));
    let option = |log: &Path| format!("[startup]\nlog-to = {log:?}\n");
    std::fs::write(daemon.config_file(), option(&log.join("none"))).unwrap();
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 64, "{refused:?}");
    assert!(refused.err.contains("the file cannot be written"), "{refused:?}");
    std::fs::write(daemon.config_file(), option(&log)).unwrap();
    daemon.up();
    std::fs::rename(&log, &old).unwrap();
    daemon.down();
    assert_eq!(daemon.whole_log(), "");
    assert!(std::fs::read_to_string(&log).unwrap().contains("stopping"));
    assert!(!std::fs::read_to_string(&old).unwrap().contains("stopping"));
}

#[test]
fn serve_takes_a_level_of_the_log() {
    let daemon = prepare("[options]\nlog-level = \"error\"\n");
    let mut command = daemon.command(&["serve", "--listen", "127.0.0.1:0", "--log-level", "info"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    daemon.ok(&["stop"]);
    let log = child.wait_with_output().unwrap().stderr;
    let log = String::from_utf8_lossy(&log);
    assert!(ready.contains("listening") && log.contains("stopping"), "{ready} {log}");
}

#[test]
#[ignore = "needs root and unshare"]
fn the_log_goes_to_syslog_or_the_journal_or_fails_the_start() {
    need_mount();
    for (to, other) in [("syslog", "journal"), ("journal", "syslog")] {
        let daemon = prepare(&format!("[startup]\nlog-to = \"{to}\"\n"));
        let at = [daemon.home().join("syslog"), daemon.home().join("journal")];
        // Nothing listens on the socket, so the start fails.
        let (status, said) = run_with_logs(&daemon, &at[0], &at[1]);
        assert_eq!(status, Some(64), "{to}: {said}");
        assert!(said.contains(&format!("log-to = \"{to}\"")), "{to}: {said}");
        let sockets = at.each_ref().map(|at| UnixDatagram::bind(at).unwrap());
        let ended = run_with_logs(&daemon, &at[0], &at[1]);
        assert_eq!(ended, (Some(0), String::new()), "{to}");
        let [syslog, journal] = sockets.each_ref().map(heard);
        let (heard, silent) = if to == "syslog" { (syslog, journal) } else { (journal, syslog) };
        assert!(silent.is_empty(), "{other} too: {silent:?}");
        let stopping = heard.iter().find(|event| event.contains("stopping"));
        let stopping = stopping.unwrap_or_else(|| panic!("{to}: {heard:?}"));
        match to {
            "syslog" => assert!(
                stopping.starts_with("<30>") && stopping.contains(" wwwoffle["),
                "{stopping}"
            ),
            // The journal gets each field of an event separately.
            _ => assert!(
                stopping.contains("F_WHY\n") && stopping.contains("SIGTERM\n"),
                "{stopping}"
            ),
        }
    }
}
