//! Message pages: what happened, and what the user can do. A request for a sub-resource gets an
//! empty response instead of a message page.

use wwwoffle_spool::Timestamp;

use crate::harness::form::{form, forms};
use crate::harness::{Answer, Daemon, Origin, daemon::AS_PERSON, eventually, then};
use crate::security::owners;

/// The kinds of sub-resources, as a browser names them, with the media type of the empty response.
const PARTS: [(&str, &str); 9] = [
    ("image", "image/gif"),
    ("script", "text/javascript"),
    ("style", "text/css"),
    ("iframe", "text/html; charset=utf-8"),
    ("font", "font/woff2"),
    ("video", "video/mp4"),
    ("worker", "text/javascript"),
    ("manifest", "application/manifest+json"),
    ("empty", "text/plain; charset=utf-8"),
];

/// A proxy that refuses requests for every possible reason. Also returns a URL for each reason,
/// with the status of the message.
fn refusing(origin: &Origin, gone: &Origin) -> (Daemon, Vec<(&'static str, String, u16)>) {
    let config = format!(
        "[dont-get]\nurls = [\"*://{0}/blocked/*\"]\n[dont-cache]\nurls = [\"*://{0}/never/*\"]\n\
         [[offline-options.for]]\nurl = \"*://{0}/unqueued/*\"\ndont-request = true\n",
        origin.addr
    );
    let rows = vec![
        ("online", gone.url("/failed"), 502),
        ("online", "http://no-such-host.invalid/".to_owned(), 502),
        ("offline", origin.url("/page/1.html"), 504),
        ("offline", origin.url("/never/1"), 504),
        ("offline", origin.url("/unqueued/1"), 504),
    ];
    (Daemon::configured(&config), rows)
}

#[test]
fn a_sub_resource_never_gets_a_message_page() {
    let (origin, mut gone) = (Origin::start(), Origin::start());
    gone.stop();
    let (daemon, rows) = refusing(&origin, &gone);
    let mut client = daemon.client();
    for (mode, url, status) in rows {
        daemon.ok(&[mode]);
        for (dest, kind) in PARTS {
            let fields = format!(
                "Accept: text/html,*/*\r\nReferer: http://x.example/\r\nSec-Fetch-Dest: {dest}\r\n"
            );
            let part = client.get_with(&url, &fields).whole();
            let got = (part.status, part.field("Content-Type"), part.body.len());
            assert_eq!(got, (status, kind, 0), "{mode} {url} {dest}");
            assert_eq!(part.field("Cache-Control"), "no-store", "{mode} {url} {dest}");
        }
        let page = client.get_with(&url, AS_PERSON).whole();
        assert_eq!(page.status, status, "{mode} {url}");
        assert!(page.text().contains("<h1>"), "{mode} {url}: {}", page.text());
        // A program gets at most one line of text.
        let program = client.get_with(&url, "Accept: */*\r\n").whole();
        assert_eq!(program.status, status, "{mode} {url}");
        assert!(!program.text().contains('<'), "{mode} {url}: {}", program.text());
        let json = client.get_with(&url, "Accept: application/json\r\n").whole();
        assert!(!json.text().contains('<'), "{mode} {url}: {}", json.text());
    }
    // A blocked image, script, style sheet or frame gets a successful response, because that helps
    // the page. Only the image has a body. Other blocked sub-resources get an error.
    for (dest, kind) in PARTS {
        let fields = format!("Accept: */*\r\nSec-Fetch-Dest: {dest}\r\n");
        let part = client.get_with(&origin.url("/blocked/1"), &fields).whole();
        let is_there = ["image", "script", "style", "iframe"].contains(&dest);
        let want = if is_there { 200 } else { 403 };
        assert_eq!((part.status, part.field("Content-Type")), (want, kind), "{dest}");
        assert_eq!(part.body.is_empty(), dest != "image", "{dest}");
    }
    assert!(origin.seen().is_empty(), "{:?}", origin.seen());
}

#[test]
fn a_sub_resource_gets_no_message_page() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let part = "Sec-Fetch-Dest: image\r\nAccept: image/*\r\n";
    let mut client = daemon.client();
    // A loop: the request has already passed through this proxy.
    let first = client.get_with(&origin.url("/page/1.html"), "").whole();
    let via = first.field("Via").rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(!via.is_empty(), "{:?}", first.fields);
    let fields = format!("{part}Via: 1.1 {via}\r\n");
    let looped = client.get_with(&origin.url("/page/2.html"), &fields).whole();
    assert_eq!((looped.status, looped.field("Content-Type")), (508, "image/gif"));
    assert!(looped.body.is_empty());
    let page =
        client.get_with(&origin.url("/p"), &format!("{AS_PERSON}Via: 1.1 {via}\r\n")).whole();
    assert!(page.status == 508 && page.text().contains("in a loop"), "{}", page.text());
    // A missing page of our own, and the address of one of our forms, requested with GET.
    for (path, status) in [("/no/such/page", 404), ("/control/retry", 405)] {
        let own = client.get_with(&daemon.own(path), part).whole();
        let got = (own.status, own.field("Content-Type"), own.body.len());
        assert_eq!(got, (status, "image/gif", 0), "{path}");
        let page = client.get_with(&daemon.own(path), AS_PERSON).whole();
        assert!(page.status == status && page.text().contains("<h1>"), "{path}");
    }
}

