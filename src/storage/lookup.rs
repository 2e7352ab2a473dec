//! What the spool has of a URL for a person, whatever a request for it would say: the newest of the
//! person's own answers, or of everyone's. What answers a request is in [`crate::proxy::choose`].

use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::DATE;
use wwwoffle_spool::Error;

use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::storage::store::{Kept, Store};

/// The answers that are kept for one request.
#[derive(Debug, Default)]
pub struct Found {
    own: Option<Kept>,
    public: Option<Kept>,
}

impl Found {
    /// The one to go on with.
    ///
    /// Offline it is the owner's own: that is what this person saw, and everyone's may be what a
    /// stranger is shown. Else the newer one by its `Date` (RFC 9111 §4), for both are the origin's
    /// answer to this request.
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

/// Looks where the answer to a request may lie.
///
/// # Errors
///
/// When the disk fails.
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
