//! Content codings: origins are offered all codings, the response is stored as received, and each
//! client gets a coding that it accepts.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};

use crate::harness::client::request;
use crate::harness::origin::After;
use crate::harness::site::{self, noise};
use crate::harness::tools::{plain, program};
use crate::harness::{Answer, Chromium, Client, Daemon, Gate, Origin, Response, eventually, heavy};
use crate::site::browser::browser;

const NONE: &str = "";
const ALL: &str = "Accept-Encoding: gzip, deflate, br, zstd\r\n";
const OURS: &str = "gzip, deflate, br, zstd";

fn br(body: &[u8]) -> Vec<u8> {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 4, ..Default::default() };
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters).unwrap();
    coded
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(body, 1).unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn bare_deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// A body in each coding, with the name of the coding.
fn coded(body: &[u8]) -> [(&'static str, Vec<u8>); 6] {
    [
        ("br", br(body)),
        ("zstd", zstd(body)),
        ("gzip", site::gzip(body)),
        ("deflate", zlib(body)),
        ("deflate", bare_deflate(body)),
        ("gzip, br", br(&site::gzip(body))),
    ]
}

/// A page of many words and some noise, several pieces long in every coding.
fn page() -> Vec<u8> {
    let words =
        (0..30_000_u32).flat_map(|number| format!("{} ", number * 7919 % 1009).into_bytes());
    words.chain(noise(7, 200_000)).collect()
}

fn answer(coding: &str, body: Vec<u8>) -> Answer {
    Answer::html(body).field("Content-Encoding", coding)
}

#[test]
#[ignore = "slow"]
fn one_stored_copy_serves_every_accepted_coding() {
    let (daemon, origin, page) = (Daemon::start(), Origin::start(), page());
    let all = coded(&page);
    for (number, (coding, sent)) in all.iter().enumerate() {
        let answer = answer(coding, sent.clone()).field("ETag", "\"one\"");
        origin.say(&format!("/{number}"), if number % 2 == 0 { answer } else { answer.chunked() });
    }
    for online in [true, false] {
        for (number, (coding, sent)) in all.iter().enumerate() {
            let url = origin.url(&format!("/{number}"));
            for fields in [NONE, "Accept-Encoding: x-unknown\r\n", "Accept-Encoding: *;q=0\r\n"] {
                let got = daemon.client().get_with(&url, fields).whole();
                let what = format!("{coding} for {fields:?}, online: {online}");
                assert!(got.body == page, "{what}: {} bytes", got.body.len());
                for name in ["Content-Encoding", "Content-Length"] {
                    assert!(!got.fields.has(name), "{what}: {:?}", got.fields);
                }
                for (name, want) in
                    [("ETag", "W/\"one\""), ("Accept-Ranges", "none"), ("Vary", "Accept-Encoding")]
                {
                    assert_eq!(got.field(name), want, "{what}");
                }
            }
            let got = daemon.client().get_with(&url, ALL).whole();
            assert!(got.body == *sent, "{coding}, online: {online}");
            assert_eq!(got.field("Content-Encoding"), *coding);
            assert_eq!((got.field("ETag"), got.field("Vary")), ("\"one\"", "Accept-Encoding"));
            daemon.settle();
        }
        daemon.ok(&["offline"]);
    }
    for (number, (_, sent)) in all.iter().enumerate() {
        let seen = origin.asked(&format!("/{number}"));
        assert!(seen.iter().all(|seen| seen.fields.all("Accept-Encoding") == [OURS]));
        // The first request fetched the page, and the others revalidated it.
        let fetched = seen.iter().filter(|seen| !seen.fields.has("If-None-Match")).count();
        assert_eq!(fetched, 1);
        let url = origin.url(&format!("/{number}"));
        let cat = |more: &[&str]| {
            crate::harness::daemon::output(
                daemon.command(&[&["cat"], more, &[url.as_str()]].concat()),
                None,
                std::time::Duration::from_secs(60),
            )
        };
        assert!(cat(&[]).stdout == page);
        assert!(cat(&["--raw"]).stdout == *sent);
    }
    // If two codings are nested and the client accepts one of them, that coding stays.
    let got = daemon.client().get_with(&origin.url("/5"), "Accept-Encoding: gzip\r\n").whole();
    assert!(got.body == site::gzip(&page));
    assert_eq!(got.field("Content-Encoding"), "gzip");
}

#[test]
fn conditional_and_head_responses_match_the_served_coding() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let sent = answer("br", br(b"a page"));
    origin.say("/", sent.field("ETag", "\"1\"").field("Content-Digest", "sha-256=:AA==:"));
    let url = origin.url("/");
    for online in [true, false] {
        for (fields, tag, has) in [(NONE, "W/\"1\"", false), (ALL, "\"1\"", true)] {
            let got = daemon.client().get_with(&url, fields).whole();
            assert_eq!(got.field("ETag"), tag, "online: {online}");
            daemon.settle();
            let asked = format!("{fields}If-None-Match: {tag}\r\n");
            let unchanged = daemon.client().get_with(&url, &asked).whole();
            assert_eq!((unchanged.status, unchanged.field("ETag")), (304, tag));
            assert_eq!(unchanged.field("Vary"), "Accept-Encoding");
            daemon.settle();
            let mut client = daemon.client();
            client.send(request("HEAD", &url, fields));
            let head = client.receive("HEAD").whole();
            assert_eq!(head.status, 200);
            for name in ["Content-Encoding", "ETag", "Accept-Ranges", "Vary", "Content-Digest"] {
                assert_eq!(head.field(name), got.field(name), "{name}, online: {online}");
            }
            for name in ["Content-Encoding", "Content-Digest", "Content-Length"] {
                assert_eq!(head.fields.has(name), has, "{name}, online: {online}");
            }
            // The next response on the connection begins at the right byte.
            client.ask(&url, fields);
            assert!(client.receive("GET").whole().body == got.body);
        }
        daemon.ok(&["offline"]);
    }
}

