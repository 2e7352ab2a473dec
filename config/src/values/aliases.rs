//! Aliases: URLs that have moved, and their new URLs.

use crate::{
    disk::location::Location,
    pattern::parts::UrlParts,
    source::{
        RawValue, ValueSource,
        explain::UrlValue,
        value::{Value, elements},
    },
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// One alias: the old prefix of URLs and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlAlias {
    /// The protocol; `None` matches any protocol.
    protocol: Option<String>,
    host: String,
    /// The port. `None` is the default of the protocol, as in a canonical URL.
    port: Option<u16>,
    path: String,
    to: String,
    written: String,
    location: Location,
}

impl UrlAlias {
    /// The new form of `url`, if this alias applies to it.
    fn apply(&self, url: &UrlParts<'_>) -> Option<String> {
        let fits = self.protocol.as_deref().is_none_or(|protocol| protocol == url.protocol)
            && self.host == url.host
            && self.port == url.explicit_port;
        let rest = url.path.strip_prefix(self.path.as_str()).filter(|_| fits)?;
        let to = match self.to.strip_prefix('*') {
            Some(to) => format!("{}{to}{rest}", url.protocol),
            None => format!("{}{rest}", self.to),
        };
        Some(match url.arguments {
            Some(arguments) => format!("{to}?{arguments}"),
            None => to,
        })
    }

    /// The location of the alias.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }
}

/// Aliases in order: the first that applies to a URL is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(Vec<UrlAlias>);

impl Aliases {
    /// The new form of a URL, and the alias that applied. `None` if no alias applies.
    ///
    /// ```
    /// use std::path::Path;
    /// use wwwoffle_config::{Config, UrlParts};
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let text = r#"
    ///     [alias]
    ///     urls = [{ from = "*://old.example/docs/", to = "https://new.example/" }]
    /// "#;
    /// let config = Config::parse(text, Path::new("wwwoffle.conf"))?;
    /// let url = CanonicalUrl::parse("http://old.example/docs/a.html?b", &LocalHost::default())?;
    /// let (to, _) = config.alias.urls.apply(&UrlParts::of(&url)).unwrap();
    /// assert_eq!(to, "https://new.example/a.html?b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn apply(&self, url: &UrlParts<'_>) -> Option<(String, &UrlAlias)> {
        self.0.iter().find_map(|alias| Some((alias.apply(url)?, alias)))
    }

    /// Every alias, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[UrlAlias] {
        &self.0
    }
}

/// A prefix of URLs, in canonical spelling.
struct UrlPrefix {
    protocol: Option<String>,
    url: CanonicalUrl,
}

fn parse_prefix(text: &str) -> Option<UrlPrefix> {
    let (protocol, rest) = text.split_once("://")?;
    let any = protocol == "*";
    let url = if any { format!("http://{rest}") } else { text.to_owned() };
    let url = CanonicalUrl::parse(&url, &LocalHost::default()).ok()?;
    let plain = !rest.contains(['*', '?', '#', '@']) && !rest.starts_with('/');
    plain.then(|| UrlPrefix { protocol: (!any).then(|| url.protocol().to_owned()), url })
}

fn alias(from: &str, to: &str, location: Location) -> Result<UrlAlias, &'static str> {
    const PLAIN: &str =
        "both must be URLs without user and arguments, and only the protocol may be \"*\"";
    let begins = parse_prefix(from).ok_or(PLAIN)?;
    let becomes = parse_prefix(to).ok_or(PLAIN)?;
    if becomes.protocol.is_none() && begins.protocol.is_some() {
        return Err("\"to\" may have the protocol \"*\" only if \"from\" has it");
    }
    let becoming = match &becomes.protocol {
        Some(_) => becomes.url.as_str().to_owned(),
        None => format!("*://{}{}", becomes.url.host_port(), becomes.url.path()),
    };
    let alias = UrlAlias {
        protocol: begins.protocol,
        host: begins.url.host().to_owned(),
        port: begins.url.port(),
        path: begins.url.path().to_owned(),
        to: becoming,
        written: format!("{{ from = {from:?}, to = {to:?} }}"),
        location,
    };
    if alias.apply(&UrlParts::of(&becomes.url)).is_some() {
        return Err("its result matches it again, so it would be applied forever");
    }
    Ok(alias)
}

impl Value for Aliases {
    const KIND: &'static str = "aliases";
    const MEANING: &'static str = "\
An array of pairs: `{ from = \"http://old.example/docs/\", to = \"https://new.example/\" }`. In
a URL that begins with `from`, that beginning is replaced by `to`. The first match is used. The
protocol of `from` may be `*` for any protocol; if that of `to` is `*` too, the protocol stays.";
    const EXPECTED: &'static str = "an array of aliases, such as [{ from = \"http://old.example/\", to = \"http://new.example/\" }]";
    const JSON: &'static str = r#"{"type": "array", "items": {"type": "object"}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let read = elements(given, source, Self::EXPECTED, |one, source| {
            let expected = "pairs of URLs, such as { from = \"http://old.example/\", to = \
                            \"http://new.example/\" }";
            let table = one.value.as_inline_table().filter(|table| table.len() == 2);
            let text = |key: &str| table.and_then(|table| table.get(key)?.as_str());
            let (Some(from), Some(to)) = (text("from"), text("to")) else {
                return source.refuse(one, expected, "");
            };
            alias(from, to, source.location(one.value))
                .map_or_else(|because| source.refuse(one, expected, because), Some)
        })?;
        Some(Self(read))
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let (_, alias) = self.apply(url)?;
        Some(UrlValue::at(&alias.location, alias.written.clone(), None))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, UrlParts};
    use std::path::Path;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn urls_are_replaced_as_the_table_says() {
        for (from, to, url, want) in [
            ("http://a.test", "http://b.test/", "http://a.test/x?y", Some("http://b.test/x?y")),
            ("http://a.test/", "http://b.test/", "https://a.test/x", None),
            ("*://a.test/", "https://b.test/", "http://a.test/x", Some("https://b.test/x")),
            ("*://a.test/", "*://b.test/c/", "https://a.test/x", Some("https://b.test/c/x")),
            ("http://a.test/", "http://b.test/", "http://a.test:81/x", None),
            ("http://a.test:81/", "http://b.test/", "http://a.test:81/", Some("http://b.test/")),
            ("http://A.test:80/p", "http://b.test/q", "http://a.test/px", Some("http://b.test/qx")),
            ("http://a.test/p/", "http://b.test/", "http://a.test/q/p/", None),
        ] {
            let text = format!("[alias]\nurls = [{{ from = {from:?}, to = {to:?} }}]");
            let config = Config::parse(&text, Path::new("test.conf")).unwrap();
            let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
            let got = config.alias.urls.apply(&UrlParts::of(&url)).map(|(to, _)| to);
            assert_eq!(got.as_deref(), want, "{from} {url}");
        }
    }

    #[test]
    fn an_invalid_alias_is_refused() {
        for (from, to) in [
            ("a.test", "http://b.test/"),
            ("http://*.test/", "http://b.test/"),
            ("http://a.test/?x", "http://b.test/"),
            ("http://me@a.test/", "http://b.test/"),
            ("http:///x", "http://b.test/"),
            ("http://a.test/", "*://b.test/"),
            ("http://a.test/", "http://a.test/b/"),
            ("*://a.test/", "https://a.test/"),
        ] {
            let text = format!("[alias]\nurls = [{{ from = {from:?}, to = {to:?} }}]");
            assert!(Config::parse(&text, Path::new("test.conf")).is_err(), "{from} {to}");
        }
    }
}
