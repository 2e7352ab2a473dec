//! The segments on disk: look up, store, remove.
//!
//! [`SegmentLocks::lock_names`](super::SegmentLocks::lock_names) is held while names below
//! `partial/` change, but not during a sync or a copy.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Partial;
use crate::durability::{Durability, PARTIAL};
use crate::entry::Entry;
use crate::entry::body::is_whole;
use crate::entry::part::SegmentedBody;
use crate::entry::place::{EXTENSION, Place};
use crate::entry::read::{EntryContent, read_part};
use crate::entry::verified::span;
use crate::entry::warc::Reason;
use crate::error::{Damage, Result, SpoolFault};
use crate::fs::names::names_if_any;
use crate::fs::{Disk, parent};
use crate::tree::{FinishedFile, Tree, salvage};

/// The largest number of segments of one place. If it is exceeded, two neighbours are joined, or
/// the oldest segment is removed.
pub const MAX_SEGMENTS: usize = 32;

/// The largest number of variants of a key with segments.
const MAX_VARIANTS: usize = 8;

/// The largest number of names read in a directory of segments, because it may have foreign files.
const MAX_NAMES: usize = 16 * MAX_SEGMENTS;

/// The number of attempts of a lookup if segments vanish while they are opened.
const TRIES: usize = 4;

/// The number of digits in a name, enough for any `u64`.
const DIGITS: usize = 20;

/// The content of a directory of segments.
#[derive(Debug, Default)]
pub(super) struct SegmentSet {
    /// The segments of the newest body, the newest last.
    pub(super) segments: Vec<Entry>,
    /// The segments of an older body.
    superseded: Vec<Entry>,
    /// The invalid files.
    bad: Vec<(PathBuf, Reason)>,
    /// Whether a file was gone when it was opened.
    vanished: bool,
}

/// Reads the segments of a place. Invalid files are set aside, and outdated files are removed.
pub(crate) fn read(tree: &Tree, place: &Place) -> Result<Option<Partial>> {
    let mut found = read_set(&*tree.root.disk, &tree.root.path, place)?;
    for _ in 1..TRIES {
        if !found.vanished {
            break;
        }
        found = read_set(&*tree.root.disk, &tree.root.path, place)?;
    }
    if !found.bad.is_empty() || !found.superseded.is_empty() {
        // An invalid or outdated file may have been replaced in the meantime. So the directory is
        // read again while names cannot change.
        let _parts = tree.segments.lock_names();
        found = read_set(&*tree.root.disk, &tree.root.path, place)?;
        for (path, reason) in &found.bad {
            tree.root.move_aside(path, reason);
        }
        for segment in &found.superseded {
            tree.root.remove_file(&path_of(&tree.root.path, segment))?;
        }
    }
    Ok(Partial::new(place, found.segments))
}

/// Reads the segments of a place without changing anything.
pub(crate) fn read_only(disk: &dyn Disk, root: &Path, place: &Place) -> Result<Option<Partial>> {
    Ok(Partial::new(place, read_set(disk, root, place)?.segments))
}

/// Makes a finished file under `tmp/` a segment of its place, and removes the segments that become
/// useless. With `instead`, the new segment replaces the segments finished at these times, and is
/// discarded unless all of them still exist. Returns its path; `None` if it was useless and
/// discarded.
pub(crate) fn admit(
    tree: &Tree,
    finished: &FinishedFile,
    instead: &[Timestamp],
) -> Result<Option<PathBuf>> {
    if tree.root.is_synced() {
        finished.sync()?;
    }
    let EntryContent::Whole(new) = read_file(&*tree.root.disk, &finished.path, &finished.place)?
    else {
        return Err(SpoolFault::WriterBroken.into());
    };
    let to = path_of(&tree.root.path, &new);
    let _told = tree.changing(&finished.place);
    {
        let _parts = tree.segments.lock_names();
        let found = read_set(&*tree.root.disk, &tree.root.path, &finished.place)?;
        let there = |stored: &Timestamp| found.segments.iter().any(|it| it.stored() == *stored);
        let is_useful = match instead {
            [] => !found.segments.iter().any(|old| have_same_body(&new, old) && covers(old, &new)),
            instead => instead.iter().all(there),
        };
        if !is_useful {
            tree.root.remove_file(&finished.path)?;
            return Ok(None);
        }
        tree.root.leaves_tmp();
        tree.root.rename_into_place(&finished.path, &to)?;
        for old in found.segments.iter().chain(&found.superseded) {
            let path = path_of(&tree.root.path, old);
            if path != to && (!have_same_body(&new, old) || covers(&new, old)) {
                tree.root.remove_file(&path)?;
            }
        }
    }
    tree.root.sync_name(&to)?;
    Ok(Some(to))
}

