//! Having back what was removed.
//!
//! What has come to its place meanwhile stays there; what comes back is then an older version of it. Where that came
//! back too, and was stored earlier, it is the older version: the answer that came last is the entry, in whatever order
//! what was removed comes back.

use std::path::{Path, PathBuf};

use super::{Removal, RemovedKind, named};
use crate::durability::Durability;
use crate::entry::overlay::{entry_path, overlay_path};
use crate::entry::place::Place;
use crate::entry::read::Content;
use crate::entry::{Entry, overlay, read};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::tree::shelf::MAX_VARIANTS;
use crate::tree::versions::version_path;
use crate::tree::{Tree, shelf};

/// What came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BroughtBack {
    /// Entries.
    pub entries: u64,
    /// Entries that are older versions now, of what has come meanwhile.
    pub overtaken: u64,
    /// Entries that are there already, with the same head and the same body.
    pub there: u64,
    /// Files that stay aside: they cannot be read, or there is no room for them among those of their URL that vary.
    pub left: u64,
}

/// Where something goes.
enum BackTarget {
    /// There.
    Path(PathBuf),
    /// It is there already.
    There,
    /// Nowhere.
    Nowhere,
}

impl Tree {
    /// Brings back what was removed together. Where another answer has come meanwhile, that stays the entry, and
    /// what comes back is an older version of it. `came` is told the place of each. `None`: there is no such thing,
    /// or no longer.
    pub(crate) fn bring_back(
        &self,
        removal: &Removal,
        came: &mut dyn FnMut(&Place),
    ) -> Result<Option<BroughtBack>> {
        if removal.is_over(self.root.disk.now()) {
            return Ok(None);
        }
        let _one = lock(&self.removals.resting);
        let base = self.root.join(removal.directory());
        let below = self.files_below(&base)?;
        let _moving = self.moving();
        let mut done = BroughtBack::default();
        let mut is_any = false;
        // Entries before versions: at each moment it is the newest that is found.
        for wanted in [RemovedKind::Entry, RemovedKind::Version] {
            for path in below.files.iter().filter(|path| named(path) == Some(wanted)) {
                is_any = true;
                if let Some(place) = self.bring_one(&base, path, &mut done)? {
                    came(&place);
                }
            }
        }
        for overlay in below.files.iter().filter(|path| named(path) == Some(RemovedKind::Overlay)) {
            // Left by a call that did not come to its end.
            if !self.root.is_file(&entry_path(overlay))? {
                self.root.remove_file(overlay)?;
            }
        }
        self.remove_directories(&below.directories);
        Ok(is_any.then_some(done))
    }

    /// Brings back an entry or a version with what was learnt of it, and tells its place. `None`: it stays aside.
    fn bring_one(&self, base: &Path, path: &Path, done: &mut BroughtBack) -> Result<Option<Place>> {
        let overlay = overlay_path(path);
        let entry = match read::read(&*self.root.disk, &self.root.path, path, None)? {
            Content::Whole(entry) => entry,
            Content::Missing | Content::Moved => return Ok(None),
            Content::Bad(reason) => {
                done.left += 1;
                self.root.fail(Error::damaged(self.root.move_aside(path, reason)));
                return Ok(None);
            }
        };
        let place = entry.place();
        let _told = self.changing(place);
        let to = {
            let _commit = lock(&self.commit);
            let to = self.place_for(base, path, &entry)?;
            if let BackTarget::Path(to) = &to {
                self.put_back(path, &entry, to)?;
            }
            to
        };
        match to {
            BackTarget::Nowhere => {
                done.left += 1;
                return Ok(None);
            }
            BackTarget::There => done.there += u64::from(named(path) == Some(RemovedKind::Entry)),
            BackTarget::Path(to) => {
                if self.root.durability != Durability::None {
                    self.root.sync_names(&[parent(&to)])?;
                }
                if named(path) == Some(RemovedKind::Entry) {
                    let is_entry = to != self.root.join(version_path(place, entry.stored()));
                    done.entries += u64::from(is_entry);
                    done.overtaken += u64::from(!is_entry);
                }
            }
        }
        self.root.remove_file(path)?;
        self.root.remove_file(&overlay)?;
        Ok(Some(place.clone()))
    }

