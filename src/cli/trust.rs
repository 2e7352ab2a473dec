//! `wwwoffle ca install` and `uninstall`: add the authority to, or remove it from, the certificate
//! stores of this machine's programs and browsers.
//!
//! ```text
//! system       the system's store: Debian, Fedora, Arch, openSUSE
//! nss          the databases of browsers, which have their own lists
//! certificate  the certificate to trust, and how to recognize ours
//! plan         the steps in one store: a value, carried out or printed as commands
//! store        one store, for `setup`
//! ```
//!
//! Only files and entries that contain one of our certificates are removed. The certificate in a
//! file or entry is examined, not only the name of the file or entry.

mod certificate;
mod nss;
mod plan;
mod store;
mod system;

use std::io;
use std::path::{Path, PathBuf};

use self::certificate::{AuthorityCertificate, OwnCertificates};
use self::nss::Database;
use self::plan::{TrustPlan, TrustStep};
use self::system::System;
use super::args::{Install, Uninstall};
use super::failure::{VerbFailure, VerbResult};
use super::settings::Settings;
use super::{Terminal, VerbContext, authority, programs};
use crate::base::exit::ExitStatus;
use crate::base::small_file::{self, Readers};
use crate::tls::ca::Authority;
use crate::tls::files;

pub(super) use self::nss::REMEDY;
pub(super) use self::store::{TrustStore, fingerprint};

/// The programs that read the database of Chromium.
const CHROMIUM: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "brave-browser",
    "microsoft-edge",
];

/// The plan for one store.
struct Job {
    place: String,
    plan: TrustPlan,
}

/// The words that report the result for a store. `nothing` is used if the store needs no change;
/// with `None`, such a store is not reported.
struct Words {
    done: &'static str,
    nothing: Option<&'static str>,
    not: &'static str,
}

const INSTALL: Words =
    Words { done: "trusted now", nothing: Some("trusted already"), not: "not trusted" };

const UNINSTALL: Words = Words { done: "removed", nothing: None, not: "not removed" };

/// Makes the store of the system trust the authority, or with `--user` the browsers of this user.
pub(super) fn install(typed: &Install, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let (certificate, export) = match &typed.what.certificate {
        Some(file) => (read(file)?, format!("cat {}", programs::quoted(&file.to_string_lossy()))),
        None => (of(&authority::load(settings)?)?, settings.command("ca export")),
    };
    let jobs = if typed.user {
        let tool = tool(settings).ok_or_else(|| VerbFailure::plain(REMEDY))?;
        let install = |database: &Database| Job {
            place: database.name(),
            plan: database.install(&tool, &certificate),
        };
        databases(settings).map_err(VerbFailure::plain)?.iter().map(install).collect()
    } else {
        let system = System::detect(&typed.what.root);
        vec![Job { place: system.name(), plan: system.install(&certificate, &export) }]
    };
    if jobs.is_empty() {
        return Err(VerbFailure::plain(
            "this user has no database of Chromium or Firefox yet: start the browser once",
        ));
    }
    let work = TrustWork { certificate: Some(&certificate), export: &export, words: INSTALL };
    let status = work.run_jobs(&jobs, typed.what.print, terminal)?;
    if !typed.what.print {
        writeln!(terminal.stdout, "{}: SHA-256 {}", certificate.name(), certificate.fingerprint())?;
        let more = if typed.user {
            "restart running browsers"
        } else {
            "Firefox and Chromium have their own stores: `wwwoffle ca install --user`"
        };
        writeln!(terminal.stderr, "wwwoffle: {more}")?;
    }
    Ok(status)
}

/// Removes the authority, and earlier ones, from the store of the system and from the browsers of
/// this user.
pub(super) fn uninstall(typed: &Uninstall, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let ours = chosen_certificates(typed, settings)?;
    let system = System::detect(&typed.what.root);
    let mut jobs = vec![Job { place: system.name(), plan: system.uninstall(&ours) }];
    let blind = match (databases(settings), tool(settings)) {
        (Ok(mut databases), tool) => {
            databases.retain(|database| database.exists);
            if let Some(tool) = &tool {
                jobs.extend(databases.iter().map(|database| Job {
                    place: database.name(),
                    plan: database.uninstall(tool, &ours),
                }));
            }
            (tool.is_none() && !databases.is_empty()).then(|| REMEDY.to_owned())
        }
        (Err(why), _) => Some(why),
    };
    jobs.retain(|job| job.plan != TrustPlan::Nothing);
    let work = TrustWork { certificate: None, export: "", words: UNINSTALL };
    let status = work.run_jobs(&jobs, typed.what.print, terminal)?;
    if let Some(why) = blind {
        return Err(VerbFailure::plain(format_args!("the browsers were not checked: {why}")));
    }
    if jobs.is_empty() {
        writeln!(terminal.stdout, "no certificate of wwwoffle is trusted here")?;
    }
    Ok(status)
}

