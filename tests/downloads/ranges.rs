//! Ranges of stored copies: the response has exactly the requested bytes, wherever they are stored.

use std::process::Command;

use crate::harness::daemon::output;
use crate::harness::{Answer, Client, Daemon, Origin, PATIENCE, Response, eventually, heavy, site};

const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// A file of 1,000 bytes with a strong validator.
fn file() -> (Vec<u8>, Answer) {
    let body = site::noise(3, 1000);
    let answer = Answer::new(200, "video/webm", body.clone())
        .field("ETag", "\"one\"")
        .field("Last-Modified", OLD);
    (body, answer)
}

/// Starts a daemon that has stored `/file` and is offline. Returns the daemon, the URL and the
/// body.
fn kept() -> (Daemon, String, Vec<u8>) {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let (body, answer) = file();
    origin.say("/file", answer);
    let url = origin.url("/file");
    assert_eq!(daemon.get(&url).body, body);
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    (daemon, url, body)
}

#[track_caller]
pub(crate) fn range(client: &mut Client, url: &str, range: &str) -> Response {
    client.get_with(url, &format!("Range: {range}\r\n")).whole()
}

/// The parts of a `multipart/byteranges`, each with its `Content-Range`.
#[track_caller]
pub(crate) fn parts(response: &Response) -> Vec<(String, Vec<u8>)> {
    let kind = response.field("Content-Type");
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect(kind);
    let delimiter = format!("--{boundary}");
    let find =
        |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|window| window == what);
    let (mut parts, mut rest) = (Vec::new(), response.body.as_slice());
    while let Some(at) = find(rest, delimiter.as_bytes()) {
        rest = &rest[at + delimiter.len()..];
        if rest == b"--\r\n" {
            return parts;
        }
        let head = find(rest, b"\r\n\r\n").expect("a part has a head");
        let text = String::from_utf8(rest[..head].to_vec()).unwrap();
        assert!(text.contains("Content-Type: video/webm"), "{text}");
        let range = text.split("Content-Range: bytes ").nth(1).expect("it has a Content-Range");
        rest = &rest[head + 4..];
        let end = find(rest, format!("\r\n{delimiter}").as_bytes()).expect("a part ends");
        parts.push((range.to_owned(), rest[..end].to_vec()));
    }
    panic!("it does not end: {:?}", String::from_utf8_lossy(&response.body));
}

#[test]
fn a_range_of_a_stored_body_is_served_offline() {
    let (daemon, url, body) = kept();
    let mut client = daemon.client();
    for (asked, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=10-19", 10, 19),
        ("bytes=990-", 990, 999),
        ("bytes=-10", 990, 999),
        ("bytes=-5000", 0, 999),
        ("bytes=0-", 0, 999),
        ("bytes=900-99999999999999999999", 900, 999),
        ("bytes=10-14,12-19", 10, 19),
    ] {
        let response = range(&mut client, &url, asked);
        assert_eq!(response.status, 206, "{asked}");
        assert_eq!(response.field("Content-Range"), format!("bytes {first}-{last}/1000"));
        assert_eq!(response.field("Content-Type"), "video/webm");
        assert_eq!(response.field("ETag"), "\"one\"");
        assert_eq!(response.field("Accept-Ranges"), "bytes");
        assert_eq!(response.field("Cache-Status"), "wwwoffle; hit; detail=offline");
        assert_eq!(response.body, body[first..=last], "{asked}");
    }
    let whole = client.get(&url).whole();
    assert_eq!((whole.status, whole.field("Accept-Ranges")), (200, "bytes"));
}

#[test]
fn several_ranges_are_served_as_multipart_with_a_length() {
    let (daemon, url, body) = kept();
    let mut client = daemon.client();
    for (asked, want) in [
        ("bytes=0-9,500-509", vec![(0, 9), (500, 509)]),
        ("bytes=-1,0-0", vec![(999, 999), (0, 0)]),
        ("bytes=0-9,2000-,300-309", vec![(0, 9), (300, 309)]),
    ] {
        let response = range(&mut client, &url, asked);
        assert_eq!(response.status, 206, "{asked}");
        assert!(!response.fields.has("Content-Range"));
        assert_eq!(response.field("Content-Length"), response.body.len().to_string());
        let got = parts(&response);
        let want: Vec<_> = want
            .into_iter()
            .map(|(first, last): (usize, usize)| {
                (format!("{first}-{last}/1000"), body[first..=last].to_vec())
            })
            .collect();
        assert_eq!(got, want, "{asked}");
    }
}

