//! Switches, counts, times, addresses, directories and names.

use super::amounts::number_and_unit;
use crate::{
    disk::lookup::{Environment, NoDirectory},
    source::{
        RawValue, ValueSource,
        value::{STRINGS, Value, or_none, texts},
    },
};
use std::{
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};
use wwwoffle_url::LocalHost;

/// The largest count: far above any use, and far below the overflow of a semaphore or a sum.
const MAX_COUNT: usize = 1_000_000;

/// The longest time, in milliseconds: 52 weeks. No clock overflows if this time is added to a
/// present date.
const MAX_TIME_MS: u64 = 52 * 7 * 24 * 60 * 60 * 1_000;

impl Value for bool {
    const KIND: &'static str = "yes or no";
    const MEANING: &'static str = "`true` or `false`.";
    const EXPECTED: &'static str = "true or false";
    const JSON: &'static str = r#"{"type": "boolean"}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        given.value.as_bool().or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

impl Value for NonZeroUsize {
    const KIND: &'static str = "count";
    const MEANING: &'static str = "A whole number from 1 to 1000000.";
    const EXPECTED: &'static str = "a number from 1 to 1000000";
    const JSON: &'static str = r#"{"type": "integer", "minimum": 1, "maximum": 1000000}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let number = given.value.as_integer().and_then(|number| usize::try_from(number).ok());
        number
            .filter(|number| *number <= MAX_COUNT)
            .and_then(Self::new)
            .or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

impl Value for Duration {
    const KIND: &'static str = "time";
    const MEANING: &'static str = "\
A whole number above zero and its unit, in quotes: `ms` (milliseconds), `s` (seconds), `m` (minutes),
`h` (hours), `d` (days) or `w` (weeks), as in `\"30s\"`. At most 52 weeks.";
    const EXPECTED: &'static str = "a time, such as \"30s\" or \"2m\"";
    const JSON: &'static str = r#"{"type": "string", "pattern": "^ *[0-9]+ *(ms|s|m|h|d|w)$"}"#;
    const IF_NUMBER: &'static str = "the unit is missing";

    fn parse(text: &str) -> Result<Self, &'static str> {
        time(text)
    }
}

/// Parses a whole number and its unit. A space between them is allowed.
pub(crate) fn time(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = number_and_unit(text)?;
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        "w" => 7 * 24 * 60 * 60 * 1_000,
        "" => return Err("the unit is missing"),
        _ => return Err("units are ms, s, m, h, d and w"),
    };
    match number.checked_mul(unit) {
        Some(0) => Err("it must be above zero"),
        Some(time) if time <= MAX_TIME_MS => Ok(Duration::from_millis(time)),
        _ => Err("it must be at most 52w"),
    }
}

/// The addresses that the daemon listens on, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen(Vec<SocketAddr>);

impl Listen {
    /// Wraps a list of addresses. `None` if it is empty.
    #[must_use]
    pub fn new(addresses: Vec<SocketAddr>) -> Option<Self> {
        (!addresses.is_empty()).then_some(Self(addresses))
    }

