//! A HAR of a visit can be imported. Chromium visits a site without the proxy, and the test makes a
//! HAR as its developer tools would ([`crate::harness::har`]). The imported content is compared
//! byte for byte.
//!
//! The bytes differ from those of the origin only if the browser has decoded them: codings are
//! removed, and text in another encoding has become UTF-8. A body that the browser itself has not
//! stored completely is not imported.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::harness::{
    Answer, Authority, Chromium, Daemon, Manners, Origin, Speaks, TlsOrigin, heavy, site,
};
use crate::site::browser::browser;

/// A page that names an icon. Otherwise the browser could request `/favicon.ico` at any time, and
/// the visit could end before the response.
const PAGE: &str = "<!DOCTYPE html><meta charset=utf-8><title>Visited</title><link rel=icon href=data:,>\
    <link rel=stylesheet href=/moved.css><script src=/code.js></script><body>\
    <p>caf\u{e9} \u{1f980}</p><img src=/picture.png><img src=/drawn.svg><img src=/unfit.png>\
    <img src=/gone.png><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>\
    <iframe src=/latin.html></iframe><script>\
    const get = path => fetch(path).then(answer => answer.arrayBuffer());\
    Promise.all([get('/data.json?a=1&b=%20'), get('/raw.bin'), get('/big.bin'), get('/begins.txt'),\
      get('/nul.txt'), get('/broken.txt'), get('/empty'), get('/nothing.txt'), get('/cookie'),\
      get('/public.txt'),\
      fetch('/form', {method: 'POST', body: new URLSearchParams('a=\u{e9}&b=2')}).then(answer => answer.text())])\
      .then(() => document.body.id = 'done', why => document.title = why);</script>";

