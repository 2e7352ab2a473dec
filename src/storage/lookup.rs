//! Looks up the stored copy of a URL for a person, regardless of request fields: the newest of the
//! person's own entries or of the shared entries. [`crate::proxy::choose`] chooses the copy for a
//! request.

use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::DATE;
use wwwoffle_spool::Error;

use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::storage::store::{Kept, Store};

/// The entries found for one request.
#[derive(Debug, Default)]
pub struct Found {
    own: Option<Kept>,
    public: Option<Kept>,
}

impl Found {
    /// Chooses between the person's own copy and the shared copy.
    ///
    /// Offline, the person's own copy is chosen, because this person has seen it. The shared copy
    /// may be a page for people who are not logged in. Otherwise the copy with the newer `Date` is
    /// chosen (RFC 9111 §4), since both are responses of the origin to this request.
    #[must_use]
    pub fn choose(self, mode: Mode) -> Option<Kept> {
        match (self.own, self.public) {
            (Some(own), Some(public)) if mode == Mode::Offline || date(&own) >= date(&public) => {
                Some(own)
            }
            (Some(_), Some(public)) => Some(public),
            (own, public) => own.or(public),
        }
    }
}

/// Looks up both places of the response to a request.
///
/// # Errors
///
/// If the disk fails.
pub async fn look_up(store: &Store, places: &Places) -> Result<Found, Error> {
    let own = store.kept(&places.own).await?;
    let public = store.kept(&places.public).await?;
    Ok(Found { own, public: public.filter(|kept| places.takes_public(&kept.fields, false)) })
}

fn date(kept: &Kept) -> SystemTime {
    told(&kept.fields).unwrap_or_else(|| kept.entry.when().into())
}

fn told(fields: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(fields.get(DATE)?.to_str().ok()?).ok()
}
