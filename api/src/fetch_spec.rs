//! The extent of a fetch beyond the requested page: sub-resources and linked pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wwwoffle_url::url_encode_form_args;

use super::scope::Scope;

/// The largest depth.
pub const MAX_DEPTH: u16 = 1_000;

/// The value of "parts" that leaves the choice to the configuration.
pub const AS_CONFIGURED: &str = "configured";

wwwoffle_url::named! {
    /// A class of sub-resources.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PartClass {
        /// Style sheets and their imports.
        Stylesheets = "stylesheets",
        /// Images.
        Images = "images",
        /// Icons of a page.
        Icons = "icons",
        /// Fonts.
        Fonts = "fonts",
        /// Scripts.
        Scripts = "scripts",
        /// Frames of a frame set.
        Frames = "frames",
        /// Frames inside a page.
        Iframes = "iframes",
        /// Audio and video.
        Media = "media",
        /// Content of plug-ins.
        Objects = "objects",
    }
}

impl PartClass {
    /// The class of this name. `None` if there is no such class.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// The classes for which WWWOFFLE 2.9 has no name. Each is paired with the class whose choice it
/// follows by default.
const WITH: [(PartClass, PartClass); 2] =
    [(PartClass::Icons, PartClass::Images), (PartClass::Fonts, PartClass::Stylesheets)];

/// The bounds of a recursive fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Limits {
    /// The maximum number of pages, not counting sub-resources.
    pub pages: u64,
    /// The maximum number of bytes of all bodies together. `None` means no limit.
    pub bytes: Option<u64>,
    /// The maximum duration in minutes since the start. `None` means no limit.
    pub minutes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pages: 10_000, bytes: None, minutes: None }
    }
}

/// The extent of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct FetchSpec {
    /// The maximum number of links between the start page and a fetched page.
    pub depth: u16,
    /// The URLs that links may lead to.
    pub scope: Scope,
    /// Whether each class of sub-resources is fetched. The configuration decides about a class that
    /// is missing here.
    pub parts: BTreeMap<PartClass, bool>,
    /// Whether fresh stored copies are requested too.
    pub force: bool,
    /// Whether files that the data saver leaves out are fetched too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The bounds of the fetch.
    pub limits: Limits,
    /// Whether `robots.txt` and `nofollow` are respected. `None` leaves this to the configuration.
    pub robots: Option<bool>,
}

/// A recursive fetch as a form or the arguments of `/refresh-recurse/` request it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecursiveRequest {
    /// The first page.
    pub url: String,
    /// The extent.
    pub spec: FetchSpec,
}

/// The error in a form or in the arguments of a command URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// The URL is missing.
    #[error("it does not say which page (\"url\")")]
    NoUrl,
    /// The depth is invalid.
    #[error("\"depth\" takes a number from 0 to {MAX_DEPTH}, not {0:?}")]
    Depth(String),
    /// A limit is invalid.
    #[error("{name:?} takes a whole number above 0, not {value:?}")]
    Limit {
        /// The name of the limit.
        name: String,
        /// The invalid value.
        value: String,
    },
    /// The scope is invalid.
    #[error(transparent)]
    Scope(#[from] super::scope::NotAScope),
    /// The argument is unknown.
    #[error("it has {0:?}, which is not allowed here")]
    Unknown(String),
}

