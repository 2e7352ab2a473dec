//! Pages fetched with their parts, and with what they link to.

use std::collections::BTreeSet;

use crate::harness::{After, Answer, Daemon, Origin, eventually};

/// Requests are tried once, so that a failure is told at once.
const IMPATIENT: &str = "[fetch-options]\nattempts = 1\n";

fn text(kind: &str, body: &str) -> Answer {
    Answer::new(200, kind, body)
}

/// All that was asked for, less what sites are asked for by themselves.
fn asked(origin: &Origin) -> BTreeSet<String> {
    let seen = origin.seen().into_iter().map(|seen| seen.target);
    seen.filter(|target| target != "/robots.txt").collect()
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// The run that ended last.
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

#[test]
fn a_page_comes_with_its_parts() {
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
fn a_page_that_was_missed_offline_comes_with_its_parts_too() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    page_with_parts(&origin, &elsewhere);
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/"));
    daemon.ok(&["online"]);
    assert_eq!(daemon.run(&["fetch", "--wait"]).status, 0);
    eventually("all is fetched", || daemon.queue().is_empty());
    assert!(asked(&origin).is_superset(&set(&["/deep.png", "/lib.js", "/framed.png"])));
    assert!(!asked(&origin).contains("/next.html"), "a link is no part");
}

#[test]
fn classes_of_parts_are_chosen() {
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

/// A site of `pages` pages, each of which leads to ten others, and to where nobody ends.
fn site(origin: &Origin, elsewhere: &Origin, pages: usize) {
    let other = elsewhere.url("/other.html");
    origin.on("*", move |exchange| {
        let target = exchange.seen.target.clone();
        let number = target.strip_prefix("/p/").and_then(|name| name.strip_suffix(".html"));
        let links = if target == "/" {
            Some("<a href=/p/0.html>in</a>".to_owned())
        } else if let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) {
            let next = (1..=10).map(|step| (number * 10 + step) % pages);
            let next: Vec<_> = next.map(|next| format!("<a href=/p/{next}.html#a>x</a>")).collect();
            let traps = "<a href=/cal/2026/11>c</a><a href=/grow/>g</a><a href=/private/x>p</a>\
                         <a rel=nofollow href=/follow-me-not>n</a><a href=/list?a=1>l</a>";
            (number < pages).then(|| format!("{}{traps}<a href='{other}'>o</a>", next.concat()))
        } else if let Some(month) = target.strip_prefix("/cal/") {
            let (year, month) = month.split_once('/').unwrap_or(("2026", "1"));
            let months =
                year.parse::<i32>().unwrap_or(2026) * 12 + month.parse::<i32>().unwrap_or(1);
            let link =
                |at: i32| format!("<a href=/cal/{}/{}>m</a>", (at - 1) / 12, (at - 1) % 12 + 1);
            Some(link(months - 1) + &link(months + 1))
        } else if target.starts_with("/grow/") {
            Some("<a href=grow/>deeper</a>".to_owned())
        } else if target.starts_with("/list?") {
            let number = target.matches('&').count();
            Some(format!("<a href='{}&amp;s{number}=1'>s</a>", target.replace('&', "&amp;")))
        } else {
            None
        };
        match links {
            Some(links) => exchange.answer(&Answer::html(links)),
            None => exchange.answer(&Answer::html("nothing").with_status(404)),
        }
    });
    origin.say("/robots.txt", text("text/plain", "User-agent: *\nDisallow: /private/\n"));
}

#[test]
fn a_site_is_fetched_once_each_and_has_an_end() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    site(&origin, &elsewhere, 200);
    let ran = daemon.run(&["get", "-r", "1000", &origin.url("/")]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let asked = asked(&origin);
    for number in 0..200 {
        let path = format!("/p/{number}.html");
        assert_eq!(origin.count(&path), 1, "{path}");
    }
    assert!(asked.iter().all(|path| origin.count(path) == 1), "each once");
    assert!(!asked.contains("/private/x"), "robots.txt is heeded");
    assert!(!asked.contains("/follow-me-not"), "nofollow is heeded");
    assert!(elsewhere.seen().is_empty(), "another host is out of scope");
    let count = |prefix: &str| asked.iter().filter(|path| path.starts_with(prefix)).count();
    assert!(count("/cal/") < 1_000, "a calendar has an end: {}", count("/cal/"));
    assert!(count("/grow/") < 10, "a path that grows has an end: {}", count("/grow/"));
    assert!(count("/list?") < 20, "arguments have an end: {}", count("/list?"));
    let report = report(&daemon);
    for why in ["scope", "endless", "robots", "no-follow"] {
        let count = report["report"]["left-out"][why]["count"].as_u64();
        assert!(count.is_some_and(|count| count > 0), "{why}: {report}");
    }
}

#[test]
fn depth_and_limits_bound_it() {
    for (arguments, pages) in [
        (&["-r", "0"][..], &["/"][..]),
        (&["-r", "1"], &["/", "/p/0.html"]),
        (&["-r", "3", "--pages", "2"], &["/", "/p/0.html"]),
        (&["-r", "3", "--within", "*://*/p/0.html"], &["/", "/p/0.html"]),
    ] {
        let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
        let elsewhere = Origin::start_at("127.0.0.2");
        site(&origin, &elsewhere, 50);
        let url = origin.url("/");
        let arguments: Vec<_> =
            ["get"].iter().chain(arguments).copied().chain([url.as_str()]).collect();
        daemon.ok(&arguments);
        assert_eq!(asked(&origin), set(pages), "{arguments:?}");
    }
}

#[test]
fn what_a_site_asks_of_programs_is_a_matter_of_choice() {
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
        assert_eq!(origin.count("/image.png"), 1, "a part of a page is for its reader");
    }
}

