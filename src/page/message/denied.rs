//! Texts for clients without permission.

use super::MessageText;
use crate::base::text::{Text, tr};

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

fn retry_advice() -> Vec<Text> {
    vec![
        tr("Reload the page. The browser then asks for the user name and password."),
        tr("Ask the administrator of the proxy for a user name and password (`wwwoffle passwd`)."),
    ]
}

impl Denied {
    /// Returns the status of the message.
    #[must_use]
    pub fn status(self) -> u16 {
        self.words().status
    }

    pub(super) fn words(self) -> MessageText {
        match self {
            Self::Machine => MessageText {
                status: 403,
                title: tr("This machine may not use the proxy"),
                happened: tr(
                    "The configuration lists the machines that may use the proxy, and this \
                    machine is not one of them.",
                ),
                advice: vec![tr("Ask the administrator of the proxy to add it to `hosts` in \
                    [allowed-connect-hosts].")],
            },
            Self::ProxyLogin => MessageText {
                status: 407,
                title: tr("The proxy needs a user name and password"),
                happened: tr("Only registered users may use the proxy. Nothing was forwarded."),
                advice: retry_advice(),
            },
            Self::Login => MessageText {
                status: 401,
                title: tr("These pages need a user name and password"),
                happened: tr("Only registered users may see the saved pages."),
                advice: retry_advice(),
            },
            Self::Control => MessageText {
                status: 401,
                title: tr("This needs the control password"),
                happened: tr(
                    "To change something here you need the control password of the proxy. \
                    Nothing was changed.",
                ),
                advice: vec![
                    tr("Press the button again and enter the control password. You can enter any \
                        user name."),
                    tr("On the machine itself, the command line needs no password."),
                ],
            },
            Self::ControlPage => MessageText {
                status: 401,
                title: tr("This page needs the control password"),
                happened: tr(
                    "This page is for the administrator of the proxy, who has the control \
                    password.",
                ),
                advice: vec![tr(
                    "Reload the page and enter the control password. You can enter any user \
                    name.",
                )],
            },
            Self::WrongControl => MessageText {
                status: 401,
                title: tr("The control password is wrong"),
                happened: tr("This is not the control password of the proxy. Nothing was changed."),
                advice: vec![
                    tr("Go back and try again. You can enter any user name."),
                    tr("On the machine itself, the command line needs no password."),
                ],
            },
            Self::TooOften { seconds } => MessageText {
                status: 429,
                title: tr("Too many wrong passwords"),
                happened: tr(
                    "Too many wrong passwords came from this machine, so the proxy waits before it \
                    checks the next one.",
                ),
                advice: vec![
                    tr("Wait {seconds} seconds, then reload the page.")
                        .with("seconds", seconds.to_string()),
                ],
            },
            Self::Busy => MessageText {
                status: 503,
                title: tr("Too many logins at once"),
                happened: tr(
                    "Too many passwords are being checked, so this one was not checked in time.",
                ),
                advice: vec![tr("Reload the page.")],
            },
        }
    }
}
