//! Limits on the number of rows by the size of the page. Other pages with rows of URLs use them,
//! too.

use super::{LONGEST_CHOSEN, cut};
use crate::base::escape::written;
use crate::base::shown::{self, ShownUrl};
use crate::page::links;
use wwwoffle_api::{IndexItem, ListItems};

/// Maximum size of all rows of a page, in bytes. With the rest the page stays below 100 kB.
const ROOM: usize = 64_000;

/// Size of a row for an entry without its variable texts, in bytes.
const ENTRY: usize = 720;
/// Size of a row for a request without its variable texts, in bytes.
const REQUEST: usize = 350;

/// Maximum size of a URL that becomes a link on a page that contains it several times, in bytes
/// after escaping.
const LONGEST_LINK: usize = 16_384;

/// Returns the number of rows that fit on a page, at least 1; `None` if all of them fit.
#[must_use]
pub fn rows_that_fit(listed: &ListItems) -> Option<usize> {
    let costs: Vec<_> = match listed {
        ListItems::Entries(items) => items.iter().map(entry).collect(),
        ListItems::Requests(requests) => requests.iter().map(|one| request(&one.url)).collect(),
        ListItems::Asked(asked) => asked.iter().map(|one| request(&one.url)).collect(),
        // Names are short, so they always fit.
        ListItems::Hosts(_) | ListItems::Sites(_) => return None,
    };
    let fits = count_fitting(ROOM, costs.iter().copied());
    (fits < costs.len()).then_some(fits)
}

/// Returns how many of the rows with these sizes in bytes fit into `room`, at least 1.
pub(in crate::site) fn count_fitting(
    mut room: usize,
    costs: impl IntoIterator<Item = usize>,
) -> usize {
    let fits = costs.into_iter().take_while(|cost| {
        let left = room.checked_sub(*cost);
        room = left.unwrap_or_default();
        left.is_some()
    });
    fits.count().max(1)
}

fn entry(item: &IndexItem) -> usize {
    let title = item.title.as_deref().map_or(0, |title| written(&cut(title)));
    let login = item.whose.login.as_deref();
    let address = shown::with_login(&item.url, login);
    let chosen = if item.url.len() <= LONGEST_CHOSEN { written(&address) } else { 0 };
    let owner = item.whose.owner.as_deref().map_or(0, |owner| written(&shown::text(owner)));
    let kind = written(&shown::text(&item.content.content_type));
    let url = ShownUrl::new(&item.url).of_login(login);
    let links = row_links_size(&url) + written(&links::info(&address));
    ENTRY + title + chosen + owner + kind + written(&url.text) + links
}

fn request(url: &str) -> usize {
    let url = ShownUrl::new(url);
    REQUEST + written(&url.text) + row_links_size(&url)
}

/// Drops the link if it is too long for a page that contains it several times.
pub(in crate::site) fn without_long_link(mut url: ShownUrl) -> ShownUrl {
    url.href.take_if(|href| written(href) > LONGEST_LINK);
    url
}

/// Drops the link of a row if it does not fit into `room` together with the link to its options.
pub(in crate::site) fn take_links(room: &mut usize, url: &mut ShownUrl) {
    match room.checked_sub(row_links_size(url)) {
        Some(left) => *room = left,
        None => url.href = None,
    }
}

/// Returns the size of the links of a row, to the URL and to its options, without their texts, in
/// bytes.
pub(in crate::site) fn row_links_size(url: &ShownUrl) -> usize {
    let options = url.href.as_deref().and_then(links::row_options);
    link_size(url) + options.as_deref().map_or(0, written)
}

/// Returns the size of a link to the URL without its text, in bytes.
pub(in crate::site) fn link_size(url: &ShownUrl) -> usize {
    url.href.as_deref().map_or(0, written)
}