#[test]
fn a_download_is_joined_with_any_accepted_coding() {
    let (daemon, origin, page) = (Daemon::start(), Origin::start(), page());
    let (gate, sent) = (Gate::new(), zstd(&page));
    let (shut, body) = (Arc::clone(&gate), sent.clone());
    origin.on("/", move |exchange| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: zstd\r\n\
                    Vary: Accept-Encoding\r\n";
        exchange.send(format!("{head}Content-Length: {}\r\n\r\n", body.len()))?;
        exchange.send(&body[..body.len() / 2])?;
        shut.wait();
        exchange.send(&body[body.len() / 2..])?;
        Ok(After::Keep)
    });
    let url = origin.url("/");
    let mut clients: Vec<_> = [ALL, NONE, "Accept-Encoding: br\r\n", "Accept-Encoding: zstd\r\n"]
        .into_iter()
        .map(|fields| {
            let mut client = daemon.client();
            client.ask(&url, fields);
            let (_, head) = client.final_head().unwrap();
            (client, head)
        })
        .collect();
    gate.open();
    for (number, (client, head)) in clients.iter_mut().enumerate() {
        let mut got = Vec::new();
        let framing = Client::framing("GET", head);
        client.reader.body(framing, |piece| got.extend_from_slice(piece)).unwrap();
        assert!(got == if matches!(number, 0 | 3) { sent.clone() } else { page.clone() });
    }
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn a_no_transform_response_is_fetched_in_an_accepted_coding() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let negotiated = |status: u16, control: &'static str| {
        move |exchange: &mut crate::harness::origin::Exchange<'_>| {
            let takes = exchange.seen.fields.get("Accept-Encoding").unwrap_or_default();
            let is_br = takes.contains("br");
            let body = if is_br { br(b"a page") } else { b"a page".to_vec() };
            let answer = Answer::new(status, "text/html", body).field("Cache-Control", control);
            exchange.answer(&if is_br { answer.field("Content-Encoding", "br") } else { answer })
        }
    };
    origin.on("/answer", negotiated(200, "no-transform"));
    origin.on("/error", negotiated(500, "no-transform"));
    origin.on("/request", negotiated(200, "max-age=0"));
    for (path, more, times) in
        [("/answer", "", 2), ("/error", "", 2), ("/request", "Cache-Control: no-transform\r\n", 1)]
    {
        let fields = format!("Accept-Encoding: gzip\r\n{more}");
        let got = daemon.client().get_with(&origin.url(path), &fields).whole();
        assert_eq!((got.field("Content-Encoding"), got.text().as_str()), ("", "a page"), "{path}");
        let asked = origin.asked(path);
        assert_eq!(asked.len(), times, "{path}");
        assert_eq!(asked[times - 1].fields.get("Accept-Encoding"), Some("gzip"), "{path}");
        daemon.settle();
    }
    // An error response that is not stored is decoded, unless that is forbidden.
    origin.on("/trouble", negotiated(503, ""));
    let got = daemon.get(&origin.url("/trouble")).whole();
    assert_eq!((got.status, got.text().as_str()), (503, "a page"));
    assert_eq!(origin.count("/trouble"), 1);
}

