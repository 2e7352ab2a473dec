//! The stored copies for a request, and the choice among them (RFC 9111 §4.1).

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::VARY;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::Error;
use wwwoffle_url::LocalHost;

use super::ask::ProxyRequest;
use super::captures::capture_of;
use super::decide::MethodKind;
use super::keep::is_good;
use super::ranges::part;
use super::rules::{StoragePolicy, vary_rules};
use super::site_logins::{self, LockedCopy, LoginClient};
use super::verdict::verdict;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::proxy::context::ProxyContext;
use crate::storage::store::{CachedLookup, EntryIdentity, Store, StoredCopy};
use wwwoffle_http::caching::reuse::Reuse;
use wwwoffle_http::caching::validate::ConditionalRequest;
use wwwoffle_http::caching::vary::{StoredVariant, VaryRules, nearest, select};
use wwwoffle_http::redirect::{location, shown_location};

/// The stored copies for a request, with the copies chosen among them.
#[derive(Debug, Default)]
pub struct CopyLookup {
    all: Vec<Arc<StoredCopy>>,
    /// The fields of the request in the form for its origin.
    request: HeaderMap,
    own: Option<Arc<StoredCopy>>,
    /// The second choice, if both a personal and a shared copy match: normally the older one.
    other: Option<Arc<StoredCopy>>,
    near: Option<Arc<StoredCopy>>,
    /// Whether `near` is of another spelling of the URL.
    is_respelled: bool,
    /// The cached lookups that contained the copies, if all copies come from such lookups.
    lookups: Option<[Arc<CachedLookup>; 2]>,
    /// A copy that another login opens, if the login of the request opens none.
    pub(super) locked: Option<LockedCopy>,
    /// Whether the site takes Digest, so that a password must not be sent to it.
    pub(super) keeps_password: bool,
}

impl CopyLookup {
    /// Chooses among the client's `own` and the shared copies for a request with these fields.
    ///
    /// If an own and a shared copy match the request, the copy with the later `Date` is used (RFC
    /// 9111 §4). If the origin cannot be reached, the person's own copy is preferred: the person
    /// has seen it, and the shared copy may be a page for strangers. But an error never takes
    /// precedence over a page.
    #[must_use]
    pub fn new(
        own: Vec<Arc<StoredCopy>>,
        public: Vec<Arc<StoredCopy>>,
        request: HeaderMap,
    ) -> Self {
        if own.is_empty() || public.is_empty() {
            let all = if own.is_empty() { public } else { own };
            return Self::from_one_place(all, request);
        }
        let mut own = Self::from_one_place(own, request.clone());
        let public = Self::from_one_place(public, request);
        (own.own, own.other) = match (own.own, public.own) {
            (Some(own), Some(public)) if own.stored().date() < public.stored().date() => {
                (Some(public), Some(own))
            }
            (Some(own), public) => (Some(own), public),
            (None, public) => (public, None),
        };
        let is_error = |copy: &Arc<StoredCopy>| !is_good(copy.status);
        if own.near.as_ref().is_none_or(is_error) && !public.near.as_ref().is_none_or(is_error) {
            own.near = public.near;
        }
        own.all.extend(public.all);
        own
    }

    /// A lookup that found no copies of the requested URL. `copy`, a stored copy of another URL, is
    /// served if the origin cannot be reached.
    #[must_use]
    pub fn replacing(copy: StoredCopy) -> Self {
        Self { near: Some(Arc::new(copy)), ..Self::default() }
    }

    fn from_one_place(all: Vec<Arc<StoredCopy>>, request: HeaderMap) -> Self {
        let stored = stored(&all);
        let own = select(&stored, &request);
        let at = |index: usize| all.get(index).map(Arc::clone);
        // A page of another variant is better than an error of the requested one.
        let good: Vec<_> = all.iter().filter(|copy| is_good(copy.status)).map(Arc::clone).collect();
        let is_good = |index: &usize| all.get(*index).is_some_and(|copy| is_good(copy.status));
        let near = own
            .filter(is_good)
            .and_then(at)
            .or_else(|| good.get(nearest(&self::stored(&good), &request)?).map(Arc::clone))
            .or_else(|| at(own.or_else(|| nearest(&stored, &request))?));
        let own = own.and_then(at);
        Self { all, request, own, near, ..Self::default() }
    }

    /// Prefers the older of two matching copies, if the newer must not be reused.
    #[must_use]
    fn usable(mut self, is_withheld: impl Fn(&StoredCopy) -> bool) -> Self {
        let (own, other) = (self.own.as_ref(), self.other.as_ref());
        if own.is_some_and(|own| is_withheld(own)) && other.is_some_and(|other| !is_withheld(other))
        {
            std::mem::swap(&mut self.own, &mut self.other);
        }
        self
    }

