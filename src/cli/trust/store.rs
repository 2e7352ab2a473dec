//! One store of certificates, for `setup`: installs the authority there, and removes it.

use std::path::{Path, PathBuf};

use super::certificate::{MARK, OwnCertificates};
use super::nss::Database;
use super::plan::TrustPlan;
use super::system::System;
use super::{INSTALL, TrustWork, UNINSTALL, databases, of, tool};
use crate::base::small_file;
use crate::cli::failure::VerbFailure;
use crate::cli::settings::Settings;
use crate::tls::ca::Authority;

/// The files of a new database.
const DATABASE_FILES: [&str; 3] = ["cert9.db", "key4.db", "pkcs11.txt"];

/// A store of certificates.
#[derive(Debug)]
pub(in crate::cli) struct TrustStore(StoreAccess);

#[derive(Debug)]
enum StoreAccess {
    System(System),
    Browser { database: Database, tool: PathBuf },
}

impl TrustStore {
    /// Returns the store of the system. `None` if it is unknown.
    pub(in crate::cli) fn system(root: &Path) -> Option<Self> {
        Some(System::detect(root)).filter(System::is_known).map(StoreAccess::System).map(Self)
    }

    /// Returns the databases of this user's browsers.
    ///
    /// # Errors
    ///
    /// The tool that changes them is missing, or they cannot be determined.
    pub(in crate::cli) fn browsers(settings: &Settings<'_>) -> Result<Vec<Self>, String> {
        let tool = tool(settings).ok_or(super::REMEDY)?;
        let found = databases(settings)?.into_iter();
        Ok(found
            .map(|database| Self(StoreAccess::Browser { database, tool: tool.clone() }))
            .collect())
    }

    /// Returns the database of a browser by its path, if it exists.
    pub(in crate::cli) fn database(path: &Path, tool: PathBuf) -> Option<Self> {
        let store = Self::new_database(path, tool);
        store.browser_database().is_some_and(|(_, exists)| exists).then_some(store)
    }

    /// Returns the database of a browser by its path, whether it exists or not.
    pub(in crate::cli) fn new_database(path: &Path, tool: PathBuf) -> Self {
        let exists = small_file::read(&path.join("cert9.db")).is_ok_and(|found| found.is_some());
        let database = Database { browser: "browser", path: path.to_owned(), exists };
        Self(StoreAccess::Browser { database, tool })
    }

    /// Returns the name shown to the user.
    pub(in crate::cli) fn name(&self) -> String {
        match &self.0 {
            StoreAccess::System(system) => system.name(),
            StoreAccess::Browser { database, .. } => database.name(),
        }
    }

    /// Returns the path of the database of a browser, and whether it exists.
    pub(in crate::cli) fn browser_database(&self) -> Option<(&Path, bool)> {
        match &self.0 {
            StoreAccess::System(_) => None,
            StoreAccess::Browser { database, .. } => Some((&database.path, database.exists)),
        }
    }

    /// Returns the file of the system store with the certificate of this fingerprint.
    pub(in crate::cli) fn file_of(&self, fingerprint: &str) -> Option<&Path> {
        match &self.0 {
            StoreAccess::System(system) => system.file_of(&these(fingerprint)),
            StoreAccess::Browser { .. } => None,
        }
    }

    /// Returns the file of the system store that has, or will have, this certificate. `None` for the
    /// fingerprint stands for a certificate that does not exist yet.
    pub(in crate::cli) fn file_for(&self, fingerprint: Option<&str>) -> Option<PathBuf> {
        match (&self.0, fingerprint) {
            (StoreAccess::Browser { .. }, _) => None,
            (StoreAccess::System(system), None) => system.new_file("…"),
            (StoreAccess::System(system), Some(fingerprint)) => {
                let known = self.file_of(fingerprint).map(Path::to_owned);
                let mark: String = fingerprint.chars().take(MARK).collect();
                known.or_else(|| system.new_file(&mark))
            }
        }
    }

    /// Returns the file of the system with all certificates.
    pub(in crate::cli) fn bundle(&self) -> Option<&'static str> {
        match &self.0 {
            StoreAccess::System(system) => system.bundle(),
            StoreAccess::Browser { .. } => None,
        }
    }

    /// Whether the store has the certificate of this fingerprint.
    pub(in crate::cli) fn has(&self, fingerprint: &str) -> bool {
        match &self.0 {
            StoreAccess::System(_) => self.file_of(fingerprint).is_some(),
            StoreAccess::Browser { database, tool } => {
                !database.entries(tool, &these(fingerprint)).is_empty()
            }
        }
    }

    /// Whether this user may change the store.
    pub(in crate::cli) fn is_writable(&self) -> bool {
        match &self.0 {
            StoreAccess::System(system) => system.is_writable(),
            StoreAccess::Browser { .. } => true,
        }
    }

    /// Adds the authority.
    pub(in crate::cli) fn install(&self, authority: &Authority) -> Result<(), String> {
        let certificate = of(authority).map_err(said)?;
        let plan = match &self.0 {
            StoreAccess::System(system) => system.install(&certificate, ""),
            StoreAccess::Browser { database, tool } => database.install(tool, &certificate),
        };
        let work = TrustWork { certificate: Some(&certificate), export: "", words: INSTALL };
        carry_out(&work, &plan)
    }

    /// Makes the lists of the system again, from its files.
    pub(in crate::cli) fn refresh(&self) -> Result<(), String> {
        let StoreAccess::System(system) = &self.0 else { return Ok(()) };
        let plan = system.refresh();
        carry_out(&TrustWork { certificate: None, export: "", words: INSTALL }, &plan)
    }

    /// Removes the certificate of this fingerprint.
    pub(in crate::cli) fn remove(&self, fingerprint: &str) -> Result<(), String> {
        let ours = these(fingerprint);
        let plan = match &self.0 {
            StoreAccess::System(system) => system.uninstall(&ours),
            StoreAccess::Browser { database, tool } => database.uninstall(tool, &ours),
        };
        carry_out(&TrustWork { certificate: None, export: "", words: UNINSTALL }, &plan)
    }

    /// Returns the files of a database without certificates and keys. `None` if there are other files
    /// beside it: Firefox also stores the key of its passwords in such a database, which the tool
    /// does not list.
    pub(in crate::cli) fn files_if_unused(&self) -> Option<Vec<PathBuf>> {
        let StoreAccess::Browser { database, tool } = &self.0 else { return None };
        let names = small_file::names(&database.path);
        let is_alone = names.iter().all(|name| DATABASE_FILES.contains(&name.as_str()));
        let files = names.iter().map(|name| database.path.join(name)).collect();
        (is_alone && database.is_empty(tool)).then_some(files)
    }
}

/// Returns the fingerprint of an authority, as the stores name it.
pub(in crate::cli) fn fingerprint(authority: &Authority) -> Result<String, String> {
    of(authority).map(|certificate| certificate.fingerprint()).map_err(said)
}

fn these(fingerprint: &str) -> OwnCertificates {
    OwnCertificates::These(vec![fingerprint.to_owned()])
}

fn carry_out(work: &TrustWork<'_>, plan: &TrustPlan) -> Result<(), String> {
    match plan {
        TrustPlan::Nothing => Ok(()),
        TrustPlan::Do(steps) => work.run_steps(steps),
        TrustPlan::Tell { why, .. } => Err(why.clone()),
    }
}

fn said(failure: VerbFailure) -> String {
    match failure {
        VerbFailure::Said(_, message) => message,
        VerbFailure::NobodyReads | VerbFailure::CommandEnded(_) => String::new(),
    }
}
