//! The mode auto: online or offline, depending on the link.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::harness::form::form;
use crate::harness::{Answer, Daemon, Origin, cannot_run, eventually};

/// Options of the section `[link]`: short waits, without events from the kernel of the test
/// machine.
const QUICK: &str = "watch-kernel = false\nsettle = \"20ms\"\nprobe-interval = \"50ms\"\n\
    probe-longest-interval = \"100ms\"\n";

/// The same resource under another host name, since requests to the portal's host are not queued.
fn at_localhost(url: &str) -> String {
    url.replacen("127.0.0.1", "localhost", 1)
}

/// A daemon in the mode auto that probes `/up` of an origin.
fn probing(origin: &Origin, more: &str) -> Daemon {
    let url = at_localhost(&origin.url("/up"));
    let mut daemon =
        Daemon::prepare(Some(&format!("[link]\nprobe-url = \"{url}\"\n{QUICK}{more}\n")));
    daemon.up();
    assert_eq!(daemon.ok(&["auto"]), "auto (was online)\n");
    daemon
}

#[track_caller]
fn becomes(daemon: &Daemon, mode: &str, reason: &str) {
    eventually(&format!("the mode becomes {mode}: {reason}"), || {
        let status = daemon.status();
        assert_eq!(status["chosen"], "auto");
        let told = status["link"]["reason"].as_str().unwrap().to_owned();
        status["mode"] == mode && told.contains(reason)
    });
}

#[test]
fn a_probe_reaches_no_port_of_another_protocol() {
    let url = "http://127.0.0.1:25/up";
    let mut daemon = Daemon::prepare(Some(&format!("[link]\nprobe-url = \"{url}\"\n{QUICK}")));
    daemon.up();
    daemon.ok(&["auto"]);
    becomes(&daemon, "offline", "belongs to another protocol");
    let config = std::fs::read_to_string(daemon.config_file()).unwrap();
    let allowed = format!("{config}[dont-get]\nallowed-ports = [25]\n");
    std::fs::write(daemon.config_file(), allowed).unwrap();
    daemon.ok(&["config", "reload"]);
    eventually("the port is tried", || {
        let status = daemon.status();
        !status["link"]["reason"].as_str().unwrap().contains("another protocol")
    });
}

#[test]
#[ignore = "slow"]
fn the_result_of_a_probe_decides_the_mode() {
    let (origin, mut link, portal) = (Origin::start(), Origin::start(), Origin::start());
    link.say("/up", Answer::new(200, "text/plain", "it is up"));
    portal.say("/login", Answer::html("log in"));
    origin.say("/page", Answer::html("a page"));
    let daemon = probing(&link, "probe-body = \"it is up\"");
    becomes(&daemon, "online", "/up answers");
    assert_eq!(daemon.browse(&origin.url("/page")).status, 200);

    // A captive portal that redirects.
    let login = at_localhost(&portal.url("/login"));
    link.say("/up", Answer::redirect(302, &login));
    becomes(&daemon, "offline", "this network needs a login");
    assert_eq!(daemon.status()["link"]["portal"], login.as_str());
    let told = daemon.ok(&["status"]);
    assert!(told.contains("mode         offline (auto, since "), "{told}");
    assert!(told.contains(&format!("link         this network needs a login at {login}")));
    let home = daemon.page("/").shown();
    assert!(home.contains("Log in at") && home.contains(&login), "{home}");
    // All other hosts are treated as unreachable, but the portal's host can be reached.
    let asked = origin.seen().len();
    let kept = daemon.browse(&origin.url("/page"));
    assert!(kept.field("Cache-Status").ends_with("hit; detail=offline"), "{kept:?}");
    assert_eq!(daemon.browse(&origin.url("/later")).status, 504);
    assert_eq!(origin.seen().len(), asked);
    assert_eq!(daemon.browse(&login).text(), "log in");

    // A portal that answers the probe itself.
    link.say("/up", Answer::html("log in here"));
    let here = at_localhost(&link.url("/up"));
    becomes(&daemon, "offline", &format!("needs a login at {here}"));

    // After the login the queue is fetched.
    origin.say("/later", Answer::html("it came later"));
    link.say("/up", Answer::new(200, "text/plain", "it is up"));
    becomes(&daemon, "online", "/up answers");
    eventually("the queue is fetched", || daemon.queue().is_empty());
    assert_eq!(origin.count("/later"), 1);

    link.stop();
    becomes(&daemon, "offline", "the network check failed");
    let asked = origin.seen().len();
    assert_eq!(daemon.browse(&origin.url("/later")).text(), "it came later");
    assert_eq!(origin.seen().len(), asked, "other requests than probes were sent");
    link.restart();
    becomes(&daemon, "online", "/up answers");
    link.say("/up", Answer::new(503, "text/plain", "out of order"));
    becomes(&daemon, "offline", "status 503");
    daemon.tells("the link has changed the mode mode=offline was=online");
}

