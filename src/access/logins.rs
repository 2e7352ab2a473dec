//! The checking of passwords, bounded in memory, in time and for each client.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, info};
use wwwoffle_config::PasswordHash;

use super::checked::{Checked, Key, Keys};
use super::told::Told;
use super::tries::Tries;

/// How many passwords are checked at once; each takes the memory that its hash says, 19 MiB as a
/// rule.
const MAX_AT_ONCE: usize = 2;

/// How long a request waits for its password to be checked.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a password is compared with.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// A hash that may be its own.
    Hash(PasswordHash),
    /// Any hash, in place of that of a user whom nobody knows: the answer takes as long, and is no.
    StandIn(PasswordHash),
}

/// Why a login was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The user or the password is wrong.
    Wrong,
    /// The client has sent too many that were wrong, and has to wait so long.
    TooOften(Duration),
    /// Too many others are being checked.
    Busy,
}

/// Checks logins.
#[derive(Debug)]
pub struct Logins {
    keys: Keys,
    checked: Mutex<Checked>,
    tries: Mutex<Tries>,
    places: Semaphore,
    told: Told,
}

impl Logins {
    /// Nothing is known yet.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        Ok(Self {
            keys: Keys::new()?,
            checked: Mutex::default(),
            tries: Mutex::default(),
            places: Semaphore::new(MAX_AT_ONCE),
            told: Told::default(),
        })
    }

    /// Finds the first of `candidates` that `password` is the one of; its place is returned.
    ///
    /// What was checked before costs nothing, and is not counted again. Dropping it leaves a check
    /// under way to its end, unheard.
    ///
    /// # Errors
    ///
    /// [`Refused`] says why there is none.
    pub async fn check(
        &self,
        client: IpAddr,
        password: &[u8],
        candidates: &[Candidate],
    ) -> Result<usize, Refused> {
        if let Some(known) = self.known(password, candidates) {
            return known.ok_or(Refused::Wrong);
        }
        let turn = timeout(LONGEST_WAIT, self.places.acquire()).await;
        let Ok(Ok(_place)) = turn else { return Err(Refused::Busy) };
        // A browser sends many requests at once, and the first of them may have been checked.
        if let Some(known) = self.known(password, candidates) {
            return known.ok_or(Refused::Wrong);
        }
        lock(&self.tries).begin(client, Instant::now()).map_err(Refused::TooOften)?;
        for (place, candidate) in candidates.iter().enumerate() {
            if self.verify(password, candidate).await? {
                lock(&self.tries).was_right(client);
                return Ok(place);
            }
        }
        debug!(%client, "a wrong password");
        if let Some(count) = self.told.count(Instant::now()) {
            // Not the name: people type passwords there.
            info!(%client, count, "wrong passwords are refused");
        }
        Err(Refused::Wrong)
    }

    /// What is remembered: `None` when some candidate is still to be checked.
    #[expect(clippy::option_option, reason = "unknown, known as wrong, known as right")]
    fn known(&self, password: &[u8], candidates: &[Candidate]) -> Option<Option<usize>> {
        let mut all_wrong = true;
        for (place, candidate) in candidates.iter().enumerate() {
            match lock(&self.checked).is_right(self.key(password, candidate)) {
                Some(true) => return Some(Some(place)),
                Some(false) => {}
                None => all_wrong = false,
            }
        }
        all_wrong.then_some(None)
    }

    fn key(&self, password: &[u8], candidate: &Candidate) -> Key {
        match candidate {
            Candidate::Hash(hash) => self.keys.key(hash, password),
            // Right for its owner, wrong for whoever is unknown: two keys.
            Candidate::StandIn(hash) => self.keys.key(hash, &[b"\0", password].concat()),
        }
    }

    async fn verify(&self, password: &[u8], candidate: &Candidate) -> Result<bool, Refused> {
        let key = self.key(password, candidate);
        let (Candidate::Hash(hash) | Candidate::StandIn(hash)) = candidate.clone();
        let password = password.to_vec();
        let is_its_own = spawn_blocking(move || hash.verify(&password)).await;
        let is_right =
            is_its_own.map_err(|_| Refused::Busy)? && matches!(candidate, Candidate::Hash(_));
        lock(&self.checked).remember(key, is_right);
        Ok(is_right)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts and keys are whole after any panic.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn candidates() -> [Candidate; 2] {
        ["one", "two"].map(|password| Candidate::Hash(PasswordHash::make(password).unwrap()))
    }

    #[tokio::test]
    async fn the_candidate_of_a_password_is_found_each_time() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        for _ in 0..2 {
            assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
            assert_eq!(logins.check(CLIENT, b"two", &candidates).await, Ok(1));
            assert_eq!(logins.check(CLIENT, b"", &candidates).await, Err(Refused::Wrong));
        }
        let [Candidate::Hash(one), _] = candidates else { panic!("they are hashes") };
        let stand_in = [Candidate::StandIn(one)];
        assert_eq!(logins.check(CLIENT, b"one", &stand_in).await, Err(Refused::Wrong));
        assert_eq!(logins.check(CLIENT, b"one", &[]).await, Err(Refused::Wrong));
    }

    #[tokio::test]
    async fn guesses_come_to_an_end_and_known_passwords_do_not() {
        let (logins, [candidate, _]) = (Logins::new().unwrap(), candidates());
        let candidates = [candidate];
        assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
        for guess in [b"a", b"b", b"c", b"d", b"e"] {
            for _ in 0..3 {
                // The same one again is no further guess.
                assert_eq!(logins.check(CLIENT, guess, &candidates).await, Err(Refused::Wrong));
            }
        }
        // The next ones are not even looked at, or the clock has moved on and the wait is longer.
        let mut refused = 0;
        for guess in 0..20_u8 {
            let outcome = logins.check(CLIENT, &[guess], &candidates).await;
            refused += u32::from(matches!(outcome, Err(Refused::TooOften(_))));
        }
        assert!(refused >= 10, "{refused}");
        assert_eq!(logins.check(CLIENT, b"one", &candidates).await, Ok(0));
        let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(logins.check(elsewhere, b"f", &candidates).await, Err(Refused::Wrong));
    }

    #[tokio::test]
    async fn many_requests_at_once_with_the_right_password_are_all_served() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        let all = futures_util::future::join_all(
            (0..50).map(|_| logins.check(CLIENT, b"two", &candidates)),
        );
        assert!(all.await.into_iter().all(|one| one == Ok(1)));
    }
}
