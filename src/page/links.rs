//! The addresses of our own pages, without scheme and host, for links on other pages and in
//! messages.

use wwwoffle_url::url_encode_form_args;

use crate::base::shown::{self, ShownUrl};

/// The path of the search page.
pub const SEARCH: &str = "/search/";

/// The address of the page about a URL, up to the place where the URL follows.
pub const ABOUT: &str = "/info/?";

/// The path of the configuration pages.
pub const CONFIGURATION: &str = "/configuration/";

/// Maximum length of a URL that links to the configuration pages pass on, in bytes: every link of
/// such a page repeats the URL.
const LONGEST_CARRIED: usize = 1_024;

/// Maximum length of a URL with a link to its options in a list, in bytes. Longer links would make
/// the lists much shorter.
const LONGEST_CONFIGURED: usize = 500;

/// Returns the address of the list of the versions of `url`.
#[must_use]
pub fn history(url: &str) -> String {
    format!("/history/?{}", argument(url))
}

/// Returns the address of the page that looks for captures of `url` in web archives.
#[must_use]
pub fn captures(url: &str) -> String {
    format!("/captures/?{}", argument(url))
}

/// Returns the address of the page with the details of `url`.
#[must_use]
pub fn info(url: &str) -> String {
    format!("{ABOUT}{}", argument(url))
}

/// Returns the address of the form with the options for fetching `url`.
#[must_use]
pub fn fetch(url: &str) -> String {
    format!("/refresh-options/?{}", argument(url))
}

/// Returns the address that fetches `url` with all its pictures, also those that the data saver
/// leaves out. It shows a form if another site links to it.
#[must_use]
pub fn pictures(url: &str) -> String {
    let url = url_encode_form_args(url.as_bytes());
    format!("/refresh-recurse/?url={url};depth=0;images=Y;stylesheets=Y;whole=Y")
}

/// Returns the address of the form that monitors `url`.
#[must_use]
pub fn monitor(url: &str) -> String {
    format!("/monitor-options/?{}", argument(url))
}

/// Returns the address of the page with the value of every option for `url`.
#[must_use]
pub fn options(url: &str) -> String {
    configuration(&["url"], Some(url))
}

/// Returns the same address for a row of a list; `None` for a long URL, which only the page about
/// it links to its options.
#[must_use]
pub fn row_options(url: &str) -> Option<String> {
    (url.len() <= LONGEST_CONFIGURED).then(|| options(url))
}

/// Returns the address of the list of the stored pages of the host of `url`.
#[must_use]
pub fn host_list(url: &str) -> String {
    format!("/index/url?{}", argument(url))
}

/// Returns the address of the page that asks whether to delete the stored copy of `url`.
#[must_use]
pub fn delete(url: &str) -> String {
    format!("/control/delete/url?url={}", argument(url))
}

/// Returns the address of the page on which a person can allow the certificate of `site`. That page
/// links back to `url`.
#[must_use]
pub fn certificate(site: &str, url: &str) -> String {
    let site = url_encode_form_args(shown::text(site).as_bytes());
    format!("/certificate?site={site}&url={}", argument(url))
}

/// Returns the address of a page of the configuration: its path consists of `names`, such as a
/// section and an option. The address contains `url`, unless `url` is too long.
#[must_use]
pub fn configuration(names: &[&str], url: Option<&str>) -> String {
    let mut path = CONFIGURATION.to_owned();
    path.push_str(&names.join("/"));
    if let Some(url) = url.filter(|url| url.len() <= LONGEST_CARRIED) {
        path.push('?');
        // Hides a password in the URL, because addresses of pages are visible too.
        path.push_str(&url_encode_form_args(shown::full_text(url).as_bytes()));
    }
    path
}

/// Returns a URL as the arguments of an address.
fn argument(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    url_encode_form_args(url.as_bytes())
}