#[test]
fn the_mode_survives_a_restart_and_offline_sends_no_probe() {
    let link = Origin::start();
    link.say("/up", Answer::new(204, "", ""));
    let mut daemon = probing(&link, "");
    becomes(&daemon, "online", "/up answers");
    daemon.restart();
    assert!(daemon.ready.contains("mode auto,"), "{}", daemon.ready);
    becomes(&daemon, "online", "/up answers");
    assert_eq!(daemon.ok(&["auto"]), "auto (as before)\n");
    assert_eq!(daemon.ok(&["offline"]), "offline (was auto)\n");
    eventually("the current probe has ended", || link.active() == 0);
    let probes = link.connections();
    assert_eq!(daemon.browse("http://h.example/").status, 504);
    let status = daemon.status();
    assert_eq!((&status["mode"], &status["chosen"]), (&"offline".into(), &"offline".into()));
    assert!(status["link"].is_null(), "{status}");
    daemon.restart();
    assert_eq!(daemon.status()["mode"], "offline");
    assert_eq!(link.connections(), probes, "nobody is asked");
    // The mode is changed by a button of the page, and then through the API.
    let mut switch = form(&daemon.page("/").text(), "/control/autodial");
    switch.action = switch.action.replace("autodial", "auto");
    assert_eq!(daemon.submit(&switch).status, 303);
    becomes(&daemon, "online", "/up answers");
    assert!(daemon.page("/").shown().contains("/control/auto\" aria-pressed=\"true\""));
    let told = daemon.api("POST", "/api/mode", r#"{"mode":"autodial"}"#).text();
    assert_eq!(told, r#"{"mode":"autodial","was":"auto"}"#);
    let ran = daemon.run(&["serve", "--mode", "sometimes"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.err.contains("\"autodial\" or \"auto\""), "{}", ran.err);
}

#[test]
fn link_changes_run_hooks() {
    let link = Origin::start();
    link.say("/up", Answer::new(204, "", ""));
    let url = link.url("/up");
    let mut daemon = Daemon::prepare(Some(""));
    let (hook, out) = (daemon.home().join("hook"), daemon.home().join("out"));
    let lines = format!("#!/bin/sh\necho \"$1 $WWWOFFLE_MODE\" >> {}\n", out.display());
    std::fs::write(&hook, lines).unwrap();
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, may_run).unwrap();
    let config = format!(
        "[options]\nrun-online = \"{0}\"\nrun-offline = \"{0}\"\n[link]\nprobe-url = \"{url}\"\n{QUICK}",
        hook.display()
    );
    std::fs::write(daemon.config_file(), config).unwrap();
    daemon.up();
    daemon.ok(&["auto"]);
    let ran = || std::fs::read_to_string(&out).unwrap_or_default();
    becomes(&daemon, "online", "answers");
    link.say("/up", Answer::new(500, "", ""));
    eventually("the event \"offline\" arrives", || ran() == "offline offline\n");
    link.say("/up", Answer::new(204, "", ""));
    eventually("the event \"online\" arrives", || ran() == "offline offline\nonline online\n");
}

#[test]
fn an_unreachable_origin_loses_no_page() {
    let mut origin = Origin::start();
    for (path, control) in [("/forbids", "no-cache, must-revalidate"), ("/never", "no-store")] {
        origin.say(path, Answer::html(path).field("Cache-Control", control));
    }
    let daemon = Daemon::configured(&format!("[link]\n{QUICK}"));
    for path in ["/forbids", "/never"] {
        assert_eq!(daemon.browse(&origin.url(path)).status, 200);
    }
    origin.stop();
    // A single failing host does not switch the mode to offline.
    for (choice, status) in [("online", 504), ("auto", 200), ("online", 504)] {
        daemon.ok(&[choice]);
        eventually("it is online", || daemon.status()["mode"] == "online");
        let page = daemon.browse(&origin.url("/forbids"));
        assert_eq!(page.status, status, "{choice}: {}", page.field("Cache-Status"));
        let page = daemon.browse(&origin.url("/never"));
        assert_eq!(page.status == 200, status == 200, "{choice}");
        if choice == "auto" {
            assert!(page.field("Cache-Status").ends_with("fwd=stale; detail=auto"), "{page:?}");
        }
    }
}

/// A network namespace, with a daemon in the mode auto inside.
struct Inside {
    daemon: Daemon,
    child: Child,
    /// The address of the daemon inside.
    addr: String,
}

impl Inside {
    /// The shell commands that connect two interfaces like the ends of a cable. `a` has the address
    /// and the default route. The test unplugs `b`.
    const CABLE: &str = "ip link set lo up && ip link add name a type veth peer name b && \
        ip addr add 198.51.100.1/24 dev a && ip link set dev a up && ip link set dev b up && \
        ip route add default dev a";

    fn start(config: &str) -> Self {
        let mut command = Command::new("unshare");
        let may = command.args(["--net", "sh", "-c", Self::CABLE]).output();
        if !may.as_ref().is_ok_and(|output| output.status.success()) {
            cannot_run(&format!("a network namespace cannot be created: {may:?}"));
        }
        let daemon = Daemon::prepare(Some(config));
        let inner = daemon.command(&["serve", "--listen", "127.0.0.1:0", "--mode", "auto"]);
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &format!("{} && exec \"$0\" \"$@\"", Self::CABLE)]);
        command.arg(inner.get_program()).args(inner.get_args()).env("HOME", daemon.home());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.contains("mode auto"), "{ready:?}");
        let addr = ready.split("listening on ").nth(1).and_then(|rest| rest.split(',').next());
        let addr = addr.unwrap_or_default().to_owned();
        Self { daemon, child, addr }
    }

    /// A command that runs inside the daemon's network namespace.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.child.id().to_string(), "sh", "-c", line]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, line: &str) {
        assert!(self.command(line).status().unwrap().success(), "{line}");
    }

    /// Starts a server at the other end of the cable. Waits until it listens.
    fn serve(&self) -> Server {
        let line = "cd / && exec python3 -c '\
            import http.server as h\n\
            class H(h.BaseHTTPRequestHandler):\n  \
              def do_GET(self): self.send_response(204); self.end_headers()\n\
            h.HTTPServer((\"198.51.100.1\", 80), H).serve_forever()'";
        let server = Server(self.command(line).spawn().unwrap());
        eventually("the server listens", || {
            let line = "exec 3<>/dev/tcp/198.51.100.1/80";
            let mut command = self.command("exec bash -c \"$0\"");
            command.arg(line).status().unwrap().success()
        });
        server
    }

    /// Requests hosts that do not exist.
    fn ask_nobody(&self) {
        for host in 11..14 {
            // The result of the command does not matter.
            let _failed = self.daemon.run(&["get", &format!("http://198.51.100.{host}/")]);
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// A server, which is stopped when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Starts a daemon on a new spool in a network namespace that `network` sets up, and stops it.
/// Returns the line in which it reports that it is ready.
#[track_caller]
fn started(daemon: &Daemon, network: &str) -> String {
    let inner = daemon.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &format!("{network} && exec \"$0\" \"$@\"")]);
    command.arg(inner.get_program()).args(inner.get_args()).env("HOME", daemon.home());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    daemon.ok(&["stop"]);
    child.wait().unwrap();
    ready
}

