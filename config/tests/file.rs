//! Edits, replacements and undoing of the configuration file, and refused changes.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests make and look at the files"
)]

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;
use wwwoffle_config::edit::Edit;
use wwwoffle_config::{
    ChangeError, ChangeScope, Config, ConfigFile, ConfigLookup, TextStamp, VERSIONS, load,
};

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_763_644_799)
}

fn set(key: &str, value: &str) -> Edit {
    Edit::Set { section: "options".into(), key: key.into(), value: value.into() }
}

/// A directory with a configuration of this text.
fn file(text: &str) -> (TempDir, PathBuf, ConfigFile) {
    let root = TempDir::new().unwrap();
    let path = root.path().join("w.conf");
    fs::write(&path, text).unwrap();
    let file = ConfigFile::of(&ConfigLookup::Named(path.clone()));
    (root, path, file)
}

#[test]
fn an_edit_is_written_undone_and_redone() {
    let before = "# mine\n[options]\nlog-level = \"info\"\n";
    let after = "# mine\n[options]\nlog-level = \"warn\"\n";
    let (_root, path, file) = file(before);
    let changed = file.edit(&set("log-level", "warn"), None, now()).unwrap();
    assert_eq!((changed.text.text.as_str(), changed.is_new), (after, true));
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(changed.config.options.log_level.as_str(), "warn");
    let versions = file.versions().unwrap();
    assert_eq!((versions.len(), versions[0].number, versions[0].until), (1, 1, now()));
    assert_eq!(versions[0].text().unwrap(), before);
    for want in [before, after, before] {
        assert_eq!(file.undo(None, None, now()).unwrap().text.text, want);
        assert_eq!(fs::read_to_string(&path).unwrap(), want);
    }
    assert_eq!(file.undo(Some(2), None, now()).unwrap().text.text, after);
    let error = file.undo(Some(77), None, now()).unwrap_err();
    assert_eq!(error.to_string(), "there is no version 77");
}

#[test]
fn an_edit_without_effect_writes_nothing() {
    let (_root, path, file) = file("[options]\nlog-level = \"info\"\n");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let before = inode(&path);
    assert!(!file.edit(&set("log-level", "info"), None, now()).unwrap().is_new);
    assert_eq!(inode(&path), before);
    assert!(file.versions().unwrap().is_empty());
    let error = file.undo(None, None, now()).unwrap_err();
    assert_eq!(error.to_string(), "there is no version before this one");
}

#[test]
fn a_faulty_text_is_refused_with_all_its_faults() {
    let (_root, path, file) = file("[options]\n");
    let stamp = file.read().unwrap().stamp;
    let text = "[options]\nlog-level = 1\ndns-timeout = 1\n";
    let Err(ChangeError::Faults(faults)) = file.replace(stamp, text, now()) else {
        panic!("it is refused");
    };
    assert_eq!(faults.as_slice().len(), 2);
    let error = file.edit(&set("dns-timeout", "soon"), None, now()).unwrap_err();
    assert!(error.to_string().contains("takes a time"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "[options]\n");
    assert!(file.versions().unwrap().is_empty());
}

#[test]
fn a_guarded_change_keeps_protected_options() {
    let (root, path, file) = file("[options]\ninclude = \"secret.toml\"\n");
    fs::write(root.path().join("secret.toml"), "log-level = \"info\" # secret\n").unwrap();
    let in_force = Arc::new(Config::parse("", &path).unwrap());
    let file = file.limit_to(ChangeScope::Guarded, in_force);
    let noise = Edit::Set {
        section: "offline-options".into(),
        key: "noise".into(),
        value: "[{ file = \"secret.toml\" }]".into(),
    };
    let told = file.edit(&noise, None, now()).unwrap_err();
    assert!(matches!(told, ChangeError::Beyond(_)), "{told}");

    // The file sets a protected option that is not in force, because another option is faulty. An
    // undo must not drop the protected option.
    fs::write(&path, "[options]\nlog-level = \"warn\"\n").unwrap();
    file.edit(&set("log-level", "info"), None, now()).unwrap();
    let waiting = "[options]\nlog-level = 3\nrun-online = \"/bin/true\"\n";
    fs::write(&path, waiting).unwrap();
    let told = file.undo(None, None, now()).unwrap_err();
    assert!(matches!(told, ChangeError::Beyond(_)), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), waiting);
}

#[test]
fn a_conflicting_change_reports_both_texts() {
    let (_root, path, file) = file("[options]\n");
    let stamp = file.read().unwrap().stamp;
    fs::write(&path, "[options]\n# mine\n").unwrap();
    let conflicts = [
        file.edit(&set("dns-timeout", "5s"), Some(stamp), now()),
        file.replace(stamp, "[options]\n# mine\ndns-timeout = \"5s\"\n", now()),
    ];
    for conflict in conflicts {
        let Err(ChangeError::Conflict { current, wanted }) = conflict else {
            panic!("it is refused: {conflict:?}");
        };
        assert_eq!(current, "[options]\n# mine\n");
        assert_eq!(wanted.unwrap(), "[options]\n# mine\ndns-timeout = \"5s\"\n");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "[options]\n# mine\n");
}

