//! The URL-SPECIFICATION: a pattern for URLs, with the syntax of WWWOFFLE 2.9.

use crate::pattern::{parts::UrlParts, wildcard::Wildcard};
use std::{fmt, str::FromStr};
use wwwoffle_url::{CanonicalUrl, LocalHost, canonicalise_host, matches_wildcard};

/// The longest URL-SPECIFICATION, in bytes.
const MAX_LENGTH: usize = 64 << 10;

/// A pattern for URLs.
///
/// ```text
/// [!][~]PROTOCOL://HOST[:PORT][/PATH][?ARGUMENTS]
/// ```
///
/// | part | matches |
/// |---|---|
/// | `!` | negates: in a list, URLs that this pattern matches are excluded |
/// | `~` | the case of path and arguments is ignored |
/// | `PROTOCOL` | this protocol; `*` is any |
/// | `HOST` | the host; a `*` in it stands for any text |
/// | `PORT` | `:8080` is this port, `:` alone the protocol's default; without a colon, any port |
/// | `PATH` | the path; a `*` stands for any text, `/` included; without a path, or with `/*`, any path |
/// | `ARGUMENTS` | `?` alone: no arguments; `?x=*`: matching arguments; without a `?`, any or none |
///
/// A path that begins with `/*/` also matches without the text of its star: `/*/ads/*` matches both
/// `/ads/x` and `/a/ads/x`.
///
/// Unlike in 2.9, everything after the host may be omitted: `http://www.example.org:81` matches
/// every page at this host and port. 2.9 reads this text as one long host name, which never
/// matches.
///
/// # Examples
///
/// ```
/// use wwwoffle_config::UrlSpec;
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
///
/// let spec: UrlSpec = "*://*.example.org/*.gif".parse()?;
/// let matches = |url| Ok::<_, wwwoffle_url::ParseError>(
///     spec.matches(&CanonicalUrl::parse(url, &LocalHost::default())?)
/// );
/// assert!(matches("http://www.example.org/a/b.gif")?);
/// assert!(!matches("http://www.example.org/a/b.png")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlSpec {
    negated: bool,
    ignore_case: bool,
    /// `None` matches any protocol.
    protocol: Option<Box<str>>,
    host: Wildcard,
    port: PortSpec,
    /// `None` matches any path.
    path: Option<Pattern>,
    arguments: ArgumentsSpec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PortSpec {
    Any,
    Default,
    Exactly(u16),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ArgumentsSpec {
    Any,
    Absent,
    Like(Pattern),
}

/// A pattern for path or arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pattern {
    written: Wildcard,
    /// The same pattern in lower case, if case is ignored.
    folded: Option<Wildcard>,
}

/// The reason why a text is not a URL-SPECIFICATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSpecError {
    /// There is no `://` between protocol and host.
    #[error("it has no \"://\"; for all pages of a host write \"*://HOST/*\"")]
    NoProtocol,
    /// The protocol is neither `*` nor a valid URI scheme.
    #[error(
        "its protocol is neither \"*\" nor a letter followed by letters, digits, \"+\", \"-\" and \".\""
    )]
    Protocol,
    /// The text between `://` and the path is empty.
    #[error("it has no host; for any host write \"*\"")]
    NoHost,
    /// The host contains a forbidden byte.
    #[error(
        "its host is invalid; with characters beyond ASCII it may have \"*.\" in front and no other \"*\""
    )]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// The text contains an `@` before the host. User and password cannot be matched.
    #[error("it has an \"@\" before the host, but users cannot be matched")]
    User,
    /// The text contains a space or a control character. A URL contains neither.
    #[error("it has a space or a control character; write a space as \"%20\"")]
    Space,
    /// The text contains a `#`. A fragment is never sent to a server.
    #[error("it has a \"#\", but a fragment is not part of a request")]
    Fragment,
    /// The text is longer than any URL that a person would write.
    #[error("it is longer than {MAX_LENGTH} bytes")]
    Length,
}

