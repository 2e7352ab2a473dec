//! Texts about origins that cannot prove their identity, or that do not support TLS.

use super::MessageText;
use crate::base::text::{Text, say};

/// The fault of an origin's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadCertificate {
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for other hosts.
    WrongName,
    /// The certificate is signed only by its own key.
    SelfSigned,
    /// The issuer's certificate was not sent, and is not trusted.
    MissingIssuer,
    /// No trusted authority has signed the certificate.
    UnknownIssuer,
    /// The authority has revoked the certificate.
    Revoked,
    /// The certificate breaks the rules in another way.
    Unusable,
}

/// Why no TLS connection was established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTls {
    /// The server on this port does not speak TLS.
    NotSpoken,
    /// A handshake message is larger than the TLS library accepts.
    TooLarge,
    /// The two sides have no TLS version or cipher suite in common.
    NoAgreement,
}

fn again() -> Text {
    say("Try again later.")
}

fn clock() -> Text {
    say("See whether the date and time of this machine are right.")
}

fn owner() -> Text {
    say("Tell the owner of the site: only they can mend it.")
}

fn own_authority() -> Text {
    say(
        "If it is a host of your own or of your organisation, get the certificate of its authority in a \
         way you trust, name the file under [https] extra-ca in the configuration of the proxy, and \
         start the proxy again.",
    )
}

fn nobody() -> Text {
    say("Nobody who is trusted vouches for the host")
}

fn network() -> Text {
    say(
        "If many sites fail like this, something on the way, such as the sign-in page of a network, may \
         be answering in their place: open any http address to see it.",
    )
}

impl BadCertificate {
    /// Whether a wrong clock of this machine may be the cause.
    pub(super) const fn is_about_time(self) -> bool {
        matches!(self, Self::Expired | Self::NotYetValid)
    }

    pub(super) fn words(self) -> MessageText {
        let (title, happened, advice): (Text, Text, Vec<Text>) = match self {
            Self::Expired => (
                say("The certificate of the host has expired"),
                say(
                    "The host shows a certificate whose time is over, so it cannot be known whether it \
                 is the right host. Nothing was sent to it.",
                ),
                vec![clock(), owner(), again()],
            ),
            Self::NotYetValid => (
                say("The certificate of the host is not valid yet"),
                say(
                    "The host shows a certificate whose time has not begun, so it cannot be known \
                 whether it is the right host. Nothing was sent to it.",
                ),
                vec![clock(), owner(), again()],
            ),
            Self::WrongName => (
                say("The certificate belongs to another host"),
                say(
                    "The host shows a certificate that is not for this name, so it may not be the right \
                 host. Nothing was sent to it.",
                ),
                vec![
                    say("Look for a mistake in the name; with or without www makes a difference."),
                    network(),
                    owner(),
                ],
            ),
            Self::SelfSigned => (
                nobody(),
                say(
                    "The host has signed its certificate itself, as routers, printers and home servers \
                 do: anybody could make one like it. Nothing was sent to it.",
                ),
                vec![own_authority(), network(), owner()],
            ),
            Self::MissingIssuer => (
                nobody(),
                say(
                    "The host does not send the certificate of the authority that signed its own, and \
                 this machine does not know that authority: either the host leaves out what it \
                 should send, or its authority is not trusted here. Nothing was sent to it.",
                ),
                vec![
                    say(
                        "Tell the owner of the site that its chain of certificates may be incomplete.",
                    ),
                    own_authority(),
                    network(),
                ],
            ),
            Self::UnknownIssuer => (
                nobody(),
                say("The certificate that the host shows is not signed by an authority that this \
                 machine trusts. Nothing was sent to it."),
                vec![own_authority(), network(), owner()],
            ),
            Self::Revoked => (
                say("The certificate of the host is revoked"),
                say(
                    "The authority that signed the host's certificate has taken it back, for example \
                 because its key was stolen. Nothing was sent to it.",
                ),
                vec![owner(), again()],
            ),
            Self::Unusable => (
                say("The certificate of the host is not accepted"),
                say(
                    "The certificate that the host shows breaks the rules for certificates, so it \
                 cannot be known whether it is the right host. Nothing was sent to it.",
                ),
                vec![owner(), again()],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}

impl NoTls {
    pub(super) fn words(self) -> MessageText {
        let (title, happened, advice): (Text, Text, Vec<Text>) = match self {
            Self::NotSpoken => (
                say("The host does not speak HTTPS here"),
                say(
                    "The host was reached, and what answers on this port is not TLS. Nothing of the \
                 request was sent to it.",
                ),
                vec![
                    say("Look whether the address should begin with http, or have another port."),
                    network(),
                    again(),
                ],
            ),
            Self::TooLarge => (
                say("The TLS handshake of the host is too large"),
                say(
                    "The host was reached, and a message of its TLS handshake is larger than 64 KiB. \
                 Usually it sends too many certificates. Nothing of the request was sent to it.",
                ),
                vec![owner(), again()],
            ),
            Self::NoAgreement => (
                say("No secure connection"),
                say("The host and the proxy could not agree on a secure connection."),
                vec![
                    say("Look for a mistake in the name or the port."),
                    say(
                        "If the host is old it may speak nothing newer than TLS 1.1, which is not safe \
                     any more and is not spoken here.",
                    ),
                    again(),
                ],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}