#[test]
fn links_that_lead_nowhere_are_told() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/a.html>a</a><a href=/gone.html>g</a>"));
    origin.say("/a.html", Answer::html("<a href=/>back</a><a href=/gone.html>g</a>"));
    origin.say("/gone.html", Answer::html("no").with_status(410));
    let ran = daemon.run(&["get", "-r", "2", &origin.url("/")]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let told = format!("leads nowhere: {} (from {}): ", origin.url("/gone.html"), origin.url("/"));
    assert!(ran.out.contains(&told), "{}", ran.out);
    assert_eq!(origin.count("/gone.html"), 1);
}

#[test]
fn a_fetch_goes_on_after_crashes_and_brings_nothing_twice() {
    let (mut daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    site(&origin, &elsewhere, 150);
    let aim = format!(r#"{{"urls":["{}"],"aim":{{"depth":1000}}}}"#, origin.url("/"));
    let begun = daemon.api("POST", "/api/runs", &aim);
    assert_eq!(begun.status, 200, "{}", begun.text());
    for pages in [20, 60] {
        eventually("some pages are there", || origin.seen().len() > pages);
        daemon.kill9();
        daemon.up();
    }
    eventually("all is fetched", || report(&daemon)["ended"].is_string());
    let twice: Vec<_> = asked(&origin).into_iter().filter(|path| origin.count(path) > 1).collect();
    // What was under way when the daemon was killed is asked for again, and nothing else.
    assert!(twice.len() <= 2 * 6, "{twice:?}");
    for number in 0..150 {
        assert!(origin.count(&format!("/p/{number}.html")) > 0, "page {number} is missing");
    }
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/p/149.html")).status, 200);
}

#[test]
fn a_fetch_is_ended_before_its_time() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say("/", Answer::html("<a href=/slow>s</a>"));
    origin.on("/slow", |_| Ok(After::Close));
    daemon.ok(&["offline"]);
    let aim = format!(r#"{{"urls":["{}"],"aim":{{"depth":2}}}}"#, origin.url("/"));
    let begun = daemon.api("POST", "/api/runs", &aim).text();
    let begun: serde_json::Value = serde_json::from_str(&begun).unwrap();
    let id = begun["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(begun["runs"][0]["waiting"], 1);
    daemon.ok(&["runs", "--stop", &id]);
    assert!(report(&daemon)["ended"].is_string());
    assert_eq!(daemon.run(&["runs", "--stop", &id]).status, 1, "it has ended");
}
