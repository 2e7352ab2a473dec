//! Check and repair: each kind of damage, its verdict, and the result of a repair.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod cases;
mod files;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cases::{CASES, Case};
use files::{at, put, spoil};
use proptest::prelude::*;
use support::full::{self, LARGE, PART, SMALL, copy_of, seen};
use support::place;
use support::sim::SimDisk;
use wwwoffle_spool::CheckVerdict::{BeyondRepair, Foreign, Leftover, Removed};
use wwwoffle_spool::{CheckOptions, CheckTotals, Finding, Reader, Spool};

fn check(root: &Path, is_deep: bool) -> (Vec<Finding>, CheckTotals) {
    let mut found = Vec::new();
    let reader = Reader::open(root).unwrap();
    let sums =
        reader.check(&CheckOptions::new(is_deep), &mut |finding| found.push(finding.clone()));
    (found, sums.unwrap())
}

fn repair(root: &Path) -> (Vec<Finding>, CheckTotals) {
    let mut found = Vec::new();
    let how = CheckOptions::new(true);
    let sums =
        Spool::repair(root, &full::options(), &how, &mut |finding| found.push(finding.clone()));
    (found, sums.unwrap())
}

/// The contents of all files below a root, with the number of files for each.
fn contents(root: &Path) -> BTreeMap<Vec<u8>, usize> {
    let mut contents = BTreeMap::new();
    for path in support::files(root) {
        if fs::symlink_metadata(&path).unwrap().is_file() {
            *contents.entry(fs::read(path).unwrap()).or_default() += 1;
        }
    }
    contents
}

