//! A collection as a file: an archive of its pages, or its definition, which another wwwoffle
//! imports.

use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use hyper::{Response, StatusCode};

use super::access::{self, CollectionFault, change, now, own};
use super::page;
use crate::page::form::SubmittedForm;
use crate::proxy::body::{self, Body};
use crate::site::caller::Caller;
use crate::site::forms::FormError;
use crate::site::lists::export::{self, ExportFormat};
use crate::site::search::call::query_index_for;
use crate::storage::collections::members::{CollectionPlaces, places};
use crate::storage::collections::{CollectionError, edit};
use crate::storage::lists::found::ListSource;
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::viewer;
use crate::storage::lists::whole::MOST_EXPORTED;
use wwwoffle_api::{Collection, CollectionDefinition};

/// Maximum length of the name of a downloaded file, in characters.
const LONGEST_NAME: usize = 40;

/// Sends the pages of the collection in the field `id` as an archive. A WACZ also contains the
/// definition.
pub(in crate::site) async fn export(
    caller: &Caller,
    format: ExportFormat,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let collection = own(caller, form.value("id").unwrap_or_default()).await?;
    let definition = edit::definition_text(&collection);
    let owner = caller.owner.clone();
    let look = move |source: &ListSource<'_>, _: &ListQuery| {
        places(source, &collection, &owner, MOST_EXPORTED)
    };
    // Entries of other owners are excluded, even if the caller may see them.
    let viewer = viewer(Some(&caller.owner));
    let found = query_index_for(caller, viewer, ListQuery::of_everything(), look).await;
    let CollectionPlaces { places, is_cut } = found.map_err(CollectionFault::from)?;
    if is_cut {
        let why = "the collection has more entries than are exported at once: `wwwoffle export` \
                   has no limit";
        return Err(FormError::Bad(why.to_owned()));
    }
    let wanted = export::ExportWish { format, versions: false, collection: Some(definition) };
    export::send_places(caller, wanted, places, form).await
}

/// Sends the definition of the collection in the argument `id` as a file.
pub(in crate::site) async fn definition(
    caller: &Caller,
    arguments: Option<&str>,
) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let collection = match own(caller, form.value("id").unwrap_or_default()).await {
        Ok(collection) => collection,
        Err(error) => return super::failed(caller, error),
    };
    let text = body::from_bytes(edit::definition_text(&collection).into_bytes());
    let mut response = caller.other(StatusCode::OK, Some("application/json"), text);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = collection.name.chars().map(plain).take(LONGEST_NAME).collect();
    let name = format!("attachment; filename=\"collection-{}.json\"", name.trim_matches('-'));
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    response
}

/// Makes a private collection of the definition in the field `file`.
pub(in crate::site) async fn submit(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let text = form.value("file").unwrap_or_default();
    let definition: CollectionDefinition = serde_json::from_str(text)
        .map_err(|error| CollectionFault::from(CollectionError::Definition(error.to_string())))?;
    let made = import(caller, definition).await?;
    Ok(caller.see_other(&page::address(&made.id)))
}

/// Makes a private collection of a definition. If the caller has one that says the same, it is
/// returned: the form may have been sent twice.
pub(in crate::site) async fn import(
    caller: &Caller,
    definition: CollectionDefinition,
) -> Result<Collection, CollectionFault> {
    let all = access::visible(caller).await?;
    let own = || all.iter().filter(|one| !one.for_everyone);
    let is_same = |one: &&Collection| {
        let its = CollectionDefinition::from(*one);
        let members = |it: &CollectionDefinition| {
            it.members.iter().map(|item| edit::member_key(&item.member)).collect::<Vec<_>>()
        };
        (&its.name, &its.note, its.colour)
            == (&definition.name, &definition.note, definition.colour)
            && members(&its) == members(&definition)
    };
    if let Some(same) = own().find(is_same) {
        return Ok(same.clone());
    }
    let taken: Vec<_> = own().map(|one| one.name.to_lowercase()).collect();
    let local = &caller.context.base.local;
    let new = edit::of_definition(definition, &taken, local, now())?;
    let owner = Some(caller.owner.to_string());
    change(caller, owner, move |file| file.put(new.clone())).await
}
