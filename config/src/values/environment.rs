//! The variables of the environment that name parent proxies, as curl and other programs read them.

use super::parent::{ParentAddress, ParentProtocol};
use crate::{disk::lookup::ProxyVariables, pattern::host::HostSpec};
use std::{ffi::OsString, fmt};
use wwwoffle_url::url_decode_generic;

/// The longest value of a variable, in bytes.
const MAX_VARIABLE: usize = 64 << 10;

/// The largest number of entries in `no_proxy`.
const MAX_EXCEPTIONS: usize = 1_000;

/// A variable that cannot be used. Its value may contain a password, so it is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} is not {expected}")]
pub struct VariableFault {
    name: &'static str,
    expected: &'static str,
}

/// A parent proxy of the environment, with its login.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvironmentParent {
    /// Its address.
    pub address: ParentAddress,
    /// The user and the password.
    pub login: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for EnvironmentParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvironmentParent({})", self.address)
    }
}

/// The parent proxies that the environment names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentParents {
    http: Option<EnvironmentParent>,
    https: Option<EnvironmentParent>,
    ftp: Option<EnvironmentParent>,
    all: Option<EnvironmentParent>,
    exceptions: Vec<Exception>,
}

/// Hosts of one entry of `no_proxy`, and the port if the entry has one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    hosts: Vec<HostSpec>,
    port: Option<u16>,
}

impl EnvironmentParents {
    /// Parses the variables. An empty variable counts as missing.
    ///
    /// # Errors
    ///
    /// [`VariableFault`] for the first variable that cannot be used: ignoring it would connect
    /// without the parent proxy.
    pub fn parse(variables: &ProxyVariables) -> Result<Self, VariableFault> {
        let ProxyVariables { http, https, ftp, all, exceptions } = variables;
        Ok(Self {
            http: parent("http_proxy", http.as_ref())?,
            https: parent("https_proxy", https.as_ref())?,
            ftp: parent("ftp_proxy", ftp.as_ref())?,
            all: parent("all_proxy", all.as_ref())?,
            exceptions: parse_exceptions(exceptions.as_ref())?,
        })
    }

    /// The parent proxy for a URL of this protocol. `None` if the environment names none, or
    /// excludes the host.
    #[must_use]
    pub fn of(&self, protocol: &str, host: &str, port: Option<u16>) -> Option<&EnvironmentParent> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let own = match protocol {
            "http" => &self.http,
            "https" => &self.https,
            "ftp" => &self.ftp,
            _ => &None,
        };
        let excepts = |one: &Exception| {
            (one.port.is_none() || one.port == port)
                && one.hosts.iter().any(|spec| spec.matches(host))
        };
        own.as_ref().or(self.all.as_ref()).filter(|_| !self.exceptions.iter().any(excepts))
    }
}

fn text<'a>(
    name: &'static str,
    given: Option<&'a OsString>,
) -> Result<Option<&'a str>, VariableFault> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
    let text = given.to_str().filter(|text| text.len() <= MAX_VARIABLE);
    text.map(Some).ok_or(VariableFault { name, expected: "a text of at most 64 KiB" })
}

fn parent(
    name: &'static str,
    given: Option<&OsString>,
) -> Result<Option<EnvironmentParent>, VariableFault> {
    let Some(text) = text(name, given)? else { return Ok(None) };
    let expected = "the URL of an HTTP or SOCKS 5 proxy, such as \"http://proxy.example:3128\" or \
                    \"socks5h://127.0.0.1:9050\"";
    let (scheme, rest) = text.trim().split_once("://").unwrap_or(("http", text.trim()));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (login, authority) = match rest.rsplit_once('@') {
        Some((login, authority)) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            (
                Some((
                    url_decode_generic(user.as_bytes()),
                    url_decode_generic(password.as_bytes()),
                )),
                authority,
            )
        }
        None => (None, rest),
    };
    let default_port = |protocol| match protocol {
        ParentProtocol::Http => Some(80),
        ParentProtocol::Socks5 => Some(1080),
    };
    let address = ParentAddress::parse(&format!("{scheme}://{authority}"), default_port)
        .map_err(|_| VariableFault { name, expected })?;
    Ok(Some(EnvironmentParent { address, login }))
}

