//! Access control by address and by password, and the refusals of both.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::harness::client::{Client, Response, Tls, request};
use crate::harness::daemon::{self, AS_PERSON, run};
use crate::harness::form::{Form, form, forms};
use crate::harness::http2::Http2;
use crate::harness::{Answer, Authority, Daemon, Origin, TlsOrigin, eventually};

/// An address that stands for another machine in these tests. It is a loopback address too.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

pub(crate) const PASSWORD: &str = "sésame, öffne dich";
pub(crate) const CONTROL: &str = "only me";

/// The configuration line that `wwwoffle passwd` prints.
#[track_caller]
fn passwd(arguments: &[&str], password: &str) -> String {
    let place = Daemon::prepare(None);
    let mut command = place.bare_command();
    command.arg("passwd").args(arguments);
    let ran = run(command, Some(format!("{password}\n").as_bytes()));
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.out
}

pub(crate) fn users() -> String {
    format!("[allowed-connect-users]\n{}", passwd(&["ada"], PASSWORD))
}

pub(crate) fn control() -> String {
    format!("[startup]\n{}", passwd(&[], CONTROL))
}

/// An `Authorization` or `Proxy-Authorization` line with a login, including its line end.
pub(crate) fn login(field: &str, user: &str, password: &str) -> String {
    format!("{field}: Basic {}\r\n", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

fn proxy_login() -> String {
    login("Proxy-Authorization", "ada", PASSWORD)
}

fn control_login() -> String {
    login("Authorization", "whoever", CONTROL)
}

/// Requests one of the daemon's own pages in origin form.
#[track_caller]
fn page(daemon: &Daemon, method: &str, path: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
    client.receive(method).whole()
}

#[track_caller]
fn connect(client: &mut Client, target: &str, fields: &str) -> Response {
    client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{fields}\r\n"));
    let (interim, head) = client.final_head().unwrap();
    let (status, fields) = (head.status, head.fields.clone());
    let (body, trailers) = (Vec::new(), head.fields.clone());
    Response { head, status, fields, body, trailers, interim, whole: Ok(()) }
}

#[test]
fn a_user_needs_the_password_for_every_request() {
    let (daemon, origin) = (Daemon::configured(&users()), Origin::start());
    let url = origin.url("/secret");
    origin.say("/secret", Answer::html("for ada"));
    let mut client = daemon.client();
    for wrong in [
        String::new(),
        login("Proxy-Authorization", "ada", "sesame"),
        login("Proxy-Authorization", "bob", PASSWORD),
        login("Proxy-Authorization", "", ""),
        login("Authorization", "ada", PASSWORD),
        "Proxy-Authorization: Bearer abc\r\n".to_owned(),
        proxy_login() + &proxy_login(),
    ] {
        let refused = client.get_with(&url, &format!("{AS_PERSON}{wrong}")).whole();
        assert_eq!(refused.status, 407, "{wrong}");
        let asked = "Basic realm=\"wwwoffle\", charset=\"UTF-8\"";
        assert_eq!(refused.field("Proxy-Authenticate"), asked);
        assert!(refused.shown().contains("user name and password"), "{}", refused.shown());
    }
    assert_eq!(origin.count("/secret"), 0, "nothing went out");
    // The connection can still be used.
    assert_eq!(client.get_with(&url, &proxy_login()).text(), "for ada");
    let part = client.get_with(&url, "Sec-Fetch-Dest: image\r\n");
    assert_eq!((part.status, part.body.len()), (407, 0));
}

#[test]
fn a_proxy_login_is_not_forwarded() {
    let (mut daemon, origin) = (Daemon::configured(&users()), Origin::start());
    daemon.client().get_with(&origin.url("/a"), &proxy_login()).whole();
    let post = format!("{}Content-Length: 1\r\n", proxy_login());
    daemon.ok(&["offline"]);
    let mut client = daemon.client();
    client.send(request("POST", &origin.url("/form"), &format!("{AS_PERSON}{post}")) + "x");
    let asked = client.receive("POST").whole();
    let confirm = form(&asked.text(), "/refresh-request/");
    let undone = daemon.submit(&confirm);
    assert_eq!(undone.status, 401, "its own pages need a user, too");
    let fields = format!("Origin: null\r\n{}", login("Authorization", "ada", PASSWORD));
    assert_eq!(daemon.submit_as(&confirm, &fields).status, 303);
    daemon.client().get_with(&origin.url("/b"), &format!("{AS_PERSON}{}", proxy_login()));
    assert_eq!(daemon.queue().len(), 2);
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    let secret = BASE64_STANDARD.encode(format!("ada:{PASSWORD}"));
    for path in ["/a", "/b", "/form"] {
        for asked in origin.asked(path) {
            assert!(!asked.head.contains(&secret), "{}", asked.head);
            assert!(!asked.head.to_lowercase().contains("proxy-auth"), "{}", asked.head);
        }
    }
    daemon.down();
    for file in crate::harness::files(daemon.spool()) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&secret) && !text.contains(PASSWORD), "{}", file.display());
    }
    assert!(!daemon.log().contains(&secret) && !daemon.log().contains(PASSWORD));
}

