//! [`CanonicalUrl`]: the canonical spelling of the URL of a resource.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::MAX_LEN;
use crate::coders::{ascii, url_decode_generic};
use crate::encode::{PASSWORD, push_encoded, take_escape};
use crate::error::{ParseError, UrlFault};
use crate::host::push_host_port;
use crate::key::Key;
use crate::localhost::LocalHost;
use crate::path::{Ampersands, push_path, recode_args};
use crate::plain::{self, OriginOffsets};
use crate::split::{SplitHost, SplitUrl, backslash, clean, cut_args, default_port, split};

/// The canonical form of a URL: equal for all spellings of a resource. It serves as a key and is
/// never sent to an origin.
///
/// Neither `Debug` nor `Display` shows user or password.
///
/// It is the canonical URL of WWWOFFLE's README.URL without the rules that join two resources:
///
/// - **Protocol**: in lower case; the default is `http`. A text that begins with `/` is a local
///   page. In any other text an empty host is an error, so no foreign page can name a local page.
/// - **Authority**: ends at the first `/`, `?`, `#` or `\`; user and password end at its last `@`.
///   They are decoded once, are part of the key, and are never shown.
/// - **Host and port**: as in the WHATWG standard. A malformed host is an error and is never
///   shortened. The protocol's default port is dropped.
/// - **Path**: an escape equals its byte, except `%2F` and `%00`, which stay. The escapes of `?`,
///   `#` and `%` stay too, because these bytes cannot stand there raw. A raw `\` is a `/` under
///   protocols that browsers know, so it is never `%5C`. Dot segments are removed as in RFC 3986
///   §5.2.4; `%2e` is a dot, `%2F` is not a slash.
/// - **Arguments**: an escape equals its byte, except for `& = ; + ?`, which are separators when
///   raw. A space is `+`. `&amp;` becomes `&`. Without arguments, the `?` is dropped.
/// - A `%` that begins no escape is `%25`. The fragment is ignored, and so are blanks and control
///   characters around the text, and tabs and line ends in it.
///
/// Only this list gives the same key to two texts that browsers send to different resources;
/// `tests/properties.rs` checks it against the WHATWG standard. RFC 3986 §2.2 also distinguishes an
/// escaped `! $ & ' ( ) * + , ; = : @` in a path from the raw one. README.URL gives both the same
/// key, and the keys of 2.9 depend on that.
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
/// let local = LocalHost::default();
/// let url = CanonicalUrl::parse("HTTP://me:secret@WWW.Example.org:80/a/../%7Eb?x=1&amp;y#f", &local)?;
/// assert_eq!(url.to_string(), "http://www.example.org/~b?x=1&y");
/// assert_eq!(url.password().as_deref(), Some(&b"secret"[..]));
/// assert_ne!(url.key(), url.without_credentials().key());
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl {
    /// ```text
    /// protocol "://" host [ ":" port ] path [ "?" arguments ]  [ user [ ":" password ] ]
    ///         |          |            |    |                  |
    ///         |          host_end     |    path_end           name_end
    ///         protocol_end            path_start
    /// ```
    /// ASCII throughout. The encoded credentials stand at the end, so that the name is one slice
    /// and no displayed slice contains them.
    text: String,
    protocol_end: usize,
    host_end: usize,
    path_start: usize,
    path_end: usize,
    name_end: usize,
    /// The port. `None` also for the protocol's default port.
    port: Option<u16>,
    local: bool,
}

/// The text between protocol and host.
const SCHEME_MARK: &str = "://";

/// Spare bytes for parts that may be added in the canonical form, such as a port or a path.
const ROOM: usize = 16;

impl CanonicalUrl {
    /// Parses a URL as README.URL and `docs/url.md` describe. `local` is the host of a URL that has
    /// only a path.
    ///
    /// # Errors
    ///
    /// Fails if host or port is malformed, if the host is missing and the text does not begin with
    /// `/`, if the protocol has no hosts (such as `mailto`), or if the text or its canonical form
    /// is longer than [`MAX_LEN`] bytes.
    pub fn parse(text: &str, local: &LocalHost) -> Result<Self, ParseError> {
        Self::read(text.as_bytes(), local, |end| text.get(..end))
    }

