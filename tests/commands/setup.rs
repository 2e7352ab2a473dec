//! `wwwoffle setup` and `--undo`: the plan, the changes and the former state, with the real program
//! and the real tools in directories of the test.

use std::collections::BTreeMap;
use std::fs::{create_dir_all, read_to_string, set_permissions, write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::{need_root, plain, program};
use crate::harness::{Answer, Authority, Daemon, Origin, heavy};
use crate::tls::authority::{debian, executable};

/// The tools of a desktop and of a service manager. Each line of the log is a call.
struct Tools {
    bin: PathBuf,
    calls: PathBuf,
}

impl Tools {
    fn new(home: &Path) -> Self {
        let (bin, calls) = (home.join("bin"), home.join("calls"));
        create_dir_all(&bin).unwrap();
        Self { bin, calls }
    }

    /// Makes the real program of the machine available.
    #[track_caller]
    fn real(&self, name: &str) {
        symlink(program(&[name]), self.bin.join(name)).unwrap();
    }

    /// A program that notes its call, then runs `script`.
    fn stand_in(&self, name: &str, script: &str) {
        let text = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\necho \"{name} $*\" >>'{}'\ncd '{}'\n{script}\n",
            self.calls.display(),
            self.bin.display()
        );
        executable(&self.bin.join(name), &text);
    }

    /// `kwriteconfig5` and `kreadconfig5`, which keep each key in a file.
    fn kde(&self) {
        create_dir_all(self.bin.join("kde")).unwrap();
        self.stand_in(
            "kwriteconfig5",
            "key=$6\nif [ \"$7\" = --delete ]; then rm -f \"kde/$key\"; else echo \"$7\" >\"kde/$key\"; fi",
        );
        self.stand_in("kreadconfig5", "cat \"kde/$6\" 2>/dev/null || echo");
    }

    fn kde_value(&self, key: &str) -> Option<String> {
        read_to_string(self.bin.join("kde").join(key)).ok().map(|text| text.trim_end().to_owned())
    }

    /// `systemctl` with one service, whose state is in the files `enabled` and `active`.
    fn systemctl(&self) {
        self.stand_in(
            "systemctl",
            "[ \"$1\" = --user ] && shift\n\
             case $1 in\n\
             show) [ -f enabled ] && echo UnitFileState=enabled || echo UnitFileState=\n\
             [ -f active ] && echo ActiveState=active || echo ActiveState=inactive;;\n\
             enable) touch enabled;; disable) rm -f enabled;;\n\
             start|restart) touch active;; stop) rm -f active;;\nesac",
        );
    }

    fn calls(&self) -> String {
        read_to_string(&self.calls).unwrap_or_default()
    }
}

/// A user without a desktop, whose programs are only those of the returned tools.
fn user(config: Option<&str>) -> (Daemon, Tools) {
    let daemon = Daemon::prepare(config);
    let tools = Tools::new(daemon.home());
    let path = tools.bin.to_str().unwrap().to_owned();
    (daemon.with_variable("PATH", &path).with_variable("GSETTINGS_BACKEND", "keyfile"), tools)
}

fn setup(daemon: &Daemon, arguments: &[&str]) -> Ran {
    daemon.run(&[&["setup", "--user"], arguments].concat())
}

fn answered(daemon: &Daemon, arguments: &[&str], answer: &str) -> Ran {
    run(daemon.command(&[&["setup", "--user"], arguments].concat()), Some(answer.as_bytes()))
}

/// Every file below a directory: type, permissions, owner, and content or target.
fn tree(root: &Path, without: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(root).unwrap().to_owned();
            if without.iter().any(|one| below == Path::new(one)) {
                continue;
            }
            let about = std::fs::symlink_metadata(&path).unwrap();
            let content = if about.is_dir() {
                open.push(path);
                String::new()
            } else if about.is_symlink() {
                std::fs::read_link(&path).unwrap().display().to_string()
            } else {
                format!("{:?}", String::from_utf8_lossy(&std::fs::read(&path).unwrap()))
            };
            let about = format!("{:o} {} {}", about.mode(), about.uid(), about.gid());
            found.insert(below, format!("{about} {content}"));
        }
    }
    found
}

