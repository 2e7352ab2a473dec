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
use super::purge::{self, Pin};
use super::queue;
use super::refresh::{self, NotDone};
use super::removed;
use super::tickets;
use crate::base::error_chain::error_chain;
use crate::base::mode::Choice;
use crate::base::owner::Places;
use crate::fetch::recurse::NotBegun;
use crate::fetch::{self, WantError};
use crate::page::form::{Form, LONGEST_FORM};
use crate::page::guard::{Refusal, Scope, Token};
use crate::page::message::Message;
use crate::page::token::Purpose;
use crate::proxy::body::Body;
use crate::site::pages::lists::whole;
use crate::site::pages::undone;

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
    /// Removes what has reached its age.
    Purge,
    /// Has the page of the field `url` stay whatever its age, or no longer.
    Pin(bool),
    /// Does something with the entries of the fields `url`.
    Chosen(Chosen),
    /// Deletes all of the list of the field `list`.
    DeleteList,
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
    Refused(Refusal),
    Bad(String),
    Busy(String),
    NoRoom(String),
    /// Nothing was chosen in the list that the form is in.
    Nothing,
    Gone,
    Spool(Error),
    Config(ChangeError),
}

impl From<Refusal> for Undone {
    fn from(refusal: Refusal) -> Self {
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

impl Act {
    /// What a form sent to `path` does.
    pub(super) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/control/online" => Self::Mode(Choice::Online),
            "/control/offline" => Self::Mode(Choice::Offline),
            "/control/autodial" => Self::Mode(Choice::Autodial),
            "/control/auto" => Self::Mode(Choice::Auto),
            "/control/fetch" => Self::Fetch,
            "/control/hold" => Self::Hold,
            "/control/reload" | "/control/config" => Self::Reload,
            "/control/retry" => Self::Retry,
            "/control/delete/req" => Self::Delete,
            "/control/delete/req-all" => Self::DeleteAll,
            "/control/queue/edit" => Self::Edit,
            "/control/delete-multiple/req" => Self::OfQueue(queue::Chosen::Delete),
            "/control/retry-multiple" => Self::OfQueue(queue::Chosen::Retry),
            "/refresh-request/" => Self::Confirm,
            "/refresh-plan/" => Self::Plan,
            "/monitor-request/" => Self::Monitor,
            "/control/delete/mon" => Self::DeleteMonitor,
            "/control/delete/mon-all" => Self::DeleteMonitors,
            "/control/fetch/stop" => Self::StopFetch,
            "/control/certificate/allow" => Self::AllowCertificate,
            "/control/purge" => Self::Purge,
            "/control/pin" => Self::Pin(true),
            "/control/unpin" => Self::Pin(false),
            "/control/delete-multiple/url" | "/control/delete/url" => Self::Chosen(Chosen::Delete),
            "/control/refresh-multiple" => Self::Chosen(Chosen::Refresh),
            "/control/pin-multiple" => Self::Chosen(Chosen::Pin),
            "/control/monitor-multiple" => Self::Chosen(Chosen::Monitor),
            "/control/export-multiple/warc" => Self::Chosen(Chosen::Export(Format::Warc)),
            "/control/export-multiple/wacz" => Self::Chosen(Chosen::Export(Format::Wacz)),
            whole::PATH => Self::DeleteList,
            "/control/undo" => Self::Undo,
            "/control/history/restore" => Self::Version(Button::Restore),
            "/control/history/delete" => Self::Version(Button::Remove),
            path => {
                let priority = path.strip_prefix("/control/queue/")?.parse().ok()?;
                Self::OfQueue(queue::Chosen::Prioritize(priority))
            }
        })
    }
}

