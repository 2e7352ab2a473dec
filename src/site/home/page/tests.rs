use super::setup::{BrowserKind, Setup};
use super::{DiskUse, HomeFaults, HomePage, RecentPage, RefusedClients, page};
use crate::base::text::tr;
use crate::fetch::LastFetch;
use crate::page::testing::{assert_harmless, hostile, shell, time};
use crate::page::{LocalOrigin, RenderedPage};
use crate::site::link::LinkReport;
use crate::site::link::link;
use wwwoffle_api::{
    DaemonActivity, DaemonProcess, DownloadItem, DownloadWaiting, Mode, ModeSetting, QueueCounts,
    RejectionItem, Status, Sums,
};

fn home(mode: Mode) -> HomePage {
    let status = Status {
        version: "0.1.0".into(),
        mode,
        chosen: mode.into(),
        link: None,
        metered: false,
        activity: DaemonActivity::default(),
        process: DaemonProcess {
            pid: 1,
            spool: "/s".into(),
            read_only: false,
            listen: vec![],
            since: time(),
            missing_programs: vec![],
        },
        queue: QueueCounts { waiting: 1, failed: 2, active: 0, asking: 0 },
        downloads: vec![],
        connections: 0,
        outgoing: wwwoffle_api::OutgoingTrouble::default(),
        rejections: vec![],
    };
    HomePage {
        status,
        link: link(),
        last: None,
        recent: Some(vec![]),
        is_ready: true,
        space: None,
        sites: 0,
        days: vec![],
        faults: HomeFaults::default(),
        setup: Some(setup()),
        now: time(),
    }
}

fn setup() -> Setup {
    let secure = LocalOrigin::parse("https", "localhost:8080").ok();
    Setup { is_new: true, uses_proxy: false, secure, system: BrowserKind::Windows }
}

fn page_of(home: &HomePage) -> RenderedPage {
    let page = page(&shell(), home);
    assert_harmless(&page);
    page
}

fn body(home: &HomePage) -> String {
    page_of(home).body
}

