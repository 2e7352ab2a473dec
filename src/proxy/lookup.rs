//! What the spool has for a request: its owner's own answer, or everyone's.

use std::time::SystemTime;

use hyper::header::DATE;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_spool::Error;

use super::keep::is_good;
use super::owner::Places;
use crate::mode::Mode;
use crate::store::{Kept, Store};

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

    /// The status of what an error must not take the place of.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        let all = || [&self.own, &self.public].into_iter().flatten().map(|kept| kept.status);
        all().find(|status| is_good(*status)).or_else(|| all().next())
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
    Ok(Found { own, public: public.filter(|kept| places.takes_public(&kept.fields)) })
}

fn date(kept: &Kept) -> SystemTime {
    told(&kept.fields).unwrap_or_else(|| kept.entry.when().into())
}

fn told(fields: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(fields.get(DATE)?.to_str().ok()?).ok()
}
