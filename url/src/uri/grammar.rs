//! The rules of RFC 3986 Appendix A for single parts, and the relaxed rules of *URI handling for
//! REBOL 3*.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Grammar, HostKind, UriError, UriPart};
use crate::reference::is_scheme;

pub(super) fn check_scheme(text: &str) -> Result<(), UriError> {
    if is_scheme(text) { Ok(()) } else { Err(UriError::Scheme(text.to_owned())) }
}

/// Checks that a part contains only characters that it may contain, and a `%` only before two hex
/// digits.
pub(super) fn check(text: &str, part: UriPart, grammar: Grammar) -> Result<(), UriError> {
    for (at, c) in text.char_indices() {
        let allowed = match c {
            '%' => text.as_bytes().get(at + 1..at + 3).is_some_and(is_hex),
            _ if is_unreserved(c) || is_sub_delim(c) => true,
            ':' => part != UriPart::Host,
            '@' | '/' => matches!(part, UriPart::Path | UriPart::Query | UriPart::Fragment),
            '?' => matches!(part, UriPart::Query | UriPart::Fragment),
            '#' | '[' | ']' => false,
            // The relaxed grammar allows all other characters, except in a `reg-name`.
            _ => grammar == Grammar::Relaxed && part != UriPart::Host,
        };
        if !allowed {
            return Err(UriError::Character { part, found: c, at });
        }
    }
    Ok(())
}

/// `host = IP-literal / IPv4address / reg-name`. The first rule that matches the whole text counts
/// (§3.2.2).
pub(super) fn host_kind(host: &str) -> Result<HostKind, UriError> {
    if let Some(inside) = host.strip_prefix('[') {
        let inside = inside.strip_suffix(']');
        let kind = inside.and_then(|inside| match inside.strip_prefix(['v', 'V']) {
            Some(future) => is_future(future).then_some(HostKind::IpFuture),
            None => inside.parse::<Ipv6Addr>().ok().map(|_| HostKind::Ipv6),
        });
        return kind.ok_or_else(|| UriError::Literal(host.to_owned()));
    }
    check(host, UriPart::Host, Grammar::Strict)?;
    Ok(if host.parse::<Ipv4Addr>().is_ok() { HostKind::Ipv4 } else { HostKind::Name })
}

/// Whether `text` is an `IPvFuture` without its `v`: hex digits, a dot, and at least one more
/// character.
fn is_future(text: &str) -> bool {
    text.split_once('.').is_some_and(|(version, address)| {
        let is_allowed = |c| is_unreserved(c) || is_sub_delim(c) || c == ':';
        !version.is_empty()
            && is_hex(version.as_bytes())
            && !address.is_empty()
            && address.chars().all(is_allowed)
    })
}

pub(super) fn check_port(port: &str) -> Result<(), UriError> {
    match port.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, found)) => Err(UriError::Character { part: UriPart::Port, found, at }),
        None => Ok(()),
    }
}

fn is_hex(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_hexdigit)
}

/// Whether `c` is `unreserved` (§2.3).
fn is_unreserved(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~')
}

/// Whether `c` is in `sub-delims` (§2.2).
fn is_sub_delim(c: char) -> bool {
    matches!(c, '!' | '$' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | ';' | '=')
}
