//! TLS to origins: TLS 1.2 and 1.3, with certificate verification always on.
//!
//! All origins share one session store, so sessions with every earlier host can be resumed. A
//! session is only offered to the host name for which it was made. An origin with allowed
//! fingerprints has a separate configuration without sessions. So each of its connections sends the
//! certificate, and removing a fingerprint from the list takes effect with the next connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tracing::{debug, info, warn};

use wwwoffle_config::Config;

use super::adjustable::Adjustable;
use super::line::ProbedStream;
use super::refused::RefusedCertificates;
use super::tls_error::{Handshake, TlsFault};
use super::verify::{AllowedFingerprints, CertificateVerifier, TrustedCertificates};
use super::{Failure, Origin};
use crate::net::certificates::sha256;
use crate::tls::provider::{self, provider};

/// The ALPN name of HTTP/1.1 (RFC 7301 §6).
const HTTP_1_1: &[u8] = b"http/1.1";

/// The ALPN name of HTTP/2 (RFC 9113 §3.1).
pub(super) const HTTP_2: &[u8] = b"h2";

/// The ALPN name of FTP (IANA registry of ALPN protocols).
const FTP: &[u8] = b"ftp";

/// The number of TLS sessions that an FTP session stores. It uses one.
const FTP_SESSIONS: usize = 8;

/// The protocols offered to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// HTTP/1.1 only: for requests that HTTP/2 does not support, and for origins that refuse it.
    Http1,
    /// HTTP/2, or HTTP/1.1 as a fallback.
    Either,
}

/// TLS for connections to origins: its configurations, and the certificates that were refused.
pub struct Tls {
    either: Arc<ClientConfig>,
    http1: Arc<ClientConfig>,
    trusted: TrustedCertificates,
    /// The configuration, which lists the certificates that were allowed individually.
    in_force: Arc<ArcSwap<Config>>,
    refused: RefusedCertificates,
    patience: Adjustable<Duration>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Tls {
    /// TLS that trusts the authorities of the system and the certificates in `extra`. `patience`
    /// bounds the handshake.
    ///
    /// # Errors
    ///
    /// If the cryptography lacks TLS 1.2 or 1.3, which is an error of the build, or if a
    /// certificate in `extra` is invalid.
    pub fn new(
        extra: &[CertificateDer<'static>],
        patience: Duration,
    ) -> Result<Self, rustls::Error> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            warn!(%error, "some of the authorities that the system trusts cannot be read");
        }
        let mut roots = roots(found.certs);
        for certificate in extra {
            roots.add(certificate.clone())?;
        }
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let own = extra.iter().map(|certificate| sha256(certificate)).collect();
        let trusted = TrustedCertificates { authorities, own: Arc::new(own) };
        let verifier =
            CertificateVerifier { trusted: trusted.clone(), allowed: AllowedFingerprints::new() };
        let mut config = ClientConfig::builder_with_details(provider(), provider::clock())
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        // Both configurations use the same session store, because sessions do not depend on the
        // protocol inside TLS.
        let mut either = config.clone();
        either.alpn_protocols.insert(0, HTTP_2.to_vec());
        let [either, http1] = [either, config].map(Arc::new);
        let in_force = Arc::new(ArcSwap::from_pointee(Config::default()));
        let refused = RefusedCertificates::default();
        Ok(Self { either, http1, trusted, in_force, refused, patience: Adjustable::new(patience) })
    }

    /// Uses this handshake timeout from now on.
    pub(super) fn set_patience(&self, patience: Duration) {
        self.patience.set(patience);
    }

    /// Reads the allowed certificates from the current configuration.
    #[must_use]
    pub fn following(self, in_force: Arc<ArcSwap<Config>>) -> Self {
        Self { in_force, ..self }
    }

    /// Recently refused certificates.
    pub(super) fn refused_certificates(&self) -> &RefusedCertificates {
        &self.refused
    }

    /// The fingerprints allowed at `origin` now.
    pub(super) fn allowed(&self, origin: &Origin) -> AllowedFingerprints {
        let config = self.in_force.load();
        config.https.allowed_certificates.at(&origin.host, origin.port).copied().collect()
    }

    /// Runs the handshake with `origin`. Returns the connection if its certificate is verified or
    /// one of those `allowed`. Dropping the future closes the connection.
    ///
    /// # Errors
    ///
    /// [`Failure::Certificate`], [`Failure::Tls`] or [`Failure::HandshakeTimeout`].
    pub(super) async fn wrap(
        &self,
        stream: ProbedStream,
        origin: &Origin,
        offer: Offer,
        allowed: &AllowedFingerprints,
    ) -> Result<TlsStream<ProbedStream>, Failure> {
        self.wrap_with(stream, origin, &self.config_for(offer, allowed)).await
    }

