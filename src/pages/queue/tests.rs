use super::{SHOWN_PARTS, grouped, page};
use crate::{
    api::{Held, ItemKind, ItemState, Mode, QueueItem},
    pages::{
        Shell,
        testing::{as_key, assert_harmless, hostile, shell, templates, time},
    },
};

fn item(url: &str, page: Option<&str>, state: ItemState) -> QueueItem {
    QueueItem {
        key: "ab".into(),
        url: url.into(),
        method: "GET".into(),
        kind: if page.is_some() { ItemKind::Part } else { ItemKind::Page },
        page: page.map(Into::into),
        queued: time(),
        state,
        attempts: 0,
        not_before: None,
        held: None,
        error: None,
        owner: None,
    }
}

#[test]
fn parts_stand_with_their_page_and_failures_first() {
    use ItemState::{Active, Failed, Waiting};
    let items = [
        item("http://a/1.png", Some("http://a/"), Waiting),
        item("http://b/", None, Waiting),
        item("http://a/", None, Waiting),
        item("http://c/", None, Active),
        item("http://b/1.png", Some("http://b/"), Failed),
        // The same URL twice, with other credentials: not lost.
        item("http://a/", None, Waiting),
    ];
    let groups: Vec<_> = grouped(&items)
        .iter()
        .map(|group| (group.page.to_owned(), group.lead.is_some(), group.parts.len()))
        .collect();
    let want = [("http://b/", true, 1), ("http://c/", true, 0), ("http://a/", true, 2)];
    assert_eq!(groups, want.map(|(page, lead, parts)| (page.to_owned(), lead, parts)));
}

#[test]
fn shows_why_and_when_and_what_can_be_done() {
    let failed = QueueItem {
        key: "f1".into(),
        attempts: 5,
        error: Some("connection refused".into()),
        ..item("http://a.example/", None, ItemState::Failed)
    };
    let waiting = QueueItem {
        attempts: 1,
        not_before: Some(time()),
        held: Some(Held::Retry { until: time() }),
        ..item("http://a.example/x.css", Some("http://a.example/"), ItemState::Waiting)
    };
    let online = Shell { mode: Mode::Online, ..shell() };
    let page = page(&templates(), &online, &[failed, waiting], "f00");
    assert_harmless(&page);
    let body = page.body.replace("&#x2f;", "/");
    for want in [
        "1 request waits, 0 on the way, 1 failed.",
        r#"<b class="failed">failed</b>, page, recorded"#,
        "5 attempts",
        "1 attempt</span>",
        "It is tried again at 2026-11-20 12:00.",
        "<bdi>connection refused</bdi>",
        r#"name="key" value="f1""#,
        r#"name="token" value="f00""#,
        r#"formaction="http://localhost:8080/control/retry" aria-label="Retry http://a.example/">Retry</button>"#,
        r#"formaction="http://localhost:8080/control/delete/req" aria-label="Delete http://a.example/">Delete</button>"#,
        r#"formaction="http://localhost:8080/control/delete/req-all""#,
        r#"formaction="http://localhost:8080/control/fetch""#,
        "1 part of this page",
        r#"<a class="url" href="http://a.example/""#,
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
}

#[test]
fn empty_and_offline() {
    let empty = page(&templates(), &shell(), &[], "t");
    assert_harmless(&empty);
    assert!(empty.body.contains("Nothing is on the queue"));
    let waiting = [item("http://a/", None, ItemState::Waiting)];
    let offline = page(&templates(), &shell(), &waiting, "t");
    assert!(!offline.body.contains("Fetch now"));
    assert!(offline.body.contains("when the proxy goes online"));
    // What failed is not fetched again of itself, whatever the mode.
    let failed = [item("http://a/", None, ItemState::Failed)];
    for mode in [Mode::Online, Mode::Offline] {
        let body = page(&templates(), &Shell { mode, ..shell() }, &failed, "t").body;
        assert!(!body.contains("when the proxy goes online") && body.contains("Retry all"));
    }
}

#[test]
fn hostile_values_are_text() {
    for hostile in &hostile() {
        let item = QueueItem {
            key: as_key(hostile).into(),
            method: hostile.clone(),
            kind: ItemKind::Post,
            error: Some(hostile.clone()),
            ..item(hostile, Some(hostile), ItemState::Failed)
        };
        assert_harmless(&page(&templates(), &shell(), &[item], "t"));
    }
}

#[test]
fn a_long_queue_is_a_short_page() {
    let url = |n: usize| format!("http://host{}.example/{}/{n}", n % 700, "x".repeat(200));
    let mut items: Vec<_> = (0..5_000).map(|n| item(&url(n), None, ItemState::Waiting)).collect();
    let first = url(0);
    items.extend((0..5_000).map(|n| item(&url(n + 5_000), Some(&first), ItemState::Waiting)));
    let page = page(&templates(), &shell(), &items, "t");
    assert_harmless(&page);
    assert!(page.body.contains("10000 requests wait"));
    assert!(page.body.contains(&format!("and {} more", 5_000 - SHOWN_PARTS)));
    assert!(page.body.contains("requests more;"));
}
