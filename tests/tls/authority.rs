//! `wwwoffle ca install` and `uninstall` in a temporary system and home directory, with the tools
//! and browsers in common use.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::program;
use crate::harness::{Answer, Authority, Daemon, TlsOrigin, eventually, heavy};
use crate::site::browser::{browser, dom_at_home, furnish, picture_with};

/// The certutil of NSS, which is needed to read NSS databases.
fn certutil() -> PathBuf {
    program(&["certutil"])
}

/// Sets up a temporary Debian system below `root`. Its `update-ca-certificates` calls `tool` for
/// this system only. Returns the path of its list of certificates.
pub(crate) fn debian(root: &Path, tool: &Path) -> PathBuf {
    for directory in ["usr/local/share/ca-certificates", "usr/sbin", "etc/ssl/certs", "hooks"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("etc/ca-certificates.conf"), "").unwrap();
    let shown = root.display();
    let script = format!(
        "#!/bin/sh\nexec {} --certsconf {shown}/etc/ca-certificates.conf \
         --certsdir {shown}/usr/share/ca-certificates --hooksdir {shown}/hooks \
         --localcertsdir {shown}/usr/local/share/ca-certificates --etccertsdir {shown}/etc/ssl/certs\n",
        tool.display()
    );
    executable(&root.join("usr/sbin/update-ca-certificates"), &script);
    root.join("etc/ssl/certs/ca-certificates.crt")
}

