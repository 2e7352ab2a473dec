//! The status and the texts of each message.

use super::{BadCertificate, Denied, Message, NoTls, OriginFailure, Phase, Ruled};
use crate::base::shown;
use crate::base::text::{Text, tr};
use crate::page::guard::GuardRefusal;

/// The texts of all messages. The file says how they are written.
pub(super) const TEXTS: &str = include_str!("texts.txt");

/// The texts of a page.
pub(super) struct MessageText {
    pub(super) title: Text,
    pub(super) happened: Text,
    /// Advice that is not a link.
    pub(super) advice: Vec<Text>,
}

impl MessageText {
    pub(super) fn new(message: &Message<'_>) -> Self {
        let value = match message {
            Message::Denied(Denied::TooOften { seconds }) => Some(("seconds", seconds.to_string())),
            Message::OriginFailed { failure: OriginFailure::TooLarge(most), .. } => {
                Some(("most", shown::bytes(*most)))
            }
            _ => None,
        };
        let heading = format!("[{}]", message.row().1);
        let lines = TEXTS.lines().skip_while(|line| *line != heading).skip(1);
        let mut texts = lines.take_while(|line| !line.is_empty()).map(|line| match &value {
            Some((name, value)) => tr(line).with(name, value.as_str()),
            None => tr(line),
        });
        // A test reads the texts of each message.
        let mut next = || texts.next().unwrap_or_else(|| tr(""));
        Self { title: next(), happened: next(), advice: texts.collect() }
    }
}

impl Message<'_> {
    /// Returns the status of the page, and the name of the message in [`TEXTS`].
    pub(super) fn row(&self) -> (u16, &'static str) {
        match self {
            Self::OriginFailed { failure, .. } => failure.row(),
            Self::Denied(denied) => denied.row(),
            Self::Ruled { ruled, .. } => ruled.row(),
            Self::Forbidden(refusal) => (403, name_of_refusal(*refusal)),
            Self::OpenedElsewhere { .. } => (403, "opened-elsewhere"),
            Self::BadRequest { .. } => (400, "bad-request"),
            Self::BadAddress { .. } => (400, "bad-address"),
            Self::BadForm { status, .. } => (*status, "bad-form"),
            Self::NothingChosen { .. } => (422, "nothing-chosen"),
            Self::NotFound { path } if path.starts_with("/local/") => (404, "no-local-file"),
            Self::NotFound { .. } => (404, "not-found"),
            Self::MethodNotAllowed { .. } => (405, "method-not-allowed"),
            Self::Loop { .. } => (508, "loop"),
            Self::PortBlocked { .. } => (403, "port-blocked"),
            Self::HostRefused { .. } => (403, "host-refused"),
            Self::MustAsk { .. } => (504, "must-ask"),
            Self::NotKept { .. } => (504, "not-kept"),
            Self::Locked { .. } => (401, "locked"),
            Self::LockedHere { .. } => (403, "locked-here"),
            Self::NothingKept { .. } => (404, "nothing-kept"),
            Self::Undecodable { .. } => (502, "undecodable"),
            Self::RefreshQueued { .. } => (202, "refresh-queued"),
            Self::FormAnswer { .. } => (404, "form-answer"),
            Self::FormUnknown { .. } => (504, "form-unknown"),
            Self::OfflineRefused { .. } => (504, "offline-refused"),
            Self::TunnelOffline { .. } => (504, "tunnel-offline"),
            Self::TooLargeToQueue { .. } => (413, "too-large-to-queue"),
            Self::QueueFull => (507, "queue-full"),
            Self::ShareUsedUp => (507, "share-used-up"),
            Self::QuotaReached => (429, "quota-reached"),
            Self::SpellingRefused => (504, "spelling-refused"),
            Self::SpoolFull => (507, "spool-full"),
            Self::SpoolFailed { .. } => (500, "spool-failed"),
            Self::Internal => (500, "internal"),
        }
    }
}

fn name_of_refusal(refusal: GuardRefusal) -> &'static str {
    match refusal {
        GuardRefusal::ForeignHost => "foreign-host",
        GuardRefusal::CrossSite => "cross-site",
        GuardRefusal::OpenedElsewhere => "opened-elsewhere",
        GuardRefusal::ForeignOrigin => "foreign-origin",
        GuardRefusal::NoPassword => "no-password",
        GuardRefusal::OtherMachine => "other-machine",
        GuardRefusal::NotAdministrator => "not-administrator",
        GuardRefusal::NoToken | GuardRefusal::WrongToken => "no-token",
    }
}

impl Denied {
    pub(super) fn row(self) -> (u16, &'static str) {
        match self {
            Self::Machine => (403, "machine"),
            Self::ProxyLogin => (407, "proxy-login"),
            Self::Login => (401, "login"),
            Self::Control => (401, "control"),
            Self::ControlPage => (401, "control-page"),
            Self::WrongControl => (401, "wrong-control"),
            Self::TooOften { .. } => (429, "too-often"),
            Self::Busy => (503, "busy"),
        }
    }
}

impl Ruled {
    fn row(self) -> (u16, &'static str) {
        match self {
            Self::Blocked => (403, "blocked"),
            Self::OtherProtocol => (403, "other-protocol"),
            Self::UnknownMethod => (501, "unknown-method"),
            Self::LeadsToBlocked => (404, "leads-to-blocked"),
            Self::NeverKept => (504, "never-kept"),
            Self::NotQueued => (504, "not-queued"),
        }
    }
}

impl OriginFailure<'_> {
    fn row(&self) -> (u16, &'static str) {
        match self {
            Self::Parent(_) => (502, "parent"),
            Self::UnknownHost => (502, "unknown-host"),
            Self::Refused => (502, "refused"),
            Self::Unreachable => (502, "unreachable"),
            Self::Timeout(Phase::Resolving) => (504, "timeout-resolving"),
            Self::Timeout(Phase::Connecting) => (504, "timeout-connecting"),
            Self::Timeout(Phase::Securing) => (504, "timeout-securing"),
            Self::Timeout(Phase::Head) => (504, "timeout-head"),
            Self::Timeout(Phase::Body) => (504, "timeout-body"),
            Self::Certificate { fault, .. } => (502, fault.name()),
            Self::Tls { fault: NoTls::NotSpoken, .. } => (502, "tls-not-spoken"),
            Self::Tls { fault: NoTls::TooLarge, .. } => (502, "tls-too-large"),
            Self::Tls { fault: NoTls::NoAgreement, .. } => (502, "tls-no-agreement"),
            Self::Closed => (502, "closed"),
            Self::BadAnswer(_) => (502, "bad-answer"),
            Self::HeadTooLarge => (502, "head-too-large"),
            Self::TooLarge(_) => (502, "too-large"),
            Self::Inward => (403, "inward"),
        }
    }
}

impl BadCertificate {
    fn name(self) -> &'static str {
        match self {
            Self::Expired => "certificate-expired",
            Self::NotYetValid => "certificate-not-yet-valid",
            Self::WrongName => "certificate-wrong-name",
            Self::SelfSigned => "certificate-self-signed",
            Self::MissingIssuer => "certificate-missing-issuer",
            Self::UnknownIssuer => "certificate-unknown-issuer",
            Self::Revoked => "certificate-revoked",
            Self::Unusable => "certificate-unusable",
        }
    }
}
