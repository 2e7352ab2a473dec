//! Where an entry lies: `http/www.example.org/9f/9f86d081….warc`.
//!
//! # Names of directories
//!
//! A host comes from the network, so its directory's name is made from an allow-list and cannot be
//! anything but one plain name inside the spool. `a`–`z`, `0`–`9`, `.`, `-` and `_` stand for
//! themselves, but `.` and `-` not at the beginning; every other byte is `%` and two lower-case hex
//! digits; no host at all is `%`. What would be longer than [`MAX_NAME`] is `=` and the SHA-256 of the
//! host. So no two hosts share a directory, also where the file system does not tell `A` from `a`.
//!
//! A scheme other than the four the program speaks has `=` before it, or it could be called `tmp`.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use wwwoffle_url::{CanonicalUrl, Key};

/// The longest name of a directory, in bytes. File systems allow 255; `=` and some room are kept.
pub(crate) const MAX_NAME: usize = 240;

/// What the files of entries and requests end with.
pub(crate) const EXTENSION: &str = ".warc";

/// The schemes whose directories have their own name.
pub(crate) const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// The name of one entry: its key, and the URL that decides in which directory it lies.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Canonical, never with credentials.
    url: String,
    key: Key,
    origin: Origin,
}

/// What the key was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The URL as it is shown; so the key of a file can be checked against its target.
    Url,
    /// The URL with credentials or what else the answer depends on, which is not in the file.
    Variant,
}

impl Place {
    /// The place of a URL.
    ///
    /// ```
    /// # fn main() -> Result<(), wwwoffle_url::ParseError> {
    /// use wwwoffle_spool::Place;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    /// let place = Place::of(&CanonicalUrl::parse("http://Example.ORG", &LocalHost::default())?);
    /// assert!(place.relative_path().starts_with("http/example.org/"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of(url: &CanonicalUrl) -> Place {
        // With credentials, what is hashed is not what is shown.
        let plain = url.user().is_none() && url.password().is_none();
        let origin = if plain { Origin::Url } else { Origin::Variant };
        Place::new(url.as_str(), url.key(), origin)
    }

    /// The place for what depends on more than the URL: one of several answers, told apart by
    /// `variant`, any text that the caller makes from what the answer varies with.
    #[must_use]
    pub fn variant(url: &CanonicalUrl, variant: &str) -> Place {
        Place::new(url.as_str(), url.variant_key(variant), Origin::Variant)
    }

    pub(crate) fn new(url: &str, key: Key, origin: Origin) -> Place {
        Place { url: url.to_owned(), key, origin }
    }

    /// The canonical URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The key that names the file.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }

    /// Where the entry lies below the root of the spool.
    #[must_use]
    pub fn relative_path(&self) -> PathBuf {
        let (scheme, host) = scheme_and_host(&self.url);
        let key = self.key.to_string();
        let first = key.get(..2).unwrap_or_default();
        let (scheme, host) = (scheme_directory(scheme), directory(host));
        PathBuf::from(format!("{scheme}/{host}/{first}/{key}{EXTENSION}"))
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether the key is the one the URL has, as far as the file alone can tell.
    pub(crate) fn is_consistent(&self) -> bool {
        match self.origin {
            Origin::Variant => true,
            Origin::Url => <[u8; 32]>::from(Sha256::digest(&self.url)) == *self.key.as_bytes(),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({} {})", self.key, self.url)
    }
}

/// The name of a scheme's directory.
pub(crate) fn scheme_directory(scheme: &str) -> Cow<'_, str> {
    if SCHEMES.contains(&scheme) {
        return Cow::Borrowed(scheme);
    }
    Cow::Owned(match directory(scheme) {
        hashed if hashed.starts_with('=') => hashed.into_owned(),
        plain => format!("={plain}"),
    })
}

/// The name of a host's directory.
pub(crate) fn directory(host: &str) -> Cow<'_, str> {
    if host.len() <= MAX_NAME && !host.is_empty() && host.bytes().enumerate().all(stands_for_itself)
    {
        return Cow::Borrowed(host);
    }
    if host.is_empty() {
        return Cow::Borrowed("%");
    }
    let mut name = String::with_capacity(host.len() + 8);
    for (index, byte) in host.bytes().enumerate() {
        if stands_for_itself((index, byte)) {
            name.push(char::from(byte));
        } else {
            name.push('%');
            name.push_str(&hex::encode([byte]));
        }
        if name.len() > MAX_NAME {
            return Cow::Owned(format!("={}", hex::encode(Sha256::digest(host))));
        }
    }
    Cow::Owned(name)
}

fn stands_for_itself((index, byte): (usize, u8)) -> bool {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'_' => true,
        b'.' | b'-' => index > 0,
        _ => false,
    }
}

