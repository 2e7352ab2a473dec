//! `wwwoffle ca`: shows, exports, installs and renews the certificate authority of the spool. It
//! works with and without a running daemon.

use std::io;
use std::path::Path;

use super::args::AuthorityVerb;
use super::failure::{VerbFailure, VerbResult};
use super::settings::Settings;
use super::{VerbContext, offline, trust};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::tls::ca::{Authority, RENEW_BEFORE};
use crate::tls::files::{self, BadFile};

/// Runs a subcommand of `ca`.
pub(crate) fn run(verb: AuthorityVerb, context: &mut VerbContext<'_>) -> VerbResult {
    match verb {
        AuthorityVerb::Show => show(&load(&context.settings)?, context),
        AuthorityVerb::Export { der: false } => {
            context.terminal.stdout.write_all(load(&context.settings)?.pem().as_bytes())?;
            Ok(ExitStatus::Done)
        }
        AuthorityVerb::Export { der: true } => {
            context.terminal.stdout.write_all(load(&context.settings)?.der())?;
            Ok(ExitStatus::Done)
        }
        AuthorityVerb::Install(typed) => trust::install(&typed, context),
        AuthorityVerb::Uninstall(typed) => trust::uninstall(&typed, context),
        AuthorityVerb::Renew => renew(context),
    }
}

/// Loads the authority of the spool.
pub(super) fn load(settings: &Settings<'_>) -> VerbResult<Authority> {
    let spool = settings.spool()?;
    match files::load(&spool) {
        Ok(Some(authority)) => Ok(authority),
        Ok(None) => Err(missing_authority(&spool)),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Returns the failure for a spool without an authority.
pub(super) fn missing_authority(spool: &Path) -> VerbFailure {
    VerbFailure::plain(format_args!(
        "there is no certificate authority in the spool {} yet: the first `wwwoffle serve` makes \
         it, and --spool DIR names another spool, such as that of the user who runs the daemon",
        spool.display()
    ))
}

/// Returns the failure for an authority that cannot be read. The certificate is in a directory that
/// only the owner of the spool may read, so other users are told how to get the certificate.
pub(super) fn unreadable(error: &BadFile) -> VerbFailure {
    let remedy = match error {
        BadFile::Disk { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "; it belongs to another user: run this command as that user, or save the certificate \
             from the daemon's page /ca and pass it: `wwwoffle ca install --certificate FILE`"
        }
        _ => "",
    };
    let why = error_chain(error);
    VerbFailure::Said(ExitStatus::BadSpool, format!("no certificate authority: {why}{remedy}"))
}

fn show(authority: &Authority, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let (spool, out) = (settings.spool()?, &mut *terminal.stdout);
    writeln!(out, "name         {}", authority.name())?;
    writeln!(out, "SHA-256      {}", authority.fingerprint())?;
    writeln!(out, "public key   {}", authority.spki_hash())?;
    writeln!(out, "valid from   {}", clock::rfc3339(authority.valid_from()))?;
    writeln!(out, "valid until  {}", clock::rfc3339(authority.valid_until()))?;
    if !authority.domains().is_empty() {
        writeln!(out, "only for     {}", authority.domains().join(", "))?;
    }
    if settings.name_constraints().is_ok_and(|wanted| !authority.is_limited_to(&wanted)) {
        writeln!(out, "renewal      would limit it to name-constraints: `wwwoffle ca renew`")?;
    }
    writeln!(out, "file         {}", files::path(&spool).display())?;
    let places = trust::places(authority, settings);
    if places.is_empty() {
        writeln!(out, "trusted by   no store on this machine: see `wwwoffle ca install --help`")?;
    }
    for place in places {
        writeln!(out, "trusted by   {place}")?;
    }
    let now = clock::now();
    if now >= authority.valid_until() {
        writeln!(out, "expired      HTTPS is not stored any more: `wwwoffle ca renew`")?;
        return Ok(ExitStatus::Expired);
    }
    if now + RENEW_BEFORE >= authority.valid_until() {
        writeln!(out, "renewal      is due: `wwwoffle ca renew`")?;
    }
    Ok(ExitStatus::Done)
}

fn renew(context: &mut VerbContext<'_>) -> VerbResult {
    let settings = &context.settings;
    let spool = settings.spool()?;
    // Without this check, a new authority would be created even in a directory that is not a spool.
    if !files::exists(&spool) {
        return Err(missing_authority(&spool));
    }
    offline::become_owner(&spool, settings)?;
    let new =
        files::renew(&spool, clock::now(), &settings.name_constraints()?).map_err(|error| {
            VerbFailure::caused(
                ExitStatus::BadSpool,
                "the certificate authority cannot be renewed",
                &error,
            )
        })?;
    show(&new, context)?;
    writeln!(
        context.terminal.stderr,
        "wwwoffle: the daemon uses the new authority from its next start; browsers must then trust \
         it (see the page /ca)"
    )?;
    Ok(ExitStatus::Done)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::base::clock;
    use crate::base::exit::ExitStatus;
    use crate::cli::tests::wwwoffle;
    use crate::tls::files;

    #[test]
    fn an_expired_authority_has_an_exit_status() {
        let spool = tempfile::tempdir().unwrap();
        let show = ["--spool", spool.path().to_str().unwrap(), "ca", "show"];
        let year = std::time::Duration::from_secs(366 * 24 * 60 * 60);
        files::load_or_make(spool.path(), clock::now() - year * 3, &[]).unwrap();
        let ran = wwwoffle(&show, "", Path::new("/nowhere"));
        assert_eq!(ran.status.code(), ExitStatus::Expired.code());
        assert!(ran.out.contains("\nexpired      ") && ran.out.contains("ca renew"), "{}", ran.out);
        files::renew(spool.path(), clock::now() - year * 2 + year / 50, &[]).unwrap();
        let ran = wwwoffle(&show, "", Path::new("/nowhere"));
        assert_eq!(ran.status, ExitStatus::Done, "{}", ran.out);
        assert!(ran.out.contains("\nrenewal      is due"), "{}", ran.out);
    }

    #[test]
    fn the_authority_is_shown_exported_and_renewed_without_a_daemon() {
        let spool = tempfile::tempdir().unwrap();
        let root = spool.path().to_str().unwrap();
        let run = |line: &[&str]| {
            let line = [&["--spool", root, "ca"], line].concat();
            wwwoffle(&line, "", Path::new("/nowhere"))
        };
        for line in [&["show"][..], &["export"], &["renew"]] {
            let ran = run(line);
            assert_eq!(ran.status, ExitStatus::Failed, "{line:?}");
            assert!(ran.err.contains("the first `wwwoffle serve` makes it"), "{}", ran.err);
        }
        let made = files::load_or_make(spool.path(), clock::now(), &[]).unwrap();
        let shown = run(&["show"]);
        assert_eq!((shown.status, shown.err.as_str()), (ExitStatus::Done, ""));
        for want in [made.name(), &made.fingerprint(), &made.spki_hash(), "authority.pem"] {
            assert!(shown.out.contains(want), "{want} in {}", shown.out);
        }
        assert_eq!(run(&["export"]).out, made.pem());
        let renewed = run(&["renew"]);
        assert_eq!(renewed.status, ExitStatus::Done, "{}", renewed.err);
        assert!(renewed.err.contains("next start"), "{}", renewed.err);
        assert_ne!(run(&["export"]).out, made.pem());
        for ran in [&shown, &renewed, &run(&["export"])] {
            assert!(!ran.out.contains("PRIVATE") && !ran.err.contains("PRIVATE"));
        }
    }
}
