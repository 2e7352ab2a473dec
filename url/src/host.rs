//! Hosts and ports, read as in the WHATWG URL Standard §3.5.
//!
//! One difference: a host is a name or an address under every protocol, not only under those that
//! browsers know. A proxy must be able to find it in every URL.

use std::net::IpAddr;

use crate::browser::{HostError, parse_host};
use crate::encode::{PLAIN_HOST, split_run};
use crate::error::{ParseError, UrlFault, excerpt};

/// The maximum length of a host that is parsed, in bytes, with each escape counted as one byte. A
/// name that can be resolved has at most 253 bytes; its longest spelling in UTF-8 has about four
/// times that length.
pub(crate) const MAX_HOST_LEN: usize = 4096;

/// The registrable domain of a host: the public suffix (publicsuffix.org) and one more label, such as
/// `example.co.uk`. An address, or a name of a local network, is returned unchanged.
#[must_use]
pub fn registrable_domain(host: &str) -> &str {
    if host.parse::<IpAddr>().is_ok() || host.starts_with('[') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// Writes the canonical host, and the port unless it is `default`. Returns the end of the host and
/// the written port.
pub(crate) fn push_host_port(
    out: &mut Vec<u8>,
    text: &[u8],
    default: Option<u16>,
) -> Result<(usize, Option<u16>), ParseError> {
    let (host, port) = cut_port(text)?;
    push_host(out, host)?;
    let host_end = out.len();
    let port = port.filter(|port| Some(*port) != default);
    if let Some(port) = port {
        out.push(b':');
        out.extend_from_slice(port.to_string().as_bytes());
    }
    Ok((host_end, port))
}

/// Splits at the first `:` outside brackets. An empty port counts as missing.
fn cut_port(text: &[u8]) -> Result<(&[u8], Option<u16>), ParseError> {
    let end = if text.starts_with(b"[") {
        let close = text.iter().position(|&byte| byte == b']');
        close.map(|close| close + 1).ok_or_else(|| UrlFault::BadIpv6 { host: excerpt(text) })?
    } else {
        text.iter().position(|&byte| byte == b':').unwrap_or(text.len())
    };
    match text.split_at_checked(end) {
        None | Some((_, [] | [b':'])) => Ok((text.get(..end).unwrap_or_default(), None)),
        Some((host, [b':', digits @ ..])) => Ok((host, Some(port(digits)?))),
        Some(_) => Err(UrlFault::BadIpv6 { host: excerpt(text) }.into()),
    }
}

/// Parses a port. Only digits are allowed, but `str::parse` would accept a sign.
fn port(digits: &[u8]) -> Result<u16, ParseError> {
    let mut port: u16 = 0;
    for byte in digits {
        let digit =
            byte.is_ascii_digit().then(|| u16::from(byte - b'0')).ok_or(UrlFault::BadPort)?;
        let next = port.checked_mul(10).and_then(|port| port.checked_add(digit));
        port = next.ok_or(UrlFault::BadPort)?;
    }
    Ok(port)
}

fn push_host(out: &mut Vec<u8>, text: &[u8]) -> Result<(), ParseError> {
    if text.is_empty() {
        return Err(UrlFault::NoHost.into());
    }
    if take_plain(text, false).is_some_and(|(_, rest)| rest.is_empty()) {
        out.extend_from_slice(text);
        return Ok(());
    }
    if text.len() > 3 * MAX_HOST_LEN {
        // Each byte can be written as an escape of three bytes, so the text may be three times as
        // long.
        return Err(UrlFault::HostTooLong { length: text.len(), limit: 3 * MAX_HOST_LEN }.into());
    }
    // Invalid UTF-8 becomes U+FFFD, which no host may contain.
    let host = parse_host(&String::from_utf8_lossy(text), true).map_err(|error| {
        let host = excerpt(text);
        match error {
            HostError::Empty => UrlFault::NoHost,
            HostError::Bracket | HostError::Ipv6 => UrlFault::BadIpv6 { host },
            HostError::Ipv4 => UrlFault::BadIpv4 { host },
            HostError::Forbidden(_) | HostError::Domain => UrlFault::BadHost { host },
        }
    })?;
    out.extend_from_slice(host.to_string().as_bytes());
    Ok(())
}

/// Splits off a name, up to the first byte that a name cannot contain. `None` unless the name is
/// canonical and needs no check by IDNA. Its last label must also not begin with a digit, because
/// the host could then be an IPv4 address. Nearly all names pass. `simple`: the text has no `--`.
pub(crate) fn take_plain(text: &[u8], simple: bool) -> Option<(&[u8], &[u8])> {
    let (host, rest) = split_run(text, PLAIN_HOST);
    // Each label that IDNA must check begins with `xn--`, so it contains `--`.
    let coded = !simple && host.windows(4).any(|bytes| bytes == b"xn--");
    let number = last_label(host).first().is_some_and(u8::is_ascii_digit);
    (!host.is_empty() && host.len() <= MAX_HOST_LEN && !number && !coded).then_some((host, rest))
}

/// The last label. A dot at the end of the name is ignored.
fn last_label(name: &[u8]) -> &[u8] {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let start = name.iter().rposition(|&byte| byte == b'.').map_or(0, |dot| dot + 1);
    name.get(start..).unwrap_or_default()
}

/// Returns the canonical spelling of a host, and of its port if there is one (`CanonicaliseHost`).
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// assert_eq!(wwwoffle_url::canonicalise_host(b"WWW.B\xc3\xbccher.example:081")?,
///     "www.xn--bcher-kva.example:81");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Fails if host or port is malformed, as in [`CanonicalUrl::parse`](crate::CanonicalUrl::parse).
pub fn canonicalise_host(text: &[u8]) -> Result<String, ParseError> {
    let mut out = Vec::with_capacity(text.len());
    push_host_port(&mut out, text, None)?;
    Ok(crate::coders::ascii(out))
}

/// Whether the host is this machine on every machine: `localhost` and the names below it (RFC 6761
/// §6.3), loopback addresses, and the unspecified address.
///
/// ```
/// assert!(wwwoffle_url::is_this_machine("[::ffff:127.0.0.1]"));
/// assert!(!wwwoffle_url::is_this_machine("localhost.example"));
/// ```
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let name = host.trim_matches(['[', ']']);
    if let Ok(address) = name.parse::<IpAddr>() {
        let address = address.to_canonical();
        return address.is_loopback() || address.is_unspecified();
    }
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let rows = [
            ("H.Example", "h.example"),
            ("h.example:", "h.example"),
            ("h.example:0081", "h.example:81"),
            ("h.example:0", "h.example:0"),
            ("foo_bar.example", "foo_bar.example"),
            ("_dmarc.example", "_dmarc.example"),
            ("good.example!x", "good.example!x"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
            ("%66oo.example", "foo.example"),
            ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0177.0.0.1.", "127.0.0.1"),
            ("0x", "0.0.0.0"),
            ("1.2.3", "1.2.0.3"),
            ("4294967295", "255.255.255.255"),
            ("1.2.3.4-5", "1.2.3.4-5"),
            ("1..", "1.."),
            (".", "."),
            ("-", "-"),
            ("[::1]", "[::1]"),
            ("[0:0:1:0:0:0:1:1]:7", "[0:0:1::1:1]:7"),
            ("[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"),
            ("[1:2:3:4:5:6:0:0]", "[1:2:3:4:5:6::]"),
            ("[::FFFF:1.2.3.4]", "[::ffff:102:304]"),
            ("[::]", "[::]"),
        ];
        for (given, expected) in rows {
            assert_eq!(canonicalise_host(given.as_bytes()).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn an_invalid_host_or_port_is_refused() {
        for given in [
            "",
            ":80",
            "a b",
            "a%20b",
            "a%2fb",
            "a%40b",
            "a%00b",
            "h%3a81",
            "a\u{ad}%",
            "%",
            "xn--a\u{fc}",
            "256.1.1.1",
            "1.2.3.4.5",
            "08",
            "0x100000000",
            "4294967296",
            "1.2..3",
            "99999999999999999999999",
            "[",
            "[]",
            "[::1",
            "[::1]x",
            "[::1%25eth0]",
            "[1::2::3]",
            "[1.2.3.4]",
            "[g::1]",
            "[v1.a]",
            "::1",
            "1:2:3",
            "%5b::1%5d",
            "a[b",
            "\u{ad}",
        ] {
            let error = canonicalise_host(given.as_bytes()).unwrap_err();
            assert!(error.is_host() || error.is_port(), "{given}: {error}");
        }
        for given in ["h:80a", "h:+80", "h:-1", "h:65536", "h:%38", "h:8 0", "h:80:90"] {
            assert!(canonicalise_host(given.as_bytes()).unwrap_err().is_port(), "{given}");
        }
    }
}
