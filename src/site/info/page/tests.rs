//! Tests of the page about a URL.

use wwwoffle_spool::Place;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::*;
use crate::page::certificates::tests::chain;
use crate::page::testing::{assert_harmless, hostile, shell, time};
use crate::proxy::decide::Decision;
use crate::proxy::status::{CacheStatus, HitReason};
use wwwoffle_api::{CompressedFile, Connection, EntryOwner};

fn text_of(text: &str) -> Text {
    tr("{fact}").with("fact", shown::text(text))
}

fn info(text: &str, connection: bool) -> Info<Text> {
    let fields = |count| {
        let value = Some(text.to_owned());
        let mut fields = vec![Field { name: "x".to_owned(), value }; count];
        fields.push(Field { name: "set-cookie".to_owned(), value: None });
        fields
    };
    let connection = connection.then(|| Connection {
        version: text.to_owned(),
        suite: text.to_owned(),
        by_fingerprint: true,
        chain: chain(text),
    });
    let copy = StoredInfo {
        whose: EntryOwner { owner: Some(text.to_owned()), login: Some(text.to_owned()) },
        status: 200,
        received: time(),
        stored: time(),
        bytes: 1_234,
        storage: BodyOnDisk {
            compressed: Some(CompressedFile { bytes: 7_000, plain: 21_000 }),
            shared: true,
            sharing: Some(3),
        },
        sha256: text.to_owned(),
        content_type: Some(text.to_owned()),
        response: fields(2),
        method: "GET".to_owned(),
        request: fields(SHOWN_FIELDS + 4),
        connection,
    };
    let parts = parts([1, SHOWN_PARTS + 3, 2, 1, 4], text);
    let (url, key) = (text.to_owned(), text.to_owned());
    Info { url, key, kept: Some(copy), pinned: true, parts: Some(parts) }
}

/// Returns the given number of sub-resources in each state, in the order of the states.
fn parts(many: [usize; 5], text: &str) -> PageParts<Text> {
    let mut parts = PageParts { cut: Some(text_of(text)), ..PageParts::default() };
    let states = [
        PartState::Absent,
        PartState::Failed,
        PartState::Queued,
        PartState::LeftOut,
        PartState::Kept,
    ];
    for (state, count) in states.into_iter().zip(many) {
        for _ in 0..count {
            parts.counts.add(state);
            parts.list.push(PartItem {
                url: text.to_owned(),
                class: "image".to_owned(),
                from: Some(text.to_owned()),
                state,
                reason: Some(text_of(text)),
            });
        }
    }
    parts.complete = parts.counts.missing() == 0;
    parts
}

#[test]
fn missing_sub_resources_are_first_and_have_a_button() {
    let url = "https://a.example/p";
    let page_body = body(&info(url, true));
    let places: Vec<_> =
        ["Not saved (1)", "Failed (18)", "On the queue (2)", "Left out (1)", "Saved (4)"]
            .iter()
            .map(|title| page_body.find(title).unwrap_or_else(|| panic!("{title} in {page_body}")))
            .collect();
    assert!(places.is_sorted(), "{places:?}");
    for want in [
        "21 files are missing",
        "and 3 more; <code>wwwoffle info</code>",
        "name=\"parts\" value=\"configured\"",
        "action=\"http://localhost:8080/refresh-request/\"",
        "name=\"token\" value=\"f00\"",
    ] {
        assert!(page_body.contains(want), "{want} in {page_body}");
    }
    for (many, is_button, want) in [
        ([0, 0, 2, 0, 1], false, "2 files are missing"),
        ([0, 0, 0, 1, 1], false, "The page is complete"),
        ([0, 1, 0, 0, 0], true, "1 file is missing"),
    ] {
        let parts = Some(PageParts { cut: None, ..parts(many, url) });
        let page_body = body(&Info { parts, ..info(url, true) });
        assert!(page_body.contains(want), "{want} in {page_body}");
        assert_eq!(page_body.contains("Fetch missing files"), is_button, "{many:?}");
    }
    assert!(!body(&Info { parts: None, ..info(url, true) }).contains("<h2>Parts"));
}

