//! Errors between us and an origin, and whether a retry may help.

use std::io;
use std::sync::Arc;

use hyper::{HeaderMap, StatusCode};

use crate::base::error_chain::error_chain;

use super::BoxError;
use super::ParentFault;
use super::refused::RefusedCertificate;
use super::tls_error::{TlsFault, find_alert};

/// The reason why a request got no usable response.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The parent proxy does not connect to the origin.
    #[error("the parent proxy {authority} cannot reach the origin")]
    Parent {
        /// The host and port of the parent.
        authority: String,
        /// The reason.
        #[source]
        fault: ParentFault,
    },
    /// The mode is offline, so the dialer opened nothing.
    #[error("the mode is offline: no connection was opened")]
    Offline,
    /// The origin is this machine or is on a network link of this machine, and the client is on
    /// another machine.
    #[error("{authority} is this machine or on its local link, and the client is another machine")]
    Inward {
        /// Host and port.
        authority: String,
    },
    /// The lookup of the name found no address.
    #[error("the host {host:?} is unknown")]
    UnknownHost {
        /// The name looked up.
        host: String,
        /// The error of the resolver.
        source: io::Error,
        /// Whether the resolver failed and may recover. If false, the resolver reported that the
        /// name does not exist.
        may_pass: bool,
    },
    /// The resolver gave no answer in time.
    #[error("looking up the host {host:?} took too long")]
    LookupTimeout {
        /// The name looked up.
        host: String,
    },
    /// The machine is reachable, but no program listens on the port.
    #[error("{authority} refuses the connection")]
    Refused {
        /// Host and port dialled.
        authority: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The origin cannot be reached.
    #[error("{authority} cannot be reached")]
    Unreachable {
        /// Host and port dialled.
        authority: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The connection was not established in time.
    #[error("{authority} does not respond")]
    ConnectTimeout {
        /// Host and port dialled.
        authority: String,
    },
    /// The TLS handshake was not completed in time.
    #[error("{authority} does not complete the TLS handshake")]
    HandshakeTimeout {
        /// Host and port.
        authority: String,
    },
    /// The origin cannot prove its identity. The request was not sent.
    #[error(
        "the certificate of {authority} is refused: {}{}",
        refused.fault,
        if refused.differs { "; and it is not the one that is allowed there" } else { "" }
    )]
    Certificate {
        /// Host and port.
        authority: String,
        /// The certificate of the origin, and its fault.
        refused: Arc<RefusedCertificate>,
    },
    /// There is no TLS connection: the handshake failed.
    #[error("there is no TLS connection to {authority}")]
    Tls {
        /// Host and port.
        authority: String,
        /// The reason.
        #[source]
        fault: TlsFault,
    },
    /// The origin ended an established TLS connection with an alert.
    #[error("the origin ended the TLS connection")]
    Alert(#[source] TlsFault),
    /// All connections to this origin stayed busy for too long.
    #[error("too many requests to {authority} are waiting already")]
    Busy {
        /// Host and port.
        authority: String,
    },
    /// The response head did not arrive in time.
    #[error("the response did not begin in time")]
    HeadTimeout,
    /// The body stalled.
    #[error("the response stopped in the middle")]
    Stalled,
    /// The response is not HTTP, or exceeds our limits.
    #[error("the response is malformed")]
    Malformed(#[source] hyper::Error),
    /// The response is HTTP, but does not fit the request or is ambiguous.
    #[error("the response is invalid: {0}")]
    Wrong(&'static str),
    /// The connection ended before the end of the response.
    #[error("the connection ended before the response was complete")]
    CutShort(#[source] BoxError),
    /// The origin ended the HTTP/2 stream or connection, with an error code.
    #[error("the origin ended the exchange")]
    GivenUp(#[source] h2::Error),
    /// The response violates HTTP/2, for example by a wrong length, or exceeds our limits.
    #[error("the response violates HTTP/2")]
    BreaksHttp2(#[source] h2::Error),
    /// The origin does not answer HTTP/2 pings.
    #[error("the origin has stopped responding")]
    Silent,
    /// The origin refused each attempt of the request without processing it.
    #[error("the origin rejected the request unprocessed")]
    Unprocessed,
    /// A new connection was closed before any byte of the request was sent.
    #[error("the connection was closed immediately")]
    ClosedAtOnce,
    /// The request body of the client was interrupted or invalid.
    #[error("the request's body ended early")]
    RequestBody(#[source] BoxError),
    /// The response exceeds the size limit, and no client reads it.
    #[error("the response is larger than {most} bytes, the storage limit ([options] max-body)")]
    TooLarge {
        /// The size limit in bytes.
        most: u64,
    },
    /// All clients of the response have left.
    #[error("no client is waiting for the response")]
    Abandoned,
    /// A person stopped the download.
    #[error("the download was ended by the user")]
    EndedByHand,
    /// A task of this program that fetched the response panicked.
    #[error("the download was ended by a bug in this program")]
    Ours,
    /// The page changed at its origin during the download, so the rest belongs to another body.
    #[error("the page changed at its origin during the download")]
    Changed,
    /// The origin does not send the missing part of an interrupted body.
    #[error("the origin responded with {0} to the request for the rest of the page")]
    NotResumed(StatusCode),
    /// The response is larger than the limit above which a person is asked (`ask-above`). The value
    /// is its length in bytes, if known.
    #[error("it is larger than ask-above and needs consent")]
    TooLong(Option<u64>),
    /// The data saver leaves the response out.
    #[error("the data saver leaves it out ([data-saver])")]
    LeftOut(Box<LeftOutFile>),
    /// The budget for fetching the queue is used up.
    #[error("the budget for fetching is spent")]
    OverBudget,
    /// The quota of the user or client is used up.
    #[error("the quota of the user or client is used up")]
    OverQuota,
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
    /// The request cannot be written in the protocol.
    #[error("the request cannot be sent: {0}")]
    Unsendable(&'static str),
}

/// A response of which the data saver leaves the body out.
#[derive(Debug)]
pub struct LeftOutFile {
    /// The declared length of the whole file, if known.
    pub length: Option<u64>,
    /// The number of bytes of the body that had arrived.
    pub arrived: u64,
    /// The status.
    pub status: StatusCode,
    /// The fields.
    pub fields: HeaderMap,
}

impl Failure {
    /// Converts hyper's error of a failed exchange.
    #[must_use]
    pub fn from_exchange(error: hyper::Error) -> Self {
        if error.is_parse() || error.is_parse_too_large() {
            Failure::Malformed(error)
        } else if error.is_user() || error.is_body_write_aborted() {
            Failure::RequestBody(error.into())
        } else if let Some(alert) = find_alert(&error) {
            Failure::Alert(TlsFault::Alert(alert))
        } else {
            Failure::CutShort(error.into())
        }
    }

    /// Whether the same request may succeed later, because the link, the name server or the origin
    /// failed temporarily. A malformed response counts as temporary too, since a faulty middlebox
    /// often causes it. A bad certificate is not temporary, because only a person can allow it.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            Failure::Certificate { .. }
                | Failure::Inward { .. }
                | Failure::UnknownHost { may_pass: false, .. }
                | Failure::Parent { fault: ParentFault::Login | ParentFault::LoginInResponse, .. }
                | Failure::RequestBody(_)
                | Failure::Unsendable(_)
                | Failure::TooLarge { .. }
                | Failure::Abandoned
                | Failure::EndedByHand
                | Failure::TooLong(_)
                | Failure::LeftOut(_)
        )
    }

    /// Whether the parent proxy failed, and another one may be tried for the same request.
    pub(super) fn may_try_next_parent(&self) -> bool {
        matches!(self, Failure::Parent { fault, .. } if fault.may_try_next())
    }

    /// Whether the origin could not be reached, or stopped answering, so that the link may be down.
    /// False if an origin was reached and reported a failure.
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

    /// Whether no byte of the request was sent, or the origin reports that it did not process the
    /// request. Such a request can be sent again with any method.
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

    /// The status of our response, which replaces the missing response of the origin (RFC 9110
    /// §15.6.3, §15.6.5).
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
            Failure::Inward { .. } | Failure::LeftOut(_) => StatusCode::FORBIDDEN,
            Failure::OverQuota => StatusCode::TOO_MANY_REQUESTS,
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

    /// The reason as a token of `Cache-Status`. `None` if the origin, a parent proxy or the network
    /// is at fault.
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
            Failure::LeftOut(_) => "data-saver",
            Failure::OverBudget => "over-budget",
            Failure::OverQuota => "quotas",
            _ => return None,
        })
    }

    /// The chain of causes in one line, for the log and the queue.
    #[must_use]
    pub fn chain(&self) -> String {
        error_chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_faults_are_not_attributed_to_the_origin() {
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
