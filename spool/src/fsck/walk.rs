//! The walk of a check, one directory after the other. Only shared bodies are visited twice.

use std::path::{Path, PathBuf};

use super::CheckOptions;
use super::file_check::{FileCheck, FileRole, unreadable};
use super::finding::{CheckTotals, CheckVerdict, FileFault, Finding, Remedy};
use super::mend::apply_remedy;
use super::name::{self, NameKind};
use crate::durability::{DAMAGED, MONITOR, OUTGOING, PARTIAL, RUNS, TMP, aside, recent, reserve};
use crate::entry::holder::BODIES;
use crate::entry::place::{self, EXTENSION};
use crate::error::{Error, Result, is_missing};
use crate::fs::{FileInfo, FileKind};
use crate::notes::{
    collections, imports, local, own_pages, pins, shared, state, statistics, usage, used,
};
use crate::queue::membership::RunId;
use crate::queue::seal;
use crate::tree::removed::{REMOVED, Removal};
use crate::tree::segments::files;
use crate::tree::{Tree, salvage};
use wwwoffle_url::Key;

/// The largest number of faults that wait until their directory was read completely. Faults are
/// reported and repaired after that, because repairs change names.
const MAX_HELD: usize = 4_096;

/// The number of levels to which unexpected directories are followed.
const MAX_DEPTH: usize = 8;

/// The largest number of names in the root that are checked.
const MAX_ROOT: usize = 65_536;

/// Names in the root that are known, but not checked: some of the spool, some of other parts of the
/// program, and `lost+found` of an empty file system.
const KNOWN: [&str; 13] = [
    "version",
    "lock",
    "control",
    "ca",
    collections::COLLECTIONS,
    imports::IMPORTS,
    shared::TIER,
    used::FILE,
    recent::FILE,
    reserve::RESERVE,
    local::DIRECTORY,
    own_pages::DIRECTORY,
    "lost+found",
];

/// A fault that is not reported yet.
pub(super) struct PendingFault {
    path: PathBuf,
    role: Option<FileRole>,
    fault: FileFault,
}

/// A walk through a spool.
pub(super) struct CheckWalk<'a> {
    pub(super) check: FileCheck<'a>,
    pub(super) how: &'a CheckOptions,
    /// The tree that is repaired. `None`: nothing is changed, and other processes may change files
    /// during the check.
    pub(super) mender: Option<&'a Tree>,
    pub(super) sums: CheckTotals,
    pub(super) held: Vec<PendingFault>,
    pub(super) tell: &'a mut dyn FnMut(&Finding),
}

/// The function that checks each name in a directory.
type NameVisitor<'v, 'a> = &'v dyn Fn(&mut CheckWalk<'a>, &Path, &str, FileInfo);

impl<'a> CheckWalk<'a> {
    /// Checks the whole spool.
    pub(super) fn run(&mut self) -> Result<()> {
        let root = self.check.root;
        let fail = |error| Error::disk("read", root, error);
        let mut names = Vec::new();
        for name in self.check.disk.read_dir(root).map_err(fail)?.take(MAX_ROOT) {
            names.push(name.map_err(fail)?);
        }
        // `damaged/` and `tmp/` come last, because repairs move files to them. Bodies come before
        // the entries that refer to them.
        names.sort_by_key(|name| (name == DAMAGED, name == TMP, name != BODIES, name.clone()));
        for name in names {
            let path = root.join(&name);
            let Some(about) = self.about(&path) else { continue };
            self.in_root(&path, name.to_str().unwrap_or_default(), about);
            self.report_held();
        }
        self.bodies(&root.join(BODIES), FileRole::HolderAtTheEnd);
        Ok(())
    }

