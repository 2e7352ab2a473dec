//! The states of the WHATWG *basic URL parser* up to the path. Each function handles one state, or
//! several successive states.
//!
//! The standard moves a pointer over code points. Here each function gets the rest of the text and
//! passes on the part that it has not read. Query and fragment are split off first, because no
//! state before *query state* reads beyond a `?` or `#`.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::host::{ParsedHost, parse_host};
use super::path::{self, Path};
use super::{BrowserError, BrowserUrl, default_port};

use crate::reference::{is_scheme, split_optional};

/// The standard's *URL record*, filled in by the states. Its strings are already percent-encoded.
struct UrlRecord<'a> {
    scheme: Cow<'a, str>,
    authority: Option<RecordAuthority>,
    path: Path,
    opaque: bool,
    /// The query of the base, if the reference inherits it. A query in the reference takes
    /// precedence.
    base_query: Option<&'a str>,
}

#[derive(Default)]
struct RecordAuthority {
    username: String,
    password: String,
    host: String,
    port: Option<u16>,
}

/// The reference, split at all positions that do not depend on a state.
struct ReferenceInput<'a> {
    before: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

pub(super) fn parse(text: &str, base: Option<&BrowserUrl>) -> Result<BrowserUrl, BrowserError> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let text = without_breaks(text);
    let (rest, fragment) = split_optional(&text, '#');
    let (before, query) = split_optional(rest, '?');
    let input = ReferenceInput { before, query, fragment };
    let parts = match before.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => with_scheme(scheme, rest, base, &input)?,
        _ => without_scheme(base, &input)?,
    };
    Ok(serialize(parts, &input))
}

/// Removes all tabs and line breaks.
fn without_breaks(text: &str) -> Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) {
        Cow::Owned(text.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// *Scheme state* and the states that follow it.
fn with_scheme<'a>(
    scheme: &str,
    rest: &str,
    base: Option<&'a BrowserUrl>,
    input: &ReferenceInput<'_>,
) -> Result<UrlRecord<'a>, BrowserError> {
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        return file(rest, base.filter(|base| base.scheme() == "file"), input);
    }
    if default_port(&scheme).is_some() {
        // *Special relative or authority state*.
        return match base.filter(|base| base.scheme() == scheme) {
            Some(base) if !rest.starts_with("//") => relative(rest, base, input),
            _ => authority(scheme.into(), rest.trim_start_matches(['/', '\\'])),
        };
    }
    if let Some(rest) = rest.strip_prefix("//") {
        return authority(scheme.into(), rest);
    }
    let opaque = !rest.starts_with('/');
    let mut parts = UrlRecord::of(scheme.into());
    parts.opaque = opaque;
    if opaque {
        let is_last = input.query.is_none() && input.fragment.is_none();
        parts.path.text = path::opaque(rest, is_last);
    } else {
        parts.path_start(rest);
    }
    Ok(parts)
}

/// *No scheme state*.
fn without_scheme<'a>(
    base: Option<&'a BrowserUrl>,
    input: &ReferenceInput<'_>,
) -> Result<UrlRecord<'a>, BrowserError> {
    let base = base.ok_or(BrowserError::RelativeWithoutBase)?;
    if base.opaque {
        let only_fragment = input.before.is_empty() && input.query.is_none();
        if !only_fragment || input.fragment.is_none() {
            return Err(BrowserError::OpaqueBase);
        }
        let mut parts = UrlRecord::of(base.scheme().into());
        parts.opaque = true;
        base.path().clone_into(&mut parts.path.text);
        parts.base_query = base.query();
        return Ok(parts);
    }
    if base.scheme() == "file" {
        return file(input.before, Some(base), input);
    }
    relative(input.before, base, input)
}

