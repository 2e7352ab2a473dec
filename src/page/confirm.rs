//! The message page that asks whether to send a form later, or to fetch a page.

use crate::base::shown::{self, ShownUrl};
use crate::page::ways::PageLink;
use crate::page::{RenderedPage, Shell, view};

/// The content of the page. The request body is not part of it: the daemon keeps it under the
/// ticket.
#[derive(Clone, Copy, Debug)]
pub struct Confirm<'a> {
    /// Whether a form is sent. If not, a page is fetched.
    pub is_form: bool,
    /// The method of the request.
    pub method: &'a str,
    /// The URL to send the request to.
    pub url: &'a str,
    /// The length of the request body, in bytes.
    pub body_bytes: u64,
    /// The `Content-Type` of the request body.
    pub content_type: Option<&'a str>,
    /// The ticket under which the daemon keeps the request.
    pub ticket: &'a str,
    /// [`Tokens::confirm`](crate::page::token::Tokens::confirm) for that ticket.
    pub token: &'a str,
    /// The URL of the stored response to this very form, if the form was sent before.
    pub kept: Option<&'a str>,
}

/// Renders the page, with status 504.
#[must_use]
pub fn page(shell: &Shell, confirm: &Confirm<'_>) -> RenderedPage {
    let url = confirm.url;
    let is_form = confirm.is_form;
    // For a form, similar stored pages are not offered: none of them is the response to it.
    let like =
        [PageLink::like(url), PageLink::choices(url)].into_iter().flatten().filter(|_| !is_form);
    let view = view! {
        ways: like.chain([PageLink::mode(shell.mode), PageLink::queue()]).collect::<Vec<_>>(),
        is_form,
        method: shown::text(confirm.method),
        url: ShownUrl::new(confirm.url),
        size: shown::bytes(confirm.body_bytes),
        content_type: confirm.content_type.map(shown::text),
        ticket: confirm.ticket,
        token: confirm.token,
        kept: confirm.kept.map(ShownUrl::new),
    };
    shell.page("confirm-post.html", 504, &view)
}

#[cfg(test)]
mod tests {
    use super::{Confirm, page};
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};

    #[test]
    fn the_confirmation_shows_the_form_and_its_target() {
        let confirm = Confirm {
            is_form: true,
            method: "POST",
            url: "https://me:pw@a.example/order",
            body_bytes: 1_234,
            content_type: Some("application/x-www-form-urlencoded"),
            ticket: "t1",
            token: "t2",
            kept: Some("https://a.example/order?!POST:ab"),
        };
        let page = page(&shell(), &confirm);
        assert_eq!(page.status, 504);
        assert_harmless(&page);
        let body = page.body;
        for want in [
            "POST",
            ">https://a.example/order<",
            "1.2 kB, <bdi>application/x-www-form-urlencoded</bdi>",
            r#"action="http://localhost:8080/refresh-request/""#,
            r#"name="ticket" value="t1""#,
            r#"name="token" value="t2""#,
            r#"href="https://a.example/order?!POST:ab""#,
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert!(!body.contains("pw"));
    }

    #[test]
    fn hostile_values_are_text() {
        for hostile in &hostile() {
            let ticket = as_key(hostile);
            let confirm = Confirm {
                is_form: true,
                method: hostile,
                url: hostile,
                body_bytes: u64::MAX,
                content_type: Some(hostile),
                ticket,
                token: ticket,
                kept: Some(hostile),
            };
            assert_harmless(&page(&shell(), &confirm));
        }
    }
}