/// Removes the segments and interrupted downloads of a place, and their empty directory. With
/// `before`, removes only segments finished, and downloads received, before that time. Returns
/// false if there were none.
pub(crate) fn remove(tree: &Tree, place: &Place, before: Option<Timestamp>) -> Result<bool> {
    remove_in(tree, &directory(&tree.root.path, place), place, before)
}

fn remove_in(
    tree: &Tree,
    directory: &Path,
    place: &Place,
    before: Option<Timestamp>,
) -> Result<bool> {
    let mut removed = false;
    {
        let _parts = tree.segments.lock_names();
        loop {
            let (names, mut here) = (names(&*tree.root.disk, directory)?, false);
            for name in &names {
                let path = directory.join(name);
                let is_ours = start_of(name).is_some() || salvage::is_left(name);
                if is_ours && !is_newer(tree, &path, place, before)? {
                    here |= tree.root.remove_file(&path)?;
                }
            }
            removed |= here;
            if !here || names.len() < MAX_NAMES {
                break;
            }
        }
        if removed {
            // Fails if the directory has foreign files, which stay.
            let _ = tree.root.disk.remove_dir(directory);
        }
    }
    if removed && before.is_none() && tree.root.durability == Durability::Each {
        // After a crash, the names that the files had below `tmp/` could come back too.
        tree.root.sync_tmp()?;
        tree.root.sync_names(&[directory, parent(directory)])?;
    }
    Ok(removed)
}

/// Whether the file at a path is a segment that was finished at `time` or later, or an interrupted
/// download whose response arrived at `time` or later.
fn is_newer(tree: &Tree, path: &Path, place: &Place, time: Option<Timestamp>) -> Result<bool> {
    let Some(time) = time else { return Ok(false) };
    if path.file_name().is_some_and(salvage::is_left) {
        return salvage::is_newer(&*tree.root.disk, path, time);
    }
    let found = read_file(&*tree.root.disk, path, place)?;
    Ok(matches!(found, EntryContent::Whole(segment) if segment.stored() >= time))
}

/// Removes one segment, if it still exists.
pub(super) fn remove_one(tree: &Tree, segment: &Entry) -> Result<()> {
    let _parts = tree.segments.lock_names();
    let path = path_of(&tree.root.path, segment);
    if let EntryContent::Whole(now) = read_file(&*tree.root.disk, &path, segment.place())?
        && now.stored() == segment.stored()
    {
        tree.root.remove_file(&path)?;
    }
    Ok(())
}

/// Reads every segment of a place completely, and sets damaged ones aside.
pub(crate) fn repair_segments(tree: &Tree, place: &Place) -> Result<Vec<Damage>> {
    let mut damages = Vec::new();
    for segment in read_set(&*tree.root.disk, &tree.root.path, place)?.segments {
        if is_whole(&segment)? {
            continue;
        }
        let _parts = tree.segments.lock_names();
        let path = path_of(&tree.root.path, &segment);
        if let EntryContent::Whole(now) = read_file(&*tree.root.disk, &path, place)?
            && now.stored() == segment.stored()
        {
            damages.push(tree.root.move_aside(&path, "its body does not match its digest"));
        }
    }
    Ok(damages)
}

/// Whether both are segments of one body.
fn have_same_body(one: &Entry, other: &Entry) -> bool {
    let (Some(part), Some(second)) = (one.part(), other.part()) else { return false };
    part.whole.is_compatible_with(&second.whole)
        && part.whole.contains_range(span(other))
        && second.whole.contains_range(span(one))
}

/// Whether `outer` contains all bytes of `inner`.
fn covers(outer: &Entry, inner: &Entry) -> bool {
    match (span(outer), span(inner)) {
        (Some(outer), Some(inner)) => outer.0 <= inner.0 && inner.1 <= outer.1,
        _ => false,
    }
}

/// Reads the directory of a place.
fn read_set(disk: &dyn Disk, root: &Path, place: &Place) -> Result<SegmentSet> {
    let directory = directory(root, place);
    let (mut found, mut all) = (SegmentSet::default(), Vec::new());
    for name in names(disk, &directory)? {
        let path = directory.join(&name);
        let Some(start) = start_of(&name) else {
            if salvage::is_left(&name) {
                continue;
            }
            found.bad.push((path, "its name is not that of a segment"));
            continue;
        };
        match read_file(disk, &path, place)? {
            EntryContent::Whole(segment)
                if segment.part().map(|part| part.start) == Some(start) =>
            {
                all.push(segment);
            }
            EntryContent::Whole(_) => {
                found.bad.push((path, "its start differs from the one in its name"));
            }
            EntryContent::Missing | EntryContent::Moved => found.vanished = true,
            EntryContent::Bad(reason) => found.bad.push((path, reason)),
        }
    }
    all.sort_by_key(|segment| std::cmp::Reverse(segment.stored()));
    let mut body: Option<(SegmentedBody, u64)> = None;
    for segment in all {
        if joins(&mut body, &segment) {
            found.segments.push(segment);
        } else {
            found.superseded.push(segment);
        }
    }
    found.segments.reverse();
    Ok(found)
}