/// *Relative state* and *relative slash state*.
fn relative<'a>(
    rest: &str,
    base: &'a BrowserUrl,
    input: &ReferenceInput<'_>,
) -> Result<UrlRecord<'a>, BrowserError> {
    let mut parts = UrlRecord::of(base.scheme().into());
    let special = parts.is_special();
    let is_slash = |c: char| c == '/' || (special && c == '\\');
    let Some(after) = rest.strip_prefix(is_slash) else {
        parts.authority = RecordAuthority::of(base);
        parts.inherit_path(rest, base, input);
        return Ok(parts);
    };
    match after.strip_prefix(is_slash) {
        Some(after) if special => {
            authority(base.scheme().into(), after.trim_start_matches(['/', '\\']))
        }
        Some(after) => authority(base.scheme().into(), after),
        None => {
            parts.authority = RecordAuthority::of(base);
            parts.path.append(after, special);
            Ok(parts)
        }
    }
}

/// *Authority state*, *host state* and *port state*.
fn authority<'a>(scheme: Cow<'a, str>, rest: &str) -> Result<UrlRecord<'a>, BrowserError> {
    let mut parts = UrlRecord::of(scheme);
    let special = parts.is_special();
    let end = rest.find(|c: char| c == '/' || (special && c == '\\')).unwrap_or(rest.len());
    let (text, path) = rest.split_at(end);
    let mut authority = RecordAuthority::default();
    let host_port = match text.rsplit_once('@') {
        Some((_, "")) => return Err(BrowserError::HostMissing),
        Some((credentials, host_port)) => {
            let (username, password) = split_optional(credentials, ':');
            authority.username = encode(username, path::USERINFO);
            authority.password = encode(password.unwrap_or_default(), path::USERINFO);
            host_port
        }
        None => text,
    };
    let (host, port) = split_port(host_port);
    if host.is_empty() && (special || port.is_some()) {
        return Err(BrowserError::HostMissing);
    }
    authority.host = parse_host(host, special)?.to_string();
    if let Some(port) = port {
        let port = parse_port(port)?;
        authority.port = port.filter(|&port| default_port(&parts.scheme) != Some(port));
    }
    parts.authority = Some(authority);
    parts.path_start(path);
    Ok(parts)
}

/// Splits at the first colon outside brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            ':' if !inside => {
                let (host, port) = text.split_at(at);
                return (host, port.strip_prefix(':'));
            }
            _ => {}
        }
    }
    (text, None)
}

/// Parses a port. An empty text means no port.
fn parse_port(text: &str) -> Result<Option<u16>, BrowserError> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(BrowserError::PortInvalid);
    }
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| BrowserError::PortOutOfRange)
}

/// *File state* and *file slash state*; `base` is `Some` only if it is a `file` URL.
fn file<'a>(
    rest: &str,
    base: Option<&'a BrowserUrl>,
    input: &ReferenceInput<'_>,
) -> Result<UrlRecord<'a>, BrowserError> {
    let mut parts = UrlRecord::of("file".into());
    parts.authority = Some(RecordAuthority::default());
    if let Some(after) = rest.strip_prefix(['/', '\\']) {
        if let Some(after) = after.strip_prefix(['/', '\\']) {
            return file_host(after, parts);
        }
        if let Some(base) = base {
            parts.authority = RecordAuthority::of(base);
            if let Some(drive) =
                Path::drive(base.path()).filter(|_| !path::starts_with_drive_letter(after))
            {
                parts.path.text = format!("/{drive}");
            }
        }
        parts.path.append(after, true);
        return Ok(parts);
    }
    match base {
        Some(base) => {
            parts.authority = RecordAuthority::of(base);
            if path::starts_with_drive_letter(rest) {
                parts.path.append(rest, true);
            } else {
                parts.inherit_path(rest, base, input);
            }
        }
        None => parts.path.append(rest, true),
    }
    Ok(parts)
}

