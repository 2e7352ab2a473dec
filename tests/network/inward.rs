//! Clients on other machines: they cannot reach internal addresses, and the number of their
//! connections is limited.
//!
//! Another machine is represented by a further address in a network namespace of the test. It is
//! reached over the loopback interface. This address also belongs to the daemon's machine, so
//! clients cannot reach it unless the option `inside` allows it. The test restarts itself in the
//! namespace.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use crate::harness::daemon::{self, AS_PERSON};
use crate::harness::tools::{plain, program};
use crate::harness::{Answer, Client, Daemon, Origin, cannot_run, eventually};
use crate::security::owners;

/// An address for documentation (RFC 5737), which no real machine has.
pub(crate) const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// The shell commands that add the addresses and routes of the namespace and then run the given
/// program.
const INSIDE: &str = "ip link set lo up && ip addr add 192.0.2.7/32 dev lo && ip addr add 192.0.2.8/32 dev lo \
    && ip addr add 2001:db8::7/128 dev lo nodad && ip addr add 2001:db8::8/128 dev lo nodad \
    && ip addr add 2001:db8:1::7/128 dev lo nodad && ip route add local 198.51.100.0/24 dev lo \
    && ip route add local 2001:db8:2::/64 dev lo && exec \"$0\" \"$@\"";

/// The environment variable that is set for a test inside a namespace.
const IS_INSIDE: &str = "WWWOFFLE_TEST_IS_IN_A_NAMESPACE";

