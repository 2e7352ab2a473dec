//! The registrable domain of a host name.

/// The registrable domain of `host`: the public suffix and one more label, such as `example.co.uk`.
/// An address, or a name of a local network, is returned unchanged.
#[must_use]
pub fn site(host: &str) -> &str {
    if host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}
