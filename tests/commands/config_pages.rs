//! The pages `/configuration/…`: content, valid and invalid input, and in a browser.

use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::harness::client::Response;
use crate::harness::daemon::run;
use crate::harness::form::{Form, form, forms};
use crate::harness::{Chromium, Daemon, heavy};
use crate::site::browser::browser;

const TEXT: &str = "\
# mine
[options]
# as it was
connect-timeout = \"30s\" # enough

[offline-options]
noise = [
  \"*://noise.test/*\", # first
]
";

const TIMEOUT: &str = "/configuration/options/connect-timeout";
const NOISE: &str = "/configuration/offline-options/noise";
const CONTROL: &str = "only me";

fn read(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.home().join("wwwoffle.conf")).unwrap()
}

/// The form that performs `act`, taken from a page.
#[track_caller]
fn does(page: &Response, act: &str) -> Form {
    let text = page.text();
    let found = forms(&text).into_iter().find(|form| form.value("do") == Some(act));
    found.unwrap_or_else(|| panic!("no form does {act:?} in:\n{text}"))
}

/// Sends a form and returns the page to which it leads.
#[track_caller]
fn follow(daemon: &Daemon, form: &Form) -> Response {
    let answer = daemon.submit(form);
    assert_eq!(answer.status, 303, "{}", answer.text());
    daemon.page(answer.field("Location"))
}

#[track_caller]
fn says(page: &Response, texts: &[&str]) {
    let shown = page.shown();
    for text in texts {
        assert!(shown.contains(text), "{text:?} in:\n{shown}");
    }
}

#[test]
fn an_option_is_changed_broken_and_undone() {
    let daemon = Daemon::configured(TEXT);
    let page = daemon.page(TIMEOUT);
    says(&page, &["How long to wait for an origin", "line 4", "# as it was", "# enough"]);
    assert!(page.text().contains("value=\"30s\""), "{}", page.text());
    let set = does(&page, "set");
    let changed = follow(&daemon, &set.clone().with("value", "5s"));
    says(&changed, &["options.connect-timeout", "connect-timeout = \"5s\" # enough", "Undo"]);
    assert_eq!(read(&daemon), TEXT.replace("30s", "5s"));

    let broken = does(&daemon.page(TIMEOUT), "set").with("value", "<b>5 ages</b>");
    let refused = daemon.submit(&broken);
    assert_eq!(refused.status, 422);
    says(&refused, &["takes a time", "Nothing was changed"]);
    assert!(refused.text().contains("value=\"&lt;b&gt;5 ages&lt;/b&gt;\""), "{}", refused.text());
    assert_eq!(read(&daemon), TEXT.replace("30s", "5s"));
    let got = daemon.ok(&["config", "get", "options.connect-timeout"]);
    assert!(got.contains("5s"), "{got}");

    let undone = follow(&daemon, &form(&daemon.page("/configuration/changed").text(), "/undo"));
    says(&undone, &["options.connect-timeout"]);
    assert_eq!(read(&daemon), TEXT);
    let same = does(&daemon.page(TIMEOUT), "set").with("value", "30s");
    says(&follow(&daemon, &same), &["Nothing to change"]);
    follow(&daemon, &does(&daemon.page(TIMEOUT), "unset"));
    assert!(!read(&daemon).contains("connect-timeout"), "{}", read(&daemon));
}

#[test]
fn the_pages_add_and_remove_list_entries_and_rules() {
    let daemon = Daemon::configured(TEXT);
    let add = does(&daemon.page(NOISE), "add").with("value", "*://more.test/*");
    let first = add.clone().with("before", "1");
    follow(&daemon, &first);
    let want = TEXT.replace("noise = [\n", "noise = [\n  \"*://more.test/*\",\n");
    assert_eq!(read(&daemon), want);
    let empty = daemon.submit(&does(&daemon.page(NOISE), "add").with("value", " "));
    assert_eq!(empty.status, 422);
    says(&empty, &["expected an entry"]);
    let remove = does(&daemon.page(NOISE), "remove");
    assert_eq!(remove.value("value"), Some("\"*://more.test/*\""));
    follow(&daemon, &remove);
    assert_eq!(read(&daemon), TEXT);

    let path = "/configuration/offline-options/dont-request";
    let rule = |page: &Response| does(page, "add-rule").with("value", "true");
    let bad = daemon.submit(&rule(&daemon.page(path)).with("urls", "no pattern"));
    assert_eq!(bad.status, 422);
    says(&bad, &["is no URL-SPECIFICATION", "no pattern"]);
    let urls = "*://one.test/*\r\n!*://two.test/*\r\n";
    follow(&daemon, &rule(&daemon.page(path)).with("urls", urls));
    let text = read(&daemon);
    let want = "[[offline-options.for]]\nurl = [\"*://one.test/*\", \"!*://two.test/*\"]\ndont-request = true\n";
    assert!(text.ends_with(want), "{text}");
    says(
        &daemon.page("/configuration/offline-options"),
        &["*://one.test/*", "dont-request</a> = <code><bdi>true"],
    );
    let explained = daemon.page("/configuration/url?http%3A%2F%2Fone.test%2Fx");
    says(
        &explained,
        &[
            "offline-options.dont-request</a> = <code><bdi>true",
            "set by the rule <bdi>*://one.test/*",
        ],
    );
    let set =
        does(&daemon.page(path), "set-rule").with("value", "false").with("urls", "*://one.test/*");
    follow(&daemon, &set);
    assert!(read(&daemon).ends_with("url = [\"*://one.test/*\"]\ndont-request = false\n"));
    follow(&daemon, &does(&daemon.page(path), "unset-rule"));
    assert_eq!(read(&daemon), TEXT);
}

