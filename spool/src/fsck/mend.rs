//! Repairing faults, so that a crash at any step loses no file.
//!
//! During a repair no other process has the spool open. A renamed file has both names until the new
//! name is durable.

use std::path::{Path, PathBuf};

use super::file_check::{FileCheck, FileRole};
use super::finding::{CheckVerdict, FileFault, Remedy};
use crate::durability::DAMAGED;
use crate::entry::layout::EntryState;
use crate::entry::overlay::overlay_path;
use crate::entry::read::EntryContent;
use crate::entry::{Entry, overlay, read};
use crate::error::{Error, Result};
use crate::fs::parent;
use crate::tree::Tree;

/// The reason for an update file that is set aside with its entry.
const OF_ASIDE: &str = "the update of an entry that was set aside";

/// Carries out a remedy. Returns the verdict, and the new path if the file was moved.
pub(super) fn apply_remedy(
    tree: &Tree,
    check: &FileCheck<'_>,
    (path, role): (&Path, Option<FileRole>),
    fault: &FileFault,
) -> Result<(CheckVerdict, Option<PathBuf>)> {
    let below =
        |path: PathBuf| path.strip_prefix(&tree.root.path).map(Path::to_owned).unwrap_or(path);
    Ok(match &fault.remedy {
        Remedy::Rename(to) => {
            rename(tree, check, (path, role), &tree.root.join(to))?;
            (CheckVerdict::Repaired, Some(to.clone()))
        }
        Remedy::SetAside => {
            let to = set_aside(tree, path, &fault.reason)?;
            if matches!(role, Some(FileRole::Entry | FileRole::Resting)) {
                // The update file is moved after its entry: an entry must never exist without its
                // update file.
                let overlay = overlay_path(path);
                if tree.root.is_file(&overlay)? {
                    set_aside(tree, &overlay, OF_ASIDE)?;
                }
            }
            (CheckVerdict::SetAside, Some(below(to)))
        }
        Remedy::Unhide => {
            let (verdict, to) = unhide(tree, check, path)?;
            (verdict, Some(below(to)))
        }
        Remedy::Distrust => {
            distrust(tree, path, &fault.reason)?;
            (CheckVerdict::Repaired, None)
        }
        Remedy::Narrow(mode) => {
            let narrowed = tree.root.disk.set_mode(path, *mode);
            narrowed.map_err(|error| Error::disk("change the permissions of", path, error))?;
            (CheckVerdict::Repaired, None)
        }
        Remedy::Remove => {
            tree.root.remove_file(path)?;
            (CheckVerdict::Removed, None)
        }
        Remedy::Wait | Remedy::Nothing | Remedy::Foreign => (fault.verdict(), None),
    })
}

/// Renames a file together with its update file. If another misnamed file has the target name, that
/// file is renamed next, and so on.
fn rename(
    tree: &Tree,
    check: &FileCheck<'_>,
    (from, role): (&Path, Option<FileRole>),
    to: &Path,
) -> Result<()> {
    let mut next = Some((from.to_owned(), to.to_owned()));
    // Each round moves one file to its final name.
    while let Some((from, to)) = next {
        next = rename_one(tree, check, (&from, role), &to)?;
    }
    Ok(())
}

