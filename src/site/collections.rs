//! Collections: named sets of pages, sites and searches, which are fetched, monitored, exported and
//! shared as one.
//!
//! A collection belongs to its owner, or to everyone who uses the proxy. Only callers who may
//! change what all share change a collection of everyone.

pub(super) mod access;
pub(super) mod call;
pub(super) mod choose;
pub mod page;
pub(super) mod schedule;
pub(super) mod share;
pub mod state;
pub(super) mod targets;

use hyper::Response;

use self::access::{CollectionFault, change, change_in, now, own, owner_of, to_collection};
use self::page::{CollectionForm, ShownCollection};
use super::caller::Caller;
use super::forms::FormError;
use super::permission::Permission;
use crate::base::text::{Text, tr};
use crate::page::fault::FormFault;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::storage::collections::{CollectionError, MAX_NAME, MAX_NOTE, edit};
use wwwoffle_api::{Collection, CollectionRequest, Colour};

/// Path of the list of collections.
pub const PATH: &str = "/collections/";

/// Argument with the name of a deletion that can be undone.
const REMOVED: &str = "removed";

/// Shows the list of collections.
pub(super) async fn list(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let arguments = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let removal = arguments.value(REMOVED).filter(|removal| edit::is_id(removal));
    match access::visible(caller).await {
        Ok(all) => caller.page(page::list(&caller.shell, &all, removal)),
        Err(error) => failed(caller, error),
    }
}

/// Shows a collection: the argument `id`. The argument `from` is the number of members before the
/// first one on the page.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let collection = match own(caller, form.value("id").unwrap_or_default()).await {
        Ok(collection) => collection,
        Err(error) => return failed(caller, error),
    };
    let number = |name: &str| form.value(name).and_then(|text| text.parse::<usize>().ok());
    let from = number("from").unwrap_or_default().min(collection.members.len());
    let states = state::of(caller, &collection, from).await;
    let shown = ShownCollection {
        collection: &collection,
        from,
        states: states.as_ref(),
        can_edit: caller.may(access::needed(&collection)),
        can_schedule: caller.may(Permission::Change),
        removal: form.value(REMOVED).filter(|removal| edit::is_id(removal)),
        added: number("added"),
        queued: number("queued").map(|queued| (queued, number("refused").unwrap_or_default())),
    };
    caller.page(page::one(&caller.shell, &shown))
}

/// Shows the form of a collection: that in the argument `id`, or a new one.
pub(super) async fn form(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let known = match form.value("id") {
        Some(id) => own(caller, id).await.map(Some),
        None => Ok(None),
    };
    let known = match known {
        Ok(known) => known,
        Err(error) => return failed(caller, error),
    };
    match filled_form(caller, known.as_ref()) {
        Ok(form) => caller.page(page::form(&caller.shell, &form, &[])),
        Err(error) => failed(caller, error.into()),
    }
}

fn filled_form(
    caller: &Caller,
    known: Option<&Collection>,
) -> Result<CollectionForm, CollectionError> {
    Ok(CollectionForm {
        id: known.map_or_else(edit::new_id, |known| Ok(known.id.clone()))?,
        is_new: known.is_none(),
        name: known.map(|known| known.name.clone()).unwrap_or_default(),
        note: known.map(|known| known.note.clone()).unwrap_or_default(),
        colour: known.map(|known| known.colour).unwrap_or_default(),
        for_everyone: known.is_some_and(|known| known.for_everyone),
        can_share: caller.may(Permission::Change),
    })
}

/// Makes or changes a collection. An invalid form is shown again. A form that is sent twice makes
/// one collection, because it has the id.
pub(super) async fn save(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let value = |name: &str| form.value(name).unwrap_or_default().to_owned();
    let typed = CollectionForm {
        id: value("id"),
        is_new: form.value("new").is_some(),
        name: value("name"),
        note: value("note"),
        colour: colour(form),
        for_everyone: form.value("for-everyone").is_some(),
        can_share: caller.may(Permission::Change),
    };
    let wanted = CollectionRequest {
        id: Some(typed.id.clone()),
        name: Some(typed.name.clone()),
        note: Some(typed.note.clone()),
        colour: Some(typed.colour),
        // Who may not share has no such field.
        for_everyone: typed.can_share.then_some(typed.for_everyone),
    };
    match save_wanted(caller, wanted).await {
        Ok(saved) => Ok(caller.see_other(&page::address(&saved.id))),
        Err(CollectionFault::Collection(error)) => match fault(&error) {
            Some(fault) => Ok(caller.page(page::form(&caller.shell, &typed, &[fault]))),
            None => Err(CollectionFault::Collection(error).into()),
        },
        Err(error) => Err(error.into()),
    }
}

