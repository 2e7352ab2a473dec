//! The authority in one store of certificates.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change::Undone;
use super::disk;
use crate::cli::settings::Settings;
use crate::cli::trust::{self, TrustStore};
use crate::tls::ca::Authority;

/// The authority to install in one store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CertificateChange {
    /// The database of a browser. `None` for the store of the system.
    database: Option<PathBuf>,
    /// The root directory of the system.
    root: PathBuf,
    /// The SHA-256 of the certificate, in hex.
    fingerprint: String,
    /// Whether the database of the browser existed.
    existed: bool,
    /// The directories to create for the database.
    directories: Vec<PathBuf>,
}

impl CertificateChange {
    /// Plans to install the authority in `store`.
    pub(super) fn plan(
        store: &TrustStore,
        root: &Path,
        authority: &Authority,
    ) -> Result<Self, String> {
        let database = store.browser_database();
        let path = database.map(|(path, _)| path.to_owned());
        let missing = path.as_deref().map(|path| disk::missing_directories(&path.join("cert9.db")));
        Ok(Self {
            existed: database.is_none_or(|(_, exists)| exists),
            database: path,
            root: root.to_owned(),
            fingerprint: trust::fingerprint(authority)?,
            directories: missing.unwrap_or_default(),
        })
    }

    /// Returns a name of the store.
    pub(super) fn name(&self) -> String {
        match &self.database {
            Some(path) => format!("certificate in {}", path.display()),
            None => "certificate in the store of the system".to_owned(),
        }
    }

    /// Whether this change and `other` are about the same certificate in the same store.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.database.clone(), one.root.clone(), one.fingerprint.clone());
        key(self) == key(other)
    }

    /// Whether the store has the certificate.
    pub(super) fn is_done(&self, settings: &Settings<'_>) -> bool {
        self.store(settings).is_ok_and(|store| store.is_some_and(|one| one.has(&self.fingerprint)))
    }

    fn store(&self, settings: &Settings<'_>) -> Result<Option<TrustStore>, String> {
        let Some(path) = &self.database else { return Ok(TrustStore::system(&self.root)) };
        let tool = trust::tool(settings).ok_or(trust::REMEDY)?;
        Ok(TrustStore::database(path, tool))
    }

    fn new_store(&self, settings: &Settings<'_>) -> Result<TrustStore, String> {
        let Some(path) = &self.database else {
            return TrustStore::system(&self.root).ok_or_else(|| "the store is missing".to_owned());
        };
        let tool = trust::tool(settings).ok_or(trust::REMEDY)?;
        Ok(TrustStore::new_database(path, tool))
    }

    /// Installs the authority.
    pub(super) fn apply(
        &self,
        settings: &Settings<'_>,
        authority: &Authority,
    ) -> Result<(), String> {
        disk::create_directories(&self.directories, 0o700)?;
        let store = self.new_store(settings)?;
        // An interrupted set-up may have added the file of the certificate, but not the entry in the
        // list that the tool of the system makes of it.
        if store.has(&self.fingerprint) { store.refresh() } else { store.install(authority) }
    }

    /// Removes the authority, and the database of a browser if it was created and nothing uses it.
    pub(super) fn undo(&self, settings: &Settings<'_>) -> Result<Undone, String> {
        let Some(store) = self.store(settings)? else {
            disk::remove_directories(&self.directories);
            return Ok(Undone::Already);
        };
        let undone = if store.has(&self.fingerprint) {
            store.remove(&self.fingerprint)?;
            Undone::Restored
        } else {
            store.refresh()?;
            Undone::Already
        };
        if !self.existed
            && let Some(files) = store.files_if_unused()
        {
            for file in &files {
                disk::remove(file)?;
            }
            disk::remove_directories(&self.directories);
        }
        Ok(undone)
    }

    /// Combines this change with the recorded one, which came before.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        self.existed = recorded.existed;
        for directory in recorded.directories.iter().rev() {
            if !self.directories.contains(directory) {
                self.directories.insert(0, directory.clone());
            }
        }
        self
    }
}
