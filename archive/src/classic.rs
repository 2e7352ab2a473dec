//! Reads the spool of WWWOFFLE 2.9 from disk.
//!
//! ```text
//! http/www.example.org/D<hash> U<hash>   a response, and its URL; the previous one ends in ~
//! prevtime7/ … prevtime1/ lasttime/      links to the same files, by online session. The time of
//!                                        the file .timestamp is the beginning of the session
//! prevout7/ … prevout1/ lastout/         links to the requests that waited when a fetch began. The
//!                                        time of the file .timestamp is its beginning
//! outgoing/O<hash> U<hash>               a queued request
//! monitor/O<hash> U<hash> M<hash>        a monitored request
//! ```
//!
//! If a page was fetched twice in a session, the directory of the session still has the first
//! response. So a response there is read too, unless it is that of the host. Symbolic links are not
//! followed, and the spool is not changed.

mod answer;
mod mask;
mod request;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_spool::fs::{Disk as _, SYSTEM_DISK};
use wwwoffle_url::{CanonicalUrl, LocalHost, OldName, is_this_machine, make_hash};

use crate::error::{Error, Result};
use crate::files::{self, SourceFile};
use crate::item::{self, ArchiveItem, ItemContent, Source};
use crate::refusal::{ReadFault, Reason, classify_error};
use crate::report::FormerRequest;

const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// Online sessions, the oldest first.
const SESSIONS: [&str; 8] = [
    "prevtime7",
    "prevtime6",
    "prevtime5",
    "prevtime4",
    "prevtime3",
    "prevtime2",
    "prevtime1",
    "lasttime",
];

/// Fetches of the queue, the oldest first.
const FETCHES: [&str; 8] =
    ["prevout7", "prevout6", "prevout5", "prevout4", "prevout3", "prevout2", "prevout1", "lastout"];

/// The maximum number of names that are read from one directory.
const MAX_NAMES: usize = 400_000;

/// The maximum number of hosts of one scheme.
const MAX_HOSTS: usize = 400_000;

/// The ports of 2.9, unless its configuration names others.
const OLD_PORTS: [u16; 2] = [8080, 8443];

/// The longest URL, in bytes.
const MAX_URL: u64 = 64 << 10;

