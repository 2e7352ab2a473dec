//! Texts about origins that did not respond, or whose response cannot be used.

use super::{MessageText, OriginFailure, Phase};
use crate::base::shown;
use crate::base::text::{Text, tr};

fn retry_advice() -> Text {
    tr("Try again later.")
}

fn line() -> Text {
    tr("Check the connection to the network.")
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
                tr("The parent proxy does not work"),
                tr("Requests for this address go through a parent proxy. It cannot be reached, \
                     refused the request, or needs another login. The site was not asked."),
                vec![retry_advice()],
            ),
            Self::UnknownHost => (
                502,
                tr("The host is not known"),
                tr("There is no address for the name of this host."),
                vec![tr("Check the name for a mistake."), line()],
            ),
            Self::Refused => (
                502,
                tr("The connection was refused"),
                tr("The host was reached, but nothing there accepts connections on this port."),
                vec![tr("Check the port for a mistake."), retry_advice()],
            ),
            Self::Unreachable => (
                502,
                tr("The host cannot be reached"),
                tr("The network has no route to the host."),
                vec![line()],
            ),
            Self::Timeout(phase) => {
                (504, phase.title(), phase.description(), vec![retry_advice(), line()])
            }
            Self::Inward => (
                403,
                tr("This address is not open to other machines"),
                tr("This address is on the proxy's own machine or its local network link. \
                    Through the proxy, only programs on that machine may open it."),
                vec![
                    tr("Check the address for a mistake."),
                    tr("If other machines should reach it, list its host under `inside` in the \
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
                tr("The headers of the answer are too large"),
                tr("The host sent more header fields than the proxy accepts."),
                vec![tr("Delete the cookies of this site in the browser."), retry_advice()],
            ),
            Self::TooLarge(most) => (
                tr("The answer is too large"),
                tr("The answer of the host is larger than {most}, the maximum to save.")
                    .with("most", shown::bytes(*most)),
                vec![],
            ),
            Self::Closed => (
                tr("The connection was closed"),
                tr("The host closed the connection before its answer was complete. Incomplete \
                    answers are never saved."),
                vec![retry_advice()],
            ),
            _ => (
                tr("The answer cannot be understood"),
                tr("The host sent an invalid HTTP answer, so it is not forwarded."),
                vec![tr("Check whether the address should begin with https."), retry_advice()],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}

impl Phase {
    fn title(self) -> Text {
        match self {
            Self::Resolving => tr("The name could not be resolved in time"),
            Self::Connecting => tr("No connection in time"),
            Self::Securing => tr("No secure connection in time"),
            Self::Head | Self::Body => tr("No answer in time"),
        }
    }

    fn description(self) -> Text {
        match self {
            Self::Resolving => tr("The name server did not answer in time."),
            Self::Connecting => tr("The host did not accept the connection in time."),
            Self::Securing => {
                tr("The host accepted the connection but did not complete the TLS handshake in \
                time. The request was not sent.")
            }
            Self::Head => tr("The host accepted the connection but did not answer in time."),
            Self::Body => tr("The host began its answer, then sent nothing for too long."),
        }
    }
}