#[test]
fn connect_needs_the_password_and_requests_inside_do_not() {
    let daemon = Daemon::configured(&users());
    daemon.ok(&["offline"]);
    let der = daemon::output(daemon.command(&["ca", "export", "--der"]), None, LIMIT).stdout;
    for wrong in [String::new(), login("Proxy-Authorization", "ada", "x")] {
        let refused = connect(&mut daemon.client(), "h.example:443", &wrong);
        assert_eq!(refused.status, 407, "{wrong}");
        assert!(refused.field("Proxy-Authenticate").starts_with("Basic "), "{:?}", refused.fields);
    }
    let fields = proxy_login();
    let tls = Tls { authority: &der, alpn: &[b"http/1.1"] };
    let mut inside =
        Client::connect_tls_with(daemon.addr(), "h.example:443", "h.example", tls, &fields)
            .unwrap();
    assert_eq!(inside.get_path("h.example", "/one", AS_PERSON).status, 504);
    assert_eq!(inside.get_path("h.example", "/two", AS_PERSON).status, 504);
    assert_eq!(daemon.queued(), ["https://h.example/one", "https://h.example/two"]);
}

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

#[test]
fn a_new_password_closes_connections_of_the_old_one() {
    let daemon = Daemon::configured(&users());
    daemon.ok(&["offline"]);
    let der = daemon::output(daemon.command(&["ca", "export", "--der"]), None, LIMIT).stdout;
    let tls = Tls { authority: &der, alpn: &[b"http/1.1"] };
    let mut inside =
        Client::connect_tls_with(daemon.addr(), "h.example:443", "h.example", tls, &proxy_login())
            .unwrap();
    assert_eq!(inside.get_path("h.example", "/one", AS_PERSON).status, 504);
    let mut outside = daemon.client();
    assert_eq!(outside.get_with("http://h.example/", &proxy_login()).status, 504);
    let changed = format!("[allowed-connect-users]\n{}", passwd(&["ada"], "another one"));
    std::fs::write(daemon.home().join("wwwoffle.conf"), changed).unwrap();
    daemon.ok(&["config", "reload"]);
    assert_eq!(outside.get_with("http://h.example/", &proxy_login()).status, 407);
    let ended = inside.get_path("h.example", "/two", AS_PERSON);
    assert_eq!((ended.status, ended.field("Connection")), (403, "close"));
    assert_eq!(daemon.queued(), ["http://h.example/", "https://h.example/one"]);
}

#[test]
fn a_proxy_login_inside_a_tunnel_is_not_forwarded() {
    let authority = Authority::new();
    let origin = TlsOrigin::start(authority.identity(&["127.0.0.1"]));
    let daemon = authority.daemon(&users());
    let der = daemon::output(daemon.command(&["ca", "export", "--der"]), None, LIMIT).stdout;
    origin.origin.say("/x", Answer::html("x"));
    let tls = Tls { authority: &der, alpn: &[b"http/1.1"] };
    let target = origin.addr.to_string();
    let mut inside =
        Client::connect_tls_with(daemon.addr(), &target, "127.0.0.1", tls, &proxy_login()).unwrap();
    assert_eq!(inside.get_path(&target, "/x", &proxy_login()).whole().status, 200);
    assert_eq!(origin.origin.count("/x"), 1);
    for asked in origin.origin.asked("/x") {
        assert!(!asked.head.to_lowercase().contains("proxy-auth"), "{}", asked.head);
    }
}