impl RecursiveRequest {
    /// Parses decoded names and values, separated by `;` or `&`: the form of `/refresh-options/`,
    /// or the arguments of `/refresh-recurse/?`.
    ///
    /// As in WWWOFFLE 2.9, a class that is not named is not fetched, because a form sends only
    /// ticked boxes. 2.9 has no name for icons and fonts, so these follow images and style sheets
    /// by default. `parts=configured` leaves all classes to the configuration.
    ///
    /// # Errors
    ///
    /// [`BadSpec`] names the invalid value.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, BadSpec> {
        let mut spec = FetchSpec { scope: Scope::Any, ..FetchSpec::default() };
        let (mut url, mut method, mut as_configured) = (None, None, false);
        for (name, value) in pairs {
            match name {
                "url" if !value.trim().is_empty() => url = Some(value.trim().to_owned()),
                "url" => {}
                "depth" => spec.depth = depth(value)?,
                // A form of 2.9 has the scope as a word in `method`. The address
                // `/refresh-recurse/` has it as a prefix in `limit`.
                "method" if value == "none" => spec.depth = 0,
                "method" | "scope" => method = Some(Scope::parse(value)?),
                "limit" if value.is_empty() => {}
                "limit" => spec.scope = Scope::Prefix(value.to_owned()),
                "force" => spec.force = is_yes(value),
                "whole" => spec.whole = is_yes(value),
                "robots" => spec.robots = Some(is_yes(value)),
                "parts" if value == AS_CONFIGURED => as_configured = true,
                "pages" => spec.limits.pages = number(name, value)?,
                "bytes" => spec.limits.bytes = Some(number(name, value)?),
                "minutes" => spec.limits.minutes = Some(number(name, value)?),
                _ => match PartClass::named(name) {
                    Some(class) => {
                        spec.parts.insert(class, is_yes(value));
                    }
                    None => return Err(BadSpec::Unknown(name.to_owned())),
                },
            }
        }
        for (class, with) in WITH {
            let is_wanted = spec.parts.get(&with).copied().unwrap_or_default();
            spec.parts.entry(class).or_insert(is_wanted);
        }
        for class in PartClass::ALL {
            spec.parts.entry(class).or_default();
        }
        if as_configured {
            spec.parts.clear();
        }
        spec.scope = method.unwrap_or(spec.scope);
        Ok(Self { url: url.ok_or(BadSpec::NoUrl)?, spec })
    }

    /// The equivalent arguments of `/refresh-recurse/?`.
    #[must_use]
    pub fn arguments(&self) -> String {
        let mut text =
            format!("url={};depth={}", url_encode_form_args(self.url.as_bytes()), self.spec.depth);
        let mut add = |name: &str, value: &str| {
            let value = url_encode_form_args(value.as_bytes());
            text.push(';');
            text.push_str(name);
            text.push('=');
            text.push_str(&value);
        };
        match &self.spec.scope {
            Scope::Any => {}
            Scope::Prefix(prefix) => add("limit", prefix),
            scope => add("scope", &scope.to_string()),
        }
        if self.spec.force {
            add("force", "Y");
        }
        if self.spec.whole {
            add("whole", "Y");
        }
        if let Some(robots) = self.spec.robots {
            add("robots", if robots { "Y" } else { "N" });
        }
        let default = Limits::default();
        if self.spec.limits.pages != default.pages {
            add("pages", &self.spec.limits.pages.to_string());
        }
        if let Some(bytes) = self.spec.limits.bytes {
            add("bytes", &bytes.to_string());
        }
        if let Some(minutes) = self.spec.limits.minutes {
            add("minutes", &minutes.to_string());
        }
        if self.spec.parts.is_empty() {
            add("parts", AS_CONFIGURED);
        }
        for class in self.spec.parts.iter().filter(|(_, wanted)| **wanted).map(|(class, _)| class) {
            add(class.as_str(), "Y");
        }
        for (class, with) in WITH {
            let is_wanted = |class| self.spec.parts.get(&class).copied();
            if (is_wanted(class), is_wanted(with)) == (Some(false), Some(true)) {
                add(class.as_str(), "N");
            }
        }
        text
    }
}

fn is_yes(value: &str) -> bool {
    matches!(value, "Y" | "y" | "yes" | "on" | "true" | "1")
}

fn depth(value: &str) -> Result<u16, BadSpec> {
    let depth = value.parse().ok().filter(|depth| *depth <= MAX_DEPTH);
    depth.ok_or_else(|| BadSpec::Depth(value.to_owned()))
}

