//! Chooses the entries for `wwwoffle export`. A walk of the directories selects by host, time, size
//! and URL. The index, read without changing it, selects by words and by online session.
//! Sub-resources of the chosen pages are included.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use jiff::Timestamp;
use wwwoffle_index::{Filter, Item, Query, ReadOnlyIndex, Sessions, SubResources};
use wwwoffle_spool::{Entry, Place, Reader};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::args::ExportChoice;
use super::failure::{VerbFailure, VerbResult};
use super::files;
use crate::base::owner::{Owner, Places};
use crate::base::shown;
use crate::storage::collections;
use crate::storage::collections::edit::query_of;
use crate::storage::collections::members::{MAX_FOUND, places_of_page};
use crate::storage::lists::sessions;
use wwwoffle_api::{Collection, Member};

/// Printed if the sub-resources of the selected pages cannot be found because there is no index.
const NO_INDEX: &str = "there is no index, so only the selected sub-resources are exported: \
    `wwwoffle reindex` builds one";

/// The entries to export, and remarks to print.
pub(super) struct ExportedPlaces<'a> {
    pub(super) places: Box<dyn Iterator<Item = wwwoffle_spool::Result<Place>> + 'a>,
    /// The number of places that are included as sub-resources.
    pub(super) sub_resources: usize,
    /// The number of personal entries left out, counted while `places` is walked.
    pub(super) personal: Rc<Cell<u64>>,
    pub(super) notes: Vec<&'static str>,
}

/// Returns the places that the options select.
pub(super) fn chosen<'a>(
    typed: &'a ExportChoice,
    reader: &'a Reader,
) -> VerbResult<ExportedPlaces<'a>> {
    if let Some(name) = &typed.collection {
        return of_collection(typed, name, reader);
    }
    if typed.search.is_some() || typed.session.is_some() {
        return indexed(typed, reader);
    }
    if let Some(page) = &typed.page {
        let entry = page_entry(page, typed.owner.as_ref(), reader)?;
        let places = (vec![entry.place().clone()], Rc::new(Cell::new(0)));
        let index = ReadOnlyIndex::open(reader.root())?;
        return with_sub_resources(typed, index.as_ref(), places, Vec::new());
    }
    let mut lists = Vec::new();
    if typed.host.is_empty() {
        lists.push(reader.list(None, None)?);
    }
    for host in &typed.host {
        lists.push(reader.list(None, Some(host))?);
    }
    let personal = Rc::new(Cell::new(0));
    let counted = Rc::clone(&personal);
    let places = lists.into_iter().flatten().filter_map(move |summary| match summary {
        Ok(summary) => is_chosen(&summary.place, summary.when, summary.body_len, typed, &counted)
            .then_some(Ok(summary.place)),
        Err(error) => Some(Err(error)),
    });
    let is_part = !typed.host.is_empty()
        || typed.since.is_some()
        || typed.until.is_some()
        || !typed.url_spec.is_empty();
    if !is_part || typed.no_sub_resources {
        let (places, notes) = (Box::new(places), Vec::new());
        return Ok(ExportedPlaces { places, sub_resources: 0, personal, notes });
    }
    let places = places.collect::<wwwoffle_spool::Result<Vec<_>>>()?;
    let index = ReadOnlyIndex::open(reader.root())?;
    with_sub_resources(typed, index.as_ref(), (places, personal), Vec::new())
}

/// Returns the stored copy of a page: that of `owner`, or else that of everyone.
pub(super) fn page_entry(page: &str, owner: Option<&Owner>, reader: &Reader) -> VerbResult<Entry> {
    let places = files::places(page, owner.unwrap_or(&Owner::Local), &LocalHost::default())?;
    let places = match owner {
        Some(_) => places,
        None => Places { own: places.public.clone(), ..places },
    };
    files::find(reader, &places)?.ok_or_else(|| {
        let url = shown::line(places.public.url());
        let what = "not in the spool for everyone: `wwwoffle get URL` fetches it, and `--owner \
                    OWNER` exports a personal copy";
        VerbFailure::plain(format_args!("{url}: {what}"))
    })
}

/// Adds the sub-resources that the index knows of the places, unless the user excludes
/// sub-resources.
fn with_sub_resources<'a>(
    typed: &'a ExportChoice,
    index: Option<&ReadOnlyIndex>,
    (mut places, personal): (Vec<Place>, Rc<Cell<u64>>),
    mut notes: Vec<&'static str>,
) -> VerbResult<ExportedPlaces<'a>> {
    let mut sub_resources = 0;
    match index {
        Some(index) if !typed.no_sub_resources => {
            let mut found = SubResources::of_owner(typed.owner.as_ref().map(ToString::to_string));
            index.gather_sub_resources(&mut found, &places)?;
            let chosen: HashSet<_> = places.iter().cloned().collect();
            let is_small = |item: &Item| {
                typed.max_size.is_none_or(|most| item.content.body_len <= most.bytes())
            };
            let more = found.items.into_iter().filter(is_small).map(|item| item.place);
            places.extend(more.filter(|place| !chosen.contains(place)));
            sub_resources = places.len() - chosen.len();
            personal.set(personal.get() + found.personal);
            if found.is_cut {
                notes.push("there are too many sub-resources to export at once; some are left out");
            }
        }
        None if !typed.no_sub_resources => notes.push(NO_INDEX),
        _ => {}
    }
    let places = Box::new(places.into_iter().map(Ok));
    Ok(ExportedPlaces { places, sub_resources, personal, notes })
}