impl UrlSpec {
    /// Parses a URL-SPECIFICATION.
    ///
    /// # Errors
    ///
    /// The [`ParseSpecError`] that states the reason.
    pub fn parse(text: &str) -> Result<Self, ParseSpecError> {
        if text.len() > MAX_LENGTH {
            return Err(ParseSpecError::Length);
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(ParseSpecError::Space);
        }
        if text.contains('#') {
            return Err(ParseSpecError::Fragment);
        }
        let (negated, text) = strip(text, '!');
        let (ignore_case, text) = strip(text, '~');
        let (protocol, rest) = text.split_once("://").ok_or(ParseSpecError::NoProtocol)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (host, port) = split_port(authority)?;
        let (path, arguments) = match rest.split_once('?') {
            Some((path, arguments)) => (path, Some(arguments)),
            None => (rest, None),
        };
        let (path, arguments) = canonical(path, arguments)?;
        let pattern = |text: &str| Pattern::new(text, ignore_case);
        Ok(Self {
            negated,
            ignore_case,
            protocol: parse_protocol(protocol)?,
            host: parse_host(host)?,
            port,
            path: path.filter(|path| path != "/*").map(|path| pattern(&path)),
            arguments: match arguments.as_deref() {
                None => ArgumentsSpec::Any,
                Some("") => ArgumentsSpec::Absent,
                Some(arguments) => ArgumentsSpec::Like(pattern(arguments)),
            },
        })
    }

    /// Whether the pattern, without its `!`, matches `url`.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        self.matches_parts(&UrlParts::of(url))
    }

    /// Whether the pattern begins with `!`. In a list, such a pattern excludes the URLs that it
    /// matches.
    #[must_use]
    pub fn negated(&self) -> bool {
        self.negated
    }

    pub(crate) fn host_pattern(&self) -> &str {
        self.host.as_str()
    }

    /// Texts that every matching URL contains in path or arguments, in upper or lower case.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        // Even if the star of a leading `/*/` matches nothing, all pieces are still required.
        let path = self.path.iter();
        let arguments = match &self.arguments {
            ArgumentsSpec::Like(pattern) => Some(pattern),
            ArgumentsSpec::Any | ArgumentsSpec::Absent => None,
        };
        path.chain(arguments).flat_map(|pattern| pattern.written.as_str().split('*'))
    }

    /// Like [`matches`](Self::matches), for a URL that is already split.
    #[must_use]
    pub fn matches_parts(&self, url: &UrlParts<'_>) -> bool {
        self.protocol.as_deref().is_none_or(|protocol| protocol == url.protocol)
            && self.port_matches(url)
            && self.host.matches(url.host)
            && self.path.as_ref().is_none_or(|path| path.matches_path(url))
            && self.arguments_match(url)
    }

    fn port_matches(&self, url: &UrlParts<'_>) -> bool {
        match self.port {
            PortSpec::Any => true,
            PortSpec::Default => url.explicit_port.is_none(),
            PortSpec::Exactly(port) => url.port == Some(port),
        }
    }

    fn arguments_match(&self, url: &UrlParts<'_>) -> bool {
        match &self.arguments {
            ArgumentsSpec::Any => true,
            ArgumentsSpec::Absent => url.arguments.is_none(),
            ArgumentsSpec::Like(pattern) => pattern.matches_arguments(url),
        }
    }
}

impl FromStr for UrlSpec {
    type Err = ParseSpecError;

    fn from_str(text: &str) -> Result<Self, ParseSpecError> {
        Self::parse(text)
    }
}

/// Writes the specification so that it parses to the same pattern.
impl fmt::Display for UrlSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let negated = if self.negated { "!" } else { "" };
        let ignore_case = if self.ignore_case { "~" } else { "" };
        let protocol = self.protocol.as_deref().unwrap_or("*");
        write!(f, "{negated}{ignore_case}{protocol}://{}", self.host)?;
        match self.port {
            PortSpec::Any => {}
            PortSpec::Default => write!(f, ":")?,
            PortSpec::Exactly(port) => write!(f, ":{port}")?,
        }
        write!(f, "{}", self.path.as_ref().map_or("/*", |path| path.written.as_str()))?;
        match &self.arguments {
            ArgumentsSpec::Any => Ok(()),
            ArgumentsSpec::Absent => write!(f, "?"),
            ArgumentsSpec::Like(pattern) => write!(f, "?{}", pattern.written),
        }
    }
}

