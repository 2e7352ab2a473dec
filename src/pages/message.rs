//! Message pages for refusals and failures: what happened, why, and what one can do.

mod denied;
mod origin;
mod ruled;
mod tls;

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Page, Shell, Templates,
    certificates::{self, ChainView, ShownCertificate},
    guard::Refusal,
    info,
    shown::{self, ShownTime, ShownUrl},
};

pub use denied::Denied;
pub use ruled::Ruled;
pub use tls::{BadCertificate, NoTls};

/// What is to be told.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The request cannot be understood, or its framing is ambiguous.
    BadRequest {
        /// What is wrong with it.
        detail: &'a str,
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
    /// Only what is kept was asked for (`only-if-cached`), and that is not.
    NotKept {
        /// What was asked for.
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
    /// There is no room left where the spool is.
    SpoolFull,
    /// The outgoing queue holds as much as it may.
    QueueFull,
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

#[derive(Serialize)]
struct View {
    status: u16,
    title: &'static str,
    happened: &'static str,
    detail: Option<String>,
    advice: &'static [&'static str],
    url: Option<ShownUrl>,
    kept: Option<KeptView>,
    /// The clock of this machine, where it may be what is wrong.
    clock: Option<ShownTime>,
    chain: Option<ChainView>,
    /// The page of ours where the certificate can be allowed, without our origin.
    allow: Option<String>,
}

#[derive(Serialize)]
struct KeptView {
    url: ShownUrl,
    /// The page of ours about it, without our origin.
    about: String,
    stored: ShownTime,
}

/// What the page says, but for the values of the request.
struct Words {
    status: u16,
    title: &'static str,
    happened: &'static str,
    advice: &'static [&'static str],
}

impl Message<'_> {
    /// The status the page is sent with.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.words().status
    }

    /// The title alone, for a log or an answer in plain text.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.words().title
    }

    fn words(&self) -> Words {
        match self {
            Self::OriginFailed { failure, .. } => failure.words(),
            Self::MustAsk { .. } => MUST_ASK,
            Self::BadRequest { .. } => BAD_REQUEST,
            Self::Forbidden(_) => FORBIDDEN,
            Self::Denied(denied) => denied.words(),
            Self::Ruled { ruled, .. } => ruled.words(),
            Self::NotFound { .. } => NOT_FOUND,
            Self::MethodNotAllowed { .. } => METHOD_NOT_ALLOWED,
            Self::NotKept { .. } => NOT_KEPT,
            Self::OfflineRefused { .. } => OFFLINE_REFUSED,
            Self::PortBlocked { .. } => PORT_BLOCKED,
            Self::HostRefused { .. } => HOST_REFUSED,
            Self::TunnelOffline { .. } => TUNNEL_OFFLINE,
            Self::Loop { .. } => LOOP,
            Self::SpoolFull => SPOOL_FULL,
            Self::QueueFull => QUEUE_FULL,
            Self::TooLargeToQueue { .. } => TOO_LARGE_TO_QUEUE,
            Self::SpoolFailed { .. } => SPOOL_FAILED,
            Self::Internal => INTERNAL,
        }
    }

    /// The foreign text that is shown set apart.
    fn detail(&self) -> Option<String> {
        match self {
            Self::BadRequest { detail }
            | Self::SpoolFailed { detail }
            | Self::MustAsk { detail, .. }
            | Self::OriginFailed {
                failure:
                    OriginFailure::BadAnswer(detail)
                    | OriginFailure::Parent(detail)
                    | OriginFailure::Certificate { detail, .. }
                    | OriginFailure::Tls { detail, .. },
                ..
            } => Some(shown::text(detail)),
            Self::Forbidden(refusal) => Some(refusal.to_string()),
            Self::NotFound { path } => Some(shown::text(path)),
            Self::Ruled { place, .. } => place.map(shown::text),
            Self::MethodNotAllowed { method } | Self::OfflineRefused { method, .. } => {
                Some(shown::text(method))
            }
            Self::PortBlocked { host_port }
            | Self::HostRefused { host_port }
            | Self::TunnelOffline { host_port } => Some(shown::text(host_port)),
            Self::OriginFailed { .. }
            | Self::Denied(_)
            | Self::NotKept { .. }
            | Self::Loop { .. }
            | Self::SpoolFull
            | Self::QueueFull
            | Self::TooLargeToQueue { .. }
            | Self::Internal => None,
        }
    }

    fn url(&self) -> Option<ShownUrl> {
        match self {
            Self::OriginFailed { url, .. }
            | Self::MustAsk { url, .. }
            | Self::NotKept { url }
            | Self::OfflineRefused { url, .. }
            | Self::Ruled { url, .. }
            | Self::TooLargeToQueue { url }
            | Self::Loop { url } => Some(ShownUrl::new(url)),
            _ => None,
        }
    }
}

/// Makes the page.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, message: &Message<'_>) -> Page {
    let Words { status, title, happened, advice } = message.words();
    let kept = match message {
        Message::OriginFailed { kept, .. } => *kept,
        Message::MustAsk { kept, .. } => Some(*kept),
        _ => None,
    };
    let certificate = match message {
        Message::OriginFailed {
            url,
            failure: OriginFailure::Certificate { fault, shown, .. },
            ..
        } => Some((url, fault, shown)),
        _ => None,
    };
    let view = View {
        clock: certificate
            .filter(|(_, fault, _)| fault.is_about_time())
            .map(|(_, _, shown)| ShownTime::new(shown.now, &shell.zone)),
        chain: certificate.map(|(_, _, shown)| ChainView::new(shown.chain, &shell.zone)),
        allow: certificate
            .filter(|(_, _, shown)| shown.may_be_allowed)
            .map(|(url, _, shown)| certificates::path_of(shown.site, url)),
        status,
        title,
        happened,
        detail: message.detail(),
        advice,
        url: message.url(),
        kept: kept.map(|kept| KeptView {
            url: ShownUrl::new(kept.url),
            about: info::path_of(kept.url),
            stored: ShownTime::new(kept.stored, &shell.zone),
        }),
    };
    templates.page("message.html", status, shell, &view)
}

