//! Pages behind a login of their site (Basic, Digest): offline the proxy asks for the login, and
//! opens a copy only with the login with which it was stored.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::MultiGzDecoder;
use md5::{Digest, Md5};
use wwwoffle_url::make_hash;

use super::owners;
use crate::harness::chromium::Chromium;
use crate::harness::client::Response;
use crate::harness::daemon::AS_PERSON;
use crate::harness::form::form;
use crate::harness::{Answer, Daemon, Origin, eventually, files, heavy};
use crate::site::browser::browser;
use crate::site::gateway::at;

/// The only user of the sites below, and the password.
const ADA: (&str, &str) = ("ada", "hunter2");

/// The field of a Basic login.
fn basic((user, password): (&str, &str)) -> String {
    format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

/// A site with pages below `/`, which `users` see after a login.
fn site(challenge: &'static str, users: &'static [(&str, &str)]) -> Origin {
    let origin = Origin::start();
    for path in ["/page", "/other"] {
        origin.on(path, move |exchange| {
            let login = exchange.seen.fields.get("Authorization").unwrap_or_default();
            let user = users.iter().find(|user| basic(**user).ends_with(&format!("{login}\r\n")));
            exchange.answer(&match user {
                Some((name, _)) if !login.is_empty() => Answer::html(format!("pay of {name}")),
                _ => Answer::new(401, "text/html", "who?").field("WWW-Authenticate", challenge),
            })
        });
    }
    origin
}

#[track_caller]
fn get(daemon: &Daemon, url: &str, fields: &str) -> Response {
    daemon.client().get_with(url, &format!("{AS_PERSON}{fields}")).whole()
}

/// Opens a page as a browser does: without a login, and then with it.
#[track_caller]
fn log_in(daemon: &Daemon, url: &str, login: (&str, &str)) {
    assert_eq!(get(daemon, url, "").status, 401);
    assert_eq!(get(daemon, url, &basic(login)).text(), format!("pay of {}", login.0));
}

/// Goes offline, and stops the origin.
fn part(daemon: &Daemon, origin: &mut Origin) {
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
}

#[test]
fn a_page_behind_a_login_opens_offline_with_its_password() {
    let challenge = "Negotiate, Digest realm=\"d\", nonce=\"a,b\", Basic realm=\"The \\\"staff\\\"\", \
                     charset=\"UTF-8\"";
    let (mut daemon, mut origin) = (Daemon::start(), site(challenge, &[ADA]));
    let url = origin.url("/page");
    log_in(&daemon, &url, ADA);
    part(&daemon, &mut origin);
    for _ in 0..2 {
        for fields in ["", &basic(("ada", "hunter3")), &basic(("bob", "hunter2"))] {
            let asked = get(&daemon, &url, fields);
            assert_eq!(asked.status, 401, "{fields}");
            let want = "Basic realm=\"The \\\"staff\\\"\", charset=\"UTF-8\"";
            assert_eq!(asked.field("WWW-Authenticate"), want);
            assert_eq!(asked.field("Cache-Status"), "wwwoffle; detail=login");
            assert!(asked.text().contains("needs a user name and password"), "{}", asked.text());
        }
        let opened = get(&daemon, &url, &basic(ADA));
        assert_eq!((opened.status, opened.text().as_str()), (200, "pay of ada"));
        // A new session of the daemon knows the login too.
        daemon.restart();
    }
    assert!(daemon.queued().is_empty(), "a wrong password is not queued");
}

#[test]
fn a_login_without_a_known_challenge_gets_one_with_the_host() {
    let (daemon, mut origin) = (Daemon::start(), site("Basic realm=x", &[ADA]));
    let url = origin.url("/page");
    assert_eq!(get(&daemon, &url, &basic(ADA)).text(), "pay of ada");
    part(&daemon, &mut origin);
    let want = format!("Basic realm=\"{}\"", origin.addr);
    assert_eq!(get(&daemon, &url, "").field("WWW-Authenticate"), want);
    assert_eq!(get(&daemon, &url, &basic(ADA)).text(), "pay of ada");
}

#[test]
fn each_login_has_its_own_copy_and_other_passwords_are_asked_of_the_origin() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.on("/page", |exchange| {
        let login = exchange.seen.fields.get("Authorization").unwrap_or("nobody").to_owned();
        exchange.answer(&Answer::html(login).field("Cache-Control", "max-age=600"))
    });
    let url = origin.url("/page");
    let body = |user| basic(user)["Authorization: ".len()..].trim().to_owned();
    let other = ("bob", "hunter2");
    let new = (ADA.0, "hunter3");
    for user in [ADA, other, new, ADA, new] {
        assert_eq!(get(&daemon, &url, &basic(user)).text(), body(user), "online");
    }
    assert_eq!(get(&daemon, &url, "").text(), "nobody");
    part(&daemon, &mut origin);
    assert_eq!(get(&daemon, &url, &basic(new)).text(), body(new), "the last password of ada");
    assert_eq!(get(&daemon, &url, &basic(other)).text(), body(other));
    assert_eq!(get(&daemon, &url, &basic(ADA)).status, 401);
    assert_eq!(get(&daemon, &url, "").text(), "nobody", "the page for people without a login");
}

