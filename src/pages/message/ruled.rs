//! What is told of URLs that the configuration says something about.

use super::Words;

/// What the configuration says of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// It is never got.
    Blocked,
    /// What is there leads to a URL that is never got.
    LeadsToBlocked,
    /// It is never kept, and there is no line.
    NeverKept,
    /// What is not kept is not queued.
    NotQueued,
}

const ONLINE: &str = "Go online on the start page of the proxy, then try again.";

impl Ruled {
    pub(super) const fn words(self) -> Words {
        match self {
            Self::Blocked => Words {
                status: 403,
                title: "Blocked",
                happened: "The configuration of the proxy says that this address is never got. \
                           Nothing was asked of its origin, and what was kept of it is not shown.",
                advice: &["If you need the page, take the rule out of [dont-get] urls in the \
                     configuration, or put one with a ! before it."],
            },
            Self::LeadsToBlocked => Words {
                status: 404,
                title: "The page leads to a blocked address",
                happened: "The answer sends the browser to an address that is never got, by \
                           [dont-get] urls in the configuration of the proxy.",
                advice: &[
                    "If you need the page, take the rule out of [dont-get] urls in the \
                     configuration.",
                    "To be sent there all the same, set [dont-get] location-error to false.",
                ],
            },
            Self::NeverKept => Words {
                status: 504,
                title: "Never kept, and not possible while offline",
                happened: "The configuration of the proxy says that nothing of this address is \
                           kept ([dont-cache] urls); and the proxy is offline, so nothing goes out.",
                advice: &[ONLINE],
            },
            Self::NotQueued => Words {
                status: 504,
                title: "Not kept, and not queued",
                happened: "The proxy is offline, the spool has nothing here, and the configuration \
                           says that it is not asked for later ([offline-options] dont-request).",
                advice: &[ONLINE],
            },
        }
    }
}
