//! The addresses of our own pages, as other pages and messages link to them, without our origin.

use wwwoffle_url::url_encode_form_args;

use crate::base::shown::{self, ShownUrl};

/// The page that searches.
pub const SEARCH: &str = "/search/";

/// The page about a URL, up to the URL.
pub const ABOUT: &str = "/info/?";

/// Where the pages of the configuration are.
pub const CONFIGURATION: &str = "/configuration/";

/// Bytes of the longest URL that is carried along: it stands in every link of a page.
const LONGEST_CARRIED: usize = 1_024;

/// The versions of `url`.
#[must_use]
pub fn history(url: &str) -> String {
    format!("/history/?{}", argument(url))
}

/// What is known of `url`.
#[must_use]
pub fn info(url: &str) -> String {
    format!("{ABOUT}{}", argument(url))
}

/// The form that fetches `url`, with choices.
#[must_use]
pub fn fetch(url: &str) -> String {
    format!("/refresh-options/?{}", argument(url))
}

/// The form that monitors `url`.
#[must_use]
pub fn monitor(url: &str) -> String {
    format!("/monitor-options/?{}", argument(url))
}

/// Where the certificate of `site` is allowed; `url` is where its link leads back to.
#[must_use]
pub fn certificate(site: &str, url: &str) -> String {
    let site = url_encode_form_args(shown::text(site).as_bytes());
    format!("/certificate?site={site}&url={}", argument(url))
}

/// A section or an option of the configuration, or any other page about it, with a URL carried along if it is
/// not too long for that.
#[must_use]
pub fn configuration(names: &[&str], url: Option<&str>) -> String {
    let mut path = CONFIGURATION.to_owned();
    path.push_str(&names.join("/"));
    if let Some(url) = url.filter(|url| url.len() <= LONGEST_CARRIED) {
        path.push('?');
        // A password in it is for nobody to see, not even in the address of a page.
        path.push_str(&url_encode_form_args(shown::whole(url).as_bytes()));
    }
    path
}

/// A URL as the arguments of an address.
fn argument(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    url_encode_form_args(url.as_bytes())
}
