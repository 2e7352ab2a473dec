//! The path of an entry: `http/www.example.org/9f/9f86d081….warc`.
//!
//! A place is a URL, an owner and a variant. The owner is part of the key: an entry of one person
//! is found only by requests of that person. The variant is not part of the key: all variants of a
//! response have the same key and are in the directory `9f86d081….variants/`. Each has the SHA-256
//! of its variant text as its name ([`crate::tree::variants`]).

mod names;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use wwwoffle_url::{CanonicalUrl, Key, url_encode_password};

pub(crate) use names::{SCHEMES, host_directory, host_of, scheme_directory, scheme_of};

/// The ending of the file names of entries and requests.
pub(crate) const EXTENSION: &str = ".warc";

/// The ending of the directory with the variants of a key.
pub(crate) const VARIANTS: &str = ".variants";

/// The longest owner of an entry, in bytes.
pub const MAX_OWNER: usize = 1 << 10;

/// The longest variant text of an entry, in bytes.
pub const MAX_VARIANT: usize = 4 << 10;

/// The prefix of the variant text of a response to another spelling of the URL.
const RESPELLED: &str = ":spelling::";

/// The prefix of the variant text of a response to a request with a login.
const OF_LOGIN: &str = ":login::";

/// The longest name of a login in a variant text, in bytes. It leaves room for the longest text for
/// `Vary` and a spelling.
pub const MAX_LOGIN: usize = 96;

/// The identity of one entry: its URL, owner, key and variant.
#[derive(Clone)]
pub struct Place {
    /// The canonical URL, never with credentials.
    url: String,
    /// The key of the URL alone. For a place read from a file, this key may be unknown; the field
    /// then equals `key`. So comparisons ignore the field.
    base: Key,
    origin: KeyOrigin,
    /// The owner. An empty text means that there is no owner.
    owner: String,
    /// The key of the URL and the owner.
    key: Key,
    variant: String,
}

