//! Pages that are monitored on a schedule: set by form, API and command line, and queued by the
//! daemon.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use wwwoffle_spool::{Options, Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::form::{form, forms};
use crate::harness::{Answer, Daemon, Origin, eventually};

pub(crate) fn monitored(daemon: &Daemon) -> Vec<Value> {
    let answer = daemon.api("GET", "/api/monitor", "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let value: Value = serde_json::from_slice(&answer.body).expect("the list is JSON");
    value["monitor"].as_array().expect("a list").clone()
}

/// Sets the dates of all monitors to the year 2000. The daemon must be stopped.
pub(crate) fn age(daemon: &Daemon) {
    let (spool, _) = Spool::open(daemon.spool(), &Options::default()).unwrap();
    for one in spool.monitors().list() {
        let mut monitor = spool.monitors().get(&one.place.key()).unwrap().unwrap();
        let then = "2000-01-01T12:00:00Z".parse::<Timestamp>().unwrap();
        monitor.request.summary.queued = then;
        monitor.last_run = monitor.last_run.map(|_| then);
        spool.monitors().set(&monitor).unwrap();
    }
}

#[test]
#[ignore = "slow"]
fn a_missed_monitor_time_is_fetched_once_online() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/news");
    origin.say("/news", Answer::html("old news"));
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    let said = daemon.ok(&["monitor", "add", "--daily", "--at", "6:30", &url]);
    assert!(said.starts_with("30 6 * * *") && said.contains("last -"), "{said}");
    daemon.down();
    age(&daemon);
    daemon.up();
    let item = &monitored(&daemon)[0];
    assert_eq!((&item["last"], &item["schedule"]), (&Value::Null, &json!("30 6 * * *")));
    let next: Timestamp = item["next"].as_str().unwrap().parse().unwrap();
    assert!(next < Timestamp::now(), "it is due since {next}");
    assert_eq!((daemon.queue().len(), origin.count("/news")), (0, 1), "not while offline");

    origin.say("/news", Answer::html("new news"));
    daemon.ok(&["online"]);
    eventually("it was fetched", || origin.count("/news") == 2);
    daemon.settle();
    eventually("the fetch is recorded", || !monitored(&daemon)[0]["last"].is_null());
    let next: Timestamp = monitored(&daemon)[0]["next"].as_str().unwrap().parse().unwrap();
    assert!(next > Timestamp::now(), "the next time is in the future: {next}");
    // Neither a change of the mode nor a restart makes the page due again.
    daemon.ok(&["offline"]);
    daemon.ok(&["online"]);
    daemon.restart();
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(origin.count("/news"), 2);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "new news");
}

#[test]
fn a_page_is_monitored_once_in_each_session() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/news", Answer::html("news"));
    let url = origin.url("/news");
    let fetched = |daemon: &Daemon, times| {
        eventually("it is fetched", || origin.count("/news") == times);
        daemon.settle();
    };
    let said = daemon.ok(&["monitor", "add", "--each-session", &url]);
    assert!(said.starts_with("@online "), "{said}");
    fetched(&daemon, 1);
    // Neither a change between two modes with connections nor a restart begins a session.
    daemon.ok(&["autodial"]);
    daemon.restart();
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!((origin.count("/news"), &monitored(&daemon)[0]["next"]), (1, &Value::Null));
    for times in 2..=3 {
        daemon.ok(&["offline"]);
        daemon.ok(&["online"]);
        fetched(&daemon, times);
    }
    let page = daemon.page("/monitor/").shown();
    assert!(page.contains("each time the proxy goes online (<code>@online</code>)"), "{page}");
    let options = daemon.page(&format!("/monitor-options/?{url}")).text();
    assert!(options.contains("<option value=\"online\" selected="), "{options}");
    let form = form(&options, "/monitor-request/");
    assert_eq!(form.value("cron"), Some(""));
    assert_eq!(daemon.submit(&form.with("every", "online")).status, 303);
    assert_eq!(monitored(&daemon)[0]["schedule"], "@online");
    let cron = daemon.run(&["monitor", "add", "--each-session", "--at", "6:30", &url]);
    assert_eq!(cron.status, 2, "{cron:?}");
}

#[test]
fn a_due_monitored_page_survives_a_kill() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html");
    daemon.ok(&["monitor", "add", "--cron", "0 0 1 * *", &url]);
    daemon.kill9();
    age(&daemon);
    daemon.up();
    assert_eq!(monitored(&daemon).len(), 1);
    daemon.ok(&["online"]);
    eventually("it was fetched", || origin.count("/page/1.html") > 0);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).status, 200);
}

