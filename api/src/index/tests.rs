//! The JSON of a list is a promise to scripts, including the order of its fields.

use super::*;

fn time(second: u8) -> Timestamp {
    format!("2026-11-20T12:00:{second:02}Z").parse().unwrap()
}

/// An item with every field.
fn full() -> IndexItem {
    IndexItem {
        url: "http://a.example/".into(),
        key: "0a".into(),
        whose: EntryOwner { owner: Some("user:ada".into()), login: Some("a%40b".into()) },
        site: "a.example".into(),
        title: Some("A".into()),
        language: Some("en-GB".into()),
        content: IndexContent {
            content_type: "text/html".into(),
            class: "page".into(),
            page: true,
            status: 200,
            bytes: u64::MAX,
            file_bytes: 12,
            digest: "0b".into(),
        },
        times: ItemTimes { answered: time(1), stored: time(2), checked: time(3), used: time(4) },
        versions: 5,
        words: "indexed".into(),
        missing: Some(6),
        marks: IndexMarks { queued: true, monitored: false, pinned: true },
    }
}

/// An item without any optional field.
fn minimal() -> IndexItem {
    IndexItem {
        whose: EntryOwner::default(),
        title: None,
        language: None,
        missing: None,
        marks: IndexMarks::default(),
        ..full()
    }
}

const FULL: &str = "{\"url\":\"http://a.example/\",\"key\":\"0a\",\"owner\":\"user:ada\",\
    \"login\":\"a%40b\",\"site\":\"a.example\",\"title\":\"A\",\"language\":\"en-GB\",\
    \"content_type\":\"text/html\",\
    \"class\":\"page\",\"page\":true,\"status\":200,\"bytes\":18446744073709551615,\
    \"file_bytes\":12,\"digest\":\"0b\",\"answered\":\"2026-11-20T12:00:01Z\",\
    \"stored\":\"2026-11-20T12:00:02Z\",\"checked\":\"2026-11-20T12:00:03Z\",\
    \"used\":\"2026-11-20T12:00:04Z\",\"versions\":5,\"words\":\"indexed\",\"missing\":6,\
    \"queued\":true,\"monitored\":false,\"pinned\":true}";

const MINIMAL: &str = "{\"url\":\"http://a.example/\",\"key\":\"0a\",\"site\":\"a.example\",\
    \"content_type\":\"text/html\",\"class\":\"page\",\"page\":true,\"status\":200,\
    \"bytes\":18446744073709551615,\"file_bytes\":12,\"digest\":\"0b\",\
    \"answered\":\"2026-11-20T12:00:01Z\",\"stored\":\"2026-11-20T12:00:02Z\",\
    \"checked\":\"2026-11-20T12:00:03Z\",\"used\":\"2026-11-20T12:00:04Z\",\"versions\":5,\
    \"words\":\"indexed\",\"queued\":false,\"monitored\":false,\"pinned\":false}";

#[test]
fn items_of_a_list() {
    for (item, text) in [(full(), FULL), (minimal(), MINIMAL)] {
        assert_eq!(serde_json::to_string(&item).unwrap(), text);
        assert_eq!(serde_json::from_str::<IndexItem>(text).unwrap(), item);
    }
    let page = IndexPage { listed: ListItems::Entries(vec![full(), minimal()]), next: None };
    let text = format!("{{\"entries\":[{FULL},{MINIMAL}]}}");
    assert_eq!(serde_json::to_string(&page).unwrap(), text);
    assert_eq!(serde_json::from_str::<IndexPage>(&text).unwrap(), page);
}

#[test]
fn hosts_and_sites() {
    let host = HostItem {
        scheme: "http".into(),
        host: "www.a.example:81".into(),
        site: "a.example".into(),
        entries: 1,
        bytes: 2,
    };
    let site = SiteItem { site: "a.example".into(), hosts: 1, entries: 2, bytes: 3 };
    for (listed, text) in [
        (
            ListItems::Hosts(vec![host]),
            r#"{"hosts":[{"scheme":"http","host":"www.a.example:81","site":"a.example","entries":1,"bytes":2}]}"#,
        ),
        (
            ListItems::Sites(vec![site]),
            r#"{"sites":[{"site":"a.example","hosts":1,"entries":2,"bytes":3}]}"#,
        ),
    ] {
        let page = IndexPage { listed, next: None };
        assert_eq!(serde_json::to_string(&page).unwrap(), text);
        assert_eq!(serde_json::from_str::<IndexPage>(text).unwrap(), page);
    }
}

#[test]
fn hits_of_a_search() {
    let snippet =
        ShownSnippet { text: "a".into(), marks: vec![(0, 1)], cut_before: true, cut_after: false };
    let hit = SearchHit { item: full(), snippet, title_marks: vec![(0, 1)] };
    let item = FULL.strip_suffix('}').unwrap();
    let text = format!(
        "{item},\"snippet\":{{\"text\":\"a\",\"marks\":[[0,1]],\"cut_before\":true,\
         \"cut_after\":false}},\"title_marks\":[[0,1]]}}"
    );
    assert_eq!(serde_json::to_string(&hit).unwrap(), text);
    assert_eq!(serde_json::from_str::<SearchHit>(&text).unwrap(), hit);
}

#[test]
fn an_item_of_another_version_is_read() {
    // An older daemon sends no marks, and a newer one may send more fields.
    let older = MINIMAL.replace(",\"queued\":false,\"monitored\":false,\"pinned\":false", "");
    assert_eq!(serde_json::from_str::<IndexItem>(&older).unwrap(), minimal());
    let newer = MINIMAL.replacen('{', "{\"newer\":1,", 1);
    assert_eq!(serde_json::from_str::<IndexItem>(&newer).unwrap(), minimal());
    let incomplete = MINIMAL.replace("\"status\":200,", "");
    assert!(serde_json::from_str::<IndexItem>(&incomplete).is_err());
}
