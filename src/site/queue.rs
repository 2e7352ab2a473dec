//! The page of the outgoing queue in the order of fetching, and actions on several of its requests
//! at once.

pub(super) mod call;
pub(super) mod edit;
pub mod page;
pub(super) mod undone;

use std::collections::{HashMap, HashSet};

use hyper::Response;
use jiff::Timestamp;
use wwwoffle_spool::{Error, OutgoingSummary, Priority, QueuePosition, Spool};
use wwwoffle_url::Key;

use self::page::{PATH, QueuePage, QueueSelection, ROWS};
use super::caller::Caller;
use super::forms::FormError;
use super::route::{FormRequest, OwnToken};
use super::status;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::fetch;
use crate::fetch::hold::HoldState;
use crate::page::form::SubmittedForm;
use crate::page::guard::Token;
use crate::page::token::Purpose;
use crate::page::undone::path_of;
use crate::proxy::body::Body;
use crate::storage::lists::found::ListType;
use crate::storage::store::timestamp;
use wwwoffle_api::{ItemState, QueueCounts};

/// Action on the requests in the fields `chosen`, or, as in WWWOFFLE 2.9, `url`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestAction {
    /// Gives the selected requests this priority.
    Prioritize(Priority),
    /// Retries the selected requests now.
    Retry,
    /// Removes the selected requests from the queue.
    Delete,
}

/// Sort key of a request in the whole list: first running requests, then those that may be fetched
/// now, those that may be fetched later, and those that wait for a person; within each group, in
/// the order of fetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueRank {
    among: QueueGroup,
    /// Position within the group.
    pub(super) turn: QueuePosition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QueueGroup {
    Active,
    Due,
    Later(Timestamp),
    Asking,
    Failed,
}

impl QueueRank {
    /// Returns the sort key of a request in this state.
    pub(super) fn of(request: &OutgoingSummary, state: ItemState, now: Timestamp) -> Self {
        let among = match state {
            ItemState::Active => QueueGroup::Active,
            ItemState::Asking => QueueGroup::Asking,
            ItemState::Failed => QueueGroup::Failed,
            ItemState::Waiting => match request.fetching.not_before.filter(|time| *time > now) {
                Some(time) => QueueGroup::Later(time),
                None => QueueGroup::Due,
            },
        };
        Self { among, turn: request.position() }
    }
}

/// Shows the requests that the arguments select, if the caller may see them and the configuration
/// allows them in lists.
pub(super) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (context, now) = (&caller.context, timestamp(clock::now()));
    let config = context.base.config();
    let mut asked = QueueSelection::parse(arguments);
    let (mut counts, mut stands) = (QueueCounts::default(), Vec::new());
    context.storage.store.spool().queue().visit(|request| {
        let place = &request.place;
        if caller.may_see_queued(place) && ListType::Outgoing.lists_url(&config, place.url()) {
            let state = status::state(context, request);
            counts.add(state);
            if asked.state.is_none_or(|only| only == state) {
                stands.push(QueueRank::of(request, state, now));
            }
        }
    });
    let total = stands.len();
    asked.page = asked.page.min(total.div_ceil(ROWS)).max(1);
    let from = (asked.page - 1).saturating_mul(ROWS);
    let (hold_state, queue) =
        (HoldState::new(&context.fetch), context.storage.store.spool().queue());
    // Requests that were removed since the queue was read are skipped.
    let found =
        page_of_ranks(stands, from).into_iter().filter_map(|stand| queue.summary(&stand.turn.key));
    let items = found.map(|request| {
        let (state, held) = (status::state(context, &request), hold_state.held(&request));
        let mut item = status::item(request, state, held);
        item.owner.take_if(|owner| *owner == caller.owner.to_string());
        item
    });
    let shown = QueuePage { items: items.collect(), asked, total, counts };
    caller.page(page::page(&caller.shell, &shown))
}

/// Returns the ranks of the page that begins at `from`, in order, without sorting all others.
fn page_of_ranks(mut stands: Vec<QueueRank>, from: usize) -> Vec<QueueRank> {
    if from > 0 && from < stands.len() {
        stands.select_nth_unstable(from);
    }
    let mut some = stands.split_off(from.min(stands.len()));
    if some.len() > ROWS {
        some.select_nth_unstable(ROWS);
        some.truncate(ROWS);
    }
    some.sort_unstable();
    some
}

