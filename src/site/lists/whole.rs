//! Actions on whole lists, which a page with their size offers: delete, export, pin, and add to a
//! collection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::Response;
use wwwoffle_index::Error;
use wwwoffle_spool::{Place, Removal, Timestamp};

use super::super::caller::Caller;
use super::super::forms::FormError;
use super::{back, name_collection, nothing, of_host, of_url, read};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::page::links::SEARCH;
use crate::proxy::body::Body;
use crate::site::lists::export::{self, ExportFormat, ExportWish};
use crate::site::lists::page::whole as page;
use crate::site::lists::page::whole::{LIST, ListContents, UNTIL, is_for_good, return_to};
use crate::site::lists::page::{CompletedAction, DONE, ListAddress, REMOVED, ROOT, with};
use crate::site::lists::removed;
use crate::site::purge::set_pinned;
use crate::site::search::call::query_index_for;
use crate::storage::collections::MAX_MEMBERS;
use crate::storage::lists::deletions::DeletionTurn;
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::whole::{GatheredEntries, MOST, MOST_EXPORTED, is_of_entries, is_part};
use crate::storage::lists::{self, viewer};
use crate::storage::store::timestamp;
use wwwoffle_api::Member;

/// Maximum number of lists that are acted on together.
const MOST_LISTS: usize = 100;

/// The largest length of the addresses of lists in one form, in bytes: the page writes each four times.
const LONGEST_LISTS: usize = 15_000;

/// Maximum time for which the page with the actions counts entries.
const COUNTS_FOR: Duration = Duration::from_millis(500);

/// Maximum time that the response waits for the deletion; then the deletion continues in the
/// background.
const WAITS: Duration = Duration::from_secs(1);

/// Interval between checks whether the deletion has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Shows the actions on the lists in the arguments `list`, or, as in WWWOFFLE 2.9, on the entries of
/// the host of a URL.
pub(in crate::site) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let list = match (form.value(LIST), form.value("url")) {
        (Some(list), _) => list.to_owned(),
        (None, Some(url)) => of_host(caller, url),
        (None, None) => of_url(caller, arguments),
    };
    let wanted =
        if form.value(LIST).is_some() { NamedLists::of(&form) } else { NamedLists::named([&list]) };
    let now = timestamp(clock::now());
    // Counting may take a while, so another site must not be able to cause it, for example with an
    // image.
    if wanted.is_empty() || caller.is_sent_by_another_site() {
        return caller.see_other(back(Some(&list)));
    }
    let can_delete = wanted.are_parts();
    let wanted = wanted.until(now);
    match gather(caller, &wanted, GatheredEntries::default(), Some(COUNTS_FOR)).await {
        Ok((gathered, is_all)) if !gathered.places.is_empty() => {
            let found = ListContents {
                gathered: &gathered,
                is_all,
                can_delete,
                has_others: caller.is_administrator(),
                until: now.to_string(),
            };
            let mut shown = wanted.shown.clone();
            for list in &mut shown {
                name_collection(caller, list).await;
            }
            caller.page(page::page(&caller.shell, &shown, &found))
        }
        // The page of the list says that the list is empty, or why it is not available.
        _ => caller.see_other(back(Some(&list))),
    }
}

/// Deletes the lists that the form names, and redirects to the list or the library.
pub(in crate::site) async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let wanted = NamedLists::of(form);
    let asked = form.value(UNTIL).and_then(|text| text.parse::<Timestamp>().ok());
    let asked = asked.filter(|_| wanted.are_parts()).ok_or_else(|| nothing(form))?;
    let wanted = wanted.until(asked);
    let removal = removed::new_removal(caller);
    let busy = || {
        let why = "a list is being deleted already: try again when that has ended";
        FormError::Busy(why.to_owned())
    };
    let turn = caller.context.storage.deletions.begin(removal).ok_or_else(busy)?;
    let (gathered, _) = gather(caller, &wanted, GatheredEntries::default(), None).await?;
    if gathered.places.is_empty() {
        return Err(nothing(form));
    }
    let for_good = is_for_good(gathered.bytes);
    let gone = Arc::new(AtomicU64::new(0));
    delete_in_background(caller, gathered.places, (turn, removal, for_good), Arc::clone(&gone));
    let began = Instant::now();
    while caller.context.storage.deletions.is_this(removal) && began.elapsed() < WAITS {
        tokio::time::sleep(LOOK).await;
    }
    lists::level(&caller.context.storage).await;
    let gone = gone.load(Ordering::Relaxed);
    let (name, value) = if for_good {
        (DONE, format!("{}.{gone}", CompletedAction::Deleted.name()))
    } else {
        (REMOVED, removal.to_string())
    };
    Ok(caller.see_other(&with(&return_to(&wanted.shown), name, &value)))
}

