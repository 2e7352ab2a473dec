//! The negative filter: the hosts that have entries in the catalogue.
//!
//! A URL whose host has no entry is not looked up. There are far fewer hosts than entries, so all
//! of them fit in memory. New hosts of other nodes are read when a host is missing, at most once a
//! second. So an entry for a new host is found at the latest a second after it was added.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::fault;
use crate::tier::error::TierError;

/// The largest number of hosts in memory. With more, every URL is looked up.
const MAX_HOSTS: usize = 1_000_000;

/// The shortest interval between two reads of new hosts.
const REFRESH_AFTER: Duration = Duration::from_secs(1);

/// Hosts up to this long before the last one are read again, because transactions may end in
/// another order than they began.
const ALL: &str = "\
SELECT host, (extract(epoch FROM added) * 1000000)::bigint FROM hosts
WHERE added >= to_timestamp($1::bigint / 1000000) - interval '10 s' LIMIT $2";

/// The hosts that have entries.
#[derive(Debug, Default)]
pub(super) struct KnownHosts(Mutex<HostFilter>);

#[derive(Debug, Default)]
struct HostFilter {
    /// The hashes of the hosts.
    hosts: HashSet<u64>,
    /// When the last known host was added, in microseconds.
    until: i64,
    refreshed: Option<Instant>,
    /// The identity of the catalogue that has them.
    catalogue: String,
}

impl KnownHosts {
    /// Reads the hosts: all of them, or the new ones if `catalogue` is the same as before.
    pub(super) async fn load(&self, client: &Client, catalogue: &str) -> Result<(), TierError> {
        self.begin(catalogue);
        self.refresh(client).await.map_err(|error| fault(&error))?;
        self.lock().refreshed = None;
        Ok(())
    }

    /// Forgets the hosts of another catalogue.
    fn begin(&self, catalogue: &str) {
        let mut filter = self.lock();
        if filter.catalogue != catalogue {
            *filter = HostFilter { catalogue: catalogue.to_owned(), ..HostFilter::default() };
        }
    }

    /// Whether new hosts should be read for a host that is unknown.
    pub(super) fn is_due(&self) -> bool {
        self.lock().refreshed.is_none_or(|last| last.elapsed() >= REFRESH_AFTER)
    }

    /// Reads new hosts. Returns whether the host may have entries.
    pub(super) async fn refresh_for(&self, client: &Client, host: &str) -> Result<bool, Error> {
        self.refresh(client).await?;
        Ok(self.has(host))
    }

    async fn refresh(&self, client: &Client) -> Result<(), Error> {
        let until = {
            let mut filter = self.lock();
            filter.refreshed = Some(Instant::now());
            filter.until
        };
        let most = i64::try_from(MAX_HOSTS).unwrap_or(i64::MAX);
        let rows = client.query_typed(ALL, &[(&until, Type::INT8), (&most, Type::INT8)]).await?;
        let mut filter = self.lock();
        for row in rows {
            filter.hosts.insert(hash(row.get(0)));
            filter.until = filter.until.max(row.get(1));
        }
        Ok(())
    }

    /// Whether the host is known to have entries.
    pub(super) fn has(&self, host: &str) -> bool {
        let filter = self.lock();
        filter.hosts.len() >= MAX_HOSTS || filter.hosts.contains(&hash(host))
    }

    fn lock(&self) -> MutexGuard<'_, HostFilter> {
        // A panic cannot leave the filter inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(host: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    host.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_outlive_a_connection_but_not_their_catalogue() {
        let hosts = KnownHosts::default();
        hosts.begin("one");
        hosts.lock().hosts.insert(hash("h.example"));
        hosts.begin("one");
        assert!(hosts.has("h.example"));
        hosts.begin("two");
        assert!(!hosts.has("h.example"));
    }
}
