//! Names and records of WWWOFFLE 2.9, for reading its spool.

use md5::{Digest, Md5};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::canonical::CanonicalUrl;
use crate::encode::{PROTOCOL, split_run};
use crate::error::{ParseError, UrlFault};
use crate::host::canonicalise_host;
use crate::link::{LinkTarget, link_url, resolve};
use crate::localhost::LocalHost;
use crate::path::{canonicalise_name, remove_dot_segments};
use crate::split::{SplitHost, SplitUrl, clean, default_port, split};
use crate::wildcard::matches_wildcard;

/// The name of a file of 2.9, without its first letter (`MakeHash`): MD5 in base64 without padding,
/// with `-` for `/`.
///
/// ```
/// assert_eq!(wwwoffle_url::make_hash(b""), "1B2M2Y8AsgTpgAmY7PhCfg");
/// ```
#[must_use]
pub fn make_hash(text: &[u8]) -> String {
    STANDARD_NO_PAD.encode(Md5::digest(text)).replace('/', "-")
}

/// The location of a URL in a spool of 2.9: `<protocol>/<dir>/D<hash>`, and `U<hash>` for the URL
/// itself.
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// use wwwoffle_url::{CanonicalUrl, LocalHost, OldName};
/// let url = CanonicalUrl::parse("http://[::1]:81/x?y", &LocalHost::default())?;
/// assert_eq!(OldName::of(&url).dir, "[0:0:0:0:0:0:0:1]:81");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OldName {
    /// The directory of host and port, below the directory of the protocol.
    pub dir: String,
    /// The file name without its first letter.
    pub hash: String,
}

impl OldName {
    /// The name in 2.9's spelling, as far as it can be derived from ours: IPv6 addresses are
    /// written in full, and `%2F` in the path becomes `/`.
    ///
    /// The result is wrong for URLs that 2.9 stored with `&amp;` in their arguments, with a path
    /// that ended in `/.`, or truncated at a `%00`. The `U` files of a spool of 2.9 contain the
    /// names of such URLs.
    #[must_use]
    pub fn of(url: &CanonicalUrl) -> Self {
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        let dir = spell_host(url.host()) + &port;
        let [start, credentials, at, _] = url.secret_pieces();
        let mut path = url.path().as_bytes().to_vec();
        if url.path().contains("%2F") {
            path = remove_dot_segments(url.path().replace("%2F", "/").as_bytes());
        }
        let mut file = [start, credentials, at, &dir].concat().into_bytes();
        file.append(&mut path);
        if let Some(arguments) = url.arguments() {
            file.push(b'?');
            file.extend_from_slice(arguments.as_bytes());
        }
        Self { dir, hash: make_hash(&file) }
    }
}

/// Writes an IPv6 address in full, as 2.9 always does.
fn spell_host(host: &str) -> String {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let Some(address) = address.and_then(|text| text.parse::<std::net::Ipv6Addr>().ok()) else {
        return host.to_owned();
    };
    let groups: Vec<_> = address.segments().iter().map(|group| format!("{group:x}")).collect();
    format!("[{}]", groups.join(":"))
}

/// The hosts of the local network: a list of patterns. The first matching pattern decides.
///
/// `*` stands for any text. A `!` at the start makes a match mean "not local". A pattern for an
/// IPv6 address may use its short or its full spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalNet(Vec<(bool, String)>);

impl LocalNet {
    /// Creates the list from patterns in order of precedence.
    #[must_use]
    pub fn new(patterns: &[&str]) -> Self {
        let parse = |pattern: &&str| match pattern.strip_prefix('!') {
            Some(pattern) => (false, canonical_pattern(pattern)),
            None => (true, canonical_pattern(pattern)),
        };
        Self(patterns.iter().map(parse).collect())
    }

    /// Whether a canonical host is on the local network.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        let old = spell_host(host);
        let found = self.0.iter().find(|(_, pattern)| {
            matches_wildcard(pattern, host) || matches_wildcard(pattern, &old)
        });
        found.is_some_and(|(local, _)| *local)
    }
}

