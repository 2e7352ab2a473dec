//! Removes the credentials of URLs from texts that others read: the access log, and reports of recordings.
//!
//! Credentials are a user and a password before a host, and the values of arguments with telling
//! names. URLs are also arguments of other URLs, so a text is searched as it is, and again after
//! percent-decoding. The rest of the text keeps its spelling.

use std::cmp::Reverse;
use std::ops::Range;

use wwwoffle_http::head::is_credential_argument;

/// How often a text is percent-decoded: a URL can be the argument of an argument.
const MAX_DECODINGS: usize = 2;

/// The characters between the arguments of a URL.
const SEPARATORS: &[u8] = b"?&;#";

/// The meaning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedactedText {
    /// A URL, or host and port.
    Url,
    /// Other words, which may contain URLs.
    Words,
}

/// The place of a credential in a text.
struct CredentialSpan {
    place: Range<usize>,
    /// The text in place of the credential.
    instead: &'static [u8],
}

/// Removes the credentials from a text. If the text `is_cut`, its end may be a part of a
/// credential, and is removed too.
pub(crate) fn without_credentials(text: &[u8], meaning: RedactedText, is_cut: bool) -> Vec<u8> {
    let mut found = Vec::new();
    let mut decoded = SearchedText::of(text);
    for _ in 0..=MAX_DECODINGS {
        decoded.find_logins(meaning, is_cut, &mut found);
        decoded.find_arguments(&mut found);
        if !decoded.decode() {
            break;
        }
    }
    found.sort_by_key(|span| (span.place.start, Reverse(span.place.end)));
    let (mut safe, mut at) = (Vec::with_capacity(text.len()), 0);
    for CredentialSpan { place, instead } in found {
        // A credential inside of another one is already replaced.
        if place.end > at || (place.is_empty() && place.start > at) {
            safe.extend_from_slice(text.get(at..place.start).unwrap_or_default());
            safe.extend_from_slice(instead);
            at = place.end;
        }
    }
    safe.extend_from_slice(text.get(at..).unwrap_or_default());
    safe
}

/// A text after some percent-decodings.
struct SearchedText<'a> {
    original: &'a [u8],
    bytes: Vec<u8>,
    /// Where each byte begins in `original`.
    starts: Vec<usize>,
}

impl<'a> SearchedText<'a> {
    fn of(original: &'a [u8]) -> Self {
        Self { original, bytes: original.to_vec(), starts: (0..original.len()).collect() }
    }

    /// Decodes the text once more. Returns whether this changed it.
    fn decode(&mut self) -> bool {
        if !self.bytes.contains(&b'%') {
            return false;
        }
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let (Some(&byte), Some(&start)) = (self.bytes.get(at), self.starts.get(at)) {
            let hex = self.bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
            let decoded = hex.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| {
                let is_hex = hex.bytes().all(|digit| digit.is_ascii_hexdigit());
                is_hex.then(|| u8::from_str_radix(hex, 16).ok()).flatten()
            });
            bytes.push(decoded.unwrap_or(byte));
            starts.push(start);
            at += if decoded.is_some() { 3 } else { 1 };
        }
        let has_changed = bytes.len() < self.bytes.len();
        (self.bytes, self.starts) = (bytes, starts);
        has_changed
    }

    /// Returns a credential at `place`, which is a place in the decoded text.
    fn span(&self, place: Range<usize>, instead: &'static [u8]) -> CredentialSpan {
        let original = |at| self.starts.get(at).copied().unwrap_or(self.original.len());
        CredentialSpan { place: original(place.start)..original(place.end), instead }
    }

    /// Returns the position of the first byte at or after `from` that `is_wanted`, or the end.
    fn find(&self, from: usize, is_wanted: impl Fn(usize, u8) -> bool) -> usize {
        let rest = self.bytes.iter().enumerate().skip(from);
        let mut wanted = rest.filter(|(at, byte)| is_wanted(*at, **byte));
        wanted.next().map_or(self.bytes.len(), |(at, _)| at)
    }

    /// Finds users and passwords before a host.
    fn find_logins(&self, meaning: RedactedText, is_cut: bool, found: &mut Vec<CredentialSpan>) {
        if meaning == RedactedText::Url {
            // The target of CONNECT is a host without slashes before it.
            self.find_login(0, is_cut, found);
        }
        let is_slash = |byte: u8| matches!(byte, b'/' | b'\\');
        let mut at = 0;
        while at < self.bytes.len() {
            let slashes = self.find(at, |_, byte| is_slash(byte));
            let host = self.find(slashes, |_, byte| !is_slash(byte));
            at = if host - slashes >= 2 { self.find_login(host, is_cut, found) } else { host };
        }
    }

    /// Finds user and password of the authority that begins at `from`. Returns its end.
    fn find_login(&self, from: usize, is_cut: bool, found: &mut Vec<CredentialSpan>) -> usize {
        // An `&` of the outer URL ends an argument that was encoded.
        let is_outer = |at: usize| {
            let start = self.starts.get(at).copied().unwrap_or_default();
            self.bytes.len() < self.original.len() && self.original.get(start) == Some(&b'&')
        };
        let ends = |at: usize, byte: u8| match byte {
            b'/' | b'?' | b'#' | b'\\' | b'"' => true,
            b'&' => is_outer(at),
            _ => byte.is_ascii_whitespace(),
        };
        let end = self.find(from, ends);
        let authority = self.bytes.get(from..end).unwrap_or_default();
        if is_cut && end == self.bytes.len() {
            found.push(self.span(from..end, b""));
        } else if let Some(host) = authority.iter().rposition(|byte| *byte == b'@') {
            found.push(self.span(from..from + host + 1, b""));
        }
        end
    }

    /// Finds the values of arguments with the name of a credential.
    fn find_arguments(&self, found: &mut Vec<CredentialSpan>) {
        let is_separator = |_, byte: u8| SEPARATORS.contains(&byte);
        let mut at = 0;
        while at < self.bytes.len() {
            let end = self.find(at, is_separator);
            let argument = self.bytes.get(at..end).unwrap_or_default();
            if let Some(equals) = argument.iter().position(|byte| *byte == b'=')
                && is_credential_argument(&name(argument.get(..equals).unwrap_or_default()))
            {
                let value_end = self.value_end(end);
                found.push(self.span(at + equals + 1..value_end, b"***"));
                at = value_end + 1;
            } else {
                at = end + 1;
            }
        }
    }

    /// Returns the end of a value whose first separator is at `end`. A `;` or `?` that no further
    /// argument follows may be a part of the value.
    fn value_end(&self, mut end: usize) -> usize {
        while matches!(self.bytes.get(end), Some(b';' | b'?')) {
            let next = self.find(end + 1, |_, byte| SEPARATORS.contains(&byte));
            if self.bytes.get(end + 1..next).is_some_and(|rest| rest.contains(&b'=')) {
                break;
            }
            end = next;
        }
        end
    }
}

/// The name of an argument, without a path before it.
fn name(text: &[u8]) -> String {
    let is_before = |byte: &u8| matches!(byte, b'/' | b'\\') || byte.is_ascii_whitespace();
    let name = text.rsplit(is_before).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}
