//! The one place that opens a connection outward, and refuses to in offline mode.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use wwwoffle_config::Config;
use wwwoffle_url::canonicalise_host;

use super::adjustable::Adjustable;
use super::{Failure, Origin, ParentFault, Scheme};
use crate::mode::ModeSwitch;

/// How long one address may take before the next one is tried beside it (RFC 8305 §5 proposes
/// 250 ms).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// How many addresses of one name are tried.
const MAX_ADDRESSES: usize = 8;

/// How many names are looked up at once. Each look-up holds a thread, of which the spool needs some
/// too: with a dead name server all of them would wait for it, and no kept page could be read.
const MAX_LOOKUPS: usize = 64;

/// Opens connections to origins, if the mode allows.
#[derive(Debug)]
pub struct Dialer {
    mode: ModeSwitch,
    dns_timeout: Adjustable<Duration>,
    connect_timeout: Adjustable<Duration>,
    refused: AtomicU64,
    lookups: Arc<Semaphore>,
    /// Whose hosts nearby are reached in every mode.
    in_force: Arc<ArcSwap<Config>>,
}

impl Dialer {
    /// A dialer that obeys `mode`. The timeouts bound the look-up of a name and the whole of the
    /// connecting after it.
    #[must_use]
    pub fn new(mode: ModeSwitch, dns_timeout: Duration, connect_timeout: Duration) -> Self {
        let (refused, lookups) = (AtomicU64::new(0), Arc::new(Semaphore::new(MAX_LOOKUPS)));
        let (dns_timeout, connect_timeout) =
            (Adjustable::new(dns_timeout), Adjustable::new(connect_timeout));
        let in_force = Arc::new(ArcSwap::from_pointee(Config::default()));
        Self { mode, dns_timeout, connect_timeout, refused, lookups, in_force }
    }

    /// Takes the hosts that are reached in every mode from the configuration that is `in_force` at
    /// the time.
    #[must_use]
    pub fn following(self, in_force: Arc<ArcSwap<Config>>) -> Self {
        Self { in_force, ..self }
    }

    /// Whether the host is one of those nearby (`[local-net]`), which the mode does not shut off. It
    /// is judged by its name as it was asked for: what a name leads to changes nothing.
    #[must_use]
    pub fn is_near(&self, origin: &Origin) -> bool {
        let config = self.in_force.load();
        let hosts = &config.local_net.hosts;
        // CONNECT names a host in its client's spelling.
        !hosts.is_empty()
            && origin.via.is_none()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| hosts.contains(&host))
    }

    /// Waits so long from here on.
    pub(super) fn set_timeouts(&self, dns_timeout: Duration, connect_timeout: Duration) {
        self.dns_timeout.set(dns_timeout);
        self.connect_timeout.set(connect_timeout);
    }

    /// How many connections were refused because the mode was offline.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Connects to `origin`. Dropping the future closes what was opened, and so does a change of the
    /// mode meanwhile.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up or socket in offline mode, else what the name
    /// server or the network said.
    pub async fn dial(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let addresses = self.addresses(origin).await?;
        self.connect(origin, addresses).await
    }

    /// Looks up where `origin` is, or the proxy it is reached through, for [`Self::connect`].
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up in offline mode, else what the name server said.
    pub(super) async fn addresses(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        match &origin.via {
            None => self.while_allowed(origin, self.look_up(origin)).await,
            Some(via) => {
                // The parent proxy looks up the names of origins.
                let parent = via.as_origin();
                let found = self.while_allowed(origin, self.look_up(&parent)).await;
                found.map_err(|failure| via.failed(ParentFault::Connect(Box::new(failure))))
            }
        }
    }

    /// Connects to one of the `addresses` of `origin`; through a parent proxy that is a connection
    /// which it has opened, or for HTTP one to itself.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any socket in offline mode, else what the network said.
    pub(super) async fn connect(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        let Some(via) = &origin.via else {
            return self.while_allowed(origin, self.connect_now(origin, addresses)).await;
        };
        let parent = via.as_origin();
        let connected = self.while_allowed(origin, self.connect_now(&parent, addresses)).await;
        let mut stream =
            connected.map_err(|failure| via.failed(ParentFault::Connect(Box::new(failure))))?;
        if origin.scheme == Scheme::Http {
            return Ok(stream);
        }
        let opened = async {
            let opened = timeout(self.connect_timeout.get(), via.open(&mut stream, origin)).await;
            opened.unwrap_or(Err(ParentFault::Silent)).map_err(|fault| via.failed(fault))
        };
        self.while_allowed(origin, opened).await?;
        Ok(stream)
    }

    /// Does what takes time on the way to an origin, until the mode goes offline: then it is dropped
    /// and counted as refused, however far it has come. The way to a host nearby stays open.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] in offline mode, else what `step` comes to.
    pub(super) async fn while_allowed<T>(
        &self,
        origin: &Origin,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if self.is_near(origin) {
            return step.await;
        }
        let mut mode = self.mode.watch();
        tokio::select! {
            // First, so that nothing is begun offline, and nothing handed out that ended just then.
            biased;
            _offline = mode.wait_for(|mode| !mode.may_dial()) => self.allow(origin).and(Err(Failure::Offline)),
            done = step => done,
        }
    }

    /// Whether the mode allows to dial.
    pub(super) fn may_dial(&self) -> bool {
        self.mode.now().may_dial()
    }

    /// Lets a request to `origin` go out, or refuses and counts it.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] in offline mode.
    pub(super) fn allow(&self, origin: &Origin) -> Result<(), Failure> {
        if self.may_dial() || self.is_near(origin) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Failure::Offline)
    }

    /// The addresses of a machine, for who is allowed in.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up in offline mode, else what the name server said.
    pub async fn addresses_of(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        let origin = Origin { scheme: Scheme::Http, host: name.to_owned(), port: 0, via: None };
        let found = self.addresses(&origin).await?;
        let mut addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    async fn connect_now(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        let stream = match timeout(self.connect_timeout.get(), connect_any(addresses)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) if source.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(Failure::Refused { authority: origin.to_string(), source });
            }
            Ok(Err(source)) => {
                return Err(Failure::Unreachable { authority: origin.to_string(), source });
            }
            Err(_) => return Err(Failure::ConnectTimeout { authority: origin.to_string() }),
        };
        // Small requests must not wait for the answer to the packet before them.
        stream
            .set_nodelay(true)
            .map_err(|source| Failure::Unreachable { authority: origin.to_string(), source })?;
        Ok(stream)
    }

    async fn look_up(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        let host = origin.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, origin.port)]);
        }
        #[cfg(test)]
        if let Some(address) = tests::known(&host) {
            return Ok(vec![SocketAddr::new(address, origin.port)]);
        }
        let (lookups, port) = (Arc::clone(&self.lookups), origin.port);
        let found = timeout(self.dns_timeout.get(), async move {
            let turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            spawn_blocking(move || {
                // getaddrinfo follows a changed resolv.conf, which a resolver of our own would not.
                // It cannot be stopped, so its turn ends when it does, and not when nobody waits.
                let found = (host.as_str(), port).to_socket_addrs();
                drop(turn);
                found
            })
            .await
            .map_err(io::Error::other)?
        });
        match found.await {
            Ok(Ok(addresses)) => Ok(addresses.take(MAX_ADDRESSES).collect()),
            Ok(Err(source)) => Err(Failure::UnknownHost { host: origin.host.clone(), source }),
            Err(_) => Err(Failure::LookupTimeout { host: origin.host.clone() }),
        }
    }
}

