//! Mending: what was found is put right, so that a stop at any step leaves everything somewhere.
//!
//! Nobody else has the spool open. What gets another name has both until the new one is on the medium.

use std::path::{Path, PathBuf};

use super::finding::{Fault, Remedy, Verdict};
use super::judge::{Judge, Role};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::layout::State;
use crate::overlay::{self, overlay_path};
use crate::read::{self, Content};
use crate::store::{DAMAGED, Store, parent};

/// What goes with something that was set aside.
const OF_ASIDE: &str = "what was learnt of an entry that was set aside";

/// Carries a remedy out. Gives what there is to say now, and where the thing is.
pub(super) fn mend(
    store: &Store,
    judge: &Judge<'_>,
    (path, role): (&Path, Option<Role>),
    fault: &Fault,
) -> Result<(Verdict, Option<PathBuf>)> {
    let below = |path: PathBuf| path.strip_prefix(&store.root).map(Path::to_owned).unwrap_or(path);
    Ok(match &fault.remedy {
        Remedy::Rename(to) => {
            rename(store, judge, (path, role), &store.root.join(to))?;
            (Verdict::Repaired, Some(to.clone()))
        }
        Remedy::SetAside => {
            let to = set_aside(store, path, &fault.reason)?;
            if matches!(role, Some(Role::Entry | Role::Resting)) {
                // After its entry: that must never be there alone.
                let overlay = overlay_path(path);
                if store.is_file(&overlay)? {
                    set_aside(store, &overlay, OF_ASIDE)?;
                }
            }
            (Verdict::SetAside, Some(below(to)))
        }
        Remedy::Unhide => match unhide(store, judge, path)? {
            Unhidden::Among(to) => (Verdict::Repaired, Some(below(to))),
            Unhidden::Aside(to) => (Verdict::SetAside, Some(below(to))),
        },
        Remedy::Distrust => {
            distrust(store, path, &fault.reason)?;
            (Verdict::Repaired, None)
        }
        Remedy::Narrow(mode) => {
            let narrowed = store.disk.set_mode(path, *mode);
            narrowed.map_err(|error| Error::disk("change who may use", path, error))?;
            (Verdict::Repaired, None)
        }
        Remedy::Remove => {
            store.remove_file(path)?;
            (Verdict::Removed, None)
        }
        Remedy::Wait | Remedy::Nothing | Remedy::Foreign => (fault.verdict(), None),
    })
}

/// Gives a file its right name, with what was learnt of it; and then what had that name and should have
/// another, if something had.
fn rename(
    store: &Store,
    judge: &Judge<'_>,
    (from, role): (&Path, Option<Role>),
    to: &Path,
) -> Result<()> {
    let mut next = Some((from.to_owned(), to.to_owned()));
    // Each turn brings one where it stays.
    while let Some((from, to)) = next {
        next = rename_one(store, judge, (&from, role), &to)?;
    }
    Ok(())
}

/// The same for one file. What has the name is none, or older, or should have another name itself: then it is
/// beside that now, which is given too.
fn rename_one(
    store: &Store,
    judge: &Judge<'_>,
    (from, role): (&Path, Option<Role>),
    to: &Path,
) -> Result<Option<(PathBuf, PathBuf)>> {
    let about = store.disk.about(to).map_err(|error| Error::disk("look at", to, error))?;
    let is_entry = role == Some(Role::Entry);
    let mut parked = None;
    if about.is_some() {
        // It has both names until the other takes its place.
        match judge.fault(Role::Entry, to).filter(|_| is_entry).map(|fault| fault.remedy) {
            Some(Remedy::Rename(right)) => parked = Some(park(store, to, &right)?),
            // Nobody knows what it is.
            Some(Remedy::Nothing) => {
                return Err(Error::disk("read", to, std::io::ErrorKind::InvalidData.into()));
            }
            _ => {
                link_aside(store, to, "a newer one of its URL had another name")?;
            }
        }
    }
    let (overlay, overlay_to) = (overlay_path(from), overlay_path(to));
    let has_overlay = is_entry && store.is_file(&overlay)?;
    if has_overlay {
        store.link_into_place(&overlay, &overlay_to)?;
        // The entry must never be there alone.
        store.sync_names(&[parent(to)])?;
    }
    store.link_into_place(from, to)?;
    store.sync_names(&[parent(to)])?;
    store.remove_file(from)?;
    store.sync_dir(parent(from))?;
    if has_overlay {
        store.remove_file(&overlay)?;
        // Its directory may have been looked at already.
        let fault = judge.fault(Role::Overlay, &overlay_to);
        if let Some(fault) = fault.filter(|fault| fault.remedy == Remedy::Distrust) {
            distrust(store, &overlay_to, &fault.reason)?;
        }
    }
    Ok(parked)
}

