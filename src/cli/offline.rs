//! Opening the spool for verbs that change it while no daemon runs.

use std::path::Path;
use std::sync::Arc;

use wwwoffle_config::Config;
use wwwoffle_spool::fs::spool_owner;
use wwwoffle_spool::{Error, Options, Reader, RemovalRule, Spool, Versions};

use super::failure::{VerbFailure, VerbResult};
use super::settings::Settings;
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::daemon::identity::{BadIdentity, Identity};
use crate::storage::spool_options;
#[cfg(feature = "tier")]
use crate::tier;

/// Returns the options with which the daemon would open the spool.
pub(super) fn options(settings: &Settings<'_>) -> VerbResult<Options> {
    let config = Arc::new(settings.config()?);
    let rules = Arc::clone(&config);
    let versions = Versions::from_limits(move |url| spool_options::versions_of(&rules, url));
    Ok(spool_options::of(&config.startup, versions, removals(&config)))
}

/// Returns the rule for the removals that are recorded for the archive tier.
#[cfg(feature = "tier")]
fn removals(config: &Arc<Config>) -> RemovalRule {
    let rules = Arc::clone(config);
    tier::removal_rule(&config.tier, move || Arc::clone(&rules))
}

/// Without the feature `tier` there is no tier.
#[cfg(not(feature = "tier"))]
fn removals(_: &Arc<Config>) -> RemovalRule {
    RemovalRule::default()
}

/// Opens an existing spool to change it.
pub(super) fn spool(settings: &Settings<'_>) -> VerbResult<Spool> {
    let root = settings.spool()?;
    become_owner(&root, settings)?;
    // Fails if the spool is missing. `Spool::open` alone would create it.
    Reader::open(&root).map_err(|error| unusable(&root, &error))?;
    let opened = Spool::open(&root, &options(settings)?);
    opened.map(|(spool, _)| spool).map_err(|error| unusable(&root, &error))
}

/// If the spool is missing and the configuration names a user or group for the daemon, creates the
/// spool for them. Then calls [`become_owner`].
pub(super) fn make_and_become_owner(
    root: &Path,
    settings: &Settings<'_>,
) -> VerbResult<Option<Identity>> {
    let startup = settings.config()?.startup;
    if owner(root)?.is_none()
        && let Some(identity) = Identity::of(&startup).map_err(|error| bad(&error))?
    {
        identity.may_be_assumed().map_err(|error| bad(&error))?;
        identity.own(root, startup.dir_perm.bits()).map_err(|error| {
            let what = format!("the spool {} cannot be created for {identity}", root.display());
            VerbFailure::caused(ExitStatus::BadSpool, what, &error)
        })?;
    }
    become_owner(root, settings)
}

/// Changes this process irrevocably to the user and group that own the spool. Must be called before
/// the spool is changed: the daemon could not use files written by another user, and root must not
/// follow links in the files of others.
///
/// Returns the new identity. `None` if there is no spool, or if this process already runs as its
/// owner.
pub(super) fn become_owner(root: &Path, settings: &Settings<'_>) -> VerbResult<Option<Identity>> {
    let Some((user, group)) = owner(root)? else { return Ok(None) };
    // Read the configuration file now: the owner of the spool may have no permission to read it.
    settings.config()?;
    let owner = Identity::of_files(user, group).map_err(|error| bad(&error))?;
    if owner.is_our_user() {
        return Ok(None);
    }
    owner.assume().map_err(|error| {
        let why = match &error {
            BadIdentity::NotRoot(_) => String::new(),
            other => format!(": {}", error_chain(other)),
        };
        let user = owner.user();
        let message = format!(
            "the spool {} belongs to {owner}, and its daemon could not use files of another user; \
             run this as that user, with `sudo -u {user} wwwoffle …`{why}",
            root.display()
        );
        VerbFailure::Said(ExitStatus::BadSpool, message)
    })?;
    Ok(Some(owner))
}

fn bad(error: &BadIdentity) -> VerbFailure {
    VerbFailure::Said(ExitStatus::BadSpool, error_chain(error))
}

/// Returns the owner of a spool; `None` if there is no spool.
fn owner(root: &Path) -> VerbResult<Option<(u32, u32)>> {
    spool_owner(root, rustix::process::geteuid().is_root()).map_err(|error| {
        let what = format!("the spool {} cannot be used", root.display());
        VerbFailure::caused(ExitStatus::BadSpool, what, &error)
    })
}

/// Returns the failure for a spool that cannot be used.
pub(super) fn unusable(root: &Path, error: &Error) -> VerbFailure {
    if error.is_locked() {
        return VerbFailure::Said(ExitStatus::Taken, error_chain(error));
    }
    if error.is_absent() {
        return absent(root);
    }
    let what = format!("the spool {} cannot be used", root.display());
    VerbFailure::caused(ExitStatus::BadSpool, what, error)
}

/// Returns the failure for a missing spool.
pub(super) fn absent(root: &Path) -> VerbFailure {
    let what = format!(
        "there is no spool {} yet: the first `wwwoffle serve` or `wwwoffle browse` creates it, and \
         --spool DIR names another one",
        root.display()
    );
    VerbFailure::Said(ExitStatus::BadSpool, what)
}

/// Calls `with_daemon`, or `without` if no daemon runs. If a daemon starts between the two calls,
/// the error says that the spool is in use.
pub(super) fn with_or_without_daemon<T>(
    settings: &Settings<'_>,
    with_daemon: impl FnOnce() -> VerbResult<T>,
    without: impl FnOnce(&Spool) -> VerbResult<T>,
) -> VerbResult<T> {
    match with_daemon() {
        Err(VerbFailure::Said(ExitStatus::NoDaemon, _)) => without(&spool(settings)?),
        done => done,
    }
}
