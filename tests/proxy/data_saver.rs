//! The data saver: the files that are left out of pages, their placeholders, and how a person gets
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::harness::daemon::AS_PERSON;
use crate::harness::origin::After;
use crate::harness::{Answer, Daemon, Origin, Response, eventually, form};

/// The files of the tests: path, type and length. The last one has no declared length.
const FILES: [(&str, &str, usize); 6] = [
    ("/small.png", "image/png", 1_000),
    ("/large.png", "image/png", 20_000),
    ("/clip.mp4", "video/mp4", 1_000),
    ("/font.woff2", "font/woff2", 1_000),
    ("/style.css", "text/css", 20_000),
    ("/endless.png", "image/png", 20_000),
];

fn body(path: &str, length: usize) -> Vec<u8> {
    path.bytes().cycle().take(length).collect()
}

/// An origin with all files below each of these directories.
fn files(directories: &[&str]) -> Origin {
    let origin = Origin::start();
    for directory in directories {
        for (path, kind, length) in FILES {
            let answer = Answer::new(200, kind, body(path, length));
            let answer = answer.field("Cache-Control", "max-age=0");
            let answer = if path == "/endless.png" { answer.chunked() } else { answer };
            origin.say(&format!("{directory}{path}"), answer);
        }
    }
    origin
}

/// Requests `path` as a browser does for its page.
fn part(daemon: &Daemon, origin: &Origin, path: &str) -> Response {
    let dest = match path.rsplit('.').next().unwrap() {
        "png" => "image",
        "mp4" => "video",
        "woff2" => "font",
        _ => "style",
    };
    let fields = format!("Sec-Fetch-Dest: {dest}\r\nReferer: {}\r\n", origin.url("/page"));
    daemon.client().get_with(&origin.url(path), &fields).whole()
}

/// What a client got: the file, a picture in its place, nothing in its place, or another response.
fn kind_of(response: &Response, path: &str) -> &'static str {
    let (_, _, length) = FILES.into_iter().find(|(name, ..)| path.ends_with(name)).unwrap();
    let name = &path[path.rfind('/').unwrap()..];
    let is_saved = response.field("Cache-Status") == "wwwoffle; detail=data-saver";
    match response.field("Content-Type") {
        _ if response.status == 200 && response.body == body(name, length) => "file",
        "image/svg+xml" if response.status == 200 && is_saved => "picture",
        _ if response.status == 403 && response.body.is_empty() && is_saved => "nothing",
        _ if response.field("Cache-Status").contains("detail=queued") => "queued",
        _ => "?",
    }
}

#[test]
#[ignore = "slow"]
fn each_rule_leaves_out_its_kinds_in_each_mode_unless_a_copy_is_stored() {
    let rules = [
        ("pictures-above = \"10 kB\"", ["file", "picture", "file", "file", "file", "file"]),
        ("no-media = true", ["file", "file", "nothing", "file", "file", "file"]),
        ("text-only = true", ["nothing", "nothing", "nothing", "nothing", "file", "nothing"]),
    ];
    for (rule, want) in rules {
        let origin = files(&["/stored", "/new", "/auto", "/off"]);
        let daemon = Daemon::configured(&format!("[data-saver]\n{rule}\n"));
        for (path, ..) in FILES {
            let path = format!("/stored{path}");
            let got = daemon.client().get_with(&origin.url(&path), AS_PERSON).whole();
            assert_eq!(kind_of(&got, &path), "file", "{rule} {path}: opened itself");
        }
        daemon.settle();
        for (mode, directory) in [("online", "/new"), ("autodial", "/auto"), ("offline", "/off")] {
            daemon.ok(&[mode]);
            for ((path, ..), want) in FILES.into_iter().zip(want) {
                let stored = format!("/stored{path}");
                let got = part(&daemon, &origin, &stored);
                assert_eq!(kind_of(&got, &stored), "file", "{rule} {mode} {stored}");
                let missing = format!("{directory}{path}");
                let got = part(&daemon, &origin, &missing);
                // Offline, the length of a picture is not known.
                let is_known = want == "nothing";
                let want = if mode == "offline" && !is_known { "queued" } else { want };
                assert_eq!(kind_of(&got, &missing), want, "{rule} {mode} {missing}");
                if want == "picture" {
                    assert!(got.text().contains("left out (20 kB)"), "{}", got.text());
                    assert_eq!(got.field("Cache-Control"), "no-store");
                }
            }
        }
        // A file of a kind that is left out is not requested, and nothing of it is stored.
        let is_left_out = |want: &str| matches!(want, "picture" | "nothing");
        for ((path, ..), want) in FILES.into_iter().zip(want).filter(|(_, want)| is_left_out(want))
        {
            let path = format!("/new{path}");
            let asked = usize::from(rule.starts_with("pictures"));
            assert_eq!(origin.count(&path), asked, "{rule} {path} {want}");
            assert_ne!(daemon.run(&["cat", &origin.url(&path)]).status, 0, "{rule} {path}");
        }
    }
}

