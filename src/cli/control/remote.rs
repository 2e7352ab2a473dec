//! The daemon on another machine: its API at its port, over HTTPS or HTTP.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use wwwoffle_url::is_this_machine;

use super::ApiStream;
use crate::base::basic::Login;
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::small_file;
use crate::cli::args::DaemonArgs;
use crate::cli::failure::{VerbFailure, VerbResult};
use crate::cli::{Terminal, passwd};
use crate::net::upstream::server_name;
use crate::storage::body::Body;
use crate::tls::provider::{self, provider};

/// Time limit for the connection, and again for the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The permissions of a password file that let others read it.
const READABLE_BY_OTHERS: u32 = 0o077;

/// The field of a request with the token that changes need.
const TOKEN: HeaderName = HeaderName::from_static("x-wwwoffle-token");

/// The text in front of the token in the forms of the home page.
const BEFORE_TOKEN: &str = "name=\"token\" value=\"";

/// The address of a daemon, and how to log in to it.
#[derive(Clone, Debug)]
pub(crate) struct RemoteDaemon {
    /// As typed, for messages.
    url: String,
    host: String,
    port: u16,
    is_tls: bool,
    /// A file with the authority of the daemon, in addition to those of the system.
    authority: Option<PathBuf>,
    /// The login with the control password.
    login: Option<HeaderValue>,
    /// The token for changes, once fetched.
    pub(super) token: OnceCell<HeaderValue>,
}

impl RemoteDaemon {
    /// Reads the address that was typed, and the password from its file or from the terminal.
    /// `None` if no address was typed.
    pub(crate) fn of(typed: DaemonArgs, terminal: &mut Terminal<'_>) -> VerbResult<Option<Self>> {
        let DaemonArgs { daemon: Some(url), password_file, ca } = typed else { return Ok(None) };
        let (host, port, is_tls) = parse(&url)?;
        let password = match &password_file {
            Some(file) => Some(password_of(file)?),
            None if terminal.typed => {
                let asked = passwd::ask(&format!("control password of {host}: "), terminal)?;
                Some(asked).filter(|password| !password.is_empty())
            }
            None => None,
        };
        if password.is_some() && !is_tls && !is_this_machine(&host) {
            writeln!(
                terminal.stderr,
                "wwwoffle: the control password is sent unencrypted: use https://{host}:{port}"
            )?;
        }
        let login = password.map(|password| login(&password)).transpose()?;
        let token = OnceCell::new();
        Ok(Some(Self { url, host, port, is_tls, authority: ca, login, token }))
    }

    /// Returns the failure of a verb that works on the spool itself.
    pub(crate) fn not_here(&self) -> VerbFailure {
        VerbFailure::usage(format_args!(
            "this works only on the machine of the spool, not through --daemon {}",
            self.url
        ))
    }

    /// Adds the host, the login and, for a change, the token.
    pub(super) fn sign(&self, request: &mut Request<Body>) -> VerbResult<()> {
        let bad = |_| VerbFailure::usage(format_args!("--daemon {:?}: bad host", self.url));
        let host = HeaderValue::from_str(&format!("{}:{}", self.host, self.port)).map_err(bad)?;
        let is_change = *request.method() == Method::POST;
        let fields = request.headers_mut();
        fields.insert(HOST, host);
        if let Some(login) = &self.login {
            fields.insert(AUTHORIZATION, login.clone());
        }
        if let Some(token) = self.token.get().filter(|_| is_change) {
            fields.insert(TOKEN, token.clone());
        }
        Ok(())
    }

    /// Finds the token for changes in the home page.
    pub(super) fn note_token(&self, page: &[u8]) -> VerbResult<()> {
        let page = String::from_utf8_lossy(page);
        let token = page.split_once(BEFORE_TOKEN).and_then(|(_, rest)| rest.split_once('"'));
        let token = token.and_then(|(token, _)| HeaderValue::from_str(token).ok());
        let token = token.ok_or_else(|| {
            VerbFailure::plain(format_args!("{} is not the address of a wwwoffle", self.url))
        })?;
        let _is_first = self.token.set(token);
        Ok(())
    }

