//! Which recorded exchange answers a request: the rules, variants, streams and the simulated link.

use std::time::{Duration, Instant};

use super::fixtures::{Studio, report};
use crate::harness::Answer;
use crate::harness::tools::program;

#[test]
#[ignore = "needs curl"]
fn rules_say_what_of_a_request_counts() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    let url = studio.site.url("");
    for path in ["/a?id=1&t=100", "/graphql", "/form", "/lang"] {
        studio.site.origin.say(path, Answer::html(path));
    }
    let script = |time, nonce, id| {
        format!(
            "curl -sSf '{url}/a?id=1&t={time}'; \
             curl -sSf {url}/graphql -H 'Content-Type: application/json' \
             -d '{{\"time\":\"{time}\",\"variables\":{{\"id\":{id},\"nonce\":{nonce}}}}}'; \
             curl -sSf {url}/form -d token={nonce} -d id={id}"
        )
    };
    let rules = [
        "--ignore-argument",
        "t*",
        "--ignore-field",
        "time",
        "--ignore-field",
        "variables.nonce",
        "--ignore-field",
        "token",
    ];
    let first = script(100, 1, 1);
    let line = ["--record", "site.wacz"].iter().chain(&rules).copied();
    let line: Vec<&str> = line.chain(["--", "sh", "-c", &first]).collect();
    let recorded = studio.run(&line);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    // The rules are part of the recording.
    let again = studio.replay(&["--fail-missing"], &script(200, 2, 1));
    assert_eq!((again.status, &again.out), (0, &recorded.out), "{again:?}");
    let other = studio.replay(&["--fail-missing", "--report", "report.json"], &script(200, 2, 2));
    assert_eq!(report(&studio)["missing_count"], 2, "{other:?}");

    // Rules may also come with the replay.
    studio.record(&first);
    let later = script(200, 2, 1);
    assert_eq!(studio.replay(&["--fail-missing"], &later).status, 22);
    assert_eq!(studio.replay(&[&rules[..], &["--fail-missing"]].concat(), &later).status, 0);
    let no_body = ["--ignore-argument", "t", "--ignore-body", "--fail-missing"];
    assert_eq!(studio.replay(&no_body, &script(9, 9, 9)).status, 0);

    studio.record(&format!("curl -sSf -H 'Accept-Language: de' {url}/lang"));
    let english = format!("curl -sSf -H 'Accept-Language: en' {url}/lang");
    assert_eq!(studio.replay(&["--fail-missing"], &english).status, 0);
    let strict = studio.replay(&["--match-header", "Accept-Language"], &english);
    assert_eq!(strict.status, 22, "{strict:?}");
    let told = "header field \"accept-language\" is \"en\", recorded \"de\"";
    assert!(strict.err.contains(told), "{strict:?}");
    // Of a referring URL only the origin is recorded, so only the origin counts.
    let from = |referer: &str| format!("curl -sSf -e {referer} {url}/lang");
    studio.record(&from("https://a.example/one"));
    let strict = ["--fail-missing", "--match-header", "referer"];
    assert_eq!(studio.replay(&strict, &from("https://a.example/two?x")).status, 0);
    assert_eq!(studio.replay(&strict, &from("https://b.example/one")).status, 22);
    let secret = studio.replay(&["--match-header", "authorization"], &english);
    assert_eq!(secret.status, 2, "{secret:?}");
    assert!(secret.err.contains("its values are secret"), "{secret:?}");
}

#[test]
#[ignore = "needs curl"]
fn each_variant_of_a_response_is_replayed_to_its_request() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.on("/page", |exchange| {
        let fields = &exchange.seen.fields;
        let said = format!("{:?} {:?}", fields.all("Accept-Language"), fields.all("X-Plain"));
        exchange.answer(&Answer::html(said).field("Vary", "Accept-Language, Cookie"))
    });
    let url = studio.site.url("/page");
    let get = |language| format!("curl -sS -H 'Accept-Language: {language}' {url}; ");
    studio.record(&(get("de") + &get("fr")));
    // In another order, each gets its own response.
    let again = studio.replay(&["--fail-missing"], &(get("fr") + &get("de") + &get("fr")));
    let said = |language| format!("[\"{language}\"] []");
    assert_eq!(again.out, said("fr") + &said("de") + &said("fr"), "{again:?}");
    // A language that is not recorded gets a recorded one.
    assert_eq!(studio.replay(&["--fail-missing"], &get("it")).status, 0);
}

