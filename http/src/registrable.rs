//! The part of a host name that people register.

/// The registrable domain of `host`: the part of its name that was sold to one owner. An address or a name
/// of a local net is returned as it is.
#[must_use]
pub fn site(host: &str) -> &str {
    if host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}