#[test]
fn a_preset_shows_its_changes_and_is_applied_and_undone_as_one() {
    let mut daemon = Daemon::configured(TEXT);
    let index = daemon.page("/configuration/");
    says(&index, &["This machine only", "My household", "A school", "A ship"]);
    // Nobody without the control password decides who can use the proxy.
    let household = daemon.page("/configuration/preset?household");
    let command = "wwwoffle config set startup.listen '[\"0.0.0.0:8080\"]'";
    says(&household, &["startup.listen", "share-without-password", command, "control password"]);
    assert!(!forms(&household.text()).iter().any(|form| form.action.contains("preset")));
    says(&daemon.page("/configuration/preset?ship"), &["First set a control password"]);
    // A form that was not offered is refused as well.
    for preset in ["household", "ship"] {
        let mut post = does(&daemon.page(TIMEOUT), "set").with("preset", preset);
        post.action = post.action.replace(TIMEOUT, "/configuration/preset");
        let refused = daemon.submit(&post);
        assert_ne!(refused.status, 303, "{preset}: {}", refused.text());
        assert_eq!(read(&daemon), TEXT, "{preset}");
    }
    let machine = daemon.page("/configuration/preset?machine");
    says(&machine, &["Nothing would change"]);
    for unknown in ["", "?", "?%3Cscript%3E"] {
        assert_eq!(
            daemon.page(&format!("/configuration/preset{unknown}")).status,
            303,
            "{unknown}"
        );
    }

    daemon.set_password(CONTROL);
    let before = read(&daemon);
    let ship = daemon.page("/configuration/preset?ship");
    says(&ship, &["data-saver.no-media", "<b><code><bdi>true", "needs a restart"]);
    let apply = form(&ship.text(), "/configuration/preset");
    let changed = follow(&daemon, &apply);
    says(&changed, &["data-saver.no-media", "Restart wwwoffle", "Undo this change"]);
    let text = read(&daemon);
    assert!(text.contains("# enough") && text.contains("listen = [\"0.0.0.0:8080\"]"), "{text}");
    let stale = daemon.submit(&apply);
    assert_eq!(stale.status, 409);
    follow(&daemon, &form(&daemon.page("/configuration/changed").text(), "/undo"));
    assert_eq!(read(&daemon), before);
    for (field, value) in [("preset", "nothing"), ("stamp", "x")] {
        assert_eq!(daemon.submit(&apply.clone().with(field, value)).status, 400, "{field}");
    }
}

#[test]
fn a_preset_does_not_change_options_of_included_files() {
    let place = Daemon::prepare(None);
    let net = place.home().join("net.toml");
    fs::write(&net, "share-without-password = true\n").unwrap();
    let text = format!("{TEXT}\n[startup]\ninclude = {:?}\n", net.display().to_string());
    let daemon = Daemon::configured(&text);
    let page = daemon.page("/configuration/preset?machine");
    says(&page, &["startup.share-without-password", "net.toml", "cannot change these options"]);
    assert!(!page.shown().contains("Nothing would change"), "{}", page.shown());
    let mut post = does(&daemon.page(TIMEOUT), "set").with("preset", "machine");
    post.action = post.action.replace(TIMEOUT, "/configuration/preset");
    says(&daemon.submit(&post), &["cannot change these options"]);
    assert_eq!(read(&daemon), text);
}

#[test]
fn a_form_does_not_overwrite_a_change_by_an_editor() {
    let daemon = Daemon::configured(TEXT);
    let set = does(&daemon.page(TIMEOUT), "set").with("value", "5s");
    let saved = TEXT.replace("# mine", "# mine, by an editor");
    fs::write(daemon.home().join("wwwoffle.conf"), &saved).unwrap();
    let refused = daemon.submit(&set);
    assert_eq!(refused.status, 409);
    says(
        &refused,
        &[
            "was changed in the meantime",
            "# mine, by an editor",
            "connect-timeout = \"5s\" # enough",
        ],
    );
    assert_eq!(read(&daemon), saved);
    let again = form(&refused.text(), TIMEOUT);
    follow(&daemon, &again);
    assert_eq!(read(&daemon), saved.replace("30s", "5s"));
}

