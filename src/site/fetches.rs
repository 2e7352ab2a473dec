//! Refreshing pages with their sub-resources and along links: the form, the command URLs of
//! WWWOFFLE 2.9, and the list of these fetches.

pub(super) mod call;
mod extent;
pub mod page;
pub mod plan;
pub(super) mod plan_call;
pub mod progress;

use hyper::Response;
use wwwoffle_spool::{RequestKind, RunId};
use wwwoffle_url::{split_form_args, url_decode_form_args};

use self::call::{all, stop_for};
use super::address::url_in;
use super::caller::Caller;
use super::control::{former_arguments, former_form};
use super::forms::FormError;
use super::permission::Permission;
use super::route::{FormRequest, OwnToken};
use super::status;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::base::text::{Text, tr};
use crate::fetch::plan::{NotPlanned, plan_runs};
use crate::fetch::recurse::choose::{WantedClasses, is_usual};
use crate::fetch::recurse::runs::MAX_RUNS;
use crate::fetch::recurse::{NotBegun, begin};
use crate::fetch::{self, WantError};
use crate::page::fault::FormFault;
use crate::page::form::SubmittedForm;
use crate::page::message::Message;
use crate::page::token::Purpose;
use crate::proxy::body::Body;
use crate::proxy::saver;
use crate::proxy::target::{self, BadTarget};
use crate::proxy::tickets;
use crate::storage::lookup::look_up;
use wwwoffle_api::fetch_spec::{
    BadSpec, FetchSpec, Limits, MAX_DEPTH, PartClass, RecursiveRequest,
};
use wwwoffle_api::plan::RunPlan;
use wwwoffle_api::runs::RunItem;
use wwwoffle_api::scope::Scope;

/// Path of the list.
pub(super) const LIST: &str = "/fetches/";

/// Maximum link depth for the form of a message page.
const DEEPEST_FOR_SITE: u16 = 2;

/// Maximum number of pages for that form.
const MOST_FOR_SITE: u64 = 200;

/// Maximum total size of the bodies for that form, in bytes.
const MOST_BYTES_FOR_SITE: u64 = 1 << 30;

/// Number of running fetches at which that form is refused. The rest of [`MAX_RUNS`] is reserved
/// for fetches that a person starts on our own pages.
const MOST_RUNS_FOR_SITES: usize = MAX_RUNS / 4;

