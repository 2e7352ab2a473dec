//! Reads a WACZ that ends in the middle, such as an incomplete download.
//!
//! The directory of a ZIP file is at its end. Without it, the members are read in sequence by their
//! local headers. The list of digests is missing too, so only the digests in the records are
//! verified.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use wwwoffle_url::LocalHost;

use crate::error::{Error, ItemFault, Result};
use crate::files::FileReader;
use crate::item::{ArchiveItem, Source};
use crate::refusal::{ReadFault, classify_error};
use crate::wacz::is_archive;
use crate::warc::Warc;
use crate::zip::read::{Directory, local_members};

/// The reader of the WARC files of an incomplete WACZ.
pub(crate) struct SalvagedWacz {
    path: PathBuf,
    local: LocalHost,
    /// The WARC files that were not read yet.
    archives: VecDeque<(String, FileReader)>,
    now: Option<Warc>,
    is_reported: bool,
}

impl SalvagedWacz {
    /// Opens a ZIP file without a directory. `None` if the file has a directory, or has no WARC file
    /// before its end.
    pub(crate) fn open(file: &FileReader, path: &Path, local: &LocalHost) -> Result<Option<Self>> {
        let fail = |error| match classify_error(error) {
            ReadFault::Disk(error) => Err(Error::disk("read", path, error)),
            ReadFault::Archive(_) => Ok(None),
        };
        if Directory::open(file).is_ok() {
            return Ok(None);
        }
        let members = match local_members(file) {
            Ok(members) => members,
            Err(error) => return fail(error),
        };
        let archives: VecDeque<_> =
            members.into_iter().filter(|(name, _)| is_archive(name)).collect();
        let (path, local) = (path.to_owned(), local.clone());
        let salvaged = Self { path, local, archives, now: None, is_reported: false };
        Ok(Some(salvaged).filter(|salvaged| !salvaged.archives.is_empty()))
    }
}

impl Source for SalvagedWacz {
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        if !std::mem::replace(&mut self.is_reported, true) {
            let why = "it ends in the middle; the responses before that were read";
            return Ok(Some(ArchiveItem::refused("the archive", why)));
        }
        loop {
            if self.now.as_mut().is_some_and(Warc::has_more) {
                break;
            }
            self.now = None;
            let Some((name, file)) = self.archives.pop_front() else { return Ok(None) };
            match Warc::within(&file, &self.path, &name, &self.local) {
                Ok(warc) => self.now = Some(warc),
                Err(ItemFault::Refused(reason)) => {
                    return Ok(Some(ArchiveItem::refused(name, reason)));
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
