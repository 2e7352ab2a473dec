//! HTTPS through the proxy: a site with TLS, a daemon that serves it to clients, and the daemon's
//! authority.

use std::path::{Path, PathBuf};

use super::{Authority, Client, Daemon, Manners, Speaks, Tls, TlsOrigin, daemon};

/// The authority of a daemon in the form that clients need.
pub(crate) struct Trust {
    pub(crate) der: Vec<u8>,
    pub(crate) pem: PathBuf,
}

impl Trust {
    /// The authority that `wwwoffle ca export` prints.
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

    /// A client configuration that trusts only this authority.
    pub(crate) fn tls(&self) -> Tls<'_> {
        Tls { authority: &self.der, alpn: &[b"http/1.1"] }
    }
}

/// A daemon, a TLS site that the daemon trusts, and the daemon's own authority.
pub(crate) struct Stage {
    pub(crate) daemon: Daemon,
    pub(crate) site: TlsOrigin,
    pub(crate) trust: Trust,
}

impl Stage {
    /// Sets up a site with HTTP/1.1.
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

    /// A new HTTP/1.1 connection to the site through the daemon.
    #[track_caller]
    pub(crate) fn client(&self) -> Client {
        let tls = Tls { authority: &self.trust.der, alpn: &[b"http/1.1"] };
        Client::connect_tls(self.daemon.addr(), &self.host(), "127.0.0.1", tls).unwrap()
    }

    /// Stops the site and restarts the daemon, offline.
    #[track_caller]
    pub(crate) fn go_offline(&mut self) {
        self.daemon.settle();
        self.daemon.ok(&["offline"]);
        self.site.stop();
        self.daemon.restart();
    }

    /// The address of the site with its port.
    pub(crate) fn host(&self) -> String {
        self.site.addr.to_string()
    }

    /// The URL of the proxy for command lines. It changes with each start of the daemon.
    pub(crate) fn proxy(&self) -> String {
        format!("http://{}", self.daemon.addr())
    }
}

/// The path of one of our scripts in another language.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name)
}
