//! Opens stored copies of pages behind a login: offline the proxy asks for the login with the
//! challenge of the site, and serves a copy only to the login with which it was stored.
//!
//! A copy has a login record ([`LoginRecord`]), with a salted hash in place of the password.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;
use hyper::Method;
use hyper::header::HeaderValue;
use lru::LruCache;
use tokio::sync::Semaphore;
use wwwoffle_spool::Place;

use super::access::{LoginCandidate, LoginRefusal};
use super::ask::ProxyRequest;
use super::client_connection::ClientConnection;
use super::site::Door;
use crate::base::blocking::blocking;
use crate::base::site_login::{LoginRecord, SiteLogin, challenge_of};
use crate::proxy::context::ProxyContext;
use crate::storage::store::{EntryIdentity, StoredCopy};
use wwwoffle_http::head;

/// Maximum number of login records, and of challenges, that are remembered.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// The address of a client, and whether its requests cannot be read by others.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoginClient {
    peer: IpAddr,
    is_private: bool,
}

impl LoginClient {
    pub(super) fn of(connection: &ClientConnection) -> Self {
        let peer = connection.peer.ip().to_canonical();
        let is_encrypted = !matches!(connection.door, Door::Plain | Door::Redirected(_));
        Self { peer, is_private: is_encrypted || peer.is_loopback() }
    }
}

/// The login copies of a URL, for one request.
#[derive(Debug, Default)]
pub(super) struct OpenedCopies {
    /// The copies that the login of the request opens.
    pub(super) opened: Vec<EntryIdentity>,
    /// How to open the others, if none is opened.
    pub(super) locked: Option<LockedCopy>,
    /// Whether the site takes Digest, so that a password must not be sent to it.
    pub(super) keeps_password: bool,
}

/// A copy that the request does not open.
#[derive(Clone, Debug)]
pub(super) enum LockedCopy {
    /// A request with the right login opens it.
    Asks(HeaderValue),
    /// The password cannot be checked for this client.
    Closed,
    /// The client has sent too many wrong passwords, or too many checks are running.
    Refused(LoginRefusal),
}

/// Determines which of the person's `own` copies the login of the request opens. Without `client`
/// no password is checked.
pub(super) async fn open(
    context: &ProxyContext,
    ask: &ProxyRequest,
    client: Option<LoginClient>,
    own: &[Arc<StoredCopy>],
) -> OpenedCopies {
    let recorded = |copy: &Arc<StoredCopy>| {
        copy.entry.place().login()?;
        let text = copy.request.get(head::LOGIN)?.to_str().ok()?;
        Some((Arc::clone(copy), LoginRecord::parse(text)?))
    };
    let all: Vec<_> = own.iter().filter_map(recorded).collect();
    let is_meant = |copy: &StoredCopy| ask.places.is_of_login(copy.entry.place());
    // The challenge of the login that the request names, or else of the newest copy.
    let Some((_, next)) = all.iter().find(|(copy, _)| is_meant(copy)).or(all.first()) else {
        return OpenedCopies::default();
    };
    let changed = ask.modification.as_ref();
    let is_for_gateway = changed.is_some_and(|changed| changed.gateway_mark().is_some());
    let may_check = |record: &LoginRecord| {
        client.is_some_and(|client| client.is_private || !record.is_digest()) && !is_for_gateway
    };
    let mut locked = if may_check(next) {
        LockedCopy::Asks(next.challenge().clone())
    } else {
        LockedCopy::Closed
    };
    let login = match SiteLogin::of(&ask.head.method, &ask.head.fields) {
        Some(SiteLogin::Basic(login)) => Some(login),
        // The proof of a Digest login cannot be checked, so that each request goes to the origin.
        Some(SiteLogin::Digest { .. }) | None => None,
    };
    let session = login
        .as_ref()
        .map(|login| SiteLogin::Basic(login.clone()).session(origin_of(&ask.places.public)));
    let mut opened = Vec::new();
    for (copy, record) in all.iter().filter(|(copy, record)| is_meant(copy) && may_check(record)) {
        let secret = login.as_ref().and_then(|login| record.secret_of(login));
        let (Some(secret), Some(client)) = (secret, client) else { continue };
        let candidates = [LoginCandidate::Hash(record.hash().clone())];
        let logins = &context.clients.access.site_logins;
        match logins.check_login(client.peer, session, secret.as_bytes(), &candidates).await {
            Ok(_) => opened.push(copy.identity()),
            Err(LoginRefusal::Wrong) => {}
            Err(refusal) => {
                locked = LockedCopy::Refused(refusal);
                break;
            }
        }
    }
    let keeps_password = login.is_some()
        && all.iter().any(|(copy, record)| is_meant(copy) && record.is_digest())
        && !context.traffic.downloads.login_records.has_asked_for_basic(&ask.places.public);
    let locked = opened.is_empty().then_some(locked);
    OpenedCopies { opened, locked, keeps_password }
}

