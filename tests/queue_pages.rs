//! What the pages of the queue ask and tell before something of it goes or changes.

use crate::harness::form::{form, forms, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually};

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
    let fields = format!("Origin: http://{}\r\nSec-Fetch-Site: cross-site\r\n", origin.addr);
    assert!(daemon.submit_as(&form(&asks, "/refresh-request"), &fields).status < 400);
}

#[test]
fn what_goes_is_told_before_all_of_it_does() {
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
    assert!(!forms(&queue).iter().any(|form| form.action.ends_with(ask)), "no button does it");
    let asks = daemon.page(ask).whole();
    let told = asks.shown();
    for want in [
        "4 requests wait",
        "1 has failed",
        "1 of these is a form that was not sent",
        "Delete all 5 requests",
    ] {
        assert!(told.contains(want), "{want} in {told}");
    }
    let button = form(&asks.text(), ask);
    assert_eq!(daemon.submit(&button.clone().without("token")).status, 403);
    assert_eq!(daemon.queue().len(), 5, "looking and guessing take nothing away");
    let done = daemon.submit(&button);
    assert_eq!((done.status, done.field("Location")), (303, "/queue/"));
    assert_eq!(daemon.queue().len(), 0);
}