#[test]
fn nothing_stored_contains_a_password() {
    let (mut daemon, mut origin) = (Daemon::start(), site("Basic realm=\"staff\"", &[ADA]));
    let (url, queued) = (origin.url("/page"), origin.url("/other"));
    log_in(&daemon, &url, ADA);
    part(&daemon, &mut origin);
    get(&daemon, &queued, &basic(ADA));
    assert_eq!(daemon.queued(), std::slice::from_ref(&queued));
    daemon.down();
    let pair = format!("{}:{}", ADA.0, ADA.1);
    let secrets = [ADA.1.to_owned(), BASE64_STANDARD.encode(&pair), hex::encode(&pair)];
    let with_login = |url: &str| url.replacen("://", &format!("://{pair}@"), 1);
    // The key of earlier versions: a password can be guessed from it.
    let keys = [&url, &queued].map(|url| sha256(&with_login(url)));
    for path in files(daemon.spool()) {
        let (name, bytes) = (path.display().to_string(), std::fs::read(&path).unwrap());
        let text = String::from_utf8_lossy(&bytes);
        for secret in secrets.iter().chain(&keys) {
            assert!(!name.contains(secret), "{name}");
            assert!(!text.contains(secret), "{secret} is in {name}");
        }
    }
    let log = daemon.whole_log();
    assert!(!secrets.iter().any(|secret| log.contains(secret)), "{log}");
}

#[test]
#[ignore = "slow"]
fn a_changed_password_is_no_guess_for_each_page_stored_with_the_old_one() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    let page = |login: (&str, &str)| format!("pay of {}, seen with {}", login.0, login.1);
    for number in 0..8 {
        origin.on(&format!("/page/{number}"), move |exchange| {
            let login = exchange.seen.fields.get("Authorization").unwrap_or_default().to_owned();
            let passwords = [ADA.1, "new"].into_iter().map(|password| (ADA.0, password));
            let user = passwords.into_iter().find(|user| basic(*user).contains(&login));
            exchange.answer(&match user {
                Some(user) if !login.is_empty() => Answer::html(page(user)),
                _ => Answer::new(401, "text/html", "who?")
                    .field("WWW-Authenticate", "Basic realm=\"staff\""),
            })
        });
    }
    let urls: Vec<_> = (0..8).map(|number| origin.url(&format!("/page/{number}"))).collect();
    let new = (ADA.0, "new");
    for url in &urls {
        assert_eq!(get(&daemon, url, &basic(ADA)).text(), page(ADA));
        // Each session makes its own hash.
        daemon.restart();
    }
    assert_eq!(get(&daemon, &urls[0], &basic(new)).text(), page(new), "online the site decides");
    part(&daemon, &mut origin);
    assert_eq!(get(&daemon, &urls[0], &basic(new)).text(), page(new));
    for _ in 0..2 {
        for url in &urls[1..] {
            assert_eq!(get(&daemon, url, &basic(new)).status, 401, "{url}");
            assert_eq!(get(&daemon, url, &basic(ADA)).text(), page(ADA), "{url}");
        }
    }
    assert_eq!(get(&daemon, &urls[0], &basic(ADA)).status, 401, "replaced");
    let guess = |number: u32| get(&daemon, &urls[0], &basic((ADA.0, &number.to_string()))).status;
    assert!((0..20).any(|number| guess(number) == 429), "other passwords are guesses");
    assert_eq!(get(&daemon, &urls[1], &basic(new)).status, 401, "and the new one is none");
}