#[test]
fn the_form_of_2_9_sets_changes_and_stops() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html?a=b&c=d");
    let page = daemon.page(&format!("/monitor-options/?{}", crate::harness::form::encode(&url)));
    assert_eq!(page.status, 200);
    let asked = form(&page.text(), "/monitor-request/");
    assert_eq!((asked.method.as_str(), asked.value("url")), ("POST", Some(url.as_str())));
    let names = ["mofy1", "mofy12", "dofm", "dofw0", "dofw6", "hofd"];
    assert!(names.iter().all(|name| asked.value(name).is_some()), "{asked:?}");

    // The form works only with the token of one of our pages.
    let refused = daemon.submit(&asked.clone().without("token"));
    assert_eq!((refused.status, monitored(&daemon).len()), (403, 0));
    let got = daemon.page(&format!("/monitor-request/?{}", asked.body()));
    assert_eq!((got.status, monitored(&daemon).len()), (200, 0), "a link shows the form again");
    let refused = daemon.submit(&asked.clone().with("hofd", "24"));
    assert_eq!((refused.status, monitored(&daemon).len()), (422, 0));
    assert!(refused.text().contains("hours from 0 to 23"), "{}", refused.text());

    let done = daemon.submit(&asked.with("hofd", "6,18").with("dofm", "20-"));
    assert_eq!((done.status, done.field("Location")), (303, "/monitor/"));
    let item = &monitored(&daemon)[0];
    assert_eq!((&item["schedule"], &item["url"]), (&json!("0 6,18 20-31 * *"), &json!(url)));
    let again = form(&daemon.page(&format!("/monitor-options/?{url}")).text(), "/monitor-request/");
    assert_eq!((again.value("hofd"), again.value("dofm")), (Some("6,18"), Some("20-31")));
    let done = daemon.submit(&again.with("cron", "30 6 * * 1-5").with("versions", "5"));
    assert_eq!((done.status, monitored(&daemon).len()), (303, 1));
    let list = daemon.page("/monitor/");
    let shown = list.shown();
    for want in ["Mon to Fri at 6:30", "30 6 * * 1-5", "keeps 5 older versions"] {
        assert!(shown.contains(want), "{want}: {shown}");
    }
    assert!(!shown.contains("/monitor/diff/"), "nothing has changed: {shown}");
    let stop =
        forms(&list.text()).into_iter().find(|it| it.action.ends_with("/control/delete/mon"));
    let stop = stop.expect("a button to stop");
    assert_eq!(daemon.submit(&stop.clone().without("token")).status, 403);
    assert_eq!((daemon.submit(&stop).status, monitored(&daemon).len()), (303, 0));
    assert_eq!(daemon.page("/index/monitor").field("Location"), "/monitor/");
}

#[test]
fn the_command_line_and_the_api_agree() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let (one, other) = ("http://a.example/", "http://b.example/x");
    daemon.ok(&[
        "monitor",
        "add",
        "--weekly",
        "--weekdays",
        "mon-fri",
        "--versions",
        "3",
        one,
        other,
    ]);
    let list = daemon.run(&["monitor", "list", "--json"]).json();
    assert_eq!(list["monitor"], Value::from(monitored(&daemon)));
    let item = &list["monitor"][1];
    assert_eq!(
        (&item["url"], &item["schedule"], &item["versions"]),
        (&json!(other), &json!("0 0 * * 1-5"), &json!(3))
    );
    let text = daemon.ok(&["monitor", "list"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    let body = json!({"urls": [one], "schedule": "@hourly"}).to_string();
    let set = daemon.api("POST", "/api/monitor", &body);
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(monitored(&daemon)[0]["schedule"], "0 * * * *");
    for (body, part) in [
        (json!({"urls": [one, "http://[/"], "schedule": "@daily"}), "http://["),
        (json!({"urls": [one], "schedule": "0 0 30 2 *"}), "it never occurs"),
    ] {
        let refused = daemon.api("POST", "/api/monitor", &body.to_string());
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains(part), "{}", refused.text());
    }
    assert_eq!(monitored(&daemon)[0]["schedule"], "0 * * * *", "a part was changed");
    let ran = daemon.run(&["monitor", "rm", "http://A.example:80", "http://c.example/"]);
    assert_eq!((ran.status, monitored(&daemon).len()), (1, 1), "{ran:?}");
    assert!(ran.err.contains("not monitored: http://c.example/"), "{ran:?}");
    daemon.ok(&["monitor", "rm", "--all"]);
    assert!(monitored(&daemon).is_empty());
    assert_eq!(daemon.run(&["monitor", "add", "--cron", "x", one]).status, 2);
}