#[test]
fn an_unrequested_coding_is_forwarded_and_stored_unchanged() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for (path, coding, more) in [
        ("/unknown", "ABCDEF", ""),
        ("/old", "compress", ""),
        ("/fixed", "ABCDEF", "no-transform"),
        ("/mixed", "gzip, ABCDEF", "no-transform"),
    ] {
        let answer = answer(coding, b"nobody knows".to_vec()).field("ETag", "\"one\"");
        origin.say(path, answer.field("Cache-Control", more));
        for (number, said) in ["Accept-Encoding: gzip\r\n", NONE, ALL].into_iter().enumerate() {
            let got = daemon.client().get_with(&origin.url(path), said).whole();
            assert_eq!((got.status, got.text().as_str()), (200, "nobody knows"), "{path} {said:?}");
            assert_eq!((got.field("Content-Encoding"), got.field("Vary")), (coding, ""), "{path}");
            daemon.settle();
            // The first request fetches the page, and the others revalidate it.
            let asked = origin.asked(path);
            assert_eq!(asked.len(), number + 1, "{path} {said:?}");
            assert_eq!(asked[number].fields.has("If-None-Match"), number > 0, "{path} {said:?}");
        }
    }
    // Codings that only one client accepts are not requested from the origin. So a response with
    // such a coding is never stored.
    let fields = "Cache-Control: no-transform\r\nAccept-Encoding: dcb, compress, br;q=0.5\r\n";
    let url = origin.url("/page/1.html");
    daemon.client().get_with(&url, &format!("{fields}Available-Dictionary: :AA==:\r\n"));
    let [asked] = &origin.asked("/page/1.html")[..] else { panic!("one request") };
    assert_eq!(asked.fields.all("Accept-Encoding"), ["br"]);
    assert!(!asked.fields.has("Available-Dictionary"), "{:?}", asked.fields);
    // The same is true for a request for a range, whose response is stored too.
    let fields = "Range: bytes=0-1\r\nAccept-Encoding: dcb, br;q=0.5\r\n";
    daemon.client().get_with(&origin.url("/page/2.html"), fields);
    assert_eq!(origin.asked("/page/2.html")[0].fields.all("Accept-Encoding"), ["br"]);
}

#[test]
fn ranges_and_forms_are_sent_with_the_accept_encoding_of_the_client() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page/1.html");
    daemon.client().get_with(&url, "Range: bytes=0-1\r\nAccept-Encoding: identity\r\n");
    let mut client = daemon.client();
    client.send(request("POST", &url, "Accept-Encoding: br;q=0.1\r\nContent-Length: 0\r\n"));
    client.receive("POST");
    daemon.get(&origin.url("/file.tgz"));
    let asked: Vec<_> = origin
        .seen()
        .iter()
        .map(|seen| seen.fields.get("Accept-Encoding").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(asked, ["identity", "br;q=0.1", "identity"]);
}

#[test]
fn a_compressed_file_is_served_unchanged() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let file = site::gzip(b"an archive");
    for (path, kind) in [("/a.tgz", "application/x-tar"), ("/latest", "application/x-gzip")] {
        let answer = Answer::new(200, kind, file.clone()).field("Content-Encoding", "gzip");
        origin.say(path, answer);
        for _ in 0..2 {
            assert!(daemon.get(&origin.url(path)).whole().body == file, "{path}");
            daemon.settle();
        }
    }
}

#[test]
fn queued_requests_ask_for_codings_and_every_client_can_read_them() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in ["/queued", "/wanted"] {
        origin.say(path, answer("zstd", zstd(path.as_bytes())));
    }
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/queued"));
    // Status 10: the request was queued.
    assert_eq!(daemon.run(&["get", &origin.url("/wanted")]).status, 10);
    daemon.ok(&["online"]);
    eventually("the queue is fetched", || daemon.queued().is_empty());
    daemon.settle();
    daemon.ok(&["offline"]);
    for path in ["/queued", "/wanted"] {
        assert_eq!(origin.asked(path)[0].fields.get("Accept-Encoding"), Some(OURS), "{path}");
        assert_eq!(daemon.get(&origin.url(path)).whole().text(), path);
        let coded = daemon.client().get_with(&origin.url(path), ALL).whole();
        assert_eq!(coded.field("Content-Encoding"), "zstd");
    }
}

