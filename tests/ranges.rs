//! Ranges of what is kept: what comes is what was asked for, from wherever it is kept.

use std::process::Command;
use std::sync::Arc;

use crate::harness::daemon::output;
use crate::harness::{
    After, Answer, Client, Daemon, Gate, Origin, PATIENCE, Response, eventually, heavy, site,
};

const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// A file of 1,000 bytes with a strong validator.
fn file() -> (Vec<u8>, Answer) {
    let body = site::noise(3, 1000);
    let answer = Answer::new(200, "video/webm", body.clone())
        .field("ETag", "\"one\"")
        .field("Last-Modified", OLD);
    (body, answer)
}

/// Keeps `/file` and goes offline.
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
fn range(client: &mut Client, url: &str, range: &str) -> Response {
    client.get_with(url, &format!("Range: {range}\r\n")).whole()
}

/// The parts of a `multipart/byteranges`, each with its `Content-Range`.
#[track_caller]
fn parts(response: &Response) -> Vec<(String, Vec<u8>)> {
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
        let range = text.split("Content-Range: bytes ").nth(1).expect("it says which bytes");
        rest = &rest[head + 4..];
        let end = find(rest, format!("\r\n{delimiter}").as_bytes()).expect("a part ends");
        parts.push((range.to_owned(), rest[..end].to_vec()));
    }
    panic!("it does not end: {:?}", String::from_utf8_lossy(&response.body));
}