/// A path, its response, and the body after decoding by the browser.
type Row = (&'static str, Answer, Vec<u8>);

fn rows() -> Vec<Row> {
    let latin = b"<meta charset=iso-8859-1><p>caf\xe9</p>";
    let latin_read = "<meta charset=iso-8859-1><p>caf\u{e9}</p>";
    let drawn = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>";
    let (css, script) = ("p { color: #123 } /* \u{fc} */\n", "window.ran = '\u{4e16}\u{754c}';\n");
    let packed = Answer::html(site::gzip(PAGE.as_bytes())).field("Content-Encoding", "gzip");
    let (plain, marked) = ("text/plain; charset=utf-8", "\u{feff}begins\r\nso\n");
    let public = Answer::new(200, plain, "everyone's").field("Cache-Control", "public, max-age=9");
    let cookie = Answer::html("<p>A cookie.").field("Set-Cookie", "a=1");
    let same = |path, kind: &str, body: &[u8]| (path, Answer::new(200, kind, body), body.to_vec());
    vec![
        ("/", packed.chunked(), PAGE.into()),
        same("/real.css", "text/css", css.as_bytes()),
        same("/code.js", "text/javascript", script.as_bytes()),
        same("/picture.png", "image/png", &picture()),
        same("/drawn.svg", "image/svg+xml", drawn),
        ("/latin.html", Answer::new(200, "text/html", latin), latin_read.into()),
        same("/data.json?a=1&b=%20", "application/json", b"{\"a\": [1, \"\\u00e9\"]}"),
        same("/raw.bin", "application/octet-stream", &site::noise(5, 3_000)),
        same("/big.bin", "application/octet-stream", &site::noise(6, 3 << 20)),
        // The byte order mark is not part of the text.
        ("/begins.txt", Answer::new(200, plain, marked), marked.as_bytes()[3..].to_vec()),
        same("/nul.txt", plain, b"a\0b\x01\x1f\x7fc"),
        same("/broken.txt", plain, b"a\xff\xfeb\xc3"),
        same("/nothing.txt", plain, b""),
        ("/public.txt", public, b"everyone's".into()),
        ("/cookie", cookie, b"<p>A cookie.".into()),
        ("/gone.png", Answer::html("<p>Gone.").with_status(404), b"<p>Gone.".into()),
        ("/empty", Answer::new(204, "", ""), Vec::new()),
    ]
}

/// A valid picture: 64 by 64 pixels of noise.
fn picture() -> Vec<u8> {
    let mut pixels = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for row in 0..64 {
        pixels.write_all(&[&[0], &*site::noise(row + 1, 64 * 3)].concat()).unwrap();
    }
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = b"\0\0\0\x40\0\0\0\x40\x08\x02\0\0\0".to_vec();
    for (name, data) in [(b"IHDR", head), (b"IDAT", pixels.finish().unwrap()), (b"IEND", vec![])] {
        let chunk = [name.as_slice(), &data].concat();
        picture.extend((data.len() as u32).to_be_bytes());
        picture.extend_from_slice(&chunk);
        picture.extend(crc32fast::hash(&chunk).to_be_bytes());
    }
    picture
}

fn furnish(origin: &Origin) {
    for (path, answer, _) in rows() {
        origin.say(path, answer);
    }
    origin.say("/before.html", Answer::html("<link rel=icon href=data:,><p>Before."));
    origin.say("/moved.css", Answer::redirect(302, "/real.css"));
    // The browser discards the bytes of a picture that it cannot show.
    origin.say("/unfit.png", Answer::new(200, "image/png", site::noise(7, 900)));
    origin.say("/form", Answer::html("<p>Thanks."));
}

/// Makes the browser visit the site and returns the HAR.
#[track_caller]
fn visit(program: &Path, base: &str) -> Value {
    let mut chromium = Chromium::direct(program, &["--ignore-certificate-errors"]);
    // The test acts like a person who opens the developer tools on one page and then opens the
    // site.
    chromium.open(&format!("{base}/before.html"));
    chromium.listen();
    chromium.open(&format!("{base}/"));
    chromium.until("document.body.id == 'done'", "everything is loaded");
    chromium.har("the page")
}

#[test]
#[ignore = "needs chromium"]
fn a_har_file_of_chromium_is_imported_byte_for_byte() {
    let program = browser();
    let _machine = heavy();
    let (mut plain, authority) = (Origin::start(), Authority::new());
    let manners = Manners { speaks: Speaks::Http2, ..Manners::default() };
    let mut secure = TlsOrigin::with_manners(authority.identity(&["127.0.0.1"]), manners);
    furnish(&plain);
    furnish(&secure.origin);
    let bases = [(plain.url(""), "http/1.1"), (secure.url(""), "h2")];
    let visited = bases.map(|(base, version)| (visit(&program, &base), base, version));
    plain.stop();
    secure.stop();
    for (har, base, version) in visited {
        let first = &har["log"]["entries"][0];
        assert_eq!(first["response"]["httpVersion"], version, "{first}");
        let place = Daemon::prepare(None);
        let file = place.home().join("visit.har");
        std::fs::write(&file, har.to_string()).unwrap();
        let ran = place.run(&["import", "--json", file.to_str().unwrap()]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let told = ran.json();
        assert!(told["kept"].as_u64().unwrap() >= rows().len() as u64 + 2, "{told}");
        for refused in told["refusals"].as_array().unwrap() {
            let (name, why) = (refused["name"].as_str().unwrap(), &refused["reason"]);
            assert!(name.ends_with("/unfit.png") && *why == "its body is incomplete", "{told}");
        }
        assert!(told["refused"].as_u64().unwrap() >= 1, "{told}");
        read_back(place, &base);
    }
}

/// Requests the page and all sub-resources offline, and compares the bodies with those of `rows`.
#[track_caller]
fn read_back(mut place: Daemon, base: &str) {
    place.up();
    place.ok(&["offline"]);
    for (path, answer, want) in rows() {
        let response = place.get(&format!("{base}{path}")).whole();
        assert_eq!(response.status, answer.status, "{path}: {response:?}");
        assert!(
            response.body == want,
            "{path}: {:?} … for {:?} …",
            response.text(),
            want.get(..80)
        );
        assert_eq!(response.field("Content-Encoding"), "", "{path}");
        assert!(response.field("Cache-Status").contains("hit; detail=offline"), "{path}");
    }
    let moved = place.get(&format!("{base}/moved.css")).whole();
    assert_eq!((moved.status, moved.field("Location")), (302, "/real.css"), "{moved:?}");
    let latin = place.get(&format!("{base}/latin.html"));
    assert_eq!(latin.field("Content-Type"), "text/html; charset=utf-8");
    assert_eq!(place.get(&format!("{base}/unfit.png")).status, 504);
    // The response to a form is found by the digest of the form's body.
    let sent = Sha256::digest("a=%C3%A9&b=2");
    let thanks = place.get(&format!("{base}/form?!POST:{}", hex::encode(sent))).whole();
    assert_eq!((thanks.status, thanks.text().as_str()), (200, "<p>Thanks."), "{thanks:?}");
}
