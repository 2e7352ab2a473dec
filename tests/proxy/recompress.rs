//! Pictures that are recompressed for the client, and those that are not.

use crate::harness::daemon::AS_PERSON;
use crate::harness::{After, Answer, Daemon, Origin, Response};

const AS_IMAGE: &str = "Accept: image/*\r\nSec-Fetch-Dest: image\r\n";
const RULE: &str = "[data-saver]\nrecompress-above = \"10 kB\"\n";

/// A picture with a soft pattern, as in photos.
fn png(side: u32, is_opaque: bool) -> Vec<u8> {
    let mut noise = 1_u32;
    let mut samples = Vec::new();
    for y in 0..side {
        for x in 0..side {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for channel in 1..4 {
                samples.push(((x * channel + y * 2) / 4 + (noise >> 29)).to_le_bytes()[0]);
            }
            samples.push(if is_opaque || x > y { 255 } else { 254 });
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&samples).unwrap();
    writer.finish().unwrap();
    bytes
}

fn picture(bytes: &[u8]) -> Answer {
    let answer = Answer::new(200, "image/png", bytes).field("ETag", "\"v1\"");
    answer.field("Cache-Control", "max-age=600")
}

fn get(daemon: &Daemon, url: &str, fields: &str) -> Response {
    daemon.client().get_with(url, fields).whole()
}

/// The type, the tag and whether the body is `original`.
fn form(got: &Response, original: &[u8]) -> (String, String, bool) {
    (got.field("Content-Type").to_owned(), got.field("ETag").to_owned(), got.body == original)
}

fn amended() -> (String, String, bool) {
    ("image/jpeg".to_owned(), "\"v1-wwwoffle-40\"".to_owned(), false)
}

fn unchanged() -> (String, String, bool) {
    ("image/png".to_owned(), "\"v1\"".to_owned(), true)
}

#[test]
fn pages_get_a_shorter_picture_and_persons_the_stored_one() {
    let (origin, original) = (Origin::start(), png(300, true));
    origin.say("/p.png", picture(&original).field("Digest", "sha-256=x"));
    let url = origin.url("/p.png");
    let daemon = Daemon::configured(RULE);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let got = get(&daemon, &url, AS_IMAGE);
        assert_eq!(form(&got, &original), amended(), "{mode}");
        assert!(got.body.len() < original.len() / 2 && got.body.starts_with(b"\xff\xd8"), "{mode}");
        assert_eq!(got.field("Cache-Control"), "max-age=600");
        assert_eq!(got.field("Vary"), "Accept, Sec-Fetch-Dest");
        for name in ["Digest", "Accept-Ranges", "Last-Modified"] {
            assert_eq!(got.fields.get(name), None, "{name}");
        }
        daemon.settle();
        // Opened itself, by a program, or reloaded without the cache of the browser.
        let reload = format!("{AS_IMAGE}Cache-Control: no-cache\r\n");
        let kept = format!("{AS_IMAGE}Cache-Control: no-transform\r\n");
        for fields in [AS_PERSON, "", &reload, &kept] {
            assert_eq!(
                form(&get(&daemon, &url, fields), &original),
                unchanged(),
                "{mode} {fields}"
            );
        }
        let part = get(&daemon, &url, &format!("{AS_IMAGE}Range: bytes=1-3\r\n"));
        assert_eq!((part.status, part.text().as_str()), (206, "PNG"), "{mode}");
        assert_eq!(part.field("ETag"), "\"v1\"");
        // The tag of the amended picture stands for the stored one.
        for (tag, status, own) in [
            ("\"v1-wwwoffle-40\"", 304, "\"v1-wwwoffle-40\""),
            ("\"v1\"", 304, "\"v1\""),
            ("\"v0\", \"v1-wwwoffle-40\"", 304, "\"v1-wwwoffle-40\""),
            ("\"v1-wwwoffle-60\"", 200, "\"v1-wwwoffle-40\""),
        ] {
            let got = get(&daemon, &url, &format!("{AS_IMAGE}If-None-Match: {tag}\r\n"));
            assert_eq!((got.status, got.field("ETag")), (status, own), "{mode} {tag}");
            let varies = got.field("Vary") == "Accept, Sec-Fetch-Dest";
            assert_eq!(varies, own.contains("wwwoffle"), "{mode} {tag}");
        }
        let own = "If-None-Match: \"v1-wwwoffle-40\"\r\n";
        assert_eq!(get(&daemon, &url, &format!("{AS_PERSON}{own}")).status, 200, "{mode}");
    }
    let stored = std::process::Command::output(&mut daemon.command(&["cat", &url])).unwrap();
    assert!(stored.stdout == original, "the stored copy is that of the origin");
}

