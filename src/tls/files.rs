//! The authority on the disk: `<spool>/ca/authority.pem`, and its predecessors.
//!
//! Key and certificate share one file, so that they still match after a power failure. A temporary
//! file is written, synced and renamed. Only this module reads and writes keys on the disk, through
//! the [`Disk`] of the spool.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::Mode;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};
use tracing::warn;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};

use super::ca::{self, Authority, BadAuthority};
use crate::base::small_file;

/// The name of the directory in the spool.
const DIRECTORY: &str = "ca";

/// The name of the file with the authority in use.
const FILE: &str = "authority.pem";

/// The number of hash digits in the name of a predecessor. They make the names of two predecessors
/// of one day different.
const MARK: usize = 8;

/// The reason why an authority cannot be loaded or stored.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// An operation failed.
    #[error("{} cannot be {doing}", path.display())]
    Disk {
        /// The operation as a participle, such as "made".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a valid authority.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: BadAuthority,
    },
    /// A new authority cannot be created.
    #[error("no certificate authority can be made")]
    Making(#[source] BadAuthority),
}

/// The path of the authority of a spool.
#[must_use]
pub fn path(spool: &Path) -> PathBuf {
    spool.join(DIRECTORY).join(FILE)
}

/// Whether the spool has an authority, even a damaged one.
#[must_use]
pub fn exists(spool: &Path) -> bool {
    rustix::fs::lstat(path(spool)).is_ok()
}

/// Loads the authority of the spool, if any.
///
/// If other users may read the file, this removes their permission and logs a warning.
///
/// # Errors
///
/// [`BadFile`] if the file cannot be read or is damaged, or if the permission cannot be removed. A
/// damaged file is never replaced, because clients trust its certificate.
pub fn load(spool: &Path) -> Result<Option<Authority>, BadFile> {
    let path = path(spool);
    let Some(text) = read(&path)? else { return Ok(None) };
    close_to_others(&path)?;
    match Authority::parse(&text) {
        Ok(authority) => Ok(Some(authority)),
        Err(source) => Err(BadFile::Damaged { path, source }),
    }
}

/// The certificates of the authority of the spool and of all its predecessors. A damaged file is
/// left out, because its certificate is unknown.
///
/// # Errors
///
/// [`BadFile`] if a file cannot be read.
pub fn certificates(spool: &Path) -> Result<Vec<CertificateDer<'static>>, BadFile> {
    let directory = spool.join(DIRECTORY);
    let mut found = Vec::new();
    for name in small_file::names(&directory) {
        let is_one = name == FILE
            || name.strip_suffix(".pem").is_some_and(|stem| stem.starts_with("authority-"));
        if is_one && let Some(text) = read(&directory.join(name))? {
            found.extend(CertificateDer::from_pem_slice(text.as_bytes()));
        }
    }
    Ok(found)
}

/// Loads the authority of the spool, or creates the first one, limited to `domains` if there are
/// any.
///
/// # Errors
///
/// [`BadFile`] if the file is damaged, or the disk fails.
pub fn load_or_make(
    spool: &Path,
    now: SystemTime,
    domains: &[String],
) -> Result<Authority, BadFile> {
    if let Some(authority) = load(spool)? {
        return Ok(authority);
    }
    match make(spool, now, domains) {
        // The spool is read-only, so this authority lasts only until the daemon stops. Browsers
        // must import it after each start, but pages are served.
        Err(BadFile::Disk { source, .. }) if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            make_unsaved(now, domains)
        }
        made => made,
    }
}

/// Replaces the authority by a new one, limited to `domains` if there are any. The predecessor,
/// even a damaged one, is preserved in the same directory with its date in the name.
///
/// # Errors
///
/// [`BadFile`] if the disk fails. The predecessor is then still in use.
pub fn renew(spool: &Path, now: SystemTime, domains: &[String]) -> Result<Authority, BadFile> {
    let path = path(spool);
    if let Some(text) = read(&path)? {
        let dated = if let Ok(old) = Authority::parse(&text) {
            let mark: String = old.fingerprint().replace(':', "").chars().take(MARK).collect();
            format!("authority-{}-{mark}.pem", ca::day(old.valid_from() + ca::BACKDATED))
        } else {
            // The name contains a hash of the content, so that a second damaged file of the same
            // day does not replace the first.
            let mark: String = hex::encode(Sha256::digest(&text)).chars().take(MARK).collect();
            format!("authority-damaged-{}-{mark}.pem", ca::day(now))
        };
        write(spool, &dated, &text)?;
    }
    make(spool, now, domains)
}

fn make_unsaved(now: SystemTime, domains: &[String]) -> Result<Authority, BadFile> {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Authority::make_for(&machine, now, domains).map_err(BadFile::Making)
}

fn make(spool: &Path, now: SystemTime, domains: &[String]) -> Result<Authority, BadFile> {
    let authority = make_unsaved(now, domains)?;
    write(spool, FILE, &authority.secret_text())?;
    Ok(authority)
}

