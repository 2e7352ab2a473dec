use super::{QueuePage, QueueSelection, ROWS, page};
use crate::page::testing::{as_key, assert_harmless, hostile, shell, time};
use crate::page::{RenderedPage, Shell};
use wwwoffle_api::{
    FetchAttempts, Hold, ItemState, Mode, Priority, QueueCounts, QueueItem, RequestKind,
};

pub(super) fn item(url: &str, page: Option<&str>, state: ItemState) -> QueueItem {
    QueueItem {
        key: "ab".into(),
        url: url.into(),
        method: "GET".into(),
        kind: if page.is_some() { RequestKind::Part } else { RequestKind::Page },
        page: page.map(Into::into),
        queued: time(),
        state,
        attempts: FetchAttempts::default(),
        priority: Priority::Usual,
        turn: None,
        owner: None,
    }
}

fn shown(items: &[QueueItem]) -> QueuePage {
    let mut counts = QueueCounts::default();
    for item in items {
        counts.add(item.state);
    }
    let asked = QueueSelection { state: None, page: 1 };
    QueuePage { items: items.to_vec(), asked, total: items.len(), counts }
}

fn page_of(mode: Mode, shown: &QueuePage) -> RenderedPage {
    page(&Shell { mode, ..shell() }, shown)
}

fn body(page: &RenderedPage) -> String {
    page.body.clone()
}

#[test]
fn arguments_are_read_back_from_the_address() {
    for (arguments, want) in [
        (None, "/queue/"),
        (Some("page=1"), "/queue/"),
        (Some("page=0&state=some"), "/queue/"),
        (Some("page=-1&x=%ff"), "/queue/"),
        (Some("page=3"), "/queue/?page=3"),
        (Some("page=3&state=failed&x=y"), "/queue/?state=failed&page=3"),
        (Some("state=asking"), "/queue/?state=asking"),
    ] {
        let address = QueueSelection::parse(arguments).address();
        assert_eq!(address, want);
        assert_eq!(QueueSelection::parse(address.strip_prefix("/queue/?")).address(), want);
    }
}

