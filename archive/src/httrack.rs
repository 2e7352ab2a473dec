//! A mirror of HTTrack: its cache says what every file was the answer to.
//!
//! ```text
//! hts-cache/new.zip     a member for each URL; the head is among the extra fields of its own header,
//!                       the body in it if it was a page, else in the file that `X-Save` names
//! hts-cache/new.txt     of old: a line for each URL, with the file it was saved as
//! ```

use std::io::{BufRead as _, BufReader};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_url::LocalHost;

use crate::chunked::read_line;
use crate::error::{Error, Result};
use crate::files::{self, FileReader, Found};
use crate::head::AnswerHead;
use crate::item::{Body, Exchange, Item, Source, url};
use crate::mirror::exchange_of_file;
use crate::refusal::{Reason, Trouble, judge};
use crate::zip::read::{Directory, Member};

const ZIP: &str = "hts-cache/new.zip";
const TEXT: &str = "hts-cache/new.txt";

/// The longest line of `new.txt`, in bytes.
const MAX_LINE: usize = 64 << 10;

/// A mirror.
pub(crate) struct Httrack {
    root: PathBuf,
    local: LocalHost,
    list: List,
    /// When the mirror was made.
    when: Timestamp,
}

/// One of the list: its name, and what it is; a line may be nothing.
type Step = (String, Result<Option<Exchange<'static>>, Trouble>);

enum List {
    Zip(Directory),
    Text(BufReader<FileReader>),
    Done,
}

/// Whether a folder is one of HTTrack's.
pub(crate) fn is_mirror(path: &Path) -> bool {
    [ZIP, TEXT].iter().any(|name| matches!(files::open(&path.join(name)), Ok(Some(_))))
}

impl Httrack {
    pub(crate) fn open(root: &Path, local: &LocalHost) -> Result<Self> {
        let find = |name: &str| {
            let path = root.join(name);
            files::open(&path).map_err(|error| Error::disk("read", &path, error))
        };
        let (list, found) = match (find(ZIP)?, find(TEXT)?) {
            (Some(found), _) => {
                let directory =
                    Directory::open(&found.reader).map_err(|error| match judge(error) {
                        Trouble::Disk(error) => Error::disk("read", root, error),
                        Trouble::Archive(reason) => Error::unknown(&root.join(ZIP), reason),
                    })?;
                (List::Zip(directory), found)
            }
            (None, Some(found)) => (List::Text(found.reader.buffered()), found),
            (None, None) => return Err(Error::unknown(root, "it has no cache of HTTrack")),
        };
        let when = found.modified.unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(Self { root: root.to_owned(), local: local.clone(), list, when })
    }

    fn member(&self, directory: &Directory, member: &Member) -> Result<Exchange<'static>, Trouble> {
        let (content, extra) = directory.content(member).map_err(judge)?;
        let told = Told::parse(&extra);
        let url = url(&member.name, &self.local).map_err(Trouble::Archive)?;
        let status = told.get("X-StatusCode").and_then(|text| text.parse().ok()).unwrap_or(200);
        let mut head = AnswerHead::made(status, told.get("X-StatusMessage").unwrap_or("OK"));
        for name in ["Content-Type", "Last-Modified", "Etag", "Location", "Content-Disposition"] {
            if let Some(value) = told.get(name) {
                head.fields.push(name, value.as_bytes()).map_err(Trouble::Archive)?;
            }
        }
        if let (Some(kind), Some(charset)) = (told.get("Content-Type"), told.get("X-Charset"))
            && kind.starts_with("text/")
            && !kind.contains(';')
        {
            head.fields.set("Content-Type", &format!("{kind}; charset={charset}"));
        }
        let is_here = told.get("X-In-Cache") != Some("0") && (member.size > 0 || status != 200);
        let body = if is_here {
            head.fields.set("Content-Length", &member.size.to_string());
            Body::Here(Box::new(content))
        } else {
            let saved = told.get("X-Save").unwrap_or_default();
            let found = self.saved(saved)?;
            head.fields.set("Content-Length", &found.reader.len().to_string());
            if told.get("X-Size").is_some_and(|size| size != found.reader.len().to_string()) {
                return Err(refuse("the file that it was saved as has another length"));
            }
            Body::Here(Box::new(found.unchanged()))
        };
        let is_private = url.user().is_some() || head.is_private();
        Ok(Exchange { url, when: self.when, head, request: None, is_private, body })
    }

    /// Date, size, flags, status, message, type, tag, URL and file, with tabs between.
    fn line(&self, line: &str) -> Result<Option<Exchange<'static>>, Trouble> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, _, _, status, _, kind, _, address, saved, ..] = columns.as_slice() else {
            return Ok(None);
        };
        // The first line names the columns.
        let Ok(status) = status.trim().parse::<u16>() else { return Ok(None) };
        if status != 200 {
            return Err(refuse("it was no page, and only its status is kept"));
        }
        let url = url(address, &self.local).map_err(Trouble::Archive)?;
        let mut exchange = exchange_of_file(url, saved, &self.saved(saved)?)?;
        if kind.contains('/') {
            exchange.head.fields.set("Content-Type", kind);
        }
        exchange.when = self.when;
        Ok(Some(exchange))
    }

    /// A file of the mirror. Only what lies in it is read, whatever the cache says.
    fn saved(&self, name: &str) -> Result<Found, Trouble> {
        let root = self.root.to_string_lossy();
        let name = name.strip_prefix(&*root).map_or(name, |rest| rest.trim_start_matches('/'));
        let mut path = self.root.clone();
        let components: Vec<_> = Path::new(name).components().collect();
        let Some((last, above)) = components.split_last() else {
            return Err(refuse("it was not saved"));
        };
        for (component, is_last) in above.iter().map(|one| (one, false)).chain([(last, true)]) {
            let Component::Normal(component) = component else {
                return Err(refuse("the file that it was saved as is not in the mirror"));
            };
            path.push(component);
            if !is_last && !files::is_directory(&path) {
                return Err(refuse("the file that it was saved as is not there"));
            }
        }
        let found = files::open(&path).map_err(Trouble::Disk)?;
        found.ok_or_else(|| refuse("the file that it was saved as is not there"))
    }

    /// The next of the list, by its name; `None` at the end.
    fn step(&mut self) -> Result<Option<Step>, Trouble> {
        match &mut self.list {
            List::Done => Ok(None),
            List::Zip(directory) => {
                let Some(member) = directory.next().map_err(judge)? else { return Ok(None) };
                let List::Zip(directory) = &self.list else { return Ok(None) };
                let made = self.member(directory, &member).map(Some);
                Ok(Some((member.name, made)))
            }
            List::Text(input) => {
                let mut line = Vec::new();
                let is_line = read_line(input, &mut line, MAX_LINE).map_err(judge)?;
                if line.is_empty() {
                    return Ok(None);
                }
                if !is_line && !input.fill_buf().map_err(judge)?.is_empty() {
                    return Err(refuse("its list has a line that is too long"));
                }
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                let name = line.split('\t').nth(7).unwrap_or("a line").to_owned();
                let made = self.line(&line);
                Ok(Some((name, made)))
            }
        }
    }
}

impl Source for Httrack {
    fn next(&mut self) -> Result<Option<Item<'_>>> {
        let disk = |root: &Path, error| Err(Error::disk("read", root, error));
        match self.step() {
            Ok(None) => Ok(None),
            Ok(Some((name, Ok(None)))) => Ok(Some(Item::passed(name))),
            Ok(Some((_, Ok(Some(exchange))))) => Ok(Some(Item::exchange(exchange))),
            Ok(Some((name, Err(Trouble::Archive(reason))))) => {
                Ok(Some(Item::refused(name, reason)))
            }
            Ok(Some((_, Err(Trouble::Disk(error))))) | Err(Trouble::Disk(error)) => {
                disk(&self.root, error)
            }
            Err(Trouble::Archive(reason)) => {
                self.list = List::Done;
                Ok(Some(Item::refused("the cache of HTTrack", reason)))
            }
        }
    }
}

/// What the header of a member says.
struct Told(Vec<(String, String)>);

impl Told {
    fn parse(extra: &[u8]) -> Self {
        let text = String::from_utf8_lossy(extra);
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        Self(lines.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

fn refuse(reason: &'static str) -> Trouble {
    Trouble::Archive(Reason::from(reason))
}