/// Returns the collection with a name or an id that an owner may see.
pub(super) fn collection(
    name: &str,
    owner: Option<&Owner>,
    reader: &Reader,
) -> VerbResult<Collection> {
    let found = collections::named(reader, owner.unwrap_or(&Owner::Local), name);
    found.map_err(|error| VerbFailure::failed("the collection cannot be exported", &error))
}

/// Returns the places of the members of a collection.
fn of_collection<'a>(
    typed: &'a ExportChoice,
    name: &str,
    reader: &Reader,
) -> VerbResult<ExportedPlaces<'a>> {
    let owner = typed.owner.as_ref();
    let members = collection(name, owner, reader)?.members;
    let index = ReadOnlyIndex::open(reader.root())?;
    let personal = Rc::new(Cell::new(0));
    let mut places = Vec::new();
    let mut add = |place: &Place, when: Timestamp, body_len: u64| {
        if is_of_host(place.url(), typed) && is_chosen(place, when, body_len, typed, &personal) {
            places.push(place.clone());
        }
    };
    for item in members {
        let filter = match &item.member {
            Member::Page { url } => {
                for place in places_of_page(url, owner.unwrap_or(&Owner::Local)) {
                    for entry in reader.entries(&place)?.found {
                        add(entry.place(), entry.received(), entry.body_len());
                    }
                }
                continue;
            }
            Member::Site { site } => Filter { site: Some(site.clone()), ..Filter::default() },
            Member::Search(search) => match query_of(search) {
                Ok(query) => query.filter,
                Err(_) => continue,
            },
        };
        let index = index.as_ref().ok_or_else(|| {
            VerbFailure::plain("there is no index: `wwwoffle reindex` builds one")
        })?;
        let items = match &item.member {
            Member::Search(search) => {
                let (mut items, _) = index.search(&Query::parse(&search.words), &filter)?;
                items.truncate(MAX_FOUND);
                items
            }
            _ => index.all(&filter)?,
        };
        for item in items {
            add(&item.place, item.times.answered, item.content.body_len);
        }
    }
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    with_sub_resources(typed, index.as_ref(), (places, personal), Vec::new())
}

/// Whether a URL has one of the hosts that the options name.
fn is_of_host(url: &str, typed: &ExportChoice) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    typed.host.is_empty() || typed.host.iter().any(|one| one == host)
}

/// Returns the places that the options select, from the index.
fn indexed<'a>(typed: &'a ExportChoice, reader: &Reader) -> VerbResult<ExportedPlaces<'a>> {
    let Some(index) = ReadOnlyIndex::open(reader.root())? else {
        let what = "there is no index: `wwwoffle reindex` builds one";
        return Err(VerbFailure::plain(what));
    };
    let mut filter = Filter::default();
    if let Some(back) = typed.session {
        let state = reader.state()?;
        let known = state.value(sessions::KEY).and_then(|text| text.parse::<Sessions>().ok());
        let Some((began, ended)) = known.unwrap_or_default().back(back) else {
            return Err(VerbFailure::plain("there is no such online session"));
        };
        (filter.since, filter.until) = (Some(began), ended);
    }
    let mut notes = Vec::new();
    let items = match &typed.search {
        None => index.all(&filter)?,
        Some(words) => {
            let query = Query::parse(words);
            if query.is_empty() {
                let what = "export: expected a word to search for";
                return Err(VerbFailure::usage(what));
            }
            let (items, is_partial) = index.search(&query, &filter)?;
            if is_partial {
                notes.push("too many pages have these words: only a part is exported");
            }
            if index.has_unread()? {
                notes.push("not all pages are indexed yet; more may be found later");
            }
            items
        }
    };
    let personal = Rc::new(Cell::new(0));
    let meant = items.into_iter().filter(|item| {
        is_of_host(item.place.url(), typed)
            && is_chosen(&item.place, item.times.answered, item.content.body_len, typed, &personal)
    });
    let places: Vec<_> = meant.map(|item| item.place).collect();
    with_sub_resources(typed, Some(&index), (places, personal), notes)
}

/// Whether to export an entry. If the entry is not exported only because of its owner, counts it in
/// `personal`.
fn is_chosen(
    place: &Place,
    when: Timestamp,
    body_len: u64,
    typed: &ExportChoice,
    personal: &Cell<u64>,
) -> bool {
    let is_meant = typed.since.is_none_or(|since| when >= since)
        && typed.until.is_none_or(|until| when < until)
        && typed.max_size.is_none_or(|most| body_len <= most.bytes())
        && (typed.url_spec.is_empty() || is_named(place.url(), typed));
    let is_of_owner = match place.owner() {
        None => true,
        Some(owner) => {
            typed.owner.as_ref().is_some_and(|one| owner.parse::<Owner>().as_ref() == Ok(one))
        }
    };
    if is_meant && !is_of_owner {
        personal.set(personal.get() + 1);
    }
    is_meant && is_of_owner
}

fn is_named(url: &str, typed: &ExportChoice) -> bool {
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return false };
    typed.url_spec.iter().any(|spec| spec.matches(&url))
}
