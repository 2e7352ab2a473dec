//! Keeping a collection up to date: its pages are monitored on one schedule.
//!
//! The collection records which pages it monitors. Pages that a person monitors otherwise keep
//! their schedule. The record is written before the monitors are set, so that no crash leaves a
//! monitor that nothing ends.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, stream};
use hyper::Response;
use wwwoffle_spool::Schedule;
use wwwoffle_url::CanonicalUrl;

use super::access::{CollectionFault, change_in, now, own};
use super::page;
use super::targets::{self, FetchTarget};
use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places};
use crate::fetch::WantError;
use crate::fetch::monitor::{self, MonitorSettings};
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::caller::Caller;
use crate::site::forms::FormError;
use crate::site::monitor::preset::Preset;
use crate::site::permission::Permission;
use crate::storage::collections::CollectionError;
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{Collection, CollectionSchedule};

/// Value of the field `every` that ends the schedule.
pub(in crate::site) const NEVER: &str = "never";

/// Value of the field `every` that keeps a schedule without a name.
pub(in crate::site) const KEEP: &str = "keep";

/// Sets the schedule in the field `every` of a form.
pub(in crate::site) async fn submit(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let id = form.value("id").unwrap_or_default();
    let chosen = form.value("every").unwrap_or_default();
    if chosen == KEEP {
        return Ok(caller.see_other(&page::address(id)));
    }
    let preset = Preset::ALL.into_iter().find(|preset| preset.as_str() == chosen);
    let schedule = preset.and_then(Preset::schedule);
    if schedule.is_none() && chosen != NEVER {
        return Err(FormError::Bad("expected a schedule".to_owned()));
    }
    set(caller, id, schedule).await?;
    Ok(caller.see_other(&page::address(id)))
}

/// Sets or ends the schedule of a call.
pub(in crate::site) async fn set_for_call(
    caller: &Caller,
    wanted: CollectionSchedule,
) -> Result<Collection, CollectionFault> {
    let schedule = wanted.schedule.as_deref().map(str::parse::<Schedule>).transpose();
    let schedule = schedule.map_err(|error| {
        CollectionError::Member(format!("the schedule cannot be used: {error}"))
    })?;
    set(caller, &wanted.id, schedule).await?;
    own(caller, &wanted.id).await
}

/// Sets the schedule of a collection, or ends it.
async fn set(caller: &Caller, id: &str, schedule: Option<Schedule>) -> Result<(), CollectionFault> {
    caller.need(Permission::Change)?;
    let collection = own(caller, id).await?;
    apply(caller, &collection, schedule).await
}

/// Monitors the pages that the members of a collection have now, if it has a schedule of the caller
/// and the caller may monitor pages. The schedule of another person stays as it is.
pub(in crate::site) async fn update(caller: &Caller, id: &str) -> Result<(), CollectionFault> {
    let collection = own(caller, id).await?;
    let schedule = schedule_of(&collection);
    let is_own = collection.scheduled_by.as_deref() == Some(&*caller.owner.to_string());
    if schedule.is_none() || !is_own || !caller.may(Permission::Change) {
        return Ok(());
    }
    apply(caller, &collection, schedule).await
}

/// Ends the monitors of a deleted collection.
pub(in crate::site) async fn stop(
    caller: &Caller,
    collection: &Collection,
) -> Result<(), CollectionFault> {
    end(caller, collection, &collection.monitored).await
}

fn schedule_of(collection: &Collection) -> Option<Schedule> {
    collection.schedule.as_deref().and_then(|line| line.parse().ok())
}

