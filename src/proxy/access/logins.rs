//! The checking of passwords, bounded in memory, in time and for each client.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// Any hash, in place of that of a user whom nobody knows, by this name: the answer takes as
    /// long, and is no.
    StandIn(PasswordHash, Vec<u8>),
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
    known: Arc<Known>,
    places: Arc<Semaphore>,
    told: Told,
}

/// What is known of passwords and of who guesses.
#[derive(Debug)]
struct Known {
    keys: Keys,
    checked: Mutex<Checked>,
    tries: Mutex<Tries>,
}

impl Logins {
    /// Nothing is known yet.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let known =
            Known { keys: Keys::new()?, checked: Mutex::default(), tries: Mutex::default() };
        let (known, places) = (Arc::new(known), Arc::new(Semaphore::new(MAX_AT_ONCE)));
        Ok(Self { known, places, told: Told::default() })
    }

    /// Finds the first of `candidates` that `password` is the one of; its place is returned.
    ///
    /// What was checked before costs nothing, and is not counted again. Dropping it leaves a check
    /// under way to its end, in its place: what it comes to is remembered, though nobody is told.
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
        if let Some(known) = self.known.outcome(password, candidates) {
            return known.ok_or(Refused::Wrong);
        }
        let turn = timeout(LONGEST_WAIT, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = turn else { return Err(Refused::Busy) };
        // A browser sends many requests at once, and the first of them may have been checked.
        if let Some(known) = self.known.outcome(password, candidates) {
            return known.ok_or(Refused::Wrong);
        }
        lock(&self.known.tries).begin(client, Instant::now()).map_err(Refused::TooOften)?;
        let (known, password, candidates) =
            (Arc::clone(&self.known), password.to_vec(), candidates.to_vec());
        // A client that leaves gives back neither the place nor its try.
        let checked = spawn_blocking(move || {
            let right = candidates.iter().position(|candidate| known.verify(&password, candidate));
            if right.is_some() {
                lock(&known.tries).was_right(client);
            }
            drop(place);
            right
        });
        if let Some(right) = checked.await.map_err(|_| Refused::Busy)? {
            return Ok(right);
        }
        debug!(%client, "a wrong password");
        if let Some(count) = self.told.count(Instant::now()) {
            // Not the name: people type passwords there.
            info!(%client, count, "wrong passwords are refused");
        }
        Err(Refused::Wrong)
    }
}

impl Known {
    /// What is remembered: `None` when some candidate is still to be checked.
    #[expect(clippy::option_option, reason = "unknown, known as wrong, known as right")]
    fn outcome(&self, password: &[u8], candidates: &[Candidate]) -> Option<Option<usize>> {
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
            Candidate::Hash(hash) => self.keys.key(hash, b"", password),
            // Right for its owner, wrong for whoever is unknown, and of each name by itself: else
            // the second unknown name with a password would be refused at once, for nothing, and
            // so tell the names that are known.
            Candidate::StandIn(hash, name) => {
                self.keys.key(hash, &[b"?", name.as_slice()].concat(), password)
            }
        }
    }

    /// Checks a password against a candidate, for as long as that takes, and remembers the outcome.
    fn verify(&self, password: &[u8], candidate: &Candidate) -> bool {
        let is_right = match candidate {
            Candidate::Hash(hash) => hash.verify(password),
            Candidate::StandIn(hash, _) => {
                let _as_long = hash.verify(password);
                false
            }
        };
        lock(&self.checked).remember(self.key(password, candidate), is_right);
        is_right
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
        let stand_in = [Candidate::StandIn(one, b"eve".to_vec())];
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

    #[tokio::test]
    async fn each_unknown_name_costs_a_guess_so_that_none_tells_itself() {
        let (logins, [candidate, _]) = (Logins::new().unwrap(), candidates());
        let Candidate::Hash(hash) = candidate else { panic!("it is a hash") };
        let mut refused = 0;
        for name in 0..40_u8 {
            let stand_in = [Candidate::StandIn(hash.clone(), vec![name])];
            let outcome = logins.check(CLIENT, b"same", &stand_in).await;
            refused += u32::from(matches!(outcome, Err(Refused::TooOften(_))));
        }
        assert!(refused >= 10, "{refused}");
    }

    #[tokio::test]
    async fn a_check_whose_client_has_left_keeps_its_place_and_is_remembered() {
        let (logins, candidates) = (Logins::new().unwrap(), candidates());
        let clients = (1..=8_u8).map(|host| IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)));
        for client in clients {
            // It goes as far as it gets without waiting, and is dropped.
            let check = Box::pin(logins.check(client, b"two", &candidates));
            assert!(futures_util::FutureExt::now_or_never(check).is_none());
        }
        assert_eq!(logins.places.available_permits(), 0, "they are still under way");
        let all = logins.places.acquire_many(u32::try_from(MAX_AT_ONCE).unwrap()).await.unwrap();
        let known = logins.known.outcome(b"two", &candidates);
        assert_eq!(known, Some(Some(1)), "and end");
        assert!(lock(&logins.known.tries).is_empty(), "a right password is no guess");
        drop(all);
    }
}
