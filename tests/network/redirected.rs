//! Clients that know no proxy: the firewall redirects their connections to the daemon.
//!
//! The test runs in a network namespace of its own, which is the gateway. A second namespace is the
//! client: its only way out leads through the gateway. In the client, the hosts have addresses that
//! no machine has. In the gateway they are on the loopback interface, as `/etc/hosts` says there.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::harness::daemon::{self, Ran};
use crate::harness::tools::{plain, program};
use crate::harness::{
    Answer, Authority, Client, Daemon, Origin, TlsOrigin, cannot_run, eventually,
};
use crate::security::logins::users;

/// The environment variable that is set for a test inside the namespace.
const IS_INSIDE: &str = "WWWOFFLE_TEST_IS_A_GATEWAY";

/// The shell commands that give the gateway its own `/etc/hosts`.
const INSIDE: &str = "ip link set lo up && printf '127.0.0.1 localhost %s\\n' \
    'site.example other.example secure.example tunnel.example' > \"$HOSTS\" && \
    mount --bind \"$HOSTS\" /etc/hosts && exec \"$0\" \"$@\"";

/// The shell commands that connect the client, whose process has the number `$CLIENT`.
const CABLE: &str = "ip link add name g type veth peer name c netns $CLIENT && \
    ip addr add 192.0.2.1/24 dev g && ip addr add 2001:db8:1::1/64 dev g nodad && \
    ip link set g up && nsenter --net --target $CLIENT sh -c 'ip link set lo up && \
    ip addr add 192.0.2.10/24 dev c && ip addr add 2001:db8:1::10/64 dev c nodad && \
    ip link set c up && ip route add default via 192.0.2.1 && \
    ip -6 route add default via 2001:db8:1::1' && \
    ip route add local 0.0.0.0/0 dev lo table 7 && ip -6 route add local ::/0 dev lo table 7 && \
    ip rule add fwmark 7 lookup 7 && ip -6 rule add fwmark 7 lookup 7";

/// The addresses of all hosts, as the client knows them.
const FAR: [&str; 2] = ["198.51.100.7", "[2001:db8:2::7]"];

/// An address at which the client believes to find a host, and which belongs to somebody else.
const FORGED: &str = "198.51.100.66";

/// The configuration of the gateway.
const GATEWAY: &str = "[startup]\nshare-without-password = true\n\
    redirect-listen = [\"0.0.0.0:3129\", \"[::]:3129\"]\n\
    tproxy-listen = [\"0.0.0.0:3130\", \"[::]:3130\"]\n\
    [allowed-connect-hosts]\nhosts = [\"192.0.2.0/24\", \"2001:db8:1::/64\"]\n\
    inside = [\"*.example\"]\n";

