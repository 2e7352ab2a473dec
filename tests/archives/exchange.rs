//! Archives in and out: archives of other programs can be imported, and other programs can read our
//! archives.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::harness::daemon::{Ran, output, run};
use crate::harness::tools::{plain, program, python_with};
use crate::harness::{Answer, Daemon, Origin, eventually, files, heavy, site};

/// Time limit for a third-party program.
const LIMIT: Duration = Duration::from_secs(180);

fn path(place: &Daemon, name: &str) -> String {
    place.home().join(name).to_str().unwrap().to_owned()
}

/// An archive with many pages of `length` bytes, each with a different body.
fn archive(place: &Daemon, name: &str, pages: usize, length: usize) -> String {
    let path = path(place, name);
    let mut out = std::fs::File::create(&path).unwrap();
    for number in 0..pages {
        let body = page(number, length);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        );
        let record = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{number}\r\n\
             WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{head}",
            head.len() + length
        );
        let whole = [record.as_bytes(), &body, b"\r\n\r\n"].concat();
        out.write_all(&site::gzip(&whole)).unwrap();
    }
    path
}

fn page(number: usize, length: usize) -> Vec<u8> {
    site::noise(number as u64 + 1, length)
}

#[track_caller]
fn raw(place: &Daemon, url: &str) -> Vec<u8> {
    let ran = output(place.command(&["cat", "--raw", url]), None, LIMIT);
    assert!(ran.status.success(), "{url}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

#[test]
fn archives_are_imported_with_and_without_a_daemon() {
    let mut place = Daemon::prepare(None);
    let (first, second) =
        (archive(&place, "a.warc.gz", 3, 50), archive(&place, "b.warc.gz", 5, 50));
    let ran = place.run(&["import", &first]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(ran.out, format!("{first}: 3 stored, 150 B\n"));
    assert_eq!(raw(&place, "http://a.example/2"), page(2, 50));
    place.up();
    assert_eq!(place.run(&["offline"]).status, 0);
    let ran = place.run(&["import", "--dry-run", &second]);
    assert!(
        ran.out.contains("2 would be stored") && ran.out.contains("3 were stored already"),
        "{ran:?}"
    );
    assert_eq!(place.get("http://a.example/4").status, 504);
    let ran = place.run(&["import", "--json", &second]);
    let told = ran.json();
    assert_eq!((&told["kept"], &told["same"]), (&2.into(), &3.into()), "{ran:?}");
    let response = place.get("http://a.example/4").whole();
    assert_eq!((response.status, response.body), (200, page(4, 50)));
    let empty = Daemon::prepare(None);
    let ran = run(empty.command(&["import", "-"]), Some(&std::fs::read(&first).unwrap()));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(empty.ok(&["ls"]).lines().count(), 3);
    let ran = place.run(&["import", "/nowhere", &first]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("/nowhere") && ran.out.contains("3 were stored already"), "{ran:?}");
}

/// A service has other files than the command line: `PrivateTmp`, `ProtectHome`, another user.
#[test]
#[ignore = "needs root and unshare"]
fn a_daemon_imports_files_that_it_cannot_see() {
    program(&["unshare"]);
    let mut place = Daemon::prepare(None).with_setup(
        "mkdir -p hidden; case \"$*\" in *\" serve \"*) exec unshare --mount sh -c \
         'mount -t tmpfs none \"$HOME/hidden\" && exec \"$0\" \"$@\"' \"$0\" \"$@\";; esac",
    );
    place.up();
    let hidden = archive(&place, "hidden/a.warc.gz", 3, 50);
    assert!(place.ok(&["import", &hidden]).contains("3 stored"));
    assert_eq!(raw(&place, "http://a.example/2"), page(2, 50));
    let typed = archive(&place, "hidden/b.warc.gz", 5, 50);
    let ran = run(place.command(&["import", "--json", "-"]), Some(&std::fs::read(&typed).unwrap()));
    assert_eq!((ran.status, &ran.json()["kept"]), (0, &2.into()), "{ran:?}");
    let ran = run(place.command(&["import", "-"]), Some(b"nothing"));
    assert!(ran.status == 1 && ran.err.contains("not a supported archive"), "{ran:?}");
    std::fs::create_dir(place.home().join("hidden/mirror")).unwrap();
    let ran = place.run(&["import", &path(&place, "hidden/mirror")]);
    assert!(ran.status == 1 && ran.err.contains("the daemon cannot read this folder"), "{ran:?}");
    eventually("what was received is removed", || {
        let left = std::fs::read_dir(place.spool().join("tmp")).unwrap();
        let mut names = left.map(|file| file.unwrap().file_name());
        !names.any(|name| name.to_string_lossy().starts_with("import-"))
    });
}

#[test]
fn an_imported_form_response_is_served_in_every_mode() {
    let (first, origin) = (Daemon::start(), Origin::start());
    origin.on("/form", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::html("thanks"))
    });
    let url = origin.url("/form");
    let mut client = first.client();
    client.send(format!(
        "POST {url} HTTP/1.1\r\nHost: {}\r\nContent-Length: 3\r\n\r\na=b",
        origin.addr
    ));
    assert_eq!(client.receive("POST").whole().text(), "thanks");
    first.settle();
    let archive = path(&first, "forms.warc.gz");
    first.ok(&["export", "--owner", "local", &archive]);
    first.ok(&["import", &archive]);
    assert_eq!(first.run(&["ls", "--json"]).lines().len(), 1, "it is not stored twice");
    let second = Daemon::start();
    second.ok(&["import", &archive]);
    let stored = format!("{url}?!POST:{}", hex::encode(Sha256::digest("a=b")));
    for mode in ["offline", "autodial", "online"] {
        second.ok(&[mode]);
        let got = second.get(&stored).whole();
        assert_eq!((got.status, got.text().as_str()), (200, "thanks"), "{mode}");
    }
    assert_eq!(origin.asked("/form").len(), 1);
}

#[test]
fn only_the_command_line_names_paths_to_a_daemon() {
    let mut place = Daemon::start();
    place.set_password("sesame");
    let page = place.page("/").text();
    let token =
        page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let (token, body) = (token.unwrap(), r#"{"path":"/etc/passwd"}"#);
    let mut client = place.client();
    client.send(format!(
        "POST /api/import HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Authorization: Basic d2hvZXZlcjpzZXNhbWU=\r\nX-Wwwoffle-Token: {token}\r\nContent-Length: {}\r\n\r\n{body}",
        place.addr(),
        body.len()
    ));
    let response = client.receive("POST").whole();
    assert_eq!(response.status, 403, "{response:?}");
    assert!(response.text().contains("only the command line"), "{}", response.text());
}

#[test]
#[ignore = "needs wget"]
fn a_wget_archive_is_imported_byte_for_byte() {
    let wget = program(&["wget"]);
    let (origin, place) = (Origin::start(), Daemon::prepare(None));
    let urls: Vec<String> =
        site::paths().into_iter().take(60).map(|path| origin.url(&path)).collect();
    for compressed in [true, false] {
        let name = path(&place, if compressed { "packed" } else { "plain" });
        let mut command = plain(Command::new(&wget));
        command.args(["-q", "-t", "1", "-T", "30", "-O", "/dev/null", "--warc-file", &name]);
        if !compressed {
            command.arg("--no-warc-compression");
        }
        // The exit status is not checked: wget reports the error responses of the site in it.
        let _fetched = output(command_with(command, &urls), None, LIMIT);
        let file = format!("{name}.warc{}", if compressed { ".gz" } else { "" });
        let ran = place.run(&["import", "--json", &file]);
        let told = ran.json();
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(told["kept"].as_u64().unwrap() + told["same"].as_u64().unwrap() > 40, "{told}");
    }
    for url in &urls {
        let path = url.strip_prefix(&origin.url("")).unwrap_or(url);
        let want = site::answer(&format!("/{}", path.trim_start_matches('/'))).unwrap();
        if want.status == 200 {
            assert!(raw(&place, url) == want.body, "{url}");
        }
    }
}

fn command_with(mut command: Command, arguments: &[String]) -> Command {
    command.args(arguments);
    command
}

/// Runs the script `name` of `tests/scripts/archives` with `input` as its standard input. `python`
/// runs an interpreter that has the modules of the script.
pub(crate) fn script(python: Command, name: &str, arguments: &[String], input: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives").join(name);
    let mut command = python;
    command.arg(script).args(arguments);
    run(command, Some(input.as_bytes()))
}

#[test]
#[ignore = "needs python3 with warcio, pywb and wacz"]
fn other_tools_read_exports_and_the_spool() {
    let python = python_with("warcio");
    let place = Daemon::prepare(None);
    let made = path(&place, "made.warc.gz");
    let ran = script(python, "made.py", std::slice::from_ref(&made), "");
    assert_eq!(ran.status, 0, "{ran:?}");
    let told = place.run(&["import", "--json", &made]).json();
    assert_eq!((&told["kept"], &told["refused"]), (&10.into(), &0.into()), "{told}");
    let (warc, wacz) = (path(&place, "out.warc.gz"), path(&place, "out.wacz"));
    assert!(place.ok(&["export", &warc]).contains("10 responses"));
    assert!(place.ok(&["export", &wacz]).contains("10 responses"));

    let check = run(
        command_with(Command::new("warcio"), &["check".into(), "-v".into(), warc.clone()]),
        None,
    );
    assert!(check.status == 0 && !check.out.contains("fail"), "{check:?}");
    assert_eq!(check.out.matches("digest pass").count(), 20, "{check:?}");

    let body = |number: u8| format!("<html><title>Page {number}</title><p>body {number}");
    let rows: String = (0..5)
        .flat_map(|number| {
            let digest = hex::encode(Sha256::digest(body(number)));
            [
                format!("http://www.example.org/{number}?a=b\t{digest}\n"),
                format!("http://other.example/{number}\t{digest}\n"),
            ]
        })
        .collect();
    let spool: Vec<PathBuf> = files(place.spool())
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "warc"))
        .collect();
    assert_eq!(spool.len(), 10);
    let ran = script(python_with("pywb"), "replay.py", std::slice::from_ref(&warc), &rows);
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
    let names: Vec<String> = spool.iter().map(|file| file.to_str().unwrap().into()).collect();
    let ran = script(python_with("pywb"), "replay.py", &names, &rows);
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
    let ran = script(python_with("pywb"), "unpack.py", std::slice::from_ref(&wacz), &rows);
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
    python_with("wacz");
    let arguments = ["validate".to_owned(), "-f".to_owned(), wacz.clone()];
    let ran = run(command_with(plain(Command::new("wacz")), &arguments), None);
    assert_eq!(ran.status, 0, "{ran:?}");
    // Our own import reads both files too.
    for file in [warc, wacz] {
        let other = Daemon::prepare(None);
        let told = other.run(&["import", "--json", &file]).json();
        assert_eq!((&told["kept"], &told["refused"]), (&10.into(), &0.into()), "{told}");
        assert_eq!(raw(&other, "http://other.example/3"), body(3).into_bytes());
    }
}

