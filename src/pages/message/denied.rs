//! What is told to those who may not.

use super::Words;

/// Why someone may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Their machine may not use the proxy.
    Machine,
    /// The proxy serves its users only, and nobody has said to be one.
    ProxyLogin,
    /// Our own pages are for its users only, too.
    Login,
    /// Commanding needs the control password.
    Control,
    /// Too many wrong passwords came from there.
    TooOften {
        /// How long there is to wait.
        seconds: u64,
    },
    /// Too many passwords are being checked.
    Busy,
}

const AGAIN: &str = "Load the page again; the browser asks for user and password.";
const FORGOTTEN: &str = "Ask whoever runs the proxy for a user and password (`wwwoffle passwd`).";

impl Denied {
    /// The status it is said with.
    #[must_use]
    pub fn status(self) -> u16 {
        self.words().status
    }

    pub(super) fn words(self) -> Words {
        match self {
            Self::Machine => Words {
                status: 403,
                title: "This machine may not use the proxy",
                happened: "The configuration of the proxy says which machines it serves, and this \
                           one is not among them.",
                advice: &["Ask whoever runs the proxy to add it to [allowed-connect-hosts] hosts."],
            },
            Self::ProxyLogin => Words {
                status: 407,
                title: "The proxy needs a user and password",
                happened: "The proxy serves its users only. Nothing was passed on.",
                advice: &[AGAIN, FORGOTTEN],
            },
            Self::Login => Words {
                status: 401,
                title: "These pages need a user and password",
                happened: "The proxy shows what it keeps to its users only.",
                advice: &[AGAIN, FORGOTTEN],
            },
            Self::Control => Words {
                status: 401,
                title: "This needs the control password",
                happened: "Whoever changes something has to know the control password of the proxy. \
                           Nothing was changed.",
                advice: &[
                    "Press the button again, and give the control password; the user name is of no \
                     matter.",
                    "On the machine itself the command line needs none.",
                ],
            },
            Self::TooOften { .. } => Words {
                status: 429,
                title: "Too many wrong passwords",
                happened: "Too many wrong passwords came from this machine, so the next one is not \
                           looked at yet.",
                advice: &["Wait a minute, then load the page again."],
            },
            Self::Busy => Words {
                status: 503,
                title: "Too many logins at once",
                happened: "Many passwords are being checked, and the turn of this one did not come.",
                advice: &["Load the page again."],
            },
        }
    }
}
