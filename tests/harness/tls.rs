//! TLS in front of an [`Origin`], with certificates made by the tests: valid ones and each kind of
//! invalid one.

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

/// A certificate authority for one test.
pub(crate) struct Authority {
    issuer: Issuer,
}

/// A chain of certificates, and the key of the first certificate.
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

/// The fields of a site's certificate before it is signed.
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

    /// An authority whose certificate has this name.
    pub(crate) fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = authority_params(name);
        Self { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// The certificate in PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Writes the certificate to a file in `directory`.
    pub(crate) fn write(&self, directory: &Path) -> PathBuf {
        let path = directory.join("authority.pem");
        std::fs::write(&path, self.pem()).unwrap();
        path
    }

    /// Starts a daemon that trusts this authority, with further configuration.
    #[track_caller]
    pub(crate) fn daemon(&self, config: &str) -> Daemon {
        let mut daemon = self.place(config);
        daemon.up();
        daemon
    }

    /// Like [`daemon`](Self::daemon), without starting the daemon.
    pub(crate) fn place(&self, config: &str) -> Daemon {
        let text = format!("[https]\nextra-ca = [\"authority.pem\"]\n{config}");
        let daemon = Daemon::prepare(Some(&text));
        self.write(daemon.home());
        daemon
    }

    /// A valid certificate for these names and addresses.
    pub(crate) fn identity(&self, names: &[&str]) -> Identity {
        self.sign(&params(names))
    }

    /// Like [`identity`](Self::identity). The server also sends the authority's own certificate.
    pub(crate) fn identity_with_root(&self, names: &[&str]) -> Identity {
        let mut identity = self.identity(names);
        identity.chain.push(self.issuer.der().clone());
        identity
    }

    /// An expired certificate.
    pub(crate) fn expired(&self, names: &[&str]) -> Identity {
        self.sign(&expired_params(names))
    }

    /// A certificate that is not valid yet.
    pub(crate) fn early(&self, names: &[&str]) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(2095, 6, 7);
        params.not_after = date_time_ymd(2096, 1, 1);
        self.sign(&params)
    }

    /// A certificate signed by an intermediate authority. If `complete`, the server also sends the
    /// certificate of the intermediate authority.
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

    /// A copy of this identity.
    pub(crate) fn again(&self) -> Self {
        self.shown_by(self)
    }

    /// The certificates of this identity with the key of `other`. If that is another identity, the
    /// key does not match the certificates.
    pub(crate) fn shown_by(&self, other: &Self) -> Self {
        let key = KeyPair::try_from(other.key.serialize_der()).unwrap();
        Self { chain: self.chain.clone(), key }
    }

    /// A self-signed certificate. If `of_authority`, it may sign other certificates.
    pub(crate) fn self_signed(names: &[&str], of_authority: bool) -> Self {
        Self::self_signed_with(params(names), of_authority)
    }

    /// An expired self-signed certificate of an authority.
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

    /// Writes the certificate and the key as PEM files.
    pub(crate) fn write(&self, directory: &Path) -> (PathBuf, PathBuf) {
        let files = (directory.join("site.pem"), directory.join("site.key"));
        std::fs::write(&files.0, self.pem()).unwrap();
        std::fs::write(&files.1, self.key.serialize_pem()).unwrap();
        files
    }

    /// The certificate of the site in PEM.
    pub(crate) fn pem(&self) -> String {
        let base64 = base64::engine::general_purpose::STANDARD.encode(&self.chain[0]);
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    }
}

/// How the server behaves in the TLS layer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manners {
    /// Whether connections end without a `close_notify`.
    pub(crate) hangs_up: bool,
    /// Whether only TLS 1.2 is offered.
    pub(crate) old: bool,
    /// Whether a client certificate is requested and then rejected.
    pub(crate) wants_client: bool,
    pub(crate) speaks: Speaks,
}

/// The protocol inside TLS, for clients that offer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Speaks {
    #[default]
    Http1,
    Http2,
    /// HTTP/2 with this limit of concurrent streams.
    FewStreams(u32),
}

/// The name (SNI) and the protocol (ALPN) of a handshake.
type Named = (Option<String>, Option<Vec<u8>>);

/// A record of the completed handshakes.
#[derive(Default)]
pub(crate) struct Seen {
    handshakes: AtomicU64,
    named: std::sync::Mutex<Vec<Named>>,
}

/// An origin behind TLS. The inner `origin` records requests and scripts responses.
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

    /// Listens at the address of an earlier origin.
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
        // `with_single_cert` would refuse a key that belongs to another certificate.
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

    /// The URL of a path, by address.
    pub(crate) fn url(&self, path: &str) -> String {
        self.url_at("127.0.0.1", path)
    }

    /// The URL of a path, by another name of this machine.
    pub(crate) fn url_at(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.addr.port())
    }

    /// Completed handshakes so far.
    pub(crate) fn handshakes(&self) -> u64 {
        self.seen.handshakes.load(Ordering::SeqCst)
    }

    /// The name and protocol of each completed handshake.
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
            // If serving fails, the test sees the error at the other end of the connection.
            tokio::spawn(async move { drop(front.serve(stream).await) });
        }
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut inside = match self.acceptor.accept(stream).into_fallible().await {
            Ok(inside) => inside,
            Err((_, mut stream)) => {
                // If bytes of the client were still unread, the close would become a reset, which
                // could overtake the alert. So the client's bytes are read to their end.
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
        // The stream is flushed and dropped. So the connection ends without a `close_notify`.
        to_client.flush().await
    }
}
