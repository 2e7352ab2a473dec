//! Invalid input in our own forms: the form is shown again, with the input and the reason.

use serde_json::Value;

use crate::harness::form::{Form, encode, form};
use crate::harness::{Answer, Daemon, Origin, Response};
use crate::index::index_pages::list;

/// The form for `action` on a page, with these fields filled in.
fn typed(daemon: &Daemon, path: &str, action: &str, fields: &[(&str, &str)]) -> Form {
    let page = daemon.page(path);
    assert_eq!(page.status, 200, "{}", page.text());
    let form = form(&page.text(), action);
    fields.iter().fold(form, |form, (name, value)| form.with(name, value))
}

/// Checks that the form is shown again with its input, and that exactly these fields are marked as
/// invalid.
#[track_caller]
fn is_marked(page: &Response, action: &str, fields: &[(&str, &str)]) {
    assert_eq!(page.status, 422, "{}", page.shown());
    let text = page.text();
    let again = form(&text, action);
    for (name, value) in fields {
        assert_eq!(again.value(name), Some(*value), "{name}: {text}");
        assert!(text.contains(&format!("aria-describedby=\"{name}-fault\"")), "{name}: {text}");
        assert!(text.contains(&format!("id=\"{name}-fault\"")), "{name}: {text}");
    }
    assert_eq!(text.matches("aria-invalid=\"true\"").count(), fields.len(), "{text}");
    assert!(text.contains("Nothing was done yet"), "{text}");
}

#[test]
fn an_invalid_fetch_form_is_shown_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let (url, action) = (origin.url("/p"), "/refresh-request/");
    let form_at = format!("/refresh-options/?{}", encode(&url));
    for path in [action, "/refresh-plan/"] {
        let send = |from: &str, fields: &[(&str, &str)]| {
            let mut form = typed(&daemon, from, action, fields);
            form.action = path.to_owned();
            daemon.submit(&form)
        };
        let page = send(&form_at, &[("depth", "abc"), ("method", "site"), ("images", "Y")]);
        is_marked(&page, action, &[("depth", "abc")]);
        let text = page.text();
        assert_eq!(form(&text, action).value("url"), Some(&*url), "{text}");
        assert!(text.contains("value=\"site\" selected"), "{text}");
        assert!(text.contains("id=\"images\" checked"), "{text}");
        is_marked(&send("/refresh-options/", &[]), action, &[("url", "")]);
        let both = [("url", "no address"), ("depth", "-1")];
        is_marked(&send("/refresh-options/", &both), action, &both);
        let nowhere = send(&form_at, &[("method", "nowhere")]);
        assert_eq!(nowhere.status, 422, "{}", nowhere.shown());
        assert!(nowhere.text().contains("id=\"method-fault\""), "{}", nowhere.text());
        // A field that does not exist in our forms.
        let odd = send(&form_at, &[("colour", "red")]);
        assert!(
            odd.status == 400 && odd.shown().contains("This cannot be done"),
            "{}",
            odd.shown()
        );
    }
    // The same for an address of 2.9, and for the link in the page bar.
    let page = daemon.page(&format!("/refresh-recurse/?url={};depth=x;scope=site", encode(&url)));
    is_marked(&page, action, &[("depth", "x")]);
    assert_eq!(form(&page.text(), action).value("url"), Some(&*url), "{}", page.text());
    is_marked(&daemon.page("/refresh/?no+address"), action, &[("url", "no address")]);
    assert!(daemon.queue().is_empty() && daemon.status()["mode"] == "offline");
    // After correction, the form works.
    let page = daemon.submit(&typed(&daemon, &form_at, action, &[("depth", "abc")]));
    let right = form(&page.text(), action).with("depth", "0");
    assert_eq!(daemon.submit(&right).status, 303);
    assert_eq!(daemon.queued(), [url]);
}

#[test]
fn an_invalid_monitor_form_is_shown_again() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let (from, action) = ("/monitor-options/", "/monitor-request/");
    let send = |fields: &[(&str, &str)]| daemon.submit(&typed(&daemon, from, action, fields));
    is_marked(&send(&[]), action, &[("url", "")]);
    let wrong = [("url", "no address"), ("hofd", "99"), ("versions", "many"), ("depth", "1001")];
    let page = send(&wrong);
    is_marked(&page, action, &wrong);
    // The corrected address stays in its input field.
    let url = ("url", "http://a.example/");
    let page = daemon.submit(&form(&page.text(), action).with(url.0, url.1).with("hofd", "6"));
    is_marked(&page, action, &wrong[2..]);
    assert_eq!(form(&page.text(), action).value("url"), Some(url.1));
    is_marked(&send(&[url, ("cron", "every day")]), action, &[("cron", "every day")]);
    is_marked(&send(&[url, ("dofm", "0")]), action, &[("dofm", "0")]);
    assert_eq!(daemon.api("GET", "/api/monitor", "").text(), "{\"monitor\":[]}");
    assert_eq!(send(&[url]).status, 303);
}

