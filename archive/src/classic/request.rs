//! An `O` file: a queued or monitored request.
//!
//! The accompanying file has a URL. This is the URL of a page, of the response to a form, or of a
//! page of 2.9 that starts a fetch. In the last case the arguments contain the URL to fetch.

use std::io::{BufRead, Read};

use jiff::Timestamp;
use wwwoffle_spool::MAX_REQUEST_BODY;
use wwwoffle_url::{CanonicalUrl, LocalHost, split_form_args, url_decode_form_args};

use super::page_url;
use crate::chunked::Chunked;
use crate::files::SourceFile;
use crate::head::{self, RequestHead};
use crate::item::QueuedRequest;
use crate::refusal::{ReadFault, Reason, classify_error};

/// The page of 2.9 for recursive fetches.
const RECURSE: &str = "/refresh-recurse/?";

/// The form of 2.9 for recursive fetches.
const REQUEST: &str = "/refresh-request/?";

/// The page of 2.9 that fetches the URL after it.
const REFRESH: &str = "/refresh/?";

/// Fields that must not be sent again, because they refer to the copy that the client had at that
/// time.
const CONDITIONS: [&str; 4] = ["if-modified-since", "if-none-match", "if-range", "range"];

/// Fields of a request to a page of 2.9 that do not apply to the fetched page.
const FOR_PROXY: [&str; 4] = ["host", "cookie", "authorization", "referer"];

/// Reads the request for the URL `text`.
pub(super) fn read(
    text: &str,
    local: &LocalHost,
    file: &SourceFile,
) -> Result<Box<QueuedRequest>, ReadFault> {
    let mut input = file.reader.buffered();
    let head = head::read(&mut input).map_err(classify_error)?;
    let mut head = RequestHead::parse(&head)?;
    for name in CONDITIONS {
        head.fields.remove(name);
    }
    // 2.9 writes notes for itself into this field.
    head.fields.remove_words("pragma", |word| word.starts_with("wwwoffle"));
    let mut body = body(&mut head, input)?;
    let recursion = recursion(text);
    let url = if let Some(arguments) = &recursion {
        start(arguments, local)
    } else {
        // A form is sent to the URL without the hash. A GET of a URL with a hash asks for the
        // stored response.
        let action = form(text).filter(|_| head.method != "GET");
        page_url(action.as_deref().unwrap_or(text), local)
    };
    let url = url.and_then(fetchable)?;
    head.target = origin_form(&head.target);
    if recursion.is_some() {
        for name in FOR_PROXY {
            head.fields.remove(name);
        }
        (head.method, head.target) = ("GET".to_owned(), url.path_and_arguments().to_owned());
        body.clear();
    }
    let when = file.modified.unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(Box::new(QueuedRequest { url, head, body, when, page: None, recursion }))
}

/// The URL of a request that was sent long ago, without a login.
pub(super) fn former_url(text: &str, local: &LocalHost) -> Result<CanonicalUrl, Reason> {
    let url = match recursion(text) {
        Some(arguments) => start(&arguments, local),
        None => page_url(text, local),
    };
    url.map(|url| url.without_credentials())
}

/// The body of a request, without its transfer coding.
fn body(head: &mut RequestHead, input: impl BufRead) -> Result<Vec<u8>, ReadFault> {
    let codings: Vec<_> = head.fields.all("transfer-encoding").collect();
    let is_chunked = match codings[..] {
        [] => None,
        [coding] => Some(coding.trim_ascii().eq_ignore_ascii_case(b"chunked")),
        [_, _, ..] => Some(false),
    };
    let input: Box<dyn Read + '_> = match is_chunked {
        None => Box::new(input),
        Some(true) => Box::new(Chunked::new(input)),
        Some(false) => return Err("its body has an unknown transfer coding".into()),
    };
    let most = u64::try_from(MAX_REQUEST_BODY).unwrap_or(u64::MAX);
    let mut body = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut body).map_err(classify_error)?;
    if body.len() > MAX_REQUEST_BODY {
        return Err("its body is longer than 16 MiB".into());
    }
    let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
    if is_chunked.is_some() {
        // With a transfer coding, this field does not count (RFC 9112 §6.3).
        head.fields.remove("content-length");
    } else if head.fields.has("content-length") {
        let mut values = head.fields.all("content-length");
        let declared = head.fields.content_length();
        let is_valid = values.all(|value| Some(value) == head.fields.first("content-length"));
        match declared.filter(|_| is_valid) {
            None => return Err("its Content-Length is invalid".into()),
            Some(declared) if declared > length => {
                return Err("its body is shorter than its Content-Length".into());
            }
            Some(_) => {}
        }
    }
    Ok(body)
}

/// Refuses URLs that cannot be fetched.
fn fetchable(url: CanonicalUrl) -> Result<CanonicalUrl, Reason> {
    if url.is_form_answer() {
        return Err("it asks for the stored response to a form, which no origin knows".into());
    }
    Ok(url)
}