#[test]
fn the_sub_resources_of_a_monitored_page_can_be_chosen() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    for path in ["/one", "/other"] {
        let parts = format!("<link rel=stylesheet href={path}.css><img src={path}.png>");
        origin.say(path, Answer::html(parts));
    }
    daemon.ok(&["monitor", "add", "--daily", "--without", "images,icons", &origin.url("/one")]);
    let body = json!({
        "urls": [origin.url("/other")],
        "schedule": "@daily",
        "parts": {"stylesheets": false},
    });
    assert_eq!(daemon.api("POST", "/api/monitor", &body.to_string()).status, 200);
    let unknown = json!({"urls": [origin.url("/")], "schedule": "@daily", "parts": {"x": true}});
    assert_eq!(daemon.api("POST", "/api/monitor", &unknown.to_string()).status, 400);
    daemon.down();
    age(&daemon);
    daemon.up();
    daemon.ok(&["online"]);
    eventually("both are fetched", || {
        daemon.queue().is_empty() && origin.count("/one") == 1 && origin.count("/other") == 1
    });
    let parts = ["/one.css", "/one.png", "/other.css", "/other.png"];
    assert_eq!(parts.map(|path| origin.count(path)), [1, 0, 0, 1]);
}

#[test]
fn a_damaged_monitor_file_is_reported_and_moved_away() {
    let mut daemon = Daemon::start();
    daemon.ok(&["offline"]);
    daemon.ok(&["monitor", "add", "http://a.example/"]);
    daemon.down();
    let url = CanonicalUrl::parse("http://a.example/", &LocalHost::default()).unwrap();
    let path = daemon.spool().join(format!("monitor/{}.warc", Place::of(&url).key()));
    let status = Command::new("truncate").arg("-s-1").arg(&path).status().unwrap();
    assert!(status.success());
    daemon.up();
    assert!(monitored(&daemon).is_empty());
    daemon.tells("set aside");
    assert!(!path.exists());
}

/// Makes the daemon fetch a page again, even if it is not due.
fn again(daemon: &Daemon, url: &str) {
    daemon.ok(&["get", "--refresh", url]);
    daemon.settle();
    daemon.ok(&["status"]);
}

#[test]
#[ignore = "slow"]
fn a_changed_page_is_reported_to_pages_the_api_and_feeds() {
    let daemon = Daemon::configured("[caching]\nkeep-versions = 1\n");
    let origin = Origin::start();
    let (url, other) = (origin.url("/news?a=b&c"), origin.url("/other"));
    daemon.ok(&["monitor", "add", "--monthly", "--versions", "3", &url]);
    for number in 1..6 {
        let title = "<title>News &amp; &lt;b&gt;</title><script>x()</script>";
        let page = format!("{title}<p>one<p>number {number}<p>three");
        origin.say("/news?a=b&c", Answer::html(page));
        origin.say("/other", Answer::html(format!("<p>other {number}")));
        again(&daemon, &url);
        again(&daemon, &other);
    }
    let told = daemon.run(&["monitor", "diff", "--json", &url]).json();
    let versions = told["versions"].as_array().unwrap();
    assert_eq!((versions.len(), &told["added"], &told["removed"]), (4, &json!(1), &json!(1)));
    assert_eq!(told["diff"], "  one\n- number 4\n+ number 5\n  three\n");
    assert_eq!(told["title"], "News & <b>");
    let (oldest, second) = (versions[3].as_str().unwrap(), versions[2].as_str().unwrap());
    let text = daemon.ok(&["monitor", "diff", "--from", oldest, "--to", second, &url]);
    assert!(text.contains("- number 2\n+ number 3\n"), "{text}");
    let others = daemon.run(&["monitor", "diff", "--json", &other]).json();
    assert_eq!(others["versions"].as_array().unwrap().len(), 2, "only by keep-versions");

    assert!(daemon.page("/monitor/").shown().contains("/monitor/diff/"), "the list leads to it");
    let page = daemon.page(&format!("/monitor/diff/?{}", crate::harness::form::encode(&url)));
    let shown = page.shown();
    assert!(
        page.status == 200 && shown.contains("number 4") && shown.contains("number 5"),
        "{shown}"
    );
    assert!(!page.text().contains("<b>three") && !shown.contains("x()"), "{shown}");
    let feed = daemon.page("/monitor/feed");
    assert_eq!(feed.status, 200);
    assert!(feed.field("Content-Type").starts_with("application/atom+xml"), "{:?}", feed.fields);
    let text = feed.text();
    assert_eq!(text.matches("<entry>").count(), 3, "a page that is not monitored is in it: {text}");
    assert!(text.contains("<title>News &amp; &lt;b&gt;</title>"), "{text}");
    assert_eq!(daemon.page("/monitor/feed").text(), text, "it stays the same until a change");
    // The links of the page lead to the differences.
    let link = text.split("href=\"").nth(2).unwrap().split('"').next().unwrap();
    let link = crate::harness::form::unescape(link);
    let path = link.split_once("/monitor/").unwrap().1;
    let page = daemon.page(&format!("/monitor/{path}"));
    assert!(page.shown().contains("number 4"), "{}", page.shown());

    for (path, status) in [
        ("/monitor/diff/", 400),
        ("/monitor/diff/?http://nobody.example/", 404),
        ("/monitor/diff/?url=http://a/&from=yesterday", 400),
    ] {
        assert_eq!(daemon.page(path).status, status, "{path}");
    }
    let missing = daemon.run(&["monitor", "diff", "http://nobody.example/"]);
    assert!(missing.status == 1 && missing.err.contains("it is not stored"), "{missing:?}");
    daemon.ok(&["rm", &url]);
    assert_eq!(daemon.run(&["monitor", "diff", &url]).status, 1);
    assert!(!daemon.page("/monitor/feed").text().contains("<entry>"));
}

