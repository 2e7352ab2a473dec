//! `POST /api/entries/delete`, `/move` and `/write`: manual changes of stored entries.

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Incoming;
use wwwoffle_url::CanonicalUrl;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use crate::site::entries::{owner, places, read};
use crate::storage::edit::rename::{BadRename, Rename};
use crate::storage::edit::write::{Intake, IntakeError};
use crate::storage::store::timestamp;
use wwwoffle_api::{DeletedUrls, EntriesToDelete, EntriesToMove, MovedUrls, WrittenUrl};

/// Deletes the stored copies of URLs.
pub(in crate::site) async fn forget(
    caller: &Caller,
    wanted: EntriesToDelete,
) -> Result<DeletedUrls, CallFault> {
    let owner = owner(caller, wanted.owner.as_deref())?;
    let places = places(caller, &wanted.urls, &owner)?;
    let (mut gone, store) = (DeletedUrls::default(), &caller.context.storage.store);
    for places in places {
        let (address, mut removed) = (places.address(), false);
        for place in store.run(move |spool| places.to_delete(spool)).await? {
            removed |= store.remove(&place).await?;
        }
        let list = if removed { &mut gone.deleted } else { &mut gone.missing };
        list.push(address);
    }
    Ok(gone)
}

/// Moves stored copies to other URLs.
pub(in crate::site) async fn rename(
    caller: &Caller,
    wanted: EntriesToMove,
) -> Result<MovedUrls, CallFault> {
    let owner = owner(caller, wanted.owner.as_deref())?;
    let local = caller.context.base.local.clone();
    let rename = Rename::read(&wanted, &owner, &local)?;
    Ok(caller.context.storage.store.run(move |spool| rename.move_urls(spool, &local)).await?)
}

/// Stores a response for the URL in the arguments. The body of the call is the response: its head
/// and its body.
pub(in crate::site) async fn write(
    caller: &Caller,
    arguments: Option<&str>,
    mut body: Incoming,
) -> Result<WrittenUrl, CallFault> {
    let form = read(arguments)?;
    let text = form.value("url").filter(|url| !url.is_empty());
    let text = text.ok_or_else(|| CallFault::bad("expected the argument url"))?;
    let url = CanonicalUrl::parse(text, &caller.context.base.local)
        .map_err(|error| CallFault::url(text, &error))?;
    let named = form.value("owner").filter(|named| !named.is_empty());
    let places = Places::of_url(&url, &owner(caller, named)?);
    // Without an owner the entry is public. A URL with credentials always makes it private.
    let is_own = named.is_some() || places.credentials;
    let place = if is_own { places.own } else { places.public };
    let mut intake = Intake::new(place.clone(), timestamp(clock::now()));
    let patience = caller.context.base.config().options.socket_timeout;
    loop {
        let frame = tokio::time::timeout(patience, body.frame()).await;
        let frame = frame.map_err(|_| cut_short())?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| cut_short())?.into_data() else { continue };
        let taken = caller.context.storage.store.run(move |spool| {
            let pushed = intake.push(spool, &data);
            Ok(pushed.map(|()| intake))
        });
        intake = taken.await??;
    }
    let stored = caller.context.storage.store.run(move |_| Ok(intake.finish())).await??;
    Ok(WrittenUrl { url: place.url().to_owned(), bytes: stored.body_len })
}

/// The fault of a call whose body breaks off.
pub(super) fn cut_short() -> CallFault {
    CallFault::new(StatusCode::REQUEST_TIMEOUT, "the request body is incomplete")
}

impl From<BadRename> for CallFault {
    fn from(bad: BadRename) -> Self {
        Self::bad(error_chain(&bad))
    }
}

impl From<IntakeError> for CallFault {
    fn from(refused: IntakeError) -> Self {
        match refused {
            IntakeError::Spool(error) if !error.is_invalid() && !error.is_too_large() => {
                Self::from(error)
            }
            refused => Self::bad(error_chain(&refused)),
        }
    }
}