/// Runs `body` in a network namespace: starts the test `test` of `module` again in a process inside
/// the namespace, which calls `body`.
pub(crate) fn in_a_namespace(module: &str, test: &str, body: fn()) {
    if std::env::var_os(IS_INSIDE).is_some() {
        return body();
    }
    let (_crate, path) = module.split_once("::").unwrap();
    let name = format!("{path}::{test}");
    let unshare = program(&["unshare"]);
    program(&["ip"]);
    let within = |program: &str, arguments: &[&str]| {
        let mut command = plain(Command::new(&unshare));
        command.args(["-rn", "sh", "-c", INSIDE, program]).args(arguments).env(IS_INSIDE, "1");
        daemon::output(command, None, Duration::from_secs(480))
    };
    if !within("true", &[]).status.success() {
        cannot_run("a network namespace cannot be created");
    }
    let me = std::env::current_exe().unwrap();
    let ran = within(me.to_str().unwrap(), &["--exact", &name, "--ignored", "--nocapture"]);
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

/// A daemon that all machines may use.
fn open_daemon(config: &str) -> Daemon {
    let text = format!(
        "[startup]\nshare-without-password = true\n[allowed-connect-hosts]\nhosts = [\"192.0.2.0/24\"]\n{config}"
    );
    let mut daemon = Daemon::prepare(Some(&text));
    daemon.up_at("0.0.0.0:0");
    daemon
}

/// A client on another machine.
fn far(daemon: &Daemon) -> Client {
    Client::connect_from(ELSEWHERE, SocketAddr::new(ELSEWHERE, daemon.addr().port()))
}

/// A client on this machine.
fn near(daemon: &Daemon) -> Client {
    Client::connect(SocketAddr::from(([127, 0, 0, 1], daemon.addr().port())))
}

/// The option that allows clients to reach the address of the other machine, which also belongs to
/// the daemon's machine.
const OPENED: &str = "inside = [\"192.0.2.7\"]\n";

/// The status of a CONNECT, and whether the server at `target` responds to `first` with a head.
fn connect(mut client: Client, target: &str, first: &str) -> (u16, bool) {
    client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    let status = client.final_head().unwrap().1.status;
    if status != 200 {
        return (status, false);
    }
    let _ = client.try_send(first);
    (status, client.final_head().is_ok())
}

#[test]
#[ignore = "needs unshare and ip"]
fn remote_clients_cannot_reach_internal_addresses() {
    in_a_namespace(
        module_path!(),
        "remote_clients_cannot_reach_internal_addresses",
        inside_stays_shut,
    );
}

#[test]
#[ignore = "needs unshare and ip"]
fn the_connections_of_a_remote_client_are_limited() {
    in_a_namespace(
        module_path!(),
        "the_connections_of_a_remote_client_are_limited",
        each_has_so_many_connections,
    );
}

#[test]
#[ignore = "needs unshare and ip"]
fn a_remote_client_has_a_share_of_the_queue() {
    in_a_namespace(
        module_path!(),
        "a_remote_client_has_a_share_of_the_queue",
        each_has_a_share_of_the_queue,
    );
}

#[test]
#[ignore = "needs unshare and ip"]
fn the_addresses_of_one_machine_have_one_share_of_the_queue() {
    in_a_namespace(
        module_path!(),
        "the_addresses_of_one_machine_have_one_share_of_the_queue",
        one_network_has_one_share_of_the_queue,
    );
}

#[test]
#[ignore = "needs unshare and ip"]
fn remote_clients_cannot_reach_ports_of_this_machine() {
    in_a_namespace(
        module_path!(),
        "remote_clients_cannot_reach_ports_of_this_machine",
        own_addresses_stay_shut,
    );
}

fn own_addresses_stay_shut() {
    let (service, outside) = (Origin::start_at("192.0.2.7"), Origin::start_at("192.0.2.8"));
    let (url, port) = (service.url("/"), service.url("").rsplit(':').next().unwrap().to_owned());
    service.say("/", Answer::html("service"));
    outside.say("/to", Answer::redirect(302, &service.url("/led")));
    let daemon = open_daemon("inside = [\"192.0.2.8\"]\n");
    assert_eq!(near(&daemon).get(&url).status, 200);
    let asked = service.connections();
    for host in ["192.0.2.7", "3221225991", "0300.0.02.7", "[::ffff:192.0.2.7]"] {
        let refused = far(&daemon).get(&format!("http://{host}:{port}/new"));
        assert_eq!(refused.status, 403, "{host}");
        assert!(!connect(far(&daemon), &format!("{host}:{port}"), "SSH-2.0-x\r\n").1, "{host}");
    }
    // No interface has the address `routed`, but it is routed to this machine.
    for (everywhere, routed) in [("0.0.0.0", "198.51.100.5"), ("::", "[2001:db8:2::9]")] {
        let everywhere = Origin::start_at(everywhere);
        everywhere.say("/", Answer::html("service"));
        let routed = format!("http://{routed}:{}/", everywhere.addr.port());
        assert_eq!(far(&daemon).get(&routed).status, 403, "{routed} is this machine");
        assert_eq!(near(&daemon).get(&routed).status, 200);
    }
    let own = format!("http://192.0.2.7:{}/other", daemon.addr().port());
    assert_eq!(far(&daemon).get(&own).status, 403, "our own port");
    let mut gateway = far(&daemon);
    let path = format!("/http/192.0.2.7:{port}/by-gateway");
    gateway.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.addr()));
    assert_ne!(gateway.receive("GET").whole().status, 200);
    daemon.ok(&["offline"]);
    let mut person = far(&daemon);
    person.ask(&service.url("/direct"), AS_PERSON);
    assert_eq!(person.try_receive("GET").unwrap().status, 403, "it was queued");
    person.ask(&outside.url("/to"), AS_PERSON);
    assert_eq!(person.try_receive("GET").unwrap().status, 504);
    daemon.ok(&["online"]);
    eventually("the redirect is refused", || {
        let failed =
            |row: &serde_json::Value| row["url"] == service.url("/led") && row["state"] == "failed";
        daemon.queue().iter().any(failed)
    });
    assert_eq!(service.connections(), asked, "a connection was opened");
}