fn sha256(text: &str) -> String {
    hex::encode(sha2::Sha256::digest(text))
}

#[test]
fn guessing_is_slowed_down() {
    let (daemon, mut origin) = (Daemon::start(), site("Basic realm=\"staff\"", &[ADA]));
    let url = origin.url("/page");
    log_in(&daemon, &url, ADA);
    part(&daemon, &mut origin);
    let guess = |number: u32| get(&daemon, &url, &basic(("ada", &number.to_string()))).status;
    let statuses: Vec<_> = (0..40).map(guess).collect();
    assert_eq!(statuses[0], 401);
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn another_person_never_gets_a_copy_with_the_right_password() {
    let (daemon, mut origin) = (owners::daemon(), site("Basic realm=\"staff\"", &[ADA]));
    let url = origin.url("/page");
    assert_eq!(owners::get(&daemon, "ada", &url, &basic(ADA)).text(), "pay of ada");
    part(&daemon, &mut origin);
    assert_eq!(owners::get(&daemon, "ada", &url, "").status, 401);
    assert_eq!(owners::get(&daemon, "ada", &url, &basic(ADA)).text(), "pay of ada");
    for fields in ["", &basic(ADA)] {
        assert_eq!(owners::get(&daemon, "bob", &url, fields).status, 504, "{fields}");
    }
}

/// The proof of a Digest login for `/page`, as RFC 7616 §3.4.1 computes it.
fn digest((user, password): (&str, &str), parameters: &str) -> String {
    let md5 = |text: String| hex::encode(Md5::digest(text));
    let (ha1, ha2) = (md5(format!("{user}:staff:{password}")), md5("GET:/page".to_owned()));
    let proof = md5(format!("{ha1}:n,1:00000001:c:auth:{ha2}"));
    format!(
        "Authorization: Digest username=\"{user}\", realm=\"staff\", nonce=\"n,1\", uri=\"/page\", \
         {parameters}nc=00000001, cnonce=\"c\", response=\"{proof}\"\r\n"
    )
}

/// A site with Digest logins, and its proof that it knows the password.
fn digest_site() -> Origin {
    let origin = Origin::start();
    origin.on("/page", |exchange| {
        let login = exchange.seen.fields.get("Authorization").unwrap_or_default();
        let is_right = digest(ADA, "qop=auth, ").ends_with(&format!("{login}\r\n"));
        exchange.answer(&if is_right && !login.is_empty() {
            Answer::html("pay of ada")
                .field("Authentication-Info", "rspauth=\"0a1b2c\"")
                .field("Cache-Control", "max-age=600")
        } else {
            let challenge = "Digest realm=\"staff\", qop=\"auth\", nonce=\"n,1\"";
            Answer::new(401, "text/html", "who?").field("WWW-Authenticate", challenge)
        })
    });
    origin
}

#[test]
fn a_digest_login_is_checked_offline_with_basic() {
    let (mut daemon, mut origin) = (Daemon::start(), digest_site());
    let url = origin.url("/page");
    let login = digest(ADA, "qop=auth, ");
    assert_eq!(get(&daemon, &url, "").status, 401);
    assert_eq!(get(&daemon, &url, &login).text(), "pay of ada");
    // No proof can be checked here, so the origin checks each.
    assert_eq!(get(&daemon, &url, &digest((ADA.0, "x"), "qop=auth, ")).status, 401);
    part(&daemon, &mut origin);
    for fields in ["", &login, &basic(("ada", "hunter3")), &basic(("bob", "hunter2"))] {
        let asked = get(&daemon, &url, fields);
        assert_eq!(asked.status, 401, "{fields}");
        assert_eq!(asked.field("WWW-Authenticate"), "Basic realm=\"staff\", charset=\"UTF-8\"");
    }
    assert_eq!(get(&daemon, &url, &basic(ADA)).text(), "pay of ada");
    daemon.down();
    let proof = login.split("response=\"").nth(1).unwrap().split('"').next().unwrap();
    for path in files(daemon.spool()) {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in [ADA.1, proof, "0a1b2c"] {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }
}

/// A browser that has sent the password to the proxy sends it again once the site is reachable. With
/// Digest the site must never get it.
#[test]
fn a_password_typed_for_a_digest_site_is_not_sent_to_it() {
    let (daemon, origin) = (Daemon::start(), digest_site());
    let url = origin.url("/page");
    assert_eq!(get(&daemon, &url, &digest(ADA, "qop=auth, ")).text(), "pay of ada");
    let reload = format!("{}Cache-Control: no-cache\r\n", basic(ADA));
    assert_eq!(get(&daemon, &url, &reload).status, 401);
    let asked = origin.asked("/page");
    assert_eq!(asked.len(), 2);
    assert!(!asked[1].fields.has("Authorization"), "{:?}", asked[1]);
}

#[test]
fn a_login_that_cannot_be_checked_is_not_opened() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.say("/page", Answer::html("pay of ada"));
    let url = origin.url("/page");
    // The proof covers the body of the request.
    let login = digest(ADA, "qop=auth-int, ");
    assert_eq!(get(&daemon, &url, &login).text(), "pay of ada");
    part(&daemon, &mut origin);
    for fields in [login.as_str(), &basic(ADA), ""] {
        assert_eq!(get(&daemon, &url, fields).status, 504, "{fields}");
    }
}

#[test]
fn a_queued_page_whose_login_fails_says_so() {
    let (daemon, origin) = (Daemon::start(), site("Basic realm=\"staff\"", &[ADA]));
    daemon.ok(&["offline"]);
    let (url, other) = (origin.url("/page"), origin.url("/other"));
    assert_eq!(get(&daemon, &url, "").status, 504);
    assert_eq!(get(&daemon, &other, &basic(("ada", "hunter3"))).status, 504);
    // The last password counts.
    assert_eq!(get(&daemon, &other, &basic(ADA)).status, 504);
    daemon.ok(&["online"]);
    eventually("the login is fetched", || daemon.queue().len() == 1);
    let listed = || daemon.ok(&["queue"]);
    eventually("the page has failed", || listed().contains("401"));
    assert!(listed().contains("it needs a login"), "{}", listed());
}

#[test]
fn each_login_is_listed_shown_and_deleted_by_its_user_name() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.on("/page", |exchange| {
        let login = exchange.seen.fields.get("Authorization").unwrap_or("nobody").to_owned();
        exchange.answer(&Answer::html(login))
    });
    let url = origin.url("/page");
    let of = |user: &str| url.replacen("://", &format!("://{user}@"), 1);
    let body = |user| basic(user)["Authorization: ".len()..].trim().to_owned();
    let users = [ADA, ("bob@x.example", "secret")];
    for user in users {
        get(&daemon, &url, &basic(user));
    }
    part(&daemon, &mut origin);
    let (ada, bob) = (of("ada"), of("bob%40x.example"));
    for arguments in [&["ls"][..], &["ls", "lasttime"]] {
        let listed = daemon.ok(arguments);
        assert!(listed.contains(&ada) && listed.contains(&bob), "{listed}");
    }
    for (address, user) in [(&ada, users[0]), (&bob, users[1])] {
        assert_eq!(daemon.ok(&["cat", address]), body(user));
        assert!(daemon.ok(&["info", address]).contains("login       "), "{address}");
        assert_eq!(daemon.run(&["history", address]).status, 0, "{address}");
        let page = daemon.page(&format!("/info/?{address}"));
        assert!(page.text().contains(address.as_str()), "{}", page.text());
    }
    // The URL alone means the newest.
    assert_eq!(daemon.ok(&["cat", &url]), body(users[1]));
    assert_ne!(daemon.run(&["cat", &of("eve")]).status, 0);
    let list = || daemon.page(&format!("/index/http/{}", origin.addr)).text();
    let chosen = format!("name=\"url\" value=\"{ada}\"");
    eventually("the list offers the entry", || list().contains(&chosen));
    assert!(daemon.ok(&["rm", &ada]).contains(&ada));
    assert_ne!(daemon.run(&["cat", &ada]).status, 0);
    assert_eq!(daemon.ok(&["cat", &bob]), body(users[1]));
    daemon.ok(&["rm", &url]);
    assert_ne!(daemon.run(&["cat", &url]).status, 0);
}