fn read(path: &Path) -> Result<Option<String>, BadFile> {
    let bytes = small_file::read(path).map_err(|source| BadFile::Disk {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Writes a temporary file into the directory, then renames it.
fn write(spool: &Path, name: &str, text: &str) -> Result<(), BadFile> {
    let directory = spool.join(DIRECTORY);
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| BadFile::Disk { doing, path, source }
    };
    match SYSTEM_DISK.create_dir(&directory) {
        Ok(()) => SYSTEM_DISK.sync_dir(spool).map_err(failed("synced", spool))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed("made", &directory)(error)),
    }
    rustix::fs::chmod(&directory, Mode::RWXU)
        .map_err(|error| failed("closed to others", &directory)(error.into()))?;
    let (aside, to) = (directory.join(format!("{name}.new")), directory.join(name));
    match SYSTEM_DISK.remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("removed", &aside)(error));
        }
        _ => {}
    }
    // The file is created with permissions for its owner only, so no other user can ever read it.
    let file = SYSTEM_DISK.create(&aside).map_err(failed("made", &aside))?;
    file.write_all_at(text.as_bytes(), 0).map_err(failed("written", &aside))?;
    file.sync().map_err(failed("written", &aside))?;
    SYSTEM_DISK.rename(&aside, &to).map_err(failed("renamed", &aside))?;
    SYSTEM_DISK.sync_dir(&directory).map_err(failed("synced", &directory))
}

fn close_to_others(path: &Path) -> Result<(), BadFile> {
    let failed = |source: rustix::io::Errno| BadFile::Disk {
        doing: "closed to others",
        path: path.to_owned(),
        source: source.into(),
    };
    let mode = Mode::from_raw_mode(rustix::fs::stat(path).map_err(failed)?.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        warn!(
            path = %path.display(),
            "other users could read the key of the certificate authority; now they cannot. \
             If another user may have read it, run `wwwoffle ca renew`"
        );
        rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test looks at what was written")]
mod tests {
    use super::*;
    use crate::base::clock;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_authority_is_created_once_and_loaded_later() {
        let spool = tempfile::tempdir().unwrap();
        assert!(load(spool.path()).unwrap().is_none());
        let made = load_or_make(spool.path(), clock::now(), &[]).unwrap();
        let loaded = load_or_make(spool.path(), clock::now(), &[]).unwrap();
        assert_eq!(made.der(), loaded.der());
        assert_eq!(mode(&path(spool.path())), 0o600);
        assert_eq!(mode(&spool.path().join("ca")), 0o700);
    }

    #[test]
    fn a_readable_key_is_closed_to_others() {
        let spool = tempfile::tempdir().unwrap();
        load_or_make(spool.path(), clock::now(), &[]).unwrap();
        let path = path(spool.path());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load(spool.path()).unwrap().is_some());
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_damaged_authority_is_reported_and_stays() {
        let spool = tempfile::tempdir().unwrap();
        load_or_make(spool.path(), clock::now(), &[]).unwrap();
        let path = path(spool.path());
        std::fs::write(&path, "rubbish").unwrap();
        let error = load_or_make(spool.path(), clock::now(), &[]).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is damaged", path.display()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "rubbish");
        renew(spool.path(), clock::now(), &[]).unwrap();
        assert!(load(spool.path()).unwrap().is_some());
        assert_eq!(std::fs::read_dir(spool.path().join("ca")).unwrap().count(), 2);
    }

    #[test]
    fn two_damaged_authorities_of_a_day_are_both_stored() {
        let spool = tempfile::tempdir().unwrap();
        let made = load_or_make(spool.path(), clock::now(), &[]).unwrap();
        for rubbish in ["one", "two"] {
            std::fs::write(path(spool.path()), rubbish).unwrap();
            renew(spool.path(), clock::now(), &[]).unwrap();
        }
        let texts = std::fs::read_dir(spool.path().join("ca")).unwrap();
        let texts = texts.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
        let texts: Vec<String> = texts.collect();
        assert_eq!(texts.len(), 3);
        for rubbish in ["one", "two"] {
            assert!(texts.iter().any(|text| text == rubbish), "{rubbish}");
        }
        let last = load(spool.path()).unwrap().unwrap();
        assert_eq!(certificates(spool.path()).unwrap(), [last.der().clone()]);
        assert_ne!(made.der(), last.der());
    }

    #[test]
    fn a_renewal_stores_the_old_authority() {
        let spool = tempfile::tempdir().unwrap();
        let old = load_or_make(spool.path(), clock::now(), &[]).unwrap();
        let new = renew(spool.path(), clock::now(), &[]).unwrap();
        assert_ne!(old.der(), new.der());
        assert_eq!(load(spool.path()).unwrap().unwrap().der(), new.der());
        let kept: Vec<String> = std::fs::read_dir(spool.path().join("ca"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != FILE)
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(kept[0].starts_with(&format!("authority-{}-", ca::day(clock::now()))), "{kept:?}");
        let path = spool.path().join("ca").join(&kept[0]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(Authority::parse(&text).unwrap().der(), old.der());
        assert_eq!(mode(&path), 0o600);
        let all = certificates(spool.path()).unwrap();
        assert!(all.len() == 2 && all.contains(old.der()) && all.contains(new.der()));
    }
}
