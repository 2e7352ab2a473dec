//! A spool of WWWOFFLE 2.9, as it lies on the disk.
//!
//! ```text
//! http/www.example.org/D<hash> U<hash>   an answer, and its URL; with ~ behind it what was before
//! prevtime7/ … prevtime1/ lasttime/      the same files by another name: what was fetched online when
//! outgoing/O<hash> U<hash>               a request that waits
//! monitor/O<hash> U<hash> M<hash>        one on a schedule
//! ```
//!
//! What was fetched in one of the last times online is given in that order, behind everything else, so
//! that it is kept in the order in which it was read. Links are not followed, and nothing is changed.

mod answer;
mod mask;

use std::collections::{HashSet, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_spool::MAX_REQUEST_BODY;
use wwwoffle_url::{CanonicalUrl, LocalHost, make_hash};

use crate::error::{Error, Result};
use crate::files::{self, FileReader, Found};
use crate::head::{self, RequestHead};
use crate::item::{Item, Source, Waiting, What, url};
use crate::refusal::{Reason, Trouble, judge};

const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// Times online, the oldest first.
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

/// The most names of one directory that are read.
const MAX_NAMES: usize = 400_000;

/// The most hosts of one scheme.
const MAX_HOSTS: usize = 400_000;

/// The most files of times online that are put in order.
const MAX_ORDERED: usize = 200_000;

/// The longest URL that is read, in bytes.
const MAX_URL: u64 = 64 << 10;

/// A spool.
pub(crate) struct Classic {
    root: PathBuf,
    local: LocalHost,
    directories: VecDeque<(Kind, PathBuf)>,
    files: VecDeque<String>,
    now: (Kind, PathBuf),
    /// What comes later, with the time online that it was fetched in.
    later: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The hosts of a scheme.
    Scheme,
    Host,
    Session,
    Outgoing,
    Monitor,
}

/// Whether a directory looks like a spool of 2.9.
pub(crate) fn is_spool(path: &Path) -> bool {
    let has = |name: &str| files::is_directory(&path.join(name));
    has("outgoing") && has("lasttime") && SCHEMES.iter().any(|scheme| has(scheme))
        || has_answers(path)
}

/// Whether there is an answer in any directory of a host: a copy may lack all others.
fn has_answers(path: &Path) -> bool {
    let names = |path: &Path| files::names(path, 1_000).ok().flatten().unwrap_or_default().0;
    SCHEMES.iter().any(|scheme| {
        let scheme = path.join(scheme);
        names(&scheme).iter().take(20).any(|host| {
            let found: Vec<_> = names(&scheme.join(host)).into_iter().collect();
            found.iter().any(|name| name.to_str().is_some_and(|name| hash_of(name, 'U').is_some()))
        })
    })
}

impl Classic {
    pub(crate) fn open(root: &Path, local: &LocalHost) -> Result<Self> {
        let mut classic = Self {
            root: root.to_owned(),
            local: local.clone(),
            directories: VecDeque::new(),
            files: VecDeque::new(),
            now: (Kind::Session, root.to_owned()),
            later: HashSet::new(),
        };
        for session in SESSIONS {
            let (names, _) = names(&root.join(session), MAX_ORDERED)?;
            let left = MAX_ORDERED.saturating_sub(classic.later.len());
            let answers = names.into_iter().filter(|name| hash_of(name, 'D').is_some());
            classic.later.extend(answers.take(left));
        }
        let add = |(kind, name): (Kind, &str)| (kind, root.join(name));
        let trees = SCHEMES.map(|scheme| (Kind::Scheme, scheme));
        let sessions = SESSIONS.map(|session| (Kind::Session, session));
        let rest = [(Kind::Outgoing, "outgoing"), (Kind::Monitor, "monitor")];
        classic.directories.extend(trees.into_iter().chain(sessions).chain(rest).map(add));
        Ok(classic)
    }

    /// Goes on to a directory, and tells if there are more files in it than are read.
    fn enter(&mut self, kind: Kind, path: PathBuf) -> Result<Option<Item<'static>>> {
        let most = if kind == Kind::Scheme { MAX_HOSTS } else { MAX_NAMES };
        let (names, are_more) = names(&path, most)?;
        if kind == Kind::Scheme {
            for host in names.into_iter().rev() {
                self.directories.push_front((Kind::Host, path.join(host)));
            }
        } else {
            let letter = if matches!(kind, Kind::Host | Kind::Session) { 'D' } else { 'O' };
            let is_later = |name: &String| kind == Kind::Host && self.later.contains(name);
            let mut files: Vec<_> = names
                .into_iter()
                .filter(|name| hash_of(name, letter).is_some() && !is_later(name))
                .collect();
            // What was before comes first.
            files.sort_by_key(|name| (name.trim_end_matches('~').to_owned(), !name.ends_with('~')));
            self.files = files.into();
        }
        self.now = (kind, path);
        let name = self.now.1.display().to_string();
        let why = "it has more files than are read";
        Ok(are_more.then(|| Item::refused(name, why)))
    }

    fn file(&self, name: &str) -> Result<What<'static>, Trouble> {
        let (kind, directory) = &self.now;
        let Some(content) = files::open(&directory.join(name)).map_err(Trouble::Disk)? else {
            return Err(refuse("it is no plain file"));
        };
        let url = self.url(name)?;
        match kind {
            Kind::Outgoing => waiting(url, &content, None),
            Kind::Monitor => {
                let mask = self.beside(name, 'M')?;
                waiting(url, &content, Some(mask))
            }
            _ => answer::read(url, &content).map(|exchange| What::Exchange(Box::new(exchange))),
        }
    }

    /// The file with another letter.
    fn beside(&self, name: &str, letter: char) -> Result<FileReader, Trouble> {
        let rest = name.get(1..).unwrap_or_default();
        let path = self.now.1.join(format!("{letter}{rest}"));
        let found = files::open(&path).map_err(Trouble::Disk)?;
        let missing =
            if letter == 'U' { "its URL is not there" } else { "its times are not there" };
        found.map(|found| found.reader).ok_or_else(|| refuse(missing))
    }

    /// What the file beside says that it is.
    fn url(&self, name: &str) -> Result<CanonicalUrl, Trouble> {
        let bytes = self.beside(name, 'U')?.small(MAX_URL).map_err(judge)?;
        let bytes = bytes.ok_or_else(|| refuse("its URL is too long"))?;
        let hash = name.get(1..).unwrap_or_default().trim_end_matches('~');
        if make_hash(&bytes) != hash {
            return Err(refuse("its name is not that of its URL"));
        }
        let text = String::from_utf8_lossy(&bytes);
        if is_form(&text) {
            return Err(refuse("it answers a form, and what was sent is not kept"));
        }
        url(&text, &self.local).map_err(Trouble::Archive)
    }
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
    fn next(&mut self) -> Result<Option<Item<'_>>> {
        let name = loop {
            if let Some(name) = self.files.pop_front() {
                break name;
            }
            let Some((kind, path)) = self.directories.pop_front() else { return Ok(None) };
            let told = self.enter(kind, path)?;
            if told.is_some() {
                return Ok(told);
            }
        };
        let path = self.now.1.join(&name);
        let shown = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
        match self.file(&name) {
            Ok(what) => Ok(Some(Item { name: called(&what).unwrap_or(shown), what })),
            Err(Trouble::Disk(error)) => Err(Error::disk("read", &path, error)),
            Err(Trouble::Archive(reason)) => Ok(Some(Item::refused(shown, reason))),
        }
    }
}