#[test]
fn a_part_of_what_is_kept_is_answered_offline() {
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
fn several_parts_come_as_a_multipart_whose_length_was_told() {
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
fn what_is_no_range_of_it_gets_the_whole_or_is_told() {
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
    // RFC 9110 §14.2: other methods have no ranges.
    client.send(crate::harness::client::request("HEAD", &url, "Range: bytes=0-9\r\n"));
    let head = client.receive("HEAD").whole();
    assert_eq!((head.status, head.field("Content-Length")), (200, "1000"));
    assert!(!head.fields.has("Content-Range"));
}

#[test]
fn a_part_is_only_for_who_has_the_rest_of_the_same() {
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
        // The client's copy is the one we have: it needs no part of it (RFC 9110 §13.2.2).
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
fn online_a_part_of_what_still_holds_is_not_fetched() {
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
    // And when nobody can be asked.
    origin.stop();
    let response = range(&mut client, &url, "bytes=-5");
    assert_eq!((response.status, &response.body[..]), (206, &body[995..]));
}

#[test]
fn an_origin_that_sends_the_whole_for_a_part_has_it_kept() {
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
fn curl_gets_what_it_asks_for() {
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
    assert!(std::fs::read(&file).unwrap() == body, "it went on where it ended");
    let several = String::from_utf8_lossy(&curl(&["-r", "0-0,-1"]).stdout).into_owned();
    assert!(several.contains("Content-Range: bytes 999-999/1000"), "{several}");
}

/// One seek after the other in a large file, and many at once: bytes from anywhere, in no memory.
#[test]
fn seeking_in_a_large_file_reads_what_is_asked_for() {
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
    assert!(memory < 64 * 1024, "{memory} KiB");
}

#[test]
fn a_damaged_file_never_gives_a_whole_part() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(5, 3 << 20);
    origin.say("/large", Answer::new(200, "video/webm", body.clone()));
    let url = origin.url("/large");
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    daemon.down();
    origin.stop();
    let file = crate::harness::files(&daemon.spool().join("http")).pop().expect("it is kept");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    daemon.up();
    // What is far from the damage is sound.
    let mut client = daemon.client();
    assert!(range(&mut client, &url, "bytes=0-99").body == body[..100]);
    let mut client = daemon.client();
    client.ask(&url, "Range: bytes=1000000-2000000\r\n");
    let broken = client.try_receive("GET");
    assert!(broken.is_err() || broken.unwrap().whole.is_err());
    eventually("it is set aside", || daemon.client().get(&url).status == 504);
}

/// An origin that has ranges of a body, under these fields, as an origin should.
fn ranged(origin: &Origin, path: &str, body: Vec<u8>, fields: &str) {
    let fields = fields.to_owned();
    origin.on(path, move |exchange| {
        let asked = exchange.seen.fields.clone();
        let tag = fields.split("ETag: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        if tag.is_some() && asked.get("If-None-Match") == tag {
            exchange.send(format!("HTTP/1.1 304 Same\r\n{fields}\r\n"))?;
            return Ok(After::Keep);
        }
        let range = asked.get("Range").and_then(|range| span(range, body.len()));
        let range = range.filter(|_| asked.get("If-Range").is_none_or(|given| Some(given) == tag));
        let (status, span) = range.map_or((200, 0..body.len()), |span| (206, span));
        let content_range = if status == 206 {
            format!("Content-Range: bytes {}-{}/{}\r\n", span.start, span.end - 1, body.len())
        } else {
            String::new()
        };
        let length = span.len();
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        exchange.send(format!(
            "HTTP/1.1 {status} Said\r\nDate: {date}\r\nContent-Type: video/webm\r\n\
             {fields}{content_range}Content-Length: {length}\r\n\r\n"
        ))?;
        exchange.send(&body[span])?;
        Ok(After::Keep)
    });
}

/// `bytes=first-last`, `bytes=first-` or `bytes=-length`.
fn span(range: &str, length: usize) -> Option<std::ops::Range<usize>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some(match (first.parse().ok(), last.parse::<usize>().ok()) {
        (Some(first), Some(last)) => first..(last + 1).min(length),
        (Some(first), None) => first..length,
        (None, last) => length - last?..length,
    })
}

/// What is kept of a URL, once it is: that is a moment after it was sent. Nothing is queued by this.
#[track_caller]
fn soon(daemon: &Daemon, url: &str, fields: &str) -> Response {
    let mut got = None;
    eventually(&format!("it is kept: {url} {fields}"), || {
        let fields = format!("Cache-Control: only-if-cached\r\n{fields}");
        let response = daemon.client().get_with(url, &fields).whole();
        let done = response.status != 504;
        got = Some(response);
        done
    });
    got.expect("it was asked for")
}

/// A part of it, once that is kept.
#[track_caller]
fn soon_part(daemon: &Daemon, url: &str, asked: &str) -> Response {
    let response = soon(daemon, url, &format!("Range: {asked}\r\n"));
    assert_eq!(response.status, 206, "{asked}");
    response
}

#[test]
fn a_part_that_was_fetched_is_there_offline_and_what_is_not_is_queued() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(6, 10_000);
    ranged(&origin, "/film", body.clone(), "ETag: \"a\"\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    let response = range(&mut client, &url, "bytes=1000-1999");
    assert_eq!((response.status, &response.body[..]), (206, &body[1000..2000]));
    assert_eq!(response.field("Content-Range"), "bytes 1000-1999/10000");
    assert_eq!(response.field("Cache-Status"), "wwwoffle; fwd=miss; fwd-status=206; stored");
    range(&mut client, &url, "bytes=2000-2499");
    daemon.ok(&["offline"]);
    origin.stop();
    let joined = soon_part(&daemon, &url, "bytes=1500-2400");
    assert_eq!(joined.body, body[1500..=2400], "of two parts");
    for (asked, first, last) in [("bytes=1000-1999", 1000, 1999), ("bytes=2499-2499", 2499, 2499)] {
        let response = range(&mut client, &url, asked);
        assert_eq!((response.status, &response.body[..]), (206, &body[first..=last]));
        assert_eq!(response.field("Cache-Status"), "wwwoffle; hit; detail=offline");
    }
    let several = range(&mut client, &url, "bytes=1000-1009,2400-2409");
    let want = [("1000-1009/10000", 1000..1010), ("2400-2409/10000", 2400..2410)];
    let want = want.map(|(range, span)| (range.to_owned(), body[span].to_vec()));
    assert_eq!(parts(&several), want);
    assert!(daemon.queued().is_empty(), "{:?}", daemon.queued());
    for fields in ["", "Range: bytes=0-\r\n", "Range: bytes=999-1000\r\n", "Range: bytes=-1\r\n"] {
        let response = client.get_with(&url, fields).whole();
        assert_eq!(response.status, 504, "{fields}: parts are never sent as the whole");
        assert_eq!(daemon.queued(), std::slice::from_ref(&url));
    }
}

#[test]
fn parts_that_still_hold_are_not_fetched_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let body = site::noise(7, 10_000);
    ranged(&origin, "/film", body.clone(), "ETag: \"a\"\r\nCache-Control: no-cache\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    range(&mut client, &url, "bytes=0-4999");
    eventually("a part is validated", || {
        let response = range(&mut daemon.client(), &url, "bytes=10-19");
        assert_eq!((response.status, &response.body[..]), (206, &body[10..20]));
        response.field("Cache-Status") == "wwwoffle; fwd=stale; fwd-status=304"
    });
    assert_eq!(origin.asked("/film").last().unwrap().fields.get("If-None-Match"), Some("\"a\""));
}

#[test]
fn all_parts_make_a_whole() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(8, 3000);
    ranged(&origin, "/film", body.clone(), "ETag: \"a\"\r\nX-Own: 1\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    for asked in ["bytes=2000-", "bytes=0-999", "bytes=900-2100"] {
        assert_eq!(range(&mut client, &url, asked).status, 206);
    }
    soon(&daemon, &url, "");
    daemon.ok(&["offline"]);
    origin.stop();
    let whole = client.get(&url).whole();
    assert_eq!((whole.status, whole.body == body), (200, true));
    assert_eq!((whole.field("Content-Length"), whole.field("X-Own")), ("3000", "1"));
    assert!(!whole.fields.has("Content-Range"));
}

#[test]
fn parts_of_a_file_that_has_changed_are_never_mixed() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let (old, new) = (site::noise(9, 2000), site::noise(10, 2000));
    ranged(&origin, "/film", old, "ETag: \"a\"\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    range(&mut client, &url, "bytes=0-999");
    soon_part(&daemon, &url, "bytes=0-999");
    ranged(&origin, "/film", new.clone(), "ETag: \"b\"\r\n");
    let second = range(&mut client, &url, "bytes=1000-1999");
    assert_eq!((second.status, &second.body[..]), (206, &new[1000..]));
    daemon.ok(&["offline"]);
    origin.stop();
    let second = soon_part(&daemon, &url, "bytes=1000-1999");
    assert_eq!(second.body, new[1000..]);
    assert_eq!(range(&mut client, &url, "bytes=0-999").status, 504, "that was of the other");
    assert_eq!(client.get(&url).status, 504);
}

#[test]
fn parts_without_a_strong_validator_stand_for_themselves() {
    for fields in ["", "ETag: W/\"a\"\r\n", "Last-Modified: rubbish\r\n"] {
        let (daemon, mut origin) = (Daemon::start(), Origin::start());
        let body = site::noise(11, 2000);
        ranged(&origin, "/film", body.clone(), fields);
        let (url, mut client) = (origin.url("/film"), daemon.client());
        range(&mut client, &url, "bytes=0-999");
        soon_part(&daemon, &url, "bytes=0-999");
        range(&mut client, &url, "bytes=1000-1999");
        daemon.ok(&["offline"]);
        origin.stop();
        let last = soon_part(&daemon, &url, "bytes=1000-1999");
        assert_eq!(last.body, body[1000..], "{fields}");
        assert_eq!(range(&mut client, &url, "bytes=500-1500").status, 504, "{fields}");
        assert_eq!(client.get(&url).status, 504, "{fields}");
    }
}

/// Answers that say what cannot be. The client gets what came; nothing of it is ever served to others.
#[test]
fn a_hostile_content_range_is_passed_on_and_not_kept() {
    let body = site::noise(12, 100);
    for (number, content_range) in (0..).zip([
        "bytes 0-99/50",
        "bytes 99-0/1000",
        "bytes 0-98/1000",
        "bytes 0-100/1000",
        "bytes 0-99/99999999999999999999999",
        "bytes 18446744073709551516-18446744073709551615/*",
        "bytes */1000",
        "bytes 0-99",
        "lines 0-99/1000",
        "bytes 0-99/1000\r\nContent-Range: bytes 100-199/1000",
        "rubbish",
        "",
    ]) {
        let (daemon, mut origin) = (Daemon::start(), Origin::start());
        let path = format!("/bad/{number}");
        let answer = Answer::new(206, "video/webm", body.clone()).field("ETag", "\"a\"");
        let answer = match content_range {
            "" => answer,
            text => answer.field("Content-Range", text),
        };
        origin.say(&path, answer);
        let (url, mut client) = (origin.url(&path), daemon.client());
        let response = range(&mut client, &url, "bytes=0-99");
        assert_eq!((response.status, response.body == body), (206, true), "{content_range}");
        assert!(response.field("Cache-Status").contains("detail=partial"), "{content_range}");
        daemon.ok(&["offline"]);
        origin.stop();
        assert_eq!(range(&mut client, &url, "bytes=0-99").status, 504, "{content_range}");
        assert_eq!(client.get(&url).status, 504, "{content_range}");
    }
}

/// The end was asked for and came; only its place is counted wrong. It is good for what lies in it.
#[test]
fn an_end_that_is_counted_wrong_stands_for_itself() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let answer = Answer::new(206, "text/plain", "01234").field("ETag", "\"a\"");
    origin.say("/odd", answer.field("Content-Range", "bytes 4-9/10"));
    let (url, mut client) = (origin.url("/odd"), daemon.client());
    let passed = range(&mut client, &url, "bytes=-5");
    assert_eq!(passed.field("Content-Range"), "bytes 4-9/10", "as it came");
    soon_part(&daemon, &url, "bytes=-5");
    daemon.ok(&["offline"]);
    origin.stop();
    for (asked, want) in
        [("bytes=-5", "01234"), ("bytes=6-8", "234"), ("bytes=6-", "234"), ("bytes=-1", "4")]
    {
        let response = range(&mut client, &url, asked);
        assert_eq!((response.status, response.text().as_str()), (206, want), "{asked}");
    }
    for asked in ["bytes=0-4", "bytes=0-", "bytes=-6"] {
        assert_eq!(range(&mut client, &url, asked).status, 504, "{asked}");
    }
}

