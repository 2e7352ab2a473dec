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
mod places;
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
use wwwoffle_api::{Mode, ModeSetting};

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
    /// The mode that a person chose.
    pub chosen: ModeSetting,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The language of the page.
    pub language: Language,
    /// The owner for whom the page is made, as [`crate::base::owner::Owner`] is written; empty if
    /// the page is the same for all.
    pub reader: String,
    /// The path of the page, which marks its entry in the navigation; empty if the URL is not ours.
    /// A page with a path may load our style sheet.
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

    /// Returns the content security policy of a page. Its forms go to us. A message page loads and
    /// runs nothing. A local page loads our style sheet, runs our script, and nothing else.
    /// `styles` is empty, or a space and an origin from which style sheets are also allowed.
    #[must_use]
    pub fn policy(&self, styles: &str) -> String {
        let (own, script) = if self.path.is_empty() {
            Default::default()
        } else {
            let (origin, [style, script]) = (&self.origin, asset_paths(&self.templates));
            // Only these two files may be loaded, not another address of ours. The script asks only
            // us.
            let script = format!("script-src {origin}{script}; connect-src {origin}; ");
            (format!(" {origin}{style}"), script)
        };
        format!(
            "default-src 'none'; {script}style-src 'unsafe-inline'{own}{styles}; img-src data:; \
             base-uri 'none'; form-action {}; frame-ancestors 'none'",
            self.origin
        )
    }

    /// Returns the header fields of every page, in addition to `Content-Type` and `Content-Length`.
    ///
    /// Pages load only our style sheet and run only our script, and forms go to our own address
    /// only. No other site may show a page in a frame, where its buttons could be pressed unseen
    /// (clickjacking).
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

/// Returns the style sheet of our pages. Message pages contain it.
#[must_use]
pub fn style(templates: &Templates) -> RenderedPage {
    let body = templates.style().text.clone();
    RenderedPage { status: 200, content_type: "text/css; charset=utf-8", body }
}

/// Returns the script of our pages.
#[must_use]
pub fn script(templates: &Templates) -> RenderedPage {
    let body = templates.script().text.clone();
    RenderedPage { status: 200, content_type: "text/javascript; charset=utf-8", body }
}

/// Returns the paths of the style sheet and of the script, which change with their texts.
#[must_use]
pub fn asset_paths(templates: &Templates) -> [&str; 2] {
    [&templates.style().path, &templates.script().path]
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
            ("/search/", Some("/search/\" aria-current=\"page\"")),
            ("/index/all", Some("/index/\" aria-current=\"true\"")),
            ("/info/", Some("/index/\" aria-current=\"true\"")),
            ("/no/such/page", None),
            ("", None),
        ] {
            let body = at(path).body;
            assert_eq!(
                body.matches(" aria-current=").count(),
                usize::from(want.is_some()),
                "{path}"
            );
            assert!(body.contains(want.unwrap_or("/configuration/\"")), "{path}: {body}");
        }
        // The other pages of a place are in a second line, which marks the page as well.
        for (path, place) in [
            ("/queue/edit", "/queue/"),
            ("/fetches/", "/queue/"),
            ("/monitor/", "/queue/"),
            ("/control/", "/configuration/"),
            ("/configuration/html/x", "/configuration/"),
            ("/ca", "/configuration/"),
        ] {
            let body = at(path).body;
            assert_eq!(body.matches(" aria-current=").count(), 2, "{path}: {body}");
            assert!(body.contains("<nav class=\"inside\""), "{path}");
            assert!(body.contains(&format!("{place}\" aria-current=\"")), "{path}");
        }
        for path in hostile() {
            assert_harmless(&at(&path));
        }
    }

    #[test]
    fn a_local_page_links_to_the_style_sheet_and_a_message_page_contains_it() {
        let (local, message) = (at("/queue/").body, at("").body);
        let shell = shell();
        let [path, script] = asset_paths(&shell.templates);
        assert!(local.contains(&format!("href=\"http://localhost:8080{path}\"")), "{local}");
        assert!(!local.contains("<style>") && message.contains("--accent:"), "{local}");
        let policy = |path: &str| Shell { path: path.to_owned(), ..shell.clone() }.policy("");
        let loads = format!("style-src 'unsafe-inline' http://localhost:8080{path};");
        assert!(policy("/").contains(&loads), "{}", policy("/"));
        assert!(policy("").contains("style-src 'unsafe-inline';"));
        // Only a local page runs the script, and only this one.
        let runs =
            format!("script-src http://localhost:8080{script}; connect-src http://localhost:8080;");
        assert!(policy("/").contains(&runs) && !policy("").contains("script-src"));
        assert!(style(&shell.templates).body.len() <= 24_000);
        assert!(self::script(&shell.templates).body.len() <= 12_000);
        // Another text has another path.
        let own = ("style.css".to_owned(), "p { color: red }".to_owned());
        let (own, _) = Templates::new([own]);
        assert_ne!(asset_paths(&own)[0], path);
        assert_eq!(asset_paths(&own)[1], script);
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
