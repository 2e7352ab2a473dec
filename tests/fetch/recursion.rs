//! Pages fetched with their sub-resources and with linked pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::maze::{self, Maze};
use crate::harness::{
    After, Answer, Daemon, Gate, Origin, PATIENCE, eventually, eventually_within, heavy,
};

/// One attempt per request, so that a failure is reported at once.
const IMPATIENT: &str = "[fetch-options]\nattempts = 1\n";

fn text(kind: &str, body: &str) -> Answer {
    Answer::new(200, kind, body)
}

/// The targets of all requests except `/robots.txt`.
fn asked(origin: &Origin) -> BTreeSet<String> {
    let seen = origin.seen().into_iter().map(|seen| seen.target);
    seen.filter(|target| target != "/robots.txt").collect()
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// The report of the run that ended last.
fn report(daemon: &Daemon) -> serde_json::Value {
    let list = daemon.run(&["runs", "--json"]).json();
    list["runs"][0].clone()
}

fn page_with_parts(origin: &Origin, elsewhere: &Origin) {
    let cdn = elsewhere.url("/logo.png");
    origin.say(
        "/",
        Answer::html(format!(
            "<!DOCTYPE html><title>Parts</title><link rel=stylesheet href=/main.css>\
             <link rel=icon href=/icon.png><link rel=manifest href=/app.webmanifest>\
             <script type=module src=/main.js></script><style>p {{ background: url(/style.png) }}</style>\
             <img src=/plain.png><img src=/small.png srcset='/small.png 1x, /large.png 2x'>\
             <img data-src=/lazy.png><img src=/pixel.gif width=1 height=1><img src='{cdn}'>\
             <picture><source type=image/webp srcset=/p.webp><img src=/p.png></picture>\
             <iframe src=/frame.html></iframe><video src=/film.mp4 poster=/poster.png></video>\
             <object data=/o.swf></object><a href=/next.html>next</a><a href='/a.png?x=1&amp;y=2'>i</a>"
        )),
    );
    origin.say("/main.css", text("text/css", "@import url(more.css); p { color: red }"));
    origin.say(
        "/more.css",
        text("text/css", "@font-face { src: url(f.woff2) } q { background: url('deep.png') }"),
    );
    origin.say("/main.js", text("text/javascript", "import { a } from './lib.js'; a();"));
    origin.say("/lib.js", text("text/javascript", "export const a = () => {};"));
    origin.say("/frame.html", Answer::html("<img src=framed.png><a href=/never.html>x</a>"));
    origin.say(
        "/app.webmanifest",
        text("application/manifest+json", r#"{"icons":[{"src":"big.png","sizes":"512x512"}]}"#),
    );
    for image in [
        "/icon.png",
        "/style.png",
        "/plain.png",
        "/small.png",
        "/large.png",
        "/lazy.png",
        "/p.webp",
        "/p.png",
        "/poster.png",
        "/deep.png",
        "/framed.png",
        "/big.png",
        "/pixel.gif",
    ] {
        origin.say(image, text("image/png", image));
    }
    origin.say("/f.woff2", text("font/woff2", "font"));
    origin.say("/film.mp4", text("video/mp4", "film"));
    elsewhere.say("/logo.png", text("image/png", "logo"));
}

/// A link in a frame is one step away from the page with the frame.
#[test]
#[ignore = "slow"]
fn the_links_in_frames_are_followed_as_those_of_their_page() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let frames = "<frameset><frame src=/nav.html><frame src=/main.html></frameset>";
    origin.say("/", Answer::html(frames));
    origin.say("/nav.html", Answer::html("<a href=/1.html>1</a><a href=/2.html>2</a>"));
    origin.say("/main.html", Answer::html("<iframe src=/inner.html></iframe><img src=/a.png>"));
    origin.say("/inner.html", Answer::html("<a href=/3.html>3</a>"));
    origin.say("/a.png", text("image/png", "a"));
    origin
        .say("/1.html", Answer::html("<a href=/far.html>far</a><iframe src=/side.html></iframe>"));
    origin.say("/side.html", Answer::html("<a href=/farther.html>farther</a>"));
    for path in ["/2.html", "/3.html", "/far.html", "/farther.html"] {
        origin.say(path, Answer::html(path));
    }
    daemon.ok(&["get", "-r", "0", &origin.url("/")]);
    let page = ["/", "/nav.html", "/main.html", "/inner.html", "/a.png"];
    assert_eq!(asked(&origin), set(&page));
    daemon.ok(&["get", "-r", "1", &origin.url("/")]);
    let linked = ["/1.html", "/2.html", "/3.html", "/side.html"];
    let all = [&page[..], &linked].concat();
    assert_eq!(asked(&origin), set(&all));
    daemon.ok(&["get", "-r", "2", &origin.url("/")]);
    let far = ["/far.html", "/farther.html"];
    assert_eq!(asked(&origin), set(&[&all[..], &far].concat()));
}

#[test]
#[ignore = "slow"]
fn a_page_is_fetched_with_its_sub_resources() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    page_with_parts(&origin, &elsewhere);
    daemon.ok(&["get", "-r", "0", &origin.url("/")]);
    let want = set(&[
        "/",
        "/main.css",
        "/more.css",
        "/f.woff2",
        "/deep.png",
        "/icon.png",
        "/app.webmanifest",
        "/big.png",
        "/main.js",
        "/lib.js",
        "/style.png",
        "/plain.png",
        "/small.png",
        "/lazy.png",
        "/p.webp",
        "/frame.html",
        "/framed.png",
        "/poster.png",
    ]);
    assert_eq!(asked(&origin), want);
    assert_eq!(asked(&elsewhere), set(&["/logo.png"]));
    for path in &want {
        assert_eq!(origin.count(path), 1, "{path}");
    }
    let report = report(&daemon);
    assert_eq!(report["report"]["counts"]["pages"], 1, "{report}");
    assert_eq!(report["report"]["counts"]["failed"], 0, "{report}");
    let left = &report["report"]["left-out"]["class"];
    let examples: BTreeSet<_> =
        left["examples"].as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect();
    let (film, object) = (origin.url("/film.mp4"), origin.url("/o.swf"));
    assert_eq!(examples, [film.as_str(), object.as_str()].into());

    daemon.ok(&["offline"]);
    for path in &want {
        assert_eq!(daemon.get(&origin.url(path)).status, 200, "{path}");
    }
}