/// The files of a user, without the spool and the test's own tools.
fn home(daemon: &Daemon) -> BTreeMap<PathBuf, String> {
    tree(daemon.home(), &["spool", "calls", "config/glib-2.0"])
}

#[track_caller]
fn same(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) {
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let all: Vec<&PathBuf> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(all.is_empty(), "these files differ: {all:?}");
}

fn gsettings(daemon: &Daemon, key: &[&str]) -> String {
    let mut command = plain(Command::new(program(&["gsettings"])));
    command.arg("get").args(key).env("GSETTINGS_BACKEND", "keyfile");
    command.env("XDG_CONFIG_HOME", daemon.home().join("config"));
    run(command, None).out.trim().to_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
#[ignore = "needs certutil, gsettings and curl"]
fn a_user_is_set_up_after_yes_and_everything_is_taken_back() {
    let (mut daemon, tools) = user(None);
    tools.real("certutil");
    tools.real("gsettings");
    tools.kde();
    daemon.up();
    let profile = daemon.home().join(".mozilla/firefox/a.default");
    create_dir_all(&profile).unwrap();
    write(profile.join("../profiles.ini"), "[Profile0]\nPath=a.default\n").unwrap();
    let variables = daemon.home().join("config/environment.d/60-wwwoffle.conf");
    create_dir_all(variables.parent().unwrap()).unwrap();
    write(&variables, "EDITOR=vi\n").unwrap();
    set_permissions(&variables, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = home(&daemon);
    let (host, port) = (daemon.addr().ip().to_string(), daemon.addr().port().to_string());

    let refused = answered(&daemon, &[], "no\n");
    assert_eq!((refused.status, refused.err.as_str()), (1, "wwwoffle: nothing was changed\n"));
    for want in [
        "    - EDITOR=vi\n    + # Written by",
        &format!("    + http_proxy=http://{host}:{port}\n"),
        "    org.gnome.system.proxy mode: default -> 'manual'\n",
        &format!("kioslaverc [Proxy Settings] httpProxy: default -> http://{host} {port}\n"),
        "a.default\n    not trusted -> trusted\n",
        "service: by hand: there is no `systemctl`",
        "HTTPS of programs: by hand: ",
    ] {
        assert!(refused.out.contains(want), "{want} in {}", refused.out);
    }
    let shown = setup(&daemon, &["--plan"]);
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(refused.out.starts_with(&shown.out), "{}", shown.out);
    same(&before, &home(&daemon));
    assert_eq!(gsettings(&daemon, &["org.gnome.system.proxy", "mode"]), "'none'");

    let done = answered(&daemon, &[], "yes\n");
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(gsettings(&daemon, &["org.gnome.system.proxy", "mode"]), "'manual'");
    // The system does not trust the authority, but this profile of Firefox does.
    assert_eq!(gsettings(&daemon, &["org.gnome.system.proxy.https", "port"]), "0");
    let script = read_to_string(profile.join("user.js")).unwrap();
    assert!(script.contains(&format!("(\"network.proxy.ssl_port\", {port});")), "{script}");
    assert_eq!(tools.kde_value("ProxyType").as_deref(), Some("1"));
    assert!(daemon.ok(&["ca", "show"]).contains("trusted by   Firefox"));

    // Done twice, it changes nothing.
    let (once, calls) = (home(&daemon), tools.calls());
    let again = setup(&daemon, &["--yes"]);
    assert!(again.status == 0 && again.out.contains("there is nothing to change"), "{again:?}");
    same(&once, &home(&daemon));
    assert!(!tools.calls().replacen(&calls, "", 1).contains("kwriteconfig5"), "{}", tools.calls());

    // A program with the new variables uses the proxy.
    let origin = Origin::start();
    origin.say("/page", Answer::html("hello"));
    let mut curl = plain(Command::new(program(&["curl"])));
    let text = read_to_string(&variables).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    curl.args(["--silent", "--noproxy", "", &origin.url("/page")]).envs(pairs);
    assert_eq!(run(curl, None).out, "hello");
    assert!(daemon.ok(&["cat", &origin.url("/page")]).contains("hello"), "it is stored");

    let undone = answered(&daemon, &["--undo"], "yes\n");
    assert_eq!(undone.status, 0, "{undone:?}");
    same(&before, &home(&daemon));
    assert_eq!(gsettings(&daemon, &["org.gnome.system.proxy", "mode"]), "'none'");
    assert_eq!(gsettings(&daemon, &["org.gnome.system.proxy.http", "host"]), "''");
    assert!(!daemon.ok(&["ca", "show"]).contains("Firefox"));
    let nothing = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!((nothing.status, nothing.out.as_str()), (0, "there is nothing to take back\n"));
}

#[test]
fn an_interrupted_setup_is_continued_or_taken_back() {
    // The set-up is killed before and after the tool has made its change.
    for number in [1, 2] {
        for (position, then_undo) in
            [("before", true), ("before", false), ("after", true), ("after", false)]
        {
            let (mut daemon, tools) = user(None);
            tools.kde();
            let real = read_to_string(tools.bin.join("kwriteconfig5")).unwrap();
            daemon.up();
            let before = home(&daemon);
            let when = format!(
                "[ $(grep -c ^kwriteconfig5 '{}') = {number} ] && {{ kill -9 $PPID; exit 1; }}\n",
                tools.calls.display()
            );
            let head = real.find("key=").unwrap();
            let broken = match position {
                "before" => format!("{}{when}{}", &real[..head], &real[head..]),
                _ => format!("{real}{when}"),
            };
            executable(&tools.bin.join("kwriteconfig5"), &broken);
            assert_eq!(setup(&daemon, &["--yes"]).status, -1, "it is killed");
            executable(&tools.bin.join("kwriteconfig5"), &real);
            if !then_undo {
                let done = setup(&daemon, &["--yes"]);
                assert_eq!(done.status, 0, "{done:?}");
                assert_eq!(tools.kde_value("ProxyType").as_deref(), Some("1"));
            }
            let undone = setup(&daemon, &["--undo", "--yes"]);
            assert_eq!(undone.status, 0, "{undone:?}");
            executable(&tools.bin.join("kwriteconfig5"), &real);
            same(&before, &home(&daemon));
        }
    }
}

#[test]
fn former_values_return_and_changes_of_a_person_stay() {
    let (mut daemon, tools) = user(None);
    tools.kde();
    tools.stand_in("certutil", "");
    write(tools.bin.join("kde/ProxyType"), "4\n").unwrap();
    write(tools.bin.join("kde/httpProxy"), "http://parent 3128\n").unwrap();
    create_dir_all(daemon.home().join("config/environment.d")).unwrap();
    write(daemon.home().join("config/environment.d/60-wwwoffle.conf"), "EDITOR=vi\n").unwrap();
    daemon.up();
    assert_eq!(setup(&daemon, &["--yes"]).status, 0);
    write(tools.bin.join("kde/httpProxy"), "http://mine 1\n").unwrap();
    let variables = daemon.home().join("config/environment.d/60-wwwoffle.conf");
    let text = read_to_string(&variables).unwrap() + "MINE=1\n";
    write(&variables, &text).unwrap();
    for _ in 0..2 {
        // What is left alone stays recorded.
        let undone = setup(&daemon, &["--undo", "--yes"]);
        assert_eq!(undone.status, 1, "{undone:?}");
        assert!(undone.err.contains("its former state stays recorded"), "{undone:?}");
        assert!(
            undone.out.contains("httpProxy: left alone, it was changed to http://mine 1"),
            "{undone:?}"
        );
    }
    assert_eq!(setup(&daemon, &["--undo", "--forget", "--yes"]).status, 0);
    assert!(setup(&daemon, &["--undo", "--yes"]).out.contains("nothing to take back"));
    assert_eq!(tools.kde_value("ProxyType").as_deref(), Some("4"));
    assert_eq!(tools.kde_value("httpProxy").as_deref(), Some("http://mine 1"));
    assert_eq!(read_to_string(&variables).unwrap(), "EDITOR=vi\nMINE=1\n");
}

#[test]
fn the_service_and_a_free_port_are_set_up_and_taken_back() {
    let (daemon, tools) = user(Some(""));
    tools.systemctl();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = format!("# mine\n[startup]\nlisten = ['127.0.0.1:{port}']\n");
    write(daemon.config_file(), &text).unwrap();
    let before = home(&daemon);
    let done = setup(&daemon, &["--yes"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.out.contains("not enabled, not active -> enabled, active\n"), "{done:?}");
    let config = read_to_string(daemon.config_file()).unwrap();
    assert!(!config.contains(&format!("127.0.0.1:{port}")), "{config}");
    assert!(config.starts_with("# mine\n[startup]\nlisten = [\"127.0.0.1:"), "{config}");
    let unit = daemon.home().join("config/systemd/user/wwwoffle.service");
    assert!(read_to_string(&unit).unwrap().contains(" serve\n"));
    let calls = tools.calls();
    let place = |call: &str| calls.find(call).unwrap_or_else(|| panic!("{call} in {calls}"));
    assert!(place("--user daemon-reload") < place("--user restart wwwoffle.service"));
    drop(taken);
    let undone = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    same(&before, &home(&daemon));
    assert!(
        tools
            .calls()
            .ends_with("--user disable wwwoffle.service\nsystemctl --user daemon-reload\n")
    );
}

#[test]
fn a_household_is_set_up_with_names_clients_users_and_pac() {
    let (mut daemon, _tools) = user(Some("# mine\n"));
    let (secret, users) = (daemon.home().join("secret"), daemon.home().join("users"));
    write(&secret, "sésame\n").unwrap();
    write(&users, "ada:secret-1\nbob:secret-2\n").unwrap();
    let (file, users) = (secret.to_str().unwrap(), users.to_str().unwrap());
    let listen = format!("0.0.0.0:{}", free_port());
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
    for path in [file, users] {
        set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let refused = with("school", &["--control-password", file]);
    assert!(refused.err.contains("in a school everyone logs in"), "{refused:?}");
    let after = home(&daemon);
    assert_eq!(before.len(), after.len(), "nothing was changed");

    let done = with("school", &["--control-password", file, "--user-file", users]);
    assert_eq!(done.status, 0, "{done:?}");
    for secret in ["argon2", "sésame", "secret-"] {
        assert!(!done.out.contains(secret), "{secret} in {}", done.out);
    }
    assert!(done.out.contains("/wpad.dat"), "{done:?}");
    assert!(done.out.contains("proxy settings: by hand: no daemon runs"), "{done:?}");
    // The daemon accepts the configuration, and its file for browsers names the proxy.
    daemon.up_at(&listen);
    let mut client = daemon.client();
    let port = daemon.addr().port();
    client.send(format!("GET /proxy.pac HTTP/1.1\r\nHost: proxy.lan:{port}\r\n\r\n"));
    let pac = client.receive("GET").whole();
    assert!(pac.status == 200 && pac.text().contains("PROXY proxy.lan"), "{}", pac.text());
    // Nobody is served without a login.
    let mut client = daemon.client();
    client.send("GET http://page.test/ HTTP/1.1\r\nHost: page.test\r\n\r\n");
    assert_eq!(client.receive("GET").whole().status, 407);
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
fn a_failed_write_changes_nothing_more() {
    let (daemon, tools) = user(None);
    tools.kde();
    tools.real("sh");
    let mut daemon = daemon;
    daemon.up();
    let before = home(&daemon);
    // No file can grow, as on a full disk.
    let daemon = daemon.with_setup("trap '' XFSZ; ulimit -f 0");
    let failed = setup(&daemon, &["--yes"]);
    assert_eq!(failed.status, 1, "{failed:?}");
    assert!(failed.err.contains("cannot be written: "), "{failed:?}");
    let daemon = daemon.with_setup("true");
    let undone = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    same(&before, &home(&daemon));
}

#[test]
fn a_directory_that_cannot_be_written_is_reported_and_the_rest_is_done() {
    let (mut daemon, tools) = user(None);
    tools.kde();
    daemon.up();
    create_dir_all(daemon.home().join("config")).unwrap();
    write(daemon.home().join("config/environment.d"), "a file\n").unwrap();
    let before = home(&daemon);
    let done = setup(&daemon, &["--yes"]);
    assert_eq!(done.status, 1, "{done:?}");
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains("config/environment.d"), "{said}");
    assert_eq!(tools.kde_value("ProxyType").as_deref(), Some("1"));
    assert_eq!(setup(&daemon, &["--undo", "--yes"]).status, 0);
    same(&before, &home(&daemon));
}

/// A machine below `root`, with Chromium and Firefox, and policies of another program.
fn machine(root: &Path) -> PathBuf {
    for directory in ["etc/chromium", "usr/lib/firefox-esr", "etc/firefox/policies"] {
        create_dir_all(root.join(directory)).unwrap();
    }
    let policies = root.join("etc/firefox/policies/policies.json");
    write(&policies, "{\n \"policies\": {\"Proxy\": {\"Mode\": \"system\"}, \"B\": [1]}\n}\n")
        .unwrap();
    policies
}

fn as_root(daemon: &Daemon, root: &Path, arguments: &[&str]) -> Ran {
    daemon.run(&[&["setup", "--root", root.to_str().unwrap()], arguments].concat())
}

#[test]
#[ignore = "needs root and update-ca-certificates"]
fn a_machine_is_set_up_by_root_and_everything_is_taken_back() {
    need_root();
    let mut daemon = Daemon::prepare(None);
    daemon.up();
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let bundle = debian(root, &program(&["update-ca-certificates"]));
    let policies = machine(root);
    // Another authority, with which the tool makes the list.
    let other = root.join("usr/local/share/ca-certificates/other.crt");
    write(other, Authority::new().pem()).unwrap();
    run(Command::new(root.join("usr/sbin/update-ca-certificates")), None);
    let before = tree(root, &[]);

    assert_eq!(as_root(&daemon, root, &["--plan"]).status, 0);
    same(&before, &tree(root, &[]));
    let done = as_root(&daemon, root, &["--yes"]);
    assert_eq!(done.status, 0, "{done:?}");
    let parsed =
        |path: &Path| -> Value { serde_json::from_str(&read_to_string(path).unwrap()).unwrap() };
    let proxy = daemon.addr().to_string();
    let firefox = parsed(&policies);
    assert_eq!(firefox["policies"]["Proxy"]["HTTPProxy"], json!(proxy));
    assert_eq!(firefox["policies"]["B"], json!([1]), "policies of others stay");
    let installed = firefox["policies"]["Certificates"]["Install"][0].as_str().unwrap();
    assert!(root.join(installed.trim_start_matches('/')).is_file(), "{installed}");
    let chromium = parsed(&root.join("etc/chromium/policies/managed/wwwoffle.json"));
    assert_eq!(chromium["ProxySettings"]["ProxyServer"], json!(proxy));
    assert!(chromium["CACertificates"][0].as_str().unwrap().starts_with("MII"));
    let pem = daemon.ok(&["ca", "export"]);
    assert!(read_to_string(&bundle).unwrap().contains(pem.trim()));
    let profile = read_to_string(root.join("etc/profile.d/wwwoffle.sh")).unwrap();
    assert!(profile.contains(&format!("export https_proxy=http://{proxy}\n")), "{profile}");
    let again = as_root(&daemon, root, &["--yes"]);
    assert!(again.out.contains("there is nothing to change"), "{again:?}");

    let undone = as_root(&daemon, root, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    same(&before, &tree(root, &[]));

    // Other policies that were added since stay.
    assert_eq!(as_root(&daemon, root, &["--yes"]).status, 0);
    let mut changed = parsed(&policies);
    changed["policies"]["C"] = json!(true);
    write(&policies, changed.to_string()).unwrap();
    assert_eq!(as_root(&daemon, root, &["--undo", "--yes"]).status, 0);
    let want = json!({"policies": {"Proxy": {"Mode": "system"}, "B": [1], "C": true}});
    assert_eq!(parsed(&policies), want);
}

/// Opens a page in a browser that sees `/etc` and the certificates of `root` in place of those of the
/// machine.
fn open_in(root: &Path, program: &Path, arguments: &[&str], url: &str) {
    let script = "mount --bind \"$0/etc\" /etc && \
        mount --bind \"$0/usr/local/share/ca-certificates\" /usr/local/share/ca-certificates && \
        exec \"$@\"";
    let home = tempfile::tempdir().unwrap();
    let mut command = plain(Command::new("unshare"));
    command.args(["--mount", "sh", "-c", script]).arg(root).arg(program).args(arguments).arg(url);
    command.env("HOME", home.path()).current_dir(home.path());
    let ran = run(command, None);
    eprintln!("{ran:?}");
}

#[test]
#[ignore = "needs root, chromium, firefox and update-ca-certificates"]
fn the_browsers_of_a_machine_use_the_proxy_and_trust_it() {
    need_root();
    let (chromium, firefox) = (program(&["chromium"]), program(&["firefox-esr"]));
    let _alone = heavy();
    let mut daemon = Daemon::prepare(None);
    daemon.up();
    daemon.ok(&["offline"]);
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let copied = run(
        {
            let mut command = Command::new("cp");
            command.args(["-a", "/etc"]).arg(root);
            command
        },
        None,
    );
    assert_eq!(copied.status, 0, "{copied:?}");
    debian(root, &program(&["update-ca-certificates"]));
    machine(root);
    assert_eq!(as_root(&daemon, root, &["--yes"]).status, 0);
    // Offline, the request for a page is queued: it has reached the proxy, over TLS that the browser
    // trusts.
    let profile = daemon.home().join("profile");
    create_dir_all(&profile).unwrap();
    let profile = profile.to_str().unwrap();
    let arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    open_in(root, &chromium, &arguments, "https://chromium.test/");
    let picture = daemon.home().join("x.png");
    let arguments = [
        "--headless",
        "--no-remote",
        "--profile",
        profile,
        "--screenshot",
        picture.to_str().unwrap(),
    ];
    open_in(root, &firefox, &arguments, "https://firefox.test/");
    let queued = daemon.queued();
    for url in ["https://chromium.test/", "https://firefox.test/"] {
        assert!(queued.iter().any(|one| one == url), "{url} in {queued:?}\n{}", daemon.log());
    }
}

#[test]
#[ignore = "needs root"]
fn root_refuses_broken_policies_links_and_directories_of_others() {
    need_root();
    let mut daemon = Daemon::prepare(None);
    daemon.up();
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let policies = machine(root);
    write(&policies, "{ broken").unwrap();
    std::os::unix::fs::chown(root.join("etc/chromium"), Some(54_321), None).unwrap();
    create_dir_all(root.join("elsewhere")).unwrap();
    symlink(root.join("elsewhere"), root.join("etc/profile.d")).unwrap();
    let done = as_root(&daemon, root, &["--yes"]);
    assert_eq!(done.status, 1, "{done:?}");
    for want in ["invalid JSON", "users other than root can change", "is a link, which root"] {
        assert!(done.out.contains(want), "{want} in {}", done.out);
    }
    assert_eq!(read_to_string(&policies).unwrap(), "{ broken");
    assert!(!root.join("etc/chromium/policies").exists());
    assert_eq!(std::fs::read_dir(root.join("elsewhere")).unwrap().count(), 0);
    assert!(root.join("etc/environment.d/60-wwwoffle.conf").is_file(), "the rest is done");
    let record = std::fs::metadata(root.join("var/lib/wwwoffle-setup/setup.json")).unwrap();
    assert_eq!(record.mode() & 0o777, 0o600);
    assert_eq!(as_root(&daemon, root, &["--undo", "--yes"]).status, 0);
    assert!(!root.join("etc/environment.d").exists() && !root.join("var").exists());
}