#[test]
#[ignore = "slow"]
fn a_missing_page_can_be_fetched_with_its_links() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/a", Answer::html("<a href=/b>b</a><img src=/a.png>"));
    origin.say("/b", Answer::html("<a href=/c>c</a>"));
    origin.say("/c", Answer::html("<a href=/d>d</a>"));
    for path in ["/d", "/a.png"] {
        origin.say(path, Answer::html("end"));
    }
    daemon.ok(&["offline"]);
    let page = daemon.browse(&origin.url("/a"));
    assert_eq!(page.status, 504);
    let fetch = form(&page.text(), "/refresh-request/");
    let there = origin.sends();
    // The button moves the request to the front of the queue and then shows as pressed. Its token
    // is valid for this request only.
    let when = |path: &str| {
        let forms = forms(&daemon.browse(&origin.url("/a")).text());
        forms.into_iter().find(|form| form.action.ends_with(path)).unwrap()
    };
    let first = when("/control/queue/first");
    let twice = first.clone().and("chosen", &"0".repeat(64));
    assert_eq!(daemon.submit_as(&twice, &there).status, 403);
    assert_eq!(daemon.submit_as(&first.clone().without("token"), &there).status, 403);
    assert_eq!(daemon.submit_as(&first, &there).status, 303);
    assert_eq!(daemon.queue()[0]["priority"], "first");
    let shown = daemon.browse(&origin.url("/a")).shown();
    assert!(shown.contains("/control/queue/first\" aria-pressed=\"true\""), "{shown}");
    assert_eq!(daemon.submit_as(&when("/control/queue/usual"), &there).status, 303);
    assert_eq!(daemon.queue().len(), 1);
    // The token is valid for this page only, and only for the actions that the page offers.
    let other = fetch.clone().with("url", &origin.url("/secret"));
    assert_eq!(daemon.submit_as(&other, &there).status, 403);
    assert_eq!(daemon.submit_as(&fetch.clone().without("token"), &there).status, 403);
    let greedy = fetch.clone().with("depth", "900").with("method", "any").and("force", "Y");
    // If the form has two URLs, the URL for which the token is valid is used.
    let greedy = greedy.and("url", &origin.url("/secret"));
    assert_eq!(daemon.submit_as(&greedy, &there).status, 303);
    let runs = || -> Vec<serde_json::Value> {
        let list: serde_json::Value =
            serde_json::from_slice(&daemon.api("GET", "/api/runs", "").body).unwrap();
        list["runs"].as_array().unwrap().clone()
    };
    assert_eq!(runs()[0]["start"], origin.url("/a"));
    let spec = runs()[0]["aim"].clone();
    assert_eq!((&spec["depth"], &spec["scope"]), (&2.into(), &"host".into()), "{spec}");
    assert_eq!(spec["limits"]["pages"], 200, "{spec}");
    // A second press during the fetch starts nothing.
    let again = daemon.submit_as(&fetch.with("depth", "1"), &there);
    assert_eq!((again.status, again.field("Location")), (303, "/fetches/"));
    // Another page of the same host does not start a fetch either, since one site must not use all
    // slots.
    let beside = form(&daemon.browse(&origin.url("/z")).text(), "/refresh-request/");
    let beside = daemon.submit_as(&beside, &there);
    assert_eq!((beside.status, beside.field("Location")), (303, "/fetches/"));
    assert_eq!(runs().len(), 1);
    daemon.ok(&["online"]);
    eventually("it ends", || !runs()[0]["ended"].is_null());
    daemon.settle();
    daemon.ok(&["offline"]);
    for (path, status) in [("/a", 200), ("/b", 200), ("/c", 200), ("/a.png", 200), ("/d", 504)] {
        assert_eq!(daemon.browse(&origin.url(path)).status, status, "{path}");
    }
}

