//! The plan: what is changed, in which order, and what is left to a person.

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::certificate::CertificateChange;
use super::change::MachineChange;
use super::daemon::DaemonPlan;
use super::record::SetupRecord;
use super::share::NewLogins;
use super::{browsers, daemon, proxies};
use crate::base::shown;
use crate::cli::args::{SetupArgs, SetupPart};
use crate::cli::failure::VerbResult;
use crate::cli::settings::Settings;
use crate::cli::trust::TrustStore;
use crate::cli::{Terminal, trust};
use crate::tls::ca::Authority;

/// What is set up, and where.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) settings: &'a Settings<'a>,
    /// Whether one user is set up, and not the machine.
    pub(super) is_user: bool,
    /// The root directory of the system.
    pub(super) root: PathBuf,
}

/// A step of the set-up. The steps of one stage depend on the earlier stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Daemon,
    Certificates,
    /// Settings that send requests to the proxy. They do not depend on each other.
    Proxies,
}

/// One line of the plan.
#[derive(Debug)]
pub(super) struct PlanItem {
    pub(super) stage: Stage,
    pub(super) item: PlanStep,
}

/// What a line of the plan is about.
#[derive(Debug)]
pub(super) enum PlanStep {
    Change(MachineChange),
    /// The certificate authority of the spool, which does not exist yet.
    NewAuthority,
    /// The new authority in a store.
    NewCertificate {
        store: String,
    },
    /// Something that a person can do.
    ByHand {
        what: String,
        why: String,
    },
    /// Something that is not done because of a fault.
    Refused {
        what: String,
        why: String,
    },
}

/// The whole plan.
#[derive(Debug)]
pub(super) struct SetupPlan {
    pub(super) items: Vec<PlanItem>,
    pub(super) daemon: DaemonPlan,
}

impl PlanItem {
    pub(super) fn daemon(item: PlanStep) -> Self {
        Self { stage: Stage::Daemon, item }
    }

    fn certificates(item: PlanStep) -> Self {
        Self { stage: Stage::Certificates, item }
    }

    pub(super) fn proxies(item: PlanStep) -> Self {
        Self { stage: Stage::Proxies, item }
    }

    /// Returns the item for a planned change, or for the reason why it cannot be planned.
    pub(super) fn of(stage: Stage, what: &str, planned: Result<MachineChange, String>) -> Self {
        let item = match planned {
            Ok(change) => PlanStep::Change(change),
            Err(why) => PlanStep::Refused { what: what.to_owned(), why },
        };
        Self { stage, item }
    }

    /// Whether there is something to do.
    pub(super) fn is_open(&self, record: &SetupRecord, settings: &Settings<'_>) -> bool {
        match &self.item {
            PlanStep::Change(change) => !change.is_done(settings) || record.is_interrupted(change),
            PlanStep::NewAuthority | PlanStep::NewCertificate { .. } => true,
            PlanStep::ByHand { .. } | PlanStep::Refused { .. } => false,
        }
    }
}

/// Makes the plan. Without an authority, the certificates are only described. If they are skipped, HTTPS
/// of programs goes to the proxy where the authority is trusted already.
pub(super) fn plan(
    typed: &SetupArgs,
    machine: &Machine<'_>,
    logins: &NewLogins,
    authority: Option<&Authority>,
) -> VerbResult<SetupPlan> {
    let mut daemon = daemon::plan(typed, machine, logins)?;
    let mut items = std::mem::take(&mut daemon.items);
    let wants_certificate = !typed.skip.contains(&SetupPart::Certificate);
    let mut system = None;
    if wants_certificate && authority.is_none() && !machine.is_user && !daemon.will_run {
        let why = "the first start of the daemon makes it: start it, then run setup again";
        items.push(PlanItem::daemon(PlanStep::ByHand {
            what: "certificate authority".to_owned(),
            why: why.to_owned(),
        }));
    } else if wants_certificate {
        if authority.is_none() {
            items.push(PlanItem::daemon(PlanStep::NewAuthority));
        }
        system = certificates(machine, authority, &mut items);
    } else {
        system = trusting_system(machine, authority);
    }
    if !daemon.will_run {
        // With a proxy that does not answer, programs and browsers would reach nothing.
        let why = "no daemon runs: start `wwwoffle serve`, then run setup again".to_owned();
        items.push(PlanItem::proxies(PlanStep::ByHand { what: "proxy settings".to_owned(), why }));
    } else if !typed.skip.contains(&SetupPart::Proxy) {
        let trusts = proxies::ProxyTrust {
            system: system.as_ref(),
            browsers: wants_certificate && trust::tool(machine.settings).is_some(),
            fingerprint: authority.and_then(|authority| trust::fingerprint(authority).ok()),
        };
        items.extend(proxies::plan(machine, &daemon, &trusts));
        let certificate = wants_certificate.then(|| {
            authority
                .map_or("(the certificate)".to_owned(), |one| BASE64_STANDARD.encode(one.der()))
        });
        items.extend(browsers::plan(machine, daemon.proxy, &trusts, certificate.as_deref()));
    }
    Ok(SetupPlan { items, daemon })
}