    fn in_root(&mut self, path: &Path, name: &str, about: FileInfo) {
        let is_directory = about.kind == FileKind::Directory;
        let is_scheme = place::scheme_of(name).is_some();
        match name {
            _ if is_scheme && (is_directory || about.kind == FileKind::Link) => {
                self.permissions(path, about, false);
                self.tree(path, 1);
            }
            TMP if is_directory => self.directory(path, &CheckWalk::in_tmp),
            DAMAGED if is_directory => self.directory(path, &CheckWalk::in_damaged),
            PARTIAL if is_directory => self.partial(path, 1),
            BODIES if is_directory => self.bodies(path, FileRole::Holder),
            OUTGOING if is_directory => self.files(path, FileRole::Request, name::is_key_file),
            MONITOR if is_directory => self.files(path, FileRole::Monitor, name::is_key_file),
            RUNS if is_directory => {
                self.files(path, FileRole::Run, |name| name.parse::<RunId>().is_ok());
            }
            REMOVED if is_directory => self.directory(path, &CheckWalk::in_removed),
            usage::USAGE if is_directory => {
                self.files(path, FileRole::Statistics, |name| usage::parse_day(name).is_some());
            }
            state::FILE => self.file(path, FileRole::State, about),
            statistics::FILE => self.file(path, FileRole::Statistics, about),
            seal::SECRET_FILE => self.file(path, FileRole::Secret, about),
            pins::FILE => self.file(path, FileRole::Pins, about),
            _ if KNOWN.contains(&name) || self.how.is_known(name) => {}
            _ => self.foreign(path),
        }
    }

    /// Checks the directory of a scheme and those below it. `depth` is 1 for the directory of a
    /// scheme, which contains those of hosts.
    fn tree(&mut self, path: &Path, depth: usize) {
        self.names(path, &|walk, path, name, about| match about.kind {
            FileKind::File => walk.in_tree(path, name, about),
            _ if name.ends_with(EXTENSION) => {
                walk.hold_fault(path, None, FileFault::set_aside("it is not a plain file"));
            }
            FileKind::Directory | FileKind::Link => {
                let is_ours = name::is_directory(name, depth);
                // Only the directory of a host may be a symbolic link.
                let is_followed = about.kind == FileKind::Directory || (is_ours && depth == 1);
                if is_ours && is_followed {
                    walk.permissions(path, about, false);
                } else {
                    walk.foreign(path);
                }
                if is_followed && depth < MAX_DEPTH {
                    walk.tree(path, depth + 1);
                } else {
                    // The directory is not followed, so the references in it are unknown.
                    walk.check.bodies.borrow_mut().is_blind = true;
                }
            }
            FileKind::Other => walk.foreign(path),
        });
    }

    fn in_tree(&mut self, path: &Path, name: &str, about: FileInfo) {
        match name::named(name) {
            NameKind::Entry | NameKind::AsEntry => self.checked(path, FileRole::Entry, about),
            NameKind::Overlay => self.checked(path, FileRole::Overlay, about),
            NameKind::Other => self.foreign(path),
        }
    }

    /// Checks `partial/` and the directories below it: groups of keys, keys, segments.
    fn partial(&mut self, path: &Path, depth: usize) {
        self.permissions_of(path);
        self.names(path, &|walk, path, name, about| {
            let is_directory = about.kind == FileKind::Directory;
            let is_key = |name: &str| name.split('.').all(|part| part.parse::<Key>().is_ok());
            match depth {
                1 if is_directory && name::is_group(name) => walk.partial(path, 2),
                2 if is_directory && is_key(name) => walk.partial(path, 3),
                1 | 2 => walk.foreign(path),
                _ => {
                    let name: &std::ffi::OsStr = name.as_ref();
                    if files::start_of(name).is_some() {
                        walk.file(path, FileRole::Segment, about);
                    } else if salvage::is_left(name) {
                        walk.file(path, FileRole::Left, about);
                    } else {
                        let why = "its name is not that of a segment";
                        walk.hold_fault(path, None, FileFault::set_aside(why));
                    }
                }
            }
        });
    }

    /// Checks `bodies/` and its groups. With the role [`FileRole::HolderAtTheEnd`], only looks for
    /// unneeded bodies.
    fn bodies(&mut self, path: &Path, role: FileRole) {
        let is_first = role == FileRole::Holder;
        if is_first {
            self.permissions_of(path);
        }
        self.names(path, &|walk, path, name, about| {
            if about.kind == FileKind::Directory && name::is_group(name) {
                walk.bodies_of(path, role);
            } else if is_first {
                walk.foreign(path);
            }
        });
    }