fn colour(form: &SubmittedForm) -> Colour {
    let named = form.value("colour").unwrap_or_default();
    Colour::ALL.into_iter().find(|colour| colour.as_str() == named).unwrap_or_default()
}

/// The fault of a field, if the error is one.
fn fault(error: &CollectionError) -> Option<FormFault> {
    let (field, text): (_, Text) = match error {
        CollectionError::Name => {
            let text = tr("Enter a name of at most {most} characters.");
            ("name", text.with("most", MAX_NAME.to_string()))
        }
        CollectionError::NameTaken => ("name", tr("There is a collection with this name already.")),
        CollectionError::Note => {
            let text = tr("Enter a note of at most {most} characters.");
            ("note", text.with("most", MAX_NOTE.to_string()))
        }
        _ => return None,
    };
    Some(FormFault::new(field, text))
}

/// Makes or changes a collection, and moves it between its owner and everyone.
async fn save_wanted(
    caller: &Caller,
    wanted: CollectionRequest,
) -> Result<Collection, CollectionFault> {
    let id = wanted.id.clone().map_or_else(edit::new_id, Ok)?;
    let known = match own(caller, &id).await {
        Ok(known) => Some(known),
        Err(CollectionFault::Collection(CollectionError::Unknown)) => None,
        Err(error) => return Err(error),
    };
    let was = known.as_ref().is_some_and(|known| known.for_everyone);
    let is = wanted.for_everyone.unwrap_or(was);
    if let Some(known) = known.filter(|_| was != is) {
        // The collection is in both files for a moment, so that a crash does not lose it.
        let (from, to) = (owner_of(caller, was)?, owner_of(caller, is)?);
        let (moved, gone) = (Collection { for_everyone: is, ..known }, id.clone());
        change(caller, to, move |file| file.put(moved.clone()).map(drop)).await?;
        change(caller, from, move |file| {
            file.collections.retain(|one| one.id != gone);
            Ok(())
        })
        .await?;
    }
    let saved = change(caller, owner_of(caller, is)?, move |file| file.save(&wanted, &id, now()));
    Ok(Collection { for_everyone: is, ..saved.await? })
}

/// Removes the members in the fields `member` from a collection.
pub(super) async fn remove(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let id = form.value("id").unwrap_or_default().to_owned();
    let keys = form.fields().filter(|(name, _)| *name == "member");
    let keys: Vec<_> = keys.map(|(_, key)| key.to_owned()).collect();
    let back = page::address(&id);
    if keys.is_empty() {
        return Err(FormError::Nothing { back });
    }
    let (removal, _) = remove_members(caller, &id, keys).await?;
    Ok(caller.see_other(&format!("{back}&{REMOVED}={removal}")))
}

async fn remove_members(
    caller: &Caller,
    id: &str,
    keys: Vec<String>,
) -> Result<(String, usize), CollectionFault> {
    let named = id.to_owned();
    let done = change_in(caller, id, move |file| file.remove(&named, &keys, now())).await?;
    schedule::update(caller, id).await?;
    Ok(done)
}

/// Asks for confirmation before a collection is deleted.
pub(super) async fn ask_delete(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    match own(caller, form.value("id").unwrap_or_default()).await {
        Ok(collection) => caller.page(page::question(&caller.shell, &collection)),
        Err(_) => caller.see_other(PATH),
    }
}

/// Deletes the collection in the field `id`. If it is gone already, its deletion can still be undone.
pub(super) async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let id = form.value("id").unwrap_or_default();
    let removal = match delete_named(caller, id).await {
        Ok(removal) => Some(removal),
        Err(CollectionFault::Collection(CollectionError::Unknown)) => {
            removal_of(caller, id).await?
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match removal {
        Some(removal) => caller.see_other(&format!("{PATH}?{REMOVED}={removal}")),
        None => caller.see_other(PATH),
    })
}

