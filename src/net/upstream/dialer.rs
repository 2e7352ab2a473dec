//! The one place that opens a connection outward, and refuses to in offline mode.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use wwwoffle_config::Config;
use wwwoffle_url::canonicalise_host;

use super::adjustable::Adjustable;
use super::inward::{Guard, Reach};
use super::{Failure, Origin, ParentFault, Scheme};
use crate::base::mode::{Choice, ModeSwitch};
use crate::storage::statistics::{Account, Statistics};

/// How long one address may take before the next one is tried beside it (RFC 8305 §5 proposes
/// 250 ms).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// How many addresses of one name are tried.
const MAX_ADDRESSES: usize = 8;

/// How many names are looked up at once. Each look-up holds a thread, of which the spool needs some
/// too: with a dead name server all of them would wait for it, and no kept page could be read.
const MAX_LOOKUPS: usize = 64;

/// How an origin did that a request went to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which one.
    pub origin: Origin,
    /// Whether it answered. If not, there was no way to it.
    pub answered: bool,
}

/// Opens connections to origins, if the mode allows.
#[derive(Debug)]
pub struct Dialer {
    mode: ModeSwitch,
    dns_timeout: Adjustable<Duration>,
    connect_timeout: Adjustable<Duration>,
    refused: AtomicU64,
    probes: AtomicU64,
    /// To whom it is told how origins do, while the mode follows from that.
    reports: Option<mpsc::Sender<Report>>,
    lookups: Arc<Semaphore>,
    /// Whose hosts nearby are reached in every mode.
    in_force: Arc<ArcSwap<Config>>,
    /// What is shut to clients of other machines.
    guard: Guard,
    /// Where what comes from origins is counted.
    statistics: Arc<Statistics>,
}

impl Dialer {
    /// A dialer that obeys `mode`. The timeouts bound the look-up of a name and the whole of the
    /// connecting after it.
    #[must_use]
    pub fn new(mode: ModeSwitch, dns_timeout: Duration, connect_timeout: Duration) -> Self {
        let (refused, probes) = (AtomicU64::new(0), AtomicU64::new(0));
        let lookups = Arc::new(Semaphore::new(MAX_LOOKUPS));
        let (dns_timeout, connect_timeout) =
            (Adjustable::new(dns_timeout), Adjustable::new(connect_timeout));
        let in_force = Arc::new(ArcSwap::from_pointee(Config::default()));
        let (reports, guard) = (None, Guard::default());
        Self {
            mode,
            dns_timeout,
            connect_timeout,
            refused,
            probes,
            reports,
            lookups,
            in_force,
            guard,
            statistics: Arc::default(),
        }
    }

    /// Takes the hosts that are reached in every mode from the configuration that is `in_force` at
    /// the time.
    #[must_use]
    pub fn following(self, in_force: Arc<ArcSwap<Config>>) -> Self {
        Self { in_force, ..self }
    }

    /// Lets clients of other machines reach nothing inward but what the configuration opens, nor where the
    /// daemon itself is `listening`.
    #[must_use]
    pub fn guarding(self, listening: Vec<SocketAddr>) -> Self {
        let guard = Guard { in_force: Arc::clone(&self.in_force), listening };
        Self { guard, ..self }
    }

    /// Counts what comes from origins in `statistics`.
    #[must_use]
    pub fn counting(self, statistics: Arc<Statistics>) -> Self {
        Self { statistics, ..self }
    }

    /// Where what comes from `origin` is counted.
    pub(super) fn account(&self, origin: &Origin) -> Arc<Account> {
        self.statistics.account(&origin.host)
    }

    /// Whether whoever asks may reach `origin`, as far as its host tells by itself; where it leads is
    /// judged once more when its name was looked up.
    #[must_use]
    pub fn may_reach(&self, origin: &Origin) -> bool {
        self.guard.may_reach(origin)
    }

    /// Tells how origins do, while [`Choice::Auto`] is chosen. What finds no room there is left out.
    #[must_use]
    pub fn telling(self, reports: mpsc::Sender<Report>) -> Self {
        Self { reports: Some(reports), ..self }
    }

    /// Tells how `origin` did in answering a request. Machines nearby and this one say nothing of the
    /// link.
    pub(super) fn tell(&self, origin: &Origin, answered: bool) {
        let Some(reports) = &self.reports else { return };
        if self.mode.chosen() == Choice::Auto && !is_here(origin) && !self.is_near(origin) {
            // Of so many reports one more or less makes no difference.
            let _full = reports.try_send(Report { origin: origin.clone(), answered });
        }
    }

