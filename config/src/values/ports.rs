//! Sets of ports.

use crate::source::{
    RawValue, ValueSource,
    value::{Value, elements},
};
use std::{fmt, ops::RangeInclusive};
use toml_edit::Value as Toml;

/// A range of ports without port 0: `443` or `1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRange(RangeInclusive<u16>);

impl PortRange {
    /// Parses a port, or two ports with `-` between them.
    ///
    /// `None` for anything else: port 0, ports above 65535, and a range that ends before it begins.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (port(first.trim())?, port(last.trim())?);
        (first <= last).then_some(Self(first..=last))
    }

    /// Whether the range includes `port`.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0.contains(&port)
    }
}

/// Parses a port other than 0. Accepts only digits: the standard library would accept a sign too.
fn port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|port| *port != 0)
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.start())?;
        if self.0.start() == self.0.end() { Ok(()) } else { write!(f, "-{}", self.0.end()) }
    }
}

/// A set of ports, given as ranges. An empty list is the empty set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRanges(Vec<PortRange>);

impl PortRanges {
    /// Whether the set includes `port`.
    ///
    /// ```
    /// let config = wwwoffle_config::Config::default();
    /// assert!(config.tunnel.ports.contains(443));
    /// assert!(!config.tunnel.ports.contains(25));
    /// ```
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(port))
    }

    /// Whether `port` is listed as a single port, not only in a range.
    ///
    /// ```
    /// let config = wwwoffle_config::Config::default();
    /// assert!(config.tunnel.ports.lists(443));
    /// assert!(!config.tunnel.ports.lists(6667));
    /// ```
    #[must_use]
    pub fn lists(&self, port: u16) -> bool {
        self.0.contains(&PortRange(port..=port))
    }

    /// The ranges as written.
    #[must_use]
    pub fn as_slice(&self) -> &[PortRange] {
        &self.0
    }
}

impl Value for PortRanges {
    const KIND: &'static str = "ports";
    const MEANING: &'static str = "\
An array of ports from 1 to 65535 and of ranges, which include both ends: `[\"443\",
\"1024-65535\"]`. `[]` means no port at all.";
    const EXPECTED: &'static str =
        "an array of ports from 1 to 65535 and ranges of them, such as [\"443\", \"1024-65535\"]";
    const JSON: &'static str = r#"{"type": "array", "items": {"type": ["string", "integer"]}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let ports = elements(given, source, Self::EXPECTED, |one, source| {
            let range = match one.value {
                Toml::Integer(number) => PortRange::parse(&number.value().to_string()),
                other => other.as_str().and_then(PortRange::parse),
            };
            let expected = "ports from 1 to 65535, such as \"443\" or \"1024-65535\"";
            range.or_else(|| source.refuse(one, expected, ""))
        })?;
        Some(Self(ports))
    }
}

#[cfg(test)]
mod tests {
    use super::PortRange;

    #[test]
    fn ranges_are_read_and_written() {
        for (text, want) in [
            ("443", Some("443")),
            ("1024-65535", Some("1024-65535")),
            ("1 - 2", Some("1-2")),
            ("7-7", Some("7")),
            ("0", None),
            ("65536", None),
            ("9-8", None),
            ("+80", None),
            ("", None),
            ("-", None),
            ("80-", None),
            ("http", None),
        ] {
            let got = PortRange::parse(text).map(|range| range.to_string());
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn both_ends_are_in_the_range() {
        let range = PortRange::parse("10-12").unwrap();
        for (port, want) in [(9, false), (10, true), (11, true), (12, true), (13, false)] {
            assert_eq!(range.contains(port), want, "{port}");
        }
    }
}
