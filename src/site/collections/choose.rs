//! The page that asks to which collection pages, a site or a search are added.

use hyper::Response;
use wwwoffle_url::url_encode_form_args;

use super::access::{self, CollectionFault};
use super::page::{self, MemberChoice};
use crate::page::fault::FormFault;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::caller::Caller;
use crate::site::forms::FormError;
use crate::site::lists;
use crate::site::lists::page::whole::LIST;
use crate::storage::collections::edit;
use wwwoffle_api::{Member, SavedSearch};

/// Path of the page.
const PATH: &str = "/collections/add";

/// Returns the address of the page for a page of the web.
pub(in crate::site) fn of_page(url: &str) -> String {
    format!("{PATH}?url={}", url_encode_form_args(url.as_bytes()))
}

/// Returns the address of the page for a site.
pub(in crate::site) fn of_site(site: &str) -> String {
    format!("{PATH}?site={}", url_encode_form_args(site.as_bytes()))
}

/// Returns the address of the page for a search, of the arguments of the search.
pub(in crate::site) fn of_search(arguments: &str) -> String {
    format!("{PATH}?{arguments}")
}

/// Returns the members in the fields of a form: each `url` and `site`, and a search in `q`.
pub(super) fn members(form: &SubmittedForm) -> Vec<Member> {
    let mut members = Vec::new();
    for (name, value) in form.fields().filter(|(_, value)| !value.trim().is_empty()) {
        match name {
            "url" => members.push(Member::Page { url: value.to_owned() }),
            "site" => members.push(Member::Site { site: value.to_owned() }),
            "q" => {
                let field = |name: &str| form.value(name).unwrap_or_default().to_owned();
                members.push(Member::Search(SavedSearch {
                    words: value.to_owned(),
                    host: field("host"),
                    class: field("type"),
                    since: field("since"),
                    until: field("until"),
                }));
            }
            _ => {}
        }
    }
    members
}

/// Shows the page for the members in the arguments.
pub(in crate::site) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let members = members(&form);
    if members.is_empty() {
        return caller.see_other(super::PATH);
    }
    page_for(caller, &form, members, &[]).await
}

/// Shows the page for the entries, requests or lists selected in a list. It changes nothing.
pub(in crate::site) async fn submit(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let members = all_members(caller, form).await?;
    if members.is_empty() {
        return Err(FormError::Nothing { back: lists::back(form.value("back")).to_owned() });
    }
    Ok(page_for(caller, form, members, &[]).await)
}

/// Returns the members in the fields of a form, also those that are named by a request on the queue
/// or by a whole list.
pub(super) async fn all_members(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Vec<Member>, FormError> {
    let queue = caller.context.storage.store.spool().queue();
    let requested = |key: &str| {
        let known = queue.summary(&key.parse().ok()?);
        let place = known.filter(|known| caller.may_see_queued(&known.place))?.place;
        Some(Member::Page { url: place.url().to_owned() })
    };
    let mut all = members(form);
    all.extend(
        form.fields()
            .filter_map(|(name, value)| (name == "chosen").then(|| requested(value)).flatten()),
    );
    all.extend(lists::whole::members(caller, form).await?);
    Ok(all)
}

/// Returns the fields with the members. A list stays a list, because its entries may be many.
fn hidden_fields(form: &SubmittedForm, members: &[Member]) -> Vec<(&'static str, String)> {
    let lists = form.fields().filter(|(name, _)| *name == LIST);
    let lists: Vec<_> = lists.map(|(_, list)| (LIST, list.to_owned())).collect();
    if lists.is_empty() { members.iter().flat_map(page::fields).collect() } else { lists }
}

/// Shows the page with the members of a form, and the faults of the form.
pub(super) async fn page_for(
    caller: &Caller,
    form: &SubmittedForm,
    members: Vec<Member>,
    faults: &[FormFault],
) -> Response<Body> {
    let choice = async {
        let all = access::visible(caller).await?;
        let may_change = |one: &wwwoffle_api::Collection| caller.may(access::needed(one));
        let sent = form.value("id").filter(|id| edit::is_id(id)).map(str::to_owned);
        Ok::<_, CollectionFault>(MemberChoice {
            fields: hidden_fields(form, &members),
            members,
            collections: all.into_iter().filter(may_change).collect(),
            chosen: form.value("collection").unwrap_or_default().to_owned(),
            name: form.value("name").unwrap_or_default().to_owned(),
            id: sent.map_or_else(edit::new_id, Ok)?,
        })
    };
    match choice.await {
        Ok(choice) => caller.page(page::choose(&caller.shell, &choice, faults)),
        Err(error) => super::failed(caller, error),
    }
}