#[test]
#[ignore = "needs root, unshare and ip"]
fn a_new_spool_follows_the_connection_if_there_is_one() {
    const NOTHING: &str = "ip link set lo up";
    for (chosen, starts) in [
        // A machine that has no default route may reach the web in another way.
        (
            None,
            [(NOTHING, "online"), (NOTHING, "online"), (Inside::CABLE, "auto"), (NOTHING, "auto")],
        ),
        (
            None,
            [
                (Inside::CABLE, "auto"),
                (NOTHING, "auto"),
                (NOTHING, "auto"),
                (Inside::CABLE, "auto"),
            ],
        ),
        (Some("online"), [(Inside::CABLE, "online"); 4]),
    ] {
        let mut daemon = Daemon::prepare(None);
        if let Some(mode) = chosen {
            daemon.up();
            daemon.ok(&[mode]);
            daemon.down();
        }
        for (network, mode) in starts {
            let ready = started(&daemon, network);
            assert!(ready.contains(&format!("mode {mode},")), "{chosen:?} {network}: {ready:?}");
        }
    }
}

const INSIDE: &str = "[options]\nconnect-timeout = \"300ms\"\n[fetch-options]\nattempts = 1\n\
    [link]\nsettle = \"50ms\"\nprobe-interval = \"50ms\"\nprobe-longest-interval = \"200ms\"\n\
    probe-timeout = \"500ms\"\nmetered-interfaces = [\"wwan*\"]\n";

