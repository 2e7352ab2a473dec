//! A mirror made by HTTrack. It is read by means of the cache of HTTrack, which lists the URL and
//! the response of each file.
//!
//! ```text
//! hts-cache/new.zip     a member per URL. The response head is in the extra field of the local
//!                       header. The body is in the member, or in the file that `X-Save` names
//! hts-cache/new.txt     used if new.zip is missing: a line per URL, with its status and its file
//! ```

use std::io::{BufRead as _, BufReader};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use wwwoffle_url::LocalHost;

use crate::chunked::read_line;
use crate::error::{Error, ItemFault, Result};
use crate::files::{self, FileReader, SourceFile};
use crate::head::ResponseHead;
use crate::item::{ArchiveItem, ArchivedBody, ArchivedExchange, Source, url};
use crate::mirror::exchange_of_file;
use crate::refusal::{ReadFault, classify_error};
use crate::zip::read::{Directory, ZipMember};

const ZIP: &str = "hts-cache/new.zip";
const TEXT: &str = "hts-cache/new.txt";

/// The longest line of `new.txt`, in bytes.
const MAX_LINE: usize = 64 << 10;

/// The reader of a mirror.
pub(crate) struct Httrack {
    root: PathBuf,
    local: LocalHost,
    list: List,
    /// When the cache file was last modified. All responses get this time.
    when: Timestamp,
}

/// The name of a list item and its exchange. The exchange is `None` for a line that lists no file.
type ListItem = (String, Result<Option<ArchivedExchange<'static>>, ReadFault>);

enum List {
    Zip(Directory),
    Text(BufReader<FileReader>),
    Done,
}

/// Whether a folder is a mirror made by HTTrack.
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
                let directory = Directory::open(&found.reader).map_err(|error| {
                    ItemFault::of_read(root, error).into_unknown(&root.join(ZIP))
                })?;
                (List::Zip(directory), found)
            }
            (None, Some(found)) => (List::Text(found.reader.buffered()), found),
            (None, None) => return Err(Error::unknown(root, "it has no HTTrack cache")),
        };
        let when = found.modified.unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(Self { root: root.to_owned(), local: local.clone(), list, when })
    }

    fn member(
        &self,
        directory: &Directory,
        member: &ZipMember,
    ) -> Result<ArchivedExchange<'static>, ReadFault> {
        let (content, extra) = directory.content(member).map_err(classify_error)?;
        let member_fields = MemberFields::parse(&extra);
        let url = url(&member.name, &self.local)?;
        let status =
            member_fields.get("X-StatusCode").and_then(|text| text.parse().ok()).unwrap_or(200);
        let mut head =
            ResponseHead::synthetic(status, member_fields.get("X-StatusMessage").unwrap_or("OK"));
        for name in ["Content-Type", "Last-Modified", "Etag", "Location", "Content-Disposition"] {
            if let Some(value) = member_fields.get(name) {
                head.fields.push(name, value.as_bytes())?;
            }
        }
        if let (Some(kind), Some(charset)) =
            (member_fields.get("Content-Type"), member_fields.get("X-Charset"))
            && kind.starts_with("text/")
            && !kind.contains(';')
        {
            head.fields.set("Content-Type", &format!("{kind}; charset={charset}"));
        }
        let is_here =
            member_fields.get("X-In-Cache") != Some("0") && (member.size > 0 || status != 200);
        let body = if is_here {
            head.fields.set("Content-Length", &member.size.to_string());
            ArchivedBody::Here(Box::new(content))
        } else {
            let saved = member_fields.get("X-Save").unwrap_or_default();
            let found = self.saved(saved)?;
            head.fields.set("Content-Length", &found.reader.len().to_string());
            if member_fields
                .get("X-Size")
                .is_some_and(|size| size != found.reader.len().to_string())
            {
                return Err("its saved file has a different length".into());
            }
            ArchivedBody::Here(Box::new(found.unchanged()))
        };
        let is_private = url.user().is_some() || head.is_private();
        Ok(ArchivedExchange { url, when: self.when, head, request: None, is_private, body })
    }

    /// Parses a line. Its columns are date, size, flags, status, message, type, tag, URL and file,
    /// separated by tabs.
    fn line(&self, line: &str) -> Result<Option<ArchivedExchange<'static>>, ReadFault> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, _, _, status, _, kind, _, address, saved, ..] = columns.as_slice() else {
            return Ok(None);
        };
        // The header line has no number in the status column.
        let Ok(status) = status.trim().parse::<u16>() else { return Ok(None) };
        if status != 200 {
            return Err("it was not successful, and only its status was saved".into());
        }
        let url = url(address, &self.local)?;
        let mut exchange = exchange_of_file(url, saved, &self.saved(saved)?)?;
        if kind.contains('/') {
            exchange.head.fields.set("Content-Type", kind);
        }
        exchange.when = self.when;
        Ok(Some(exchange))
    }

    /// Opens a file of the mirror. A file outside the mirror is refused, whatever the cache says.
    fn saved(&self, name: &str) -> Result<SourceFile, ReadFault> {
        let root = self.root.to_string_lossy();
        let name = name.strip_prefix(&*root).map_or(name, |rest| rest.trim_start_matches('/'));
        let mut path = self.root.clone();
        let components: Vec<_> = Path::new(name).components().collect();
        let Some((last, above)) = components.split_last() else {
            return Err("it was not saved".into());
        };
        for (component, is_last) in above.iter().map(|one| (one, false)).chain([(last, true)]) {
            let Component::Normal(component) = component else {
                return Err("its saved file is outside the mirror".into());
            };
            path.push(component);
            if !is_last && !files::is_directory(&path) {
                return Err("its saved file is missing".into());
            }
        }
        let found = files::open(&path).map_err(ReadFault::Disk)?;
        found.ok_or_else(|| "its saved file is missing".into())
    }

    /// Reads the next list item; `None` at the end.
    fn step(&mut self) -> Result<Option<ListItem>, ReadFault> {
        match &mut self.list {
            List::Done => Ok(None),
            List::Zip(directory) => {
                let Some(member) = directory.next().map_err(classify_error)? else {
                    return Ok(None);
                };
                let List::Zip(directory) = &self.list else { return Ok(None) };
                let made = self.member(directory, &member).map(Some);
                Ok(Some((member.name, made)))
            }
            List::Text(input) => {
                let mut line = Vec::new();
                let is_line = read_line(input, &mut line, MAX_LINE).map_err(classify_error)?;
                if line.is_empty() {
                    return Ok(None);
                }
                if !is_line && !input.fill_buf().map_err(classify_error)?.is_empty() {
                    return Err("a line of its list is too long".into());
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
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        match self.step() {
            Ok(None) => Ok(None),
            Ok(Some((name, Ok(None)))) => Ok(Some(ArchiveItem::passed(name))),
            Ok(Some((_, Ok(Some(exchange))))) => Ok(Some(ArchiveItem::exchange(exchange))),
            Ok(Some((name, Err(fault)))) => ArchiveItem::of_fault(name, fault, &self.root),
            Err(fault) => {
                self.list = List::Done;
                ArchiveItem::of_fault("the HTTrack cache", fault, &self.root)
            }
        }
    }
}

/// The fields in the local header of a member.
struct MemberFields(Vec<(String, String)>);

impl MemberFields {
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
