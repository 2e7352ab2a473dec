//! Verbs that change what is kept, where no daemon runs: then they open the spool themselves.

use std::path::Path;

use wwwoffle_spool::{Error, Options, Reader, Spool, Versions};

use super::{failure::Failure, settings::Settings};
use crate::error_chain::error_chain;
use crate::exit::ExitStatus;
use crate::spool_options;

/// How the daemon would open the spool.
pub(super) fn options(settings: &Settings<'_>) -> Result<Options, Failure> {
    let config = settings.config()?;
    let startup = config.startup.clone();
    let versions = Versions::by(move |url| spool_options::versions_of(&config, url));
    Ok(spool_options::of(&startup, versions))
}

/// Opens the spool to change it. It has to be there.
pub(super) fn spool(settings: &Settings<'_>) -> Result<Spool, Failure> {
    let root = settings.spool()?;
    // An opening would make it.
    Reader::open(&root).map_err(|error| unusable(&root, &error))?;
    let opened = Spool::open(&root, &options(settings)?);
    opened.map(|(spool, _)| spool).map_err(|error| unusable(&root, &error))
}

/// Why a spool cannot be used.
pub(super) fn unusable(root: &Path, error: &Error) -> Failure {
    if error.is_locked() {
        return Failure::Said(ExitStatus::Taken, error_chain(error));
    }
    if error.is_absent() {
        return absent(root);
    }
    let what = format!("the spool {} cannot be used", root.display());
    Failure::caused(ExitStatus::BadSpool, what, error)
}

/// That there is no spool.
pub(super) fn absent(root: &Path) -> Failure {
    let what = format!(
        "there is no spool {} yet: the first `wwwoffle serve` or `wwwoffle browse` makes \
         it, and --spool DIR names another one",
        root.display()
    );
    Failure::Said(ExitStatus::BadSpool, what)
}

/// What the daemon does, or what is done without one. It may start or stop meanwhile: then it is said.
pub(super) fn either<T>(
    settings: &Settings<'_>,
    with_daemon: impl FnOnce() -> Result<T, Failure>,
    without: impl FnOnce(&Spool) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match with_daemon() {
        Err(Failure::Said(ExitStatus::NoDaemon, _)) => without(&spool(settings)?),
        done => done,
    }
}
