//! `wwwoffle setup --for household` and `--for school`: who is served, and the undo.

use std::fs::{read_to_string, set_permissions, write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{home, same, setup, user};
use crate::harness::{Answer, Client, Daemon, Origin};

/// An address for other machines that only the configuration names. The system gives its port to no
/// listener on port 0, so no other test uses it.
fn open_address() -> String {
    let all = |port| SocketAddr::from(([0, 0, 0, 0], port));
    let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok();
    (20_000..21_000).map(all).find(is_free).expect("one of 1000 ports is free").to_string()
}

/// A client on another machine, as the daemon sees it.
fn far(daemon: &Daemon) -> Client {
    let to = SocketAddr::from(([127, 0, 0, 1], daemon.addr().port()));
    Client::connect_from(IpAddr::from([127, 0, 0, 2]), to)
}

/// A file with the control password.
fn control_password(daemon: &Daemon) -> String {
    let path = daemon.home().join("secret");
    write(&path, "sésame\n").unwrap();
    set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_household_is_set_up_with_names_clients_users_and_pac() {
    let (mut daemon, _tools) = user(Some("# mine\n"));
    let (secret, users) = (daemon.home().join("secret"), daemon.home().join("users"));
    write(&secret, "sésame\n").unwrap();
    write(&users, "ada:secret-1\nbob:secret-2\n").unwrap();
    let (file, users) = (secret.to_str().unwrap(), users.to_str().unwrap());
    let listen = open_address();
    let line = |whom| {
        [
            "--yes",
            "--for",
            whom,
            "--listen",
            &listen,
            "--client",
            "192.0.2.0/24",
            "--name",
            "proxy.lan",
        ]
        .map(str::to_owned)
    };
    let with = |whom, more: &[&str]| {
        let line = line(whom);
        let line: Vec<&str> = line.iter().map(String::as_str).chain(more.iter().copied()).collect();
        setup(&daemon, &line)
    };
    let before = home(&daemon);
    for (whom, more, want) in [
        ("household", &[][..], "need a control password"),
        ("household", &["--control-password", file], "other users can read the password in"),
        ("household", &["--control-password", "/nowhere"], "/nowhere cannot be read"),
    ] {
        let refused = with(whom, more);
        assert!(refused.status > 0 && refused.err.contains(want), "{refused:?}");
    }
    same(&before, &home(&daemon));
    for path in [file, users] {
        set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let before = home(&daemon);
    let refused = with("school", &["--control-password", file]);
    assert!(refused.err.contains("in a school everyone logs in"), "{refused:?}");
    same(&before, &home(&daemon));

    let done = with("school", &["--control-password", file, "--user-file", users]);
    assert_eq!(done.status, 0, "{done:?}");
    for secret in ["argon2", "sésame", "secret-"] {
        assert!(!done.out.contains(secret), "{secret} in {}", done.out);
    }
    assert!(done.out.contains("/wpad.dat"), "{done:?}");
    assert!(done.out.contains("proxy settings: by hand: no daemon runs"), "{done:?}");
    // The daemon accepts the configuration, and its file for browsers names the proxy.
    daemon.up_at("0.0.0.0:0");
    let mut client = Client::connect(SocketAddr::from(([127, 0, 0, 1], daemon.addr().port())));
    let port = daemon.addr().port();
    client.send(format!("GET /proxy.pac HTTP/1.1\r\nHost: proxy.lan:{port}\r\n\r\n"));
    let pac = client.receive("GET").whole();
    assert!(pac.status == 200 && pac.text().contains("PROXY proxy.lan"), "{}", pac.text());
    // Nobody is served without a login, and no other network at all.
    assert_eq!(client.get("http://page.test/").status, 407);
    assert_eq!(far(&daemon).get("http://page.test/").status, 403);
    // A plain set-up of this machine then writes no variables without a password.
    let again = setup(&daemon, &["--yes"]);
    assert!(again.out.contains("so a variable would need a password"), "{again:?}");
    daemon.down();

    // An option that a person has set since stays.
    daemon.ok(&["config", "set", "options.log-level", "debug"]);
    let undone = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    let config = read_to_string(daemon.config_file()).unwrap();
    assert!(config.starts_with("# mine\n") && config.contains("log-level = \"debug\""), "{config}");
    for gone in ["argon2", "proxy.lan", "192.0.2.0", &listen] {
        assert!(!config.contains(gone), "{gone} in {config}");
    }
}

#[test]
fn a_household_serves_only_its_clients_and_an_undo_keeps_its_access_together() {
    let (mut daemon, _tools) = user(Some(""));
    let (listen, secret) = (open_address(), control_password(&daemon));
    let sharing = ["--for", "household", "--control-password", &secret, "--listen", &listen];
    let done = setup(&daemon, &[&sharing[..], &["--client", "127.0.0.3", "--yes"]].concat());
    assert_eq!(done.status, 0, "{done:?}");
    let mode = std::fs::metadata(daemon.config_file()).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600, "it has the hash of the password");
    let origin = Origin::start();
    origin.say("/page", Answer::html("hello"));
    daemon.up_at("0.0.0.0:0");
    let port = daemon.addr().port();
    let near = SocketAddr::from(([127, 0, 0, 1], port));
    assert_eq!(Client::connect(near).get(&origin.url("/page")).status, 200);
    // Only this machine may reach servers on it, so the others get the stored page.
    daemon.ok(&["offline"]);
    let allowed = IpAddr::from([127, 0, 0, 3]);
    assert_eq!(Client::connect_from(allowed, near).get(&origin.url("/page")).status, 200);
    assert_eq!(far(&daemon).get(&origin.url("/page")).status, 403);

    // The clients were changed since: without the password, these would reach everything.
    let with_clients = read_to_string(daemon.config_file()).unwrap();
    let changed = with_clients.replace("127.0.0.3", "127.0.0.4");
    write(daemon.config_file(), &changed).unwrap();
    let undone = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(undone.status, 1, "{undone:?}");
    assert!(undone.out.contains("allowed-connect-hosts.hosts changed since"), "{undone:?}");
    assert_eq!(read_to_string(daemon.config_file()).unwrap(), changed);
    write(daemon.config_file(), &with_clients).unwrap();
    let undone = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    assert!(undone.out.contains("restart it with the former configuration"), "{undone:?}");
    assert_eq!(read_to_string(daemon.config_file()).unwrap(), "");
}
