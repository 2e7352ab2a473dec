//! What is told of origins that cannot prove who they are, or speak no TLS.

use super::Words;

/// What is wrong with an origin's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadCertificate {
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It is for other hosts.
    WrongName,
    /// Nobody but its owner has signed it.
    SelfSigned,
    /// What signed it was not sent, and is not trusted.
    MissingIssuer,
    /// No authority that is trusted has signed it.
    UnknownIssuer,
    /// Its authority has taken it back.
    Revoked,
    /// It breaks the rules in another way.
    Unusable,
}

/// Why no TLS connection came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTls {
    /// What answers there speaks something else.
    NotSpoken,
    /// Both speak TLS, and came to no agreement.
    NoAgreement,
}

const AGAIN: &str = "Try again later.";
const CLOCK: &str = "See whether the date and time of this machine are right.";
const OWNER: &str = "Tell the owner of the site: only they can mend it.";
const OWN_AUTHORITY: &str = "If it is a host of your own or of your organisation, get the certificate of its authority in a \
     way you trust, name the file under [https] extra-ca in the configuration of the proxy, and start \
     the proxy again.";
const NOBODY: &str = "Nobody who is trusted vouches for the host";
const NETWORK: &str = "If many sites fail like this, something on the way, such as the sign-in page of \
                       a network, may be answering in their place: open any http address to see it.";

impl BadCertificate {
    /// Whether this machine's clock may be what is wrong.
    pub(super) const fn is_about_time(self) -> bool {
        matches!(self, Self::Expired | Self::NotYetValid)
    }

    pub(super) const fn words(self) -> Words {
        let (title, happened, advice): (_, _, &[&str]) = match self {
            Self::Expired => (
                "The certificate of the host has expired",
                "The host shows a certificate whose time is over, so it cannot be known whether it \
                 is the right host. Nothing was sent to it.",
                &[CLOCK, OWNER, AGAIN],
            ),
            Self::NotYetValid => (
                "The certificate of the host is not valid yet",
                "The host shows a certificate whose time has not begun, so it cannot be known \
                 whether it is the right host. Nothing was sent to it.",
                &[CLOCK, OWNER, AGAIN],
            ),
            Self::WrongName => (
                "The certificate belongs to another host",
                "The host shows a certificate that is not for this name, so it may not be the right \
                 host. Nothing was sent to it.",
                &[
                    "Look for a mistake in the name; with or without www makes a difference.",
                    NETWORK,
                    OWNER,
                ],
            ),
            Self::SelfSigned => (
                NOBODY,
                "The host has signed its certificate itself, as routers, printers and home servers \
                 do: anybody could make one like it. Nothing was sent to it.",
                &[OWN_AUTHORITY, NETWORK, OWNER],
            ),
            Self::MissingIssuer => (
                NOBODY,
                "The host does not send the certificate of the authority that signed its own, and \
                 this machine does not know that authority: either the host leaves out what it \
                 should send, or its authority is not trusted here. Nothing was sent to it.",
                &[
                    "Tell the owner of the site that its chain of certificates may be incomplete.",
                    OWN_AUTHORITY,
                    NETWORK,
                ],
            ),
            Self::UnknownIssuer => (
                NOBODY,
                "The certificate that the host shows is not signed by an authority that this \
                 machine trusts. Nothing was sent to it.",
                &[OWN_AUTHORITY, NETWORK, OWNER],
            ),
            Self::Revoked => (
                "The certificate of the host is revoked",
                "The authority that signed the host's certificate has taken it back, for example \
                 because its key was stolen. Nothing was sent to it.",
                &[OWNER, AGAIN],
            ),
            Self::Unusable => (
                "The certificate of the host is not accepted",
                "The certificate that the host shows breaks the rules for certificates, so it \
                 cannot be known whether it is the right host. Nothing was sent to it.",
                &[OWNER, AGAIN],
            ),
        };
        Words { status: 502, title, happened, advice }
    }
}

impl NoTls {
    pub(super) const fn words(self) -> Words {
        let (title, happened, advice): (_, _, &[&str]) = match self {
            Self::NotSpoken => (
                "The host does not speak HTTPS here",
                "The host was reached, and what answers on this port is not TLS. Nothing of the \
                 request was sent to it.",
                &[
                    "Look whether the address should begin with http, or have another port.",
                    NETWORK,
                    AGAIN,
                ],
            ),
            Self::NoAgreement => (
                "No secure connection",
                "The host and the proxy could not agree on a secure connection.",
                &[
                    "Look for a mistake in the name or the port.",
                    "If the host is old it may speak nothing newer than TLS 1.1, which is not safe \
                     any more and is not spoken here.",
                    AGAIN,
                ],
            ),
        };
        Words { status: 502, title, happened, advice }
    }
}