fn canonical_pattern(pattern: &str) -> String {
    let literal = (!pattern.contains('*')).then(|| canonicalise_host(pattern.as_bytes()).ok());
    literal.flatten().unwrap_or_else(|| pattern.to_ascii_lowercase())
}

/// The arguments of `CreateURL`, encoded as in a URL.
#[derive(Clone, Copy, Default)]
#[expect(missing_docs, reason = "the names are those of the record, where they are explained")]
pub struct OldParts<'a> {
    pub proto: &'a [u8],
    pub hostport: &'a [u8],
    pub path: &'a [u8],
    pub args: Option<&'a [u8]>,
    pub user: Option<&'a [u8]>,
    pub pass: Option<&'a [u8]>,
}

/// The local hosts that an [`OldRecord`] depends on.
#[derive(Clone, Debug, Default)]
pub struct LocalScope {
    /// Names and ports of the proxy.
    pub local_host: LocalHost,
    /// Hosts that are reached without a parent proxy.
    pub local_net: LocalNet,
}

/// The record of 2.9 about a URL.
///
/// The spelling is ours. `location` names the files in a spool of 2.9, so it follows 2.9's spelling
/// where the two differ ([`OldName`]). The record holds the password in clear text: never log it.
#[derive(Clone, PartialEq, Eq)]
pub struct OldRecord {
    /// The URL. In 2.9 its parts are separate fields.
    pub url: CanonicalUrl,
    /// The password, decoded. It may be set even if there is no user, although `url` then contains
    /// no password.
    pub password: Option<Vec<u8>>,
    /// The location of the URL's files in a spool of 2.9.
    pub location: OldName,
    /// The URL under which a browser that uses the proxy can open this URL.
    pub link: String,
    /// Whether the host is this proxy or on the local network.
    pub is_localnet: bool,
    /// Whether 2.9 knows the protocol.
    pub is_handled: bool,
    /// The protocol's default port; 0 for an unknown protocol.
    pub default_port: u16,
    /// The URL as written.
    pub written: OldWritten,
}

/// A URL with path and arguments as written.
#[derive(Clone, PartialEq, Eq)]
pub struct OldWritten {
    /// The URL without credentials.
    pub name: Vec<u8>,
    /// Path and arguments.
    pub path_and_arguments: Vec<u8>,
    /// Path; `/` if nothing was written.
    pub path: Vec<u8>,
    /// Arguments, without their `?`.
    pub arguments: Option<Vec<u8>>,
}

impl OldRecord {
    /// The record of a URL given as text (`SplitURL`).
    ///
    /// # Errors
    ///
    /// Fails as [`CanonicalUrl::parse`] does.
    pub fn split_url(text: &[u8], around: &LocalScope) -> Result<Self, ParseError> {
        Self::split_clean(&clean(text)?, around)
    }

    fn split_clean(text: &[u8], around: &LocalScope) -> Result<Self, ParseError> {
        let parts = split(text)?;
        let url = CanonicalUrl::from_parts(&parts, &around.local_host)?;
        Ok(Self::new(&url, &parts, around))
    }

    /// The record of a URL given in parts (`CreateURL`). An empty host means this proxy.
    ///
    /// # Errors
    ///
    /// Fails as [`CanonicalUrl::parse`] does, and for an invalid protocol.
    pub fn create_url(parts: &OldParts<'_>, around: &LocalScope) -> Result<Self, ParseError> {
        let (_, rest) = split_run(parts.proto, PROTOCOL);
        if !rest.is_empty() || !parts.proto.first().is_some_and(u8::is_ascii_alphabetic) {
            return Err(UrlFault::BadProtocol.into());
        }
        let password = parts.pass.filter(|pass| !pass.is_empty() && parts.user.is_some());
        let host = match parts.hostport {
            [] => SplitHost::Local,
            host => SplitHost::Written(host),
        };
        let user = parts.user.filter(|user| !user.is_empty() || password.is_some());
        let (path, args) = (parts.path, parts.args);
        let split = SplitUrl { protocol: parts.proto, user, password, host, path, args };
        let url = CanonicalUrl::from_parts(&split, &around.local_host)?;
        Ok(Self::new(&url, &split, around))
    }

