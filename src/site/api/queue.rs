//! `POST /api/queue/priority`: the priority of queued requests.

use wwwoffle_url::CanonicalUrl;

use super::{CallFault, key, not_too_many};
use crate::api::{Prioritized, PriorityRequest};
use crate::site::caller::Caller;
use crate::site::queue;

/// Sets the priority of requests.
pub(in crate::site) async fn prioritize(
    caller: &Caller,
    wanted: PriorityRequest,
) -> Result<Prioritized, CallFault> {
    not_too_many(&wanted.urls)?;
    not_too_many(&wanted.keys)?;
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
    let prioritized = queue::prioritize(caller, keys, wanted.priority.into()).await?;
    Ok(Prioritized { prioritized, missing })
}
