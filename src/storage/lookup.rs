//! Looks up the stored copy of a URL for a person, regardless of request fields: the newest of the
//! person's own entries or of the shared entries. An entry for the same spelling of the URL is
//! preferred, then one for the canonical spelling. [`crate::proxy::choose`] chooses the copy for a
//! request.

use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::DATE;
use wwwoffle_spool::{Error, Place};

use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::base::spelling::Spelling;
use crate::storage::store::{Store, StoredCopy};

/// The entries found for one request.
#[derive(Debug, Default)]
pub struct CopyPair {
    own: Option<StoredCopy>,
    public: Option<StoredCopy>,
}

impl CopyPair {
    /// Leaves out entries for other spellings of the URL.
    #[must_use]
    pub fn spelled(self, spelling: &Spelling) -> Self {
        let is_exact = |copy: &StoredCopy| spelling.is_of(copy.entry.place().variant_text());
        Self { own: self.own.filter(is_exact), public: self.public.filter(is_exact) }
    }

    /// Chooses between the person's own copy and the shared copy. `None` if there is neither.
    ///
    /// In offline mode, the person's own copy is chosen, because this person has seen it. The
    /// shared copy may be a page for people who are not logged in. In the other modes, the copy
    /// with the newer `Date` is chosen (RFC 9111 §4), since both are responses of the origin to
    /// this request.
    #[must_use]
    pub fn choose(self, mode: Mode) -> Option<StoredCopy> {
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
pub async fn look_up(store: &Store, places: &Places) -> Result<CopyPair, Error> {
    let own = preferred(store, &places.own, places).await?;
    let public = preferred(store, &places.public, places).await?;
    Ok(CopyPair { own, public: public.filter(|copy| places.accepts_public(&copy.fields, false)) })
}

async fn preferred(
    store: &Store,
    place: &Place,
    places: &Places,
) -> Result<Option<StoredCopy>, Error> {
    let entries = store.entries(place).await?.into_iter();
    let ranked = entries.filter_map(|copy| Some((places.preference(copy.entry.place())?, copy)));
    // Of several entries with the same preference, this returns the first, which is the newest.
    Ok(ranked.min_by_key(|(rank, _)| *rank).map(|(_, copy)| copy))
}

fn date(copy: &StoredCopy) -> SystemTime {
    parse_date(&copy.fields).unwrap_or_else(|| copy.entry.received().into())
}

fn parse_date(fields: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(fields.get(DATE)?.to_str().ok()?).ok()
}