    fn bodies_of(&mut self, path: &Path, role: FileRole) {
        let is_first = role == FileRole::Holder;
        if is_first {
            self.permissions_of(path);
        }
        self.names(path, &|walk, path, name, about| match (name::is_key_file(name), is_first) {
            (true, true) => walk.file(path, role, about),
            (true, false) => {
                if let Some(fault) = walk.check.fault(role, path) {
                    walk.hold_fault(path, Some(role), fault);
                }
            }
            (false, true) => walk.foreign(path),
            (false, false) => {}
        });
    }

    /// Checks a directory of files with this role. Other names are foreign.
    fn files(&mut self, path: &Path, role: FileRole, is_ours: fn(&str) -> bool) {
        self.directory(path, &|walk, path, name, about| {
            if is_ours(name) {
                walk.file(path, role, about);
            } else {
                walk.foreign(path);
            }
        });
    }

    /// Checks a name in `removed/`.
    fn in_removed(&mut self, path: &Path, name: &str, about: FileInfo) {
        if about.kind == FileKind::Directory && name.parse::<Removal>().is_ok() {
            self.check_removal(path, 0);
        } else {
            self.foreign(path);
        }
    }

    /// Checks one directory below `removed/`, recursively. At `depth` 0 it contains schemes, at 1
    /// hosts, at 2 the first two digits of keys, and below that files.
    fn check_removal(&mut self, path: &Path, depth: usize) {
        self.permissions_of(path);
        self.names(path, &|walk, path, name, about| {
            let is_ours = match depth {
                0 => place::scheme_of(name).is_some(),
                _ => name::is_directory(name, depth),
            };
            match (about.kind, name::named(name)) {
                (FileKind::Directory, _) if is_ours => walk.check_removal(path, depth + 1),
                (FileKind::File, NameKind::Entry) if depth > 2 => {
                    walk.checked(path, FileRole::Resting, about);
                }
                (FileKind::File, NameKind::Overlay) if depth > 2 => {
                    walk.checked(path, FileRole::Overlay, about);
                }
                _ => walk.foreign(path),
            }
        });
    }

    fn in_tmp(&mut self, path: &Path, _: &str, about: FileInfo) {
        if about.kind == FileKind::File {
            self.sums.unfinished += 1;
        } else {
            // An opening of the spool cannot remove this name, so it is set aside.
            self.hold_fault(path, None, FileFault::set_aside("it is not a plain file"));
        }
    }

    fn in_damaged(&mut self, _: &Path, name: &str, about: FileInfo) {
        if aside::time_of(name).is_some() && !name.ends_with(aside::NOTE) {
            self.sums.damaged += 1;
            self.sums.damaged_bytes = self.sums.damaged_bytes.saturating_add(about.len);
        }
    }

    /// Checks a file with this role. Anything but a plain file is a fault.
    fn file(&mut self, path: &Path, role: FileRole, about: FileInfo) {
        if about.kind == FileKind::File {
            self.checked(path, role, about);
        } else {
            self.hold_fault(path, None, FileFault::set_aside("it is not a plain file"));
        }
    }

    fn checked(&mut self, path: &Path, role: FileRole, about: FileInfo) {
        let fault = self.check.fault(role, path);
        let is_ours = fault.as_ref().is_none_or(|fault| fault.remedy != Remedy::Foreign);
        if is_ours {
            self.permissions(path, about, role == FileRole::Secret);
        }
        match fault {
            Some(fault) => self.hold_fault(path, Some(role), fault),
            None => self.sums.sound += 1,
        }
    }

    fn foreign(&mut self, path: &Path) {
        self.hold_fault(
            path,
            None,
            FileFault::new("it does not belong to the spool", Remedy::Foreign),
        );
    }