    /// Adds segments that contain the requested bytes: they take precedence over all other copies.
    #[must_use]
    fn with_parts(mut self, parts: Arc<StoredCopy>, selecting: impl FnOnce() -> HeaderMap) -> Self {
        if parts.fields.contains_key(VARY) {
            self.request = selecting();
        }
        self.all.push(Arc::clone(&parts));
        Self {
            own: Some(Arc::clone(&parts)),
            near: Some(parts),
            lookups: None,
            is_respelled: false,
            ..self
        }
    }

    /// The copy whose variant is the requested one, so that `Vary` permits its use. `None` if no
    /// copy matches.
    #[must_use]
    pub fn own(&self) -> Option<&Arc<StoredCopy>> {
        self.own.as_ref()
    }

    /// The copy to serve if the origin cannot be reached: a matching copy, or else the nearest one.
    /// A page takes precedence over an error.
    #[must_use]
    pub fn fallback_copy(&self) -> Option<&Arc<StoredCopy>> {
        self.near.as_ref()
    }

    /// The copy to serve if the origin cannot be reached, but only if its URL is spelled exactly
    /// like the requested one.
    #[must_use]
    pub fn spelled_alike(&self) -> Option<&Arc<StoredCopy>> {
        self.near.as_ref().filter(|_| !self.is_respelled)
    }

    #[must_use]
    fn remove_respelled(mut self) -> Self {
        self.near = self.near.filter(|_| !self.is_respelled);
        self.is_respelled = false;
        self
    }

    /// Whether [`Self::fallback_copy`] is of another spelling of the URL.
    #[must_use]
    pub fn is_respelled(&self) -> bool {
        self.is_respelled
    }

    /// The cached lookups that contained the copies. Another lookup has the same result as long as
    /// these are unchanged. `None` if some copies do not come from a cached lookup.
    #[must_use]
    pub fn lookups(&self) -> Option<&[Arc<CachedLookup>; 2]> {
        self.lookups.as_ref()
    }

    /// Whether no copy was found, of any spelling or login.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.near.is_none() && self.locked.is_none()
    }

    /// All stored copies of the requested spelling, and the segments that contain the requested
    /// bytes.
    #[must_use]
    pub fn all(&self) -> &[Arc<StoredCopy>] {
        &self.all
    }

    /// The fields of the request in the form for its origin. Empty if no stored response has
    /// `Vary`.
    #[must_use]
    pub fn request(&self) -> &HeaderMap {
        &self.request
    }

    /// The revalidation of the copies that the client can read, as `takes` decides. `personal` is
    /// the argument of [`ConditionalRequest::for_stored`].
    #[must_use]
    pub fn plan_revalidation(
        &self,
        takes: impl Fn(&StoredCopy) -> bool,
        personal: bool,
    ) -> Revalidation {
        // Conditions apply only if the response without them is a success (RFC 9110 §13.2.1).
        // The origin must not confirm the capture of a web archive: it would then hide the origin.
        let can_hold = |copy: &&Arc<StoredCopy>| {
            copy.status.is_success() && capture_of(copy).is_none() && takes(copy)
        };
        let copies: Vec<_> = self.all.iter().filter(can_hold).map(Arc::clone).collect();
        let is_own =
            |copy: &Arc<StoredCopy>| self.own.as_ref().is_some_and(|own| Arc::ptr_eq(own, copy));
        let question = ConditionalRequest::for_stored(
            &stored(&copies),
            copies.iter().position(is_own),
            personal,
        );
        Revalidation { question, copies, request: self.request.clone(), personal }
    }
}

/// Whether an unsafe request to the origin may have changed the response. Then the copy is
/// revalidated, if the origin can be reached (RFC 9111 §4.4).
#[must_use]
pub fn is_invalid(copy: Option<&StoredCopy>) -> bool {
    copy.is_some_and(|copy| copy.entry.invalid_since().is_some())
}

/// The revalidation of stored copies.
#[derive(Clone, Debug, Default)]
pub struct Revalidation {
    /// The conditions.
    pub question: ConditionalRequest,
    /// The candidates for revalidation. `question` refers to them by their index.
    pub copies: Vec<Arc<StoredCopy>>,
    /// The fields of the request. Empty if no stored response has `Vary`.
    pub request: HeaderMap,
    /// Whether the request carries a cookie or credentials.
    pub personal: bool,
}

impl Revalidation {
    /// The identities of the candidates. Empty if the request has no conditions.
    #[must_use]
    pub fn identities(&self) -> Vec<EntryIdentity> {
        if self.question.is_empty() {
            return Vec::new();
        }
        self.copies.iter().map(|copy| copy.identity()).collect()
    }
}

/// Converts stored copies into the variants among which a request chooses.
#[must_use]
pub fn stored(copies: &[Arc<StoredCopy>]) -> Vec<StoredVariant<'_>> {
    copies.iter().map(|copy| copy.stored()).collect()
}

