//! Generated pages: pure functions from plain values to a [`Page`].
//!
//! Nothing here knows the daemon, the disk or the network. A page is a template filled from a
//! struct; values are escaped by the template's type, and an undefined value is an error. A
//! template of the user's own, given to [`Templates::new`], takes the place of the built-in one
//! of the same name.
//!
//! There are two sorts. *Local pages* are seen under a local name and may carry the general token
//! in their forms. *Message pages* come in place of an answer, under the name of the origin that
//! was asked for, whose scripts may read them: they hold nothing but tokens for one purpose, and
//! every link and form in them names the whole local address.

pub mod bar;
pub mod certificates;
pub mod confirm;
pub mod context;
pub mod fault;
pub mod form;
pub mod gateway;
pub mod guard;
pub mod links;
pub mod message;
pub mod origin;
pub mod templates;
#[cfg(test)]
pub mod testing;
pub mod token;
pub mod undone;
pub mod ways;
pub mod will_get;

use crate::base::shown;
use jiff::tz::TimeZone;

use crate::api::Mode;
use crate::base::text::{Text, say};
pub use origin::{LocalOrigin, NotAnAddress};
pub use templates::{Language, TemplateFault, Templates};

/// The content type of every page.
pub const HTML: &str = "text/html; charset=utf-8";

/// A page, for the caller to make a response of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The whole body.
    pub body: String,
}

/// What all pages of one request share.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Where our own pages are. On a local page the name the client used: a form sent to another
    /// of our names would count as foreign.
    pub origin: LocalOrigin,
    /// The mode the request began under.
    pub mode: Mode,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The language in which the page is told.
    pub language: Language,
    /// Whose the page is, as [`crate::base::owner::Owner`] is written; empty where that makes no difference.
    pub reader: String,
    /// Its path, for what is marked in the navigation; empty where it is none of ours.
    pub path: String,
}

impl Shell {
    /// For whom alone something is kept or waits, as it is told to whoever reads.
    pub(crate) fn for_whom(&self, owner: &str) -> Text {
        match owner {
            owner if owner == self.reader => say("for you"),
            "local" => say("for whoever sits at this machine"),
            owner => say("for {owner}").with("owner", shown::text(owner)),
        }
    }

    /// The policy of a page: it loads and runs nothing, and forms go to us. `styles` is empty, or a
    /// space and an origin from which it may have styles.
    #[must_use]
    pub fn policy(&self, styles: &str) -> String {
        format!(
            "default-src 'none'; style-src 'unsafe-inline'{styles}; img-src data:; base-uri 'none'; \
             form-action {}; frame-ancestors 'none'",
            self.origin
        )
    }

    /// The fields every page is sent with, besides `Content-Type` and `Content-Length`.
    ///
    /// Pages load nothing and run nothing, forms go to our own address only, and nobody may show
    /// a page in a frame and have its buttons pressed unseen.
    #[must_use]
    pub fn header_fields(&self) -> [(&'static str, String); 5] {
        [
            ("content-security-policy", self.policy("")),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-frame-options", "DENY".to_owned()),
            // Not "no-referrer", under which a browser says "Origin: null" even of our own forms.
            ("referrer-policy", "same-origin".to_owned()),
            ("cache-control", "no-store".to_owned()),
        ]
    }
}

/// `/style.css`, the stylesheet that is also written into every page.
#[must_use]
pub fn style(templates: &Templates) -> Page {
    Page { status: 200, content_type: "text/css; charset=utf-8", body: templates.style() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::message::{self, Message};
    use crate::page::testing::{assert_harmless, hostile, shell, templates};

    fn at(path: &str) -> Page {
        let shell = Shell { path: path.to_owned(), ..shell() };
        message::page(&templates(), &shell, &Message::NotFound { path: "/x" })
    }

    #[test]
    fn the_navigation_marks_where_one_is() {
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
    fn one_is_told_of_ones_own_as_such() {
        let shell = Shell { reader: "user:ada".to_owned(), ..shell() };
        for (owner, want) in [
            ("user:ada", "for you"),
            ("local", "for whoever sits at this machine"),
            ("user:bob", "for user:bob"),
        ] {
            assert_eq!(shell.for_whom(owner).to_string(), want);
        }
    }
}