/// Gives an entry a second name in the directory that its right one lies in, with what was learnt of it.
fn park(store: &Store, path: &Path, right: &Path) -> Result<(PathBuf, PathBuf)> {
    let right = store.root.join(right);
    let beside = right.with_file_name(format!("{}.warc", store.stamp().as_microsecond()));
    let overlay = overlay_path(path);
    if store.is_file(&overlay)? {
        store.link_into_place(&overlay, &overlay_path(&beside))?;
    }
    store.link_into_place(path, &beside)?;
    store.sync_names(&[parent(&beside)])?;
    Ok((beside, right))
}

/// Puts something out of the way, into `damaged/`, with a note that tells why.
fn set_aside(store: &Store, path: &Path, reason: &str) -> Result<PathBuf> {
    let to = link_aside(store, path, reason)?;
    // Where it could have one name only it has gone already.
    store.remove_file(path)?;
    store.sync_dir(parent(path))?;
    Ok(to)
}

/// Gives something a second name in `damaged/`, on the medium; where it can have one only, that one.
fn link_aside(store: &Store, path: &Path, reason: &str) -> Result<PathBuf> {
    let to = store.name_aside(path);
    store.link_into_place(path, &to)?;
    store.note_aside(path, &to, reason);
    store.sync_names(&[&store.root.join(DAMAGED)])?;
    Ok(to)
}

enum Unhidden {
    Among(PathBuf),
    Aside(PathBuf),
}

/// Moves the entry that hides those of its key that vary in among them.
fn unhide(store: &Store, judge: &Judge<'_>, path: &Path) -> Result<Unhidden> {
    let entry = whole(store, path)?;
    let place = entry.place();
    let to = store.root.join(judge.name_of_entry(place)?);
    if let Content::Whole(there) = read::read(&*store.disk, &store.root, &to, None)?
        && there.place() == place
        && there.order() > entry.order()
    {
        let why = "a newer one lies among the entries of its URL that vary";
        return set_aside(store, path, why).map(Unhidden::Aside);
    }
    store.move_single(place, parent(&to))?;
    Ok(Unhidden::Among(to))
}

/// Writes down that an entry may not be what its origin would answer, in place of what was learnt of it
/// and cannot be read any more.
fn distrust(store: &Store, path: &Path, reason: &str) -> Result<()> {
    let entry = whole(store, &super::name::entry_of(path))?;
    link_aside(store, path, reason)?;
    let state =
        State { invalid: Some(entry.stored()), updated: Some(store.stamp()), ..*entry.state() };
    let bytes = overlay::encode(&entry, entry.head(), &state)?;
    store.replace_file(path, &bytes)
}

/// The entry at a path, which was one a moment ago.
fn whole(store: &Store, path: &Path) -> Result<Entry> {
    match read::read(&*store.disk, &store.root, path, None)? {
        Content::Whole(entry) => Ok(entry),
        _ => Err(Error::disk("read", path, std::io::ErrorKind::InvalidData.into())),
    }
}