    /// Connects to the daemon.
    pub(super) async fn connect(&self) -> VerbResult<ApiStream> {
        let host = self.host.trim_matches(['[', ']']);
        let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect((host, self.port))).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Err(_) => return Err(self.timed_out()),
        };
        // Calls are short, and each waits for its response.
        let _only_slower = stream.set_nodelay(true);
        if !self.is_tls {
            return Ok(Box::new(stream));
        }
        let name = server_name(host).ok_or_else(|| {
            VerbFailure::usage(format_args!("--daemon {:?}: no certificate is for it", self.url))
        })?;
        let connector = TlsConnector::from(Arc::new(self.tls()?));
        match timeout(CONNECT_TIMEOUT, connector.connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) => Err(VerbFailure::plain(format_args!(
                "no secure connection to {}: {}; if its certificate is not trusted here, get \
                 `wwwoffle ca export` from that machine, and name the file with --ca FILE",
                self.url,
                error_chain(&error)
            ))),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn tls(&self) -> VerbResult<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(file) = &self.authority {
            let path = file.display();
            let text = small_file::read(file)
                .map_err(|error| {
                    VerbFailure::failed(format_args!("{path} cannot be read"), &error)
                })?
                .ok_or_else(|| VerbFailure::usage(format_args!("there is no file {path}")))?;
            let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
            let (added, _ignored) = roots.add_parsable_certificates(found.unwrap_or_default());
            if added == 0 {
                return Err(VerbFailure::usage(format_args!("{path} contains no certificate")));
            }
        }
        let config = ClientConfig::builder_with_details(provider(), provider::clock())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| VerbFailure::failed("TLS cannot be set up", &error))?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }

    fn unreachable(&self, error: &std::io::Error) -> VerbFailure {
        VerbFailure::failed(format_args!("cannot reach the daemon at {}", self.url), error)
    }

    fn timed_out(&self) -> VerbFailure {
        let seconds = CONNECT_TIMEOUT.as_secs();
        VerbFailure::plain(format_args!("{} did not answer within {seconds} s", self.url))
    }
}

/// Returns the host, the port, and whether the address is one of HTTPS.
fn parse(url: &str) -> VerbResult<(String, u16, bool)> {
    let bad = || {
        VerbFailure::usage(format_args!(
            "--daemon takes https://HOST:PORT or http://HOST:PORT, not {url:?}"
        ))
    };
    let uri: Uri = url.parse().map_err(|_| bad())?;
    let is_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(bad()),
    };
    let authority = uri.authority().ok_or_else(bad)?;
    let has_more = authority.as_str().contains('@') || uri.query().is_some();
    if has_more || uri.path() != "/" || authority.host().is_empty() {
        return Err(bad());
    }
    let port = authority.port_u16().unwrap_or(8080);
    Ok((authority.host().to_owned(), port, is_tls))
}

/// Reads the control password from the first line of a file that only its owner can read.
pub(in crate::cli) fn password_of(file: &Path) -> VerbResult<String> {
    match private_text(file)?.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(VerbFailure::usage(format_args!(
            "{} has no password in its first line",
            file.display()
        ))),
    }
}

/// Reads a file with passwords that only its owner can read.
pub(in crate::cli) fn private_text(file: &Path) -> VerbResult<String> {
    let path = file.display();
    let unreadable = |error: &dyn std::error::Error| {
        VerbFailure::failed(format_args!("{path} cannot be read"), error)
    };
    let found = rustix::fs::stat(file).map_err(|error| unreadable(&error))?;
    if found.st_mode & READABLE_BY_OTHERS != 0 {
        return Err(VerbFailure::Said(
            ExitStatus::Usage,
            format!("other users can read the password in {path}: run `chmod 600 {path}`"),
        ));
    }
    let bytes = small_file::read(file).map_err(|error| unreadable(&error))?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|error| unreadable(&error))
}

/// The login with the control password, for which any user name is accepted.
fn login(password: &str) -> VerbResult<HeaderValue> {
    let login = Login { user: Vec::new(), password: password.as_bytes().to_vec() };
    login.to_field().map_err(|error| VerbFailure::failed("the password cannot be sent", &error))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_address_has_a_host_and_nothing_else() {
        for (url, want) in [
            ("https://ship.lan:8443", ("ship.lan", 8443, true)),
            ("http://ship.lan/", ("ship.lan", 8080, false)),
            ("https://[::1]:1", ("[::1]", 1, true)),
        ] {
            let (host, port, is_tls) = parse(url).unwrap();
            assert_eq!((host.as_str(), port, is_tls), want);
        }
        for url in
            ["ship.lan", "ftp://a/", "http://a/x", "http://u:p@a/", "http://a/?x", "", "http://"]
        {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