/// Connects to whichever address answers first, starting a further one every
/// [`NEXT_ADDRESS_AFTER`] or as soon as all running ones have failed (RFC 8305).
async fn connect_any(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut last_error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    loop {
        if let Some(address) = waiting.next() {
            running.push(TcpStream::connect(address));
        } else if running.is_empty() {
            return Err(last_error);
        }
        let more = waiting.len() > 0;
        tokio::select! {
            Some(connected) = running.next() => match connected {
                Ok(stream) => return Ok(stream),
                Err(error) => last_error = error,
            },
            () = sleep(NEXT_ADDRESS_AFTER), if more => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Mode;
    use crate::upstream::Scheme;

    /// Where the names of tests lead, which no name server knows (RFC 6761 §6.2).
    pub(super) fn known(host: &str) -> Option<IpAddr> {
        match host.strip_suffix(".test")? {
            "elsewhere" => Some(IpAddr::from([127, 0, 0, 2])),
            _ => Some(IpAddr::from([127, 0, 0, 1])),
        }
    }

    fn dialer(mode: Mode) -> Dialer {
        let patience = Duration::from_secs(10);
        Dialer::new(ModeSwitch::new(mode), patience, patience)
    }

    #[tokio::test]
    async fn offline_opens_nothing_and_counts() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let origin = Origin { scheme: Scheme::Http, host: "127.0.0.1".to_owned(), port, via: None };
        let offline = dialer(Mode::Offline);
        assert!(matches!(offline.dial(&origin).await, Err(Failure::Offline)));
        assert_eq!(offline.refused(), 1);
        assert!(dialer(Mode::Online).dial(&origin).await.is_ok());
        assert!(dialer(Mode::Autodial).dial(&origin).await.is_ok());
    }

    #[tokio::test]
    async fn a_closed_port_is_refused_by_name() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let origin = Origin { scheme: Scheme::Http, host: "127.0.0.1".to_owned(), port, via: None };
        let failure = dialer(Mode::Online).dial(&origin).await.unwrap_err();
        assert_eq!(failure.to_string(), format!("127.0.0.1:{port} refuses the connection"));
        assert!(failure.may_pass());
    }

    #[tokio::test(start_paused = true)]
    async fn names_wait_for_their_turn_and_addresses_need_none() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let dialer = dialer(Mode::Online);
        let turns = u32::try_from(MAX_LOOKUPS).unwrap();
        let all = dialer.lookups.clone().acquire_many_owned(turns).await.unwrap();
        let name = Origin { scheme: Scheme::Http, host: "localhost".to_owned(), port, via: None };
        assert!(matches!(dialer.look_up(&name).await, Err(Failure::LookupTimeout { .. })));
        for host in ["127.0.0.1", "[::1]"] {
            let address = Origin { scheme: Scheme::Http, host: host.to_owned(), port, via: None };
            assert_eq!(dialer.look_up(&address).await.unwrap().len(), 1, "{host}");
        }
        drop(all);
        assert!(!dialer.look_up(&name).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_fails() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let bad = closed.local_addr().unwrap();
        drop(closed);
        assert!(connect_any(vec![bad, good]).await.is_ok());
        assert!(connect_any(vec![]).await.is_err());
    }
}
