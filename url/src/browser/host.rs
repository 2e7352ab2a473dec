//! Hosts as the [WHATWG URL Standard §3] reads them: domains through IDNA, IPv4 in its unusual
//! forms, IPv6, and the opaque hosts of schemes that browsers do not know.
//!
//! An invalid host is an error. It is never shortened to a valid one.
//!
//! [WHATWG URL Standard §3]: https://url.spec.whatwg.org/#hosts-(domains-and-ip-addresses)

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use idna::AsciiDenyList;
use percent_encoding::{CONTROLS, percent_decode_str, utf8_percent_encode};

/// A parsed and valid host.
///
/// Its [`Display`](fmt::Display) form is the one in a serialized URL: IPv6 stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParsedHost {
    /// A domain in ASCII, in lower case, never empty.
    Domain(String),
    /// An IPv4 address, in whatever form it was written.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// The host of a scheme other than `http`, `https`, `ws`, `wss`, `ftp` and `file`. Control
    /// characters and non-ASCII are percent-encoded; the rest is unchanged. It may be empty.
    Opaque(String),
}

/// The reason why a host was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The host is empty, as written or after decoding.
    #[error("the host is empty")]
    Empty,
    /// A `[` without its `]`, or text after the `]`.
    #[error("the host has an unmatched bracket")]
    Bracket,
    /// The text in brackets is not an IPv6 address.
    #[error("the host is not a valid IPv6 address")]
    Ipv6,
    /// The last label is a number, but the host is not an IPv4 address.
    #[error("the host ends in a number but is not a valid IPv4 address")]
    Ipv4,
    /// A character that no host may contain.
    #[error("the host has the forbidden character {0:?}")]
    Forbidden(char),
    /// IDNA (UTS #46) cannot convert the host to ASCII, or the result contains a forbidden
    /// character.
    #[error("the host is not a valid domain name")]
    Domain,
}

/// Reads a host (WHATWG "host parser"). `special` says whether the scheme is one of `http`,
/// `https`, `ws`, `wss`, `ftp` and `file`. The hosts of these schemes are domains or addresses.
///
/// # Errors
///
/// [`HostError`], with the reason.
///
/// # Examples
///
/// ```
/// # use wwwoffle_url::{HostError, parse_host};
/// assert_eq!(parse_host("EXAMPLE.org", true)?.to_string(), "example.org");
/// assert_eq!(parse_host("0x7f.1", true)?.to_string(), "127.0.0.1");
/// assert_eq!(parse_host("[0:0::1]", true)?.to_string(), "[::1]");
/// assert_eq!(parse_host("bücher.example", true)?.to_string(), "xn--bcher-kva.example");
/// assert_eq!(parse_host("1.2.3.256", true), Err(HostError::Ipv4));
/// # Ok::<(), HostError>(())
/// ```
pub fn parse_host(input: &str, special: bool) -> Result<ParsedHost, HostError> {
    if let Some(rest) = input.strip_prefix('[') {
        let inside = rest.strip_suffix(']').ok_or(HostError::Bracket)?;
        return inside.parse().map(ParsedHost::Ipv6).map_err(|_| HostError::Ipv6);
    }
    if !special {
        return parse_opaque(input);
    }
    if input.is_empty() {
        return Err(HostError::Empty);
    }
    // Invalid UTF-8 becomes U+FFFD, which IDNA then refuses.
    let decoded = percent_decode_str(input).decode_utf8_lossy();
    let ascii =
        idna::domain_to_ascii_from_cow(Cow::Borrowed(decoded.as_bytes()), AsciiDenyList::URL)
            .map_err(|_| HostError::Domain)?
            .into_owned();
    if ascii.is_empty() {
        return Err(HostError::Empty);
    }
    if ends_in_number(&ascii) {
        return parse_ipv4(&ascii).map(ParsedHost::Ipv4).ok_or(HostError::Ipv4);
    }
    Ok(ParsedHost::Domain(ascii))
}

/// Parses an opaque host (WHATWG "opaque-host parser").
fn parse_opaque(input: &str) -> Result<ParsedHost, HostError> {
    if let Some(bad) = input.chars().find(|&c| is_forbidden(c)) {
        return Err(HostError::Forbidden(bad));
    }
    Ok(ParsedHost::Opaque(utf8_percent_encode(input, CONTROLS).to_string()))
}

/// Whether no host may contain `c` (WHATWG "forbidden host code point").
fn is_forbidden(c: char) -> bool {
    matches!(c, '\0' | '\t' | '\n' | '\r' | ' ' | '#' | '/' | ':' | '<' | '>' | '?' | '@')
        || matches!(c, '[' | '\\' | ']' | '^' | '|')
}

/// Whether the last label is a number (WHATWG "ends in a number checker").
fn ends_in_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    (!last.is_empty() && last.bytes().all(|b| b.is_ascii_digit())) || ipv4_number(last).is_some()
}

