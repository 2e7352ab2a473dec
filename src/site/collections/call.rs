//! `/api/collections`.

use super::access::{CollectionFault, named, own, to_collection, visible};
use super::{delete_named, remove_members, restore_named, save_wanted, schedule, share, targets};
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use crate::site::entries::read;
use crate::storage::collections::edit::{check_member, member_key};
use crate::storage::collections::{CollectionError, MAX_MEMBERS};
use wwwoffle_api::{
    Collection, CollectionChoice, CollectionDefinition, CollectionFetch, CollectionList,
    CollectionRemoval, CollectionRequest, CollectionSchedule, MembersRequest,
};

/// Returns the collections that the caller may see.
pub(in crate::site) async fn all(caller: &Caller) -> Result<CollectionList, CallFault> {
    let all = visible(caller).await?;
    Ok(CollectionList { collections: all.into_iter().map(|one| shown_to(caller, one)).collect() })
}

/// Returns the collection in the argument `id`, which may also be a name.
pub(in crate::site) async fn one(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<Collection, CallFault> {
    let form = read(arguments)?;
    let found = named(caller, form.value("id").unwrap_or_default()).await?;
    Ok(shown_to(caller, found))
}

/// Returns a collection without the pages that another person's schedule monitors: their addresses may
/// be private.
fn shown_to(caller: &Caller, collection: Collection) -> Collection {
    if collection.scheduled_by.as_deref() == Some(&*caller.owner.to_string()) {
        return collection;
    }
    Collection { scheduled_by: None, monitored: Vec::new(), ..collection }
}

/// Returns the definition of the collection in the argument `id`.
pub(in crate::site) async fn definition(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<CollectionDefinition, CallFault> {
    Ok((&one(caller, arguments).await?).into())
}

/// Makes or changes a collection.
pub(in crate::site) async fn save(
    caller: &Caller,
    wanted: CollectionRequest,
) -> Result<Collection, CallFault> {
    Ok(shown_to(caller, save_wanted(caller, wanted).await?))
}

/// Adds and removes members. All are validated before the first change.
pub(in crate::site) async fn members(
    caller: &Caller,
    wanted: MembersRequest,
) -> Result<Collection, CallFault> {
    let MembersRequest { id, add, remove } = wanted;
    if add.len() > MAX_MEMBERS || remove.len() > MAX_MEMBERS {
        return Err(CollectionFault::from(CollectionError::Full).into());
    }
    let local = &caller.context.base.local;
    let mut gone = Vec::new();
    for member in remove {
        let member = check_member(member, local).map_err(CollectionFault::from)?;
        gone.push(member_key(&member));
    }
    if !add.is_empty() {
        to_collection(caller, &id, add).await?;
    }
    if !gone.is_empty() {
        remove_members(caller, &id, gone).await?;
    }
    Ok(shown_to(caller, own(caller, &id).await?))
}

/// Deletes a collection.
pub(in crate::site) async fn delete(
    caller: &Caller,
    wanted: CollectionChoice,
) -> Result<CollectionRemoval, CallFault> {
    Ok(CollectionRemoval { removal: delete_named(caller, &wanted.id).await? })
}

/// Undoes a deletion.
pub(in crate::site) async fn restore(
    caller: &Caller,
    wanted: CollectionRemoval,
) -> Result<Collection, CallFault> {
    let id = restore_named(caller, &wanted.removal).await?;
    Ok(shown_to(caller, own(caller, &id).await?))
}

/// Fetches the members again.
pub(in crate::site) async fn fetch(
    caller: &Caller,
    wanted: CollectionChoice,
) -> Result<CollectionFetch, CallFault> {
    let collection = own(caller, &wanted.id).await?;
    Ok(targets::fetch(caller, &collection).await?)
}

/// Sets or ends the schedule.
pub(in crate::site) async fn schedule(
    caller: &Caller,
    wanted: CollectionSchedule,
) -> Result<Collection, CallFault> {
    Ok(shown_to(caller, schedule::set_for_call(caller, wanted).await?))
}

/// Makes a collection of a definition.
pub(in crate::site) async fn import(
    caller: &Caller,
    definition: CollectionDefinition,
) -> Result<Collection, CallFault> {
    Ok(share::import(caller, definition).await?)
}
