//! Message pages for refusals and failures: the event, its cause, and the possible actions.

mod texts;
mod view;
mod ways;

use jiff::Timestamp;

use super::guard::GuardRefusal;
use crate::base::shown;
use crate::page::certificates::ShownCertificate;

use texts::MessageText;
pub use view::{Aid, page, page_with};

/// The message of a page.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The request cannot be understood, or its framing is ambiguous.
    BadRequest {
        /// The fault, in words.
        detail: &'a str,
    },
    /// An address of ours is invalid after its beginning, which names a page or the gateway.
    BadAddress {
        /// The fault, in words.
        detail: &'a str,
    },
    /// A form of ours requests something impossible.
    BadForm {
        /// The status of the response.
        status: u16,
        /// The fault, in words.
        detail: &'a str,
    },
    /// A button was pressed with nothing selected.
    NothingChosen {
        /// The list that contains the button, without scheme and host.
        back: &'a str,
    },
    /// A request to our own pages was refused.
    Forbidden(GuardRefusal),
    /// A page of another site may have opened an address of ours that may respond with a file.
    OpenedElsewhere {
        /// The address, without scheme and host.
        address: &'a str,
    },
    /// The client has no permission, or has not identified itself.
    Denied(Denied),
    /// A rule of the configuration applies to the URL.
    Ruled {
        /// The requested URL.
        url: &'a str,
        /// The rule.
        ruled: Ruled,
        /// The file and line of the rule, for those who may see it.
        place: Option<&'a str>,
    },
    /// No page of ours has this address.
    NotFound {
        /// The requested path.
        path: &'a str,
    },
    /// The address is ours, but accepts only other methods.
    MethodNotAllowed {
        /// The method that was used.
        method: &'a str,
    },
    /// The origin could not be reached, or its response is invalid.
    OriginFailed {
        /// The requested URL.
        url: &'a str,
        /// How the origin failed.
        failure: OriginFailure<'a>,
        /// The stored copy that the page offers instead.
        copy: Option<CopyInfo<'a>>,
    },
    /// The stored copy must be revalidated, and the origin cannot be reached.
    MustAsk {
        /// The requested URL.
        url: &'a str,
        /// How the origin failed.
        detail: &'a str,
        /// The stored copy.
        copy: CopyInfo<'a>,
    },
    /// The user requested a reload of the stored copy while offline. The request is queued.
    RefreshQueued {
        /// The requested URL.
        url: &'a str,
    },
    /// The request accepts only a stored copy (`only-if-cached`), and nothing is stored.
    NotKept {
        /// The requested URL.
        url: &'a str,
    },
    /// Offline, and the stored copy needs the login with which it was stored.
    Locked {
        /// The requested URL.
        url: &'a str,
    },
    /// Offline, and the password for the stored copy cannot be checked for this client.
    LockedHere {
        /// The requested URL.
        url: &'a str,
    },
    /// The URL names the stored response to a form, and no response is stored.
    FormAnswer {
        /// The requested URL.
        url: &'a str,
    },
    /// The stored response to a form is reloaded, but the contents of the form are not stored.
    FormUnknown {
        /// The requested URL.
        url: &'a str,
    },
    /// A page of ours was requested about a stored copy that does not exist.
    NothingKept {
        /// The URL of the copy.
        url: &'a str,
    },
    /// The request can be neither served nor queued while offline.
    OfflineRefused {
        /// The method, which may be `CONNECT`.
        method: &'a str,
        /// The requested URL.
        url: &'a str,
    },
    /// A tunnel was requested to a port that is not allowed.
    PortBlocked {
        /// The host and port.
        host_port: &'a str,
    },
    /// HTTPS was requested to a refused host.
    HostRefused {
        /// The host and port.
        host_port: &'a str,
    },
    /// A tunnel was requested while offline.
    TunnelOffline {
        /// The host and port.
        host_port: &'a str,
    },
    /// The request has passed through this proxy before.
    Loop {
        /// The requested URL.
        url: &'a str,
    },
    /// The stored body is damaged and cannot be decoded.
    Undecodable {
        /// The requested URL.
        url: &'a str,
        /// The fault of the body.
        detail: &'a str,
    },
    /// The file system of the spool is full.
    SpoolFull,
    /// The outgoing queue is full.
    QueueFull,
    /// The part of the outgoing queue that one person may use is full.
    ShareUsedUp,
    /// The quota of the user or client is used up.
    QuotaReached,
    /// The queue cannot record another spelling of the URL.
    SpellingRefused,
    /// The request is too large to be recorded.
    TooLargeToQueue {
        /// The requested URL.
        url: &'a str,
    },
    /// The spool cannot be read or written.
    SpoolFailed {
        /// The error of the disk.
        detail: &'a str,
    },
    /// An internal error.
    Internal,
}

/// A copy in the spool.
#[derive(Clone, Copy, Debug)]
pub struct CopyInfo<'a> {
    /// The URL.
    pub url: &'a str,
    /// When the copy was stored.
    pub stored: Timestamp,
    /// When the response arrived.
    pub came: Timestamp,
}