/// Returns the names of the stores of this machine that trust `authority`, as far as this user can
/// see.
pub(super) fn places(authority: &Authority, settings: &Settings<'_>) -> Vec<String> {
    let Ok(certificate) = of(authority) else { return Vec::new() };
    let ours = OwnCertificates::These(vec![certificate.fingerprint()]);
    let system = System::detect(Path::new("/"));
    let mut places = Vec::new();
    if let Some(file) = system.file_of(&ours) {
        places.push(format!("system ({})", file.display()));
    }
    if let (Some(tool), Ok(databases)) = (tool(settings), databases(settings)) {
        let holding = databases.iter().filter(|one| !one.entries(&tool, &ours).is_empty());
        places.extend(holding.map(Database::name));
    }
    places
}

/// Adds the authority to the certificate database of one Firefox profile. Creates a missing
/// database.
pub(super) fn into_profile(authority: &Authority, profile: &Path, tool: &Path) -> VerbResult<()> {
    let certificate = of(authority)?;
    let exists = small_file::read(&profile.join("cert9.db")).is_ok_and(|found| found.is_some());
    let database = Database { browser: "Firefox", path: profile.to_owned(), exists };
    let plan = database.install(tool, &certificate);
    let work = TrustWork { certificate: Some(&certificate), export: "", words: INSTALL };
    match plan {
        TrustPlan::Do(steps) => work.run_steps(&steps).map_err(|why| {
            VerbFailure::plain(format_args!("{}: not trusted: {why}", database.name()))
        }),
        TrustPlan::Nothing | TrustPlan::Tell { .. } => Ok(()),
    }
}

/// Returns the path of the tool that edits browser databases.
pub(super) fn tool(settings: &Settings<'_>) -> Option<PathBuf> {
    settings.program(nss::TOOL)
}

fn of(authority: &Authority) -> VerbResult<AuthorityCertificate> {
    AuthorityCertificate::of(authority.der().clone()).ok_or_else(|| {
        VerbFailure::plain(format_args!(
            "{:?} is not an authority made by wwwoffle",
            authority.name()
        ))
    })
}

fn read(file: &Path) -> VerbResult<AuthorityCertificate> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let cannot = |why: String| VerbFailure::plain(format_args!("{}: {why}", file.display()));
    let text = match small_file::read(file) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(cannot("there is no such file".to_owned())),
        Err(error) => return Err(cannot(format!("it cannot be read: {error}"))),
    };
    let der = CertificateDer::from_pem_slice(&text).ok();
    der.and_then(AuthorityCertificate::of).ok_or_else(|| {
        cannot("it holds no certificate in PEM of an authority made by wwwoffle".to_owned())
    })
}

fn chosen_certificates(typed: &Uninstall, settings: &Settings<'_>) -> VerbResult<OwnCertificates> {
    if typed.all {
        return Ok(OwnCertificates::All);
    }
    if let Some(file) = &typed.what.certificate {
        return Ok(OwnCertificates::These(vec![read(file)?.fingerprint()]));
    }
    let spool = settings.spool()?;
    let found = files::certificates(&spool).map_err(|error| authority::unreadable(&error))?;
    let found = found.into_iter().filter_map(AuthorityCertificate::of);
    let fingerprints: Vec<String> = found.map(|one| one.fingerprint()).collect();
    if fingerprints.is_empty() {
        return Err(VerbFailure::plain(format_args!(
            "there is no certificate authority in the spool {}: --spool DIR names another spool, \
             --all means every authority that wwwoffle has made",
            spool.display()
        )));
    }
    Ok(OwnCertificates::These(fingerprints))
}

/// Returns the directories of this user's Firefox profiles.
pub(super) fn firefox_profiles(settings: &Settings<'_>) -> Vec<PathBuf> {
    settings.environment.home_directory().map(nss::firefox_profiles).unwrap_or_default()
}