#[test]
fn a_rule_applies_to_the_urls_that_it_names() {
    let origin = files(&["/a", "/b"]);
    let daemon = Daemon::configured(&format!(
        "[data-saver]\ntext-only = true\n[[data-saver.for]]\nurl = \"{}/b/*\"\ntext-only = false\n",
        origin.url("")
    ));
    for (path, want) in [("/a/small.png", "nothing"), ("/b/small.png", "file")] {
        assert_eq!(kind_of(&part(&daemon, &origin, path), path), want, "{path}");
    }
    // Programs and persons get what they ask for.
    let got = daemon.get(&origin.url("/a/large.png"));
    assert_eq!(kind_of(&got, "/a/large.png"), "file");
    // A script that loads a video gets no picture in its place.
    let script = "Sec-Fetch-Dest: empty\r\n";
    let got = daemon.client().get_with(&origin.url("/a/clip.mp4"), script).whole();
    assert_eq!(kind_of(&got, "/a/clip.mp4"), "nothing");
}

#[test]
fn the_body_of_a_picture_that_is_left_out_does_not_arrive() {
    const LENGTH: u64 = 1 << 30;
    let (origin, sent) = (Origin::start(), Arc::new(AtomicU64::new(0)));
    let counts = Arc::clone(&sent);
    origin.on("/p.png", move |exchange| {
        exchange.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nETag: \"a\"\r\nContent-Length: {LENGTH}\r\n\r\n"
        ))?;
        let piece = vec![0; 1 << 20];
        while counts.load(Ordering::Relaxed) < LENGTH {
            exchange.send(&piece)?;
            counts.fetch_add(1 << 20, Ordering::Relaxed);
        }
        Ok(After::Close)
    });
    let daemon = Daemon::configured("[data-saver]\npictures-above = \"1 MB\"\n");
    let got = part(&daemon, &origin, "/p.png");
    assert!(got.text().contains("(1.0 GB)") || got.text().contains("(1.1 GB)"), "{}", got.text());
    daemon.settle();
    assert!(sent.load(Ordering::Relaxed) < LENGTH / 8, "only what the sockets hold");
    // No part of it is stored.
    assert_ne!(daemon.run(&["cat", &origin.url("/p.png")]).status, 0);

    let today = || {
        let report: serde_json::Value =
            serde_json::from_slice(&daemon.api("GET", "/api/statistics", "").body).unwrap();
        report["days"][0].clone()
    };
    let counts = today();
    let of = |name: &str| counts[name].as_u64().unwrap_or_default();
    let unfetched = of("unfetched");
    // What had arrived is not saved.
    assert_eq!((unfetched + of("fetched"), of("fetched") < LENGTH / 8), (LENGTH, true), "{counts}");
    assert_eq!(counts["requests"]["left-out"], 1);
    assert!(daemon.page("/statistics/").text().contains("Left out by the data saver"));
    let metric = format!("wwwoffle_unfetched_bytes_total {unfetched}\n");
    assert!(daemon.page("/metrics").text().contains(&metric));
    // The page is opened again in the same visit.
    part(&daemon, &origin, "/p.png");
    daemon.settle();
    assert_eq!(
        (&today()["unfetched"], &today()["requests"]["left-out"]),
        (&unfetched.into(), &2.into())
    );
}

