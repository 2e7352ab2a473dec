//! The local page after the undo button of the message page for a queued request.

use wwwoffle_url::url_encode_form_args;

use crate::base::shown::ShownUrl;
use crate::page::{RenderedPage, Shell, view};

/// The path of the page.
pub const PATH: &str = "/undone/";

/// Maximum length of the URL in the address, in bytes; some browsers refuse longer addresses.
const LONGEST_URL: usize = 4096;

/// Returns the address, without scheme and host. It names the URL that was removed from the queue,
/// if there was one.
#[must_use]
pub fn path_of(url: &str, removed: bool) -> String {
    if !removed {
        return PATH.to_owned();
    }
    let url = ShownUrl::new(url).href.filter(|url| url.len() <= LONGEST_URL).unwrap_or_default();
    format!("{PATH}?url={}", url_encode_form_args(url.as_bytes()))
}

/// Renders the page; `removed` says whether the queue had a request for `url`. If it had none,
/// `url` may be empty, because the address of the page does not contain it.
#[must_use]
pub fn page(shell: &Shell, url: &str, removed: bool) -> RenderedPage {
    shell.page("undone.html", 200, &view! { url: ShownUrl::new(url), removed })
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_URL, PATH, page, path_of};
    use crate::page::testing::{assert_harmless, hostile, shell};

    #[test]
    fn an_undo_reports_whether_the_request_existed() {
        let done = page(&shell(), "http://a.example/", true);
        assert!(done.body.contains("<h1>Removed from the queue</h1>"));
        let gone = page(&shell(), "http://a.example/", false);
        assert!(gone.body.contains("<h1>Not on the queue</h1>"));
        for url in &hostile() {
            assert_harmless(&page(&shell(), url, true));
            let path = path_of(url, true);
            assert!(
                path.len() < 3 * LONGEST_URL + 100 && path.bytes().all(|b| b.is_ascii_graphic())
            );
        }
        assert_eq!(path_of("http://a.example/?b", true), "/undone/?url=http://a.example/%3Fb");
        assert_eq!(path_of("http://a.example/", false), PATH);
    }
}
