//! TLS in front of an [`Origin`]: certificates made by the tests, good ones and each kind of bad one.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, SupportedProtocolVersion, version};
use tokio::io::{AsyncWriteExt, copy, copy_bidirectional, split};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use wwwoffle::tls::provider::provider;

use super::http2_front::{self, Streams};
use super::{Daemon, Origin};

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A certificate authority of one test.
pub(crate) struct Authority {
    issuer: Issuer,
}

/// A chain of certificates and the key of the first.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

fn expired_params(names: &[&str]) -> CertificateParams {
    let mut params = params(names);
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(2020, 2, 3);
    params
}

/// What a site's certificate says, before it is signed.
fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.use_authority_key_identifier_extension = true;
    params
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("Root of a test")
    }

    /// One whose certificate has this name.
    pub(crate) fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = authority_params(name);
        Self { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Its certificate in PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Its certificate as a file in `directory`.
    pub(crate) fn write(&self, directory: &Path) -> PathBuf {
        let path = directory.join("authority.pem");
        std::fs::write(&path, self.pem()).unwrap();
        path
    }

    /// A daemon that trusts it, with more configuration after that.
    #[track_caller]
    pub(crate) fn daemon(&self, config: &str) -> Daemon {
        let mut daemon = self.place(config);
        daemon.up();
        daemon
    }

    /// The place for such a daemon, with nothing started yet.
    pub(crate) fn place(&self, config: &str) -> Daemon {
        let text = format!("[https]\nextra-ca = [\"authority.pem\"]\n{config}");
        let daemon = Daemon::prepare(Some(&text));
        self.write(daemon.home());
        daemon
    }

    /// A good certificate for these names and addresses.
    pub(crate) fn identity(&self, names: &[&str]) -> Identity {
        self.sign(&params(names))
    }

    /// The same, sent with the authority's own.
    pub(crate) fn identity_with_root(&self, names: &[&str]) -> Identity {
        let mut identity = self.identity(names);
        identity.chain.push(self.issuer.der().clone());
        identity
    }

    /// One whose time is over.
    pub(crate) fn expired(&self, names: &[&str]) -> Identity {
        self.sign(&expired_params(names))
    }

    /// One whose time has not begun.
    pub(crate) fn early(&self, names: &[&str]) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(2095, 6, 7);
        params.not_after = date_time_ymd(2096, 1, 1);
        self.sign(&params)
    }

    /// One signed by an authority in between, sent with that one's certificate or without it.
    pub(crate) fn indirect(&self, names: &[&str], complete: bool) -> Identity {
        let between = authority_params("In between");
        let between =
            CertifiedIssuer::signed_by(between, KeyPair::generate().unwrap(), &*self.issuer)
                .unwrap();
        let key = KeyPair::generate().unwrap();
        let mut chain = vec![params(names).signed_by(&key, &*between).unwrap().der().clone()];
        if complete {
            chain.push(between.der().clone());
        }
        Identity { chain, key }
    }

    fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &*self.issuer).unwrap();
        Identity { chain: vec![certificate.der().clone()], key }
    }
}

impl Identity {
    /// The SHA-256 of the first certificate, in hex.
    pub(crate) fn sha256(&self) -> String {
        hex::encode(wwwoffle::net::certificates::sha256(&self.chain[0]))
    }

    /// The same once more.
    pub(crate) fn again(&self) -> Self {
        self.shown_by(self)
    }

    /// The certificates of this one with the key of `other`, who does not have its own.
    pub(crate) fn shown_by(&self, other: &Self) -> Self {
        let key = KeyPair::try_from(other.key.serialize_der()).unwrap();
        Self { chain: self.chain.clone(), key }
    }

    /// A certificate that nobody but its owner has signed; as that of an authority, or not.
    pub(crate) fn self_signed(names: &[&str], of_authority: bool) -> Self {
        Self::self_signed_with(params(names), of_authority)
    }

    /// The same, whose time is over, of an authority.
    pub(crate) fn expired_self_signed(names: &[&str]) -> Self {
        Self::self_signed_with(expired_params(names), true)
    }

    fn self_signed_with(mut params: CertificateParams, of_authority: bool) -> Self {
        if of_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { chain: vec![certificate.der().clone()], key }
    }

    /// The certificate of the site in PEM.
    pub(crate) fn pem(&self) -> String {
        let base64 = base64::engine::general_purpose::STANDARD.encode(&self.chain[0]);
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    }
}

/// How the server behaves below HTTP.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manners {
    /// Ends connections without saying so (`close_notify`).
    pub(crate) hangs_up: bool,
    /// Speaks TLS 1.2 only.
    pub(crate) old: bool,
    /// Wants a certificate of its clients, and takes none.
    pub(crate) wants_client: bool,
    pub(crate) speaks: Speaks,
}

/// What is spoken inside, to those that offer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Speaks {
    #[default]
    Http1,
    Http2,
    /// HTTP/2, with so many streams on one connection.
    FewStreams(u32),
}

/// The name (SNI) and the protocol (ALPN) of a handshake.
type Named = (Option<String>, Option<Vec<u8>>);

