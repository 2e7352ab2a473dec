//! Texts about origins that cannot prove their identity, or that do not support TLS.

use super::MessageText;
use crate::base::text::{Text, tr};

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

fn retry_advice() -> Text {
    tr("Try again later.")
}

fn clock() -> Text {
    tr("Check the date and time of this machine.")
}

fn owner() -> Text {
    tr("Tell the owner of the site: only they can fix it.")
}

fn own_authority() -> Text {
    tr("If the host belongs to you or your organisation, get the certificate of its authority \
        in a way you trust. List the file under `extra-ca` in [https] of the configuration, and \
        restart the proxy.")
}

fn untrusted_title() -> Text {
    tr("The certificate of the host is not trusted")
}

fn network() -> Text {
    tr("If many sites fail like this, the sign-in page of your network may be answering in \
        their place. Open any http address to see it.")
}

impl BadCertificate {
    /// Whether a wrong clock of this machine may be the cause.
    pub(super) const fn is_about_time(self) -> bool {
        matches!(self, Self::Expired | Self::NotYetValid)
    }

    pub(super) fn words(self) -> MessageText {
        let (title, happened, advice): (Text, Text, Vec<Text>) = match self {
            Self::Expired => (
                tr("The certificate of the host has expired"),
                tr("The certificate of the host has expired, so this may not be the right host. \
                    Nothing was sent to it."),
                vec![clock(), owner(), retry_advice()],
            ),
            Self::NotYetValid => (
                tr("The certificate of the host is not valid yet"),
                tr("The certificate of the host is not valid yet, so this may not be the right \
                    host. Nothing was sent to it."),
                vec![clock(), owner(), retry_advice()],
            ),
            Self::WrongName => (
                tr("The certificate belongs to another host"),
                tr("The certificate of the host is for another name, so this may not be the \
                    right host. Nothing was sent to it."),
                vec![
                    tr("Check the name for a mistake, also with or without www."),
                    network(),
                    owner(),
                ],
            ),
            Self::SelfSigned => (
                untrusted_title(),
                tr("The host uses a self-signed certificate, as routers, printers and home \
                    servers do. Anyone could create one like it. Nothing was sent to the host."),
                vec![own_authority(), network(), owner()],
            ),
            Self::MissingIssuer => (
                untrusted_title(),
                tr("The host does not send the certificate of the authority that signed its \
                    own, and this machine does not know that authority. Either the host sends an \
                    incomplete chain, or its authority is not trusted here. Nothing was sent to \
                    the host."),
                vec![
                    tr("Tell the owner of the site that its certificate chain may be incomplete."),
                    own_authority(),
                    network(),
                ],
            ),
            Self::UnknownIssuer => (
                untrusted_title(),
                tr("The certificate of the host is not signed by an authority that this machine \
                    trusts. Nothing was sent to the host."),
                vec![own_authority(), network(), owner()],
            ),
            Self::Revoked => (
                tr("The certificate of the host is revoked"),
                tr("The certificate of the host was revoked by its authority, for example \
                    because its key was stolen. Nothing was sent to the host."),
                vec![owner(), retry_advice()],
            ),
            Self::Unusable => (
                tr("The certificate of the host is not accepted"),
                tr("The certificate of the host is invalid, so this may not be the right host. \
                    Nothing was sent to it."),
                vec![owner(), retry_advice()],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}

impl NoTls {
    pub(super) fn words(self) -> MessageText {
        let (title, happened, advice): (Text, Text, Vec<Text>) = match self {
            Self::NotSpoken => (
                tr("The host does not speak HTTPS here"),
                tr("The host was reached, but this port does not speak TLS. The request was not \
                    sent."),
                vec![
                    tr("Check whether the address should begin with http, or have another port."),
                    network(),
                    retry_advice(),
                ],
            ),
            Self::TooLarge => (
                tr("The TLS handshake of the host is too large"),
                tr("The host sent a TLS handshake message larger than 64 KiB. Usually this \
                    means that it sends too many certificates. The request was not sent."),
                vec![owner(), retry_advice()],
            ),
            Self::NoAgreement => (
                tr("No secure connection"),
                tr("The host and the proxy could not agree on a secure connection."),
                vec![
                    tr("Check the name and the port for a mistake."),
                    tr("An old host may only support TLS 1.1 or older, which is not safe and \
                        not supported here."),
                    retry_advice(),
                ],
            ),
        };
        MessageText { status: 502, title, happened, advice }
    }
}