#[test]
fn a_queued_page_is_fetched_with_its_sub_resources() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    page_with_parts(&origin, &elsewhere);
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/"));
    daemon.ok(&["online"]);
    assert_eq!(daemon.run(&["fetch", "--wait"]).status, 0);
    eventually("all is fetched", || daemon.queue().is_empty());
    assert!(asked(&origin).is_superset(&set(&["/deep.png", "/lib.js", "/framed.png"])));
    assert!(!asked(&origin).contains("/next.html"), "a link is not a sub-resource");
}

#[test]
#[ignore = "slow"]
fn the_classes_of_sub_resources_can_be_chosen() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    page_with_parts(&origin, &elsewhere);
    daemon.ok(&[
        "get",
        "--media",
        "--without",
        "images,icons,scripts,iframes,fonts",
        &origin.url("/"),
    ]);
    assert_eq!(asked(&origin), set(&["/", "/main.css", "/more.css", "/film.mp4"]));
    assert!(asked(&elsewhere).is_empty());
}

#[test]
#[ignore = "slow"]
fn a_recursive_fetch_of_a_site_with_traps_ends() {
    const PAGES: usize = 5_000;
    let _alone = heavy();
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    let maze = Maze::build(&origin, &elsewhere, PAGES);
    let request = format!(r#"{{"urls":["{}"],"aim":{{"depth":1000}}}}"#, origin.url("/"));
    let begun = daemon.api("POST", "/api/runs", &request);
    assert_eq!(begun.status, 200, "{}", begun.text());
    // This takes half a minute on an idle machine. The test polls rarely, because polling takes
    // time as well.
    let ended = || {
        std::thread::sleep(Duration::from_millis(250));
        daemon.api("GET", "/api/runs", "").text().contains("\"ended\":\"")
    };
    eventually_within(10 * PATIENCE, "all is fetched", ended);
    let mut asked: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    asked.retain(|target| target != "/robots.txt");
    let (count, asked): (_, BTreeSet<_>) = (asked.len(), asked.into_iter().collect());
    let want = maze.in_scope();
    let (less, more): (Vec<_>, Vec<_>) =
        (want.difference(&asked).collect(), asked.difference(&want).collect());
    assert!(less.is_empty() && more.is_empty(), "missing: {less:?}, too much: {more:?}");
    assert_eq!(count, want.len(), "each once");
    assert!(elsewhere.seen().is_empty(), "another host is out of scope");
    let report = report(&daemon);
    for why in ["scope", "endless", "robots", "no-follow"] {
        let count = report["report"]["left-out"][why]["count"].as_u64();
        assert!(count.is_some_and(|count| count > 0), "{why}: {report}");
    }
    assert_eq!(report["report"]["counts"]["pages"], want.len(), "{report}");
    assert_eq!(report["report"]["counts"]["failed"], 0, "{report}");
}

#[test]
#[ignore = "slow"]
fn depth_and_limits_bound_a_recursive_fetch() {
    for (arguments, pages) in [
        (&["-r", "0"][..], &["/"][..]),
        (&["-r", "1"], &["/", "/p/a/0.html"]),
        (&["-r", "3", "--pages", "2"], &["/", "/p/a/0.html"]),
        (&["-r", "3", "--within", "*://*/p/a/0.html"], &["/", "/p/a/0.html"]),
    ] {
        let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
        let elsewhere = Origin::start_at("127.0.0.2");
        Maze::build(&origin, &elsewhere, 50);
        let url = origin.url("/");
        let arguments: Vec<_> =
            ["get"].iter().chain(arguments).copied().chain([url.as_str()]).collect();
        daemon.ok(&arguments);
        assert_eq!(asked(&origin), set(pages), "{arguments:?}");
    }
}

#[test]
#[ignore = "slow"]
fn robots_rules_are_followed_as_configured() {
    for (robots, arguments, private) in [
        (text("text/plain", "User-agent: wwwoffle\nDisallow: /"), &["-r", "1"][..], false),
        (
            text("text/plain", "User-agent: wwwoffle\nDisallow: /"),
            &["-r", "1", "--no-robots"],
            true,
        ),
        (text("text/plain", "User-agent: other\nDisallow: /"), &["-r", "1"], true),
        (Answer::html("gone").with_status(404), &["-r", "1"], true),
        (Answer::html("broken").with_status(500), &["-r", "1"], false),
        (Answer::redirect(302, "/robots-2.txt"), &["-r", "1"], false),
    ] {
        let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
        origin.say("/robots.txt", robots);
        origin.say("/robots-2.txt", text("text/plain", "User-agent: *\nDisallow: /linked"));
        origin.say("/", Answer::html("<a href=/linked>x</a><img src=/image.png>"));
        origin.say("/linked", Answer::html("linked"));
        origin.say("/image.png", text("image/png", "image"));
        let url = origin.url("/");
        let arguments: Vec<_> =
            ["get"].iter().chain(arguments).copied().chain([url.as_str()]).collect();
        let ran = daemon.run(&arguments);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(origin.count("/linked"), usize::from(private), "{arguments:?}");
        assert_eq!(origin.count("/image.png"), 1, "a sub-resource is for the reader of its page");
    }
}

#[test]
#[ignore = "slow"]
fn a_person_can_get_a_page_that_robots_rules_forbid() {
    let (daemon, origin, gate) = (Daemon::configured(IMPATIENT), Origin::start(), Gate::new());
    let held = Arc::clone(&gate);
    origin.on("/robots.txt", move |exchange| {
        held.wait();
        exchange.answer(&text("text/plain", "User-agent: *\nDisallow: /linked"))
    });
    origin.say("/", Answer::html("<a href=/linked>x</a>"));
    origin.say("/linked", Answer::html("linked"));
    let mut run = daemon.command(&["get", "-r", "1", &origin.url("/")]).spawn().unwrap();
    eventually("its rules are asked for", || origin.count("/robots.txt") == 1);
    let mut get = daemon.command(&["get", &origin.url("/linked")]).spawn().unwrap();
    eventually("a person wants it too", || {
        let queue = daemon.run(&["queue", "--json"]).out;
        queue.contains("/linked") && queue.contains("\"kind\":\"page\"")
    });
    gate.open();
    assert!(get.wait().unwrap().success());
    assert!(run.wait().unwrap().success());
    assert_eq!(origin.count("/linked"), 1);
}

#[test]
#[ignore = "slow"]
fn dead_links_are_reported() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/a.html>a</a><a href=/gone.html>g</a>"));
    origin.say("/a.html", Answer::html("<a href=/>back</a><a href=/gone.html>g</a>"));
    origin.say("/gone.html", Answer::html("no").with_status(410));
    let ran = daemon.run(&["get", "-r", "2", &origin.url("/")]);
    assert_eq!(ran.status, 0, "a dead link of the site counts as a failure of the fetch: {ran:?}");
    let told = format!("leads nowhere: {} (from {}): ", origin.url("/gone.html"), origin.url("/"));
    assert!(ran.out.contains(&told), "{}", ran.out);
    assert_eq!(origin.count("/gone.html"), 1);
    let ran = daemon.run(&["get", "-r", "2", &origin.url("/gone.html")]);
    assert_eq!(ran.status, 1, "the requested page is missing: {ran:?}");
}