/// How an origin failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFailure<'a> {
    /// The parent proxy does not connect to the origin.
    Parent(&'a str),
    /// The name of the origin cannot be resolved.
    UnknownHost,
    /// The origin refused the connection.
    Refused,
    /// No route leads to the origin.
    Unreachable,
    /// The origin timed out.
    Timeout(Phase),
    /// The certificate is not valid for the origin.
    Certificate {
        /// The fault of the certificate.
        fault: BadCertificate,
        /// The details.
        detail: &'a str,
        /// The certificate that the origin sent.
        shown: ShownCertificate<'a>,
    },
    /// No TLS connection to the origin could be established.
    Tls {
        /// The reason.
        fault: NoTls,
        /// The details.
        detail: &'a str,
    },
    /// The origin closed the connection before its response was complete.
    Closed,
    /// The response is not valid HTTP.
    BadAnswer(&'a str),
    /// The head of the response exceeds the limit.
    HeadTooLarge,
    /// The response exceeds the storage limit, in bytes.
    TooLarge(u64),
    /// The origin is this machine or in its local network, and the client is elsewhere.
    Inward,
}

/// The phase that timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The resolution of the host name.
    Resolving,
    /// The connection.
    Connecting,
    /// The TLS handshake.
    Securing,
    /// The head of the response.
    Head,
    /// The next bytes of the body.
    Body,
}

/// The fault of an origin's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadCertificate {
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for other hosts.
    WrongName,
    /// The certificate is signed only by its own key.
    SelfSigned,
    /// The issuer's certificate was not sent, and is not trusted.
    MissingIssuer,
    /// No trusted authority has signed the certificate.
    UnknownIssuer,
    /// The authority has revoked the certificate.
    Revoked,
    /// The certificate breaks the rules in another way.
    Unusable,
}

impl BadCertificate {
    /// Whether a wrong clock of this machine may be the cause.
    const fn is_about_time(self) -> bool {
        matches!(self, Self::Expired | Self::NotYetValid)
    }
}

/// Why no TLS connection was established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTls {
    /// The server on this port does not speak TLS.
    NotSpoken,
    /// A handshake message is larger than the TLS library accepts.
    TooLarge,
    /// The two sides have no TLS version or cipher suite in common.
    NoAgreement,
}

/// Why a client has no permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The client's machine may not use the proxy.
    Machine,
    /// The proxy serves its users only, and the client has not logged in.
    ProxyLogin,
    /// The request is for one of our own pages, which only users of the proxy may read, and the
    /// client has not logged in.
    Login,
    /// The request changes something, and the client has not sent the control password.
    Control,
    /// The request is for a page that only the administrator may read, and the client has not sent
    /// the control password.
    ControlPage,
    /// The control password is wrong.
    WrongControl,
    /// The client's address has sent too many wrong passwords.
    TooOften {
        /// The seconds to wait.
        seconds: u64,
    },
    /// Too many password checks are running.
    Busy,
}

impl Denied {
    /// Returns the status of the message.
    #[must_use]
    pub fn status(self) -> u16 {
        self.row().0
    }
}

/// The rule that applies to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// The URL is never fetched.
    Blocked,
    /// The port of the URL belongs to another protocol.
    OtherProtocol,
    /// The method of the request is neither registered with IANA nor allowed by the configuration.
    UnknownMethod,
    /// The stored copy redirects to a blocked URL.
    LeadsToBlocked,
    /// The URL is never stored, and the proxy is offline.
    NeverKept,
    /// The URL is not stored, and the configuration forbids queueing such URLs.
    NotQueued,
}

impl Message<'_> {
    /// Returns the status of the page.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.row().0
    }

    /// Returns the title alone, in English, for a log or a response in plain text.
    #[must_use]
    pub fn title(&self) -> String {
        MessageText::new(self).title.to_string()
    }

    /// Returns the text that comes from outside, such as an error of the origin. The page displays
    /// it separately.
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
            }
            | Self::NotFound { path: detail }
            | Self::MethodNotAllowed { method: detail }
            | Self::OfflineRefused { method: detail, .. }
            | Self::PortBlocked { host_port: detail }
            | Self::HostRefused { host_port: detail }
            | Self::TunnelOffline { host_port: detail } => Some(shown::text(detail)),
            _ => None,
        }
    }

    /// Returns the requested URL, if the message is about one.
    fn requested_url(&self) -> Option<&str> {
        match self {
            Self::OriginFailed { url, .. }
            | Self::MustAsk { url, .. }
            | Self::Undecodable { url, .. }
            | Self::NotKept { url }
            | Self::Locked { url }
            | Self::LockedHere { url }
            | Self::FormAnswer { url }
            | Self::FormUnknown { url }
            | Self::NothingKept { url }
            | Self::RefreshQueued { url }
            | Self::OfflineRefused { url, .. }
            | Self::Ruled { url, .. }
            | Self::TooLargeToQueue { url }
            | Self::Loop { url } => Some(url),
            _ => None,
        }
    }

    /// Returns the place of the rule in the configuration, if the reader may see it.
    fn rule(&self) -> Option<String> {
        match self {
            Self::Ruled { place, .. } => place.map(shown::text),
            _ => None,
        }
    }

    fn stored_copy(&self) -> Option<CopyInfo<'_>> {
        match self {
            Self::OriginFailed { copy, .. } => *copy,
            Self::MustAsk { copy, .. } => Some(*copy),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
