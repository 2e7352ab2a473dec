//! Whether pages are stored completely, checked by the report about each sub-resource and with a
//! real browser offline.

mod pages;

use std::collections::BTreeSet;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::harness::form::{encode, form};
use crate::harness::{Answer, Chromium, Daemon, Origin, eventually, heavy};
use crate::site::browser::{browser, font};
use pages::{FIELDS, FILES, Manner, PAGES};

/// An image of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// One attempt per request, so that a failure is reported at once.
const IMPATIENT: &str = "[fetch-options]\nattempts = 1\n";

/// The report about the sub-resources of a page.
#[track_caller]
fn parts(daemon: &Daemon, url: &str) -> Value {
    let told = daemon.api("GET", &format!("/api/info?url={}", encode(url)), "");
    assert_eq!(told.status, 200, "{}", told.text());
    let told: Value = serde_json::from_str(&told.text()).unwrap();
    let by_hand = daemon.run(&["info", "--json", url]).json();
    assert_eq!(by_hand["parts"], told["parts"], "the command line prints the same");
    told["parts"].clone()
}

/// The URLs of the sub-resources in this state.
fn in_state(parts: &Value, state: &str) -> BTreeSet<String> {
    let list = parts["list"].as_array().unwrap().iter().filter(|part| part["state"] == state);
    list.map(|part| part["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "slow"]
fn the_missing_files_of_a_page_are_listed_and_fetched() {
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    origin.say(
        "/",
        Answer::html(
            "<link rel=icon href=/i.png><link rel=stylesheet href=/a.css><img src=/gone.png>\
             <video src=/f.mp4></video>",
        ),
    );
    origin.say("/a.css", Answer::new(200, "text/css", "p { background: url(bg.png) }"));
    for image in ["/i.png", "/bg.png"] {
        origin.say(image, Answer::new(200, "image/png", PNG));
    }
    origin.say("/gone.png", Answer::html("none").with_status(404));
    let url = origin.url("/");
    daemon.get(&url);
    daemon.settle();
    let told = parts(&daemon, &url);
    assert_eq!(told["complete"], false);
    let absent = ["/a.css", "/gone.png", "/i.png"].map(|path| origin.url(path));
    assert_eq!(in_state(&told, "absent"), absent.into());
    assert_eq!(in_state(&told, "left-out"), [origin.url("/f.mp4")].into());

    daemon.ok(&["offline"]);
    let address = format!("/info/?{}", encode(&url));
    let page = daemon.page(&address);
    assert!(page.shown().contains("3 files are missing"), "{}", page.shown());
    let button = form(&page.text(), "/refresh-request/");
    let pressed = daemon.submit(&button);
    assert_eq!(pressed.status, 303, "{}", pressed.text());
    assert_eq!(daemon.queued(), [url.as_str()], "a request was sent offline");
    daemon.ok(&["online"]);
    eventually("all is fetched", || {
        daemon.queue().iter().all(|item| item["state"] == "failed") && origin.count("/bg.png") == 1
    });
    daemon.settle();
    let told = parts(&daemon, &url);
    let kept = ["/a.css", "/bg.png", "/i.png"].map(|path| origin.url(path));
    assert_eq!(in_state(&told, "kept"), kept.into());
    assert_eq!(in_state(&told, "failed"), [origin.url("/gone.png")].into());
    assert_eq!(told["counts"]["failed"], 1, "{told}");
    let text = daemon.run(&["info", &url]).out;
    assert!(text.contains("resources   not complete: 3 stored, 1 failed, 1 left out"), "{text}");
    assert!(text.contains(&format!("failed      {} (image): ", origin.url("/gone.png"))), "{text}");

    origin.say("/gone.png", Answer::new(200, "image/png", PNG));
    daemon.ok(&["get", "-r", "0", &url]);
    assert_eq!(parts(&daemon, &url)["complete"], true);
    let page = daemon.page(&address);
    assert!(page.shown().contains("The page is complete"), "{}", page.shown());
    assert!(!page.text().contains("/refresh-request/"), "there is nothing to fetch");
}

/// Serves the pages and files on `origin`, and the files also on `elsewhere`. Both hosts generate
/// all other resources.
fn site(origin: &Origin, elsewhere: &Origin) {
    let far = elsewhere.url("");
    let filled = |text: &str| text.replace("CDN", &far).replace("HOST", &origin.addr.to_string());
    for host in [origin, elsewhere] {
        host.on("*", |exchange| {
            let answer = by_name(&exchange.seen.target);
            exchange.answer(&answer)
        });
        for (path, kind, body, manner) in FILES {
            host.say(path, file(kind, &filled(body), *manner));
        }
    }
    for (path, _, body) in PAGES {
        let body = filled(body);
        let mut answer = match path {
            "/xhtml" => Answer::new(200, "application/xhtml+xml", body),
            "/latin" => Answer::new(200, "text/html", latin(&body)),
            _ => Answer::html(body),
        };
        let fields = FIELDS.iter().filter(|(of, _)| *of == path);
        for line in fields.flat_map(|(_, lines)| lines.split('\n')) {
            let (name, value) = line.split_once(": ").unwrap();
            answer = answer.field(name, value);
        }
        origin.say(path, answer);
    }
}

fn file(kind: &str, body: &str, manner: Manner) -> Answer {
    let body = if kind.contains("1252") { latin(body) } else { body.as_bytes().to_vec() };
    match manner {
        Manner::Plain => Answer::new(200, kind, body),
        Manner::With(fields) => {
            fields.lines().fold(Answer::new(200, kind, body), |answer, line| {
                let (name, value) = line.split_once(": ").unwrap();
                answer.field(name, value)
            })
        }
        Manner::Coded => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&body).unwrap();
            Answer::new(200, kind, encoder.finish().unwrap()).field("Content-Encoding", "gzip")
        }
        Manner::Moved(to) => Answer::redirect(302, to),
    }
}

/// Encodes a text in Latin-1, with `?` for other characters.
fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// A resource that is generated from its name: the extension determines its type.
fn by_name(target: &str) -> Answer {
    let path = target.split('?').next().unwrap_or_default();
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>";
    match path.rsplit('.').next().unwrap_or_default() {
        "png" => Answer::new(200, "image/png", PNG),
        "webp" => Answer::new(200, "image/webp", PNG),
        "avif" => Answer::new(200, "image/avif", PNG),
        "ico" | "gif" => Answer::new(200, "image/x-icon", PNG),
        "svg" => Answer::new(200, "image/svg+xml", svg),
        "woff2" | "woff" | "ttf" => {
            Answer::new(200, "font/ttf", font()).field("Access-Control-Allow-Origin", "*")
        }
        "mp4" => Answer::new(200, "video/mp4", "film"),
        "ogg" | "mp3" => Answer::new(200, "audio/ogg", "sound"),
        _ if path.ends_with('/') => Answer::new(200, "image/png", PNG),
        _ => Answer::html("there is no such thing").with_status(404),
    }
}

/// The URLs that the last run left out because of their class.
fn named_by_the_run(daemon: &Daemon) -> BTreeSet<String> {
    let runs = daemon.run(&["runs", "--json"]).json();
    let examples = &runs["runs"][0]["report"]["left-out"]["class"]["examples"];
    let examples = examples.as_array().into_iter().flatten();
    examples.map(|url| url.as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs chromium"]
fn twenty_fetched_pages_are_complete_in_a_browser_offline() {
    let program = browser();
    let _alone = heavy();
    let (daemon, origin) = (Daemon::configured(IMPATIENT), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    site(&origin, &elsewhere);
    let ran = daemon.run(&["get", "-r", "1", &origin.url("/")]);
    let told: Vec<_> = ran.out.lines().filter(|line| !line.starts_with("done ")).collect();
    assert_eq!(ran.status, 0, "{}\n{}", told.join("\n"), ran.err);
    let named = named_by_the_run(&daemon);
    daemon.ok(&["offline"]);

    let (mut lacking, mut left_out) = (Vec::new(), BTreeSet::new());
    for (path, ..) in PAGES {
        let told = parts(&daemon, &origin.url(path));
        if told["complete"] != true {
            lacking.push(format!("{path}: {told}"));
        }
        left_out.extend(in_state(&told, "left-out"));
    }
    assert!(lacking.is_empty(), "not complete:\n{}", lacking.join("\n"));
    let media: BTreeSet<_> =
        ["/me/film.mp4", "/me/sound.ogg", "/me/thing.bin"].map(|path| origin.url(path)).into();
    assert_eq!(named, media, "the run lists the URLs that it left out");

    let asked = origin.seen().len() + elsewhere.seen().len();
    let mut chromium = Chromium::start_with(&program, &daemon, &["--window-size=1366,768"]);
    chromium.listen();
    let mut missed = Vec::new();
    for (path, condition, _) in PAGES {
        chromium.open(&origin.url(path));
        let whole = "[...document.images].every(i => i.complete)";
        let condition = format!("({condition}) && {whole}");
        let text = chromium.until(&condition, &format!("{path} is whole"));
        if path == "/app" {
            chromium.manifest();
        }
        for one in chromium.quiet(path) {
            let is_from_spool = one.status == Some(200) || one.is_redirect();
            let is_hit = is_from_spool && one.cache.contains("hit");
            if !is_hit && !left_out.contains(&one.url) {
                missed.push(format!("{path}: {one:?}"));
            }
        }
        assert!(!text.contains("wwwoffle"), "{path}: {text}");
    }
    assert!(missed.is_empty(), "not answered from the spool:\n{}", missed.join("\n"));
    let queue: BTreeSet<_> = daemon.queued().into_iter().collect();
    assert!(queue.is_subset(&left_out), "{:?}", queue.difference(&left_out).collect::<Vec<_>>());
    assert_eq!(origin.seen().len() + elsewhere.seen().len(), asked, "an origin was asked");
}