#[test]
#[ignore = "needs curl"]
fn curl_logs_in_to_the_proxy() {
    let (daemon, origin) = (Daemon::configured(&users()), Origin::start());
    origin.say("/c", Answer::html("for curl"));
    for (user, want) in [(format!("ada:{PASSWORD}"), "200"), ("ada:x".to_owned(), "407")] {
        for flag in ["--proxy-basic", "--proxy-anyauth"] {
            let mut curl = Command::new("curl");
            curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", flag]);
            curl.arg("--proxy").arg(format!("http://{}", daemon.addr()));
            let ran = run(
                {
                    curl.args(["--proxy-user", &user, &origin.url("/c")]);
                    curl
                },
                None,
            );
            assert_eq!(ran.out, want, "{flag} {user} {ran:?}");
        }
    }
}

#[test]
fn own_pages_need_a_login_and_browser_setup_files_do_not() {
    let daemon = Daemon::configured(&users());
    for path in ["/proxy.pac", "/wpad.dat", "/ca", "/ca.pem", "/ca.crt", "/style.css"] {
        assert_eq!(page(&daemon, "GET", path, "").status, 200, "{path}");
    }
    let user = login("Authorization", "ada", PASSWORD);
    for path in ["/", "/queue/", "/index/", "/api/status", "/api/entries"] {
        let refused = page(&daemon, "GET", path, "");
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.field("WWW-Authenticate").starts_with("Basic realm=\"wwwoffle\""));
        assert_eq!(page(&daemon, "GET", path, &user).status, 200, "{path}");
        // Requested through the proxy, the page needs a login too, in `Proxy-Authorization` or in
        // `Authorization`.
        let mut client = daemon.client();
        assert_eq!(client.get(&daemon.own(path)).status, 407, "{path}");
        assert_eq!(client.get_with(&daemon.own(path), &proxy_login()).status, 200, "{path}");
        assert_eq!(client.get_with(&daemon.own(path), &user).status, 200, "{path}");
    }
    assert_eq!(daemon.status()["mode"], "online", "the socket needs no login");
}

