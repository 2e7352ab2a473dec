//! Checks passwords, with limits on memory, on waiting time and on the wrong passwords of each
//! client.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, info};
use wwwoffle_config::PasswordHash;

use super::log_throttle::LogThrottle;
use super::password_cache::{Keys, PasswordCache, PasswordKey};
use super::tries::{GuessCounter, network};

/// Maximum number of simultaneous checks. Each uses the memory that its hash specifies, normally 19
/// MiB.
const MAX_AT_ONCE: usize = 2;

/// The longest time that a request waits until the check of its password begins.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Maximum number of counted logins that are remembered.
const MAX_COUNTED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The hash to compare a password with.
#[derive(Clone, Debug)]
pub enum LoginCandidate {
    /// The hash of a user or of the control password.
    Hash(PasswordHash),
    /// Any hash, for an unknown user with this name: the check takes as long as for a known user,
    /// and always fails.
    StandIn(PasswordHash, Vec<u8>),
}

/// The reason why a login was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginRefusal {
    /// The user or the password is wrong.
    Wrong,
    /// The client has sent too many wrong passwords, and must wait for this time.
    TooOften(Duration),
    /// Too many other checks are running.
    Busy,
}

/// The checker of logins, with its cache and its limits.
#[derive(Debug)]
pub struct Logins {
    known: Arc<LoginCache>,
    slots: Arc<Semaphore>,
    throttle: LogThrottle,
}

/// The cached results, and the number of wrong passwords of each client.
#[derive(Debug)]
struct LoginCache {
    keys: Keys,
    checked: Mutex<PasswordCache>,
    tries: Mutex<GuessCounter>,
    /// The logins that were counted for a network, and are not counted again for it.
    counted: Mutex<LruCache<(IpAddr, [u8; 32]), ()>>,
}

impl Logins {
    /// Starts with an empty cache.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let known = LoginCache {
            keys: Keys::new()?,
            checked: Mutex::default(),
            tries: Mutex::default(),
            counted: Mutex::new(LruCache::new(MAX_COUNTED)),
        };
        let (known, slots) = (Arc::new(known), Arc::new(Semaphore::new(MAX_AT_ONCE)));
        Ok(Self { known, slots, throttle: LogThrottle::default() })
    }

    /// Returns the index of one of `candidates` whose password is `password`.
    ///
    /// A cached result needs no check, and does not count as another attempt. It applies only to
    /// the network of the client that sent the password. If the future is dropped, a running check
    /// completes and its result is cached; until then it occupies its slot.
    ///
    /// # Errors
    ///
    /// [`LoginRefusal`] if no candidate matches, or the password was not checked.
    pub async fn check(
        &self,
        client: IpAddr,
        password: &[u8],
        candidates: &[LoginCandidate],
    ) -> Result<usize, LoginRefusal> {
        self.check_login(client, None, password, candidates).await
    }

    /// Like [`check`](Self::check), for a login that is compared with the hashes of many stored
    /// pages, one after the other. Together these are one guess. `login` is the same for all, and
    /// differs from that of any other site, user or password.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub async fn check_login(
        &self,
        client: IpAddr,
        login: Option<[u8; 32]>,
        password: &[u8],
        candidates: &[LoginCandidate],
    ) -> Result<usize, LoginRefusal> {
        if let Some(known) = self.known.outcome(client, password, candidates) {
            return known.ok_or(LoginRefusal::Wrong);
        }
        let turn = timeout(LONGEST_WAIT, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = turn else { return Err(LoginRefusal::Busy) };
        // A browser sends many requests at once. While this request waited, the same password may
        // have been checked for another request.
        if let Some(known) = self.known.outcome(client, password, candidates) {
            return known.ok_or(LoginRefusal::Wrong);
        }
        let is_counted = self.known.begin(client, login).map_err(LoginRefusal::TooOften)?;
        let (known, password, candidates) =
            (Arc::clone(&self.known), password.to_vec(), candidates.to_vec());
        // If the client leaves, the check continues: it still occupies its slot and counts as an
        // attempt.
        let checked = spawn_blocking(move || {
            let right =
                candidates.iter().position(|candidate| known.verify(client, &password, candidate));
            if right.is_some() && is_counted {
                lock(&known.tries).record_success(client);
            }
            drop(slot);
            right
        });
        if let Some(right) = checked.await.map_err(|_| LoginRefusal::Busy)? {
            return Ok(right);
        }
        debug!(%client, "wrong password");
        if let Some(count) = self.throttle.count(Instant::now()) {
            // The user name is not logged, because people mistakenly type passwords there.
            info!(%client, count, "passwords are refused for a while after wrong ones");
        }
        Err(LoginRefusal::Wrong)
    }
}

