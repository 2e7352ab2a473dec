//! All that is kept for a request, and which of it is the request's own (RFC 9111 §4.1).

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::VARY;
use wwwoffle_spool::{Error, Place};

use super::ask::Ask;
use super::decide::MethodKind;
use super::keep::is_good;
use super::ranges::part;
use super::rules::Standing;
use crate::caching::validate::Question;
use crate::caching::vary::{Stored, nearest, select};
use crate::daemon::Daemon;
use crate::store::{Kept, Store};

/// The answers kept for one key.
#[derive(Debug, Default)]
pub struct Found {
    all: Vec<Arc<Kept>>,
    /// The fields of the request as its origin would get them.
    request: HeaderMap,
    own: Option<Arc<Kept>>,
    near: Option<Arc<Kept>>,
}

impl Found {
    /// Chooses among `all` for a request with these fields.
    #[must_use]
    pub fn new(all: Vec<Arc<Kept>>, request: HeaderMap) -> Self {
        let stored = stored(&all);
        let own = select(&stored, &request);
        let at = |index: usize| all.get(index).map(Arc::clone);
        // A page that somebody can read is better than the error that another one got.
        let good: Vec<_> = all.iter().filter(|kept| is_good(kept.status)).map(Arc::clone).collect();
        let is_good = |index: &usize| all.get(*index).is_some_and(|kept| is_good(kept.status));
        let near = own
            .filter(is_good)
            .and_then(at)
            .or_else(|| good.get(nearest(&self::stored(&good), &request)?).map(Arc::clone))
            .or_else(|| at(own.or_else(|| nearest(&stored, &request))?));
        let own = own.and_then(at);
        Self { all, request, own, near }
    }

    /// The same with parts that have what the request asks for: they answer it before anything else.
    #[must_use]
    fn with_parts(mut self, parts: Arc<Kept>, selecting: impl FnOnce() -> HeaderMap) -> Self {
        if parts.fields.contains_key(VARY) {
            self.request = selecting();
        }
        self.all.push(Arc::clone(&parts));
        Self { own: Some(Arc::clone(&parts)), near: Some(parts), ..self }
    }

    /// The request's own: the one that may answer it as if the origin had been asked, as far as
    /// `Vary` tells.
    #[must_use]
    pub fn own(&self) -> Option<&Arc<Kept>> {
        self.own.as_ref()
    }

    /// What is served where the origin cannot be asked: the request's own, or else the nearest.
    #[must_use]
    pub fn near(&self) -> Option<&Arc<Kept>> {
        self.near.as_ref()
    }

    /// All of it.
    #[must_use]
    pub fn all(&self) -> &[Arc<Kept>] {
        &self.all
    }

    /// The fields of the request as its origin would get them, where that matters.
    #[must_use]
    pub fn request(&self) -> &HeaderMap {
        &self.request
    }

    /// What to ask the origin about those that the client can read: `takes` says which. `personal` is
    /// that of [`Question::about`].
    #[must_use]
    pub fn about(&self, takes: impl Fn(&Kept) -> bool, personal: bool) -> About {
        // Conditions count only where the answer without them is a success (RFC 9110 §13.2.1).
        let can_hold = |kept: &&Arc<Kept>| kept.status.is_success() && takes(kept);
        let kept: Vec<_> = self.all.iter().filter(can_hold).map(Arc::clone).collect();
        let is_own = |kept: &Arc<Kept>| self.own.as_ref().is_some_and(|own| Arc::ptr_eq(own, kept));
        let question = Question::about(&stored(&kept), kept.iter().position(is_own), personal);
        About { question, kept, request: self.request.clone(), personal }
    }
}

/// Whether something was sent to the origin that may have changed what it would answer: then it is
/// asked, where it can be (RFC 9111 §4.4).
#[must_use]
pub fn is_invalid(kept: Option<&Kept>) -> bool {
    kept.is_some_and(|kept| kept.entry.invalid_since().is_some())
}

/// What an origin is asked about kept answers.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The question.
    pub question: Question,
    /// The answers it was made from.
    pub kept: Vec<Arc<Kept>>,
    /// The fields of the request, where that matters.
    pub request: HeaderMap,
    /// Whether the request carries a cookie or credentials.
    pub personal: bool,
}

/// `kept` as the choice sees it.
#[must_use]
pub fn stored(kept: &[Arc<Kept>]) -> Vec<Stored<'_>> {
    kept.iter().map(|kept| kept.stored()).collect()
}

/// Looks up what is kept, for the requests that may use it.
pub(super) async fn look_up(daemon: &Daemon, ask: &Ask) -> Result<Found, Error> {
    if ask.asked.method == MethodKind::Other || ask.asked.standing != Standing::Usual {
        return Ok(Found::default());
    }
    let selecting = || ask.wire(&daemon.pseudonym).into_parts().0.headers;
    let found = find(&daemon.store, &ask.place, selecting).await?;
    let near = found.near().map(Arc::as_ref);
    Ok(match part::find(daemon, ask, near).await {
        Some(parts) => found.with_parts(Arc::new(parts), selecting),
        None => found,
    })
}

/// Finds what is kept at `place`; `selecting` makes the fields of the request as its origin would get
/// them.
pub(crate) async fn find(
    store: &Store,
    place: &Place,
    selecting: impl FnOnce() -> HeaderMap,
) -> Result<Found, Error> {
    let all: Vec<_> = store.entries(place).await?.into_iter().map(Arc::new).collect();
    let varies = all.iter().any(|kept| kept.fields.contains_key(VARY));
    // Only then the fields of the request matter.
    let request = if varies { selecting() } else { HeaderMap::new() };
    Ok(Found::new(all, request))
}