#[test]
fn similar_stored_pages_are_offered_for_a_missing_page() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    for path in ["/tea/", "/vec/index.html", "/list?b=2&a=1", "/Green", "/twin?x=1"] {
        origin.say(path, Answer::html("kept"));
        assert_eq!(daemon.get(&origin.url(path)).status, 200, "{path}");
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    for (asked, kept, how) in [
        ("/tea", "/tea/", "a final slash or index.html"),
        ("/tea/index.html", "/tea/", "a final slash or index.html"),
        ("/vec/", "/vec/index.html", "a final slash or index.html"),
        ("/vec", "/vec/index.html", "a final slash or index.html"),
        ("/list?a=1&b=2", "/list?b=2&a=1", "in another order"),
        ("/green", "/Green", "different capitals"),
    ] {
        let page = daemon.browse(&origin.url(asked));
        assert_eq!(page.status, 504, "{asked}");
        let link = format!("href=\"{}\"", origin.url(kept));
        let before_buttons = page.shown().split("<form").next().unwrap_or_default().to_owned();
        assert!(before_buttons.contains(&link), "{asked}: {}", page.shown());
        // The page about other hosts and schemes can be reached through a link. It belongs to our
        // own origin.
        let all = daemon.page(&format!("/missing/?{}", origin.url(asked)));
        assert_eq!(all.status, 200, "{asked}");
        let shown = all.shown();
        assert!(shown.contains(&link) && shown.contains(how), "{asked}: {shown}");
        assert!(page.shown().contains("/missing/?"), "{asked}: {}", page.shown());
    }
    let none = daemon.page(&format!("/missing/?{}", origin.url("/twin?x=2"))).shown();
    assert!(none.contains("There is no similar saved page"), "{none}");
    for bad in ["/missing/?http://[", "/missing/?/queue/"] {
        assert_eq!(daemon.page(bad).status, 400, "{bad}");
    }
}