/// Whether a segment belongs to the body of the newer segments. `body` has that body and the end of
/// its last segment, and is updated.
fn joins(body: &mut Option<(SegmentedBody, u64)>, segment: &Entry) -> bool {
    let (Some(part), Some((_, end))) = (segment.part(), span(segment)) else { return false };
    let Some((whole, reached)) = body else {
        *body = Some((part.whole.clone(), end));
        return true;
    };
    let complete_length = whole.complete_length.or(part.whole.complete_length);
    let end = end.max(*reached);
    if !whole.is_compatible_with(&part.whole) || complete_length.is_some_and(|length| end > length)
    {
        return false;
    }
    (whole.complete_length, *reached) = (complete_length, end);
    true
}

fn read_file(disk: &dyn Disk, path: &Path, place: &Place) -> Result<EntryContent> {
    read_part(disk, path, Some(place))
}

/// The names in a directory, up to the limit.
pub(super) fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<OsString>> {
    names_if_any(disk, directory)?.take(MAX_NAMES).collect()
}

/// The directory for the segments of a place.
pub(crate) fn directory(root: &Path, place: &Place) -> PathBuf {
    let (group, key) = group_and_key(root, place);
    let is_varied = !place.variant_text().is_empty();
    group.join(if is_varied { format!("{key}.{}", place.variant_name()) } else { key })
}

/// The directory that contains the directories of all variants of a key, and the prefix of their
/// names.
fn group_and_key(root: &Path, place: &Place) -> (PathBuf, String) {
    let key = place.key().to_string();
    (root.join(PARTIAL).join(key.get(..2).unwrap_or_default()), key)
}

/// The existing directories of all variants of a key.
fn directories(tree: &Tree, place: &Place) -> Result<Vec<PathBuf>> {
    let (group, key) = group_and_key(&tree.root.path, place);
    let is_ours = |name: &OsString| {
        let rest = name.to_str().and_then(|name| name.strip_prefix(&key));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut found = Vec::new();
    for name in names_if_any(&*tree.root.disk, &group)? {
        found.extend(Some(name?).filter(is_ours).map(|name| group.join(name)));
    }
    Ok(found)
}

/// The places that have segments and the key of `place`.
pub(super) fn places(tree: &Tree, place: &Place) -> Result<Vec<Place>> {
    let found = places_and_times(tree, place)?;
    Ok(found.into_iter().map(|(place, _)| place).collect())
}

fn places_and_times(tree: &Tree, place: &Place) -> Result<Vec<(Place, Timestamp)>> {
    let mut found = Vec::new();
    for path in directories(tree, place)? {
        let newest = super::list::summary(&*tree.root.disk, &path)?;
        let newest = newest.filter(|it| it.place.is_variant_of(place));
        found.extend(newest.map(|it| (it.place, it.stored)));
    }
    Ok(found)
}

/// Limits the variants of a key that have segments to [`MAX_VARIANTS`]. Those to which nothing was
/// added for the longest time are removed.
pub(super) fn reduce_variants(tree: &Tree, place: &Place) -> Result<()> {
    if place.variant_text().is_empty() || directories(tree, place)?.len() <= MAX_VARIANTS {
        return Ok(());
    }
    let mut found = places_and_times(tree, place)?;
    found.sort_by_key(|(_, time)| *time);
    let many = found.len().saturating_sub(MAX_VARIANTS);
    for (place, _) in found.into_iter().take(many) {
        remove(tree, &place, None)?;
    }
    Ok(())
}

/// Removes the segments of a key, whatever their variant. Returns false if there were none.
pub(crate) fn remove_all(tree: &Tree, place: &Place) -> Result<bool> {
    let mut removed = false;
    for directory in directories(tree, place)? {
        removed |= remove_in(tree, &directory, place, None)?;
    }
    Ok(removed)
}

/// The path of a segment.
pub(crate) fn path_of(root: &Path, segment: &Entry) -> PathBuf {
    let start = segment.part().map_or(0, |part| part.start);
    directory(root, segment.place()).join(format!("{start:0DIGITS$}{EXTENSION}"))
}

/// The start of the segment with this name. `None` if it is not the name of a segment.
pub(crate) fn start_of(name: &OsStr) -> Option<u64> {
    let digits = name.to_str()?.strip_suffix(EXTENSION)?;
    let is_ours = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_ours)
}