#[test]
fn an_action_without_a_selection_is_reported() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/p"));
    let text = daemon.page("/queue/").text();
    for action in ["/control/delete-multiple/req", "/control/queue/first"] {
        let page = daemon.submit(&form(&text, action).without("chosen"));
        assert_eq!(page.status, 422, "{}", page.shown());
        for want in ["Nothing was selected", "/queue/\"", "Back to the list", "Status 422"] {
            assert!(page.shown().contains(want), "{want}: {}", page.shown());
        }
    }
    assert_eq!(daemon.queued(), [origin.url("/p")]);
}

#[test]
fn a_page_without_its_url_asks_for_one() {
    let daemon = Daemon::start();
    for path in ["/info/", "/info/source", "/info/warc", "/history/", "/missing/"] {
        let page = daemon.page(path);
        assert_eq!(page.status, 200, "{path}: {}", page.shown());
        let asked = form(&page.text(), path);
        assert_eq!((asked.method.as_str(), asked.value("url")), ("GET", Some("")), "{path}");
        let wrong = daemon.page(&format!("{path}?url=http%3A%2F%2F%5B"));
        assert_eq!(wrong.status, 400, "{path}: {}", wrong.shown());
        assert_eq!(form(&wrong.text(), path).value("url"), Some("http://["), "{path}");
        assert!(wrong.text().contains("aria-describedby=\"url-fault\""), "{path}");
        let right =
            daemon.page(&format!("{path}?{}", asked.with("url", "http://a.example/").body()));
        assert!([200, 404].contains(&right.status), "{path}: {}", right.shown());
    }
    // If the path or an argument of our own page is invalid, the message says so.
    for path in ["/certificate", "/history/version/?url=http://a/&at=x"] {
        let page = daemon.page(path);
        let words = "This address of the proxy is invalid";
        assert!(page.status == 400 && page.shown().contains(words), "{path}: {}", page.shown());
    }
}

#[test]
fn a_form_sent_twice_does_no_harm() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/tea", Answer::html("<title>Tea</title>"));
    daemon.get(&origin.url("/tea"));
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/missing"));
    let twice = |form: &Form, status: u16| {
        let (first, second) = (daemon.submit(form), daemon.submit(form));
        assert!(first.status == 303 && second.status == status, "{form:?}: {second:?}");
    };
    // Each action is done once, and its second form shows a page of ours.
    let fetch =
        typed(&daemon, "/refresh-options/", "/refresh-request/", &[("url", &origin.url("/2"))]);
    twice(&fetch, 303);
    let monitor =
        typed(&daemon, "/monitor-options/", "/monitor-request/", &[("url", &origin.url("/tea"))]);
    twice(&monitor, 303);
    let monitored: Value =
        serde_json::from_str(&daemon.api("GET", "/api/monitor", "").text()).unwrap();
    assert_eq!(monitored["monitor"].as_array().unwrap().len(), 1);
    let queued = daemon.queued();
    assert_eq!(queued.iter().filter(|url| **url == origin.url("/2")).count(), 1, "{queued:?}");
    let collection =
        typed(&daemon, "/collections/edit", "/control/collections/save", &[("name", "Teas")]);
    twice(&collection, 303);
    assert_eq!(daemon.page("/collections/").text().matches(">Teas<").count(), 1);
    let list = list(&daemon, "/index/all", "/tea");
    let delete = form(&list, "/control/delete-multiple/url").and("url", &origin.url("/tea"));
    twice(&delete, 303);
    // A form that deletes nothing does not offer to undo another deletion.
    let other = form(&list, "/control/delete-multiple/url").and("url", &origin.url("/3"));
    for (form, offers) in [(&delete, true), (&other, false)] {
        let answer = daemon.submit(form);
        assert_eq!(answer.field("location").contains("removed="), offers, "{answer:?}");
    }
    twice(&form(&daemon.page("/control/delete/req-all").text(), "/control/delete/req-all"), 303);
    assert!(daemon.queue().is_empty());
    // The deletion of the first form can still be undone.
    let library = daemon.page("/index/").text();
    twice(&form(&library, "/control/undo"), 303);
    assert_eq!(daemon.get(&origin.url("/tea")).status, 200);
    let option =
        typed(&daemon, "/configuration/caching/keep-versions", "/keep-versions", &[("value", "7")]);
    // It says that the file was changed, and by which change.
    twice(&option, 409);
    assert_eq!(daemon.ok(&["config", "get", "caching.keep-versions"]).trim(), "7");
}