async fn apply(
    caller: &Caller,
    collection: &Collection,
    schedule: Option<Schedule>,
) -> Result<(), CollectionFault> {
    // The monitors of another owner end, and the caller gets new ones.
    let is_own = collection.scheduled_by.as_deref() == Some(&*caller.owner.to_string());
    let ours = collection.monitored.iter().filter(|_| is_own);
    let ours: HashSet<String> = ours.cloned().collect();
    let mut wanted: HashMap<String, u16> = HashMap::new();
    if schedule.is_some() {
        for FetchTarget { url, depth } in targets::of(caller, collection).await? {
            if ours.contains(&url) || !is_monitored(caller, &url) {
                wanted.insert(url, depth);
            }
        }
    }
    let was = schedule_of(collection);
    record(caller, &collection.id, schedule, wanted.keys().cloned().collect()).await?;
    let gone = collection.monitored.iter().filter(|url| !is_own || !wanted.contains_key(*url));
    end(caller, collection, &gone.cloned().collect::<Vec<_>>()).await?;
    let Some(schedule) = schedule else { return Ok(()) };
    let mut new = Vec::new();
    for (url, depth) in &wanted {
        // A page that is monitored keeps the settings that a person gave it since then.
        if was != Some(schedule) || !ours.contains(url) || !is_monitored(caller, url) {
            new.push((url.clone(), *depth));
        }
    }
    let results = stream::iter(new).map(|page| monitor_page(caller, schedule, page));
    let results: Vec<_> = results.buffer_unordered(targets::AT_ONCE).collect().await;
    let refused = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    let refused: HashSet<String> = refused.into_iter().flatten().collect();
    if refused.is_empty() {
        return Ok(());
    }
    let rest = wanted.into_keys().filter(|url| !refused.contains(url));
    record(caller, &collection.id, Some(schedule), rest.collect()).await
}

/// Monitors a page. Returns its URL if it cannot be monitored.
async fn monitor_page(
    caller: &Caller,
    schedule: Schedule,
    (url, depth): (String, u16),
) -> Result<Option<String>, CollectionError> {
    let settings = MonitorSettings::new(url.clone(), schedule, 0).following(depth, Scope::Site);
    match monitor::set(&caller.context.fetch, &caller.requester(), settings).await {
        Ok(_) => Ok(None),
        Err(WantError::Spool(error)) if !error.is_monitors_full() => Err(error.into()),
        Err(error) => {
            tracing::debug!(error = error_chain(&error), "a page is not monitored");
            Ok(Some(url))
        }
    }
}

/// Records the schedule and the pages that are monitored because of it.
async fn record(
    caller: &Caller,
    id: &str,
    schedule: Option<Schedule>,
    mut monitored: Vec<String>,
) -> Result<(), CollectionFault> {
    monitored.sort_unstable();
    let named = id.to_owned();
    let schedule = schedule.map(|schedule| schedule.to_string());
    let by = schedule.as_ref().map(|_| caller.owner.to_string());
    change_in(caller, id, move |file| {
        let one = file.collections.iter_mut().find(|one| one.id == named);
        let one = one.ok_or(CollectionError::Unknown)?;
        if one.schedule != schedule {
            one.changed = now();
        }
        one.schedule.clone_from(&schedule);
        one.scheduled_by.clone_from(&by);
        one.monitored.clone_from(&monitored);
        Ok(())
    })
    .await
}

fn is_monitored(caller: &Caller, url: &str) -> bool {
    let monitors = caller.context.storage.store.spool().monitors();
    caller.key_of(url).is_ok_and(|key| monitors.summary(&key).is_some())
}

/// Ends the monitors of these pages. A page whose schedule was changed since then stays monitored.
async fn end(
    caller: &Caller,
    collection: &Collection,
    urls: &[String],
) -> Result<(), CollectionFault> {
    let (was, by) = (schedule_of(collection), collection.scheduled_by.as_deref());
    let Some(owner) = by.and_then(|owner| owner.parse::<Owner>().ok()) else { return Ok(()) };
    let monitors = caller.context.storage.store.spool().monitors();
    for url in urls {
        let Ok(url) = CanonicalUrl::parse(url, &caller.context.base.local) else { continue };
        let key = Places::of_url(&url, &owner).queued.key();
        // They may be those of another person: whoever may change the collection may end them.
        if monitors.summary(&key).is_some_and(|known| Some(known.schedule) == was) {
            let removed = monitor::remove(&caller.context.fetch, key).await;
            removed.map_err(CollectionError::from)?;
        }
    }
    Ok(())
}