#[test]
fn a_browser_that_has_the_picture_learns_whether_it_is_current() {
    const IMAGE: &str = "Sec-Fetch-Dest: image\r\n";
    const DATE: &str = "Thu, 26 Nov 2026 10:00:00 GMT";
    let origin = Origin::start();
    let picture = |tag: &str| {
        let picture = Answer::new(200, "image/png", vec![7; 20_000]);
        let picture = picture.field("Cache-Control", "max-age=9").field("X-Made-By", "me");
        picture.field("ETag", tag).field("Last-Modified", DATE)
    };
    origin.say("/p.png", picture("\"a\""));
    let daemon = Daemon::configured(
        "[data-saver]\npictures-above = \"10 kB\"\n[censor-header]\nheaders = { X-Made-By = true }\n",
    );
    let ask = |condition: &str| {
        daemon.client().get_with(&origin.url("/p.png"), &format!("{IMAGE}{condition}\r\n")).whole()
    };
    for (condition, is_current) in [
        ("If-None-Match: \"a\"", true),
        ("If-None-Match: \"x\", W/\"a\"", true),
        ("If-None-Match: \"b\"", false),
        ("If-Modified-Since: Thu, 26 Nov 2026 10:00:00 GMT", true),
        ("If-Modified-Since: Thu, 26 Nov 2026 09:59:59 GMT", false),
        // The tag counts, and not the date.
        (&format!("If-None-Match: \"b\"\r\nIf-Modified-Since: {DATE}"), false),
    ] {
        let got = ask(condition);
        assert_eq!(got.field("Cache-Status"), "wwwoffle; detail=data-saver", "{condition}");
        if is_current {
            assert_eq!((got.status, got.field("ETag")), (304, "\"a\""), "{condition}");
            assert_eq!(got.field("Cache-Control"), "max-age=9", "{condition}");
            assert!(!got.fields.has("X-Made-By"), "{condition}");
        } else {
            // The placeholder has no validator, so a browser never asks whether it is current.
            assert_eq!((got.status, got.field("ETag")), (200, ""), "{condition}");
            assert_eq!(got.field("Content-Type"), "image/svg+xml", "{condition}");
            assert!(got.field("Last-Modified").is_empty(), "{condition}");
        }
    }
    origin.say("/p.png", picture("\"b\""));
    assert_eq!(ask("If-None-Match: \"a\"").status, 200, "the picture has changed");
    // A stored older copy is served only to a browser that does not have the current picture.
    let url = origin.url("/q.png");
    origin.say("/q.png", Answer::new(200, "image/png", "old").field("ETag", "\"old\""));
    assert_eq!(part(&daemon, &origin, "/q.png").text(), "old");
    daemon.settle();
    origin.say("/q.png", picture("\"new\""));
    for (tag, want) in [("\"new\"", (304, "\"new\"")), ("\"other\"", (200, "\"old\""))] {
        let fields = format!("{IMAGE}Cache-Control: max-age=0\r\nIf-None-Match: {tag}\r\n");
        let got = daemon.client().get_with(&url, &fields).whole();
        assert_eq!((got.status, got.field("ETag")), want, "{tag}");
    }
}

#[test]
fn files_of_another_host_follow_the_rule_of_the_page() {
    let (origin, site) = (files(&["/cdn"]), "http://news.example/");
    let rule = |url: &str| format!("[[data-saver.for]]\nurl = \"{url}\"\ntext-only = ");
    let page = format!("{}true\n", rule("*://news.example/*"));
    let file = format!("{}false\n", rule(&format!("{}/cdn/*", origin.url(""))));
    for (rules, referrer, want) in [
        (page.clone(), site, "nothing"),
        (page.clone(), "http://other.example/", "file"),
        // A rule for the file takes precedence.
        (format!("{page}{file}"), site, "file"),
    ] {
        let daemon = Daemon::configured(&rules);
        let fields = format!("Sec-Fetch-Dest: image\r\nReferer: {referrer}\r\n");
        let path = "/cdn/small.png";
        let got = daemon.client().get_with(&origin.url(path), &fields).whole();
        assert_eq!(kind_of(&got, path), want, "{rules} {referrer}");
    }
}