    /// The addresses, in the given order.
    #[must_use]
    pub fn as_slice(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl Value for Listen {
    const KIND: &'static str = "addresses";
    const MEANING: &'static str = "\
An array of addresses with a port, at least one. An IPv6 address is in brackets:
`\"127.0.0.1:8080\"`, `\"[::1]:8080\"`. With port 0 the system chooses a free port.";
    const EXPECTED: &'static str =
        "an array of addresses with ports, such as [\"127.0.0.1:8080\", \"[::1]:8080\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let each = "addresses with ports, such as \"127.0.0.1:8080\" or \"[::1]:8080\"";
        let addresses = texts(given, source, [Self::EXPECTED, each], |text| text.parse().ok())?;
        Self::new(addresses).or_else(|| source.refuse(given, "at least one address", ""))
    }
}

/// The addresses at which intercepted connections arrive; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterceptListen(Vec<SocketAddr>);

impl InterceptListen {
    /// The addresses, in the given order.
    #[must_use]
    pub fn as_slice(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl Value for InterceptListen {
    const KIND: &'static str = "addresses for interception";
    const MEANING: &'static str = "\
An array of addresses with a port, which is not 0: `\"0.0.0.0:3129\"`, `\"[::]:3129\"`. `[]` means none.";
    const EXPECTED: &'static str =
        "an array of addresses with ports, such as [\"0.0.0.0:3129\", \"[::]:3129\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let each = "addresses with ports, such as \"0.0.0.0:3129\" or \"[::]:3129\"";
        let parse = |text: &str| text.parse().ok().filter(|one: &SocketAddr| one.port() != 0);
        texts(given, source, [Self::EXPECTED, each], parse).map(Self)
    }
}

/// The directory of the spool, given or derived from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolDir(Option<PathBuf>);

impl SpoolDir {
    /// A given directory.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(Some(path.to_owned()))
    }

    /// Whether no directory is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.0.is_none()
    }

    /// The given directory, or `wwwoffle` in the data directory of `environment`.
    ///
    /// # Errors
    ///
    /// [`NoDirectory`] if no directory is given and `environment` names none.
    pub fn resolve(&self, environment: &Environment) -> Result<PathBuf, NoDirectory> {
        self.0.clone().map_or_else(|| environment.default_spool(), Ok)
    }
}

impl Value for SpoolDir {
    const KIND: &'static str = "directory";
    const MEANING: &'static str = "An absolute path, or `\"\"` for the default.";
    const EXPECTED: &'static str = "an absolute path, or \"\" for the default";

    fn parse(text: &str) -> Result<Self, &'static str> {
        or_none(text, Path::new(text).is_absolute()).map(Self)
    }
}

/// Names and addresses of this proxy, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNames(Vec<String>);

impl HostNames {
    /// The names, in the given order. The first is used in links.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// The names with these ports, as a [`LocalHost`].
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the names were read as names")]
    pub fn at(&self, http_port: u16, tls_port: Option<u16>) -> LocalHost {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        LocalHost::new(&names, http_port, tls_port)
            .expect("each of the names was read as one, and there is at least one")
    }
}

impl Value for HostNames {
    const KIND: &'static str = "hosts";
    const MEANING: &'static str = "An array of names and addresses without a port, at least one.";
    const EXPECTED: &'static str = "an array of host names and addresses, such as [\"localhost\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let each = "names and addresses without a port, such as \"localhost\" or \"::1\"";
        let names = texts(given, source, [Self::EXPECTED, each], |name| {
            LocalHost::new(&[name], 80, None).is_ok().then(|| name.to_owned())
        })?;
        if names.is_empty() {
            return source.refuse(given, "at least one name", "");
        }
        Some(Self(names))
    }
}

#[cfg(test)]
mod tests {
    use super::time;
    use std::time::Duration;

    #[test]
    fn times_are_read() {
        for (text, want) in [
            ("250ms", Ok(250)),
            ("30s", Ok(30_000)),
            ("30 s", Ok(30_000)),
            (" 2m ", Ok(120_000)),
            ("1h", Ok(3_600_000)),
            ("2d", Ok(172_800_000)),
            ("52w", Ok(31_449_600_000)),
            ("53w", Err("it must be at most 52w")),
            ("99999999999999999999s", Err("it must be at most 52w")),
            ("18446744073709551615w", Err("it must be at most 52w")),
            ("0s", Err("it must be above zero")),
            ("30", Err("the unit is missing")),
            ("", Err("it must begin with a whole number")),
            ("-1s", Err("it must begin with a whole number")),
            ("1.5h", Err("units are ms, s, m, h, d and w")),
            ("1y", Err("units are ms, s, m, h, d and w")),
            ("1M", Err("units are ms, s, m, h, d and w")),
        ] {
            assert_eq!(time(text), want.map(Duration::from_millis), "{text}");
        }
    }
}
