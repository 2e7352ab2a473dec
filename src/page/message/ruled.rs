//! Texts about URLs to which a rule of the configuration applies.

use super::MessageText;
use crate::base::text::say;

/// The rule that applies to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// The URL is never fetched.
    Blocked,
    /// The port of the URL belongs to another protocol.
    OtherProtocol,
    /// The method of the request is not registered.
    UnknownMethod,
    /// The stored copy redirects to a blocked URL.
    LeadsToBlocked,
    /// The URL is never stored, and the proxy is offline.
    NeverKept,
    /// URLs that are not stored are not queued.
    NotQueued,
}

impl Ruled {
    pub(super) fn words(self) -> MessageText {
        match self {
            Self::Blocked => MessageText {
                status: 403,
                title: say("Blocked"),
                happened: say(
                    "The configuration of the proxy says that this address is never got. Nothing was \
                     asked of its origin, and what was kept of it is not shown.",
                ),
                advice: vec![say(
                    "If you need the page, take the rule out of the configuration, or put one with a ! \
                     before it.",
                )],
            },
            Self::OtherProtocol => MessageText {
                status: 403,
                title: say("This port is refused"),
                happened: say(
                    "The port of this address belongs to another protocol, such as mail. Browsers do not \
                     connect to it either.",
                ),
                advice: vec![say("If a website is there, allow the port in the configuration.")],
            },
            Self::UnknownMethod => MessageText {
                status: 501,
                title: say("This method is refused"),
                happened: say(
                    "The method of the request is not registered for HTTP, so the proxy does not send \
                     it on.",
                ),
                advice: vec![say("If the site needs it, allow the method in the configuration.")],
            },
            Self::LeadsToBlocked => MessageText {
                status: 404,
                title: say("The page leads to a blocked address"),
                happened: say(
                    "The answer sends the browser to an address that is never got, by the \
                     configuration of the proxy.",
                ),
                advice: vec![say("If you need the page, take the rule out of the configuration.")],
            },
            Self::NeverKept => MessageText {
                status: 504,
                title: say("Never kept, and not possible while offline"),
                happened: say(
                    "The configuration of the proxy says that nothing of this address is kept; and the \
                     proxy is offline, so nothing goes out.",
                ),
                advice: vec![say("Go online, then try again.")],
            },
            Self::NotQueued => MessageText {
                status: 504,
                title: say("Not kept, and not queued"),
                happened: say(
                    "The proxy is offline, the spool has nothing here, and the configuration says that \
                     it is not asked for later.",
                ),
                advice: vec![say("Go online, then try again.")],
            },
        }
    }
}