#[test]
fn statistics_count_the_bytes_that_were_not_sent() {
    let (origin, original) = (Origin::start(), png(200, true));
    origin.say("/p.png", picture(&original));
    let daemon = Daemon::configured(RULE);
    let sent = get(&daemon, &origin.url("/p.png"), AS_IMAGE).body.len();
    let report: serde_json::Value =
        serde_json::from_slice(&daemon.api("GET", "/api/statistics", "").body).unwrap();
    let (today, unsent) = (&report["days"][0], original.len() - sent);
    assert_eq!((&today["unsent"], &today["given"]), (&unsent.into(), &sent.into()), "{today}");
    let told = daemon.page("/metrics").text();
    assert!(told.contains(&format!("wwwoffle_unsent_bytes_total {unsent}")), "{told}");
    assert!(daemon.page("/statistics/").text().contains("Not sent, because pictures"));
}

#[test]
fn pictures_that_cannot_be_recompressed_are_sent_as_they_are() {
    let (origin, good) = (Origin::start(), png(200, true));
    let mut huge = good.clone();
    // The width and the height in the header, and its checksum.
    huge[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    let sum = crc32fast::hash(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.to_be_bytes());
    let cut = &good[..good.len() / 2];
    let table: [(&str, Answer); 8] = [
        ("/transparent.png", picture(&png(200, false))),
        ("/huge.png", picture(&huge)),
        ("/cut.png", picture(cut)),
        ("/html.png", picture("<p>text".repeat(5_000).as_bytes())),
        ("/other.png", Answer::new(200, "image/jpeg", good.clone()).field("ETag", "\"v1\"")),
        ("/small.png", picture(&png(20, true))),
        ("/fixed.png", picture(&good).field("Cache-Control", "no-transform")),
        ("/error.png", Answer::new(404, "image/png", good.clone()).field("ETag", "\"v1\"")),
    ];
    let daemon = Daemon::configured(RULE);
    for (path, answer) in table {
        origin.say(path, answer.clone());
        for mode in ["online", "offline"] {
            daemon.ok(&[mode]);
            let got = get(&daemon, &origin.url(path), AS_IMAGE);
            if mode == "offline" && path == "/error.png" {
                continue;
            }
            assert!(got.body == answer.body, "{mode} {path}");
            assert_eq!((got.status, got.field("ETag")), (answer.status, "\"v1\""), "{mode} {path}");
            daemon.settle();
        }
    }
}

#[test]
fn a_picture_that_breaks_off_breaks_off_for_the_client() {
    let (origin, original) = (Origin::start(), png(200, true));
    let (length, sent) = (original.len(), original[..original.len() / 2].to_vec());
    origin.on("/p.png", move |exchange| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nCache-Control: no-store";
        exchange.send(format!("{head}\r\nContent-Length: {length}\r\n\r\n"))?;
        exchange.send(&sent)?;
        Ok(After::Close)
    });
    let daemon = Daemon::configured(&format!("{RULE}[caching]\nno-store = \"respect\"\n"));
    let mut client = daemon.client();
    let url = origin.url("/p.png");
    client.send(format!("GET {url} HTTP/1.1\r\nHost: {}\r\n{AS_IMAGE}\r\n", origin.addr));
    // The connection may close before the head is sent.
    let got = client.try_receive("GET");
    assert!(got.is_err() || got.is_ok_and(|got| got.whole.is_err()));
}

#[test]
#[ignore = "slow"]
fn many_pictures_at_once_are_all_recompressed() {
    let (origin, original) = (Origin::start(), png(600, true));
    let daemon = Daemon::configured(RULE);
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (path, daemon, original) = (format!("/{number}.png"), &daemon, &original);
            origin.say(&path, picture(original));
            let url = origin.url(&path);
            scope.spawn(move || {
                assert_eq!(form(&get(daemon, &url, AS_IMAGE), original), amended(), "{url}");
            });
        }
    });
}