#[test]
#[ignore = "needs root, unshare and ip"]
fn a_lost_carrier_or_route_changes_the_mode() {
    let inside = Inside::start(INSIDE);
    let daemon = &inside.daemon;
    // The mode is known before the daemon reports that it is ready.
    assert_eq!(daemon.status()["mode"], "online");
    becomes(daemon, "online", "connected over a");
    inside.run("ip link set dev b down");
    becomes(daemon, "offline", "the interface a is not connected");
    inside.run("ip link set dev b up");
    becomes(daemon, "online", "connected over a");
    inside.run("ip route del default");
    becomes(daemon, "offline", "not connected: there is no default route");
    assert_eq!(daemon.status()["metered"], false);
    inside.run(
        "ip link add name wwan0 type veth peer name w && ip link set dev w up && ip link set dev wwan0 up",
    );
    inside.run("ip route add default dev wwan0 metric 5");
    becomes(daemon, "online", "connected over wwan0");
    assert_eq!(daemon.status()["metered"], true);
    assert!(daemon.ok(&["status"]).contains("metered      this link is metered"));
    inside.run("ip route add default dev a metric 1");
    eventually("the better route counts", || daemon.status()["metered"] == false);
    assert_eq!(daemon.status()["link"]["probes"], 0, "the origin was asked");
}

#[test]
#[ignore = "needs root, unshare and ip"]
fn a_metered_link_has_its_own_budget() {
    let config = "[fetch-options]\nbudget-day-metered = \"0 B\"\n\
        [link]\nsettle = \"50ms\"\nmetered-interfaces = [\"a\"]\n";
    let inside = Inside::start(config);
    let daemon = &inside.daemon;
    let _server = inside.serve();
    assert_eq!(daemon.status()["metered"], true);
    let got = daemon.run(&["get", "http://198.51.100.1/"]);
    assert_eq!(got.status, 10, "{got:?}");
    assert!(got.out.contains("the daily budget for metered connections is used up"), "{got:?}");
    let held = &daemon.queue()[0]["held"];
    assert_eq!((&held["reason"], &held["metered"]), (&"budget".into(), &true.into()), "{held}");
    // The default route changes to an interface that is not metered.
    inside.run(
        "ip link add name c type veth peer name d && ip link set dev d up && ip link set dev c up",
    );
    inside.run("ip route replace default dev c");
    eventually("the link has changed", || daemon.status()["metered"] == false);
    eventually("the queue is fetched", || daemon.queue().is_empty());
}

#[test]
#[ignore = "needs root, unshare and ip"]
fn a_request_interrupted_by_link_loss_is_queued() {
    let inside = Inside::start("[link]\nsettle = \"1s\"\n");
    // Packets to this host are lost without an error.
    inside.run("ip neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev a");
    let url = "http://198.51.100.9/page";
    let line = format!("exec curl -s -D - -x http://{} {url}", inside.addr);
    let curl = inside.command(&line).stdout(Stdio::piped()).spawn().unwrap();
    eventually("it is in progress", || {
        let mut command = inside.command("ss -Hnt state syn-sent dst 198.51.100.9");
        !command.stdout(Stdio::piped()).output().unwrap().stdout.is_empty()
    });
    inside.run("ip link set dev b down");
    let told = curl.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.starts_with("HTTP/1.1 504 ") && told.contains("detail=queued"), "{told}");
    assert_eq!(inside.daemon.queued(), [url]);
    becomes(&inside.daemon, "offline", "the interface a is not connected");
}

#[test]
#[ignore = "needs root, unshare and ip"]
fn the_mode_becomes_offline_only_if_the_last_good_host_fails() {
    let inside = Inside::start(INSIDE);
    let daemon = &inside.daemon;
    let server = inside.serve();
    daemon.ok(&["get", "http://198.51.100.1/"]);
    inside.ask_nobody();
    // The host that answered earlier still accepts connections.
    eventually("the link was probed", || daemon.status()["link"]["probes"] != 0);
    assert_eq!(daemon.status()["mode"], "online");
    drop(server);
    let ask = || inside.ask_nobody();
    eventually("after many failures the mode becomes offline", || {
        ask();
        daemon.status()["mode"] == "offline"
    });
    becomes(daemon, "offline", "hosts in a row failed, then the network check failed");
    let _server = inside.serve();
    becomes(daemon, "online", "a requested host answers");
}
