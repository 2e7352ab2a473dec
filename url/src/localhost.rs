//! The names and ports of this proxy.

use std::net::SocketAddr;

use crate::error::{ParseError, UrlFault};
use crate::host::push_host_port;
use crate::split::default_port;

/// The names and ports of this proxy.
///
/// The first name is used in links to local pages, and is the host of a URL that has only a path.
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
/// let local = LocalHost::new(&["proxy.lan", "::1"], 8080, None)?;
/// let page = CanonicalUrl::parse("/queue/", &local)?;
/// assert_eq!(page.as_str(), "http://proxy.lan:8080/queue/");
/// assert!(CanonicalUrl::parse("http://[0:0::1]:8080/", &local)?.is_local());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalHost {
    /// Canonical hosts, without the final dot that DNS allows; never empty.
    names: Vec<String>,
    /// The length of the longest name, in bytes.
    longest: usize,
    http_port: u16,
    tls_port: Option<u16>,
    /// Further ports on which the proxy listens.
    more_ports: Vec<u16>,
}

impl LocalHost {
    /// Creates the value from hosts in any spelling. IPv6 addresses may be with or without
    /// brackets.
    ///
    /// # Errors
    ///
    /// Fails if there is no name, or if a name is not a host.
    pub fn new(names: &[&str], http_port: u16, tls_port: Option<u16>) -> Result<Self, ParseError> {
        let names = names.iter().map(|name| canonical(name)).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err(UrlFault::NoLocalName.into());
        }
        Ok(Self::with(names, http_port, tls_port))
    }

    fn with(names: Vec<String>, http_port: u16, tls_port: Option<u16>) -> Self {
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        Self { names, longest, http_port, tls_port, more_ports: Vec::new() }
    }

    /// Adds the addresses on which the proxy listens. Each address becomes a name, and each port
    /// becomes a port of the proxy. An unspecified address, such as `0.0.0.0`, does not become a
    /// name.
    ///
    /// ```
    /// # use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};
    /// let local = LocalHost::default().listening_on(&["192.0.2.7:3128".parse().unwrap()]);
    /// assert!(CanonicalUrl::parse("http://192.0.2.7:3128/", &local)?.is_local());
    /// assert_eq!(local.name(), "localhost");
    /// # Ok::<(), ParseError>(())
    /// ```
    #[must_use]
    pub fn listening_on(mut self, addresses: &[SocketAddr]) -> Self {
        for address in addresses {
            let ip = address.ip().to_canonical();
            let name = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
            if !ip.is_unspecified() && !self.has_name(&name) {
                self.longest = self.longest.max(name.len());
                self.names.push(name);
            }
            self.more_ports.push(address.port());
        }
        self
    }

    /// The name in links to local pages; an IPv6 address is in brackets.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.first().map_or("localhost", String::as_str)
    }

    /// All names, in canonical spelling.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The port of the local pages.
    #[must_use]
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// Whether this canonical host is one of the names. A final dot is ignored, because the host
    /// with the dot is the same machine: otherwise the proxy would send the request to itself.
    #[must_use]
    pub fn has_name(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.names.iter().any(|name| name == host)
    }

    /// Whether host and port belong to the proxy. Without a port, the protocol's default port is
    /// used.
    pub(crate) fn is(&self, host: &str, protocol: &str, port: Option<u16>) -> bool {
        // A quick check that excludes most hosts: they are longer than any name with its final dot.
        host.len() <= self.longest + 1 && self.has_name(host) && {
            let port = port.or_else(|| default_port(protocol.as_bytes()));
            port.is_some_and(|port| {
                port == self.http_port
                    || Some(port) == self.tls_port
                    || self.more_ports.contains(&port)
            })
        }
    }

    /// Writes the host of a URL that has only a path, and its port unless it is 80. Returns the end
    /// of the host and the written port.
    pub(crate) fn push_host_port(&self, out: &mut Vec<u8>) -> (usize, Option<u16>) {
        out.extend_from_slice(self.name().as_bytes());
        let host_end = out.len();
        let port = Some(self.http_port).filter(|port| *port != 80);
        if let Some(port) = port {
            out.push(b':');
            out.extend_from_slice(port.to_string().as_bytes());
        }
        (host_end, port)
    }
}

impl Default for LocalHost {
    /// `localhost`, `127.0.0.1` and `::1` at the ports 8080 and 8443.
    fn default() -> Self {
        let names = ["localhost", "127.0.0.1", "[::1]"].map(String::from).to_vec();
        Self::with(names, 8080, Some(8443))
    }
}

fn canonical(name: &str) -> Result<String, ParseError> {
    let bracketed = format!("[{name}]");
    let name = if name.matches(':').count() > 1 && !name.starts_with('[') {
        bracketed.as_str()
    } else {
        name
    };
    let mut out = Vec::new();
    let (_, port) = push_host_port(&mut out, name.as_bytes(), None)?;
    if port.is_some() {
        return Err(UrlFault::BadHost { host: crate::error::excerpt(name.as_bytes()) }.into());
    }
    let text = crate::coders::ascii(out);
    Ok(text.strip_suffix('.').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_canonical_and_ipv6_is_bracketed_once() {
        let local = LocalHost::new(&["::1", "LOCALHOST.", "127.1", "[0::2]"], 80, Some(443));
        let names: Vec<_> = local.unwrap().names().map(str::to_owned).collect();
        assert_eq!(names, ["[::1]", "localhost", "127.0.0.1", "[::2]"]);
        for wrong in [&[][..], &[""], &["a b"], &["a:80"], &["[::1"], &["1:2:3"]] {
            assert!(LocalHost::new(wrong, 8080, None).is_err(), "{wrong:?}");
        }
    }
}
