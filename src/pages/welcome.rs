//! The local page `/`: the mode and its switch, what is going on, and how to begin.

use serde::Serialize;

use super::{
    Page, Shell, Templates, progress,
    shown::{ShownTime, ShownUrl},
    text::Text,
};
use crate::api::{Choice as Chosen, Download, Mode, QueueCounts, Status};

/// Downloads that are listed; the others are counted.
const SHOWN_DOWNLOADS: usize = 20;

#[derive(Serialize)]
struct View<'a> {
    headline: &'static str,
    explanation: &'static str,
    modes: [Choice; 4],
    link: Option<LinkView>,
    token: &'a str,
    queue: QueueCounts,
    can_fetch: bool,
    downloads: Vec<DownloadView>,
    more_downloads: usize,
    proxy: &'a str,
    /// Hosts whose certificates some client does not take.
    rejected: usize,
}

#[derive(Serialize)]
struct Choice {
    word: &'static str,
    chosen: bool,
}

/// Why it is online or offline, if the link decides.
#[derive(Serialize)]
struct LinkView {
    reason: String,
    since: String,
    portal: Option<ShownUrl>,
}

#[derive(Serialize)]
struct DownloadView {
    url: ShownUrl,
    text: Text,
    waiting: Option<Text>,
    percent: Option<u64>,
}

/// Makes the page; `token` is the general token.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, status: &Status, token: &str) -> Page {
    let (headline, explanation) = match status.mode {
        Mode::Online => ("Online", "Pages come from the web, and what you see is kept."),
        Mode::Offline => {
            ("Offline", "Pages come from the spool. What is missing is queued; nothing goes out.")
        }
        Mode::Autodial => {
            ("Autodial", "What is kept comes from the spool at once, the rest from the web.")
        }
    };
    let view = View {
        headline,
        explanation,
        modes: Chosen::ALL.map(|one| Choice { word: one.as_str(), chosen: one == status.chosen }),
        link: status.link.as_ref().map(|link| LinkView {
            reason: link.reason.clone(),
            since: ShownTime::new(link.since, &shell.zone).text,
            portal: link.portal.as_deref().map(ShownUrl::new),
        }),
        token,
        queue: status.queue,
        can_fetch: status.mode != Mode::Offline && status.queue.waiting > 0,
        downloads: (status.downloads.iter().take(SHOWN_DOWNLOADS))
            .map(|one| download(shell, one))
            .collect(),
        more_downloads: status.downloads.len().saturating_sub(SHOWN_DOWNLOADS),
        proxy: shell.origin.host_port(),
        rejected: rejected(status),
    };
    templates.page("welcome.html", 200, shell, &view)
}

fn rejected(status: &Status) -> usize {
    let mut hosts: Vec<&str> = status.rejections.iter().map(|one| one.host.as_str()).collect();
    hosts.dedup();
    hosts.len()
}