fn waiting(
    url: CanonicalUrl,
    file: &Found,
    mask: Option<FileReader>,
) -> Result<What<'static>, Trouble> {
    let mut input = file.reader.buffered();
    let head = head::read(&mut input).map_err(judge)?;
    let mut head = RequestHead::parse(&head).map_err(Trouble::Archive)?;
    head.target = origin_form(&head.target);
    // Who asked last time had another copy.
    for name in ["if-modified-since", "if-none-match", "if-range", "range"] {
        head.fields.remove(name);
    }
    let most = u64::try_from(MAX_REQUEST_BODY).unwrap_or(u64::MAX);
    let mut body = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut body).map_err(judge)?;
    if body.len() > MAX_REQUEST_BODY {
        return Err(refuse("its body is longer than 16 MiB"));
    }
    let when = file.modified.unwrap_or(Timestamp::UNIX_EPOCH);
    let waiting = Box::new(Waiting { url, head, body, when, page: None });
    let Some(mask) = mask else { return Ok(What::Waiting(waiting)) };
    let text = mask.small(1 << 10).map_err(judge)?.unwrap_or_default();
    let schedule = mask::schedule(&String::from_utf8_lossy(&text));
    schedule.map(|schedule| What::Monitored(waiting, schedule)).map_err(Trouble::Archive)
}

fn called(what: &What<'_>) -> Option<String> {
    match what {
        What::Exchange(exchange) => Some(exchange.url.to_string()),
        What::Waiting(waiting) | What::Monitored(waiting, _) => Some(waiting.url.to_string()),
        What::Refused(_) | What::Passed => None,
    }
}

/// The hash in a name that begins with this letter.
fn hash_of(name: &str, letter: char) -> Option<&str> {
    let hash = name.strip_prefix(letter)?;
    let hash = hash.strip_suffix('~').unwrap_or(hash);
    let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
    (hash.len() == 22 && hash.bytes().all(is_ours)).then_some(hash)
}

/// Whether a URL is one that 2.9 made for the answer to a form: its arguments end with the hash of what
/// was sent, and a time.
fn is_form(url: &str) -> bool {
    let arguments = url.split_once('?').map_or("", |(_, arguments)| arguments);
    let end = arguments.rsplit_once('!').map_or("", |(_, end)| end);
    arguments.starts_with('!') && (end.starts_with("POST:") || end.starts_with("PUT:"))
}

/// What follows the host in the target of a request to a proxy.
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

fn refuse(reason: &'static str) -> Trouble {
    Trouble::Archive(Reason::from(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_forms_are_known() {
        let hash = make_hash(b"http://www.example.org/");
        assert_eq!(hash_of(&format!("D{hash}"), 'D'), Some(hash.as_str()));
        assert_eq!(hash_of(&format!("D{hash}~"), 'D'), Some(hash.as_str()));
        for name in ["D", "Dx", "U1B2M2Y8AsgTpgAmY7PhCfg", "D1B2M2Y8AsgTpgAmY7PhC/g"] {
            assert_eq!(hash_of(name, 'D'), None, "{name}");
        }
        assert!(is_form("http://a/?!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11"));
        assert!(is_form("http://a/?!b=c!POST:1B2M2Y8AsgTpgAmY7PhCfg.5f0e8a11"));
        assert!(!is_form("http://a/?b=POST:c") && !is_form("http://a/!POST:x"));
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