/// The host a directory is for. `None` when the name tells it not: hashed, or not ours.
pub(crate) fn host_of(directory: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(directory.len());
    let mut rest = directory.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' && directory.len() > 1 {
            let digits = [rest.next()?, rest.next()?];
            bytes.extend(hex::decode(digits).ok()?);
        } else if byte != b'%' {
            bytes.push(byte);
        }
    }
    let host = String::from_utf8(bytes).ok()?;
    (self::directory(&host) == directory).then_some(host)
}

/// The scheme a directory is for. `None` for the other things that lie in the root.
pub(crate) fn scheme_of(directory: &str) -> Option<String> {
    match directory.strip_prefix('=') {
        None => SCHEMES.contains(&directory).then(|| directory.to_owned()),
        Some(other) => host_of(other).filter(|scheme| scheme_directory(scheme) == directory),
    }
}

/// The scheme and the host with its port, of a canonical URL.
pub(crate) fn scheme_and_host(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (scheme, rest.get(..end).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Component;

    use wwwoffle_url::LocalHost;

    use super::*;

    fn place(url: &str) -> Place {
        Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
    }

    #[test]
    fn a_path_tells_scheme_host_and_key() {
        let path = place("http://www.example.org/a?b").relative_path();
        let key = place("http://www.example.org/a?b").key().to_string();
        assert_eq!(
            path.to_str().unwrap(),
            format!("http/www.example.org/{}/{key}.warc", &key[..2])
        );
    }

    #[test]
    fn a_key_is_that_of_the_url_unless_it_hides_something() {
        let url = |text| CanonicalUrl::parse(text, &LocalHost::default()).unwrap();
        let plain = Place::of(&url("http://example.org/?a=b"));
        assert!(plain.is_consistent());
        assert_eq!(plain.origin(), Origin::Url);
        let private = Place::of(&url("http://me:secret@example.org/?a=b"));
        assert_eq!(private.origin(), Origin::Variant);
        assert_eq!(private.url(), plain.url());
        assert_ne!(private.key(), plain.key());
        let variant = Place::variant(&url("http://example.org/?a=b"), "gzip");
        assert_ne!(variant.key(), plain.key());
        assert!(!Place::new("http://example.org/", plain.key(), Origin::Url).is_consistent());
    }

    #[test]
    fn hosts_and_their_directories() {
        for (host, directory_name) in [
            ("www.example.org", "www.example.org"),
            ("www.example.org:8080", "www.example.org%3a8080"),
            ("[2001:db8::1]", "%5b2001%3adb8%3a%3a1%5d"),
            ("a_b-c", "a_b-c"),
            ("Example", "%45xample"),
            ("..", "%2e."),
            (".", "%2e"),
            ("...", "%2e.."),
            ("", "%"),
            ("%", "%25"),
            ("%2e", "%252e"),
            ("-rf", "%2drf"),
            ("../../etc", "%2e.%2f..%2fetc"),
            ("a\0b", "a%00b"),
            ("a\nb", "a%0ab"),
            ("a\\b", "a%5cb"),
            ("é", "%c3%a9"),
            ("=x", "%3dx"),
        ] {
            assert_eq!(directory(host), directory_name, "{host:?}");
            assert_eq!(host_of(directory_name).as_deref(), Some(host), "{directory_name:?}");
        }
        assert_eq!(directory(&"a".repeat(240)), "a".repeat(240));
        assert_eq!(directory(&"a".repeat(241)).len(), 65);
        assert_eq!(directory(&"é".repeat(41)).len(), 65);
        for foreign in ["A", "..", "%zz", "%2", "=ab", "%41%", "a%41b%61"] {
            assert_eq!(host_of(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn schemes_cannot_take_the_names_of_the_root() {
        for (scheme, name) in
            [("http", "http"), ("tmp", "=tmp"), ("..", "=%2e."), ("", "=%"), ("state", "=state")]
        {
            assert_eq!(scheme_directory(scheme), name);
            assert_eq!(scheme_of(name).as_deref(), Some(scheme));
        }
        assert!(scheme_directory(&"x".repeat(300)).len() < 255);
        for foreign in ["tmp", "damaged", "=http", "=", "..", "="] {
            assert_eq!(scheme_of(foreign), None, "{foreign:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_host_leaves_its_directory(hosts in proptest::collection::vec(".*", 1..20)) {
            let mut names = HashSet::new();
            for host in hosts.iter().collect::<HashSet<_>>() {
                let name = directory(host).into_owned();
                let path = PathBuf::from(&name);
                let parts: Vec<_> = path.components().collect();
                assert!(matches!(parts.as_slice(), [Component::Normal(_)]), "{name:?}");
                assert!(name.len() <= 255 && name.is_ascii());
                assert!(names.insert(name.to_lowercase()), "{name:?} is given twice");
            }
        }
    }
}
