//! The questions and messages on the pages of the queue, before a request is removed or changed.

use serde_json::Value;

use crate::harness::form::{Form, form, forms, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::security::owners;

/// Sends a form offline, and confirms it.
fn send_later(daemon: &Daemon, origin: &Origin) {
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\nwhat=tea",
        origin.url("/order"),
        origin.addr,
    ));
    let asks = client.receive("POST").whole().text();
    let fields = origin.sends();
    assert!(daemon.submit_as(&form(&asks, "/refresh-request"), &fields).status < 400);
}

#[test]
fn deleting_all_requests_is_confirmed_with_their_list() {
    let (daemon, origin) = (Daemon::configured("[fetch-options]\nattempts = 1\n"), Origin::start());
    let ask = "/control/delete/req-all";
    let nothing = daemon.page(ask);
    assert_eq!((nothing.status, nothing.field("Location")), (303, "/queue/"));
    origin.say("/oops", Answer::new(500, "text/html", "oops"));
    daemon.run(&["get", &origin.url("/oops")]);
    eventually("one has failed", || {
        daemon.queue().first().is_some_and(|item| item["state"] == "failed")
    });
    daemon.ok(&["offline"]);
    for number in 1..=3 {
        daemon.browse(&origin.url(&format!("/page/{number}.html")));
    }
    send_later(&daemon, &origin);

    let queue = daemon.page("/queue/").whole().text();
    assert!(unescape(&queue).contains("/control/delete/req-all\">Delete all</a>"), "{queue}");
    assert!(!forms(&queue).iter().any(|form| form.action.ends_with(ask)), "no button is shown");
    let asks = daemon.page(ask).whole();
    let told = asks.shown();
    for want in
        ["4 requests wait", "1 has failed", "1 of these is an unsent form", "Delete all 5 requests"]
    {
        assert!(told.contains(want), "{want} in {told}");
    }
    // The list of failed requests is deleted alone.
    let failed = daemon.page("/queue/?state=failed").whole().shown();
    assert!(failed.contains("/control/delete/req-all?state=failed\">Delete all</a>"), "{failed}");
    let only = daemon.page(&format!("{ask}?state=failed")).whole();
    assert!(only.shown().contains("Delete 1 request<"), "{}", only.shown());
    let only = form(&only.text(), ask);
    assert_eq!(only.value("state"), Some("failed"));
    let button = form(&asks.text(), ask);
    assert_eq!(daemon.submit(&button.clone().without("token")).status, 403);
    assert_eq!(daemon.queue().len(), 5, "a GET or a guessed token has removed an entry");
    assert_eq!(daemon.submit(&only).status, 303);
    assert_eq!(daemon.queue().len(), 4);
    let done = daemon.submit(&button);
    assert_eq!((done.status, done.field("Location")), (303, "/queue/"));
    assert_eq!(daemon.queue().len(), 0);
}

/// The recursive fetches that have not ended.
fn runs(daemon: &Daemon) -> Vec<Value> {
    let runs: Value = serde_json::from_str(&daemon.page("/api/runs").text()).unwrap();
    let runs = runs["runs"].as_array().unwrap().clone();
    runs.into_iter().filter(|run| run["ended"].is_null()).collect()
}

/// The link from the only row of the queue to the form for this request.
fn link(daemon: &Daemon) -> String {
    let page = unescape(&daemon.page("/queue/").whole().text());
    let at = page.find("/queue/edit?key=").expect(&page);
    page[at..].split('"').next().unwrap().to_owned()
}

/// The form at this address as a browser sends it without changes: ticked boxes and selected
/// options.
fn edit(daemon: &Daemon, link: &str) -> Form {
    let page = daemon.page(link).whole().text();
    let mut filled = form(&page, "/control/queue/edit");
    filled
        .fields
        .retain(|(name, value)| value != "Y" || page.contains(&format!("id=\"{name}\" checked")));
    for name in ["priority", "depth", "method"] {
        let Some((_, select)) = page.split_once(&format!("<select name=\"{name}\"")) else {
            continue;
        };
        let options = select.split_once("</select>").unwrap().0;
        let chosen = options.split("value=\"").find(|option| option.contains("selected")).unwrap();
        filled = filled.with(name, chosen.split('"').next().unwrap());
    }
    filled
}