/// The URL to which a form was sent, if 2.9 made `url` for the response. In such a URL, the
/// arguments end in the hash of the body and a time.
pub(super) fn form(url: &str) -> Option<String> {
    let (page, arguments) = url.split_once("?!")?;
    let (before, end) = match arguments.rsplit_once('!') {
        Some((before, end)) => (Some(before), end),
        None => (None, arguments),
    };
    let is_form = end.starts_with("POST:") || end.starts_with("PUT:");
    is_form.then(|| match before {
        Some(before) => format!("{page}?{before}"),
        None => page.to_owned(),
    })
}

/// The head of the form request whose response 2.9 stored under `url`; `None` if the response was
/// not to a form. 2.9 stored neither the fields nor the body of the request.
pub(super) fn form_head(url: &str, local: &LocalHost) -> Result<Option<RequestHead>, Reason> {
    let Some(page) = form(url) else { return Ok(None) };
    let page = page_url(&page, local)?;
    let method = if url.contains("!PUT:") { "PUT" } else { "POST" };
    let (target, host) = (page.path_and_arguments(), page.host_port());
    let head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    RequestHead::parse(head.as_bytes()).map(Some)
}

/// The arguments of a recursive fetch, if `url` is that of a page of 2.9 that starts such a fetch.
/// The host is not compared, because 2.9 may have had any name and port.
fn recursion(url: &str) -> Option<Vec<(String, String)>> {
    let (_, rest) = url.split_once("://")?;
    let page = rest.get(rest.find('/')?..)?;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    if let Some(url) = page.strip_prefix(REFRESH) {
        let url = if url.contains("://") { url.to_owned() } else { decoded(url.as_bytes()) };
        let rest = [("depth", "0"), ("force", "Y"), ("parts", "configured")];
        let rest = rest.map(|(name, value)| pair(name, value));
        return url.contains("://").then(|| [vec![pair("url", &url)], rest.to_vec()].concat());
    }
    let (arguments, is_form) = match page.strip_prefix(RECURSE) {
        Some(arguments) => (arguments, false),
        None => (page.strip_prefix(REQUEST)?, true),
    };
    let mut pairs: Vec<_> = split_form_args(arguments.as_bytes())
        .filter(|argument| !argument.is_empty())
        .map(|argument| {
            let mut sides = argument.splitn(2, |&byte| byte == b'=');
            let name = decoded(sides.next().unwrap_or_default());
            (name, decoded(sides.next().unwrap_or_default()))
        })
        .collect();
    let has = |wanted: &str| pairs.iter().any(|(name, _)| name == wanted);
    if !has("url") {
        return None;
    }
    if is_form && !has("force") {
        pairs.push(pair("force", "Y"));
    }
    Some(pairs)
}

fn decoded(text: &[u8]) -> String {
    String::from_utf8_lossy(&url_decode_form_args(text)).into_owned()
}

/// The start page of a recursive fetch.
fn start(arguments: &[(String, String)], local: &LocalHost) -> Result<CanonicalUrl, Reason> {
    let named = arguments.iter().find(|(name, _)| name == "url");
    page_url(named.map_or("", |(_, value)| value.trim()), local)
}

/// The path and query in the target of a proxy request.
fn origin_form(target: &str) -> String {
    let Some((_, rest)) = target.split_once("://") else { return target.to_owned() };
    match rest.find(['/', '?']) {
        Some(start) if rest.get(start..).is_some_and(|path| path.starts_with('?')) => {
            format!("/{}", rest.get(start..).unwrap_or_default())
        }
        Some(start) => rest.get(start..).unwrap_or("/").to_owned(),
        None => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_forms_and_recursive_fetches_are_recognized() {
        for (given, want) in [
            ("http://a/?!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11", Some("http://a/")),
            ("http://a/p?!b=c!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11", Some("http://a/p?b=c")),
            ("http://a/?b=POST:c", None),
            ("http://a/!POST:x", None),
        ] {
            assert_eq!(form(given).as_deref(), want, "{given}");
        }
        let got =
            recursion("http://old:8080/refresh-recurse/?url=http%3A%2F%2Fh%2F;depth=2&force=Y");
        let want = [("url", "http://h/"), ("depth", "2"), ("force", "Y")];
        let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(got.as_deref(), Some(&want[..]));
        let forced = [("url", "http://h/a b"), ("force", "Y")];
        let alone =
            [("url", "http://h/?a=b"), ("depth", "0"), ("force", "Y"), ("parts", "configured")];
        for (given, want) in [
            ("http://old:8080/refresh-request/?url=http%3A%2F%2Fh%2Fa+b", &forced[..]),
            ("http://old/refresh/?http%3A%2F%2Fh%2F%3Fa%3Db", &alone),
            ("http://old/refresh/?http://h/?a=b", &alone),
        ] {
            let got = recursion(given).unwrap_or_default();
            let got: Vec<_> = got.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(got, want, "{given}");
        }
        for other in [
            "http://h/refresh-recurse/?depth=2",
            "http://h/x/refresh-recurse/?url=a",
            "http://h/refresh-request/?x=1",
            "http://h/refresh/?x=1",
        ] {
            assert_eq!(recursion(other), None, "{other}");
        }
    }

    #[test]
    fn a_target_loses_its_host() {
        for (target, want) in [
            ("http://a.example/b?c", "/b?c"),
            ("http://a.example", "/"),
            ("http://a.example?c", "/?c"),
            ("/b", "/b"),
        ] {
            assert_eq!(origin_form(target), want);
        }
    }
}