#[test]
fn each_mode_has_its_button_and_shows_the_queue() {
    for mode in [Mode::Online, Mode::Offline, Mode::Autodial] {
        let body = body(&home(mode));
        let label = match mode {
            Mode::Online => "Online",
            Mode::Offline => "Offline",
            Mode::Autodial => "Saved first",
        };
        let pressed = format!(
            "formaction=\"http://localhost:8080/control/{mode}\" aria-pressed=\"true\">{label}<"
        );
        for want in [
            &pressed,
            r#"name="token" value="f00""#,
            "1 request waiting, 0 in progress, 2 failed",
            "<code>localhost:8080</code>",
            "<code>http://localhost:8080/proxy.pac</code>",
            "<h2>Use the proxy in this browser</h2>",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert_eq!(body.matches("aria-pressed=\"true\"").count(), 1);
        assert_eq!(body.contains("/control/fetch"), mode != Mode::Offline);
        assert!(!body.contains("/control/hold"));
    }
    let mut busy = home(Mode::Online);
    busy.status.queue.active = 1;
    assert!(body(&busy).contains("/control/hold"));
}

#[test]
fn the_first_steps_show_what_is_done() {
    let mut home = home(Mode::Online);
    let first = body(&home);
    for want in [
        "Three steps set up this browser.",
        "No request of this device has come through the proxy yet.",
        "<link rel=\"stylesheet\" href=\"https://localhost:8080/ca/trusted.css\">",
        "<p>Windows: Settings",
        "<li>Firefox: Settings",
        "The first saved page appears here.",
    ] {
        assert!(first.contains(want), "{want} in {first}");
    }
    assert!(
        !first.contains("role=\"search\"") && !first.contains("class=\"card done\""),
        "{first}"
    );
    home.setup = Some(Setup { is_new: false, uses_proxy: true, secure: None, ..setup() });
    let later = body(&home);
    for want in [
        "Requests of this device come through the proxy.",
        "HTTPS is not intercepted",
        "Pages are saved. Go offline, and open them again.",
        "role=\"search\"",
    ] {
        assert!(later.contains(want), "{want} in {later}");
    }
    assert_eq!(later.matches("class=\"card done\"").count(), 2);
    assert!(!later.contains("trusted.css"), "{later}");
}

#[test]
fn the_link_state_and_the_portal_login_are_shown() {
    let mut home = home(Mode::Offline);
    home.status.chosen = ModeSetting::Auto;
    for portal in hostile() {
        home.link = LinkReport {
            reason: tr("{fact}").with("fact", "it is so: <script>"),
            decides: Some(time()),
            portal: Some(portal),
        };
        let body = body(&home);
        assert!(body.contains("Automatic. Offline now: <bdi>it is so"), "{body}");
        assert!(body.contains("it is so: &lt;script&gt;"), "{body}");
        assert!(body.contains("Log in at"), "{body}");
        assert!(body.contains("/control/auto\" aria-pressed=\"true\">Automatic<"), "{body}");
        assert_eq!(body.matches("aria-pressed=\"true\"").count(), 1);
    }
}

#[test]
fn the_link_state_is_shown_in_every_mode() {
    let body = body(&home(Mode::Online));
    assert!(body.contains("Network: <bdi>connected</bdi>"), "{body}");
    assert!(!body.contains("Automatic. ") && !body.contains("Log in at"), "{body}");
}

#[test]
fn problems_are_shown_with_a_link_to_their_remedy() {
    let mut home = home(Mode::Online);
    home.status.queue = QueueCounts::default();
    assert!(!body(&home).contains("Needs attention"));
    home.status.queue = QueueCounts { failed: 1, asking: 2, ..QueueCounts::default() };
    for host in ["a.example", "a.example", "b.example"] {
        let (host, client) = (host.to_owned(), "10.0.0.1".to_owned());
        home.status.rejections.push(RejectionItem { host, client, until: time() });
    }
    home.faults.refused =
        Some(RefusedClients { count: 3, client: [10, 0, 0, 9].into(), at: time() });
    (home.faults.config, home.faults.templates) = (true, 1);
    home.space = Some(DiskUse { free: 1, total: 1_000, kept: 10, ..DiskUse::default() });
    let body = body(&home);
    for want in [
        r#"1 request failed. <a href="http://localhost:8080/queue/?state=failed">"#,
        r#"2 requests are too large to fetch without asking. <a href="http://localhost:8080/queue/?state=asking">"#,
        "2 sites are not being saved",
        r#"<a href="http://localhost:8080/ca#rejected">"#,
        "3 connections were refused, because their clients may not use this proxy: the last from 10.0.0.9",
        r#"<a href="http://localhost:8080/configuration/allowed-connect-hosts/">"#,
        "has errors",
        "1 file of your own",
        r#"The disk is nearly full: 1 B free. <a href="http://localhost:8080/purge/">"#,
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
}

fn recent(url: &str, title: Option<&str>) -> RecentPage {
    let (url, title) = (url.to_owned(), title.map(str::to_owned));
    RecentPage { url, title, stored: time(), icon: None }
}

#[test]
fn recently_stored_pages_are_shown_with_icon_and_age() {
    let mut home = home(Mode::Online);
    home.setup = None;
    home.last = Some(LastFetch { at: time(), done: 3, failed: 1 });
    home.now = "2026-11-20T14:30:00Z".parse().unwrap();
    home.recent = Some(vec![
        RecentPage {
            icon: Some("data:image/png;base64,AAAA".to_owned()),
            ..recent("http://www.tea.example/leaf", Some("Green tea"))
        },
        recent("http://www.cake.example/a?b", Some(" ")),
    ]);
    home.space = Some(DiskUse {
        entries: 7,
        kept: 2_000,
        free: 500_000,
        total: 1_000_000,
        ..DiskUse::default()
    });
    let body = body(&home);
    for want in [
        r#"<img src="data:image/png;base64,AAAA" alt="" width="16" height="16">"#,
        r#"<a class="clip" href="http://www.tea.example/leaf" rel="noreferrer"><bdi>Green tea</bdi></a>"#,
        "<bdi>www.tea.example</bdi>",
        ">2 hours ago</time>",
        r#"<span class="icon" aria-hidden="true">c</span>"#,
        "<bdi>http://www.cake.example/a?b</bdi>",
        "3 fetched, 1 failed.",
        "7 entries saved, 2.0 kB.",
        "2.0 kB saved, 498 kB used by other files, 500 kB free",
        "/?help=1#help",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    assert!(!body.contains("proxy.pac") && !body.contains("\"most\""), "{body}");
    home.space = home.space.map(|space| DiskUse { most: Some(250_000), ..space });
    let marked = self::body(&home);
    for want in [
        r#" aria-describedby="most"><path"#,
        r#"<path class="most" d="M250 0V10"></path></svg>"#,
        r#"<span id="most">The line marks the size to which a purge reduces the spool: 250 kB.</span>"#,
    ] {
        assert!(marked.contains(want), "{want} in {marked}");
    }
    home.is_ready = false;
    assert!(self::body(&home).contains("The index is being built"));
    // The script asks for the rest alone: the list, which costs the most, stays as it is.
    home.recent = None;
    let brief = self::body(&home);
    assert!(!brief.contains("data-live=\"recent\"") && brief.contains("data-live=\"activity\""));
}

#[test]
fn the_requests_of_the_last_days_are_a_chart() {
    let mut home = home(Mode::Online);
    home.setup = None;
    let sums = |hit, stored| Sums {
        requests: [("hit".to_owned(), hit), ("stored".to_owned(), stored)].into(),
        ..Sums::default()
    };
    let date = |day| jiff::civil::date(2026, 11, day);
    home.days = vec![(date(19), sums(0, 0)), (date(20), Sums::default())];
    assert!(!body(&home).contains("class=\"chart\""));
    home.days = vec![(date(19), sums(1, 3)), (date(20), sums(4, 1))];
    let body = body(&home);
    for want in [
        r#"<svg class="chart""#,
        "5 of 9 requests in the last 2 days were answered from the spool.",
        "<title>2026-11-19: 1 / 4</title>",
        // The figures are those of the last day.
        "Saved today</span> <b>1</b>",
        "Saved copies used today</span> <b>4</b>",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
}

#[test]
fn hostile_titles_and_addresses_are_text() {
    let mut home = home(Mode::Online);
    for text in &hostile() {
        home.recent = Some(vec![recent(text, Some(text)), recent("http://a/", Some(text))]);
        page_of(&home);
    }
    // The maximum number of rows in every list, each of maximum size.
    let long = format!("http://a.example/{}", "\"&<'".repeat(2_000));
    let icon = Some(format!("data:image/png;base64,{}", "A".repeat(2_970)));
    let one = RecentPage { icon, ..recent(&long, Some(&"\"<".repeat(200))) };
    home.recent = Some(vec![one; 10]);
    page_of(&home);
}

fn download(url: &str, bytes: u64, total: Option<u64>) -> DownloadItem {
    let (rate, seconds_left, resumed, waiting) = (None, None, 0, None);
    let url = url.to_owned();
    DownloadItem { id: 1, url, bytes, total, rate, seconds_left, resumed, waiting }
}

#[test]
fn downloads_are_shown_with_their_progress() {
    let mut home = home(Mode::Online);
    for (bytes, total) in [(500, Some(2_000)), (7, None), (9, Some(0)), (u64::MAX, Some(1))] {
        home.status.downloads.push(download("http://a.example/big", bytes, total));
    }
    let body = body(&home);
    assert!(body.contains("500 B of 2.0 kB"));
    assert!(body.contains(r#"value="25""#));
    assert_eq!(body.matches("<progress").count(), 2);
}

#[test]
fn many_hostile_downloads_are_limited_and_escaped() {
    let mut home = home(Mode::Online);
    for url in hostile().iter().cycle().take(1_000) {
        let error = url.clone();
        let waiting = DownloadWaiting { since: time(), next: time(), attempts: 1, error };
        let (rate, waiting) = (Some(0), Some(waiting));
        let new = download(url, 1, Some(2));
        home.status.downloads.push(DownloadItem { rate, resumed: 3, waiting, ..new });
    }
    let body = body(&home);
    assert!(body.contains("and 980 more"));
    assert!(body.contains(
        "attempt 1 to resume at <time datetime=\"2026-11-20T12:00:00Z\">2026-11-20 12:00</time>"
    ));
}
