//! The only code that opens outgoing connections. In offline mode it refuses them, except to nearby
//! hosts and to a captive portal.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use wwwoffle_config::Config;
use wwwoffle_url::{canonicalise_host, is_this_machine};

use self::resolver::Resolver;
use super::adjustable::Adjustable;
use super::inward::{InwardGuard, Reach, is_private};
use super::latest::LatestConnections;
use super::parents::ParentHealth;
use super::{Failure, Origin, ParentFault, ReceivedFrom, Scheme, Via};
use crate::base::mode::{ModeSetting, ModeSwitch};
use crate::base::statistics::{Account, Statistics};

/// The delay before the next address is tried in parallel (RFC 8305 §5 recommends 250 ms).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// A report that an origin was reached or could not be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginReport {
    /// The origin.
    pub origin: Origin,
    /// Whether the origin was reached, or answered a request.
    pub answered: bool,
}

/// The source of connections to origins, as far as the mode allows them.
#[derive(Debug)]
pub struct Dialer {
    mode: ModeSwitch,
    resolver: Resolver,
    connect_timeout: Adjustable<Duration>,
    refused: AtomicU64,
    probes: AtomicU64,
    /// The channel for reports about origins, used only while [`ModeSetting::Auto`] is chosen.
    reports: Option<mpsc::Sender<OriginReport>>,
    /// The configuration, which names the hosts that are reached in every mode.
    in_force: Arc<ArcSwap<Config>>,
    /// The protection of inward addresses from clients of other machines.
    guard: InwardGuard,
    /// The counters of received bytes.
    statistics: Arc<Statistics>,
    parents: ParentHealth,
    /// The latest connections, if clients may be redirected to us.
    latest: Option<LatestConnections>,
}

impl Dialer {
    /// A dialer that obeys `mode`. `dns_timeout` limits a name lookup. `connect_timeout` limits the
    /// time for all addresses together, after the lookup.
    #[must_use]
    pub fn new(mode: ModeSwitch, dns_timeout: Duration, connect_timeout: Duration) -> Self {
        Self {
            mode,
            resolver: Resolver::new(dns_timeout),
            connect_timeout: Adjustable::new(connect_timeout),
            refused: AtomicU64::default(),
            probes: AtomicU64::default(),
            reports: None,
            in_force: Arc::default(),
            guard: InwardGuard::default(),
            statistics: Arc::default(),
            parents: ParentHealth::default(),
            latest: None,
        }
    }

    /// Reads the hosts that are reached in every mode from the current configuration.
    #[must_use]
    pub fn following(self, in_force: Arc<ArcSwap<Config>>) -> Self {
        Self { in_force, ..self }
    }

    /// Refuses inward addresses, and the addresses on which the daemon is `listening`, to clients
    /// of other machines. The configuration may allow some inward hosts, but never the ports of the
    /// daemon.
    #[must_use]
    pub fn with_inward_guard(self, listening: Vec<SocketAddr>) -> Self {
        let guard = InwardGuard { in_force: Arc::clone(&self.in_force), listening };
        Self { guard, ..self }
    }

    /// Counts received bytes in `statistics`.
    #[must_use]
    pub fn counting(self, statistics: Arc<Statistics>) -> Self {
        Self { statistics, ..self }
    }

    /// Remembers the latest connections, so that [`Self::has_opened`] finds those that the firewall
    /// redirects to us.
    #[must_use]
    pub fn remembering_connections(self) -> Self {
        Self { latest: Some(LatestConnections::default()), ..self }
    }

    /// Whether the client at `peer` is the daemon itself: it has just opened a connection from this
    /// address and port.
    #[must_use]
    pub fn has_opened(&self, peer: SocketAddr) -> bool {
        self.latest.as_ref().is_some_and(|latest| latest.contains(peer))
    }

    /// The configuration in force.
    pub(super) fn config(&self) -> Arc<Config> {
        self.in_force.load_full()
    }

    /// The counter for bytes received from `origin`.
    pub(super) fn account(&self, origin: &Origin) -> Arc<Account> {
        self.statistics.account(&origin.host)
    }

    /// Whether the client may reach `origin`, judged by its host name. After the name lookup, the
    /// address is checked too.
    #[must_use]
    pub fn may_reach(&self, origin: &Origin) -> bool {
        self.guard.may_reach(origin)
    }

    /// Sends reports about origins to `reports` while [`ModeSetting::Auto`] is chosen. Reports
    /// beyond the capacity of the channel are dropped.
    #[must_use]
    pub fn with_reports(self, reports: mpsc::Sender<OriginReport>) -> Self {
        Self { reports: Some(reports), ..self }
    }

    /// The source behind a connection to `origin` at `peer`, for the archive tier. `None` without a
    /// configured tier, and for a private or unknown address.
    pub(super) fn source_of(&self, origin: &Origin, peer: Option<IpAddr>) -> Option<ReceivedFrom> {
        self.in_force.load().tier.objects.parts()?;
        if origin.via.is_some() {
            return Some(ReceivedFrom::ParentProxy);
        }
        peer.filter(|peer| !is_private(*peer)).map(|_| ReceivedFrom::PublicAddress)
    }

