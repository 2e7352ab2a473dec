//! The five places of the navigation, and the pages that belong to each.

/// The places except the home page, each with the beginnings of the paths of its pages. The first
/// match counts.
const PLACES: &[(&str, &[&str])] = &[
    ("queue", &["/queue", "/fetches", "/monitor", "/refresh", "/undone", "/control/queue"]),
    ("queue", &["/control/delete/req", "/control/delete/mon", "/control/fetch", "/control/hold"]),
    ("library", &["/index", "/info", "/history", "/missing", "/control/delete/url"]),
    ("library", &["/collections", "/control/collections", "/control/delete/collection"]),
    ("search", &["/search"]),
    ("settings", &["/configuration", "/ca", "/certificate", "/control", "/purge", "/statistics"]),
    ("settings", &["/usage", "/gateway"]),
];

/// Returns the place to which the page at `path` belongs; empty if it belongs to none.
pub(crate) fn section(path: &str) -> &'static str {
    let is_in = |begins: &str| {
        let rest = path.strip_prefix(begins);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
    };
    let place = PLACES.iter().find(|(_, begins)| begins.iter().any(|begin| is_in(begin)));
    place.map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_page_belongs_to_one_place() {
        for (path, want) in [
            ("/", ""),
            ("", ""),
            ("/queue/edit", "queue"),
            ("/monitor-options/", "queue"),
            ("/refresh-options/", "queue"),
            ("/control/delete/req-all", "queue"),
            ("/control/delete/url-all", "library"),
            ("/control/online", "settings"),
            ("/index/http/a.example", "library"),
            ("/info/", "library"),
            ("/collections/show", "library"),
            ("/control/collections/save", "library"),
            ("/control/delete/collection", "library"),
            ("/search/", "search"),
            ("/ca", "settings"),
            ("/cake", ""),
            ("/usage/all", "settings"),
            ("/local/queue/", ""),
        ] {
            assert_eq!(section(path), want, "{path}");
        }
    }
}