/// Runs `body` in a namespace that is the gateway: starts the test `test` again inside.
fn in_a_gateway(test: &str, body: fn()) {
    if std::env::var_os(IS_INSIDE).is_some() {
        return body();
    }
    let unshare = program(&["unshare"]);
    for tool in ["ip", "nft", "nsenter", "mount", "curl"] {
        program(&[tool]);
    }
    let home = tempfile::tempdir().unwrap();
    let within = |program: &str, arguments: &[&str]| {
        let mut command = plain(Command::new(&unshare));
        command.args(["-rnm", "sh", "-c", INSIDE, program]).args(arguments);
        command.env(IS_INSIDE, "1").env("HOSTS", home.path().join("hosts"));
        daemon::output(command, None, Duration::from_secs(120))
    };
    if !within("true", &[]).status.success() {
        cannot_run("a network namespace cannot be created");
    }
    let (_crate, path) = module_path!().split_once("::").unwrap();
    let (me, name) = (std::env::current_exe().unwrap(), format!("{path}::{test}"));
    let ran = within(me.to_str().unwrap(), &["--exact", &name, "--ignored", "--nocapture"]);
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

/// Runs a shell command in the gateway.
#[track_caller]
fn shell(line: &str, client: u32) {
    let mut command = Command::new("sh");
    let ran = command.args(["-c", line]).env("CLIENT", client.to_string()).output().unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Puts these rules of nftables in force, in place of all others.
#[track_caller]
fn firewall(rules: &str) {
    let mut command = Command::new(program(&["nft"]));
    command.args(["-f", "-"]);
    let ran = daemon::output(
        command,
        Some(format!("flush ruleset\n{rules}").as_bytes()),
        Duration::from_secs(30),
    );
    if String::from_utf8_lossy(&ran.stderr).contains("Could not process rule") {
        cannot_run(&format!("the kernel lacks a part of nftables: {ran:?}"));
    }
    assert!(ran.status.success(), "{rules}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The rules for REDIRECT of these ports, as in the guide.
fn redirect(ports: &str) -> String {
    format!(
        "table inet wwwoffle {{\n chain prerouting {{\n  type nat hook prerouting priority dstnat;\n  \
         iifname \"g\" tcp dport {{ {ports} }} redirect to :3129\n }}\n}}\n"
    )
}

/// The rules for TPROXY of these ports, as in the guide.
fn tproxy(ports: &str) -> String {
    format!(
        "table inet wwwoffle {{\n chain prerouting {{\n  type filter hook prerouting priority mangle;\n  \
         iifname \"g\" meta l4proto tcp socket transparent 1 meta mark set 7 accept\n  \
         iifname \"g\" tcp dport {{ {ports} }} tproxy to :3130 meta mark set 7 accept\n }}\n}}\n"
    )
}

/// The client: a network namespace that exists as long as its process.
struct Far {
    process: Child,
    authority: PathBuf,
}

impl Far {
    fn connect(daemon: &Daemon) -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "600"]).stdin(Stdio::null());
        let process = command.spawn().unwrap();
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let net = format!("/proc/{}/ns/net", process.id());
        eventually("the client has a network of its own", || {
            std::fs::read_link(&net).is_ok_and(|net| net != own)
        });
        shell(CABLE, process.id());
        let authority = daemon.home().join("authority.pem");
        std::fs::write(&authority, daemon.ok(&["ca", "export"])).unwrap();
        Self { process, authority }
    }

    /// A command in the client.
    fn command(&self, name: &str) -> Command {
        let mut command = plain(Command::new("nsenter"));
        command.args(["--net", "--target", &self.process.id().to_string(), name]);
        command
    }

    /// Opens a URL with curl. The client knows `address` as that of every host.
    fn ran(&self, url: &str, address: &str, more: &[&str]) -> Ran {
        let mut command = self.command("curl");
        let host = url.split("://").nth(1).unwrap().split('/').next().unwrap();
        command.args(["-sS", "--max-time", "20", "--resolve", &format!("{host}:{address}")]);
        command.args(["--cacert", self.authority.to_str().unwrap()]).args(more).arg(url);
        daemon::run(command, None)
    }

    #[track_caller]
    fn get(&self, url: &str, address: &str) -> String {
        let ran = self.ran(url, address, &[]);
        assert_eq!(ran.status, 0, "{url} at {address}: {ran:?}");
        ran.out
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

fn port_of(origin: &TlsOrigin) -> u16 {
    origin.url_at("", "").trim_start_matches("https://:").parse().unwrap()
}

/// A gateway with two origins and a client.
struct Scene {
    daemon: Daemon,
    plain: Origin,
    secure: TlsOrigin,
    far: Far,
}

impl Scene {
    fn start() -> Self {
        let authority = Authority::new();
        let (plain, names) = (Origin::start(), ["secure.example", "tunnel.example"]);
        let secure = TlsOrigin::start(authority.identity(&names));
        for page in ["/a", "/b", "/c", "/d"] {
            plain.say(page, Answer::html(format!("plain {page}")));
            secure.origin.say(page, Answer::html(format!("secure {page}")));
        }
        let port = port_of(&secure);
        let tunnel = format!("tunnel = [\"https://tunnel.example:{port}/*\"]\n");
        let mut daemon = authority.place(&format!("{tunnel}{GATEWAY}"));
        daemon.up_at("0.0.0.0:0");
        let far = Far::connect(&daemon);
        Self { daemon, plain, secure, far }
    }

    fn ports(&self) -> String {
        format!("{}, {}", self.plain.addr.port(), port_of(&self.secure))
    }

    fn plain_url(&self, path: &str) -> String {
        format!("http://site.example:{}{path}", self.plain.addr.port())
    }

    /// Reads these pages, one over IPv4 and one over IPv6, each without encryption and with it,
    /// online and then offline.
    fn read_pages(&self, pages: [&str; 2]) {
        let (plain, secure) = (&self.plain, &self.secure.origin);
        let before = [plain.seen().len(), secure.seen().len()];
        for online in [true, false] {
            for (address, path) in FAR.into_iter().zip(pages) {
                assert_eq!(self.far.get(&self.plain_url(path), address), format!("plain {path}"));
                let url = self.secure.url_at("secure.example", path);
                assert_eq!(self.far.get(&url, address), format!("secure {path}"));
            }
            let seen = [plain.seen().len(), secure.seen().len()];
            assert_eq!(seen, before.map(|before| before + 2));
            if online {
                self.daemon.settle();
                self.daemon.ok(&["offline"]);
            }
        }
        let missing = self.plain_url(&format!("{}/missing", pages[0]));
        let code = ["-o", "/dev/null", "-w", "%{http_code}"];
        assert_eq!(self.far.ran(&missing, FAR[0], &code).out, "504");
        self.daemon.ok(&["queue", "--remove", "--all"]);
        self.daemon.ok(&["online"]);
    }
}

fn pages_are_read_through_redirect_and_tproxy_inside() {
    let scene = Scene::start();
    firewall(&redirect(&scene.ports()));
    scene.read_pages(["/a", "/b"]);
    firewall(&tproxy(&scene.ports()));
    scene.read_pages(["/c", "/d"]);
}

#[test]
#[ignore = "needs root, unshare, ip, nft and curl"]
fn pages_are_read_through_redirect_and_tproxy() {
    in_a_gateway(
        "pages_are_read_through_redirect_and_tproxy",
        pages_are_read_through_redirect_and_tproxy_inside,
    );
}

fn a_false_host_spoils_no_copy_inside() {
    let scene = Scene::start();
    for rules in [redirect(&scene.ports()), tproxy(&scene.ports())] {
        firewall(&rules);
        // The client is at the address of somebody else, and names another host.
        assert_eq!(scene.far.get(&scene.plain_url("/a"), FORGED), "plain /a");
        let url = scene.secure.url_at("secure.example", "/a");
        assert_eq!(scene.far.get(&url, FORGED), "secure /a");
    }
    // A site that is tunnelled shows its own certificate, which the client does not know.
    let url = scene.secure.url_at("tunnel.example", "/a");
    let tunnelled = scene.far.ran(&url, FAR[0], &[]);
    assert_eq!(tunnelled.status, 60, "{tunnelled:?}");
    assert_eq!(scene.far.ran(&url, FAR[0], &["-k"]).out, "secure /a");
    assert!(!scene.daemon.ok(&["ls", "https"]).contains("tunnel.example"));
}

#[test]
#[ignore = "needs root, unshare, ip, nft and curl"]
fn a_false_host_spoils_no_copy() {
    in_a_gateway("a_false_host_spoils_no_copy", a_false_host_spoils_no_copy_inside);
}

fn the_port_is_no_open_proxy_inside() {
    let scene = Scene::start();
    firewall(&redirect(&scene.ports()));
    let url = scene.plain_url("/a");
    let code = ["-o", "/dev/null", "-w", "%{http_code}"];
    // A request for a proxy on a redirected connection.
    let whole = ["--request-target", url.as_str()];
    assert_eq!(scene.far.ran(&url, FAR[0], &[&code[..], &whole[..]].concat()).out, "400");
    // Our own pages.
    let own = format!("Host: localhost:{}", scene.daemon.addr().port());
    assert_eq!(scene.far.ran(&url, FAR[0], &[&code[..], &["-H", &own][..]].concat()).out, "421");
    // Connections that the firewall has not redirected.
    for port in [3129, 3130] {
        let mut direct = Client::connect(SocketAddr::from(([127, 0, 0, 1], port)));
        let _left = direct.try_send(format!("GET {url} HTTP/1.1\r\nHost: site.example\r\n\r\n"));
        assert!(!matches!(direct.head(), Ok(Some(_))));
    }
    // A client that may not use the proxy, one that may, and one that would have to log in.
    let users = users();
    let users = users.trim().rsplit_once("users = ").unwrap().1;
    for (option, value, status) in [
        ("allowed-connect-hosts.hosts", "[\"192.0.2.99\"]", "403"),
        ("allowed-connect-hosts.hosts", "[\"192.0.2.0/24\"]", "200"),
        ("allowed-connect-users.users", users, "403"),
    ] {
        scene.daemon.ok(&["config", "set", option, value]);
        assert_eq!(scene.far.ran(&url, FAR[0], &code).out, status, "{value}");
    }
    assert_eq!(scene.plain.seen().len(), 1);
}

#[test]
#[ignore = "needs root, unshare, ip, nft and curl"]
fn the_port_is_no_open_proxy() {
    in_a_gateway("the_port_is_no_open_proxy", the_port_is_no_open_proxy_inside);
}

fn a_loop_through_the_firewall_ends_inside() {
    let scene = Scene::start();
    // The rule that the guide warns of: it redirects the daemon's own connections too.
    let ports = scene.ports();
    firewall(&format!(
        "{}table inet own {{\n chain output {{\n  type nat hook output priority -100;\n  \
         tcp dport {{ {ports} }} redirect to :3129\n }}\n}}\n",
        redirect(&ports)
    ));
    let code = ["-k", "-o", "/dev/null", "-w", "%{http_code}"];
    assert_eq!(scene.far.ran(&scene.plain_url("/a"), FAR[0], &code).out, "502");
    let url = scene.secure.url_at("secure.example", "/a");
    assert_eq!(scene.far.ran(&url, FAR[0], &code).out, "502");
    let url = scene.secure.url_at("tunnel.example", "/a");
    assert_ne!(scene.far.ran(&url, FAR[0], &code).status, 0);
    eventually("all connections have ended", || scene.daemon.status()["connections"] == 0);
    assert!(scene.daemon.log().contains("redirects connections of the daemon itself"));
    assert!(TcpStream::connect(scene.daemon.addr()).is_ok());
}

#[test]
#[ignore = "needs root, unshare, ip, nft and curl"]
fn a_loop_through_the_firewall_ends() {
    in_a_gateway("a_loop_through_the_firewall_ends", a_loop_through_the_firewall_ends_inside);
}

#[test]
fn an_address_for_interception_needs_allowed_clients_and_a_port() {
    for (listen, want) in [
        ("redirect-listen = [\"0.0.0.0:3129\"]", "allowed-connect-hosts"),
        ("tproxy-listen = [\"0.0.0.0:3129\"]", "allowed-connect-hosts"),
        ("redirect-listen = [\"127.0.0.1:0\"]", "redirect-listen"),
    ] {
        let daemon = Daemon::prepare(Some(&format!("[startup]\n{listen}\n")));
        let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(refused.status, 64, "{refused:?}");
        assert!(refused.err.contains(want), "{refused:?}");
    }
}
