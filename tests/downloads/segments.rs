//! Partial content: downloaded, stored as segments, joined only if the segments belong to the same
//! representation, and never sent as the whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::downloads::ranges::{parts, range};
use crate::harness::{After, Answer, Daemon, Gate, Origin, Response, eventually, site};

/// Makes the origin serve `body` at `path`, in the requested ranges, with the header fields
/// `fields`.
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

/// Parses `bytes=first-last`, `bytes=first-` or `bytes=-length` as a range of a body of `length`
/// bytes. `None` for other texts.
fn span(range: &str, length: usize) -> Option<std::ops::Range<usize>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some(match (first.parse().ok(), last.parse::<usize>().ok()) {
        (Some(first), Some(last)) => first..(last + 1).min(length),
        (Some(first), None) => first..length,
        (None, last) => length - last?..length,
    })
}

/// The stored response for a URL. The daemon stores a response a moment after sending it, so this
/// function repeats the request until the response is stored. The request is never queued.
#[track_caller]
fn soon(daemon: &Daemon, url: &str, fields: &str) -> Response {
    let mut got = None;
    eventually(&format!("it is stored: {url} {fields}"), || {
        let fields = format!("Cache-Control: only-if-cached, max-stale\r\n{fields}");
        let response = daemon.client().get_with(url, &fields).whole();
        let done = response.status != 504;
        got = Some(response);
        done
    });
    got.expect("it was requested")
}

/// The stored segment for a range. Waits until it is stored.
#[track_caller]
fn soon_part(daemon: &Daemon, url: &str, asked: &str) -> Response {
    let response = soon(daemon, url, &format!("Range: {asked}\r\n"));
    assert_eq!(response.status, 206, "{asked}");
    response
}

#[test]
fn a_fetched_range_is_served_offline_and_a_missing_one_is_queued() {
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
    assert_eq!(joined.body, body[1500..=2400], "of two ranges");
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
        assert_eq!(response.status, 504, "{fields}: a segment was sent as the whole");
        assert_eq!(daemon.queued(), std::slice::from_ref(&url));
    }
}

#[test]
fn fresh_segments_are_not_fetched_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let body = site::noise(7, 10_000);
    ranged(&origin, "/film", body.clone(), "ETag: \"a\"\r\nCache-Control: no-cache\r\n");
    let (url, mut client) = (origin.url("/film"), daemon.client());
    range(&mut client, &url, "bytes=0-4999");
    eventually("a segment is validated", || {
        let response = range(&mut daemon.client(), &url, "bytes=10-19");
        assert_eq!((response.status, &response.body[..]), (206, &body[10..20]));
        response.field("Cache-Status") == "wwwoffle; fwd=stale; fwd-status=304"
    });
    assert_eq!(origin.asked("/film").last().unwrap().fields.get("If-None-Match"), Some("\"a\""));
}

