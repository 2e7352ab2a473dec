//! Texts for clients without permission.

use super::MessageText;
use crate::base::text::{Text, say};

/// Why a client has no permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The client's machine may not use the proxy.
    Machine,
    /// The proxy serves its users only, and the client has not logged in.
    ProxyLogin,
    /// Our own pages, too, are for users of the proxy only.
    Login,
    /// Commands need the control password.
    Control,
    /// The same for a page that only the administrator may read.
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

fn again() -> Vec<Text> {
    vec![
        say("Load the page again; the browser asks for user and password."),
        say("Ask whoever runs the proxy for a user and password (`wwwoffle passwd`)."),
    ]
}

impl Denied {
    /// The status of the message.
    #[must_use]
    pub fn status(self) -> u16 {
        self.words().status
    }

    pub(super) fn words(self) -> MessageText {
        match self {
            Self::Machine => MessageText {
                status: 403,
                title: say("This machine may not use the proxy"),
                happened: say(
                    "The configuration of the proxy says which machines it serves, and this \
                           one is not among them.",
                ),
                advice: vec![say(
                    "Ask whoever runs the proxy to add it to [allowed-connect-hosts] hosts.",
                )],
            },
            Self::ProxyLogin => MessageText {
                status: 407,
                title: say("The proxy needs a user and password"),
                happened: say("The proxy serves its users only. Nothing was passed on."),
                advice: again(),
            },
            Self::Login => MessageText {
                status: 401,
                title: say("These pages need a user and password"),
                happened: say("The proxy shows what it keeps to its users only."),
                advice: again(),
            },
            Self::Control => MessageText {
                status: 401,
                title: say("This needs the control password"),
                happened: say(
                    "Whoever changes something has to know the control password of the proxy. \
                           Nothing was changed.",
                ),
                advice: vec![
                    say(
                        "Press the button again, and give the control password; the user name is of no \
                     matter.",
                    ),
                    say("On the machine itself the command line needs none."),
                ],
            },
            Self::ControlPage => MessageText {
                status: 401,
                title: say("This page needs the control password"),
                happened: say(
                    "The page is for whoever owns the machine, who knows the control password of the \
                           proxy.",
                ),
                advice: vec![say(
                    "Load the page again, and give the control password; the user name is of no matter.",
                )],
            },
            Self::WrongControl => MessageText {
                status: 401,
                title: say("The control password is wrong"),
                happened: say(
                    "The password that was given is not the control password of the proxy. Nothing was \
                           changed.",
                ),
                advice: vec![
                    say("Go back and try again; the user name is of no matter."),
                    say("On the machine itself the command line needs none."),
                ],
            },
            Self::TooOften { seconds } => MessageText {
                status: 429,
                title: say("Too many wrong passwords"),
                happened: say(
                    "Too many wrong passwords came from this machine, so the next one is not \
                           looked at yet.",
                ),
                advice: vec![
                    say("Wait {seconds} seconds, then load the page again.")
                        .with("seconds", seconds.to_string()),
                ],
            },
            Self::Busy => MessageText {
                status: 503,
                title: say("Too many logins at once"),
                happened: say(
                    "Many passwords are being checked, and the turn of this one did not come.",
                ),
                advice: vec![say("Load the page again.")],
            },
        }
    }
}