#[test]
fn a_faulty_file_is_reported_and_a_version_is_restored() {
    let daemon = Daemon::configured(TEXT);
    follow(&daemon, &does(&daemon.page(TIMEOUT), "set").with("value", "5s"));
    fs::write(daemon.home().join("wwwoffle.conf"), "[options]\nconnect-timeout = '<script>'\n")
        .unwrap();
    let index = daemon.page("/configuration/");
    says(&index, &["has errors, so the previous one is in use", "wwwoffle.conf:2"]);
    assert!(!index.text().contains("<script>"), "{}", index.text());
    let reload = daemon.submit(&form(&index.text(), "/reload"));
    assert_eq!(reload.status, 422);
    says(&daemon.page(TIMEOUT), &["Active", "5s"]);
    follow(&daemon, &form(&index.text(), "/undo"));
    assert_eq!(read(&daemon), TEXT);
    says(&daemon.page("/configuration/"), &["in use", "startup"]);
    assert_eq!(daemon.submit(&form(&index.text(), "/reload")).status, 303);
}

#[test]
fn a_specification_is_built_in_a_form() {
    let daemon = Daemon::configured(TEXT);
    let page = daemon.page("/configuration/editurl?http%3A%2F%2Fwww.one.test%2Fa%2Fb.gif");
    says(&page, &["*.one.test", "/a/*", "/*.gif"]);
    let made = forms(&page.text()).into_iter().find(|form| form.method == "POST").unwrap();
    let made = made.with("host", "*.one.test").with("path", "/a/*");
    let answer = daemon.submit(&made);
    assert_eq!(
        (answer.status, answer.field("Location")),
        (303, "/configuration/url?*://*.one.test/a/*")
    );
    says(&daemon.page(answer.field("Location")), &["This is a URL-SPECIFICATION", "create a rule"]);
    let wrong = daemon.submit(&made.with("host_other", "a b"));
    assert_eq!(wrong.status, 422);
    assert_eq!(daemon.page("/configuration/nothing").status, 404);
    assert_eq!(daemon.page("/configuration/url?http%3A%2F%2Fa%3A99999%2F").status, 400);
}

/// The POST forms of several configuration pages.
fn changing(daemon: &Daemon) -> Vec<Form> {
    let mut all = forms(&daemon.page(TIMEOUT).text());
    all.extend(forms(&daemon.page(NOISE).text()));
    all.extend(forms(&daemon.page("/configuration/").text()));
    all.extend(forms(&daemon.page("/configuration/offline-options/dont-request").text()));
    all.extend(forms(&daemon.page("/configuration/changed").text()));
    all.extend(forms(&daemon.page("/configuration/editurl").text()));
    all.retain(|form| form.method == "POST");
    assert!(all.len() > 8, "{all:?}");
    all
}

#[test]
#[ignore = "slow"]
fn every_page_that_changes_settings_needs_the_control_password() {
    let place = Daemon::prepare(None);
    let mut passwd = place.bare_command();
    passwd.arg("passwd");
    let line = run(passwd, Some(format!("{CONTROL}\n").as_bytes())).out;
    let daemon = Daemon::configured(&format!("{TEXT}\n[startup]\n{line}"));
    daemon.ok(&["config", "set", "options.head-timeout", "9s"]);
    let text = read(&daemon);
    let login = BASE64_STANDARD.encode(format!("whoever:{CONTROL}"));
    let login = format!("Authorization: Basic {login}\r\n");
    for form in changing(&daemon) {
        for (fields, status) in [
            (String::new(), 401),
            (format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode("a:b")), 401),
            (format!("{login}Origin: http://evil.test\r\n"), 403),
            (format!("{login}Sec-Fetch-Site: cross-site\r\n"), 403),
            (format!("{login}Origin: null\r\n"), 403),
        ] {
            let refused = daemon.submit_as(&form, &fields);
            assert_eq!(refused.status, status, "{form:?} {fields}: {}", refused.text());
        }
        let no_token = daemon.submit_as(&form.clone().without("token"), &login);
        assert_eq!(no_token.status, 403, "{form:?}");
        let body = form.body();
        let path = form.action.split_once("//").unwrap().1.split_once('/').unwrap().1;
        // A POST that names another host for this address, and then a GET. Neither changes
        // anything.
        let mut client = daemon.client();
        client.send(format!(
            "POST /{path} HTTP/1.1\r\nHost: evil.test:{}\r\n{login}Content-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            daemon.addr().port(),
            body.len()
        ));
        let foreign = client.receive("POST").whole();
        assert!(foreign.status >= 400, "{form:?}: {}", foreign.status);
        daemon.page(&format!("/{path}?{body}"));
        assert_eq!(read(&daemon), text, "{form:?}");
    }
    let set = does(&daemon.page(TIMEOUT), "set").with("value", "5s");
    assert_eq!(daemon.submit_as(&set, &login).status, 303);
    assert!(read(&daemon).contains("connect-timeout = \"5s\""));
}