#[test]
#[ignore = "slow"]
fn fetched_pages_are_not_counted_as_left_out() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    // At first /c.html is too many links away. It is near enough once /long.html was read.
    origin.say("/", Answer::html("<a href=/b.html>b</a><a href=/long.html>l</a><img src=/i.png>"));
    let b = "<a href=/deep.html>d</a><a href=/far.html>f</a><a href=/i.png>i</a><a href=/>back</a>";
    origin.say("/b.html", Answer::html(format!("{b}<a href=/moved.html>m</a>")));
    origin.say("/long.html", Answer::html("<a href=/deep.html>d</a><a href=/c.html>c</a>"));
    let deep =
        "<a href=/far.html>f</a><a href=/c.html>c</a><a href=/end.html>e</a><img src=/i.png>";
    origin.say("/deep.html", Answer::html(deep));
    origin.say("/c.html", Answer::html("c"));
    origin.say("/i.png", text("image/png", "image"));
    origin.say("/moved.html", Answer::html("").with_status(302).field("Location", "/b.html"));
    for (depth, far) in [("1", 4), ("2", 1), ("2", 1)] {
        daemon.run(&["get", "-r", depth, &origin.url("/")]);
        let run = report(&daemon);
        let counts = &run["report"]["counts"];
        let number = |name: &str| counts[name].as_u64().unwrap();
        let taken = number("pages") + number("parts");
        let sum =
            ["fetched", "unchanged", "kept", "failed", "dead"].map(number).iter().sum::<u64>();
        assert_eq!(sum, taken, "-r {depth}: {run:#}");
        let left = &run["report"]["left-out"]["depth"];
        assert_eq!(left["count"], far, "-r {depth}: {run:#}");
    }
}

