//! What a fetch is to bring besides the page that was asked for: parts, and pages it links to.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wwwoffle_url::url_encode_form_args;

use super::scope::Scope;

/// The most links that are followed one after the other.
pub const MAX_DEPTH: u16 = 1_000;

/// The value of "parts" that leaves it to the configuration which of them come.
pub const AS_CONFIGURED: &str = "configured";

/// A class of the parts of pages, each of which is wanted or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartClass {
    /// Style sheets, and what they import.
    Stylesheets,
    /// Images.
    Images,
    /// Icons of a page.
    Icons,
    /// Fonts.
    Fonts,
    /// Scripts.
    Scripts,
    /// Frames of a frame set.
    Frames,
    /// Frames within a page.
    Iframes,
    /// Sound and film.
    Media,
    /// What plug-ins show.
    Objects,
}

impl PartClass {
    /// All, in the order that they are told in.
    pub const ALL: [Self; 9] = [
        Self::Stylesheets,
        Self::Images,
        Self::Icons,
        Self::Fonts,
        Self::Scripts,
        Self::Frames,
        Self::Iframes,
        Self::Media,
        Self::Objects,
    ];

    /// Its name in forms, on the command line and in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stylesheets => "stylesheets",
            Self::Images => "images",
            Self::Icons => "icons",
            Self::Fonts => "fonts",
            Self::Scripts => "scripts",
            Self::Frames => "frames",
            Self::Iframes => "iframes",
            Self::Media => "media",
            Self::Objects => "objects",
        }
    }

    /// The class of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// Classes that 2.9 has no name for, each with one that it has: they go with that where nothing is said of them.
const WITH: [(PartClass, PartClass); 2] =
    [(PartClass::Icons, PartClass::Images), (PartClass::Fonts, PartClass::Stylesheets)];

impl fmt::Display for PartClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a recursive fetch may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Limits {
    /// Pages, without their parts.
    pub pages: u64,
    /// Bytes of bodies, parts and all.
    pub bytes: Option<u64>,
    /// Minutes from its beginning.
    pub minutes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pages: 10_000, bytes: None, minutes: None }
    }
}

/// What a fetch is to bring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Aim {
    /// How many links are followed, one after the other.
    pub depth: u16,
    /// Where to.
    pub scope: Scope,
    /// Which parts come with the pages, where it is not the configuration that says so.
    pub parts: BTreeMap<PartClass, bool>,
    /// Whether also what is kept and need not be asked about is asked for.
    pub force: bool,
    /// How much it may bring.
    pub limits: Limits,
    /// Whether the site's `robots.txt` and `nofollow` are heeded, where it is not the configuration
    /// that says so.
    pub robots: Option<bool>,
}

/// What a form or a command URL asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The page to begin at.
    pub url: String,
    /// What it is to bring.
    pub aim: Aim,
}

/// Why a form or the arguments of a command URL cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAim {
    /// No page is named.
    #[error("it does not say which page (\"url\")")]
    NoUrl,
    /// The depth is none.
    #[error("\"depth\" takes a number from 0 to {MAX_DEPTH}, not {0:?}")]
    Depth(String),
    /// A limit is none.
    #[error("{name:?} takes a whole number above 0, not {value:?}")]
    Limit {
        /// Which.
        name: String,
        /// What it says.
        value: String,
    },
    /// The scope is none.
    #[error(transparent)]
    Scope(#[from] super::scope::NotAScope),
    /// Nobody knows what it means.
    #[error("it has {0:?}, which says nothing here")]
    Unknown(String),
}