impl LoginCache {
    /// Counts an attempt, unless `login` was counted before for the network of the client. Returns
    /// whether it counted, or the waiting time of the client.
    fn begin(&self, client: IpAddr, login: Option<[u8; 32]>) -> Result<bool, Duration> {
        let mut counted = lock(&self.counted);
        let login = login.map(|login| (network(client), login));
        if login.is_some_and(|login| counted.get(&login).is_some()) {
            return Ok(false);
        }
        lock(&self.tries).begin(client, Instant::now())?;
        if let Some(login) = login {
            counted.put(login, ());
        }
        Ok(true)
    }

    /// The cached result for this client: the index of the candidate that matches, or `Some(None)`
    /// if no candidate matches. `None` if a candidate must still be checked.
    #[expect(clippy::option_option, reason = "unknown, known as wrong, known as right")]
    fn outcome(
        &self,
        client: IpAddr,
        password: &[u8],
        candidates: &[LoginCandidate],
    ) -> Option<Option<usize>> {
        let mut all_wrong = true;
        for (place, candidate) in candidates.iter().enumerate() {
            match lock(&self.checked).is_right(self.key(client, password, candidate)) {
                Some(true) => return Some(Some(place)),
                Some(false) => {}
                None => all_wrong = false,
            }
        }
        all_wrong.then_some(None)
    }

    fn key(&self, client: IpAddr, password: &[u8], candidate: &LoginCandidate) -> PasswordKey {
        match candidate {
            LoginCandidate::Hash(hash) => self.keys.key(client, hash, b"", password),
            // The name is part of the key, so the result is neither that of the owner of the hash
            // nor that of another unknown name. Otherwise the same password would be refused at
            // once for a second unknown name, and this speed would disclose which names exist.
            LoginCandidate::StandIn(hash, name) => {
                self.keys.key(client, hash, &[b"?", name.as_slice()].concat(), password)
            }
        }
    }

    /// Checks a password against a candidate, which takes a while, and caches the result.
    fn verify(&self, client: IpAddr, password: &[u8], candidate: &LoginCandidate) -> bool {
        let is_right = match candidate {
            LoginCandidate::Hash(hash) => hash.verify(password),
            LoginCandidate::StandIn(hash, _) => {
                let _as_long = hash.verify(password);
                false
            }
        };
        lock(&self.checked).remember(self.key(client, password, candidate), is_right);
        is_right
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave counts or keys inconsistent.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn candidates() -> [LoginCandidate; 2] {
        ["one", "two"].map(|password| LoginCandidate::Hash(PasswordHash::make(password).unwrap()))
    }

    #[tokio::test]
    async fn the_candidate_of_a_password_is_found_each_time() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        for _ in 0..2 {
            assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
            assert_eq!(logins.check(CLIENT, b"two", &candidates).await, Ok(1));
            assert_eq!(logins.check(CLIENT, b"", &candidates).await, Err(LoginRefusal::Wrong));
        }
        let [LoginCandidate::Hash(one), _] = candidates else { panic!("they are hashes") };
        let stand_in = [LoginCandidate::StandIn(one, b"eve".to_vec())];
        assert_eq!(logins.check(CLIENT, b"one", &stand_in).await, Err(LoginRefusal::Wrong));
        assert_eq!(logins.check(CLIENT, b"one", &[]).await, Err(LoginRefusal::Wrong));
    }

    #[tokio::test]
    async fn password_guesses_are_limited_and_known_passwords_are_not() {
        let (logins, [candidate, _]) = (Logins::new().unwrap(), candidates());
        let candidates = [candidate];
        assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
        for guess in [b"a", b"b", b"c", b"d", b"e"] {
            for _ in 0..3 {
                // The same password again is not counted as another guess.
                assert_eq!(
                    logins.check(CLIENT, guess, &candidates).await,
                    Err(LoginRefusal::Wrong)
                );
            }
        }
        // The next attempts are refused unchecked. If the clock advances during the test, a few of
        // them are checked, and the wait becomes longer.
        let mut refused = 0;
        for guess in 0..20_u8 {
            let outcome = logins.check(CLIENT, &[guess], &candidates).await;
            refused += u32::from(matches!(outcome, Err(LoginRefusal::TooOften(_))));
        }
        assert!(refused >= 10, "{refused}");
        assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
        let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(logins.check(elsewhere, b"f", &candidates).await, Err(LoginRefusal::Wrong));
    }