fn more(text: &str) -> InfoExtras {
    InfoExtras {
        referrers: Some(vec![text.to_owned(); SHOWN_REFERRERS + 2]),
        versions: Some(2),
        last: Some(LastAction {
            at: std::time::SystemTime::UNIX_EPOCH,
            method: hyper::Method::from_bytes(b"M-SEARCH").unwrap(),
            answer: hyper::StatusCode::OK,
            took: std::time::Duration::from_millis(12),
            status: CacheStatus::Hit(HitReason::Offline),
        }),
        would: Some(PredictedAction::Do(Decision::Fetch)),
        queued: true,
        saves: true,
        action: Some(ActionResult::Restored(crate::site::lists::page::RestoredCounts {
            entries: 2,
            overtaken: 1,
            ..Default::default()
        })),
    }
}

#[test]
fn a_request_is_shown_as_received_and_as_sent() {
    for text in hostile() {
        let field = |name: &str, value: Option<&str>| Field {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        let head = || (text.clone(), vec![field(&text, Some(&text)), field("cookie", None)]);
        let comparison = RequestComparison { url: text.clone(), came: head(), goes: head() };
        let page = request_page(&shell(), &comparison);
        assert_harmless(&page);
        assert!(page.body.contains("<dt>cookie</dt><dd class=\"soft\">not shown</dd>"));
    }
}

fn body(info: &Info<Text>) -> String {
    let page = page(&shell(), info, &more(&info.url));
    assert_harmless(&page);
    page.body
}

#[test]
fn the_page_shows_the_entry_and_its_connection() {
    let text = body(&info("https://a.example/p", true));
    for want in [
        "<dt>Status</dt><dd>200</dd>",
        "1.2 kB (1234 bytes)",
        "It is compressed on the disk: 7.0 kB instead of 21 kB.<br>3 entries have this content, which is stored only once.",
        "served, because the mode was offline.",
        "<code>wwwoffle; hit; detail=offline</code>",
        "It would be fetched from the site and saved.",
        "2 versions are saved",
        "and 2 more",
        "2026-11-20 12:00",
        "<dt>set-cookie</dt><dd class=\"soft\">not shown</dd>",
        "allows this certificate by its fingerprint",
        "AB:AB:AB",
        "and 5 more",
    ] {
        assert!(text.contains(want), "{want} in {text}");
    }
    assert!(body(&info("http://a.example/", false)).contains("Plain HTTP"));
    assert!(body(&info("https://a.example/", false)).contains("is not known"));
    let nothing = Info { kept: None, ..info("https://a.example/p", false) };
    assert!(body(&nothing).contains("It is not saved"));
}

#[test]
fn each_button_names_its_entry_and_is_absent_for_others() {
    let url = "http://a.example/p?x=1&y";
    let place = Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
    let of = |owner: Option<&str>, key: String| {
        let plain = info(url, false);
        let copy = plain.kept.map(|copy| StoredInfo {
            whose: EntryOwner { owner: owner.map(str::to_owned), login: None },
            ..copy
        });
        body(&Info { key, kept: copy, ..plain })
    };
    let ours = [(None, place.key()), (Some("user:ada"), place.owned_by("user:ada").key())];
    for (owner, key) in ours {
        let text = of(owner, key.to_string());
        for want in [
            r#"<p id="about">"#,
            r#"<button id="anew" aria-labelledby="anew about" formaction="http://localhost:8080/control/refresh-multiple">"#,
            r#"<button id="delete" aria-labelledby="delete about" formaction="http://localhost:8080/control/delete-multiple/url">"#,
            r#"name="back" value="/info/?http://a.example/p%3Fx%3D1%26y""#,
            "2 entries were restored. 1 entry was not restored, because a newer copy exists.",
            "On the queue</a>",
        ] {
            assert!(text.contains(want), "{want} in {text}");
        }
        // An entry for a login, and an entry of another owner.
        let other = of(Some("user:bob"), key.to_string());
        assert!(!other.contains("id=\"delete\"") && other.contains("id=\"pin\""), "{other}");
    }
}

#[test]
fn hostile_values_are_text() {
    for text in hostile() {
        body(&info(&text, true));
    }
}

#[test]
fn the_page_address_has_the_url_without_its_password() {
    assert_eq!(
        crate::page::links::info("https://me:pw@a.example/p?x=1&y=%20#"),
        "/info/?https://a.example/p%3Fx%3D1%26y%3D%2520%23"
    );
}
