//! How many rows of a list there is room for on its page, here and on other pages that have rows of URLs.

use super::{LONGEST_CHOSEN, cut};
use crate::api::{IndexItem, Listed};
use crate::base::escape::written;
use crate::base::shown::{self, ShownUrl};
use crate::page::links;

/// Bytes of all rows of a page together; with what stands around them that stays below 100 kB.
const ROOM: usize = 64_000;

/// Bytes of a row of its own, whatever is in it.
const ENTRY: usize = 650;
const REQUEST: usize = 250;

/// Bytes of the longest URL that is made a link on a page that has it several times, as it is written there.
const LONGEST_LINK: usize = 16_384;

/// How many rows fit, where that is fewer than these. The first one always does.
#[must_use]
pub fn fewer(listed: &Listed) -> Option<usize> {
    let costs: Vec<_> = match listed {
        Listed::Entries(items) => items.iter().map(entry).collect(),
        Listed::Requests(requests) => requests.iter().map(|one| request(&one.url)).collect(),
        Listed::Asked(asked) => asked.iter().map(|one| request(&one.url)).collect(),
        // Of names alone there are never too many.
        Listed::Hosts(_) | Listed::Sites(_) => return None,
    };
    let fits = fitting(ROOM, costs.iter().copied());
    (fits < costs.len()).then_some(fits)
}

/// How many rows there is room for that take so many bytes each. The first one always has it.
pub(in crate::site::pages) fn fitting(
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
    let chosen = if item.url.len() <= LONGEST_CHOSEN { written(&item.url) } else { 0 };
    let owner = item.owner.as_deref().map_or(0, |owner| written(&shown::text(owner)));
    let kind = written(&shown::text(&item.content_type));
    let url = ShownUrl::new(&item.url);
    // The text stands there once, and twice for who hears the page.
    let texts = 3 * written(&url.text);
    let links = linked(&url) + written(&links::info(&item.url));
    ENTRY + title + chosen + owner + kind + texts + links
}

fn request(url: &str) -> usize {
    let url = ShownUrl::new(url);
    REQUEST + written(&url.text) + linked(&url)
}

/// The URL without a link that would be too long on a page that has it several times.
pub(in crate::site::pages) fn brief(mut url: ShownUrl) -> ShownUrl {
    url.href.take_if(|href| written(href) > LONGEST_LINK);
    url
}

/// What a link to it takes besides its text.
pub(in crate::site::pages) fn linked(url: &ShownUrl) -> usize {
    url.href.as_deref().map_or(0, written)
}
