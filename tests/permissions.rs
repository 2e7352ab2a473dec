//! Who may change what: every route that changes something and every option, by every kind of caller.
//!
//! The routes are in `permissions.txt`, which the tests of the daemon compare with its own tables. The
//! options are those of the schema, with a value of each from the tests of the configuration. Another
//! machine is an address of a network namespace, as in `inward`.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::access::{control, login, users};
use crate::harness::client::Response;
use crate::harness::{Client, Daemon};
use crate::inward::{ELSEWHERE, in_a_namespace};

/// A certificate that the configuration allows.
const ALLOWED: &str = "[{ host = \"a.test\", sha256 = \"\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" }]";

/// What a caller may do, or what a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Permission {
    Read,
    Request,
    Change,
    Administer,
}

/// A caller of the daemon's own pages and API.
struct Caller<'a> {
    name: &'static str,
    daemon: &'a Daemon,
    /// Its address; `None` for the Unix socket.
    address: Option<IpAddr>,
    /// Fields with its login, with their line ends.
    fields: String,
    may: Permission,
}

impl Caller<'_> {
    fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        fields: &str,
        body: &str,
    ) -> Response {
        let (mut client, host) = match self.address {
            None => (Client::unix(&self.daemon.spool().join("control")), "localhost".to_owned()),
            Some(address) => {
                let ours = SocketAddr::new(address, self.daemon.addr().port());
                (Client::connect_from(address, ours), ours.to_string())
            }
        };
        client.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\n{}{fields}\
             Content-Length: {}\r\n\r\n{body}",
            self.fields,
            body.len()
        ));
        client.receive(method).whole()
    }

    /// The token in the forms of a page for this caller.
    fn token(&self) -> String {
        if self.address.is_none() {
            return String::new();
        }
        let page = self.send("GET", "/control/", "text/plain", "", "").text();
        let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
        rest.split('"').next().unwrap().to_owned()
    }

    fn call(&self, token: &str, path: &str, body: &str) -> Response {
        let fields = format!("X-Wwwoffle-Token: {token}\r\n");
        self.send("POST", path, "application/json", &fields, body)
    }

    /// Whether the answer says that the caller may not do it.
    fn is_refused(response: &Response) -> bool {
        matches!(response.status, 401 | 403)
    }
}

/// The routes, each with what it needs.
fn routes() -> Vec<(&'static str, Permission)> {
    let lines = include_str!("permissions.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let (path, needed) = line.split_once(' ').unwrap();
        let needed = match needed {
            "request" => Permission::Request,
            "change" => Permission::Change,
            _ => Permission::Administer,
        };
        (path, needed)
    };
    lines.map(row).collect()
}

/// The options, each with a value that is not its default.
fn options() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = include_str!("../config/tests/options.txt").lines();
    let row = |line: &'static str| {
        let (option, value) = line.split_once(" ->")?.0.split_once(" = ")?;
        let (section, key) = option.split_once('.')?;
        Some((section, key, value.trim()))
    };
    let mut options: Vec<_> = lines.filter(|line| !line.starts_with('#')).filter_map(row).collect();
    options.dedup_by_key(|(section, key, _)| (*section, *key));
    options
}