#[test]
fn an_unsatisfiable_range_gets_416_and_an_invalid_one_the_whole_body() {
    let (daemon, url, body) = kept();
    let mut client = daemon.client();
    let many: Vec<_> = (0..200).map(|at| format!("{at}-{at}")).collect();
    for asked in [
        "bytes=9-3".to_owned(),
        "bytes=abc".to_owned(),
        "lines=1-2".to_owned(),
        "bytes=0-99,200-".to_owned(),
        format!("bytes={}", many.join(",")),
    ] {
        let response = range(&mut client, &url, &asked);
        assert_eq!((response.status, response.body == body), (200, true), "{asked}");
        assert!(!response.fields.has("Content-Range"), "{asked}");
    }
    let twice = client.get_with(&url, "Range: bytes=0-1\r\nRange: bytes=2-3\r\n").whole();
    assert_eq!((twice.status, twice.body.len()), (200, 1000));
    for asked in ["bytes=1000-", "bytes=5000-6000", "bytes=-0", "bytes=1000-,2000-"] {
        let response = range(&mut client, &url, asked);
        assert_eq!(response.status, 416, "{asked}");
        assert_eq!(response.field("Content-Range"), "bytes */1000");
        assert_eq!((response.field("Content-Length"), response.body.len()), ("0", 0));
        assert!(!response.fields.has("Content-Type"));
    }
    // RFC 9110 §14.2: ranges apply to GET only.
    client.send(crate::harness::client::request("HEAD", &url, "Range: bytes=0-9\r\n"));
    let head = client.receive("HEAD").whole();
    assert_eq!((head.status, head.field("Content-Length")), (200, "1000"));
    assert!(!head.fields.has("Content-Range"));
}

#[test]
fn if_range_and_conditions_decide_between_range_and_body() {
    let (daemon, url, body) = kept();
    let mut client = daemon.client();
    let later = "Mon, 07 Nov 1994 08:49:37 GMT";
    for (fields, want) in [
        ("If-Range: \"one\"".to_owned(), 206),
        (format!("If-Range: {OLD}"), 206),
        ("If-Range: \"two\"".to_owned(), 200),
        ("If-Range: W/\"one\"".to_owned(), 200),
        (format!("If-Range: {later}"), 200),
        ("If-Range: rubbish".to_owned(), 200),
        ("If-Match: \"one\"".to_owned(), 206),
        ("If-Match: \"two\"".to_owned(), 412),
        (format!("If-Unmodified-Since: {later}"), 206),
        ("If-Unmodified-Since: Sat, 05 Nov 1994 08:49:37 GMT".to_owned(), 412),
        // The client's copy is still valid, so the range is not evaluated (RFC 9110 §13.2.2).
        ("If-None-Match: \"one\"".to_owned(), 304),
        ("If-None-Match: \"two\"".to_owned(), 206),
    ] {
        let asked = format!("Range: bytes=500-599\r\n{fields}\r\n");
        let response = client.get_with(&url, &asked).whole();
        assert_eq!(response.status, want, "{fields}");
        match want {
            200 => assert_eq!(response.body, body, "{fields}"),
            206 => assert_eq!(response.body, body[500..600], "{fields}"),
            _ => assert!(response.body.is_empty(), "{fields}"),
        }
    }
}

#[test]
fn a_range_of_a_fresh_copy_is_served_online_without_a_fetch() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let (body, answer) = file();
    origin.say("/file", answer);
    let (url, mut client) = (origin.url("/file"), daemon.client());
    client.get(&url).whole();
    daemon.settle();
    let response = range(&mut client, &url, "bytes=10-19");
    assert_eq!((response.status, &response.body[..]), (206, &body[10..20]));
    for asked in origin.asked("/file").iter().skip(1) {
        assert_eq!(asked.fields.get("If-None-Match"), Some("\"one\""));
        assert_eq!(asked.fields.get("Range"), Some("bytes=10-19"), "as the client said it");
    }
    // The result is the same if the origin cannot be reached.
    origin.stop();
    let response = range(&mut client, &url, "bytes=-5");
    assert_eq!((response.status, &response.body[..]), (206, &body[995..]));
}

