//! What is told of origins that gave no answer.

use super::{OriginFailure, Phase, Words};

impl OriginFailure<'_> {
    pub(super) fn words(&self) -> Words {
        const AGAIN: &str = "Try again later.";
        const LINE: &str = "See whether the connection to the network is up.";
        const OFFLINE: &str = "Go offline on the start page of the proxy, to see what is kept and \
                               queue the rest.";
        let (status, title, happened, advice): (_, _, _, &[&str]) = match self {
            Self::Parent(_) => (
                502,
                "The parent proxy gives no way",
                "The configuration has this proxy ask another one, and that one cannot be reached, \
                 refuses, or wants another user and password. The origin was not asked.",
                &["Look at [proxy] in the configuration.", AGAIN, OFFLINE],
            ),
            Self::UnknownHost => (
                502,
                "The host is not known",
                "The name of the host cannot be resolved to an address.",
                &["Look for a mistake in the name.", LINE, OFFLINE],
            ),
            Self::Refused => (
                502,
                "The connection was refused",
                "The host was reached, and nothing there accepts connections on this port.",
                &["Look for a mistake in the port.", AGAIN],
            ),
            Self::Unreachable => (
                502,
                "The host cannot be reached",
                "The network knows no way to the host.",
                &[LINE, OFFLINE],
            ),
            Self::Certificate { fault, .. } => return fault.words(),
            Self::Tls { fault, .. } => return fault.words(),
            Self::Timeout(phase) => (504, phase.title(), phase.happened(), &[AGAIN, LINE, OFFLINE]),
            Self::Closed => (
                502,
                "The connection was closed",
                "The host closed the connection before its answer was complete. A part of an \
                 answer is never kept.",
                &[AGAIN],
            ),
            Self::BadAnswer(_) => (
                502,
                "The answer cannot be understood",
                "What the host sent is not proper HTTP, so it is not passed on.",
                &["Look whether the address should begin with https.", AGAIN],
            ),
            Self::Inward => (
                403,
                "Not to be reached from elsewhere",
                "The address leads to the machine of this proxy itself, or no further than the network \
                 link it is on. Through the proxy only programs at that machine get there.",
                &[
                    "Look for a mistake in the address.",
                    "If other machines are to reach it, add its host to [allowed-connect-hosts] inside \
                     in the configuration of the proxy.",
                ],
            ),
            Self::HeadTooLarge => (
                502,
                "The head of the answer is too large",
                "The host sent more header fields than the proxy accepts.",
                &["Delete the cookies of this site in the browser.", AGAIN],
            ),
        };
        Words { status, title, happened, advice }
    }
}

impl Phase {
    const fn title(self) -> &'static str {
        match self {
            Self::Resolving => "The name could not be resolved in time",
            Self::Connecting => "No connection in time",
            Self::Securing => "No secure connection in time",
            Self::Head | Self::Body => "No answer in time",
        }
    }

    const fn happened(self) -> &'static str {
        match self {
            Self::Resolving => "The name service did not answer within the time allowed.",
            Self::Connecting => "The host did not accept the connection within the time allowed.",
            Self::Securing => {
                "The host accepted the connection, and did not complete the TLS handshake in the \
                 time allowed. Nothing of the request was sent to it."
            }
            Self::Head => {
                "The host accepted the connection, and did not answer in the time allowed."
            }
            Self::Body => "The host began its answer, and then sent nothing for too long.",
        }
    }
}
