//! Values for the detection of the link state.

use crate::{
    pattern::wildcard::Wildcard,
    source::{
        RawValue, ValueSource,
        value::{STRINGS, Value, or_none, texts},
    },
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The longest URL and the longest expected text, in bytes.
const MAX_TEXT: usize = 8 << 10;

/// The longest name of an interface, in bytes; the kernel allows 15.
const MAX_INTERFACE: usize = 64;

/// The URL that is requested to find out whether the link works, or no URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeUrl(Option<String>);

impl ProbeUrl {
    /// The URL as written. `None` if no URL is requested.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for ProbeUrl {
    const KIND: &'static str = "probe URL";
    const MEANING: &'static str = "\
An `http` or `https` URL without user and password, or `\"\"` for none:
`\"http://www.example.org/up\"`.";
    const EXPECTED: &'static str =
        "a URL of http or https without user and password, or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_web = |text: &str| {
            CanonicalUrl::parse(text, &LocalHost::default())
                .is_ok_and(|url| matches!(url.protocol(), "http" | "https") && url.user().is_none())
        };
        or_none(text, text.len() <= MAX_TEXT && is_web(text)).map(Self)
    }
}

/// The expected status of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// Any status 2xx.
    #[default]
    Success,
    /// Only this status.
    Exactly(u16),
}

impl ExpectedStatus {
    /// Whether `status` is expected.
    #[must_use]
    pub fn includes(self, status: u16) -> bool {
        match self {
            Self::Success => (200..300).contains(&status),
            Self::Exactly(one) => one == status,
        }
    }
}

impl Value for ExpectedStatus {
    const KIND: &'static str = "expected status";
    const MEANING: &'static str = "\
`\"2xx\"` for any success, or a status from 200 to 599, such as `204`, as a number or in quotes.";
    const EXPECTED: &'static str = "\"2xx\", or a status from 200 to 599";
    const JSON: &'static str = r#"{"type": ["string", "integer"]}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let number = match (given.value.as_integer(), given.value.as_str()) {
            (Some(number), _) => u16::try_from(number).ok(),
            (None, Some("2xx")) => return Some(Self::Success),
            (None, text) => text.filter(|text| text.len() == 3).and_then(|text| text.parse().ok()),
        };
        number
            .filter(|status| (200..600).contains(status))
            .map(Self::Exactly)
            .or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

/// A text that a body must contain, or no text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedText(String);

impl ExpectedText {
    /// The text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for ExpectedText {
    const KIND: &'static str = "phrase";
    const MEANING: &'static str = "A text, or `\"\"` for none.";
    const EXPECTED: &'static str = "text, or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        (text.len() <= MAX_TEXT).then(|| Self(text.to_owned())).ok_or("")
    }
}

/// Names of network interfaces, in which `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces(Vec<Wildcard>);

impl Interfaces {
    /// Whether the list includes the interface `name`.
    ///
    /// ```
    /// assert!(!wwwoffle_config::Config::default().link.metered_interfaces.contains("wwan0"));
    /// ```
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }
}

impl Value for Interfaces {
    const KIND: &'static str = "interfaces";
    const MEANING: &'static str = "\
An array of names of network interfaces, in which `*` stands for any text: `[\"wwan*\",
\"ppp0\"]`.";
    const EXPECTED: &'static str =
        "an array of names of network interfaces, such as [\"wwan*\", \"ppp0\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "the name of a network interface"];
        let is_wrong = |c: char| c == '/' || c.is_control() || c.is_whitespace();
        let interface = |name: &str| {
            let is_name = (1..=MAX_INTERFACE).contains(&name.len()) && !name.contains(is_wrong);
            is_name.then(|| Wildcard::new(name))
        };
        texts(given, source, expected, interface).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::ExpectedStatus;
    use crate::Config;

    fn config(lines: &str) -> Result<Config, String> {
        let text = format!("[link]\n{lines}\n");
        Config::parse(&text, std::path::Path::new("f")).map_err(|faults| faults.to_string())
    }

    #[test]
    fn values_are_read_or_refused() {
        for (lines, takes) in [
            ("probe-status = \"2xx\"", vec![200, 204, 299]),
            ("probe-status = 204", vec![204]),
            ("probe-status = \"404\"", vec![404]),
        ] {
            let expected: ExpectedStatus = config(lines).unwrap().link.probe_status;
            let taken: Vec<u16> = (200..600).filter(|status| expected.includes(*status)).collect();
            assert!(takes.iter().all(|status| taken.contains(status)), "{lines}");
            assert_eq!(taken.len(), if takes.len() == 3 { 100 } else { 1 }, "{lines}");
        }
        let found = config("metered-interfaces = [\"wwan*\", \"ppp0\"]").unwrap();
        for (name, want) in [("wwan0", true), ("ppp0", true), ("ppp1", false), ("eth0", false)] {
            assert_eq!(found.link.metered_interfaces.contains(name), want, "{name}");
        }
        let url = config("probe-url = \"http://h.example/up\"").unwrap().link.probe_url;
        assert_eq!(url.url(), Some("http://h.example/up"));
        for bad in [
            "probe-status = 99",
            "probe-status = \"3xx\"",
            "probe-url = \"ftp://h.example/\"",
            "probe-url = \"http://u:p@h.example/\"",
            "probe-url = 1",
            "metered-interfaces = [\"a b\"]",
            "metered-interfaces = [\"\"]",
            "probe-body = 1",
        ] {
            assert!(config(bad).is_err(), "{bad}");
        }
    }
}