/// Sends the whole lists in the fields `list` as an archive.
pub(in crate::site) async fn send(
    caller: &Caller,
    format: ExportFormat,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let wanted = NamedLists::of(form);
    if wanted.is_empty() {
        return Err(nothing(form));
    }
    let gathered = GatheredEntries::with_limit(MOST_EXPORTED);
    let (gathered, is_all) = gather(caller, &wanted, gathered, None).await?;
    if !is_all {
        let why =
            "the list has more entries than are exported at once: `wwwoffle export` has no limit";
        return Err(FormError::Bad(why.to_owned()));
    }
    let wish = ExportWish { format, versions: false, collection: None };
    export::send_places(caller, wish, gathered.places, form).await
}

/// Pins all entries of the lists in the fields `list`.
pub(in crate::site) async fn pin(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let wanted = NamedLists::of(form);
    let urls = urls(caller, &wanted, MOST).await?;
    if urls.is_empty() {
        return Err(nothing(form));
    }
    let count = urls.len();
    set_pinned(&caller.context, urls.into_iter().collect(), true).await?;
    let value = format!("{}.{count}", CompletedAction::Pinned.name());
    Ok(caller.see_other(&with(&return_to(&wanted.shown), DONE, &value)))
}

/// Returns the members that a collection gets for the lists in the fields `list`: a site or a search
/// as such, so that it grows with what is saved later, and the pages of other lists.
pub(in crate::site) async fn members(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Vec<Member>, FormError> {
    let (mut members, mut others) = (Vec::new(), NamedLists::default());
    for (shown, mut query) in NamedLists::of(form).into_pairs() {
        if let Some(member) = shown.as_member() {
            members.push(member);
        } else {
            query.filter.pages_only = true;
            others.push(shown, query);
        }
    }
    let pages = urls(caller, &others, MAX_MEMBERS).await?;
    members.extend(pages.into_iter().map(|url| Member::Page { url }));
    Ok(members)
}

/// Returns the URLs of the entries of some lists, each once. Fails if there are more than `most`.
async fn urls(
    caller: &Caller,
    wanted: &NamedLists,
    most: usize,
) -> Result<BTreeSet<String>, FormError> {
    let (gathered, is_all) =
        gather(caller, wanted, GatheredEntries::with_limit(most), None).await?;
    if !is_all {
        let why = format!("the list has more than {most} entries: filter it first");
        return Err(FormError::Bad(why));
    }
    Ok(gathered.places.iter().map(|place| place.url().to_owned()).collect())
}

/// Lists of ours to be acted on together. Only lists of entries and searches are among them.
#[derive(Default)]
struct NamedLists {
    shown: Vec<ListAddress>,
    queries: Vec<ListQuery>,
}

impl NamedLists {
    /// The lists in the fields `list` of a form.
    fn of(form: &SubmittedForm) -> Self {
        Self::named(form.fields().filter(|(name, _)| *name == LIST).map(|(_, list)| list))
    }

    /// The lists at these addresses: none of more than [`MOST_LISTS`], or of [`LONGEST_LISTS`] bytes.
    fn named<T: AsRef<str>>(lists: impl IntoIterator<Item = T>) -> Self {
        let (mut named, mut length) = (Self::default(), 0);
        for (at, list) in lists.into_iter().enumerate() {
            length += list.as_ref().len();
            if at >= MOST_LISTS || length > LONGEST_LISTS {
                return Self::default();
            }
            if let Some((shown, query)) = parse_entry_list(back(Some(list.as_ref()))) {
                named.push(shown, query);
            }
        }
        named
    }

    fn push(&mut self, shown: ListAddress, query: ListQuery) {
        self.shown.push(shown);
        self.queries.push(query);
    }

    fn into_pairs(self) -> impl Iterator<Item = (ListAddress, ListQuery)> {
        self.shown.into_iter().zip(self.queries)
    }

    fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Whether each list has only a part of all entries, so that it may be deleted.
    fn are_parts(&self) -> bool {
        !self.is_empty() && self.queries.iter().all(is_part)
    }

    /// Excludes entries stored at or after `time`.
    fn until(mut self, time: Timestamp) -> Self {
        for query in &mut self.queries {
            let until = query.filter.until.map_or(time, |until| until.min(time));
            query.filter.until = Some(until);
        }
        self
    }
}

/// Parses the address of a list of ours; `None` unless it is a list of entries or a search.
fn parse_entry_list(list: &str) -> Option<(ListAddress, ListQuery)> {
    let (path, arguments) = list.split_once('?').unwrap_or((list, ""));
    let is_search = path == SEARCH;
    let name = if is_search { "all" } else { path.strip_prefix(ROOT)? };
    if name.is_empty() {
        return None;
    }
    let (mut shown, mut query) = read(name, Some(arguments)).ok()?;
    if is_search {
        let form = SubmittedForm::of_arguments(Some(arguments)).ok()?;
        form.value("q")?.trim().clone_into(&mut query.words);
        (shown.words, shown.sort) = (query.words.clone(), None);
        if query.query().is_empty() {
            return None;
        }
    }
    // The whole list, from its beginning.
    query.after = None;
    is_of_entries(&query).then_some((shown, query))
}

/// Collects the entries of lists that the caller may delete or export, for at most the time
/// `within` if that is given. The flag is `true` if these are all such entries.
async fn gather(
    caller: &Caller,
    wanted: &NamedLists,
    mut gathered: GatheredEntries,
    within: Option<Duration>,
) -> Result<(GatheredEntries, bool), Error> {
    let (owner, began) = (caller.owner.to_string(), Instant::now());
    for query in &wanted.queries {
        let mut is_end = false;
        while !is_end {
            if gathered.is_cut || within.is_some_and(|within| began.elapsed() >= within) {
                return Ok((gathered, false));
            }
            let (own, mut so_far) = (owner.clone(), gathered);
            // Entries of other owners are excluded, even if the caller may see them.
            let viewer = viewer(Some(&caller.owner));
            let step = query_index_for(caller, viewer, query.clone(), move |source, query| {
                let is_end = so_far.step(source, query, &own)?;
                Ok((so_far, is_end))
            });
            (gathered, is_end) = step.await?;
        }
    }
    let is_all = !gathered.is_cut;
    Ok((gathered, is_all))
}

/// Deletes the entries at `places` in the background, and counts the deleted ones in `gone`. Ends
/// early if the deletion or the daemon is stopped, and after the first failure.
fn delete_in_background(
    caller: &Caller,
    places: Vec<Place>,
    (turn, removal, for_good): (DeletionTurn, Removal, bool),
    gone: Arc<AtomicU64>,
) {
    let context = Arc::clone(&caller.context);
    caller.context.base.tasks.spawn(async move {
        for place in places {
            if turn.is_stopped() || context.base.tasks.is_stopping() {
                return;
            }
            let removed = if for_good {
                context.storage.store.remove(&place).await
            } else {
                removed::set_aside(&context.storage.store, &place, removal).await
            };
            match removed {
                Ok(is_gone) => _ = gone.fetch_add(u64::from(is_gone), Ordering::Relaxed),
                Err(error) => {
                    let error = error_chain(&error);
                    tracing::error!(error, "could not delete the rest of a list");
                    return;
                }
            }
        }
    });
}