/// Looks up the stored copies for a request. Finds none if the request must not use any.
pub(super) async fn look_up(
    context: &ProxyContext,
    ask: &ProxyRequest,
    client: Option<LoginClient>,
) -> Result<CopyLookup, Error> {
    let is_never_kept = ask.asked.standing != StoragePolicy::Usual && !ask.asked.form_answer;
    if ask.asked.method == MethodKind::Other || is_never_kept {
        return Ok(CopyLookup::default());
    }
    let selecting = || ask.origin_request(&context.base.pseudonym).into_parts().0.headers;
    let places = &ask.places;
    let lookups = context.storage.store.lookups([&places.own, &places.public]).await?;
    let [own, _] = &lookups;
    let logins = site_logins::open(context, ask, client, own.all()).await;
    let rules = vary_rules(&ask.start.config, &UrlParts::of(&ask.bare));
    let counted = if rules.is_empty() { HeaderMap::new() } else { selecting() };
    let is_open = |copy: &StoredCopy| {
        (copy.entry.place().login().is_none() || logins.opened.contains(&copy.identity()))
            && rules.accept(&copy.stored(), &counted)
    };
    let shared = ask.start.config.caching.shared;
    let found = among(lookups, places, (shared, &is_open), selecting);
    // Online a copy of another spelling is not used: the origin may have another resource under the
    // requested spelling. The response to a form is an exception, because no origin has it.
    let takes_respelled = ask.start.mode == Mode::Offline || ask.asked.form_answer;
    let found = if takes_respelled { found } else { found.remove_respelled() };
    let is_withheld =
        |copy: &StoredCopy| matches!(verdict(context, ask, copy).reuse, Reuse::Withheld(_));
    let found = found.usable(is_withheld);
    let (locked, keeps_password) = (logins.locked, logins.keeps_password);
    let found = CopyLookup { locked, keeps_password, ..found };
    let near = found.fallback_copy().map(Arc::as_ref);
    let parts = part::find(context, ask, near).await;
    Ok(match parts.filter(|parts| rules.accept(&parts.stored(), &counted)) {
        Some(parts) => found.with_parts(Arc::new(parts), selecting),
        None => found,
    })
}

/// Finds the stored copies at `places` that may answer the client. `shared` says whether we are a
/// shared cache; `selecting` makes the fields of the request in the form for its origin. The copies
/// of a login are found by its name; its password is not checked.
pub(crate) async fn find(
    store: &Store,
    places: &Places,
    (shared, rules): (bool, &VaryRules),
    selecting: impl Fn() -> HeaderMap,
) -> Result<CopyLookup, Error> {
    let lookups = store.lookups([&places.own, &places.public]).await?;
    let counted = if rules.is_empty() { HeaderMap::new() } else { selecting() };
    let is_open = |copy: &StoredCopy| rules.accept(&copy.stored(), &counted);
    Ok(among(lookups, places, (shared, &is_open), selecting))
}

/// Chooses among the copies of both lookups. `is_open` says whether a copy may be used.
fn among(
    lookups: [Arc<CachedLookup>; 2],
    places: &Places,
    (shared, is_open): (bool, &dyn Fn(&StoredCopy) -> bool),
    selecting: impl FnOnce() -> HeaderMap,
) -> CopyLookup {
    let [mut own, mut public] = lookups.each_ref().map(|one| one.all().to_vec());
    own.retain(|copy| places.is_of_login(copy.entry.place()) && is_open(copy));
    public.retain(|copy| places.accepts_public(&copy.fields, shared) && is_open(copy));
    let is_exact =
        |copy: &Arc<StoredCopy>| places.spelling.is_of(copy.entry.place().variant_text());
    let (own, own_others): (Vec<_>, Vec<_>) = own.into_iter().partition(is_exact);
    let (public, public_others): (Vec<_>, Vec<_>) = public.into_iter().partition(is_exact);
    if own.is_empty() && public.is_empty() {
        let [own, public] = [own_others, public_others].map(remove_redirects_back);
        let others = CopyLookup::new(own, public, HeaderMap::new());
        let is_respelled = others.near.is_some();
        return CopyLookup {
            near: others.near,
            is_respelled,
            lookups: Some(lookups),
            ..CopyLookup::default()
        };
    }
    let varies = own.iter().chain(&public).any(|copy| copy.fields.contains_key(VARY));
    // The fields of the request are relevant only if a stored response has `Vary`.
    let request = if varies { selecting() } else { HeaderMap::new() };
    CopyLookup { lookups: Some(lookups), ..CopyLookup::new(own, public, request) }
}

/// Leaves out redirects to their own URL. They were stored for another spelling of this URL, and
/// would send the client back to the spelling that it requests, in a loop.
fn remove_redirects_back(mut copies: Vec<Arc<StoredCopy>>) -> Vec<Arc<StoredCopy>> {
    copies.retain(|copy| {
        let url = copy.entry.url();
        let target = location(url, copy.status, &copy.fields);
        // The location is absolute, so its canonical form does not depend on the local host.
        let target = target.and_then(|target| shown_location(&target, &LocalHost::default()));
        target.as_deref() != Some(url)
    });
    copies
}
