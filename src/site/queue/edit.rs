//! The fetch settings of one queued request, and the form that changes them.

use hyper::Response;
use wwwoffle_spool::{OutgoingSummary, Priority, RequestKind, RunId};
use wwwoffle_url::Key;

use super::super::caller::Caller;
use super::super::status;
use super::{back, prioritize};
use crate::fetch::recurse::begin_at;
use crate::page::form::SubmittedForm;
use crate::page::undone;
use crate::proxy::body::Body;
use crate::proxy::target;
use crate::site::fetches::call::stop_for;
use crate::site::fetches::{RefreshError, as_configured};
use crate::site::queue::page as list;
use crate::site::queue::page::edit as page;
use wwwoffle_api::fetch_spec::{FetchSpec, PartClass, RecursiveRequest};

/// Fields of the form that do not describe the fetch.
const OTHERS: [&str; 5] = ["token", "key", "back", "priority", "url"];

/// The further fetches that a request starts: the fetches of sub-resources and links of its page.
struct FollowUpFetches {
    spec: FetchSpec,
    /// The fetch specification that follows from the configuration alone.
    usual: FetchSpec,
    /// The runs that start with this request, and end if the request is removed.
    runs: Vec<RunId>,
}

/// Shows the form for the request in the argument `key`.
pub(in crate::site) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let Some(request) = named(caller, &form) else { return not_queued_page(caller) };
    let (context, shell) = (&caller.context, &caller.shell);
    let bring = further_fetches(caller, &request);
    let state = status::state(context, &request);
    let item = status::item(request, state, None);
    let about = (&item, bring.as_ref().map(|bring| &bring.spec));
    let back = list::QueueSelection::parse(arguments).address();
    caller.page(page::page(shell, about, &back))
}

/// Changes the request in the field `key` as the form says. Fields that the form omits stay
/// unchanged.
pub(in crate::site) async fn save(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, RefreshError> {
    let Some(request) = named(caller, form) else { return Ok(not_queued_page(caller)) };
    let key = request.place.key();
    if let Some(priority) = form.value("priority").and_then(|word| word.parse::<Priority>().ok())
        && priority != request.priority
    {
        prioritize(caller, vec![key], priority).await?;
    }
    if let Some(now) = further_fetches(caller, &request)
        && form.value("depth").is_some()
    {
        let fields = form.fields().filter(|(name, _)| !OTHERS.contains(name));
        let asked = RecursiveRequest::read(fields.chain([("url", request.place.url())]))?;
        let spec = FetchSpec { limits: now.spec.limits, robots: now.spec.robots, ..asked.spec };
        if is_other(&spec, &now.spec) {
            replace(caller, key, &now, &spec).await?;
        }
    }
    Ok(caller.see_other(&back(form)))
}

/// Replaces the further fetches of the request by `spec`. Runs that have another start page still
/// include the request.
async fn replace(
    caller: &Caller,
    key: Key,
    now: &FollowUpFetches,
    spec: &FetchSpec,
) -> Result<(), RefreshError> {
    let context = &caller.context;
    if is_other(spec, &now.usual) {
        // The request as recorded, with its secrets. If a run has started since `now` was
        // determined, the request belongs to both runs.
        let Some(mut outgoing) = context.storage.store.queued(key).await? else { return Ok(()) };
        outgoing.summary.runs.clear();
        begin_at(&context.fetch, outgoing, spec).await?;
    }
    for run in &now.runs {
        stop_for(caller, *run).await?;
    }
    Ok(())
}

/// Whether `spec` differs from `than`. If `spec` follows no links, its scope does not matter.
fn is_other(spec: &FetchSpec, than: &FetchSpec) -> bool {
    let scope = if spec.depth == 0 { &than.scope } else { &spec.scope };
    FetchSpec { scope: scope.clone(), ..spec.clone() } != *than
}

/// Returns the request in the field `key`, if it exists and the caller may see it.
fn named(caller: &Caller, form: &SubmittedForm) -> Option<OutgoingSummary> {
    let key = form.value("key")?.parse().ok()?;
    let known = caller.context.storage.store.spool().queue().summary(&key)?;
    caller.may_see_queued(&known.place).then_some(known)
}

fn not_queued_page(caller: &Caller) -> Response<Body> {
    caller.page(undone::page(&caller.shell, "", false))
}

/// Returns the further fetches of a page that a person requested. `None` for forms, sub-resources,
/// followed links and monitored pages, whose further fetches are not set here.
fn further_fetches(caller: &Caller, request: &OutgoingSummary) -> Option<FollowUpFetches> {
    let is_page = matches!(request.kind, RequestKind::Page | RequestKind::Refresh);
    if !is_page || request.class.is_some() || request.line.method != "GET" {
        return None;
    }
    let url = target::of_url(request.place.url(), &caller.context.base.local).ok()?.url;
    let runs = caller.context.fetch.fetcher.runs();
    let begins = request.runs.iter().filter_map(|member| {
        let spec = runs.with_run(member.run, |run| {
            (run.ended.is_none() && run.starts().contains(&url)).then(|| run.spec.clone())
        });
        Some((member.run, spec.flatten()?))
    });
    let begins: Vec<_> = begins.collect();
    let usual = with_every_class(as_configured(caller, request.place.url()), &FetchSpec::default());
    let deepest = begins.iter().map(|(_, spec)| spec).max_by_key(|spec| spec.depth);
    let spec = deepest.map_or_else(|| usual.clone(), |spec| with_every_class(spec.clone(), &usual));
    Some(FollowUpFetches { spec, usual, runs: begins.into_iter().map(|(run, _)| run).collect() })
}

/// Returns `spec` with an explicit choice for every class of sub-resources, as in the form. A
/// missing choice is taken from `usual`.
fn with_every_class(mut spec: FetchSpec, usual: &FetchSpec) -> FetchSpec {
    for class in PartClass::ALL {
        let is_usual = usual.parts.get(&class).copied().unwrap_or_default();
        spec.parts.entry(class).or_insert(is_usual);
    }
    spec
}