pub(crate) fn executable(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn in_root(daemon: &Daemon, root: &Path, verb: &[&str]) -> Ran {
    daemon.run(&[&["ca"], verb, &["--root", root.to_str().unwrap()]].concat())
}

fn held(bundle: &Path) -> usize {
    std::fs::read_to_string(bundle).unwrap().matches("BEGIN CERTIFICATE").count()
}

#[test]
#[ignore = "needs update-ca-certificates"]
fn the_authority_is_added_to_and_removed_from_the_system() {
    let tool = program(&["update-ca-certificates"]);
    let daemon = Daemon::start();
    let root = tempfile::tempdir().unwrap();
    let nothing = in_root(&daemon, root.path(), &["install"]);
    assert_eq!(nothing.status, 1, "{nothing:?}");
    assert!(nothing.out.contains("by hand"), "{nothing:?}");
    let bundle = debian(root.path(), &tool);
    let store = root.path().join("usr/local/share/ca-certificates");
    std::fs::write(store.join("wwwoffle-of-somebody.crt"), Authority::new().pem()).unwrap();

    let printed = in_root(&daemon, root.path(), &["install", "--print"]);
    assert_eq!((printed.status, held_files(&store)), (0, 1), "{printed:?}");
    assert!(printed.out.contains("ca export | tee ") && printed.err.is_empty(), "{printed:?}");

    let installed = in_root(&daemon, root.path(), &["install"]);
    assert_eq!(installed.status, 0, "{installed:?}");
    assert!(installed.out.contains("trusted now"), "{installed:?}");
    assert_eq!((held_files(&store), held(&bundle)), (2, 2));
    let pem = daemon.ok(&["ca", "export"]);
    assert!(std::fs::read_to_string(&bundle).unwrap().contains(pem.trim()));
    let again = in_root(&daemon, root.path(), &["install"]);
    assert!(again.status == 0 && again.out.contains("trusted already"), "{again:?}");

    // The certificate of an earlier authority is removed as well.
    daemon.ok(&["ca", "renew"]);
    assert_eq!(in_root(&daemon, root.path(), &["install"]).status, 0);
    assert_eq!(held(&bundle), 3);
    assert_eq!(in_root(&daemon, root.path(), &["uninstall", "--print"]).status, 0);
    assert_eq!(held_files(&store), 3);
    let removed = in_root(&daemon, root.path(), &["uninstall"]);
    assert!(removed.status == 0 && removed.out.contains("removed"), "{removed:?}");
    assert_eq!((held_files(&store), held(&bundle)), (1, 1), "foreign files stay");
    let nothing = in_root(&daemon, root.path(), &["uninstall"]);
    assert!(nothing.out.contains("no certificate of wwwoffle"), "{nothing:?}");
}

fn held_files(store: &Path) -> usize {
    std::fs::read_dir(store).unwrap().count()
}

#[test]
fn a_failing_tool_is_reported_and_changes_are_undone() {
    let daemon = Daemon::start();
    let root = tempfile::tempdir().unwrap();
    for directory in ["etc/pki/ca-trust/source/anchors", "usr/bin"] {
        std::fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    executable(
        &root.path().join("usr/bin/update-ca-trust"),
        "#!/bin/sh\necho no disk >&2\nexit 5\n",
    );
    let failed = in_root(&daemon, root.path(), &["install"]);
    assert_eq!(failed.status, 1);
    assert!(failed.err.contains("update-ca-trust: no disk"), "{failed:?}");
    let store = root.path().join("etc/pki/ca-trust/source/anchors");
    assert_eq!(held_files(&store), 0);
    // If a certificate could not be removed from the lists of programs, it stays for the next
    // attempt.
    std::fs::write(store.join("wwwoffle.pem"), daemon.ok(&["ca", "export"])).unwrap();
    for _ in 0..2 {
        let failed = in_root(&daemon, root.path(), &["uninstall"]);
        assert!(failed.status == 1 && failed.err.contains("not removed"), "{failed:?}");
        assert_eq!(held_files(&store), 1);
    }
    std::fs::remove_file(store.join("wwwoffle.pem")).unwrap();
    // The certificate file is enough. Only a certificate of our authority is accepted.
    let pem = daemon.home().join("saved.pem");
    std::fs::write(&pem, daemon.ok(&["ca", "export"])).unwrap();
    let file = ["install", "--print", "--certificate", pem.to_str().unwrap()];
    let other = Daemon::prepare(None);
    assert!(in_root(&other, root.path(), &file).out.contains("saved.pem"));
    std::fs::write(&pem, Authority::new().pem()).unwrap();
    let refused = in_root(&other, root.path(), &file);
    assert!(refused.status == 1 && refused.err.contains("made by wwwoffle"), "{refused:?}");
    let none = in_root(&other, root.path(), &["uninstall"]);
    assert!(none.status == 1 && none.err.contains("--all"), "{none:?}");
}

#[test]
#[ignore = "needs certutil"]
fn unchecked_browsers_are_reported() {
    let daemon = Daemon::start();
    let root = tempfile::tempdir().unwrap();
    let without = |verb: &[&str], home: Option<&Path>| {
        let mut command = daemon.command(&[&["ca"], verb].concat());
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        run(command, None)
    };
    let verb = ["uninstall", "--root", root.path().to_str().unwrap()];
    let blind = without(&verb, None);
    assert!(blind.status == 1 && blind.err.contains("set HOME"), "{blind:?}");
    assert!(!blind.out.contains("no certificate of wwwoffle"), "{blind:?}");
    let somebody = root.path().join("somebody");
    std::fs::create_dir(&somebody).unwrap();
    // Only root can change the owner of a file.
    if std::os::unix::fs::chown(&somebody, Some(4_242), None).is_ok() {
        for verb in [&verb[..], &["install", "--user"]] {
            let refused = without(verb, Some(&somebody));
            assert_eq!(refused.status, 1, "{refused:?}");
            assert!(refused.err.contains("as that user"), "{refused:?}");
        }
        assert_eq!(held_files(&somebody), 0);
    }
}

/// The databases of a user who has used both browsers.
fn profiles(home: &Path, certutil: &Path) -> [PathBuf; 3] {
    let firefox = home.join(".mozilla/firefox");
    let apart = home.join("apart");
    let found = [home.join(".pki/nssdb"), firefox.join("x.default"), apart.clone()];
    for directory in &found {
        std::fs::create_dir_all(directory).unwrap();
        let mut make = Command::new(certutil);
        make.arg("-N")
            .arg("--empty-password")
            .arg("-d")
            .arg(format!("sql:{}", directory.display()));
        assert_eq!(run(make, None).status, 0);
    }
    let list = format!(
        "[Profile0]\nPath=x.default\nIsRelative=1\n\n[Profile1]\nIsRelative=0\nPath={}\n",
        apart.display()
    );
    std::fs::write(firefox.join("profiles.ini"), list).unwrap();
    found
}

fn entries(certutil: &Path, database: &Path) -> String {
    let mut list = Command::new(certutil);
    list.arg("-L").arg("-d").arg(format!("sql:{}", database.display()));
    run(list, None).out
}

#[test]
#[ignore = "needs certutil"]
fn the_authority_is_added_to_and_removed_from_browsers() {
    let certutil = certutil();
    let daemon = Daemon::start();
    let databases = profiles(daemon.home(), &certutil);
    let foreign = Authority::named("wwwoffle's neighbour");
    for database in &databases {
        let mut add = Command::new(&certutil);
        add.args(["-A", "-a", "-t", "C,,", "-n", "wwwoffle of a neighbour", "-d"]);
        add.arg(format!("sql:{}", database.display()));
        assert_eq!(run(add, Some(foreign.pem().as_bytes())).status, 0);
    }
    let root = tempfile::tempdir().unwrap();
    for round in 1..=2 {
        for word in ["trusted now", "trusted already"] {
            let ran = daemon.ok(&["ca", "install", "--user"]);
            assert_eq!(ran.matches(word).count(), databases.len(), "{ran}");
        }
        for database in &databases {
            let list = entries(&certutil, database);
            assert_eq!(list.matches("wwwoffle CA on ").count(), round, "{list}");
        }
        if round == 1 {
            // The new authority has the same name and date.
            daemon.ok(&["ca", "renew"]);
        }
    }
    assert!(daemon.ok(&["ca", "show"]).contains("nssdb"));
    let printed = in_root(&daemon, root.path(), &["uninstall", "--print"]);
    assert_eq!(printed.out.matches("certutil -d ").count(), 2 * databases.len(), "{printed:?}");
    let removed = in_root(&daemon, root.path(), &["uninstall"]);
    assert_eq!((removed.status, removed.out.matches("removed").count()), (0, 3), "{removed:?}");
    for database in &databases {
        let list = entries(&certutil, database);
        assert!(!list.contains("wwwoffle CA on"), "{list}");
        assert!(list.contains("wwwoffle of a neighbour"), "{list}");
    }
}

#[test]
#[ignore = "needs chromium and certutil"]
fn chromium_trusts_it_after_the_installation() {
    let (program, certutil) = (browser(), certutil());
    let _alone = heavy();
    let authority = Authority::new();
    let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    furnish(&site.origin);
    let daemon = authority.daemon("");
    // The database does not exist yet. The browser would create it on its first start.
    daemon.ok(&["ca", "install", "--user"]);
    assert!(entries(&certutil, &daemon.home().join(".pki/nssdb")).contains("wwwoffle CA on"));
    let shown = dom_at_home(&program, &daemon, daemon.home(), &site.url("/shop/"));
    assert!(shown.contains("script ran"), "{shown}\n{}", daemon.log());
    daemon.settle();
    assert!(daemon.ok(&["ls"]).contains(&site.url("/shop/")));
}

#[test]
#[ignore = "needs firefox and certutil"]
fn firefox_trusts_it_after_the_installation() {
    let (firefox, certutil) = (program(&["firefox-esr"]), certutil());
    let _alone = heavy();
    let authority = Authority::new();
    let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    furnish(&site.origin);
    let daemon = authority.daemon("");
    let [_, profile, _] = profiles(daemon.home(), &certutil);
    let port = daemon.addr().port();
    let settings = format!(
        "user_pref(\"network.proxy.type\", 1);\n\
         user_pref(\"network.proxy.ssl\", \"127.0.0.1\");\n\
         user_pref(\"network.proxy.ssl_port\", {port});\n\
         user_pref(\"network.proxy.allow_hijacking_localhost\", true);\n\
         user_pref(\"network.proxy.no_proxies_on\", \"\");\n"
    );
    std::fs::write(profile.join("user.js"), settings).unwrap();
    let open = |url: &str| {
        let mut command = Command::new(&firefox);
        command.args(["--headless", "--no-remote", "--profile"]).arg(&profile);
        command.arg("--screenshot").arg(daemon.home().join("x.png")).arg(url);
        command.env("HOME", daemon.home());
        command
    };
    // The browser does not take a screenshot of a page with an invalid certificate.
    let mut untrusting = open(&site.url("/shop/")).stderr(Stdio::null()).spawn().unwrap();
    let said = "rejects our certificate";
    eventually("it is not trusted yet", || {
        let log = daemon.log();
        log.lines().any(|line| line.contains(said) && line.contains("host=\"127.0.0.1\""))
    });
    untrusting.kill().unwrap();
    untrusting.wait().unwrap();
    assert_eq!(site.origin.count("/shop/more.js"), 0);
    // After a host's certificate was rejected, the host is tunnelled for an hour. For another name,
    // interception is tried again.
    daemon.ok(&["ca", "install", "--user"]);
    let url = site.url_at("localhost", "/shop/");
    let ran = run(open(&url), None);
    daemon.settle();
    assert!(daemon.ok(&["ls"]).contains(&url), "{ran:?}\n{}", daemon.log());
}

/// The pixels of a PNG image, three bytes each (PNG, third edition, §9).
fn pixels(png: &[u8]) -> Vec<[u8; 3]> {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, kind) = (number(16), png[25]);
    assert_eq!(png[24], 8, "eight bits per sample");
    let samples = match kind {
        2 => 3,
        6 => 4,
        _ => panic!("colours of kind {kind}"),
    };
    let (mut at, mut packed) = (8, Vec::new());
    while at < png.len() {
        if &png[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&png[at + 8..at + 8 + number(at)]);
        }
        at += 12 + number(at);
    }
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[..]), &mut raw).unwrap();
    let (mut above, mut pixels) = (vec![0_u8; width * samples], Vec::new());
    for line in raw.chunks(width * samples + 1) {
        let mut row = line[1..].to_vec();
        for x in 0..row.len() {
            let left = if x >= samples { row[x - samples] } else { 0 };
            let corner = if x >= samples { above[x - samples] } else { 0 };
            row[x] = row[x].wrapping_add(match line[0] {
                0 => 0,
                1 => left,
                2 => above[x],
                3 => u8::midpoint(left, above[x]),
                _ => nearest(left, above[x], corner),
            });
        }
        pixels.extend(row.chunks(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        above = row;
    }
    pixels
}

/// The Paeth predictor: the neighbour that is nearest to the estimate (PNG, §9.4).
fn nearest(left: u8, above: u8, corner: u8) -> u8 {
    let foretold = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |one: u8| (foretold - i16::from(one)).abs();
    let (a, b, c) = (distance(left), distance(above), distance(corner));
    if a <= b && a <= c {
        left
    } else if b <= c {
        above
    } else {
        corner
    }
}

#[test]
#[ignore = "needs chromium and certutil"]
fn the_page_shows_whether_the_browser_trusts_the_authority() {
    let program = browser();
    let _alone = heavy();
    let daemon = Daemon::start();
    let shown = daemon.ok(&["ca", "show"]);
    let key = shown.lines().find_map(|line| line.strip_prefix("public key")).unwrap().trim();
    let trusting = format!("--ignore-certificate-errors-spki-list={key}");
    let url = format!("http://localhost:{}/ca", daemon.addr().port());
    for past in [false, true] {
        for trusts in [false, true] {
            let mut options = Vec::new();
            if trusts {
                options.push(trusting.clone());
            }
            if past {
                // Options of a browser that bypasses the proxy for this name. A browser that does
                // not use the proxy behaves in the same way.
                options.push("--proxy-bypass-list=localhost".to_owned());
            }
            let name = format!("ca-{}-{}.png", if trusts { "trusted" } else { "untrusted" }, past);
            let png = picture_with(&program, &daemon, &options, &url, &name, (900, 1200));
            // The words "Does not trust" are shown in red. Nothing else on the page is red.
            let red = pixels(&png).iter().filter(|pixel| **pixel == [0xa3, 0x20, 0x2a]).count();
            assert_eq!(red == 0, trusts, "{red} red pixels in {name}");
        }
    }
    let rejected = daemon.status()["rejections"].to_string();
    assert!(
        !rejected.contains("localhost"),
        "the test connection counts as a rejection: {rejected}"
    );
}

#[test]
#[ignore = "needs openssl"]
fn a_constrained_authority_is_valid_for_its_domains_only() {
    let openssl = program(&["openssl"]);
    let authority = Authority::new();
    let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    let daemon = authority.daemon("name-constraints = [\"Kept.example\"]\n");
    let shown = daemon.ok(&["ca", "show"]);
    assert!(shown.contains("only for     kept.example, localhost\n"), "{shown}");
    assert!(!shown.contains("renewal"), "{shown}");
    let at = |name: &str| daemon.home().join(name).to_str().unwrap().to_owned();
    let (key, request, leaf, root) = (at("key"), at("request"), at("leaf"), at("root"));
    std::fs::write(&root, daemon.ok(&["ca", "export"])).unwrap();
    let both = daemon.spool().join("ca/authority.pem").to_str().unwrap().to_owned();
    // A certificate for other names is not accepted, even if it is signed with the key.
    for (name, want) in [
        ("DNS:kept.example", true),
        ("DNS:www.kept.example", true),
        ("DNS:localhost", true),
        ("DNS:www.example.org", false),
        ("DNS:notkept.example", false),
        ("IP:192.0.2.1", false),
        ("IP:2001:db8::1", false),
    ] {
        let names = format!("subjectAltName={name}");
        let openssl = |line: &[&str]| {
            let mut command = Command::new(&openssl);
            command.args(line);
            run(command, None)
        };
        let made = openssl(&[
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/",
            "-addext",
            &names,
            "-keyout",
            &key,
            "-out",
            &request,
        ]);
        assert_eq!(made.status, 0, "{made:?}");
        let signed = openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            &both,
            "-CAkey",
            &both,
            "-copy_extensions",
            "copy",
            "-out",
            &leaf,
        ]);
        assert_eq!(signed.status, 0, "{signed:?}");
        let verified = openssl(&["verify", "-CAfile", &root, &leaf]);
        assert_eq!(verified.status == 0, want, "{name}: {verified:?}");
    }
    // A host outside the name constraint is tunnelled, and the client sees the site's own
    // certificate.
    let mut curl = Command::new("curl");
    site.origin.say("/x", Answer::html("unread"));
    let proxy = format!("http://{}", daemon.addr());
    let file = daemon.home().join("authority.pem");
    curl.args(["-sS", "--http1.1", "--noproxy", "", "-x", &proxy, "--cacert"]).arg(&file);
    curl.arg(site.url_at("127.0.0.1", "/x"));
    let ran = run(curl, None);
    assert_eq!((ran.status, ran.out.as_str()), (0, "unread"), "{ran:?}");
    daemon.settle();
    assert_eq!(daemon.ok(&["ls"]), "");
}