#[test]
fn how_a_request_is_fetched_is_changed_while_it_waits() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html");
    let fields = "Accept: text/html\r\nSec-Fetch-Dest: document\r\nX-Mine: as it was\r\n";
    daemon.client().get_with(&url, fields).whole();
    let link = link(&daemon);

    assert!(daemon.page(&link).shown().contains("/info/?http://"), "and leads to the information");
    let asked = edit(&daemon, &link);
    assert_eq!((asked.value("depth"), asked.value("priority")), (Some("0"), Some("usual")));
    assert_eq!(asked.value("images"), Some("Y"), "as the configuration has it");
    let changed = asked.clone().with("depth", "1").with("priority", "first").without("images");
    assert_eq!(daemon.submit(&changed.clone().without("token")).status, 403);
    let done = daemon.submit(&asked);
    assert_eq!((done.status, done.field("Location")), (303, "/queue/"));
    assert_eq!(runs(&daemon), Vec::<Value>::new(), "nothing was changed");

    assert_eq!(daemon.submit(&changed).status, 303);
    let queue = daemon.queue();
    assert_eq!((queue.len(), &queue[0]["priority"]), (1, &Value::from("first")), "{queue:?}");
    let begun = runs(&daemon);
    assert_eq!((begun.len(), &begun[0]["aim"]["depth"]), (1, &Value::from(1)), "{begun:?}");

    // The form shows the current choice, and the new choice replaces it.
    let again = edit(&daemon, &link);
    assert_eq!((again.value("depth"), again.value("images")), (Some("1"), None));
    assert_eq!(again.value("priority"), Some("first"));
    let more = again.clone().with("depth", "2").with("images", "Y").with("icons", "N");
    assert_eq!(daemon.submit(&more).status, 303);
    let begun = runs(&daemon);
    assert_eq!((begun.len(), &begun[0]["aim"]["depth"]), (1, &Value::from(2)), "{begun:?}");
    assert_eq!(daemon.queue().len(), 1);
    let ticked = edit(&daemon, &link).fields;
    let is_ticked = |name: &str| ticked.contains(&(name.to_owned(), "Y".to_owned()));
    assert!(is_ticked("images") && !is_ticked("icons"), "images without icons: {ticked:?}");

    // The initial choice again: links are no longer followed.
    let plain = again.with("depth", "0").with("images", "Y");
    assert_eq!(daemon.submit(&plain).status, 303);
    assert_eq!((runs(&daemon).len(), daemon.queue().len()), (0, 1));
    daemon.ok(&["online"]);
    eventually("it has arrived", || daemon.queue().is_empty());
    let sent = origin.asked("/page/1.html");
    assert_eq!(sent.len(), 1);
    assert!(sent[0].head.contains("as it was"), "the queued request was sent: {sent:?}");
    for answer in [daemon.page(&link), daemon.submit(&plain)] {
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("Not on the queue"), "{}", answer.text());
    }
}

#[test]
fn only_the_priority_of_forms_and_sub_resources_can_be_changed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    send_later(&daemon, &origin);
    let fields = format!("Sec-Fetch-Dest: image\r\nReferer: {}\r\n", origin.url("/page/1.html"));
    daemon.client().get_with(&origin.url("/image/1.png"), &fields).whole();
    for item in daemon.queue() {
        let key = item["key"].as_str().unwrap();
        let form = edit(&daemon, &format!("/queue/edit?key={key}"));
        assert!(form.value("depth").is_none() && form.value("images").is_none(), "{form:?}");
        // The form changes only the priority. The other fields are ignored.
        let form = form.with("priority", "last").with("depth", "3").with("images", "Y");
        assert_eq!(daemon.submit(&form).status, 303);
    }
    let queue = daemon.queue();
    assert!(queue.len() == 2 && queue.iter().all(|item| item["priority"] == "last"), "{queue:?}");
    assert_eq!(runs(&daemon), Vec::<Value>::new());
}

#[test]
fn users_cannot_edit_requests_of_others() {
    let (daemon, origin) = (owners::daemon(), Origin::start());
    daemon.ok(&["offline"]);
    owners::get(&daemon, "ada", &origin.url("/page/1.html"), "");
    let key = daemon.queue()[0]["key"].as_str().unwrap().to_owned();
    let read = |user: &str, path: &str| {
        let (mut client, fields) = (daemon.client(), owners::login("Authorization", user));
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", daemon.addr()));
        client.receive("GET").whole()
    };
    let path = format!("/queue/edit?key={key}");
    assert!(read("ada", &path).text().contains("name=\"priority\""));
    let other = read("bob", &path).text();
    assert!(other.contains("Not on the queue") && !other.contains("page/1"), "{other}");
    let asks = "/control/delete/req";
    assert_eq!(read("ada", &format!("{asks}?key={key}")).status, 200);
    for path in [format!("{asks}?key={key}"), format!("{asks}-all")] {
        assert_eq!(read("bob", &path).field("Location"), "/queue/", "{path}");
    }
}
