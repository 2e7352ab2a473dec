//! TLS sessions and their resumption. A session of one host cannot be used for another.

use std::process::Command;

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::plain;
use crate::harness::{Daemon, Forward, Trust};

/// Runs a client that saves the session of a connection in a file or resumes one, as `arguments`
/// say.
#[track_caller]
fn connect(daemon: &Daemon, trust: &Trust, host: &str, arguments: &[&str]) -> Ran {
    let there = Forward::to(daemon.addr(), &format!("{host}:443"));
    let mut command = plain(Command::new("openssl"));
    command.args(["s_client", "-connect", &there.addr.to_string(), "-servername", host]);
    command.args(["-CAfile", trust.file(), "-verify_return_error", "-verify_hostname", host]);
    // Waits for the end of the response, since with TLS 1.3 tickets are sent after the handshake.
    command.arg("-ign_eof").args(arguments);
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let ran = run(command, Some(request.as_bytes()));
    assert!(ran.out.contains("HTTP/1.1 504"), "{host} {arguments:?}: {ran:?}");
    ran
}

#[test]
#[ignore = "needs openssl"]
fn a_tls_session_is_valid_for_one_host_until_a_restart() {
    let mut daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    let kept = daemon.home().join("session.pem");
    let kept = kept.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        let _ = std::fs::remove_file(kept);
        let first = connect(&daemon, &trust, "a.example", &[version, "-sess_out", kept]);
        assert!(first.out.contains("Verify return code: 0 (ok)"), "{version}: {first:?}");
        for restart in [false, true] {
            if restart {
                daemon.restart();
            }
            for host in ["b.example", "a.example"] {
                // With TLS 1.3 there may be no ticket for a resumption.
                let mut arguments = vec![version];
                if std::fs::metadata(kept).is_ok_and(|file| file.len() > 0) {
                    arguments.extend(["-sess_in", kept]);
                }
                let again = connect(&daemon, &trust, host, &arguments);
                assert!(again.out.contains("\nNew, TLSv1."), "{version} {host}: {again:?}");
                assert!(!again.out.contains("\nReused"), "{version} {host}: {again:?}");
                let subject = format!("subject=CN = {host}");
                assert!(again.out.contains(&subject), "{version} {host}: {again:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs openssl"]
fn no_session_ticket_is_issued() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    for version in ["-tls1_2", "-tls1_3"] {
        let said = connect(&daemon, &trust, "a.example", &[version, "-msg"]);
        assert!(said.out.contains("Finished"), "{version}: {said:?}");
        assert!(!said.out.contains("NewSessionTicket"), "{version}: {said:?}");
    }
}
