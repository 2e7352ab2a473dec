//! The message page for a page that is missing offline: it was recorded, and how to undo that.

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Page, Shell, Templates,
    shown::{self, ShownTime, ShownUrl},
};

/// What the page says.
#[derive(Clone, Copy, Debug)]
pub struct WillGet<'a> {
    /// What was asked for.
    pub url: &'a str,
    /// The key of the request on the queue.
    pub key: &'a str,
    /// [`Tokens::undo`](super::token::Tokens::undo) for that key.
    pub undo_token: &'a str,
    /// When it was recorded before; `None` when it was recorded just now.
    pub recorded: Option<Timestamp>,
    /// What the last attempt ended with.
    pub last_error: Option<&'a str>,
    /// How many bytes of it are here, and how many it has in all if that is known, when only a part is.
    pub part: Option<(u64, Option<u64>)>,
}

#[derive(Serialize)]
struct View<'a> {
    url: ShownUrl,
    key: &'a str,
    undo_token: &'a str,
    recorded: Option<ShownTime>,
    last_error: Option<String>,
    part: Option<String>,
}

/// Makes the page, with status 504: a program that asked must not take it for the page wanted.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, will_get: &WillGet<'_>) -> Page {
    let view = View {
        url: ShownUrl::new(will_get.url),
        key: will_get.key,
        undo_token: will_get.undo_token,
        recorded: will_get.recorded.map(|time| ShownTime::new(time, &shell.zone)),
        last_error: will_get.last_error.map(shown::text),
        part: will_get.part.map(|(here, total)| match total {
            Some(total) => format!("{} of {}", shown::bytes(here), shown::bytes(total)),
            None => shown::bytes(here),
        }),
    };
    templates.page("will-get.html", 504, shell, &view)
}

#[cfg(test)]
mod tests {
    use super::{WillGet, page};
    use crate::pages::testing::{as_key, assert_harmless, hostile, shell, templates, time};

    #[test]
    fn new_and_old_are_told_apart_and_can_be_undone() {
        let new = WillGet {
            url: "http://a.example/p",
            key: "ab12",
            undo_token: "cd34",
            recorded: None,
            last_error: None,
            part: None,
        };
        let old = WillGet { recorded: Some(time()), last_error: Some("refused"), ..new };
        let part = WillGet { part: Some((1_500, Some(3_000))), ..new };
        let open_end = WillGet { part: Some((7, None)), ..new };
        for (will_get, want) in [
            (part, &["Only a part of it is here", "1.5 kB of 3.0 kB"][..]),
            (open_end, &["Only a part of it is here", "7 B"]),
            (new, &["<h1>Recorded: it will be fetched</h1>"]),
            (old, &["<h1>Already recorded</h1>", ">2026-11-20 12:00</time>", "refused"]),
        ] {
            let page = page(&templates(), &shell(), &will_get);
            assert_eq!(page.status, 504);
            assert_harmless(&page);
            let common = [
                r#"action="http://localhost:8080/control/delete/req""#,
                r#"<input type="hidden" name="key" value="ab12">"#,
                r#"<input type="hidden" name="token" value="cd34">"#,
                r#"href="http://localhost:8080/queue/""#,
                r#"href="http://a.example/p""#,
            ];
            for want in want.iter().chain(&common) {
                let body = page.body.replace("&#x2f;", "/");
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
            };
            assert_harmless(&page(&templates(), &shell(), &will_get));
        }
    }
}
