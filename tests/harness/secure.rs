//! HTTPS through the proxy: a site behind TLS, a daemon before it, and the authority it gives out.

use std::path::{Path, PathBuf};

use super::{Authority, Client, Daemon, Manners, Speaks, Tls, TlsOrigin, daemon};

/// The authority of a daemon, as clients are given it.
pub(crate) struct Trust {
    pub(crate) der: Vec<u8>,
    pub(crate) pem: PathBuf,
}

impl Trust {
    /// What `wwwoffle ca export` gives.
    #[track_caller]
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let pem = daemon.home().join("ca.pem");
        std::fs::write(&pem, daemon.ok(&["ca", "export"])).unwrap();
        let export = daemon.command(&["ca", "export", "--der"]);
        let der = daemon::output(export, None, super::PATIENCE).stdout;
        Self { der, pem }
    }

    /// The path of the certificate in PEM, for command lines.
    pub(crate) fn file(&self) -> &str {
        self.pem.to_str().unwrap()
    }

    /// A client that trusts it and nobody else.
    pub(crate) fn tls(&self) -> Tls<'_> {
        Tls { authority: &self.der, alpn: &[b"http/1.1"] }
    }
}

/// A daemon, a site behind TLS that it verifies, and the daemon's own authority.
pub(crate) struct Stage {
    pub(crate) daemon: Daemon,
    pub(crate) site: TlsOrigin,
    pub(crate) trust: Trust,
}

impl Stage {
    /// One whose site speaks HTTP/1.1.
    #[track_caller]
    pub(crate) fn set() -> Self {
        Self::speaking(Speaks::Http1)
    }

    #[track_caller]
    pub(crate) fn speaking(speaks: Speaks) -> Self {
        let authority = Authority::new();
        let identity = authority.identity(&["localhost", "127.0.0.1"]);
        let site = TlsOrigin::with_manners(identity, Manners { speaks, ..Manners::default() });
        let daemon = authority.daemon("");
        let trust = Trust::of(&daemon);
        Self { daemon, site, trust }
    }

    /// A connection to the site, of a client that speaks HTTP/1.1.
    #[track_caller]
    pub(crate) fn client(&self) -> Client {
        let tls = Tls { authority: &self.trust.der, alpn: &[b"http/1.1"] };
        Client::connect_tls(self.daemon.addr(), &self.host(), "127.0.0.1", tls).unwrap()
    }

    /// From here on there is no site, and the daemon is another process.
    #[track_caller]
    pub(crate) fn go_offline(&mut self) {
        self.daemon.settle();
        self.daemon.ok(&["offline"]);
        self.site.stop();
        self.daemon.restart();
    }

    /// The site's address with its port.
    pub(crate) fn host(&self) -> String {
        self.site.addr.to_string()
    }

    /// The proxy as command lines take it; another one after each start of the daemon.
    pub(crate) fn proxy(&self) -> String {
        format!("http://{}", self.daemon.addr())
    }
}

/// A script of ours for another language.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name)
}
