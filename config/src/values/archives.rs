//! The addresses of web archives.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The largest number of TimeGates. A look-up asks all of them.
const MAX_GATES: usize = 8;

/// The longest address, in bytes.
const MAX_ADDRESS: usize = 1 << 10;

/// The TimeGates (RFC 7089 §2.1.2) of web archives, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeGates(Vec<String>);

impl TimeGates {
    /// The addresses. The URL of a page is appended to an address.
    ///
    /// ```
    /// assert!(wwwoffle_config::Config::default().web_archives.time_gates.addresses().is_empty());
    /// ```
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.0
    }
}

impl Value for TimeGates {
    const KIND: &'static str = "TimeGates";
    const MEANING: &'static str = "\
An array of at most eight addresses of TimeGates, to which the URL of a page is appended:
`[\"https://web.archive.org/web/\"]`. Each is an `http` or `https` URL without user and password that
ends with `/` or `=`.";
    const EXPECTED: &'static str = "an array of at most eight addresses of TimeGates, such as \
         [\"https://web.archive.org/web/\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [
            Self::EXPECTED,
            "an http or https URL without user and password that ends with \"/\" or \"=\"",
        ];
        let gates = texts(given, source, expected, |text| is_gate(text).then(|| text.to_owned()))?;
        if gates.len() > MAX_GATES {
            return source.refuse(given, Self::EXPECTED, "there are more than 8");
        }
        Some(Self(gates))
    }
}

fn is_gate(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    text.len() <= MAX_ADDRESS
        && text.ends_with(['/', '='])
        && text.bytes().all(is_plain)
        && CanonicalUrl::parse(text, &LocalHost::default())
            .is_ok_and(|url| matches!(url.protocol(), "http" | "https") && url.user().is_none())
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn addresses_are_read_or_refused() {
        let read = |value: &str| {
            let text = format!("[web-archives]\ntime-gates = {value}\n");
            Config::parse(&text, std::path::Path::new("f"))
        };
        let gates = "[\"https://web.archive.org/web/\", \"http://a.example/timegate?url=\"]";
        let config = read(gates).unwrap();
        assert_eq!(
            config.web_archives.time_gates.addresses(),
            ["https://web.archive.org/web/", "http://a.example/timegate?url="]
        );
        let nine = format!("[{}]", "\"http://a.example/\",".repeat(9));
        for bad in [
            "\"http://a.example/\"",
            "[\"http://a.example/web\"]",
            "[\"ftp://a.example/\"]",
            "[\"http://u:p@a.example/\"]",
            "[\"http://a.example/#/\"]",
            "[\"http://a.example/ /\"]",
            "[1]",
            nine.as_str(),
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