/// Returns the databases of this user's browsers. The error says why they cannot be determined or
/// changed.
fn databases(settings: &Settings<'_>) -> Result<Vec<Database>, String> {
    let environment = settings.environment;
    let (Some(home), Some(data)) = (environment.home_directory(), environment.data_home()) else {
        return Err("the home directory is unknown: set HOME".to_owned());
    };
    if rustix::process::geteuid().is_root()
        && rustix::fs::stat(home).is_ok_and(|about| about.st_uid != 0)
    {
        return Err(format!(
            "{} belongs to another user, whose browsers could not read files written by root: run \
             this as that user",
            home.display()
        ));
    }
    let has_chromium = CHROMIUM.iter().any(|name| settings.program(name).is_some());
    Ok(nss::databases(home, &data, has_chromium))
}

/// The data shared by all jobs of one command.
struct TrustWork<'a> {
    certificate: Option<&'a AuthorityCertificate>,
    /// The command that prints the certificate.
    export: &'a str,
    words: Words,
}

impl TrustWork<'_> {
    fn run_jobs(&self, jobs: &[Job], print: bool, terminal: &mut Terminal<'_>) -> VerbResult {
        let mut status = ExitStatus::Done;
        for Job { place, plan } in jobs {
            match plan {
                TrustPlan::Nothing => {
                    if let Some(nothing) = self.words.nothing {
                        writeln!(terminal.stdout, "{place}: {nothing}")?;
                    }
                }
                TrustPlan::Do(steps) if print => {
                    writeln!(terminal.stdout, "# {place}")?;
                    for step in steps {
                        writeln!(terminal.stdout, "{}", step.command(self.export, ""))?;
                    }
                }
                TrustPlan::Tell { why, commands } => {
                    writeln!(terminal.stdout, "# {place}: {why}")?;
                    for command in commands {
                        writeln!(terminal.stdout, "{command}")?;
                    }
                    if !print {
                        writeln!(terminal.stderr, "wwwoffle: {place}: {}", self.words.not)?;
                        status = ExitStatus::Failed;
                    }
                }
                TrustPlan::Do(steps) => match self.run_steps(steps) {
                    Ok(()) => writeln!(terminal.stdout, "{place}: {}", self.words.done)?,
                    Err(why) => {
                        writeln!(terminal.stderr, "wwwoffle: {place}: {}: {why}", self.words.not)?;
                        status = ExitStatus::Failed;
                    }
                },
            }
        }
        Ok(status)
    }

    /// Carries out the steps until one fails. The error names that step and the reason. After a
    /// failure, files are restored: a written file is useless without the steps after it, and a
    /// removed file would not be found on the next attempt although programs still trust its
    /// certificate.
    fn run_steps(&self, steps: &[TrustStep]) -> Result<(), String> {
        let mut before = Vec::new();
        for step in steps {
            if let TrustStep::Write(path) | TrustStep::Remove(path) = step {
                before.push((path, small_file::read(path).ok().flatten()));
            }
            let why = match self.run_step(step) {
                Ok(None) => continue,
                Ok(Some(why)) => why,
                Err(error) => error.to_string(),
            };
            for (path, bytes) in before {
                // A second failure is not reported.
                let _as_it_was = match bytes {
                    Some(bytes) => small_file::write(path, &bytes, Readers::All),
                    None => small_file::remove(path),
                };
            }
            return Err(format!("{}: {why}", step.command(self.export, "")));
        }
        Ok(())
    }

    /// Carries out one step. `None` on success; `Some` is the reason that a failed program gave.
    fn run_step(&self, step: &TrustStep) -> io::Result<Option<String>> {
        let pem = self.certificate.map(AuthorityCertificate::pem).unwrap_or_default();
        match step {
            TrustStep::Directory(path) => small_file::create_directories(path)?,
            TrustStep::Write(path) => small_file::write(path, pem.as_bytes(), Readers::All)?,
            TrustStep::Remove(path) => small_file::remove(path)?,
            TrustStep::Run(call) => {
                let input = if call.reads_certificate { pem.as_str() } else { "" };
                let ran = programs::run(&call.program, &call.arguments, input)?;
                return Ok((!ran.success).then_some(ran.why));
            }
        }
        Ok(None)
    }
}