/// The reader of a spool of 2.9.
pub(crate) struct Classic {
    root: PathBuf,
    local: LocalHost,
    directories: VecDeque<(DirectoryKind, PathBuf)>,
    files: VecDeque<String>,
    now: (DirectoryKind, PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectoryKind {
    /// The hosts of a scheme.
    Scheme,
    Host,
    Session,
    /// The requests of a fetch that began at this time.
    Fetch(Timestamp),
    Outgoing,
    Monitor,
}

/// Whether a directory looks like a spool of 2.9.
pub(crate) fn is_spool(path: &Path) -> bool {
    let has = |name: &str| files::is_directory(&path.join(name));
    has("outgoing") && has("lasttime") && SCHEMES.iter().any(|scheme| has(scheme))
        || has_answers(path)
        || ["outgoing", "monitor"].iter().any(|name| has_file(&path.join(name), 'O'))
}

/// Up to 1,000 names in a directory.
fn first_names(path: &Path) -> Vec<OsString> {
    files::names(path, 1_000).ok().flatten().unwrap_or_default().0
}

/// Whether a directory contains a file whose name is this letter and a hash. Only the first names
/// are examined.
fn has_file(path: &Path, letter: char) -> bool {
    let names = first_names(path);
    names.iter().any(|name| name.to_str().is_some_and(|name| hash_of(name, letter).is_some()))
}

/// Whether one of the first 20 host directories of a scheme contains the URL of a response. A copy
/// of a spool may lack all other directories.
fn has_answers(path: &Path) -> bool {
    SCHEMES.iter().any(|scheme| {
        let scheme = path.join(scheme);
        first_names(&scheme).iter().take(20).any(|host| has_file(&scheme.join(host), 'U'))
    })
}

impl Classic {
    pub(crate) fn open(root: &Path, local: &LocalHost) -> Self {
        let add = |(kind, name): (DirectoryKind, &str)| (kind, root.join(name));
        let trees = SCHEMES.map(|scheme| (DirectoryKind::Scheme, scheme));
        let sessions = SESSIONS.map(|session| (DirectoryKind::Session, session));
        let fetches = FETCHES
            .into_iter()
            .filter_map(|fetch| Some((DirectoryKind::Fetch(time_of(root, fetch)?), fetch)));
        let rest = [(DirectoryKind::Outgoing, "outgoing"), (DirectoryKind::Monitor, "monitor")];
        Self {
            root: root.to_owned(),
            local: local.clone(),
            directories: trees
                .into_iter()
                .chain(sessions)
                .chain(fetches)
                .chain(rest)
                .map(add)
                .collect(),
            files: VecDeque::new(),
            now: (DirectoryKind::Session, root.to_owned()),
        }
    }

    /// Enters a directory. If it has too many files, returns an item that reports this.
    fn enter(
        &mut self,
        kind: DirectoryKind,
        path: PathBuf,
    ) -> Result<Option<ArchiveItem<'static>>> {
        let most = if kind == DirectoryKind::Scheme { MAX_HOSTS } else { MAX_NAMES };
        let (names, are_more) = names(&path, most)?;
        if kind == DirectoryKind::Scheme {
            for host in names.into_iter().rev() {
                self.directories.push_front((DirectoryKind::Host, path.join(host)));
            }
        } else {
            let letter = if matches!(kind, DirectoryKind::Host | DirectoryKind::Session) {
                'D'
            } else {
                'O'
            };
            let mut files: Vec<_> =
                names.into_iter().filter(|name| hash_of(name, letter).is_some()).collect();
            // The previous version of a response, whose name ends in `~`, is returned first.
            files.sort_by_key(|name| (name.trim_end_matches('~').to_owned(), !name.ends_with('~')));
            self.files = files.into();
        }
        self.now = (kind, path);
        let name = self.now.1.display().to_string();
        let why = "it has too many files; some were not read";
        Ok(are_more.then(|| ArchiveItem::refused(name, why)))
    }

    /// Reads a file. `None` if it is a link to a file of a host, which is read there.
    fn file(&self, name: &str) -> Result<Option<ItemContent<'static>>, ReadFault> {
        let (kind, directory) = &self.now;
        let Some(content) = files::open(&directory.join(name)).map_err(ReadFault::Disk)? else {
            return Err("it is not a plain file".into());
        };
        let text = self.url(name)?;
        Ok(Some(match kind {
            DirectoryKind::Outgoing => {
                ItemContent::QueuedRequest(request::read(&text, &self.local, &content)?)
            }
            DirectoryKind::Fetch(fetch) => ItemContent::FormerRequest(FormerRequest {
                fetch: *fetch,
                url: request::former_url(&text, &self.local)?.to_string(),
                queued: content.modified.unwrap_or(*fetch),
            }),
            DirectoryKind::Monitor => {
                let request = request::read(&text, &self.local, &content)?;
                let (schedule, last_run) = mask::read(self.open_sibling(name, 'M')?)?;
                ItemContent::Monitored { request, schedule, last_run }
            }
            _ => {
                let url = page_url(&text, &self.local)?;
                let host = self.root.join(url.protocol()).join(OldName::of(&url).dir);
                if *kind == DirectoryKind::Session && content.is_also(&host.join(name)) {
                    return Ok(None);
                }
                let form = request::form_head(&text, &self.local)?;
                ItemContent::Exchange(Box::new(answer::read(url, form, &content)?))
            }
        }))
    }

    /// Opens the file that belongs to `name` and has the same name, except that it begins with
    /// `letter`. `None` if it is missing.
    fn open_sibling(&self, name: &str, letter: char) -> Result<Option<SourceFile>, ReadFault> {
        let rest = name.get(1..).unwrap_or_default();
        let path = self.now.1.join(format!("{letter}{rest}"));
        files::open(&path).map_err(ReadFault::Disk)
    }