    /// Reports permissions that exceed the configured ones.
    fn permissions(&mut self, path: &Path, about: FileInfo, is_private: bool) {
        let (directories, files) = self.check.disk.modes();
        let allowed = match about.kind {
            FileKind::File if is_private => 0o600,
            FileKind::File => files,
            FileKind::Directory => directories,
            FileKind::Link | FileKind::Other => return,
        };
        let Some(mode) = about.mode.filter(|mode| mode & !allowed != 0) else { return };
        let why = format!("its permissions are {mode:03o}, but at most {allowed:03o} is allowed");
        self.hold_fault(path, None, FileFault::new(why, Remedy::Narrow(mode & allowed)));
    }

    fn permissions_of(&mut self, path: &Path) {
        if let Some(about) = self.about(path) {
            self.permissions(path, about, false);
        }
    }

    fn directory(&mut self, path: &Path, visit: NameVisitor<'_, 'a>) {
        self.permissions_of(path);
        self.names(path, visit);
    }

    /// Calls `visit` for each name in a directory, then reports and repairs the faults found.
    fn names(&mut self, directory: &Path, visit: NameVisitor<'_, 'a>) {
        let read = |walk: &mut Self| {
            for name in walk.check.disk.read_dir(directory)? {
                let path = directory.join(name?);
                if let Some(about) = walk.about(&path) {
                    // Names that are not UTF-8 are foreign.
                    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("?");
                    visit(walk, &path, name, about);
                }
            }
            Ok(())
        };
        match read(self) {
            Ok(()) => {}
            Err(error) if is_missing(&error) => {
                // The directory is gone, or it is a dangling link.
                let is_gone = matches!(self.check.disk.about(directory), Ok(None));
                self.check.bodies.borrow_mut().is_blind |= !is_gone;
            }
            Err(error) => {
                // Files in the unreadable directory may refer to any body.
                self.check.bodies.borrow_mut().is_blind = true;
                self.hold_fault(
                    directory,
                    None,
                    unreadable(&Error::disk("read", directory, error)),
                );
            }
        }
        self.report_held();
    }

    fn about(&mut self, path: &Path) -> Option<FileInfo> {
        match self.check.disk.about(path) {
            Ok(about) => about,
            Err(error) => {
                self.check.bodies.borrow_mut().is_blind = true;
                self.hold_fault(path, None, unreadable(&Error::disk("look at", path, error)));
                None
            }
        }
    }

    fn hold_fault(&mut self, path: &Path, role: Option<FileRole>, fault: FileFault) {
        self.held.push(PendingFault { path: path.to_owned(), role, fault });
        if self.held.len() >= MAX_HELD {
            self.report_held();
        }
    }

    /// Reports the collected faults, and repairs them if there is a tree to repair.
    fn report_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            // An earlier repair may have changed this file.
            let Some(fault) = self.recheck(&held) else { continue };
            let below = held.path.strip_prefix(self.check.root).unwrap_or(&held.path).to_owned();
            let mut finding = Finding::new(below, fault.verdict(), fault.reason.clone());
            let mended = self
                .mender
                .map(|tree| apply_remedy(tree, &self.check, (&held.path, held.role), &fault));
            match mended {
                Some(Ok((verdict, moved_to))) => {
                    (finding.verdict, finding.moved_to) = (verdict, moved_to);
                }
                Some(Err(error)) => {
                    let source = std::error::Error::source(&error);
                    let source = source.map(|it| format!(": {it}")).unwrap_or_default();
                    finding.reason = format!("{}; and then: {error}{source}", finding.reason);
                }
                None => {}
            }
            self.report_finding(&finding);
        }
    }

    /// Judges a file again, because another process that uses the spool may have replaced or
    /// renamed the file during the check.
    fn recheck(&self, held: &PendingFault) -> Option<FileFault> {
        let is_there = || matches!(self.check.disk.about(&held.path), Ok(Some(_)) | Err(_));
        match held.role {
            Some(role) => self.check.fault(role, &held.path),
            None => Some(held.fault.clone()).filter(|_| is_there()),
        }
    }

    pub(super) fn report_finding(&mut self, finding: &Finding) {
        self.sums.add(finding);
        // Foreign files are reported only on request.
        if finding.verdict != CheckVerdict::Foreign || self.how.reports_foreign {
            (self.tell)(finding);
        }
    }
}
