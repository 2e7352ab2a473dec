//! Judging single files. A file is read and compared, and never changed.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::bodies::BodyIndex;
use super::finding::{FileFault, Remedy};
use super::name::{self, NameKind, NameVerdict};
use crate::durability::{MONITOR, OUTGOING};
use crate::entry::blocks::BlockSummer;
use crate::entry::overlay::OverlayLookup;
use crate::entry::place::{EXTENSION, Place};
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::verified::for_each_piece;
use crate::entry::warc::{Header, Reason, parse_record};
use crate::entry::{Body, Entry, gzip, overlay, read};
use crate::error::{Error, Result};
use crate::fs::whole::read_whole;
use crate::fs::{Disk, parent};
use crate::notes::{pins, state, statistics};
use crate::queue::monitor::{MAX_MONITOR_FILE, Monitor};
use crate::queue::outgoing::{MAX_REQUEST_FILE, Outgoing, Secrets};
use crate::queue::runs::MAX_RUN;
use crate::queue::seal::{self, Vault};
use crate::tree::segments::files;
use crate::tree::variants::MAX_VARIANTS;
use crate::tree::{salvage, variants};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use wwwoffle_url::Key;

/// The role of a file, derived from its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    /// An entry or an older version.
    Entry,
    /// A removed entry or version whose removal can still be undone.
    Resting,
    /// The update file of a large entry.
    Overlay,
    /// A shared body.
    Holder,
    /// A shared body, in the last step: all entries were checked, so its references are known.
    HolderAtTheEnd,
    /// A segment.
    Segment,
    /// An interrupted download, or the file of its checkpoints.
    Left,
    /// An outgoing request.
    Request,
    /// A monitored page.
    Monitor,
    /// The text about a run.
    Run,
    /// The state of the program.
    State,
    Statistics,
    /// The key that encrypts the secrets of requests.
    Secret,
    Pins,
}

/// The context in which files are judged.
#[derive(Debug)]
pub(super) struct FileCheck<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) root: &'a Path,
    /// Whether every body is read.
    pub(super) is_deep: bool,
    /// The key that encrypts secrets, if it exists.
    pub(super) vault: Option<Vault>,
    /// The facts about shared bodies found so far.
    pub(super) bodies: RefCell<BodyIndex>,
    /// When the check began. `None` during a repair, when no other process can change files.
    pub(super) began: Option<Timestamp>,
}