#[test]
fn a_part_that_nobody_asked_for_or_that_is_larger_is_what_it_says() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let body = site::noise(13, 1000);
    let part = |first: usize, last: usize| {
        Answer::new(206, "video/webm", &body[first..=last])
            .field("ETag", "\"a\"")
            .field("Content-Range", &format!("bytes {first}-{last}/1000"))
    };
    origin.say("/unasked", part(0, 499));
    origin.say("/larger", part(100, 799));
    let mut client = daemon.client();
    let response = client.get(&origin.url("/unasked")).whole();
    assert_eq!((response.status, response.body.len()), (206, 500));
    let response = range(&mut client, &origin.url("/larger"), "bytes=200-299");
    assert_eq!((response.status, response.body.len()), (206, 700));
    assert_eq!(response.field("Content-Range"), "bytes 100-799/1000");
    daemon.ok(&["offline"]);
    origin.stop();
    let kept = soon_part(&daemon, &origin.url("/larger"), "bytes=750-799");
    assert_eq!(kept.body, body[750..800]);
    assert_eq!(range(&mut client, &origin.url("/larger"), "bytes=800-800").status, 504);
    for asked in ["bytes=0-9", "bytes=0-"] {
        assert_eq!(range(&mut client, &origin.url("/unasked"), asked).status, 504);
    }
}

