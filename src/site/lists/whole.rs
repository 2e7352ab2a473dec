//! Deletion of a whole list, after a confirmation page, and its export.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::Response;
use wwwoffle_index::Error;
use wwwoffle_spool::{Place, Removal, Timestamp};

use super::super::caller::Caller;
use super::super::forms::FormError;
use super::{back, nothing, of_host, of_url, read};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::lists::export::{self, ExportFormat, ExportWish};
use crate::site::lists::page::whole as page;
use crate::site::lists::page::whole::{LIST, ListContents, UNTIL, is_for_good};
use crate::site::lists::page::{CompletedAction, DONE, ListAddress, REMOVED, ROOT, with};
use crate::site::lists::removed;
use crate::site::purge::set_pinned;
use crate::site::search::call::query_index_for;
use crate::storage::lists::deletions::DeletionTurn;
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::whole::{GatheredEntries, MOST, MOST_EXPORTED, is_of_entries, is_part};
use crate::storage::lists::{self, viewer};
use crate::storage::store::timestamp;

/// Maximum time for which the confirmation page counts entries.
const COUNTS_FOR: Duration = Duration::from_secs(2);

/// Maximum time that the response waits for the deletion; then the deletion continues in the
/// background.
const WAITS: Duration = Duration::from_secs(1);

/// Interval between checks whether the deletion has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Asks for confirmation before a whole list is deleted: the list in the argument `list`, or, as in
/// WWWOFFLE 2.9, the entries of the host of a URL.
pub(in crate::site) async fn confirm(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let list = match (form.value(LIST), form.value("url")) {
        (Some(list), _) => list.to_owned(),
        (None, Some(url)) => of_host(caller, url),
        (None, None) => of_url(caller, arguments),
    };
    let list = back(Some(&list));
    // Counting may take a while, so another site must not be able to cause it, for example with an
    // image.
    let Some((shown, mut wanted)) =
        parse_subset(list).filter(|_| !caller.is_sent_by_another_site())
    else {
        return caller.see_other(list);
    };
    let now = timestamp(clock::now());
    limit_to_before(&mut wanted, now);
    match gather(caller, &wanted, GatheredEntries::default(), Some(COUNTS_FOR)).await {
        Ok((gathered, is_all)) if !gathered.places.is_empty() => {
            let found = ListContents {
                gathered: &gathered,
                is_all,
                has_others: caller.is_administrator(),
                until: now.to_string(),
            };
            caller.page(page::page(&caller.shell, &shown, &found))
        }
        // The page of the list says that the list is empty, or why it is not available.
        _ => caller.see_other(list),
    }
}

/// Deletes the list that the form of the confirmation page names, and redirects to the list.
pub(in crate::site) async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let list = back(form.value(LIST));
    let (_, mut wanted) = parse_subset(list).ok_or_else(|| nothing(form))?;
    let asked: Timestamp =
        form.value(UNTIL).and_then(|text| text.parse().ok()).ok_or_else(|| nothing(form))?;
    limit_to_before(&mut wanted, asked);
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
    Ok(caller.see_other(&with(list, name, &value)))
}

/// Sends the whole list in the field `list` as an archive.
pub(in crate::site) async fn send(
    caller: &Caller,
    format: ExportFormat,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let (_, wanted) = parse_entry_list(back(form.value(LIST))).ok_or_else(|| nothing(form))?;
    let (gathered, is_all) =
        gather(caller, &wanted, GatheredEntries::with_limit(MOST_EXPORTED), None).await?;
    if !is_all {
        let why =
            "the list has more entries than are exported at once: `wwwoffle export` has no limit";
        return Err(FormError::Bad(why.to_owned()));
    }
    let wish = ExportWish { format, versions: false, collection: None };
    export::send_places(caller, wish, gathered.places, form).await
}

/// Pins all entries of the list in the field `list`.
pub(in crate::site) async fn pin(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let list = back(form.value(LIST));
    let (_, wanted) = parse_entry_list(list).ok_or_else(|| nothing(form))?;
    let (gathered, is_all) = gather(caller, &wanted, GatheredEntries::default(), None).await?;
    if !is_all {
        let why = format!("the list has more than {MOST} entries: filter it first");
        return Err(FormError::Bad(why));
    }
    let urls = gathered.places.iter().map(|place| place.url().to_owned());
    let urls = urls.collect::<std::collections::BTreeSet<_>>();
    if urls.is_empty() {
        return Err(nothing(form));
    }
    let count = urls.len();
    set_pinned(&caller.context, urls.into_iter().collect(), true).await?;
    let value = format!("{}.{count}", CompletedAction::Pinned.name());
    Ok(caller.see_other(&with(list, DONE, &value)))
}

/// Parses the address of a list of ours. `None` unless it is a list of entries with a filter, or of
/// a session.
fn parse_subset(list: &str) -> Option<(ListAddress, ListQuery)> {
    parse_entry_list(list).filter(|(_, wanted)| is_part(wanted))
}

/// Parses the address of a list of ours; `None` unless it is a list of entries.
fn parse_entry_list(list: &str) -> Option<(ListAddress, ListQuery)> {
    let (path, arguments) = list.split_once('?').unwrap_or((list, ""));
    let (shown, mut wanted) = read(path.strip_prefix(ROOT)?, Some(arguments)).ok()?;
    // The whole list, from its beginning.
    wanted.after = None;
    is_of_entries(&wanted).then_some((shown, wanted))
}

/// Excludes entries stored at or after `now`.
fn limit_to_before(wanted: &mut ListQuery, now: Timestamp) {
    let until = wanted.filter.until.map_or(now, |until| until.min(now));
    wanted.filter.until = Some(until);
}

/// Collects the entries of a list that the caller may delete or export, for at most the time
/// `within` if that is given. The flag is `true` if these are all such entries.
async fn gather(
    caller: &Caller,
    wanted: &ListQuery,
    mut gathered: GatheredEntries,
    within: Option<Duration>,
) -> Result<(GatheredEntries, bool), Error> {
    let (owner, began) = (caller.owner.to_string(), Instant::now());
    while within.is_none_or(|within| began.elapsed() < within) {
        let (own, mut so_far) = (owner.clone(), gathered);
        // Entries of other owners are excluded, even if the caller may see them.
        let viewer = viewer(Some(&caller.owner));
        let step = query_index_for(caller, viewer, wanted.clone(), move |source, wanted| {
            let is_end = so_far.step(source, wanted, &own)?;
            Ok((so_far, is_end))
        });
        let (so_far, is_end) = step.await?;
        gathered = so_far;
        if is_end {
            let is_all = !gathered.is_cut;
            return Ok((gathered, is_all));
        }
    }
    Ok((gathered, false))
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