#[test]
fn an_export_has_the_chosen_entries_and_no_private_ones() {
    let place = Daemon::prepare(None);
    let record = |url: &str, date: &str, fields: &str| {
        let block = format!("HTTP/1.1 200 OK\r\n{fields}\r\n{url}");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let made = path(&place, "a.warc");
    let records = [
        record("http://a.example/old", "2024-05-01T10:00:00Z", ""),
        record("http://a.example/new", "2024-06-01T10:00:00Z", ""),
        record("http://b.example/", "2024-06-01T10:00:00Z", ""),
        record("http://a.example/mine", "2024-06-01T10:00:00Z", "Set-Cookie: secret=1\r\n"),
    ];
    std::fs::write(&made, records.concat()).unwrap();
    assert_eq!(place.run(&["import", "--json", &made]).json()["kept"], 4);
    let rows: [(&[&str], &[&str]); 7] = [
        (&[], &["a.example/old", "a.example/new", "b.example/"]),
        (&["--host", "a.example"], &["a.example/old", "a.example/new"]),
        (&["--since", "2024-05-15"], &["a.example/new", "b.example/"]),
        (&["--until", "2024-05-15T00:00:00Z"], &["a.example/old"]),
        (&["--max-size", "17B"], &["b.example/"]),
        (&["--url-spec", "*://*/new"], &["a.example/new"]),
        (&["--owner", "local", "--url-spec", "*://*/mine"], &["a.example/mine"]),
    ];
    for (arguments, want) in rows {
        let arguments = [&["export"], arguments, &["-"]].concat();
        let ran = output(place.command(&arguments), None, LIMIT);
        assert!(ran.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&ran.stderr));
        let text = unpacked(&ran.stdout);
        let mut found: Vec<_> = text
            .split("WARC/1.1\r\nWARC-Type: ")
            .filter(|record| record.starts_with("response"))
            .filter_map(|record| record.split("WARC-Target-URI: http://").nth(1)?.lines().next())
            .collect();
        found.sort_unstable();
        let mut want = want.to_vec();
        want.sort_unstable();
        assert_eq!(found, want, "{arguments:?}");
        assert_eq!(text.contains("secret=1"), arguments.contains(&"--owner"));
    }
    let folder = path(&place, "pages/");
    let ran = place.run(&["export", "--json", "--unchanged", &folder]);
    assert_eq!(ran.json()["entries"], 3, "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(place.home().join("pages").join(name)).unwrap();
    assert_eq!(read("a.example/old"), "http://a.example/old");
    assert!(read("index.html").contains("<a href=\"b.example/index\">http://b.example/</a>"));
    // An export does not overwrite existing files, and needs a file name whose end names the
    // format.
    assert_eq!(place.run(&["export", &folder]).status, 1);
    let ran = place.run(&["export", "somewhere"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{ran:?}");
}

#[test]
#[ignore = "slow"]
fn a_bundle_is_filled_on_another_machine_and_imported() {
    let origin = Origin::start();
    let mut ship = Daemon::prepare(None);
    ship.up();
    ship.ok(&["offline"]);
    let urls: Vec<String> =
        ["/page/1.html", "/page/2.html", "/gone"].iter().map(|path| origin.url(path)).collect();
    for url in &urls {
        assert_eq!(ship.run(&["get", url]).status, 10, "{url}");
    }
    let mut client = ship.client();
    let secret = origin.url("/page/3.html");
    client.send(format!(
        "GET {secret} HTTP/1.1\r\nHost: origin\r\nCookie: id=secret\r\n{}\r\n",
        crate::harness::daemon::AS_PERSON
    ));
    assert_eq!(client.receive("GET").status, 504);
    let bundle = path(&ship, "bundle.warc.gz");
    let told = ship.run(&["export", "--queue", "--json", &bundle]).json();
    assert_eq!((&told["requests"], &told["kept_back"]), (&3.into(), &1.into()), "{told}");
    assert!(
        !unpacked(&std::fs::read(&bundle).unwrap()).contains("secret"),
        "a cookie was exported"
    );
    assert_eq!(origin.seen().len(), 0, "nothing went out");

    // Another bundle requests a page that must not be shared, because its response sets a cookie.
    let second = path(&ship, "second.warc.gz");
    assert_eq!(ship.run(&["get", &origin.url("/cookie")]).status, 10);
    ship.ok(&["export", "--queue", &second]);

    // Another machine. Its configuration permits requests to its loopback address, where the origin
    // runs.
    let shore = Daemon::prepare(Some("[allowed-connect-hosts]\ninside = [\"127.0.0.1\"]\n"));
    let mut command = shore.bare_command();
    command.arg("--config").arg(shore.config_file()).args(["fetch", "--bundle", &bundle]);
    let ran = run(command, None);
    let filled = ran.out.lines().find(|line| line.contains(" responses, ")).unwrap_or_default();
    assert!(filled.starts_with(&bundle) && ran.status != 2, "{ran:?}");
    let is_done = !ran.out.contains("still wait");
    assert_eq!(Path::new(&format!("{bundle}.spool")).exists(), !is_done, "{ran:?}");
    assert!(!unpacked(&std::fs::read(&bundle).unwrap()).contains("id=secret"));
    assert!(origin.count("/page/1.html") == 1 && origin.count("/page/2.html") == 1);

    // A spool that already has other entries. They are not added to the bundle.
    let used = Daemon::prepare(Some("[allowed-connect-hosts]\ninside = [\"127.0.0.1\"]\n"));
    assert_eq!(
        used.run(&["import", "--json", &archive(&used, "a.warc.gz", 2, 50)]).json()["kept"],
        2
    );
    let ran = used.run(&["fetch", "--bundle", &second]);
    let filled = unpacked(&std::fs::read(&second).unwrap());
    assert!(filled.contains("/page/1.html") && !filled.contains("http://a.example/"), "{ran:?}");
    // A second run retries the downloads that failed. Responses that are already in the bundle stay
    // there.
    let ran = used.run(&["fetch", "--bundle", &second]);
    let filled = unpacked(&std::fs::read(&second).unwrap());
    let is_there = |page: &str| filled.contains(&format!("/page/{page}.html"));
    assert!(is_there("1") && is_there("2"), "{ran:?}");
    assert!(filled.contains("Wwwoffle-Kind: page"), "{ran:?}");
    assert!(!filled.contains("http://a.example/"), "{ran:?}");

    let told = ship.run(&["import", "--json", &bundle]).json();
    assert!(told["answered"].as_u64() >= Some(2), "{told}");
    for (number, url) in urls.iter().take(2).enumerate() {
        let response = ship.get(url).whole();
        let want = site::answer(&format!("/page/{}.html", number + 1)).unwrap();
        assert!(response.status == 200 && response.body == want.body, "{url}");
    }
    // The page with a cookie still waits for a connection of its user.
    assert!(ship.queued().contains(&secret), "{:?}", ship.queued());
    assert!(!ship.queued().contains(&urls[0]), "{:?}", ship.queued());
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes);
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
#[ignore = "slow"]
fn a_killed_import_resumes_with_the_same_result() {
    const PAGES: usize = 4_000;
    const ROUNDS: usize = 20;
    let _alone = heavy();
    let place = Daemon::prepare(None);
    // An entry that was stored before the import and is not in the imported archive.
    let made = path(&place, "before.warc");
    let block = "HTTP/1.1 200 OK\r\n\r\nbefore";
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://before.example/\r\nWARC-Date: \
         2024-05-01T10:00:00Z\r\nContent-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    std::fs::write(&made, record).unwrap();
    assert_eq!(place.run(&["import", "--json", &made]).json()["kept"], 1);
    let file = archive(&place, "a.warc.gz", PAGES, 300);
    let entries = || files(place.spool()).len();
    let mut killed = 0;
    for round in 0..ROUNDS {
        let before = entries();
        let mut command = place.command(&["import", &file]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The number of further pages after which the import is killed, unless it has ended. It
        // grows in each round.
        let more = 40 + 7 * round;
        eventually("further pages are stored", || {
            entries() >= before + more || child.try_wait().unwrap().is_some()
        });
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(raw(&place, "http://before.example/"), b"before", "round {round}");
    }
    assert!(killed >= ROUNDS / 2, "only {killed} were killed before their end");
    let ran = place.run(&["import", "--json", &file]);
    let told = ran.json();
    assert_eq!((ran.status, &told["refused"]), (0, &0.into()), "{ran:?}");
    for number in (0..PAGES).step_by(97).chain([PAGES - 1]) {
        assert!(
            raw(&place, &format!("http://a.example/{number}")) == page(number, 300),
            "{number}"
        );
    }
    let list = place.ok(&["ls", "--json"]);
    assert_eq!(list.lines().count(), PAGES + 1);
    assert!(!place.spool().join("damaged").read_dir().unwrap().any(|_| true));
    let imports = place.spool().join("imports");
    assert!(!imports.exists() || !imports.read_dir().unwrap().any(|_| true), "nothing is left");
    // The spool is sound: an export contains every entry.
    assert_eq!(
        place.run(&["export", "--json", &path(&place, "all.warc.gz")]).json()["entries"],
        PAGES + 1
    );
}

#[test]
#[ignore = "slow"]
fn personal_responses_are_bundled_from_a_separate_spool_only() {
    let origin = Origin::start();
    let private = Answer::html("<p>For your eyes.").field("Cache-Control", "private");
    origin.say("/private", private);
    origin.say("/cookie", Answer::html("<p>A cookie.").field("Set-Cookie", "id=secret"));
    let ship = Daemon::start();
    ship.ok(&["offline"]);
    let urls = ["/page/1.html", "/private", "/cookie"].map(|path| origin.url(path));
    for url in &urls {
        assert_eq!(ship.run(&["get", url]).status, 10, "{url}");
    }
    let config = "[allowed-connect-hosts]\ninside = [\"127.0.0.1\"]\n";
    for is_of_its_own in [true, false] {
        let bundle = path(&ship, if is_of_its_own { "own.warc.gz" } else { "used.warc.gz" });
        ship.ok(&["export", "--queue", &bundle]);
        let shore = Daemon::prepare(Some(config));
        let mut command = shore.bare_command();
        command.arg("--config").arg(shore.config_file());
        if !is_of_its_own {
            command.arg("--spool").arg(shore.spool());
        }
        command.args(["fetch", "--bundle", &bundle]);
        let ran = run(command, None);
        let filled = unpacked(&std::fs::read(&bundle).unwrap());
        assert!(filled.contains("/page/1.html"), "{ran:?}");
        assert_eq!(filled.contains("your eyes"), is_of_its_own, "{ran:?}");
        let told = ship.run(&["import", "--json", &bundle]).json();
        assert_eq!(told["refused"], 0, "{told}");
        // A page that is missing in the bundle stays in the queue until the daemon is online.
        assert_eq!(ship.queued().contains(&urls[1]), !is_of_its_own, "{told}");
        let response = ship.get(&urls[1]).whole();
        assert_eq!(response.text().contains("your eyes"), is_of_its_own, "{response:?}");
        if is_of_its_own {
            let listed = ship.run(&["ls", "--json"]).lines();
            let found = listed.iter().find(|one| one["url"] == urls[1].as_str()).unwrap();
            assert_eq!(found["owner"], "local", "{found}");
            // The entries are removed, so that the pages are queued again.
            ship.ok(&["rm", &urls[0], &urls[1], &urls[2]]);
            for url in &urls {
                assert_eq!(ship.run(&["get", url]).status, 10, "{url}");
            }
        }
    }
}
