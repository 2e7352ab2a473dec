//! The daemon as a service: reports to systemd, sockets from it, and `wwwoffle service`.

use std::fs::{read_to_string, set_permissions, write};
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use command_fds::{CommandFdExt as _, FdMapping};

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::tool;
use crate::harness::{Client, Daemon, PATIENCE};

/// Receives the next report of the daemon.
#[track_caller]
fn report(manager: &UnixDatagram) -> String {
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).expect("the daemon reports its state");
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

/// A daemon that reports its state to the returned socket.
fn managed(config: &str) -> (Daemon, UnixDatagram) {
    let daemon = Daemon::prepare(Some(config));
    let path = daemon.home().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    (daemon.with_variable("NOTIFY_SOCKET", path.to_str().unwrap()), manager)
}

#[test]
fn systemd_is_told_when_the_daemon_is_ready_reloads_and_stops() {
    let (mut daemon, manager) = managed("");
    daemon.up();
    let ready = report(&manager);
    assert!(ready.starts_with("READY=1\nSTATUS=wwwoffle: listening on 127.0.0.1:"), "{ready}");
    assert!(Client::connect(daemon.addr()).get_path("localhost", "/", "").status > 0);
    daemon.signal("HUP");
    assert_eq!(report(&manager), "RELOADING=1");
    assert_eq!(report(&manager), "READY=1\nSTATUS=running");
    daemon.signal("TERM");
    assert_eq!(report(&manager), "STOPPING=1");
    daemon.ended();
}

#[test]
fn the_watchdog_gets_signs_of_life() {
    let (daemon, manager) = managed("");
    let mut daemon = daemon.with_variable("WATCHDOG_USEC", "20000");
    daemon.up();
    let reports: Vec<String> = (0..4).map(|_| report(&manager)).collect();
    let alive = reports.iter().filter(|report| *report == "WATCHDOG=1").count();
    assert_eq!(alive, 3, "{reports:?}");
}

#[test]
fn a_command_with_its_own_daemon_is_no_service() {
    let (daemon, manager) = managed("");
    let daemon = daemon.with_setup("export LISTEN_PID=$$ LISTEN_FDS=1");
    let arguments = ["run", "--record", "a.wacz", "--", "sh", "-c", "echo ran"];
    let mut command = daemon.bare_command();
    command.current_dir(daemon.home()).args(arguments);
    // As a socket of a service, it would need a password.
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    command.fd_mappings(vec![FdMapping { parent_fd: socket.into(), child_fd: 3 }]).unwrap();
    let ran = run(command, None);
    assert_eq!((ran.status, ran.out.as_str()), (0, "ran\n"), "{ran:?}");
    manager.set_nonblocking(true).unwrap();
    assert!(manager.recv(&mut [0; 8]).is_err(), "the manager hears nothing");
}