/// Failure to start a fetch.
#[derive(Debug, thiserror::Error)]
pub(super) enum RefreshError {
    /// The form is invalid.
    #[error(transparent)]
    Spec(#[from] BadSpec),
    /// The URL of the page cannot be fetched.
    #[error("the URL cannot be fetched")]
    Url(#[from] BadTarget),
    /// The page cannot be requested.
    #[error(transparent)]
    Want(#[from] WantError),
    /// The fetch cannot start.
    #[error(transparent)]
    NotBegun(#[from] NotBegun),
    /// The plan cannot be computed.
    #[error(transparent)]
    NotPlanned(#[from] NotPlanned),
    /// The caller has no running fetch with this id.
    #[error("no such fetch is under way")]
    NoRun,
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] wwwoffle_spool::Error),
}

/// Shows the form for the URL in the arguments: `?URL`, or `?url=URL`.
pub(super) fn options(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let url = url_in(arguments);
    show(caller, &RecursiveRequest { spec: as_configured(caller, &url), url }, None)
}

/// Shows the form that a link in the syntax of WWWOFFLE 2.9 leads to, filled in with the arguments
/// of the link. If one of them is invalid, only the URL is filled in.
pub(super) fn show_for_link(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (form, arguments) = (former_form(arguments), former_arguments(arguments));
    let pairs = pairs(&arguments);
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let asked = RecursiveRequest::read(pairs).unwrap_or_else(|_| {
        let url = form.value("url").unwrap_or_default().trim().to_owned();
        RecursiveRequest { spec: as_configured(caller, &url), url }
    });
    show(caller, &asked, None)
}

/// Fetches the page in the arguments (`/refresh/?URL`) again, now or as soon as we are online, and
/// redirects to the page. If another site caused the request, only shows the form, which the user
/// may submit.
pub(super) async fn refresh(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let url = url_in(arguments);
    if url.is_empty() || caller.is_sent_by_another_site() {
        return options(caller, arguments);
    }
    match refresh_now(caller, &url).await {
        Ok(response) => response,
        Err(error) => {
            let asked = RecursiveRequest { spec: as_configured(caller, &url), url };
            show_again(caller, &asked, None, error).unwrap_or_else(|error| failed(caller, &error))
        }
    }
}

/// Starts the fetch that the arguments describe, as WWWOFFLE 2.9 did:
/// `/refresh-recurse/?url=…;depth=…`. Only shows the form if the caller may not send it, or if
/// another site caused the request.
pub(super) async fn recurse(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let pairs = pairs(arguments.unwrap_or_default());
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let done = match RecursiveRequest::read(pairs.iter().copied()) {
        Ok(asked) if caller.is_sent_by_another_site() || !caller.may(Permission::Request) => {
            return show(caller, &asked, None);
        }
        Ok(asked) => start(caller, &asked).await,
        Err(error) => Err(error.into()),
    };
    let done = done.or_else(|error| show_typed_again(caller, &pairs, error));
    done.unwrap_or_else(|error| failed(caller, &error))
}

/// Shows the list of fetches.
pub(super) fn list(caller: &Caller) -> Response<Body> {
    let runs = all(caller).runs;
    let downloads = status::downloads(caller);
    let context = &caller.context;
    let measured = context.limits.runs.measure(&runs, context.base.mode.now().may_dial());
    caller.page(page::list(&caller.shell, &runs, &downloads, &measured))
}

/// Validates the token of a form as one that is valid only for the ticket of the form or, without a
/// ticket, only for its URL.
pub(super) fn token(caller: &Caller, form: &SubmittedForm) -> OwnToken {
    let presented = form.value("token");
    if let Some(ticket) = form.value("ticket") {
        // Only a token for this ticket confirms the form.
        return OwnToken {
            worth: caller.check_token(Purpose::Confirm(ticket), presented),
            is_required: true,
        };
    }
    let url = form.value("url").unwrap_or_default();
    OwnToken { worth: caller.check_token(Purpose::Fetch(url), presented), is_required: false }
}

/// Queues the request that waits under the ticket in the field `ticket`. Without a ticket, starts
/// the fetch that the form describes.
pub(super) async fn confirm(
    caller: &Caller,
    sent: FormRequest<'_>,
) -> Result<Response<Body>, FormError> {
    if let Some(ticket) = sent.form.value("ticket") {
        let context = &caller.context;
        tickets::queue(&context.proxy, ticket).await?.ok_or(FormError::Gone)?;
        context.fetch.fetcher.wake();
        return Ok(caller.see_other("/queue/"));
    }
    if sent.is_of_message {
        let url = sent.form.value("url").unwrap_or_default();
        return Ok(submit_for_site(caller, sent.form, url).await?);
    }
    Ok(submit(caller, sent.form).await?)
}

/// Starts the fetch that the form describes. An invalid form is shown again.
async fn submit(caller: &Caller, form: &SubmittedForm) -> Result<Response<Body>, RefreshError> {
    let done = match parse_form(form) {
        Ok(asked) => start(caller, &asked).await,
        Err(error) => Err(error.into()),
    };
    done.or_else(|error| show_typed_again(caller, &form_fields(form), error))
}

/// Starts the fetch that the form of a message page describes, for the URL `url` of the form's
/// token.
///
/// The scripts of the site can send this form, too. So the fetch is limited to what the form offers
/// a person. It is not started while another fetch for the same host is running, or while
/// [`MOST_RUNS_FOR_SITES`] fetches are running.
async fn submit_for_site(
    caller: &Caller,
    form: &SubmittedForm,
    url: &str,
) -> Result<Response<Body>, RefreshError> {
    let mut asked = parse_form(form)?;
    // A form may name several URLs; only `url` was offered.
    url.clone_into(&mut asked.url);
    let (pages, bytes) = (MOST_FOR_SITE, Some(MOST_BYTES_FOR_SITE));
    let limits = Limits { pages, bytes, ..Limits::default() };
    let depth = asked.spec.depth.min(DEEPEST_FOR_SITE);
    asked.spec = FetchSpec { depth, scope: Scope::Host, limits, ..FetchSpec::default() };
    let url = target::of_url(&asked.url, &caller.context.base.local)?.url;
    let host_of = |start: &str| {
        target::of_url(start, &caller.context.base.local)
            .ok()
            .map(|to| to.url.host_port().to_owned())
    };
    let runs = all(caller).runs;
    let under_way: Vec<&RunItem> = runs.iter().filter(|run| run.ended.is_none()).collect();
    let host = Some(url.host_port().to_owned());
    if under_way.iter().any(|run| host_of(&run.start) == host)
        || under_way.len() >= MOST_RUNS_FOR_SITES
    {
        return Ok(caller.see_other(LIST));
    }
    start(caller, &asked).await
}

/// Shows the plan of the fetch.
pub(super) async fn plan(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, RefreshError> {
    let planned = async {
        let asked = parse_form(form)?;
        target::of_url(&asked.url, &caller.context.base.local)?;
        let plans =
            plan_runs(&caller.context.fetch, &caller.requester(), std::slice::from_ref(&asked))
                .await?;
        Ok(show(caller, &asked, plans.first()))
    };
    planned.await.or_else(|error| show_typed_again(caller, &form_fields(form), error))
}

/// Returns the fields of the form except for the token, which does not describe the fetch.
fn form_fields(form: &SubmittedForm) -> Vec<(&str, &str)> {
    extent::expand(form.fields().filter(|(name, _)| *name != "token").collect())
}

fn parse_form(form: &SubmittedForm) -> Result<RecursiveRequest, BadSpec> {
    RecursiveRequest::read(form_fields(form))
}

/// Cancels the fetch in the field `id`.
pub(super) async fn stop(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, RefreshError> {
    let id: RunId = form.value("id").and_then(|id| id.parse().ok()).ok_or(RefreshError::NoRun)?;
    stop_for(caller, id).await?.ok_or(RefreshError::NoRun)?;
    Ok(caller.see_other(LIST))
}

/// Cancels the download in the field `id`; it is not an error if it has already ended.
pub(super) fn end_download(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    if let Some(id) = form.value("id").and_then(|id| id.parse().ok()) {
        let _ended = status::end_download(caller, id);
    }
    caller.see_other(LIST)
}

async fn start(caller: &Caller, asked: &RecursiveRequest) -> Result<Response<Body>, RefreshError> {
    target::of_url(&asked.url, &caller.context.base.local)?;
    begin(&caller.context.fetch, &caller.requester(), asked, RequestKind::Page).await?;
    Ok(caller.see_other(LIST))
}

async fn refresh_now(caller: &Caller, url: &str) -> Result<Response<Body>, RefreshError> {
    let context = &caller.context;
    let to = target::of_url(url, &context.base.local)?.url;
    fetch::request_page(&context.fetch, &caller.requester(), url, true).await?;
    let response = caller.see_other(to.as_str());
    if caller.mode() == Mode::Offline {
        let places = Places::of_url(&to, &caller.owner);
        // The redirect would show a stored page as if nothing had been requested, so a message page
        // reports the request. A page that is not stored is answered by a message page anyway.
        if look_up(&context.storage.store, &places).await?.choose(Mode::Offline).is_some() {
            return Ok(caller.message(&Message::RefreshQueued { url: places.public.url() }));
        }
    }
    Ok(response)
}

/// Whether the data saver leaves anything out.
fn saves(caller: &Caller) -> bool {
    saver::is_on(&caller.context.base.config())
}

fn show(caller: &Caller, asked: &RecursiveRequest, plan: Option<&RunPlan>) -> Response<Body> {
    caller.page(page::options(&caller.shell, asked, saves(caller), plan))
}

/// Shows the form again with the valid values and the error messages.
///
/// # Errors
///
/// Returns the error itself if it does not concern a field.
fn show_typed_again(
    caller: &Caller,
    pairs: &[(&str, &str)],
    error: RefreshError,
) -> Result<Response<Body>, RefreshError> {
    let value =
        |field: &str| pairs.iter().rev().find(|(name, _)| *name == field).map(|(_, value)| *value);
    // Each field is validated separately; invalid ones are omitted.
    let any = ("url", "-");
    let good = pairs
        .iter()
        .filter(|(name, _)| *name != "url")
        .filter(|pair| RecursiveRequest::read([any, **pair]).is_ok());
    let Ok(asked) = RecursiveRequest::read(std::iter::once(&any).chain(good).copied()) else {
        return Err(error);
    };
    let url = value("url").unwrap_or_default().trim().to_owned();
    show_again(caller, &RecursiveRequest { url, ..asked }, value("depth"), error)
}

fn show_again(
    caller: &Caller,
    asked: &RecursiveRequest,
    depth: Option<&str>,
    error: RefreshError,
) -> Result<Response<Body>, RefreshError> {
    let Some(fault) = fault(&error) else { return Err(error) };
    let mut faults = vec![fault];
    // Parsing stops at the invalid depth. If the URL is invalid, too, the user should see both
    // errors.
    if let RefreshError::Spec(BadSpec::Depth(_)) = error
        && target::of_url(&asked.url, &caller.context.base.local).is_err()
    {
        faults.push(FormFault::new("url", no_url()));
    }
    let depth = depth.map_or_else(|| asked.spec.depth.to_string(), str::to_owned);
    Ok(caller.page(page::options_again(&caller.shell, asked, &depth, saves(caller), &faults)))
}

/// Returns the field of the form that must be corrected; `None` if the error concerns no field.
fn fault(error: &RefreshError) -> Option<FormFault> {
    Some(match error {
        RefreshError::Spec(BadSpec::Depth(_)) => {
            let text = tr("Enter a number from 0 to {most}.");
            FormFault::new("depth", text.with("most", MAX_DEPTH.to_string()))
        }
        RefreshError::Spec(BadSpec::Scope(_)) => {
            FormFault::new("method", tr("Select one of these."))
        }
        RefreshError::Spec(BadSpec::NoUrl) | RefreshError::Url(_) => {
            FormFault::new("url", no_url())
        }
        RefreshError::Want(error) | RefreshError::NotBegun(NotBegun::Page(error)) => {
            FormFault::new("url", invalid_address(error)?)
        }
        _ => return None,
    })
}

/// Returns the message for an invalid address of a page.
pub(super) fn no_url() -> Text {
    tr("Enter the address of a page, such as {example}.")
        .with("example", "https://www.example.org/")
}

/// Returns the reason why a page cannot be requested; `None` if its address is not the cause.
pub(super) fn invalid_address(error: &WantError) -> Option<Text> {
    Some(match error {
        WantError::Url(_) => no_url(),
        WantError::Blocked(_) => tr("The configuration blocks this address."),
        WantError::OtherProtocol(_) => tr(
            "The port of this address belongs to another protocol, such as mail. Browsers do not \
             connect to it either.",
        ),
        WantError::NeverKept(_) => tr("The configuration excludes this address from saving."),
        WantError::FormAnswer(_) => form_answer(),
        WantError::Circle(_) => tr("The aliases of this address form a loop."),
        WantError::Spool(_) => return None,
    })
}

fn form_answer() -> Text {
    tr("This is the answer to a form. To get a new answer, send the form again.")
}

fn failed(caller: &Caller, error: &RefreshError) -> Response<Body> {
    caller.bad_address(&error_chain(error))
}

/// Returns the initial values of the form: the sub-resources that the configuration sets for `url`,
/// or for pages in general if `url` is empty or invalid.
pub(super) fn as_configured(caller: &Caller, url: &str) -> FetchSpec {
    let config = caller.context.base.config();
    let wanted = target::of_url(url, &caller.context.base.local)
        .ok()
        .map(|resource| WantedClasses::of(&config, &resource.url, &[]));
    let is_wanted = |class| match &wanted {
        Some(wanted) => wanted.has(class),
        None => is_usual(&config, class),
    };
    let parts = PartClass::ALL.into_iter().map(|class| (class, is_wanted(class)));
    FetchSpec { parts: parts.collect(), ..FetchSpec::default() }
}

/// Returns the names and values in the arguments of a command URL.
fn pairs(arguments: &str) -> Vec<(String, String)> {
    let decoded = |text: &[u8]| String::from_utf8_lossy(&url_decode_form_args(text)).into_owned();
    split_form_args(arguments.as_bytes())
        .filter(|argument| !argument.is_empty())
        .map(|argument| {
            let mut sides = argument.splitn(2, |&byte| byte == b'=');
            let name = decoded(sides.next().unwrap_or_default());
            (name, decoded(sides.next().unwrap_or_default()))
        })
        .collect()
}