/// The makers of login records. What they remember is in memory only.
#[derive(Debug)]
pub(super) struct LoginRecords {
    /// The records of recent logins. All responses to a login have one record, so that a later
    /// check of one page is a check of all.
    records: Mutex<LruCache<[u8; 32], Arc<str>>>,
    /// The last challenge for Basic of each origin.
    challenges: Mutex<LruCache<String, Arc<str>>>,
    /// A record takes time and memory to make.
    making: Semaphore,
}

impl Default for LoginRecords {
    fn default() -> Self {
        Self {
            records: Mutex::new(LruCache::new(MAX_REMEMBERED)),
            challenges: Mutex::new(LruCache::new(MAX_REMEMBERED)),
            making: Semaphore::new(1),
        }
    }
}

impl LoginRecords {
    /// Remembers the challenge in a `401` for the URL of `place`.
    pub(super) fn remember_challenge(&self, place: &Place, answer: &HeaderMap) {
        if let Some(challenge) = challenge_of(answer) {
            lock(&self.challenges).put(origin_of(place).to_owned(), challenge.into());
        }
    }

    /// Whether the origin of `place` has asked for Basic lately.
    fn has_asked_for_basic(&self, place: &Place) -> bool {
        lock(&self.challenges).contains(origin_of(place))
    }

    /// The login record for a response at `place` to a request with this method and these fields.
    /// `None` if the login can never be checked offline.
    pub(super) async fn record(
        &self,
        place: &Place,
        method: &Method,
        fields: &HeaderMap,
    ) -> Option<Arc<str>> {
        let (login, origin) = (SiteLogin::of(method, fields)?, origin_of(place));
        let session = login.session(origin);
        // A browser requests many sub-resources at once, with one login.
        let _turn = self.making.acquire().await.ok()?;
        if let Some(known) = lock(&self.records).get(&session) {
            return Some(Arc::clone(known));
        }
        let challenge = lock(&self.challenges).get(origin).cloned();
        let host = origin.split("://").last().unwrap_or_default().to_owned();
        let made = blocking(move || login.record(&host, challenge.as_deref())).await;
        let record: Arc<str> = made?.into();
        lock(&self.records).put(session, Arc::clone(&record));
        Some(record)
    }
}

/// The scheme, host and port of a URL.
fn origin_of(place: &Place) -> &str {
    let url = place.url();
    let start = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let end = url.get(start..).and_then(|rest| rest.find(['/', '?'])).map(|path| start + path);
    url.get(..end.unwrap_or(url.len())).unwrap_or(url)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave a cache inconsistent.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_tls_are_private() {
        for (peer, is_secured, want) in [
            ("127.0.0.1:9", false, true),
            ("[::1]:9", false, true),
            ("[::ffff:127.0.0.1]:9", false, true),
            ("192.0.2.1:9", false, false),
            ("192.0.2.1:9", true, true),
        ] {
            let ours = IpAddr::from([192, 0, 2, 2]);
            let plain = ClientConnection::new(peer.parse().unwrap(), ours, Arc::new(()));
            let connection = if is_secured { plain.secured() } else { plain };
            assert_eq!(LoginClient::of(&connection).is_private, want, "{peer} {is_secured}");
        }
    }

    #[test]
    fn the_origin_of_a_place_is_its_scheme_host_and_port() {
        let local = wwwoffle_url::LocalHost::default();
        for (url, want) in [
            ("http://h.example/a?b=/c", "http://h.example"),
            ("https://h.example:8443/", "https://h.example:8443"),
            ("http://[::1]:81/?", "http://[::1]:81"),
        ] {
            let url = wwwoffle_url::CanonicalUrl::parse(url, &local).unwrap();
            assert_eq!(origin_of(&Place::of(&url)), want);
        }
    }
}