    /// Reports whether `origin` was reached, or answered a request. Nearby hosts, this machine
    /// and the engines of an archive tier are not reported: they say nothing about the link.
    pub(super) fn report_result(&self, origin: &Origin, answered: bool) {
        let Some(reports) = &self.reports else { return };
        let says_something = !is_here(origin)
            && !self.is_near(origin)
            && !self.in_force.load().tier.has_engine_at(&origin.host);
        if self.mode.chosen() == ModeSetting::Auto && says_something {
            // One lost report makes no difference.
            let _full = reports.try_send(OriginReport { origin: origin.clone(), answered });
        }
    }

    /// Whether the host is nearby (`[local-net]`) and so reached in every mode. The requested name
    /// decides, not the address.
    fn is_near(&self, origin: &Origin) -> bool {
        let config = self.in_force.load();
        let hosts = &config.local_net.hosts;
        // In CONNECT, the host has the client's spelling, so it is canonicalised here.
        !hosts.is_empty()
            && origin.via.is_none()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| hosts.contains(&host))
    }

    /// Whether the host belongs to a captive portal, which must be reachable while the link is
    /// judged offline.
    fn is_portal(&self, origin: &Origin) -> bool {
        !self.may_dial()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| self.mode.allows(&host))
    }

    /// Resolves when no request may go to `origin`, or at once if none may now. Dropping the future
    /// has no effect.
    pub async fn wait_until_shut(&self, origin: &Origin) {
        let (mut mode, mut chosen) = (self.mode.watch(), self.mode.watch_choice());
        while self.may_go(origin) {
            // `self` owns both senders, so waiting cannot fail.
            tokio::select! {
                _changed = mode.changed() => {}
                _changed = chosen.changed() => {}
            }
        }
    }

    fn may_go(&self, origin: &Origin) -> bool {
        self.may_dial() || self.is_near(origin) || self.is_portal(origin)
    }

    /// Uses these timeouts from now on.
    pub(super) fn set_timeouts(&self, dns_timeout: Duration, connect_timeout: Duration) {
        self.resolver.set_timeout(dns_timeout);
        self.connect_timeout.set(connect_timeout);
    }

    /// The number of requests and connections refused because of the mode.
    #[must_use]
    pub fn refused_count(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of probes started.
    #[must_use]
    pub fn probes(&self) -> u64 {
        self.probes.load(Ordering::Relaxed)
    }

    /// The parent proxies that do not work.
    #[must_use]
    pub fn parents(&self) -> &ParentHealth {
        &self.parents
    }

    /// The failure for a `fault` of the parent `via`, which is remembered if it is certainly one of
    /// the parent.
    pub(super) fn parent_failed(&self, via: &Via, fault: ParentFault) -> Failure {
        if fault.is_of_parent() {
            self.parents.failed(via, &fault, self.in_force.load().proxy.avoid_for);
        }
        via.failed(fault)
    }

    /// Connects to `origin`, by the first of its ways that works. Dropping the future, or a change to offline mode, abandons the
    /// attempt.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if the mode does not allow a connection to `origin`.
    /// [`Failure::Inward`] if the host or all of its addresses are forbidden for the client.
    /// Otherwise the failure of the lookup, of the connection or of the parent proxy.
    pub async fn dial(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let dialled = self.dial_each(origin).await;
        match &dialled {
            Ok(_) => self.report_result(origin, true),
            Err(failure) if failure.is_no_way() => self.report_result(origin, false),
            Err(_) => {}
        }
        dialled
    }

    async fn dial_each(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let mut failed = Failure::Unsendable("there is no way to its origin");
        for way in self.parents.ways(origin) {
            let dial = async {
                let addresses = self.addresses(&way).await?;
                self.connect(&way, addresses).await
            };
            match dial.await {
                Err(failure) if failure.may_try_next_parent() => failed = failure,
                dialled => return dialled,
            }
        }
        Err(failed)
    }

    /// Connects to `origin` as a probe. A probe is allowed only while [`ModeSetting::Auto`] is
    /// chosen, but then even if the link is judged offline. Dropping the future, or another choice,
    /// abandons the attempt.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if another mode is chosen. Otherwise an error of [`Self::dial`].
    pub async fn probe(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let mut failed = Failure::Unsendable("there is no way to its origin");
        for way in self.parents.ways(origin) {
            let dial = async {
                self.probes.fetch_add(1, Ordering::Relaxed);
                let addresses = self.find(&way).await?;
                self.open(&way, addresses).await
            };
            match self.run_as_probe(dial).await {
                Err(failure) if failure.may_try_next_parent() => failed = failure,
                dialled => return dialled,
            }
        }
        Err(failed)
    }

    /// Runs a step of a probe until another mode than [`ModeSetting::Auto`] is chosen.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if another mode is chosen, otherwise the error of `step`.
    pub(super) async fn run_as_probe<T>(
        &self,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut chosen = self.mode.watch_choice();
        tokio::select! {
            biased;
            _chosen = chosen.wait_for(|choice| *choice != ModeSetting::Auto) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(Failure::Offline)
            }
            done = step => done,
        }
    }

    /// Looks up the addresses of `origin`, or of its parent proxy, for [`Self::connect`].
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] in offline mode, without a lookup. [`Failure::Inward`] if the host
    /// or all of its addresses are forbidden for the client. Otherwise the failure of the lookup.
    pub(super) async fn addresses(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        self.run_if_allowed(origin, self.find(origin)).await
    }

    async fn find(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        if !self.may_reach(origin) {
            return Err(Failure::Inward { authority: origin.to_string() });
        }
        let Some(via) = &origin.via else {
            let found = self.resolver.addresses_of(origin).await?;
            return self.guard.reachable_addresses(origin, found);
        };
        // The parent proxy looks up the names of origins.
        let found = self.resolver.addresses_of(&via.as_origin()).await;
        found.map_err(|failure| self.parent_failed(via, ParentFault::Connect(Box::new(failure))))
    }

    /// Connects to one of the `addresses` of `origin`. With a parent proxy, the result is a
    /// connection that the parent has opened to the origin. Only for requests that an HTTP parent
    /// receives whole it is a connection to the parent.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if the mode does not allow the connection. [`Failure::Inward`] if all
    /// `addresses` are forbidden for the client. Otherwise the failure of the connection or of the
    /// parent proxy.
    pub(super) async fn connect(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        self.run_if_allowed(origin, self.open(origin, addresses)).await
    }

    async fn open(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        let Some(via) = &origin.via else { return self.connect_now(origin, addresses).await };
        let connected = self.connect_now(&via.as_origin(), addresses).await;
        let mut stream = connected
            .map_err(|failure| self.parent_failed(via, ParentFault::Connect(Box::new(failure))))?;
        let opens = !via.takes_requests(origin.scheme);
        if opens {
            let opened = timeout(self.connect_timeout.get(), via.open(&mut stream, origin)).await;
            let opened = opened.unwrap_or(Err(ParentFault::Silent));
            opened.map_err(|fault| self.parent_failed(via, fault))?;
        }
        self.parents.works(via, opens);
        Ok(stream)
    }

    /// Runs a step of reaching an origin until the mode becomes offline. Then the step is dropped
    /// and counted as refused. Steps for nearby hosts and for a captive portal continue.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if the mode does not allow the step, otherwise the error of `step`.
    pub(super) async fn run_if_allowed<T>(
        &self,
        origin: &Origin,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            // The mode is checked first. So nothing starts offline, and a result that arrives
            // together with the change of mode is not used.
            biased;
            () = self.wait_until_shut(origin) => self.allow(origin).and(Err(Failure::Offline)),
            done = step => done,
        }
    }

    /// Whether the mode allows connections.
    pub(super) fn may_dial(&self) -> bool {
        self.mode.now().may_dial()
    }

    /// Checks whether the mode allows a request to `origin`. A refusal is counted.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if the mode does not allow the request.
    pub(super) fn allow(&self, origin: &Origin) -> Result<(), Failure> {
        if self.may_go(origin) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Failure::Offline)
    }

    /// The addresses of the machine `name`, for access control.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] in offline mode, without a lookup. Otherwise the failure of the lookup.
    pub async fn addresses_of(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        // The name comes from the configuration, and no connection is opened, so all addresses are
        // allowed.
        let (host, reach) = (name.to_owned(), Reach::All);
        let origin = Origin { scheme: Scheme::Http, host, port: 0, via: None, reach };
        let found = self.addresses(&origin).await?;
        let mut addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    /// The name that the owner of `address` gives it, for access control. `None` if it has no name.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] in offline mode, without a lookup. Otherwise the failure of the lookup.
    pub async fn name_of(&self, address: IpAddr) -> Result<Option<String>, Failure> {
        let host = address.to_string();
        let origin = Origin { scheme: Scheme::Http, host, port: 0, via: None, reach: Reach::All };
        let name = self.run_if_allowed(&origin, self.resolver.name_of(address)).await?;
        // The name must not be another address.
        Ok(name.filter(|name| name.parse::<IpAddr>().is_err()))
    }

    async fn connect_now(
        &self,
        origin: &Origin,
        addresses: Vec<SocketAddr>,
    ) -> Result<TcpStream, Failure> {
        // The addresses are checked here again, because only this function opens sockets.
        let addresses = self.guard.reachable_addresses(origin, addresses)?;
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
        if let (Some(latest), Ok(own)) = (&self.latest, stream.local_addr()) {
            latest.add(own);
        }
        // Without `TCP_NODELAY`, a small request would wait until the previous packet is
        // acknowledged.
        stream
            .set_nodelay(true)
            .map_err(|source| Failure::Unreachable { authority: origin.to_string(), source })?;
        Ok(stream)
    }
}

/// Whether the host names this machine.
fn is_here(origin: &Origin) -> bool {
    origin.via.is_none() && is_this_machine(&origin.host)
}

/// Connects to the address that answers first. A further attempt starts after
/// [`NEXT_ADDRESS_AFTER`], or as soon as an attempt fails (RFC 8305).
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

mod resolver;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_auto;
#[cfg(test)]
mod tests_inward;