#[test]
fn only_the_last_versions_are_stored() {
    let (_root, _path, file) = file("");
    for number in 1..=VERSIONS + 5 {
        file.edit(&set("connections-per-host", &number.to_string()), None, now()).unwrap();
    }
    let numbers: Vec<_> = file.versions().unwrap().iter().map(|version| version.number).collect();
    assert_eq!(numbers, (6..=15).collect::<Vec<_>>());
}

#[test]
fn an_edit_keeps_permissions_and_links() {
    let (root, path, _) = file("[options]\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = root.path().join("deep").join("link.conf");
    fs::create_dir(link.parent().unwrap()).unwrap();
    symlink("../w.conf", &link).unwrap();
    let file = ConfigFile::of(&ConfigLookup::Named(link.clone()));
    file.edit(&set("dns-timeout", "5s"), None, now()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&path).unwrap().contains("5s"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let kept = root.path().join("w.conf.versions");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(file.versions().unwrap().len(), 1);
}

#[test]
fn a_foreign_directory_for_versions_is_not_used() {
    let (root, path, file) = file("[options]\n");
    let (kept, elsewhere) = (root.path().join("w.conf.versions"), root.path().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    symlink("elsewhere", &kept).unwrap();
    let error = file.edit(&set("dns-timeout", "5s"), None, now()).unwrap_err();
    assert!(matches!(error, ChangeError::Disk { what: "used", .. }), "{error:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[options]\n");
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o777)).unwrap();
    if chown(&kept, Some(4_242), None).is_ok() {
        let error = file.edit(&set("dns-timeout", "5s"), None, now()).unwrap_err();
        assert!(matches!(error, ChangeError::Disk { what: "used", .. }), "{error:?}");
        chown(&kept, Some(0), None).unwrap();
    }
    file.edit(&set("dns-timeout", "5s"), None, now()).unwrap();
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
#[ignore = "needs root"]
fn an_edit_keeps_the_owner_of_the_file() {
    let (root, path, file) = file("[options]\n");
    for path in [root.path(), &path] {
        chown(path, Some(4_242), Some(4_243)).unwrap();
    }
    for value in ["5s", "6s"] {
        file.edit(&set("dns-timeout", value), None, now()).unwrap();
    }
    let kept = root.path().join("w.conf.versions");
    let all = fs::read_dir(&kept).unwrap().map(|file| file.unwrap().path());
    for path in [path, kept].into_iter().chain(all) {
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.uid(), about.gid()), (4_242, 4_243), "{}", path.display());
    }
}

#[test]
fn the_first_edit_creates_the_file_of_the_user() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("config/wwwoffle/wwwoffle.conf");
    let lookup = ConfigLookup::FirstOf(vec![path.clone(), root.path().join("etc.conf")]);
    let file = ConfigFile::of(&lookup);
    let none = file.read().unwrap();
    assert_eq!((none.text.as_str(), none.exists, none.stamp), ("", false, TextStamp::of("")));
    file.edit(&set("dns-timeout", "5s"), Some(none.stamp), now()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "[options]\ndns-timeout = \"5s\"\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file.undo(None, None, now()).unwrap().text.text, "");
    // An existing file takes precedence over one that could be created.
    fs::remove_file(&path).unwrap();
    fs::write(root.path().join("etc.conf"), "").unwrap();
    assert_eq!(ConfigFile::of(&lookup).path(), root.path().join("etc.conf"));
}

#[test]
fn an_irreplaceable_file_is_reported() {
    let root = TempDir::new().unwrap();
    let named = ConfigFile::of(&ConfigLookup::Named(root.path().join("none.conf")));
    let error = named.edit(&set("dns-timeout", "5s"), None, now()).unwrap_err();
    assert!(matches!(error, ChangeError::Unreadable { .. }), "{error:?}");
    assert!(error.to_string().ends_with("none.conf: there is no such file"), "{error}");
    let link = root.path().join("link.conf");
    symlink("nowhere", &link).unwrap();
    let error = ConfigFile::of(&ConfigLookup::FirstOf(vec![link]));
    let error = error.edit(&set("dns-timeout", "5s"), None, now()).unwrap_err();
    assert!(matches!(error, ChangeError::Disk { what: "found", .. }), "{error:?}");
}

#[test]
fn all_configuration_files_are_watched_even_missing_ones() {
    let (root, path, _) = file("[https]\nrefuse = [{ file = \"list.txt\" }]\n");
    let list = root.path().join("list.txt");
    let lookup = ConfigLookup::Named(path.clone());
    let (refused, watch) = load(&lookup);
    assert!(refused.is_err());
    assert_eq!(watch.files().collect::<Vec<_>>(), [list.as_path(), path.as_path()]);
    assert_eq!(watch.reread(), watch);
    fs::write(&list, "*://a.test/*\n").unwrap();
    assert_ne!(watch.reread(), watch);
    let (loaded, watch) = load(&lookup);
    assert_eq!(loaded.unwrap().config.https.refuse.iter().count(), 1);
    assert_eq!(watch.reread(), watch);
}

#[test]
fn a_stamp_is_hex() {
    let stamp = TextStamp::of("a");
    assert_eq!(stamp.to_string().parse(), Ok(stamp));
    for text in ["", "é", &"g".repeat(64), &"0".repeat(63), &"+".repeat(64)] {
        assert!(text.parse::<TextStamp>().is_err(), "{text}");
    }
}
