//! Who may change what: every route that changes something and every option, for every kind of
//! caller.
//!
//! The routes are in `routes.txt`, which a test of the daemon compares with its own table. The
//! options are those of the schema, with a value of each from the tests of the configuration.
//! Another machine is represented by an address of a network namespace, as in `inward`.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::client::Response;
use crate::harness::tools::need_root;
use crate::harness::{Client, Daemon, Tls, daemon, eventually};
use crate::network::inward::{ELSEWHERE, in_a_namespace};
use crate::security::identity::{NOBODY, prepare};
use crate::security::logins::{control, login, users};
use crate::security::routes::routes;

/// A value of the option `allowed-certificates`.
const ALLOWED: &str = "[{ host = \"a.test\", sha256 = \"\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" }]";

/// The permission that a caller has or a route needs.
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
    /// The address of the caller; `None` for the Unix socket.
    address: Option<IpAddr>,
    /// The header fields with the caller's login, each with its line end.
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

    /// The token that the forms of a page for this caller contain.
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

    /// Whether the response says that the caller lacks the permission.
    fn is_refused(response: &Response) -> bool {
        matches!(response.status, 401 | 403)
    }
}

/// The routes that change something, each with the permission that it needs.
fn changing() -> impl Iterator<Item = (&'static str, Permission)> {
    routes().into_iter().filter(|route| route.method == "POST").map(|route| {
        let needed = match route.guard {
            "request" | "button" => Permission::Request,
            "change" => Permission::Change,
            "administer" => Permission::Administer,
            guard => panic!("{}: {guard}", route.path),
        };
        (route.path, needed)
    })
}

/// The section and the key of each option, with a value that is not its default.
fn options() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = include_str!("../../config/tests/options.txt").lines();
    let row = |line: &'static str| {
        let (option, value) = line.split_once(" ->")?.0.split_once(" = ")?;
        let (section, key) = option.split_once('.')?;
        Some((section, key, value.trim()))
    };
    let mut options: Vec<_> = lines.filter(|line| !line.starts_with('#')).filter_map(row).collect();
    options.dedup_by_key(|(section, key, _)| (*section, *key));
    options
}

