//! The local page about a page that is not stored: similar stored pages, and ways to get it.

use crate::base::shown::ShownUrl;
use crate::page::ways::{FetchOffer, PageLink, SimilarPage, fetch_form, similar_pages};
use crate::page::{RenderedPage, Shell, view};

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct MissingPage<'a> {
    /// The URL, without credentials.
    pub url: &'a str,
    /// Whether the URL is stored after all.
    pub is_kept: bool,
    /// Whether older versions are stored.
    pub has_versions: bool,
    /// Similar stored pages.
    pub likes: &'a [SimilarPage],
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, missing: &MissingPage<'_>) -> RenderedPage {
    let url = missing.url;
    let versions =
        (missing.has_versions || missing.is_kept).then(|| PageLink::versions(url)).flatten();
    let ways = [
        versions,
        PageLink::about(url),
        PageLink::host(url),
        PageLink::words(url),
        PageLink::choices(url),
        PageLink::rules(url),
    ];
    let view = view! {
        url: ShownUrl::new(url),
        is_kept: missing.is_kept,
        has_versions: missing.has_versions,
        likes: similar_pages(missing.likes, shell),
        fetch: fetch_form(&FetchOffer { url, token: &shell.token }, shell),
        ways: ways.into_iter().flatten().collect::<Vec<_>>(),
    };
    shell.page("missing.html", 200, &view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};
    use wwwoffle_http::caching::like::Likeness;

    fn like(url: &str) -> SimilarPage {
        SimilarPage { likeness: Likeness::Slash, url: url.to_owned(), version: (time(), time()) }
    }

    #[test]
    fn similar_pages_are_listed_and_the_page_can_be_fetched() {
        let likes = [like("http://a.example/tea/")];
        let missing = MissingPage {
            url: "http://a.example/tea",
            is_kept: false,
            has_versions: true,
            likes: &likes,
        };
        let body = page(&shell(), &missing).body;
        for want in [
            "<h1>",
            "href=\"http://a.example/tea/\"",
            "a final slash or index.html",
            "2026-11-20 12:00",
            "href=\"http://localhost:8080/history/?",
            "href=\"http://localhost:8080/index/url?",
            "href=\"http://localhost:8080/search/?q=tea\"",
            "action=\"http://localhost:8080/refresh-request/\"",
            "name=\"token\" value=\"f00\"",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        let none = MissingPage { likes: &[], has_versions: false, ..missing };
        let body = page(&shell(), &none).body;
        assert!(body.contains("There is no similar saved page.") && !body.contains("/history/"));
    }

    #[test]
    fn hostile_values_are_text() {
        for hostile in &hostile() {
            let likes = [like(hostile), like(hostile)];
            for is_kept in [false, true] {
                let missing =
                    MissingPage { url: hostile, is_kept, has_versions: true, likes: &likes };
                assert_harmless(&page(&shell(), &missing));
            }
        }
    }
}