/// What was seen of the TLS side.
#[derive(Default)]
pub(crate) struct Seen {
    handshakes: AtomicU64,
    named: std::sync::Mutex<Vec<Named>>,
}

/// An origin behind TLS. Requests are looked at, and answers scripted, at `origin`.
pub(crate) struct TlsOrigin {
    pub(crate) origin: Origin,
    pub(crate) addr: SocketAddr,
    seen: Arc<Seen>,
    pub(crate) streams: Arc<Streams>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl TlsOrigin {
    pub(crate) fn start(identity: Identity) -> Self {
        Self::with_manners(identity, Manners::default())
    }

    pub(crate) fn with_manners(identity: Identity, manners: Manners) -> Self {
        Self::listening(identity, manners, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// At an address where another was before.
    pub(crate) fn at(identity: Identity, addr: SocketAddr) -> Self {
        Self::listening(identity, Manners::default(), addr)
    }

    fn listening(identity: Identity, manners: Manners, addr: SocketAddr) -> Self {
        let versions: &[&SupportedProtocolVersion] =
            if manners.old { &[&version::TLS12] } else { &[&version::TLS13, &version::TLS12] };
        let config = ServerConfig::builder_with_provider(provider());
        let config = config.with_protocol_versions(versions).unwrap();
        let config = if manners.wants_client {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(identity.chain[0].clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider(),
            );
            config.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            config.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(identity.key.serialize_der()).unwrap();
        // Not `with_single_cert`, which refuses a key that is another certificate's.
        let key = provider().key_provider.load_private_key(key).unwrap();
        let certified = CertifiedKey::new(identity.chain, key);
        let mut config = config.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if manners.speaks != Speaks::Http1 {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        let (origin, seen) = (Origin::start(), Arc::new(Seen::default()));
        let streams = Arc::new(Streams::default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind(addr)).unwrap();
        let addr = listener.local_addr().unwrap();
        let front = Front {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            to: origin.addr,
            seen: Arc::clone(&seen),
            manners,
            streams: Arc::clone(&streams),
        };
        runtime.spawn(Arc::new(front).accept(listener));
        Self { origin, addr, seen, streams, runtime: Some(runtime) }
    }

    /// The URL of a path here, by address.
    pub(crate) fn url(&self, path: &str) -> String {
        self.url_at("127.0.0.1", path)
    }

    /// The URL of a path here, by another name of this machine.
    pub(crate) fn url_at(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.addr.port())
    }

    /// Completed handshakes so far.
    pub(crate) fn handshakes(&self) -> u64 {
        self.seen.handshakes.load(Ordering::SeqCst)
    }

    /// What was asked for in each completed handshake.
    pub(crate) fn named(&self) -> Vec<Named> {
        self.seen.named.lock().unwrap().clone()
    }

    /// Closes the port and every connection.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.origin.stop();
        super::eventually("the port is closed", || {
            std::net::TcpStream::connect(self.addr).is_err()
        });
    }
}

impl Drop for TlsOrigin {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Front {
    acceptor: TlsAcceptor,
    to: SocketAddr,
    seen: Arc<Seen>,
    manners: Manners,
    streams: Arc<Streams>,
}

impl Front {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let front = Arc::clone(&self);
            // What goes wrong with a connection is for the test to see at its other end.
            tokio::spawn(async move { drop(front.serve(stream).await) });
        }
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut inside = match self.acceptor.accept(stream).into_fallible().await {
            Ok(inside) => inside,
            Err((_, mut stream)) => {
                // What the client sent meanwhile is read: a reset could overtake the alert.
                stream.shutdown().await?;
                copy(&mut stream, &mut tokio::io::sink()).await?;
                return Ok(());
            }
        };
        let (_, session) = inside.get_ref();
        let name = session.server_name().map(str::to_owned);
        let protocol = session.alpn_protocol().map(<[u8]>::to_vec);
        let speaks_http2 = protocol.as_deref() == Some(b"h2");
        self.seen.named.lock().unwrap().push((name, protocol));
        self.seen.handshakes.fetch_add(1, Ordering::SeqCst);
        if speaks_http2 {
            let streams = Arc::clone(&self.streams);
            let max_streams = match self.manners.speaks {
                Speaks::FewStreams(max) => Some(max),
                Speaks::Http1 | Speaks::Http2 => None,
            };
            let served = http2_front::serve(inside, self.to, max_streams, streams);
            return served.await.map_err(io::Error::other);
        }
        let mut plain = TcpStream::connect(self.to).await?;
        if !self.manners.hangs_up {
            copy_bidirectional(&mut inside, &mut plain).await?;
            return Ok(());
        }
        let (mut from_client, mut to_client) = split(inside);
        let (mut from_origin, mut to_origin) = plain.split();
        tokio::select! {
            _ = copy(&mut from_client, &mut to_origin) => {}
            _ = copy(&mut from_origin, &mut to_client) => {}
        }
        // Flushed and dropped: the connection ends, and nobody has said that it would.
        to_client.flush().await
    }
}