#[test]
#[ignore = "slow"]
fn every_change_needs_the_control_password() {
    let (daemon, origin) = (Daemon::configured(&control()), Origin::start());
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/wanted"));
    let token = form(&page(&daemon, "GET", "/", "").text(), "/control/online");
    let token = token.value("token").unwrap().to_owned();
    let key = daemon.queue()[0]["key"].as_str().unwrap().to_owned();
    let host = daemon.addr().to_string();
    let form_type = "Content-Type: application/x-www-form-urlencoded\r\n";
    let forms = ["online", "autodial", "fetch", "retry", "delete/req", "delete/req-all"]
        .map(|act| (format!("/control/{act}"), format!("token={token}&key={key}"), form_type));
    let json = "Content-Type: application/json\r\n";
    let all = "{\"all\":true}";
    let calls = [
        ("mode", "{\"mode\":\"online\"}"),
        ("queue/retry", all),
        ("queue/delete", all),
        ("get", "{\"urls\":[\"http://127.0.0.1:1/\"]}"),
        ("fetch", "{}"),
        ("entries/delete", "{\"urls\":[\"http://127.0.0.1:1/\"]}"),
        ("flush", "{}"),
        ("stop", "{}"),
        ("config", "{\"unset\":{\"section\":\"startup\",\"key\":\"password\"}}"),
        ("config/undo", "{}"),
        ("config/reload", "{}"),
    ]
    .map(|(call, body)| (format!("/api/{call}"), body.to_owned(), json));
    let ours = format!("Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
    let forged = "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n".to_owned();
    let password = control_login();
    let wrong = login("Authorization", "whoever", "guess");
    for (path, body, kind) in forms.iter().chain(&calls) {
        let send = |method: &str, host: &str, fields: &str| {
            let length = body.len();
            let mut client = daemon.client();
            client.send(format!(
                "{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-Wwwoffle-Token: {token}\r\n{kind}\
                 Content-Length: {length}\r\n{fields}\r\n{body}"
            ));
            client.receive(method).whole()
        };
        for (method, host, fields, want) in [
            ("POST", &*host, &ours, &[401][..]),
            ("POST", &host, &String::new(), &[401]),
            ("POST", &host, &forged, &[401, 403]),
            ("PUT", &host, &ours, &[401]),
            ("DELETE", &host, &ours, &[401]),
            ("POST", &host, &format!("{ours}{wrong}"), &[401]),
            ("POST", &host, &format!("{forged}{password}"), &[403, 404]),
            ("GET", &host, &format!("{ours}{password}"), &[404, 405]),
            ("GET", &host, &ours, &[404, 405]),
            // This is not one of our own pages. The request would be forwarded, and offline this is
            // impossible.
            ("POST", "evil.example", &format!("{ours}{password}"), &[504]),
        ] {
            let response = send(method, host, fields);
            // Reading the configuration uses the same address as changing it, so a GET is allowed.
            let reads = method == "GET" && path == "/api/config" && response.status == 200;
            // A link to a button leads to a confirmation page, or to a page with choices.
            let asks = method == "GET"
                && path.starts_with("/control/")
                && [200, 303].contains(&response.status);
            assert!(
                reads || asks || want.contains(&response.status),
                "{method} {path} {host} {fields} {response:?}"
            );
            assert!(
                response.status != 401
                    || response.field("WWW-Authenticate").starts_with("Basic realm=\"control\""),
                "{:?}",
                response.fields
            );
        }
    }
    assert_eq!(daemon.status()["mode"], "offline");
    assert_eq!(daemon.queue().len(), 1, "nothing was changed");
    // With the password everything works. The command line needs no password.
    let online = form(&page(&daemon, "GET", "/", "").text(), "/control/online");
    assert_eq!(daemon.submit_as(&online, &format!("{ours}{password}")).status, 303);
    assert_eq!(daemon.status()["mode"], "online");
    daemon.ok(&["offline"]);
}

#[test]
fn the_button_of_a_message_page_needs_no_control_password() {
    let (daemon, origin) = (Daemon::configured(&control()), Origin::start());
    daemon.ok(&["offline"]);
    let told = daemon.browse(&origin.url("/oops"));
    let undo = form(&told.text(), "/control/delete/");
    let from_there = origin.sends();
    let guessed = daemon.submit_as(&undo.clone().with("token", "guessed"), &from_there);
    assert_eq!((guessed.status, daemon.queue().len()), (403, 1));
    assert_eq!(daemon.submit_as(&undo, &from_there).status, 303);
    assert!(daemon.queue().is_empty());
}

#[test]
fn users_confirm_requests_and_administrators_change_the_queue() {
    let config = format!("{}{}", control(), users());
    let (daemon, origin) = (Daemon::configured(&config), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/oops");
    let fields = format!("{AS_PERSON}{}", proxy_login());
    let undo = form(&daemon.client().get_with(&url, &fields).text(), "/control/delete/");
    let user = login("Authorization", "ada", PASSWORD);
    let page = page(&daemon, "GET", "/queue/", &user).text();
    let ours = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", daemon.addr());
    let is_delete = |form: &Form| form.action.ends_with("/control/delete/req");
    let delete = forms(&page).into_iter().find(is_delete).unwrap();
    for (form, login, status, realm, left) in [
        (&delete, "", 401, "wwwoffle", 1),
        (&delete, &*user, 401, "control", 1),
        (&undo, "", 401, "wwwoffle", 1),
        (&undo, &user, 303, "", 0),
        (&delete, &control_login(), 303, "", 0),
    ] {
        let answer = daemon.submit_as(form, &format!("{ours}{login}"));
        assert_eq!((answer.status, daemon.queue().len()), (status, left), "{form:?} {login}");
        assert!(answer.field("WWW-Authenticate").contains(realm), "{:?}", answer.fields);
    }
}

#[test]
fn only_machines_that_are_named_are_served() {
    let config = "[allowed-connect-hosts]\nhosts = [\"!127.0.0.3\", \"127.0.0.0/29\"]\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    origin.say("/m", Answer::html("served"));
    let from = |last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    for (last, want) in [(1, 200), (2, 200), (3, 403), (7, 200), (8, 403), (200, 403)] {
        for url in [origin.url("/m"), daemon.own("/")] {
            let mut client = Client::connect_from(from(last), daemon.addr());
            let got = client.get(&url).whole();
            assert_eq!(got.status, want, "127.0.0.{last} {url}");
        }
    }
    assert_eq!(origin.count("/m"), 3);
    daemon.tells("may not use the proxy");
}

#[test]
fn client_names_are_verified_by_forward_lookup() {
    let config = "[allowed-connect-hosts]\nhosts = [\"localhost\", \"no-such-name.invalid\"]\n";
    let daemon = Daemon::configured(config);
    assert_eq!(daemon.page("/").status, 200);
    let refused = Client::connect_from(OTHER, daemon.addr()).get(&daemon.own("/"));
    assert_eq!(refused.status, 403);
    eventually("the names are looked up", || daemon.log().contains("no-such-name.invalid"));
}

/// Gives the daemon the hosts file of its home in place of that of the system.
const OWN_HOSTS: &str =
    r#"exec unshare -m sh -c 'mount --bind "$HOME/hosts" /etc/hosts && exec "$0" "$@"' "$0" "$@""#;

#[test]
#[ignore = "needs root and unshare"]
fn a_client_is_known_by_its_confirmed_name() {
    let config = "[allowed-connect-hosts]\nhosts = [\"*.lan\"]\n";
    let mut daemon = Daemon::prepare(Some(config)).with_setup(OWN_HOSTS);
    let hosts =
        "127.0.0.1 localhost\n127.0.0.2 Laptop.lan\n127.0.0.3 lan.example\n127.0.0.5 late.lan\n";
    std::fs::write(daemon.home().join("hosts"), hosts).unwrap();
    daemon.up();
    let status = |last| {
        let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        Client::connect_from(from, daemon.addr()).get(&daemon.own("/")).whole().status
    };
    for (last, want) in [(1, 200), (2, 200), (3, 403), (4, 403), (2, 200)] {
        assert_eq!(status(last), want, "127.0.0.{last}");
    }
    daemon.ok(&["offline"]);
    assert_eq!((status(2), status(5)), (200, 403), "offline only known names count");
    daemon.ok(&["online"]);
    assert_eq!(status(5), 200);
}

#[test]
fn an_unknown_client_is_not_served_by_a_name_pattern() {
    let daemon = Daemon::configured("[allowed-connect-hosts]\nhosts = [\"*.lan\"]\n");
    assert_eq!(daemon.page("/").status, 200, "this machine");
    let refused = Client::connect_from(OTHER, daemon.addr()).get(&daemon.own("/"));
    assert_eq!(refused.status, 403);
    daemon.tells("may not use the proxy");
}

#[test]
#[ignore = "slow"]
fn password_guesses_are_limited_without_affecting_the_user() {
    let (daemon, origin) = (Daemon::configured(&users()), Origin::start());
    origin.say("/g", Answer::html("mine"));
    let url = origin.url("/g");
    let mut user = Client::connect_from(OTHER, daemon.addr());
    assert_eq!(user.get_with(&url, &proxy_login()).status, 200);
    let mut guesser = Client::connect_from(OTHER, daemon.addr());
    let statuses: Vec<_> = (0..40)
        .map(|guess| {
            let guess = login("Proxy-Authorization", "ada", &guess.to_string());
            guesser.get_with(&url, &guess).whole().status
        })
        .collect();
    assert_eq!(statuses[..5], [407; 5]);
    let looked_at = statuses.iter().filter(|status| **status == 407).count();
    let sent_away = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!(looked_at + sent_away, 40, "{statuses:?}");
    assert!(sent_away >= 20, "{statuses:?}");
    // A login that was verified before is still accepted while guesses from the same machine are
    // refused.
    assert_eq!(user.get_with(&url, &proxy_login()).status, 200);
    // The limit is counted separately for each machine.
    assert_eq!(daemon.client().get_with(&url, &proxy_login()).status, 200);
}

#[test]
#[ignore = "slow"]
fn a_password_check_frees_its_memory() {
    let daemon = Daemon::configured(&users());
    assert_eq!(daemon.client().get("http://guessed.invalid/").whole().status, 407);
    let before = daemon.memory_kib();
    let guess = |number: u8| {
        let mut client = Client::connect_from([127, 0, 0, number].into(), daemon.addr());
        for guess in 0..5 {
            let guess = login("Proxy-Authorization", "ada", &format!("{guess} of {number}"));
            let refused = client.get_with("http://guessed.invalid/", &guess).whole();
            assert_eq!(refused.status, 407);
        }
    };
    std::thread::scope(|scope| {
        for first in [2, 12, 22, 32] {
            scope.spawn(move || (first..first + 10).for_each(guess));
        }
    });
    // One password check takes 19 MiB. Connections and log lines may use some memory.
    let grown = || daemon.memory_kib().saturating_sub(before);
    eventually("the memory of the checks is given back", || grown() < 15 * 1024);
}

#[test]
fn a_listener_for_others_needs_clients_and_a_control_password() {
    let told = |config: &str, arguments: &[&str], remedies: [&str; 3]| {
        let place = Daemon::prepare(Some(config));
        let ran = place.run(arguments);
        assert_eq!(ran.status, 64, "{config} {ran:?}");
        for remedy in remedies {
            assert!(ran.err.contains(remedy), "{}", ran.err);
        }
    };
    let clients = ["allowed-connect-hosts", "allowed-connect-users", "127.0.0.1"];
    told("", &["serve", "--listen", "0.0.0.0:0"], clients);
    told("", &["serve", "--listen", "127.0.0.1:0", "--listen", "[::]:0"], clients);
    told("[startup]\nlisten = [\"192.0.2.1:8080\"]", &["serve"], clients);
    let password = ["`wwwoffle passwd`", "share-without-password", "127.0.0.1"];
    told(&users(), &["serve", "--listen", "0.0.0.0:0"], password);
    let (config, all) = (
        format!("[startup]\nshare-without-password = true\n{}", users()),
        SocketAddr::from(([0, 0, 0, 0], 0)),
    );
    assert!(all.ip().is_unspecified());
    let mut daemon = Daemon::prepare(Some(&config));
    daemon.up_at(&all.to_string());
    let port = daemon.addr().port();
    let mut client = Client::connect_from(OTHER, SocketAddr::from(([127, 0, 0, 1], port)));
    assert_eq!(client.get("http://192.0.2.1/").status, 407, "any user may ask");
}

#[test]
fn a_password_in_the_file_is_refused_with_the_remedy_and_not_shown() {
    for config in [
        "[startup]\npassword = \"hunter2\"\n",
        "[allowed-connect-users]\nusers = [\"ada:hunter2\"]\n",
    ] {
        let ran = Daemon::prepare(Some(config)).run(&["serve"]);
        assert_eq!(ran.status, 64, "{ran:?}");
        assert!(ran.err.contains("wwwoffle passwd") && !ran.err.contains("hunter2"), "{ran:?}");
    }
}

#[test]
#[ignore = "slow"]
fn tls_and_http_2_ask_for_the_same_login() {
    let config = format!("{}{}", control(), users());
    let (daemon, origin) = (Daemon::configured(&config), Origin::start());
    origin.say("/h2", Answer::html("for ada"));
    let trust = daemon.page("/ca.crt").body;
    let own = format!("localhost:{}", daemon.addr().port());
    let client = Http2::over(TcpStream::connect(daemon.addr()).unwrap(), &own, &trust);
    let with = |name: &str, user: &str, password: &str| {
        let field = login(name, user, password);
        field.trim_end().split_once(": ").map(|(_, value)| value.to_owned()).unwrap()
    };
    let proxy = with("Proxy-Authorization", "ada", PASSWORD);
    let ask = |field: Option<&str>| {
        let mut request = hyper::Request::get(origin.url("/h2"));
        if let Some(field) = field {
            request = request.header("proxy-authorization", field);
        }
        client.exchange(request.body(()).unwrap(), None).unwrap()
    };
    let refused = ask(None);
    assert_eq!(refused.status, 407);
    assert!(refused.field("proxy-authenticate").starts_with("Basic realm=\"wwwoffle\""));
    assert_eq!(ask(Some(&proxy)).text(), "for ada");
    for asked in origin.asked("/h2") {
        assert!(!asked.head.to_lowercase().contains("proxy-auth"), "{}", asked.head);
    }
    let connect = |field: Option<&str>| {
        let mut request = hyper::Request::connect("h.example:25");
        if let Some(field) = field {
            request = request.header("proxy-authorization", field);
        }
        client.exchange(request.body(()).unwrap(), None).unwrap().status
    };
    assert_eq!((connect(None), connect(Some(&proxy))), (407, 403), "that port is blocked");
    // Our own pages ask for the login with 401.
    assert_eq!(client.get("/queue/", &[]).status, 401);
    let user = with("Authorization", "ada", PASSWORD);
    assert_eq!(client.get("/queue/", &[("authorization", &user)]).status, 200);
    let commands = with("Authorization", "", CONTROL);
    assert_eq!(client.get("/queue/", &[("authorization", &commands)]).status, 200);
    let mode = |field: &str| {
        let page = client.get("/", &[("authorization", &user)]).text();
        let token = form(&page, "/control/offline").value("token").unwrap().to_owned();
        let fields = [
            ("authorization", field),
            ("x-wwwoffle-token", &token),
            ("content-type", "application/json"),
        ];
        client.ask("POST", "/api/mode", &fields, Some(b"{\"mode\":\"offline\"}")).status
    };
    assert_eq!((mode(&user), mode(&commands)), (401, 200));
    assert_eq!(daemon.status()["mode"], "offline");
}