#[test]
#[ignore = "slow"]
fn a_truncated_or_damaged_body_never_looks_complete() {
    let (daemon, origin, page) = (Daemon::start(), Origin::start(), page());
    let mut urls = Vec::new();
    for (number, (coding, sent)) in coded(&page).into_iter().enumerate() {
        let cut = sent[..sent.len() - 9].to_vec();
        let mut damaged = sent.clone();
        for byte in damaged.iter_mut().skip(sent.len() / 2).take(2000) {
            *byte ^= 0x55;
        }
        for (kind, body) in [("cut", cut), ("damaged", damaged)] {
            // In a coding without a checksum, the damage cannot be detected.
            if kind == "damaged" && !coding.contains("gzip") && number != 3 {
                continue;
            }
            let path = format!("/{kind}/{number}");
            origin.say(&path, answer(coding, body));
            urls.push(origin.url(&path));
        }
    }
    for online in [true, false] {
        for url in &urls {
            let got = daemon.client().get_with(url, NONE);
            if online {
                // The head was sent before the fault was found, so the response is truncated.
                assert!(got.whole.is_err(), "{url}");
            } else {
                let told = (got.status, got.field("Cache-Status"));
                assert_eq!(told, (502, "wwwoffle; detail=undecodable"), "{url}");
                let mut client = daemon.client();
                client.send(format!("HEAD {url} HTTP/1.1\r\nHost: there\r\n{NONE}\r\n"));
                let head = client.receive("HEAD");
                assert_eq!((head.status, head.field("Cache-Status")), told, "{url}: HEAD");
                assert!(got.whole.is_ok() && got.text().contains("cannot be decoded"), "{url}");
            }
            daemon.settle();
            // A client that accepts the coding gets the bytes as received.
            daemon.client().get_with(url, ALL).whole();
            daemon.settle();
        }
        daemon.ok(&["offline"]);
    }
    // The daemon still works.
    assert_eq!(daemon.status()["mode"], "offline");
}

/// A client that accepts gzip got a damaged body. It was stored as received.
#[test]
fn a_damaged_body_that_needs_decoding_is_fetched_again() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut damaged = site::gzip(b"<p>page");
    let sum = damaged.len() - 8;
    damaged[sum] ^= 1;
    for (name, field) in [("fresh", ("Cache-Control", "max-age=600")), ("stale", ("ETag", "\"a\""))]
    {
        let path = format!("/{name}");
        let sent = damaged.clone();
        origin.on(&path, move |exchange| {
            let fields = &exchange.seen.fields;
            let answer = if fields.get("If-None-Match").is_some() {
                Answer::new(304, "text/html", "")
            } else if fields.get("Accept-Encoding").is_some_and(|codings| codings.contains("gzip"))
            {
                answer("gzip", sent.clone())
            } else {
                Answer::html("<p>page")
            };
            exchange.answer(&answer.field(field.0, field.1))
        });
        let url = origin.url(&path);
        assert!(daemon.client().get_with(&url, ALL).whole().body == damaged);
        daemon.settle();
        daemon.ok(&["offline"]);
        let told = daemon.client().get_with(&url, NONE).whole();
        assert_eq!(
            (told.status, told.field("Cache-Status")),
            (502, "wwwoffle; detail=undecodable")
        );
        daemon.ok(&["online"]);
        let again = daemon.client().get_with(&url, NONE).whole();
        assert_eq!(again.text(), "<p>page", "{name}: {:?}", again.fields);
        assert!(again.field("Cache-Status").contains("stored"), "{:?}", again.fields);
        daemon.settle();
        daemon.ok(&["offline"]);
        assert_eq!(daemon.client().get_with(&url, NONE).whole().text(), "<p>page", "{name}");
        daemon.ok(&["online"]);
    }
}

/// The response to a client that sends `fields`.
fn got(daemon: &Daemon, url: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.ask(url, fields);
    client.try_receive("GET").unwrap()
}

