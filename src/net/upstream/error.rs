//! What can go wrong between us and an origin, and whether trying again may help.

use std::io;
use std::sync::Arc;

use hyper::StatusCode;

use crate::base::error_chain::error_chain;

use super::BoxError;
use super::ParentFault;
use super::refused::RefusedCertificate;
use super::tls_error::{TlsFault, alert_in};

/// A request that got no usable answer from its origin.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The proxy between this one and the origin gives no way to it.
    #[error("the parent proxy {authority} gives no way to the origin")]
    Parent {
        /// Its host and port.
        authority: String,
        /// Why not.
        #[source]
        fault: ParentFault,
    },
    /// The mode is offline: the dialer opened nothing.
    #[error("the mode is offline: no connection was opened")]
    Offline,
    /// It leads to this machine or no further than its link, and whoever asks is elsewhere.
    #[error(
        "{authority} is this machine itself, or on its own link, and whoever asks is not at this machine"
    )]
    Inward {
        /// Host and port.
        authority: String,
    },
    /// The name has no address.
    #[error("the host {host:?} is unknown")]
    UnknownHost {
        /// The name looked up.
        host: String,
        /// What the resolver said.
        source: io::Error,
        /// The resolver could not find out, rather than that there is no such name.
        may_pass: bool,
    },
    /// The resolver gave no answer in time.
    #[error("looking up the host {host:?} took too long")]
    LookupTimeout {
        /// The name looked up.
        host: String,
    },
    /// The origin's machine answers, nobody listens on the port.
    #[error("{authority} refuses the connection")]
    Refused {
        /// Host and port dialled.
        authority: String,
        /// What the system said.
        source: io::Error,
    },
    /// No way to the origin.
    #[error("{authority} cannot be reached")]
    Unreachable {
        /// Host and port dialled.
        authority: String,
        /// What the system said.
        source: io::Error,
    },
    /// The connection was not established in time.
    #[error("{authority} does not answer")]
    ConnectTimeout {
        /// Host and port dialled.
        authority: String,
    },
    /// The connection stands, the TLS handshake on it was not completed in time.
    #[error("{authority} does not complete the TLS handshake")]
    HandshakeTimeout {
        /// Host and port.
        authority: String,
    },
    /// The origin cannot prove who it is. Nothing was sent to it.
    #[error(
        "the certificate of {authority} is refused: {}{}",
        refused.fault,
        if refused.differs { "; and it is not the one that is allowed there" } else { "" }
    )]
    Certificate {
        /// Host and port.
        authority: String,
        /// What it showed, and what is wrong with it.
        refused: Arc<RefusedCertificate>,
    },
    /// No TLS connection came about, or the origin ended it by an alert.
    #[error("there is no TLS connection to {authority}")]
    Tls {
        /// Host and port.
        authority: String,
        /// Why not.
        #[source]
        fault: TlsFault,
    },
    /// The origin ended a TLS connection that stood, and said why.
    #[error("the origin ended the TLS connection")]
    Alert(#[source] TlsFault),
    /// All connections to this origin stayed busy for too long.
    #[error("too many requests to {authority} are waiting already")]
    Busy {
        /// Host and port.
        authority: String,
    },
    /// The connection stands, the head of the answer did not come in time.
    #[error("the answer did not begin in time")]
    HeadTimeout,
    /// A body stopped moving.
    #[error("the answer stopped in the middle")]
    Stalled,
    /// What came is no HTTP, or beyond our limits.
    #[error("the answer is malformed")]
    Malformed(#[source] hyper::Error),
    /// What came is HTTP, but no answer to this request, or one that could be read in two ways.
    #[error("the answer is wrong: {0}")]
    Wrong(&'static str),
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    CutShort(#[source] BoxError),
    /// An exchange, or the connection under it, was ended by the origin, which said why.
    #[error("the origin ended the exchange")]
    GivenUp(#[source] h2::Error),
    /// What came breaks the rules of HTTP/2, a length that its body does not have among them, or is
    /// beyond our limits.
    #[error("the answer breaks the rules of HTTP/2")]
    BreaksHttp2(#[source] h2::Error),
    /// The origin answers nothing any more, not even whether it is there.
    #[error("the origin has fallen silent")]
    Silent,
    /// The origin has said, each time it was asked, that it has not looked at the request.
    #[error("the origin turned the request down without looking at it")]
    Unprocessed,
    /// A new connection was closed before a byte of the request was sent.
    #[error("the connection was closed as soon as it stood")]
    ClosedAtOnce,
    /// The client's own request body broke off or was bad.
    #[error("the request's body ended early")]
    RequestBody(#[source] BoxError),
    /// It grew beyond what is kept, and nobody reads it.
    #[error(
        "the answer is larger than {most} bytes, which is the most that is kept ([options] max-body)"
    )]
    TooLarge {
        /// The most that is kept.
        most: u64,
    },
    /// Everybody who wanted the answer has left.
    #[error("nobody waits for the answer any more")]
    Abandoned,
    /// A person has ended it.
    #[error("the download was ended by hand")]
    EndedByHand,
    /// The task that fetched it panicked.
    #[error("the download was ended by a fault of this program")]
    Ours,
    /// The page changed at its origin while it came: its rest is that of another one.
    #[error("the page changed at its origin while it came")]
    Changed,
    /// The origin does not give the rest of a body that broke off.
    #[error("the rest of an answer that broke off was asked for, and the origin answered {0}")]
    NotResumed(StatusCode),
    /// It is longer than what is fetched unasked; with its length in bytes, if its origin has told.
    #[error("it is longer than what is fetched unasked")]
    TooLong(Option<u64>),
    /// What may be fetched for the queue is used up.
    #[error("the budget for fetching is spent")]
    OverBudget,
    /// The daemon stops.
    #[error("the daemon stops")]
    Stopping,
    /// The request cannot be put on the wire.
    #[error("the request cannot be sent: {0}")]
    Unsendable(&'static str),
}

impl Failure {
    /// Turns hyper's account of a failed exchange into ours.
    #[must_use]
    pub fn from_exchange(error: hyper::Error) -> Self {
        if error.is_parse() || error.is_parse_too_large() {
            Failure::Malformed(error)
        } else if error.is_user() || error.is_body_write_aborted() {
            Failure::RequestBody(error.into())
        } else if let Some(alert) = alert_in(&error) {
            Failure::Alert(TlsFault::Alert(alert))
        } else {
            Failure::CutShort(error.into())
        }
    }

    /// Whether the same request may well succeed later: the line, the name server or the origin
    /// had a bad moment. A malformed answer counts too, for it is often a broken middlebox; a bad
    /// certificate does not, for nothing but a person's doing makes it good.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            Failure::Certificate { .. }
                | Failure::Inward { .. }
                | Failure::UnknownHost { may_pass: false, .. }
                | Failure::Parent { fault: ParentFault::Login, .. }
                | Failure::RequestBody(_)
                | Failure::Unsendable(_)
                | Failure::TooLarge { .. }
                | Failure::Abandoned
                | Failure::EndedByHand
                | Failure::TooLong(_)
        )
    }

    /// Whether there was no way to the origin, or the way has fallen silent: the link may be down. Of
    /// an origin that was reached, and failed, it is not so.
    #[must_use]
    pub fn is_no_way(&self) -> bool {
        match self {
            Failure::Parent { fault: ParentFault::Connect(failure), .. } => failure.is_no_way(),
            Failure::Parent { fault: ParentFault::Silent, .. }
            | Failure::UnknownHost { .. }
            | Failure::LookupTimeout { .. }
            | Failure::Refused { .. }
            | Failure::Unreachable { .. }
            | Failure::ConnectTimeout { .. }
            | Failure::HandshakeTimeout { .. }
            | Failure::HeadTimeout
            | Failure::Silent => true,
            _ => false,
        }
    }

    /// Whether not a byte of the request has left, or the origin says that it has looked at none: it
    /// can be sent again whatever it does there.
    #[must_use]
    pub fn is_before_sending(&self) -> bool {
        matches!(
            self,
            Failure::Offline
                | Failure::Inward { .. }
                | Failure::Parent { .. }
                | Failure::UnknownHost { .. }
                | Failure::LookupTimeout { .. }
                | Failure::Refused { .. }
                | Failure::Unreachable { .. }
                | Failure::ConnectTimeout { .. }
                | Failure::HandshakeTimeout { .. }
                | Failure::Certificate { .. }
                | Failure::Tls { .. }
                | Failure::Busy { .. }
                | Failure::ClosedAtOnce
                | Failure::Unprocessed
        )
    }

    /// The status of our answer in place of the origin's (RFC 9110 §15.6.3, §15.6.5).
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Failure::Offline
            | Failure::LookupTimeout { .. }
            | Failure::ConnectTimeout { .. }
            | Failure::HandshakeTimeout { .. }
            | Failure::HeadTimeout
            | Failure::Silent
            | Failure::Stalled => StatusCode::GATEWAY_TIMEOUT,
            Failure::Inward { .. } => StatusCode::FORBIDDEN,
            Failure::Busy { .. }
            | Failure::Unprocessed
            | Failure::Stopping
            | Failure::TooLong(_)
            | Failure::OverBudget => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Ours => StatusCode::INTERNAL_SERVER_ERROR,
            Failure::RequestBody(_) | Failure::Unsendable(_) => StatusCode::BAD_REQUEST,
            Failure::Abandoned
            | Failure::EndedByHand
            | Failure::TooLarge { .. }
            | Failure::Changed
            | Failure::NotResumed(_)
            | Failure::Parent { .. }
            | Failure::UnknownHost { .. }
            | Failure::Refused { .. }
            | Failure::Unreachable { .. }
            | Failure::Certificate { .. }
            | Failure::Tls { .. }
            | Failure::Alert(_)
            | Failure::Malformed(_)
            | Failure::Wrong(_)
            | Failure::ClosedAtOnce
            | Failure::GivenUp(_)
            | Failure::BreaksHttp2(_)
            | Failure::CutShort(_) => StatusCode::BAD_GATEWAY,
        }
    }

    /// The reason if the origin is not at fault, as a word of `Cache-Status`.
    #[must_use]
    pub fn own_fault(&self) -> Option<&'static str> {
        Some(match self {
            Failure::Offline => "offline",
            Failure::Inward { .. } => "inward",
            Failure::Busy { .. } => "busy",
            Failure::Stopping => "stopping",
            Failure::RequestBody(_) | Failure::Unsendable(_) => "bad-request",
            Failure::Ours => "internal-error",
            Failure::Abandoned => "abandoned",
            Failure::EndedByHand => "ended-by-hand",
            Failure::TooLarge { .. } => "max-body",
            Failure::TooLong(_) => "ask-above",
            Failure::OverBudget => "over-budget",
            _ => return None,
        })
    }

    /// The whole chain of causes in one line, for the log and the queue.
    #[must_use]
    pub fn chain(&self) -> String {
        error_chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_blamed_for_its_own_faults_alone() {
        assert_eq!(Failure::HeadTimeout.own_fault(), None);
        assert_eq!(Failure::Wrong("two lengths").own_fault(), None);
        for (failure, reason) in [
            (Failure::Offline, "offline"),
            (Failure::Abandoned, "abandoned"),
            (Failure::TooLarge { most: 1 }, "max-body"),
            (Failure::Ours, "internal-error"),
        ] {
            assert_eq!(failure.own_fault(), Some(reason));
        }
    }
}