/// *File host state*.
fn file_host<'a>(rest: &str, mut parts: UrlRecord<'a>) -> Result<UrlRecord<'a>, BrowserError> {
    let (text, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    if path::is_drive_letter(text) {
        parts.path.append(rest, true);
        return Ok(parts);
    }
    if !text.is_empty() {
        let host = parse_host(text, true)?;
        if host != ParsedHost::Domain("localhost".to_owned()) {
            parts.authority =
                Some(RecordAuthority { host: host.to_string(), ..RecordAuthority::default() });
        }
    }
    parts.path_start(path);
    Ok(parts)
}

impl<'a> UrlRecord<'a> {
    fn of(scheme: Cow<'a, str>) -> Self {
        let path = Path { text: String::new(), file: scheme == "file" };
        Self { scheme, authority: None, path, opaque: false, base_query: None }
    }

    fn is_special(&self) -> bool {
        self.path.file || default_port(&self.scheme).is_some()
    }

    /// *Path start state*: the slash before the first segment is not part of the segment. If there
    /// is no path, only a special URL gets one.
    fn path_start(&mut self, rest: &str) {
        let special = self.is_special();
        match rest.strip_prefix(|c: char| c == '/' || (special && c == '\\')) {
            Some(rest) => self.path.append(rest, special),
            None if special || !rest.is_empty() => self.path.append(rest, special),
            None => {}
        }
    }

    /// Uses the base's path with its last segment replaced by `rest`. If `rest` is empty, uses the
    /// whole path of the base, and its query if the reference has none.
    fn inherit_path(&mut self, rest: &str, base: &'a BrowserUrl, input: &ReferenceInput<'_>) {
        base.path().clone_into(&mut self.path.text);
        if !rest.is_empty() {
            self.path.shorten();
            let special = self.is_special();
            self.path.append(rest, special);
        } else if input.query.is_none() {
            self.base_query = base.query();
        }
    }
}

impl RecordAuthority {
    fn of(base: &BrowserUrl) -> Option<Self> {
        Some(Self {
            username: base.username().to_owned(),
            password: base.password().unwrap_or_default().to_owned(),
            host: base.host()?.to_owned(),
            port: base.port(),
        })
    }
}

fn encode(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

/// *URL serializer*. It also encodes query and fragment, which is all that *query state* and
/// *fragment state* would do.
fn serialize(parts: UrlRecord<'_>, input: &ReferenceInput<'_>) -> BrowserUrl {
    let special = parts.is_special();
    let UrlRecord { scheme, authority, path, opaque, base_query } = parts;
    let mut text = format!("{scheme}:");
    let (mut username, mut host_start, mut host_end, mut port) = (0, None, 0, None);
    if let Some(authority) = authority {
        text.push_str("//");
        text.push_str(&authority.username);
        username = text.len();
        if !authority.password.is_empty() {
            text.push(':');
            text.push_str(&authority.password);
        }
        if !authority.username.is_empty() || !authority.password.is_empty() {
            text.push('@');
        }
        host_start = Some(text.len());
        text.push_str(&authority.host);
        host_end = text.len();
        port = authority.port;
        if let Some(port) = port {
            write!(text, ":{port}").expect("writing to a String succeeds");
        }
    } else if !opaque && path.text.starts_with("//") {
        // Without the prefix, the path would be read as an authority.
        text.push_str("/.");
    }
    let path_start = text.len();
    text.push_str(&path.text);
    let mut query = None;
    if input.query.is_some() || base_query.is_some() {
        query = Some(text.len());
        text.push('?');
    }
    match input.query {
        Some(own) if special => text.extend(utf8_percent_encode(own, path::SPECIAL_QUERY)),
        Some(own) => text.extend(utf8_percent_encode(own, path::QUERY)),
        None => text.push_str(base_query.unwrap_or_default()),
    }
    let fragment = input.fragment.map(|fragment| {
        let start = text.len();
        text.push('#');
        text.extend(utf8_percent_encode(fragment, path::FRAGMENT));
        start
    });
    BrowserUrl {
        scheme: scheme.len(),
        username,
        host_start,
        host_end,
        port,
        path: path_start,
        query,
        fragment,
        opaque,
        text,
    }
}
