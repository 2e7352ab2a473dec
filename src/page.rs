//! Generated pages: pure functions from plain values to a [`RenderedPage`].
//!
//! Nothing here depends on the daemon, the disk or the network. A page is a template filled from
//! named values or a type of `api`. The template engine escapes the values, and an undefined value
//! is an error. A user's template, given to [`Templates::new`], replaces the built-in one of the
//! same name.
//!
//! There are two sorts. *Local pages* appear under a local name and may carry the general token in
//! their forms. *Message pages* replace a response and appear under the name of the requested
//! origin, whose scripts may read them. So each token in them is for one purpose only, and every
//! link and form in them names the whole local address.

pub mod bar;
pub mod certificates;
pub mod confirm;
pub mod context;
pub mod fault;
pub mod form;
pub mod gateway;
pub mod guard;
pub mod isolation;
pub mod left_out;
pub mod links;
pub mod message;
pub mod origin;
pub(crate) mod quota;
pub mod templates;
#[cfg(test)]
pub mod testing;
pub mod token;
pub mod undone;
pub mod ways;
pub mod will_get;

use std::sync::Arc;

use crate::base::shown;
use jiff::tz::TimeZone;

use crate::base::text::{Text, tr};
pub use origin::{LocalOrigin, NotAnAddress};
pub use templates::{Language, TemplateFault, Templates};
pub(crate) use templates::{View, view};
use wwwoffle_api::Mode;

/// The content type of every page.
pub const HTML: &str = "text/html; charset=utf-8";

/// A page, from which the caller makes a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPage {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The whole body.
    pub body: String,
}

/// The values that all pages of one request share.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The templates.
    pub templates: Arc<Templates>,
    /// The origin of our own pages. On a local page it has the name that the client used, because a
    /// form sent to another of our names would count as foreign.
    pub origin: LocalOrigin,
    /// The mode in which the request began.
    pub mode: Mode,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The language of the page.
    pub language: Language,
    /// The owner for whom the page is made, as [`crate::base::owner::Owner`] is written; empty if
    /// the page is the same for all.
    pub reader: String,
    /// The path of the page, which marks its entry in the navigation; empty if the URL is not ours.
    pub path: String,
    /// The token for the forms of a local page; empty on message pages, which scripts of an origin
    /// may read.
    pub token: String,
    /// The notice at the top of the page, for example that a quota is almost used up.
    pub notice: Option<Text>,
}

impl Shell {
    /// Names the owner of an entry or a queued request, in words for the reader of the page.
    pub(crate) fn for_whom(&self, owner: &str) -> Text {
        match owner {
            owner if owner == self.reader => tr("for you"),
            "local" => tr("for users of this machine"),
            owner => tr("for {owner}").with("owner", shown::text(owner)),
        }
    }

    /// Returns the content security policy of a page: the page loads and runs nothing, and its
    /// forms go to us. `styles` is empty, or a space and an origin from which style sheets are
    /// allowed.
    #[must_use]
    pub fn policy(&self, styles: &str) -> String {
        format!(
            "default-src 'none'; style-src 'unsafe-inline'{styles}; img-src data:; base-uri 'none'; \
             form-action {}; frame-ancestors 'none'",
            self.origin
        )
    }

    /// Returns the header fields of every page, in addition to `Content-Type` and `Content-Length`.
    ///
    /// Pages load nothing and run nothing, and forms go to our own address only. No other site may
    /// show a page in a frame, where its buttons could be pressed unseen (clickjacking).
    #[must_use]
    pub fn header_fields(&self) -> [(&'static str, String); 5] {
        [
            ("content-security-policy", self.policy("")),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-frame-options", "DENY".to_owned()),
            // Not "no-referrer": with it a browser sends "Origin: null" even with our own forms.
            ("referrer-policy", "same-origin".to_owned()),
            ("cache-control", "no-store".to_owned()),
        ]
    }
}

/// Returns `/style.css`, the style sheet that is also written into every page.
#[must_use]
pub fn style(templates: &Templates) -> RenderedPage {
    RenderedPage { status: 200, content_type: "text/css; charset=utf-8", body: templates.style() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::message::{self, Message};
    use crate::page::testing::{assert_harmless, hostile, shell};

    fn at(path: &str) -> RenderedPage {
        let shell = Shell { path: path.to_owned(), ..shell() };
        message::page(&shell, &Message::NotFound { path: "/x" })
    }

    #[test]
    fn the_navigation_marks_the_current_page() {
        for (path, want) in [
            ("/", Some("href=\"http://localhost:8080/\" aria-current=\"page\"")),
            ("/queue/", Some("/queue/\" aria-current=\"page\"")),
            ("/control/", Some("/control/\" aria-current=\"page\"")),
            ("/index/all", Some("/index/\" aria-current=\"true\"")),
            ("/configuration/html/x", Some("/configuration/\" aria-current=\"true\"")),
            ("/info/", None),
            ("", None),
        ] {
            let body = at(path).body;
            assert_eq!(
                body.matches(" aria-current=").count(),
                usize::from(want.is_some()),
                "{path}"
            );
            assert!(body.contains(want.unwrap_or("/control/\"")), "{path}: {body}");
        }
        for path in hostile() {
            assert_harmless(&at(&path));
        }
    }

    #[test]
    fn owner_is_named_from_the_view_of_the_reader() {
        let shell = Shell { reader: "user:ada".to_owned(), ..shell() };
        for (owner, want) in [
            ("user:ada", "for you"),
            ("local", "for users of this machine"),
            ("user:bob", "for user:bob"),
        ] {
            assert_eq!(shell.for_whom(owner).to_string(), want);
        }
    }
}