#[test]
fn a_deleted_login_can_be_restored() {
    let (daemon, mut origin) =
        (Daemon::start(), site("Basic realm=\"staff\"", &[ADA, ("bob", "x")]));
    let url = origin.url("/page");
    log_in(&daemon, &url, ADA);
    log_in(&daemon, &url, ("bob", "x"));
    part(&daemon, &mut origin);
    let ada = url.replacen("://", "://ada@", 1);
    let page = daemon.page(&format!("/info/?{ada}"));
    let done = daemon.submit(&form(&page.text(), "/control/delete-multiple/url"));
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(get(&daemon, &url, &basic(ADA)).status, 401);
    assert_eq!(get(&daemon, &url, &basic(("bob", "x"))).text(), "pay of bob");
    let told = daemon.page(done.field("Location")).text();
    assert_eq!(daemon.submit(&form(&told, "/control/undo")).status, 303);
    assert_eq!(get(&daemon, &url, &basic(ADA)).text(), "pay of ada");
}

#[test]
fn the_gateway_asks_for_no_login() {
    let (daemon, mut origin) = (Daemon::start(), site("Basic realm=\"staff\"", &[ADA]));
    log_in(&daemon, &origin.url("/page"), ADA);
    part(&daemon, &mut origin);
    let fields = format!("{AS_PERSON}{}", basic(ADA));
    let path = at(&origin, "/page");
    let refused = daemon.client().get_path(&daemon.addr().to_string(), &path, &fields).whole();
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(!refused.fields.has("WWW-Authenticate"));
    assert!(refused.text().contains("cannot be opened here"), "{}", refused.text());
}