/// Runs `serve` with `socket` as the first socket of the service manager, until it is ready or has
/// ended. Returns the line on standard output.
fn handed(daemon: &Daemon, socket: OwnedFd) -> (std::process::Child, String) {
    let mut command = daemon.command(&["serve", "--rest", "0"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.fd_mappings(vec![FdMapping { parent_fd: socket, child_fd: 3 }]).unwrap();
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

fn activated(config: &str) -> Daemon {
    Daemon::prepare(Some(config)).with_setup("export LISTEN_PID=$$ LISTEN_FDS=1")
}

#[test]
fn a_socket_from_systemd_replaces_the_configured_addresses() {
    let daemon = activated("[startup]\nlisten = [\"127.0.0.1:1\"]\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    // A client that connects before the daemon runs is served too.
    let mut early = Client::connect(addr);
    early.send(format!("GET /proxy.pac HTTP/1.1\r\nHost: {addr}\r\n\r\n"));
    let (mut child, line) = handed(&daemon, listener.into());
    assert!(line.contains(&format!("listening on {addr}, ")), "{line}");
    assert_eq!(early.receive("GET").whole().status, 200);
    assert_eq!(run(daemon.command(&["stop"]), None).status, 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn sockets_for_another_process_are_left_alone() {
    for setup in ["export LISTEN_PID=1 LISTEN_FDS=1", "unset LISTEN_PID; export LISTEN_FDS=1"] {
        let daemon = Daemon::prepare(Some("[startup]\nlisten = [\"127.0.0.1:0\"]\n"));
        let daemon = daemon.with_setup(setup);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (mut child, line) = handed(&daemon, listener.into());
        assert!(line.contains("listening on 127.0.0.1:") && !line.contains(&addr.to_string()));
        assert_eq!(run(daemon.command(&["stop"]), None).status, 0);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_socket_that_is_no_listening_tcp_socket_is_refused() {
    let daemon = activated("");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let unix = UnixListener::bind(daemon.home().join("socket")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let file = std::fs::File::open(daemon.config_file()).unwrap();
    for socket in [OwnedFd::from(udp), unix.into(), connected.into(), file.into()] {
        let (child, line) = handed(&daemon, socket);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), line.as_str()), (Some(64), ""), "{said}");
        assert!(said.contains("socket 1 of 1 from the service manager is no TCP socket"), "{said}");
    }
}

#[test]
fn a_socket_that_others_reach_needs_a_password_like_a_configured_address() {
    let daemon = activated("");
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let (child, _line) = handed(&daemon, listener.into());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(64), "{said}");
    assert!(said.contains("other machines can reach 0.0.0.0:"), "{said}");
}

/// A place with a `systemctl` that notes its arguments and succeeds, unless they contain `fail`.
fn with_systemctl(fail: &str) -> (Daemon, PathBuf) {
    let daemon = Daemon::prepare(None);
    let (bin, calls) = (daemon.home().join("bin"), daemon.home().join("calls"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\ncase \"$*\" in *{fail}*) echo broken >&2; exit 1;; esac\n",
        calls.display()
    );
    write(bin.join("systemctl"), script).unwrap();
    set_permissions(bin.join("systemctl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    (daemon.with_variable("PATH", &path), calls)
}

fn service(daemon: &Daemon, arguments: &[&str]) -> Ran {
    daemon.run(&[&["service"], arguments].concat())
}

#[test]
fn the_service_of_a_user_is_installed_and_removed() {
    let (daemon, calls) = with_systemctl("nothing");
    let unit = daemon.home().join("config/systemd/user/wwwoffle.service");
    let printed = service(&daemon, &["install", "--user", "--print"]);
    assert!(printed.out.contains("\nsystemctl --user enable wwwoffle.service\n"), "{printed:?}");
    assert!(!unit.exists() && !calls.exists(), "printing changes nothing");
    let ran = service(&daemon, &["install", "--user"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = read_to_string(&unit).unwrap();
    assert!(printed.out.contains(&text), "{printed:?}");
    let command = format!(
        "ExecStart=\"{}\" --spool \"{}\" serve\n",
        env!("CARGO_BIN_EXE_wwwoffle"),
        daemon.spool().display()
    );
    assert!(text.contains(&command) && text.contains("\nType=notify\n"), "{text}");
    let expected = "--user daemon-reload\n--user enable wwwoffle.service\n\
                    --user restart wwwoffle.service\n";
    assert_eq!(read_to_string(&calls).unwrap(), expected);
    let ran = service(&daemon, &["uninstall", "--user"]);
    assert_eq!((ran.status, unit.exists()), (0, false), "{ran:?}");
    let called = read_to_string(&calls).unwrap();
    assert!(called.contains("--user disable --now wwwoffle.service\n"), "{called}");
    let ran = service(&daemon, &["uninstall", "--user"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "the service is not installed\n"));
}

#[test]
fn the_unit_names_files_that_only_the_environment_names() {
    let (daemon, _calls) = with_systemctl("nothing");
    let home = daemon.home().display();
    let file = daemon.home().join("my$.conf");
    write(&file, "").unwrap();
    let printed = |file: Option<&Path>| {
        let mut command = daemon.bare_command();
        command.args(["service", "install", "--user", "--print"]);
        if let Some(file) = file {
            command.env("WWWOFFLE_CONFIG", file);
        }
        let ran = run(command, None);
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.out
    };
    // The test sets `XDG_DATA_HOME`.
    let spool = format!("--spool \"{home}/data/wwwoffle\"");
    assert!(printed(None).contains(&format!("\" {spool} serve\n")), "{}", printed(None));
    let text = printed(Some(&file));
    assert!(text.contains(&format!(" --config \"{home}/my$$.conf\" {spool} serve\n")), "{text}");
    write(&file, "[startup]\nspool-dir = \"/fixed\"\n").unwrap();
    assert!(!printed(Some(&file)).contains("--spool"), "the configuration names the spool");
}

#[test]
fn a_foreign_unit_a_running_daemon_and_a_failure_are_reported() {
    let (mut daemon, _calls) = with_systemctl("restart");
    let unit = daemon.home().join("config/systemd/user/wwwoffle.service");
    daemon.up();
    let ran = service(&daemon, &["install", "--user"]);
    assert_eq!(ran.status, 75, "{ran:?}");
    assert!(ran.err.contains("stop it with `wwwoffle stop`") && !unit.exists(), "{ran:?}");
    daemon.down();
    let ran = service(&daemon, &["install", "--user"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("restart wwwoffle.service` failed: broken"), "{ran:?}");
    write(&unit, "[Unit]\n").unwrap();
    for verb in ["install", "uninstall"] {
        let ran = service(&daemon, &[verb, "--user"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.err.contains("was not written by `wwwoffle service install`"), "{ran:?}");
    }
    assert_eq!(read_to_string(&unit).unwrap(), "[Unit]\n");
}

#[test]
#[ignore = "needs systemd-analyze"]
fn the_unit_of_the_package_is_confined() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd/wwwoffle.service");
    let unit = unit.to_str().unwrap();
    let ran = tool("systemd-analyze", &["security", "--offline=true", "--threshold=20", unit], "");
    assert_eq!(ran.status, 0, "the exposure is above 2.0: {ran:?}");
}
