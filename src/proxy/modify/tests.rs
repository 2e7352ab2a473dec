use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use http_body_util::BodyExt;
use hyper::Version;
use wwwoffle_url::LocalHost;

use super::*;
use crate::proxy::body::from_bytes;

const DOCUMENT: (&str, &str) = ("sec-fetch-dest", "document");
const OLD_BROWSER: (&str, &str) = ("accept", "text/html,*/*;q=0.8");

fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
        })
        .collect()
}

fn modification(options: &str, method: &Method, request: &[(&str, &str)]) -> Option<Modification> {
    let text = format!("[modify-html]\n{options}\n");
    let config = Arc::new(Config::parse(&text, Path::new("w.conf")).unwrap());
    let url = CanonicalUrl::parse("http://a.example/x", &LocalHost::default()).unwrap();
    let owner = Owner::of(IpAddr::V4(Ipv4Addr::LOCALHOST), None);
    let mut head = ClientHead::new(method.clone(), Version::HTTP_11, fields(request));
    Modification::of(&config, Mode::Offline, &url, &owner, &mut head, None, false)
}

#[test]
fn only_pages_shown_to_a_person_are_modified() {
    let get = &Method::GET;
    let all = "enable-modify-html = true\nadd-cache-info = true\ndisable-style = true\n\
               disable-animated-gif = true\nanchor-cached-begin = \"+\"";
    let modified = |options: &str, method: &Method, request: &[(&str, &str)]| {
        let Some(made) = modification(options, method, request) else { return "nothing" };
        let marks = made.changes.as_ref().is_some_and(|changes| !changes.marks.is_empty());
        match (made.changes.is_some(), made.has_bar && marks, made.is_still) {
            (true, true, true) => "all",
            (true, false, true) => "a page in a frame",
            (false, false, true) => "an image",
            other => panic!("{other:?}"),
        }
    };
    for (request, want) in [
        (&[DOCUMENT][..], "all"),
        (&[OLD_BROWSER], "all"),
        (&[("sec-fetch-dest", "iframe")], "a page in a frame"),
        (&[("sec-fetch-dest", "image")], "an image"),
        (&[("accept", "image/*"), ("referer", "http://a.example/")], "an image"),
        // Requests by a script, for a style sheet, and by a program.
        (&[("sec-fetch-dest", "empty"), OLD_BROWSER], "nothing"),
        (&[("sec-fetch-dest", "style")], "nothing"),
        (&[("accept", "*/*")], "nothing"),
        (&[DOCUMENT, ("range", "bytes=0-1")], "nothing"),
        (&[DOCUMENT, ("cache-control", "no-transform")], "nothing"),
    ] {
        assert_eq!(modified(all, get, request), want, "{request:?}");
        assert_eq!(modified(all, &Method::HEAD, request), "nothing", "{request:?}");
        let off = all.replace("enable-modify-html = true", "");
        assert_eq!(modified(&off, get, request), "nothing", "{request:?}");
    }
    assert_eq!(modified("enable-modify-html = true", get, &[DOCUMENT]), "nothing");
}

#[test]
fn every_option_changes_something() {
    let options = [
        "disable-script",
        "disable-applet",
        "disable-style",
        "disable-blink",
        "disable-marquee",
        "disable-flash",
        "disable-iframe",
        "disable-meta-refresh",
        "disable-meta-refresh-self",
        "disable-meta-set-cookie",
        "disable-dontget-links",
        "disable-dontget-iframes",
        "replace-dontget-images",
        "replace-webbug-images",
        "demoronise-ms-chars",
        "fix-mixed-cyrillic",
    ];
    let markups = [
        "cached-begin",
        "cached-end",
        "requested-begin",
        "requested-end",
        "not-cached-begin",
        "not-cached-end",
    ];
    let lines = options.map(|name| format!("{name} = true")).into_iter();
    let lines = lines.chain(markups.map(|name| format!("anchor-{name} = \"<{name}>\"")));
    let mut seen = Vec::new();
    for line in lines {
        let made =
            modification(&format!("enable-modify-html = true\n{line}"), &Method::GET, &[DOCUMENT]);
        let changes = made.unwrap_or_else(|| panic!("{line}")).changes.unwrap();
        assert!(!seen.contains(&changes), "{line} does what another does");
        seen.push(changes);
    }
    let with = "enable-modify-html = true\nreplace-dontget-images = true\n\
                replacement-dontget-image = \"/local/x.gif\"";
    let made = modification(with, &Method::GET, &[DOCUMENT]).unwrap();
    assert_eq!(made.changes.unwrap().blocked_images.as_deref(), Some("/local/x.gif"));
}

#[test]
fn the_fields_match_the_sent_body() {
    let mut answer = fields(&[
        ("content-type", "text/html"),
        ("etag", "\"a\""),
        ("last-modified", "Fri, 20 Nov 2026 14:25:15 GMT"),
        ("content-length", "5"),
        ("repr-digest", "sha-256=:x:"),
        ("expires", "0"),
        ("cache-control", "max-age=60"),
        ("content-security-policy", "default-src 'self'"),
        ("content-security-policy", "img-src *"),
    ]);
    let bar = wwwoffle_html::rewrite::Bar { html: String::new(), style: "'sha256-x'".into() };
    let cuts = [Removal::Scripts].into();
    amend(&mut answer, &Changes { bar: Some(bar), cuts, ..Changes::default() });
    let want = fields(&[
        ("content-type", "text/html"),
        ("cache-control", "private, no-cache"),
        ("content-security-policy", "default-src 'self'; style-src-elem 'self' 'sha256-x'"),
        ("content-security-policy", "img-src *"),
    ]);
    assert_eq!(answer, want);
    let mut private = fields(&[("cache-control", "private, no-store")]);
    amend(&mut private, &Changes::default());
    assert_eq!(private, fields(&[("cache-control", "private, no-store")]));
}

#[tokio::test]
async fn an_image_ends_and_its_rest_is_not_waited_for() {
    let gif = b"GIF89a\x01\0\x01\0\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x01\0\0rest".to_vec();
    let sent = body::image(from_bytes(gif.clone()), FirstFrame::default());
    let sent = sent.collect().await.unwrap().to_bytes();
    assert_eq!(sent.as_ref(), [&gif[..gif.len() - 4], b"\x3b"].concat());
}
