//! Splitting of a text into protocol, user information, host, path and arguments.

use std::borrow::Cow;

use crate::MAX_LEN;
use crate::encode::{AUTHORITY_END, PROTOCOL, is, split_run};
use crate::error::{ParseError, UrlFault};
use crate::path::Backslash;

/// The default protocol.
pub(crate) const HTTP: &[u8] = b"http";

/// The parts of a URL as written, without their delimiters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitUrl<'a> {
    /// The protocol, in its original letter case.
    pub(crate) protocol: &'a [u8],
    pub(crate) user: Option<&'a [u8]>,
    pub(crate) password: Option<&'a [u8]>,
    pub(crate) host: SplitHost<'a>,
    /// The path. It may be empty, or begin with `\`.
    pub(crate) path: &'a [u8],
    /// The arguments; `None` without a `?`. They are empty if the text ends in a `?`, which the
    /// canonical form drops.
    pub(crate) args: Option<&'a [u8]>,
}

impl SplitUrl<'_> {
    /// The length of all parts, in bytes.
    pub(crate) fn len(&self) -> usize {
        let host = match self.host {
            SplitHost::Local => 0,
            SplitHost::Written(host) => host.len(),
        };
        let optional = [self.user, self.password, self.args];
        let optional = optional.map(|part| part.map_or(0, <[u8]>::len));
        self.protocol.len() + host + self.path.len() + optional.iter().sum::<usize>()
    }
}

/// The host that a URL names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SplitHost<'a> {
    /// This proxy: the text began with `/`.
    Local,
    /// A host as written, with its port if there is one.
    Written(&'a [u8]),
}

/// Removes the parts that every URL parser ignores: blanks and control characters at both ends,
/// tabs and line ends anywhere (as in the WHATWG standard), and the fragment.
pub(crate) fn clean(text: &[u8]) -> Result<Cow<'_, [u8]>, ParseError> {
    if text.len() > MAX_LEN {
        return Err(UrlFault::TooLong { length: text.len(), limit: MAX_LEN }.into());
    }
    // Without an early exit the loop compiles to vector instructions.
    let odd = text.iter().map(|&byte| u8::from(byte <= b' ' || byte == b'#'));
    if odd.fold(0, |any, odd| any | odd) == 0 {
        return Ok(Cow::Borrowed(text));
    }
    let start = text.iter().position(|&byte| byte > b' ').unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| byte > b' ').map_or(start, |last| last + 1);
    let text = text.get(start..end).unwrap_or_default();
    // Blanks before a fragment are not at the end of the text, so they are not removed.
    let text = text.split(|&byte| byte == b'#').next().unwrap_or_default();
    let ignored = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r');
    if text.iter().any(ignored) {
        return Ok(text.iter().copied().filter(|byte| !ignored(byte)).collect());
    }
    Ok(Cow::Borrowed(text))
}

/// Splits a text that [`clean`] returned.
pub(crate) fn split(text: &[u8]) -> Result<SplitUrl<'_>, ParseError> {
    if text.starts_with(b"/") {
        let (path, args) = cut_args(text);
        let host = SplitHost::Local;
        return Ok(SplitUrl { protocol: HTTP, user: None, password: None, host, path, args });
    }
    let (protocol, rest) = cut_protocol(text)?;
    let mut at = None;
    let mut end = rest.len();
    for (position, &byte) in rest.iter().enumerate() {
        if byte == b'@' {
            at = Some(position);
        } else if is(byte, AUTHORITY_END) {
            end = position;
            break;
        }
    }
    let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, &[]));
    let (user, password, host) = match at.and_then(|at| authority.split_at_checked(at)) {
        Some((userinfo, host)) => {
            let (user, password) = cut_userinfo(userinfo);
            (user, password, host.get(1..).unwrap_or_default())
        }
        None => (None, None, authority),
    };
    let (path, args) = cut_args(rest);
    Ok(SplitUrl { protocol, user, password, host: SplitHost::Written(host), path, args })
}