/// Runs `check` with each kind of caller, with daemons of their own.
fn with_callers(check: impl Fn(&Caller<'_>)) {
    let start = |config: &str| {
        let shared = "[local-host]\nnames = [\"localhost\", \"127.0.0.1\", \"192.0.2.7\"]\n\
                      [allowed-connect-hosts]\nhosts = [\"192.0.2.0/24\"]\n";
        let mut daemon = Daemon::prepare(Some(&format!("{shared}{config}")));
        daemon.up_at("0.0.0.0:0");
        daemon
    };
    let without = "[startup]\nshare-without-password = true\n";
    let open = start(without);
    let named = start(&format!("{without}{}", users()));
    let guarded = start(&control());
    let here = Some(IpAddr::from([127, 0, 0, 1]));
    let ada = || login("Proxy-Authorization", "ada", crate::access::PASSWORD);
    let password = || login("Authorization", "whoever", crate::access::CONTROL);
    let caller = |name, daemon, address, fields, may| Caller { name, daemon, address, fields, may };
    let none = String::new;
    let callers = [
        caller("Unix socket", &open, None, none(), Permission::Administer),
        // Over TCP another account of the machine is the same.
        caller("this machine", &open, here, none(), Permission::Change),
        caller("another machine", &open, Some(ELSEWHERE), none(), Permission::Request),
        caller("user here", &named, here, ada(), Permission::Change),
        caller("user elsewhere", &named, Some(ELSEWHERE), ada(), Permission::Request),
        caller("here without password", &guarded, here, none(), Permission::Read),
        caller("elsewhere without password", &guarded, Some(ELSEWHERE), none(), Permission::Read),
        caller("password here", &guarded, here, password(), Permission::Administer),
        caller("password elsewhere", &guarded, Some(ELSEWHERE), password(), Permission::Administer),
    ];
    for daemon in [&open, &named, &guarded] {
        let socket = std::fs::metadata(daemon.spool().join("control")).unwrap();
        assert_eq!(socket.permissions().mode() & 0o777, 0o600, "other accounts cannot open it");
    }
    for caller in &callers {
        check(caller);
    }
}

#[test]
fn who_may_use_each_route() {
    in_a_namespace("permissions::each_route_is_for_whom_it_is");
}

#[test]
fn who_may_change_each_option() {
    in_a_namespace("permissions::each_option_is_for_whom_it_is");
}

#[test]
#[ignore = "runs in a namespace, by the test before it"]
fn each_route_is_for_whom_it_is() {
    with_callers(|caller| {
        let token = caller.token();
        for (path, needed) in routes() {
            let may = caller.may >= needed;
            // The others need the daemon.
            if may && path == "/api/stop" {
                continue;
            }
            let response = if path.starts_with("/api/") {
                caller.call(&token, path, "{}")
            } else if caller.address.is_some() {
                let body = format!("token={token}");
                caller.send("POST", path, "application/x-www-form-urlencoded", "", &body)
            } else {
                // The socket has no pages.
                continue;
            };
            // An archive is named by a path of the machine, so it is read for the socket alone.
            let may = may && (path != "/api/import" || caller.address.is_none());
            assert_eq!(
                Caller::is_refused(&response),
                !may,
                "{} {path}: {} {}",
                caller.name,
                response.status,
                response.text()
            );
        }
    });
}

#[test]
#[ignore = "runs in a namespace, by the test before it"]
fn each_option_is_for_whom_it_is() {
    // The tests of the configuration have no passwords.
    let (password, others) = (control(), users());
    let value = |line: &'static str| line.split_once(" = ").unwrap().1;
    let (password, others) = (value(password.leak()), value(others.leak()));
    with_callers(|caller| {
        let token = caller.token();
        let schema = caller.daemon.api("GET", "/api/config/schema", "");
        let schema: Value = serde_json::from_slice(&schema.body).unwrap();
        for (section, key, value) in options() {
            let kind = &schema["properties"][section]["properties"][key]["x-protection"];
            let needed = match kind.as_str().unwrap() {
                "ordinary" => Permission::Change,
                "program" | "path" | "access" | "trust" => Permission::Administer,
                kind => panic!("{section}.{key}: {kind}"),
            };
            // The caller would lose what lets it in.
            if caller.may == Permission::Administer
                && matches!(
                    (section, key),
                    ("startup", "password")
                        | ("allowed-connect-hosts", "hosts")
                        | ("allowed-connect-users", "users")
                )
            {
                continue;
            }
            let before = std::fs::read(caller.daemon.config_file()).unwrap();
            let value = match (section, key) {
                // It is set already.
                ("startup", "share-without-password") => "false",
                ("startup", "password") => password.trim(),
                ("allowed-connect-users", "users") => others.trim(),
                ("https", "allowed-certificates") => ALLOWED,
                ("https", "extra-ca") => "[\"/nowhere/ca.pem\"]",
                _ => value,
            };
            let set = json!({"set": {"section": section, "key": key, "value": value}});
            let response = caller.call(&token, "/api/config", &set.to_string());
            let may = caller.may >= needed;
            assert_eq!(
                Caller::is_refused(&response),
                !may,
                "{} {section}.{key} = {value}: {} {}",
                caller.name,
                response.status,
                response.text()
            );
            let after = std::fs::read(caller.daemon.config_file()).unwrap();
            if before != after {
                assert!(may, "{} {section}.{key}", caller.name);
                caller.daemon.ok(&["config", "undo"]);
            }
        }
    });
}
