//! A form that asks for a URL. It takes the place of a page about a URL if the URL is missing or
//! invalid.

use wwwoffle_url::url_decode_form_args;

use crate::base::text::{Text, tr};
use crate::page::fault::FormFault;
use crate::page::{RenderedPage, Shell, view};
use crate::site::fetches::no_url;

/// The page that was requested without a valid URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPage {
    /// `/info/`: the stored copy and its details.
    Info,
    /// `/info/request`: the request of the browser, as it arrived and in its form for the origin.
    Request,
    /// `/info/source`: the stored source.
    Source,
    /// `/info/warc`: the stored WARC records.
    Records,
    /// `/history/`: the stored versions.
    History,
    /// `/missing/`: similar stored pages.
    Missing,
    /// `/captures/`: copies in web archives.
    Captures,
}

impl AddressPage {
    fn path(self) -> &'static str {
        match self {
            Self::Info => "/info/",
            Self::Request => "/info/request",
            Self::Source => "/info/source",
            Self::Records => "/info/warc",
            Self::History => "/history/",
            Self::Missing => "/missing/",
            Self::Captures => "/captures/",
        }
    }

    fn title(self) -> Text {
        match self {
            Self::Info => tr("About a page"),
            Self::Request => tr("Your request for a page"),
            Self::Source => tr("The source text of a page"),
            Self::Records => tr("The stored records of a page (WARC)"),
            Self::History => tr("Versions of a page"),
            Self::Missing => tr("Similar saved pages"),
            Self::Captures => tr("Copies in web archives"),
        }
    }
}

/// Returns the URL in the arguments of an address: `?URL`, or `?url=URL`. Empty if there is none.
pub(super) fn url_in(arguments: Option<&str>) -> String {
    let url = arguments.unwrap_or_default();
    decoded(url.strip_prefix("url=").unwrap_or(url))
}

/// Decodes arguments, or the value of an argument, and trims the text.
pub(super) fn decoded(argument: &str) -> String {
    String::from_utf8_lossy(&url_decode_form_args(argument.as_bytes())).trim().to_owned()
}

/// Renders the page. `typed` is the input that is not a valid web address.
#[must_use]
pub fn page(shell: &Shell, about: AddressPage, typed: Option<&str>) -> RenderedPage {
    let fault = |_| FormFault::new("url", no_url());
    let view = view! {
        title: about.title(),
        path: about.path(),
        value: typed.unwrap_or_default(),
        faults: typed.map(fault).into_iter().collect::<Vec<_>>(),
    };
    let status = if typed.is_some() { 400 } else { 200 };
    shell.page("address.html", status, &view)
}

#[cfg(test)]
mod tests {
    use super::{AddressPage, page};
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};

    #[test]
    fn the_page_asks_for_an_address_and_explains_errors() {
        use AddressPage::{Captures, History, Info, Missing, Records, Request, Source};
        for about in [Info, Request, Source, Records, History, Missing, Captures] {
            let asked = page(&shell(), about, None);
            assert_harmless(&asked);
            assert_eq!(asked.status, 200);
            assert!(!asked.body.contains("aria-invalid"), "{}", asked.body);
            for text in &hostile() {
                let wrong = page(&shell(), about, Some(as_key(text)));
                assert_harmless(&wrong);
                assert_eq!(wrong.status, 400);
                assert!(wrong.body.contains("aria-invalid=\"true\""), "{}", wrong.body);
            }
        }
    }
}
