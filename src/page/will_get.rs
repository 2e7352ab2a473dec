//! The message page for a page that is missing offline: its request was queued, and can be removed
//! from the queue.

use jiff::Timestamp;

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::page::ways::{FetchOffer, PageLink, SimilarPage, fetch_form, similar_pages};
use crate::page::{RenderedPage, Shell, view};
use wwwoffle_api::Priority;

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct WillGet<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// The key of the request on the queue.
    pub key: &'a str,
    /// [`Tokens::undo`](crate::page::token::Tokens::undo) for that key.
    pub undo_token: &'a str,
    /// When the request was recorded; `None` if that was just now.
    pub recorded: Option<Timestamp>,
    /// The error of the last attempt.
    pub last_error: Option<&'a str>,
    /// For an incomplete copy: the bytes that are stored, and the total if it is known.
    pub part: Option<(u64, Option<u64>)>,
    /// The priority that a user has set.
    pub priority: Priority,
    /// [`Tokens::priority`](crate::page::token::Tokens::priority) for that key.
    pub priority_token: &'a str,
    /// The offer to fetch the page with its sub-resources and its links.
    pub fetch: Option<FetchOffer<'a>>,
    /// Stored URLs of the same host that resemble the requested one.
    pub likes: &'a [SimilarPage],
    /// Whether older versions of the page are stored.
    pub has_versions: bool,
    /// The position of the request among the waiting ones of the same person, from 1, and their
    /// number. `None` if the request does not wait.
    pub position: Option<(u64, u64)>,
}

/// Renders the page, with status 504, so that a program does not mistake it for the requested page.
#[must_use]
pub fn page(shell: &Shell, will_get: &WillGet<'_>) -> RenderedPage {
    let url = will_get.url;
    let versions = will_get.has_versions.then(|| PageLink::versions(url)).flatten();
    let ways = [
        versions,
        PageLink::like(url),
        PageLink::host(url),
        PageLink::words(url),
        PageLink::choices(url),
        Some(PageLink::queue()),
        Some(PageLink::mode(shell.mode)),
    ];
    let view = view! {
        url: ShownUrl::new(will_get.url),
        key: will_get.key,
        undo_token: will_get.undo_token,
        recorded: will_get.recorded.map(|time| ShownTime::new(time, &shell.zone)),
        last_error: will_get.last_error.map(shown::text),
        part: will_get.part.map(|(here, total)| view! {
            here: shown::bytes(here),
            total: total.map(shown::bytes),
        }),
        position: will_get.position.map(|(position, _)| position),
        waiting: will_get.position.map(|(_, waiting)| waiting),
        priority: will_get.priority,
        priority_token: will_get.priority_token,
        fetch: will_get.fetch.and_then(|fetch| fetch_form(&fetch, shell)),
        likes: similar_pages(will_get.likes, shell),
        ways: ways.into_iter().flatten().collect::<Vec<_>>(),
    };
    shell.page("will-get.html", 504, &view)
}

#[cfg(test)]
mod tests {
    use super::{FetchOffer, Priority, SimilarPage, WillGet, page};
    use crate::page::testing::{as_key, assert_harmless, hostile, shell, time};
    use wwwoffle_http::caching::like::Likeness;

    fn like(url: &str) -> SimilarPage {
        SimilarPage { likeness: Likeness::Slash, url: url.to_owned(), version: (time(), time()) }
    }

    #[test]
    fn new_and_known_requests_are_distinguished_and_can_be_undone() {
        let new = WillGet {
            url: "http://a.example/p",
            key: "ab12",
            undo_token: "cd34",
            recorded: None,
            last_error: None,
            part: None,
            priority: Priority::Usual,
            priority_token: "gh78",
            fetch: None,
            likes: &[],
            has_versions: false,
            position: Some((1, 1)),
        };
        let likes = [like("http://a.example/p/")];
        let like = WillGet { likes: &likes, has_versions: true, ..new };
        let first = WillGet { priority: Priority::First, position: Some((2, 15)), ..new };
        let fetch = FetchOffer { url: "http://a.example/p", token: "ef56" };
        let fetch = WillGet { fetch: Some(fetch), ..new };
        let old = WillGet { recorded: Some(time()), last_error: Some("refused"), ..new };
        let part = WillGet { part: Some((1_500, Some(3_000))), ..new };
        let open_end = WillGet { part: Some((7, None)), ..new };
        for (will_get, want) in [
            (part, &["Only 1.5 kB of 3.0 kB is saved"][..]),
            (
                like,
                &[
                    "<li class=\"card\"><a class=\"url\" href=\"http://a.example/p/\"",
                    "Older versions",
                    "href=\"http://localhost:8080/history/?",
                ],
            ),
            (
                first,
                &[
                    r#"formaction="http://localhost:8080/control/queue/first" aria-pressed="true""#,
                    "number 2 of 15 requests",
                ],
            ),
            (
                fetch,
                &[
                    r#"action="http://localhost:8080/refresh-request/""#,
                    r#"<input type="hidden" name="url" value="http://a.example/p">"#,
                    r#"name="token" value="ef56""#,
                    r#"<select name="depth" id="depth">"#,
                ],
            ),
            (open_end, &["Only the first 7 B is saved"]),
            (new, &["<h1>Not saved yet – it will be fetched when you are online</h1>"]),
            (old, &["<h1>Already on the queue</h1>", ">2026-11-20 12:00</time>", "refused"]),
        ] {
            let page = page(&shell(), &will_get);
            assert_eq!(page.status, 504);
            assert_harmless(&page);
            let common = [
                r#"action="http://localhost:8080/control/delete/req""#,
                r#"<input type="hidden" name="key" value="ab12">"#,
                r#"<input type="hidden" name="token" value="cd34">"#,
                r#"href="http://localhost:8080/queue/""#,
                r#"href="http://a.example/p""#,
                r#"<input type="hidden" name="token" value="gh78">"#,
                r#"<input type="hidden" name="chosen" value="ab12">"#,
                r#"formaction="http://localhost:8080/control/queue/last""#,
                r#"href="http://localhost:8080/missing/?http://a.example/p""#,
                r#"href="http://localhost:8080/index/url?"#,
                r#"href="http://localhost:8080/""#,
            ];
            for want in want.iter().chain(&common) {
                let body = &page.body;
                assert!(body.contains(want), "{want} in {body}");
            }
        }
    }

    #[test]
    fn hostile_values_are_text() {
        for hostile in &hostile() {
            let key = as_key(hostile);
            let will_get = WillGet {
                url: hostile,
                key,
                undo_token: key,
                recorded: None,
                last_error: Some(hostile),
                part: None,
                priority: Priority::Last,
                priority_token: key,
                fetch: Some(FetchOffer { url: hostile, token: key }),
                likes: &[like(hostile)],
                has_versions: true,
                position: Some((u64::MAX, u64::MAX)),
            };
            assert_harmless(&page(&shell(), &will_get));
        }
    }
}