/// The data from which the key was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum KeyOrigin {
    /// The stored URL and the owner, so the key of a file can be checked.
    Url,
    /// A URL with credentials or other secrets, which the file does not contain.
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
        // The hash covers the credentials. The URL of the place does not contain them.
        let plain = url.user().is_none() && url.password().is_none();
        let origin = if plain { KeyOrigin::Url } else { KeyOrigin::Variant };
        Place::new(url.as_str(), url.key(), origin)
    }

    /// The place of a response that depends on more than the URL, for example a credential of the
    /// request. `secret` is any text; it changes the key and is not stored.
    #[must_use]
    pub fn variant(url: &CanonicalUrl, secret: &str) -> Place {
        Place::new(url.as_str(), url.variant_key(secret), KeyOrigin::Variant)
    }

    /// The place of the copy for `owner` alone, with another key. Any text of at most [`MAX_OWNER`]
    /// bytes is an owner; an empty text means no owner. A previous owner is replaced, except in a
    /// place read from the file of a URL with credentials, because the file lacks them.
    ///
    /// ```
    /// # fn main() -> Result<(), wwwoffle_url::ParseError> {
    /// use wwwoffle_spool::Place;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    /// let all = Place::of(&CanonicalUrl::parse("http://example.org", &LocalHost::default())?);
    /// let own = all.clone().owned_by("user anna");
    /// assert_ne!(own.key(), all.key());
    /// assert_eq!(own.owner(), Some("user anna"));
    /// assert_eq!(own.owned_by(""), all);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Place {
        owner.clone_into(&mut self.owner);
        self.key = if owner.is_empty() { self.base } else { self.base.variant(owner) };
        self
    }

    /// The place of one of several responses under this key, distinguished by `variant`: any text
    /// of at most [`MAX_VARIANT`] bytes that the caller builds from the fields of `Vary`. An empty
    /// text is a response that does not vary. A previous variant is replaced.
    ///
    /// ```
    /// # fn main() -> Result<(), wwwoffle_url::ParseError> {
    /// use wwwoffle_spool::Place;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    /// let all = Place::of(&CanonicalUrl::parse("http://example.org", &LocalHost::default())?);
    /// let german = all.clone().with_variant("accept-language: de");
    /// assert_eq!(german.key(), all.key());
    /// assert_ne!(german.relative_path(), all.relative_path());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_variant(mut self, variant: &str) -> Place {
        variant.clone_into(&mut self.variant);
        self
    }

    pub(crate) fn new(url: &str, key: Key, origin: KeyOrigin) -> Place {
        let (owner, variant) = (String::new(), String::new());
        Place { url: url.to_owned(), base: key, origin, owner, key, variant }
    }

    /// Rebuilds the place from the fields of a file. `key` includes the owner. `None` if the key
    /// does not match URL and owner. For [`KeyOrigin::Variant`] this cannot be checked.
    pub(crate) fn recorded(url: &str, owner: &str, key: Key, origin: KeyOrigin) -> Option<Place> {
        let place = match origin {
            KeyOrigin::Url => {
                let base = Key::from_bytes(Sha256::digest(url).into());
                Place::new(url, base, origin).owned_by(owner)
            }
            // The secret was part of the hash, but is not in the file.
            KeyOrigin::Variant => {
                Place { owner: owner.to_owned(), ..Place::new(url, key, KeyOrigin::Variant) }
            }
        };
        Some(place).filter(|place| place.key == key)
    }

    /// Rebuilds a place from stored parts. `follows_from_url` is the result of
    /// [`Place::follows_from_url`]. If it is true and the key does not match the URL and the owner,
    /// returns `None`. If it is false, the key cannot be checked.
    ///
    /// ```
    /// # fn main() -> Result<(), wwwoffle_url::ParseError> {
    /// use wwwoffle_spool::Place;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    /// let place = Place::of(&CanonicalUrl::parse("http://example.org", &LocalHost::default())?);
    /// let anna = place.owned_by("user anna").with_variant("accept: x");
    /// let again = Place::from_stored(anna.url(), "user anna", anna.key(), "accept: x", true);
    /// assert_eq!(again, Some(anna.clone()));
    /// assert_eq!(Place::from_stored(anna.url(), "user bob", anna.key(), "", true), None);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn from_stored(
        url: &str,
        owner: &str,
        key: Key,
        variant: &str,
        follows_from_url: bool,
    ) -> Option<Place> {
        let origin = if follows_from_url { KeyOrigin::Url } else { KeyOrigin::Variant };
        Place::recorded(url, owner, key, origin).map(|place| place.with_variant(variant))
    }

    /// Whether the key can be computed from the URL and the owner alone.
    #[must_use]
    pub fn follows_from_url(&self) -> bool {
        self.origin == KeyOrigin::Url
    }

    /// The canonical URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The key, which names the file. It depends on the URL and the owner, not on the variant.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }

    /// The owner of the copy, if any.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        Some(self.owner.as_str()).filter(|owner| !owner.is_empty())
    }

    /// The text that distinguishes the variants of a key; empty if the response does not vary.
    #[must_use]
    pub fn variant_text(&self) -> &str {
        &self.variant
    }

    /// The variant text of a response to a spelling of the URL other than the canonical one.
    /// `spelling` names that spelling, and `varies` is the text for `Vary`. The result begins with
    /// a colon. A text for `Vary` begins with the name of a field, so it never has this form.
    #[must_use]
    pub fn respelled(spelling: &str, varies: &str) -> String {
        let and = if varies.is_empty() { "" } else { "&" };
        format!("{RESPELLED}{spelling}{and}{varies}")
    }

    /// The spelling of the URL that an entry with this variant text belongs to; `None` for the
    /// canonical spelling.
    #[must_use]
    pub fn spelling_of(variant: &str) -> Option<&str> {
        let variant = match variant.strip_prefix(OF_LOGIN) {
            Some(rest) => rest.split_once('&')?.1,
            None => variant,
        };
        variant.strip_prefix(RESPELLED)?.split('&').next()
    }

    /// The variant text of a response to a request with a login. `name` is the user name as a URL
    /// has it, of at most [`MAX_LOGIN`] bytes, and `varies` is the variant text without the login.
    #[must_use]
    pub fn for_login(name: &str, varies: &str) -> String {
        let and = if varies.is_empty() { "" } else { "&" };
        format!("{OF_LOGIN}{name}{and}{varies}")
    }

    /// The name of the login of a user, as a URL has it: for an empty name `-`, and for one that is
    /// too long its digest.
    #[must_use]
    pub fn login_name(user: &[u8]) -> String {
        match url_encode_password(user) {
            name if name.is_empty() => "-".to_owned(),
            name if name.len() > MAX_LOGIN => hex::encode(Sha256::digest(user)),
            name => name,
        }
    }

    /// The place of a queued request for `url` with a login. The queue has one request for each
    /// login.
    #[must_use]
    pub fn queued_for_login(url: &CanonicalUrl, name: &str) -> Place {
        Place::variant(url, name).with_variant(&Place::for_login(name, ""))
    }

    /// The user name of the login that an entry with this variant text belongs to, as a URL has it.
    #[must_use]
    pub fn login_of(variant: &str) -> Option<&str> {
        variant.strip_prefix(OF_LOGIN)?.split('&').next()
    }

    /// The user name of the login that the entry belongs to, as a URL has it.
    #[must_use]
    pub fn login(&self) -> Option<&str> {
        Self::login_of(&self.variant)
    }

    /// The address of the entry: its URL, with the user name of its login, if there is one.
    ///
    /// ```
    /// # fn main() -> Result<(), wwwoffle_url::ParseError> {
    /// use wwwoffle_spool::Place;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    /// let all = Place::of(&CanonicalUrl::parse("http://example.org/a", &LocalHost::default())?);
    /// let ada = all.clone().with_variant(&Place::for_login("ada", "accept: x"));
    /// assert_eq!(ada.address(), "http://ada@example.org/a");
    /// assert_eq!(all.address(), all.url());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn address(&self) -> Cow<'_, str> {
        match (self.login(), self.url.split_once("://")) {
            (Some(name), Some((scheme, rest))) => format!("{scheme}://{name}@{rest}").into(),
            _ => self.url.as_str().into(),
        }
    }

    /// The path of the entry below the root of the spool. For an entry without variant, the path
    /// that it has while its key has no directory of variants. If the key gets such a directory,
    /// the entry moves into the directory.
    #[must_use]
    pub fn relative_path(&self) -> PathBuf {
        if self.variant.is_empty() { self.single_path() } else { self.variant_path() }
    }

    /// The SHA-256 of the empty text: the name, in the directory of variants, of a response that
    /// does not vary.
    pub(crate) const SINGLE: Key = Key::from_bytes([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9,
        0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52,
        0xb8, 0x55,
    ]);

    /// The path of an entry without variant while its key has no variants.
    pub(crate) fn single_path(&self) -> PathBuf {
        self.stem(EXTENSION)
    }

    /// The directory of the entries of a key that has variants.
    pub(crate) fn variants_path(&self) -> PathBuf {
        self.stem(VARIANTS)
    }

    /// The path of the entry in the directory of variants.
    pub(crate) fn variant_path(&self) -> PathBuf {
        self.variants_path().join(format!("{}{EXTENSION}", self.variant_name()))
    }

    /// The name of the entry in the directory of variants.
    pub(crate) fn variant_name(&self) -> Key {
        if self.variant.is_empty() {
            return Place::SINGLE;
        }
        Key::from_bytes(Sha256::digest(&self.variant).into())
    }

    /// Whether both places have the same URL, owner and key.
    pub(crate) fn is_variant_of(&self, other: &Place) -> bool {
        (self.key, self.origin, &self.url, &self.owner)
            == (other.key, other.origin, &other.url, &other.owner)
    }

    /// The path `<scheme>/<host>/9f/9f86d081…`, with the ending `end`.
    fn stem(&self, end: &str) -> PathBuf {
        let (scheme, host) = scheme_and_host(&self.url);
        let key = self.key.to_string();
        let first = key.get(..2).unwrap_or_default();
        let (scheme, host) = (scheme_directory(scheme), host_directory(host));
        PathBuf::from(format!("{scheme}/{host}/{first}/{key}{end}"))
    }

    pub(crate) fn origin(&self) -> KeyOrigin {
        self.origin
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.is_variant_of(other) && self.variant == other.variant
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.key, &self.variant).hash(state);
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({} {}", self.key, self.url)?;
        for (name, text) in [("owner", &self.owner), ("variant", &self.variant)] {
            if !text.is_empty() {
                write!(f, ", {name} {text:?}")?;
            }
        }
        f.write_str(")")
    }
}