impl FileCheck<'_> {
    /// Returns the fault of a file. `None` if it has none, or if the file is gone.
    pub(super) fn fault(&self, role: FileRole, path: &Path) -> Option<FileFault> {
        let judged = match role {
            FileRole::Entry => self.entry(path),
            FileRole::Resting => self.removed_file(path),
            FileRole::Overlay => self.overlay(path),
            FileRole::Holder => self.holder(path),
            FileRole::HolderAtTheEnd => self.find_unreferenced(path),
            FileRole::Segment => self.segment(path),
            FileRole::Left => self.interrupted_download(path),
            FileRole::Request | FileRole::Monitor => self.request(path, role),
            FileRole::Run => self.run(path),
            FileRole::State => self.text(path, state::MAX_STATE, state::reason),
            FileRole::Statistics => self.text(path, statistics::MAX_STATISTICS, statistics::reason),
            FileRole::Secret => self.text(path, seal::KEY_LEN, seal::reason),
            // An unreadable file of pins stops every purge. It must stay in its place: if it were
            // moved away, every entry could be purged.
            FileRole::Pins => self
                .text(path, pins::MAX_FILE, pins::reason)
                .map(|fault| fault.map(|fault| FileFault { remedy: Remedy::Nothing, ..fault })),
        };
        // If one file is unreadable, the others are still checked. An unreadable entry may refer to a
        // shared body.
        judged.unwrap_or_else(|error| {
            let is_entry = matches!(role, FileRole::Entry | FileRole::Resting);
            self.bodies.borrow_mut().is_blind |= is_entry;
            Some(unreadable(&error))
        })
    }

    /// Reads an entry. Returns the entry or its fault; `None` if the file is gone.
    fn content(&self, path: &Path) -> Result<Option<Result<Entry, FileFault>>> {
        let entry = match read::read(self.disk, self.root, path, None)? {
            EntryContent::Missing | EntryContent::Moved => return Ok(None),
            EntryContent::Whole(entry) => entry,
            // No lookup uses a file of this name, so it is foreign.
            EntryContent::Bad(reason) if named(path) == NameKind::AsEntry => {
                return Ok(Some(Err(FileFault::new(reason, Remedy::Foreign))));
            }
            EntryContent::Bad(reason) => {
                self.bad_entry(path)?;
                return Ok(Some(Err(FileFault::set_aside(reason))));
            }
        };
        let reason =
            if entry.shares_body() { self.shared(path, &entry)? } else { self.body(path, &entry)? };
        Ok(Some(match reason {
            Some(reason) => Err(FileFault::set_aside(reason)),
            None => Ok(entry),
        }))
    }

    /// Checks a removed file, which keeps its path below the directory of the removal.
    fn removed_file(&self, path: &Path) -> Result<Option<FileFault>> {
        let entry = match self.content(path)? {
            None => return Ok(None),
            Some(Err(fault)) => return Ok(Some(fault)),
            Some(Ok(entry)) => entry,
        };
        // The path without `removed/` and the name of the removal.
        let below: PathBuf =
            path.strip_prefix(self.root).unwrap_or(path).components().skip(2).collect();
        let is_right = name::of_entry(&below, entry.place(), entry.stored()) == NameVerdict::Right;
        Ok((!is_right)
            .then(|| FileFault::set_aside("it is not at a path from which it can be restored")))
    }

    fn entry(&self, path: &Path) -> Result<Option<FileFault>> {
        let entry = match self.content(path)? {
            None => return Ok(None),
            Some(Err(fault)) => return Ok(Some(fault)),
            Some(Ok(entry)) => entry,
        };
        let place = entry.place();
        let below = path.strip_prefix(self.root).unwrap_or(path);
        match name::of_entry(below, place, entry.stored()) {
            NameVerdict::Right if below == place.single_path() => self.hidden_variants(place),
            NameVerdict::Right => Ok(None),
            name => {
                let current = self.name_of_entry(place)?;
                let to = match name {
                    // If the place has no entry now, the version becomes its entry.
                    NameVerdict::Version(to) if self.is_there(&self.root.join(&current))? => to,
                    _ => current,
                };
                self.rename(path, &entry, to).map(Some)
            }
        }
    }

    /// The path of the entry of a place.
    pub(super) fn name_of_entry(&self, place: &Place) -> Result<PathBuf> {
        let varies = !place.variant_text().is_empty() || !self.others(place)?.is_empty();
        Ok(if varies { place.variant_path() } else { place.single_path() })
    }

    /// The names in the directory of variants of a key, except that of the entry that does not
    /// vary.
    fn others(&self, place: &Place) -> Result<Vec<Key>> {
        let mut names = variants::names(self.disk, &self.root.join(place.variants_path()))?;
        names.retain(|name| *name != Place::SINGLE);
        Ok(names)
    }

    /// Returns a fault if the entry at the single path of `place` prevents the variants of its key
    /// from being found.
    fn hidden_variants(&self, place: &Place) -> Result<Option<FileFault>> {
        let hidden = self.others(place)?;
        let why = "it hides the variants of its URL";
        Ok((!hidden.is_empty()).then(|| FileFault::new(why, Remedy::Unhide)))
    }

    /// Decides what to do with a valid file that belongs at `to`.
    fn rename(&self, path: &Path, entry: &Entry, to: PathBuf) -> Result<FileFault> {
        let there = self.root.join(&to);
        let place = entry.place();
        // The time of the last update counts, so the update files are read too.
        let updated = |path| {
            let expected = ExpectedEntry { place, name: place.variant_name() };
            let content = read::read_updated(self.disk, self.root, path, expected)?;
            Ok::<_, Error>(match content {
                EntryContent::Whole(entry) => Some(entry.order()),
                _ => None,
            })
        };
        let (theirs, ours) = (updated(&there)?, updated(path)?);
        if theirs.is_some() && theirs >= ours {
            return Ok(FileFault::set_aside(
                "its name is wrong, and a file that is not older has the right name",
            ));
        }
        let is_among = to.starts_with(entry.place().variants_path());
        let has_room = || {
            let others = variants::names(self.disk, parent(&there))?;
            Ok::<_, Error>(others.len() < MAX_VARIANTS)
        };
        if is_among && !self.is_there(&there)? && !has_room()? {
            let why = "its name is wrong, and its URL has the largest number of variants";
            return Ok(FileFault::set_aside(why));
        }
        Ok(FileFault::new("its name is not that of its URL", Remedy::Rename(to)))
    }

    pub(super) fn is_there(&self, path: &Path) -> Result<bool> {
        let about = self.disk.about(path).map_err(|error| Error::disk("look at", path, error))?;
        Ok(about.is_some())
    }

    /// Returns the fault of the records or the body of an entry. `None` if they have no fault, or
    /// if bodies are not read.
    pub(super) fn body(&self, path: &Path, entry: &Entry) -> Result<Option<Reason>> {
        if !self.is_deep {
            return Ok(None);
        }
        match self.records(path, entry)? {
            None => content(entry),
            fault => Ok(fault),
        }
    }

    /// Returns the fault of a file outside its body.
    pub(super) fn records(&self, path: &Path, entry: &Entry) -> Result<Option<Reason>> {
        match blocks_of_records(entry) {
            None if entry.is_compressed => gzip::fault(self.disk, path),
            fault => Ok(fault),
        }
    }

    fn overlay(&self, path: &Path) -> Result<Option<FileFault>> {
        if !self.is_there(path)? {
            return Ok(None);
        }
        let leftover = |why| Ok(Some(FileFault::new(why, Remedy::Remove)));
        let of = overlay::entry_path(path);
        let entry = match read::read(self.disk, self.root, &of, None)? {
            EntryContent::Whole(entry) => entry,
            // The entry of this update file is damaged or moved. The fault is reported for the
            // entry.
            EntryContent::Bad(_) | EntryContent::Moved => return Ok(None),
            EntryContent::Missing if named(&of) == NameKind::Entry => {
                return leftover("the update of a missing entry");
            }
            // No lookup uses an update file of this name.
            EntryContent::Missing => {
                return Ok(Some(FileFault::new(
                    "it does not belong to the spool",
                    Remedy::Foreign,
                )));
            }
        };
        if entry.file().is_none() || entry.shares_body() {
            return leftover("an update that its entry already contains");
        }
        match overlay::read(self.disk, path, &entry)? {
            OverlayLookup::Its(_) => Ok(None),
            OverlayLookup::Nothing => leftover("the update of an earlier entry"),
            OverlayLookup::Bad => {
                let why = "the update of its entry is damaged";
                Ok(Some(FileFault::new(why, Remedy::Distrust)))
            }
        }
    }

    fn segment(&self, path: &Path) -> Result<Option<FileFault>> {
        let segment = match read::read_part(self.disk, path, None)? {
            EntryContent::Missing | EntryContent::Moved => return Ok(None),
            EntryContent::Whole(segment) => segment,
            EntryContent::Bad(reason) => return Ok(Some(FileFault::set_aside(reason))),
        };
        if let Some(reason) = self.body(path, &segment)? {
            return Ok(Some(FileFault::set_aside(reason)));
        }
        let right = files::path_of(self.root, &segment);
        if right == path {
            return Ok(None);
        }
        if self.is_there(&right)? {
            let why = "it belongs to another place, which has this segment already";
            return Ok(Some(FileFault::set_aside(why)));
        }
        let to = right.strip_prefix(self.root).unwrap_or(&right).to_owned();
        Ok(Some(FileFault::new("it belongs to another place", Remedy::Rename(to))))
    }

    fn interrupted_download(&self, path: &Path) -> Result<Option<FileFault>> {
        if !salvage::is_checkpoint(path) {
            let has_checkpoints = self.is_there(&path.with_extension(salvage::CHECKPOINT))?;
            let why = "an interrupted download without its checkpoints";
            return Ok((!has_checkpoints).then(|| FileFault::new(why, Remedy::Wait)));
        }
        if !self.is_there(&path.with_extension(salvage::UNFINISHED))? {
            let why = "checkpoints without their download";
            return Ok(Some(FileFault::new(why, Remedy::Wait)));
        }
        let why = match salvage::CheckpointFile::from(self.disk, path)? {
            None if !self.is_there(path)? => return Ok(None),
            None => "it is not a file of checkpoints",
            Some(read) if files::directory(self.root, &read.place) == parent(path) => {
                return Ok(None);
            }
            Some(_) => "it belongs to another place",
        };
        Ok(Some(FileFault::set_aside(why)))
    }

    fn request(&self, path: &Path, role: FileRole) -> Result<Option<FileFault>> {
        let (directory, most) = match role {
            FileRole::Monitor => (MONITOR, MAX_MONITOR_FILE),
            _ => (OUTGOING, MAX_REQUEST_FILE),
        };
        let bytes = match read_whole(self.disk, path, most)? {
            None => return Ok(None),
            Some(Err(reason)) => return Ok(Some(FileFault::set_aside(reason))),
            Some(Ok(bytes)) => bytes,
        };
        let vault = self.vault.as_ref();
        let decoded = match role {
            FileRole::Monitor => Monitor::decode(&bytes, vault).map(|monitor| monitor.request),
            _ => Outgoing::decode(&bytes, vault),
        };
        let decoded = decoded.and_then(|request| check_block(&bytes).map(|()| request));
        let request = match decoded {
            Ok(request) => request,
            Err(reason) => return Ok(Some(FileFault::set_aside(reason))),
        };
        let to = Path::new(directory).join(format!("{}{EXTENSION}", request.summary.place.key()));
        let right = self.root.join(&to);
        if right != path {
            let is_there = self.is_there(&right)?;
            let remedy = if is_there { Remedy::SetAside } else { Remedy::Rename(to) };
            return Ok(Some(FileFault::new("its name is not that of its URL", remedy)));
        }
        let why = "its secrets were sealed with another key than the one of this spool";
        let is_sealed = matches!(request.secrets, Secrets::Unreadable(_));
        Ok(is_sealed.then(|| FileFault::new(why, Remedy::Nothing)))
    }

    fn run(&self, path: &Path) -> Result<Option<FileFault>> {
        self.text(path, MAX_RUN, |bytes| {
            let is_text = std::str::from_utf8(bytes).is_ok();
            if is_text { Ok(()) } else { Err("it is not a text of a run") }
        })
    }

    /// Checks a small file that is read as a whole.
    fn text(
        &self,
        path: &Path,
        most: usize,
        reason: impl Fn(&[u8]) -> Result<(), Reason>,
    ) -> Result<Option<FileFault>> {
        let Some(bytes) = read_whole(self.disk, path, most)? else { return Ok(None) };
        let why = bytes.and_then(|bytes| reason(&bytes));
        Ok(why.err().map(FileFault::set_aside))
    }
}