/// Performs an action on the requests that a form selects, and redirects to the page of the form.
pub(super) async fn submit(
    caller: &Caller,
    chosen: RequestAction,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let mut keys = Vec::new();
    for (name, value) in form.fields() {
        match name {
            "chosen" => keys.push(key(value)?),
            "url" => {
                keys.push(caller.key_of(value)?);
            }
            _ => {}
        }
    }
    if keys.is_empty() {
        return Err(FormError::Nothing { back: back(form) });
    }
    match chosen {
        RequestAction::Prioritize(priority) => {
            prioritize(caller, keys, priority).await?;
        }
        RequestAction::Retry => {
            fetch::retry(&caller.context.fetch, Some(&keys), |place| caller.may_see_queued(place))
                .await?;
        }
        RequestAction::Delete => {
            for key in keys {
                dequeue(caller, key).await?;
            }
        }
    }
    Ok(caller.see_other(&back(form)))
}

/// Validates the token of a form as a token for only setting the priority of one request.
pub(super) fn priority_token(caller: &Caller, form: &SubmittedForm) -> OwnToken {
    let worth = only_chosen(form).map_or(Token::Absent, |key| {
        caller.check_token(Purpose::Priority(key), form.value("token"))
    });
    OwnToken { worth, is_required: false }
}

/// Returns the key of the only request in a form. `None` if the form names no or several requests,
/// or a URL.
fn only_chosen(form: &SubmittedForm) -> Option<&str> {
    let mut named = form.fields().filter(|(name, _)| matches!(*name, "chosen" | "url"));
    match (named.next(), named.next()) {
        (Some(("chosen", key)), None) => Some(key),
        _ => None,
    }
}

/// Retries failed and delayed requests now: the one in the field `key`, or all.
pub(super) async fn retry(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let chosen = form.value("key").map(key).transpose()?;
    let only = chosen.as_ref().map(std::slice::from_ref);
    fetch::retry(&caller.context.fetch, only, |place| caller.may_see_queued(place)).await?;
    Ok(caller.see_other(&back(form)))
}

/// Validates the token of a form as a token for only deleting one request.
pub(super) fn delete_token(caller: &Caller, form: &SubmittedForm) -> OwnToken {
    let worth = key_to_delete(caller, form).map_or(Token::Absent, |key| {
        caller.check_token(Purpose::Undo(&key.to_string()), form.value("token"))
    });
    OwnToken { worth, is_required: false }
}

/// Deletes the request that the form of our own page or of a message page names.
pub(super) async fn delete(
    caller: &Caller,
    sent: FormRequest<'_>,
) -> Result<Response<Body>, FormError> {
    let key = key_to_delete(caller, sent.form)?;
    if !sent.is_of_message {
        dequeue(caller, key).await?;
        return Ok(caller.see_other(&back(sent.form)));
    }
    let store = &caller.context.storage.store;
    let known = store.spool().queue().summary(&key);
    let removed = store.dequeue(key).await?;
    let url = known.as_ref().map_or("", |known| known.place.url());
    Ok(caller.see_other(&path_of(url, removed)))
}

/// Returns the key of the request that a form deletes.
fn key_to_delete(caller: &Caller, form: &SubmittedForm) -> Result<Key, FormError> {
    match (form.value("key"), form.value("url")) {
        (Some(text), _) => key(text),
        (None, Some(url)) => {
            caller.key_of(url).map_err(|error| FormError::Bad(error_chain(&error)))
        }
        (None, None) => Err(FormError::Bad("expected a key or a URL".to_owned())),
    }
}

fn key(text: &str) -> Result<Key, FormError> {
    text.parse().map_err(|_| FormError::Bad("expected a key of 64 hex digits".to_owned()))
}

/// Deletes a request from the queue, if the caller may see it. Returns whether it was deleted.
///
/// # Errors
///
/// If the disk fails.
pub(super) async fn dequeue(caller: &Caller, key: Key) -> Result<bool, Error> {
    let store = &caller.context.storage.store;
    let known = store.spool().queue().summary(&key);
    if !known.is_some_and(|known| caller.may_see_queued(&known.place)) {
        return Ok(false);
    }
    store.dequeue(key).await
}