const BAD_REQUEST: Words = Words {
    status: 400,
    title: "The request cannot be understood",
    happened: "The browser, or the program, sent something that is not a proper request. Nothing \
               was passed on.",
    advice: &["Look for a mistake in the address.", "Load the page again."],
};

const FORBIDDEN: Words = Words {
    status: 403,
    title: "Refused for safety",
    happened: "The proxy does only what its own pages ask for, so that other sites cannot command \
               it. Nothing was changed.",
    advice: &[
        "Open the start page of the proxy anew, and press the button again.",
        "If the proxy is reached under another name, add that name to [local-host] names in its \
         configuration.",
    ],
};

const NOT_FOUND: Words = Words {
    status: 404,
    title: "There is no such page",
    happened: "The address belongs to this proxy, and it has no page there.",
    advice: &["Begin at the start page of the proxy."],
};

const METHOD_NOT_ALLOWED: Words = Words {
    status: 405,
    title: "Not with this method",
    happened: "The page exists, and does not take this method. A link never changes anything here: \
               use the button on the page.",
    advice: &["Begin at the start page of the proxy."],
};

const MUST_ASK: Words = Words {
    status: 504,
    title: "Kept, and not to be shown unasked",
    happened: "The page is in the spool, and says that while online it must not be shown before its \
               origin was asked whether it still holds. The origin cannot be asked.",
    advice: &[
        "Go offline on the start page of the proxy, to read what is kept.",
        "To be shown it all the same, set [caching] serve-unreachable in the configuration for this \
         address.",
        "Try again later.",
    ],
};

const NOT_KEPT: Words = Words {
    status: 504,
    title: "Not kept",
    happened: "Whoever asked wants what is kept and nothing that has to be fetched, and this is not \
               kept, or has to be asked about first.",
    advice: &["Load the page without this condition."],
};

const OFFLINE_REFUSED: Words = Words {
    status: 504,
    title: "Not possible while offline",
    happened: "The proxy is offline, so nothing goes out. The spool has no answer to this request, \
               and a request of this kind cannot be queued.",
    advice: &["Go online on the start page of the proxy, then try again."],
};

const PORT_BLOCKED: Words = Words {
    status: 403,
    title: "A tunnel to this port is not allowed",
    happened: "Tunnels lead only to the ports named in the configuration, so that the proxy cannot \
               be used to reach mail servers and the like.",
    advice: &["If the port is right, add it to [tunnel] ports in the configuration of the proxy."],
};

const HOST_REFUSED: Words = Words {
    status: 403,
    title: "This host is refused",
    happened: "The configuration of the proxy says that connections to this host are refused.",
    advice: &["If you need the host, take it out of [https] refuse in the configuration."],
};

const TUNNEL_OFFLINE: Words = Words {
    status: 504,
    title: "Not kept, and not possible while offline",
    happened: "Connections to this host pass through the proxy unread, so nothing of it is kept; \
               and the proxy is offline, so nothing goes out.",
    advice: &[
        "Go online on the start page of the proxy, then try again.",
        "To have pages of this host kept, see [https] tunnel in the configuration, and the page on \
         certificates of the proxy.",
    ],
};

const LOOP: Words = Words {
    status: 508,
    title: "The request goes in a circle",
    happened: "This request has been through this proxy before: the proxy was asked to fetch from \
               itself, or another proxy sends back what it is given.",
    advice: &[
        "If the address is that of this proxy, add its name to [local-host] names in the \
         configuration.",
        "Look at the proxy settings of the other proxy.",
    ],
};

const SPOOL_FULL: Words = Words {
    status: 507,
    title: "The disk is full",
    happened: "There is no room left where the spool is, so this cannot be recorded. Nothing that \
               was kept is lost.",
    advice: &["Make room on the disk, then load the page again."],
};

const QUEUE_FULL: Words = Words {
    status: 507,
    title: "The queue is full",
    happened: "The outgoing queue holds as many requests as it may, so this one cannot be recorded.",
    advice: &[
        "Go online to have the queue worked off.",
        "Delete what is no longer wanted on the queue page of the proxy.",
    ],
};

const TOO_LARGE_TO_QUEUE: Words = Words {
    status: 413,
    title: "Too large to be sent later",
    happened: "The proxy is offline, and what was to be sent is larger than what the queue takes.",
    advice: &["Go online on the start page of the proxy, then send it again."],
};

const SPOOL_FAILED: Words = Words {
    status: 500,
    title: "The spool cannot be used",
    happened: "Reading or writing the spool failed.",
    advice: &["Look at the disk and at the rights of the spool directory.", "Then try again."],
};

const INTERNAL: Words = Words {
    status: 500,
    title: "The proxy made a mistake",
    happened: "Something went wrong inside the proxy. Its log says more.",
    advice: &["Try again.", "If it happens again, report it with the lines of the log."],
};

#[cfg(test)]
pub(crate) mod tests;