/// Splits user and password. An empty password counts as missing. An empty user without a password
/// counts as missing too.
fn cut_userinfo(userinfo: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let mut pieces = userinfo.splitn(2, |&byte| byte == b':');
    let user = pieces.next().unwrap_or_default();
    let password = pieces.next().filter(|password| !password.is_empty());
    ((!user.is_empty() || password.is_some()).then_some(user), password)
}

/// Splits off the arguments, which begin at the first `?`.
pub(crate) fn cut_args(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = rest.iter().position(|&byte| byte == b'?').unwrap_or(rest.len());
    let (path, rest) = rest.split_at_checked(end).unwrap_or((rest, &[]));
    (path, rest.get(1..))
}

/// Protocols whose URLs contain no host. Without this list, `mailto:a@b` would be the user `mailto`
/// with a password, as in `user:password@host`.
const NOT_HIERARCHICAL: [&[u8]; 11] = [
    b"about",
    b"blob",
    b"cid",
    b"data",
    b"javascript",
    b"mailto",
    b"mid",
    b"sms",
    b"tel",
    b"urn",
    b"view-source",
];

/// Splits off the protocol, its `:` and up to two slashes.
///
/// A protocol that browsers know is always taken for a protocol, whatever follows
/// (`http:www.a.example/`). Any other word before a `:` is taken for a protocol, unless it looks
/// more like a host (`a.example:80`) or a user (`u:p@h`).
fn cut_protocol(text: &[u8]) -> Result<(&[u8], &[u8]), ParseError> {
    // This is checked first, because nearly all URLs begin with one of these two.
    if let Some(rest) = text.strip_prefix(b"https://") {
        return Ok((b"https", rest));
    }
    if let Some(rest) = text.strip_prefix(b"http://") {
        return Ok((HTTP, rest));
    }
    let (name, rest) = split_run(text, PROTOCOL);
    let [b':', rest @ ..] = rest else { return Ok((HTTP, text)) };
    if !name.first().is_some_and(u8::is_ascii_alphabetic) {
        return Ok((HTTP, text));
    }
    let known = backslash(name) == Backslash::Slash;
    let slash = |byte: u8| byte == b'/' || (known && byte == b'\\');
    match rest {
        _ if !known && NOT_HIERARCHICAL.iter().any(|one| one.eq_ignore_ascii_case(name)) => {
            let protocol = String::from_utf8_lossy(name).to_ascii_lowercase();
            Err(UrlFault::NotHierarchical { protocol }.into())
        }
        [first, second, rest @ ..] if slash(*first) && slash(*second) => Ok((name, rest)),
        [first, rest @ ..] if slash(*first) => Ok((name, rest)),
        _ if known => Ok((name, rest)),
        [first, ..] if first.is_ascii_digit() || is(*first, AUTHORITY_END) => Ok((HTTP, text)),
        [] => Ok((HTTP, text)),
        _ => {
            let mut authority = rest.iter().take_while(|&&byte| !is(byte, AUTHORITY_END));
            let user = authority.any(|&byte| byte == b'@');
            Ok(if user { (HTTP, text) } else { (name, rest) })
        }
    }
}

/// The meaning of `\` under this protocol. Browsers read it as `/` if the scheme is special
/// (WHATWG).
pub(crate) fn backslash(protocol: &[u8]) -> Backslash {
    const SPECIAL: [&[u8]; 6] = [b"http", b"https", b"ftp", b"ws", b"wss", b"file"];
    // The first comparison decides nearly all cases.
    if matches!(protocol, b"https" | b"http")
        || SPECIAL.iter().any(|one| one.eq_ignore_ascii_case(protocol))
    {
        Backslash::Slash
    } else {
        Backslash::Ordinary
    }
}

/// The default port of a protocol. `None` for a protocol that this crate does not know.
pub(crate) fn default_port(protocol: &[u8]) -> Option<u16> {
    const PORTS: [(&[u8], u16); 6] =
        [(b"https", 443), (b"http", 80), (b"ftp", 21), (b"ws", 80), (b"wss", 443), (b"finger", 79)];
    PORTS.iter().find(|(one, _)| one.eq_ignore_ascii_case(protocol)).map(|(_, port)| *port)
}
