//! The gateway's own pages: a form for an address, and the confirmation before a form is sent.

use crate::base::shown::{self, ShownUrl};
use crate::page::{RenderedPage, Shell, view};

/// The path of the address form.
pub const PATH: &str = "/gateway/";

/// The path to which a confirmed form is sent.
pub const SEND: &str = "/gateway/send";

/// A form that waits for confirmation. The daemon keeps the body of the form under the ticket.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The URL to send the form to.
    pub url: &'a str,
    /// The length of the form's body, in bytes.
    pub bytes: u64,
    /// The `Content-Type` of the form's body.
    pub content_type: Option<&'a str>,
    /// The ticket under which the daemon keeps the form.
    pub ticket: &'a str,
    /// [`Tokens::confirm`](crate::page::token::Tokens::confirm) for that ticket.
    pub token: &'a str,
}

/// Renders the page with the address form. `typed` is an address that cannot be parsed, and the
/// reason.
#[must_use]
pub fn page(shell: &Shell, typed: Option<(&str, &str)>) -> RenderedPage {
    let (typed, refused) = typed.unzip();
    let view = view! {
        path: PATH,
        typed: shown::text(typed.unwrap_or_default()),
        refused: refused.map(shown::text),
    };
    let status = if refused.is_some() { 400 } else { 200 };
    shell.page("gateway.html", status, &view)
}

/// Renders the page that asks whether to send a form.
#[must_use]
pub fn send(shell: &Shell, send: &Send<'_>) -> RenderedPage {
    let view = view! {
        url: ShownUrl::new(send.url),
        size: shown::bytes(send.bytes),
        content_type: send.content_type.map(shown::text),
        path: SEND,
        ticket: send.ticket,
        token: send.token,
    };
    shell.page("gateway-send.html", 200, &view)
}

/// Renders the text of a link that replaces an automatic refresh, as HTML.
#[must_use]
pub fn onward(shell: &Shell) -> String {
    shell.page("gateway-onward.html", 200, &()).body.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Send, onward, page, send};
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};

    #[test]
    fn gateway_page_shows_form_and_error() {
        let form = page(&shell(), None);
        assert_harmless(&form);
        assert_eq!(form.status, 200);
        let body = form.body;
        assert!(
            body.contains(r#"<form method="get" action="http://localhost:8080/gateway/""#),
            "{body}"
        );
        let refused = page(&shell(), Some(("http://[", "no host")));
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("no host"), "{}", refused.body);
        let question = Send {
            url: "http://a.example/order",
            bytes: 1_234,
            content_type: Some("application/x-www-form-urlencoded"),
            ticket: "t1",
            token: "t2",
        };
        let question = send(&shell(), &question);
        assert_harmless(&question);
        let body = question.body;
        for want in [
            "http://a.example/order",
            "1.2 kB",
            r#"method="post" action="http://localhost:8080/gateway/send""#,
            r#"name="ticket" value="t1""#,
            r#"name="token" value="t2""#,
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert!(!onward(&shell()).contains(['<', '\n']));
    }

    #[test]
    fn hostile_values_are_text() {
        for hostile in &hostile() {
            assert_harmless(&page(&shell(), Some((hostile, hostile))));
            let ticket = as_key(hostile);
            let question = Send {
                url: hostile,
                bytes: u64::MAX,
                content_type: Some(hostile),
                ticket,
                token: ticket,
            };
            assert_harmless(&send(&shell(), &question));
        }
    }
}
