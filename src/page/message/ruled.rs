//! Texts about URLs to which a rule of the configuration applies.

use super::MessageText;
use crate::base::text::tr;

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

impl Ruled {
    pub(super) fn words(self) -> MessageText {
        match self {
            Self::Blocked => MessageText {
                status: 403,
                title: tr("Blocked"),
                happened: tr(
                    "The configuration blocks this address. The site was not asked, and saved \
                    copies are not shown.",
                ),
                advice: vec![tr(
                    "If you need the page, remove the rule from the configuration, or put a rule \
                    with ! before it.",
                )],
            },
            Self::OtherProtocol => MessageText {
                status: 403,
                title: tr("This port is refused"),
                happened: tr(
                    "The port of this address belongs to another protocol, such as mail. Browsers do not \
                     connect to it either.",
                ),
                advice: vec![tr("If a website uses this port, allow the port in the \
                    configuration.")],
            },
            Self::UnknownMethod => MessageText {
                status: 501,
                title: tr("This method is refused"),
                happened: tr(
                    "The method of the request is not a registered HTTP method, so the proxy \
                    does not forward it.",
                ),
                advice: vec![tr("If the site needs it, allow the method in the configuration.")],
            },
            Self::LeadsToBlocked => MessageText {
                status: 404,
                title: tr("The page redirects to a blocked address"),
                happened: tr("The answer redirects to an address that the configuration blocks."),
                advice: vec![tr("If you need the page, remove the rule from the configuration.")],
            },
            Self::NeverKept => MessageText {
                status: 504,
                title: tr("This page is never saved, so you cannot read it offline"),
                happened: tr(
                    "The configuration says never to save this address. The proxy is offline, so \
                    it cannot fetch it either.",
                ),
                advice: vec![tr("Go online, then try again.")],
            },
            Self::NotQueued => MessageText {
                status: 504,
                title: tr("Not saved and not queued"),
                happened: tr(
                    "You are offline, this page is not saved, and the configuration says not to \
                    queue it.",
                ),
                advice: vec![tr("Go online, then try again.")],
            },
        }
    }
}