/// Parses an IPv4 address (WHATWG "IPv4 parser"): one to four numbers; the last one fills all
/// remaining bytes.
fn parse_ipv4(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.strip_suffix('.').unwrap_or(host).splitn(5, '.').collect();
    let (last, leading) = parts.split_last()?;
    let width = 4_u32.checked_sub(u32::try_from(leading.len()).ok()?).filter(|&w| w > 0)?;
    let last = ipv4_number(last).filter(|&value| value < 1_u64 << (8 * width))?;
    let mut address = 0_u64;
    for part in leading {
        address = (address << 8) | ipv4_number(part).filter(|&value| value <= 255)?;
    }
    u32::try_from((address << (8 * width)) | last).ok().map(Ipv4Addr::from)
}

/// Parses a number of an IPv4 address (WHATWG "IPv4 number parser"): decimal, octal after `0`,
/// hexadecimal after `0x`; a prefix alone is zero. A number that is too large for an address does
/// not wrap around, so it is detected later.
fn ipv4_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.is_empty() => return None,
        None => match text.strip_prefix('0') {
            Some(digits) if !digits.is_empty() => (digits, 8),
            _ => (text, 10),
        },
    };
    digits.chars().try_fold(0_u64, |value, c| {
        let digit = u64::from(c.to_digit(radix)?);
        Some(value.saturating_mul(u64::from(radix)).saturating_add(digit))
    })
}

impl fmt::Display for ParsedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParsedHost::Domain(text) | ParsedHost::Opaque(text) => f.write_str(text),
            ParsedHost::Ipv4(address) => address.fmt(f),
            ParsedHost::Ipv6(address) => write_ipv6(*address, f),
        }
    }
}

/// Writes an IPv6 address as in RFC 5952 §4: the first longest run of two or more zero groups
/// becomes `::`. Unlike the `Display` form of [`Ipv6Addr`], an embedded IPv4 address is not written
/// with dots (WHATWG §3.5).
fn write_ipv6(address: Ipv6Addr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let groups = address.segments();
    let zeros = longest_zeros(&groups);
    f.write_str("[")?;
    for (index, group) in groups.iter().enumerate() {
        if zeros.contains(&index) {
            if index == zeros.start {
                f.write_str(if index == 0 { "::" } else { ":" })?;
            }
            continue;
        }
        write!(f, "{group:x}")?;
        if index < 7 {
            f.write_str(":")?;
        }
    }
    f.write_str("]")
}

fn longest_zeros(groups: &[u16]) -> std::ops::Range<usize> {
    let mut longest = 0..0;
    let mut start = 0;
    for (index, &group) in groups.iter().enumerate() {
        if group != 0 {
            start = index + 1;
        } else if index + 1 - start > longest.len().max(1) {
            longest = start..index + 1;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_browsers_read_them() {
        let rows = [
            ("a_b.example.", Ok("a_b.example.")),
            ("%41.example", Ok("a.example")),
            ("a%00b", Err(HostError::Domain)),
            ("a b", Err(HostError::Domain)),
            ("a%2Fb", Err(HostError::Domain)),
            ("\u{ad}", Err(HostError::Empty)),
            ("0", Ok("0.0.0.0")),
            ("0x", Ok("0.0.0.0")),
            ("192.168.257", Ok("192.168.1.1")),
            ("0300.0250.1", Ok("192.168.0.1")),
            ("1.2.3.4.", Ok("1.2.3.4")),
            ("1.2.3.4.5", Err(HostError::Ipv4)),
            ("1.2.3.08", Err(HostError::Ipv4)),
            ("1..2", Err(HostError::Ipv4)),
            ("4294967296", Err(HostError::Ipv4)),
            ("99999999999999999999999999", Err(HostError::Ipv4)),
            ("a.0x", Err(HostError::Ipv4)),
            ("1.2.3.com", Ok("1.2.3.com")),
            ("[::ffff:1.2.3.4]", Ok("[::ffff:102:304]")),
            ("[1:0:0:2:0:0:0:3]", Ok("[1:0:0:2::3]")),
            ("[1:0:2:3:4:5:6:7]", Ok("[1:0:2:3:4:5:6:7]")),
            ("[::]", Ok("[::]")),
            ("[1::]", Ok("[1::]")),
            ("[fe80::1%25eth0]", Err(HostError::Ipv6)),
            ("[::1", Err(HostError::Bracket)),
            ("[::1]x", Err(HostError::Bracket)),
        ];
        for (given, want) in rows {
            let got = parse_host(given, true).map(|host| host.to_string());
            assert_eq!(got.as_deref().map_err(|&e| e), want, "{given}");
        }
        assert_eq!(parse_host("A b", false), Err(HostError::Forbidden(' ')));
        assert_eq!(parse_host("A%b\u{e9}", false), Ok(ParsedHost::Opaque("A%b%C3%A9".to_owned())));
        assert_eq!(parse_host("", false), Ok(ParsedHost::Opaque(String::new())));
    }
}