#[test]
fn the_queue_shows_reasons_times_and_actions() {
    let failed = QueueItem {
        key: "f1".into(),
        attempts: FetchAttempts {
            count: 5,
            error: Some("connection refused".into()),
            ..FetchAttempts::default()
        },
        ..item("http://a.example/", None, ItemState::Failed)
    };
    let waiting = QueueItem {
        attempts: FetchAttempts {
            count: 1,
            not_before: Some(time()),
            held: Some(Hold::Retry { until: time() }),
            error: None,
        },
        priority: Priority::First,
        ..item("http://a.example/x.css", Some("http://a.example/"), ItemState::Waiting)
    };
    let page = page_of(Mode::Online, &shown(&[waiting, failed]));
    assert_harmless(&page);
    let body = body(&page);
    for want in [
        "1 request waiting, 0 in progress, 1 failed.",
        r#"<b class="failed">failed</b>, page, queued"#,
        r#"<b>1.</b> <span id="u1"><a class="url" href="http://a.example/x.css""#,
        r#"<b class="waiting">waiting</b>, <b>first</b>, part of a page, queued"#,
        "5 attempts",
        "1 attempt, <a",
        r#"It is tried again at <time datetime="2026-11-20T12:00:00Z">2026-11-20 12:00</time>."#,
        "<bdi>connection refused</bdi>",
        r#"name="chosen" value="f1""#,
        r#"name="token" value="f00""#,
        r#"value="f1" formaction="http://localhost:8080/control/retry" aria-label="Retry http://a.example/">Retry</button>"#,
        r#"value="f1" formaction="http://localhost:8080/control/delete/req" aria-label="Delete http://a.example/">Delete</button>"#,
        r#"<a class="button" href="http://localhost:8080/control/delete/req-all">Delete all</a>"#,
        r#"formaction="http://localhost:8080/control/fetch""#,
        r#"href="http://localhost:8080/queue/edit?key=f1" aria-label="Edit http://a.example/">Edit</a>"#,
        r#"<span id="u2"><a class="url" href="http://a.example/""#,
        r#"<a id="c2" href="http://localhost:8080/configuration/url?http://a.example/" aria-labelledby="c2 u2">Configure</a>"#,
        r#"formaction="http://localhost:8080/control/queue/first""#,
        r#"formaction="http://localhost:8080/control/queue/usual""#,
        r#"formaction="http://localhost:8080/control/queue/last""#,
        r#"formaction="http://localhost:8080/control/retry-multiple""#,
        r#"formaction="http://localhost:8080/control/delete-multiple/req""#,
        r#"href="http://localhost:8080/queue/?state=failed""#,
        "Belongs to <bdi>http://a.example/</bdi>",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    // A failed request has no position in the order.
    assert!(!body.contains("<b>2.</b>"), "{body}");
}

#[test]
fn empty_and_offline() {
    let empty = page_of(Mode::Offline, &shown(&[]));
    assert_harmless(&empty);
    assert!(empty.body.contains("The queue is empty"));
    let waiting = shown(&[item("http://a/", None, ItemState::Waiting)]);
    let offline = page_of(Mode::Offline, &waiting);
    assert!(!offline.body.contains("Fetch now"));
    assert!(offline.body.contains("when the proxy is online"));
    // A failed request is not retried automatically, in any mode.
    let failed = shown(&[item("http://a/", None, ItemState::Failed)]);
    for mode in [Mode::Online, Mode::Offline] {
        let body = page_of(mode, &failed).body;
        assert!(!body.contains("when the proxy goes online") && body.contains("Retry all"));
    }
    let asked = QueueSelection { state: Some(ItemState::Failed), page: 1 };
    let none = page_of(Mode::Online, &QueuePage { asked, items: Vec::new(), total: 0, ..waiting });
    assert_harmless(&none);
    assert!(none.body.contains("has this state") && none.body.contains("aria-current"));
}

#[test]
fn hostile_values_are_text() {
    for hostile in &hostile() {
        let item = QueueItem {
            key: as_key(hostile).into(),
            method: hostile.clone(),
            kind: RequestKind::Post,
            attempts: FetchAttempts { error: Some(hostile.clone()), ..FetchAttempts::default() },
            owner: Some(hostile.clone()),
            ..item(hostile, Some(hostile), ItemState::Failed)
        };
        assert_harmless(&page_of(Mode::Offline, &shown(&[item])));
    }
}

#[test]
fn a_long_queue_has_pages_of_limited_size() {
    // The URLs are so long that links to all of them would make the page too large.
    let url = |n: usize| format!("http://host{n}.example/{}?{n}", "path/to/a/page&".repeat(100));
    let item = |n: usize| QueueItem {
        key: "ab".repeat(32),
        attempts: FetchAttempts {
            held: Some(Hold::Retry { until: time() }),
            error: Some("the connection was refused".repeat(4)),
            ..FetchAttempts::default()
        },
        ..item(&url(n), Some(&url(n)), ItemState::Waiting)
    };
    let items: Vec<_> = (0..ROWS).map(item).collect();
    let counts = QueueCounts { waiting: 10_000, failed: 3, ..QueueCounts::default() };
    let asked = QueueSelection { state: None, page: 3 };
    let page = page_of(Mode::Online, &QueuePage { items, asked, total: 10_003, counts });
    assert_harmless(&page);
    let body = body(&page);
    for want in [
        "10000 requests waiting",
        "<b>101.</b>",
        "<b>150.</b>",
        "101 to 150 of 10003",
        "/queue/?page=2\">Previous",
        "/queue/?page=4\">Next",
        r#"name="back" value="/queue/?page=3""#,
    ] {
        assert!(body.contains(want), "{want}");
    }
}
