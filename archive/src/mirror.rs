//! A mirror made by wget: a folder with a directory for each host, in which files are named like
//! the paths of their URLs. Other files in the folder are ignored.
//!
//! Scheme and response heads are missing. The media type is guessed from the file extension or the
//! beginning of the file. The time is the modification time of the file. `index.html` stands for
//! the URL of its directory.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_url::LocalHost;

use crate::error::{Error, Result};
use crate::files::{self, SourceFile};
use crate::head::ResponseHead;
use crate::item::{ArchiveItem, ArchivedBody, ArchivedExchange, Source, url};
use crate::refusal::{ReadFault, classify_error};
use crate::types;

/// The maximum nesting of directories that is searched.
const MAX_DEPTH: usize = 64;

/// The most names in one directory.
const MAX_NAMES: usize = 100_000;

/// The number of bytes of a file that are read to guess its type.
const BEGINNING: u64 = 512;

/// The reader of a folder.
pub(crate) struct Mirror {
    root: PathBuf,
    scheme: String,
    local: LocalHost,
    /// Paths below the root that were not read yet. The last one is read next.
    waiting: Vec<Vec<String>>,
}

/// Whether a folder contains a directory that is named like a host.
pub(crate) fn is_mirror(path: &Path) -> bool {
    let names = files::names(path, MAX_NAMES).ok().flatten().unwrap_or_default().0;
    names
        .iter()
        .any(|name| name.to_str().is_some_and(is_host) && files::is_directory(&path.join(name)))
}

fn is_host(name: &str) -> bool {
    let split = name.rsplit_once([':', '+']).filter(|_| !name.ends_with(']'));
    let (host, port) = split.unwrap_or((name, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_host = host.bytes().all(is_name) && host.contains('.') && !host.starts_with('.')
        || host == "localhost"
        || (host.starts_with('[') && host.ends_with(']'));
    is_host && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())
}

impl Mirror {
    pub(crate) fn open(root: &Path, scheme: &str, local: &LocalHost) -> Result<Self> {
        let (scheme, local) = (scheme.to_owned(), local.clone());
        let mut mirror = Self { root: root.to_owned(), scheme, local, waiting: Vec::new() };
        let hosts = mirror.names(&[])?.0;
        let hosts = hosts.into_iter().filter(|name| is_host(name));
        mirror.waiting = hosts.rev().map(|host| vec![host]).collect();
        Ok(mirror)
    }

    fn path(&self, below: &[String]) -> PathBuf {
        below.iter().fold(self.root.clone(), |path, name| path.join(name))
    }

    fn names(&self, below: &[String]) -> Result<(Vec<String>, bool)> {
        let path = self.path(below);
        let names = files::names(&path, MAX_NAMES);
        let names = names.map_err(|error| Error::disk("read", &path, error))?;
        let (names, are_more) = names.unwrap_or_default();
        Ok((names.into_iter().filter_map(|name| name.into_string().ok()).collect(), are_more))
    }

    fn file(&self, below: &[String]) -> Result<ArchivedExchange<'static>, ReadFault> {
        let path = self.path(below);
        let found = files::open(&path).map_err(ReadFault::Disk)?;
        let found = found.ok_or("it is not a plain file")?;
        let address = address(&self.scheme, below);
        let url = url(&address, &self.local)?;
        let name = below.last().map(String::as_str).unwrap_or_default();
        exchange_of_file(url, name, &found)
    }
}

/// Returns a file as the response to a plain GET.
pub(crate) fn exchange_of_file(
    url: wwwoffle_url::CanonicalUrl,
    name: &str,
    found: &SourceFile,
) -> Result<ArchivedExchange<'static>, ReadFault> {
    let beginning = found.reader.part(0, BEGINNING).small(BEGINNING).map_err(classify_error)?;
    let mut head = ResponseHead::synthetic(200, "OK");
    head.fields.set("Content-Type", types::of(name, &beginning.unwrap_or_default()));
    head.fields.set("Content-Length", &found.reader.len().to_string());
    let when = found.modified.unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH);
    let (is_private, body) = (url.user().is_some(), found.unchanged());
    let body = ArchivedBody::Here(Box::new(body));
    Ok(ArchivedExchange { url, when, head, request: None, is_private, body })
}

impl Source for Mirror {
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        while let Some(below) = self.waiting.pop() {
            if files::is_directory(&self.path(&below)) {
                if below.len() >= MAX_DEPTH {
                    return Ok(Some(refused(&below, "it is nested too deep")));
                }
                let (names, are_more) = self.names(&below)?;
                for name in names.into_iter().rev() {
                    let mut deeper = below.clone();
                    deeper.push(name);
                    self.waiting.push(deeper);
                }
                if are_more {
                    return Ok(Some(refused(&below, "it has too many files; some were not read")));
                }
                continue;
            }
            // A file in the root is not part of the mirror, even if it is named like a host.
            if below.len() < 2 {
                continue;
            }
            return match self.file(&below) {
                Ok(exchange) => Ok(Some(ArchiveItem::exchange(exchange))),
                Err(fault) => ArchiveItem::of_fault(below.join("/"), fault, &self.path(&below)),
            };
        }
        Ok(None)
    }
}

fn refused(below: &[String], reason: &'static str) -> ArchiveItem<'static> {
    ArchiveItem::refused(below.join("/"), reason)
}

/// The URL of a file. A `#` in a file name is escaped, because it does not begin a fragment.
fn address(scheme: &str, below: &[String]) -> String {
    let mut names = below.iter();
    let host = names.next().map(String::as_str).unwrap_or_default().replace('+', ":");
    let names: Vec<String> = names.map(|name| name.replace('#', "%23")).collect();
    let path = names.join("/");
    let (before, last) = match path.rsplit_once('/') {
        Some((before, last)) => (format!("{before}/"), last),
        None => (String::new(), path.as_str()),
    };
    let last = match last.strip_prefix("index.html") {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => rest,
        _ => last,
    };
    format!("{scheme}://{host}/{before}{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_url_that_wget_fetched() {
        for (path, want) in [
            ("a.example/index.html", "https://a.example/"),
            ("a.example/b/index.html?c=d", "https://a.example/b/?c=d"),
            ("a.example/b/c.png", "https://a.example/b/c.png"),
            ("a.example:8080/b?c=d/e", "https://a.example:8080/b?c=d/e"),
            ("a.example/b#c", "https://a.example/b%23c"),
            ("a.example/my index.html", "https://a.example/my index.html"),
        ] {
            let below: Vec<String> = path.split('/').map(str::to_owned).collect();
            assert_eq!(address("https", &below), want);
        }
    }

    #[test]
    fn host_folders_are_distinguished_from_others() {
        for host in ["a.example", "a.example:80", "127.0.0.1+8080", "localhost", "[::1]"] {
            assert!(is_host(host), "{host}");
        }
        for other in [".git", "hts-cache", "a b.c", "x:yz", ""] {
            assert!(!is_host(other), "{other}");
        }
    }
}