/// Deletes all requests that the caller may see, or those in the state that the form names, for our
/// own page.
pub(super) async fn delete_all(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, Error> {
    let only = page::state_in(form);
    // An unknown state means no request.
    if only.is_some() || form.value(page::STATE).is_none() {
        empty(caller, only).await?;
    }
    Ok(caller.see_other(PATH))
}

/// Deletes all requests that the caller may see from the queue, or only those in one state. Returns
/// their number.
///
/// # Errors
///
/// If the disk fails. Requests before the failure are deleted.
pub(super) async fn empty(caller: &Caller, only: Option<ItemState>) -> Result<u64, Error> {
    let (context, mut keys) = (&caller.context, Vec::new());
    context.storage.store.spool().queue().visit(|request| {
        let is_in = |only| status::state(context, request) == only;
        if caller.may_see_queued(&request.place) && only.is_none_or(is_in) {
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

/// Returns the page of the queue to which a form returns: the one in its field `back`, or else the
/// first.
pub(super) fn back(form: &SubmittedForm) -> String {
    let back = form.value("back").and_then(|back| back.strip_prefix(PATH));
    QueueSelection::parse(back.and_then(|rest| rest.strip_prefix('?'))).address()
}

/// Sets the priority of the given requests, as far as the caller may see them. Returns how many
/// were changed.
///
/// # Errors
///
/// If the disk fails. The requests before the failure have the new priority.
pub(super) async fn prioritize(
    caller: &Caller,
    mut keys: Vec<Key>,
    priority: Priority,
) -> Result<u64, Error> {
    let queue = caller.context.storage.store.spool().queue();
    keys.retain(|key| queue.summary(key).is_some_and(|known| caller.may_see_queued(&known.place)));
    let count =
        caller.context.storage.store.run(move |spool| spool.queue().prioritize(&keys, priority));
    let count = count.await?;
    caller.context.fetch.fetcher.wake();
    Ok(count)
}

/// Returns the keys of the requests that the caller may see, for each of these canonical URLs.
pub(super) fn with_urls(caller: &Caller, urls: &[String]) -> HashMap<String, Vec<Key>> {
    let wanted: HashSet<&str> = urls.iter().map(String::as_str).collect();
    let mut found = HashMap::<String, Vec<Key>>::new();
    caller.context.storage.store.spool().queue().visit(|request| {
        let url = request.place.url();
        if wanted.contains(url) && caller.may_see_queued(&request.place) {
            found.entry(url.to_owned()).or_default().push(request.place.key());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_spool::{Outgoing, Place, RequestKind};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn request(number: usize) -> OutgoingSummary {
        let url = CanonicalUrl::parse(&format!("http://a/{number}"), &LocalHost::default());
        let head = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        let queued = at(i64::try_from(number).unwrap());
        Outgoing::new(Place::of(&url.unwrap()), head, RequestKind::Page, queued).summary
    }

    #[test]
    fn fetchable_requests_precede_held_ones() {
        use ItemState::{Active, Asking, Failed, Waiting};
        let mut later = request(1);
        later.fetching.not_before = Some(at(100));
        let mut due = request(2);
        due.fetching.not_before = Some(at(50));
        let (mut first, mut last) = (request(9), request(0));
        (first.priority, last.priority) = (Priority::First, Priority::Last);
        let mut stands: Vec<_> = [
            (0, &request(3), Failed),
            (1, &request(4), Asking),
            (2, &later, Waiting),
            (3, &last, Waiting),
            (4, &due, Waiting),
            (5, &first, Waiting),
            (6, &request(8), Active),
        ]
        .map(|(number, request, state)| (QueueRank::of(request, state, at(60)), number))
        .into();
        stands.sort_unstable();
        let order: Vec<_> = stands.iter().map(|(_, number)| *number).collect();
        assert_eq!(order, [6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn a_page_of_a_long_queue_equals_that_of_a_full_sort() {
        let mut all: Vec<_> = (0..231)
            .map(|number| QueueRank::of(&request(number * 97 % 231), ItemState::Waiting, at(0)))
            .collect();
        let given = all.clone();
        all.sort_unstable();
        for from in (0..=all.len() + ROWS).step_by(ROWS) {
            let want: Vec<_> = all.iter().skip(from).take(ROWS).copied().collect();
            assert_eq!(page_of_ranks(given.clone(), from), want, "{from}");
        }
    }
}