#[test]
fn an_imported_page_of_wwwoffle_2_9_opens_with_its_login() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let (url, old) = ("http://ada:hunter2@www.example.org/page", daemon.home().join("old"));
    let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\npay of ada";
    let folder = old.join("http/www.example.org");
    std::fs::create_dir_all(&folder).unwrap();
    let hash = make_hash(url.as_bytes());
    std::fs::write(folder.join(format!("D{hash}")), answer).unwrap();
    std::fs::write(folder.join(format!("U{hash}")), url).unwrap();
    let said = daemon.ok(&["import", old.to_str().unwrap()]);
    let plain = "http://www.example.org/page";
    let asked = get(&daemon, plain, "");
    assert_eq!(asked.status, 401, "{said}");
    assert_eq!(asked.field("WWW-Authenticate"), "Basic realm=\"www.example.org\"");
    assert_eq!(get(&daemon, plain, &basic(("ada", "x"))).status, 401);
    assert_eq!(get(&daemon, plain, &basic(ADA)).text(), "pay of ada");
    for path in files(daemon.spool()) {
        let text = std::fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(ADA.1), "{}", path.display());
    }
    // An archive has the page, and nothing from which the password could be guessed.
    let archive = daemon.home().join("pages.warc.gz");
    daemon.ok(&["export", "--owner", "local", archive.to_str().unwrap()]);
    let mut exported = String::new();
    let file = std::fs::File::open(&archive).unwrap();
    MultiGzDecoder::new(file).read_to_string(&mut exported).unwrap();
    assert!(exported.contains("pay of ada") && !exported.contains("argon2"), "{exported}");
}

#[test]
#[ignore = "needs chromium"]
fn a_new_browser_session_reads_a_page_behind_a_login_offline() {
    let _alone = heavy();
    let (daemon, mut origin) = (Daemon::start(), site("Basic realm=\"staff\"", &[ADA]));
    let host = origin.addr.to_string();
    let with = |login: &str| format!("http://{login}@{host}/page");
    let read = |url: &str| {
        let mut page = Chromium::start(Path::new(&browser()), &daemon);
        page.open(url);
        page.value("document.body.innerText").as_str().unwrap().to_owned()
    };
    assert_eq!(read(&with("ada:hunter2")), "pay of ada");
    part(&daemon, &mut origin);
    assert_eq!(read(&with("ada:hunter2")), "pay of ada");
}