#[test]
#[ignore = "slow"]
fn a_message_page_lists_only_similar_pages_of_its_own_origin() {
    // The requested URL, a similar URL of the same site, and similar URLs of other sites.
    const ROWS: [(&str, &str, [&str; 2]); 2] = [
        (
            "http://tea.test/green",
            "http://tea.test/green/",
            ["https://tea.test/green", "http://www.tea.test/green"],
        ),
        (
            "https://tea.test/black",
            "https://tea.test/black/",
            ["http://tea.test/black", "https://www.tea.test/black"],
        ),
    ];
    // Otherwise the page with the other scheme would be served.
    let mut daemon = Daemon::prepare(Some("[offline-options]\nnear-answers = false\n"));
    let kept = Timestamp::from_second(1_700_000_000).unwrap();
    for (_, own, others) in ROWS {
        for url in others.into_iter().chain([own]) {
            then::keep(daemon.spool(), kept, url, "text/html", b"kept");
        }
    }
    daemon.up();
    daemon.ok(&["offline"]);
    for (asked, own, others) in ROWS {
        let page = daemon.browse(asked);
        assert_eq!(page.status, 504, "{asked}");
        // The message page has the origin of its site, whose scripts may read it. The page
        // `/missing/` has our own origin.
        let (page, all) = (page.shown(), daemon.page(&format!("/missing/?{asked}")).shown());
        let link = |url: &str| format!("href=\"{url}\"");
        assert!(page.contains(&link(own)) && all.contains(&link(own)), "{asked}: {page}\n{all}");
        for other in others {
            assert!(!page.contains(&link(other)), "{asked}: {other} in {page}");
            assert!(all.contains(&link(other)), "{asked}: no {other} in {all}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn requests_of_sites_leave_slots_to_people() {
    // A quarter of all slots.
    const MOST: usize = 50;
    let daemon = Daemon::start();
    let origins: Vec<Origin> = (0..3).map(|_| Origin::start()).collect();
    daemon.ok(&["offline"]);
    let under_way = || {
        let list = daemon.api("GET", "/api/runs", "");
        let list: serde_json::Value = serde_json::from_slice(&list.body).unwrap();
        list["runs"].as_array().unwrap().len()
    };
    let begin = |numbers: std::ops::Range<usize>| {
        let urls: Vec<_> =
            numbers.map(|number| format!("\"http://person{number}.test/\"")).collect();
        let asked = daemon.api("POST", "/api/runs", &format!("{{\"urls\":[{}]}}", urls.join(",")));
        assert_eq!(asked.status, 200, "{}", asked.text());
    };
    let begin_there = |origin: &Origin| {
        let page = daemon.browse(&origin.url("/")).text();
        let done = daemon.submit_as(&form(&page, "/refresh-request/"), &origin.sends());
        assert_eq!((done.status, done.field("Location")), (303, "/fetches/"), "{}", done.text());
    };
    begin(0..MOST - 1);
    assert_eq!(under_way(), MOST - 1);
    begin_there(&origins[0]);
    assert_eq!(under_way(), MOST, "the last place for a site");
    for origin in &origins[1..] {
        begin_there(origin);
        assert_eq!(under_way(), MOST, "a site got another place");
    }
    begin(MOST..MOST + 2);
    assert_eq!(under_way(), MOST + 2, "a person gets a place");
}

#[test]
fn similar_pages_of_other_users_are_not_offered() {
    let (daemon, mut origin) = (owners::daemon(), Origin::start());
    let private = Answer::html("mine").field("Cache-Control", "private");
    origin.say("/tea/", private);
    assert_eq!(owners::get(&daemon, "ada", &origin.url("/tea/"), "").status, 200);
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let link = format!("href=\"{}\"", origin.url("/tea/"));
    let own = daemon.own(&format!("/missing/?{}", origin.url("/TEA")));
    for (user, is_told) in [("ada", true), ("bob", false)] {
        let page = owners::get(&daemon, user, &origin.url("/tea"), "");
        assert_eq!(page.shown().contains(&link), is_told, "{user}: {}", page.shown());
        let page = owners::get(&daemon, user, &own, "");
        assert_eq!(page.status, 200, "{user}: {}", page.shown());
        assert_eq!(page.shown().contains(&link), is_told, "{user}: {}", page.shown());
    }
}

#[test]
fn a_failed_refresh_offers_the_copy_and_a_later_fetch() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let kept = Answer::html("the copy").field("Cache-Control", "no-store");
    origin.say("/p", kept);
    assert_eq!(daemon.get(&origin.url("/p")).status, 200);
    daemon.settle();
    origin.stop();
    let page = daemon.browse(&origin.url("/p"));
    let shown = page.shown();
    assert_eq!(page.status, 502);
    let copy = shown.split("href=\"").find(|rest| rest.contains("/history/version/")).unwrap();
    let copy = copy.split('"').next().unwrap().replace("&amp;", "&");
    let copy = daemon.get(&copy);
    assert!(copy.status == 200 && copy.text().contains("the copy"), "{}", copy.text());
    let later = form(&page.text(), "/refresh-request/");
    let done = daemon.submit_as(&later, &origin.sends());
    assert_eq!((done.status, done.field("Location")), (303, "/fetches/"), "{}", done.text());
    assert_eq!(daemon.queued(), [origin.url("/p")]);
}
