//! Forms of our own pages, and the buttons of message pages.

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tracing::warn;
use wwwoffle_config::ChangeError;
use wwwoffle_spool::{Error, Spool};
use wwwoffle_url::{CanonicalUrl, Key, ParseError};

use super::caller::Caller;
use super::certificate::{self, NotAllowed};
use super::export::Format;
use super::history::{self, Button};
use super::info::NoInfo;
use super::lists::{self, Chosen};
use super::monitor;
use super::permission::Permission;
use super::purge::{self, Pin};
use super::queue;
use super::refresh::{self, NotDone};
use super::removed;
use crate::base::error_chain::error_chain;
use crate::base::mode::Choice;
use crate::base::owner::Places;
use crate::fetch::recurse::NotBegun;
use crate::fetch::{self, WantError};
use crate::page::form::{LONGEST_FORM, SubmittedForm};
use crate::page::guard::{ActionScope, GuardRefusal, Token};
use crate::page::message::Message;
use crate::page::token::Purpose;
use crate::page::undone;
use crate::proxy::body::Body;
use crate::proxy::tickets;
use crate::site::pages::lists::whole;

/// What a form does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Changes the mode.
    Mode(Choice),
    /// Works the queue off now.
    Fetch,
    /// Stops working it off.
    Hold,
    /// Reads the configuration anew.
    Reload,
    /// Lets failed and delayed requests wait no longer: the one of the field `key`, or all.
    Retry,
    /// Takes the request of the field `key` or `url` off the queue.
    Delete,
    /// Takes all requests off the queue.
    DeleteAll,
    /// Changes how the request of the field `key` is fetched.
    Edit,
    /// Does something with the requests of the fields `chosen`.
    OfQueue(queue::Chosen),
    /// Puts the request of the field `ticket` on the queue; without one, begins the fetch that the form says.
    Confirm,
    /// Tells what a fetch would bring.
    Plan,
    /// Monitors the page of the field `url`.
    Monitor,
    /// Monitors the page of the field `key` or `url` no longer.
    DeleteMonitor,
    /// Monitors nothing any longer.
    DeleteMonitors,
    /// Ends the fetch of the field `id`.
    StopFetch,
    /// Ends the download of the field `id`.
    EndDownload,
    /// Removes what has reached its age.
    Purge,
    /// Has the page of the field `url` stay whatever its age, or no longer.
    Pin(bool),
    /// Does something with the entries of the fields `url`.
    Chosen(Chosen),
    /// Deletes all of the list of the field `list`.
    DeleteList,
    /// Downloads all of the list of the field `list`.
    ExportList(Format),
    /// Brings back what was deleted together, of the field `removal`.
    Undo,
    /// Does something with the version of the fields `url` and `at`.
    Version(Button),
    /// Allows the certificate of the field `sha256` at the host of the field `site`.
    AllowCertificate,
}

/// Why a form did nothing.
#[derive(Debug)]
enum Undone {
    Refused(GuardRefusal),
    Bad(String),
    Busy(String),
    NoRoom(String),
    /// Nothing was chosen in the list that the form is in.
    Nothing,
    Gone,
    Spool(Error),
    Config(ChangeError),
}