impl Pattern {
    fn new(text: &str, ignore_case: bool) -> Self {
        let folded = ignore_case.then(|| Wildcard::new(&text.to_ascii_lowercase()));
        Self { written: Wildcard::new(text), folded }
    }

    fn matches_path(&self, url: &UrlParts<'_>) -> bool {
        let (pattern, path) = match &self.folded {
            Some(folded) => (folded, url.folded().0),
            None => (&self.written, url.path),
        };
        let rest = pattern.as_str().strip_prefix("/*").filter(|rest| rest.starts_with('/'));
        pattern.matches(path) || rest.is_some_and(|rest| matches_wildcard(rest, path))
    }

    fn matches_arguments(&self, url: &UrlParts<'_>) -> bool {
        let (pattern, arguments) = match &self.folded {
            Some(folded) => (folded, url.folded().1),
            None => (&self.written, url.arguments),
        };
        arguments.is_some_and(|arguments| pattern.matches(arguments))
    }
}

/// Converts path and arguments to the spelling of canonical URLs, so that `/caf%c3%a9/*` and
/// `/café/*` match the same URLs. Stars stay.
fn canonical(
    path: &str,
    arguments: Option<&str>,
) -> Result<(Option<String>, Option<String>), ParseSpecError> {
    let text = format!("http://h{path}?{}", arguments.unwrap_or_default());
    let url = CanonicalUrl::parse(&text, &LocalHost::default());
    let url = url.map_err(|_| ParseSpecError::Length)?;
    let path = (!path.is_empty()).then(|| url.path().to_owned());
    Ok((path, arguments.map(|_| url.arguments().unwrap_or_default().to_owned())))
}

fn strip(text: &str, sign: char) -> (bool, &str) {
    text.strip_prefix(sign).map_or((false, text), |rest| (true, rest))
}

fn parse_protocol(text: &str) -> Result<Option<Box<str>>, ParseSpecError> {
    if text == "*" {
        return Ok(None);
    }
    // The syntax of a scheme (RFC 3986 §3.1).
    let mut bytes = text.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !begins || !bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
        return Err(ParseSpecError::Protocol);
    }
    Ok(Some(text.to_ascii_lowercase().into()))
}

fn split_port(authority: &str) -> Result<(&str, PortSpec), ParseSpecError> {
    if authority.contains('@') {
        return Err(ParseSpecError::User);
    }
    let (host, port) = match authority.rsplit_once(':') {
        // A colon inside brackets is part of an IPv6 address.
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => return Ok((authority, PortSpec::Any)),
    };
    if port.is_empty() {
        return Ok((host, PortSpec::Default));
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse().ok().filter(|number| digits && *number != 0);
    number.map(|number| (host, PortSpec::Exactly(number))).ok_or(ParseSpecError::Port)
}

pub(crate) fn parse_host(text: &str) -> Result<Wildcard, ParseSpecError> {
    if text.is_empty() {
        return Err(ParseSpecError::NoHost);
    }
    let canonical =
        |host: &str| canonicalise_host(host.as_bytes()).map_err(|_| ParseSpecError::Host);
    if !text.contains('*') {
        return Ok(Wildcard::new(&canonical(text)?));
    }
    if let Some(name) = text.strip_prefix("*.").filter(|name| !name.is_ascii()) {
        return Ok(Wildcard::new(&format!("*.{}", canonical(name)?)));
    }
    let of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*[]:".contains(&byte);
    if !text.bytes().all(of_host) {
        return Err(ParseSpecError::Host);
    }
    Ok(Wildcard::new(&text.to_ascii_lowercase()))
}