/// The scheme, and the host with its port, of a canonical URL.
pub(crate) fn scheme_and_host(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (scheme, rest.get(..end).unwrap_or(rest))
}

/// Returns the name under which the requests of an owner are counted. A machine may choose any
/// address of its IPv6 /64 network (RFC 8981), so all addresses of such a network count together.
#[must_use]
pub fn share_name(owner: &str) -> String {
    let address = owner.strip_prefix("client:").and_then(|address| address.parse().ok());
    match address {
        Some(IpAddr::V6(address)) => {
            format!("client:{}/64", Ipv6Addr::from(u128::from(address) >> 64 << 64))
        }
        Some(IpAddr::V4(_)) | None => owner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use wwwoffle_url::LocalHost;

    use super::*;

    fn place(url: &str) -> Place {
        Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
    }

    #[test]
    fn a_path_has_scheme_host_and_key() {
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
        assert_eq!(plain.origin(), KeyOrigin::Url);
        let private = Place::of(&url("http://me:secret@example.org/?a=b"));
        assert_eq!(private.origin(), KeyOrigin::Variant);
        assert_eq!(private.url(), plain.url());
        assert_ne!(private.key(), plain.key());
        for place in [plain, private] {
            for owner in ["", "user anna", "user\nanna"] {
                let place = place.clone().owned_by("user bob").owned_by(owner);
                let recorded =
                    |owner| Place::recorded(place.url(), owner, place.key(), place.origin());
                assert!(recorded(owner).unwrap().is_variant_of(&place));
                let wrong = recorded("user carl");
                assert!(wrong.is_none_or(|wrong| !wrong.is_variant_of(&place)), "{owner:?}");
            }
        }
    }

    #[test]
    fn each_owner_has_a_key_and_each_variant_a_file() {
        let place = place("http://example.org/?a=b");
        let owned = ["", "a", "b", "a\n"].map(|owner| place.clone().owned_by(owner));
        let keys: HashSet<_> = owned.iter().map(Place::key).collect();
        assert_eq!(keys.len(), 4);
        for owned in owned {
            let variants = ["", "a", "b"].map(|variant| owned.clone().with_variant(variant));
            let paths: HashSet<_> = variants.iter().map(Place::relative_path).collect();
            assert_eq!(paths.len(), 3);
            assert_eq!(*Place::SINGLE.as_bytes(), <[u8; 32]>::from(Sha256::digest("")));
            assert!(variants.iter().all(|variant| variant.key() == owned.key()));
            let among: HashSet<_> = variants.iter().map(Place::variant_path).collect();
            assert!(among.iter().all(|path| path.starts_with(owned.variants_path())));
        }
    }
}