    /// The record of the target of a link in the page `base` (`LinkURL`).
    ///
    /// # Errors
    ///
    /// Fails as [`link_url`] does.
    pub fn link_url(base: &[u8], link: &[u8], around: &LocalScope) -> Result<Self, ParseError> {
        let base = CanonicalUrl::parse_bytes(base, &around.local_host)?;
        let url = link_url(&base, link, &around.local_host)?;
        let link = clean(link)?;
        match resolve(&base, &link) {
            LinkTarget::Base => Ok(Self::canonical(&url, around)),
            LinkTarget::OtherProtocol { text, .. } => Self::split_clean(text, around),
            LinkTarget::Text(text) => Self::split_clean(&text, around),
            LinkTarget::Joined(text) => {
                let parts = split(&text)?;
                let path = canonicalise_name(parts.path);
                Ok(Self::new(&url, &SplitUrl { path: &path, ..parts }, around))
            }
        }
    }

    /// The record of `url` with these credentials instead of its own (`AddPasswordURL`). `user` and
    /// `pass` are given without encoding.
    ///
    /// # Errors
    ///
    /// Fails as [`CanonicalUrl::parse`] does.
    pub fn add_password_url(
        url: &[u8],
        user: Option<&[u8]>,
        pass: Option<&[u8]>,
        around: &LocalScope,
    ) -> Result<Self, ParseError> {
        let url = CanonicalUrl::parse_bytes(url, &around.local_host)?;
        let Some(user) = user else {
            // 2.9 stores a password without a user, but does not write it into a URL.
            let password = pass.filter(|pass| !pass.is_empty()).map(<[u8]>::to_vec);
            return Ok(Self { password, ..Self::canonical(&url.without_credentials(), around) });
        };
        Ok(Self::canonical(&url.with_credentials(user, pass), around))
    }

    fn canonical(url: &CanonicalUrl, around: &LocalScope) -> Self {
        let written = SplitUrl {
            protocol: url.protocol().as_bytes(),
            user: None,
            password: None,
            host: SplitHost::Written(url.host_port().as_bytes()),
            path: url.path().as_bytes(),
            args: url.arguments().map(str::as_bytes),
        };
        Self::new(url, &written, around)
    }

    fn new(url: &CanonicalUrl, written: &SplitUrl<'_>, around: &LocalScope) -> Self {
        let is_handled = matches!(url.protocol(), "http" | "https" | "ftp" | "finger");
        let own_port = default_port(url.protocol().as_bytes()).filter(|_| is_handled);
        let local = &around.local_host;
        // A browser cannot follow a link with a protocol that it does not know.
        let link = if matches!(url.protocol(), "http" | "https" | "ftp") {
            url.as_str().to_owned()
        } else {
            let (name, port, protocol) = (local.name(), local.http_port(), url.protocol());
            let (host, path) = (url.host_port(), url.path_and_arguments());
            format!("http://{name}:{port}/{protocol}/{host}{path}")
        };
        Self {
            url: url.clone(),
            password: url.password().map(std::borrow::Cow::into_owned),
            location: OldName::of(url),
            link,
            is_localnet: local.has_name(url.host()) || around.local_net.matches(url.host()),
            is_handled,
            default_port: own_port.unwrap_or(0),
            written: OldWritten::new(url, written),
        }
    }

    /// The URL in canonical form, with credentials.
    #[must_use]
    pub fn file(&self) -> String {
        self.url.secret_pieces().concat()
    }
}

impl OldWritten {
    fn new(url: &CanonicalUrl, written: &SplitUrl<'_>) -> Self {
        let path = if written.path.is_empty() { b"/" } else { written.path };
        let question: &[u8] = if written.args.is_some() { b"?" } else { b"" };
        let path_and_arguments = [path, question, written.args.unwrap_or_default()].concat();
        let host = match written.host {
            SplitHost::Local => url.host_port().as_bytes(),
            SplitHost::Written(host) => host,
        };
        Self {
            name: [written.protocol, b"://", host, &path_and_arguments].concat(),
            path_and_arguments,
            path: path.to_vec(),
            arguments: written.args.map(<[u8]>::to_vec),
        }
    }
}
