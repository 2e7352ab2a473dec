//! Access control: which clients may use the proxy, and which may command it.
//!
//! ```text
//! accept ── by address or name ── refusals: 403 and the end
//!              └── request ── by password ── proxy: 407, once for each connection that CONNECT opens
//!                                       └─── own pages: 401; changes: control password
//! ```
//!
//! [`Config::serves`] decides by the address, and [`Logins`] checks passwords. A check is
//! deliberately expensive in memory and time. So only a few run at once, results are cached, and a
//! client that guesses has to wait.

pub mod client_names;
pub mod crowd;
mod log_throttle;
mod logins;
pub mod names;
mod password_cache;
pub mod refusals;
mod tries;

use std::net::IpAddr;
use std::time::Instant;

use arc_swap::ArcSwap;
use wwwoffle_config::{Config, ResolvedNames};

use self::client_names::ClientNames;
use self::crowd::Crowd;
pub use self::logins::{LoginCandidate, LoginRefusal, Logins};
use self::refusals::ClientRefusals;

/// The state of access control while the daemon runs.
#[derive(Debug)]
pub struct Access {
    /// The password checks.
    pub logins: Logins,
    /// The checks of passwords for stored copies of pages behind a login. They are apart, so that a
    /// wrong password for a site is not counted as one for the proxy.
    pub site_logins: Logins,
    /// The refusals of clients.
    pub refusals: ClientRefusals,
    /// The number of connections of each client.
    pub crowd: Crowd,
    /// The names of clients.
    pub client_names: ClientNames,
    names: ArcSwap<ResolvedNames>,
}

impl Access {
    /// Starts with no clients.
    ///
    /// # Errors
    ///
    /// If the system cannot provide random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self {
            logins: Logins::new()?,
            site_logins: Logins::new()?,
            refusals: ClientRefusals::default(),
            crowd: Crowd::default(),
            client_names: ClientNames::default(),
            names: ArcSwap::default(),
        })
    }

    /// Whether `client`, which reached us at the address `ours`, may use the proxy.
    #[must_use]
    pub fn serves(&self, config: &Config, client: IpAddr, ours: IpAddr) -> bool {
        let own_name = if config.allowed_hosts.hosts.has_name_patterns() {
            self.client_names.of(client)
        } else {
            None
        };
        config.serves(client, ours, &self.names.load(), own_name.as_deref())
    }

    /// Whether the name of `client` must be looked up before [`serves`](Self::serves) can decide.
    #[must_use]
    pub fn needs_name(&self, config: &Config, client: IpAddr, ours: IpAddr) -> bool {
        config.allowed_hosts.hosts.has_name_patterns()
            && !config.serves(client, ours, &self.names.load(), None)
            && !self.client_names.is_recent(client, Instant::now())
    }
}
