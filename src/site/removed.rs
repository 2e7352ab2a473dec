//! What was deleted on a page: it rests for a while, and its person can have it back.

use hyper::{HeaderMap, Response};
use wwwoffle_spool::{BringBackReport, Error, Place, Removal, RemovalSummary, Spool};
use wwwoffle_url::CanonicalUrl;

use super::caller::Caller;
use super::lists::back;
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::pages::lists::{BACK, Back, with};
use crate::storage::lists;
use crate::storage::store::Store;

/// Deletes what is kept of a URL for the caller and for everyone, so that it can be had back; for good on a disk that is
/// full, which is when somebody deletes in order to have room.
pub(super) async fn delete(
    caller: &Caller,
    mut url: CanonicalUrl,
    removal: Removal,
) -> Result<bool, Error> {
    let places = Places::of(&mut url, &HeaderMap::new(), &caller.owner);
    let store = &caller.context.storage.store;
    let own = aside(store, &places.own, removal).await?;
    Ok(aside(store, &places.public, removal).await? || own)
}

/// Deletes what is kept at a place so; what is kept under its key with it.
pub(super) async fn aside(store: &Store, place: &Place, removal: Removal) -> Result<bool, Error> {
    match store.remove_for_now(place, removal).await {
        Err(error) if error.is_full() => store.remove(place).await,
        done => done,
    }
}

/// A new name for what the caller deletes next.
pub(super) fn begin(caller: &Caller) -> Removal {
    caller.context.storage.store.spool().removal(&caller.owner.to_string())
}

/// What the caller can have back, the last first. That it cannot be told is no reason not to show a page.
pub(super) async fn resting(caller: &Caller) -> Vec<RemovalSummary> {
    let who = caller.owner.to_string();
    let resting = caller.context.storage.store.run(move |spool| spool.resting(&who)).await;
    resting.unwrap_or_else(|error| {
        tracing::warn!(error = error_chain(&error), "what was removed lately cannot be told");
        Vec::new()
    })
}

/// Brings back what the field `removal` names, if the caller has deleted it, and leads to where the form came from.
pub(super) async fn undo(caller: &Caller, form: &SubmittedForm) -> Result<Response<Body>, Error> {
    let named = form.value("removal").and_then(|text| text.parse::<Removal>().ok());
    let named = named.filter(|removal| removal.is_by(&caller.owner.to_string()));
    let mut told = Back::default();
    if let Some(removal) = named {
        // Nothing goes while it comes back.
        caller.context.storage.deletions.stop(removal).await;
        let index = caller.context.storage.index.clone();
        // It is as old as it was when somebody last saw it in a list; else the next purge could have it.
        let brought = move |spool: &Spool| {
            spool.bring_back(&removal, &mut |place| index.used(place, removal.at()))
        };
        let brought = caller.context.storage.store.run(brought).await?.unwrap_or_default();
        let BringBackReport { entries, overtaken, there, left } = brought;
        told = Back { entries, overtaken, there, left };
        lists::level(&caller.context.storage).await;
    }
    Ok(caller.see_other(&with(back(form.value("back")), BACK, &told.to_string())))
}