    /// Like [`Self::wrap`], with a configuration of [`Self::config_for_ftp`].
    pub(super) async fn wrap_with<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        origin: &Origin,
        config: &Arc<ClientConfig>,
    ) -> Result<TlsStream<S>, Failure> {
        let authority = || origin.to_string();
        let Some(name) = server_name(&origin.host) else {
            return Err(Failure::Tls { authority: authority(), fault: TlsFault::NoName });
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let error = match timeout(self.patience.get(), connector.connect(name, stream)).await {
            Ok(Ok(stream)) => {
                self.refused.remove(origin);
                return Ok(stream);
            }
            Ok(Err(error)) => error,
            Err(_) => return Err(Failure::HandshakeTimeout { authority: authority() }),
        };
        Err(match Handshake::of(error, !self.allowed(origin).is_empty()) {
            Handshake::Certificate(refused) => {
                let refused = Arc::new(refused);
                self.refused.add(origin, Arc::clone(&refused));
                Failure::Certificate { authority: authority(), refused }
            }
            Handshake::Tls(fault) => Failure::Tls { authority: authority(), fault },
        })
    }

    /// The configuration for the connections of one FTP session with `origin`. They share sessions
    /// with each other only.
    pub(super) fn config_for_ftp(&self, origin: &Origin) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config_for(Offer::Http1, &self.allowed(origin)));
        config.alpn_protocols = vec![FTP.to_vec()];
        config.resumption = Resumption::in_memory_sessions(FTP_SESSIONS);
        Arc::new(config)
    }

    /// The configuration for a protocol without a name in TLS, such as that of PostgreSQL.
    pub(super) fn config_for_other(&self, origin: &Origin) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config_for(Offer::Http1, &self.allowed(origin)));
        config.alpn_protocols = Vec::new();
        config.resumption = Resumption::disabled();
        Arc::new(config)
    }

    fn config_for(&self, offer: Offer, allowed: &AllowedFingerprints) -> Arc<ClientConfig> {
        let shared = match offer {
            Offer::Http1 => &self.http1,
            Offer::Either => &self.either,
        };
        if allowed.is_empty() {
            return Arc::clone(shared);
        }
        let verifier =
            CertificateVerifier { trusted: self.trusted.clone(), allowed: allowed.clone() };
        let mut config = ClientConfig::clone(shared);
        config.dangerous().set_certificate_verifier(Arc::new(verifier));
        config.resumption = Resumption::disabled();
        Arc::new(config)
    }
}

/// The name for which an origin's certificate must be valid. A name is sent as SNI; an IP address
/// is not (RFC 6066 §3). `None` if `host` cannot occur in a certificate.
pub(crate) fn server_name(host: &str) -> Option<ServerName<'static>> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(ServerName::from(address));
    }
    // RFC 6066 §3: the server name is sent without the final dot of an absolute name.
    ServerName::try_from(host.strip_suffix('.').unwrap_or(host).to_owned()).ok()
}

/// The authorities of the system. If it has none, as in many containers, the authorities of
/// browsers are used.
fn roots(system: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let (taken, passed_over) = roots.add_parsable_certificates(system);
    debug!(taken, passed_over, "authorities of the system");
    if roots.is_empty() {
        info!("the system has no certificate authorities; the built-in list is used");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sent_and_addresses_are_not() {
        for (host, want) in [
            ("www.example.org", Some("www.example.org")),
            ("www.example.org.", Some("www.example.org")),
            ("a_b.example", Some("a_b.example")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("[::1]", Some("::1")),
            ("a..b", None),
            ("", None),
        ] {
            let name = server_name(host);
            assert_eq!(name.as_ref().map(|name| name.to_str().into_owned()).as_deref(), want);
            let is_address = host.starts_with(['[', '1']);
            assert_eq!(matches!(name, Some(ServerName::IpAddress(_))), is_address, "{host}");
        }
    }

    #[test]
    fn the_built_in_roots_replace_missing_system_roots() {
        let built_in = webpki_roots::TLS_SERVER_ROOTS.len();
        assert!(built_in > 50);
        assert_eq!(roots(Vec::new()).len(), built_in);
        assert_eq!(roots(vec![CertificateDer::from(b"rubbish".to_vec())]).len(), built_in);
        let own = rcgen::generate_simple_self_signed(vec!["h.example".to_owned()]).unwrap();
        assert_eq!(roots(vec![own.cert.der().clone()]).len(), 1);
        assert!(Tls::new(&[], Duration::from_secs(1)).is_ok());
    }
}
