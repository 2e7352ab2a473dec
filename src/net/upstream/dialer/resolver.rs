//! Name lookups, each in a thread.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

#[cfg(test)]
use super::tests;
use crate::net::upstream::adjustable::Adjustable;
use crate::net::upstream::{Failure, Origin};

/// The largest number of addresses tried for a name.
const MAX_ADDRESSES: usize = 8;

/// The maximum number of simultaneous name lookups. Each lookup needs a thread, and the spool needs
/// threads too. Without this limit, a dead name server could block reading stored pages.
pub(super) const MAX_LOOKUPS: usize = 64;

/// Looks up names and addresses, as the system resolves them.
#[derive(Debug)]
pub(super) struct Resolver {
    timeout: Adjustable<Duration>,
    pub(super) lookups: Arc<Semaphore>,
}

impl Resolver {
    /// A resolver whose lookups take at most `timeout`.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout: Adjustable::new(timeout), lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }

    /// Uses this timeout from now on.
    pub(super) fn set_timeout(&self, timeout: Duration) {
        self.timeout.set(timeout);
    }

    /// The addresses of the host of `origin`, with its port.
    ///
    /// # Errors
    ///
    /// [`Failure::UnknownHost`] or [`Failure::LookupTimeout`].
    pub(super) async fn addresses_of(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        let host = origin.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, origin.port)]);
        }
        #[cfg(test)]
        if let Some(address) = tests::known(&host) {
            return Ok(vec![SocketAddr::new(address, origin.port)]);
        }
        // RFC 6761 §6.4: the name `invalid` never exists.
        if host.rsplit('.').find(|label| !label.is_empty()) == Some("invalid") {
            let source = io::Error::new(io::ErrorKind::NotFound, "\".invalid\" has no addresses");
            return Err(Failure::UnknownHost { host, source, may_pass: false });
        }
        let (lookups, port) = (Arc::clone(&self.lookups), origin.port);
        let found = timeout(self.timeout.get(), async move {
            let turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            spawn_blocking(move || {
                // getaddrinfo follows changes of resolv.conf, which a resolver of our own would
                // not. It cannot be cancelled, so it holds its permit until it returns.
                let found = resolve(&host, port);
                drop(turn);
                Ok(found)
            })
            .await
            .map_err(io::Error::other)?
        });
        match found.await {
            Ok(Ok(Ok(addresses))) => Ok(addresses),
            Ok(Ok(Err(error))) => {
                let may_pass = !matches!(error.kind(), LookupErrorKind::NoName);
                let (host, source) = (origin.host.clone(), error.into());
                Err(Failure::UnknownHost { host, source, may_pass })
            }
            Ok(Err(source)) => {
                Err(Failure::UnknownHost { host: origin.host.clone(), source, may_pass: true })
            }
            Err(_) => Err(Failure::LookupTimeout { host: origin.host.clone() }),
        }
    }

    /// The name that the owner of `address` gives it. `None` if it has no name.
    ///
    /// # Errors
    ///
    /// [`Failure::UnknownHost`] or [`Failure::LookupTimeout`].
    pub(super) async fn name_of(&self, address: IpAddr) -> Result<Option<String>, Failure> {
        #[cfg(test)]
        if address.is_loopback() {
            return tests::known_name(address);
        }
        let lookups = Arc::clone(&self.lookups);
        let found = timeout(self.timeout.get(), async move {
            let turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let look_up = move || {
                let name = dns_lookup::lookup_addr(&address);
                drop(turn);
                name
            };
            spawn_blocking(look_up).await.map_err(io::Error::other)
        });
        let host = address.to_string();
        let unknown =
            |source| Failure::UnknownHost { host: address.to_string(), source, may_pass: true };
        match found.await {
            Ok(Ok(Ok(name))) => Ok(Some(name)),
            Ok(Ok(Err(error)))
                if matches!(error.kind(), LookupErrorKind::NoName | LookupErrorKind::NoData) =>
            {
                Ok(None)
            }
            Ok(Ok(Err(error))) => Err(unknown(error.into())),
            Ok(Err(source)) => Err(unknown(source)),
            Err(_) => Err(Failure::LookupTimeout { host }),
        }
    }
}

/// The addresses of a host, as the system resolves its name.
fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let found = dns_lookup::getaddrinfo(Some(host), None, Some(hints))?;
    let mut addresses: Vec<_> = found.flatten().map(|found| found.sockaddr).collect();
    addresses.truncate(MAX_ADDRESSES);
    for address in &mut addresses {
        address.set_port(port);
    }
    Ok(addresses)
}
