//! Captures of web archives that are queued.

use crate::archives::captures::{
    DATE, GONE, assert_has_parts, configured, put, put_page_with_parts,
};
use crate::harness::form::form;
use crate::harness::{Answer, Daemon, Origin, eventually};

/// While offline, a capture is queued by the command and by the page. It is fetched with its parts
/// when the mode is online, and nothing is sent before.
#[test]
fn a_capture_is_queued_while_offline() {
    let archive = Origin::start();
    put_page_with_parts(&archive);
    put(&archive, "http://gone.invalid/two", DATE, "text/html", "second page");
    archive.on("*", |exchange| exchange.answer(&Answer::new(404, "text/html", "not archived")));
    let daemon = configured(&archive);
    daemon.ok(&["offline"]);
    // A request for the page itself waits already.
    daemon.get(GONE);
    let told = daemon.ok(&["get", "--from-archive", GONE]);
    assert!(told.contains("will be fetched later"), "{told}");
    let page = daemon.page("/captures/?http://gone.invalid/two").text();
    let queued = daemon.submit(&form(&page, "/control/captures/store"));
    assert_eq!((queued.status, queued.field("Location").ends_with("/queue/")), (303, true));
    assert!(archive.seen().is_empty());
    daemon.ok(&["online"]);
    eventually("the queue is empty", || daemon.ok(&["queue"]).trim().is_empty());
    assert_has_parts(&daemon);
    assert_eq!(daemon.get("http://gone.invalid/two").text(), "second page");
    assert_eq!(daemon.get(GONE).field("Memento-Datetime"), DATE);
}

/// Neither an error of the site nor its page of today is the wanted capture. The queue waits, because
/// its budget is spent. The site is behind a parent proxy, since only public names are offered.
#[test]
fn a_visit_does_not_answer_a_queued_request_for_a_capture() {
    let (site, archive) = (Origin::start(), Origin::start());
    let [gone, parked] = ["gone", "parked"].map(|path| format!("http://gone.example/{path}"));
    for url in [&gone, &parked] {
        put(&archive, url, DATE, "text/html", "from the archive");
    }
    site.on("*", |exchange| {
        let is_parked = exchange.seen.target.ends_with("parked");
        let answer = Answer::html("of the site");
        exchange.answer(&if is_parked { answer } else { answer.with_status(404) })
    });
    let daemon = Daemon::configured(&format!(
        "[web-archives]\ntime-gates = [\"{}\"]\n[fetch-options]\nbudget-day = \"0 B\"\n\
         [proxy]\nproxy = \"{}\"\nexcept = [\"127.0.0.1\"]\n",
        archive.url("/web/"),
        site.addr
    ));
    daemon.ok(&["offline"]);
    for url in [&gone, &parked] {
        daemon.ok(&["get", "--from-archive", url]);
    }
    daemon.ok(&["online"]);
    for url in [&gone, &parked] {
        daemon.browse(url);
    }
    daemon.settle();
    assert_eq!(daemon.queue().len(), 2);
    daemon.ok(&["config", "set", "fetch-options.budget-day", "none"]);
    eventually("the captures were requested", || {
        daemon.status()["queue"]["waiting"] == 0 && daemon.status()["queue"]["active"] == 0
    });
    for url in [&gone, &parked] {
        assert!(archive.count(&format!("/web/{url}")) > 0, "{url}");
    }
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&gone).field("Memento-Datetime"), DATE);
}
