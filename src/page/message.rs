//! Message pages for refusals and failures: what happened, why, and what one can do.

mod denied;
mod origin;
mod ours;
mod ruled;
mod tls;
mod view;
mod ways;

use jiff::Timestamp;

use super::guard::Refusal;
use crate::base::shown::{self, ShownUrl};
use crate::base::text::Text;
use crate::page::certificates::ShownCertificate;

pub use denied::Denied;
pub use ruled::Ruled;
pub use tls::{BadCertificate, NoTls};
pub use view::{Aid, page, page_with};

/// What is to be told.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The request cannot be understood, or its framing is ambiguous.
    BadRequest {
        /// What is wrong with it.
        detail: &'a str,
    },
    /// An address of ours has something after the name of its page that it cannot use.
    BadAddress {
        /// What is wrong with it.
        detail: &'a str,
    },
    /// A form of ours has something that cannot be done.
    BadForm {
        /// The status to say it with.
        status: u16,
        /// What is wrong with it.
        detail: &'a str,
    },
    /// Nothing was chosen of what a button is for.
    NothingChosen {
        /// The list that the button is in, without our origin.
        back: &'a str,
    },
    /// A request to our own pages was refused.
    Forbidden(Refusal),
    /// Whoever asks may not, or has not said who they are.
    Denied(Denied),
    /// The configuration says so.
    Ruled {
        /// What was asked for.
        url: &'a str,
        /// What it says.
        ruled: Ruled,
        /// Where it says so, for those who may know.
        place: Option<&'a str>,
    },
    /// Our own pages have nothing at this address.
    NotFound {
        /// The path asked for.
        path: &'a str,
    },
    /// The address is one of WWWOFFLE 2.9 for what is not fetched any more.
    NoLonger {
        /// The path asked for.
        path: &'a str,
    },
    /// The address is ours, and takes other methods.
    MethodNotAllowed {
        /// The method that was used.
        method: &'a str,
    },
    /// The origin could not be reached, or did not answer as it should.
    OriginFailed {
        /// What was asked for.
        url: &'a str,
        /// How it failed.
        failure: OriginFailure<'a>,
        /// What the spool has instead.
        kept: Option<Kept<'a>>,
    },
    /// What is kept may not be used without asking its origin, and that cannot be asked.
    MustAsk {
        /// What was asked for.
        url: &'a str,
        /// How the origin failed.
        detail: &'a str,
        /// What is kept.
        kept: Kept<'a>,
    },
    /// What is kept was asked for anew while offline, and waits for that.
    RefreshQueued {
        /// What.
        url: &'a str,
    },
    /// Only what is kept was asked for (`only-if-cached`), and that is not.
    NotKept {
        /// What was asked for.
        url: &'a str,
    },
    /// The URL names the stored answer to a form, and there is none.
    FormAnswer {
        /// What was asked for.
        url: &'a str,
    },
    /// Something of what is kept was asked for on a page of ours, and nothing is.
    NothingKept {
        /// Of what.
        url: &'a str,
    },
    /// What was asked for can neither be answered nor queued while offline.
    OfflineRefused {
        /// The method, `CONNECT` among them.
        method: &'a str,
        /// What was asked for.
        url: &'a str,
    },
    /// A tunnel was asked for to a port that is not allowed.
    PortBlocked {
        /// The host and port.
        host_port: &'a str,
    },
    /// HTTPS to a host that is refused.
    HostRefused {
        /// The host and port.
        host_port: &'a str,
    },
    /// A tunnel was asked for while offline.
    TunnelOffline {
        /// The host and port.
        host_port: &'a str,
    },
    /// The request came through this proxy before.
    Loop {
        /// What was asked for.
        url: &'a str,
    },
    /// The stored body is damaged and cannot be decoded.
    Undecodable {
        /// What was asked for.
        url: &'a str,
        /// What is wrong with the body.
        detail: &'a str,
    },
    /// There is no room left where the spool is.
    SpoolFull,
    /// The outgoing queue holds as much as it may.
    QueueFull,
    /// The outgoing queue holds as much for this person as it may.
    ShareUsedUp,
    /// The request is too large to be recorded.
    TooLargeToQueue {
        /// What was asked for.
        url: &'a str,
    },
    /// The spool cannot be read or written.
    SpoolFailed {
        /// What the disk said.
        detail: &'a str,
    },
    /// A fault of ours.
    Internal,
}

/// A copy in the spool.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Its URL.
    pub url: &'a str,
    /// When it was stored.
    pub stored: Timestamp,
    /// When it came.
    pub came: Timestamp,
}

