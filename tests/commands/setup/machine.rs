//! `wwwoffle setup` of root: policies, the store of the system and the spool of the service.

use std::fs::{create_dir_all, read_to_string, write};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{same, tree};
use crate::harness::daemon::{Ran, run};
use crate::harness::tools::{need_root, plain, program};
use crate::harness::{Authority, Daemon, heavy};
use crate::tls::authority::debian;

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
    // Other authorities, with which the tool makes the list. It also makes links to a list of only one
    // certificate.
    for name in ["other.crt", "third.crt"] {
        let path = root.join("usr/local/share/ca-certificates").join(name);
        write(path, Authority::new().pem()).unwrap();
    }
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
    // The undo does not depend on the spool, which another user may have got since.
    let temporary = daemon.home().join("spool/tmp");
    std::os::unix::fs::chown(&temporary, Some(54_321), None).unwrap();
    assert_ne!(as_root(&daemon, root, &["--plan"]).status, 0);
    let undone = as_root(&daemon, root, &["--undo", "--yes"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    std::os::unix::fs::chown(&temporary, Some(0), None).unwrap();
    let want = json!({"policies": {"Proxy": {"Mode": "system"}, "B": [1], "C": true}});
    assert_eq!(parsed(&policies), want);

    // Without the part of the certificate, HTTPS of programs depends on the present trust, and the
    // policies install nothing.
    let path = root.to_str().unwrap();
    let skipping = || as_root(&daemon, root, &["--plan", "--skip", "certificate"]).out;
    let untrusted = skipping();
    assert!(untrusted.contains("does not have the certificate"), "{untrusted}");
    assert!(!untrusted.contains("https_proxy"), "{untrusted}");
    assert!(untrusted.contains(&format!("\"ProxyServer\": \"http={proxy}\"")), "{untrusted}");
    assert!(untrusted.contains("\"UseHTTPProxyForAllProtocols\": false"), "{untrusted}");
    assert_eq!(daemon.run(&["ca", "install", "--root", path]).status, 0);
    let trusted = skipping();
    assert!(trusted.contains(&format!("+ export https_proxy=http://{proxy}\n")), "{trusted}");
    assert!(!trusted.contains("Certificates"), "{trusted}");
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

#[test]
#[ignore = "needs root"]
fn root_uses_the_spool_of_the_service_and_no_spool_of_a_user() {
    need_root();
    let daemon = Daemon::prepare(None);
    let own = daemon.home().join("data/wwwoffle");
    let mut daemon = daemon.with_spool(&own);
    daemon.up();
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    machine(root);
    // The home directory has a spool with a running daemon, which is not that of the machine.
    let proxy = daemon.addr().to_string();
    let bare = |arguments: &[&str]| {
        let mut command = daemon.bare_command();
        command.args(arguments);
        run(command, None)
    };
    assert!(bare(&["status"]).out.contains(&proxy));
    let shown = bare(&["setup", "--plan", "--root", root.to_str().unwrap()]);
    assert!(!format!("{shown:?}").contains(&proxy), "{shown:?}");
    daemon.down();

    for path in [own.clone(), own.join("tmp")] {
        std::os::unix::fs::chown(path, Some(54_321), None).unwrap();
    }
    let before = tree(root, &[]);
    let refused = as_root(&daemon, root, &["--yes"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("belongs to another user, who could then read"), "{refused:?}");
    same(&before, &tree(root, &[]));
}