#[test]
fn segments_of_all_ranges_make_a_complete_entry() {
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
fn segments_of_a_changed_file_are_never_mixed() {
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
#[ignore = "slow"]
fn segments_without_a_strong_validator_are_not_combined() {
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

/// Impossible values. The client gets the response unchanged, and none of it is stored.
#[test]
#[ignore = "slow"]
fn an_impossible_content_range_is_forwarded_and_not_stored() {
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
        "bytes 0-99/1000\r\nContent-Type: multipart/byteranges; boundary=b",
        "rubbish",
        "",
    ]) {
        let (daemon, mut origin) = (Daemon::start(), Origin::start());
        let path = format!("/bad/{number}");
        let answer = Answer::new(206, "", body.clone()).field("ETag", "\"a\"");
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

/// The origin responds to a suffix range with a wrong offset. The segment is only used for the
/// range that it declares.
#[test]
fn a_suffix_range_with_a_wrong_offset_is_used_as_declared() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let answer = Answer::new(206, "text/plain", "01234").field("ETag", "\"a\"");
    origin.say("/odd", answer.field("Content-Range", "bytes 4-9/10"));
    let (url, mut client) = (origin.url("/odd"), daemon.client());
    let passed = range(&mut client, &url, "bytes=-5");
    assert_eq!(passed.field("Content-Range"), "bytes 4-9/10", "as received");
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
fn a_different_or_larger_range_is_stored_as_declared() {
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

/// Seeking in a film: each seek requests the rest of the film, and drops the connection after a
/// part of it.
#[test]
#[ignore = "slow"]
fn seeking_in_a_film_stores_the_received_segments() {
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

/// A fresh segment does not complete a queued request for the whole file.
#[test]
fn a_fresh_segment_does_not_complete_a_queued_request() {
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
    // The origin fails for the whole file, so the request stays queued.
    origin.on("/film", move |exchange| {
        let status = if exchange.seen.fields.has("Range") { "304 Same" } else { "503 Trouble" };
        exchange.send(format!("HTTP/1.1 {status}\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n"))?;
        Ok(After::Keep)
    });
    daemon.ok(&["online"]);
    eventually("the request for the whole has failed", || {
        daemon.queue().first().is_some_and(|queued| queued["error"].is_string())
    });
    let part = range(&mut client, &url, "bytes=10-19");
    assert_eq!((part.status, &part.body[..]), (206, &body[10..20]));
    daemon.settle();
    assert_eq!(daemon.queued(), [url]);
}

#[test]
fn a_no_store_range_is_stored_only_if_no_store_is_ignored() {
    for (config, status) in [("", 206), ("[caching]\nno-store = \"respect\"\n", 504)] {
        let (daemon, mut origin) = (Daemon::configured(config), Origin::start());
        let fields = "ETag: \"a\"\r\nCache-Control: no-store\r\n";
        ranged(&origin, "/film", site::noise(16, 2000), fields);
        let (url, mut client) = (origin.url("/film"), daemon.client());
        let asked = "bytes=0-999";
        assert_eq!(range(&mut client, &url, asked).status, 206);
        if status == 206 {
            let parts = daemon.spool().join("partial");
            eventually("it is stored", || {
                parts.is_dir() && !crate::harness::files(&parts).is_empty()
            });
        }
        daemon.ok(&["offline"]);
        origin.stop();
        assert_eq!(range(&mut client, &url, asked).status, status);
    }
}

/// Some origins send one `ETag` for all codings of a page.
#[test]
fn segments_in_different_codings_are_never_mixed() {
    let quick = "[fetch-options]\nresume-attempts = 1\nresume-delay = \"1ms\"\n";
    let (daemon, origin) = (Daemon::configured(quick), Origin::start());
    let (plain, coded) = (site::noise(17, 4000), site::noise(18, 4000));
    let (bare, zipped) = (plain.clone(), coded.clone());
    let asked = AtomicUsize::new(0);
    origin.on("/film", move |exchange| {
        let fields = exchange.seen.fields.clone();
        let is_coded = fields.get("Accept-Encoding").is_some_and(|coding| coding.contains("gzip"));
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let (body, coding) =
            if is_coded { (&zipped, "Content-Encoding: gzip\r\n") } else { (&bare, "") };
        let tag = "ETag: \"same\"\r\nCache-Control: max-age=3600\r\n";
        match (number, fields.get("Range").and_then(|range| span(range, body.len()))) {
            (0, _) => {
                exchange.send(format!(
                    "HTTP/1.1 200 OK\r\n{tag}{coding}Transfer-Encoding: chunked\r\n\r\n3e8\r\n"
                ))?;
                exchange.send(&body[..1000])?;
                exchange.send("\r\n")?;
                Ok(After::Close)
            }
            (1, _) => exchange.answer(&Answer::new(503, "text/plain", "later")),
            (_, Some(span)) => {
                exchange.send(format!(
                    "HTTP/1.1 206 Part\r\n{tag}{coding}Content-Range: bytes {}-{}/4000\r\n\
                     Content-Length: {}\r\n\r\n",
                    span.start,
                    span.end - 1,
                    span.len()
                ))?;
                exchange.send(&body[span])?;
                Ok(After::Keep)
            }
            (_, None) => {
                exchange.send(format!(
                    "HTTP/1.1 200 OK\r\n{tag}{coding}Content-Length: 4000\r\n\r\n"
                ))?;
                exchange.send(body)?;
                Ok(After::Keep)
            }
        }
    });
    let url = origin.url("/film");
    let mut client = daemon.client();
    client.ask(&url, "Accept-Encoding: gzip\r\n");
    assert!(client.try_receive("GET").unwrap().whole.is_err(), "it breaks off");
    daemon.settle();
    let part = range(&mut daemon.client(), &url, "bytes=1000-1999");
    assert_eq!((part.status, &part.body[..]), (206, &plain[1000..2000]));
    soon_part(&daemon, &url, "bytes=1000-1999");
    let whole = daemon.client().get_with(&url, "Accept-Encoding: gzip\r\n").whole();
    assert!(whole.body == coded, "{:?}", whole.fields);
}

/// All variants of a page have the same date, but not the same `ETag`.
#[test]
fn segments_of_two_variants_of_one_date_are_never_mixed() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let (german, english) = (site::noise(19, 4000), site::noise(20, 4000));
    let (one, other) = (german.clone(), english.clone());
    origin.on("/film", move |exchange| {
        let fields = exchange.seen.fields.clone();
        let is_german = fields.get("Accept-Language") == Some("de");
        let body = if is_german { &one } else { &other };
        let span = span(fields.get("Range").unwrap(), body.len()).unwrap();
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        exchange.send(format!(
            "HTTP/1.1 206 Part\r\nDate: {date}\r\nCache-Control: max-age=3600\r\n\
             Vary: Accept-Language\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Content-Range: bytes {}-{}/4000\r\nContent-Length: {}\r\n\r\n",
            span.start,
            span.end - 1,
            span.len()
        ))?;
        exchange.send(&body[span])?;
        Ok(After::Keep)
    });
    let url = origin.url("/film");
    for (language, asked, want) in
        [("de", "0-999", &german[..1000]), ("en", "1000-1999", &english[1000..2000])]
    {
        let fields = format!("Accept-Language: {language}\r\nRange: bytes={asked}\r\n");
        assert_eq!(daemon.client().get_with(&url, &fields).whole().body, want);
        assert_eq!(soon(&daemon, &url, &fields).status, 206);
    }
    daemon.ok(&["offline"]);
    origin.stop();
    let both = "Accept-Language: en\r\nRange: bytes=0-1999\r\n";
    assert_eq!(daemon.client().get_with(&url, both).whole().status, 504);
}

#[test]
fn segments_of_a_changed_resource_are_not_reused() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let fields = "ETag: \"a\"\r\nCache-Control: max-age=3600\r\n";
    ranged(&origin, "/film", site::noise(21, 2000), fields);
    let (url, mut client) = (origin.url("/film"), daemon.client());
    range(&mut client, &url, "bytes=0-999");
    soon_part(&daemon, &url, "bytes=0-999");
    let deleted = crate::proxy::caching::ask(&daemon, "DELETE", &url, "");
    assert_eq!(deleted.whole().status, 200);
    let cached = "Cache-Control: only-if-cached\r\nRange: bytes=0-999\r\n";
    assert_eq!(daemon.client().get_with(&url, cached).whole().status, 504);
}

/// A stale segment is revalidated before it is served. A `304` for a segment is not stored, so with
/// revalidation in the background, each client would cause another one.
#[test]
fn a_stale_segment_is_revalidated_before_it_is_served() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let fields = "ETag: \"a\"\r\nCache-Control: max-age=0, stale-while-revalidate=600\r\n";
    ranged(&origin, "/film", site::noise(22, 2000), fields);
    let url = origin.url("/film");
    range(&mut daemon.client(), &url, "bytes=0-999");
    eventually("it is stored and validated", || {
        let part = range(&mut daemon.client(), &url, "bytes=0-999");
        assert!(!part.field("Cache-Status").contains("hit"), "{}", part.field("Cache-Status"));
        part.field("Cache-Status") == "wwwoffle; fwd=stale; fwd-status=304"
    });
}
