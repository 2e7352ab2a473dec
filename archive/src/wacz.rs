//! WACZ: WARC files in a ZIP file, with a list of their digests.

use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wwwoffle_url::LocalHost;

use crate::digest::Digest;
use crate::error::{Error, ItemFault, Result};
use crate::export::wacz::COLLECTION;
use crate::files;
use crate::files::FileReader;
use crate::fixture::SETTINGS;
use crate::item::{ArchiveItem, Source};
use crate::refusal::Reason;
use crate::warc::Warc;
use crate::zip::read::{Directory, ZipMember};

/// The most members of a WACZ; real ones have about ten.
const MAX_MEMBERS: usize = 10_000;

/// The longest list of digests, and the longest settings of a fixture, in bytes.
const MAX_PACKAGE: u64 = 16 << 20;

/// How many bytes are read at once.
const PIECE: usize = 64 << 10;

/// The reader of all WARC files in one WACZ.
pub(crate) struct Wacz {
    path: PathBuf,
    local: LocalHost,
    directory: Directory,
    /// The WARC files that were not read yet.
    archives: VecDeque<ZipMember>,
    digests: HashMap<String, String>,
    /// The settings, if the WACZ is a fixture.
    settings: Option<ZipMember>,
    /// The definition of the collection whose pages it has.
    collection: Option<ZipMember>,
    now: Option<Warc>,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    resources: Vec<WaczResource>,
}

#[derive(Deserialize)]
struct WaczResource {
    path: Option<String>,
    hash: Option<String>,
}

/// Returns the definition of the collection whose pages a WACZ has. `None` if the WACZ was not
/// exported from a collection.
///
/// # Errors
///
/// If the file is missing, is not a WACZ, or cannot be read.
pub fn collection_in(path: &Path) -> Result<Option<Vec<u8>>> {
    let fail = |error| ItemFault::of_read(path, error).into_unknown(path);
    let file = files::open(path).map_err(|error| Error::disk("read", path, error))?;
    let file = file.ok_or_else(|| Error::unknown(path, "it is missing, or not a file"))?;
    Wacz::open(&file.reader, path, &LocalHost::default())?.collection().map_err(fail)
}

impl Wacz {
    pub(crate) fn open(file: &FileReader, path: &Path, local: &LocalHost) -> Result<Self> {
        let fail = |error| ItemFault::of_read(path, error).into_unknown(path);
        let mut directory = Directory::open(file).map_err(fail)?;
        let (mut archives, mut package) = (VecDeque::new(), None);
        let (mut settings, mut collection) = (None, None);
        let mut count = 0;
        while let Some(member) = directory.next().map_err(fail)? {
            count += 1;
            if count > MAX_MEMBERS {
                return Err(Error::unknown(path, "it has more than 10,000 members"));
            }
            if member.name == "datapackage.json" {
                package = Some(member);
            } else if member.name == SETTINGS {
                settings = Some(member);
            } else if member.name == COLLECTION {
                collection = Some(member);
            } else if is_archive(&member.name) {
                archives.push_back(member);
            }
        }
        let package = package.ok_or_else(|| {
            Error::unknown(path, "it is a ZIP file, but not a WACZ: datapackage.json is missing")
        })?;
        let digests = digests(&directory, &package).map_err(fail)?;
        let (path, local) = (path.to_owned(), local.clone());
        Ok(Self { path, local, directory, archives, digests, settings, collection, now: None })
    }

    /// The next WARC file, if it matches its digest. `None` after the last one.
    pub(crate) fn next_archive(&mut self) -> Option<std::io::Result<FileReader>> {
        let member = self.archives.pop_front()?;
        Some(self.verify(&member))
    }

    /// The text of the settings of a fixture, if they match their digest. `None` in any other WACZ.
    pub(crate) fn fixture_settings(&self) -> std::io::Result<Option<Vec<u8>>> {
        let Some(member) = &self.settings else { return Ok(None) };
        self.verify(member)?;
        small(&self.directory, member).map(Some)
    }

    /// The definition of a collection, if it matches its digest.
    fn collection(&self) -> std::io::Result<Option<Vec<u8>>> {
        let Some(member) = &self.collection else { return Ok(None) };
        self.verify(member)?;
        small(&self.directory, member).map(Some)
    }

    /// Opens a WARC file if it matches its digest.
    fn begin(&self, member: &ZipMember) -> Result<Warc, ItemFault> {
        let file = self.verify(member).map_err(|error| ItemFault::of_read(&self.path, error))?;
        Warc::within(&file, &self.path, &member.name, &self.local)
    }

    fn verify(&self, member: &ZipMember) -> std::io::Result<FileReader> {
        let declared = self.digests.get(&member.name);
        let digest = declared.map_or(Ok(None), |text| Digest::parse(text))?;
        let (mut content, _) = self.directory.content(member)?;
        let mut hasher = digest.as_ref().map(|digest| digest.algorithm.hasher());
        let mut piece = vec![0; PIECE];
        loop {
            let read = content.read(&mut piece)?;
            if read == 0 {
                break;
            }
            if let Some(hasher) = &mut hasher {
                hasher.update(piece.get(..read).unwrap_or_default());
            }
        }
        if let (Some(digest), Some(hasher)) = (digest, hasher)
            && !digest.is(hasher)
        {
            return Err(Reason::from("its digest differs from datapackage.json").into());
        }
        let stored = self.directory.stored(member)?;
        stored.ok_or_else(|| Reason::from("it is compressed in the ZIP, which WACZ forbids").into())
    }
}

impl Source for Wacz {
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        loop {
            if self.now.as_mut().is_some_and(Warc::has_more) {
                break;
            }
            self.now = None;
            let Some(member) = self.archives.pop_front() else { return Ok(None) };
            match self.begin(&member) {
                Ok(warc) => self.now = Some(warc),
                Err(ItemFault::Refused(reason)) => {
                    return Ok(Some(ArchiveItem::refused(member.name, reason)));
                }
                Err(ItemFault::Failed(error)) => return Err(error),
            }
        }
        match &mut self.now {
            Some(warc) => warc.next(),
            None => Ok(None),
        }
    }
}

pub(crate) fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("archive/")
        && [".warc", ".warc.gz", ".warc.zst"].iter().any(|end| name.ends_with(end))
}

fn digests(directory: &Directory, package: &ZipMember) -> std::io::Result<HashMap<String, String>> {
    let bytes = small(directory, package)?;
    let package: Package = serde_json::from_slice(&bytes)
        .map_err(|error| Reason::from(format!("its datapackage.json is invalid: {error}")))?;
    let pairs = package.resources.into_iter().filter_map(|one| Some((one.path?, one.hash?)));
    Ok(pairs.collect())
}

/// Reads a member that must be small.
fn small(directory: &Directory, member: &ZipMember) -> std::io::Result<Vec<u8>> {
    if member.size > MAX_PACKAGE {
        return Err(Reason::from(format!("its {} is longer than 16 MiB", member.name)).into());
    }
    let (content, _) = directory.content(member)?;
    let mut bytes = Vec::new();
    content.take(MAX_PACKAGE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
