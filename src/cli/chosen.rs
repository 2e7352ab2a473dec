//! What `wwwoffle export` takes: by host, time, size and URL as the directories are walked; by words and by time
//! online from the index as it stands, beside a daemon or without one.

use jiff::Timestamp;
use wwwoffle_index::{Filter, Item, Query, Sessions, Standing};
use wwwoffle_spool::{Place, Reader};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::args::Export;
use super::failure::Failure;
use super::files::spool_failed;
use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::storage::lists::sessions;

/// What is to be exported, and what is to be said of it.
pub(super) struct Chosen<'a> {
    pub(super) places: Box<dyn Iterator<Item = wwwoffle_spool::Result<Place>> + 'a>,
    pub(super) notes: Vec<&'static str>,
}

/// The places of what was asked for.
pub(super) fn chosen<'a>(typed: &'a Export, reader: &'a Reader) -> Result<Chosen<'a>, Failure> {
    if typed.search.is_some() || typed.session.is_some() {
        return indexed(typed, reader);
    }
    let mut lists = Vec::new();
    if typed.host.is_empty() {
        lists.push(reader.list(None, None).map_err(|error| spool_failed(&error))?);
    }
    for host in &typed.host {
        lists.push(reader.list(None, Some(host)).map_err(|error| spool_failed(&error))?);
    }
    let places = lists.into_iter().flatten().filter_map(move |summary| match summary {
        Ok(summary) => is_chosen(&summary.place, summary.when, summary.body_len, typed)
            .then_some(Ok(summary.place)),
        Err(error) => Some(Err(error)),
    });
    Ok(Chosen { places: Box::new(places), notes: Vec::new() })
}

/// The same as the index has them.
fn indexed<'a>(typed: &'a Export, reader: &Reader) -> Result<Chosen<'a>, Failure> {
    let fail =
        |error| Failure::caused(ExitStatus::Failed, "the index cannot tell what to export", &error);
    let Some(index) = Standing::open(reader.root()).map_err(fail)? else {
        let what = "there is no index to look in: `wwwoffle reindex` makes one";
        return Err(Failure::plain(what));
    };
    let mut filter = Filter::default();
    if let Some(back) = typed.session {
        let state = reader.state().map_err(|error| spool_failed(&error))?;
        let known = state.value(sessions::KEY).and_then(|text| text.parse::<Sessions>().ok());
        let Some((began, ended)) = known.unwrap_or_default().back(back) else {
            return Err(Failure::plain("no such time online is remembered"));
        };
        (filter.since, filter.until) = (Some(began), ended);
    }
    let mut notes = Vec::new();
    let items = match &typed.search {
        None => index.all(&filter).map_err(fail)?,
        Some(words) => {
            let query = Query::parse(words);
            if query.is_empty() {
                let what = "export: expected a word to look for";
                return Err(Failure::Said(ExitStatus::Usage, what.to_owned()));
            }
            let (items, is_partial) = index.search(&query, &filter).map_err(fail)?;
            if is_partial {
                notes.push(
                    "more pages have these words than are looked at: only a part is exported",
                );
            }
            if index.has_unread().map_err(fail)? {
                notes.push("not all pages have been read yet; more may be found later");
            }
            items
        }
    };
    let is_of_host = |item: &Item| {
        let (_, rest) = item.place.url().split_once("://").unwrap_or_default();
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        typed.host.is_empty() || typed.host.iter().any(|one| one == host)
    };
    let meant = items.into_iter().filter(|item| {
        is_of_host(item) && is_chosen(&item.place, item.answered, item.body_len, typed)
    });
    let places: Vec<_> = meant.map(|item| Ok(item.place)).collect();
    Ok(Chosen { places: Box::new(places.into_iter()), notes })
}

fn is_chosen(place: &Place, when: Timestamp, body_len: u64, typed: &Export) -> bool {
    let is_of_owner = match place.owner() {
        None => true,
        Some(owner) => {
            typed.owner.as_ref().is_some_and(|one| owner.parse::<Owner>().as_ref() == Ok(one))
        }
    };
    is_of_owner
        && typed.since.is_none_or(|since| when >= since)
        && typed.until.is_none_or(|until| when < until)
        && typed.max_size.is_none_or(|most| body_len <= most.bytes())
        && (typed.url_spec.is_empty() || is_named(place.url(), typed))
}

fn is_named(url: &str, typed: &Export) -> bool {
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return false };
    typed.url_spec.iter().any(|spec| spec.matches(&url))
}