#[test]
#[ignore = "slow"]
fn the_lines_of_a_second_fetch_agree() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/b.html>b</a><a href=/gone.html>g</a>"));
    origin.say("/b.html", Answer::html("b"));
    origin.say("/gone.html", Answer::html("gone").with_status(404));
    for _ in 0..2 {
        let ran = daemon.run(&["get", "-r", "1", &origin.url("/")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let sums = ran.out.lines().find(|line| line.contains(" pages and ")).unwrap();
        assert!(sums.ends_with(", 0 failed, 1 dead link"), "{ran:?}");
        assert_eq!(ran.out.lines().last(), Some("2 stored, 0 failed, 0 waiting"), "{ran:?}");
        let ran = daemon.run(&["get", "-r", "1", "--json", &origin.url("/")]);
        let events = ran.lines();
        let run = events.iter().rfind(|event| event["event"] == "run").unwrap();
        for sums in [events.last().unwrap(), &run["run"]["report"]["counts"]] {
            assert_eq!((&sums["failed"], &sums["dead"]), (&0.into(), &1.into()), "{ran:?}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_recursive_fetch_resumes_after_crashes_without_repeats() {
    // One download at a time, so that the download that waits at its gate holds up all others.
    let config = format!("{IMPATIENT}per-host = 1\nat-once = 1\n");
    let (mut daemon, origin) = (Daemon::configured(&config), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    let maze = Maze::build(&origin, &elsewhere, 150);
    let held = [20, 90].map(|number| (maze::page(number), Gate::new()));
    for (path, gate) in &held {
        let (gate, answer, is_first) = (Arc::clone(gate), maze.answer(path), AtomicBool::new(true));
        origin.on(path, move |exchange| {
            if is_first.swap(false, Ordering::SeqCst) {
                gate.wait();
                return Ok(After::Close);
            }
            exchange.answer(&answer)
        });
    }
    let scope = origin.url("/p/*");
    let request =
        format!(r#"{{"urls":["{}"],"aim":{{"depth":1000,"scope":"{scope}"}}}}"#, origin.url("/"));
    let begun = daemon.api("POST", "/api/runs", &request);
    assert_eq!(begun.status, 200, "{}", begun.text());
    for (path, gate) in &held {
        eventually("it is half-way", || origin.count(path) == 1);
        // Everything that was fetched so far is on the disk, and is not fetched again.
        assert_eq!(daemon.api("POST", "/api/flush", "").status, 200);
        daemon.kill9();
        gate.open();
        daemon.up();
    }
    eventually("all is fetched", || report(&daemon)["ended"].is_string());
    let pages: BTreeSet<_> = ["/".to_owned()].into_iter().chain((0..150).map(maze::page)).collect();
    assert_eq!(asked(&origin), pages);
    daemon.ok(&["offline"]);
    for path in &pages {
        let was_held = held.iter().any(|(held, _)| held == path);
        assert_eq!(origin.count(path), 1 + usize::from(was_held), "{path}");
        assert_eq!(daemon.get(&origin.url(path)).status, 200, "{path}");
    }
}

#[test]
fn a_recursive_fetch_can_be_stopped() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/slow>s</a>"));
    origin.on("/slow", |_| Ok(After::Close));
    daemon.ok(&["offline"]);
    let request = format!(r#"{{"urls":["{}"],"aim":{{"depth":2}}}}"#, origin.url("/"));
    let begun = daemon.api("POST", "/api/runs", &request).text();
    let begun: serde_json::Value = serde_json::from_str(&begun).unwrap();
    let id = begun["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(begun["runs"][0]["waiting"], 1);
    daemon.ok(&["runs", "--stop", &id]);
    assert!(report(&daemon)["ended"].is_string());
    assert_eq!(daemon.run(&["runs", "--stop", &id]).status, 1, "it has ended");
}

#[test]
fn sub_resources_precede_links_and_are_removed_with_their_fetch() {
    let config = format!("{IMPATIENT}per-host = 1\n");
    let (daemon, origin) = (Daemon::configured(&config), Origin::start());
    origin.say("/", Answer::html("<a href=/held>h</a><a href=/later>b</a><img src=/image.png>"));
    origin.say("/image.png", text("image/png", "image"));
    let (gate, held) = (Gate::new(), origin.url("/held"));
    let shut = Arc::clone(&gate);
    origin.on("/held", move |_| {
        shut.wait();
        Ok(After::Close)
    });
    let request = format!(r#"{{"urls":["{}"],"aim":{{"depth":2}}}}"#, origin.url("/"));
    let begun: serde_json::Value =
        serde_json::from_str(&daemon.api("POST", "/api/runs", &request).text()).unwrap();
    eventually("it is half-way", || origin.count("/held") == 1);
    assert_eq!(origin.count("/image.png"), 1, "a client waits for it");
    let kinds: Vec<_> = daemon.queue().iter().map(|item| item["kind"].clone()).collect();
    assert_eq!(kinds, ["recursive", "recursive"], "{held} and what comes after it");
    let told = daemon.ok(&["runs", "--stop", begun["runs"][0]["id"].as_str().unwrap()]);
    assert!(told.ends_with(": 2\n"), "{told}");
    gate.open();
    assert!(daemon.queue().is_empty());
}

#[test]
#[ignore = "slow"]
fn a_recursive_refresh_fetches_all_pages_again() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let fresh = |body: &str| Answer::html(body).field("Cache-Control", "max-age=86400");
    origin.say("/", fresh("<a href=/a>a</a><img src=/i>"));
    origin.say("/a", fresh("a"));
    origin.say("/i", text("image/png", "i").field("Cache-Control", "max-age=86400"));
    for (arguments, count) in [(&[][..], 1), (&[], 1), (&["--refresh"], 2)] {
        let url = origin.url("/");
        let arguments: Vec<_> =
            ["get", "-r", "1"].iter().chain(arguments).copied().chain([url.as_str()]).collect();
        daemon.ok(&arguments);
        for path in ["/", "/a", "/i"] {
            assert_eq!(origin.count(path), count, "{path} after {arguments:?}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_failed_request_is_retried_for_another_fetch() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/a>a</a>"));
    origin.on("/a", |_| Ok(After::Close));
    let url = origin.url("/");
    assert_eq!(daemon.run(&["get", "-r", "1", &url]).status, 1);
    assert_eq!(daemon.queue()[0]["state"], "failed");
    origin.say("/a", Answer::html("a"));
    daemon.ok(&["get", "-r", "1", &url]);
    assert!(daemon.queue().is_empty());
    assert!(report(&daemon)["ended"].is_string());
}

/// A page that has links for users with a login, and no links for other users.
fn members(origin: &Origin, elsewhere: &Origin) {
    let other = elsewhere.url("/logo.png");
    for (path, body) in
        [("/", format!("<a href=/a>a</a><img src='{other}'>")), ("/a", String::new())]
    {
        let answer = Answer::html(body).field("Cache-Control", "private");
        origin.on(path, move |exchange| {
            // The login `ada:secret` in Base64.
            let is_ada =
                exchange.seen.fields.get("Authorization") == Some("Basic YWRhOnNlY3JldA==");
            let refusal = Answer::html("who?").with_status(401);
            let refusal = refusal.field("WWW-Authenticate", "Basic realm=members");
            exchange.answer(if is_ada { &answer } else { &refusal })
        });
    }
    elsewhere.say("/logo.png", text("image/png", "logo"));
}

#[test]
#[ignore = "slow"]
fn a_login_is_sent_only_to_the_same_origin() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    members(&origin, &elsewhere);
    let url = origin.url("/").replacen("http://", "http://ada:secret@", 1);
    daemon.ok(&["get", "-r", "1", &url]);
    assert_eq!((origin.count("/"), origin.count("/a")), (1, 1));
    let seen = elsewhere.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].fields.get("Authorization"), None);
    assert!(!daemon.run(&["runs", "--json"]).out.contains("secret"));
}