#[test]
fn a_password_is_on_no_page() {
    let secret = "hunter2";
    let text = format!(
        "{TEXT}\n[proxy]\nauth-password = \"{secret}\"\n\n[[proxy.for]]\nurl = \"*://*/*\"\nauth-password = \"{secret}\"\n"
    );
    let mut daemon = Daemon::configured(&text);
    daemon.set_password("only me");
    let path = "/configuration/proxy/auth-password";
    let set = does(&daemon.page(path), "set").with("value", "hunter2-and-more");
    let rule = does(&daemon.page(path), "set-rule").with("urls", "*://a.test/*");
    let mut pages = vec![follow(&daemon, &set)];
    // The form was loaded before the last change, so it is refused.
    pages.push(daemon.submit(&rule));
    assert_eq!(pages[1].status, 409);
    // If no new password is given, the old one stays.
    let rule = does(&daemon.page(path), "set-rule").with("urls", "*://a.test/*");
    pages.push(follow(&daemon, &rule));
    let text = read(&daemon);
    assert!(text.contains("url = [\"*://a.test/*\"]\nauth-password = \"hunter2\""), "{text}");
    let wrong = does(&daemon.page(path), "set").with("value", "hunter2\u{7}");
    pages.push(daemon.submit(&wrong));
    for path in ["", "proxy", "proxy/auth-password", "changed", "url?http%3A%2F%2Fa.test%2F"] {
        pages.push(daemon.page(&format!("/configuration/{path}")));
    }
    fs::write(daemon.home().join("wwwoffle.conf"), "[proxy]\nauth-password = \"hunter2\n").unwrap();
    pages.push(daemon.page("/configuration/"));
    pages.push(daemon.submit(&set));
    for page in pages {
        assert!(!page.text().contains(secret), "{}", page.text());
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_browser_changes_breaks_and_undoes_an_option() {
    let program = browser();
    let _alone = heavy();
    let daemon = Daemon::configured(TEXT);
    let mut browser = Chromium::start(&program, &daemon);
    let field = "document.getElementById('value')";
    let save = "document.querySelector('button.main')";
    browser.open(&daemon.own(TIMEOUT));
    browser.value(&format!("{field}.value = '5s'"));
    let changed = browser.press(save, "Configuration changed");
    assert!(changed.contains("connect-timeout = \"5s\""), "{changed}");
    assert_eq!(read(&daemon), TEXT.replace("30s", "5s"));

    browser.open(&daemon.own(TIMEOUT));
    browser.value(&format!("{field}.value = '5 ages'"));
    let refused = browser.press(save, "options.connect-timeout");
    assert!(
        refused.contains("takes a time") && refused.contains("Nothing was changed"),
        "{refused}"
    );
    assert_eq!(browser.value(&format!("{field}.value")), "5 ages");
    assert_eq!(read(&daemon), TEXT.replace("30s", "5s"));

    browser.open(&daemon.own("/configuration/changed"));
    browser.press("document.querySelector('main button')", "Configuration changed");
    assert_eq!(read(&daemon), TEXT);
    // All fields have labels for screen readers, and no page is wider than the screen of a phone.
    for path in
        ["", "options", "options/log-level", "offline-options/noise", "editurl?http://a.test/x"]
    {
        browser.open(&daemon.own(&format!("/configuration/{path}")));
        let unlabelled = "[...document.querySelectorAll('input, select, textarea')].filter(e => \
            e.type != 'hidden' && !e.labels.length && !e.ariaLabel).length";
        assert_eq!(browser.value(unlabelled), 0, "{path}");
    }
}

#[test]
fn options_are_found_while_a_person_types() {
    let daemon = Daemon::start();
    // Our script adds an argument.
    for arguments in ["find=interfaces", "find=interfaces&live=link", "live=link&find=interfaces"] {
        let page = daemon.page(&format!("/configuration/?{arguments}")).shown();
        assert!(page.contains("/configuration/link/metered-interfaces\""), "{arguments}: {page}");
        assert!(!page.contains("No option matches"), "{arguments}: {page}");
    }
    let none = daemon.page("/configuration/?find=zzzz&live=link").shown();
    assert!(none.contains("No option matches these words."), "{none}");
}