#[test]
fn links_of_a_monitored_page_are_followed() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    origin.say("/start/", Answer::html("<a href=a.html>a</a> <a href=/elsewhere>b</a>"));
    origin.say("/start/a.html", Answer::html("<p>a"));
    let url = origin.url("/start/");
    daemon.ok(&["monitor", "add", "--depth", "1", "--within", "directory", &url]);
    daemon.down();
    age(&daemon);
    daemon.up();
    daemon.ok(&["online"]);
    eventually("both were fetched", || {
        origin.count("/start/") > 0 && origin.count("/start/a.html") > 0
    });
    daemon.settle();
    assert_eq!(origin.count("/elsewhere"), 0);
}

#[test]
fn links_are_followed_with_the_login_of_the_page() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    for (path, body) in [("/", "<a href=/a>a</a>"), ("/a", "a")] {
        let answer = Answer::html(body).field("Cache-Control", "private");
        origin.on(path, move |exchange| {
            // The login `ada:secret` in Base64.
            let is_ada =
                exchange.seen.fields.get("Authorization") == Some("Basic YWRhOnNlY3JldA==");
            let refusal = Answer::html("who?").with_status(401);
            exchange.answer(if is_ada { &answer } else { &refusal })
        });
    }
    daemon.ok(&["offline"]);
    let url = origin.url("/").replacen("http://", "http://ada:secret@", 1);
    daemon.ok(&["monitor", "add", "--depth", "1", "--daily", &url]);
    daemon.down();
    age(&daemon);
    daemon.up();
    daemon.ok(&["online"]);
    eventually("the target of the redirect was fetched", || origin.count("/a") == 1);
    daemon.settle();
    let run = daemon.run(&["runs", "--json"]).json()["runs"][0].clone();
    assert_eq!(run["report"]["counts"]["fetched"], 2, "{run}");
    assert!(!run.to_string().contains("secret"), "{run}");
}

#[test]
fn the_form_shows_how_far_links_are_followed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/news");
    let wish = json!({"urls": [url], "schedule": "0 6 * * *", "depth": 3, "within": "site"});
    let set = daemon.api("POST", "/api/monitor", &wish.to_string());
    assert_eq!(set.status, 200, "{}", set.text());
    let text = daemon.page(&format!("/monitor-options/?{url}")).text();
    assert_eq!(form(&text, "/monitor-request/").value("depth"), Some("3"), "{text}");
    assert!(text.contains("value=\"site\" selected"), "{text}");
}

/// The text of the mails in a file, each as its header fields and its decoded body.
fn mails(file: &std::path::Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mails = text.split("MAIL -t\n").skip(1).filter_map(|mail| mail.split_once("\n\n"));
    let decode = |(head, body): (&str, &str)| {
        let body = BASE64_STANDARD.decode(body.replace('\n', "")).unwrap();
        (head.to_owned(), String::from_utf8(body).unwrap())
    };
    mails.map(decode).collect()
}