    /// Reads the URL from the accompanying file, and checks that the file name is its hash.
    fn url(&self, name: &str) -> Result<String, ReadFault> {
        let file = self.open_sibling(name, 'U')?.ok_or("the file with its URL is missing")?;
        let bytes = file.reader.small(MAX_URL).map_err(classify_error)?;
        let bytes = bytes.ok_or("its URL is too long")?;
        let hash = name.get(1..).unwrap_or_default().trim_end_matches('~');
        if make_hash(&bytes) != hash {
            return Err("its name does not match its URL".into());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The time of the file `.timestamp` in a directory of the spool.
fn time_of(root: &Path, directory: &str) -> Option<Timestamp> {
    let stamp = SYSTEM_DISK.stamp(&root.join(directory).join(".timestamp"));
    stamp.ok().flatten().map(|stamp| stamp.modified())
}

/// Parses a web URL. Refuses the URL of a page that 2.9 itself generated.
fn page_url(text: &str, local: &LocalHost) -> Result<CanonicalUrl, Reason> {
    let url = item::url(text, local)?;
    let is_old = url.port_or_default().is_some_and(|port| OLD_PORTS.contains(&port));
    if is_old && is_this_machine(url.host()) {
        return Err("it is a page of the old proxy".into());
    }
    Ok(url)
}

fn names(path: &Path, most: usize) -> Result<(Vec<String>, bool)> {
    if !files::is_directory(path) {
        return Ok(Default::default());
    }
    let names = files::names(path, most).map_err(|error| Error::disk("read", path, error))?;
    let (names, are_more) = names.unwrap_or_default();
    Ok((names.into_iter().filter_map(|name| name.into_string().ok()).collect(), are_more))
}

impl Source for Classic {
    fn sessions(&self) -> Vec<Timestamp> {
        SESSIONS.iter().rev().filter_map(|session| time_of(&self.root, session)).collect()
    }

    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        loop {
            let Some(name) = self.files.pop_front() else {
                let Some((kind, path)) = self.directories.pop_front() else { return Ok(None) };
                let item = self.enter(kind, path)?;
                if item.is_some() {
                    return Ok(item);
                }
                continue;
            };
            let path = self.now.1.join(&name);
            let shown = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
            return match self.file(&name) {
                Ok(None) => continue,
                Ok(Some(what)) => {
                    Ok(Some(ArchiveItem { name: item_url(&what).unwrap_or(shown), what }))
                }
                Err(fault) => ArchiveItem::of_fault(shown, fault, &path),
            };
        }
    }
}

fn item_url(what: &ItemContent<'_>) -> Option<String> {
    match what {
        ItemContent::Exchange(exchange) => Some(exchange.url.to_string()),
        ItemContent::QueuedRequest(request) | ItemContent::Monitored { request, .. } => {
            Some(request.url.to_string())
        }
        ItemContent::FormerRequest(request) => Some(request.url.clone()),
        ItemContent::Refused(_) | ItemContent::Passed => None,
    }
}

/// The hash in a name that consists of this letter, a hash and perhaps `~`. `None` for any other
/// name.
fn hash_of(name: &str, letter: char) -> Option<&str> {
    let hash = name.strip_prefix(letter)?;
    let hash = hash.strip_suffix('~').unwrap_or(hash);
    let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
    (hash.len() == 22 && hash.bytes().all(is_ours)).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_2_9_are_recognized() {
        let hash = make_hash(b"http://www.example.org/");
        assert_eq!(hash_of(&format!("D{hash}"), 'D'), Some(hash.as_str()));
        assert_eq!(hash_of(&format!("D{hash}~"), 'D'), Some(hash.as_str()));
        for name in ["D", "Dx", "U1B2M2Y8AsgTpgAmY7PhCfg", "D1B2M2Y8AsgTpgAmY7PhC/g"] {
            assert_eq!(hash_of(name, 'D'), None, "{name}");
        }
    }
}