impl Act {
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
    let form = match Form::parse(content_type, &whole) {
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

async fn carry_out(caller: &Caller, act: Act, form: &Form) -> Result<Response<Body>, Undone> {
    let daemon = &caller.daemon;
    match act {
        Act::Delete => delete(caller, form).await,
        Act::Confirm if form.value("ticket").is_some() => confirm(caller, form).await,
        Act::Confirm => fetch_page(caller, form).await,
        Act::Plan => {
            from_our_page(caller, form)?;
            Ok(refresh::plan(caller, form).await?)
        }
        Act::StopFetch => {
            from_our_page(caller, form)?;
            Ok(refresh::stop(caller, form).await?)
        }
        Act::Mode(choice) => {
            from_our_page(caller, form)?;
            daemon.switch(choice).await?;
            Ok(caller.see_other("/"))
        }
        Act::Fetch => {
            from_our_page(caller, form)?;
            daemon.fetcher.begin(None);
            Ok(caller.see_other("/queue/"))
        }
        Act::Hold => {
            from_our_page(caller, form)?;
            daemon.fetcher.hold();
            Ok(caller.see_other("/queue/"))
        }
        Act::Reload => {
            from_our_page(caller, form)?;
            // What is wrong with the file, its page tells.
            let _in_force_or_not = daemon.reload().await;
            Ok(caller.see_other("/configuration/"))
        }
        Act::Retry => {
            from_our_page(caller, form)?;
            let chosen = form.value("key").map(key).transpose()?;
            let only = chosen.as_ref().map(std::slice::from_ref);
            fetch::retry(daemon, only, |place| caller.may_see_queued(place)).await?;
            Ok(caller.see_other(&queue::back(form)))
        }
        Act::AllowCertificate => {
            from_our_page(caller, form)?;
            Ok(caller.see_other(&certificate::allow(caller, form).await?))
        }
        Act::Purge => {
            from_our_page(caller, form)?;
            purge::submit(caller).map_err(|busy| Undone::Busy(error_chain(&busy)))
        }
        Act::Pin(pinned) => {
            from_our_page(caller, form)?;
            Ok(purge::pin(caller, form, pinned).await?)
        }
        Act::Chosen(chosen) => {
            from_our_page(caller, form)?;
            Ok(lists::submit(caller, chosen, form).await?)
        }
        Act::Edit => {
            from_our_page(caller, form)?;
            Ok(queue::edit::save(caller, form).await?)
        }
        Act::OfQueue(chosen) => {
            if !says_when(caller, chosen, form)? {
                from_our_page(caller, form)?;
            }
            Ok(queue::submit(caller, chosen, form).await?)
        }
        Act::DeleteList => {
            from_our_page(caller, form)?;
            Ok(lists::whole::delete(caller, form).await?)
        }
        Act::Undo => {
            from_our_page(caller, form)?;
            Ok(removed::undo(caller, form).await?)
        }
        Act::Version(button) => {
            from_our_page(caller, form)?;
            Ok(history::press(caller, button, form).await?)
        }
        Act::Monitor => {
            from_our_page(caller, form)?;
            Ok(monitor::set(caller, form).await?)
        }
        Act::DeleteMonitor => {
            from_our_page(caller, form)?;
            Ok(monitor::delete(caller, form).await?)
        }
        Act::DeleteMonitors => {
            from_our_page(caller, form)?;
            Ok(monitor::delete_all(caller).await?)
        }
        Act::DeleteAll => {
            from_our_page(caller, form)?;
            empty_queue(caller).await?;
            Ok(caller.see_other("/queue/"))
        }
    }
}

/// Lets a form pass that comes from a local page, which alone has the general token.
pub(super) fn from_our_page(caller: &Caller, form: &Form) -> Result<(), Refusal> {
    let token = caller.worth(Purpose::General, form.value("token"));
    caller.check(false, Scope::General, token)
}

/// Takes one request off the queue, for a page of ours or for the message page that told of it.
async fn delete(caller: &Caller, form: &Form) -> Result<Response<Body>, Undone> {
    let daemon = &caller.daemon;
    let presented = form.value("token");
    let chosen = match (form.value("key"), form.value("url")) {
        (Some(text), _) => key(text),
        (None, Some(url)) => key_of(caller, url).map_err(|error| Undone::Bad(error_chain(&error))),
        (None, None) => Err(Undone::Bad("expected a key or a URL".to_owned())),
    };
    if let Ok(chosen) = &chosen
        && caller.worth(Purpose::Undo(&chosen.to_string()), presented) == Token::Right
    {
        caller.check(false, Scope::OnePurpose, Token::Right)?;
        let known = daemon.store.spool().queue().summary(chosen);
        let removed = daemon.store.dequeue(*chosen).await?;
        let url = known.as_ref().map_or("", |known| known.place.url());
        return Ok(caller.see_other(&undone::path_of(url, removed)));
    }
    from_our_page(caller, form)?;
    dequeue(caller, chosen?).await?;
    Ok(caller.see_other(&queue::back(form)))
}

/// The key under which a page is queued for the caller.
pub(super) fn key_of(caller: &Caller, url: &str) -> Result<Key, ParseError> {
    let mut url = CanonicalUrl::parse(url, &caller.daemon.local)?;
    Ok(Places::of(&mut url, &HeaderMap::new(), &caller.owner).queued.key())
}

/// Puts a form that was sent offline on the queue, now that the person has said so.
async fn confirm(caller: &Caller, form: &Form) -> Result<Response<Body>, Undone> {
    let daemon = &caller.daemon;
    let name = form.value("ticket").unwrap_or_default();
    let token = caller.worth(Purpose::Confirm(name), form.value("token"));
    caller.check(false, Scope::OnePurpose, token)?;
    tickets::queue(daemon, name).await?.ok_or(Undone::Gone)?;
    daemon.fetcher.nudge();
    Ok(caller.see_other("/queue/"))
}

/// Whether a form says when one request goes, and comes from the message page that told of just that.
fn says_when(caller: &Caller, chosen: queue::Chosen, form: &Form) -> Result<bool, Refusal> {
    let mut named = form.fields().filter(|(name, _)| matches!(*name, "chosen" | "url"));
    let (Some(("chosen", key)), None) = (named.next(), named.next()) else { return Ok(false) };
    let is_for_it = matches!(chosen, queue::Chosen::Prioritize(_))
        && caller.worth(Purpose::Priority(key), form.value("token")) == Token::Right;
    if is_for_it {
        caller.check(false, Scope::OnePurpose, Token::Right)?;
    }
    Ok(is_for_it)
}

/// Begins the fetch that the form says, for a page of ours or for the message page of just that page.
async fn fetch_page(caller: &Caller, form: &Form) -> Result<Response<Body>, Undone> {
    let url = form.value("url").unwrap_or_default();
    if caller.worth(Purpose::Fetch(url), form.value("token")) == Token::Right {
        caller.check(false, Scope::OnePurpose, Token::Right)?;
        return Ok(refresh::submit_for_site(caller, form, url).await?);
    }
    from_our_page(caller, form)?;
    Ok(refresh::submit(caller, form).await?)
}

/// Takes one request off the queue, if it is there and the caller's; says whether it was.
///
/// # Errors
///
/// When the disk fails.
pub(super) async fn dequeue(caller: &Caller, key: Key) -> Result<bool, Error> {
    let store = &caller.daemon.store;
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
    caller.daemon.store.spool().queue().visit(|request| {
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
    caller.daemon.store.run(empty).await
}

fn key(text: &str) -> Result<Key, Undone> {
    text.parse().map_err(|_| Undone::Bad("expected a key of 64 hex digits".to_owned()))
}

#[cfg(test)]
mod tests;