/// Calls `check` with each kind of caller. The callers use three daemons: without users, with
/// users, and with a control password.
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
    let ada = || login("Proxy-Authorization", "ada", crate::security::logins::PASSWORD);
    let password = || login("Authorization", "whoever", crate::security::logins::CONTROL);
    let caller = |name, daemon, address, fields, may| Caller { name, daemon, address, fields, may };
    let none = String::new;
    let callers = [
        caller("Unix socket", &open, None, none(), Permission::Administer),
        // Over TCP, another account of the machine has the same permission:
        // see `other_account_cannot_use_the_control_socket`.
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
#[ignore = "needs unshare and ip"]
fn each_route_has_its_permission() {
    in_a_namespace(module_path!(), "each_route_has_its_permission", each_route_is_for_whom_it_is);
}

#[test]
#[ignore = "needs unshare and ip"]
fn each_option_has_its_permission() {
    in_a_namespace(module_path!(), "each_option_has_its_permission", each_option_is_for_whom_it_is);
}

#[test]
#[ignore = "needs unshare and ip"]
fn guests_see_only_their_own_rejections() {
    in_a_namespace(module_path!(), "guests_see_only_their_own_rejections", || {
        with_callers(|caller| {
            // These callers log in to the proxy, so a CONNECT without a login is refused.
            if caller.name.starts_with("user") {
                return;
            }
            // Callers share daemons. A host is not intercepted again after a rejection.
            let is_rejected = || caller.daemon.log().contains("rejects our");
            if !is_rejected() {
                let ours = SocketAddr::from(([127, 0, 0, 1], caller.daemon.addr().port()));
                let tls = Tls { authority: &[], alpn: &[] };
                assert!(Client::connect_tls(ours, "h.example:443", "h.example", tls).is_err());
            }
            eventually("it is in the log", is_rejected);
            let status = caller.send("GET", "/api/status", "text/plain", "", "").text();
            // Reading needs no password, so none is checked.
            let sees = caller.address != Some(ELSEWHERE);
            assert_eq!(status.contains("h.example"), sees, "{}: {status}", caller.name);
        });
    });
}

fn each_route_is_for_whom_it_is() {
    with_callers(|caller| {
        let token = caller.token();
        for (path, needed) in changing() {
            let may = caller.may >= needed;
            // The calls after this one need the daemon, so it is not stopped.
            if may && path == "/api/stop" {
                continue;
            }
            let response = if path.starts_with("/api/") {
                caller.call(&token, path, "{}")
            } else if caller.address.is_some() {
                let body = format!("token={token}");
                caller.send("POST", path, "application/x-www-form-urlencoded", "", &body)
            } else {
                // The Unix socket serves no pages.
                continue;
            };
            // An archive is named by a path on the machine, or as large as its disk, so only a
            // caller on the socket may import it.
            let may = may && (!path.starts_with("/api/import") || caller.address.is_none());
            assert_eq!(
                Caller::is_refused(&response),
                !may,
                "{} {path}: {} {}",
                caller.name,
                response.status,
                response.text()
            );
        }
        begins_by_a_link(caller);
    });
}

/// Checks that a link starts a recursive fetch only if the caller may send the form for it.
fn begins_by_a_link(caller: &Caller<'_>) {
    let Some(address) = caller.address else { return };
    let referer = SocketAddr::new(address, caller.daemon.addr().port());
    let path = "/refresh-recurse/?url=http://wanted.test/;depth=1";
    let referer = format!("Referer: http://{referer}/\r\n");
    let response = caller.send("GET", path, "text/plain", &referer, "");
    // The link itself does not ask for the control password, but the form to which it leads does.
    let begun = caller.may >= Permission::Request && !caller.name.contains("password");
    assert_eq!(response.status == 303, begun, "{} {}", caller.name, response.text());
}

fn each_option_is_for_whom_it_is() {
    // The tests of the configuration have no values with passwords.
    let (password, others) = (control(), users());
    let value = |line: &'static str| line.split_once(" = ").unwrap().1;
    let (password, others) = (value(password.leak()), value(others.leak()));
    with_callers(|caller| {
        let token = caller.token();
        let schema = caller.daemon.api("GET", "/api/config/schema", "");
        let schema: Value = serde_json::from_slice(&schema.body).unwrap();
        assert_eq!(names_in(&schema), options().iter().map(|row| (row.0, row.1)).collect());
        for (section, key, value) in options() {
            let kind = &schema["properties"][section]["properties"][key]["x-protection"];
            let needed = match kind.as_str().unwrap() {
                "ordinary" => Permission::Change,
                "program" | "path" | "access" | "trust" => Permission::Administer,
                kind => panic!("{section}.{key}: {kind}"),
            };
            // With this change the caller would lose its own access.
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
                // The option already has the value of the configuration's tests.
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
            if !may {
                stays(caller, &token, &set, (section, key));
            }
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
            if may && needed == Permission::Change {
                gets_a_rule(caller, &token, (section, key, value));
            }
        }
    });
}

/// The options of a schema.
fn names_in(schema: &Value) -> BTreeSet<(&str, &str)> {
    let sections = schema["properties"].as_object().unwrap().iter();
    let all = sections.flat_map(|(section, schema)| {
        let keys = schema["properties"].as_object().unwrap().keys();
        // The keys for rules and for other files are not options.
        keys.filter(|key| !["for", "include"].contains(&key.as_str()))
            .map(move |key| (section.as_str(), key.as_str()))
    });
    all.collect()
}

/// Checks that the caller may add a rule with this ordinary option, even if its section has
/// protected options.
fn gets_a_rule(caller: &Caller<'_>, token: &str, (section, key, value): (&str, &str, &str)) {
    let before = std::fs::read(caller.daemon.config_file()).unwrap();
    let rule = json!({"add_rule": {"section": section, "url": ["*://a.test/*"],
        "options": [[key, value]]}});
    let response = caller.call(token, "/api/config", &rule.to_string());
    // The change may still be invalid: some options have no rules.
    assert!(!Caller::is_refused(&response), "{} {rule}: {}", caller.name, response.text());
    if before != std::fs::read(caller.daemon.config_file()).unwrap() {
        caller.daemon.ok(&["config", "undo"]);
    }
}

/// Checks that the caller, who may not set the option, can neither add a rule with it, nor remove
/// it, nor undo its last change.
fn stays(caller: &Caller<'_>, token: &str, set: &Value, (section, key): (&str, &str)) {
    let rule = json!({"add_rule": {"section": section, "url": ["*://a.test/*"],
        "options": [[key, set["set"]["value"]]]}});
    let response = caller.call(token, "/api/config", &rule.to_string());
    // The caller is refused, or the option has no rules.
    assert!(response.status >= 400, "{} {rule}: {}", caller.name, response.text());
    // The options of the first two sections would let the caller in, or lock it out. Removing
    // `share-without-password` changes nothing, because it has its default here. The file of
    // `extra-ca` does not exist.
    if caller.may < Permission::Change
        || ["allowed-connect-hosts", "allowed-connect-users"].contains(&section)
        || ["share-without-password", "extra-ca"].contains(&key)
    {
        return;
    }
    let made = caller.daemon.api("POST", "/api/config", &set.to_string());
    assert_eq!(made.status, 200, "{set}: {}", made.text());
    let unset = json!({"unset": {"section": section, "key": key}});
    let response = caller.call(token, "/api/config", &unset.to_string());
    assert!(Caller::is_refused(&response), "{} {unset}: {}", caller.name, response.text());
    let response = caller.call(token, "/api/config/undo", "{}");
    assert!(Caller::is_refused(&response), "{} undo {unset}: {}", caller.name, response.text());
    let undone = caller.daemon.api("POST", "/api/config/undo", "{}");
    assert_eq!(undone.status, 200, "{set}: {}", undone.text());
}

/// The result of a request by another account of this machine with `curl`.
fn as_another_account(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("setpriv");
    let (user, group) = NOBODY;
    command.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups"]);
    command.args(["curl", "--silent", "--noproxy", "*"]).args(arguments);
    let ran = daemon::output(command, None, Duration::from_secs(60));
    (ran.status.code().unwrap(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
#[ignore = "needs root and curl"]
fn other_account_cannot_use_the_control_socket() {
    need_root();
    let mut daemon = prepare("");
    daemon.up_at("127.0.0.1:0");
    let socket = daemon.spool().join("control");
    let status = ["--unix-socket", socket.to_str().unwrap(), "http://localhost/api/status"];
    assert_eq!(as_another_account(&status).0, 7, "the directory is shut");
    for (path, mode) in [(daemon.spool(), 0o755), (&socket, 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (code, answer) = as_another_account(&status);
    assert!(code != 0 && answer.is_empty(), "the kernel says who it is: {code} {answer}");
    assert_eq!(daemon.api("GET", "/api/status", "").status, 200);

    let page = as_another_account(&[&daemon.own("/control/")]).1;
    let (_, token) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    let token = format!("X-Wwwoffle-Token: {}", token.split('"').next().unwrap());
    let post = |path: &str, body: &str| {
        let json = "Content-Type: application/json";
        let code = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        let sent = ["--header", &token, "--header", json, "--data", body, &daemon.own(path)];
        as_another_account(&[&code[..], &sent[..]].concat()).1
    };
    for (key, value, want) in [
        ("options.log-level", "\"debug\"", "200"),
        ("fetch-options.browser", "\"/bin/sh\"", "403"),
        ("options.run-online", "\"/bin/sh\"", "403"),
        ("startup.spool-dir", "\"/tmp\"", "403"),
        ("startup.log-to", "\"syslog\"", "403"),
        ("startup.access-log", "\"/tmp/log\"", "403"),
        ("startup.file-perm", "\"0777\"", "403"),
        ("allowed-connect-hosts.inside", "[\"localhost\"]", "403"),
        ("https.extra-ca", "[\"/tmp/ca.pem\"]", "403"),
        ("proxy.proxy", "\"evil.test:3128\"", "403"),
    ] {
        let (section, key) = key.split_once('.').unwrap();
        let set = json!({"set": {"section": section, "key": key, "value": value}});
        assert_eq!(post("/api/config", &set.to_string()), want, "{set}");
    }
    assert_eq!(post("/api/entries/write?url=http://bank.test/", "HTTP/1.1 200 OK\r\n\r\n"), "403");
    assert_eq!(post("/api/import", "{\"path\":\"/tmp/a.warc\"}"), "403");
    assert_eq!(post("/api/mode", "{\"mode\":\"offline\"}"), "200");
}
