//! Deletions on our own pages: the entries are set aside for a while, and the caller can restore
//! them.

use hyper::Response;
use wwwoffle_spool::{BringBackReport, Error, Place, Removal, RemovalSummary, Spool};
use wwwoffle_url::CanonicalUrl;

use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::caller::Caller;
use crate::site::lists::back;
use crate::site::lists::page::{BACK, RestoredCounts, with};
use crate::storage::lists;
use crate::storage::store::Store;

/// Deletes the stored copies of a URL, those of the caller and public ones, so that they can be
/// restored. If the URL has a user name, deletes only the copies of this login. Returns whether there were any. If the disk is full the deletion is permanent, because
/// its purpose is to free space.
pub(in crate::site) async fn delete(
    caller: &Caller,
    url: &CanonicalUrl,
    removal: Removal,
) -> Result<bool, Error> {
    let places = Places::of_url(url, &caller.owner);
    let (store, mut is_any) = (&caller.context.storage.store, false);
    for place in store.run(move |spool| places.to_delete(spool)).await? {
        is_any |= set_aside(store, &place, removal).await?;
    }
    Ok(is_any)
}

/// Deletes all entries under the key of a place, or the one of a login, as [`delete`] does.
pub(in crate::site) async fn set_aside(
    store: &Store,
    place: &Place,
    removal: Removal,
) -> Result<bool, Error> {
    match store.remove_for_now(place, removal).await {
        Err(error) if error.is_full() => store.remove(place).await,
        done => done,
    }
}

/// Returns a new name for the next deletion of the caller.
pub(in crate::site) fn new_removal(caller: &Caller) -> Removal {
    caller.context.storage.store.spool().removal(&caller.owner.to_string())
}

/// Returns the deletions that the caller can undo, latest first. If they cannot be read, the page
/// is shown without them.
pub(in crate::site) async fn undoable_deletions(caller: &Caller) -> Vec<RemovalSummary> {
    let who = caller.owner.to_string();
    let resting = caller.context.storage.store.run(move |spool| spool.removals(&who)).await;
    resting.unwrap_or_else(|error| {
        tracing::warn!(error = error_chain(&error), "cannot list the recent removals");
        Vec::new()
    })
}

/// Returns the latest deletion of the caller that has an entry of one of these URLs.
pub(in crate::site) async fn deletion_with(
    caller: &Caller,
    urls: &[CanonicalUrl],
) -> Option<Removal> {
    let resting = undoable_deletions(caller).await;
    let places = urls.iter().map(|url| Places::of_url(url, &caller.owner));
    let places: Vec<_> = places.flat_map(|places| [places.own, places.public]).collect();
    let find = move |spool: &Spool| {
        for RemovalSummary { removal, .. } in resting {
            for place in &places {
                if spool.removal_has(&removal, place)? {
                    return Ok(Some(removal));
                }
            }
        }
        Ok(None)
    };
    caller.context.storage.store.run(find).await.ok().flatten()
}

/// Undoes the deletion in the field `removal`, if the caller made it, and redirects to the page of
/// the form.
pub(in crate::site) async fn undo(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, Error> {
    let named = form.value("removal").and_then(|text| text.parse::<Removal>().ok());
    let named = named.filter(|removal| removal.is_by(&caller.owner.to_string()));
    let mut result = RestoredCounts::default();
    if let Some(removal) = named {
        // A running deletion must not interfere with the restore.
        caller.context.storage.deletions.stop(removal).await;
        let index = caller.context.storage.index.clone();
        // The entries count as last used when they were deleted. Otherwise the next purge could
        // remove them.
        let brought = move |spool: &Spool| {
            spool.undo_removal(&removal, &mut |place| index.record_use(place, removal.at()))
        };
        let brought = caller.context.storage.store.run(brought).await?.unwrap_or_default();
        let BringBackReport { entries, overtaken, there, left } = brought;
        result = RestoredCounts { entries, overtaken, there, left };
        lists::level(&caller.context.storage).await;
    }
    Ok(caller.see_other(&with(back(form.value("back")), BACK, &result.to_string())))
}
