//! Texts about origins that did not respond, or whose response cannot be used.

use super::{MessageText, OriginFailure, Phase};
use crate::base::shown;
use crate::base::text::{Text, say};

fn again() -> Text {
    say("Try again later.")
}

fn line() -> Text {
    say("Check the connection to the network.")
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
                say("The parent proxy does not work"),
                say("Requests for this address go through a parent proxy. It cannot be reached, \
                     refused the request, or needs another login. The site was not asked."),
                vec![again()],
            ),
            Self::UnknownHost => (
                502,
                say("The host is not known"),
                say("There is no address for the name of this host."),
                vec![say("Check the name for a mistake."), line()],
            ),
            Self::Refused => (
                502,
                say("The connection was refused"),
                say("The host was reached, but nothing there accepts connections on this port."),
                vec![say("Check the port for a mistake."), again()],
            ),
            Self::Unreachable => (
                502,
                say("The host cannot be reached"),
                say("The network has no route to the host."),
                vec![line()],
            ),
            Self::Timeout(phase) => (504, phase.title(), phase.happened(), vec![again(), line()]),
            Self::Inward => (
                403,
                say("This address is not open to other machines"),
                say("This address is on the proxy's own machine or its local network link. \
                    Through the proxy, only programs on that machine may open it."),
                vec![
                    say("Check the address for a mistake."),
                    say("If other machines should reach it, list its host under `inside` in the \
                        configuration."),
                ],
            ),
        };
        MessageText { status, title, happened, advice }
    }

    /// Returns the texts about a response that cannot be used.
    fn of_answer(&self) -> MessageText {
        let (title, happened, advice) = match self {
            Self::HeadTooLarge => (
                say("The headers of the answer are too large"),
                say("The host sent more header fields than the proxy accepts."),
                vec![say("Delete the cookies of this site in the browser."), again()],
            ),
            Self::TooLarge(most) => (
                say("The answer is too large"),
                say("The answer of the host is larger than {most}, the maximum to save.")
                    .with("most", shown::bytes(*most)),
                vec![],
            ),
            Self::Closed => (
                say("The connection was closed"),
                say("The host closed the connection before its answer was complete. Incomplete \
                    answers are never saved."),
                vec![again()],
            ),
            _ => (
                say("The answer cannot be understood"),
                say("The host sent an invalid HTTP answer, so it is not forwarded."),
                vec![say("Check whether the address should begin with https."), again()],
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
            Self::Resolving => say("The name server did not answer in time."),
            Self::Connecting => say("The host did not accept the connection in time."),
            Self::Securing => {
                say("The host accepted the connection but did not complete the TLS handshake in \
                time. The request was not sent.")
            }
            Self::Head => say("The host accepted the connection but did not answer in time."),
            Self::Body => say("The host began its answer, then sent nothing for too long."),
        }
    }
}
