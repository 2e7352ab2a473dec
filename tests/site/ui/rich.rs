//! A spool with one entry of every kind. The names and fields would be markup if they were not
//! escaped.

use crate::harness::form::encode;
use crate::harness::{Answer, eventually};

use super::stage::Stage;

/// A text that would change a page if it was taken for markup. It ends with a text direction
/// override.
pub(super) const HOSTILE: &str = "\"'></title></textarea><b id=injected><script>document.title='injected'</script>{{ 1 }}&lt;\u{202e}evil";

/// The length of long titles, addresses and fields.
const LONG: usize = 100_000;

/// Fills the spool: visits sites, causes failures, queues, monitors and pins pages, changes the
/// configuration and goes offline.
#[track_caller]
pub(super) fn furnish(stage: &Stage) {
    let (daemon, plain) = (&stage.daemon, &stage.plain);
    daemon.ok(&["online"]);
    plain.say(
        "*",
        Answer::html(format!("<!DOCTYPE html><title>{HOSTILE}</title><p>tea {HOSTILE}"))
            .field("X-Hostile", &HOSTILE.replace('\u{202e}', "\u{e2}\u{80}\u{ae}"))
            .field("ETag", "\"<b id=injected>\""),
    );
    let long = "tea ".repeat(LONG / 4);
    plain.say("/long-title", Answer::html(format!("<!DOCTYPE html><title>{long}</title>{long}")));
    plain.say("/long-field", Answer::html("<p>tea").field("X-Long", &"<b>".repeat(10_000)));
    plain.say("/too-long-field", Answer::html("<p>tea").field("X-Long", &"<b>".repeat(LONG)));
    let address = format!("/?{}", encode(HOSTILE));
    let long_address = format!("/{}", "%3Cscript%3E".repeat(600));
    for path in
        ["/tea/", "/form", "/long-title", "/long-field", "/too-long-field", "/gone", "/broken"]
    {
        daemon.browse(&plain.url(path));
    }
    for path in [&address, &long_address] {
        daemon.browse(&plain.url(path));
    }
    for number in 0..60 {
        let url = plain.url(&format!("/many/{number}?{}", encode("\"><b>")));
        assert_eq!(daemon.browse(&url).status, 200, "{url}");
    }
    for _ in 0..3 {
        daemon.browse(&plain.url("/tea/price.html"));
    }
    daemon.browse(&stage.closed.url("/"));
    daemon.settle();
    for verb in ["pin", "monitor"] {
        let verb: &[&str] = if verb == "pin" { &["pin"] } else { &["monitor", "add"] };
        for path in ["/tea/", &address] {
            daemon.ok(&[verb, &[&plain.url(path)]].concat());
        }
    }
    // The first 80 bytes are ASCII.
    let name = &HOSTILE[..80];
    daemon.ok(&["collection", "create", "--note", HOSTILE, "--colour", "blue", name]);
    let members = [plain.url("/tea/"), plain.url(&address), plain.url("/not-saved")];
    let members = members.iter().map(String::as_str);
    let add = ["collection", "add", "--site", "127.0.0.1", "--search", "tea <b>", name];
    daemon.ok(&add.into_iter().chain(members).collect::<Vec<_>>());
    daemon.ok(&["collection", "create", "--for-everyone", "Empty"]);
    daemon.ok(&["offline"]);
    for path in [&format!("/missing{address}"), &format!("{long_address}/missing"), "/missing"] {
        daemon.browse(&plain.url(path));
    }
    for (path, has) in [("/index/all?text=many", "name=\"url\""), ("/search/?q=tea", "<mark>")] {
        eventually(&format!("{path} has {has}"), || daemon.page(path).text().contains(has));
    }
}
