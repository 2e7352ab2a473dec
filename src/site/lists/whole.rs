//! All of a list is deleted: first a page asks, then it goes step by step. Or all of it is exported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::Response;
use wwwoffle_index::Error;
use wwwoffle_spool::{Place, Removal, Timestamp};

use super::super::api::index::carry_out_for;
use super::super::caller::Caller;
use super::super::export::{self, Format};
use super::super::removed;
use super::{NotDone, back, of_host, of_url, read};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::pages::lists::whole as page;
use crate::site::pages::lists::whole::{Found, LIST, UNTIL, is_for_good};
use crate::site::pages::lists::{DONE, Done, REMOVED, ROOT, Shown, with};
use crate::storage::lists::deletions::Turn;
use crate::storage::lists::query::Wanted;
use crate::storage::lists::whole::{Gathered, MOST_EXPORTED, is_of_entries, is_part};
use crate::storage::lists::{self, viewer};
use crate::storage::store::timestamp;

/// How long the page that asks counts.
const COUNTS_FOR: Duration = Duration::from_secs(2);

/// How long the answer waits for all to be deleted; then it goes on behind it.
const WAITS: Duration = Duration::from_secs(1);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(10);

/// Asks whether all of a list is to be deleted: of the list in `list`, or, as in 2.9, of the host of a URL.
pub(in crate::site) async fn ask(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::parse(
        Some("application/x-www-form-urlencoded"),
        arguments.unwrap_or_default().as_bytes(),
    );
    let form = form.unwrap_or_default();
    let list = match (form.value(LIST), form.value("url")) {
        (Some(list), _) => list.to_owned(),
        (None, Some(url)) => of_host(caller, url),
        (None, None) => of_url(caller, arguments),
    };
    let list = back(Some(&list));
    // To count may take a while: it is not done because another site has a picture there.
    let Some((shown, mut wanted)) = part(list).filter(|_| !caller.is_sent_by_another_site()) else {
        return caller.see_other(list);
    };
    let now = timestamp(clock::now());
    until(&mut wanted, now);
    match gather(caller, &wanted, Gathered::default(), Some(COUNTS_FOR)).await {
        Ok((gathered, is_all)) if !gathered.places.is_empty() => {
            let found = Found {
                gathered: &gathered,
                is_all,
                has_others: caller.administers(),
                until: now.to_string(),
            };
            let (context, token) = (&caller.context, caller.token());
            caller.page(page::page(&context.pages.templates, &caller.shell, &shown, &found, &token))
        }
        // The list says that it is empty, or why it is none.
        _ => caller.see_other(list),
    }
}

/// Deletes it, as the form of that page says, and leads back to the list.
pub(in crate::site) async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, NotDone> {
    let list = back(form.value(LIST));
    let (_, mut wanted) = part(list).ok_or(NotDone::Nothing)?;
    let asked: Timestamp =
        form.value(UNTIL).and_then(|text| text.parse().ok()).ok_or(NotDone::Nothing)?;
    until(&mut wanted, asked);
    let removal = removed::begin(caller);
    let turn = caller.context.storage.deletions.begin(removal).ok_or(NotDone::Deleting)?;
    let (gathered, _) = match gather(caller, &wanted, Gathered::default(), None).await {
        Ok(gathered) => gathered,
        Err(error) => return Err(NotDone::Index(error_chain(&error))),
    };
    if gathered.places.is_empty() {
        return Err(NotDone::Nothing);
    }
    let for_good = is_for_good(gathered.bytes);
    let gone = Arc::new(AtomicU64::new(0));
    begin(caller, gathered.places, (turn, removal, for_good), Arc::clone(&gone));
    let began = Instant::now();
    while caller.context.storage.deletions.is_this(removal) && began.elapsed() < WAITS {
        tokio::time::sleep(LOOK).await;
    }
    lists::level(&caller.context.storage).await;
    let gone = gone.load(Ordering::Relaxed);
    let (name, value) = if for_good {
        (DONE, format!("{}.{gone}", Done::Deleted.name()))
    } else {
        (REMOVED, removal.to_string())
    };
    Ok(caller.see_other(&with(list, name, &value)))
}

/// Sends all of the list of the field `list` as an archive.
pub(in crate::site) async fn send(
    caller: &Caller,
    format: Format,
    form: &SubmittedForm,
) -> Result<Response<Body>, NotDone> {
    let (_, wanted) = of_entries(back(form.value(LIST))).ok_or(NotDone::Nothing)?;
    let (gathered, is_all) = gather(caller, &wanted, Gathered::up_to(MOST_EXPORTED), None)
        .await
        .map_err(|error| NotDone::Index(error_chain(&error)))?;
    if !is_all {
        return Err(NotDone::TooMany);
    }
    export::send_places(caller, format, gathered.places, false).await
}

/// What a list of ours names by its address, if it is less than all that is kept.
fn part(list: &str) -> Option<(Shown, Wanted)> {
    of_entries(list).filter(|(_, wanted)| is_part(wanted))
}

/// What a list of ours names by its address, if it is one of entries.
fn of_entries(list: &str) -> Option<(Shown, Wanted)> {
    let (path, arguments) = list.split_once('?').unwrap_or((list, ""));
    let (shown, mut wanted) = read(path.strip_prefix(ROOT)?, Some(arguments)).ok()?;
    // All of it, from its beginning.
    wanted.after = None;
    is_of_entries(&wanted).then_some((shown, wanted))
}

/// What was stored then or later stays.
fn until(wanted: &mut Wanted, now: Timestamp) {
    let until = wanted.filter.until.map_or(now, |until| until.min(now));
    wanted.filter.until = Some(until);
}

/// Gathers what of a list the caller may delete or export; whether that is all of it.
async fn gather(
    caller: &Caller,
    wanted: &Wanted,
    mut gathered: Gathered,
    within: Option<Duration>,
) -> Result<(Gathered, bool), Error> {
    let (owner, began) = (caller.owner.to_string(), Instant::now());
    while within.is_none_or(|within| began.elapsed() < within) {
        let (own, mut so_far) = (owner.clone(), gathered);
        // What is kept for others is not theirs to delete, whatever they may see.
        let viewer = viewer(Some(&caller.owner));
        let step = carry_out_for(caller, viewer, wanted.clone(), move |source, wanted| {
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

/// Deletes one after the other behind the answer, until it is told to end or the daemon stops.
fn begin(
    caller: &Caller,
    places: Vec<Place>,
    (turn, removal, for_good): (Turn, Removal, bool),
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
                removed::aside(&context.storage.store, &place, removal).await
            };
            match removed {
                Ok(is_gone) => _ = gone.fetch_add(u64::from(is_gone), Ordering::Relaxed),
                Err(error) => {
                    let error = error_chain(&error);
                    tracing::error!(error, "what is left of a list could not be deleted");
                    return;
                }
            }
        }
    });
}