/// Returns the name of the deletion of a collection: the form was sent twice, and the first deletion
/// can be undone.
async fn removal_of(caller: &Caller, id: &str) -> Result<Option<String>, CollectionFault> {
    for owner in [Some(caller.owner.to_string()), None] {
        let named = id.to_owned();
        let found = change(caller, owner, move |file| Ok(file.removal_of(&named))).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

async fn delete_named(caller: &Caller, id: &str) -> Result<String, CollectionFault> {
    let collection = own(caller, id).await?;
    let named = id.to_owned();
    let removal = change_in(caller, id, move |file| file.delete(&named, now())).await?;
    schedule::stop(caller, &collection).await?;
    Ok(removal)
}

/// Undoes the deletion in the field `removal`.
pub(super) async fn restore(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    match restore_named(caller, form.value("removal").unwrap_or_default()).await {
        Ok(id) => Ok(caller.see_other(&page::address(&id))),
        // It was undone already, or too long ago: the list shows what there is.
        Err(CollectionFault::Collection(CollectionError::TooLate)) => Ok(caller.see_other(PATH)),
        Err(error) => Err(error.into()),
    }
}

async fn restore_named(caller: &Caller, removal: &str) -> Result<String, CollectionFault> {
    let undo = |removal: String| {
        move |file: &mut crate::storage::collections::CollectionFile| file.restore(&removal, now())
    };
    let mine = Some(caller.owner.to_string());
    let done = match change(caller, mine, undo(removal.to_owned())).await {
        Err(CollectionFault::Collection(CollectionError::TooLate))
            if caller.may(Permission::Change) =>
        {
            change(caller, None, undo(removal.to_owned())).await
        }
        done => done,
    };
    let id = done?;
    schedule::update(caller, &id).await?;
    Ok(id)
}

/// Fetches the members of the collection in the field `id` again.
pub(super) async fn fetch(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let collection = own(caller, form.value("id").unwrap_or_default()).await?;
    let done = targets::fetch(caller, &collection).await?;
    let address = page::address(&collection.id);
    let address = format!("{address}&queued={}&refused={}", done.queued, done.refused);
    Ok(caller.see_other(&address))
}

/// Adds the members in a form to a collection. See [`choose`].
pub(super) async fn add(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let wanted = choose::all_members(caller, form).await?;
    if wanted.is_empty() {
        return Err(FormError::Nothing { back: PATH.to_owned() });
    }
    let chosen = form.value("collection").unwrap_or_default();
    // A typed name counts, although another collection is still selected.
    let typed = form.value("name").unwrap_or_default().trim();
    let is_typed = !typed.is_empty() && form.value("was") != Some(typed);
    let id = if edit::is_id(chosen) && !is_typed {
        chosen.to_owned()
    } else {
        let id = form.value("id").unwrap_or_default().to_owned();
        let name = form.value("name").unwrap_or_default().to_owned();
        let new =
            CollectionRequest { id: Some(id), name: Some(name), ..CollectionRequest::default() };
        match save_wanted(caller, new).await {
            Ok(made) => made.id,
            Err(CollectionFault::Collection(error)) => match fault(&error) {
                Some(fault) => return Ok(choose::page_for(caller, form, wanted, &[fault]).await),
                None => return Err(CollectionFault::Collection(error).into()),
            },
            Err(error) => return Err(error.into()),
        }
    };
    let added = to_collection(caller, &id, wanted).await?;
    Ok(caller.see_other(&format!("{}&added={added}", page::address(&id))))
}

/// Responds with the reason why a page cannot be shown.
fn failed(caller: &Caller, fault: CollectionFault) -> Response<Body> {
    match fault {
        CollectionFault::Collection(CollectionError::Spool(error)) => caller.spool_failed(&error),
        CollectionFault::Collection(CollectionError::Unknown) => caller.see_other(PATH),
        error => caller.bad_form(
            hyper::StatusCode::INTERNAL_SERVER_ERROR,
            &crate::base::error_chain::error_chain(&error),
        ),
    }
}