/// A daemon whose mails a program appends to the file `mails`. The program fails while the file
/// `broken` exists.
fn mailing() -> Daemon {
    let mut daemon = Daemon::prepare(Some(""));
    let (program, home) = (daemon.home().join("sendmail"), daemon.home().display().to_string());
    let lines = format!(
        "#!/bin/sh\ntest -e {home}/broken && exit 75\nmail=\"$(echo MAIL $*; cat)\"\n\
         echo \"$mail\" >> {home}/mails\n"
    );
    std::fs::write(&program, lines).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[options]\nrun-mail = \"{}\"\n", program.display());
    std::fs::write(daemon.config_file(), config).unwrap();
    daemon.up();
    daemon
}

#[test]
fn changes_of_the_chosen_part_are_mailed_once() {
    let (daemon, origin) = (mailing(), Origin::start());
    let (url, out) = (origin.url("/shop"), daemon.home().join("mails"));
    let say = |price: &str, other: &str| {
        let page = format!("<title>Shöp</title><ul><li>{other}</ul><p id=price>costs {price}</p>");
        origin.say("/shop", Answer::html(page).field("Cache-Control", "max-age=0"));
        again(&daemon, &url);
        daemon.settle();
    };
    say("5 euros", "sunny");
    let said = daemon.ok(&[
        "monitor",
        "add",
        "--select",
        "#price",
        "--words",
        "COSTS",
        "--mail",
        "ada@example.org",
        &url,
    ]);
    assert!(said.contains("[#price \"COSTS\" → ada@example.org]"), "{said}");
    assert_eq!(monitored(&daemon)[0]["versions"], 1, "a version is kept to compare with");
    // Another part of the page changes.
    say("5 euros", "rainy");
    say("6 euros", "rainy");
    eventually("the change is mailed", || mails(&out).len() == 1);
    let (head, body) = &mails(&out)[0];
    assert!(head.starts_with("To: ada@example.org\nSubject: =?utf-8?B?"), "{head}");
    assert!(head.contains("\nAuto-Submitted: auto-generated\n"), "{head}");
    assert!(body.contains("- costs 5 euros\n") && body.contains("+ costs 6 euros\n"), "{body}");
    assert!(body.contains("Shöp\n") && body.contains(&url), "{body}");
    assert!(!body.contains("rainy"), "{body}");
    // The feed lists only the change of the part.
    let feed = daemon.page("/monitor/feed").text();
    assert_eq!(feed.matches("<entry>").count(), 1, "{feed}");
    // A mail that cannot be sent is sent after the next fetch.
    std::fs::write(daemon.home().join("broken"), "").unwrap();
    say("7 euros", "rainy");
    eventually("the failure is logged", || daemon.log().contains("a program failed"));
    std::fs::remove_file(daemon.home().join("broken")).unwrap();
    say("7 euros", "rainy");
    eventually("it is mailed later", || mails(&out).len() == 2);
    let (_, body) = &mails(&out)[1];
    assert!(body.contains("- costs 6 euros\n") && body.contains("+ costs 7 euros\n"), "{body}");
    // What was reported is not reported again.
    say("7 euros", "rainy");
    say("8 euros", "rainy");
    eventually("the next change is mailed", || mails(&out).len() >= 3);
    assert_eq!(mails(&out).len(), 3);
}

#[test]
fn the_form_sets_what_is_reported() {
    let (daemon, origin) = (mailing(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/shop");
    let page = daemon.page(&format!("/monitor-options/?{}", crate::harness::form::encode(&url)));
    let asked = form(&page.text(), "/monitor-request/");
    for (field, wrong) in [("select", "div["), ("mail", "ada@example.org\nBcc: x"), ("mail", "|x")]
    {
        let refused = daemon.submit(&asked.clone().with(field, wrong));
        assert_eq!((refused.status, monitored(&daemon).len()), (422, 0), "{field}: {wrong}");
    }
    let done = daemon.submit(&asked.with("select", "h1, .price").with("mail", "ada"));
    assert_eq!(done.status, 303);
    let report = &monitored(&daemon)[0]["report"];
    assert_eq!(report, &json!({"select": "h1, .price", "mail": "ada"}));
    let shown = daemon.page("/monitor/").shown();
    assert!(shown.contains("h1, .price → ada"), "{shown}");
    let again = form(&daemon.page(&format!("/monitor-options/?{url}")).text(), "/monitor-request/");
    assert_eq!((again.value("select"), again.value("mail")), (Some("h1, .price"), Some("ada")));
    // The settings survive a fetch, which rewrites the file, and only the administrator may choose
    // the program.
    let told = daemon.run(&["monitor", "add", "--select", "a[", &url]);
    assert!(told.status != 0 && told.err.contains("CSS selector"), "{told:?}");
}
