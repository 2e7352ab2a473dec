//! The stored entries that belong to the members of a collection.

use std::time::{Duration, Instant};

use wwwoffle_index::{EntrySet, Error, Filter, Item, MAX_PAGE, Sort};
use wwwoffle_spool::Place;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::edit::query_of;
use crate::base::owner::{Owner, Places};
use crate::storage::lists::found::ListSource;
use wwwoffle_api::{Collection, Member, SavedSearch};

/// The largest number of pages that a search adds to a collection: the best ones.
pub const MAX_FOUND: usize = 200;

/// The time limit for finding the pages of all searches of a collection.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The places of the entries of a collection.
#[derive(Debug, Default)]
pub struct CollectionPlaces {
    /// The places. Nothing may be stored there.
    pub places: Vec<Place>,
    /// Whether the collection has more entries.
    pub is_cut: bool,
}

/// Returns the pages that a search finds for the viewer of `source`, at most `most`. A search that
/// this version does not understand finds nothing.
///
/// # Errors
///
/// Those of the index.
pub fn found(
    source: &ListSource<'_>,
    search: &SavedSearch,
    most: usize,
) -> Result<Vec<Item>, Error> {
    let Ok(wanted) = query_of(search) else { return Ok(Vec::new()) };
    let filter = Filter { viewer: source.viewer.clone(), ..wanted.filter.clone() };
    let hits = source.index.search(&wanted.query(), &filter, None, most, &|_| true)?;
    Ok(hits.items)
}

/// Returns the entries of a collection as a set, for the filter of lists and searches.
///
/// # Errors
///
/// Those of the index.
pub fn entry_set(source: &ListSource<'_>, collection: &Collection) -> Result<EntrySet, Error> {
    let (mut set, until) = (EntrySet::default(), Instant::now() + PATIENCE);
    for item in &collection.members {
        match &item.member {
            Member::Page { url } => set.add_url(url),
            Member::Site { site } => set.add_site(site),
            Member::Search(search) if Instant::now() < until => {
                found(source, search, MAX_FOUND)?.iter().for_each(|item| set.add_item(item));
            }
            Member::Search(_) => {}
        }
    }
    Ok(set)
}

/// Returns the places of the shared entries of a collection and of those of `owner`, at most
/// `most`, without the sub-resources of pages.
///
/// # Errors
///
/// Those of the index.
pub fn places(
    source: &ListSource<'_>,
    collection: &Collection,
    owner: &Owner,
    most: usize,
) -> Result<CollectionPlaces, Error> {
    let (mut all, until) = (CollectionPlaces::default(), Instant::now() + PATIENCE);
    let name = owner.to_string();
    let is_theirs = |item: &Item| item.place.owner().is_none_or(|of| of == name);
    for item in &collection.members {
        match &item.member {
            Member::Page { url } => all.places.extend(places_of_page(url, owner)),
            Member::Search(_) if Instant::now() >= until => all.is_cut = true,
            Member::Search(search) => {
                let items = found(source, search, MAX_FOUND)?.into_iter().filter(is_theirs);
                all.places.extend(items.map(|item| item.place));
            }
            Member::Site { site } => of_site(source, site, &is_theirs, (most, &mut all))?,
        }
        if all.places.len() > most {
            all.is_cut = true;
            all.places.truncate(most);
            break;
        }
    }
    Ok(all)
}

/// Returns the places of a page: that of an owner, and that of everyone.
#[must_use]
pub fn places_of_page(url: &str, owner: &Owner) -> Vec<Place> {
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return Vec::new() };
    let places = Places::of_url(&url, owner);
    vec![places.own, places.public]
}

fn of_site(
    source: &ListSource<'_>,
    site: &str,
    is_theirs: &dyn Fn(&Item) -> bool,
    (most, all): (usize, &mut CollectionPlaces),
) -> Result<(), Error> {
    let filter =
        Filter { viewer: source.viewer.clone(), site: Some(site.to_owned()), ..Filter::default() };
    let mut after = None;
    loop {
        let page = source.index.list(&filter, Sort::Name, after.as_ref(), MAX_PAGE, is_theirs)?;
        all.places.extend(page.items.into_iter().map(|item| item.place));
        after = page.next;
        if after.is_none() || all.places.len() > most {
            return Ok(());
        }
    }
}