/// How an origin failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFailure<'a> {
    /// The proxy between this one and it gives no way there.
    Parent(&'a str),
    /// Its name cannot be resolved.
    UnknownHost,
    /// Nothing listens there.
    Refused,
    /// There is no way to it.
    Unreachable,
    /// It took too long.
    Timeout(Phase),
    /// Its certificate is not good for it.
    Certificate {
        /// What is wrong with it.
        fault: BadCertificate,
        /// The particulars.
        detail: &'a str,
        /// What the origin sent.
        shown: ShownCertificate<'a>,
    },
    /// There is no TLS connection to it.
    Tls {
        /// Why not.
        fault: NoTls,
        /// The particulars.
        detail: &'a str,
    },
    /// It closed the connection before its answer was whole.
    Closed,
    /// It said what is no HTTP.
    BadAnswer(&'a str),
    /// The head of its answer is longer than what is accepted.
    HeadTooLarge,
    /// Its answer is longer than what is kept, in bytes.
    TooLarge(u64),
    /// It is this machine itself or on its link, and whoever asks is elsewhere.
    Inward,
}

/// What was waited for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The address of the host.
    Resolving,
    /// The connection.
    Connecting,
    /// The TLS handshake.
    Securing,
    /// The head of the answer.
    Head,
    /// More of the body.
    Body,
}

/// What the page says.
struct Words {
    status: u16,
    title: Text,
    happened: Text,
    /// What one can do that is no link.
    advice: Vec<Text>,
}

impl Message<'_> {
    /// The status the page is sent with.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.words().status
    }

    /// The title alone, in English, for a log or an answer in plain text.
    #[must_use]
    pub fn title(&self) -> String {
        self.words().title.to_string()
    }

    fn words(&self) -> Words {
        match self {
            Self::OriginFailed { failure, .. } => failure.words(),
            Self::Denied(denied) => denied.words(),
            Self::Ruled { ruled, .. } => ruled.words(),
            Self::BadRequest { .. } => ours::bad_request(),
            Self::BadAddress { .. } => ours::bad_address(),
            Self::BadForm { status, .. } => ours::bad_form(*status),
            Self::NothingChosen { .. } => ours::nothing_chosen(),
            Self::Forbidden(refusal) => ours::forbidden(*refusal),
            Self::NotFound { path } => ours::not_found(path),
            Self::NoLonger { .. } => ours::no_longer(),
            Self::RefreshQueued { .. } => ours::refresh_queued(),
            Self::MethodNotAllowed { .. } => ours::method_not_allowed(),
            Self::MustAsk { .. } => ours::must_ask(),
            Self::NotKept { .. } => ours::not_kept(),
            Self::FormAnswer { .. } => ours::form_answer(),
            Self::NothingKept { .. } => ours::nothing_kept(),
            Self::OfflineRefused { .. } => ours::offline_refused(),
            Self::PortBlocked { .. } => ours::port_blocked(),
            Self::HostRefused { .. } => ours::host_refused(),
            Self::TunnelOffline { .. } => ours::tunnel_offline(),
            Self::Loop { .. } => ours::circle(),
            Self::Undecodable { .. } => ours::undecodable(),
            Self::SpoolFull => ours::spool_full(),
            Self::QueueFull => ours::queue_full(),
            Self::ShareUsedUp => ours::share_used_up(),
            Self::TooLargeToQueue { .. } => ours::too_large_to_queue(),
            Self::SpoolFailed { .. } => ours::spool_failed(),
            Self::Internal => ours::internal(),
        }
    }

    /// The foreign text that is shown set apart.
    fn detail(&self) -> Option<String> {
        match self {
            Self::BadRequest { detail }
            | Self::BadAddress { detail }
            | Self::BadForm { detail, .. }
            | Self::SpoolFailed { detail }
            | Self::MustAsk { detail, .. }
            | Self::Undecodable { detail, .. }
            | Self::OriginFailed {
                failure:
                    OriginFailure::BadAnswer(detail)
                    | OriginFailure::Parent(detail)
                    | OriginFailure::Certificate { detail, .. }
                    | OriginFailure::Tls { detail, .. },
                ..
            } => Some(shown::text(detail)),
            Self::NotFound { path } | Self::NoLonger { path } => Some(shown::text(path)),
            Self::MethodNotAllowed { method } | Self::OfflineRefused { method, .. } => {
                Some(shown::text(method))
            }
            Self::PortBlocked { host_port }
            | Self::HostRefused { host_port }
            | Self::TunnelOffline { host_port } => Some(shown::text(host_port)),
            _ => None,
        }
    }

    /// What was asked for.
    fn asked(&self) -> Option<&str> {
        match self {
            Self::OriginFailed { url, .. }
            | Self::MustAsk { url, .. }
            | Self::Undecodable { url, .. }
            | Self::NotKept { url }
            | Self::FormAnswer { url }
            | Self::NothingKept { url }
            | Self::RefreshQueued { url }
            | Self::OfflineRefused { url, .. }
            | Self::Ruled { url, .. }
            | Self::TooLargeToQueue { url }
            | Self::Loop { url } => Some(url),
            _ => None,
        }
    }

    fn url(&self) -> Option<ShownUrl> {
        self.asked().map(ShownUrl::new)
    }

    /// Where the configuration says so.
    fn rule(&self) -> Option<String> {
        match self {
            Self::Ruled { place, .. } => place.map(shown::text),
            _ => None,
        }
    }

    fn kept(&self) -> Option<Kept<'_>> {
        match self {
            Self::OriginFailed { kept, .. } => *kept,
            Self::MustAsk { kept, .. } => Some(*kept),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