#[test]
fn a_stale_copy_is_served_in_place_of_a_larger_new_picture() {
    let origin = Origin::start();
    origin.say("/p.png", Answer::new(200, "image/png", "old").field("Cache-Control", "max-age=0"));
    let daemon = Daemon::configured("[data-saver]\npictures-above = \"1 kB\"\n");
    assert_eq!(part(&daemon, &origin, "/p.png").text(), "old");
    daemon.settle();
    origin.say("/p.png", Answer::new(200, "image/png", vec![7; 2_000]));
    let got = part(&daemon, &origin, "/p.png");
    assert_eq!(got.text(), "old");
    assert_eq!(got.field("Cache-Status"), "wwwoffle; fwd=stale; detail=data-saver");
    assert_eq!(origin.count("/p.png"), 2);
}

/// A page with a large and a small picture.
fn page_with_pictures() -> (Origin, [&'static str; 2]) {
    let origin = files(&[""]);
    let page = "<p>text</p><img src=/small.png><img src=/large.png>";
    origin.say("/page", Answer::html(page).field("Cache-Control", "max-age=600"));
    (origin, ["/small.png", "/large.png"])
}

/// Presses the button of the page about a URL that fetches its pictures.
fn fetch_pictures(daemon: &Daemon, url: &str) {
    let page = daemon.page(&format!("/info/?{url}"));
    let all = form::forms(&page.text());
    let is_meant = |form: &form::Form| form.value("whole") == Some("Y");
    let form = all.into_iter().find(is_meant).expect("the button is there");
    assert_eq!(daemon.submit(&form).status, 303);
}

#[test]
#[ignore = "slow"]
fn a_person_gets_the_pictures_of_one_page() {
    for (rule, mode) in [
        ("pictures-above = \"10 kB\"", "online"),
        ("pictures-above = \"10 kB\"", "offline"),
        ("text-only = true", "online"),
        ("text-only = true", "offline"),
    ] {
        let (origin, pictures) = page_with_pictures();
        let daemon = Daemon::configured(&format!("[data-saver]\n{rule}\n"));
        daemon.browse(&origin.url("/page"));
        let left_out = if rule == "text-only = true" { "nothing" } else { "picture" };
        assert_eq!(kind_of(&part(&daemon, &origin, "/large.png"), "/large.png"), left_out);
        daemon.settle();
        daemon.ok(&[mode]);
        fetch_pictures(&daemon, &origin.url("/page"));
        daemon.ok(&["online"]);
        eventually("the pictures are stored", || {
            pictures.iter().all(|path| daemon.run(&["cat", &origin.url(path)]).status == 0)
        });
        for mode in ["online", "offline"] {
            daemon.ok(&[mode]);
            for path in pictures {
                let got = part(&daemon, &origin, path);
                assert_eq!(kind_of(&got, path), "file", "{rule} {mode} {path}");
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_fetch_counts_large_pictures_as_left_out_until_a_person_wants_them() {
    let (origin, _) = page_with_pictures();
    let daemon = Daemon::configured("[data-saver]\npictures-above = \"10 kB\"\n");
    let told = daemon.ok(&["get", "-r", "1", &origin.url("/page")]);
    assert!(told.contains("left out: 1, for the data saver leaves them out"), "{told}");
    assert!(told.contains(", 0 failed"), "{told}");
    let shown = daemon.page("/fetches/").text();
    assert!(shown.contains("the data saver leaves them out ([data-saver])"), "{shown}");
    assert_eq!(daemon.queue(), Vec::<serde_json::Value>::new());
    assert_eq!(daemon.ok(&["cat", &origin.url("/small.png")]).len(), 1_000);
    assert_ne!(daemon.run(&["cat", &origin.url("/large.png")]).status, 0);
    daemon.ok(&["get", "--whole", &origin.url("/page")]);
    assert_eq!(daemon.ok(&["cat", &origin.url("/large.png")]).len(), 20_000);
    assert_eq!(daemon.queue(), Vec::<serde_json::Value>::new());
}

#[test]
#[ignore = "slow"]
fn a_person_gets_every_size_of_the_pictures_of_a_page() {
    let origin = files(&["/a", "/b", "/c"]);
    let page = "<picture><source media='(min-width: 9000px)' srcset='/a/large.png 1x, /b/large.png 2x'>\
                <img src=/c/large.png srcset='/a/small.png 600w, /b/small.png 1200w'></picture>";
    origin.say("/page", Answer::html(page));
    let daemon = Daemon::configured("[data-saver]\npictures-above = \"10 kB\"\n");
    daemon.ok(&["get", "--whole", &origin.url("/page")]);
    for path in ["/a/large.png", "/b/large.png", "/c/large.png", "/a/small.png", "/b/small.png"] {
        assert_eq!(origin.count(path), 1, "{path}");
        assert_eq!(kind_of(&part(&daemon, &origin, path), path), "file", "{path}");
    }
}

#[test]
fn the_player_of_a_file_that_a_person_opens_gets_it() {
    let origin = files(&["/a"]);
    let daemon = Daemon::configured("[data-saver]\nno-media = true\n");
    let (path, url) = ("/a/clip.mp4", origin.url("/a/clip.mp4"));
    assert_eq!(kind_of(&part(&daemon, &origin, path), path), "nothing");
    let player = format!("Sec-Fetch-Dest: video\r\nReferer: {url}\r\n");
    let got = daemon.client().get_with(&url, &player).whole();
    assert_eq!(kind_of(&got, path), "file");
}

#[test]
#[ignore = "slow"]
fn a_picture_that_was_left_out_is_fetched_after_a_person_opens_it_offline() {
    let (origin, _) = page_with_pictures();
    let daemon = Daemon::configured("[data-saver]\npictures-above = \"10 kB\"\n");
    daemon.run(&["get", &origin.url("/page")]);
    eventually("it is left out", || daemon.queue().is_empty() && origin.count("/large.png") == 1);
    daemon.ok(&["offline"]);
    let url = origin.url("/large.png");
    let got = daemon.client().get_with(&url, AS_PERSON).whole();
    assert_eq!(got.status, 504);
    daemon.ok(&["online"]);
    eventually("it is stored", || daemon.run(&["cat", &url]).status == 0);
}

#[test]
#[ignore = "slow"]
fn the_queue_asks_for_consent_only_above_ask_above() {
    let (origin, _) = page_with_pictures();
    let above = "above = \"10 kB\"\n";
    let config = format!("[data-saver]\npictures-{above}[fetch-options]\nask-{above}");
    let daemon = Daemon::configured(&config);
    daemon.run(&["get", &origin.url("/page")]);
    eventually("it waits for consent", || {
        let queue = daemon.queue();
        queue.len() == 1 && queue[0]["state"] == "asking"
    });
}

#[test]
#[ignore = "slow"]
fn a_fetch_of_text_only_queues_no_pictures() {
    let (origin, pictures) = page_with_pictures();
    let daemon = Daemon::configured("[data-saver]\ntext-only = true\n");
    daemon.ok(&["get", &origin.url("/page")]);
    for path in pictures {
        assert_eq!(origin.count(path), 0, "{path}");
    }
    let info = daemon.page(&format!("/info/?{}", origin.url("/page"))).text();
    assert!(info.contains("the data saver leaves it out ([data-saver])"), "{info}");
    daemon.ok(&["get", "--whole", &origin.url("/page")]);
    for path in pictures {
        assert_eq!(origin.count(path), 1, "{path}");
    }
}

#[test]
fn the_bar_links_to_the_pictures_and_shows_a_form_first() {
    let origin = Origin::start();
    origin.say("/page", Answer::html("<body>text").field("Cache-Control", "max-age=600"));
    let bar = "[modify-html]\nenable-modify-html = true\nadd-cache-info = true\n";
    for (rule, is_there) in [("text-only = true", true), ("", false)] {
        let daemon = Daemon::configured(&format!("{bar}[data-saver]\n{rule}\n"));
        let page = daemon.browse(&origin.url("/page")).shown();
        let link = format!("/refresh-recurse/?url={}", origin.url("/page"));
        assert_eq!(page.contains(&link), is_there, "{page}");
        // The page of the site cannot start the fetch.
        let fields = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
        let path = format!("{link};depth=0;images=Y;stylesheets=Y;whole=Y");
        let url = daemon.own(&path);
        let shown = daemon.client().get_with(&url, fields).whole();
        assert!(shown.text().contains("name=\"whole\""), "{}", shown.text());
        assert_eq!(daemon.queue().len(), 0);
    }
}