/// Compresses `count` repetitions of `piece` with gzip, without holding all of them in memory.
fn many(piece: &[u8], count: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..count {
        encoder.write_all(piece).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
#[ignore = "slow"]
fn a_compression_bomb_is_refused_without_filling_memory() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let bombs = [("gzip", many(&vec![0; 1 << 20], 1 << 10)), ("zstd", zstd(&vec![0; 200 << 20]))];
    for (coding, sent) in &bombs {
        let bomb = answer(coding, sent.clone()).field("Cache-Control", "max-age=3600");
        origin.say(&format!("/{coding}"), bomb);
    }
    for (coding, sent) in &bombs {
        let url = origin.url(&format!("/{coding}"));
        // The head was sent before the limit was exceeded, so the response is truncated.
        let mut client = daemon.client();
        client.ask(&url, NONE);
        let mut length = 0;
        let broken = client.try_stream("GET", |piece| length += piece.len()).unwrap();
        assert!(broken.whole.is_err() && length < 8 << 20, "{coding}: {length}");
        daemon.settle();
        for mode in ["online", "offline"] {
            daemon.ok(&[mode]);
            let told = got(&daemon, &url, NONE);
            assert_eq!(told.status, 502, "{coding} {mode}");
            let as_it_is = got(&daemon, &url, ALL);
            assert!(as_it_is.status == 200 && as_it_is.body == *sent, "{coding} {mode}");
        }
        daemon.ok(&["online"]);
    }
    assert!(daemon.peak_kib() < 176 * 1024, "{} KiB", daemon.peak_kib());
    assert_eq!(origin.count("/gzip"), 1);
}

#[test]
#[ignore = "slow"]
fn an_unread_body_is_not_decoded() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/log");
    let line = b"2026-11-20T22:31:57Z daemon[1]: nothing has happened, as on all the days before\n";
    origin.say("/log", answer("gzip", many(&line.repeat(10_000), 1_000)));
    assert_eq!(got(&daemon, &url, ALL).status, 200);
    daemon.settle();
    let before = daemon.open_sockets();
    let mut leaving = daemon.client();
    daemon.ok(&["offline"]);
    leaving.ask(&url, NONE);
    leaving.final_head().unwrap();
    drop(leaving);
    eventually("the connection of the client that left is closed", || {
        daemon.open_sockets() <= before
    });
}

#[test]
#[ignore = "needs curl"]
fn curl_reads_responses_with_and_without_codings() {
    let curl = program(&["curl"]);
    let (daemon, origin, page) = (Daemon::start(), Origin::start(), noise(3, 100_000));
    for (number, (coding, sent)) in coded(&page).into_iter().enumerate() {
        origin.say(&format!("/{number}"), answer(coding, sent));
    }
    let proxy = format!("http://{}", daemon.addr());
    for online in [true, false] {
        for number in 0..6 {
            for more in [&[][..], &["--compressed"]] {
                let mut command = plain(std::process::Command::new(&curl));
                command.args(["-sS", "-f", "--max-time", "60", "--proxy", &proxy]).args(more);
                command.arg(origin.url(&format!("/{number}")));
                let ran = command.output().unwrap();
                let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                assert!(ran.stdout == page, "{number} {more:?}, online: {online}: {said}");
            }
            daemon.settle();
        }
        daemon.ok(&["offline"]);
    }
}

#[test]
#[ignore = "needs chromium"]
fn chromium_shows_a_page_with_coded_sub_resources_offline() {
    let program = browser();
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let html =
        b"<!doctype html><link rel=stylesheet href=/style><p>One kept copy.<script src=/script>\
                 </script><iframe src=/frame></iframe>";
    let style = Answer::new(200, "text/css", zstd(b"p { width: 321px }"));
    let script = bare_deflate(b"document.title = 'it ran'");
    let script = Answer::new(200, "text/javascript", script);
    origin.say("/", answer("br", br(html)));
    origin.say("/style", style.field("Content-Encoding", "zstd"));
    origin.say("/script", script.field("Content-Encoding", "deflate").chunked());
    origin.say("/frame", answer("gzip, br", br(&site::gzip(b"<b>inside</b>"))));
    for path in ["/", "/style", "/script", "/frame"] {
        assert_eq!(daemon.get(&origin.url(path)).whole().status, 200);
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let mut chromium = Chromium::start(&program, &daemon);
    chromium.open(&origin.url("/"));
    assert!(chromium.until("document.title == 'it ran'", "the script ran").contains("One kept"));
    let width = chromium.value("getComputedStyle(document.querySelector('p')).width");
    assert_eq!(width, "321px");
    let inside = chromium.value("document.querySelector('iframe').contentDocument.body.innerText");
    assert_eq!(inside, "inside");
}