/// Plans the certificates. Returns the store of the system if it trusts the authority afterwards.
fn certificates(
    machine: &Machine<'_>,
    authority: Option<&Authority>,
    items: &mut Vec<PlanItem>,
) -> Option<TrustStore> {
    let by_hand = |what: &str, why: String| {
        PlanItem::certificates(PlanStep::ByHand { what: what.to_owned(), why })
    };
    let mut add = |store: &TrustStore| {
        let item = match authority
            .map(|authority| CertificateChange::plan(store, &machine.root, authority))
        {
            None => PlanStep::NewCertificate { store: store.name() },
            Some(Ok(change)) => PlanStep::Change(MachineChange::Certificate(change)),
            Some(Err(why)) => PlanStep::Refused { what: store.name(), why },
        };
        items.push(PlanItem::certificates(item));
    };
    if machine.is_user {
        match TrustStore::browsers(machine.settings) {
            Ok(stores) if stores.is_empty() => items.push(by_hand(
                "certificate in browsers",
                "this user has no database of Chromium or Firefox yet: start the browser once, then \
                 run setup again"
                    .to_owned(),
            )),
            Ok(stores) => stores.iter().for_each(&mut add),
            Err(why) => items.push(by_hand("certificate in browsers", why)),
        }
        return trusting_system(machine, authority);
    }
    match TrustStore::system(&machine.root) {
        Some(system) if system.is_writable() => {
            add(&system);
            Some(system)
        }
        _ => {
            items.push(by_hand(
                "certificate in the store of the system",
                "the store is unknown or cannot be written: import the certificate that `wwwoffle ca \
                 export` prints"
                    .to_owned(),
            ));
            None
        }
    }
}

/// Returns the store of the system if it trusts the authority already.
fn trusting_system(machine: &Machine<'_>, authority: Option<&Authority>) -> Option<TrustStore> {
    let fingerprint = trust::fingerprint(authority?).ok()?;
    TrustStore::system(&machine.root).filter(|system| system.has(&fingerprint))
}

impl SetupPlan {
    /// Whether there is something to do.
    pub(super) fn is_open(&self, record: &SetupRecord, settings: &Settings<'_>) -> bool {
        self.items.iter().any(|item| item.is_open(record, settings))
    }

    /// Whether a part was refused because of a fault.
    pub(super) fn has_refusals(&self) -> bool {
        self.items.iter().any(|item| matches!(item.item, PlanStep::Refused { .. }))
    }

    /// Prints the plan.
    pub(super) fn print(
        &self,
        record: &SetupRecord,
        settings: &Settings<'_>,
        terminal: &mut Terminal<'_>,
    ) -> VerbResult<()> {
        let out = &mut *terminal.stdout;
        for one in &self.items {
            match &one.item {
                PlanStep::Change(change) if one.is_open(record, settings) => {
                    writeln!(out, "{}", shown::line(&change.name()))?;
                    for line in change.lines() {
                        writeln!(out, "    {}", shown::line(&line))?;
                    }
                }
                PlanStep::Change(change) => {
                    writeln!(out, "{}: done already", shown::line(&change.name()))?;
                }
                PlanStep::NewAuthority => {
                    writeln!(out, "certificate authority: made in the spool")?;
                }
                PlanStep::NewCertificate { store } => {
                    writeln!(
                        out,
                        "certificate in {}\n    not trusted -> trusted",
                        shown::line(store)
                    )?;
                }
                PlanStep::ByHand { what, why } => {
                    writeln!(out, "{what}: by hand: {}", shown::line(why))?;
                }
                PlanStep::Refused { what, why } => {
                    writeln!(out, "{what}: not changed: {}", shown::line(why))?;
                }
            }
        }
        Ok(())
    }
}