fn download(shell: &Shell, download: &Download) -> DownloadView {
    let percent = download
        .total
        .and_then(|total| download.bytes.saturating_mul(100).checked_div(total))
        .map(|percent| percent.min(100));
    let time = |time| ShownTime::new(time, &shell.zone).text;
    DownloadView {
        url: ShownUrl::new(&download.url),
        text: progress::line(download),
        waiting: progress::waiting(download, time),
        percent,
    }
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::{
        api::{
            Choice, Download, DownloadWaiting, LinkStatus, Mode, QueueCounts, Rejection, Status,
        },
        pages::testing::{assert_harmless, hostile, shell, templates, time},
    };

    fn status(mode: Mode) -> Status {
        Status {
            version: "0.1.0".into(),
            mode,
            chosen: mode.into(),
            link: None,
            metered: false,
            pid: 1,
            spool: "/s".into(),
            listen: vec![],
            since: time(),
            queue: QueueCounts { waiting: 1, failed: 2, active: 0, asking: 0 },
            downloads: vec![],
            connections: 0,
            outward_refused: 0,
            rejections: vec![],
        }
    }

    #[test]
    fn each_mode_has_its_switch_and_shows_what_waits() {
        for mode in [Mode::Online, Mode::Offline, Mode::Autodial] {
            let page = page(&templates(), &shell(), &status(mode), "f00");
            assert_harmless(&page);
            let body = page.body.replace("&#x2f;", "/");
            let pressed = format!(
                "formaction=\"http://localhost:8080/control/{mode}\" aria-pressed=\"true\">{mode}<"
            );
            for want in [
                &pressed,
                r#"name="token" value="f00""#,
                "1 request waits, 0 on the way, 2 failed",
                "<code>localhost:8080</code>",
                "<code>http://localhost:8080/proxy.pac</code>",
                "Nothing is being downloaded",
            ] {
                assert!(body.contains(want), "{want} in {body}");
            }
            assert_eq!(body.matches("aria-pressed=\"true\"").count(), 1);
            assert_eq!(body.contains("/control/fetch"), mode != Mode::Offline);
        }
    }

    #[test]
    fn the_link_is_told_of_and_where_to_log_in() {
        let mut status = status(Mode::Offline);
        status.chosen = Choice::Auto;
        for portal in hostile() {
            let link = LinkStatus {
                reason: "it is so: <script>".to_owned(),
                since: time(),
                portal: Some(portal),
                probed: None,
                probes: 3,
            };
            status.link = Some(link);
            let page = page(&templates(), &shell(), &status, "t");
            assert_harmless(&page);
            assert!(page.body.contains("it is so"), "{}", page.body);
            assert!(page.body.contains("Log in at"), "{}", page.body);
            let body = page.body.replace("&#x2f;", "/");
            assert!(body.contains("/control/auto\" aria-pressed=\"true\">auto<"), "{body}");
            assert_eq!(body.matches("aria-pressed=\"true\"").count(), 1);
        }
    }

    #[test]
    fn who_does_not_take_our_certificate_is_told_of() {
        let mut status = status(Mode::Online);
        assert!(!page(&templates(), &shell(), &status, "t").body.contains("not kept"));
        for host in ["a.example", "a.example", "b.example"] {
            let (host, client) = (host.to_owned(), "10.0.0.1".to_owned());
            status.rejections.push(Rejection { host, client, until: time() });
        }
        let page = page(&templates(), &shell(), &status, "t");
        assert_harmless(&page);
        assert!(page.body.contains("2 hosts pass unread and are not kept"), "{}", page.body);
    }

    fn download(url: &str, bytes: u64, total: Option<u64>) -> Download {
        let (rate, seconds_left, resumed, waiting) = (None, None, 0, None);
        let url = url.to_owned();
        Download { url, bytes, total, rate, seconds_left, resumed, waiting }
    }

    #[test]
    fn downloads_are_shown_with_their_progress() {
        let mut status = status(Mode::Online);
        for (bytes, total) in [(500, Some(2_000)), (7, None), (9, Some(0)), (u64::MAX, Some(1))] {
            status.downloads.push(download("http://a.example/big", bytes, total));
        }
        let page = page(&templates(), &shell(), &status, "t");
        assert_harmless(&page);
        assert!(page.body.contains("500 B of 2.0 kB"));
        assert!(page.body.contains(r#"value="25""#));
        assert_eq!(page.body.matches("<progress").count(), 2);
    }

    #[test]
    fn many_and_hostile_downloads_stay_bounded_text() {
        let mut status = status(Mode::Online);
        for url in hostile().iter().cycle().take(1_000) {
            let error = url.clone();
            let waiting = DownloadWaiting { since: time(), next: time(), attempts: 1, error };
            let (rate, waiting) = (Some(0), Some(waiting));
            let new = download(url, 1, Some(2));
            status.downloads.push(Download { rate, resumed: 3, waiting, ..new });
        }
        let page = page(&templates(), &shell(), &status, "t");
        assert_harmless(&page);
        assert!(page.body.contains("and 980 more"));
        assert!(page.body.contains("attempt 1 to take it up again at 2026-11-20 12:00"));
    }
}