/// A film that is wound: each time the rest is asked for, and the connection dropped after some of it.
#[test]
fn winding_a_film_keeps_what_was_seen_and_stops_the_rest() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/film");
    let (body, seen) = (site::noise(14, 300_000), 20_000);
    let gate = Gate::new();
    let (script, held) = (body.clone(), Arc::clone(&gate));
    origin.on("/film", move |exchange| {
        let asked = exchange.seen.fields.get("Range").unwrap_or("bytes=0-").to_owned();
        let span = span(&asked, script.len()).unwrap();
        exchange.send(format!(
            "HTTP/1.1 206 Part\r\nETag: \"a\"\r\nContent-Range: bytes {}-{}/{}\r\n\
             Content-Length: {}\r\n\r\n",
            span.start,
            span.end - 1,
            script.len(),
            span.len()
        ))?;
        let (first, rest) = script[span].split_at(seen);
        exchange.send(first)?;
        held.wait();
        exchange.send(rest)?;
        Ok(After::Keep)
    });
    for start in [0, 200_000, 100_000] {
        let mut client = daemon.client();
        client.ask(&url, &format!("Range: bytes={start}-\r\n"));
        assert_eq!(client.final_head().unwrap().1.status, 206);
        while client.reader.waiting().len() < seen {
            client.reader.fill().unwrap();
        }
        drop(client);
    }
    daemon.ok(&["offline"]);
    for start in [0, 200_000, 100_000] {
        let last = start + seen - 1;
        let part = soon_part(&daemon, &url, &format!("bytes={start}-{last}"));
        assert_eq!(part.body, body[start..=last]);
    }
    gate.open();
    origin.stop();
    assert_eq!(range(&mut daemon.client(), &url, "bytes=0-").status, 504);
    assert_eq!(daemon.client().get(&url).status, 504);
}

/// Who waits for the whole is not answered by a part that still holds.
#[test]
fn a_part_that_holds_takes_no_page_off_the_queue() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let body = site::noise(15, 2000);
    ranged(&origin, "/film", body.clone(), "ETag: \"a\"\r\nVary: Accept-Language\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    range(&mut client, &url, "bytes=0-999");
    soon_part(&daemon, &url, "bytes=0-999");
    let other = "Range: bytes=0-999\r\nAccept-Language: de\r\nCache-Control: only-if-cached\r\n";
    assert_eq!(client.get_with(&url, other).whole().status, 504, "it varies");
    daemon.ok(&["offline"]);
    assert_eq!(client.get(&url).whole().status, 504);
    assert_eq!(daemon.queued(), std::slice::from_ref(&url));
    // Its origin has trouble with the whole, so that it waits on.
    origin.on("/film", move |exchange| {
        let status = if exchange.seen.fields.has("Range") { "304 Same" } else { "503 Trouble" };
        exchange.send(format!("HTTP/1.1 {status}\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n"))?;
        Ok(After::Keep)
    });
    daemon.ok(&["online"]);
    eventually("the whole was asked for in vain", || {
        daemon.queue().first().is_some_and(|queued| queued["error"].is_string())
    });
    let part = range(&mut client, &url, "bytes=10-19");
    assert_eq!((part.status, &part.body[..]), (206, &body[10..20]));
    daemon.settle();
    assert_eq!(daemon.queued(), [url]);
}