fn number(name: &str, value: &str) -> Result<u64, BadSpec> {
    let bad = || BadSpec::Limit { name: name.to_owned(), value: value.to_owned() };
    value.parse().ok().filter(|number| *number > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<RecursiveRequest, BadSpec> {
        RecursiveRequest::read(pairs.iter().copied())
    }

    #[test]
    fn the_form_of_2_9_is_read() {
        let asked = read(&[
            ("url", "http://h.example/"),
            ("depth", "2"),
            ("method", "dir"),
            ("stylesheets", "Y"),
            ("images", "Y"),
            ("force", "Y"),
        ])
        .unwrap();
        assert_eq!((asked.spec.depth, &asked.spec.scope), (2, &Scope::Directory));
        assert!(asked.spec.force);
        let wanted = asked.spec.parts.iter().filter(|(_, wanted)| **wanted);
        let wanted: Vec<_> = wanted.map(|(class, _)| class.as_str()).collect();
        assert_eq!(wanted, ["stylesheets", "images", "icons", "fonts"]);
        let asked = read(&[
            ("url", "http://h.example/"),
            ("stylesheets", "Y"),
            ("images", "Y"),
            ("icons", "N"),
            ("fonts", "N"),
            ("fonts", "Y"),
        ]);
        // Our form also sends a value for unticked boxes of these classes.
        let parts = asked.unwrap().spec.parts;
        assert_eq!((parts[&PartClass::Icons], parts[&PartClass::Fonts]), (false, true));
        let none = read(&[("url", "http://h.example/"), ("depth", "3"), ("method", "none")]);
        assert_eq!(none.unwrap().spec.depth, 0);
    }

    #[test]
    fn arguments_round_trip() {
        for pairs in [
            &[("url", "http://h.example/a?b=c&d"), ("depth", "5"), ("limit", "http://h.example/a")]
                [..],
            &[("url", "http://h.example/ü"), ("scripts", "Y"), ("iframes", "Y"), ("robots", "N")],
            &[("url", "http://h.example/"), ("scope", "site"), ("pages", "7"), ("bytes", "9")],
            &[("url", "http://h.example/"), ("minutes", "90"), ("force", "Y")],
            &[("url", "http://h.example/"), ("images", "Y"), ("icons", "N")],
            &[("url", "http://h.example/"), ("stylesheets", "Y"), ("fonts", "N"), ("icons", "Y")],
            &[("url", "http://h.example/"), ("parts", "configured")],
        ] {
            let asked = read(pairs).unwrap();
            let text = asked.arguments();
            let pairs: Vec<_> = wwwoffle_url::split_form_args(text.as_bytes())
                .map(|argument| {
                    let (name, value) =
                        std::str::from_utf8(argument).unwrap().split_once('=').unwrap();
                    let value = wwwoffle_url::url_decode_form_args(value.as_bytes());
                    (name.to_owned(), String::from_utf8(value).unwrap())
                })
                .collect();
            let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(RecursiveRequest::read(pairs), Ok(asked), "{text}");
        }
    }

    #[test]
    fn unreadable_arguments_are_refused() {
        let url = ("url", "http://h.example/");
        for (pairs, want) in [
            (vec![("depth", "1")], "it does not say which page (\"url\")"),
            (vec![("url", " ")], "it does not say which page (\"url\")"),
            (vec![url, ("depth", "many")], "\"depth\" takes a number from 0 to 1000, not \"many\""),
            (vec![url, ("depth", "-1")], "\"depth\" takes a number from 0 to 1000, not \"-1\""),
            (vec![url, ("bytes", "0")], "\"bytes\" takes a whole number above 0, not \"0\""),
            (vec![url, ("colour", "red")], "it has \"colour\", which is not allowed here"),
        ] {
            assert_eq!(read(&pairs).unwrap_err().to_string(), want);
        }
        assert!(read(&[url, ("method", "world")]).unwrap_err().to_string().contains("world"));
    }
}