    /// Like [`parse`](Self::parse), for bytes from the network. Bytes outside ASCII are read as
    /// UTF-8 in the host. In all other parts they are unchanged bytes.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_bytes(text: &[u8], local: &LocalHost) -> Result<Self, ParseError> {
        Self::read(text, local, |end| std::str::from_utf8(text.get(..end)?).ok())
    }

    /// Copies the canonical beginning of the text, and parses the rest fully. `name(end)` is the
    /// text before `end` as UTF-8, or `None` if it is not UTF-8.
    fn read<'a>(
        text: &'a [u8],
        local: &LocalHost,
        name: impl Fn(usize) -> Option<&'a str>,
    ) -> Result<Self, ParseError> {
        if text.len() > MAX_LEN {
            return Err(UrlFault::TooLong { length: text.len(), limit: MAX_LEN }.into());
        }
        let simple = plain::is_simple(text);
        let Some(origin) = plain::origin(text, simple) else {
            return Self::from_clean(&clean(text)?, local);
        };
        if let Some((path_end, name_end)) = plain::path_and_args(text, origin.path_start, simple)
            && let Some(name) = name(name_end)
        {
            return Ok(Self::copy(name, origin, path_end, local));
        }
        // `clean` removes nothing before the path here, so the offsets stay valid.
        let text = clean(text)?;
        let (start, rest) = text.split_at_checked(origin.path_start).unwrap_or_default();
        let mut out = Vec::with_capacity(text.len() + ROOM);
        out.extend_from_slice(start);
        let (path, args) = cut_args(rest);
        Self::finish(out, origin, path, args, None, local)
    }

    /// Copies a text that is canonical, except that its path may be empty.
    fn copy(name: &str, origin: OriginOffsets, path_end: usize, local: &LocalHost) -> Self {
        let slash = if path_end == origin.path_start { "/" } else { "" };
        let mut text = String::with_capacity(name.len() + slash.len());
        text.push_str(name);
        text.push_str(slash);
        let name_end = text.len();
        Self::new(text, origin, path_end + slash.len(), name_end, local)
    }

    /// Parses a text that [`clean`] returned. Calling `clean` again could remove a blank at its
    /// end.
    pub(crate) fn from_clean(text: &[u8], local: &LocalHost) -> Result<Self, ParseError> {
        Self::from_parts(&split(text)?, local)
    }

    pub(crate) fn from_parts(parts: &SplitUrl<'_>, local: &LocalHost) -> Result<Self, ParseError> {
        let mut out = Vec::with_capacity(parts.len() + ROOM);
        out.extend_from_slice(parts.protocol);
        out.make_ascii_lowercase();
        let protocol_end = out.len();
        out.extend_from_slice(SCHEME_MARK.as_bytes());
        let (host_end, port) = match parts.host {
            SplitHost::Local => local.push_host_port(&mut out),
            SplitHost::Written(host) => {
                push_host_port(&mut out, host, default_port(parts.protocol))?
            }
        };
        let origin = OriginOffsets { protocol_end, host_end, path_start: out.len(), port };
        let credentials = parts.user.map(|user| (user, parts.password));
        Self::finish(out, origin, parts.path, parts.args, credentials, local)
    }

    /// Writes path, arguments and credentials.
    fn finish(
        mut out: Vec<u8>,
        origin: OriginOffsets,
        path: &[u8],
        args: Option<&[u8]>,
        credentials: Option<(&[u8], Option<&[u8]>)>,
        local: &LocalHost,
    ) -> Result<Self, ParseError> {
        let reading = backslash(out.get(..origin.protocol_end).unwrap_or_default());
        push_path(&mut out, path, reading);
        let path_end = out.len();
        if let Some(args) = args.filter(|args| !args.is_empty()) {
            out.push(b'?');
            recode_args(&mut out, args, Ampersands::Repaired);
        }
        let name_end = out.len();
        if let Some((user, password)) = credentials {
            push_credentials(&mut out, user, password, push_recoded);
        }
        if out.len() > MAX_LEN {
            return Err(UrlFault::TooLong { length: out.len(), limit: MAX_LEN }.into());
        }
        Ok(Self::new(ascii(out), origin, path_end, name_end, local))
    }

    fn new(
        text: String,
        origin: OriginOffsets,
        path_end: usize,
        name_end: usize,
        local: &LocalHost,
    ) -> Self {
        let OriginOffsets { protocol_end, host_end, path_start, port } = origin;
        let mut url = Self {
            text,
            protocol_end,
            host_end,
            path_start,
            path_end,
            name_end,
            port,
            local: false,
        };
        url.local = local.is(url.host(), url.protocol(), port);
        debug_assert!(url.check_invariants(), "{url}");
        url
    }

    /// The protocol, in lower case.
    #[must_use]
    pub fn protocol(&self) -> &str {
        self.slice(0, self.protocol_end)
    }

    /// The host without its port; an IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.slice(self.protocol_end + SCHEME_MARK.len(), self.host_end)
    }

    /// The host, and the port unless it is the protocol's default.
    #[must_use]
    pub fn host_port(&self) -> &str {
        self.slice(self.protocol_end + SCHEME_MARK.len(), self.path_start)
    }

    /// The port, unless it is the protocol's default.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The port to connect to; `None` for a protocol that this crate does not know.
    #[must_use]
    pub fn port_or_default(&self) -> Option<u16> {
        self.port.or_else(|| default_port(self.protocol().as_bytes()))
    }

    /// The path, which begins with `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.slice(self.path_start, self.path_end)
    }

    /// The arguments without their `?`; never empty. `None` without arguments.
    #[must_use]
    pub fn arguments(&self) -> Option<&str> {
        (self.path_end < self.name_end).then(|| self.slice(self.path_end + 1, self.name_end))
    }

    /// Path and arguments: everything after host and port.
    #[must_use]
    pub fn path_and_arguments(&self) -> &str {
        self.slice(self.path_start, self.name_end)
    }

    /// The user, decoded. `None` without credentials.
    #[must_use]
    pub fn user(&self) -> Option<Cow<'_, [u8]>> {
        let (user, _) = self.credentials()?;
        Some(decoded(user))
    }

    /// The password, decoded. An empty password is `None`.
    #[must_use]
    pub fn password(&self) -> Option<Cow<'_, [u8]>> {
        let (_, password) = self.credentials()?;
        password.map(decoded)
    }

    /// The canonical URL. It never contains credentials.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.slice(0, self.name_end)
    }

    /// Whether this is a local page: host and port are those of the [`LocalHost`] with which the
    /// URL was parsed, under any protocol.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// The key of the entry: SHA-256 of the URL, including its credentials.
    #[must_use]
    pub fn key(&self) -> Key {
        if self.name_end == self.text.len() {
            return Key::of(self.text.as_bytes());
        }
        Key::from_bytes(self.hash_secret().finalize().into())
    }

    /// The key of an entry of this URL, if `variant` distinguishes several entries: SHA-256 of the
    /// URL with its credentials, a line feed, and `variant`.
    #[must_use]
    pub fn variant_key(&self, variant: &str) -> Key {
        let mut hash = self.hash_secret();
        hash.update(b"\n");
        hash.update(variant.as_bytes());
        Key::from_bytes(hash.finalize().into())
    }

    fn hash_secret(&self) -> Sha256 {
        let mut hash = Sha256::new();
        for piece in self.secret_pieces() {
            hash.update(piece.as_bytes());
        }
        hash
    }

    /// The URL with its credentials, in pieces. Never display it.
    pub(crate) fn secret_pieces(&self) -> [&str; 4] {
        let (start, rest) =
            self.as_str().split_at_checked(self.protocol_end + 3).unwrap_or_default();
        let credentials = self.slice(self.name_end, self.text.len());
        [start, credentials, if credentials.is_empty() { "" } else { "@" }, rest]
    }

    /// Replaces the credentials. `user` and `password` are given without encoding. The credentials
    /// of Basic authorization are part of the key. An empty password counts as missing. Without
    /// user and password there are no credentials.
    #[must_use]
    pub fn with_credentials(&self, user: &[u8], password: Option<&[u8]>) -> Self {
        let password = password.filter(|password| !password.is_empty());
        let mut out = self.as_str().as_bytes().to_vec();
        if !user.is_empty() || password.is_some() {
            push_credentials(&mut out, user, password, |out, text| {
                push_encoded(out, text, PASSWORD);
            });
        }
        Self { text: ascii(out), ..self.clone() }
    }

    /// Removes the credentials.
    #[must_use]
    pub fn without_credentials(&self) -> Self {
        Self { text: self.as_str().to_owned(), ..self.clone() }
    }

    /// The URL under which the response to a POST is stored. `body_sha256` is the digest of the
    /// POST's body. As in 2.9, the URL ends in `?!POST:<hex>`, or in `?!<arguments>!POST:<hex>` if
    /// there are arguments.
    #[must_use]
    pub fn with_post(&self, body_sha256: &[u8; 32]) -> Self {
        self.with_form("POST", body_sha256)
    }

    /// Like [`with_post`](Self::with_post), for a form with the method POST, PUT, PATCH or
    /// DELETE.
    #[must_use]
    pub fn with_form(&self, method: &str, body_sha256: &[u8; 32]) -> Self {
        let mut text = self.slice(0, self.path_end).to_owned();
        text.push_str("?!");
        if let Some(arguments) = self.arguments() {
            text.push_str(arguments);
            text.push('!');
        }
        text.push_str(method);
        text.push(':');
        text.push_str(&hex::encode(body_sha256));
        let name_end = text.len();
        text.push_str(self.slice(self.name_end, self.text.len()));
        Self { text, name_end, ..self.clone() }
    }

    /// Whether this URL names the stored response to a form, as [`with_post`](Self::with_post) and
    /// WWWOFFLE 2.9 write it. No origin knows such a URL.
    #[must_use]
    pub fn is_form_answer(&self) -> bool {
        self.form_target().is_some()
    }

    /// The URL to which the form was sent whose stored response this URL names. `None` if this URL
    /// names no such response.
    #[must_use]
    pub fn form_target(&self) -> Option<String> {
        let arguments = self.arguments()?.strip_prefix('!')?;
        let (before, end) = match arguments.rsplit_once('!') {
            Some((before, end)) => (Some(before), end),
            None => (None, arguments),
        };
        let methods = ["POST:", "PUT:", "PATCH:", "DELETE:"];
        let is_form = methods.iter().any(|method| end.starts_with(method));
        let before = before.map_or_else(String::new, |before| format!("?{before}"));
        is_form.then(|| self.slice(0, self.path_end).to_owned() + &before)
    }

    fn credentials(&self) -> Option<(&str, Option<&str>)> {
        let text = self.slice(self.name_end, self.text.len());
        if text.is_empty() {
            return None;
        }
        Some(text.split_once(':').map_or((text, None), |(user, pass)| (user, Some(pass))))
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Whether the invariants of text and offsets hold.
    fn check_invariants(&self) -> bool {
        let arguments = self.slice(self.path_end, self.name_end);
        self.text.is_ascii()
            && !self.protocol().is_empty()
            && self.slice(self.protocol_end, self.protocol_end + 3) == SCHEME_MARK
            && !self.host().is_empty()
            && self.path().starts_with('/')
            && self.path_end <= self.name_end
            && (arguments.is_empty() || (arguments.len() > 1 && arguments.starts_with('?')))
            && !self.as_str().bytes().any(|byte| byte <= b' ' || byte == b'#' || byte == 0x7f)
            && !self.slice(self.name_end, self.text.len()).contains(['@', '/', ' '])
    }
}

/// Writes the canonical URL, never with credentials.
impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Like `Display`, with the type's name.
impl fmt::Debug for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CanonicalUrl").field(&self.as_str()).finish()
    }
}

fn push_credentials(
    out: &mut Vec<u8>,
    user: &[u8],
    password: Option<&[u8]>,
    push: impl Fn(&mut Vec<u8>, &[u8]),
) {
    push(out, user);
    if let Some(password) = password {
        out.push(b':');
        push(out, password);
    }
}

/// Decodes once, then encodes all bytes outside the password set.
fn push_recoded(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let (byte, after) = take_escape(rest).unwrap_or((*byte, after));
        push_encoded(out, &[byte], PASSWORD);
        rest = after;
    }
}

fn decoded(text: &str) -> Cow<'_, [u8]> {
    if text.contains('%') {
        Cow::Owned(url_decode_generic(text.as_bytes()))
    } else {
        Cow::Borrowed(text.as_bytes())
    }
}
