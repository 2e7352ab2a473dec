//! `wwwoffle setup` and `--undo`: the plan, the changes and the former state, with the real program
//! and the real tools in directories of the test.

mod machine;
mod sharing;

use std::collections::BTreeMap;
use std::fs::{create_dir_all, read_to_string, set_permissions, write};
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::{plain, program};
use crate::harness::{Answer, Daemon, Origin};
use crate::tls::authority::executable;

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

/// A process that locks a file as Firefox does.
fn locking(file: &Path) -> Child {
    let script = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX)\n\
                  print(flush=True); sys.stdin.read()";
    let mut command = Command::new(program(&["python3"]));
    command.args(["-c", script]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    child
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

    // A part that is left out changes nothing that depends on it.
    let without = setup(&daemon, &["--plan", "--skip", "certificate"]);
    assert!(without.out.contains("there is nothing to change"), "{without:?}");

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
#[ignore = "needs python3"]
fn the_settings_of_a_running_firefox_are_restored_after_its_end() {
    let (mut daemon, _tools) = user(None);
    daemon.up();
    let profile = daemon.home().join(".mozilla/firefox/a.default");
    create_dir_all(&profile).unwrap();
    write(profile.join("../profiles.ini"), "[Profile0]\nPath=a.default\n").unwrap();
    assert_eq!(setup(&daemon, &["--yes"]).status, 0);
    assert!(profile.join("user.js").exists());
    let mut firefox = locking(&profile.join(".parentlock"));
    let refused = setup(&daemon, &["--undo", "--yes"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("(it holds .parentlock): close it first"), "{refused:?}");
    firefox.kill().unwrap();
    firefox.wait().unwrap();
    assert_eq!(setup(&daemon, &["--undo", "--yes"]).status, 0);
    assert!(!profile.join("user.js").exists());
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
fn sockets_of_systemd_decide_the_address() {
    let (daemon, tools) = user(Some(""));
    tools.stand_in(
        "systemctl",
        "case \"$*\" in\n*wwwoffle.socket) echo ActiveState=active; echo 'Listen=127.0.0.1:8090 (Stream)'\n\
         echo 'Listen=[::]:3128 (Stream)';;\n*) echo UnitFileState=; echo ActiveState=inactive;;\nesac",
    );
    let before = home(&daemon);
    let shown = setup(&daemon, &["--plan"]);
    assert!(shown.out.contains("http_proxy=http://127.0.0.1:8090\n"), "{shown:?}");
    let refused = setup(&daemon, &["--yes", "--listen", "127.0.0.1:8091"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains("add `ListenStream=127.0.0.1:8091`"), "{refused:?}");
    same(&before, &home(&daemon));
    for opened in ["127.0.0.1:8090", "127.0.0.1:3128"] {
        let shown = setup(&daemon, &["--plan", "--listen", opened]);
        assert!(shown.out.contains(&format!("http_proxy=http://{opened}\n")), "{shown:?}");
    }
}

#[test]
fn a_service_is_restarted_after_an_interrupted_setup() {
    for call in ["daemon-reload", "restart"] {
        let (daemon, tools) = user(Some(""));
        tools.systemctl();
        assert_eq!(setup(&daemon, &["--yes"]).status, 0);
        // An earlier version has written the unit of the running service.
        let unit = daemon.home().join("config/systemd/user/wwwoffle.service");
        write(&unit, read_to_string(&unit).unwrap() + "# earlier\n").unwrap();
        let program = tools.bin.join("systemctl");
        let real = read_to_string(&program).unwrap();
        let kill = format!("[ \"$1\" = {call} ] && {{ kill -9 $PPID; exit 1; }}\ncase $1 in");
        executable(&program, &real.replacen("case $1 in", &kill, 1));
        assert_eq!(setup(&daemon, &["--yes"]).status, -1, "it is killed");
        executable(&program, &real);
        let calls = tools.calls();
        let done = setup(&daemon, &["--yes"]);
        assert_eq!(done.status, 0, "{done:?}");
        let since = tools.calls().replacen(&calls, "", 1);
        let place = |call: &str| since.find(call).unwrap_or_else(|| panic!("{call} in {since}"));
        assert!(place("--user daemon-reload") < place("--user restart wwwoffle.service"));
        let again = setup(&daemon, &["--yes"]);
        assert!(again.out.contains("there is nothing to change"), "{again:?}");
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