impl From<GuardRefusal> for Undone {
    fn from(refusal: GuardRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<NotAllowed> for Undone {
    fn from(not_allowed: NotAllowed) -> Self {
        match not_allowed {
            NotAllowed::Unseen(why) => Self::Bad(why.to_owned()),
            NotAllowed::Config(error) => Self::Config(error),
        }
    }
}

impl From<NotDone> for Undone {
    fn from(not_done: NotDone) -> Self {
        match not_done {
            NotDone::Spool(error)
            | NotDone::Want(WantError::Spool(error))
            | NotDone::NotBegun(NotBegun::Page(WantError::Spool(error))) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<WantError> for Undone {
    fn from(not_wanted: WantError) -> Self {
        match not_wanted {
            WantError::Spool(error) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<Pin> for Undone {
    fn from(not_pinned: Pin) -> Self {
        match not_pinned {
            Pin::Url(error) => Self::Bad(error_chain(&error)),
            Pin::Spool(error) => Self::Spool(error),
        }
    }
}

impl From<lists::NotDone> for Undone {
    fn from(not_done: lists::NotDone) -> Self {
        match not_done {
            lists::NotDone::Nothing => Self::Nothing,
            lists::NotDone::Spool(error) | lists::NotDone::Want(WantError::Spool(error)) => {
                Self::Spool(error)
            }
            error @ (lists::NotDone::Busy | lists::NotDone::Deleting) => {
                Self::Busy(error_chain(&error))
            }
            error @ lists::NotDone::NoRoom => Self::NoRoom(error_chain(&error)),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<queue::NotDone> for Undone {
    fn from(not_done: queue::NotDone) -> Self {
        match not_done {
            queue::NotDone::Nothing => Self::Nothing,
            queue::NotDone::Spool(error) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<history::NotDone> for Undone {
    fn from(not_done: history::NotDone) -> Self {
        match not_done {
            history::NotDone::Url(NoInfo::Spool(error)) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self::Spool(error)
    }
}

/// Each act by the path of its form. The forms of `/control/queue/PRIORITY` are not among them.
const ACTS: [(&str, Act); 38] = [
    ("/control/online", Act::Mode(Choice::Online)),
    ("/control/offline", Act::Mode(Choice::Offline)),
    ("/control/autodial", Act::Mode(Choice::Autodial)),
    ("/control/auto", Act::Mode(Choice::Auto)),
    ("/control/fetch", Act::Fetch),
    ("/control/hold", Act::Hold),
    ("/control/reload", Act::Reload),
    ("/control/config", Act::Reload),
    ("/control/retry", Act::Retry),
    ("/control/delete/req", Act::Delete),
    ("/control/delete/req-all", Act::DeleteAll),
    ("/control/queue/edit", Act::Edit),
    ("/control/delete-multiple/req", Act::OfQueue(queue::Chosen::Delete)),
    ("/control/retry-multiple", Act::OfQueue(queue::Chosen::Retry)),
    ("/refresh-request/", Act::Confirm),
    ("/refresh-plan/", Act::Plan),
    ("/monitor-request/", Act::Monitor),
    ("/control/delete/mon", Act::DeleteMonitor),
    ("/control/delete/mon-all", Act::DeleteMonitors),
    ("/control/fetch/stop", Act::StopFetch),
    ("/control/download/end", Act::EndDownload),
    ("/control/certificate/allow", Act::AllowCertificate),
    ("/control/purge", Act::Purge),
    ("/control/pin", Act::Pin(true)),
    ("/control/unpin", Act::Pin(false)),
    ("/control/delete-multiple/url", Act::Chosen(Chosen::Delete)),
    ("/control/delete/url", Act::Chosen(Chosen::Delete)),
    ("/control/refresh-multiple", Act::Chosen(Chosen::Refresh)),
    ("/control/pin-multiple", Act::Chosen(Chosen::Pin)),
    ("/control/monitor-multiple", Act::Chosen(Chosen::Monitor)),
    ("/control/export-multiple/warc", Act::Chosen(Chosen::Export(Format::Warc))),
    ("/control/export-multiple/wacz", Act::Chosen(Chosen::Export(Format::Wacz))),
    ("/control/export-list/warc", Act::ExportList(Format::Warc)),
    ("/control/export-list/wacz", Act::ExportList(Format::Wacz)),
    (whole::PATH, Act::DeleteList),
    ("/control/undo", Act::Undo),
    ("/control/history/restore", Act::Version(Button::Restore)),
    ("/control/history/delete", Act::Version(Button::Remove)),
];

impl Act {
    /// What a form sent to `path` does.
    pub(super) fn at(path: &str) -> Option<Self> {
        if let Some((_, act)) = ACTS.iter().find(|(known, _)| *known == path) {
            return Some(*act);
        }
        let priority = path.strip_prefix("/control/queue/")?.parse().ok()?;
        Some(Self::OfQueue(queue::Chosen::Prioritize(priority)))
    }
}

impl Act {
    /// What it needs, where it does not come from a message page.
    pub(super) fn needs(self) -> Permission {
        match self {
            Self::Retry
            | Self::Delete
            | Self::DeleteAll
            | Self::Edit
            | Self::OfQueue(_)
            | Self::Confirm
            | Self::Plan
            | Self::StopFetch
            | Self::ExportList(_)
            | Self::Chosen(Chosen::Refresh | Chosen::Export(_)) => Permission::Request,
            Self::Mode(_)
            | Self::Fetch
            | Self::Hold
            | Self::Reload
            | Self::Monitor
            | Self::DeleteMonitor
            | Self::DeleteMonitors
            | Self::Purge
            | Self::EndDownload
            | Self::Pin(_)
            | Self::Chosen(Chosen::Delete | Chosen::Pin | Chosen::Monitor)
            | Self::DeleteList
            | Self::Undo
            | Self::Version(_) => Permission::Change,
            Self::AllowCertificate => Permission::Administer,
        }
    }

    /// Whether a message page has a button that does it, under a token for just that.
    pub(super) fn is_of_message(self) -> bool {
        let prioritizes = matches!(self, Self::OfQueue(queue::Chosen::Prioritize(_)));
        prioritizes || matches!(self, Self::Delete | Self::Confirm)
    }
}

/// Reads a form, and does what it says if it may.
pub(super) async fn submit(
    caller: &Caller,
    act: Act,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let whole = match caller.read(incoming, LONGEST_FORM).await {
        Ok(whole) => whole,
        Err(error) => return caller.bad_form(error.status(), &error.to_string()),
    };
    let form = match SubmittedForm::parse(content_type, &whole) {
        Ok(form) => form,
        Err(error) => return caller.bad_form(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let caller = &caller.for_page(form.value("token"));
    match carry_out(caller, act, &form).await {
        Ok(response) => response,
        Err(Undone::Refused(refusal)) => caller.refused(refusal),
        Err(Undone::Bad(detail)) => caller.bad_form(StatusCode::BAD_REQUEST, &detail),
        Err(Undone::Nothing) => {
            let back = match act {
                Act::OfQueue(_) => queue::back(&form),
                _ => lists::back(form.value("back")).to_owned(),
            };
            caller.message(&Message::NothingChosen { back: &back })
        }
        Err(Undone::Busy(detail)) => {
            let mut response = caller.bad_form(StatusCode::SERVICE_UNAVAILABLE, &detail);
            response.headers_mut().insert(RETRY_AFTER, BUSY_FOR);
            response
        }
        Err(Undone::NoRoom(detail)) => caller.bad_form(StatusCode::INSUFFICIENT_STORAGE, &detail),
        Err(Undone::Gone) => caller.bad_form(StatusCode::GONE, NO_TICKET),
        Err(Undone::Spool(error)) => caller.spool_failed(&error),
        Err(Undone::Config(error)) => {
            let detail = error_chain(&error);
            warn!(error = detail, "a certificate cannot be allowed");
            caller.bad_form(StatusCode::CONFLICT, &detail)
        }
    }
}

/// In seconds: what takes longer than a page is an archive, which goes as fast as it is taken.
const BUSY_FOR: HeaderValue = HeaderValue::from_static("30");

/// What is said when there is nothing, or no longer anything, to confirm.
const NO_TICKET: &str =
    "the form was confirmed already, or asked about too long ago: send it again";

async fn carry_out(
    caller: &Caller,
    act: Act,
    form: &SubmittedForm,
) -> Result<Response<Body>, Undone> {
    let has_own_token = has_own_token(caller, act, form)?;
    if !has_own_token {
        from_our_page(caller, act.needs(), form)?;
    }
    let context = &caller.context;
    match act {
        Act::Delete => delete(caller, form, has_own_token).await,
        Act::Confirm if form.value("ticket").is_some() => confirm(caller, form).await,
        Act::Confirm if has_own_token => {
            let url = form.value("url").unwrap_or_default();
            Ok(refresh::submit_for_site(caller, form, url).await?)
        }
        Act::Confirm => Ok(refresh::submit(caller, form).await?),
        Act::Plan => Ok(refresh::plan(caller, form).await?),
        Act::StopFetch => Ok(refresh::stop(caller, form).await?),
        Act::EndDownload => Ok(refresh::end_download(caller, form)),
        Act::Mode(choice) => {
            context.storage.switch(choice).await?;
            Ok(caller.see_other("/"))
        }
        Act::Fetch => {
            context.fetch.fetcher.begin(None);
            Ok(caller.see_other("/queue/"))
        }
        Act::Hold => {
            context.fetch.fetcher.hold();
            Ok(caller.see_other("/queue/"))
        }
        Act::Reload => {
            // What is wrong with the file, its page tells.
            let _in_force_or_not = context.base.reload().await;
            Ok(caller.see_other("/configuration/"))
        }
        Act::Retry => {
            let chosen = form.value("key").map(key).transpose()?;
            let only = chosen.as_ref().map(std::slice::from_ref);
            fetch::retry(&context.fetch, only, |place| caller.may_see_queued(place)).await?;
            Ok(caller.see_other(&queue::back(form)))
        }
        Act::AllowCertificate => Ok(caller.see_other(&certificate::allow(caller, form).await?)),
        Act::Purge => purge::submit(caller).map_err(|busy| Undone::Busy(error_chain(&busy))),
        Act::Pin(pinned) => Ok(purge::pin(caller, form, pinned).await?),
        Act::Chosen(chosen) => Ok(lists::submit(caller, chosen, form).await?),
        Act::Edit => Ok(queue::edit::save(caller, form).await?),
        Act::OfQueue(chosen) => Ok(queue::submit(caller, chosen, form).await?),
        Act::DeleteList => Ok(lists::whole::delete(caller, form).await?),
        Act::ExportList(format) => Ok(lists::whole::send(caller, format, form).await?),
        Act::Undo => Ok(removed::undo(caller, form).await?),
        Act::Version(button) => Ok(history::press(caller, button, form).await?),
        Act::Monitor => Ok(monitor::set(caller, form).await?),
        Act::DeleteMonitor => Ok(monitor::delete(caller, form).await?),
        Act::DeleteMonitors => Ok(monitor::delete_all(caller).await?),
        Act::DeleteAll => {
            empty_queue(caller).await?;
            Ok(caller.see_other("/queue/"))
        }
    }
}

/// Checks that a form comes from a local page, which alone has the general token, and that the caller
/// may do what needs `needed`.
pub(super) fn from_our_page(
    caller: &Caller,
    needed: Permission,
    form: &SubmittedForm,
) -> Result<(), GuardRefusal> {
    let token = caller.worth(Purpose::General, form.value("token"));
    caller.check(needed, ActionScope::General, token)
}

/// Whether a form comes from the message page about just this request, with a token for it.
fn has_own_token(caller: &Caller, act: Act, form: &SubmittedForm) -> Result<bool, GuardRefusal> {
    let presented = form.value("token");
    let token = match (act, form.value("ticket")) {
        (Act::Confirm, Some(ticket)) => {
            // No other token confirms it.
            let token = caller.worth(Purpose::Confirm(ticket), presented);
            caller.check(Permission::Request, ActionScope::OnePurpose, token)?;
            token
        }
        (Act::Confirm, None) => {
            caller.worth(Purpose::Fetch(form.value("url").unwrap_or_default()), presented)
        }
        (Act::Delete, _) => key_to_delete(caller, form)
            .map_or(Token::Absent, |key| caller.worth(Purpose::Undo(&key.to_string()), presented)),
        (Act::OfQueue(queue::Chosen::Prioritize(_)), _) => only_chosen(form)
            .map_or(Token::Absent, |key| caller.worth(Purpose::Priority(key), presented)),
        _ => Token::Absent,
    };
    if token != Token::Right {
        return Ok(false);
    }
    caller.check(Permission::Request, ActionScope::OnePurpose, token)?;
    Ok(true)
}

/// The one queued request that a form names.
fn only_chosen(form: &SubmittedForm) -> Option<&str> {
    let mut named = form.fields().filter(|(name, _)| matches!(*name, "chosen" | "url"));
    match (named.next(), named.next()) {
        (Some(("chosen", key)), None) => Some(key),
        _ => None,
    }
}

/// The key of the queued request that a form takes off the queue.
fn key_to_delete(caller: &Caller, form: &SubmittedForm) -> Result<Key, Undone> {
    match (form.value("key"), form.value("url")) {
        (Some(text), _) => key(text),
        (None, Some(url)) => key_of(caller, url).map_err(|error| Undone::Bad(error_chain(&error))),
        (None, None) => Err(Undone::Bad("expected a key or a URL".to_owned())),
    }
}

/// Takes one request off the queue, for a page of ours or for the message page about it.
async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
    is_of_message: bool,
) -> Result<Response<Body>, Undone> {
    let key = key_to_delete(caller, form)?;
    if !is_of_message {
        dequeue(caller, key).await?;
        return Ok(caller.see_other(&queue::back(form)));
    }
    let store = &caller.context.storage.store;
    let known = store.spool().queue().summary(&key);
    let removed = store.dequeue(key).await?;
    let url = known.as_ref().map_or("", |known| known.place.url());
    Ok(caller.see_other(&undone::path_of(url, removed)))
}

/// The key under which a page is queued for the caller.
pub(super) fn key_of(caller: &Caller, url: &str) -> Result<Key, ParseError> {
    let mut url = CanonicalUrl::parse(url, &caller.context.base.local)?;
    Ok(Places::of(&mut url, &HeaderMap::new(), &caller.owner).queued.key())
}

/// Puts a form that was sent offline on the queue, now that the person has said so.
async fn confirm(caller: &Caller, form: &SubmittedForm) -> Result<Response<Body>, Undone> {
    let context = &caller.context;
    let name = form.value("ticket").unwrap_or_default();
    tickets::queue(&context.proxy, name).await?.ok_or(Undone::Gone)?;
    context.fetch.fetcher.nudge();
    Ok(caller.see_other("/queue/"))
}

/// Takes one request off the queue, if it is there and the caller's; says whether it was.
///
/// # Errors
///
/// When the disk fails.
pub(super) async fn dequeue(caller: &Caller, key: Key) -> Result<bool, Error> {
    let store = &caller.context.storage.store;
    let known = store.spool().queue().summary(&key);
    if !known.is_some_and(|known| caller.may_see_queued(&known.place)) {
        return Ok(false);
    }
    store.dequeue(key).await
}

/// Takes everything of the caller's off the queue; returns how much that was.
///
/// # Errors
///
/// When the disk fails; those before it are gone.
pub(super) async fn empty_queue(caller: &Caller) -> Result<u64, Error> {
    let mut keys = Vec::new();
    caller.context.storage.store.spool().queue().visit(|request| {
        if caller.may_see_queued(&request.place) {
            keys.push(request.place.key());
        }
    });
    let empty = move |spool: &Spool| {
        let queue = spool.queue();
        let mut deleted = 0;
        for key in keys {
            deleted += u64::from(queue.remove(&key)?);
        }
        Ok(deleted)
    };
    caller.context.storage.store.run(empty).await
}

fn key(text: &str) -> Result<Key, Undone> {
    text.parse().map_err(|_| Undone::Bad("expected a key of 64 hex digits".to_owned()))
}

#[cfg(test)]
mod tests;
