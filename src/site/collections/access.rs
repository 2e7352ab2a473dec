//! Who may read and change which collection.

use hyper::StatusCode;
use wwwoffle_spool::Timestamp;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::guard::GuardRefusal;
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use crate::site::forms::FormError;
use crate::site::permission::Permission;
use crate::storage::collections::edit::check_member;
use crate::storage::collections::{self, CollectionError, CollectionFile};
use crate::storage::store::timestamp;
use wwwoffle_api::{Collection, Member, MemberItem};

/// Failure of an action of a caller on a collection.
#[derive(Debug, thiserror::Error)]
pub(in crate::site) enum CollectionFault {
    #[error(transparent)]
    Refused(#[from] GuardRefusal),
    #[error(transparent)]
    Collection(#[from] CollectionError),
    #[error("the collection cannot be looked up now")]
    Index(#[from] wwwoffle_index::Error),
}

impl From<CollectionFault> for FormError {
    fn from(fault: CollectionFault) -> Self {
        match fault {
            CollectionFault::Refused(refusal) => Self::Refused(refusal),
            CollectionFault::Collection(CollectionError::Spool(error)) => Self::Spool(error),
            fault => Self::Bad(error_chain(&fault)),
        }
    }
}

impl From<CollectionFault> for CallFault {
    fn from(fault: CollectionFault) -> Self {
        let error = match fault {
            CollectionFault::Refused(refusal) => return refusal.into(),
            CollectionFault::Index(error) => return error.into(),
            CollectionFault::Collection(CollectionError::Spool(error)) => return error.into(),
            CollectionFault::Collection(error) => error,
        };
        let status = match error {
            CollectionError::Unknown | CollectionError::TooLate => StatusCode::NOT_FOUND,
            CollectionError::NameTaken
            | CollectionError::TooMany
            | CollectionError::Full
            | CollectionError::NoRoom => StatusCode::CONFLICT,
            CollectionError::Format(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        CallFault::new(status, error_chain(&error))
    }
}

/// Returns the current time.
pub(in crate::site) fn now() -> Timestamp {
    timestamp(clock::now())
}

/// Returns the permission that a caller needs to change a collection.
pub(in crate::site) fn needed(collection: &Collection) -> Permission {
    if collection.for_everyone { Permission::Change } else { Permission::Request }
}

/// Returns whose collections the caller changes: their own, or those of everyone.
pub(in crate::site) fn owner_of(
    caller: &Caller,
    for_everyone: bool,
) -> Result<Option<String>, GuardRefusal> {
    if !for_everyone {
        return Ok(Some(caller.owner.to_string()));
    }
    caller.need(Permission::Change)?;
    Ok(None)
}

/// Returns the collections that the caller may see.
pub(in crate::site) async fn visible(caller: &Caller) -> Result<Vec<Collection>, CollectionFault> {
    let owner = caller.owner.clone();
    let store = &caller.context.storage.store;
    Ok(collections::read(store, move |spool| collections::visible(spool, &owner)).await?)
}

/// Returns a collection that the caller may see.
pub(in crate::site) async fn own(caller: &Caller, id: &str) -> Result<Collection, CollectionFault> {
    let (owner, id) = (caller.owner.clone(), id.to_owned());
    let store = &caller.context.storage.store;
    Ok(collections::read(store, move |spool| collections::find(spool, &owner, &id)).await?)
}

/// Returns a collection that the caller may see, by its id or its name.
pub(in crate::site) async fn named(
    caller: &Caller,
    name: &str,
) -> Result<Collection, CollectionFault> {
    let (owner, name) = (caller.owner.clone(), name.to_owned());
    let store = &caller.context.storage.store;
    Ok(collections::read(store, move |spool| collections::named(spool, &owner, &name)).await?)
}

/// Changes the collections of `owner`, or of everyone.
pub(in crate::site) async fn change<T: Send + 'static>(
    caller: &Caller,
    owner: Option<String>,
    edit: impl FnMut(&mut CollectionFile) -> Result<T, CollectionError> + Send + 'static,
) -> Result<T, CollectionFault> {
    Ok(collections::change(&caller.context.storage.store, owner, edit).await?)
}

/// Changes the file that contains a collection, if the caller may change it.
pub(in crate::site) async fn change_in<T: Send + 'static>(
    caller: &Caller,
    id: &str,
    edit: impl FnMut(&mut CollectionFile) -> Result<T, CollectionError> + Send + 'static,
) -> Result<T, CollectionFault> {
    let known = own(caller, id).await?;
    change(caller, owner_of(caller, known.for_everyone)?, edit).await
}

/// Adds members to a collection. Returns the number of new members.
pub(in crate::site) async fn to_collection(
    caller: &Caller,
    id: &str,
    members: Vec<Member>,
) -> Result<usize, CollectionFault> {
    let local = &caller.context.base.local;
    let mut items = Vec::new();
    for member in members {
        let member = check_member(member, local)?;
        items.push(MemberItem { member, title: None, added: None });
    }
    super::state::add_titles(caller, &mut items).await;
    let named = id.to_owned();
    let added = change_in(caller, id, move |file| file.add(&named, &items, now())).await?;
    // Also without a new member: the last time, the index may not have been available.
    super::schedule::update(caller, id).await?;
    Ok(added)
}
