//! Texts about origins that did not respond.

use super::{MessageText, OriginFailure, Phase};
use crate::base::shown;
use crate::base::text::{Text, say};

fn again() -> Text {
    say("Try again later.")
}

fn line() -> Text {
    say("See whether the connection to the network is up.")
}

impl OriginFailure<'_> {
    pub(super) fn words(&self) -> MessageText {
        let (status, title, happened, advice) = match self {
            Self::Certificate { fault, .. } => return fault.words(),
            Self::Tls { fault, .. } => return fault.words(),
            Self::BadAnswer(_) | Self::HeadTooLarge | Self::TooLarge(_) | Self::Closed => {
                return self.of_answer();
            }
            Self::Parent(_) => (
                502,
                say("The parent proxy gives no way"),
                say(
                    "The configuration has this proxy ask another one, and that one cannot be reached, \
                     refuses, or wants another user and password. The origin was not asked.",
                ),
                vec![again()],
            ),
            Self::UnknownHost => (
                502,
                say("The host is not known"),
                say("The name of the host cannot be resolved to an address."),
                vec![say("Look for a mistake in the name."), line()],
            ),
            Self::Refused => (
                502,
                say("The connection was refused"),
                say("The host was reached, and nothing there accepts connections on this port."),
                vec![say("Look for a mistake in the port."), again()],
            ),
            Self::Unreachable => (
                502,
                say("The host cannot be reached"),
                say("The network knows no way to the host."),
                vec![line()],
            ),
            Self::Timeout(phase) => (504, phase.title(), phase.happened(), vec![again(), line()]),
            Self::Inward => (
                403,
                say("Not to be reached from elsewhere"),
                say(
                    "The address leads to the machine of this proxy itself, or no further than the \
                     network link it is on. Through the proxy only programs at that machine get \
                     there.",
                ),
                vec![
                    say("Look for a mistake in the address."),
                    say(
                        "If other machines are to reach it, its host has to be named as one that is \
                         inside.",
                    ),
                ],
            ),
        };
        MessageText { status, title, happened, advice }
    }

    /// The same for origins that did respond.
    fn of_answer(&self) -> MessageText {
        let (title, happened, advice) = match self {
            Self::HeadTooLarge => (
                say("The head of the answer is too large"),
                say("The host sent more header fields than the proxy accepts."),
                vec![say("Delete the cookies of this site in the browser."), again()],
            ),
            Self::TooLarge(most) => (
                say("The answer is too large"),
                say("What the host sends is larger than {most}, which is the most that is kept.")
                    .with("most", shown::bytes(*most)),
                vec![],
            ),
            Self::Closed => (
                say("The connection was closed"),
                say("The host closed the connection before its answer was complete. A part of an \
                     answer is never kept."),
                vec![again()],
            ),
            _ => (
                say("The answer cannot be understood"),
                say("What the host sent is not proper HTTP, so it is not passed on."),
                vec![say("Look whether the address should begin with https."), again()],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}

impl Phase {
    fn title(self) -> Text {
        match self {
            Self::Resolving => say("The name could not be resolved in time"),
            Self::Connecting => say("No connection in time"),
            Self::Securing => say("No secure connection in time"),
            Self::Head | Self::Body => say("No answer in time"),
        }
    }

    fn happened(self) -> Text {
        match self {
            Self::Resolving => say("The name service did not answer within the time allowed."),
            Self::Connecting => {
                say("The host did not accept the connection within the time allowed.")
            }
            Self::Securing => say(
                "The host accepted the connection, and did not complete the TLS handshake in the \
                     time allowed. Nothing of the request was sent to it.",
            ),
            Self::Head => {
                say("The host accepted the connection, and did not answer in the time allowed.")
            }
            Self::Body => say("The host began its answer, and then sent nothing for too long."),
        }
    }
}