/// The fault of a file that cannot be read.
pub(super) fn unreadable(error: &Error) -> FileFault {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    let why = format!("it cannot be read{}", source.unwrap_or_default());
    FileFault::new(why, Remedy::Nothing)
}

fn named(path: &Path) -> NameKind {
    path.file_name().and_then(|name| name.to_str()).map_or(NameKind::Other, name::named)
}

/// Reads a body completely, and returns its fault.
pub(super) fn content(entry: &Entry) -> Result<Option<Reason>> {
    let Body::File(file) = entry.body() else { return Ok(None) };
    let (mut verifier, mut summing) = (file.verifier(), BlockSummer::new());
    let read = for_each_piece(file, |piece| {
        verifier.update(piece);
        summing.update(piece);
    });
    match read {
        Err(error) if error.is_damaged() => return Ok(Some(gzip::BROKEN)),
        done => done?,
    }
    if !verifier.finish() {
        return Ok(Some("its body does not match its digest"));
    }
    let agrees = file.blocks.get().is_none_or(|blocks| *blocks == summing.finish());
    Ok((!agrees).then_some("its body does not match its checksums"))
}

/// Compares the blocks of the records behind the body with their digests. The checks of these
/// records were verified when the entry was read.
pub(super) fn blocks_of_records(entry: &Entry) -> Option<Reason> {
    let mut rest = entry.tail().strip_prefix(b"\r\n\r\n").unwrap_or_default();
    while !rest.is_empty() {
        if let Err(reason) = check_block(rest) {
            return Some(reason);
        }
        rest = parse_record(rest).map(|(_, _, rest)| rest).unwrap_or_default();
    }
    None
}

fn check_block(record: &[u8]) -> Result<(), Reason> {
    let (header, block, _): (Header<'_>, _, _) = parse_record(record)?;
    let agrees = header.digest("WARC-Block-Digest")? == <[u8; 32]>::from(Sha256::digest(block));
    if agrees { Ok(()) } else { Err("a block does not match its digest") }
}