    /// Gives what rests at `path` its name, after what was learnt of it. `commit` is held, over syncs.
    fn put_back(&self, path: &Path, entry: &Entry, to: &Path) -> Result<()> {
        let (aside, beside) = (overlay_path(path), overlay_path(to));
        if self.root.is_file(&aside)? {
            self.root.link_into_place(&aside, &beside)?;
            if self.root.durability != Durability::None {
                // The entry must never be there without it.
                self.root.sync_names(&[parent(to)])?;
            }
        }
        // Where a file has one name only it goes last, and is whole.
        self.root.link_into_place(path, to)?;
        self.root.leaves_tmp();
        if matches!(
            overlay::read(&*self.root.disk, &beside, entry)?,
            overlay::OverlayLookup::Nothing
        ) {
            // Of what lay there before, if there is anything.
            self.drop_overlay(to)?;
        }
        Ok(())
    }

    /// Where something goes that lies at `path`; everything else is out of its way there. `commit` is held.
    fn place_for(&self, base: &Path, path: &Path, entry: &Entry) -> Result<BackTarget> {
        let (place, below) = (entry.place(), path.strip_prefix(base).unwrap_or(path));
        let version = version_path(place, entry.stored());
        let is_entry = [place.single_path(), place.variant_path()].iter().any(|home| below == home);
        if !is_entry && below != version {
            // Nobody would find it where it says that it was.
            return Ok(BackTarget::Nowhere);
        }
        if is_entry {
            // What waits for its batch has to be on the medium before anything goes for it.
            self.settle_waiting(place)?;
            let Some((at, there)) = self.settled(place)? else { return self.free_name(place) };
            if is_same(&there, entry) {
                if self.root.durability != Durability::None {
                    self.root.sync_names(&[parent(&at)])?;
                }
                return Ok(BackTarget::There);
            }
            if let Some(to) = self.overtake(path, entry, &there)? {
                return Ok(BackTarget::Path(to));
            }
        }
        let version = self.root.join(version);
        // A name tells all of it: what has it is this one.
        Ok(if self.root.is_file(&version)? { BackTarget::There } else { BackTarget::Path(version) })
    }

    /// Makes the entry of a place an older version, if what lies at `path` was stored later; where that goes then.
    /// `commit` is held, over syncs.
    fn overtake(&self, path: &Path, newer: &Entry, there: &Entry) -> Result<Option<PathBuf>> {
        if there.order() >= newer.order() {
            return Ok(None);
        }
        let to = self.name_for(newer.place())?;
        let older = match self.settled(newer.place())? {
            Some((at, older)) if at == to && older.id() == there.id() => older,
            _ => return Ok(None),
        };
        self.link_version(&older, &to)?;
        if self.root.is_file(&overlay_path(path))? {
            // What was learnt of both cannot lie there at once, and neither may be there without it: so for a moment
            // there is neither, and what comes back can still be had.
            self.root.remove_file(&to)?;
            if self.root.durability != Durability::None {
                self.root.sync_names(&[parent(&to)])?;
            }
        }
        Ok(Some(to))
    }

    /// The name for the entry of a place that has none, unless another would have to go for it.
    fn free_name(&self, place: &Place) -> Result<BackTarget> {
        let directory = self.root.join(place.variants_path());
        let others = shelf::names(&*self.root.disk, &directory)?;
        if others.len() >= MAX_VARIANTS && !others.contains(&place.variant_name()) {
            return Ok(BackTarget::Nowhere);
        }
        self.name_for(place).map(BackTarget::Path)
    }
}

/// Whether one of them is enough. The body alone does not tell: most redirects have none, and most errors one for all.
fn is_same(there: &Entry, entry: &Entry) -> bool {
    let is_alike = there.digest() == entry.digest() && there.head() == entry.head();
    there.id() == entry.id() || is_alike
}