impl Asked {
    /// Reads names and values, as they stand between `;` or `&`, decoded: the form of
    /// `/refresh-options/`, or the arguments of `/refresh-recurse/?`.
    ///
    /// As in WWWOFFLE 2.9 a part that is not named is not wanted, for a form sends only the boxes that
    /// are ticked; but icons that are not named go with images, and fonts with style sheets, for 2.9 names neither.
    /// `parts=configured` leaves all of them to the configuration.
    ///
    /// # Errors
    ///
    /// [`BadAim`] says which value is wrong.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, BadAim> {
        let mut aim = Aim { scope: Scope::Any, ..Aim::default() };
        let (mut url, mut method, mut as_configured) = (None, None, false);
        for (name, value) in pairs {
            match name {
                "url" if !value.trim().is_empty() => url = Some(value.trim().to_owned()),
                "url" => {}
                "depth" => aim.depth = depth(value)?,
                // The form has a word for what the command URL writes out as the beginning of URLs.
                "method" if value == "none" => aim.depth = 0,
                "method" | "scope" => method = Some(Scope::parse(value)?),
                "limit" if value.is_empty() => {}
                "limit" => aim.scope = Scope::Prefix(value.to_owned()),
                "force" => aim.force = is_yes(value),
                "robots" => aim.robots = Some(is_yes(value)),
                "parts" if value == AS_CONFIGURED => as_configured = true,
                "pages" => aim.limits.pages = number(name, value)?,
                "bytes" => aim.limits.bytes = Some(number(name, value)?),
                "minutes" => aim.limits.minutes = Some(number(name, value)?),
                _ => match PartClass::named(name) {
                    Some(class) => {
                        aim.parts.insert(class, is_yes(value));
                    }
                    None => return Err(BadAim::Unknown(name.to_owned())),
                },
            }
        }
        for (class, with) in WITH {
            let is_wanted = aim.parts.get(&with).copied().unwrap_or_default();
            aim.parts.entry(class).or_insert(is_wanted);
        }
        for class in PartClass::ALL {
            aim.parts.entry(class).or_default();
        }
        if as_configured {
            aim.parts.clear();
        }
        aim.scope = method.unwrap_or(aim.scope);
        Ok(Self { url: url.ok_or(BadAim::NoUrl)?, aim })
    }

    /// The arguments of `/refresh-recurse/?` that say the same.
    #[must_use]
    pub fn arguments(&self) -> String {
        let mut text =
            format!("url={};depth={}", url_encode_form_args(self.url.as_bytes()), self.aim.depth);
        let mut add = |name: &str, value: &str| {
            let value = url_encode_form_args(value.as_bytes());
            text.push(';');
            text.push_str(name);
            text.push('=');
            text.push_str(&value);
        };
        match &self.aim.scope {
            Scope::Any => {}
            Scope::Prefix(prefix) => add("limit", prefix),
            scope => add("scope", &scope.to_string()),
        }
        if self.aim.force {
            add("force", "Y");
        }
        if let Some(robots) = self.aim.robots {
            add("robots", if robots { "Y" } else { "N" });
        }
        let default = Limits::default();
        if self.aim.limits.pages != default.pages {
            add("pages", &self.aim.limits.pages.to_string());
        }
        if let Some(bytes) = self.aim.limits.bytes {
            add("bytes", &bytes.to_string());
        }
        if let Some(minutes) = self.aim.limits.minutes {
            add("minutes", &minutes.to_string());
        }
        if self.aim.parts.is_empty() {
            add("parts", AS_CONFIGURED);
        }
        for class in self.aim.parts.iter().filter(|(_, wanted)| **wanted).map(|(class, _)| class) {
            add(class.as_str(), "Y");
        }
        for (class, with) in WITH {
            let is_wanted = |class| self.aim.parts.get(&class).copied();
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

fn depth(value: &str) -> Result<u16, BadAim> {
    let depth = value.parse().ok().filter(|depth| *depth <= MAX_DEPTH);
    depth.ok_or_else(|| BadAim::Depth(value.to_owned()))
}

fn number(name: &str, value: &str) -> Result<u64, BadAim> {
    let bad = || BadAim::Limit { name: name.to_owned(), value: value.to_owned() };
    value.parse().ok().filter(|number| *number > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<Asked, BadAim> {
        Asked::read(pairs.iter().copied())
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
        assert_eq!((asked.aim.depth, &asked.aim.scope), (2, &Scope::Directory));
        assert!(asked.aim.force);
        let wanted = asked.aim.parts.iter().filter(|(_, wanted)| **wanted);
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
        // Our form says of these also that they are not wanted, before the box that may be ticked.
        let parts = asked.unwrap().aim.parts;
        assert_eq!((parts[&PartClass::Icons], parts[&PartClass::Fonts]), (false, true));
        let none = read(&[("url", "http://h.example/"), ("depth", "3"), ("method", "none")]);
        assert_eq!(none.unwrap().aim.depth, 0);
    }

    #[test]
    fn arguments_come_back() {
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
            assert_eq!(Asked::read(pairs), Ok(asked), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let url = ("url", "http://h.example/");
        for (pairs, want) in [
            (vec![("depth", "1")], "it does not say which page (\"url\")"),
            (vec![("url", " ")], "it does not say which page (\"url\")"),
            (vec![url, ("depth", "many")], "\"depth\" takes a number from 0 to 1000, not \"many\""),
            (vec![url, ("depth", "-1")], "\"depth\" takes a number from 0 to 1000, not \"-1\""),
            (vec![url, ("bytes", "0")], "\"bytes\" takes a whole number above 0, not \"0\""),
            (vec![url, ("colour", "red")], "it has \"colour\", which says nothing here"),
        ] {
            assert_eq!(read(&pairs).unwrap_err().to_string(), want);
        }
        assert!(read(&[url, ("method", "world")]).unwrap_err().to_string().contains("world"));
    }
}
