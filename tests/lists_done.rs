//! What was done with what was chosen in a list shows in the list that follows, at once.

use std::time::{Duration, Instant};

use crate::harness::client::Response;
use crate::harness::form::{Form, form, unescape};
use crate::harness::{Answer, Daemon, Origin};
use crate::index_pages::list;

/// Who is answered sooner did not wait in vain for the index: a little less than that wait is.
const IN_TIME: Duration = Duration::from_millis(900);

/// A daemon with pages of a host.
fn browsed(origin: &Origin, pages: usize) -> Daemon {
    let daemon = Daemon::start();
    for number in 0..pages {
        let path = format!("/{number:03}.html");
        origin.say(&path, Answer::html(format!("<title>Page {number}</title>")));
        assert_eq!(daemon.get(&origin.url(&path)).status, 200);
    }
    daemon
}

fn chosen(html: &str, action: &str, urls: &[&str]) -> Form {
    let form = form(html, action).without("url");
    urls.iter().fold(form, |form, url| form.and("url", url))
}

/// Sends a form, and follows where it leads. `None`: the index was not level in time, so nothing can be said.
#[track_caller]
fn followed(daemon: &Daemon, form: &Form) -> Option<Response> {
    let begun = Instant::now();
    let done = daemon.submit(form);
    let took = begun.elapsed();
    assert_eq!(done.status, 303, "{done:?}");
    let page = daemon.page(done.field("Location"));
    assert_eq!(page.status, 200, "{page:?}");
    (took < IN_TIME).then_some(page)
}

#[test]
fn the_list_after_a_button_is_as_it_is_then() {
    let origin = Origin::start();
    let daemon = browsed(&origin, 3);
    let text = list(&daemon, "/index/all?sort=name", "Page 2");
    let url = origin.url("/001.html");
    let is_listed = |page: &Response| unescape(&page.text()).contains(&format!("value=\"{url}\""));
    let delete = chosen(&text, "/control/delete-multiple/url", &[&url]);
    for round in 0..12 {
        let after = followed(&daemon, &delete);
        assert!(!after.as_ref().is_some_and(is_listed), "round {round}: it is deleted");
        let told = daemon.page("/index/").text();
        let after = followed(&daemon, &form(&told, "/control/undo"));
        assert!(after.as_ref().is_none_or(is_listed), "round {round}: it is back");
    }
}