#[test]
#[ignore = "needs curl"]
fn secrets_of_requests_are_not_recorded() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.on("/page", |exchange| {
        let login = exchange.seen.fields.all("Authorization").len();
        exchange.answer(&Answer::html(format!("{login} login")))
    });
    let url = studio.site.url("/page");
    let get = format!("curl -sS -u ada:sesame -b session=tea -H 'X-Api-Key: green' {url}");
    assert_eq!(studio.record(&get).out, "1 login");
    let text = unpacked(&studio);
    for secret in ["YWRhOnNlc2FtZQ", "sesame", "session=tea", "green"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(studio.replay(&["--fail-missing"], &get).out, "1 login");
}

/// The text of the WARC in the recording.
fn unpacked(studio: &Studio) -> String {
    use std::io::Read as _;
    let bytes = std::fs::read(studio.file()).unwrap();
    let start = bytes.windows(3).position(|bytes| bytes == [0x1f, 0x8b, 8]).unwrap();
    let mut text = Vec::new();
    // The members of the ZIP after the WARC are no gzip.
    let _ended = flate2::read::MultiGzDecoder::new(&bytes[start..]).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
#[ignore = "needs curl"]
fn an_event_stream_and_an_encoded_body_are_replayed_as_they_came() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.on("/events", |exchange| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        exchange.send(head)?;
        // Sends events until the client has left.
        let mut number = 0;
        loop {
            let event = format!("data: {number}\n\n");
            exchange.send(format!("{:x}\r\n{event}\r\n", event.len()))?;
            number += 1;
        }
    });
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, b"unpacked text").unwrap();
    let packed = Answer::new(200, "text/plain", packed.finish().unwrap());
    studio.site.origin.say("/packed", packed.field("Content-Encoding", "gzip"));
    let (events, url) = (studio.site.url("/events"), studio.site.url("/packed"));
    // head ends after the third event, and curl with the next one.
    let read = format!("curl -sSN {events} 2>/dev/null | head -n 6; ");
    let get = format!("curl -sSi {url}; curl -sSi --compressed {url}");
    let recorded = studio.record(&format!("{read}{get}"));
    assert!(recorded.out.starts_with("data: 0\n\ndata: 1\n\ndata: 2\n\n"), "{recorded:?}");
    assert!(recorded.err.contains("3 requests recorded"), "{recorded:?}");
    let again = studio.replay(&["--fail-missing"], &format!("{read}{get}"));
    assert_eq!(again.out.matches("unpacked text").count(), 2, "{again:?}");
    assert!(again.out.starts_with("data: 0\n\ndata: 1\n\ndata: 2\n\n"), "{again:?}");
}

/// Of equal requests at the same time, each has a response of its own, recorded and replayed.
#[test]
#[ignore = "needs curl"]
fn equal_requests_at_the_same_time_have_a_response_each() {
    const AT_ONCE: usize = 6;
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    // The origin answers only when all requests have arrived.
    let all = std::sync::Barrier::new(AT_ONCE);
    let count = std::sync::atomic::AtomicUsize::new(0);
    studio.site.origin.on("/count", move |exchange| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        all.wait();
        exchange.answer(&Answer::new(200, "text/plain", format!("number {number}\n")))
    });
    let url = studio.site.url("/count");
    let get = format!("for n in 1 2 3 4 5 6; do curl -sS {url} & done; wait");
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let recorded = studio.record(&get);
    let want: Vec<_> = (0..AT_ONCE).map(|number| format!("number {number}")).collect();
    assert_eq!(sorted(&recorded.out), want, "{recorded:?}");
    assert!(recorded.err.contains("6 requests recorded"), "{recorded:?}");
    let again = studio.replay(&["--each-once", "--fail-missing"], &get);
    assert_eq!((again.status, sorted(&again.out)), (0, want), "{again:?}");
    let more = studio.replay(&["--each-once", "--fail-missing"], &format!("{get}; curl -sS {url}"));
    assert!(more.status == 1 && more.err.contains("have all been used"), "{more:?}");
}

#[test]
#[ignore = "needs curl"]
fn a_slow_and_a_faulty_link_are_simulated() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/large", Answer::html("x".repeat(100_000)));
    let url = studio.site.url("/large");
    let get = format!("for n in 1 2 3 4; do curl -sS {url} | wc -c; done");
    studio.record(&format!("curl -sS {url}"));
    let begun = Instant::now();
    let slow = studio.replay(&["--slow", "3g"], &get);
    assert_eq!(slow.out, "100000\n".repeat(4), "{slow:?}");
    // Four times 300 ms and half a second. A link is never faster than it should be.
    assert!(begun.elapsed() >= Duration::from_millis(3_200), "{:?}", begun.elapsed());
    let faulty = studio.replay(&["--drop", "50%"], &get);
    assert_eq!(faulty.out, "100000\n0\n100000\n0\n", "{faulty:?}");
    assert_eq!(studio.replay(&["--drop", "101%"], "true").status, 2);
    assert_eq!(studio.replay(&["--slow", "5g"], "true").status, 2);
}