    #[tokio::test]
    async fn a_waiting_client_cannot_recognise_the_password_of_another() {
        let (logins, [candidate, _]) = (Logins::new().unwrap(), candidates());
        let (candidates, login) = ([candidate], Some([1; 32]));
        assert_eq!(logins.check_login(CLIENT, login, b"one", &candidates).await, Ok(0));
        let guesser = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let mut guess = 0_u64;
        loop {
            guess += 1;
            match logins.check(guesser, &guess.to_be_bytes(), &candidates).await {
                // The rest of the test takes less time than this wait.
                Err(LoginRefusal::TooOften(wait)) if wait > Duration::from_millis(500) => break,
                outcome => assert!(outcome.is_err(), "{outcome:?}"),
            }
        }
        for login in [None, login] {
            let right = logins.check_login(guesser, login, b"one", &candidates).await;
            assert!(matches!(right, Err(LoginRefusal::TooOften(_))), "{login:?}: {right:?}");
        }
        assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
    }

    #[tokio::test]
    async fn one_login_is_one_guess_for_all_hashes() {
        let logins = Logins::new().unwrap();
        let hashes: Vec<_> = (0..8)
            .map(|number| if number < 7 { "old" } else { "new" })
            .map(|password| [LoginCandidate::Hash(PasswordHash::make(password).unwrap())])
            .collect();
        let check = |login: u8, password: &'static [u8], hash: usize| {
            logins.check_login(CLIENT, Some([login; 32]), password, &hashes[hash])
        };
        for hash in 0..7 {
            assert_eq!(check(0, b"new", hash).await, Err(LoginRefusal::Wrong), "{hash}");
        }
        assert_eq!(check(0, b"new", 7).await, Ok(0));
        // The right one takes back no guess of others.
        let (mut refused, guesses) = (0, b"abcdefghijklmnopqrst");
        for guess in 1..20 {
            let outcome = check(guess, &guesses[guess.into()..], 0).await;
            refused += u32::from(matches!(outcome, Err(LoginRefusal::TooOften(_))));
        }
        assert!(refused > 0);
        assert_eq!(check(0, b"new", 0).await, Err(LoginRefusal::Wrong), "still no guess");
    }

    #[tokio::test]
    async fn concurrent_requests_with_the_right_password_are_served() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        let all = futures_util::future::join_all(
            (0..50).map(|_| logins.check(CLIENT, b"two", &candidates)),
        );
        assert!(all.await.into_iter().all(|one| one == Ok(1)));
    }

    #[tokio::test]
    async fn unknown_user_names_count_as_guesses() {
        let (logins, [candidate, _]) = (Logins::new().unwrap(), candidates());
        let LoginCandidate::Hash(hash) = candidate else { panic!("it is a hash") };
        let mut refused = 0;
        for name in 0..40_u8 {
            let stand_in = [LoginCandidate::StandIn(hash.clone(), vec![name])];
            let outcome = logins.check(CLIENT, b"same", &stand_in).await;
            refused += u32::from(matches!(outcome, Err(LoginRefusal::TooOften(_))));
        }
        assert!(refused >= 10, "{refused}");
    }

    #[tokio::test]
    async fn an_abandoned_password_check_continues_and_is_cached() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        for _ in 0..8 {
            // The future is polled once, which runs it up to its first wait, and then dropped.
            let check = Box::pin(logins.check(CLIENT, b"two", &candidates));
            assert!(futures_util::FutureExt::now_or_never(check).is_none());
        }
        assert_eq!(logins.slots.available_permits(), 0, "they are still under way");
        let all = logins.slots.acquire_many(u32::try_from(MAX_AT_ONCE).unwrap()).await.unwrap();
        let known = logins.known.outcome(CLIENT, b"two", &candidates);
        assert_eq!(known, Some(Some(1)), "and end");
        assert!(lock(&logins.known.tries).is_empty(), "a right password is no guess");
        drop(all);
    }
}