fn inside_stays_shut() {
    let inside = Origin::start();
    let beside = Origin::start_at("192.0.2.7");
    let port = inside.url("").rsplit(':').next().unwrap().to_owned();
    inside.say("/", Answer::html("inside"));
    beside.say("/", Answer::html("beside"));
    let daemon = open_daemon(OPENED);
    // Addresses that the configuration allows can be reached by every client.
    for mut client in [far(&daemon), near(&daemon)] {
        assert_eq!(client.get(&beside.url("/")).status, 200);
    }
    assert_eq!(near(&daemon).get(&inside.url("/?near")).status, 200);
    let asked = inside.connections();
    for host in ["127.0.0.1", "127.8.8.8", "0.0.0.0", "localhost", "[::ffff:127.0.0.1]", "[::]"] {
        let refused = far(&daemon).get(&format!("http://{host}:{port}/"));
        assert_eq!(refused.status, 403, "{host}");
        assert!(!connect(far(&daemon), &format!("{host}:{port}"), "SSH-2.0-x\r\n").1);
    }
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut socket = far(&daemon);
    socket.ask(&inside.url("/"), upgrade);
    assert_eq!(socket.final_head().unwrap().1.status, 403);

    // A queued request has the permissions of the client that sent it, even after a redirect.
    beside.say("/to", Answer::redirect(302, &inside.url("/led")));
    beside.say("/to-near", Answer::redirect(302, &inside.url("/led-near")));
    daemon.ok(&["offline"]);
    let mut person = far(&daemon);
    person.ask(&beside.url("/to"), AS_PERSON);
    assert_eq!(person.try_receive("GET").unwrap().status, 504);
    person.ask(&inside.url("/direct"), AS_PERSON);
    assert_eq!(person.try_receive("GET").unwrap().status, 403, "it was queued");
    let mut here = near(&daemon);
    here.ask(&beside.url("/to-near"), AS_PERSON);
    assert_eq!(here.try_receive("GET").unwrap().status, 504);
    daemon.ok(&["online"]);
    eventually("the redirect for this machine is followed", || inside.count("/led-near") == 1);
    eventually("the other request has failed", || {
        let failed =
            |row: &serde_json::Value| row["url"] == inside.url("/led") && row["state"] == "failed";
        daemon.queue().iter().any(failed)
    });
    assert_eq!(inside.count("/led"), 0);
    assert_eq!(inside.connections(), asked + 1, "another connection was opened");

    // Each request of a user has the permissions of the machine from which it was sent.
    let users = open_daemon(&format!("{OPENED}{}", owners::users()));
    users.ok(&["offline"]);
    for (mut client, path) in [(far(&users), "far"), (near(&users), "near")] {
        beside.say(&format!("/of-{path}"), Answer::redirect(302, &inside.url(&format!("/{path}"))));
        client.ask(&beside.url(&format!("/of-{path}")), &owners::of("ada", ""));
        assert_eq!(client.try_receive("GET").unwrap().status, 504, "{path}");
    }
    let mut direct = near(&users);
    direct.ask(&inside.url("/of-ada"), &owners::of("ada", ""));
    assert_eq!(direct.try_receive("GET").unwrap().status, 504);
    users.ok(&["online"]);
    users.ok(&["fetch"]);
    eventually("the request of this machine is fetched", || {
        inside.count("/near") == 1 && inside.count("/of-ada") == 1
    });
    eventually("the other request has failed", || {
        users.ok(&["queue"]).lines().any(|line| line.starts_with("failed") && line.contains("/far"))
    });
    assert_eq!(inside.count("/far"), 0);

    let tunnels = open_daemon("[https]\nintercept = false\n");
    let target = inside.url("").replace("http://", "");
    assert_eq!(connect(far(&tunnels), &target, "").0, 403);
    assert!(connect(near(&tunnels), &target, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").1);

    let opened = open_daemon("inside = [\"127.0.0.1\"]\n");
    assert_eq!(far(&opened).get(&inside.url("/")).status, 200);
    assert_eq!(far(&opened).get(&format!("http://127.0.0.2:{port}/")).status, 403);

    // If a tunnel to the daemon's own port was possible, the daemon would take the client for one
    // of this machine.
    for intercept in [true, false] {
        let opened = "inside = [\"127.0.0.0/8\", \"192.0.2.7\", \"192.0.2.8\"]\n";
        let daemon = open_daemon(&format!("{opened}[https]\nintercept = {intercept}\n"));
        let port = daemon.addr().port();
        for host in ["127.8.8.8", "192.0.2.7", "192.0.2.8"] {
            let own = format!("{host}:{port}");
            let status = format!("GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
            assert!(!connect(far(&daemon), &own, &status).1, "{own}");
            assert_eq!(far(&daemon).get(&format!("http://{own}/")).status, 403, "{own}");
        }
    }
}

fn each_has_so_many_connections() {
    let origin = Origin::start_at("192.0.2.7");
    let daemon = open_daemon(OPENED);
    daemon.ok(&["config", "set", "startup.max-connections-per-client", "3"]);
    let url = origin.url("/page/1.html");
    let mut held: Vec<_> = (0..3).map(|_| far(&daemon)).collect();
    for client in &mut held {
        assert_eq!(client.get(&url).status, 200);
    }
    let refused = far(&daemon).try_receive("GET").unwrap();
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("max-connections-per-client"), "{}", refused.text());
    let here: Vec<_> = (0..9).map(|_| near(&daemon).get(&url).status).collect();
    assert!(here.iter().all(|status| *status == 200));
    held.pop();
    eventually("there is room again", || {
        let mut client = far(&daemon);
        client.try_send(format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).is_ok()
            && client.try_receive("GET").is_ok_and(|answer| answer.status == 200)
    });
}

fn each_has_a_share_of_the_queue() {
    let daemon = open_daemon(OPENED);
    daemon.ok(&["config", "set", "startup.queue-share", "2"]);
    daemon.ok(&["offline"]);
    let addr = SocketAddr::new(ELSEWHERE, daemon.addr().port());
    let guest = |last| Client::connect_from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), addr);
    let ask = |mut client: Client, path: &str| {
        client.ask(&format!("http://wanted.test/{path}"), AS_PERSON);
        client.try_receive("GET").unwrap()
    };
    for (path, status) in [("1", 504), ("2", 504), ("3", 507), ("2", 504)] {
        let answer = ask(guest(7), path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert_eq!(answer.text().contains("Your share of the queue is used up"), status == 507);
    }
    // The API gives the same reason, and the log reports no failure of the spool.
    let host = format!("localhost:{}", addr.port());
    let page = guest(7).get_path(&host, "/control/", "").text();
    let (_, token) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    let (token, _) = token.split_once('"').unwrap();
    let body = "{\"urls\":[\"http://wanted.test/9\"]}";
    let mut client = guest(7);
    client.send(format!(
        "POST /api/get HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         X-Wwwoffle-Token: {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let told = client.receive("POST").whole().text();
    assert!(told.contains("share of the outgoing queue"), "{told}");
    assert!(!daemon.log().contains("the spool failed"), "{}", daemon.log());
    assert_eq!(ask(guest(8), "3").status, 504, "another guest has its own share");
    for path in ["4", "5", "6"] {
        assert_eq!(ask(near(&daemon), path).status, 504, "this machine has no share");
    }
    let first =
        daemon.queue().into_iter().find(|row| row["url"] == "http://wanted.test/1").unwrap();
    daemon.ok(&["queue", "--remove", first["url"].as_str().unwrap()]);
    daemon.ok(&["config", "set", "startup.queue-share", "3"]);
    assert_eq!(ask(guest(7), "3").status, 504, "there is room again");
}

fn one_network_has_one_share_of_the_queue() {
    let text = "[startup]\nshare-without-password = true\nqueue-share = 2\n\
                [allowed-connect-hosts]\nhosts = [\"2001:db8::/32\"]\n";
    let mut daemon = Daemon::prepare(Some(text));
    daemon.up_at("[::]:0");
    daemon.ok(&["offline"]);
    for (number, (from, status)) in
        [("::7", 504), ("::8", 504), ("::7", 507), ("::8", 507), (":1::7", 504)].iter().enumerate()
    {
        let from: IpAddr = format!("2001:db8{from}").parse().unwrap();
        let mut client = Client::connect_from(from, SocketAddr::new(from, daemon.addr().port()));
        client.ask(&format!("http://wanted.test/{number}"), AS_PERSON);
        assert_eq!(client.try_receive("GET").unwrap().status, *status, "{number}: {from}");
    }
}
