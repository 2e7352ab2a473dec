//! The usage of each user and client, and their quotas.
//!
//! ```text
//! a request ── account of its owner ── counts of today, and of the month before today
//!                    │  every five seconds, if they have changed, and at the end
//!              <spool>/usage/2026-11-22
//! ```
//!
//! Accounts exist only if the configuration counts usage or has quotas. Counting is an atomic
//! addition. A quota is checked only when a request needs the connection or the queue, so a stored
//! page is never refused.

mod account;
mod days;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::civil::Date;
use wwwoffle_config::{Config, QuotaLimit, QuotaMeasure};
use wwwoffle_spool::{MAX_HOSTS, QueueMeter, Statistics as StoredUsage, is_host};

pub use self::account::{QuotaUse, UsageAccount, UsageCount};
pub use self::days::decode;
use self::days::encode;
use crate::base::context::BaseContext;
use crate::base::owner::Owner;

/// The maximum number of accounts of clients without a login. The other accounts, up to
/// [`MAX_HOSTS`], are reserved for users. Further owners share one account.
const MAX_CLIENTS: usize = MAX_HOSTS - 100;

/// The accounts of all owners.
#[derive(Debug, Default)]
pub struct Usage {
    accounts: RwLock<HashMap<String, Arc<UsageAccount>>>,
    /// The account of all owners without a separate one.
    others: Arc<UsageAccount>,
    /// The day of the counts, once its file has been read.
    day: Mutex<Option<Date>>,
    /// The counts as last written. Locked during a write, so that no older one follows a newer one.
    written: Mutex<StoredUsage>,
    /// Whether the file of the day has been read. Otherwise it must not be overwritten.
    may_write: AtomicBool,
}

/// The account of an owner, with its limits in the configuration in force.
#[derive(Clone, Debug)]
pub struct OwnerUsage {
    /// The account.
    pub account: Arc<UsageAccount>,
    limits: Vec<QuotaLimit>,
    rate: Option<u64>,
}

impl OwnerUsage {
    /// Counts a request to an origin.
    ///
    /// # Errors
    ///
    /// The quota that is used up. The request must not be sent.
    pub fn begin_request(&self) -> Result<(), QuotaUse> {
        self.account.begin_request(&self.limits, self.rate)
    }

    /// The use of each quota.
    #[must_use]
    pub fn uses(&self) -> Vec<QuotaUse> {
        self.account.uses(&self.limits)
    }

    /// The quota that lets no request to an origin begin.
    #[must_use]
    pub fn reached(&self) -> Option<QuotaUse> {
        let is_needed = |used: &QuotaUse| used.limit.measure != QuotaMeasure::Queued;
        self.uses().into_iter().find(|used| is_needed(used) && used.is_reached())
    }
}

/// The limits of an owner.
fn limits(config: &Config, owner: &Owner) -> (Vec<QuotaLimit>, Option<u64>) {
    let quotas = &config.usage.quotas;
    let (user, client): (Option<&str>, Option<IpAddr>) = match owner {
        Owner::Local => (None, None),
        Owner::User(name) => (Some(name), None),
        Owner::Client(address) => (None, Some(*address)),
    };
    (quotas.limits(user, client), quotas.rate(user, client))
}

impl Usage {
    /// The account of an owner. `None` if the configuration neither counts usage nor has quotas.
    #[must_use]
    pub fn of(&self, config: &Config, owner: &Owner) -> Option<Arc<UsageAccount>> {
        let is_counted = config.usage.count || !config.usage.quotas.is_empty();
        is_counted.then(|| self.account(&wwwoffle_spool::share_name(&owner.to_string())))
    }

    /// The account and the limits of an owner. `None` if nothing is counted.
    #[must_use]
    pub fn with_limits(&self, config: &Config, owner: &Owner) -> Option<OwnerUsage> {
        let account = self.of(config, owner)?;
        let (limits, rate) = limits(config, owner);
        Some(OwnerUsage { account, limits, rate })
    }

    fn account(&self, name: &str) -> Arc<UsageAccount> {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(name) {
            return Arc::clone(account);
        }
        drop(accounts);
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        let most = if name.starts_with("client:") { MAX_CLIENTS } else { MAX_HOSTS };
        if !accounts.contains_key(name) && (accounts.len() >= most || !is_host(&encode(name))) {
            return Arc::clone(&self.others);
        }
        Arc::clone(accounts.entry(name.to_owned()).or_default())
    }
}

/// Counts the requests of the queue, and refuses those beyond a quota.
#[derive(Debug)]
pub struct QueueQuota {
    /// The accounts.
    pub usage: Arc<super::Statistics>,
    /// The context with the configuration in force.
    pub base: Arc<BaseContext>,
}

impl QueueQuota {
    fn of(&self, owner: Option<&str>) -> Option<OwnerUsage> {
        let owner = owner.map_or(Ok(Owner::Local), str::parse).ok()?;
        self.usage.usage.with_limits(&self.base.config(), &owner)
    }
}

impl QueueMeter for QueueQuota {
    fn count_added(&self, owner: Option<&str>) -> bool {
        self.of(owner).is_none_or(|of| of.account.charge(&of.limits, QuotaMeasure::Queued))
    }

    fn uncount(&self, owner: Option<&str>) {
        if let Some(of_owner) = self.of(owner) {
            of_owner.account.uncharge(QuotaMeasure::Queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Outcome;
    use super::*;

    #[test]
    fn the_number_of_accounts_is_bounded() {
        let usage = Usage::default();
        for number in 0..2 * MAX_HOSTS {
            usage.account(&format!("client:{number}")).count(Outcome::Hit);
        }
        for number in 0..2 * MAX_HOSTS {
            usage.account(&format!("user:{number}")).count(Outcome::Hit);
        }
        usage.account(&"user:x".repeat(MAX_HOSTS)).count(Outcome::Hit);
        let counts = usage.counts();
        let of_clients = counts.hosts.keys().filter(|name| name.starts_with("client:")).count();
        assert_eq!((counts.hosts.len(), of_clients), (MAX_HOSTS, MAX_CLIENTS));
        let others = u64::try_from(3 * MAX_HOSTS + 1).unwrap();
        assert_eq!(counts.rest.of("requests"), others);
        assert!(counts.to_text().len() < wwwoffle_spool::MAX_STATISTICS);
    }
}
