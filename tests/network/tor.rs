//! A private Tor network of this machine: a directory authority, three other relays, a client and an
//! onion service. Only Tor knows the name of the service.

use std::fmt::Write as _;
use std::fs::{Permissions, create_dir_all, read_to_string, set_permissions, write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::chain::{Running, closed, through};
use crate::harness::daemon::run;
use crate::harness::tools::{plain, program};
use crate::harness::{Answer, Daemon, Origin, eventually_within};

/// The time for a step: the authority votes each 10 seconds, and six programs share the machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The roles of the authority. It votes at once for relays that have just started.
const AUTHORITY: &str = "AuthoritativeDirectory 1\nV3AuthoritativeDirectory 1\n\
    ContactInfo none@example.org\nTestingV3AuthInitialVotingInterval 5\n\
    TestingV3AuthInitialVoteDelay 2\nTestingV3AuthInitialDistDelay 2\nV3AuthVotingInterval 10\n\
    V3AuthVoteDelay 2\nV3AuthDistDelay 2\nTestingDirAuthVoteExit *\nTestingDirAuthVoteHSDir *\n\
    TestingDirAuthVoteGuard *\nTestingMinExitFlagThreshold 0\n";

/// The number after `key` in a text of lines.
fn field(text: &str, key: &str) -> String {
    let found = text.lines().find_map(|line| line.strip_prefix(key));
    found.unwrap_or_else(|| panic!("{key:?} is not in {text}")).replace(' ', "")
}

/// Starts the network below `home`. The client serves SOCKS at `socks`, and the onion service leads to
/// `service`.
fn start(home: &Path, socks: SocketAddr, service: SocketAddr) -> Vec<Running> {
    let (directory, relays) = (closed(), [(); 4].map(|()| closed()));
    let at = |name: &str| home.join(name);
    for name in ["r0", "r1", "r2", "r3", "client", "onion", "onion/service", "r0/keys"] {
        create_dir_all(at(name)).unwrap();
        set_permissions(at(name), Permissions::from_mode(0o700)).unwrap();
    }
    let relay = |number: usize| {
        let address = relays[number];
        format!(
            "Nickname r{number}\nAddress 127.0.0.1\nORPort {address}\nSocksPort 0\nExitRelay 1\n\
             ExitPolicyRejectPrivate 0\nExitPolicy accept *:*\n"
        )
    };
    let mut command = Command::new(program(&["tor-gencert"]));
    command.args(["--create-identity-key", "--passphrase-fd", "0", "-m", "12", "-a"]);
    command.arg(directory.to_string()).current_dir(at("r0/keys"));
    assert_eq!(run(command, Some(b"of the test\n")).status, 0);
    let identity = read_to_string(at("r0/keys/authority_certificate")).unwrap();
    let identity = field(&identity, "fingerprint ");
    write(at("first"), format!("{}DataDirectory {}\n", relay(0), at("r0").display())).unwrap();
    let mut command = Command::new(program(&["tor"]));
    command.arg("-f").arg(at("first")).arg("--list-fingerprint");
    let fingerprint = field(&run(command, None).out, "r0 ");
    let authority = format!(
        "DirAuthority r0 orport={} v3ident={identity} no-v2 {directory} {fingerprint}\n",
        relays[0].port()
    );
    let mut network = Vec::new();
    let mut launch = |name: &str, role: &str| {
        let mut text = format!("TestingTorNetwork 1\nAssumeReachable 1\n{authority}{role}");
        writeln!(text, "DataDirectory {}\nShutdownWaitLength 0", at(name).display()).unwrap();
        writeln!(text, "Log notice file {}", at(name).join("log").display()).unwrap();
        let file = at(&format!("{name}.conf"));
        write(&file, text).unwrap();
        let mut command = plain(Command::new(program(&["tor"])));
        command.arg("--quiet").arg("-f").arg(&file).stdin(Stdio::null());
        network.push(Running(command.spawn().unwrap()));
    };
    launch("r0", &format!("{}{AUTHORITY}DirPort {directory}\n", relay(0)));
    for number in 1..relays.len() {
        launch(&format!("r{number}"), &relay(number));
    }
    launch("client", &format!("SocksPort {socks}\nSocksTimeout 10\n"));
    let onion = at("onion/service");
    let role = format!("SocksPort 0\nHiddenServiceDir {}\n", onion.display());
    launch("onion", &format!("{role}HiddenServicePort 80 {service}\n"));
    network
}

#[test]
#[ignore = "needs tor"]
fn a_page_of_an_onion_service_is_read_through_tor_and_offline() {
    let (origin, socks) = (Origin::start(), closed());
    let home = tempfile::tempdir().unwrap();
    let _network = start(home.path(), socks, origin.addr);
    let at = |name: &str| home.path().join(name);
    let log = |name: &str| read_to_string(at(name).join("log")).unwrap_or_default();
    for name in ["client", "onion"] {
        eventually_within(LIMIT, "Tor has its circuits", || {
            log(name).contains("Bootstrapped 100%")
        });
    }
    let name = read_to_string(at("onion/service/hostname")).unwrap();
    let url = format!("http://{}/page", name.trim());
    origin.say("/page", Answer::html("through Tor"));
    let daemon = Daemon::configured(&through(&format!("socks5://{socks}")));
    // At first the service is not announced yet.
    eventually_within(LIMIT, "the service is reached", || daemon.browse(&url).status == 200);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.browse(&url).text(), "through Tor");
}