#[test]
#[ignore = "slow"]
fn each_damage_has_its_verdict() {
    let base = full::spool();
    let whole = seen(base.path());
    assert!(whole.entries.len() >= 8, "{}", whole.entries.len());
    let mut wrong = Vec::new();
    for case in CASES {
        let copy = copy_of(base.path());
        let root = copy.path();
        (case.damage)(root);
        let before = contents(root);
        if let Err(what) = judge(case, root, &whole) {
            wrong.push(format!("{}: {what}", case.name));
        }
        // No content may be lost, except that of unfinished files, and of files that the repair
        // removes.
        let after = contents(root);
        let is_useless = |bytes: &[u8]| bytes.starts_with(b"unfinished");
        for bytes in before.keys().filter(|bytes| !is_useless(bytes)) {
            let is_leftover = case.repaired.contains(&Removed);
            if !after.contains_key(bytes) && !is_leftover {
                wrong.push(format!("{}: {} bytes are lost", case.name, bytes.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judge(case: &Case, root: &Path, whole: &full::SpoolContents) -> Result<(), String> {
    let files = contents(root);
    let (found, sums) = check(root, true);
    let mut verdicts: Vec<_> = found.iter().map(|it| (it.verdict, it.reason.as_str())).collect();
    let is_said = verdicts.len() == case.says.len()
        && case.says.iter().all(|(verdict, reason)| {
            let it = verdicts.iter().position(|it| it.0 == *verdict && it.1.contains(reason));
            it.map(|it| verdicts.remove(it)).is_some()
        });
    if !is_said {
        return Err(format!("it says {found:#?}"));
    }
    if contents(root) != files {
        return Err("a check has changed something".to_owned());
    }
    let is_sound = case.says.iter().all(|(verdict, _)| matches!(verdict, Foreign | Leftover));
    if sums.is_sound() != is_sound {
        return Err(format!("in all it says {sums:?}"));
    }
    let (found, sums) = repair(root);
    let mut verdicts: Vec<_> = found.iter().map(|finding| finding.verdict).collect();
    let mut want = case.repaired.to_vec();
    verdicts.sort_unstable();
    want.sort_unstable();
    if verdicts != want {
        return Err(format!("repaired, it says {found:#?}"));
    }
    if sums.is_sound() == case.repaired.contains(&BeyondRepair) {
        return Err(format!("repaired, in all it says {sums:?}"));
    }
    let left = check(root, true).0;
    let is_left = |finding: &&Finding| !matches!(finding.verdict, Foreign | Leftover);
    // The secrets of a request cannot be recovered.
    if left.iter().filter(is_left).count() != usize::from(case.repaired.contains(&BeyondRepair)) {
        return Err(format!("after the repair it says {left:#?}"));
    }
    let (now, all) = (seen(root), whole);
    let is_all_there = (&now.entries, &now.queue, &now.monitors, &now.parts)
        == (&all.entries, &all.queue, &all.monitors, &all.parts);
    if is_all_there != case.is_all_there {
        return Err(format!("then {} of {} are there", now.entries.len(), all.entries.len()));
    }
    Ok(())
}

#[test]
fn without_reading_bodies_a_damaged_large_one_passes() {
    let root = full::spool();
    spoil(&at(root.path(), LARGE), 200_000);
    assert!(check(root.path(), false).1.is_sound());
    assert!(!check(root.path(), true).1.is_sound());
}

#[test]
fn an_entry_with_a_lost_update_counts_as_invalid() {
    let root = full::spool();
    let learnt = at(root.path(), LARGE).with_extension("update.warc");
    spoil(&learnt, 40);
    repair(root.path());
    let reader = Reader::open(root.path()).unwrap();
    let large = reader.entry(&place(LARGE)).unwrap().found().unwrap();
    assert_eq!(large.invalid_since(), Some(large.stored()));
    assert!(check(root.path(), true).1.is_sound());
}

#[test]
fn a_shared_body_stays_while_an_entry_is_unreadable() {
    let root = full::spool();
    let holder = files::holder(root.path());
    fs::remove_file(at(root.path(), full::ONE)).unwrap();
    let host = root.path().join("https/t.example");
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&host, &elsewhere).unwrap();
    std::os::unix::fs::symlink("/nowhere", &host).unwrap();
    repair(root.path());
    assert!(holder.exists());
    fs::remove_file(&host).unwrap();
    fs::rename(&elsewhere, &host).unwrap();
    let reader = Reader::open(root.path()).unwrap();
    assert!(reader.entry(&place(full::OTHER)).unwrap().found().is_some());
    fs::remove_file(at(root.path(), full::OTHER)).unwrap();
    repair(root.path());
    assert!(!holder.exists());
}

#[test]
fn a_shared_body_stays_while_the_file_of_its_entry_is_unreadable() {
    let (disk, root) = (SimDisk::new(), Path::new("/spool"));
    let open = |disk: &SimDisk| {
        Spool::open_with(Arc::new(disk.clone()), root, &full::options()).unwrap().0
    };
    let spool = open(&disk);
    full::fill(&spool);
    spool.remove(&place(full::ONE)).unwrap();
    drop(spool);
    let disk = disk.restarted();
    disk.set_unreadable(&at(root, full::OTHER));
    let (how, mut found) = (CheckOptions::new(true), Vec::new());
    let repaired =
        Spool::repair_with(Arc::new(disk.clone()), root, &full::options(), &how, &mut |finding| {
            found.push(finding.verdict);
        });
    assert!(!repaired.unwrap().is_sound() && found == [BeyondRepair], "{found:?}");
    let other = open(&disk.restarted()).entry(&place(full::OTHER)).unwrap().found();
    assert_eq!(other.and_then(|other| support::body(&other)), Some(support::bytes(180_000)));
}

#[test]
fn a_repair_recovers_entries_from_tmp() {
    let root = full::spool();
    let path = at(root.path(), SMALL);
    let bytes = fs::read(&path).unwrap();
    fs::rename(&path, root.path().join("tmp/00000042.warc")).unwrap();
    assert_eq!(check(root.path(), true).1.unfinished, 1);
    let (found, sums) = repair(root.path());
    assert!(found.is_empty(), "{found:?}");
    assert_eq!((sums.admitted, sums.unfinished), (1, 0));
    assert_eq!(fs::read(path).unwrap(), bytes);
}

#[test]
fn only_one_repair_runs_at_a_time() {
    let root = full::spool();
    let (_open, _) = Spool::open(root.path(), &full::options()).unwrap();
    let error = Spool::repair(root.path(), &full::options(), &CheckOptions::new(true), &mut |_| {});
    assert!(error.unwrap_err().is_locked());
    assert!(check(root.path(), true).1.is_sound(), "looking is always allowed");
    let none = root.path().join("none");
    let error = Spool::repair(&none, &full::options(), &CheckOptions::new(true), &mut |_| {});
    assert!(error.unwrap_err().is_absent());
    assert!(!none.exists(), "it is not made");
}

#[test]
fn files_of_other_modules_are_not_foreign() {
    let root = full::spool();
    put(root.path(), "index.sqlite-wal", b"x");
    let reader = Reader::open(root.path()).unwrap();
    let how = CheckOptions::new(false).with_known("index.sqlite");
    let sums = reader.check(&how, &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!(sums.foreign, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any changed byte and any truncation is reported, unless all content reads as before.
    #[test]
    #[ignore = "slow"]
    fn every_damage_is_reported(file in 0_usize..1_000, at in 0.0_f64..1.0, bit in 0_u8..8, cuts: bool) {
        let (base, whole) = base();
        let files = spoilable(base);
        let name = &files[file % files.len()];
        let copy = copy_of(base);
        let path = copy.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        #[allow(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "any place in the file"
        )]
        let index = ((bytes.len() as f64) * at) as usize;
        if cuts {
            bytes.truncate(index);
        } else {
            bytes[index] ^= 1 << bit;
        }
        fs::write(&path, bytes).unwrap();
        let (found, sums) = check(copy.path(), true);
        let is_told = found.iter().any(|finding| finding.verdict != Foreign);
        prop_assert!(
            is_told || seen(copy.path()) == *whole,
            "{name:?} at {index}: {sums:?}"
        );
        let (_, sums) = repair(copy.path());
        let is_secret = name == Path::new("secret");
        prop_assert!(sums.is_sound() || is_secret, "{name:?} at {index}: {sums:?}");
    }
}

/// One full spool for all cases, and everything that can be read from it.
fn base() -> (&'static Path, &'static full::SpoolContents) {
    static BASE: std::sync::OnceLock<(tempfile::TempDir, full::SpoolContents)> =
        std::sync::OnceLock::new();
    let (root, whole) = BASE.get_or_init(|| {
        let root = full::spool();
        let whole = seen(root.path());
        (root, whole)
    });
    (root.path(), whole)
}

/// The files of a spool whose content matters. `version` is excluded, because a spool with another
/// version is not opened, and so is `lock`.
fn spoilable(root: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = support::files(root)
        .into_iter()
        .map(|path| path.strip_prefix(root).unwrap().to_owned())
        .filter(|path| !["version", "lock"].iter().any(|name| path == Path::new(name)))
        .collect();
    files.sort();
    assert!(files.iter().any(|path| path.starts_with("partial")), "{PART}: {files:?}");
    files
}