#[test]
fn a_whole_response_to_a_range_request_is_stored() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(4, 5000);
    origin.say("/no/ranges", Answer::new(200, "text/plain", body.clone()));
    let (url, mut client) = (origin.url("/no/ranges"), daemon.client());
    let response = range(&mut client, &url, "bytes=10-19");
    assert_eq!((response.status, response.body == body), (200, true));
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let response = range(&mut client, &url, "bytes=10-19");
    assert_eq!((response.status, &response.body[..]), (206, &body[10..20]));
}

#[test]
#[ignore = "needs curl"]
fn curl_receives_the_requested_ranges() {
    let (daemon, url, body) = kept();
    let curl = |arguments: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--noproxy", "", "-x", &format!("http://{}", daemon.addr())]);
        output(
            {
                curl.args(arguments).arg(&url);
                curl
            },
            None,
            PATIENCE,
        )
    };
    for (asked, want) in
        [("0-9", &body[..10]), ("990-", &body[990..]), ("-7", &body[993..]), ("0-", &body[..])]
    {
        let got = curl(&["-r", asked]);
        assert!(got.stdout == want, "-r {asked}: {}", String::from_utf8_lossy(&got.stderr));
    }
    let file = daemon.home().join("half");
    std::fs::write(&file, &body[..400]).unwrap();
    let name = file.to_str().unwrap();
    let got = curl(&["-C", "-", "-o", name]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert!(std::fs::read(&file).unwrap() == body, "it continued at the right offset");
    let several = String::from_utf8_lossy(&curl(&["-r", "0-0,-1"]).stdout).into_owned();
    assert!(several.contains("Content-Range: bytes 999-999/1000"), "{several}");
}

/// Many seeks in a large file, one after the other and concurrently. Each reads only the requested
/// bytes, and the file is never in memory as a whole.
#[test]
fn seeking_in_a_large_file_reads_only_the_requested_bytes() {
    let _alone = heavy();
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let url = origin.url(&format!("/big/{}", site::BIG));
    daemon.client().get(&url).whole();
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let mut want = Vec::new();
    site::Pattern::new()
        .pieces(site::BIG, |piece| {
            want.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    let mut client = daemon.client();
    for first in [0, 52_428_799, 1, 1_048_575, 1_048_576, 33_554_431, 40_000_000, 17] {
        let last = (first + 99_999).min(want.len() - 1);
        let response = range(&mut client, &url, &format!("bytes={first}-{last}"));
        assert_eq!(response.field("Content-Range"), format!("bytes {first}-{last}/{}", want.len()));
        assert!(response.body == want[first..=last], "{first}");
    }
    let stuck: Vec<_> = (0..8)
        .map(|number| {
            let mut client = daemon.client();
            client.ask(&url, &format!("Range: bytes={number}-\r\n"));
            let (_, head) = client.final_head().unwrap();
            assert_eq!(head.status, 206);
            client
        })
        .collect();
    let tail = range(&mut client, &url, "bytes=-1000");
    assert!(tail.body == want[want.len() - 1000..]);
    drop(stuck);
    let memory = daemon.peak_kib();
    assert!(memory < 40 * 1024, "{memory} KiB");
}

#[test]
fn a_damaged_file_never_serves_a_complete_range() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(5, 3 << 20);
    origin.say("/large", Answer::new(200, "video/webm", body.clone()));
    let url = origin.url("/large");
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    daemon.down();
    origin.stop();
    let file = crate::harness::files(&daemon.spool().join("http")).pop().expect("it is stored");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    daemon.up();
    // A range far from the damage is still served.
    let mut client = daemon.client();
    assert!(range(&mut client, &url, "bytes=0-99").body == body[..100]);
    let mut client = daemon.client();
    client.ask(&url, "Range: bytes=1000000-2000000\r\n");
    let broken = client.try_receive("GET");
    assert!(broken.is_err() || broken.unwrap().whole.is_err());
    eventually("it is moved aside", || daemon.client().get(&url).status == 504);
}
