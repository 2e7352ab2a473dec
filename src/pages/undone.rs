//! The local page after the undo button of a will-get page.

use serde::Serialize;

use super::{Page, Shell, Templates, shown::ShownUrl};

#[derive(Serialize)]
struct View {
    url: ShownUrl,
    removed: bool,
}

/// Makes the page; `removed` says whether there was something to take off the queue. The URL of
/// what was not there may be empty: nobody remembers it.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, url: &str, removed: bool) -> Page {
    templates.page("undone.html", 200, shell, &View { url: ShownUrl::new(url), removed })
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::pages::testing::{assert_harmless, hostile, shell, templates};

    #[test]
    fn says_whether_it_was_there() {
        let done = page(&templates(), &shell(), "http://a.example/", true);
        assert!(done.body.contains("<h1>Taken off the queue</h1>"));
        let gone = page(&templates(), &shell(), "http://a.example/", false);
        assert!(gone.body.contains("<h1>Not on the queue</h1>"));
        for url in &hostile() {
            assert_harmless(&page(&templates(), &shell(), url, true));
        }
    }
}