/// Renames one file. If the target name is taken, the file there is invalid, older, or misnamed. A
/// misnamed file gets a temporary name, and its temporary path and its right path are returned. Any
/// other file there is moved to `damaged/`.
fn rename_one(
    tree: &Tree,
    check: &FileCheck<'_>,
    (from, role): (&Path, Option<FileRole>),
    to: &Path,
) -> Result<Option<(PathBuf, PathBuf)>> {
    let about = tree.root.disk.about(to).map_err(|error| Error::disk("look at", to, error))?;
    let is_entry = role == Some(FileRole::Entry);
    let mut parked = None;
    if about.is_some() {
        // A misnamed file at `to` gets a second name, and loses its present name when the renamed
        // file replaces it.
        match check.fault(FileRole::Entry, to).filter(|_| is_entry).map(|fault| fault.remedy) {
            Some(Remedy::Rename(right)) => parked = Some(park(tree, to, &right)?),
            // The file with the target name is unreadable, so its content must not be lost.
            Some(Remedy::Nothing) => {
                return Err(Error::disk("read", to, std::io::ErrorKind::InvalidData.into()));
            }
            _ => {
                link_aside(tree, to, "a newer entry of its URL had another name")?;
            }
        }
    }
    let (overlay, overlay_to) = (overlay_path(from), overlay_path(to));
    let has_overlay = is_entry && tree.root.is_file(&overlay)?;
    if has_overlay {
        tree.root.link_into_place(&overlay, &overlay_to)?;
        // The entry must never exist without its update file, so the new name of the update file is
        // synced first.
        tree.root.sync_names(&[parent(to)])?;
    }
    tree.root.link_into_place(from, to)?;
    tree.root.sync_names(&[parent(to)])?;
    tree.root.remove_file(from)?;
    tree.root.sync_dir(parent(from))?;
    if has_overlay {
        tree.root.remove_file(&overlay)?;
        // The directory of the new name may have been checked already, so the renamed update file
        // is judged here.
        let fault = check.fault(FileRole::Overlay, &overlay_to);
        if let Some(fault) = fault.filter(|fault| fault.remedy == Remedy::Distrust) {
            distrust(tree, &overlay_to, &fault.reason)?;
        }
    }
    Ok(parked)
}

/// Gives a misnamed entry, and its update file, a second name in the directory where it belongs.
fn park(tree: &Tree, path: &Path, right: &Path) -> Result<(PathBuf, PathBuf)> {
    let right = tree.root.join(right);
    let beside = right.with_file_name(format!("{}.warc", tree.root.stamp().as_microsecond()));
    let overlay = overlay_path(path);
    if tree.root.is_file(&overlay)? {
        tree.root.link_into_place(&overlay, &overlay_path(&beside))?;
    }
    tree.root.link_into_place(path, &beside)?;
    tree.root.sync_names(&[parent(&beside)])?;
    Ok((beside, right))
}

/// Moves a file to `damaged/`, with a note.
fn set_aside(tree: &Tree, path: &Path, reason: &str) -> Result<PathBuf> {
    let to = link_aside(tree, path, reason)?;
    // If the file system allows only one name, the file was moved, and this removes nothing.
    tree.root.remove_file(path)?;
    tree.root.sync_dir(parent(path))?;
    Ok(to)
}

/// Gives a file a second name in `damaged/`, durably. If the file system allows only one
/// name, moves the file.
fn link_aside(tree: &Tree, path: &Path, reason: &str) -> Result<PathBuf> {
    let to = tree.root.name_aside(path);
    tree.root.link_into_place(path, &to)?;
    tree.root.write_note(path, &to, reason);
    tree.root.sync_names(&[&tree.root.join(DAMAGED)])?;
    Ok(to)
}

/// Moves the entry that hides the variants of its key into their directory, or sets it aside if a
/// newer entry is there.
fn unhide(tree: &Tree, check: &FileCheck<'_>, path: &Path) -> Result<(CheckVerdict, PathBuf)> {
    let entry = read_valid(tree, path)?;
    let place = entry.place();
    let to = tree.root.join(check.name_of_entry(place)?);
    if let EntryContent::Whole(there) = read::read(&*tree.root.disk, &tree.root.path, &to, None)?
        && there.place() == place
        && there.order() > entry.order()
    {
        let why = "a newer entry is among the variants of its URL";
        return Ok((CheckVerdict::SetAside, set_aside(tree, path, why)?));
    }
    tree.move_single(place, parent(&to))?;
    Ok((CheckVerdict::Repaired, to))
}

/// Replaces a damaged update file by one that marks the entry as invalid.
fn distrust(tree: &Tree, path: &Path, reason: &str) -> Result<()> {
    let entry = read_valid(tree, &overlay::entry_path(path))?;
    link_aside(tree, path, reason)?;
    let state = EntryState {
        invalid: Some(entry.stored()),
        updated: Some(tree.root.stamp()),
        ..*entry.state()
    };
    let bytes = overlay::encode(&entry, entry.head(), &state)?;
    tree.root.replace_file(path, &bytes)
}

/// Reads an entry that was valid a moment ago.
fn read_valid(tree: &Tree, path: &Path) -> Result<Entry> {
    match read::read(&*tree.root.disk, &tree.root.path, path, None)? {
        EntryContent::Whole(entry) => Ok(entry),
        _ => Err(Error::disk("read", path, std::io::ErrorKind::InvalidData.into())),
    }
}