/// Parses `no_proxy`: hosts with commas or spaces between them. A name includes the names below it,
/// with or without a dot before it; `*` is every host.
fn parse_exceptions(given: Option<&OsString>) -> Result<Vec<Exception>, VariableFault> {
    let name = "no_proxy";
    let entries = text(name, given)?.unwrap_or_default();
    let entries = entries.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
    let expected = "a list of at most 1,000 hosts, such as \"localhost,.lan,10.0.0.0/8\"";
    let fault = VariableFault { name, expected };
    let mut exceptions = Vec::new();
    for entry in entries {
        if exceptions.len() == MAX_EXCEPTIONS {
            return Err(fault);
        }
        exceptions.push(exception(entry).ok_or(fault)?);
    }
    Ok(exceptions)
}

fn exception(entry: &str) -> Option<Exception> {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match entry.rsplit_once(':').filter(|(host, port)| {
        // An IPv6 address without brackets has colons but no port.
        is_port(port) && (!host.contains(':') || host.ends_with(']'))
    }) {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (entry, None),
    };
    let host = host.strip_prefix("*.").or_else(|| host.strip_prefix('.')).unwrap_or(host);
    let mut hosts: Vec<HostSpec> = vec![host.parse().ok()?];
    // Names below the name. For an address or a network there are none.
    hosts.extend(format!("*.{host}").parse::<HostSpec>());
    (!host.starts_with('!')).then_some(Exception { hosts, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &str, exceptions: &str) -> ProxyVariables {
        let (all, exceptions) = (Some(all.into()), Some(exceptions.into()));
        ProxyVariables { all, exceptions, ..ProxyVariables::default() }
    }

    #[test]
    fn a_proxy_is_a_url_with_an_optional_login() {
        for (given, want) in [
            ("proxy.test:3128", Some("proxy.test:3128 -")),
            ("http://Proxy.test", Some("proxy.test:80 -")),
            ("http://proxy.test:3128/", Some("proxy.test:3128 -")),
            ("socks5h://[::1]", Some("socks5://[::1]:1080 -")),
            ("socks5://u%40x:p%3Aw@127.0.0.1:9050", Some("socks5://127.0.0.1:9050 u@x:p:w")),
            ("http://u@h:1", Some("h:1 u:")),
            ("", None),
        ] {
            let parents = EnvironmentParents::parse(&variables(given, "")).expect(given);
            let found = parents.of("http", "a.test", Some(80)).map(|parent| {
                let login = parent.login.as_ref().map_or("-".into(), |(user, password)| {
                    let [user, password] = [user, password].map(|one| String::from_utf8_lossy(one));
                    format!("{user}:{password}")
                });
                format!("{} {login}", parent.address)
            });
            assert_eq!(found.as_deref(), want, "{given}");
        }
    }

    #[test]
    fn a_faulty_variable_is_refused_without_its_value() {
        for given in ["https://u:secret@p.test:1", "socks4://p.test:1", "http://p.test:0", "a b:1"]
        {
            let fault = EnvironmentParents::parse(&variables(given, "")).unwrap_err().to_string();
            assert!(fault.starts_with("the environment variable all_proxy is not"), "{fault}");
            assert!(!fault.contains("secret"), "{fault}");
        }
        assert!(EnvironmentParents::parse(&variables("p:1", "a b/c")).is_err());
    }

    #[test]
    fn exceptions_are_hosts_with_the_names_below_them() {
        let list = "localhost, .lan,example.org:8080 10.0.0.0/8,fd00::1,[fd00::2]:81,*.corp";
        let parents = EnvironmentParents::parse(&variables("p.test:1", list)).unwrap();
        for (host, port, want) in [
            ("localhost", 80, false),
            ("lan", 80, false),
            ("nas.lan", 80, false),
            ("nas.lan.", 80, false),
            ("plan", 80, true),
            ("example.org", 8080, false),
            ("www.example.org", 8080, false),
            ("www.example.org", 80, true),
            ("10.1.2.3", 80, false),
            ("[fd00::1]", 80, false),
            ("[fd00::2]", 81, false),
            ("[fd00::2]", 80, true),
            ("x.corp", 80, false),
        ] {
            assert_eq!(parents.of("http", host, Some(port)).is_some(), want, "{host}:{port}");
        }
        let all = EnvironmentParents::parse(&variables("p.test:1", "*")).unwrap();
        assert_eq!(all.of("https", "a.test", None), None);
    }

    #[test]
    fn the_variable_of_the_protocol_comes_first() {
        let given = ProxyVariables { https: Some("s.test:2".into()), ..variables("p.test:1", "") };
        let parents = EnvironmentParents::parse(&given).unwrap();
        for (protocol, want) in [("http", "p.test:1"), ("https", "s.test:2"), ("ftp", "p.test:1")] {
            let found = parents.of(protocol, "a.test", None).unwrap();
            assert_eq!(found.address.to_string(), want, "{protocol}");
        }
    }
}