    /// Whether the host is one of those nearby (`[local-net]`), which the mode does not shut off. It
    /// is judged by its name as it was asked for: what a name leads to changes nothing.
    fn is_near(&self, origin: &Origin) -> bool {
        let config = self.in_force.load();
        let hosts = &config.local_net.hosts;
        // CONNECT names a host in its client's spelling.
        !hosts.is_empty()
            && origin.via.is_none()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| hosts.contains(&host))
    }

    /// Whether the host is that of a captive portal, which is to be reached while the link is judged
    /// to be down.
    fn is_portal(&self, origin: &Origin) -> bool {
        !self.may_dial()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| self.mode.passes(&host))
    }

    /// Resolves when nothing may go to `origin` any more, at once if nothing may now. Dropping it is
    /// free.
    pub async fn until_shut(&self, origin: &Origin) {
        let (mut mode, mut chosen) = (self.mode.watch(), self.mode.watch_choice());
        while self.may_go(origin) {
            // Both have their senders in `self`.
            tokio::select! {
                _changed = mode.changed() => {}
                _changed = chosen.changed() => {}
            }
        }
    }

    fn may_go(&self, origin: &Origin) -> bool {
        self.may_dial() || self.is_near(origin) || self.is_portal(origin)
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

    /// How many connections were begun to find out whether the link works.
    #[must_use]
    pub fn probes(&self) -> u64 {
        self.probes.load(Ordering::Relaxed)
    }

    /// Connects to `origin`. Dropping the future closes what was opened, and so does a change of the
    /// mode meanwhile.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up or socket in offline mode, else what the name
    /// server or the network said.
    pub async fn dial(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let dialled = async {
            let addresses = self.addresses(origin).await?;
            self.connect(origin, addresses).await
        };
        let dialled = dialled.await;
        match &dialled {
            Ok(_) => self.tell(origin, true),
            Err(failure) if failure.is_no_way() => self.tell(origin, false),
            Err(_) => {}
        }
        dialled
    }

    /// Connects to `origin` to find out whether the link works, in whatever mode it is: only
    /// [`Choice::Auto`] permits that. Dropping the future closes what was opened, and so does another
    /// choice meanwhile.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up or socket when another mode is chosen, else what the
    /// name server or the network said.
    pub async fn probe(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let dial = async {
            self.probes.fetch_add(1, Ordering::Relaxed);
            let addresses = self.find(origin).await?;
            self.open(origin, addresses).await
        };
        self.while_probing(dial).await
    }

    /// Does what takes time in a probe, until another mode than [`Choice::Auto`] is chosen.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] when another mode is chosen, else what `step` comes to.
    pub(super) async fn while_probing<T>(
        &self,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut chosen = self.mode.watch_choice();
        tokio::select! {
            biased;
            _chosen = chosen.wait_for(|choice| *choice != Choice::Auto) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(Failure::Offline)
            }
            done = step => done,
        }
    }

    /// Looks up where `origin` is, or the proxy it is reached through, for [`Self::connect`].
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] without any look-up in offline mode, else what the name server said.
    pub(super) async fn addresses(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        self.while_allowed(origin, self.find(origin)).await
    }

    async fn find(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        if !self.may_reach(origin) {
            return Err(Failure::Inward { authority: origin.to_string() });
        }
        let Some(via) = &origin.via else {
            let found = self.look_up(origin).await?;
            return self.guard.outward(origin, found);
        };
        // The parent proxy looks up the names of origins.
        let found = self.look_up(&via.as_origin()).await;
        found.map_err(|failure| via.failed(ParentFault::Connect(Box::new(failure))))
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
        self.while_allowed(origin, self.open(origin, addresses)).await
    }

    async fn open(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        let Some(via) = &origin.via else { return self.connect_now(origin, addresses).await };
        let connected = self.connect_now(&via.as_origin(), addresses).await;
        let mut stream =
            connected.map_err(|failure| via.failed(ParentFault::Connect(Box::new(failure))))?;
        if origin.scheme == Scheme::Http {
            return Ok(stream);
        }
        let opened = timeout(self.connect_timeout.get(), via.open(&mut stream, origin)).await;
        opened.unwrap_or(Err(ParentFault::Silent)).map_err(|fault| via.failed(fault))?;
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
        tokio::select! {
            // First, so that nothing is begun offline, and nothing handed out that ended just then.
            biased;
            () = self.until_shut(origin) => self.allow(origin).and(Err(Failure::Offline)),
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
        if self.may_go(origin) {
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
        // It is the configuration that names it, and nothing is opened.
        let (host, reach) = (name.to_owned(), Reach::All);
        let origin = Origin { scheme: Scheme::Http, host, port: 0, via: None, reach };
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
        // Once more, at the only place that opens sockets.
        let addresses = self.guard.outward(origin, addresses)?;
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
        // RFC 6761 §6.4: no name server knows it.
        if host.rsplit('.').find(|label| !label.is_empty()) == Some("invalid") {
            let source = io::Error::new(io::ErrorKind::NotFound, "\".invalid\" has no addresses");
            return Err(Failure::UnknownHost { host, source, may_pass: false });
        }
        let (lookups, port) = (Arc::clone(&self.lookups), origin.port);
        let found = timeout(self.dns_timeout.get(), async move {
            let turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            spawn_blocking(move || {
                // getaddrinfo follows a changed resolv.conf, which a resolver of our own would not.
                // It cannot be stopped, so its turn ends when it does, and not when nobody waits.
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

/// Whether the origin is on this very machine, by its name.
fn is_here(origin: &Origin) -> bool {
    let host = origin.host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    // RFC 6761 §6.3.
    origin.via.is_none()
        && (host == "localhost"
            || host.ends_with(".localhost")
            || host.parse().is_ok_and(is_loopback))
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
mod tests;
#[cfg(test)]
mod tests_auto;
#[cfg(test)]
mod tests_inward;
