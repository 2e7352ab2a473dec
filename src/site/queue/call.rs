//! The calls that change queued requests: `/api/queue/…`.

use wwwoffle_spool::Place;
use wwwoffle_url::CanonicalUrl;

use crate::fetch;
use crate::site::api::fault::CallFault;
use crate::site::api::{check_url_count, key};
use crate::site::caller::Caller;
use crate::site::queue;
use wwwoffle_api::{DeleteResponse, Prioritized, PriorityRequest, QueueTarget, RetryResponse};

/// Sets the priority of requests.
pub(in crate::site) async fn prioritize(
    caller: &Caller,
    wanted: PriorityRequest,
) -> Result<Prioritized, CallFault> {
    check_url_count(&wanted.urls)?;
    check_url_count(&wanted.keys)?;
    let mut keys = wanted.keys.iter().map(|text| key(text)).collect::<Result<Vec<_>, _>>()?;
    let urls: Result<Vec<_>, CallFault> = (wanted.urls.iter())
        .map(|text| {
            let url = CanonicalUrl::parse(text, &caller.context.base.local);
            let url = url.map_err(|error| CallFault::url(text, &error))?;
            Ok(url.without_credentials().as_str().to_owned())
        })
        .collect();
    let mut missing = urls?;
    let found = queue::with_urls(caller, &missing);
    missing.retain(|url| !found.contains_key(url));
    keys.extend(found.into_values().flatten());
    keys.sort_unstable();
    keys.dedup();
    let prioritized = queue::prioritize(caller, keys, wanted.priority).await?;
    Ok(Prioritized { prioritized, missing })
}

/// Retries failed and delayed requests.
pub(in crate::site) async fn retry(
    caller: &Caller,
    target: QueueTarget,
) -> Result<RetryResponse, CallFault> {
    let chosen = match target {
        QueueTarget::Key(text) => Some(key(&text)?),
        QueueTarget::All => None,
    };
    let is_theirs = |place: &Place| caller.may_see_queued(place);
    let only = chosen.as_ref().map(std::slice::from_ref);
    Ok(RetryResponse { retried: fetch::retry(&caller.context.fetch, only, is_theirs).await? })
}

/// Deletes requests.
pub(in crate::site) async fn delete(
    caller: &Caller,
    target: QueueTarget,
) -> Result<DeleteResponse, CallFault> {
    let deleted = match target {
        QueueTarget::Key(text) => u64::from(queue::dequeue(caller, key(&text)?).await?),
        QueueTarget::All => queue::empty(caller, None).await?,
    };
    Ok(DeleteResponse { deleted })
}
